-- waste_spec.lua - `heaptop --waste`: what memory holds without need. Waste of each kind is planted
-- in a heap, and the program that planted it says how much it is, by building it without the waste.

local cjson = require "cjson"
local support = require "tests.common.support"

local function ask(dir, ...)
  return support.answer({"heaptop", "--waste", ...}, dir)
end

-- Runs a program that calls expect(name, bytes) for what it plants; the figures of its snapshot s
-- are places[kind][held_by or source], kinds[kind] and json.
local function plant(program, snapshot)
  local preamble = [[
    local heap, heapcheck = require "heap", require "lua_heapcheck"
    local sizeof = heap.sizeof
    local function copy(t)
      local new = {}
      for k, v in pairs(t) do new[k] = v end
      return new
    end
    local function expect(name, bytes) print(name, math.tointeger(bytes)) end
  ]]
  local out, dir = support.lua(preamble .. program .. "\n" .. (snapshot or "heap.snapshot 's'"))
  local found = {dir = dir, expected = {}, kinds = {}, places = {}}
  for name, bytes in out:gmatch("(%S+)\t(%d+)\n") do found.expected[name] = tonumber(bytes) end
  found.json = cjson.decode(ask(dir, "--json", "s"))
  for _, kind in ipairs(found.json.waste) do
    found.kinds[kind.kind], found.places[kind.kind] = kind, {}
    for _, row in ipairs(kind.places) do
      found.places[kind.kind][row.held_by or row.source] = row
    end
  end
  return found
end

-- Each place is what the program expects of it; others of the kind are not there.
local function same(found, kind, expected)
  for name, objects in pairs(expected) do
    local row = found.places[kind][name]
    assert.is_table(row, name .. " is not there")
    assert.equal(found.expected[name], row.bytes, name)
    assert.equal(objects, row.objects, name)
  end
end

