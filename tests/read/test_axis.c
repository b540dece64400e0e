/*
** test_axis.c - positions on the axis of time, against an oracle that sorts all objects, and
** intervals, of random lists of objects and marks, and of programs with finalizers.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_heap.h"
#include "steps.h"

/* ==== The oracle ===================================================================== */

typedef struct event {
  lh_id id;
  lh_list list;
  uint32_t epoch;
  uint64_t rank, n; /* of its list, in its epoch */
} event;

/* Is a older than b? Inside an epoch each list grew evenly. */
static int compare_events(const void *left, const void *right) {
  const event *a = left, *b = right;
  if (a->epoch != b->epoch) return a->epoch < b->epoch ? -1 : 1;
  uint64_t x = (2 * a->rank + 1) * b->n, y = (2 * b->rank + 1) * a->n;
  if (x != y) return x < y ? -1 : 1;
  return a->list < b->list ? -1 : 1;
}

/* All objects that have an age, oldest first. Freed by the caller. */
static event *sorted_events(const lh_snapshot *s, size_t *n) {
  event *events = calloc(lh_object_count(s) + 1, sizeof *events);
  assert_non_null(events);
  *n = 0;
  for (lh_id id = lh_object_count(s); id > 0; id--) {
    lh_list list = lh_list_of(s, id);
    if (list != LH_LIST_ALLGC && list != LH_LIST_FINOBJ) continue;
    event *e = &events[(*n)++];
    *e = (event){.id = id, .list = list, .epoch = lh_epoch(s, id)};
    for (size_t i = 0; i + 1 < *n; i++)
      e->rank += events[i].list == list && events[i].epoch == e->epoch;
  }
  for (size_t i = 0; i < *n; i++)
    for (size_t k = 0; k < *n; k++)
      events[i].n += events[k].list == events[i].list && events[k].epoch == events[i].epoch;
  qsort(events, *n, sizeof *events, compare_events);
  return events;
}

static void check_marks(const lh_snapshot *s) {
  for (uint32_t mark = 0; mark < lh_mark_count(s); mark++) {
    uint64_t older = 0;
    for (lh_id id = 1; id <= lh_object_count(s); id++)
      older += lh_list_of(s, id) <= LH_LIST_FINOBJ && lh_epoch(s, id) <= mark;
    check(lh_mark_position(s, mark) == older);
  }
}

static void check_interval(const lh_snapshot *s, lh_interval interval) {
  lh_id_range ranges[2];
  lh_objects_in(s, interval, ranges);
  check(ranges[0].first <= ranges[0].end && ranges[0].end <= ranges[1].first);
  check(ranges[1].first <= ranges[1].end && ranges[1].end <= lh_object_count(s) + 1);
  for (lh_id id = 0; id <= lh_object_count(s); id++) {
    uint64_t position = lh_position_of(s, id);
    bool inside =
        position != LH_NO_POSITION && interval.since <= position && position < interval.until;
    check(lh_in_ranges(ranges, id) == inside && lh_in_interval(s, interval, id) == inside);
  }
}

static void check_axis(const lh_snapshot *s, uint64_t seed) {
  size_t n;
  event *events = sorted_events(s, &n);
  check(lh_position_count(s) == n);
  for (size_t i = 0; i < n; i++) check(lh_position_of(s, events[i].id) == i);
  free(events);
  for (lh_id id = 1; id <= lh_object_count(s); id++)
    check((lh_position_of(s, id) == LH_NO_POSITION) == (lh_list_of(s, id) > LH_LIST_FINOBJ));
  check_marks(s);
  for (int i = 0; i < 20; i++) {
    uint64_t since = random_below(&seed, (uint32_t)n + 3);
    check_interval(s, (lh_interval){since, since + random_below(&seed, (uint32_t)n)});
  }
  check_interval(s, (lh_interval){0, n});
  check_interval(s, (lh_interval){n, 0});
  check_interval(s, (lh_interval){n / 2 + 1, UINT64_MAX});
}

/* ==== Forged lists =================================================================== */

/* A list of random length, with marks among the objects, youngest first. Of finobj some are gone,
** since a program that clears its registry loses them. */
static void forge_list(forge *f, uint64_t *random, uint64_t at, uint32_t n_marks, bool has_all) {
  for (uint32_t serial = n_marks; serial > 0; serial--) {
    char name[16];
    (void)snprintf(name, sizeof name, "m%u", serial);
    if (has_all || random_below(random, 4) > 0)
      forge_mark(f, at += 0x100, LH_MARK_BY_MARK, serial, name);
    uint32_t most = random_below(random, 3) == 0 ? 1 : 30;
    for (uint32_t n = random_below(random, most); n > 0; n--) forge_table(f, at += 0x100, 0, 0, 0);
  }
}

