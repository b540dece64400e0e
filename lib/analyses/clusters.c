/*
** clusters.c - Joins the elements of a linked list or a tree into one cluster.
** An object joins the nearest of its next four dominators that has its class. The objects in
** between join too: the closure and upvalue that link an element, or a parent's array of children.
** For a class that only names a kind of collection ("array"), only the immediate dominator counts,
** and the object must be most of what that dominator retains: {value, {value, ...}}. A cluster with
** less than eight objects of its class falls apart.
** A union-find keeps the first object of each cluster. Nearly O(n); 8 bytes an object, 4 of them
** temporary.
*/
#include "analyses.h"

enum { LOOK_BACK = 4 };

static bool can_link(const lh_snapshot *snapshot, lh_id id) {
  unsigned type = snapshot->kind[id] & LH_KIND_TYPE;
  return type != LH_TYPE_STRING && type != LH_TYPE_UPVALUE && !lh_is_runtime_object(snapshot, id) &&
         snapshot->classes->of[id] != UINT32_MAX;
}

static lh_id link_of(const lh_snapshot *snapshot, lh_id id) {
  const uint32_t *of = snapshot->classes->of;
  uint32_t class_index = of[id];
  lh_id above = snapshot->idom[id];
  if (!snapshot->classes->list[class_index].specific) {
    double of_dominator = LH_GOES_ON * (double)snapshot->retained[above];
    bool goes_on = (double)snapshot->retained[id] >= of_dominator;
    return goes_on && above != LH_ROOT && of[above] == class_index ? above : LH_NO_OBJECT;
  }
  for (unsigned i = 0; i < LOOK_BACK && !lh_is_runtime_object(snapshot, above); i++) {
    if (of[above] == class_index) return above;
    above = snapshot->idom[above];
  }
  return LH_NO_OBJECT;
}

/* Points each object to the first one of its cluster; dissolves small clusters. */
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

void lh_drop_lists(lh_snapshot *snapshot) {
  lh_free(snapshot->clusters);
  snapshot->clusters = NULL;
  if (snapshot->classes) lh_drop_folds(snapshot->classes);
}

bool lh_gathering_make(lh_gathering *g, const lh_tree *tree, const lh_id *top) {
  uint32_t n_classes = lh_class_count(tree->snapshot);
  *g = (lh_gathering){.tree = tree, .top = top};
  g->row_of = lh_alloc(n_classes, sizeof *g->row_of);
  g->rows = lh_alloc(n_classes, sizeof *g->rows);
  if (g->row_of) memset(g->row_of, 0xFF, n_classes * sizeof *g->row_of);
  return g->row_of && g->rows;
}

void lh_gathering_free(lh_gathering *g) {
  LH_FREE_ALL(g->row_of, g->rows, g->ids);
}

static bool append_cluster(lh_gathering *g, lh_id id) {
  if (!lh_grow(&g->ids, g->n_ids, &g->id_capacity, sizeof *g->ids)) return false;
  g->ids[g->n_ids++] = id;
  return true;
}

bool lh_list_below(lh_gathering *g, lh_id top) {
  const lh_tree *tree = g->tree;
  for (uint32_t p = tree->position[top], end = tree->end[p]; p < end;) {
    lh_id id = tree->order[p];
    bool member = g->top[id] == top;
    if (!member && !lh_is_own(tree->snapshot, id) && !append_cluster(g, id)) return false;
    p = member ? p + 1 : tree->end[p];
  }
  return true;
}

/* Each member of a chain is below the member before it; else the cluster branches. */
lh_extent lh_extent_of(const lh_gathering *g, lh_id top) {
  const lh_tree *tree = g->tree;
  const lh_snapshot *snapshot = tree->snapshot;
  const uint32_t *of = snapshot->classes->of;
  bool is_alone = tree->end[tree->position[top]] == tree->position[top] + 1;
  if (is_alone || (g->heads && !g->heads[top]))
    return (lh_extent){.members = 1, .shallow_bytes = lh_shallow_bytes(snapshot, top)};
  lh_extent extent = {0};
  lh_id last = top;
  for (uint32_t p = tree->position[top], end = tree->end[p]; p < end;) {
    lh_id id = tree->order[p];
    if (g->top[id] != top) {
      p = tree->end[p];
      continue;
    }
    if (!lh_dominates(tree, last, id)) extent.branches = true;
    last = id;
    extent.members += of[id] == of[top];
    extent.shallow_bytes += lh_shallow_bytes(snapshot, id);
    p++;
  }
  return extent;
}

static int compare_gathered(const void *left, const void *right, void *payload) {
  const lh_accumulated *a = left, *b = right;
  return LH_MORE(a->bytes, b->bytes) ?:
         lh_compare_class_names(payload, a->class_index, b->class_index) ?:
         LH_LESS(a->class_index, b->class_index);
}

void lh_gather(lh_gathering *g, const lh_id *tops, size_t n_tops) {
  const lh_snapshot *snapshot = g->tree->snapshot;
  g->n_rows = 0;
  for (size_t i = 0; i < n_tops; i++) {
    uint32_t class_index = snapshot->classes->of[tops[i]];
    if (class_index == UINT32_MAX) continue;
    uint32_t *row = &g->row_of[class_index];
    if (*row == LH_NO_NUMBER) {
      *row = g->n_rows++;
      g->rows[*row] = (lh_accumulated){.class_index = class_index, .example = tops[i]};
    }
    lh_accumulated *to = &g->rows[*row];
    uint64_t retained = lh_retained_bytes(snapshot, tops[i]);
    if (retained > lh_retained_bytes(snapshot, to->example)) to->example = tops[i];
    to->objects += g->heads && !g->heads[tops[i]] ? 1 : lh_extent_of(g, tops[i]).members;
    to->bytes += retained;
  }
  for (uint32_t i = 0; i < g->n_rows; i++) g->row_of[g->rows[i].class_index] = LH_NO_NUMBER;
  if (g->n_rows > 1)
    qsort_r(g->rows, g->n_rows, sizeof *g->rows, compare_gathered, (void *)snapshot);
}
