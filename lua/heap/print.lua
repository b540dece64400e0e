-- print.lua - how what heap.reader hands out is printed: for each kind of value the function that
-- tostring calls. Lists say the answer first, in the words of the commands, then show their first
-- rows in a table; all rows are in the list itself. Answers of the library bring their text along.
-- How what the live calls return is printed stands in reports_of_live.lua.

local text = require "heap.text"

local count_of, size = text.count_of, text.size
local print = {}

-- {=== Snapshots and objects ==============================================================

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

-- }=======================================================================================

-- {=== Edges ==============================================================================

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

-- }=======================================================================================

-- {=== Streams ============================================================================

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

-- It prints what is still to come, and leaves it where it is.
print["heap.stream"] = function(stream)
  local headings, make = table.unpack(STREAMS[stream.kind])
  local rows = {}
  for a, b in stream:copy() do
    if #rows == text.MOST_ROWS then return text.columns(headings, rows) .. "\nand more" end
    rows[#rows + 1] = make(a, b)
  end
  return text.columns(headings, rows)
end

-- }=======================================================================================

-- {=== Marks, stacks, and lists of lines ===================================================

-- "2026-11-21 17:40:05  served 20", or the time alone where that is the name.
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

-- }=======================================================================================

for kind, report in pairs(require "heap.reports_of_live") do print[kind] = report end

return print
