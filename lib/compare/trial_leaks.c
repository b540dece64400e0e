/*
** trial_leaks.c - Describes the leaks of a trial (see trial.h).
** A leak may retain others. So new objects in leaking rows, or retained by those, are grouped by
** topmost objects, as in a diff. Objects at one path are one leak, whatever their classes; so are
** objects that were found by the start of their paths.
*/
#include <stdlib.h>
#include <string.h>

#include "name/allocated.h"
#include "trial.h"

typedef struct leak_info {
  uint64_t objects;
  uint32_t held_at; /* its place */
} leak_info;

typedef struct reporting {
  lh_trial *trial;
  lh_snapshot *snapshot;
  bool again, all;
  lh_trial_found found;
  uint8_t *parts;
  uint8_t *leaks;  /* by object: not 0 if it leaks or is retained by an object that leaks */
  lh_map by_key;   /* leak -> index */
  leak_info *info; /* by leak */
  size_t capacity, info_capacity;
  lh_map of_class; /* leak, class -> objects */
  lh_leaks *out;
} reporting;

static const lh_trial_row *trial_row_of(const reporting *t, lh_id id) {
  return lh_trial_row_of(t->trial, id);
}

static bool is_asked(const reporting *t, lh_id id) {
  return t->trial->row_of[id] != LH_NO_NUMBER && trial_row_of(t, id)->again == t->again &&
         lh_is_reachable(t->snapshot, id);
}

static bool is_leak(const reporting *t, lh_id id) {
  size_t row = trial_row_of(t, id)->key[BY_ROW];
  return t->found.way[row] != N_WAYS && (t->all || t->found.is_certain[row]);
}

static bool is_new(const reporting *t, lh_id id) {
  return lh_trial_is_new(t->parts[lh_epoch(t->snapshot, id)]);
}

/* ==== Which objects ================================================================== */

/* Whether only leaking objects (of any run) refer to the object, or others, too. */
enum { HELD_BY_LEAKS = 1, HELD_BY_OTHERS };

static void flag_held_by_others(reporting *t) {
  const lh_snapshot *snapshot = t->snapshot;
  for (lh_id id = 0; id <= snapshot->n; id++) {
    if (t->leaks[id] || (id != LH_ROOT && !lh_is_reachable(snapshot, id))) continue;
    if (id != LH_ROOT && is_asked(t, id) && is_leak(t, id)) continue;
    for (uint32_t e = snapshot->first_edge[id]; e < snapshot->first_edge[id + 1]; e++)
      if (t->leaks[snapshot->edge[e]]) t->leaks[snapshot->edge[e]] = HELD_BY_OTHERS;
  }
}

/* Dominators come first in the order of folding: one pass finds what each leak retains. */
static bool flag_objects(reporting *t) {
  const lh_snapshot *snapshot = t->snapshot;
  const lh_folds *folds = lh_folds_of(snapshot);
  t->leaks = folds ? lh_alloc_zeroed((size_t)snapshot->n + 1, 1) : NULL;
  if (!t->leaks) return false;
  for (size_t i = 1; i < folds->n; i++) {
    lh_id id = folds->order[i];
    t->leaks[id] =
        t->leaks[snapshot->idom[id]] || (is_asked(t, id) && is_new(t, id) && is_leak(t, id));
  }
  for (lh_id id = 1; id <= snapshot->n; id++)
    t->leaks[id] = t->leaks[id] && !lh_is_own(snapshot, id) && is_new(t, id);
  flag_held_by_others(t);
  return true;
}

/* ==== Rows =========================================================================== */

static const char *text_of(const lh_trial *trial, lh_text_id id) {
  return id == LH_NO_NUMBER ? NULL : trial->texts.texts[id];
}

static const char *keep_text(lh_trial *trial, const char *text) {
  return text_of(trial, lh_strings_add(&trial->texts, text, strlen(text)));
}

static const char *kept_text(lh_trial *trial, lh_text *text) {
  return text_of(trial, lh_strings_take(&trial->texts, text));
}

static uint64_t leak_key(const reporting *t, const lh_trial_row *row) {
  lh_trial_way way = t->found.way[row->key[BY_ROW]] >= BY_CLASS ? BY_BASE : BY_PATH;
  return (uint64_t)row->key[way] << 8 | (uint64_t)row->type;
}

