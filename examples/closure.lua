--[==[
closure.lua - a small function that keeps a large object

A function of 40 bytes waits for midnight. It uses one field of a session, and so holds all of it,
with two buffers of some 20 KB.

    $ lua5.4 closure.lua
    $ heapdiff a b c
    600 objects allocated between a and b are still alive in c: 2.0 MB; 1 older container grew by 1.9 KB
    100 of them retain the others; by class and by what holds them:

    retained  shallow  objects  in each snapshot  example         class                     held by
      2.0 MB   3.9 KB      100   5 -> 105 -> 110  0x55e939c4bf60  function @closure.lua:56  _G.midnight[*]

    Containers older than a that had more entries in b and again in c
       grew                      bytes          entries  example         class              path
    +1.9 KB  184 B -> 2.1 KB -> 2.1 KB  5 -> 105 -> 110  0x55e939aa0fe0  array of function  _G.midnight

    Why the first group stays: heappath c 0x55e939c4bf60

The functions are small, but see what they retain. The way from one of them to its session:
    $ heappath --format text c Session
    Session 0x55e939b6ec60 is kept alive by: upvalue session of function @closure.lua:56 in _G.midnight[110]
    110 Session in the snapshot; this is the one that retains most

    reference        class                     address         shallow  retained
    _G               globals (_G)              0x55e939a9dc50   1.6 KB    2.2 MB
    .midnight        array of function         0x55e939aa0fe0   2.1 KB    2.2 MB
    [110]            function @closure.lua:56  0x55e939b6ed90     40 B   20.3 KB
    upvalue session  Session                   0x55e939b6ec60    152 B   20.3 KB

    To cut this path and its like, remove entries of _G.midnight: it has 110
        Code that names "midnight": remember @closure.lua:55, main chunk @closure.lua

]==]
-- luacheck: globals midnight
local heap = require "heap"

local Session = {__name = "Session"}
Session.__index = Session

-- What a session needs while it lasts: two buffers, together some 20 KB.
local function open_session(user)
  local session = setmetatable({user = user, started = os.time()}, Session)
  session.input = ("<"):rep(8192) .. user
  session.output = ("."):rep(12288) .. user
  return session
end

-- The report of the day is written at midnight: until then one small function a visitor waits here.
midnight = {}

-- The leak: the function needs the visitor's name only, but its upvalue is the whole session. With
-- `local user = session.user` before it, and `user` inside, the buffers would go with the session.
local function remember(session)
  midnight[#midnight + 1] = function(report)
    report[#report + 1] = session.user
  end
end

local visits = 0
local function serve(n)
  for _ = 1, n do
    visits = visits + 1
    local session = open_session("visitor" .. visits)
    remember(session)
  end
end

serve(5)
heap.snapshot("a")
serve(100)
heap.snapshot("b")
serve(5)
heap.snapshot("c")
