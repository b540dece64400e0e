/*
** test_without.c - a heap analysed as though edges and objects were gone, against a heap that never
** had them, on thousands of random heaps. A failure prints the seed of its heap: run the program
** with it as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/answers.h"
#include "random_heap.h"
#include "read/decode.h"

static unsigned long only_seed;

enum { MOST_CUTS = 64 };

typedef struct cuts {
  lh_edge edges[MOST_CUTS];
  lh_id objects[MOST_CUTS];
  lh_without without;
} cuts;

static lh_snapshot *opened(const random_heap *h, forge *file) {
  lh_snapshot *s = random_heap_open(h, file);
  assert_non_null(s);
  return s;
}

/* Some edges of the heap as the snapshot tells them, and some objects, taken out of `h`. */
static void choose(const lh_snapshot *s, random_heap *h, uint64_t *random, cuts *c) {
  uint32_t rarity = 2 + random_below(random, 12);
  *c = (cuts){.without = {.edges = c->edges, .objects = c->objects}};
  for (lh_id id = 0; id <= s->n; id++) {
    lh_edges it;
    lh_edge edge;
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
      if (lh_is_own(s, edge.target) || lh_is_own(s, edge.source)) continue;
      if (random_below(random, rarity) || c->without.n_edges == MOST_CUTS) continue;
      c->edges[c->without.n_edges++] = edge;
    }
  }
  random_heap_cut(h, c->edges, c->without.n_edges);
  for (uint32_t i = random_below(random, 6); i > 3; i--) {
    lh_id id = 2 + random_below(random, h->n - 1);
    c->objects[c->without.n_objects++] = id;
    random_heap_remove(h, id);
  }
}

static bool same_paths(lh_snapshot *a, lh_snapshot *b, lh_id id) {
  lh_path *of_a, *of_b;
  size_t n_a, n_b;
  assert_int_equal(lh_shortest_paths(a, id, 3, &of_a, &n_a, NULL), LH_OK);
  assert_int_equal(lh_shortest_paths(b, id, 3, &of_b, &n_b, NULL), LH_OK);
  bool same = n_a == n_b;
  for (size_t i = 0; same && i < n_a; i++) {
    same = of_a[i].n_steps == of_b[i].n_steps;
    for (size_t k = 0; same && k < of_a[i].n_steps; k++)
      same = of_a[i].steps[k].target == of_b[i].steps[k].target && !of_a[i].steps[k].weak;
  }
  lh_paths_free(of_a, n_a);
  lh_paths_free(of_b, n_b);
  lh_free(of_a);
  lh_free(of_b);
  return same;
}

static bool same_analysis(lh_snapshot *a, lh_snapshot *b) {
  for (lh_id id = 0; id <= a->n; id++) {
    if (lh_is_reachable(a, id) != lh_is_reachable(b, id) ||
        lh_distance(a, id) != lh_distance(b, id) ||
        lh_retained_bytes(a, id) != lh_retained_bytes(b, id) ||
        lh_immediate_dominator(a, id) != lh_immediate_dominator(b, id))
      return false;
    if (id != LH_ROOT && lh_is_reachable(a, id) && !same_paths(a, b, id)) return false;
  }
  return true;
}

/* The rows are the edges that lh_edges_next tells; what keeps nothing alive is a loop. */
static bool rows_agree(const lh_snapshot *s) {
  bool agree = true;
  for (lh_id id = 0; id <= s->n; id++) {
    lh_edges it;
    lh_edge edge;
    uint32_t e = s->first_edge[id], end = s->first_edge[id + 1];
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge); e++) {
      agree &= !edge.ignored || edge.weak;
      for (; e < lh_edges_number(&it); e++) agree &= s->edge[e] == id; /* dead ephemerons */
      agree &= e < end && s->edge[e] == (edge.weak ? id : edge.target);
    }
    for (; e < end; e++) agree &= s->edge[e] == id;
  }
  return agree;
}

static bool are_told(const lh_snapshot *s, const cuts *c) {
  bool told = true;
  for (size_t i = 0; i < c->without.n_edges; i++) {
    lh_edges it;
    lh_edge edge;
    const lh_edge *cut = &c->edges[i];
    bool found = cut->kind == LH_EDGE_EPHEMERON; /* as the table's edge */
    for (lh_edges_begin(s, cut->source, &it); lh_edges_next(&it, &edge);)
      found |= edge.target == cut->target && edge.kind == cut->kind && edge.ignored;
    told &= found;
  }
  return told;
}

