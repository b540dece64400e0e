/*
** process.c - reads a running process through /proc: mappings, names, memory, started processes.
**
** Nothing here stops the process, so its mappings may change while they are read. process_vm_readv
** reads 4 to 8 GB per second with the rights of a debugger. /proc/PID/mem, at half that speed, is
** used if a seccomp filter forbids it, and for pages shared with a parent or children: since Linux
** 6.0 process_vm_readv would first make the process its own copies of them.
**
** A process id may be used again, or the process start another program (exec). So the random bytes
** that the kernel gave it at its start are compared at each inspection.
*/
#include <dirent.h>
#include <sys/auxv.h>

#include "memory.h"
#include "stop.h"

enum { PROGRAM_BYTES = 4096 };

/* ==== Texts ========================================================================= */

int lh_process_file(int64_t process_id, const char *name, int flags) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/%s", process_id, name);
  return open(path, flags | O_CLOEXEC);
}

/* Reads up to the end of the file or of `size`. Returns the number of bytes, or -errno. */
static ssize_t read_on(int fd, char *out, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = read(fd, out + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) break;
    done += (size_t)n;
  }
  return (ssize_t)done;
}

ssize_t lh_process_text(int64_t process_id, const char *name, char *out, size_t size) {
  int fd = lh_process_file(process_id, name, O_RDONLY);
  ssize_t n = fd < 0 ? -errno : read_on(fd, out, size - 1);
  if (fd >= 0) (void)close(fd);
  out[n < 0 ? 0 : n] = '\0';
  return n;
}

/* The value of a line "Name:\tvalue"; "": none. */
static const char *find_value(const char *text, const char *name) {
  size_t n = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, n) == 0 && line[n] == ':')
      return line + n + 1 + strspn(line + n + 1, " \t");
  }
  return "";
}

static uint64_t find_last_number(const char *value) {
  uint64_t number = 0;
  for (char *end; *value != '\n' && *value; value = end) {
    uint64_t next = strtoull(value, &end, 10);
    if (end == value) break;
    number = next;
    end += strspn(end, " \t");
  }
  return number;
}

/* The thread's own file: for that of the process the kernel adds up the times of all threads. */
lh_process_field lh_process_field_of(int64_t process_id, unsigned i) {
  char text[512], name[64];
  lh_process_field field = {""};
  (void)snprintf(name, sizeof name, "task/%" PRId64 "/stat", process_id);
  ssize_t n = lh_process_text(process_id, name, text, sizeof text);
  const char *at = n > 0 ? strrchr(text, ')') : NULL;
  for (; at && i > 0; i--) at = strchr(at + 1, ' ');
  if (at) (void)snprintf(field.text, sizeof field.text, "%.*s", (int)strcspn(at + 1, " "), at + 1);
  return field;
}

static bool is_of_kernel(int64_t process_id) {
  enum { FLAGS = 7, FLAG_OF_KERNEL = 0x200000 /* PF_KTHREAD */ };
  return strtoul(lh_process_field_of(process_id, FLAGS).text, NULL, 10) & FLAG_OF_KERNEL;
}

uint64_t lh_processor_ns(pid_t process) {
  clockid_t clock;
  struct timespec had;
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &had) < 0) return 0;
  return (uint64_t)had.tv_sec * 1000000000 + (uint64_t)had.tv_nsec;
}

static uint64_t find_mask(const char *text, const char *name) {
  return strtoull(find_value(text, name), NULL, 16);
}

