/*
** test_decode.c - what is in the sample heap comes out of it: objects, edges, entries, frames; and
** the graph's sweep sees the same edges as lh_edges_*.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "read/decode.h"
#include "sample.h"

static forge file;
static lh_snapshot *s;

static int setup(void **state) {
  lh_error error = {0};
  (void)state;
  sample_heap(&file);
  forge_finish(&file);
  if (lh_open_memory(&s, file.data, file.size, "sample", &error) == 0) return 0;
  print_error("%s\n", error.message);
  return -1;
}

static int teardown(void **state) {
  (void)state;
  lh_close(s);
  forge_free(&file);
  return 0;
}

/* Text that grows at its end. */
static char text[4096];

static void say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  size_t used = strlen(text);
  (void)vsnprintf(text + used, sizeof text - used, format, args);
  va_end(args);
}

static void say_value(const lh_value *value) {
  switch (value->kind) {
    case LH_VALUE_NIL: say("nil"); break;
    case LH_VALUE_BOOLEAN: say(value->as.boolean ? "true" : "false"); break;
    case LH_VALUE_INTEGER: say("%lld", (long long)value->as.integer); break;
    case LH_VALUE_FLOAT: say("%g", value->as.number); break;
    case LH_VALUE_POINTER: say("pointer %llx", (unsigned long long)value->as.pointer); break;
    case LH_VALUE_CFUNCTION: say("function %llx", (unsigned long long)value->as.pointer); break;
    case LH_VALUE_OBJECT:
      say("@%llx", (unsigned long long)lh_address_of(s, value->as.object));
      break;
    case LH_VALUE_ABSENT: say("nothing");
  }
}

static void say_edge(const lh_edge *edge) {
  static const char *const kinds[] = {
      "root",      "value",      "key",       "metatable", "ephemeron", "upvalue",     "content",
      "c upvalue", "user value", "proto",     "constant",  "nested",    "source",      "debug name",
      "function",  "local",      "temporary", "vararg",    "argument",  "open upvalue"};
  if (edge->weak) say("weak ");
  say("%s", kinds[edge->kind]);
  if (edge->kind == LH_EDGE_VALUE || edge->kind == LH_EDGE_KEY || edge->kind == LH_EDGE_EPHEMERON) {
    say("[");
    say_value(&edge->key);
    say("]");
  }
  if (edge->ordinal) say(" %u", edge->ordinal);
  if (edge->index) say(" index %u", edge->index);
  if (edge->line) say(" line %u", edge->line);
  if (edge->name != LH_NO_OBJECT)
    say(" name %llx", (unsigned long long)lh_address_of(s, edge->name));
  if (edge->holder != LH_NO_OBJECT)
    say(" in %llx", (unsigned long long)lh_address_of(s, edge->holder));
  say(" -> %llx\n", (unsigned long long)lh_address_of(s, edge->target));
}

static const char *edges_of(lh_id id) {
  lh_edges it;
  lh_edge edge;
  text[0] = 0;
  assert_int_not_equal(id, LH_NO_OBJECT);
  for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
    assert_int_equal(edge.source, id);
    say_edge(&edge);
  }
  return text;
}

static const char *edges_at(uint64_t address) {
  return edges_of(lh_find_address(s, address));
}

static lh_object object_at(uint64_t address) {
  lh_object object;
  lh_id id = lh_find_address(s, address);
  assert_int_not_equal(id, LH_NO_OBJECT);
  lh_object_at(s, id, &object);
  assert_int_equal(object.id, id);
  assert_int_equal(object.address, address);
  return object;
}

