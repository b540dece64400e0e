/*
** test_growing.c - what looks like a collection without a limit, against an oracle on random heaps,
** and with any allocation failing.
**
** The oracle goes through the entries of each table that is told, and finds linked objects by
** following references in both directions until nothing is added. A failure prints the seed of its
** heap: run the program with it as its argument to see only that one.
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
#include "graph/answers.h"
#include "graph/graph.h"
#include "name/names.h"
#include "rooms/all.h"
#include "steps.h"

/* Collections that are filled in two steps, or in one of them, by keys of several sorts; objects in
** two of them; lists that are linked one way or both; things that are no collection. */
static const char random_heap[] =
    "math.randomseed(SEED)\n"
    "local Item, all, lists = {__name = 'Item'}, {}, {}\n"
    "collections, tails = {}, {}\n"
    "local keys = {function(i) return i end, function(i) return 'k' .. i end,\n"
    "  function(i) return {} end, function(i) return i * 17 end}\n"
    "local function item(i)\n"
    "  local o = setmetatable({text = ('x'):rep(math.random(80)) .. i}, Item)\n"
    "  all[#all + 1] = math.random(3) == 1 and o or nil\n"
    "  return math.random(5) == 1 and all[math.random(#all + 1)] or o\n"
    "end\n"
    "for i = 1, math.random(6) do\n"
    "  collections[i] = {key = keys[math.random(#keys)], n = 0, kind = math.random(4), of = {}}\n"
    "  _G['t' .. i] = collections[i].of\n"
    "end\n"
    "function grow()\n"
    "  for _, c in ipairs(collections) do\n"
    "    for i = c.n + 1, c.n + math.random(0, 40) do\n"
    "      local key = c.key(i)\n"
    "      c.of[key] = c.kind == 1 and i or c.kind == 2 and 's' .. i % 9 or item(i)\n"
    "      c.n = i\n"
    "    end\n"
    "  end\n"
    "  for k = 1, 2 do\n"
    "    for i = 1, math.random(0, 30) do\n"
    "      local e = {value = i, next = tails[k]}\n"
    "      if k == 2 and e.next then e.next.prev = e end\n"
    "      tails[k] = e\n"
    "    end\n"
    "  end\n"
    "end\n"
    "grow()";

static unsigned long only_seed;

static lh_snapshot *heap_of_seed(program *p, unsigned long seed) {
  *p = program_of_seed(seed);
  (void)program_step(p, random_heap);
  return program_step(p, "grow()");
}

/* ==== The oracle ===================================================================== */

/* is_one[id]: what the elements of a row are. */
typedef struct elements {
  uint8_t *is_one;
  uint64_t n, bytes, since_first_mark;
  uint32_t epochs;
  lh_id youngest;
} elements;

static bool climbs_to(const lh_snapshot *s, lh_id id, lh_id above) {
  while (id != above && id != LH_ROOT) id = lh_immediate_dominator(s, id);
  return id == above;
}

/* Of all that one of them dominates, each object once. */
static uint64_t bytes_below(const lh_snapshot *s, const uint8_t *is_top) {
  uint64_t bytes = 0;
  for (lh_id id = 1; id <= s->n; id++) {
    lh_id above = id;
    if (!lh_is_reachable(s, id)) continue;
    while (above != LH_ROOT && !is_top[above]) above = lh_immediate_dominator(s, above);
    if (above != LH_ROOT) bytes += lh_shallow_bytes(s, id);
  }
  return bytes;
}

static void check_elements(const lh_snapshot *s, const lh_growing *g, elements *e) {
  uint8_t has_epoch[MOST_STEPS] = {0};
  uint64_t n_younger = 0, n_aged = 0;
  e->youngest = LH_NO_OBJECT;
  for (lh_id id = 1; id <= s->n; id++) {
    bool aged = lh_is_reachable(s, id) && !lh_is_own(s, id) && lh_list_of(s, id) == LH_LIST_ALLGC;
    n_aged += aged;
    if (!e->is_one[id]) continue;
    e->n++;
    e->since_first_mark += lh_epoch(s, id) > 0;
    if (has_epoch[lh_epoch(s, id)]++ == 0) e->epochs++;
    if (aged && e->youngest == LH_NO_OBJECT) e->youngest = id;
  }
  for (lh_id id = 1; id < e->youngest && id <= s->n; id++)
    n_younger += lh_is_reachable(s, id) && !lh_is_own(s, id) && lh_list_of(s, id) == LH_LIST_ALLGC;
  check(g->aged == e->n && g->since_first_mark == e->since_first_mark && g->epochs == e->epochs);
  if (e->youngest != LH_NO_OBJECT) check(g->younger == (double)n_younger / (double)n_aged);
  check(g->bytes == e->bytes);
}

