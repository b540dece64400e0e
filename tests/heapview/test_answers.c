/*
** test_answers.c - whatever is asked, in whatever way: what comes back is a whole document of JSON,
** an answer or one sentence, and the process goes on. So with parameters that make no sense, with
** numbers at the ends of what there is, and where memory runs out in the middle.
*/
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base.h"
#include "heapview/heapview.h"
#include "sample.h"

enum { FILES = 2 };

static const cli_tool tool = {.name = "test_answers"};
static cli command = {.tool = &tool};
static forge files[FILES];
static lh_snapshot *snapshots[FILES];
static const char *const names[FILES] = {"a", "b"};
static view opened = {.c = &command, .snapshots = snapshots, .files = names, .n = FILES};

/* The same heap in two snapshots, an hour apart. */
static int open_all(void **state) {
  (void)state;
  for (int i = 0; i < FILES; i++) {
    lh_error error;
    sample_heap(&files[i]);
    files[i].footer.time_ns += (uint64_t)i * 3600000000000;
    forge_finish(&files[i]);
    if (lh_open_memory(&snapshots[i], files[i].data, files[i].size, names[i], &error) != LH_OK)
      return -1;
  }
  return 0;
}

static int close_all(void **state) {
  (void)state;
  view_end(&opened);
  for (int i = 0; i < FILES; i++) {
    lh_close(snapshots[i]);
    forge_free(&files[i]);
  }
  return 0;
}

/* Those of the library, and the view's own. */
static const char *question_name(size_t i) {
  static const char *const others[] = {"overview", "picture", "", "no such question"};
  size_t n = 0;
  while (lh_questions[n] != NULL) n++;
  if (i < n) return lh_questions[i]->name;
  return i - n < sizeof others / sizeof *others ? others[i - n] : NULL;
}

/* One whole document, with an answer if the code says so. */
static bool is_whole(const char *text, size_t n, int code) {
  json_t *json = json_loadb(text, n, 0, NULL);
  const json_t *answer = json_object_get(json, "answer"), *error = json_object_get(json, "error");
  bool whole = code == LH_OK ? json_is_object(answer) && error == NULL
                             : json_is_string(error) && answer == NULL;
  json_decref(json);
  return whole;
}

static int ask_view(const view_question *question, bool *whole) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) abort();
  int code = view_answer(&opened, question, out);
  (void)fclose(out);
  *whole = is_whole(text, size, code);
  free(text);
  return code;
}

/* The two of the sample have no mark in common, so there is no diff. */
static void test_ahead(void **state) {
  size_t i = 0;
  bool whole;
  char *text;
  (void)state;
  for (; (text = view_prefetch_key(&opened, i)) != NULL; i++) {
    view_question question;
    char *asked = strdup(text);
    assert_non_null(asked);
    view_take_key(asked, &question);
    char *key = view_key(&question);
    assert_string_equal(key, text);
    int code = ask_view(&question, &whole);
    if (strcmp(question.name, "diff") != 0) assert_int_equal(code, LH_OK);
    assert_true(whole);
    free(key);
    free(asked);
    free(text);
  }
  assert_true(i > 8);
  assert_null(view_prefetch_key(&opened, i + 1));
}

/* ==== Parameters ===================================================================== */

static const char *const keys[] = {"against", "at",     "bins",  "by",        "class",      "depth",
                                   "factor",  "filter", "from",  "garbage",   "in",         "limit",
                                   "of",      "pixels", "since", "sort",      "stack",      "to",
                                   "type",    "until",  "tab",   "__proto__", "whole_lists"};