/* As before lh_analyse, as after it, and twice. */
static bool check_seed(unsigned long seed) {
  uint64_t random = seed;
  random_heap h = random_heap_make(seed), less = h;
  forge file, less_file, whole_file;
  lh_snapshot *s = opened(&h, &file), *whole = opened(&h, &whole_file);
  cuts c;
  if (seed % 2) assert_int_equal(lh_analyse(s, NULL), LH_OK);
  if (seed % 4 == 1) assert_int_equal(lh_classify(s, NULL), LH_OK);
  choose(s, &less, &random, &c);
  lh_snapshot *fewer = opened(&less, &less_file);
  assert_int_equal(lh_analyse(fewer, NULL), LH_OK);
  assert_int_equal(lh_analyse_without(s, &c.without, 1, NULL), LH_OK);
  bool ok = same_analysis(s, fewer) && rows_agree(s) && are_told(s, &c);
  if (seed % 8 == 1) {
    assert_int_equal(lh_analyse_without(s, NULL, 0, NULL), LH_OK);
    assert_int_equal(lh_analyse(whole, NULL), LH_OK);
    ok = ok && same_analysis(s, whole) && rows_agree(s);
  }
  lh_close(s);
  lh_close(whole);
  lh_close(fewer);
  forge_free(&file);
  forge_free(&less_file);
  forge_free(&whole_file);
  return ok;
}

static void as_though_they_were_gone(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 4000; seed++)
    if ((!only_seed || seed == only_seed) && !check_seed(seed)) fail_msg("seed %lu", seed);
}

/* ==== what if ======================================================================= */

/* What is reachable in s, but not in a heap without what was cut; and not in `before`. */
static lh_freed naive(const lh_snapshot *s, const random_heap *less, bool *gone,
                      const bool *before) {
  forge file;
  lh_freed freed = {0};
  lh_snapshot *fewer = opened(less, &file);
  assert_int_equal(lh_analyse(fewer, NULL), LH_OK);
  for (lh_id id = 1; id <= s->n; id++) {
    gone[id] = lh_is_reachable(s, id) && !lh_is_reachable(fewer, id);
    if (!gone[id] || (before && before[id])) continue;
    freed.objects++;
    freed.bytes += lh_shallow_bytes(s, id);
  }
  lh_close(fewer);
  forge_free(&file);
  return freed;
}

static bool same_freed(lh_freed a, lh_freed b) {
  return a.objects == b.objects && a.bytes == b.bytes;
}

static bool check_cuts(unsigned long seed) {
  enum { CUTS = 4 };
  uint64_t random = seed;
  random_heap h = random_heap_make(seed), all = h;
  forge file;
  lh_snapshot *s = opened(&h, &file);
  cuts c[CUTS];
  lh_without without[CUTS];
  lh_freed alone[CUTS], together, only_together;
  bool gone[CUTS + 1][RANDOM_MOST_OBJECTS + 1], alone_gone[RANDOM_MOST_OBJECTS + 1] = {false};
  lh_id asked = 2 + random_below(&random, h.n - 1);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  lh_error error;
  bool ok = true;
  for (int i = 0; i < CUTS; i++) {
    random_heap less = h;
    choose(s, &less, &random, &c[i]);
    without[i] =
        (lh_without){c[i].edges, c[i].without.n_edges, c[i].objects, c[i].without.n_objects};
    alone[i] = naive(s, &less, gone[i], NULL);
    for (lh_id id = 1; id <= s->n; id++) alone_gone[id] |= gone[i][id];
  }
  for (int kind = 0; kind < 2; kind++) /* values before keys, and objects after all edges */
    for (int i = 0; i < CUTS; i++)
      for (size_t k = 0; k < without[i].n_edges; k++)
        if ((without[i].edges[k].kind == LH_EDGE_KEY) == kind)
          random_heap_cut(&all, &without[i].edges[k], 1);
  for (int i = 0; i < CUTS; i++)
    for (size_t k = 0; k < without[i].n_objects; k++)
      random_heap_remove(&all, without[i].objects[k]);
  lh_freed expected = naive(s, &all, gone[CUTS], NULL);
  lh_freed expected_only = naive(s, &all, gone[CUTS], alone_gone), found[CUTS];
  assert_int_equal(lh_what_if(s, without, CUTS, asked, found, &together, &only_together, &error),
                   LH_OK);
  for (int i = 0; i < CUTS; i++) {
    ok &= same_freed(found[i], alone[i]);
    ok &= found[i].frees_it == (gone[i][asked] || !lh_is_reachable(s, asked));
  }
  ok &= same_freed(together, expected) && same_freed(only_together, expected_only);
  ok &= together.frees_it == (gone[CUTS][asked] || !lh_is_reachable(s, asked));
  ok &= rows_agree(s); /* it is as it was */
  lh_close(s);
  forge_free(&file);
  return ok;
}

