/* sample.c - the heap of sample.h, forged. */
#include "sample.h"

static void tables(forge *f) {
  /* {[3] = "name", [4] = 7.5, [true] = VALUE, [CLOSURE] = KEY, name = -1, [2.5] = light} */
  forge_record(f, LH_REC_TABLE | LH_FLAG_METATABLE, AT_TABLE, forge_table_bytes(f, 4, 8));
  forge_uvarint(f, 4);
  forge_u8(f, 4);
  forge_reference(f, AT_VALUE);
  forge_uvarint(f, 4);
  forge_u8(f, LH_VAL_SKIP);
  forge_uvarint(f, 2);
  forge_object(f, AT_NAME);
  forge_u8(f, LH_VAL_FLOAT);
  forge_u64(f, 0x401E000000000000u); /* 7.5 */
  forge_uvarint(f, 5);
  forge_tags(f, LH_VAL_TRUE, LH_VAL_OBJECT);
  forge_reference(f, AT_VALUE);
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, AT_CLOSURE);
  forge_reference(f, AT_KEY);
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_INTEGER);
  forge_reference(f, AT_NAME);
  forge_svarint(f, -1);
  forge_tags(f, LH_VAL_FLOAT, LH_VAL_POINTER);
  forge_u64(f, 0x4004000000000000u); /* 2.5 */
  forge_uvarint(f, UINT64_C(0xfedcba9876543210));
  forge_tags(f, LH_VAL_FALSE, LH_VAL_OBJECT);
  forge_reference(f, AT_NOWHERE);
}

/* {[KEY] = VALUE, name = VALUE, [1] = VALUE, [CLOSURE] = "bus"} */
static void weak_table(forge *f, uint64_t address, unsigned flags) {
  forge_table(f, address, flags, 0, 4);
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, AT_KEY);
  forge_reference(f, AT_VALUE);
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, AT_NAME);
  forge_reference(f, AT_VALUE);
  forge_tags(f, LH_VAL_INTEGER, LH_VAL_OBJECT);
  forge_svarint(f, 1);
  forge_reference(f, AT_VALUE);
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, AT_CLOSURE);
  forge_reference(f, AT_BUS);
}

static void protos(forge *f) {
  forge_record(f, LH_REC_PROTO, AT_PROTO, 500);
  forge_reference(f, AT_SOURCE);
  forge_uvarint(f, 12);
  forge_uvarint(f, 345);
  forge_u8(f, 2);
  forge_u8(f, 1);
  forge_uvarint(f, 77);
  forge_uvarint(f, 3);
  forge_uvarint(f, 9);
  forge_uvarint(f, 60);
  forge_uvarint(f, 2); /* constants */
  forge_reference(f, AT_NAME);
  forge_reference(f, 0);
  forge_uvarint(f, 2); /* nested */
  forge_reference(f, AT_NESTED);
  forge_reference(f, AT_NAME);
  forge_reference(f, 0);
  forge_reference(f, 0);
  forge_uvarint(f, 3); /* names of upvalues */
  forge_reference(f, AT_BUS);
  forge_reference(f, 0);
  forge_reference(f, AT_NAME);
  forge_uvarint(f, 1); /* names of local variables */
  forge_reference(f, AT_BUS);

  forge_record(f, LH_REC_PROTO, AT_NESTED, 128); /* stripped */
  forge_reference(f, 0);
  for (int i = 0; i < 12; i++) forge_u8(f, 0);
}

static void functions(forge *f) {
  forge_record(f, LH_REC_LUA_CLOSURE, AT_CLOSURE, 56);
  forge_uvarint(f, 3);
  forge_reference(f, AT_PROTO);
  forge_reference(f, AT_UPVALUE);
  forge_reference(f, 0);
  forge_reference(f, AT_OPEN_UPVALUE);
  forge_record(f, LH_REC_C_CLOSURE, AT_C_CLOSURE, 64);
  forge_uvarint(f, 0x55501234);
  forge_uvarint(f, 2);
  forge_integer(f, INT64_MIN);
  forge_object(f, AT_TABLE);
  forge_record(f, LH_REC_UPVALUE, AT_UPVALUE, 40);
  forge_object(f, AT_TABLE);
  forge_record(f, LH_REC_UPVALUE | LH_FLAG_OPEN, AT_OPEN_UPVALUE, 40);
  forge_u8(f, LH_VAL_NIL);
  protos(f);
}

static void userdata(forge *f) {
  forge_record(f, LH_REC_USERDATA | LH_FLAG_METATABLE, AT_USERDATA, 40 + 32 + 100);
  forge_uvarint(f, 100);
  forge_reference(f, AT_TABLE);
  forge_uvarint(f, 2);
  forge_u8(f, LH_VAL_CFUNCTION);
  forge_uvarint(f, 0x55505678);
  forge_object(f, AT_VALUE);
  forge_record(f, LH_REC_USERDATA, AT_PLAIN_USERDATA, 32 + 8);
  forge_uvarint(f, 8);
  forge_uvarint(f, 0);
}

static void slot(forge *f, unsigned kind, uint64_t ordinal, uint64_t name, uint64_t object) {
  forge_u8(f, kind);
  forge_uvarint(f, ordinal);
  if (kind == LH_SLOT_LOCAL) forge_reference(f, name);
  forge_reference(f, object);
}

