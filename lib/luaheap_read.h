/*
** luaheap_read.h - open a snapshot, and read what is in it: objects and the edges between them. On
** any machine, without Lua. And numbers as people read them.
*/
#ifndef LUAHEAP_PUBLIC_READ_H
#define LUAHEAP_PUBLIC_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "luaheap_sites.h"

LH_API_BEGIN

/* ==== 1. Errors, and memory ========================================================= */

enum lh_code {
  LH_OK = 0,
  LH_EARGUMENT = -1, /* the call makes no sense */
  LH_EMEMORY = -2,   /* out of memory */
  LH_EIO = -3,       /* the system said no: os_errno tells why */
  LH_EFOREIGN = -4,  /* not a snapshot of luaheap */
  LH_EVERSION = -5,  /* a snapshot of a newer luaheap */
  LH_EDAMAGED = -6,  /* a snapshot that was cut or changed: offset tells where */
  LH_EHOST = -7,     /* a Lua whose heap this library does not know */
  LH_ENOTFOUND = -8, /* no such object, mark or path: an honest no */
  LH_ELIMIT = -9,    /* more than this library can count (2^32 - 2 objects or edges) or hold */
  LH_EBUSY = -10     /* a background snapshot that is not finished yet; Lua amid a change */
};

typedef struct lh_error {
  int code;          /* one of lh_code */
  int os_errno;      /* with LH_EIO and LH_EMEMORY, else 0 */
  uint64_t offset;   /* with LH_EDAMAGED: the byte offset in the file */
  char message[512]; /* one sentence: what was being done and what went wrong */
} lh_error;

/* Frees what a function gave; NULL is harmless. */
void lh_free(void *result);

/* Of the library that is loaded: "0.1.0" (LH_VERSION is that of the header). */
const char *lh_version(void);

/* ==== 2. Opening ==================================================================== */

typedef struct lh_snapshot lh_snapshot;

/* Reads and checks a snapshot: every byte is as it was written and every record parsed, so that
** nothing that is read from it later can fail, whatever becomes of the file. *out is closed by
** lh_close, which takes NULL too, and with it all that was borrowed from it. Fails with
** LH_EFOREIGN, LH_EVERSION, LH_EDAMAGED, LH_EIO (with EAGAIN: it was changed just now), LH_EMEMORY
** or LH_ELIMIT. Costs one pass over the file; memory for the file and 24 bytes an object. */
int lh_open(lh_snapshot **out, const char *path, lh_error *error);
void lh_close(lh_snapshot *snapshot);

typedef struct lh_open_options {
  size_t size;      /* sizeof(lh_open_options) */
  unsigned threads; /* at most so many open the file, and compare it with others, the caller's among
                       them; 0: as 1 */
} lh_open_options;

/* The same, as `options` say; NULL: as lh_open. Snapshot and errors are the same whatever the
** number of threads. Threads take no signal and have ended when it returns; there are no more of
** them than the file has MB. The caller's works alone where no other can be had and, but for
** reading and checksums, on files before format version 6. LH_EARGUMENT: the options have another
** size. */
int lh_open_with(lh_snapshot **out, const char *path, const lh_open_options *options,
                 lh_error *error);

/* The same for a file whose bytes are in memory, such as lh_stream_snapshot gave them: they stay
** the caller's, and must stay as they are until lh_close. `name` stands for the path in
** messages. */
int lh_open_memory(lh_snapshot **out, const void *data, size_t size, const char *name,
                   lh_error *error);

/* Checks what lh_open leaves, since nothing breaks when it is wrong: that each reference and root
** ends in an object of a type that may stand there, that each size is what the object's fields
** need, that lists, threads, marks and totals fit each other. So it finds a file whose checksums
** are right and whose contents are not. *edges, if not NULL: how many references and roots there
** are. Fails with LH_EDAMAGED at the first fault. Costs as much as lh_analyse, and no memory. */
int lh_verify(const lh_snapshot *snapshot, uint64_t *edges, lh_error *error);

/* So many bytes of each string a snapshot keeps, unless it was told otherwise. */
#define LH_DEFAULT_STRING_BYTES 256u

