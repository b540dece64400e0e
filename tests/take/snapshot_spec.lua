-- snapshot_spec.lua - the module's functions: the file that is written, what happens when it cannot
-- be, arguments, marks, sizes, and the refusal of other Luas.

local lfs = require "lfs"
local support = require "tests.common.support"
local read = require "lua_heapread"

local quote = support.quote

local function names_in(dir)
  local names = {}
  for name in lfs.dir(dir) do
    if name ~= "." and name ~= ".." then names[#names + 1] = name end
  end
  table.sort(names)
  return table.concat(names, " ")
end

-- What heap.snapshot(path) returns in a program that runs in `dir`.
local function snapshot(dir, path)
  local program = 'io.write(table.concat({tostringall(require "heap".snapshot(arg[1]))}, "|"))'
  local all = "local function tostringall(...) local t = table.pack(...) for i = 1, t.n do " ..
              "t[i] = tostring(t[i]) end return table.unpack(t, 1, t.n) end "
  return (support.lua(all .. program, {cwd = dir, args = {path}, name = ".program"}))
end

-- The same for a failure; no temporary file may be left in `dir`, and nothing else may be new.
local function failure(dir, path)
  local before = names_in(dir)
  local result = snapshot(dir, path)
  local message, errno = result:match("^nil|(.*)|(%d+)$")
  assert(message, result)
  before = before:find(".program", 1, true) and before or (".program " .. before):gsub(" $", "")
  assert.are.equal(before, names_in(dir))
  return message, tonumber(errno)
end

describe("the file", function()
  it("has mode 0600 and what snapshot() says", function()
    local dir = support.tmpdir()
    local result = support.lua('print(require "heap".snapshot("s"))',
                               {cwd = dir, before = "umask 0;"})
    local objects, bytes = result:match("^(%d+)\t(%d+)\n$")
    assert.are.equal("rw-------", lfs.attributes(dir .. "/s", "permissions"))
    local info = read.info(dir .. "/s")
    assert.are.equal(tonumber(objects), info.objects)
    assert.are.equal(tonumber(bytes), info.object_bytes + info.string_table_bytes)
    assert.are.equal(tonumber(bytes), info.gc_bytes)
    assert.are.equal(0, info.unaccounted_bytes)
    assert.are.equal("s", info.name)
    assert.is_truthy(info.lua_release:find(_VERSION:match("5%.%d"), 1, true) == 1)
    assert.are.equal("program.lua s", names_in(dir))
  end)

  it("replaces an older one, whatever its mode was", function()
    local dir = support.tmpdir()
    support.write_file(dir .. "/s", "old")
    support.run {"chmod", "444", dir .. "/s"}
    assert.is_truthy(snapshot(dir, "s"):find("^%d+|%d+$"))
    assert.are.equal("rw-------", lfs.attributes(dir .. "/s", "permissions"))
    assert.are.equal("s", read.info(dir .. "/s").name)
    assert.are.equal(".program s", names_in(dir))
  end)

  it("lies where relative, absolute and odd paths say", function()
    local dir = support.tmpdir()
    assert(lfs.mkdir(dir .. "/sub"))
    for _, path in ipairs {"a", "./b", "sub/c", "sub/../d", dir .. "/e", "f\n\27 \xff", "-g"} do
      assert.is_truthy(snapshot(dir, path):find("^%d+|%d+$"), path)
      local whole = path:sub(1, 1) == "/" and path or dir .. "/" .. path
      assert.are.equal(path, read.info(whole).name)
    end
    assert.are.equal("c", names_in(dir .. "/sub"))
    assert.are.equal("-g .program a b d e f\n\27 \xff sub", names_in(dir))
  end)

  it("lies behind links to directories, and replaces a name, not what else has it", function()
    local dir = support.tmpdir()
    assert(lfs.mkdir(dir .. "/sub"))
    assert(lfs.link("sub", dir .. "/to-sub", true))
    support.write_file(dir .. "/other", "kept")
    assert(lfs.link(dir .. "/other", dir .. "/sub/s"))
    assert.is_truthy(snapshot(dir, "to-sub/s"):find("^%d+|%d+$"))
    assert.are.equal("to-sub/s", read.info(dir .. "/sub/s").name)
    assert.are.equal("kept", support.read_file(dir .. "/other"))
    assert.are.equal("s", names_in(dir .. "/sub"))
    assert.are.equal(".program other sub to-sub", names_in(dir))
  end)

  it("keeps of each string what was asked for", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      secret = ("s3cret"):rep(100)
      tiny = "tiny" .. "word"
      heap.snapshot("default")
      heap.snapshot("none", {strings = 0})
      heap.snapshot("all", {strings = math.maxinteger})
      heap.snapshot("five", {strings = 5})
    ]]
    local function has(name, text)
      return support.read_file(dir .. "/" .. name):find(text, 1, true) ~= nil
    end
    local long = ("s3cret"):rep(100)
    assert.is_true(has("all", long) and has("all", "tinyword"))
    assert.is_true(has("default", long:sub(1, 256)) and not has("default", long:sub(1, 257)))
    assert.is_true(has("default", "tinyword"))
    assert.is_true(has("five", "s3cre") and has("five", "tinyw"))
    assert.is_false(has("five", "s3cret") or has("five", "tinywo"))
    -- the program's own text is in /proc/self/cmdline of no snapshot
    assert.is_false(has("none", "s3c") or has("none", "tin") or has("none", "collectgarbage"))
    assert.are.equal(0, read.info(dir .. "/none").string_limit)
    assert.are.equal(256, read.info(dir .. "/default").string_limit)
  end)
