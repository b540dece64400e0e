-- leaks.lua - heap.leaks(f) finds what a function leaves behind, for tests in any framework.
--
--     local leaks = heap.leaks(function() Session.new():close() end)
--     assert(not leaks, tostring(leaks))
--
-- f runs 5 times to warm up, then 512 times. If a full collection then leaves no new object and no
-- new entry, f leaks nothing: the usual case, which costs the runs, some collections and a count of
-- all objects. Otherwise f runs on, twice as often each time, because a cache looks like a leak
-- until it is full; snapshots in memory show whether a place grows. A leak is what each quarter of
-- the latest runs leaves, the second half as much as the first, while no older object vanishes
-- (lib/compare/trial.c). It ends
--
--     when nothing grows any more
--     when what grows is too much for a cache: 3,000 objects at one place, no fewer than before
--     when 128 objects with a finalizer stay, such as files, of which a process has few
--     after 8,192 runs, or when 128 MB are left
--
-- The last runs are tracked (heap.track), unless the program tracks itself, so a leak has its
-- allocation site. A leak in one of 50 runs is found; one in 2,000 of these is missed by chance, if
-- it does not happen in the first 384 runs. The result depends on f alone: objects count, not bytes
-- or time.

local heap = require "heap"
local numbers = require "heap.numbers"
local runs = require "heap.runs"

local WARM_UP, RUNS = 5, 8192
local FIRST = 512           -- from so many runs on something is told
local LEAST_RUNS = 8        -- of a quarter each in their second half
local MOST_COLLECTIONS = 10 -- until finalizers have let go of what they hold
local MOST_KBYTES = 128 * 1024
local SEE = 'See it: heap.leaks(f, {file = "leak.heap"}), then heapview leak.heap'
local BEGIN, MARK = "heap.leaks: begin", "heap.leaks"

---What f leaves behind, worst first; `tostring` prints it as a table.
---@class heap.leaks
---@field runs integer how often f was run
---@field classes table<string, number> objects per run of each class, also those inside of others
---@field file? string that holds the snapshot, if the options have one
---@field file_error? string why it does not
---@field few_runs? true these runs cannot tell a leak from a cache that fills up: the option `runs`
---allows no more, or all leaks are `unsteady`
---@field see? string the last line of the text, if there is no file
---@field [integer] heap.leak

---@class heap.leak
---@field per_run number objects that hang there; or entries
---@field objects_per_run? number these, and what is new of all that they retain
---@field inside? true others of the leaks retain these objects and count them
---@field entries? true these are entries, such as numbers, and no objects
---@field unsteady? true fewer came than in the runs before, or most went once: it may be a cache
---that is not full yet, or emptied now and then
---@field bytes_per_run? number what would be freed if they went
---@field class string of the objects ("Insert, Delete"); of the container, if they are entries
---@field type string
---@field held_by string the path that keeps them alive, as heapdiff has it
---@field allocated? string "allocated at @app.lua:31 in Bus:on", of most objects, or of those in
---the entries
---@field fingerprint? string

-- ==== Runs ================================================================================

local function collect()
  if collectgarbage() ~= 0 then error("heap.leaks cannot be called by a finalizer", 0) end
end

-- Collects until a collection frees nothing more.
local function settle()
  local before
  for _ = 1, MOST_COLLECTIONS do
    collect()
    local now = collectgarbage("count")
    if now == before then return end
    before = now
  end
end

local function count_entries() return heap.stats({objects = false, entries = true}).entries end

-- The second collection frees what finalizers released.
local function is_clean(trial, entries)
  for _ = 1, 2 do
    collect()
    if runs.young(trial) == 0 and count_entries() == entries then return true end
  end
  return false
end

-- Marks each quarter. A collection before a mark runs finalizers, whose objects belong to the
-- quarter. Tracking begins as late as possible, so that a function without leaks is hardly slower:
-- the first report does not need the last quarter of all runs.
local function run_quarters(f, trial, from, to, begin_tracking)
  for quarter = 1, 4 do
    local done, at = from + (to - from) * (quarter - 1) // 4, from + (to - from) * quarter // 4
    if quarter == 2 and to >= FIRST then begin_tracking() end
    for _ = done + 1, at do f() end
    if from >= FIRST and quarter < 4 then collect() end
    runs.mark(trial, MARK, at)
  end
end

-- Lua 5.5 does not count the texts of long strings: one pass over all objects adds them up.
local function kbytes()
  local external = _VERSION == "Lua 5.4" and 0 or heap.stats().external_bytes
  return collectgarbage("count") + external / 1024
end

local function is_too_much(before)
  if kbytes() - before <= MOST_KBYTES then return false end
  settle()
  return kbytes() - before > MOST_KBYTES
end

