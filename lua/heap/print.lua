-- print.lua - the tostring functions of heap.reader's values. A list prints the answer first, then
-- its first rows as a table. Answers of the library have a text of their own.

local text = require "heap.text"

local count, count_of, size = text.count, text.count_of, text.size
local print = {}

print["heap.snapshot"] = function(s)
  local name = text.escape(s.file or "in memory")
  if s.closed then return ("snapshot %s, closed"):format(name) end
  local info = s.info
  return ("snapshot %s at %s: %s, %s, of %s"):format(name, text.time(info.time_ns),
    count_of(info.reachable_objects, "object"), size(info.reachable_bytes),
    text.cut(info.program, 60))
end

print["heap.object"] = function(o)
  if o.snapshot.closed then return ("object %d of a closed snapshot"):format(o.id) end
  if o.type == "root" then return ("root, %s"):format(size(o.retained_bytes)) end
  local bytes = o.reachable and o.retained_bytes or o.shallow_bytes
  return ("%s, %s, %s"):format(text.object(o), size(bytes), text.held_by(o))
end

local OBJECT_COLUMNS = {">retained", ">shallow", "address", "class", "path"}

---@param o heap.object
local function object_row(o)
  return {size(o.retained_bytes), size(o.shallow_bytes), o.address or "", text.what(o),
    text.held_by(o)}
end

print["heap.objects"] = function(list)
  return text.rows(list, OBJECT_COLUMNS, object_row, "object")
end

print["heap.edge"] = function(e) return ("%s -> %s"):format(e.label, text.object(e.target)) end

print["heap.paths"] = function(paths)
  if #paths == 0 then
    return ("nothing keeps it alive: %s is garbage that was not yet collected"):format(
      text.object(paths.object))
  end
  local parts = {}
  for i, path in ipairs(paths) do
    local head = i == 1 and text.object(paths.object) .. " is kept alive by: " or "and by: "
    parts[i] = head .. tostring(path)
  end
  if #paths < paths.asked then
    parts[#parts + 1] =
      "Nothing else refers to it, but what does may itself be held in several ways."
  end
  return table.concat(parts, "\n\n")
end

print["heap.independent"] = function(list)
  local paths = {}
  for i, path in ipairs(list) do
    paths[i] = "    " .. (#path > text.MOST_STEPS and path.held_by or path.text)
  end
  return ("%s is held by %s%s\n%s"):format(text.object(list.object),
    count_of(#list, "independent path"), list.limited and ", or more" or "",
    table.concat(paths, "\n"))
end

local REFERRER_COLUMNS = {"reference", "from class", "address", "", "from"}

local function referrer_row(e)
  local o = e.source
  local alive = o.reachable
  return {e.label, o.class, o.address or "", not alive and "garbage" or e.weak and "weak" or "",
    alive and text.held_by(o) or ""}
end

print["heap.referrers"] = function(list)
  if #list == 0 then return "0 references lead to it" end
  return ("%s %s to %s\n\n%s"):format(
    count_of(#list, "reference"), #list == 1 and "leads" or "lead", text.object(list[1].target),
    text.rows(list, REFERRER_COLUMNS, referrer_row, "reference"))
end

local function edge_row(e)
  local o = e.target
  return {e.label, e.weak and "weak" or "", text.what(o), o.address, size(o.shallow_bytes),
    size(o.retained_bytes)}
end

local STREAMS = {
  objects = {OBJECT_COLUMNS, object_row},
  edges = {{"reference", "", "class", "address", ">shallow", ">retained"}, edge_row},
  entries = {{"key", "value"}, function(k, v) return {text.value(k), text.value(v)} end},
}

-- Prints the items that are still to come, without moving the stream.
print["heap.stream"] = function(stream)
  local headings, make = table.unpack(STREAMS[stream.kind])
  local rows = {}
  for a, b in stream:copy() do
    if #rows == text.MOST_ROWS then return text.columns(headings, rows) .. "\nand more" end
    rows[#rows + 1] = make(a, b)
  end
  return text.columns(headings, rows)
end

-- "2026-11-21 17:40:05  served 20"; only the time if that is the name.
local function mark_text(name, time_ns)
  local time = text.time(time_ns):gsub(" UTC$", "")
  return (name == "" or name == time) and time or time .. "  " .. text.escape(name)
end

print["heap.marks"] = function(list)
  local function row(mark)
    return {tostring(mark.serial), mark.is_snapshot and "snapshot" or "mark",
      mark_text(mark.name, mark.time_ns)}
  end
  return text.rows(list, {">serial", "by", "since (UTC)"}, row, "mark")
end

print["heap.stack"] = function(stack)
  local lines = {}
  for i, site in ipairs(stack) do lines[i] = (i > 1 and "from " or "") .. site.text end
  return table.concat(lines, "\n")
end

print["heap.texts"] = function(lines)
  if #lines == 0 then return "none" end
  return table.concat(lines, "\n", 1, math.min(#lines, text.MOST_ROWS))
    .. text.hidden(#lines - text.MOST_ROWS, "line")
end

local function count_row(r) return {size(r.bytes), count(r.objects), r.name} end

print["heap.live_counts"] = function(counts)
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

-- The values are weak: some may be collected.
print["heap.live_objects"] = function(objects)
  local list = {}
  for _, o in pairs(objects) do list[#list + 1] = o end
  return text.rows(list, {"address"}, value_row, "object")
end

local function group_row(g)
  return {size(g.retained_bytes), size(g.shallow_bytes), count(g.objects), g.class, g.held_by}
end

print["heap.live_groups"] = function(list)
  local answer = ("%s new and still alive: %s"):format(
    count_of(list.objects, "object"), size(list.shallow_bytes))
  if #list == 0 then return answer end
  return answer .. "\n\n" ..
    text.rows(list, {">retained", ">shallow", ">objects", "class", "held by"}, group_row, "group")
end

local function step_row(step)
  if step.skipped then return {("... %s more ..."):format(count(step.skipped)), "", "", "", ""} end
  return {step.label, step.class, step.address or "",
    step.asker and "the asker's" or step.weak and "weak" or "", step.site or ""}
end

local function step_headings(list, class)
  for _, step in ipairs(list) do
    if step.site then return {"reference", class, "address", "", "allocated at"} end
  end
  return {"reference", class, "address", "", ""}
end

print["heap.live_steps"] = function(list)
  local rows = {}
  for i, step in ipairs(list) do rows[i] = step_row(step) end
  local steps = text.columns(step_headings(list, "class"), rows)
  if not list.path then return "\n" .. steps end -- the prompt prints the path before it
  return ("%s%s\n\n%s"):format(list.path, list.asker and " (the asker's)" or "", steps)
end

print["heap.live_paths"] = function(list)
  local parts = {}
  for i, way in ipairs(list) do parts[i] = print["heap.live_steps"](way) end
  return #parts > 0 and table.concat(parts, "\n\n") or "no paths"
end

print["heap.live_referrers"] = function(list)
  return text.rows(list, step_headings(list, "from class"), step_row, "reference")
end

return print
