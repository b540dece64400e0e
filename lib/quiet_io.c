/*
** quiet_io.c - writes and descriptors that do no harm to the host (rooms/take.h, section 6).
**
** A write can raise SIGPIPE (no reader is left), SIGXFSZ (the file has its greatest size; also a
** file in memory) and SIGTTOU (another job has the terminal). All three are blocked during the
** write, and the signal that the write raised is removed.
**
** The system gives a new descriptor the lowest free number. If the host has closed stdin, stdout or
** stderr, that is 0, 1 or 2, and the host's output would go into our file. A daemon also closes
** these three and expects to get them back in order. So our descriptors never keep these numbers.
**
** Most system calls are cancellation points. So a thread cannot be cancelled while we work in it.
*/
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "quiet_io.h"
#include "rooms/take.h"

/* The thread's mask, and the signals that were pending before the write. */
typedef struct held_signals {
  sigset_t mask, waiting;
} held_signals;

static held_signals hold_signals(void) {
  held_signals h;
  sigset_t of_writes;
  (void)sigemptyset(&of_writes);
  (void)sigaddset(&of_writes, SIGPIPE);
  (void)sigaddset(&of_writes, SIGXFSZ);
  (void)sigaddset(&of_writes, SIGTTOU);
  (void)sigpending(&h.waiting);
  (void)pthread_sigmask(SIG_BLOCK, &of_writes, &h.mask);
  return h;
}

/* `raised`: the signal that the write raised, or 0. Keeps errno. */
static void release_signals(const held_signals *h, int raised) {
  const struct timespec no_time = {0};
  int os_errno = errno;
  if (raised && sigismember(&h->waiting, raised) == 0) {
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, raised);
    (void)sigtimedwait(&one, NULL, &no_time);
  }
  (void)pthread_sigmask(SIG_SETMASK, &h->mask, NULL);
  errno = os_errno;
}

ssize_t lh_write_no_signal(int fd, const struct iovec *parts, int n) {
  held_signals h = hold_signals();
  ssize_t written = n == 1 ? write(fd, parts->iov_base, parts->iov_len) : writev(fd, parts, n);
  release_signals(&h, written >= 0 ? 0 : errno == EPIPE ? SIGPIPE : errno == EFBIG ? SIGXFSZ : 0);
  return written;
}

int lh_move_descriptor_up(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), os_errno = errno;
  (void)close(fd);
  errno = os_errno;
  return moved;
}

int lh_hold_cancel(void) {
  int before;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

void lh_release_cancel(int before) {
  (void)pthread_setcancelstate(before, &before);
}

void lh_note_mask(sigset_t *usual) {
  (void)pthread_sigmask(SIG_SETMASK, NULL, usual);
}

bool lh_is_in_handler(const sigset_t *usual) {
  sigset_t blocked;
  struct sigaction action;
  lh_note_mask(&blocked);
  for (int i = 1; i < NSIG; i++) {
    if (sigismember(&blocked, i) != 1 || sigismember(usual, i) == 1) continue;
    if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
        action.sa_handler != SIG_IGN)
      return true;
  }
  return false;
}
