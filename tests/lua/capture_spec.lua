-- capture_spec.lua - objects of a capture as values, which are handed out only if they are still
-- there, and how long a capture lasts.

local support = require "tests.common.support"
local live = require "tests.common.live"

describe("heap.each and heap.objects", function()
  it("hand out everything that is alive, once", function()
    live.lua [[
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
        is(pcall(heap.objects, table.unpack(bad)), false)
      end
      is(#heap.objects{type = "function"}, #heap.objects{type = "closure"})
      for _, none in ipairs {"tables", "upvalue", "table,proto"} do
        has(select(2, pcall(heap.each, print, {type = none})), "'type' is one of table, string")
      end
      is(pcall(heap.each), false)
    ]]
  end)

  it("do not keep alive what they hand out", function()
    live.lua [[
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
    live.lua [[
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
    live.lua [[
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

  it("is nothing that another one finds", function()
    live.lua [[
      local a = heap.capture()
      local b <close> = heap.capture()
      is(b:diff(a).objects, 0, b:diff(a))
      is(heap.since("heap.capture").objects, 0)
      kept = a.reader -- by the program
      local c <close> = heap.capture()
      is(c:path(kept), "_G.kept")
    ]]
  end)

  it("has what heap.reader's snapshots have", function()
    live.lua [[
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
      local growth = require "heap.reader".growth {a.reader, b.reader, c.reader}
      has(tostring(growth), "in 2 steps: +")
      is(#growth.snapshots, 3)
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

  it("is heap.reader's snapshot, which takes values, and hands them out", function()
    live.lua [[
      Session = {__name = "Session"}
      box = {sessions = {}, call = function() return box end, text = ("x"):rep(100)}
      for i = 1, 10 do box.sessions[i] = setmetatable({i}, Session) end
      box.thread = coroutine.create(function() coroutine.yield(box) end)
      coroutine.resume(box.thread)
      local s <close> = heap.capture()
      local o = s:object(box.sessions)
      is(o, s.reader:object(box.sessions))
      is(o:path(), "_G.box.sessions")
      is(o:path(), (s:path(box.sessions)))
      is(o.retained_bytes, s:retained(box.sessions))
      is(o.address, ("%p"):format(box.sessions))
      for _, v in ipairs {box, box.call, box.thread, io.stdout, _G, Session} do
        is(s:object(v).value, v)
      end
      is(s.reader:object("_G.box.text").value, box.text)
      is(s:under(box)[1].object.value, box)
      is(s:dominators(box.sessions[3])[1], o)
      is(#s:frames(box.thread), 2)
      is(s:retained(o), (s.reader:retained {box.sessions, o}))
      is(s.reader:object(s:top(1)[1].object), s.reader:top(1)[1])
      for _, row in ipairs(s:paths(box.sessions, 1)[1]) do
        local told = s.reader:object(row.object)
        for _, key in ipairs {"type", "class", "address", "shallow_bytes"} do
          is(row[key], told[key])
        end
      end
      -- what is gone, or came later, or is no object of this heap
      local gone = s:object(box.sessions[5])
      box.sessions[5] = nil
      collectgarbage()
      is(gone.value, nil)
      is(gone.class, "Session")
      local new, why, code = s:object({})
      is(new, nil)
      has(why, "it is not in the capture")
      is(code, "absent")
      has(select(2, s:object(s)), "luaheap's own")
      has(select(2, pcall(s.under, s, {})), "it is not in the capture")
      is(pcall(s.object, s, true), false)
      s:save("a")
      local file <close> = require "heap.reader".open("a")
      is(file:object("_G.box").value, nil)
      has(select(2, pcall(file.object, file, box)), "object, its number, path, class expected")
    ]]
  end)

  it("gives memory and mark back, however it ends", function()
    live.lua([[
      for i = 1, tonumber(arg[2]) do _G[i] = {} end
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
        -- malloc keeps some of what is freed, once; a leak adds to it in every round
        local before, n, more
        for _ = 1, 5 do
          for _ = 1, 8 do way() end
          collectgarbage()
          collectgarbage()
          n = n or #heap.stats().epochs
          is(#heap.stats().epochs, n, "epochs after " .. i)
          more = before and resident() - before
          if more and more < tonumber(arg[1]) then break end
          before = resident()
        end
        is(more < tonumber(arg[1]), true, ("way %d: %.1f MB more"):format(i, more))
      end
      is(#heap.stats().epochs, 1)
    ]], {args = support.sanitized and {1000, 10000} or {15, 100000}}) -- which keep what is freed
  end)

  it("may be closed by a finalizer in the middle of anything", function()
    live.lua [[
      for i = 1, 200 do _G["global" .. i] = {i} end
      require "lua_heapcheck".small_steps()
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
    live.lua [[
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
