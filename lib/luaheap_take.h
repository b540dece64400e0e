/*
** luaheap_take.h - inside a program that runs Lua: snapshots of its heap, marks in it, watchers
** that take snapshots by themselves, and a program that looks at itself.
*/
#ifndef LUAHEAP_PUBLIC_TAKE_H
#define LUAHEAP_PUBLIC_TAKE_H

#include <sys/types.h>

#include "luaheap_read.h"

LH_API_BEGIN

/* ==== 1. Snapshots and marks ======================================================== */

/* Same type as in lua.h, so that readers need no Lua installed.
**
** The calls of this header may be made wherever Lua code could run: in coroutines, hooks, message
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
** SIGCHLD, and completes the file even if the host exits. As soon as it runs it closes all that the
** host has open but the standard descriptors; before Linux 5.9 when it ends, and only then does the
** peer of a connection hear that the host has closed that. On failure *job is NULL and no file was
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

/* ==== 2. What the heap holds at this moment ========================================= */

/* What the collector says of itself. Costs next to nothing, O(marks), and allocates nothing (but a
** longer stack where L has no free slot, see lua_checkstack), so it may be asked every second and
** in every place. Fails with LH_EARGUMENT where L was not attached. */
typedef struct lh_gc_stats {
  uint64_t bytes;         /* collectgarbage("count") * 1024 */
  int64_t debt_bytes;     /* allocated since the next step was due; negative: to go until then */
  uint64_t table_strings; /* how many are in Lua's table of short strings */
  uint64_t table_slots;   /* of 8 bytes each, in the same table */
  uint32_t marks;
  uint32_t newest_mark; /* its serial; 0: there was none */
  uint8_t gc_state;     /* 0 propagate ... 8 pause, as in lh_info */
  bool gc_generational;
  bool gc_stopped; /* by the program; in a finalizer of 5.4.0 to 5.4.3 always */
} lh_gc_stats;

int lh_stats(lua_State *L, lh_gc_stats *stats, lh_error *error);

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

/* The exact shallow size of the value at stack index `index`, counted from 1: 0 for what is not
** collectable. Any other index fails with LH_EARGUMENT. Cost: O(1). */
int lh_sizeof(lua_State *L, int index, uint64_t *bytes, lh_error *error);

/* ==== 3. Snapshots that are taken by themselves ===================================== */

/* A watcher takes snapshots of its state by itself, with no change to the program. Each goes to a
** file of its own, DIRECTORY/PROGRAM-PID-N.heap with N from 1 in each process; no older file is
** replaced. Behind the program stands the tag, if there is one, and behind the PID the first four
** digits of the state's id while several states of the process are watched.
**
** It waits for a safe point: the next instruction of Lua code, in whichever coroutine runs, or the
** return of the C function that runs; some ms at most, if Lua code runs. Only where memory runs out
** does it not wait. What found no safe point is taken when the state closes, unless another state
** has answered the same signal. */
typedef struct lh_watch_options lh_watch_options;
typedef struct lh_watch_report {
  const char *path;      /* "": not of a file. The host has set its own handler for the signal, or
                            blocks it, told once; what was asked for waited for 5 s (LH_EBUSY) */
  const lh_taken *taken; /* NULL: it failed */
  const lh_error *error; /* NULL: it was written. LH_EBUSY: not taken, since four children are still
                            writing; or still being written by a child that nobody watches now */
  const char *state;     /* its tag, or a part of its id where several are watched; "": neither */
  const lh_watch_options *options; /* what `options` pointed to, but for directory and program */
} lh_watch_report;

/* Is told of each file, in the thread that runs the state; of one that is written in the background
** when its end was noticed, or by the child itself. It must not use the Lua state. */
typedef void (*lh_reporter)(const lh_watch_report *report, void *payload);

#define LH_DEFAULT_MAX_FILES 10u
#define LH_DEFAULT_AGAIN 1.5

