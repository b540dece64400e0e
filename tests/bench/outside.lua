-- outside.lua - what heapattach costs a program, and how long it takes: pauses by fork, by stop and
-- by gcore, of the same process; and snapshots of it and of its core.
--
--     lua5.4 tests/bench/outside.lua BUILD MILLIONS ...      (make bench OUTSIDE_SIZES="0.2 2 10")
--
-- Prints a Markdown table. The process works all the time, but for the first row. Pauses are the
-- least and the median of seven, in milliseconds as heapattach tells them, and for gcore as the
-- process sees it. What takes processor time is measured in that. A heap of a million objects has
-- 100 MB; the process has a quarter more. Exits 1 when a target is missed.

local build = arg[1]
local sizes = require "tests.bench.sizes"

local ROUNDS, FEW = 7, 3

local dir, out, progress = sizes.dir, sizes.out, sizes.progress
local heapattach = build .. "/bin/heapattach"

local function median_and_least(values)
  table.sort(values)
  return values[(#values + 1) // 2], values[1]
end

-- ==== The process ======================================================================

local Target = {}
Target.__index = Target

-- It reads from a pipe and writes to another.
local function start(millions)
  local to, from = dir .. "/to", dir .. "/from"
  assert(os.execute(("mkfifo %s %s"):format(to, from)))
  assert(os.execute(("%s tests/bench/outside_target.lua %s <%s >%s &"):format(
    os.getenv("LUA") or "lua5.4", millions, to, from)))
  local target = setmetatable({to = assert(io.open(to, "w")), from = assert(io.open(from))}, Target)
  os.remove(to)
  os.remove(from)
  target.pid, target.heap_bytes = target:numbers()
  return target
end

function Target:numbers()
  local values = {}
  for value in assert(self.from:read("l"), "the process ended"):gmatch("%S+") do
    values[#values + 1] = tonumber(value)
  end
  return table.unpack(values)
end

function Target:send(...)
  self.to:write(table.concat({...}, " "), "\n")
  self.to:flush()
end

function Target:ask(...)
  self:send(...)
  return self:numbers()
end

-- Does something while it works; the longest time in seconds in which it could not.
function Target:while_it_works(what)
  local ended = dir .. "/ended"
  os.remove(ended)
  self:send("work", ended)
  what()
  assert(io.open(ended, "w")):close()
  return (self:numbers())
end

function Target:finish()
  self.to:close()
  self.from:close()
end

-- ==== Snapshots ========================================================================

local function read_file(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

-- One snapshot from outside: what it told, with the processor seconds that it took.
local function attach(subject, ...)
  local _, _, seconds = sizes.run(heapattach, subject, "--json", "-o", dir .. "/snapshot", ...)
  local json = read_file(out)
  local told = {seconds = seconds, stillness = json:match('"stillness"%s*:%s*"(%w+)"')}
  for _, key in ipairs {"stopped_ns", "copied_bytes", "attempts", "objects"} do
    told[key] = tonumber(json:match('"' .. key .. '"%s*:%s*(%d+)'))
  end
  return told
end

-- Several of one kind: pauses in seconds, the processor time, the bytes that were copied. Those in
-- which the process was found in another way, by chance, are not among them.
local function attach_often(target, stillness, ...)
  local pauses, times, bytes = {}, {}, {}
  repeat
    local told = attach(tostring(target.pid), ...)
    if told.stillness == stillness then
      pauses[#pauses + 1] = told.stopped_ns / 1e9
      times[#times + 1] = told.seconds
      bytes[#bytes + 1] = told.copied_bytes
    end
  until #pauses == ROUNDS
  local m = {}
  m.pause_s, m.least_pause_s = median_and_least(pauses)
  m.processor_s = median_and_least(times)
  m.bytes = median_and_least(bytes)
  return m
end

local function gcore(target)
  sizes.run("gcore", "-o", dir .. "/core", tostring(target.pid))
  return ("%s/core.%d"):format(dir, target.pid)
end

-- The pause is the target's; of the last one the core is left.
local function gcore_often(target)
  local pauses, core = {}, nil
  for i = 1, FEW do
    pauses[i] = target:while_it_works(function() core = gcore(target) end)
  end
  return core, median_and_least(pauses)
end

local function measure_core(core)
  local times = {}
  for i = 1, FEW do times[i] = attach(core).seconds end
  local file <close> = assert(io.open(core))
  return {processor_s = median_and_least(times), bytes = file:seek("end")}
end

-- ======================================================================================

local function measure(millions)
  progress("%s million objects: building the heap", millions)
  local target <const> = start(millions)
  local m = {heap_bytes = target.heap_bytes}
  m.idle = attach_often(target, "idle")
  m.fork_s, m.least_fork_s = target:ask("fork", ROUNDS)
  progress("%s million objects: attaching", millions)
  target:while_it_works(function()
    m.fork = attach_often(target, "fork")
    m.stop = attach_often(target, "stopped", "--stop")
  end)
  m.copy_s, m.least_copy_s, m.new_copy_s = target:ask("copy", ROUNDS, m.stop.bytes)
  progress("%s million objects: gcore", millions)
  local core
  core, m.gcore_s, m.least_gcore_s = gcore_often(target)
  m.core = measure_core(core)
  os.remove(core)
  m.inside_s, m.background_s = target:ask("inside", ROUNDS, dir .. "/inside")
  target:finish()
  return m
end

local MB, GB = 1e6, 1e9

local function milliseconds(least, median)
  return ("%.2f / %.2f"):format(least * 1e3, median * 1e3)
end

-- To stop all threads and to let them go on takes as long for a small process as for a big one.
local CONSTANT_S = 0.0005

local rows = {
  {"Lua heap, MB", function(m) return m.heap_bytes / MB end, "%.0f"},
  {"writable memory of the process, MB", function(m) return m.stop.bytes / MB end, "%.0f"},
  {"pause of an idle process, ms", function(m) return m.idle.pause_s * 1e3 end, "%.2f", 0},
  {"a bare fork of the process, ms", function(m) return milliseconds(m.least_fork_s, m.fork_s) end},
  {"pause by fork, ms",
   function(m) return milliseconds(m.fork.least_pause_s, m.fork.pause_s) end},
  {"- less 0.5 ms, in bare forks",
   function(m) return (m.fork.least_pause_s - CONSTANT_S) / m.least_fork_s end, "%.2f x", 1.2},
  {"a copy of that memory, ms", function(m) return milliseconds(m.least_copy_s, m.copy_s) end},
  {"pause by stop, ms", function(m) return milliseconds(m.stop.least_pause_s, m.stop.pause_s) end},
  {"- less 0.5 ms, in copies",
   function(m) return (m.stop.least_pause_s - CONSTANT_S) / m.least_copy_s end, "%.2f x", 1.5},
  {"pause by gcore, ms", function(m) return milliseconds(m.least_gcore_s, m.gcore_s) end},
  {"pause of a background snapshot from inside, ms", function(m) return m.background_s * 1e3 end,
   "%.1f"},
  {"a snapshot from inside, ms of processor time", function(m) return m.inside_s * 1e3 end, "%.0f"},
  {"from outside, until the file is finished",
   function(m) return m.fork.processor_s * 1e3 end, "%.0f"},
  {"- in twice that from inside and a copy to new memory",
   function(m) return m.fork.processor_s / (2 * m.inside_s + m.new_copy_s) end, "%.2f x", 1},
  {"from a core, s for each GB", function(m) return m.core.processor_s * GB / m.core.bytes end,
   "%.2f", 4},
}

sizes.main(measure, rows)
