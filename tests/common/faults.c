/* faults.c - the calls that fail when they are told to (see faults.h). */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* The linker's names for the originals, and for ours. */
int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __real_fstatat(int folder, const char *path, struct stat *info, int flags);
ssize_t __real_sendfile(int to, int from, off_t *at, size_t n);
int __real_access(const char *path, int mode);
int __real_fstatfs(int fd, struct statfs *disk);
ssize_t __real_write(int fd, const void *data, size_t n);
int __real_fcntl(int fd, int command, ...);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
long __real_syscall(long number, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_fstatat(int folder, const char *path, struct stat *info, int flags);
ssize_t __wrap_sendfile(int to, int from, off_t *at, size_t n);
int __wrap_access(const char *path, int mode);
int __wrap_fstatfs(int fd, struct statfs *disk);
ssize_t __wrap_write(int fd, const void *data, size_t n);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);
long __wrap_syscall(long number, ...);

typedef struct shared_plan {
  fault_plan plan;
  pid_t forker; /* has a child that writes */
} shared_plan;

static shared_plan *shared;

static shared_plan *get(void) {
  if (shared) return shared;
  void *page =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) abort();
  return shared = page;
}

fault_plan *faults(void) {
  return &get()->plan;
}

void faults_clear(void) {
  memset(get(), 0, sizeof *shared);
}

void faults_plan(fault_call call, size_t first, size_t last, int os_errno) {
  faults()->calls[call] = (fault){.os_errno = os_errno, .first = first, .last = last};
}

/* Counts the call; true, with errno, if it is to fail. */
static bool fails(fault_call call) {
  fault *f = &faults()->calls[call];
  f->seen++;
  if (f->first == 0 || f->seen < f->first || f->seen > f->last) return false;
  errno = f->os_errno;
  return true;
}

/* Of all that is opened without O_CREAT this one counts only the folder. */
int __wrap_open(const char *path, int flags, ...) {
  if (flags & O_PATH && fails(FAULT_FOLDER)) return -1;
  return __real_open(path, flags);
}

int __wrap_openat(int folder, const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  mode_t mode = va_arg(args, mode_t);
  va_end(args);
  bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (fails(nameless ? FAULT_NAMELESS : FAULT_OPEN)) return -1;
  return __real_openat(folder, path, flags, mode);
}

int __wrap_fstatat(int folder, const char *path, struct stat *info, int flags) {
  return fails(FAULT_FSTATAT) ? -1 : __real_fstatat(folder, path, info, flags);
}

ssize_t __wrap_sendfile(int to, int from, off_t *at, size_t n) {
  enum { MOST = 1 << 19 };
  return fails(FAULT_COPY) ? -1 : __real_sendfile(to, from, at, n < MOST ? n : MOST);
}

int __wrap_access(const char *path, int mode) {
  return fails(FAULT_ACCESS) ? -1 : __real_access(path, mode);
}

int __wrap_fstatfs(int fd, struct statfs *disk) {
  if (fails(FAULT_FSTATFS)) return -1;
  int rc = __real_fstatfs(fd, disk);
  if (!faults()->forged_disk) return rc;
  disk->f_frsize = disk->f_bsize = 1;
  disk->f_blocks = faults()->total_bytes;
  disk->f_bavail = disk->f_bfree = faults()->free_bytes;
  return rc;
}

/* In a child, as long as there is who can let it go. */
static void wait_while_held(const shared_plan *s) {
  const struct timespec nap = {.tv_nsec = 1000000};
  while (s->plan.held && getppid() == s->forker) (void)nanosleep(&nap, NULL);
}

ssize_t __wrap_write(int fd, const void *data, size_t n) {
  fault_plan *plan = faults();
  void (*before)(void) = plan->before_write;
  wait_while_held(get());
  plan->before_write = NULL;
  if (before) before();
  if (fails(FAULT_WRITE)) return -1;
  if (plan->interrupt && plan->calls[FAULT_WRITE].seen % 2 == 1) {
    errno = EINTR;
    return -1;
  }
  return __real_write(fd, data, plan->limited && n > plan->write_bytes ? plan->write_bytes : n);
}

int __wrap_fcntl(int fd, int command, ...) {
  va_list args;
  va_start(args, command);
  bool has_pointer = command == F_OFD_GETLK || command == F_OFD_SETLK;
  void *pointer = has_pointer ? va_arg(args, void *) : NULL;
  int argument = has_pointer ? 0 : va_arg(args, int);
  va_end(args);
  if (fails(FAULT_FCNTL)) return -1;
  return has_pointer ? __real_fcntl(fd, command, pointer) : __real_fcntl(fd, command, argument);
}

int __wrap_fsync(int fd) {
  return fails(FAULT_FSYNC) ? -1 : __real_fsync(fd);
}

/* A descriptor is closed even where that fails. */
int __wrap_close(int fd) {
  int rc = __real_close(fd);
  if (get()->forker == getpid()) return rc;
  return fails(FAULT_CLOSE) ? -1 : rc;
}

int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return fails(FAULT_LINKAT) ? -1 : __real_linkat(from_folder, from, to_folder, to, flags);
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to) {
  return fails(FAULT_RENAME) ? -1 : __real_renameat(from_folder, from, to_folder, to);
}

long __wrap_syscall(long number, ...) {
  va_list args;
  long given[4];
  va_start(args, number);
  for (int i = 0; i < 4; i++) given[i] = va_arg(args, long);
  va_end(args);
#ifdef SYS_close_range
  if (number == SYS_close_range && fails(FAULT_CLOSE_RANGE)) return -1;
#endif
  if (number != SYS_clone) return __real_syscall(number, given[0], given[1], given[2], given[3]);
  if (fails(FAULT_SYSCALL)) return -1;
  get()->forker = getpid();
  return __real_syscall(number, 0, 0, 0, 0, 0);
}
