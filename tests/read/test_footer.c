/*
** test_footer.c - what the footer of format version 6 has more than older ones: the directory of
** sections, and the first record of each block. Each lie about them is found, and named by its
** byte.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect.h"
#include "read/record.h"
#include "sample.h"

static lh_snapshot *open_forged(const forge *f) {
  lh_snapshot *s;
  lh_error error = {0};
  if (lh_open_memory(&s, f->data, f->size, "f", &error) < 0) fail_msg("%s", error.message);
  return s;
}

/* ==== What it tells ================================================================= */

enum { MORE = LH_SECTION_COLLECTOR + 1 };

/* The sample with all sections, and one that no reader knows. */
static void all_sections(forge *f) {
  sample_outside_heap(f);
  forge_version(f, 6);
  forge_more(f, MORE, "from the future", 15);
  forge_finish(f);
}

static void sections_are_found_and_unknown_ones_ignored(void **state) {
  forge f;
  lh_c_code found;
  (void)state;
  all_sections(&f);
  lh_snapshot *s = open_forged(&f);
  assert_int_equal(lh_snapshot_info(s)->format_version, 6);
  assert_int_equal(lh_object_count(s), SAMPLE_OBJECTS);
  for (lh_id id = 1; id <= SAMPLE_OBJECTS; id++)
    assert_int_equal(lh_object_stack(s, id), (id - 1) % (SAMPLE_STACKS + 1));
  assert_int_equal(lh_stack_counts_of(s, SAMPLE_STACKS).made_bytes, 56 * SAMPLE_STACKS);
  assert_int_equal(lh_snapshot_outside(s)->stillness, LH_STILL_FORK);
  assert_true(lh_c_function_at(s, 0xc000, &found));
  assert_string_equal(found.symbol, "luaB_print");
  lh_close(s);
  forge_free(&f);
}

static void without_sections_there_are_none(void **state) {
  forge f;
  (void)state;
  sample_heap(&f);
  forge_version(&f, 6);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  assert_null(lh_snapshot_tracking(s));
  assert_null(lh_snapshot_outside(s));
  assert_int_equal(s->records_end, lh_load64(f.data + f.size - LH_TRAILER_BYTES));
  lh_close(s);
  forge_free(&f);
}

/* 100,000 tables, and amid them a string that three blocks have to themselves. */
enum { N_TABLES = 100000, STRING_BYTES = 4 << 20, AT_STRING = 0x2000, AT_TABLES = 0x10000 };

static void put_tables(forge *f, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) {
    forge_table(f, AT_TABLES + 64 * i, 0, 0, 2);
    for (int k = 0; k < 2; k++) {
      forge_tags(f, LH_VAL_INTEGER, LH_VAL_POINTER);
      forge_svarint(f, k);
      forge_uvarint(f, UINT64_MAX);
    }
  }
}

