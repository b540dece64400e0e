-- growing_spec.lua - `heaptop --growing`: collections without a limit are told, with what their
-- keys are and how old their elements, and what was filled once is not.

local cjson = require "cjson"
local support = require "tests.common.support"

local function take(program)
  return select(2, support.lua(support.sessions .. program .. "\nheap.snapshot 's'"))
end

local function ask(dir, ...)
  return support.answer({"heaptop", "--growing", ...}, dir)
end

local function collections(program)
  return cjson.decode(ask(take(program), "--json", "s")).collections
end

-- The row of the path.
local function row_of(rows, path)
  for _, row in ipairs(rows) do if row.held_by == path then return row end end
end

-- Each program makes a table `all` of 40 sessions, which is told under keys of this kind. The
-- example of keys that are strings is the first in the order of bytes.
local keyings = {
  sequence = {"for i = 1, 40 do all[i] = session(i) end", least = 1, greatest = 40},
  integers = {"for i = 1, 40 do all[i * 7] = session(i) end", least = 7, greatest = 280},
  numbers = {"for i = 1, 40 do all[i + 0.5] = session(i) end", least = 1.5, greatest = 40.5},
  times = {"for i = 1, 40 do all[1700000000 + i * 60] = session(i) end", least = 1700000060,
           greatest = 1700002400},
  milliseconds = {"for i = 1, 40 do all[1700000000000 + i * 500] = session(i) end",
                  least = 1700000000.5, greatest = 1700000020},
  uuids = {[[for i = 1, 40 do
    all[("%08x-1234-4abc-8def-%012x"):format(i, i)] = session(i) end]],
           example = '"00000001-1234-4abc-8def-000000000001"'},
  hex = {[[for i = 1, 40 do all[("%08xbeef"):format(i * 0x3039)] = session(i) end]],
         example = '"00003039beef"'},
  numbered = {[[for i = 1, 40 do all["user:" .. i] = session(i) end]], example = '"user:1"'},
  tokens = {[[for i = 1, 40 do
    all[("%s%sx%sQz"):format(string.char(96 + i % 26 + 1), string.char(65 + i % 25), i + 100)]
      = session(i) end]]},
  names = {[[for i = 1, 40 do all[("x"):rep(i) .. "-y"] = session(i) end]], example = '"x-y"'},
  strings = {[[for i = 1, 40 do all[("/x y"):rep(i)] = session(i) end]], example = '"/x y"'},
  objects = {"for i = 1, 40 do all[{}] = session(i) end"},
}

describe("heaptop --growing tells keys that are", function()
  for name, case in pairs(keyings) do
    it(name, function()
      local row = row_of(collections("all = {} " .. case[1]), "_G.all")
      assert.equal(name, row.keys)
      assert.equal("may grow", row.prospect)
      assert.equal("Session", row.element)
      assert.same({40, 40, 40, 1}, {row.entries, row.elements, row.alike, row.tables})
      if case.least then
        assert.same({case.least, case.greatest}, {row.least, row.greatest})
      end
      if case.example then assert.equal(case.example, row.example_key) end
      local sessions = 40 * (56 + 2 * 24 + 56 + 16)
      for i = 1, 40 do sessions = sessions + 24 + 1 + 100 + #tostring(i) end
      assert.is_true(row.bytes >= sessions + 40 * 16)
    end)
  end
end)

