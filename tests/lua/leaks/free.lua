-- free.lua CORPUS GROUP - asks heap.leaks about each call of a group that leaves nothing behind, in
-- a process of its own, since a small heap is collected fast. Prints how many there were, and what
-- was told of those that were told all the same. `free.lua CORPUS GROUP N` asks about one in N.

local calls = require "tests.lua.leaks.calls"
local leaks = require("heap").leaks

local group = require("tests.lua.leaks." .. arg[1])[tonumber(arg[2])]
local lines = calls.lines(group)
local step = tonumber(arg[3] or 1)
for i, f in ipairs(calls.functions(group)) do
  local report = i % step == 0 and leaks(f)
  if report then print(lines[i], report) end
end
print(#lines)
