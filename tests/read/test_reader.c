/*
** test_reader.c - good files open; what is no snapshot, is cut or was damaged fails with the one
** error that says why; and whatever stands in a file, reading it does no harm.
*/
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "expect.h"
#include "read/snapshot.h"
#include "read_all.h"
#include "sample.h"

/* ==== a good file =================================================================== */

static void what_the_footer_says(void **state) {
  forge f;
  lh_snapshot *s;
  (void)state;
  sample_heap(&f);
  f.footer.gc_bytes = f.footer.object_bytes + 1024 + 77;
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), 0);
  const lh_info *info = lh_snapshot_info(s);
  assert_int_equal(info->format_version, 1);
  assert_int_equal(info->file_bytes, f.size);
  assert_int_equal(info->state_id, 0x1122334455667788u);
  assert_int_equal(info->serial, 2);
  assert_int_equal(info->time_ns, 1700000000000000000u);
  assert_int_equal(info->process_id, 4321);
  assert_string_equal(info->lua_release, "5.4.4");
  assert_string_equal(info->program, "lua5.4 app.lua");
  assert_string_equal(info->name, "a");
  assert_int_equal(info->string_limit, 256);
  assert_int_equal(info->objects, SAMPLE_OBJECTS);
  assert_int_equal(info->object_bytes, f.footer.object_bytes);
  assert_int_equal(info->string_table_bytes, 1024);
  assert_int_equal(info->gc_bytes, f.footer.object_bytes + 1024 + 77);
  assert_int_equal(info->unaccounted_bytes, 77);
  assert_int_equal(info->gc_state, 8);
  assert_int_equal(info->gc_generational, 0);
  lh_close(s);
  forge_free(&f);
}

static uint32_t epoch_at(const lh_snapshot *s, uint64_t address) {
  return lh_epoch(s, lh_find_address(s, address));
}

static void marks_and_epochs(void **state) {
  forge f;
  lh_snapshot *s;
  (void)state;
  sample_heap(&f);
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), 0);
  assert_int_equal(lh_mark_count(s), 2);
  const lh_mark_info *start = lh_mark_at(s, 0), *own = lh_mark_at(s, 1);
  assert_true(start->serial == 1 && !start->is_snapshot && start->name_length == 5);
  assert_string_equal(start->name, "start");
  assert_int_equal(start->time_ns, 1699999999999999999u);
  assert_true(own->serial == 2 && own->is_snapshot);
  assert_string_equal(own->name, "a");
  assert_int_equal(epoch_at(s, AT_MARK_2), 1);
  assert_int_equal(epoch_at(s, AT_TABLE), 1);
  assert_int_equal(epoch_at(s, AT_DEAD), 1);
  assert_int_equal(epoch_at(s, AT_MARK_1), 0);
  assert_int_equal(epoch_at(s, AT_NAME), 0);
  assert_int_equal(epoch_at(s, AT_WITH_GC), 1);
  assert_int_equal(epoch_at(s, AT_WAITING), 0);
  assert_int_equal(epoch_at(s, AT_FIXED), 0);
  assert_true(lh_is_own(s, lh_find_address(s, AT_STATE)));
  assert_false(lh_is_own(s, lh_find_address(s, AT_TABLE)));
  lh_close(s);
  forge_free(&f);
}

/* Opens the finished file. */
static lh_snapshot *opened(forge *f) {
  lh_snapshot *s;
  lh_error error = {0};
  forge_finish(f);
  if (lh_open_memory(&s, f->data, f->size, "f", &error) != 0) fail_msg("%s", error.message);
  return s;
}

/* Of another state, of a failed snapshot, and without an object on allgc: none of them counts. */
static void what_is_no_mark(void **state) {
  forge f;
  (void)state;
  forge_begin(&f);
  f.footer.serial = 5;
  forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 5, "a");
  forge_mark(&f, 0x1200, LH_MARK_VOID, 3, "failed");
  f.footer.state_id++;
  forge_mark(&f, 0x1300, LH_MARK_BY_MARK, 9, "foreign");
  f.footer.state_id--;
  forge_mark(&f, 0x1400, LH_MARK_BY_MARK, 1, "good");
  forge_next_list(&f);
  forge_mark(&f, 0x2000, LH_MARK_BY_SNAPSHOT, 5, "a");
  forge_mark(&f, 0x2100, LH_MARK_BY_MARK, 2, "other half");
  forge_mark(&f, 0x2200, LH_MARK_BY_MARK, 1, "good");
  lh_snapshot *s = opened(&f);
  assert_int_equal(lh_mark_count(s), 2);
  assert_string_equal(lh_mark_at(s, 0)->name, "good");
  assert_string_equal(lh_mark_at(s, 1)->name, "a");
  for (lh_id id = 1; id <= lh_object_count(s); id++) assert_true(lh_is_own(s, id));
  lh_close(s);
  forge_free(&f);
}

