/*
** luaheap_outside.h - snapshots from outside: of a running process that knows nothing of luaheap,
** or of a core file.
**
** The target's memory is mirrored at its own addresses in this process, and walked there as it is
** inside of a program (lib/outside/outside.h tells the parts). A process is stopped only as long as
** it must be, and goes on as if nothing had been: see lh_take_outside. Linux, 64 bit; the files are
** those that lh_take_snapshot writes, and tell that they were taken from outside.
**
**     lh_open_process(4711, &target, &error)
**     lh_find_states(target, &states, &n, &error)
**     lh_take_outside(target, requests, n, NULL, &error)
**     lh_target_free(target)
**
** One target at a time in a process, and no other threads meanwhile.
*/
#ifndef LUAHEAP_PUBLIC_OUTSIDE_H
#define LUAHEAP_PUBLIC_OUTSIDE_H

#include "luaheap_read.h"
#include "luaheap_take.h"

LH_API_BEGIN

/* ==== 1. Targets ==================================================================== */

typedef struct lh_target lh_target;

/* To be called first in main: runs the program again where its own memory would be in the way of a
** target's, with the layout of memory in which it is not. Returns where it need not or cannot. */
void lh_make_way(char **arguments);

/* After LH_EBUSY with os_errno EEXIST: this program's memory was where the target has some. Runs it
** again from the start, with other addresses: eight times at most, then it returns. */
void lh_make_way_again(char **arguments);

/* What a process waits for just now, in memory that it shares with its parent (MAP_SHARED, zero at
** first): a file of the target, or one that is written, whose server may never answer. Who waits
** may be beyond all signals then, so it is the parent that gives up, and leaves it. */
typedef struct lh_awaited {
  uint64_t n;         /* of such waits since the start */
  int64_t process_id; /* who waits: a child of the parent's, or of that one; 0: nobody */
  bool is_output;
  char path[256]; /* cut where it is long */
} lh_awaited;

/* Says it, from lh_await to lh_await_end; NULL is harmless. The library does for what it reads of a
** process, and writes of it, if lh_open_process is told of the page. */
void lh_await(lh_awaited *awaited, const char *path);
void lh_await_output(lh_awaited *awaited, const char *path);
void lh_await_end(lh_awaited *awaited);

/* In the parent, at times: how often in a row it was found in the same wait, without having been
** woken once. */
typedef struct lh_await_watch {
  uint64_t n, switches;
  unsigned times;
} lh_await_watch;
unsigned lh_await_look(lh_await_watch *watch, const lh_awaited *awaited);

/* A running process. Nothing is done to it yet. LH_EIO: there is none, or it must not be read; the
** message says what to do. LH_EHOST: it is no 64-bit process of this machine's kind. */
int lh_open_process(int64_t process_id, lh_target **target, lh_error *error);

/* The same, and says what is waited for. `awaited` is borrowed as long as there is the target. */
int lh_open_process_awaited(int64_t process_id, lh_awaited *awaited, lh_target **target,
                            lh_error *error);

/* The processes that a process, or one of its threads, has started and those that these started:
** the nearest first, and of these those with low numbers; this process is none. LH_OK too where
** there are none, or no such process. LH_EMEMORY. *ids is freed by lh_free. */
int lh_find_started(int64_t process_id, int64_t **ids, size_t *n, lh_error *error);

/* A core file, from the kernel or from gdb's gcore. LH_EFOREIGN, LH_EDAMAGED (it was cut),
** LH_EHOST (another machine's). */
int lh_open_core(const char *path, lh_target **target, lh_error *error);

void lh_target_free(lh_target *target); /* may be NULL */

typedef struct lh_target_info {
  bool is_core;
  uint64_t process_id;    /* as it sees itself */
  const char *program;    /* its command line, cut where a core cuts it; lives as long as target */
  const char *executable; /* path; "": not known */
  uint64_t private_bytes; /* writable and its own: what is mirrored, at the most */
  int signal;             /* of a core: that ended the process; 0: none, as in one that gdb made */
  uint64_t written_ns;    /* of a core: when, since 1970; its snapshots have this time */
  const char *doubt;      /* of a core: what it lacks, or this machine, and what is not known for
                             that; NULL: nothing */
} lh_target_info;
lh_target_info lh_describe_target(const lh_target *target);

/* ==== 2. States ===================================================================== */

/* A Lua state as it was found, by structure. */
typedef struct lh_found_state {
  uint64_t address;  /* of its main thread */
  uint64_t id;       /* the state_id of its snapshots (lh_info) */
  char release[16];  /* "5.4.4", or "5.4" where nothing tells */
  char script[256];  /* what it runs, as its program would say: arg[0], else the source of the
                        function that its main thread is in, or was loaded last; "": unknown */
  bool is_text;      /* the script has no name: this is its first line */
  uint64_t gc_bytes; /* collectgarbage("count") * 1024 */
  bool has_luaheap;  /* the module was loaded into it */
} lh_found_state;