end)

describe("a snapshot that cannot be written", function()
  it("names the path and the system's reason", function()
    local dir = support.tmpdir()
    support.write_file(dir .. "/file", "kept")
    assert(lfs.mkdir(dir .. "/sub"))
    assert(lfs.link("nowhere/x", dir .. "/dangling", true))
    assert(lfs.link("loop", dir .. "/loop", true))
    assert(lfs.link("file", dir .. "/link", true))
    assert(os.execute("mkfifo " .. support.quote(dir .. "/fifo")))
    local cases = {
      {"missing/s", 2}, {"file/s", 20}, {"sub", 21}, {"sub/", 21}, {"missing/", 21},
      {".", 21}, {"/", 21}, {"dangling", 40}, {"loop", 40}, {"link", 40}, {"fifo", 22},
      {"/dev/null", 22}, {"/dev/full", 22}, {"/dev/stdout", 40}, {"/proc/self/fd/1", 40},
      {("x"):rep(256), 36}, {("x/"):rep(2100) .. "s", 36}
    }
    for _, case in ipairs(cases) do
      local message, errno = failure(dir, case[1])
      assert.are.equal(case[2], errno, case[1] .. ": " .. message)
      assert.is_truthy(message:find(case[1]:sub(1, 200), 1, true), message)
    end
    assert.are.equal("kept", support.read_file(dir .. "/file"))
    assert.are.equal("link", lfs.symlinkattributes(dir .. "/link", "mode"))
    assert.are.equal("named pipe", lfs.attributes(dir .. "/fifo", "mode"))
    assert.are.equal("", names_in(dir .. "/sub"))
    assert.are.equal("char device", lfs.attributes("/dev/null", "mode"))
  end)

  local limited = [[
    local heap = require "heap"
    local big = {}
    for i = 1, 3000 do big[i] = {"string " .. i} end
    print(heap.snapshot("old"))
    big = ("x"):rep(3000000)
    local result, message, errno = heap.snapshot("s", {strings = math.maxinteger})
    print(result, message, errno)
    result, message, errno = heap.snapshot("old", {strings = math.maxinteger})
    print(result, message, errno)
    heap.mark("still works")
    big = nil
    collectgarbage()
    print(heap.snapshot("last"))
  ]]

  it("because a file may not be so big leaves the old one and no other", function()
    local dir = support.tmpdir()
    local out = support.lua(limited, {cwd = dir, name = ".program",
                                      before = "trap '' XFSZ; ulimit -f 2000;"})
    local _, line, again = out:match("^(%d+\t%d+)\n(nil[^\n]*)\n(nil[^\n]*)\n%d+\t%d+\n$")
    assert(line, out)
    assert.is_truthy(line:find("'s'", 1, true) and line:find("\t27$"), line)
    assert.is_truthy(again:find("'old'", 1, true) and again:find("\t27$"), again)
    assert.are.equal(".program last old", names_in(dir))
    assert.are.equal("old", read.info(dir .. "/old").name)
    -- marks of snapshots that were not written count for nothing
    assert.are.same({"snapshot old", "mark still works", "snapshot last"},
                    read.info(dir .. "/last").marks)
  end)

  it("because the disk is full", function()
    local dir = support.tmpdir()
    local mount = "mount -t tmpfs -o size=1m none " .. quote(dir)
    local _, _, code = support.run(mount, {before = "unshare -rm"})
    if code ~= 0 then return pending("no small file system can be mounted here") end
    local here = limited:gsub('snapshot%("', "%0" .. dir .. "/")
    local program = "assert(os.execute(arg[1]))\n" .. here
    local out = support.lua(program .. "os.execute('ls -A ' .. arg[2])",
                            {before = "unshare -rm", args = {mount, dir}})
    assert.is_truthy(out:find("nil\t[^\n]*/s'[^\n]*\t28\n"), out)
    assert.is_truthy(out:find("nil\t[^\n]*/old'[^\n]*\t28\n"), out)
    assert.is_truthy(out:find("\nlast\nold\n$"), out)
  end)

  it("because the folder is read-only", function()
    local dir = support.tmpdir()
    local mount = "mount -t tmpfs -o ro none " .. quote(dir)
    local _, _, code = support.run(mount, {before = "unshare -rm"})
    if code ~= 0 then return pending("nothing can be mounted here") end
    local out = support.lua([[
      assert(os.execute(arg[1]))
      print(require "heap".snapshot(arg[2] .. "/s"))
    ]], {before = "unshare -rm", args = {mount, dir}})
    assert.are.equal(("nil\tcannot write '%s/s': Read-only file system\t30\n"):format(dir), out)
  end)
end)