/* Names a leak by what the places of its groups share: with * where numbers differ, or for a key of
** single objects. *shared: there is such a place, and *held_at becomes it. */
static bool name_in_common(reporting *t, lh_leak *leak, uint32_t *held_at, bool are_single,
                           uint32_t other, bool *shared) {
  lh_place_tree *tree = lh_places_of(t->snapshot);
  uint32_t both = tree ? lh_place_of_both(tree, *held_at, other) : LH_NO_NUMBER;
  lh_text text = {0};
  if (both == LH_NO_PLACE && are_single) both = lh_place_in_common(tree, *held_at, other);
  *shared = both < LH_NO_PLACE;
  if (both == LH_NO_PLACE || both == *held_at) return true;
  if (both == LH_NO_NUMBER) return false;
  lh_place_text(tree, *held_at = both, &text);
  leak->held_by = kept_text(t->trial, &text);
  return leak->held_by != NULL;
}

/* Returns the leaking value of a string key, or LH_NO_OBJECT. The key is counted with its value. */
static lh_id value_under(const reporting *t, lh_id key) {
  const lh_snapshot *snapshot = t->snapshot;
  lh_id table = snapshot->parent[key];
  lh_edges it;
  lh_value at, value;
  if (lh_type_of(snapshot, key) != LH_TYPE_STRING || lh_type_of(snapshot, table) != LH_TYPE_TABLE)
    return LH_NO_OBJECT;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &at, &value);)
    if (at.kind == LH_VALUE_OBJECT && at.as.object == key)
      return value.kind == LH_VALUE_OBJECT && t->leaks[value.as.object] ? value.as.object
                                                                        : LH_NO_OBJECT;
  return LH_NO_OBJECT;
}

/* Returns the object whose leak may count this one; LH_NO_OBJECT: none. Equal strings are one
** object: if several leaks share it, none of them retains it. */
static lh_id counted_with(const reporting *t, lh_id id) {
  const lh_snapshot *snapshot = t->snapshot;
  lh_id value = value_under(t, id);
  if (value != LH_NO_OBJECT) return value;
  if (lh_type_of(snapshot, id) != LH_TYPE_STRING || t->leaks[id] != HELD_BY_LEAKS)
    return LH_NO_OBJECT;
  lh_id top = snapshot->parent[id];
  while (t->leaks[snapshot->idom[top]]) top = snapshot->idom[top];
  return top;
}

static const char *leak_path(lh_trial *trial, const lh_diff_group *group) {
  lh_text text = {0};
  if (!group->also_held_by) return keep_text(trial, group->held_by);
  lh_text_format(&text, "%s and %s", group->held_by, group->also_held_by);
  return kept_text(trial, &text);
}

/* By the biggest group, and by the place that the others share with it. */
static bool name_leak(reporting *t, lh_leak *leak, leak_info *info, const lh_diff_group *group) {
  bool is_first = info->objects == 0, is_more = group->objects > info->objects, shared = false;
  bool are_single = group->objects == 1 && info->objects == 1;
  if (!is_first && !name_in_common(t, leak, &info->held_at, are_single, group->held_at, &shared))
    return false;
  bool is_least = shared && strcmp(group->fingerprint, leak->fingerprint) < 0;
  if (is_first || (shared ? is_least : is_more))
    memcpy(leak->fingerprint, group->fingerprint, sizeof leak->fingerprint);
  if (!is_first && !is_more) return true;
  leak->allocated = group->allocated;
  info->objects = group->objects;
  if (shared) return true;
  leak->held_by = leak_path(t->trial, group);
  info->held_at = group->held_at;
  return leak->held_by != NULL;
}

/* `as`: the object whose leak counts the group. */
static bool add_group(reporting *t, const lh_diff_group *group, lh_id as) {
  const lh_trial_row *row = trial_row_of(t, as);
  lh_leaks *out = t->out;
  uint32_t at = lh_map_number(&t->by_key, leak_key(t, row));
  if (at == LH_NO_NUMBER || !lh_grow(&out->rows, out->n_rows, &t->capacity, sizeof *out->rows) ||
      !lh_grow(&t->info, out->n_rows, &t->info_capacity, sizeof *t->info))
    return false;
  lh_leak *leak = &out->rows[at];
  leak_info *info = &t->info[at];
  if (at == out->n_rows) {
    out->n_rows++;
    *leak = (lh_leak){.type = row->type,
                      .unsteady = t->found.is_unsteady[row->key[BY_ROW]],
                      .runs = lh_trial_runs(&t->trial->step)};
    *info = (leak_info){0};
  }
  leak->new_objects += group->new_objects;
  leak->new_bytes += group->new_bytes;
  if (as != group->example) return true;
  return name_leak(t, leak, info, group);
}

