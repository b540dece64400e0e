/*
** test_requests.c - which requests heapview takes: one that is right, and what may be wrong with
** it, one thing at a time; and what is asked in it.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask_request.h"
#include "corpus.h"
#include "heapview/requests.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST "Host", "127.0.0.1:8000"
#define WITH_TOKEN "X-Heapview-Token", TOKEN

static char target[4096];

typedef struct sent {
  const char *method, *target;
  const char *headers[12]; /* names and values */
} sent;

static view_taken take_at(const view_gate *gate, const sent *s) {
  view_request request = {.method = s->method, .target = target};
  view_taken taken;
  (void)snprintf(target, sizeof target, "%s", s->target);
  for (; s->headers[2 * request.n_headers] != NULL; request.n_headers++)
    request.headers[request.n_headers] =
        (view_header){s->headers[2 * request.n_headers], s->headers[2 * request.n_headers + 1]};
  view_take(gate, &request, &taken);
  return taken;
}

static view_taken take_sent(const sent *s) {
  return take_at(&(view_gate){.token = TOKEN, .port = 8000}, s);
}

/* ==== What is taken ================================================================== */

static void expect_taken(const sent *s, view_wish wish) {
  view_taken taken = take_sent(s);
  if (taken.wish == VIEW_REFUSED) fail_msg("%s %s: %s", s->method, s->target, taken.sentence);
  assert_int_equal(taken.wish, wish);
}

static void what_is_right_is_taken(void **state) {
  static const sent pages[] = {
      {"GET", "/", {HOST}},
      {"HEAD", "/", {HOST}},
      {"GET", "/", {"host", "LOCALHOST:8000"}},
      {"GET", "/", {"Host", "[::1]:8000"}},
      {"GET", "/", {HOST, "Sec-Fetch-Site", "none"}},
      {"GET", "/", {HOST, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}},
      {"GET", "/", {HOST, "Content-Length", "0"}}};
  static const sent questions[] = {
      {"GET", "/ask/info", {HOST, WITH_TOKEN}},
      {"GET", "/ask/info", {HOST, "x-heapview-token", TOKEN}},
      {"GET", "/ask/info", {HOST, WITH_TOKEN, "Sec-Fetch-Site", "same-origin"}},
      {"GET", "/ask/info", {HOST, WITH_TOKEN, "Origin", "http://127.0.0.1:8000"}},
      {"GET", "/ask/info", {HOST, WITH_TOKEN, "Origin", "http://localhost:8000"}}};
  (void)state;
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) expect_taken(&pages[i], VIEW_PAGE);
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
    expect_taken(&questions[i], VIEW_QUESTION);
  expect_taken(&(sent){"GET", "/progress", {HOST, WITH_TOKEN}}, VIEW_PROGRESS);
}

/* ==== What is refused ================================================================ */

static void expect_refused(const sent *s, unsigned status) {
  view_taken taken = take_sent(s);
  if (taken.wish != VIEW_REFUSED || taken.status != status)
    fail_msg("%s %s: %u", s->method, s->target, taken.status);
  assert_non_null(taken.sentence);
}

#define REFUSED(status, ...) expect_refused(&(sent){__VA_ARGS__}, status)

static void other_hosts_are_refused(void **state) {
  static const char *const hosts[] = {"evil.example",
                                      "evil.example:8000",
                                      "127.0.0.1",
                                      "127.0.0.1:8001",
                                      "127.0.0.1:80000",
                                      "localhost.evil.example:8000",
                                      "127.0.0.1.nip.io:8000",
                                      "10.0.0.1:8000",
                                      "",
                                      ":8000",
                                      "[::2]:8000",
                                      "::1:8000"};
  (void)state;
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    REFUSED(403, "GET", "/", {"Host", hosts[i]});
    REFUSED(403, "GET", "/ask/info", {"Host", hosts[i], WITH_TOKEN});
  }
  REFUSED(403, "GET", "/", {NULL});
  REFUSED(403, "GET", "/", {HOST, HOST});
}

