/*
** test_diff_threads.c - three snapshots that a comparison prepares at the same time give the answer
** that they give one after another. So do prepared ones. Also for ThreadSanitizer (make
** check-tsan).
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/answers.h"
#include "graph/graph.h"
#include "rooms/all.h"
#include "steps.h"

/* A leak by objects, a leak by entries, a cache whose values go, and what does not change. */
static const char step[] =
    "bus = bus or {tick = {}}  seen = seen or {}\n"
    "cache = cache or setmetatable({}, {__mode = 'v'})\n"
    "for i = 1, 20 do\n"
    "  bus.tick[#bus.tick + 1] = {name = 'listener ' .. #bus.tick, at = {x = i, y = i}}\n"
    "  seen[#seen + 1] = i\n"
    "  cache[#bus.tick] = bus.tick[#bus.tick].at\n"
    "  list = {next = list, value = i}\n"
    "end";

static void expect_same_groups(const lh_diff *a, const lh_diff *b) {
  assert_int_equal(a->n_groups, b->n_groups);
  for (size_t i = 0; i < a->n_groups; i++) {
    const lh_diff_group *one = &a->groups[i], *other = &b->groups[i];
    assert_string_equal(one->held_by, other->held_by);
    assert_string_equal(one->fingerprint, other->fingerprint);
    assert_int_equal(one->retained_bytes, other->retained_bytes);
    assert_int_equal(one->weight, other->weight);
    assert_memory_equal(one->at, other->at, sizeof one->at);
  }
}

static void expect_same_containers(const lh_diff *a, const lh_diff *b) {
  assert_int_equal(a->n_grown, b->n_grown);
  for (size_t i = 0; i < a->n_grown; i++) {
    assert_string_equal(a->grown[i].held_by, b->grown[i].held_by);
    assert_memory_equal(a->grown[i].entries, b->grown[i].entries, sizeof a->grown[i].entries);
  }
}

static void answers_are_equal(void **state) {
  static const unsigned numbers[] = {2, 3, 7};
  program p = program_begin();
  lh_diff *alone, *diff;
  lh_error error;
  (void)state;
  lh_snapshot *at[3];
  for (int i = 0; i < 3; i++) at[i] = program_step(&p, step);
  assert_int_equal(lh_diff_snapshots(at[0], at[1], at[2], &alone, &error), LH_OK);
  assert_true(alone->n_groups > 0 && alone->n_grown > 0);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    for (int k = 0; k < 3; k++) lh_forget_analysis(at[k]);
    at[2]->threads = numbers[i];
    assert_int_equal(lh_diff_snapshots(at[0], at[1], at[2], &diff, &error), LH_OK);
    assert_false(at[0]->distance || at[0]->classes || at[1]->distance || at[1]->classes);
    expect_same_groups(alone, diff);
    expect_same_containers(alone, diff);
    lh_diff_free(diff);
  }
  lh_diff_free(alone);
  program_end(&p);
}

/* ==== Prepared snapshots ============================================================= */

static lh_snapshot *open_step(const program *p, int i) {
  lh_snapshot *s;
  lh_error error;
  if (lh_open_memory(&s, p->files[i].data, p->files[i].size, "test", &error))
    fail_msg("%s", error.message);
  return s;
}

/* Opens the steps again, and prepares the first two. */
static void open_prepared(const program *p, lh_snapshot *at[3]) {
  lh_error error;
  for (int i = 0; i < 3; i++) {
    at[i] = open_step(p, i);
    if (i < 2 && lh_prepare_older(at[i], i > 0 ? at[0] : NULL, &error))
      fail_msg("%s", error.message);
  }
  assert_int_equal(lh_object_count(at[0]) + lh_object_count(at[1]), 0);
}

static void close_all(lh_snapshot *at[3]) {
  for (int i = 0; i < 3; i++) lh_close(at[i]);
}

static void prepared_snapshots_give_the_same_answer(void **state) {
  program p = program_begin();
  lh_snapshot *at[3], *prepared[3];
  lh_diff *whole, *diff;
  (void)state;
  for (int i = 0; i < 3; i++) at[i] = program_step(&p, step);
  open_prepared(&p, prepared);
  assert_int_equal(lh_diff_snapshots(at[0], at[1], at[2], &whole, NULL), LH_OK);
  assert_int_equal(lh_diff_snapshots(prepared[0], prepared[1], prepared[2], &diff, NULL), LH_OK);
  assert_true(whole->n_groups > 0 && whole->n_grown > 0);
  expect_same_groups(whole, diff);
  expect_same_containers(whole, diff);
  assert_int_equal(whole->left_objects, diff->left_objects);
  lh_diff_free(diff);
  lh_diff_free(whole);
  close_all(prepared);
  program_end(&p);
}

/* Classes are compared then, which needs all objects. */
static void prepared_snapshots_are_read_again_for_another_state(void **state) {
  program p = program_begin(), other = program_begin();
  lh_snapshot *prepared[3];
  lh_diff *diff;
  (void)state;
  for (int i = 0; i < 3; i++) (void)program_step(&p, step);
  open_prepared(&p, prepared);
  lh_snapshot *c = program_step(&other, step);
  assert_int_equal(lh_diff_snapshots(prepared[0], prepared[1], c, &diff, NULL), LH_OK);
  assert_false(diff->same_state);
  assert_true(diff->n_classes > 0 && diff->classes[0].objects[0] > 0);
  assert_int_equal(lh_object_count(prepared[0]), lh_object_count(p.snapshots[0]));
  lh_diff_free(diff);
  close_all(prepared);
  program_end(&other);
  program_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_equal),
      cmocka_unit_test(prepared_snapshots_give_the_same_answer),
      cmocka_unit_test(prepared_snapshots_are_read_again_for_another_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