typedef struct lh_info {
  uint32_t format_version; /* of the file: 1 to 6; 6 is written */
  uint64_t file_bytes;
  uint64_t state_id; /* the same for all snapshots of one Lua state */
  uint32_t serial;   /* of the snapshot's own mark */
  uint64_t time_ns;  /* since 1970, UTC */
  uint64_t process_id;
  const char *lua_release; /* "5.4.4", or "5.4" where the host hid it */
  const char *program;     /* its command line */
  const char *name;        /* the path that the program gave */
  uint64_t string_limit;
  uint64_t objects;            /* on the collector's lists */
  uint64_t object_bytes;       /* their shallow sizes */
  uint64_t string_table_bytes; /* Lua's table of short strings */
  uint64_t gc_bytes;           /* collectgarbage("count") * 1024 at the snapshot */
  int64_t unaccounted_bytes;   /* gc_bytes - object_bytes - string_table_bytes: buffers in use by
                                  C code, otherwise 0 */
  uint8_t gc_state;            /* 0 propagate ... 8 pause, as in Lua's lgc.h */
  uint8_t gc_generational;
  uint64_t finalized_objects; /* of a snapshot by `exit` (lh_watch): objects whose finalizers ran
                                 before it. They look youngest; mostly 0 */
} lh_info;

const lh_info *lh_snapshot_info(const lh_snapshot *snapshot);

/* A point in time that is recorded in the heap itself. */
typedef struct lh_mark_info {
  uint32_t serial;  /* 1 is the first of the state */
  bool is_snapshot; /* planted by a snapshot (name is its path), not by mark() */
  uint64_t time_ns;
  const char *name; /* name_length bytes, then a NUL */
  size_t name_length;
} lh_mark_info;

/* The marks of the snapshot's own state that are in it, oldest first. The snapshot's own is the
** last. */
uint32_t lh_mark_count(const lh_snapshot *snapshot);
const lh_mark_info *lh_mark_at(const lh_snapshot *snapshot, uint32_t i);

/* ==== 3. Objects and edges ========================================================== */

/* Objects are numbered 1..n in the order of the collector's lists; 0 is a synthetic root whose
** edges are the heap's roots.
**
** What a file refers to may not be in it. Always ids of objects are an edge's source (or LH_ROOT)
** and target, as.object of an LH_VALUE_OBJECT, and what a function says that it has found. Any
** other id may be LH_NO_OBJECT: a metatable, a proto, a source, an edge's name and holder, a
** dominator, lh_find_address. All functions that take an id may be asked about LH_NO_OBJECT, too:
** it has no type (LH_TYPE_ROOT), no size, no edges and no class, nothing refers to it, and nothing
** keeps it alive. */
typedef uint32_t lh_id;
#define LH_ROOT ((lh_id)0)
#define LH_NO_OBJECT ((lh_id)UINT32_MAX)

typedef enum lh_type {
  LH_TYPE_ROOT,
  LH_TYPE_STRING,
  LH_TYPE_TABLE,
  LH_TYPE_CLOSURE, /* of a Lua or a C function */
  LH_TYPE_UPVALUE,
  LH_TYPE_PROTO,
  LH_TYPE_USERDATA,
  LH_TYPE_THREAD,
  LH_TYPE_COUNT
} lh_type;

typedef enum lh_list { LH_LIST_ALLGC, LH_LIST_FINOBJ, LH_LIST_TOBEFNZ, LH_LIST_FIXEDGC } lh_list;

typedef enum lh_thread_status {
  LH_THREAD_SUSPENDED, /* in a yield */
  LH_THREAD_RUNNING,   /* took the snapshot */
  LH_THREAD_NORMAL,    /* resumed another one; also a main thread under a running coroutine */
  LH_THREAD_NOT_STARTED,
  LH_THREAD_FINISHED, /* returned */
  LH_THREAD_FAILED    /* died of an error */
} lh_thread_status;

