/*
** shared_holders.c - Joins groups of new objects that share what they hold (see groups.c).
** Two handlers share an object, so neither retains it, and all three are tops. They become one
** group: the shared object represents it, and the places of the handlers are its holders. A group
** joins another if most of its tops lead to tops of that one, about one each, and that one retains
** more: four times as much if an older object holds it. What all share, such as a configuration,
** joins nobody. What tables at one place share goes into their group instead.
*/
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "graph/graph.h"

enum { MOST_HOLDERS = 4, MOST_LED_TO = 2, CLEARLY_MORE = 4 };

/* holders: places of tops, or n_groups + path state (fold.h) of an older holder; led_to: places. */
typedef struct bonds {
  uint32_t holders[MOST_HOLDERS], led_to[MOST_LED_TO];
  bool has_older; /* an older object holds it */
} bonds;

/* Counts for two places: the tops of `from` that hold tops of `to`, and the tops held. */
typedef struct link {
  uint32_t from, to;
  uint64_t sources, targets;
} link;

typedef struct joint {
  lh_grouping *g;
  uint32_t *ordinal; /* by object that is a top: index of the top */
  bonds *bonds;      /* by top */
  uint64_t *n_older; /* by group: tops with an older holder */
  link *links;
  size_t n_links, capacity;
  lh_map link_of; /* from, to -> index */
} joint;

static void note(uint32_t *list, int most, uint32_t place) {
  for (int i = 0; i < most; i++) {
    if (list[i] == place) return;
    if (list[i] != LH_NO_NUMBER) continue;
    list[i] = place;
    return;
  }
}

/* ==== Holders ======================================================================== */

static bool is_other_top(const lh_grouping *g, lh_id holder, lh_id target) {
  return lh_is_top(g, target) && g->top[holder] != target;
}

static bool holds_tops(const lh_grouping *g, lh_id id, uint32_t e, uint32_t end) {
  const lh_snapshot *c = g->c;
  while (e < end && !is_other_top(g, id, c->edge[e])) e++;
  return e < end && lh_is_reachable(c, id) && !lh_is_own(c, id);
}

bool lh_find_holders(lh_grouping *g) {
  size_t capacity = 0;
  uint32_t first = g->c->first_edge[1], end;
  for (lh_id id = 1; id <= g->c->n; id++, first = end) {
    end = g->c->first_edge[id + 1];
    if (first == end || !holds_tops(g, id, first, end)) continue;
    if (!lh_grow(&g->holders, g->n_holders, &capacity, sizeof *g->holders)) return false;
    g->holders[g->n_holders++] = id;
  }
  return true;
}

uint32_t lh_state_behind(lh_folds *folds, lh_id id, uint32_t e) {
  const lh_snapshot *c = folds->folder.snapshot;
  lh_edge edge = {.source = id, .target = c->edge[e], .kind = LH_EDGE_VALUE};
  bool has_number = lh_label_kind(c->label[e]) == LH_EDGE_VALUE &&
                    !(c->label[e] & (LH_LABEL_KEYED | LH_LABEL_ODD)) && id != c->classes->loaded;
  if (c->parent_edge[edge.target] == e) return lh_spot_at(folds, edge.target)->state;
  edge.name = edge.holder = LH_NO_OBJECT;
  edge.key.kind = LH_VALUE_INTEGER;
  if (!has_number) edge = lh_edge_at(c, id, e);
  return lh_fold_edge(&folds->folder, lh_spot_at(folds, id)->state, &edge);
}

/* The same; the keys on the paths that name objects are met already. */
static uint32_t meet_behind(lh_grouping *g, lh_id id, uint32_t e) {
  lh_folds *folds = g->places.folds;
  uint32_t state = lh_state_behind(folds, id, e), from = lh_spot_at(folds, id)->state;
  if (state == LH_NO_NUMBER || g->c->parent_edge[g->c->edge[e]] == e) return state;
  bool ok = lh_note_key(&g->places.seen_keys, &folds->folder, from, state, e);
  return ok ? state : LH_NO_NUMBER;
}

