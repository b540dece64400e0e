/*
** paths.c - the chains of edges that keep an object alive.
**
** The search (reach.c) knows objects only. What each step of a path is, is decoded from the record
** of its source (steps.c). So a path costs the edges of the objects on it.
*/
#include "graph.h"

#include <inttypes.h>

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
