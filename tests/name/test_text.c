/*
** test_text.c - any bytes become valid UTF-8 on one line; growing text and the hash tables behind
** names, with memory that runs out at every allocation.
*/
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "name/map.h"
#include "name/text.h"
#include "read/decode.h"
#include "rooms/all.h"

static void expect_escaped(const char *bytes, size_t n, bool quoted, const char *expected) {
  lh_text text = {0};
  lh_text_escaped(&text, bytes, n, quoted);
  char *made = lh_text_finish(&text);
  assert_string_equal(made, expected);
  lh_free(made);
}

#define ESCAPED(bytes, expected) expect_escaped(bytes, sizeof bytes - 1, true, expected)

static void escapes_what_is_not_plain(void **state) {
  (void)state;
  ESCAPED("", "");
  ESCAPED("plain text", "plain text");
  ESCAPED("a\nb\tc\rd", "a\\nb\\tc\\rd");
  ESCAPED("\0\x1B[31m\x7F", "\\x00\\x1B[31m\\x7F");
  ESCAPED("say \"no\" \\ yes", "say \\\"no\\\" \\\\ yes");
  expect_escaped("say \"no\" \\", 10, false, "say \"no\" \\");
  ESCAPED("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80",
          "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
}

static void escapes_what_is_no_utf8(void **state) {
  (void)state;
  ESCAPED("\xFF\xFE", "\\xFF\\xFE");
  ESCAPED("\xC3", "\\xC3");                            /* cut */
  ESCAPED("\xC0\xAF", "\\xC0\\xAF");                   /* overlong */
  ESCAPED("\xE0\x80\xAF", "\\xE0\\x80\\xAF");          /* overlong */
  ESCAPED("\xED\xA0\x80", "\\xED\\xA0\\x80");          /* a surrogate */
  ESCAPED("\xF4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"); /* above U+10FFFF */
  ESCAPED("a\x80z", "a\\x80z");
}

static void escapes_what_would_lie_about_the_text(void **state) {
  (void)state;
  ESCAPED(
      "a\xE2\x80\xAE"
      "b",
      "a\\u{202E}b"); /* right to left */
  ESCAPED(
      "a\xE2\x80\xA8"
      "b",
      "a\\u{2028}b"); /* a line's end */
  ESCAPED(
      "a\xC2\x9B"
      "b",
      "a\\u{9B}b"); /* a control sequence's start */
  ESCAPED("\xEF\xBB\xBF", "\\u{FEFF}");
  ESCAPED(u8"us\u200Ber\u00A0\u3000\u00AD", "us\\u{200B}er\\u{A0}\\u{3000}\\u{AD}"); /* unseen */
  ESCAPED("\xEF\xBF\xBE\xF4\x8F\xBF\xBF", "\\u{FFFE}\\u{10FFFF}"); /* no characters */
}

/* The ends of each range, and their neighbours. */
static void escapes_whole_ranges(void **state) {
  static const struct {
    const char *bytes;
    bool escaped;
  } cases[] = {{u8"\u061B", false},     {u8"\u061C", true},     {u8"\u061D", false},
               {u8"\u1FFF", false},     {u8"\u2000", true},     {u8"\u200F", true},
               {u8"\u2010", false},     {u8"\u2027", false},    {u8"\u2028", true},
               {u8"\u202F", true},      {u8"\u2030", false},    {u8"\u205F", true},
               {u8"\u206F", true},      {u8"\u2070", false},    {u8"\uFDFF", false},
               {u8"\uFE0F", true},      {u8"\uFE10", false},    {u8"\uFFFB", true},
               {u8"\uFFFC", false},     {u8"\uFFFD", false},    {u8"\uFFFF", true},
               {u8"\U0001F98A", false}, {u8"\U000E0FFF", true}, {u8"\U000E1000", false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *made = lh_escaped(cases[i].bytes, strlen(cases[i].bytes));
    assert_int_equal(strcmp(made, cases[i].bytes) != 0, cases[i].escaped);
    assert_int_equal(strncmp(made, "\\u{", 3) == 0, cases[i].escaped);
    lh_free(made);
  }
}

static void is_cut_between_characters(void **state) {
  static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  (void)state;
  for (size_t n = 0; n < sizeof expected / sizeof *expected; n++)
    assert_int_equal(lh_text_cut(text, n), expected[n]);
  assert_int_equal(lh_text_cut("\x80\x80\x80\x80\x80", 5), 5);
}

/* The name loses its middle, not the reason its place. */
static void long_messages_keep_both_ends(void **state) {
  char name[4001];
  lh_error error;
  (void)state;
  for (size_t i = 0; i + 1 < sizeof name; i += 2) memcpy(name + i, "\xC3\xA9", 3);
  for (size_t n = 400; n < 600; n++) {
    (void)lh_fail_errno(&error, ENOENT, "cannot open '%s'", name + sizeof name - 1 - 2 * (n / 2));
    assert_non_null(strstr(error.message, "': No such file or directory"));
    assert_non_null(strstr(error.message, "cannot open '\xC3\xA9"));
    char *made = lh_escaped(error.message, strlen(error.message));
    assert_string_equal(made, error.message); /* no character is cut in two */
    lh_free(made);
  }
  assert_int_equal(strlen(error.message) > sizeof error.message - 8, true);
  lh_test_fail_allocation(1);
  assert_int_equal(lh_fail(&error, LH_ENOTFOUND, "no '%s' there", name), LH_ENOTFOUND);
  lh_test_fail_allocation(0);
  assert_int_equal(strncmp(error.message, "no '\xC3\xA9", 6), 0);
}

static void knows_identifiers(void **state) {
  (void)state;
  assert_true(lh_is_identifier("_x9", 3));
  assert_true(lh_is_identifier("ends", 4));
  assert_false(lh_is_identifier("end", 3));
  assert_false(lh_is_identifier("", 0));
  assert_false(lh_is_identifier("9x", 2));
  assert_false(lh_is_identifier("a-b", 3));
  assert_false(lh_is_identifier("\xC3\xBC", 2));
}

static void expect_float(double number, const char *expected) {
  lh_text text = {0};
  lh_text_float(&text, number);
  char *made = lh_text_finish(&text);
  assert_string_equal(made, expected);
  lh_free(made);
}

static void writes_floats_that_read_back(void **state) {
  (void)state;
  expect_float(1.5, "1.5");
  expect_float(2.0, "2.0");
  expect_float(-0.0, "-0.0");
  expect_float(1e100, "1e+100");
  expect_float(0.1, "0.1");
  expect_float(0.1 + 0.2, "0.30000000000000004");
  expect_float(1.0 / 0.0, "1/0");
  expect_float(-1.0 / 0.0, "-1/0");
}

static void writes_counts_with_commas(void **state) {
  static const struct {
    uint64_t count;
    const char *text;
  } cases[] = {
      {0, "0"}, {999, "999"}, {1000, "1,000"}, {999990, "999,990"}, {1234567, "1,234,567"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lh_text text = {0};
    lh_text_count(&text, cases[i].count);
    char *made = lh_text_finish(&text);
    assert_string_equal(made, cases[i].text);
    lh_free(made);
  }
}

static void writes_what_changed(void **state) {
  (void)state;
  assert_string_equal(lh_count_change(5, 2).text, "-3");
  assert_string_equal(lh_size_change(0, 1536, false).text, "+1.5 KB");
  assert_string_equal(lh_size_change(7, 7, false).text, "0 B");
  assert_string_equal(lh_size_change(0, 1536, true).text, "+1,536 B");
  assert_string_equal(lh_share_text(1, 8).text, "12.5%");
  assert_string_equal(lh_share_text(1, 0).text, "0.0%");
}

/* The failure is latched: no call in between needs a check, and the end tells. */
static void text_survives_without_memory(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 3; n++) {
    lh_text text = {0};
    lh_test_fail_allocation(n);
    for (int i = 0; i < 100; i++) lh_text_format(&text, "%d, ", i);
    lh_text_escaped(&text, "\n", 1, true);
    assert_null(lh_text_finish(&text));
    lh_test_fail_allocation(0);
    assert_null(text.bytes);
  }
}

static void maps_keep_what_they_are_given(void **state) {
  enum { N = 10000 };
  lh_map map = {0};
  (void)state;
  for (uint32_t i = 0; i < N; i++) *lh_map_at(&map, (uint64_t)i << 33 | 7) = i;
  for (uint32_t i = 0; i < N; i++) assert_int_equal(lh_map_get(&map, (uint64_t)i << 33 | 7), i);
  assert_int_equal(lh_map_get(&map, 8), LH_NO_NUMBER);
  assert_int_equal(*lh_map_at(&map, 9), LH_NO_NUMBER);
  lh_map_free(&map);
}

static void any_key_is_legal(void **state) {
  static const uint64_t words[][2] = {{0, 0}, {0, UINT64_MAX}, {UINT64_MAX, 0}, {1, 0}, {0, 1}};
  lh_map map = {0}, pairs = {0};
  (void)state;
  assert_int_equal(lh_map_get(&map, UINT64_MAX), LH_NO_NUMBER);
  assert_int_equal(lh_map_get_words(&pairs, words[0], 2), LH_NO_NUMBER);
  *lh_map_at(&map, 0) = 1;
  assert_int_equal(lh_map_get(&map, UINT64_MAX), LH_NO_NUMBER);
  assert_int_equal(*lh_map_at(&map, UINT64_MAX), LH_NO_NUMBER);
  *lh_map_at(&map, UINT64_MAX) = 2;
  assert_int_equal(lh_map_get(&map, UINT64_MAX), 2);
  assert_int_equal(lh_map_get(&map, 0), 1);
  for (uint32_t i = 0; i < 5; i++) *lh_map_at_words(&pairs, words[i], 2) = i;
  for (uint32_t i = 0; i < 5; i++) assert_int_equal(lh_map_get_words(&pairs, words[i], 2), i);
  lh_map_free(&map);
  lh_map_free(&pairs);
}

static uint64_t inverse(uint64_t odd) {
  uint64_t x = odd;
  for (int i = 0; i < 6; i++) x *= 2 - odd * x; /* each time twice as many bits are right */
  return x;
}

/* Keys that a hash without a seed, of multiplications and shifts, puts into one slot: 200,000 would
** take 20 seconds there. */
static void chosen_keys_do_not_meet(void **state) {
  enum { N = 200000 };
  const uint64_t back = inverse(UINT64_C(0x9E3779B97F4A7C15));
  lh_map map = {0};
  (void)state;
  clock_t start = clock();
  for (uint64_t i = 1; i <= N; i++) {
    uint64_t mixed = (i << 40) * back;
    mixed ^= mixed >> 29 ^ mixed >> 58;
    *lh_map_at(&map, mixed * back) = (uint32_t)i;
  }
  assert_int_equal(map.n, N);
  assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
  lh_map_free(&map);
}

static void strings_are_kept_once(void **state) {
  lh_strings strings = {0};
  (void)state;
  assert_int_equal(lh_strings_add(&strings, "a", 1), 0);
  assert_int_equal(lh_strings_add(&strings, "", 0), 1);
  assert_int_equal(lh_strings_add(&strings, "ab", 2), 2);
  assert_int_equal(lh_strings_add(&strings, "a", 1), 0);
  assert_int_equal(lh_strings_add(&strings, "ab", 2), 2);
  assert_string_equal(strings.texts[2], "ab");
  assert_int_equal(lh_strings_add(&strings, "a\0b", 3), 3);
  assert_int_equal(lh_strings_add(&strings, "a\0b", 3), 3);
  lh_strings_free(&strings);
  for (uint64_t n = 1; n <= 5; n++) {
    lh_test_fail_allocation(n);
    assert_int_equal(lh_strings_add(&strings, "a", 1), LH_NO_NUMBER);
    lh_test_fail_allocation(0);
    lh_strings_free(&strings);
  }
}

/* What is at an address is not read again: so it may even have changed. */
static void shared_names_are_looked_at_once(void **state) {
  lh_shared_names names = {0};
  char first[] = "a", second[] = "a", third[] = "b";
  (void)state;
  assert_int_equal(lh_shared_name(&names, NULL), 0);
  assert_int_equal(lh_shared_name(&names, first), 1);
  assert_int_equal(lh_shared_name(&names, second), 1);
  assert_int_equal(lh_shared_name(&names, third), 2);
  first[0] = third[0] = 'c';
  assert_int_equal(lh_shared_name(&names, first), 1);
  assert_int_equal(lh_shared_name(&names, third), 2);
  lh_shared_names_free(&names);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(escapes_what_is_not_plain),
      cmocka_unit_test(escapes_what_is_no_utf8),
      cmocka_unit_test(escapes_what_would_lie_about_the_text),
      cmocka_unit_test(escapes_whole_ranges),
      cmocka_unit_test(is_cut_between_characters),
      cmocka_unit_test(long_messages_keep_both_ends),
      cmocka_unit_test(knows_identifiers),
      cmocka_unit_test(writes_floats_that_read_back),
      cmocka_unit_test(writes_counts_with_commas),
      cmocka_unit_test(writes_what_changed),
      cmocka_unit_test(text_survives_without_memory),
      cmocka_unit_test(maps_keep_what_they_are_given),
      cmocka_unit_test(any_key_is_legal),
      cmocka_unit_test(chosen_keys_do_not_meet),
      cmocka_unit_test(strings_are_kept_once),
      cmocka_unit_test(shared_names_are_looked_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
