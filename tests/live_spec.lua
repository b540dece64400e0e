-- live_spec.lua - a program asks about its own heap: the answers are those of the commands on the
-- same snapshot, but without the asking itself, and objects are handed out that are still there.

local support = require "tests.support"
local cjson = require "cjson"

local prelude = [[
  local heap = require "heap"
  local function is(got, expected, what)
    if got ~= expected then
      error(("%s: %s instead of %s"):format(what or "got", tostring(got), tostring(expected)), 2)
    end
  end
  local function has(got, part)
    if not tostring(got):find(part, 1, true) then
      error(("%q is not in %q"):format(part, tostring(got)), 2)
    end
  end
]]

local function live(program, options) return support.lua(prelude .. program, options) end

local function json(command, dir)
  local out, err, code = support.run(command, {cwd = dir})
  assert(code == 0, err)
  return cjson.decode(out)
end

describe("heap.path", function()
  it("says what heappath says of the same snapshot", function()
    local _, dir = live [[
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
      file = io.tmpfile()
      local modules, ticks = package.loaded, bus.listeners.tick
      local asked = setmetatable({
        ticks[17], ticks[3].call, sleeper, keyed[bus].value, modules["app.cache"][12].owner,
        modules["app.cache"].list[1][1], inside[1], select(2, debug.getlocal(sleeper, 1, 1)).secret,
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
      local told = json({"heappath", "--json", "a", address}, dir)
      assert.equal(told.paths[1].text, text)
      n = n + 1
    end
    assert.equal(12, n)
  end)

  it("tells each step, with the object that it leads to", function()
    live [[
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
    live [[
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
    live [[
      local said = {}
      local function note(path, why) said[#said + 1] = path and "found: " .. path or why end
      local function ask() local v = {} note(heap.path(v)) end
      coroutine.wrap(ask)()
      coroutine.wrap(function()
        local mine = {}
        coroutine.wrap(function() note(heap.path(mine)) end)()
      end)()
      debug.sethook(function() debug.sethook() ask() end, "", 1)
      for i = 1, 10 do i = i + 1 end
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
    assert.matches("_G.t.x\ttable: 0x", out, 1, true)
    assert.matches("nil\tnothing holds it but this call", out, 1, true)
    assert.matches("nil\tonly the asker holds it: local mine in main chunk", out, 1, true)
  end)

  it("has a clear answer for what is no object", function()
    live [[
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
    live [[
      key = {["an uncommon key"] = true}
      has(heap.path("an uncommon key"), "an uncommon key")
      local long = ("x"):rep(1000)
      text = {long}
      is(heap.path(long), "_G.text[1]")
      local list
      for i = 1, 1000000 do list = {next = list, i = i} end
      _G.list = list
      local last = list
      for i = 1, 999999 do last = last.next end
      local path, steps = heap.path(last)
      is(path, "_G.list.next*") -- folded, as in the commands
      is(#steps, 25)
      is(steps[13].skipped, 1000001 - 24)
      is(steps[12].object, list.next.next.next.next.next.next.next.next.next.next)
      is(steps[25].object, last)
    ]]
  end)
end)

describe("heap.paths and heap.referrers", function()
  it("name the asker last", function()
    live [[
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
    local _, dir = live [[
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
      s:each(function(o, type, bytes)
        n = n + 1
        if type ~= "table" or n % 5 > 0 then return end
        out:write(("%p %d %d\n"):format(o, s:retained(o), bytes))
      end)
      out:close()
      is(heap.retained(first), s:retained(first))
      is(heap.retained({{}, {}}), 56 + 32 + 112)
      local mine = {{}}
      is(heap.retained(mine), 56 + 16 + 56)
      is(heap.retained(("s"):rep(100)), 125)
    ]]
    local n = 0
    for line in io.lines(dir .. "/answers") do
      local address, retained, shallow = line:match("^(%S+) (%d+) (%d+)$")
      local told = json({"heappath", "--json", "a", address}, dir)
      assert.equal(tonumber(retained), told.retained_bytes)
      assert.equal(tonumber(shallow), told.shallow_bytes)
      n = n + 1
    end
    assert.is_true(n > 20)
  end)
end)

describe("heap.count, heap.classes and heap.top", function()
  it("say what heaptop says", function()
    local _, dir = live [[
      Listener = {__name = "Listener"}
      kept = {}
      for i = 1, 500 do
        kept[i] = setmetatable({i, tostring(i), function() return i end}, Listener)
      end
      local s <close> = heap.capture()
      s:save("a")
      local function line(file, ...) file:write(table.concat({...}, "\t"), "\n") end
      for _, by in ipairs {"type", "class"} do
        local file <close> = assert(io.open(by, "w"))
        for name, count in pairs(s:count(by)) do line(file, name, count.objects, count.bytes) end
      end
      for _, by in ipairs {"retained", "shallow", "count"} do
        local file <close> = assert(io.open(by, "w"))
        for _, row in ipairs(s:classes(0, by)) do
          line(file, row.class, row.type, row.objects, row.shallow_bytes, row.retained_bytes)
        end
      end
      is(heap.count().closure.objects > 500, true)
      is(heap.count("class").Listener.objects, 500)
      is(heap.classes(3)[1].class ~= nil, true)
      is(#heap.classes(3), 3)
      local top = heap.top(5)
      is(#top, 5)
      is(top[1].retained_bytes >= top[2].retained_bytes, true)
      local found
      for _, row in ipairs(heap.top(30)) do found = found or row.object == kept and row end
      is(found.retained_bytes, heap.retained(kept))
      is(heap.top(3, "shallow")[1].shallow_bytes, heap.sizeof(heap.top(1, "shallow")[1].object))
      for _, bad in ipairs {{-1}, {1.5}, {1, "size"}, {"x"}} do
        is(pcall(heap.top, table.unpack(bad)), false)
        is(pcall(heap.classes, table.unpack(bad)), false)
      end
      is(pcall(heap.count, "shape"), false)
    ]]
    local told = json({"heaptop", "--json", "-n0", "a"}, dir)
    local classes, types, sum = {}, {}, 0
    local function add(t, name, row)
      t[name] = t[name] or {0, 0}
      t[name][1], t[name][2] = t[name][1] + row.objects, t[name][2] + row.shallow_bytes
    end
    for _, row in ipairs(told.classes) do
      add(classes, row.class, row)
      add(types, row.type, row)
      sum = sum + row.objects
    end
    assert.is_true(sum > 1500)
    for name, expected in pairs {type = types, class = classes} do
      for line in io.lines(dir .. "/" .. name) do
        local key, objects, bytes = line:match("^(.-)\t(%d+)\t(%d+)$")
        assert.same({tonumber(objects), tonumber(bytes)}, expected[key], key)
        expected[key] = nil
      end
      assert.is_nil(next(expected))
    end
    -- In the file something more is retained by the capture itself, or shared with it.
    for _, by in ipairs {"retained", "shallow", "count"} do
      local rows, compared = {}, 0
      for i, row in ipairs(json({"heaptop", "--json", "-n0", "--sort", by, "a"}, dir).classes) do
        rows[row.class .. row.type] = {row, i}
      end
      local i = 0
      for line in io.lines(dir .. "/" .. by) do
        i = i + 1
        local class, type, figures, retained = line:match("^(.-)\t(.-)\t(%d+\t%d+)\t(%d+)$")
        local row, place = table.unpack(rows[class .. type])
        assert.equal(("%d\t%d"):format(row.objects, row.shallow_bytes), figures)
        if by ~= "retained" then assert.equal(place, i) end
        if tonumber(retained) == row.retained_bytes then compared = compared + 1 end
      end
      assert.is_true(i > 20 and compared >= i - 4)
    end
  end)
end)

describe("heap.since and heap.diff", function()
  it("group as heapdiff does", function()
    local _, dir = live [[
      Session = {__name = "Session"}
      sessions, cache = {}, {}
      heap.mark("before")
      for i = 1, 50 do
        sessions[i] = setmetatable({id = i, log = {{}, {}}}, Session)
        cache["key " .. i] = {}
      end
      local s <close> = heap.capture()
      s:save("a")
      local out = assert(io.open("answers", "w"))
      local groups = heap.since("before")
      out:write(groups.objects, " ", groups.shallow_bytes, " ", groups.retained_bytes, "\n")
      for _, g in ipairs(groups) do
        if g.class == "Session" or g.class == "{}" then
          out:write(g.class, " ", g.held_by, " ", g.objects, " ", g.shallow_bytes, " ",
                    g.retained_bytes, " ", g.new_objects, " ", g.new_bytes, " ",
                    g.fingerprint, "\n")
        end
      end
      out:close()
      local none, why = heap.since("nothing of this name")
      is(none, nil)
      has(why, "nothing of this name")
      has(why, '"before"')
      is(pcall(heap.since), false)
    ]]
    local told = json({"heapdiff", "--json", "--since", "before", "-n0", "a"}, dir)
    local lines = support.lines(support.read_file(dir .. "/answers"))
    local n = 1
    for _, g in ipairs(told.groups) do
      if g.class == "Session" or g.class == "{}" then
        n = n + 1
        assert.equal(("%s %s %d %d %d %d %d %s"):format(
          g.class, g.held_by, g.objects, g.shallow_bytes, g.retained_bytes, g.new_objects,
          g.new_bytes, g.fingerprint), lines[n])
      end
    end
    assert.equal(#lines, n)
    assert.is_true(n > 2)
  end)

  it("tells what a function leaves, run after run", function()
    live [[
      local marks = heap.stats({objects = false})
      leak = {}
      local function work(n) leak[#leak + 1] = {n, {}} local gone = {{}, {}} return gone end
      for _, n in ipairs {1, 7} do
        local left = heap.diff(work, n)
        is(left.objects, 2 * n)
        is(#left, 1)
        is(left[1].held_by, n == 1 and "_G.leak[*]" or "_G.leak[*]")
        is(left[1].objects, n)
        is(left[1].new_objects, 2 * n)
      end
      is(heap.diff(function() end).objects, 0)
      is(#heap.diff(function() local t = setmetatable({}, {__gc = function() end}) end, 100), 0)
      -- what the asker holds has stayed, too
      local held = {}
      local left = heap.diff(function() held[#held + 1] = {} end, 10)
      is(left[1].objects, 10)
      has(left[1].held_by, "local held in main chunk")
      -- errors come through, and leave nothing
      local ok, why = pcall(heap.diff, function() error("on purpose") end, 3)
      is(ok, false)
      has(why, "on purpose")
      is(pcall(heap.diff), false)
      is(pcall(heap.diff, work, 0), false)
      is(#heap.stats().epochs, 1) -- no mark stays
    ]]
  end)
end)

describe("heap.each and heap.objects", function()
  it("hand out everything that is alive, once", function()
    live [[
      Session = {__name = "Session"}
      sessions = {}
      for i = 1, 10000 do sessions[i] = setmetatable({n = i}, Session) end
      for i = 1, 2500 do setmetatable({n = i}, Session) end -- garbage
      collectgarbage("stop")
      local count, seen, sum, twice = heap.count("class").Session, {}, 0, 0
      is(count.objects, 10000)
      local n = heap.each(function(o, type, bytes)
        if seen[o.n] then twice = twice + 1 end
        seen[o.n] = true
        sum = sum + bytes
        is(type, "table")
      end, {class = "Session"})
      is(n, 10000)
      is(#seen, 10000)
      is(twice, 0)
      is(sum, count.bytes)
      is(heap.each(function() end, "Session"), 10000)
      is(heap.each(function() end, {class = "Session", type = "string"}), 0)
      local types, counts = {}, heap.count()
      heap.each(function(o, type, bytes)
        types[type] = (types[type] or 0) + 1
        is(_G.type(o), type == "closure" and "function" or type)
        if bytes ~= heap.sizeof(o) and o ~= types and type ~= "thread" then error(type) end
      end)
      for type, expected in pairs(counts) do
        if type ~= "upvalue" and type ~= "proto" then
          is(math.abs((types[type] or 0) - expected.objects) < 15, true, type)
        end
      end
      local list = heap.objects("Session")
      is(#list, 10000)
      local all = {}
      for _, o in pairs(list) do all[o.n] = o end
      is(#all, 10000)
      is(#heap.objects{type = "thread"}, 1)
      is(heap.objects{type = "thread"}[1], (coroutine.running()))
      is(#heap.objects("no such class"), 0)
      is(heap.objects{type = "function"}[1] ~= nil, true)
      for _, bad in ipairs {{}, {1}, {true}, {{class = 1}}, {{size = 3}}, {{"table"}}} do
        is(pcall(heap.objects, table.unpack(bad)), bad[1] == nil and false or false)
      end
      is(pcall(heap.each), false)
    ]]
  end)

  it("do not keep alive what they hand out", function()
    live [[
      kept = {}
      Session = {__name = "Session"}
      for i = 1, 100 do kept[i] = setmetatable({}, Session) end
      local list = heap.objects("Session")
      is(#list, 100)
      is(#heap.referrers(kept[1]), 2) -- the table and, weakly, the list
      is(heap.path(list[1]):match("^_G%.kept"), "_G.kept")
      for i = 1, 100, 2 do kept[i] = nil end
      collectgarbage()
      local n = 0
      for _ in pairs(list) do n = n + 1 end
      is(n, 50)
    ]]
  end)

  it("let the callback do what it wants", function()
    live [[
      local function fill(n)
        t = {}
        for i = 1, n do t[i] = {i = i, weak = setmetatable({}, {__mode = "k"})} end
      end
      -- allocates and collects
      fill(20000)
      local sum = 0
      heap.each(function(o)
        if not o.i then return end
        sum = sum + o.i
        local _ = {{}, tostring(o.i)}
        if o.i % 2000 == 0 then collectgarbage() end
      end, "table")
      heap.each(function(o) if rawget(o, "i") then sum = sum + o.i end
        if o.i and o.i % 5000 == 0 then collectgarbage() end end, {type = "table"})
      is(sum, 20000 * 20001 // 2)
      -- lets others go: they are not handed out when they are gone
      fill(20000)
      local late, handed = 0, {}
      heap.each(function(o)
        local i = rawget(o, "i")
        if not i then return end
        if #t > 0 then t = {} collectgarbage() end
        handed[i] = true
        late = late + 1
      end, {type = "table"})
      is(late < 5000 and late > 0, true, late)
      -- gives finalizers, which moves objects on Lua's lists
      fill(10000)
      local n = 0
      heap.each(function(o)
        if rawget(o, "i") then n = n + 1 setmetatable(o, {__gc = function() end}) end
      end, {type = "table"})
      is(n, 10000)
      -- raises
      local marks = #heap.stats().epochs
      for i = 1, 3 do
        local ok, why = pcall(heap.each, function() error("enough " .. i) end)
        is(ok, false)
        has(why, "enough " .. i)
      end
      is(#heap.stats().epochs, marks)
      -- asks again
      local inner
      is(heap.each(function(o)
        if o == _G then inner = heap.each(function() end, {type = "thread"}) end
      end, {type = "table"}) > 10000, true)
      is(inner, 1)
      -- from a coroutine, which may not yield in it
      local co = coroutine.wrap(function() return heap.each(function() end, {type = "thread"}) end)
      is(co(), 2)
      co = coroutine.create(function() heap.each(function() coroutine.yield() end) end)
      has(select(2, coroutine.resume(co)), "attempt to yield across a C-call boundary")
    ]]
  end)
end)

describe("heap.capture", function()
  it("answers about its moment, and never hands out another object", function()
    live [[
      objects = {}
      for i = 1, 3000 do objects[i] = {i = i} end
      local s = heap.capture()
      local ids, n_gone, n_there = {}, 0, 0
      for o in s.reader:objects{type = "table"} do
        local i = o:get("i")
        if i then ids[#ids + 1] = {o.id, i} end
      end
      is(#ids, 3000)
      for i = 1, 3000 do if i % 3 ~= 0 then objects[i] = nil end end
      collectgarbage()
      local others = {}
      for i = 1, 4000 do others[i] = {i = -i} end -- in the memory of those that are gone
      for _, pair in ipairs(ids) do
        local o = s:object(pair[1])
        if o then
          n_there = n_there + 1
          is(o.i, pair[2])
          is(o, objects[o.i])
        else
          n_gone = n_gone + 1
        end
      end
      is(n_there, 1000)
      is(n_gone, 2000)
      is(s:path(objects[3]), "_G.objects[3]")
      for i = 1, 4000 do is(s:path(others[i]), nil) end
      is(s:object("_G.objects"), objects)
      is(s:object("_G.objects[6]"), objects[6])
      is(s:object("_G.objects[7]"), nil)
      is(s:object("_G.nothing"), nil)
      is(s:object(0), nil)
      is(s:object(-5), nil)
      is(s:object(1 << 40), nil)
      is(pcall(s.object, s, 1.5), false)
      is(pcall(s.object, s), false)
      is(pcall(s.path), false)
      is(pcall(s.path, io.stdout, {}), false)
      s:close()
      s:close()
      is(pcall(s.path, s, objects), false)
      is(pcall(s.object, s, 1), false)
      is(pcall(function() return s.info end), false)
    ]]
  end)

  it("has what heap.reader's snapshots have", function()
    live [[
      list = {}
      local a <close> = heap.capture()
      for i = 1, 50 do list[i] = {{}} end
      local b <close> = heap.capture()
      for i = 51, 60 do list[i] = {{}} end
      local c <close> = heap.capture()
      is(c.info.state_id, a.info.state_id)
      is(c:verify() > 0, true)
      local group
      for _, g in ipairs(c:diff(a, b)) do
        if g.held_by == "_G.list[*]" then group = g end
      end
      is(group.objects, 50)
      is(group.new_objects, 100)
      has(tostring(c:suspects()), "")
      has(tostring(c.reader), "snapshot")
      is(c.nothing, nil)
      local o = c.reader:object("_G.list[1]")
      is(c:path(o), "_G.list[1]")
      is(c:retained(o), heap.retained(list[1]))
      is(c:object(o.id), list[1])
      is(a:save("a") > 0, true)
      local nothing, why, errno = a:save("no/such/folder")
      is(nothing, nil)
      has(why, "no/such/folder")
      is(errno > 0, true)
      is(pcall(a.save, a), false)
      is(pcall(a.save, a, ""), false)
    ]]
  end)

  it("gives memory and mark back, however it ends", function()
    live([[
      for i = 1, 100000 do _G[i] = {} end
      local function resident()
        for line in io.lines("/proc/self/status") do
          local kilobytes = line:match("^VmRSS:%s*(%d+)")
          if kilobytes then return kilobytes / 1024 end
        end
      end
      local ways = {
        function() heap.path(_G[5]) end,
        function() local s <close> = heap.capture() s:path(_G[5]) s:count() end,
        function() pcall(heap.each, function() error("stop") end) end,
        function() local s = heap.capture() s:top() s = nil collectgarbage() collectgarbage() end,
        function() local s = heap.capture() local o = s.reader:object("_G") s:close() end,
        function() local s = heap.capture() s:path(_G[1]) s.reader:close() end,
        function()
          local s = heap.capture()
          pcall(s.each, s, function() s:close() s.reader:close() error("stop") end)
        end}
      for i, way in ipairs(ways) do
        for _ = 1, 8 do way() end
        collectgarbage()
        collectgarbage()
        local before, n = resident(), #heap.stats().epochs
        for _ = 1, 8 do way() end
        collectgarbage()
        collectgarbage()
        is(#heap.stats().epochs, n, "epochs after " .. i)
        local more = resident() - before
        is(more < tonumber(arg[1]), true, ("way %d: %.1f MB more"):format(i, more))
      end
      is(#heap.stats().epochs, 1)
    ]], {args = {support.sanitized and "1000" or "15"}}) -- there, what is freed is kept for a while
  end)

  it("may be closed by a finalizer in the middle of anything", function()
    live [[
      for i = 1, 200 do _G["global" .. i] = {i} end
      collectgarbage("incremental", 1000, 1, 1)
      local n_closed, n_done = 0, 0
      for i = 1, 150 do
        local s = heap.capture()
        setmetatable({}, {__gc = function()
          s:close()
          n_closed = n_closed + 1
          if i % 2 == 0 then pcall(function() s.reader:close() end) end
        end})
        local ok, why = pcall(function()
          for k = 1, i % 9 do
            s:path(_G.global1) s:top(20) s:referrers(_G) s:count("class") s:objects("table")
            s:each(function() end)
          end
        end)
        if not ok then has(why, "the capture is closed") end
        n_done = n_done + (ok and 1 or 0)
      end
      is(n_closed > 50 and n_done < 150, true, n_closed .. " " .. n_done)
    ]]
  end)

  it("works in every state of the collector", function()
    live [[
      local check = require "lua_heapcheck"
      local states = {}
      tree = {}
      local function ask(where)
        local o = {where}
        tree[1] = o
        is(heap.path(o), "_G.tree[1]", where)
        is(heap.retained(tree) >= heap.retained(o) + 56, true, where)
        local found = 0
        heap.each(function(t) if t == o then found = found + 1 end end, {type = "table"})
        is(found, 1, where)
      end
      for _, mode in ipairs {"incremental", "generational"} do
        collectgarbage(mode)
        for i = 1, 300 do
          tree[2 + i % 50] = {i, tostring(i), function() return i end}
          setmetatable({}, {__gc = i % 7 == 0 and function() ask("finalizer") end or nil})
          collectgarbage("step", mode == "incremental" and 0 or i % 3)
          local state = check.collector()
          if not states[state] or i % 60 == 0 then states[state] = true ask(state) end
        end
      end
      collectgarbage("stop")
      ask("stopped")
    ]]
  end)
end)

describe("the README", function()
  it("lists what there is", function()
    local readme = support.read_file(support.root .. "/README.md")
    local meta = support.read_file(support.root .. "/lua/heap/meta.lua")
    local section = readme:match("\n## From inside the program\n(.-)\n## ")
    local out = live [[
      local names = {}
      for name, value in pairs(heap) do
        if type(value) == "function" then names[#names + 1] = name end
      end
      print(table.concat(names, " "))
    ]]
    local n = 0
    for name in out:gmatch("%a+") do
      assert.matches("function heap." .. name .. "(", meta, 1, true)
      if readme:match("heap%." .. name .. "[^%a]") then n = n + 1 end
      assert.is_true(section:find("heap." .. name, 1, true) ~= nil or
        ("snapshot mark sizeof stats leaks"):find(name, 1, true) ~= nil, name)
    end
    assert.is_true(n >= 16)
  end)
end)
