/*
** held_up.c - why a process cannot be stopped by a tracer: a frozen cgroup, or a long vfork().
**
** The kernel holds both kinds of process where no request of a tracer reaches them. A tracer that
** has asked one to stop waits until another process lets it go on. So this file looks first, and
** the process is not touched.
*/
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "process.h"
#include "stop.h"

/* {=== vfork ========================================================================= */

/* A thread that waits for a child that has its memory. */
typedef struct parent {
  pid_t process, id; /* id 0: no thread waits */
  char counts[80];   /* how often it ran, as the kernel writes it */
} parent;

static bool read_counts(parent *p) {
  char name[64];
  (void)snprintf(name, sizeof name, "task/%d/schedstat", (int)p->id);
  return lh_process_text(p->process, name, p->counts, sizeof p->counts) > 0;
}

static bool find_parent(void *payload, pid_t thread) {
  parent *p = payload;
  long call;
  uint64_t second_argument;
  bool waits = lh_thread_state(p->process, thread) == 'D' &&
               lh_call_of_sleeper(p->process, thread, &call, &second_argument) &&
               lh_call_may_share_memory(call);
  if (waits) p->id = thread;
  return !waits;
}

static bool has_run_since(const parent *p) {
  parent now = {.process = p->process, .id = p->id};
  return !read_counts(&now) || strcmp(p->counts, now.counts) != 0;
}

int lh_wait_for_vfork(pid_t process, lh_error *error) {
  const uint64_t most_ns = 1000000000;
  const struct timespec pause = {.tv_nsec = 1000000};
  parent p = {.process = process};
  (void)lh_visit_threads(process, find_parent, &p);
  if (p.id == 0 || !read_counts(&p)) return LH_OK;
  for (uint64_t until_ns = lh_now_ns() + most_ns; lh_now_ns() < until_ns;) {
    if (has_run_since(&p)) return LH_OK;
    (void)nanosleep(&pause, NULL);
  }
  if (has_run_since(&p)) return LH_OK;
  return lh_fail(error, LH_EIO,
                 "process %d waits in vfork() for its child, and cannot be stopped: try again when "
                 "the child has started its own program",
                 (int)process);
}

/* }=================================================================================== */

/* {=== Frozen cgroups ================================================================ */

/* One of the kernel's two versions of cgroups. */
typedef struct hierarchy {
  const char *controllers; /* as /proc/PID/cgroup names it */
  const char *mounts[2];
  const char *asked; /* the file that says whether this cgroup is frozen for its own sake */
  const char *thaws, *thaw_file; /* what thaws it, written into which file */
} hierarchy;

static const hierarchy hierarchies[] = {
    {"", {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}, "cgroup.freeze", "0", "cgroup.freeze"},
    {"freezer",
     {"/sys/fs/cgroup/freezer", NULL},
     "freezer.self_freezing",
     "THAWED",
     "freezer.state"}};

static bool is_frozen(const char *folder, const char *asked) {
  char path[4352];
  (void)snprintf(path, sizeof path, "%s/%s", folder, asked);
  FILE *file = fopen(path, "re");
  bool is_one = file && fgetc(file) == '1';
  if (file) (void)fclose(file);
  return is_one;
}

/* The cgroup, or the nearest one around it, that somebody has frozen. False: none. */
static bool find_frozen(const char *mount, const char *cgroup, const char *asked, char *folder,
                        size_t size) {
  size_t root = strlen(mount);
  if (snprintf(folder, size, "%s%s", mount, cgroup) >= (int)size) return false;
  while (strlen(folder) > root) {
    if (is_frozen(folder, asked)) return true;
    *strrchr(folder, '/') = '\0';
  }
  return false;
}

static const hierarchy *hierarchy_of(const char *controllers) {
  for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
    if (strcmp(controllers, hierarchies[i].controllers) == 0) return &hierarchies[i];
  }
  return NULL;
}

static int look_at_cgroup(pid_t process, char *line, lh_error *error) {
  char folder[4096];
  const char *controllers, *path;
  if (!lh_cut_cgroup_line(line, &controllers, &path)) return LH_OK;
  const hierarchy *h = hierarchy_of(controllers);
  for (size_t i = 0; h && i < 2 && h->mounts[i]; i++) {
    if (find_frozen(h->mounts[i], path, h->asked, folder, sizeof folder))
      return lh_fail(error, LH_EIO,
                     "the cgroup of process %d is frozen, so the process cannot run on to where "
                     "its heap is whole: thaw the cgroup (echo %s > %s/%s)",
                     (int)process, h->thaws, folder, h->thaw_file);
  }
  return LH_OK;
}

int lh_refuse_frozen(pid_t process, lh_error *error) {
  char text[8192], *rest = text;
  int rc = LH_OK;
  if (lh_process_text(process, "cgroup", text, sizeof text) <= 0) return LH_OK;
  while (rc == LH_OK && *rest) {
    char *line = rest;
    rest += strcspn(rest, "\n");
    if (*rest) *rest++ = '\0';
    rc = look_at_cgroup(process, line, error);
  }
  return rc;
}

/* }=================================================================================== */