static bool note_older(joint *j, lh_id id) {
  lh_grouping *g = j->g;
  const lh_snapshot *c = g->c;
  for (uint32_t e = c->first_edge[id]; e < c->first_edge[id + 1]; e++) {
    lh_id target = c->edge[e];
    if (c->label[e] & LH_LABEL_ASIDE || !is_other_top(g, id, target)) continue;
    uint32_t state = meet_behind(g, id, e);
    if (state == LH_NO_NUMBER) return false;
    bonds *b = &j->bonds[j->ordinal[target]];
    b->has_older = true;
    note(b->holders, MOST_HOLDERS, (uint32_t)g->n_groups + state);
  }
  return true;
}

static void note_new(joint *j, lh_id id) {
  lh_grouping *g = j->g;
  const lh_snapshot *c = g->c;
  lh_id top = g->top[id];
  uint32_t place = lh_place_of(&g->places, top);
  for (uint32_t e = c->first_edge[id]; e < c->first_edge[id + 1]; e++) {
    lh_id target = c->edge[e];
    if (!is_other_top(g, id, target)) continue;
    note(j->bonds[j->ordinal[target]].holders, MOST_HOLDERS, place);
    note(j->bonds[j->ordinal[top]].led_to, MOST_LED_TO, lh_place_of(&g->places, target));
  }
}

static bool find_bonds(joint *j) {
  lh_grouping *g = j->g;
  memset(j->bonds, 0xFF, g->n_tops * sizeof *j->bonds);
  for (size_t i = 0; i < g->n_tops; i++) {
    j->ordinal[g->tops[i]] = (uint32_t)i;
    j->bonds[i].has_older = false;
  }
  for (size_t i = 0; i < g->n_holders; i++) {
    lh_id id = g->holders[i];
    if (g->top[id] != LH_ROOT)
      note_new(j, id);
    else if (!note_older(j, id))
      return false;
  }
  return true;
}

/* ==== Which groups are one =========================================================== */

static link *link_between(joint *j, uint32_t from, uint32_t to) {
  uint32_t index = lh_map_number(&j->link_of, (uint64_t)from << 32 | to);
  if (index == LH_NO_NUMBER || !lh_grow(&j->links, j->n_links, &j->capacity, sizeof *j->links))
    return NULL;
  if (index == j->n_links) j->links[j->n_links++] = (link){from, to, 0, 0};
  return &j->links[index];
}

static bool count_links(joint *j) {
  lh_grouping *g = j->g;
  for (size_t i = 0; i < g->n_tops; i++) {
    const bonds *b = &j->bonds[i];
    uint32_t place = lh_place_of(&g->places, g->tops[i]);
    j->n_older[place] += b->has_older;
    for (int k = 0; k < MOST_LED_TO && b->led_to[k] != LH_NO_NUMBER; k++) {
      link *l = link_between(j, place, b->led_to[k]);
      if (!l) return false;
      l->sources++;
    }
    for (int k = 0; k < MOST_HOLDERS && b->holders[k] != LH_NO_NUMBER; k++) {
      link *l = link_between(j, b->holders[k], place);
      if (!l) return false;
      l->targets++;
    }
  }
  return true;
}

static bool is_older_held(const joint *j, uint32_t place) {
  return 2 * j->n_older[place] > j->g->n_tops_at[place];
}

/* Three quarters of its tops lead to half or more of the other's, and those are half as many or
** more. If both retain the same, the earlier one goes into the later one. */
static bool goes_into(const joint *j, const link *l) {
  const lh_grouping *g = j->g;
  if (l->from >= g->n_groups) return false;
  uint64_t from = g->n_tops_at[l->from], to = g->n_tops_at[l->to];
  uint64_t own = g->groups[l->from].retained_bytes, shared = g->groups[l->to].retained_bytes;
  if (is_older_held(j, l->to)) own *= CLEARLY_MORE;
  return l->from != l->to && from > 0 && 4 * l->sources >= 3 * from && 2 * l->targets >= to &&
         2 * to >= from && (shared > own || (shared == own && l->to > l->from));
}

/* True if the objects of a place are linked by a repeated step, such as .next*. */
static bool is_chain(const lh_grouping *g, uint32_t place) {
  uint32_t at = lh_folded_at(&g->places, &g->places.list[place]);
  return lh_is_starred(lh_last_step(lh_tree_of(&g->places), at));
}

