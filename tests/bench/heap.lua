-- heap.lua - builds the benchmark's heap, and measures snapshots of it against full collections.
--
--     lua5.4 heap.lua MILLIONS DIR ROUNDS      prints `name value` lines; leaves DIR/a, b, c
--
-- Of 2.1 objects one is a table {id, name, next} in one long list, one is its name, and 0.1
-- is a closure: some 210 MB for 2.1 million objects, all of them alive. Each round times a
-- collection and a snapshot, next to each other, so that what disturbs the machine hits both. So
-- are a loop that makes such tables, and the same while heap.auto watches.

-- luacheck: globals FIRST LAST FUNCTIONS
local bench = require "lua_bench"
local heap = require "heap"

local millions, dir, rounds = tonumber(arg[1]), arg[2], tonumber(arg[3])

local function grow(last, from, to)
  for i = from, to do last = {id = i, name = "name" .. i, next = last} end
  return last
end

local function status(field)
  for line in io.lines("/proc/self/status") do
    local kilobytes = line:match("^" .. field .. ":%s*(%d+)")
    if kilobytes then return tonumber(kilobytes) * 1024 end
  end
  return 0
end

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

-- The cost of being watched, by all that can be watched for.
local watch = require "heap.watch"
local watching = {signal = 23, at = 2 ^ 50, every = 1e6, oom = true, dir = dir, log = "quiet"}
local function seconds_of_work()
  local start = bench.now()
  grow(nil, 1, 100000)
  collectgarbage()
  return bench.now() - start
end
local plain_s, watched_s = math.huge, math.huge
for _ = 1, 20 do
  plain_s = math.min(plain_s, seconds_of_work())
  assert(watch.start(watching))
  watched_s = math.min(watched_s, seconds_of_work())
  watch.stop()
end

local n_tables = math.floor(millions * 1e6 / 2.1 + 0.5)
FIRST = grow(nil, 1, 1)
LAST = grow(FIRST, 2, n_tables)
FUNCTIONS = {}
for i = 1, n_tables // 10 do FUNCTIONS[i] = function() return LAST end end
collectgarbage()
collectgarbage()

local collections, snapshots, counts, path = {}, {}, {}, dir .. "/a"
local extra, added, objects, bytes = 0, 0, nil, nil
for _ = 1, rounds do
  local start = bench.now()
  collectgarbage()
  collections[#collections + 1] = bench.now() - start

  -- The peak of resident memory from here on ("5" resets it), and the bytes of the Lua heap.
  local file <close> = assert(io.open("/proc/self/clear_refs", "w"))
  file:write("5")
  file:flush()
  local resident = status("VmRSS")
  collectgarbage("stop")
  local count = collectgarbage("count")
  start = bench.now()
  objects, bytes = assert(heap.snapshot(path))
  snapshots[#snapshots + 1] = bench.now() - start
  added = math.max(added, collectgarbage("count") - count)
  collectgarbage("restart")
  extra = math.max(extra, status("VmHWM") - resident)

  start = bench.now()
  heap.stats()
  counts[#counts + 1] = bench.now() - start
end

local STATS = 1000
local begin = bench.now()
for _ = 1, STATS do heap.stats({objects = false}) end
local stats_s = (bench.now() - begin) / STATS

-- The pause of a background snapshot, and a bare fork next to it; each is finished before the next
-- thing is measured.
local pauses, forks = {}, {}
for _ = 1, rounds do
  forks[#forks + 1] = bench.fork()
  local start = bench.now()
  local job = assert(heap.snapshot(dir .. "/background", {background = true}))
  pauses[#pauses + 1] = bench.now() - start
  assert(job:wait())
end

-- Questions from inside.
local function seconds_of(ask)
  local times = {}
  for i = 1, 3 do
    local start = bench.now()
    ask()
    times[i] = bench.now() - start
  end
  collectgarbage()
  return median(times)
end
local path_s = seconds_of(function() assert(heap.path(FIRST)) end)
local classes_s = seconds_of(function() assert(#heap.classes(10) > 5) end)
local each_s = seconds_of(function() assert(heap.each(function() end) > 2 * n_tables) end)
local entries_s = seconds_of(function() heap.stats({objects = false, entries = true}) end)
local left = {}
local clean_s = seconds_of(function() assert(not heap.leaks(function() return {} end)) end)
local leak_s = seconds_of(function() assert(heap.leaks(function() left[#left + 1] = {} end)) end)

local function size_of(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:seek("end")
end

local function report(name, format, value) print(name, (format:format(value))) end
report("watched", "%.4f", watched_s / plain_s)
report("objects", "%d", objects)
report("lua_bytes", "%d", bytes)
report("file_bytes", "%d", size_of(path))
report("collection_s", "%.6f", median(collections))
report("snapshot_s", "%.6f", median(snapshots))
report("count_s", "%.6f", median(counts))
report("stats_s", "%.9f", stats_s)
report("live_path_s", "%.6f", path_s)
report("live_classes_s", "%.6f", classes_s)
report("live_each_s", "%.6f", each_s)
report("entries_s", "%.6f", entries_s)
report("clean_s", "%.6f", clean_s)
report("leak_s", "%.6f", leak_s)
report("pause_s", "%.6f", median(pauses))
report("fork_s", "%.6f", median(forks))
report("extra_bytes", "%d", extra)
report("added_bytes", "%d", math.floor(added * 1024))
report("deepest", "%s", string.format("%p", FIRST))

LAST = grow(LAST, n_tables + 1, n_tables + n_tables // 100)
assert(heap.snapshot(dir .. "/b"))
LAST = grow(LAST, n_tables + n_tables // 100 + 1, n_tables + n_tables // 50)
assert(heap.snapshot(dir .. "/c"))
