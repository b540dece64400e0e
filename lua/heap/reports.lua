-- reports.lua - how the reports of heap.reader are printed: the sentences of the commands, then the
-- first rows of the table.

local text = require "heap.text"

local count, count_of, size, share = text.count, text.count_of, text.size, text.share
local reports = {}

-- {=== What it is, what in it is big, and when it came ====================================

reports["heap.info"] = function(info)
  local missing = info.unaccounted_bytes
  local lines = {text.escape(info.program), ("Lua %s, process %d, snapshot %s at %s\n"):format(
    text.escape(info.lua_release), info.process_id, text.escape(info.name),
    text.time(info.time_ns))}
  local function line(what, objects, bytes)
    lines[#lines + 1] = ("  %-23s %12s %14s"):format(what, objects and count(objects) or "",
      bytes < 0 and text.size_change(-bytes, 0) or size(bytes))
  end
  line("objects", info.objects, info.bytes)
  line("  reachable", info.reachable_objects, info.reachable_bytes)
  line("  garbage", info.garbage_objects, info.garbage_bytes)
  line("string table", nil, info.string_table_bytes)
  line("unaccounted", nil, missing)
  line('collectgarbage("count")', nil, info.gc_bytes)
  return table.concat(lines, "\n")
end

reports["heap.classes"] = function(list)
  local function row(r)
    local cells = {size(r.retained_bytes), share(r.retained_bytes, list.all_bytes),
      size(r.shallow_bytes), count(r.objects), r.type, r.class}
    if list.garbage then
      table.remove(cells, 1)
      cells[1] = share(r.shallow_bytes, list.all_bytes)
    end
    return cells
  end
  local headings = {">retained", ">share", ">shallow", ">objects", "type", "class"}
  if list.garbage then table.remove(headings, 1) end
  return ("%s by %s\n\n"):format(list.garbage and "Classes of garbage" or "Classes",
      list.sort == "count" and "count" or list.sort .. " size") ..
    text.rows(list, headings, row, "class", "classes", list.total_classes)
end

-- "2026-11-21 17:40:05  served 20", or the time alone where that is the name.
local function mark_text(name, time_ns)
  local time = text.time(time_ns):gsub(" UTC$", "")
  return (name == "" or name == time) and time or time .. "  " .. text.escape(name)
end

reports["heap.marks"] = function(list)
  local function row(mark)
    return {tostring(mark.serial), mark.is_snapshot and "snapshot" or "mark",
      mark_text(mark.name, mark.time_ns)}
  end
  return text.rows(list, {">serial", "by", "since (UTC)"}, row, "mark")
end

-- All rows: there are no more than marks, and the last ones matter most.
reports["heap.epochs"] = function(list)
  local all, biggest, rows = 0, 0, {}
  for _, r in ipairs(list) do
    all, biggest = all + r.shallow_bytes, math.max(biggest, r.shallow_bytes)
  end
  for i, r in ipairs(list) do
    local bar = biggest == 0 and 0 or math.ceil(20 * r.shallow_bytes / biggest)
    rows[i] = {size(r.shallow_bytes), share(r.shallow_bytes, all), count(r.objects),
      ("#"):rep(bar), r.mark and mark_text(r.mark, r.time_ns) or "the start"}
  end
  local head = "No mark was left before this snapshot; heap.mark() by period makes a timeline"
  if #list > 1 then
    local since = all - list[1].shallow_bytes
    head = ("%s of %s, %s, was allocated since %s, the first mark"):format(
      share(since, all), list.garbage and "the garbage" or "what lives", size(since),
      text.escape(list[2].mark))
  end
  return head .. "\n\n" ..
    text.columns({">shallow", ">share", ">objects", "", "since (UTC)"}, rows)
end

-- }=======================================================================================

