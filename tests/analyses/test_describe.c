/*
** test_describe.c - what is told about a class against an oracle on random heaps, and with any
** allocation failing.
**
** The oracle climbs the tree of dominators object by object, and goes through all entries and edges
** for each class. A failure prints the seed of its heap: run the program with it as its argument to
** see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyses/answers.h"
#include "name/names.h"
#include "rooms/all.h"
#include "steps.h"

/* Objects of three classes, nested in each other at random, with fields that some have, a weak
** index, records of two shapes, functions with upvalues, made in two steps, with a mark between. */
static const char random_heap[] =
    "math.randomseed(SEED)\n"
    "local classes, all = {}, {}\n"
    "for i = 1, 3 do classes[i] = {__name = 'C' .. i} end\n"
    "weak = setmetatable({}, {__mode = 'v'})\n"
    "function grow(n) for i = #all + 1, #all + n do\n"
    "  local o = {id = i}\n"
    "  if math.random(2) == 1 then o.name = ('n'):rep(math.random(60)) .. i end\n"
    "  if math.random(3) == 1 then o.list = {('v'):rep(50) .. i, {}, 3} end\n"
    "  if math.random(3) == 1 then o.same = o.list end\n"
    "  if math.random(4) == 1 then o.odd = math.random(2) == 1 and 1.5 or print end\n"
    "  if math.random(4) == 1 then o[math.random(3)] = {x = i} end\n"
    "  if math.random(5) == 1 then o.peer = all[math.random(math.max(1, #all))] end\n"
    "  if math.random(5) == 1 then o.call = function() return o, i end end\n"
    "  if math.random(6) < 6 then setmetatable(o, classes[math.random(3)]) end\n"
    "  local from = all[math.random(math.max(1, #all))]\n"
    "  if i == 1 or math.random(4) == 1 then _G['g' .. i] = o else from['k' .. i % 7] = o end\n"
    "  if math.random(3) == 1 then weak[i] = o end\n"
    "  if math.random(9) == 1 then\n"
    "    o.task = coroutine.wrap(function(...) local x, y = {i}, o coroutine.yield(x, y) end)\n"
    "    o.task()\n"
    "  end\n"
    "  all[i] = o\n"
    "end end\n"
    "grow(math.random(4, 40))\n";

static unsigned long only_seed;

static lh_snapshot *heap_of_seed(program *p, unsigned long seed) {
  *p = program_of_seed(seed);
  (void)program_step(p, random_heap);
  return program_step(p, "grow(math.random(50))");
}

/* ==== The oracle ===================================================================== */

static bool is_one(const lh_snapshot *s, lh_id id, const char *name) {
  uint32_t class_index = lh_class_of(s, id);
  return id != LH_ROOT && class_index != UINT32_MAX && lh_is_reachable(s, id) &&
         strcmp(lh_class_at(s, class_index)->name, name) == 0;
}

/* The nearest instance among an object and its dominators, or LH_ROOT; *below: the one that it
** dominates directly on the way, or the instance itself. */
static lh_id nearest(const lh_snapshot *s, lh_id id, const char *name, lh_id *below) {
  *below = id;
  while (id != LH_ROOT && !is_one(s, id, name)) {
    *below = id;
    id = lh_immediate_dominator(s, id);
  }
  return id;
}

static bool is_in_field(const lh_snapshot *s, lh_id instance, lh_id id) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(s, instance, &it); lh_edges_next(&it, &edge);)
    if (edge.target == id && (edge.kind == LH_EDGE_VALUE || edge.kind == LH_EDGE_KEY ||
                              edge.kind == LH_EDGE_UPVALUE || edge.kind == LH_EDGE_USER_VALUE ||
                              edge.kind == LH_EDGE_LOCAL || edge.kind == LH_EDGE_C_UPVALUE))
      return true;
  return false;
}

static void check_bytes(const lh_snapshot *s, const char *name, const lh_description *d) {
  uint64_t *alone = calloc((size_t)s->n + 1, sizeof *alone), in_fields = 0, told = 0, sum = 0;
  for (lh_id id = 1; id <= s->n; id++) {
    lh_id below, instance;
    if (!lh_is_reachable(s, id)) continue;
    instance = nearest(s, id, name, &below);
    if (instance == LH_ROOT) continue;
    alone[instance] += lh_shallow_bytes(s, id);
    if (id != instance && is_in_field(s, instance, below)) in_fields += lh_shallow_bytes(s, id);
  }
  const lh_spread *spread = &d->spreads[LH_MEASURE_ALONE];
  uint64_t at_most_median = 0, at_most_ninth = 0, less_than_median = 0;
  for (lh_id id = 1; id <= s->n; id++) {
    if (!is_one(s, id, name)) continue;
    sum += alone[id];
    check(alone[id] >= spread->least && alone[id] <= spread->most);
    at_most_median += alone[id] <= spread->median;
    less_than_median += alone[id] < spread->median;
    at_most_ninth += alone[id] <= spread->ninth_tenth;
  }
  check(spread->measure == LH_MEASURE_ALONE && spread->sum == sum);
  check(2 * at_most_median >= d->objects && 2 * less_than_median < d->objects);
  check(10 * at_most_ninth >= 9 * d->objects);
  for (size_t i = 0; i < d->n_fields; i++) told += d->fields[i].bytes;
  check(told == in_fields);
  free(alone);
}