/* In a finalizer while the state is closed: marks were finalized and have returned to allgc, those
** that are not yet wait on tobefnz, and the new one cannot get to finobj. */
static void marks_while_a_state_is_closed(void **state) {
  forge f;
  (void)state;
  forge_begin(&f);
  f.footer.serial = 4;
  forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 4, "a");
  forge_mark(&f, 0x1100, LH_MARK_BY_SNAPSHOT, 4, "a");
  forge_mark(&f, 0x1200, LH_MARK_BY_MARK, 2, "two");
  forge_mark(&f, 0x1300, LH_MARK_BY_MARK, 3, "three");
  forge_table(&f, 0x2000, 0, 0, 0);
  forge_mark(&f, 0x2100, LH_MARK_BY_MARK, 3, "three");
  forge_table(&f, 0x2200, 0, 0, 0);
  forge_mark(&f, 0x2300, LH_MARK_BY_MARK, 2, "two");
  forge_mark(&f, 0x2400, LH_MARK_BY_MARK, 1, "one");
  forge_table(&f, 0x2500, 0, 0, 0);
  forge_next_list(&f);
  forge_table(&f, 0x3000, 0, 0, 0);
  forge_next_list(&f);
  forge_mark(&f, 0x4000, LH_MARK_BY_MARK, 1, "one");
  lh_snapshot *s = opened(&f);
  assert_int_equal(lh_mark_count(s), 4);
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(lh_mark_at(s, i)->serial, i + 1);
  assert_int_equal(epoch_at(s, 0x2000), 3);
  assert_int_equal(epoch_at(s, 0x2200), 2);
  assert_int_equal(epoch_at(s, 0x2500), 0);
  assert_int_equal(epoch_at(s, 0x3000), 0);
  lh_close(s);
  forge_free(&f);
}

/* The object with a finalizer is as old as can be told: mark 2 has lost its place on finobj. */
static void half_a_mark(void **state) {
  forge f;
  (void)state;
  forge_begin(&f);
  f.footer.serial = 3;
  for (uint64_t serial = 3; serial > 0; serial--)
    forge_mark(&f, 0x1000 * serial, LH_MARK_BY_SNAPSHOT, serial, "x");
  forge_next_list(&f);
  forge_mark(&f, 0x5000, LH_MARK_BY_SNAPSHOT, 3, "x");
  forge_table(&f, 0x6000, 0, 0, 0);
  forge_mark(&f, 0x7000, LH_MARK_BY_SNAPSHOT, 1, "x");
  forge_table(&f, 0x8000, 0, 0, 0);
  lh_snapshot *s = opened(&f);
  assert_int_equal(lh_mark_count(s), 3);
  assert_int_equal(epoch_at(s, 0x6000), 1);
  assert_int_equal(epoch_at(s, 0x8000), 0);
  lh_close(s);
  forge_free(&f);
}

/* ==== files that are not =========================================================== */

static void expect_open_failure(const char *path, int os_errno, const char *format) {
  lh_error error = {0};
  lh_snapshot *s = (lh_snapshot *)&error;
  char message[512];
  (void)snprintf(message, sizeof message, format, path);
  assert_int_equal(lh_open(&s, path, &error), LH_EIO);
  assert_null(s);
  assert_string_equal(error.message, message);
  assert_int_equal(error.os_errno, os_errno);
}

static void what_the_system_refuses(void **state) {
  char directory[] = "/tmp/test_reader.XXXXXX";
  char path[64];
  (void)state;
  assert_non_null(mkdtemp(directory));
  expect_open_failure(directory, EISDIR, "cannot read '%s': Is a directory");
  (void)snprintf(path, sizeof path, "%s/x", directory);
  expect_open_failure(path, ENOENT, "cannot open '%s': No such file or directory");
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_open_failure(path, ESPIPE, "cannot read '%s': it is no regular file");
  assert_int_equal(unlink(path), 0);
  int file = open(path, O_CREAT | O_WRONLY, 0);
  assert_true(file >= 0);
  assert_int_equal(close(file), 0);
  if (geteuid() != 0) expect_open_failure(path, EACCES, "cannot open '%s': Permission denied");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(directory), 0);
}

