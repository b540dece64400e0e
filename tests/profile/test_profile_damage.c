/*
** test_profile_damage.c - profiles are read up to where they were cut; what is damaged is told with
** its byte; and what has right checksums and wrong contents does no harm.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask_profile.h"
#include "corpus.h"
#include "sample_profile.h"

static bool count_event(const lh_event *event, void *data) {
  size_t *n = data;
  (void)event;
  ++*n;
  return true;
}

static size_t replay(lh_profile *p) {
  size_t n = 0;
  assert_int_equal(lh_profile_replay(p, count_event, &n, NULL), LH_OK);
  return n;
}

/* ==== Cut, and damaged ============================================================== */

/* Of the facts' block, which must be there, and of the blocks after it all that is whole. */
static void cut_anywhere(void **state) {
  size_t n_cases = 0;
  (void)state;
  for (int which = 0; which < 2; which++) {
    forged_profile f;
    forge_any(&f, which);
    size_t facts_end = LH_PROFILE_HEADER_BYTES + LH_PROFILE_BLOCK_HEAD +
                       lh_load32(f.data + LH_PROFILE_HEADER_BYTES);
    uint64_t last_read = facts_end, last_events = 0;
    for (size_t size = 1; size < f.size; size++) {
      lh_profile *p;
      lh_error error;
      uint8_t *cut = malloc(size); /* of exactly that size, for the sanitizer */
      assert_non_null(cut);
      memcpy(cut, f.data, size);
      int code = lh_profile_open_memory(cut, size, "f", &p, &error);
      assert_int_equal(code, size < facts_end ? LH_EDAMAGED : LH_OK);
      if (code != LH_OK) {
        assert_int_equal(error.offset, size);
        assert_string_equal(error.message, "'f' was cut before its first block ends");
      } else {
        const lh_profile_info *about = lh_profile_about(p);
        assert_false(about->is_whole);
        assert_int_equal(about->file_bytes, size);
        assert_in_range(about->read_bytes, last_read, size);
        assert_in_range(about->n_events, last_events, 11);
        assert_int_equal(replay(p), about->n_events);
        last_read = about->read_bytes;
        last_events = about->n_events;
      }
      lh_profile_close(p);
      free(cut);
      n_cases++;
    }
    assert_int_equal(last_events, which == 0 ? 11 : 0);
    forge_drop_profile(&f);
  }
  printf("faults: profiles cut at every byte: %zu cases, %zu survived\n", n_cases, n_cases);
}

static void any_bit_flipped(void **state) {
  size_t n_cases = 0;
  (void)state;
  for (int which = 0; which < 2; which++) {
    forged_profile f;
    forge_any(&f, which);
    for (size_t bit = 0; bit < f.size * 8; bit++) {
      lh_profile *p;
      lh_error error;
      f.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
      int code = lh_profile_open_memory(f.data, f.size, "f", &p, &error);
      assert_null(p);
      assert_int_equal(code, bit < 64                    ? LH_EFOREIGN
                             : lh_load32(f.data + 8) > 1 ? LH_EVERSION
                                                         : LH_EDAMAGED);
      if (code == LH_EDAMAGED && error.offset > bit / 8) fail_msg("bit %zu", bit);
      f.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
      n_cases++;
    }
    forge_drop_profile(&f);
  }
  printf("faults: every bit of profiles flipped: %zu cases, %zu survived\n", n_cases, n_cases);
}

/* Whatever a block says, no more memory than a multiple of its size. */
static void open_any(const uint8_t *data, size_t size) {
  enum { CONSTANT = 128 << 10 };
  lh_profile *p;
  (void)lh_test_peak_bytes();
  if (lh_profile_open_memory(data, size, "f", &p, NULL) == LH_OK) {
    assert_int_equal(replay(p), lh_profile_about(p)->n_events);
    lh_profile_close(p);
  }
  assert_in_range(lh_test_peak_bytes(), 1, 64 * size + CONSTANT);
}

static void any_byte_changed_with_right_checksums(void **state) {
  size_t n_cases = 0;
  (void)state;
  for (int which = 0; which < 2; which++) {
    forged_profile f;
    forge_any(&f, which);
    uint8_t *copy = malloc(f.size);
    assert_non_null(copy);
    for (size_t at = 0; at < f.size; at++) {
      for (unsigned byte = 0; byte < 256; byte++) {
        memcpy(copy, f.data, f.size);
        copy[at] = (uint8_t)byte;
        forge_seal_profile(copy, f.size);
        open_any(copy, f.size);
        n_cases++;
      }
    }
    free(copy);
    forge_drop_profile(&f);
  }
  printf("faults: every byte of profiles changed, right checksums: %zu cases, %zu survived\n",
         n_cases, n_cases);
}

