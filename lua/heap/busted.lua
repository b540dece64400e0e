-- busted.lua - leak assertions for luassert and busted.
--
--     require "heap.busted"
--     it("forgets its sessions", function()
--       assert.leaks_nothing(function() local s = Session.new() s:close() end)
--       assert.leaks_at_most(1, "Page", function() cache:get(new_url()) end)
--       assert.collected(function() return Session.new() end)
--     end)
--
-- A failure prints the report of heap.leaks. With LUA_HEAP_FAILURES=DIR it also writes its heap to
-- DIR, and prints the command that shows it. busted often runs on another Lua than intended, so
-- this file and busted_watch.lua use no syntax of Lua 5.4: an older Lua must be able to say what to
-- do.

if _VERSION < "Lua 5.4" then
  error("heap.busted needs Lua 5.4 or 5.5, and this is " .. _VERSION ..
        ": run `busted --lua=lua5.4`", 0)
end

---@class luassert
---@field leaks_nothing fun(f: function, options?: heap.leaks.options, message?: string)
---@field leaks_at_most fun(objects_per_run: number, class: string, f: function, ...)
---@field collected fun(weak_table_or_function: any, message?: string)
local assert = require "luassert"
local say = require "say"
local heap = require "heap"
local leaks = require "heap.leaks"
local runs = require "heap.runs"
local watch = require "heap.watch"

local MOST_COLLECTIONS = 10
local MOST_SHOWN = 5

-- ==== Files ===============================================================================

local directory = watch.environment("LUA_HEAP_FAILURES")
local n_files, hint_was_given = 0, false

local function next_file(state)
  if not directory or directory == "" or not state.mod then return nil end
  n_files = n_files + 1
  return ("%s/failure-%d-%d.heap"):format(directory, watch.process(), n_files)
end

-- The hint how to see more than a message can hold; only once.
local function hint_once()
  if hint_was_given then return nil end
  hint_was_given = true
  return "See it: LUA_HEAP_FAILURES=. busted --lua=lua5.4, then heapview failure-*.heap"
end

local function save(capture, file)
  local saved, why = capture:save(file)
  return saved and require "heap.text".see(file) or why
end

local function leaks_options(given, state)
  local options = {file = next_file(state)}
  for name, value in pairs(type(given) == "table" and given or {}) do options[name] = value end
  return options
end

-- ==== Messages ============================================================================

local function register(name, check, positive, negative)
  say:set("assertion." .. name .. ".positive", positive)
  say:set("assertion." .. name .. ".negative", negative)
  assert:register("assertion", name, check, "assertion." .. name .. ".positive",
                  "assertion." .. name .. ".negative")
end

-- Sets the parts of the message unquoted; luassert would quote them.
local function set_message(arguments, ...)
  local n = select("#", ...)
  for i = 1, n do arguments[i] = (select(i, ...)) end
  for i = n + 1, arguments.n do arguments[i] = nil end
  arguments.n, arguments.nofmt = n, {true, true, true}
end

-- Replaces busted's internal table of a spec's globals by readable words.
local function readable(text)
  return (text:gsub("%(local [%w_]+ in function [^()]+[/\\]busted[/\\]core%.lua:%d+[^()]*%)%.env%.",
                    "the spec's global "))
end

local function describe_report(report, fails)
  for _, leak in ipairs(report) do leak.held_by = readable(leak.held_by) end
  local is_saved = report.file or report.file_error
  report.see = fails and not is_saved and hint_once() or nil
  return tostring(report)
end

-- A wrong argument is an error at the test's line.
local function check_argument(good, message, level)
  if not good then error(message, level + 2) end
end

local function is_callable(f)
  local meta = debug.getmetatable(f)
  return type(f) == "function" or type(meta) == "table" and meta.__call ~= nil
end

-- A string as last argument is the failure message, as in luassert's own assertions.
local function set_failure_message(state, arguments, from)
  for i = from, arguments.n do
    if type(arguments[i]) == "string" then state.failure_message = arguments[i] end
  end
end

-- assert.leaks_nothing(f [, options] [, message])
local function leaks_nothing(state, arguments, level)
  local f, options = arguments[1], arguments[2]
  check_argument(is_callable(f), "leaks_nothing needs a function", level)
  set_failure_message(state, arguments, 2)
  local report = leaks(f, leaks_options(options, state))
  set_message(arguments, report and describe_report(report, state.mod) or "")
  return not report
end

register("leaks_nothing", leaks_nothing, "Expected that nothing is left behind, but %s",
         "Expected that something is left behind, but nothing is")

