/*
** watch_ticks.c - timers that arm again while a signal's request waits, and report a long wait.
**
** The first timer is for a host that sets its own debug hook over ours each time before it calls
** Lua code, and whose code takes no memory. A tick during this code arms the thread. The clock is
** the thread's processor time, so no sleeping system call is disturbed; the kernel checks it each 1
** to 10 ms. The second timer fires once, in real time, for a host that sleeps.
**
** The signal is SIGURG, whatever the watched one is: it is ignored by default, and a host's handler
** for it must expect any number of them. The timers are the kernel's, not libc's, because signal
** handlers make them. A forked child has none.
*/
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "watch.h"

enum { TICK, LATE, TIMERS };

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Sent with the signal: addresses that nothing else has. */
static const char marks[TIMERS];

/* Returns the timer's id, or -1. */
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
      1000000 + 1000 * (long)lh_thread_set_slots(&w->threads); /* each tick arms all threads */
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