bool lh_process_status_of(int64_t process_id, lh_process_status *status) {
  char text[16384]; /* more than a thousand groups stand before the memory */
  memset(status, 0, sizeof *status);
  if (process_id <= 0 || lh_process_text(process_id, "status", text, sizeof text) <= 0)
    return false;
  status->leader = strtoll(find_value(text, "Tgid"), NULL, 10);
  status->parent = strtoll(find_value(text, "PPid"), NULL, 10);
  status->tracer = strtoll(find_value(text, "TracerPid"), NULL, 10);
  status->own_id = find_last_number(find_value(text, "NSpid"));
  status->capabilities = find_mask(text, "CapEff");
  status->pending = find_mask(text, "SigPnd") | find_mask(text, "ShdPnd");
  status->blocked = find_mask(text, "SigBlk");
  status->ignored = find_mask(text, "SigIgn");
  status->handled = find_mask(text, "SigCgt");
  status->threads = strtoull(find_value(text, "Threads"), NULL, 10);
  status->switches = strtoull(find_value(text, "voluntary_ctxt_switches"), NULL, 10);
  status->state = *find_value(text, "State");
  status->has_memory = *find_value(text, "VmSize") != '\0';
  status->is_of_kernel = !status->has_memory && is_of_kernel(process_id);
  status->system_filter = (unsigned)strtoul(find_value(text, "Seccomp"), NULL, 10);
  const char *users = find_value(text, "Uid");
  for (int i = 0; i < 4; i++) {
    char *end;
    status->users[i] = (uint32_t)strtoul(users, &end, 10);
    users = end;
  }
  if (!status->own_id) status->own_id = (uint64_t)process_id; /* a kernel without namespaces */
  return true;
}

void lh_process_be_victim(int64_t process_id, const char *likelihood) {
  int fd = lh_process_file(process_id, "oom_score_adj", O_WRONLY);
  if (fd < 0) return;
  if (write(fd, likelihood, strlen(likelihood)) < 0) { /* the old value stays */
  }
  (void)close(fd);
}

/* ==== Memory ======================================================================== */

