/*
** test_verify.c - files that lh_open takes, since every record in them can be read, but that are
** the heap of no Lua; and the exact words of lh_verify for each.
**
** All are the same small heap, told wrong in one place:
**
**     registry {name = registry} -> "name"     main thread, running     FILE* userdata on finobj
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_file.h"
#include "read/snapshot.h"

enum { AT_REGISTRY = 0x2000, AT_NAME = 0x3000, AT_THREAD = 0x4000, AT_FILE = 0x5000 };
enum { AT_MORE = 0x6000, NOWHERE = 0xf000 };

typedef struct lie {
  void (*tell)(forge *f); /* objects on allgc, behind the first mark, and more */
  const char *message;
} lie;

static void thread(forge *f, uint64_t address, unsigned flags, lh_thread_status status) {
  forge_record(f, LH_REC_THREAD | flags, address, 1000);
  forge_u8(f, status);
  forge_uvarint(f, 45);
  forge_uvarint(f, 1);
  forge_u8(f, LH_VAL_NIL);
  forge_uvarint(f, 0);
  forge_uvarint(f, 0);
  forge_uvarint(f, 0);
}

static void registry(forge *f, uint64_t key, uint64_t value) {
  forge_table(f, AT_REGISTRY, 0, 0, 1);
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, key);
  forge_reference(f, value);
}

static void userdata(forge *f, uint64_t shallow_bytes) {
  forge_record(f, LH_REC_USERDATA | LH_FLAG_METATABLE, AT_FILE, shallow_bytes);
  forge_uvarint(f, 16);
  forge_reference(f, AT_REGISTRY);
  forge_uvarint(f, 0);
}

static void usual_roots(forge *f) {
  forge_root(f, LH_ROOT_REGISTRY, 0, AT_REGISTRY);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, AT_THREAD);
  forge_root(f, LH_ROOT_RUNNING_THREAD, 0, AT_THREAD);
}

