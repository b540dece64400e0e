---@meta heap.reader
-- reader_meta.lua - heap.reader's interface for people and for the Lua language server. The
-- functions are in heap.so; this file is read by editors only, never run.
--
--     local reader = require "heap.reader"
--     local c = assert(reader.open "c")
--     print(c:suspects())
--     for o in c:objects{class = "Listener"} do print(o.address, o.retained_bytes, o:path()) end
--
-- It reads snapshots in any Lua 5.4 or 5.5, whether "heap" knows its heap or not. Objects, edges
-- and lists of them are small userdata; what they are asked for is decoded or computed when it is
-- first needed. So the first question costs what it costs the commands, some collections of the
-- heap of the snapshot, and the next ones mostly less.
--
-- Everything prints: an object with its class, bytes and path, a report as the command prints it,
-- with its first 20 rows. `lua5.4 -i -l reader=heap.reader` is a prompt to look around in (before
-- Lua 5.4.4: `lua5.4 -i -e 'reader = require "heap.reader"'`). cookbook.md has scripts.
--
-- Rows of reports (reader_rows_meta.lua) are tables with the keys of the commands' --json, with
-- objects in place of addresses. Sizes are in bytes, times in nanoseconds since 1970. Wrong use
-- raises an error, and so does a question to a closed snapshot. Where the answer is no, calls give
-- nil, a message and a code: "io", "foreign" (not a snapshot), "version" (of a newer luaheap),
-- "damaged", "memory", "too much", "absent" (no such object).

---@class heap.reader
local reader = {}

---Opens a snapshot. All of it is read and checked: what becomes of the file later does not matter.
---Close it, or say `local c <close>`, where many are opened: its memory (the file, and 24 bytes an
---object, 80 once it is analysed) is not Lua's, so Lua is in no hurry to collect it.
---@param path string
---@return heap.snapshot|nil snapshot, string? message, string? code
function reader.open(path) end

---What grows over three snapshots or more, by path; `classes` has the same by class. Files are
---opened one after another, and only figures are kept.
---@param snapshots (string|heap.snapshot)[] in the order of their time
---@return heap.growth|nil, string? message, string? code
function reader.growth(snapshots) end

---Is it fixed? Compares the growth of two runs of a program, from the first to the second snapshot
---of each; or, of one each, what there is.
---@param before (string|heap.snapshot)[]
---@param after (string|heap.snapshot)[]
---@return heap.comparison|nil, string? message, string? code
function reader.compare(before, after) end

---Who owns the growth: the parts of the heap, the whole first, in the first and in the last
---snapshot. What is below a part and its own figures add up to it.
---@param snapshots (string|heap.snapshot)[]
---@return heap.owners|nil, string? message, string? code
function reader.owners(snapshots) end

---What a tracked program allocated, from the file that heap.track wrote, as heapprof tells it.
---@class heap.profile_options
---@field report? "allocations"|"findings"|"calls"|"advice"|"profile" allocations if not given
---@field by? "site"|"function"|"type"|"file"|"stack" rows of allocations: by site if not given
---@field order? "allocated"|"live"|"peak"|"soon" what comes first; soon: dead at the first
---collection
---@field since? number seconds: what was allocated from then on
---@field before? number seconds: and before then
---@field never_freed? boolean of that, what was not freed until the profile ends
---@field n? integer rows at most

---@param file string
---@param options? heap.profile_options
---@return heap.allocations|heap.findings|heap.calls|heap.advices|heap.profile|nil, string? message
---@return string? code
function reader.profile(file, options) end

---Two profiles, site by site: those first that allocate more in the second.
---@param old string
---@param new string
---@return heap.allocation_changes|nil, string? message, string? code
function reader.compare_profiles(old, new) end

---Any text on one line that a terminal can be shown: valid UTF-8, no control characters.
---@param text string
---@return string
function reader.escape(text) end

-- ==== Snapshots ==========================================================================

---An open snapshot. `#snapshot` is the number of its objects, which are numbered from 1.
---@class heap.snapshot
---@field info heap.info
---@field file string? what it was opened from
---@field root heap.object whose edges are the roots of the heap; its number is 0
---@field closed boolean
---@field tracking? heap.tracking nil: the program was not tracked
local snapshot = {} -- luacheck: no unused

---What stands for an object: itself, its number, or what the commands take: an address as Lua
---prints it, a path, "@file.lua:42", a class (its instance that retains most), or "root". Of a
---capture also a value that is no string.
---@alias heap.subject heap.object|integer|string|table|function|userdata|thread

