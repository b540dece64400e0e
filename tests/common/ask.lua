-- ask.lua - asks heap.reader all that can be asked of one to three files, which may be nonsense,
-- and prints every answer: tests/fuzz/fuzz_reader.c with what the fuzzer makes, and the replay of
-- its corpus.
--
--     require "tests.common.ask" (a, b, c)      the names of the files
--
-- What does not come as it is documented raises an error: an error that no script could expect, an
-- answer that cannot be printed, text that would harm a terminal.

local hostile = require "tests.common.hostile"
local reader = require "heap.reader"

-- Objects, rows, keys and texts that are looked at: a fuzzer wants many runs.
local MOST = 6
require "heap.text".MOST_ROWS = MOST

-- ==== What may come ======================================================================

-- Errors that are raised where a file's contents are at fault, or an expression is malformed: texts
-- of the file are taken for expressions.
local expected = {
  "snapshots must be given in the order of time",
  "was not set before the mark",
  "is no heap of a program: its names take",
  "no object is named in",
  "stands for steps of many kinds",
  "is no place: write",
  "in one another",
  "cannot read the path from",
}

local codes = {absent = true, damaged = true, foreign = true, version = true, argument = true,
  ["too much"] = true, memory = true}

local function check_text(text)
  assert(type(text) == "string", "this is no text")
  local fault = hostile.faults(text)
  if fault then error("harmful text: " .. fault) end
end

local function check_error(message)
  if type(message) ~= "string" then error("an error that is a " .. type(message)) end
  for _, pattern in ipairs(expected) do
    if message:find(pattern, 1, true) then return end
  end
  error("unexpected error: " .. message)
end

local look -- at a value of any kind, a few levels deep

local function check_results(ok, value, message, code)
  if not ok then return check_error(value) end
  if value == nil and message ~= nil then
    assert(codes[code], "an unknown code: " .. tostring(code))
    check_text(message)
  end
  look(value, 3)
  return value
end

-- Calls f, prints what it returns, and returns that.
local function ask(f, ...) return check_results(pcall(f, ...)) end

-- ==== Values =============================================================================

local printed = {userdata = true, table = true}

-- Only what is missing may be less than nothing.
local function check_figure(key, figure)
  if key:find "bytes$" and key ~= "unaccounted_bytes" and figure < 0 then
    error(("%s is %d"):format(key, figure))
  end
end

function look(value, depth)
  local kind = type(value)
  if kind == "string" or kind == "number" or not printed[kind] or depth == 0 then return end
  local meta = getmetatable(value)
  if meta and meta.__tostring then check_text(tostring(value)) end
  if kind ~= "table" then return end
  local n = 0
  for key, inside in pairs(value) do
    n = n + 1
    if type(key) == "string" and type(inside) == "number" then
      check_figure(key, inside)
    elseif n <= MOST then
      look(inside, depth - 1)
    end
  end
end

local fields = {"id", "type", "class", "address", "shallow_bytes", "retained_bytes", "distance",
  "dominator", "immediate_dominator", "held_by", "epoch", "reachable", "dead", "own", "list",
  "site", "stack", "value", "length_bytes", "kept_bytes", "array_slots", "array_used", "hash_slots",
  "hash_used", "weak_mode", "metatable", "user_bytes", "user_values", "is_c", "upvalues", "proto",
  "file", "line", "last_line", "parameters", "vararg", "instructions", "debug_bytes", "open",
  "status", "is_main", "stack_slots", "snapshot", "nonsense"}

local edge_fields = {"source", "target", "kind", "label", "weak", "left_out", "key", "name", "line",
  "holder", "ordinal"}

local function look_at_fields(value, names)
  for _, name in ipairs(names) do look(value[name], 1) end
end

local function look_at_table(o)
  local n = 0
  for key, value in o:entries() do
    n = n + 1
    if n > MOST then break end
    look(key, 1)
    look(value, 1)
    ask(o.get, o, key)
  end
  ask(o.entries, o)
end

