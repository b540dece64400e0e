/*
** gone.c - the objects that become garbage with a set of objects, such as the instances of a class.
**
** An object stays if its shortest path has no member, so only objects behind members are looked at.
** An object dominated by a member is freed. Of the rest, usually few, an object stays if a staying
** object refers to it. (union.c does this for all classes at once.) With an index of referrers, a
** hundred thousand objects of ten million take milliseconds; without it, one pass over all edges.
** Memory: a byte an object, and 4 for each that is looked at.
*/
#include "graph.h"

/* goes[v] until the end: unknown; freed; freed unless a staying object refers to it; stays. */
enum { OUTSIDE = 0, GOES = 1, MAY_STAY = 2, STAYS = 3 };

typedef struct finding {
  const lh_snapshot *snapshot;
  lh_going *going;
  lh_id *stack; /* staying objects whose edges are not yet followed */
  size_t n_stack, capacity;
  bool failed;
} finding;

void lh_going_free(lh_going *going) {
  LH_FREE_ALL(going->goes, going->list);
}

static void put(lh_going *going, lh_id id, uint8_t how) {
  going->goes[id] = how;
  going->list[going->n++] = id;
}

/* An object's dominators are on its shortest path, so they are listed before it. Returns whether
** some object may stay. */
static bool list_behind(lh_going *going, const lh_snapshot *s, const lh_id *ids, size_t n_ids) {
  bool may_stay = false;
  for (size_t i = 0; i < n_ids; i++)
    if (going->goes[ids[i]] == OUTSIDE && lh_is_reachable(s, ids[i])) put(going, ids[i], GOES);
  going->n_members = going->n;
  for (size_t i = 0; i < going->n; i++) {
    lh_id id = going->list[i];
    for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++) {
      lh_id target = s->edge[e];
      if (s->parent[target] != id || going->goes[target] != OUTSIDE) continue;
      bool is_dominated = going->goes[s->idom[target]] == GOES;
      may_stay |= !is_dominated;
      put(going, target, is_dominated ? GOES : MAY_STAY);
    }
  }
  return may_stay;
}

static void stay(finding *f, lh_id id) {
  f->going->goes[id] = STAYS;
  f->failed = f->failed || !lh_grow(&f->stack, f->n_stack, &f->capacity, sizeof *f->stack);
  if (!f->failed) f->stack[f->n_stack++] = id;
}

static void follow_edges(finding *f, lh_id id) {
  const lh_snapshot *s = f->snapshot;
  for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++)
    if (f->going->goes[s->edge[e]] == MAY_STAY) stay(f, s->edge[e]);
}

static bool is_outside(const finding *f, lh_id id) {
  return f->going->goes[id] == OUTSIDE && lh_is_reachable(f->snapshot, id);
}

static bool has_source_outside(const finding *f, lh_id id) {
  size_t n;
  const uint32_t *edges = lh_edges_to(f->snapshot, id, &n);
  for (size_t i = 0; i < n; i++)
    if (is_outside(f, lh_source_of_edge(f->snapshot, edges[i]))) return true;
  return false;
}

static void find_staying(finding *f) {
  const lh_going *going = f->going;
  if (lh_has_edges_to(f->snapshot)) {
    for (size_t i = 0; i < going->n; i++)
      if (going->goes[going->list[i]] == MAY_STAY && has_source_outside(f, going->list[i]))
        stay(f, going->list[i]);
  } else {
    for (lh_id id = 0; id <= f->snapshot->n; id++)
      if (is_outside(f, id)) follow_edges(f, id);
  }
  while (f->n_stack > 0) follow_edges(f, f->stack[--f->n_stack]);
}

static void finish(lh_going *going) {
  size_t n = 0;
  for (size_t i = 0; i < going->n; i++) {
    lh_id id = going->list[i];
    going->goes[id] = going->goes[id] != STAYS;
    if (going->goes[id]) going->list[n++] = id;
  }
  going->n = n;
}

bool lh_find_going(lh_going *going, const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids) {
  size_t n = (size_t)snapshot->n + 1;
  finding f = {.snapshot = snapshot, .going = going};
  *going = (lh_going){.goes = lh_alloc_zeroed(n, 1), .list = lh_alloc(n, sizeof *going->list)};
  if (!going->goes || !going->list) return false;
  if (list_behind(going, snapshot, ids, n_ids)) find_staying(&f);
  lh_free(f.stack);
  finish(going);
  return !f.failed;
}

int lh_retained_together(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, uint64_t *bytes,
                         uint64_t *objects, lh_error *error) {
  int code = LH_OK;
  lh_going going;
  for (size_t i = 0; i < n_ids && code == LH_OK; i++) code = lh_check_id(snapshot, ids[i], error);
  if (code != LH_OK) return code;
  if (!lh_find_going(&going, snapshot, ids, n_ids))
    code = lh_fail_memory(error, "finding what a set retains");
  if (code == LH_OK) *bytes = 0;
  if (code == LH_OK && objects) *objects = going.n;
  for (size_t i = 0; i < going.n && code == LH_OK; i++)
    *bytes += lh_shallow_bytes(snapshot, going.list[i]);
  lh_going_free(&going);
  return code;
}
