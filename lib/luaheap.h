/*
** luaheap.h - take snapshots of a Lua 5.4 heap, and analyse them.
**
** The life of a snapshot:
**
**     in the program        lh_attach(L)  lh_take_snapshot(L, "a")  lh_mark(L, "level 2")
**     on any machine        lh_open("a") -> lh_analyse -> classes, paths, diff -> lh_close
**
** The two halves share nothing but the file. Sections, in rising difficulty:
**
**     1  errors                     5  retained sizes, dominators, distance
**     2  writing (needs Lua)        6  classes and names
**     3  opening, what it is        7  paths and referrers
**     4  objects and edges          8  finding, comparing, drawing
**                                   9  advice about one snapshot
**                                  10  growth over many snapshots
**                                  11  a program that looks at itself (needs Lua)
**                                  12  files that are whole or not there
**
** Conventions. A function that can fail returns 0 or a negative LH_E... code and fills the caller's
** lh_error (which may be NULL). Results through `**out` or a `*out` of arrays are owned by the
** caller and freed by the function that is named there; everything else is borrowed and lives as
** long as the snapshot. The library never prints, exits, aborts or keeps globals, but for one list
** that a signal handler needs (lh_watch). A snapshot may be used by one thread at a time. A Lua
** state is read in the thread that runs it: one that another thread is running is out of bounds,
** whatever is done; two states in two threads are no concern of each other's. n stands for the
** number of objects, m for that of edges.
*/
#ifndef LUAHEAP_H
#define LUAHEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LH_VERSION "0.1.0"

/* ==== 1. Errors ===================================================================== */

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

/* ==== 2. Writing: inside the process that runs Lua ================================== */

/* Same type as in lua.h, so that readers need no Lua installed.
**
** The calls of this section may be made wherever Lua code could run: in coroutines, hooks, message
** handlers, finalizers (also of a state that closes), warn and panic functions, readers and
** writers, with the collector stopped or anywhere in its work. Threads may snapshot a state each at
** the same time; a state that another thread is running is out of bounds, and so is a signal
** handler. In the state's own allocation function they may be made while it is asked for more
** memory, refused or not, through a coroutine that was made before; never while it frees. LH_EBUSY:
** Lua is just moving a stack, or frees after all; releases before 5.4.4 do not tell. */
typedef struct lua_State lua_State;

typedef struct lh_take_options {
  uint64_t string_bytes; /* bytes of each string to keep. 0: none, for heaps full of secrets */
} lh_take_options;

#define LH_DEFAULT_STRING_BYTES 256u

/* What was written: all objects on the collector's lists and their bytes, the string table
** included: the figure that collectgarbage("count") * 1024 gives. */
typedef struct lh_taken {
  uint64_t objects;
  uint64_t bytes;
} lh_taken;

/* Receives the file's bytes in order; returns how many it took. Fewer than n ends the snapshot. It
** must not use the Lua state, whose objects are being read. */
typedef size_t (*lh_writer)(const void *data, size_t n, void *payload);

/* Checks that L is a Lua that this library knows and prepares it; needed once for each Lua state
** before the calls below, and harmless again. Allocates one small userdata and one table in the Lua
** heap, in protected mode. Fails with LH_EHOST on any other Lua, saying what was expected and what
** was found, and with LH_EMEMORY. Cost: O(1). */
int lh_attach(lua_State *L, lh_error *error);

/* Writes the heap of L to `path` (mode 0600; the file has no name until it is whole, or a temporary
** one in the same directory, and `path` itself is never followed: a link, a device or a pipe there
** is LH_EIO and stays) and leaves a mark named `path` in the heap. Runs no collector step,
** calls no metamethod, raises no Lua error, allocates nothing in the Lua heap but the mark (two
** userdata; and a longer stack where L has fewer than ten free slots, see lua_checkstack).
** `options` may be NULL. On failure an existing file at `path` is as it was. LH_EIO with ENOSPC or
** EFBIG: there is too little room (disk, RLIMIT_FSIZE), which is seen before a byte is written.
** Cost: about one full collection, or two where there is less room than 2.25 times the heap, since
** the file is measured first then; and 1 MiB of memory outside of Lua. */
int lh_take_snapshot(lua_State *L, const char *path, const lh_take_options *options,
                     lh_taken *taken, lh_error *error);

/* The same into a callback. `name` names the mark. lh_save makes a file of what it was given. */
int lh_stream_snapshot(lua_State *L, const char *name, lh_writer writer, void *payload,
                       const lh_take_options *options, lh_taken *taken, lh_error *error);

/* A snapshot that another process writes: the program pauses for a fork alone (0.01 to 0.03 times a
** full collection; a tenth of that where malloc uses huge pages) and goes on; the file is the heap
** as it was at the fork, mark included. The child is not seen by the host's wait(), raises no
** SIGCHLD, and completes the file even if the host exits. On failure *job is NULL and no file was
** touched. The job is freed by lh_job_free. What room any such file needs is asked for before the
** fork, what this one needs by the child. Memory: 1 MiB, and what of the heap the program changes
** meanwhile. */
typedef struct lh_job lh_job;
int lh_start_snapshot(lua_State *L, const char *path, const lh_take_options *options, lh_job **job,
                      lh_error *error);

/* Waits for the end, at most `seconds` (negative: for ever). LH_OK fills *taken; LH_EBUSY: not yet;
** LH_EIO: not written, and nothing left behind but the mark. May be called again. */
int lh_job_wait(lh_job *job, double seconds, lh_taken *taken, lh_error *error);

/* Has it ended, well or not? Never waits. And the child's process id. */
bool lh_job_done(lh_job *job);
int64_t lh_job_process(const lh_job *job);

/* Forgets the job; a child that is still writing goes on, and is a zombie from its end to that of
** the host: free a job when it is done. */
void lh_job_free(lh_job *job);

/* Pushes a userdata of `bytes`, cleared, that no report shows, for a binding that hands out jobs.
** Returns its content; NULL, and nothing pushed, when out of memory. As silent as lh_mark.
** lh_test_userdata returns the content of a value that was made so with the same `tag`, the address
** of something static, and NULL for all else, whatever its metatable is. */
void *lh_push_userdata(lua_State *L, const void *tag, size_t bytes, lh_error *error);
void *lh_test_userdata(lua_State *L, int index, const void *tag);

/* Leaves a mark: what is allocated from now on is younger than it. Fails with LH_EARGUMENT for a
** name of more than 4,096 bytes, and with LH_EMEMORY. Cost: O(1), two userdata of 88 bytes and the
** name. */
int lh_mark(lua_State *L, const char *name, size_t name_length, lh_error *error);

/* Leaves a mark named with the time in UTC, such as "2026-11-21 17:40:05", for programs that call
** this by period for months. There are at most 128 of these: with one more, every second of them is
** dropped, but neither the oldest nor the newest, and *thinned (may be NULL) is true: double the
** period, and 64 to 128 even steps cover the life of the process. Marks of snapshots and of lh_mark
** stay. Fails with LH_EMEMORY. Cost: O(1), amortised where most marks are periodic. */
int lh_mark_period(lua_State *L, bool *thinned, lh_error *error);

/* What the collector says of itself. Costs next to nothing, O(marks), and allocates nothing (but a
** longer stack where L has no free slot, see lua_checkstack), so it may be asked every second and
** in every place. Fails with LH_EARGUMENT where L was not attached. */
typedef struct lh_gc_stats {
  uint64_t bytes;         /* collectgarbage("count") * 1024 */
  int64_t debt_bytes;     /* allocated since the next step was due; negative: to go until then */
  uint64_t table_strings; /* in Lua's table of short strings, */
  uint64_t table_slots;   /* which has so many slots of 8 bytes */
  uint32_t marks;
  uint32_t newest_mark; /* its serial; 0: there was none */
  uint8_t gc_state;     /* 0 propagate ... 8 pause, as in lh_info */
  bool gc_generational;
  bool gc_stopped; /* by the program; in a finalizer of 5.4.0 to 5.4.3 always */
} lh_gc_stats;

int lh_stats(lua_State *L, lh_gc_stats *stats, lh_error *error);

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

