/*
** read.h - opens a snapshot and reads its objects and edges, on any machine, without Lua.
** Also prints numbers for people.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "luaheap.h"

/* ==== 1. Errors ===================================================================== */

struct lh_error {
  int code;          /* one of lh_code */
  int os_errno;      /* for LH_EIO and LH_EMEMORY, else 0 */
  uint64_t offset;   /* for LH_EDAMAGED: byte offset in the file */
  char message[512]; /* one sentence: what was done and what failed */
};

/* ==== 2. Opening ==================================================================== */

/* lh_open in at most this many threads, the caller's included, which also compare the snapshot with
** others; 0: 1. The result and the errors do not depend on the number; at most one thread for each
** MB of the file is used. The threads block all signals and have ended when the function returns.
** If none can be started, the caller's works alone. For files before version 6 threads only read
** and check sums. */
int lh_open_in_threads(lh_snapshot **out, const char *path, unsigned threads, lh_error *error);

/* lh_open for a file in memory, as from lh_stream_snapshot. The caller owns `data` and must not
** change it before lh_close. `name` stands for the path in messages. */
int lh_open_memory(lh_snapshot **out, const void *data, size_t size, const char *name,
                   lh_error *error);

/* Checks what lh_open does not: the type of each reference's and root's target, each size against
** the object's fields, and that lists, threads, marks and totals agree. So it finds wrong contents
** with right checksums. *edges (may be NULL) is the number of references and roots. LH_EDAMAGED:
** the first fault. Costs as much as lh_analyse, and no memory. */
int lh_verify(const lh_snapshot *snapshot, uint64_t *edges, lh_error *error);

/* What the collector may do next, and the program's settings, of files that tell. The percentages
** are those of collectgarbage(). */
typedef struct lh_collector {
  bool is_known;
  bool is_stopped;      /* by the program; in finalizers of 5.4.0 to 5.4.3 always true */
  int64_t credit_bytes; /* allocated until its next step; 0 or less: one is due */
  uint64_t kept_bytes;  /* what it found alive in its last whole cycle; 0: not known */
  uint32_t pause;       /* incremental: the heap at the next cycle, in % of what it found alive */
  uint32_t stepmul;     /* incremental: its speed */
  uint32_t minormul, majormul; /* generational: growth until a collection of the young objects, of
                                  all objects; majormul is minormajor in 5.5 */
} lh_collector;

typedef struct lh_info {
  uint32_t format_version; /* of the file: 1 to 7; the library writes 6 for Lua 5.4, 7 for 5.5 */
  uint64_t file_bytes;
  uint64_t state_id; /* the same for all snapshots of one Lua state */
  uint32_t serial;   /* of the snapshot's own mark */
  uint64_t time_ns;  /* since 1970, UTC */
  uint64_t process_id;
  const char *lua_release; /* "5.4.4", or "5.4" or "5.5" if the host hides it */
  const char *program;     /* command line */
  const char *name;        /* the path that the program gave */
  uint64_t string_limit;
  uint64_t objects;            /* on the collector's lists */
  uint64_t object_bytes;       /* their shallow sizes */
  uint64_t external_bytes;     /* of these, texts of strings of Lua 5.5 that are not in gc_bytes */
  uint64_t string_table_bytes; /* Lua's table of short strings */
  uint64_t gc_bytes;           /* collectgarbage("count") * 1024 at the snapshot */
  int64_t unaccounted_bytes;   /* gc_bytes - (object_bytes - external_bytes) -
                                  string_table_bytes: buffers of C code; usually 0 */
  uint8_t gc_state;            /* 0 propagate to 8 pause, as in Lua's lgc.h */
  uint8_t gc_generational;
  lh_collector collector;
  uint64_t finalized_objects; /* in a snapshot at exit (lh_watch): objects finalized before it.
                                 They look youngest; usually 0 */
} lh_info;

