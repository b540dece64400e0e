/*
** test_held_up.c - a process that a tracer cannot stop is refused by its reason, and not touched.
*/
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach.h"
#include "outside/outside.h"
#include "subject.h"

/* ==== vfork ========================================================================= */

/* The child ends when the test says so. */
static void fork_in_place_for_long(const subject *self) {
  if (write(self->answers, "", 1) != 1) _exit(1);
  char order;
  if (vfork() == 0) {
    (void)read(self->orders, &order, 1);
    _exit(0);
  }
}

static bool sleeps_in_the_kernel(const void *process) {
  pid_t id = *(const pid_t *)process;
  return lh_thread_state(id) == 'D';
}

static size_t n_waits, n_deaf; /* for the child; those with Control-C blocked */

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left) {
  sigset_t blocked;
  (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  n_waits++;
  n_deaf += sigismember(&blocked, SIGINT) == 1 || sigismember(&blocked, SIGTERM) == 1;
  return __real_nanosleep(time, left);
}

/* It cannot be let go before its child has ended, so it is not asked to stop, and who looks at it
** gets its signals. */
static void test_a_long_vfork(void **state) {
  (void)state;
  attach a;
  lh_error error = {0};
  subject s = subject_start(fork_in_place_for_long, NULL);
  attach_open(&a, s.id);
  assert_true(attach_wait_until(sleeps_in_the_kernel, &s.id));
  n_waits = n_deaf = 0;
  int rc = lh_freeze_begin(a.target, 0, false, &a.frozen_process, &a.memory, &a.result, &error);
  size_t waits = n_waits, deaf = n_deaf;
  lh_process_status status = {0};
  bool is_there = lh_process_status_of(s.id, &status);
  char order = 0;
  assert_int_equal(write(s.orders, &order, 1), 1);
  assert_int_equal(rc, LH_EIO);
  assert_non_null(strstr(error.message, "waits in vfork()"));
  assert_true(waits > 0);
  assert_int_equal(deaf, 0);
  assert_true(is_there);
  assert_int_equal(status.tracer, 0);
  attach_close(&a);
  subject_end(&s);
}

/* ==== A frozen cgroup =============================================================== */

static bool write_into(const char *folder, const char *name, const char *text) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0) (void)close(fd);
  return is_written;
}

static void compute(const subject *self) {
  volatile uint64_t *n = self->shared;
  if (write(self->answers, "", 1) != 1) _exit(1);
  for (;;) ++*n;
}

static bool has_counted(const void *n) {
  return *(const volatile uint64_t *)n > 0;
}

/* A cgroup of its own, frozen from the outer one; false: this user may not. */
static bool freeze(const char *mount, const char *file, const char *text, pid_t process,
                   char *outer, size_t size) {
  char inner[160], id[32];
  (void)snprintf(outer, size, "%s/luaheap-test-%d", mount, (int)process);
  (void)snprintf(inner, sizeof inner, "%s/inner", outer);
  (void)snprintf(id, sizeof id, "%d", (int)process);
  return mkdir(outer, 0700) == 0 && mkdir(inner, 0700) == 0 &&
         write_into(inner, "cgroup.procs", id) && write_into(outer, file, text);
}

static void remove_cgroup(const char *outer, const char *mount, pid_t process) {
  char inner[160], id[32];
  (void)snprintf(inner, sizeof inner, "%s/inner", outer);
  (void)snprintf(id, sizeof id, "%d", (int)process);
  (void)write_into(mount, "cgroup.procs", id);
  (void)rmdir(inner);
  (void)rmdir(outer);
}

/* Each version of cgroups that this system has; none that this user may not change. */
static void test_a_frozen_cgroup(void **state) {
  (void)state;
  static const struct {
    const char *mount, *file, *frozen, *thawed;
  } versions[] = {{"/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"},
                  {"/sys/fs/cgroup", "cgroup.freeze", "1", "0"},
                  {"/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"}};
  size_t n_frozen = 0;
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
    char outer[128], command[256];
    attach a;
    lh_error error = {0};
    int rc = LH_EIO;
    uint64_t *n = subject_share(sizeof *n);
    subject s = subject_start(compute, n);
    assert_true(attach_wait_until(has_counted, n)); /* it has left its last call */
    attach_open(&a, s.id);
    bool is_frozen =
        freeze(versions[i].mount, versions[i].file, versions[i].frozen, s.id, outer, sizeof outer);
    if (is_frozen) {
      rc = lh_freeze_begin(a.target, 2, false, &a.frozen_process, &a.memory, &a.result, &error);
      (void)write_into(outer, versions[i].file, versions[i].thawed);
    }
    remove_cgroup(outer, versions[i].mount, s.id);
    attach_close(&a);
    subject_end(&s);
    (void)snprintf(command, sizeof command, "thaw the cgroup (echo %s > %s/%s)", versions[i].thawed,
                   outer, versions[i].file);
    assert_int_equal(rc, LH_EIO);
    if (is_frozen) assert_non_null(strstr(error.message, command));
    n_frozen += is_frozen;
  }
  if (n_frozen == 0) skip();
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_long_vfork),
      cmocka_unit_test(test_a_frozen_cgroup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
