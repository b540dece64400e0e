/*
** preorder.c - a tree over the vertices (dominators or shortest paths) in preorder.
**
** A subtree is an interval, so questions about subtrees are sums over arrays. The snapshot keeps
** its dominator tree until a question that needs much memory drops it. 12 bytes an object, and 8
** more while it is made; 2.2 million objects take 0.05 s.
*/
#include "graph.h"

lh_id *lh_sort_by_distance(uint32_t n, const uint32_t *distance, uint32_t *n_reached) {
  lh_id *sorted = lh_alloc((size_t)n + 1, sizeof *sorted);
  uint32_t *first = lh_alloc_zeroed((size_t)n + 1, sizeof *first), reached = 0, sum = 0;
  if (!sorted || !first) {
    LH_FREE_ALL(sorted, first);
    return NULL;
  }
  for (lh_id v = 0; v <= n; v++) {
    if (distance[v] > n) continue;
    first[distance[v]]++;
    reached++;
  }
  for (uint32_t d = 0, count; sum < reached; d++, sum += count) {
    count = first[d];
    first[d] = sum;
  }
  for (lh_id v = 0; v <= n; v++)
    if (distance[v] <= n) sorted[first[distance[v]]++] = v;
  *n_reached = reached;
  lh_free(first);
  return sorted;
}

/* `sorted`: parents first. `below`: zeros; of each vertex, how many are below it and not placed. */
static void order_tree(lh_tree *tree, const lh_id *sorted, const lh_id *parent, uint32_t *below) {
  uint32_t *position = tree->position, *end = tree->end, n = tree->n;
  lh_id *order = tree->order;
  for (uint32_t i = n; i-- > 1;) below[parent[sorted[i]]] += below[sorted[i]] + 1;
  position[sorted[0]] = 0;
  order[0] = sorted[0];
  end[0] = n;
  for (uint32_t i = 1; i < n; i++) { /* from the end of the parent's free interval */
    lh_id v = sorted[i], above = parent[v];
    uint32_t of = below[v] + 1, left = below[above] - of, at = position[above] + left + 1;
    below[above] = left;
    position[v] = at;
    order[at] = v;
    end[at] = at + of;
  }
}

bool lh_make_tree(lh_tree *tree, uint32_t n, const lh_id *sorted, uint32_t n_sorted,
                  const lh_id *parent) {
  size_t n_vertices = (size_t)n + 1;
  *tree = (lh_tree){.n = n_sorted};
  uint32_t *below = lh_alloc_zeroed(n_vertices, sizeof *below);
  tree->position = lh_alloc(n_vertices, sizeof *tree->position);
  tree->order = lh_alloc(tree->n, sizeof *tree->order);
  tree->end = lh_alloc(tree->n, sizeof *tree->end);
  bool ok = below && tree->order && tree->end && tree->position;
  if (ok) {
    memset(tree->position, 0xFF, n_vertices * sizeof *tree->position);
    order_tree(tree, sorted, parent, below);
  }
  lh_free(below);
  return ok;
}

void lh_free_tree(lh_tree *tree) {
  LH_FREE_ALL(tree->order, tree->end, tree->position);
}

static void free_dominator_tree(lh_tree *tree) {
  if (tree) lh_free_tree(tree);
  lh_free(tree);
}

void lh_drop_dominator_tree(lh_snapshot *snapshot) {
  free_dominator_tree(snapshot->dominator_tree);
  snapshot->dominator_tree = NULL;
}

const lh_tree *lh_dominator_tree(lh_snapshot *snapshot) {
  if (snapshot->dominator_tree) return snapshot->dominator_tree;
  uint32_t n_sorted;
  lh_id *sorted = lh_sort_by_distance(snapshot->n, snapshot->distance, &n_sorted);
  const lh_tree *tree = sorted ? lh_dominator_tree_of(snapshot, sorted, n_sorted) : NULL;
  lh_free(sorted);
  return tree;
}

const lh_tree *lh_dominator_tree_of(lh_snapshot *snapshot, const lh_id *sorted, uint32_t n_sorted) {
  if (snapshot->dominator_tree) return snapshot->dominator_tree;
  lh_tree *tree = lh_alloc_zeroed(1, sizeof *tree);
  if (!tree) return NULL;
  if (!lh_make_tree(tree, snapshot->n, sorted, n_sorted, snapshot->idom)) {
    free_dominator_tree(tree);
    return NULL;
  }
  tree->snapshot = snapshot;
  snapshot->dominator_tree = tree;
  snapshot->free_dominator_tree = free_dominator_tree;
  return tree;
}
