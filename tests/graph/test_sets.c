/*
** test_sets.c - what each of many vertices reaches, against a search that adds vertices until
** nothing changes, on thousands of random graphs. A failure prints the seed of its graph: run the
** program with it as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/graph.h"

static unsigned long only_seed;

enum { MOST_VERTICES = 90, MOST_EDGES = 400 };

typedef struct sample {
  uint32_t first_edge[MOST_VERTICES + 2];
  lh_id edge[MOST_EDGES];
  lh_graph graph;
  uint8_t avoided[MOST_VERTICES + 1];
  uint64_t weight[MOST_VERTICES + 1];
  lh_id sources[MOST_VERTICES + 1];
  uint32_t n_sources;
} sample;

static uint32_t below(uint64_t *random, uint32_t n) { /* splitmix64 */
  uint64_t x = *random += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (uint32_t)((x ^ (x >> 31)) % n);
}

static sample make_sample(uint64_t random) {
  sample s = {0};
  uint32_t n = 1 + below(&random, MOST_VERTICES), m = below(&random, MOST_EDGES);
  uint32_t n_edges = 0;
  for (lh_id v = 0; v <= n; v++) {
    s.first_edge[v] = n_edges;
    for (uint32_t i = below(&random, 2 * m / n + 1); i > 0 && n_edges < MOST_EDGES; i--)
      s.edge[n_edges++] = below(&random, n + 1);
    s.avoided[v] = below(&random, 12) == 0;
    s.weight[v] = below(&random, 1000);
    if (!s.avoided[v] && below(&random, 4) != 0) s.sources[s.n_sources++] = v;
  }
  s.first_edge[n + 1] = n_edges;
  s.graph.n = n;
  return s;
}

/* Adds vertices until nothing changes. */
static lh_reached naive_reach(const sample *s, const lh_id *sources, uint32_t n_sources) {
  bool in[MOST_VERTICES + 1] = {false};
  lh_reached sum = {0};
  for (uint32_t i = 0; i < n_sources; i++) in[sources[i]] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (lh_id v = 0; v <= s->graph.n; v++) {
      for (uint32_t e = s->first_edge[v]; in[v] && e < s->first_edge[v + 1]; e++) {
        lh_id to = s->edge[e];
        changed |= !in[to] && !s->avoided[to];
        in[to] |= !s->avoided[to];
      }
    }
  }
  for (lh_id v = 0; v <= s->graph.n; v++) {
    sum.objects += in[v];
    sum.bytes += in[v] ? s->weight[v] : 0;
  }
  return sum;
}

static bool same(lh_reached a, lh_reached b) {
  return a.objects == b.objects && a.bytes == b.bytes;
}

static void many_reach_what_each_reaches(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 3000; seed++) {
    if (only_seed && seed != only_seed) continue;
    sample s = make_sample(seed);
    lh_reached sums[MOST_VERTICES + 1], together;
    uint32_t n_asked = s.n_sources - (seed % 3 == 0 ? s.n_sources / 2 : 0);
    s.graph.first_edge = s.first_edge;
    s.graph.edge = s.edge;
    if (!lh_reach_each(&s.graph, s.avoided, s.weight, s.sources, s.n_sources, n_asked, sums,
                       &together))
      fail_msg("out of memory");
    bool ok = same(together, naive_reach(&s, s.sources, s.n_sources));
    for (uint32_t i = 0; i < n_asked; i++) ok &= same(sums[i], naive_reach(&s, &s.sources[i], 1));
    if (!ok) fail_msg("seed %lu", seed);
  }
}

/* A ring of a million vertices, with a tail: no recursion, and one component. */
static void a_ring_of_a_million(void **state) {
  (void)state;
  enum { N = 1000000 };
  lh_graph graph = {.n = N};
  uint32_t *first_edge = malloc((N + 2) * sizeof *first_edge);
  lh_id *edge = malloc((N + 1) * sizeof *edge), sources[2] = {1, N / 2};
  uint8_t *avoided = calloc(N + 1, 1);
  uint64_t *weight = calloc(N + 1, sizeof *weight);
  lh_reached sums[2], together;
  for (uint32_t v = 0; v <= N; v++) {
    first_edge[v] = v;
    edge[v] = v < N ? v + 1 : N / 2;
    weight[v] = 1;
  }
  first_edge[N + 1] = N + 1;
  graph.first_edge = first_edge;
  graph.edge = edge;
  assert_true(lh_reach_each(&graph, avoided, weight, sources, 2, 2, sums, &together));
  assert_int_equal(sums[0].objects, N);
  assert_int_equal(sums[1].bytes, N / 2 + 1);
  assert_int_equal(together.bytes, N);
  free(first_edge);
  free(edge);
  free(avoided);
  free(weight);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_reach_what_each_reaches),
      cmocka_unit_test(a_ring_of_a_million),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
