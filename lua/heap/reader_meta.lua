---@meta heap.reader
-- reader_meta.lua - heap.reader's interface for people and for the Lua language server. The
-- functions are in heap.so; this file is read by editors only, never run.
--
--     local reader = require "heap.reader"
--     local c = assert(reader.open "c")
--     print(c:suspects())
--     for o in c:objects{class = "Listener"} do print(o.address, o.retained_bytes, o:path()) end
--
-- It reads snapshots, in any Lua 5.4, whether "heap" knows its heap or not. Nothing of a snapshot
-- is copied into Lua: objects, edges and lists of them are small userdata, and what they are asked
-- for is decoded, or computed the first time that somebody needs it. So the first question costs
-- what it costs the commands, some collections of the heap that the snapshot is of, and the next
-- ones mostly less.
--
-- Everything prints: an object with its class, bytes and path, a report as the command prints it,
-- with its first 20 rows. `lua5.4 -i -l reader=heap.reader` is a prompt to look around in (before
-- Lua 5.4.4: `lua5.4 -i -e 'reader = require "heap.reader"'`). cookbook.md has scripts.
--
-- Rows of reports are tables with the keys of the commands' --json; where these have addresses
-- there are objects. Sizes are in bytes, times in nanoseconds since 1970. Wrong use raises an
-- error; so does anything that is asked of a snapshot after it was closed. Files and questions to
-- which the honest answer is no give nil, a message and a word: "io", "foreign" (not a snapshot),
-- "version" (of a newer luaheap), "damaged", "memory", "too much", "absent" (no such object).

---@class heap.reader
local reader = {}

---Opens a snapshot. Every byte is checked; then it is read where it lies, so nobody may change the
---file while it is open, though it may be replaced or deleted: if it is cut or overwritten the
---program ends with SIGBUS, as with any mapped file. Close it, or say `local c <close>`, where many
---are opened: its memory (24 bytes an object, 80 once it is analysed) is not Lua's, so Lua is in no
---hurry to collect it.
---@param path string
---@return heap.snapshot|nil snapshot
---@return string? message
---@return string? code
function reader.open(path) end

---What grows over three snapshots or more, by path; `classes` has the same by class. Files are
---opened one after another, and only figures are kept.
---@param snapshots (string|heap.snapshot)[] in the order of their time
---@return heap.growth|nil
---@return string? message
---@return string? code
function reader.growth(snapshots) end

---Is it fixed? Compares the growth of two runs of a program, from the first to the second snapshot
---of each; or, of one each, what there is.
---@param before (string|heap.snapshot)[]
---@param after (string|heap.snapshot)[]
---@return heap.growth|nil
---@return string? message
---@return string? code
function reader.compare(before, after) end

---Who owns the growth: the parts of the heap, the whole first, in the first and in the last
---snapshot. What is below a part and its own figures add up to it.
---@param snapshots (string|heap.snapshot)[]
---@return heap.part[]|nil
---@return string? message
---@return string? code
function reader.owners(snapshots) end

---Any text on one line that a terminal can be shown: valid UTF-8, no control characters.
---@param text string
---@return string
function reader.escape(text) end

