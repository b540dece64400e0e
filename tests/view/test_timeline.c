/*
** test_timeline.c - the timeline of random programs, with finalizers, garbage and marks, against an
** oracle that looks at each object; what is kept for it; and any allocation that fails.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>

#include "graph/graph.h"
#include "random_heap.h"
#include "steps.h"
#include "view/answers.h"

static const char random_step[] =
    "math.randomseed(SEED + (n or 0))\n"
    "n = (n or 0) + 1\n"
    "keep, lost = keep or {}, {}\n"
    "local makers = {function() return {} end, function(i) return {id = i, name = 'n' .. n} end,\n"
    "  function(i) return ('text %d %d'):format(n, i) end, function(i) return function()\n"
    "  return i end end, function() return setmetatable({}, {__gc = function() end}) end,\n"
    "  function() return coroutine.create(print) end, io.tmpfile}\n"
    "for i = 1, math.random(600) do\n"
    "  local made = makers[math.random(#makers)](i)\n"
    "  if math.random(3) > 1 then keep[#keep + 1] = made else lost[#lost + 1] = made end\n"
    "end\n"
    "_G['part' .. n] = {keep = {n = n}, more = {{}, {}}}\n"
    "for _ = 1, #keep // 4 do keep[math.random(#keep)] = false end";

/* Of some steps, with garbage: the last is not collected before the snapshot. */
static lh_snapshot *program_of(program *p, unsigned long seed) {
  *p = program_of_seed(seed);
  for (int i = 0; i < 3; i++) (void)program_step(p, random_step);
  p->is_uncollected = true;
  return program_step(p, random_step);
}

/* ==== The oracle ===================================================================== */

static bool is_counted(const lh_snapshot *s, lh_id id, bool garbage) {
  return !lh_is_own(s, id) && lh_is_reachable(s, id) != garbage;
}

/* A place is a type and the folded path that heapdiff tells. */
static bool is_of(lh_snapshot *s, lh_id id, lh_age_chart_by by, const lh_layer *layer) {
  if (lh_type_of(s, id) != layer->type) return false;
  if (by == LH_AGES_OF_CLASSES) return lh_class_of(s, id) == layer->class_index;
  if (by == LH_AGES_OF_TYPES) return true;
  char *path;
  if (!layer->path || lh_held_by(s, id, &path, NULL) != LH_OK) return false;
  bool same = strcmp(path, layer->path) == 0;
  lh_free(path);
  return same;
}

static bool is_in_bin(const lh_snapshot *s, lh_id id, const lh_age_chart *ages, size_t bin) {
  uint64_t position = lh_position_of(s, id);
  return position != LH_NO_POSITION && position >= ages->begins[bin] &&
         position < ages->begins[bin + 1];
}

static void add(lh_count *to, const lh_snapshot *s, lh_id id) {
  to->objects++;
  to->bytes += lh_shallow_bytes(s, id);
}

static bool same(lh_count a, lh_count b) {
  return a.objects == b.objects && a.bytes == b.bytes;
}

/* The bins as they should be, of all and of each layer but the last. */
static void check_bins(lh_snapshot *s, const lh_age_chart_query *q, const lh_age_chart *ages) {
  for (size_t bin = 0; bin < ages->n_bins; bin++) {
    lh_count all = {0, 0}, layers = {0, 0};
    for (lh_id id = 1; id <= lh_object_count(s); id++)
      if (is_counted(s, id, q->garbage) && is_in_bin(s, id, ages, bin)) add(&all, s, id);
    check(same(all, ages->bins[bin]));
    for (size_t i = 0; i < ages->n_layers; i++) {
      layers.objects += ages->layers[i].bins[bin].objects;
      layers.bytes += ages->layers[i].bins[bin].bytes;
    }
    check(same(layers, all));
  }
}

static void check_layers(lh_snapshot *s, const lh_age_chart_query *q, const lh_age_chart *ages) {
  for (size_t i = 0; i < ages->n_layers; i++) {
    const lh_layer *layer = &ages->layers[i];
    if (layer->type == LH_TYPE_ROOT) check(layer->all.objects > 0 && i + 1 == ages->n_layers);
    if (layer->type == LH_TYPE_ROOT) continue;
    lh_count all = {0, 0}, bin = {0, 0};
    for (lh_id id = 1; id <= lh_object_count(s); id++) {
      if (!is_counted(s, id, q->garbage) || !is_of(s, id, q->by, layer)) continue;
      if (lh_in_interval(s, ages->interval, id)) add(&all, s, id);
      if (is_in_bin(s, id, ages, ages->n_bins / 2)) add(&bin, s, id);
    }
    check(all.objects > 0 && same(all, layer->all));
    check(same(bin, layer->bins[ages->n_bins / 2]));
    if (i > 0) check(layer->all.bytes <= layer[-1].all.bytes);
  }
}

