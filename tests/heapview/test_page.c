/*
** test_page.c - the page as it is handed out: what its policy allows, and that nothing which a
** report carries leaves its place.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heapview/heapview.h"

static size_t count_texts(const char *text, size_t n, const char *what) {
  size_t found = 0, length = strlen(what);
  for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), what, length)) != NULL;) {
    found++;
    at += length;
  }
  return found;
}

static size_t count_in(const char *text, const char *what) {
  return count_texts(text, strlen(text), what);
}

static char *report(const char *carried, size_t *n) {
  char *text;
  FILE *out = open_memstream(&text, n);
  assert_non_null(out);
  size_t n_behind = view_page_begin(out);
  view_page_json(out, carried);
  size_t until = (size_t)ftello(out);
  view_page_end(out);
  assert_int_equal((size_t)ftello(out), until + n_behind);
  assert_int_equal(fclose(out), 0);
  return text;
}

/* Each script and each style has a hash; nothing is loaded, and nothing stands in attributes. */
static void policy_allows_what_is_there(void **state) {
  (void)state;
  size_t n;
  const char *page = view_page(&n), *policy = view_policy();
  const char *scripts = strstr(policy, "script-src");
  assert_non_null(scripts);
  assert_int_equal(strncmp(policy, "default-src 'none';", 19), 0);
  assert_true(count_texts(page, n, "<script>") > 5);
  assert_int_equal(count_texts(page, n, "<script>"), count_in(scripts, "'sha256-"));
  assert_int_equal(count_in(policy, "connect-src 'self'"), 1);
  assert_int_equal(count_in(policy, "'sha256-"),
                   count_texts(page, n, "<script>") + count_texts(page, n, "<style>"));
  assert_int_equal(count_in(policy, "unsafe"), 0);
  assert_int_equal(count_in(policy, "http"), 0);
  assert_int_equal(count_texts(page, n, "<script src"), 0);
  assert_int_equal(count_texts(page, n, "<link rel=\"stylesheet\""), 0);
  const char *body = memmem(page, n, "<body>", 6), *first = memmem(page, n, "<script>", 8);
  assert_non_null(body);
  assert_true(body < first);
  assert_int_equal(count_texts(body, (size_t)(first - body), " style="), 0);
  assert_int_equal(count_texts(body, (size_t)(first - body), " on"), 0);
}

static void licence_goes_along(void **state) {
  (void)state;
  size_t n;
  const char *page = view_page(&n);
  assert_int_equal(count_texts(page, n, "Copyright 2010-2022 Mike Bostock"), 1);
  assert_int_equal(count_texts(page, n, "Redistributions in binary form must reproduce"), 1);
}

/* Without what it carries and the policy, a report is the page. */
static void report_is_the_page(void **state) {
  (void)state;
  size_t n, n_report;
  const char *page = view_page(&n);
  char *text = report("", &n_report);
  char *policy = memmem(text, n_report, "<meta http-equiv", 16);
  assert_non_null(policy);
  char *behind = (char *)memchr(policy, '\n', 10000) + 1;
  assert_int_equal((size_t)(behind - policy) + n, n_report);
  assert_memory_equal(text, page, (size_t)(policy - text));
  assert_memory_equal(behind, page + (policy - text), n - (size_t)(policy - text));
  const char *served = view_policy(), *only_served = strstr(served, "; connect-src");
  assert_non_null(only_served);
  size_t n_policy = (size_t)(behind - policy);
  assert_non_null(memmem(policy, n_policy, served, (size_t)(only_served - served)));
  assert_int_equal(count_texts(policy, n_policy, "connect-src"), 0);
  assert_true(count_texts(text, (size_t)(policy - text), "<script") == 0);
  free(text);
}

static void carried_stays_in_its_place(void **state) {
  (void)state;
  size_t n;
  char *text = report("{\"a\": \"</script><script>alert(1)</script><!-- <\"}<", &n);
  static const char opening[] = "<script type=\"application/json\" id=\"carried\">";
  char *at = memmem(text, n, opening, sizeof opening - 1);
  assert_non_null(at);
  at += sizeof opening - 1;
  char *end = memchr(at, '<', n - (size_t)(at - text));
  *end = '\0';
  assert_string_equal(at,
                      "{\"a\": \"\\u003C/script>\\u003Cscript>alert(1)\\u003C/script>"
                      "\\u003C!-- \\u003C\"}\\u003C");
  assert_memory_equal(end + 1, "/script>", 8);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(policy_allows_what_is_there), cmocka_unit_test(licence_goes_along),
      cmocka_unit_test(report_is_the_page), cmocka_unit_test(carried_stays_in_its_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
