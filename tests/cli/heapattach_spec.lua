-- heapattach_spec.lua - what heapattach says and asks, with a stand-in for processes (stand_in.c):
-- which file, which state, which age, and what is told of it. That snapshots from outside are right
-- is tested in tests/outside/.

local cjson = require "cjson"
local lfs = require "lfs"
local stand_in = require "tests.common.stand_in"
local support = require "tests.common.support"

local attach, one, two = stand_in.attach, stand_in.one, stand_in.two
local lines, tool = support.lines, stand_in.tool

local dir
setup(function() dir = stand_in.prepare() end)

-- What it prints where all is well.
local function answer(there, words, more)
  local out, err, code = attach(there, words, more)
  assert.same({"", 0}, {err, code}, out)
  return out
end

local function refuses(message, there, words, more)
  local out, err, code = attach(there, words, more)
  assert.equal("", out)
  assert.equal(message, err)
  assert.equal(2, code)
end

-- The calls that touched the process since the last question.
local function calls()
  local file = io.open(dir .. "/log")
  if not file then return {} end
  local text = file:read("a")
  file:close()
  os.remove(dir .. "/log")
  return lines(text)
end

-- Sizes of Lua's own libraries differ from release to release.
local function masked(text)
  return (text:gsub("[%d,]+ objects, [%d.]+ KB", "N objects, N KB"))
end

-- A file that it proposes is one that nobody has.
local function with_new_name(text)
  local name = text:match("%-o (%l) ")
  assert.is_nil(lfs.attributes(dir .. "/" .. name))
  return (text:gsub("%-o %l ", "-o NEW "))
end

-- ==== One snapshot ===================================================================

