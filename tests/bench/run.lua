-- run.lua - the benchmark: time and memory at several sizes, as ratios to a full collection.
--
--     lua5.4 tests/bench/run.lua BUILD MILLIONS ...      (make bench SIZES="0.2 1 10")
--
-- Prints a Markdown table. Every time is the median of several, divided by that of one full
-- collectgarbage() of the same heap, in the process that took the snapshots, in the same run. The
-- readers run on files that are in the page cache, each time in a new process. Exits 1 when a
-- target is missed.

local build = arg[1]
local sizes = require "tests.bench.sizes"

local ROUNDS = 5

local dir, out, progress, run = sizes.dir, sizes.out, sizes.progress, sizes.run

local function median(n, measure)
  local values = {}
  for i = 1, n do values[i] = measure() end
  table.sort(values)
  return values[(n + 1) // 2]
end

local function median_run(...)
  local words, peak = {...}, 0
  local seconds = median(3, function()
    local elapsed, bytes = run(table.unpack(words))
    peak = math.max(peak, bytes)
    return elapsed
  end)
  return seconds, peak
end

-- The `name value` lines of the last command.
local function values()
  local result = {}
  for line in io.lines(out) do
    local name, value = line:match("^(%S+)%s+(%S+)$")
    result[name] = tonumber(value) and not value:find("^0x") and tonumber(value) or value
  end
  return result
end

local function measure(millions)
  progress("%s million objects: building the heap, %d collections and snapshots", millions, ROUNDS)
  run(os.getenv("LUA") or "lua5.4", "tests/bench/heap.lua", millions, dir, tostring(ROUNDS))
  local m = values()
  for _, kind in ipairs {"in_order", "chunks"} do
    run(os.getenv("LUA") or "lua5.4", "tests/bench/heaps.lua", millions, dir, "9", kind)
    m[kind] = values()
  end
  progress("%s million objects: reading", millions)
  local reads = {}
  m.read_s = median(3, function()
    run(build .. "/tests/bench_read", dir .. "/a")
    local read = values()
    reads[read.open_s + read.analyse_s] = read
    return read.open_s + read.analyse_s
  end)
  m.read = reads[m.read_s]
  local bin = build .. "/bin/"
  m.heaptop_s, m.heaptop_bytes = median_run(bin .. "heaptop", dir .. "/a")
  m.suspects_s = median_run(bin .. "heaptop", "--suspects", dir .. "/a")
  m.under_s = median_run(bin .. "heaptop", "--under", "root", dir .. "/a")
  m.modules_s = median_run(bin .. "heaptop", "--modules", dir .. "/a")
  m.threads_s = median_run(bin .. "heaptop", "--threads", dir .. "/a")
  m.class_s = median_run(bin .. "heaptop", "--class", "{id, name, next}", dir .. "/a")
  m.waste_s = median_run(bin .. "heaptop", "--waste", dir .. "/a")
  m.growing_s = median_run(bin .. "heaptop", "--growing", dir .. "/a")
  m.heapdiff_s, m.heapdiff_bytes = median_run(bin .. "heapdiff", dir .. "/a", dir .. "/b",
                                              dir .. "/c")
  m.heapsql_s, m.heapsql_bytes = median_run(
    bin .. "heapsql", dir .. "/a", dir .. "/b", dir .. "/c",
    "select class, count(*), sum(shallow_bytes) from c.objects group by 1 order by 3 desc limit 10")
  m.reader_s, m.reader_bytes = median_run(os.getenv("LUA") or "lua5.4", "-e", [[
    local bytes = {}
    for o in require "heap.reader".open(arg[1]):objects() do
      bytes[o.class] = (bytes[o.class] or 0) + o.retained_bytes
    end]], "/dev/null", dir .. "/a")
  m.ladder_s, m.ladder_bytes = median_run(bin .. "heapdiff", "--ladder", dir .. "/a", dir .. "/b",
                                          dir .. "/c")
  m.owners_s = median_run(bin .. "heapdiff", "--owners", dir .. "/a", dir .. "/c")
  m.what_if_s = median_run(bin .. "heappath", "--what-if", "--cut", "_G.LAST", "--cut", "_G.FIRST",
                           "--cut", "_G.FUNCTIONS.*", dir .. "/a", m.deepest)
  m.ignore_s = median_run(bin .. "heappath", "--ignore", "_G.FUNCTIONS.*", "--format", "text",
                          dir .. "/a", m.deepest)
  m.heappath_s, m.heappath_bytes = median_run(bin .. "heappath", "--format", "text", dir .. "/a",
                                              m.deepest)
  m.set_s, m.set_bytes = median_run(bin .. "heappath", "--set", "{id, name, next}", dir .. "/a")
  return m
end

local MB, MIB = 1e6, 1024 * 1024

-- To look at the disk and to plant the mark takes as long for a small heap as for a big one.
local function pause_in_forks(m) return (m.pause_s - 0.0002) / m.fork_s end

-- What, the figure of one size, its format, the target.
local rows = {
  {"objects, millions", function(m) return m.objects / 1e6 end, "%.2f"},
  {"Lua heap, MB", function(m) return m.lua_bytes / MB end, "%.0f"},
  {"one full collection, ms: 1 x", function(m) return m.collection_s * 1e3 end, "%.1f"},
  {"snapshot written to a file", function(m) return m.snapshot_s / m.collection_s end, "%.2f x",
   1.2},
  {"pause of a background snapshot", function(m) return m.pause_s / m.collection_s end, "%.3f x",
   0.02},
  {"- a bare fork of the same program", function(m) return m.fork_s / m.collection_s end, "%.3f x"},
  {"- the pause less 0.2 ms in bare forks, tables made in order, just collected",
   function(m) return pause_in_forks(m.in_order) end, "%.2f", 1.15},
  {"- the same among as many free chunks", function(m) return pause_in_forks(m.chunks) end,
   "%.2f", 1.15},
  {"snapshot of tables made in order, written to a file",
   function(m) return m.in_order.snapshot_s / m.in_order.collection_s end, "%.2f x", 0.8},
  {"- the same among as many free chunks",
   function(m) return m.chunks.snapshot_s / m.chunks.collection_s end, "%.2f x", 0.8},
  {"heap.stats()", function(m) return m.count_s / m.collection_s end, "%.2f x"},
  {"- per object, ns", function(m) return m.count_s / m.objects * 1e9 end, "%.0f"},
  {"heap.stats({objects = false, entries = true})",
   function(m) return m.entries_s / m.collection_s end, "%.2f x"},
  {"heap.stats({objects = false}), µs", function(m) return m.stats_s * 1e6 end, "%.1f"},
  {"heap.path(v)", function(m) return m.live_path_s / m.collection_s end, "%.2f x", 8},
  {"heap.classes()", function(m) return m.live_classes_s / m.collection_s end, "%.2f x", 8},
  {"heap.each(f)", function(m) return m.live_each_s / m.collection_s end, "%.2f x", 8},
  {"heap.leaks(f) of what leaks nothing", function(m) return m.clean_s / m.collection_s end,
   "%.1f x"},
  {"heap.leaks(f) of what leaks", function(m) return m.leak_s / m.collection_s end, "%.1f x"},
  {"a loop that makes tables and strings, watched", function(m) return m.watched end, "%.3f x"},
  {"extra memory while snapshotting, MiB", function(m) return m.extra_bytes / MIB end, "%.2f", 4},
  {"left in the Lua heap (the mark), bytes", function(m) return m.added_bytes end, "%d", 512},
  {"bytes in the file per object", function(m) return m.file_bytes / m.objects end, "%.1f", 28},
  {"open and analyse, from a cold start", function(m) return m.read_s / m.collection_s end,
   "%.2f x", 6},
  {"- open", function(m) return m.read.open_s / m.collection_s end, "%.2f x"},
  {"- analyse", function(m) return m.read.analyse_s / m.collection_s end, "%.2f x"},
  {"- then classify", function(m) return m.read.classify_s / m.collection_s end, "%.2f x"},
  {"edges per object", function(m) return m.read.edges / m.objects end, "%.2f"},
  {"reader's peak memory per object, bytes", function(m) return m.read.peak_bytes / m.objects end,
   "%.1f", 80},
  {"- kept after analysing", function(m) return m.read.kept_bytes / m.objects end, "%.1f"},
  {"heaptop a", function(m) return m.heaptop_s / m.collection_s end, "%.2f x"},
  {"- peak memory with the file, MB", function(m) return m.heaptop_bytes / MB end, "%.0f"},
  {"heaptop --suspects a", function(m) return m.suspects_s / m.collection_s end, "%.2f x", 8},
  {"heaptop --under root a", function(m) return m.under_s / m.collection_s end, "%.2f x", 8},
  {"heaptop --modules a", function(m) return m.modules_s / m.collection_s end, "%.2f x", 8},
  {"heaptop --threads a", function(m) return m.threads_s / m.collection_s end, "%.2f x", 8},
  {"heaptop --class {id, name, next} a", function(m) return m.class_s / m.collection_s end,
   "%.2f x", 8},
  {"heaptop --waste a", function(m) return m.waste_s / m.collection_s end, "%.2f x", 8},
  {"heaptop --growing a", function(m) return m.growing_s / m.collection_s end, "%.2f x", 8},
  {"heapdiff a b c", function(m) return m.heapdiff_s / m.collection_s end, "%.2f x"},
  {"- peak memory with the files, MB", function(m) return m.heapdiff_bytes / MB end, "%.0f"},
  {"heapsql a b c (classes of c)", function(m) return m.heapsql_s / m.collection_s end, "%.2f x",
   8},
  {"- peak memory with the files, MB", function(m) return m.heapsql_bytes / MB end, "%.0f"},
  {"heap.reader, class and bytes of all objects of a",
   function(m) return m.reader_s / m.collection_s end, "%.2f x"},
  {"- peak memory with the file, MB", function(m) return m.reader_bytes / MB end, "%.0f"},
  {"heapdiff --ladder a b c, for each snapshot",
   function(m) return m.ladder_s / 3 / m.collection_s end, "%.2f x", 8},
  {"- peak memory with one file, MB", function(m) return m.ladder_bytes / MB end, "%.0f"},
  {"heapdiff --owners a c", function(m) return m.owners_s / m.collection_s end, "%.2f x", 8},
  {"heappath a (the longest path)", function(m) return m.heappath_s / m.collection_s end,
   "%.2f x", 8},
  {"heappath --ignore a", function(m) return m.ignore_s / m.collection_s end, "%.2f x", 8},
  {"heappath --what-if a (three cuts)", function(m) return m.what_if_s / m.collection_s end,
   "%.2f x", 8},
  {"- peak memory with the file, MB", function(m) return m.heappath_bytes / MB end, "%.0f"},
  {"heappath --set (half of all objects) a", function(m) return m.set_s / m.collection_s end,
   "%.2f x", 8},
  {"- peak memory with the file, MB", function(m) return m.set_bytes / MB end, "%.0f"},
}

sizes.main(measure, rows)
