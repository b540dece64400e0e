/*
** watch.h - a watcher takes snapshots of its Lua state by itself (lh_watch). Private to watch*.c.
**
**     watch.c          its life: options, start, stop, the state that closes, exit()
**     watch_alloc.c    our allocation function in front of the host's: sizes, times, no memory left
**     watch_threads.c  the set of the state's threads, which a signal handler may read
**     watch_signal.c   the list of all watchers, and the handler
**     watch_close.c    hears that the state closes before others do
**     watch_hook.c     arming: a debug hook that fires at the next safe point
**     watch_ticks.c    timers: arming again, and telling that it takes long
**     watch_take.c     taking: the names of files, background jobs, reports
**
** Something asks for a snapshot by a bit in `wanted`; all threads are armed; the hook of the one
** that comes to run fires, disarms and takes:
**
**     signal handler --.
**     size, time ------+--> wanted --> arm --> hook --> disarm --> snapshot
**     no memory -------'
**
** All of it happens in the thread that runs the state, and the handler only while `busy` is not
** set; so no field needs a lock. The few that a handler in another thread uses are atomic.
*/
#ifndef LUAHEAP_WATCH_H
#define LUAHEAP_WATCH_H

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "state.h"
#include "thread_set.h"

enum {
  LH_WANT_SNAPSHOT = 1,
  LH_WANT_MARK = 2,
  LH_WANT_MEMORY = 4,
  LH_WANT_SIGNALLED = 8, /* a snapshot, which a signal has asked all states for */
  LH_WANT_FILE = LH_WANT_SNAPSHOT | LH_WANT_MEMORY | LH_WANT_SIGNALLED
};

/* A thread with our hook in place of the program's, which is this one. Threads that had no hook
** need no record. */
typedef struct lh_armed {
  lua_State *thread; /* NULL: it died */
  lua_Hook hook;
  int mask, left;
} lh_armed;

enum { LH_MOST_ARMED = 256, LH_MOST_JOBS = 4, LH_STATE_RESERVE = 1024 };
enum { LH_LATE_SECONDS = 5 };

/* What is kept for the buffers of a snapshot (lh_out_open) until memory runs out. */
enum { LH_RESERVE_BYTES = 2 << 20 };

typedef struct lh_watcher {
  /* What our allocation function reads each time. */
  lua_Alloc alloc; /* the host's */
  void *alloc_data;
  void *volatile newborn;           /* block of a thread that Lua is about to fill in */
  size_t failed_bytes;              /* not 0: the last growth failed, and may be tried again */
  int64_t room_bytes;               /* growth until the next look at sizes and times */
  size_t thread_bytes, extra_bytes; /* of a thread's block, and in it before the thread */
  void *main_block;
  int64_t later_room_bytes; /* while there is a newborn */

  lh_layout layout;
  const char *global;
  lua_State *main_thread, *own_thread; /* own_thread: NULL when it is gone */
  const void *running_thread;          /* while own_thread stands in for it */
  const void *sentry, *sentry_older;   /* objects; of the last one that was made */
  uint64_t sentry_ns;                  /* when */
  bool closes;                         /* the state does, and nothing was taken yet */
  uint64_t n_finalized;                /* with `closes` */
  lh_watch_options options;
  lh_take_options take;
  bool on;        /* between lh_watch and lh_unwatch or the end of the state */
  bool installed; /* our allocation function is in place, or was hidden by another one */
  bool exited;    /* what is taken at the end was taken */
  bool forked;    /* this is a child of the process that has started the jobs */

  volatile sig_atomic_t busy; /* the handler must not arm */
  _Atomic unsigned wanted;
  atomic_bool forwarded;      /* a handler in another thread sent us the signal */
  _Atomic uint64_t signalled; /* the number of the last signal that asked */
  _Atomic pthread_t owner;
  _Atomic pid_t owner_id;
  lh_thread_set threads;

  size_t n_armed;
  bool plain_armed; /* some that had no hook are armed, too */
  lh_armed armed[LH_MOST_ARMED];
  size_t patience;   /* growths until all threads are armed again, if nothing has fired */
  lua_State *newest; /* the thread that was made last; NULL: it died */

  bool ticking; /* the timers are there */
  int timers[2];
  bool told_late;
  uint64_t asked_ns; /* when the heap first grew while something was wanted; 0: it did not */

  struct {
    void *block;
    size_t old_bytes;
  } failed;                      /* with failed_bytes */
  void *reserve, *state_reserve; /* of the process's memory, and LH_STATE_RESERVE of the state's */
  bool memory_taken;

  uint32_t n_files; /* by size and time */
  uint64_t at_bytes;
  uint64_t next_file_ns, next_mark_ns, next_check_ns, looked_ns;
  lh_job *jobs[LH_MOST_JOBS];
  bool told_cannot_fork;
  char state_id[5]; /* its first digits */
  char tag[64], log[PATH_MAX];
  char directory[PATH_MAX], program[NAME_MAX + 1], path[PATH_MAX + NAME_MAX + 128];
} lh_watcher;

/* {=== watch.c ======================================================================= */

/* exit() was called by the thread that runs the state: takes what is still to be taken. */
void lh_watch_exit(lh_watcher *watcher);

/* Pushes the watcher's userdata, of which these are the user values; false, and nothing pushed,
** when a program has taken it away. One stack slot. */
enum { LH_WATCHER_THREAD = 1, LH_WATCHER_SENTRY = 2, LH_WATCHER_VALUES = 2 };
bool lh_watch_push(lua_State *L);

