/*
** trial.c - Counts the objects of a trial's snapshots, and finds the rows that leak (trial.h).
** A leak does three things:
**     it is made all the time   each of the first three quarters of the latest runs left something
**     it goes on                the second half of these runs left as much as the first half, and
**                               all of them as much as the runs before
**     it stays                  objects old enough at the previous snapshot are still there
** Objects of the last quarter do not count as gained: they may be temporary. A cache that fills
** does not go on; a full one loses what it gets. Chance varies a number by its square root.
*/
#include "trial.h"

int lh_trial_new(lh_trial **out, lh_error *error) {
  *out = lh_alloc_zeroed(1, sizeof **out);
  return *out ? LH_OK : lh_fail_memory(error, "beginning a trial");
}

void lh_trial_free(lh_trial *trial) {
  if (!trial) return;
  lh_strings_free(&trial->texts);
  lh_place_tree_free(&trial->tree);
  LH_FREE_MAPS(&trial->by_kind, &trial->pairs);
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

/* ==== Rows =========================================================================== */

lh_text_id lh_trial_fold(lh_trial *trial, const char *text) {
  lh_text folded = {0};
  bool has_numbers = lh_fold_digits(&folded, text);
  if (!has_numbers) return lh_strings_add(&trial->texts, text, strlen(text));
  return lh_strings_take(&trial->texts, &folded);
}

uint32_t lh_trial_path(lh_trial *trial, const lh_place_tree *tree, uint32_t place) {
  return lh_place_copy(&trial->tree, tree, place, LH_COPY_ALL_NUMBERS | LH_COPY_WITHOUT_STARS);
}

typedef struct tally {
  lh_trial *trial;
  lh_snapshot *snapshot;
  lh_folds *folds;
  bool again;
  const uint8_t *parts;
  uint32_t *row_of_spot; /* LH_NO_NUMBER: not known yet */
} tally;

/* Repeated links count once; numbers become *. */
static bool make_row(tally *t, lh_id id, uint32_t *row) {
  lh_trial *trial = t->trial;
  lh_place_tree *tree = t->folds->folder.tree;
  const char *class_name = lh_class_at(t->snapshot, lh_class_of(t->snapshot, id))->name;
  lh_trial_row made = {.again = t->again, .type = lh_type_of(t->snapshot, id)};
  uint32_t at = lh_folded_place(t->folds, id), base = lh_place_base(tree, at);
  if (base == LH_NO_NUMBER) return false;
  made.key[BY_PATH] = lh_trial_path(trial, tree, at);
  made.key[BY_BASE] = lh_place_copy(&trial->tree, tree, base, LH_COPY_ALL_NUMBERS);
  made.key[BY_CLASS] = lh_trial_fold(trial, class_name);
  if (made.key[BY_PATH] == LH_NO_NUMBER || made.key[BY_BASE] == LH_NO_NUMBER ||
      made.key[BY_CLASS] == LH_NO_NUMBER)
    return false;
  uint64_t words[2] = {(uint64_t)made.key[BY_CLASS] << 8 | (uint64_t)made.type << 1 | made.again,
                       made.key[BY_PATH]};
  if (!lh_grow(&trial->rows, trial->n_rows, &trial->capacity, sizeof made)) return false;
  *row = made.key[BY_ROW] = lh_map_number_words(&trial->by_kind, words, 2);
  if (*row == trial->n_rows) trial->rows[trial->n_rows++] = made;
  return *row != LH_NO_NUMBER;
}

/* ==== Counting ======================================================================= */

/* An object that was made in the same part as its dominator, and is on another path, belongs to it:
** forty texts of a language that is loaded are one event. */
static bool is_top(const tally *t, lh_id id, uint8_t part) {
  lh_id above = t->snapshot->idom[id];
  if (above == LH_ROOT || t->trial->row_of[above] == LH_NO_NUMBER) return true;
  return t->parts[lh_epoch(t->snapshot, above)] != part ||
         lh_trial_row_of(t->trial, id)->key[BY_PATH] ==
             lh_trial_row_of(t->trial, above)->key[BY_PATH];
}

static void count_made(const tally *t, lh_id id) {
  lh_trial_counts *counts = &lh_trial_row_of(t->trial, id)->counts;
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

/* *left: unreachable objects include a new one, or their tables have other entries than before. */
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

/* Rows that are not counted again keep their figures. */
static void keep_left(lh_trial *trial) {
  for (size_t i = 0; i < trial->n_rows; i++) {
    lh_trial_counts *counts = &trial->rows[i].counts;
    if (!trial->rows[i].again) continue;
    counts->made[BEFORE] = counts->old;
    counts->entries[0] = counts->entries[1];
  }
}

static bool count_all(tally *t, bool *left) {
  lh_trial *trial = t->trial;
  lh_id *ids = lh_alloc(t->snapshot->n, sizeof *ids);
  if (!ids) return false;
  size_t n = list_objects(t, ids, left);
  t->folds = lh_folds_of(t->snapshot);
  if (t->folds) t->row_of_spot = lh_numbers_of_spots(t->folds, 1);
  bool ok = t->row_of_spot != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    uint32_t *row = &t->row_of_spot[t->folds->spot[ids[i]]];
    ok = *row != LH_NO_NUMBER || make_row(t, ids[i], row);
    trial->row_of[ids[i]] = *row;
  }
  for (size_t i = 0; ok && i < n; i++) count_made(t, ids[i]);
  LH_FREE_ALL(t->row_of_spot, ids);
  return ok;
}

static bool begin_step(lh_trial *trial, const lh_snapshot *snapshot) {
  uint32_t *row_of = lh_alloc((size_t)snapshot->n + 1, sizeof *row_of);
  if (!row_of) return false;
  memset(row_of, 0xFF, ((size_t)snapshot->n + 1) * sizeof *row_of);
  lh_free(trial->row_of);
  lh_map_free(&trial->pairs);
  trial->row_of = row_of;
  trial->n_objects = snapshot->n;
  trial->n_steps++;
  memmove(&trial->runs_at[1], trial->runs_at, sizeof trial->runs_at - sizeof *trial->runs_at);
  trial->runs_at[0] = trial->step.runs[LAST];
  for (size_t i = 0; i < trial->n_rows; i++) {
    lh_trial_counts *counts = &trial->rows[i].counts, before = *counts;
    *counts = (lh_trial_counts){.earlier = before.before};
    for (uint8_t part = BEFORE; part <= LAST; part++) {
      counts->before += before.made[part];
      if (part < LAST) counts->old += before.made[part];
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
  bool ok = parts && (again || begin_step(trial, snapshot)) && count_all(&t, left) &&
            lh_trial_look_elsewhere(trial, snapshot, parts, again);
  if (ok && left && !*left) keep_left(trial);
  lh_free(parts);
  return ok ? LH_OK : lh_fail_memory(error, "counting what is in the snapshot");
}

/* Enough to judge, or one in each run; MANY_OBJECTS: more than a bounded collection has. */
enum { LEAST_OBJECTS = 8, SOME_OBJECTS = 64, MANY_OBJECTS = 3000, MANY_FINALIZED = 128 };

static const double HARDLY_ANY = 0.25, HALF = 0.5, NEARLY_ALL = 0.8, CHANCE = 2, IN_DOUBT = 1.5,
                    RATHER_SURE = 2.5;

typedef struct judge {
  const lh_trial *trial;
  lh_trial_found *found;
  lh_map sums_by_key;
  lh_trial_counts *sums; /* of merged rows */
  size_t n_sums, capacity;
  bool *has_moved; /* by row: its objects may have come from other rows */
} judge;

/* ==== Objects ======================================================================== */

static uint64_t sum_of_parts(const uint64_t *counts, int first, int last) {
  uint64_t sum = 0;
  for (int part = first; part <= last; part++) sum += counts[part];
  return sum;
}

static uint64_t lost(const lh_trial_counts *counts) {
  uint64_t stayed = sum_of_parts(counts->made, BEFORE, EARLY);
  return counts->old > stayed ? counts->old - stayed : 0;
}

static uint64_t gained(const lh_trial_counts *counts) {
  return sum_of_parts(counts->made, LATE, THIRD);
}

/* True if a later snapshot may still show a leak. Objects made only inside others add nothing. */
static bool is_open(const lh_trial_counts *counts) {
  uint64_t gain = gained(counts);
  return gain > 0 && sum_of_parts(counts->tops, LATE, THIRD) > 0 &&
         (double)lost(counts) <= (1 - HARDLY_ANY) * (double)gain;
}

/* Objects made in all these runs may replace older ones. */
static bool is_more(const lh_trial_counts *counts) {
  return sum_of_parts(counts->made, BEFORE, LAST) >= counts->before + gained(counts) / 2;
}

static bool hardly_shrinks(const lh_trial_counts *counts) {
  return (double)lost(counts) <= HARDLY_ANY * (double)gained(counts);
}

/* True if `n` in `runs` is at least `share` of the rate `of` in `of_runs`, except for chance. */
static bool goes_on(uint64_t n, uint64_t runs, uint64_t of, uint64_t of_runs, double share) {
  double expected = (double)of * (double)runs / (double)of_runs;
  double missing = share * expected - (double)n;
  return missing <= 0 || missing * missing <= CHANCE * CHANCE * expected;
}

static uint64_t runs_of(const lh_trial_step *step, int first, int last) {
  return step->runs[last] - step->runs[first - 1];
}

static bool are_enough(uint64_t n, uint64_t runs) {
  return n >= (runs < LEAST_OBJECTS ? runs : LEAST_OBJECTS);
}

/* True if new objects are as many as in the runs before, and, if few, as in all earlier runs: keys
** met for the first time get rarer. */
static bool is_as_before(const lh_trial *trial, const lh_trial_counts *counts) {
  uint64_t gain = gained(counts), runs = lh_trial_runs(&trial->step);
  uint64_t runs_before = trial->gain_runs_before, early = runs_of(&trial->step, EARLY, EARLY);
  if (runs_before > 0 && !goes_on(gain, runs, counts->gain_before, runs_before, NEARLY_ALL))
    return false;
  return gain >= SOME_OBJECTS || early == 0 ||
         goes_on(gain, runs, counts->made[EARLY], early, NEARLY_ALL);
}

static bool leaks(const lh_trial *trial, const lh_trial_counts *counts) {
  const lh_trial_step *step = &trial->step;
  const uint64_t *made = counts->made;
  if (!are_enough(gained(counts), lh_trial_runs(step))) return false;
  for (int part = FIRST; part <= THIRD; part++)
    if (counts->tops[part] == 0) return false;
  return hardly_shrinks(counts) && is_more(counts) &&
         goes_on(sum_of_parts(made, THIRD, LAST), runs_of(step, THIRD, LAST),
                 sum_of_parts(made, FIRST, SECOND), runs_of(step, FIRST, SECOND), NEARLY_ALL) &&
         goes_on(made[FIRST], runs_of(step, FIRST, FIRST), made[THIRD], runs_of(step, THIRD, THIRD),
                 HALF) &&
         is_as_before(trial, counts);
}

static bool is_more_than_bounded(const lh_trial_counts *counts) {
  return sum_of_parts(counts->made, EARLY, THIRD) >= MANY_OBJECTS ||
         counts->n_finalized >= MANY_FINALIZED;
}

/* False if fewer came than in the runs before, beyond chance, or if most went once: a cache that
** fills up, an index that is emptied now and then. `sure`: standard deviations of the
** difference. */
static bool is_steady(const lh_trial *trial, const lh_trial_counts *counts, double sure) {
  double runs_before = (double)trial->gain_runs_before, gain = (double)gained(counts);
  if (2 * counts->before < counts->earlier) return false;
  if (runs_before == 0) return true;
  double times = (double)lh_trial_runs(&trial->step) / runs_before;
  double expected = times * (double)counts->gain_before, missing = expected - gain;
  return missing <= 0 || missing * missing <= sure * sure * (times * expected + gain);
}

/* ==== Entries ======================================================================== */

static bool has_more_entries(const lh_trial *trial, const lh_trial_counts *counts) {
  const uint64_t *entries = counts->entries;
  return trial->n_steps > 1 && entries[0] > entries[1] &&
         are_enough(entries[0] - entries[1], trial->runs_at[0] - trial->runs_at[1]);
}

/* True if tables gain entries at one rate between three or more snapshots. A list that is halved
** when it is full is never twice as long. */
static bool entries_grow(const lh_trial *trial, const lh_trial_counts *counts) {
  const uint64_t *entries = counts->entries, *runs = trial->runs_at;
  if (trial->n_steps < 3 || !has_more_entries(trial, counts)) return false;
  size_t first = (trial->n_steps < N_ENTRIES ? trial->n_steps : N_ENTRIES) - 1;
  if (entries[0] < 2 * entries[first]) return false;
  for (size_t i = 1; i < first; i++) {
    if (entries[i] <= entries[i + 1]) return false;
    uint64_t gain[2] = {entries[0] - entries[1], entries[i] - entries[i + 1]};
    uint64_t in[2] = {runs[0] - runs[1], runs[i] - runs[i + 1]};
    if (!goes_on(gain[0], in[0], gain[1], in[1], NEARLY_ALL) ||
        !goes_on(gain[1], in[1], gain[0], in[0], NEARLY_ALL))
      return false;
  }
  return true;
}

/* ==== Merged rows ==================================================================== */

/* All fields are counts; a row alone has no `staying`. */
static void add_counts_to(lh_trial_counts *sum, const lh_trial_counts *counts) {
  const uint64_t *more = (const uint64_t *)counts;
  for (size_t i = 0; i < sizeof *counts / sizeof *more; i++) ((uint64_t *)sum)[i] += more[i];
}

static uint32_t sum_at(judge *j, const lh_trial_row *row, lh_trial_way way) {
  return lh_map_number(&j->sums_by_key, (uint64_t)row->key[way] << 8 | (uint64_t)row->type);
}

/* Strings are not merged by class, which says nothing about them. */
static bool is_asked(const judge *j, size_t i, lh_trial_way way) {
  return j->found->way[i] == N_WAYS && !j->has_moved[i] &&
         (way < BY_CLASS || j->trial->rows[i].type != LH_TYPE_STRING);
}

static bool put_together(judge *j, lh_trial_way way, bool all) {
  const lh_trial *trial = j->trial;
  lh_map_free(&j->sums_by_key);
  j->n_sums = 0;
  for (size_t i = 0; i < trial->n_rows; i++) {
    if (!all && !is_asked(j, i, way)) continue;
    uint32_t sum = sum_at(j, &trial->rows[i], way);
    if (sum == LH_NO_NUMBER || !lh_grow(&j->sums, j->n_sums, &j->capacity, sizeof *j->sums))
      return false;
    if (sum == j->n_sums) j->sums[j->n_sums++] = (lh_trial_counts){0};
    add_counts_to(&j->sums[sum], &trial->rows[i].counts);
  }
  return true;
}

static lh_trial_counts *sum_at_row(judge *j, size_t i, lh_trial_way way) {
  return &j->sums[sum_at(j, &j->trial->rows[i], way)];
}

/* All at the path of a row, and at the other paths of an eighth of its new objects or more. */
typedef struct whereabouts {
  uint64_t before, now, n_shared;
} whereabouts;

static void add_path(const judge *j, whereabouts *all, uint32_t path, lh_type type) {
  const lh_trial_counts *sum =
      &j->sums[lh_map_get(&j->sums_by_key, (uint64_t)path << 8 | (uint64_t)type)];
  all->before += sum->before;
  all->now += sum_of_parts(sum->made, BEFORE, LAST);
}

/* True if most new objects may have come from other paths, and all these paths together have not
** more objects than before. */
static bool has_moved(const whereabouts *all, uint64_t gain) {
  return 2 * all->n_shared >= gain && 2 * all->now < 2 * all->before + gain;
}

static bool find_moved(judge *j) {
  const lh_trial *trial = j->trial;
  whereabouts *list = lh_alloc_zeroed(trial->n_rows, sizeof *list);
  bool ok = list && put_together(j, BY_PATH, true);
  for (size_t i = 0; ok && i < trial->n_rows; i++)
    add_path(j, &list[i], trial->rows[i].key[BY_PATH], trial->rows[i].type);
  for (size_t i = 0; ok && i < trial->pairs.n; i++) {
    uint32_t row = (uint32_t)(trial->pairs.keys[i] >> 32), n = trial->pairs.values[i];
    if (8 * (uint64_t)n < gained(&trial->rows[row].counts)) continue;
    add_path(j, &list[row], (uint32_t)trial->pairs.keys[i], trial->rows[row].type);
    list[row].n_shared += n;
  }
  for (size_t i = 0; ok && i < trial->n_rows; i++)
    j->has_moved[i] = has_moved(&list[i], gained(&trial->rows[i].counts));
  lh_free(list);
  return ok;
}

/* Reports the rows that hardly lose objects; all, if those are the smaller part and objects move
** between rows. */
static bool find_objects(judge *j, lh_trial_way way) {
  const lh_trial *trial = j->trial;
  lh_trial_found *found = j->found;
  if (!put_together(j, way, false)) return false;
  for (size_t i = 0; i < trial->n_rows; i++)
    if (is_asked(j, i, way) && gained(&trial->rows[i].counts) > 0 &&
        hardly_shrinks(&trial->rows[i].counts))
      sum_at_row(j, i, way)->staying += gained(&trial->rows[i].counts);
  for (size_t i = 0; i < trial->n_rows; i++) {
    if (!is_asked(j, i, way)) continue;
    const lh_trial_counts *sum = sum_at_row(j, i, way), *counts = &trial->rows[i].counts;
    if (!leaks(trial, sum) || gained(counts) == 0) continue;
    if (!hardly_shrinks(counts) && sum->staying > (gained(sum) - lost(sum)) / 2) continue;
    found->way[i] = (uint8_t)way;
    found->is_unsteady[i] = !is_steady(trial, sum, RATHER_SURE);
    found->is_certain[i] = is_steady(trial, sum, IN_DOUBT) && is_more_than_bounded(sum);
  }
  return true;
}

static bool find_entries(judge *j) {
  const lh_trial *trial = j->trial;
  if (!put_together(j, BY_PATH, true)) return false;
  for (size_t i = 0; i < trial->n_rows; i++)
    j->found->entries_grow[i] = entries_grow(trial, sum_at_row(j, i, BY_PATH));
  return true;
}

/* A certain leak of objects decides, even if tables gain entries: those tables hold the objects.
** What seems to have moved may still be found to stay. */
static bool find_verdict(judge *j) {
  lh_trial_found *found = j->found;
  memset(j->has_moved, 0, j->trial->n_rows * sizeof *j->has_moved);
  bool grows = false, is_certain = false, entries_are = false, is_finalized = false;
  found->verdict = LH_TRIAL_NOTHING;
  for (lh_trial_way way = BY_ROW; way < N_WAYS; way++) {
    if (!put_together(j, way, false)) return false;
    for (size_t i = 0; i < j->n_sums; i++) grows = grows || is_open(&j->sums[i]);
  }
  for (size_t i = 0; i < j->trial->n_rows; i++) {
    const lh_trial_counts *counts = &j->trial->rows[i].counts;
    bool is_leak = found->way[i] != N_WAYS;
    is_certain = is_certain || found->is_certain[i];
    grows = grows || (is_leak && !found->is_certain[i]);
    is_finalized = is_finalized || (found->is_certain[i] && counts->n_finalized > 0);
    entries_are = entries_are || has_more_entries(j->trial, counts);
  }
  if (is_certain && (!grows || is_finalized))
    found->verdict = LH_TRIAL_CERTAIN;
  else if (is_certain || grows || entries_are)
    found->verdict = LH_TRIAL_OPEN;
  return true;
}

bool lh_trial_find(const lh_trial *trial, lh_trial_found *found) {
  judge j = {.trial = trial,
             .found = found,
             .has_moved = lh_alloc_zeroed(trial->n_rows, sizeof *j.has_moved)};
  *found = (lh_trial_found){.way = lh_alloc(trial->n_rows, sizeof *found->way),
                            .is_certain = lh_alloc_zeroed(trial->n_rows, sizeof(bool)),
                            .is_unsteady = lh_alloc_zeroed(trial->n_rows, sizeof(bool)),
                            .entries_grow = lh_alloc_zeroed(trial->n_rows, sizeof(bool))};
  bool ok =
      found->way && found->is_certain && found->is_unsteady && found->entries_grow && j.has_moved;
  for (size_t i = 0; ok && i < trial->n_rows; i++) found->way[i] = N_WAYS;
  ok = ok && find_moved(&j);
  for (lh_trial_way way = BY_ROW; ok && way < N_WAYS; way++) ok = find_objects(&j, way);
  ok = ok && find_verdict(&j) && find_entries(&j);
  lh_map_free(&j.sums_by_key);
  LH_FREE_ALL(j.sums, j.has_moved);
  return ok;
}

void lh_trial_found_free(lh_trial_found *found) {
  LH_FREE_ALL(found->way, found->is_certain, found->is_unsteady, found->entries_grow);
}

int lh_trial_next(const lh_trial *trial, lh_trial_verdict *verdict, lh_error *error) {
  lh_trial_found found;
  bool ok = lh_trial_find(trial, &found);
  *verdict = found.verdict;
  lh_trial_found_free(&found);
  return ok ? LH_OK : lh_fail_memory(error, "looking for what grows");
}
