/*
** test_naming.c - the paths that objects are named by against their definition, on random graphs:
** of the paths that run through no thread the shortest, found by a search that expands none; where
** there is none, the shortest of all. A failure prints the seed of its graph.
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

#define check(seed, condition)                                      \
  do {                                                              \
    if (!(condition)) fail_msg("seed %lu: %s", (seed), #condition); \
  } while (0)

enum { N = 30, MOST_EDGES = 3 };

typedef struct graph {
  uint32_t first_edge[N + 2];
  lh_id edge[(N + 1) * MOST_EDGES];
  uint8_t kind[N + 1];
} graph;

static graph make_graph(unsigned long seed) {
  static const uint8_t kinds[] = {LH_TYPE_TABLE,  LH_TYPE_TABLE, LH_TYPE_TABLE,
                                  LH_TYPE_THREAD, LH_TYPE_PROTO, LH_TYPE_CLOSURE};
  graph g = {{0}, {0}, {0}};
  uint64_t random = seed;
  uint32_t n_edges = 0;
  for (lh_id id = 0; id <= N; id++) {
    g.first_edge[id] = n_edges;
    if (id != LH_ROOT) g.kind[id] = kinds[random_below(&random, sizeof kinds)];
    for (uint32_t n = random_below(&random, MOST_EDGES + 1); n > 0; n--)
      g.edge[n_edges++] = 1 + random_below(&random, N);
  }
  g.first_edge[N + 1] = n_edges;
  return g;
}

/* By definition, level by level; `through_threads`: of all paths. */
static void find_distances(const graph *g, bool through_threads, uint32_t *distance) {
  for (lh_id id = 0; id <= N; id++) distance[id] = LH_UNREACHED;
  distance[LH_ROOT] = 0;
  for (uint32_t level = 0; level <= N; level++) {
    for (lh_id id = 0; id <= N; id++) {
      if (distance[id] != level || (g->kind[id] == LH_TYPE_THREAD && !through_threads)) continue;
      for (uint32_t e = g->first_edge[id]; e < g->first_edge[id + 1]; e++)
        if (distance[g->edge[e]] == LH_UNREACHED) distance[g->edge[e]] = level + 1;
    }
  }
}

static bool refers_to(const graph *g, lh_id source, lh_id target) {
  for (uint32_t e = g->first_edge[source]; e < g->first_edge[source + 1]; e++)
    if (g->edge[e] == target) return true;
  return false;
}

static void names_run_through_threads_only_if_nothing_else_does(void **state) {
  (void)state;
  size_t n_named = 0;
  for (unsigned long seed = 1; seed <= 20000; seed++) {
    graph g = make_graph(seed);
    uint32_t shortest[N + 1], without[N + 1], distance[N + 1];
    lh_id parent[N + 1], *named_by = NULL;
    lh_search search = {.graph = {.n = N, .first_edge = g.first_edge, .edge = g.edge},
                        .kind = g.kind,
                        .registry = LH_NO_OBJECT,
                        .distance = distance,
                        .parent = parent,
                        .watched = LH_NO_OBJECT,
                        .named_by = &named_by};
    memset(distance, 0xFF, sizeof distance);
    assert_true(lh_search_paths(&search));
    find_distances(&g, true, shortest);
    find_distances(&g, false, without);
    for (lh_id id = 1; id <= N; id++) {
      check(seed, distance[id] == shortest[id]);
      if (distance[id] == LH_UNREACHED) continue;
      lh_id by = named_by && named_by[id] != LH_ROOT ? named_by[id] : parent[id];
      check(seed, refers_to(&g, parent[id], id) && shortest[parent[id]] + 1 == shortest[id]);
      check(seed, refers_to(&g, by, id));
      check(seed, without[id] == LH_UNREACHED ? by == parent[id] : without[by] + 1 == without[id]);
      n_named += without[id] != LH_UNREACHED && by != parent[id];
    }
    lh_free(named_by);
  }
  assert_true(n_named > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_run_through_threads_only_if_nothing_else_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
