-- leaks.lua - does a function leave anything behind? `heap.leaks(f)`, for tests in any framework.
--
--     local leaks = heap.leaks(function() Session.new():close() end)
--     assert(not leaks, tostring(leaks))
--
-- f runs five times to warm up and, after full collections, twenty times more. If then there are no
-- more objects than before, and tables have no more entries, f leaks nothing: that is the usual
-- case, and it costs the runs, some collections and two counts of all objects. Otherwise forty more
-- runs show whether it is a leak, between three snapshots in memory:
--
--     a | ten runs | ten runs | b | ten runs | ten runs | c
--
-- A leak is what each of the four quarters leaves, about as much of it each, and which is still
-- there at the end; by about that there is more of it than at the beginning. So it is told apart
-- from what only looks like one: what is made once, when it is first needed; caches that fill up,
-- or are full and take new for old; what grows by doubling; code, strings, results of the test
-- framework. Such things may be as big as they like, since objects are counted, not bytes.
--
-- leak_groups.lua tells which of what the quarters left is the same.

local heap = require "heap"
local leak_groups = require "heap.leak_groups"
local runs = require "heap.runs"

local is_steady, sum = leak_groups.is_steady, leak_groups.sum

local WARM_UP, RUNS = 5, 20
local MOST_COLLECTIONS = 10 -- until finalizers have let go of what they hold
local LEAST_ENTRIES = 0.1   -- in each run, since only halves are known of them
local MARKS = {"heap.leaks 1", "heap.leaks 2", "heap.leaks 3", "heap.leaks 4"}

---What f leaves behind, worst first; `tostring` tells it as a table.
---@class heap.leaks
---@field runs integer in which this was seen
---@field classes table<string, number> objects per run of each class, also those inside of others
---@field [integer] heap.leak

---@class heap.leak
---@field per_run number objects; of a container that was there before, entries
---@field objects_per_run? number these, and what is new of all that they retain
---@field inside? true others of the leaks retain these objects and count them
---@field entries? true these are entries, such as numbers, and no objects
---@field bytes_per_run? number what would be freed if they went
---@field class string of the objects ("Insert, Delete"); of the container, if they are entries
---@field type string
---@field held_by string the path that keeps them alive, as heapdiff has it
---@field fingerprint? string

-- {=== Runs ================================================================================

local function run(f, n)
  for _ = 1, n do f() end
end

-- Until a collection frees nothing more.
local function settle()
  local before
  for _ = 1, MOST_COLLECTIONS do
    if collectgarbage() ~= 0 then error("heap.leaks cannot be called by a finalizer", 0) end
    local now = collectgarbage("count")
    if now == before then return end
    before = now
  end
end

-- Of all that is there.
local function count()
  local stats = heap.stats {entries = true}
  return stats.objects, stats.entries
end

-- Is there no more than before, when the function has run n times more? What finalizers let go of
-- takes a second collection.
local function leaves_nothing(f, n)
  settle()
  local objects, entries = count()
  run(f, n)
  for _ = 1, 2 do
    collectgarbage()
    local objects_now, entries_now = count()
    if objects_now <= objects and entries_now <= entries then return true end
  end
  return false
end

-- Marks that go when the variable that holds this does. It has its entries from the beginning, or
-- it would be told itself.
local function new_marks()
  return setmetatable({0, 0, 0, 0}, {__close = function(serials)
    for _, serial in ipairs(serials) do runs.drop(serial) end
  end})
end

-- Calls found(a, b, c) with the snapshots between which the function ran 4 * quarter times. Each
-- quarter begins with its mark.
local function watch(f, quarter, found)
  local marks <close> = new_marks()
  local function begin(i)
    settle()
    marks[i] = runs.mark(MARKS[i])
  end
  begin(1)
  local a <close> = heap.capture()
  run(f, quarter)
  begin(2)
  run(f, quarter)
  begin(3)
  local b <close> = heap.capture()
  run(f, quarter)
  begin(4)
  run(f, quarter)
  settle()
  local c <close> = heap.capture()
  return found(a.reader, b.reader, c.reader)
end

-- }========================================================================================