static void usual_finobj(forge *f) {
  forge_next_list(f);
  forge_mark(f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
  userdata(f, 48);
}

static void begin_verified(forge *f) {
  forge_begin(f);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
}

static void end_verified(forge *f) {
  usual_finobj(f);
  usual_roots(f);
}

static void objects_with(forge *f, uint64_t key, uint64_t value) {
  registry(f, key, value);
  forge_string(f, AT_NAME, "name");
  thread(f, AT_THREAD, LH_FLAG_MAIN, LH_THREAD_RUNNING);
}

/* With what stands on allgc unless a lie replaces it. */
static void begin_usual(forge *f) {
  begin_verified(f);
  objects_with(f, AT_NAME, AT_REGISTRY);
}

static void truth(forge *f) {
  begin_usual(f);
  end_verified(f);
}

/* ==== references that end nowhere, or where they cannot ============================= */

static void value_nowhere(forge *f) {
  begin_verified(f);
  objects_with(f, AT_NAME, NOWHERE);
  end_verified(f);
}

/* Two lies: the first one in the file is told, though the other is seen at once. */
static void value_nowhere_and_string_with_a_finalizer(forge *f) {
  begin_verified(f);
  objects_with(f, AT_NAME, NOWHERE);
  usual_finobj(f);
  forge_string(f, AT_MORE, "text");
  usual_roots(f);
}

static void key_nowhere(forge *f) {
  begin_verified(f);
  objects_with(f, NOWHERE, AT_NAME);
  end_verified(f);
}

/* The usual heap and one object more. */
static void with_object(forge *f, unsigned head, uint64_t shallow_bytes) {
  begin_usual(f);
  forge_record(f, head, AT_MORE, shallow_bytes);
}

/* {nil, nil, 7, NOWHERE} */
static void late_in_an_array(forge *f) {
  with_object(f, LH_REC_TABLE, 56 + 4 * 16);
  forge_uvarint(f, 4);
  forge_u8(f, 0);
  forge_uvarint(f, 4);
  forge_u8(f, LH_VAL_SKIP);
  forge_uvarint(f, 2);
  forge_integer(f, 7);
  forge_object(f, NOWHERE);
  forge_uvarint(f, 0);
  end_verified(f);
}

static void metatable_is_a_string(forge *f) {
  begin_usual(f);
  forge_table(f, AT_MORE, 0, AT_NAME, 0);
  end_verified(f);
}

static void closure(forge *f, uint64_t proto, uint64_t upvalue) {
  with_object(f, LH_REC_LUA_CLOSURE, 40);
  forge_uvarint(f, 1);
  forge_reference(f, proto);
  forge_reference(f, upvalue);
  end_verified(f);
}

static void proto_is_a_table(forge *f) {
  closure(f, AT_REGISTRY, 0);
}

static void upvalue_is_a_string(forge *f) {
  closure(f, 0, AT_NAME);
}

static void content_nowhere(forge *f) {
  with_object(f, LH_REC_UPVALUE, 40);
  forge_object(f, NOWHERE);
  end_verified(f);
}

static void user_value_nowhere(forge *f) {
  with_object(f, LH_REC_USERDATA, 40 + 16);
  forge_uvarint(f, 0);
  forge_uvarint(f, 1);
  forge_object(f, NOWHERE);
  end_verified(f);
}

static void c_upvalue_nowhere(forge *f) {
  with_object(f, LH_REC_C_CLOSURE, 32 + 16);
  forge_uvarint(f, 0x55501234);
  forge_uvarint(f, 1);
  forge_object(f, NOWHERE);
  end_verified(f);
}

/* A frame of the host with one slot, or of `function`. */
static void stack(forge *f, uint64_t function, unsigned kind, uint64_t name, uint64_t value) {
  with_object(f, LH_REC_THREAD, 1000);
  forge_u8(f, LH_THREAD_SUSPENDED);
  forge_uvarint(f, 45);
  forge_uvarint(f, 1);
  if (function)
    forge_object(f, function);
  else
    forge_u8(f, LH_VAL_NIL);
  forge_uvarint(f, 0);
  forge_uvarint(f, kind ? 1 : 0);
  if (kind) {
    forge_u8(f, kind);
    forge_uvarint(f, 1);
    if (kind == LH_SLOT_LOCAL) forge_reference(f, name);
    forge_reference(f, value);
  }
  forge_uvarint(f, 0);
  end_verified(f);
}

static void frame_of_a_string(forge *f) {
  stack(f, AT_NAME, 0, 0, 0);
}

static void local_nowhere(forge *f) {
  stack(f, 0, LH_SLOT_LOCAL, AT_NAME, NOWHERE);
}

static void local_named_by_a_table(forge *f) {
  stack(f, 0, LH_SLOT_LOCAL, AT_REGISTRY, AT_NAME);
}

static void extra_argument_nowhere(forge *f) {
  stack(f, 0, LH_SLOT_VARARG, 0, NOWHERE);
}

/* A prototype with one of: constant, nested prototype, upvalue name, name of a local variable. */
static void proto(forge *f, uint64_t shallow_bytes, int which, uint64_t target) {
  with_object(f, LH_REC_PROTO, shallow_bytes);
  forge_reference(f, which == 0 ? target : 0);
  for (int i = 0; i < 5; i++) forge_uvarint(f, 0); /* lines, flags, instructions */
  forge_uvarint(f, which == 3);
  forge_uvarint(f, which == 1);
  forge_uvarint(f, which == 4 ? 16 : 0);
  for (int list = 1; list <= 4; list++) {
    forge_uvarint(f, which == list);
    if (which == list) forge_reference(f, target);
    if (which == list && list == 2) forge_reference(f, 0);
  }
  end_verified(f);
}

static void source_is_a_table(forge *f) {
  proto(f, 128, 0, AT_REGISTRY);
}

static void constant_is_a_thread(forge *f) {
  proto(f, 128 + 16, 1, AT_THREAD);
}

static void nested_nowhere(forge *f) {
  proto(f, 128 + 8, 2, NOWHERE);
}

static void upvalue_named_by_a_table(forge *f) {
  proto(f, 128 + 16, 3, AT_REGISTRY);
}

static void variable_named_nowhere(forge *f) {
  proto(f, 128 + 16, 4, NOWHERE);
}

static void refers_to_the_condemned(forge *f) {
  with_object(f, LH_REC_UPVALUE, 40);
  forge_object(f, AT_MORE + 64);
  forge_record(f, LH_REC_TABLE | LH_FLAG_DEAD, AT_MORE + 64, 56);
  f->footer.gc_state = 4;
  end_verified(f);
}

/* ==== sizes ========================================================================= */

static void table_too_small(forge *f) {
  with_object(f, LH_REC_TABLE, 56);
  forge_uvarint(f, 4);
  for (int i = 0; i < 3; i++) forge_u8(f, 0);
  end_verified(f);
}

static void closure_too_big(forge *f) {
  with_object(f, LH_REC_LUA_CLOSURE, 48);
  forge_uvarint(f, 1);
  forge_reference(f, 0);
  forge_reference(f, 0);
  end_verified(f);
}

static void upvalue_too_big(forge *f) {
  with_object(f, LH_REC_UPVALUE, 41);
  forge_u8(f, LH_VAL_NIL);
  end_verified(f);
}

static void proto_too_big(forge *f) {
  proto(f, 129, 0, 0);
}

static void userdata_too_small(forge *f) {
  begin_usual(f);
  forge_next_list(f);
  forge_mark(f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
  userdata(f, 40);
  usual_roots(f);
}

static void stack_too_big(forge *f) {
  with_object(f, LH_REC_THREAD, 200);
  forge_u8(f, LH_THREAD_SUSPENDED);
  forge_uvarint(f, 45);
  for (int i = 0; i < 2; i++) forge_uvarint(f, 0);
  end_verified(f);
}

static void many_names_of_locals(forge *f) {
  with_object(f, LH_REC_PROTO, 128);
  forge_reference(f, 0);
  for (int i = 0; i < 11; i++) forge_uvarint(f, 0);
  forge_uvarint(f, 1);
  forge_reference(f, AT_NAME);
  end_verified(f);
}

static void unnamed_upvalues(forge *f) {
  with_object(f, LH_REC_PROTO, 128);
  forge_reference(f, 0);
  for (int i = 0; i < 5; i++) forge_uvarint(f, 0);
  forge_uvarint(f, 2);
  for (int i = 0; i < 6; i++) forge_uvarint(f, 0);
  end_verified(f);
}

/* ==== places, marks, totals ========================================================= */

static void string_with_a_finalizer(forge *f) {
  begin_usual(f);
  usual_finobj(f);
  forge_string(f, AT_MORE, "s");
  usual_roots(f);
}

static void table_is_fixed(forge *f) {
  begin_usual(f);
  usual_finobj(f);
  forge_next_list(f);
  forge_next_list(f);
  forge_table(f, AT_MORE, 0, 0, 0);
  usual_roots(f);
}

static void condemned_in_a_pause(forge *f) {
  with_object(f, LH_REC_TABLE | LH_FLAG_DEAD, 56);
  end_verified(f);
}

static void younger_than_the_snapshot(forge *f) {
  forge_begin(f);
  forge_table(f, AT_MORE, 0, 0, 0);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  objects_with(f, AT_NAME, AT_REGISTRY);
  end_verified(f);
}

static void root_nowhere(forge *f) {
  truth(f);
  forge_root(f, LH_ROOT_GLOBALS, 0, NOWHERE);
}

static void root_at_zero(forge *f) {
  truth(f);
  forge_root(f, LH_ROOT_OWN, 1, 0);
}

static void loaded_is_a_string(forge *f) {
  truth(f);
  forge_root(f, LH_ROOT_LOADED, 0, AT_NAME);
}

static void no_registry(forge *f) {
  begin_usual(f);
  usual_finobj(f);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, AT_THREAD);
  forge_root(f, LH_ROOT_RUNNING_THREAD, 0, AT_THREAD);
}

static void two_main_threads(forge *f) {
  begin_usual(f);
  thread(f, AT_MORE, LH_FLAG_MAIN, LH_THREAD_SUSPENDED);
  end_verified(f);
}

static void counted_too_little(forge *f) {
  truth(f);
  f->footer.gc_bytes = f->footer.object_bytes + f->footer.string_table_bytes - 9;
}

static void odd_string_table(forge *f) {
  truth(f);
  f->footer.string_table_bytes = 1000;
}

static void no_snapshot_planted_it(forge *f) {
  forge_begin(f);
  forge_mark(f, 0x1000, LH_MARK_BY_MARK, 1, "a");
  objects_with(f, AT_NAME, AT_REGISTRY);
  end_verified(f);
}

static void another_name(forge *f) {
  truth(f);
  f->footer.name = "b";
}

static void another_time(forge *f) {
  truth(f);
  f->footer.time_ns++;
}

/* ==================================================================================== */

static const lie lies[] = {
    {value_nowhere,
     "'f' is damaged at byte 51: object 2 of 6 (table): a value refers to 0xf000, where there is "
     "no object"},
    {value_nowhere_and_string_with_a_finalizer,
     "'f' is damaged at byte 51: object 2 of 7 (table): a value refers to 0xf000, where there is "
     "no object"},
    {key_nowhere,
     "'f' is damaged at byte 51: object 2 of 6 (table): a key refers to 0xf000, where there is no "
     "object"},
    {late_in_an_array,
     "'f' is damaged at byte 86: object 5 of 7 (table): a value refers to 0xf000, where there is "
     "no object"},
    {metatable_is_a_string,
     "'f' is damaged at byte 81: object 5 of 7 (table): its metatable refers to 0x3000, which is a "
     "string"},
    {proto_is_a_table,
     "'f' is damaged at byte 80: object 5 of 7 (function): its prototype refers to 0x2000, which "
     "is a table"},
    {upvalue_is_a_string,
     "'f' is damaged at byte 82: object 5 of 7 (function): an upvalue refers to 0x3000, which is a "
     "string"},
    {content_nowhere,
     "'f' is damaged at byte 79: object 5 of 7 (upvalue): its value refers to 0xf000, where there "
     "is no object"},
    {user_value_nowhere,
     "'f' is damaged at byte 81: object 5 of 7 (userdata): a user value refers to 0xf000, where "
     "there is no object"},
    {c_upvalue_nowhere,
     "'f' is damaged at byte 85: object 5 of 7 (C function): an upvalue refers to 0xf000, where "
     "there is no object"},
    {frame_of_a_string,
     "'f' is damaged at byte 83: object 5 of 7 (thread): the function of a frame refers to 0x3000, "
     "which is a string"},
    {local_nowhere,
     "'f' is damaged at byte 86: object 5 of 7 (thread): a local variable refers to 0xf000, where "
     "there is no object"},
    {local_named_by_a_table,
     "'f' is damaged at byte 86: object 5 of 7 (thread): a name refers to 0x2000, which is a "
     "table"},
    {extra_argument_nowhere,
     "'f' is damaged at byte 86: object 5 of 7 (thread): an extra argument refers to 0xf000, where "
     "there is no object"},
    {source_is_a_table,
     "'f' is damaged at byte 80: object 5 of 7 (prototype): its source refers to 0x2000, which is "
     "a table"},
    {constant_is_a_thread,
     "'f' is damaged at byte 91: object 5 of 7 (prototype): a constant refers to 0x4000, which is "
     "a thread"},
    {nested_nowhere,
     "'f' is damaged at byte 92: object 5 of 7 (prototype): a prototype inside refers to 0xf000, "
     "where there is no object"},
    {upvalue_named_by_a_table,
     "'f' is damaged at byte 93: object 5 of 7 (prototype): the name of a variable refers to "
     "0x2000, which is a table"},
    {variable_named_nowhere,
     "'f' is damaged at byte 94: object 5 of 7 (prototype): the name of a variable refers to "
     "0xf000, where there is no object"},
    {refers_to_the_condemned,
     "'f' is damaged at byte 79: object 5 of 8 (upvalue): its value refers to 0x6040, which the "
     "collector has condemned"},
    {table_too_small,
     "'f' is damaged at byte 75: object 5 of 7 (table): it has 56 bytes, its fields need 120"},
    {closure_too_big,
     "'f' is damaged at byte 75: object 5 of 7 (function): it has 48 bytes, its fields need 40"},
    {upvalue_too_big,
     "'f' is damaged at byte 75: object 5 of 7 (upvalue): it has 41 bytes, its fields need 40"},
    {proto_too_big,
     "'f' is damaged at byte 75: object 5 of 7 (prototype): it has 129 bytes, its fields need 128"},
    {userdata_too_small,
     "'f' is damaged at byte 102: object 6 of 6 (userdata): it has 40 bytes, its fields need 48"},
    {stack_too_big,
     "'f' is damaged at byte 75: object 5 of 7 (thread): its stack is bigger than itself"},
    {many_names_of_locals,
     "'f' is damaged at byte 75: object 5 of 7 (prototype): it names more local variables than it "
     "has"},
    {unnamed_upvalues,
     "'f' is damaged at byte 75: object 5 of 7 (prototype): it names 0 of its 2 upvalues"},
    {string_with_a_finalizer,
     "'f' is damaged at byte 110: object 7 of 7 (string): it is on a list that never has objects "
     "of its type"},
    {table_is_fixed,
     "'f' is damaged at byte 110: object 7 of 7 (table): it is on a list that never has objects of "
     "its type"},
    {condemned_in_a_pause,
     "'f' is damaged at byte 75: object 5 of 7 (table): it is condemned, though the collector is "
     "not sweeping"},
    {younger_than_the_snapshot,
     "'f' is damaged at byte 16: object 1 of 7 (table): it is younger than the snapshot"},
    {root_nowhere,
     "'f' is damaged at byte 179: footer: root 4 of 4, the globals, refers to 0xf000, where there "
     "is no object"},
    {root_at_zero,
     "'f' is damaged at byte 179: footer: root 4 of 4, luaheap's state, refers to 0x0, where there "
     "is no object"},
    {loaded_is_a_string,
     "'f' is damaged at byte 179: footer: root 4 of 4, package.loaded, refers to 0x3000, which is "
     "a string"},
    {no_registry,
     "'f' is damaged at byte 167: footer: there is not one registry and one main thread, or "
     "more than one running thread"},
    {two_main_threads,
     "'f' is damaged at byte 183: footer: its main thread is not the object that says so"},
    {counted_too_little,
     "'f' is damaged at byte 167: footer: its objects and string table have more bytes than the "
     "collector counted"},
    {odd_string_table,
     "'f' is damaged at byte 167: footer: its string table has 1000 bytes: no power of two"},
    {no_snapshot_planted_it,
     "'f' is damaged at byte 16: object 1 of 6 (mark): the youngest mark is no snapshot's"},
    {another_name,
     "'f' is damaged at byte 16: object 1 of 6 (mark): its name or time is not that of the "
     "snapshot"},
    {another_time,
     "'f' is damaged at byte 16: object 1 of 6 (mark): its name or time is not that of the "
     "snapshot"},
};

static lh_snapshot *opened(forge *f) {
  lh_snapshot *s;
  lh_error error = {0};
  forge_finish(f);
  if (lh_open_memory(&s, f->data, f->size, "f", &error) != LH_OK) fail_msg("%s", error.message);
  return s;
}

static uint64_t count_edges(const lh_snapshot *s) {
  uint64_t n = 0;
  lh_edges it;
  lh_edge edge;
  for (lh_id id = 0; id <= lh_object_count(s); id++)
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) n++;
  return n;
}