-- {=== Snapshots ==========================================================================

---An open snapshot. `#snapshot` is the number of its objects, which are numbered from 1.
---@class heap.snapshot
---@field info heap.info
---@field file string? what it was opened from
---@field root heap.object whose edges are the roots of the heap; its number is 0
---@field closed boolean
local snapshot = {} -- luacheck: no unused

---@class heap.info
---@field program string its command line
---@field name string the path that the program gave
---@field lua_release string "5.4.6"
---@field process_id integer
---@field state_id integer the same for all snapshots of one Lua state
---@field serial integer of the snapshot's own mark; later ones are higher
---@field time_ns integer
---@field file_bytes integer
---@field string_limit integer bytes of each string that were kept
---@field objects integer
---@field bytes integer their shallow sizes
---@field gc_bytes integer collectgarbage("count") * 1024
---@field unaccounted_bytes integer
---@field string_table_bytes integer
---@field reachable_objects integer
---@field reachable_bytes integer
---@field garbage_objects integer
---@field garbage_bytes integer

---What stands for an object: itself, its number, or what the commands take: an address as Lua
---prints it, a path, "@file.lua:42", a class (its instance that retains most), or "root".
---@alias heap.subject heap.object|integer|string

---@param what heap.subject
---@return heap.object|nil object
---@return string? message what was not found, and what is called alike
---@return string? code "absent"
function snapshot:object(what) end

---@class heap.filter
---@field class? string
---@field type? string "table", or several: "table,userdata"
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
---@return heap.class[]
function snapshot:classes(n, order) end

---The biggest objects; upvalues and protos only if their type is asked for.
---@param n? integer|heap.ranking how many (default 20); 0: all
---@param order? "retained"|"shallow"
---@return heap.objects
function snapshot:top(n, order) end

---@class heap.ranking
---@field n? integer
---@field sort? "retained"|"shallow"|"count"
---@field type? string
---@field garbage? boolean

---@class heap.class
---@field class string
---@field type string
---@field objects integer
---@field shallow_bytes integer
---@field retained_bytes integer that would go if all of them went

---The marks in it, the oldest first; the snapshot's own is the last.
---@return heap.mark_row[]
function snapshot:marks() end

---@class heap.mark_row
---@field name string
---@field serial integer
---@field time_ns integer
---@field is_snapshot boolean

---When what lives was allocated: row 1 before the first mark, row i + 1 since mark i.
---@param options? {type?: string, garbage?: boolean}
---@return heap.epoch_row[]
function snapshot:epochs(options) end

---@class heap.epoch_row
---@field mark? string that begins it
---@field time_ns? integer
---@field objects integer
---@field shallow_bytes integer

---What looks like a collection without a limit, those with most bytes first, and those that were
---filled once last.
---@return heap.growing[]
function snapshot:growing() end

---@class heap.growing
---@field prospect "grows"|"may grow"|"filled once"
---@field held_by string a folded path
---@field object heap.object of several at that path the one with most bytes
---@field tables integer at that path
---@field entries integer in all of them
---@field bytes integer of all, with what their elements retain, shared or not
---@field retained_bytes integer of the object; and so to younger_share
---@field elements integer
---@field element string the class or type of most
---@field element_type? string nil for what is no object
---@field alike integer how many are of that class
---@field are_keys boolean the elements are the keys
---@field keys string "linked", "sequence", "integers", "times", "milliseconds", "numbers", "uuids",
---"hex", "numbered", "tokens", "names", "strings", "objects" or "mixed"
---@field least? number of keys that are numbers
---@field greatest? number
---@field example_key? heap.object a string
---@field exact boolean made in one piece
---@field aged integer elements that are objects
---@field since_first_mark integer
---@field epochs integer
---@field oldest_epoch integer
---@field youngest_epoch integer
---@field in_one_go boolean
---@field younger_share number of all objects those that are younger

---What the instances of a class are like.
---@param name string "array" means "array of Listener", too
---@return heap.description|nil
---@return string? message
---@return string? code
function snapshot:class(name) end

---@class heap.description
---@field class string
---@field type string
---@field objects integer
---@field garbage_objects integer
---@field garbage_bytes integer
---@field shallow_bytes integer
---@field retained_bytes integer of all together
---@field average_bytes integer
---@field one_more_bytes integer what one more costs: the median
---@field contents integer of strings: how many different ones
---@field repeated_bytes integer of strings that are equal to another
---@field biggest? heap.object
---@field spreads table<string, {objects: integer, least: integer, median: integer, ninth_tenth: integer, most: integer, sum: integer}> by "shallow", "retained", "alone", "entries" ...
---@field fields {field: string, instances: integer, values: integer, retained_bytes: integer, total_kinds: integer, kinds: {class: string, values: integer}[]}[]
---@field referrers {class: string?, type: string?, label: string, weak: boolean, referrers: integer, references: integer}[]
---@field epochs {mark: string?, objects: integer}[]

---What memory holds without need, those kinds with most bytes first.
---@return heap.waste
function snapshot:waste() end

---@class heap.waste: { [integer]: heap.waste_kind }
---@field waste_bytes integer
---@field string_table_waste_bytes integer
---@field userdata_block_bytes integer

---@class heap.waste_kind
---@field kind "emptied_tables"|"empty_slots"|"small_tables"|"equal_strings"|"equal_functions"|"user_values"|"debug_information"
---@field bytes integer
---@field objects integer
---@field originals integer
---@field by_hash integer
---@field places {bytes: integer, objects: integer, held_by: string?, source: string?, example: heap.object, class: string?, slots: integer?, used: integer?, original: heap.object?, by_hash: integer?}[]

---A set of objects: one of them, a list of them, what objects() returns, a fingerprint, or an
---expression for all that match: a class is all of its instances.
---@alias heap.set heap.subject|heap.subject[]|heap.objects|fun(): heap.object

---Why a whole set is alive: the paths of all of them as one tree.
---@param set heap.set
---@param n? integer about so many rows, the biggest (default 20); 0: all
---@return heap.ways|nil
---@return string? message
---@return string? code
function snapshot:ways(set, n) end

---@class heap.ways: { [integer]: heap.way }
---@field objects integer of the set, alive
---@field retained_bytes integer what would go if all of them went
---@field class? string of all of them
---@field type? string
---@field garbage_objects integer
---@field garbage_bytes integer
---@field held_by {path: string, objects: integer}[] those that hold most of them
---@field total_held_by integer

---@class heap.way
---@field depth integer
---@field objects integer of the set, there and further on
---@field retained_bytes integer
---@field hidden? integer so many rows are not shown: there are no other fields
---@field steps? string from the row above
---@field path? string
---@field class? string
---@field type? string
---@field through? integer objects there, of the set or on the way to it
---@field here? integer objects of the set that are there
---@field example? heap.object

---What is taken as gone: a reference, by a path that ends in it ("_G.cache", as though it were set
---to nil) or as an edge; or objects, by address, place, class or as an object.
---@alias heap.cut string|heap.edge|heap.object

---From now on all is answered as though these were not there: what only they keep alive is garbage.
---What was ignored before is not any more; without an argument nothing is. Costs as much as the
---first question. Lists of before keep what they have.
---@param cuts? heap.cut|heap.cut[]
---@return true|nil
---@return string? message nothing is changed
---@return string? code
function snapshot:ignore(cuts) end

---What would be freed if each of the cuts were made alone, and all of them together; and is an
---object among it? Nothing is changed.
---@param cuts heap.cut|heap.cut[]
---@param object? heap.subject
---@return heap.what_if|nil
---@return string? message
---@return string? code
function snapshot:what_if(cuts, object) end

---@class heap.what_if: { [integer]: heap.freed }
---@field together heap.freed
---@field only_together heap.freed what no one of them frees alone

---@class heap.freed
---@field cut? heap.cut
---@field frees_objects integer
---@field frees_bytes integer
---@field frees_it? boolean the object that was asked for

---What leaks, as far as one snapshot can tell.
---@return heap.suspect[]
function snapshot:suspects() end

---@class heap.suspect
---@field kind "holder"|"itself"|"list"|"tree"|"spread"
---@field object? heap.object nil for what no single object holds
---@field retained_bytes integer
---@field objects integer
---@field total_classes integer
---@field accumulated {class: string, type: string, objects: integer, retained_bytes: integer, example: heap.object}[]
---@field holders {path: string, objects: integer}[]
---@field total_holders integer

---What each module and global keeps alive alone (retained_bytes), what it reaches, and what of that
---others reach or hold too (shared_bytes).
---@param n? integer how many; 0 (default): all
---@return heap.module[]
function snapshot:modules(n) end

---@class heap.module
---@field name string
---@field object heap.object
---@field retained_bytes integer
---@field reached_bytes integer
---@field shared_bytes integer
---@field reached_objects integer

---Where the coroutines and the main thread stand, those at one place as one.
---@return heap.standing[]
function snapshot:threads() end

---@class heap.standing
---@field status string "suspended", "running", "normal", "not started", "finished", "failed"
---@field main boolean
---@field threads integer
---@field shallow_bytes integer
---@field retained_bytes integer
---@field example heap.object
---@field frames string[] the innermost first

---What would go if all of these objects went together; each byte counts once.
---@param set heap.set
---@return integer|nil bytes
---@return integer|string objects
---@return string? code
function snapshot:retained(set) end

---What changed. They are put into the order of their time: with two others, what was allocated
---between the oldest and the next and still lives in the youngest, and which older containers grew
---(`grown`); with one, what appeared, what is gone, and the change of each class (`classes`).
---Snapshots of different Lua states are compared by class only.
---@param other heap.snapshot
---@param another? heap.snapshot
---@return heap.diff
function snapshot:diff(other, another) end

---The same from the marks in this snapshot alone: what was allocated since one mark, or between
---two.
---@param mark string of several with that name the latest
---@param until_mark? string
---@return heap.diff|nil
---@return string? message
---@return string? code
function snapshot:since(mark, until_mark) end

---A list of groups, those that retain most first.
---@class heap.diff: { [integer]: heap.group }
---@field same_state boolean
---@field objects integer
---@field shallow_bytes integer
---@field retained_bytes integer
---@field gone_objects integer of two snapshots
---@field gone_bytes integer
---@field grown {object: heap.object, class: string, held_by: string, shallow_bytes: integer[], entries: integer[], fingerprint: string}[]
---@field classes {class: string, type: string, objects: integer[], shallow_bytes: integer[], appeared: integer?, gone: integer?}[]

---@class heap.group
---@field class string
---@field type string
---@field held_by string a folded path
---@field objects integer
---@field shallow_bytes integer
---@field retained_bytes integer
---@field new_objects integer
---@field new_bytes integer
---@field example heap.object
---@field fingerprint string the same in every run of the program

---All objects with a fingerprint.
---@param fingerprint string
---@return heap.objects|nil
---@return string? message
---@return string? code
function snapshot:objects_with(fingerprint) end

---Strings of which the younger of two snapshots has more, by content.
---@param other heap.snapshot
---@return {example: heap.object, objects: integer[], bytes: integer[]}[]
function snapshot:strings(other) end

---Checks what cannot break the reader, but no Lua would write: as heapcheck does.
---@return integer|nil edges how many references and roots there are
---@return string? message
---@return string? code
function snapshot:verify() end

---From now on, all that is asked of it, or of its objects, raises an error.
function snapshot:close() end

-- }=======================================================================================

