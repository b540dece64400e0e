/*
** groups.c - the new objects that stay, by class and by what holds them.
**
** What another new object retains goes under that one: rows are for the new objects that have no
** new dominator. Their subtrees are disjoint, so the rows' retained sizes add up with no byte
** twice. What is retained by a new object of its own class counts with it: of a list of a thousand
** elements the first one retains the others, and it is a thousand elements that stay.
**
** Keys of _G, package.loaded and modules mean something, so each is a path of its own; but a
** thousand globals _G.request_1 ... are one leak. Where 8 groups or more of one class differ in
** the numbers of their paths only, they are one group, _G.request_*.
*/
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "name/fold.h"

#define UNKNOWN UINT32_MAX

/* The paths may take so many times the bytes of the file, as the names of its classes may; what is
** held by one more is told as held by "...". Only a file that was made for that has so many. */
enum { MOST_PATHS = 16 };

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

/* How a group is told. */
typedef struct told {
  lh_text_id text;
  lh_text_id folded;                      /* with * for numbers; LH_NO_NUMBER: has none */
  lh_text_id class_name;                  /* the same, of a module */
  char fingerprint[LH_FINGERPRINT_BYTES]; /* of that */
} told;

typedef struct grouping {
  lh_snapshot *c;
  lh_folder folder;
  uint32_t *state; /* of each object on a path; then the group of each top */
  lh_map by_state; /* class, state -> group */
  lh_map by_text;  /* class, text -> group */
  lh_strings *texts;
  lh_text_id untold; /* "..." */
  lh_diff_group *groups;
  told *told; /* of each group */
  size_t n, capacity, told_capacity;
} grouping;

static bool visit(const lh_edge *edge, bool any_key, void *payload) {
  grouping *g = payload;
  uint32_t state = lh_fold_step(&g->folder, g->state[edge->source], edge, any_key);
  g->state[edge->target] = state;
  return state != LH_NO_NUMBER;
}

static void take_least(char *fingerprint, const char *other) {
  if (*other && (!*fingerprint || strcmp(other, fingerprint) < 0))
    memcpy(fingerprint, other, LH_FINGERPRINT_BYTES);
}

/* Where states with different fingerprints have one text, it is the first in their order that
** counts: so it does not depend on the order of the objects. */
static bool set_fingerprint(const grouping *g, uint32_t index, uint32_t state, lh_id id) {
  lh_prints prints;
  if (!lh_fingerprints(&g->folder, state, lh_class_entry_of(g->c, id), &prints)) return false;
  take_least(g->groups[index].fingerprint, prints.exact);
  take_least(g->told[index].fingerprint, prints.folded);
  return true;
}

/* *id stays LH_NO_NUMBER if there is no room for more texts. False: out of memory. */
static bool add_told(grouping *g, lh_text *text, lh_text_id *id) {
  if (!text->failed) *id = lh_strings_add(g->texts, text->bytes, text->n);
  return *id != LH_NO_NUMBER || (!text->failed && g->texts->full);
}

/* What a group is called with * for numbers, if there are any. */
static bool add_folded(grouping *g, told *by, const lh_class *class) {
  lh_text path = {0}, module = {0};
  bool ok = true;
  by->folded = by->class_name = LH_NO_NUMBER;
  if (lh_fold_numbers(&path, g->texts->texts[by->text])) {
    ok = add_told(g, &path, &by->folded);
    if (ok && lh_fold_module(&module, class)) ok = add_told(g, &module, &by->class_name);
  }
  lh_text_free(&path);
  lh_text_free(&module);
  return ok;
}

