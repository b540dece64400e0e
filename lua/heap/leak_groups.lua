-- leak_groups.lua - which of the new objects are the same leak; leaks.lua calls it.
--
-- What each run leaves in one holder, now of this class and now of that, is the same. Else it is if
-- its fingerprint is, which is class and folded path. What is steady in no fingerprint may be so by
-- path or by class, with any number for a number in a name, or by the variable that it is in:
-- modules that are loaded have a class and a path each, a ring has two ends, and a tree has many.
-- Of a linked list the newest element retains the others, or the oldest does: where they are of
-- many classes, all that is new below it counts.
--
-- Of what is steady there must be more than before, by about as much: of the same fingerprint, or,
-- where that cannot tell, of all that is kept alive by what holds it.

local runs = require "heap.runs"

local UNEVEN = 4            -- times as much may be left of one quarter as of another
local MOST_FINGERPRINTS = 8 -- of more it would take too long to count what has each
local NEARLY_ALL = 0.75     -- of the runs, or of what they left
local MOST_CLASSES = 3      -- are named of one leak
local MOST_HOLDERS = 8      -- of a list, from the root on, are looked at

local function sum(quarters)
  return quarters[1] + quarters[2] + quarters[3] + quarters[4]
end

local function is_steady(parts, uneven)
  uneven = uneven or UNEVEN
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
---@field counts table<string, integer[]> objects with a fingerprint at a and c, where it is asked
---@field leaks heap.leak[] found so far
---@field tops heap.object[] one of each

-- Objects with these fingerprints at a and at c, counted by count_ahead.
local function count_same(search, fingerprints)
  local before, after = 0, 0
  for _, fingerprint in ipairs(fingerprints) do
    local counts = search.counts[fingerprint]
    before, after = before + counts[1], after + counts[2]
  end
  return before, after
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

-- Is there one object in each run, of this class or of that?
local function is_mixed(b, n)
  local classes = {}
  for _, group in ipairs(b.groups) do
    classes[group.class] = (classes[group.class] or 0) + group.objects
  end
  for _, objects in pairs(classes) do
    if per_run_of(objects, n) % 1 == 0 then return false end
  end
  return per_run_of(sum(b.quarters), n) % 1 == 0
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

local function have_one_holder(groups)
  for _, group in ipairs(groups) do
    if group.top.dominator ~= groups[1].top.dominator then return false end
  end
  return true
end

local function classes_have_grown(search, b)
  local grown, counted = 0, {}
  for _, group in ipairs(b.groups) do
    local class = group.class
    if not counted[class] then
      for _ in search.c:objects {class = class} do grown = grown + 1 end
      for _ in search.a:objects {class = class} do grown = grown - 1 end
    end
    counted[class] = true
  end
  return grown >= NEARLY_ALL * sum(b.quarters)
end

-- Are there about as many more at c than at a as were made since and stayed? What was never seen
-- before, or is of too many kinds, says nothing of what went for it: then what holds it does. And
-- the older elements of a list may have come to be on another path.
local function has_grown(search, b)
  if is_linked(b, search.n) then return holders_have_grown(search, b) end
  local has_many, has_one = #b.fingerprints > MOST_FINGERPRINTS, have_one_holder(b.groups)
  local before, after = 0, 0
  if not has_many then before, after = count_same(search, b.fingerprints) end
  if has_many or before == 0 and after > 0 then
    return not has_one or holders_have_grown(search, b)
  end
  if after - before >= NEARLY_ALL * sum(b.quarters) then return true end
  return has_one and holders_have_grown(search, b) and classes_have_grown(search, b)
end

local function is_steady_in(b, way, n)
  return is_steady(b.quarters, way.uneven) and sum(b.quarters) >= way.least * n
end

-- Counts what has_grown asks for of all bundles at once: to go over the heap for each of a thousand
-- functions that are loaded anew in each run would take minutes.
local function count_ahead(search, bundles, way)
  local wanted = {}
  for _, b in ipairs(bundles) do
    if is_steady_in(b, way, search.n) and #b.fingerprints <= MOST_FINGERPRINTS
       and not is_linked(b, search.n) then
      for _, fingerprint in ipairs(b.fingerprints) do
        if not search.counts[fingerprint] then wanted[#wanted + 1] = fingerprint end
      end
    end
  end
  if #wanted == 0 then return end
  local before, after = runs.count(search.a, wanted), runs.count(search.c, wanted)
  for i, fingerprint in ipairs(wanted) do
    search.counts[fingerprint] = {before[i], after[i]}
  end
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

-- A group may have several classes by itself.
local function classes_of(b)
  local classes = {}
  if b.groups[1].class:find("^[^{]+, ") then return b.groups[1].class end
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
  local first, objects = b.groups[1], sum(b.quarters)
  local per_run = per_run_of(objects, n)
  local runs_seen = per_run * n == objects and n or objects / per_run
  local leak = {per_run = per_run, bytes_per_run = b.bytes / runs_seen,
                objects_per_run = per_run_of(b.objects, runs_seen), type = first.type,
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
local function by_holder(group)
  return ("%d%s"):format(group.top.dominator.id, base_of(group.held_by))
end

-- How groups are matched, the surest way first; what of them is counted; how much of it each run
-- must leave, and how uneven it may be.
local WAYS = {
  {key = by_holder, count = "objects", least = NEARLY_ALL, uneven = 2, is_mixed = true},
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
local function new_groups(c, marks)
  local groups, epoch = {}, 0
  for i, mark in ipairs(c:marks()) do
    if mark.name == marks[1] then epoch = i end
  end
  for quarter = 1, 4 do
    for _, group in ipairs(assert(c:since(marks[quarter], marks[quarter + 1]))) do
      group.quarter, group.epoch, group.top = quarter, epoch, top_of(group.example, epoch)
      groups[#groups + 1] = group
    end
  end
  return groups
end

---The leaks, as the snapshots are analysed now.
---@param a heap.snapshot
---@param c heap.snapshot
---@param marks string[] names of the marks in c with which the quarters begin
---@param n integer of the runs
---@param counts table<string, integer[]> what was counted; kept from one call to the next
---@return heap.leak[]
local function find(a, c, marks, n, counts)
  local search = {a = a, c = c, n = n, counts = counts, leaks = {}, tops = {}}
  local groups = new_groups(c, marks)
  for _, way in ipairs(WAYS) do
    local bundles, rest = bundle(groups, way), {}
    if not way.is_mixed then count_ahead(search, bundles, way) end
    for _, b in ipairs(bundles) do
      if not is_steady_in(b, way, n)
         or way.is_mixed and not (is_mixed(b, n) and holders_have_grown(search, b)) then
        table.move(b.groups, 1, #b.groups, #rest + 1, rest)
      elseif way.is_mixed or has_grown(search, b) then
        table.insert(search.leaks, leak_of(b, n))
        table.insert(search.tops, b.groups[1].top)
      end
    end
    groups = rest
  end
  return search.leaks
end

return {find = find, is_steady = is_steady, sum = sum}
