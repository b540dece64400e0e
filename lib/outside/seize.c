/*
** seize.c - traces threads, without waiting for ever.
**
** A thread that starts another program (exec) keeps the others of its process from being traced
** until they have all ended; and those that are traced have not ended before they were waited for.
** So who traces one after the other may wait for a thread that waits for him. A timer's signal
** interrupts that: in its handler threads that have ended are waited for, and the kernel goes on.
** Nothing else of this process is touched, and what it does with that signal is as before in the
** end.
*/
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stop.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A traced thread that has stopped is told of by the kernel, too, though nobody asks for it; and
** not again. So what there is to be told is looked at first. */
static void take_away(pid_t thread) {
  siginfo_t change = {0};
  const int changes = WEXITED | WNOHANG | __WALL;
  bool has_ended = waitid(P_PID, (id_t)thread, &change, changes | WNOWAIT) == 0 &&
                   (change.si_code == CLD_EXITED || change.si_code == CLD_KILLED ||
                    change.si_code == CLD_DUMPED);
  if (has_ended) (void)waitid(P_PID, (id_t)thread, &change, changes);
}

static void wait_for_ended(int signal_number, siginfo_t *info, void *context) {
  (void)signal_number, (void)context;
  int os_errno = errno;
  const lh_stop *stop = info->si_value.sival_ptr;
  for (size_t i = 0; info->si_code == SI_TIMER && i < stop->n; i++) {
    if (!stop->threads[i].is_child) take_away(stop->threads[i].id);
  }
  errno = os_errno;
}

static bool start_timer(lh_stop *stop, int signal_number, timer_t *timer) {
  enum { INTERVAL_NS = 2000000 };
  const struct itimerspec each = {{.tv_nsec = INTERVAL_NS}, {.tv_nsec = INTERVAL_NS}};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number};
  event.sigev_value.sival_ptr = stop;
  event.sigev_notify_thread_id = gettid();
  return timer_create(CLOCK_MONOTONIC, &event, timer) == 0 &&
         timer_settime(*timer, 0, &each, NULL) == 0;
}

/* Up to Linux 6.12 a signal of a timer that is no more comes nevertheless, and would end this
** process. One of somebody else comes again. */
static void forget_signals(int signal_number, const sigset_t *timers) {
  siginfo_t info;
  bool is_of_others = false;
  while (sigtimedwait(timers, &info, &(struct timespec){0}) > 0)
    is_of_others |= info.si_code != SI_TIMER;
  if (is_of_others) (void)raise(signal_number);
}

int lh_seize(lh_stop *stop, pid_t thread) {
  const int signal_number = SIGRTMAX;
  const struct sigaction action = {.sa_sigaction = wait_for_ended,
                                   .sa_flags = SA_SIGINFO | SA_RESTART};
  struct sigaction before;
  sigset_t timers;
  timer_t timer;
  (void)sigemptyset(&timers);
  (void)sigaddset(&timers, signal_number);
  (void)sigaction(signal_number, &action, &before);
  int os_errno = EAGAIN;
  if (start_timer(stop, signal_number, &timer)) {
    (void)pthread_sigmask(SIG_UNBLOCK, &timers, NULL);
    os_errno = ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD) == 0 ? 0 : errno;
    (void)pthread_sigmask(SIG_BLOCK, &timers, NULL);
    (void)timer_delete(timer);
    forget_signals(signal_number, &timers);
  }
  (void)sigaction(signal_number, &before, NULL);
  return os_errno;
}
