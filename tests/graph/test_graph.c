/*
** test_graph.c - the graph algorithms against oracles on thousands of random graphs, and on graphs
** of a million vertices whose answers are known.
**
** An oracle is the definition written down: what stays reachable when this is taken away. It works
** on a list of edges, relaxes until nothing changes, and shares nothing with the library. A failure
** prints the seed of its graph: run the program with it as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

/* ==== random graphs ================================================================= */

enum { MOST_VERTICES = 64, MOST_EDGES = 1024, MOST_EPHEMERONS = 64, N_SETS = 4 };

typedef struct pair {
  lh_id from, to;
} pair;

typedef struct sample {
  uint64_t seed, random;
  uint32_t n; /* vertices 0..n */
  pair edges[MOST_EDGES];
  size_t n_edges;
  lh_ephemeron ephemerons[MOST_EPHEMERONS]; /* by table */
  size_t n_ephemerons;
  uint8_t kind[MOST_VERTICES];
  lh_id registry;
  uint64_t shallow[MOST_VERTICES];
  uint32_t set_of[MOST_VERTICES];
  /* the same in rows, with room for the ephemerons */
  uint32_t first_edge[MOST_VERTICES + 1];
  lh_id rows[MOST_EDGES + MOST_EPHEMERONS];
} sample;

#define check(sample, condition)                                                                 \
  do {                                                                                           \
    if (!(condition)) fail_msg("seed %llu: %s", (unsigned long long)(sample)->seed, #condition); \
  } while (0)

static uint32_t below(sample *s, uint32_t n) { /* splitmix64 */
  uint64_t x = s->random += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (uint32_t)((x ^ (x >> 31)) % n);
}

static void connect(sample *s, lh_id from, lh_id to) {
  if (s->n_edges < MOST_EDGES && from <= s->n && to <= s->n)
    s->edges[s->n_edges++] = (pair){from, to};
}

static void scatter(sample *s, uint32_t n_edges) {
  for (uint32_t i = 0; i < n_edges; i++) connect(s, below(s, s->n + 1), below(s, s->n + 1));
}

/* Root -> 1 -> 2 -> ... with some edges forth and back. */
static void make_chain(sample *s) {
  for (lh_id v = 0; v < s->n; v++) connect(s, v, v + 1);
  scatter(s, below(s, 5));
}

/* 0 -> (1 | 2) -> 3 -> (4 | 5) -> 6 ... */
static void make_diamonds(sample *s) {
  for (lh_id v = 0; v < s->n; v += 3) {
    connect(s, v, v + 1);
    connect(s, v, v + 2);
    connect(s, v + 1, v + 3);
    connect(s, v + 2, v + 3);
  }
  scatter(s, below(s, 4));
}

static void make_ring(sample *s) {
  for (lh_id v = 1; v <= s->n; v++) connect(s, v, v % s->n + 1);
  for (uint32_t i = below(s, 3) + 1; i > 0; i--) connect(s, 0, below(s, s->n) + 1);
  scatter(s, s->n / 3);
}

/* Two ways in at both ends of a ladder that runs in both directions: loops with several entries. */
static void make_irreducible(sample *s) {
  connect(s, 0, 1);
  connect(s, 0, s->n);
  for (lh_id v = 1; v < s->n; v++) {
    connect(s, v, v + 1);
    if (below(s, 4)) connect(s, v + 1, v);
  }
  scatter(s, below(s, 3));
}

/* Objects and the strings that they share, as in a heap. */
static void make_heap(sample *s) {
  uint32_t n_tables = s->n / 2 + 1;
  for (lh_id v = 1; v <= n_tables; v++) connect(s, below(s, v), v);
  for (lh_id v = n_tables + 1; v <= s->n; v++)
    for (uint32_t i = below(s, 4) + 1; i > 0; i--) connect(s, below(s, n_tables + 1), v);
}

static void make_edges(sample *s) {
  switch (below(s, 7)) {
    case 0: scatter(s, s->n + below(s, s->n + 1)); break;
    case 1: scatter(s, 4 * s->n); break;
    case 2: make_chain(s); break;
    case 3: make_diamonds(s); break;
    case 4: make_ring(s); break;
    case 5: make_irreducible(s); break;
    default: make_heap(s); break;
  }
}

static int by_table(const void *a, const void *b) {
  const lh_ephemeron *x = a, *y = b;
  return x->table < y->table ? -1 : x->table > y->table;
}

static void make_rows(sample *s) {
  uint32_t at = 0;
  for (lh_id v = 0; v <= s->n; v++) {
    s->first_edge[v] = at;
    for (size_t i = 0; i < s->n_edges; i++)
      if (s->edges[i].from == v) s->rows[at++] = s->edges[i].to;
  }
  s->first_edge[s->n + 1] = at;
}

static void make_sample(sample *s, uint64_t seed) {
  static const uint8_t kinds[] = {LH_TYPE_TABLE,  LH_TYPE_STRING, LH_TYPE_CLOSURE,
                                  LH_TYPE_THREAD, LH_TYPE_PROTO,  LH_TYPE_TABLE | LH_KIND_OWN};
  memset(s, 0, sizeof *s);
  s->seed = s->random = seed;
  s->n = 1 + below(s, below(s, 8) ? 12 : MOST_VERTICES - 2);
  make_edges(s);
  for (lh_id v = 1; v <= s->n; v++) {
    s->kind[v] = kinds[below(s, sizeof kinds)];
    s->shallow[v] = 1 + below(s, 100);
    s->set_of[v] = below(s, N_SETS + 3); /* the last three: in none */
  }
  s->set_of[0] = N_SETS;
  s->registry = 1 + below(s, s->n);
  if (below(s, 2))
    for (uint32_t i = below(s, s->n + 1); i > 0; i--)
      s->ephemerons[s->n_ephemerons++] = (lh_ephemeron){
          .table = 1 + below(s, s->n), .key = 1 + below(s, s->n), .value = 1 + below(s, s->n)};
  qsort(s->ephemerons, s->n_ephemerons, sizeof *s->ephemerons, by_table);
  make_rows(s);
}

static lh_graph graph_of(const sample *s) {
  return (lh_graph){s->n, s->first_edge, s->rows};
}

/* ==== oracles ======================================================================= */

/* What is reachable when no path may touch what is taken away: relaxed until nothing changes. */
static void reach_without(const sample *s, const bool *taken, bool *reached) {
  memset(reached, 0, MOST_VERTICES);
  reached[0] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < s->n_edges; i++) {
      pair e = s->edges[i];
      if (!reached[e.from] || reached[e.to] || (taken && taken[e.to])) continue;
      changed = reached[e.to] = true;
    }
  }
}