static void check_whole(lh_snapshot *s, const lh_age_chart_query *q, const lh_age_chart *ages) {
  lh_count all = {0, 0}, ageless = {0, 0};
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (!is_counted(s, id, q->garbage)) continue;
    if (lh_position_of(s, id) == LH_NO_POSITION) add(&ageless, s, id);
    if (lh_in_interval(s, ages->interval, id)) add(&all, s, id);
  }
  check(same(all, ages->all) && same(ageless, ages->ageless));
}

static void check_ages(lh_snapshot *s, const lh_age_chart_query *q) {
  lh_age_chart ages;
  assert_int_equal(lh_find_age_chart(s, q, &ages, NULL), LH_OK);
  check(ages.interval.until <= lh_position_count(s) && ages.begins[0] == ages.interval.since &&
        ages.begins[ages.n_bins] == ages.interval.until);
  for (size_t i = 0; i < ages.n_bins; i++) check(ages.begins[i] < ages.begins[i + 1]);
  check(ages.n_bins <= q->bins && ages.n_layers <= q->layers + 1);
  check_bins(s, q, &ages);
  check_layers(s, q, &ages);
  check_whole(s, q, &ages);
  lh_age_chart_free(&ages);
}

/* ==================================================================================== */

static void each_bin_adds_up(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 6; seed++) {
    program p;
    uint64_t random = seed;
    lh_snapshot *s = program_of(&p, seed);
    uint32_t n = (uint32_t)lh_position_count(s);
    for (uint32_t i = 0; i < 12; i++) {
      lh_age_chart_query q = {.by = (lh_age_chart_by)(i % 3),
                              .interval = LH_EVER,
                              .bins = 1 + random_below(&random, 12),
                              .layers = 1 + random_below(&random, 9),
                              .garbage = i % 4 == 3};
      if (i > 3) q.interval.since = random_below(&random, n);
      if (i > 3) q.interval.until = q.interval.since + random_below(&random, n);
      check_ages(s, &q);
    }
    program_end(&p);
  }
}

/* Bins that are finer than the chunks, and none at all. */
static void an_interval_may_be_as_small_as_one_likes(void **state) {
  program p;
  (void)state;
  lh_snapshot *s = program_of(&p, 7);
  for (uint64_t length = 0; length < 5; length++) {
    lh_age_chart_query q = {.interval = {100, 100 + length}, .bins = 50, .layers = 2};
    lh_age_chart ages;
    check_ages(s, &q);
    assert_int_equal(lh_find_age_chart(s, &q, &ages, NULL), LH_OK);
    assert_int_equal(ages.n_bins, length);
    lh_age_chart_free(&ages);
  }
  program_end(&p);
}

/* Live objects of an interval, without luaheap's own. */
static lh_count live_in(lh_snapshot *s, lh_interval interval) {
  lh_age_chart_query query = {.interval = interval, .bins = 1, .layers = 1};
  lh_age_chart ages;
  assert_int_equal(lh_find_age_chart(s, &query, &ages, NULL), LH_OK);
  lh_count all = ages.all;
  if (lh_is_ever(interval)) {
    all.objects += ages.ageless.objects;
    all.bytes += ages.ageless.bytes;
  }
  lh_age_chart_free(&ages);
  return all;
}

static void ever_has_what_has_no_age(void **state) {
  program p;
  lh_interval ever = LH_EVER;
  lh_reach reach;
  (void)state;
  lh_snapshot *s = program_of(&p, 8);
  lh_reach_totals(s, &reach);
  assert_int_equal(live_in(s, ever).bytes, reach.reachable_bytes - reach.own_bytes);
  program_end(&p);
}

/* Sums are of what is reachable now. */
static void another_analysis_makes_them_anew(void **state) {
  program p;
  lh_interval ever = LH_EVER;
  lh_without cut;
  (void)state;
  lh_snapshot *s = program_of(&p, 9);
  lh_count before = live_in(s, ever);
  assert_int_equal(lh_find_cut(s, "_G.keep", &cut, NULL), LH_OK);
  assert_int_equal(lh_analyse_without(s, &cut, 1, NULL), LH_OK);
  assert_true(live_in(s, ever).bytes < before.bytes);
  lh_without_free(&cut);
  program_end(&p);
}

