/*
** watch_ticks.c - what a signal has asked for, and has found no safe point, is tried again while
** the thread that runs the state uses the processor, and told of when it has to wait long.
**
** Only one kind of host needs the first: one that sets a debug hook of its own over ours each time
** before it calls Lua code, and whose code takes no memory. A tick that comes while such code runs
** arms it. The clock is the processor time of the thread, so that no system call in which the host
** sleeps is disturbed; the kernel looks at it at its own ticks, each 1 to 10 ms. The second timer
** goes once, by the clock on the wall, for a host that sleeps.
**
** The signal is SIGURG, whatever the watched one is: by default it is ignored, and a handler of the
** host's for it must reckon with any number of them. The timers are the kernel's, not libc's, since
** they are made in signal handlers; a forked child has none.
*/
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "watch.h"

enum { TICK, LATE, TIMERS };

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* What comes with the signal: addresses that nothing else has. */
static const char marks[TIMERS];

/* Its id, or -1. */
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

void lh_ticks_begin(lh_watcher *w) {
  if (w->ticking || w->options.signal_number == 0) return;
  long step_ns =
      1000000 + 1000 * (long)lh_thread_set_room(&w->threads); /* each tick looks at all threads */
  struct timespec step = {step_ns / 1000000000, step_ns % 1000000000};
  struct timespec late = {LH_LATE_SECONDS, 0}, never = {0, 0};
  w->timers[TICK] = make_timer(TICK, CLOCK_THREAD_CPUTIME_ID, &(struct itimerspec){step, step});
  w->timers[LATE] = make_timer(LATE, CLOCK_MONOTONIC, &(struct itimerspec){never, late});
  w->ticking = true;
}

void lh_ticks_end(lh_watcher *w) {
  if (!w->ticking) return;
  w->ticking = false;
  for (int i = 0; i < TIMERS; i++) {
    if (w->timers[i] >= 0) (void)syscall(SYS_timer_delete, w->timers[i]);
  }
}

bool lh_is_tick(const siginfo_t *info, bool *late) {
  const char *mark = info->si_value.sival_ptr;
  *late = mark == &marks[LATE];
  return info->si_code == SI_TIMER && (*late || mark == &marks[TICK]);
}
