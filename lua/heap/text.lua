-- text.lua - how what heap.reader hands out is printed: for each kind of value the function that
-- tostring calls. Lists say the answer first, in the words of the commands, then show their first
-- rows in a table; all rows are in the list itself.
--
-- Names that come from a heap are escaped by the library already, but for those in `info`.

local reader = require "heap.reader"

local text = {}

-- Rows of a table, and steps of a path at each end.
local MOST_ROWS, MOST_STEPS = 20, 12

-- {=== Numbers, as the commands print them ================================================

local UNITS = {"KB", "MB", "GB", "TB", "PB", "EB"}

---1204 as "1,204".
---@param n integer
---@return string
function text.count(n)
  local digits = tostring(n)
  local head, rest = digits:match("^(%-?%d%d?%d?)(.*)$")
  while #rest % 3 ~= 0 do
    head, rest = head:sub(1, -2), head:sub(-1) .. rest
  end
  return head .. rest:gsub("%d%d%d", ",%0")
end

---"1 object", "2 objects".
---@param n integer
---@param one string
---@param many? string
---@return string
function text.count_of(n, one, many)
  return text.count(n) .. " " .. (n == 1 and one or many or one .. "s")
end

---Bytes: "1.2 MB", of 1,024 KB each.
---@param bytes integer
---@return string
function text.size(bytes)
  local size, unit = bytes / 1024, 1
  if bytes < 1024 then return text.count(bytes) .. " B" end
  while size >= 1023.95 do size, unit = size / 1024, unit + 1 end
  local whole, tenth = ("%.1f"):format(size):match("^(%d+)%.(%d)$")
  return ("%s.%s %s"):format(text.count(whole), tenth, UNITS[unit])
end

local function change(from, to, print)
  local sign = to > from and "+" or to < from and "-" or ""
  return sign .. print(math.abs(to - from))
end

---"+1.2 MB".
---@param from integer
---@param to integer
---@return string
function text.size_change(from, to) return change(from, to, text.size) end

---"+12".
---@param from integer
---@param to integer
---@return string
function text.count_change(from, to) return change(from, to, text.count) end

---"12.5%".
---@param part integer
---@param whole integer
---@return string
function text.share(part, whole)
  return ("%.1f%%"):format(whole == 0 and 0 or 100 * part / whole)
end

---"2026-11-21 17:40:05 UTC".
---@param time_ns integer
---@return string
function text.time(time_ns)
  return os.date("!%Y-%m-%d %H:%M:%S UTC", time_ns // 1000000000) --[[@as string]]
end

local count, count_of, size = text.count, text.count_of, text.size

-- }=======================================================================================

-- {=== Tables =============================================================================

-- Places that a line takes on the screen, as well as can be known here: one for each character.
local function width(line) return utf8.len(line) or #line end

local function pad(line, places, right)
  local space = (" "):rep(places - width(line))
  return right and space .. line or line .. space
end

---Aligned columns under headings; those whose heading begins with ">" to the right.
---@param headings string[]
---@param rows string[][]
---@return string
function text.columns(headings, rows)
  if #rows == 0 then return "none" end
  local widths, lines = {}, {}
  local function measure(row)
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, width(cell)) end
  end
  local function add(row)
    local cells = {}
    for i, cell in ipairs(row) do
      cells[i] = pad(cell, widths[i], headings[i]:sub(1, 1) == ">")
    end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub(" +$", ""))
  end
  local titles = {}
  for i, heading in ipairs(headings) do titles[i] = heading:gsub("^>", "") end
  measure(titles)
  for _, row in ipairs(rows) do measure(row) end
  add(titles)
  for _, row in ipairs(rows) do add(row) end
  return table.concat(lines, "\n")
end

