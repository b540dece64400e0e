-- harmless_spec.lua - a program that is watched prints and ends as one that is not watched does, in
-- every mode of LUA_HEAP, whatever is the matter with stderr, the log and the disk.

local support = require "tests.common.support"

-- A tenth of a second of work, with a signal in it, and an exit status of its own.
local program = [[
  local kept, sum = {}, 0
  os.execute("kill -URG $PPID")
  while os.clock() < 0.1 do
    for i = 1, 2000 do kept[i] = {i, tostring(i)} end
  end
  for i = 1, 2000 do sum = sum + #kept[i][2] end
  print("sum", sum)
  os.exit(7, true)
]]

local triggers = {"signal=URG", "at=100K", "every=0.03", "exit", "oom"}
local modes = {"marks=0.03", "track", "track=run.prof"}
for _, trigger in ipairs(triggers) do
  modes[#modes + 1] = trigger
  modes[#modes + 1] = trigger .. ",background"
end

-- How the program, "$@", is started. A status of 124 says that it hangs.
local conditions = {
  ["stderr is closed"] = '"$@" 2>&-',
  ["the reader of stderr is gone"] = 'mkfifo p; exec 9<>p 8>p 9<&-; "$@" 2>&8',
  ["stderr is a full pipe that nobody empties"] =
    'mkfifo p; exec 9<>p 8>p; dd if=/dev/zero of=p bs=4096 oflag=nonblock 2>err; "$@" 2>&8',
  ["the disk of stderr is full"] = '"$@" 2>/dev/full',
  ["the disk of the log is full"] = 'LUA_HEAP=$LUA_HEAP,log=/dev/full; "$@" 2>/dev/full',
  ["the log is a pipe without a reader"] = 'mkfifo p; LUA_HEAP=$LUA_HEAP,log=p; "$@" 2>&-',
  ["no file may have a byte"] = 'ulimit -f 0; "$@" 2>err',
}

local function result(start, mode)
  local script = ('{ ( %s ); echo "status $?"; } | cat'):format(start)
  local driver = ("os.execute(%q)"):format(
    "set -- timeout 300 ${LUA:-lua5.4} -l heap.auto server.lua\n" .. script)
  local dir = support.tmpdir()
  support.write_file(dir .. "/server.lua", program)
  return (support.lua(driver, {cwd = dir, env = {LUA_HEAP = mode}}))
end

describe("a program that heap.auto watches ends as it would without", function()
  local expected = result('"$@"', "")
  assert(expected == "sum\t6893\nstatus 7\n", expected)
  for condition, start in pairs(conditions) do
    it("where " .. condition, function()
      for _, mode in ipairs(modes) do assert.equal(expected, result(start, mode), mode) end
    end)
  end
end)
