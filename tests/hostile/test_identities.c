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
#include "forged_file.h"
#include "graph/answers.h"
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

/* ==== Addresses of functions ========================================================= */

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

/* ==== What is not there ============================================================== */

enum { NOWHERE = 0x90000, MANY = 40 };

static void entry_of(forge *f, uint64_t key, uint64_t value) {
  field(f, key, LH_VAL_OBJECT);
  forge_reference(f, value);
}

/* A table with many entries whose keys, values, or both are not there; and some that are. */
static void table_of_nothing(forge *f, uint64_t address, unsigned flags, bool keys, bool values) {
  forge_table(f, address, flags, NOWHERE, MANY);
  for (unsigned i = 0; i < MANY; i++)
    entry_of(f, keys ? NOWHERE + 0x10 * i : 0x4000 + 0x20 * (i % 4), values ? NOWHERE : 0x5000);
}

static void functions_of_nothing(forge *f) {
  forge_record(f, LH_REC_LUA_CLOSURE, 0x5000, 48);
  forge_uvarint(f, 2);
  forge_reference(f, NOWHERE); /* its prototype */
  forge_reference(f, NOWHERE);
  forge_reference(f, 0x5200);
  forge_record(f, LH_REC_LUA_CLOSURE, 0x5100, 40);
  forge_uvarint(f, 1);
  forge_reference(f, 0x5300);
  forge_reference(f, 0x5200);
  forge_record(f, LH_REC_UPVALUE, 0x5200, 40);
  forge_object(f, NOWHERE);
  forge_record(f, LH_REC_PROTO, 0x5300, 136);
  forge_reference(f, NOWHERE); /* its source */
  for (int i = 0; i < 8; i++) forge_u8(f, 1);
  for (int list = 0; list < 4; list++) { /* constants, functions, names of two sorts */
    forge_u8(f, 1);
    for (int i = 0; i < 1 + (list == 1); i++) forge_reference(f, NOWHERE + 0x10);
  }
}

/* Whose function, local variable and open upvalue are not there; or one of them is. */
static void thread_of_nothing(forge *f, uint64_t address, uint64_t function, uint64_t name,
                              uint64_t value) {
  forge_record(f, LH_REC_THREAD, address, 1000);
  forge_u8(f, LH_THREAD_SUSPENDED);
  forge_u8(f, 45);
  forge_u8(f, 1);
  forge_object(f, function);
  forge_u8(f, 7);
  forge_u8(f, 1);
  forge_u8(f, LH_SLOT_LOCAL);
  forge_u8(f, 1);
  forge_reference(f, name);
  forge_reference(f, value);
  forge_u8(f, 1);
  forge_reference(f, NOWHERE);
}

static void objects_of_nothing(forge *f) {
  forge_begin(f);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  static const unsigned weak[] = {0, LH_FLAG_WEAK_KEYS, LH_FLAG_WEAK_VALUES};
  for (unsigned i = 0; i < 12; i++)
    table_of_nothing(f, 0x2000 + 0x40 * i, weak[i / 4], i & 1, i & 2);
  forge_record(f, LH_REC_USERDATA | LH_FLAG_METATABLE, 0x3000, 56);
  forge_uvarint(f, 0);
  forge_reference(f, NOWHERE);
  forge_uvarint(f, 1);
  forge_object(f, NOWHERE);
  for (unsigned i = 0; i < 4; i++) forge_string(f, 0x4000 + 0x20 * i, i % 2 ? "__index" : "name");
  functions_of_nothing(f);
  thread_of_nothing(f, 0x6000, NOWHERE, 0x4000, 0x5000);
  thread_of_nothing(f, 0x6100, 0x5000, NOWHERE, 0x5100);
  thread_of_nothing(f, 0x6200, 0x5100, NOWHERE, NOWHERE);
}