/* "propagate" to "pause"; "incremental" or "generational". */
const char *lh_gc_state_name(unsigned gc_state);
const char *lh_gc_kind_name(bool is_generational);

const lh_info *lh_snapshot_info(const lh_snapshot *snapshot);

/* A point in time that is recorded in the heap itself. */
typedef struct lh_mark_info {
  uint32_t serial;  /* 1: the first of the state */
  bool is_snapshot; /* left by a snapshot (`name` is its path), not by mark() */
  uint64_t time_ns;
  const char *name; /* name_length bytes, then a NUL */
  size_t name_length;
} lh_mark_info;

/* The marks of the snapshot's state, oldest first; the last is the snapshot's own. */
uint32_t lh_mark_count(const lh_snapshot *snapshot);
const lh_mark_info *lh_mark_at(const lh_snapshot *snapshot, uint32_t i);

/* ==== 3. Objects and edges ========================================================== */

/* Objects are numbered 1 to n in the order of the collector's lists. 0 is a synthetic root whose
** edges are the heap's roots.
**
** A file may lack an object that it refers to. These ids always name objects: an edge's source (or
** LH_ROOT) and target, as.object of LH_VALUE_OBJECT, and ids that a function has found. Any other
** id may be LH_NO_OBJECT: a metatable, proto, source, dominator, an edge's name and holder,
** lh_find_address. All functions accept LH_NO_OBJECT: it has no type (LH_TYPE_ROOT), size, edges or
** class, and nothing refers to it or keeps it alive. */
typedef uint32_t lh_id;
#define LH_ROOT ((lh_id)0)
#define LH_NO_OBJECT ((lh_id)UINT32_MAX)

typedef enum lh_type {
  LH_TYPE_ROOT,
  LH_TYPE_STRING,
  LH_TYPE_TABLE,
  LH_TYPE_CLOSURE, /* of a Lua or C function */
  LH_TYPE_UPVALUE,
  LH_TYPE_PROTO,
  LH_TYPE_USERDATA,
  LH_TYPE_THREAD,
  LH_TYPE_COUNT
} lh_type;

typedef enum lh_list {
  LH_LIST_ALLGC,
  LH_LIST_FINOBJ,
  LH_LIST_TOBEFNZ,
  LH_LIST_FIXEDGC,
  LH_LIST_ELSEWHERE /* on a list of another state, which shares the object (skynet): 0 bytes */
} lh_list;

typedef enum lh_thread_status {
  LH_THREAD_SUSPENDED, /* in a yield */
  LH_THREAD_RUNNING,   /* took the snapshot */
  LH_THREAD_NORMAL,    /* resumed another thread; also the main thread under a running coroutine */
  LH_THREAD_NOT_STARTED,
  LH_THREAD_FINISHED, /* returned */
  LH_THREAD_FAILED    /* ended by an error */
} lh_thread_status;

/* Any Lua value. */
typedef enum lh_value_kind {
  LH_VALUE_NIL,
  LH_VALUE_BOOLEAN,
  LH_VALUE_INTEGER,
  LH_VALUE_FLOAT,
  LH_VALUE_POINTER,   /* light userdata */
  LH_VALUE_CFUNCTION, /* light C function */
  LH_VALUE_OBJECT,    /* as.object is its id */
  LH_VALUE_ABSENT     /* an object that the file lacks */
} lh_value_kind;

typedef struct lh_value {
  lh_value_kind kind;
  union {
    bool boolean;
    int64_t integer;
    double number;
    uint64_t pointer;
    lh_id object;
  } as;
} lh_value;