static void edges_of_tables(void **state) {
  (void)state;
  assert_string_equal(edges_at(AT_TABLE),
                      "metatable 1 -> 2500\n"
                      "value[3] -> 7000\n"
                      "value[true] -> 2500\n"
                      "key[@3000] -> 3000\n"
                      "value[@3000] -> 2400\n"
                      "key[@7000] -> 7000\n");
  assert_string_equal(edges_at(AT_WEAK_KEYS),
                      "weak key[@2400] -> 2400\n"
                      "weak value[@2400] -> 2500\n"
                      "key[@7000] -> 7000\n"
                      "value[@7000] -> 2500\n"
                      "value[1] -> 2500\n"
                      "weak key[@3000] -> 3000\n"
                      "weak value[@3000] -> 7100\n");
  assert_string_equal(edges_at(AT_WEAK_VALUES),
                      "key[@2400] -> 2400\n"
                      "weak value[@2400] -> 2500\n"
                      "key[@7000] -> 7000\n"
                      "weak value[@7000] -> 2500\n"
                      "weak value[1] -> 2500\n"
                      "key[@3000] -> 3000\n"
                      "value[@3000] -> 7100\n");
  assert_string_equal(edges_at(AT_ALL_WEAK),
                      "weak key[@2400] -> 2400\n"
                      "weak value[@2400] -> 2500\n"
                      "key[@7000] -> 7000\n"
                      "weak value[@7000] -> 2500\n"
                      "weak value[1] -> 2500\n"
                      "weak key[@3000] -> 3000\n"
                      "value[@3000] -> 7100\n");
}

static void edges_of_functions(void **state) {
  (void)state;
  assert_string_equal(edges_at(AT_CLOSURE),
                      "proto 1 -> 3400\n"
                      "upvalue 1 name 7100 -> 3200\n"
                      "upvalue 3 name 7000 -> 3300\n");
  assert_string_equal(edges_at(AT_C_CLOSURE), "c upvalue 2 -> 2000\n");
  assert_string_equal(edges_at(AT_UPVALUE), "content 1 -> 2000\n");
  assert_string_equal(edges_at(AT_OPEN_UPVALUE), "");
  assert_string_equal(edges_at(AT_PROTO),
                      "source 1 -> 7200\n"
                      "constant 1 -> 7000\n"
                      "nested 1 name 7000 -> 3500\n"
                      "debug name 1 -> 7100\n"
                      "debug name 3 -> 7000\n"
                      "debug name 1 -> 7100\n");
  assert_string_equal(edges_at(AT_NESTED), "");
}

static void edges_of_the_rest(void **state) {
  (void)state;
  assert_string_equal(edges_at(AT_USERDATA), "metatable 1 -> 2000\nuser value 2 -> 2500\n");
  assert_string_equal(edges_at(AT_PLAIN_USERDATA), "");
  assert_string_equal(edges_at(AT_THREAD),
                      "function index 1 line 14 in 3000 -> 3000\n"
                      "vararg 2 index 1 line 14 in 3000 -> 2400\n"
                      "local index 1 line 14 name 7000 in 3000 -> 2000\n"
                      "temporary 5 index 1 line 14 in 3000 -> 2500\n"
                      "argument 1 index 2 -> 7100\n"
                      "open upvalue 1 -> 3300\n");
  assert_string_equal(edges_at(AT_DEAD), "");
  assert_string_equal(edges_at(AT_NAME), "");
  assert_string_equal(edges_at(AT_STATE), "");
  assert_string_equal(edges_of(LH_ROOT),
                      "root index 1 -> 2100\n"
                      "root -> 2000\n"
                      "root 4 index 5 -> 2500\n"
                      "root index 3 -> 5000\n"
                      "root 1 index 9 -> a000\n"
                      "root 3 index 6 -> 7000\n"
                      "root 1 index 8 -> b000\n"
                      "root index 10 -> 6100\n");
}

