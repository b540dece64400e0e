/*
** joined_siblings.c - Joins rows whose places are siblings (name/siblings.c), and grow alike.
** The first row of a family gets the sums of all, and the least fingerprint: that of one place, so
** that its objects can be found.
*/
#include "compare.h"
#include "name/allocated.h"

static void take_least_print(char own[LH_FINGERPRINT_BYTES],
                             const char other[LH_FINGERPRINT_BYTES]) {
  if (strcmp(other, own) < 0) memcpy(own, other, LH_FINGERPRINT_BYTES);
}

bool lh_keep_place(lh_strings *texts, const lh_place_tree *tree, uint32_t place,
                   const char **held_by) {
  lh_text text = {0};
  lh_place_text(tree, place, &text);
  bool failed = text.failed;
  lh_text_id id = lh_strings_take(texts, &text);
  if (id != LH_NO_NUMBER) *held_by = texts->texts[id];
  return id != LH_NO_NUMBER || (texts->full && !failed);
}

/* Siblings were allocated at one site, so `made` and `stay` are of both. */
static void join_allocated(lh_allocated *to, const lh_allocated *other) {
  to->objects += other->objects;
  to->of += other->of;
  to->stay_of_class += other->stay_of_class;
  if (to->stack != other->stack) to->callers = 0;
}

static uint64_t kind_of(uint32_t class_index, const lh_snapshot *snapshot,
                        const lh_allocated *allocated) {
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  return (uint64_t)class_index << 32 | (sites ? lh_site_at(sites, allocated->stack) : 0);
}

/* ==== Groups of new objects ========================================================== */

/* Strings under several fixed keys are fields of one record. */
static bool is_field(const lh_place_tree *tree, uint32_t place, lh_type type) {
  return type == LH_TYPE_STRING && lh_place_is_field(tree, place);
}

static bool may_join(const lh_snapshot *c, const lh_place_tree *tree, const lh_diff_group *group) {
  return group->printed_class != UINT32_MAX && !group->also_held_by && !group->is_noise &&
         group->type_at[2] > group->type_at[1] && group->type_at[1] > group->type_at[0] &&
         !is_field(tree, group->held_at, lh_class_at(c, group->printed_class)->type);
}

static void join_group(lh_diff_group *to, const lh_diff_group *other) {
  if (strcmp(other->fingerprint, to->fingerprint) < 0) to->printed_at = other->printed_at;
  take_least_print(to->fingerprint, other->fingerprint);
  join_allocated(&to->allocated, &other->allocated);
  for (int k = 0; k < 3; k++) to->at[k] += other->at[k];
  for (int k = 0; k < 3; k++) to->type_at[k] += other->type_at[k];
  to->is_vague |= other->is_vague;
  to->weight += other->weight;
  to->objects += other->objects;
  to->shallow_bytes += other->shallow_bytes;
  to->retained_bytes += other->retained_bytes;
  to->new_objects += other->new_objects;
  to->new_bytes += other->new_bytes;
}

static bool join_groups(lh_whole_diff *whole, const lh_place_tree *tree,
                        const lh_sibling *siblings) {
  lh_diff *diff = &whole->visible;
  size_t n = diff->n_groups;
  bool ok = true;
  diff->n_groups = 0;
  for (size_t i = 0; i < n; i++)
    if (siblings[i].first != i) join_group(&diff->groups[siblings[i].first], &diff->groups[i]);
  for (size_t i = 0; ok && i < n; i++) {
    lh_diff_group *group = &diff->groups[i];
    if (siblings[i].first != i) continue;
    if (siblings[i].all != group->held_at) {
      group->held_at = siblings[i].all;
      ok = lh_keep_place(&whole->paths, tree, siblings[i].all, &group->held_by);
    }
    diff->groups[diff->n_groups++] = *group;
  }
  lh_sort_groups(diff);
  return ok;
}

/* ==== Containers that grew =========================================================== */