-- Returns the objects of a class in each run; nil: none. "array" includes "array of ...".
local function left_of(classes, class)
  local left
  for name, per_run in pairs(classes) do
    if name == class or name:sub(1, #class + 4) == class .. " of " then
      left = (left or 0) + per_run
    end
  end
  return left
end

-- Returns true if the heap has an object of this class, or if f makes one while the collector is
-- stopped; else false and the reason. If f itself collects, its class is accepted.
local function is_class(class, f)
  local was_running = collectgarbage("isrunning")
  collectgarbage("stop")
  local witness = setmetatable({{}}, {__mode = "v"})
  local ok, capture = pcall(function()
    f()
    return heap.capture()
  end)
  local collected = witness[1] == nil
  if was_running then collectgarbage("restart") end
  if not ok then error(capture, 0) end
  local found, reason = capture.reader:class(class)
  local classes = {}
  for _, row in ipairs(found and {} or capture.reader:classes()) do classes[row.class] = 1 end
  found = found or left_of(classes, class)
  capture:close()
  return found or collected, reason
end

-- assert.leaks_at_most(n, class, f [, options] [, message]): n objects in each run
local function leaks_at_most(state, arguments, level)
  local most, class, f, options = table.unpack(arguments, 1, 4)
  check_argument(type(most) == "number" and type(class) == "string" and is_callable(f),
                 "leaks_at_most needs a number, the name of a class and a function", level)
  set_failure_message(state, arguments, 4)
  local report = leaks(f, leaks_options(options, state), class)
  local left = report and left_of(report.classes, class)
  if not left then
    local known, reason = is_class(class, f)
    check_argument(known, ("leaks_at_most: %s, nor does the function make one"):format(reason),
                   level)
    left = 0
  end
  local fails = left > most == state.mod
  set_message(arguments, ("%g %s"):format(most, class),
              ("%.3g%s"):format(left, report and "; " .. describe_report(report, fails) or ""))
  return left <= most
end

register("leaks_at_most", leaks_at_most,
         "Expected that each run leaves at most %s behind, but it leaves %s",
         "Expected that each run leaves more than %s behind, but it leaves %s")

-- ==== What must be collected ==============================================================

local function is_object(value)
  local kind = type(value)
  return kind == "table" or kind == "function" or kind == "userdata" or kind == "thread"
end

-- Calls f and returns a weak table with the objects that f returned; nil: none.
local function hold_weakly(f)
  local weak, results = setmetatable({}, {__mode = "k"}), table.pack(f())
  for i = 1, results.n do
    if is_object(results[i]) then weak[results[i]] = true end
  end
  return next(weak) ~= nil and weak or nil
end

-- Returns at most `most` objects that keep entries in a weak table, and the number of entries. An
-- entry whose weak parts are no objects never vanishes.
local function left_in(weak, mode, most)
  local left, n = {}, 0
  for key, value in next, weak do
    n = n + 1
    if n <= most then
      left[n] = {mode:find("k", 1, true) and is_object(key) and key
                 or mode:find("v", 1, true) and is_object(value) and value or nil, key = key}
    end
  end
  return left, n
end

-- Why the object of an entry is alive, without the assertion and its callers; and the path.
local function describe_entry(snapshot, entry)
  local object = entry[1]
  if object == nil then
    return ("\nthe entry of %s: what is no object, such as a string, is never collected")
      :format(tostring(entry.key))
  end
  local found = snapshot:object(("%p"):format(object))
  local path = found and found:paths(1)[1]
  return ("\n%s %p is kept alive by: %s"):format(
    found and found.class or type(object), object,
    path and readable(path.text) or "nothing but the call of this assertion"), path
end

local function describe_left(weak, mode, main, state)
  local left, n = left_in(weak, mode, MOST_SHOWN)
  local lines, steps = {}, nil
  local capture = heap.capture()
  local snapshot = capture.reader
  runs.analyse(snapshot, main)
  for i, entry in ipairs(left) do
    lines[i], steps = describe_entry(snapshot, entry)
  end
  table.sort(lines)
  if n > #left then lines[#lines + 1] = ("\nand %d more"):format(n - #left) end
  if n == 1 and steps then lines[2] = tostring(steps):match("\n\n.*") end
  if state.mod then
    local file = next_file(state)
    local see = file and save(capture, file) or hint_once()
    lines[#lines + 1] = see and "\n\n" .. see
  end
  capture:close()
  return n, table.concat(lines)
end

-- assert.collected(weak table or function [, message])
local function collected(state, arguments, level)
  local what = arguments[1]
  set_failure_message(state, arguments, 2)
  local meta = debug.getmetatable(what)
  local mode = type(what) == "table" and type(meta) == "table" and rawget(meta, "__mode")
  local weak = what
  if type(mode) ~= "string" then
    check_argument(is_callable(what), "collected needs a weak table, or a function", level)
    weak, mode = hold_weakly(what), "k"
    check_argument(weak, "collected: the function returned no object", level)
  end
  for _ = 1, MOST_COLLECTIONS do
    collectgarbage()
    if next(weak) == nil then
      set_message(arguments, "", "")
      return true
    end
  end
  local n, text = describe_left(weak, mode, collected, state)
  set_message(arguments, n == 1 and "1 object is" or n .. " objects are", text)
  return false
end

register("collected", collected, "Expected to be collected, but %s not:%s",
         "Expected not to be collected, but it is%s%s")
