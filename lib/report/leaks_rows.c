/*
** leaks_rows.c - what leaks, or is likely to, by all the evidence of one snapshot. There are three
** sources: what was allocated in the middle of the program's life and stays, by place, with what
** several places hold together (lh_diff_history); collections and what their keys say, also of
** numbers, which have no age (lh_find_growing); and what is big (lh_find_suspects).
**
** None of them has an opinion of its own: whether something grows is said by lib/graph/verdict.c.
*/
#include "report/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "thresholds.h"

/* {=== Judging ======================================================================== */

/* A collection has been judged, and knows its limit. */
static bool is_judged(const lh_cause *leak) {
  return leak->collection && leak->collection->id == leak->example;
}

/* Of what a collection has no limit of: what has it, to which anything may refer, is looked at. */
static bool has_own_limit(const lh_cause *leak) {
  return is_judged(leak) || leak->type == LH_TYPE_STRING;
}

static int find_limits(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  size_t n = 0;
  lh_id *ids = lh_alloc(found->n_leaks, sizeof *ids);
  uint64_t *counts = lh_alloc(found->n_leaks, sizeof *counts);
  lh_bound *bounds = lh_alloc(found->n_leaks, sizeof *bounds);
  int code = ids && counts && bounds ? LH_OK : lh_fail_memory(error, "looking for limits");
  for (size_t i = 0; i < found->n_leaks && !code; i++) {
    if (has_own_limit(&found->leaks[i])) continue;
    ids[n] = found->leaks[i].example;
    counts[n++] = found->leaks[i].objects;
  }
  if (!code && n > 0) code = lh_find_bounds(snapshot, ids, counts, n, bounds, error);
  for (size_t i = found->n_leaks; i-- > 0 && !code;)
    if (!has_own_limit(&found->leaks[i])) found->leaks[i].bound = bounds[--n];
  lh_free(ids);
  lh_free(counts);
  lh_free(bounds);
  return code;
}

static int judge(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  int code = find_limits(found, snapshot, error);
  for (size_t i = 0; i < found->n_leaks && !code; i++) {
    lh_cause *leak = &found->leaks[i];
    lh_id holder = lh_nearest_holder(snapshot, leak->example);
    if (is_judged(leak)) continue;
    if (leak->type == LH_TYPE_STRING) /* anything may refer to it, too */
      code = lh_find_bound(snapshot, holder, leak->objects, &leak->bound, error);
    if (code) break;
    leak->prospect = lh_prospect_of_place(snapshot, &found->history, leak->ages, holder,
                                          leak->type == LH_TYPE_STRING, &leak->bound);
  }
  return code;
}

/* }=================================================================================== */

/* {=== Rows =========================================================================== */

static uint64_t sum_of(const uint64_t *ages) {
  uint64_t sum = 0;
  for (int i = 0; i < LH_SPANS; i++) sum += ages[i];
  return sum;
}

/* What are fewer than this is no collection, but may be big. */
static void add_group(lh_causes *found, const lh_snapshot *snapshot, const lh_diff_group *group) {
  lh_cause leak = {.class_name = group->class_name,
                   .type = lh_class_at(snapshot, group->class_index)->type,
                   .class_index = group->class_index,
                   .held_by = group->held_by,
                   .also_held_by = group->also_held_by,
                   .at = group->held_at,
                   .objects = sum_of(group->ages),
                   .bytes = group->bytes_of_all > group->retained_bytes ? group->bytes_of_all
                                                                        : group->retained_bytes,
                   .example = group->example,
                   .allocated = group->allocated,
                   .bound = {.name = LH_NO_OBJECT}};
  if (leak.objects < LH_LEAST_AGED) return;
  memcpy(leak.ages, group->ages, sizeof leak.ages);
  memcpy(leak.also_at, group->also_at, sizeof leak.also_at);
  found->leaks[found->n_leaks++] = leak;
}

