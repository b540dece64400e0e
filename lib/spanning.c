/*
** spanning.c - the shortest paths of many objects at once: the part of the tree of parents that leads to
** them, from the root down. Each object's edges are decoded once, however many paths run through it, so
** that a million objects in one array cost that array once.
*/
#include "diff.h"
#include "fold.h"
#include "graph.h"

enum { WANTED = 1, VISITED = 2 };

typedef struct walk {
  const lh_snapshot *snapshot;
  uint8_t *state;
  lh_id *queue;
  size_t n_queue;
  uint32_t *n_alike; /* of each class, among one table's values */
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
    for (lh_id id = ids[i]; !w->state[id]; id = snapshot->parent[id]) {
      w->state[id] = WANTED;
      n_wanted++;
    }
  }
  w->queue = lh_alloc(n_wanted, sizeof *w->queue);
  w->n_alike = lh_alloc_zeroed(lh_class_count(snapshot) + 1, sizeof *w->n_alike);
  return w->queue && w->n_alike;
}

/* Counts the classes of a table's values; with `undo` clears the counts. */
static uint32_t count_values(walk *w, lh_id table, bool undo) {
  uint32_t n_values = 0;
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(w->snapshot, table, &it); lh_edges_next(&it, &edge);) {
    if (!lh_is_keyed_object(w->snapshot, &edge)) continue;
    uint32_t class_index = lh_class_of(w->snapshot, edge.target);
    if (class_index == UINT32_MAX) continue;
    w->n_alike[class_index] = undo ? 0 : w->n_alike[class_index] + 1;
    n_values++;
  }
  return n_values;
}

/* Visits the wanted objects that edges of one rank lead to. `left`: how many the object still has. */
static bool visit_rank(walk *w, lh_id id, unsigned rank, lh_key_sense sense, uint32_t n_values,
                       bool *more) {
  const lh_snapshot *snapshot = w->snapshot;
  lh_edges it;
  lh_edge edge;
  *more = false;
  for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) {
    if (w->state[edge.target] != WANTED || edge.weak || snapshot->parent[edge.target] != id)
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
    w->state[edge.target] = VISITED;
    w->queue[w->n_queue++] = edge.target;
    if (!w->visit(&edge, any_key, w->payload)) return false;
  }
  return true;
}

static bool visit_targets(walk *w, lh_id id) {
  enum { RANKS = 4 };
  bool is_table = lh_type_of(w->snapshot, id) == LH_TYPE_TABLE;
  lh_key_sense sense = is_table ? lh_key_sense_of(w->snapshot, id) : LH_KEYS_MEAN;
  uint32_t n_values = sense == LH_KEYS_DEPEND ? count_values(w, id, false) : 0;
  bool ok = true, more = true;
  for (unsigned rank = 0; ok && more && rank < RANKS; rank++)
    ok = visit_rank(w, id, rank, sense, n_values, &more);
  if (sense == LH_KEYS_DEPEND) (void)count_values(w, id, true);
  return ok;
}

bool lh_walk_paths(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, lh_visit visit,
                   void *payload) {
  walk w = {.snapshot = snapshot, .visit = visit, .payload = payload};
  bool ok = allocate(&w, ids, n_ids);
  if (ok) {
    w.state[LH_ROOT] = VISITED;
    w.queue[w.n_queue++] = LH_ROOT;
  }
  for (size_t i = 0; ok && i < w.n_queue; i++) ok = visit_targets(&w, w.queue[i]);
  lh_free(w.state);
  lh_free(w.queue);
  lh_free(w.n_alike);
  return ok;
}