static void what_is_no_query_fails(void **state) {
  program p;
  lh_age_chart_query q = {.by = LH_AGES_OF_CLASSES};
  lh_age_chart ages;
  lh_error error;
  (void)state;
  lh_snapshot *s = program_of(&p, 10);
  q.by = (lh_age_chart_by)3;
  assert_int_equal(lh_find_age_chart(s, &q, &ages, &error), LH_EARGUMENT);
  q.by = LH_AGES_OF_TYPES;
  lh_forget_analysis(s);
  assert_int_equal(lh_find_age_chart(s, &q, &ages, &error), LH_EARGUMENT);
  assert_string_equal(error.message, "the snapshot has not been classified");
  program_end(&p);
}

/* All three kinds, of a snapshot that keeps nothing yet. */
static int find_once(const program *p, lh_error *error) {
  const forge_bytes *file = &p->files[p->n - 1];
  lh_snapshot *s = NULL;
  lh_age_chart ages;
  int code = lh_open_memory(&s, file->data, file->size, "f", error);
  if (code == LH_OK) code = lh_analyse(s, error);
  if (code == LH_OK) code = lh_classify(s, error);
  for (int by = 0; code == LH_OK && by < 3; by++) {
    code = lh_find_age_chart(s, &(lh_age_chart_query){.by = (lh_age_chart_by)by}, &ages, error);
    if (code == LH_OK) lh_age_chart_free(&ages);
  }
  lh_close(s);
  return code;
}

static void any_allocation_may_fail(void **state) {
  program p = program_of_seed(11);
  lh_error error;
  uint64_t n_cases = 0;
  (void)state;
  (void)program_step(&p, "keep = {{id = 1}, {id = 2}, 'text'}");
  FAIL_EACH(find_once(&p, &error));
  assert_true(n_cases > 100);
  program_end(&p);
}

/* ==== The question =================================================================== */

static char *told(lh_snapshot *s, lh_request request) {
  static const char *const names[] = {"c"};
  lh_report report;
  request.names = names;
  request.n_names = 1;
  assert_int_equal(lh_ask(&report, lh_find_question("timeline"), s, &request, NULL), LH_OK);
  char *text = lh_report_text(&report, "c");
  lh_report_free(&report);
  assert_non_null(text);
  return text;
}

static void says(lh_snapshot *s, lh_request request, const char *words) {
  char *text = told(s, request);
  if (!strstr(text, words)) fail_msg("\"%s\" is not in:\n%s", words, text);
  lh_free(text);
}

static void its_words_say_what_part_it_is(void **state) {
  program p = program_begin();
  (void)state;
  for (int i = 0; i < 3; i++) {
    const char name[] = {'m', (char)('0' + i), '\0'};
    assert_int_equal(lh_mark(p.L, name, 2, NULL), LH_OK);
    assert_int_equal(luaL_dostring(p.L, "keep = {next = keep, {}, {}, {}, {}}"), LUA_OK);
  }
  lh_snapshot *s = program_step(&p, "");
  lh_request request = {.limit = 2, .has_interval = true};
  request.interval = (lh_interval){lh_mark_position(s, 0), lh_mark_position(s, 2)};
  says(s, request, " of what lives, ");
  says(s, request, " objects, was allocated between the marks m0 and m2\n");
  says(s, request, "all others");
  request.ages = LH_AGES_OF_PLACES;
  says(s, request, "_G.keep");
  request = (lh_request){.ages = LH_AGES_OF_TYPES};
  says(s, request, "What lives, ");
  says(s, request, " objects, by when it was allocated\n");
  says(s, request, "\nNot on the axis: ");
  request.garbage = true;
  says(s, request, "Garbage, 0 B in 0 objects, by when it was allocated\n");
  program_end(&p);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_bin_adds_up),
      cmocka_unit_test(an_interval_may_be_as_small_as_one_likes),
      cmocka_unit_test(ever_has_what_has_no_age),
      cmocka_unit_test(another_analysis_makes_them_anew),
      cmocka_unit_test(what_is_no_query_fails),
      cmocka_unit_test(any_allocation_may_fail),
      cmocka_unit_test(its_words_say_what_part_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
