/*
** ephemeron.c - entries of weak-keyed tables: what is under a key lives while table and key both
** do.
**
** What is reachable is then the least fixpoint of "an edge from something reachable, or an
** ephemeron with both its table and its key reachable". One traversal finds it: a vertex that is
** taken from the worklist follows its edges, then looks at the ephemerons of which it is the table
** and at those of which it is the key; whichever of the two comes last finds the other one seen and
** activates the value. Each ephemeron is looked at twice, so chains (the value is the next key)
** cost no more than others.
**
** Afterwards the live ones become ordinary edges from key to value (graph.c), and the heap is a
** plain graph to everything that follows: to dominators and retained sizes the key holds the value,
** the table does not. Memory: 13 n + 20 for each ephemeron. Mostly the search for shortest paths
** tells as much, and this is asked for the rest (graph.c).
*/
#include "graph.h"

typedef struct traversal {
  const lh_graph *graph;
  uint8_t *seen;
  lh_id *worklist;
  uint32_t n_work;
  const lh_ephemeron *of_table; /* those of table v begin at first_of_table[v] */
  uint32_t *first_of_table;
  lh_ephemeron *of_key;
  uint32_t *first_of_key;
} traversal;

/* Counts into first[v + 2], sums up: first[v + 1] is where those of v begin, until they are filled
** in. */
static void sum_counts(uint32_t *first, uint32_t n) {
  for (uint32_t v = 0; v <= n; v++) first[v + 2] += first[v + 1];
}

static bool index_ephemerons(traversal *t, const lh_ephemeron *all, size_t n_all) {
  uint32_t n = t->graph->n;
  t->of_table = all;
  t->first_of_table = lh_alloc_zeroed((size_t)n + 3, sizeof(uint32_t));
  t->first_of_key = lh_alloc_zeroed((size_t)n + 3, sizeof(uint32_t));
  t->of_key = lh_alloc(n_all, sizeof *all);
  if (!t->first_of_table || !t->first_of_key || !t->of_key) return false;
  for (size_t i = 0; i < n_all; i++) {
    t->first_of_table[all[i].table + 2]++;
    t->first_of_key[all[i].key + 2]++;
  }
  sum_counts(t->first_of_table, n);
  sum_counts(t->first_of_key, n);
  for (size_t i = 0; i < n_all; i++) {
    t->first_of_table[all[i].table + 1]++;
    t->of_key[t->first_of_key[all[i].key + 1]++] = all[i];
  }
  return true;
}

static void find_alive(traversal *t, lh_id v) {
  if (t->seen[v]) return;
  t->seen[v] = LH_SEEN_ALIVE;
  t->worklist[t->n_work++] = v;
}

static void traverse(traversal *t) {
  find_alive(t, LH_ROOT);
  while (t->n_work) {
    lh_id v = t->worklist[--t->n_work];
    for (uint32_t e = t->graph->first_edge[v]; e < t->graph->first_edge[v + 1]; e++)
      find_alive(t, t->graph->edge[e]);
    if (!t->of_key) continue;
    for (uint32_t i = t->first_of_table[v]; i < t->first_of_table[v + 1]; i++)
      if (t->seen[t->of_table[i].key] == LH_SEEN_ALIVE) find_alive(t, t->of_table[i].value);
    for (uint32_t i = t->first_of_key[v]; i < t->first_of_key[v + 1]; i++)
      if (t->seen[t->of_key[i].table] == LH_SEEN_ALIVE) find_alive(t, t->of_key[i].value);
  }
}

static void traversal_free(traversal *t) {
  lh_free(t->worklist);
  lh_free(t->first_of_table);
  lh_free(t->first_of_key);
  lh_free(t->of_key);
}

bool lh_reach_alive(const lh_graph *graph, const lh_ephemeron *by_table, size_t n, uint8_t *seen) {
  traversal t = {.graph = graph, .seen = seen};
  t.worklist = lh_alloc((size_t)graph->n + 1, sizeof(lh_id));
  bool ok = t.worklist && (n == 0 || index_ephemerons(&t, by_table, n));
  if (ok) traverse(&t);
  traversal_free(&t);
  return ok;
}