/* A decoded object. Only the fields of its type are set. LH_NO_OBJECT: none. */
typedef struct lh_object {
  lh_id id;
  lh_type type;
  lh_list list;
  bool dead; /* condemned in a sweep: has no edges, only address and shallow_bytes */
  bool own;  /* a mark or another object of luaheap; no report shows it */
  uint64_t address;
  uint64_t pointer; /* as Lua prints it (%p); of userdata not `address` */
  uint64_t shallow_bytes;
  union {
    struct {
      const char *bytes; /* the first `kept` bytes, borrowed, without NUL */
      uint64_t length;
      uint64_t kept;
      uint64_t hash;           /* if kept < length: XXH64 of the whole string (format.h) */
      uint64_t external_bytes; /* see lh_external_bytes */
      bool is_fixed;           /* the text is memory that nobody frees, and not counted */
    } string;
    struct {
      uint64_t array_slots, hash_slots;
      uint64_t array_used, hash_used; /* entries with a value */
      bool weak_keys, weak_values;
      lh_id metatable;
    } table;
    struct {
      bool is_c;
      lh_id proto;       /* Lua function */
      uint64_t function; /* C function: address */
      uint32_t upvalues;
    } closure;
    struct {
      bool open;
      lh_value value;
    } upvalue;
    struct {
      lh_id source; /* a string such as "@app.lua" */
      uint32_t line, last_line;
      uint8_t parameters;
      bool vararg;
      uint64_t instructions, debug_bytes;
      uint32_t constants, upvalues;
    } proto;
    struct {
      uint64_t bytes; /* without header and user values */
      uint32_t user_values;
      lh_id metatable;
    } userdata;
    struct {
      lh_thread_status status;
      bool is_main;
      uint64_t stack_slots;
      uint32_t frames;
    } thread;
  } as;
} lh_object;

typedef struct lh_count {
  uint64_t objects, bytes; /* bytes: shallow sizes */
} lh_count;

uint32_t lh_object_count(const lh_snapshot *snapshot);

/* Decodes object `id` (1 to n). O(1); for a table or thread O(record). */
void lh_object_at(const lh_snapshot *snapshot, lh_id id, lh_object *out);

/* The weak sides of a table's entries; of other types neither. O(1). */
typedef struct lh_weak_sides {
  bool keys, values;
} lh_weak_sides;
lh_weak_sides lh_weak_sides_of(const lh_snapshot *snapshot, lh_id id);
bool lh_is_never_weak(const lh_snapshot *snapshot, lh_value value); /* a string, or no object */

/* Single fields, O(1), without decoding. For LH_ROOT: LH_TYPE_ROOT, 0 or false. */
lh_type lh_type_of(const lh_snapshot *snapshot, lh_id id);
uint64_t lh_address_of(const lh_snapshot *snapshot, lh_id id);
uint64_t lh_pointer_of(const lh_snapshot *snapshot, lh_id id);
uint64_t lh_shallow_bytes(const lh_snapshot *snapshot, lh_id id);
bool lh_is_own(const lh_snapshot *snapshot, lh_id id);
bool lh_is_dead(const lh_snapshot *snapshot, lh_id id);

/* Of the shallow bytes, those outside collectgarbage("count"). In Lua 5.5 the text of an external
** string is a block of its own, which Lua frees with the string but does not count. O(1). */
uint64_t lh_external_bytes(const lh_snapshot *snapshot, lh_id id);
lh_list lh_list_of(const lh_snapshot *snapshot, lh_id id);

/* How many marks (lh_mark_at) are older than the object: 0 before the first; i + 1 between mark i
** and mark i + 1. An object with a finalizer counts from the time when it got the finalizer. Fixed
** and to-be-finalized objects are in epoch 0. O(log marks). */
uint32_t lh_epoch(const lh_snapshot *snapshot, lh_id id);

/* A position counts objects, garbage included, in the order of their allocation; 0 is the oldest.
** Positions are exact among the objects of one list and among epochs; inside an epoch the objects
** of finobj are spread evenly among those of allgc. Objects that are fixed or wait for their
** finalizer have no position. An object revived by its finalizer looks as young as the revival. A
** short string that exists already is not made again, so it keeps its position. O(log marks). */
#define LH_NO_POSITION UINT64_MAX
uint64_t lh_position_count(const lh_snapshot *snapshot);
uint64_t lh_position_of(const lh_snapshot *snapshot, lh_id id);

