/*
** outside.h - snapshots from outside: of another running process, or of a core file.
**
** The target need not know luaheap. Its memory is mirrored at the same addresses in this process,
** and read there as inside of a program (parts: lib/outside/outside.h). A process is stopped as
** briefly as possible, and runs on unchanged. Linux, 64 bit. The files are those of
** lh_take_snapshot, with a section that says how they were taken.
**
**     lh_open_process(4711, NULL, &target, &error)
**     lh_find_states(target, &states, &n, &error)
**     lh_take_outside(target, requests, n, NULL, &error)
**     lh_target_free(target)
**
** A process may have one target at a time, and no other threads meanwhile.
*/
#pragma once

#include "rooms/read.h"
#include "rooms/take.h"

/* ==== 1. Targets ==================================================================== */

typedef struct lh_target lh_target;

/* Call this first in main. If this program's memory may overlap a target's, executes the program
** again with another memory layout. Returns if that is not needed or impossible. */
void lh_reexec_elsewhere(char **arguments);

/* Call this after LH_EBUSY with os_errno EEXIST: memory of this program overlaps the target's.
** Executes the program again with other addresses, at most eight times; then returns. */
void lh_reexec_again(char **arguments);

/* The file that a process is waiting for: a file of the target or an output file, whose server may
** never answer. The struct is in memory shared with the parent (MAP_SHARED, zero at first). Signals
** may not reach the waiting process, so its parent gives up and abandons it. */
typedef struct lh_awaited {
  uint64_t n;         /* waits since the start */
  int64_t process_id; /* the waiting process, a child or grandchild of the parent; 0: none */
  bool is_output;
  char path[256]; /* cut if it is long */
} lh_awaited;

/* Record a wait, from lh_await to lh_await_end; `awaited` may be NULL. The library calls these for
** the files that it reads and writes for a target of lh_open_process. */
void lh_await(lh_awaited *awaited, const char *path);
void lh_await_output(lh_awaited *awaited, const char *path);
void lh_await_end(lh_awaited *awaited);

/* The parent calls this regularly. Returns how many times in a row the child was found in the same
** wait, without a wake-up between. */
typedef struct lh_await_watch {
  uint64_t n, switches;
  unsigned times;
} lh_await_watch;
unsigned lh_await_look(lh_await_watch *watch, const lh_awaited *awaited);

/* Opens a running process, without any effect on it. Records waits in `awaited`, which is borrowed
** until lh_target_free and may be NULL. LH_EIO: no such process, or no permission; the message says
** what to do. LH_EHOST: not a 64-bit process of this machine's kind. */
int lh_open_process(int64_t process_id, lh_awaited *awaited, lh_target **target, lh_error *error);

/* Finds the descendants of a process and its threads, without this process: the nearest first, then
** by number. LH_OK with none if there are none or no such process. *ids is freed by lh_free. */
int lh_find_started(int64_t process_id, int64_t **ids, size_t *n, lh_error *error);

/* Opens a core file, from the kernel or gdb's gcore. LH_EFOREIGN, LH_EDAMAGED (it was cut),
** LH_EHOST (of another kind of machine). */
int lh_open_core(const char *path, lh_target **target, lh_error *error);

void lh_target_free(lh_target *target); /* may be NULL */

typedef struct lh_target_info {
  bool is_core;
  uint64_t process_id;    /* as the process itself sees it */
  const char *program;    /* command line, maybe cut in a core; lives as long as the target */
  const char *executable; /* path; "": unknown */
  uint64_t private_bytes; /* writable private memory: mirrored at most */
  int signal;             /* of a core: the signal that ended the process; 0: none, as from gdb */
  uint64_t written_ns;    /* of a core: when, since 1970; also the time of its snapshots */
  const char *doubt;      /* of a core: what the core or this machine lacks, and what is unknown
                             for that reason; NULL: nothing */
} lh_target_info;
lh_target_info lh_describe_target(const lh_target *target);

/* ==== 2. States ===================================================================== */

/* A Lua state, recognised by its structure. */
typedef struct lh_found_state {
  uint64_t address;  /* of its main thread */
  uint64_t id;       /* the state_id of its snapshots (lh_info) */
  char release[16];  /* "5.4.4", or "5.4" or "5.5" if unknown */
  char script[256];  /* the script: arg[0], else the source of the main thread's function or of
                        the last loaded one; "": unknown */
  bool is_text;      /* `script` is the first line of a script without a name */
  uint64_t gc_bytes; /* collectgarbage("count") * 1024 */
  bool has_luaheap;  /* the luaheap module is loaded in it */
} lh_found_state;

