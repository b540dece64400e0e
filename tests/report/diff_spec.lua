-- diff_spec.lua - what comparing snapshots says, for one small leak of each kind.

local json = require "cjson"
local support = require "tests.common.support"
local reader = require "heap.reader"

-- Runs `leak(n)` between the snapshots a, b and c; returns heapdiff's answer.
local function diff(program, arguments)
  local _, dir = support.lua('local heap = require "heap"\n' .. program .. [[

    heap.snapshot("a") leak(1) heap.snapshot("b") leak(2) heap.mark("end") heap.snapshot("c")
  ]], {name = "app.lua"})
  local words = {"heapdiff", "--json", table.unpack(arguments or {"a", "b", "c"})}
  local out, errors, code = support.run(words, {cwd = dir})
  assert.equal(0, code, errors)
  return json.decode(out), dir
end

-- The groups as "objects class <- held_by", in order; strings left out.
local function groups_of(answer)
  local list = {}
  for _, group in ipairs(answer.groups) do
    if group.type ~= "string" then
      list[#list + 1] = ("%d %s <- %s"):format(group.objects, group.class, group.held_by)
    end
  end
  return list
end

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
    assert.matches("_G%.req_%* +" .. answer.groups[1].fingerprint, text)
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
    assert.match("10 {entry} <- (local cache in main chunk @app.lua of main thread)[*]", groups, 1,
                 true)
    assert.match("10 {element} <- key of _G.set", groups, 1, true)
    assert.match("10 thread @app.lua:8 <- (local kept in main chunk @app.lua of main thread)[*]",
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
        assert.same({n .. " Resource <- (local kept in main chunk @app.lua of main thread)[*]"},
                    groups_of(answer))
      end
    end)
  end

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

describe("names that differ in a number", function()
  local program = [[
    local n = 0
    function leak()
      for _ = 1, 10 do
        n = n + 1
        _G["i18n_4_" .. n .. "_x2"] = {id = n}
        package.loaded["i18n.plugin_" .. n] = {name = "b2b"}
      end
    end
  ]]

  it("have a star for this number alone", function()
    local answer, dir = diff(program)
    assert.same({"10 module i18n.plugin_* <- package.loaded[\"i18n.plugin_*\"]",
                 "10 {id} <- _G.i18n_4_*_x2"}, groups_of(answer))
    local ladder = support.run({"heapdiff", "--ladder", "-n", "0", "a", "b", "c"}, {cwd = dir})
    assert.match("{id} +_G.i18n_4_%*_x2\n", ladder)
    assert.match("module i18n.plugin_%* +package.loaded%[\"i18n.plugin_%*\"%]\n", ladder)
  end)

  it("are those of all kinds of modules in a package", function()
    local answer, dir = diff [[
      local n = 0
      package.loaded["plugins.core"] = {n}
      function leak()
        for _ = 1, 10 do
          n = n + 1
          for _, kind in ipairs {"shop", "guild"} do
            package.loaded["plugins." .. kind .. "_r" .. n] = {name = kind .. n}
          end
        end
        package.loaded["plugins.v" .. n .. ".shop"] = {name = "a"}
      end
    ]]
    local names = "module plugins.guild_r*, module plugins.shop_r*"
    assert.same({"20 " .. names .. ' <- package.loaded["plugins.*"]',
                 '1 module plugins.v10.shop <- package.loaded["plugins.v10.shop"]'},
                groups_of(answer))
    assert.same({0, 20, 40}, answer.groups[1].at)
    local ladder = support.run({"heapdiff", "--ladder", "-n", "0", "a", "b", "c"}, {cwd = dir})
    assert.match("module plugins.%* +package.loaded%[\"plugins.%*\"%]\n", ladder)
  end)

  it("have no star for what is the same from the first to the last of the names", function()
    local answer = diff [[
      local Order = {} for i = 1, 20 do Order[i] = {__name = "Order 5/" .. i} end
      local n = 0 orders = {}
      function leak()
        for _ = 1, 10 do n = n + 1 orders[n] = setmetatable({n}, Order[n]) end
      end
    ]]
    assert.same({"10 Order 5/* <- _G.orders[*]"}, groups_of(answer))
  end)
end)

describe("groups of which there are no more", function()
  local function text_of(leak)
    local _, dir = diff("ring, list = {}, {}\nfor i = 1, 100 do ring[i] = {i} end\n" .. leak)
    return (support.run({"heapdiff", "a", "b", "c"}, {cwd = dir}))
  end
  local fill = "for i = (n - 1) * 60 + 1, n * 60 do ring[i % 100 + 1] = {i} end"

  it("are said to be like those of a full cache", function()
    local text = text_of("function leak(n) " .. fill .. " end")
    assert.matches("\nNone of these paths has more objects in c than in a: what came replaced what "
                   .. "went, as in a full cache\n", text, 1, true)
    text = text_of("ring = {} function leak(n) for i = 1, 140 - n * 40 do ring[i] = {i} end end")
    assert.matches("\nNone of these paths has more objects in c than in b: ", text, 1, true)
  end)

  it("are not where one of them grows", function()
    local text = text_of("function leak(n) list[n] = {n} " .. fill .. " end")
    assert.not_match("None of these paths", text)
  end)

  it("can be followed from each row", function()
    local text = text_of("function leak(n) list[n] = {n} " .. fill .. " end")
    assert.matches("\n[^\n]+ 0x%x+  array of number  _G%.ring%[%*%]\n", text)
    assert.matches("\n[^\n]+ 0x%x+  array of number  _G%.list%[%*%]\n", text)
  end)
end)

describe("containers that grew", function()
  it("are told with their entries, even if nothing new is in them", function()
    local answer = diff [[
      numbers, steady = {}, {}
      function leak() for i = 1, 50 do numbers[#numbers + 1] = i end end
    ]]
    assert.equal(1, #answer.grown)
    assert.equal("_G.numbers", answer.grown[1].held_by)
    assert.same({0, 50, 100}, answer.grown[1].entries)
  end)

  -- Its slots became more twice, but its entries once.
  it("are not those that became full until b", function()
    local answer = diff [[
      cache = {}
      local oldest = 1
      function leak(n)
        if n == 1 then
          for i = 1, 900 do cache["key " .. i] = i end
          return
        end
        for i = 901, 2000 do
          cache["key " .. oldest], cache["key " .. i] = nil, i
          oldest = oldest + 1
        end
        for i = 1, 200 do cache[i] = i end
        for i = 1, 200 do cache[i] = nil end
      end
    ]]
    assert.same({}, answer.grown)
  end)

  -- Two collections ahead: no key or value of `memo` and `cache` lives, every second one of `half`
  -- does, and a string under a weak key is never taken away.
  it("are not weak tables whose entries wait for the collector", function()
    local answer = diff [[
      collectgarbage "stop"
      memo, cache = setmetatable({}, {__mode = "k"}), setmetatable({}, {__mode = "v"})
      half, named = setmetatable({}, {__mode = "k"}), setmetatable({}, {__mode = "k"})
      alive = {}
      function leak()
        for _ = 1, 50 do
          local key = {}
          memo[{}], cache[#cache + 1], half[{}], half[key] = true, {}, true, true
          alive[#alive + 1] = key
          named["name " .. #alive] = true
        end
      end
    ]]
    local entries = {}
    for _, g in ipairs(answer.grown) do entries[g.held_by] = g.entries end
    local fifty = {0, 50, 100}
    assert.same({["_G.half"] = fifty, ["_G.named"] = fifty, ["_G.alive"] = fifty}, entries)
  end)

  it("are not those that are empty again, nor those that became smaller", function()
    local answer = diff [[
      emptied, smaller = {}, {}
      for i = 1, 1000 do smaller[1e6 + i] = i end
      for i = 1, 1000 do smaller[1e6 + i] = nil end
      function leak(n)
        for i = 1, n * 100 do emptied[i] = i end
        for i = 1, n * 100 do emptied[i] = nil end
        -- Pairs of keys that collide (modulo 1,024 up to 5.4.2, modulo 1,023 since) use up the free
        -- slots, so that Lua makes the table anew.
        local bytes, k, apart = heap.sizeof(smaller), 2000000, 1023 * 1024
        while n == 1 and heap.sizeof(smaller) == bytes do
          k = k + 1
          smaller[k], smaller[k + apart] = true, true
          smaller[k], smaller[k + apart] = nil, nil
        end
        smaller[n] = n
      end
    ]]
    assert.same({}, answer.grown)
  end)
end)

describe("two snapshots", function()
  it("do not count what only the call of heap.snapshot holds", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      keep = {}
      local function take(name) heap.snapshot("s" .. name, {strings = 50 + #name}) end
      take "a"
      keep[1] = {kept = 1}
      take "b"
      local options = {strings = 60}
      keep.options = options
      coroutine.wrap(function() heap.snapshot("sc", options) end)()
    ]]
    local function diff_of(...)
      local words = {"heapdiff", "--json", ...}
      return json.decode((support.run(words, {cwd = dir})))
    end
    local answer = diff_of("sa", "sb")
    assert.same({"1 {kept} <- _G.keep[*]"}, groups_of(answer))
    assert.equal(0, answer.gone_objects)
    for _, change in ipairs(answer.classes) do
      if change.class == "{strings}" then assert.same({0, 0}, {change.appeared, change.gone}) end
    end
    assert.same({"1 {kept} <- _G.keep[*]"}, groups_of(diff_of("--since", "sa", "sb")))
    local held = table.concat(groups_of(diff_of("sb", "sc")), "\n")
    assert.matches("1 {strings} <- ", held, 1, true) -- by the program, too
  end)

  it("tell what went", function()
    local answer = diff([[
      temporary = {}
      for i = 1, 40 do temporary[i] = {gone = i} end
      function leak() temporary = {} collectgarbage() end
    ]], {"a", "c"})
    for _, change in ipairs(answer.classes) do
      if change.class == "{gone}" then
        assert.equal(40, change.gone)
        return
      end
    end
    error("{gone} is not in the table of classes")
  end)
end)

describe("containers that grew", function()
  it("count for --fail-over, which says so", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      numbers = {}
      for i, name in ipairs {"a", "b", "c"} do
        for k = (i - 1) * 1000 + 1, i * 1000 do numbers[k] = k end
        heap.snapshot(name)
      end
    ]]
    local words = {"heapdiff", "--fail-over", "1K", "a", "b", "c"}
    local out, err, code = support.run(words, {cwd = dir})
    local grew = out:match("1 older container grew by ([%d.]+ KB)\n")
    assert.is_string(grew)
    assert.equal(1, code)
    assert.equal("heapdiff: older containers grew by " .. grew .. ", which is more than 1.0 KB\n",
                 err)
  end)

  it("are told by it in the words of the report, beside what new objects retain", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      numbers = {}
      for i, name in ipairs {"a", "b", "c"} do
        for k = (i - 1) * 1000 + 1, i * 1000 do numbers[k] = k end
        _G[name] = {("x"):rep(1000 + i)}
        heap.snapshot(name)
      end
    ]]
    local out, err = support.run("heapdiff --fail-over 1K a b c", {cwd = dir})
    local retained, grew = out:match(" ([%d.]+ KB); %d older containers? grew by ([%d.]+ KB)\n")
    assert.equal(("heapdiff: %s retained, and older containers grew by %s: together more than "
                  .. "1.0 KB\n"):format(retained, grew), err)
  end)
end)

describe("three snapshots of a heap that grew", function()
  --  _G.tenants -> 1,000 strings, then empty: the table is as big as before
  local program = [[
    local heap = require "heap"
    tenants, old = {}, {("y"):rep(4000)}
    collectgarbage() -- makes the stack as small as it will be in c
    heap.snapshot "a"
    for i = 1, 1000 do tenants[i .. ""] = true end
    heap.snapshot "b"
    for key in pairs(tenants) do tenants[key] = nil end
    old[1] = nil
    collectgarbage()
    heap.snapshot "c"
  ]]

  it("say so if neither new objects nor containers tell why", function()
    local _, dir = support.lua(program)
    local text = support.run("heapdiff a b c", {cwd = dir})
    local grew = text:match("\nThe heap grew by ([%d.]+ KB) all the same: heapdiff %-%-owners a c "
                            .. "tells where,\nheaptop %-%-waste c what could be given back\n$")
    local owners = support.run("heapdiff --owners a c", {cwd = dir})
    assert.matches((", +%s; most by _G.tenants"):format(grew), owners, 1, true)
  end)

  it("do not where it grew less, or where they tell it", function()
    for what, by in pairs {["1, 1000"] = "1, 100", ["tenants[key] = nil"] = ""} do
      local _, dir = support.lua((program:gsub(what:gsub("%W", "%%%0"), by)))
      assert.is_nil(support.run("heapdiff a b c", {cwd = dir}):find("all the same", 1, true))
    end
  end)

  it("show the share of what explains more than the whole growth", function()
    local _, dir = support.lua(program)
    local text = support.run("heapdiff --owners a c", {cwd = dir})
    local share = tonumber(text:match("%+[%d.]+ KB +([%d.]+)%% [^\n]* _G.tenants "))
    local rest = tonumber(text:match("%-[%d.]+ K?B +(%-[%d.]+)%% [^\n]* _G.old "))
    assert.is_true(share > 100)
    assert.near(100, share + rest, 0.5)
  end)
end)

describe("the bytes of new objects", function()
  it("are told once where they are what is retained, or print the same", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      heap.snapshot "a"
      text = ("x"):rep(4000000)
      holder = setmetatable({}, {__gc = function() end})
      heap.snapshot "b"
      holder[1] = "later" .. #text
      heap.snapshot "c"
    ]]
    local text = support.run("heapdiff a b c", {cwd = dir})
    assert.matches("alive in c: 3.8 MB\n", text, 1, true)
    local exact = support.run("heapdiff --bytes a b c", {cwd = dir})
    assert.matches("alive in c: [%d,]+ B, retaining [%d,]+ B\n", exact)
  end)
end)
