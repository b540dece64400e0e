/*
** write_child.c - walks and writes one state of a mirror in a child of this process.
**
** The copied memory may be inconsistent, or no heap at all, and its pointers bad. If the child
** faults, or takes more time than any heap of that size needs, only the child is lost.
**
** The child opens files that the target has mapped. Their file server may never answer, and then no
** signal ends the child. So the parent waits only some seconds, abandons that child, and starts
** another one that writes the snapshot without names from files.
*/
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "file.h"
#include "stop.h"

typedef struct report {
  int finished; /* set last, atomically */
  int code;
  lh_error error;
  lh_outside_request request; /* filled in by the child */
  int64_t more_extra_bytes;
  lh_awaited reading;
} report;

int lh_fail_amid_change(lh_error *error) {
  return lh_fail(error, LH_EBUSY, "the program was changing its heap");
}

bool lh_is_in_doubt(const lh_mirrored *m) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
  if (m->is_quiet) return false;
  for (size_t i = 0; m->target->is_core && i < sizeof faults / sizeof *faults; i++) {
    if (m->target->signal == faults[i]) return false;
  }
  return true;
}

/* A forged heap must find nothing there that is worth a trick (write_state.c). */
static void forget_environment(void) {
  for (char **variable = environ; variable && *variable; variable++)
    memset(*variable, 0, strlen(*variable));
}

/* The child has the program's secrets: it must leave no core. */
static void confine(const lh_mirrored *m) {
  lh_guard_leave(m->target->guard);
  forget_environment();
  rlim_t seconds = m->most_seconds;
  (void)setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGXCPU, SIGABRT, SIGTERM, SIGINT};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) (void)signal(faults[i], SIG_DFL);
}

static int write_here(const lh_mirrored *m, lh_file *file, report *r) {
  lh_peek peek = lh_peek_mirror(m->mirror);
  lh_seen_state seen;
  const char *release = lh_release_of(m->target, r->request.state);
  int rc = lh_recognise_state(&peek, r->request.state, release, &seen, &r->error);
  if (rc < 0) return rc;
  return seen.lua->write(m, &seen, &r->request, file, &r->more_extra_bytes, &r->error);
}

static _Noreturn void write_and_exit(const lh_mirrored *mirrored, lh_file *file, report *r) {
  lh_mirrored m = *mirrored;
  lh_target target = *m.target;
  m.writing = target.memory.awaited;
  target.memory.awaited = NULL; /* our parent waits for the output alone */
  m.target = &target;
  m.reading = &r->reading;
  confine(&m);
  r->code = write_here(&m, file, r);
  lh_file_close(file);
  __atomic_store_n(&r->finished, 1, __ATOMIC_RELEASE);
  _exit(0);
}

static int report_end(const report *r, int status, lh_error *error) {
  if (__atomic_load_n(&r->finished, __ATOMIC_ACQUIRE)) {
    if (r->code < 0 && error) *error = r->error;
    return r->code;
  }
  if (WIFSIGNALED(status) &&
      (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) {
    return lh_fail(error, LH_EIO, "the process that writes the snapshot was killed");
  }
  return lh_fail_amid_change(error);
}

/* True: the child has ended. False: it was seen ten times in a row in the same wait for a file. */
static bool wait_for_answer(pid_t pid, const lh_awaited *reading) {
  enum { EACH_MS = 500, MOST_TIMES = 10 };
  lh_await_watch watch = {0};
  struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
  bool goes_on = end.fd >= 0;
  while (goes_on && lh_await_look(&watch, reading) < MOST_TIMES)
    goes_on = poll(&end, 1, EACH_MS) <= 0;
  if (end.fd >= 0) (void)close(end.fd);
  return !goes_on;
}

static int wait_for_end(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

/* Abandons the child. A zombie stays for a while, unless this process ends first. */
static int leave_child(const lh_mirrored *m, pid_t pid, const report *r, lh_error *error) {
  (void)kill(pid, SIGKILL);
  (void)snprintf(m->silent_file, sizeof m->target->silent_file, "%s", r->reading.path);
  return lh_fail(error, LH_EBUSY, "'%s' does not answer", m->silent_file);
}

static int run_child(const lh_mirrored *m, lh_file *file, report *r, lh_error *error) {
  const char *path = r->request.path;
  pid_t pid = fork();
  if (pid < 0) return lh_fail_errno(error, errno, "cannot fork to look at the mirror of a heap");
  if (pid == 0) write_and_exit(m, file, r);
  bool ends = !m->silent_file || *m->silent_file || wait_for_answer(pid, &r->reading);
  int rc = ends ? report_end(r, wait_for_end(pid), error) : leave_child(m, pid, r, error);
  if (path) {
    lh_await_output(m->target->memory.awaited, path);
    lh_file_leave(file);
    if (!r->finished) lh_file_remove_left(file);
    lh_await_end(m->target->memory.awaited);
  }
  return rc;
}

/* The child reports in a page that it shares with this process and no other child. */
static int write_in_child(const lh_mirrored *m, lh_outside_request *request, lh_file *file,
                          int64_t *more_extra_bytes, lh_error *error) {
  report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (r == MAP_FAILED) return lh_fail_errno(error, errno, "cannot look at the mirror of a heap");
  r->request =
      (lh_outside_request){.state = request->state, .path = request->path, .after = request->after};
  int rc = run_child(m, file, r, error);
  *more_extra_bytes = rc < 0 ? r->more_extra_bytes : 0;
  if (rc == LH_OK) {
    r->request.is_in_doubt |= lh_is_in_doubt(m);
    *request = r->request;
  }
  (void)munmap(r, sizeof *r);
  return rc;
}

static int write_into_file(const lh_mirrored *m, lh_outside_request *request,
                           int64_t *more_extra_bytes, lh_error *error) {
  lh_file file = {.folder_fd = -1, .fd = -1};
  lh_awaited *awaited = m->target->memory.awaited;
  *more_extra_bytes = 0;
  if (!request->path) return write_in_child(m, request, &file, more_extra_bytes, error);
  lh_await_output(awaited, request->path);
  int rc = lh_file_open(&file, request->path, error);
  lh_await_end(awaited);
  if (rc == LH_OK) rc = write_in_child(m, request, &file, more_extra_bytes, error);
  lh_await_output(awaited, request->path);
  lh_file_close(&file);
  lh_await_end(awaited);
  return rc;
}

int lh_write_mirrored(const lh_mirrored *mirrored, lh_outside_request *request, lh_error *error) {
  lh_mirrored m = *mirrored;
  if (request->path && strlen(request->path) > LH_MARK_NAME_BYTES) {
    return lh_fail(error, LH_EARGUMENT, "the name of a file is longer than %d bytes",
                   LH_MARK_NAME_BYTES);
  }
  if (!m.is_quiet && !m.is_lenient && m.stillness != LH_STILL_CORE)
    return lh_fail(error, LH_EBUSY, "the program was in the middle of its work");
  int64_t more;
  for (;;) {
    bool was_silent = lh_has_silent_file(&m);
    int rc = write_into_file(&m, request, &more, error);
    bool is_silent = !was_silent && lh_has_silent_file(&m);
    if (more == 0 && !is_silent) return rc;
    m.more_extra_bytes += more;
  }
}