/* The shortest rows, which take the most memory for their bytes, and shortest definitions. */
static void memory_is_bounded_by_the_bytes(void **state) {
  enum { N = 60000 };
  forged_profile f;
  lh_profile_info info = sample_facts;
  (void)state;
  info.is_aggregate = true;
  forge_profile(&f, &info);
  for (int i = 0; i < N / 15; i++) (void)forge_stack(&f, 0, site_f);
  lh_table_begin(&f.to, LH_BLOCK_COUNTS);
  for (uint32_t i = 0; i < N / 15; i++)
    for (unsigned type = 4; type < 11; type++)
      forge_count(&f, &(lh_profile_count){.stack = i, .type = lh_profile_type(type)});
  lh_table_end(&f.to);
  forge_end_profile(&f, 1, 0);
  open_any(f.data, f.size);
  forge_drop_profile(&f);
}

/* ==== Lies ========================================================================== */

static void expect_failure(const forged_profile *f, int code, uint64_t offset,
                           const char *message) {
  lh_error error = {0};
  lh_profile *p;
  assert_int_equal(lh_profile_open_memory(f->data, f->size, "f", &p, &error), code);
  assert_null(p);
  assert_string_equal(error.message, message);
  assert_int_equal(error.offset, offset);
}

/* A block of records, counts or calls with these bytes, behind the definitions of two stacks. */
static void expect_fault(unsigned kind, const uint8_t *bytes, size_t n, size_t at,
                         const char *fault) {
  forged_profile f;
  char message[256];
  lh_profile_info info = sample_facts;
  info.is_aggregate = kind == LH_BLOCK_COUNTS;
  info.has_calls = kind == LH_BLOCK_CALLS;
  forge_profile(&f, &info);
  (void)forge_stack(&f, forge_stack(&f, 0, site_main), site_f);
  lh_profile_blocks_next(&f.to, kind);
  memcpy(f.to.at, bytes, n);
  f.to.at += n;
  uint64_t offset = f.to.offset + LH_PROFILE_BLOCK_HEAD + at;
  forge_cut_profile(&f);
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %llu: %s",
                 (unsigned long long)offset, fault);
  expect_failure(&f, LH_EDAMAGED, offset, message);
  forge_drop_profile(&f);
}

#define EXPECT_FAULT(kind, at, fault, ...) \
  expect_fault(kind, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), at, fault)

static void wrong_contents_are_told(void **state) {
  enum { R = LH_BLOCK_RECORDS, COUNTS = LH_BLOCK_COUNTS, CALLS = LH_BLOCK_CALLS };
  enum { TABLE = 5 << 2, ONE = 1 << 6, WHOLE = LH_TABLE_FIRST | LH_TABLE_LAST };
  static const char order[] = "the rows of a table are not in order";
  (void)state;
  EXPECT_FAULT(R, 0, "it defines nothing known", 0);
  EXPECT_FAULT(R, 0, "it defines nothing known", 6);
  EXPECT_FAULT(R, 1, "a name is not defined", LH_DEFINE_FUNCTION, 9, 0, 0);
  EXPECT_FAULT(R, 0, "it is unknown", 3 | TABLE | ONE, 1);
  EXPECT_FAULT(R, 0, "it is unknown", 11 << 2 | ONE, 1);
  EXPECT_FAULT(R, 0, "its stack is not defined", 0x80 | TABLE | ONE, 1, 1);
  EXPECT_FAULT(R, 1, "it runs over the end", TABLE | ONE);
  EXPECT_FAULT(R, 1, "a block is bigger than an address space", TABLE | ONE, 0xFF, 0xFF, 0xFF, 0xFF,
               0xFF, 0xFF, 0xFF, 0xFF, 0x7F);
  EXPECT_FAULT(R, 2, "a stack is not defined", LH_RECORD_RESIZE | TABLE | ONE, 1, 3, 1, 1);
  EXPECT_FAULT(R, 2, "its age is too great", LH_RECORD_FREE | TABLE | ONE, 1, 0xFF, 0xFF, 0xFF,
               0xFF, 0xFF, 0xFF, 0x7F);
  EXPECT_FAULT(R, 20, "the sizes add up to more than an address space has", TABLE | ONE, 0x80, 0x80,
               0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, TABLE | ONE, 0x80, 0x80, 0x80, 0x80, 0x80,
               0x80, 0x80, 0x80, 1);
  EXPECT_FAULT(R, 11, "the time is too late", LH_RECORD_TIME, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
               0xFF, 0xFF, 0x7F, LH_RECORD_TIME, 1);
  EXPECT_FAULT(COUNTS, 0, "a table begins within a table, or has no beginning", 0);
  EXPECT_FAULT(COUNTS, 0, "a table begins within a table, or has no beginning", 4);
  EXPECT_FAULT(COUNTS, 1, "a stack is not defined", WHOLE, 3);
  EXPECT_FAULT(COUNTS, 2, "a type is unknown", WHOLE, 1, 3);
  EXPECT_FAULT(COUNTS, 2, "a type is unknown", WHOLE, 1, 21);
  EXPECT_FAULT(COUNTS, 14, order, WHOLE, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5);
  EXPECT_FAULT(COUNTS, 14, order, WHOLE, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 6);
  EXPECT_FAULT(COUNTS, 13, "an age is unknown", WHOLE, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80,
               0x80, 0x80, 8);
  EXPECT_FAULT(CALLS, 1, order, WHOLE, 0, 1, 0, 0, 0, 0);
  EXPECT_FAULT(CALLS, 1, "it has more tail calls than calls", WHOLE, 1, 1, 2, 0, 0, 0);
  EXPECT_FAULT(CALLS, 6, "a flag is neither 0 nor 1", WHOLE, 1, 1, 0, 0, 0, 2);
}

