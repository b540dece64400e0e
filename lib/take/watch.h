/*
** watch.h - a watcher takes snapshots of its Lua state on its own (lh_watch). Private to watch*.c.
**
**     watch.c          options, start, stop, the end of the state, exit()
**     watch_alloc.c    our allocator in front of the host's: threads, sizes, times, memory
**     watch_signal.c   the list of all watchers, and the handler
**     watch_close.c    learns early that the state is closing
**     watch_hook.c     arming: a debug hook that fires at the next safe point; timers
**     watch_take.c     taking: names of files, background jobs, reports
**
** A request sets a bit in `wanted`, and all threads are armed. In the first thread that runs, the
** hook fires, disarms and takes:
**
**     signal handler --.
**     size, time ------+--> wanted --> arm --> hook --> disarm --> snapshot
**     no memory -------'
**
** All of this happens in the OS thread that runs the state, and the handler arms only while `busy`
** is 0. So no field needs a lock. The few that a handler in another thread uses are atomic.
*/
#pragma once

#include <limits.h>
#include <pthread.h>
#include <signal.h>

#include "quiet_io.h"
#include "state.h"
#include "thread_set.h"

enum {
  LH_WANT_SNAPSHOT = 1,
  LH_WANT_MARK = 2,
  LH_WANT_MEMORY = 4,
  LH_WANT_SIGNALLED = 8, /* a snapshot that a signal asked of all states */
  LH_WANT_FILE = LH_WANT_SNAPSHOT | LH_WANT_MEMORY | LH_WANT_SIGNALLED
};

/* A thread with our hook, and the hook that ours replaced. A thread without one needs no record. */
typedef struct lh_armed {
  lua_State *thread; /* NULL: it died */
  lua_Hook hook;
  int mask, left;
} lh_armed;

enum { LH_MOST_ARMED = 256, LH_MOST_JOBS = 4, LH_STATE_RESERVE = 1024 };
enum { LH_LATE_SECONDS = 5 };

/* Reserved for the buffers of a snapshot (lh_out_open) when memory runs out. */
enum { LH_RESERVE_BYTES = 2 << 20 };

typedef struct lh_watcher {
  /* Read at each call of our allocation function. */
  lua_Alloc alloc; /* the host's */
  void *alloc_data;
  void *volatile newborn;           /* block of a thread that Lua is about to fill in */
  size_t failed_bytes;              /* not 0: the last growth failed, and may be tried again */
  int64_t room_bytes;               /* growth until the next check of sizes and times */
  int64_t held_bytes;               /* in 5.5: an estimate of the heap, uncounted texts included */
  size_t thread_bytes, extra_bytes; /* of a thread's block, and in front of the thread in it */
  const void *main_block;
  int64_t later_room_bytes; /* room_bytes, while there is a newborn */

  lh_layout layout;
  const char *global;
  lua_State *main_thread, *own_thread; /* own_thread: NULL once freed */
  const void *running_thread;          /* while own_thread stands in for it */
  const void *sentry, *sentry_older;   /* the two objects of the newest sentry */
  uint64_t sentry_ns;                  /* when it was made */
  bool closes;          /* the state is closing, and its last snapshot is still to be taken */
  uint64_t n_finalized; /* with `closes` */
  lh_watch_options options;
  lh_take_options take;
  bool on;        /* between lh_watch and lh_unwatch or the end of the state */
  bool installed; /* our allocation function is in place, or behind another one */
  bool exited;    /* the snapshot at the end was taken */
  bool forked;    /* this process is a child of the one that started the jobs */

  volatile sig_atomic_t busy; /* the handler must not arm */
  _Atomic unsigned wanted;
  atomic_bool forwarded;      /* a handler in another thread sent us the signal */
  _Atomic uint64_t signalled; /* number of the last signal that asked */
  _Atomic pthread_t owner;
  _Atomic pid_t owner_id;
  sigset_t usual_mask; /* of the owner, when it last asked for memory */
  lh_thread_set threads;

  size_t n_armed;
  bool plain_armed;  /* threads that had no hook are armed too */
  bool others_armed; /* not only the main thread */
  lh_armed armed[LH_MOST_ARMED];
  size_t patience;   /* growths until all threads are armed again, if no hook fires */
  lua_State *newest; /* the thread that was made last; NULL: it died */

  pid_t ticking; /* the process that has the timers; 0: there are none */
  int timers[2];
  bool told_late;
  uint64_t asked_ns; /* first growth of the heap during a request; 0: none */

  struct {
    void *block;
    size_t old_bytes;
  } failed;                      /* with failed_bytes */
  void *reserve, *state_reserve; /* of the process's memory; LH_STATE_RESERVE of the state's */
  bool memory_taken;

  uint32_t n_files; /* snapshots by size and time */
  uint64_t at_bytes;
  uint64_t next_file_ns, next_mark_ns, next_check_ns, looked_ns;
  lh_job *jobs[LH_MOST_JOBS];
  bool told_cannot_fork;
  char state_id[5]; /* first digits of the id */
  char tag[64], log[PATH_MAX];
  char directory[PATH_MAX], program[NAME_MAX + 1], path[PATH_MAX + NAME_MAX + 128];
  char written[2][PATH_MAX + NAME_MAX + 128]; /* the first files */
  unsigned n_written;                         /* 3: the third one was told, or more */
} lh_watcher;

/* ==== watch.c ===================================================================== */

