-- groups_spec.lua - how heapdiff groups new objects, for one small leak of each kind.

local json = require "cjson"
local support = require "tests.common.support"
local reader = require "heap.reader"
local small = require "tests.common.diff"
local diff, groups_of = small.ask, small.groups_of

describe("new objects that stay", function()
  --  _G.bus -> listeners -> tick -> [i] -> fn -> upvalue s -> session
  it("are one row for one cause", function()
    local answer = diff [[
      bus = {listeners = {tick = {}}}
      function leak()
        for i = 1, 100 do
          local session = {id = i, buffer = {}}
          table.insert(bus.listeners.tick, {fn = function() return session end})
        end
      end
    ]]
    assert.same({"100 {fn} <- _G.bus.listeners.tick[*]"}, groups_of(answer))
    assert.equal(500, answer.objects) -- record, closure, upvalue, session, buffer
    assert.equal(answer.retained_bytes, answer.groups[1].retained_bytes)
  end)

  -- _G.handler -> upvalue previous -> function -> upvalue previous -> ...
  it("are one chain where each closure holds the one before", function()
    local answer, dir = diff [[
      handler = print
      local function wrap(previous) return function(...) return previous(...) end end
      function leak() for _ = 1, 100 do handler = wrap(handler) end end
    ]]
    assert.same({"100 function @app.lua:3 <- _G.handler(upvalue previous)*"}, groups_of(answer))
    assert.same({0, 99, 199}, answer.groups[1].at)
    local path = support.run({"heappath", "--format", "json", "c", "_G.handler(upvalue previous)*"},
                             {cwd = dir})
    assert.equal("upvalue previous of function @app.lua:3 in _G.handler",
                 json.decode(path).paths[1].text)
  end)

  -- _G.layer -> metatable -> __index -> the layer before -> ...
  it("are one chain where each layer has a field of its own", function()
    local answer = diff [[
      layer, n = {}, 0
      function leak()
        for _ = 1, 100 do
          n = n + 1
          layer = setmetatable({["option" .. n] = n, level = n}, {__index = layer})
        end
      end
    ]]
    assert.same({"100 {level, option*} <- _G.layer(metatable.__index)*"}, groups_of(answer))
    assert.same({0, 99, 199}, answer.groups[1].at)
  end)

  -- _G.trail -> [i] -> who -> session, which two records share
  it("are the records at a path, not what these share", function()
    local program = [[
      audit = {trail = {}}
      function leak()
        for i = 1, 100 do
          local session = {id = i, buffer = {("x"):rep(200) .. i}}
          for _, what in ipairs {"login", "logout"} do
            table.insert(audit.trail, {who = session, what = what})
          end
        end
      end
    ]]
    local answer, dir = diff(program)
    assert.same({"200 {what, who} <- _G.audit.trail[*]"}, groups_of(answer))
    assert.same({0, 200, 400}, answer.groups[1].at)
    assert.equal(answer.retained_bytes, answer.groups[1].retained_bytes)
    local text = support.run({"heaptop", "--leaks", "--json", "c"}, {cwd = dir})
    local leaks = json.decode(text).leaks
    assert.same({"_G.audit.trail[*]", "{what, who}", 400},
                {leaks[1].held_by, leaks[1].class, leaks[1].objects})
  end)

  it("are one class where loaded code differs in numbers only", function()
    local answer = diff [[
      compiled = {}
      function leak()
        for i = #compiled + 1, #compiled + 20 do
          compiled[i] = load("return function() return " .. i .. " end")()
        end
      end
    ]]
    assert.same({'20 function [string "return function() return * end"]:1 <- _G.compiled[*]'},
                groups_of(answer))
  end)

  it("are told with the second path that holds them, if there is one", function()
    local function text_of(program)
      local _, dir = diff(program)
      return (support.run({"heapdiff", "a", "b", "c"}, {cwd = dir}))
    end
    local twice = text_of [[
      by_id, by_name = {}, {}
      function leak()
        for i = #by_id + 1, #by_id + 100 do
          local user = {id = i, name = "user" .. i}
          by_id[i], by_name[user.name] = user, user
        end
      end
    ]]
    assert.match("\nOf the first group, 0x%x+ is held by _G.by_id%[%d+%], and also by "
                 .. "_G.by_name.user%d+\n", twice)
    local shared = text_of [[
      gets, sets = {}, {}
      function leak()
        for i = #gets + 1, #gets + 100 do
          local user = {id = i, name = "user" .. i}
          gets[i] = function() return user end
          sets[i] = function(new) user = new end
        end
      end
    ]]
    assert.match("\nOf the first group, 0x%x+ is held by upvalue user of function @app.lua:%d+ "
                 .. "in _G.gets%[%d+%], and also by upvalue user of function @app.lua:%d+ "
                 .. "in _G.sets%[%d+%]\n", shared)
    assert.not_match("and also by", text_of [[
      list = {}
      function leak() for i = 1, 100 do list[#list + 1] = {id = i} end end
    ]])
  end)

  it("are one row under the keys of a map", function()
    local answer = diff [[
      local Session = {__name = "Session"}
      users = {}
      function leak(n)
        for i = 1, 20 do users["u" .. n .. i] = setmetatable({}, Session) end
      end
    ]]
    assert.same({"20 Session <- _G.users[*]"}, groups_of(answer))
  end)

  --  _G.req_1 ... _G.req_20, _G.few_1 ... _G.few_3
  it("are one row under globals that differ in a number, if they are many", function()
    local answer, dir = diff [[
      local n = 0
      function leak(k)
        for i = 1, 20 do n = n + 1 _G["req_" .. n] = {id = i, list = {}} end
        for i = 3 * k - 2, 3 * k do _G["few_" .. i] = {few = i} end
      end
    ]]
    assert.same({"20 {id, list} <- _G.req_*", "1 {few} <- _G.few_3", "1 {few} <- _G.few_2",
                 "1 {few} <- _G.few_1"}, groups_of(answer))
    assert.equal(40, answer.groups[1].new_objects)
    local found <close> = assert(reader.open(dir .. "/c"))
    assert.equal(40, #found:objects_with(answer.groups[1].fingerprint))
    local text = support.lua [[
      local n = 0
      print(require "heap".leaks(function() n = n + 1 _G["req_" .. n] = {id = n, list = {}} end))
    ]]
    assert.matches("_G%.req_%* +" .. answer.groups[1].fingerprint:gsub("%-", "%%-"), text)
  end)

  --  package.loaded["tenant_1"] -> {id, list}, ...: each a class of its own
  it("are one row under modules that differ in a number", function()
    local answer, dir = diff [[
      local n = 0
      function leak()
        for i = 1, 20 do n = n + 1 package.loaded["tenant_" .. n] = {id = i, list = {}} end
      end
    ]]
    assert.same({'20 module tenant_* <- package.loaded["tenant_*"]'}, groups_of(answer))
    local found <close> = assert(reader.open(dir .. "/c"))
    local group = found:since("a", "b")[1]
    assert.same({"module tenant_*", answer.groups[1].fingerprint}, {group.class, group.fingerprint})
    assert.equal(40, #found:objects_with(group.fingerprint))
  end)

  --  _G.tenant_1 -> object of a class whose __name is "module 1", ...
  it("are one row where each has a class of its own, modules or not", function()
    local answer = diff [[
      local n = 0
      function leak()
        for _ = 1, 10 do
          n = n + 1
          _G["tenant_" .. n] = setmetatable({}, {__name = "module " .. n})
        end
      end
    ]]
    assert.same({"10 module * <- _G.tenant_*"}, groups_of(answer))
  end)

  --  orders["ord-1"] -> object whose metatable and __name are its own, ...
  it("are one row under keys where each has a class of its own, code that was generated, too",
     function()
    local answer, dir = diff [[
      local n = 0
      orders, pages = {}, {}
      function leak()
        for _ = 1, 10 do
          n = n + 1
          orders["ord-" .. n] = setmetatable({}, {__name = "Order#" .. n})
          pages["page of user" .. n] = load("return " .. n, "=page" .. n)
        end
      end
    ]]
    local groups = groups_of(answer)
    table.sort(groups)
    assert.same({"10 Order#* <- _G.orders[*]", "10 main chunk page* <- _G.pages[*]"}, groups)
    for _, group in ipairs(answer.groups) do assert.same({0, 10, 20}, group.at) end
    local found <close> = assert(reader.open(dir .. "/c"))
    for _, group in ipairs(answer.groups) do
      assert.equal(20, #found:objects_with(group.fingerprint), group.held_by)
    end
  end)

  it("are one row of several classes and shapes, which it names", function()
    local answer = diff [[
      list, n = {}, 0
      local Insert, Delete = {__name = "Insert"}, {__name = "Delete"}
      function leak()
        for _ = 1, 10 do
          n = n + 1
          list[n] = setmetatable({at = n, len = n % 5 == 0 and n or nil},
                                 n % 10 < 6 and Insert or Delete)
        end
      end
    ]]
    assert.same({"10 Insert, Delete <- _G.list[*]"}, groups_of(answer))
    answer = diff [[
      list, n = {}, 0
      function leak()
        for _ = 1, 10 do
          n = n + 1
          list[n] = {id = n, note = n % 2 == 0 and n or nil, tag = n % 5 == 0 and n or nil}
        end
      end
    ]]
    assert.same({"10 {id, note}, {id} and 2 more <- _G.list[*]"}, groups_of(answer))
  end)

  --  bus.data[n] -> function -self-> Conn <-self- function <- bus.close[n]
  it("are what a person made, and all that holds it, where functions share it", function()
    local answer = diff [[
      bus, n = {data = {}, close = {}}, 0
      local Conn = {__name = "Conn"}
      function leak()
        for _ = 1, 10 do
          n = n + 1
          local self = setmetatable({buffer = ("x"):rep(500) .. n}, Conn)
          bus.data[n] = function() return self.buffer end
          bus.close[n] = function() self.buffer = nil end
        end
      end
    ]]
    assert.equal(1, #answer.groups)
    local group = answer.groups[1]
    assert.same({"Conn", "_G.bus.close[*]", "_G.bus.data[*]", 10, 50},
                {group.class, group.held_by, group.also_held_by, group.objects,
                 group.new_objects})
    assert.equal(answer.retained_bytes, group.retained_bytes)
  end)

  --  by_id[n] -> Session <- by_user[n]
  it("are told by all that holds them", function()
    local answer = diff [[
      by_id, by_user, n = {}, {}, 0
      local shared = {}
      function leak()
        for _ = 1, 10 do
          n = n + 1
          local session = {id = n, shared = shared}
          by_id[n], by_user["user" .. n] = session, session
        end
      end
    ]]
    local group = answer.groups[1]
    assert.same({"{id, shared}", "_G.by_id[*]", "_G.by_user[*]"},
                {group.class, group.held_by, group.also_held_by})
  end)

  --  cache.map[n] -> entry <-> the next entry
  it("are not told to be held by their neighbours", function()
    local answer = diff [[
      cache, n = {map = {}}, 0
      function leak()
        for _ = 1, 10 do
          n = n + 1
          local entry = {value = n, prev = cache.newest}
          if entry.prev then entry.prev.next = entry end
          cache.map[n], cache.newest = entry, entry
        end
      end
    ]]
    local group = answer.groups[1]
    assert.same({"_G.cache.map[*]", json.null}, {group.held_by, group.also_held_by})
    answer = diff [[
      sessions, n = {}, 0
      function leak()
        for _ = 1, 10 do
          n = n + 1
          local session = {id = n}
          session.close = function() sessions[session.id] = nil end
          sessions[n] = session
        end
      end
    ]]
    group = answer.groups[1]
    assert.same({"_G.sessions[*]", json.null}, {group.held_by, group.also_held_by})
  end)

  it("come first where there are ever more, not where a full cache has new ones", function()
    local answer = diff [[
      cache, leaked, n = {}, {}, 0
      local function work(n)
        cache[n % 50] = {id = n, text = ("x"):rep(500) .. n}
        if n % 10 == 0 then leaked[n] = {n} end
      end
      for i = 1, 100 do work(i) end
      function leak()
        for _ = 1, 100 do
          n = n + 1
          work(100 + n)
        end
      end
    ]]
    local first = answer.groups[1]
    assert.same({"_G.leaked[*]", {10, 20, 30}}, {first.held_by, first.at})
    for _, group in ipairs(answer.groups) do
      if group.held_by == "_G.cache[*]" then assert.same({50, 50, 50}, group.at) end
    end
  end)

  it("are one row along a list and down a tree", function()
    local answer = diff [[
      list = {value = 0} local tail = list
      root = {name = "root", children = {}} local at = root
      function leak()
        for i = 1, 30 do
          local other = {value = i, next = false} tail.next = other tail = other
          local node = {name = "n", children = {}} at.children[1] = node at = node
        end
      end
      leak()
    ]]
    assert.same({"30 {children, name} <- _G.root(.children[*])*",
                 "30 {next, value} <- _G.list.next*"}, groups_of(answer))
  end)

  --  _G.line -.first-> Node <-> new ones <-> Node <-.last- _G.line
  it("are one row of a list that is linked both ways", function()
    local answer = diff [[
      local Node = {__name = "Node"}
      local function link(a, b) a.next, b.previous = b, a end
      local function new() return setmetatable({}, Node) end
      line = {first = new(), last = new()}
      link(line.first, line.last)
      function leak()
        for i = 1, 30 do
          local node, at = new(), i % 2 == 0 and line.first or line.last.previous
          local behind = at.next
          link(at, node)
          link(node, behind)
        end
      end
    ]]
    assert.same({"30 Node <- _G.line.first.next*"}, groups_of(answer))
    assert.same({0, 30, 60}, answer.groups[1].at)
  end)

  --  _G.root -.children-> {} -.users-> node -.children-> {} -.u1..-> node
  --                          -.news-> node ...
  it("are told with the branch of a tree that they are in", function()
    local answer, dir = diff [[
      local function node() return {children = {}, seen = {}} end
      root = node()
      for _, name in ipairs {"users", "news", "rooms"} do root.children[name] = node() end
      local n = 0
      function leak()
        for _ = 1, 20 do n = n + 1 root.children.users.children["u" .. n] = node() end
      end
    ]]
    assert.same({"20 {children, seen} <- _G.root.children.users.children[*]"}, groups_of(answer))
    local text = support.answer({"heappath", "--format", "text", "c", answer.groups[1].held_by},
                                dir)
    assert.match("\n40 objects like that", text)
  end)

  it("are told with each of two links, where one has a name", function()
    local answer = diff [[
      local Node = {__name = "Node"}
      local function node(next) return setmetatable({children = {}, next = next}, Node) end
      for _ = 1, 9 do root = node(root) end
      function leak()
        local last = root
        while last.next do last = last.next end
        for _ = 1, 20 do
          local inner = node()
          inner.children[1] = node()
          table.insert(last.children, inner)
        end
      end
    ]]
    assert.same({"40 Node <- _G.root.next*.children[*]"}, groups_of(answer))
  end)

  it("are one row along a chain through metatables or keys", function()
    local answer, dir = diff [[
      settings, keyed = {level = 0}, {}
      function leak()
        for i = 1, 30 do
          settings = setmetatable({level = i}, {__index = settings})
          keyed = {inner = {[keyed] = true}, level = i, kind = "keyed"}
        end
      end
      leak()
    ]]
    assert.same({"30 {inner, kind, level} <- key of _G.keyed.inner(key.inner)*",
                 "30 {level} <- _G.settings(metatable.__index)*"}, groups_of(answer))
    local c = reader.open(dir .. "/c") -- the first steps of the 90 are told without a star
    assert.equal(87, #c:objects_with(answer.groups[1].fingerprint))
    assert.equal(89, #c:objects_with(answer.groups[2].fingerprint))
  end)

  it("are held by keys, upvalues, locals and coroutines", function()
    local answer = diff [[
      local cache, kept = {}, {}
      set = {}
      function leak(n)
        for i = 1, 10 do
          cache["k" .. n .. i] = {entry = i}
          set[{element = i}] = true
          kept[#kept + 1] = coroutine.create(function(x) coroutine.yield(x) end)
          coroutine.resume(kept[#kept], i)
        end
      end
    ]]
    local groups = table.concat(groups_of(answer), "\n")
    assert.match("10 {entry} <- (upvalue cache of function leak @app.lua:4)[*]", groups, 1, true)
    assert.match("10 {element} <- key of _G.set", groups, 1, true)
    assert.match("10 thread @app.lua:8 <- (upvalue kept of function leak @app.lua:4)[*]",
                 groups, 1, true)
  end)

  --  package.loaded["heap.leaks"], registry["heap.snapshot"] ...       loaded when first asked for
  it("are none of luaheap's own", function()
    local answer = diff [[
      kept = {}
      local function nothing() end
      function leak(n)
        for i = 1, 20 do kept[#kept + 1] = {n} end
        if n == 1 then
          heap.leaks(nothing)
          require "heap.show"
          heap.capture():close()
        end
      end
    ]]
    assert.same({"20 array of number <- _G.kept[*]"}, groups_of(answer))
    assert.equal(20, answer.objects)
  end)

  it("are exact though memory is reused", function()
    local answer = diff [[
      keep = {}
      function leak()
        for i = 1, 500 do local garbage = {{i}, {i}} keep[i] = {old = i} end
        collectgarbage() collectgarbage()
        for i = 1, 500 do keep[i] = i <= 7 and {young = i} or nil end
        collectgarbage()
      end
      leak()
      local first = leak
      function leak(n) if n == 1 then first() end end
    ]]
    assert.same({"7 {young} <- _G.keep[*]"}, groups_of(answer))
  end)

  it("are not those that a finalizer revived; those that got one later count from then", function()
    local answer = diff [[
      revived, later = {}, {{x = 1}}
      setmetatable({phoenix = true}, {__gc = function(o) revived[1] = o end})
      function leak(n)
        if n == 1 then collectgarbage() setmetatable(later[1], {__gc = print}) end
      end
    ]]
    local groups = table.concat(groups_of(answer), "\n")
    assert.not_match("phoenix", groups)
    assert.match("1 {x} <- _G.later[*]", groups, 1, true)
  end)

  -- Objects with finalizers are freed late, so that new ones land on the addresses of old ones,
  -- with finalizers and without.
  for _, mode in ipairs {"incremental", "generational"} do
    it("are exact with finalizers, the collector being " .. mode, function()
      for _, n in ipairs {100, 1000, 5000} do
        local answer = diff(([[
          collectgarbage("%s")
          local mt, kept = {__name = "Resource", __gc = function() end}, {}
          function leak()
            for i = 1, %d do
              local garbage = {1}
              setmetatable({1}, mt)
              kept[#kept + 1] = setmetatable({1}, mt)
            end
          end
          leak()
        ]]):format(mode, n))
        assert.same({n .. " Resource <- (upvalue kept of function leak @app.lua:4)[*]"},
                    groups_of(answer))
      end
    end)
  end

  --  _G.handlers[i] -> f -> upvalue member -> member -.other-> f, of the same class
  --  _G.orders[i] -> Order -.customer-> {last} -.last-> Order
  --  _G.batches[i] -> Node -.next-> Node -.next-> Node
  it("are those at the path of the row, not what these hold of the same class", function()
    local answer = diff [[
      handlers, orders, batches = {}, {}, {}
      local Order, Node = {__name = "Order"}, {__name = "Node"}
      local function bind(member) return function() return member end end
      function leak()
        for _ = 1, 40 do
          local member = {name = "m"}
          member.other = bind(member)
          handlers[#handlers + 1] = bind(member)
          local last = setmetatable({total = 1}, Order)
          orders[#orders + 1] = setmetatable({total = 2, customer = {last = last}}, Order)
          local node
          for _ = 1, 3 do node = setmetatable({next = node}, Node) end
          batches[#batches + 1] = node
        end
      end
      leak()
    ]]
    local rows = {}
    for _, group in ipairs(answer.groups) do rows[group.held_by] = group end
    for _, path in ipairs {"_G.handlers[*]", "_G.orders[*]", "_G.batches[*]"} do
      assert.same({40, {40, 80, 120}}, {rows[path].objects, rows[path].at}, path)
    end
    assert.same({160, 120, 120}, {rows["_G.handlers[*]"].new_objects - 40,
                                  rows["_G.orders[*]"].new_objects,
                                  rows["_G.batches[*]"].new_objects})
  end)

  --  _G.trail[i], _G.trail[i + 1] -> Event -.cause-> Event
  it("are the records at a path, not what these share of the same class", function()
    local answer = diff [[
      trail = {}
      local Event = {__name = "Event"}
      function leak()
        for i = 1, 100 do
          local cause = setmetatable({buffer = {("x"):rep(200) .. i}}, Event)
          for _ = 1, 2 do trail[#trail + 1] = setmetatable({cause = cause}, Event) end
        end
      end
    ]]
    assert.same({"200 Event <- _G.trail[*]"}, groups_of(answer))
    assert.same({0, 200, 400}, answer.groups[1].at)
    assert.equal(500, answer.groups[1].new_objects)
  end)

  --  _G.newest -> Node -.older-> Node -.older-> ...
  it("are the elements of a list, however long it is", function()
    local answer = diff [[
      local Node = {__name = "Node"}
      function leak() for _ = 1, 60 do newest = setmetatable({older = newest}, Node) end end
    ]]
    assert.same({"60 Node <- _G.newest.older*"}, groups_of(answer))
    assert.equal(60, answer.groups[1].objects)
  end)

  it("are told with how many of their class their line made, if it made others, too", function()
    local _, dir = diff [[
      heap.track()
      keep, plain = {}, {}
      function leak()
        for i = 1, 50 do
          keep[#keep + 1] = function() return i end
          plain[#plain + 1] = {1}
        end
      end
    ]]
    local text = support.run({"heapdiff", "a", "b", "c"}, {cwd = dir})
    assert.match("; all 100 objects made there stay: 50 of this class in all, " ..
                 "50 of other classes\n", text, 1, true)
    assert.match("; all 50 objects made there stay\n", text, 1, true)
  end)

  it("are found by the marks of one snapshot", function()
    local program = [[
      keep = {}
      function leak() for _ = 1, 5 do keep[#keep + 1] = {leaked = 1} end end
    ]]
    local answer, dir = diff(program, {"--since", "a", "--until", "b", "c"})
    assert.same({"5 {leaked} <- _G.keep[*]"}, groups_of(answer))
    local _, errors, code = support.run({"heapdiff", "--since", "nosuch", "c"}, {cwd = dir})
    assert.equal(2, code)
    assert.match('no mark "nosuch" in the snapshot; it has "a", "b", "end"\n', errors, 1, true)
    _, errors, code = support.run({"heapdiff", "c", "b", "a"}, {cwd = dir})
    assert.equal(2, code)
    assert.match("must be given in the order of time", errors, 1, true)
  end)
end)
