/* profile.c - the life of a profile, its file, and the work after each KB of events (profile.h). */
#include "track/profile.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file.h"
#include "profile/format.h"

/* ==== The file ===================================================================== */

/* The file is locked while it is written. So a second state of the program, or a program that it
** starts, does not replace it: LUA_HEAP names the same file to all. Forked children share the lock,
** so it is released and not only closed. */

struct lh_profile_file {
  lh_file file;
  char path[PATH_MAX];
  struct stat status; /* of file.fd, when it was opened */
  uint64_t bytes;     /* written */
  pid_t process_id;   /* that writes it */
  lh_error error;
};

static int make_absolute(lh_profile_file *f, const char *path, lh_error *error) {
  char folder[PATH_MAX] = "";
  if (path[0] != '/' && !getcwd(folder, sizeof folder))
    return lh_fail_errno(error, errno, "cannot write '%s'", path);
  int n = snprintf(f->path, sizeof f->path, "%s%s%s", folder, *folder ? "/" : "", path);
  if (n < 0 || (size_t)n >= sizeof f->path)
    return lh_fail_errno(error, ENAMETOOLONG, "cannot write '%s'", path);
  return LH_OK;
}

/* A file that cannot be opened is reported by lh_file_open, if that matters. */
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

/* Hosts close descriptors, and their numbers are used again. */
static bool is_our_file(int fd, const struct stat *status) {
  struct stat now;
  return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == status->st_dev &&
         now.st_ino == status->st_ino;
}

static void close_file(lh_profile_file *f) {
  if (!is_our_file(f->file.fd, &f->status)) f->file.fd = -1;
  if (f->file.fd >= 0 && f->process_id == getpid()) (void)flock(f->file.fd, LOCK_UN);
  lh_file_close(&f->file);
  f->file = (lh_file){.fd = -1, .folder_fd = -1};
}

static void file_free(lh_profile_file *f) {
  if (!f) return;
  close_file(f);
  lh_free(f);
}

/* Makes the path absolute, since the program may change its directory. LH_EIO: the file there is no
** profile, or is being written. */
static int file_new(lh_profile_file **out, const char *path, lh_error *error) {
  lh_profile_file *f = lh_alloc_zeroed(1, sizeof *f);
  if (!f) return lh_fail_memory(error, "opening a profile");
  f->file.fd = f->file.folder_fd = -1;
  f->process_id = getpid();
  int code = make_absolute(f, path, error);
  if (code == LH_OK) code = check_older(f->path, error);
  if (code != LH_OK) file_free(f);
  *out = code == LH_OK ? f : NULL;
  return code;
}

/* Opens a file without a name, for file_write. file_name gives it its name when it is whole enough,
** in place of an older file. It stays open until the next file_open. */
static int file_open(lh_profile_file *f, lh_error *error) {
  close_file(f);
  f->bytes = 0;
  f->error.code = LH_OK;
  int code = lh_file_open(&f->file, f->path, error);
  if (code == LH_OK && fstat(f->file.fd, &f->status) != 0)
    code = lh_fail_errno(error, errno, "cannot write '%s'", f->path);
  if (code != LH_OK) close_file(f);
  return code;
}

/* Afterwards only the descriptor of the lh_file is in use. */
static int file_name(lh_profile_file *f, lh_error *error) {
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
  if (fd >= 0) (void)flock(fd, LOCK_EX | LOCK_NB); /* some file systems have no locks */
  return fd < 0 ? LH_EIO : LH_OK;
}

/* An lh_writer: all bytes or none, and none after the first failure. */
static size_t file_write(const void *data, size_t n, void *payload) {
  lh_profile_file *f = payload;
  int os_errno = EBADF;
  if (f->error.code != LH_OK) return 0;
  if (is_our_file(f->file.fd, &f->status)) {
    f->file.failure.os_errno = 0;
    if (lh_file_write(data, n, &f->file) == n) {
      f->bytes += n;
      return n;
    }
    os_errno = f->file.failure.os_errno;
    /* Cuts off half a block, so that the file ends after a whole one. */
    if (ftruncate(f->file.fd, (off_t)f->bytes) != 0 ||
        lseek(f->file.fd, (off_t)f->bytes, SEEK_SET) < 0)
      f->status.st_ino = 0; /* nothing more is written behind it */
  }
  (void)lh_fail_errno(&f->error, os_errno, "cannot write '%s'", f->path);
  return 0;
}

