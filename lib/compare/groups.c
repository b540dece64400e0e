/*
** groups.c - Groups the new objects that stay, by class and holder.
** Tops are the new objects without a new dominator; other new objects belong to their top. The
** subtrees of tops are disjoint, so retained sizes add up. The first element of a new list retains
** the others: these count with it.
*/
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "name/allocated.h"

static bool find_tops(lh_grouping *g) {
  const lh_folds *folds = lh_folds_of(g->c);
  size_t n = (size_t)g->c->n + 1;
  g->top = folds ? lh_alloc_zeroed(n, sizeof *g->top) : NULL;
  g->is_top = folds ? lh_alloc_zeroed(n / 64 + 1, sizeof *g->is_top) : NULL;
  if (!g->top || !g->is_top) return false;
  for (size_t i = 1; i < folds->n; i++) {
    lh_id id = folds->order[i], above = g->top[g->c->idom[id]];
    bool is_top = above == LH_ROOT && g->new_ones[id];
    g->top[id] = is_top ? id : above;
    if (is_top) g->is_top[id / 64] |= UINT64_C(1) << id % 64;
  }
  return true;
}

/* ==== Counting ======================================================================= */

/* The object that represents a top: for an upvalue its content, if the top retains it. */
static lh_id subject_of(const lh_grouping *g, lh_id top) {
  const lh_snapshot *c = g->c;
  if (lh_type_of(c, top) != LH_TYPE_UPVALUE || c->first_edge[top] == c->first_edge[top + 1])
    return top;
  lh_id content = c->edge[c->first_edge[top]];
  return g->top[content] == top && g->new_ones[content] ? content : top;
}

typedef struct member {
  uint32_t group, class_index;
  uint64_t objects;
  const char *name;
} member;

typedef struct members {
  member *list;
  size_t n, capacity;
  lh_map index; /* group, class -> index */
  lh_allocations allocations;
  bool failed; /* out of memory */
} members;

static uint64_t member_key(const lh_grouping *g, lh_id top, lh_id id) {
  return (uint64_t)lh_group_at(g, top) << 32 | lh_class_of(g->c, id);
}

/* LH_NO_NUMBER: out of memory. */
static uint32_t add_member(const lh_grouping *g, members *m, lh_id top, lh_id id) {
  uint64_t key = member_key(g, top, id);
  uint32_t index = lh_map_number(&m->index, key);
  if (index == LH_NO_NUMBER || !lh_grow(&m->list, m->n, &m->capacity, sizeof *m->list))
    return LH_NO_NUMBER;
  if (index == m->n)
    m->list[m->n++] =
        (member){lh_group_at(g, top), (uint32_t)key, 0, lh_class_at(g->c, (uint32_t)key)->name};
  return index;
}

/* A group is named by its own tops, not by those of groups that joined it. */
static bool add_top(lh_grouping *g, members *m, lh_id top) {
  uint32_t place = lh_place_of(&g->places, top), into = g->into[place];
  lh_diff_group *group = &g->groups[into];
  uint64_t retained = lh_retained_bytes(g->c, top);
  if (place != into) return true;
  lh_id subject = subject_of(g, top);
  if (group->example == LH_NO_OBJECT || retained > lh_retained_bytes(g->c, group->example)) {
    group->example = subject;
    group->class_index = lh_class_of(g->c, subject);
  }
  return add_member(g, m, top, subject) != LH_NO_NUMBER;
}

/* Does the object hang on a link that follows itself, such as .next*? A step in front, such as "key
** of", does not count. */
static bool is_linked(const lh_folds *folds, lh_id id) {
  const lh_folder *folder = &folds->folder;
  uint32_t at = lh_spot_at(folds, id)->state;
  const lh_place_step *step = lh_last_step(folder->tree, folder->states[at].place);
  while (step->form == LH_FORM_FRONT) {
    at = folder->states[at].parent;
    step = lh_last_step(folder->tree, folder->states[at].place);
  }
  if (!lh_is_starred(step)) return false;
  return !folder->states[at].is_link ||
         (at < folds->seen_keys.n && folds->seen_keys.list[at].repeats);
}

