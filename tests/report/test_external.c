/*
** test_external.c - what is told of a heap of Lua 5.5 whose strings have texts outside of
** collectgarbage("count"): sizes are the sums, totals tell both, and waste goes by its sizes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyses/answers.h"
#include "forged_file.h"
#include "rooms/all.h"
#include "view/answers.h"

enum { AT_GLOBALS = 0x2000, AT_REGISTRY = 0x2100, AT_CACHE = 0x2200, AT_THREAD = 0x2300 };
enum { AT_SPARSE = 0x2400, AT_THIRD = 0x2500 };
enum { AT_KEYS = 0x3000, AT_TEXTS = 0x4000 };
enum { MB = 1 << 20 };

static const char *const keys[] = {"cache", "title", "page",   "copy",
                                   "tiny",  "twin",  "sparse", "third"};
enum { CACHE, TITLE, PAGE, COPY, TINY, TWIN, SPARSE, THIRD, N_KEYS };

static uint64_t at_key(unsigned i) {
  return AT_KEYS + 0x100 * i;
}

static uint64_t at_text(unsigned i) {
  return AT_TEXTS + 0x100 * i;
}

static void page(forge *f, unsigned key, uint64_t length) {
  forge_string_head(f, LH_FLAG_TRUNCATED | LH_FLAG_EXTERNAL, at_text(key), length);
  forge_uvarint(f, 6);
  forge_u64(f, 7);
  forge_bytes_of(f, "<html>", 6);
}

static void field(forge *f, unsigned key, uint64_t value) {
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, at_key(key));
  forge_reference(f, value);
}

/* A list of 16 slots of which the first `used` have a number. */
static void list(forge *f, uint64_t address, unsigned used) {
  forge_record(f, LH_REC_TABLE, address, forge_table_bytes(f, 16, 0));
  forge_uvarint(f, 16);
  forge_u8(f, 0);
  forge_uvarint(f, used);
  for (unsigned i = 0; i < used; i++) forge_integer(f, i);
  forge_uvarint(f, 0);
}

/* _G.title is a library's, the others are external; page and copy are equal, and tiny and twin. */
static void put_heap(forge *f) {
  static const unsigned strings[] = {TITLE, PAGE, COPY, TINY, TWIN};
  forge_begin(f);
  forge_version(f, LH_LENGTHS_VERSION);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_table(f, AT_REGISTRY, 0, 0, 0);
  forge_table(f, AT_GLOBALS, 0, 0, 1);
  field(f, CACHE, AT_CACHE);
  forge_table(f, AT_CACHE, 0, 0, 7);
  for (unsigned i = 0; i < sizeof strings / sizeof *strings; i++)
    field(f, strings[i], at_text(strings[i]));
  field(f, SPARSE, AT_SPARSE);
  field(f, THIRD, AT_THIRD);
  list(f, AT_SPARSE, 2);
  list(f, AT_THIRD, 6);
  forge_record(f, LH_REC_THREAD | LH_FLAG_MAIN, AT_THREAD, 1624 + 16 * 45);
  forge_u8(f, LH_THREAD_RUNNING);
  forge_uvarint(f, 45);
  for (int i = 0; i < 2; i++) forge_uvarint(f, 0);
  page(f, PAGE, 3 * MB - 1);
  page(f, COPY, 3 * MB - 1);
  forge_text(f, LH_FLAG_EXTERNAL, at_text(TINY), "a few bytes");
  forge_text(f, LH_FLAG_EXTERNAL, at_text(TWIN), "a few bytes");
  forge_text(f, LH_FLAG_FIXED, at_text(TITLE), "the text of a library");
  for (unsigned i = 0; i < N_KEYS; i++) forge_string(f, at_key(i), keys[i]);
  forge_next_list(f);
  forge_mark(f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_root(f, LH_ROOT_REGISTRY, 0, AT_REGISTRY);
  forge_root(f, LH_ROOT_GLOBALS, 0, AT_GLOBALS);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, AT_THREAD);
}

static forge file;
static lh_snapshot *heap;

static int open_heap(void **state) {
  (void)state;
  put_heap(&file);
  forge_finish(&file);
  bool ok = lh_open_memory(&heap, file.data, file.size, "c", NULL) == LH_OK &&
            lh_verify(heap, NULL, NULL) == LH_OK && lh_analyse(heap, NULL) == LH_OK &&
            lh_classify(heap, NULL) == LH_OK;
  return ok ? 0 : -1;
}

static int close_heap(void **state) {
  (void)state;
  lh_close(heap);
  forge_free(&file);
  return 0;
}

