-- harmless_spec.lua - a program that is watched prints and ends as one that is not watched does, in
-- every mode of LUA_HEAP, whatever is the matter with its descriptors, the log and the disk,
-- however it ends, and whatever it does to itself and its children.

local lfs = require "lfs"
local support = require "tests.common.support"

-- Some hundredths of a second of work, with a signal and printing in it, and an exit status of its
-- own. PROGRAM is what a case does in the middle, ENDING how it ends.
local program = [[
  local acts = require "lua_acts"
  local kept, sum = {}, 0
  io.stdout:setvbuf "line"
  local function work()
    for step = 1, 5 do
      local stop = os.clock() + 0.002
      while os.clock() < stop do
        for i = 1, 2000 do kept[i] = {i, tostring(i)} end
      end
      print("printed", step)
      if os.getenv "PRINTS" then io.stderr:write("printed", "\t", step, "\n") end
    end
  end
  os.execute("kill -URG $PPID")
  work()
  PROGRAM
  work()
  for i = 1, 2000 do sum = sum + #kept[i][2] end
  print("sum", sum)
  ENDING
]]

local function write_program(dir, middle, ending)
  local parts = {PROGRAM = middle or "", ENDING = ending or "os.exit(7, true)"}
  support.write_file(dir .. "/server.lua", (program:gsub("%u%u%u%u%u+", parts)))
end

local triggers = {"signal=URG", "at=100K", "every=0.012", "exit", "oom"}
local modes = {"marks=0.012", "track", "track,live,stacks", "track=run.prof",
               "track=run.prof,aggregate", "track=/dev/full", "track=none/run.prof",
               "track=run.prof,signal=URG,every=0.012,exit,background=try"}