static bool is_one_list(const joint *j, const link *l) {
  const lh_grouping *g = j->g;
  const lh_place *list = g->places.list;
  return l->from < l->to && l->to < g->n_groups && l->sources > 0 &&
         list[l->from].class_index == list[l->to].class_index && is_chain(g, l->from) &&
         is_chain(g, l->to) &&
         lh_map_get(&j->link_of, (uint64_t)l->to << 32 | l->from) != LH_NO_NUMBER;
}

uint32_t lh_length_of_place(const lh_place_tree *tree, uint32_t place) {
  enum { ANY_KEY = 1000 };
  uint32_t length = 0;
  for (; place != LH_NO_PLACE; place = lh_place_before(tree, place))
    length += lh_last_step(tree, place)->has_any_key ? ANY_KEY : 1;
  return length;
}

static uint32_t length_of(const lh_grouping *g, uint32_t place) {
  return lh_length_of_place(lh_tree_of(&g->places),
                            lh_folded_at(&g->places, &g->places.list[place]));
}

static bool is_head(const lh_grouping *g, uint32_t place, uint32_t other) {
  uint32_t own = length_of(g, place), others = length_of(g, other);
  if (own != others) return own < others;
  return strcmp(g->groups[place].held_by, g->groups[other].held_by) < 0;
}

static uint32_t last_of(const uint32_t *into, uint32_t group) {
  while (into[group] != group) group = into[group];
  return group;
}

/* Parts of a list that is linked both ways, and held at several elements, are one group. */
static void join_lists(joint *j) {
  lh_grouping *g = j->g;
  for (size_t i = 0; i < j->n_links; i++) {
    if (!is_one_list(j, &j->links[i])) continue;
    uint32_t a = last_of(g->alike, j->links[i].from), b = last_of(g->alike, j->links[i].to);
    if (a == b || g->into[a] != a || g->into[b] != b) continue;
    uint32_t head = is_head(g, a, b) ? a : b, rest = head == a ? b : a;
    g->into[rest] = g->alike[rest] = head;
  }
  for (uint32_t i = 0; i < g->n_groups; i++) g->alike[i] = last_of(g->alike, i);
}

/* Records at one place that share objects are what hangs there, and what they share is in them: the
** group of these goes into that of the records. Of closures what they share says more. */
static bool keep_records(joint *j) {
  lh_grouping *g = j->g;
  uint32_t *joiner = lh_alloc(g->n_groups, sizeof *joiner);
  bool *has_several = lh_alloc_zeroed(g->n_groups, sizeof *has_several);
  bool ok = joiner && has_several;
  for (uint32_t i = 0; ok && i < g->n_groups; i++) joiner[i] = LH_NO_NUMBER;
  for (uint32_t i = 0; ok && i < g->n_groups; i++) {
    uint32_t to = g->into[i];
    if (to == i) continue;
    has_several[to] |= joiner[to] != LH_NO_NUMBER;
    joiner[to] = i;
  }
  for (uint32_t i = 0; ok && i < g->n_groups; i++) {
    if (g->into[i] != i || joiner[i] == LH_NO_NUMBER || has_several[i] || is_older_held(j, i))
      continue;
    uint32_t class_index = g->places.list[joiner[i]].class_index;
    if (class_index == UINT32_MAX || lh_class_at(g->c, class_index)->type != LH_TYPE_TABLE)
      continue;
    g->into[joiner[i]] = joiner[i];
    g->into[i] = joiner[i];
  }
  LH_FREE_ALL(joiner, has_several);
  return ok;
}

/* Each group goes into the one where most of its tops lead. That one retains more, so there is no
** cycle. The last group of a chain counts all. */
static bool join_groups(joint *j) {
  lh_grouping *g = j->g;
  uint64_t *sources = lh_alloc_zeroed(g->n_groups, sizeof *sources);
  if (!sources) return false;
  for (size_t i = 0; i < j->n_links; i++) {
    const link *l = &j->links[i];
    if (!goes_into(j, l) || l->sources <= sources[l->from]) continue;
    sources[l->from] = l->sources;
    g->into[l->from] = l->to;
  }
  lh_free(sources);
  if (!keep_records(j)) return false;
  join_lists(j);
  for (uint32_t i = 0; i < g->n_groups; i++) g->into[i] = last_of(g->into, i);
  return true;
}

/* ==== The holders' texts ============================================================= */

typedef struct holder {
  uint32_t group;
  uint64_t tops;
  const char *text;
  uint32_t at;
} holder;

