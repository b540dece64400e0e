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
-- and the program runs unwatched; with LUA_HEAP_STRICT=1 it is an error. lua/watch.c passes the
-- options to lib/take/watch*.c.

---From C; all options are in plain units.
---@class heap.watch
---@field start fun(options: table): true|nil, string?, integer?
---@field stop fun()
---@field environment fun(name: string): string?
---@field signal fun(name: string): integer?
---@field say fun(message: string, log: string?)
---@field track fun(options: table, log: string?): true|nil, string?, integer?
---@field untrack fun()
---@field process fun(): integer
local watch = require "heap.watch"
if type(watch) ~= "table" then error("heap.auto: heap.so cannot be used in this program", 0) end

---@class heap.auto
local auto = {}

---Each option may be a string as in LUA_HEAP.
---@class heap.auto.options: heap.track_options
---@field signal? string|integer a snapshot on this signal: "URG"
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

local SIZES = {[""] = 1, k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30}
local TIMES = {[""] = 1, s = 1, m = 60, h = 3600}

-- Reads a number with an optional unit: "512M", "10m".
local function quantity(value, units, least)
  local digits, unit = tostring(value):lower():match("^(%d+%.?%d*)(%a?)$")
  local number = units[unit] and tonumber(digits) * units[unit]
  return number and number >= least and number < 2 ^ 53 and number or nil
end

local function bytes(value) return quantity(value, SIZES, 1) end
local function whole_bytes(value) return math.tointeger(bytes(value)) end
local function seconds(value) return quantity(value, TIMES, 0.001) end
local function flag(value) return value == true or nil end
local function text(value) return type(value) == "string" and value ~= "" and value or nil end

-- "URG", "SIGURG", 23 or "23".
local function signal(value)
  local number = math.tointeger(tonumber(value))
  if number then return number >= 1 and number <= 64 and number or nil end
  return watch.signal((tostring(value):upper():gsub("^SIG", "")))
end

local function factor(value)
  local number = tonumber(value)
  return number and number > 1 and number < 1e9 and number or nil
end

local function count(value)
  local number = math.tointeger(tonumber(value))
  return number and number >= 1 and number < 2 ^ 31 and number or nil
end

local function limit(value) return quantity(value, SIZES, 0) end
local function background(value) return (value == true or value == "try") and value or nil end
local function profile(value) return value == true or text(value) end

local function pool(value)
  if value == true or value == "yes" then return true end
  if value == false or value == "no" then return false end
  return nil
end

-- For each option: name, example for messages, reader (nil: wrong value), requirement.
local SIZE = "it needs a size: a number of bytes, or with k, m or g behind it"
local TIME = "it needs a time: a number of seconds, or with s, m or h behind it"
local options = {
  {"signal", "signal=URG", signal, "it needs the name or the number of a signal"},
  {"at", "at=512M", bytes, SIZE},
  {"again", "again=1.5", factor, "it needs a number above 1"},
  {"every", "every=10m", seconds, TIME},
  {"max", "max=10", count, "it needs a whole number, 1 or more"},
  {"marks", "marks=1m", seconds, TIME},
  {"exit", "exit", flag, "it takes no value"},
  {"oom", "oom", flag, "it takes no value"},
  {"background", "background", background, "its only value is try"},
  {"strings", "strings=256", limit, SIZE},
  {"dir", "dir=/var/tmp", text, "it needs a directory"},
  {"tag", "tag=web", text, "it needs a word"},
  {"log", "log=FILE|syslog|quiet", text, "it needs a file, syslog or quiet"},
  {"track", "track=FILE", profile, "it needs a file, or no value"},
  {"stacks", "stacks", flag, "it takes no value"},
  {"sample", "sample=512K", whole_bytes, SIZE},
  {"aggregate", "aggregate", flag, "it takes no value"},
  {"live", "live", flag, "it takes no value"},
  {"time", "time", flag, "it takes no value"},
  {"exact", "exact=256K", whole_bytes, SIZE},
  {"pool", "pool=no", pool, "its values are yes and no"},
}

