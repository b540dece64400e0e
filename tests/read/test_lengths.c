/*
** test_lengths.c - format version 7, of Lua 5.5: strings whose texts lie elsewhere, sizes of that
** release, lies about both, and that totals without those texts are the collector's.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect.h"
#include "read/decode.h"
#include "sample.h"

static lh_snapshot *opened(forge *f) {
  lh_snapshot *s;
  lh_error error = {0};
  forge_finish(f);
  if (lh_open_memory(&s, f->data, f->size, "f", &error) != LH_OK) fail_msg("%s", error.message);
  return s;
}

static void drop(lh_snapshot *s, forge *f) {
  lh_close(s);
  forge_free(f);
}

/* ==== What is read ================================================================== */

typedef struct expected {
  uint64_t address, shallow_bytes, external_bytes, length;
  const char *kept;
  bool is_fixed, is_name, is_interned;
} expected;

static void check_string(const lh_snapshot *s, const expected *e) {
  lh_id id = lh_find_address(s, e->address);
  lh_object object;
  lh_object_at(s, id, &object);
  lh_kept_string string = lh_string_at(s, id);
  assert_int_equal(object.shallow_bytes, e->shallow_bytes);
  assert_int_equal(lh_shallow_bytes(s, id), e->shallow_bytes);
  assert_int_equal(object.as.string.external_bytes, e->external_bytes);
  assert_int_equal(lh_external_bytes(s, id), e->external_bytes);
  assert_int_equal(object.as.string.length, e->length);
  assert_int_equal(string.length, e->length);
  assert_int_equal(string.kept, strlen(e->kept));
  assert_memory_equal(string.bytes, e->kept, strlen(e->kept));
  assert_int_equal(object.as.string.is_fixed, e->is_fixed);
  assert_int_equal(lh_is_name(s, id), e->is_name);
  assert_int_equal(lh_is_interned(s, id), e->is_interned);
}

static void strings_of_all_kinds(void **state) {
  static const expected strings[] = {
      {AT_NAME, 25 + 4, 0, 4, "name", false, true, true},
      {AT_LONG, 33 + 1000, 0, 1000, "long", false, false, false},
      {AT_EXTERNAL, 48 + 1001, 1001, 1000, "long", false, false, false},
      {AT_SHORT_EXTERNAL, 48 + 4, 4, 3, "bus", false, true, false},
      {AT_FIXED_TEXT, 32, 0, 17, "text of a library", true, false, false},
      {AT_DEAD_EXTERNAL, 48 + 501, 501, 0, "", false, false, false}};
  forge f;
  (void)state;
  sample_heap_of_5_5(&f);
  lh_snapshot *s = opened(&f);
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) check_string(s, &strings[i]);
  assert_int_equal(lh_external_bytes(s, lh_find_address(s, AT_TABLE)), 0);
  assert_int_equal(lh_external_bytes(s, LH_ROOT), 0);
  assert_int_equal(lh_external_bytes(s, LH_NO_OBJECT), 0);
  drop(s, &f);
}

static void totals_without_external_bytes_are_the_collectors(void **state) {
  uint64_t bytes = 0;
  forge f;
  (void)state;
  sample_heap_of_5_5(&f);
  lh_snapshot *s = opened(&f);
  const lh_info *info = lh_snapshot_info(s);
  for (lh_id id = 1; id <= lh_object_count(s); id++) bytes += lh_shallow_bytes(s, id);
  assert_int_equal(info->format_version, 7);
  assert_string_equal(info->lua_release, "5.5.0");
  assert_int_equal(info->external_bytes, SAMPLE_EXTERNAL_BYTES);
  assert_int_equal(info->object_bytes, bytes);
  assert_int_equal(info->gc_bytes, bytes - SAMPLE_EXTERNAL_BYTES + info->string_table_bytes);
  assert_int_equal(info->unaccounted_bytes, 0);
  drop(s, &f);
}

static void begin_with_mark(forge *f) {
  forge_begin(f);
  forge_version(f, LH_LENGTHS_VERSION);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
}

static void cut_string(forge *f, unsigned flags, uint64_t length) {
  forge_string_head(f, flags | LH_FLAG_TRUNCATED, 0x8000, length);
  forge_uvarint(f, 1);
  forge_u64(f, 1);
  forge_bytes_of(f, "x", 1);
}

static void a_size_above_32_bits(void **state) {
  const uint64_t lengths[] = {UINT32_MAX - 50, UINT32_MAX - 49, UINT32_MAX, UINT64_C(1) << 40};
  (void)state;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    forge f;
    begin_with_mark(&f);
    cut_string(&f, LH_FLAG_EXTERNAL, lengths[i]);
    lh_snapshot *s = opened(&f);
    assert_int_equal(lh_shallow_bytes(s, 2), 48 + lengths[i] + 1);
    assert_int_equal(lh_snapshot_info(s)->external_bytes, lengths[i] + 1);
    drop(s, &f);
  }
}

