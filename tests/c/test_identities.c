/*
** test_identities.c - numbers and references of a file that mean something to the library: they may
** be any, and what they refer to may not be there. All that can be asked of such a file is asked.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask.h"
#include "forge.h"
#include "read/snapshot.h"

static lh_snapshot *open_named(const forge *f) {
  lh_snapshot *s;
  assert_int_equal(lh_open_memory(&s, f->data, f->size, "f", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  return s;
}

static void field(forge *f, uint64_t name, unsigned value_tag) {
  forge_tags(f, LH_VAL_OBJECT, value_tag);
  forge_reference(f, name);
}

/* A suspended coroutine in a light C function that has one argument. */
static void thread_in(forge *f, uint64_t address, uint64_t function, uint64_t argument) {
  forge_record(f, LH_REC_THREAD, address, 1000);
  forge_u8(f, LH_THREAD_SUSPENDED);
  forge_u8(f, 45);
  forge_u8(f, 1);
  forge_u8(f, LH_VAL_CFUNCTION);
  forge_uvarint(f, function);
  forge_u8(f, 0);
  forge_u8(f, 1);
  forge_u8(f, LH_SLOT_ARGUMENT);
  forge_u8(f, 1);
  forge_reference(f, argument);
  forge_u8(f, 0);
}

/* {=== Addresses of functions ========================================================= */

/* package.loaded = {mod = {f = light C function}}, where `named`; and a thread in it. */
static void light_function(forge *f, uint64_t function, bool named) {
  forge_begin(f);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_table(f, 0x2000, 0, 0, 1);
  field(f, 0x2300, LH_VAL_OBJECT);
  forge_reference(f, 0x2100);
  forge_table(f, 0x2100, 0, 0, named);
  if (named) {
    field(f, 0x2400, LH_VAL_CFUNCTION);
    forge_uvarint(f, function);
  }
  thread_in(f, 0x2200, function, 0x2100);
  forge_string(f, 0x2300, "mod");
  forge_string(f, 0x2400, "f");
  forge_root(f, LH_ROOT_LOADED, 0, 0x2000);
  forge_root(f, LH_ROOT_RUNNING_THREAD, 0, 0x2200);
  forge_finish(f);
}

static void a_function_may_have_any_address(void **state) {
  static const uint64_t addresses[] = {0, 1, UINT64_MAX - 1, UINT64_MAX};
  (void)state;
  for (size_t i = 0; i < 2 * sizeof addresses / sizeof *addresses; i++) {
    bool named = i % 2;
    forge f;
    lh_edges it;
    lh_edge edge;
    light_function(&f, addresses[i / 2], named);
    ask_all(f.data, f.size);
    lh_snapshot *s = open_named(&f);
    lh_edges_begin(s, lh_find_address(s, 0x2200), &it);
    assert_true(lh_edges_next(&it, &edge));
    assert_int_equal(edge.kind, LH_EDGE_ARGUMENT);
    char *text = lh_edge_text(s, &edge);
    assert_non_null(strstr(text, named ? "function mod.f [C]" : "function [C]"));
    lh_free(text);
    lh_close(s);
    forge_free(&f);
  }
}

/* }=================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_function_may_have_any_address)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