local function look_at_object(o)
  ask(look_at_fields, o, fields)
  ask(o.edges, o)
  ask(o.under, o, {depth = 3, n = 4, least_bytes = 0})
  if o.type == "root" then return end
  for _, name in ipairs {"path", "referrers", "dominators"} do ask(o[name], o) end
  check_text(o:text())
  check_text(o:text(0))
  local paths = ask(o.paths, o, 2)
  if paths and paths[1] then ask(look_at_fields, paths[1][#paths[1]], edge_fields) end
  local edge = o:edges()()
  if edge then ask(look_at_fields, edge, edge_fields) end
  ask(o.independent, o, 3)
  if o.type == "table" then look_at_table(o) end
  if o.type == "thread" then ask(o.frames, o) end
end

-- ==== One snapshot =======================================================================

-- What the file itself says, as names of objects, of classes, of marks, and of what is cut off.
local function ask_text(s, text)
  if text:find "\0" then return end
  local o = ask(s.object, s, text)
  ask(s.class, s, text)
  ask(s.since, s, text)
  ask(s.ways, s, text)
  ask(s.retained, s, text)
  ask(s.what_if, s, text, o)
  check_text(reader.escape(text))
end

local function texts_of(s)
  local texts = {s.info.program, s.info.name, "_G.*"}
  local mark, class = s:marks()[1], s:classes(1)[1]
  texts[#texts + 1] = mark and mark.name
  texts[#texts + 1] = class and class.class
  for o in s:objects {type = "string"} do
    if #texts >= MOST then break end
    if type(o.value) == "string" then texts[#texts + 1] = o.value end
  end
  return texts
end

local reports = {"leaks", "suspects", "modules", "threads", "growing", "waste", "epochs", "marks",
  "classes", "top", "objects", "verify"}

local function ask_reports(s)
  for _, name in ipairs(reports) do ask(s[name], s) end
  ask(s.classes, s, {n = 5, sort = "count", garbage = true})
  ask(s.top, s, {n = 5, garbage = true})
  ask(s.top, s, {n = 0, sort = "shallow", type = "table,upvalue,proto"})
  ask(s.retained, s, s:objects())
  ask(s.ways, s, s:objects {type = "table"}, 0)
  local marks = s:marks()
  local between = {type = "table,string", since = marks[1].name, ["until"] = #marks}
  for o in ask(s.objects, s, between) do look(o, 1) end
  ask(s.objects, s, {garbage = true, since = 1})
end

local function ask_snapshot(s)
  ask(tostring, s)
  for _, field in ipairs {"info", "file", "root", "closed", "nonsense"} do
    ask(function() return s[field] end)
  end
  ask_reports(s)
  for _, text in pairs(ask(texts_of, s) or {}) do ask_text(s, text) end
  for id = 0, #s, #s // (MOST - 2) + 1 do look_at_object(s:object(id)) end
end

-- Some of what there is taken as gone.
local function ask_cuts(s)
  local cuts = {}
  for edge in s.root:edges() do
    if #cuts < 3 and not edge.weak then cuts[#cuts + 1] = edge end
  end
  local biggest = s:top(1)[1]
  if biggest then cuts[#cuts + 1] = biggest end
  ask(s.what_if, s, cuts, biggest)
  ask(s.ignore, s, cuts[1] and {cuts[1], biggest})
  for _, name in ipairs {"top", "modules", "classes"} do ask(s[name], s) end
  ask(s.ignore, s)
end

-- ==== Several ============================================================================

local function ask_diff(a, b, c)
  local diff = ask(a.diff, a, b, c)
  for i, group in ipairs(diff or {}) do
    if i > 3 then break end
    ask(a.objects_with, a, group.fingerprint)
    ask(b.objects_with, b, group.fingerprint)
  end
end

local function ask_several(a, b, c)
  ask_diff(a, b)
  ask(a.strings, a, b)
  if c then
    ask_diff(a, b, c)
    ask_diff(a, c)
  end
  ask(reader.growth, {a, b, c})
  ask(reader.owners, {a, b, c})
  ask(reader.compare, {a}, {b})
  ask(reader.compare, {a, b}, {c or b, b})
end

return function(...)
  local snapshots = {}
  for i, name in ipairs {...} do
    local s, message, code = reader.open(name)
    if s then
      snapshots[#snapshots + 1] = s
    else
      assert(codes[code], "an unknown code")
      check_text(message)
    end
    if i > 1 then ask(reader.owners, {...}) end
  end
  local a, b, c = table.unpack(snapshots)
  for i, s in ipairs(snapshots) do
    if ask(function() return s.info end) and i == 1 then
      ask_snapshot(s)
      ask_cuts(s)
    end
  end
  if b then ask_several(a, b, c) end
  for _, s in ipairs(snapshots) do
    s:close()
    check_text(tostring(s))
  end
  collectgarbage()
end