static void begin_big(forge *f) {
  forge_begin(f);
  forge_version(f, 6);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  put_tables(f, 0, N_TABLES / 2);
  forge_record(f, LH_REC_STRING, AT_STRING, LH_STRING_OVERHEAD + STRING_BYTES);
  for (int i = 0; i < STRING_BYTES; i++) forge_u8(f, 'x');
  put_tables(f, N_TABLES / 2, N_TABLES);
  forge_next_list(f);
  forge_mark(f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
}

static uint64_t record_offset(const lh_snapshot *s, lh_id id) {
  return (uint64_t)(lh_record(s, id) - s->data);
}

static void each_block_has_its_first_record(void **state) {
  forge f;
  uint32_t n = 0;
  uint64_t last_block = UINT64_MAX, most_between = 0;
  (void)state;
  begin_big(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  for (lh_id id = 1; id <= s->n; id++) {
    uint64_t block = record_offset(s, id) / LH_BLOCK_BYTES;
    if (block == last_block) continue;
    if (id > 1 && block - last_block > most_between) most_between = block - last_block;
    last_block = block;
    assert_true(n < s->n_blocks);
    assert_int_equal(s->blocks[n].id, id);
    assert_int_equal(s->blocks[n].offset, record_offset(s, id));
    assert_int_equal(s->blocks[n].word, s->address[id - 1] >> 3);
    n++;
  }
  assert_int_equal(n, s->n_blocks);
  assert_true(n > 3);
  assert_int_equal(most_between, STRING_BYTES / LH_BLOCK_BYTES);
  lh_close(s);
  forge_free(&f);
}

static void older_versions_have_one_block_to_begin_at(void **state) {
  forge f;
  (void)state;
  begin_big(&f);
  forge_version(&f, 3);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  assert_int_equal(s->n_blocks, 1);
  assert_int_equal(s->blocks[0].offset, LH_HEADER_BYTES);
  assert_int_equal(s->blocks[0].word, 0);
  assert_int_equal(s->blocks[0].id, 1);
  lh_close(s);
  forge_free(&f);
}

static void a_flag_is_not_known_any_more(void **state) {
  (void)state;
  for (unsigned flag = LH_TRACKED; flag <= LH_OUTSIDE; flag <<= 1) {
    forge f;
    all_sections(&f);
    f.data[12] = (uint8_t)flag;
    forge_seal(f.data, f.size);
    expect_failure(f.data, f.size, LH_EDAMAGED, 8, "'f' is damaged: its header makes no sense");
    forge_free(&f);
  }
}

/* ==== Lies about sections =========================================================== */

enum { NUMBER = 0, OFFSET = 1, BYTES = 1 + FORGE_OFFSET_BYTES };

typedef struct section_lie {
  unsigned section; /* counted from 0 on */
  unsigned field;
  int64_t by;  /* so much is added to what is true */
  uint64_t at; /* in the directory: what the fault is about */
  const char *message;
} section_lie;

#define ENTRY(i) (1 + (i)*FORGE_SECTION_BYTES)

static const section_lie section_lies[] = {
    {0, NUMBER, -1, ENTRY(0), "its sections do not ascend"},
    {0, NUMBER, 1, ENTRY(1), "its sections do not ascend"},
    {2, NUMBER, -2, ENTRY(2), "its sections do not ascend"},
    {2, NUMBER, 61, ENTRY(2), "a section's number is too big"},
    {0, OFFSET, -100000, ENTRY(0) + OFFSET, "a section is in the header"},
    {0, OFFSET, 1000000, ENTRY(0) + OFFSET, "a section is not in front of it"},
    {0, OFFSET, 1, ENTRY(1) + OFFSET, "there is a gap before a section"},
    {1, OFFSET, -1, ENTRY(1) + OFFSET, "there is a gap before a section"},
    {2, OFFSET, 1, ENTRY(2) + OFFSET, "there is a gap before a section"},
    {0, BYTES, 1000000, ENTRY(0) + BYTES, "a section runs into it"},
    {1, BYTES, 1, ENTRY(2) + OFFSET, "there is a gap before a section"},
    {2, BYTES, 1, ENTRY(2) + BYTES, "a section runs into it"},
    {2, BYTES, -1, ENTRY(2) + BYTES, "its last section ends before it"},
};

static void change_section(forge *f, const section_lie *lie) {
  uint8_t *at = f->data + f->directory_at + ENTRY(lie->section) + lie->field;
  if (lie->field == NUMBER)
    *at = (uint8_t)(*at + lie->by);
  else
    forge_offset(at, lie->by < -1000 ? 0 : forge_offset_at(at) + (uint64_t)lie->by);
  forge_seal(f->data, f->size);
}

static void expect_footer_fault(const forge *f, uint64_t at, const char *what) {
  char message[256];
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %llu: footer: %s",
                 (unsigned long long)at, what);
  expect_failure(f->data, f->size, LH_EDAMAGED, at, message);
}

static void lies_about_sections_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof section_lies / sizeof *section_lies; i++) {
    forge f;
    all_sections(&f);
    change_section(&f, &section_lies[i]);
    expect_footer_fault(&f, f.directory_at + section_lies[i].at, section_lies[i].message);
    forge_free(&f);
  }
}

static void there_are_not_more_sections_than_numbers(void **state) {
  forge f;
  (void)state;
  all_sections(&f);
  f.data[f.directory_at] = LH_LAST_SECTION + 1;
  forge_seal(f.data, f.size);
  expect_footer_fault(&f, f.directory_at, "it has too many sections");
  forge_free(&f);
}

/* Where the records end and the first section begins: both are moved by a byte. */
static void the_first_section_begins_where_the_records_end(void **state) {
  forge f;
  char message[256];
  (void)state;
  sample_heap(&f);
  forge_version(&f, 6);
  forge_more(&f, MORE, "more", 4);
  forge_finish(&f);
  uint8_t *entry = f.data + f.directory_at + ENTRY(0);
  uint64_t offset = forge_offset_at(entry + OFFSET);
  forge_offset(entry + OFFSET, offset + 1);
  forge_offset(entry + BYTES, 3);
  forge_seal(f.data, f.size);
  (void)snprintf(message, sizeof message,
                 "'f' is damaged at byte %u: %u objects end there, not at %u", (unsigned)offset,
                 SAMPLE_OBJECTS, (unsigned)offset + 1);
  expect_failure(f.data, f.size, LH_EDAMAGED, offset, message);
  forge_free(&f);
}

/* ==== Lies about blocks ============================================================= */

enum { WORD = 0, ID = 8, IN_BLOCK = 12 };

static uint8_t *start_of(const forge *f, size_t block) {
  return f->starts.data + block * FORGE_START_BYTES;
}

