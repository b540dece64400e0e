-- outside_target.lua - the process that outside.lua looks at: the heap of heap.lua, but no luaheap.
--
--     lua5.4 outside_target.lua MILLIONS      reads commands, a line each, and answers with a line
--
--     work FILE      works until the file is there; the longest time in which it could not, seconds
--     fork N         the seconds of a bare fork of it, the median and the least of N
--     copy N BYTES   the same of a copy of so much memory, and the median of one to new memory, in
--                    processor seconds
--     inside N FILE  processor seconds of a snapshot, the seconds of the pause of a background one
-- luacheck: globals LAST FUNCTIONS
local bench = require "lua_bench"

collectgarbage("incremental", 110, 1000) -- it has as much memory as the heap, not twice that
local n_tables = math.floor(tonumber(arg[1]) * 1e6 / 2.1 + 0.5)
for i = 1, n_tables do LAST = {id = i, name = "name" .. i, next = LAST} end
FUNCTIONS = {}
for i = 1, n_tables // 10 do FUNCTIONS[i] = function() return LAST end end
collectgarbage()

local function answer(...)
  print(...)
  io.stdout:flush()
end

local function median_and_least(n, measure)
  local values = {}
  for i = 1, n do values[i] = measure() end
  table.sort(values)
  return values[(n + 1) // 2], values[1]
end

local function exists(path)
  local file = io.open(path)
  return file and file:close()
end

-- Allocates, and does a system call now and then, as a server does.
local function work(path)
  local null <close> = assert(io.open("/dev/null", "w"))
  null:setvbuf("no")
  local before, longest = bench.now(), 0
  repeat
    for _ = 1, 50 do
      for i = 1, 100 do local _ = {i} end
      null:write("x")
      local now = bench.now()
      longest = math.max(longest, now - before)
      before = now
    end
  until exists(path)
  return longest
end

local commands = {}

function commands.work(path) answer(work(path)) end

-- After a collection, which writes to all pages: the next fork has to protect them again, as it has
-- while the process works.
function commands.fork(n)
  answer(median_and_least(tonumber(n), function()
    collectgarbage()
    return bench.fork()
  end))
end

function commands.copy(n, bytes)
  local news = {}
  local median, least = median_and_least(tonumber(n), function()
    local seconds
    seconds, news[#news + 1] = bench.copy(math.tointeger(bytes))
    return seconds
  end)
  table.sort(news)
  answer(median, least, news[(#news + 1) // 2])
end

function commands.inside(n, path)
  local heap = require "heap"
  answer(median_and_least(tonumber(n), function()
    local start = os.clock()
    assert(heap.snapshot(path))
    return os.clock() - start
  end), (median_and_least(tonumber(n), function()
    local start = bench.now()
    local job = assert(heap.snapshot(path, {background = true}))
    local seconds = bench.now() - start
    assert(job:wait())
    return seconds
  end)))
end

local stat <close> = assert(io.open("/proc/self/stat"))
answer(stat:read("n"), collectgarbage("count") * 1024)
for line in io.lines() do
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  commands[words[1]](table.unpack(words, 2))
end