/* Is the object one of those that the group's row counts? What a top retains is at another path,
** even if it is of the same class, and so is what joined the group; but the elements of a list are
** at the path of its first one. A list that is new as a whole has a path without a star. */
static bool is_counted(const lh_grouping *g, lh_id top, lh_id id) {
  const lh_folds *folds = g->places.folds;
  uint32_t place = lh_place_of(&g->places, top);
  lh_id subject = subject_of(g, top);
  if (g->alike[place] != g->into[place]) return false;
  if (id == subject) return true;
  return is_linked(folds, id) && (g->n_tops_at[place] == 1 ||
                                  lh_folded_place(folds, id) == lh_folded_place(folds, subject));
}

/* The elements of a list may be records with other fields. */
static bool is_of_list(const lh_grouping *g, lh_id top, lh_id id) {
  const lh_folds *folds = g->places.folds;
  if (lh_type_of(g->c, id) != LH_TYPE_TABLE || id == top) return false;
  lh_id subject = subject_of(g, top);
  return lh_folded_place(folds, id) == lh_folded_place(folds, subject) &&
         lh_type_of(g->c, subject) == LH_TYPE_TABLE && lh_class_of(g->c, id) != UINT32_MAX &&
         is_linked(folds, id);
}

static void count_new(lh_grouping *g, members *m, lh_id id) {
  lh_id top = g->top[id];
  lh_diff_group *group = &g->groups[lh_group_at(g, top)];
  group->new_objects++;
  group->new_bytes += lh_shallow_bytes(g->c, id);
  uint32_t index = lh_map_get(&m->index, member_key(g, top, id));
  if (index == LH_NO_NUMBER && is_of_list(g, top, id) && is_counted(g, top, id)) {
    index = add_member(g, m, top, id);
    m->failed |= index == LH_NO_NUMBER;
    group->counts_type = true;
  }
  if (index == LH_NO_NUMBER || !is_counted(g, top, id)) return;
  m->list[index].objects++;
  group->objects++;
  group->shallow_bytes += lh_shallow_bytes(g->c, id);
  m->failed |= !lh_allocations_add(&m->allocations, lh_group_at(g, top), id);
}

/* ==== What a group is called ========================================================= */

static int compare_members(const void *left, const void *right) {
  const member *a = left, *b = right;
  return LH_LESS(a->group, b->group) ?: LH_MORE(a->objects, b->objects) ?: strcmp(a->name, b->name);
}

/* "Order 17" becomes "Order *", but lines stay. LH_NO_NUMBER: out of memory, or texts->full. */
static lh_text_id fold_name(lh_grouping *g, const member *m) {
  lh_strings *texts = &g->places.texts;
  const lh_class_entry *class = &g->c->classes->list[m->class_index];
  lh_text folded = {0};
  bool any = class->stable == class->name ? lh_fold_digits(&folded, m->name)
                                          : lh_fold_loaded_code(&folded, m->name);
  if (any) return lh_strings_take(texts, &folded);
  lh_text_free(&folded);
  return lh_strings_add(texts, m->name, strlen(m->name));
}

/* Adds `other`, whose name differs in numbers only, and puts * for those numbers. */
static bool join_name(lh_strings *texts, member *m, const member *other) {
  lh_text both = {0};
  m->objects += other->objects;
  if (!lh_fold_differing(&both, m->name, other->name)) return true;
  lh_text_id id = lh_strings_take(texts, &both);
  if (id != LH_NO_NUMBER) m->name = texts->texts[id];
  return id != LH_NO_NUMBER || texts->full;
}

/* Joins names that differ in numbers only. Returns how many are left; 0: out of memory. */
static size_t join_names(lh_grouping *g, member *list, size_t n) {
  lh_strings *texts = &g->places.texts;
  lh_map first = {0};
  size_t kept = 0;
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    lh_text_id name = fold_name(g, &list[i]);
    uint32_t at = lh_map_number(&first, name);
    ok = at != LH_NO_NUMBER && (name != LH_NO_NUMBER || texts->full);
    if (ok && at == kept)
      list[kept++] = list[i];
    else if (ok)
      ok = join_name(texts, &list[at], &list[i]);
  }
  lh_map_free(&first);
  if (kept > 1) qsort(list, kept, sizeof *list, compare_members);
  return ok ? kept : 0;
}