typedef struct lh_count {
  uint64_t objects, bytes; /* bytes: shallow sizes */
} lh_count;

typedef struct lh_counts {
  lh_count all; /* on the collector's lists: what a snapshot would hold, and luaheap's own */
  lh_count by_type[LH_TYPE_COUNT];
  lh_count dead; /* of all: condemned by a sweep that is under way */
} lh_counts;

/* An epoch: what was allocated between two marks, dead or alive. The name has no NUL at its end and
** lives as long as the Lua state and, of a periodic mark, as this struct. */
typedef struct lh_epoch_count {
  lh_count allocated;
  const char *name; /* of the mark that begins it; NULL in the first, before all marks */
  size_t name_length;
  uint64_t time_ns; /* of that mark */
  bool is_snapshot; /* planted by a snapshot */
  char periodic_name[23];
} lh_epoch_count;

/* Counts all objects, exactly, without a snapshot. Fills epochs[0] to epochs[marks], the oldest
** first (see lh_stats for the number of marks); where there is room for n_epochs only, what is
** older is in the first. n_epochs may be 0. Allocates and fails as lh_stats does. Cost: one pass
** over all objects, 0.15 to 0.45 times a full collection; 30 to 200 ns an object. */
int lh_count_objects(lua_State *L, lh_counts *counts, lh_epoch_count *epochs, size_t n_epochs,
                     lh_error *error);

/* How many entries all tables have together, dead ones too: what leaks no object, such as numbers
** in a list, shows here. Allocates and fails as lh_stats does. Cost: one pass over all objects, and
** over all slots of the tables; 0.1 to 0.4 times a full collection. */
int lh_count_entries(lua_State *L, uint64_t *entries, lh_error *error);

/* A watcher takes snapshots of its state by itself, with no change to the program. Each goes to a
** file of its own, DIRECTORY/PROGRAM-PID-N.heap with N from 1 in each process; no older file is
** replaced. It waits for a safe point: the next instruction of Lua code, in whichever coroutine
** runs, or the return of the C function that runs. Only where memory runs out does it not wait.
** What found no safe point is taken when the state closes. */
typedef struct lh_watch_report {
  const char *path;      /* "": the host has set its own handler for the signal, told once */
  const lh_taken *taken; /* NULL: it failed */
  const lh_error *error; /* NULL: it was written. LH_EBUSY: not taken, since four children are still
                            writing; or still being written by a child that nobody watches now */
} lh_watch_report;

/* Is told of each file, in the thread that runs the state; of one that is written in the background
** when its end was noticed. It must not use the Lua state. */
typedef void (*lh_reporter)(const lh_watch_report *report, void *payload);

#define LH_DEFAULT_MAX_FILES 10u
#define LH_DEFAULT_AGAIN 1.5

typedef struct lh_watch_options {
  const char *directory; /* NULL: the current one */
  const char *program;   /* in the names of the files. NULL: the name of the process */
  int signal_number;     /* a file on this signal; 0: none */
  uint64_t at_bytes;     /* a file when the collector's count comes to this; 0: at no size */
  double again;          /* and each time it is this times as high; 0: LH_DEFAULT_AGAIN */
  double every_seconds;  /* a file each time so many have passed; 0: not by time */
  uint32_t max_files;    /* by size and time together; 0: LH_DEFAULT_MAX_FILES */
  double mark_seconds;   /* lh_mark_period, doubled where it asks for that; 0: no marks */
  bool at_exit;          /* when the state is closed, or the thread that runs it calls exit() */
  bool out_of_memory;    /* the first time that the state's allocation function fails for good,
                            before Lua raises its error. Keeps 2 MiB in reserve for it */
  bool background;       /* by lh_start_snapshot, but for those at the end; at most four at once */
  const lh_take_options *take; /* NULL: the defaults */
  lh_reporter report;          /* may be NULL */
  void *payload;
} lh_watch_options;

/* Starts to watch; needs lh_attach. What `options` points to is copied. Until lh_unwatch or
** lua_close the state's allocation function is one of ours in front of the one that was found, so
** this code must stay loaded until lua_close has returned. One watcher for each state. Fails with
** LH_EARGUMENT, LH_EIO (the directory cannot be written), LH_EMEMORY or LH_EHOST.
**
** The handler of the signal is the process's: it stays as long as one state is watched for that
** signal, asks for a snapshot of each of these, in their threads, and calls the handler that was
** there before. That is put back in the end; a default action that would end or stop the process is
** not: a signal that comes too late, as while the program ends, is ignored. On the way to the safe
** point the threads that run have a debug hook of ours, for which Lua needs 20 free slots of stack;
** the program's own hook gets all its events and is as before afterwards.
**
** Costs: 1 KB in the Lua heap that no report shows, and 2 to 3 ns for each block that Lua takes or
** gives back: 3 to 6 % of a loop that does nothing but make tables and strings. Sizes and times are
** looked at while the heap grows, after each 4 KiB. A request costs a look at all coroutines. */
int lh_watch(lua_State *L, const lh_watch_options *options, lh_error *error);

/* Stops; what was requested and not taken yet is forgotten. The signal is ignored from now on where
** the process had no handler of its own. Harmless if L is not watched. */
void lh_unwatch(lua_State *L);

/* The exact shallow size of the value at stack index `index`, counted from 1: 0 for what is not
** collectable. Any other index fails with LH_EARGUMENT. Cost: O(1). */
int lh_sizeof(lua_State *L, int index, uint64_t *bytes, lh_error *error);

/* ==== 3. Opening ==================================================================== */

typedef struct lh_snapshot lh_snapshot;

/* Reads and checks a snapshot: every byte is as it was written and every record parsed, so that
** nothing that is read from it later can fail, whatever becomes of the file. *out is closed by
** lh_close, which takes NULL too, and with it all that was borrowed from it. Fails with
** LH_EFOREIGN, LH_EVERSION, LH_EDAMAGED, LH_EIO (with EAGAIN: it was changed just now), LH_EMEMORY
** or LH_ELIMIT. Costs one pass over the file; memory for the file and 24 bytes an object. */
int lh_open(lh_snapshot **out, const char *path, lh_error *error);
void lh_close(lh_snapshot *snapshot);

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

