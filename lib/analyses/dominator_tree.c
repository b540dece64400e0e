/*
** dominator_tree.c - the tree of dominators as intervals (preorder.c). 12 bytes an object.
*/
#include "analyses.h"

/* Of the vertices in `sorted`, which is freed; NULL: out of memory. The arrays have room for all,
** but of what is not written nothing becomes memory. */
static bool make_of(lh_tree *tree, lh_id *sorted) {
  const lh_snapshot *snapshot = tree->snapshot;
  size_t n = (size_t)snapshot->n + 1;
  uint32_t *size = lh_alloc(n, sizeof *size);
  tree->order = lh_alloc(n, sizeof *tree->order);
  tree->end = lh_alloc(n, sizeof *tree->end);
  tree->position = lh_alloc(n, sizeof *tree->position);
  bool ok = sorted && size && tree->order && tree->end && tree->position;
  if (ok)
    lh_order_tree(sorted, tree->n, snapshot->idom, size, tree->position, tree->order, tree->end);
  lh_free(sorted);
  lh_free(size);
  return ok;
}

bool lh_tree_make(lh_tree *tree, const lh_snapshot *snapshot) {
  *tree = (lh_tree){.snapshot = snapshot};
  return make_of(tree, lh_sort_by_distance(snapshot->n, snapshot->distance, &tree->n));
}

/* Level by level, which ends where there are no more children. */
bool lh_tree_make_below(lh_tree *tree, lh_snapshot *snapshot, lh_id top) {
  *tree = (lh_tree){.snapshot = snapshot};
  const lh_children *children = lh_find_children(snapshot);
  lh_id *sorted = children ? lh_alloc((size_t)snapshot->n + 1, sizeof *sorted) : NULL;
  if (!sorted) return false;
  sorted[tree->n++] = top;
  for (uint32_t i = 0; i < tree->n; i++)
    for (uint32_t k = children->first[sorted[i]]; k < children->first[sorted[i] + 1]; k++)
      sorted[tree->n++] = children->child[k];
  return make_of(tree, sorted);
}

void lh_tree_free(lh_tree *tree) {
  lh_free(tree->order);
  lh_free(tree->end);
  lh_free(tree->position);
}