struct lh_watch_options {
  const char *directory; /* NULL: the current one */
  const char *program;   /* in the names of the files. NULL: the name of the process */
  const char *tag;       /* the same, behind it; NULL: none */
  int signal_number;     /* a file on this signal; 0: none */
  uint64_t at_bytes;     /* a file when the collector's count comes to this; 0: at no size */
  double again; /* a further file each time the count is this times as high; 0: LH_DEFAULT_AGAIN */
  double every_seconds; /* a file each time so many have passed; 0: not by time */
  uint32_t max_files;   /* by size and time together; 0: LH_DEFAULT_MAX_FILES */
  double mark_seconds;  /* lh_mark_period, doubled where it asks for that; 0: no marks */
  bool at_exit;         /* when the state is closed, or the thread that runs it calls exit();
                            before its finalizers, as far as lh_info.finalized_objects says */
  bool out_of_memory;   /* the first time that the state's allocation function fails for good,
                            before Lua raises its error. Keeps 2 MiB in reserve for it */
  bool background;      /* by lh_start_snapshot, but for those at the end; at most four at once */
  bool falls_back; /* where no child can be made, by lh_take_snapshot; else that is told once */
  const lh_take_options *take; /* NULL: the defaults */
  lh_reporter report;          /* may be NULL */
  bool report_is_signal_safe;  /* it may be called in a signal handler, and in a child, which has
                                  no descriptors but the standard ones */
  const char *log;             /* for the report function, in report->options */
  void *payload;
};

/* Starts to watch; needs lh_attach. What `options` points to is copied. Until lh_unwatch or
** lua_close the state's allocation function is one of ours in front of the one that was found, so
** this code must stay loaded until lua_close has returned. One watcher for each state. Fails with
** LH_EARGUMENT, LH_EIO (the directory cannot be written), LH_EMEMORY or LH_EHOST.
**
** The handler of the signal is the process's: it stays as long as one state is watched for that
** signal, asks for a snapshot of each of these, in their threads, and calls the handler that was
** there before. That is put back in the end; a default action that would end or stop the process is
** not: a signal that comes too late, as while the program ends, is ignored. On the way to the safe
** point the threads have a debug hook of ours, for which Lua needs 20 free slots of stack; the
** program's own hook gets all its events and is as before afterwards. What a signal has asked for
** is tried again by a timer of the running thread, which sends it SIGURG; so that has a handler,
** too.
**
** Costs: 1 KB in the Lua heap that no report shows, and 2 to 3 ns for each block that Lua takes or
** gives back: 3 to 6 % of a loop that does nothing but make tables and strings. Sizes and times are
** looked at while the heap grows, after each 4 KiB. A request costs a look at all coroutines. */
int lh_watch(lua_State *L, const lh_watch_options *options, lh_error *error);

/* The file that it would make next, as far as can be told; NULL: L is not watched. Until the next
** call about L. */
const char *lh_watch_next_file(lua_State *L);

/* The name of a signal without its SIG, "URG"; NULL: it has none. And the number of a name; 0. */
const char *lh_signal_name(int number);
int lh_signal_number(const char *name);

/* Stops; what was requested and not taken yet is forgotten. The signal is ignored from now on where
** the process had no handler of its own. Harmless if L is not watched. */
void lh_unwatch(lua_State *L);

/* ==== 4. A program that looks at itself ============================================= */

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

/* ==== 5. Files that are whole or not there ========================================== */

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

/* ==== 6. Without harm to the host =================================================== */

struct iovec;

/* As writev, once: SIGPIPE, SIGXFSZ and SIGTTOU neither end nor stop the process, whatever it does
** about these signals. Async-signal-safe, as the next one. */
ssize_t lh_write_unharmed(int fd, const struct iovec *parts, int n);

/* A new descriptor that may be 0, 1 or 2, where the host has closed these: returns the same file as
** another number, and closes the given one. -1 and errno on failure, and for -1. */
int lh_move_up(int fd);

LH_API_END

#endif
