/*
** log.c - one line to stderr, to a file or to the system's log (log.h).
**
** To that by its socket: syslog() takes locks. A datagram needs no end of line.
*/
#include "log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_PARTS = 24, DIGITS = 24 };

typedef struct line {
  struct iovec parts[MOST_PARTS];
  int n;
} line;

static void add(line *l, const char *text) {
  if (l->n < MOST_PARTS) l->parts[l->n++] = (struct iovec){(char *)(uintptr_t)text, strlen(text)};
}

static char *number_text(char digits[DIGITS], unsigned long n) {
  char *at = digits + DIGITS - 1;
  *at = '\0';
  do *--at = (char)('0' + n % 10);
  while ((n /= 10) > 0);
  return at;
}

/* "heap.auto[1234]" where other programs may write, too: digits has room for that number. */
static line make_line(const char *before, char *digits, const char *const parts[], int n,
                      const char *after) {
  line l = {.n = 0};
  add(&l, before);
  add(&l, digits ? "heap.auto[" : "heap.auto");
  if (digits) add(&l, number_text(digits, (unsigned long)getpid()));
  if (digits) add(&l, "]");
  for (int i = 0; i < n && l.n < MOST_PARTS - 1; i++) add(&l, parts[i]);
  add(&l, after);
  return l;
}

static bool write_to_file(const char *path, const line *l) {
  int fd = open(
      path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0600);
  bool written = fd >= 0 && writev(fd, l->parts, l->n) >= 0;
  if (fd >= 0) (void)close(fd);
  return written;
}

static bool write_to_system(line *l) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
  struct msghdr message = {.msg_iov = l->parts, .msg_iovlen = (size_t)l->n};
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool written = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                 sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
  if (fd >= 0) (void)close(fd);
  return written;
}

void hl_log(const char *log, const char *const parts[], int n) {
  char digits[DIGITS];
  if (strcmp(log, "quiet") == 0) return;
  if (strcmp(log, "syslog") == 0) {
    line l = make_line("<13>", digits, parts, n, ""); /* user.notice */
    if (write_to_system(&l)) return;
  } else if (*log) {
    line l = make_line("", digits, parts, n, "\n");
    if (write_to_file(log, &l)) return;
  }
  line l = make_line("", NULL, parts, n, "\n");
  (void)!writev(STDERR_FILENO, l.parts, l.n);
}
