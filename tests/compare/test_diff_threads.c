/*
** test_diff_threads.c - three snapshots that a comparison prepares at the same time give the answer
** that they give one after another. Also for ThreadSanitizer (make check-tsan).
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
#include "luaheap.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_equal)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
