/*
** open.c - opens only regular files, safely even if another user chose the name.
**
** The owner of a folder can rename a FIFO, a device or a link onto a name at any time. If root
** opens a FIFO, root waits for ever; opening some devices starts an action; a link leads to a file
** that the owner may not read. So each name is used only once: O_PATH finds the file without
** opening it, statx looks at the file found, and then this very file is opened by its descriptor. A
** rename between two steps changes only the name. AT_STATX_DONT_SYNC keeps statx from asking the
** file's server, which may belong to the attacker and never answer.
**
** lh_open_below uses openat2 (Linux 5.6). Older kernels and filters that forbid openat2 get a walk
** part by part that follows no link at all.
*/
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void close_quietly(int fd) {
  int os_errno = errno;
  (void)close(fd);
  errno = os_errno;
}

static int check_regular(int found, bool may_be_empty) {
  const unsigned wanted = STATX_TYPE | STATX_SIZE;
  struct statx status;
  if (statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted, &status) != 0) return -1;
  if (S_ISREG(status.stx_mode) && (may_be_empty || status.stx_size > 0)) return 0;
  errno = S_ISDIR(status.stx_mode) ? EISDIR : ESPIPE;
  return -1;
}

static int open_found(int found, bool may_be_empty) {
  char path[32];
  if (found < 0) return -1;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", found);
  int fd = check_regular(found, may_be_empty) == 0
               ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
               : -1;
  close_quietly(found);
  return fd;
}

int lh_open_found(int found) {
  return open_found(found, true);
}

int lh_open_regular(const char *path) {
  return lh_open_found(open(path, O_PATH | O_CLOEXEC));
}

/* Walks without openat2. A link is found itself, and is no directory or regular file. */
static int walk_below(int root, const char *path) {
  char name[NAME_MAX + 1];
  int at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (at >= 0 && *(path += strspn(path, "/"))) {
    size_t n = strcspn(path, "/");
    int next = -1;
    memcpy(name, path, n < sizeof name ? n : 0);
    name[n < sizeof name ? n : 0] = '\0';
    if (n >= sizeof name || strcmp(name, "..") == 0)
      errno = ENOENT;
    else
      next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    close_quietly(at);
    at = next;
    path += n;
  }
  return at;
}

static int find_below(int root, const char *path) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                         .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  int found = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
  if (found >= 0 || (errno != ENOSYS && errno != EPERM)) return found;
  return walk_below(root, path);
}

/* A regular file without bytes may be the kernel's, as /proc/kmsg, which each reader changes. */
int lh_open_below(const char *root, const char *path) {
  int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  int found = find_below(folder, path);
  close_quietly(folder);
  return open_found(found, false);
}