static void check_forged(uint64_t seed) {
  forge f;
  lh_snapshot *s;
  uint64_t random = seed;
  forge_begin(&f);
  f.footer.serial = 1 + random_below(&random, 6);
  forge_list(&f, &random, 0x100000, (uint32_t)f.footer.serial, true);
  forge_next_list(&f);
  forge_list(&f, &random, 0x200000, (uint32_t)f.footer.serial, false);
  forge_next_list(&f);
  for (uint32_t i = random_below(&random, 3); i > 0; i--)
    forge_table(&f, 0x300000 + i * 64, 0, 0, 0);
  forge_next_list(&f);
  forge_string(&f, 0x400000, "and");
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), LH_OK);
  program_seed = seed;
  check_axis(s, seed);
  lh_close(s);
  forge_free(&f);
}

static void positions_of_random_lists(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) check_forged(seed);
}

/* A thousand objects on one list and three on the other: these are in the middle of the thirds. */
static void lists_of_very_different_lengths(void **state) {
  forge f;
  lh_snapshot *s;
  (void)state;
  forge_begin(&f);
  forge_mark(&f, 0x1000, LH_MARK_BY_MARK, f.footer.serial = 1, "own");
  for (uint64_t i = 0; i < 999; i++) forge_table(&f, 0x10000 + i * 64, 0, 0, 0);
  forge_next_list(&f);
  forge_mark(&f, 0x2000, LH_MARK_BY_MARK, 1, "own");
  forge_table(&f, 0x3000, 0, 0, 0);
  forge_table(&f, 0x3100, 0, 0, 0);
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), LH_OK);
  check_axis(s, 1);
  assert_int_equal(lh_position_of(s, lh_find_address(s, 0x3100)), 167);
  assert_int_equal(lh_position_of(s, lh_find_address(s, 0x3000)), 501);
  assert_int_equal(lh_position_of(s, lh_find_address(s, 0x2000)), 835);
  lh_close(s);
  forge_free(&f);
}

/* ==== A program ====================================================================== */

/* What is allocated after a snapshot is on the right of its mark, with or without a finalizer; what
** its finalizer revives looks young; what waits for one, and reserved words, have no position. */
static void positions_in_a_program(void **state) {
  static const char more[] =
      "keep, revived = keep or {}, revived or {}\n"
      "for i = 1, 40 do keep[#keep + 1] = {} end\n"
      "for i = 1, 7 do keep[#keep + 1] = setmetatable({}, {__gc = function() end}) end\n"
      "setmetatable({}, {__gc = function(o) revived[#revived + 1] = o end})";
  program p = program_begin();
  lh_snapshot *s = NULL;
  (void)state;
  for (int i = 0; i < 4; i++) s = program_step(&p, more);
  assert_int_equal(lh_mark_count(s), 4);
  check_axis(s, 4);
  for (int k = 0; k < 4; k++) {
    const lh_snapshot *earlier = p.snapshots[k];
    uint64_t own = lh_mark_position(s, (uint32_t)k);
    uint32_t n_new = 0;
    for (lh_id id = 1; id <= lh_object_count(s); id++) {
      lh_id before = lh_find_address(earlier, lh_address_of(s, id));
      uint64_t position = lh_position_of(s, id);
      if (before == LH_NO_OBJECT && position != LH_NO_POSITION) assert_true(position >= own);
      n_new += position != LH_NO_POSITION && position >= own;
    }
    assert_true(n_new >= (uint32_t)(3 - k) * 54);
  }
  program_end(&p);
}

static void all_is_in_ever(void **state) {
  program p = program_begin();
  lh_interval ever = LH_EVER;
  lh_id_range ranges[2];
  (void)state;
  lh_snapshot *s = program_step(&p, "");
  lh_objects_in(s, ever, ranges);
  for (lh_id id = 1; id <= lh_object_count(s); id++)
    assert_true(lh_in_interval(s, ever, id) && lh_in_ranges(ranges, id));
  assert_false(lh_in_interval(s, ever, LH_ROOT));
  assert_false(lh_in_ranges(ranges, LH_ROOT));
  assert_false(lh_in_interval(s, ever, LH_NO_OBJECT));
  assert_int_equal(lh_position_of(s, LH_ROOT), LH_NO_POSITION);
  assert_int_equal(lh_position_of(s, LH_NO_OBJECT), LH_NO_POSITION);
  program_end(&p);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(positions_of_random_lists),
      cmocka_unit_test(lists_of_very_different_lengths),
      cmocka_unit_test(positions_in_a_program),
      cmocka_unit_test(all_is_in_ever),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