/* How many objects are older than the mark: the first younger position. O(1). */
uint64_t lh_mark_position(const lh_snapshot *snapshot, uint32_t mark);

/* The positions from `since` up to but not including `until`. LH_EVER has all objects; only it has
** objects without a position. */
typedef struct lh_interval {
  uint64_t since, until;
} lh_interval;
#define LH_EVER \
  { 0, UINT64_MAX }

bool lh_is_ever(lh_interval interval);
bool lh_in_interval(const lh_snapshot *snapshot, lh_interval interval, lh_id id);

/* The objects of an interval as two ranges of ids, the second behind the first; each may be empty.
** O(log objects). */
typedef struct lh_id_range {
  lh_id first, end; /* end: one behind the last */
} lh_id_range;

void lh_objects_in(const lh_snapshot *snapshot, lh_interval interval, lh_id_range ranges[2]);

static inline bool lh_in_ranges(const lh_id_range ranges[2], lh_id id) {
  return (id >= ranges[0].first && id < ranges[0].end) ||
         (id >= ranges[1].first && id < ranges[1].end);
}

/* Finds an object by its header address or the address that Lua prints; LH_NO_OBJECT: none.
** O(1). */
lh_id lh_find_address(const lh_snapshot *snapshot, uint64_t address);

typedef enum lh_root_kind {
  LH_ROOT_REGISTRY,
  LH_ROOT_GLOBALS, /* _G: registry[2] */
  LH_ROOT_LOADED,  /* package.loaded: registry._LOADED */
  LH_ROOT_MAIN_THREAD,
  LH_ROOT_RUNNING_THREAD,
  LH_ROOT_TYPE_METATABLE, /* index: number of the basic type in lua.h */
  LH_ROOT_METAMETHOD_NAME,
  LH_ROOT_MEMORY_MESSAGE, /* the preallocated "not enough memory" */
  LH_ROOT_FIXED,          /* on fixedgc: reserved words and the like */
  LH_ROOT_FINALIZER,      /* on tobefnz: waits for its finalizer */
  LH_ROOT_OWN             /* luaheap's state */
} lh_root_kind;

typedef enum lh_edge_kind {
  LH_EDGE_ROOT,  /* index: lh_root_kind; ordinal: its number */
  LH_EDGE_VALUE, /* table value; key */
  LH_EDGE_KEY,   /* table key; key: itself */
  LH_EDGE_METATABLE,
  LH_EDGE_EPHEMERON,   /* key object -> value, while table `holder` (weak keys) lives */
  LH_EDGE_UPVALUE,     /* Lua closure -> upvalue; name; ordinal from 1 */
  LH_EDGE_CONTENT,     /* upvalue -> value */
  LH_EDGE_C_UPVALUE,   /* C closure -> value; ordinal from 1 */
  LH_EDGE_USER_VALUE,  /* userdata -> value; ordinal from 1 */
  LH_EDGE_PROTO,       /* Lua closure -> proto */
  LH_EDGE_CONSTANT,    /* proto -> constant */
  LH_EDGE_NESTED,      /* proto -> proto of an inner function; name */
  LH_EDGE_SOURCE,      /* proto -> string of its source */
  LH_EDGE_DEBUG_NAME,  /* proto -> string: name of a local variable or upvalue */
  LH_EDGE_FUNCTION,    /* thread -> function of a frame */
  LH_EDGE_LOCAL,       /* thread -> value of a local variable; name, function, line */
  LH_EDGE_TEMPORARY,   /* thread -> temporary of an expression; function, line */
  LH_EDGE_VARARG,      /* thread -> element `ordinal` of `...`; function, line */
  LH_EDGE_ARGUMENT,    /* thread -> argument or other slot `ordinal` of a C function */
  LH_EDGE_OPEN_UPVALUE /* thread -> upvalue of one of its slots */
} lh_edge_kind;

