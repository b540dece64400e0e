-- inside_luacheck.lua - luacheck, with snapshots on its way through a large tree:
--
--     lua5.4 inside_luacheck.lua STEP OPTIONS... FILES...
--
-- (Debian has luacheck where Lua 5.1 looks: LUA_PATH="/usr/share/lua/5.1/?.lua;;" in front.)
--
-- Takes a, b and c when STEP, twice and three times STEP files were checked. For luacheck keeps a
-- report of each file till the end, that is what should have grown. It changes nothing of luacheck:
-- it counts calls of the function that checks one file.

local heap = require "heap"
local luacheck = require "luacheck"

local step = math.tointeger(table.remove(arg, 1))
local names = {[step] = "a", [2 * step] = "b", [3 * step] = "c"}
local checked = 0
local get_report = luacheck.get_report

luacheck.get_report = function(source)
  local report = get_report(source)
  checked = checked + 1
  if names[checked] then heap.snapshot(names[checked]) end
  return report
end

require "luacheck.main"
