/*
** test_answer_json.c - questions that are asked with arguments as text and answered as JSON, as
** bindings ask them. jansson reads the answers.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base.h"
#include "steps.h"

static const char grows[] =
    "local Session = {__name = 'Session'}\n"
    "sessions, far = sessions or {}, far or {}\n"
    "for i = 1, 300 do\n"
    "  sessions[#sessions + 1] = setmetatable({'<\\240\\159\\144\\177>' .. #sessions}, Session)\n"
    "  far[3 * #sessions] = {}\n"
    "end\n"
    "far[math.huge], far[-math.huge] = {}, {}\n";

static program p;
static size_t n_cases;

static int begin_group(void **state) {
  (void)state;
  p = program_begin();
  for (int i = 0; i < 3; i++) (void)program_step(&p, grows);
  return 0;
}

static int end_group(void **state) {
  (void)state;
  program_end(&p);
  return 0;
}

/* The answer as jansson's value; NULL: refused, with the message in `error`. */
static json_t *ask_json(size_t n, const char *question, const char *const *arguments,
                        lh_error *error) {
  char *text;
  int code = lh_answer_json(p.snapshots, n, question, arguments, &text, error);
  assert_true((code == LH_OK) == (text != NULL));
  if (code != LH_OK) return NULL;
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(json);
  lh_free(text);
  return json;
}

static void answers_are_json(void **state) {
  (void)state;
  lh_error error;
  json_t *json =
      ask_json(3, "classes", (const char *[]){"limit", "1", "type", "table", NULL}, &error);
  json_t *rows = json_object_get(json, "classes"), *row = json_array_get(rows, 0);
  assert_int_equal(json_array_size(rows), 1);
  assert_int_equal(json_integer_value(json_object_get(row, "objects")), 1);
  assert_string_equal(json_string_value(json_object_get(row, "class")), "globals (_G)");
  json_decref(json);
}

static void snapshots_are_compared(void **state) {
  (void)state;
  lh_error error;
  json_t *json = ask_json(3, "diff", NULL, &error), *row = NULL, *found = NULL;
  size_t i;
  json_array_foreach(json_object_get(json, "groups"), i, row) {
    const char *class = json_string_value(json_object_get(row, "class"));
    if (strcmp(class, "Session") == 0) found = row;
  }
  assert_int_equal(json_integer_value(json_object_get(found, "objects")), 300);
  assert_string_equal(json_string_value(json_object_get(found, "held_by")), "_G.sessions[*]");
  json_decref(json);
  json = ask_json(3, "ladder", NULL, &error);
  assert_non_null(json);
  json_decref(json);
  json = ask_json(2, "strings", NULL, &error);
  assert_non_null(json);
  json_decref(json);
}

/* Keys of a table are any numbers; JSON has no word for the infinite. */
static void what_is_infinite_is_null(void **state) {
  (void)state;
  lh_error error;
  json_t *json = ask_json(1, "growing", NULL, &error), *row, *found = NULL;
  size_t i;
  json_array_foreach(json_object_get(json, "collections"), i, row) {
    const char *at = json_string_value(json_object_get(row, "held_by"));
    if (strcmp(at, "_G.far") == 0) found = row;
  }
  assert_non_null(found);
  assert_true(json_is_null(json_object_get(found, "greatest")));
  json_decref(json);
}

/* What cannot be asked is refused, with the reason. */
static void nonsense_is_refused(void **state) {
  static const struct {
    size_t n;
    const char *question, *key, *value, *message;
  } cases[] = {
      {1, "nothing", NULL, NULL, "there is no question 'nothing'"},
      {1, "calls", NULL, NULL, "'calls' is no question about snapshots alone"},
      {1, "cut", NULL, NULL, "'cut' is no question about snapshots alone"},
      {1, "diff", NULL, NULL, "'diff' is asked of 2 snapshots or more, and here are 1"},
      {1, "class", NULL, NULL, "which class?"},
      {1, "classes", "nothing", "1", "there is no parameter 'nothing'"},
      {1, "classes", "limit", "-1", "limit needs a number, not '-1'"},
      {1, "classes", "limit", "", "limit needs a number, not ''"},
      {1, "classes", "garbage", "2", "garbage needs 0 or 1, not '2'"},
      {1, "classes", "sort", "big", "sort needs one of retained|shallow|count, not 'big'"},
      {1, "classes", "sort", "", "sort needs one of retained|shallow|count, not ''"},
      {1, "classes", "type", "array", "type needs a type such as table, not 'array'"},
      {1, "map", "from", "12", "from needs an address such as 0x55d0c0a3f2e0, not '12'"},
      {1, "under", "at", "0x10", "nothing is at 0x10 in "},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lh_error error;
    const char *arguments[] = {cases[i].key, cases[i].value, NULL};
    assert_null(ask_json(cases[i].n, cases[i].question, arguments, &error));
    assert_memory_equal(error.message, cases[i].message, strlen(cases[i].message));
  }
}

static int ask_and_free(const char *question, const char *const *arguments, lh_error *error) {
  char *text;
  int code = lh_answer_json(p.snapshots, 3, question, arguments, &text, error);
  lh_free(text);
  return code;
}

static void each_allocation_of_json_fails(void **state) {
  (void)state;
  lh_error error;
  FAIL_EACH(ask_and_free("classes", (const char *[]){"limit", "3", NULL}, &error));
  FAIL_EACH(ask_and_free("under", (const char *[]){"at", "_G.sessions", NULL}, &error));
  FAIL_EACH(ask_and_free("owners", NULL, &error));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_json), cmocka_unit_test(snapshots_are_compared),
      cmocka_unit_test(what_is_infinite_is_null), cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(each_allocation_of_json_fails)};
  return cmocka_run_group_tests(tests, begin_group, end_group);
}