typedef struct lh_edge {
  lh_id source, target;
  lh_edge_kind kind;
  bool weak;        /* keeps nothing alive: in no path, distance or dominator */
  bool ignored;     /* ignored by lh_analyse_without; then also weak */
  uint32_t index;   /* LH_EDGE_ROOT: lh_root_kind; stack slots: frame number, outermost 0 */
  uint32_t ordinal; /* see the kinds */
  uint32_t line;    /* stack slots: current line of the frame; 0: unknown */
  lh_id name;       /* a string object, or LH_NO_OBJECT */
  lh_id holder;     /* LH_EDGE_EPHEMERON: the table; stack slots: the frame's function */
  lh_value key;     /* LH_EDGE_VALUE, LH_EDGE_KEY, LH_EDGE_EPHEMERON; stack slots: the frame's
                       function if it is no object (a light C function, or nil: the host) */
} lh_edge;

/* Iterates over the edges of one object, in the order of its record, or of LH_ROOT:
**
**     lh_edges it;
**     lh_edge edge;
**     for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) ...
**
** In a table with weak keys, a value under a collectable key other than a string is a weak
** LH_EDGE_VALUE of the table. After lh_analyse the key object has an LH_EDGE_EPHEMERON for it
** (last, and only if the table is reachable). Strings are never weak. References to objects that
** the snapshot lacks are skipped. O(1) an edge. */
typedef struct lh_edges {
  const lh_snapshot *snapshot;
  uint64_t state[11]; /* private: the position in the record */
} lh_edges;

void lh_edges_begin(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator);
bool lh_edges_next(lh_edges *iterator, lh_edge *edge);

/* Iterates over all entries of a table, scalars included, the array part first. Other types have
** none. `value` may be NULL. */
void lh_entries_begin(const lh_snapshot *snapshot, lh_id table, lh_edges *iterator);
bool lh_entries_next(lh_edges *iterator, lh_value *key, lh_value *value);

/* The call frames of a thread, outermost first. */
typedef struct lh_frame {
  lh_value function;
  uint32_t line; /* 0: unknown, or a C function */
} lh_frame;

void lh_frames_begin(const lh_snapshot *snapshot, lh_id thread, lh_edges *iterator);
bool lh_frames_next(lh_edges *iterator, lh_frame *frame);

/* ==== 4. Where objects were allocated =============================================== */

/* A *site* is a position in a Lua function, and what allocates there: "a table at @app/bus.lua:31
** in Bus:on". If a C function allocates, the site is in the nearest Lua function, with the C
** function's name: "string.rep at @fmt.lua:12". A *stack* is a site with its callers, or only a
** site if stacks were not recorded. Snapshots of tracked programs and profiles have both. */

/* What allocated, by the instruction of the function. */
typedef enum lh_maker {
  LH_MADE_UNKNOWN, /* not attributed: the running function was unknown */
  LH_MADE_BY_HOST, /* C code of the program, with no Lua function below */
  LH_MADE_BY_C,    /* a C function called by Lua code */
  LH_MADE_TABLE,   /* a table constructor, with its parts */
  LH_MADE_CLOSURE, /* a new function */
  LH_MADE_CONCATENATION,
  LH_MADE_GROWTH,   /* a table that an assignment grew */
  LH_MADE_CALL,     /* a growing stack or list of calls; varargs */
  LH_MADE_OTHERWISE /* such as a string made by arithmetic, or an upvalue */
} lh_maker;

/* Both count from 1; 0 is none. */
typedef uint32_t lh_site_id;
typedef uint32_t lh_stack_id;

typedef struct lh_site {
  const char *source;     /* as in Lua, "@app/bus.lua"; NULL: no Lua function */
  const char *function;   /* as in class names, "Bus:on"; "": main chunk; NULL: unknown */
  const char *c_function; /* "string.rep"; NULL: Lua itself allocated */
  uint32_t first_line;    /* of the function; 0: main chunk */
  uint32_t line;          /* 0: unknown, as in stripped code */
  lh_maker maker;
} lh_site;

