--[==[
coroutine.lua - coroutines that never end

A task waits for an answer that never comes. Its stack, and all that its local variables hold, wait
with it.

    $ lua5.4 coroutine.lua
    $ heapdiff a b c
    790 objects allocated between a and b are still alive in c: 434.1 KB; 1 older container grew by 5.8 KB
    200 of them retain the others; by class and by what holds them:

    retained   shallow  objects  in each snapshot  example         class                           held by
    434.1 KB  218.8 KB      200   5 -> 205 -> 210  0x559335bf5ff8  thread fetch @coroutine.lua:81  _G.scheduler.waiting[*]

    Containers older than a that had more entries in b and again in c
       grew                      bytes          entries  example         class                   path
    +5.8 KB  248 B -> 6.1 KB -> 6.1 KB  5 -> 205 -> 210  0x559335b61fa0  map[integer] of thread  _G.scheduler.waiting

    Why the first group stays: heappath c 0x559335bf5ff8

200 of the 2,000 tasks between a and b are still there, under the questions that nobody answered.
    $ heaptop --by class --type thread c
    Classes by retained size
    retained  share   shallow  objects  type    class
    455.4 KB  93.0%  229.7 KB      210  thread  thread fetch @coroutine.lua:81
      4.8 KB   1.0%    3.2 KB        1  thread  main thread

    $ heappath --format text c '_G.scheduler.waiting[60]'
    thread fetch @coroutine.lua:81 0x559335b711f8 is kept alive by: _G.scheduler.waiting[60]

    reference   class                                 address         shallow  retained
    _G          globals (_G)                          0x559335b5ec50   1.6 KB  464.2 KB
    .scheduler  {answer, ask, asked, spawn, waiting}  0x559335b61f20    248 B  461.8 KB
    .waiting    map[integer] of thread                0x559335b61fa0   6.1 KB  461.5 KB
    [60]        thread fetch @coroutine.lua:81        0x559335b711f8   1.1 KB    2.1 KB

    To cut this path and its like, remove entries of _G.scheduler.waiting: it has 210
        Code that names "waiting": answer @coroutine.lua:74, ask @coroutine.lua:68, main chunk @coroutine.lua

Where do they wait? Those that stand at one place are one:
    $ heaptop --threads c
    211 threads at 2 places; most is retained by 210 coroutines at coroutine.lua:71 in function ask

    210 coroutines, suspended: 455.4 KB, 93.0% of the heap; of that stacks 229.7 KB
        [C] in function coroutine.yield
        coroutine.lua:71 in function ask
        coroutine.lua:82 in function fetch
        Why one of them stays: heappath c 0x559335bf5ff8

    The main thread, running: 4.8 KB, 1.0% of the heap; of that its stack 3.2 KB
        [C] in function heap.snapshot
        coroutine.lua:100 in main chunk
        [C] in a function

]==]
-- luacheck: globals scheduler
local heap = require "heap"

-- A scheduler: tasks wait for the answer to a question, under the question's number.
scheduler = {waiting = {}, asked = 0}

function scheduler.spawn(fn, ...)
  local task = coroutine.create(fn)
  assert(coroutine.resume(task, ...))
  return task
end

function scheduler.ask(question)
  scheduler.asked = scheduler.asked + 1
  scheduler.waiting[scheduler.asked] = coroutine.running()
  return coroutine.yield(question)
end

function scheduler.answer(number, text)
  local task = scheduler.waiting[number]
  scheduler.waiting[number] = nil
  assert(coroutine.resume(task, text))
end

-- One request: look a host up, then send it the body.
local function fetch(host, body)
  local address = scheduler.ask("address of " .. host)
  if address then return body .. address end
end

-- Every tenth host has no address, and then the resolver says nothing at all. The leak: nobody
-- gives up, so the task, with its stack and the body on it, waits for ever.
local function serve(requests)
  for i = 1, requests do
    scheduler.spawn(fetch, "host" .. i, ("x"):rep(1000) .. i)
    if i % 10 ~= 0 then scheduler.answer(scheduler.asked, "192.0.2.1") end
  end
end

serve(50)
heap.snapshot("a")
serve(2000)
heap.snapshot("b")
serve(50)
heap.snapshot("c")
