-- auto_spec.lua - heap.auto in whole processes: what asks for a snapshot, when it is taken, where
-- it goes, and that the program notices nothing. The C API is tested in tests/take/test_watch*.c.

local json = require "cjson"
local lfs = require "lfs"
local support = require "tests.common.support"

-- In front of each script: wait_for FILE; start OPTIONS, which runs server.lua beside it until that
-- has made the file `ready`; and ask, which sends the signal once the server sleeps. Nothing is
-- waited for longer than half a minute, and the server never outlives its script.
local prelude = [[
  LUA=${LUA:-lua5.4}
  wait_until() {
    i=0
    until eval "$1"; do
      i=$((i + 1))
      [ $i -lt 1500 ] || { echo "in vain: $1"; kill -9 $pid; exit 1; }
      sleep 0.02
    done
  }
  wait_for() { wait_until "[ -e $1 ]"; }
  start() {
    LUA_HEAP="$1" $LUA -l heap.auto server.lua 2>err &
    pid=$!
    wait_for ready
  }
  ask() {
    sleeps='grep -q "(sleeping)" /proc/$pid/status'
    wait_until "$sleeps && sleep 0.1 && $sleeps"
    kill -URG $pid
    sleep 0.1
  }
]]

-- Runs a script for sh beside server.lua; what it prints, its directory.
local function play(server, script)
  local dir = support.tmpdir()
  local ready = 'local function ready() io.open("ready", "w"):close() end\n'
  support.write_file(dir .. "/server.lua", ready .. server)
  support.write_file(dir .. "/script.sh", prelude .. script)
  local out = support.lua('os.execute("exec sh ./script.sh 2>&1")', {cwd = dir})
  return out, dir
end

-- The line that tells that it watches is the first one on stderr.
local armed = "heap.auto: armed: [^\n]*\n"

-- Runs server.lua alone with LUA_HEAP: stdout, stderr without that line, exit code, directory.
local function serve(heap_options, server, options)
  local dir = support.tmpdir()
  support.write_file(dir .. "/server.lua", server)
  options = options or {}
  local driver = ([[
    local command = %q .. " exec ${LUA:-lua5.4} -l heap.auto server.lua %s 2>err"
    local _, _, code = os.execute(command)
    print("exit code " .. code)
  ]]):format(options.before or "", support.quote(options.argument or ""))
  local out = support.lua(driver, {cwd = dir, env = {LUA_HEAP = heap_options}})
  local text, code = out:match("^(.*)exit code (%d+)\n$")
  local err, n = support.read_file(dir .. "/err"):gsub(armed, "")
  if heap_options ~= "" and not options.refused then assert.is_true(n >= 1) end
  return text, err, tonumber(code), dir
end

