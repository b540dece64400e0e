-- text.lua - numbers, tables and objects as the commands print them, for heap.reader.

local reader = require "heap.reader"

local text = {}

-- Rows of a table; steps of a path before it is folded.
text.MOST_ROWS, text.MOST_STEPS = 20, 24

text.escape = reader.escape -- a name from outside, for a terminal: one line

-- The command that shows a snapshot, quoted for a shell.
function text.see(file)
  local plain = not file:find("[^%w_./+@%%,:-]")
  return "See it: heapview " .. (plain and file or "'" .. file:gsub("'", "'\\''") .. "'")
end

-- count(1204), count_of(2, "entry", "entries"), size(bytes), time(time_ns).
for name, words in pairs(require "heap.numbers") do text[name] = words end

-- Width on the screen: one column for each character.
local function width(line) return utf8.len(line) or #line end

local function pad(line, places, right)
  local space = (" "):rep(places - width(line))
  return right and space .. line or line .. space
end

-- Aligned columns under headings; a heading that begins with ">" aligns its column to the right.
-- Rows are lists of strings; `below` of a row is a line under it.
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
    if row.below then lines[#lines + 1] = "    " .. row.below end
  end
  local titles = {}
  for i, heading in ipairs(headings) do titles[i] = heading:gsub("^>", "") end
  measure(titles)
  for _, row in ipairs(rows) do measure(row) end
  add(titles)
  for _, row in ipairs(rows) do add(row) end
  return table.concat(lines, "\n")
end

-- "and 12 more classes"; "" if no rows are hidden.
function text.hidden(n, one)
  return n > 0 and ("\nand %s more %s%s"):format(text.count(n), one, n > 1 and "s" or "") or ""
end

-- The first rows of a list, which make(row) makes, and the number of hidden rows, called `one`.
function text.rows(list, headings, make, one)
  local rows = {}
  for i = 1, math.min(#list, text.MOST_ROWS) do rows[i] = make(list[i]) end
  return text.columns(headings, rows) .. text.hidden(#list - #rows, one)
end

-- The beginning of a long text, escaped.
function text.cut(line, most)
  return text.escape(#line > most and line:sub(1, most - 3) .. "..." or line)
end

function text.what(o)
  if o.type ~= "string" or o.dead then return o.class end
  return o.class .. " " .. o:text(32)
end

-- "Listener 0x55d0c0a3f2e0".
function text.object(o)
  return o.address and ("%s %s"):format(text.what(o), o.address) or "root"
end

-- The path that keeps it alive; long paths are folded.
function text.held_by(o)
  if not o.reachable then return "garbage" end
  if not o.address then return "" end
  return o.distance > text.MOST_STEPS and o.held_by or o:path()
end

-- A value of an entry, on one line.
function text.value(value)
  if type(value) == "string" then return '"' .. text.cut(value, 64) .. '"' end
  if type(value) ~= "userdata" or not getmetatable(value) then return tostring(value) end
  return text.object(value)
end

return text
