-- reports.lua - how those reports of heap.reader are printed that do not bring their text along.

local text = require "heap.text"

local reports = {}

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

reports["heap.texts"] = function(lines)
  if #lines == 0 then return "none" end
  return table.concat(lines, "\n", 1, math.min(#lines, text.MOST_ROWS))
    .. text.hidden(#lines - text.MOST_ROWS, "line")
end

for kind, report in pairs(require "heap.reports_of_live") do reports[kind] = report end

return reports