-- {=== Classes ============================================================================

local function objects_by_class(snapshot)
  local objects = {}
  for _, class in ipairs(snapshot:classes(0, "count")) do
    objects[class.class] = (objects[class.class] or 0) + class.objects
  end
  return objects
end

-- Objects of each class that each run leaves, wherever they are.
local function count_classes(a, c, n)
  local quarters, per_run = {}, {}
  for quarter = 1, 4 do
    for object in c:objects {since = MARKS[quarter], ["until"] = MARKS[quarter + 1]} do
      local of_class = quarters[object.class] or {0, 0, 0, 0}
      of_class[quarter] = of_class[quarter] + 1
      quarters[object.class] = of_class
    end
  end
  local before, after = objects_by_class(a), objects_by_class(c)
  for class, of_class in pairs(quarters) do
    if is_steady(of_class) then
      local grown = after[class] - (before[class] or 0)
      per_run[class] = math.min(grown, sum(of_class)) / n
    end
  end
  return per_run
end

-- A class whose objects are left is told first; `inside`: the other leaks retain them.
local function add_first(leaks, c, class, per_run)
  for i, leak in ipairs(leaks) do
    if leak.class == class and not leak.entries then
      table.insert(leaks, 1, table.remove(leaks, i))
      return
    end
  end
  local function left() return c:objects {class = class, since = MARKS[1]} end
  local first = left()()
  if not first then return end
  table.insert(leaks, 1, {per_run = per_run, inside = true, class = class, type = first.type,
                          bytes_per_run = c:retained(left()) / leaks.runs,
                          held_by = first.held_by})
end

-- }========================================================================================