-- {=== Objects ============================================================================

---An object of a snapshot. Two that stand for the same one are equal; as the key of a table take
---its number, `id`. All methods can be asked of the snapshot, too: c:path(object).
---
---Fields that its type does not have are nil.
---@class heap.object
---@field id integer
---@field snapshot heap.snapshot
---@field type string "table", "string", "closure", "upvalue", "proto", "userdata", "thread", "root"
---@field class string
---@field address string as Lua prints it; the root has none
---@field shallow_bytes integer
---@field retained_bytes integer 0 for garbage
---@field distance? integer from the root; nil for garbage
---@field dominator? heap.object which of all objects would free it, and is the nearest
---@field held_by? string the path with all that varies folded: _G.cache[*]
---@field epoch integer how many marks are older than it
---@field reachable boolean
---@field dead boolean condemned by a sweep that was under way
---@field own boolean luaheap's own
---@field list "allgc"|"finobj"|"tobefnz"|"fixedgc"
---@field value? any of a string the bytes that were kept; of an upvalue what is in it
---@field length_bytes? integer of a string
---@field kept_bytes? integer of a string
---@field array_slots? integer of a table; and so to weak_mode
---@field array_used? integer
---@field hash_slots? integer
---@field hash_used? integer
---@field weak_mode? "k"|"v"|"kv"
---@field metatable? heap.object of a table or userdata
---@field user_bytes? integer of a userdata
---@field user_values? integer
---@field is_c? boolean of a closure
---@field upvalues? integer of a closure
---@field proto? heap.object of a closure in Lua
---@field file? string of a proto, or a closure in Lua; and so to debug_bytes
---@field line? integer
---@field last_line? integer
---@field parameters? integer
---@field vararg? boolean
---@field instructions? integer
---@field debug_bytes? integer
---@field open? boolean of an upvalue
---@field status? string of a thread
---@field is_main? boolean of a thread
---@field stack_slots? integer of a thread
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
---@return heap.branch[]|nil
---@return string? message
---@return string? code
function object:under(options) end

---@class heap.branch
---@field kind "object"|"list"|"tree"|"group"|"rest"
---@field depth integer
---@field object? heap.object of a group the one that retains most
---@field class? string
---@field type? string
---@field edge? heap.edge by which the row above refers to it
---@field objects integer
---@field shallow_bytes integer
---@field retained_bytes integer

---Of a thread where each of its functions stands, the innermost first.
---@return string[]
function object:frames() end

---As Lua prints it, `table: 0x55d0c0a3f2e0`; a string in quotes, and of that at most so many bytes
---(default 64).
---@param most_bytes? integer
---@return string
function object:text(most_bytes) end

---Objects that are made when they are asked for: list[1] to list[#list].
---@class heap.objects: { [integer]: heap.object }
---@field total_objects? integer of a ranking: how many there are in all

---@class heap.edge
---@field source heap.object
---@field target heap.object
---@field kind string "value", "key", "metatable", "upvalue", "local", ...
---@field label string as the commands print it: .listeners, [17], upvalue bus
---@field weak boolean it keeps nothing alive
---@field left_out boolean by snapshot:ignore()
---@field key? any of an edge from a table
---@field name? string of an upvalue or a local variable
---@field line? integer of an edge from a stack
---@field holder? heap.object the weak table, or the function of the frame
---@field ordinal? integer

---Edges, each made when it is asked for.
---@class heap.path: { [integer]: heap.edge }
---@field text string
---@field held_by string the same, folded

---@class heap.referrers: { [integer]: heap.edge }

-- }=======================================================================================

-- {=== Growth =============================================================================

---A list of rows by path, the worst first.
---@class heap.growth: { [integer]: heap.growth_row }
---@field classes heap.growth_row[]
---@field whole heap.figures
---@field level heap.figures what is in no row by path
---@field same_state boolean
---@field snapshots string[]
---@field seconds? number
---@field fixed? boolean of reader.compare; and so to grows_now, which are held_by of rows
---@field no_longer_grows? string
---@field still_grows? string
---@field grows_now? string

---Each is a list: a figure for each snapshot.
---@class heap.figures
---@field objects integer[]
---@field entries integer[]
---@field bytes integer[]
---@field all_objects integer[]

---@class heap.growth_row: heap.figures
---@field verdict string "grows steadily", "grew once", "saw-tooth", "shrinks", ...
---@field class string
---@field type string
---@field held_by? string
---@field fingerprint? string
---@field grew_bytes integer[] in the first step, and after it
---@field grew_objects integer[]
---@field bytes_per_step number
---@field bytes_per_second? number

---@class heap.part
---@field held_by string "" for the whole and what is shared
---@field class? string
---@field shared boolean what several parts of the one above keep alive together
---@field above? integer the number of the part that it is a part of
---@field bytes integer[] in the first and in the last snapshot, with all parts below
---@field objects integer[]
---@field own_bytes integer[] without
---@field own_objects integer[]

-- }=======================================================================================

return reader