-- {=== Suspects ===========================================================================

local things = text.things

local VERBS = {holder = "holds", itself = "is big by itself:", list = "begins a list of",
  tree = "is the root of a tree of", spread = "are held by many"}

-- Of what was condemned nothing but its size is known.
local function itself(o)
  if o.dead then
    return text.what(o)
  elseif o.type == "table" then
    return ("%s with %s"):format(text.what(o),
      count_of(o.array_used + o.hash_used, "entry", "entries"))
  elseif o.type == "thread" then
    return ("%s with a stack of %s"):format(text.what(o), count_of(#o:frames(), "frame"))
  end
  return text.what(o)
end

local function contents(s)
  local first = s.accumulated[1]
  if not first then return itself(s.object) end
  if 2 * first.retained_bytes >= s.retained_bytes then return things(first, first.objects) end
  return ("%s of %s"):format(count_of(s.objects, "object"),
    count_of(s.total_classes, "class", "classes"))
end

-- Does another object than the place that dominates them refer to what accumulated there?
local function is_held_below(s)
  local first = s.accumulated[1] -- of a forged file there may be none
  if s.kind ~= "holder" or not first or first.objects < 2 or first.example.type == "string" then
    return false
  end
  local steps = first.example:paths(1)[1]
  return steps[#steps].source ~= s.object
end

local function suspect_lines(s, all_bytes)
  local lines, what = {}, contents(s)
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  local measured = ("%s, %s of the heap"):format(size(s.retained_bytes),
    share(s.retained_bytes, all_bytes))
  if s.kind ~= "spread" then
    add("%s %s %s, %s", text.held_by(s.object), VERBS[s.kind], what, measured)
  elseif s.total_holders == 1 then
    add("%s %s %s, %s", s.holders[1].path, VERBS.holder, what, measured)
  else
    add("%s %s, %s", what, VERBS.spread, measured)
    for _, holder in ipairs(s.holders) do
      add("    %s by %s", count(holder.objects), holder.path)
    end
    local others = s.total_holders - #s.holders
    if others > 0 then add("    and by %s", count_of(others, "other")) end
    if s.object then add("    all of them go with %s only", text.held_by(s.object)) end
  end
  for _, a in ipairs(s.accumulated) do
    local each = size(a.retained_bytes // a.objects) .. " each" ..
      (a.objects > 1 and " on average" or "")
    if s.total_classes == 1 then
      add("    %s", each)
    else
      add("    %s, %s, %s", things(a, a.objects), size(a.retained_bytes), each)
    end
  end
  local example = s.kind == "spread" and s.accumulated[1].example or s.object
  local one = s.kind == "spread"
  add('    Why %s: SNAPSHOT:object("%s"):paths()', one and "one of them stays" or "it stays",
    example.address)
  if s.kind ~= "itself" then
    add('    What is in %s: SNAPSHOT:object("%s"):under()', one and "one" or "it", example.address)
  end
  if is_held_below(s) then add("    What holds them: SNAPSHOT:ways(%q)", s.accumulated[1].class) end
  return table.concat(lines, "\n")
end

reports["heap.suspects"] = function(list)
  if #list == 0 then
    return ("Nothing suspicious: no place and no class holds %s, %s of the heap"):format(
      size(list.least_bytes), share(list.least_bytes, list.reachable_bytes))
  end
  local parts = {}
  for i, s in ipairs(list) do parts[i] = suspect_lines(s, list.reachable_bytes) end
  return table.concat(parts, "\n\n")
end

-- }=======================================================================================

-- {=== Trees ==============================================================================

local function branch_text(r)
  if r.kind == "rest" then return ("... %s more"):format(count(r.objects)) end
  local what = r.objects > 1 and things(r, r.objects) or text.what(r.object)
  if r.kind == "list" or r.kind == "tree" then what = r.kind .. " of " .. what end
  if r.kind ~= "group" and r.object then what = what .. " " .. r.object.address end
  return r.edge and r.edge.label .. ": " .. what or what
end

reports["heap.tree"] = function(rows)
  local cells, top = {}, rows[1]
  for i = 1, math.min(#rows, 3 * text.MOST_ROWS) do
    local r = rows[i]
    cells[i] = {size(r.retained_bytes), share(r.retained_bytes, top.retained_bytes),
      size(r.shallow_bytes), ("  "):rep(r.depth) .. (r.object and branch_text(r) or
        r.kind == "rest" and branch_text(r) or "root")}
  end
  return ("%s keeps %s alive alone, %s of the heap\n\n"):format(
      top.object and text.held_by(top.object) or "root", size(top.retained_bytes),
      share(top.retained_bytes, rows.reachable_bytes)) ..
    text.columns({">retained", ">share", ">shallow", "keeps alive alone"}, cells) ..
    text.hidden(#rows - #cells, "row")
end

reports["heap.texts"] = function(lines)
  if #lines == 0 then return "none" end
  return table.concat(lines, "\n", 1, math.min(#lines, text.MOST_ROWS))
    .. text.hidden(#lines - text.MOST_ROWS, "line")
end

-- }=======================================================================================

for _, name in ipairs {
  "heap.reports_of_growth", "heap.reports_of_insides", "heap.reports_of_live"
} do
  for kind, report in pairs(require(name)) do reports[kind] = report end
end

return reports
