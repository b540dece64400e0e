/*
** paths.c - the chains of edges that keep an object alive, and all that refers to it.
**
** The search (reach.c) knows objects only. What each step of a path is, is decoded from the record
** of its source (steps.c). So a path costs the edges of the objects on it.
*/
#include "graph.h"

#include <inttypes.h>
#include <stdlib.h>

#include "read/decode.h"

/* {=== paths ========================================================================= */

/* The path to `last` along the parents, and with `target` the step from there to it. */
static bool trace(const lh_snapshot *snapshot, const uint32_t *distance, const lh_id *parent,
                  lh_id last, lh_id target, lh_path *path) {
  size_t n = distance[last];
  path->n_steps = n + (target != LH_NO_OBJECT);
  path->steps = lh_alloc(path->n_steps, sizeof *path->steps);
  if (!path->steps) return false;
  if (target != LH_NO_OBJECT) path->steps[n] = lh_best_edge(snapshot, last, target);
  for (lh_id id = last; n > 0; id = parent[id])
    path->steps[--n] = lh_best_edge(snapshot, parent[id], id);
  return true;
}

int lh_shortest_path(lh_snapshot *snapshot, lh_id id, lh_path *path, lh_error *error) {
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  if (!lh_is_reachable(snapshot, id))
    return lh_fail(error, LH_ENOTFOUND, "nothing keeps the object alive");
  if (!trace(snapshot, snapshot->distance, snapshot->parent, id, LH_NO_OBJECT, path))
    return lh_fail_memory(error, "following a path");
  return LH_OK;
}

void lh_paths_free(lh_path *paths, size_t n_paths) {
  for (size_t i = 0; i < n_paths; i++) lh_free(paths[i].steps);
}

/* All steps together may take so many times the bytes of the file, as the names of its classes may:
** each of a million referrers may be at the end of a list. */
enum { MOST_STEPS = 16 };

static int check_steps(const lh_snapshot *snapshot, const lh_search *search, lh_error *error) {
  uint64_t n_steps = 0, most = MOST_STEPS * (uint64_t)snapshot->size + (1u << 20);
  for (size_t i = 0; i < search->n_found; i++)
    n_steps += (uint64_t)search->distance[search->found[i]] + 1;
  if (n_steps * sizeof(lh_edge) <= most) return LH_OK;
  return lh_fail(error, LH_ELIMIT, "these %zu paths have %" PRIu64 " steps: ask for fewer paths",
                 search->n_found, n_steps);
}

/* One path for each referrer that the search has found. *paths is set where that succeeds. */
static bool trace_all(const lh_snapshot *snapshot, const lh_search *search, lh_path **paths) {
  lh_path *list = lh_alloc(search->n_found, sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < search->n_found; i++) {
    if (trace(snapshot, search->distance, search->parent, search->found[i], search->watched,
              &list[i]))
      continue;
    lh_paths_free(list, i);
    lh_free(list);
    return false;
  }
  *paths = list;
  return true;
}

int lh_shortest_paths(lh_snapshot *snapshot, lh_id id, size_t k, lh_path **paths, size_t *n_paths,
                      lh_error *error) {
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  if (k == 0) return lh_fail(error, LH_EARGUMENT, "the number of paths must be at least 1");
  if (!lh_is_reachable(snapshot, id))
    return lh_fail(error, LH_ENOTFOUND, "nothing keeps the object alive");
  lh_search search;
  size_t n = (size_t)snapshot->n + 1;
  uint32_t *distance = lh_alloc(n, sizeof *distance);
  lh_id *parent = lh_alloc(n, sizeof *parent);
  size_t max_found = k < n ? k : n; /* referrers differ */
  lh_id *found = lh_alloc(max_found, sizeof *found);
  code = LH_EMEMORY;
  if (!distance || !parent || !found) goto out;
  lh_search_begin(snapshot, &search, distance, parent);
  distance[id] = LH_AVOIDED;
  search.watched = id;
  search.found = found;
  search.max_found = max_found;
  if (!lh_search_paths(&search)) goto out;
  code = check_steps(snapshot, &search, error);
  if (code == LH_OK && !trace_all(snapshot, &search, paths)) code = LH_EMEMORY;
  if (code == LH_OK) *n_paths = search.n_found;
out:
  lh_free(distance);
  lh_free(parent);
  lh_free(found);
  return code == LH_EMEMORY ? lh_fail_memory(error, "searching paths") : code;
}

/* }=================================================================================== */

/* {=== referrers ===================================================================== */

typedef struct id_list {
  lh_id *id;
  size_t n, capacity;
} id_list;

static bool append_id(id_list *list, lh_id id) {
  if (list->n && list->id[list->n - 1] == id) return true;
  if (!lh_grow(&list->id, list->n, &list->capacity, sizeof *list->id)) return false;
  list->id[list->n++] = id;
  return true;
}

static bool list_sources(const lh_snapshot *snapshot, lh_id target, id_list *sources) {
  lh_references it;
  lh_reference batch[LH_REFERENCE_BATCH];
  size_t n_references;
  lh_references_begin(snapshot, LH_ROOT, snapshot->n, &it);
  while ((n_references = lh_references_read(&it, batch)))
    for (size_t i = 0; i < n_references; i++)
      if (batch[i].target == target && !append_id(sources, batch[i].source)) return false;
  for (size_t i = 0; i < snapshot->n_ephemerons; i++)
    if (snapshot->ephemerons[i].value == target && !append_id(sources, snapshot->ephemerons[i].key))
      return false;
  return true;
}

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* The ids as distance << 32 | id, sorted: NULL when out of memory. */
static uint64_t *sort_by_distance(const lh_snapshot *snapshot, const id_list *list) {
  uint64_t *keys = lh_alloc(list->n, sizeof *keys);
  if (!keys) return NULL;
  for (size_t i = 0; i < list->n; i++)
    keys[i] = (uint64_t)lh_distance(snapshot, list->id[i]) << 32 | list->id[i];
  if (list->n) qsort(keys, list->n, sizeof *keys, compare_keys);
  return keys;
}

typedef struct edge_list {
  lh_edge *edge;
  size_t n, capacity;
} edge_list;

static bool append_edges(const lh_snapshot *snapshot, lh_id source, lh_id target, edge_list *list) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(snapshot, source, &it); lh_edges_next(&it, &edge);) {
    if (edge.target != target) continue;
    if (!lh_grow(&list->edge, list->n, &list->capacity, sizeof edge)) return false;
    list->edge[list->n++] = edge;
  }
  return true;
}

int lh_referrers(lh_snapshot *snapshot, lh_id id, lh_edge **edges, size_t *n_edges,
                 lh_error *error) {
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  id_list sources = {0};
  edge_list found = {0};
  uint64_t *keys = NULL;
  code = LH_EMEMORY;
  if (!list_sources(snapshot, id, &sources)) goto out;
  keys = sort_by_distance(snapshot, &sources);
  if (!keys) goto out;
  for (size_t i = 0; i < sources.n; i++) {
    lh_id source = (lh_id)keys[i];
    if (lh_is_own(snapshot, source) || (i > 0 && keys[i] == keys[i - 1])) continue;
    if (!append_edges(snapshot, source, id, &found)) goto out;
  }
  *edges = found.edge;
  *n_edges = found.n;
  found.edge = NULL;
  code = LH_OK;
out:
  lh_free(sources.id);
  lh_free(keys);
  lh_free(found.edge);
  return code == LH_OK ? code : lh_fail_memory(error, "looking for referrers");
}

/* }=================================================================================== */