static bool name_group(lh_grouping *g, member *list, size_t n) {
  lh_diff_group *group = &g->groups[list->group];
  lh_strings *texts = &g->places.texts;
  group->class_name = list->name;
  if (n == 1) return true;
  n = join_names(g, list, n);
  const char *names = n > 0 ? lh_list_text(texts, &list->name, sizeof *list, n, ", ") : NULL;
  if (names) group->class_name = names;
  return n > 0 && (names || texts->full);
}

static bool name_groups(lh_grouping *g, members *m) {
  bool ok = true;
  if (m->n > 1) qsort(m->list, m->n, sizeof *m->list, compare_members);
  for (size_t i = 0, end; ok && i < m->n; i = end) {
    for (end = i; end < m->n && m->list[end].group == m->list[i].group;) end++;
    ok = name_group(g, m->list + i, end - i);
  }
  return ok;
}

/* ==================================================================================== */

static int compare_groups(const void *left, const void *right) {
  const lh_diff_group *a = left, *b = right;
  return LH_MORE(a->weight, b->weight) ?: LH_MORE(a->retained_bytes, b->retained_bytes) ?:
         strcmp(a->class_name, b->class_name) ?: strcmp(a->held_by, b->held_by) ?:
         LH_LESS(a->class_index, b->class_index);
}

void lh_sort_groups(lh_diff *diff) {
  if (diff->n_groups > 1) qsort(diff->groups, diff->n_groups, sizeof *diff->groups, compare_groups);
}

static void set_printed(lh_grouping *g, lh_diff_group *group, uint32_t i) {
  const lh_place *place = &g->places.list[i];
  uint32_t at = lh_folded_at(&g->places, place);
  uint32_t folded =
      place->joined ? lh_place_without_numbers(lh_tree_of(&g->places), at) : LH_NO_PLACE;
  group->printed_at = folded < LH_NO_PLACE ? folded : at;
  group->printed_class = place->several ? UINT32_MAX : place->class_index;
}

static bool finish_groups(lh_grouping *g, lh_whole_diff *whole) {
  lh_diff *diff = &whole->visible;
  lh_print *prints = lh_alloc(g->places.n, sizeof *prints);
  whole->places = lh_alloc(g->places.n, sizeof *whole->places);
  bool ok = prints && whole->places && lh_print_places(&g->places, prints, whole->places) &&
            lh_list_counted_places(&g->places, &whole->counted);
  for (uint32_t i = 0; ok && i < g->n_groups; i++) {
    lh_diff_group *group = &g->groups[i];
    if (group->objects == 0) continue;
    memcpy(group->fingerprint, prints[i], sizeof prints[i]);
    set_printed(g, group, i);
    group->place = i;
    group->weight = group->retained_bytes;
    g->groups[diff->n_groups++] = *group;
  }
  lh_free(prints);
  if (!ok) return false;
  diff->groups = g->groups;
  whole->paths = g->places.texts;
  whole->alike = g->alike;
  whole->n_places = g->places.n;
  g->groups = NULL;
  g->alike = NULL;
  g->places.texts = (lh_strings){0};
  lh_sort_groups(diff);
  return true;
}