typedef struct lh_info {
  uint32_t format_version;
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

/* ==== 4. Objects and edges ========================================================== */

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

/* How many objects there are; their ids are 1 to this number. */
uint32_t lh_object_count(const lh_snapshot *snapshot);

/* Decodes object `id` (1..n). Cost: O(1), but O(record) for a table or thread's counts. */
void lh_object_at(const lh_snapshot *snapshot, lh_id id, lh_object *out);

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
** `value` may be NULL, which is faster. */
void lh_entries_begin(const lh_snapshot *snapshot, lh_id table, lh_edges *iterator);
bool lh_entries_next(lh_edges *iterator, lh_value *key, lh_value *value);

/* The call frames of a thread, outermost first. */
typedef struct lh_frame {
  lh_value function;
  uint32_t line; /* current line, 0: unknown or a C function */
} lh_frame;

void lh_frames_begin(const lh_snapshot *snapshot, lh_id thread, lh_edges *iterator);
bool lh_frames_next(lh_edges *iterator, lh_frame *frame);

/* ==== 5. Retained sizes, dominators, distance ======================================= */

/* Computes reachability (as the collector sees it: weak tables, ephemerons), distances, shortest
** paths, immediate dominators and retained sizes. Needed once before the calls below and in the
** next sections; harmless again. Cost: O(n + m) but for the dominators' O(m log n); at most 80
** bytes an object with 3 edges each, at the peak. */
int lh_analyse(lh_snapshot *snapshot, lh_error *error);

/* What is taken as gone. Edges are told by what lh_edges_next says of them: source, target, kind,
** and the key, or index and ordinal. An entry under a weak key is one with its ephemeron: leaving
** out either edge leaves out both. With an object go all its edges, in and out. */
typedef struct lh_without {
  const lh_edge *edges;
  size_t n_edges;
  const lh_id *objects;
  size_t n_objects;
} lh_without;

/* lh_analyse as though none of the n were there: what only they keep alive is garbage, and they are
** part of no path, distance, dominator, retained size, or name that is found on the way; they are
** still told as edges, weak and left_out. In place of lh_analyse, or after it: then all is analysed
** anew and results of before are void, but classes keep their names, and count what is reachable
** now. What was left out before is not any more. After a failure (LH_EARGUMENT: no such edge or
** object; LH_EMEMORY) the snapshot is not analysed. Costs as much as lh_analyse, and the edges of
** the objects that edges are left out of. */
int lh_analyse_without(lh_snapshot *snapshot, const lh_without *without, size_t n, lh_error *error);

bool lh_is_reachable(const lh_snapshot *snapshot, lh_id id);

/* The entries of a table that the next full collection leaves: all, but of a weak table without
** those whose weak key or value is garbage. 0 for other types. O(1); of a weak table O(entries). */
uint64_t lh_lasting_entries(const lh_snapshot *snapshot, lh_id id);

/* Bytes that would go if the object went: its own and those of all that it dominates. LH_ROOT: all
** reachable bytes. Garbage: 0. */
uint64_t lh_retained_bytes(const lh_snapshot *snapshot, lh_id id);

/* LH_ROOT for what several roots hold; LH_NO_OBJECT for garbage and for LH_ROOT. */
lh_id lh_immediate_dominator(const lh_snapshot *snapshot, lh_id id);

/* Edges on the shortest path from LH_ROOT; UINT32_MAX for garbage. */
uint32_t lh_distance(const lh_snapshot *snapshot, lh_id id);

typedef struct lh_reach {
  uint64_t reachable_objects, reachable_bytes;
  uint64_t garbage_objects, garbage_bytes;
} lh_reach;

void lh_reach_totals(const lh_snapshot *snapshot, lh_reach *out);

/* Bytes (and objects, if the pointer is not NULL) that would go if all of `ids` went together: each
** counted once, whatever they share. O(n + m). */
int lh_retained_together(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, uint64_t *bytes,
                         uint64_t *objects, lh_error *error);

/* What a cut frees. */
typedef struct lh_freed {
  uint64_t objects, bytes;
  bool frees_it; /* the object asked for, too */
} lh_freed;

/* What of the reachable would be garbage if each of the cuts were made alone, if all of them were,
** and of that what no one of them frees. `id`: an object that is asked for, or LH_NO_OBJECT. Exact,
** with ephemerons: a value goes with its weak table, and with its key. O(n + m) for each cut. */
int lh_what_if(lh_snapshot *snapshot, const lh_without *cuts, size_t n_cuts, lh_id id,
               lh_freed *alone, lh_freed *together, lh_freed *only_together, lh_error *error);

/* ==== 6. Classes and names ========================================================== */

/* The class of an object is what people call it: the metatable's __name, else the name under which
** the metatable is found, else the shape of a plain table such as "{id, name, next}", or what it is
** a collection of, such as "array of Listener"; for functions "function name @file:line"; for
** coroutines the function that they run. */
typedef struct lh_class {
  const char *name; /* valid UTF-8, without control characters */
  lh_type type;
  uint64_t objects, shallow_bytes; /* reachable instances */
  uint64_t garbage_objects, garbage_bytes;
} lh_class;

/* Assigns a class to every object. Needs lh_analyse. Harmless again. Fails with LH_ELIMIT where all
** names together would take more than 16 times the file's size (and 1 MiB). O(n + m). */
int lh_classify(lh_snapshot *snapshot, lh_error *error);

uint32_t lh_class_count(const lh_snapshot *snapshot);
const lh_class *lh_class_at(const lh_snapshot *snapshot, uint32_t class_index);
uint32_t lh_class_of(const lh_snapshot *snapshot,
                     lh_id id); /* class index; own objects: UINT32_MAX */

typedef enum lh_sort { LH_SORT_RETAINED, LH_SORT_SHALLOW, LH_SORT_COUNT } lh_sort;

typedef struct lh_top_query {
  lh_sort sort;
  size_t limit;       /* 0: all */
  uint32_t type_mask; /* 1 << lh_type, or 0 for all types */
  bool garbage;       /* of the unreachable objects instead: retained sizes are 0 there, and
                         LH_SORT_RETAINED means LH_SORT_SHALLOW */
} lh_top_query;

typedef struct lh_class_row {
  uint32_t class_index;
  uint64_t objects, shallow_bytes;
  uint64_t retained_bytes; /* that would go if all instances went: exact, none counted twice */
} lh_class_row;

/* The first `limit` classes in the order asked for; ties by name. Free *rows with lh_free.
** O(n + m), and at worst as much again for each class among the first whose retained bytes are not
** settled by the trees of dominators and shortest paths. Where that comes to a billion steps and 64
** times n + m (classes by the ten thousand that lie inside each other) retained_bytes of the rest
** are those that single instances retain, without what several only retain together. */
int lh_top_classes(lh_snapshot *snapshot, const lh_top_query *query, lh_class_row **rows,
                   size_t *n_rows, lh_error *error);

/* The first `limit` objects. Sorting by count means by retained size. Free *ids with lh_free.
** O(n log limit). */
int lh_top_objects(lh_snapshot *snapshot, const lh_top_query *query, lh_id **ids, size_t *n_ids,
                   lh_error *error);

/* Is the object an element of a linked list, but not its first? It is of its dominator's class, and
** most of what that retains beside itself. A list of a million would else be all that a ranking by
** retained size shows. O(1). */
bool lh_continues_list(const lh_snapshot *snapshot, lh_id id);

/* lh_top_objects without what only repeats others: without upvalues and protos unless their type is
** asked for, and ranked by what they retain without elements of linked lists but the first, unless
** all are asked for or `whole_lists`. Of those so many that rank before the last are *n_left_out;
** *total: how many objects there are. */
int lh_rank_objects(lh_snapshot *snapshot, const lh_top_query *query, bool whole_lists, lh_id **ids,
                    size_t *n_ids, size_t *n_left_out, uint64_t *total, lh_error *error);

/* Text for people. All of it is valid UTF-8 on one line, with control characters, what cannot be
** seen, quotes and invalid bytes escaped as Lua does. Owned by the caller, freed with lh_free; NULL
** when out of memory. */
char *lh_object_text(const lh_snapshot *snapshot, lh_id id); /* table: 0x55d0c0a3f2e0 */
char *lh_string_text(const lh_snapshot *snapshot, lh_id id,
                     size_t max_bytes); /* "quoted", shortened */
char *lh_edge_text(const lh_snapshot *snapshot,
                   const lh_edge *edge); /* .listeners  [17]  upvalue bus */
char *lh_frame_text(const lh_snapshot *snapshot,
                    const lh_frame *frame);    /* app.lua:31 in function on_tick */
char *lh_escaped(const char *bytes, size_t n); /* any bytes, such as a mark's name */

void lh_free(void *result);

/* One word each, as in --json. Of other enums they stand beside these. */
const char *lh_type_name(lh_type type);                     /* "table", "closure", ... */
const char *lh_list_name(lh_list list);                     /* "allgc", "finobj", ... */
const char *lh_edge_kind_name(lh_edge_kind kind);           /* "value", "upvalue", ... */
const char *lh_thread_status_name(lh_thread_status status); /* "suspended", ... */

/* ==== 7. Paths and referrers ======================================================== */

/* A chain of edges: steps[0] starts at LH_ROOT, each starts where the one before ends. */
typedef struct lh_path {
  size_t n_steps;
  lh_edge *steps;
} lh_path;

/* The shortest retaining path of `id`; among equally short ones, one through globals and modules
** rather than through functions, the registry, stacks or debug information. LH_ENOTFOUND: nothing
** keeps it alive. Free with lh_paths_free(path, 1) (which leaves the struct itself). O(length +
** edges on it). */
int lh_shortest_path(lh_snapshot *snapshot, lh_id id, lh_path *path, lh_error *error);

/* The (at most) k shortest paths that end in different referrers, shortest first; none runs through
** `id` itself. *paths is freed by lh_paths_free and then lh_free. LH_ELIMIT: all their steps would
** take more than 16 times the file (and 1 MiB). O(n + m). */
int lh_shortest_paths(lh_snapshot *snapshot, lh_id id, size_t k, lh_path **paths, size_t *n_paths,
                      lh_error *error);
void lh_paths_free(lh_path *paths, size_t n_paths);

/* The paths that hold an object independently: from where they part on, no two share a reference,
** nor two references that are cut at once (a table's entry and its key, a captured variable). */
typedef struct lh_independent {
  lh_id from;     /* the nearest object that all paths to it run through, or LH_ROOT */
  lh_path *paths; /* from LH_ROOT, shortest first */
  size_t n;       /* so many cuts free the object, and no fewer, unless `from` goes. What leads from
                      LH_ROOT to other objects is not cut */
  bool is_limited; /* it may be more: no more were looked for */
} lh_independent;

/* Looks for at most `limit` of them. LH_ENOTFOUND: nothing keeps the object alive. Freed by
** lh_independent_free. O(n + m) for each. */
int lh_find_independent(lh_snapshot *snapshot, lh_id id, size_t limit, lh_independent *out,
                        lh_error *error);
void lh_independent_free(lh_independent *independent);

/* Of an object that one path holds: the nearest on the way to it, one that all paths to it run
** through, that two or more independent paths hold. A cut below it frees the object; above it, up
** to out->from, no single one does. (An entry whose key and value both lead to the object is one
** cut, which does.) *out is of the junction, as lh_find_independent has it. LH_ENOTFOUND: there is
** none, and each cut of the path frees the object; or it could not be settled, in a chain where
** again and again two references are one cut. O(n + m), and as lh_find_independent for each
** dominator that several references enter, at most 8. */
int lh_find_junction(lh_snapshot *snapshot, lh_id id, size_t limit, lh_id *junction,
                     lh_independent *out, lh_error *error);

/* All edges that end in `id`, weak ones too, in order of their source's distance. O(n + m). */
int lh_referrers(lh_snapshot *snapshot, lh_id id, lh_edge **edges, size_t *n_edges,
                 lh_error *error);

/* A path in Lua's language: `_G.bus.listeners.tick[17].fn`. With `folded`, the steps that vary
** between objects of one cause become `*`: `_G.bus.listeners.tick[*].fn`. Of a path of more than 40
** steps, or of 2,000 bytes, the middle is left out: `_G.a.b ... 12 more steps ... .y.z`. Freed with
** lh_free. */
char *lh_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded);