/* Each of the roots is each table in turn, or is not there, and all is asked. */
static void what_is_not_there_is_not_used(void **state) {
  (void)state;
  for (unsigned i = 0; i <= 12; i++) {
    forge f;
    uint64_t special = i < 12 ? 0x2000 + 0x40 * i : NOWHERE;
    objects_of_nothing(&f);
    forge_root(&f, LH_ROOT_LOADED, 0, special);
    forge_root(&f, LH_ROOT_GLOBALS, 0, i < 12 ? 0x2000 + 0x40 * (11 - i) : NOWHERE);
    forge_root(&f, LH_ROOT_TYPE_METATABLE, 4, special);
    for (unsigned k = 0; k < 12; k++) forge_root(&f, LH_ROOT_REGISTRY, 0, 0x2000 + 0x40 * k);
    for (unsigned k = 0; k < 3; k++) forge_root(&f, LH_ROOT_RUNNING_THREAD, 0, 0x6000 + 0x100 * k);
    forge_root(&f, LH_ROOT_REGISTRY, 0, 0x3000);
    forge_finish(&f);
    ask_all(f.data, f.size);
    lh_close(open_named(&f));
    forge_free(&f);
  }
}

static void values_say_what_is_not_there(void **state) {
  forge f;
  lh_edges it;
  lh_value key, value;
  unsigned n = 0;
  (void)state;
  objects_of_nothing(&f);
  forge_root(&f, LH_ROOT_REGISTRY, 0, 0x20C0);
  forge_finish(&f);
  lh_snapshot *s = open_named(&f);
  lh_entries_begin(s, lh_find_address(s, 0x20C0), &it);
  for (; lh_entries_next(&it, &key, &value); n++) {
    assert_int_equal(key.kind, LH_VALUE_ABSENT);
    assert_int_equal(value.kind, LH_VALUE_ABSENT);
    assert_int_equal(value.as.object, LH_NO_OBJECT);
  }
  assert_int_equal(n, MANY);
  lh_close(s);
  forge_free(&f);
}

static void nothing_may_be_asked_about(void **state) {
  forge f;
  lh_edges it;
  lh_edge edge;
  lh_value key;
  lh_frame frame;
  lh_object object;
  (void)state;
  objects_of_nothing(&f);
  forge_finish(&f);
  lh_snapshot *s = open_named(&f);
  lh_object_at(s, LH_NO_OBJECT, &object);
  assert_int_equal(object.type, LH_TYPE_ROOT);
  assert_int_equal(lh_type_of(s, LH_NO_OBJECT), LH_TYPE_ROOT);
  assert_int_equal(lh_address_of(s, LH_NO_OBJECT) + lh_pointer_of(s, LH_NO_OBJECT), 0);
  assert_int_equal(lh_shallow_bytes(s, LH_NO_OBJECT) + lh_retained_bytes(s, LH_NO_OBJECT), 0);
  assert_int_equal(lh_epoch(s, LH_NO_OBJECT) + lh_lasting_entries(s, LH_NO_OBJECT), 0);
  assert_false(lh_is_own(s, LH_NO_OBJECT) || lh_is_dead(s, LH_NO_OBJECT));
  assert_false(lh_is_reachable(s, LH_NO_OBJECT) || lh_continues_list(s, LH_NO_OBJECT));
  assert_int_equal(lh_distance(s, LH_NO_OBJECT), UINT32_MAX);
  assert_int_equal(lh_immediate_dominator(s, LH_NO_OBJECT), LH_NO_OBJECT);
  assert_int_equal(lh_class_of(s, LH_NO_OBJECT), UINT32_MAX);
  lh_edges_begin(s, LH_NO_OBJECT, &it);
  assert_false(lh_edges_next(&it, &edge));
  lh_entries_begin(s, LH_NO_OBJECT, &it);
  assert_false(lh_entries_next(&it, &key, NULL));
  lh_frames_begin(s, LH_NO_OBJECT, &it);
  assert_false(lh_frames_next(&it, &frame));
  char *texts[] = {lh_object_text(s, LH_NO_OBJECT), lh_string_text(s, LH_NO_OBJECT, 10)};
  for (int i = 0; i < 2; i++) lh_free(texts[i]);
  lh_close(s);
  forge_free(&f);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_function_may_have_any_address),
                                     cmocka_unit_test(what_is_not_there_is_not_used),
                                     cmocka_unit_test(values_say_what_is_not_there),
                                     cmocka_unit_test(nothing_may_be_asked_about)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
