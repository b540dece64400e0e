/* take.h - in a program that runs Lua: snapshots, marks, watchers, its own objects. */
#pragma once

#include <sys/types.h>

#include "rooms/read.h"

/* ==== 1. Snapshots and marks ======================================================== */

typedef struct lh_take_options {
  uint64_t string_bytes; /* kept of each string; 0: none, for heaps with secrets */
} lh_take_options;

/* What was written: all objects on the collector's lists. `bytes` includes the string table, and
** equals collectgarbage("count") * 1024. */
typedef struct lh_taken {
  uint64_t objects;
  uint64_t bytes;
  uint64_t external_bytes; /* texts of strings, not in `bytes` */
} lh_taken;

/* Takes the file's bytes in order, and returns how many it took; fewer than n ends the snapshot. It
** must not use the Lua state, which is being read. */
typedef size_t (*lh_writer)(const void *data, size_t n, void *payload);

/* lh_take_snapshot with options, which may be NULL, and the figures of what was written. */
int lh_take_file(lua_State *L, const char *path, const lh_take_options *options, lh_taken *taken,
                 lh_error *error);

/* The same into a callback. `name` names the mark. lh_save writes the collected bytes to a file. */
int lh_stream_snapshot(lua_State *L, const char *name, lh_writer writer, void *payload,
                       const lh_take_options *options, lh_taken *taken, lh_error *error);

/* Of a background snapshot (lh_start_snapshot). lh_job_done: has it ended, well or not? Never
** waits. lh_job_process: the child's id. lh_job_taken: what was written, after LH_OK of
** lh_job_wait. */
bool lh_job_done(lh_job *job);
int64_t lh_job_process(const lh_job *job);
lh_taken lh_job_taken(const lh_job *job);

/* Pushes a zeroed userdata of `bytes` that no report shows, for a binding that returns jobs.
** Returns its content; NULL: out of memory, and nothing is pushed. Runs no collector step, like
** lh_mark. lh_test_userdata returns the content of a value made with the same `tag` (an address of
** static data), whatever its metatable; NULL: any other value. */
void *lh_push_userdata(lua_State *L, const void *tag, size_t bytes, lh_error *error);
void *lh_test_userdata(lua_State *L, int index, const void *tag);

/* Leaves a mark named with the time in UTC, "2026-11-21 17:40:05", for periodic calls over months.
** At most 128 of these marks exist: one more drops every second of them, except the oldest and the
** newest, and sets *thinned (may be NULL). The caller then doubles the period, so 64 to 128 even
** steps cover the life of the process. Other marks stay. O(1), amortised for periodic marks. */
int lh_mark_period(lua_State *L, bool *thinned, lh_error *error);

/* ==== 2. What the heap holds at this moment ========================================= */

/* The collector's own figures. O(marks), so a program may ask every second and anywhere. Allocates
** nothing (but a longer stack if L has no free slot). LH_EARGUMENT: L is not attached. */
typedef struct lh_gc_stats {
  uint64_t bytes;         /* collectgarbage("count") * 1024 */
  int64_t debt_bytes;     /* allocated since the next step was due; negative: left until then */
  uint64_t table_strings; /* strings in Lua's table of short strings */
  uint64_t table_slots;   /* slots of that table, 8 bytes each */
  uint32_t marks;
  uint32_t newest_mark; /* its serial; 0: none */
  uint8_t gc_state;     /* 0 propagate to 8 pause, as in lh_info */
  bool gc_generational;
  bool gc_stopped; /* by the program; in finalizers of 5.4.0 to 5.4.3 always true */
} lh_gc_stats;

int lh_stats(lua_State *L, lh_gc_stats *stats, lh_error *error);

typedef struct lh_counts {
  lh_count all; /* on the collector's lists: luaheap's own objects, too */
  lh_count by_type[LH_TYPE_COUNT];
  lh_count dead;           /* of all: condemned by a running sweep */
  uint64_t external_bytes; /* texts of strings, in none of these and not in gc_stats.bytes */
} lh_counts;

