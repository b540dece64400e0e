-- reports_of_live.lua - how the lists are printed that the live calls return (meta.lua): at a
-- prompt, `heap.top(5)` is a table that can be read.

local text = require "heap.text"
local count, count_of, size = text.count, text.count_of, text.size

local reports = {}

local function count_row(r) return {size(r.bytes), count(r.objects), r.name} end

reports["heap.live_counts"] = function(counts)
  local list = {}
  for name, c in pairs(counts) do
    list[#list + 1] = {name = name, objects = c.objects, bytes = c.bytes}
  end
  table.sort(list, function(x, y)
    if x.bytes ~= y.bytes then return x.bytes > y.bytes end
    return x.name < y.name
  end)
  return text.rows(list, {">shallow", ">objects", "name"}, count_row, "row")
end

local function value_row(o) return {("%s: %p"):format(type(o), o)} end

-- Its values are weak: some may be gone.
reports["heap.live_objects"] = function(objects)
  local list = {}
  for _, o in pairs(objects) do list[#list + 1] = o end
  return text.rows(list, {"address"}, value_row, "object")
end

local function group_row(g)
  return {size(g.retained_bytes), size(g.shallow_bytes), count(g.objects), g.class, g.held_by}
end

reports["heap.live_groups"] = function(list)
  local answer = ("%s new and still alive: %s"):format(
    count_of(list.objects, "object"), size(list.shallow_bytes))
  if #list == 0 then return answer end
  return answer .. "\n\n" ..
    text.rows(list, {">retained", ">shallow", ">objects", "class", "held by"}, group_row, "group")
end

-- A reference, and the object at its other end.
local function step_row(step)
  if step.skipped then return {("... %s more ..."):format(count(step.skipped)), "", "", "", ""} end
  return {step.label, step.class, step.address or "",
    step.asker and "the asker's" or step.weak and "weak" or "", step.site or ""}
end

-- With a column for sites where any is known.
local function step_headings(list, class)
  for _, step in ipairs(list) do
    if step.site then return {"reference", class, "address", "", "allocated at"} end
  end
  return {"reference", class, "address", "", ""}
end

reports["heap.live_steps"] = function(list)
  local rows = {}
  for i, step in ipairs(list) do rows[i] = step_row(step) end
  local steps = text.columns(step_headings(list, "class"), rows)
  if not list.path then return "\n" .. steps end -- the prompt prints the path before it
  return ("%s%s\n\n%s"):format(list.path, list.asker and " (the asker's)" or "", steps)
end

reports["heap.live_paths"] = function(list)
  local parts = {}
  for i, way in ipairs(list) do parts[i] = reports["heap.live_steps"](way) end
  return #parts > 0 and table.concat(parts, "\n\n") or "no paths"
end

reports["heap.live_referrers"] = function(list)
  return text.rows(list, step_headings(list, "from class"), step_row, "reference")
end

return reports
