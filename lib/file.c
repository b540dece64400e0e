/* file.c - makes, fills and names an output file (see file.h). */
#include "file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ==== Opening ======================================================================= */

static const char pattern[] = ".luaheap-XXXXXX";
enum { LETTERS = 6 }; /* of the X */
_Static_assert(sizeof pattern <= sizeof(((lh_file *)0)->temporary), "room for the name");

static const char *shown_file_name(const lh_file *file) {
  return file->path + file->name_at;
}

static int name_file(lh_file *file, const char *path, lh_error *error) {
  const char *slash = strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  if (path[folder] == '\0') {
    return lh_fail_errno(error, folder ? EISDIR : ENOENT, "cannot write '%s'", path);
  }
  size_t size = strlen(path) + 1;
  if (size > sizeof file->path) {
    return lh_fail_errno(error, ENAMETOOLONG, "cannot write '%s'", path);
  }
  memcpy(file->path, path, size);
  file->name_at = folder;
  memcpy(file->temporary, pattern, sizeof pattern);
  return LH_OK;
}

static int open_folder(const lh_file *file) {
  char folder[sizeof file->path] = ".";
  memcpy(folder, file->path, file->name_at);
  return lh_move_descriptor_up(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Only a regular file may be replaced: a rename would destroy a device, and a link is set by
** somebody who means another place. */
static int check_older(const lh_file *file, lh_error *error) {
  struct stat info;
  if (fstatat(file->folder_fd, shown_file_name(file), &info, AT_SYMLINK_NOFOLLOW) < 0) {
    return errno == ENOENT ? LH_OK : lh_fail_errno(error, errno, "cannot write '%s'", file->path);
  }
  if (S_ISREG(info.st_mode)) return LH_OK;
  if (S_ISDIR(info.st_mode)) return lh_fail_errno(error, EISDIR, "cannot write '%s'", file->path);
  int code = lh_fail(
      error, LH_EIO, "cannot write '%s': it is %s", file->path,
      S_ISLNK(info.st_mode) ? "a symbolic link, and these are not followed" : "no regular file");
  if (error) error->os_errno = S_ISLNK(info.st_mode) ? ELOOP : EINVAL;
  return code;
}

/* If the host has closed stdin, stdout or stderr, copies of the folder's descriptor hold their
** numbers during the call: another thread that prints to them cannot write into our file, and
** nobody can write to a folder. */
static int open_in_folder(const lh_file *file, const char *name, int flags) {
  int held[STDERR_FILENO + 1], n = 0, other = -1;
  while (n <= STDERR_FILENO && other <= STDERR_FILENO) {
    other = fcntl(file->folder_fd, F_DUPFD_CLOEXEC, 0);
    if (other < 0) break;
    if (other <= STDERR_FILENO) held[n++] = other;
  }
  if (other > STDERR_FILENO) (void)close(other);
  int fd = openat(file->folder_fd, name, flags | O_RDWR | O_CLOEXEC, 0600), os_errno = errno;
  while (n > 0) (void)close(held[--n]);
  errno = os_errno;
  return fd;
}

/* False: the system cannot do this, and no file was made. */
static bool make_nameless(lh_file *file) {
  file->fd = open_in_folder(file, ".", O_TMPFILE);
  if (file->fd < 0) return false;
  (void)snprintf(file->link, sizeof file->link, "/proc/self/fd/%d", file->fd);
  file->nameless = access(file->link, F_OK) == 0;
  if (file->nameless) return true;
  (void)close(file->fd);
  file->fd = -1;
  return false;
}

static bool link_to(const lh_file *file, const char *name) {
  return linkat(AT_FDCWD, file->link, file->folder_fd, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Makes the temporary file under an unused name: a link to the nameless file, or an empty file.
** False: errno is set. Async-signal-safe; mkostemp need not be. */
static bool make_temporary(lh_file *file) {
  static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  enum { TRIES = 100 };
  char *letters = file->temporary + strlen(file->temporary) - LETTERS;
  for (int i = 0; i < TRIES && !file->made; i++) {
    uint64_t rest = lh_random_seed();
    for (int k = 0; k < LETTERS; k++, rest /= sizeof alphabet - 1) {
      letters[k] = alphabet[rest % (sizeof alphabet - 1)];
    }
    if (file->nameless) {
      file->made = link_to(file, file->temporary);
    } else {
      file->fd = open_in_folder(file, file->temporary, O_CREAT | O_EXCL);
      file->made = file->fd >= 0;
    }
    if (!file->made && errno != EEXIST) return false;
  }
  return file->made;
}

/* Computes how many bytes may be written: f_bavail, since the rest of f_bfree is for root. */
static void measure_room(lh_file *file) {
  struct statfs disk;
  struct rlimit limit;
  file->room = UINT64_MAX;
  if (fstatfs(file->fd, &disk) == 0 && disk.f_blocks > 0) { /* 0: no size, or unknown */
    uint64_t unit = (uint64_t)(disk.f_frsize ? disk.f_frsize : disk.f_bsize);
    file->room_errno = ENOSPC;
    if (__builtin_mul_overflow((uint64_t)disk.f_bavail, unit, &file->room)) file->room = UINT64_MAX;
  }
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < file->room) { /* infinite: the
                                                                                greatest value */
    file->room_errno = EFBIG;
    file->room = limit.rlim_cur;
  }
}

static int make_file(lh_file *file, lh_error *error) {
  file->folder_fd = open_folder(file);
  if (file->folder_fd >= 0) {
    int rc = check_older(file, error);
    if (rc < 0) return rc;
  }
  if (file->folder_fd < 0 || (!make_nameless(file) && !make_temporary(file))) {
    return lh_fail_errno(error, errno, "cannot write '%s'", file->path);
  }
  measure_room(file);
  return LH_OK;
}

int lh_file_open(lh_file *file, const char *path, lh_error *error) {
  *file = (lh_file){.folder_fd = -1, .fd = -1};
  int rc = name_file(file, path, error);
  return rc < 0 ? rc : make_file(file, error);
}

/* ==== Writing: async-signal-safe ==================================================== */

static void latch_failure(lh_file *file, int os_errno) {
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
    const struct iovec rest = {(char *)(uintptr_t)from + done, n - done};
    ssize_t written = lh_write_no_signal(file->fd, &rest, 1);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      latch_failure(file, written < 0 ? errno : EIO);
      break;
    }
    done += (size_t)written;
  }
  return done;
}

/* Some file systems report write errors only when a descriptor is closed. Closing a copy reports
** them while the file can still be discarded. */
static bool is_settled(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, fd);
  return (copy < 0 ? fsync(fd) : close(copy)) == 0;
}

