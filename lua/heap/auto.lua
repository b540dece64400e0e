-- auto.lua - snapshots with no change to the program: on a signal, at a size, by time, at exit, and
-- when memory runs out.
--
--     LUA_HEAP="signal=USR2,dir=/var/tmp,background" lua5.4 -l heap.auto server.lua
--     kill -USR2 PID      -->  /var/tmp/server.lua-PID-1.heap, then -2.heap, -3.heap ...
--
-- The options come from the environment variable LUA_HEAP when the module is loaded, or from
-- `require "heap.auto".start{signal = "USR2", dir = "/var/tmp", background = true}`. Without either
-- it does nothing; under `lua -E` and in a setuid program LUA_HEAP is not looked at. Here they are
-- read; lua/watch.c hands them on to lib/take/watch*.c.

---In plain units, from C.
---@class heap.watch
---@field start fun(options: table): true|nil, string?, integer?
---@field stop fun()
---@field environment fun(): string?
---@field signals table<string, integer>
local watch = require "heap.watch"
if type(watch) ~= "table" then error("heap.auto: heap.so cannot be used in this program", 0) end

---@class heap.auto
local auto = {}

---Each may be a string as in LUA_HEAP.
---@class heap.auto.options
---@field signal? string|integer a snapshot on this signal: "USR2"
---@field at? string|number when the heap comes to this size: "512M"
---@field again? string|number and each time it is so many times as big. Default 1.5
---@field every? string|number each time so long has passed: "10m"
---@field max? string|integer at most so many by size and time together. Default 10
---@field marks? string|number a mark each time so long has passed, as by heap.mark()
---@field exit? boolean when the program ends
---@field oom? boolean the first time that memory runs out, before Lua raises its error
---@field background? boolean written by a child
---@field strings? string|integer bytes of each string to keep. Default 256
---@field dir? string where the files go. Default: where the program was started

local SIZES = {[""] = 1, k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30}
local TIMES = {[""] = 1, s = 1, m = 60, h = 3600}

-- A number with a unit behind it, "512M" or "10m", or a plain number.
local function quantity(value, units, least)
  local digits, unit = tostring(value):lower():match("^(%d+%.?%d*)(%a?)$")
  local number = units[unit] and tonumber(digits) * units[unit]
  return number and number >= least and number < 2 ^ 53 and number or nil
end

local function bytes(value) return quantity(value, SIZES, 1) end
local function seconds(value) return quantity(value, TIMES, 0.001) end
local function flag(value) return value == true or nil end
local function text(value) return type(value) == "string" and value ~= "" and value or nil end

-- "USR2", "SIGUSR2", 12 or "12".
local function signal(value)
  local number = math.tointeger(tonumber(value))
  if number then return number >= 1 and number <= 64 and number or nil end
  return watch.signals[tostring(value):upper():gsub("^SIG", "")]
end

local function factor(value)
  local number = tonumber(value)
  return number and number > 1 and number < 1e9 and number or nil
end

local function count(value)
  local number = math.tointeger(tonumber(value))
  return number and number >= 1 and number < 2 ^ 31 and number or nil
end

-- Each option: its name, its form for the error message, and the function that reads it: nil if it
-- cannot.
local options = {
  {"signal", "signal=USR2", signal},
  {"at", "at=512M", bytes},
  {"again", "again=1.5", factor},
  {"every", "every=10m", seconds},
  {"max", "max=10", count},
  {"marks", "marks=1m", seconds},
  {"exit", "exit", flag},
  {"oom", "oom", flag},
  {"background", "background", flag},
  {"strings", "strings=256", function(value) return quantity(value, SIZES, 0) end},
  {"dir", "dir=/var/tmp", text},
}

local function list()
  local forms = {}
  for i, option in ipairs(options) do forms[i] = option[2] end
  return "the options are, for example, " .. table.concat(forms, ", ")
end

-- The program's file name: arg[0], unless the host sets none.
local function program()
  local arguments = rawget(_G, "arg")
  return type(arguments) == "table" and type(arguments[0]) == "string" and arguments[0] or nil
end

-- The options in plain units; nil and a message that lists them all if one is wrong.
local function read(given)
  local plain, known = {program = program()}, {}
  for _, option in ipairs(options) do
    local name, parse = option[1], option[3]
    known[name] = true
    local value = given[name]
    if value then
      plain[name] = parse(value)
      if plain[name] == nil then
        local asked = value == true and name or name .. "=" .. tostring(value)
        return nil, ("'%s' makes no sense; %s"):format(asked, list())
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

---Starts to watch this program, as LUA_HEAP does. Raises an error for a wrong option, which lists
---them all.
---@param given heap.auto.options
---@return true|nil started nil on failure: already started, or the directory cannot be written
---@return string? message
---@return integer? errno
function auto.start(given)
  if type(given) ~= "table" then error("heap.auto.start needs a table of options", 2) end
  local plain, message = read(given)
  if not plain then error("heap.auto: " .. message, 2) end
  return watch.start(plain)
end

---Stops; what was asked for and not taken yet is forgotten. The signal is ignored from now on,
---unless the program had a handler for it.
function auto.stop() watch.stop() end

-- "signal=USR2,dir=/var/tmp,background" as a table of options.
local function parse(words)
  local given = {}
  for word in words:gmatch("[^,]+") do
    local name, value = word:match("^%s*([^=]-)%s*=%s*(.-)%s*$")
    given[name or word:match("^%s*(.-)%s*$")] = value or true
  end
  return given
end

local from_environment = watch.environment()
if from_environment and from_environment ~= "" then
  local plain, message = read(parse(from_environment))
  local started = plain
  if plain then started, message = watch.start(plain) end
  if not started then error("LUA_HEAP: " .. message, 0) end
end

return auto