static int compare_holders(const void *left, const void *right) {
  const holder *a = left, *b = right;
  return LH_LESS(a->group, b->group) ?: LH_MORE(a->tops, b->tops) ?: strcmp(a->text, b->text);
}

static bool is_own_place(lh_place_tree *tree, uint32_t own, uint32_t at) {
  return own == at || lh_place_of_both(tree, own, at) == own;
}

/* Sets the place and text of a holder. False: out of memory. Text NULL: texts->full. */
static bool set_holder(lh_grouping *g, const link *l, holder *out) {
  lh_place_tree *tree = lh_tree_of(&g->places);
  const lh_diff_group *own = &g->groups[l->to];
  lh_text text = {0};
  *out = (holder){.group = l->to, .tops = l->targets, .at = own->held_at, .text = own->held_by};
  if (l->from < g->n_groups) {
    out->at = g->groups[l->from].held_at;
    out->text = g->groups[l->from].held_by;
    return true;
  }
  uint32_t at = lh_place_with_keys(&g->places.folds->folder, &g->places.seen_keys,
                                   l->from - (uint32_t)g->n_groups);
  if (at == LH_NO_NUMBER) return false;
  if (is_own_place(tree, own->held_at, at)) return true;
  lh_place_text(tree, at, &text);
  lh_text_id id = lh_strings_take(&g->places.texts, &text);
  out->at = at;
  out->text = id == LH_NO_NUMBER ? NULL : g->places.texts.texts[id];
  return out->text || g->places.texts.full;
}

/* True for an older holder of half of the tops or more, or a group that joined. */
static bool is_listed(const joint *j, const link *l) {
  const lh_grouping *g = j->g;
  bool is_older = l->from >= g->n_groups;
  bool is_joined = !is_older && g->into[l->from] == l->to && l->from != l->to;
  return g->into[l->to] == l->to && 2 * l->targets >= g->n_tops_at[l->to] &&
         (is_older || is_joined);
}

/* A group that others joined is held by their holders; any other one by its path and other holders.
** A holder inside an earlier one is dropped. */
static void set_holders(joint *j, uint32_t group, holder *list, size_t n) {
  lh_grouping *g = j->g;
  const lh_place_tree *tree = lh_tree_of(&g->places);
  lh_diff_group *told = &g->groups[group];
  if (!is_older_held(j, group)) {
    told->held_by = list[0].text;
    told->held_at = list[0].at;
  }
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (!lh_place_is_inside(tree, list[i].at, told->held_at) &&
        (kept == 0 || !lh_place_is_inside(tree, list[i].at, list[kept - 1].at)))
      list[kept++] = list[i];
  for (size_t i = 0; i < kept && i < LH_ALSO_AT; i++) told->also_at[i] = list[i].at;
  if (kept > 0)
    told->also_held_by = lh_list_text(&g->places.texts, &list->text, sizeof *list, kept, " and ");
}

static bool list_holders(joint *j) {
  lh_grouping *g = j->g;
  holder *list = lh_alloc(j->n_links, sizeof *list);
  size_t n = 0;
  if (!list) return false;
  bool ok = true;
  for (size_t i = 0; ok && i < j->n_links; i++) {
    const link *l = &j->links[i];
    if (!is_listed(j, l)) continue;
    ok = set_holder(g, l, &list[n]);
    if (ok && list[n].text) n++;
  }
  if (n > 1) qsort(list, n, sizeof *list, compare_holders);
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i; end < n && list[end].group == list[i].group;) end++;
    set_holders(j, list[i].group, list + i, end - i);
  }
  lh_free(list);
  return ok;
}

/* ==================================================================================== */

bool lh_join_holders(lh_grouping *g) {
  joint j = {.g = g};
  j.ordinal = lh_alloc((size_t)g->c->n + 1, sizeof *j.ordinal);
  j.bonds = lh_alloc(g->n_tops, sizeof *j.bonds);
  bool ok = j.ordinal && j.bonds && find_bonds(&j);
  j.n_older = ok ? lh_alloc_zeroed(g->n_groups, sizeof *j.n_older) : NULL;
  ok = ok && j.n_older && count_links(&j) && join_groups(&j) && list_holders(&j);
  LH_FREE_ALL(j.ordinal, j.bonds, j.n_older, j.links);
  lh_map_free(&j.link_of);
  return ok;
}
