/*
** test_sites.c - definitions of sites and stacks: what is put is what is read; what cannot be is
** told at its byte; memory is bounded by the bytes, and may run out.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sites.h"

enum { AFTER = 10 }; /* bytes that a cursor may look at behind its end */

typedef struct bytes {
  uint8_t data[512], *end;
} bytes;

static void put_name(bytes *b, const char *name) {
  b->end = lh_put_name_head(b->end, (uint32_t)strlen(name));
  memcpy(b->end, name, strlen(name));
  b->end += strlen(name);
}

/* string.rep at @app.lua:12 in f, from @app.lua:31 in the main chunk; and a host's own code. */
static void put_sample(bytes *b) {
  b->end = b->data;
  put_name(b, "@app.lua");
  put_name(b, "f");
  b->end = lh_put_function(b->end, 1, 10, 2);
  put_name(b, "string.rep");
  b->end = lh_put_site(b->end, 1, 12, LH_MADE_BY_C, 3);
  put_name(b, "");
  b->end = lh_put_function(b->end, 1, 0, 4);
  b->end = lh_put_site(b->end, 2, 3100, LH_MADE_TABLE, 0);
  b->end = lh_put_stack(b->end, 0, 2);
  b->end = lh_put_stack(b->end, 1, 1);
  b->end = lh_put_site(b->end, 0, 0, LH_MADE_BY_HOST, 0);
  b->end = lh_put_stack(b->end, 0, 3);
}

/* Reads all; false when memory ran out. */
static bool define_all(lh_sites *s, lh_cursor *c) {
  while (c->at < c->end && !c->fault)
    if (!lh_sites_define(s, c)) return false;
  return true;
}

static void is_read_as_put(void **state) {
  bytes b;
  put_sample(&b);
  lh_cursor c = {.at = b.data, .end = b.end};
  lh_sites *s = lh_sites_new();
  (void)state;
  assert_non_null(s);
  assert_true(define_all(s, &c));
  assert_null(c.fault);
  for (c.at = b.data; c.at < c.end && !c.fault;) lh_sites_skip(&c);
  assert_null(c.fault);
  assert_ptr_equal(c.at, b.end);
  assert_int_equal(lh_n_sites(s), 3);
  assert_int_equal(lh_n_stacks(s), 3);
  const lh_stack *stack = lh_stack_of(s, 2);
  assert_int_equal(stack->parent, 1);
  const lh_site *site = lh_site_of(s, stack->site), *caller = lh_site_of(s, 2);
  assert_string_equal(site->source, "@app.lua");
  assert_string_equal(site->function, "f");
  assert_string_equal(site->c_function, "string.rep");
  assert_int_equal(site->first_line, 10);
  assert_int_equal(site->line, 12);
  assert_int_equal(site->maker, LH_MADE_BY_C);
  assert_ptr_equal(caller->source, site->source);
  assert_string_equal(caller->function, "");
  assert_null(caller->c_function);
  assert_int_equal(caller->line, 3100);
  const lh_site *host = lh_site_of(s, lh_stack_of(s, 3)->site);
  assert_null(host->source);
  assert_null(host->function);
  assert_int_equal(host->maker, LH_MADE_BY_HOST);
  lh_sites_free(s);
  lh_sites_free(NULL);
}

/* After the sample one definition more, which is wrong at its byte `at`. */
static void expect_fault(const uint8_t *wrong, size_t n, size_t at, const char *fault) {
  bytes b;
  put_sample(&b);
  lh_cursor c = {.at = b.data, .end = b.end};
  lh_sites *s = lh_sites_new();
  assert_true(define_all(s, &c));
  uint8_t *exact = calloc(n + AFTER, 1);
  assert_non_null(exact);
  memcpy(exact, wrong, n);
  c.at = exact;
  c.end = exact + n;
  assert_true(lh_sites_define(s, &c));
  if (!c.fault) fail_msg("no fault, and not '%s'", fault);
  assert_string_equal(c.fault, fault);
  assert_int_equal(c.fault_at - exact, at);
  assert_int_equal(lh_n_sites(s), 3);
  assert_int_equal(lh_n_stacks(s), 3);
  lh_sites_free(s);
  free(exact);
}

#define EXPECT_FAULT(at, fault, ...) \
  expect_fault((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), at, fault)

