-- plant.lua - asks heap.leaks about each planted leak, and about what is no leak and looks like
-- one. Prints how many there are of both, and before that what was not told as it should be: class,
-- path, and how many in each run. With -v all that was told; with a number one of so many is asked.

local leaks = require("heap").leaks
local planted, quiet = require "tests.lua.leaks.planted", require "tests.lua.leaks.quiet"

local function matches(text, patterns)
  for pattern in (patterns .. "|"):gmatch("(.-)|") do
    if text:find(pattern) then return true end
  end
  return false
end

local function is_told(report, leak)
  local per_run = leak.per_run or 1
  for _, row in ipairs(report or {}) do
    if matches(row.class, leak.entries or leak.class) and matches(row.held_by, leak.held)
       and not row.entries == not leak.entries
       and (leak.per_run == false or math.abs(row.per_run - per_run) < 0.1) then
      return true
    end
  end
  return false
end

-- What a leak leaves in the tables that a whole program shares goes: the next function is asked for
-- in a small heap. The first call loads the modules of heap.leaks, which stay.
leaks(function() end)
local shared = {}
for _, t in ipairs {_G, package.loaded, package.preload, package.searchers, getmetatable ""} do
  shared[t] = {}
  for key in pairs(t) do shared[t][key] = true end
end

local function ask(code)
  local report = leaks(assert(load(code, "=leak"))())
  for t, known in pairs(shared) do
    for key in pairs(t) do
      if not known[key] then t[key] = nil end
    end
  end
  return report
end

local step, n_planted, n_quiet = math.tointeger(tonumber(arg[1])) or 1, 0, 0
for i = 1, #planted, step do
  local leak = planted[i]
  local report = ask(leak.code)
  n_planted = n_planted + 1
  if arg[1] == "-v" or not is_told(report, leak) then print(leak[1], report) end
end
for i = 1, #quiet, step do
  local growth = quiet[i]
  local report = ask(growth[2])
  n_quiet = n_quiet + 1
  if report then print(growth[1], report) end
end
print(n_planted, n_quiet)