static void cuts_free_what_they_free(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 2000; seed++)
    if ((!only_seed || seed == only_seed) && !check_cuts(seed)) fail_msg("seed %lu", seed);
}

/* ==================================================================================== */

/* Classes keep their names and count what is still reachable. */
static void classes_are_counted_anew(void **state) {
  (void)state;
  random_heap h = {.n = 4, .root = {2}};
  forge file;
  for (lh_id id = 2; id < 4; id++) {
    h.object[id].n_entries = 1;
    h.object[id].entry[0].value = id + 1;
  }
  lh_snapshot *s = opened(&h, &file);
  lh_id gone = 3;
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  const lh_class *of_4 = lh_class_at(s, lh_class_of(s, 4));
  const char *name = of_4->name;
  uint64_t before = of_4->objects;
  assert_int_equal(of_4->garbage_objects, 0);
  assert_int_equal(lh_analyse_without(s, &(lh_without){.objects = &gone, .n_objects = 1}, 1, NULL),
                   LH_OK);
  assert_ptr_equal(lh_class_at(s, lh_class_of(s, 4))->name, name);
  assert_true(of_4->objects < before);
  assert_int_equal(of_4->objects + of_4->garbage_objects, before);
  assert_int_equal(of_4->garbage_bytes >= lh_shallow_bytes(s, 4), 1);
  lh_close(s);
  forge_free(&file);
}

static void no_such_edges(void **state) {
  (void)state;
  random_heap h = {.n = 3, .root = {2}};
  forge file;
  lh_snapshot *s = opened(&h, &file);
  lh_edge edge = {.source = 4, .target = 2};
  lh_id ids[] = {LH_ROOT, 4, LH_NO_OBJECT};
  lh_error error;
  lh_without without = {.edges = &edge, .n_edges = 1};
  assert_int_equal(lh_analyse_without(s, &without, 1, &error), LH_EARGUMENT);
  edge = (lh_edge){.source = 2, .target = LH_ROOT};
  assert_int_equal(lh_analyse_without(s, &without, 1, &error), LH_EARGUMENT);
  edge = (lh_edge){.kind = LH_EDGE_EPHEMERON, .source = 2, .target = 3, .holder = LH_NO_OBJECT};
  assert_int_equal(lh_analyse_without(s, &without, 1, &error), LH_EARGUMENT);
  for (int i = 0; i < 3; i++) {
    without = (lh_without){.objects = &ids[i], .n_objects = 1};
    assert_int_equal(lh_analyse_without(s, &without, 1, &error), LH_EARGUMENT);
  }
  assert_int_equal(lh_analyse(s, &error), LH_OK);
  lh_close(s);
  forge_free(&file);
}

static void each_allocation_of_cuts_fails(void **state) {
  (void)state;
  random_heap h = random_heap_make(7);
  forge file;
  lh_snapshot *s = opened(&h, &file);
  lh_edge edge;
  lh_edges it;
  lh_id id = 3;
  lh_without without = {.edges = &edge, .n_edges = 1, .objects = &id, .n_objects = 1};
  lh_edges_begin(s, LH_ROOT, &it);
  assert_true(lh_edges_next(&it, &edge));
  int code = LH_EMEMORY;
  for (uint64_t nth = 1; code != LH_OK; nth++) {
    assert_int_equal(lh_analyse(s, NULL), LH_OK);
    assert_int_equal(lh_classify(s, NULL), LH_OK);
    (void)lh_test_fail_allocation(nth);
    code = lh_analyse_without(s, &without, 1, NULL);
    (void)lh_test_fail_allocation(0);
    assert_true(code == LH_OK || code == LH_EMEMORY);
    assert_true(nth < 200);
    if (code == LH_EMEMORY) assert_int_equal(lh_class_count(s), 0);
  }
  lh_freed alone, together, only_together;
  assert_int_equal(lh_analyse_without(s, NULL, 0, NULL), LH_OK);
  code = LH_EMEMORY;
  for (uint64_t nth = 1; code != LH_OK; nth++) {
    (void)lh_test_fail_allocation(nth);
    code = lh_what_if(s, &without, 1, LH_NO_OBJECT, &alone, &together, &only_together, NULL);
    (void)lh_test_fail_allocation(0);
    assert_true(code == LH_OK || code == LH_EMEMORY);
    assert_true(rows_agree(s));
  }
  lh_close(s);
  forge_free(&file);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_though_they_were_gone),      cmocka_unit_test(cuts_free_what_they_free),
      cmocka_unit_test(classes_are_counted_anew),      cmocka_unit_test(no_such_edges),
      cmocka_unit_test(each_allocation_of_cuts_fails),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
