/*
** watch_hook.c - a debug hook that fires at the next safe point, and leaves no trace.
**
** All threads are armed: the running one may end or yield first, and a host in C may then resume
** any thread, or call Lua code in the main thread. A signal handler may call lua_sethook, as lua.c
** does. An armed thread stops at the first of
**
**     the next instruction of Lua code          (1 is left of the count)
**     the call or return of a C function        (where C code has called it)
**
** It stops at lines only if the program has a hook for lines: else Lua would call the program's
** hook for the line of the instruction at which ours fired. Threads made since, or whose hook the
** host just set over ours, are armed when the heap grows, and by a timer. A thread
** whose hook has yielded is skipped: when it is resumed, Lua forgets one event.
**
** The program's hook is put back before the snapshot is taken, and then called for its event too.
** Its counts are exact: what was left is put back, less the instruction at which our hook fired.
**
** The handler may interrupt the program's own lua_sethook, which writes the hook, the count, what
** is left of the count, then the mask. So each of these fields shows its owner:
**
**     hook     ours is on_hook
**     mask     ours has OUR_BIT, which means nothing to Lua
**     count    always the program's: ours fires by what is left, which is 1
**     left     1 is ours, unless neither hook nor mask are
**
** If the handler wrote its hook first, lua_sethook overwrites the rest, and the request waits for
** the next check of our allocation function. At worst Lua reaches the program's count one time
** early or late, by less than the count.
*/
#include <sys/syscall.h>
#include <unistd.h>

#include "watch.h"

enum { OUR_BIT = 0x40 };

static int32_t *left_of(const lh_watcher *w, lua_State *thread) {
  return (int32_t *)(void *)((char *)thread + w->layout.hook_count);
}

static void on_hook(lua_State *L, lua_Debug *event);

static bool has_our_hook(lua_State *thread) {
  return lua_gethook(thread) == on_hook && lua_gethookmask(thread) & OUR_BIT;
}

/* ==== Timers ======================================================================== */

/* While a signal's request waits, timers arm again, and report a long wait. The first is for a host
** that sets its own debug hook over ours each time before it calls Lua code, and whose code takes
** no memory. A tick during this code arms the thread. The clock is the thread's processor time, so
** no sleeping system call is disturbed; the kernel checks it each 1 to 10 ms. The second timer
** fires once, in real time, for a host that sleeps.
**
** The signal is SIGURG, whatever the watched one is: it is ignored by default, and a host's handler
** for it must expect any number of them. The timers are the kernel's, not libc's, because signal
** handlers make them. A child has none, but may have timers of its own with their numbers. */

enum { TICK, LATE, TIMERS };

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Sent with the signal: addresses that nothing else has. */
static const char marks[TIMERS];

static int make_timer(int which, clockid_t clock, const struct itimerspec *times) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
  int id;
  event.sigev_value.sival_ptr = (void *)(uintptr_t)&marks[which];
  event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
  if (syscall(SYS_timer_create, clock, &event, &id) < 0) return -1;
  if (syscall(SYS_timer_settime, id, 0, times, NULL) == 0) return id;
  (void)syscall(SYS_timer_delete, id);
  return -1;
}

static void begin_ticks(lh_watcher *w) {
  if (w->ticking || w->options.signal_number == 0) return;
  long step_ns =
      1000000 + 1000 * (long)lh_thread_set_slots(&w->threads); /* each tick arms all threads */
  struct timespec step = {step_ns / 1000000000, step_ns % 1000000000};
  struct timespec late = {LH_LATE_SECONDS, 0}, never = {0, 0};
  w->timers[TICK] = make_timer(TICK, CLOCK_THREAD_CPUTIME_ID, &(struct itimerspec){step, step});
  w->timers[LATE] = make_timer(LATE, CLOCK_MONOTONIC, &(struct itimerspec){never, late});
  w->ticking = getpid();
}

void lh_ticks_end(lh_watcher *w) {
  bool are_ours = w->ticking == getpid();
  w->ticking = 0;
  for (int i = 0; i < TIMERS && are_ours; i++)
    if (w->timers[i] >= 0) (void)syscall(SYS_timer_delete, w->timers[i]);
}

