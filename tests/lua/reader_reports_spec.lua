-- reader_reports_spec.lua - what heap.reader answers is what the commands answer, number by number,
-- and it is printed with the same words.

local json = require "cjson"
local support = require "tests.common.support"
local reader = require "heap.reader"

local program = [[
  local heap = require "heap"
  local Listener = {__name = "Listener"}
  bus = {tick = {}, names = {}}
  sessions, count = {}, 0
  local function work(n)
    for _ = 1, n do
      count = count + 1
      local l = setmetatable({data = ("x"):rep(100) .. count}, Listener)
      l.fn = function() return l end
      bus.tick[count] = l
      bus.names["listener " .. count] = l
    end
  end
  for i = 1, 12 do
    sessions[i] = coroutine.create(function(a) local mine = {} coroutine.yield(mine) end)
    coroutine.resume(sessions[i])
  end
  work(10)
  heap.snapshot "a" work(300) cache = {} for i = 1, 50 do cache[i] = {id = i} end
  heap.snapshot "b" work(300) heap.mark "noon" cache = nil
  heap.snapshot "c" work(300)
  heap.snapshot "d"
]]
local _, dir = support.lua(program, {name = "app.lua"})
local _, other = support.lua(program:gsub("300", "310"), {name = "app.lua"})

local function path(name) return dir .. "/" .. name end
local function open(name) return assert(reader.open(path(name))) end

local function ask(...)
  local out, err, code = support.run({...}, {cwd = dir})
  assert.equal("", err)
  assert.is_true(code < 2)
  return json.decode(out)
end

-- An object stands for its address.
local function plain(value)
  if type(value) == "userdata" then return value.address end
  return value
end