/* The block of the main thread goes, the last of all. Frees the watcher. */
void lh_watch_end(lh_watcher *watcher);

/* }=================================================================================== */

/* {=== watch_alloc.c ================================================================= */

void lh_watch_install(lh_watcher *watcher);
void lh_watch_uninstall(lh_watcher *watcher);
bool lh_watch_is_installed(const lh_watcher *watcher); /* and its function is called first */

/* As lua_getallocf and lua_setallocf, but behind a watcher that is called first: it is to see what
** Lua asks for. lib/track has its function there. */
lua_Alloc lh_get_host_alloc(lua_State *L, void **data);
void lh_set_host_alloc(lua_State *L, lua_Alloc alloc, void *data);

/* Takes note of the thread that runs, and starts to look at sizes and times. */
void lh_watch_begin(lh_watcher *watcher);

/* Of a clock that stands still for some milliseconds and costs next to nothing. Async-signal-safe.
*/
uint64_t lh_watch_now_ns(void);

/* }=================================================================================== */

/* {=== watch_close.c ================================================================= */

/* Makes a new sentry if another object got its finalizer since. While Lua asks for memory, before
** it has any. */
void lh_renew_sentry(lh_watcher *watcher);

/* Is the value at index 1 the sentry? */
bool lh_is_sentry(lh_watcher *watcher, lua_State *L);

/* The state closes: what is taken now says so. */
void lh_begin_closing(lh_watcher *watcher);

/* }=================================================================================== */

/* {=== watch_threads.c =============================================================== */

/* All threads that exist now; later ones are added one by one. */
bool lh_threads_init(lh_watcher *watcher);

/* Lua has filled in `newborn`. */
void lh_threads_born(lh_watcher *watcher);

/* A block of a thread's size goes. */
void lh_threads_died(lh_watcher *watcher, const void *block);

/* The thread that runs, as far as it can be told from outside; NULL if not. */
const void *lh_threads_running(const lh_watcher *watcher);

/* Is this the block of a stack? */
bool lh_threads_has_stack(const lh_watcher *watcher, const void *block);

/* }=================================================================================== */

/* {=== watch_signal.c ================================================================ */

/* LH_OK, LH_EARGUMENT for a signal that nobody should catch, LH_EMEMORY. */
int lh_watchers_add(lh_watcher *watcher, lh_error *error);

/* Back from here no handler in any thread uses the watcher. */
void lh_watchers_remove(lh_watcher *watcher);

/* The watcher of L's state; NULL if none. */
lh_watcher *lh_watchers_find(lua_State *L);

/* Is our handler the one that the watcher's signal calls? */
bool lh_watchers_hear(const lh_watcher *watcher);

/* 1, 2, 3 ... in each process: for files. And the last that was given. */
uint64_t lh_watchers_number(void);
uint64_t lh_watchers_last_number(void);

/* How many watch now? */
unsigned lh_watchers_count(void);

/* The last signal that has asked the watcher is answered; and has another watcher done so? */
void lh_watchers_answer(const lh_watcher *watcher);
bool lh_watchers_answered(const lh_watcher *watcher);

/* "URG", or the number. */
typedef struct lh_signal_text {
  char text[12];
} lh_signal_text;
lh_signal_text lh_text_of_signal(int number);

/* }=================================================================================== */

/* {=== watch_hook.c ================================================================== */

/* All do nothing where there is nothing to do. */
void lh_arm(lh_watcher *watcher);
void lh_disarm(lh_watcher *watcher);

/* After a growth of the heap, while nothing has fired. */
void lh_arm_again(lh_watcher *watcher);

/* Disarms, and returns what is to be taken now: LH_WANT_*. */
unsigned lh_end_wait(lh_watcher *watcher);

/* Does our hook work with this Lua? */
bool lh_hook_fits(lh_watcher *watcher);

/* }=================================================================================== */

/* {=== watch_ticks.c ================================================================= */

/* In the thread that runs the state; nothing where there are timers already, or no signal to watch
** for. Async-signal-safe, both. */
void lh_ticks_begin(lh_watcher *watcher);
void lh_ticks_end(lh_watcher *watcher);

/* Is the signal a tick, perhaps a last one of timers that are gone? *late: it says that the wait is
** long. */
bool lh_is_tick(const siginfo_t *info, bool *late);

/* }=================================================================================== */

/* {=== watch_take.c ================================================================== */

/* Takes what is wanted, with L: the running thread, or our own in its place. */
void lh_watch_serve(lh_watcher *watcher, lua_State *L, unsigned wanted, bool background);

/* Reports the background snapshots that have ended. */
void lh_watch_reap(lh_watcher *watcher);

/* Reports those that have not, and forgets all. */
void lh_watch_leave_jobs(lh_watcher *watcher);

/* Reports that the signal does not come through: the host blocks it, or has a handler of its own
** for it. */
void lh_watch_tell_unheard(lh_watcher *watcher, bool is_blocked);

/* Reports, once, that what is wanted waits for a safe point; in a signal handler, too, if the
** host's report function may be called there. */
void lh_watch_tell_late(lh_watcher *watcher, bool in_handler);

/* Gives back what is kept for the moment when memory runs out. */
void lh_watch_free_reserve(lh_watcher *watcher);

/* }=================================================================================== */

#endif
