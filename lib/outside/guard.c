/*
** guard.c - a child process that cleans up if this process is killed.
**
** A thread of the target must reap the frozen copy (inject.c), or a zombie stays. When the pipe
** closes and the copy still exists, the guard stops the target and has the zombie reaped, if it is
** the target's child. So it does to the target only what this process would do.
**
** A target can make a page whose read never returns (userfaultfd, FUSE), and only SIGKILL
** interrupts this read. So the guard sends SIGKILL if a signal that should end this process waits
** for five seconds.
*/
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "stop.h"

/* How long a signal that should end the process may wait; 0: none waits. If it is blocked and has a
** handler, as long as the copy of a big process takes. */
static unsigned most_seconds(pid_t process) {
  enum { SECONDS = 5, SECONDS_IF_HANDLED = 60 };
  const uint64_t ends = (uint64_t)1 << (SIGINT - 1) | (uint64_t)1 << (SIGTERM - 1) |
                        (uint64_t)1 << (SIGHUP - 1) | (uint64_t)1 << (SIGQUIT - 1);
  lh_process_status is;
  if (!lh_process_status_of(process, &is)) return 0;
  uint64_t waits = is.pending & ends & ~is.ignored;
  if (waits == 0) return 0;
  return waits & ~(is.blocked & is.handled) ? SECONDS : SECONDS_IF_HANDLED;
}

static void watch(pid_t process, int pipe) {
  enum { SECOND_MS = 1000 };
  struct pollfd end = {.fd = pipe, .events = POLLIN};
  for (unsigned seconds = 0; poll(&end, 1, SECOND_MS) == 0;) {
    unsigned most = most_seconds(process);
    seconds = most > 0 ? seconds + 1 : 0;
    if (most > 0 && seconds >= most) (void)kill(process, SIGKILL);
  }
}

static bool is_there(const lh_guarded *g, lh_process_status *status) {
  return lh_process_status_of(g->frozen.id, status) && status->parent == g->process;
}

/* The killed parent may still trace the target for a moment, and the copy is no zombie at once. */
static void take_away(const lh_guarded *g) {
  const uint64_t most_ns = 10000000000;
  lh_process_status copy;
  lh_stop stop;
  for (uint64_t start = lh_now_ns(); is_there(g, &copy) && lh_now_ns() - start < most_ns;
       lh_nap()) {
    if (copy.state != 'Z' || lh_stop_begin(&stop, g->process, NULL, NULL) != LH_OK) continue;
    const lh_frozen zombie = {g->frozen.id, (pid_t)copy.own_id};
    (void)lh_inject_reap(&stop, g->room, &zombie);
    (void)lh_stop_end(&stop);
  }
}

static _Noreturn void become_guard(const lh_guarded *g, int pipe, pid_t process) {
  sigset_t before;
  lh_hold_signals(&before);
  (void)close_range(0, (unsigned)pipe - 1, 0);
  (void)close_range((unsigned)pipe + 1, ~0u, 0);
  watch(process, pipe);
  if (g->frozen.id != 0) take_away(g);
  _exit(0);
}

lh_guard *lh_guard_begin(pid_t process) {
  int ends[2];
  pid_t own = getpid();
  lh_guard *guard = lh_alloc_zeroed(1, sizeof *guard);
  lh_guarded *g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!guard || g == MAP_FAILED || pipe2(ends, O_CLOEXEC) < 0) {
    if (g != MAP_FAILED) (void)munmap(g, sizeof *g);
    lh_free(guard);
    return NULL;
  }
  *g = (lh_guarded){.process = process};
  *guard = (lh_guard){fork(), ends[1], g};
  if (guard->id == 0) become_guard(g, ends[0], own);
  (void)close(ends[0]);
  if (guard->id > 0) return guard;
  lh_guard_end(guard);
  return NULL;
}

void lh_guard_leave(const lh_guard *guard) {
  if (guard) (void)close(guard->pipe);
}

void lh_guard_end(lh_guard *guard) {
  if (!guard) return;
  (void)close(guard->pipe);
  while (guard->id > 0 && waitpid(guard->id, NULL, 0) < 0 && errno == EINTR) {}
  (void)munmap(guard->guarded, sizeof *guard->guarded);
  lh_free(guard);
}
