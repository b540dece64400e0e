/*
** test_trial.c - what a trial tells of a function that leaks beside what has a bound, and any
** allocation that fails on the way to that. What real programs leave is asked of heap.leaks.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rooms/all.h"
#include "steps.h"

/* Each run leaves a Kept and what it refers to, and two numbers. */
#define RUNS(n)                                                   \
  "Kept, n = Kept or {__name = 'Kept'}, n or 0\n"                 \
  "kept, numbers, ring = kept or {}, numbers or {}, ring or {}\n" \
  "for _ = 1, " #n                                                \
  " do\n"                                                         \
  "  n = n + 1\n"                                                 \
  "  kept[n] = setmetatable({inner = {n}}, Kept)\n"               \
  "  numbers[#numbers + 1] = n  numbers[#numbers + 1] = n\n"      \
  "  ring[n % 10] = {n}\n"                                        \
  "end"

/* Snapshots before the first run, after 80 runs and after 80 more; marks between them are those of
** others. */
typedef struct runs {
  program p;
  lh_snapshot *snapshots[3];
  lh_trial_step steps[3];
} runs;

static uint32_t serial_of(const lh_snapshot *snapshot) {
  return lh_snapshot_info(snapshot)->serial;
}

static runs run_all(void) {
  runs r = {.p = program_begin()};
  r.snapshots[0] = program_step(&r.p, RUNS(5));
  uint32_t begin = serial_of(r.snapshots[0]), after_60 = serial_of(program_step(&r.p, RUNS(60)));
  r.snapshots[1] = program_step(&r.p, RUNS(20));
  uint32_t quarters[3], middle = serial_of(r.snapshots[1]);
  for (int i = 0; i < 3; i++) quarters[i] = serial_of(program_step(&r.p, RUNS(20)));
  r.snapshots[2] = program_step(&r.p, RUNS(20));
  for (int i = 0; i < LH_TRIAL_CUTS; i++) r.steps[0].serials[i] = UINT32_MAX;
  r.steps[1] = (lh_trial_step){.serials = {begin, begin, begin, begin, begin, after_60},
                               .runs = {0, 0, 0, 0, 0, 60, 80}};
  r.steps[2] =
      (lh_trial_step){.serials = {begin, after_60, middle, quarters[0], quarters[1], quarters[2]},
                      .runs = {0, 60, 80, 100, 120, 140, 160}};
  return r;
}

static int try(const runs *r, bool all, lh_trial **trial, lh_trial_verdict *verdict,
               lh_leaks *leaks, lh_error *error) {
  bool left;
  int code = lh_trial_new(trial, error);
  for (int i = 0; i < 3 && code == LH_OK; i++)
    code = lh_trial_add(*trial, r->snapshots[i], &r->steps[i], false, &left, error);
  if (code == LH_OK) code = lh_trial_next(*trial, verdict, error);
  if (code == LH_OK) code = lh_trial_leaks(*trial, r->snapshots[2], false, all, leaks, error);
  if (code == LH_OK) return code;
  lh_trial_free(*trial);
  *trial = NULL;
  return code;
}

static void free_leaks(lh_trial *trial, lh_leaks *leaks) {
  lh_free(leaks->rows);
  lh_free(leaks->classes);
  lh_trial_free(trial);
}

static uint64_t objects_of_class(const lh_leaks *leaks, const char *name) {
  for (size_t i = 0; i < leaks->n_classes; i++)
    if (strcmp(leaks->classes[i].name, name) == 0) return leaks->classes[i].objects;
  return 0;
}

static void tells_what_each_run_leaves(void **state) {
  runs r = run_all();
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks;
  (void)state;
  assert_int_equal(try(&r, true, &trial, &verdict, &leaks, NULL), LH_OK);
  assert_int_equal(verdict, LH_TRIAL_OPEN);
  assert_int_equal(leaks.n_rows, 2);
  const lh_leak *kept = &leaks.rows[0], *numbers = &leaks.rows[1];
  assert_string_equal(kept->class_name, "Kept");
  assert_string_equal(kept->held_by, "_G.kept[*]");
  assert_int_equal(kept->objects, 80); /* from the 60th run to the 140th */
  assert_int_equal(kept->runs, 80);
  assert_int_equal(kept->new_objects, 2 * 80);
  assert_false(kept->entries);
  assert_string_equal(numbers->held_by, "_G.numbers");
  assert_true(numbers->entries);
  assert_int_equal(numbers->objects, 2 * 80);
  assert_int_equal(numbers->runs, 80);
  assert_int_equal(objects_of_class(&leaks, "Kept"), 80);
  assert_int_equal(objects_of_class(&leaks, "string"), 0);
  free_leaks(trial, &leaks);
  program_end(&r.p);
}

static void tells_nothing_that_may_have_a_bound_yet(void **state) {
  runs r = run_all();
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks;
  (void)state;
  assert_int_equal(try(&r, false, &trial, &verdict, &leaks, NULL), LH_OK);
  for (size_t i = 0; i < leaks.n_rows; i++) assert_true(leaks.rows[i].entries);
  assert_int_equal(leaks.n_classes, 0);
  free_leaks(trial, &leaks);
  program_end(&r.p);
}

static void another_snapshot_is_refused(void **state) {
  runs r = run_all();
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks, none;
  lh_error error;
  (void)state;
  assert_int_equal(try(&r, true, &trial, &verdict, &leaks, NULL), LH_OK);
  assert_int_equal(lh_trial_leaks(trial, r.snapshots[0], false, true, &none, &error), LH_EARGUMENT);
  assert_int_equal(lh_trial_add(trial, r.snapshots[0], &r.steps[2], true, NULL, &error),
                   LH_EARGUMENT);
  free_leaks(trial, &leaks);
  program_end(&r.p);
}

static void each_allocation_of_a_trial_fails(void **state) {
  runs r = run_all();
  size_t n_cases = 0;
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks;
  lh_error error;
  (void)state;
  FAIL_EACH(try(&r, true, &trial, &verdict, &leaks, &error));
  free_leaks(trial, &leaks);
  program_end(&r.p);
  printf("faults: allocations in a trial: %zu cases, %zu survived\n", n_cases, n_cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_what_each_run_leaves),
      cmocka_unit_test(tells_nothing_that_may_have_a_bound_yet),
      cmocka_unit_test(another_snapshot_is_refused),
      cmocka_unit_test(each_allocation_of_a_trial_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
