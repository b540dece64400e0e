-- collector_spec.lua - what the collector may do next is in each snapshot, and heaptop begins with
-- the reason where a heap is full of garbage.

local cjson = require "cjson"
local support = require "tests.common.support"

-- set("incremental", pause, stepmul), set("generational", minormul, majormul): in 5.5 "param" sets
-- these, and rounds them. It returns what the collector has.
local fill = [[
  local heap = require "heap"
  local params = {incremental = {"pause", "stepmul"}, generational = {"minormul", "minormajor"}}
  local function set(mode, ...)
    local values = {...}
    collectgarbage(mode, ...)
    if _VERSION == "Lua 5.4" then return ... end
    for i, value in ipairs(values) do
      collectgarbage("param", params[mode][i], value)
      values[i] = collectgarbage("param", params[mode][i])
    end
    return table.unpack(values)
  end
  local function fill(n) for i = 1, n do local _ = {i, name = "x" .. i} end end
]]
fill = fill:gsub("\n *", " ") -- the program's lines are counted from 1

-- The answer of `heaptop s` about the snapshot that the program takes, its text and its folder.
local function heaptop(program, options)
  local _, dir = support.lua(fill .. program, options)
  local json = cjson.decode(support.answer({"heaptop", "--json", "s"}, dir))
  return json.snapshot, support.answer({"heaptop", "-n", "1", "s"}, dir), dir
end

local free = "    collectgarbage() would free it; what is told below is what would stay\n\n"

describe("the collector's settings", function()
  it("are in a snapshot as the program set them", function()
    local info, _, dir = heaptop [[
      local pause, stepmul = set("incremental", 300, 444)
      local minormul, majormul = set("generational", 45, 204)
      set "incremental"
      collectgarbage()
      local before = heap.stats {objects = false}
      heap.snapshot "s"
      local settings = "return {debt = %d, pause = %d, stepmul = %d, minormul = %d, majormul = %d}"
      settings = settings:format(before.debt, pause, stepmul, minormul, majormul)
      io.open("settings", "w"):write(settings):close()
    ]]
    assert.equal("incremental", info.gc_kind)
    assert.equal("pause", info.gc_state)
    assert.is_false(info.gc_stopped)
    local set = dofile(dir .. "/settings")
    assert.equal(set.pause, info.gc_pause)
    assert.equal(set.stepmul, info.gc_stepmul)
    assert.equal(set.minormul, info.gc_minormul)
    assert.equal(set.majormul, info.gc_majormul)
    assert.is_nil(info.why_garbage)
    local kept, bytes = info.gc_kept_bytes, info.gc_bytes
    assert.is_true(kept <= bytes and kept > bytes / 2, kept .. " of " .. bytes)
    -- A mark is allocated in between, whose bytes the debt has not.
    local apart = math.abs(info.gc_debt_bytes - set.debt)
    assert.is_true(apart < 4096, info.gc_debt_bytes .. " " .. set.debt)
    for name, value in pairs(info) do
      local query = ("select %s from info"):format(name)
      local sql = name:find("^gc_") and support.answer({"heapsql", "--json", "s", query}, dir)
      if sql then
        local told = cjson.decode(sql).results[1].rows[1][name]
        if name == "gc_stopped" then told = told ~= 0 end
        assert.equal(value, told, name)
      end
    end
  end)

  it("are unknown in a file of before", function()
    local info = cjson.decode(support.answer({"heaptop", "--json",
      support.root .. "/tests/read/fixtures/version6"})).snapshot
    assert.equal(cjson.null, info.gc_pause)
    assert.is_nil(info.why_garbage)
    assert.equal("string", type(info.gc_kind))
  end)
end)