/* The same of the shortest path of `id`, folded, for one object after another: all of them together
** cost about as much as lh_analyse, however long their paths are. Freed with lh_free. LH_ENOTFOUND:
** nothing keeps it alive. Needs lh_classify. Keeps up to 4 bytes for each object that is on the way
** to one that was asked for. */
int lh_held_by(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error);

/* A text that begins at an upvalue, at code, or in a coroutine does not say who holds that: here is
** the part of the path, from the root on, that leads to the first such beginning, as text:
** `_G.handlers.h17`. *out is NULL where lh_path_text tells all; else freed with lh_free. Fails with
** LH_EMEMORY. */
int lh_path_through(const lh_snapshot *snapshot, const lh_path *path, bool folded, char **out,
                    lh_error *error);

/* ==== 8. Finding, comparing, drawing ================================================ */

typedef struct lh_found {
  lh_id id;             /* the object: where several match, the one that retains most */
  uint64_t matches;     /* how many matched */
  uint32_t class_index; /* of the class asked for ("array" is that of "array of Listener", too);
                           UINT32_MAX unless found by class */
} lh_found;

/* Finds an object by the one grammar for objects: an address as Lua prints it (`0x...`,
** `table: 0x...`), a path (`_G.cache[12].owner`, `package.loaded["app.bus"].x`, `registry[3]`), a
** function by place (`@file.lua:42`), or a class name. A * in a name stands for any text if nothing
** is called so literally. Needs lh_classify. LH_ENOTFOUND says what was looked for and how far it
** came; LH_EARGUMENT: a malformed expression. O(n). */
int lh_find(lh_snapshot *snapshot, const char *expression, lh_found *found, lh_error *error);

/* All objects that match, garbage of the class asked for too. Free *ids with lh_free. The rest as
** lh_find. */
int lh_find_all(lh_snapshot *snapshot, const char *expression, lh_id **ids, size_t *n_ids,
                lh_error *error);

/* Finds what an expression takes away. Of a path or a phrase that ends in a reference: the one of
** its last step, as though it were set to nil; that is a table's entry with its key, a variable's
** value for all functions that share it, a metatable. Else, told by address, place or class: the
** objects themselves. All that match; and where nothing is called so literally, a * in a name
** stands for any text (`_G.debugger.*`, `upvalue watched of function *`). What is left out already
** is found, too. Needs lh_classify. Freed by lh_without_free. Fails as lh_find does. O(n). */
int lh_find_cut(lh_snapshot *snapshot, const char *expression, lh_without *out, lh_error *error);
void lh_without_free(lh_without *without);

/* What stays the same about a group of objects: a hash of its class and its folded path, in ten
** hexadecimal digits. It is the same in every run and on every machine, and in every build in which
** the class and the path are called the same: the lines of functions and the directories of their
** files are left out, and so are addresses, counts, and what a collection holds. */
#define LH_FINGERPRINT_BYTES 11 /* with the NUL */

bool lh_is_fingerprint(const char *text);

/* All reachable objects with a fingerprint, of any age, and those of the same class that they
** dominate, such as the rest of a linked list. Needs lh_classify. Free *ids with lh_free.
** LH_ENOTFOUND: there are none; LH_EARGUMENT: it is no fingerprint. O(n + m). */
int lh_objects_with(lh_snapshot *snapshot, const char *fingerprint, lh_id **ids, size_t *n_ids,
                    lh_error *error);

/* counts[i]: how many objects lh_objects_with finds for each of n fingerprints; 0 if there are
** none. Needs lh_classify. LH_EARGUMENT as there. O(n + m), and O(n) more for each fingerprint: a
** fiftieth of that. */
int lh_count_with(lh_snapshot *snapshot, const char *const *fingerprints, size_t n_fingerprints,
                  uint64_t *counts, lh_error *error);

/* New objects that stay. */
typedef struct lh_diff_group {
  uint32_t class_index;   /* of the snapshot that was compared; that of the example */
  const char *class_name; /* its name, or what several modules have in common: module tenant_* */
  const char *held_by; /* folded path, owned by the diff; "..." for what is left where all of them
                          would take more than 16 times the file (and 1 MiB). Eight paths or more
                          from _G or package.loaded that differ in the numbers in their names only
                          are one: _G.request_* */
  uint64_t objects;    /* that no other new object retains, and those of the same class that these
                          retain, such as the rest of a linked list */
  uint64_t shallow_bytes;
  uint64_t retained_bytes; /* theirs and all that they dominate: groups add up, no byte twice */
  uint64_t new_objects;    /* new objects that these retain, themselves included */
  uint64_t new_bytes;      /* and the shallow bytes of those */
  lh_id example;           /* the one that retains most */
  char fingerprint[LH_FINGERPRINT_BYTES];
} lh_diff_group;

/* A container that was there before a and got bigger from a to b and again from b to c: a table by
** its entries, without those of weak tables that wait for the collector. */
typedef struct lh_grown {
  lh_id id; /* in c */
  uint32_t class_index;
  const char *held_by;                   /* its path, */
  const char *place;                     /* and the same folded as in a group; owned by the diff */
  uint64_t shallow_bytes[3], entries[3]; /* at a, b, c */
  char fingerprint[LH_FINGERPRINT_BYTES];
} lh_grown;

/* The change of one class between the first and the last snapshot. */
typedef struct lh_class_change {
  const char *name; /* owned by the diff */
  lh_type type;
  uint64_t objects[3], shallow_bytes[3]; /* at a, b, c; with two snapshots [1] is unused */
  uint64_t appeared, gone;               /* objects; only where both snapshots are of one state */
} lh_class_change;

typedef struct lh_diff {
  bool same_state; /* false: different processes or states, compared by class only */
  uint64_t objects, shallow_bytes;   /* new and still reachable */
  uint64_t retained_bytes;           /* bytes that would go if all of them went */
  uint64_t gone_objects, gone_bytes; /* two snapshots: reachable in a, not there or garbage in b */
  lh_diff_group *groups;             /* by retained size, biggest first */
  size_t n_groups;
  lh_grown *grown; /* three snapshots only; by bytes grown, biggest first */
  size_t n_grown;
  lh_class_change *classes; /* two snapshots, or of different states; by growth of bytes */
  size_t n_classes;
} lh_diff;

