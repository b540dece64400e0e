/*
** test_outside.c - snapshots from outside: they read as all others do, and tell how they were
** taken, which of their marks may stand too young, and where the code of C functions is.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect.h"
#include "sample.h"

static lh_snapshot *open_forged(const forge *f) {
  lh_snapshot *s;
  lh_error error = {0};
  if (lh_open_memory(&s, f->data, f->size, "f", &error) < 0) fail_msg("%s", error.message);
  return s;
}

static void it_tells_how_it_was_taken(void **state) {
  forge f;
  (void)state;
  sample_outside_heap(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  const lh_outside_info *outside = lh_snapshot_outside(s);
  assert_int_equal(lh_snapshot_info(s)->format_version, 5);
  assert_int_equal(outside->stillness, LH_STILL_FORK);
  assert_true(outside->was_in_system_call);
  assert_true(outside->is_in_doubt);
  assert_int_equal(lh_object_count(s), SAMPLE_OBJECTS);
  for (lh_id id = 1; id <= SAMPLE_OBJECTS; id++)
    assert_int_equal(lh_object_stack(s, id), (id - 1) % (SAMPLE_STACKS + 1));
  lh_close(s);
  forge_free(&f);
}

static void the_youngest_behind_a_mark_may_pass_as_older(void **state) {
  forge f;
  (void)state;
  sample_outside_heap(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  uint64_t bytes = 0;
  lh_count count = lh_possibly_newer(s, 0);
  static const uint64_t next[] = {AT_NAME, AT_BUS}; /* behind AT_MARK_1 and luaheap's state */
  for (size_t i = 0; i < 2; i++) bytes += lh_shallow_bytes(s, lh_find_address(s, next[i]));
  assert_int_equal(count.objects, 2); /* nothing is behind it on finobj */
  assert_int_equal(count.bytes, bytes);
  assert_int_equal(lh_possibly_newer(s, 1).objects, 0);
  assert_int_equal(lh_possibly_newer(s, 99).objects, 0);
  lh_close(s);
  forge_free(&f);
}

