/*
** test_interval.c - what was allocated in an interval and stays: of one between marks as heapdiff
** --since tells it, of any other to the byte.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>

#include "compare/answers.h"
#include "random_heap.h"
#include "steps.h"
#include "view/answers.h"

static const char leaks[] =
    "bus, cache = bus or {}, cache or {}\n"
    "for i = 1, 20 do\n"
    "  bus[#bus + 1] = {fn = function() return i end, name = 'listener ' .. #bus}\n"
    "  cache['key' .. #bus] = setmetatable({value = i}, {__gc = function() end})\n"
    "  list = {next = list, value = i}\n"
    "end";

enum { MARKS = 4 };

/* A program with the marks m0 ... m3, after each of which it leaks. */
static program stepped(void) {
  program p = program_begin();
  for (int i = 0; i < MARKS; i++) {
    char name[] = "m0";
    name[1] = (char)('0' + i);
    assert_int_equal(lh_mark(p.L, name, strlen(name), NULL), LH_OK);
    assert_int_equal(luaL_dostring(p.L, leaks), LUA_OK);
  }
  (void)program_step(&p, "");
  return p;
}

static lh_snapshot *last_of(const program *p) {
  return p->snapshots[p->n - 1];
}

static lh_interval between(const lh_snapshot *s, uint32_t since, uint32_t until) {
  return (lh_interval){lh_mark_position(s, since), lh_mark_position(s, until)};
}

static void same_groups(const lh_diff *a, const lh_diff *b) {
  assert_int_equal(a->objects, b->objects);
  assert_int_equal(a->shallow_bytes, b->shallow_bytes);
  assert_int_equal(a->retained_bytes, b->retained_bytes);
  assert_int_equal(a->n_groups, b->n_groups);
  for (size_t i = 0; i < a->n_groups; i++) {
    assert_string_equal(a->groups[i].fingerprint, b->groups[i].fingerprint);
    assert_int_equal(a->groups[i].retained_bytes, b->groups[i].retained_bytes);
    assert_int_equal(a->groups[i].example, b->groups[i].example);
  }
}

static void between_marks_it_is_their_diff(void **state) {
  program p = stepped();
  lh_snapshot *s = last_of(&p);
  lh_diff *by_marks, *by_interval;
  (void)state;
  for (uint32_t since = 0; since + 1 < MARKS; since++) {
    for (uint32_t until = since + 1; until < MARKS; until++) {
      const char *names[2] = {lh_mark_at(s, since)->name, lh_mark_at(s, until)->name};
      assert_int_equal(lh_diff_marks(s, names[0], names[1], &by_marks, NULL), LH_OK);
      assert_int_equal(lh_diff_interval(s, between(s, since, until), &by_interval, NULL), LH_OK);
      assert_true(by_marks->objects >= 20);
      same_groups(by_marks, by_interval);
      lh_diff_free(by_marks);
      lh_diff_free(by_interval);
    }
  }
  program_end(&p);
}

static void check_sums(lh_snapshot *s, lh_interval interval) {
  lh_count all = {0, 0}, grouped = {0, 0};
  lh_diff *diff;
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (!lh_is_reachable(s, id) || lh_is_own(s, id) || !lh_in_interval(s, interval, id)) continue;
    all.objects++;
    all.bytes += lh_shallow_bytes(s, id);
  }
  assert_int_equal(lh_diff_interval(s, interval, &diff, NULL), LH_OK);
  for (size_t i = 0; i < diff->n_groups; i++) {
    grouped.objects += diff->groups[i].new_objects;
    grouped.bytes += diff->groups[i].new_bytes;
  }
  assert_int_equal(diff->objects, all.objects);
  assert_int_equal(diff->shallow_bytes, all.bytes);
  assert_memory_equal(&grouped, &all, sizeof all);
  lh_diff_free(diff);
}

static void any_interval_adds_up(void **state) {
  program p = stepped();
  lh_snapshot *s = last_of(&p);
  uint64_t random = 1, n = lh_position_count(s);
  lh_interval ever = LH_EVER;
  (void)state;
  check_sums(s, ever);
  check_sums(s, (lh_interval){0, n});
  check_sums(s, (lh_interval){n, n});
  for (int i = 0; i < 30; i++) {
    uint64_t since = random_below(&random, (uint32_t)n);
    check_sums(s, (lh_interval){since, since + random_below(&random, (uint32_t)(n - since) + 2)});
  }
  program_end(&p);
}

/* ==== Classes and objects ============================================================ */

/* Of each class the instances that are in the interval, and what would go with these. */
static void check_class(lh_snapshot *s, lh_interval interval, const lh_class_row *row) {
  lh_id *ids = calloc(lh_object_count(s), sizeof *ids);
  size_t n = 0;
  uint64_t bytes = 0, retained;
  assert_non_null(ids);
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (lh_class_of(s, id) != row->class_index || !lh_is_reachable(s, id)) continue;
    if (!lh_in_interval(s, interval, id)) continue;
    ids[n++] = id;
    bytes += lh_shallow_bytes(s, id);
  }
  assert_int_equal(row->objects, n);
  assert_int_equal(row->shallow_bytes, bytes);
  assert_int_equal(lh_retained_together(s, ids, n, &retained, NULL, NULL), LH_OK);
  assert_int_equal(row->retained_bytes, retained);
  free(ids);
}

/* Live objects of an interval, without luaheap's own. */
static lh_count live_in(lh_snapshot *s, lh_interval interval) {
  lh_age_chart_query query = {.interval = interval, .bins = 1, .layers = 1};
  lh_age_chart ages;
  assert_int_equal(lh_find_age_chart(s, &query, &ages, NULL), LH_OK);
  lh_count all = ages.all;
  if (lh_is_ever(interval)) {
    all.objects += ages.ageless.objects;
    all.bytes += ages.ageless.bytes;
  }
  lh_age_chart_free(&ages);
  return all;
}