typedef struct lh_stack {
  lh_stack_id parent; /* the caller's stack: a smaller id, or 0 */
  lh_site_id site;
} lh_stack;

/* The allocations at a stack since tracking began, without those of functions that it called.
** Blocks owned by an object count only as bytes. Sampled: unbiased estimates. */
typedef struct lh_stack_counts {
  uint64_t made_objects, made_bytes;
  uint64_t freed_objects, freed_bytes;
} lh_stack_counts;

/* Where many objects were allocated: the site of most of them. */
typedef struct lh_allocated {
  lh_stack_id stack;      /* one stack at that site; 0: no stack is known */
  uint32_t callers;       /* 1: nine in ten of them have the stack's caller, too; else 0 */
  uint64_t objects;       /* with this site (and caller) */
  uint64_t of;            /* of this many; if not all are known, only sampled ones count */
  uint64_t made;          /* objects of all classes made there in the interval; 0: unknown */
  uint64_t stay;          /* of `made`, still alive; sampled: estimated */
  uint64_t stay_of_class; /* of `stay`, of the class of the set's example; not estimated */
} lh_allocated;

/* All sites and stacks of a snapshot or profile, which owns them. */
typedef struct lh_sites lh_sites;

uint32_t lh_n_sites(const lh_sites *sites);
uint32_t lh_n_stacks(const lh_sites *sites);

/* `id` is 1 to n. O(1). Borrowed. */
const lh_site *lh_site_of(const lh_sites *sites, lh_site_id id);
const lh_stack *lh_stack_of(const lh_sites *sites, lh_stack_id id);

/* The text of a site: "@app/bus.lua:31 in Bus:on"; with a C function "string.rep at @fmt.lua:12 in
** render"; without a Lua function "host"; else "unattributed". A stack adds at most `callers`
** callers: "@app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect". lh_allocated_text
** makes a phrase: "allocated at @app/bus.lua:31 in Bus:on". An unknown id, such as 0, has
** "unattributed". */
char *lh_site_text(const lh_site *site);
char *lh_stack_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers);
char *lh_allocated_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers);

/* What allocates, in one or two words: "table", "function", "concatenation". */
const char *lh_maker_name(lh_maker maker);

/* The record of heap.track up to the snapshot. */
typedef struct lh_tracking {
  bool has_stacks;             /* false: a stack is only its site */
  uint64_t sample_bytes;       /* mean distance of samples; 0: every allocation */
  uint64_t made, unattributed; /* allocations since the start, and those without a known site */
} lh_tracking;

/* NULL: the program was not tracked. */
const lh_tracking *lh_snapshot_tracking(const lh_snapshot *snapshot);
const lh_sites *lh_snapshot_sites(const lh_snapshot *snapshot);

/* lh_object_stack: the stack that allocated the object; 0: before tracking, or not sampled.
** lh_stack_counts_of: the allocations at a stack since tracking began, dead or alive. O(1). */
lh_stack_id lh_object_stack(const lh_snapshot *snapshot, lh_id id);
lh_stack_counts lh_stack_counts_of(const lh_snapshot *snapshot, lh_stack_id stack);

/* How many objects the object stands for: 1 without sampling, more if sampled, 0 if not sampled. */
double lh_object_weight(const lh_snapshot *snapshot, lh_id id);

/* ==== 5. Snapshots from outside ===================================================== */

/* How the heap was kept from changing while it was copied. */
typedef enum lh_stillness {
  LH_STILL_IDLE,    /* the process did not run meanwhile, and was not stopped */
  LH_STILL_FORK,    /* it was stopped to fork a frozen copy, which was read */
  LH_STILL_STOPPED, /* it was stopped while its memory was copied */
  LH_STILL_CORE     /* it is a core file */
} lh_stillness;