static void check_table(const lh_snapshot *s, const lh_growing *g) {
  elements e = {.is_one = calloc((size_t)s->n + 1, 1)};
  uint8_t *is_top = calloc((size_t)s->n + 1, 1);
  uint64_t n = 0, alike = 0;
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(s, g->id, &it); lh_entries_next(&it, &key, &value); n++) {
    lh_value element = g->are_keys ? key : value;
    lh_id id = element.kind == LH_VALUE_OBJECT ? element.as.object : LH_ROOT;
    if (key.kind == LH_VALUE_OBJECT && !climbs_to(s, g->id, key.as.object))
      is_top[key.as.object] = 1;
    if (id == LH_ROOT) {
      alike += strcmp(g->element, "number") == 0 && element.kind == LH_VALUE_INTEGER;
      continue;
    }
    alike += strcmp(g->element, lh_class_at(s, lh_class_of(s, id))->name) == 0;
    if (e.is_one[id] || climbs_to(s, g->id, id)) continue;
    e.is_one[id] = is_top[id] = 1;
  }
  is_top[g->id] = 1;
  e.bytes = bytes_below(s, is_top);
  check(n == g->elements && n >= 16);
  check(strcmp(g->element, "table") == 0 || alike == g->alike);
  check(10 * g->alike >= 9 * n);
  check_elements(s, g, &e);
  free(e.is_one);
  free(is_top);
}

/* Adds what refers to an element or is referred to, of the same class, until nothing is added. */
static void check_links(const lh_snapshot *s, const lh_growing *g) {
  elements e = {.is_one = calloc((size_t)s->n + 1, 1)};
  uint32_t class_index = lh_class_of(s, g->id);
  e.is_one[g->id] = 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (lh_id v = 1; v <= s->n; v++) {
      if (!lh_is_reachable(s, v) || lh_class_of(s, v) != class_index) continue;
      for (uint32_t i = s->first_edge[v]; i < s->first_edge[v + 1]; i++) {
        lh_id to = s->edge[i];
        if (lh_class_of(s, to) != class_index || e.is_one[v] == e.is_one[to]) continue;
        e.is_one[v] = e.is_one[to] = 1;
        changed = true;
      }
    }
  }
  for (lh_id id = 1; id <= s->n; id++) {
    if (!e.is_one[id]) continue;
    check(lh_distance(s, id) >= lh_distance(s, g->id));
  }
  e.bytes = bytes_below(s, e.is_one);
  check_elements(s, g, &e);
  check(e.n == g->elements && g->keying == LH_KEYED_NOT);
  free(e.is_one);
}

/* A collection of items is told, or too small. */
static void check_told(const lh_snapshot *s, const lh_growings *all, lh_id id) {
  lh_edges it;
  lh_value key, value;
  uint64_t n = 0, n_items = 0, bytes = lh_shallow_bytes(s, id), least;
  uint8_t *seen = calloc((size_t)s->n + 1, 1);
  for (lh_entries_begin(s, id, &it); lh_entries_next(&it, &key, &value); n++) {
    if (value.kind != LH_VALUE_OBJECT) continue;
    n_items += strcmp(lh_class_at(s, lh_class_of(s, value.as.object))->name, "Item") == 0;
    if (!seen[value.as.object]) bytes += lh_retained_bytes(s, value.as.object);
    seen[value.as.object] = 1;
  }
  free(seen);
  lh_reach reach;
  lh_reach_totals(s, &reach);
  least = reach.reachable_bytes / 1000 + 1;
  if (n < 16 || n_items < n || bytes < (least > 1024 ? least : 1024)) return;
  bool told = false;
  for (size_t i = 0; i < all->n; i++) told = told || all->list[i].id == id;
  check(told);
}