/* The watcher of the state, also a stopped one; NULL: none. */
lh_watcher *lh_watcher_of(lua_State *L);

/* The thread that runs the state called exit(): takes the snapshot at the end. */
void lh_watch_exit(lh_watcher *watcher);

/* Pushes the watcher's userdata (one stack slot), with these user values; false: not there. */
enum { LH_WATCHER_THREAD = 1, LH_WATCHER_SENTRY = 2, LH_WATCHER_VALUES = 2 };
bool lh_watch_push(lua_State *L);

/* Frees the watcher, when the main thread's block is freed, the last of all. */
void lh_watch_end(lh_watcher *watcher);

/* ==== watch_alloc.c =============================================================== */

void lh_watch_install(lh_watcher *watcher);
void lh_watch_uninstall(lh_watcher *watcher);

/* The state closes: so that we see the main thread's block freed. What has kept our function and
** its data, C code or a string of 5.5, may call it until then. If another function is in front, the
** watcher is never freed. */
void lh_watch_install_again(lh_watcher *watcher);
bool lh_watch_is_installed(const lh_watcher *watcher); /* and its function is called first */

/* As lua_getallocf and lua_setallocf, but behind a watcher's function, which must see Lua's
** requests. lib/track has its function there. A stopped watcher passes calls on to the new one. */
lua_Alloc lh_get_host_alloc(lua_State *L, void **data);
void lh_set_host_alloc(lua_State *L, lua_Alloc alloc, void *data);

/* In 5.5 an external string keeps the allocation function, and its data, of the moment when it was
** made, to free its text. Gives the strings that keep the data `of`, ours, another function, which
** must be able to free these texts. O(objects); nothing in 5.4. */
void lh_hand_over_texts(const lh_layout *layout, const char *global, void *of, lua_Alloc alloc,
                        void *data);
void lh_watch_begin(lh_watcher *watcher);

/* Forgets threads that died while the host's function stood in the place of ours, or in front of
** it: then O(objects), else O(1). Not in a signal handler. */
void lh_threads_renew(lh_watcher *watcher);

/* The running thread, as far as this is visible from outside; NULL: unknown. */
const void *lh_threads_running(lh_watcher *watcher);

/* A coarse clock: exact to some milliseconds, almost free. Async-signal-safe. */
uint64_t lh_watch_now_ns(void);

/* ==== watch_close.c =============================================================== */

/* Makes a new sentry if another object got its finalizer since; called before Lua gets memory. */
void lh_renew_sentry(lh_watcher *watcher);
bool lh_is_sentry(lh_watcher *watcher, lua_State *L);

/* The state is closing: the next snapshot says so. */
void lh_begin_closing(lh_watcher *watcher);

/* ==== watch_signal.c ============================================================== */

/* LH_OK, LH_EARGUMENT for a signal that must not be caught, LH_EMEMORY. */
int lh_watchers_add(lh_watcher *watcher, lh_error *error);

/* On return no handler in any thread uses the watcher any more. */
void lh_watchers_remove(lh_watcher *watcher);
lh_watcher *lh_watchers_find(lua_State *L);
bool lh_watchers_hear(const lh_watcher *watcher);

/* The next number for a file (1, 2, 3 ... in each process), and the last one given. */
uint64_t lh_watchers_number(void);
uint64_t lh_watchers_last_number(void);

unsigned lh_watchers_count(void);

/* Notes that the watcher's last signal is answered; asks whether any watcher has answered it. */
void lh_watchers_answer(const lh_watcher *watcher);
bool lh_watchers_answered(const lh_watcher *watcher);

/* "URG", or the number. */
typedef struct lh_signal_text {
  char text[12];
} lh_signal_text;
lh_signal_text lh_text_of_signal(int number);

/* ==== watch_hook.c ================================================================ */

/* Both do nothing if there is nothing to do. */
void lh_arm(lh_watcher *watcher);
void lh_disarm(lh_watcher *watcher);

/* Arms again after a growth of the heap, while no hook has fired. */
void lh_arm_again(lh_watcher *watcher);

/* Disarms, and returns the requests to serve now: LH_WANT_*. */
unsigned lh_end_wait(lh_watcher *watcher);

bool lh_hook_fits(lh_watcher *watcher);

/* Deletes the timers. Only in the thread that runs the state; async-signal-safe. */
void lh_ticks_end(lh_watcher *watcher);

/* Is the signal a tick, perhaps from timers that are deleted already? *late: the wait is long. */
bool lh_is_tick(const siginfo_t *info, bool *late);

/* ==== watch_take.c ================================================================ */

/* Serves the requests in `wanted` with L: the running thread, or our own in its place. */
void lh_watch_serve(lh_watcher *watcher, lua_State *L, unsigned wanted, bool background);
void lh_watch_reap(lh_watcher *watcher);

/* Reports all background snapshots, ended or not, and forgets the jobs. */
void lh_watch_leave_jobs(lh_watcher *watcher);

/* Reports that the signal does not arrive: the host blocks it, or has its own handler. */
void lh_watch_report_unheard(lh_watcher *watcher, bool is_blocked);

/* Reports, once, that a request waits for a safe point. In a signal handler it does so only if the
** host's report function may be called there. */
void lh_watch_report_late(lh_watcher *watcher, bool in_handler);

/* Reports that exit() came from a signal handler, so that there is no snapshot at the end. */
void lh_watch_report_handler(lh_watcher *watcher);

void lh_watch_free_reserve(lh_watcher *watcher);