static void expect_misplaced(unsigned kind, const char *fault) {
  forged_profile f;
  char message[256];
  forge_profile(&f, &sample_facts);
  lh_profile_blocks_next(&f.to, kind);
  *f.to.at++ = 1;
  uint64_t offset = f.to.offset + 4;
  forge_cut_profile(&f);
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %llu: %s",
                 (unsigned long long)offset, fault);
  expect_failure(&f, LH_EDAMAGED, offset, message);
  forge_drop_profile(&f);
}

static void blocks_have_their_place(void **state) {
  forged_profile f;
  (void)state;
  expect_misplaced(LH_BLOCK_FACTS, "its facts are not its first block");
  expect_misplaced(0, "a block is of an unknown kind");
  expect_misplaced(6, "a block is of an unknown kind");
  expect_misplaced(LH_BLOCK_COUNTS, "it counts, and is no aggregate");
  expect_misplaced(LH_BLOCK_CALLS, "it has calls, and does not say so");
  forge_sample(&f, &sample_facts);
  forge_end_profile(&f, 900000, 0);
  uint64_t end = f.size;
  char message[128];
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %llu: it goes on after its end",
                 (unsigned long long)end);
  lh_profile_blocks_next(&f.to, LH_BLOCK_RECORDS);
  forge_time(&f, 800000);
  forge_cut_profile(&f);
  for (; f.size > end; f.size--) expect_failure(&f, LH_EDAMAGED, end, message);
  forge_drop_profile(&f);
}

static void what_is_no_profile_is_told(void **state) {
  forged_profile f = {.data = (uint8_t[]){"\x89LHEAP\r\n"}, .size = 0};
  uint8_t newer[16] = LH_PROFILE_MAGIC "\2";
  lh_error error;
  lh_profile *p;
  (void)state;
  expect_failure(&f, LH_EFOREIGN, 0, "'f' is empty, not a profile");
  f.size = 8;
  expect_failure(&f, LH_EFOREIGN, 0, "'f' is not a profile of luaheap");
  f.data = newer;
  f.size = sizeof newer;
  expect_failure(&f, LH_EVERSION, 0,
                 "'f' is a profile of format version 2: it takes a newer luaheap, this one reads "
                 "up to version 1");
  assert_int_equal(lh_profile_open("/nonexistent/p", &p, &error), LH_EIO);
  assert_string_equal(error.message, "cannot open '/nonexistent/p': No such file or directory");
  assert_int_equal(lh_profile_open("/dev/null", &p, &error), LH_EIO);
  assert_int_equal(lh_profile_open("/tmp", &p, &error), LH_EIO);
  assert_string_equal(error.message, "cannot read '/tmp': Is a directory");
}

/* ==================================================================================== */

static void the_fuzzers_corpus_does_no_harm(void **state) {
  (void)state;
  corpus_replay("tests/fuzz/profiles", "corpus of profiles", 3, ask_profile);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cut_anywhere),
                                     cmocka_unit_test(any_bit_flipped),
                                     cmocka_unit_test(any_byte_changed_with_right_checksums),
                                     cmocka_unit_test(wrong_contents_are_told),
                                     cmocka_unit_test(blocks_have_their_place),
                                     cmocka_unit_test(what_is_no_profile_is_told),
                                     cmocka_unit_test(memory_is_bounded_by_the_bytes),
                                     cmocka_unit_test(the_fuzzers_corpus_does_no_harm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
