/*
** analyse.c - runs the analyses of lh_analyse and keeps their results.
**
** Paths come first, because some questions need no more. After a failure the snapshot is as before.
** Peak of memory: the dominators, 36 bytes an object with 3 edges.
*/
#include "graph.h"
#include "read/decode.h"

#include <string.h>

static bool search_once(lh_snapshot *snapshot) {
  lh_search search;
  lh_search_begin(snapshot, &search, snapshot->distance, snapshot->parent);
  memset(snapshot->parent_edge, 0xFF, ((size_t)snapshot->n + 1) * sizeof *snapshot->parent_edge);
  lh_free(snapshot->named_by);
  snapshot->named_by = NULL;
  search.snapshot = snapshot;
  search.parent_edge = snapshot->parent_edge;
  search.named_by = &snapshot->named_by;
  return lh_search_paths(&search);
}

static bool search_all(lh_snapshot *snapshot) {
  size_t n = (size_t)snapshot->n + 1;
  snapshot->distance = lh_alloc(n, sizeof *snapshot->distance);
  snapshot->parent = lh_alloc(n, sizeof *snapshot->parent);
  snapshot->parent_edge = lh_alloc(n, sizeof *snapshot->parent_edge);
  if (!snapshot->distance || !snapshot->parent || !snapshot->parent_edge) return false;
  return search_once(snapshot) &&
         (lh_prove_ephemerons(snapshot) || (lh_wake_ephemerons(snapshot) && search_once(snapshot)));
}

static void sum_reach(lh_snapshot *snapshot) {
  lh_reach reach = {0};
  for (lh_id id = 1; id <= snapshot->n; id++) {
    uint64_t shallow_bytes = lh_shallow_bytes(snapshot, id);
    unsigned type = snapshot->kind[id] & LH_KIND_TYPE;
    if (snapshot->distance[id] != LH_UNREACHED) {
      reach.reachable_objects++;
      reach.reachable_bytes += shallow_bytes;
      reach.objects_of[type]++;
      reach.bytes_of[type] += shallow_bytes;
      if (snapshot->kind[id] & LH_KIND_OWN) reach.own_bytes += shallow_bytes;
    } else {
      reach.garbage_objects++;
      reach.garbage_bytes += shallow_bytes;
    }
  }
  snapshot->reach = reach;
}

static bool sum_retained(lh_snapshot *snapshot, const lh_id *order, uint32_t n_order) {
  uint64_t *bytes = lh_alloc((size_t)snapshot->n + 1, sizeof *bytes);
  if (!bytes) return false;
  for (lh_id id = 0; id <= snapshot->n; id++)
    bytes[id] = snapshot->distance[id] != LH_UNREACHED ? lh_shallow_bytes(snapshot, id) : 0;
  lh_sum_retained(order, n_order, snapshot->idom, bytes);
  snapshot->retained = bytes;
  return true;
}

static bool find_retained(lh_snapshot *snapshot) {
  lh_graph graph = lh_graph_of(snapshot);
  lh_id *order = NULL;
  uint32_t n_order;
  snapshot->idom = lh_alloc((size_t)snapshot->n + 1, sizeof *snapshot->idom);
  bool ok = snapshot->idom && lh_find_dominators(&graph, snapshot->idom, &order, &n_order) &&
            sum_retained(snapshot, order, n_order);
  lh_free(order);
  return ok;
}

void lh_drop_pictures(lh_snapshot *snapshot) {
  if (snapshot->trees) snapshot->free_trees(snapshot->trees);
  if (snapshot->age_sums) snapshot->free_age_sums(snapshot->age_sums);
  if (snapshot->fields) snapshot->free_fields(snapshot->fields);
  snapshot->trees = NULL;
  snapshot->age_sums = NULL;
  snapshot->fields = NULL;
}

static void drop_answers(lh_snapshot *snapshot) {
  if (snapshot->growings) snapshot->free_growings(snapshot->growings);
  if (snapshot->waste) snapshot->free_waste(snapshot->waste);
  snapshot->growings = NULL;
  snapshot->waste = NULL;
}

/* Frees all results except snapshot->reach. */
static void drop_analysis(lh_snapshot *snapshot) {
  lh_drop_graph(snapshot);
  lh_steps_free(snapshot->steps);
  lh_referrer_index_free(snapshot->referrers);
  lh_drop_dominator_tree(snapshot);
  lh_drop_pictures(snapshot);
  drop_answers(snapshot);
  LH_FREE_ALL(snapshot->idom, snapshot->distance, snapshot->parent, snapshot->parent_edge,
              snapshot->named_by, snapshot->clusters, snapshot->retained);
  snapshot->idom = snapshot->distance = snapshot->parent = snapshot->parent_edge = NULL;
  snapshot->named_by = snapshot->clusters = NULL;
  snapshot->retained = NULL;
  snapshot->referrers = NULL;
  snapshot->steps = NULL;
}

