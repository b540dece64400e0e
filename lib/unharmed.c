/*
** unharmed.c - writes and descriptors that do the host no harm (luaheap_take.h, section 6).
**
** Three signals can come from a write: SIGPIPE (nobody reads any more), SIGXFSZ (the file has its
** greatest size; a file in memory has one, too) and SIGTTOU (another job has the terminal). All
** three are blocked for the write, and a signal that the write has raised is taken away.
**
** The system gives the lowest free number to a new descriptor. In a host whose stdin, stdout or
** stderr is closed that is 0, 1 or 2, and what the host prints would go into our file. Also, a
** daemon closes these three and counts on getting them back in order. So no descriptor of ours
** keeps such a number.
*/
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "luaheap_take.h"

/* Of this thread: the mask, and the signals that waited before the write. */
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

/* `raised` is the signal that the write has raised, or 0. Keeps errno. */
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

ssize_t lh_write_unharmed(int fd, const struct iovec *parts, int n) {
  held_signals h = hold_signals();
  ssize_t written = n == 1 ? write(fd, parts->iov_base, parts->iov_len) : writev(fd, parts, n);
  release_signals(&h, written >= 0 ? 0 : errno == EPIPE ? SIGPIPE : errno == EFBIG ? SIGXFSZ : 0);
  return written;
}

int lh_move_up(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), os_errno = errno;
  (void)close(fd);
  errno = os_errno;
  return moved;
}