-- Moves the leak of this class to the front; adds it if other leaks retain its objects.
local function add_first(leaks, snapshot, class)
  local per_run = leaks.classes[class]
  if not per_run then return end
  for i, leak in ipairs(leaks) do
    if leak.class == class and not leak.entries then
      table.insert(leaks, 1, table.remove(leaks, i))
      return
    end
  end
  local function left() return snapshot:objects {class = class, since = BEGIN} end
  local first = left()()
  table.insert(leaks, 1, {per_run = per_run, inside = true, class = class, type = first.type,
                          bytes_per_run = snapshot:retained(left()) / leaks.runs,
                          held_by = first.held_by,
                          allocated = first.stack and first.stack.allocated})
end

-- The caller of f itself is always this file, so it is cut off.
local from_here = ", from " .. debug.getinfo(1, "S").source .. ":"
local function without_us(allocated)
  local ours = allocated and allocated:find(from_here, 1, true)
  return ours and allocated:sub(1, ours - 1) or allocated
end

local function save(leaks, capture, file)
  local saved, message = capture:save(file)
  leaks.file, leaks.file_error = saved and file or nil, message
end

local function report(trial, capture, f, main, now, is_last, asked)
  local snapshot = capture.reader
  local leaks, classes = runs.leaks(trial, snapshot, main, f, is_last)
  if #leaks == 0 then return nil end
  leaks.runs, leaks.classes, leaks.see = now, classes, SEE
  if asked.file then save(leaks, capture, asked.file) end
  if asked.class then add_first(leaks, snapshot, asked.class) end
  local are_unsteady = true
  for _, leak in ipairs(leaks) do
    leak.allocated = without_us(leak.allocated)
    are_unsteady = are_unsteady and leak.unsteady
  end
  leaks.few_runs = are_unsteady
  return leaks
end

-- How often `most` is halved for the first snapshot.
local function halvings_of(most)
  local n = 0
  while most >> n >= LEAST_RUNS do n = n + 1 end
  return n
end

-- Returns the leaks, or nil.
local function watch(f, main, asked)
  local most, tracks = asked.runs, asked.track
  local trial <close> = runs.trial()
  collect()
  local before, entries, done, counted = kbytes(), count_entries(), 0, nil
  local first <close> = heap.capture()
  local function begin_tracking()
    if not tracks then return end
    entries = entries + runs.track(trial)
    tracks = false
  end
  if most < 2 * FIRST then begin_tracking() end
  runs.mark(trial, BEGIN, 0)
  for halvings = halvings_of(most), 0, -1 do
    local now = most >> halvings
    run_quarters(f, trial, done, now, begin_tracking)
    done = now
    local is_last = halvings == 0 or is_too_much(before)
    local reports = is_last or now >= FIRST
    if reports or halvings == 1 then
      if reports and not counted and is_clean(trial, entries) then return nil end
      settle()
      local capture <close> = heap.capture()
      if not counted then runs.add(trial, first.reader, main, f, 0, 0) end
      runs.add(trial, capture.reader, main, f, counted or 0, now)
      counted = now
      local verdict = reports and runs.verdict(trial)
      if verdict == "nothing" then return nil end
      if verdict == "certain" or is_last then
        local leaks = report(trial, capture, f, main, now, is_last, asked)
        local is_few = verdict == "open" and now == most and most < RUNS
        if leaks then leaks.few_runs = is_few or leaks.few_runs or nil end
        return leaks
      end
    end
  end
end

-- ==== Text ================================================================================

-- An average of runs: 0.998 is 1.
local function is_whole(n)
  local near = math.floor(n + 0.5)
  return math.abs(n - near) <= 0.01 * near
end

-- So many runs leave a whole number of objects, and of entries; else 100.
local function runs_between(objects, entries)
  local candidates = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                      math.max(1, math.floor(1 / math.max(objects, entries) + 0.5))}
  for _, n in ipairs(candidates) do
    if is_whole(n * objects) and is_whole(n * entries) then return n end
  end
  return 100
end

local function count_of(n, one, many)
  local count = n < 999.5 and ("%.3g"):format(n) or numbers.count(math.floor(n + 0.5))
  return ("%s %s"):format(count, count == "1" and one or many)
end

local function size(bytes) return numbers.size(math.floor(bytes + 0.5)) end

-- What one run leaves on average, all leaks together.
local function sum_of(leaks)
  local sum = {objects = 0, tops = 0, entries = 0, bytes = 0}
  for _, leak in ipairs(leaks) do
    if leak.entries then
      sum.entries = sum.entries + leak.per_run
    elseif not leak.inside then
      sum.tops, sum.objects = sum.tops + leak.per_run, sum.objects + leak.objects_per_run
      sum.bytes = sum.bytes + leak.bytes_per_run
    end
  end
  return sum
end

local function who_leaves(leaks, objects, n_runs)
  local is_exact = is_whole(objects * n_runs)
  for _, leak in ipairs(leaks) do is_exact = is_exact and is_whole(leak.per_run * n_runs) end
  return (n_runs == 1 and "each run leaves" or ("every %d runs leave"):format(n_runs))
         .. (is_exact and "" or " on average")
