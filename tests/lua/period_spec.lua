-- period_spec.lua - marks without a name: named with the time, bounded in number, evenly spread.

local support = require "tests.common.support"
local read = require "lua_heapread"

describe("marks by period", function()
  it("are named with the time in UTC", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      print(heap.mark())
      heap.snapshot("s")
    ]]
    local marks = read.info(dir .. "/s").marks
    assert.matches("^true\tfalse\n", out)
    assert.matches("^mark %d%d%d%d%-%d%d%-%d%d %d%d:%d%d:%d%d$", marks[1])
  end)

  it("are named with the very time that they have, at the turn of a second too", function()
    local out = support.lua [[
      local heap = require "heap"
      local second = os.time()
      repeat heap.mark() until os.time() ~= second
      local epochs = heap.stats().epochs
      for _, epoch in ipairs(epochs) do
        local time = os.date("!%Y-%m-%d %H:%M:%S", epoch.time)
        if epoch.name and epoch.name ~= time then print(epoch.name, "at", time) end
      end
      print(#epochs > 1)
    ]]
    assert.equal("true\n", out)
  end)

  it("lose every second one when there are too many, and others stay", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      for i = 1, 1000 do
        if i % 100 == 0 then heap.mark("served " .. i) end
        if i == 500 then heap.snapshot("a") end
        if select(2, heap.mark()) then io.write(i, " ") end
      end
      heap.snapshot("s")
    ]]
    -- 64 steps are left each time, and 64 more fill it up again
    assert.equal("129 193 257 321 385 449 513 577 641 705 769 833 897 961 ", out)
    local info, periodic, others = read.info(dir .. "/s"), 0, {}
    for i, name in ipairs(info.marks) do
      if name:find("^mark %d") then periodic = periodic + 1 else others[#others + 1] = name end
      assert.is_true(i == 1 or info.serials[i] > info.serials[i - 1])
    end
    assert.equal(104, periodic)
    local expected = {}
    for i = 1, 10 do
      expected[#expected + 1] = "mark served " .. 100 * i
      if i == 5 then expected[#expected + 1] = "snapshot a" end
    end
    expected[#expected + 1] = "snapshot s"
    assert.same(expected, others)
  end)

  it("cover the whole life in 64 to 128 even steps when the period is doubled", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      local period = 1
      for tick = 0, 10000 do
        if tick % period == 0 and select(2, heap.mark()) then period = 2 * period end
        heap.mark("tick")
      end
      heap.snapshot("s")
    ]]
    local info, ticks, steps = read.info(dir .. "/s"), 0, {}
    for _, name in ipairs(info.marks) do
      if name == "mark tick" then ticks = ticks + 1 else steps[#steps + 1] = ticks end
    end
    assert.equal(0, steps[1])
    for i = 2, #steps - 1 do assert.equal(128 * (i - 1), steps[i]) end
    assert.equal(10000 // 128 + 1, #steps - 1) -- the last is the snapshot's
  end)

  it("that were dropped are garbage, and tell nothing before they are collected", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      collectgarbage() collectgarbage()
      collectgarbage("stop")
      local function userdata() return heap.stats().types.userdata end
      local before = userdata()
      for i = 1, 129 do heap.mark() end
      heap.snapshot("s")
      local dropped = userdata()
      print(dropped.objects - before.objects)
      collectgarbage() collectgarbage() -- the first calls the finalizers
      local after = userdata()
      print(dropped.objects - after.objects, dropped.bytes - after.bytes)
    ]]
    local info = read.info(dir .. "/s")
    assert.equal(66, #info.marks)
    assert.is_true(info.garbage_objects >= 128)
    assert.equal(("260\n128\t%d\n"):format(128 * (88 + 19)), out)
  end)

  it("survive a program that plays with their user values", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      local state
      for _, v in pairs(debug.getregistry()) do
        if type(v) == "userdata" and type(debug.getuservalue(v, 2)) == "table" then state = v end
      end
      for _, wrong in ipairs {"a string", io.stdout, "a circle", "itself", state} do
        for i = 1, 100 do heap.mark() end
        local newest = debug.getuservalue(state, 1)
        local oldest = debug.getuservalue(debug.getuservalue(newest, 1), 1)
        if wrong == "a circle" then wrong = newest elseif wrong == "itself" then wrong = oldest end
        debug.setuservalue(oldest, wrong, 1)
        for i = 1, 100 do assert(heap.mark()) end
      end
      debug.setuservalue(state, nil, 1)
      for i = 1, 200 do assert(heap.mark()) end
      collectgarbage()
      print(heap.snapshot("s") ~= nil)
    ]]
    assert.equal("true\n", out)
    assert.is_true(#read.info(dir .. "/s").marks >= 65)
  end)
end)