/* The rows stay: a printer adds up those with one place. */
static bool name_grown(const lh_place_tree *tree, lh_grown *grown, uint32_t place) {
  lh_text text = {0};
  if (place == grown->told_at) return true;
  lh_place_text(tree, place, &text);
  lh_free((void *)grown->place);
  grown->told_at = place;
  grown->place = lh_text_finish(&text);
  return grown->place != NULL;
}

static bool join_grown(const lh_snapshot *c, lh_place_tree *tree, lh_diff *diff) {
  lh_map first_of = {0}; /* class, place -> the first row there, which stands for all */
  lh_sibling *siblings = lh_alloc_zeroed(diff->n_grown, sizeof *siblings);
  bool ok = siblings != NULL;
  for (size_t i = 0; ok && i < diff->n_grown; i++) {
    const lh_grown *grown = &diff->grown[i];
    uint64_t at = (uint64_t)grown->class_index << 32 | grown->told_at;
    uint32_t *first = lh_map_first(&first_of, at, (uint32_t)i);
    ok = first != NULL;
    siblings[i] = (lh_sibling){.place = grown->told_at, .kind = grown->class_index};
    if (ok && *first == i && lh_type_of(c, grown->id) != LH_TYPE_STRING)
      siblings[i].weight = lh_grown_by(grown->entries);
  }
  ok = ok && lh_find_siblings(tree, siblings, diff->n_grown);
  for (size_t i = 0; ok && i < diff->n_grown; i++) {
    lh_grown *grown = &diff->grown[i];
    uint32_t first = lh_map_get(&first_of, (uint64_t)grown->class_index << 32 | grown->at);
    ok = name_grown(tree, grown, siblings[siblings[first].first].all);
  }
  lh_map_free(&first_of);
  lh_free(siblings);
  return ok;
}

/* ==================================================================================== */

bool lh_join_sibling_groups(lh_snapshot *c, lh_whole_diff *whole) {
  lh_diff *diff = &whole->visible;
  lh_place_tree *tree = lh_places_of(c);
  lh_sibling *siblings = lh_alloc_zeroed(diff->n_groups, sizeof *siblings);
  bool ok = tree && siblings;
  for (size_t i = 0; ok && i < diff->n_groups; i++) {
    const lh_diff_group *group = &diff->groups[i];
    siblings[i] = (lh_sibling){.place = group->held_at,
                               .kind = kind_of(group->printed_class, c, &group->allocated),
                               .weight = may_join(c, tree, group) ? group->weight : 0};
  }
  ok = ok && lh_find_siblings(tree, siblings, diff->n_groups) &&
       join_groups(whole, tree, siblings) && join_grown(c, tree, diff);
  lh_free(siblings);
  return ok;
}

/* ==== Leaks of a trial =============================================================== */

static void join_leak(lh_leak *to, const lh_leak *other) {
  take_least_print(to->fingerprint, other->fingerprint);
  join_allocated(&to->allocated, &other->allocated);
  to->objects += other->objects;
  to->new_objects += other->new_objects;
  to->new_bytes += other->new_bytes;
}

/* Leaks with one class name, and of one kind, get one number. */
static uint64_t kind_of_leak(lh_map *kinds, lh_strings *texts, const lh_snapshot *snapshot,
                             const lh_leak *leak) {
  uint32_t name = lh_strings_add(texts, leak->class_name, strlen(leak->class_name));
  uint64_t words[2] = {(uint64_t)leak->type << 2 | (uint64_t)leak->entries << 1 | leak->unsteady,
                       kind_of(name, snapshot, &leak->allocated)};
  return lh_map_number_words(kinds, words, 2);
}

