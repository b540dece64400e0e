/*
** fold_paths.c - folds the paths that name all objects, at once.
**
** Reads each row once, down the tree of parents. Most steps are in a cache of recent steps.
*/
#include <string.h>

#include "fold.h"
#include "graph/graph.h"
#include "read/decode.h"

enum { LOG2_RECENT = 8, N_RECENT_SLOTS = 32, AHEAD = 16 };

typedef struct recent_step {
  uint64_t spots; /* the spot before, and the class behind */
  uint64_t step;  /* kind of the edge, for an upvalue with its number; then the string key, or the
                     prototype; LH_NO_OBJECT: any key */
  uint32_t to;
} recent_step;

/* The same from a thread, through a slot of a Lua function's frame: what its text depends on. */
typedef struct recent_slot {
  uint64_t spots, name, kind; /* name and ordinal; kind, and class of the function */
  uint32_t to;
} recent_slot;

typedef struct walk {
  const lh_snapshot *snapshot;
  lh_folds *folds;      /* its `order` is the queue */
  const uint8_t *marks; /* of lh_mark_paths; NULL: all paths */
  lh_map spot_of;       /* state, class -> spot */
  recent_step *recent;
  recent_slot slots[N_RECENT_SLOTS];
  lh_id thread;      /* whose slots are read; LH_NO_OBJECT: none */
  lh_edges reads;    /* up to the last slot */
  uint32_t *n_alike; /* of each class, among the values of one table */
  uint32_t *counted; /* the classes with n_alike > 0 */
  uint32_t n_counted;
  uint64_t *sorting; /* for lh_sort_many_ids */
} walk;

