/*
** test_allocation_counts.c - how many objects were made where those of a group were, and stay:
** three snapshots of a list that grows, of a program that was tracked.
**
**     registry -> list -[*]-> ITEMS tables before a, between a and b, between b and c: all of them
**                             made at @app.lua:31 in on, from @app.lua:88 in connect
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"
#include "compare/answers.h"
#include "forged_file.h"
#include "rooms/all.h"
#include "sites.h"

enum { ITEMS = 20, AT_LIST = 0x2000, AT_ITEMS = 0x10000, AT_MARKS = 0x1000 };

static void put_section(forge *f, const uint8_t *bytes, const uint8_t *end) {
  (void)forge_write(bytes, (size_t)(end - bytes), &f->sites);
}

static void put_name(forge *f, const char *name) {
  uint8_t head[LH_LONGEST_DEFINITION];
  put_section(f, head, lh_put_name_head(head, (uint32_t)strlen(name)));
  (void)forge_write(name, strlen(name), &f->sites);
}

/* How a snapshot was taken. */
typedef struct moment {
  unsigned serial;
  bool is_tracked;
  bool is_other; /* by another recorder, which met the sites in another order */
  uint64_t made; /* items, in all */
  uint64_t sample_bytes;
} moment;

/* Stack 1 is a caller of its own, 2 connect, 3 the items; or 1 connect, 2 the items. */
static lh_stack_id put_sites(forge *f, const moment *m) {
  uint8_t bytes[8 * LH_LONGEST_DEFINITION], *p = bytes;
  forge_track(f, 0);
  f->sites.size = 0;
  p = lh_put_uvarint(p, LH_SITES_HAVE_STACKS);
  p = lh_put_uvarint(p, m->sample_bytes);
  p = lh_put_uvarint(lh_put_uvarint(p, m->made), 0);
  put_section(f, bytes, p);
  put_name(f, "@app.lua");
  put_name(f, "on");
  put_name(f, "connect");
  p = lh_put_function(bytes, 1, 30, 2);
  p = lh_put_function(p, 1, 80, 3);
  p = lh_put_site(p, 2, m->is_other ? 88 : 7, LH_MADE_CALL, 0);
  p = lh_put_site(p, 2, m->is_other ? 7 : 88, LH_MADE_CALL, 0);
  p = lh_put_site(p, 1, 31, LH_MADE_TABLE, 0);
  lh_stack_id items = m->is_other ? 2 : 3;
  if (!m->is_other) p = lh_put_stack(p, 0, 1);
  p = lh_put_stack(p, 0, m->is_other ? 1 : 2);
  p = lh_put_stack(p, items - 1, 3);
  *p++ = 0;
  for (lh_stack_id stack = 1; stack <= items; stack++) {
    p = lh_put_uvarint(p, stack == items ? m->made : 5);
    for (int i = 0; i < 3; i++) p = lh_put_uvarint(p, 0);
  }
  put_section(f, bytes, p);
  return items;
}

static const char *name_of(unsigned serial) {
  static const char *const names[] = {"a", "b", "c"};
  return names[serial - 1];
}

static void put_items(forge *f, unsigned from, unsigned end) {
  while (end-- > from) forge_table(f, AT_ITEMS + 64 * end, 0, 0, 0);
}

/* Youngest first: the marks, and what is older than each. */
static lh_snapshot *take_forged(forge *f, const moment *m) {
  lh_snapshot *s;
  lh_error error = {0};
  unsigned n = ITEMS * m->serial;
  forge_begin(f);
  f->footer.serial = m->serial;
  f->footer.name = name_of(m->serial);
  lh_stack_id items = m->is_tracked ? put_sites(f, m) : 0;
  if (!m->is_tracked) forge_version(f, 3);
  for (unsigned serial = m->serial; serial > 0; serial--) {
    f->set_stack = 1;
    forge_mark(f, AT_MARKS + 64 * serial, LH_MARK_BY_SNAPSHOT, serial, name_of(serial));
    f->set_stack = items + 1;
    put_items(f, ITEMS * (serial - 1), ITEMS * serial);
  }
  f->set_stack = 1;
  forge_table(f, AT_LIST, 0, 0, n);
  for (unsigned i = 0; i < n; i++) {
    forge_tags(f, LH_VAL_INTEGER, LH_VAL_OBJECT);
    forge_svarint(f, (int64_t)i + 1);
    forge_reference(f, AT_ITEMS + 64 * i);
  }
  forge_next_list(f);
  for (unsigned serial = m->serial; serial > 0; serial--)
    forge_mark(f, AT_MARKS + 0x800 + 64 * serial, LH_MARK_BY_SNAPSHOT, serial, name_of(serial));
  forge_root(f, LH_ROOT_REGISTRY, 0, AT_LIST);
  forge_finish(f);
  if (lh_open_memory(&s, f->data, f->size, f->footer.name, &error) < 0)
    fail_msg("%s", error.message);
  return s;
}

/* The only group of the three. */
static lh_diff_group compare_moments(const moment moments[3]) {
  forge files[3];
  lh_snapshot *s[3];
  lh_diff *diff;
  for (int i = 0; i < 3; i++) s[i] = take_forged(&files[i], &moments[i]);
  assert_int_equal(lh_diff_snapshots(s[0], s[1], s[2], &diff, NULL), LH_OK);
  assert_int_equal(diff->n_groups, 1);
  lh_diff_group group = diff->groups[0];
  assert_int_equal(group.objects, ITEMS);
  lh_diff_free(diff);
  for (int i = 0; i < 3; i++) {
    lh_close(s[i]);
    forge_free(&files[i]);
  }
  return group;
}

