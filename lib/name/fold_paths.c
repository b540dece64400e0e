/*
** fold_paths.c - the paths that many objects are named by, at once and folded: the part of the tree of
** parents that leads to them, from the root down. Each object's edges are decoded once, however
** many paths run through it, so that a million objects in one array cost that array once.
*/
#include <stdlib.h>

#include "fold.h"
#include "graph/graph.h"
#include "read/decode.h"

/* A path leads to it; one leads on from it; it was visited; its parent has an edge to it. */
enum { WANTED = 1, INNER = 2, VISITED = 4, MET = 8 };

typedef struct walk {
  const lh_snapshot *snapshot;
  lh_folded_paths *paths; /* its order is the queue */
  uint8_t *state;
  uint32_t *n_alike; /* of each class, among one table's values */
  uint32_t *counted; /* the classes for which that is not 0 */
  uint32_t n_counted;
  lh_visit visit;
  void *payload;
} walk;

static bool allocate(walk *w, const lh_id *ids, size_t n_ids) {
  const lh_snapshot *snapshot = w->snapshot;
  size_t n_wanted = 1;
  w->state = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!w->state) return false;
  w->state[LH_ROOT] = WANTED;
  for (size_t i = 0; i < n_ids; i++) {
    for (lh_id id = ids[i]; !(w->state[id] & WANTED); id = lh_naming_parent(snapshot, id)) {
      w->state[id] |= WANTED;
      w->state[lh_naming_parent(snapshot, id)] |= INNER;
      n_wanted++;
    }
  }
  w->paths->order = lh_alloc(n_wanted, sizeof *w->paths->order);
  w->paths->state = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *w->paths->state);
  w->n_alike = lh_alloc_zeroed(lh_class_count(snapshot) + 1, sizeof *w->n_alike);
  w->counted = lh_alloc(lh_class_count(snapshot) + 1, sizeof *w->counted);
  return w->paths->order && w->paths->state && w->n_alike && w->counted;
}

/* Has a table a key that is a string? The keys alone are quick to read. */
static bool has_string_key(const lh_snapshot *snapshot, lh_id table) {
  lh_edges it;
  lh_value key;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, NULL);)
    if (key.kind == LH_VALUE_OBJECT && lh_is_string(snapshot, key.as.object)) return true;
  return false;
}

/* Counts the classes of a table's values. */
static uint32_t count_values(walk *w, lh_id table) {
  uint32_t n_values = 0;
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(w->snapshot, table, &it); lh_edges_next(&it, &edge);) {
    if (!lh_is_keyed_object(w->snapshot, &edge)) continue;
    uint32_t class_index = lh_class_of(w->snapshot, edge.target);
    if (class_index == UINT32_MAX) continue;
    if (w->n_alike[class_index]++ == 0) w->counted[w->n_counted++] = class_index;
    n_values++;
  }
  return n_values;
}

/* How many wanted objects have `id` as their parent; *doubles: one of them under several edges. */
static uint32_t count_targets(walk *w, lh_id id, bool *doubles) {
  const lh_snapshot *snapshot = w->snapshot;
  uint32_t n = 0;
  *doubles = false;
  for (uint32_t e = snapshot->first_edge[id]; e < snapshot->first_edge[id + 1]; e++) {
    lh_id target = snapshot->edge[e];
    if (!(w->state[target] & WANTED) || lh_naming_parent(snapshot, target) != id) continue;
    if (w->state[target] & MET)
      *doubles = true;
    else
      n++;
    w->state[target] |= MET;
  }
  return n;
}

/* How the keys of the table whose targets are visited are to be read. */
typedef struct keys {
  lh_key_sense sense;
  uint32_t n_values;
} keys;

static bool is_to_visit(const walk *w, const lh_edge *edge) {
  uint8_t state = w->state[edge->target];
  return (state & WANTED) && !(state & VISITED) && !edge->weak &&
         lh_naming_parent(w->snapshot, edge->target) == edge->source;
}

static bool visit_edge(walk *w, const lh_edge *edge, keys k) {
  bool any_key = k.sense == LH_KEYS_VARY;
  if (k.sense == LH_KEYS_DEPEND && lh_is_keyed_object(w->snapshot, edge)) {
    uint32_t class_index = lh_class_of(w->snapshot, edge->target);
    any_key = class_index != UINT32_MAX &&
              lh_keys_vary(w->snapshot, class_index, w->n_alike[class_index], k.n_values);
  }
  lh_folded_paths *paths = w->paths;
  uint32_t state = lh_fold_step(&paths->folder, paths->state[edge->source], edge, any_key);
  w->state[edge->target] |= VISITED;
  paths->order[paths->n++] = edge->target;
  paths->state[edge->target] = state;
  return state != LH_NO_NUMBER && (!w->visit || w->visit(edge, w->payload));
}

