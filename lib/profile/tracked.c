/*
** tracked.c - asks a tracked process for its figures; lib/track/profile.c answers.
**
** Two files in memory of the process are found among its descriptors in /proc/PID/fd. A lock on the
** first one asks. The answer, an aggregate, is a new file that replaces the second. Access goes
** through a descriptor of the folder /proc/PID, which finds nothing after the process has ended,
** even if another process has its number. Signals use a descriptor of the process, too.
**
** The watcher may be root, and the process hostile. In a mount namespace any user can give any name
** to any file, so a name in /proc/PID/fd proves nothing. O_PATH finds the file without opening it.
** It must lie on the one device of all files in memory: only the kernel has this device, and no
** namespace can mount it or bind a name to its files. A file in memory of our own tells the
** device's number, and statx reads the other's without asking a file server. Only then is that very
** file opened for reading. It must have the recorder's seals, so nobody can change the profile
** during the read. It must not be large, since a forged one takes 48 times its size of our memory.
** Nothing is written to the request, which is empty and sealed: a lock changes no
** contents.
*/
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base.h"
#include "open.h"
#include "profile/format.h"
#include "rooms/profile.h"

static const char request_name[] = "/memfd:" LH_LIVE_REQUEST,
                  profile_name[] = "/memfd:" LH_LIVE_PROFILE;

struct lh_tracked {
  uint64_t process_id;
  int folder;           /* /proc/PID */
  int process;          /* -1: the system has no descriptors of processes */
  int request, profile; /* descriptor numbers in the process */
  int asking;           /* the opened request, with our lock; -1: nothing was asked */
  ino_t seen;           /* the last answer that was read */
  dev_t memory;         /* the device of all files in memory */
  bool waits;
};

/* ==== Finding it ==================================================================== */

static int fail_ended(const lh_tracked *t, lh_error *error) {
  return lh_fail(error, LH_ENOTFOUND, "process %" PRIu64 " has ended", t->process_id);
}

/* The error after a failed call for /proc/PID. */
static int fail_to_look(const lh_tracked *t, int reason, lh_error *error) {
  if (reason == EACCES || reason == EPERM)
    return lh_fail(error, LH_EIO,
                   "process %" PRIu64 " belongs to another user, or lets nobody look at it",
                   t->process_id);
  if (reason == ENOENT || reason == ESRCH) return fail_ended(t, error);
  return lh_fail_errno(error, reason, "cannot look at process %" PRIu64, t->process_id);
}

static int fail_untracked(const lh_tracked *t, lh_error *error) {
  return lh_fail(error, LH_ENOTFOUND,
                 "nothing in process %" PRIu64
                 " is tracked for watchers: heap.track{live = true}, or LUA_HEAP=track,live",
                 t->process_id);
}

/* Does descriptor `name` of the process have the name `wanted`? */
static bool is_called(int descriptors, const char *name, const char *wanted) {
  char target[64];
  ssize_t n = readlinkat(descriptors, name, target, sizeof target - 1);
  if (n < 0) return false;
  target[n] = '\0';
  return strncmp(target, wanted, strlen(wanted)) == 0;
}

static void note(int *lowest, int number) {
  if (*lowest < 0 || number < *lowest) *lowest = number;
}

static int find_files(lh_tracked *t, lh_error *error) {
  int descriptors = openat(t->folder, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = descriptors >= 0 ? fdopendir(descriptors) : NULL;
  if (!list) {
    int reason = errno;
    if (descriptors >= 0) (void)close(descriptors);
    return fail_to_look(t, reason, error);
  }
  t->request = t->profile = -1;
  for (const struct dirent *entry; (entry = readdir(list));) {
    if (entry->d_name[0] == '.') continue;
    if (is_called(descriptors, entry->d_name, request_name)) note(&t->request, atoi(entry->d_name));
    if (is_called(descriptors, entry->d_name, profile_name)) note(&t->profile, atoi(entry->d_name));
  }
  (void)closedir(list);
  return t->request >= 0 && t->profile >= 0 ? 0 : fail_untracked(t, error);
}

static int learn_memory(lh_tracked *t, lh_error *error) {
  struct stat status;
  int fd = memfd_create("luaheap-own", MFD_CLOEXEC);
  int code = fd >= 0 && fstat(fd, &status) == 0
                 ? 0
                 : lh_fail_errno(error, errno, "cannot make a file in memory");
  if (code == 0) t->memory = status.st_dev;
  if (fd >= 0) (void)close(fd);
  return code;
}

static int open_process(lh_tracked *t, lh_error *error) {
  char path[32];
  int code = learn_memory(t, error);
  if (code < 0) return code;
  (void)snprintf(path, sizeof path, "/proc/%" PRIu64, t->process_id);
  t->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (t->folder < 0 && errno == ENOENT)
    return lh_fail(error, LH_ENOTFOUND, "there is no process %" PRIu64, t->process_id);
  if (t->folder < 0) return fail_to_look(t, errno, error);
#ifdef SYS_pidfd_open
  if (t->process_id <= INT32_MAX)
    t->process = (int)syscall(SYS_pidfd_open, (pid_t)t->process_id, 0);
#endif
  return find_files(t, error);
}

int lh_tracked_open(uint64_t process_id, lh_tracked **out, lh_error *error) {
  lh_tracked *t = lh_alloc_zeroed(1, sizeof *t);
  *out = NULL;
  if (!t) return lh_fail_memory(error, "looking for a process");
  *t = (lh_tracked){.process_id = process_id, .folder = -1, .process = -1, .asking = -1};
  int code = open_process(t, error);
  if (code == 0)
    *out = t;
  else
    lh_tracked_close(t);
  return code;
}

void lh_tracked_close(lh_tracked *t) {
  if (!t) return;
  if (t->waits) (void)lh_tracked_pause(t, false, NULL);
  if (t->asking >= 0) (void)close(t->asking);
  if (t->folder >= 0) (void)close(t->folder);
  if (t->process >= 0) (void)close(t->process);
  lh_free(t);
}

/* ==== Asking, and looking =========================================================== */

static int fail_fake(const lh_tracked *t, const char *name, lh_error *error) {
  return lh_fail(error, LH_EIO,
                 "process %" PRIu64
                 " has a file called '%s' that luaheap did not make: it was not "
                 "opened",
                 t->process_id, name + strlen("/memfd:"));
}

/* Is the file in memory, without a name in any folder? */
static bool is_in_memory(const lh_tracked *t, int found) {
  struct statx status;
  return statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status) == 0 &&
         S_ISREG(status.stx_mode) && status.stx_nlink == 0 &&
         makedev(status.stx_dev_major, status.stx_dev_minor) == t->memory;
}