/* b NULL: what appeared and went between a and c. Otherwise the three-snapshot technique: what was
** allocated between a and b and is reachable in c. All must stay open as long as the diff; they are
** analysed and classified as far as the comparison needs it (c always; the others where classes are
** compared, or a weak table seems to have grown). Fails with LH_EARGUMENT when the snapshots of one
** state are not in the order of time. Freed by lh_diff_free. O(n + m). */
int lh_diff_snapshots(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_diff **out,
                      lh_error *error);

/* The same from the marks in one snapshot: allocated after mark `since` and before mark `until`
** (NULL: the snapshot itself); of marks with the same name the latest. No `grown`, no `classes`.
** LH_ENOTFOUND names the marks that there are; a name may be given as it shows it. */
int lh_diff_marks(lh_snapshot *snapshot, const char *since, const char *until, lh_diff **out,
                  lh_error *error);
void lh_diff_free(lh_diff *diff);

/* Strings of one content, more of them in c than in a. */
typedef struct lh_string_change {
  lh_id example;                 /* in c */
  uint64_t objects[2], bytes[2]; /* in a and in c; more than one object: long strings */
} lh_string_change;

typedef struct lh_string_changes {
  uint64_t new_contents;  /* that a has not at all, */
  uint64_t more_contents; /* and those that it has, but fewer of them */
  uint64_t more_bytes;    /* by which both are more */
  lh_string_change *rows; /* all of them, by bytes more; freed with lh_free */
  size_t n_rows;
} lh_string_changes;

/* Compares reachable strings by content, never by address, so those of other processes, too. A
** content is its length and hash where the snapshot does not keep all of it. Needs lh_analyse of
** both. O(n log n). */
int lh_compare_strings(lh_snapshot *a, lh_snapshot *c, lh_string_changes *out, lh_error *error);

/* Writes paths that end in one object as a DOT graph, ready for dot -Tsvg. A path may also be a
** single edge that does not start at LH_ROOT, such as one of lh_referrers. `long_path`: from how
** many steps on the middle of a path is folded. Fails with LH_EIO where `out` cannot be written,
** with LH_ELIMIT where there are more than 4,000 arrows, and with LH_EMEMORY. O(steps). */
int lh_dot_paths(const lh_snapshot *snapshot, const lh_path *paths, size_t n_paths,
                 size_t long_path, FILE *out, lh_error *error);

enum { LH_MOST_WIDTH = 1000 };

typedef struct lh_below_query {
  uint32_t depth; /* levels below the object */
  uint32_t width; /* references of each object, those to what retains most: 1 to LH_MOST_WIDTH */
} lh_below_query;

/* References of an object that are not shown. */
typedef struct lh_below_rest {
  lh_id id;
  uint64_t references;
} lh_below_rest;

typedef struct lh_below {
  lh_id id;
  lh_path *paths; /* each one edge, or the two of an upvalue; breadth first */
  size_t n_paths;
  lh_below_rest *rests;
  size_t n_rests;
} lh_below;

/* What object `id` refers to, and so on, as far as fits a picture. Names, code and what is weak are
** left out. Needs lh_analyse. Freed by lh_below_free. O(n / 8 bytes + the edges of the objects
** shown). */
int lh_find_below(lh_snapshot *snapshot, lh_id id, const lh_below_query *query, lh_below *out,
                  lh_error *error);
void lh_below_free(lh_below *below);

/* Writes it as a DOT graph, as lh_dot_paths does. Needs lh_classify. */
int lh_dot_below(const lh_snapshot *snapshot, const lh_below *below, FILE *out, lh_error *error);

/* ==== 9. Advice about one snapshot ================================================== */

/* Objects of one class that accumulated in one place. */
typedef struct lh_accumulated {
  uint32_t class_index;
  uint64_t objects; /* of a list or tree all its elements */
  uint64_t bytes;   /* that would go with them */
  lh_id example;    /* the one that retains most */
} lh_accumulated;

typedef enum lh_suspect_kind {
  LH_SUSPECT_HOLDER, /* object `id` holds many others */
  LH_SUSPECT_ITSELF, /* object `id` is big, without others */
  LH_SUSPECT_LIST,   /* object `id` is the first of a linked list, */
  LH_SUSPECT_TREE,   /* or the root of a tree */
  LH_SUSPECT_SPREAD  /* many objects of a class are held by many; `id` dominates them all */
} lh_suspect_kind;

/* An object that refers to `objects` of those that accumulated. */
typedef struct lh_holder {
  const char *path; /* folded: of several alike */
  uint64_t objects;
  const char *through;      /* of lh_ways: who holds the function where the path begins at one, as
                          lh_path_through tells it, of most of them; else NULL */
  uint64_t through_objects; /* of how many of them */
} lh_holder;

enum { LH_MOST_ACCUMULATED = 3, LH_MOST_HOLDERS = 5 };

typedef struct lh_suspect {
  lh_suspect_kind kind;
  lh_id id;
  uint64_t bytes; /* that would go with what accumulated, all classes together, but not those of
                     other suspects */
  lh_accumulated accumulated[LH_MOST_ACCUMULATED]; /* most bytes first; of HOLDER at least one, of
                     ITSELF none, of the others one */
  uint32_t n_accumulated;
  uint32_t n_classes;                 /* of all that accumulated */
  uint64_t objects;                   /* all that accumulated */
  lh_holder holders[LH_MOST_HOLDERS]; /* of SPREAD, those with most objects first */
  uint32_t n_holders;
  uint64_t total_holders;
} lh_suspect;

typedef struct lh_suspects {
  lh_suspect *list; /* most bytes first */
  size_t n;
  uint64_t least_bytes; /* of a suspect */
} lh_suspects;

/* What holds a tenth or more of the reachable bytes (and 16 KB): for each object that dominates so
** much, its accumulation point, which is the first object on the way down from it whose biggest
** dominated object holds less than 0.7 of it; then the classes of which so much is spread over
** many. No byte is told twice. Not suspected as such are _G, package.loaded, modules, the registry,
** the main thread's locals and code: the way down leads through them. Needs lh_classify. Freed by
** lh_suspects_free. O(n + m). */
int lh_find_suspects(lh_snapshot *snapshot, lh_suspects *out, lh_error *error);
void lh_suspects_free(lh_suspects *suspects);
const char *lh_suspect_kind_name(lh_suspect_kind kind); /* "holder", "list", ... */

typedef enum lh_branch_kind {
  LH_BRANCH_OBJECT,
  LH_BRANCH_LIST,  /* a linked list, whose first element is `id`, */
  LH_BRANCH_TREE,  /* or a tree, whose root it is */
  LH_BRANCH_GROUP, /* many objects of one class; `id` is the one that retains most */
  LH_BRANCH_REST   /* what is not shown of a level; `id` is LH_NO_OBJECT */
} lh_branch_kind;

/* A row of a tree of dominators. What is below a group, list or tree is below any of its
** objects. */
typedef struct lh_branch {
  lh_branch_kind kind;
  uint32_t depth; /* 0: the object asked for */
  lh_id id;
  uint32_t class_index; /* UINT32_MAX: none */
  uint64_t objects;     /* of the class; of the rest all that are directly there */
  uint64_t shallow_bytes, retained_bytes;
  bool has_edge; /* the row above is one object and refers to `id` by this one: */
  lh_edge edge;
} lh_branch;

typedef struct lh_under_query {
  uint32_t depth;       /* levels below the object */
  size_t limit;         /* rows of each level, the rest not counted; 0: all */
  uint64_t least_bytes; /* smaller ones belong to the rest */
} lh_under_query;

/* What object `id` (or LH_ROOT) keeps alive alone: down the tree of dominators, in preorder,
** biggest first; eight or more of a class at one place are one row. LH_ENOTFOUND: it is garbage,
** and keeps nothing alive. Needs lh_classify. Free *rows with lh_free. O(n log n + the edges of the
** objects shown). */
int lh_under(lh_snapshot *snapshot, lh_id id, const lh_under_query *query, lh_branch **rows,
             size_t *n_rows, lh_error *error);
