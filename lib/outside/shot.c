/*
** shot.c - one state of a mirror, walked and written in a child of this process.
**
** What was copied may have been amid a change, or no heap at all: then the walk follows what is no
** pointer. So a child does it, in a copy of the mirror that it may change: it looks at the state
** again, links marks, walks and writes (shooting.c), and tells in a shared page how it ended. If it
** faults, or takes more time than any heap of that size can, nothing is lost but the child: the
** file has no name before it is known to be sound (file.h).
**
** Of a program that was stopped anywhere the child first becomes that program, and runs on to where
** Lua is amid no change (run_on.c). What it looks at then it has changed itself.
*/
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mirrored.h"
#include "run_on.h"

/* What the child tells. */
typedef struct report {
  int finished; /* last, atomically */
  int code;
  lh_error error;
  lh_shot_answer answer;
  bool is_in_doubt;
} report;

/* {=== The child ===================================================================== */

/* The child has what the program kept secret: no core of it is left. What it may take is far more
** than it needs, ten seconds and a minute for each GB. */
static void confine(const lh_mirrored *m) {
  rlim_t seconds = 10 + (lh_mirrored_bytes(m->memory) >> 24);
  (void)setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGXCPU, SIGABRT, SIGTERM, SIGINT};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) (void)signal(faults[i], SIG_DFL);
}

/* `gate`: what it runs on by before; -1: it does not. */
static _Noreturn void shoot_and_exit(const lh_mirrored *m, const lh_outside_request *request,
                                     int gate, lh_file *file, report *r) {
  lh_mirrored quiet = *m;
  confine(m);
  if (gate >= 0) {
    if (!lh_run_on_here(m, gate)) _exit(1);
    quiet.is_quiet = true;
    m = &quiet;
  }
  r->is_in_doubt = lh_is_in_doubt(m);
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

static int fail_to_fork(lh_error *error) {
  return lh_fail_errno(error, errno, "cannot fork to look at the mirror of a heap");
}

static int wait_for_end(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

/* A child that runs on, to where Lua is amid no change, and looks then. *pid is 0: it did not come
** there. */
static int start_that_runs_on(const lh_mirrored *m, const lh_outside_request *request,
                              lh_file *file, report *r, pid_t *pid, lh_error *error) {
  int gates[2];
  if (!lh_run_on_open(gates)) return fail_to_fork(error);
  *pid = fork();
  if (*pid == 0) {
    (void)close(gates[0]);
    shoot_and_exit(m, request, gates[1], file, r);
  }
  (void)close(gates[1]);
  int rc = *pid < 0 ? fail_to_fork(error) : LH_OK;
  if (rc == LH_OK && !lh_run_on_there(m, request->state, *pid, gates[0])) {
    (void)kill(*pid, SIGKILL);
    (void)wait_for_end(*pid);
    *pid = 0;
  }
  (void)close(gates[0]);
  return rc;
}

static int run_child(const lh_mirrored *m, const lh_outside_request *request, lh_file *file,
                     report *r, lh_error *error) {
  pid_t pid = 0;
  int rc = m->moment ? start_that_runs_on(m, request, file, r, &pid, error) : LH_OK;
  if (rc < 0) return rc;
  bool may_look = m->is_quiet || m->is_lenient || m->stillness == LH_STILL_CORE;
  if (pid == 0 && !may_look)
    return lh_fail(error, LH_EBUSY, "the program was in the middle of its work");
  if (pid == 0) pid = fork();
  if (pid < 0) return fail_to_fork(error);
  if (pid == 0) shoot_and_exit(m, request, -1, file, r);
  rc = tell_end(r, wait_for_end(pid), error);
  if (request->path) {
    lh_file_leave(file);
    if (!r->finished) lh_file_remove_left(file);
  }
  return rc;
}

int lh_shoot_mirrored(const lh_mirrored *mirrored, lh_outside_request *request, lh_error *error) {
  lh_file file = {.folder_fd = -1, .fd = -1};
  int rc = LH_OK;
  if (request->path && strlen(request->path) > LH_MARK_NAME_BYTES) {
    return lh_fail(error, LH_EARGUMENT, "the name of a file is longer than %d bytes",
                   LH_MARK_NAME_BYTES);
  }
  report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (r == MAP_FAILED) return lh_fail_errno(error, errno, "cannot look at the mirror of a heap");
  if (request->path) rc = lh_file_open(&file, request->path, error);
  if (rc == LH_OK) rc = run_child(mirrored, request, &file, r, error);
  if (rc == LH_OK) {
    request->taken = r->answer.taken;
    request->own = r->answer.own;
    request->counts = r->answer.counts;
    request->unaccounted_bytes = r->answer.unaccounted_bytes;
    request->passed_as_old = r->answer.passed_as_old;
    request->is_in_doubt = r->is_in_doubt;
  }
  if (request->path) lh_file_end(&file);
  (void)munmap(r, sizeof *r);
  return rc;
}

/* }=================================================================================== */
