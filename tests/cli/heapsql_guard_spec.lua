-- heapsql_guard_spec.lua - what queries must not do: every way that SQLite and its shell have to
-- write or open a file, or to change anything. Then what does touch files: --save, the sqlite3
-- shell that heapsql becomes, and the extension in a shell of one's own.

local lfs = require "lfs"
local support = require "tests.common.support"

local run, quote = support.run, support.quote

local dir
setup(function()
  dir = select(2, support.lua [[
    local heap = require "heap"
    local Listener = {__name = "Listener"}
    listeners = {}
    for i = 1, 100 do listeners[i] = setmetatable({}, Listener) end
    heap.snapshot "a"
    evil = "\27[31mred\0"
    heap.snapshot "c"
  ]])
  support.write_file(dir .. "/secret", "text\n")
end)

-- The shell is not linked to libasan, and forgets memory at its exit.
local function of_shell(options)
  options = options or {}
  options.env = options.env or {}
  options.env.LD_PRELOAD = os.getenv "LUAHEAP_PRELOAD"
  if support.sanitized then options.env.ASAN_OPTIONS = "detect_leaks=0" end
  return options
end

local function in_dir(command, options)
  options = options or {}
  options.cwd = options.cwd or dir
  return run(command, options)
end

-- Names, sizes and times of all that is in the directory.
local function listing()
  local list = {}
  for name in lfs.dir(dir) do
    local a = lfs.attributes(dir .. "/" .. name)
    local line = table.concat({name, a.mode, a.size, a.modification}, " ")
    if name:sub(1, 1) ~= "." or a.mode ~= "directory" then list[#list + 1] = line end
  end
  table.sort(list)
  return table.concat(list, "\n")
end

-- ==== Queries ========================================================================

local forbidden = {
  "attach 'x' as y", "attach ':memory:' as y", "attach 'file:x?mode=memory' as y", "detach c",
  "attach char(120) as y", "vacuum", "vacuum into 'x'", "vacuum c into 'x'", "vacuum main into 'x'",
  "create table x(y)", "create temp table x(y)", "create table c.x as select * from objects",
  "create view x as select 1", "create temp view x as select 1", "create index x on objects(id)",
  "create temp trigger x after insert on main.x begin select 1; end",
  "create virtual table temp.x using fts5(y)", "create virtual table x using rtree(a, b, c)",
  "create virtual table temp.strings2 using heapsnap", "create virtual table x using dbstat",
  "create virtual table x using fts3tokenize",
  "create virtual table x using csv(filename = 'secret')",
  "insert into objects values (1)", "insert into c.objects(id) values (1)",
  "update objects set class = 'x'", "delete from objects", "delete from edges where source = 0",
  "insert into sqlite_schema values (1, 2, 3, 4, 5)", "update temp.sqlite_schema set sql = ''",
  "with x as (select 1) insert into objects select * from x", "replace into objects(id) values (1)",
  "drop table objects", "drop table temp.objects", "drop table c.objects",
  "alter table objects rename to x", "alter table c.objects add column x", "analyze",
  "begin", "begin immediate", "commit", "rollback", "savepoint x", "release x",
  "pragma journal_mode = wal", "pragma c.journal_mode = delete", "pragma writable_schema = 1",
  "pragma temp_store = 1", "pragma temp_store_directory = '.'", "pragma query_only = 0",
  "pragma data_store_directory = '.'", "pragma trusted_schema = 1", "pragma mmap_size = 1000000",
  "pragma hard_heap_limit = 1", "pragma schema_version = 7", "pragma user_version = 7",
  "pragma incremental_vacuum", "pragma wal_checkpoint", "pragma optimize", "pragma cache_spill = 1",
  "pragma load_extension('x')", "pragma lock_proxy_file = 'x'", "pragma integrity_check",
  "select load_extension('./x.so')", "select load_extension('./x.so', 'entry')",
  "select readfile('secret')", "select writefile('x', 'y')", "select edit('x')",
  "select edit('x', 'sh')", "select fts3_tokenizer('simple')", "select fts3_tokenizer('x', x'00')",
  "select zipfile('x', 'y')", "select zipfile_cds('secret')", "select * from fsdir('.')",
  "select count(*) from fsdir('.')", "select count(*) from zipfile('secret')",
  "select * from zipfile('secret')", "select * from dbstat",
  "select * from sqlite_dbpage", "select * from sqlite_dbdata", "select * from sqlite_dbptr",
  "select * from sqlite_stmt", "select * from bytecode('select 1')", "select lsmode(1)",
  "select * from pragma_journal_mode('wal')", "select * from pragma_temp_store_directory('.')",
  "select heap_open('a')", "select heap_open('secret')", "select heap_open('a', 'y')",
  "select (select heap_open('a')) from objects", "select id from objects where heap_open('a') > ''",
  "with x as (select readfile('secret')) select * from x",
  "select case when 0 then writefile('x', 'y') end", "select * from (select writefile('x', 1))",
  "select sum(writefile('x', 1)) over () from objects", "explain select readfile('secret')",
  "select 1; attach 'x' as y", "/* c */ attach 'x' as y", "explain attach 'x' as y",
  ".open x", ".shell touch x", ".output x\nselect 1", "select * from 'secret'",
}

describe("a query", function()
  local before
  setup(function() before = listing() end)

  it("of heapsql does nothing else but read the snapshots", function()
    for _, sql in ipairs(forbidden) do
      local _, err, code = in_dir {"heapsql", "c", "a", sql .. ";"}
      assert.equal(2, code, sql)
      assert.matches("^heapsql: [^\n]+\n$", err)
      assert.equal(before, listing(), sql)
    end
    io.write(("\nfaults: queries that try to write or open a file: %d cases, %d survived\n")
             :format(#forbidden, #forbidden))
    local _, err = in_dir {"heapsql", "c", "attach 'x' as y"}
    assert.equal("heapsql: a query can only read the snapshots: use select (not authorized)\n", err)
  end)

  -- Between its answers the shell says how far it came.
  it("in the sqlite3 shell does not either, once heap_read_only was called", function()
    local script, n = {".load " .. support.build .. "/heapsnap", "select heap_open('c');",
                       "select heap_read_only();"}, 0
    for _, sql in ipairs(forbidden) do
      if sql:sub(1, 1) ~= "." and not sql:find("^select 1;") then
        n = n + 1
        script[#script + 1] = (".print %d\n%s;"):format(n, sql)
      end
    end
    local text = table.concat(script, "\n")
    local out, err = in_dir({"sqlite3", ":memory:"}, of_shell {stdin = text})
    for i = 1, n do
      assert.matches("\n" .. i .. "\n" .. (i < n and i + 1 .. "\n" or "$"), out)
    end
    assert.equal(n, select(2, err:gsub("rror[^\n]* near line", "")))
    assert.equal(before, listing())
    local bail = select(3, in_dir({"heapsql", "c"}, of_shell {stdin = "attach 'x' as y;"}))
    assert.equal(1, bail)
    assert.equal(before, listing())
  end)

  it("may ask SQLite about the tables", function()
    for _, sql in ipairs {
      "pragma table_info(objects)", "pragma c.table_xinfo(edges)", "pragma database_list",
      "pragma table_list", "pragma function_list", "pragma compile_options",
      "select * from pragma_table_info('objects')", "select * from sqlite_schema",
      "select * from c.sqlite_schema", "select * from temp.sqlite_schema",
      "select value from json_each('[1,2]')", "explain query plan select * from objects",
      "with recursive n(i) as (select 1 union select i + 1 from n where i < 9) select * from n",
      "select class, rank() over (order by shallow_bytes) from objects limit 1",
      "select upper(class), instr(class, 'x'), abs(-1), date('now') from objects limit 1",
    } do
      local out, err, code = in_dir {"heapsql", "c", sql}
      assert.equal("", err, sql)
      assert.equal(0, code, sql)
      assert.not_equal("", out, sql)
    end
  end)

  it("sorts more than fits its cache in memory, not in a file", function()
    local sql = [[select count(*) from (select a.address || b.id as x from objects a, objects b
                  order by x limit -1)]]
    local out, err, code = in_dir({"heapsql", "--csv", "c", sql}, {before = "ulimit -f 1;"})
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("^count%(%*%)\n%d%d%d%d%d+\n$", out)
  end)

  it("calls no function that is not known to be harmless", function()
    for _, name in ipairs {
      "load_extension('x')", "readfile('secret')", "fts3_tokenizer('x')", "usleep(1)",
      "sqlite_log(1, 'x')", "rtreecheck('x')", "heap_open('a')",
    } do
      local out, err, code = in_dir {"heapsql", "c", "select " .. name}
      assert.equal("", out)
      assert.equal(2, code)
      local known = name:find "^[lsfh]" and not name:find "^usleep"
      if known and not err:find "no such function" then
        assert.equal("heapsql: a query cannot use the function " .. name:match "^[%w_]+" ..
                     ": heapsql(1) tells which it can\n", err)
      end
    end
  end)

  it("calls none that the shell adds, but for those that compute", function()
    local script = ".load " .. support.build .. "/heapsnap\nselect heap_open('c');\n" ..
                   "select heap_read_only();\nselect usleep(1);\nselect upper('x');\n"
    local out, err = in_dir({"sqlite3", ":memory:"}, of_shell {stdin = script})
    assert.matches("not authorized to use function: usleep", err)
    assert.matches("\nX\n", out)
  end)

  local endless = "with recursive n(i) as (select 1 union all select i + 1 from n) "

  local function ends(message, ...)
    local out, err, code = in_dir {"timeout", "120", "heapsql", ...}
    assert.equal(message, err)
    assert.equal(2, code)
    return out
  end

  it("without end is ended, in time", function()
    local message = "heapsql: the query takes more than 1 second: heapsql --timeout SECONDS " ..
                    "allows more\n"
    ends(message, "--timeout", "1", "c", endless .. "select count(*) from n")
    ends(message, "--timeout", "1", "--json", "c", endless .. "select * from n where i < 0")
    -- One call, in which SQLite looks at no limit: hours.
    ends(message, "--timeout", "1", "c", "select instr(printf('%.*c', 50000000, 'a'), " ..
                                        "printf('%.*c', 25000000, 'a') || 'b')")
    for _, seconds in ipairs {"0", "18446744074", "9223372036854775807"} do
      local query = "select count(*) from (" .. endless .. "select i from n limit 100000)"
      local out = in_dir {"heapsql", "--csv", "--timeout", seconds, "c", query}
      assert.equal("count(*)\n100000\n", out)
    end
  end)

  it("looks at a long string once, in however many places it stands", function()
    local _, long = support.lua [[
      words = {}
      for i = 1, 150000 do words[i] = "" end
      local word = ("x"):rep(400000)
      for i = 1, #words do words[i] = word end
      require("heap").snapshot("s", {strings = 1 << 20})
    ]]
    for _, command in ipairs {"heapsql --save s.db s", "heapsql --csv s 'select count(value) " ..
                              "from entries'"} do
      local out, err, code = support.run(command, {cwd = long, before = "ulimit -t 30;"})
      assert.equal("", err)
      assert.equal(0, code, out)
    end
  end)

  it("that answers too many rows is ended behind as many as there may be", function()
    local message = "heapsql: the query has more than 1,000 rows: heapsql --max-rows N " ..
                    "allows more\n"
    local out = ends(message, "--max-rows", "1000", "--csv", "c", endless .. "select i from n")
    assert.equal(1001, select(2, out:gsub("\n", "")))
    ends(message, "--max-rows", "1000", "c", endless .. "select i from n")
    local all = "select i from n limit 1000"
    out = in_dir {"heapsql", "--max-rows", "1000", "--csv", "c", endless .. all, endless .. all}
    assert.equal(2003, select(2, out:gsub("\n", "")))
  end)

  it("that takes too much memory is ended", function()
    local message = "heapsql: the query takes more memory than 16.0 MB: heapsql --max-memory " ..
                    "SIZE allows more\n"
    for _, query in ipairs {
      "select i, hex(zeroblob(500)) as x from n order by x, i desc",
      "select group_concat(x) from (select hex(zeroblob(500)) as x from n limit 40000)",
      "select hex(zeroblob(100000000))",
      "select replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000)))",
    } do ends(message, "--max-memory", "16MB", "c", endless .. query) end
  end)

  it("of heappath has the same limits, and names each object once", function()
    local set = "with t(n) as (values (1), (2), (3)) select id from objects, t"
    local once = in_dir {"heappath", "--json", "--set", "select id from objects", "c"}
    assert.equal(once:gsub('"set": [^\n]*', ""),
                 (in_dir {"heappath", "--json", "--set", set, "c"}):gsub('"set": [^\n]*', ""))
    local _, err, code = in_dir {"heappath", "--set", "select readfile('x')", "c"}
    assert.equal(2, code)
    assert.matches("^heappath: [^\n]+\n$", err)
  end)

  it("ends at once when it is interrupted", function()
    local _, _, code = in_dir("timeout -s INT 0.3 heapsql c " ..
                             quote(endless .. "select count(*) from n"))
    assert.equal(124, code)
  end)
end)

-- ==== --save =========================================================================

describe("heapsql --save", function()
  local function sqlite(file, sql)
    local out, err, code = in_dir {"sqlite3", "-json", file, sql}
    assert.equal("", err)
    assert.equal(0, code)
    return out
  end

  it("writes every table with every row", function()
    local out, err, code = in_dir {"heapsql", "--save", "all.sqlite", "a", "c"}
    assert.equal("all.sqlite: 2 snapshots, all tables\n", out)
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal("rw-------", lfs.attributes(dir .. "/all.sqlite", "permissions"))
    for _, name in ipairs {"objects", "edges", "entries", "strings", "classes", "threads", "frames",
                           "sites", "stacks", "modules", "marks", "info"} do
      local sql = "select count(*) from " .. name
      assert.equal(in_dir {"heapsql", "--csv", "a", "c", sql},
                   sqlite("all.sqlite", sql):gsub('%[{"(.*)":(%d+)}%]', "%1\n%2"), name)
    end
    local sums = "select sum(id), sum(retained_bytes), sum(array_slots), count(file), sum(line) " ..
                 "from objects union all select sum(source), sum(target), sum(position), " ..
                 "count(label), count(key) from edges union all select sum(value), " ..
                 "count(value), sum(position), count(key_id), sum(value_id) from entries"
    assert.equal((in_dir {"heapsql", "--csv", "a", "c", sums}):gsub("^[^\n]*\n", ""),
                 (in_dir {"sqlite3", "-separator", ",", "all.sqlite", sums}))
    assert.matches("ok", sqlite("all.sqlite", "pragma integrity_check"))
    assert.matches("USING COVERING INDEX objects_class", in_dir {"sqlite3", "all.sqlite",
      "explain query plan select class from objects where class = 'Listener'"})
  end)

  it("answers queries after it, and takes odd names", function()
    local out = in_dir {"heapsql", "--csv", "--save", "file:x?mode=ro", "c", "select 1"}
    assert.equal("1\n1\n", out)
    assert.is_truthy(lfs.attributes(dir .. "/file:x?mode=ro"))
    os.remove(dir .. "/file:x?mode=ro")
  end)

  local function refuses(file, message, options)
    local before = listing()
    local out, err, code = in_dir({"heapsql", "--save", file, "c"}, options)
    assert.equal(2, code)
    assert.equal("", out)
    assert.matches("^heapsql: cannot write '" .. file:gsub("%p", "%%%0") .. "': [^\n]+\n$", err)
    assert.matches(message, err)
    assert.equal(before, listing())
  end

  it("leaves alone what is no database, or cannot be written", function()
    refuses("c", "no database: it stays as it is")
    refuses("secret", "no database")
    refuses(".", "Is a directory")
    refuses("/dev/null", "no regular file")
    refuses("nowhere/x", "No such file")
    refuses("", "No such file")
  end)

  it("replaces a database only by a whole one", function()
    in_dir {"heapsql", "--save", "old.sqlite", "a"}
    refuses("old.sqlite", "disk I/O error", {before = "trap '' XFSZ; ulimit -f 20;"})
    assert.equal('[{"snapshot":"a"}]\n', sqlite("old.sqlite", "select snapshot from info"))
    in_dir {"heapsql", "--save", "old.sqlite", "c"}
    assert.equal('[{"snapshot":"c"}]\n', sqlite("old.sqlite", "select snapshot from info"))
    assert.equal("rw-------", lfs.attributes(dir .. "/old.sqlite", "permissions"))
    assert(lfs.link("old.sqlite", dir .. "/link.sqlite", true))
    refuses("link.sqlite", "it is a symbolic link, and these are not followed")
    refuses("/dev/stdout", "symbolic link")
    os.remove(dir .. "/link.sqlite")
    support.write_file(dir .. "/empty.sqlite", "")
    in_dir {"heapsql", "--save", "empty.sqlite", "c"}
    assert.equal('[{"snapshot":"c"}]\n', sqlite("empty.sqlite", "select snapshot from info"))
  end)

  it("leaves nothing behind when it is interrupted", function()
    local big = select(2, support.lua [[
      t = {}
      for i = 1, 200000 do t[i] = {i, {i}} end
      require "heap".snapshot "c"
    ]])
    for _, signal in ipairs {"TERM", "HUP", "KILL"} do
      local _, _, code = run("heapsql --save x c & " ..
        "for try in $(seq 3000); do " ..
        "ls -l /proc/$!/fd | grep -q '#.*deleted' && break; sleep 0.01; done; " ..
        "kill -" .. signal .. " $!; wait $!", {cwd = big})
      assert.is_true(code > 128, code)
      local names = {}
      for name in lfs.dir(big) do names[#names + 1] = name end
      table.sort(names)
      assert.equal(". .. c program.lua", table.concat(names, " "))
    end
  end)
end)

-- ==== The shell ======================================================================

describe("heapsql without a query", function()
  local has_script = select(3, run "script -qec true /dev/null") == 0

  it("is the sqlite3 shell with the snapshots loaded", function()
    local out, err, code = in_dir({"heapsql", "a", "c"}, of_shell {stdin = [[
      select count(*) from objects where class = 'Listener';
      select path_of(id) from c.objects where class = 'Listener' order by id limit 1;
      select hex(text) from c.strings where hex(text) like '%' || hex('[31mred') || '%';]]})
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("^200\n_G.listeners%[100%]\n1B5B33316D72656400\n$", out)
  end)

  it("answers the shell's own questions about the tables", function()
    local out, err = in_dir({"heapsql", "a", "c"}, of_shell {
      stdin = ".schema c.frames\n.schema\n.tables\n.databases\n"})
    assert.equal("", err)
    local frames = "CREATE VIRTUAL TABLE c.frames USING heapsnap\n/* c.frames(thread,frame,"
    assert.equal(frames, out:sub(1, #frames))
    assert.matches("\n/%* temp.objects%(snapshot,id,type,", out)
    assert.matches("\na.classes +a.sites ", out)
    assert.matches('\nc: "" r/w\n', out)
  end)

  it("says on a terminal what can be asked, and sends no control characters there", function()
    if not has_script then return pending "script(1) is not there" end
    local options = of_shell {env = {TERM = "dumb", HOME = dir, SHELL = "/bin/sh"},
                              stdin = "select name from info;\nattach 'x' as y;\n.quit\n"}
    local out = in_dir("script -qec 'stty cols 200; heapsql a c' /dev/null", options)
    assert.matches("Snapshots: a, c", out)
    local queries = 0
    for sql in out:gmatch "\n  (select [^\r\n]+;)" do
      queries = queries + 1
      assert.equal("", (select(2, in_dir {"heapsql", "a", "c", sql})), sql)
    end
    assert.equal(4, queries)
    assert.matches("not authorized", out)
    assert.is_nil(lfs.attributes(dir .. "/x"))
    local file = io.open(dir .. "/evil.sql", "w")
    file:write("select text from strings where text like '%red%';\n")
    file:close()
    out = in_dir("script -qec 'heapsql c < evil.sql' /dev/null", options)
    os.remove(dir .. "/evil.sql")
    assert.matches("\\x1B%[31mred\\x00", out)
    assert.not_matches("\27", out)
  end)

  it("says what is missing", function()
    local bin = support.tmpdir()
    run {"ln", "-s", support.build .. "/bin/heapsql", bin .. "/heapsql"}
    local _, err, code = in_dir({bin .. "/heapsql", "c"}, {env = {PATH = bin}})
    assert.equal(2, code)
    assert.equal("heapsql: sqlite3 is not installed: install it (Debian's package sqlite3), or " ..
                 "give a query here\n", err)
    run {"cp", "--remove-destination", support.build .. "/bin/heapsql", bin .. "/heapsql"}
    _, err, code = in_dir({bin .. "/heapsql", "c"})
    assert.equal(2, code)
    assert.matches("^heapsql: heapsnap.so is neither beside this command nor [^\n]+\n$", err)
    local _, bad = in_dir {"heapsql", "secret"}
    assert.matches("^heapsql: 'secret' is not a snapshot", bad)
  end)
end)

describe("the extension in a shell of one's own", function()
  local function shell(sql)
    return in_dir({"sqlite3", ":memory:"}, of_shell {
      stdin = ".load " .. support.build .. "/heapsnap\n" .. sql})
  end

  it("opens snapshots beside one's own tables", function()
    local out, err, code = shell [[
      create table objects(x); insert into objects values (7);
      select heap_open('a'), heap_open('c', 'after');
      select count(*) from after.objects where class = 'Listener';
      select x from main.objects;
      select count(*) from objects where class = 'Listener' and snapshot = 'a';
      attach ':memory:' as other; create table other.t as select * from after.objects;
      select count(*) from t where class = 'Listener';]]
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal("a|after\n100\n7\n100\n100\n", out)
  end)

  it("says what cannot be opened, and leaves nothing of it", function()
    for sql, message in pairs {
      ["select heap_open('nowhere')"] = "cannot open 'nowhere': No such file",
      ["select heap_open('secret')"] = "'secret' is not a snapshot",
      ["select heap_open('a', 'main')"] = "database main is already in use",
      ["select heap_open('a', 'x'), heap_open('c', 'x')"] = "a snapshot has that name already",
      ["select heap_open(null)"] = "which file",
      ["create virtual table t using heapsnap"] = "no table 't'",
      ["create virtual table objects using heapsnap"] = "no snapshot is open as 'main'",
      ["select heap_open('a'); create virtual table a.objects2 using heapsnap(1)"] = "no table",
    } do
      local left = "select count(*) from pragma_database_list where name like 'n%'"
      local out, err = shell(sql .. ";\n" .. left .. ";")
      assert.matches(message, err)
      assert.matches("0\n$", out)
    end
  end)

  it("keeps what is open until the end", function()
    local out, err = shell [[
      select heap_open('a'); detach a; select count(*) from objects where class = 'Listener';
      select heap_open('a'); select count(*) from a_2.objects where class = 'Listener';]]
    assert.equal("", err)
    assert.equal("a\n100\na_2\n100\n", out)
  end)
end)
