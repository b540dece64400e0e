/*
** profile_file.c - the file of a profile, and how the program comes to no harm by it (profile.h).
**
** The file is locked while it is written, so that a second state of the program, or a program that
** it starts, does not take its name away: they would be told the same name by LUA_HEAP. Forked
** children have the lock, too: so it is given back, and not only closed.
*/
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile_out.h"

struct lh_profile_file {
  lh_file file;
  char path[PATH_MAX];
  struct stat status; /* of file.fd, when it was opened */
  uint64_t bytes;     /* written */
  pid_t process_id;   /* that writes it */
  lh_error error;
};

/* {=== Its name ====================================================================== */

static int make_absolute(lh_profile_file *f, const char *path, lh_error *error) {
  size_t used = 0;
  if (path[0] != '/') {
    if (!getcwd(f->path, sizeof f->path))
      return lh_fail_errno(error, errno, "cannot write '%s'", path);
    used = strlen(f->path);
    f->path[used++] = '/';
  }
  if (strlen(path) >= sizeof f->path - used)
    return lh_fail_errno(error, ENAMETOOLONG, "cannot write '%s'", path);
  strcpy(f->path + used, path);
  return LH_OK;
}

/* What cannot be opened at all is told by lh_file_open, if it matters. */
static int check_older(const char *path, lh_error *error) {
  uint8_t head[8];
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return LH_OK;
  bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  bool is_other = is_file && (read(fd, head, sizeof head) != (ssize_t)sizeof head ||
                              memcmp(head, LH_PROFILE_MAGIC, sizeof head) != 0);
  bool is_busy = is_file && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  (void)close(fd);
  if (is_busy) return lh_fail_errno(error, EBUSY, "'%s' is being written", path);
  if (!is_other) return LH_OK;
  return lh_fail_errno(error, EEXIST, "cannot write '%s', which is no profile", path);
}

int lh_profile_file_new(lh_profile_file **out, const char *path, lh_error *error) {
  lh_profile_file *f = lh_alloc_zeroed(1, sizeof *f);
  if (!f) return lh_fail_memory(error, "opening a profile");
  f->file.fd = f->file.folder_fd = -1;
  f->process_id = getpid();
  int code = make_absolute(f, path, error);
  if (code == LH_OK) code = check_older(f->path, error);
  if (code != LH_OK) lh_profile_file_free(f);
  *out = code == LH_OK ? f : NULL;
  return code;
}

/* Is the descriptor still that of our file? */
static bool is_ours(const lh_profile_file *f) {
  struct stat now;
  return f->file.fd >= 0 && fstat(f->file.fd, &now) == 0 && now.st_dev == f->status.st_dev &&
         now.st_ino == f->status.st_ino;
}

static void close_file(lh_profile_file *f) {
  if (!is_ours(f)) f->file.fd = -1;
  if (f->file.fd >= 0 && f->process_id == getpid()) (void)flock(f->file.fd, LOCK_UN);
  lh_file_close(&f->file);
  f->file = (lh_file){.fd = -1, .folder_fd = -1};
}

void lh_profile_file_free(lh_profile_file *f) {
  if (!f) return;
  close_file(f);
  lh_free(f);
}

int lh_profile_file_open(lh_profile_file *f, lh_error *error) {
  close_file(f);
  f->bytes = 0;
  f->error.code = LH_OK;
  int code = lh_file_open(&f->file, f->path, error);
  if (code == LH_OK && fstat(f->file.fd, &f->status) != 0)
    code = lh_fail_errno(error, errno, "cannot write '%s'", f->path);
  if (code != LH_OK) close_file(f);
  return code;
}

/* From then on the descriptor is all that is left of the lh_file. */
int lh_profile_file_name(lh_profile_file *f, lh_error *error) {
  int fd = -1;
  if (f->error.code != LH_OK) {
    if (error) *error = f->error;
  } else if (!lh_file_finish(&f->file) || fstat(f->file.fd, &f->status) != 0) {
    (void)lh_file_fail(&f->file.failure, f->path, error);
  } else { /* lh_file_finish may have made another file */
    fd = f->file.fd;
    f->file.fd = -1;
  }
  close_file(f);
  f->file.fd = fd;
  if (fd >= 0) (void)flock(fd, LOCK_EX | LOCK_NB); /* where the file system has none, so be it */
  return fd < 0 ? LH_EIO : LH_OK;
}

/* }=================================================================================== */

/* {=== Writing ======================================================================= */

/* An error number, or 0: then a write may be tried. */
static int what_forbids(const lh_profile_file *f) {
  if (f->error.code != LH_OK) return f->error.os_errno;
  return is_ours(f) ? 0 : EBADF;
}

static int write_all(lh_profile_file *f, const void *bytes, size_t n) {
  f->file.failure.os_errno = 0;
  return lh_file_write(bytes, n, &f->file) == n ? 0 : f->file.failure.os_errno;
}

size_t lh_profile_file_write(const void *data, size_t n, void *payload) {
  lh_profile_file *f = payload;
  int os_errno = what_forbids(f);
  if (os_errno == 0) {
    os_errno = write_all(f, data, n);
    /* The half of a block would be read as a cut: so it is, at a place that was chosen. */
    if (os_errno != 0 && (ftruncate(f->file.fd, (off_t)f->bytes) != 0 ||
                          lseek(f->file.fd, (off_t)f->bytes, SEEK_SET) < 0))
      f->status.st_ino = 0; /* and no more is written behind it */
  }
  if (os_errno != 0) {
    if (f->error.code == LH_OK)
      (void)lh_fail_errno(&f->error, os_errno, "cannot write '%s'", f->path);
    return 0;
  }
  f->bytes += n;
  return n;
}

void lh_profile_file_retry(lh_profile_file *f) {
  f->error.code = LH_OK;
}

const lh_error *lh_profile_file_error(const lh_profile_file *f) {
  return f->error.code == LH_OK ? NULL : &f->error;
}

/* }=================================================================================== */