const char *lh_branch_kind_name(lh_branch_kind kind); /* "object", "group", ... */

/* A loaded module, or a global variable, whose value is an object. */
typedef struct lh_module {
  const char *name; /* as a path: package.loaded["app.bus"], _G.cache */
  lh_id id;
  uint64_t retained_bytes; /* that it alone keeps alive */
  uint64_t reached_objects, reached_bytes;
  uint64_t shared_bytes; /* of these, that others reach or keep alive, too */
} lh_module;

typedef struct lh_modules {
  lh_module *list; /* those that keep most alive alone first; ties by name */
  size_t n;        /* of them, those asked for */
  uint64_t total;
  uint64_t retained_bytes; /* the sum of all: no byte is kept alive alone by two */
  uint64_t reached_bytes;  /* that all of them reach together */
} lh_modules;

/* For each value of package.loaded and then of _G: what it keeps alive alone, and what it reaches:
** all objects on strong paths from it that do not lead through _G, package.loaded, the registry or
** the main thread, by which any module reaches all others. An object with several names
** is there once, as a module rather than a global. `limit` 0: all. Needs lh_classify. Freed by
** lh_modules_free. O(n + m) for each 64 modules asked for. */
int lh_find_modules(lh_snapshot *snapshot, size_t limit, lh_modules *out, lh_error *error);
void lh_modules_free(lh_modules *modules);

/* Threads with the same status whose frames have the same functions at the same lines. */
typedef struct lh_standing {
  lh_thread_status status;
  bool is_main;
  lh_id example; /* the one that retains most */
  uint64_t threads;
  uint64_t shallow_bytes;  /* their stacks, with frames and header */
  uint64_t retained_bytes; /* that would go if all of them went */
} lh_standing;

typedef struct lh_standings {
  lh_standing *list; /* by retained bytes, biggest first; the main thread, whose locals may hold
                        nearly all, comes last */
  size_t n;
  uint64_t n_threads; /* in all */
} lh_standings;

/* Where threads stand. Needs lh_classify. Freed by lh_standings_free. Costs as much as
** lh_top_classes, and the frames. */
int lh_find_standings(lh_snapshot *snapshot, lh_standings *out, lh_error *error);
void lh_standings_free(lh_standings *standings);

/* A row of the tree of the ways on which the objects of a set are kept alive. */
typedef struct lh_way {
  uint32_t depth;       /* 0: the root */
  uint64_t hidden;      /* so many rows of a level that are not shown: no steps, path, id, class */
  const char *steps;    /* how it goes on from the row above, folded: .listeners.tick[*] */
  const char *path;     /* where it leads, as in lh_diff_group; "" for the root */
  lh_id id;             /* an object there: the one of the set, if any is, that retains most */
  uint32_t class_index; /* of the objects there; UINT32_MAX: of several */
  uint64_t through;     /* objects there, of the set or on the way to it */
  uint64_t here;        /* objects of the set that are there, */
  uint64_t objects;     /* and those that are further on, too */
  uint64_t bytes;       /* of what goes if the whole set goes: that to which these are the last of
                           the set on all paths */
} lh_way;

typedef struct lh_ways {
  uint64_t objects, bytes;                 /* of the set, alive; and what would go if all went */
  uint32_t class_index;                    /* of all these; UINT32_MAX: several */
  uint64_t garbage_objects, garbage_bytes; /* of the set, not alive; their shallow bytes */
  lh_way *rows;                            /* in preorder; those of one level by bytes */
  size_t n_rows;                           /* 0: none is alive */
  lh_holder holders[LH_MOST_HOLDERS];      /* the paths by which most of them are held */
  uint32_t n_holders;
  uint64_t total_holders;
  uint64_t objects_elsewhere; /* so many of the set would stay if of each one's path the last
                                 reference went, */
  lh_holder elsewhere;        /* and the path by which most of these would; path NULL: none */
} lh_ways;

/* Why a whole set of objects is alive: the shortest paths of all `ids` as one tree, its steps
** folded as in lh_path_text, those that follow each other without a branch as one row. The bytes of
** a row are those of the rows below it, of the objects of the set that are there, and what several
** of these hold together: no byte is in two rows, unless one is below the other. `limit`: about so
** many rows, the biggest (0: all). An id may be there twice; objects of luaheap are left out. Needs
** lh_classify. Freed by lh_ways_free. Costs the edges on the paths, and as much as the dominators
** of lh_analyse. */
int lh_merge_paths(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, size_t limit,
                   lh_ways **out, lh_error *error);
void lh_ways_free(lh_ways *ways);

/* Writes them as a DOT graph with a box for each row, and the steps on its arrow, which is thicker
** where more bytes are. Fails as lh_dot_paths does. O(rows). */
int lh_dot_ways(const lh_snapshot *snapshot, const lh_ways *ways, FILE *out, lh_error *error);

/* Exact figures of single objects, in the order of size: of n the median is number (n + 1) / 2, and
** nine of ten have at most `ninth_tenth`. */
typedef enum lh_measure {
  LH_MEASURE_SHALLOW,
  LH_MEASURE_RETAINED,
  LH_MEASURE_ALONE,       /* retained, without what other instances inside of it retain */
  LH_MEASURE_ENTRIES,     /* of tables: those with a value */
  LH_MEASURE_LENGTH,      /* of strings, in bytes */
  LH_MEASURE_CONTENT,     /* of userdata, in bytes: without header and user values */
  LH_MEASURE_UPVALUES,    /* of functions */
  LH_MEASURE_FRAMES,      /* of threads */
  LH_MEASURE_INSTRUCTIONS /* of protos */
} lh_measure;

typedef struct lh_spread {
  lh_measure measure;
  uint64_t objects; /* that have it */
  uint64_t least, median, ninth_tenth, most, sum;
} lh_spread;

enum { LH_MOST_SPREADS = 9, LH_MOST_KINDS = 3 };

/* What some values are: the class of objects, else "number", "boolean", "pointer" (light userdata)
** or "function". */
typedef struct lh_value_class {
  const char *name;
  uint64_t values;
} lh_value_class;

/* What instances have in one place: under a string key, as an upvalue, user value or local; of
** collections under all keys of a type. */
typedef struct lh_field {
  const char *name;   /* .id, ["odd key"], [integer], [string], [object], upvalue bus, ... */
  uint64_t instances; /* that have a value there */
  uint64_t values;    /* these may be more: of all keys of a type */
  uint64_t bytes;     /* that instances keep alive alone there, keys included; without what other
                     instances retain. The fields of a class add up, no byte twice */
  lh_value_class kinds[LH_MOST_KINDS]; /* those with most values first */
  uint32_t n_kinds;
  uint64_t total_kinds;
} lh_field;

/* References to instances that are made alike. */
typedef struct lh_referring {
  uint32_t class_index; /* of what refers to them; UINT32_MAX: the roots */
  const char *label;    /* by what: .owner, [*], upvalue bus, ... */
  bool weak;
  uint64_t sources, references;
} lh_referring;

typedef struct lh_description {
  uint32_t class_index; /* with this name */
  uint64_t objects;     /* reachable ones, which all other figures are about */
  uint64_t garbage_objects, garbage_bytes;
  uint64_t shallow_bytes, retained_bytes; /* of all together: no byte twice */
  lh_spread spreads[LH_MOST_SPREADS];     /* SHALLOW, RETAINED, ALONE, then what there is */
  uint32_t n_spreads;
  uint64_t contents, repeated_bytes; /* of strings: how many different ones; shallow bytes of those
                                        that are equal to another one, without the first of each */
  lh_field *fields;                  /* those with most bytes first */
  size_t n_fields;
  lh_referring *referrers; /* those with most references first */
  size_t n_referrers;
  uint64_t *epochs; /* how many are of each epoch, 0 to lh_mark_count - 1: the last is ended by the
                       snapshot's own mark */
  uint32_t n_epochs;
  lh_id biggest; /* that retains most */
} lh_description;