static void add_collection(lh_causes *found, const lh_growing *g) {
  lh_cause leak = {.prospect = g->prospect,
                   .class_name = g->element,
                   .type = g->type,
                   .class_index = g->element_class,
                   .held_by = g->held_by,
                   .at = g->at,
                   .also_at = {LH_NO_PLACE, LH_NO_PLACE},
                   .objects = g->alike_entries,
                   .bytes = g->bytes,
                   .example = g->id,
                   .bound = g->bound,
                   .collection = g};
  memcpy(leak.ages, g->ages, sizeof leak.ages);
  found->leaks[found->n_leaks++] = leak;
}

/* The collections that are tables, by their places: the first of all, and of those of strings. */
typedef struct collections {
  const lh_place_tree *tree;
  const lh_growings *growings;
  lh_map first[2];
  lh_map met[2];  /* places of which a row tells: of any kind, of strings */
  lh_map classes; /* of rows */
} collections;

static bool list_collections(collections *c) {
  bool ok = true;
  for (size_t i = c->growings->n; ok && i-- > 0;) {
    const lh_growing *g = &c->growings->list[i];
    for (int k = 0; ok && !g->is_list && k < 1 + (g->type == LH_TYPE_STRING); k++) {
      uint32_t *first = lh_map_at(&c->first[k], g->at);
      ok = first != NULL;
      if (ok) *first = (uint32_t)i;
    }
  }
  return ok;
}

/* A row tells of what is in a table; what that is as a collection says what its keys are. */
static bool meet(collections *c, uint32_t table, lh_cause *leak) {
  bool is_string = leak->type == LH_TYPE_STRING;
  uint32_t first = lh_map_get(&c->first[is_string], table);
  const lh_growing *g = first == LH_NO_NUMBER ? NULL : &c->growings->list[first];
  if (g && (!leak->collection || g < leak->collection)) leak->collection = g;
  return lh_map_count(&c->met[is_string], table);
}

/* Meets the tables on the way to a place that has what is in them under any key, or their keys. */
static bool meet_tables(collections *c, uint32_t place, lh_cause *leak) {
  bool ok = place == LH_NO_PLACE || meet(c, place, leak);
  for (uint32_t at = place; ok && at != LH_NO_PLACE; at = lh_place_before(c->tree, at)) {
    uint32_t table = lh_place_container(c->tree, at);
    if (table != LH_NO_PLACE) ok = meet(c, table, leak);
  }
  return ok;
}

/* Of what is in the collection. */
static bool row_tells_of_collection(const collections *c, const lh_growing *g) {
  bool is_met = lh_map_get(&c->met[0], g->at) != LH_NO_NUMBER;
  bool is_met_as_string = lh_map_get(&c->met[1], g->at) != LH_NO_NUMBER;
  return is_met || (is_met_as_string && g->type == LH_TYPE_STRING) ||
         (g->is_list && lh_map_get(&c->classes, g->element_class) != LH_NO_NUMBER);
}

static bool add_collections(lh_causes *found, const lh_place_tree *tree) {
  const lh_growings *growings = &found->growings;
  collections c = {.tree = tree, .growings = growings};
  bool ok = list_collections(&c);
  for (size_t i = 0; ok && i < found->n_leaks; i++) {
    lh_cause *leak = &found->leaks[i];
    ok = lh_map_count(&c.classes, leak->class_index) && meet_tables(&c, leak->at, leak);
    for (size_t k = 0; ok && k < LH_ALSO_AT; k++) ok = meet_tables(&c, leak->also_at[k], leak);
  }
  for (size_t i = 0; ok && i < growings->n; i++) {
    const lh_growing *g = &growings->list[i];
    if (!row_tells_of_collection(&c, g) && g->prospect != LH_FILLED_ONCE && g->same_as == i)
      add_collection(found, g);
  }
  for (int k = 0; k < 2; k++) {
    lh_map_free(&c.first[k]);
    lh_map_free(&c.met[k]);
  }
  lh_map_free(&c.classes);
  return ok;
}