bool lh_process_read(int64_t process_id, uint64_t address, void *out, size_t n) {
  enum { MOST_AT_ONCE = 1 << 30 };
  for (char *to = out; n > 0;) {
    size_t part = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
    struct iovec here = {to, part}, there = {(void *)(uintptr_t)address, part};
    ssize_t got = process_vm_readv((pid_t)process_id, &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    to += got;
    address += (uint64_t)got;
    n -= (size_t)got;
  }
  return true;
}

static bool read_now(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  bool has_file = memory->fd >= 0;
  if (memory->is_shared && has_file) return lh_pread_all(memory->fd, out, n, address);
  if (lh_process_read(memory->process_id, address, out, n)) return true;
  bool is_forbidden = errno == ENOSYS || errno == EPERM;
  return is_forbidden && has_file && lh_pread_all(memory->fd, out, n, address);
}

/* Reading a page of a mapped file may wait for its file server. */
bool lh_process_read_memory(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  const lh_memory_region *region = memory->awaited ? lh_region_at(memory, address) : NULL;
  lh_awaited *awaited = region && region->path[0] == '/' ? memory->awaited : NULL;
  lh_await(awaited, awaited ? region->path : "");
  bool is_read = read_now(memory, address, out, n);
  int os_errno = errno;
  lh_await_end(awaited);
  errno = os_errno;
  return is_read;
}

/* ==== Mappings ====================================================================== */

/* Reads /proc/PID/maps; the caller frees the text. NULL: *reason is an errno, or 0: empty. */
static char *read_maps(int64_t process_id, int *reason) {
  char *text = NULL;
  size_t n = 0, capacity = 0;
  int fd = lh_process_file(process_id, "maps", O_RDONLY);
  ssize_t got = fd < 0 ? -errno : 1;
  for (; got > 0; n += got > 0 ? (size_t)got : 0)
    got = lh_grow(&text, n, &capacity, 1) ? read_on(fd, text + n, capacity - n) : -ENOMEM;
  if (fd >= 0) (void)close(fd);
  *reason = (int)-got;
  if (got == 0 && n > 0) {
    text[n] = '\0';
    return text;
  }
  lh_free(text);
  return NULL;
}

/* Copies a path. The kernel writes a line break in it as \012. */
static size_t copy_path(char *out, const char *path, const char *end) {
  size_t n = 0;
  while (path < end) {
    bool is_escape = end - path >= 4 && strncmp(path, "\\012", 4) == 0;
    out[n++] = is_escape ? '\n' : *path;
    path += is_escape ? 4 : 1;
  }
  out[n++] = '\0';
  return n;
}

/* Parses "start-end rwxp offset device inode   path". Returns the path; NULL: no such line. */
static const char *parse_region(const char *line, lh_memory_region *region) {
  char *p;
  memset(region, 0, sizeof *region);
  region->start = strtoull(line, &p, 16);
  if (*p != '-') return NULL;
  region->end = strtoull(p + 1, &p, 16);
  if (*p != ' ' || strnlen(p, 6) < 6) return NULL;
  region->access = (p[1] == 'r' ? LH_REGION_READ : 0u) | (p[2] == 'w' ? LH_REGION_WRITE : 0u) |
                   (p[3] == 'x' ? LH_REGION_EXECUTE : 0u) | (p[4] == 's' ? LH_REGION_SHARED : 0u);
  region->file_offset = strtoull(p + 5, &p, 16);
  p += strspn(p, " ");
  p += strcspn(p, " \n"); /* the device */
  (void)strtoull(p, &p, 10);
  region->present_bytes = region->end - region->start;
  region->file = -1;
  return p + strspn(p, " ");
}

/* The regions, followed by their paths, in one block. */
static lh_memory_region *parse_maps(const char *text, size_t *n_regions) {
  size_t n_lines = 0, n = 0, text_bytes = strlen(text);
  for (const char *p = text; *p; p++) n_lines += *p == '\n';
  lh_memory_region *regions = lh_alloc(1, n_lines * sizeof *regions + text_bytes + 1);
  if (!regions) return NULL;
  char *paths = (char *)(regions + n_lines);
  *paths++ = '\0';
  const char *before = "", *none = before;
  for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
    const char *path = parse_region(line, &regions[n]);
    if (!path || regions[n].start >= regions[n].end) continue;
    if (n > 0 && regions[n].start < regions[n - 1].end) continue;
    if (path < end) {
      size_t size = copy_path(paths, path, end);
      if (strcmp(before, paths) != 0) {
        before = paths;
        paths += size;
      }
    }
    regions[n++].path = path < end ? before : none;
  }
  *n_regions = n;
  return regions;
}

static int read_regions(lh_target *target, lh_error *error) {
  size_t n;
  int reason;
  char *text = read_maps(target->process_id, &reason);
  if (!text && reason != ENOMEM)
    return lh_refuse_process(target->process_id, reason ? reason : EACCES, error);
  lh_memory_region *regions = text ? parse_maps(text, &n) : NULL;
  lh_free(text);
  if (!regions) return lh_fail_memory(error, "reading what a process has mapped");
  lh_free(target->memory.regions);
  target->memory.regions = regions;
  target->memory.n = n;
  return 0;
}

/* ==== Identity ====================================================================== */

/* Reads the bytes at AT_RANDOM. The auxiliary vector has pairs of a small number and a value. Both
** have 32 bits in a 32-bit program: so its file, whose server may never answer, is not opened. */
static int read_random(const lh_target *target, uint8_t random[16], lh_error *error) {
  uint64_t entries[2 * 64] = {0}, address = 0;
  ssize_t n = lh_process_text(target->process_id, "auxv", (char *)entries, sizeof entries);
  if (n < 0) return lh_refuse_process(target->process_id, (int)-n, error);
  if (entries[0] > UINT32_MAX)
    return lh_fail(error, LH_EHOST,
                   "process %" PRId64 " is a 32-bit program; only 64-bit ones can be read",
                   target->process_id);
  for (size_t i = 0; i + 1 < (size_t)n / sizeof *entries; i += 2) {
    if (entries[i] == AT_RANDOM) address = entries[i + 1];
  }
  errno = ESRCH; /* an ended process has no such entry */
  if (address && target->memory.read(&target->memory, address, random, 16)) return 0;
  return lh_refuse_process(target->process_id, errno, error);
}

