/*
** test_background.c - what the host sees of the child that writes a background snapshot: nothing.
*/
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "luaheap.h"

static volatile sig_atomic_t n_signals;
static FILE *log_file;

static void count_signal(int signal_number) {
  (void)signal_number;
  n_signals++;
}

static void write_at_exit(void) {
  if (log_file) (void)fputs("exit", log_file);
}

/* A state with some 100,000 objects, in a folder of its own. */
static int set_up(void **state) {
  static const char program[] = "local t = {} for i = 1, 100000 do t[i] = {i} end kept = t";
  char folder[] = "/tmp/luaheap-test-XXXXXX";
  lua_State *L = luaL_newstate();
  if (!L || !mkdtemp(folder) || chdir(folder) < 0) return -1;
  if (luaL_dostring(L, program) != LUA_OK || lh_attach(L, NULL) < 0) return -1;
  *state = L;
  return 0;
}

static int tear_down(void **state) {
  char folder[4096];
  lua_close(*state);
  (void)unlink("a");
  (void)unlink("b");
  (void)unlink("log");
  return getcwd(folder, sizeof folder) && chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static bool is_whole(const char *path) {
  lh_snapshot *snapshot;
  if (lh_open(&snapshot, path, NULL) < 0) return false;
  bool whole = lh_snapshot_info(snapshot)->unaccounted_bytes == 0;
  lh_close(snapshot);
  return whole;
}

static void is_no_child_that_wait_sees(void **state) {
  lh_job *job;
  lh_taken taken;
  struct sigaction action = {.sa_handler = count_signal}, before;
  n_signals = 0;
  assert_int_equal(sigaction(SIGCHLD, &action, &before), 0);
  assert_int_equal(lh_start_snapshot(*state, "a", NULL, &job, NULL), LH_OK);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(lh_job_wait(job, -1, &taken, NULL), LH_OK);
  assert_int_equal(wait(NULL), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(n_signals, 0);
  assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
  assert_int_equal(kill((pid_t)lh_job_process(job), 0), -1); /* and no zombie is left */
  lh_job_free(job);
  assert_true(is_whole("a"));
}

static void flushes_no_buffer_and_runs_no_exit_handler(void **state) {
  lh_job *job;
  lh_taken taken;
  struct stat info;
  log_file = fopen("log", "w");
  assert_non_null(log_file);
  assert_int_equal(fputs("buffered", log_file) >= 0, 1);
  assert_int_equal(lh_start_snapshot(*state, "a", NULL, &job, NULL), LH_OK);
  assert_int_equal(lh_job_wait(job, -1, &taken, NULL), LH_OK);
  lh_job_free(job);
  assert_int_equal(stat("log", &info), 0);
  assert_int_equal(info.st_size, 0);
  assert_int_equal(fclose(log_file), 0);
  log_file = NULL;
}

/* The child has the host's handlers, but no signal reaches them. */
static void is_not_disturbed_by_signals(void **state) {
  lh_job *job;
  lh_taken taken;
  assert_int_equal(lh_start_snapshot(*state, "a", NULL, &job, NULL), LH_OK);
  (void)kill((pid_t)lh_job_process(job), SIGTERM);
  (void)kill((pid_t)lh_job_process(job), SIGINT);
  assert_int_equal(lh_job_wait(job, -1, &taken, NULL), LH_OK);
  lh_job_free(job);
  assert_true(is_whole("a"));
}

static void leaves_the_hosts_signal_mask(void **state) {
  lh_job *job;
  lh_taken taken;
  sigset_t before, after;
  assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
  assert_int_equal(lh_start_snapshot(*state, "a", NULL, &job, NULL), LH_OK);
  assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &after), 0);
  for (int i = 1; i < 32; i++) assert_int_equal(sigismember(&before, i), sigismember(&after, i));
  assert_int_equal(lh_job_wait(job, -1, &taken, NULL), LH_OK);
  lh_job_free(job);
}

static void writes_two_at_once(void **state) {
  lh_job *one, *two;
  lh_taken taken[2];
  assert_int_equal(lh_start_snapshot(*state, "a", NULL, &one, NULL), LH_OK);
  assert_int_equal(lh_start_snapshot(*state, "b", NULL, &two, NULL), LH_OK);
  assert_int_equal(lh_job_wait(two, -1, &taken[1], NULL), LH_OK);
  assert_int_equal(lh_job_wait(one, -1, &taken[0], NULL), LH_OK);
  lh_job_free(one);
  lh_job_free(two);
  assert_int_equal(taken[1].objects, taken[0].objects + 2); /* one more mark */
  assert_true(is_whole("a") && is_whole("b"));
}

static void says_what_a_file_may_not_have(void **state) {
  lh_job *job;
  lh_taken taken;
  lh_error error;
  struct rlimit old, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_int_equal(lh_start_snapshot(*state, "a", NULL, &job, NULL), LH_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_int_equal(lh_job_wait(job, -1, &taken, &error), LH_EIO);
  assert_int_equal(error.os_errno, EFBIG);
  assert_ptr_equal(strstr(error.message, "cannot write 'a': the file needs 1."), error.message);
  assert_non_null(strstr(error.message, " MB and may have 1.0 MB (ulimit -f)"));
  lh_job_free(job);
  assert_int_equal(access("a", F_OK), -1);
}

/* 0: it failed as it should. In a process of its own, since the limit does not hold for root. */
static int start_without_fork(lua_State *L, const char *folder) {
  char path[64];
  lh_job *job;
  lh_error error;
  struct rlimit none = {0, 0};
  (void)snprintf(path, sizeof path, "%s/a", folder);
  if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)) return 1;
  if (setrlimit(RLIMIT_NPROC, &none) < 0) return 2;
  if (lh_start_snapshot(L, path, NULL, &job, &error) != LH_EIO) return 3;
  return job == NULL && error.os_errno == EAGAIN ? 0 : 4;
}

static void changes_nothing_where_fork_fails(void **state) {
  char folder[] = "/tmp/luaheap-fork-XXXXXX";
  int status;
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chmod(folder, 0777), 0);
  pid_t pid = fork();
  if (pid == 0) _exit(start_without_fork(*state, folder));
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  assert_int_equal(rmdir(folder), 0); /* nothing is in it */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(is_no_child_that_wait_sees, set_up, tear_down),
      cmocka_unit_test_setup_teardown(flushes_no_buffer_and_runs_no_exit_handler, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(is_not_disturbed_by_signals, set_up, tear_down),
      cmocka_unit_test_setup_teardown(leaves_the_hosts_signal_mask, set_up, tear_down),
      cmocka_unit_test_setup_teardown(writes_two_at_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(says_what_a_file_may_not_have, set_up, tear_down),
      cmocka_unit_test_setup_teardown(changes_nothing_where_fork_fails, set_up, tear_down)};
  (void)atexit(write_at_exit);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
