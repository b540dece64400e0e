---@meta heap
-- meta.lua - the module's interface for people and for the Lua language server. The functions are
-- in heap.so; this file is read by editors only, never run.
--
--     local heap = require "heap"
--     heap.snapshot("a")  work()  heap.snapshot("b")  work()  heap.snapshot("c")
--
--     $ heapdiff a b c         what was allocated between a and b and is still there in c
--
-- It knows PUC Lua 5.4.0 to 5.4.8 and 5.5 on 64-bit machines. On any other Lua `require "heap"` raises an
-- error that names what was expected and what was found. heap/auto.lua takes snapshots without a
-- change to the program.

---Looks at the heap of the running Lua program, without disturbing it.
---@class heaplib
local heap = {}

---@class heap.options
---@field strings? integer bytes of each string to keep. Default 256; 0 keeps none (for secrets)
---@field background? boolean let a forked child write the file, and return a job at once

---Writes the whole heap, as it is at this moment, to the file `path`, and leaves a mark of that
---name in the heap, by which later snapshots know what is older and what is younger. It works
---wherever Lua code runs, also in finalizers, hooks and error handlers. It runs no collector step,
---no metamethod and no finalizer, and allocates in the heap only the two small userdata of the
---mark.
---
---    local objects, bytes = assert(heap.snapshot("before.heap"))
---    heap.snapshot("secret.heap", {strings = 0})
---
---The file has mode 0600, since a heap holds secrets, and gets its name when it is whole: a failure
---leaves an older file at `path` unchanged. It is not begun if there is no room for it, on the disk
---or under `ulimit -f`. A link at the end of `path`, or a device, is a failure.
---
---Cost: about the time of one full collection of the same heap, and 1 MiB of memory outside of
---it. Raises an error only for wrong arguments. A failure to write is returned.
---
---With `background` the program pauses only for a fork: 20 to 60 ms for each GB of the program;
---with glibc a tenth of that if it was started with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` (huge
---pages). A child process writes the heap as it was at that instant, also if the program ends
---first. The program's `wait` does not see the child, and no SIGCHLD is raised. The child closes
---its copies of the program's files and connections at once; before Linux 5.9 when it ends, and
---only then does a peer hear that the program has closed a connection.
---
---    local job = assert(heap.snapshot("a", {background = true}))
---    ...
---    local objects, bytes = assert(job:wait())
---@param path string the file to write; also the mark's name
---@param options? heap.options
---@return integer|heap.job|nil objects the collector's objects, or the job; nil: failure
---@return integer|string|nil bytes `collectgarbage("count") * 1024`; on failure what went wrong
---@return integer? errno on failure: the system's error number, 0 where there is none
function heap.snapshot(path, options) end

---A background snapshot. It is collected like any value; a child that still writes goes on then.
---@class heap.job
local job = {} -- luacheck: no unused

---Waits until the file is whole, at most `seconds` (default: as long as it takes). May be called
---again.
---@param seconds? number
---@return integer|nil objects nil: not written, or not yet
---@return integer|string bytes or what went wrong; then nothing was left behind
---@return integer? errno on failure: the system's error number, 0 where there is none
function job:wait(seconds) end

---Has the child ended, well or not? Never waits.
---@return boolean
function job:done() end

---The child's process id.
---@return integer
function job:pid() end

---Leaves a mark in the heap: a point in time with a name, but no file. Later snapshots of this
---program say of every object whether it is older or younger than the mark (`heapdiff --since
---"level 2" c`). Several marks may have one name; the latest counts.
---
---A mark without a name is for programs that leave one each period, for months. It is named with
---the time in UTC. There are at most 128 of these: with one more, every second of them is dropped,
---and `thinned` is true. A program that then doubles the period has 64 to 128 even steps over its
---life.
---
---    local _, thinned = heap.mark()
---    if thinned then period = 2 * period end
---
---Cost: O(1), two userdata of 88 bytes and the name, as long as the program runs. Raises an error
---only for a wrong argument. Lack of memory, or a name of more than 4,096 bytes, is returned.
---@param name? string
---@return true|nil planted nil on failure
---@return boolean|string|nil thinned only without a name; on failure what went wrong
---@return integer? errno on failure: the system's error number, 0 where there is none
function heap.mark(name) end

---@class heap.count
---@field objects integer
---@field bytes integer shallow sizes

---@class heap.epoch: heap.count
---@field name? string of the mark that begins it; nil in the first, which is before all marks
---@field time? integer of that mark, as os.time() has it

---@class heap.string_table
---@field strings integer short strings that are alive or not yet collected
---@field slots integer of 8 bytes each
---@field load number strings / slots; Lua doubles the slots at 1

---@class heap.stats
---@field bytes integer `collectgarbage("count") * 1024`
---@field debt integer bytes allocated since a step of the collector was due; negative: to go
---@field state string "propagate", "enter atomic", "atomic", "sweep allgc", "sweep finobj", "sweep
---tobefnz", "sweep end", "call finalizers" or "pause"
---@field kind string "incremental" or "generational"
---@field stopped boolean by `collectgarbage("stop")`; in a finalizer of 5.4.0 to 5.4.3 always true
---@field string_table heap.string_table
---@field entries? integer of all tables together, where asked for
---@field objects? integer all that the collector knows, luaheap's own included
---@field external_bytes? integer texts of external strings (Lua 5.5), which are in no other figure
---@field types? table<string, heap.count> by "string", "table", "closure", "upvalue", "proto",
---"userdata" and "thread"
---@field dead? heap.count of all: condemned, and not yet freed by a sweep that is under way
---@field epochs? heap.epoch[] what was allocated between two marks and is not collected, oldest
---first; of more than 255 marks the youngest count, and what is older is in the first

---The state of the collector, and how many objects of which type and age there are, exactly: the
---bytes of all types and 8 for each slot of the string table are `bytes`. It allocates only the
---table that it returns, after all is counted.
---
---Cost: a pass over all objects, 0.15 to 0.45 times a full collection, 30 to 200 ns an object: some
---10 ms for 10 MB. For a big heap that is asked every second leave the objects out, which takes 1
---microsecond: `heap.stats({objects = false})` lacks `objects`, `external_bytes`, `types`, `dead`
---and `epochs`. `entries = true` also counts the entries of all tables, in one more pass: numbers
---that pile up in a list are no objects.
---
---For a metrics endpoint, in the text format of Prometheus:
---
---    local function metrics()
---      local lines, s = {}, heap.stats()
---      local function add(format, ...) lines[#lines + 1] = format:format(...) .. "\n" end
---      add("lua_heap_bytes %d", s.bytes)
---      add("lua_gc_debt_bytes %d", s.debt)
---      add("lua_gc_stopped %d", s.stopped and 1 or 0)
---      add("lua_string_table_load %g", s.string_table.load)
---      for name, count in pairs(s.types) do
---        add('lua_objects{type="%s"} %d', name, count.objects)
---        add('lua_object_bytes{type="%s"} %d', name, count.bytes)
---      end
---      return table.concat(lines)
---    end
---
---Raises an error only for wrong arguments.
---@param options? {objects?: boolean, entries?: boolean}
---@return heap.stats
function heap.stats(options) end

---The exact shallow size of one value: the bytes that Lua has allocated for it alone, without
---what it refers to. A table counts with its array and hash parts, a coroutine with its stack, a
---string of Lua 5.5 with its text, wherever that is.
---
---    heap.sizeof({})                   --> 56
---    heap.sizeof(42)                   --> 0: not collectable
---
---Cost: O(1). Raises an error only when called without a value.
---@param value any
---@return integer bytes 0 for what is not collectable: nil, booleans, numbers, light userdata
function heap.sizeof(value) end

---@class heap.track_options
---@field stacks? boolean the whole stack of each allocation, not its site alone
---@field sample? integer|string one in so many bytes is recorded, at random: "512K"
---@field file? string a profile, for heapprof
---@field aggregate? boolean of `file`: it has counts, in place of each event: it stays small
---@field live? boolean heapprof --live-of shows this process
---@field time? boolean of `file`: calls and time of each function; by a debug hook, 0.3 us a call
---@field exact? integer|string the collector is sent to work after so many bytes: "256K"
---@field pool? boolean false: each block comes from the program's own allocation function; true:
---small ones never do. Default: they come from a pool of luaheap's own if that function is the
---standard one

---From now on each object knows where it is allocated: snapshots have it, so that heaptop, heapdiff
---and heappath tell the line; and a profile, if asked for, has every allocation and every free.
---
---    heap.track()
---    heap.track{stacks = true, file = "run.prof"}
---    heap.track{sample = "512K"}           for production
---
---It may be called wherever Lua code runs. What it costs and what it cannot know is in README.md.
---
---The death of an object is seen when the collector frees it: what lives for less than half as many
---bytes as the heap has is dead "at the first collection". With `exact` the collector is
---generational meanwhile, and collects what is young each time that so many bytes were allocated;
---what lives longer is collected as before.
---
---Raises an error only for wrong options.
---@param options? heap.track_options
---@return true|nil tracked nil on failure: tracked already, or the file cannot be written
---@return string? message, integer? errno
function heap.track(options) end

---Stops, and completes the profile. Objects keep what is known of them. Harmless where nothing is
---tracked.
---@return true|nil completed nil: tracking has stopped, but not all of the profile could be written
---@return string? message, integer? errno
function heap.untrack() end

-- ==== Looking at the heap from inside ====================================================
--
-- These calls answer about the heap as it is, in the words and figures of the commands. They take a
-- snapshot into memory outside the Lua heap, analyse it, and give the memory back before they
-- return. A question costs about as much as heaptop on that snapshot: some five full collections,
-- half a second for a million objects, and meanwhile 100 bytes an object. Several questions about
-- one moment share that cost in a capture.
--
-- What only the call holds is left out, and so is what luaheap loads to print answers. The *asker*
-- is the function that makes the call: what it holds by local variables and upvalues counts for
-- paths only where nothing else does, and is named last. Results are plain values; lists print as
-- tables. Rows do not keep `object` alive, so looking does not change the next answer: it is nil
-- when the object is freed.
--
-- Numbers, booleans, nil, light userdata and C functions without upvalues are no objects: about
-- these the calls return nil and a message.

---A reference, and the object that it leads to; of a list of referrers the one that it comes from.
---@class heap.step: heap.row
---@field label string ".listeners", "[17]", "upvalue bus", "local v in function f @app.lua:3 ..."
---@field edge string its kind: "value", "key", "upvalue", "local", ...
---@field skipped? integer so many steps in the middle of a long path; then nothing else is set
---@field weak? true it keeps nothing alive
---@field asker? true by a local variable or upvalue of the asker

---The shortest chain of references that keeps a value alive, as heappath prints it.
---
---    heap.path(bus.listeners.tick[17])   --> "_G.bus.listeners.tick[17]", steps
---
---Nothing but the asker holds it: nil, and a sentence that names what does. Of more than 24 steps
---the text is folded, and the middle of the list is one entry with `skipped`.
---@param value any
---@return string|nil path
---@return heap.step[]|string steps or why there is no path
function heap.path(value) end

---@class heap.live_steps
---@field path string the text
---@field asker? true it needs the asker
---@field [integer] heap.step

---The k shortest paths that end in different referrers, shortest first; those of the asker last.
---@param value any
---@param k integer
---@return heap.live_steps[]|nil, string? message
function heap.paths(value, k) end

---All references to a value that come from something alive, those of the asker last. `object` is
---what refers to it.
---@param value any
---@return heap.step[]|nil, string? message
function heap.referrers(value) end

---The bytes that would be freed if the value went: its own, and those of all that only it keeps
---alive. What is no object retains 0 bytes.
---@param value any
---@return integer|nil bytes, string? message
function heap.retained(value) end

---What is alive, by type ("table", "string", "closure", ...), by class, or by where it was
---allocated, as far as that was tracked (heap.track).
---
---    heap.count().table                --> {objects = 1204, bytes = 98304}
---    heap.count("class").Listener.objects
---    heap.count("site")["@app/bus.lua:31 in Bus:on"].bytes
---@param by? "type"|"class"|"site"
---@return table<string, heap.count>|nil
---@return string? message nothing was tracked
function heap.count(by) end

---The n first classes by "retained" (default), "shallow" or "count": what heap.reader's snapshots
---answer.
---@param n? integer|heap.ranking default 20; 0: all
---@param by? "retained"|"shallow"|"count"
---@return heap.classes
function heap.classes(n, by) end

---@class heap.top_row: heap.row
---@field retained_bytes integer

---@class heap.top_rows
---@field total_objects integer how many there are in all
---@field left_out integer elements of lists that would have come before the last
---@field sort "retained"|"shallow"
---@field garbage boolean
---@field text string as heaptop prints it
---@field [integer] heap.top_row

---The n biggest objects by "retained" (default) or "shallow" size, as heaptop ranks them: without
---upvalues and protos, and of a linked list the first element only, unless all are asked for (0).
---@param n? integer|heap.ranking default 20; 0: all
---@param by? "retained"|"shallow"|"count"
---@return heap.top_rows
function heap.top(n, by) end

---New objects that stay, of one class and held by one thing: a row of heapdiff.
---@class heap.new_group: heap.group
---@field example string address of the one that retains most

---What heap.reader's snapshots answer, with addresses in place of objects.
---@class heap.new_groups: heap.diff
---@field [integer] heap.new_group by retained bytes, biggest first

---What was allocated since a mark (or a snapshot) of that name, or between two, and is alive.
---@param mark string of several with that name the latest counts
---@param until_mark? string
---@return heap.new_groups|nil nil: there is no such mark
---@return string? message names those that there are
---@return string? code "absent"
function heap.since(mark, until_mark) end

---Runs a function n times and returns what stays of what was allocated meanwhile, also what the
---asker holds. Full collections come before and after, until finalizers have run, too. Errors of
---the function are passed on. Run it once before if its first run makes things that are meant to
---stay.
---
---    for _, group in ipairs(heap.diff(function() Session.new():close() end, 10)) do
---      print(group.objects / 10, group.class, group.held_by)
---    end
---@param f function
---@param n? integer default 1
---@return heap.new_groups
function heap.diff(f, n) end

---Runs a function five times to warm up and 512 times more, and returns what each of these runs
---leaves behind; nil: nothing. Where something stayed it runs on, up to `runs` times in all (8,192;
---8 at least): heap/leaks.lua says how long, and what a leak is. `tostring` makes a table of it.
---For luassert and busted there is heap/busted.lua.
---
---    local leaks = heap.leaks(function() Session.new():close() end)
---    assert(not leaks, tostring(leaks))
---    print(heap.leaks(f, {warm_up = 200, runs = 1000}))
---
---Errors of the function are passed on. Cost: the runs, and where nothing stayed three to five
---times a full collection; else twenty to seventy times, 5 s for a million objects, for up to six
---captures and their analyses, and collections in between.
---@param f function
---@param options? heap.leaks.options
---@return heap.leaks?
function heap.leaks(f, options) end

---@class heap.each_filter
---@field class? string
---@field type? "table"|"string"|"function"|"closure"|"userdata"|"thread"

---Calls a function for every object that is alive: `f(object, type, shallow_bytes)`. It may
---allocate, collect and raise errors; what it lets go is passed over when its turn comes, and what
---it makes is not seen. Upvalues and prototypes are no values and are left out. Objects that get a
---finalizer meanwhile are passed over, too.
---@param f fun(object: any, type: string, bytes: integer)
---@param filter? heap.each_filter|string a string: the name of a class
---@return integer calls
function heap.each(f, filter) end

---The living objects of a class, in a list that does not keep them alive (its values are weak): so
---it has gaps when some are gone, and is gone through with `pairs`.
---
---    for _, session in pairs(heap.objects("Session")) do print(session.user) end
---@param filter heap.each_filter|string a string: the name of a class
---@return any[]
function heap.objects(filter) end

---@class heap.dot_options
---@field depth? integer levels below the value (3); with `up` steps of a path, of which the middle
---of a longer one is folded (24)
---@field width? integer of each object so many references, those to what retains most (8); with
---`up` so many paths (10)
---@field up? boolean what keeps the value alive, instead of what is below it

---Writes the graph below a value, or above it, for Graphviz: `dot -Tsvg why.dot > why.svg`. It is
---in heap/dot.so, which needs libcgraph. The file is made as that of a snapshot.
---@param value any
---@param file string
---@param options? heap.dot_options
---@return true|nil
---@return string? message what cannot be written, or is to be installed
---@return integer? errno
function heap.dot(value, file, options) end

---A value as text, a few levels deep (default 3), with addresses and shallow sizes; at a prompt it
---is printed. It copes with cycles, long strings and big tables, of which it shows the first 20
---entries (it looks at all, to count them), and calls no metamethod. No snapshot is taken.
---
---    > heap.show({name = "bus", list = {{}, {}}, size = 2.5})
---    { -- 0x55cf576cf770, 152 B, 3 entries
---      list = { -- 0x55cf576c9e80, 88 B, 2 entries
---        [1] = {} -- 0x55cf576c9ec0, 56 B
---        [2] = {} -- 0x55cf576c9f00, 56 B
---      }
---      name = "bus"
---      size = 2.5
---    }
---@param value any
---@param options? {depth: integer}
---@return string
function heap.show(value, options) end

---A snapshot in memory outside the Lua heap, for many questions about one moment. Each function
---above but heap.diff is a method, and so are those of heap.reader's snapshots (`s:suspects()`,
---`c:diff(a, b)`), also about a value (`s:under(v)`); `value` of an object of theirs is the value.
---`s.reader` is that snapshot. Its memory, some 50 bytes an object and 50 more when it is analysed,
---goes back with s:close(), at the end of a <close> variable, or when it is collected: sooner is
---better, since the collector does not know of it.
---
---    do
---      local s <close> = heap.capture()
---      print(s:path(bus), s:retained(bus))
---      for _, row in ipairs(s:top(10)) do print(row.retained_bytes, row.class) end
---      s:save("a")
---    end
---
---About a value that is younger than the capture, methods return nil and a message.
---@class heap.capture: heap.snapshot
---@field reader heap.snapshot
local capture = {} -- luacheck: no unused

---Raises an error only where memory runs out.
---@return heap.capture
function heap.capture() end

capture.path, capture.paths, capture.referrers = heap.path, heap.paths, heap.referrers
capture.retained, capture.count, capture.classes = heap.retained, heap.count, heap.classes
capture.top, capture.since, capture.each = heap.top, heap.since, heap.each
capture.objects, capture.dot = heap.objects, heap.dot

---The object with this number (`id` of heap.reader's objects), or that an expression finds, as a
---value: only if it still is the same object, never another one that has its memory now. For a
---table, function, userdata or thread heap.reader's object: `s:object(bus):path()`.
---@param id integer|string
---@return any value nil: it is gone, is no value, or was given a finalizer since
---@return string? message
---@overload fun(self: heap.capture, value: any): heap.object|nil, string?, string?
function capture:object(id) end

---Writes it to a file, as heap.snapshot would have done.
---@param path string
---@return integer|nil bytes, string? message, integer? errno
function capture:save(path) end

---Gives its memory back.
function capture:close() end

return heap
