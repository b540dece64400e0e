/*
** test_profile_counts.c - an aggregate counts what happened, as an obvious count of the same events
** does; and it is what a watcher is shown.
*/
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "faults.h"
#include "profile/format.h"
#include "random_program.h"
#include "scene.h"

static lh_profile *open_profile(const char *path) {
  lh_profile *profile;
  lh_error error = {0};
  if (lh_profile_open(path, &profile, &error) != LH_OK) fail_msg("%s", error.message);
  return profile;
}

static uint64_t size_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (uint64_t)info.st_size;
}

/* ==== Aggregates ==================================================================== */

typedef struct tally {
  lh_profile_count counts[N_STACKS + 1][N_TYPES];
  uint64_t live[N_STACKS + 1][N_TYPES];
} tally;

static unsigned index_of(uint8_t type) {
  unsigned i = 0;
  while (program_types[i] != type) i++;
  return i;
}

static void note_death(lh_profile_count *c, uint64_t age, uint64_t bytes) {
  unsigned i = 0;
  while (i < LH_PROFILE_AGES - 1 && age > (UINT64_C(4096) << i) - 1 && age != 0) i++;
  c->deaths[i]++;
  c->death_bytes[i] += bytes;
}

static void note_event(tally *t, const lh_event *e) {
  unsigned type = index_of(e->type);
  lh_profile_count *c = &t->counts[e->stack][type], *old = &t->counts[e->old_stack][type];
  if (e->kind != LH_EVENT_FREE) {
    *(e->kind == LH_EVENT_NEW ? &c->made : &c->resized) += 1;
    *(e->kind == LH_EVENT_NEW ? &c->made_bytes : &c->resized_bytes) += e->bytes;
    c->samples++;
    t->live[e->stack][type] += e->bytes;
  }
  if (e->kind == LH_EVENT_NEW) return;
  *(e->kind == LH_EVENT_FREE ? &old->freed : &old->replaced) += 1;
  *(e->kind == LH_EVENT_FREE ? &old->freed_bytes : &old->replaced_bytes) += e->old_bytes;
  t->live[e->old_stack][type] -= e->old_bytes;
  if (e->kind == LH_EVENT_FREE) note_death(old, e->age_bytes, e->old_bytes);
}

/* By the definition: all is counted again up to the first event at which most lived. */
static tally *count_all(const program *p) {
  tally *t = calloc(1, sizeof *t), *at_peak = calloc(1, sizeof *t);
  uint64_t live = 0, peak = 0;
  size_t peak_at = 0;
  assert_true(t && at_peak);
  for (size_t i = 0; i < p->n_events; i++) {
    note_event(t, &p->events[i]);
    live += p->events[i].bytes - p->events[i].old_bytes;
    if (live > peak) {
      peak = live;
      peak_at = i + 1;
    }
  }
  for (size_t i = 0; i < peak_at; i++) note_event(at_peak, &p->events[i]);
  for (size_t s = 0; s <= N_STACKS; s++)
    for (size_t k = 0; k < N_TYPES; k++) t->counts[s][k].live_bytes_at_peak = at_peak->live[s][k];
  free(at_peak);
  return t;
}

static void expect_counts(const program *p, const char *path, bool is_whole) {
  size_t n, n_expected = 0;
  tally *t = count_all(p);
  lh_profile *profile = open_profile(path);
  const lh_profile_count *rows = lh_profile_counts(profile, &n);
  assert_int_equal(lh_profile_about(profile)->is_whole, is_whole);
  assert_true(lh_profile_about(profile)->is_aggregate);
  assert_int_equal(lh_profile_about(profile)->n_events, 0);
  assert_int_equal(lh_n_stacks(lh_profile_sites(profile)), p->definitions.n_stacks);
  for (size_t s = 0; s <= N_STACKS; s++)
    for (size_t k = 0; k < N_TYPES; k++)
      n_expected += t->counts[s][k].samples + t->counts[s][k].freed > 0;
  assert_int_equal(n, n_expected);
  for (size_t i = 0; i < n; i++) {
    lh_profile_count *expected = &t->counts[rows[i].stack][index_of(rows[i].type)];
    expected->stack = rows[i].stack;
    expected->type = rows[i].type;
    assert_memory_equal(&rows[i], expected, sizeof *expected);
  }
  lh_profile_close(profile);
  free(t);
}

