/*
** test_definitions.c - what is equal has one number, however it is met; the index behind it, where
** many have one hash and some are taken out again; and the end of all numbers.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "track/definitions.h"

/* Against an array that knows who is in: few hashes, so that rows are long and wrap around. */
static void index_finds_what_is_in_it(void **state) {
  enum { NUMBERS = 500, HASHES = 40, STEPS = 50000 };
  lh_index index = {0};
  bool is_in[NUMBERS + 1] = {false};
  uint32_t seed = 1;
  (void)state;
  for (int step = 0; step < STEPS; step++) {
    seed = seed * 1664525u + 1013904223u;
    uint32_t number = (seed >> 8) % NUMBERS + 1, hash = 0u - number % HASHES;
    uint32_t at = hash, found;
    while ((found = lh_index_next(&index, hash, &at)) != 0 && found != number) {}
    assert_int_equal(found == number, is_in[number]);
    if (is_in[number])
      lh_index_remove(&index, hash, number);
    else
      assert_true(lh_index_add(&index, hash, number));
    is_in[number] = !is_in[number];
  }
  uint32_t n = 0;
  for (int i = 1; i <= NUMBERS; i++) n += is_in[i];
  assert_int_equal(index.n, n);
  lh_index_free(&index);
}

static void equal_ones_have_one_number(void **state) {
  lh_definitions d = {0};
  (void)state;
  uint32_t a = lh_define_name(&d, "a", 1), b = lh_define_name(&d, "b", 1);
  uint32_t empty = lh_define_name(&d, "", 0);
  assert_true(a && b && empty && a != b && a != empty && b != empty);
  assert_int_equal(lh_define_name(&d, "ab", 1), a);
  lh_function_definition f = {a, 10, b}, g = {a, 10, 0};
  uint32_t id_f = lh_define_function(&d, f), id_g = lh_define_function(&d, g);
  assert_int_not_equal(id_f, id_g);
  assert_int_equal(lh_define_function(&d, f), id_f);
  lh_site_definition s = {.function = id_f, .line = 12, .maker = LH_MADE_TABLE}, t = s;
  t.maker = LH_MADE_CLOSURE;
  lh_site_id site = lh_define_site(&d, s), other = lh_define_site(&d, t);
  assert_int_not_equal(site, other);
  assert_int_equal(lh_define_site(&d, s), site);
  lh_stack_id stack = lh_define_stack(&d, 0, site), above = lh_define_stack(&d, stack, other);
  assert_int_equal(lh_define_stack(&d, stack, other), above);
  assert_int_equal(lh_define_stack(&d, above, site), stack); /* folds back, and again */
  assert_int_equal(lh_define_stack(&d, above, site), stack);
  assert_int_equal(lh_define_stack(&d, above, other), above);
  assert_int_equal(d.n_stacks, 2);
  assert_int_equal(lh_definition_of_stack(&d, above), id_f);
  assert_int_equal(lh_definition_of_stack(&d, 0), 0);
  assert_int_equal(lh_definition_of_stack(&d, 3), 0);
  lh_definitions_free(&d);
}

/* Long names are cut, and there is an end of them; what has a number keeps it. */
static void names_end(void **state) {
  enum { LONG = LH_MOST_SITE_NAME_BYTES + 100 };
  static char name[LONG];
  lh_definitions d = {0};
  (void)state;
  memset(name, 'x', sizeof name);
  uint32_t first = lh_define_name(&d, name, LONG), n = 1;
  assert_int_equal(lh_define_name(&d, name, LONG - 50), first);
  assert_int_not_equal(lh_define_name(&d, name, LH_MOST_SITE_NAME_BYTES - 1), first);
  for (;; n++) {
    (void)snprintf(name, sizeof name, "%u", (unsigned)n);
    if (!lh_define_name(&d, name, LONG)) break;
    assert_true(n <= LH_MOST_NAME_BYTES / LH_MOST_SITE_NAME_BYTES);
  }
  assert_true(n >= LH_MOST_NAME_BYTES / LH_MOST_SITE_NAME_BYTES - 2);
  memset(name, 'x', sizeof name);
  assert_int_equal(lh_define_name(&d, name, LONG), first);
  lh_definitions_free(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(index_finds_what_is_in_it),
      cmocka_unit_test(equal_ones_have_one_number),
      cmocka_unit_test(names_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
