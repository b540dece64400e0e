-- reports_of_insides.lua - how the reports on what is inside are printed: a class; and why a set is
-- alive, and what would change that.

local text = require "heap.text"

local count, count_of, size, share = text.count, text.count_of, text.size, text.share
local reports = {}

-- {=== A class ============================================================================

local BYTES = {shallow = true, retained = true, alone = true, length = true, content = true}
local MEASURES = {"shallow", "retained", "alone", "entries", "length", "content", "upvalues",
  "frames", "instructions"}

local function spread_table(d)
  local rows = {}
  for _, name in ipairs(MEASURES) do
    local s, print = d.spreads[name], BYTES[name] and size or count
    if s and not (name == "alone" and s.sum == d.spreads.retained.sum) then
      rows[#rows + 1] = {name, print(s.least), print(s.median), print(s.ninth_tenth),
        print(s.most), print(s.sum)}
    end
  end
  return text.columns({"each", ">least", ">median", ">9 of 10", ">most", ">all"}, rows)
end

reports["heap.fields"] = function(list)
  local function row(f)
    local kinds = {}
    for i, kind in ipairs(f.kinds) do kinds[i] = kind.class end
    if f.total_kinds > #f.kinds then kinds[#kinds + 1] = "..." end
    return {size(f.retained_bytes), count(f.instances), count(f.values), f.field,
      table.concat(kinds, ", ")}
  end
  return "Fields, and the bytes that only they keep alive\n" ..
    text.rows(list, {">bytes", ">instances", ">values", "field", "of class or type"}, row, "field")
end

reports["heap.class_referrers"] = function(list)
  local function row(r)
    return {count(r.references), count(r.referrers), r.weak and "weak" or "", r.class or "root",
      r.label}
  end
  return "Who refers to them\n" .. text.rows(list, {">references", ">from", "", "class", "by"}, row,
    "kind of reference", "kinds of references")
end

reports["heap.description"] = function(d)
  if d.objects == 0 then
    return ("Nothing keeps %s alive: garbage, %s"):format(text.things(d, d.garbage_objects),
      size(d.garbage_bytes))
  end
  local head = ("%s %s %s%s, %s of the heap"):format(text.things(d, d.objects),
    d.objects == 1 and "retains" or "retain", size(d.retained_bytes),
    d.objects == 1 and "" or " together", share(d.retained_bytes, d.reachable_bytes))
  if d.objects > 1 then
    head = head .. ("\nOne more costs %s: the median of what one retains; on average one costs %s")
      :format(size(d.one_more_bytes), size(d.average_bytes))
  end
  if d.repeated_bytes > 0 then
    head = ("%s\n%s different contents: %s are in strings that are equal to another"):format(head,
      count(d.contents), size(d.repeated_bytes))
  end
  local parts = {("%s\nThe one that retains most: %s"):format(head, text.held_by(d.biggest)),
    spread_table(d)}
  if #d.fields > 0 then parts[3] = tostring(d.fields) end
  parts[#parts + 1] = tostring(d.referrers)
  return table.concat(parts, "\n\n")
end

-- }=======================================================================================

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
