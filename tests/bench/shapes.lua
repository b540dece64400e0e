-- shapes.lua - the benchmark of extreme heaps: what each shape of tests/common/shapes.lua costs.
--
--     lua5.4 tests/bench/shapes.lua BUILD [PATTERN]      (the second table of make bench)
--
-- Prints a Markdown table; a time is processor time, the median of three, divided by that of one
-- full collectgarbage() of the same heap. Nothing has a target here: what is superlinear is to be
-- looked into. The light shapes stand out, since Lua marks and sweeps a list that lies in memory in
-- its order at 35 ns an object; and chains of ephemerons, for which it takes the square. Each heap
-- is built in a process of its own, by this file:
--
--     lua5.4 tests/bench/shapes.lua --build NUMBER DIR   prints `name value` lines, leaves DIR/a-c

local shapes = require "tests.common.shapes"
local bench = require "lua_bench"

local MILLION, ROUNDS, ENOUGH_S = 1000000, 3, 5

-- Of three; of fewer where that takes long. measure() returns seconds.
local function median(measure)
  local values, sum = {}, 0
  while #values < ROUNDS and sum < ENOUGH_S do
    values[#values + 1] = measure()
    sum = sum + values[#values]
  end
  table.sort(values)
  return values[(#values + 1) // 2]
end

local function timed(f, ...)
  local words = {...}
  return function()
    local start = os.clock()
    assert(f(table.unpack(words)))
    return os.clock() - start
  end
end

-- ==== One heap =======================================================================

local function build(shape, dir)
  local heap, deepest = require "heap", nil
  local environment = setmetatable(
    {heap = heap, check = require "lua_heapcheck", million = MILLION},
    {__index = _G})
  function environment.deep(object) deepest = ("%p"):format(object) end
  function environment.observe()
    print("snapshot_s", median(timed(heap.snapshot, dir .. "/b")))
    local objects, bytes = assert(heap.snapshot(dir .. "/c"))
    print("objects", objects)
    print("bytes", bytes)
    print("collection_s", median(timed(collectgarbage)))
    print("deepest", deepest)
    os.exit(true, false)
  end
  collectgarbage("stop")
  assert(heap.snapshot(dir .. "/a"))
  local program = assert(load(shape.program, "=shape", "t", environment))
  program()
  if not shape.inside then environment.observe() end
end

if arg[1] == "--build" then
  build(shapes[tonumber(arg[2])], arg[3])
  return
end

-- ==== The table ======================================================================

local tree, pattern = arg[1], arg[2] or ""
local dir = os.tmpname()
os.remove(dir)
assert(os.execute("mkdir " .. dir))
local out = dir .. "/out"

local function run(...)
  local _, _, code, cpu_s = bench.run(out, ...)
  if code ~= 0 then error(("%s: exit code %d"):format(table.concat({...}, " "), code), 0) end
  return cpu_s
end

local function values()
  local result = {}
  for line in io.lines(out) do
    local name, value = line:match("^(%S+)%s+(%S+)$")
    result[name] = value
  end
  return result
end

local function measure(i)
  run(os.getenv("LUA") or "lua5.4", arg[0], "--build", tostring(i), dir)
  local m = values()
  local one = tonumber(m.collection_s)
  local function ratio(seconds) return ("%.2f x"):format(seconds / one) end
  local function command(...)
    local words = {...}
    words[1] = tree .. "/bin/" .. words[1]
    return ratio(median(function() return run(table.unpack(words)) end))
  end
  run(tree .. "/tests/bench_read", dir .. "/c")
  local read = values()
  return {
    shapes[i].name,
    ("%.2f"):format(m.objects / 1e6),
    ("%.0f"):format(m.bytes / 1e6),
    ("%.0f"):format(one * 1e3),
    ratio(tonumber(m.snapshot_s)),
    ratio(tonumber(read.analysed_cpu_s)),
    command("heaptop", dir .. "/c"),
    command("heapdiff", dir .. "/a", dir .. "/b", dir .. "/c"),
    command("heappath", "--format", "text", dir .. "/c", m.deepest),
    command("heapsql", dir .. "/c",
            "select held_by, count(*) from objects where reachable group by 1"),
  }
end

local function print_row(cells)
  print("| " .. table.concat(cells, " | ") .. " |")
  io.stdout:flush()
end

local function main()
  print_row {"shape", "objects, millions", "MB", "one collection, ms", "snapshot",
             "open, analyse", "heaptop", "heapdiff a b c", "heappath", "heapsql, held_by of all"}
  print_row {"---", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:"}
  for i, shape in ipairs(shapes) do
    if shape.name:find(pattern) then
      io.stderr:write("bench: ", shape.name, "\n")
      print_row(measure(i))
    end
  end
end

local ok, message = pcall(main)
os.execute("rm -r " .. dir)
if not ok then
  io.stderr:write("bench: ", message, "\n")
  os.exit(2)
end