describe("heaptop of a heap full of garbage begins with", function()
  it("the collector that is stopped, and the code that may have stopped it", function()
    local info, text = heaptop([[
      local function halt() collectgarbage("stop") end
      local function other() return "stop", collectgarbage end
      halt()
      fill(20000)
      heap.snapshot "s"
      return halt, other
    ]], {name = "app.lua"})
    assert.equal("stopped", info.why_garbage)
    assert.is_true(info.gc_stopped)
    local share, size = text:match("^([%d.]+)%% of the heap is garbage, ([%d.]+ MB): the " ..
                                   "program has stopped the collector, so nothing is freed\n")
    assert(share, text)
    local garbage = info.garbage_bytes / (info.garbage_bytes + info.reachable_bytes)
    assert.equal(("%.1f"):format(100 * garbage), share)
    assert.equal(("%.1f MB"):format(info.garbage_bytes / 2 ^ 20), size)
    local code = text:match("\n    The code that set it so is probably ([^\n]*)\n")
    assert.equal("halt @app.lua:1 or other @app.lua:2", code)
    assert.truthy(text:find(free, 1, true), text)
  end)

  it("the pause, and the size at which the next cycle begins", function()
    local info, text, dir = heaptop [[
      set("incremental", 1000)
      collectgarbage()
      kept = {}
      for i = 1, 5000 do kept[i] = {i} end
      collectgarbage()
      fill(20000)
      heap.snapshot "s"
    ]]
    assert.equal("pause", info.why_garbage)
    local next_size = text:match("garbage, [%d.]+ MB: with a pause of 1000%% the collector " ..
                                 "waits for its next cycle, at ([%d.]+ MB)\n")
    assert(next_size, text)
    assert.equal(("%.1f MB"):format((info.gc_bytes - info.gc_debt_bytes) / 2 ^ 20), next_size)
    assert.truthy(text:find("\n" .. free, 1, true), text)
    assert.is_nil(support.answer({"heaptop", "--growing", "s"}, dir):find("is garbage", 1, true))
  end)

  it("generational mode, for what had grown old", function()
    local info, text = heaptop [[
      collectgarbage "incremental"
      kept = {}
      for i = 1, 30000 do kept[i] = {i, name = "x" .. i} end
      set("generational", 20, 1000)
      kept = nil
      heap.snapshot "s"
    ]]
    assert.equal("generational", info.why_garbage)
    assert.truthy(text:match("MB: in generational mode old objects wait for a collection of all " ..
                             "objects"), text)
    local tells_size = text:find("of all objects, at [%d.]+ MB\n") ~= nil
    assert.equal(_VERSION == "Lua 5.4", tells_size, text) -- in 5.5 it depends on what follows
  end)

  it("the cycle that is under way", function()
    local info, text = heaptop [[
      set("incremental", 100, 40)
      kept, stays = {}, {}
      for i = 1, 100000 do kept[i] = {i, name = "x" .. i} end
      for i = 1, 25000 do stays[i] = {i, name = "y" .. i} end
      collectgarbage()
      kept = nil
      local steps = 0
      repeat
        collectgarbage "step"
        steps = steps + 1
      until heap.stats({objects = false}).state == "propagate" or steps == 100
      heap.snapshot "s"
    ]]
    assert.equal("cycle", info.why_garbage)
    assert.truthy(text:match("MB: a cycle of the collector is under way, with a step multiplier " ..
                             "of 40%%\n"), text)
  end)

  it("nothing else than heapdiff tells after its first line", function()
    local _, dir = support.lua(fill .. [[
      collectgarbage "stop"
      kept = {}
      for _, name in ipairs {"a", "b", "c"} do
        fill(20000)
        for i = 1, 300 do kept[#kept + 1] = {name = i} end
        heap.snapshot(name)
      end
    ]])
    local text = support.answer({"heapdiff", "a", "b", "c"}, dir)
    assert.truthy(text:match("^300 objects allocated between a and b are still alive in c" ..
                             "[^\n]*\n[%d.]+%% of the heap is garbage, [%d.]+ MB: the program " ..
                             "has stopped"), text)
    assert.truthy(text:find(free .. "retained", 1, true), text)
  end)

  it("what leaks, where the collector works as usual", function()
    local info, text = heaptop [[
      set("incremental", 200, 100)
      fill(200000)
      heap.snapshot "s"
    ]]
    assert.is_nil(info.why_garbage)
    assert.is_nil(text:find("is garbage, ", 1, true))
  end)

  it("what leaks, where a stopped collector left little", function()
    local info, text = heaptop [[
      collectgarbage("stop")
      heap.snapshot "s"
    ]]
    assert.is_true(info.gc_stopped)
    assert.is_nil(info.why_garbage)
    assert.is_nil(text:find("is garbage, ", 1, true))
  end)
end)
