-- profile_spec.lua - profiles of real programs: how many bytes they take for an event, and what is
-- left of one whose program was killed. What the writer does is tested in test_profile_writer.c.

local cjson = require "cjson"
local support = require "tests.common.support"

-- Allocates tables, closures and strings, and frees most of them.
local work = [[
  local heap = require "heap"
  local function tree(depth)
    return depth == 0 and {} or {tree(depth - 1), tree(depth - 1)}
  end
  local function encode(value)
    if type(value) ~= "table" then return tostring(value) end
    local parts = {}
    for key, part in pairs(value) do parts[#parts + 1] = key .. ":" .. encode(part) end
    return "{" .. table.concat(parts, ",") .. "}"
  end
  local function work()
    local n = 0
    for i = 1, 20 do
      tree(10)
      local users = {}
      for k = 1, 200 do users[k] = {id = k, name = "user " .. i, call = function() return k end} end
      n = n + #encode(users)
    end
    return n
  end
]]

local function check(path)
  local out, err, code = support.run({"heapcheck", "--json", path})
  return cjson.decode(out).files[1], err, code
end

local function in_tmpdir(code)
  local dir = support.tmpdir()
  return dir, support.lua(work .. code, {cwd = dir})
end

describe("a profile of a real program", function()
  for _, stacks in ipairs {"false", "true"} do
    it("takes less than 6 bytes an event, with stacks: " .. stacks, function()
      local dir = in_tmpdir("heap.track{file = 'run.prof', stacks = " .. stacks .. "} work() " ..
                            "heap.untrack()")
      local file, err = check(dir .. "/run.prof")
      assert.equal("", err)
      assert.is_true(file.ok and file.events > 100000)
      assert.is_true(file.file_bytes < 6 * file.events)
      assert.equal(0, file.lost_events)
    end)
  end

  it("is small for ever as an aggregate", function()
    local dir = in_tmpdir "heap.track{file = 'run.prof', aggregate = true} work() heap.untrack()"
    local file = check(dir .. "/run.prof")
    assert.is_true(file.ok and file.aggregate)
    assert.is_true(file.file_bytes < 10000)
  end)

  it("can be read up to where its program was killed", function()
    local _, dir = support.lua(work .. [[
      heap.track{file = "run.prof"}
      work()
      os.execute "kill -9 $PPID"
    ]], {fails = true})
    local file, err = check(dir .. "/run.prof")
    assert.is_false(file.ok)
    assert.matches("was cut or is still being written: [%d.]+ KB can be read", err)
    local out, _, code = support.run({"heapprof", "--json", dir .. "/run.prof"})
    assert.equal(0, code)
    assert.is_table(cjson.decode(out))
  end)

  -- Each collection frees all at once, wherever the clock of births stands then.
  it("knows of each block whether it was born in an interval", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      local made = 0
      local function make() for i = 1, 37 do made = #{i} + made end end
      heap.track{file = "run.prof"}
      for i = 1, 300 do
        make()
        collectgarbage()
      end
      heap.untrack()
    ]]
    for kilobytes = 101, 701, 13 do
      local out = support.answer({"heapprof", "--leaks", "--json", "--until", kilobytes .. "KB",
                                  "run.prof"}, dir)
      for _, row in ipairs(cjson.decode(out).allocations) do
        assert.not_equal("make", row["function"], kilobytes .. " KB")
      end
    end
  end)

  it("does not take the place of a file that is none", function()
    local dir, out = in_tmpdir [[
      local file = io.open("app.lua", "w")
      file:write("print(1)")
      file:close()
      print(heap.track{file = "app.lua"})
      print(heap.track())
      print(io.open("app.lua"):read("a"))
    ]]
    assert.is_string(dir)
    assert.matches("^nil\tcannot write '[^']*/app.lua', which is no profile: File exists\t17\n" ..
                   "true\nprint%(1%)\n$", out)
  end)
end)
