/*
** culprits.c - Splits off the one container that has nearly all growth of a group.
** Paths with [*] name many containers: of the shards in `_G.shards[*].log[*]` only one may leak. If
** that one has three quarters of the growth or more, it gets a row with its own path and counts,
** `_G.shards[5].log[*]`, and the other containers keep the row of the group. The opposite is
** joined_siblings.c.
**
** The counts of a container are its entries at a, b and c (grown.c), without the few that are other
** fields. O(groups), and O(n) for each group that has objects in other containers, too.
*/
#include "compare.h"
#include "graph/graph.h"
#include "name/allocated.h"

enum { QUARTER = 4, FEW_FIELDS = 8 };

typedef struct splitting {
  lh_snapshot *c;
  lh_folds *folds;
  const uint8_t *new_ones;
  lh_whole_diff *whole;
  lh_map grown_at; /* place -> the container there that grew by most entries */
  size_t capacity; /* of the groups */
} splitting;

static bool list_grown(splitting *s) {
  const lh_diff *diff = &s->whole->visible;
  for (size_t i = 0; i < diff->n_grown; i++) {
    const lh_grown *grown = &diff->grown[i];
    if (lh_type_of(s->c, grown->id) != LH_TYPE_TABLE) continue;
    uint32_t *most = lh_map_first(&s->grown_at, grown->at, (uint32_t)i);
    if (!most) return false;
    if (lh_grown_by(grown->entries) > lh_grown_by(diff->grown[*most].entries)) *most = (uint32_t)i;
  }
  return true;
}

/* Is the container one of several at its place? */
static bool has_siblings(const splitting *s, const lh_grown *grown) {
  const lh_folds *folds = s->folds;
  uint64_t n = 0;
  for (size_t i = 0; i < folds->n_spots && n < 2; i++)
    if (folds->folder.states[folds->spots[i].state].place == grown->at)
      n += folds->spots[i].objects;
  return n > 1;
}

static bool has_any_key(const lh_place_tree *tree, uint32_t place) {
  while (place != LH_NO_PLACE && !lh_last_step(tree, place)->has_any_key)
    place = lh_place_before(tree, place);
  return place != LH_NO_PLACE;
}

/* The container with nearly all growth of the group; NULL: none. */
static const lh_grown *find_culprit(const splitting *s, const lh_diff_group *group) {
  const lh_place_tree *tree = lh_places_of(s->c);
  uint32_t table = lh_place_container(tree, group->held_at);
  if (group->is_vague || group->also_held_by || group->printed_class == UINT32_MAX ||
      table == LH_NO_PLACE || table != lh_place_before(tree, group->held_at) ||
      lh_last_step(tree, table)->form != LH_FORM_BEHIND)
    return NULL;
  uint32_t i = lh_map_get(&s->grown_at, table);
  if (i == LH_NO_NUMBER) return NULL;
  const lh_grown *grown = &s->whole->visible.grown[i];
  uint64_t all = lh_grown_by(group->at), own = lh_grown_by(grown->entries);
  bool is_one = all > 0 && own >= all - all / QUARTER && has_any_key(tree, grown->at);
  return is_one && has_siblings(s, grown) ? grown : NULL;
}

/* ==== The two rows =================================================================== */

static bool is_member(const splitting *s, const lh_diff_group *group, lh_id id) {
  return s->folds->spot[id] == s->folds->spot[group->example];
}

/* Counts the objects that the container has, and the new ones of them. */
static void count_members(const splitting *s, const lh_diff_group *group, lh_id container,
                          uint64_t *all, uint64_t *new) {
  const lh_snapshot *c = s->c;
  *all = *new = 0;
  for (uint32_t e = c->first_edge[container]; e < c->first_edge[container + 1]; e++) {
    lh_id id = c->edge[e];
    if (c->parent_edge[id] != e || !is_member(s, group, id)) continue;
    *all += 1;
    *new += s->new_ones[id] != 0;
  }
}

/* Sets the series of the container's own objects. False: the entries do not tell it. */
static bool set_series(const lh_grown *grown, uint64_t n_members, lh_diff_group *own) {
  const uint64_t *entries = grown->entries;
  uint64_t n_fields = entries[2] - n_members;
  if (n_members > entries[2] || n_fields > FEW_FIELDS || n_fields > entries[0]) return false;
  for (int k = 0; k < 3; k++) own->at[k] = own->type_at[k] = entries[k] - n_fields;
  return true;
}

static void count_new(const splitting *s, const lh_tree *tree, lh_id id, lh_diff_group *own) {
  uint32_t at = tree->position[id];
  own->objects++;
  own->shallow_bytes += lh_shallow_bytes(s->c, id);
  own->retained_bytes += lh_retained_bytes(s->c, id);
  for (uint32_t i = at; i < tree->end[at]; i++) {
    if (!s->new_ones[tree->order[i]]) continue;
    own->new_objects++;
    own->new_bytes += lh_shallow_bytes(s->c, tree->order[i]);
  }
}

