-- mod_heap.lua - a module for Prosody: each SIGUSR1 takes a snapshot of the running server.
--
-- The first signal writes the file a, the next b, and so on, into the directory heap_snapshots of
-- the configuration. Prosody must find the library: LUA_CPATH=.../?.so in its environment. See
-- prosody.sh.

-- luacheck: globals module
local heap = require "heap"

module:set_global()

local directory = module:get_option_string("heap_snapshots", "/tmp")
local next_letter = string.byte("a")

module:hook("signal/SIGUSR1", function()
  local path = directory .. "/" .. string.char(next_letter)
  local objects, bytes = heap.snapshot(path)
  if objects then
    module:log("info", "snapshot %s: %d objects, %d bytes", path, objects, bytes)
    next_letter = next_letter + 1
  else
    module:log("error", "%s", bytes)
  end
end)
