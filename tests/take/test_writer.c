/*
** test_writer.c - the byte stream of a snapshot by itself: what the writer notes of each block, and
** that a file which is begun anew has nothing of the one before.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_file.h"
#include "take/writer.h"

enum { N_BLOCKS = 4 };

static void put_zeros(lh_out *out, uint64_t n) {
  static const uint8_t zeros[4096];
  for (; n > sizeof zeros; n -= sizeof zeros) lh_out_bytes(out, zeros, sizeof zeros);
  lh_out_bytes(out, zeros, n);
}

/* A record, as the walk begins one. */
static void begin_record(lh_out *out, uint64_t id, uint64_t previous) {
  uint8_t *p = lh_out_room(out);
  if (out->awaits_record) lh_out_note_record(out, id, previous);
  lh_out_took(out, p + 1);
}

/* The entry of block `i` is this one. */
static void expect_entry(const forge_bytes *file, size_t i, uint64_t word, uint32_t id,
                         uint32_t in_block) {
  const uint8_t *trailer = file->data + file->size - LH_TRAILER_BYTES;
  uint64_t end = lh_load64(trailer), start = i * LH_BLOCK_BYTES;
  const uint8_t *entry = trailer - (N_BLOCKS - i) * LH_BLOCK_ENTRY;
  uint64_t bytes = end - start < LH_BLOCK_BYTES ? end - start : LH_BLOCK_BYTES;
  assert_int_equal(lh_load32(trailer - N_BLOCKS * LH_BLOCK_ENTRY - 4), N_BLOCKS);
  assert_true(lh_load64(entry) == lh_hash(file->data + start, bytes, 0));
  assert_int_equal(lh_load64(entry + 8), word);
  assert_int_equal(lh_load32(entry + 16), id);
  assert_int_equal(lh_load32(entry + 20), in_block);
}

/* Two records; the second has two blocks to itself, and another begins in the last block, or none
** does. */
static void write_blocks(lh_out *out, bool has_third) {
  lh_out_begin(out, LH_FORMAT_VERSION);
  begin_record(out, 1, 0);
  put_zeros(out, LH_BLOCK_BYTES - LH_HEADER_BYTES - 1);
  begin_record(out, 2, 0x1000);
  put_zeros(out, 2 * LH_BLOCK_BYTES + 99);
  if (has_third) begin_record(out, 3, 0x2000);
  put_zeros(out, 5);
  memcpy(out->footer, "footer", 6);
  assert_int_equal(lh_out_close(out, 6, NULL), LH_OK);
}

static void each_block_tells_its_first_record(void **state) {
  forge_bytes file = {0};
  lh_out out;
  (void)state;
  assert_int_equal(lh_out_open(&out, N_BLOCKS * LH_BLOCK_BYTES - 1, forge_write, &file, NULL),
                   LH_OK);
  write_blocks(&out, true);
  expect_entry(&file, 0, 0, 1, LH_HEADER_BYTES);
  expect_entry(&file, 1, 0x1000 >> 3, 2, 0);
  expect_entry(&file, 2, 0, 0, 0);
  expect_entry(&file, 3, 0x2000 >> 3, 3, 100);
  file.size = 0;
  write_blocks(&out, false);
  expect_entry(&file, 3, 0, 0, 0);
  const uint8_t *trailer = file.data + file.size - LH_TRAILER_BYTES;
  assert_memory_equal(file.data + lh_load64(trailer), "footer", 6);
  assert_int_equal(lh_load64(trailer + 8), 6 + 4 + N_BLOCKS * LH_BLOCK_ENTRY);
  lh_out_free(&out);
  free(file.data);
}

/* Of blocks for which there is no room nothing is noted. */
static void a_longer_file_is_refused(void **state) {
  forge_bytes file = {0};
  lh_out out;
  lh_error error = {0};
  (void)state;
  assert_int_equal(lh_out_open(&out, LH_BLOCK_BYTES - 1, forge_write, &file, NULL), LH_OK);
  lh_out_begin(&out, LH_FORMAT_VERSION);
  for (uint64_t id = 1; id <= 3 * LH_BLOCK_BYTES; id++) begin_record(&out, id, 8 * id);
  assert_int_equal(lh_out_close(&out, 0, &error), LH_EIO);
  assert_int_equal(file.size, LH_BLOCK_BYTES);
  lh_out_free(&out);
  free(file.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_block_tells_its_first_record),
                                     cmocka_unit_test(a_longer_file_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