static uint64_t bytes_lost(const sample *s, const bool *taken) {
  bool all[MOST_VERTICES], left[MOST_VERTICES];
  uint64_t bytes = 0;
  reach_without(s, NULL, all);
  reach_without(s, taken, left);
  for (lh_id v = 0; v <= s->n; v++)
    if (all[v] && !left[v]) bytes += s->shallow[v];
  return bytes;
}

static void relax_distances(const sample *s, const bool *taken, uint32_t *distance) {
  for (lh_id v = 0; v <= s->n; v++) distance[v] = taken && taken[v] ? LH_AVOIDED : LH_UNREACHED;
  distance[0] = 0;
  for (uint32_t round = 0; round <= s->n; round++)
    for (size_t i = 0; i < s->n_edges; i++) {
      pair e = s->edges[i];
      if (distance[e.from] >= LH_AVOIDED || distance[e.to] == LH_AVOIDED) continue;
      if (distance[e.from] + 1 < distance[e.to]) distance[e.to] = distance[e.from] + 1;
    }
}

static unsigned penalty_of(const sample *s, lh_id v) {
  if (s->kind[v] & LH_KIND_OWN) return 5;
  if (v == s->registry) return 2;
  if (s->kind[v] == LH_TYPE_CLOSURE) return 1;
  return s->kind[v] == LH_TYPE_THREAD ? 3 : s->kind[v] == LH_TYPE_PROTO ? 4 : 0;
}

