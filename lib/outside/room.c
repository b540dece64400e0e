/*
** room.c - how much memory this process may still take: what the machine has, and what the limits
** of its cgroup, and of the cgroups around that one, leave.
**
** A cgroup's use has the pages of files that it has read. The kernel drops these pages when the
** memory is needed, so they count as free.
*/
#include "room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

enum { PATH_BYTES = 8192, LINE_BYTES = 4352 };

/* One of the kernel's two versions of cgroups. */
typedef struct hierarchy {
  const char *mount, *limit, *use;
  const char *droppable[2]; /* names in memory.stat */
} hierarchy;

static const hierarchy first = {"/sys/fs/cgroup/memory",
                                "memory.limit_in_bytes",
                                "memory.usage_in_bytes",
                                {"total_inactive_file", "total_active_file"}};
static const hierarchy second = {
    "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}};

/* The number behind a name and a space in a file; an empty name: the number at its start. False:
** there is none, as where the limit is "max". */
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

static void limit_by(lh_room *room, const hierarchy *h, const char *folder) {
  uint64_t limit, use, droppable = 0;
  if (!read_field(folder, h->limit, "", &limit) || !read_field(folder, h->use, "", &use)) return;
  for (int i = 0; i < 2; i++) {
    uint64_t bytes = 0;
    if (read_field(folder, "memory.stat", h->droppable[i], &bytes)) droppable += bytes;
  }
  use -= droppable < use ? droppable : use;
  uint64_t left = limit > use ? limit - use : 0;
  if (left < room->bytes) *room = (lh_room){.bytes = left, .is_limited = true};
}

/* Of a cgroup, and of all around it up to the mount. In a container that may be all there is. */
static void limit_by_cgroups(lh_room *room, const hierarchy *h, const char *root,
                             const char *cgroup) {
  char folder[PATH_BYTES];
  size_t least = strlen(root) + strlen(h->mount);
  if (snprintf(folder, sizeof folder, "%s%s%s", root, h->mount, cgroup) >= (int)sizeof folder)
    return;
  for (size_t n = strlen(folder); n >= least; n = strlen(folder)) {
    limit_by(room, h, folder);
    char *slash = strrchr(folder, '/');
    if (!slash || n == least) return;
    *slash = '\0';
  }
}

static bool has_memory_controller(const char *controllers) {
  char list[128];
  (void)snprintf(list, sizeof list, ",%s,", controllers);
  return strstr(list, ",memory,") != NULL;
}

static void limit_by_line(lh_room *room, const char *root, char *line) {
  line[strcspn(line, "\n")] = '\0';
  const char *controllers, *path;
  if (!lh_cut_cgroup_line(line, &controllers, &path)) return;
  if (*controllers == '\0') limit_by_cgroups(room, &second, root, path);
  if (has_memory_controller(controllers)) limit_by_cgroups(room, &first, root, path);
}

lh_room lh_find_room(const char *root) {
  char line[LINE_BYTES], path[PATH_BYTES];
  uint64_t kib;
  lh_room room = {.bytes = UINT64_MAX};
  (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
  if (read_number(path, "MemAvailable:", &kib)) room.bytes = kib * 1024;
  (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file)) limit_by_line(&room, root, line);
  if (file) (void)fclose(file);
  return room;
}
