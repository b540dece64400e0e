/*
** file.c - the nameless or temporary file, its content and its name (see file.h).
*/
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* {=== Opening ======================================================================= */

/* The path to replace: `path` itself, or what it points to when it is a link; `buffer` has PATH_MAX
** bytes. Only a new or a regular file may be written: a rename would remove a device. */
static int resolve(const char *path, char *buffer, const char **out, lh_error *error) {
  struct stat info;
  *out = path;
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
    *out = realpath(path, buffer);
    if (!*out) return lh_fail_errno(error, errno, "cannot follow the link '%s'", path);
  }
  if (stat(*out, &info) < 0 || S_ISREG(info.st_mode)) return LH_OK;
  if (S_ISDIR(info.st_mode)) return lh_fail_errno(error, EISDIR, "cannot write '%s'", path);
  return lh_fail_errno(error, EINVAL, "cannot write '%s', which is no regular file", path);
}

static const char pattern[] = ".luaheap-XXXXXX";
enum { LETTERS = 6 }; /* the X */

/* Fills file->path and file->temporary, which is in the same folder. */
static int name_file(lh_file *file, const char *path, lh_error *error) {
  const char *slash = strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  if (path[folder] == '\0') {
    return lh_fail_errno(error, folder ? EISDIR : ENOENT, "cannot write '%s'", path);
  }
  file->path = lh_copy_text(path);
  file->temporary = lh_alloc(folder + sizeof pattern, 1);
  if (!file->path || !file->temporary) return lh_fail_memory(error, "opening the snapshot's file");
  memcpy(file->temporary, path, folder);
  memcpy(file->temporary + folder, pattern, sizeof pattern);
  return LH_OK;
}

/* False, and nothing made, where that does not go, for whatever reason. */
static bool make_nameless(lh_file *file) {
  char *name = file->temporary + strlen(file->temporary) - (sizeof pattern - 1);
  *name = '\0'; /* leaves the folder */
  const char *folder = name == file->temporary ? "." : file->temporary;
  file->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  *name = pattern[0];
  if (file->fd < 0) return false;
  (void)snprintf(file->link, sizeof file->link, "/proc/self/fd/%d", file->fd);
  file->nameless = access(file->link, F_OK) == 0;
  if (file->nameless) return true;
  (void)close(file->fd);
  file->fd = -1;
  return false;
}