-- The names of the snapshots, with PID for the process.
local function files(dir)
  local names = {}
  for name in lfs.dir(dir) do
    if name:find("%.heap$") then names[#names + 1] = name:gsub("%-%d+%-", "-PID-") end
  end
  table.sort(names)
  return table.concat(names, " ")
end

local function path(dir, number)
  for name in lfs.dir(dir) do
    if name:find("-" .. number .. ".heap", 1, true) then return dir .. "/" .. name end
  end
end

-- What heaptop says of a file; every one is exact.
local function heaptop(file)
  local out, errors, code = support.run {"heaptop", "--json", file}
  assert.equal(0, code, errors)
  local top = json.decode(out)
  assert.equal(0, top.snapshot.unaccounted_bytes)
  return top
end

-- The lines on stderr without the numbers.
local function lines(text)
  return (text:gsub("%-%d+%-", "-PID-"):gsub("%S+/(%S+%.heap)", "DIR/%1")
              :gsub("[%d,]+ objects, [%d.]+ [KM]?B", "N objects, SIZE"))
end

local function wrote(...)
  local expected, one = {}, "DIR/server.lua-PID-%d.heap"
  local line = "heap.auto: wrote FILE: N objects, SIZE; see it: heapview FILE\n"
  local all = "heap.auto: what grows: heapdiff" .. (" " .. one):rep(3) .. "\n"
  for i, n in ipairs {...} do expected[i] = line:gsub("FILE", (one:format(n))) end
  if expected[3] then table.insert(expected, 4, all:format(...)) end
  return table.concat(expected)
end

local ask = 'os.execute("kill -URG $PPID")\n'

describe("a signal", function()
  it("stops a tight loop between two instructions", function()
    local out, dir = play("kept = {} ready() while true do end", [[
      start signal=URG
      for n in 1 2 3; do
        kill -URG $pid
        wait_for server.lua-$pid-$n.heap
      done
      kill -9 $pid
    ]])
    assert.equal("", out)
    assert.equal("server.lua-PID-1.heap server.lua-PID-2.heap server.lua-PID-3.heap", files(dir))
    for n = 1, 3 do heaptop(path(dir, n)) end
  end)

  it("stops one in a coroutine of a coroutine", function()
    local out, dir = play([[
      local function deep(n)
        if n > 0 then return coroutine.wrap(deep)(n - 1) end
        local marker = setmetatable({}, {__name = "Marker"})
        ready()
        while marker do end
      end
      deep(3)
    ]], [[
      start signal=SIGURG
      kill -URG $pid
      wait_for server.lua-$pid-1.heap
      kill -9 $pid
    ]])
    assert.equal("", out)
    local chain = support.run({"heappath", "--format", "text", path(dir, 1), "Marker"})
    assert.match("local marker in function", chain, 1, true)
    assert.match("Marker 0x%x+ is kept alive by", chain)
  end)

  it("is one line on stderr for each file, and changes nothing else", function()
    local program = [[
      local counts = {}
      local function hook(event) counts[event] = (counts[event] or 0) + 1 end
      for _, mask in ipairs {"", "l", "crl", "r"} do
        debug.sethook(hook, mask, 13)
        os.execute(arg[1])
        for i = 1, 1000 do local _ = tostring(i) end
        os.execute(arg[1])
        local set, same, count = debug.gethook()
        debug.sethook()
        assert(set == hook and same == mask and count == 13)
      end
      local words = {}
      for event, n in pairs(counts) do words[#words + 1] = event .. " " .. n end
      table.sort(words)
      print(table.concat(words, ", "))
    ]]
    local out, err, _, dir = serve("signal=URG", program, {argument = "kill -URG $PPID"})
    local plain_out = serve("signal=URG", program, {argument = "true"})
    assert.equal(plain_out, out)
    assert.match("^call %d+, count %d+, line %d+, return %d+\n$", out)
    assert.equal(wrote(1, 2, 3, 4, 5, 6, 7, 8), lines(err))
    for n = 1, 8 do heaptop(path(dir, n)) end
  end)

  it("is heeded when a blocking call has returned: a read, a shell, a sleep in select", function()
    local out, dir = play([[
      os.execute("mkfifo pipe")
      local pipe = io.open("pipe", "r+")
      ready()
      local line = pipe:read("l")
      print(line)
      print(os.execute("while ! [ -e go ]; do sleep 0.02; done"))
    ]], [[
      start signal=URG
      ask
      ls *.heap 2>/dev/null
      echo hello >pipe
      wait_for server.lua-$pid-1.heap
      ask
      ls *-2.heap 2>/dev/null
      touch go
      wait $pid
      ls *.heap | wc -l
    ]])
    assert.equal("hello\ntrue\texit\t0\n2\n", out)
    heaptop(path(dir, 2))
  end)

  it("is heeded when a socket wakes the program", function()
    if support.lua('print((pcall(require, "socket")))') ~= "true\n" then
      pending("there is no luasocket")
    end
    local out = play([[
      local socket = require "socket"
      local receiver = socket.udp()
      assert(receiver:setsockname("127.0.0.1", 0))
      local _, port = receiver:getsockname()
      local file = io.open("port", "w")
      file:write(port)
      file:close()
      ready()
      local readable = socket.select({receiver}, nil)
      print(readable[1] == receiver and receiver:receive())
    ]], [[
      start signal=URG
      ask
      ls *.heap 2>/dev/null
      $LUA -e 'local port = io.open("port"):read("n")
               require "socket".udp():sendto("wake up", "127.0.0.1", port)'
      wait $pid
      ls *.heap | wc -l
    ]])
    assert.equal("wake up\n1\n", out)
  end)

  it("is told of a failure, and the program goes on", function()
    local out, err, code = serve("signal=URG,dir=gone", [[
      os.execute("rmdir gone")
      ]] .. ask .. [[
      os.execute("mkdir gone")
      ]] .. ask .. [[
      print "done"
    ]], {before = "mkdir gone;"})
    assert.equal("done\n", out)
    assert.match("^heap.auto: cannot write '[^\n]*/gone/server.lua%-%d+%-1.heap': No such file " ..
                 "or directory\n", err)
    assert.match("\nheap.auto: wrote [^\n]*/gone/server.lua%-%d+%-2.heap: ", err)
    assert.equal(0, code)
  end)

  it("gives snapshots that heapdiff compares like any others", function()
    local _, _, _, dir = serve("signal=URG,background", [[
      leak = {}
      for step = 1, 3 do
        ]] .. ask .. [[
        for i = 1, 10 do leak[#leak + 1] = setmetatable({i}, {__name = "Leaked"}) end
      end
    ]])
    for n = 1, 3 do
      for _ = 1, 1000 do
        if path(dir, n) then break end
        support.run {"sleep", "0.02"}
      end
    end
    local out = support.run {"heapdiff", "--json", path(dir, 1), path(dir, 2), path(dir, 3)}
    local diff = json.decode(out)
    assert.equal(1, #diff.groups)
    assert.equal("Leaked", diff.groups[1].class)
    assert.equal(10, diff.groups[1].objects)
  end)
end)

describe("sizes and times", function()
  it("ask for a file each, but not for too many", function()
    local _, err, _, dir = serve("at=2M,again=2,max=2", [[
      local list -- an array is there twice while it grows
      for _ = 1, 400000 do list = {list} end
    ]])
    assert.equal(wrote(1, 2), lines(err))
    local first, second = heaptop(path(dir, 1)).snapshot, heaptop(path(dir, 2)).snapshot
    assert.is_true(first.gc_bytes >= 2 << 20 and first.gc_bytes < 2.2 * (1 << 20))
    assert.is_true(second.gc_bytes >= 2 * (2 << 20) and second.gc_bytes < 2.2 * (2 << 20))
  end)

  it("plant marks of which the last file tells", function()
    local _, err, _, dir = serve("every=0.02s,marks=0.01,max=2,exit", [[
      local t
      local second = "server.lua-" .. io.open("/proc/self/stat"):read("n") .. "-2.heap"
      repeat t = {{}} until io.open(second)
      kept = {}
      local stop = os.clock() + 0.05
      while os.clock() < stop do kept[#kept + 1] = {} end
    ]])
    assert.equal(wrote(1, 2, 3), lines(err))
    local out = support.run {"heaptop", "--by", "epoch", "--json", path(dir, 3)}
    local periodic = 0
    for _, epoch in ipairs(json.decode(out).epochs) do
      if tostring(epoch.mark):find("^%d+%-%d+%-%d+ %d+:%d+:%d+") then periodic = periodic + 1 end
    end
    assert.is_true(periodic >= 3, out)
  end)
end)

describe("at exit", function()
  local endings = {
    ["the end of the program"] = {"", 0, ""},
    ["an error"] = {"error({})", 1, "[^\n]*: %(error object is a table value%)\n.*"},
    ["os.exit()"] = {"os.exit()", 0, ""},
    ["os.exit(7, true)"] = {"os.exit(7, true)", 7, ""},
    ["os.exit() in a coroutine"] = {"coroutine.wrap(function() os.exit(3) end)()", 3, ""},
    ["os.exit(4, true) in a coroutine"] = {
      "coroutine.wrap(function() os.exit(4, true) end)()", 4, ""},
    ["os.exit() in a finalizer"] = {
      "setmetatable({}, {__gc = function() os.exit(5) end}) collectgarbage()", 5, ""},
  }
  for name, ending in pairs(endings) do
    it("one file is written: " .. name, function()
      local program, expected, message = table.unpack(ending)
      local out, err, code, dir = serve("exit,background", [[
        kept = setmetatable({}, {__name = "Kept"})
        last = setmetatable({}, {__gc = function() io.write("closed\n") end})
      ]] .. program)
      assert.equal(expected, code)
      assert.match("^" .. message .. wrote(1):gsub("%p", "%%%0") .. "$", lines(err))
      assert.equal("server.lua-PID-1.heap", files(dir))
      local closes = not program:find("os.exit", 1, true) or program:find("true", 1, true)
      assert.equal(closes and "closed\n" or "", out)
      local chain = support.run {"heappath", "--format", "text", path(dir, 1), "Kept"}
      assert.match("is kept alive by: _G.kept\n", chain, 1, true)
      heaptop(path(dir, 1))
    end)
  end

  -- Each time: what is finalized when the state closes has let go of what it held by then.
  local closings = {["the end of the program"] = "", ["an error"] = "error({})",
                    ["os.exit(0, true)"] = "os.exit(0, true)"}
  for name, ending in pairs(closings) do
    it("the file is as the heap was before its finalizers: " .. name, function()
      local _, _, _, dir = serve("exit", [[
        local heap = require "heap"
        local Pool = {__name = "Pool", __gc = function(pool) pool.items = nil end}
        pools = {}
        for i = 1, 3 do pools[i] = setmetatable({items = {{}, {}, {}}}, Pool) end
        heap.mark("made")
        local stop = os.clock() + 0.1
        while os.clock() < stop do local _ = {} end -- the clock of the heap's looks has gone on
      ]] .. ending)
      local file = path(dir, 1)
      local held = heaptop(file).snapshot
      assert.is_nil(held.finalized_objects)
      for i = 1, 3 do
        local chain = support.run {"heappath", "--format", "text", file,
                                   ("_G.pools[%d].items[3]"):format(i)}
        assert.match("is kept alive by: _G.pools", chain, 1, true)
      end
      local out = support.run {"heapsql", file, "--json",
                               "select epoch, list from objects where class = 'Pool'"}
      local rows = json.decode(out).results[1].rows
      assert.equal(3, #rows)
      for _, row in ipairs(rows) do assert.same({epoch = 0, list = "finobj"}, row) end
    end)
  end

  it("the file says how many finalizers had run before it", function()
    local _, _, _, dir = serve("exit", [[
      require "heap".mark("early")
      local object = setmetatable({}, {})
      getmetatable(object).__gc = print
      setmetatable(object, getmetatable(object))
    ]])
    local file = path(dir, 1)
    assert.equal(1, heaptop(file).snapshot.finalized_objects)
    for _, option in ipairs {"--growing", "--by=epoch", "--color=never"} do
      local out = support.run {"heaptop", option, file}
      assert.match("the finalizers of 1 object had run", out, 1, true)
    end
    local out = support.run {"heapdiff", "--since", "early", file}
    assert.match("the finalizers of 1 object had run", out, 1, true)
    local _, err, code = support.run {"heapcheck", file}
    assert.equal(0, code, err)
  end)

  it("a signal that found no safe point is heeded", function()
    local _, err = serve("signal=URG", [[
      setmetatable({}, {__gc = function() os.execute("kill -URG $PPID") end})
      for _ = 1, 10 do collectgarbage("step") end
    ]])
    assert.equal(wrote(1), lines(err))
  end)
end)

describe("when memory runs out", function()
  -- AddressSanitizer needs more addresses than any limit leaves: see test_watch_memory.c.
  local test = support.sanitized and pending or it
  local limit = {before = "ulimit -v 30000;"}

  -- The same with and without heap.auto: output, message, code; and the one file.
  local function both(program)
    local out, err, code, dir = serve("oom", program, limit)
    local plain_out, plain_err, plain_code = serve("", program, limit)
    assert.equal(plain_out, out)
    assert.equal(plain_code, code)
    assert.equal(wrote(1) .. plain_err, lines(err))
    assert.equal("server.lua-PID-1.heap", files(dir))
    return heaptop(path(dir, 1)), plain_err, dir
  end

  test("a growing table is in the file, with the name that holds it", function()
    local top, message, dir = both [[
      local t = setmetatable({}, {__name = "Grower"})
      while true do t[#t + 1] = {} end
    ]]
    assert.match("not enough memory", message, 1, true)
    assert.is_true(top.snapshot.objects > 100000)
    local chain = support.run {"heappath", "--format", "text", path(dir, 1), "Grower"}
    assert.match("local t in main chunk @server.lua", chain, 1, true)
  end)

  test("a string that is too big", function()
    both "kept = {} local s = string.rep('x', 1 << 30)"
    both "local s = 'x' while true do s = s .. s end"
  end)

  test("in a coroutine, and the program goes on after a pcall", function()
    both [[
      local co = coroutine.create(function()
        local t = {}
        while true do t[#t + 1] = {} end
      end)
      print(coroutine.resume(co))
      co = nil
      collectgarbage()
      local n = 0
      for _ = 1, 3 do
        print(pcall(function()
          local t = {}
          while true do t[#t + 1] = {#t} end -- strings would leave garbage: a thousand collections
        end))
        n = n + 1
      end
      print(n, debug.gethook())
    ]]
  end)

  test("in the background if there is memory for it", function()
    local _, err, _, dir = serve("oom,background", [[
      pcall(function() local t = {} while true do t[#t + 1] = {} end end)
      collectgarbage()
      local job = setmetatable({}, {__mode = "v"})
      repeat job[1] = {} until io.open("done")
    ]], {before = "(for try in $(seq 1500); do ls *.heap && break; sleep 0.02; done; touch done)" ..
                  " >/dev/null 2>&1 & " .. limit.before})
    assert.match("heap.auto: ", err, 1, true)
    assert.is_true(heaptop(path(dir, 1)).snapshot.objects > 100000)
  end)
end)

describe("options", function()
  -- The program runs all the same; with LUA_HEAP_STRICT=1 it does not.
  local function refused(heap_options, message)
    local out, err, code = serve(heap_options, "print 'reached'", {refused = true})
    assert.equal("reached\n", out)
    assert.equal(0, code)
    assert.match("^heap.auto: LUA_HEAP: " .. message .. ": nothing is watched\n$", err)
    out, err, code = serve(heap_options, "print 'reached'",
                           {refused = true, before = "LUA_HEAP_STRICT=1"})
    assert.equal("", out)
    assert.equal(1, code)
    assert.match("^[^\n]*: heap.auto: LUA_HEAP: " .. message .. "\n", err)
  end

  it("that make no sense are told, with the reason and a list of them all", function()
    local list = "; the options are, for example, signal=URG, at=512M, again=1.5, every=10m, " ..
                 "max=10, marks=1m, exit, oom, background, strings=256, dir=/var/tmp, tag=web, " ..
                 "log=FILE|syslog|quiet, track=FILE, stacks, sample=512K, aggregate, live, " ..
                 "time, exact=256K, pool=no"
    local size = "it needs a size: a number of bytes, or with k, m or g behind it"
    for option, what in pairs {
      ["="] = "there is no option ''", quiet = "there is no option 'quiet' (is log=quiet meant?)",
      ["sginal=URG"] = "there is no option 'sginal' (is signal meant?)",
      ["signal=X"] = "'signal=X' makes no sense: it needs the name or the number of a signal" ..
                     ", such as URG",
      ["at=12X,exit"] = "'at=12X' makes no sense: " .. size,
      ["again=1,at=1M"] = "'again=1' makes no sense: it needs a number above 1",
      ["every=0"] = "'every=0' makes no sense: it needs a time: a number of seconds, or with s, " ..
                    "m or h behind it",
      ["max=0"] = "'max=0' makes no sense: it needs a whole number, 1 or more",
      ["exit=1"] = "'exit=1' makes no sense: it takes no value",
      ["background=no"] = "'background=no' makes no sense: its only value is try",
      ["dir="] = "'dir=' makes no sense: it needs a directory",
      ["strings=-1"] = "'strings=-1' makes no sense: " .. size,
    } do
      refused(option, (what .. list):gsub("%p", "%%%0"))
    end
    refused("signal=9", "signal KILL cannot be used to ask for snapshots")
    refused("dir=.", "nothing to watch for: give a signal[^\n]*")
  end)

  it("are told with what they mean: which file comes when", function()
    local dir = support.tmpdir()
    support.write_file(dir .. "/server.lua", "")
    local function started(heap_options)
      local out = support.lua('os.execute("exec ${LUA:-lua5.4} -l heap.auto server.lua 2>&1")',
                              {cwd = dir, env = {LUA_HEAP = heap_options}})
      return (out:gsub("/%S*/", "DIR/"):gsub("%-%d%d+%-", "-PID-"):gsub("URG %d+", "URG PID"))
    end
    assert.equal("heap.auto: armed: DIR/server.lua-PID-1.heap, on kill -URG PID\n",
                 started "signal")
    assert.equal("heap.auto (state web): armed: DIR/server.lua-web-PID-1.heap, by size, by " ..
                 "time, when memory runs out; marks by time\n",
                 started "at=1g,every=1h,oom,marks=1h,tag=web")
    assert.equal("", started "signal=URG,log=quiet")
  end)

  it("send the lines to a file or to the system's log", function()
    local _, _, _, dir = serve("exit,tag=web,log=lines", 'os.execute("mkdir sub")',
                               {refused = true})
    local text = support.read_file(dir .. "/lines"):gsub("%d%d+", "PID"):gsub("/%S*/", "DIR/")
    local file, who = "DIR/server.lua%-web%-PID%-1.heap", "heap.auto%[PID%] %(state web%): "
    assert.match("^" .. who .. "armed: " .. file .. ", at the end %(a main chunk that returns has "
                 .. "lost its locals by then%)\n" .. who .. "wrote " .. file .. ": ", text)
    local _, err = serve("exit,log=/no/such/lines", "")
    assert.match("^heap.auto: wrote ", err)
    serve("exit,log=syslog", "", {refused = true}) -- on stderr where there is none
  end)

  it("name a directory that can be written", function()
    local message = "cannot write into the directory '%s': %s"
    refused("exit,dir=no/such", message:format("no/such", "No such file or directory"))
    refused("exit,dir=server.lua", message:format("server.lua", "Not a directory"))
    local _, err = serve("exit,dir=sub,strings=0", "", {before = "mkdir sub; "})
    assert.match("^heap.auto: wrote /[^\n]*/sub/server.lua%-%d+%-1.heap: ", err)
  end)

  it("take what a terminal or a command might obey out of the name of the program", function()
    local program = [[
      local auto = require "heap.auto"
      for _, name in ipairs {"dir/a\27[31m\nb", "-n"} do
        arg[0] = name
        assert(auto.start {signal = "URG"})
        ]] .. ask .. [[
        auto.stop()
      end
    ]]
    local _, err, _, dir = serve("", program)
    assert.is_nil(err:find("[^ -~\n]"))
    assert.equal("_n-PID-2.heap a_[31m_b-PID-1.heap", files(dir))
  end)

  it("do nothing where there are none", function()
    local out, err, code, dir = serve("", "print(package.loaded['heap.auto'] ~= nil)")
    assert.equal("true\n", out)
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal("", files(dir))
  end)

  local function expect_not_obeyed(command)
    local dir = support.tmpdir()
    local out, err, code = support.run(command, {cwd = dir, env = {
      LUA_HEAP = "exit", LUA_CPATH = support.build .. "/?.so",
      LUA_PATH = support.root .. "/lua/?.lua",
      LD_PRELOAD = os.getenv "LUAHEAP_PRELOAD", ASAN_OPTIONS = "detect_leaks=0"}})
    assert.equal("", err)
    assert.equal("ran\n", out)
    assert.equal(0, code)
    assert.equal("", files(dir))
  end

  it("are not taken from an environment that the host must not obey", function()
    expect_not_obeyed([[${LUA:-lua5.4} -E -e 'package.path, package.cpath =
      os.getenv "LUA_PATH", os.getenv "LUA_CPATH"' -l heap.auto -e 'print "ran"' ]])
  end)

  it("are not taken from the environment of a setuid program", function()
    if support.run {"id", "-u"} ~= "0\n" then return pending "only root can be another user" end
    if support.sanitized then return pending "libasan is not preloaded there" end
    -- Effectively root, but started by another user: so the kernel says AT_SECURE.
    expect_not_obeyed([[setpriv --ruid 65534 ${LUA:-lua5.4} -l heap.auto -e 'print "ran"']])
  end)

  it("may come from the program", function()
    local _, err, code, dir = serve("", [[
      local auto = require "heap.auto"
      assert(not pcall(auto.start))
      local ok, message = pcall(auto.start, {sgnal = 1})
      assert(not ok and message:find("there is no option 'sgnal'", 1, true), message)
      ok, message = pcall(function() auto.start {at = 0} end)
      assert(not ok and message:find("^server.lua:5: heap.auto: 'at=0' makes no sense"), message)
      assert(auto.start {signal = 23, at = 512 * 2 ^ 20, every = 600, dir = ".", exit = false})
      local started, again, errno = auto.start {exit = true}
      assert(not started and again == "this Lua state is watched already" and errno == 0)
      ]] .. ask .. [[
      auto.stop()
      auto.stop()
      assert(auto.start {exit = true})
    ]])
    assert.equal(0, code, err)
    assert.equal(wrote(1, 2), lines(err))
    assert.equal("server.lua-PID-1.heap server.lua-PID-2.heap", files(dir))
  end)

  it("may say a directory with blanks, and each line the command for a shell", function()
    local command = "; see it: heapview '[^']+/a b$%(id%)/server.lua%-PID%-1.heap'\n$"
    for directory, says in pairs {["a b$(id)"] = command, ["a'b"] = " objects, [%d.]+ KB\n$"} do
      local _, err = serve("exit,dir=" .. directory, "",
                           {before = "mkdir " .. support.quote(directory) .. ";"})
      assert.match(says, (err:gsub("%-%d+%-", "-PID-")))
    end
  end)

  it("hide strings where they ask for that", function()
    local _, _, _, dir = serve("exit,strings=0", "secret = 'open' .. ' sesame'")
    assert.is_nil(support.read_file(path(dir, 1)):find("open sesame", 1, true))
  end)
end)