/* One of table AT_WEAK_KEYS, and another one that is not alive. */
static void ephemerons_come_from_their_keys(void **state) {
  (void)state;
  lh_id key = lh_find_address(s, AT_KEY), closure = lh_find_address(s, AT_CLOSURE);
  const char *of_closure =
      "proto 1 -> 3400\n"
      "upvalue 1 name 7100 -> 3200\n"
      "upvalue 3 name 7000 -> 3300\n";
  assert_int_equal(s->n_ephemerons, 2);
  assert_string_equal(edges_of(key), ""); /* before it is known what is reachable */
  for (size_t i = 0; i < 2; i++) s->ephemerons[i].is_alive = s->ephemerons[i].key == key;
  assert_string_equal(edges_of(key), "ephemeron[@2400] in 2100 -> 2500\n");
  assert_string_equal(edges_of(closure), of_closure);
  for (size_t i = 0; i < 2; i++) s->ephemerons[i].is_alive = s->ephemerons[i].key == closure;
  assert_string_equal(edges_of(key), "");
  assert_string_equal(strstr(edges_of(closure), "ephemeron"), "ephemeron[@3000] in 2100 -> 7100\n");
  for (size_t i = 0; i < 2; i++) s->ephemerons[i].is_alive = false;
}

static void entries_of_tables(void **state) {
  (void)state;
  lh_edges it;
  lh_value key, value;
  text[0] = 0;
  for (lh_entries_begin(s, lh_find_address(s, AT_TABLE), &it);
       lh_entries_next(&it, &key, &value);) {
    say_value(&key);
    say(" = ");
    say_value(&value);
    say("\n");
  }
  assert_string_equal(text,
                      "3 = @7000\n"
                      "4 = 7.5\n"
                      "true = @2500\n"
                      "@3000 = @2400\n"
                      "@7000 = -1\n"
                      "2.5 = pointer fedcba9876543210\n"
                      "false = nothing\n");
  const uint64_t without[] = {AT_KEY, AT_DEAD, AT_THREAD, AT_NAME};
  for (size_t i = 0; i < 4; i++) {
    lh_entries_begin(s, lh_find_address(s, without[i]), &it);
    assert_false(lh_entries_next(&it, &key, &value));
    assert_false(lh_entries_next(&it, &key, &value));
  }
}

static void frames_of_threads(void **state) {
  (void)state;
  lh_edges it;
  lh_frame frame;
  text[0] = 0;
  for (lh_frames_begin(s, lh_find_address(s, AT_THREAD), &it); lh_frames_next(&it, &frame);) {
    say_value(&frame.function);
    say(":%u\n", frame.line);
  }
  assert_string_equal(text, "nil:0\n@3000:14\nfunction 1000:0\n");
  assert_false(lh_frames_next(&it, &frame));
  lh_frames_begin(s, lh_find_address(s, AT_TABLE), &it);
  assert_false(lh_frames_next(&it, &frame));
}

static void objects(void **state) {
  (void)state;
  lh_object o = object_at(AT_TABLE);
  assert_int_equal(o.type, LH_TYPE_TABLE);
  assert_int_equal(o.as.table.array_slots, 4);
  assert_int_equal(o.as.table.array_used, 2);
  assert_int_equal(o.as.table.hash_slots, 8);
  assert_int_equal(o.as.table.hash_used, 5);
  assert_int_equal(o.as.table.metatable, lh_find_address(s, AT_VALUE));
  assert_int_equal(o.shallow_bytes, 56 + 4 * 16 + 8 * 24);
  o = object_at(AT_WEAK_KEYS);
  assert_true(o.as.table.weak_keys && !o.as.table.weak_values);
  assert_int_equal(o.as.table.metatable, LH_NO_OBJECT);
  o = object_at(AT_NAME);
  assert_int_equal(o.as.string.length, 4);
  assert_memory_equal(o.as.string.bytes, "name", 4);
  o = object_at(AT_LONG);
  assert_int_equal(o.as.string.length, 1000);
  assert_int_equal(o.as.string.kept, 4);
  assert_int_equal(o.as.string.hash, 0x0123456789abcdefu);
  assert_memory_equal(o.as.string.bytes, "long", 4);
  o = object_at(AT_CLOSURE);
  assert_true(!o.as.closure.is_c && o.as.closure.upvalues == 3);
  assert_int_equal(o.as.closure.proto, lh_find_address(s, AT_PROTO));
  o = object_at(AT_C_CLOSURE);
  assert_true(o.as.closure.is_c && o.as.closure.function == 0x55501234);
  assert_int_equal(o.as.closure.upvalues, 2);
  o = object_at(AT_OPEN_UPVALUE);
  assert_true(o.as.upvalue.open && o.as.upvalue.value.kind == LH_VALUE_NIL);
  o = object_at(AT_UPVALUE);
  assert_true(!o.as.upvalue.open && o.as.upvalue.value.kind == LH_VALUE_OBJECT);
}