/* The group of a class and a text. */
static uint32_t group_of_text(grouping *g, uint32_t class_index, uint32_t state) {
  lh_text text = {0};
  lh_fold_text(&g->folder, state, true, &text);
  lh_text_id id = text.failed ? LH_NO_NUMBER : lh_strings_add(g->texts, text.bytes, text.n);
  if (id == LH_NO_NUMBER && g->texts->full) id = g->untold;
  lh_text_free(&text);
  if (id == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t *index = lh_map_at(&g->by_text, (uint64_t)class_index << 32 | id);
  if (!index || *index != LH_NO_NUMBER) return index ? *index : LH_NO_NUMBER;
  if (!lh_grow(&g->groups, g->n, &g->capacity, sizeof *g->groups) ||
      !lh_grow(&g->told, g->n, &g->told_capacity, sizeof *g->told))
    return LH_NO_NUMBER;
  g->groups[g->n] = (lh_diff_group){.class_index = class_index};
  g->told[g->n] = (told){.text = id};
  if (!add_folded(g, &g->told[g->n], lh_class_at(g->c, class_index))) return LH_NO_NUMBER;
  *index = (uint32_t)g->n++;
  return *index;
}

static bool add_top(grouping *g, lh_id id) {
  uint32_t class_index = lh_class_of(g->c, id);
  uint64_t key = (uint64_t)class_index << 32 | g->state[id];
  uint32_t *slot = lh_map_at(&g->by_state, key);
  if (!slot) return false;
  uint32_t index = *slot;
  if (index == LH_NO_NUMBER) {
    *slot = index = group_of_text(g, class_index, g->state[id]);
    if (index == LH_NO_NUMBER || !set_fingerprint(g, index, g->state[id], id)) return false;
  }
  lh_diff_group *group = &g->groups[index];
  uint64_t retained = lh_retained_bytes(g->c, id);
  bool better = group->objects == 0 || retained > lh_retained_bytes(g->c, group->example);
  if (better) group->example = id;
  group->objects++;
  group->shallow_bytes += lh_shallow_bytes(g->c, id);
  group->retained_bytes += retained;
  g->state[id] = index;
  return true;
}

/* Counts new object `id` where its topmost new dominator is. */
static void count_new(grouping *g, lh_id top, lh_id id) {
  lh_diff_group *group = &g->groups[g->state[top]];
  group->new_objects++;
  group->new_bytes += lh_shallow_bytes(g->c, id);
  if (id == top || lh_class_of(g->c, id) != group->class_index) return;
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

static void merge(const lh_snapshot *c, lh_diff_group *to, const lh_diff_group *from) {
  uint64_t most = lh_retained_bytes(c, to->example), other = lh_retained_bytes(c, from->example);
  if (other > most || (other == most && from->example < to->example)) {
    to->example = from->example;
    to->class_index = from->class_index;
  }
  to->objects += from->objects;
  to->shallow_bytes += from->shallow_bytes;
  to->retained_bytes += from->retained_bytes;
  to->new_objects += from->new_objects;
  to->new_bytes += from->new_bytes;
}

static uint64_t folded_key(const grouping *g, size_t i) {
  const told *by = &g->told[i];
  bool is_module = by->class_name != LH_NO_NUMBER;
  uint32_t class = is_module ? 1u << 31 | by->class_name : g->groups[i].class_index;
  return (uint64_t) class << 32 | by->folded;
}

static bool count_alike(const grouping *g, lh_map *n_alike) {
  for (size_t i = 0; i < g->n; i++) {
    if (g->told[i].folded == LH_NO_NUMBER) continue;
    uint32_t *count = lh_map_at(n_alike, folded_key(g, i));
    if (!count) return false;
    *count = *count == LH_NO_NUMBER ? 1 : *count + 1;
  }
  return true;
}

/* Groups of one class whose paths differ in their numbers only are one, if they are many. */
static bool merge_alike(grouping *g) {
  lh_map n_alike = {0}, merged = {0};
  size_t n = 0;
  bool ok = count_alike(g, &n_alike);
  for (size_t i = 0; ok && i < g->n; i++) {
    const told *by = &g->told[i];
    lh_diff_group group = g->groups[i];
    uint64_t key = folded_key(g, i);
    group.held_by = g->texts->texts[by->text];
    group.class_name = lh_class_at(g->c, group.class_index)->name;
    if (by->folded != LH_NO_NUMBER && lh_map_get(&n_alike, key) >= LH_MANY_NUMBERS) {
      uint32_t *to = lh_map_at(&merged, key);
      ok = to != NULL;
      if (!ok) break;
      if (*to != LH_NO_NUMBER) {
        merge(g->c, &g->groups[*to], &group);
        take_least(g->groups[*to].fingerprint, by->fingerprint);
        continue;
      }
      *to = (uint32_t)n;
      group.held_by = g->texts->texts[by->folded];
      if (by->class_name != LH_NO_NUMBER) group.class_name = g->texts->texts[by->class_name];
      memcpy(group.fingerprint, by->fingerprint, sizeof by->fingerprint);
    }
    g->groups[n++] = group;
  }
  if (ok) g->n = n;
  lh_map_free(&n_alike);
  lh_map_free(&merged);
  return ok;
}

/* Hands the groups to *diff. */
static void finish(grouping *g, lh_diff *diff) {
  diff->groups = g->groups;
  diff->n_groups = g->n;
  g->groups = NULL;
  if (diff->n_groups > 1) qsort(diff->groups, diff->n_groups, sizeof *diff->groups, compare_groups);
}

static bool make_groups(grouping *g, const lh_id *top, const lh_id *ids, size_t n_ids,
                        lh_diff *diff) {
  g->untold = lh_strings_add(g->texts, "...", 3);
  g->texts->most_bytes = MOST_PATHS * (uint64_t)g->c->size + (1u << 20);
  size_t n_tops = 0;
  lh_id *tops = lh_alloc(n_ids, sizeof *tops);
  bool ok = tops != NULL && g->untold != LH_NO_NUMBER;
  for (size_t i = 0; ok && i < n_ids; i++)
    if (top[ids[i]] == ids[i]) tops[n_tops++] = ids[i];
  ok = ok && lh_walk_paths(g->c, tops, n_tops, visit, g);
  for (size_t i = 0; ok && i < n_tops; i++) ok = add_top(g, tops[i]);
  for (size_t i = 0; ok && i < n_ids; i++) count_new(g, top[ids[i]], ids[i]);
  lh_free(tops);
  ok = ok && merge_alike(g);
  if (ok) finish(g, diff);
  return ok;
}

int lh_diff_groups(lh_snapshot *c, const uint8_t *new_ones, lh_whole_diff *whole, lh_error *error) {
  lh_diff *diff = &whole->visible;
  grouping g = {.c = c, .texts = &whole->paths};
  lh_id *top = NULL, *ids = NULL;
  size_t n_ids = 0;
  int code = lh_folder_init(&g.folder, c, error);
  if (code) return code;
  code = LH_EMEMORY;
  for (lh_id id = 1; id <= c->n; id++) {
    if (!new_ones[id]) continue;
    n_ids++;
    diff->shallow_bytes += lh_shallow_bytes(c, id);
  }
  diff->objects = n_ids;
  top = find_tops(c, new_ones);
  ids = lh_alloc(n_ids, sizeof *ids);
  g.state = lh_alloc_zeroed((size_t)c->n + 1, sizeof *g.state);
  if (!top || !ids || !g.state) goto out;
  n_ids = 0;
  for (lh_id id = 1; id <= c->n; id++)
    if (new_ones[id]) ids[n_ids++] = id;
  if (!make_groups(&g, top, ids, n_ids, diff)) goto out;
  code = n_ids ? lh_retained_together(c, ids, n_ids, &diff->retained_bytes, NULL, error) : 0;
out:
  lh_free(top);
  lh_free(ids);
  lh_free(g.state);
  lh_free(g.groups);
  lh_free(g.told);
  lh_map_free(&g.by_state);
  lh_map_free(&g.by_text);
  lh_folder_free(&g.folder);
  return code == LH_EMEMORY ? lh_fail_memory(error, "grouping the new objects") : code;
}
