/*
** test_background.c - what the host sees of the child that writes a background snapshot: nothing;
** and what a watcher tells of it.
*/
#include <errno.h>
#include <lua.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "faults.h"
#include "rooms/all.h"
#include "scene.h"
#include "watched.h"

static volatile sig_atomic_t n_signals;
static FILE *log_file;

static void count_signal(int signal_number) {
  (void)signal_number;
  n_signals++;
}

static void write_at_exit(void) {
  if (log_file) (void)fputs("exit", log_file);
}

static int tear_down(void **state) {
  (void)unlink("log");
  faults_clear();
  return scene_tear_down(state);
}

static lh_job *start(lua_State *L, const char *path) {
  lh_job *job;
  lh_error error;
  if (lh_start_snapshot(L, path, LH_DEFAULT_STRING_BYTES, &job, &error) < 0)
    fail_msg("%s", error.message);
  return job;
}

/* Waits for the end, which is to be a good one. */
static void finish(lh_job *job, const char *path) {
  lh_error error;
  if (lh_job_wait(job, -1, &error) < 0) fail_msg("%s", error.message);
  lh_job_free(job);
  assert_true(scene_is_whole(path));
}

static bool has_children(void) {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

static void is_no_child_that_wait_sees(void **state) {
  lh_job *job;
  struct sigaction action = {.sa_handler = count_signal}, before;
  n_signals = 0;
  assert_int_equal(sigaction(SIGCHLD, &action, &before), 0);
  assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, NULL), LH_OK);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(lh_job_wait(job, -1, NULL), LH_OK);
  assert_int_equal(wait(NULL), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(n_signals, 0);
  assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
  assert_int_equal(kill((pid_t)lh_job_process(job), 0), -1); /* and no zombie is left */
  lh_job_free(job);
  assert_true(scene_is_whole("a"));
}

/* Else a program with a real-time policy would not get its processor until the file is written. */
static void has_no_real_time_policy(void **state) {
  lh_job *job;
  siginfo_t info;
  const struct sched_param some = {.sched_priority = 1}, none = {0};
  if (sched_setscheduler(0, SCHED_FIFO, &some) < 0) skip();
  int rc = lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, NULL);
  assert_int_equal(sched_getscheduler(0), SCHED_FIFO);
  assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
  assert_int_equal(rc, LH_OK);
  pid_t child = (pid_t)lh_job_process(job);
  assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT | __WALL), 0);
  assert_int_equal(sched_getscheduler(child), SCHED_OTHER);
  finish(job, "a");
}

static void flushes_no_buffer_and_runs_no_exit_handler(void **state) {
  lh_job *job;
  struct stat info;
  log_file = fopen("log", "w");
  assert_non_null(log_file);
  assert_int_equal(fputs("buffered", log_file) >= 0, 1);
  assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, NULL), LH_OK);
  assert_int_equal(lh_job_wait(job, -1, NULL), LH_OK);
  lh_job_free(job);
  assert_int_equal(stat("log", &info), 0);
  assert_int_equal(info.st_size, 0);
  assert_int_equal(fclose(log_file), 0);
  log_file = NULL;
}

/* The child has the host's handlers, but no signal reaches them. */
static void is_not_disturbed_by_signals(void **state) {
  lh_job *job;
  assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, NULL), LH_OK);
  (void)kill((pid_t)lh_job_process(job), SIGTERM);
  (void)kill((pid_t)lh_job_process(job), SIGINT);
  assert_int_equal(lh_job_wait(job, -1, NULL), LH_OK);
  lh_job_free(job);
  assert_true(scene_is_whole("a"));
}

static void leaves_the_hosts_signal_mask(void **state) {
  lh_job *job;
  sigset_t before, after;
  assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
  assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, NULL), LH_OK);
  assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &after), 0);
  for (int i = 1; i < 32; i++) assert_int_equal(sigismember(&before, i), sigismember(&after, i));
  assert_int_equal(lh_job_wait(job, -1, NULL), LH_OK);
  lh_job_free(job);
}