bool lh_join_sibling_leaks(lh_snapshot *snapshot, const uint32_t *places, lh_strings *texts,
                           lh_leaks *leaks) {
  size_t n = leaks->n_rows;
  lh_place_tree *tree = lh_places_of(snapshot);
  lh_sibling *siblings = lh_alloc_zeroed(n, sizeof *siblings);
  lh_map kinds = {0};
  bool ok = tree && siblings;
  for (size_t i = 0; ok && i < n; i++) {
    const lh_leak *leak = &leaks->rows[i];
    siblings[i] = (lh_sibling){.place = places[i],
                               .kind = kind_of_leak(&kinds, texts, snapshot, leak),
                               .weight = is_field(tree, places[i], leak->type) ? 0 : leak->objects};
    ok = siblings[i].kind != LH_NO_NUMBER;
  }
  ok = ok && lh_find_siblings(tree, siblings, n);
  if (ok) leaks->n_rows = 0;
  for (size_t i = 0; ok && i < n; i++)
    if (siblings[i].first != i) join_leak(&leaks->rows[siblings[i].first], &leaks->rows[i]);
  for (size_t i = 0; ok && i < n; i++) {
    lh_leak *leak = &leaks->rows[i];
    if (siblings[i].first != i) continue;
    if (siblings[i].all != places[i])
      ok = lh_keep_place(texts, tree, siblings[i].all, &leak->held_by);
    leaks->rows[leaks->n_rows++] = *leak;
  }
  lh_map_free(&kinds);
  lh_free(siblings);
  return ok;
}

/* ==== Rows of a ladder =============================================================== */

static bool may_join_growth(const lh_place_tree *tree, const lh_growth_row *row) {
  bool grows = row->verdict == LH_GROWS_A_LITTLE || row->verdict >= LH_GROWS_STEADILY;
  return grows && !is_field(tree, row->told_at, row->type);
}

static void join_growth(lh_growth_row *to, const lh_growth_row *other, lh_figures *figures,
                        size_t n_snapshots) {
  if (strcmp(other->fingerprint, to->fingerprint) < 0) to->printed_at = other->printed_at;
  take_least_print(to->fingerprint, other->fingerprint);
  for (size_t k = 0; k < n_snapshots; k++) {
    figures[k].objects += other->at[k].objects;
    figures[k].entries += other->at[k].entries;
    figures[k].bytes += other->at[k].bytes;
    figures[k].all_objects += other->at[k].all_objects;
  }
}

static bool name_growth(lh_growth_row *row, lh_ladder *ladder, uint32_t place) {
  if (place == row->told_at) return true;
  row->told_at = row->cause_at = place;
  return lh_keep_place(&ladder->texts, &ladder->tree, place, &row->held_by);
}

static bool join_growth_rows(lh_growth *growth, lh_ladder *ladder, const lh_sibling *siblings) {
  size_t n = growth->n_paths;
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    lh_growth_row *first = &growth->paths[siblings[i].first];
    if (siblings[i].first != i)
      join_growth(first, &growth->paths[i], growth->by_path + (first->at - growth->by_path),
                  growth->n_snapshots);
  }
  growth->n_paths = 0;
  for (size_t i = 0; ok && i < n; i++) {
    if (siblings[i].first != i) continue;
    ok = name_growth(&growth->paths[i], ladder, siblings[i].all);
    growth->paths[growth->n_paths++] = growth->paths[i];
  }
  return ok;
}

bool lh_join_sibling_growth(lh_growth *growth, lh_ladder *ladder, const uint64_t *weights) {
  size_t n = growth->n_paths;
  lh_sibling *siblings = lh_alloc_zeroed(n, sizeof *siblings);
  bool ok = siblings != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    const lh_growth_row *row = &growth->paths[i];
    bool is_of_ladder = row->verdict <= LH_GROWS_STEADILY;
    siblings[i] = (lh_sibling){.place = row->told_at,
                               .kind = (uint64_t)row->printed_class << 32 |
                                       (is_of_ladder ? LH_GROWS_STEADILY : row->verdict),
                               .weight = may_join_growth(&ladder->tree, row) ? weights[i] : 0};
  }
  ok = ok && lh_find_siblings(&ladder->tree, siblings, n) &&
       join_growth_rows(growth, ladder, siblings);
  lh_free(siblings);
  return ok;
}
