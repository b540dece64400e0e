/*
** trial_elsewhere.c - Finds at which other path a new object would be (see trial.h).
** An object is in the row of the path that names it, though others may hold it, too: a full cache
** holds a page, and so does, for some time, a list of the last visits. The page moves from row to
** row, and one row gains by chance what the other loses. So each new object that several hold is
** counted for its row and another path: that of its other holders where most objects of its type
** are. What is inside such an object moves with it.
*/
#include <stdlib.h>

#include "graph/graph.h"
#include "trial.h"

enum { MOST_HOLDERS = 8 }; /* looked at for each object */

typedef struct search {
  lh_trial *trial;
  const lh_snapshot *snapshot;
  lh_folds *folds;
  const uint8_t *parts;
  bool again;
  uint8_t *to_look_at; /* by object: holders that may still be looked at */
  uint32_t *other;     /* by object: its place at another holder; LH_NO_PLACE: none */
  lh_map copies;       /* place -> place in the trial's tree */
  lh_map objects;      /* path, type -> objects there */
} search;

static uint64_t path_key(uint32_t path, lh_type type) {
  return (uint64_t)path << 8 | (uint64_t)type;
}

static bool count_objects(search *s) {
  for (size_t i = 0; i < s->trial->n_rows; i++) {
    const lh_trial_row *row = &s->trial->rows[i];
    uint32_t *n = lh_map_first(&s->objects, path_key(row->key[BY_PATH], row->type), 0);
    if (!n) return false;
    for (int part = BEFORE; part <= LAST; part++) *n += (uint32_t)row->counts.made[part];
  }
  return true;
}

/* Sets *path to the place in the trial's tree, and returns how many objects of this type are there.
** LH_NO_NUMBER: out of memory. */
static uint32_t find_path(search *s, uint32_t place, lh_type type, uint32_t *path) {
  uint32_t *copy = lh_map_at(&s->copies, place), n;
  if (copy && *copy == LH_NO_NUMBER) *copy = lh_trial_path(s->trial, s->folds->folder.tree, place);
  if (!copy || *copy == LH_NO_NUMBER) return LH_NO_NUMBER;
  *path = *copy;
  n = lh_map_get(&s->objects, path_key(*path, type));
  return n == LH_NO_NUMBER ? 0 : n;
}

static bool note_holder(search *s, lh_id holder, uint32_t e) {
  lh_id id = s->snapshot->edge[e];
  const lh_trial_row *own = lh_trial_row_of(s->trial, id);
  uint32_t state = lh_state_behind(s->folds, holder, e), path, best = 0;
  if (state == LH_NO_NUMBER) return false;
  uint32_t place = s->folds->folder.states[state].place;
  uint32_t n = find_path(s, place, own->type, &path);
  if (n > 0 && n != LH_NO_NUMBER && path == own->key[BY_PATH]) return true;
  if (s->other[id] != LH_NO_PLACE) best = find_path(s, s->other[id], own->type, &path);
  if (n > best) s->other[id] = place;
  return n != LH_NO_NUMBER && best != LH_NO_NUMBER;
}

static bool note_holders(search *s) {
  const lh_snapshot *snapshot = s->snapshot;
  for (size_t i = 0; i < s->folds->n; i++) {
    lh_id id = s->folds->order[i];
    if (lh_is_own(snapshot, id)) continue;
    for (uint32_t e = snapshot->first_edge[id]; e < snapshot->first_edge[id + 1]; e++) {
      if (snapshot->label[e] & LH_LABEL_ASIDE) continue;
      lh_id target = snapshot->edge[e];
      if (s->to_look_at[target] == 0 || snapshot->parent_edge[target] == e) continue;
      s->to_look_at[target]--;
      if (!note_holder(s, id, e)) return false;
    }
  }
  return true;
}

static bool is_counted(const search *s, lh_id id) {
  return s->trial->row_of[id] != LH_NO_NUMBER && lh_trial_row_of(s->trial, id)->again == s->again;
}

static bool is_new(const search *s, lh_id id) {
  return is_counted(s, id) && lh_trial_is_new(s->parts[lh_epoch(s->snapshot, id)]);
}

static void choose(search *s) {
  const lh_snapshot *snapshot = s->snapshot;
  for (size_t i = s->folds->n; i-- > 1;) {
    lh_id id = s->folds->order[i], above = lh_naming_parent(snapshot, id);
    if (s->to_look_at[id] == 0 && !is_new(s, id)) continue;
    s->to_look_at[above] = MOST_HOLDERS;
    s->to_look_at[id] = is_counted(s, id) ? MOST_HOLDERS : 0;
  }
  s->to_look_at[LH_ROOT] = 0;
}

/* The place of an object inside of one that has another place. False: out of memory. */
static bool move_with(search *s, lh_id id, lh_id above) {
  lh_place_tree *tree = s->folds->folder.tree;
  uint32_t own = lh_folded_place(s->folds, id), around = lh_folded_place(s->folds, above);
  if (own == around)
    s->other[id] = s->other[above];
  else if (lh_place_before(tree, own) == around)
    s->other[id] = lh_place_behind(tree, s->other[above], tree->list[own].step);
  return s->other[id] != LH_NO_NUMBER;
}

static bool count_pairs(search *s) {
  const lh_snapshot *snapshot = s->snapshot;
  for (size_t i = 1; i < s->folds->n; i++) {
    lh_id id = s->folds->order[i], above = lh_naming_parent(snapshot, id);
    if (s->other[id] == LH_NO_PLACE && s->other[above] != LH_NO_PLACE && !move_with(s, id, above))
      return false;
    if (s->other[id] == LH_NO_PLACE || !is_new(s, id)) continue;
    const lh_trial_row *own = lh_trial_row_of(s->trial, id);
    uint32_t path, n = find_path(s, s->other[id], own->type, &path);
    if (n == LH_NO_NUMBER) return false;
    if (n > 0 && path != own->key[BY_PATH] &&
        !lh_map_count(&s->trial->pairs, (uint64_t)own->key[BY_ROW] << 32 | path))
      return false;
  }
  return true;
}

bool lh_trial_look_elsewhere(lh_trial *trial, const lh_snapshot *snapshot, const uint8_t *parts,
                             bool again) {
  search s = {.trial = trial, .snapshot = snapshot, .parts = parts, .again = again};
  size_t n = (size_t)snapshot->n + 1;
  s.folds = lh_folds_of(snapshot);
  s.to_look_at = lh_alloc_zeroed(n, sizeof *s.to_look_at);
  s.other = lh_alloc(n, sizeof *s.other);
  bool ok = s.folds && s.to_look_at && s.other;
  for (size_t i = 0; ok && i < n; i++) s.other[i] = LH_NO_PLACE;
  if (ok) choose(&s);
  ok = ok && count_objects(&s) && note_holders(&s) && count_pairs(&s);
  LH_FREE_MAPS(&s.copies, &s.objects);
  LH_FREE_ALL(s.to_look_at, s.other);
  return ok;
}