---@param what heap.subject
---@return heap.object|nil object
---@return string? message what was not found, and what is called alike
---@return string? code "absent"
function snapshot:object(what) end

---@class heap.filter
---@field class? string
---@field type? string "table", or several: "table,function"
---@field garbage? boolean what nothing refers to any more, instead of what is reachable
---@field since? string|integer allocated after this mark, a name or its number in marks()
---@field until? string|integer allocated before this mark

---Objects to run over with `for`, in the order of their allocation, the youngest first; those with
---finalizers come last. luaheap's own are left out.
---@param filter? heap.filter
---@return fun(): heap.object
function snapshot:objects(filter) end

---The classes in order.
---@param n? integer|heap.ranking how many; 0 (default): all
---@param order? "retained"|"shallow"|"count"
---@return heap.classes
function snapshot:classes(n, order) end

---The biggest objects; upvalues and protos only if their type is asked for. Of linked lists only
---the first element, unless all are asked for, or the order is shallow.
---@param n? integer|heap.ranking how many (default 20); 0: all
---@param order? "retained"|"shallow"
---@return heap.objects
function snapshot:top(n, order) end

---@class heap.ranking
---@field n? integer
---@field sort? "retained"|"shallow"|"count"
---@field type? string
---@field garbage? boolean

---Where what lives was allocated, the sites that retain most first.
---@param n? integer how many; default: all
---@return heap.sites|nil
---@return string? message the program was not tracked
---@return string? code
function snapshot:sites(n) end

---The marks in it, the oldest first; the snapshot's own is the last.
---@return heap.mark_row[]
function snapshot:marks() end

---When what lives was allocated: row 1 before the first mark, row i + 1 since mark i.
---@param options? {type?: string, garbage?: boolean}
---@return heap.epochs
function snapshot:epochs(options) end

---What looks like a collection without a limit, those with most bytes first, and those that were
---filled once last.
---@return heap.growing
function snapshot:growing() end

---What the instances of a class are like.
---@param name string "array" means "array of Listener", too
---@return heap.description|nil, string? message, string? code
function snapshot:class(name) end

---What memory holds without need, those kinds with most bytes first.
---@return heap.waste
function snapshot:waste() end

---A set of objects: one of them, a list of them, what objects() returns, a fingerprint, or an
---expression for all that match: a class is all of its instances.
---@alias heap.set heap.subject|heap.subject[]|heap.objects|fun(): heap.object

---Why a whole set is alive: the paths of all of them as one tree.
---@param set heap.set
---@param n? integer about so many rows, the biggest (default 20); 0: all
---@return heap.ways|nil, string? message, string? code
function snapshot:ways(set, n) end

---What is taken as gone: a reference, by a path that ends in it ("_G.cache", as though it were set
---to nil) or as an edge; or objects, by address, place, class or as an object.
---@alias heap.cut string|heap.edge|heap.object

---From now on all is answered as though these were not there: what only they keep alive is garbage.
---What was ignored before is not any more; without an argument nothing is. Costs as much as the
---first question. Lists of before keep what they have. Captures cannot: open what save() wrote.
---@param cuts? heap.cut|heap.cut[]
---@return true|nil
---@return string? message nothing is changed
---@return string? code
function snapshot:ignore(cuts) end

---What would be freed if each of the cuts were made alone, and all of them together; and is an
---object among it? Nothing is changed.
---@param cuts heap.cut|heap.cut[]
---@param object? heap.subject
---@return heap.what_if|nil, string? message, string? code
function snapshot:what_if(cuts, object) end

---What leaks, or is likely to, the most certain first; then what is big.
---@return heap.causes
function snapshot:leaks() end

---What holds much, and where it accumulates.
---@return heap.suspects
function snapshot:suspects() end

---What each module and global keeps alive alone (retained_bytes), what it reaches, and what of that
---others reach or hold too (shared_bytes).
---@param n? integer how many; 0 (default): all
---@return heap.modules
function snapshot:modules(n) end

---Where the coroutines and the main thread stand, those at one place as one.
---@return heap.threads
function snapshot:threads() end

---What would go if all of these objects went together; each byte counts once.
---@param set heap.set
---@return integer|nil bytes
---@return integer|string objects, string? code
function snapshot:retained(set) end