-- {=== Two views of it =====================================================================

-- Does a leak say that what is in this container became more?
local function tells(leak, container)
  local path = container.held_by
  if leak.held_by == "key of " .. path then return true end
  local from, to = leak.held_by:find(path, 1, true)
  if not from then return false end
  local step = leak.held_by:sub(to + 1)
  return step:find("^%)?%.[%w_]+%*?$") ~= nil or step:find("^%)?%[[^%[%]]*%]%*?$") ~= nil
end

-- Containers that are older than the runs and got entries in each half of them, which are no
-- objects that are told of already.
local function add_entries(leaks, a, b, c, n)
  local n_objects = #leaks
  for _, grown in ipairs(a:diff(b, c).grown) do
    local before, between, after = table.unpack(grown.entries)
    local told = not is_steady({between - before, after - between})
                 or after - before < LEAST_ENTRIES * n
    for i = 1, n_objects do told = told or tells(leaks[i], grown) end
    if not told then
      leaks[#leaks + 1] = {per_run = (after - before) / n, entries = true, class = grown.class,
                           type = "table", held_by = grown.held_by, fingerprint = grown.fingerprint}
    end
  end
end

-- Of what the function itself holds, as an upvalue, another path says more, if there is one; so the
-- snapshots are analysed without it first. What only it holds is what there are more of with it.
local function report(a, b, c, f, main, n, class)
  local without = {f}
  runs.analyse(a, main, without)
  runs.analyse(c, main, without)
  local counts = {}
  local leaks, known, left = leak_groups.find(a, c, MARKS, n, counts), {}, {}
  for _, leak in ipairs(leaks) do
    known[leak.fingerprint] = true
    left[leak.class] = (left[leak.class] or 0) + leak.per_run
  end
  runs.analyse(a)
  runs.analyse(c)
  local all = leak_groups.find(a, c, MARKS, n, counts)
  for _, leak in ipairs(all) do left[leak.class] = (left[leak.class] or 0) - leak.per_run end
  for _, leak in ipairs(all) do
    if not known[leak.fingerprint] and left[leak.class] < 0 then leaks[#leaks + 1] = leak end
  end
  table.sort(leaks, function(x, y)
    if x.bytes_per_run ~= y.bytes_per_run then return x.bytes_per_run > y.bytes_per_run end
    return x.held_by < y.held_by
  end)
  add_entries(leaks, a, b, c, n)
  if #leaks == 0 then return nil end
  leaks.runs, leaks.classes = n, count_classes(a, c, n)
  if leaks.classes[class] then add_first(leaks, c, class, leaks.classes[class]) end
  return leaks
end

-- }========================================================================================

-- {=== Text ================================================================================

-- "2 objects", "0.33 entries".
local function count_of(n, one, many)
  return ("%.3g %s"):format(n, math.abs(n - 1) < 1e-9 and one or many)
end

local function tell(leaks)
  local text = require "heap.text"
  local rows, objects, tops, entries, bytes, left = {}, 0, 0, 0, 0, {}
  for i, leak in ipairs(leaks) do
    local retained = leak.bytes_per_run and text.size(math.floor(leak.bytes_per_run + 0.5)) or ""
    local per_run
    if leak.entries then
      entries = entries + leak.per_run
      per_run = count_of(leak.per_run, "entry", "entries")
    else
      per_run = count_of(leak.per_run, "object", "objects")
      if not leak.inside then
        tops, objects = tops + leak.per_run, objects + leak.objects_per_run
        bytes = bytes + leak.bytes_per_run
      end
    end
    rows[i] = {per_run, retained, leak.class, leak.held_by, leak.fingerprint or ""}
  end
  if objects > 0 then
    left[1] = ("%s (%s in all)"):format(count_of(objects, "object", "objects"),
                                        text.size(math.floor(bytes + 0.5)))
  end
  if entries > 0 then left[#left + 1] = count_of(entries, "entry", "entries") end
  local others = objects - tops > 1e-9 and (";\n%.3g of the objects %s the others"):format(
    tops, tops > 1 and "retain" or "retains") or ""
  return ("each run leaves %s behind, seen in %d runs%s\n\n%s"):format(
    table.concat(left, " and "), leaks.runs, others,
    text.columns({">per run", ">retained", "class", "held by", "fingerprint"}, rows))
end

local report_kind = {__name = "heap.leaks", __tostring = tell}

-- }========================================================================================

---@class heap.leaks.options
---@field runs? integer how often f is run to be watched. Default 20
---@field warm_up? integer and before that. Default 5; more where a cache has to fill up first

local function option(options, name, default, least)
  local value = options[name]
  if value == nil then return default end
  if math.type(value) ~= "integer" or value < least then
    error(("heap.leaks: '%s' must be an integer, %d or more"):format(name, least), 4)
  end
  return value
end

local function read(f, options)
  local kind = debug.getmetatable(f)
  if type(f) ~= "function" and not (type(kind) == "table" and kind.__call) then
    error(("bad argument #1 to 'heap.leaks' (function expected, got %s)"):format(type(f)), 3)
  end
  options = options == nil and {} or options
  if type(options) ~= "table" then
    error(("bad argument #2 to 'heap.leaks' (table expected, got %s)"):format(type(options)), 3)
  end
  for name in pairs(options) do
    if name ~= "runs" and name ~= "warm_up" then
      error(("heap.leaks: there is no option '%s'; they are 'runs' and 'warm_up'"):format(name), 3)
    end
  end
  return option(options, "runs", RUNS, 2), option(options, "warm_up", WARM_UP, 0)
end

---Runs f and tells what it leaves behind; nil if that is nothing.
---@param f function
---@param options? heap.leaks.options
---@param class? string told first, also where other objects that are left retain its objects
---@return heap.leaks?
local function leaks(f, options, class)
  local n, warm_up = read(f, options)
  local quarter = (n + 1) // 2
  run(f, warm_up)
  if leaves_nothing(f, n) then return nil end
  local found = watch(f, quarter, function(a, b, c)
    return report(a, b, c, f, leaks, 4 * quarter, class)
  end)
  return found and setmetatable(found, report_kind)
end

return leaks
