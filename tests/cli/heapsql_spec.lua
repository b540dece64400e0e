-- heapsql_spec.lua - what heapsql answers: the tables of its manual page, against the JSON of the
-- other commands; every way to find rows, against a scan; names of several snapshots; tables, CSV
-- and JSON as they are printed. What queries cannot do, --save, the shell: heapsql_guard_spec.lua.

local cjson = require "cjson"
local support = require "tests.common.support"

local run, quote = support.run, support.quote

--     _G -.bus-> Bus -.listeners-> {tick} -.tick-> {1..30} -[i]-> Listener -.data-> {...}
--     _G -.weak-> {__mode = "k"} -[listener]-> {x}      an ephemeron for each listener
--     _G -.waiting-> coroutines that stand in a yield, two at one line and one at another
--     _G -.names-> strings: equal long ones, bytes that are no text, text cut by the limit
local program = [[
  local heap = require "heap"
  local Listener = {__name = "Listener"}
  bus = setmetatable({listeners = {tick = {}}}, {__name = "Bus"})
  weak = setmetatable({}, {__mode = "k"})
  local function work(n)
    for i = 1, n do
      local listener = setmetatable({id = i, on = i % 2 == 0, data = {i, i + 0.5}}, Listener)
      table.insert(bus.listeners.tick, listener)
      weak[listener] = {x = listener}
    end
  end
  local function wait(n)
    if n > 1 then coroutine.yield() end
    coroutine.yield()
  end
  waiting = {}
  for i = 1, 3 do
    waiting[i] = coroutine.create(wait)
    coroutine.resume(waiting[i], i)
  end
  names = {("long "):rep(20), ("long "):rep(20) .. "!", "\xFF\0x", ("é"):rep(1000), "tab\there",
           ("y"):rep(999), ("y"):rep(1000)}
  names[8] = table.concat {("long "):rep(20)}
  work(5)
  heap.snapshot "a"
  work(10)
  heap.mark "middle"
  heap.snapshot "b"
  work(15)
  file = io.tmpfile()
  lost = {"garbage in c"}
  lost = nil
  heap.snapshot "c"
]]

local dir
setup(function() dir = select(2, support.lua(program)) end)

local function in_dir(command, options)
  options = options or {}
  options.cwd = options.cwd or dir
  return run(command, options)
end