static void tables_are_about_the_interval(void **state) {
  program p = stepped();
  lh_snapshot *s = last_of(&p);
  lh_interval interval = between(s, 1, 3);
  lh_top_query query = {.interval = &interval};
  lh_class_row *rows;
  lh_count all = live_in(s, interval);
  lh_id *ids;
  size_t n, n_left_out;
  uint64_t total, sum = 0;
  (void)state;
  assert_int_equal(lh_top_classes(s, &query, &rows, &n, NULL), LH_OK);
  for (size_t i = 0; i < n; i++) {
    check_class(s, interval, &rows[i]);
    sum += rows[i].objects;
  }
  assert_true(n > 3 && sum == all.objects);
  lh_free(rows);
  query.type_mask = UINT32_MAX;
  assert_int_equal(lh_rank_objects(s, &query, true, &ids, &n, &n_left_out, &total, NULL), LH_OK);
  assert_true(n == all.objects && n == total);
  for (size_t i = 0; i < n; i++) assert_true(lh_in_interval(s, interval, ids[i]));
  lh_free(ids);
  query.type_mask = 1u << LH_TYPE_TABLE;
  query.limit = 5;
  assert_int_equal(lh_rank_objects(s, &query, true, &ids, &n, &n_left_out, &total, NULL), LH_OK);
  assert_true(n == 5 && total > 50 && total < all.objects);
  lh_free(ids);
  program_end(&p);
}

/* ==== The words ====================================================================== */

/* What is told of a request; freed by lh_free. */
static char *told(const char *question, lh_snapshot *s, lh_request request) {
  const char *const names[3] = {"a", "b", "c"};
  lh_report report;
  request.names = names;
  request.n_names = 3;
  assert_int_equal(lh_ask(&report, lh_find_question(question), s, &request, NULL), LH_OK);
  char *text = lh_report_text(&report, "c");
  lh_report_free(&report);
  assert_non_null(text);
  return text;
}

static void begins(const char *text, const char *with) {
  if (strncmp(text, with, strlen(with)) != 0) fail_msg("\"%s\" does not begin \"%s\"", text, with);
}

/* Whatever else is open: the answer is about one snapshot. */
static void it_is_told_as_a_diff_of_marks_is(void **state) {
  program p = stepped();
  lh_snapshot *s = last_of(&p);
  (void)state;
  lh_request by_marks = {.since = "m1", .until = "m2"};
  lh_request by_interval = {.snapshots = p.snapshots,
                            .n_snapshots = 3,
                            .has_interval = true,
                            .interval = between(s, 1, 2)};
  char *expected = told("diff", s, by_marks), *text = told("interval", s, by_interval);
  assert_string_equal(text, expected);
  assert_non_null(strstr(text, "allocated between the marks m1 and m2 are still alive in c: "));
  lh_free(expected);
  lh_free(text);
  by_marks.until = NULL;
  by_interval.interval.until = UINT64_MAX;
  expected = told("diff", s, by_marks), text = told("interval", s, by_interval);
  assert_string_equal(text, expected);
  assert_non_null(strstr(text, "allocated since the mark m1 are still alive in c: "));
  lh_free(expected);
  lh_free(text);
  program_end(&p);
}

static void tables_say_that_they_are_about_an_interval(void **state) {
  static const char words[] = "\nOnly of what was allocated between the marks m1 and m2\n";
  program p = stepped();
  lh_snapshot *s = last_of(&p);
  (void)state;
  lh_request request = {.has_interval = true, .interval = between(s, 1, 2)};
  char *classes = told("classes", s, request), *objects = told("objects", s, request);
  assert_non_null(strstr(classes, words));
  assert_non_null(strstr(objects, words));
  lh_free(classes);
  lh_free(objects);
  program_end(&p);
}

static void moments_without_a_mark_are_positions(void **state) {
  program p = stepped();
  lh_snapshot *s = last_of(&p);
  (void)state;
  lh_request request = {.has_interval = true, .interval = {5, 5}};
  char *text = told("interval", s, request);
  begins(text,
         "Nothing that was allocated between position 5 and position 5 is still alive in c\n");
  lh_free(text);
  request.interval.until = lh_mark_position(s, 0);
  text = told("interval", s, request);
  assert_non_null(
      strstr(text, "allocated between position 5 and the mark m0 are still alive in c"));
  lh_free(text);
  request.interval.until = lh_position_count(s);
  text = told("interval", s, request);
  assert_non_null(strstr(text, "allocated since position 5 are still alive in c"));
  lh_free(text);
  request.has_interval = false;
  text = told("interval", s, request);
  assert_non_null(strstr(text, "allocated at any time are still alive in c"));
  lh_free(text);
  program_end(&p);
}

/* ==================================================================================== */

static void any_allocation_may_fail(void **state) {
  program p = stepped();
  lh_snapshot *s = last_of(&p);
  lh_diff *diff = NULL;
  lh_error error;
  uint64_t n_cases = 0;
  (void)state;
  FAIL_EACH(lh_diff_interval(s, between(s, 0, 2), &diff, &error));
  assert_true(n_cases > 20);
  lh_diff_free(diff);
  program_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(between_marks_it_is_their_diff),
      cmocka_unit_test(any_interval_adds_up),
      cmocka_unit_test(tables_are_about_the_interval),
      cmocka_unit_test(it_is_told_as_a_diff_of_marks_is),
      cmocka_unit_test(tables_say_that_they_are_about_an_interval),
      cmocka_unit_test(moments_without_a_mark_are_positions),
      cmocka_unit_test(any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