static void writes_two_at_once(void **state) {
  lh_job *one, *two;
  assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &one, NULL), LH_OK);
  assert_int_equal(lh_start_snapshot(*state, "b", LH_DEFAULT_STRING_BYTES, &two, NULL), LH_OK);
  assert_int_equal(lh_job_wait(two, -1, NULL), LH_OK);
  assert_int_equal(lh_job_wait(one, -1, NULL), LH_OK);
  assert_int_equal(lh_job_taken(two).objects, lh_job_taken(one).objects + 2); /* one more mark */
  lh_job_free(one);
  lh_job_free(two);
  assert_true(scene_is_whole("a") && scene_is_whole("b"));
}

static void says_what_a_file_may_not_have(void **state) {
  lh_job *job;
  lh_error error;
  struct rlimit old, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, NULL), LH_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_int_equal(lh_job_wait(job, -1, &error), LH_EIO);
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
  if (lh_start_snapshot(L, path, LH_DEFAULT_STRING_BYTES, &job, &error) != LH_EIO) return 3;
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

static void names_the_cause_where_fork_fails(void **state) {
  static const struct {
    int os_errno;
    const char *message;
  } cases[] = {{EAGAIN, "cannot fork for a background snapshot: Resource temporarily unavailable"},
               {ENOMEM, "cannot fork for a background snapshot: Cannot allocate memory"}};
  size_t descriptors = scene_count_descriptors();
  for (int i = 0; i < 4; i++) {
    lh_job *job;
    lh_error error;
    faults_clear();
    faults_plan(FAULT_SYSCALL, 1, 1, cases[i / 2].os_errno);
    scene_set_older(i % 2);
    assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, &error), LH_EIO);
    assert_null(job);
    assert_string_equal(error.message, cases[i / 2].message);
    assert_true(scene_is_older(i % 2));
    assert_int_equal(scene_count_strays(), 0);
  }
  assert_int_equal(scene_count_descriptors(), descriptors);
  (void)printf("faults: fork fails (limits, memory): 4 cases, 4 survived\n");
}

/* ==== What hosts do about children ================================================== */

static void goes_on_where_children_are_ignored(void **state) {
  struct sigaction ignored = {.sa_handler = SIG_IGN}, no_wait = {.sa_flags = SA_NOCLDWAIT}, before;
  assert_int_equal(sigaction(SIGCHLD, &ignored, &before), 0);
  finish(start(*state, "a"), "a");
  assert_int_equal(sigaction(SIGCHLD, &no_wait, NULL), 0);
  finish(start(*state, "b"), "b");
  assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
  assert_false(has_children());
}

/* A host that waits for children of any kind: it gets ours, and we tell from what it has left. */
static void survives_a_host_that_reaps_its_child(void **state) {
  lh_error error;
  lh_job *job = start(*state, "a");
  assert_int_equal(waitpid(-1, NULL, __WALL), (pid_t)lh_job_process(job));
  finish(job, "a");
  faults()->held = true;
  job = start(*state, "b");
  assert_int_equal(kill((pid_t)lh_job_process(job), SIGKILL), 0);
  assert_int_equal(waitpid(-1, NULL, __WALL), (pid_t)lh_job_process(job));
  assert_int_equal(lh_job_wait(job, -1, &error), LH_EIO);
  assert_string_equal(error.message, "cannot write 'b': the process that wrote it was killed");
  lh_job_free(job);
  assert_int_equal(scene_count_strays(), 0);
  assert_int_equal(access("b", F_OK), -1);
}

/* A host that forks meanwhile, as daemons do, and goes on in its child. */
static void survives_a_host_that_forks(void **state) {
  int status;
  for (int named = 0; named < 2; named++) {
    if (named) faults_plan(FAULT_NAMELESS, 1, 1, EOPNOTSUPP);
    scene_set_older(false);
    lh_job *job = start(*state, "a");
    pid_t pid = fork();
    if (pid == 0) {
      (void)lh_job_done(job); /* removes nothing */
      _exit(lh_job_wait(job, -1, NULL) == LH_OK ? 7 : 8);
    }
    assert_int_equal(waitpid(-1, &status, 0), pid);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
    finish(job, "a");
    assert_int_equal(scene_count_strays(), 0);
  }
}

