/*
** tree_groups.c - the tree of dominators with its objects in groups: of what the objects of a
** group dominate directly, those of one class, or of one place, are a group below it.
**
** A group retains what its objects retain, and the bytes of a group are its objects' own and those
** of the groups below it: so the whole heap adds up, whatever the depth. Since all dominators of
** an object lie on its shortest path, the path of a place continues the one of the place above it.
**
** Each object is met after its dominator, whose group is known then. What is of the class or place
** of its dominator stays in that group, as do the elements of a linked list, and an upvalue is in
** the group of what is in it, if nothing else holds that. Behind MAX_DEPTH levels, and where a
** file was made for having too many groups, all stays in the group above.
**
** 2.2 million objects: by class 0.06 s, by place 0.4 s with folding all paths, where that was not
** done yet. Ten million: 0.3 and 1.9 s.
*/
#include "tree.h"

#include <string.h>

enum { MAX_DEPTH = 200 };

/* A group takes 150 bytes, and so many bytes of the file allow for one. */
enum { FILE_BYTES = 16, LEAST_GROUPS = 1 << 16 };

typedef struct grouping {
  lh_snapshot *snapshot;
  const lh_lists *lists;
  const lh_tree *dominators;
  lh_group_tree *tree;
  size_t most;  /* groups there may be */
  lh_map alike; /* fingerprint -> the number of the last that would have it */
  lh_map below; /* group, class or place -> the group below */
} grouping;

/* {=== What a group is ================================================================ */

/* An upvalue stands for what is in it. */
static lh_id stands_for(const grouping *g, lh_id id) {
  const lh_tree *tree = g->dominators;
  uint32_t child = lh_first_child(tree, id), end = lh_end_of(tree, id);
  if (lh_type_of(g->snapshot, id) != LH_TYPE_UPVALUE) return id;
  return child < end && tree->end[child] == end ? tree->order[child] : id;
}

static uint32_t what_is(const grouping *g, lh_id id) {
  return g->tree->of_places ? lh_place_of(&g->tree->places, id) : lh_class_of(g->snapshot, id);
}

/* So that it is the same in any process: without lines and addresses. */
static uint64_t hash_of(const grouping *g, uint32_t what, uint64_t above) {
  const lh_group_tree *tree = g->tree;
  const lh_place *place = tree->of_places ? &tree->places.list[what] : NULL;
  uint32_t class_index = place ? place->class_index : what;
  uint64_t words[2] = {above, place ? lh_places_of(g->snapshot)->list[place->at].identity : 0};
  if (class_index == UINT32_MAX) return lh_hash(words, sizeof words, 0);
  const lh_class_entry *class = &g->snapshot->classes->list[class_index];
  const char *name = g->snapshot->classes->texts.texts[class->stable];
  words[0] = lh_hash(words, sizeof words, class->visible.type);
  return place ? words[0] : lh_hash(name, strlen(name), words[0]);
}

/* Those whose names differ only in what a fingerprint leaves out are told apart by their order: the
** first has it as it is, the others with their number, of which the map knows the last. */
static bool add_fingerprint(grouping *g, uint32_t index) {
  lh_tree_group *group = &g->tree->list[index];
  uint64_t words[2] = {hash_of(g, group->what, g->tree->list[group->above].fingerprint), 0};
  uint32_t *last = lh_map_at(&g->alike, words[0]), *known = NULL;
  if (!last) return false;
  do {
    words[1] = ++*last; /* LH_NO_NUMBER was before the first */
    group->fingerprint = words[1] > 0 ? lh_hash(words, sizeof words, 0) : words[0];
    known = lh_map_at(&g->tree->by_fingerprint, group->fingerprint);
  } while (known && *known != LH_NO_NUMBER);
  if (known) *known = index;
  return known;
}

/* }=================================================================================== */

/* {=== Groups ========================================================================= */

static uint32_t add_group(grouping *g, uint32_t above, uint32_t what) {
  lh_group_tree *t = g->tree;
  if (!lh_grow(&t->list, t->n, &t->capacity, sizeof *t->list)) return LH_NO_NUMBER;
  t->list[t->n] = (lh_tree_group){
      .above = above, .depth = t->list[above].depth + 1, .what = what, .example = LH_NO_OBJECT};
  return add_fingerprint(g, (uint32_t)t->n) ? (uint32_t)t->n++ : LH_NO_NUMBER;
}

static uint32_t group_below(grouping *g, uint32_t above, uint32_t what) {
  const lh_tree_group *group = &g->tree->list[above];
  if (above != 0 && (group->what == what || group->depth == MAX_DEPTH)) return above;
  if (g->tree->n >= g->most) return above;
  uint32_t *below = lh_map_at(&g->below, (uint64_t)above << 32 | what);
  if (below && *below == LH_NO_NUMBER) *below = add_group(g, above, what);
  return below ? *below : LH_NO_NUMBER;
}