static void a_long_path_keeps_its_ends(void **state) {
  char path[800];
  lh_error error;
  lh_snapshot *s;
  (void)state;
  memset(path, '/', sizeof path);
  strcpy(path + 790, "none");
  assert_int_equal(lh_open(&s, path, &error), LH_EIO);
  assert_memory_equal(error.message, "cannot open '////", 17);
  assert_non_null(strstr(error.message, "//...//"));
  assert_non_null(strstr(error.message, "//none': No such file or directory"));
}

static void from_a_path(void **state) {
  char path[] = "/tmp/test_reader.XXXXXX";
  forge f;
  lh_snapshot *s;
  lh_error error;
  (void)state;
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(lh_open(&s, path, &error), LH_EFOREIGN); /* still empty */
  sample_heap(&f);
  forge_finish(&f);
  assert_int_equal(write(file, f.data, f.size), f.size);
  assert_int_equal(close(file), 0);
  assert_int_equal(lh_open(&s, path, NULL), 0);
  assert_int_equal(lh_object_count(s), SAMPLE_OBJECTS);
  lh_close(s);
  lh_close(NULL);
  assert_int_equal(unlink(path), 0);
  forge_free(&f);
}

static void foreign_files(void **state) {
  (void)state;
  expect_failure("", 0, LH_EFOREIGN, 0, "'f' is empty, not a snapshot");
  expect_failure("h", 1, LH_EFOREIGN, 0, "'f' is not a snapshot of luaheap");
  const char *text = "-- a Lua program, of which there are many more than snapshots of heaps";
  expect_failure(text, strlen(text), LH_EFOREIGN, 0, "'f' is not a snapshot of luaheap");
}

static void newer_files(void **state) {
  forge f;
  (void)state;
  sample_heap(&f);
  f.out.data[8] = LH_FORMAT_VERSION + 1;
  forge_finish(&f);
  const char *message =
      "'f' is a snapshot of format version 8: it takes a newer luaheap, this one reads up to "
      "version 7";
  expect_failure(f.data, f.size, LH_EVERSION, 0, message);
  expect_failure(f.data, 12, LH_EVERSION, 0, message); /* cut, too: the version matters more */
  f.data[8] = 0;
  expect_failure(f.data, f.size, LH_EDAMAGED, 8, "'f' is damaged: its header makes no sense");
  forge_free(&f);
}

static void damaged_in_one_place(void **state) {
  forge f;
  (void)state;
  sample_heap(&f);
  forge_record(&f, LH_REC_STRING, 0xc000, LH_STRING_OVERHEAD + LH_BLOCK_BYTES);
  for (size_t i = 0; i < LH_BLOCK_BYTES; i++) forge_u8(&f, 'x');
  uint64_t end = f.out.size;
  forge_finish(&f);
  char message[200];
  f.data[end - 1]++;
  (void)snprintf(message, sizeof message,
                 "'f' is damaged: block 2 of 2 (bytes 1048576 to %zu) does not fit its checksum",
                 (size_t)end - 1);
  expect_failure(f.data, f.size, LH_EDAMAGED, LH_BLOCK_BYTES, message);
  f.data[end - 1]--;
  f.data[end]++;
  expect_failure(f.data, f.size, LH_EDAMAGED, end,
                 "'f' is damaged: its footer does not fit its checksum");
  f.data[end]--;
  f.data[f.size - 40]++;
  expect_failure(f.data, f.size, LH_EDAMAGED, f.size - 40,
                 "'f' is damaged: its trailer makes no sense");
  f.data[f.size - 40]--;
  lh_snapshot *s;
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), 0);
  lh_close(s);
  forge_free(&f);
}

/* ==== nonsense, crowds and poverty ================================================== */

