/*
** shot.c - one state of a mirror, walked and written in a child of this process.
**
** What was copied may have been amid a change, or no heap at all: then the walk follows what is no
** pointer. So a child does it, in a copy of the mirror that it may change: it looks at the state
** again, links marks, walks and writes (shooting.c), and tells in a shared page how it ended. If it
** faults, or takes more time than any heap of that size can, nothing is lost but the child: the
** file has no name before it is known to be sound (file.h).
*/
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mirrored.h"

/* What the child tells. */
typedef struct report {
  int finished; /* last, atomically */
  int code;
  lh_error error;
  lh_shot_answer answer;
} report;

/* {=== The child ===================================================================== */

/* The child has what the program kept secret: no core of it is left. */
static void confine(const lh_mirrored *m) {
  rlim_t seconds = m->most_seconds;
  (void)setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGXCPU, SIGABRT, SIGTERM, SIGINT};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) (void)signal(faults[i], SIG_DFL);
}

static _Noreturn void shoot_and_exit(const lh_mirrored *m, const lh_outside_request *request,
                                     lh_file *file, report *r) {
  confine(m);
  r->code = lh_shoot_here(m, request, file, &r->answer, &r->error);
  lh_file_close(file);
  __atomic_store_n(&r->finished, 1, __ATOMIC_RELEASE);
  _exit(0);
}

/* }=================================================================================== */

/* {=== The parent ==================================================================== */

static int tell_end(const report *r, int status, lh_error *error) {
  if (__atomic_load_n(&r->finished, __ATOMIC_ACQUIRE)) {
    if (r->code < 0 && error) *error = r->error;
    return r->code;
  }
  if (WIFSIGNALED(status) &&
      (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) {
    return lh_fail(error, LH_EIO, "the process that writes the snapshot was killed");
  }
  return lh_amid_change(error);
}

static int wait_for_end(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

static int run_child(const lh_mirrored *m, const lh_outside_request *request, lh_file *file,
                     report *r, lh_error *error) {
  pid_t pid = fork();
  if (pid < 0) return lh_fail_errno(error, errno, "cannot fork to look at the mirror of a heap");
  if (pid == 0) shoot_and_exit(m, request, file, r);
  int rc = tell_end(r, wait_for_end(pid), error);
  if (request->path) {
    lh_file_leave(file);
    if (!r->finished) lh_file_remove_left(file);
  }
  return rc;
}

/* What the child tells stands in a page that it shares with this process, and no other child. */
static int shoot(const lh_mirrored *m, lh_outside_request *request, lh_file *file,
                 int64_t *more_extra_bytes, lh_error *error) {
  report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (r == MAP_FAILED) return lh_fail_errno(error, errno, "cannot look at the mirror of a heap");
  int rc = run_child(m, request, file, r, error);
  *more_extra_bytes = rc < 0 ? r->answer.more_extra_bytes : 0;
  if (rc == LH_OK) {
    request->taken = r->answer.taken;
    request->own = r->answer.own;
    request->counts = r->answer.counts;
    request->unaccounted_bytes = r->answer.unaccounted_bytes;
    request->passed_as_old = r->answer.passed_as_old;
    request->has_panicked = r->answer.has_panicked;
    request->is_in_doubt = lh_is_in_doubt(m) || r->answer.is_in_doubt;
  }
  (void)munmap(r, sizeof *r);
  return rc;
}

static int shoot_into_file(const lh_mirrored *m, lh_outside_request *request,
                           int64_t *more_extra_bytes, lh_error *error) {
  lh_file file = {.folder_fd = -1, .fd = -1};
  int rc = request->path ? lh_file_open(&file, request->path, error) : LH_OK;
  if (rc == LH_OK) rc = shoot(m, request, &file, more_extra_bytes, error);
  if (request->path) lh_file_close(&file);
  return rc;
}

int lh_shoot_mirrored(const lh_mirrored *mirrored, lh_outside_request *request, lh_error *error) {
  lh_mirrored m = *mirrored;
  if (request->path && strlen(request->path) > LH_MARK_NAME_BYTES) {
    return lh_fail(error, LH_EARGUMENT, "the name of a file is longer than %d bytes",
                   LH_MARK_NAME_BYTES);
  }
  if (!m.is_quiet && !m.is_lenient && m.stillness != LH_STILL_CORE)
    return lh_fail(error, LH_EBUSY, "the program was in the middle of its work");
  int64_t more = 0;
  int rc = shoot_into_file(&m, request, &more, error);
  if (more == 0) return rc;
  m.more_extra_bytes = more;
  return shoot_into_file(&m, request, &more, error);
}

/* }=================================================================================== */