/* How many instances have a value under the key, which is a name. */
static void check_field(const lh_snapshot *s, const char *name, const lh_field *field) {
  uint64_t n = 0, n_kinds = 0;
  for (lh_id id = 1; id <= s->n; id++) {
    lh_edges it;
    lh_value key, value;
    if (!is_one(s, id, name)) continue;
    for (lh_entries_begin(s, id, &it); lh_entries_next(&it, &key, &value);) {
      const char *bytes;
      size_t length;
      if (key.kind != LH_VALUE_OBJECT || !lh_is_string(s, key.as.object)) continue;
      assert_true(lh_string_whole(s, key.as.object, &bytes, &length));
      n += strlen(field->name) == length + 1 && memcmp(field->name + 1, bytes, length) == 0;
    }
  }
  for (uint32_t i = 0; i < field->n_kinds; i++) n_kinds += field->kinds[i].values;
  check(n == field->instances && n == field->values);
  check(field->total_kinds > LH_MOST_KINDS ? n_kinds < n : n_kinds == n);
}

static void check_referrers(const lh_snapshot *s, const char *name, const lh_description *d) {
  uint64_t n = 0, n_weak = 0, told = 0, told_weak = 0;
  for (lh_id id = 0; id <= s->n; id++) {
    lh_edges it;
    lh_edge edge;
    if (!lh_is_reachable(s, id) || lh_is_own(s, id)) continue;
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
      n += is_one(s, edge.target, name);
      n_weak += edge.weak && is_one(s, edge.target, name);
    }
  }
  for (size_t i = 0; i < d->n_referrers; i++) {
    const lh_referring *row = &d->referrers[i];
    told += row->references;
    told_weak += row->weak ? row->references : 0;
    check(row->sources >= 1 && row->sources <= row->references);
    check(i == 0 || row->references <= d->referrers[i - 1].references);
  }
  check(told == n && told_weak == n_weak);
}

static void check_class(lh_snapshot *s, const char *name) {
  lh_description d;
  lh_id *ids = calloc((size_t)s->n + 1, sizeof *ids);
  uint64_t shallow = 0, bytes = 0, n_epochs = 0;
  size_t n = 0;
  assert_int_equal(lh_describe_class(s, name, &d, NULL), LH_OK);
  for (lh_id id = 1; id <= s->n; id++) {
    if (!is_one(s, id, name)) continue;
    ids[n++] = id;
    shallow += lh_shallow_bytes(s, id);
    check(lh_retained_bytes(s, id) <= lh_retained_bytes(s, d.biggest));
  }
  check(d.objects == n && d.shallow_bytes == shallow);
  if (n > 0) {
    assert_int_equal(lh_retained_together(s, ids, n, &bytes, NULL, NULL), LH_OK);
    check_bytes(s, name, &d);
    check_referrers(s, name, &d);
    check(d.spreads[LH_MEASURE_SHALLOW].sum == shallow && is_one(s, d.biggest, name));
    for (size_t i = 0; i < d.n_fields; i++)
      if (d.fields[i].name[0] == '.') check_field(s, name, &d.fields[i]);
  }
  for (uint32_t i = 0; i < d.n_epochs; i++) n_epochs += d.epochs[i];
  check(d.retained_bytes == bytes && n_epochs == n);
  lh_description_free(&d);
  free(ids);
}

/* ==================================================================================== */

static void classes_are_as_the_definition_says(void **state) {
  static const char *const names[] = {"C1", "C2", "C3", "{id}", "{x}", "function C1"};
  (void)state;
  for (unsigned long seed = 1; seed <= 60; seed++) {
    program p;
    if (only_seed && seed != only_seed) continue;
    lh_snapshot *s = heap_of_seed(&p, seed);
    for (uint32_t i = 0; i < lh_class_count(s); i++) {
      const lh_class *class = lh_class_at(s, i);
      bool one_of_many = class->type != LH_TYPE_TABLE || s->classes->list[i].plain != LH_NO_NUMBER;
      for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!one_of_many && strcmp(class->name, names[k]) == 0) check_class(s, names[k]);
      if (class->type == LH_TYPE_CLOSURE && i % 8 == 0) check_class(s, class->name);
      if (class->type == LH_TYPE_THREAD) check_class(s, class->name);
    }
    program_end(&p);
  }
}