/* First the groups that count alone. Any other is counted with such a leak; if there is none, it
** counts alone, too: a string that is both key and value counts with nothing. */
static bool add_group_of_objects(reporting *t, const lh_diff_group *group, bool alone) {
  lh_id other = counted_with(t, group->example);
  if ((other == LH_NO_OBJECT) != alone) return true;
  bool is_known =
      !alone && lh_map_get(&t->by_key, leak_key(t, trial_row_of(t, other))) != LH_NO_NUMBER;
  return add_group(t, group, is_known ? other : group->example);
}

static bool add_objects(reporting *t, const lh_diff *diff) {
  bool ok = true;
  for (size_t i = 0; ok && i < 2 * diff->n_groups; i++)
    ok = add_group_of_objects(t, &diff->groups[i % diff->n_groups], i < diff->n_groups);
  return ok;
}

static bool add_leaked_object(reporting *t, lh_id id) {
  const lh_trial_row *row = trial_row_of(t, id);
  if (!is_leak(t, id)) return true;
  uint32_t leak = lh_map_get(&t->by_key, leak_key(t, row));
  if (leak == LH_NO_NUMBER) return true;
  t->out->rows[leak].objects++;
  return lh_map_count(&t->of_class, (uint64_t)leak << 32 | lh_class_of(t->snapshot, id));
}

static int compare_leaks(const void *left, const void *right) {
  const lh_leak *a = left, *b = right;
  return LH_MORE(a->new_bytes, b->new_bytes) ?: strcmp(a->held_by, b->held_by);
}

/* ==== Names of classes =============================================================== */

typedef struct part_of_leak {
  uint32_t leak;
  lh_type type;
  const char *name;
  uint64_t objects;
} part_of_leak;

/* The most frequent first; strings last. */
static int compare_parts(const void *left, const void *right) {
  const part_of_leak *a = left, *b = right;
  return LH_LESS(a->leak, b->leak) ?:
         LH_LESS(a->type == LH_TYPE_STRING, b->type == LH_TYPE_STRING) ?:
         LH_MORE(a->objects, b->objects) ?: strcmp(a->name, b->name);
}

/* Classes that differ in numbers only are one. Returns how many; 0: none, or out of memory. */
static size_t list_classes(reporting *t, part_of_leak *parts) {
  lh_map part_of = {0}; /* leak, class without numbers -> part */
  size_t n = 0;
  bool ok = true;
  for (size_t i = 0; ok && i < t->of_class.n; i++) {
    const lh_class *class = lh_class_at(t->snapshot, (uint32_t)t->of_class.keys[i]);
    uint32_t leak = (uint32_t)(t->of_class.keys[i] >> 32);
    lh_text_id folded = lh_trial_fold(t->trial, class->name);
    uint32_t part = lh_map_number(&part_of, (uint64_t)leak << 32 | folded);
    ok = part != LH_NO_NUMBER && folded != LH_NO_NUMBER;
    if (ok && part == n) {
      parts[n++] = (part_of_leak){leak, class->type, class->name, t->of_class.values[i]};
    } else if (ok) {
      parts[part].objects += t->of_class.values[i];
      parts[part].name = t->trial->texts.texts[folded];
    }
  }
  lh_map_free(&part_of);
  if (n > 1) qsort(parts, n, sizeof *parts, compare_parts);
  return ok ? n : 0;
}

static bool name_classes(reporting *t) {
  part_of_leak *parts = lh_alloc(t->of_class.n, sizeof *parts);
  size_t n = parts ? list_classes(t, parts) : 0;
  bool ok = parts && (n > 0 || t->of_class.n == 0);
  for (size_t from = 0, to; ok && from < n; from = to) {
    for (to = from; to < n && parts[to].leak == parts[from].leak;) to++;
    lh_leak *leak = &t->out->rows[parts[from].leak];
    leak->class_name =
        lh_list_text(&t->trial->texts, &parts[from].name, sizeof *parts, to - from, ", ");
    ok = leak->class_name != NULL;
  }
  lh_free(parts);
  return ok;
}

static bool count_classes(reporting *t) {
  const lh_snapshot *snapshot = t->snapshot;
  lh_map objects = {0};
  bool ok = true;
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (t->leaks[id]) ok = lh_map_count(&objects, lh_class_of(snapshot, id));
  t->out->classes = ok ? lh_alloc(objects.n, sizeof *t->out->classes) : NULL;
  ok = t->out->classes != NULL;
  for (size_t i = 0; ok && i < objects.n; i++) {
    const char *name = lh_class_at(snapshot, (uint32_t)objects.keys[i])->name;
    name = keep_text(t->trial, name);
    ok = name != NULL;
    t->out->classes[t->out->n_classes++] = (lh_leaked_class){name, objects.values[i]};
  }
  lh_map_free(&objects);
  return ok;
}

