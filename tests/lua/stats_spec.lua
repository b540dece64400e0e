-- stats_spec.lua - heap.stats() says what a snapshot of the same moment says, in every state of the
-- collector and wherever Lua code runs.

local support = require "tests.common.support"
local reader = require "heap.reader"

-- both(where) takes a snapshot and, right behind it, the statistics. Nothing is allocated in
-- between. It writes the statistics as counts() below writes what is in the snapshot.
local prelude = [[
  local heap, check = require "heap", require "lua_heapcheck"
  local types = {"string", "table", "closure", "upvalue", "proto", "userdata", "thread"}
  local taken, states = 0, {}
  local function both(where)
    taken = taken + 1
    local name = tostring(taken)
    heap.stats() -- the stack has room for it from now on
    local objects, bytes = heap.snapshot(name)
    local s = heap.stats()
    assert(objects, bytes)
    states[s.state .. " " .. s.kind] = true
    local lines, sum, n = {}, 8 * s.string_table.slots, 0
    local function add(what, count)
      lines[#lines + 1] = ("%s %d %d\n"):format(what, count.objects, count.bytes)
    end
    for _, type in ipairs(types) do
      add(type, s.types[type])
      sum, n = sum + s.types[type].bytes, n + s.types[type].objects
    end
    add("dead", s.dead)
    for _, epoch in ipairs(s.epochs) do add("epoch", epoch) end
    local file <close> = assert(io.open(name .. ".stats", "w"))
    file:write(table.concat(lines))
    assert(s.objects == objects and n == objects, where)
    assert(s.bytes == bytes and sum == bytes, where)
  end
  local keep = {}
  local function work(n)
    for i = 1, n do
      local o = setmetatable({{}, tostring(i)}, i % 3 == 0 and {__gc = function() end} or nil)
      if i % 5 == 0 then keep[#keep % 200 + 1] = o end
      if i % 11 == 0 then coroutine.wrap(coroutine.yield)(o) end
    end
    if n % 2 == 0 then heap.mark() else heap.mark("odd") end
  end
]]

-- What is in a snapshot, by type and age: lines of text, each with objects and bytes.
local function counts(path)
  local s <close> = assert(reader.open(path))
  local sums, lines = {}, {}
  local function add(what, bytes)
    local sum = sums[what] or {0, 0}
    sums[what] = {sum[1] + 1, sum[2] + bytes}
  end
  assert(s:verify())
  for id = 1, #s do
    local o = s:object(id)
    local bytes = o.shallow_bytes - (o.external_bytes or 0)
    add(o.type, bytes)
    add(o.epoch, bytes)
    if o.dead then add("dead", bytes) end
  end
  local function say(what, name)
    lines[#lines + 1] = ("%s %d %d\n"):format(name or what, table.unpack(sums[what] or {0, 0}))
  end
  for _, type in ipairs {"string", "table", "closure", "upvalue", "proto", "userdata", "thread"} do
    say(type)
  end
  say "dead"
  for epoch = 0, #s:marks() do say(epoch, "epoch") end
  return table.concat(lines)
end

local function same(program)
  local out, dir = support.lua(prelude .. program .. "\nprint(taken)")
  local n = tonumber(out:match("(%d+)\n$"))
  assert.is_true(n > 0)
  for i = 1, n do
    local said = support.read_file(("%s/%d.stats"):format(dir, i))
    assert.equal(counts(dir .. "/" .. i), said, "snapshot " .. i)
  end
  return out, dir
end

describe("heap.stats", function()
  it("agrees with a snapshot in every state of an incremental cycle", function()
    local _, dir = same [[
      check.small_steps()
      collectgarbage()
      local seen, n, left = {}, 0, 8
      local finalizer = {__gc = function() if taken < 300 then both("finalizer") end end}
      while left > 0 and n < 50000 do
        n = n + 1
        if n % 100 == 1 then work(50) setmetatable({}, finalizer) end
        collectgarbage("step", 0)
        local state = check.collector()
        if not seen[state] then seen[state] = 0  left = left - 1 end
        seen[state] = seen[state] + 1
        if seen[state] <= 5 then both("state " .. state) end
      end
      assert(left == 0)
    ]]
    local any_dead = false
    for i = 1, 30 do
      any_dead = any_dead or not counts(dir .. "/" .. i):find("\ndead 0 0\n")
    end
    assert.is_true(any_dead)
  end)

  it("agrees in the generational mode, and with more marks than are kept", function()
    same [[
      collectgarbage("generational", 20, 100)
      for round = 1, 140 do
        work(20)
        if round % 3 ~= 0 then collectgarbage("step", 0) end
        if round % 10 == 0 then both("round " .. round) end
      end
      assert(states["propagate generational"])
    ]]
  end)

  it("agrees in hooks, coroutines, finalizers and while the state is closed", function()
    same [[
      debug.sethook(function() debug.sethook() both("hook") end, "", 10)
      work(10)
      coroutine.wrap(function() local x = {} work(11) both("coroutine") coroutine.yield(x) end)()
      setmetatable({}, {__gc = function() both("finalizer") end})
      collectgarbage() collectgarbage()
      assert(taken == 3)
      setmetatable({}, {__gc = function() both("closing") print(taken) end})
    ]]
  end)

  it("tells the figures of the collector", function()
    support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      local states = {[0] = "propagate", "enter atomic", "atomic", "sweep allgc", "sweep finobj",
                      "sweep tobefnz", "sweep end", "call finalizers", "pause"}
      local quick, s = {objects = false}, nil
      for _, mode in ipairs {"generational", "incremental"} do
        collectgarbage(mode)
        for i = 1, 300 do
          collectgarbage("step", 0)
          local state, kind, debt = check.collector()
          local kilobytes = collectgarbage("count")
          s = heap.stats(quick)
          assert(s.state == states[state] and s.kind == mode)
          assert((kind > 0) == (mode == "generational")) -- 2: in a major cycle of 5.5
          assert(s.bytes == kilobytes * 1024 and s.debt == debt)
          assert(s.objects == nil and s.types == nil and s.dead == nil and s.epochs == nil)
        end
      end
      local strings = heap.stats().string_table
      local keep = {}
      for i = 1, 1000 do keep[i] = "another string " .. i end
      local more = heap.stats().string_table
      assert(more.strings - strings.strings >= 1000 and more.slots >= 1024)
      assert(more.load == more.strings / more.slots)
    ]]
  end)

  it("tells whether the collector was stopped, in a finalizer too", function()
    support.lua [[
      local heap = require "heap"
      local seen
      local function finalize()
        setmetatable({}, {__gc = function() seen = heap.stats({objects = false}).stopped end})
        collectgarbage()
      end
      assert(heap.stats().stopped == false)
      finalize()
      local tells_in_finalizers = seen == false -- 5.4.0 to 5.4.3 stop it there
      collectgarbage("stop")
      assert(heap.stats().stopped == true)
      seen = nil
      finalize()
      assert(seen == true)
      collectgarbage("restart")
      assert(heap.stats().stopped == false)
      local file = io.popen(arg[-1] .. " -v")
      local release = tonumber(file:read("a"):match("5%.4%.(%d+)"))
      assert(tells_in_finalizers == (not release or release >= 4)) -- nil: of 5.5
    ]]
  end)

  it("names the epochs", function()
    local out = support.lua [[
      local heap = require "heap"
      local now = os.time()
      heap.mark("one")
      heap.snapshot("two")
      heap.mark()
      local epochs = heap.stats().epochs
      for i, epoch in ipairs(epochs) do
        print(i, epoch.name, epoch.time and epoch.time >= now and epoch.time < now + 60)
      end
      print(#epochs, os.date("!%Y", epochs[2].time) >= "2025")
    ]]
    assert.equal("1\tnil\tnil\n2\tone\ttrue\n3\ttwo\ttrue\n4\tTIME\ttrue\n4\ttrue\n",
                 support.normalise(out))
  end)

  it("puts what is older than 255 marks into the first epoch", function()
    local out = support.lua [[
      local heap = require "heap"
      local keep = {}
      for i = 1, 300 do
        heap.mark("m" .. i)
        keep[i] = {}
      end
      local s = heap.stats()
      local sum = 0
      for _, epoch in ipairs(s.epochs) do sum = sum + epoch.objects end
      print(#s.epochs, s.epochs[1].name, s.epochs[2].name, s.epochs[256].name, sum == s.objects)
    ]]
    assert.equal("256\tnil\tm46\tm300\ttrue\n", out)
  end)

  it("raises errors for wrong arguments only", function()
    local out = support.lua [[
      local heap = require "heap"
      for _, wrong in ipairs {1, "x", false, {object = 1}, {true}} do
        print((select(2, pcall(heap.stats, wrong)):gsub("'heap.stats'", "'stats'")))
      end
      assert(heap.stats(nil) and heap.stats({}) and heap.stats({objects = true}).objects)
      for _, v in pairs(debug.getregistry()) do
        if type(v) == "userdata" and type(debug.getuservalue(v, 2)) == "table" then
          for _, wrong in ipairs {nil, io.stdout, 1, v} do
            debug.setuservalue(v, wrong, 1)
            assert(#heap.stats().epochs == 1)
          end
        end
      end
    ]]
    assert.equal([[
bad argument #1 to 'stats' (table expected, got number)
bad argument #1 to 'stats' (table expected, got string)
bad argument #1 to 'stats' (table expected, got boolean)
bad argument #1 to 'stats' (the options are 'objects' and 'entries')
bad argument #1 to 'stats' (the options are 'objects' and 'entries')
]], out)
  end)

  it("counts the entries of all tables where asked to", function()
    local out, dir = support.lua [[
      local heap = require "heap"
      local options, part = {entries = true}, {entries = true, objects = false}
      local list, gaps, cleared = {}, {}, {}
      for i = 1, 1000 do list[i], gaps["k" .. i], cleared[i] = i, i % 3 == 0 or nil, {} end
      for i = 1, 1000 do cleared[i] = i % 7 == 0 and i or nil end
      heap.snapshot("a")
      print(heap.stats(options).entries)
      collectgarbage()
      local before = heap.stats(part).entries
      for i = 1, 20 do list[#list + 1], gaps["k" .. i] = i, nil end
      collectgarbage()
      print(heap.stats(part).entries - before, heap.stats(part).objects, heap.stats().entries)
    ]]
    local entries = support.run {"heapsql", dir .. "/a", "--csv", "select count(*) from entries"}
    local counted, rest = out:match("^(%d+)\n(.*)$")
    -- One more is in the metatable of the marks, which no report shows.
    assert.equal(tonumber(entries:match("%d+")) + 1, tonumber(counted))
    assert.equal("14\tnil\tnil\n", rest)
  end)

  it("serves an endpoint for metrics, as its documentation shows", function()
    local meta = support.read_file(support.root .. "/lua/heap/meta.lua")
    local example = meta:match("\n(%-%-%-    local function metrics%(%).-\n%-%-%-    end)\n")
    local out = support.lua('local heap = require "heap"\n' .. example:gsub("%-%-%-", "")
                            .. "\nio.write(metrics())")
    local names = {}
    for line in out:gmatch("[^\n]+") do
      local name, label, value = line:match("^([a-z_]+)(%S*) (%-?[%d.]+)$")
      assert.truthy(name, line)
      assert.is_true(label == "" or label:match('^{type="[a-z]+"}$') ~= nil, line)
      names[name] = (names[name] or 0) + 1
      assert.is_number(tonumber(value))
    end
    assert.same({lua_heap_bytes = 1, lua_gc_debt_bytes = 1, lua_gc_stopped = 1,
                 lua_string_table_load = 1, lua_objects = 7, lua_object_bytes = 7}, names)
  end)
end)