/* The least, over all shortest paths to v, of the worst penalty on the path, v included. */
static void relax_penalties(const sample *s, const uint32_t *distance, unsigned *penalty) {
  for (lh_id v = 0; v <= s->n; v++) penalty[v] = v ? 99 : 0;
  for (uint32_t round = 0; round <= s->n; round++)
    for (size_t i = 0; i < s->n_edges; i++) {
      pair e = s->edges[i];
      if (distance[e.from] >= LH_AVOIDED || distance[e.from] + 1 != distance[e.to]) continue;
      unsigned through = penalty[e.from], own = penalty_of(s, e.to);
      if (own > through) through = own;
      if (through < penalty[e.to]) penalty[e.to] = through;
    }
}

/* dominates[v][w]: v != w, and w is lost without v. */
static void find_dominance(const sample *s, bool dominates[][MOST_VERTICES]) {
  bool all[MOST_VERTICES], left[MOST_VERTICES];
  reach_without(s, NULL, all);
  for (lh_id v = 0; v <= s->n; v++) {
    bool taken[MOST_VERTICES] = {false};
    taken[v] = true;
    if (v) reach_without(s, taken, left);
    for (lh_id w = 0; w <= s->n; w++) dominates[v][w] = v != w && all[w] && (v == 0 || !left[w]);
  }
}

/* ==== each algorithm against its oracle ============================================= */

static void check_dominators(const sample *s) {
  static bool dominates[MOST_VERTICES][MOST_VERTICES];
  lh_graph graph = graph_of(s);
  lh_id idom[MOST_VERTICES], *order;
  uint32_t n_order;
  uint64_t bytes[MOST_VERTICES];
  bool all[MOST_VERTICES];
  check(s, lh_find_dominators(&graph, idom, &order, &n_order));
  find_dominance(s, dominates);
  reach_without(s, NULL, all);
  for (lh_id v = 0; v <= s->n; v++) {
    bytes[v] = all[v] ? s->shallow[v] : 0;
    if (v == 0 || !all[v]) {
      check(s, idom[v] == LH_NO_OBJECT);
      continue;
    }
    check(s, idom[v] <= s->n && dominates[idom[v]][v]);
    for (lh_id d = 0; d <= s->n; d++)
      check(s, !dominates[d][v] || d == idom[v] || dominates[d][idom[v]]);
  }
  lh_sum_retained(order, n_order, idom, bytes);
  for (lh_id v = 1; v <= s->n; v++) {
    bool taken[MOST_VERTICES] = {false};
    taken[v] = true;
    check(s, bytes[v] == bytes_lost(s, taken));
  }
  free(order);
}

static lh_search search_of(const sample *s, const bool *taken, uint32_t *distance, lh_id *parent) {
  for (lh_id v = 0; v <= s->n; v++) distance[v] = taken && taken[v] ? LH_AVOIDED : LH_UNREACHED;
  return (lh_search){.graph = graph_of(s),
                     .kind = s->kind,
                     .registry = s->registry,
                     .distance = distance,
                     .parent = parent,
                     .watched = LH_NO_OBJECT};
}

static bool has_edge(const sample *s, lh_id from, lh_id to) {
  for (size_t i = 0; i < s->n_edges; i++)
    if (s->edges[i].from == from && s->edges[i].to == to) return true;
  return false;
}

static void check_search(const sample *s, const bool *taken) {
  uint32_t distance[MOST_VERTICES], right[MOST_VERTICES];
  unsigned penalty[MOST_VERTICES];
  lh_id parent[MOST_VERTICES];
  lh_search search = search_of(s, taken, distance, parent);
  check(s, lh_search_paths(&search));
  relax_distances(s, taken, right);
  relax_penalties(s, right, penalty);
  for (lh_id v = 0; v <= s->n; v++) {
    check(s, distance[v] == right[v]);
    if (v == 0 || distance[v] >= LH_AVOIDED) continue;
    check(s, has_edge(s, parent[v], v) && distance[parent[v]] + 1 == distance[v]);
    for (lh_id u = 0; u <= s->n; u++)
      check(s, !has_edge(s, u, v) || distance[u] != distance[parent[v]] ||
                   penalty[parent[v]] < penalty[u] ||
                   (penalty[parent[v]] == penalty[u] && parent[v] >= u));
  }
}

