/*
** rights.c - says why a process may not be inspected, and what to do about it.
**
** The kernel says only EPERM, EACCES or ESRCH. So its reasons (ptrace(2), "Ptrace access mode
** checking") are checked in its order, by what all may read in /proc.
*/
#include <pwd.h>

#include "outside.h"

enum { CAPABILITY_SYS_PTRACE = 19 };

static int refuse_because(int64_t id, const char *why, lh_error *error) {
  return lh_fail(error, LH_EIO, "process %" PRId64 " %s", id, why);
}

static int refuse_ended(int64_t id, const char *why, lh_error *error) {
  int code = refuse_because(id, why, error);
  if (error) error->os_errno = ESRCH;
  return code;
}

/* True if /proc shows only the user's own processes (hidepid). */
static bool is_unseen(int64_t id) {
  return id > 0 && id <= INT32_MAX && kill((pid_t)id, 0) < 0 && errno == EPERM;
}

/* Refuses a process that cannot be inspected by anyone. 0: it can. */
static int refuse_kind(int64_t id, bool is_there, const lh_process_status *it, lh_error *error) {
  if (!is_there && is_unseen(id))
    return refuse_because(
        id, "belongs to another user, and /proc shows only one's own: run this as root", error);
  if (!is_there) {
    (void)lh_fail(error, LH_EIO, "there is no process %" PRId64, id);
    if (error) error->os_errno = ESRCH;
    return LH_EIO;
  }
  if (it->leader != id)
    return lh_fail(error, LH_EIO,
                   "%" PRId64 " is a thread of process %" PRId64 ": give the number %" PRId64, id,
                   it->leader, it->leader);
  if (id == getpid()) return refuse_because(id, "is this one, which cannot look at itself", error);
  if (it->state == 'Z' && it->threads > 1)
    return refuse_because(
        id, "goes on without its first thread, through which alone it can be looked at", error);
  if (it->state == 'Z')
    return refuse_ended(id, "has ended: it is a zombie, whose parent has not asked how it ended",
                        error);
  if (it->is_of_kernel)
    return refuse_because(id, "is a thread of the kernel, in which no Lua can run", error);
  return it->has_memory ? 0 : refuse_ended(id, "is just ending", error);
}

/* "prosody (user 105)" */
static const char *describe_user(uint32_t user, char *out, size_t size) {
  char buffer[2048];
  struct passwd entry, *found = NULL;
  if (getpwuid_r(user, &entry, buffer, sizeof buffer, &found) == 0 && found)
    (void)snprintf(out, size, "user %s", found->pw_name);
  else
    (void)snprintf(out, size, "user %" PRIu32, user);
  return out;
}

static bool may_trace_all(const lh_process_status *us) {
  return us->capabilities >> CAPABILITY_SYS_PTRACE & 1;
}

/* 0 also without yama, the security module with this setting. */
static int read_trace_scope(void) {
  FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  int scope = 0;
  if (file) {
    if (fscanf(file, "%d", &scope) != 1) scope = 0;
    (void)fclose(file);
  }
  return scope;
}

static int refuse_traced(int64_t id, const lh_process_status *it, lh_error *error) {
  char name[64];
  ssize_t n = lh_process_text(it->tracer, "comm", name, sizeof name);
  if (n > 0) name[strcspn(name, "\n")] = '\0';
  return lh_fail(error, LH_EIO,
                 "process %" PRId64 " is traced already, by %s (process %" PRId64
                 "): end that first, or let it make a core file if it is a debugger",
                 id, n > 0 ? name : "another", it->tracer);
}

/* Only root may inspect a process that has hidden itself. Its files in /proc belong to root. */
static bool is_hidden(int64_t id, const lh_process_status *it) {
  char path[64];
  struct stat status;
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", id);
  return stat(path, &status) == 0 && status.st_uid != it->users[1];
}

static bool is_of_user(const lh_process_status *it, uint32_t user) {
  return it->users[0] == user && it->users[1] == user && it->users[2] == user;
}

static int refuse_by_scope(int64_t id, int scope, lh_error *error) {
  if (scope == 1)
    return refuse_because(
        id,
        "may be looked at by its parents only (kernel.yama.ptrace_scope is 1): run this "
        "as root, or set that by: sudo sysctl kernel.yama.ptrace_scope=0",
        error);
  if (scope == 2)
    return refuse_because(
        id, "may be looked at by root only (kernel.yama.ptrace_scope is 2): run this as root",
        error);
  return lh_fail(
      error, LH_EIO,
      "no process may be looked at until the next boot (kernel.yama.ptrace_scope is %d): "
      "send it SIGABRT where it may end, and look at its core file",
      scope);
}

static int refuse_user(int64_t id, const lh_process_status *it, lh_error *error) {
  char theirs[64], ours[64], or_as[80] = "";
  describe_user(it->users[0], theirs, sizeof theirs);
  if (it->users[0] != 0) (void)snprintf(or_as, sizeof or_as, " or %s", theirs);
  return lh_fail(error, LH_EIO,
                 "process %" PRId64 " belongs to %s, and this is run by %s: run it as root%s", id,
                 theirs, describe_user(geteuid(), ours, sizeof ours), or_as);
}

static int refuse_rights(int64_t id, const lh_process_status *it, const lh_process_status *us,
                         int os_errno, lh_error *error) {
  int scope = read_trace_scope();
  if (scope >= 3) return refuse_by_scope(id, scope, error);
  if (!may_trace_all(us)) {
    if (geteuid() == 0)
      return refuse_because(
          id,
          "must not be looked at by this root, which lacks the capability SYS_PTRACE: "
          "run this outside of the container, or start that with --cap-add=SYS_PTRACE",
          error);
    if (!is_of_user(it, geteuid())) return refuse_user(id, it, error);
    if (is_hidden(id, it))
      return refuse_because(
          id,
          "has hidden itself from its own user (prctl PR_SET_DUMPABLE), as programs do "
          "that were started by root: run this as root",
          error);
    if (scope > 0) return refuse_by_scope(id, scope, error);
  }
  return lh_fail_errno(error, os_errno,
                       "process %" PRId64
                       " must not be looked at; %s: run this as root outside of any container",
                       id,
                       us->system_filter ? "a seccomp filter may forbid it, or a security module"
                                         : "a security module or its user namespace may forbid it");
}

int lh_refuse_process(int64_t process_id, int os_errno, lh_error *error) {
  lh_process_status it, us;
  bool is_there = lh_process_status_of(process_id, &it);
  int code = refuse_kind(process_id, is_there, &it, error);
  if (code < 0) return code;
  if (os_errno == ESRCH) /* it ended, or started another program, meanwhile */
    return refuse_ended(process_id, "has ended", error);
  if (os_errno != EPERM && os_errno != EACCES)
    return lh_fail_errno(error, os_errno, "cannot look at process %" PRId64, process_id);
  if (it.tracer > 0 && it.tracer != getpid()) return refuse_traced(process_id, &it, error);
  if (!lh_process_status_of(getpid(), &us)) memset(&us, 0, sizeof us);
  return refuse_rights(process_id, &it, &us, os_errno, error);
}