/* An epoch: the objects allocated between two marks, dead or alive. The name has no NUL; it lives
** as long as the Lua state, or as this struct if the mark is periodic. */
typedef struct lh_epoch_count {
  lh_count allocated;
  const char *name; /* of the mark that begins it; NULL: before all marks */
  size_t name_length;
  uint64_t time_ns; /* of that mark */
  bool is_snapshot; /* left by a snapshot */
  char periodic_name[23];
} lh_epoch_count;

/* Counts all objects exactly, without a snapshot. Fills epochs[0] to epochs[marks], oldest first
** (lh_stats has the number of marks). If n_epochs is smaller, the first holds all that is older;
** n_epochs may be 0. Allocates and fails as lh_stats does. One pass over all objects: 0.15 to 0.45
** times a full collection; 30 to 200 ns an object. */
int lh_count_objects(lua_State *L, lh_counts *counts, lh_epoch_count *epochs, size_t n_epochs,
                     lh_error *error);

/* Counts the entries of all tables, dead ones too. Finds leaks without objects, such as numbers in
** a list. Allocates and fails as lh_stats does. One pass over all objects and slots of tables: 0.1
** to 0.4 times a full collection. */
int lh_count_entries(lua_State *L, uint64_t *entries, lh_error *error);

/* The exact shallow size of the value at stack index `index`, from 1; 0: not collectable. With the
** text of an external string.
** LH_EARGUMENT: any other index. O(1). */
int lh_sizeof(lua_State *L, int index, uint64_t *bytes, lh_error *error);

/* ==== 3. Snapshots that are taken by themselves ===================================== */

/* A watcher takes snapshots of its state with no change to the program. Each goes to a new file
** DIRECTORY/PROGRAM-PID-N.heap, N from 1 in each process; no file is replaced. A tag is added
** behind PROGRAM, and the first four digits of the state's id behind PID while several states of
** the process are watched.
**
** The watcher waits for a safe point, at most some ms while Lua code runs: the next Lua instruction
** of any coroutine, or the return of the running C function. Only a snapshot when memory runs out
** does not wait. A request that found no safe point is served when the state closes, unless another
** state has answered the same signal. */
typedef struct lh_watch_options lh_watch_options;
typedef struct lh_watch_report {
  const char *path;      /* "": about no file. The host has its own handler for the signal or
                            blocks it (reported once); or a request waited for 5 s (LH_EBUSY) */
  const lh_taken *taken; /* NULL: failed */
  const lh_error *error; /* NULL: written. LH_EBUSY: not taken, since four children are still
                            writing; or a child that nobody watches any more still writes the
                            file */
  const char *state;     /* its tag; else part of its id if several are watched; else "" */
  const char *before[2]; /* the third file that was written: the first two; else NULL */
  const lh_watch_options *options; /* a copy, without directory and program */
} lh_watch_report;

/* Called for each file, in the thread that runs the state; for a background file when its end was
** noticed, or by the child. It must not use the Lua state. */
typedef void (*lh_reporter)(const lh_watch_report *report, void *payload);

#define LH_DEFAULT_MAX_FILES 10u
#define LH_DEFAULT_AGAIN 1.5

struct lh_watch_options {
  const char *directory; /* NULL: the current directory */
  const char *program;   /* for the files' names; NULL: the name of the process */
  const char *tag;       /* added behind `program`; NULL: none */
  int signal_number;     /* take a file on this signal; 0: none */
  uint64_t at_bytes;     /* take a file when the collector's count, with the texts of external
                            strings, reaches this; 0: never */
  double again; /* then one each time the count has grown by this factor; 0: LH_DEFAULT_AGAIN */
  double every_seconds; /* take a file at this period; 0: none */
  uint32_t max_files;   /* by size and time together; 0: LH_DEFAULT_MAX_FILES */
  double mark_seconds;  /* period of lh_mark_period, doubled as needed; 0: no marks */
  bool at_exit;         /* take a file when the state closes or its thread calls exit(), before
                           the finalizers (but see lh_info.finalized_objects), and after the main
                           chunk has returned: its locals are gone */
  bool out_of_memory;   /* take a file when the state's allocation function first fails for good,
                           before Lua's error. Keeps 2 MiB in reserve */
  bool background;      /* use lh_start_snapshot, except at the end; at most four at once */
  bool falls_back; /* if no child can be made, use lh_take_snapshot; else that is reported once */
  const lh_take_options *take; /* NULL: the defaults */
  lh_reporter report;          /* may be NULL */
  bool report_is_signal_safe;  /* it may be called in a signal handler, and in a child, which has
                                  only the standard descriptors */
  const char *log;             /* for the report function, as report->options->log */
  void *payload;
};

