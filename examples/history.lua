--[==[
history.lua - an array that only grows

Numbers are appended to an array for ever. A number is no object: nothing new stays, and a list of
new objects is empty. Another table of heapdiff finds it: containers that grew.

    $ lua5.4 history.lua
    $ heapdiff a b c
    Nothing that was allocated between a and b is still alive in c; 2 older containers grew by 1.2 MB

    Containers older than a that grew until b and again until c
           grew                           bytes                    entries  example         class            path
    +1,008.0 KB   16.1 KB -> 512.1 KB -> 1.0 MB  1,000 -> 21,000 -> 41,000  0x56324e1db100  array of number  _G.meters.read.history
      +252.0 KB  4.1 KB -> 128.1 KB -> 256.1 KB     250 -> 5,250 -> 10,250  0x56324e1db1c0  array of number  _G.meters.write.history

    Why the first container stays: heappath c 0x56324e1db100

    $ heappath --format text c _G.meters.read.history
    array of number 0x56324e1db100 is kept alive by: _G.meters.read.history

    reference  class            address         shallow  retained
    _G         globals (_G)     0x56324e1d7c50   1.6 KB    1.3 MB
    .meters    {read, write}    0x56324e1daf30    104 B    1.3 MB
    .read      Meter            0x56324e1db080    104 B    1.0 MB
    .history   array of number  0x56324e1db100   1.0 MB    1.0 MB

    To cut this path, clear _G.meters.read.history
        Code that names "history": mean @history.lua:58, add @history.lua:54, new_meter @history.lua:50

Where there is one snapshot only, it cannot be seen that they grew. But nothing else is in there that
has no limit:
    $ heaptop --growing c
    _G.meters.read.history may grow: 41,000 numbers, 1.0 MB with their table, 78.3% of the heap
        keys are 1 to 41,000, one after the other
        Why it stays: heappath c 0x56324e1db100

    _G.meters.write.history may grow: 10,250 numbers, 256.1 KB with their table, 19.6% of the heap
        keys are 1 to 10,250, one after the other
        Why it stays: heappath c 0x56324e1db1c0

]==]
-- luacheck: globals meters
local heap = require "heap"

local Meter = {__name = "Meter"}
Meter.__index = Meter

-- Measures how long requests take. The leak: only the mean is ever asked for, but every single
-- number is kept.
local function new_meter(name)
  return setmetatable({name = name, history = {}}, Meter)
end

function Meter:add(milliseconds)
  self.history[#self.history + 1] = milliseconds
end

function Meter:mean()
  local sum = 0
  for _, milliseconds in ipairs(self.history) do sum = sum + milliseconds end
  return sum / #self.history
end

meters = {read = new_meter("read"), write = new_meter("write")}

local function serve(requests)
  for i = 1, requests do
    meters.read:add(i % 7 + 0.5)
    if i % 4 == 0 then meters.write:add(i % 11 + 1.5) end
  end
  return meters.read:mean(), meters.write:mean()
end

serve(1000)
heap.snapshot("a")
serve(20000)
heap.snapshot("b")
serve(20000)
heap.snapshot("c")
