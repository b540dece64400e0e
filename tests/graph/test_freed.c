/*
** test_freed.c - what goes when a set goes, and what refers to it: of random heaps with weak
** tables, by the index of referrers and without it, against a search that touches no member and a
** pass over all edges.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "random_heap.h"

enum { HEAPS = 500, SETS = 8, MOST = RANDOM_MOST_OBJECTS + 1 };

/* By the definition: what the root reaches, but not when no path may touch the ids. */
static void search(const lh_snapshot *s, const lh_id *ids, size_t n, uint8_t *seen) {
  lh_graph graph = lh_graph_of(s);
  memset(seen, 0, (size_t)s->n + 1);
  for (size_t i = 0; i < n; i++) seen[ids[i]] = LH_SEEN_GONE;
  assert_true(lh_reach_alive(&graph, NULL, 0, seen));
}

static void check_going(lh_snapshot *s, const lh_id *ids, size_t n) {
  uint8_t seen[MOST] = {0}, is_listed[MOST] = {0};
  lh_freed_set freed;
  uint64_t bytes, sum = 0, objects;
  size_t n_gone = 0;
  search(s, ids, n, seen);
  assert_true(lh_find_freed(&freed, s, ids, n));
  for (size_t i = 0; i < freed.n; i++) {
    assert_false(is_listed[freed.list[i]]++);
    assert_true(freed.is_freed[freed.list[i]]);
  }
  for (lh_id id = 0; id <= s->n; id++) {
    bool is_freed = lh_is_reachable(s, id) && seen[id] != LH_SEEN_ALIVE;
    assert_int_equal(freed.is_freed[id], is_freed);
    assert_int_equal(is_listed[id], is_freed);
    n_gone += is_freed;
    if (is_freed) sum += lh_shallow_bytes(s, id);
  }
  assert_int_equal(freed.n, n_gone);
  for (size_t i = 0; i < n; i++)
    if (freed.n_members < freed.n) assert_true(ids[i] != freed.list[freed.n_members]);
  lh_freed_set_free(&freed);
  assert_int_equal(lh_retained_together(s, ids, n, &bytes, &objects, NULL), LH_OK);
  assert_int_equal(bytes, sum);
  assert_int_equal(objects, n_gone);
}

static void check_sources(const lh_snapshot *s, const lh_id *ids, size_t n) {
  uint8_t refers[MOST] = {0}, right[MOST] = {0}, is_one[MOST] = {0};
  for (size_t i = 0; i < n; i++) is_one[ids[i]] = 1;
  for (lh_id id = 0; id <= s->n; id++)
    for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++)
      for (size_t i = 0; i < n; i++)
        right[id] |= s->edge[e] == ids[i] && !(s->label[e] & LH_LABEL_ASIDE);
  lh_mark_sources(s, ids, n, is_one, refers);
  assert_memory_equal(refers, right, sizeof right);
}

static void check_sets(lh_snapshot *s, uint64_t random) {
  for (int set = 0; set < SETS; set++) {
    lh_id ids[MOST];
    size_t n = 0;
    uint32_t one_of = 2 + random_below(&random, 8);
    for (lh_id id = 1; id <= s->n; id++)
      if (random_below(&random, one_of) == 0) ids[n++] = id;
    check_going(s, ids, n);
    check_sources(s, ids, n);
  }
}

static void make_index(lh_snapshot *s) {
  lh_edge *edges;
  size_t n;
  assert_int_equal(lh_referrers(s, 1, &edges, &n, NULL), LH_OK);
  lh_free(edges);
}

/* The edges to each vertex are those of the rows, one after the other. */
static void check_index(const lh_snapshot *s) {
  for (lh_id target = 0; target <= s->n; target++) {
    size_t n, i = 0;
    const uint32_t *edges = lh_edges_to(s, target, &n);
    for (lh_id id = 0; id <= s->n; id++)
      for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++) {
        assert_int_equal(lh_source_of_edge(s, e), id);
        if (s->edge[e] == target && !(s->label[e] & LH_LABEL_ASIDE))
          assert_true(i < n && edges[i++] == e);
      }
    assert_int_equal(i, n);
  }
}

static void with_index_and_without(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= HEAPS; seed++) {
    random_heap h = random_heap_make(seed);
    forge file;
    lh_snapshot *s = random_heap_open(&h, &file);
    assert_int_equal(lh_analyse(s, NULL), LH_OK);
    assert_false(lh_has_edges_to(s));
    check_sets(s, seed);
    make_index(s);
    assert_true(lh_has_edges_to(s));
    check_index(s);
    check_sets(s, seed);
    lh_close(s);
    forge_free(&file);
  }
}

/* The index of a heap of which something is left out tells that apart. */
static void what_is_left_out_refers_to_nothing(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= HEAPS; seed++) {
    uint64_t random = seed;
    random_heap h = random_heap_make(seed);
    forge file;
    lh_snapshot *s = random_heap_open(&h, &file);
    lh_id gone = 2 + random_below(&random, lh_object_count(s) - 1);
    lh_without without = {.objects = &gone, .n_objects = 1};
    assert_int_equal(lh_analyse_without(s, &without, 1, NULL), LH_OK);
    make_index(s);
    check_index(s);
    check_sets(s, seed);
    lh_close(s);
    forge_free(&file);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(with_index_and_without),
      cmocka_unit_test(what_is_left_out_refers_to_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