static void what_was_made_between_two(void **state) {
  const moment moments[] = {
      {1, true, false, 30, 0}, {2, true, false, 1030, 0}, {3, true, false, 5000, 0}};
  (void)state;
  lh_allocated a = compare_moments(moments).allocated;
  assert_int_equal(a.stack, 3);
  assert_int_equal(a.callers, 1);
  assert_int_equal(a.objects, ITEMS);
  assert_int_equal(a.of, ITEMS);
  assert_int_equal(a.made, 1000);
  assert_int_equal(a.stay, ITEMS);
}

/* Numbers are a recorder's own; sites are told by what they are. */
static void another_recorder_has_other_numbers(void **state) {
  const moment moments[] = {
      {1, true, true, 30, 0}, {2, true, true, 1030, 0}, {3, true, false, 5000, 0}};
  (void)state;
  lh_allocated a = compare_moments(moments).allocated;
  assert_int_equal(a.stack, 3);
  assert_int_equal(a.made, 1000);
}

/* What was made before was made before tracking began. */
static void tracking_may_begin_later(void **state) {
  const moment moments[] = {
      {1, false, false, 0, 0}, {2, true, false, 50, 0}, {3, true, false, 5000, 0}};
  (void)state;
  lh_allocated a = compare_moments(moments).allocated;
  assert_int_equal(a.made, 50);
  assert_int_equal(a.stay, ITEMS);
  assert_int_equal(a.stay_of_class, ITEMS);
}

static void without_tracking_nothing_is_told(void **state) {
  const moment moments[] = {
      {1, true, false, 30, 0}, {2, true, false, 1030, 0}, {3, false, false, 0, 0}};
  (void)state;
  lh_allocated a = compare_moments(moments).allocated;
  assert_int_equal(a.stack, 0);
  assert_int_equal(a.made, 0);
}

/* One table of 56 bytes stands for 512 / 56 of them, and half of one. */
static void samples_stand_for_all(void **state) {
  const moment moments[] = {
      {1, true, false, 30, 512}, {2, true, false, 1030, 512}, {3, true, false, 5000, 512}};
  (void)state;
  lh_allocated a = compare_moments(moments).allocated;
  assert_int_equal(a.objects, ITEMS);
  assert_int_equal(a.made, 1000);
  assert_in_range(a.stay, 192, 194); /* 20 / (1 - e^-0.109) */
}

static const lh_question *question(const char *name) {
  const lh_question *q = lh_find_question(name);
  assert_non_null(q);
  return q;
}

static void it_is_told_in_a_line(void **state) {
  const moment moments[] = {
      {1, true, false, 30, 0}, {2, true, false, 1030, 0}, {3, true, false, 5000, 0}};
  static const char *const names[] = {"a", "b", "c"};
  forge files[3];
  lh_snapshot *s[3];
  lh_report report;
  (void)state;
  for (int i = 0; i < 3; i++) s[i] = take_forged(&files[i], &moments[i]);
  lh_request request = {.snapshots = s, .n_snapshots = 3, .names = names, .n_names = 3};
  assert_int_equal(lh_ask(&report, question("diff"), s[2], &request, NULL), LH_OK);
  char *text = lh_report_text(&report, "c");
  assert_non_null(text);
  assert_non_null(strstr(text,
                         "\n    allocated at @app.lua:31 in on, from @app.lua:88 in connect; "
                         "20 of 1,000 objects made there stay\n"));
  lh_free(text);
  lh_report_free(&report);
  for (int i = 0; i < 3; i++) {
    lh_close(s[i]);
    forge_free(&files[i]);
  }
}

static int diff_all(lh_snapshot *const s[3], lh_error *error) {
  lh_diff *diff;
  int code = lh_diff_snapshots(s[0], s[1], s[2], &diff, error);
  if (code == LH_OK) lh_diff_free(diff);
  return code;
}

static void memory_runs_out_for_a_diff(void **state) {
  const moment moments[] = {
      {1, true, false, 30, 0}, {2, true, true, 1030, 0}, {3, true, false, 5000, 0}};
  forge files[3];
  lh_snapshot *s[3];
  uint64_t n_cases = 0;
  int code = LH_EMEMORY;
  (void)state;
  for (int i = 0; i < 3; i++) s[i] = take_forged(&files[i], &moments[i]);
  for (; code == LH_EMEMORY; n_cases++) {
    lh_error error = {0};
    (void)lh_test_fail_allocation(n_cases + 1);
    code = diff_all(s, &error);
    (void)lh_test_fail_allocation(0);
  }
  assert_int_equal(code, LH_OK);
  for (int i = 0; i < 3; i++) {
    lh_close(s[i]);
    forge_free(&files[i]);
  }
  (void)printf("faults: each allocation fails in what was made: %llu cases, %llu survived\n",
               (unsigned long long)n_cases, (unsigned long long)n_cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_made_between_two),
                                     cmocka_unit_test(another_recorder_has_other_numbers),
                                     cmocka_unit_test(tracking_may_begin_later),
                                     cmocka_unit_test(without_tracking_nothing_is_told),
                                     cmocka_unit_test(samples_stand_for_all),
                                     cmocka_unit_test(it_is_told_in_a_line),
                                     cmocka_unit_test(memory_runs_out_for_a_diff)};
  return cmocka_run_group_tests_name("made", tests, NULL, NULL);
}