bool lh_is_tick(const siginfo_t *info, bool *late) {
  const char *mark = info->si_value.sival_ptr;
  *late = mark == &marks[LATE];
  return info->si_code == SI_TIMER && (*late || mark == &marks[TICK]);
}

/* ==== Arming ======================================================================== */

static lh_armed *find_armed(lh_watcher *w, const lua_State *thread) {
  for (size_t i = 0; i < w->n_armed; i++)
    if (w->armed[i].thread == thread) return &w->armed[i];
  return NULL;
}

/* NULL if too many are armed. */
static lh_armed *find_or_add(lh_watcher *w, lua_State *thread) {
  lh_armed *armed = find_armed(w, thread);
  if (armed) return armed;
  armed = find_armed(w, NULL); /* the slot of a thread that died */
  if (!armed && w->n_armed < LH_MOST_ARMED) armed = &w->armed[w->n_armed++];
  if (armed) *armed = (lh_armed){.thread = thread, .left = 1};
  return armed;
}

static void note_hook(const lh_watcher *w, lh_armed *armed) {
  lua_Hook hook = lua_gethook(armed->thread);
  int mask = lua_gethookmask(armed->thread);
  int left = *left_of(w, armed->thread);
  bool has_ours = hook == on_hook || mask & OUR_BIT;
  if (hook != on_hook) armed->hook = hook;
  if (!(mask & OUR_BIT)) armed->mask = mask;
  if (left != 1 || !has_ours) armed->left = left;
}

/* A thread is not armed twice: when the hook fires, Lua has begun the count anew, and a second
** signal would take that for the rest of the count. */
static void arm_thread(lh_watcher *w, lua_State *thread) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  bool is_being_made = !call;
  if (is_being_made || raw_call_is(&w->layout, call, RAW_CALL_HOOK_YIELDED) || has_our_hook(thread))
    return;
  int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT | OUR_BIT;
  if (lua_gethook(thread) || lua_gethookmask(thread)) {
    lh_armed *armed = find_or_add(w, thread);
    if (!armed) return;
    note_hook(w, armed);
    mask |= armed->mask & LUA_MASKLINE;
  } else {
    lh_armed *armed = find_armed(w, thread);
    if (armed) armed->thread = NULL; /* it has no hook any more */
    w->plain_armed = true;
  }
  lua_sethook(thread, on_hook, mask, lua_gethookcount(thread));
  *left_of(w, thread) = 1;
}

static bool may_arm(const lh_watcher *w) {
  bool is_asked = w->failed_bytes || atomic_load(&w->wanted);
  return w->on && !w->newborn && is_asked;
}

void lh_arm(lh_watcher *w) {
  sig_atomic_t busy = w->busy;
  if (!may_arm(w)) return;
  w->busy = 1;
  arm_thread(w, w->main_thread);
  size_t slot = 0;
  bool is_exact = lh_watch_is_installed(w); /* else we may have missed that a thread died */
  w->others_armed |= is_exact;
  lua_State *t = is_exact ? lh_thread_set_next(&w->threads, &slot) : NULL;
  for (; t; t = lh_thread_set_next(&w->threads, &slot)) arm_thread(w, t);
  if (atomic_load(&w->wanted)) {
    w->room_bytes = 0; /* if it is just being counted down, the check comes after 4 KiB */
    begin_ticks(w);
  }
  w->busy = busy;
}

/* Arms the main and the newest thread each time (hosts call these most), the others less often. */
void lh_arm_again(lh_watcher *w) {
  enum { SLOTS_FOR_A_GROWTH = 64 };
  if (w->patience == 0) {
    lh_arm(w);
    w->patience = lh_thread_set_slots(&w->threads) / SLOTS_FOR_A_GROWTH;
    return;
  }
  sig_atomic_t busy = w->busy;
  w->patience--;
  if (!may_arm(w)) return;
  w->busy = 1;
  arm_thread(w, w->main_thread);
  if (w->newest && lh_watch_is_installed(w)) arm_thread(w, w->newest);
  w->busy = busy;
}

/* ==== Disarming ===================================================================== */