/* Finds all states of Lua 5.4 and 5.5, by ascending address, without stopping the target. LH_EHOST:
** none; the message names another Lua that is there, or says that there is no Lua. LH_EIO also
** after a minute plus ten seconds for each GB, since a target may forge states. *states is the
** target's, until the next search. Cost: 0.2 to 0.4 s for each GB of writable memory. */
int lh_find_states(lh_target *target, const lh_found_state **states, size_t *n, lh_error *error);

/* Makes lh_find_states call `show` after each 64 MiB. */
void lh_show_search(lh_target *target, void (*show)(void *payload, uint64_t searched_bytes),
                    void *payload);

/* Reads the byte counts of n > 0 states from the running process, which is not stopped, into
** gc_bytes of these copies of what lh_find_states found. 0: the state is closed. LH_EHOST: all are
** closed; the message is about the last one. Cost: 0.01 ms for each state. */
int lh_outside_sizes(lh_target *target, lh_found_state *states, size_t n, lh_error *error);

/* ==== 3. Snapshots ================================================================== */

typedef struct lh_outside_request {
  uint64_t state;           /* lh_found_state.address */
  const char *path;         /* output, as of lh_take_snapshot, mode 0600; NULL: only count */
  const lh_snapshot *after; /* an older snapshot of this state. Its marks are copied, and its own
                               mark is placed by comparison; NULL: none */
  /* Results: */
  lh_error failure; /* LH_OK: the snapshot was taken */
  lh_taken taken;
  lh_taken own;              /* of `taken`: luaheap's objects, copied marks included */
  lh_counts counts;          /* if path is NULL */
  int64_t unaccounted_bytes; /* of no object: buffers of a running parser and the like */
  uint64_t possibly_newer;   /* at most this many objects newer than `after` count as older */
  bool is_in_doubt;          /* Lua may have been in the middle of a change: see lh_take_outside */
  bool has_panicked; /* of a core: an uncaught Lua error ended the program. What only its running
                        functions held is garbage, or was already freed */
} lh_outside_request;

typedef struct lh_outside_options {
  uint64_t string_bytes;                          /* as in lh_take_options */
  bool never_fork;                                /* stop and copy a process that is not idle */
  void (*progress)(void *payload, size_t n_done); /* called after each request; may be NULL */
  void *payload;
} lh_outside_options;

/* How the snapshots were taken. */
typedef struct lh_outside_result {
  lh_stillness stillness;
  bool was_in_system_call; /* then no Lua code can be in the middle of a change */
  unsigned attempts;       /* 1: consistent at the first try */
  uint64_t stopped_ns;     /* the longest single stop */
  uint64_t copied_bytes;
  const char *no_fork; /* why no fork was tried, "a seccomp filter"; NULL: tried or not needed */
  const char *silent_file; /* the target's first file that did not answer when C functions were
                              looked up (its server is gone): C functions have no names from then
                              on. Owned by the target; NULL: none in this call */
} lh_outside_result;

/* Takes snapshots of states of the target, each at one instant; all at the same instant if
** result->attempts is 1. Files are written after the target runs again.
**
** An idle target is not stopped. Any other target runs on to its next system call (at most 200 ms),
** and is stopped there. One injected clone forks a frozen copy of it (x86-64, no seccomp filter);
** without a fork it stays stopped for the time of a copy. A copy or fork made outside of a system
** call, and the program of a core, is run on in a child of this process until Lua is between two
** changes, one state after the other (x86-64).
**
** An inconsistent heap is recognised: bytes do not add up, a key is not reachable from its slot, or
** lh_verify finds a fault. Its requests are tried again, at most 20 times, and once more after a
** minute; then LH_EBUSY. Each try looks the states up again. LH_EHOST: a state was closed
** meanwhile, or its bytes do not add up although nothing changes it.
**
** Each request has its own `failure`; the function returns the first of them. A failed state does
** not affect the others: successful requests have their files and `taken`, and the older files of
** failed requests are unchanged.
**
** is_in_doubt: in 8 tries the program made no system call and reached no point between two changes.
** Then C code in one of several threads computes for long (with one thread two tries prove that
** nothing changes), or running on needs memory shared with other processes, or the machine is not
** x86-64. A core has one try, and may lack the files of its program; a core written after a fault
** of the program is not in doubt. A snapshot in doubt shows no fault, but a table that was just
** growing may have values of another table.
**
** `options` and `result` may be NULL. */
int lh_take_outside(lh_target *target, lh_outside_request *requests, size_t n,
                    const lh_outside_options *options, lh_outside_result *result, lh_error *error);
