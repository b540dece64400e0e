/*
** groups.c - the new objects that stay, by class and by what holds them.
**
** What another new object retains goes under that one: rows are for the new objects that have no
** new dominator. Their subtrees are disjoint, so the rows' retained sizes add up with no byte
** twice. What is retained by a new object of its own class counts with it: of a list of a thousand
** elements the first one retains the others, and it is a thousand elements that stay.
*/
#include <stdlib.h>
#include <string.h>

#include "compare.h"

#define UNKNOWN UINT32_MAX

/* top[id]: the new object that is furthest up among id and its dominators; LH_ROOT: none. */
static lh_id *find_tops(const lh_snapshot *c, const uint8_t *new_ones) {
  lh_id *top = lh_alloc((size_t)c->n + 1, sizeof *top);
  if (!top) return NULL;
  memset(top, 0xFF, ((size_t)c->n + 1) * sizeof *top);
  top[LH_ROOT] = LH_ROOT;
  for (lh_id id = 1; id <= c->n; id++) {
    if (!new_ones[id]) continue;
    lh_id at = id, highest = LH_ROOT;
    for (; top[at] == UNKNOWN; at = c->idom[at])
      if (new_ones[at]) highest = at;
    lh_id known = top[at], above = known;
    /* Downwards the answer changes at `highest`; so walk up again, from below it to above it. */
    lh_id below = known != LH_ROOT ? known : highest;
    for (at = id; top[at] == UNKNOWN; at = c->idom[at]) {
      top[at] = below;
      if (known == LH_ROOT && at == highest) below = above;
    }
  }
  return top;
}

/* A group for each place; those that became another one have no objects. */
typedef struct grouping {
  lh_snapshot *c;
  lh_places places;
  lh_diff_group *groups;
} grouping;

static lh_diff_group *group_of(grouping *g, lh_id top) {
  return &g->groups[lh_place_of(&g->places, top)];
}

static void add_top(grouping *g, lh_id id) {
  lh_diff_group *group = group_of(g, id);
  uint64_t retained = lh_retained_bytes(g->c, id);
  if (group->objects == 0 || retained > lh_retained_bytes(g->c, group->example)) {
    group->example = id;
    group->class_index = lh_class_of(g->c, id);
  }
  group->objects++;
  group->shallow_bytes += lh_shallow_bytes(g->c, id);
  group->retained_bytes += retained;
}

/* Counts new object `id` where its topmost new dominator is. */
static void count_new(grouping *g, lh_id top, lh_id id) {
  lh_diff_group *group = group_of(g, top);
  group->new_objects++;
  group->new_bytes += lh_shallow_bytes(g->c, id);
  if (id == top || lh_class_of(g->c, id) != lh_class_of(g->c, top)) return;
  group->objects++;
  group->shallow_bytes += lh_shallow_bytes(g->c, id);
}

static int compare_groups(const void *left, const void *right) {
  const lh_diff_group *a = left, *b = right;
  if (a->retained_bytes != b->retained_bytes) return a->retained_bytes > b->retained_bytes ? -1 : 1;
  int order = strcmp(a->class_name, b->class_name);
  if (!order) order = strcmp(a->held_by, b->held_by);
  return order ? order : (a->class_index > b->class_index) - (a->class_index < b->class_index);
}

/* Hands the groups, and their texts, to the diff. */
static bool finish(grouping *g, lh_whole_diff *whole) {
  lh_diff *diff = &whole->visible;
  lh_print *prints = lh_fingerprint_places(&g->places);
  if (!prints) return false;
  for (size_t i = 0; i < g->places.n; i++) {
    const lh_place *place = &g->places.list[i];
    lh_diff_group *group = &g->groups[i];
    if (group->objects == 0) continue;
    group->held_by = g->places.texts.texts[place->path];
    group->class_name = place->joined && place->module != LH_NO_NUMBER
                            ? g->places.texts.texts[place->module]
                            : lh_class_at(g->c, group->class_index)->name;
    memcpy(group->fingerprint, prints[i], sizeof prints[i]);
    g->groups[diff->n_groups++] = *group;
  }
  lh_free(prints);
  diff->groups = g->groups;
  whole->paths = g->places.texts;
  g->groups = NULL;
  g->places.texts = (lh_strings){0};
  if (diff->n_groups > 1) qsort(diff->groups, diff->n_groups, sizeof *diff->groups, compare_groups);
  return true;
}

static bool make_groups(grouping *g, const lh_id *top, const lh_id *ids, size_t n_ids,
                        lh_whole_diff *whole) {
  size_t n_tops = 0;
  lh_id *tops = lh_alloc(n_ids, sizeof *tops);
  bool ok = tops != NULL;
  for (size_t i = 0; ok && i < n_ids; i++)
    if (top[ids[i]] == ids[i]) tops[n_tops++] = ids[i];
  ok = ok && lh_places_make(&g->places, g->c, tops, n_tops) && lh_join_places(&g->places);
  if (ok) g->groups = lh_alloc_zeroed(g->places.n, sizeof *g->groups);
  ok = ok && g->groups;
  for (size_t i = 0; ok && i < n_tops; i++) add_top(g, tops[i]);
  for (size_t i = 0; ok && i < n_ids; i++) count_new(g, top[ids[i]], ids[i]);
  lh_free(tops);
  return ok && finish(g, whole);
}

int lh_diff_groups(lh_snapshot *c, const uint8_t *new_ones, lh_whole_diff *whole, lh_error *error) {
  lh_diff *diff = &whole->visible;
  grouping g = {.c = c};
  size_t n_ids = 0;
  int code = LH_EMEMORY;
  for (lh_id id = 1; id <= c->n; id++) {
    if (!new_ones[id]) continue;
    n_ids++;
    diff->shallow_bytes += lh_shallow_bytes(c, id);
  }
  diff->objects = n_ids;
  lh_id *top = find_tops(c, new_ones), *ids = lh_alloc(n_ids, sizeof *ids);
  if (!top || !ids) goto out;
  n_ids = 0;
  for (lh_id id = 1; id <= c->n; id++)
    if (new_ones[id]) ids[n_ids++] = id;
  if (!make_groups(&g, top, ids, n_ids, whole)) goto out;
  code = n_ids ? lh_retained_together(c, ids, n_ids, &diff->retained_bytes, NULL, error) : 0;
out:
  lh_free(top);
  lh_free(ids);
  lh_free(g.groups);
  lh_places_free(&g.places);
  return code == LH_EMEMORY ? lh_fail_memory(error, "grouping the new objects") : code;
}