/* The k best referrers, by distance, then by penalty. */
static void check_watch(sample *s) {
  uint32_t distance[MOST_VERTICES], right[MOST_VERTICES];
  unsigned penalty[MOST_VERTICES];
  bool taken[MOST_VERTICES] = {false};
  lh_id parent[MOST_VERTICES], found[MOST_VERTICES], watched = 1 + below(s, s->n);
  taken[watched] = true;
  lh_search search = search_of(s, taken, distance, parent);
  search.watched = watched;
  search.found = found;
  search.max_found = 1 + below(s, 5);
  check(s, lh_search_paths(&search));
  relax_distances(s, taken, right);
  relax_penalties(s, right, penalty);
  size_t n_referrers = 0, n_better;
  for (lh_id v = 0; v <= s->n; v++) n_referrers += right[v] < LH_AVOIDED && has_edge(s, v, watched);
  check(s, search.n_found == (n_referrers < search.max_found ? n_referrers : search.max_found));
  for (size_t i = 0; i < search.n_found; i++) {
    lh_id v = found[i];
    check(s, has_edge(s, v, watched) && distance[v] == right[v]);
    n_better = 0;
    for (lh_id u = 0; u <= s->n; u++)
      n_better += right[u] < LH_AVOIDED && has_edge(s, u, watched) &&
                  (right[u] < right[v] || (right[u] == right[v] && penalty[u] < penalty[v]));
    check(s, n_better <= i);
    for (size_t j = 0; j < i; j++) check(s, found[j] != v);
  }
}

static void check_unions(const sample *s) {
  lh_graph graph = graph_of(s);
  lh_id idom[MOST_VERTICES], parent[MOST_VERTICES], *order;
  uint32_t n_order, distance[MOST_VERTICES];
  uint64_t retained[MOST_VERTICES];
  lh_search search = search_of(s, NULL, distance, parent);
  check(s, lh_search_paths(&search) && lh_find_dominators(&graph, idom, &order, &n_order));
  uint32_t shallow[MOST_VERTICES];
  for (lh_id v = 0; v <= s->n; v++) {
    retained[v] = distance[v] == LH_UNREACHED ? 0 : s->shallow[v];
    shallow[v] = v % 5 ? (uint32_t)s->shallow[v] : UINT32_MAX;
  }
  lh_sum_retained(order, n_order, idom, retained);
  free(order);
  lh_snapshot snapshot = {.n = s->n,
                          .first_edge = (uint32_t *)graph.first_edge,
                          .edge = (lh_id *)graph.edge,
                          .distance = distance,
                          .parent = parent,
                          .idom = idom,
                          .retained = retained,
                          .shallow = shallow};
  lh_unions unions;
  check(s, lh_bound_sets(&unions, &snapshot, s->set_of, N_SETS));
  for (uint32_t set = 0; set < N_SETS; set++) {
    bool taken[MOST_VERTICES] = {false};
    for (lh_id v = 1; v <= s->n; v++) taken[v] = s->set_of[v] == set;
    uint64_t bytes = bytes_lost(s, taken);
    check(s, unions.lower[set] <= bytes && bytes <= unions.upper[set]);
    check(s, lh_exact_union(&unions, set));
    check(s, unions.lower[set] == bytes && unions.upper[set] == bytes);
  }
  lh_free_unions(&unions);
  lh_drop_dominator_tree(&snapshot);
}

/* Adds to the oracle's edges what the definition of an ephemeron says, until nothing changes. */
static void check_ephemerons(sample *s) {
  bool reached[MOST_VERTICES], used[MOST_EPHEMERONS] = {false};
  uint8_t seen[MOST_VERTICES] = {0};
  lh_graph graph = graph_of(s);
  check(s, lh_reach_alive(&graph, s->ephemerons, s->n_ephemerons, seen));
  for (bool changed = true; changed;) {
    changed = false;
    reach_without(s, NULL, reached);
    for (size_t i = 0; i < s->n_ephemerons; i++) {
      lh_ephemeron e = s->ephemerons[i];
      if (used[i] || !reached[e.table] || !reached[e.key]) continue;
      changed = used[i] = true;
      s->edges[s->n_edges++] = (pair){e.key, e.value};
    }
  }
  for (lh_id v = 0; v <= s->n; v++) check(s, reached[v] == (seen[v] == LH_SEEN_ALIVE));
  make_rows(s);
}