static bool place_tops(lh_grouping *g) {
  if (!lh_find_holders(g)) return false;
  size_t n = g->n_tops;
  lh_id *ids = lh_alloc(n + g->n_holders, sizeof *ids);
  bool ok = ids != NULL;
  if (ok) {
    if (n > 0) memcpy(ids, g->tops, n * sizeof *ids);
    for (size_t i = 0; i < g->n_holders; i++)
      if (g->top[g->holders[i]] == LH_ROOT) ids[n++] = g->holders[i];
    ok = lh_places_make(&g->places, g->c, ids, n, g->n_tops) && lh_join_places(&g->places);
  }
  lh_free(ids);
  if (!ok) return false;
  g->n_groups = g->places.n;
  g->groups = lh_alloc_zeroed(g->n_groups, sizeof *g->groups);
  g->n_tops_at = lh_alloc_zeroed(g->n_groups, sizeof *g->n_tops_at);
  g->into = lh_alloc(g->n_groups, sizeof *g->into);
  g->alike = lh_alloc(g->n_groups, sizeof *g->alike);
  if (!g->groups || !g->n_tops_at || !g->into || !g->alike) return false;
  for (uint32_t i = 0; i < g->n_groups; i++) {
    g->groups[i] = (lh_diff_group){.example = LH_NO_OBJECT,
                                   .held_at = g->places.list[i].at,
                                   .also_at = {LH_NO_PLACE, LH_NO_PLACE},
                                   .held_by = g->places.texts.texts[g->places.list[i].path]};
    g->into[i] = g->alike[i] = i;
  }
  return true;
}

static bool make_groups(lh_grouping *g, const lh_id *ids, size_t n_ids, lh_whole_diff *whole) {
  members m = {.allocations.snapshot = g->c};
  g->tops = lh_alloc(n_ids, sizeof *g->tops);
  if (!g->tops) return false;
  for (size_t i = 0; i < n_ids; i++)
    if (lh_is_top(g, ids[i])) g->tops[g->n_tops++] = ids[i];
  bool ok = place_tops(g);
  for (size_t i = 0; ok && i < g->n_tops; i++) {
    uint32_t place = lh_place_of(&g->places, g->tops[i]);
    g->n_tops_at[place]++;
    g->groups[place].retained_bytes += lh_retained_bytes(g->c, g->tops[i]);
  }
  ok = ok && lh_join_holders(g);
  for (uint32_t i = 0; ok && i < g->n_groups; i++)
    if (g->into[i] != i) g->groups[g->into[i]].retained_bytes += g->groups[i].retained_bytes;
  for (size_t i = 0; ok && i < g->n_tops; i++) ok = add_top(g, &m, g->tops[i]);
  for (size_t i = 0; ok && i < n_ids; i++) count_new(g, &m, ids[i]);
  ok = ok && !m.failed && name_groups(g, &m) &&
       lh_allocations_find(&m.allocations, &g->groups->allocated, sizeof *g->groups, g->n_groups) &&
       finish_groups(g, whole);
  lh_allocations_free(&m.allocations);
  lh_free(m.list);
  lh_map_free(&m.index);
  return ok;
}

static lh_id *list_new(const lh_snapshot *c, const uint8_t *new_ones, lh_diff *diff) {
  size_t n = 0;
  for (lh_id id = 1; id <= c->n; id++) n += new_ones[id] != 0;
  lh_id *ids = lh_alloc(n, sizeof *ids);
  for (lh_id id = 1; ids && id <= c->n; id++) {
    if (!new_ones[id]) continue;
    ids[diff->objects++] = id;
    diff->shallow_bytes += lh_shallow_bytes(c, id);
  }
  return ids;
}

int lh_diff_groups(lh_snapshot *c, const uint8_t *new_ones, bool together, lh_whole_diff *whole,
                   lh_error *error) {
  lh_diff *diff = &whole->visible;
  lh_grouping g = {.c = c, .new_ones = new_ones};
  bool ok = find_tops(&g);
  lh_id *ids = list_new(c, new_ones, diff);
  int code = ok && ids && make_groups(&g, ids, diff->objects, whole) ? LH_OK : LH_EMEMORY;
  LH_FREE_ALL(g.top, g.is_top, g.tops, g.holders, g.groups, g.n_tops_at, g.into, g.alike);
  lh_places_free(&g.places);
  if (!code && together && diff->objects > 0)
    code = lh_retained_together(c, ids, diff->objects, &diff->retained_bytes, NULL, error);
  lh_free(ids);
  return code == LH_EMEMORY ? lh_fail_memory(error, "grouping the new objects") : code;
}