static void what_cannot_be_is_told(void **state) {
  static const char nothing[] = "it defines nothing known", over[] = "it runs over the end";
  (void)state;
  EXPECT_FAULT(0, nothing, 0);
  EXPECT_FAULT(0, nothing, 5, 1, 1);
  EXPECT_FAULT(1, over, LH_DEFINE_NAME);
  EXPECT_FAULT(2, over, LH_DEFINE_NAME, 2, 'a');
  EXPECT_FAULT(1, "a name is too long", LH_DEFINE_NAME, 0x81, 0x20);
  EXPECT_FAULT(1, "a name is not defined", LH_DEFINE_FUNCTION, 5, 1, 1);
  EXPECT_FAULT(2, "a line number is too big", LH_DEFINE_FUNCTION, 1, 0x80, 0x80, 0x80, 0x80, 16, 0);
  EXPECT_FAULT(3, "a name is not defined", LH_DEFINE_FUNCTION, 1, 1, 5);
  EXPECT_FAULT(1, "a function is not defined", LH_DEFINE_SITE, 3, 1, LH_MADE_TABLE, 0);
  EXPECT_FAULT(3, "what allocates is unknown", LH_DEFINE_SITE, 1, 1, LH_MADE_OTHERWISE + 1, 0);
  EXPECT_FAULT(4, "a name is not defined", LH_DEFINE_SITE, 1, 1, LH_MADE_TABLE, 5);
  EXPECT_FAULT(1, "a stack's caller is not defined", LH_DEFINE_STACK, 4, 1);
  EXPECT_FAULT(2, "a site is not defined", LH_DEFINE_STACK, 3, 4);
  EXPECT_FAULT(2, "a stack has no site", LH_DEFINE_STACK, 3, 0);
  EXPECT_FAULT(2, over, LH_DEFINE_STACK, 0);
}

static void tables_have_an_end(void **state) {
  static const uint8_t again[3 + AFTER] = {LH_DEFINE_STACK, 0, 1};
  bytes b;
  put_sample(&b);
  lh_cursor c = {.at = b.data, .end = b.end};
  lh_sites *s = lh_sites_new();
  (void)state;
  assert_true(define_all(s, &c));
  while (!c.fault && lh_n_stacks(s) <= LH_MOST_DEFINITIONS) {
    c.at = again;
    c.end = again + 3;
    assert_true(lh_sites_define(s, &c));
  }
  assert_int_equal(lh_n_stacks(s), LH_MOST_DEFINITIONS);
  assert_string_equal(c.fault, "it defines too many names, functions, sites or stacks");
  assert_int_equal(lh_stack_of(s, LH_MOST_DEFINITIONS)->site, 1);
  lh_sites_free(s);
}

/* The shortest definitions, and the longest names, which leave the most of a piece unused. */
static void memory_is_bounded_by_the_bytes(void **state) {
  enum { N = 40000, SMALL = 32 << 10 };
  static const uint32_t lengths[] = {0, 1, LH_MOST_SITE_NAME_BYTES, 2731};
  (void)state;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    size_t n = lengths[i] > 1 ? 300 : N;
    uint8_t *data = calloc(n * (lengths[i] + 6) + AFTER, 1), *p = data;
    assert_non_null(data);
    for (size_t k = 0; k < n; k++) p = lh_put_name_head(p, lengths[i]) + lengths[i];
    (void)lh_test_peak_bytes();
    lh_sites *s = lh_sites_new();
    lh_cursor c = {.at = data, .end = p};
    assert_true(define_all(s, &c));
    assert_null(c.fault);
    assert_in_range(lh_test_peak_bytes(), 1, 64 * (uint64_t)(p - data) + SMALL);
    lh_sites_free(s);
    free(data);
  }
}

static void memory_runs_out_for_a_section(void **state) {
  bytes b;
  put_sample(&b);
  uint64_t n;
  bool done = false;
  (void)state;
  for (n = 1; !done && n < 100; n++) {
    lh_cursor c = {.at = b.data, .end = b.end};
    (void)lh_test_fail_allocation(n);
    lh_sites *s = lh_sites_new();
    done = s && define_all(s, &c) && c.at == c.end;
    lh_sites_free(s);
  }
  (void)lh_test_fail_allocation(0);
  assert_in_range(n, 7, 20); /* the table, its five arrays, a piece of names */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_read_as_put), cmocka_unit_test(what_cannot_be_is_told),
      cmocka_unit_test(tables_have_an_end), cmocka_unit_test(memory_is_bounded_by_the_bytes),
      cmocka_unit_test(memory_runs_out_for_a_section)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