-- Every field of the commands' rows is in ours; `names` maps theirs to ours, false: not there.
local function check_rows(wanted, rows, names)
  assert.equal(#wanted, #rows)
  for i, row in ipairs(wanted) do
    for key, value in pairs(row) do
      local name = names and names[key]
      if name == nil then name = key end
      if value == json.null then value = nil end
      if name then assert.same(value, plain(rows[i][name]), ("row %d, %s"):format(i, key)) end
    end
  end
end

local function check_fields(wanted, list, ...)
  for _, key in ipairs {...} do assert.equal(wanted[key], list[key], key) end
end

-- The first line of what the command prints, but for names of files.
local function first_line(...)
  return (support.run({...}, {cwd = dir}):match("[^\n]*"))
end

local function headline(list) return (tostring(list):gsub(dir .. "/", ""):match("[^\n]*")) end

describe("heap.reader answers as", function()
  it("heaptop's ledger", function()
    local printed = support.lines((support.run({"heaptop", "d"}, {cwd = dir})))
    local ledger, first = support.lines(tostring(open("d").info)), 1
    while printed[first] ~= ledger[1] do first = first + 1 end -- behind what leaks
    for i, line in ipairs(ledger) do assert.equal(line, printed[first + i - 1]:sub(1, #line)) end
  end)

  it("heaptop --by class", function()
    local wanted = ask("heaptop", "--json", "--by", "class", "d")
    local list = open("d"):classes()
    check_rows(wanted.classes, list)
    check_fields(wanted, list, "total_classes")
    wanted = ask("heaptop", "--json", "--by", "class", "-n", "3", "--sort", "count", "d")
    list = open("d"):classes(3, "count")
    check_rows(wanted.classes, list)
    assert.match("^Classes by count\n\nretained +share +shallow +objects +type +class\n",
      tostring(list))
    assert.match("\nand %d+ more classes$", tostring(list))
    wanted = ask("heaptop", "--json", "--by", "class", "--garbage", "--type", "table", "d")
    check_rows(wanted.classes, open("d"):classes {garbage = true, type = "table"})
  end)

  it("heaptop --by object", function()
    local not_there = {held_by = false}
    local wanted = ask("heaptop", "--json", "--by", "object", "-n", "30", "d")
    local list = open("d"):top(30)
    check_rows(wanted.objects, list, not_there)
    check_fields(wanted, list, "total_objects")
    for i, row in ipairs(wanted.objects) do assert.equal(row.held_by, list[i]:path()) end
    wanted = ask("heaptop", "--json", "--by", "object", "-n", "7", "--sort", "shallow", "d")
    check_rows(wanted.objects, open("d"):top(7, "shallow"), not_there)
    assert.match("^Objects by shallow size\n", tostring(open("d"):top(7, "shallow")))
    local told = support.run({"heaptop", "--by", "object", "-n", "7", "d"}, {cwd = dir})
    local printed = tostring(open("d"):top(7)):match("\n\n(.*)\nand ")
    assert.is_truthy(told:gsub(" +\n", "\n"):find(printed, 1, true), told .. printed)
    assert.equal(20, #open("d"):top())
    wanted = ask("heaptop", "--json", "--by", "object", "-n", "0", "--type", "string", "d")
    check_rows(wanted.objects, open("d"):top {n = 0, type = "string"}, not_there)
  end)

  it("heaptop --by object, of linked lists the first element", function()
    local _, lists = support.lua [[
      for i = 1, 300 do list = {value = i, next = list} end
      require "heap".snapshot "s"
    ]]
    local s = assert(reader.open(lists .. "/s"))
    local out = support.run({"heaptop", "--by", "object", "-n", "5", "s"}, {cwd = lists})
    local top = s:top(5)
    for i = 1, 5 do assert.is_truthy(out:find(top[i].address, 1, true)) end
    local left_out = out:match("([%d,]+) elements of lists left out"):gsub(",", "")
    assert.equal(tonumber(left_out), top.left_out)
    assert.match("elements of lists left out, whose first is shown\n", tostring(top))
    local more = "and [%d,]+ more objects"
    assert.equal(out:match(more), tostring(top):match(more))
    assert.equal(top.total_objects, #s:top(0))
  end)

  it("heaptop --by epoch, and has the marks", function()
    local s = open "d"
    local wanted = ask("heaptop", "--json", "--by", "epoch", "d")
    check_rows(wanted.epochs, s:epochs(), {time_ns = false})
    local names = {}
    for i, mark in ipairs(s:marks()) do names[i] = mark.name end
    assert.same({"a", "b", "noon", "c", "d"}, names)
    assert.same({true, true, false, true}, {s:marks()[1].is_snapshot, s:marks()[2].is_snapshot,
      s:marks()[3].is_snapshot, s:marks()[4].is_snapshot})
    local line = first_line("heaptop", "--by", "epoch", "d")
    local printed = headline(s:epochs())
    assert.equal(line:sub(1, #printed), printed)
  end)

  it("heaptop --suspects", function()
    local wanted = ask("heaptop", "--json", "--suspects", "d")
    local list = open("d"):suspects()
    check_fields(wanted, list, "least_bytes")
    assert.is_true(#list > 0)
    for i, row in ipairs(wanted.suspects) do
      check_rows(row.accumulated, list[i].accumulated)
      row.accumulated = nil
    end
    check_rows(wanted.suspects, list, {address = "object", held_by = false})
    local words = {}
    for _, line in ipairs(support.lines((support.run({"heaptop", "--suspects", "d"},
      {cwd = dir})))) do
      if not line:find "heappath" and not line:find "heaptop" then words[#words + 1] = line end
    end
    for _, line in ipairs(words) do assert.is_truthy(tostring(list):find(line, 1, true), line) end
  end)

  it("heaptop --suspects, where there are none", function()
    local _, empty = support.lua [[require "heap".snapshot "s"]]
    local list = assert(reader.open(empty .. "/s")):suspects()
    assert.equal(support.run({"heaptop", "--suspects", "s"}, {cwd = empty}), tostring(list) .. "\n")
  end)

  it("heaptop --under", function()
    local s = open "d"
    for _, name in ipairs {"_G.bus", "root", "_G.sessions"} do
      local wanted = ask("heaptop", "--json", "--under", name, "d")
      local rows = s:under(name)
      for _, row in ipairs(rows) do
        if row.kind == "rest" then assert.is_nil(row.object) end
      end
      for i, row in ipairs(wanted.rows) do
        assert.equal(row.edge, rows[i].edge and rows[i].edge.label or json.null)
      end
      check_rows(wanted.rows, rows, {address = "object", edge = false})
      assert.equal(first_line("heaptop", "--under", name, "d"), headline(rows))
    end
    local wanted = ask("heaptop", "--json", "--under", "root", "--depth", "2", "-n", "3", "d")
    check_rows(wanted.rows, s.root:under {depth = 2, n = 3}, {address = "object", edge = false})
    local none, message, code = s:objects({garbage = true})():under()
    assert.is_nil(none)
    assert.match("garbage", message)
    assert.equal("absent", code)
  end)

  it("heaptop --modules", function()
    local wanted = ask("heaptop", "--json", "--modules", "d")
    local list = open("d"):modules()
    check_rows(wanted.modules, list, {address = "object"})
    check_fields(wanted, list, "total_modules", "retained_bytes", "reached_bytes")
    assert.equal(first_line("heaptop", "--modules", "d"), headline(list))
    assert.equal(4, #open("d"):modules(4))
  end)

  it("heaptop --threads", function()
    local wanted = ask("heaptop", "--json", "--threads", "d")
    local list = open("d"):threads()
    check_rows(wanted.threads, list)
    check_fields(wanted, list, "total_threads")
    assert.same(list[1].frames, list[1].example:frames())
    assert.equal(table.concat(list[1].frames, "\n"), tostring(list[1].frames))
    assert.match("\n12 coroutines, suspended: ", tostring(list))
  end)

  it("heaptop --leaks", function()
    local wanted = ask("heaptop", "--json", "--leaks", "d")
    local list = open("d"):leaks()
    assert.is_true(#list > 0)
    check_rows(wanted.leaks, list, {limit_name = false})
    check_fields(wanted, list, "total_leaks", "total_certain", "total_likely")
    assert.equal(first_line("heaptop", "--leaks", "d"), headline(list))
  end)

  it("heaptop --growing", function()
    local wanted = ask("heaptop", "--json", "--growing", "d")
    local list = open("d"):growing()
    assert.is_true(#list > 0)
    for i, row in ipairs(wanted.collections) do
      if row.example_key ~= json.null then
        assert.equal(row.example_key, list[i].example_key:text(64))
      end
    end
    check_rows(wanted.collections, list, {address = "object", example_key = false})
    check_fields(wanted, list, "total_filled_once")
    assert.equal(first_line("heaptop", "--growing", "d"), headline(list))
  end)

  it("heaptop --class", function()
    for _, name in ipairs {"Listener", "string", "array of thread", "array"} do
      local wanted = ask("heaptop", "--json", "--class", name, "d")
      local d = open("d"):class(name)
      check_fields(wanted, d, "class", "type", "objects", "garbage_objects", "shallow_bytes",
        "retained_bytes", "average_bytes", "one_more_bytes", "contents", "repeated_bytes")
      assert.same(wanted.spreads, d.spreads)
      assert.equal(wanted.biggest, d.biggest.address)
      check_rows(wanted.fields, d.fields)
      check_rows(wanted.referrers, d.referrers, {edge = "label"})
      check_rows(wanted.epochs, d.epochs)
      assert.equal(first_line("heaptop", "--class", name, "d"), headline(d))
    end
    assert.equal("absent", select(3, open("d"):class "Nope"))
  end)

  it("heaptop --waste", function()
    local wanted = ask("heaptop", "--json", "--waste", "d")
    local list = open("d"):waste()
    check_fields(wanted, list, "waste_bytes", "string_table_waste_bytes", "userdata_block_bytes")
    assert.is_true(#wanted.waste > 1)
    for i, kind in ipairs(wanted.waste) do
      check_fields(kind, list[i], "kind", "bytes", "objects", "originals", "by_hash")
      check_rows(kind.places, list[i].places)
    end
    local line = first_line("heaptop", "--waste", "d")
    assert.equal(line:match("^[^:]*"), headline(list):match("^[^:]*"))
  end)

  it("heappath --set", function()
    local s = open "d"
    local sets = {Listener = "Listener", ["_G.bus.tick[*]"] = "_G.bus.tick[*]",
      ["function *"] = s:objects {type = "closure"}}
    local fingerprint = s:since("a")[1].fingerprint
    sets[fingerprint] = fingerprint
    sets["three sessions"] = {s:object "_G.sessions[1]", "_G.sessions[2]", "_G.sessions[3]"}
    for expression, set in pairs(sets) do
      local list = s:ways(set, 0)
      if type(set) == "string" then
        local wanted = ask("heappath", "--json", "--set", expression, "d")
        check_rows(wanted.rows, list)
        check_rows(wanted.held_by, list.held_by)
        check_fields(wanted, list, "objects", "retained_bytes", "garbage_objects",
          "garbage_bytes", "total_held_by", "objects_elsewhere")
        check_rows({wanted.elsewhere}, {list.elsewhere or json.null})
        assert.equal(first_line("heappath", "--format", "text", "--set", expression, "d"),
          headline(list))
      end
      assert.is_true(list.objects > 2)
      assert.match("^[^\n]* retain [^\n]* together:", tostring(list))
    end
    assert.equal("absent", select(3, s:ways "Nope"))
  end)

  it("heappath: the steps of a path, of which the middle of a long one is one row", function()
    local _, lists = support.lua [[
      for i = 1, 50 do list = {next = list, data = {}, call = function() return list end} end
      local last = list
      for i = 1, 49 do last = last.next end
      last.this, last = setmetatable({}, {__name = "Last"}), nil
      require "heap".snapshot "s"
    ]]
    for _, name in ipairs {"_G.list.next.data", "Last", "_G.list.next.call"} do
      local told = support.run({"heappath", "--format", "text", "-k", "1", "s", name},
                               {cwd = lists})
      local first = assert(reader.open(lists .. "/s")):object(name):paths()[1]
      local steps = tostring(first):match("\n(\nreference .*)$") .. "\n"
      assert.is_truthy(told:gsub(" +\n", "\n"):find(steps, 1, true), told .. steps)
      assert.equal(name == "Last", steps:find("more .next", 1, true) ~= nil)
    end
  end)

  it("heappath --dominators", function()
    local wanted = ask("heappath", "--json", "--dominators", "d", "_G.bus.tick[1].fn").dominators
    check_rows(wanted, open("d"):object("_G.bus.tick[1].fn"):dominators())
  end)

  it("heapdiff with three snapshots", function()
    local wanted = ask("heapdiff", "--json", "a", "b", "c")
    local a, b, c = open "a", open "b", open "c"
    for _, d in ipairs {c:diff(a, b), a:diff(c, b), b:diff(c, a)} do
      check_rows(wanted.groups, d)
      check_rows(wanted.grown, d.grown, {address = "object"})
      check_fields(wanted, d, "same_state", "objects", "shallow_bytes", "retained_bytes",
        "gone_objects", "gone_bytes")
      assert.equal(first_line("heapdiff", "a", "b", "c"), headline(d))
    end
    assert.match("grew until", tostring(c:diff(a, b).grown))
  end)

  --  _G.rooms -> ["room i"] -> numbers       thirty of the same, and
  --  _G.log -> numbers                       one that grows by more than each of them
  it("heapdiff's rows of containers that differ in their place only", function()
    local _, folder = support.lua [[
      local heap = require "heap"
      rooms, log = {}, {}
      for i = 1, 30 do rooms["room " .. i] = {} end
      for _, name in ipairs {"a", "b", "c"} do
        for _ = 1, 8 do
          for _, room in pairs(rooms) do room[#room + 1] = 1.5 end
          for _ = 1, 40 do log[#log + 1] = 1.5 end
        end
        heap.snapshot(name)
      end
    ]]
    local function rows(text)
      local list = {}
      for line in text:gmatch("[^\n]+") do
        if line:match("_G%.") then
          list[#list + 1] = line:gsub("%s+", " "):gsub("^ ", ""):gsub("0x%x+", "-")
        end
      end
      return list
    end
    local expected = _VERSION == "Lua 5.5" and {
      "+6.3 KB 30 3.6 KB -> 5.7 KB -> 10.0 KB 240 -> 480 -> 720 - array of number _G.rooms[*]",
      "+4.5 KB 1 4.6 KB -> 9.1 KB -> 9.1 KB 320 -> 640 -> 960 - array of number _G.log"} or {
      "+11.2 KB 30 5.4 KB -> 9.1 KB -> 16.6 KB 240 -> 480 -> 720 - array of number _G.rooms[*]",
      "+8.0 KB 1 8.1 KB -> 16.1 KB -> 16.1 KB 320 -> 640 -> 960 - array of number _G.log"}
    local out = support.run({"heapdiff", "a", "b", "c"}, {cwd = folder})
    assert.same(expected, rows(out))
    assert.match("\n +grew  containers +bytes +entries  example +class +path\n", out)
    local s = {}
    for _, name in ipairs {"a", "b", "c"} do s[name] = reader.open(folder .. "/" .. name) end
    local printed = tostring(s.c:diff(s.a, s.b).grown)
    assert.same(expected, rows(printed))
    assert.equal(out:match("\n *(grew .-)\n\n") or out:match("\n *(grew .*)\n$"),
                 printed:match("\n *(grew .*)$"))
    out = support.run({"heapdiff", "-n", "1", "a", "b", "c"}, {cwd = folder})
    assert.match("and 1 more container: -n 0 shows all", out, 1, true)
  end)

  it("heapdiff with two snapshots", function()
    local wanted = ask("heapdiff", "--json", "b", "d")
    local d = open("d"):diff(open "b")
    check_rows(wanted.groups, d)
    check_rows(wanted.classes, d.classes)
    assert.is_true(d.gone_objects > 50)
    assert.equal(first_line("heapdiff", "b", "d"), headline(d))
    assert.match("\n%d+ objects of [^\n]*b are gone: ", tostring(d))
  end)

  it("heapdiff --since", function()
    local wanted = ask("heapdiff", "--json", "--since", "a", "--until", "noon", "d")
    local d = open("d"):since("a", "noon")
    check_rows(wanted.groups, d)
    check_fields(wanted, d, "objects", "shallow_bytes", "retained_bytes")
    check_rows(ask("heapdiff", "--json", "--since", "noon", "d").groups, open("d"):since "noon")
    local none, message, code = open("d"):since "midnight"
    assert.is_nil(none)
    assert.match('it has "a", "b", "noon"', message)
    assert.equal("absent", code)
  end)

  it("heapdiff with snapshots of two processes", function()
    local theirs = assert(reader.open(other .. "/d"))
    local wanted = ask("heapdiff", "--json", "d", other .. "/d")
    local d = open("d"):diff(theirs)
    assert.is_false(d.same_state)
    check_rows(wanted.classes, d.classes)
    check_rows(wanted.paths, reader.growth {path "d", other .. "/d"})
    check_rows(wanted.paths, d.paths)
    assert.equal(wanted.total_strings, #d.strings)
    assert.equal(first_line("heapdiff", "d", other .. "/d"), headline(d))
    local strings = theirs:strings(open "d")
    assert.equal(wanted.new_strings, strings.new_strings)
    assert.equal(#wanted.strings, #strings)
    for i, row in ipairs(wanted.strings) do
      assert.same({row.objects, row.bytes}, {strings[i].objects, strings[i].bytes})
      assert.equal(row.string, strings[i].example:text(256))
    end
    assert.match("different processes", tostring(d))
    assert.match("^Strings of .*: %d+ new, ", tostring(strings))
  end)

  it("heapdiff with a ladder of snapshots", function()
    local wanted = ask("heapdiff", "--json", "a", "b", "c", "d")
    local files = {path "a", path "b", path "c", path "d"}
    for _, list in ipairs {files, {path "a", open "b", path "c", open "d"}} do
      local g = reader.growth(list)
      check_rows(wanted.paths, g)
      check_rows(wanted.classes, g.classes)
      check_fields(wanted, g, "same_state")
      assert.same(wanted.whole, g.whole)
      assert.same(wanted.level, g.level)
      assert.same(files, g.snapshots)
      assert.equal(first_line("heapdiff", "a", "b", "c", "d"), headline(g))
    end
    local none, message, code = reader.growth {path "a", path "nope"}
    assert.is_nil(none)
    assert.match("cannot open '.*/nope'", message)
    assert.equal("io", code)
  end)

  it("heapdiff --before and --after", function()
    local wanted = ask("heapdiff", "--json", "--before", "a", "b", "--after", "c", "d")
    local g = reader.compare({path "a", path "b"}, {path "c", path "d"})
    check_rows(wanted.paths, g)
    assert.equal(wanted.fixed, g.fixed)
    assert.equal(plain(wanted.still_grows), g.still_grows)
    assert.match("^Is it fixed%? No: _G%.bus%.tick", tostring(g))
    assert.match("^More: ", tostring(reader.compare({path "a"}, {path "b"})))
  end)

  it("heapdiff --owners", function()
    local wanted = ask("heapdiff", "--json", "-n", "0", "--owners", "a", "d")
    local list = reader.owners {path "a", path "d"}
    assert.equal(wanted.total_parts, #list)
    local function sorted(parts)
      local lines = {}
      for i, p in ipairs(parts) do
        local figures = {p.bytes, p.objects, p.own_bytes, p.own_objects}
        for k, pair in ipairs(figures) do figures[k] = ("%d %d"):format(pair[1], pair[2]) end
        lines[i] = table.concat({p.held_by, plain(p.class) or "", tostring(p.shared),
          table.concat(figures, " ")}, " ")
      end
      table.sort(lines)
      return lines
    end
    for _, part in ipairs(wanted.parts) do
      if part.class == json.null then part.class = nil end
    end
    assert.same(sorted(wanted.parts), sorted(list))
    for i = 2, #list do assert.is_true(list[i].above < i) end
    assert.equal(first_line("heapdiff", "--owners", "a", "d"), headline(list))
    local row = "\n *%+[%d.]+ KB +100%.0%% +[%d.]+ KB +[%d.]+ KB +%+[%d,]+ +_G.bus "
    assert.match(row, tostring(list))
  end)

  it("heapcheck", function()
    local edges = open("d"):verify()
    assert.equal(ask("heapcheck", "--json", "d").files[1].edges, edges)
  end)
end)

describe("several objects", function()
  it("retain together what none of them does alone", function()
    local s = open "d"
    local tick, names = s:object "_G.bus.tick", s:object "_G.bus.names"
    assert.equal("absent", select(3, s:retained "Nope"))
    local bytes, objects = s:retained {tick, names}
    assert.is_true(bytes > tick.retained_bytes + names.retained_bytes)
    assert.same({bytes, objects}, {s:retained {tick, names, tick, "_G.bus.names"}})
    assert.equal(tick.retained_bytes, (s:retained(tick)))
    for _, row in ipairs(s:classes()) do
      if row.class == "Listener" then
        assert.equal(row.retained_bytes, (s:retained(s:objects {class = "Listener"})))
        assert.equal(row.retained_bytes, (s:retained "Listener"))
      end
    end
    assert.same({0, 0}, {s:retained {}})
    local list = s:objects_with(s:since("a", "b")[1].fingerprint)
    assert.equal("Listener", list[1].class)
    assert.same({s:retained(list)}, {s:retained(s:objects {class = "Listener"})})
    assert.equal("absent", select(3, s:objects_with "2-0123456789"))
  end)
end)

describe("what is ignored", function()
  it("is as though it were not there, until it is told otherwise", function()
    local s = open "d"
    local listener = s:object "_G.bus.tick[1]"
    assert.is_true(s:ignore {"_G.bus.tick"})
    assert.match("^_G%.bus%.names", listener:path())
    assert.is_true(s:ignore {"_G.bus.tick", s:object "_G.bus.names"})
    assert.is_nil(listener:path())
    assert.is_false(listener.reachable)
    local none, message, code = s:ignore {"_G.bus.tick", "_G.nothing"}
    assert.is_nil(none)
    assert.match("nothing", message)
    assert.equal("absent", code)
    assert.is_false(listener.reachable)
    assert.is_true(s:ignore())
    assert.is_true(listener.reachable)
    for _, edge in ipairs(listener:referrers()) do
      if edge.source == s:object "_G.bus.tick" then assert.is_true(s:ignore(edge)) end
    end
    assert.match("^_G%.bus%.names", listener:path())
    assert.equal("_G.bus.tick[2]", s:object("_G.bus.tick[2]"):path())
    for _, edge in ipairs(listener:referrers()) do
      assert.equal(edge.source == s:object "_G.bus.tick", edge.left_out)
    end
  end)

  it("is nothing in a capture, which leaves out the call itself", function()
    local out = support.lua [[
      local s = require "heap".capture()
      print(pcall(s.ignore, s, "_G.print"))
    ]]
    assert.match("^false\t.*a capture cannot ignore references", out)
  end)

  it("can be asked for without doing it", function()
    local s = open "d"
    local tick, listener = s:object "_G.bus.tick", s:object "_G.bus.tick[1]"
    local list = s:what_if({"_G.bus.tick", "_G.bus.names"}, listener)
    assert.equal(tick.retained_bytes, list[1].frees_bytes)
    assert.is_false(list[1].frees_it)
    assert.is_true(list.together.frees_it)
    local bytes, objects = s:retained {tick, "_G.bus.names"}
    assert.is_true(list.together.frees_bytes >= bytes)
    assert.is_true(list.together.frees_objects >= objects)
    assert.equal(list.together.frees_bytes - list[1].frees_bytes - list[2].frees_bytes,
      list.only_together.frees_bytes)
    assert.equal("_G.bus.names", list[2].cut)
    assert.is_true(listener.reachable)
    local edge = tick:edges()()
    assert.equal(edge, s:what_if({edge})[1].cut)
    local out = support.run({"heappath", "--what-if", "--cut", "_G.bus.tick", "--cut",
      "_G.bus.names", "d", "_G.bus.tick[1]"}, {cwd = dir})
    assert.equal((out:gsub("\n$", "")), tostring(list))
    assert.equal("absent", select(3, s:what_if "_G.nothing"))
    local paths = listener:independent()
    assert.equal(2, #paths)
    local texts = {[paths[1].text] = true, [paths[2].text] = true}
    assert.same({["_G.bus.tick[1]"] = true, ['_G.bus.names["listener 1"]'] = true}, texts)
    assert.is_false(paths.limited)
    assert.equal(s:object "_G.bus", paths.from)
    assert.is_true(listener:independent(1).limited)
    assert.match("is held by 2 independent paths\n", tostring(paths))
  end)
end)
