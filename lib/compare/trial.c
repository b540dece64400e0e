/*
** trial.c - counts what there is at each snapshot of a trial, by row and by the part of the runs in
** which it was made (see trial.h).
*/
#include "trial.h"

#include <stdlib.h>
#include <string.h>

int lh_trial_new(lh_trial **out, lh_error *error) {
  *out = lh_alloc_zeroed(1, sizeof **out);
  return *out ? LH_OK : lh_fail_memory(error, "beginning a trial");
}

void lh_trial_free(lh_trial *trial) {
  if (!trial) return;
  lh_strings_free(&trial->texts);
  lh_place_tree_free(&trial->tree);
  lh_map_free(&trial->by_kind);
  LH_FREE_ALL(trial->rows, trial->row_of, trial);
}

uint8_t *lh_trial_parts(const lh_trial_step *step, const lh_snapshot *snapshot) {
  uint32_t n = lh_mark_count(snapshot);
  uint8_t *parts = lh_alloc_zeroed((size_t)n + 1, sizeof *parts);
  for (uint32_t i = 0; parts && i < n; i++)
    for (int k = 0; k < LH_TRIAL_CUTS; k++)
      if (step->serials[k] <= lh_mark_at(snapshot, i)->serial) parts[i + 1]++;
  return parts;
}

/* {=== Rows =========================================================================== */

lh_text_id lh_trial_fold(lh_trial *trial, const char *text) {
  lh_text folded = {0};
  bool has_numbers = lh_fold_digits(&folded, text);
  if (!has_numbers) return lh_strings_add(&trial->texts, text, strlen(text));
  return lh_strings_take(&trial->texts, &folded);
}

typedef struct tally {
  lh_trial *trial;
  lh_snapshot *snapshot;
  lh_folds *folds;
  bool again;
  const uint8_t *parts;
  uint32_t *row_of_spot; /* LH_NO_NUMBER: not known yet */
} tally;

/* Links that follow themselves count once, and numbers as *. */
static bool make_row(tally *t, lh_id id, uint32_t *row) {
  lh_trial *trial = t->trial;
  lh_place_tree *tree = t->folds->folder.tree;
  const char *class_name = lh_class_at(t->snapshot, lh_class_of(t->snapshot, id))->name;
  lh_trial_row made = {.again = t->again, .type = lh_type_of(t->snapshot, id)};
  uint32_t at = lh_folded_place(t->folds, id), base = lh_place_base(tree, at);
  if (base == LH_NO_NUMBER) return false;
  made.key[BY_PATH] =
      lh_place_copy(&trial->tree, tree, at, LH_COPY_ALL_NUMBERS | LH_COPY_WITHOUT_STARS);
  made.key[BY_BASE] = lh_place_copy(&trial->tree, tree, base, LH_COPY_ALL_NUMBERS);
  made.key[BY_CLASS] = lh_trial_fold(trial, class_name);
  if (made.key[BY_PATH] == LH_NO_NUMBER || made.key[BY_BASE] == LH_NO_NUMBER ||
      made.key[BY_CLASS] == LH_NO_NUMBER)
    return false;
  uint64_t words[2] = {(uint64_t)made.key[BY_CLASS] << 8 | (uint64_t)made.type << 1 | made.again,
                       made.key[BY_PATH]};
  uint32_t *kind = lh_map_at_words(&trial->by_kind, words, 2);
  if (!kind) return false;
  if (*kind == LH_NO_NUMBER) {
    if (!lh_grow(&trial->rows, trial->n_rows, &trial->capacity, sizeof made)) return false;
    made.key[BY_ROW] = *kind = (uint32_t)trial->n_rows++;
    trial->rows[*kind] = made;
  }
  *row = *kind;
  return true;
}

static bool find_row(tally *t, lh_id id, uint32_t *row) {
  uint32_t *known = &t->row_of_spot[t->folds->spot[id]];
  if (*known == LH_NO_NUMBER && !make_row(t, id, known)) return false;
  *row = *known;
  return true;
}

/* }=================================================================================== */

/* {=== Counting ======================================================================= */

static lh_trial_row *row_at(const lh_trial *trial, lh_id id) {
  return &trial->rows[trial->row_of[id]];
}

/* What was made together with its dominator and hangs elsewhere is a part of that: the forty texts
** of a language that is loaded happened once. */
static bool is_top(const tally *t, lh_id id, uint8_t part) {
  lh_id above = t->snapshot->idom[id];
  if (above == LH_ROOT || t->trial->row_of[above] == LH_NO_NUMBER) return true;
  return t->parts[lh_epoch(t->snapshot, above)] != part ||
         row_at(t->trial, id)->key[BY_PATH] == row_at(t->trial, above)->key[BY_PATH];
}

