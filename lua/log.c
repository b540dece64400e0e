/*
** log.c - writes one line to stderr, to a file or to the system's log (log.h).
**
** A line must neither end the host nor make it wait. lh_write_no_signal sees to the signals. A
** write to a full pipe or a stopped terminal waits, unless the descriptor is non-blocking. That
** flag belongs to the host and to all programs that share the pipe. So the line goes through our
** own descriptor, opened by /proc/self/fd/2. Where that cannot be opened (the pipe belongs to
** another user), poll says whether there is room for a line of PIPE_BUF bytes: no line is longer.
**
** syslog() takes locks, so a line goes to the socket of the system's log. A datagram needs no end
** of line.
*/
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "rooms/all.h"

/* The parts of a line and of all that stands around them. Nothing is copied: a signal handler may
** have an alternate stack of only 8 KB, half of it taken by the kernel. */
typedef struct line {
  struct iovec parts[24];
  int n;
  size_t bytes;
  char process[24], lost[24]; /* numbers */
} line;

enum { MOST_PARTS = sizeof(((line *)0)->parts) / sizeof(struct iovec) };

/* Leaves room for the end of the line. */
static void append_text(line *l, const char *text) {
  size_t n = strnlen(text, PIPE_BUF - 1 - l->bytes);
  if (n == 0 || l->n == MOST_PARTS - 1) return;
  l->parts[l->n++] = (struct iovec){(char *)(uintptr_t)text, n};
  l->bytes += n;
}

/* `digits` has 24 bytes and must live as long as the line. */
static void add_number(line *l, char *digits, unsigned long n) {
  char *at = digits + 23;
  *at = '\0';
  do *--at = (char)('0' + n % 10);
  while ((n /= 10) > 0);
  append_text(l, at);
}

typedef struct message {
  const char *const *parts;
  int n;
  unsigned long lost; /* lines before it */
} message;

/* With the process begins with "heap.auto[1234]", for shared logs. */
static void begin_line(line *l, const char *before, bool has_process, const message *m) {
  l->n = 0;
  l->bytes = 0;
  append_text(l, before);
  append_text(l, "heap.auto");
  if (has_process) {
    append_text(l, "[");
    add_number(l, l->process, (unsigned long)getpid());
    append_text(l, "]");
  }
  for (int i = 0; i < m->n; i++) append_text(l, m->parts[i]);
  if (m->lost == 0) return;
  append_text(l, " (lines before this one that could not be written: ");
  add_number(l, l->lost, m->lost);
  append_text(l, ")");
}

static void end_line(line *l) {
  static const char end[] = "\n";
  l->parts[l->n++] = (struct iovec){(char *)(uintptr_t)end, 1};
}

static bool write_line(int fd, line *l) {
  return lh_write_no_signal(fd, l->parts, l->n) >= 0;
}

static bool send_at_once(int fd, const line *l) {
  const struct msghdr whole = {.msg_iov = (struct iovec *)(uintptr_t)l->parts,
                               .msg_iovlen = (size_t)l->n};
  return sendmsg(fd, &whole, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* ENXIO: the pipe has no reader. */
static bool write_without_waiting(line *l) {
  int own =
      lh_move_descriptor_up(open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  bool written = false;
  if (own >= 0) {
    written = write_line(own, l);
    (void)close(own);
  } else if (errno != ENXIO) {
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    written = poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT && write_line(STDERR_FILENO, l);
  }
  return written;
}

static struct {
  bool is_known, is_open;
  struct stat status;
} first_stderr;

static void know_stderr(void) {
  first_stderr.is_open = fstat(STDERR_FILENO, &first_stderr.status) == 0;
  first_stderr.is_known = true;
}

void hl_note_stderr(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, know_stderr);
}

/* A host that has closed stderr may have opened its own file, connection or device under that
** number: a serial port, or the master of a terminal. Files that are open for appending take no
** harm. */
static bool may_be_stderr(const struct stat *now) {
  const struct stat *first = &first_stderr.status;
  if (!first_stderr.is_known) return true;
  if (first_stderr.is_open && S_ISCHR(now->st_mode) && S_ISCHR(first->st_mode))
    return now->st_rdev == first->st_rdev;
  if (first_stderr.is_open && now->st_dev == first->st_dev && now->st_ino == first->st_ino)
    return true;
  return fcntl(STDERR_FILENO, F_GETFL) & O_APPEND;
}

static bool write_to_stderr(line *l) {
  struct stat status;
  if (fstat(STDERR_FILENO, &status) < 0 || !may_be_stderr(&status)) return false;
  if (S_ISSOCK(status.st_mode)) return send_at_once(STDERR_FILENO, l);
  if (S_ISFIFO(status.st_mode) || (S_ISCHR(status.st_mode) && isatty(STDERR_FILENO)))
    return write_without_waiting(l);
  return write_line(STDERR_FILENO, l);
}

static bool write_to_file(const char *path, line *l) {
  int fd = lh_move_descriptor_up(open(
      path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0600));
  bool written = fd >= 0 && write_line(fd, l);
  if (fd >= 0) (void)close(fd);
  return written;
}

static bool write_to_system(line *l) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
  int fd = lh_move_descriptor_up(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  bool written = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                 send_at_once(fd, l);
  if (fd >= 0) (void)close(fd);
  return written;
}

static bool write_message(const char *log, const message *m) {
  line l;
  if (strcmp(log, "syslog") == 0) {
    begin_line(&l, "<13>", true, m); /* user.notice */
    if (write_to_system(&l)) return true;
  } else if (*log) {
    begin_line(&l, "", true, m);
    end_line(&l);
    if (write_to_file(log, &l)) return true;
  }
  begin_line(&l, "", false, m);
  end_line(&l);
  return write_to_stderr(&l);
}

/* Lines of this process that could not be written, and are not reported yet. */
static atomic_ulong n_lost;

void hl_log(const char *log, const char *const parts[], int n) {
  int os_errno = errno, before;
  if (strcmp(log, "quiet") == 0) return;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  const message m = {parts, n, atomic_exchange(&n_lost, 0)};
  if (!write_message(log, &m)) (void)atomic_fetch_add(&n_lost, m.lost + 1);
  (void)pthread_setcancelstate(before, &before);
  errno = os_errno;
}

void hl_write_to_stderr(const char *text) {
  line l = {.n = 0};
  append_text(&l, text);
  end_line(&l);
  (void)write_to_stderr(&l);
}
