/*
** test_allocated.c - where objects were allocated: sites of a whole heap, of a class and of sets of
** objects, on random heaps of tracked programs against a count that is the definition; and any
** allocation that fails on the way.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyses/answers.h"
#include "base.h"
#include "name/allocated.h"
#include "random_heap.h"
#include "rooms/all.h"
#include "steps.h"

enum { STACKS = 6 };

static lh_snapshot *open_random(uint64_t seed, forge *file) {
  random_heap h = random_heap_make(seed);
  h.n_stacks = 1 + (uint32_t)(seed % STACKS);
  lh_snapshot *s = random_heap_open(&h, file);
  assert_non_null(s);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  program_seed = (unsigned long)seed;
  return s;
}

static lh_site_id site_of(const lh_snapshot *s, lh_id id) {
  lh_stack_id stack = lh_object_stack(s, id);
  return stack == 0 ? 0 : lh_stack_of(lh_snapshot_sites(s), stack)->site;
}

/* The row of a site, object by object. */
static lh_site_row count_site(lh_snapshot *s, lh_site_id site, bool garbage) {
  lh_site_row row = {.site = site};
  lh_id ids[RANDOM_MOST_OBJECTS + 2];
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (lh_is_own(s, id) || lh_is_reachable(s, id) == garbage || site_of(s, id) != site) continue;
    ids[row.objects++] = id;
    row.shallow_bytes += lh_shallow_bytes(s, id);
  }
  if (row.objects > 0 && !garbage)
    assert_int_equal(lh_retained_together(s, ids, row.objects, &row.retained_bytes, NULL, NULL),
                     LH_OK);
  return row;
}

static void check_rows(lh_snapshot *s, const lh_top_query *query) {
  lh_site_row *rows;
  size_t n;
  uint64_t objects = 0, all = 0;
  assert_int_equal(lh_top_sites(s, query, &rows, &n, NULL), LH_OK);
  for (size_t i = 0; i < n; i++) {
    const lh_site_row *row = &rows[i];
    lh_site_row expected = count_site(s, row->site, query->garbage);
    check(row->objects == expected.objects && row->sampled == expected.objects);
    check(row->shallow_bytes == expected.shallow_bytes);
    check(row->retained_bytes == expected.retained_bytes);
    check(row->site == 0 || row->counts.made_objects == row->site); /* forge_track */
    check(row->site != 0 || i + 1 == n);
    if (i > 0 && row->site != 0 && !query->garbage)
      check(row[-1].retained_bytes >= row->retained_bytes);
    objects += row->objects;
  }
  for (lh_id id = 1; id <= lh_object_count(s); id++)
    all += !lh_is_own(s, id) && lh_is_reachable(s, id) != query->garbage;
  check(objects == all);
  lh_free(rows);
}

static void sites_are_as_counted(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    forge file;
    lh_snapshot *s = open_random(seed, &file);
    check_rows(s, &(lh_top_query){.garbage = false});
    check_rows(s, &(lh_top_query){.garbage = true});
    lh_close(s);
    forge_free(&file);
  }
}

static void sites_of_a_class_add_up(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    forge file;
    lh_snapshot *s = open_random(seed, &file);
    lh_description d;
    if (lh_describe_class(s, "string", &d, NULL) == LH_OK) {
      uint64_t objects = 0, bytes = 0;
      for (size_t i = 0; i < d.n_sites; i++) {
        check(i == 0 || d.sites[i - 1].objects >= d.sites[i].objects);
        objects += d.sites[i].objects;
        bytes += d.sites[i].shallow_bytes;
      }
      check(objects == d.objects && bytes == d.shallow_bytes);
      lh_description_free(&d);
    }
    lh_close(s);
    forge_free(&file);
  }
}

/* Of n objects with these stacks. */
static lh_allocated allocated_by(lh_snapshot *s, const lh_id *ids, size_t n) {
  lh_allocations a = {.snapshot = s};
  lh_allocated found[3];
  memset(found, 0xFF, sizeof found);
  for (size_t i = 0; i < n; i++) assert_true(lh_allocations_add(&a, 1, ids[i]));
  assert_true(lh_allocations_add(&a, 0, 1));
  assert_true(lh_allocations_find(&a, found, sizeof *found, 2));
  lh_allocations_free(&a);
  return found[1];
}