/* Any Lua value. */
typedef enum lh_value_kind {
  LH_VALUE_NIL,
  LH_VALUE_BOOLEAN,
  LH_VALUE_INTEGER,
  LH_VALUE_FLOAT,
  LH_VALUE_POINTER,   /* light userdata */
  LH_VALUE_CFUNCTION, /* light C function */
  LH_VALUE_OBJECT,    /* one of the snapshot: as.object is its id, and no other */
  LH_VALUE_ABSENT     /* one that is not in the snapshot, as in a file that lies */
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

/* One object, decoded. Fields of other types are not set. An id is LH_NO_OBJECT for "none". */
typedef struct lh_object {
  lh_id id;
  lh_type type;
  lh_list list;
  bool dead; /* condemned in a sweep phase: no edges, only address and shallow_bytes are known */
  bool own;  /* a mark or another object of luaheap: shown in no report */
  uint64_t address;
  uint64_t pointer; /* as Lua prints it (%p): differs from address for userdata */
  uint64_t shallow_bytes;
  union {
    struct {
      const char *bytes; /* the first `kept` bytes, borrowed, no NUL at the end */
      uint64_t length;
      uint64_t kept;
      uint64_t hash; /* where kept < length: XXH64 of the whole; see format.h */
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
      uint64_t function; /* C function: its address */
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

/* How many objects there are; their ids are 1 to this number. */
uint32_t lh_object_count(const lh_snapshot *snapshot);

/* Decodes object `id` (1..n). Cost: O(1), but O(record) for a table or thread's counts. */
void lh_object_at(const lh_snapshot *snapshot, lh_id id, lh_object *out);

/* Which sides of a table's entries are weak: neither, of what is no table. O(1). */
typedef struct lh_weak_sides {
  bool keys, values;
} lh_weak_sides;
lh_weak_sides lh_weak_sides_of(const lh_snapshot *snapshot, lh_id id);

/* Cheaper accessors, O(1): no entry of a table is decoded. For LH_ROOT: LH_TYPE_ROOT, 0, 0, 0,
** false. The pointer is the address as Lua prints it, as in lh_object. */
lh_type lh_type_of(const lh_snapshot *snapshot, lh_id id);
uint64_t lh_address_of(const lh_snapshot *snapshot, lh_id id);
uint64_t lh_pointer_of(const lh_snapshot *snapshot, lh_id id);
uint64_t lh_shallow_bytes(const lh_snapshot *snapshot, lh_id id);
bool lh_is_own(const lh_snapshot *snapshot, lh_id id);
bool lh_is_dead(const lh_snapshot *snapshot, lh_id id);
lh_list lh_list_of(const lh_snapshot *snapshot, lh_id id);

/* How many of the marks (lh_mark_at) are older than the object: 0 before the first, i + 1 if
** allocated after mark i and before mark i + 1. For an object that was given a finalizer the time
** of that counts; fixed and to-be-finalized objects are in epoch 0. O(log marks). */
uint32_t lh_epoch(const lh_snapshot *snapshot, lh_id id);

/* The axis of time: a position counts objects in the order in which they were allocated, from 0,
** the oldest. It is exact among the objects of one list, and among epochs; inside an epoch those of
** finobj are spread evenly among those of allgc. Garbage has its positions, too. What is fixed, or
** waits for its finalizer, has no age and no position. One that its finalizer revived looks as
** young as that; and a short string that was there already is not made again. O(log marks). */
#define LH_NO_POSITION UINT64_MAX
uint64_t lh_position_count(const lh_snapshot *snapshot);
uint64_t lh_position_of(const lh_snapshot *snapshot, lh_id id);

/* The position from which on objects are younger than the mark: how many are older. O(1). */
uint64_t lh_mark_position(const lh_snapshot *snapshot, uint32_t mark);

/* What was allocated at positions from `since` on, and before `until`. LH_EVER is all, with what
** has no age, which is in no other interval. */
typedef struct lh_interval {
  uint64_t since, until;
} lh_interval;
#define LH_EVER \
  { 0, UINT64_MAX }

bool lh_is_ever(lh_interval interval);
bool lh_in_interval(const lh_snapshot *snapshot, lh_interval interval, lh_id id);

/* The same for a pass over the heap: the objects in an interval are those of two ranges of ids, the
** second after the first, each of which may be empty. O(log objects). */
typedef struct lh_id_range {
  lh_id first, end; /* the one behind the last */
} lh_id_range;

void lh_objects_in(const lh_snapshot *snapshot, lh_interval interval, lh_id_range ranges[2]);

static inline bool lh_in_ranges(const lh_id_range ranges[2], lh_id id) {
  return (id >= ranges[0].first && id < ranges[0].end) ||
         (id >= ranges[1].first && id < ranges[1].end);
}

/* The object at an address, as header address or as Lua prints it; LH_NO_OBJECT if none. O(1). */
lh_id lh_find_address(const lh_snapshot *snapshot, uint64_t address);

typedef enum lh_root_kind {
  LH_ROOT_REGISTRY,
  LH_ROOT_GLOBALS, /* _G: registry[2] */
  LH_ROOT_LOADED,  /* package.loaded: registry._LOADED */
  LH_ROOT_MAIN_THREAD,
  LH_ROOT_RUNNING_THREAD,
  LH_ROOT_TYPE_METATABLE, /* index: the basic type's number as in lua.h */
  LH_ROOT_METAMETHOD_NAME,
  LH_ROOT_MEMORY_MESSAGE, /* the preallocated "not enough memory" */
  LH_ROOT_FIXED,          /* on fixedgc: reserved words and the like */
  LH_ROOT_FINALIZER,      /* on tobefnz: waits for its finalizer to run */
  LH_ROOT_OWN             /* luaheap's state */
} lh_root_kind;

typedef enum lh_edge_kind {
  LH_EDGE_ROOT,  /* index: lh_root_kind; ordinal: its number */
  LH_EDGE_VALUE, /* table value; key: under which key */
  LH_EDGE_KEY,   /* table key; key: itself */
  LH_EDGE_METATABLE,
  LH_EDGE_EPHEMERON,   /* key object -> value, as long as table `holder` (weak keys) lives */
  LH_EDGE_UPVALUE,     /* Lua closure -> upvalue; name; ordinal from 1 */
  LH_EDGE_CONTENT,     /* upvalue -> value */
  LH_EDGE_C_UPVALUE,   /* C closure -> value; ordinal from 1 */
  LH_EDGE_USER_VALUE,  /* userdata -> value; ordinal from 1 */
  LH_EDGE_PROTO,       /* Lua closure -> proto */
  LH_EDGE_CONSTANT,    /* proto -> constant */
  LH_EDGE_NESTED,      /* proto -> proto of a function inside; name */
  LH_EDGE_SOURCE,      /* proto -> name of its source */
  LH_EDGE_DEBUG_NAME,  /* proto -> name of a local variable or upvalue */
  LH_EDGE_FUNCTION,    /* thread -> function of a frame */
  LH_EDGE_LOCAL,       /* thread -> value of a local variable; name, function, line */
  LH_EDGE_TEMPORARY,   /* thread -> intermediate of an expression; function, line */
  LH_EDGE_VARARG,      /* thread -> element `ordinal` of `...`; function, line */
  LH_EDGE_ARGUMENT,    /* thread -> argument or other slot `ordinal` of a C function */
  LH_EDGE_OPEN_UPVALUE /* thread -> upvalue that stands for one of its slots */
} lh_edge_kind;

typedef struct lh_edge {
  lh_id source, target;
  lh_edge_kind kind;
  bool weak;        /* keeps nothing alive: shown, but part of no path, distance, dominator */
  bool left_out;    /* by lh_analyse_without; then it is weak, too */
  uint32_t index;   /* LH_EDGE_ROOT: lh_root_kind; stack slots: frame number, outermost 0 */
  uint32_t ordinal; /* see the kinds */
  uint32_t line;    /* stack slots: the frame's current line, 0: unknown */
  lh_id name;       /* a string object, or LH_NO_OBJECT */
  lh_id holder;     /* LH_EDGE_EPHEMERON: the table; stack slots: the frame's function */
  lh_value key;     /* LH_EDGE_VALUE, LH_EDGE_KEY, LH_EDGE_EPHEMERON; stack slots of a frame
                         whose function is no object: that, a light C function or nil (host) */
} lh_edge;

/* Iterates over the edges of one object, in the order of its record, or of LH_ROOT:
**
**     lh_edges it;
**     lh_edge edge;
**     for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) ...
**
** In a table with weak keys the value under a collectable key that is no string appears as a weak
** LH_EDGE_VALUE of the table; after lh_analyse, the key object yields the LH_EDGE_EPHEMERON (last,
** and only where the table is reachable). Strings are never weak. References to nothing that is in
** the snapshot are skipped. O(1) an edge. */
typedef struct lh_edges {
  const lh_snapshot *snapshot;
  uint64_t state[11]; /* private: the position in the record */
} lh_edges;

void lh_edges_begin(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator);
bool lh_edges_next(lh_edges *iterator, lh_edge *edge);

/* Iterates over all entries of a table, scalars included, array part first. Other types have none.
** `value` may be NULL. */
void lh_entries_begin(const lh_snapshot *snapshot, lh_id table, lh_edges *iterator);
bool lh_entries_next(lh_edges *iterator, lh_value *key, lh_value *value);

/* The call frames of a thread, outermost first. */
typedef struct lh_frame {
  lh_value function;
  uint32_t line; /* current line, 0: unknown or a C function */
} lh_frame;

void lh_frames_begin(const lh_snapshot *snapshot, lh_id thread, lh_edges *iterator);
bool lh_frames_next(lh_edges *iterator, lh_frame *frame);

/* ==== 4. Where objects were allocated =============================================== */

/* What heap.track has recorded until the snapshot was taken. */
typedef struct lh_tracking {
  bool has_stacks;             /* false: each stack is its site alone */
  uint64_t sample_bytes;       /* mean distance of samples; 0: every allocation was recorded */
  uint64_t made, unattributed; /* allocations since it began, and those of no known site */
} lh_tracking;

/* NULL: the program was not tracked, and neither are there sites. */
const lh_tracking *lh_snapshot_tracking(const lh_snapshot *snapshot);
const lh_sites *lh_snapshot_sites(const lh_snapshot *snapshot);

/* At which stack the object was allocated; 0: before tracking began, or it was not sampled. O(1).
** And what was allocated there, dead or alive, since tracking began. */
lh_stack_id lh_object_stack(const lh_snapshot *snapshot, lh_id id);
lh_stack_counts lh_stack_counts_of(const lh_snapshot *snapshot, lh_stack_id stack);

/* So many objects stand behind this one: 1, but more where it was sampled; 0 where it was not. */
double lh_object_weight(const lh_snapshot *snapshot, lh_id id);

/* ==== 5. Snapshots from outside ===================================================== */

/* How it was made sure that nothing changed while memory was copied. */
typedef enum lh_stillness {
  LH_STILL_IDLE,    /* the process did not run at all meanwhile, and was not stopped */
  LH_STILL_FORK,    /* it was stopped to fork a frozen copy of itself, which was read */
  LH_STILL_STOPPED, /* it was stopped while its memory was copied */
  LH_STILL_CORE     /* it is a core file */
} lh_stillness;

const char *lh_stillness_name(lh_stillness stillness); /* "idle", "fork", "stopped", "core" */

typedef struct lh_outside_info {
  lh_stillness stillness;
  bool was_in_system_call; /* at a place where no Lua code can be amid a change */
  bool is_in_doubt;        /* Lua may have been amid one: a table that was just growing may have
                              values of another one */
  uint32_t c_functions;    /* whose places are known: lh_c_function_at */
} lh_outside_info;

/* NULL: the program took it itself. */
const lh_outside_info *lh_snapshot_outside(const lh_snapshot *snapshot);

/* A mark that stands in no heap, since its snapshot was taken from outside, got its place by a
** comparison of the objects. Never is one that is older than the mark called younger; but of those
** that are called older so many may be younger, the youngest of either list. 0 of most marks.
** O(objects that may be). */
lh_count lh_passed_as_old(const lh_snapshot *snapshot, uint32_t mark);

/* Where the code of a C function is. The texts may hold anything, and live as long as the
** snapshot. */
typedef struct lh_c_code {
  uint64_t address;
  const char *symbol;  /* "": none is known */
  const char *library; /* name of the file that it is in, without folders */
  uint64_t offset;     /* the address that the file gives it, for addr2line: no run's own */
} lh_c_code;

/* Of a closure's or a light C function's address. False: not known, as in all snapshots that a
** program took itself, unless lh_diff_snapshots found it in another one. O(log functions). */
bool lh_c_function_at(const lh_snapshot *snapshot, uint64_t address, lh_c_code *out);

/* ==== 6. Numbers as people read them ================================================ */

#define LH_NUMBER_BYTES 48

/* As a struct: a call stands where its text is used, printf("%s", lh_count_text(n).text). */
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
lh_number lh_plain_number(double n); /* 1,204 where it is whole, else 0.25 */

/* A bar of so many characters for the whole: of eighths of a character, or of whole # without
** Unicode. What is not nothing is seen. */
enum { LH_BAR_WIDTH = 20 };
typedef struct lh_bar {
  char text[3 * LH_BAR_WIDTH + 1];
} lh_bar;
lh_bar lh_bar_text(uint64_t part, uint64_t whole, bool unicode);

LH_API_END

#endif
