/*
** profile_live.c - the profile for a watcher in another process of the same user, who may look at
** this one's files in /proc/PID/fd.
**
** There are two files in memory. A watcher adds one to the first eight bytes of
** "luaheap-request", a page that is mapped here, so that it costs nothing to see that nobody asked.
** "luaheap-profile" is then replaced, as a whole, by one with the profile as it is: by dup3, so
** that who has opened it reads on in what there was, and who opens it finds the old one or the new
** one, which has another inode number. A program that allocates nothing does not answer.
*/
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile_out.h"

enum { PAGE_BYTES = 4096 };

struct lh_live {
  int request_fd, profile_fd;
  _Atomic uint64_t *request; /* the page */
  uint64_t answered;
  struct stat request_status, profile_status;
};

/* Hosts close descriptors, and use the numbers again. */
static bool is_ours(int fd, const struct stat *status) {
  struct stat now;
  return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == status->st_dev &&
         now.st_ino == status->st_ino;
}

static int make_file(const char *name, unsigned flags, struct stat *status) {
  int fd = memfd_create(name, MFD_CLOEXEC | flags);
  if (fd < 0 || fstat(fd, status) == 0) return fd;
  (void)close(fd);
  return -1;
}

/* Sealed: who made it shorter would kill us. */
static bool map_request(lh_live *live) {
  int fd = make_file("luaheap-request", MFD_ALLOW_SEALING, &live->request_status);
  live->request_fd = fd;
  if (fd < 0 || ftruncate(fd, PAGE_BYTES) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return false;
  void *page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
  live->request = page == MAP_FAILED ? NULL : page;
  return live->request != NULL;
}

lh_live *lh_live_new(void) {
  lh_live *live = lh_alloc_zeroed(1, sizeof *live);
  if (!live) return NULL;
  live->profile_fd = -1;
  if (map_request(live)) live->profile_fd = make_file("luaheap-profile", 0, &live->profile_status);
  if (live->profile_fd >= 0) return live;
  lh_live_free(live);
  return NULL;
}

void lh_live_free(lh_live *live) {
  if (!live) return;
  if (live->request) (void)munmap((void *)live->request, PAGE_BYTES);
  if (is_ours(live->request_fd, &live->request_status)) (void)close(live->request_fd);
  if (is_ours(live->profile_fd, &live->profile_status)) (void)close(live->profile_fd);
  lh_free(live);
}

bool lh_live_is_asked(const lh_live *live) {
  return atomic_load_explicit(live->request, memory_order_relaxed) != live->answered;
}

static size_t write_file(const void *data, size_t n, void *payload) {
  const int *fd = payload;
  return write(*fd, data, n) == (ssize_t)n ? n : 0;
}

void lh_live_publish(lh_live *live, const lh_profile_out *out, uint8_t *buffer) {
  struct stat status;
  lh_profile_blocks to;
  live->answered = atomic_load_explicit(live->request, memory_order_relaxed);
  int fd = make_file("luaheap-profile", 0, &status);
  if (fd < 0) return;
  lh_profile_blocks_begin(&to, buffer, write_file, &fd);
  lh_counting_write(out, &to, false);
  if (is_ours(live->profile_fd, &live->profile_status) &&
      dup3(fd, live->profile_fd, O_CLOEXEC) >= 0)
    live->profile_status = status;
  (void)close(fd);
}
