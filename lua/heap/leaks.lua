-- leaks.lua - does a function leave anything behind? `heap.leaks(f)`, for tests in any framework.
--
--     assert(not heap.leaks(function() Session.new():close() end))
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
-- What the quarters left is the same if its fingerprint is, which is class and folded path. What is
-- steady in no fingerprint may be so by path or by class, with any number for a number in a name,
-- or by the variable that it is in: modules that are loaded have a class and a path each, a ring
-- has two ends, and a tree has many. Of a linked list the newest element retains the others, or the
-- oldest does: where they are of many classes, all that is new below it counts.

local heap = require "heap"
local runs = require "heap.runs"

local WARM_UP, RUNS = 5, 20
local MOST_COLLECTIONS = 10 -- until finalizers have let go of what they hold
local LEAST_ENTRIES = 0.1   -- in each run, since only halves are known of them
local UNEVEN = 4            -- times as much may be left of one quarter as of another
local MOST_FINGERPRINTS = 8 -- of a leak with so many no net growth is asked for, it takes too long
local NEARLY_ALL = 0.75     -- of the runs, or of what they left
local MOST_CLASSES = 3      -- are named of one leak
local MOST_HOLDERS = 8      -- of a list, from the root on, are looked at
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

-- {=== What is a leak ======================================================================

local function sum(quarters)
  return quarters[1] + quarters[2] + quarters[3] + quarters[4]
end

local function is_steady(parts, uneven)
  local least, most = math.min(table.unpack(parts)), math.max(table.unpack(parts))
  return least > 0 and most <= uneven * least
end

-- "job 17" and "job 18" as "job *".
local function folded(name) return (name:gsub("%d+", "*")) end

-- Groups of new objects that a key says are the same.
---@class heap.leaks.bundle
---@field quarters number[] objects that are left of each
---@field objects number these, and all that they retain and is new
---@field bytes number of those
---@field groups table[] as in heapdiff's rows, the biggest first
---@field fingerprints string[]
---@field is_linked boolean the objects are elements of a linked list, and all that belongs to it

-- In one of the WAYS.
---@return heap.leaks.bundle[]
local function bundle(groups, way)
  local by_key, list = {}, {}
  for _, group in ipairs(groups) do
    local key = way.key(group)
    local b = by_key[key]
    if not b then
      b = {quarters = {0, 0, 0, 0}, objects = 0, bytes = 0, groups = {}, fingerprints = {},
           is_linked = way.count == "new_objects"}
      by_key[key], list[#list + 1] = b, b
    end
    b.quarters[group.quarter] = b.quarters[group.quarter] + group[way.count]
    b.objects = b.objects + group.new_objects
    b.bytes = b.bytes + group.new_bytes
    if not b.fingerprints[group.fingerprint] then
      b.fingerprints[group.fingerprint] = true
      table.insert(b.fingerprints, group.fingerprint)
    end
    table.insert(b.groups, b.groups[1] and group.objects > b.groups[1].objects and 1
                           or #b.groups + 1, group)
  end
  return list
end

-- What leaks are looked for in.
---@class heap.leaks.search
---@field a heap.snapshot
---@field c heap.snapshot
---@field n integer of the runs between them
---@field more table<string, integer> objects with a fingerprint at c than at a, where it was asked
---@field leaks heap.leak[] found so far
---@field tops heap.object[] one of each

local function more_of(search, fingerprint)
  local more = search.more
  if not more[fingerprint] then
    more[fingerprint] = runs.count(search.c, fingerprint) - runs.count(search.a, fingerprint)
  end
  return more[fingerprint]
end

-- Are there about as many more at c than at a as were made since and stayed?
local function same_have_grown(search, b)
  local grown = 0
  if #b.fingerprints > MOST_FINGERPRINTS then return true end
  for _, fingerprint in ipairs(b.fingerprints) do grown = grown + more_of(search, fingerprint) end
  return grown >= NEARLY_ALL * sum(b.quarters)
end

local function is_below(object, holder)
  while object and object ~= holder do object = object.dominator end
  return object ~= nil
end

-- How many more objects one that is older keeps alive at c than at a, but for the leaks found.
local function grown_below(search, holder)
  local a, c = search.a, search.c
  local grown
  if holder == c.root then
    grown = c.info.reachable_objects - a.info.reachable_objects
  else
    local before = a:object(holder.address)
    if not before then return 0 end
    grown = select(2, c:retained(holder)) - select(2, a:retained(before))
  end
  for i, leak in ipairs(search.leaks) do
    if is_below(search.tops[i], holder) then grown = grown - leak.objects_per_run * search.n end
  end
  return grown
end

-- The same of a list: of all that holds it, since of a queue from which as many are taken its older
-- elements, too, hold more than before.
local function holders_have_grown(search, b)
  local holders, holder = {}, b.groups[1].top.dominator
  while holder do
    table.insert(holders, 1, holder)
    holder = holder.dominator
  end
  for i = 1, math.min(#holders, MOST_HOLDERS) do
    if grown_below(search, holders[i]) < NEARLY_ALL * b.objects then return false end
  end
  return true
end

-- The first or the last one of a list may be held in another way, and be no part of its bundle.
local function per_run_of(objects, n)
  local whole = (objects + 1) // n
  return objects + 1 == whole * n and whole or objects / n
end

local function have_one_top(groups)
  for _, group in ipairs(groups) do
    if group.top ~= groups[1].top then return false end
  end
  return true
end

-- Where one object retains all, and there is half a one of its class in a run, it is of a list
-- whose elements are of many classes.
local function is_linked(b, n)
  local objects = sum(b.quarters)
  return b.is_linked or per_run_of(objects, n) % 1 ~= 0 and b.objects > objects
                        and b.objects >= NEARLY_ALL * n and have_one_top(b.groups)
end

local function has_grown(search, b)
  if is_linked(b, search.n) then return holders_have_grown(search, b) end
  return same_have_grown(search, b)
end

-- "Insert, Delete": the most frequent of the classes, strings behind the others. Those that only
-- numbers tell apart are one, with "*" for the numbers.
local function join(classes)
  local objects, name_of, keys = {}, {}, {}
  for class, n in pairs(classes) do
    local key = folded(class)
    if not objects[key] then keys[#keys + 1] = key end
    name_of[key] = objects[key] and key or class
    objects[key] = (objects[key] or 0) + n
  end
  table.sort(keys, function(x, y)
    if (x == "string") ~= (y == "string") then return y == "string" end
    if objects[x] ~= objects[y] then return objects[x] > objects[y] end
    return x < y
  end)
  local names = {}
  for i = 1, math.min(#keys, MOST_CLASSES) do names[i] = name_of[keys[i]] end
  local told = table.concat(names, ", ")
  return #keys > #names and ("%s and %d more"):format(told, #keys - #names) or told
end

local function classes_of(b)
  local classes = {}
  for _, group in ipairs(b.groups) do
    classes[group.class] = (classes[group.class] or 0) + group.objects
  end
  return join(classes)
end

-- That of the biggest group, with "*" where numbers are all that differs in the others.
local function path_of(b)
  local first = b.groups[1].held_by
  local same, alike = true, true
  for _, group in ipairs(b.groups) do
    same = same and group.held_by == first
    alike = alike and folded(group.held_by) == folded(first)
  end
  return not same and alike and folded(first) or first
end

local function shortest_path_of(b)
  local shortest = b.groups[1].held_by
  for _, group in ipairs(b.groups) do
    if #group.held_by < #shortest then shortest = group.held_by end
  end
  return shortest
end

---@return heap.leak
local function leak_of(b, n)
  local first = b.groups[1]
  local leak = {per_run = per_run_of(sum(b.quarters), n), bytes_per_run = b.bytes / n,
                objects_per_run = per_run_of(b.objects, n), type = first.type,
                fingerprint = first.fingerprint}
  if is_linked(b, n) then
    leak.per_run = leak.objects_per_run
    leak.class = join(runs.below(first.top, first.epoch))
    leak.held_by = shortest_path_of(b)
  else
    leak.class, leak.held_by = classes_of(b), path_of(b)
  end
  return leak
end

-- The global variable, module, upvalue or the like with which a path begins.
local function base_of(path)
  return path:match("^_G%.[^.%[]+") or path:match("^package%.loaded%b[]") or path:match("^%b()")
         or path:match("^[^.%[]+") or path
end

local function by_fingerprint(group) return group.fingerprint end
local function by_path(group) return group.type .. folded(group.held_by) end
local function by_class(group) return group.type .. folded(group.class) end
local function by_base(group) return group.type .. base_of(group.held_by) end
local function by_top(group) return group.top.id end

-- How groups are matched, the surest way first; what of them is counted; how much of it each run
-- must leave, and how uneven it may be.
local WAYS = {
  {key = by_fingerprint, count = "objects", least = 0, uneven = UNEVEN},
  {key = by_path, count = "objects", least = 0, uneven = UNEVEN},
  {key = by_class, count = "objects", least = NEARLY_ALL, uneven = 2},
  {key = by_top, count = "new_objects", least = NEARLY_ALL, uneven = 2},
  {key = by_base, count = "objects", least = NEARLY_ALL, uneven = 2},
}

-- The furthest up of all that retains an object and is as young as the epoch or younger.
local function top_of(object, epoch)
  local top = object
  while object.epoch >= epoch do top, object = object, object.dominator end
  return top
end

-- What is new in each quarter and stays.
local function new_groups(c)
  local groups, epoch = {}, 0
  for i, mark in ipairs(c:marks()) do
    if mark.name == MARKS[1] then epoch = i end
  end
  for quarter = 1, 4 do
    for _, group in ipairs(assert(c:since(MARKS[quarter], MARKS[quarter + 1]))) do
      group.quarter, group.epoch, group.top = quarter, epoch, top_of(group.example, epoch)
      groups[#groups + 1] = group
    end
  end
  return groups
end

-- The leaks as the snapshots are analysed now; n: in so many runs.
local function find_leaks(a, c, n, more)
  local search = {a = a, c = c, n = n, more = more, leaks = {}, tops = {}}
  local groups = new_groups(c)
  for _, way in ipairs(WAYS) do
    local rest = {}
    for _, b in ipairs(bundle(groups, way)) do
      if not is_steady(b.quarters, way.uneven) or sum(b.quarters) < way.least * n then
        table.move(b.groups, 1, #b.groups, #rest + 1, rest)
      elseif has_grown(search, b) then
        table.insert(search.leaks, leak_of(b, n))
        table.insert(search.tops, b.groups[1].top)
      end
    end
    groups = rest
  end
  return search.leaks
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
  for class, of_class in pairs(quarters) do
    if is_steady(of_class, UNEVEN) then
      local grown = 0
      for _ in c:objects {class = class} do grown = grown + 1 end
      for _ in a:objects {class = class} do grown = grown - 1 end
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
    local told = not is_steady({between - before, after - between}, UNEVEN)
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
  local more = {}
  local leaks, known, left = find_leaks(a, c, n, more), {}, {}
  for _, leak in ipairs(leaks) do
    known[leak.fingerprint] = true
    left[leak.class] = (left[leak.class] or 0) + leak.per_run
  end
  runs.analyse(a)
  runs.analyse(c)
  local all = find_leaks(a, c, n, more)
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
  options = options or {}
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
