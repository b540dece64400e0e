/*
** fold_paths.c - folds the paths that name all objects, at once.
**
** Reads each row once, down the tree of parents. Most steps are in a cache of recent steps.
*/
#include <string.h>

#include "fold.h"
#include "graph/graph.h"
#include "read/decode.h"

enum { N_RECENT = 256 }; /* a power of two */

/* A step between two spots. `to` is never 0. */
typedef struct recent_step {
  uint32_t from, class_index;
  uint32_t kind; /* of the edge; for an upvalue with its number */
  lh_id key;     /* value: its string key, LH_NO_OBJECT: any key; upvalue: its name */
  uint32_t to;
} recent_step;

typedef struct walk {
  const lh_snapshot *snapshot;
  lh_folds *folds;      /* its `order` is the queue */
  const uint8_t *marks; /* of lh_mark_paths; NULL: all paths */
  lh_map spot_of;       /* state, class -> spot */
  recent_step *recent;
  uint32_t *n_alike; /* of each class, among the values of one table */
  uint32_t *counted; /* the classes with n_alike > 0 */
  uint32_t n_counted;
} walk;

static bool allocate(walk *w) {
  const lh_snapshot *s = w->snapshot;
  w->folds->order = lh_alloc((size_t)s->reach.reachable_objects + 1, sizeof *w->folds->order);
  w->folds->spot = lh_alloc_zeroed((size_t)s->n + 1, sizeof *w->folds->spot);
  w->recent = lh_alloc_zeroed(N_RECENT, sizeof *w->recent);
  w->n_alike = lh_alloc_zeroed(lh_class_count(s) + 1, sizeof *w->n_alike);
  w->counted = lh_alloc(lh_class_count(s) + 1, sizeof *w->counted);
  return w->folds->order && w->folds->spot && w->recent && w->n_alike && w->counted;
}

/* ==== Varying keys =================================================================== */

static uint32_t count_values(walk *w, lh_id table) {
  const lh_snapshot *s = w->snapshot;
  uint32_t n_values = 0;
  for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1]; e++) {
    if (!lh_is_keyed_object(s, e)) continue;
    uint32_t class_index = s->classes->of[lh_true_target(s, e)];
    if (class_index == UINT32_MAX) continue;
    if (w->n_alike[class_index]++ == 0) w->counted[w->n_counted++] = class_index;
    n_values++;
  }
  return n_values;
}

typedef struct keys {
  lh_key_sense sense;
  uint32_t n_values;
} keys;

/* Records are many and small; with fewer values than a map has, no count is needed. */
static bool has_edges_of_map(const lh_snapshot *s, lh_id id) {
  uint32_t n_edges = s->first_edge[id + 1] - s->first_edge[id];
  return n_edges >= 2 * LH_LEAST_ALIKE; /* a key and a value each */
}

static keys keys_of(walk *w, lh_id id) {
  const lh_snapshot *s = w->snapshot;
  keys k = {.sense = LH_KEYS_MEAN};
  if ((s->kind[id] & LH_KIND_TYPE) != LH_TYPE_TABLE) return k;
  k.sense = lh_key_sense_of(s, id);
  if (k.sense != LH_KEYS_DEPEND) return k;
  if (has_edges_of_map(s, id))
    k.n_values = count_values(w, id);
  else
    k.sense = LH_KEYS_MEAN;
  return k;
}

static bool is_any_key(const walk *w, keys k, uint32_t e) {
  const lh_snapshot *s = w->snapshot;
  if (k.sense != LH_KEYS_DEPEND) return k.sense == LH_KEYS_VARY;
  if (!lh_is_keyed_object(s, e)) return false;
  uint32_t class_index = s->classes->of[s->edge[e]];
  return class_index != UINT32_MAX &&
         lh_keys_vary(s, class_index, w->n_alike[class_index], k.n_values);
}

/* ==== Spots ========================================================================== */

