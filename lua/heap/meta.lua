---@meta heap
-- meta.lua - the module's interface for people and for the Lua language server. The functions are
-- in heap.so; this file is read by editors only, never run.
--
--     local heap = require "heap"
--     heap.snapshot("a")  work()  heap.snapshot("b")  work()  heap.snapshot("c")
--
--     $ heapdiff a b c         what was allocated between a and b and is still there in c
--
-- `require "heap"` raises an error, which names what was expected and what was found, on every Lua
-- that it does not know: it knows PUC Lua 5.4.0 to 5.4.8 on 64-bit machines.
--
-- Snapshots with no change to the program are in a file of their own: heap/auto.lua.

---Looks at the heap of the running Lua program, without disturbing it.
---@class heaplib
local heap = {}

---@class heap.options
---@field strings? integer bytes of each string to keep. Default 256; 0 keeps none (for secrets)
---@field background? boolean let a forked child write the file, and return a job at once

---Writes the whole heap, as it is at this moment, to the file `path`, and leaves a mark of that
---name in the heap, by which later snapshots know what is older and what is younger.
---
---It works wherever Lua code runs: in coroutines, finalizers, hooks and error handlers, and in
---every state of the collector. It runs no collector step and calls no metamethod and no
---finalizer; the two small userdata of the mark are all that it allocates in the heap.
---
---The file has mode 0600, since a heap holds secrets, and it gets its name when it is whole: after a
---failure an older file at `path` is as it was. A file for which there is no room, on the disk or
---under `ulimit -f`, is not begun.
---
---    local objects, bytes = assert(heap.snapshot("before.heap"))
---    heap.snapshot("secret.heap", {strings = 0})
---
---Cost: about the time of one full collection of the same heap, and 1 MiB of memory outside of
---it. Raises an error only for wrong arguments. A failure to write is returned.
---
---With `background` the program pauses for a fork alone, and a child process writes the heap as it
---was at that instant. The program's `wait` does not see the child, and no SIGCHLD is raised. The
---child completes the file even if the program ends first.
---
---    local job = assert(heap.snapshot("a", {background = true}))
---    ...
---    local objects, bytes = assert(job:wait())
---@param path string the file to write; also the mark's name
---@param options? heap.options
---@return integer|heap.job|nil objects how many objects the collector knows, or the job; nil:
---failure
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
---program tell for every object whether it is older or younger than the mark (`heapdiff --since
---"level 2" c`). Several marks may have one name; the latest counts.
---
---Without a name it is one of many, for a program that leaves one by period for months. It is
---named with the time in UTC, and there are at most 128 of these: with one more, every second of
---them is dropped, and `thinned` is true. Who then doubles the period has 64 to 128 even steps
---over the whole life of the program.
---
---    local _, thinned = heap.mark()
---    if thinned then period = 2 * period end
---
---Cost: O(1), two userdata of 88 bytes and the name that stay as long as the program runs.
---Raises an error only for a wrong argument. That there is no memory, or that the name is longer
---than 4,096 bytes, is returned.
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
---@field objects? integer all that the collector knows, luaheap's own included
---@field types? table<string, heap.count> by "string", "table", "closure", "upvalue", "proto",
---"userdata" and "thread"
---@field dead? heap.count of all: condemned, and not yet freed by a sweep that is under way
---@field epochs? heap.epoch[] what was allocated between two marks and is not collected, oldest
---first; of more than 255 marks the youngest count, and what is older is in the first

---The state of the collector, and how many objects of which type and age there are, exactly: the
---bytes of all types and 8 for each slot of the string table are `bytes`. Nothing of the program is
---disturbed; what it allocates is the table that it returns.
---
---Cost: a pass over all objects, 0.15 to 0.45 times a full collection, 30 to 200 ns an object: some
---10 ms for 10 MB. Every second that is fine for a small heap; for a big one leave the objects out,
---which takes 1 microsecond: `heap.stats({objects = false})` has neither of `objects`, `types`,
---`dead` and `epochs`. All is counted before the table is made, so it is not in it.
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
---@param options? {objects: boolean}
---@return heap.stats
function heap.stats(options) end

---The exact shallow size of one value: the bytes that Lua has allocated for it alone, without
---what it refers to. A table counts with its array and hash parts, a coroutine with its stack.
---
---    heap.sizeof({})                   --> 56
---    heap.sizeof(42)                   --> 0: not collectable
---
---Cost: O(1). Raises an error only when called without a value.
---@param value any
---@return integer bytes 0 for what is not collectable: nil, booleans, numbers, light userdata
function heap.sizeof(value) end

return heap