static int make_rows(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  const lh_diff *stayed = found->stayed;
  const lh_growings *growings = &found->growings;
  found->leaks = lh_alloc(stayed->n_groups + growings->n, sizeof *found->leaks);
  if (!found->leaks) return lh_fail_memory(error, "looking for what leaks");
  for (size_t i = 0; i < stayed->n_groups; i++) add_group(found, snapshot, &stayed->groups[i]);
  const lh_place_tree *tree = lh_places_of(snapshot);
  return tree && add_collections(found, tree) ? LH_OK
                                              : lh_fail_memory(error, "looking for what leaks");
}

static int compare_leaks(const void *left, const void *right) {
  const lh_cause *a = left, *b = right;
  return LH_MORE(a->prospect, b->prospect) ?: LH_MORE(a->bytes, b->bytes) ?:
         strcmp(a->held_by, b->held_by) ?: strcmp(a->class_name, b->class_name);
}

static void sort_rows(lh_causes *found) {
  if (found->n_leaks > 1) qsort(found->leaks, found->n_leaks, sizeof *found->leaks, compare_leaks);
}

/* One row of each cause. */
static int unite_rows(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  sort_rows(found);
  if (!lh_unite_lists(snapshot, found)) return lh_fail_memory(error, "looking for what leaks");
  int code = judge(found, snapshot, error);
  if (code) return code;
  const lh_place_tree *tree = lh_places_of(snapshot);
  if (!lh_bound_parts(tree, found)) return lh_fail_memory(error, "looking for what leaks");
  sort_rows(found);
  if (!lh_unite_parts(tree, found)) return lh_fail_memory(error, "looking for what leaks");
  sort_rows(found);
  return LH_OK;
}

static void keep_big_rows(lh_causes *found, uint64_t least) {
  size_t n = found->n_leaks;
  found->n_leaks = 0;
  for (size_t i = 0; i < n; i++) {
    const lh_cause *leak = &found->leaks[i];
    if (leak->bytes < least) continue;
    found->n_certain += leak->prospect == LH_GROWS;
    found->n_likely += leak->prospect == LH_MAY_GROW;
    found->leaks[found->n_leaks++] = *leak;
  }
}

/* }=================================================================================== */

/* {=== What is merely big ============================================================== */

static void mark_told(const lh_snapshot *snapshot, lh_id id, uint8_t *told) {
  for (; !told[id]; id = lh_immediate_dominator(snapshot, id)) {
    told[id] = 1;
    if (id == LH_ROOT) break;
  }
}

/* The suspects that are neither an example nor dominate one. */
static bool find_big(lh_causes *found, const lh_snapshot *snapshot) {
  const lh_suspects *suspects = &found->suspects;
  uint8_t *told = lh_alloc_zeroed((size_t)lh_object_count(snapshot) + 1, 1);
  found->big = lh_alloc(suspects->n, sizeof *found->big);
  bool ok = told && found->big;
  for (size_t i = 0; ok && i < found->n_leaks; i++)
    mark_told(snapshot, found->leaks[i].example, told);
  for (size_t i = 0; ok && i < suspects->n; i++)
    if (!told[suspects->list[i].id]) found->big[found->n_big++] = suspects->list[i];
  lh_free(told);
  return ok;
}

/* }=================================================================================== */

int lh_find_causes(lh_snapshot *snapshot, lh_causes *out, lh_error *error) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  int code = lh_find_history(snapshot, &out->history, error);
  if (!code) code = lh_diff_history(snapshot, &out->history, &out->stayed, error);
  if (!code) code = lh_find_growing(snapshot, &out->history, &out->growings, error);
  if (!code) code = lh_find_suspects(snapshot, &out->suspects, error);
  if (!code) code = make_rows(out, snapshot, error);
  if (!code) code = unite_rows(out, snapshot, error);
  if (!code) {
    keep_big_rows(out, lh_least_leak(reach.reachable_bytes));
    if (!find_big(out, snapshot)) code = lh_fail_memory(error, "looking for what is big");
  }
  if (code) lh_causes_free(out);
  return code;
}

void lh_causes_free(lh_causes *found) {
  lh_history_free(&found->history);
  lh_diff_free(found->stayed);
  lh_growings_free(&found->growings);
  lh_suspects_free(&found->suspects);
  lh_free(found->leaks);
  lh_free(found->big);
}