describe("arguments", function()
  it("that are wrong raise ordinary errors, and leave no file and no mark", function()
    local out, dir = support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      local function try(f, ...)
        local changed = {check.silent(pcall, f, ...)}
        local ok, message = changed[4], changed[5]
        assert(not ok, "no error")
        print(message)
      end
      try(heap.snapshot)
      try(heap.snapshot, nil)
      try(heap.snapshot, 12)
      try(heap.snapshot, {})
      try(heap.snapshot, "")
      try(heap.snapshot, "a\0b")
      try(heap.snapshot, "a", 1)
      try(heap.snapshot, "a", {strings = -1})
      try(heap.snapshot, "a", {strings = "1"})
      try(heap.snapshot, "a", {strings = 1.5})
      try(heap.snapshot, "a", {strings = 0/0})
      try(heap.snapshot, "a", {string = 1})
      try(heap.snapshot, "a", {1})
      try(heap.mark, nil)
      try(heap.mark, 1)
      try(heap.sizeof)
      assert(heap.snapshot("good", nil))
      assert(heap.snapshot("float", {strings = 2.0}))
      assert(heap.snapshot("surplus", {}, 1, 2, 3))
      -- options are read raw
      local angry = {__index = error, __pairs = error, __len = error}
      assert(heap.snapshot("raw", setmetatable({}, angry)))
      assert(heap.mark("a\0b") == true and heap.mark("") == true and heap.mark("x", 1) == true)
      print(heap.mark(("x"):rep(5000)))
      print(heap._VERSION)
    ]]
    assert.are.equal([[
bad argument #1 to 'heap.snapshot' (string expected, got no value)
bad argument #1 to 'heap.snapshot' (string expected, got nil)
bad argument #1 to 'heap.snapshot' (string expected, got number)
bad argument #1 to 'heap.snapshot' (string expected, got table)
bad argument #1 to 'heap.snapshot' (the path is empty)
bad argument #1 to 'heap.snapshot' (the path contains a zero byte)
bad argument #2 to 'heap.snapshot' (table expected, got number)
bad argument #2 to 'heap.snapshot' ('strings' must be a number of bytes, 0 or more)
bad argument #2 to 'heap.snapshot' ('strings' must be a number of bytes, 0 or more)
bad argument #2 to 'heap.snapshot' ('strings' must be a number of bytes, 0 or more)
bad argument #2 to 'heap.snapshot' ('strings' must be a number of bytes, 0 or more)
bad argument #2 to 'heap.snapshot' (the options are 'strings' and 'background')
bad argument #2 to 'heap.snapshot' (the options are 'strings' and 'background')
bad argument #1 to 'heap.mark' (string expected, got nil)
bad argument #1 to 'heap.mark' (string expected, got number)
bad argument #1 to 'heap.sizeof' (value expected)
nil	the name of a mark is longer than 4096 bytes	0
0.1.0
]], out)
    assert.are.equal("float good program.lua raw surplus", names_in(dir))
    assert.are.same({"snapshot good", "snapshot float", "snapshot surplus", "snapshot raw"},
                    read.info(dir .. "/raw").marks)
  end)
end)