static void more_objects(void **state) {
  (void)state;
  lh_object o = object_at(AT_PROTO);
  assert_int_equal(o.as.proto.source, lh_find_address(s, AT_SOURCE));
  assert_int_equal(o.as.proto.line, 12);
  assert_int_equal(o.as.proto.last_line, 345);
  assert_true(o.as.proto.parameters == 2 && o.as.proto.vararg);
  assert_int_equal(o.as.proto.instructions, 77);
  assert_int_equal(o.as.proto.upvalues, 3);
  assert_int_equal(o.as.proto.constants, 9);
  assert_int_equal(o.as.proto.debug_bytes, 60);
  o = object_at(AT_USERDATA);
  assert_int_equal(o.as.userdata.bytes, 100);
  assert_int_equal(o.as.userdata.user_values, 2);
  assert_int_equal(o.as.userdata.metatable, lh_find_address(s, AT_TABLE));
  assert_int_equal(o.pointer, AT_USERDATA + 40 + 2 * 16);
  o = object_at(AT_PLAIN_USERDATA);
  assert_int_equal(o.pointer, AT_PLAIN_USERDATA + 32);
  assert_int_equal(o.as.userdata.metatable, LH_NO_OBJECT);
  o = object_at(AT_THREAD);
  assert_true(o.as.thread.is_main && o.as.thread.status == LH_THREAD_NORMAL);
  assert_int_equal(o.as.thread.stack_slots, 45);
  assert_int_equal(o.as.thread.frames, 3);
  o = object_at(AT_DEAD);
  assert_true(o.dead && o.type == LH_TYPE_TABLE && o.shallow_bytes == 56);
  assert_true(lh_is_dead(s, o.id));
  o = object_at(AT_MARK_1);
  assert_true(o.own && o.type == LH_TYPE_USERDATA && lh_is_own(s, o.id));
  o = object_at(AT_FIXED);
  assert_int_equal(o.list, LH_LIST_FIXEDGC);
  assert_int_equal(object_at(AT_WAITING).list, LH_LIST_TOBEFNZ);
  assert_int_equal(object_at(AT_WITH_GC).list, LH_LIST_FINOBJ);
}

static void addresses_are_found(void **state) {
  (void)state;
  assert_int_equal(lh_object_count(s), SAMPLE_OBJECTS);
  for (lh_id id = 1; id <= SAMPLE_OBJECTS; id++) {
    lh_object o;
    lh_object_at(s, id, &o);
    assert_int_equal(lh_find_address(s, o.address), id);
    assert_int_equal(lh_find_address(s, o.pointer), id);
    assert_int_equal(lh_shallow_bytes(s, id), o.shallow_bytes);
  }
  const uint64_t none[] = {0, 1, 7, 8, AT_TABLE + 1, AT_TABLE + 8, AT_TABLE + 32, UINT64_MAX - 7};
  const uint64_t others[] = {AT_NOWHERE, AT_USERDATA + 32, AT_USERDATA + 56, UINT64_MAX};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    assert_int_equal(lh_find_address(s, none[i]), LH_NO_OBJECT);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_int_equal(lh_find_address(s, others[i]), LH_NO_OBJECT);
}

