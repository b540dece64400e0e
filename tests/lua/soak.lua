-- soak.lua - a server under load that is looked at every second, for as long as one likes:
--
--     lua5.4 tests/lua/soak.lua BUILD SECONDS       make soak runs it for ten minutes
--
-- The server keeps 5,000 sessions and replaces them one by one, each with a coroutine, a buffer
-- that is concatenated and a finalizer; it leaks nothing. Every second a background snapshot is
-- started, every tenth time a direct one is taken too. Each file is verified by heapcheck and
-- removed. At the end memory, descriptors, zombies and files must be as they were, but for the
-- marks: two userdata of 88 bytes for each snapshot, each with the name. Exit status 1 if anything
-- is not. The size of the process is looked at from five minutes on.

local lfs = require "lfs"

local build, seconds = assert(arg[1]), assert(tonumber(arg[2]))
package.cpath = build .. "/?.so;" .. package.cpath
local heap = require "heap"

local SESSIONS = 5000
local directory = os.tmpname()
os.remove(directory)
assert(lfs.mkdir(directory))

local function read(path, what)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read(what or "a")
  file:close()
  return text
end

-- ==== What is watched ================================================================

local pid = assert(read("/proc/self/stat", "n"))

local function resident_bytes()
  return tonumber(read("/proc/self/statm"):match("^%d+ (%d+)")) * 4096
end

local function entries(path)
  local n = 0
  for name in lfs.dir(path) do n = n + (name:find("^%.%.?$") and 0 or 1) end
  return n
end

-- Children of ours that ended and were not waited for.
local function zombies()
  local n = 0
  for name in lfs.dir("/proc") do
    local state, parent = (name:find("^%d") and read("/proc/" .. name .. "/stat") or "")
      :match("%) (%a) (%d+)")
    if state == "Z" and tonumber(parent) == pid then n = n + 1 end
  end
  return n
end

local function median(list, from, to)
  local part = table.move(list, from, to, 1, {})
  table.sort(part)
  return part[(#part + 1) // 2]
end

-- ==== The server =====================================================================

local sessions, finalized = {}, 0
local meta = {__name = "Session", __gc = function() finalized = finalized + 1 end}

local function talk(session)
  for i = 1, 3 do
    session.buffer[i] = ("line %d of %s "):format(i, session.user):rep(4)
    coroutine.yield()
  end
  session.text = table.concat(session.buffer)
end

local n_served = 0

local function serve()
  n_served = n_served + 1
  local session = setmetatable({user = "user" .. n_served % 100000, buffer = {}}, meta)
  session.thread = coroutine.wrap(talk)
  for _ = 1, n_served % 5 do
    if session.text then break end
    session.thread(session)
  end
  sessions[n_served % SESSIONS + 1] = session
end

-- Bytes of what is left when the server rests, without the string table, whose size has a history.
local function bytes_at_rest()
  sessions = {}
  collectgarbage()
  collectgarbage()
  return math.tointeger(collectgarbage("count") * 1024)
    - heap.stats({objects = false}).string_table.slots * 8
end

-- ==== The snapshots ==================================================================

local jobs, n_started, n_good, mark_bytes, problems = {}, 0, 0, 0, {}

local function problem(...) problems[#problems + 1] = (...):format(select(2, ...)) end

local function next_path()
  n_started = n_started + 1
  local path = ("%s/%06d"):format(directory, n_started)
  mark_bytes = mark_bytes + 2 * (88 + #path)
  return path
end

local function verify(path)
  if os.execute(("%s/bin/heapcheck %s >/dev/null"):format(build, path)) then
    n_good = n_good + 1
  else
    problem("heapcheck did not like %s", path)
  end
  os.remove(path)
end

local BACKGROUND = {background = true}

local function start_one()
  local path = next_path()
  local job, message = heap.snapshot(path, BACKGROUND)
  if job then
    jobs[#jobs + 1] = {job = job, path = path}
  else
    problem("%s", message)
  end
end

local function take_one()
  local path = next_path()
  local objects, message = heap.snapshot(path)
  if objects then verify(path) else problem("%s", message) end
end

-- Those that are done, or all.
local function collect_jobs(all)
  for i = #jobs, 1, -1 do
    local j = jobs[i]
    if all or j.job:done() then
      local objects, message = j.job:wait()
      if objects then verify(j.path) else problem("%s", message) end
      table.remove(jobs, i)
    end
  end
end

-- ====================================================================================

for _ = 1, 3 * SESSIONS do serve() end
start_one()
collect_jobs(true)
local bytes_before, marks_before = bytes_at_rest(), mark_bytes
local descriptors_before = entries("/proc/self/fd")

-- Serves until the time is over; returns the process's size at first and at last, in bytes.
local function serve_and_look()
  local resident, ended, next_second = {}, os.time() + seconds, os.time()
  while os.time() < ended do
    for _ = 1, 200 do serve() end
    if os.time() >= next_second then
      next_second = os.time() + 1
      collect_jobs(false)
      resident[#resident + 1] = resident_bytes()
      start_one()
      if #resident % 10 == 0 then take_one() end
      local open = entries("/proc/self/fd")
      if open ~= descriptors_before then
        problem("%d descriptors are open, not %d", open, descriptors_before)
      end
    end
  end
  local fifth = math.max(1, #resident // 5)
  return median(resident, fifth, 2 * fifth), median(resident, #resident - fifth + 1, #resident)
end

local first, last = serve_and_look()
local n_sessions = #sessions
collect_jobs(true)
local leaked = bytes_at_rest() - bytes_before - (mark_bytes - marks_before)
if leaked > 4096 then -- some 1,300 stay, once: a longer stack, names
  problem("the Lua heap grew by %d bytes, marks aside", leaked)
end
local growth = last - first - mark_bytes
-- malloc keeps what the collector's worst cycle needed, which shows within a minute or two; a
-- sanitizer keeps all that was freed.
if seconds >= 300 and not os.getenv("LUAHEAP_PRELOAD") and growth > first / 20 + 2 ^ 20 then
  problem("the process grew from %d to %d bytes", first, last)
end
if zombies() > 0 then problem("%d zombies are left", zombies()) end
if entries(directory) > 0 then problem("%d files are left", entries(directory)) end
os.execute("rm -rf " .. directory)

print(("%d s, %d sessions served, %d of them at a time, %d finalized")
  :format(seconds, n_served, n_sessions, finalized))
print(("%d snapshots, %d of them verified"):format(n_started, n_good))
print(("resident: %.1f MB at first, %.1f MB at last; Lua heap: %+d bytes, marks aside")
  :format(first / 2 ^ 20, last / 2 ^ 20, leaked))
print(("%d descriptors, as before; no zombie, no file left"):format(descriptors_before))
for i, text in ipairs(problems) do
  if i <= 20 then print("PROBLEM: " .. text) end
end
os.exit(#problems == 0 and n_good == n_started, true)