/* Starts to watch L, which is attached; one watcher for each state. Copies `options` and all that
** it points to. Until lh_unwatch or lua_close, our allocation function stands in front of the
** state's, so this code must stay loaded until lua_close has returned. LH_EARGUMENT, LH_EIO (cannot
** write to the directory), LH_EMEMORY or LH_EHOST.
**
** The signal handler belongs to the process. While states are watched for the signal the handler
** requests a snapshot of each, in their threads, and calls the handler that was there before. At
** the end that handler is restored; but a default action that would end or stop the process is not,
** so a late signal is ignored. Until the safe point the threads have our debug hook, for which Lua
** needs 20 free stack slots; the program's own hook gets all its events and is restored. A timer of
** the running thread repeats a request by SIGURG, so SIGURG has a handler, too.
**
** Costs: 1 KB in the Lua heap that no report shows, and 2 to 3 ns for each block that Lua takes or
** frees: 3 to 6 % of a loop that only makes tables and strings. Sizes and times are checked after
** each 4 KiB of growth. A request visits all coroutines. */
int lh_watch(lua_State *L, const lh_watch_options *options, lh_error *error);

/* The file that L's watcher probably writes next, valid until the next call for L. NULL: not
** watched. */
const char *lh_watch_next_file(lua_State *L);

/* The name of a signal without SIG, "URG", or NULL; the number of a name, or 0. */
const char *lh_signal_name(int number);
int lh_signal_number(const char *name);

/* Stops, and drops pending requests. If the process had no handler of its own, the signal is
** ignored from now on. Harmless if L is not watched. */
void lh_unwatch(lua_State *L);

/* ==== 4. A program that looks at itself ============================================= */

/* Sets table[i] to the object ids[i - 1] of a snapshot of this very state, however it was opened.
** Only objects that still are the same are set. Not set are: freed and condemned objects; objects
** that wait for their finalizer, got one since, or were revived by one; upvalues and prototypes,
** which are no values; luaheap's own objects. Memory that was reused is recognised
** (lib/take/values.c).
**
** `ids` ascend. The table at stack index `table`, from 1, must have at least n array slots, since
** nothing is allocated here. A caller with batches begins each with the last id of the batch
** before, and leaves that object in table[1]: the pass then continues there. Raises no Lua error,
** calls no metamethod. LH_ENOTFOUND: a snapshot of another state, or lh_drop_mark has dropped its
** mark. One pass over the objects, 5 to 50 ns each; less than heap.stats. */
int lh_push_values(lua_State *L, const lh_snapshot *snapshot, const lh_id *ids, size_t n, int table,
                   lh_error *error);

/* Finds the object of the value at stack index `index`, from 1, in a snapshot of this state;
** LH_NO_OBJECT: none. A userdata is found by its header, never confused with an object behind it. A
** newer value at a reused address is taken for the old object; lh_push_values can tell. O(1). */
lh_id lh_find_value(lua_State *L, const lh_snapshot *snapshot, int index);

/* Drops the mark of a snapshot that needs no more comparison, by its serial (lh_info). No report
** shows the mark any more, and the collector frees it. Harmless if there is none. Runs no collector
** step, like lh_mark. O(marks). */
void lh_drop_mark(lua_State *L, uint32_t serial);

/* ==== 5. Files that are whole or not there ========================================== */

/* Writes bytes, as of lh_stream_snapshot, to a file as lh_take_snapshot does. O(size). */
int lh_save(const void *data, size_t size, const char *path, lh_error *error);

/* The same in steps: makes a file without a name (or with a temporary one), to be read and written
** by its descriptor. LH_EIO or LH_EMEMORY: *out is NULL. */
typedef struct lh_file lh_file;
int lh_create_file(lh_file **out, const char *path, lh_error *error);
int lh_file_descriptor(const lh_file *file);