-- Programs, and what is told first: path, element, how many, keys.
local cases = {
  ["a set of strings"] = {
    [[seen = {} for i = 1, 100 do seen["ip-" .. i * 37] = true end]],
    "_G.seen", "string", 100, "numbered"},
  ["objects that are keys, which retain more than the values"] = {
    [[local Widget = {__name = "Widget"} styles = {}
      for i = 1, 100 do styles[setmetatable({("w"):rep(90) .. i}, Widget)] = {border = i} end]],
    "_G.styles", "Widget", 100, "objects"},
  ["counters by object"] = {
    [[local objects = {} counters = {}
      for i = 1, 100 do counters[{("x"):rep(100) .. i}] = i end]],
    "_G.counters", "array", 100, "objects"},
  ["numbers"] = {[[log = {} for i = 1, 1500 do log[i] = i end]], "_G.log", "number", 1500,
                 "sequence"},
  ["objects of several classes"] = {
    [[events = {} for i = 1, 90 do events[i] = {["kind" .. i % 3] = ("x"):rep(90) .. i} end]],
    "_G.events", "table", 90, "sequence"},
  ["a linked list"] = {
    [[for i = 1, 500 do list = {value = i, next = list} end]],
    "_G.list", "{next, value}", 499, "linked"},
  ["a list that is linked both ways"] = {
    [[queue = {}
      for i = 1, 500 do
        local element = {value = i, prev = queue.last}
        if queue.last then queue.last.next = element else queue.first = element end
        queue.last = element
      end]],
    "_G.queue.last.prev", "{next, prev, value}", 498, "linked"},
  ["references in the registry"] = {
    [[local registry = debug.getregistry() for i = 10, 409 do registry[i] = session(i) end]],
    "registry", "Session", 400, "integers"},
  ["callbacks"] = {
    [[handlers = {}
      for i = 1, 60 do local s = ("x"):rep(90) .. i handlers[i] = function() return s end end]],
    "_G.handlers", "function @program.lua:7", 60, "sequence"},
}

