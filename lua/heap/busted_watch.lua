-- busted_watch.lua - reports after the suite what each test file left behind, on stderr.
--
--     busted --lua=lua5.4 --helper=heap.busted_watch     (or require it in a helper of your own)
--
-- Marks at the beginning and end of each file show, by the order of Lua's lists, which file made
-- the objects that are alive in the end: one capture, one analysis. The analysis ignores what only
-- busted holds: tests with their upvalues, results, its stack. What stays is in modules, globals,
-- the registry and other objects that outlive the file.

require "heap.busted" -- first: it tells a wrong Lua; and no test file is to be told to have left it
local busted = require "busted"
local heap = require "heap"
local runs = require "heap.runs"
local text = require "heap.text"

local MOST_COLLECTIONS = 10
local MOST_FILES, MOST_GROUPS = 20, 5
local ALL_FRAMES = true

---@type {name: string, from: string, to: string}[]
local files = {}
local first_root, root -- of all blocks: with --repeat of each round; busted keeps the first, too

-- Lua makes the metatable of big buffers on demand; do that before the first file.
string.rep("x", 5000)

busted.subscribe({"file", "start"}, function(file)
  local n = #files + 1
  local name = ("busted_watch %d"):format(n)
  files[n] = {name = file.name, from = name, to = name .. " end"}
  root = busted.parent(file)
  first_root = first_root or root
  heap.mark(name)
  return nil, true
end, {priority = 1})

busted.subscribe({"file", "end"}, function()
  heap.mark(files[#files].to)
  return nil, true
end)

local function upvalue(f, wanted)
  for i = 1, math.huge do
    local name, value = debug.getupvalue(f, i)
    if name == nil or name == wanted then return value end
  end
end

-- The tables of busted that hold all tests and all subscriptions, such as results.
local function of_busted()
  local list = {}
  for _, one in ipairs {{busted.publish, "mediator"}, {busted.parent, "parents"},
                        {busted.children, "children"}} do
    list[#list + 1] = upvalue(one[1], one[2])
  end
  list[#list + 1] = root
  list[#list + 1] = first_root
  return list
end

-- Sets `left` of each file. Returns the number of files with live objects, and the totals.
local function count_left(snapshot)
  local n, objects, bytes = 0, 0, 0
  for _, file in ipairs(files) do
    file.left = assert(snapshot:since(file.from, file.to))
    if file.left.objects > 0 then
      n, objects, bytes = n + 1, objects + file.left.objects, bytes + file.left.shallow_bytes
    end
  end
  return n, objects, bytes
end

local function describe_file(file)
  local left, rows = file.left, {}
  for i = 1, math.min(#left, MOST_GROUPS) do
    local group = left[i]
    rows[i] = {text.count(group.new_objects), text.size(group.new_bytes), group.class,
               group.held_by}
  end
  local more = #left - #rows
  return ("\n%s: %s, %s\n%s\n%s"):format(
    text.escape(file.name), text.count_of(left.objects, "object"), text.size(left.shallow_bytes),
    text.columns({">objects", ">bytes", "class", "held by"}, rows),
    more > 0 and ("and %s\n"):format(text.count_of(more, "more group")) or "")
end

local function report(snapshot)
  local n, objects, bytes = count_left(snapshot)
  if n == 0 then
    return ("heap: none of %s left anything behind\n"):format(text.count_of(#files, "test file"))
  end
  local parts = {("heap: %s of %s left %s behind, %s\n"):format(
    text.count(n), text.count_of(#files, "test file"), text.count_of(objects, "object"),
    text.size(bytes))}
  table.sort(files, function(x, y)
    if x.left.shallow_bytes ~= y.left.shallow_bytes then
      return x.left.shallow_bytes > y.left.shallow_bytes
    end
    return x.name < y.name
  end)
  for i = 1, math.min(n, MOST_FILES) do parts[#parts + 1] = describe_file(files[i]) end
  if n > MOST_FILES then
    parts[#parts + 1] = ("\nand %s\n"):format(text.count_of(n - MOST_FILES, "more file"))
  end
  return table.concat(parts)
end

busted.subscribe({"exit"}, function()
  if #files == 0 then return nil, true end
  for _ = 1, MOST_COLLECTIONS do
    local before = collectgarbage("count")
    collectgarbage()
    if collectgarbage("count") == before then break end
  end
  local capture = heap.capture()
  runs.analyse(capture.reader, ALL_FRAMES, of_busted())
  io.stderr:write("\n", report(capture.reader))
  capture:close()
  return nil, true
end)