static void change32(uint8_t *at, int by) {
  lh_store32(at, lh_load32(at) + (uint32_t)by);
}

static void clear_start(const forge *f, size_t block) {
  memset(start_of(f, block), 0, FORGE_START_BYTES);
}

/* Next: what makes no sense by itself. */

static void no_first_record(forge *f) {
  clear_start(f, 0);
}

static void first_is_second(forge *f) {
  change32(start_of(f, 0) + ID, 1);
}

static void first_is_later(forge *f) {
  change32(start_of(f, 0) + IN_BLOCK, 1);
}

static void first_has_one_before(forge *f) {
  lh_store64(start_of(f, 0) + WORD, 1);
}

static void ids_do_not_ascend(forge *f) {
  lh_store32(start_of(f, 1) + ID, 1);
}

static void no_such_object(forge *f) {
  lh_store32(start_of(f, 1) + ID, N_TABLES + 4);
}

static void outside_of_its_block(forge *f) {
  lh_store32(start_of(f, 1) + IN_BLOCK, LH_BLOCK_BYTES);
}

static void nothing_is_before(forge *f) {
  lh_store64(start_of(f, 1) + WORD, 0);
}

static void before_is_nowhere(forge *f) {
  lh_store64(start_of(f, 1) + WORD, UINT64_C(1) << 61);
}

static void id_is_nothing(forge *f) {
  lh_store32(start_of(f, 1) + ID, 0);
}

/* Next: what only the records show to be wrong. */

static void another_id(forge *f) {
  change32(start_of(f, 1) + ID, 1);
}

static void another_offset(forge *f) {
  change32(start_of(f, 1) + IN_BLOCK, 1);
}

static void another_word(forge *f) {
  start_of(f, 1)[WORD]++;
}

static void one_is_concealed(forge *f) {
  clear_start(f, 1);
}

/* In a block that the string has to itself: as though the string were behind a table. */
static void one_is_made_up(forge *f) {
  const uint8_t *next = start_of(f, f->starts.size / FORGE_START_BYTES - 2);
  uint8_t *made = start_of(f, f->starts.size / FORGE_START_BYTES - 3);
  assert_int_equal(lh_load32(made + ID), 0);
  lh_store64(made + WORD, AT_TABLES >> 3);
  lh_store32(made + ID, lh_load32(next + ID) - 1);
}

/* Behind the last record. */
static void concealed_at_the_end(forge *f) {
  clear_start(f, f->starts.size / FORGE_START_BYTES - 1);
}

typedef struct block_lie {
  void (*tell)(forge *f);
  unsigned block; /* counted from 0 on */
  bool is_early;  /* the object before the first one is told, which is a string */
} block_lie;

static const block_lie senseless[] = {
    {no_first_record, 0, false},      {first_is_second, 0, false},   {first_is_later, 0, false},
    {first_has_one_before, 0, false}, {ids_do_not_ascend, 1, false}, {no_such_object, 1, false},
    {outside_of_its_block, 1, false}, {nothing_is_before, 1, false}, {before_is_nowhere, 1, false},
    {id_is_nothing, 1, false},
};

static void senseless_first_records_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
    forge f;
    char what[128];
    begin_big(&f);
    senseless[i].tell(&f);
    forge_finish(&f);
    uint64_t n = lh_load64(f.data + f.size - LH_TRAILER_BYTES) / LH_BLOCK_BYTES + 1;
    uint64_t at = f.size - LH_TRAILER_BYTES - (n - senseless[i].block) * LH_BLOCK_ENTRY + 8;
    (void)snprintf(what, sizeof what,
                   "what it says of the first record of block %u of %u makes no sense",
                   senseless[i].block + 1, (unsigned)n);
    expect_footer_fault(&f, at, what);
    forge_free(&f);
  }
}

static const block_lie wrong[] = {
    {another_id, 1, false},       {another_offset, 1, false}, {another_word, 1, false},
    {one_is_concealed, 1, false}, {one_is_made_up, 5, true},  {concealed_at_the_end, 6, false},
};

/* The record that begins first in a block, or the first behind it. */
static lh_id first_id_from(const lh_snapshot *s, uint64_t block) {
  lh_id id = 1;
  while (record_offset(s, id) < block * LH_BLOCK_BYTES) id++;
  return id;
}

static void wrong_first_records_are_met(void **state) {
  forge f;
  (void)state;
  begin_big(&f);
  forge_finish(&f);
  lh_snapshot *s = open_forged(&f);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    forge lying;
    char message[256];
    lh_id id = first_id_from(s, wrong[i].block) - wrong[i].is_early;
    begin_big(&lying);
    wrong[i].tell(&lying);
    forge_finish(&lying);
    (void)snprintf(message, sizeof message,
                   "'f' is damaged at byte %u: object %u of %u (%s): the footer tells another "
                   "first record of its block",
                   (unsigned)record_offset(s, id), id, s->n,
                   wrong[i].is_early ? "string" : "table");
    expect_failure(lying.data, lying.size, LH_EDAMAGED, record_offset(s, id), message);
    forge_free(&lying);
  }
  lh_close(s);
  forge_free(&f);
}

