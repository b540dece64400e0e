-- reports_of_insides.lua - how it is printed why a set is alive, and what would change that.

local text = require "heap.text"

local count, count_of, size, share = text.count, text.count_of, text.size, text.share
local reports = {}

-- {=== Sets and cuts ======================================================================

local function set_text(objects, r)
  return r.class and text.things(r, objects) or count_of(objects, "object")
end

reports["heap.ways"] = function(list)
  local lines = {}
  if list.objects == 0 then
    lines[1] = ("nothing keeps them alive: %s of garbage"):format(
      count_of(list.garbage_objects, "object"))
    return lines[1]
  end
  lines[1] = ("%s %s %s%s"):format(set_text(list.objects, list),
    list.objects == 1 and "retains" or "retain", size(list.retained_bytes),
    list.objects == 1 and "" or " together")
  for _, holder in ipairs(list.held_by) do
    lines[#lines + 1] = ("    %s by %s"):format(count(holder.objects), holder.path)
  end
  local others = list.total_held_by - #list.held_by
  if others > 0 then
    lines[#lines + 1] = ("    and by %s"):format(count_of(others, "other path"))
  end
  local rows = {}
  for i, r in ipairs(list) do
    local name = r.hidden and ("... %s more"):format(count(r.hidden)) or
      r.steps == "" and "root" or r.steps
    rows[i] = {size(r.retained_bytes), count(r.objects), ("  "):rep(r.depth) .. name,
      r.through and set_text(r.through, r) or ""}
  end
  return table.concat(lines, "\n") .. "\n\n" ..
    text.columns({">retained", ">objects", "way", "there"}, rows)
end

reports["heap.what_if"] = function(list)
  local rows = {}
  local function add(freed, name)
    rows[#rows + 1] = {size(freed.frees_bytes), share(freed.frees_bytes, list.reachable_bytes),
      count(freed.frees_objects), freed.frees_it and "yes" or "", name}
  end
  for _, r in ipairs(list) do
    add(r, type(r.cut) == "string" and text.escape(r.cut) or tostring(r.cut))
  end
  if #list > 1 then
    add(list.together, "all of them")
    add(list.only_together, "of that only all of them together")
  end
  local it = list.object and "frees it" or ""
  return text.columns({">frees", ">share", ">objects", it, "cut"}, rows)
end

reports["heap.independent"] = function(list)
  local paths = {}
  for i, path in ipairs(list) do
    paths[i] = "    " .. (#path > text.MOST_STEPS and path.held_by or path.text)
  end
  return ("%s is held by %s%s\n%s"):format(text.object(list.object),
    count_of(#list, "independent path"), list.limited and ", or more" or "",
    table.concat(paths, "\n"))
end

-- }=======================================================================================

return reports
