/*
** test_profile_writer.c - what is written is what happened, in few bytes; and whatever becomes of
** the disk, the file's name, the process and its descriptors, the profile is readable up to there,
** says what it lacks, and does no harm.
*/
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "faults.h"
#include "random_program.h"
#include "scene.h"
#include "track/profile.h"

/* ==== Reading it again ============================================================== */

static lh_profile_out *begin_profile(const program *p, const char *path) {
  lh_profile_options options = options_of(p, path);
  lh_profile_out *out;
  lh_error error = {0};
  if (lh_profile_begin(&out, &options, &error) != LH_OK) fail_msg("%s", error.message);
  return out;
}

typedef struct comparison {
  const program *p;
  size_t n;
  uint64_t time_ns;
} comparison;

static bool compare_event(const lh_event *event, void *data) {
  comparison *c = data;
  lh_event expected = c->p->events[c->n++];
  expected.time_ns = event->time_ns;
  assert_in_range(event->time_ns, c->time_ns, INT64_MAX);
  c->time_ns = event->time_ns;
  if (event->kind != expected.kind || event->type != expected.type ||
      event->stack != expected.stack || event->old_stack != expected.old_stack ||
      event->bytes != expected.bytes || event->old_bytes != expected.old_bytes ||
      event->age_bytes != expected.age_bytes)
    fail_msg("event %zu is another", c->n);
  return true;
}

static lh_profile *open_profile(const char *path) {
  lh_profile *profile;
  lh_error error = {0};
  if (lh_profile_open(path, &profile, &error) != LH_OK) fail_msg("%s", error.message);
  return profile;
}

/* All its events are the program's first ones; returns how many. */
static size_t expect_events(const program *p, const char *path, bool is_whole, uint64_t lost) {
  comparison c = {p, 0, 0};
  lh_profile *profile = open_profile(path);
  const lh_profile_info *about = lh_profile_about(profile);
  assert_int_equal(lh_profile_replay(profile, compare_event, &c, NULL), LH_OK);
  assert_int_equal(c.n, about->n_events);
  assert_int_equal(about->is_whole, is_whole);
  assert_int_equal(about->lost_events, lost);
  assert_int_equal(about->state_id, 42);
  assert_in_range(about->duration_ns, c.time_ns, INT64_MAX);
  if (is_whole) assert_int_equal(c.n + lost, p->n_events);
  lh_profile_close(profile);
  return c.n;
}

static uint64_t size_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (uint64_t)info.st_size;
}

static void save_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static bool is_text(const char *path, const char *text) {
  char now[64] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  size_t n = fread(now, 1, sizeof now - 1, file);
  assert_int_equal(fclose(file), 0);
  return n == strlen(text) && memcmp(now, text, n) == 0;
}

/* ==== What is written =============================================================== */

