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
    local out = support.run({"lua5.4", "-i", "-e", ""}, {
      env = {LUA_CPATH = support.build .. "/?.so;;"},
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