end

-- "each run leaves 2 objects (112 B in all) behind, seen in 4096 runs".
local function headline(leaks)
  local sum, left = sum_of(leaks), {}
  local n_runs = runs_between(sum.tops, sum.entries)
  local function whole(n)
    n = n * n_runs
    return (is_whole(n) or n_runs > 1 and n >= 10) and math.floor(n + 0.5) or n
  end
  local objects, tops, entries = whole(sum.objects), whole(sum.tops), whole(sum.entries)
  if objects > 0 then
    left[1] = ("%s (%s in all)"):format(count_of(objects, "object", "objects"),
                                        size(sum.bytes * n_runs))
  end
  if entries > 0 then left[#left + 1] = count_of(entries, "entry", "entries") end
  local others = objects > tops and (";\n%s the others"):format(
    count_of(tops, "of the objects retains", "of the objects retain")) or ""
  local more = leaks.runs < RUNS and "leave out 'runs = %d' to know" or "'runs = %d' may"
  local few = leaks.few_runs and
    ("\n%d runs cannot tell a leak from a cache that fills up: " .. more):format(
      leaks.runs, leaks.runs < RUNS and leaks.runs or 4 * leaks.runs) or ""
  return ("%s %s behind, seen in %d runs%s%s"):format(
    who_leaves(leaks, sum.objects, n_runs), table.concat(left, " and "), leaks.runs, others, few)
end

-- What comes in less than half of the runs: "1 object in 16 runs", and the bytes of one. So the
-- first two columns are of as many objects.
local function amount(leak)
  local words = leak.entries and {"entry", "entries"} or {"object", "objects"}
  local bytes, n = leak.bytes_per_run, math.floor(1 / leak.per_run + 0.5)
  if n < 2 then return count_of(leak.per_run, words[1], words[2]), bytes end
  return ("%s1 %s in %s runs"):format(is_whole(leak.per_run * n) and "" or "about ", words[1],
                                      numbers.count(n)), bytes and bytes / leak.per_run
end

local function lines_below(leak)
  if not leak.unsteady then return leak.allocated end
  return (leak.allocated and leak.allocated .. "\n    " or "")
         .. "fewer came later, or most went once: a cache that is not full yet looks so, "
         .. "and what is emptied now and then"
end

local function describe(leaks)
  local text, rows = require "heap.text", {}
  for i, leak in ipairs(leaks) do
    local count, bytes = amount(leak)
    rows[i] = {count, bytes and size(bytes) or "", leak.class, leak.held_by,
               leak.fingerprint or "", below = lines_below(leak)}
  end
  local see = leaks.file and text.see(leaks.file) or leaks.file_error or leaks.see
  return ("%s\n\n%s%s"):format(
    headline(leaks),
    text.columns({">per run", ">retaining", "class", "held by", "fingerprint"}, rows),
    see and "\n\n" .. see or "")
end

local report_kind = {__name = "heap.leaks", __tostring = describe}

---@class heap.leaks.options
---@field runs? integer how often f is run at most. Default 8192
---@field warm_up? integer and before that. Default 5
---@field track? boolean false: nothing is tracked meanwhile, and leaks do not tell where they were
---allocated
---@field file? string a snapshot of what is left goes there, where something is

local LEAST = {runs = LEAST_RUNS, warm_up = 0}

local function check_option(name, value)
  local message
  if LEAST[name] and (math.type(value) ~= "integer" or value < LEAST[name]) then
    message = ("'%s' must be an integer, %d or more"):format(name, LEAST[name])
  elseif name == "file" and type(value) ~= "string" then
    message = "'file' must be the name of a file"
  elseif not LEAST[name] and name ~= "file" and name ~= "track" then
    message = ("there is no option '%s'; they are 'runs', 'warm_up', 'track' and 'file'")
      :format(name)
  end
  if message then error("heap.leaks: " .. message, 4) end
end

local function read(f, options, class)
  local kind = debug.getmetatable(f)
  if type(f) ~= "function" and not (type(kind) == "table" and kind.__call) then
    error(("bad argument #1 to 'heap.leaks' (function expected, got %s)"):format(type(f)), 3)
  end
  if options ~= nil and type(options) ~= "table" then
    error(("bad argument #2 to 'heap.leaks' (table expected, got %s)"):format(type(options)), 3)
  end
  local asked = {runs = RUNS, warm_up = WARM_UP, track = true, class = class}
  for name, value in pairs(options or {}) do
    check_option(name, value)
    asked[name] = value
  end
  return asked
end

---Runs f and returns what it leaves behind; nil: nothing.
---@param f function
---@param options? heap.leaks.options
---@param class? string told first, also where other objects that are left retain its objects
---@return heap.leaks?
local function leaks(f, options, class)
  local asked = read(f, options, class)
  for _ = 1, asked.warm_up do f() end
  local found = watch(f, leaks, asked)
  return found and setmetatable(found, report_kind)
end

return leaks