/* What the instances of a class are like: how many, how big, what is in them and who refers to
** them. On average one costs retained_bytes / objects; the median of ALONE is what one more costs.
** `name` as in lh_find: "array" means "array of Listener", too. Needs lh_classify. LH_ENOTFOUND:
** there is no such class, with the names that are near. Freed by lh_description_free.
** O(n log n + m). */
int lh_describe_class(lh_snapshot *snapshot, const char *name, lh_description *out,
                      lh_error *error);
void lh_description_free(lh_description *description);
const char *lh_measure_name(lh_measure measure); /* "shallow", "entries", ... */

/* What memory holds without need. No byte is in two kinds. */
typedef enum lh_waste_kind {
  LH_WASTE_EMPTIED, /* tables without an entry: all their slots */
  LH_WASTE_SLOTS,   /* tables with entries: the empty slots that Lua would not give them if they
                            were filled anew */
  LH_WASTE_SMALL_TABLES, /* tables with one entry or none, but no metatables, none with one, no
                            modules: what is left of them without the slots above */
  LH_WASTE_STRINGS,      /* strings with the content of another one */
  LH_WASTE_CLOSURES,     /* functions of the same code with the same upvalues as another one */
  LH_WASTE_USER_VALUES,  /* userdata with user values, all nil: the room for these */
  LH_WASTE_DEBUG,        /* what a program loaded from string.dump(f, true) has not: lines, local
                            variables, names that nothing else refers to */
  LH_WASTE_KINDS
} lh_waste_kind;

/* Objects of one class at one place; of LH_WASTE_DEBUG the prototypes of one source. */
typedef struct lh_waste_row {
  uint32_t class_index; /* of LH_WASTE_DEBUG UINT32_MAX */
  const char *held_by;  /* folded path, or the source, such as @app.lua */
  uint64_t objects;     /* tables; strings, functions: without those that they are equal to */
  uint64_t bytes;       /* that could be given back */
  uint64_t slots, used; /* of tables: all, and those with a value */
  uint64_t by_hash;     /* of the strings those that are equal by length and XXH64: the snapshot
                           does not keep all of their bytes */
  lh_id example;        /* the one with most bytes to give back */
  lh_id original;       /* what the example is equal to; else LH_NO_OBJECT */
} lh_waste_row;

typedef struct lh_waste_sum {
  uint64_t objects, bytes, by_hash; /* of all rows */
  uint64_t originals;               /* equal ones: how many different ones they are equal to */
  lh_waste_row *rows;               /* most bytes first */
  size_t n_rows;
} lh_waste_sum;

typedef struct lh_waste {
  uint64_t bytes; /* of all kinds but LH_WASTE_SMALL_TABLES: a program may need these */
  lh_waste_sum kinds[LH_WASTE_KINDS];
  uint64_t string_table_bytes; /* not in `bytes`: of Lua's table of short strings, what Lua takes
                                  off by itself, by halves, one at each collection */
  uint64_t block_bytes; /* not in `bytes`: of all userdata. What C code uses of them is not in
                                  a snapshot */
} lh_waste;

/* What of the reachable objects could be given back. A name that only debug information of several
** sources refers to counts with one of them. *out is freed by lh_waste_free. Needs lh_classify.
** O(n + m). */
int lh_find_waste(lh_snapshot *snapshot, lh_waste **out, lh_error *error);
void lh_waste_free(lh_waste *waste);
const char *lh_waste_kind_name(lh_waste_kind kind); /* "emptied_tables", "empty_slots", ... */

/* How a collection looks in a single snapshot. */
typedef enum lh_prospect {
  LH_FILLED_ONCE, /* in one go, or before the first mark, and nothing was added since */
  LH_MAY_GROW,    /* nothing speaks for that */
  LH_GROWS        /* it has elements of the youngest interval between marks, and of half or more of
                     those since the first mark */
} lh_prospect;

/* What the keys of a collection are, in nine cases of ten. */
typedef enum lh_keying {
  LH_KEYED_NOT,      /* a linked list, or objects that are linked otherwise */
  LH_KEYED_SEQUENCE, /* 1, 2, 3 ... without a gap */
  LH_KEYED_INTEGERS,
  LH_KEYED_TIMES, /* of this century up to a year after the snapshot, as seconds since 1970 */
  LH_KEYED_MILLISECONDS, /* or as milliseconds */
  LH_KEYED_NUMBERS,
  LH_KEYED_UUIDS,
  LH_KEYED_HEX,      /* of one length, 8 or more */
  LH_KEYED_NUMBERED, /* alike but for their digits: user:123 */
  LH_KEYED_TOKENS,   /* of one length, 8 or more, with digits or capitals inside */
  LH_KEYED_NAMES,    /* without digits and blanks */
  LH_KEYED_STRINGS,
  LH_KEYED_OBJECTS,
  LH_KEYED_MIXED
} lh_keying;

/* Tables at one path with many elements that are alike, and of one class in all of them; or linked
** objects of one class. From `elements` on all is about `id`, and so is the prospect. */
typedef struct lh_growing {
  bool is_list; /* linked objects, no tables */
  lh_prospect prospect;
  const char *held_by; /* folded path */
  uint64_t tables;     /* at that path; of linked objects how many lists; */
  uint64_t tables_filled_once;
  uint64_t entries;       /* in all of them, */
  uint64_t alike_entries; /* those that are alike */
  uint64_t bytes;         /* of all, with what their elements and keys retain, shared with others or
                             not, no byte twice; of _G and the like that of the alike ones alone */
  lh_id id; /* of those with the best prospect to grow the one with most bytes; of linked objects
               the one nearest to the root */
  uint64_t elements;
  const char *element; /* the class or type of most elements, as in lh_value_class */
  lh_type type;        /* LH_TYPE_ROOT: no objects */
  uint64_t alike;      /* how many are of that class or type; others are of other classes */
  bool are_keys;       /* the elements are the keys; the values are booleans, numbers or few */
  bool weak_keys, weak_values; /* so the table says; but what is weak are strings, numbers and the
                                  like, which never go */
  lh_keying keying;
  double least, greatest; /* keys that are numbers; times in seconds */
  lh_id example_key;      /* of keys that are strings; else LH_NO_OBJECT */
  bool exact;             /* its array part has just as many slots, as a constructor makes it */
  uint64_t aged;          /* elements that are objects: of these, */
  uint64_t since_first_mark;
  uint32_t epochs;                       /* different ones: how many, the oldest and */
  uint32_t oldest_epoch, youngest_epoch; /* youngest, all less than lh_mark_count */
  bool in_one_go;   /* next to nothing else that lives was allocated from the table to its youngest
                     element */
  double younger;   /* share of all reachable objects that are younger than the youngest */
  uint64_t content; /* private: the same for just the same elements */
  size_t same_as;   /* index of the first row with just the same elements; of most rows its own */
} lh_growing;

typedef struct lh_growings {
  lh_growing *list; /* those with most bytes first, but what was filled once last */
  size_t n;
  size_t n_filled_once; /* of them, the last */
} lh_growings;

/* What looks like a collection without a limit: tables with 16 entries or more of which nine tenths
** are alike, and linked lists and the like of so many objects; with a thousandth of the reachable
** bytes, and 1 KB. Weak tables count only where nothing ever goes from them. Alike are objects of
** one class, strings, numbers, booleans; under keys that are no names also tables of any class; in
** package.loaded modules under keys as of a generator. Tables that were filled once, such as a
** program's constants, are told apart by the age of their elements and by what a constructor
** leaves. Needs lh_classify. Freed by lh_growings_free. O(n log n + m). */
int lh_find_growing(lh_snapshot *snapshot, lh_growings *out, lh_error *error);
void lh_growings_free(lh_growings *growings);
const char *lh_prospect_name(lh_prospect prospect); /* "may grow", ... */
const char *lh_keying_name(lh_keying keying);       /* "sequence", "uuids", ... */

/* ==== 10. Growth over many snapshots ================================================ */

/* What any number of snapshots have, side by side, to see what grows. They may be of one Lua state
** or of several, also of different builds of a program: no object of one is looked for in another,
** all is compared by class and by folded path. A ladder keeps figures only, so the snapshots can be
** opened one after another. */
typedef struct lh_ladder lh_ladder;