int lh_process_refresh(lh_target *target, lh_error *error) {
  uint8_t random[16];
  lh_process_status status;
  if (!lh_process_status_of(target->process_id, &status) || status.state == 'Z')
    return lh_refuse_process(target->process_id, ESRCH, error);
  int code = read_random(target, random, error);
  if (code == 0 && memcmp(random, target->random, sizeof random) != 0) {
    code = lh_fail(error, LH_EIO,
                   "process %" PRId64 " runs another program by now: what was found in it is gone",
                   target->process_id);
    if (error) error->os_errno = ESRCH;
  }
  return code < 0 ? code : read_regions(target, error);
}

static bool read_names(lh_target *target) {
  char text[PROGRAM_BYTES], path[64];
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/cmdline", target->process_id);
  lh_await(target->memory.awaited, path); /* the command line is memory of the process */
  ssize_t n = lh_process_text(target->process_id, "cmdline", text, sizeof text);
  lh_await_end(target->memory.awaited);
  while (n > 0 && text[n - 1] == '\0') n--;
  for (ssize_t i = 0; i < n; i++) {
    if (text[i] == '\0') text[i] = ' ';
  }
  text[n < 0 ? 0 : n] = '\0';
  target->program = lh_copy_text(text);
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/exe", target->process_id);
  n = readlink(path, text, sizeof text - 1);
  text[n < 0 ? 0 : n] = '\0';
  target->executable = lh_copy_text(text);
  return target->program && target->executable;
}

/* The id must be that of a process, not of another thread, and the process must have memory. */
static int check_kind(lh_target *target, lh_error *error) {
  lh_process_status status;
  int64_t id = target->process_id;
  if (!lh_process_status_of(id, &status) || status.leader != id || !status.has_memory ||
      id == getpid())
    return lh_refuse_process(id, ESRCH, error);
  target->own_process_id = status.own_id;
  return 0;
}

static int open_process(lh_target *target, lh_error *error) {
  int code = check_kind(target, error);
  if (code < 0) return code;
  target->guard = lh_guard_begin((pid_t)target->process_id);
  target->memory.fd = lh_process_file(target->process_id, "mem", O_RDONLY);
  if (target->memory.fd < 0) return lh_refuse_process(target->process_id, errno, error);
  if (!read_names(target)) return lh_fail_memory(error, "looking at a process");
  code = read_regions(target, error);
  if (code == 0) code = read_random(target, target->random, error);
  if (code == 0) target->memory.is_shared = lh_pages_are_shared(&target->memory);
  return code;
}

int lh_open_process(int64_t process_id, lh_awaited *awaited, lh_target **out, lh_error *error) {
  lh_target *target = *out = lh_alloc_zeroed(1, sizeof *target);
  if (!target) return lh_fail_memory(error, "opening a process");
  target->process_id = process_id;
  target->memory = (lh_memory){
      .read = lh_process_read_memory, .process_id = process_id, .fd = -1, .awaited = awaited};
  int code = open_process(target, error);
  if (code == 0) return 0;
  lh_target_free(target);
  *out = NULL;
  return code;
}

void lh_process_close(lh_target *target) {
  lh_guard_end(target->guard);
  if (target->memory.fd >= 0) (void)close(target->memory.fd);
  lh_free(target->memory.regions);
}

/* ==== Started processes ============================================================= */

/* Each process names its parent, also if a thread of the parent started it. The kernel's own list
** of children is not always available or complete. Processes that start meanwhile may be missed.
** One pass over /proc: 3 ms for a thousand processes. */
typedef struct relative {
  int64_t id, parent;
  bool is_found;
} relative;

typedef struct relatives {
  relative *of; /* by parent, then by id */
  size_t n, capacity;
} relatives;