static const char *const values[] = {"",
                                     "0",
                                     "1",
                                     "2",
                                     "20",
                                     "-1",
                                     "18446744073709551615",
                                     "9223372036854775807",
                                     "4294967295",
                                     "4294967296",
                                     "0x2000",
                                     "0x7000",
                                     "0x5100",
                                     "0x9000",
                                     "0xffffffffffffffff",
                                     "0x0",
                                     "root",
                                     "object",
                                     "class",
                                     "place",
                                     "module",
                                     "table",
                                     "string",
                                     "retained",
                                     "-retained_bytes",
                                     "label",
                                     "_G",
                                     "_G.*",
                                     "_G[",
                                     "string",
                                     "name",
                                     "*",
                                     "0123456789",
                                     "\xE2\x82\xAC",
                                     "</script>",
                                     "\"\\",
                                     "a\nb",
                                     "%s%n",
                                     "type",
                                     "size",
                                     "upvalue bus of function *",
                                     "{a, b}"};

#define ANY(list) ((list)[(size_t)random() % (sizeof(list) / sizeof *(list))])

static void test_any_parameters(void **state) {
  enum { ROUNDS = 5000 };
  size_t n_answers = 0, n_questions = 0;
  (void)state;
  srandom(1);
  while (question_name(n_questions) != NULL) n_questions++;
  for (int i = 0; i < ROUNDS; i++) {
    view_question question = {.name = question_name((size_t)random() % n_questions)};
    for (size_t n = (size_t)random() % 5; question.n < n;)
      question.parameters[question.n++] = (view_parameter){ANY(keys), ANY(values)};
    bool whole;
    n_answers += ask_view(&question, &whole) == LH_OK;
    if (!whole) {
      char *key = view_key(&question);
      print_message("%s\n", key);
      free(key);
    }
    assert_true(whole);
  }
  assert_true(n_answers > ROUNDS / 50); /* it is not all refused */
}

static void test_key(void **state) {
  const view_question question = {
      .name = "object", .parameters = {{"class", "a b&c=\xC3\xA9"}, {"in", "0"}}, .n = 2};
  char *key = view_key(&question);
  (void)state;
  assert_string_equal("object?class=a%20b%26c%3D%C3%A9&in=0", key);
  free(key);
}

/* ==================================================================================== */

#ifdef LH_TEST_ALLOC
/* ==== Memory ========================================================================= */

/* Of what one keeps that ends so, nothing is to be looked for at its end, which takes long. */
static void leave(int status, void *unused) {
  (void)unused;
  _exit(status);
}

/* In a process of its own, since that may end where there is no memory for a line of text: it then
** says so, as commands do. */
static void fail_allocation(const view_question *question, uint64_t n) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    bool whole;
    if (freopen("/dev/null", "w", stderr) == NULL || on_exit(leave, NULL) != 0) _exit(3);
    (void)lh_test_fail_allocation(n);
    (void)ask_view(question, &whole);
    (void)lh_test_fail_allocation(0);
    _exit(whole ? 0 : 4);
  }
  int status;
  assert_int_equal(child, waitpid(child, &status, 0));
  if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != CLI_FAILURE))
    fail_msg("%s: allocation %llu: status %d", question->name, (unsigned long long)n, status);
}

static void test_no_memory(void **state) {
  enum { MOST_FAILURES = 12 }; /* of each question */
  const char *name;
  (void)state;
  for (size_t i = 0; (name = question_name(i)) != NULL; i++) {
    view_question question = {
        .name = name,
        .parameters = {{"at", "0x2000"}, {"class", "string"}, {"of", "0x2000"}},
        .n = 3};
    bool whole;
    (void)ask_view(&question, &whole); /* what is kept is there from now on */
    (void)lh_test_fail_allocation(0);
    (void)ask_view(&question, &whole);
    uint64_t n = lh_test_fail_allocation(0), step = 1 + n / MOST_FAILURES;
    for (uint64_t k = 1; k <= n; k += step) fail_allocation(&question, k);
  }
}

/* ==================================================================================== */
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_key),
      cmocka_unit_test(test_ahead),
      cmocka_unit_test(test_any_parameters),
#ifdef LH_TEST_ALLOC
      cmocka_unit_test(test_no_memory),
#endif
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