---What changed. They are put into the order of their time: with two others, what was allocated
---between the oldest and the next and still lives in the youngest, and which older containers grew
---(`grown`); with one, what appeared, what is gone, and the change of each class (`classes`).
---Snapshots of different Lua states are compared by path, by class, and strings by content.
---@param other heap.snapshot
---@param another? heap.snapshot
---@return heap.diff|heap.apart
function snapshot:diff(other, another) end

---The same from the marks in this snapshot alone: what was allocated since one mark, or between
---two.
---@param mark string of several with that name the latest
---@param until_mark? string
---@return heap.diff|nil, string? message, string? code
function snapshot:since(mark, until_mark) end

---All objects with a fingerprint.
---@param fingerprint string
---@return heap.objects|nil, string? message, string? code
function snapshot:objects_with(fingerprint) end

---Strings of which the younger of two snapshots has more, by content.
---@param other heap.snapshot
---@return heap.strings
function snapshot:strings(other) end

---Checks what cannot break the reader, but no Lua would write: as heapcheck does.
---@return integer|nil edges how many references and roots there are
---@return string? message, string? code
function snapshot:verify() end

---From now on, all that is asked of it, or of its objects, raises an error.
function snapshot:close() end

-- ==== Objects ============================================================================

---An object of a snapshot. Two that stand for the same one are equal; as the key of a table take
---its number, `id`. All methods but get and text can be asked of the snapshot, too: c:path(object).
---
---Its other fields are in reader_rows_meta.lua. Those that its type does not have are nil.
---@class heap.object
---@field snapshot heap.snapshot
---@field stack? heap.stack its site with its callers, as far as stacks were tracked
---@field value? any of a string the bytes that were kept; of an upvalue what is in it; of an object
---of a capture (heap.capture) the value itself, nil: it is gone
local object = {} -- luacheck: no unused

---The shortest chain of references that keeps it alive: `_G.bus.listeners.tick[17]`.
---@return string|nil path nil: it is garbage
function object:path() end

---The k (default 1) shortest by different referrers, each a list of edges from the root on.
---@param k? integer
---@return heap.path[]
function object:paths(k) end

---All that refers to it, weak references too, the nearest to the root first.
---@return heap.referrers
function object:referrers() end

---What it refers to, to run over with `for`.
---@return fun(): heap.edge
function object:edges() end

---Keys and values of a table, to run over with `for`. Strings are strings if the snapshot has all
---of their bytes. All other objects are objects; light userdata and light C functions are light
---userdata.
---@return fun(): any, any
function object:entries() end

---What a table has under a key: O(entries).
---@param key any
---@return any
function object:get(key) end

---The objects that would free it, each, if they went; the nearest first.
---@return heap.objects
function object:dominators() end

---Paths that hold it independently: so many cuts are needed to free it. `from` is the object from
---which they part, `limited` whether there may be more.
---@param limit? integer default 20
---@return heap.path[]|nil
---@return string? message nothing keeps it alive
---@return string? code
function object:independent(limit) end

---What it keeps alive alone, as a tree, itself first; what is below a row is deeper. Eight or more
---of one class at one place are one row.
---@param options? {depth?: integer, n?: integer, least_bytes?: integer} default: 4 levels of 10
---rows, each of them at least a hundredth of the whole
---@return heap.under|nil, string? message, string? code
function object:under(options) end

---Of a thread where each of its functions stands, the innermost first.
---@return string[]
function object:frames() end

---As Lua prints it, `table: 0x55d0c0a3f2e0`; a string in quotes, and of that at most so many bytes
---(default 64).
---@param most_bytes? integer
---@return string
function object:text(most_bytes) end

---Where an object was allocated, and who called, the nearest first: stack[1] is the site. Counts
---are of all that was allocated at this stack.
---@class heap.stack: { [integer]: heap.site }

---Objects that are made when they are asked for: list[1] to list[#list].
---@class heap.objects: { [integer]: heap.object }
---@field total_objects? integer of a ranking: how many there are in all; and so to text
---@field left_out? integer elements of lists that would have come before the last
---@field sort? "retained"|"shallow" by what they are in order
---@field garbage? boolean it is about what nothing refers to any more
---@field reachable_bytes? integer of these are shares
---@field text? string as heaptop prints it

---Edges, each made when it is asked for.
---@class heap.path: { [integer]: heap.edge }
---@field text string
---@field held_by string the same, folded

---@class heap.referrers: { [integer]: heap.edge }

return reader