/* Of 5.5.0, and of 5.5.1, which aligns the block. */
static void blocks_of_userdata_are_found(void **state) {
  (void)state;
  for (unsigned values = 0; values < 20; values++) {
    for (uint64_t more = 0; more <= (values > 0 ? 8 : 0); more += 8) {
      uint64_t before = 32 + (values > 0 ? 8 + 16 * values + more : 0);
      forge f;
      begin_with_mark(&f);
      forge_record(&f, LH_REC_USERDATA, 0x8000, before + 24);
      forge_uvarint(&f, 24);
      forge_uvarint(&f, values);
      for (unsigned i = 0; i < values; i++) forge_u8(&f, LH_VAL_NIL);
      lh_snapshot *s = opened(&f);
      assert_int_equal(lh_pointer_of(s, 2), 0x8000 + before);
      assert_int_equal(lh_find_address(s, 0x8000 + before), 2);
      assert_int_equal(lh_find_address(s, 0x8000 + before + 8), LH_NO_OBJECT);
      drop(s, &f);
    }
  }
}

/* ==== Lies ========================================================================== */

static void freed_and_never_freed(forge *f) {
  forge_text(f, LH_FLAG_EXTERNAL | LH_FLAG_FIXED, 0x8000, "text");
}

static void flag_of_no_string(forge *f) {
  forge_record(f, LH_REC_UPVALUE | LH_FLAG_EXTERNAL, 0x8000, 40);
  forge_u8(f, LH_VAL_NIL);
}

static void external_before_5_5(forge *f) {
  forge_version(f, LH_SECTIONS_VERSION);
  forge_record(f, LH_REC_STRING | LH_FLAG_EXTERNAL, 0x8000, 48);
}

static void dead_and_fixed_before_5_5(forge *f) {
  forge_version(f, LH_SECTIONS_VERSION);
  forge_record(f, LH_REC_STRING | LH_FLAG_DEAD | LH_FLAG_FIXED, 0x8000, 32);
}

static void length_beyond_the_end(forge *f) {
  forge_string_head(f, LH_FLAG_EXTERNAL, 0x8000, 1000000);
}

static void greatest_length(forge *f) {
  cut_string(f, LH_FLAG_EXTERNAL, UINT64_MAX);
}

static void greatest_length_of_a_fixed_one(forge *f) {
  cut_string(f, LH_FLAG_FIXED, UINT64_MAX);
}

static void keeps_all(forge *f) {
  cut_string(f, LH_FLAG_EXTERNAL, 1);
}

/* Each is possible; all of them are not. */
static void lengths_add_up(forge *f) {
  for (unsigned i = 0; i < 3; i++) {
    forge_string_head(f, LH_FLAG_TRUNCATED | LH_FLAG_EXTERNAL, 0x8000 + 8 * i, UINT64_C(1) << 56);
    forge_uvarint(f, 0);
    forge_u64(f, 1);
  }
}

static void collector_of_no_release(forge *f) {
  f->footer.gc_generational = 3;
}

static void collector_of_5_5(forge *f) {
  forge_version(f, LH_SECTIONS_VERSION);
  f->footer.gc_generational = 2;
}

typedef struct lie {
  void (*tell)(forge *f); /* the first object; the marks follow */
  uint64_t offset;
  const char *message;
} lie;

static const lie lies[] = {
    {freed_and_never_freed, 20,
     "'f' is damaged at byte 20: object 1 of 3 (string): its text is both freed with it and never "
     "freed"},
    {flag_of_no_string, 16,
     "'f' is damaged at byte 16: object 1 of 3 (upvalue): it has an unknown flag"},
    {external_before_5_5, 16,
     "'f' is damaged at byte 16: object 1 of 3 (string): it has an unknown flag"},
    {dead_and_fixed_before_5_5, 16,
     "'f' is damaged at byte 16: object 1 of 3 (string): it has an unknown flag"},
    {length_beyond_the_end, 23,
     "'f' is damaged at byte 23: object 1 of 3 (string): it runs over the end"},
    {greatest_length, 20,
     "'f' is damaged at byte 20: object 1 of 3 (string): the sizes add up to more than an address "
     "space has"},
    {greatest_length_of_a_fixed_one, 20,
     "'f' is damaged at byte 20: object 1 of 3 (string): the sizes add up to more than an address "
     "space has"},
    {keeps_all, 21,
     "'f' is damaged at byte 21: object 1 of 3 (string): it keeps more bytes than the string has"},
    {lengths_add_up, 41,
     "'f' is damaged at byte 41: object 2 of 5 (string): the sizes add up to more than an address "
     "space has"},
    {collector_of_no_release, 117,
     "'f' is damaged at byte 117: footer: the collector's state is unknown"},
    {collector_of_5_5, 117, "'f' is damaged at byte 117: footer: the collector's state is unknown"},
};

static void lies_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    forge f;
    forge_begin(&f);
    forge_version(&f, LH_LENGTHS_VERSION);
    lies[i].tell(&f);
    forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
    forge_next_list(&f);
    forge_mark(&f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
    forge_finish(&f);
    expect_failure(f.data, f.size, LH_EDAMAGED, lies[i].offset, lies[i].message);
    forge_free(&f);
  }
}

/* ==== What lh_verify finds ========================================================== */