describe("heapattach", function()
  it("says what is in the file, how long the process stood, and what to type next", function()
    lfs.mkdir(dir .. "/new")
    local out = answer(one, {"-o", "new/x", "4711"})
    assert.equal([[
new/x: N objects, N KB of 4711 (lua5.4 server.lua, Lua 5.4.4); stopped for 0.7 ms
What leaks or is big: heaptop new/x
Another one, to compare with it: heapattach --after new/x -o new/y 4711
]], masked(out))
    assert.equal("", (select(2, support.run({"heapcheck", "new/x"}, {cwd = dir}))))
  end)

  it("tells with exact numbers", function()
    local out = answer(one, {"--bytes", "-o", "x", "4711"})
    local taken = cjson.decode(answer(one, {"--json", "-o", "x", "4711"})).snapshots[1]
    local bytes = tonumber((out:match(", ([%d,]+) B of 4711"):gsub(",", "")))
    assert.equal(taken.bytes, bytes)
  end)

  it("takes the next one behind it", function()
    local out = answer(one, {"--after", "a", "-o", "b2", "4711"}, {"passed 8"})
    assert.matches(", %+%d+ objects and %+[%d.]+ KB since a, garbage included; " ..
                   "stopped for 0%.7 ms\n", out)
    assert.equal([[
What appeared and what went: heapdiff a b2
Another one, to compare with it: heapattach --after b2 -o b3 4711
]], out:match("\n(.*)"))
  end)

  it("names three that belong together", function()
    local out = answer(one, {"--after", "b", "-o", "c", "4711"})
    assert.equal("What was made between the first two and stays: heapdiff a b c", lines(out)[2])
  end)

  it("tells what the process saw of it, and what is not as always", function()
    local function tells(line, more)
      assert.matches("\n" .. line .. "\n", answer(one, {"-o", "x", "4711"}, more), 1, true)
    end
    assert.matches("; not stopped: it was waiting in a system call\n",
                   answer(one, {"-o", "x", "4711"}, {"still idle 0"}))
    assert.matches("; stopped for less than 0.1 ms\n",
                   answer(one, {"-o", "x", "4711"}, {"still fork 40000"}))
    assert.matches("; stopped for 10 ms\n",
                   answer(one, {"-o", "x", "4711"}, {"still stopped 10400000"}))
    tells("It was stopped for the time of a copy, since it could not be forked: a seccomp filter",
          {"still stopped 10000000", "no_fork a seccomp filter"})
    tells("It was computing at each stop: no fault is seen in its heap, but a table that was " ..
          "just growing may show values of another one", {"still stopped 10000000", "computes 1"})
    tells("It took 4 attempts to find it between two changes of its heap", {"attempts 4"})
    local doubted = answer(one, {"-o", "x", "4711"}, {"attempts 9", "computes 1"})
    assert.matches("\nIt was computing at each stop: ", doubted)
    assert.not_matches("It took", doubted)
    tells("1.2 KB in it belong to no object: a parser or other C code was at work",
          {"unaccounted 1229"})
    assert.not_matches("attempts", answer(one, {"-o", "x", "4711"}, {"attempts 3"}))
  end)

  it("says which older one there is beside it", function()
    local folder = support.tmpdir()
    support.run({"cp", "a", "b", "p2", folder}, {cwd = dir})
    local out = answer(one, {"-o", folder .. "/x", "4711"}):gsub(folder:gsub("%p", "%%%0"), "DIR")
    assert.matches("\nAn older one of the same state is beside it: heapdiff DIR/b DIR/x\n", out, 1,
                   true)
    os.remove(folder .. "/a")
    os.remove(folder .. "/b")
    os.remove(folder .. "/x")
    assert.not_matches("older", answer(one, {"-o", folder .. "/x", "4711"}))
  end)

  it("hands its options on", function()
    os.remove(dir .. "/log")
    local out = answer(one, {"--stop", "--strings", "0", "-o", "x", "4711"}, {"log log"})
    assert.same({"open", "find", "take 1 0 stop"}, calls())
    assert.matches("heapattach --strings 0 --stop --after x -o y 4711\n", out, 1, true)
    answer(one, {"--strings", "4K", "-o", "x", "4711"}, {"log log"})
    assert.equal("take 1 4096", calls()[3])
    answer(one, {"-o", "x", "4711"}, {"log log"})
    assert.equal("take 1 256", calls()[3])
  end)

  it("reads a core", function()
    support.write_file(dir .. "/core.4711", "")
    support.run {"chmod", "600", dir .. "/core.4711"}
    local more = {"still core 0", "signal 6"}
    local out = answer(one, {"-o", "x", "core.4711"}, more)
    assert.equal("x: N objects, N KB of core.4711 (lua5.4 server.lua, Lua 5.4.4); " ..
                 "ended by SIGABRT", lines(masked(out))[1])
    local told = "A core has the program's secrets, and so has its snapshot: " ..
                 "--strings 0 leaves texts out of it"
    assert.equal(told, lines(out)[2])
    assert.not_matches("Another", out)
    assert.not_matches("Others", out)
    support.run {"chmod", "644", dir .. "/core.4711"}
    out = answer(one, {"-o", "x", "--strings", "0", "core.4711"}, more)
    assert.equal("Others can read this core: chmod 600 core.4711", lines(out)[2])
    local err = select(2, attach(one, {"-o", "x", "core.4711"}, {"doubt its program is gone"}))
    assert.equal("heapattach: core.4711: its program is gone\n", err)
  end)

  it("takes of a core each state that is sound", function()
    support.write_file(dir .. "/core.4711", "")
    support.run {"chmod", "600", dir .. "/core.4711"}
    local words = {"--state", "all", "-o", "x", "core.4711"}
    local more = {"still core 0", "signal 6", "fail 1 -6 0 the heap is not sound"}
    local out, err, code = attach(two, words, more)
    assert.same({"heapattach: state 1: the heap is not sound\n", 0}, {err, code})
    assert.equal("1 Lua state of core.4711 (haproxy -f haproxy.cfg); ended by SIGABRT",
                 lines(out)[1])
    assert.matches("^x%-2: ", lines(out)[2])
    local none = {"program a", one[2], "still core 0", "fail 1 -6 0 the heap is not sound"}
    out, err, code = attach(none, words)
    assert.same({"", "heapattach: the heap is not sound\n", 2}, {out, err, code})
  end)

  it("keeps those that are sound where others of a process are not", function()
    local more = {"fail 1 -10 0 it changes its heap"}
    local out, err, code = attach(two, {"--state", "all", "-o", "sound", "4711"}, more)
    assert.same({"heapattach: state 1: it changes its heap\n", 0}, {err, code})
    assert.matches("^1 Lua state of 4711 .-\nsound%-2: ", out)
    local words = {"--state", "all", "--every", "0.1", "--max", "2", "4711"}
    out, err, code = attach(two, words, more)
    assert.same({"heapattach: state 1: it changes its heap\n", 0}, {err, code})
    assert.matches("^1 Lua state of 4711 .-\n2 Lua states of 4711 .* since ", out)
  end)

  it("reads the others where a state cannot be read, which its own line tells", function()
    local words = {"--state", "all", "-o", "readable", "4711"}
    for lacking = 1, 2 do
      local more = {("lacks %d its sum is another"):format(lacking), "log log"}
      local out, err, code = attach(two, words, more)
      assert.same({("heapattach: state %d: its sum is another\n"):format(lacking), 0}, {err, code})
      assert.matches("^1 Lua state of 4711 .-\nreadable%-" .. 3 - lacking .. ": ", out)
      local called = calls()
      assert.equal("take 2 256", called[3])
      assert.is_nil(table.concat(called, "\n", 4):match "take")
    end
    local none = {"program a", one[2], "still fork 1", "lacks 1 its sum is another"}
    local out, err, code = attach(none, words)
    assert.same({"", "heapattach: its sum is another\n", 2}, {out, err, code})
  end)

  it("goes on with a series of all states where one cannot be read", function()
    local words = {"--state", "all", "--every", "0.1", "--max", "2", "4711"}
    local out, err, code = attach(two, words, {"lacks 1 its sum is another"})
    local told = "heapattach: state 1: its sum is another\n"
    assert.same({told .. told, 0}, {err, code})
    assert.matches("^1 Lua state of 4711 .-\n1 Lua state of 4711 .* since ", out)
  end)

  it("begins again with other addresses where its own memory is in the way", function()
    local more = {"fail 1 -10 17 memory is in the way"}
    for _, words in ipairs {{"-o", "x", "4711"}, {"--every", "1", "--max", "1", "4711"}} do
      local _, err = attach(one, words, more)
      assert.equal(words[1] .. " again\nheapattach: memory is in the way\n", err)
    end
    local watched = select(2, attach(one, {"--watch", "--max", "1", "4711"}, more))
    assert.equal("--watch again\n", watched)
    local other = select(2, attach(one, {"-o", "x", "4711"}, {"fail 1 -10 0 the program changes"}))
    assert.equal("heapattach: the program changes\n", other)
  end)

  it("answers in JSON", function()
    local out = answer(one, {"--json", "--after", "a", "-o", "x", "4711"},
                       {"passed 8", "unaccounted 12", "attempts 2"})
    local taken = cjson.decode(out)
    local snapshot = taken.snapshots[1]
    assert.matches("^" .. ("%x"):rep(16) .. "$", snapshot.state_id)
    snapshot.objects, snapshot.bytes, snapshot.state_id = nil, nil, nil
    assert.same({process = 4711, program = "lua5.4 server.lua", stillness = "fork",
                 stopped_ns = 700000, copied_bytes = 4096, in_system_call = true, attempts = 2,
                 no_fork = cjson.null, workers = {}, snapshots = {{
                   file = "x", state = 1, script = "server.lua", lua = "5.4.4", address = "0x1000",
                   external_bytes = 0, unaccounted_bytes = 12, in_doubt = false, after = "a",
                   passed_as_old = 8,
                 }}}, taken)
  end)

  it("lets no name reach the terminal", function()
    local hostile = {"program lua \27[31m", "state b 1 no \27]0;x\7", "still fork 1"}
    support.write_file(dir .. "/core\27[1m", "")
    for _, words in ipairs {{"-o", "x\27[1m", "4711"}, {"--list", "4711"},
                            {"-o", "x", "core\27[1m"}, {"--list", "core\27[1m"},
                            {"--state", "all", "-o", "x\27[1m", "4711"}} do
      local out = answer(hostile, words)
      assert.not_matches("%c", (out:gsub("\n", "")))
    end
  end)
end)