/* The last record is a string of more than a block: none begins behind it. */
static void none_begins_behind_the_last_record(void **state) {
  forge f;
  (void)state;
  for (int is_lie = 0; is_lie < 2; is_lie++) {
    forge_begin(&f);
    forge_version(&f, 6);
    forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
    forge_next_list(&f);
    forge_mark(&f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
    forge_next_list(&f);
    forge_next_list(&f);
    uint64_t at = f.out.size;
    forge_record(&f, LH_REC_STRING, AT_STRING, LH_STRING_OVERHEAD + LH_BLOCK_BYTES);
    for (unsigned i = 0; i < LH_BLOCK_BYTES; i++) forge_u8(&f, 'x');
    if (is_lie) {
      uint8_t start[FORGE_START_BYTES] = {0};
      lh_store64(start + WORD, 0x1000 >> 3);
      lh_store32(start + ID, 3);
      (void)forge_write(start, sizeof start, &f.starts);
    }
    forge_finish(&f);
    if (is_lie)
      expect_failure(f.data, f.size, LH_EDAMAGED, at,
                     "'f' is damaged at byte 69: object 3 of 3 (string): the footer tells another "
                     "first record of its block");
    else
      lh_close(open_forged(&f));
    forge_free(&f);
  }
}

/* ==== The collector ================================================================= */

#define SECTION(bytes) bytes, sizeof(bytes) - 1

static void forge_collector(forge *f, const char *bytes, size_t n) {
  sample_heap(f);
  forge_version(f, 6);
  forge_more(f, LH_SECTION_COLLECTOR, bytes, n);
  forge_finish(f);
}

static void the_collector_is_read(void **state) {
  forge f;
  (void)state;
  forge_collector(&f, SECTION("\1\x03\xB9\x60\xAC\x02\xC8\x01\x14\x64"));
  lh_snapshot *s = open_forged(&f);
  const lh_collector *c = &lh_snapshot_info(s)->collector;
  assert_true(c->is_known);
  assert_true(c->is_stopped);
  assert_int_equal(c->credit_bytes, -2);
  assert_int_equal(c->kept_bytes, 12345);
  assert_int_equal(c->pause, 300);
  assert_int_equal(c->stepmul, 200);
  assert_int_equal(c->minormul, 20);
  assert_int_equal(c->majormul, 100);
  lh_close(s);
  forge_free(&f);
}

static void lies_about_the_collector_are_found(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    uint64_t offset; /* in the section */
    const char *what;
  } lies[] = {{SECTION(""), 0, "it runs over the end"},
              {SECTION("\2\0\0\0\0\0\0"), 0, "it has an unknown flag"},
              {SECTION("\0\0\0\0\0\0"), 6, "it runs over the end"},
              {SECTION("\0\0\0\0\0\0\0\0"), 7, "it does not end where it should"},
              {SECTION("\0\0\0\0\0\x80\x80\x80\x80\x10\0"), 5, "a percentage is too big"},
              {SECTION("\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x04\0\0\0\0"), 2, LH_TOO_MUCH}};
  (void)state;
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    forge f;
    char message[256];
    forge_collector(&f, lies[i].bytes, lies[i].n);
    uint64_t footer = lh_load64(f.data + f.size - LH_TRAILER_BYTES);
    uint64_t at = footer - lies[i].n + lies[i].offset;
    (void)snprintf(message, sizeof message, "'f' is damaged at byte %u: collector: %s",
                   (unsigned)at, lies[i].what);
    expect_failure(f.data, f.size, LH_EDAMAGED, at, message);
    forge_free(&f);
  }
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sections_are_found_and_unknown_ones_ignored),
      cmocka_unit_test(without_sections_there_are_none),
      cmocka_unit_test(each_block_has_its_first_record),
      cmocka_unit_test(older_versions_have_one_block_to_begin_at),
      cmocka_unit_test(a_flag_is_not_known_any_more),
      cmocka_unit_test(lies_about_sections_are_found),
      cmocka_unit_test(there_are_not_more_sections_than_numbers),
      cmocka_unit_test(the_first_section_begins_where_the_records_end),
      cmocka_unit_test(senseless_first_records_are_found),
      cmocka_unit_test(wrong_first_records_are_met),
      cmocka_unit_test(none_begins_behind_the_last_record),
      cmocka_unit_test(the_collector_is_read),
      cmocka_unit_test(lies_about_the_collector_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