/* Has the other end been closed by all who had it? */
static bool is_closed_for(int end) {
  struct pollfd asked = {.fd = end};
  enum { LONG_MS = 60000 };
  return poll(&asked, 1, LONG_MS) == 1 && (asked.revents & POLLHUP);
}

static bool is_locked_for_others(int file) {
  int status;
  pid_t other = fork();
  if (other == 0) _exit(lockf(file, F_TEST, 0) < 0);
  assert_int_equal(waitpid(other, &status, 0), other);
  return WEXITSTATUS(status);
}

/* While the child writes: what the host closes is closed, and what it keeps is as it was. That
** holds also where the system cannot close many descriptors at once. */
static void has_nothing_of_the_host_open(void **state) {
  for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
    int closed[2], kept[2], epoll = epoll_create1(0), file = memfd_create("locked", 0);
    struct epoll_event event = {.events = EPOLLIN};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, closed), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, kept), 0);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, closed[0], &event), 0);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, kept[0], &event), 0);
    assert_int_equal(lockf(file, F_TLOCK, 0), 0);
    if (one_by_one) faults_plan(FAULT_CLOSE_RANGE, 1, SIZE_MAX, EPERM);
    faults()->held = true;
    lh_job *job = start(*state, "a");
    assert_int_equal(write(closed[1], "", 1), 1);
    assert_int_equal(epoll_wait(epoll, &event, 1, 0), 1);
    assert_int_equal(close(closed[0]), 0);
    assert_true(is_closed_for(closed[1]));
    assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
    assert_int_equal(write(kept[1], "", 1), 1);
    assert_int_equal(epoll_wait(epoll, &event, 1, 0), 1);
    assert_true(is_locked_for_others(file));
    assert_false(lh_job_done(job));
    faults()->held = false;
    finish(job, "a");
    for (int i = 0; i < 2; i++) assert_int_equal(close(kept[i]), 0);
    assert_int_equal(close(closed[1]), 0);
    assert_int_equal(close(epoll), 0);
    assert_int_equal(close(file), 0);
  }
}

/* Who reads the host's output until its end does not wait for the file, but for the line that says
** that it is written; and where memory runs out the system ends the child, not the host. */
static void holds_no_output_and_dies_first(void **state) {
  char path[64], score[8] = "";
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  faults()->held = true;
  pid_t program = fork();
  if (program == 0) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++) (void)dup2(ends[1], fd);
    lh_job *job = start(*state, "a");
    (void)snprintf(path, sizeof path, "/proc/%lld/oom_score_adj", (long long)lh_job_process(job));
    for (int fd = 0; fd <= STDERR_FILENO; fd++) (void)close(fd);
    (void)close(ends[0]);
    while (strcmp(score, "1000\n") != 0) {
      FILE *file = fopen(path, "r");
      if (!file || !fgets(score, sizeof score, file)) _exit(2);
      (void)fclose(file);
    }
    (void)close(ends[1]);
    (void)pause();
  }
  (void)close(ends[1]);
  assert_true(is_closed_for(ends[0])); /* the host sleeps, the child waits for us */
  (void)close(ends[0]);
  faults()->held = false;
  for (int status; kill(program, SIGKILL) == 0 && waitpid(program, &status, 0) != program;)
    continue;
  while (!scene_is_whole("a")) (void)usleep(1000);
}

static atomic_bool hold_locks;

static void *hold(void *unused) {
  (void)unused;
  while (hold_locks) {
    char text[64];
    char *block = malloc(1000);
    (void)snprintf(text, sizeof text, "%p", (void *)block);
    (void)fputs(text, log_file);
    free(block);
  }
  return NULL;
}