/* Puts the program's hook back, if ours is still there. What is left of its count is from 1 to the
** count; it is anything else if lua_sethook was interrupted before it wrote the field. */
static void restore(lh_watcher *w, lh_armed *armed) {
  if (!armed->thread || lua_gethook(armed->thread) != on_hook) return;
  int count = lua_gethookcount(armed->thread);
  note_hook(w, armed);
  lua_sethook(armed->thread, armed->hook, armed->mask, count);
  bool is_counted = armed->mask & LUA_MASKCOUNT && armed->left > 0 && armed->left < count;
  if (is_counted) *left_of(w, armed->thread) = armed->left;
}

static void restore_plain(lua_State *thread) {
  if (lua_gethook(thread) == on_hook) lua_sethook(thread, NULL, 0, lua_gethookcount(thread));
}

static void restore_all_plain(const lh_watcher *w) {
  size_t slot = 0;
  restore_plain(w->main_thread);
  if (!w->others_armed) return;
  for (lua_State *t; (t = lh_thread_set_next(&w->threads, &slot)) != NULL;) restore_plain(t);
}

void lh_disarm(lh_watcher *w) {
  sig_atomic_t busy = w->busy;
  w->busy = 1;
  if (w->others_armed) lh_threads_renew(w);
  for (size_t i = 0; i < w->n_armed; i++) restore(w, &w->armed[i]);
  w->n_armed = 0;
  if (w->plain_armed) restore_all_plain(w);
  w->plain_armed = w->others_armed = false;
  w->patience = 0;
  w->busy = busy;
}

unsigned lh_end_wait(lh_watcher *w) {
  lh_disarm(w);
  lh_ticks_end(w);
  unsigned wanted = atomic_exchange(&w->wanted, 0);
  w->asked_ns = 0;
  w->told_late = false;
  if (w->failed_bytes) wanted |= LH_WANT_MEMORY;
  w->failed_bytes = 0;
  return wanted;
}

/* Counts an instruction for the program, too. True: its hook waits for this one. Lua may have been
** at the end of the count when the signal came: then our 1 is still there, or 0 was left. */
static bool count_down(const lh_watcher *w, lh_armed *armed) {
  int32_t *left = left_of(w, armed->thread);
  bool is_end = *left == 1 || --armed->left <= 0;
  if (is_end) armed->left = lua_gethookcount(armed->thread);
  *left = armed->left;
  return is_end;
}

static lua_Hook due_hook(const lh_watcher *w, lh_armed *armed, int event) {
  static const int masks[] = {[LUA_HOOKCALL] = LUA_MASKCALL,
                              [LUA_HOOKRET] = LUA_MASKRET,
                              [LUA_HOOKLINE] = LUA_MASKLINE,
                              [LUA_HOOKCOUNT] = LUA_MASKCOUNT,
                              [LUA_HOOKTAILCALL] = LUA_MASKCALL};
  bool is_due = event != LUA_HOOKCOUNT || count_down(w, armed);
  note_hook(w, armed);
  return is_due && armed->mask & masks[event] ? armed->hook : NULL;
}

/* The program may have kept our hook and set it again: then there is no request, or no watcher. */
static void on_hook(lua_State *L, lua_Debug *event) {
  int os_errno = errno;
  lh_watcher *w = lh_watchers_find(L);
  if (!w) return;
  w->busy = 1;
  lh_armed *armed = find_or_add(w, L);
  lua_Hook hook = armed ? due_hook(w, armed, event->event) : NULL;
  lh_watch_serve(w, L, lh_end_wait(w), w->options.background);
  w->busy = 0;
  lh_arm(w);
  errno = os_errno;
  if (hook) hook(L, event); /* last: it may raise an error or yield */
}

bool lh_hook_fits(lh_watcher *w) {
  enum { COUNT = 123456789 };
  lua_State *thread = w->own_thread;
  lua_sethook(thread, on_hook, OUR_BIT, COUNT);
  bool fits =
      *left_of(w, thread) == COUNT && lua_gethookcount(thread) == COUNT && has_our_hook(thread);
  lua_sethook(thread, NULL, 0, 0);
  return fits;
}
