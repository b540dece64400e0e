/*
** held_by.c - the folded path of one object after another: lh_held_by.
**
** To trace each object's path from the root would cost its length each time, so a row for each
** element of a list of a million would take the square of that. Here the fold's state behind each
** step is kept (see fold.h), and a path is followed from the nearest object on it that has one: so
** all objects together take a step each, 0.3 us. 4 bytes an object, of which only those are touched
** that were on the way to one that was asked for.
*/
#include "fold.h"
#include "graph/graph.h"

struct lh_folds {
  lh_folder folder;
  uint32_t *state; /* of each object; LH_FOLD_START: not known yet */
};

static void free_folds(lh_folds *folds) {
  if (!folds) return;
  lh_folder_free(&folds->folder);
  lh_free(folds->state);
  lh_free(folds);
}

static int begin(lh_snapshot *snapshot, lh_error *error) {
  lh_folds *folds = lh_alloc_zeroed(1, sizeof *folds);
  if (!folds) return lh_fail_memory(error, "folding paths");
  folds->state = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *folds->state);
  lh_place_tree *tree = lh_places_of(snapshot);
  if (!folds->state || !tree || !lh_folder_begin(&folds->folder, snapshot, tree)) {
    free_folds(folds);
    return lh_fail_memory(error, "folding paths");
  }
  snapshot->folds = folds;
  snapshot->free_folds = free_folds;
  return LH_OK;
}

/* The state of an object that is reachable; LH_NO_NUMBER when out of memory. */
static uint32_t state_of(const lh_snapshot *snapshot, lh_id id) {
  lh_folds *folds = snapshot->folds;
  size_t n = 0;
  lh_id at = id;
  for (; at != LH_ROOT && folds->state[at] == LH_FOLD_START; at = lh_naming_parent(snapshot, at))
    n++;
  lh_id *way = lh_alloc(n, sizeof *way);
  if (!way) return LH_NO_NUMBER;
  uint32_t state = folds->state[at];
  size_t i = n;
  for (at = id; i > 0; at = lh_naming_parent(snapshot, at)) way[--i] = at;
  for (; i < n && state != LH_NO_NUMBER; i++) {
    lh_edge edge = lh_best_edge(snapshot, lh_naming_parent(snapshot, way[i]), way[i]);
    state = lh_fold_edge(&folds->folder, state, &edge);
    if (state != LH_NO_NUMBER) folds->state[way[i]] = state;
  }
  lh_free(way);
  return state;
}

int lh_held_by(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error) {
  *out = NULL;
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  if (!lh_is_reachable(snapshot, id))
    return lh_fail(error, LH_ENOTFOUND, "nothing keeps the object alive");
  if (!snapshot->folds) code = begin(snapshot, error);
  if (code != LH_OK) return code;
  lh_text text = {0};
  uint32_t state = state_of(snapshot, id);
  const lh_folder *folder = &snapshot->folds->folder;
  if (state != LH_NO_NUMBER) lh_place_text(folder->tree, folder->states[state].place, &text);
  *out = state != LH_NO_NUMBER ? lh_text_finish(&text) : NULL;
  return *out ? LH_OK : lh_fail_memory(error, "folding paths");
}