static bool allocate(walk *w) {
  const lh_snapshot *s = w->snapshot;
  w->folds->order = lh_alloc((size_t)s->reach.reachable_objects + 1, sizeof *w->folds->order);
  w->folds->spot = lh_alloc_zeroed((size_t)s->n + 1, sizeof *w->folds->spot);
  w->recent = lh_alloc_zeroed(1 << LOG2_RECENT, sizeof *w->recent);
  w->n_alike = lh_alloc_zeroed(lh_class_count(s) + 1, sizeof *w->n_alike);
  w->counted = lh_alloc(lh_class_count(s) + 1, sizeof *w->counted);
  w->sorting = lh_alloc_zeroed((size_t)s->n / 64 + 1, sizeof *w->sorting);
  return w->folds->order && w->folds->spot && w->recent && w->n_alike && w->counted && w->sorting;
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

typedef struct source {
  lh_id id;
  uint32_t spot, most_values;
  lh_key_sense sense; /* of its keys */
  bool is_common;     /* recent steps may lead from it */
  bool is_counted;    /* n_values is known, and n_alike */
  uint32_t n_values;
} source;

static inline source source_at(const walk *w, lh_id id) {
  const lh_snapshot *s = w->snapshot;
  uint32_t n_edges = s->first_edge[id + 1] - s->first_edge[id];
  source from = {.id = id, .spot = w->folds->spot[id], .most_values = n_edges / 2};
  if (s->classes->of[id] == UINT32_MAX) return from;
  from.is_common = id != s->classes->loaded; /* its steps have texts of their own */
  if ((s->kind[id] & LH_KIND_TYPE) == LH_TYPE_TABLE) from.sense = lh_key_sense_of(s, id);
  return from;
}

/* Each value has a key in the row. Records are many and small: for most, no key would vary even if
** all values were alike, so the values are not counted. */
static inline bool is_any_key(walk *w, source *from, uint32_t e, uint32_t class_index) {
  const lh_snapshot *s = w->snapshot;
  if (from->sense != LH_KEYS_DEPEND) return from->sense == LH_KEYS_VARY;
  if (from->most_values < LH_LEAST_ALIKE || !lh_is_keyed_object(s, e)) return false;
  if (!lh_keys_vary(s, class_index, from->most_values, from->most_values)) return false;
  if (!from->is_counted) from->n_values = count_values(w, from->id);
  from->is_counted = true;
  return lh_keys_vary(s, class_index, w->n_alike[class_index], from->n_values);
}

/* ==== Spots ========================================================================== */

static uint32_t spot_of_state(walk *w, uint32_t state, uint32_t class_index) {
  lh_folds *folds = w->folds;
  if (state == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t *spot = lh_map_at(&w->spot_of, (uint64_t)state << 32 | class_index);
  if (!spot || *spot != LH_NO_NUMBER) return spot ? *spot : LH_NO_NUMBER;
  if (!lh_grow(&folds->spots, folds->n_spots, &folds->capacity, sizeof *folds->spots))
    return LH_NO_NUMBER;
  folds->spots[folds->n_spots] = (lh_spot){
      .state = state, .class_index = class_index, .is_open = lh_is_open(&folds->folder, state)};
  return *spot = (uint32_t)folds->n_spots++;
}

static uint32_t fold_edge(walk *w, uint32_t from, const lh_edge *edge, bool any_key) {
  lh_folds *folds = w->folds;
  uint32_t state = lh_fold_step(&folds->folder, folds->spots[from].state, edge, any_key);
  return spot_of_state(w, state, w->snapshot->classes->of[edge->target]);
}

static uint64_t step_with(uint64_t kind, lh_id key) {
  return kind << 32 | key;
}

/* The prototype has the names, so the number tells the name. 0: the function is written in C. */
static inline uint64_t upvalue_step(const lh_snapshot *s, lh_id closure, uint32_t e) {
  uint32_t first = s->first_edge[closure];
  uint64_t number = e - first, is_inside = lh_is_made_inside(s, closure);
  if (lh_label_kind(s->label[first]) != LH_EDGE_PROTO || number >> 16) return 0;
  return step_with(number << 8 | is_inside << 7 | LH_EDGE_UPVALUE, lh_true_target(s, first));
}

/* The part of a recent step that is in the row; 0: the text of the step depends on more. */
static inline uint64_t step_in_row(const lh_snapshot *s, lh_id id, uint32_t e, bool any_key) {
  uint8_t label = s->label[e];
  lh_edge_kind kind = lh_label_kind(label);
  if (kind == LH_EDGE_VALUE) {
    if (label & LH_LABEL_ODD) return 0;
    return step_with(kind, any_key ? LH_NO_OBJECT : lh_key_of_row(s, e));
  }
  if (kind == LH_EDGE_UPVALUE) return upvalue_step(s, id, e);
  bool is_plain = kind == LH_EDGE_KEY || kind == LH_EDGE_METATABLE || kind == LH_EDGE_CONTENT;
  return is_plain ? step_with(kind, LH_NO_OBJECT) : 0;
}

static lh_edge edge_of_step(const lh_snapshot *s, lh_id from, uint32_t e, uint64_t step) {
  if (step >> 32 != LH_EDGE_VALUE) return lh_edge_at(s, from, e);
  lh_edge edge = {.source = from, .target = s->edge[e], .kind = LH_EDGE_VALUE};
  edge.name = edge.holder = LH_NO_OBJECT;
  edge.key.kind = LH_VALUE_INTEGER;
  if ((lh_id)step != LH_NO_OBJECT) edge.key = lh_object_value((lh_id)step);
  return edge;
}

static uint32_t fold_new(walk *w, lh_id id, uint32_t from, uint32_t e, bool any_key,
                         uint64_t step) {
  lh_edge edge = edge_of_step(w->snapshot, id, e, step);
  return fold_edge(w, from, &edge, any_key);
}

/* The slots of a thread are read once, not from its beginning for each. */
static lh_edge read_slot(walk *w, lh_id thread, uint32_t e) {
  lh_edge edge = {0};
  if (w->thread != thread) lh_edges_begin(w->snapshot, thread, &w->reads);
  w->thread = thread;
  while (lh_edges_next(&w->reads, &edge) && lh_edges_number(&w->reads) < e) continue;
  return edge;
}

static uint32_t fold_slot(walk *w, lh_id thread, uint32_t from, uint32_t e, uint32_t class_index) {
  lh_edge edge = read_slot(w, thread, e);
  bool names_target = edge.kind == LH_EDGE_FUNCTION || edge.kind == LH_EDGE_OPEN_UPVALUE;
  lh_id function = names_target ? edge.target : edge.holder;
  uint32_t function_class = lh_class_of(w->snapshot, function);
  if (function_class == UINT32_MAX) return fold_edge(w, from, &edge, false);
  recent_slot slot = {.spots = (uint64_t)from << 32 | class_index,
                      .name = (uint64_t)edge.name << 32 | edge.ordinal,
                      .kind = (uint64_t)function_class << 8 | edge.kind};
  uint64_t hash = (slot.spots ^ slot.name ^ slot.kind) * 0xD6E8FEB86659FD93u;
  recent_slot *known = &w->slots[hash >> 32 & (N_RECENT_SLOTS - 1)];
  if (known->spots == slot.spots && known->name == slot.name && known->kind == slot.kind)
    return known->to;
  slot.to = fold_edge(w, from, &edge, false);
  *known = slot;
  return slot.to;
}

/* For the edge `e` to an object of this class. */
static inline uint32_t spot_behind(walk *w, source *from, uint32_t e, uint32_t class_index) {
  bool any_key = is_any_key(w, from, e, class_index);
  uint64_t step = from->is_common ? step_in_row(w->snapshot, from->id, e, any_key) : 0;
  if (step == 0 && from->is_common && lh_label_kind(w->snapshot->label[e]) >= LH_EDGE_FUNCTION)
    return fold_slot(w, from->id, from->spot, e, class_index);
  if (step == 0) return fold_new(w, from->id, from->spot, e, any_key, step);
  uint64_t spots = (uint64_t)from->spot << 32 | class_index;
  uint64_t hash = (spots ^ step * 0x9FB21C651E98DF25u) * 0xD6E8FEB86659FD93u;
  recent_step *recent = &w->recent[hash >> (64 - LOG2_RECENT)];
  if (recent->spots != spots || recent->step != step)
    *recent = (recent_step){spots, step, fold_new(w, from->id, from->spot, e, any_key, step)};
  return recent->to;
}

/* ==== The walk ======================================================================= */

/* The first edge from `e` on that is on a path to its target. */
static inline uint32_t next_on_path(const lh_snapshot *s, uint32_t e, uint32_t end) {
  const lh_id *edge = s->edge;
  const uint32_t *parent_edge = s->parent_edge;
  for (; e < end; e++) {
    if (end - e > AHEAD) {
      lh_prefetch(&parent_edge[edge[e + AHEAD]]);
      lh_prefetch(&s->kind[edge[e + AHEAD]]);
      lh_prefetch(&s->classes->of[edge[e + AHEAD]]);
    }
    if (parent_edge[edge[e]] == e) break;
  }
  return e;
}

static inline bool fill_spot(lh_folds *folds, uint32_t from, uint32_t e, lh_id target,
                             uint32_t to) {
  if (to == LH_NO_NUMBER) return false;
  lh_spot *spot = &folds->spots[to];
  folds->order[folds->n++] = target;
  folds->spot[target] = to;
  spot->objects++;
  return !spot->is_open ||
         lh_note_key(&folds->seen_keys, &folds->folder, folds->spots[from].state, spot->state, e);
}

static bool visit_targets(walk *w, lh_id id) {
  const lh_snapshot *s = w->snapshot;
  const uint32_t *class_of = s->classes->of;
  const uint8_t *marks = w->marks;
  uint32_t end = s->first_edge[id + 1], e = next_on_path(s, s->first_edge[id], end);
  if (e == end) return true;
  source from = source_at(w, id);
  bool ok = true;
  for (; ok && e < end; e = next_on_path(s, e + 1, end)) {
    lh_id target = s->edge[e];
    if (marks && !marks[target]) continue;
    uint32_t to = spot_behind(w, &from, e, class_of[target]);
    ok = fill_spot(w->folds, from.spot, e, target, to);
  }
  while (w->n_counted > 0) w->n_alike[w->counted[--w->n_counted]] = 0;
  return ok;
}

static void look_ahead(const lh_snapshot *s, const lh_folds *folds, size_t i) {
  if (i + AHEAD >= folds->n) return;
  lh_prefetch(&s->first_edge[folds->order[i + AHEAD]]);
  lh_prefetch(&s->edge[s->first_edge[folds->order[i + AHEAD / 2]]]);
  lh_id next = folds->order[i + AHEAD / 4];
  uint32_t e = s->first_edge[next], end = s->first_edge[next + 1];
  for (uint32_t last = e + AHEAD / 4; e < end && e < last; e++)
    lh_prefetch(&s->parent_edge[s->edge[e]]);
}

static bool has_targets(const lh_snapshot *s, lh_id id) {
  return s->first_edge[id] < s->first_edge[id + 1];
}

static bool fold_paths(lh_folds *folds, const lh_snapshot *snapshot, const uint8_t *marks) {
  walk w = {.snapshot = snapshot, .folds = folds, .marks = marks, .thread = LH_NO_OBJECT};
  lh_place_tree *tree = lh_places_of(snapshot);
  bool ok = tree && lh_folder_begin(&folds->folder, snapshot, tree) && allocate(&w) &&
            spot_of_state(&w, LH_FOLD_START, UINT32_MAX) == 0;
  if (ok) folds->order[folds->n++] = LH_ROOT;
  for (size_t i = 0, end = 0; ok && i < folds->n; i++) {
    if (i == end) {
      end = folds->n;
      (void)lh_sort_many_ids(w.sorting, snapshot->n, &folds->order[i], end - i);
    }
    look_ahead(snapshot, folds, i);
    if (has_targets(snapshot, folds->order[i])) ok = visit_targets(&w, folds->order[i]);
  }
  lh_map_free(&w.spot_of);
  LH_FREE_ALL(w.recent, w.n_alike, w.counted, w.sorting);
  return ok;
}

static void free_folds(lh_folds *folds) {
  lh_folder_free(&folds->folder);
  LH_FREE_ALL(folds->spots, folds->spot, folds->order, folds->seen_keys.list, folds);
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

bool lh_note_keys(lh_seen_keys *seen_keys, const lh_folds *folds, const lh_id *ids, size_t n_ids) {
  const lh_folder *folder = &folds->folder;
  const lh_snapshot *s = folder->snapshot;
  uint64_t *is_met = lh_alloc_zeroed((size_t)s->n / 64 + 1, sizeof *is_met);
  bool ok = is_met != NULL;
  for (size_t i = 0; ok && i < n_ids; i++)
    for (lh_id id = ids[i], parent; ok && id != LH_ROOT; id = parent) {
      if (is_met[id / 64] >> id % 64 & 1) break;
      is_met[id / 64] |= UINT64_C(1) << id % 64;
      const lh_spot *spot = lh_spot_at(folds, id);
      parent = lh_naming_parent(s, id);
      if (spot->is_open)
        ok = lh_note_key(seen_keys, folder, lh_spot_at(folds, parent)->state, spot->state,
                         s->parent_edge[id]);
    }
  lh_free(is_met);
  return ok;
}

/* ==================================================================================== */

uint32_t lh_place_of_object(const lh_snapshot *snapshot, lh_id id) {
  const lh_folds *folds = lh_folds_of(snapshot);
  return folds ? lh_folded_place(folds, id) : LH_NO_NUMBER;
}

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