static void events_are_those_that_happened(void **state) {
  enum { N = 300000 };
  program *p = new_program(N);
  lh_profile_out *out = begin_profile(p, "a");
  (void)state;
  run(p, out, N);
  struct stat info;
  assert_int_equal(stat("a", &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
  assert_true(out->is_open);
  assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  assert_int_equal(expect_events(p, "a", true, 0), N);
  assert_true(size_of("a") < 6 * N);
  lh_profile *profile = open_profile("a");
  const lh_sites *sites = lh_profile_sites(profile);
  assert_int_equal(lh_n_stacks(sites), p->definitions.n_stacks);
  assert_string_equal(lh_site_of(sites, 7)->function, "function_6");
  assert_string_equal(lh_site_of(sites, 7)->source, "@app.lua");
  assert_string_equal(lh_profile_about(profile)->release, "5.4.4");
  assert_non_null(strstr(lh_profile_about(profile)->program, "test_profile_writer"));
  assert_int_equal(lh_profile_about(profile)->process_id, getpid());
  lh_profile_close(profile);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

static lh_call_counts calls_of(const lh_calls *calls, lh_stack_id stack) {
  (void)calls;
  return (lh_call_counts){.calls = stack % 3,
                          .tail_calls = 0,
                          .self_ns = stack,
                          .total_ns = 2 * stack,
                          .is_constant = stack % 2 == 0};
}

/* At the end, and on the way: the file is some MB. */
static void calls_are_written_now_and_then(void **state) {
  enum { N = 1000000 };
  program *p = new_program(N);
  lh_profile_options options = options_of(p, "a");
  lh_profile_out *out;
  size_t n;
  (void)state;
  options.calls = (const lh_calls *)(const void *)p;
  options.counts = calls_of;
  assert_int_equal(lh_profile_begin(&out, &options, NULL), LH_OK);
  run(p, out, N);
  for (int is_whole = 0; is_whole < 2; is_whole++) {
    lh_profile *profile = open_profile("a");
    const lh_profile_call *calls = lh_profile_calls(profile, &n);
    assert_int_equal(n, N_STACKS - N_STACKS / 3);
    assert_int_equal(calls[2].stack, 4);
    assert_int_equal(calls[2].calls, 1);
    assert_int_equal(calls[2].total_ns, 8);
    assert_true(calls[2].is_constant);
    lh_profile_close(profile);
    if (!is_whole) assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  }
  assert_int_equal(expect_events(p, "a", true, 0), N);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

static void a_slow_program_can_be_followed(void **state) {
  enum { N = 3000 };
  program *p = new_program(N);
  lh_profile_out *out = begin_profile(p, "a");
  (void)state;
  run(p, out, N / 2);
  assert_int_equal(expect_events(p, "a", false, 0), 0);
  pass_seconds(1);
  run(p, out, N / 2);
  assert_in_range(expect_events(p, "a", false, 0), N / 2 + 1, N);
  assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

/* ==== Its name ====================================================================== */

static void older_profiles_are_replaced_and_nothing_else(void **state) {
  program *p = new_program(10);
  lh_profile_options options = options_of(p, "a");
  lh_profile_out *out;
  lh_error error;
  (void)state;
  save_text("a", "print 'hello'");
  assert_int_equal(lh_profile_begin(&out, &options, &error), LH_EIO);
  assert_null(out);
  assert_non_null(strstr(error.message, "/a', which is no profile: File exists"));
  assert_true(is_text("a", "print 'hello'"));
  save_text("a", ""); /* as mktemp makes one */
  assert_int_equal(lh_profile_end(begin_profile(p, "a"), NULL), LH_OK);
  struct stat before, after;
  assert_int_equal(stat("a", &before), 0);
  int old = open("a", O_RDONLY); /* so that its number is not used again */
  assert_true(old >= 0);
  assert_int_equal(lh_profile_end(begin_profile(p, "a"), NULL), LH_OK);
  assert_int_equal(stat("a", &after), 0);
  assert_true(before.st_ino != after.st_ino);
  assert_int_equal(close(old), 0);
  assert_int_equal(unlink("a"), 0);
  assert_int_equal(symlink("b", "a"), 0);
  assert_int_equal(lh_profile_begin(&out, &options, &error), LH_EIO);
  assert_int_equal(unlink("a"), 0);
  options.path = "nowhere/a";
  assert_int_equal(lh_profile_begin(&out, &options, &error), LH_EIO);
  assert_int_equal(scene_count_strays(), 0);
  free_program(p);
}

/* ==== Killed, forked, robbed ======================================================== */

static int wait_for(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

/* Two states are told the same name. Neither harms the other's. */
static void a_file_that_is_written_is_left_alone(void **state) {
  (void)state;
  for (int is_aggregate = 0; is_aggregate <= 1; is_aggregate++) {
    program *p = new_program(1000);
    lh_profile_options options = options_of(p, "a");
    options.is_aggregate = is_aggregate;
    lh_profile_out *first, *second;
    lh_error error;
    assert_int_equal(lh_profile_begin(&first, &options, NULL), LH_OK);
    assert_int_equal(lh_profile_begin(&second, &options, &error), LH_EIO);
    assert_int_equal(error.os_errno, EBUSY);
    assert_non_null(strstr(error.message, "/a' is being written"));
    pid_t child = fork(); /* has the descriptor, too */
    if (child == 0) {
      (void)pause();
      _exit(0);
    }
    assert_int_equal(lh_profile_end(first, NULL), LH_OK);
    assert_int_equal(lh_profile_begin(&second, &options, NULL), LH_OK);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(lh_profile_end(second, NULL), LH_OK);
    free_program(p);
    assert_int_equal(unlink("a"), 0);
  }
}

static void who_is_killed_leaves_a_profile(void **state) {
  enum { N = 100000 };
  program *p = new_program(2 * N);
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    run(p, begin_profile(p, "a"), N);
    (void)raise(SIGKILL);
  }
  assert_true(child > 0 && WIFSIGNALED(wait_for(child)));
  lh_profile_out *again = begin_profile(p, "b"); /* the same, since it is no less random */
  run(p, again, N);
  assert_int_equal(lh_profile_end(again, NULL), LH_OK);
  assert_in_range(expect_events(p, "a", false, 0), N - 30000, N);
  free_program(p);
  assert_int_equal(unlink("a") | unlink("b"), 0);
}

static void a_forked_child_writes_nothing(void **state) {
  enum { N = 50000 };
  program *p = new_program(3 * N);
  lh_profile_out *out = begin_profile(p, "a");
  (void)state;
  run(p, out, N);
  pid_t child = fork();
  if (child == 0) {
    run(p, out, 2 * N);
    _exit(lh_profile_end(out, NULL) == LH_OK ? 0 : 1);
  }
  assert_true(child > 0);
  assert_int_equal(wait_for(child), 0);
  run(p, out, N);
  assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  assert_int_equal(expect_events(p, "a", true, 0), 2 * N);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

/* A host closes all descriptors, and opens a file of its own. */
static void a_descriptor_of_others_is_not_written_to(void **state) {
  enum { N = 50000, MOST_DESCRIPTORS = 64 };
  program *p = new_program(2 * N);
  struct stat ours, info;
  lh_error error;
  (void)state;
  lh_profile_out *out = begin_profile(p, "a");
  run(p, out, N);
  assert_int_equal(stat("a", &ours), 0);
  int fd = 3;
  while (fstat(fd, &info) != 0 || info.st_ino != ours.st_ino) assert_true(++fd < MOST_DESCRIPTORS);
  save_text("b", "mine");
  int other = open("b", O_RDWR);
  assert_int_equal(dup2(other, fd), fd);
  run(p, out, N);
  assert_false(out->is_open);
  assert_int_equal(lh_profile_end(out, &error), LH_EIO);
  assert_non_null(strstr(error.message, "/a': Bad file descriptor; "));
  assert_true(is_text("b", "mine"));
  assert_int_equal(fstat(fd, &info), 0); /* nor closed */
  assert_int_equal(close(fd) | close(other), 0);
  assert_in_range(expect_events(p, "a", false, 0), N / 2, N);
  free_program(p);
  assert_int_equal(unlink("a") | unlink("b"), 0);
}

/* ==== The disk ====================================================================== */

/* The n-th write and all after it fail, or that one only. At the end the file has what was written
** before, and as far as it can be written, how much was lost. */
static void the_disk_is_full(void **state) {
  enum { N = 100000, MOST_WRITES = 40 };
  size_t n_cases = 0;
  (void)state;
  for (int for_good = 0; for_good < 2; for_good++) {
    bool is_done = false;
    for (size_t first = 1; !is_done; first++) {
      program *p = new_program(N);
      lh_profile_options options = options_of(p, "a");
      lh_profile_out *out;
      lh_error error = {0};
      assert_in_range(first, 1, MOST_WRITES);
      faults_clear();
      assert_int_equal(lh_profile_end(begin_profile(p, "a"), NULL), LH_OK); /* an older one */
      uint64_t older = size_of("a");
      faults_plan(FAULT_WRITE, first, for_good ? SIZE_MAX : first, ENOSPC);
      if (lh_profile_begin(&out, &options, &error) != LH_OK) {
        assert_int_equal(error.os_errno, ENOSPC);
        assert_int_equal(size_of("a"), older);
      } else {
        errno = ECHILD; /* the program's, who only allocates meanwhile */
        run(p, out, N);
        assert_int_equal(errno, ECHILD);
        int code = lh_profile_end(out, &error);
        is_done = code == LH_OK;
        lh_profile *profile = open_profile("a");
        lh_profile_info about = *lh_profile_about(profile);
        lh_profile_close(profile);
        assert_int_equal(about.is_whole, !for_good || is_done);
        (void)expect_events(p, "a", about.is_whole, about.lost_events);
        if (!is_done) assert_int_equal(error.os_errno, ENOSPC);
        if (about.lost_events > 0) {
          char expected[128];
          (void)snprintf(expected, sizeof expected, "/a': No space left on device; %s lost",
                         lh_count_of(about.lost_events, "event is", "events are").text);
          assert_string_equal(error.message + strlen(error.message) - strlen(expected), expected);
        }
      }
      assert_int_equal(scene_count_strays(), 0);
      free_program(p);
      n_cases++;
    }
  }
  faults_clear();
  printf("faults: each write of a profile fails, once and for good: %zu cases, %zu survived\n",
         n_cases, n_cases);
  assert_int_equal(unlink("a"), 0);
}

static void short_and_interrupted_writes_are_finished(void **state) {
  enum { N = 50000 };
  program *p = new_program(N);
  (void)state;
  faults_clear();
  faults()->interrupt = faults()->limited = true;
  faults()->write_bytes = 1000;
  lh_profile_out *out = begin_profile(p, "a");
  run(p, out, N);
  assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  faults_clear();
  assert_int_equal(expect_events(p, "a", true, 0), N);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

/* SIGXFSZ kills who writes more, unless it looks first. */
static void a_limit_of_the_size_kills_nobody(void **state) {
  enum { N = 200000, LIMIT = 300000 };
  program *p = new_program(N);
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {LIMIT, LIMIT};
    lh_error error;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    lh_profile_out *out = begin_profile(p, "a");
    run(p, out, N);
    _exit(lh_profile_end(out, &error) == LH_EIO && error.os_errno == EFBIG ? 0 : 2);
  }
  assert_true(child > 0);
  assert_int_equal(wait_for(child), 0);
  lh_profile *profile = open_profile("a");
  assert_true(lh_profile_about(profile)->is_whole);
  assert_in_range(lh_profile_about(profile)->file_bytes, LIMIT - (1 << 16), LIMIT);
  assert_int_equal(lh_profile_about(profile)->n_events + lh_profile_about(profile)->lost_events, N);
  lh_profile_close(profile);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

/* The same of the file in memory for a watcher, and of one that may not have a byte. */
static void a_limit_of_the_size_ends_no_live_profile(void **state) {
  enum { N = 50000 };
  static const rlim_t limits[] = {0, 1000};
  program *p = new_program(N);
  (void)state;
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    pid_t child = fork();
    if (child == 0) {
      const struct rlimit limit = {limits[i], limits[i]};
      lh_live *live = lh_live_new();
      lh_profile_options options = options_of(p, NULL);
      lh_profile_out *out;
      static uint8_t buffer[LH_PROFILE_BUFFER];
      options.is_live = true;
      if (!live || lh_profile_begin(&out, &options, NULL) != LH_OK) _exit(1);
      run(p, out, N);
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
      lh_live_publish(live, out, buffer);
      lh_live_free(live);
      _exit(lh_profile_end(out, NULL) == LH_OK ? 0 : 3);
    }
    assert_true(child > 0);
    assert_int_equal(wait_for(child), 0);
  }
  free_program(p);
}

static void memory_runs_out_for_a_profile(void **state) {
  program *p = new_program(10);
  (void)state;
  for (int is_aggregate = 0; is_aggregate < 2; is_aggregate++) {
    lh_profile_options options = options_of(p, "a");
    lh_profile_out *out;
    lh_error error = {0};
    uint64_t n = 1;
    options.is_aggregate = is_aggregate;
    (void)lh_test_fail_allocation(n);
    while (lh_profile_begin(&out, &options, &error) != LH_OK) {
      assert_int_equal(error.code, LH_EMEMORY);
      assert_null(out);
      (void)lh_test_fail_allocation(++n);
      assert_in_range(n, 1, 100);
    }
    (void)lh_test_fail_allocation(0);
    assert_int_equal(lh_profile_end(out, NULL), LH_OK);
    assert_int_equal(scene_count_strays(), 0);
    assert_int_equal(unlink("a"), 0);
  }
  free_program(p);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(events_are_those_that_happened),
                                     cmocka_unit_test(calls_are_written_now_and_then),
                                     cmocka_unit_test(a_slow_program_can_be_followed),
                                     cmocka_unit_test(older_profiles_are_replaced_and_nothing_else),
                                     cmocka_unit_test(a_file_that_is_written_is_left_alone),
                                     cmocka_unit_test(who_is_killed_leaves_a_profile),
                                     cmocka_unit_test(a_forked_child_writes_nothing),
                                     cmocka_unit_test(a_descriptor_of_others_is_not_written_to),
                                     cmocka_unit_test(the_disk_is_full),
                                     cmocka_unit_test(short_and_interrupted_writes_are_finished),
                                     cmocka_unit_test(a_limit_of_the_size_kills_nobody),
                                     cmocka_unit_test(a_limit_of_the_size_ends_no_live_profile),
                                     cmocka_unit_test(memory_runs_out_for_a_profile)};
  return cmocka_run_group_tests(tests, scene_set_up, scene_tear_down);
}
