-- auto.lua - takes snapshots without a change to the program: on a signal, at a size, by time, at
-- exit, when memory runs out; and tracks a program from its first line on.
--
--     LUA_HEAP="signal=URG,dir=/var/tmp,background" lua5.4 -l heap.auto server.lua
--     kill -URG PID      -->  /var/tmp/server.lua-PID-1.heap, then -2.heap, -3.heap ...
--     LUA_HEAP="track,signal=URG"   the same, with allocation sites
--     LUA_HEAP="track=run.prof"     a profile, for heapprof
--
-- Options come from LUA_HEAP at loading, or from `require "heap.auto".start{signal = "URG"}`.
-- LUA_HEAP is ignored under `lua -E` and in setuid programs. A wrong option in it prints a message,
-- and the program runs unwatched; with LUA_HEAP_STRICT=1 it is an error. lua/watch.c reads the
-- options.

---@class heap.watch
---@field start fun(options: table, program?: string): true|nil, string?, integer?
---@field stop fun()
---@field environment fun(name: string): string?
---@field say fun(message: string, log: string?)
---@field untrack fun()
---@field process fun(): integer
local watch = require "heap.watch"
if type(watch) ~= "table" then error("heap.auto: heap.so cannot be used in this program", 0) end

---@class heap.auto
local auto = {}

---Each option may be a string as in LUA_HEAP.
---@class heap.auto.options: heap.track_options
---@field signal? string|integer|true a snapshot on this signal; true: "URG"
---@field at? string|number when the heap comes to this size: "512M"
---@field again? string|number and each time it is so many times as big. Default 1.5
---@field every? string|number each time so long has passed: "10m"
---@field max? string|integer at most so many by size and time together. Default 10
---@field marks? string|number a mark each time so long has passed, as by heap.mark()
---@field exit? boolean when the program ends
---@field oom? boolean the first time that memory runs out, before Lua raises its error
---@field background? boolean|string written by a child; "try": or else by the program itself
---@field strings? string|integer bytes of each string to keep. Default 256
---@field dir? string where the files go. Default: where the program was started
---@field tag? string in the names of the files and in messages: which state, which service
---@field log? string a file for the messages, or "syslog", or "quiet". Default: stderr
---@field track? boolean|string heap.track; a text is its `file`. Its other options go with it; pool
---is also "yes" or "no"

local function start(given)
  local arguments = rawget(_G, "arg")
  local program = type(arguments) == "table" and arguments[0]
  return watch.start(given, type(program) == "string" and program or nil)
end

---Starts to watch this program. A wrong option raises an error that lists all options.
---@param given heap.auto.options
---@return true|nil started nil on failure: already started, or the directory cannot be written
---@return string? message
---@return integer? errno
function auto.start(given)
  if type(given) ~= "table" then error("heap.auto.start needs a table of options", 2) end
  local good, started, message, errno = pcall(start, given)
  if not good then error("heap.auto: " .. started, 2) end
  if started then return true end
  return nil, message, errno
end

---Stops, and drops pending requests. The signal is ignored then, unless it had a handler.
function auto.stop()
  watch.stop()
  watch.untrack()
end

local function parse(words)
  local given = {}
  for word in words:gmatch("[^,]+") do
    local name, value = word:match("^%s*([^=]-)%s*=%s*(.-)%s*$")
    given[name or word:match("^%s*(.-)%s*$")] = value or true
  end
  return given
end

-- A wrong LUA_HEAP must not stop a program: child programs inherit the variable.
local from_environment = watch.environment("LUA_HEAP")
if from_environment and from_environment ~= "" then
  local given = parse(from_environment)
  local good, started, message = pcall(start, given)
  if not good then started, message = nil, started end
  if not started then
    message = "LUA_HEAP: " .. message
    local strict = watch.environment("LUA_HEAP_STRICT")
    if strict and strict ~= "" and strict ~= "0" then error("heap.auto: " .. message, 0) end
    local log = type(given.log) == "string" and given.log or nil
    watch.say(message .. ": nothing is watched", log)
  end
end

return auto
