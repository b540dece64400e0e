/*
** merged_bytes.c - the bytes that go when all members of a set go, divided among the steps of their
** tree, with no byte twice.
**
** Whatever goes with the members is reached through members only. Where the last members on all
** paths to it are below one step, it belongs to that step, and to none that is not above or below
** it. So the bytes of a step are those of the steps below it, of its own members, and what
** several of these hold together.
**
** That is dominance in another graph: the steps become vertices, a member is entered from its
** step alone, a step from the one above, and the topmost from the root. There the step dominates
** what belongs to it, and what it retains are its bytes. For p steps: as lh_find_dominators for
** n + p vertices, and 4 (m + p) + 20 (n + p) bytes more.
*/
#include "analyses.h"

typedef struct joined {
  const lh_step_tree *tree;
  lh_graph from; /* the heap's */
  uint32_t n;    /* vertices: its objects, and from first_place on the steps */
  uint32_t first_step;
  uint32_t *first_edge;
  lh_id *edge;
} joined;

/* Puts each edge where first_edge says, or only counts it there. */
static void put_edge(joined *g, lh_id source, lh_id target) {
  if (g->edge)
    g->edge[g->first_edge[source + 1]++] = target;
  else
    g->first_edge[source + 2]++;
}

static void put_edges(joined *g) {
  const lh_step_tree *t = g->tree;
  put_edge(g, LH_ROOT, g->first_step);
  for (uint32_t i = 1; i < t->n; i++)
    put_edge(g, g->first_step + t->list[i].above, g->first_step + i);
  for (lh_id v = 0; v < g->first_step; v++) {
    if (t->is_member[v]) put_edge(g, g->first_step + t->of[v], v);
    for (uint32_t e = g->from.first_edge[v]; e < g->from.first_edge[v + 1]; e++)
      if (!t->is_member[g->from.edge[e]]) put_edge(g, v, g->from.edge[e]);
  }
}

static bool join_graphs(joined *g) {
  size_t n = (size_t)g->n + 1;
  g->first_edge = lh_alloc_zeroed(n + 2, sizeof *g->first_edge);
  if (!g->first_edge) return false;
  put_edges(g);
  for (size_t v = 0; v < n; v++) g->first_edge[v + 2] += g->first_edge[v + 1];
  g->edge = lh_alloc(g->first_edge[n + 1], sizeof *g->edge);
  if (g->edge) put_edges(g);
  return g->edge != NULL;
}

bool lh_divide_retained(lh_step_tree *t, const lh_snapshot *snapshot) {
  joined g = {.tree = t, .from = lh_graph_of(snapshot), .first_step = snapshot->n + 1};
  uint64_t n_vertices = (uint64_t)snapshot->n + t->n; /* each has at most one edge more */
  if (n_vertices + snapshot->first_edge[g.first_step] >= UINT32_MAX) return false;
  g.n = (uint32_t)n_vertices;
  size_t n = (size_t)g.n + 1;
  lh_id *idom = lh_alloc(n, sizeof *idom), *order = NULL;
  uint64_t *bytes = lh_alloc_zeroed(n, sizeof *bytes);
  uint32_t n_order;
  bool ok = idom && bytes && join_graphs(&g);
  const lh_graph graph = {g.n, g.first_edge, g.edge};
  ok = ok && lh_find_dominators(&graph, idom, &order, &n_order);
  for (lh_id v = 1; ok && v < g.first_step; v++) bytes[v] = lh_shallow_bytes(snapshot, v);
  if (ok) lh_sum_retained(order, n_order, idom, bytes);
  for (size_t i = 0; ok && i < t->n; i++) t->list[i].bytes = bytes[g.first_step + i];
  lh_free(idom);
  lh_free(order);
  lh_free(bytes);
  lh_free(g.first_edge);
  lh_free(g.edge);
  return ok;
}
