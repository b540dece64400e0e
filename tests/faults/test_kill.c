/*
** test_kill.c - SIGKILL at random moments, of the program, of the child that writes in the
** background and of both at once; and signals that the program handles. Under the final name is
** always a whole file, the older or the new one, and with a nameless file nothing else is left, but
** a whole file when the kill hits the instant between link and rename.
**
** The moments are spread over the time that a snapshot takes here, and somewhat beyond. The seed is
** printed when something fails.
*/
#include <dirent.h>
#include <errno.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "faults.h"
#include "rooms/all.h"
#include "scene.h"

#ifdef __SANITIZE_ADDRESS__ /* a fork takes ten times as long there */
enum { KILLS = 20 };
#else
enum { KILLS = 100 };
#endif

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns) {
  struct timespec nap = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  (void)nanosleep(&nap, NULL);
}

static void plan_naming(bool named) {
  faults_clear();
  if (named) faults_plan(FAULT_NAMELESS, 1, SIZE_MAX, EOPNOTSUPP);
}

/* How long a snapshot takes, fork and all. */
static uint64_t duration(lua_State *L, bool background) {
  uint64_t start = now_ns();
  assert_int_equal(scene_take(L, "a", background, NULL), LH_OK);
  return now_ns() - start;
}

/* Removes what is neither "a" nor "b". Returns how many of these are no whole snapshots. */
static size_t clear_strays(void) {
  size_t broken = 0;
  struct dirent *entry;
  DIR *folder = opendir(".");
  assert_non_null(folder);
  while ((entry = readdir(folder))) {
    if (strncmp(entry->d_name, ".luaheap-", 9) != 0) continue;
    broken += !scene_is_whole(entry->d_name);
    assert_int_equal(unlink(entry->d_name), 0);
  }
  (void)closedir(folder);
  return broken;
}

static void expect_whole_or_older(bool older, bool named) {
  assert_true(scene_is_older(older) || scene_is_whole("a"));
  size_t broken = clear_strays();
  if (!named) assert_int_equal(broken, 0);
}

static void report(const char *what, bool named) {
  (void)printf("faults: SIGKILL of %s%s: %d cases, %d survived\n", what,
               named ? " (temporary names)" : "", KILLS, KILLS);
}

/* ==== Of the program ================================================================= */

/* A process of a group of its own that takes one snapshot after the other. */
static pid_t start_program(lua_State *L, bool background) {
  int ready[2];
  char byte;
  assert_int_equal(pipe(ready), 0);
  pid_t pid = fork();
  if (pid == 0) {
    (void)setpgid(0, 0);
    (void)!write(ready[1], "", 1);
    for (;;) (void)scene_take(L, "a", background, NULL);
  }
  assert_true(pid > 0);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  (void)close(ready[0]);
  (void)close(ready[1]);
  return pid;
}

/* Until the program and its children, which are ours once they are orphans, have ended. */
static void wait_for_all(pid_t pid) {
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL);
  while (waitpid(-1, NULL, __WALL) > 0) continue;
  assert_int_equal(errno, ECHILD);
}

static void kill_programs(lua_State *L, bool background, bool group, bool named) {
  plan_naming(named);
  uint64_t most = duration(L, background) * 2;
  for (int i = 0; i < KILLS; i++) {
    bool older = i % 2;
    scene_set_older(older);
    pid_t pid = start_program(L, background);
    sleep_ns((uint64_t)rand() % most);
    assert_int_equal(kill(group ? -pid : pid, SIGKILL), 0);
    wait_for_all(pid);
    expect_whole_or_older(older, named);
  }
}

static void a_killed_program_damages_nothing(void **state) {
  for (int named = 0; named < 2; named++) {
    kill_programs(*state, false, true, named);
    report("the program in a direct snapshot", named);
    kill_programs(*state, true, true, named);
    report("program and background child at once", named);
    kill_programs(*state, true, false, named);
    report("the program while its child writes", named);
  }
}

/* ==== Of the child =================================================================== */

/* Kills the child after a time, and says whether that came before its end. */
static bool kill_child(lua_State *L, uint64_t after_ns) {
  lh_job *job;
  lh_error error = {0};
  assert_int_equal(lh_start_snapshot(L, "a", LH_DEFAULT_STRING_BYTES, &job, NULL), LH_OK);
  sleep_ns(after_ns);
  assert_int_equal(kill((pid_t)lh_job_process(job), SIGKILL), 0); /* it is not reaped yet */
  int rc = lh_job_wait(job, -1, &error);
  assert_true(lh_job_done(job));
  lh_job_free(job);
  if (rc == LH_OK) return false;
  assert_int_equal(rc, LH_EIO);
  assert_string_equal(error.message,
                      "cannot write 'a': the process that wrote it was killed by signal: Killed");
  return true;
}

static void a_killed_child_damages_nothing(void **state) {
  for (int named = 0; named < 2; named++) {
    int killed = 0;
    plan_naming(named);
    uint64_t most = duration(*state, true) * 3 / 2;
    /* On a busy machine the first ones may all come too late. */
    for (int i = 0; i < KILLS || (killed == 0 && i < 10 * KILLS); i++) {
      bool older = i % 2;
      scene_set_older(older);
      uint64_t latest = i < KILLS ? most : most / 16 + 1;
      bool early = kill_child(*state, (uint64_t)rand() % latest);
      killed += early;
      if (!early) assert_true(scene_is_whole("a"));
      expect_whole_or_older(older, false); /* the host cleans up after its child */
    }
    assert_true(killed > 0);
    report("the background child", named);
  }
}

/* ==== Signals that the program handles ============================================== */

static volatile sig_atomic_t n_alarms;

static void count_alarm(int signal_number) {
  (void)signal_number;
  n_alarms++;
}

/* Every 200 microseconds, and the system calls are not restarted. */
static void is_not_disturbed_by_a_timer(void **state) {
  struct sigaction action = {.sa_handler = count_alarm}, before;
  struct itimerval often = {.it_interval.tv_usec = 200, .it_value.tv_usec = 200}, never = {0};
  int cases = 0;
  faults_clear();
  faults()->limited = true; /* so that the alarms fall between many calls */
  faults()->write_bytes = 512;
  assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
  for (int background = 0; background < 2; background++) {
    sig_atomic_t alarms = n_alarms;
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int i = 0; i < 10; i++, cases++) {
      scene_set_older(true);
      assert_int_equal(scene_take(*state, "a", background, NULL), LH_OK);
      assert_true(scene_is_whole("a"));
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_true(n_alarms > alarms);
  }
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
  assert_int_equal(scene_count_strays(), 0);
  faults_clear();
  (void)printf(
      "faults: a signal handler of the program runs in the middle: %d cases, %d survived\n", cases,
      cases);
}

/* ==================================================================================== */

static unsigned seed;

static int begin_group(void **state) {
  (void)state;
  (void)printf("seed %u\n", seed);
  return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_killed_program_damages_nothing, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(a_killed_child_damages_nothing, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(is_not_disturbed_by_a_timer, scene_set_up, scene_tear_down)};
  seed = (unsigned)now_ns();
  srand(seed);
  return cmocka_run_group_tests(tests, begin_group, NULL);
}
