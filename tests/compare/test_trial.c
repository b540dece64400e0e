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

#include "luaheap.h"
#include "steps.h"

enum { QUARTER = 25 };

/* Each run leaves a Kept and what it refers to, and two numbers. */
static const char runs[] =
    "Kept, n = Kept or {__name = 'Kept'}, n or 0\n"
    "kept, numbers, ring = kept or {}, numbers or {}, ring or {}\n"
    "for _ = 1, 25 do\n"
    "  n = n + 1\n"
    "  kept[n] = setmetatable({inner = {n}}, Kept)\n"
    "  numbers[#numbers + 1] = n  numbers[#numbers + 1] = n\n"
    "  ring[n % 10] = {n}\n"
    "end";

/* A snapshot before the first run, and one after each quarter: their marks are between these. */
typedef struct quarters {
  program p;
  lh_snapshot *before, *after;
  lh_trial_step at_first, at_last;
} quarters;

static quarters run_quarters(void) {
  quarters q = {.p = program_begin()};
  (void)program_step(&q.p, runs);
  q.before = program_step(&q.p, "");
  for (int i = 0; i < LH_TRIAL_CUTS; i++) q.at_first.serials[i] = UINT32_MAX;
  for (int i = 0; i < 3; i++) q.at_last.serials[i] = lh_snapshot_info(q.before)->serial;
  for (uint64_t i = 3; i < LH_TRIAL_PARTS; i++) {
    q.after = program_step(&q.p, runs);
    q.at_last.runs[i] = (i - 2) * QUARTER;
    if (i < LH_TRIAL_CUTS) q.at_last.serials[i] = lh_snapshot_info(q.after)->serial;
  }
  return q;
}

static int try(const quarters *q, bool all, lh_trial **trial, lh_trial_verdict *verdict,
               lh_leaks *leaks, lh_error *error) {
  bool left;
  int code = lh_trial_new(trial, error);
  if (code == LH_OK) code = lh_trial_add(*trial, q->before, &q->at_first, false, &left, error);
  if (code == LH_OK) code = lh_trial_add(*trial, q->after, &q->at_last, false, &left, error);
  if (code == LH_OK) code = lh_trial_next(*trial, verdict, error);
  if (code == LH_OK) code = lh_trial_leaks(*trial, q->after, false, all, leaks, error);
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
  quarters q = run_quarters();
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks;
  (void)state;
  assert_int_equal(try(&q, true, &trial, &verdict, &leaks, NULL), LH_OK);
  assert_int_equal(verdict, LH_TRIAL_OPEN);
  assert_int_equal(leaks.n_rows, 2);
  const lh_leak *kept = &leaks.rows[0], *numbers = &leaks.rows[1];
  assert_string_equal(kept->class_name, "Kept");
  assert_string_equal(kept->held_by, "_G.kept[*]");
  assert_int_equal(kept->objects, 3 * QUARTER); /* of the last it is too early to tell */
  assert_int_equal(kept->runs, 3 * QUARTER);
  assert_int_equal(kept->new_objects, 2 * 3 * QUARTER);
  assert_false(kept->entries);
  assert_string_equal(numbers->held_by, "_G.numbers");
  assert_true(numbers->entries);
  assert_int_equal(numbers->objects, 2 * 4 * QUARTER);
  assert_int_equal(numbers->runs, 4 * QUARTER);
  assert_int_equal(objects_of_class(&leaks, "Kept"), 3 * QUARTER);
  assert_int_equal(objects_of_class(&leaks, "string"), 0);
  free_leaks(trial, &leaks);
  program_end(&q.p);
}

static void tells_nothing_that_may_have_a_bound_yet(void **state) {
  quarters q = run_quarters();
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks;
  (void)state;
  assert_int_equal(try(&q, false, &trial, &verdict, &leaks, NULL), LH_OK);
  for (size_t i = 0; i < leaks.n_rows; i++) assert_true(leaks.rows[i].entries);
  assert_int_equal(leaks.n_classes, 0);
  free_leaks(trial, &leaks);
  program_end(&q.p);
}

static void another_snapshot_is_refused(void **state) {
  quarters q = run_quarters();
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks, none;
  lh_error error;
  (void)state;
  assert_int_equal(try(&q, true, &trial, &verdict, &leaks, NULL), LH_OK);
  assert_int_equal(lh_trial_leaks(trial, q.before, false, true, &none, &error), LH_EARGUMENT);
  assert_int_equal(lh_trial_add(trial, q.before, &q.at_last, true, NULL, &error), LH_EARGUMENT);
  free_leaks(trial, &leaks);
  program_end(&q.p);
}

static void each_allocation_fails(void **state) {
  quarters q = run_quarters();
  size_t n_cases = 0;
  lh_trial *trial;
  lh_trial_verdict verdict;
  lh_leaks leaks;
  lh_error error;
  (void)state;
  FAIL_EACH(try(&q, true, &trial, &verdict, &leaks, &error));
  free_leaks(trial, &leaks);
  program_end(&q.p);
  printf("faults: allocations in a trial: %zu cases, %zu survived\n", n_cases, n_cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_what_each_run_leaves),
      cmocka_unit_test(tells_nothing_that_may_have_a_bound_yet),
      cmocka_unit_test(another_snapshot_is_refused),
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