static void c_functions_have_their_places(void **state) {
  forge f;
  lh_c_code found;
  (void)state;
  sample_outside_heap(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  assert_int_equal(lh_snapshot_outside(s)->c_functions, 2);
  assert_true(lh_c_function_at(s, 0xc000, &found));
  assert_string_equal(found.symbol, "luaB_print");
  assert_string_equal(found.library, "liblua5.4.so.0");
  assert_int_equal(found.offset, 0x1230);
  assert_true(lh_c_function_at(s, 0xc100, &found));
  assert_string_equal(found.symbol, "");
  static const uint64_t unknown[] = {0, 0xbfff, 0xc001, 0xc0ff, 0xc101, UINT64_MAX};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    assert_false(lh_c_function_at(s, unknown[i], &found));
  lh_close(s);
  forge_free(&f);
}

static void one_that_a_program_took_tells_nothing(void **state) {
  forge f;
  lh_c_code found;
  (void)state;
  sample_tracked_heap(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  assert_null(lh_snapshot_outside(s));
  assert_false(lh_c_function_at(s, 0xc000, &found));
  assert_int_equal(lh_possibly_newer(s, 0).objects, 0);
  lh_close(s);
  forge_free(&f);
}

/* ==== Marks of the same number ====================================================== */

/* Mark `serial` of both lists, one of which is written at a time. */
static void mark_at(forge *f, uint64_t address, uint64_t serial, uint64_t time_ns) {
  uint64_t usual = f->footer.time_ns;
  f->footer.time_ns = time_ns + f->footer.serial - serial;
  forge_mark(f, address, LH_MARK_BY_SNAPSHOT, serial, "m");
  f->footer.time_ns = usual;
}

/* Nobody inside of the program knew of mark 2 when its own mark 2 was made. */
static void marks_of_one_number_are_told_apart_by_time(void **state) {
  forge f;
  (void)state;
  forge_begin(&f);
  forge_outside(&f, LH_STILL_CORE, 0);
  f.footer.serial = 3;
  f.footer.time_ns = 300;
  for (unsigned list = 0; list < 2; list++) {
    mark_at(&f, 0x1300 + 8 * list, 3, 300);
    mark_at(&f, 0x1220 + 8 * list, 2, 250);
    mark_at(&f, 0x1200 + 8 * list, 2, 200);
    mark_at(&f, 0x1100 + 8 * list, 1, 100);
    if (list == 0) forge_next_list(&f);
  }
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  static const uint64_t times[] = {100, 200, 250, 300};
  assert_int_equal(lh_mark_count(s), 4);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(lh_mark_at(s, i)->time_ns, times[i]);
    for (unsigned list = 0; list < 2; list++)
      assert_int_equal(s->mark_ids[i][list], 4 * (list + 1) - i);
  }
  lh_close(s);
  forge_free(&f);
}

/* ==== Lies ========================================================================== */

typedef struct lie {
  const char *bytes; /* of the section */
  size_t n;
  uint64_t offset; /* in it */
  const char *message;
} lie;

#define SECTION(bytes) bytes, sizeof(bytes) - 1
#define TIME "\0\0\0\0\0\0\0\0"

static const lie lies[] = {
    {SECTION("\0"), 1, "it runs over the end"},
    {SECTION("\4\0\0\0"), 0, "how it was taken is unknown"},
    {SECTION("\0\4\0\0"), 1, "it has an unknown flag"},
    {SECTION("\0\0\2\1" TIME "\0\0\0"), 2, "a count is greater than the bytes that are left"},
    {SECTION("\0\0\1\1" TIME "\2\0\0"), 12, "more pass as older than there are"},
    {SECTION("\0\0\1\1" TIME "\0\2\0"), 13, "more pass as older than there are"},
    {SECTION("\0\0\1\1\0\0\0\0\0\0\0\x80\0\0\0"), 4, "a time is after the year 2262"},
    {SECTION("\0\0\1\x80\x80\x80\x80\x10" TIME "\0\0\0"), 3, "a serial is too big"},
    {SECTION("\0\0\0\2\1\0\0\0"), 3, "a count is greater than the bytes that are left"},
    {SECTION("\0\0\0\x81\x20"), 3, "it counts more than there can be"},
    {SECTION("\0\0\0\2\2\0\0\0\2\0\0\0"), 8, "its C functions do not ascend"},
    {SECTION("\0\0\0\1\0\0\0\0"), 4, "its C functions do not ascend"},
    {SECTION("\0\0\0\1\1\5\0\0\0"), 6, "it runs over the end"},
    {SECTION("\0\0\0\0\0"), 4, "it does not end where it should"},
};

static void forge_with(forge *f, const char *bytes, size_t n) {
  forge_begin(f);
  forge_outside(f, LH_STILL_IDLE, 0);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_next_list(f);
  forge_mark(f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
  (void)forge_write(bytes, n, &f->outside);
}

static void lies_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    forge f;
    char message[256];
    forge_with(&f, lies[i].bytes, lies[i].n);
    forge_finish(&f);
    uint64_t at = f.footer.outside_offset + lies[i].offset;
    (void)snprintf(message, sizeof message, "'f' is damaged at byte %u: outside: %s", (unsigned)at,
                   lies[i].message);
    expect_failure(f.data, f.size, LH_EDAMAGED, at, message);
    forge_free(&f);
  }
}