/* Other threads have malloc's and stdio's locks at the fork: the child must not need them. */
static void needs_no_lock_of_other_threads(void **state) {
  pthread_t threads[2];
  assert_non_null(log_file = fopen("log", "w"));
  hold_locks = true;
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, hold, NULL), 0);
  for (int i = 0; i < 20; i++) finish(start(*state, "a"), "a");
  hold_locks = false;
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(fclose(log_file), 0);
  log_file = NULL;
}

/* ==== What a watcher tells of it ===================================================== */

static void is_one_of_four_at_most(void **state) {
  host h;
  (void)state;
  host_begin(&h);
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2, .background = true});
  faults()->held = true;
  host_run(&h, "for i = 1, 5 do ask() local n = i end assert(written() == 0)");
  assert_int_equal(h.failed, 1);
  assert_int_equal(h.error.code, LH_EBUSY);
  assert_ptr_equal(strstr(h.error.message, "cannot write '"), h.error.message);
  assert_non_null(strstr(h.error.message, ".heap': 4 others are still being written"));
  h.failed = 0;
  faults()->held = false;
  host_run(&h, "repeat local t = {} until written() == 4");
  assert_false(has_children()); /* no zombie is left */
  host_end(&h);
}

static void falls_back_or_says_once_that_no_child_can_be_made(void **state) {
  host h;
  (void)state;
  for (int falls_back = 0; falls_back < 2; falls_back++) {
    host_begin(&h);
    host_watch(&h, (lh_watch_options){
                       .signal_number = SIGUSR2, .background = true, .falls_back = falls_back});
    faults_clear();
    faults_plan(FAULT_SYSCALL, 1, 1000, EAGAIN);
    host_run(&h, "for i = 1, 3 do ask() local n = i end");
    assert_int_equal(h.written, falls_back ? 3 : 0);
    assert_int_equal(h.failed, !falls_back);
    if (h.failed) assert_non_null(strstr(h.error.message, "cannot fork for a background snapshot"));
    h.failed = 0;
    faults_clear();
    host_run(&h, "local n = written() ask() repeat local t = {} until written() > n");
    faults_plan(FAULT_SYSCALL, 1, 1000, EAGAIN);
    host_run(&h, "ask() local n = 0");
    assert_int_equal(h.failed, !falls_back);
    h.failed = 0;
    faults_clear();
    host_end(&h);
  }
}

static void is_left_when_no_more_is_watched(void **state) {
  host h;
  (void)state;
  host_begin(&h);
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2, .background = true});
  faults()->held = true;
  host_run(&h, "ask() local n = 0");
  lh_unwatch(h.L);
  assert_int_equal(h.failed, 1);
  assert_int_equal(h.error.code, LH_EBUSY);
  assert_non_null(strstr(h.error.message, " is still writing '"));
  assert_non_null(strstr(h.error.message, "/test-"));
  h.failed = 0;
  faults()->held = false;
  assert_true(waitpid(-1, NULL, __WALL) > 0);
  assert_true(scene_is_whole(h.path));
  assert_int_equal(unlink(h.path), 0);
  host_end(&h);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(is_no_child_that_wait_sees, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(flushes_no_buffer_and_runs_no_exit_handler, scene_big,
                                      tear_down),
      cmocka_unit_test_setup_teardown(is_not_disturbed_by_signals, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(leaves_the_hosts_signal_mask, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(writes_two_at_once, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(says_what_a_file_may_not_have, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(has_no_real_time_policy, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(changes_nothing_where_fork_fails, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(names_the_cause_where_fork_fails, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(goes_on_where_children_are_ignored, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(survives_a_host_that_reaps_its_child, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(survives_a_host_that_forks, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(has_nothing_of_the_host_open, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(holds_no_output_and_dies_first, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(needs_no_lock_of_other_threads, scene_big, tear_down),
      cmocka_unit_test_setup_teardown(is_one_of_four_at_most, scene_set_up, tear_down),
      cmocka_unit_test_setup_teardown(falls_back_or_says_once_that_no_child_can_be_made,
                                      scene_set_up, tear_down),
      cmocka_unit_test_setup_teardown(is_left_when_no_more_is_watched, scene_set_up, tear_down)};
  (void)atexit(write_at_exit);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