static bool link_to(const lh_file *file, const char *name) {
  return linkat(AT_FDCWD, file->link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Makes the temporary file under a name that nobody has: a link to the nameless one, or an empty
** file. False and errno on failure. Async-signal-safe, as mkostemp need not be. */
static bool make_temporary(lh_file *file) {
  static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  enum { TRIES = 100 };
  char *letters = file->temporary + strlen(file->temporary) - LETTERS;
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  uint64_t number = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  for (int i = 0; i < TRIES && !file->made; i++) {
    uint64_t rest = lh_hash(&number, sizeof number, (uint64_t)getpid());
    for (int k = 0; k < LETTERS; k++, rest /= sizeof alphabet - 1) {
      letters[k] = alphabet[rest % (sizeof alphabet - 1)];
    }
    if (file->nameless) {
      file->made = link_to(file, file->temporary);
    } else {
      file->fd = open(file->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
      file->made = file->fd >= 0;
    }
    if (!file->made && errno != EEXIST) return false;
    number++;
  }
  return file->made;
}

/* What may be written. f_bavail and not f_bfree: what is kept for root is not for us. */
static void measure_room(lh_file *file) {
  struct statfs disk;
  struct rlimit limit;
  file->room = UINT64_MAX;
  if (fstatfs(file->fd, &disk) == 0 && disk.f_blocks > 0) { /* 0: it has no size, or does not say */
    uint64_t unit = (uint64_t)(disk.f_frsize ? disk.f_frsize : disk.f_bsize);
    file->room_errno = ENOSPC;
    if (__builtin_mul_overflow((uint64_t)disk.f_bavail, unit, &file->room)) file->room = UINT64_MAX;
  }
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < file->room) { /* infinite: the max */
    file->room_errno = EFBIG;
    file->room = limit.rlim_cur;
  }
}

int lh_file_open(lh_file *file, const char *path, lh_error *error) {
  char buffer[PATH_MAX];
  const char *resolved;
  *file = (lh_file){.fd = -1};
  int rc = resolve(path, buffer, &resolved, error);
  if (rc == LH_OK) rc = name_file(file, resolved, error);
  if (rc < 0) return rc;
  if (!make_nameless(file) && !make_temporary(file)) {
    return lh_fail_errno(error, errno, "cannot write '%s'", path);
  }
  measure_room(file);
  return LH_OK;
}

/* }=================================================================================== */

/* {=== Writing: async-signal-safe ==================================================== */

static void fail(lh_file *file, int os_errno) {
  file->failure = (lh_file_failure){.os_errno = os_errno};
}

bool lh_file_has_room(lh_file *file, uint64_t bytes, bool at_least) {
  if (bytes <= file->room) return true;
  file->failure = (lh_file_failure){
      .os_errno = file->room_errno, .at_least = at_least, .needed = bytes, .room = file->room};
  return false;
}

size_t lh_file_write(const void *data, size_t n, void *payload) {
  lh_file *file = payload;
  const char *from = data;
  size_t done = 0;
  while (done < n) {
    ssize_t written = write(file->fd, from + done, n - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(file, written < 0 ? errno : EIO);
      break;
    }
    done += (size_t)written;
  }
  return done;
}

/* Asks for the errors that some file systems keep until a descriptor is closed, while the file can
** still be given up: closing a copy tells. */
static bool is_settled(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return (copy < 0 ? fsync(fd) : close(copy)) == 0;
}

static void close_file(lh_file *file) {
  if (file->fd >= 0) (void)close(file->fd);
  file->fd = -1;
}

lh_file_end lh_file_finish(lh_file *file) {
  bool done = is_settled(file->fd), linked = true;
  if (done && file->nameless) {
    done = linked = link_to(file, file->path) || (errno == EEXIST && make_temporary(file));
  }
  if (done && file->made) {
    done = rename(file->temporary, file->path) == 0;
    file->made = !done;
  }
  int os_errno = errno;
  close_file(file);
  if (done) return LH_FILE_DONE;
  if (!linked) {
    file->nameless = false;
    if (make_temporary(file)) return LH_FILE_AGAIN;
    os_errno = errno;
  }
  fail(file, os_errno);
  return LH_FILE_FAILED;
}

/* }=================================================================================== */

/* 1,024 bytes are a KB, as in all that luaheap prints. */
static void put_bytes(char out[24], uint64_t bytes, bool round_up) {
  static const char *const units[] = {"KB", "MB", "GB", "TB"};
  unsigned shift = 10, unit = 0;
  for (; bytes >> shift >= 1024 && unit < 3; unit++) shift += 10;
  uint64_t tenths = (bytes * 10 + (round_up ? ((uint64_t)1 << shift) - 1 : 0)) >> shift;
  (void)snprintf(out, 24, "%" PRIu64 ".%u %s", tenths / 10, (unsigned)(tenths % 10), units[unit]);
}

int lh_file_fail(const lh_file_failure *failure, const char *path, lh_error *error) {
  char needed[24], room[24];
  int os_errno = failure->os_errno ? failure->os_errno : EIO;
  if (failure->needed == 0) return lh_fail_errno(error, os_errno, "cannot write '%s'", path);
  put_bytes(needed, failure->needed, true);
  put_bytes(room, failure->room, false);
  (void)lh_fail(error, LH_EIO,
                os_errno == EFBIG
                    ? "cannot write '%s': the file needs %s%s and may have %s (ulimit -f)"
                    : "cannot write '%s': the file needs %s%s and %s are free",
                path, failure->at_least ? "at least " : "", needed, room);
  if (error) error->os_errno = os_errno;
  return LH_EIO;
}

void lh_file_free(lh_file *file) {
  close_file(file);
  if (file->made) (void)unlink(file->temporary);
  lh_free(file->temporary);
  lh_free(file->path);
}