/* ==== Entries ======================================================================== */

static bool has_leaks(const reporting *t, lh_id table) {
  const lh_snapshot *snapshot = t->snapshot;
  for (uint32_t e = snapshot->first_edge[table]; e < snapshot->first_edge[table + 1]; e++)
    if (!(snapshot->label[e] & LH_LABEL_ASIDE) && t->leaks[snapshot->edge[e]]) return true;
  return false;
}

static bool has_growing_entries(const reporting *t, lh_id id) {
  return is_asked(t, id) && lh_type_of(t->snapshot, id) == LH_TYPE_TABLE &&
         t->parts[lh_epoch(t->snapshot, id)] == BEFORE &&
         t->found.entries_grow[trial_row_of(t, id)->key[BY_ROW]];
}

/* Flags the tables whose entries grow, except at paths where a leak is reported already. */
static bool flag_tables(reporting *t, uint8_t *flags) {
  lh_map info = {0};
  bool ok = true;
  for (lh_id id = 1; ok && id <= t->snapshot->n; id++)
    if (has_growing_entries(t, id) && has_leaks(t, id))
      ok = lh_map_count(&info, trial_row_of(t, id)->key[BY_PATH]);
  for (lh_id id = 1; ok && id <= t->snapshot->n; id++)
    flags[id] = has_growing_entries(t, id) &&
                lh_map_get(&info, trial_row_of(t, id)->key[BY_PATH]) == LH_NO_NUMBER;
  lh_map_free(&info);
  return ok;
}

static uint64_t table_key(const lh_trial_row *row) {
  return (uint64_t)row->key[BY_PATH] << 8 | UINT8_MAX;
}

/* Tables at one path are one row, which describes the biggest group. */
static bool add_table(reporting *t, const lh_diff_group *group) {
  lh_trial *trial = t->trial;
  const lh_trial_row *row = trial_row_of(t, group->example);
  uint32_t *known = lh_map_at(&t->by_key, table_key(row));
  if (!known || *known != LH_NO_NUMBER) return known != NULL;
  lh_leaks *out = t->out;
  if (!lh_grow(&out->rows, out->n_rows, &t->capacity, sizeof *out->rows) ||
      !lh_grow(&t->info, out->n_rows, &t->info_capacity, sizeof *t->info))
    return false;
  t->info[out->n_rows] = (leak_info){.held_at = group->held_at};
  lh_leak *leak = &out->rows[out->n_rows];
  *known = (uint32_t)out->n_rows++;
  *leak = (lh_leak){.type = LH_TYPE_TABLE,
                    .entries = true,
                    .held_by = keep_text(trial, group->held_by),
                    .class_name = keep_text(trial, group->class_name),
                    .runs = trial->runs_at[0] - trial->runs_at[1]};
  if (!leak->held_by || !leak->class_name) return false;
  memcpy(leak->fingerprint, group->fingerprint, sizeof leak->fingerprint);
  for (size_t i = 0; i < trial->n_rows; i++) {
    const lh_trial_row *same = &trial->rows[i];
    if (same->key[BY_PATH] != row->key[BY_PATH] || same->type != LH_TYPE_TABLE) continue;
    leak->objects += same->counts.entries[0] - same->counts.entries[1];
  }
  return true;
}

static bool find_allocations_of_entries(reporting *t, const uint8_t *flags) {
  lh_allocations allocations = {.snapshot = t->snapshot};
  lh_edges it;
  lh_value key, value;
  bool ok = true;
  for (lh_id id = 1; ok && id <= t->snapshot->n; id++) {
    if (!flags[id]) continue;
    uint32_t leak = lh_map_get(&t->by_key, table_key(trial_row_of(t, id)));
    if (leak == LH_NO_NUMBER) continue;
    for (lh_entries_begin(t->snapshot, id, &it); ok && lh_entries_next(&it, &key, &value);)
      if (value.kind == LH_VALUE_OBJECT &&
          t->parts[lh_epoch(t->snapshot, value.as.object)] != BEFORE)
        ok = lh_allocations_add(&allocations, leak, value.as.object);
  }
  ok = ok && (t->out->n_rows == 0 || lh_allocations_find(&allocations, &t->out->rows->allocated,
                                                         sizeof *t->out->rows, t->out->n_rows));
  lh_allocations_free(&allocations);
  return ok;
}