-- The rows of a query's first answer, as tables by column name.
local function ask(sql, ...)
  local words = {"heapsql", "--json", ...}
  if not ... then words[3] = "c" end
  words[#words + 1] = sql
  local out, err, code = in_dir(words)
  assert.equal("", err, sql)
  assert.equal(0, code, sql)
  return cjson.decode(out).results[1].rows
end

-- Of one row with one column, the value.
local function value(sql, ...)
  local rows = ask(sql, ...)
  assert.equal(1, #rows, sql)
  return select(2, next(rows[1]))
end

local function json_of(...)
  local out, err = in_dir {...}
  assert.equal("", err)
  return cjson.decode(out)
end

-- ==== The manual page ==================================================================

-- The columns of the section TABLES: {{table, {column, hidden}, ...}, ...}.
local function tables_of_manual()
  local tables = {}
  local text = support.read_file(support.build .. "/man/heapsql.1")
  for line in text:match("\n%.Sh TABLES\n(.-)\n%.Sh "):gmatch "[^\n]+" do
    local name, column, mark = line:match "^%.Ss (%a+)$", line:match "^%.It Va (%S+)(.*)"
    if name then tables[#tables + 1] = {name} end
    if column then table.insert(tables[#tables], column .. (mark ~= "" and "+" or "")) end
  end
  return tables
end

describe("the manual page of heapsql", function()
  it("has every table and column, in their order", function()
    local names = {}
    for _, columns in ipairs(tables_of_manual()) do
      local name, expected = table.remove(columns, 1), {}
      for i, row in ipairs(ask(("pragma c.table_xinfo(%s)"):format(name))) do
        expected[i - 1] = row.name .. (row.hidden == 1 and "+" or "")
        if i == 1 then assert.equal("snapshot+", expected[0]) end
      end
      expected[0] = nil
      assert.same(expected, columns, name)
      names[#names + 1] = name
    end
    assert.equal(value "select group_concat(name, ' ') from c.sqlite_schema",
                 table.concat(names, " "))
  end)
end)

-- ====================================================================================

describe("cli/README.md", function()
  it("shows what heapsql prints about examples/listener.lua", function()
    local readme = support.read_file(support.root .. "/cli/README.md")
    local out = readme:match "\n    %$ (heapsql .-\n)\n"
    local program_text = support.read_file(support.root .. "/examples/listener.lua")
    local _, where = support.lua(program_text)
    local command, expected = out:match "^(.-)\n(.*)$"
    assert.equal(expected:gsub("    (%S)", "%1", 1):gsub("\n    ", "\n"),
                 (in_dir(command, {cwd = where})))
  end)
end)

-- ==== The same answers as the other commands =========================================

describe("heapsql agrees with", function()
  it("heaptop about the whole heap", function()
    local top = json_of("heaptop", "--json", "c").snapshot
    local info = ask "select *, time_ns from info"[1]
    for _, key in ipairs {"program", "name", "lua_release", "process_id", "file_bytes", "objects",
                          "gc_bytes", "unaccounted_bytes", "string_table_bytes",
                          "reachable_objects", "reachable_bytes", "garbage_objects",
                          "garbage_bytes"} do
      assert.equal(top[key], info[key], key)
    end
    assert.equal(top.object_bytes, info.object_bytes)
    assert.equal(top.bytes, info.object_bytes)
    assert.equal(top.time_ns, info.time_ns)
    assert.equal(os.date("!%Y-%m-%d %H:%M:%S", top.time_ns // 1000000000), info.time)
    assert.equal(info.object_bytes, value "select sum(shallow_bytes) from objects" + info.own_bytes)
    assert.equal(info.objects, value "select count(*) from objects" + info.own_objects)
    assert.is_true(info.own_objects > 0)
  end)

  it("heaptop about every class", function()
    local top = json_of("heaptop", "--json", "--by", "class", "c").classes
    local sums = {}
    for _, row in ipairs(ask [[
      select class, type, count(*) as objects, sum(shallow_bytes) as shallow_bytes
      from objects where reachable group by 1, 2]]) do
      sums[row.class .. row.type] = row
    end
    local of = {}
    for _, row in ipairs(ask "select * from classes where objects > 0") do
      of[row.class .. row.type] = row
    end
    assert.equal(#top, value "select count(*) from classes where objects > 0")
    for _, class in ipairs(top) do
      local key = class.class .. class.type
      assert.equal(class.retained_bytes, of[key].retained_bytes, key)
      for _, column in ipairs {"objects", "shallow_bytes"} do
        assert.equal(class[column], of[key][column], key)
        assert.equal(class[column], sums[key][column], key)
      end
    end
    local garbage = ask [[select sum(garbage_objects) as objects, sum(garbage_bytes) as bytes
                          from classes]][1]
    local counted = ask [[select count(*) as objects, sum(shallow_bytes) as bytes
                          from objects where not reachable]][1]
    assert.same(counted, garbage)
    assert.is_true(garbage.objects > 0)
  end)

  it("heaptop about every module and global", function()
    local top = json_of("heaptop", "--json", "--modules", "-n", "0", "c").modules
    local rows = ask [[select m.path, m.retained_bytes, o.address from modules m join objects o
                       on o.id = m.id order by m.retained_bytes desc, m.path]]
    assert.equal(#top, #rows)
    for i, module in ipairs(top) do
      assert.same({module.name, module.retained_bytes, module.address},
        {rows[i].path, rows[i].retained_bytes, rows[i].address})
    end
  end)

  it("heaptop about every object", function()
    local all = "table,string,closure,upvalue,proto,userdata,thread"
    local words = {"heaptop", "--json", "--by", "object", "-n", "0", "--type", all, "c"}
    local top = json_of(table.unpack(words)).objects
    local rows = {}
    for _, row in ipairs(ask [[select *, path, path_of(id) as by_function, class_of(id) as named
                               from objects where reachable]]) do
      rows[row.address] = row
    end
    assert.equal(#top, value "select count(*) from objects where reachable")
    for _, object in ipairs(top) do
      local row = rows[object.address]
      for _, key in ipairs {"class", "type", "shallow_bytes", "retained_bytes", "distance"} do
        assert.equal(object[key], row[key], object.held_by)
      end
      assert.equal(object.held_by, row.path)
      assert.equal(object.held_by, row.by_function)
      assert.equal(object.class, row.named)
    end
  end)

  it("heapdiff about the folded paths", function()
    local groups = json_of("heapdiff", "--json", "a", "b", "c").groups
    local between = [[
      class = %s and held_by = %s and epoch >= (select epoch from marks where name = 'a')
      and epoch < (select epoch from marks where name = 'b')]]
    assert.is_true(#groups > 0)
    for _, group in ipairs(groups) do
      local where = between:format(quote(group.class), quote(group.held_by))
      assert.equal(group.objects, value("select count(*) from objects where " .. where))
    end
  end)

  it("heappath about dominators", function()
    local path = "_G.bus.listeners.tick[7].data"
    local expected = {}
    for i, step in ipairs(json_of("heappath", "--json", "--dominators", "c", path).dominators) do
      expected[i] = step.address
    end
    local found = {}
    for i, row in ipairs(ask(([[
      with recursive up(id, n) as (
        select id_of('%s'), 0 union all select immediate_dominator, n + 1 from up join objects
        using (id))
      select address from up join objects using (id) where n > 0 order by n]]):format(path))) do
      found[i] = row.address
    end
    assert.same(expected, found)
    assert.is_true(#found > 2)
  end)

  it("heappath about what refers to an object", function()
    for _, path in ipairs {"_G", "_G.bus.listeners.tick[7]", "_G.weak", "_G.waiting[1]"} do
      local expected, found = {}, {}
      local function add(list, address, ...)
        list[#list + 1] = table.concat({tostring(address), ...}, " ")
      end
      for _, r in ipairs(json_of("heappath", "--json", "--referrers", "c", path).referrers) do
        add(expected, r.address or cjson.null, r.edge, r.label, r.weak and 1 or 0)
      end
      local sql = [[select address, kind, label, e.weak
                    from edges e left join objects on id = source where target = id_of('%s')]]
      for _, row in ipairs(ask(sql:format(path))) do
        add(found, row.address, row.kind, row.label, row.weak | 0)
      end
      table.sort(expected)
      table.sort(found)
      assert.same(expected, found)
      assert.is_true(#found > 0)
    end
  end)

  it("the program about what is in a table", function()
    local rows = ask [[select key, value, class_of(value_id) as class from entries
                       where id = id_of('_G.bus.listeners.tick[4]') order by key]]
    assert.equal(3, #rows)
    assert.same({key = "data", value = cjson.null, class = "array of number"}, rows[1])
    assert.same({key = "id", value = 4, class = cjson.null}, rows[2])
    assert.same({key = "on", value = 1, class = cjson.null}, rows[3])
    assert.equal(4.5, value [[select value from entries where key = 2 and id =
                              id_of('_G.bus.listeners.tick[4].data')]])
    assert.equal(30, value [[select max(key) from edges
                             where source = id_of('_G.bus.listeners.tick')]])
    assert.equal(30, value [[select count(*) from objects where type = 'table' and
                             id in (select target from edges where kind = 'ephemeron')]])
  end)

  it("the program about its coroutines", function()
    local rows = ask [[select function, line, status, count(*) as n, min(is_main) as main
                       from threads where not is_main group by 1, 2, 3 order by n]]
    assert.equal(2, #rows)
    assert.equal(1, rows[1].n)
    assert.equal(2, rows[2].n)
    assert.equal(rows[1].line - 1, rows[2].line)
    assert.equal("suspended", rows[1].status)
    assert.matches("^function wait @program.lua:%d+$", rows[1]["function"])
    assert.equal(value "select sum(frames) from threads", value "select count(*) from frames")
    assert.equal("running", value "select status from threads where is_main")
    assert.equal(rows[1].line, value [[select f.line from frames f join threads t on t.id = f.thread
                                       where t.id = id_of('_G.waiting[1]') and f.line]])
  end)

  it("a program that was not tracked about its sites", function()
    assert.equal(0, value "select count(*) from sites")
    assert.equal(0, value "select count(*) from stacks")
    assert.equal(0, value [[select count(*) from objects where site is not null
                            or stack is not null]])
    assert.equal(0, value "select count(tracked_allocations) from info")
  end)

  it("the program about its modules and marks", function()
    assert.equal("coroutine debug heap io math os package string table utf8",
                 value [[select group_concat(name, ' ') from (select name from modules
                         where path like 'package.loaded%' order by name)]])
    assert.equal("bus", value "select name from modules where path = '_G.bus'")
    assert.equal("module string", value "select class from modules where name = 'string'")
    assert.equal(value "select retained_bytes from objects where id = id_of('_G.string')",
                 value "select retained_bytes from modules where name = 'string'")
    assert.equal("1 a snapshot, 2 middle mark, 3 b snapshot, 4 c snapshot",
                 value "select group_concat(epoch || ' ' || name || ' ' || kind, ', ') from marks")
    assert.equal("5 10 15", value [[select group_concat(n, ' ') from (select count(*) as n
      from objects where class = 'Listener' group by epoch in (1), epoch order by epoch)]])
  end)
end)

-- ==== Finding rows ===================================================================

describe("heapsql finds the same rows at once as by a scan", function()
  -- A + before a column keeps SQLite from handing the comparison to the table.
  local function same(sql, ...)
    local scan = sql:gsub("#", "+")
    local quick = sql:gsub("#", "")
    local expected = ask(scan, ...)
    assert.same(expected, ask(quick, ...), sql)
    return #expected
  end

  it("of objects", function()
    for _, condition in ipairs {
      "#id = 17", "#id = 17.0", "#rowid = 17", "#id in (3, 5, 4, 5, 3)",
      "#address = (select address from objects where class = 'Bus')", "#class = 'Listener'",
      "#class in ('Listener', 'Bus', 'string')", "#type = 'thread'", "#type in ('table', 'proto')",
      "#immediate_dominator = id_of('_G.bus')", "#immediate_dominator = 0",
      "#id = 17 or #class = 'Bus'", "#type = 'table' and #class = 'Listener' and id > 20",
      "#class = 'listener' collate nocase", "#snapshot = 'c' and #class = 'Bus'",
      "#snapshot = 'C' collate nocase and #class = 'Bus'",
    } do
      assert.is_true(same("select * from objects where " .. condition .. " order by id") > 0)
    end
  end)

  it("of an object whose id is text, as SQLite compares it", function()
    assert.equal(17, value "select id from objects where id = '17'")
  end)

  it("of an address as it is at hand: text, a number, or what Lua prints", function()
    local bus = value "select id from objects where class = 'Bus'"
    local address = value "select address from objects where class = 'Bus'"
    for _, text in ipairs {address, ("'%s'"):format(address), ("'table: %s'"):format(address)} do
      for _, condition in ipairs {"address = %s", "%s = address", "address in (1, %s)",
                                  "id = id_of(%s)", "address = %s and class = 'Bus'",
                                  "address = %s and id in (select id from objects)"} do
        local sql = "select id from objects where " .. condition:format(text)
        assert.equal(bus, value(sql), sql)
      end
      assert.same({}, ask("select id from objects where class = 'x' and address = " .. text))
    end
  end)

  it("of nothing", function()
    for _, condition in ipairs {
      "#id = 0", "#id = -1", "#id = 4000000000", "#id = 10000000001", "#id = 17.5", "#id = 'x'",
      "#id = 1e300", "#id = -1e300", "#id = 9223372036854775807", "#id = null", "#address = 17",
      "#address = '0x'", "#address = 'x0x10'", "#address = 'table: 0x10'", "#address = ': 0x'",
      "#address = ''", "#address = -1", "#address = null", "#class = 17", "#class = ''",
      "#class = null", "#type = 'root'", "#type = x'00'", "#immediate_dominator = 'x'",
      "#snapshot = 'd'", "#snapshot = null", "#id is null",
    } do
      assert.equal(0, same("select * from objects where " .. condition))
    end
  end)

  it("of edges and the others", function()
    for _, sql in ipairs {
      "edges where #source = id_of('_G') order by position",
      "edges where #target = id_of('_G') order by source, position",
      "edges where #source = id_of('_G') and #target = id_of('_G.bus')",
      "edges where #source = id_of('_G') or #target = id_of('_G') order by source, position",
      "edges where #source = 0 order by position",
      "edges where #target in (select id from objects where class = 'Listener') order by 2, 3",
      "entries where #id = id_of('_G.bus.listeners.tick') order by position",
      "strings where #id in (select key_id from entries)",
      "threads where #id = id_of('_G.waiting[2]')",
      "frames where #thread = id_of('_G.waiting[2]') order by frame",
    } do
      assert.is_true(same("select * from " .. sql) > 0, sql)
    end
  end)

  it("in the order of classes, forwards and backwards", function()
    for _, order in ipairs {"", " order by class", " order by class desc"} do
      assert.is_true(same("select class, count(*), min(id) from c.objects group by #class" ..
                          order:gsub("class", "#class")) > 20)
    end
    same("select id from c.objects where class in ('Listener', 'Bus') order by #class desc, id")
    same("select id from c.objects where class in ('Listener', 'Bus') order by #class limit 2")
    assert.matches("B%-TREE", in_dir {"heapsql", "c",
                              "explain query plan select class from objects order by +class"})
    assert.not_matches("B%-TREE", in_dir {"heapsql", "c",
                                  "explain query plan select class from objects order by class"})
  end)

  it("in several snapshots", function()
    assert.equal(3, same("select * from objects where #class = 'Bus' order by 1", "a", "b", "c"))
    same("select * from objects where #snapshot = 'b' and #class = 'Bus'", "a", "b", "c")
    same("select * from b.objects where #snapshot = 'b' and #class = 'Bus'", "a", "b", "c")
    assert.equal(0, same("select * from b.objects where #snapshot = 'c'", "a", "b", "c"))
    assert.equal(0, same("select * from a.objects where #id = 10000000001", "a", "b"))
    same("select * from edges where #target = id_of('_G', 'b') order by source", "a", "b", "c")
    same("select class, count(*) from objects group by #class", "a", "b", "c")
  end)
end)

-- ==== Several snapshots ==============================================================

describe("several snapshots", function()
  it("have ids of their own, that functions know", function()
    local rows = ask([[select snapshot, min(id) as first, count(*) as n, count(distinct id) as m
                       from objects group by 1]], "a", "b", "c")
    assert.equal("a b c", rows[1].snapshot .. " " .. rows[2].snapshot .. " " .. rows[3].snapshot)
    assert.is_true(rows[2].first > 10000000000 and rows[3].first > 20000000000)
    assert.equal(rows[1].n, value("select count(*) from a.objects", "a", "b", "c"))
    assert.equal(rows[1].n + rows[2].n + rows[3].n,
                 value("select count(distinct id) from objects", "a", "b", "c"))
    assert.equal("_G.bus.listeners.tick[12]",
                 value("select path_of(id_of('_G.bus.listeners.tick[12]', 'b'))", "a", "b", "c"))
    assert.is_true(cjson.null == value("select id_of('_G.bus.listeners.tick[12]', 'a')", "a", "b"))
  end)

  it("tell which objects are the same ones", function()
    local rows = ask([[
      select n.path, o.shallow_bytes as before, n.shallow_bytes as now
      from c.objects n join a.objects o on o.address = n.address and o.type = n.type
      where n.epoch < (select m.epoch from c.marks m join a.info i using (serial))
      and n.class = 'array of Listener' and n.shallow_bytes > o.shallow_bytes]], "a", "c")
    assert.equal(1, #rows)
    assert.equal("_G.bus.listeners.tick", rows[1].path)
    assert.is_true(rows[1].now > rows[1].before)
  end)

  it("are called by their files, made valid and unambiguous", function()
    local other = support.tmpdir()
    for _, name in ipairs {"a", "run-1.heap", "2", "select", "temp", "main", "a'b\"c", "ä", "-x"} do
      run {"cp", dir .. "/a", other .. "/" .. name}
    end
    local out = in_dir {"heapsql", "--csv", "a", other .. "/a", other .. "/run-1.heap",
      other .. "/2", other .. "/select", other .. "/temp", other .. "/main", other .. "/a'b\"c",
      other .. "/ä", other .. "/-x", "select snapshot from info"}
    assert.equal("snapshot\na\na_2\nrun_1_heap\n_2\n_select\n_temp\n_main\na_b_c\n___\n__x\n", out)
    local _, err, code = in_dir {"heapsql", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a",
                                 "select 1"}
    assert.equal(2, code)
    assert.equal("heapsql: a: SQLite takes at most 10 snapshots at a time: open fewer\n", err)
  end)

  it("want id_of to be told which", function()
    local out, err, code = in_dir {"heapsql", "a", "b", "select id_of('_G')"}
    assert.equal("", out)
    assert.equal("heapsql: id_of: in which snapshot? id_of(object, 'name')\n", err)
    assert.equal(2, code)
    err = select(2, in_dir {"heapsql", "a", "b", "select id_of('_G', 'c')"})
    assert.equal("heapsql: id_of: no snapshot is open under that name\n", err)
  end)
end)

-- ==== What is printed ================================================================

describe("heapsql prints", function()
  it("exact strings in CSV and JSON, and says when it has only a part", function()
    local sql = [[select length_bytes as n, kept_bytes as k, typeof(text) as t, length(text) as l,
                  text as s from strings where id = (select value_id from entries
                  where id = id_of('_G.names') and key = %d)]]
    local function name(i) return ask(sql:format(i))[1] end
    assert.equal("\\xFF\\x00x", name(3).s)
    assert.equal("blob", name(3).t)
    assert.same({n = 2000, k = 256, t = "text", l = 128, s = ("é"):rep(128)}, name(4))
    assert.equal("tab\there", name(5).s)
    local out = in_dir {"heapsql", "--csv", "c", ("select s from (" .. sql .. ")"):format(3)}
    assert.equal("s\n\xFF\0x\n", out)
    assert.equal(2, value [[select count(*) from strings join objects using (id)
                            where text like 'long long%' and length_bytes = 100 and reachable]])
    assert.equal(1, value [[select count(*) from (select 1 from strings where length_bytes > 40
                            group by text, length_bytes, hash having count(*) > 1)]])
    assert.equal(2, value "select count(distinct hash) from strings where text like 'yyyyy%'")
  end)

  it("CSV as it must be quoted", function()
    local out = in_dir {"heapsql", "--csv", "c",
      [[select 1 as "a,b", 'x"y' as c, 'line
break' as d, null as e, 1.5 as f, '' as g; select 2 as h]]}
    assert.equal('"a,b",c,d,e,f,g\n1,"x""y","line\nbreak",,1.5,\n\nh\n2\n', out)
  end)

  it("JSON with a key for each column", function()
    local out = in_dir {"heapsql", "--json", "c", "select 1 as a, 2 as a, 3 as a, 'é\127' as s",
                        "select 1 where 0; -- nothing", "select 1e999 as inf"}
    assert.not_matches("[\127-\255]", out)
    local results = cjson.decode(out).results
    assert.equal(3, #results)
    assert.same({"a", "a_2", "a_3", "s"}, results[1].columns)
    assert.same({{a = 1, a_2 = 2, a_3 = 3, s = "é\127"}}, results[1].rows)
    assert.same({}, results[2].rows)
    assert.is_true(results[3].rows[1].inf == cjson.null)
  end)

  it("tables with numbers on the right and control characters made visible", function()
    local out = in_dir {"heapsql", "c", "select 'a' as x, 10 as n, null as z union all " ..
                                        "select char(27) || '[31m', 5.5, null", "select 1 where 0"}
    assert.equal("x           n  z\na          10  \n\\x1B[31m  5.5  \n\nnone\n", out)
  end)

  it("what several queries answer, from arguments and from stdin", function()
    local out, err, code = in_dir({"heapsql", "--csv", "c", "select 1", "-", "select 4;"},
                                  {stdin = "select 2; -- two\nselect 3"})
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal("1\n1\n\n2\n2\n\n3\n3\n\n4\n4\n", out)
    out = in_dir({"heapsql", "--csv", "c", "-"}, {stdin = ("-- long\n"):rep(10000) .. "select 1"})
    assert.equal("1\n1\n", out)
  end)

  it("errors as one line that says what to do", function()
    local cases = {
      ["select x from objects"] = "no such column: x; the columns of a table: pragma",
      ["select * from object"] = "no such table: object; each snapshot %(c%) has objects, edges",
      ["select * from d.objects"] = "no such table: d.objects; each snapshot",
      ["selec 1"] = 'near "selec": syntax error %(is select meant%?%); heapsql%(1%) has examples',
      ["select 1 from objects wehre 1"] = 'near "1": syntax error; heapsql%(1%) has examples',
      ["select ("] = "incomplete input; heapsql",
      ["select path_of('x')"] = "no object has this id: take it from a table, or from id_of",
      ["select class_of(99999999999)"] = "no object has this id",
      ["select id_of('_G[')"] = "cannot read the path from '%[' on",
      ["select 1 from objects where id = id_of()"] = "wrong number of arguments",
    }
    for sql, message in pairs(cases) do
      local out, err, code = in_dir {"heapsql", "c", sql}
      assert.equal("", out, sql)
      assert.matches("^heapsql: [^\n]*" .. message .. "[^\n]*\n$", err)
      assert.equal(2, code)
    end
    local err = select(2, in_dir({"heapsql", "c", "-"}, {stdin = "select '\0'"}))
    assert.equal("heapsql: the query on stdin has a zero byte\n", err)
  end)
end)