static bool add_object(grouping *g, lh_id id) {
  lh_group_tree *t = g->tree;
  const lh_snapshot *s = g->snapshot;
  lh_id top = g->lists->top[id], told = top == id ? stands_for(g, id) : top;
  uint32_t at = top == id ? group_below(g, t->of[s->idom[id]], what_is(g, told)) : t->of[top];
  if (at == LH_NO_NUMBER) return false;
  lh_tree_group *group = &t->list[at];
  t->of[id] = at;
  group->shallow_bytes += lh_shallow_bytes(s, id);
  if (told != id && lh_class_of(s, id) != lh_class_of(s, told)) return true;
  group->objects++;
  lh_add_position(s, id, &group->positions, &group->n_positions);
  if (group->example == LH_NO_OBJECT || s->retained[id] > s->retained[group->example])
    group->example = id;
  return true;
}

/* All reachable objects, each after its dominator. */
static bool add_objects(grouping *g) {
  uint32_t n;
  lh_id *order = lh_sort_by_distance(g->snapshot->n, g->snapshot->distance, &n);
  bool ok = order != NULL;
  for (uint32_t i = 1; ok && i < n; i++) ok = add_object(g, order[i]);
  lh_free(order);
  return ok;
}

/* A group has a greater index than the one above it. */
static bool join_groups(lh_group_tree *t) {
  uint32_t *first = t->first = lh_alloc_zeroed(t->n + 2, sizeof *first);
  t->below = lh_alloc(t->n, sizeof *t->below);
  if (!first || !t->below) return false;
  for (size_t i = 0; i < t->n; i++) t->list[i].bytes = t->list[i].shallow_bytes;
  for (size_t i = t->n; i-- > 1;) t->list[t->list[i].above].bytes += t->list[i].bytes;
  for (size_t i = 1; i < t->n; i++) first[t->list[i].above + 2]++;
  for (size_t i = 0; i <= t->n; i++) first[i + 1] += first[i];
  for (uint32_t i = 1; i < t->n; i++) t->below[first[t->list[i].above + 1]++] = i;
  return true;
}

/* }=================================================================================== */

/* Of these places alone are looked at: what begins a group, and what an upvalue stands for. */
static bool make_places(grouping *g) {
  const lh_snapshot *s = g->snapshot;
  lh_places *places = &g->tree->places;
  lh_id *ids = lh_alloc(s->n, sizeof *ids);
  size_t n = 0;
  for (lh_id id = 1; ids && id <= s->n; id++)
    if (lh_is_reachable(s, id) && g->lists->top[id] == id) ids[n++] = id;
  bool ok = ids && lh_places_make(places, s, ids, n, n) && lh_join_places(places);
  lh_free(ids);
  return ok;
}

/* Leaves the list of places, and their texts. */
static void settle_places(lh_places *places) {
  lh_free(places->met.list);
  lh_free(places->of_spot);
  lh_map_free(&places->by_at);
  *places = (lh_places){.texts = places->texts, .list = places->list, .n = places->n};
}

lh_group_tree *lh_group_tree_make(lh_snapshot *snapshot, const lh_lists *lists, bool of_places) {
  lh_group_tree *t = lh_alloc_zeroed(1, sizeof *t);
  if (!t) return NULL;
  t->of_places = of_places;
  grouping g = {.snapshot = snapshot, .lists = lists, .tree = t};
  g.most = snapshot->size / FILE_BYTES + LEAST_GROUPS;
  g.dominators = lh_dominator_tree(snapshot);
  t->of = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *t->of);
  bool ok = g.dominators && t->of && lh_grow(&t->list, 0, &t->capacity, sizeof *t->list);
  if (ok) t->list[t->n++] = (lh_tree_group){.what = UINT32_MAX, .example = LH_ROOT};
  ok = ok && (!of_places || make_places(&g)) && add_objects(&g) && join_groups(t);
  lh_map_free(&g.below);
  lh_map_free(&g.alike);
  if (ok) {
    settle_places(&t->places);
    return t;
  }
  lh_group_tree_free(t);
  return NULL;
}

void lh_group_tree_free(lh_group_tree *tree) {
  if (!tree) return;
  lh_places_free(&tree->places);
  lh_map_free(&tree->by_fingerprint);
  lh_free(tree->list);
  lh_free(tree->of);
  lh_free(tree->first);
  lh_free(tree->below);
  lh_free(tree);
}
