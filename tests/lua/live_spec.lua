-- live_spec.lua - a program asks what holds an object: the answers are those of the commands on the
-- same snapshot, but without the asking itself.

local support = require "tests.common.support"
local live = require "tests.common.live"

describe("heap.path", function()
  it("says what heappath says of the same snapshot", function()
    local _, dir = live.lua [[
      bus = {listeners = {tick = {}}}
      for i = 1, 20 do bus.listeners.tick[i] = {id = i, call = function() return i end} end
      package.loaded["app.cache"] = {[12] = {owner = {}}, list = {{{}}}}
      keyed = setmetatable({}, {__mode = "k"})
      keyed[bus] = {value = {}}
      local inside = (function()
        local hidden = {inside = {}}
        function reveal() return hidden end
        return setmetatable({hidden.inside}, {__mode = "v"})
      end)()
      sleeper = coroutine.create(function(...)
        local mine = {secret = {}}
        coroutine.yield()
        return mine, ...
      end)
      coroutine.resume(sleeper, {extra = {}})
      local mine = _VERSION == "Lua 5.4" and 1 or 2 -- "(vararg table)" comes first
      file = io.tmpfile()
      local modules, ticks = package.loaded, bus.listeners.tick
      local asked = setmetatable({
        ticks[17], ticks[3].call, sleeper, keyed[bus].value, modules["app.cache"][12].owner,
        modules["app.cache"].list[1][1], inside[1],
        select(2, debug.getlocal(sleeper, 1, mine)).secret,
        getmetatable(file), getmetatable(""), debug.getregistry(), file}, {__mode = "v"})
      modules, ticks = nil, nil
      local s <close> = heap.capture()
      s:save("a")
      local out = assert(io.open("answers", "w"))
      for _, v in ipairs(asked) do
        local text, steps = s:path(v)
        is(heap.path(v), text)
        is(steps[#steps].object, v)
        out:write(steps[#steps].address, " ", text or "nil", "\n")
      end
      out:close()
    ]]
    local n = 0
    for line in io.lines(dir .. "/answers") do
      local address, text = line:match("^(%S+) (.*)$")
      local told = live.json({"heappath", "--json", "a", address}, dir)
      assert.equal(told.paths[1].text, text)
      n = n + 1
    end
    assert.equal(12, n)
  end)

  it("tells each step, with the object that it leads to", function()
    live.lua [[
      bus = {listeners = {tick = {{}}}}
      local text, steps = heap.path(bus.listeners.tick[1])
      is(text, "_G.bus.listeners.tick[1]")
      local labels = {}
      for i, step in ipairs(steps) do labels[i] = step.label end
      is(table.concat(labels, " "), "_G .bus .listeners .tick [1]")
      is(steps[1].object, _G)
      is(steps[4].object, bus.listeners.tick)
      is(steps[4].edge, "value")
      is(steps[4].class, "array of {}")
      is(steps[4].type, "table")
      is(steps[4].shallow_bytes, heap.sizeof(bus.listeners.tick))
      has(tostring(bus), steps[2].address)
      bus.kept = bus.listeners.tick[1]
      bus.listeners = nil
      collectgarbage()
      is(steps[4].object, nil) -- we do not keep it alive
    ]]
  end)

  it("does not count what only the asker holds", function()
    live.lua [[
      local v = {}
      local function no(message, path, why)
        is(path, nil)
        has(why, message)
      end
      no("only the asker holds it: local v in main chunk", heap.path(v))
      no("only the asker holds it: local v in main chunk", select(2, pcall(heap.path, v)))
      no("only the asker holds it: local v in main chunk",
         select(2, xpcall(heap.path, debug.traceback, v)))
      no("nothing holds it but this call", heap.path({}))
      local inside = {deep = {}}
      no("(local inside in main chunk", heap.path(inside.deep))
      no(".deep", heap.path(inside.deep))
      local function vararg(...) return (heap.path(...)), (select(2, heap.path(...))) end
      no("only the asker holds it", vararg({}))
      _G.global = v
      is(heap.path(v), "_G.global")
      _G.global = nil
      -- an upvalue of the asker alone; of another function too; a caller's local variable
      do
        local mine = {}
        function alone() return (heap.path(mine)), (select(2, heap.path(mine))) end
        function both() local r = mine return heap.path(mine) end
      end
      local path, why = both()
      has(path, "upvalue mine of function alone")
      both = nil
      no("only the asker holds it: upvalue mine of function alone", alone())
      local function callee(o) local path = heap.path(o) return path end
      has(callee(v), "local v in main chunk")
    ]]
  end)

  it("knows the asker in coroutines, hooks, metamethods and finalizers", function()
    live.lua [[
      local said = {}
      local function note(path, why) said[#said + 1] = path and "found: " .. path or why end
      local function ask() local v = {} note(heap.path(v)) end
      coroutine.wrap(ask)()
      coroutine.wrap(function()
        local mine = {}
        coroutine.wrap(function() note(heap.path(mine)) end)()
      end)()
      debug.sethook(function() debug.sethook() ask() end, "", 1)
      for i = 1, 10 do local _ = i + 1 end
      setmetatable({}, {__index = ask}).x = setmetatable({}, {__index = ask}).y
      setmetatable({}, {__gc = ask})
      collectgarbage()
      do local closed <close> = setmetatable({}, {__close = ask}) end
      table.sort({2, 1}, function(a, b) ask() return a < b end)
      is(#said, 7)
      has(said[1], "only the asker holds it: local v in function ask")
      has(said[2], "found: local mine in function")
      for i = 3, 7 do has(said[i], "only the asker holds it: local v in function ask") end
    ]]
  end)

  it("takes the line at the prompt for the asker", function()
    local env = {LUA_CPATH = support.build .. "/?.so;;", LD_PRELOAD = os.getenv("LUAHEAP_PRELOAD"),
                 ASAN_OPTIONS = support.sanitized and os.getenv("ASAN_OPTIONS") or nil}
    local out = support.run({os.getenv("LUA") or "lua5.4", "-i", "-e", ""}, {
      env = env,
      stdin = "heap = require 'heap'\nt = {x = {}}\nheap.path(t.x)\nheap.path({})\n" ..
        "local mine = {} print(heap.path(mine))\n"})
    assert.matches("_G.t.x\theap.live_steps: 0x", out, 1, true) -- no heap/*.lua is on its path
    assert.matches("nil\tnothing holds it but this call", out, 1, true)
    assert.matches("nil\tonly the asker holds it: local mine in main chunk", out, 1, true)
  end)

  it("has a clear answer for what is no object", function()
    live.lua [[
      for _, v in ipairs {42, 4.2, true, false} do
        local path, why = heap.path(v)
        is(path, nil)
        has(why, ("a %s is not on the heap"):format(type(v)))
        is(heap.retained(v), 0)
        is(heap.referrers(v), nil)
        is(heap.paths(v, 2), nil)
      end
      has(select(2, heap.path(nil)), "a nil is not on the heap")
      has(select(2, heap.path(print)), "a C function without upvalues is not on the heap")
      is(heap.path(io.stdout), "registry._IO_output")
      is(pcall(heap.path), false)
      has(select(2, pcall(heap.path)), "value expected")
      local s <close> = heap.capture()
      has(select(2, heap.path(s)), "luaheap's own")
      has(select(2, s:path({})), "it is not in the capture")
    ]]
  end)

  it("takes strings as values, and any length of path", function()
    live.lua([[
      key = {["an uncommon key"] = true}
      has(heap.path("an uncommon key"), "an uncommon key")
      local long = ("x"):rep(1000)
      text = {long}
      is(heap.path(long), "_G.text[1]")
      local list
      local n = tonumber(arg[1])
      for i = 1, n do list = {next = list, i = i} end
      _G.list = list
      local last = list
      for _ = 2, n do last = last.next end
      local path, steps = heap.path(last)
      is(path, "_G.list.next*") -- folded, as in the commands
      is(#steps, 25)
      is(steps[13].skipped, n + 1 - 24)
      is(steps[12].object, list.next.next.next.next.next.next.next.next.next.next)
      is(steps[25].object, last)
      -- a function's upvalue and what is in it are not parted where the middle is passed over
      for below = 0, 1 do
        local v = {}
        local chain = below == 0 and v or {v}
        for _ = 1, 30 do
          local next = chain
          chain = function() return next end
        end
        box = chain
        local _, told = heap.path(v)
        is(told[#told].object, v)
        for i = #told - 6, #told - below do
          if not told[i].skipped then is(told[i].label, "upvalue next") end
        end
        is(told[#told - 6 - below].skipped ~= nil, true)
      end
    ]], {args = {support.sanitized and 100000 or 1000000}})
  end)
end)

describe("heap.paths and heap.referrers", function()
  it("name the asker last", function()
    live.lua [[
      v = {}
      box = {in_a = {v}}
      local mine = v
      local list = heap.paths(v, 9)
      is(#list, 3)
      is(list[1].path, "_G.v")
      is(list[1][2].object, v)
      is(list[2].path, "_G.box.in_a[1]")
      is(list[3].asker, true)
      has(list[3].path, "local mine in main chunk")
      is(#heap.paths(v, 1), 1)
      is(#heap.paths({}, 3), 0)
      list = nil
      local rows = heap.referrers(v)
      is(#rows, 3)
      is(rows[1].object, _G)
      is(rows[1].label, ".v")
      is(rows[1].edge, "value")
      is(rows[2].object, box.in_a)
      is(rows[2].asker, nil)
      is(rows[3].asker, true)
      has(rows[3].label, "local mine in main chunk @program.lua (now at line")
      is(rows[3].type, "thread")
      weak = setmetatable({v}, {__mode = "v"})
      local weakly
      for _, row in ipairs(heap.referrers(v)) do weakly = weakly or row.weak and row.object end
      is(weakly, weak)
      for _, bad in ipairs {0, -1, "x"} do is(pcall(heap.paths, v, bad), false) end
      -- an upvalue is told as the functions that have it
      local function two()
        local hidden = {}
        local list = {function() return hidden end, function() hidden = nil end}
        return list, function() return heap.referrers(hidden) end
      end
      local functions, ask = two()
      rows = ask()
      is(#rows, 3)
      for i = 1, 2 do
        is(rows[i].edge, "upvalue")
        is(rows[i].label, "upvalue hidden")
        is(rows[i].object == functions[1] or rows[i].object == functions[2], true)
      end
      is(rows[3].object, ask)
      is(rows[3].asker, true)
    ]]
  end)
end)

describe("heap.retained", function()
  it("is what heaptop says, of what only the call holds, too", function()
    local _, dir = live.lua [[
      math.randomseed(42)
      local nodes = {}
      for i = 1, 300 do nodes[i] = {name = "node " .. i} end
      for i = 1, 600 do
        nodes[math.random(300)][math.random(5)] = nodes[math.random(300)]
      end
      first, nodes = nodes[1], nil
      local s <close> = heap.capture()
      s:save("a")
      local out, n = assert(io.open("answers", "w")), 0
      -- live answers leave out what these have for luaheap's sake alone
      local of_luaheap = {[debug.getregistry()] = true, [package.loaded] = true}
      s:each(function(o, type, bytes)
        n = n + 1
        if type ~= "table" or n % 5 > 0 or of_luaheap[o] then return end
        out:write(("%p %d %d\n"):format(o, s:retained(o), bytes))
      end)
      out:close()
      is(heap.retained(first), s:retained(first))
      local table, slots, string = 56, 16, 25
      if _VERSION == "Lua 5.5" then table, slots, string = 48, 9, 33 end
      local hint = (56 - table) // 2 -- 4 bytes of each array in 5.5
      is(heap.retained({{}, {}}), table + 2 * slots + hint + 2 * table)
      local mine = {{}}
      is(heap.retained(mine), table + slots + hint + table)
      is(heap.retained(("s"):rep(100)), string + 100)
    ]]
    local n = 0
    for line in io.lines(dir .. "/answers") do
      local address, retained, shallow = line:match("^(%S+) (%d+) (%d+)$")
      local told = live.json({"heappath", "--json", "a", address}, dir)
      assert.equal(tonumber(retained), told.retained_bytes)
      assert.equal(tonumber(shallow), told.shallow_bytes)
      n = n + 1
    end
    assert.is_true(n > 20)
  end)
end)

describe("what is tracked", function()
  it("tells its line in what live calls show", function()
    live.lua [[
      assert(heap.track {stacks = true})
      local function new(i)
        return {id = i}
      end
      kept = {}
      for i = 1, 20 do kept[i] = new(i) end
      local where = "@program.lua:14 in new"
      is(heap.top(0)[1].site, nil)
      local path, steps = heap.path(kept[3])
      is(path, "_G.kept[3]")
      is(steps[1].site, nil)
      is(steps[3].site, where)
      has(steps, "allocated at")
      has(steps, where)
      is(heap.referrers(kept[3])[1].site, "@program.lua:16 in main chunk")
      local s <close> = heap.capture()
      local o = s:object(kept[3])
      is(o.site, where)
      is(o.stack.allocated, "allocated at " .. where .. ", from @program.lua:17 in main chunk")
      is(#o.stack, 2)
      local n = 0
      for _, row in ipairs(s:sites()) do
        if row.site == where then n = n + row.objects end
      end
      is(n, 20)
      is(heap.count("site")[where].objects, 20)
      is(heap.count("site")[where].bytes, 20 * heap.sizeof(kept[1]))
      has(heap.count("site"), where)
      heap.untrack()
      is(heap.path(kept[3]), path)
    ]]
  end)

  it("is told nothing of where nothing was", function()
    live.lua [[
      kept = {{}}
      is(select(2, heap.path(kept[1]))[2].site, nil)
      is(heap.count("site"), nil)
      has(select(2, heap.count("site")), "tracked")
      local s <close> = heap.capture()
      local sites, why, code = s:sites()
      is(sites, nil)
      has(why, "not tracked")
      is(code, "absent")
    ]]
  end)
end)

describe("the READMEs", function()
  it("list what there is", function()
    local front = support.read_file(support.root .. "/README.md")
    local meta = support.read_file(support.root .. "/lua/heap/meta.lua")
    local listed = front:match("\n## In the program\n(.-)\n## ") ..
      support.read_file(support.root .. "/lua/README.md")
    local out = live.lua [[
      local names = {}
      for name, value in pairs(heap) do
        if type(value) == "function" then names[#names + 1] = name end
      end
      print(table.concat(names, " "))
    ]]
    local n = 0
    for name in out:gmatch("%a+") do
      assert.matches("function heap." .. name .. "(", meta, 1, true)
      assert.matches("heap." .. name .. "(", listed, 1, true)
      n = n + 1
    end
    assert.is_true(n >= 16)
  end)
end)