static uint64_t next_random(uint64_t *x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

/* Whatever stands in the records: an error or a snapshot that can be read, under sanitizers. */
static void random_damage_with_valid_checksums(void **state) {
  enum { ROUNDS = 20000 };
  const uint64_t seed = 88172645463325252u;
  forge f;
  uint64_t x = seed, opened = 0, sum = 0;
  (void)state;
  sample_heap(&f);
  forge_finish(&f);
  uint8_t *file = malloc(f.size);
  assert_non_null(file);
  for (int round = 0; round < ROUNDS; round++) {
    lh_snapshot *s;
    lh_error error = {0};
    memcpy(file, f.data, f.size);
    for (uint64_t n = 1 + next_random(&x) % 3; n > 0; n--)
      file[LH_HEADER_BYTES + next_random(&x) % (f.size - LH_HEADER_BYTES - LH_TRAILER_BYTES)] =
          (uint8_t)(next_random(&x) >> (next_random(&x) % 56));
    forge_seal(file, f.size);
    int code = lh_open_memory(&s, file, f.size, "f", &error);
    assert_true(code == 0 || code == LH_EDAMAGED || code == LH_EMEMORY);
    if (code) continue;
    sum += read_all(s);
    opened++;
    lh_close(s);
  }
  assert_true(opened > ROUNDS / 100 && sum > 0);
  free(file);
  forge_free(&f);
}

/* 64 objects in each 512 bytes of memory, and one in each of as many pages. */
static void crowded_and_lonely_addresses(void **state) {
  enum { N = 20000 };
  forge f;
  lh_snapshot *s;
  (void)state;
  forge_begin(&f);
  forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (uint64_t i = 0; i < N; i++) forge_table(&f, 0x100000 + 8 * i, 0, 0, 0);
  for (uint64_t i = 1; i <= N; i++) forge_table(&f, i << 40, 0, 0, 0);
  forge_next_list(&f);
  forge_mark(&f, 0x2000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), 0);
  for (uint64_t i = 0; i < N; i++) {
    assert_int_equal(lh_find_address(s, 0x100000 + 8 * i), 2 + i);
    assert_int_equal(lh_find_address(s, (i + 1) << 40), 2 + N + i);
  }
  assert_int_equal(lh_find_address(s, 0x100000 + 8 * (uint64_t)N), LH_NO_OBJECT);
  lh_close(s);
  forge_free(&f);
}

/* Numbers of one to ten bytes. */
static void numbers_of_all_lengths(void **state) {
  forge f;
  lh_snapshot *s;
  (void)state;
  forge_begin(&f);
  forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_record(&f, LH_REC_C_CLOSURE, 0x2000, 1056);
  forge_uvarint(&f, UINT64_MAX);
  forge_uvarint(&f, 64);
  for (int bit = 0; bit < 64; bit++) {
    forge_u8(&f, LH_VAL_POINTER);
    forge_uvarint(&f, UINT64_MAX >> bit);
  }
  forge_table(&f, 0x3000, 0, 0, 64);
  for (int bit = 0; bit < 64; bit++) {
    forge_tags(&f, LH_VAL_POINTER, LH_VAL_INTEGER);
    forge_uvarint(&f, UINT64_MAX >> bit);
    forge_svarint(&f, INT64_MIN >> bit);
  }
  forge_next_list(&f);
  forge_mark(&f, 0x4000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), 0);
  lh_object closure;
  lh_edges it;
  lh_value key, value;
  lh_object_at(s, 2, &closure);
  assert_true(closure.as.closure.function == UINT64_MAX);
  lh_entries_begin(s, 3, &it);
  for (int bit = 0; bit < 64; bit++) {
    assert_true(lh_entries_next(&it, &key, &value));
    assert_true(key.as.pointer == UINT64_MAX >> bit);
    assert_true(value.as.integer == INT64_MIN >> bit);
  }
  assert_false(lh_entries_next(&it, &key, &value));
  lh_close(s);
  forge_free(&f);
}

static void without_memory(void **state) {
  forge f;
  int code = LH_EMEMORY;
  (void)state;
  sample_outside_heap(&f);
  forge_version(&f, 6);
  f.footer.keys[0] = AT_NAME;
  f.footer.n_keys = 1;
  forge_finish(&f);
  for (uint64_t n = 1; code == LH_EMEMORY; n++) {
    lh_snapshot *s;
    lh_error error = {0};
    (void)lh_test_fail_allocation(n);
    code = lh_open_memory(&s, f.data, f.size, "f", &error);
    (void)lh_test_fail_allocation(0);
    assert_true(n < 100);
    if (code == LH_EMEMORY)
      assert_memory_equal(error.message, "not enough memory while ", 24);
    else
      assert_true(code == 0 && n > 10);
    lh_close(s);
  }
  forge_free(&f);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_the_footer_says),
                                     cmocka_unit_test(marks_and_epochs),
                                     cmocka_unit_test(what_is_no_mark),
                                     cmocka_unit_test(marks_while_a_state_is_closed),
                                     cmocka_unit_test(half_a_mark),
                                     cmocka_unit_test(what_the_system_refuses),
                                     cmocka_unit_test(a_long_path_keeps_its_ends),
                                     cmocka_unit_test(from_a_path),
                                     cmocka_unit_test(foreign_files),
                                     cmocka_unit_test(newer_files),
                                     cmocka_unit_test(damaged_in_one_place),
                                     cmocka_unit_test(random_damage_with_valid_checksums),
                                     cmocka_unit_test(crowded_and_lonely_addresses),
                                     cmocka_unit_test(numbers_of_all_lengths),
                                     cmocka_unit_test(without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