static void other_pages_are_refused(void **state) {
  static const char *const origins[] = {
      "null", "http://evil.example", "https://127.0.0.1:8000", "http://127.0.0.1:9000", "file://",
      ""};
  static const char *const sites[] = {"cross-site", "same-site", "none", ""};
  (void)state;
  for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
    REFUSED(403, "GET", "/ask/info", {HOST, WITH_TOKEN, "Origin", origins[i]});
    REFUSED(403, "GET", "/", {HOST, "Origin", origins[i]});
  }
  for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
    REFUSED(403, "GET", "/ask/info", {HOST, WITH_TOKEN, "Sec-Fetch-Site", sites[i]});
  REFUSED(403, "GET", "/", {HOST, "Sec-Fetch-Site", "cross-site"});
  REFUSED(403, "GET", "/", {HOST, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"});
  REFUSED(403, "GET", "/ask/info",
          {HOST, WITH_TOKEN, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"});
}

static void what_has_no_token_is_refused(void **state) {
  char wrong[] = TOKEN;
  (void)state;
  REFUSED(403, "GET", "/ask/info", {HOST});
  REFUSED(403, "GET", "/progress", {HOST});
  REFUSED(403, "GET", "/no-such-page", {HOST});
  REFUSED(403, "GET", "/ask/info", {HOST, "X-Heapview-Token", ""});
  REFUSED(403, "GET", "/ask/info", {HOST, "X-Heapview-Token", TOKEN "0"});
  REFUSED(403, "GET", "/ask/info", {HOST, WITH_TOKEN, WITH_TOKEN});
  for (size_t i = 0; i < strlen(wrong); i++) {
    wrong[i] ^= 1;
    REFUSED(403, "GET", "/ask/info", {HOST, "X-Heapview-Token", wrong});
    wrong[i] ^= 1;
  }
}

static void other_methods_and_paths_are_refused(void **state) {
  static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", ""};
  static const char *const paths[] = {
      "/ask",       "/favicon.ico",           "//", "/?x=1", "/ask2/info",
      "/progress?", "http://127.0.0.1:8000/", "*",  ""};
  (void)state;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    REFUSED(405, methods[i], "/", {HOST});
    REFUSED(405, methods[i], "/ask/info", {HOST, WITH_TOKEN});
  }
  REFUSED(405, "HEAD", "/ask/info", {HOST, WITH_TOKEN});
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    REFUSED(404, "GET", paths[i], {HOST, WITH_TOKEN});
  REFUSED(413, "GET", "/", {HOST, "Content-Length", "1"});
  REFUSED(413, "GET", "/ask/info", {HOST, WITH_TOKEN, "Transfer-Encoding", "chunked"});
}

static void too_many_headers_are_refused(void **state) {
  view_request request = {
      .method = "GET", .target = target, .n_headers = VIEW_MOST_HEADERS, .has_more_headers = true};
  view_taken taken;
  (void)state;
  (void)snprintf(target, sizeof target, "/");
  for (size_t i = 0; i < VIEW_MOST_HEADERS; i++) request.headers[i] = (view_header){"A", "b"};
  request.headers[0] = (view_header){HOST};
  view_take(&(view_gate){.token = TOKEN, .port = 8000}, &request, &taken);
  assert_int_equal(taken.wish, VIEW_REFUSED);
  assert_int_equal(taken.status, 431);
}

/* ==== --listen ======================================================================= */

static bool is_taken(const view_gate *gate, const char *host) {
  return take_at(gate, &(sent){"GET", "/", {"Host", host}}).wish == VIEW_PAGE;
}

static void what_was_said_is_listened_to(void **state) {
  const view_gate named = {.token = TOKEN, .port = 8000, .host = "box.lan", .address = "10.0.0.7"};
  const view_gate named_six = {.token = TOKEN, .port = 8000, .host = "box", .address = "fe80::2"};
  const view_gate six = {.token = TOKEN, .port = 80, .host = "fe80::1"};
  const view_gate any = {.token = TOKEN, .port = 8000, .host = "0.0.0.0", .any_address = true};
  (void)state;
  assert_true(is_taken(&named, "BOX.lan:8000"));
  assert_true(is_taken(&named, "localhost:8000"));
  assert_false(is_taken(&named, "box.lan:8001"));
  assert_false(is_taken(&named, "box.lan.evil.example:8000"));
  assert_true(is_taken(&named, "10.0.0.7:8000"));
  assert_false(is_taken(&named, "10.0.0.1:8000"));
  assert_true(is_taken(&named_six, "[fe80::2]:8000"));
  assert_false(is_taken(&named_six, "[fe80::1]:8000"));
  assert_true(is_taken(&six, "[fe80::1]"));
  assert_true(is_taken(&six, "[fe80::1]:80"));
  assert_false(is_taken(&six, "fe80::1"));
  assert_true(is_taken(&any, "10.0.0.1:8000"));
  assert_true(is_taken(&any, "[fe80::1]:8000"));
  assert_false(is_taken(&any, "evil.example:8000"));
  assert_false(is_taken(&any, "10.0.0.1.evil.example:8000"));
}

/* ==== Questions ====================================================================== */

static view_taken ask_path(const char *what) {
  return take_sent(&(sent){"GET", what, {HOST, WITH_TOKEN}});
}

static void questions_are_cut_into_words(void **state) {
  view_taken taken = ask_path("/ask/tree-map?by=class&limit=200&of=%41+%26%3d%c3%a4%2B");
  const view_question *q = &taken.question;
  (void)state;
  assert_int_equal(taken.wish, VIEW_QUESTION);
  assert_string_equal(q->name, "tree-map");
  assert_int_equal(q->n, 3);
  assert_string_equal(view_parameter_of(q, "by"), "class");
  assert_string_equal(view_parameter_of(q, "limit"), "200");
  assert_string_equal(view_parameter_of(q, "of"), "A+&=\xc3\xa4+");
  assert_null(view_parameter_of(q, "from"));
  taken = ask_path("/ask/find?of=");
  assert_string_equal(view_parameter_of(&taken.question, "of"), "");
}

static void other_questions_are_refused(void **state) {
  static const char *const wrong[] = {"/ask/",
                                      "/ask/?a=1",
                                      "/ask/A",
                                      "/ask/a/b",
                                      "/ask/a%62",
                                      "/ask/x?",
                                      "/ask/x?a",
                                      "/ask/x?=1",
                                      "/ask/x?a=1&",
                                      "/ask/x?A=1",
                                      "/ask/x?b=1&a=1",
                                      "/ask/x?a=1&a=2",
                                      "/ask/x?a=%",
                                      "/ask/x?a=%4",
                                      "/ask/x?a=%g1",
                                      "/ask/x?a=%00",
                                      "/ask/x?a=%ff",
                                      "/ask/x?a=%c0%80",
                                      "/ask/x?a=%c3",
                                      "/ask/x?a=%80",
                                      "/ask/x?a&b=1",
                                      "/ask/x?a=%ed%a0%80",
                                      "/ask/x?a=%f4%90%80%80",
                                      "/ask/x?a=%f0%8f%bf%bf",
                                      "/ask/x?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1&m=1"};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    REFUSED(400, "GET", wrong[i], {HOST, WITH_TOKEN});
  assert_int_equal(ask_path("/ask/x?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1").question.n,
                   VIEW_MOST_PARAMETERS);
  assert_int_equal(ask_path("/ask/x?a=%f4%8f%bf%bf%ed%9f%bf%ee%80%80%e0%a0%80%c2%80").wish,
                   VIEW_QUESTION);
}

/* ==================================================================================== */

static void the_fuzzers_corpus_does_no_harm(void **state) {
  (void)state;
  corpus_replay("tests/fuzz/requests", "corpus of requests", 3, ask_request);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_right_is_taken),
                                     cmocka_unit_test(other_hosts_are_refused),
                                     cmocka_unit_test(other_pages_are_refused),
                                     cmocka_unit_test(what_has_no_token_is_refused),
                                     cmocka_unit_test(other_methods_and_paths_are_refused),
                                     cmocka_unit_test(too_many_headers_are_refused),
                                     cmocka_unit_test(what_was_said_is_listened_to),
                                     cmocka_unit_test(questions_are_cut_into_words),
                                     cmocka_unit_test(other_questions_are_refused),
                                     cmocka_unit_test(the_fuzzers_corpus_does_no_harm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
