/*
** freed.c - the objects that become garbage with a set of objects, such as the instances of a
** class.
**
** An object stays if its shortest path has no member, so only objects behind members are looked at.
** An object dominated by a member is freed. Of the rest, usually few, an object stays if a staying
** object refers to it. (retained_sets.c does this for all classes at once.) With an index of
** referrers, a hundred thousand objects of ten million take milliseconds; without it, or for many
** objects, one pass over all edges. Memory: a byte an object, and 4 for each that is looked at.
*/
#include "graph.h"

/* is_freed[v] until the end: unknown; freed; freed unless a staying object refers to it; stays. */
enum { OUTSIDE = 0, FREED = 1, MAY_STAY = 2, STAYS = 3 };

typedef struct finding {
  const lh_snapshot *snapshot;
  lh_freed_set *freed;
  size_t n_undecided; /* objects that may stay */
  lh_id *stack;       /* staying objects whose edges are not yet followed */
  size_t n_stack, capacity;
  bool failed;
} finding;

void lh_freed_set_free(lh_freed_set *freed) {
  LH_FREE_ALL(freed->is_freed, freed->list);
}

static void list_object(lh_freed_set *freed, lh_id id, uint8_t how) {
  freed->is_freed[id] = how;
  freed->list[freed->n++] = id;
}

/* An object's dominators are on its shortest path, so they are listed before it. */
static void list_behind(finding *f, const lh_id *ids, size_t n_ids) {
  const lh_snapshot *s = f->snapshot;
  lh_freed_set *freed = f->freed;
  for (size_t i = 0; i < n_ids; i++)
    if (freed->is_freed[ids[i]] == OUTSIDE && lh_is_reachable(s, ids[i]))
      list_object(freed, ids[i], FREED);
  freed->n_members = freed->n;
  for (size_t i = 0; i < freed->n; i++) {
    lh_id id = freed->list[i];
    for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++) {
      lh_id target = s->edge[e];
      if (s->parent[target] != id || freed->is_freed[target] != OUTSIDE) continue;
      bool is_dominated = freed->is_freed[s->idom[target]] == FREED;
      f->n_undecided += !is_dominated;
      list_object(freed, target, is_dominated ? FREED : MAY_STAY);
    }
  }
}

static void keep_object(finding *f, lh_id id) {
  f->freed->is_freed[id] = STAYS;
  f->n_undecided--;
  f->failed = f->failed || !lh_grow(&f->stack, f->n_stack, &f->capacity, sizeof *f->stack);
  if (!f->failed) f->stack[f->n_stack++] = id;
}

static void follow_edges(finding *f, lh_id id) {
  const lh_snapshot *s = f->snapshot;
  for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++)
    if (f->freed->is_freed[s->edge[e]] == MAY_STAY) keep_object(f, s->edge[e]);
}

static bool is_outside(const finding *f, lh_id id) {
  return f->freed->is_freed[id] == OUTSIDE && lh_is_reachable(f->snapshot, id);
}

static bool has_source_outside(const finding *f, lh_id id) {
  size_t n;
  const uint32_t *edges = lh_edges_to(f->snapshot, id, &n);
  for (size_t i = 0; i < n; i++)
    if (is_outside(f, lh_source_of_edge(f->snapshot, edges[i]))) return true;
  return false;
}

static void find_staying(finding *f) {
  enum { FEW = 16 }; /* a sixteenth of the objects: then one pass over all edges is cheaper */
  const lh_freed_set *freed = f->freed;
  if (lh_has_edges_to(f->snapshot) && f->n_undecided < f->snapshot->n / FEW) {
    for (size_t i = 0; i < freed->n && f->n_undecided > 0; i++)
      if (freed->is_freed[freed->list[i]] == MAY_STAY && has_source_outside(f, freed->list[i]))
        keep_object(f, freed->list[i]);
  } else {
    for (lh_id id = 0; id <= f->snapshot->n && f->n_undecided > 0; id++)
      if (is_outside(f, id)) follow_edges(f, id);
  }
  while (f->n_stack > 0 && f->n_undecided > 0) follow_edges(f, f->stack[--f->n_stack]);
}

static void keep_freed(lh_freed_set *freed) {
  size_t n = 0;
  for (size_t i = 0; i < freed->n; i++) {
    lh_id id = freed->list[i];
    freed->is_freed[id] = freed->is_freed[id] != STAYS;
    if (freed->is_freed[id]) freed->list[n++] = id;
  }
  freed->n = n;
}

bool lh_find_freed(lh_freed_set *freed, const lh_snapshot *snapshot, const lh_id *ids,
                   size_t n_ids) {
  size_t n = (size_t)snapshot->n + 1;
  finding f = {.snapshot = snapshot, .freed = freed};
  *freed =
      (lh_freed_set){.is_freed = lh_alloc_zeroed(n, 1), .list = lh_alloc(n, sizeof *freed->list)};
  if (!freed->is_freed || !freed->list) return false;
  list_behind(&f, ids, n_ids);
  find_staying(&f);
  lh_free(f.stack);
  keep_freed(freed);
  return !f.failed;
}

int lh_retained_together(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, uint64_t *bytes,
                         uint64_t *objects, lh_error *error) {
  int code = LH_OK;
  lh_freed_set freed;
  for (size_t i = 0; i < n_ids && code == LH_OK; i++) code = lh_check_id(snapshot, ids[i], error);
  if (code != LH_OK) return code;
  if (!lh_find_freed(&freed, snapshot, ids, n_ids))
    code = lh_fail_memory(error, "finding what a set retains");
  if (code == LH_OK) *bytes = 0;
  if (code == LH_OK && objects) *objects = freed.n;
  for (size_t i = 0; i < freed.n && code == LH_OK; i++)
    *bytes += lh_shallow_bytes(snapshot, freed.list[i]);
  lh_freed_set_free(&freed);
  return code;
}
