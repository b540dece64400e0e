/*
** cgroups.c - how much memory cgroups leave to a process, and whether a process is frozen.
**
** No request of a tracer reaches a frozen process. Cached pages of files count as free memory,
** because the kernel drops them when it needs memory.
*/
#include "stop.h"

enum { PATH_BYTES = 8192, LINE_BYTES = 4352 };

/* The kernel has two versions of cgroups; a system may use both. */
typedef struct hierarchy {
  const char *controller; /* as in /proc/PID/cgroup; "": version 2 */
  const char *mount;
  const char *limit, *use;  /* files; NULL: none */
  const char *droppable[2]; /* names in memory.stat */
  const char *asked;        /* file: is this cgroup itself frozen? NULL: none */
  const char *thaws, *thaw_file;
} hierarchy;

static const hierarchy hierarchies[] = {{"",
                                         "/sys/fs/cgroup",
                                         "memory.max",
                                         "memory.current",
                                         {"inactive_file", "active_file"},
                                         "cgroup.freeze",
                                         "0",
                                         "cgroup.freeze"},
                                        {.controller = "",
                                         .mount = "/sys/fs/cgroup/unified",
                                         .asked = "cgroup.freeze",
                                         .thaws = "0",
                                         .thaw_file = "cgroup.freeze"},
                                        {.controller = "memory",
                                         .mount = "/sys/fs/cgroup/memory",
                                         .limit = "memory.limit_in_bytes",
                                         .use = "memory.usage_in_bytes",
                                         .droppable = {"total_inactive_file", "total_active_file"}},
                                        {.controller = "freezer",
                                         .mount = "/sys/fs/cgroup/freezer",
                                         .asked = "freezer.self_freezing",
                                         .thaws = "THAWED",
                                         .thaw_file = "freezer.state"}};

/* The number after `name` and a space; "": at the file's start. False: none, as in "max". */
static bool read_number(const char *path, const char *name, uint64_t *number) {
  char line[128];
  size_t length = strlen(name);
  bool is_found = false;
  FILE *file = fopen(path, "re");
  while (file && !is_found && fgets(line, sizeof line, file)) {
    char *end;
    if (strncmp(line, name, length) != 0 || (length > 0 && line[length] != ' ')) continue;
    errno = 0;
    *number = strtoull(line + length, &end, 10);
    is_found = end != line + length && errno == 0;
  }
  if (file) (void)fclose(file);
  return is_found;
}

static bool read_field(const char *folder, const char *file, const char *name, uint64_t *number) {
  char path[PATH_BYTES];
  int n = snprintf(path, sizeof path, "%s/%s", folder, file);
  return n < (int)sizeof path && read_number(path, name, number);
}

/* Returning true ends the visit. */
typedef bool visitor(void *payload, const hierarchy *h, const char *folder);

/* Visits a cgroup and all above it up to the mount; a container may see only the mount. */
static bool climb(const hierarchy *h, const char *root, const char *cgroup, visitor *visit,
                  void *payload) {
  char folder[PATH_BYTES];
  size_t least = strlen(root) + strlen(h->mount);
  if (snprintf(folder, sizeof folder, "%s%s%s", root, h->mount, cgroup) >= (int)sizeof folder)
    return false;
  while (!visit(payload, h, folder)) {
    char *slash = strrchr(folder, '/');
    if (!slash || (size_t)(slash - folder) < least) return false;
    *slash = '\0';
  }
  return true;
}

static bool has_controller(const char *controllers, const char *wanted) {
  char list[128], word[32];
  (void)snprintf(list, sizeof list, ",%s,", controllers);
  (void)snprintf(word, sizeof word, ",%s,", wanted);
  return strstr(list, word) != NULL;
}

/* The lines are "number:controllers:path". `root` is put before all paths. */
static bool visit_cgroups(const char *root, const char *process, visitor *visit, void *payload) {
  char line[LINE_BYTES], path[PATH_BYTES];
  bool has_ended = false;
  (void)snprintf(path, sizeof path, "%s/proc/%s/cgroup", root, process);
  FILE *file = fopen(path, "re");
  while (file && !has_ended && fgets(line, sizeof line, file)) {
    char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    if (!second) continue;
    *second = '\0';
    second[1 + strcspn(second + 1, "\n")] = '\0';
    for (size_t i = 0; !has_ended && i < sizeof hierarchies / sizeof *hierarchies; i++) {
      if (has_controller(first + 1, hierarchies[i].controller))
        has_ended = climb(&hierarchies[i], root, second + 1, visit, payload);
    }
  }
  if (file) (void)fclose(file);
  return has_ended;
}

static bool limit_room(void *payload, const hierarchy *h, const char *folder) {
  lh_room *room = payload;
  uint64_t limit, use, droppable = 0;
  if (!h->limit || !read_field(folder, h->limit, "", &limit) ||
      !read_field(folder, h->use, "", &use))
    return false;
  for (int i = 0; i < 2; i++) {
    uint64_t bytes = 0;
    if (read_field(folder, "memory.stat", h->droppable[i], &bytes)) droppable += bytes;
  }
  use -= droppable < use ? droppable : use;
  uint64_t left = limit > use ? limit - use : 0;
  if (left < room->bytes) *room = (lh_room){.bytes = left, .is_limited = true};
  return false;
}

lh_room lh_find_room(const char *root) {
  char path[PATH_BYTES];
  uint64_t kib;
  lh_room room = {.bytes = UINT64_MAX};
  (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
  if (read_number(path, "MemAvailable:", &kib)) room.bytes = kib * 1024;
  (void)visit_cgroups(root, "self", limit_room, &room);
  return room;
}

lh_room lh_find_room_of(const char *root, int64_t process_id) {
  char number[24];
  lh_room room = {.bytes = UINT64_MAX};
  (void)snprintf(number, sizeof number, "%" PRId64, process_id);
  (void)visit_cgroups(root, number, limit_room, &room);
  return room;
}

typedef struct frozen {
  const hierarchy *hierarchy;
  char folder[PATH_BYTES];
} frozen;

static bool is_frozen(void *payload, const hierarchy *h, const char *folder) {
  frozen *f = payload;
  uint64_t asked;
  if (!h->asked || !read_field(folder, h->asked, "", &asked) || asked != 1) return false;
  f->hierarchy = h;
  (void)snprintf(f->folder, sizeof f->folder, "%s", folder);
  return true;
}

int lh_refuse_frozen(pid_t process, lh_error *error) {
  char number[24];
  frozen f;
  (void)snprintf(number, sizeof number, "%d", (int)process);
  if (!visit_cgroups("", number, is_frozen, &f)) return LH_OK;
  return lh_fail(error, LH_EIO,
                 "the cgroup of process %d is frozen, so the process cannot run on to where "
                 "its heap is whole: thaw the cgroup (echo %s > %s/%s)",
                 (int)process, f.hierarchy->thaws, f.folder, f.hierarchy->thaw_file);
}