/* The offset of the section is the footer's last number but for the checksums. */
static void the_section_is_in_front_of_the_footer(void **state) {
  static const struct {
    uint64_t offset;
    const char *what;
  } wrong[] = {{1000, "what tells of outside is not in front of it"},
               {15, "what tells of outside is among what comes before it"}};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    forge f;
    char message[256];
    forge_with(&f, SECTION("\0\0\0\0"));
    f.footer.outside_offset = wrong[i].offset;
    forge_finish(&f);
    (void)snprintf(message, sizeof message, "'f' is damaged at byte %zu: footer: %s", f.outside_at,
                   wrong[i].what);
    expect_failure(f.data, f.size, LH_EDAMAGED, f.outside_at, message);
    forge_free(&f);
  }
}

static void older_versions_have_no_such_flag(void **state) {
  forge f;
  (void)state;
  forge_with(&f, SECTION("\0\0\0\0"));
  forge_version(&f, 4);
  forge_finish(&f);
  expect_failure(f.data, f.size, LH_EDAMAGED, 8, "'f' is damaged: its header makes no sense");
  forge_free(&f);
}

/* ==== What opens, and is not sound ================================================== */

/* A heap with two marks, a registry and a main thread. */
static void forge_two_marks(forge *f) {
  forge_begin(f);
  forge_outside(f, LH_STILL_IDLE, 0);
  f->footer.serial = 2;
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 2, "a");
  forge_mark(f, 0x1100, LH_MARK_BY_MARK, 1, "m");
  forge_table(f, 0x2000, 0, 0, 0);
  forge_record(f, LH_REC_THREAD | LH_FLAG_MAIN, 0x3000, 1000);
  for (int i = 0; i < 4; i++) forge_u8(f, 0);
  forge_next_list(f);
  forge_mark(f, 0x1200, LH_MARK_BY_SNAPSHOT, 2, "a");
  forge_mark(f, 0x1300, LH_MARK_BY_MARK, 1, "m");
  forge_root(f, LH_ROOT_REGISTRY, 0, 0x2000);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, 0x3000);
}

/* What lh_verify says of a mark that was placed; NULL: nothing. */
static void expect_verified(uint64_t serial, uint64_t on_allgc, uint64_t on_finobj,
                            const char *what) {
  forge f;
  lh_error error;
  char message[256];
  forge_two_marks(&f);
  forge_matched(&f, serial, on_allgc, on_finobj);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  int code = lh_verify(s, NULL, &error);
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %u: footer: %s",
                 (unsigned)f.footer.outside_offset, what ? what : "");
  if (what) assert_string_equal(error.message, message);
  assert_int_equal(code, what ? LH_EDAMAGED : LH_OK);
  lh_close(s);
  forge_free(&f);
}

static void unsound_marks_are_found(void **state) {
  (void)state;
  expect_verified(1, 2, 0, NULL);
  expect_verified(9, 0, 0, "mark 9, which was placed by a comparison, is not in the heap");
  expect_verified(2, 0, 0, "mark 2, which was placed by a comparison, is not in the heap");
  expect_verified(1, 3, 0, "more objects pass as older than mark 1 than are behind it");
  expect_verified(1, 0, 1, "more objects pass as older than mark 1 than are behind it");
}

static void a_mark_that_is_lacking_hides_no_other(void **state) {
  forge f;
  (void)state;
  forge_two_marks(&f);
  forge_matched(&f, 0, 0, 0);
  forge_matched(&f, 1, 2, 0);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  assert_int_equal(lh_possibly_newer(s, 0).objects, 2);
  lh_close(s);
  forge_free(&f);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_tells_how_it_was_taken),
      cmocka_unit_test(the_youngest_behind_a_mark_may_pass_as_older),
      cmocka_unit_test(c_functions_have_their_places),
      cmocka_unit_test(one_that_a_program_took_tells_nothing),
      cmocka_unit_test(marks_of_one_number_are_told_apart_by_time),
      cmocka_unit_test(lies_are_found),
      cmocka_unit_test(the_section_is_in_front_of_the_footer),
      cmocka_unit_test(older_versions_have_no_such_flag),
      cmocka_unit_test(unsound_marks_are_found),
      cmocka_unit_test(a_mark_that_is_lacking_hides_no_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