const char *lh_stillness_name(lh_stillness stillness); /* "idle", "fork", "stopped", "core" */

typedef struct lh_outside_info {
  lh_stillness stillness;
  bool was_in_system_call; /* then no Lua code can be in the middle of a change */
  bool is_in_doubt;        /* Lua may have been in the middle of a change: a table that was just
                              growing may have values of another table */
  uint32_t c_functions;    /* C functions with known places: lh_c_function_at */
} lh_outside_info;

/* NULL: the program took the snapshot itself. */
const lh_outside_info *lh_snapshot_outside(const lh_snapshot *snapshot);

/* How many objects may wrongly count as older than a mark. A snapshot from outside leaves no mark
** in the heap; its mark is placed by comparing objects. No object older than the mark counts as
** younger, but up to this many that count as older, the youngest of either list, may be younger. 0
** for most marks. O(objects that may be). */
lh_count lh_possibly_newer(const lh_snapshot *snapshot, uint32_t mark);

/* The place of a C function's code. Texts may have any bytes, and live as long as the snapshot. */
typedef struct lh_c_code {
  uint64_t address;
  const char *symbol;  /* "": unknown */
  const char *library; /* file name without folders */
  uint64_t offset;     /* the address in the file, for addr2line; the same in each run */
} lh_c_code;

/* Finds the code of a closure's or light C function's address. False: unknown, as in snapshots that
** a program took itself, unless lh_diff_snapshots found it elsewhere. O(log functions). */
bool lh_c_function_at(const lh_snapshot *snapshot, uint64_t address, lh_c_code *out);

/* ==== 6. Numbers as people read them ================================================ */

#define LH_NUMBER_BYTES 48

/* True if `word`, of n bytes, is `known` (in lower case) but for one letter: another one, one more,
** one less, or two exchanged. For messages about mistyped words. */
bool lh_is_nearly(const char *word, size_t n, const char *known);

/* A struct, so a call can stand where its text is used: printf("%s", lh_count_text(n).text). */
typedef struct lh_number {
  char text[LH_NUMBER_BYTES];
} lh_number;

lh_number lh_count_text(uint64_t n);                                  /* 1,204 */
lh_number lh_count_of(uint64_t n, const char *one, const char *many); /* 1 object */
lh_number lh_size_text(uint64_t bytes, bool exact);                   /* 1.2 MB; 1,258,291 B */
lh_number lh_count_change(uint64_t from, uint64_t to);                /* +12 */
lh_number lh_size_change(uint64_t from, uint64_t to, bool exact);     /* -1.2 MB */
lh_number lh_share_text(uint64_t part, uint64_t whole);               /* 12.5% */
lh_number lh_time_text(uint64_t time_ns);                             /* 2026-11-21 15:08:52 UTC */
lh_number lh_duration_text(uint64_t ns);                              /* 350 ms; 61.2 s; 12.5 min */
lh_number lh_plain_number(double n); /* 1,204 if whole, else 0.25 */

/* Read a whole text as people write it: digits (to INT64_MAX); one of "this|or|that", by its place;
** a number with a unit, "1.5h", in any locale. Units end with a NULL name; "" stands for no unit.
** False or NULL: it is another text. O(length). */
typedef struct lh_amount_unit {
  const char *name;
  double factor;
} lh_amount_unit;

bool lh_read_number(const char *text, uint64_t *n);
bool lh_read_word(const char *text, const char *words, unsigned *position);
const lh_amount_unit *lh_read_amount(const char *text, const lh_amount_unit *units, double *n);

/* A bar; the whole has LH_BAR_WIDTH characters. With Unicode in eighths of a character, else of #.
** More than 0 is always visible. */
enum { LH_BAR_WIDTH = 20 };
typedef struct lh_bar {
  char text[3 * LH_BAR_WIDTH + 1];
} lh_bar;
lh_bar lh_bar_text(uint64_t part, uint64_t whole, bool unicode);