static bool add_tables(reporting *t, const lh_diff *diff) {
  bool ok = true;
  for (size_t i = 0; ok && i < diff->n_groups; i++) ok = add_table(t, &diff->groups[i]);
  return ok;
}

/* ==================================================================================== */

static int add_groups(reporting *t, const uint8_t *flags,
                      bool (*add)(reporting *t, const lh_diff *diff), lh_error *error) {
  lh_whole_diff *whole = lh_alloc_zeroed(1, sizeof *whole);
  if (!whole) return lh_fail_memory(error, "telling what leaks");
  int code = lh_diff_groups(t->snapshot, flags, false, whole, error);
  if (code == LH_OK && !add(t, &whole->visible)) code = lh_fail_memory(error, "telling what leaks");
  lh_diff_free(&whole->visible);
  return code;
}

/* Drops leaks that are mostly inside other leaks. */
static void drop_inner(reporting *t) {
  lh_leaks *out = t->out;
  size_t n = 0;
  for (size_t i = 0; i < out->n_rows; i++) {
    const lh_leak *leak = &out->rows[i];
    if (leak->objects == 0 || leak->new_objects < leak->objects / 2) continue;
    t->info[n] = t->info[i];
    out->rows[n++] = *leak;
  }
  out->n_rows = n;
}

/* The siblings of objects, and of tables with more entries. */
static int join_siblings(reporting *t, lh_error *error) {
  uint32_t *places = lh_alloc(t->out->n_rows, sizeof *places);
  for (size_t i = 0; places && i < t->out->n_rows; i++) places[i] = t->info[i].held_at;
  bool ok = places && lh_join_sibling_leaks(t->snapshot, places, &t->trial->texts, t->out);
  lh_free(places);
  return ok ? LH_OK : lh_fail_memory(error, "telling what leaks");
}

static int report_objects(reporting *t, lh_error *error) {
  if (!flag_objects(t)) return lh_fail_memory(error, "telling what leaks");
  int code = add_groups(t, t->leaks, add_objects, error);
  bool ok = true;
  for (lh_id id = 1; code == LH_OK && ok && id <= t->snapshot->n; id++)
    if (t->leaks[id]) ok = add_leaked_object(t, id);
  ok = ok && (code != LH_OK || (name_classes(t) && count_classes(t)));
  if (code == LH_OK && ok) drop_inner(t);
  return ok ? code : lh_fail_memory(error, "telling what leaks");
}

static int report_entries(reporting *t, lh_error *error) {
  uint8_t *flags = lh_alloc_zeroed((size_t)t->snapshot->n + 1, 1);
  bool ok = flags && flag_tables(t, flags);
  int code =
      ok ? add_groups(t, flags, add_tables, error) : lh_fail_memory(error, "telling what leaks");
  if (code == LH_OK && !find_allocations_of_entries(t, flags))
    code = lh_fail_memory(error, "telling what leaks");
  lh_free(flags);
  return code;
}

int lh_trial_leaks(lh_trial *trial, lh_snapshot *snapshot, bool again, bool all, lh_leaks *leaks,
                   lh_error *error) {
  reporting t = {.trial = trial, .snapshot = snapshot, .again = again, .all = all, .out = leaks};
  *leaks = (lh_leaks){.runs = lh_trial_runs(&trial->step)};
  if (trial->n_objects != snapshot->n)
    return lh_fail(error, LH_EARGUMENT, "leaks are told of the latest snapshot only");
  t.parts = lh_trial_parts(&trial->step, snapshot);
  bool ok = t.parts && lh_trial_find(trial, &t.found);
  int code = ok ? report_objects(&t, error) : lh_fail_memory(error, "telling what leaks");
  if (code == LH_OK) code = report_entries(&t, error);
  if (code == LH_OK) code = join_siblings(&t, error);
  if (code == LH_OK && leaks->n_rows > 1)
    qsort(leaks->rows, leaks->n_rows, sizeof *leaks->rows, compare_leaks);
  lh_trial_found_free(&t.found);
  LH_FREE_MAPS(&t.by_key, &t.of_class);
  LH_FREE_ALL(t.parts, t.leaks, t.info);
  if (code != LH_OK) {
    LH_FREE_ALL(leaks->rows, leaks->classes);
    *leaks = (lh_leaks){0};
  }
  return code;
}
