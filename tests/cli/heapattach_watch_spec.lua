-- heapattach_watch_spec.lua - the lines of heapattach --watch, with a stand-in for processes.

local cjson = require "cjson"
local stand_in = require "tests.common.stand_in"
local support = require "tests.common.support"

local attach, one = stand_in.attach, stand_in.one
local lines, tool = support.lines, stand_in.tool

local dir
setup(function() dir = stand_in.prepare() end)

describe("heapattach --watch", function()
  -- To count costs less than a fifth of that under a sanitizer, too.
  local function watch(more, ...)
    return attach(one, {"--watch", "--every", "0.3", "--max", "3", "4711", ...}, more)
  end

  it("prints a line each time: heap, growth, objects by type", function()
    local out, err, code = watch {"grow 12345"}
    assert.same({"", 0}, {err, code})
    local list = lines(out)
    assert.equal("UTC             heap      change since start    objects     tables    strings" ..
                 "   closures   userdata    threads   upvalues     protos", list[1])
    local counts = ("         28          2          1          3          6          7" ..
                    "          4          5")
    local function like(i, text)
      assert.equal(text .. counts, (list[i]:gsub("%d+:%d+:%d+", "T")))
    end
    like(2, "T      1.3 MB           -           -")
    like(4, "T      1.4 MB    +12.1 KB    +24.1 KB")
    assert.matches("^%+24.1 KB in %d+ ms$", list[5])
    assert.equal("What of it stays: heapattach --every 30s --max 3 4711", list[6])
    assert.equal(6, #list)
  end)

  it("is a line of JSON for each", function()
    local list = lines((watch({"grow 100"}, "--json")))
    assert.equal(3, #list)
    local last = cjson.decode(list[3])
    assert.same({1400200, 100, 200, 28, 7}, {last.gc_bytes, last.change_bytes,
                last.since_start_bytes, last.objects, last.by_type.thread})
  end)

  it("counts less often where that stops the process for long, and says so", function()
    local out, err = watch {"still stopped 20000000"}
    assert.equal("heapattach: counting the objects stops the process for 20 ms: " ..
                 "that is done every 2.1 s\n", err)
    local list = lines(out)
    assert.is_true(#list[2] > 60)
    assert.is_true(#list[3] < 60 and #list[4] < 60)
  end)

  it("goes on where objects cannot be counted", function()
    local out, err, code = watch {"fail 2 -10 0 it never stood still"}
    assert.same({"", 0}, {err, code})
    assert.is_true(#lines(out)[3] < 60)
    out, err, code = watch {"fail 2 -3 1 process 4711 is being traced"}
    assert.same({"heapattach: its objects cannot be counted: process 4711 is being traced\n", 0},
                {err, code})
    assert.is_true(#lines(out)[3] < 60)
  end)

  it("ends with the process", function()
    local out, err, code = watch {"grow 1000", "fail 3 -3 3 process 4711 has ended"}
    assert.same({"heapattach: process 4711 has ended\n", 0}, {err, code})
    assert.matches("^%+1,000 B in ", lines(out)[4])
    assert.equal(4, #lines(out)) -- and nothing to ask it for
  end)

  it("fits a terminal of 80 columns, in colour unless NO_COLOR says otherwise", function()
    support.write_file(dir .. "/there", table.concat(one, "\n") .. "\n")
    local line = "STAND_IN=there " .. support.quote(tool) .. " --watch --max 1 4711"
    local out = support.on_terminal(line, {cwd = dir})
    if not out then return pending("there is no script(1)") end
    assert.matches("\27[1mUTC", out, 1, true)
    local plain = lines((out:gsub("\27%[%d*m", "")))
    for _, text in ipairs(plain) do assert.is_true(#text <= 80, text) end
    out = support.on_terminal(line, {cwd = dir, env = {NO_COLOR = "1"}})
    assert.not_matches("\27", out, 1, true)
  end)
end)
