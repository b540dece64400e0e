--[==[
tracked.lua - a service whose leak has a line

A chat server keeps what a user missed, and never lets go of it. Many places make messages; with
heap.track() on from the first line on, each object knows which one made it, and who had called.

    $ lua5.4 tracked.lua
    $ heapdiff a b c
    1,550 objects allocated between a and b are still alive in c: 173.3 KB; 2 older containers grew by 31.5 KB

    retained   shallow  objects      in each snapshot  example         class             held by
    155.9 KB  155.9 KB    1,050  21 -> 1,071 -> 1,092  0x7f827e34aac0  {at, from, text}  (local users in main chunk @tracked.lua of main thread)[*].missed[*]
        allocated at @tracked.lua:51 in message, from @tracked.lua:64 in say (1,000 of 1,050 looked at); 1,000 of 10,000 objects made there stay
     17.1 KB   17.1 KB      490      10 -> 500 -> 500  0x7f827e226bd0  string            (local users in main chunk @tracked.lua of main thread)[*].missed[*].text
        allocated at @tracked.lua:73 in serve, from @tracked.lua:80 in main chunk; 500 of 1,346 objects made there stay
       309 B     309 B       10        10 -> 20 -> 20  0x7f827e220330  string            (local users in main chunk @tracked.lua of main thread)[*].missed[*].from
        allocated at @tracked.lua:73 in serve, from @tracked.lua:80 in main chunk; 500 of 1,346 objects made there stay

    Containers older than a that had more entries in b and again in c
        grew  containers                        bytes               entries  example         class                      path
    +31.5 KB           2  624 B -> 32.1 KB -> 32.1 KB  21 -> 1,071 -> 1,092  0x7f827e210140  array of {at, from, text}  (local users in main chunk @tracked.lua of main thread)[*].missed

    Why the first group stays: heappath c 0x7f827e34aac0

Of 10,000 messages that line 51 made for say, 1,000 stay. All lines that made what is in c:
    $ heaptop --by site -n 5 c
    Sites by retained size
    retained  share   shallow  objects  of made  bytes made               ages  by             site
    216.8 KB  88.5%     568 B        1        1        56 B        1 -> 0 -> 0  table          @tracked.lua:48 in main chunk
    216.2 KB  88.3%   36.1 KB       40       40      4.1 KB       40 -> 0 -> 0  table          @tracked.lua:69 in main chunk
    180.2 KB  73.6%  162.1 KB    1,092   10,920      1.6 MB  21 -> 1,050 -> 21  table          @tracked.lua:51 in message
     18.1 KB   7.4%   18.1 KB      520    1,376     48.8 KB     20 -> 500 -> 0  concatenation  @tracked.lua:73 in serve
       184 B   0.1%     184 B        4        4       184 B        4 -> 0 -> 0  function       @tracked.lua:65 in main chunk
    and 5 more sites: -n 0 shows all
    12,353 objects were made since tracking began, all recorded

And those that allocate most, whatever became of it:
    $ heapsql c "select site, made_objects, made_bytes from sites order by made_bytes desc limit 3"
    site                        made_objects  made_bytes
    @tracked.lua:51 in message         10920     1659840
    @tracked.lua:59 in deliver             0       65504
    @tracked.lua:73 in serve            1376       50013

]==]
local heap = require "heap"
heap.track {stacks = true} -- or no change to the program: LUA_HEAP=track lua5.4 -l heap.auto ...

local users = {}

local function message(from, text)
  return {from = from, text = text, at = os.time()}
end

-- The leak: nobody takes away what was missed when the user is back.
local function deliver(user, m)
  if user.online then
    user.seen = user.seen + #m.text
  else
    user.missed[#user.missed + 1] = m
  end
end

local function say(from, text)
  for _, user in ipairs(users) do deliver(user, message(from, text)) end
end

local function welcome(user) deliver(user, message("server", "welcome")) end

for i = 1, 20 do users[i] = {seen = 0, missed = {}, online = i > 2} end

local function serve(n)
  for i = 1, n do
    say("user" .. i % 20, "message " .. i)
    welcome(users[i % 20 + 1])
  end
end

serve(10)
heap.snapshot("a")
serve(500)
heap.snapshot("b")
serve(10)
heap.snapshot("c")
heap.untrack()