/* Stack i is site i, and its caller is stack i - 1: objects of all stacks from 0 on in turn. */
static void the_site_of_most_is_told(void **state) {
  forge f;
  lh_snapshot *s;
  lh_id ids[100];
  (void)state;
  forge_begin(&f);
  forge_track(&f, 3);
  f.footer.serial = 1;
  for (uint64_t i = 0; i < 40; i++) {
    f.set_stack = 1 + (i < 5 ? 0 : i < 15 ? 1 : i < 35 ? 3 : 2);
    forge_table(&f, 0x1000 + 64 * i, 0, 0, 0);
    ids[i] = (lh_id)i + 1;
  }
  forge_mark(&f, 0x100, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_next_list(&f);
  forge_mark(&f, 0x200, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), LH_OK);
  lh_allocated of_all = allocated_by(s, ids, 40);
  assert_int_equal(of_all.stack, 3);
  assert_int_equal(of_all.objects, 20);
  assert_int_equal(of_all.of, 40);
  assert_int_equal(of_all.callers, 1); /* all of them come from stack 2 */
  lh_allocated of_some = allocated_by(s, ids, 12);
  assert_int_equal(of_some.stack, 1);
  assert_int_equal(of_some.objects, 7);
  assert_int_equal(of_some.of, 12);
  assert_int_equal(of_some.callers, 0); /* it has none */
  lh_allocated of_unknown = allocated_by(s, ids, 5);
  assert_int_equal(of_unknown.stack, 0);
  assert_int_equal(of_unknown.of, 5);
  lh_close(s);
  forge_free(&f);
}

static void without_tracking_there_are_none(void **state) {
  forge file;
  lh_error error;
  lh_site_row *rows;
  size_t n;
  (void)state;
  random_heap h = random_heap_make(7);
  lh_snapshot *s = random_heap_open(&h, &file);
  lh_id id = 2;
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_top_sites(s, &(lh_top_query){.limit = 0}, &rows, &n, &error), LH_ENOTFOUND);
  assert_string_equal(error.message,
                      "there are no sites: the program was not tracked (heap.track)");
  lh_allocated none = {0};
  lh_allocations a = {.snapshot = s};
  assert_true(lh_allocations_add(&a, 0, id) && lh_allocations_find(&a, &none, sizeof none, 1));
  assert_int_equal(none.stack, 0);
  lh_close(s);
  forge_free(&file);
}

/* A site takes five bytes, a stack three. */
static void little_memory_is_taken_for_many(void **state) {
  enum { N = 200000, AT_MOST = 48 };
  forge f;
  lh_snapshot *s;
  lh_site_row *rows;
  size_t n;
  (void)state;
  forge_begin(&f);
  forge_track(&f, N);
  f.footer.serial = 1;
  forge_mark(&f, 0x100, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (uint64_t i = 0; i < 100; i++) forge_table(&f, 0x1000 + 64 * i, 0, 0, 0);
  forge_next_list(&f);
  forge_mark(&f, 0x200, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  (void)lh_test_peak_bytes();
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_top_sites(s, &(lh_top_query){.garbage = true}, &rows, &n, NULL), LH_OK);
  assert_int_equal(n, 100);
  assert_true(lh_test_peak_bytes() < AT_MOST * f.size);
  lh_free(rows);
  lh_close(s);
  forge_free(&f);
}

static int top_sites(lh_snapshot *s, lh_error *error) {
  lh_site_row *rows;
  size_t n;
  int code = lh_top_sites(s, &(lh_top_query){.limit = 0}, &rows, &n, error);
  if (code == LH_OK) lh_free(rows);
  return code;
}

static int describe(lh_snapshot *s, lh_error *error) {
  lh_description d;
  int code = lh_describe_class(s, "string", &d, error);
  if (code == LH_OK) lh_description_free(&d);
  return code;
}

static void memory_runs_out_for_sites(void **state) {
  forge file;
  lh_error error;
  size_t n_cases = 0;
  (void)state;
  lh_snapshot *s = open_random(3, &file);
  FAIL_EACH(top_sites(s, &error));
  FAIL_EACH(describe(s, &error));
  lh_close(s);
  FAIL_EACH(lh_open_memory(&s, file.data, file.size, "f", &error));
  lh_close(s);
  forge_free(&file);
  (void)printf("faults: each allocation fails in the sites: %zu cases, %zu survived\n", n_cases,
               n_cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sites_are_as_counted),
                                     cmocka_unit_test(sites_of_a_class_add_up),
                                     cmocka_unit_test(the_site_of_most_is_told),
                                     cmocka_unit_test(without_tracking_there_are_none),
                                     cmocka_unit_test(little_memory_is_taken_for_many),
                                     cmocka_unit_test(memory_runs_out_for_sites)};
  return cmocka_run_group_tests_name("allocated", tests, NULL, NULL);
}
