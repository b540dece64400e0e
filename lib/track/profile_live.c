/*
** profile_live.c - the profile for a watcher in another process, who may look at this process's
** descriptors in /proc/PID/fd.
**
** There are two files in memory. "luaheap-profile" holds the profile. It is replaced, as a whole,
** by one with the profile as it is now: by dup3, so that a watcher who has opened it reads on in
** the old file, and who opens it finds the old one or the new one, which has another inode number.
**
** "luaheap-request" is empty, and sealed so that nobody can ever write into it. A watcher asks by a
** lock: on the byte whose number is the inode number of the profile that is there. The lock says
** "this profile is old", so the new profile answers each watcher, and nobody has to take a lock
** away. The kernel does that when the watcher ends. This process looks for the lock each 20 ms, and
** only while it allocates: two calls of fcntl, which wait for nothing. A program that allocates
** nothing does not answer.
**
** Who may profit? The watcher may be root, and this process its enemy. The watcher writes nothing
** into what it finds here, since there is nothing to be written: lib/profile/tracked.c tells what
** it believes. The other way round, a watcher needs a debugger's rights to take the lock, and can
** do no more by it than ask, 50 times a second at most.
*/
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "profile/live_files.h"
#include "profile_out.h"

#define BETWEEN_LOOKS_NS UINT64_C(20000000)

struct lh_live {
  int request_fd, profile_fd;
  uint64_t looked_ns;
  struct stat request_status, profile_status;
};

/* Hosts close descriptors, and use the numbers again. */
static bool is_ours(int fd, const struct stat *status) {
  struct stat now;
  return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == status->st_dev &&
         now.st_ino == status->st_ino;
}

static int make_file(const char *name, struct stat *status) {
  int fd = lh_move_up(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0 || fstat(fd, status) == 0) return fd;
  (void)close(fd);
  return -1;
}

/* An empty file that stays empty; -1: the system has none. */
static int make_sealed(const char *name, struct stat *status) {
  int fd = make_file(name, status);
  if (fd < 0 || fcntl(fd, F_ADD_SEALS, LH_LIVE_SEALS) == 0) return fd;
  (void)close(fd);
  return -1;
}

lh_live *lh_live_new(void) {
  lh_live *live = lh_alloc_zeroed(1, sizeof *live);
  if (!live) return NULL;
  live->profile_fd = -1;
  live->request_fd = make_sealed(LH_LIVE_REQUEST, &live->request_status);
  if (live->request_fd >= 0) live->profile_fd = make_sealed(LH_LIVE_PROFILE, &live->profile_status);
  if (live->profile_fd >= 0) return live;
  lh_live_free(live);
  return NULL;
}

void lh_live_free(lh_live *live) {
  if (!live) return;
  if (is_ours(live->request_fd, &live->request_status)) (void)close(live->request_fd);
  if (is_ours(live->profile_fd, &live->profile_status)) (void)close(live->profile_fd);
  lh_free(live);
}

/* By its seals the descriptor is still a file in memory, which asks no server. */
bool lh_live_is_asked(lh_live *live, uint64_t now_ns) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  if (now_ns - live->looked_ns < BETWEEN_LOOKS_NS) return false;
  live->looked_ns = now_ns;
  lock.l_start = lh_live_byte(live->profile_status.st_ino);
  return fcntl(live->request_fd, F_GET_SEALS) == LH_LIVE_SEALS &&
         fcntl(live->request_fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static size_t write_file(const void *data, size_t n, void *payload) {
  const int *fd = payload;
  const struct iovec all = {(void *)(uintptr_t)data, n};
  return lh_write_unharmed(*fd, &all, 1) == (ssize_t)n ? n : 0;
}

void lh_live_publish(lh_live *live, const lh_profile_out *out, uint8_t *buffer) {
  struct stat status;
  lh_profile_blocks to;
  if (!is_ours(live->profile_fd, &live->profile_status)) return;
  int fd = make_file(LH_LIVE_PROFILE, &status);
  if (fd < 0) return;
  lh_profile_blocks_begin(&to, buffer, write_file, &fd);
  lh_counting_write(out, &to, false);
  if (fcntl(fd, F_ADD_SEALS, LH_LIVE_SEALS) == 0 && dup3(fd, live->profile_fd, O_CLOEXEC) >= 0)
    live->profile_status = status;
  (void)close(fd);
}