describe("heaptop --growing tells", function()
  for name, case in pairs(cases) do
    it(name, function()
      local rows = collections(case[1])
      local row = assert(row_of(rows, case[2]), cjson.encode(rows))
      assert.equal(row, rows[1])
      assert.same({case[3], case[4], case[5]}, {row.element, row.alike, row.keys})
      assert.equal("may grow", row.prospect)
    end)
  end

  it("objects that stand in two tables once", function()
    local dir = take [[by_id, by_name = {}, {}
      for i = 1, 40 do
        by_id[i] = session(i)
        by_name["s" .. i] = by_id[i]
      end]]
    local rows = cjson.decode(ask(dir, "--json", "s")).collections
    assert.same({2, "_G.by_name", cjson.null, "_G.by_id", "_G.by_name"},
                {#rows, rows[1].held_by, rows[1].same_as, rows[2].held_by, rows[2].same_as})
    local out = ask(dir, "s")
    assert.truthy(out:find("\n    also in _G.by_id\n", 1, true), out)
    assert.equal(1, select(2, out:gsub("may grow", "")))
  end)

  it("tables at one path as one, by the biggest", function()
    local row = collections([[
      users = {}
      for i = 1, 30 do
        users[i] = {mail = {}}
        for k = 1, 20 + i do users[i].mail[k] = ("m"):rep(90) .. k .. "." .. i end
      end]])
    row = row_of(row, "_G.users[*].mail")
    assert.same({30, 20 * 30 + 465, 50, "string"},
                {row.tables, row.entries, row.elements, row.element})
  end)

  it("tables at one path apart, if their elements are of several classes", function()
    local rows = collections [[
      local function memoize(f)
        local known = {}
        return function(x)
          known[x] = known[x] or f(x)
          return known[x]
        end
      end
      caches = {memoize(session), memoize(function(x) return ("text"):rep(20) .. x end)}
      for i = 1, 60 do caches[1](i) end
      for i = 1, 80 do caches[2](i) end]]
    local counts = {}
    for _, row in ipairs(rows) do
      if row.held_by:find("^upvalue known of ") then
        counts[row.element] = {row.tables, row.alike_entries}
      end
    end
    assert.same({Session = {1, 60}, string = {1, 80}}, counts)
  end)
end)

describe("heaptop --growing with marks", function()
  -- Elements of each interval; of none but the first; of one in the middle; of the last two of six.
  local program = [[
    grows, constants, burst, sessions = {}, {}, {}, {}
    for i = 1, 40 do constants["c" .. i] = session(i) end
    for i = 1, 30 do grows[i] = session(i) end
    for hour = 1, 6 do
      heap.mark("hour " .. hour)
      for _ = 1, 20 do grows[#grows + 1] = session(hour) end
      if hour == 3 then for i = 1, 50 do burst[i] = session(i) end end
      for key, s in pairs(sessions) do if s.id < hour - 1 then sessions[key] = nil end end
      for i = 1, 20 do sessions["user " .. hour * 100 + i] = session(hour) end
    end
    collectgarbage()]]
  local rows, text
  setup(function()
    local dir = take(program)
    rows, text = cjson.decode(ask(dir, "--json", "s")), ask(dir, "s")
  end)

  it("knows what has elements of all times", function()
    local row = rows.collections[1]
    assert.equal("_G.grows", row.held_by)
    assert.equal("grows", row.prospect)
    assert.same({150, 120, 7, 0, 6},
                {row.aged, row.since_first_mark, row.epochs, row.oldest_epoch,
                 row.youngest_epoch})
    assert.truthy(text:find("allocated in 7 of 7 intervals between marks, from the start to hour 6",
                            1, true), text)
  end)

  it("knows what was there at the first mark", function()
    local row = row_of(rows.collections, "_G.constants")
    assert.same({"filled once", 0}, {row.prospect, row.since_first_mark})
    assert.equal(1, rows.total_filled_once)
    assert.equal(row, rows.collections[rows.total_collections])
    assert.is_nil(text:find("_G.constants", 1, true))
    assert.matches("\nLeft out: 1 collection that was filled once; %-n 0 shows all\n$", text)
  end)

  it("is not misled by tables at the same path that were filled once", function()
    local dir = take [[
      zones = {{objects = {}}, {objects = {}}}
      for i = 1, 1000 do zones[1].objects[i] = session(i) end
      for hour = 1, 4 do
        heap.mark("hour " .. hour)
        for _ = 1, 50 do table.insert(zones[2].objects, session(hour)) end
      end]]
    local row = cjson.decode(ask(dir, "--json", "s")).collections[1]
    assert.same({"_G.zones[*].objects", "grows", 2, 1, 1200, 200},
                {row.held_by, row.prospect, row.tables, row.tables_filled_once, row.entries,
                 row.elements})
    local out = ask(dir, "s")
    assert.matches("^_G%.zones%[%*%]%.objects grows: 1,200 Session tables in 2 tables " ..
                   "%(1 filled once%), [%d.]+ KB with their tables, [%d.]+%% of the heap\n" ..
                   "    one of these, _G%.zones%[2%]%.objects, with 200 elements:\n" ..
                   "    keys are 1 to 200, ", out)
    out = support.answer({"heaptop", "--leaks", "s"}, dir)
    assert.matches("\n    one of 2 tables, _G%.zones%[2%]%.objects, with 200 elements:\n" ..
                   "    keys are 1 to 200, ", out)
  end)

  -- One column grows evenly. All together fill up more and more slowly.
  it("judges tables at one path by the ages of all", function()
    local dir = take [[
      grid = {}
      for x = 1, 20 do grid[x] = {} end
      local function add(x, n) for _ = 1, n do table.insert(grid[x], session(x)) end end
      for x = 1, 20 do add(x, 10) end
      for hour = 1, 4 do
        heap.mark("hour " .. hour)
        add(1, 10)
        for x = 2, 20 do add(x, hour == 1 and 20 or hour == 2 and 6 or 1) end
      end]]
    local row = cjson.decode(ask(dir, "--json", "s")).collections[1]
    local leak = cjson.decode(support.answer({"heaptop", "--leaks", "--json", "s"}, dir)).leaks[1]
    assert.same({"_G.grid[*]", 20, "_G.grid[*][*]"}, {row.held_by, row.tables, leak.held_by})
    assert.same({200, 390, 124, 29, 29}, leak.ages)
    assert.same({"may grow", "may grow"}, {row.prospect, leak.prospect})
  end)

  -- The limit of each list is in sight, but there are more and more lists.
  it("does not take the limit of one table for that of all", function()
    local row = row_of(collections [[
      users = {}
      for hour = 0, 4 do
        if hour > 0 then heap.mark("hour " .. hour) end
        for _ = 1, 20 do
          local user = {max = 20, list = {}}
          for i = 1, 20 do user.list[i] = session(hour) end
          users[#users + 1] = user
        end
        for _, user in ipairs(users) do user.list[hour + 1] = session(hour) end
      end]], "_G.users[*].list")
    assert.same({"grows", 100, 20}, {row.prospect, row.tables, row.limit})
  end)

  -- recent[1..64] -> message -> previous -> previous ...: the ring is full, its messages are not.
  it("does not take a chain for the fault of a bounded table that leads to it", function()
    local dir = take [[
      recent = {}
      local last, n = nil, 0
      for hour = 1, 4 do
        heap.mark("hour " .. hour)
        for _ = 1, 500 do
          n = n + 1
          last = {id = n, previous = last, text = "message " .. n}
          recent[n % 64] = last
        end
      end]]
    local found = cjson.decode(ask(dir, "--json", "s")).collections
    local chain, ring = row_of(found, "_G.recent[*].previous"), row_of(found, "_G.recent")
    assert.same({"grows", "bounded"}, {chain.prospect, ring.prospect})
    assert.is_nil(row_of(found, "_G.recent[*]"))
    assert.is_true(chain.bytes > 300000 and ring.bytes < 5000)
  end)

  it("does not know of what came once, or goes again", function()
    local burst = row_of(rows.collections, "_G.burst")
    assert.same({"may grow", 1, 3}, {burst.prospect, burst.epochs, burst.oldest_epoch})
    local sessions = row_of(rows.collections, "_G.sessions")
    assert.same({"bounded", 2, 5, 40},
                {sessions.prospect, sessions.epochs, sessions.oldest_epoch, sessions.aged})
  end)
end)

describe("heaptop --growing has no false alarm for", function()
  local function prospect(program, path)
    local row = row_of(collections(program), path)
    return row and row.prospect
  end
  local later = " local kept = {} for i = 1, 2000 do kept[i] = {i, later = kept} end keep = kept"

  it("tables that were filled in one go, with much that is younger", function()
    assert.equal("filled once", prospect(
      [[entities = {} for i = 1, 200 do entities["e" .. i] = {code = i, ("x"):rep(50) .. i} end]]
      .. later, "_G.entities"))
    assert.equal("filled once", prospect(
      [[words = {} for i = 1, 200 do words["w" .. i] = true end]] .. later, "_G.words"))
  end)

  it("what a constructor made", function()
    local items = {}
    for i = 1, 100 do items[i] = ("%d"):format(i * 3) end
    local row = row_of(collections("primes = {" .. table.concat(items, ",") .. "}"), "_G.primes")
    assert.same({"filled once", true}, {row.prospect, row.exact})
  end)

  it("numbers to look things up in", function()
    assert.equal("filled once",
                 prospect("t = {} for i = 0, 255 do t[i] = i * i end", "_G.t"))
    assert.equal("may grow", prospect("t = {} for i = 1, 300 do t[i] = i end", "_G.t"))
  end)

  it("modules, records, weak tables and what is small", function()
    local module = {}
    for i = 1, 50 do module[i] = ("function m.f%s() return %d end"):format(("x"):rep(i), i) end
    assert.same({}, collections("local m = {} package.loaded.m = m " ..
                                table.concat(module, "\n")))
    assert.same({}, collections [[
      config = {}
      weak = setmetatable({}, {__mode = "v"})
      for i = 1, 40 do
        weak[i] = session(i)
        config[("x"):rep(i)] = i % 2 == 0 and ("y"):rep(100) or weak[i]
      end
      small = {} for i = 1, 15 do small[i] = session(i) end]])
  end)

  it("many that refer to one", function()
    assert.is_nil(row_of(collections [[
      local server = session(0)
      for i = 1, 40 do
        local s = session(i)
        s.server = server
        _G["x" .. ("y"):rep(i)] = {of = s}
      end]], "_G.server"))
  end)
end)

describe("heaptop --growing counts", function()
  local function bytes_in(program)
    local dir = take(program)
    local summary = cjson.decode((support.run({"heaptop", "--json", "s"}, {cwd = dir}))).snapshot
    return cjson.decode(ask(dir, "--json", "s")).collections, summary.reachable_bytes
  end

  it("no byte twice where lists hang from each other", function()
    local rows, heap_bytes = bytes_in [[
      local Insert, Delete = {__name = "Insert"}, {__name = "Delete"}
      doc = {}
      for i = 1, 1000 do
        local class = i % 50 < 40 and Insert or Delete
        doc.undo = setmetatable({prev = doc.undo, text = "t" .. i}, class)
      end]]
    assert.equal("Insert", rows[1].element)
    assert.is_true(rows[1].tables > 10)
    assert.is_true(rows[1].bytes < heap_bytes, rows[1].bytes)
  end)

  it("keys, too", function()
    local row = row_of(collections [[hits = {}
      for i = 1, 40 do hits[("u"):rep(550) .. i] = {hits = 1} end]], "_G.hits")
    assert.is_true(row.bytes > 40 * (550 + 56))
    assert.equal(row.retained_bytes, row.bytes)
  end)

  it("of _G and the registry what is alike", function()
    local rows, heap_bytes = bytes_in [[
      other = ("z"):rep(200000)
      for i = 1, 1000 do
        _G["req_" .. i] = {id = i}
        debug.getregistry()[i + 100] = function() return i end
      end]]
    local globals, registry = row_of(rows, "_G"), row_of(rows, "registry")
    assert.same({1000, 1000, '"req_1"'},
                {globals.alike, globals.alike_entries, globals.example_key})
    assert.same({1000, 101, 1100}, {registry.alike_entries, registry.least, registry.greatest})
    assert.is_true(globals.bytes + registry.bytes < heap_bytes - 200000)
  end)

  it("modules under made names in package.loaded", function()
    local row = row_of(collections [[
      for i = 1, 300 do package.loaded["plugin_v" .. i] = {n = i} end]], "package.loaded")
    assert.equal("module *", row.element)
    assert.is_true(row.alike >= 300)
  end)
end)

describe("heaptop --growing knows of weak tables that let nothing go", function()
  local made = {
    ["keys that are strings"] = {'{__mode = "k"}', 'weak["user" .. i] = {i}',
      "weak keys, but the keys are strings: nothing goes"},
    ["keys that are numbers"] = {'{__mode = "k"}', "weak[i] = {i}",
      "weak keys, but the keys are numbers: nothing goes"},
    ["values that are strings"] = {'{__mode = "v"}', 'weak[i] = ("z"):rep(100) .. i',
      "weak values, but the values are strings: nothing goes"},
    ["both"] = {'{__mode = "kv"}', 'weak["k" .. i] = ("z"):rep(100) .. i',
      "weak, but neither its keys nor its values are objects: nothing goes"},
  }
  for name, case in pairs(made) do
    it(name, function()
      local out = ask(take("weak = setmetatable({}, " .. case[1] .. ") for i = 1, 40 do " ..
                           case[2] .. " end"), "s")
      assert.truthy(out:find("_G.weak may grow: 40 ", 1, true), out)
      assert.truthy(out:find("\n    " .. case[3] .. "\n", 1, true), out)
    end)
  end
end)

describe("heaptop --growing names first", function()
  local leaks = {
    cache = "(local templates in main chunk @cache.lua of main thread).cache",
    closure = "_G.midnight",
    coroutine = "_G.scheduler.waiting",
    history = "_G.meters.read.history",
    listener = "_G.bus.listeners.tick",
    timeline = "_G.exports",
  }
  for name, path in pairs(leaks) do
    it("the leak of the example " .. name, function()
      local program = support.read_file(("%s/examples/%s.lua"):format(support.root, name))
      local _, dir = support.lua(program, {name = name .. ".lua"})
      assert.equal(path, cjson.decode(ask(dir, "--json", "-n", "1", "c")).collections[1].held_by)
    end)
  end
end)

describe("heaptop --growing", function()
  it("says that there is nothing", function()
    assert.equal("Nothing looks like a collection without a limit\n", ask(take "", "s"))
  end)

  it("says what to type next, which answers", function()
    local dir = take "all = {} for i = 1, 40 do all[i] = session(i) end"
    local out = ask(dir, "s")
    assert.matches("^_G%.all may grow: 40 Session tables, 1%d%.%d KB with their table, "
                   .. "%d+%.%d%% of the heap\n" ..
                   "    keys are 1 to 40, one after the other\n", out)
    local text, err, code = support.run(out:match("\n    Why it stays: (heappath [^\n]+)\n"),
                                        {cwd = dir})
    assert.same({"", 0}, {err, code})
    assert.matches("^array of Session 0x%x+ is kept alive by: ", text)
  end)

  it("counts what is alike: the others are of the queue itself", function()
    local out = ask(take [[queue = {first = 1, last = 40}
      for i = 1, 40 do queue[i] = session(i) end]], "s")
    assert.matches("^_G%.queue may grow: 40 Session tables, ", out)
    assert.matches("\n    keys are integers from 1 to 40\n", out)
  end)

  it("shows no more than -n", function()
    local dir = take [[one, two = {}, {}
      for i = 1, 40 do one[i], two["x" .. i] = session(i), session(-i) end]]
    assert.equal(1, #cjson.decode(ask(dir, "--json", "-n", "1", "s")).collections)
    assert.matches("\nand 1 more collection: %-n 0 shows all\n", ask(dir, "-n", "1", "s"))
  end)
end)