static void thread(forge *f) {
  forge_record(f, LH_REC_THREAD | LH_FLAG_MAIN, AT_THREAD, 1000);
  forge_u8(f, LH_THREAD_NORMAL);
  forge_uvarint(f, 45);
  forge_uvarint(f, 3);
  forge_u8(f, LH_VAL_NIL);
  forge_uvarint(f, 0);
  forge_uvarint(f, 0);
  forge_object(f, AT_CLOSURE);
  forge_uvarint(f, 14);
  forge_uvarint(f, 3);
  slot(f, LH_SLOT_VARARG, 2, 0, AT_KEY);
  slot(f, LH_SLOT_LOCAL, 0, AT_NAME, AT_TABLE);
  slot(f, LH_SLOT_TEMPORARY, 5, 0, AT_VALUE);
  forge_u8(f, LH_VAL_CFUNCTION);
  forge_uvarint(f, 0x1000);
  forge_uvarint(f, 0);
  forge_uvarint(f, 1);
  slot(f, LH_SLOT_ARGUMENT, 1, 0, AT_BUS);
  forge_uvarint(f, 1);
  forge_reference(f, AT_OPEN_UPVALUE);
}

static void long_string(forge *f, unsigned flags, uint64_t address) {
  forge_string_head(f, flags | LH_FLAG_TRUNCATED, address, 1000);
  forge_uvarint(f, 4);
  forge_u64(f, 0x0123456789abcdefu);
  forge_bytes_of(f, "long", 4);
}

static void strings(forge *f) {
  forge_string(f, AT_NAME, "name");
  forge_string(f, AT_BUS, "bus");
  forge_string(f, AT_SOURCE, "@app.lua");
  long_string(f, 0, AT_LONG);
}

static void strings_of_5_5(forge *f) {
  long_string(f, LH_FLAG_EXTERNAL, AT_EXTERNAL);
  forge_text(f, LH_FLAG_EXTERNAL, AT_SHORT_EXTERNAL, "bus");
  forge_text(f, LH_FLAG_FIXED, AT_FIXED_TEXT, "text of a library");
  forge_string_head(f, LH_FLAG_DEAD | LH_FLAG_EXTERNAL, AT_DEAD_EXTERNAL, 500);
}

static void roots(forge *f) {
  forge_root(f, LH_ROOT_REGISTRY, 0, AT_TABLE);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, AT_THREAD);
  forge_root(f, LH_ROOT_TYPE_METATABLE, 4, AT_VALUE);
  forge_root(f, LH_ROOT_METAMETHOD_NAME, 3, AT_NAME);
  forge_root(f, LH_ROOT_GLOBALS, 0, AT_WEAK_KEYS);
  forge_root(f, LH_ROOT_OWN, 0, AT_STATE);
  forge_root(f, LH_ROOT_LOADED, 0, AT_NOWHERE);
}

static void fill(forge *f) {
  f->footer.serial = 2;
  forge_mark(f, AT_MARK_2, LH_MARK_BY_SNAPSHOT, 2, "a");
  tables(f);
  weak_table(f, AT_WEAK_KEYS, LH_FLAG_WEAK_KEYS);
  weak_table(f, AT_WEAK_VALUES, LH_FLAG_WEAK_VALUES);
  weak_table(f, AT_ALL_WEAK, LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES);
  forge_table(f, AT_KEY, 0, 0, 0);
  forge_table(f, AT_VALUE, 0, 0, 0);
  functions(f);
  userdata(f);
  thread(f);
  forge_record(f, LH_REC_TABLE | LH_FLAG_DEAD, AT_DEAD, 56);
  forge_mark(f, AT_MARK_1, LH_MARK_BY_MARK, 1, "start");
  forge_mark(f, AT_STATE, LH_MARK_STATE, 0, "");
  strings(f);
  if (f->out.data[8] >= LH_LENGTHS_VERSION) strings_of_5_5(f);
  forge_next_list(f);
  forge_mark(f, AT_FINOBJ_MARK_2, LH_MARK_BY_SNAPSHOT, 2, "a");
  forge_table(f, AT_WITH_GC, 0, AT_TABLE, 0);
  forge_mark(f, AT_FINOBJ_MARK_1, LH_MARK_BY_MARK, 1, "start");
  forge_next_list(f);
  forge_table(f, AT_WAITING, 0, 0, 0);
  forge_next_list(f);
  forge_string(f, AT_FIXED, "and");
  roots(f);
}

void sample_heap(forge *f) {
  forge_begin(f);
  fill(f);
}

void sample_heap_of_5_5(forge *f) {
  forge_begin(f);
  forge_version(f, LH_LENGTHS_VERSION);
  fill(f);
}

void sample_tracked_heap(forge *f) {
  forge_begin(f);
  forge_track(f, SAMPLE_STACKS);
  fill(f);
}

void sample_outside_heap(forge *f) {
  forge_begin(f);
  forge_track(f, SAMPLE_STACKS);
  forge_outside(f, LH_STILL_FORK, LH_OUTSIDE_IN_CALL | LH_OUTSIDE_IN_DOUBT);
  fill(f);
  forge_matched(f, 1, 2, 1);
  forge_c_function(f, 0xc000, "luaB_print", "liblua5.4.so.0", 0x1230);
  forge_c_function(f, 0xc100, "", "app", 0x4560);
}