/* Each element retains all that follow; what one more costs is one element. */
static void elements_of_a_list_are_told_alone(void **state) {
  (void)state;
  program p = program_begin();
  lh_description d;
  lh_snapshot *s = program_step(&p, "for i = 1, 1000 do list = {value = i, next = list} end");
  assert_int_equal(lh_describe_class(s, "{next, value}", &d, NULL), LH_OK);
  assert_int_equal(d.objects, 999); /* the last has no next */
  assert_int_equal(d.spreads[LH_MEASURE_ALONE].median, d.spreads[LH_MEASURE_SHALLOW].median);
  assert_int_equal(d.spreads[LH_MEASURE_RETAINED].most, d.retained_bytes);
  assert_int_equal(d.n_fields, 2);
  assert_string_equal(d.fields[0].name, ".next");
  assert_int_equal(d.fields[0].kinds[0].values, 998);
  lh_description_free(&d);
  program_end(&p);
}

static void keys_that_vary_are_one_row(void **state) {
  (void)state;
  program p = program_begin();
  lh_description d;
  lh_snapshot *s = program_step(&p,
                                "local C = {__name = 'C'}\n"
                                "local function new() return setmetatable({}, C) end\n"
                                "few = setmetatable({}, {__name = 'Few'})\n"
                                "few.first, few.second = new(), new()\n"
                                "many = setmetatable({}, {__name = 'Many'})\n"
                                "for i = 1, 40 do many['k' .. i] = new() end\n"
                                "other = setmetatable({k1 = many.k1, k99 = new()}, "
                                "getmetatable(many))\n");
  assert_int_equal(lh_describe_class(s, "C", &d, NULL), LH_OK);
  assert_int_equal(d.n_referrers, 3);
  assert_string_equal(d.referrers[0].label, "[*]");
  assert_int_equal(d.referrers[0].references, 42);
  assert_int_equal(d.referrers[0].sources, 2);
  assert_string_equal(d.referrers[1].label, ".first");
  assert_int_equal(d.referrers[2].references, 1);
  lh_description_free(&d);
  program_end(&p);
}

static void equal_strings_are_counted(void **state) {
  (void)state;
  program p = program_begin();
  lh_description before, d;
  lh_snapshot *s = program_step(&p, "local x = 1");
  assert_int_equal(lh_describe_class(s, "string", &before, NULL), LH_OK);
  s = program_step(&p, "strings = {}\nfor i = 1, 30 do strings[i] = ('x'):rep(100 + i % 3) end");
  assert_int_equal(lh_describe_class(s, "string", &d, NULL), LH_OK);
  assert_int_equal(d.repeated_bytes - before.repeated_bytes, 9 * (3 * 125 + 3));
  assert_true(d.contents >= before.contents + 3);
  assert_int_equal(d.objects - d.contents, before.objects - before.contents + 27);
  lh_description_free(&before);
  lh_description_free(&d);
  program_end(&p);
}

static void each_allocation_of_a_class_fails(void **state) {
  (void)state;
  program p;
  lh_description d;
  lh_error error = {0};
  unsigned n_failed = 0;
  int outcome = LH_EMEMORY;
  lh_snapshot *s = heap_of_seed(&p, 7);
  for (uint64_t nth = 1; outcome != LH_OK; nth++) {
    (void)lh_test_fail_allocation(nth);
    outcome = lh_describe_class(s, "C1", &d, &error);
    (void)lh_test_fail_allocation(0);
    assert_true(outcome == LH_OK || outcome == LH_EMEMORY);
    n_failed += outcome != LH_OK;
    assert_true(nth < 2000);
  }
  lh_description_free(&d);
  printf("faults: allocations of a class's description: %u cases, %u survived\n", n_failed,
         n_failed);
  assert_int_equal(lh_describe_class(s, "C11", &d, &error), LH_ENOTFOUND);
  assert_string_equal(error.message, "there is no class 'C11' (did you mean 'C1', 'C2' or 'C3'?)");
  program_end(&p);
}

static void no_description_before_its_time(void **state) {
  (void)state;
  program p = program_begin();
  lh_description d;
  lh_snapshot *s;
  (void)program_step(&p, "");
  assert_int_equal(lh_open_memory(&s, p.files[0].data, p.files[0].size, "test", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_describe_class(s, "string", &d, NULL), LH_EARGUMENT);
  lh_close(s);
  program_end(&p);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_are_as_the_definition_says),
      cmocka_unit_test(elements_of_a_list_are_told_alone),
      cmocka_unit_test(keys_that_vary_are_one_row),
      cmocka_unit_test(equal_strings_are_counted),
      cmocka_unit_test(each_allocation_of_a_class_fails),
      cmocka_unit_test(no_description_before_its_time),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