static void check_sample(uint64_t seed) {
  static sample s;
  bool taken[MOST_VERTICES] = {false};
  make_sample(&s, seed);
  if (s.n_edges > MOST_EDGES - MOST_EPHEMERONS) s.n_edges = MOST_EDGES - MOST_EPHEMERONS;
  make_rows(&s);
  check_ephemerons(&s);
  check_dominators(&s);
  check_search(&s, NULL);
  for (lh_id v = 1; v <= s.n; v++) taken[v] = below(&s, 4) == 0;
  check_search(&s, taken);
  check_watch(&s);
  check_unions(&s);
}

static void random_graphs(void **state) {
  const char *only = *state;
  if (only) {
    check_sample(strtoull(only, NULL, 10));
    return;
  }
  for (uint64_t seed = 1; seed <= 20000; seed++) check_sample(seed);
}

/* ==== a million vertices ============================================================ */

enum { MILLION = 1000000 };

typedef struct big_graph {
  uint32_t *first_edge, *distance;
  lh_id *edge, *parent, *idom, *order;
  uint8_t *kind;
  uint64_t *bytes;
  lh_ephemeron *ephemerons;
} big_graph;

static void make_big(big_graph *b) {
  b->first_edge = malloc((MILLION + 2) * sizeof *b->first_edge);
  b->distance = malloc((MILLION + 1) * sizeof *b->distance);
  b->edge = malloc(2 * MILLION * sizeof *b->edge);
  b->parent = malloc((MILLION + 1) * sizeof *b->parent);
  b->idom = malloc((MILLION + 1) * sizeof *b->idom);
  b->kind = calloc(MILLION + 1, 1);
  b->bytes = malloc((MILLION + 1) * sizeof *b->bytes);
  b->ephemerons = malloc(MILLION * sizeof *b->ephemerons);
  assert_true(b->first_edge && b->distance && b->edge && b->parent && b->idom && b->kind &&
              b->bytes && b->ephemerons);
}

static void free_big(big_graph *b) {
  free(b->first_edge);
  free(b->distance);
  free(b->edge);
  free(b->parent);
  free(b->idom);
  free(b->kind);
  free(b->bytes);
  free(b->ephemerons);
}

static void analyse_big(big_graph *b) {
  uint32_t n_order;
  lh_graph graph = {MILLION, b->first_edge, b->edge};
  lh_search search = {.graph = graph,
                      .kind = b->kind,
                      .registry = 1,
                      .distance = b->distance,
                      .parent = b->parent,
                      .watched = LH_NO_OBJECT};
  for (lh_id v = 0; v <= MILLION; v++) b->distance[v] = LH_UNREACHED;
  for (lh_id v = 0; v <= MILLION; v++) b->bytes[v] = 1;
  assert_true(lh_search_paths(&search));
  assert_true(lh_find_dominators(&graph, b->idom, &b->order, &n_order));
  assert_int_equal(n_order, MILLION + 1);
  lh_sum_retained(b->order, n_order, b->idom, b->bytes);
  free(b->order);
}

static void check_chain(const big_graph *b) {
  for (lh_id v = 1; v <= MILLION; v++)
    if (b->distance[v] != v || b->parent[v] != v - 1 || b->idom[v] != v - 1 ||
        b->bytes[v] != MILLION - v + 1)
      fail_msg("at %u", v);
}

static void chain(void **state) { /* 0 -> 1 -> 2 -> ... */
  big_graph b;
  (void)state;
  make_big(&b);
  for (lh_id v = 0; v <= MILLION; v++) b.first_edge[v] = v;
  b.first_edge[MILLION + 1] = MILLION;
  for (lh_id v = 0; v < MILLION; v++) b.edge[v] = v + 1;
  analyse_big(&b);
  check_chain(&b);
  free_big(&b);
}

