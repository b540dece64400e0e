/*
** clusters.c - the elements of a linked list, or of a tree, as one thing.
**
** An object joins the nearest of the four dominators above it that has its class, with what is in
** between: an element that is linked through a closure and its upvalue, or a child that stands in
** its parent's array of children. Where the class says only what kind of collection a table is
** ("array"), it must be its dominator's class and most of what that retains, such as in {value,
** {value, ...}}: other things are of that class by chance. What has less than eight objects of its
** class falls apart again.
**
** A union-find with the first object of each cluster as its representative: clusters are connected,
** so the one that is furthest up is known. Near to O(n); 8 bytes an object, 4 of them for a while.
*/
#include "analyses.h"

enum { LOOK_BACK = 4 };

static bool can_link(const lh_snapshot *snapshot, lh_id id) {
  unsigned type = snapshot->kind[id] & LH_KIND_TYPE;
  return type != LH_TYPE_STRING && type != LH_TYPE_UPVALUE && !lh_is_plumbing(snapshot, id) &&
         snapshot->classes->of[id] != UINT32_MAX;
}

/* The dominator whose cluster the object joins, or LH_NO_OBJECT. */
static lh_id link_of(const lh_snapshot *snapshot, lh_id id) {
  const uint32_t *of = snapshot->classes->of;
  uint32_t class_index = of[id];
  lh_id above = snapshot->idom[id];
  if (!snapshot->classes->list[class_index].specific) {
    double of_dominator = LH_GOES_ON * (double)snapshot->retained[above];
    bool goes_on = (double)snapshot->retained[id] >= of_dominator;
    return goes_on && above != LH_ROOT && of[above] == class_index ? above : LH_NO_OBJECT;
  }
  for (unsigned i = 0; i < LOOK_BACK && !lh_is_plumbing(snapshot, above); i++) {
    if (of[above] == class_index) return above;
    above = snapshot->idom[above];
  }
  return LH_NO_OBJECT;
}

/* Leads each object of a cluster to the first one, which comes before it in the tree. Clusters of
** few objects are no cluster. */
static bool settle(const lh_tree *tree, lh_id *top) {
  const lh_snapshot *snapshot = tree->snapshot;
  uint32_t *n_others = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *n_others);
  if (!n_others) return false;
  const uint32_t *of = snapshot->classes->of;
  for (uint32_t p = 1; p < tree->n; p++) {
    lh_id id = tree->order[p];
    if (top[id] == id) continue;
    top[id] = top[top[id]];
    n_others[top[id]] += of[id] == of[top[id]];
  }
  for (lh_id id = 1; id <= snapshot->n; id++)
    if (n_others[top[id]] + 1 < LH_LEAST_CLUSTER) top[id] = id;
  lh_free(n_others);
  return true;
}

static lh_id *find_clusters(const lh_tree *tree) {
  const lh_snapshot *snapshot = tree->snapshot;
  lh_id *top = lh_alloc((size_t)snapshot->n + 1, sizeof *top);
  if (!top) return NULL;
  for (lh_id id = 0; id <= snapshot->n; id++) top[id] = id;
  for (uint32_t p = 1; p < tree->n; p++) {
    lh_id id = tree->order[p];
    if (!can_link(snapshot, id)) continue;
    lh_id above = link_of(snapshot, id);
    if (above == LH_NO_OBJECT) continue;
    lh_id first = lh_find_first(top, above);
    for (lh_id at = id; at != above; at = snapshot->idom[at]) top[lh_find_first(top, at)] = first;
  }
  if (settle(tree, top)) return top;
  lh_free(top);
  return NULL;
}

const lh_id *lh_kept_clusters(lh_snapshot *snapshot) {
  if (snapshot->clusters) return snapshot->clusters;
  const lh_tree *tree = lh_dominator_tree(snapshot);
  if (tree) snapshot->clusters = find_clusters(tree);
  return snapshot->clusters;
}
