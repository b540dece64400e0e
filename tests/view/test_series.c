/*
** test_series.c - bytes by place over several snapshots: each adds up to its whole, however many
** rows are listed, and rows, verdicts and words are the ladder's.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "steps.h"

static const char step[] =
    "n = (n or 0) + 1\n"
    "leak, cache, queue = leak or {}, cache or {}, {}\n"
    "for i = 1, 100 do leak[#leak + 1] = {id = i} end\n"
    "for i = 1, 50 do cache[i] = {value = n} end\n"
    "for i = 1, n % 3 * 40 do queue[i] = {task = i} end\n"
    "once = once or n > 1 and {{}, {}, {}}";

enum { STEPS = 5 };

typedef struct scene {
  program p;
  lh_ladder *ladder;
  const char *names[STEPS];
} scene;

static void begin_scene(scene *s) {
  static const char *const names[STEPS] = {"a", "b", "c", "d", "e"};
  s->p = program_begin();
  assert_int_equal(lh_ladder_new(&s->ladder, NULL), LH_OK);
  for (int i = 0; i < STEPS; i++) {
    s->names[i] = names[i];
    assert_int_equal(lh_ladder_add(s->ladder, program_step(&s->p, step), NULL), LH_OK);
  }
}

static void end_scene(scene *s) {
  lh_ladder_free(s->ladder);
  program_end(&s->p);
}

static lh_request request_of(const scene *s) {
  return (lh_request){.ladder = s->ladder, .names = s->names, .n_names = STEPS};
}

static const lh_column *column_of(const lh_table *table, const char *key) {
  const lh_column *c = table->columns;
  while (c->kind != LH_COLUMN_END && (!c->key || strcmp(c->key, key) != 0)) c++;
  assert_int_not_equal(c->kind, LH_COLUMN_END);
  return c;
}

/* Adds a figure of the rows under a key, in each snapshot: how many rows those are. */
static size_t add_rows(lh_report *r, const char *key, const char *figure, uint64_t sums[STEPS]) {
  lh_cell rows, cell;
  lh_cell_of(r, column_of(r->question->answer, key), r->answer, &rows);
  const lh_column *column = column_of(rows.as.rows.table, figure);
  for (size_t i = 0; i < rows.as.rows.n; i++) {
    const char *row = (const char *)rows.as.rows.list + i * rows.as.rows.table->row_bytes;
    lh_cell_of(r, column, row, &cell);
    assert_int_equal(cell.as.series.n, STEPS);
    for (size_t k = 0; k < STEPS; k++) sums[k] += lh_series_at(&cell, k);
  }
  return rows.as.rows.n;
}

static void check_sums(lh_report *r, const char *figure, size_t n_rows) {
  uint64_t sums[STEPS] = {0}, whole[STEPS] = {0};
  assert_int_equal(add_rows(r, "paths", figure, sums), n_rows);
  (void)add_rows(r, "others", figure, sums);
  (void)add_rows(r, "level", figure, sums);
  (void)add_rows(r, "whole", figure, whole);
  assert_true(whole[0] > 0);
  assert_memory_equal(sums, whole, sizeof whole);
}

static void each_snapshot_adds_up(void **state) {
  scene s;
  lh_report r;
  (void)state;
  begin_scene(&s);
  for (size_t limit = 1; limit < 5; limit++) {
    lh_request request = request_of(&s);
    request.has_limit = true;
    request.limit = limit;
    assert_int_equal(lh_ask(&r, lh_find_question("series"), NULL, &request, NULL), LH_OK);
    check_sums(&r, "bytes", limit);
    check_sums(&r, "all_objects", limit);
    lh_report_free(&r);
  }
  for (size_t k = 0; k < STEPS; k++) {
    lh_reach reach;
    uint64_t whole[STEPS] = {0};
    lh_request request = request_of(&s);
    assert_int_equal(lh_ask(&r, lh_find_question("series"), NULL, &request, NULL), LH_OK);
    (void)add_rows(&r, "whole", "bytes", whole);
    lh_reach_totals(s.p.snapshots[k], &reach);
    assert_int_equal(whole[k], reach.reachable_bytes - reach.own_bytes);
    lh_report_free(&r);
  }
  end_scene(&s);
}

static char *told(const char *question, const lh_request *request) {
  lh_report r;
  assert_int_equal(lh_ask(&r, lh_find_question(question), NULL, request, NULL), LH_OK);
  char *text = lh_report_text(&r, "e");
  lh_report_free(&r);
  assert_non_null(text);
  return text;
}

static void words_and_verdicts_are_the_ladders(void **state) {
  scene s;
  (void)state;
  begin_scene(&s);
  lh_request request = request_of(&s);
  char *series = told("series", &request), *ladder = told("ladder", &request);
  assert_string_equal(series, ladder);
  assert_non_null(strstr(series, "_G.leak[*] grows steadily from a to e: "));
  lh_free(series);
  lh_free(ladder);
  end_scene(&s);
}

static void any_allocation_may_fail(void **state) {
  scene s;
  lh_report r;
  lh_error error;
  uint64_t n_cases = 0;
  (void)state;
  begin_scene(&s);
  lh_request request = request_of(&s);
  FAIL_EACH(lh_ask(&r, lh_find_question("series"), NULL, &request, &error));
  assert_true(n_cases > 10);
  lh_report_free(&r);
  end_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_snapshot_adds_up),
      cmocka_unit_test(words_and_verdicts_are_the_ladders),
      cmocka_unit_test(any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