/* Finds all 5.4 states of a target, by ascending address, without stopping it. LH_EHOST: there is
** none; the message names another Lua that is there, or says that no Lua is. *states is freed by
** lh_free_states. Cost: 0.2 to 0.4 s for each GB of writable memory. LH_EIO, too, after a minute
** and ten seconds for each GB: a target may forge what looks like states. */
int lh_find_states(lh_target *target, lh_found_state **states, size_t *n, lh_error *error);

/* From now on `show` is called while states are looked for, after each 64 MiB. */
void lh_show_search(lh_target *target, void (*show)(void *payload, uint64_t searched_bytes),
                    void *payload);
void lh_free_states(lh_found_state *states);

/* The collector's count of a state at this moment, read from the running process; nothing is
** stopped. LH_EHOST: it is closed, or was no state. */
int lh_outside_bytes(lh_target *target, uint64_t state, uint64_t *gc_bytes, lh_error *error);

/* ==== 3. Snapshots ================================================================== */

typedef struct lh_outside_request {
  uint64_t state;           /* lh_found_state.address */
  const char *path;         /* written as by lh_take_snapshot, mode 0600. NULL: only counted */
  const lh_snapshot *after; /* an older snapshot of this state, whose marks are carried over, and
                                   whose own mark gets its place by matching; NULL: none */
  /* Filled in: */
  lh_error failure; /* why none was taken; code LH_OK: it was */
  lh_taken taken;
  lh_taken own;              /* of that, luaheap's: marks, which are carried from file to file */
  lh_counts counts;          /* of a request without a path */
  int64_t unaccounted_bytes; /* that belong to no object: a parser or the like was at work */
  uint64_t passed_as_old;    /* at most so many objects newer than `after` pass as older */
  bool is_in_doubt;          /* Lua may have been amid a change: see lh_take_outside */
  bool has_panicked; /* of a core: an error that nothing had caught ended the program. What its
                                running functions alone held is garbage, or was freed, by then */
} lh_outside_request;

typedef struct lh_outside_options {
  uint64_t string_bytes;                          /* as in lh_take_options */
  bool never_fork;                                /* stop and copy, where it is not idle */
  void (*progress)(void *payload, size_t n_done); /* called after each request that is done; NULL */
  void *payload;
} lh_outside_options;

/* What the target saw of it. */
typedef struct lh_outside_told {
  lh_stillness stillness;
  bool was_in_system_call; /* where no Lua code can be amid a change */
  unsigned attempts;       /* 1: sound at first sight */
  uint64_t stopped_ns;     /* the longest time for which it was stopped at once */
  uint64_t copied_bytes;
  const char *no_fork; /* why none was tried, "a seccomp filter"; NULL: it was, or need not be */
  const char *silent_file; /* the first of the target's files that was asked for the names of C
                              functions and does not answer (its server is gone): from now on they
                              have no names. Of the target; NULL: none in this call */
} lh_outside_told;

/* Snapshots of states of the target, each of one instant; all of the same one, if told->attempts is
** 1. The target is not stopped at all if it is idle, else until its next system call (200 ms at
** most), where it forks a frozen copy of itself by one injected clone (x86-64, no seccomp filter),
** else for the time of a copy. What was forked or copied elsewhere, and the program of a core, runs
** on, in a child of this process, to where Lua is amid no change, all states one after the other
** (x86-64). A stop amid a change of a heap is recognised, since bytes do not add up, a key is not
** reached from its place, or lh_verify finds a fault, and its requests are tried again, at most 20
** times, and once more after a minute: then LH_EBUSY. What is found about the states before is
** looked at again, so a state that was closed meanwhile is LH_EHOST; so is one whose bytes do not
** add up although nobody changes it. Files are written after the target runs again.
**
** A state that cannot be read fails no other: each request has its own `failure`, and the first of
** these is returned. Whatever fails, those that were sound have their files, and objects in
** `taken`; the files of others are as they were.
**
** One doubt may be left, which the request tells: the program made no system call, and came to no
** such place either, in 8 tries. C code of one of several threads computes for long (of a program
** with one thread two tries prove that nothing changes), or it needs memory that it shares with
** others for that; or it is no x86-64. Of a core there is one try, and it may lack the files that
** its program is in; but one that was written for a fault of the program is not in doubt. What is
** accepted then has no fault that shows, but a table that was just growing may have values of
** another one.
**
** `options` and `told` may be NULL. */
int lh_take_outside(lh_target *target, lh_outside_request *requests, size_t n,
                    const lh_outside_options *options, lh_outside_told *told, lh_error *error);

LH_API_END

#endif
