/*
** under.c - Lists the dominator tree below one object in few rows.
** A row is one object, a cluster (clusters.c), or many objects of one class; below it is what any
** of its objects dominates. So a million sessions take one row for each class in them. `pool` holds
** the objects of the rows on the stack, those of the top row last. The snapshot keeps clusters and
** tree, so a second call costs only what is below the object.
*/
#include "analyses.h"

enum { LEAST_GROUP = 8 };

typedef struct pending {
  lh_branch row;
  size_t n_tops;   /* objects in the pool; 0: the rest row */
  size_t first_id; /* index in the gathering's ids, before it is in the pool */
} pending;

typedef struct descent {
  const lh_snapshot *snapshot;
  const lh_under_query *query;
  const lh_tree *tree;
  lh_id *top;
  lh_gathering below;
  size_t *first; /* by class of a level, plus the end: sort_by_class */
  lh_id *pool;
  size_t n_pool, pool_capacity;
  pending *stack;
  size_t n_stack, stack_capacity;
  pending *level; /* the rows below the row in work */
  size_t n_level, level_capacity;
  lh_branch *rows;
  size_t n_rows, row_capacity;
} descent;

static int compare_pending(const void *left, const void *right) {
  const lh_branch *a = &((const pending *)left)->row, *b = &((const pending *)right)->row;
  return LH_MORE(a->retained_bytes, b->retained_bytes) ?: LH_LESS(a->id, b->id);
}

/* Makes the row of n_tops clusters of one class, at ids[first]. */
static pending make_branch(const descent *d, const lh_id *ids, size_t first, size_t n_tops,
                           uint32_t depth) {
  pending p = {.n_tops = n_tops, .first_id = first};
  p.row = (lh_branch){
      .depth = depth, .id = ids[first], .class_index = lh_class_of(d->snapshot, ids[first])};
  for (size_t i = first; i < first + n_tops; i++) {
    lh_extent extent = lh_extent_of(&d->below, ids[i]);
    p.row.objects += extent.members;
    p.row.shallow_bytes += extent.shallow_bytes;
    p.row.retained_bytes += lh_retained_bytes(d->snapshot, ids[i]);
    if (extent.members >= LH_LEAST_CLUSTER)
      p.row.kind = extent.branches ? LH_BRANCH_TREE : LH_BRANCH_LIST;
  }
  if (n_tops > 1) p.row.kind = LH_BRANCH_GROUP;
  return p;
}

static bool add_to_level(descent *d, pending p) {
  if (!lh_grow(&d->level, d->n_level, &d->level_capacity, sizeof p)) return false;
  d->level[d->n_level++] = p;
  return true;
}

/* A counting sort: a million children are common. Class i is at first[i] to first[i + 1]. */
static bool sort_by_class(descent *d, size_t *n_of_classes) {
  lh_gathering *g = &d->below;
  lh_id *sorted = lh_alloc(g->n_ids, sizeof *sorted);
  size_t n_classes = 0;
  if (!sorted) return false;
  for (size_t i = 0; i < g->n_ids; i++) {
    uint32_t *number = &g->row_of[lh_class_of(d->snapshot, g->ids[i])];
    if (*number == LH_NO_NUMBER) {
      *number = (uint32_t)n_classes;
      d->first[n_classes++] = 0;
    }
    d->first[*number]++;
  }
  size_t end = 0;
  for (size_t k = 0; k < n_classes; k++) d->first[k] = end += d->first[k];
  d->first[n_classes] = end;
  for (size_t i = g->n_ids; i-- > 0;)
    sorted[--d->first[g->row_of[lh_class_of(d->snapshot, g->ids[i])]]] = g->ids[i];
  for (size_t i = 0; i < g->n_ids; i++)
    g->row_of[lh_class_of(d->snapshot, g->ids[i])] = LH_NO_NUMBER;
  if (g->n_ids > 0) memcpy(g->ids, sorted, g->n_ids * sizeof *g->ids);
  lh_free(sorted);
  *n_of_classes = n_classes;
  return true;
}

/* Among equals, the smallest id. */
static void put_biggest_first(const lh_snapshot *s, lh_id *ids, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t bytes = s->retained[ids[i]], most = s->retained[ids[0]];
    if (bytes < most || (bytes == most && ids[i] > ids[0])) continue;
    lh_id id = ids[i];
    ids[i] = ids[0];
    ids[0] = id;
  }
}

static bool make_level(descent *d, uint32_t depth) {
  lh_id *ids = d->below.ids;
  size_t n_classes;
  d->n_level = 0;
  if (!sort_by_class(d, &n_classes)) return false;
  for (size_t i = 0; i < n_classes; i++) {
    size_t end = d->first[i + 1], n = end - d->first[i], step = n >= LEAST_GROUP ? n : 1;
    put_biggest_first(d->snapshot, ids + d->first[i], n);
    for (size_t k = d->first[i]; k < end; k += step)
      if (!add_to_level(d, make_branch(d, ids, k, step, depth))) return false;
  }
  if (d->n_level > 1) qsort(d->level, d->n_level, sizeof *d->level, compare_pending);
  return true;
}