/* Each with another number of user values, up to Lua's most, far from the one before. */
static void blocks_behind_many_user_values_are_found(void **state) {
  const unsigned numbers[] = {0, 15, 16, 255, 256, 1000, 65534};
  lh_snapshot *far;
  forge f;
  (void)state;
  forge_begin(&f);
  forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "far");
  for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    forge_record(&f, LH_REC_USERDATA, 0x1000000 * (i + 1), 40 + 16 * numbers[i]);
    forge_uvarint(&f, 8);
    forge_uvarint(&f, numbers[i]);
    for (unsigned k = 0; k < numbers[i]; k++) forge_u8(&f, LH_VAL_NIL);
  }
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&far, f.data, f.size, "far", NULL), 0);
  for (lh_id id = 2; id <= 1 + sizeof numbers / sizeof *numbers; id++) {
    assert_int_equal(lh_find_address(far, lh_pointer_of(far, id)), id);
    assert_int_equal(lh_find_address(far, lh_pointer_of(far, id) + 8), LH_NO_OBJECT);
  }
  lh_close(far);
  forge_free(&f);
}

static void the_root_is_no_object(void **state) {
  (void)state;
  assert_int_equal(lh_type_of(s, LH_ROOT), LH_TYPE_ROOT);
  assert_int_equal(lh_address_of(s, LH_ROOT), 0);
  assert_int_equal(lh_shallow_bytes(s, LH_ROOT), 0);
  assert_false(lh_is_own(s, LH_ROOT) || lh_is_dead(s, LH_ROOT));
  assert_int_equal(lh_epoch(s, LH_ROOT), 0);
}

static bool is_same_edge(const lh_edge *a, const lh_edge *b) {
  return a->source == b->source && a->target == b->target && a->kind == b->kind &&
         a->weak == b->weak && a->index == b->index && a->ordinal == b->ordinal &&
         a->line == b->line && a->name == b->name && a->holder == b->holder &&
         a->key.kind == b->key.kind && a->key.as.pointer == b->key.as.pointer;
}

/* The rows have what lh_edges_* tells of records, with its kind, and each by its number. */
static void compare_rows(void) {
  for (lh_id id = 0; id <= s->n; id++) {
    lh_edges it;
    lh_edge edge;
    uint32_t e = s->first_edge[id];
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge); e++) {
      if (edge.kind == LH_EDGE_EPHEMERON) break;
      lh_edge by_number = lh_edge_at(s, id, e);
      assert_int_equal(lh_edges_number(&it), e);
      assert_int_equal(lh_label_kind(s->label[e]), edge.kind);
      assert_int_equal(!!(s->label[e] & LH_LABEL_ASIDE), edge.weak);
      assert_int_equal(lh_true_target(s, e), edge.target);
      assert_int_equal(s->edge[e], edge.weak ? id : edge.target);
      assert_int_equal(!!(s->label[e] & LH_LABEL_KEYED),
                       edge.kind == LH_EDGE_VALUE && edge.key.kind == LH_VALUE_OBJECT);
      assert_true(is_same_edge(&by_number, &edge));
    }
    for (; e < s->first_edge[id + 1]; e++)
      assert_int_equal(lh_label_kind(s->label[e]), LH_EDGE_EPHEMERON);
  }
}

static void rows_agree_with_records(void **state) {
  (void)state;
  compare_rows();
}

/* Only the table with weak keys, and only collectable keys that are no strings. */
static void the_rows_tell_ephemerons(void **state) {
  (void)state;
  text[0] = 0;
  for (size_t i = 0; i < s->n_ephemerons; i++) {
    const lh_ephemeron *e = &s->ephemerons[i];
    say("%llx: %llx => %llx\n", (unsigned long long)lh_address_of(s, e->table),
        (unsigned long long)lh_address_of(s, e->key),
        (unsigned long long)lh_address_of(s, e->value));
    assert_true(e->edge >= s->first_edge[e->key] && e->edge < s->first_edge[e->key + 1]);
    assert_ptr_equal(lh_ephemeron_of(s, e->edge), e);
  }
  assert_string_equal(text, "2100: 2400 => 2500\n2100: 3000 => 7100\n");
}

