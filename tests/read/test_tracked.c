/*
** test_tracked.c - snapshots of programs that were tracked: they read as all others do, and each
** object has its stack, each stack its site, its caller and its counts.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/decode.h"
#include "sample.h"

static lh_snapshot *open_forged(const forge *f) {
  lh_snapshot *s;
  lh_error error = {0};
  if (lh_open_memory(&s, f->data, f->size, "f", &error) < 0) fail_msg("%s", error.message);
  return s;
}

static void each_object_has_its_stack(void **state) {
  forge f;
  (void)state;
  sample_tracked_heap(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  assert_int_equal(lh_snapshot_info(s)->format_version, 4);
  assert_int_equal(lh_object_count(s), SAMPLE_OBJECTS);
  for (lh_id id = 1; id <= SAMPLE_OBJECTS; id++)
    assert_int_equal(lh_object_stack(s, id), (id - 1) % (SAMPLE_STACKS + 1));
  assert_int_equal(lh_object_stack(s, LH_ROOT), 0);
  assert_int_equal(lh_object_stack(s, LH_NO_OBJECT), 0);
  lh_close(s);
  forge_free(&f);
}

static void each_stack_has_its_site_and_counts(void **state) {
  forge f;
  (void)state;
  sample_tracked_heap(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  const lh_tracking *tracking = lh_snapshot_tracking(s);
  const lh_sites *sites = lh_snapshot_sites(s);
  assert_true(tracking->has_stacks);
  assert_int_equal(tracking->sample_bytes, 0);
  assert_int_equal(tracking->made, 1000);
  assert_int_equal(tracking->unattributed, 2);
  assert_int_equal(lh_n_stacks(sites), SAMPLE_STACKS);
  for (lh_stack_id i = 1; i <= SAMPLE_STACKS; i++) {
    const lh_stack *stack = lh_stack_of(sites, i);
    lh_stack_counts counts = lh_stack_counts_of(s, i);
    assert_int_equal(stack->parent, i - 1);
    assert_string_equal(lh_site_of(sites, stack->site)->source, "@app.lua");
    assert_int_equal(lh_site_of(sites, stack->site)->line, i);
    assert_int_equal(counts.made_objects, i);
    assert_int_equal(counts.made_bytes, 56 * i);
    assert_int_equal(counts.freed_objects, i - 1);
    assert_int_equal(counts.freed_bytes, 56 * (i - 1));
  }
  assert_int_equal(lh_stack_counts_of(s, 0).made_objects, 0);
  assert_int_equal(lh_stack_counts_of(s, SAMPLE_STACKS + 1).made_objects, 0);
  lh_close(s);
  forge_free(&f);
}

static void without_tracking_there_are_none(void **state) {
  forge f;
  (void)state;
  sample_heap(&f);
  forge_version(&f, 3);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  assert_null(lh_snapshot_tracking(s));
  assert_null(lh_snapshot_sites(s));
  assert_int_equal(lh_object_stack(s, 1), 0);
  assert_int_equal(lh_stack_counts_of(s, 1).made_objects, 0);
  lh_close(s);
  forge_free(&f);
}

/* All that an object is, but where its bytes are in memory. */
static lh_object object_at(const lh_snapshot *s, lh_id id) {
  lh_object object;
  lh_object_at(s, id, &object);
  if (object.type == LH_TYPE_STRING) object.as.string.bytes = NULL;
  return object;
}

static void expect_same_edges(const lh_snapshot *a, const lh_snapshot *b, lh_id id) {
  lh_edges at_a, at_b;
  lh_edge edge_a, edge_b;
  lh_edges_begin(a, id, &at_a);
  lh_edges_begin(b, id, &at_b);
  while (lh_edges_next(&at_a, &edge_a)) {
    assert_true(lh_edges_next(&at_b, &edge_b));
    assert_int_equal(edge_a.kind, edge_b.kind);
    assert_int_equal(edge_a.target, edge_b.target);
    assert_int_equal(edge_a.name, edge_b.name);
    assert_int_equal(edge_a.ordinal, edge_b.ordinal);
  }
  assert_false(lh_edges_next(&at_b, &edge_b));
}

/* One is of version 3, the other of version 4. */
static void all_else_is_the_same(void **state) {
  forge plain, tracked;
  (void)state;
  sample_heap(&plain);
  forge_version(&plain, 3);
  forge_finish(&plain);
  sample_tracked_heap(&tracked);
  forge_finish(&tracked);
  lh_snapshot *a = open_forged(&plain), *b = open_forged(&tracked);
  for (lh_id id = 0; id <= SAMPLE_OBJECTS; id++) {
    lh_object of_a = object_at(a, id), of_b = object_at(b, id);
    assert_memory_equal(&of_a, &of_b, sizeof of_a);
    assert_int_equal(lh_shallow_bytes(a, id), lh_shallow_bytes(b, id));
    assert_int_equal(lh_metatable_of(a, id), lh_metatable_of(b, id));
    expect_same_edges(a, b, id);
  }
  lh_close(a);
  lh_close(b);
  forge_free(&plain);
  forge_free(&tracked);
}

/* The number of a stack may have several bytes. */
static void a_record_may_have_a_great_number(void **state) {
  enum { N = 300000 };
  forge f;
  (void)state;
  forge_begin(&f);
  forge_track(&f, N);
  f.set_stack = N + 1;
  forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_string(&f, 0x2000, "text");
  forge_next_list(&f);
  forge_mark(&f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  lh_object object;
  lh_object_at(s, 2, &object);
  assert_memory_equal(object.as.string.bytes, "text", 4);
  assert_int_equal(lh_object_stack(s, 2), N);
  assert_int_equal(lh_stack_counts_of(s, N).made_bytes, 56 * N);
  lh_close(s);
  forge_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_object_has_its_stack),
                                     cmocka_unit_test(each_stack_has_its_site_and_counts),
                                     cmocka_unit_test(without_tracking_there_are_none),
                                     cmocka_unit_test(all_else_is_the_same),
                                     cmocka_unit_test(a_record_may_have_a_great_number)};
  return cmocka_run_group_tests_name("tracked snapshots", tests, NULL, NULL);
}