static uint32_t spot_of_state(walk *w, uint32_t state, uint32_t class_index) {
  lh_folds *folds = w->folds;
  if (state == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t *spot = lh_map_at(&w->spot_of, (uint64_t)state << 32 | class_index);
  if (!spot || *spot != LH_NO_NUMBER) return spot ? *spot : LH_NO_NUMBER;
  if (!lh_grow(&folds->spots, folds->n_spots, &folds->capacity, sizeof *folds->spots))
    return LH_NO_NUMBER;
  folds->spots[folds->n_spots] = (lh_spot){state, class_index};
  return *spot = (uint32_t)folds->n_spots++;
}

static uint32_t fold_edge(walk *w, uint32_t from, const lh_edge *edge, bool any_key) {
  lh_folds *folds = w->folds;
  uint32_t state = lh_fold_step(&folds->folder, folds->spots[from].state, edge, any_key);
  return spot_of_state(w, state, w->snapshot->classes->of[edge->target]);
}

/* Fills the cache key of a step. False: the text of the step depends on more. */
static inline bool set_step(const lh_snapshot *s, lh_id source, uint32_t e, bool any_key,
                            recent_step *step) {
  lh_edge edge = {.source = source};
  step->kind = lh_label_kind(s->label[e]);
  step->key = LH_NO_OBJECT;
  switch (step->kind) {
    case LH_EDGE_VALUE:
      if (!any_key) step->key = lh_key_of_row(s, e);
      return !(s->label[e] & LH_LABEL_ODD) && source != s->classes->loaded;
    case LH_EDGE_UPVALUE:
      if (!lh_tell_upvalue(s, e, &edge)) return false;
      step->key = edge.name;
      step->kind |= edge.ordinal << 8 | (uint32_t)lh_is_made_inside(s, source) << 7;
      return true;
    case LH_EDGE_KEY:
    case LH_EDGE_METATABLE:
    case LH_EDGE_CONTENT: return true;
    default: return false;
  }
}

static lh_edge edge_of_step(const lh_snapshot *s, lh_id source, uint32_t e,
                            const recent_step *step) {
  if (step->kind != LH_EDGE_VALUE) return lh_edge_at(s, source, e);
  lh_edge edge = {.source = source, .target = s->edge[e], .kind = LH_EDGE_VALUE};
  edge.name = edge.holder = LH_NO_OBJECT;
  edge.key.kind = LH_VALUE_INTEGER;
  if (step->key != LH_NO_OBJECT) edge.key = lh_object_value(step->key);
  return edge;
}

static recent_step *recent_of(const walk *w, const recent_step *step) {
  uint32_t hash = step->from * 0x9E3779B1u ^ step->class_index * 0x85EBCA77u ^ step->key;
  return &w->recent[(hash * 0xC2B2AE3Du + step->kind * 0x27D4EB2Fu) >> 16 & (N_RECENT - 1)];
}

static uint32_t spot_behind(walk *w, uint32_t from, lh_id source, uint32_t e, bool any_key) {
  const lh_snapshot *s = w->snapshot;
  recent_step step = {.from = from, .class_index = s->classes->of[s->edge[e]]};
  if (s->classes->of[source] == UINT32_MAX || !set_step(s, source, e, any_key, &step)) {
    lh_edge edge = lh_edge_at(s, source, e);
    return fold_edge(w, from, &edge, any_key);
  }
  recent_step *recent = recent_of(w, &step);
  if (recent->to != 0 && recent->from == from && recent->class_index == step.class_index &&
      recent->kind == step.kind && recent->key == step.key)
    return recent->to;
  lh_edge edge = edge_of_step(s, source, e, &step);
  step.to = fold_edge(w, from, &edge, any_key);
  if (step.to != LH_NO_NUMBER) *recent = step;
  return step.to;
}

/* ==== The walk ======================================================================= */

static bool visit_targets(walk *w, lh_id id) {
  const lh_snapshot *s = w->snapshot;
  lh_folds *folds = w->folds;
  const lh_id *edge = s->edge;
  const uint32_t *parent_edge = s->parent_edge;
  const uint8_t *marks = w->marks;
  uint32_t first = s->first_edge[id], end = s->first_edge[id + 1];
  if (first == end) return true;
  bool ok = true;
  keys k = keys_of(w, id);
  for (uint32_t e = first; ok && e < end; e++) {
    lh_id target = edge[e];
    if ((marks && !marks[target]) || parent_edge[target] != e) continue;
    uint32_t spot = spot_behind(w, folds->spot[id], id, e, is_any_key(w, k, e));
    folds->order[folds->n++] = target;
    folds->spot[target] = spot;
    ok = spot != LH_NO_NUMBER;
  }
  while (w->n_counted > 0) w->n_alike[w->counted[--w->n_counted]] = 0;
  return ok;
}

static bool fold_paths(lh_folds *folds, const lh_snapshot *snapshot, const uint8_t *marks) {
  walk w = {.snapshot = snapshot, .folds = folds, .marks = marks};
  lh_place_tree *tree = lh_places_of(snapshot);
  bool ok = tree && lh_folder_begin(&folds->folder, snapshot, tree) && allocate(&w) &&
            spot_of_state(&w, LH_FOLD_START, UINT32_MAX) == 0;
  if (ok) folds->order[folds->n++] = LH_ROOT;
  for (size_t i = 0; ok && i < folds->n; i++) ok = visit_targets(&w, folds->order[i]);
  lh_map_free(&w.spot_of);
  LH_FREE_ALL(w.recent, w.n_alike, w.counted);
  return ok;
}

static void free_folds(lh_folds *folds) {
  lh_folder_free(&folds->folder);
  LH_FREE_ALL(folds->spots, folds->spot, folds->order, folds);
}

lh_folds *lh_folds_of(const lh_snapshot *snapshot) {
  return snapshot->classes->folds ? snapshot->classes->folds : lh_fold_marked(snapshot, NULL);
}

lh_folds *lh_fold_marked(const lh_snapshot *snapshot, const uint8_t *marks) {
  lh_classes *classes = snapshot->classes;
  lh_folds *folds = lh_alloc_zeroed(1, sizeof *folds);
  if (!folds) return NULL;
  if (!fold_paths(folds, snapshot, marks)) {
    free_folds(folds);
    return NULL;
  }
  lh_folder_settle(&folds->folder);
  (void)lh_fit(&folds->spots, folds->n_spots, &folds->capacity, sizeof *folds->spots);
  classes->free_folds = free_folds;
  return classes->folds = folds;
}

/* ==================================================================================== */

uint32_t *lh_numbers_of_spots(const lh_folds *folds, size_t n) {
  uint32_t *numbers = lh_alloc(folds->n_spots, n * sizeof *numbers);
  if (numbers) memset(numbers, 0xFF, folds->n_spots * n * sizeof *numbers);
  return numbers;
}

/* ==== Keys on the paths of a question ================================================ */

uint8_t *lh_mark_paths(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids) {
  uint8_t *marks = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!marks) return NULL;
  marks[LH_ROOT] = 1;
  for (size_t i = 0; i < n_ids; i++)
    for (lh_id id = ids[i]; !marks[id]; id = lh_naming_parent(snapshot, id)) marks[id] = 1;
  return marks;
}

bool lh_meet_keys(lh_met *met, const lh_folds *folds, const uint8_t *marks) {
  const lh_folder *folder = &folds->folder;
  const lh_snapshot *s = folder->snapshot;
  bool ok = true;
  for (size_t i = 1; ok && i < folds->n; i++) {
    lh_id id = folds->order[i];
    if (marks && !marks[id]) continue;
    uint32_t from = lh_spot_at(folds, lh_naming_parent(s, id))->state;
    ok = lh_meet_key(met, folder, from, lh_spot_at(folds, id)->state,
                     lh_key_of_row(s, s->parent_edge[id]));
  }
  return ok;
}

/* ==================================================================================== */

int lh_held_by(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error) {
  *out = NULL;
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  if (!lh_is_reachable(snapshot, id))
    return lh_fail(error, LH_ENOTFOUND, "nothing keeps the object alive");
  const lh_folds *folds = lh_folds_of(snapshot);
  if (folds) {
    lh_text text = {0};
    lh_place_text(folds->folder.tree, lh_folded_place(folds, id), &text);
    *out = lh_text_finish(&text);
  }
  return *out ? LH_OK : lh_fail_memory(error, "folding paths");
}