static int compare_targets(const void *left, const void *right) {
  const lh_edge *a = left, *b = right;
  return (a->target > b->target) - (a->target < b->target);
}

/* Visits the targets of `id` by the best of the edges that lead to each. */
static bool visit_best(walk *w, lh_id id, keys k) {
  lh_edge *list = NULL, edge;
  lh_map place = {0}; /* of each target in the list */
  size_t n = 0, capacity = 0;
  lh_edges it;
  bool ok = true;
  for (lh_edges_begin(w->snapshot, id, &it); ok && lh_edges_next(&it, &edge);) {
    if (!is_to_visit(w, &edge)) continue;
    uint32_t *known = lh_map_at(&place, edge.target);
    ok = known && lh_grow(&list, n, &capacity, sizeof edge);
    if (!ok) break;
    if (*known == LH_NO_NUMBER) {
      *known = (uint32_t)n;
      list[n++] = edge;
    } else if (lh_compare_edges(w->snapshot, &edge, &list[*known]) < 0) {
      list[*known] = edge;
    }
  }
  if (n > 1) qsort(list, n, sizeof edge, compare_targets);
  for (size_t i = 0; ok && i < n; i++) ok = visit_edge(w, &list[i], k);
  lh_map_free(&place);
  lh_free(list);
  return ok;
}

/* Records are many, and small: with fewer values than a map has they need no closer look. */
static bool may_be_map(const lh_snapshot *snapshot, lh_id id) {
  uint32_t n_edges = snapshot->first_edge[id + 1] - snapshot->first_edge[id];
  return n_edges >= 2 * LH_LEAST_ALIKE && has_string_key(snapshot, id); /* a key and a value each */
}

static bool visit_targets(walk *w, lh_id id) {
  bool is_table = lh_type_of(w->snapshot, id) == LH_TYPE_TABLE, ok = true, doubles;
  lh_prefetch_edges(w->snapshot, id);
  uint32_t n_targets = count_targets(w, id, &doubles);
  keys k = {.sense = is_table ? lh_key_sense_of(w->snapshot, id) : LH_KEYS_MEAN};
  lh_edges it;
  lh_edge edge;
  if (k.sense == LH_KEYS_DEPEND && may_be_map(w->snapshot, id)) k.n_values = count_values(w, id);
  if (doubles) {
    ok = visit_best(w, id, k);
  } else {
    for (lh_edges_begin(w->snapshot, id, &it); ok && n_targets > 0 && lh_edges_next(&it, &edge);) {
      if (!is_to_visit(w, &edge)) continue;
      ok = visit_edge(w, &edge, k);
      n_targets--;
    }
  }
  while (w->n_counted > 0) w->n_alike[w->counted[--w->n_counted]] = 0;
  return ok;
}

bool lh_fold_paths(lh_folded_paths *paths, const lh_snapshot *snapshot, const lh_id *ids,
                   size_t n_ids, lh_visit visit, void *payload) {
  walk w = {.snapshot = snapshot, .paths = paths, .visit = visit, .payload = payload};
  *paths = (lh_folded_paths){0};
  lh_place_tree *tree = lh_places_of(snapshot);
  bool ok = tree && lh_folder_begin(&paths->folder, snapshot, tree) && allocate(&w, ids, n_ids);
  if (ok) {
    w.state[LH_ROOT] |= VISITED;
    paths->order[paths->n++] = LH_ROOT;
  }
  for (size_t i = 0; ok && i < paths->n; i++)
    if (w.state[paths->order[i]] & INNER) ok = visit_targets(&w, paths->order[i]);
  lh_free(w.state);
  lh_free(w.n_alike);
  lh_free(w.counted);
  return ok;
}

void lh_settle_folded(lh_folded_paths *paths) {
  lh_folder_settle(&paths->folder);
  lh_free(paths->state);
  lh_free(paths->order);
  paths->state = NULL;
  paths->order = NULL;
}

void lh_free_folded(lh_folded_paths *paths) {
  lh_settle_folded(paths);
  lh_folder_free(&paths->folder);
}
