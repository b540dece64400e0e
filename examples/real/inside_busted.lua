-- inside_busted.lua - a helper for busted that takes snapshots on the way through a suite:
--
--     STEP=100 busted --lua=lua5.4 --helper=examples/real/inside_busted.lua penlight_spec.lua
--
-- Takes a, b and c after STEP, twice and three times STEP tests.

local busted = require "busted"
local heap = require "heap"

local step = math.tointeger(os.getenv("STEP")) or 100
local names = {[step] = "a", [2 * step] = "b", [3 * step] = "c"}
local finished = 0

busted.subscribe({"test", "end"}, function()
  finished = finished + 1
  if names[finished] then heap.snapshot(names[finished]) end
  return nil, true -- others want to know of it as well
end)