describe("marks", function()
  it("stay in the order of time, through collections and both collector modes", function()
    local _, dir = support.lua [[
      local heap = require "heap"
      local keep = {}
      for i = 1, 200 do
        heap.mark("m" .. i)
        for j = 1, 20 do keep[j] = {setmetatable({}, {__gc = function() end})} end
        if i % 50 == 0 then collectgarbage(i % 100 == 0 and "generational" or "incremental") end
        collectgarbage("step", 1)
      end
      collectgarbage()
      heap.snapshot("s")
    ]]
    local marks = read.info(dir .. "/s").marks
    assert.are.equal(201, #marks)
    for i = 1, 200 do assert.are.equal("mark m" .. i, marks[i]) end
    assert.are.equal("snapshot s", marks[201])
  end)

  it("outlive the unloading and reloading of the module", function()
    local _, dir = support.lua [[
      require "heap".mark("first")
      package.loaded.heap = nil
      collectgarbage() collectgarbage()
      require "heap".mark("second")
      require "heap".snapshot("s")
    ]]
    assert.are.same({"mark first", "mark second", "snapshot s"}, read.info(dir .. "/s").marks)
  end)
end)

describe("sizeof", function()
  it("knows every type", function()
    support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      local sizeof = heap.sizeof
      local function is(bytes, v) assert(sizeof(v) == bytes, tostring(v) .. ": " .. sizeof(v)) end
      is(0, nil) is(0, true) is(0, false) is(0, 1) is(0, 1.5) is(0, print)
      local old = _VERSION == "Lua 5.4"
      local long, table, two = old and 25 or 33, old and 56 or 48, old and 32 or 22
      is(25, "") is(28, "abc") is(long + 1000, ("x"):rep(1000)) is(65, ("x"):rep(40))
      is(long + 41, ("x"):rep(41))
      is(table, {}) is(table + two, {1, 2}) is(table + 24, {x = 1})
      is(table + 48, {x = 1, y = 2})
      is(table + 4 * 24, {x = 1, y = 2, z = 3}) is(table + two + 24, {1, 2, x = 1})
      is(table + 8 * 24 + (old and 0 or 8), {a = 1, b = 1, c = 1, d = 1, e = 1})
      is(32, function() end)
      local a, b = 1, 2
      is(40, function() return a end) is(48, function() return a, b end)
      is(32 + 3 * 16, check.closure(1, 2, 3))
      is(32 + 10, check.userdata(10, 0)) is(check.user_values + 16 + 10, check.userdata(10, 1))
      is(32 + 16, io.stdout)
      local co = coroutine.create(function() end)
      assert(sizeof(co) >= 200 + 40 * 16)
      local main = debug.getregistry()[old and 1 or 3]
      assert(sizeof(main) > 1616)
      local before = check.bytes(type, 1)
      local other = coroutine.create(print)
      assert(check.bytes(type, 1) - before == sizeof(other))
    ]]
  end)

  it("is what the collector counts", function()
    support.lua [[
      local heap, check = require "heap", require "lua_heapcheck"
      collectgarbage("stop")
      local made
      local function cost(f, ...)
        local before = check.bytes(type, 1)
        made = f(...)
        return check.bytes(type, 1) - before
      end
      cost(table.pack, table.unpack({}, 1, 200)) -- the stack grows once
      cost(string.rep, "warm", 100)
      for n = 41, 200 do assert(cost(string.rep, "x", n) == heap.sizeof(made)) end
      for n = 0, 50 do assert(cost(table.pack, table.unpack({}, 1, n)) == heap.sizeof(made)) end
      for n = 1, 100 do assert(cost(check.userdata, n, n) == heap.sizeof(made)) end
      for n = 1, 20 do assert(cost(check.closure, table.unpack({}, 1, n)) == heap.sizeof(made)) end
    ]]
  end)
end)

describe("another Lua", function()
  local function refusal(name)
    local found = os.execute("command -v " .. name .. " >/dev/null 2>&1")
    if not found then return end
    local out = support.run {"env", "LUA_CPATH=" .. support.build .. "/?.so", "LUA_CPATH_5_3=;;" ..
      support.build .. "/?.so", "LD_PRELOAD=" .. (os.getenv("LUAHEAP_PRELOAD") or ""),
      "ASAN_OPTIONS=detect_leaks=0", name, "-e", [[
        local ok, message = pcall(require, "heap")
        print(ok, (tostring(message):gsub("\n.*", ""):gsub("^error loading.*", "unloadable")))]]}
    return out
  end

  local needed = _VERSION == "Lua 5.4" and "5.4.0 to 5.4.8" or "5.5.0 or 5.5.1"
  for name, release in pairs {["lua5.1"] = "5.1", ["lua5.2"] = "5.2", ["lua5.3"] = "5.3",
                              luajit = "not PUC"} do
    it("is refused: " .. name, function()
      local out = refusal(name)
      if not out then return pending(name .. " is not installed") end
      local wanted = "false\tluaheap needs PUC Lua " .. needed .. "; this Lua is " .. release
      assert.are.equal(wanted, out:sub(1, #wanted))
      assert.is_truthy(out:find("lacks the functions of " .. _VERSION:sub(5) .. "\n", 1, true), out)
    end)
  end
end)
