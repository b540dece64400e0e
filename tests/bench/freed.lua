-- freed.lua - the pause of each of the first background snapshots of a program that has just freed
-- much: a million of two million small tables, every other one, so that the free chunks lie apart.
--
--     lua5.4 freed.lua [DIR]      prints a line for each call; without DIR, of bare forks instead
--
-- Where a pause asks malloc for small blocks, malloc sorts the free chunks, and writes to their
-- pages for it: that shows as page faults.

-- luacheck: globals KEPT
local bench = require "lua_bench"
local heap = require "heap"

local dir = arg[1]
local N, CALLS = 2000000, 5

-- Half of the tables go, which is freed by the collection.
local function free_much()
  KEPT = {}
  for i = 1, N do KEPT[i] = {i} end
  for i = 1, N, 2 do KEPT[i] = false end
  collectgarbage()
end

local function measure(name, what)
  for i = 1, CALLS do
    local faults, cpu = bench.usage()
    local start = bench.now()
    local job = what()
    local elapsed = bench.now() - start
    local faults_after, cpu_after = bench.usage()
    if job then assert(job:wait()) end
    print(("%-20s %d  %7.2f ms  %7.2f ms of CPU  %6d page faults"):format(
      name, i, elapsed * 1e3, (cpu_after - cpu) * 1e3, faults_after - faults))
  end
end

free_much()
if dir then
  measure("background snapshot", function()
    return assert(heap.snapshot(dir .. "/freed", {background = true}))
  end)
  os.remove(dir .. "/freed")
else
  measure("bare fork", function() bench.fork() end)
end