-- ==== States =========================================================================

describe("of several states heapattach", function()
  it("asks which one, with the commands to type", function()
    refuses([[
heapattach: 4711 has 2 Lua states: which one?
    heapattach --state 1 --strings 0 -o x 4711    /etc/haproxy/a.lua, Lua 5.4.4, 1.3 MB
    heapattach --state 2 --strings 0 -o x 4711    b.lua, Lua 5.4.4, 2.0 KB
    heapattach --state all --strings 0 -o x 4711    a file for each, with its number
]], two, {"--strings", "0", "-o", "x", "4711"})
    refuses([[
heapattach: 4711 has 2 Lua states: which one?
    heapattach --watch --state 1 4711    /etc/haproxy/a.lua, Lua 5.4.4, 1.3 MB
    heapattach --watch --state 2 4711    b.lua, Lua 5.4.4, 2.0 KB
    heapattach --watch --state all 4711    those that grow
]], two, {"--watch", "4711"})
    local many = {"program x", "still fork 1"}
    for i = 3, 14 do many[i] = "state b 1 no " .. i .. ".lua" end
    local err = lines((select(2, attach(many, {"-o", "x", "4711"}))))
    assert.equal(13, #err)
    assert.equal("and 2 more: --list shows all", err[12])
  end)

  it("takes the one that is named, by number, script or age", function()
    local function taken(...)
      return cjson.decode(answer(two, {"--json", "-o", "x", "4711", ...})).snapshots[1].state
    end
    assert.equal(2, taken("--state", "2"))
    assert.equal(1, taken("--state", "a.lua"))
    assert.equal(1, taken("--state", "/etc/haproxy/a.lua"))
    assert.equal(2, taken("--state", "b.lua"))
    assert.equal(2, taken("--after", "p2"))
    assert.equal(1, taken("--after", "a"))
  end)

  it("refuses what is none, or not that", function()
    local function cannot(pattern, ...)
      local out, err, code = attach(two, {"-o", "x", "4711", ...}, {"log log"})
      assert.same({"", 2}, {out, code})
      assert.matches(pattern, err)
      assert.not_equal("take", (calls()[3] or ""):sub(1, 4))
    end
    cannot("^heapattach: 4711 has 2 Lua states, and no state 3: ", "--state", "3")
    cannot("^heapattach: 4711 has 2 Lua states, and no state 0: ", "--state", "0")
    cannot("^heapattach: 4711 has no Lua state that runs 'c.lua': " ..
           "heapattach %-%-list 4711 shows them\n", "--state", "c.lua")
    cannot("^heapattach: 'a' is of state 1, not of '2'\n$", "--state", "2", "--after", "a")
    local twice = {"program x", "state b 1 no x.lua", "state p2 1 no y/x.lua", "still fork 1"}
    refuses([[
heapattach: 4711 has 2 Lua states that run 'x.lua': see heapattach --list --state x.lua 4711
Try 'heapattach --help'.
]], twice, {"-o", "x", "--state", "x.lua", "4711"})
    local err = select(2, attach(one, {"-o", "x", "--after", "p2", "4711"}))
    assert.matches("^heapattach: 'p2' is of another Lua state: it was taken of process %d+ %(" ..
                   ".*\nFor a first snapshot of this one leave %-%-after out.\n$", err)
  end)

  it("takes all of one instant, each with its number, and behind its own", function()
    local out = answer(two, {"--state", "all", "-o", "x", "4711"}, {"log log"})
    assert.equal([[
2 Lua states of 4711 (haproxy -f haproxy.cfg); stopped for 120 ms
x-1: N objects, N KB (/etc/haproxy/a.lua, Lua 5.4.4)
x-2: N objects, N KB (b.lua, Lua 5.4.4)
It was stopped for the time of a copy, since it could not be forked: a seccomp filter
What leaks or is big: heaptop x-1
Another one, to compare with it: heapattach --state all --after x -o y 4711
]], masked(out))
    assert.equal("take 2 256", calls()[3])
    local changed = {two[1], two[3], two[2], two[4]}
    local taken = cjson.decode(answer(changed, {"--json", "--state", "all", "--after", "x", "-o",
                                                "y", "4711"})).snapshots
    assert.same({"y-1", "x-2"}, {taken[1].file, taken[1].after})
    assert.same({"y-2", "x-1"}, {taken[2].file, taken[2].after})
  end)

  it("lists them", function()
    assert.equal([[
2 Lua states in 4711, 1.3 MB together: haproxy -f haproxy.cfg

state    heap  Lua    luaheap  script
    1  1.3 MB  5.4.4  no       /etc/haproxy/a.lua
    2  2.0 KB  5.4.4  loaded   b.lua

A snapshot: heapattach --state 1 -o NEW 4711
]], with_new_name(answer(two, {"--list", "4711"})))
    local list = cjson.decode(answer(two, {"--list", "--json", "4711"}))
    assert.same({4711, false, 12345}, {list.process, list.core, list.private_bytes})
    local state = list.states[2]
    state.state_id = nil
    assert.same({state = 2, script = "b.lua", lua = "5.4.4", address = "0x2000", gc_bytes = 2048,
                 luaheap = true}, state)
  end)
end)

-- ==== Refusals =======================================================================

describe("before it touches the process heapattach", function()
  local function refuses_untouched(pattern, words, there)
    os.remove(dir .. "/log")
    local out, err, code = attach(there or one, words, {"log log"})
    assert.same({"", 2}, {out, code})
    assert.matches(pattern, err)
    assert.same({}, calls())
  end

  it("refuses a file that cannot be written", function()
    refuses_untouched("^heapattach: cannot write 'none/x': No such file or directory\n$",
                      {"-o", "none/x", "4711"})
    lfs.mkdir(dir .. "/folder")
    refuses_untouched("^heapattach: cannot write 'folder': Is a directory\n$",
                      {"-o", "folder", "4711"})
    refuses_untouched("^heapattach: cannot write into 'none': No such file or directory\n$",
                      {"--every", "1", "-d", "none", "4711"})
    refuses_untouched("^heapattach: ", {"-o", "/dev/full", "4711"})
  end)

  it("refuses to replace what the file is made of", function()
    support.write_file(dir .. "/core", "")
    refuses_untouched("^heapattach: %-o would replace the core file", {"-o", "core", "core"})
    refuses_untouched("^heapattach: %-o would replace 'a', ", {"-o", "./a", "--after", "a", "4711"})
  end)

  it("refuses an older one that is none", function()
    refuses_untouched("^heapattach: 'there' is not a snapshot",
                      {"-o", "x", "--after", "there", "4711"})
    refuses_untouched("^heapattach: cannot open 'none': ", {"-o", "x", "--after", "none", "4711"})
  end)

  it("tells what can be had where nothing is asked for", function()
    assert.equal([[
heapattach: what of 1?
    heapattach --strings 0 -o NEW 1    a snapshot, into this file
    heapattach --list 1    the Lua states that there are
    heapattach --watch 1    how its heap grows, a line each second
Try 'heapattach --help'.
]], with_new_name((select(2, attach(one, {"--strings", "0", "1"})))))
    support.write_file(dir .. "/core", "")
    refuses_untouched("^heapattach: %-%-every needs the number of a process: the file 'core' " ..
                      "stays as it is\n", {"--every", "1", "core"})
    refuses_untouched("^heapattach: what of core%?\n    heapattach %-o %l core    [^\n]+\n" ..
                      "    heapattach %-%-list core    [^\n]+\nTry ", {"core"})
  end)

  it("refuses what is no process, or nothing to do", function()
    refuses_untouched("^heapattach: of what%? ", {})
    refuses_untouched("^heapattach: there is no file 'server.lua'; pgrep %-af server.lua " ..
                      "tells the number of a process\n", {"server.lua"})
    refuses_untouched("^heapattach: %-%-watch needs the number of a process, not 'a b'; " ..
                      "pgrep %-af 'a b' tells it\n", {"--watch", "a b"})
    refuses_untouched("^heapattach: no process has the number 0\n", {"-o", "x", "0"})
    refuses_untouched("^heapattach: no process has the number 99999999999\n",
                      {"-o", "x", "99999999999"})
    refuses_untouched("^heapattach: there is no such file\nGive it a core file, or the number " ..
                      "of a process, which pgrep %-af server tells.\n$", {"-o", "x", "server"})
    refuses_untouched("^heapattach: there is no such file\n.* which pgrep %-af NAME tells.\n$",
                      {"-o", "x", "./server"})
  end)
end)

describe("heapattach", function()
  it("takes digits for a process, and says where a file is called so", function()
    support.write_file(dir .. "/4711", "")
    local out, err, code = attach(one, {"-o", "x", "4711"})
    assert.same({"heapattach: 4711 is the process; the file is ./4711\n", 0}, {err, code})
    assert.matches("^x: ", out)
    refuses("heapattach: there is no process 4711\nFor the file of this name type ./4711.\n", one,
            {"-o", "x", "4711"}, {"fail 0 -3 3 there is no process 4711"})
    os.remove(dir .. "/4711")
  end)

  it("says what else runs there, as an honest no", function()
    local out, err, code = attach({"program lua5.1"}, {"--list", "4711"})
    assert.same({"", 1}, {out, code})
    assert.equal("heapattach: process 4711 runs Lua 5.1, and no Lua 5.4\n", err)
  end)

  it("passes on why a snapshot cannot be taken, and leaves an older file as it was", function()
    support.write_file(dir .. "/old", "old")
    refuses("heapattach: its heap never stood still\n", one, {"-o", "old", "4711"},
            {"fail 1 -10 0 its heap never stood still"})
    assert.equal("old", support.read_file(dir .. "/old"))
  end)

  it("fails where what it says cannot be written", function()
    support.write_file(dir .. "/there", table.concat(one, "\n") .. "\n")
    for _, words in ipairs {"-o x", "--list", "--watch --max 1", "--every 1 --max 1"} do
      local line = ("STAND_IN=there %s %s 4711 >/dev/full"):format(support.quote(tool), words)
      local _, err, code = support.run(line, {cwd = dir})
      assert.equal(2, code)
      assert.matches("^heapattach: cannot write the results: ", err)
    end
  end)
end)

-- ==== Series =========================================================================

describe("a series of heapattach", function()
  local function series(there, more, ...)
    local folder = support.tmpdir()
    local words = {"--every", "0.1s", "-d", folder, "4711", ...}
    local out, err, code = attach(there, words, more)
    local files = {}
    for name in lfs.dir(folder) do
      if not name:find("^%.%.?$") then files[#files + 1] = name end
    end
    table.sort(files)
    return masked(out):gsub(folder:gsub("%p", "%%%0"), "DIR"), err, code, files
  end

  it("is of files that heap.auto might have made, each behind the one before", function()
    local out, err, code, files = series(one, {"passed 2"}, "--max", "3")
    assert.same({"", 0}, {err, code})
    local function file(n) return ("server.lua-4711-%d.heap"):format(n) end
    assert.same({file(1), file(2), file(3)}, files)
    local list = lines(out)
    assert.equal("DIR/" .. file(1) .. ": N objects, N KB of 4711 (lua5.4 server.lua, Lua 5.4.4)" ..
                 "; stopped for 0.7 ms", list[1])
    for i = 1, 2 do
      assert.equal(("DIR/%s: N objects, N KB, 0 objects and 0 B since DIR/%s, garbage included" ..
                    "; stopped for 0.7 ms"):format(file(i + 1), file(i)), list[i + 1])
    end
    assert.equal(("What was made between the first two and stays: heapdiff DIR/%s DIR/%s DIR/%s")
                 :format(file(1), file(2), file(3)), list[4])
    assert.equal(4, #list)
  end)

  it("goes on behind older files, and replaces none", function()
    support.write_file(dir .. "/other.lua-4711-2.heap", "older")
    local there = {one[1], "state b 1 no other.lua", one[3]}
    local out = answer(there, {"--every", "0.1", "--max", "2", "--after", "a", "4711"})
    assert.equal("older", support.read_file(dir .. "/other.lua-4711-2.heap"))
    assert.matches("\nWhat was made between the first two and stays: " ..
                   "heapdiff a other.lua%-4711%-1.heap other.lua%-4711%-3.heap\n$", out)
    assert.matches("^other.lua%-4711%-1.heap: .- since a, garbage included; ", out)
  end)

  it("has files of each state, called by the beginning of its id", function()
    local out, err, code, files = series(two, {}, "--max", "2", "--state", "all")
    assert.same({"", 0}, {err, code})
    assert.equal(4, #files)
    for i, name in ipairs {"a", "a", "b", "b"} do
      assert.matches("^" .. name .. "%.lua%-4711%-%x%x%x%x%-[12]%.heap$", files[i])
    end
    assert.equal(2, select(2, out:gsub("\nWhat appeared and what went: heapdiff ", "")))
  end)

  it("calls no file like an option or a folder", function()
    local _, err, _, files = series({"program x", "state b 1 no -rf", "still fork 1"}, {}, "--max",
                                    "1")
    assert.equal("", err)
    assert.same({"_rf-4711-1.heap"}, files)
    files = select(4, series({"program x", "state b 1 no local text = 1", "text 1", "still fork 1"},
                             {}, "--max", "1"))
    assert.equal(1, #files)
    assert.not_matches("text", files[1])
    files = select(4, series({"program x", "state b 1 no \1/..", "still fork 1"}, {}, "--max", "1"))
    assert.same({"..-4711-1.heap"}, files)
  end)

  it("goes on after what fails for a while", function()
    local out, err, code, files = series(one, {"fail 2 -10 0 it never stood still"}, "--max", "3")
    assert.same({"heapattach: it never stood still\n", 0, 2}, {err, code, #files})
    assert.matches("\nWhat appeared and what went: heapdiff ", out)
  end)

  it("ends with the process, and keeps what there is", function()
    local out, err, code, files = series(one, {"fail 3 -3 3 process 4711 has ended"}, "--max", "9")
    assert.same({"heapattach: process 4711 has ended\n", 0, 2}, {err, code, #files})
    assert.matches("\nWhat appeared and what went: heapdiff [^\n]+\n$", out)
    out, err, code, files = series(one, {"fail 1 -3 3 process 4711 has ended"}, "--max", "9")
    assert.same({"", "heapattach: process 4711 has ended\n", 2, 0}, {out, err, code, #files})
    err, code = select(2, series(one, {"fail 2 -7 0 the state was closed"}, "--max", "9"))
    assert.same({"heapattach: the state was closed\n", 0}, {err, code})
  end)

  it("ends by Control-C, and keeps what there is", function()
    support.write_file(dir .. "/there", table.concat(one, "\n") .. "\nlog log\n")
    -- What runs in the background of a shell ignores SIGINT, unless it is told otherwise.
    local script = [[
      env --default-signal=INT STAND_IN=there "$0" --every 1h 4711 >said & pid=$!
      until [ -s said ]; do sleep 0.02; done
      kill -INT $pid; wait $pid; echo $?]]
    local folder = support.tmpdir()
    support.run({"cp", "b", folder .. "/b"}, {cwd = dir})
    support.run({"cp", "there", folder .. "/there"}, {cwd = dir})
    local out, err = support.run({"timeout", "60", "sh", "-c", script, tool}, {cwd = folder})
    assert.equal("0\n", out)
    assert.equal("", err)
    assert.matches("\nWhat leaks or is big: heaptop server.lua%-4711%-1.heap\n$",
                   support.read_file(folder .. "/said"))
  end)

  it("is a line of JSON for each", function()
    local list = lines(answer(one, {"--json", "--every", "0.1", "--max", "2", "-d",
                                    support.tmpdir(), "4711"}))
    assert.equal(2, #list)
    local first, second = cjson.decode(list[1]).snapshots[1], cjson.decode(list[2]).snapshots[1]
    assert.equal(cjson.null, first.after)
    assert.equal(first.file, second.after)
  end)
end)

-- ====================================================================================

-- Of a series they wait less long, and they watch for one line. The process is this one: it lasts.
describe("the examples of heapattach's manual page", function()
  it("can be typed", function()
    local folder = support.tmpdir()
    local process = io.open("/proc/self/stat"):read("n")
    support.run({"cp", "b", folder}, {cwd = dir})
    support.write_file(folder .. "/core." .. process, "")
    support.write_file(folder .. "/there", table.concat(one, "\n") .. "\n")
    local page = support.read_file(support.build .. "/man/heapattach.1")
    local n = 0
    for line in page:match("\n%.Sh EXAMPLES\n(.-)\n%.Sh "):gmatch("[^\n]+") do
      local command = line:match("^%.Dl (heapattach .*)") or line:match("^heapattach .*")
      if command then
        n = n + 1
        command = command:gsub("^heapattach", support.quote(tool)):gsub("10[ms]", "0.1")
          :gsub("4711", process):gsub("/var/tmp", "."):gsub("%-%-watch", "%0 --max 1")
        local out, err, code = support.run(command, {cwd = folder, env = {STAND_IN = "there"}})
        assert.same({"", 0}, {err, code}, command)
        assert.not_equal("", out)
      end
    end
    assert.equal(9, n)
  end)
end)
