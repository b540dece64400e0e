/*
** spanning.c - the shortest paths of many objects at once: the part of the tree of parents that
** leads to them, from the root down. Each object's edges are decoded once, however many paths run
** through it, so that a million objects in one array cost that array once.
*/
#include "diff.h"
#include "graph/graph.h"
#include "name/fold.h"

/* A path leads to it; one leads on from it; it was visited. */
enum { WANTED = 1, INNER = 2, VISITED = 4 };

typedef struct walk {
  const lh_snapshot *snapshot;
  uint8_t *state;
  lh_id *queue;
  size_t n_queue;
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
    for (lh_id id = ids[i]; !(w->state[id] & WANTED); id = snapshot->parent[id]) {
      w->state[id] |= WANTED;
      w->state[snapshot->parent[id]] |= INNER;
      n_wanted++;
    }
  }
  w->queue = lh_alloc(n_wanted, sizeof *w->queue);
  w->n_alike = lh_alloc_zeroed(lh_class_count(snapshot) + 1, sizeof *w->n_alike);
  w->counted = lh_alloc(lh_class_count(snapshot) + 1, sizeof *w->counted);
  return w->queue && w->n_alike && w->counted;
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

/* Visits the wanted objects that edges of one rank lead to; *more: others lead to some, too. */
static bool visit_rank(walk *w, lh_id id, unsigned rank, lh_key_sense sense, uint32_t n_values,
                       bool *more) {
  const lh_snapshot *snapshot = w->snapshot;
  lh_edges it;
  lh_edge edge;
  *more = false;
  for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) {
    uint8_t state = w->state[edge.target];
    if (!(state & WANTED) || (state & VISITED) || edge.weak || snapshot->parent[edge.target] != id)
      continue;
    if (lh_edge_rank(snapshot, &edge) != rank) {
      *more = true;
      continue;
    }
    bool any_key = sense == LH_KEYS_VARY;
    if (sense == LH_KEYS_DEPEND && lh_is_keyed_object(snapshot, &edge)) {
      uint32_t class_index = lh_class_of(snapshot, edge.target);
      any_key = class_index != UINT32_MAX &&
                lh_keys_vary(snapshot, class_index, w->n_alike[class_index], n_values);
    }
    w->state[edge.target] |= VISITED;
    w->queue[w->n_queue++] = edge.target;
    if (!w->visit(&edge, any_key, w->payload)) return false;
  }
  return true;
}

static bool visit_targets(walk *w, lh_id id) {
  enum { RANKS = 4 };
  bool is_table = lh_type_of(w->snapshot, id) == LH_TYPE_TABLE;
  lh_key_sense sense = is_table ? lh_key_sense_of(w->snapshot, id) : LH_KEYS_MEAN;
  bool has_strings = is_table && has_string_key(w->snapshot, id);
  uint32_t n_values = has_strings && sense == LH_KEYS_DEPEND ? count_values(w, id) : 0;
  bool ok = true, more = true;
  for (unsigned rank = !has_strings; ok && more && rank < RANKS; rank++)
    ok = visit_rank(w, id, rank, sense, n_values, &more);
  while (w->n_counted > 0) w->n_alike[w->counted[--w->n_counted]] = 0;
  return ok;
}

bool lh_walk_paths(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, lh_visit visit,
                   void *payload) {
  walk w = {.snapshot = snapshot, .visit = visit, .payload = payload};
  bool ok = allocate(&w, ids, n_ids);
  if (ok) {
    w.state[LH_ROOT] |= VISITED;
    w.queue[w.n_queue++] = LH_ROOT;
  }
  for (size_t i = 0; ok && i < w.n_queue; i++)
    if (w.state[w.queue[i]] & INNER) ok = visit_targets(&w, w.queue[i]);
  lh_free(w.state);
  lh_free(w.queue);
  lh_free(w.n_alike);
  lh_free(w.counted);
  return ok;
}