static int compare_relatives(const void *a, const void *b) {
  const relative *x = a, *y = b;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* False: out of memory. Leaves out this process. */
static bool list_all(relatives *all) {
  DIR *directory = opendir("/proc");
  bool fits = true;
  for (struct dirent *entry; fits && directory && (entry = readdir(directory));) {
    lh_process_status status;
    int64_t id = strtoll(entry->d_name, NULL, 10);
    if (id <= 0 || id == getpid() || !lh_process_status_of(id, &status)) continue;
    fits = lh_grow(&all->of, all->n, &all->capacity, sizeof *all->of);
    if (fits) all->of[all->n++] = (relative){.id = id, .parent = status.parent};
  }
  if (directory) (void)closedir(directory);
  if (fits && all->n > 1) qsort(all->of, all->n, sizeof *all->of, compare_relatives);
  return fits;
}

static size_t first_of_parent(const relatives *all, int64_t parent) {
  size_t at;
  LH_LOWER_BOUND(at, all->n, all->of[at].parent < parent);
  return at;
}

/* An id may be used again meanwhile: then two processes may seem to be each other's children. */
static size_t find_those_of(relatives *all, int64_t parent, int64_t *ids, size_t n) {
  for (size_t i = first_of_parent(all, parent); i < all->n && all->of[i].parent == parent; i++) {
    if (all->of[i].is_found) continue;
    all->of[i].is_found = true;
    ids[n++] = all->of[i].id;
  }
  return n;
}

int lh_find_started(int64_t process_id, int64_t **ids, size_t *n, lh_error *error) {
  relatives all = {0};
  *n = 0;
  bool is_listed = list_all(&all);
  *ids = is_listed ? lh_alloc(all.n, sizeof **ids) : NULL;
  if (*ids) {
    *n = find_those_of(&all, process_id, *ids, 0);
    for (size_t i = 0; i < *n; i++) *n = find_those_of(&all, (*ids)[i], *ids, *n);
  }
  lh_free(all.of);
  return *ids ? LH_OK : lh_fail_memory(error, "looking for what a process has started");
}

/* ==== Waiting for a file ========================================================= */

/* A file may be on a network or a process's own file system (FUSE). If its server does not answer,
** the reader sleeps in the kernel, and often no signal ends that. So a process records its wait in
** a page shared with its parent, which looks twice a second: if the process is in the same wait and
** was not woken even once, the wait may never end, and the parent abandons the process. */
static void put_awaited(lh_awaited *awaited, const char *path, bool is_output) {
  if (!awaited) return;
  (void)snprintf(awaited->path, sizeof awaited->path, "%s", path);
  awaited->is_output = is_output;
  (void)__atomic_add_fetch(&awaited->n, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&awaited->process_id, getpid(), __ATOMIC_RELEASE);
}

void lh_await(lh_awaited *awaited, const char *path) {
  put_awaited(awaited, path, false);
}

void lh_await_output(lh_awaited *awaited, const char *path) {
  put_awaited(awaited, path, true);
}

void lh_await_end(lh_awaited *awaited) {
  if (awaited) __atomic_store_n(&awaited->process_id, 0, __ATOMIC_RELEASE);
}

/* Waiting for a processor is not sleeping. A process woken by a slow disk switches each time. */
unsigned lh_await_look(lh_await_watch *watch, const lh_awaited *awaited) {
  lh_process_status status;
  int64_t id = __atomic_load_n(&awaited->process_id, __ATOMIC_ACQUIRE);
  uint64_t n = __atomic_load_n(&awaited->n, __ATOMIC_ACQUIRE);
  bool waits =
      id > 0 && lh_process_status_of(id, &status) && (status.state == 'S' || status.state == 'D');
  uint64_t switches = waits ? status.switches : 0;
  bool is_same = waits && n == watch->n && switches == watch->switches;
  watch->times = is_same ? watch->times + 1 : 0;
  watch->n = n;
  watch->switches = switches;
  return watch->times;
}