---The first rows of a list as a table, and how many more there are.
---@param list table what has a length and an index
---@param headings string[]
---@param make fun(row: any, i: integer): string[]
---@param one string what a row is
---@param many? string
---@param total? integer where the list does not have them all
---@return string
function text.rows(list, headings, make, one, many, total)
  local rows = {}
  for i = 1, math.min(#list, MOST_ROWS) do rows[i] = make(list[i], i) end
  local more = (total or #list) - #rows
  local hidden = more > 0 and ("\nand %s more"):format(count_of(more, one, many)) or ""
  return text.columns(headings, rows) .. hidden
end

-- }=======================================================================================

-- {=== Snapshots and objects ==============================================================

text["heap.snapshot"] = function(s)
  local name = reader.escape(s.file or "in memory")
  if s.closed then return ("snapshot %s, closed"):format(name) end
  local info = s.info
  return ("snapshot %s of %s at %s: %s, %s"):format(
    name, reader.escape(info.program), text.time(info.time_ns),
    count_of(info.reachable_objects, "object"), size(info.reachable_bytes))
end

---The class, and of a string its beginning.
---@param o heap.object
---@return string
function text.what(o)
  if o.type ~= "string" or o.dead then return o.class end
  return o.class .. " " .. o:text(32)
end

---What holds it, as people write it; long chains folded.
---@param o heap.object
---@return string
function text.held_by(o)
  if not o.reachable then return "garbage" end
  return o.distance > 2 * MOST_STEPS and o.held_by or o:path()
end

text["heap.object"] = function(o)
  if o.snapshot.closed then return ("object %d of a closed snapshot"):format(o.id) end
  if o.type == "root" then return ("root, %s"):format(size(o.retained_bytes)) end
  local bytes = o.reachable and o.retained_bytes or o.shallow_bytes
  return ("%s %s, %s, %s"):format(text.what(o), o.address, size(bytes), text.held_by(o))
end

---@param o heap.object
local function object_row(o)
  return {size(o.retained_bytes), size(o.shallow_bytes), o.address or "", text.what(o),
    o.type == "root" and "" or text.held_by(o)}
end

local OBJECT_COLUMNS = {">retained", ">shallow", "address", "class", "path"}

text["heap.objects"] = function(list)
  local head = list.total_objects and
    ("%s by %s\n"):format(list.garbage and "Garbage" or "Objects", list.sort) or ""
  return head .. text.rows(list, OBJECT_COLUMNS, object_row, "object", nil, list.total_objects)
end

-- }=======================================================================================

-- {=== Edges ==============================================================================

local function target_text(o)
  return o.type == "root" and "root" or ("%s %s"):format(text.what(o), o.address)
end

text["heap.edge"] = function(e)
  return ("%s -> %s"):format(e.label, target_text(e.target))
end

-- A function's upvalue and what is in it are one step for people.
local function step_rows(path)
  local rows, i = {}, 1
  while i <= #path do
    if i > MOST_STEPS and i <= #path - MOST_STEPS then
      local skipped = #path - MOST_STEPS + 1 - i
      rows[#rows + 1] = {("... %s more ..."):format(count(skipped)), "", "", "", ""}
      i = i + skipped
    end
    local named = path[i]
    local following = i < #path and path[i + 1]
    if named.kind == "upvalue" and following and following.kind == "content" then i = i + 1 end
    local o = path[i].target
    rows[#rows + 1] = {named.label, text.what(o), o.address, size(o.shallow_bytes),
      size(o.retained_bytes)}
    i = i + 1
  end
  return rows
end

local STEP_COLUMNS = {"reference", "class", "address", ">shallow", ">retained"}

text["heap.path"] = function(path)
  local name = #path > 2 * MOST_STEPS and path.held_by or path.text
  return name .. "\n\n" .. text.columns(STEP_COLUMNS, step_rows(path))
end

text["heap.paths"] = function(paths)
  if #paths == 0 then return "nothing keeps " .. target_text(paths.object) .. " alive" end
  local parts = {}
  for i, path in ipairs(paths) do
    local head = i == 1 and target_text(paths.object) .. " is kept alive by: " or "and by: "
    parts[i] = head .. tostring(path)
  end
  if #paths < paths.asked then
    parts[#parts + 1] =
      "Nothing else refers to it, but what does may itself be held in several ways."
  end
  return table.concat(parts, "\n\n")
end

local function referrer_row(e)
  local o = e.source
  local alive = o.reachable and o.type ~= "root"
  return {e.label, o.class, o.address or "",
    not o.reachable and "garbage" or e.weak and "weak" or "", alive and text.held_by(o) or ""}
end

text["heap.referrers"] = function(list)
  local head = #list == 0 and "No reference leads to it" or
    ("%s to %s\n\n"):format(#list == 1 and "1 reference leads" or
      count_of(#list, "reference") .. " lead", target_text(list[1].target))
  if #list == 0 then return head end
  return head .. text.rows(list, {"reference", "from class", "address", "", "from"}, referrer_row,
    "reference")
end

-- }=======================================================================================

-- {=== Streams ============================================================================

---A value of an entry, on one line.
---@param value any
---@return string
function text.value(value)
  if type(value) == "string" then
    local shown = #value > 64 and value:sub(1, 61) .. "..." or value
    return '"' .. reader.escape(shown) .. '"'
  end
  if type(value) ~= "userdata" or not getmetatable(value) then return tostring(value) end
  return target_text(value)
end

local function edge_row(e)
  local o = e.target
  return {e.label, e.weak and "weak" or "", text.what(o), o.address, size(o.shallow_bytes),
    size(o.retained_bytes)}
end

local shows = {
  objects = {OBJECT_COLUMNS, object_row},
  edges = {{"reference", "", "class", "address", ">shallow", ">retained"}, edge_row},
  entries = {{"key", "value"}, function(k, v) return {text.value(k), text.value(v)} end},
}

text["heap.stream"] = function(stream)
  local headings, make = table.unpack(shows[stream.kind])
  local rows, n = {}, 0
  for a, b in stream:copy() do
    n = n + 1
    if n > MOST_ROWS then
      return text.columns(headings, rows) .. "\nand more"
    end
    rows[n] = make(a, b)
  end
  return text.columns(headings, rows)
end

-- }=======================================================================================

return text