static void count(const tally *t, lh_id id) {
  lh_trial_counts *counts = &row_at(t->trial, id)->counts;
  uint8_t part = t->parts[lh_epoch(t->snapshot, id)];
  counts->made[part]++;
  if (part == BEFORE) {
    if (lh_type_of(t->snapshot, id) == LH_TYPE_TABLE)
      counts->entries[0] += lh_lasting_entries(t->snapshot, id);
    return;
  }
  counts->n_finalized += lh_list_of(t->snapshot, id) == LH_LIST_FINOBJ;
  counts->tops[part] += is_top(t, id, part);
}

static bool is_counted(const lh_trial *trial, const lh_snapshot *snapshot, lh_id id) {
  return trial->row_of[id] == LH_NO_NUMBER && !lh_is_own(snapshot, id) && !lh_is_dead(snapshot, id);
}

/* Lists what is to be counted. Of what is not reachable, is anything new, or the entries of its
** tables other than they were at the snapshot before? */
static size_t list_objects(tally *t, lh_id *ids, bool *left) {
  const lh_snapshot *snapshot = t->snapshot;
  size_t n = 0;
  uint64_t entries = 0;
  bool is_new = false;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (!is_counted(t->trial, snapshot, id)) continue;
    if (lh_is_reachable(snapshot, id)) {
      ids[n++] = id;
      continue;
    }
    is_new = is_new || t->parts[lh_epoch(snapshot, id)] != BEFORE;
    entries += lh_lasting_entries(snapshot, id);
  }
  if (!left) return n;
  *left = is_new || t->trial->n_steps == 1 || entries != t->trial->left_entries;
  t->trial->left_entries = entries;
  return n;
}

/* What is not counted again is as it was. */
static void keep_left(lh_trial *trial) {
  for (size_t i = 0; i < trial->n_rows; i++) {
    lh_trial_counts *counts = &trial->rows[i].counts;
    if (!trial->rows[i].again) continue;
    counts->made[BEFORE] = counts->old;
    counts->entries[0] = counts->entries[1];
  }
}

static bool begin_tally(tally *t) {
  t->folds = lh_folds_of(t->snapshot);
  if (t->folds) t->row_of_spot = lh_numbers_of_spots(t->folds, 1);
  return t->row_of_spot != NULL;
}

static bool count_all(tally *t, bool *left) {
  lh_trial *trial = t->trial;
  lh_id *ids = lh_alloc(t->snapshot->n, sizeof *ids);
  if (!ids) return false;
  size_t n = list_objects(t, ids, left);
  bool ok = begin_tally(t);
  for (size_t i = 0; ok && i < n; i++) {
    uint32_t row = 0;
    ok = find_row(t, ids[i], &row);
    trial->row_of[ids[i]] = row;
  }
  for (size_t i = 0; ok && i < n; i++) count(t, ids[i]);
  lh_free(t->row_of_spot);
  lh_free(ids);
  return ok;
}

/* What was old enough is so for the comparison with the snapshot to come. */
static bool begin_step(lh_trial *trial, const lh_snapshot *snapshot) {
  uint32_t *row_of = lh_alloc((size_t)snapshot->n + 1, sizeof *row_of);
  if (!row_of) return false;
  memset(row_of, 0xFF, ((size_t)snapshot->n + 1) * sizeof *row_of);
  lh_free(trial->row_of);
  trial->row_of = row_of;
  trial->n_objects = snapshot->n;
  trial->n_steps++;
  memmove(&trial->runs_at[1], trial->runs_at, sizeof trial->runs_at - sizeof *trial->runs_at);
  trial->runs_at[0] = trial->step.runs[LAST];
  for (size_t i = 0; i < trial->n_rows; i++) {
    lh_trial_counts *counts = &trial->rows[i].counts, before = *counts;
    *counts = (lh_trial_counts){0};
    for (uint8_t part = BEFORE; part <= LAST; part++) {
      counts->before += before.made[part];
      if (lh_trial_is_old(part)) counts->old += before.made[part];
      if (lh_trial_is_new(part)) counts->gain_before += before.made[part];
    }
    memcpy(&counts->entries[1], before.entries, sizeof before.entries - sizeof *before.entries);
  }
  return true;
}

int lh_trial_add(lh_trial *trial, lh_snapshot *snapshot, const lh_trial_step *step, bool again,
                 bool *left, lh_error *error) {
  tally t = {.trial = trial, .snapshot = snapshot, .again = again};
  if (left) *left = false;
  int code = lh_classify(snapshot, error);
  if (code != LH_OK) return code;
  if (again && trial->n_objects != snapshot->n)
    return lh_fail(error, LH_EARGUMENT, "only the latest snapshot can be counted again");
  if (!again) trial->gain_runs_before = lh_trial_runs(&trial->step);
  trial->step = *step;
  uint8_t *parts = lh_trial_parts(step, snapshot);
  t.parts = parts;
  bool ok = parts && (again || begin_step(trial, snapshot)) && count_all(&t, left);
  if (ok && left && !*left) keep_left(trial);
  lh_free(parts);
  return ok ? LH_OK : lh_fail_memory(error, "counting what is in the snapshot");
}

/* }=================================================================================== */
