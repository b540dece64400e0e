--[==[
listener.lua - a listener that is never removed

Each connection puts a listener on an event bus and forgets to take it off when it ends. So the bus
keeps the listener, its function on_tick, and through that the whole session.

    $ lua5.4 listener.lua
    $ heapdiff a b c
    4,000 objects allocated between a and b are still alive in c: 304.7 KB; 1 older container grew by 15.8 KB
    1,000 of them retain the others; by class and by what holds them:

    retained  shallow  objects      in each snapshot  example         class     held by
    304.7 KB  78.1 KB    1,000  10 -> 1,010 -> 1,020  0x55f9d8b06bb0  Listener  _G.bus.listeners.tick[*]

    Containers older than a that had more entries in b and again in c
        grew                        bytes               entries  example         class              path
    +15.8 KB  312 B -> 16.1 KB -> 16.1 KB  10 -> 1,010 -> 1,020  0x55f9d8aa27c0  array of Listener  _G.bus.listeners.tick

    Why the first group stays: heappath c 0x55f9d8b06bb0

The 1,000 listeners of the 1,000 connections between a and b are all on one list of the bus.
    $ heappath --format text c Listener
    Listener 0x55f9d8b07d70 is kept alive by: _G.bus.listeners.tick[1020]
    1,020 Listener in the snapshot; this is the one that retains most

    reference   class                       address         shallow  retained
    _G          globals (_G)                0x55f9d8a97c50   1.6 KB  329.6 KB
    .bus        {emit, listeners, off, on}  0x55f9d8aa22d0    152 B  327.2 KB
    .listeners  {tick}                      0x55f9d8aa2330     80 B  326.9 KB
    .tick       array of Listener           0x55f9d8aa27c0  16.1 KB  326.8 KB
    [1020]      Listener                    0x55f9d8b07d70     80 B     312 B

    To cut this path and its like, remove entries of _G.bus.listeners.tick: it has 1,020
        Code that names "tick": serve @listener.lua:87, connect @listener.lua:71

The last snapshot alone would have told, since the list is most of the heap:
    $ heaptop --suspects c
    _G.bus.listeners.tick holds 1,020 Listener tables, 326.8 KB, 91.8% of the heap
        312 B each on average, and 16.1 KB around them
        Why it stays: heappath c 0x55f9d8aa27c0
        What is in it: heaptop --under 0x55f9d8aa27c0 c

]==]
-- luacheck: globals bus
local heap = require "heap"

-- An event bus as many programs have one, reachable from everywhere.
bus = {listeners = {}}

function bus.on(event, listener)
  local list = bus.listeners[event] or {}
  bus.listeners[event] = list
  list[#list + 1] = listener
end

function bus.off(event, listener)
  local list = bus.listeners[event]
  for i = #list, 1, -1 do
    if list[i] == listener then table.remove(list, i) end
  end
end

function bus.emit(event, ...)
  for _, listener in ipairs(bus.listeners[event] or {}) do listener.fn(...) end
end

local Listener = {__name = "Listener"}
Listener.__index = Listener

-- Each connection wants to know of the clock's ticks, to send a keepalive.
local function connect(id)
  local session = {id = id, idle = 0, outbox = {}}
  local function on_tick(seconds)
    session.idle = session.idle + seconds
    if session.idle > 60 then session.outbox[1] = "ping" end
  end
  session.listener = setmetatable({fn = on_tick}, Listener)
  bus.on("tick", session.listener)
  return session
end

-- The leak: a session that has ended must call bus.off("tick", session.listener).
local function disconnect(session)
  session.outbox = nil
end

local function serve(connections)
  for id = 1, connections do
    local session = connect(id)
    if id % 100 == 0 then bus.emit("tick", 1) end
    disconnect(session)
  end
end

serve(10) -- the first connections warm everything up
heap.snapshot("a")
serve(1000) -- the work under suspicion
heap.snapshot("b")
serve(10) -- and a little more, so that what was only waiting to be replaced is gone
heap.snapshot("c")
