--[==[
timeline.lua - one bad hour, found from a single snapshot

A server leaves a mark each hour (here one with a name; `heap.mark()` without one is named with the
time). At the end of the day its memory has grown. One snapshot tells when, since the order of the
collector's lists is that of allocation; the marks in it take the place of the snapshots a and b.

    $ lua5.4 timeline.lua
    $ heaptop --by epoch c
    78.8% of what lives, 108.8 KB, was allocated since 00:00, the first mark: 77.0% of it between 14:00 and 15:00
    What that is: heapdiff --since 14:00 --until 15:00 c

    shallow  share  objects                        since (UTC)
    29.4 KB  21.2%      333  ███████               the start
      951 B   0.7%       30  ▎                     2026-11-22 22:14:57  00:00
      960 B   0.7%       30  ▎                     2026-11-22 22:14:57  01:00
      960 B   0.7%       30  ▎                     2026-11-22 22:14:57  02:00
      319 B   0.2%       10  ▏                     2026-11-22 22:14:57  03:00
        0 B   0.0%        0                        2026-11-22 22:14:57  04:00
        0 B   0.0%        0                        2026-11-22 22:14:57  05:00
        0 B   0.0%        0                        2026-11-22 22:14:57  06:00
        0 B   0.0%        0                        2026-11-22 22:14:57  07:00
        0 B   0.0%        0                        2026-11-22 22:14:57  08:00
        0 B   0.0%        0                        2026-11-22 22:14:57  09:00
        0 B   0.0%        0                        2026-11-22 22:14:57  10:00
        0 B   0.0%        0                        2026-11-22 22:14:57  11:00
        0 B   0.0%        0                        2026-11-22 22:14:57  12:00
        0 B   0.0%        0                        2026-11-22 22:14:57  13:00
    83.8 KB  60.7%    1,320  ████████████████████  2026-11-22 22:14:57  14:00
        0 B   0.0%        0                        2026-11-22 22:14:57  15:00
        0 B   0.0%        0                        2026-11-22 22:14:57  16:00
        0 B   0.0%        0                        2026-11-22 22:14:57  17:00
        0 B   0.0%        0                        2026-11-22 22:14:57  18:00
        0 B   0.0%        0                        2026-11-22 22:14:57  19:00
     2.2 KB   1.6%       20  ▌                     2026-11-22 22:14:57  20:00
     6.6 KB   4.8%       60  █▋                    2026-11-22 22:14:57  21:00
     6.6 KB   4.8%       60  █▋                    2026-11-22 22:14:57  22:00
     6.6 KB   4.8%       60  █▋                    2026-11-22 22:14:57  23:00

    $ heapdiff --since 14:00 --until 15:00 c
    1,320 objects allocated between the marks 14:00 and 15:00 are still alive in c: 83.8 KB
    30 of them retain the others; by class and by what holds them:

    retained  shallow  objects  example         class               held by
     83.8 KB   4.5 KB       30  0x555ec13ef5c0  {rows, sent, user}  _G.exports[*]

    Whether older containers grew is told by three snapshots only

    Why the first group stays: heappath c 0x555ec13ef5c0

]==]
-- luacheck: globals sessions exports
local heap = require "heap"

sessions, exports = {}, {}

-- The leak: an export is put here to be sent, and stays when it was.
local function export(user)
  local rows = {}
  for i = 1, 42 do rows[i] = ("%s;%d;%d"):format(user, i, i * i) end
  exports[#exports + 1] = {user = user, rows = rows, sent = true}
end

-- A session is replaced when its user comes again: the memory for it does not grow.
local function serve(user, hour)
  sessions[user] = {user = user, started = hour, seen = {hour}}
end

for hour = 0, 23 do
  heap.mark(("%02d:00"):format(hour))
  for i = 1, 30 do
    local user = "user " .. (hour * 30 + i) % 100
    serve(user, hour)
    if hour == 14 then export(user) end
  end
end
collectgarbage() -- for the same figures in each run; heaptop tells garbage apart
heap.snapshot("c")