/* ==== For a watcher ================================================================ */

/* The watcher is another process, which may look at this process's descriptors in /proc/PID/fd.
** There are two files in memory. "luaheap-profile" holds the profile. dup3 replaces it as a whole:
** a watcher that has opened it reads on in the old file; one that opens it finds the old file or
** the new one, which has another inode number.
**
** "luaheap-request" is empty, and sealed so that nobody can write into it. A watcher asks by a lock
** on the byte whose number is the profile's inode number. The lock says "this profile is old", so
** one new profile answers all watchers, and no lock has to be removed: the kernel does that when
** the watcher ends. This process looks for the lock each 20 ms, only while it allocates: two calls
** of fcntl, which never wait. A program that allocates nothing does not answer.
**
** Security: the watcher may be root, and this process its enemy. The watcher writes nothing into
** the files, and lib/profile/tracked.c says which contents it believes. A watcher needs a
** debugger's rights to take the lock, and can only ask with it, at most 50 times a second. */

#define BETWEEN_LOOKS_NS UINT64_C(20000000)

struct lh_live {
  int request_fd, profile_fd;
  uint64_t looked_ns;
  struct stat request_status, profile_status;
};

static int make_file(const char *name, struct stat *status) {
  int fd = lh_move_descriptor_up(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0 || fstat(fd, status) == 0) return fd;
  (void)close(fd);
  return -1;
}

/* An empty file that stays empty; -1: the system has no files of this kind. */
static int make_sealed(const char *name, struct stat *status) {
  int fd = make_file(name, status);
  if (fd < 0 || fcntl(fd, F_ADD_SEALS, LH_LIVE_SEALS) == 0) return fd;
  (void)close(fd);
  return -1;
}

