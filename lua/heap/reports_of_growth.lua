-- reports_of_growth.lua - how comparisons of snapshots are printed, by two or three and by many.

local text = require "heap.text"

local count, count_of, size = text.count, text.count_of, text.size
local size_change, count_change = text.size_change, text.count_change
local reports = {}

-- {=== Two or three snapshots =============================================================

-- When what is new was allocated, and in what it lives.
local function when(d)
  if d.since then
    local since = text.escape(d.since)
    return d["until"] and ("between the marks %s and %s"):format(since, text.escape(d["until"])) or
      "since the mark " .. since, "the snapshot"
  end
  local names = {}
  for i, name in ipairs(d.snapshots) do names[i] = text.escape(name) end
  return ("between %s and %s"):format(names[1], names[2]), names[#names]
end

local function sentence(d)
  local allocated, last = when(d)
  local line
  if not d.same_state then
    return "The snapshots are of different Lua states, so no object of one is an object of " ..
      "another:\ncompared by class; reader.growth compares them by path, strings() by content"
  elseif d.objects == 0 then
    line = ("Nothing that was allocated %s is still alive in %s"):format(allocated, last)
  else
    line = ("%s allocated %s %s still alive in %s: %s"):format(count_of(d.objects, "object"),
      allocated, d.objects == 1 and "is" or "are", last, size(d.shallow_bytes))
  end
  if d.retained_bytes ~= d.shallow_bytes then
    line = line .. ", retaining " .. size(d.retained_bytes)
  end
  if #d.grown > 0 then
    local bytes = 0
    for _, g in ipairs(d.grown) do
      bytes = bytes + math.max(0, g.shallow_bytes[3] - g.shallow_bytes[1])
    end
    local how = bytes > 0 and "grew by " .. size(bytes) or
      (#d.grown == 1 and "has" or "have") .. " more entries, but no more bytes"
    line = ("%s; %s %s"):format(line, count_of(#d.grown, "older container"), how)
  end
  return line
end

reports["heap.diff"] = function(d)
  local function row(g)
    return {size(g.retained_bytes), size(g.shallow_bytes), count(g.objects), g.class, g.held_by}
  end
  local parts, heads = {sentence(d)}, 0
  for _, g in ipairs(d) do heads = heads + g.objects end
  if heads > 0 and heads < d.objects then
    parts[1] = ("%s\n%s of them %s the others; by class and by what holds them:"):format(parts[1],
      count(heads), heads == 1 and "retains" or "retain")
  end
  if #d > 0 then
    local headings = {">retained", ">shallow", ">objects", "class", "held by"}
    parts[2] = text.rows(d, headings, row, "group")
  end
  if #d.grown > 0 then parts[#parts + 1] = tostring(d.grown) end
  if d.same_state and d.snapshots and #d.snapshots == 2 then
    parts[#parts + 1] = ("%s of %s %s gone%s"):format(
      d.gone_objects == 0 and "Nothing" or count_of(d.gone_objects, "object"),
      text.escape(d.snapshots[1]), d.gone_objects < 2 and "is" or "are",
      d.gone_objects == 0 and "" or ": " .. size(d.gone_bytes))
  end
  if not d.same_state then parts[#parts + 1] = tostring(d.classes) end
  return table.concat(parts, "\n\n")
end

local function series(values, print)
  local shown = {}
  for i, value in ipairs(values) do
    if #values <= 6 or i <= 2 or i > #values - 2 then
      shown[#shown + 1] = print(value)
    elseif i == 3 then
      shown[#shown + 1] = "..."
    end
  end
  return table.concat(shown, " -> ")
end

-- Containers of one class whose paths differ only in what is folded to * are one row, with their
-- sums and the one that grew most.
local function places_of(list)
  local rows, by_place = {}, {}
  for i, g in ipairs(list) do
    local key = g.class .. "\0" .. g.place
    local row = by_place[key]
    if not row then
      row = {first = g, n = 0, index = i, shallow_bytes = {0, 0, 0}, entries = {0, 0, 0}}
      by_place[key], rows[#rows + 1] = row, row
    end
    row.n = row.n + 1
    for _, sum in ipairs {"shallow_bytes", "entries"} do
      for k = 1, 3 do row[sum][k] = row[sum][k] + g[sum][k] end
    end
  end
  table.sort(rows, function(a, b)
    local x, y = a.shallow_bytes, b.shallow_bytes
    if x[3] - x[1] ~= y[3] - y[1] then return x[3] - x[1] > y[3] - y[1] end
    return a.index < b.index
  end)
  return rows
end

reports["heap.grown"] = function(list)
  local places, folded, total = places_of(list), false, #list
  for i = 1, math.min(#places, text.MOST_ROWS) do
    folded = folded or places[i].n > 1
    total = total - places[i].n + 1
  end
  local function row(p)
    local g, bytes = p.first, p.shallow_bytes
    local cells = {size_change(bytes[1], bytes[3]), series(bytes, size),
      g.object.type == "table" and series(p.entries, count) or "-", g.object.address, g.class,
      p.n > 1 and g.place or g.held_by}
    if folded then table.insert(cells, 2, count(p.n)) end
    return cells
  end
  local address = folded and "example" or "address"
  local headings = {">grew", ">bytes", ">entries", address, "class", "path"}
  if folded then table.insert(headings, 2, ">containers") end
  return "Containers older than the first that grew until the second and again until the third\n" ..
    text.rows(places, headings, row, "container", nil, total)
end

reports["heap.changes"] = function(list)
  local function row(c)
    local objects, bytes = c.objects, c.shallow_bytes
    return {size_change(bytes[1], bytes[#bytes]), size(bytes[#bytes]),
      count_change(objects[1], objects[#objects]), count(objects[#objects]), c.class}
  end
  return "Change of classes\n" ..
    text.rows(list, {">bytes", ">now", ">objects", ">now", "class"}, row, "class", "classes")
end

reports["heap.strings"] = function(list)
  local function row(s)
    return {size_change(s.bytes[1], s.bytes[2]), count_change(s.objects[1], s.objects[2]),
      s.example:text(32), text.held_by(s.example)}
  end
  return ("Strings of %s: %s new, %s more often than in %s, %s\n\n"):format(
      text.escape(list.snapshots[2]), count(list.new_strings), count(list.more_strings),
      text.escape(list.snapshots[1]), size_change(0, list.more_bytes)) ..
    text.rows(list, {">bytes", ">objects", "string", "held by"}, row, "string")
end

-- }=======================================================================================

-- {=== Growth =============================================================================

local function rate(bytes)
  local n = math.tointeger(math.floor(math.abs(bytes) + 0.5)) or math.maxinteger
  return bytes < 0 and size_change(n, 0) or size_change(0, n)
end

-- How many objects there are; of containers that stay the same, how many entries.
local function counts(r)
  local function is_level(values)
    for _, value in ipairs(values) do
      if value ~= values[1] then return false end
    end
    return true
  end
  if not is_level(r.objects) or is_level(r.entries) then return series(r.objects, count) end
  return series(r.entries, count) .. " entries"
end

local function growth_row(r)
  return {r.verdict, rate(r.bytes_per_step), series(r.bytes, size), counts(r), r.class, r.held_by}
end

local GROWTH_COLUMNS = {"verdict", ">a step", ">bytes, with what they retain", ">objects", "class",
  "held by"}

reports["heap.growth_by_class"] = function(list)
  return text.rows(list, {"verdict", ">a step", ">bytes", ">objects", "class"}, growth_row, "row")
end

local function is_fixed(g)
  local answer = g.no_longer_grows and
    ("Is it fixed? %s: %s no longer grows"):format(g.fixed and "Yes" or
      g.still_grows and "In part" or "No, it may have moved", g.no_longer_grows) or
    g.still_grows and ("Is it fixed? No: %s still grows"):format(g.still_grows) or
    "Nothing grows, before or after"
  if g.no_longer_grows and g.still_grows then
    answer = answer .. ("\nBut: %s still grows"):format(g.still_grows)
  end
  if g.grows_now then answer = answer .. ("\nNew: %s grows now"):format(g.grows_now) end
  return answer
end

-- Of one before and one after there is no growth to compare, but what there is.
local function less_or_more(g)
  local lines = {}
  if g.no_longer_grows then lines[1] = ("Less: %s has less"):format(g.no_longer_grows) end
  if g.grows_now then lines[#lines + 1] = ("More: %s has more"):format(g.grows_now) end
  return #lines > 0 and table.concat(lines, "\n") or "No difference"
end

local function what_grows(g)
  local steady, once, n = 0, 0, #g.snapshots
  for _, r in ipairs(g) do
    if r.verdict == "grows steadily" then steady = steady + 1 end
    if r.verdict == "grew once" then once = once + 1 end
  end
  local from, to = text.escape(g.snapshots[1]), text.escape(g.snapshots[n])
  local line = ("Nothing grows steadily from %s to %s"):format(from, to)
  if steady > 0 then
    line = ("%s grows steadily from %s to %s: %s a step"):format(g[1].held_by, from, to,
      rate(g[1].bytes_per_step))
    if steady > 1 then
      line = ("%s; %s more %s, too"):format(line, count(steady - 1), steady > 2 and "do" or "does")
    end
  elseif once > 0 then
    line = ("%s; %s grew once"):format(line, count_of(once, "row"))
  end
  local bytes = g.whole.bytes
  return ("%s\nIn all %s -> %s in %s: %s"):format(line, size(bytes[1]), size(bytes[n]),
    count_of(n - 1, "step"), size_change(bytes[1], bytes[n]))
end

reports["heap.growth"] = function(g)
  local head = g.fixed == nil and what_grows(g) or #g.snapshots == 2 and less_or_more(g) or
    is_fixed(g)
  return head .. "\n\n" .. text.rows(g, GROWTH_COLUMNS, growth_row, "row")
end

-- The parts that changed most, below those that they are a part of.
reports["heap.owners"] = function(list)
  local function change(p) return math.abs(p.bytes[2] - p.bytes[1]) end
  local below, greatest = {}, 0
  for i, p in ipairs(list) do
    greatest = math.max(greatest, change(p))
    if p.above then
      below[p.above] = below[p.above] or {}
      table.insert(below[p.above], i)
    end
  end
  local rows, whole = {}, list[1]
  local function add(i, depth)
    local p = list[i]
    local name = p.shared and "(shared by several of these)" or i == 1 and "all" or p.held_by
    rows[#rows + 1] = {size_change(p.bytes[1], p.bytes[2]), size(p.bytes[1]), size(p.bytes[2]),
      count_change(p.objects[1], p.objects[2]), ("  "):rep(depth) .. name, p.class or ""}
    local parts = below[i] or {}
    table.sort(parts, function(a, b)
      local x, y = change(list[a]), change(list[b])
      return x ~= y and x > y or x == y and a < b
    end)
    for _, part in ipairs(parts) do
      local much = change(list[part]) * 20 >= greatest and change(list[part]) > 0
      if much and depth < 12 then add(part, depth + 1) end
    end
  end
  add(1, 0)
  return ("From %s to %s: %s -> %s, %s\n\n"):format(text.escape(list.snapshots[1]),
      text.escape(list.snapshots[#list.snapshots]), size(whole.bytes[1]), size(whole.bytes[2]),
      size_change(whole.bytes[1], whole.bytes[2])) ..
    text.columns({">bytes", ">before", ">after", ">objects", "owner", "class"}, rows)
end

-- }=======================================================================================

return reports