/* Sums up rows that are too many or too small in a last row. */
static void fold_rest(descent *d, uint32_t depth) {
  const lh_under_query *query = d->query;
  size_t n = 0;
  pending rest = {
      .row = {
          .kind = LH_BRANCH_REST, .depth = depth, .id = LH_NO_OBJECT, .class_index = UINT32_MAX}};
  while (n < d->n_level && (query->limit == 0 || n < query->limit) &&
         d->level[n].row.retained_bytes >= query->least_bytes)
    n++;
  if (n + 1 >= d->n_level) return; /* a single row takes no more room than the rest row */
  for (size_t i = n; i < d->n_level; i++) {
    rest.row.objects += d->level[i].row.objects;
    rest.row.shallow_bytes += d->level[i].row.shallow_bytes;
    rest.row.retained_bytes += d->level[i].row.retained_bytes;
  }
  d->level[n] = rest;
  d->n_level = n + 1;
}

static bool find_edges(descent *d, lh_id id) {
  lh_map row_of = {0};
  lh_edges it;
  lh_edge edge;
  bool ok = true;
  for (size_t i = 0; ok && i < d->n_level; i++) {
    if (d->level[i].row.kind > LH_BRANCH_TREE) continue;
    uint32_t *slot = lh_map_at(&row_of, d->level[i].row.id);
    ok = slot != NULL;
    if (ok) *slot = (uint32_t)i;
  }
  for (lh_edges_begin(d->snapshot, id, &it); ok && lh_edges_next(&it, &edge);) {
    uint32_t i = edge.weak ? LH_NO_NUMBER : lh_map_get(&row_of, edge.target);
    if (i == LH_NO_NUMBER) continue;
    lh_branch *row = &d->level[i].row;
    if (row->has_edge && lh_compare_edges(d->snapshot, &edge, &row->edge) >= 0) continue;
    row->has_edge = true;
    row->edge = edge;
  }
  lh_map_free(&row_of);
  return ok;
}

static bool push_level(descent *d) {
  for (size_t i = d->n_level; i-- > 0;) {
    const pending *p = &d->level[i];
    if (!lh_grow(&d->stack, d->n_stack, &d->stack_capacity, sizeof *d->stack)) return false;
    d->stack[d->n_stack++] = *p;
    for (size_t k = 0; k < p->n_tops; k++) {
      if (!lh_grow(&d->pool, d->n_pool, &d->pool_capacity, sizeof *d->pool)) return false;
      d->pool[d->n_pool++] = d->below.ids[p->first_id + k];
    }
  }
  return true;
}

static bool expand_branch(descent *d, const pending *p) {
  uint32_t depth = p->row.depth + 1;
  d->n_pool -= p->n_tops;
  if (depth > d->query->depth || p->n_tops == 0) return true;
  d->below.n_ids = 0;
  for (size_t i = 0; i < p->n_tops; i++)
    if (!lh_list_below(&d->below, d->pool[d->n_pool + i])) return false;
  if (!make_level(d, depth)) return false;
  fold_rest(d, depth);
  if (p->row.kind == LH_BRANCH_OBJECT && !find_edges(d, p->row.id)) return false;
  return push_level(d);
}

static bool descend(descent *d, lh_id id) {
  d->below.n_ids = 0;
  d->level = NULL;
  d->first = lh_alloc((size_t)lh_class_count(d->snapshot) + 1, sizeof *d->first);
  bool ok = d->first && lh_grow(&d->below.ids, 0, &d->below.id_capacity, sizeof *d->below.ids);
  if (!ok) return false;
  d->below.ids[0] = id;
  d->below.n_ids = 1;
  ok = add_to_level(d, make_branch(d, d->below.ids, 0, 1, 0)) && push_level(d);
  while (ok && d->n_stack > 0) {
    pending p = d->stack[--d->n_stack];
    ok = lh_grow(&d->rows, d->n_rows, &d->row_capacity, sizeof *d->rows);
    if (!ok) break;
    d->rows[d->n_rows++] = p.row;
    ok = expand_branch(d, &p);
  }
  return ok;
}

/* `id` starts its own cluster, even inside another one. */
static bool find_tops(descent *d, lh_snapshot *snapshot, lh_id id) {
  const lh_id *kept = lh_kept_clusters(snapshot);
  d->top = kept ? lh_alloc((size_t)snapshot->n + 1, sizeof *d->top) : NULL;
  if (!d->top) return false;
  for (uint32_t p = d->tree->position[id]; p < lh_end_of(d->tree, id); p++) {
    lh_id at = d->tree->order[p];
    d->top[at] = kept[at] == kept[id] ? id : kept[at];
  }
  return true;
}

int lh_under(lh_snapshot *snapshot, lh_id id, const lh_under_query *query, lh_branch **rows,
             size_t *n_rows, lh_error *error) {
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  if (id > snapshot->n)
    return lh_fail(error, LH_EARGUMENT, "there is no object %u: they are numbered 1 to %u", id,
                   snapshot->n);
  if (!lh_is_reachable(snapshot, id))
    return lh_fail(error, LH_ENOTFOUND, "it is garbage: it keeps nothing alive");
  descent d = {.snapshot = snapshot, .query = query};
  bool ok = (d.tree = lh_dominator_tree(snapshot)) && find_tops(&d, snapshot, id) &&
            lh_gathering_make(&d.below, d.tree, d.top) && descend(&d, id);
  lh_gathering_free(&d.below);
  LH_FREE_ALL(d.top, d.first, d.pool, d.stack, d.level);
  if (!ok) {
    lh_free(d.rows);
    return lh_fail_memory(error, "walking down the tree of dominators");
  }
  *rows = d.rows;
  *n_rows = d.n_rows;
  return LH_OK;
}