/* An empty ladder, freed by lh_ladder_free. */
int lh_ladder_new(lh_ladder **out, lh_error *error);
void lh_ladder_free(lh_ladder *ladder);

/* Adds one more snapshot, which is analysed and classified and may be closed then. O(n + m); some
** 40 bytes are kept for each path, and 24 for each path in each snapshot. */
int lh_ladder_add(lh_ladder *ladder, lh_snapshot *snapshot, lh_error *error);

/* Are all its snapshots of one Lua state? If not, functions are told without their lines. */
bool lh_ladder_same_state(const lh_ladder *ladder);

/* What became of a row. A figure that goes up and down counts as going up if the way down is at
** most a tenth of the way up, and as going down if it is the other way round. */
typedef enum lh_verdict {
  LH_LEVEL,           /* never changed */
  LH_SHRINKS,         /* went down */
  LH_SAW_TOOTH,       /* went up and down */
  LH_GREW_ONCE,       /* went up, but not steadily: the program has warmed up */
  LH_GROWS_STEADILY,  /* went up in each third of the time after the first step (in each step, where
                         those are fewer than three; of three snapshots in the first step, too); or
                         in each of the last three steps */
  LH_NO_LONGER_GROWS, /* lh_ladder_halves: grew before, and after at most a tenth of that */
  LH_STILL_GROWS,     /* grew before, and after more than a tenth of that */
  LH_GROWS_NOW        /* grew after, and not before */
} lh_verdict;

typedef struct lh_figures {
  uint64_t objects, entries; /* of the row itself; entries of tables */
  uint64_t bytes;            /* with what they retain */
  uint64_t all_objects;      /* the same */
} lh_figures;

typedef struct lh_growth_row {
  const char *class_name; /* by path: of most of its objects in the last snapshot that has any */
  lh_type type;
  const char *held_by; /* folded path; NULL in a row by class */
  char fingerprint[LH_FINGERPRINT_BYTES];
  lh_verdict verdict;      /* of objects, entries and bytes the worst */
  const lh_figures *at;    /* in each snapshot */
  int64_t grew_bytes[2];   /* in the first step, and after it; of two snapshots: 0, and from one to
                               the other; of halves: before, and after */
  int64_t grew_objects[2]; /* the same of all_objects */
  double bytes_per_step;   /* of the second of these */
  double bytes_per_second;
} lh_growth_row;

typedef struct lh_growth {
  bool same_state; /* false: several processes or states, so lines of functions are left out */
  size_t n_snapshots;
  double *at_seconds;   /* each snapshot, since the first */
  double seconds;       /* from the second snapshot (of two the first) to the last; 0: not known */
  lh_figures *whole;    /* in each snapshot: all that is reachable */
  lh_figures *level;    /* of that, what is in no row by path */
  lh_growth_row *paths; /* worst verdict first, then by bytes a step. Their bytes and all_objects,
                           and `level`, add up to `whole` */
  size_t n_paths;
  lh_growth_row *classes; /* bytes are shallow here, and all_objects are objects */
  size_t n_classes;
  struct lh_growth_memory *memory; /* private */
} lh_growth;

/* The rows of a ladder of at least two snapshots that are not level. Of a path and what it retains
** there is one row, unless something below it goes up more steadily; then that has a row of its
** own. LH_EARGUMENT: those of one state are not in the order of time. Texts are borrowed from the
** ladder, which stays as it is. Freed by lh_growth_free. O(paths * snapshots). */
int lh_ladder_growth(const lh_ladder *ladder, lh_growth **out, lh_error *error);

/* The same where the first half of the snapshots was taken before a change of the program and the
** second half after it: what grew from the first to the last of each half, side by side, by the
** greater of the two. Of one snapshot before and one after: what became more and less. */
int lh_ladder_halves(const lh_ladder *ladder, lh_growth **out, lh_error *error);

/* Is it fixed? Rows by path count whose growth is at least a tenth of the greatest there is, before
** or after. NULL: there is none. */
typedef struct lh_answer {
  bool is_fixed; /* something no longer grows, nothing still does, and none of its class now */
  const lh_growth_row *no_longer; /* the greatest of each kind */
  const lh_growth_row *still;
  const lh_growth_row *now; /* but one of the class of no_longer first: it may have moved */
} lh_answer;

/* O(rows). */
void lh_answer_of(const lh_growth *growth, lh_answer *answer);

/* A part of the heap in the first and the last snapshot of a ladder: what is called so by its
** folded path, and all that only it keeps alive. Below the whole are the globals, the modules, the
** entries of the registry, the threads and the like: _G, package.loaded and the registry are no
** owners, but the whole. Below each are the parts that it consists of, with no byte twice. */
typedef struct lh_part {
  const char *held_by; /* folded path, borrowed from the ladder; "" for the whole and if shared */
  const char *path;    /* the same with [*] for any key that varies: so it is found again */
  const char *class_name; /* NULL for the whole and if shared */
  lh_type type;
  bool shared;                   /* what several parts of the one above keep alive together */
  size_t above;                  /* index of the part that it is a part of, smaller than its own */
  uint64_t objects[2], bytes[2]; /* with all parts below */
  uint64_t own_objects[2], own_bytes[2]; /* without */
} lh_part;

/* The tree of parts; the first is the whole. At each of both times the own figures of a part and
** the figures of the parts below it add up to its figures, exactly, and so do the differences. Free
** *parts with lh_free. O(paths). */
int lh_ladder_owners(const lh_ladder *ladder, lh_part **parts, size_t *n_parts, lh_error *error);

const char *lh_verdict_name(lh_verdict verdict); /* "grows steadily", "grew once", ... */
void lh_growth_free(lh_growth *growth);

/* ==== 11. A program that looks at itself (needs Lua) ================================== */

/* table[i] = the object ids[i - 1] of a snapshot of this very state (from wherever it was opened),
** for each that still is the same object, and nothing is set for the others: those that were freed
** or are condemned, wait for their finalizer, were given one since or were revived by one; upvalues
** and prototypes, which are no values; and what is luaheap's own. That their memory was used again
** deceives nobody: see lib/take/values.c.
**
** `ids` rise. The table at stack index `table`, counted from 1, has been made with at least n array
** slots, since nothing may be allocated here. Who asks for many in batches begins each with the
** last id of the batch before, and leaves that object in table[1]: then the pass goes on from
** there. Raises no Lua error, calls no metamethod. LH_ENOTFOUND: the snapshot is of another state,
** or lh_drop_mark took its mark away. Cost: a pass over the objects, 5 to 50 ns each, and less than
** one of heap.stats. */
int lh_push_values(lua_State *L, const lh_snapshot *snapshot, const lh_id *ids, size_t n, int table,
                   lh_error *error);

/* The object that the value at stack index `index`, counted from 1, is in a snapshot of this very
** state; LH_NO_OBJECT if there is none. Of a userdata it is known where its header is, so it is
** never taken for what lies behind it. What had its address before it was made is taken for it:
** lh_push_values tells. O(1). */
lh_id lh_find_value(lua_State *L, const lh_snapshot *snapshot, int index);

/* Takes away the mark of a snapshot that nothing will be compared with any more, by its serial
** (lh_info). From then on no report shows it, and its memory is left to the collector. Harmless
** where there is none, and as silent as lh_mark. O(marks). */
void lh_drop_mark(lua_State *L, uint32_t serial);

/* ==== 12. Files that are whole or not there ========================================= */

/* Writes bytes, such as a snapshot that lh_stream_snapshot gave, to a file as lh_take_snapshot
** would have done. O(size). */
int lh_save(const void *data, size_t size, const char *path, lh_error *error);

/* The same in steps: a file that has no name yet (or a temporary one), to be read and written by
** its descriptor. LH_EIO or LH_EMEMORY: *out is NULL. */
typedef struct lh_file lh_file;
int lh_create_file(lh_file **out, const char *path, lh_error *error);
int lh_file_descriptor(const lh_file *file);

/* Gives it its name, once. On failure an older file is as it was. */
int lh_complete_file(lh_file *file, lh_error *error);

/* Closes and frees it; what was not completed is gone. NULL is harmless. */
void lh_discard_file(lh_file *file);

#ifdef __cplusplus
}
#endif

#endif