/* The lh_writer of such a file: adds n bytes. Fewer than n: a write failed. Async-signal-safe. */
size_t lh_file_write(const void *data, size_t n, void *file);

/* Gives the file its name, once. On failure, or if a write failed, an older file is unchanged. */
int lh_complete_file(lh_file *file, lh_error *error);

/* Closes and frees the file; its content is lost unless it was completed. NULL is harmless. */
void lh_discard_file(lh_file *file);

/* ==== 6. Without harm to the host =================================================== */

struct iovec;

/* Calls writev once; SIGPIPE, SIGXFSZ and SIGTTOU neither end nor stop the process, whatever its
** handlers. Async-signal-safe, as is lh_move_descriptor_up. */
ssize_t lh_write_no_signal(int fd, const struct iovec *parts, int n);

/* Moves a new descriptor out of 0, 1 and 2, which it can get if the host has closed these: returns
** another number for the file, and closes the given one. -1 and errno on failure, and for -1. */
int lh_move_descriptor_up(int fd);

/* ==== 5. Where objects are allocated ================================================ */

/*     lh_attach(L)  lh_track(L)  ...  lh_take_snapshot(L, "a")   the sites are in the snapshot
**                   lh_track(L, file = "run.prof")  ...  lh_untrack(L)   -->  heapprof run.prof */

/* Where small blocks come from. The pool saves more time over malloc than recording costs, but only
** our allocation function can free its blocks. */
typedef enum lh_pool_use {
  LH_POOL_IF_STANDARD, /* if the state has the allocation function of luaL_newstate, and the
                          process no RLIMIT_AS */
  LH_POOL_NEVER,       /* the state's own function allocates each block */
  LH_POOL_ALWAYS       /* with any function; the caller guarantees that nobody restores it */
} lh_pool_use;

typedef struct lh_track_options {
  bool stacks;           /* the whole stack of each allocation, not only its site */
  uint64_t sample_bytes; /* record one in this many bytes, at random; 0: every allocation */
  const char *file;      /* a profile; NULL: none */
  bool aggregate;        /* the profile has counts, not events */
  bool live;             /* for heapprof --live-of */
  bool time;             /* calls and time of each function, by a hook */
  uint64_t exact_bytes;  /* collect after this many bytes, see below; 0: as Lua does */
  lh_pool_use pool;
  /* Called with one sentence and a copy of `log` if the end of the state or process completes the
  ** profile, but not all of it could be written. May be NULL. */
  void (*report)(const char *trouble, const char *log);
  const char *log; /* NULL: "" */
  bool brief;      /* no pool, and lh_untrack leaves nothing behind: see there */
} lh_track_options;

/* Starts to record where objects are allocated, in an attached state; older objects have no site.
** `options` may be NULL: only sites, of every allocation. May be called wherever Lua code could
** run, and again after lh_untrack. Until lua_close, our allocation function stands in front of the
** state's, so this code must stay loaded until lua_close has returned. If the state's function has
** no memory, neither has ours: Lua sees the same failure. A forked child records, but writes no
** profile.
**
** exact_bytes makes the collector generational, with a young collection each time that many bytes
** were allocated, so the death of short-lived objects is seen soon. Old objects are collected when
** the heap has grown, as usual. Generational mode may crash in 5.4.0, so there the collector keeps
** its mode and makes a step.
**
** LH_EARGUMENT: already tracked; or `time`, but the program has a hook. LH_EIO: the file.
** LH_EMEMORY, LH_EHOST.
**
** Run time with stacks of every allocation: at most 1.0 times that of the untracked program with
** the pool, 1.1 with the host's function; sampled 1.02. Memory: at most 1.1 times; and 1 KB in the
** Lua heap that no report shows. */
int lh_track(lua_State *L, const lh_track_options *options, lh_error *error);

/* Stops recording, and completes the profile. Objects keep what was recorded. Our allocation
** function is removed if no block allocated meanwhile lives; else it stays until lua_close and
** records nothing. With `brief` it is removed at once, and the record is forgotten: for a test,
** which allocates about 1.8 times as slowly meanwhile. Harmless if nothing is recorded. LH_EIO:
** stopped, but not all of the profile could be written. */
int lh_untrack(lua_State *L, lh_error *error);
