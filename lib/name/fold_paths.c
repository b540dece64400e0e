/*
** fold_paths.c - the paths that many objects are named by, at once and folded: the part of the tree
** of parents that leads to them, from the root down. Each object's row is gone through once,
** however many paths run through it, so that a million objects in one array cost that array once.
*/
#include "fold.h"
#include "graph/graph.h"
#include "read/decode.h"

/* A path leads to it; one leads on from it. */
enum { WANTED = 1, INNER = 2 };

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

/* As lh_is_keyed_object says of an edge. */
static bool is_keyed_object(const lh_snapshot *s, uint32_t e) {
  enum {
    KEYED = 1 << LH_TYPE_TABLE | 1 << LH_TYPE_USERDATA | 1 << LH_TYPE_THREAD | 1 << LH_TYPE_CLOSURE
  };
  return s->label[e] & LH_LABEL_KEYED &&
         (s->kind[lh_true_target(s, e - 1)] & 15) == LH_TYPE_STRING &&
         KEYED >> (s->kind[lh_true_target(s, e)] & 15) & 1;
}

/* Counts the classes of a table's values. */
static uint32_t count_values(walk *w, lh_id table) {
  const lh_snapshot *s = w->snapshot;
  uint32_t n_values = 0;
  for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1]; e++) {
    if (!is_keyed_object(s, e)) continue;
    uint32_t class_index = s->classes->of[lh_true_target(s, e)];
    if (class_index == UINT32_MAX) continue;
    if (w->n_alike[class_index]++ == 0) w->counted[w->n_counted++] = class_index;
    n_values++;
  }
  return n_values;
}

/* How the keys of the table whose targets are visited are to be read. */
typedef struct keys {
  lh_key_sense sense;
  uint32_t n_values;
} keys;

/* The edge as far as its folded piece needs it, or with a visitor all of it: a number as key is any
** key. */
static lh_edge folded_edge(const walk *w, lh_id source, uint32_t e) {
  const lh_snapshot *s = w->snapshot;
  bool is_number = lh_label_kind(s->label[e]) == LH_EDGE_VALUE &&
                   !(s->label[e] & (LH_LABEL_KEYED | LH_LABEL_ODD));
  if (w->visit || !is_number) return lh_edge_at(s, source, e);
  return (lh_edge){.source = source,
                   .target = s->edge[e],
                   .kind = LH_EDGE_VALUE,
                   .name = LH_NO_OBJECT,
                   .holder = LH_NO_OBJECT,
                   .key.kind = LH_VALUE_INTEGER};
}

static bool visit_edge(walk *w, lh_id source, uint32_t e, keys k) {
  const lh_snapshot *s = w->snapshot;
  bool any_key = k.sense == LH_KEYS_VARY;
  if (k.sense == LH_KEYS_DEPEND && is_keyed_object(s, e)) {
    uint32_t class_index = s->classes->of[s->edge[e]];
    any_key = class_index != UINT32_MAX &&
              lh_keys_vary(s, class_index, w->n_alike[class_index], k.n_values);
  }
  lh_folded_paths *paths = w->paths;
  lh_edge edge = folded_edge(w, source, e);
  uint32_t state = lh_fold_step(&paths->folder, paths->state[source], &edge, any_key);
  paths->order[paths->n++] = edge.target;
  paths->state[edge.target] = state;
  return state != LH_NO_NUMBER && (!w->visit || w->visit(&edge, w->payload));
}

/* Records are many, and small: with fewer values than a map has they need no closer look. */
static bool has_edges_of_map(const lh_snapshot *s, lh_id id) {
  uint32_t n_edges = s->first_edge[id + 1] - s->first_edge[id];
  return n_edges >= 2 * LH_LEAST_ALIKE; /* a key and a value each */
}

/* Those that are found by an edge of `id`. */
static bool visit_targets(walk *w, lh_id id) {
  const lh_snapshot *s = w->snapshot;
  bool is_table = (s->kind[id] & 15) == LH_TYPE_TABLE, ok = true;
  keys k = {.sense = is_table ? lh_key_sense_of(s, id) : LH_KEYS_MEAN};
  if (k.sense == LH_KEYS_DEPEND && has_edges_of_map(s, id)) k.n_values = count_values(w, id);
  for (uint32_t e = s->first_edge[id]; ok && e < s->first_edge[id + 1]; e++) {
    lh_id target = s->edge[e];
    if (w->state[target] & WANTED && s->parent_edge[target] == e && target != LH_ROOT)
      ok = visit_edge(w, id, e, k);
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
  if (ok) paths->order[paths->n++] = LH_ROOT;
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