for _, trigger in ipairs(triggers) do
  modes[#modes + 1] = trigger
  modes[#modes + 1] = trigger .. ",background"
end

-- How the program, "$@", is started. A status of 124 says that it hangs.
local conditions = {
  ["stderr is closed"] = 'PRINTS=1 "$@" 2>&-',
  ["stdout is closed"] = '"$@" >&- 2>err',
  ["stdin and stdout are closed"] = '"$@" <&- >&- 2>err',
  ["stdin, stdout and stderr are closed"] = 'PRINTS=1 "$@" <&- >&- 2>&-',
  ["the reader of stderr is gone"] = 'mkfifo p; exec 9<>p 8>p 9<&-; "$@" 2>&8',
  ["stderr is a full pipe that nobody empties"] =
    'mkfifo p; exec 9<>p 8>p; dd if=/dev/zero of=p bs=4096 oflag=nonblock 2>err; "$@" 2>&8',
  ["the disk of stderr is full"] = '"$@" 2>/dev/full',
  ["the disk of the log is full"] = 'LUA_HEAP=$LUA_HEAP,log=/dev/full; "$@" 2>/dev/full',
  ["the log is a pipe without a reader"] = 'mkfifo p; LUA_HEAP=$LUA_HEAP,log=p; "$@" 2>&-',
  ["no file may have a byte"] = 'ulimit -f 0; "$@" 2>err',
  ["no descriptor is left"] = 'exec 2>err; ulimit -n 4; "$@"',
}

local function run(start, mode, dir)
  local script = ('{ ( %s ); echo "status $?"; } | cat'):format(start)
  local driver = ("os.execute(%q)"):format(
    "set -- timeout 60 ${LUA:-lua5.4} -l heap.auto server.lua\n" .. script)
  return (support.lua(driver, {cwd = dir, env = {LUA_HEAP = mode}}))
end

-- The files of ours in a directory are whole, and nothing that the program prints is in them. Only
-- a profile of a program that ends amid its work, or closes our descriptors, has no end.
local function expect_files(dir, mode, case)
  for name in lfs.dir(dir) do
    if name:find "%.heap$" or name:find "%.prof$" then
      local path = dir .. "/" .. name
      local out, err, code = support.run {"heapcheck", path}
      local is_cut = case.cuts and err:find "was cut or is still being written"
      assert.is_true(code == 0 or is_cut ~= nil, mode .. ": " .. out .. err)
      if not case.has_text then
        assert.is_nil(support.read_file(path):find("printed\t", 1, true), mode)
      end
    end
  end
end

-- Of a case: start, middle, ending; cuts, as above; has_text: the text is in the heap, too.
local function result(mode, case)
  local dir = support.tmpdir()
  write_program(dir, case.middle, case.ending)
  local out = run(case.start or '"$@" 2>err', mode, dir)
  expect_files(dir, mode, case)
  return out
end

-- Of the cases, one after the other, each is tried in all modes; with sanitizers in one of four.
local n_tried = 0
local function expect_same(of_modes, case)
  local expected = result("", case)
  for _, mode in ipairs(of_modes) do
    n_tried = n_tried + 1
    if support.is_tried(n_tried, 4) then assert.equal(expected, result(mode, case), mode) end
  end
  return expected
end

describe("a program that heap.auto watches ends as it would without", function()
  for condition, start in pairs(conditions) do
    it("where " .. condition, function()
      local expected = expect_same(modes, {start = start})
      local all = ("printed\t1\nprinted\t2\nprinted\t3\nprinted\t4\nprinted\t5\n"):rep(2)
      if start:find(">&- ", 1, true) then all = "" else all = all .. "sum\t6893\n" end
      assert.equal(all .. "status 7\n", expected)
    end)
  end
end)

-- All that heap.auto does, in four modes.
local all_in_four = {
  "track=run.prof,signal=URG,every=0.012,exit,background",
  "track=run.prof,aggregate,signal=URG,at=100K,exit",
  "track,live,stacks,every=0.008,marks=0.008,background=try",
  "oom,exit,background",
}

local endings = {
  ["with an error"] = {1, ending = 'error "in vain"'},
  ["with an error that is no text"] = {1, ending = "error {}"},
  ["by os.exit, without closing the state"] = {3, ending = "os.exit(3)"},
  ["by os.exit in a coroutine"] = {4, ending = "coroutine.wrap(function() os.exit(4, true) end)()"},
  ["by os.exit in a finalizer"] =
    {5, ending = "setmetatable({}, {__gc = function() os.exit(5) end}) os.exit(6, true)"},
  ["by a signal"] = {143, ending = 'os.execute "kill -TERM $PPID"', cuts = true},
  ["at its end"] = {0, ending = ""},
}

describe("a program that heap.auto watches ends", function()
  for name, case in pairs(endings) do
    it(name, function()
      local expected = expect_same(all_in_four, case)
      assert.equal(("sum\t6893\nstatus %d\n"):format(case[1]), expected:match "sum.*$")
    end)
  end
end)

-- A file that gets the number of stderr, which is closed.
local opens_a_file = [[
  local data = io.open("data", "w")
  work()
  local at = io.popen 'readlink /proc/$PPID/fd/2'
  assert(at:read():find "/data$")
  at:close()]]

-- What it does, and some of what it prints then.
local acts = {
  ["becomes a daemon"] = {"in order\ttrue\n", cuts = true, has_text = true,
    start = [["$@" 2>err; i=0
      until [ -e done ] || [ $i -gt 1500 ]; do sleep 0.02; i=$((i + 1)); done; cat done]],
    middle = [[
      io.output "result"
      function print(...)
        local words = table.pack(...)
        for i = 1, words.n do words[i] = tostring(words[i]) end
        io.write(table.concat(words, "\t"), "\n")
      end
      print("in order", acts.daemonize())]],
    ending = 'io.close() os.rename("result", "done") os.exit(7, true)'},
  ["has closed stderr, and opens a file under its number"] = {"sum\t6893\nmine\n",
    start = [["$@" 2>&-; status=$?; cat data; (exit $status)]],
    middle = opens_a_file,
    ending = 'data:write "mine\\n" data:close() os.exit(7, true)'},
  ["closes stderr later, and opens a file under its number"] = {"sum\t6893\nmine\n", cuts = true,
    start = [["$@" 2>err; status=$?; cat data; (exit $status)]],
    middle = "acts.close_all(2)\n" .. opens_a_file,
    ending = 'data:write "mine\\n" data:close() os.exit(7, true)'},
  ["closes all descriptors that it does not know"] =
    {"sum\t6893\n", middle = "acts.close_all(3)", cuts = true},
  ["closes all descriptors"] = {"status 7\n", middle = "acts.close_all(0)", cuts = true},
  ["waits for all children"] =
    {"children\t0\n", middle = [[print("children", acts.wait_for_all())]]},
  ["ignores its children"] = {"nil\tNo child processes\t10\n",
    middle = [[acts.ignore_children() print(os.execute "exit 3")]]},
  ["waits for children in a handler"] = {"sum\t6893\n", middle = "acts.reap_in_handler()"},
  ["becomes another program"] = {"replaced\nstatus 5\n", cuts = true,
    middle = [[acts.execute("sh", "-c", "echo replaced; exit 5")]]},
  ["makes the first process of a namespace"] = {"child\t7\n",
    middle = [[acts.unshare() work()
      local status = acts.fork() if status > 0 then print("child", status) end]]},
  ["forks, and both go on"] = {"child\t7\n",
    middle = [[local status = acts.fork() if status > 0 then print("child", status) end]]},
}

describe("a program that heap.auto watches", function()
  for name, case in pairs(acts) do
    it(name, function()
      local expected = expect_same(all_in_four, case)
      assert.is_truthy(expected:find(case[1], 1, true), expected)
    end)
  end

  -- After five seconds the handler reports that the request waits.
  it("sleeps, and has a small stack for signals", function()
    local case = {middle = [[acts.take_signal_stack() os.execute "kill -URG $PPID; sleep 6"]]}
    local expected = expect_same({"signal=URG"}, case)
    assert.equal("sum\t6893\nstatus 7\n", expected:match "sum.*$")
  end)

  it("may not make one or another system call", function()
    package.loaded.lua_acts = nil
    for _, call in ipairs(require "lua_acts".refused()) do
      local case = {middle = ("acts.refuse %q"):format(call), cuts = true}
      local expected = expect_same({all_in_four[1], all_in_four[3]}, case)
      assert.equal("sum\t6893\nstatus 7\n", expected:match "sum.*$", call)
    end
  end)
end)