int lh_find_paths(lh_snapshot *snapshot, lh_error *error) {
  if (snapshot->distance) return LH_OK;
  int code = lh_build_graph(snapshot, error);
  snapshot->free_steps = lh_steps_free;
  if (code == LH_OK && !(search_all(snapshot) && lh_steps_new(&snapshot->steps)))
    code = lh_fail_memory(error, "analysing the heap");
  if (code != LH_OK)
    drop_analysis(snapshot);
  else
    sum_reach(snapshot);
  return code;
}

int lh_analyse(lh_snapshot *snapshot, lh_error *error) {
  if (snapshot->retained) return LH_OK;
  int code = lh_find_paths(snapshot, error);
  if (code == LH_OK && !find_retained(snapshot)) {
    code = lh_fail_memory(error, "analysing the heap");
    lh_forget_analysis(snapshot);
  }
  return code;
}

void lh_forget_analysis(lh_snapshot *snapshot) {
  if (snapshot->classes) snapshot->free_classes(snapshot->classes);
  snapshot->classes = NULL;
  drop_analysis(snapshot);
}

int lh_analyse_without(lh_snapshot *snapshot, const lh_without *without, size_t n,
                       lh_error *error) {
  lh_ignored *set;
  lh_classes *classes = snapshot->classes;
  snapshot->classes = NULL;
  drop_analysis(snapshot);
  lh_ignore(snapshot, NULL);
  int code = lh_ignored_new(snapshot, without, n, &set, error);
  if (code == LH_OK) {
    lh_ignore(snapshot, set);
    code = lh_analyse(snapshot, error);
  }
  if (code != LH_OK) {
    lh_ignore(snapshot, NULL);
    if (classes) snapshot->free_classes(classes);
    return code;
  }
  snapshot->classes = classes;
  if (classes) snapshot->count_classes(snapshot);
  return LH_OK;
}

/* Lua removes weak entries whose key or value is garbage, but never strings. */
static bool is_lost(const lh_snapshot *snapshot, lh_value value) {
  if (value.kind != LH_VALUE_OBJECT) return false;
  return lh_type_of(snapshot, value.as.object) != LH_TYPE_STRING &&
         !lh_is_reachable(snapshot, value.as.object);
}

/* Of a table whose values all are objects. */
static uint64_t count_values(const lh_snapshot *s, lh_id table) {
  uint64_t n = 0;
  for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1]; e++)
    n += lh_label_kind(s->label[e]) == LH_EDGE_VALUE;
  return n;
}

uint64_t lh_lasting_entries(const lh_snapshot *snapshot, lh_id id) {
  lh_edges it;
  lh_value key, value;
  uint64_t n = 0;
  if (lh_type_of(snapshot, id) != LH_TYPE_TABLE) return 0;
  lh_weak_sides weak = lh_weak_sides_of(snapshot, id);
  bool is_weak = weak.keys || weak.values;
  if (!is_weak && !(snapshot->key_kinds[id] & LH_HAS_SCALARS)) return count_values(snapshot, id);
  if (!is_weak) return lh_recorded_entries(snapshot, id);
  for (lh_entries_begin(snapshot, id, &it); lh_entries_next(&it, &key, &value);)
    n += !(weak.keys && is_lost(snapshot, key)) && !(weak.values && is_lost(snapshot, value));
  return n;
}

void lh_reach_totals(const lh_snapshot *snapshot, lh_reach *out) {
  *out = snapshot->reach;
}

int lh_check_id(const lh_snapshot *snapshot, lh_id id, lh_error *error) {
  if (!snapshot->retained)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been analysed");
  if (id == LH_ROOT || id > snapshot->n)
    return lh_fail(error, LH_EARGUMENT, "there is no object %u: they are numbered 1 to %u", id,
                   snapshot->n);
  return LH_OK;
}

int lh_check_paths(const lh_snapshot *snapshot, lh_id id, size_t n_paths, size_t least,
                   lh_error *error) {
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  if (n_paths < least)
    return lh_fail(error, LH_EARGUMENT, "the number of paths must be at least %zu", least);
  if (!lh_is_reachable(snapshot, id))
    return lh_fail(error, LH_ENOTFOUND, "nothing keeps the object alive");
  return LH_OK;
}

void lh_search_begin(const lh_snapshot *snapshot, lh_search *search, uint32_t *distance,
                     lh_id *parent) {
  *search = (lh_search){.graph = lh_graph_of(snapshot),
                        .kind = snapshot->kind,
                        .registry = LH_NO_OBJECT,
                        .distance = distance,
                        .parent = parent,
                        .watched = LH_NO_OBJECT};
  for (size_t i = 0; i < snapshot->n_roots; i++)
    if (snapshot->roots[i].kind == LH_ROOT_REGISTRY) search->registry = snapshot->roots[i].target;
  for (lh_id id = 0; id <= snapshot->n; id++) distance[id] = LH_UNREACHED;
}