static bool copy_from(const lh_file *file, int from) {
  enum { PIECE = 1 << 30 };
  ssize_t n;
  off_t at = 0;
  do {
    n = sendfile(file->fd, from, &at, PIECE);
  } while (n > 0 || (n < 0 && errno == EINTR));
  return n == 0 && is_settled(file->fd);
}

/* Copies a nameless file that cannot be named into a temporary file. */
static bool copy_to_temporary(lh_file *file) {
  int from = file->fd;
  file->fd = -1;
  file->nameless = false;
  bool done = make_temporary(file) && copy_from(file, from);
  int os_errno = errno;
  (void)close(from);
  errno = os_errno;
  return done;
}

static bool give_name(lh_file *file) {
  if (file->nameless) {
    if (link_to(file, shown_file_name(file))) return true;
    if (!(errno == EEXIST && make_temporary(file)) && !copy_to_temporary(file)) return false;
  }
  file->made =
      renameat(file->folder_fd, file->temporary, file->folder_fd, shown_file_name(file)) < 0;
  return !file->made;
}

bool lh_file_finish(lh_file *file) {
  bool done = is_settled(file->fd) && give_name(file);
  if (!done && file->failure.os_errno == 0) latch_failure(file, errno);
  return done;
}

static void close_descriptor(int *fd) {
  if (*fd >= 0) (void)close(*fd);
  *fd = -1;
}

void lh_file_close(lh_file *file) {
  if (file->made) (void)unlinkat(file->folder_fd, file->temporary, 0);
  lh_file_leave(file);
}

/* ==================================================================================== */

int lh_file_fail(const lh_file_failure *failure, const char *path, lh_error *error) {
  lh_number needed = lh_size_text(failure->needed, false),
            room = lh_size_text(failure->room, false);
  int os_errno = failure->os_errno ? failure->os_errno : EIO;
  if (failure->needed == 0) return lh_fail_errno(error, os_errno, "cannot write '%s'", path);
  if (strcmp(needed.text, room.text) == 0) {
    needed = lh_size_text(failure->needed, true);
    room = lh_size_text(failure->room, true);
  }
  (void)lh_fail(error, LH_EIO,
                os_errno == EFBIG
                    ? "cannot write '%s': the file needs %s%s and may have %s (ulimit -f)"
                    : "cannot write '%s': the file needs %s%s and %s are free",
                path, failure->at_least ? "at least " : "", needed.text, room.text);
  if (error) error->os_errno = os_errno;
  return LH_EIO;
}

void lh_file_leave(lh_file *file) {
  close_descriptor(&file->fd);
  close_descriptor(&file->folder_fd);
  file->made = false;
}

void lh_file_remove_left(const lh_file *file) {
  int folder = file->nameless ? -1 : open_folder(file);
  if (folder < 0) return;
  (void)unlinkat(folder, file->temporary, 0);
  (void)close(folder);
}

/* ==== For commands and modules ====================================================== */

int lh_create_file(lh_file **out, const char *path, lh_error *error) {
  lh_file *file = *out = lh_alloc(1, sizeof *file);
  if (!file) return lh_fail_memory(error, "opening a file");
  int rc = lh_file_open(file, path, error);
  if (rc == LH_OK) return rc;
  lh_discard_file(file);
  *out = NULL;
  return rc;
}

int lh_file_descriptor(const lh_file *file) {
  return file->fd;
}

int lh_complete_file(lh_file *file, lh_error *error) {
  bool done = file->failure.os_errno == 0 && lh_file_finish(file);
  return done ? LH_OK : lh_file_fail(&file->failure, file->path, error);
}

void lh_discard_file(lh_file *file) {
  if (!file) return;
  lh_file_close(file);
  lh_free(file);
}

int lh_save(const void *data, size_t size, const char *path, lh_error *error) {
  lh_file file;
  int rc = lh_file_open(&file, path, error);
  if (rc == LH_OK && !(lh_file_has_room(&file, size, false) &&
                       lh_file_write(data, size, &file) == size && lh_file_finish(&file))) {
    rc = lh_file_fail(&file.failure, path, error);
  }
  lh_file_close(&file);
  return rc;
}
