/*
** test_compare.c - groups and fingerprints of real heaps, recomputed object by object from their
** definitions, and any allocation that fails on the way to them.
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

/* ==== Fingerprints =================================================================== */

static const char leaks[] =
    "local Listener = {__name = 'Listener'}\n"
    "bus = bus or {tick = {}}  cache = cache or {}\n"
    "for i = 1, 10 do\n"
    "  local session = {id = i, buffer = {}}\n"
    "  bus.tick[#bus.tick + 1] = setmetatable({fn = function() return session end}, Listener)\n"
    "  cache['key' .. #bus.tick] = {value = 'string' .. #bus.tick}\n"
    "  list = {next = list, value = i}\n"
    "end";

/* Strings that grow, records that share an object, loaded code, closures that hold one another. */
static const char others[] =
    "log = (log or 'begin') .. ('x'):rep(500)  trail = trail or {}  handler = handler or print\n"
    "local function wrap(previous) return function() return previous end end\n"
    "for i = 1, 10 do\n"
    "  local session = {id = i, buffer = {}}\n"
    "  for k = 1, 2 do trail[#trail + 1] = {who = session, what = k} end\n"
    "  trail['f' .. #trail] = load('return ' .. #trail)  handler = wrap(handler)\n"
    "end";

/* The folded path, found object by object. */
static char *path_of(lh_snapshot *s, lh_id id) {
  lh_path path;
  char *text;
  assert_int_equal(lh_shortest_path(s, id, &path, NULL), LH_OK);
  text = lh_path_text(s, &path, true);
  assert_non_null(text);
  lh_paths_free(&path, 1);
  return text;
}

static size_t count_in(const lh_id *ids, size_t n, lh_id id) {
  size_t found = 0;
  for (size_t i = 0; i < n; i++) found += ids[i] == id;
  return found;
}

/* Is the object, or one that dominates it, of this class and under this folded path? */
static bool belongs_to(lh_snapshot *s, lh_id id, uint32_t class_index, const char *path) {
  bool found = false;
  for (; !found && id != LH_ROOT; id = lh_immediate_dominator(s, id)) {
    if (lh_class_of(s, id) != class_index) continue;
    char *other = path_of(s, id);
    found = strcmp(path, other) == 0;
    lh_free(other);
  }
  return found;
}

/* Objects with a group's fingerprint: those of its class under its folded path, and those of its
** class that these dominate. */
static void fingerprints_find_their_objects(void **state) {
  program p = program_begin();
  lh_diff *diff;
  (void)state;
  lh_snapshot *a = program_step(&p, leaks), *c = program_step(&p, leaks);
  assert_int_equal(lh_diff_snapshots(a, NULL, c, &diff, NULL), LH_OK);
  assert_true(diff->n_groups >= 4);
  for (size_t i = 0; i < diff->n_groups; i++) {
    const lh_diff_group *group = &diff->groups[i];
    char *path = path_of(c, group->example);
    lh_id *ids;
    size_t n_ids, n_right = 0;
    assert_true(lh_is_fingerprint(group->fingerprint));
    assert_int_equal(lh_objects_with(c, group->fingerprint, &ids, &n_ids, NULL), LH_OK);
    for (lh_id id = 1; id <= lh_object_count(c); id++) {
      if (!lh_is_reachable(c, id) || lh_class_of(c, id) != group->class_index) continue;
      bool is_right = belongs_to(c, id, group->class_index, path);
      assert_int_equal(count_in(ids, n_ids, id), is_right);
      n_right += is_right;
    }
    assert_int_equal(n_ids, n_right);
    assert_true(n_ids >= group->objects);
    lh_free(path);
    lh_free(ids);
  }
  lh_diff_free(diff);
  program_end(&p);
}

static void other_texts_are_no_fingerprints(void **state) {
  static const char *const texts[] = {
      "",           "2-0123456789a", "2-012345678", "2-012345678g", "2-0x23456789", "2-012345678A",
      "0123456789", "3-0123456789",  "0123456789ab"};
  program p = program_begin();
  lh_error error;
  lh_id *ids;
  size_t n;
  (void)state;
  lh_snapshot *s = program_step(&p, "");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_false(lh_is_fingerprint(texts[i]));
    assert_int_equal(lh_objects_with(s, texts[i], &ids, &n, &error), LH_EARGUMENT);
  }
  assert_int_equal(lh_objects_with(s, "2-0123456789", &ids, &n, &error), LH_ENOTFOUND);
  assert_string_equal(error.message, "no object in the snapshot has the fingerprint 2-0123456789");
  program_end(&p);
}

