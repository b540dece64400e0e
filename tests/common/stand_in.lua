-- stand_in.lua - heapattach with a stand-in for processes (tests/cli/stand_in.c), for its specs.

local support = require "tests.common.support"

local stand_in = {tool = support.build .. "/tests/heapattach"}

-- Of one state; and `p2` of another.
local program = [[
  local heap = require "heap"
  list = {}
  heap.snapshot "a"
  for i = 1, 500 do list[i] = {id = i} end
  heap.snapshot "b"
]]

--- Makes the folder in which it runs, with the snapshots that it hands out. In a setup().
---@return string dir
function stand_in.prepare()
  stand_in.dir = select(2, support.lua(program))
  local other = select(2, support.lua(program))
  support.run {"cp", other .. "/a", stand_in.dir .. "/p2"}
  return stand_in.dir
end

stand_in.one = {"program lua5.4 server.lua", "state b 1400000 no server.lua", "still fork 700000"}
stand_in.two = {"program haproxy -f haproxy.cfg", "state b 1400000 no /etc/haproxy/a.lua",
                "state p2 2048 yes b.lua", "still stopped 120000000", "no_fork a seccomp filter"}

--- Runs it where there is what these lines tell, and `more` of them.
---@param there string[]
---@param words string[]
---@param more string[]?
---@return string out, string err, integer code
function stand_in.attach(there, words, more)
  local text = table.concat(there, "\n") .. "\n" .. table.concat(more or {}, "\n")
  support.write_file(stand_in.dir .. "/there", text .. "\n")
  return support.run({stand_in.tool, table.unpack(words)},
                     {cwd = stand_in.dir, env = {STAND_IN = "there"}})
end

return stand_in
