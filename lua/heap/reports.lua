-- reports.lua - how the reports of heap.reader are printed: the sentences of the commands, then the
-- first rows of the table.

local text = require "heap.text"

local count, size = text.count, text.size
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

-- }=======================================================================================

reports["heap.texts"] = function(lines)
  if #lines == 0 then return "none" end
  return table.concat(lines, "\n", 1, math.min(#lines, text.MOST_ROWS))
    .. text.hidden(#lines - text.MOST_ROWS, "line")
end

for _, name in ipairs {
  "heap.reports_of_growth", "heap.reports_of_insides", "heap.reports_of_live"
} do
  for kind, report in pairs(require(name)) do reports[kind] = report end
end

return reports
