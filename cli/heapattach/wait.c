/*
** wait.c - waits for the next round of a series.
**
** The wait ends at once when the process ends (pidfd), or at Control-C, SIGTERM or SIGHUP; a round
** in progress is completed. A second signal ends this program.
*/
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "heapattach/heapattach.h"

static volatile sig_atomic_t is_left;

static const int endings[] = {SIGINT, SIGTERM, SIGHUP};

static void stop_waiting(int number) {
  (void)number;
  is_left = 1;
}

/* A signal that is ignored, as under nohup, stays ignored. */
void wait_begin(waiter *w, uint64_t process_id) {
  struct sigaction action = {.sa_handler = stop_waiting,
                             .sa_flags = SA_RESTART | (int)SA_RESETHAND};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    struct sigaction before;
    sigaction(endings[i], NULL, &before);
    if (before.sa_handler != SIG_IGN) sigaction(endings[i], &action, NULL);
  }
  w->process = (int)syscall(SYS_pidfd_open, (pid_t)process_id, 0);
}

void wait_close(waiter *w) {
  if (w->process >= 0) close(w->process);
}

uint64_t real_time_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Signals are unblocked only inside ppoll, so none is missed between the check and the wait. */
static wait_end wait_some(const waiter *w, uint64_t ns) {
  struct timespec left = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
  struct pollfd process = {.fd = w->process, .events = POLLIN};
  sigset_t blocked, before;
  sigemptyset(&blocked);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) sigaddset(&blocked, endings[i]);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  int n = is_left ? 0 : ppoll(&process, 1, &left, &before);
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (is_left) return WAIT_LEFT;
  return n > 0 ? WAIT_ENDED : WAIT_DUE;
}

wait_end wait_until(const waiter *w, uint64_t ns) {
  for (;;) {
    uint64_t now = cli_now_ns();
    wait_end end = wait_some(w, ns > now ? ns - now : 0);
    if (end != WAIT_DUE || cli_now_ns() >= ns) return end;
  }
}

uint64_t next_tick(uint64_t start, uint64_t every_ns) {
  return start + ((cli_now_ns() - start) / every_ns + 1) * every_ns;
}
