/*
** test_answer_cache.c - which answers are kept: those that were asked for last, to a number and to
** a sum of bytes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heapview/answer_cache.h"

static answer_cache kept;

static int forget(void **state) {
  (void)state;
  answer_cache_clear(&kept);
  assert_int_equal(kept.n, 0);
  assert_int_equal(kept.bytes, 0);
  return 0;
}

static const char *key_of(unsigned i) {
  static char key[32];
  snprintf(key, sizeof key, "object?at=%u", i);
  return key;
}

static void keep(unsigned i, size_t n) {
  char *text = calloc(n + 1, 1);
  assert_non_null(text);
  memset(text, 'a' + (int)(i % 26), n);
  answer_cache_keep(&kept, key_of(i), text, n);
  free(text);
}

static void an_answer_is_found_by_its_whole_key(void **state) {
  (void)state;
  keep(1, 5);
  keep(12, 0);
  const cached_answer *found = answer_cache_find(&kept, "object?at=1");
  assert_non_null(found);
  assert_int_equal(found->n, 5);
  assert_memory_equal(found->text, "bbbbb", 5);
  assert_int_equal(answer_cache_find(&kept, "object?at=12")->n, 0);
  assert_null(answer_cache_find(&kept, "object?at="));
  assert_null(answer_cache_find(&kept, "object?at=2"));
}

static void what_was_not_asked_for_longest_goes_first(void **state) {
  (void)state;
  for (unsigned i = 0; i < CACHED_MOST; i++) keep(i, 1);
  assert_non_null(answer_cache_find(&kept, key_of(0)));
  keep(CACHED_MOST, 1);
  assert_int_equal(kept.n, CACHED_MOST);
  assert_non_null(answer_cache_find(&kept, key_of(0)));
  assert_null(answer_cache_find(&kept, key_of(1)));
  assert_non_null(answer_cache_find(&kept, key_of(2)));
}

static void bytes_are_bounded(void **state) {
  (void)state;
  for (unsigned i = 0; i < 100; i++) {
    keep(i, CACHED_BYTES / 5);
    assert_true(kept.bytes <= CACHED_BYTES);
    assert_non_null(answer_cache_find(&kept, key_of(i)));
  }
  assert_int_equal(kept.n, 4);
}

static void one_that_would_drive_out_the_others_is_not_kept(void **state) {
  (void)state;
  keep(1, 10);
  keep(2, CACHED_BYTES / 2);
  assert_non_null(answer_cache_find(&kept, key_of(1)));
  assert_null(answer_cache_find(&kept, key_of(2)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(an_answer_is_found_by_its_whole_key, forget),
      cmocka_unit_test_teardown(what_was_not_asked_for_longest_goes_first, forget),
      cmocka_unit_test_teardown(bytes_are_bounded, forget),
      cmocka_unit_test_teardown(one_that_would_drive_out_the_others_is_not_kept, forget)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