void lh_live_free(lh_live *live) {
  if (!live) return;
  if (is_our_file(live->request_fd, &live->request_status)) (void)close(live->request_fd);
  if (is_our_file(live->profile_fd, &live->profile_status)) (void)close(live->profile_fd);
  lh_free(live);
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

/* The seals prove that the descriptor is still a file in memory, for which fcntl asks no server. */
static bool live_is_asked(lh_live *live, uint64_t now_ns) {
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
  return lh_write_no_signal(*fd, &all, 1) == (ssize_t)n ? n : 0;
}

void lh_live_publish(lh_live *live, const lh_profile_out *out, uint8_t *buffer) {
  struct stat status;
  lh_profile_blocks to;
  if (!is_our_file(live->profile_fd, &live->profile_status)) return;
  int fd = make_file(LH_LIVE_PROFILE, &status);
  if (fd < 0) return;
  lh_profile_blocks_begin(&to, buffer, write_file, &fd);
  lh_counting_write(out, &to, false);
  if (fcntl(fd, F_ADD_SEALS, LH_LIVE_SEALS) == 0 && dup3(fd, live->profile_fd, O_CLOEXEC) >= 0)
    live->profile_status = status;
  (void)close(fd);
}

/* After TICK_BYTES of events the time is read and put. */
enum { TICK_BYTES = 1024, TIME_BYTES = 1 + LH_MAX_VARINT };

#define SECOND UINT64_C(1000000000)
#define FLUSH_NS SECOND                /* a killed program loses no more */
#define REWRITE_NS (10 * SECOND)       /* an aggregate, of some 100 KB */
#define LEAST_BETWEEN_CALLS (1u << 20) /* bytes of the file */

/* ==== Blocks of the file ============================================================ */

/* A forked child has a copy of the profile, and the same descriptor. */
static bool is_forked(const lh_profile_out *out) {
  return out->process_id != getpid();
}

static size_t write_block(const void *data, size_t n, void *payload) {
  lh_profile_out *out = payload;
  if (out->is_open && (is_forked(out) || file_write(data, n, out->file) < n)) out->is_open = false;
  if (!out->is_open) return 0;
  out->n_written = out->n_events;
  return n;
}

/* Events of a block that could not be written are lost. */
static void end_block(lh_profile_out *out) {
  lh_profile_blocks_next(&out->to, LH_BLOCK_RECORDS);
  out->lost_events += out->n_events - out->n_written;
  out->n_events = out->n_written;
}

static void put_time(lh_profile_out *out, uint64_t now_ns) {
  uint8_t *p = lh_profile_blocks_room(&out->to, TIME_BYTES);
  *p++ = LH_RECORD_TIME;
  out->to.at = lh_put_uvarint(p, now_ns - out->time_ns);
  out->time_ns = now_ns;
}

/* An event that begins before it leaves room for a time record. */
static uint8_t *last_stop(const lh_profile_out *out) {
  return out->to.buffer + LH_PROFILE_BUFFER - LH_LONGEST_EVENT - TIME_BYTES;
}

static void set_stop(lh_profile_out *out) {
  uint8_t *last = last_stop(out);
  out->stop = last - out->to.at > TICK_BYTES ? out->to.at + TICK_BYTES : last;
}

static void define_new(lh_profile_out *out) {
  lh_profile_blocks_define(&out->to, out, &out->defined);
  out->n_stacks = out->defined.stacks;
}

/* Tables of calls are an eighth of the file at most, if they do not grow. */
static void write_calls(lh_profile_out *out, bool is_due) {
  uint64_t last = out->calls_end - out->calls_at, since = out->to.offset - out->calls_end;
  if (!out->options.calls || (!is_due && since < 8 * last + LEAST_BETWEEN_CALLS)) return;
  define_new(out);
  end_block(out);
  out->calls_at = out->to.offset;
  lh_profile_blocks_calls(&out->to, out, out->n_stacks);
  out->calls_end = out->to.offset;
}

/* ==== Work between events =========================================================== */

static void tick(lh_profile_out *out) {
  uint64_t now_ns = lh_now_ns();
  put_time(out, now_ns);
  if (out->to.at + TICK_BYTES >= last_stop(out) || now_ns - out->flushed_ns >= FLUSH_NS) {
    end_block(out);
    out->flushed_ns = now_ns;
    write_calls(out, false);
  }
  lh_profile_look(out, now_ns);
}

uint8_t *lh_profile_make_room(lh_profile_out *out, lh_stack_id stack) {
  int os_errno = errno, before = lh_hold_cancel(); /* allocations keep the program's errno */
  if (out->to.at >= out->stop) tick(out);
  if (stack > out->n_stacks) {
    define_new(out);
    (void)lh_profile_blocks_room(&out->to, LH_LONGEST_EVENT + TIME_BYTES);
  }
  set_stop(out);
  lh_release_cancel(before);
  errno = os_errno;
  return out->to.at;
}

static int rewrite(lh_profile_out *out, bool is_final, lh_error *error) {
  int code = file_open(out->file, error);
  if (code != LH_OK) return code;
  lh_profile_blocks to;
  lh_profile_blocks_begin(&to, out->other_buffer, file_write, out->file);
  lh_counting_write(out, &to, is_final);
  return file_name(out->file, error);
}

void lh_profile_look(lh_profile_out *out, uint64_t now_ns) {
  int os_errno = errno;
  if (out->file) lh_note_mask(&out->usual_mask);
  bool is_asked = out->live && live_is_asked(out->live, now_ns);
  bool is_due = out->is_open && !out->has_events && now_ns - out->flushed_ns >= REWRITE_NS;
  if ((!is_asked && !is_due) || is_forked(out)) {
    errno = os_errno;
    return;
  }
  int before = lh_hold_cancel();
  if (is_asked) lh_live_publish(out->live, out, out->other_buffer);
  if (is_due) {
    out->flushed_ns = now_ns;
    out->trouble.code = LH_OK; /* the new file has everything that the last one lacked */
    (void)rewrite(out, false, &out->trouble);
  }
  lh_release_cancel(before);
  errno = os_errno;
}

/* ==== The life of a profile ========================================================= */

static size_t mapped_bytes(void) {
  return sizeof(lh_profile_out) + 2 * (size_t)LH_PROFILE_BUFFER;
}

static void free_out(lh_profile_out *out) {
  lh_live_free(out->live);
  lh_counting_free(out->counting);
  file_free(out->file);
  lh_free_pages(out, mapped_bytes());
}

static void take_options(lh_profile_out *out, const lh_profile_options *options) {
  struct timespec now;
  out->options = *options;
  out->has_events = options->path && !options->is_aggregate;
  out->has_weights = options->sample_bytes > 0;
  (void)snprintf(out->release, sizeof out->release, "%s", options->release);
  (void)clock_gettime(CLOCK_REALTIME, &now);
  lh_note_mask(&out->usual_mask);
  out->start_unix_ns = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
  out->start_ns = out->time_ns = out->flushed_ns = lh_now_ns();
  out->process_id = getpid();
}

static int begin_events(lh_profile_out *out, lh_error *error) {
  int code = file_open(out->file, error);
  if (code != LH_OK) return code;
  lh_profile_blocks_begin(&out->to, out->to.buffer, write_block, out);
  lh_profile_blocks_facts(&out->to, out, false);
  lh_profile_blocks_next(&out->to, LH_BLOCK_RECORDS);
  return file_name(out->file, error);
}

static int begin_profile(lh_profile_out *out, lh_error *error) {
  const lh_profile_options *options = &out->options;
  if (options->is_aggregate || options->is_live) {
    out->counting = lh_counting_new(out->has_weights);
    if (!out->counting) return lh_fail_memory(error, "beginning a profile");
  }
  if (options->is_live) out->live = lh_live_new();
  if (!options->path) return LH_OK;
  int code = file_new(&out->file, options->path, error);
  if (code != LH_OK) return code;
  out->is_open = true;
  return out->has_events ? begin_events(out, error) : rewrite(out, false, error);
}

int lh_profile_begin(lh_profile_out **result, const lh_profile_options *options, lh_error *error) {
  lh_profile_out *out = *result = lh_alloc_pages(mapped_bytes());
  if (!out) return lh_fail_memory(error, "beginning a profile");
  out->to.buffer = (uint8_t *)(out + 1);
  out->other_buffer = out->to.buffer + LH_PROFILE_BUFFER;
  take_options(out, options);
  int code = begin_profile(out, error);
  if (code != LH_OK) {
    free_out(out);
    *result = NULL;
    return code;
  }
  if (out->has_events) define_new(out);
  set_stop(out);
  return LH_OK;
}

static int result_of_profile(const lh_profile_out *out, lh_error *error) {
  if (out->trouble.code == LH_OK || !error) return out->trouble.code;
  *error = out->trouble;
  if (out->lost_events > 0) {
    size_t used = strlen(error->message);
    (void)snprintf(error->message + used, sizeof error->message - used, "; %s lost",
                   lh_count_of(out->lost_events, "event is", "events are").text);
  }
  return error->code;
}

/* A full disk may have room for the end block, which says how much was lost. */
static int end_events(lh_profile_out *out, lh_error *error) {
  put_time(out, lh_now_ns());
  write_calls(out, true);
  end_block(out);
  lh_profile_blocks_end(&out->to, out, out->n_events, true);
  if (!out->is_open) {
    out->trouble = out->file->error;
    out->file->error.code = LH_OK;
    out->is_open = true;
    lh_profile_blocks_end(&out->to, out, out->n_events, true);
  }
  return result_of_profile(out, error);
}

int lh_profile_end(lh_profile_out *out, lh_error *error) {
  int code = LH_OK;
  if (!out) return code;
  int before = lh_hold_cancel();
  if (out->file && !is_forked(out))
    code = out->has_events ? end_events(out, error) : rewrite(out, true, error);
  free_out(out);
  lh_release_cancel(before);
  return code;
}