static void aggregates_count_what_happened(void **state) {
  enum { N = 60000 };
  program *p = new_program(N);
  lh_profile_options options = options_of(p, "a");
  lh_profile_out *out;
  (void)state;
  options.is_aggregate = true;
  assert_int_equal(lh_profile_begin(&out, &options, NULL), LH_OK);
  run(p, out, N / 2);
  while (p->n_blocks > 100 && p->n_events < N) release(p, out, roll(p, p->n_blocks));
  if (p->n_events < N) run(p, out, N - p->n_events);
  uint64_t before = size_of("a"); /* empty, but there */
  assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  assert_in_range(size_of("a"), before + 1, 200000);
  expect_counts(p, "a", true);
  assert_int_equal(scene_count_strays(), 0);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

static void samples_are_counted_by_weight(void **state) {
  program *p = new_program(10);
  lh_profile_options options = options_of(p, "a");
  lh_profile_out *out;
  size_t n;
  (void)state;
  lh_stack_id stack = any_stack(p);
  options.is_aggregate = true;
  options.sample_bytes = 1000;
  assert_int_equal(lh_profile_begin(&out, &options, NULL), LH_OK);
  lh_event made = {.kind = LH_EVENT_NEW, .type = 5, .stack = stack, .bytes = 56, .weight = 18.25};
  for (int i = 0; i < 4; i++) lh_profile_put(out, made);
  lh_profile_put(out, (lh_event){.kind = LH_EVENT_FREE,
                                 .type = 5,
                                 .old_stack = stack,
                                 .old_bytes = 56,
                                 .age_bytes = 5000,
                                 .weight = 18.25});
  assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  lh_profile *profile = open_profile("a");
  const lh_profile_count *row = lh_profile_counts(profile, &n);
  assert_int_equal(n, 1);
  assert_int_equal(row->made, 73);
  assert_int_equal(row->made_bytes, 73 * 56);
  assert_int_equal(row->live_bytes_at_peak, 73 * 56);
  assert_int_equal(row->samples, 4);
  assert_int_equal(row->freed, 18);
  assert_int_equal(row->deaths[1], 18);
  assert_int_equal(row->death_bytes[1], 1022);
  lh_profile_close(profile);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

/* So much is counted until the time is looked at. */
static void run_to_look(program *p, lh_profile_out *out) {
  run(p, out, 256 - p->n_events % 256);
}

/* Each ten seconds; where that fails once, the next time; and never by a child. */
static void who_is_killed_leaves_the_last_counts(void **state) {
  enum { N = 10000 };
  program *p = new_program(5 * N);
  lh_profile_options options = options_of(p, "a");
  lh_profile_out *out;
  (void)state;
  options.is_aggregate = true;
  assert_int_equal(lh_profile_begin(&out, &options, NULL), LH_OK);
  for (int i = 0; i < 2; i++) {
    run(p, out, N);
    uint64_t before = size_of("a");
    pass_seconds(9);
    run_to_look(p, out);
    assert_int_equal(size_of("a"), before);
    pass_seconds(2);
    faults_clear();
    faults_plan(FAULT_WRITE, 1, 1, ENOSPC);
    run_to_look(p, out);
    assert_int_equal(size_of("a"), before);
    assert_non_null(strstr(out->trouble.message, "/a': No space left on device"));
    faults_clear();
    pass_seconds(11);
    pid_t child = fork();
    if (child == 0) {
      run_to_look(p, out);
      _exit(lh_profile_end(out, NULL) == LH_OK ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(size_of("a"), before);
    run_to_look(p, out);
    expect_counts(p, "a", false);
    assert_int_equal(out->trouble.code, LH_OK);
  }
  assert_int_equal(lh_profile_end(out, NULL), LH_OK);
  expect_counts(p, "a", true);
  assert_int_equal(scene_count_strays(), 0);
  free_program(p);
  assert_int_equal(unlink("a"), 0);
}

/* ==== Watched from outside ========================================================== */

/* The descriptor of this process whose file has such a name; -1. */
static int find_file(const char *name) {
  char link[64], target[64];
  for (int fd = 3; fd < 64; fd++) {
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < 0) continue;
    target[n] = '\0';
    if (strncmp(target, name, strlen(name)) == 0) return fd;
  }
  return -1;
}

/* Opens the request anew, which nobody can write to, and locks a byte of it. */
static int ask_again(int request, struct flock *lock) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", request);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(pwrite(fd, "x", 1, 0), -1);
  assert_int_equal(ftruncate(fd, 1), -1);
  assert_int_equal(fcntl(fd, F_OFD_SETLK, lock), 0);
  return fd;
}

static void a_watcher_asks_and_is_shown(void **state) {
  enum { N = 20000 };
  (void)state;
  for (int has_file = 0; has_file < 2; has_file++) {
    program *p = new_program(2 * N);
    lh_profile_options options = options_of(p, has_file ? "a" : NULL);
    lh_profile_out *out;
    lh_profile *profile;
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    struct stat status;
    char path[64];
    size_t before = scene_count_descriptors();
    options.is_live = true;
    assert_int_equal(lh_profile_begin(&out, &options, NULL), LH_OK);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", find_file("/memfd:luaheap-profile"));
    run(p, out, N);
    assert_int_equal(lh_profile_open(path, &profile, NULL), LH_EFOREIGN); /* nobody has asked */
    assert_int_equal(stat(path, &status), 0);
    lock.l_start = lh_live_byte(status.st_ino);
    int asks = ask_again(find_file("/memfd:luaheap-request"), &lock);
    pass_seconds(1);
    run_to_look(p, out);
    expect_counts(p, path, false);
    ino_t first = status.st_ino;
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_ino != first);
    pass_seconds(1);
    run_to_look(p, out); /* the lock is still there, but says that an older profile is old */
    first = status.st_ino;
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_ino == first);
    assert_int_equal(close(asks), 0);
    run(p, out, 1000);
    assert_int_equal(lh_profile_end(out, NULL), LH_OK);
    assert_int_equal(scene_count_descriptors(), before);
    if (has_file) {
      profile = open_profile("a"); /* of events, as it was without a watcher */
      assert_true(lh_profile_about(profile)->is_whole && !lh_profile_about(profile)->is_aggregate);
      assert_int_equal(lh_profile_about(profile)->n_events, p->n_events);
      lh_profile_close(profile);
      assert_int_equal(unlink("a"), 0);
    }
    free_program(p);
  }
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(aggregates_count_what_happened),
                                     cmocka_unit_test(samples_are_counted_by_weight),
                                     cmocka_unit_test(who_is_killed_leaves_the_last_counts),
                                     cmocka_unit_test(a_watcher_asks_and_is_shown)};
  return cmocka_run_group_tests(tests, scene_set_up, scene_tear_down);
}