static void chain_with_way_back(void **state) { /* 0 -> 1 <-> 2 <-> ... <-> n, 0 -> n */
  big_graph b;
  (void)state;
  make_big(&b);
  b.edge[0] = 1;
  b.edge[1] = MILLION;
  b.first_edge[0] = 0;
  for (lh_id v = 1; v <= MILLION; v++) {
    b.first_edge[v] = 2 * v - (v > 1);
    b.edge[b.first_edge[v]] = v > 1 ? v - 1 : 2;
    if (v > 1 && v < MILLION) b.edge[b.first_edge[v] + 1] = v + 1;
  }
  b.first_edge[2] = 3;
  b.first_edge[MILLION + 1] = 2 * MILLION;
  analyse_big(&b);
  for (lh_id v = 1; v <= MILLION; v++) {
    uint32_t distance = v <= MILLION / 2 ? v : MILLION - v + 1;
    if (b.distance[v] != distance || b.idom[v] != 0 || b.bytes[v] != 1) fail_msg("at %u", v);
  }
  free_big(&b);
}

static void star(void **state) { /* 0 -> 1 -> everything */
  big_graph b;
  (void)state;
  make_big(&b);
  b.first_edge[0] = 0;
  b.first_edge[1] = 1;
  for (lh_id v = 2; v <= MILLION + 1; v++) b.first_edge[v] = MILLION;
  for (lh_id v = 1; v <= MILLION; v++) b.edge[v - 1] = v;
  analyse_big(&b);
  for (lh_id v = 2; v <= MILLION; v++)
    if (b.distance[v] != 2 || b.idom[v] != 1 || b.bytes[v] != 1) fail_msg("at %u", v);
  assert_int_equal(b.bytes[1], MILLION);
  free_big(&b);
}

/* v -> 2 v + 1, 2 v + 2, and leaves with two referrers, of which every third has one alone. */
static lh_id referrer(lh_id v, unsigned i) {
  if (v <= MILLION / 2) return (v - 1) / 2;
  return (uint32_t)((uint64_t)v * (i && v % 3 ? 40503 : 2654435761u) % (MILLION / 2 + 1));
}

static void shared_leaves(void **state) {
  big_graph b;
  (void)state;
  make_big(&b);
  memset(b.first_edge, 0, (MILLION + 2) * sizeof *b.first_edge);
  for (uint32_t k = 2; k < 2 * MILLION + 2; k++) b.first_edge[referrer(k / 2, k % 2)]++;
  for (lh_id v = 0; v <= MILLION; v++) b.first_edge[v + 1] += b.first_edge[v];
  for (uint32_t k = 2; k < 2 * MILLION + 2; k++)
    b.edge[--b.first_edge[referrer(k / 2, k % 2)]] = k / 2;
  analyse_big(&b);
  for (lh_id v = 1; v <= MILLION; v++) {
    lh_id at = referrer(v, 0), other = referrer(v, 1);
    while (at != other) {
      lh_id *deeper = at > other ? &at : &other;
      *deeper = (*deeper - 1) / 2;
    }
    if (b.idom[v] != at) fail_msg("at %u", v);
  }
  free_big(&b);
}

/* 0 -> 1, and 1 is the table of n - 1 ephemerons v -> v + 1. */
static void ephemeron_chain(void **state) {
  big_graph b;
  size_t n = 0;
  (void)state;
  make_big(&b);
  b.first_edge[0] = 0;
  for (lh_id v = 1; v <= MILLION + 1; v++) b.first_edge[v] = 1;
  b.edge[0] = 1;
  for (lh_id v = MILLION - 1; v >= 1; v--)
    b.ephemerons[n++] = (lh_ephemeron){.table = 1, .key = v, .value = v + 1};
  lh_graph graph = {MILLION, b.first_edge, b.edge};
  uint8_t *seen = calloc(MILLION + 1, 1);
  assert_true(seen && lh_reach_alive(&graph, b.ephemerons, n, seen));
  for (lh_id v = 0; v <= MILLION; v++) assert_int_equal(seen[v], LH_SEEN_ALIVE);
  free(seen);
  for (lh_id v = 0; v <= MILLION; v++) {
    b.first_edge[v] = v;
    b.edge[v] = v + 1;
  }
  b.first_edge[MILLION + 1] = MILLION;
  analyse_big(&b);
  check_chain(&b);
  free_big(&b);
}

/* ==================================================================================== */

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(random_graphs, argc > 1 ? argv[1] : NULL),
      cmocka_unit_test(chain),
      cmocka_unit_test(chain_with_way_back),
      cmocka_unit_test(star),
      cmocka_unit_test(shared_leaves),
      cmocka_unit_test(ephemeron_chain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