describe("heaptop --waste finds", function()
  -- Arrays, maps and both, grown and cut down:   _G -.a .. g-> table   _G -.all-> array -> tables
  it("empty slots, as many as Lua does not give to a copy", function()
    local found = plant [[
      local function filled(n, key)
        local t = {}
        for i = 1, n do t[key and key .. i or i] = i end
        return t
      end
      a, b, c, d, e = filled(1000), filled(1000, "k"), filled(33), {1, 2, 3, x = 1}, filled(64)
      for i = 11, 1000 do a[i] = nil end
      for i = 1, 1000 do if i ~= 500 then b["k" .. i] = nil end end
      c[33] = nil
      for i = 1, 40 do e["k" .. i] = i end
      for i = 1, 64 do if i % 3 > 0 then e[i] = nil end end
      f = heapcheck.table(100, 100) f[1], f.x = 1, 1
      g = heapcheck.table(5, 3) g[1], g[2], g[3], g.x = 1, 2, 3, 4
      for _, name in ipairs {"a", "b", "c", "e", "f", "g"} do
        expect("_G." .. name, sizeof(_G[name]) - sizeof(copy(_G[name])))
      end
      all = {}
      for i = 1, 50 do all[i] = filled(100) for k = 3, 100 do all[i][k] = nil end end
      expect("_G.all[*]", 50 * (sizeof(all[1]) - sizeof(copy(all[1]))))
      expect("_G.all[*].each", sizeof(all[1]) - 56 - 2 * 16)
    ]]
    assert.equal(50 * found.expected["_G.all[*].each"], found.expected["_G.all[*]"])
    same(found, "empty_slots", {["_G.a"] = 1, ["_G.b"] = 1, ["_G.c"] = 1, ["_G.e"] = 1,
                                ["_G.f"] = 1, ["_G.g"] = 1, ["_G.all[*]"] = 50})
    local places = found.places.empty_slots
    assert.same({6400, 100}, {places["_G.all[*]"].slots, places["_G.all[*]"].used})
    assert.is_nil(places["_G.d"])
    assert.is_nil(places["_G.all"]) -- 64 slots for 50, as in a copy
  end)

  -- The same for hundreds of random tables. A copy may get slots for keys that came before others:
  -- some per mille more or less, of a mixture others in each run, as strings hash in another way.
  it("empty slots of random tables", function()
    for seed = 1, 3 do
      local found = plant(([[
        math.randomseed(%d)
        lists, maps, both = {}, {}, {}
        local kinds = {
          lists = function(range) return math.random(range) end,
          maps = function(range) return "k" .. math.random(range) end,
          both = function(range)
            return math.random(2) == 1 and math.random(range) or "k" .. math.random(range)
          end}
        for _, name in ipairs {"lists", "maps", "both"} do
          local key, bytes = kinds[name], 0
          for i = 1, 300 do
            local t, range = setmetatable({}, kinds), math.random(200)
            for _ = 1, math.random(100) do t[key(range)] = true end
            local left = math.random(4)
            for k in pairs(t) do if math.random(4) > left then t[k] = nil end end
            if next(t) == nil then t[key(1)] = true end
            _G[name][i] = t
            bytes = bytes + math.max(0, sizeof(t) - sizeof(copy(t)))
          end
          expect("_G." .. name .. "[*]", bytes)
        end
      ]]):format(seed))
      same(found, "empty_slots", {["_G.maps[*]"] = found.places.empty_slots["_G.maps[*]"].objects})
      for _, name in ipairs {"_G.lists[*]", "_G.both[*]"} do
        local bytes = found.places.empty_slots[name].bytes
        assert.is_true(math.abs(1 - bytes / found.expected[name]) < 0.02,
                       ("seed %d: %s: %d"):format(seed, name, bytes))
      end
    end
  end)

  it("tables that were emptied, or never filled", function()
    local found = plant [[
      queue, made, empty = {}, heapcheck.table(10, 5), {}
      for i = 1, 1000 do queue[i] = i queue["k" .. i] = i end
      for i = 1, 1000 do queue[i] = nil queue["k" .. i] = nil end
      expect("_G.queue", sizeof(queue) - sizeof {})
      expect("_G.made", sizeof(made) - sizeof {})
      expect("_G.empty", 0)
    ]]
    same(found, "emptied_tables", {["_G.queue"] = 1, ["_G.made"] = 1})
    assert.is_nil(found.places.emptied_tables["_G.empty"])
    assert.is_nil(found.places.empty_slots["_G.queue"])
    local places = found.places.small_tables -- what is left of them is told there
    assert.same({56, 56, 56}, {places["_G.queue"].bytes, places["_G.made"].bytes,
                               places["_G.empty"].bytes})
  end)

  -- Tables that are something else than what is in them do not count: objects, metatables, modules.
  it("tables of at most one entry", function()
    local found = plant [[
      class = {__index = {}}
      sessions = {}
      for i = 1, 100 do
        sessions[i] = {tags = {}, options = {fast = true}, list = {i},
                       object = setmetatable({i}, class)}
      end
      cut = heapcheck.table(0, 8) cut.x = 1
      package.loaded["a.module"] = {run = print}
      expect("_G.sessions[*].tags", 100 * sizeof {})
      expect("_G.sessions[*].options", 100 * sizeof {fast = true})
      expect("_G.sessions[*].list", 100 * sizeof {1})
      expect("_G.cut", sizeof {x = 1})
    ]]
    same(found, "small_tables", {["_G.sessions[*].tags"] = 100, ["_G.sessions[*].options"] = 100,
                                 ["_G.sessions[*].list"] = 100, ["_G.cut"] = 1})
    for _, name in ipairs {"_G.class", "_G.sessions[*].object", 'package.loaded["a.module"]',
                           "(metatable of type string)"} do
      assert.is_nil(found.places.small_tables[name], name)
    end
    assert.is_table(found.places.small_tables["_G.class.__index"])
    assert.equal(7 * 24, found.places.empty_slots["_G.cut"].bytes)
  end)

  -- Nine strings, each stored eleven times; of short ones there is one each.
  local strings = [[
    agents, long, short = {}, {}, {}
    for i = 1, 99 do
      agents[i] = {agent = ("agent %d "):format(i % 9):rep(6)}
      long[i] = ("long %d "):format(i % 9):rep(100)
      short[i] = ("%d"):format(i % 9):rep(40)
    end
    expect("_G.agents[*].agent", 90 * (24 + 48 + 1))
    expect("_G.long[*]", 90 * (24 + 700 + 1))
  ]]

  it("strings that are stored more than once", function()
    local found = plant(strings)
    same(found, "equal_strings", {["_G.agents[*].agent"] = 90, ["_G.long[*]"] = 90})
    local kind, long = found.kinds.equal_strings, found.places.equal_strings["_G.long[*]"]
    assert.same({180, 18, 2}, {kind.objects, kind.originals, kind.total_places})
    assert.same({90, 90}, {kind.by_hash, long.by_hash})
    for _, row in ipairs(kind.places) do
      local texts = {}
      for i, address in ipairs {row.example, row.original} do
        texts[i] = support.run({"heapsql", "s",
          ("select text from strings where id = id_of('%s')"):format(address)},
          {cwd = found.dir})
      end
      assert.not_equal(row.example, row.original)
      assert.matches("%d", texts[1])
      assert.equal(texts[1], texts[2])
    end
    assert.matches("\n    90 of them by length and hash %(256 bytes are kept%), the others by " ..
                   "all bytes\n", ask(found.dir, "-n", "0", "s"))
  end)

  it("the same where the snapshot keeps all of them, or nothing", function()
    local all = plant(strings, "heap.snapshot('s', {strings = 700})")
    same(all, "equal_strings", {["_G.agents[*].agent"] = 90, ["_G.long[*]"] = 90})
    assert.equal(0, all.kinds.equal_strings.by_hash)
    assert.matches("\n    All of them are equal byte by byte\n", ask(all.dir, "s"))
    local none = plant(strings, "heap.snapshot('s', {strings = 0})").kinds.equal_strings
    assert.same({180, 180, 18}, {none.objects, none.by_hash, none.originals})
    assert.equal(all.kinds.equal_strings.bytes, none.bytes)
  end)

  -- The last ones are told apart by their variables, which one of them may assign to.
  it("functions that nothing tells apart", function()
    local found = plant [[
      local shared = {}
      none, same, global, own, native = {}, {}, {}, {}, {}
      for i = 1, 20 do
        none[i] = function(x) return x end
        same[i] = function() return shared, same end
        global[i] = function() return print end
        own[i] = function() return i end
        native[i] = heapcheck.closure(7)
      end
      expect("_G.none[*]", 19 * sizeof(none[1]))
      expect("_G.same[*]", 19 * sizeof(same[1]))
      expect("_G.global[*]", 19 * sizeof(global[1]))
    ]]
    same(found, "equal_functions",
         {["_G.none[*]"] = 19, ["_G.same[*]"] = 19, ["_G.global[*]"] = 19})
    assert.same({3, 3}, {found.kinds.equal_functions.originals,
                         found.kinds.equal_functions.total_places})
  end)

  it("room for user values that is not used", function()
    local found = plant [[
      empty, full, half, plain = {}, {}, {}, {}
      for i = 1, 10 do
        empty[i], full[i], half[i] = heapcheck.userdata(50, 2), heapcheck.userdata(50, 1),
                                     heapcheck.userdata(50, 3)
        plain[i] = heapcheck.userdata(50, 0)
        debug.setuservalue(full[i], false)
        debug.setuservalue(half[i], 7, 3)
      end
      expect("_G.empty[*]", 10 * (sizeof(empty[1]) - sizeof(plain[1])))
    ]]
    same(found, "user_values", {["_G.empty[*]"] = 10})
    for _, name in ipairs {"_G.full[*]", "_G.half[*]", "_G.plain[*]"} do
      assert.is_nil(found.places.user_values[name], name)
    end
    assert.is_true(found.json.userdata_block_bytes >= 40 * 50)
    assert.matches("\nNot in it: the blocks of userdata, 2%.%d KB; how much of that is in use " ..
                   "only their C code knows\n", ask(found.dir, "s"))
  end)

  -- What goes when the code of a source is loaded without it, names that nothing else uses, too.
  it("debug information", function()
    local found = plant [[
      local lines = {"local a_name = ...", "function GLOBAL(first_one, second_one)"}
      for i = 1, 50 do lines[#lines + 1] = ("local v%d = first_one .. %d"):format(i, i) end
      lines[#lines + 1] = "return function() return a_name, second_one, v7, 'v8', v9.v9 end end"
      local text = string.dump(load(table.concat(lines, "\n"), "@big.lua"))
      local plain = string.dump(load(text), true)
      lines = nil
      local function bytes() collectgarbage() collectgarbage() return collectgarbage "count" end
      do
        local with, without, before, after
        before = bytes()
        without = load(plain)
        after = bytes()
        without = (after - before) * 1024
        before = bytes()
        main = load(text)
        after = bytes()
        with = (after - before) * 1024
        expect("@big.lua", with - without)
      end
    ]]
    same(found, "debug_information", {["@big.lua"] = 3})
    assert.is_table(found.places.debug_information["@program.lua"])
  end)

  it("nothing else, and no byte twice", function()
    local found = plant(strings .. [[
      sessions = {}
      for i = 1, 100 do sessions[i] = {cut = heapcheck.table(4, 4), empty = {}} end
    ]])
    local all = 0
    for _, kind in ipairs(found.json.waste) do
      local bytes, objects = 0, 0
      for i, row in ipairs(kind.places) do
        bytes, objects = bytes + row.bytes, objects + row.objects
        assert.is_true(i == 1 or row.bytes <= kind.places[i - 1].bytes)
      end
      assert.same({kind.bytes, kind.objects}, {bytes, objects})
      assert.equal(kind.total_places, #kind.places)
      if kind.kind ~= "small_tables" then all = all + kind.bytes end
    end
    assert.equal(found.json.waste_bytes, all)
    assert.equal(100 * (56 + 16 * 4 + 24 * 4),
                 found.places.small_tables["_G.sessions[*].cut"].bytes +
                 found.places.emptied_tables["_G.sessions[*].cut"].bytes)
  end)
end)

describe("heaptop --waste", function()
  it("does not count what goes by itself", function()
    local found = plant([[
      collectgarbage "stop"
      for i = 1, 20000 do local s = "short" .. i end
      for i = 1, 100 do local t = {} end
      collectgarbage "restart"
      collectgarbage()
      collectgarbage "stop"
      for i = 1, 100 do local t = heapcheck.table(9, 9) end
    ]], [[
      heap.snapshot "s"
      for i = 1, 20 do collectgarbage() end
      expect("left", 8 * heap.stats({objects = false}).string_table.slots)
    ]])
    assert.equal(0, found.kinds.emptied_tables.objects)
    assert.is_true(found.json.string_table_waste_bytes > 0)
    local out = ask(found.dir, "s")
    assert.matches("\nNot in it: %d+ objects of garbage, %d+%.%d KB, waiting for the collector: " ..
                   "%-%-garbage\n", out)
    assert.matches("\nNot in it: %d+%.%d KB of Lua's table of short strings, which the next " ..
                   "collections give back\n", out)
    assert.equal(found.expected.left, found.json.snapshot.string_table_bytes -
                                      found.json.string_table_waste_bytes)
  end)

  it("has what is not in its sum at the end, however much that is", function()
    local found = plant "t = {} for i = 1, 1000 do t[i] = {i} end"
    local kinds = found.json.waste
    assert.equal("small_tables", kinds[#kinds].kind)
    assert.is_true(kinds[#kinds].bytes > kinds[1].bytes)
    assert.match("\n\nalso %d[^\n]+: 1,00%d tables of at most one entry\n", ask(found.dir, "s"))
  end)

  it("says first how much it is, and then what to do", function()
    local found = plant [[
      sessions = {}
      for i = 1, 200 do
        local q = {}
        for k = 1, 100 do q[k] = k end
        for k = 1, 100 do q[k] = nil end
        sessions[i] = {queue = q, tags = {}}
      end
      one = {1, 2, nil}
    ]]
    local out = ask(found.dir, "s")
    assert.matches("^%d+%.%d KB, %d%d%.%d%% of the heap, could be given back: " ..
                   "400%.0 KB in emptied tables, [^\n]+\n" ..
                   "also: 21%.9 KB, %d%.%d%%, in tables of at most one entry, " ..
                   "if they can be done without\n", out)
    assert.is_nil(out:match("^[^\n]+"):find("one entry", 1, true))
    assert.matches("\n\n400%.0 KB, %d%d%.%d%%: the slots of 200 tables without an entry\n" ..
                   "    Lua gives no slot back: [^\n]+\n" ..
                   " +bytes +tables +slots +used +example +class +held by\n" ..
                   "400%.0 KB +200 +25,600 +0 +0x%x+ +{} +_G%.sessions%[%*%]%.queue\n", out)
    assert.is_nil(out:find("\n16 B, ", 1, true))
    assert.matches("\nand %d more kinds of less than 1%%: %-n 0 shows all\n", out)
    assert.truthy(ask(found.dir, "-n", "0", "s"):find("\n16 B, ", 1, true))
    local command = out:match("\nWhy one of them stays: (heappath [^\n]+)\n")
    local path, err, code = support.run(command .. " --format text", {cwd = found.dir})
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("kept alive by: _G%.sessions%[%d+%]%.queue\n", path)
  end)

  it("shows no more places than -n", function()
    local found = plant [==[for i = 1, 30 do _G["place" .. i] = heapcheck.table(0, i) end]==]
    local function count(out) return select(2, out:gsub("  _G%.place%d+\n", "")) end
    assert.equal(10, count(ask(found.dir, "s"))) -- of two kinds
    assert.equal(60, count(ask(found.dir, "-n", "0", "s")))
    for _, kind in ipairs(cjson.decode(ask(found.dir, "-n", "3", "--json", "s")).waste) do
      assert.equal(math.min(3, kind.total_places), #kind.places)
    end
  end)
end)
