-- names_spec.lua - what C functions of a program are called in all reports of a snapshot from
-- outside, and that two runs of it, at other addresses, call them alike. The host has one that no
-- name leads to, counters[1] in each state.

local cjson = require "cjson"
local hosts = require "tests.common.hosts"
local support = require "tests.common.support"

local dir, name

local function answer(command) return support.answer(command, dir) end

local function take(file)
  local host = hosts.start "epoll"
  answer {"heapattach", "--state", 1, "-o", file, host.process_id}
  host:stop()
end

describe("a C function without a name, from outside,", function()
  if not hosts.may_look() then return pending(hosts.refusal) end

  setup(function()
    dir = support.tmpdir()
    take "a"
    take "b"
    local at = answer("nm " .. support.build .. "/tests/epoll_host"):match "0*(%x+) t count_calls"
    name = ("C function count_calls (epoll_host+0x%s)"):format(at)
  end)

  it("is called by its symbol and the place of its code", function()
    local answered = cjson.decode(answer "heappath --json a _G.counters[1]")
    assert.equal(name, answered.class)
  end)

  it("is found by what it is called", function()
    local text = answer {"heappath", "--format", "text", "a", name}
    assert.truthy(text:find("counters[1]", 1, true), text)
  end)

  it("is so in tables of SQL", function()
    local query = "select path from a.objects where class = '%s'"
    local text = answer {"heapsql", "a", query:format(name)}
    assert.truthy(text:find("counters[1]", 1, true), text)
  end)

  it("is the same in another process", function()
    local classes = {}
    for i, file in ipairs {"a", "b"} do
      for _, row in ipairs(cjson.decode(answer("heaptop --json " .. file)).classes) do
        if row.class == name then classes[i] = row.objects end
      end
    end
    assert.same({1, 1}, classes)
  end)
end)