enum { AT_REGISTRY = 0x2000, AT_MAIN = 0x3000, AT_MORE = 0x8000 };

static void put_table(forge *f, uint64_t shallow_bytes, uint64_t array, unsigned log2) {
  forge_record(f, LH_REC_TABLE, AT_MORE, shallow_bytes);
  forge_uvarint(f, array);
  forge_u8(f, log2);
  forge_uvarint(f, 0);
  forge_uvarint(f, 0);
}

static void put_userdata(forge *f, uint64_t shallow_bytes, unsigned values) {
  forge_record(f, LH_REC_USERDATA, AT_MORE, shallow_bytes);
  forge_uvarint(f, 10);
  forge_uvarint(f, values);
  for (unsigned i = 0; i < values; i++) forge_u8(f, LH_VAL_NIL);
}

static void put_proto(forge *f, uint64_t shallow_bytes, uint64_t instructions) {
  forge_record(f, LH_REC_PROTO, AT_MORE, shallow_bytes);
  forge_reference(f, 0); /* its source */
  for (int i = 0; i < 4; i++) forge_u8(f, 0);
  forge_uvarint(f, instructions);
  for (int i = 0; i < 7; i++) forge_u8(f, 0);
}

static void put_string(forge *f, unsigned flags, uint64_t shallow_bytes, const char *text) {
  forge_record(f, LH_REC_STRING | flags, AT_MORE, shallow_bytes);
  forge_uvarint(f, strlen(text));
  forge_bytes_of(f, text, strlen(text));
}

/* Puts object number `i` of the shape, with `bytes` more than it needs. False: there are fewer. */
static bool put_shape(forge *f, unsigned i, uint64_t bytes) {
  static const char long_text[] = "forty-one bytes make a string a long one.";
  switch (i) {
    case 0: put_table(f, 48 + bytes, 0, 0); break;
    case 1: put_table(f, 48 + 4 + 9 * 3 + bytes, 3, 0); break;
    case 2: put_table(f, 48 + 24 + bytes, 0, 1); break;
    case 3: put_table(f, 48 + 24 * 8 + 8 + bytes, 0, 4); break;
    case 4: put_table(f, 48 + 4 + 9 + 24 * 16 + 8 + bytes, 1, 5); break;
    case 5: put_string(f, 0, 25 + 4 + bytes, "text"); break;
    case 6: put_string(f, 0, 33 + 41 + bytes, long_text); break;
    case 7: put_string(f, LH_FLAG_EXTERNAL, 48 + bytes, long_text); break;
    case 8: put_string(f, LH_FLAG_EXTERNAL, 48 + bytes, ""); break;
    case 9: put_string(f, LH_FLAG_FIXED, 32 + bytes, "text"); break;
    case 10: put_userdata(f, 32 + 10 + bytes, 0); break;
    case 11: put_userdata(f, 40 + 16 * 2 + 10 + bytes, 2); break;
    case 12: put_userdata(f, 48 + 16 * 2 + 10 + bytes, 2); break;
    case 13: put_proto(f, 128 + 4 * 100 + bytes, 100); break;
    case 14: put_proto(f, 128 + bytes, 100); break; /* its code is the host's */
    default: return false;
  }
  return true;
}

static lh_snapshot *heap_with(forge *f, unsigned shape, uint64_t bytes) {
  begin_with_mark(f);
  forge_table(f, AT_REGISTRY, 0, 0, 0);
  forge_record(f, LH_REC_THREAD | LH_FLAG_MAIN, AT_MAIN, 1624 + 16 * 45);
  forge_u8(f, LH_THREAD_RUNNING);
  forge_uvarint(f, 45);
  for (int i = 0; i < 2; i++) forge_uvarint(f, 0);
  if (!put_shape(f, shape, bytes)) return NULL;
  forge_next_list(f);
  forge_mark(f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_root(f, LH_ROOT_REGISTRY, 0, AT_REGISTRY);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, AT_MAIN);
  f->footer.gc_generational = 2;
  return opened(f);
}

static void sizes_are_those_of_5_5(void **state) {
  lh_snapshot *s;
  unsigned n = 0;
  forge f;
  lh_error error;
  (void)state;
  for (; (s = heap_with(&f, n, 0)); n++) {
    if (lh_verify(s, NULL, &error) != LH_OK) fail_msg("%u: %s", n, error.message);
    drop(s, &f);
    for (int bytes = -1; bytes <= 1; bytes += 2) {
      s = heap_with(&f, n, (uint64_t)bytes);
      assert_int_equal(lh_verify(s, NULL, &error), LH_EDAMAGED);
      assert_non_null(strstr(error.message, ": object 4 of 5 ("));
      assert_non_null(strstr(error.message, " bytes, its fields need "));
      drop(s, &f);
    }
  }
  forge_free(&f);
  assert_int_equal(n, 15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_of_all_kinds),
      cmocka_unit_test(totals_without_external_bytes_are_the_collectors),
      cmocka_unit_test(a_size_above_32_bits),
      cmocka_unit_test(blocks_of_userdata_are_found),
      cmocka_unit_test(lies_are_found),
      cmocka_unit_test(sizes_are_those_of_5_5)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