/* From format version 2 on it is the metatable that says how weak a table is: whichever comes
** first, and not of itself. A string, or what was condemned, says nothing. */
static void metatables_say_how_weak_a_table_is(void **state) {
  enum { WEAK = 0x1000, MODE = 0x2000, OLDER = 0x3000, BY_TEXT = 0x4000, TEXT = 0x5000 };
  enum { BY_DEAD = 0x6000, DEAD = 0x7000, BY_NOTHING = 0x8000, BY_ITSELF = 0x9000 };
  static const struct {
    unsigned table, metatable, flags;
    bool weak;
  } cases[] = {{WEAK, MODE, 0, true},
               {MODE, 0, LH_FLAG_WEAK_VALUES, false},
               {OLDER, MODE, 0, true},
               {BY_TEXT, TEXT, LH_FLAG_WEAK_KEYS, false},
               {BY_DEAD, DEAD, 0, false},
               {BY_NOTHING, 0xA000, 0, false},
               {BY_ITSELF, BY_ITSELF, LH_FLAG_WEAK_VALUES, true}};
  enum { N_CASES = sizeof cases / sizeof cases[0] };
  lh_snapshot *sample = s;
  lh_error error = {0};
  lh_object object;
  forge f;
  (void)state;
  forge_begin(&f);
  forge_version(&f, 2);
  forge_mark(&f, 0x100, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (size_t i = 0; i < N_CASES; i++) {
    forge_table(&f, cases[i].table, cases[i].flags, cases[i].metatable, 1);
    forge_tags(&f, LH_VAL_TRUE, LH_VAL_OBJECT);
    forge_reference(&f, WEAK);
  }
  forge_string(&f, TEXT, "a string's flags mean other things");
  forge_record(&f, LH_REC_TABLE | LH_FLAG_DEAD | LH_FLAG_WEAK_VALUES, DEAD, 56);
  forge_next_list(&f);
  forge_mark(&f, 0x200, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  if (lh_open_memory(&s, f.data, f.size, "v2", &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(lh_snapshot_info(s)->format_version, 2);
  for (size_t i = 0; i < N_CASES; i++) {
    lh_object_at(s, lh_find_address(s, cases[i].table), &object);
    assert_int_equal(object.as.table.weak_values, cases[i].weak);
    assert_false(object.as.table.weak_keys);
    assert_int_equal(strstr(edges_at(cases[i].table), "weak value[true] -> 1000") != NULL,
                     cases[i].weak);
  }
  compare_rows();
  lh_close(s);
  forge_free(&f);
  s = sample;
}

/* In the hash part of a table, among other keys. */
static void frequent_keys_are_keys(void **state) {
  lh_snapshot *sample = s;
  lh_error error = {0};
  lh_edges entries;
  lh_value key, value;
  forge f;
  (void)state;
  forge_begin(&f);
  forge_version(&f, 3);
  forge_mark(&f, 0x100, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_string(&f, 0x3000, "first");
  forge_string(&f, 0x4000, "second");
  forge_table(&f, 0x5000, 0, 0, 3);
  forge_tags(&f, LH_VAL_KEY, LH_VAL_TRUE);
  forge_u8(&f, 1);
  forge_tags(&f, LH_VAL_KEY, LH_VAL_OBJECT);
  forge_u8(&f, 0);
  forge_reference(&f, 0x4000);
  forge_tags(&f, LH_VAL_OBJECT, LH_VAL_FALSE);
  forge_reference(&f, 0x5000);
  f.footer.n_keys = 2;
  f.footer.keys[0] = 0x3000;
  f.footer.keys[1] = 0x4000;
  f.footer.finalized = 7;
  forge_next_list(&f);
  forge_mark(&f, 0x200, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  if (lh_open_memory(&s, f.data, f.size, "v3", &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(lh_snapshot_info(s)->finalized_objects, 7);
  const uint64_t keys[] = {0x4000, 0x3000, 0x5000};
  lh_entries_begin(s, lh_find_address(s, 0x5000), &entries);
  for (int i = 0; i < 3; i++) {
    assert_true(lh_entries_next(&entries, &key, &value));
    assert_int_equal(key.kind, LH_VALUE_OBJECT);
    assert_int_equal(lh_address_of(s, key.as.object), keys[i]);
  }
  assert_false(lh_entries_next(&entries, &key, &value));
  lh_close(s);
  forge_free(&f);
  s = sample;
}

/* More references than batches hold, from the root too. */
static void rows_of_many_records(void **state) {
  enum { N = 400 };
  lh_snapshot *sample = s;
  lh_error error = {0};
  forge f;
  (void)state;
  forge_begin(&f);
  forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (uint64_t i = 1; i <= N; i++) {
    forge_table(&f, 0x100000 * i, i % 2 ? LH_FLAG_WEAK_KEYS : 0, 0, 2);
    for (uint64_t k = 1; k <= 2; k++) {
      forge_tags(&f, LH_VAL_OBJECT, LH_VAL_OBJECT);
      forge_reference(&f, 0x100000 * (1 + i * 7 % N));
      forge_reference(&f, 0x100000 * (1 + i * i % (N + 20))); /* some lead nowhere */
    }
    forge_root(&f, LH_ROOT_TYPE_METATABLE, 1, 0x100000 * i);
  }
  forge_next_list(&f);
  forge_mark(&f, 0x2000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "many", &error), 0);
  compare_rows();
  lh_close(s);
  forge_free(&f);
  s = sample;
}

/* All edges but the ephemerons', which only the graph knows, and all entries; by malloc. */
static char *all_texts(void) {
  char *all = strdup("");
  for (lh_id id = LH_ROOT; id <= lh_object_count(s); id++) {
    lh_edges it;
    lh_edge edge;
    lh_value key, value;
    char *joined;
    text[0] = 0;
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);)
      if (edge.kind != LH_EDGE_EPHEMERON) say_edge(&edge);
    for (int keys_only = 0; id != LH_ROOT && keys_only < 2; keys_only++) {
      for (lh_entries_begin(s, id, &it); lh_entries_next(&it, &key, keys_only ? NULL : &value);) {
        say_value(&key);
        if (!keys_only) say_value(&value);
        say(" ");
      }
    }
    assert_true(asprintf(&joined, "%s%s\n", all, text) > 0);
    free(all);
    all = joined;
  }
  return all;
}

/* Then they are read with its help. */
static void the_graph_changes_nothing(void **state) {
  (void)state;
  char *before = all_texts();
  assert_int_equal(lh_analyse(s, NULL), 0);
  char *after = all_texts();
  assert_string_equal(after, before);
  free(before);
  free(after);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(edges_of_tables),
                                     cmocka_unit_test(edges_of_functions),
                                     cmocka_unit_test(edges_of_the_rest),
                                     cmocka_unit_test(ephemerons_come_from_their_keys),
                                     cmocka_unit_test(entries_of_tables),
                                     cmocka_unit_test(frames_of_threads),
                                     cmocka_unit_test(objects),
                                     cmocka_unit_test(more_objects),
                                     cmocka_unit_test(addresses_are_found),
                                     cmocka_unit_test(the_root_is_no_object),
                                     cmocka_unit_test(rows_agree_with_records),
                                     cmocka_unit_test(blocks_behind_many_user_values_are_found),
                                     cmocka_unit_test(the_rows_tell_ephemerons),
                                     cmocka_unit_test(metatables_say_how_weak_a_table_is),
                                     cmocka_unit_test(frequent_keys_are_keys),
                                     cmocka_unit_test(rows_of_many_records),
                                     cmocka_unit_test(the_graph_changes_nothing)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
