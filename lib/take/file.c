/*
** file.c - the temporary file, its content and its rename (see file.h).
*/
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t lh_file_write(const void *data, size_t n, void *payload) {
  lh_file *file = payload;
  const char *from = data;
  size_t done = 0;
  while (done < n) {
    ssize_t written = write(file->fd, from + done, n - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      file->os_errno = written < 0 ? errno : EIO;
      break;
    }
    done += (size_t)written;
  }
  return done;
}

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

/* Fills file->path and file->temporary, which is in the same folder. */
static int name_file(lh_file *file, const char *path, lh_error *error) {
  static const char pattern[] = ".luaheap-XXXXXX";
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

int lh_file_open(lh_file *file, const char *path, lh_error *error) {
  char buffer[PATH_MAX];
  const char *resolved;
  *file = (lh_file){.fd = -1};
  int rc = resolve(path, buffer, &resolved, error);
  if (rc == LH_OK) rc = name_file(file, resolved, error);
  if (rc < 0) return rc;
  file->fd = mkostemp(file->temporary, O_CLOEXEC); /* mode 0600 */
  if (file->fd < 0) return lh_fail_errno(error, errno, "cannot write '%s'", path);
  file->made = true;
  return LH_OK;
}

bool lh_file_finish(lh_file *file) {
  int closed = close(file->fd);
  file->fd = -1;
  file->renamed = closed == 0 && rename(file->temporary, file->path) == 0;
  if (!file->renamed) file->os_errno = errno;
  return file->renamed;
}

void lh_file_free(lh_file *file) {
  if (file->fd >= 0) (void)close(file->fd);
  if (file->made && !file->renamed) (void)unlink(file->temporary);
  lh_free(file->temporary);
  lh_free(file->path);
}