static void take_site(lh_diff_group *group, const lh_allocated *found) {
  group->allocated.stack = found->stack;
  group->allocated.callers = found->callers;
  group->allocated.objects = found->objects;
  group->allocated.of = found->of;
}

/* rows[0] gets the objects in the container, rows[1] becomes the rest of the group. False: out of
** memory. */
static bool share_objects(const splitting *s, lh_id container, lh_diff_group rows[2]) {
  const lh_tree *tree = lh_dominator_tree(s->c);
  lh_allocations sites = {.snapshot = s->c};
  lh_allocated found[2] = {{0}};
  lh_id best[2] = {LH_NO_OBJECT, LH_NO_OBJECT};
  bool ok = tree != NULL;
  rows[0].objects = rows[0].shallow_bytes = rows[0].retained_bytes = 0;
  rows[0].new_objects = rows[0].new_bytes = 0;
  for (lh_id id = 1; ok && id <= s->c->n; id++) {
    if (!s->new_ones[id] || !is_member(s, &rows[1], id)) continue;
    uint32_t row = lh_naming_parent(s->c, id) != container;
    bool is_most = best[row] == LH_NO_OBJECT ||
                   lh_retained_bytes(s->c, id) > lh_retained_bytes(s->c, best[row]);
    if (is_most) best[row] = id;
    if (row == 0) count_new(s, tree, id, &rows[0]);
    ok = lh_allocations_add(&sites, row, id);
  }
  ok = ok && lh_allocations_find(&sites, found, sizeof *found, 2);
  lh_allocations_free(&sites);
  for (int row = 0; ok && row < 2; row++) {
    if (best[row] != LH_NO_OBJECT) rows[row].example = best[row];
    take_site(&rows[row], &found[row]);
  }
  rows[1].objects -= rows[0].objects;
  rows[1].shallow_bytes -= rows[0].shallow_bytes;
  rows[1].retained_bytes -= rows[0].retained_bytes;
  rows[1].new_objects -= rows[0].new_objects;
  rows[1].new_bytes -= rows[0].new_bytes;
  for (int k = 0; k < 3; k++) {
    rows[1].at[k] -= rows[0].at[k] < rows[1].at[k] ? rows[0].at[k] : rows[1].at[k];
    rows[1].type_at[k] -=
        rows[0].type_at[k] < rows[1].type_at[k] ? rows[0].type_at[k] : rows[1].type_at[k];
  }
  return ok;
}

/* The path of the container, with the last step of the group's. */
static bool name_row(splitting *s, const lh_grown *grown, lh_diff_group *row) {
  lh_place_tree *tree = lh_places_of(s->c);
  lh_place_step base = {.kind = LH_STEP_TEXT, .form = LH_FORM_BASE, .holder = LH_NO_PLACE};
  uint32_t last = tree->list[row->held_at].step;
  lh_text label = {0};
  lh_text_string(&label, grown->held_by);
  uint32_t place = lh_place_behind(tree, 0, lh_intern_step(tree, base, &label, NULL));
  place = lh_place_behind(tree, place, last);
  return place != LH_NO_NUMBER && lh_keep_place(&s->whole->paths, tree, place, &row->held_by);
}

/* ==================================================================================== */

static bool split_group(splitting *s, size_t i) {
  lh_diff *diff = &s->whole->visible;
  lh_diff_group rows[2] = {diff->groups[i], diff->groups[i]};
  uint64_t n_members, n_new;
  const lh_grown *grown = find_culprit(s, &rows[1]);
  if (!grown) return true;
  count_members(s, &rows[1], grown->id, &n_members, &n_new);
  if (n_new == 0 || n_new > rows[1].objects || !set_series(grown, n_members, &rows[0])) return true;
  if (!name_row(s, grown, &rows[0])) return false;
  if (n_new < rows[1].objects) {
    if (!share_objects(s, grown->id, rows) ||
        !lh_grow(&diff->groups, diff->n_groups, &s->capacity, sizeof *diff->groups))
      return false;
    diff->groups[diff->n_groups++] = rows[1];
  }
  diff->groups[i] = rows[0];
  return true;
}

bool lh_split_culprits(lh_snapshot *c, const uint8_t *new_ones, lh_whole_diff *whole) {
  size_t n = whole->visible.n_groups;
  splitting s = {.c = c,
                 .folds = lh_folds_of(c),
                 .new_ones = new_ones,
                 .whole = whole,
                 .capacity = whole->visible.n_groups};
  bool ok = s.folds && list_grown(&s);
  for (size_t i = 0; ok && s.grown_at.n > 0 && i < n; i++) ok = split_group(&s, i);
  lh_map_free(&s.grown_at);
  return ok;
}