/* Finds a descriptor of the process without opening its file. Its number may be reused. */
static int find_file(lh_tracked *t, int number, const char *name, int *found, lh_error *error) {
  char path[32];
  int folder = openat(t->folder, "fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return fail_to_look(t, errno, error);
  (void)snprintf(path, sizeof path, "%d", number);
  bool is_there = is_called(folder, path, name);
  *found = is_there ? openat(folder, path, O_PATH | O_CLOEXEC) : -1;
  int reason = errno;
  (void)close(folder);
  if (*found >= 0) return 0;
  if (is_there && reason != ENOENT && reason != ESRCH) return fail_to_look(t, reason, error);
  char program[2]; /* a zombie has no executable */
  return readlinkat(t->folder, "exe", program, sizeof program) >= 0 ? fail_untracked(t, error)
                                                                    : fail_ended(t, error);
}

static int open_file(lh_tracked *t, int number, const char *name, int *fd, lh_error *error) {
  int found = -1, code = find_file(t, number, name, &found, error);
  if (code < 0) return code;
  if (!is_in_memory(t, found)) {
    (void)close(found);
    return fail_fake(t, name, error);
  }
  *fd = lh_open_found(found);
  if (*fd < 0) return fail_to_look(t, errno, error);
  if (fcntl(*fd, F_GET_SEALS) == LH_LIVE_SEALS) return 0;
  (void)close(*fd);
  return fail_fake(t, name, error);
}

/* Asks for an answer that is newer than the present one. Each watcher has its own lock. */
int lh_tracked_ask(lh_tracked *t, lh_error *error) {
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
  struct stat status;
  int fd, code = open_file(t, t->profile, profile_name, &fd, error);
  if (code < 0) return code;
  bool is_known = fstat(fd, &status) == 0;
  (void)close(fd);
  if (!is_known) return fail_untracked(t, error);
  if (t->asking < 0) t->seen = status.st_ino; /* the present answer is for another watcher */
  if (t->asking >= 0) (void)close(t->asking);
  t->asking = -1;
  code = open_file(t, t->request, request_name, &t->asking, error);
  if (code < 0) return code;
  lock.l_start = lh_live_byte(status.st_ino);
  return fcntl(t->asking, F_OFD_SETLK, &lock) == 0 ? 0 : fail_untracked(t, error);
}

static int fail_large(const lh_tracked *t, lh_error *error) {
  return lh_fail(error, LH_EIO,
                 "process %" PRIu64
                 " answers with more than %s, which is not read: "
                 "heap.track{file = \"run.prof\", aggregate = true} writes the same into a file",
                 t->process_id, lh_size_text((uint64_t)LH_LIVE_MOST_BYTES, false).text);
}

int lh_tracked_look(lh_tracked *t, lh_profile **out, lh_error *error) {
  char path[48];
  struct stat status;
  int fd, code = open_file(t, t->profile, profile_name, &fd, error);
  *out = NULL;
  if (code < 0) return code;
  bool is_new = fstat(fd, &status) == 0 && status.st_size > 0 && status.st_ino != t->seen;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (is_new)
    code = status.st_size <= LH_LIVE_MOST_BYTES ? lh_profile_open(path, out, error)
                                                : fail_large(t, error);
  if (is_new && code == 0) t->seen = status.st_ino;
  (void)close(fd);
  return code;
}

int lh_tracked_pause(lh_tracked *t, bool wait, lh_error *error) {
#ifdef SYS_pidfd_send_signal
  if (t->process >= 0 &&
      syscall(SYS_pidfd_send_signal, t->process, wait ? SIGSTOP : SIGCONT, NULL, 0) == 0) {
    t->waits = wait;
    return 0;
  }
  if (t->process >= 0 && errno == ESRCH) return fail_ended(t, error);
#endif
  return lh_fail(error, LH_EIO, "the system has no sure way to make process %" PRIu64 " wait",
                 t->process_id);
}