/* Does the answer have the line? */
static void has(lh_snapshot *snapshot, const char *question, lh_request request, const char *line) {
  lh_report report;
  lh_error error = {.message = ""};
  if (lh_ask(&report, lh_find_question(question), snapshot, &request, &error) != LH_OK)
    fail_msg("%s: %s", question, error.message);
  char *text = lh_report_text(&report, "c");
  assert_non_null(text);
  if (!strstr(text, line)) fail_msg("%s has no '%s':\n%s", question, line, text);
  lh_report_free(&report);
  lh_free(text);
}

static lh_request about(uint64_t address) {
  return (lh_request){.id = lh_find_address(heap, address)};
}

static void the_ledger_tells_both(void **state) {
  (void)state;
  has(heap, "info", (lh_request){.id = LH_ROOT},
      "collectgarbage(\"count\")                      4.7 KB  all of it, to the byte; external "
      "strings 6.0 MB");
}

static void the_ledger_without_all(void **state) {
  forge other;
  lh_snapshot *s;
  (void)state;
  put_heap(&other);
  other.footer.gc_bytes = other.footer.object_bytes + other.footer.string_table_bytes + 100;
  forge_finish(&other);
  assert_int_equal(lh_open_memory(&s, other.data, other.size, "c", NULL), LH_OK);
  assert_int_equal(lh_snapshot_info(s)->unaccounted_bytes, 100);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  has(s, "info", (lh_request){.id = LH_ROOT}, "4.8 KB  external strings 6.0 MB");
  lh_close(s);
  forge_free(&other);
}

static void sizes_are_sums(void **state) {
  const uint64_t bytes = 2 * (48 + 3 * MB) + 2 * (48 + 12) + 32;
  lh_id cache = lh_find_address(heap, AT_CACHE);
  lh_reach reach;
  (void)state;
  lh_reach_totals(heap, &reach);
  uint64_t inside = bytes + 2 * (48 + 4 + 9 * 16) + (48 + 24 * 8 + 8);
  for (unsigned i = TITLE; i < N_KEYS; i++) inside += 25 + strlen(keys[i]);
  assert_int_equal(lh_retained_bytes(heap, cache), inside);
  assert_int_equal(lh_retained_bytes(heap, lh_find_address(heap, at_text(PAGE))), 48 + 3 * MB);
  uint64_t of_keys = 0;
  for (unsigned i = 0; i < N_KEYS; i++) of_keys += 25 + strlen(keys[i]);
  assert_int_equal(reach.bytes_of[LH_TYPE_STRING], bytes + of_keys);
}

static void one_string_says_where_its_text_is(void **state) {
  const char *outside =
      "its text, 3.0 MB, lies outside collectgarbage(\"count\"), and is freed with it";
  const char *nobody = "its text is memory that nobody frees, and counts 0 B";
  (void)state;
  has(heap, "object", about(at_text(PAGE)), outside);
  has(heap, "paths", about(at_text(PAGE)), outside);
  has(heap, "stack", about(at_text(PAGE)), outside);
  has(heap, "object", about(at_text(TITLE)), nobody);
  has(heap, "paths", about(at_text(TITLE)), nobody);
}

/* A copy of `sparse` takes 2 slots, one of `third` 8; short strings that are external repeat. */
static void waste_goes_by_the_sizes_of_5_5(void **state) {
  const lh_waste *waste;
  (void)state;
  assert_int_equal(lh_kept_waste(heap, &waste, NULL), LH_OK);
  assert_int_equal(waste->kinds[LH_WASTE_SLOTS].bytes, 9 * (16 - 2) + 9 * (16 - 8));
  assert_int_equal(waste->kinds[LH_WASTE_STRINGS].bytes, 48 + 3 * MB + 48 + 12);
  assert_int_equal(waste->kinds[LH_WASTE_STRINGS].originals, 2);
}

static void the_map_has_the_strings_alone(void **state) {
  (void)state;
  assert_int_equal(lh_mapped_bytes(heap, lh_find_address(heap, at_text(PAGE))), 48);
  assert_int_equal(lh_mapped_bytes(heap, lh_find_address(heap, AT_SPARSE)), 48);
  assert_int_equal(lh_mapped_bytes(heap, lh_find_address(heap, AT_THREAD)), 208);
  has(heap, "map", (lh_request){.id = LH_ROOT},
      "are arrays of tables, code and stacks, and external strings, blocks of which no");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_ledger_tells_both),
                                     cmocka_unit_test(the_ledger_without_all),
                                     cmocka_unit_test(sizes_are_sums),
                                     cmocka_unit_test(one_string_says_where_its_text_is),
                                     cmocka_unit_test(waste_goes_by_the_sizes_of_5_5),
                                     cmocka_unit_test(the_map_has_the_strings_alone)};
  return cmocka_run_group_tests(tests, open_heap, close_heap);
}
