-- heaps.lua - snapshots of two more heaps: what they cost, and how long the program pauses.
--
--     lua5.4 heaps.lua MILLIONS DIR ROUNDS KIND      prints `name value` lines
--
-- KIND is "in_order": tables {id, name, next}, as they were made, so that a collection comes along
-- them by the processor's prefetching and is cheap; or "chunks": the same, and as many free chunks
-- of memory as objects, all over. A pause and a bare fork are each measured after a collection: it
-- writes to all pages, which the next fork has to protect again, as the first one did.

-- luacheck: globals LAST KEPT
local bench = require "lua_bench"
local heap = require "heap"

local millions, dir, rounds, kind = tonumber(arg[1]), arg[2], tonumber(arg[3]), arg[4]

local function grow(last, n)
  for i = 1, n do last = {id = i, name = "name" .. i, next = last} end
  return last
end

local n_tables = math.floor(millions * 1e6 / 2)
LAST = grow(nil, n_tables)
if kind == "chunks" then
  local free, n = grow(nil, n_tables), 0
  KEPT = {}
  while free do
    local following = free.next
    n = n + 1
    if n % 4 == 0 then
      free.next = nil
      KEPT[n // 4] = free
    end
    free = following
  end
end
collectgarbage()

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

local function seconds_of(what)
  local start = bench.now()
  what()
  return bench.now() - start
end

local pauses, forks, collections, snapshots = {}, {}, {}, {}
local function pause()
  local job
  pauses[#pauses + 1] = seconds_of(function()
    job = assert(heap.snapshot(dir .. "/background", {background = true}))
  end)
  assert(job:wait())
end
local function fork() forks[#forks + 1] = bench.fork() end
for i = 1, rounds do -- the first call of each is among them
  for _, measure in ipairs(i % 2 == 0 and {pause, fork} or {fork, pause}) do
    collections[#collections + 1] = seconds_of(collectgarbage)
    measure()
  end
  snapshots[i] = seconds_of(function() assert(heap.snapshot(dir .. "/heaps")) end)
end

print("pause_s", ("%.6f"):format(median(pauses)))
print("fork_s", ("%.6f"):format(median(forks)))
print("collection_s", ("%.6f"):format(median(collections)))
print("snapshot_s", ("%.6f"):format(median(snapshots)))