/* ==== What is kept =================================================================== */

/* What the comparison analysed itself goes; what its caller had analysed stays. */
static void analyses_of_older_ones_go_when_they_are_counted(void **state) {
  program p = program_begin();
  lh_diff *known, *diff;
  lh_reach reach;
  (void)state;
  lh_snapshot *a = program_step(&p, leaks), *b = program_step(&p, leaks),
              *c = program_step(&p, leaks);
  assert_int_equal(lh_diff_snapshots(a, b, c, &known, NULL), LH_OK);
  assert_true(known->n_groups >= 4 && known->groups[0].at[0] > 0);
  assert_true(a->retained && b->classes);
  lh_forget_analysis(a);
  lh_forget_analysis(b);
  assert_int_equal(lh_diff_snapshots(a, b, c, &diff, NULL), LH_OK);
  assert_false(a->retained || a->classes || b->retained || b->classes);
  assert_true(c->retained && c->classes);
  lh_reach_totals(a, &reach);
  assert_true(reach.reachable_objects > 0);
  assert_int_equal(diff->n_groups, known->n_groups);
  for (size_t i = 0; i < diff->n_groups; i++)
    assert_memory_equal(diff->groups[i].at, known->groups[i].at, sizeof diff->groups[i].at);
  lh_diff_free(diff);
  lh_diff_free(known);
  program_end(&p);
}

/* ==== No memory ====================================================================== */

static void each_allocation_of_a_diff_fails(void **state) {
  program p = program_begin();
  lh_error error;
  lh_diff *diff;
  lh_id *ids;
  size_t n, n_cases = 0;
  (void)state;
  lh_snapshot *a = program_step(&p, leaks), *b = program_step(&p, leaks),
              *c = program_step(&p, leaks);
  FAIL_EACH(lh_diff_snapshots(a, b, c, &diff, &error));
  FAIL_EACH(lh_objects_with(c, diff->groups[0].fingerprint, &ids, &n, &error));
  lh_free(ids);
  lh_diff_free(diff);
  a = program_step(&p, others), b = program_step(&p, others), c = program_step(&p, others);
  FAIL_EACH(lh_diff_snapshots(a, b, c, &diff, &error));
  assert_true(diff->n_grown > 1);
  lh_diff_free(diff);
  program_end(&p);
  printf("faults: allocations while comparing: %zu cases, %zu survived\n", n_cases, n_cases);
}

static void each_allocation_of_a_preparation_fails(void **state) {
  program p = program_begin();
  lh_error error;
  lh_diff *known, *diff;
  lh_snapshot *at[2];
  size_t n_cases = 0;
  (void)state;
  lh_snapshot *a = program_step(&p, leaks), *b = program_step(&p, leaks),
              *c = program_step(&p, leaks);
  for (int i = 0; i < 2; i++)
    if (lh_open_memory(&at[i], p.files[i].data, p.files[i].size, "test", &error))
      fail_msg("%s", error.message);
  FAIL_EACH(lh_prepare_older(at[0], NULL, &error));
  FAIL_EACH(lh_prepare_older(at[1], at[0], &error));
  assert_true(n_cases > 100 && lh_object_count(at[1]) == 0);
  assert_int_equal(lh_diff_snapshots(a, b, c, &known, NULL), LH_OK);
  assert_int_equal(lh_diff_snapshots(at[0], at[1], c, &diff, NULL), LH_OK);
  assert_int_equal(diff->n_groups, known->n_groups);
  assert_int_equal(diff->n_grown, known->n_grown);
  lh_diff_free(diff);
  lh_diff_free(known);
  for (int i = 0; i < 2; i++) lh_close(at[i]);
  program_end(&p);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fingerprints_find_their_objects),
      cmocka_unit_test(other_texts_are_no_fingerprints),
      cmocka_unit_test(analyses_of_older_ones_go_when_they_are_counted),
      cmocka_unit_test(each_allocation_of_a_diff_fails),
      cmocka_unit_test(each_allocation_of_a_preparation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