/* ==================================================================================== */

static void rows_are_as_the_definition_says(void **state) {
  unsigned n_tables = 0, n_links = 0;
  (void)state;
  for (unsigned long seed = 1; seed <= 150; seed++) {
    program p;
    lh_growings all;
    if (only_seed && seed != only_seed) continue;
    lh_snapshot *s = heap_of_seed(&p, seed);
    assert_int_equal(lh_find_growing(s, NULL, &all, NULL), LH_OK);
    for (size_t i = 0; i < all.n; i++) {
      const lh_growing *g = &all.list[i];
      bool once = g->prospect == LH_FILLED_ONCE;
      check(once == (i >= all.n - all.n_filled_once));
      check(i == 0 || i == all.n - all.n_filled_once || g->bytes <= all.list[i - 1].bytes);
      check(g->tables == 1);
      check(g->same_as <= i && all.list[g->same_as].same_as == g->same_as);
      check(all.list[g->same_as].aged == g->aged);
      n_tables += !g->is_list;
      n_links += g->is_list;
      if (g->is_list)
        check_links(s, g);
      else
        check_table(s, g);
    }
    for (unsigned i = 1; i <= 6; i++) {
      char path[8];
      lh_found found;
      (void)snprintf(path, sizeof path, "_G.t%u", i);
      if (lh_find(s, path, &found, NULL) == LH_OK) check_told(s, &all, found.id);
    }
    lh_growings_free(&all);
    program_end(&p);
  }
  assert_true(only_seed || (n_tables > 100 && n_links > 50));
}

static void each_allocation_of_candidates_fails(void **state) {
  (void)state;
  program p;
  lh_growings all;
  lh_error error = {0};
  unsigned n_failed = 0;
  int outcome = LH_EMEMORY;
  lh_snapshot *s = heap_of_seed(&p, 4);
  for (uint64_t nth = 1; outcome != LH_OK; nth++) {
    (void)lh_test_fail_allocation(nth);
    outcome = lh_find_growing(s, NULL, &all, &error);
    (void)lh_test_fail_allocation(0);
    assert_true(outcome == LH_OK || outcome == LH_EMEMORY);
    n_failed += outcome != LH_OK;
    assert_true(nth < 2000);
  }
  assert_true(all.n > 0);
  lh_growings_free(&all);
  printf("faults: allocations of what grows: %u cases, %u survived\n", n_failed, n_failed);
  program_end(&p);
}

/* The snapshot owns what is kept, and finds it anew after another analysis. */
static void candidates_are_kept(void **state) {
  (void)state;
  program p;
  lh_growings all, kept, again;
  lh_snapshot *s = heap_of_seed(&p, 4);
  assert_int_equal(lh_find_growing(s, NULL, &all, NULL), LH_OK);
  assert_int_equal(lh_kept_growings(s, NULL, &kept, NULL), LH_OK);
  assert_int_equal(lh_kept_growings(s, NULL, &again, NULL), LH_OK);
  assert_ptr_equal(kept.list, again.list);
  assert_true(all.n > 0 && kept.n == all.n && kept.list[0].id == all.list[0].id);
  lh_growings_free(&all);
  lh_forget_analysis(s);
  assert_null(s->growings);
  assert_int_equal(lh_kept_growings(s, NULL, &again, NULL), LH_EARGUMENT);
  program_end(&p);
}

static void no_candidates_before_their_time(void **state) {
  (void)state;
  program p = program_begin();
  lh_growings all;
  lh_snapshot *s;
  (void)program_step(&p, "");
  assert_int_equal(lh_open_memory(&s, p.files[0].data, p.files[0].size, "test", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_find_growing(s, NULL, &all, NULL), LH_EARGUMENT);
  lh_close(s);
  program_end(&p);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_as_the_definition_says),
      cmocka_unit_test(each_allocation_of_candidates_fails),
      cmocka_unit_test(candidates_are_kept),
      cmocka_unit_test(no_candidates_before_their_time),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