static void the_truth_is_sound(void **state) {
  forge f;
  uint64_t edges = 0;
  lh_error error = {0};
  (void)state;
  truth(&f);
  lh_snapshot *s = opened(&f);
  if (lh_verify(s, &edges, &error) != LH_OK) fail_msg("%s", error.message);
  assert_int_equal(edges, 2 + 1 + 3); /* registry, userdata, roots */
  assert_int_equal(edges, count_edges(s));
  assert_int_equal(lh_verify(s, NULL, NULL), LH_OK);
  lh_close(s);
  forge_free(&f);
}

/* A Lua that was built without the extra space in front of each thread: 8 bytes fewer. */
static void threads_may_lack_their_extra_space(void **state) {
  forge f;
  (void)state;
  truth(&f);
  f.footer.gc_bytes = f.footer.object_bytes + f.footer.string_table_bytes - 8;
  lh_snapshot *s = opened(&f);
  assert_int_equal(lh_verify(s, NULL, NULL), LH_OK);
  lh_close(s);
  forge_free(&f);
}

static void lies_are_found(void **state) {
  size_t n = sizeof lies / sizeof *lies;
  (void)state;
  for (size_t i = 0; i < n; i++) {
    forge f;
    lh_error error = {0};
    lies[i].tell(&f);
    lh_snapshot *s = opened(&f);
    assert_int_equal(lh_verify(s, NULL, &error), LH_EDAMAGED);
    assert_string_equal(error.message, lies[i].message);
    char place[64];
    (void)snprintf(place, sizeof place, "'f' is damaged at byte %d: ", (int)error.offset);
    assert_memory_equal(error.message, place, strlen(place));
    lh_close(s);
    forge_free(&f);
  }
  printf("faults: files with right checksums and wrong contents: %zu cases, %zu survived\n", n, n);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_truth_is_sound),
                                     cmocka_unit_test(threads_may_lack_their_extra_space),
                                     cmocka_unit_test(lies_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