local of_tracking = {"stacks", "sample", "aggregate", "live", "time", "exact", "pool"}

local function list()
  local forms = {}
  for i, option in ipairs(options) do forms[i] = option[2] end
  return "the options are, for example, " .. table.concat(forms, ", ")
end

local function program()
  local arguments = rawget(_G, "arg")
  return type(arguments) == "table" and type(arguments[0]) == "string" and arguments[0] or nil
end

-- Returns the options in plain units; nil and a message that lists all options if one is wrong.
local function read(given)
  local plain, known = {program = program()}, {}
  for _, option in ipairs(options) do
    local name, parse, need = option[1], option[3], option[4]
    known[name] = true
    local value = given[name]
    if value ~= nil and (value or name == "pool") then
      plain[name] = parse(value)
      if plain[name] == nil then
        local asked = value == true and name or name .. "=" .. tostring(value)
        return nil, ("'%s' makes no sense: %s; %s"):format(asked, need, list())
      end
    end
  end
  for name in pairs(given) do
    if not known[name] then
      return nil, ("there is no option '%s'; %s"):format(tostring(name), list())
    end
  end
  return plain
end

-- Moves heap.track's options out of `plain`. Returns them (nil: none), whether anything else is
-- watched, and a message if one is wrong.
local function take_tracking(plain)
  local tracking, watches = nil, false
  if plain.track then tracking = {file = type(plain.track) == "string" and plain.track or nil} end
  for _, name in ipairs(of_tracking) do
    if tracking then tracking[name] = plain[name] end
    if plain[name] ~= nil and not plain.track then
      return nil, nil, ("'%s' is an option of track, which is not there; %s"):format(name, list())
    end
    plain[name] = nil
  end
  plain.track = nil
  for _, name in ipairs{"signal", "at", "every", "marks", "exit", "oom"} do
    watches = watches or plain[name] ~= nil
  end
  return tracking, watches or not tracking
end

-- If another state or process writes the file already: FILE-PID, then FILE-PID-2 ...
local function track(tracking, log)
  local file, busy = tracking.file, 16 -- EBUSY
  local tracked, message, errno = watch.track(tracking, log)
  for i = 1, 100 do
    if tracked or errno ~= busy then break end
    tracking.file = ("%s-%d%s"):format(file, watch.process(), i > 1 and "-" .. i or "")
    tracked, message, errno = watch.track(tracking, log)
    if tracked then watch.say(("%s is being written: %s"):format(file, tracking.file), log) end
  end
  return tracked, message, errno
end

-- Returns true, or nil, a message and errno.
local function begin(plain)
  local tracking, watches, wrong = take_tracking(plain)
  if wrong then return nil, wrong, 0 end
  if tracking then
    local tracked, message, errno = track(tracking, plain.log)
    if not tracked then return nil, message, errno end
    watch.say(tracking.file and "tracked, into " .. tracking.file or "tracked", plain.log)
    if not watches then return true end
  end
  return watch.start(plain)
end

---Starts to watch this program. A wrong option raises an error that lists all options.
---@param given heap.auto.options
---@return true|nil started nil on failure: already started, or the directory cannot be written
---@return string? message
---@return integer? errno
function auto.start(given)
  if type(given) ~= "table" then error("heap.auto.start needs a table of options", 2) end
  local plain, message = read(given)
  if not plain then error("heap.auto: " .. message, 2) end
  return begin(plain)
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
  local plain, message = read(given)
  local started = plain
  if plain then started, message = begin(plain) end
  if not started then
    message = "LUA_HEAP: " .. message
    local strict = watch.environment("LUA_HEAP_STRICT")
    if strict and strict ~= "" and strict ~= "0" then error("heap.auto: " .. message, 0) end
    watch.say(message .. ": nothing is watched", text(given.log))
  end
end

return auto
