/*
** trees.c - the data kept with a snapshot for pictures: lists, groups, modules, sums of an
** interval.
**
** Lists: a linked list or tree is one vertex, since a chain of a million elements would have a
** million levels. 100 bytes a list.
**
** Groups: objects of one class or place that a group dominates directly are a group below it. Its
** bytes are its objects' own and those of the groups below, so the heap adds up. Dominators lie on
** the shortest path, so a place's path continues that of the place above. An object of its
** dominator's class or place joins its group; so do elements of a list, and an upvalue that alone
** holds its value joins the value's group. Beyond MAX_DEPTH levels or too many groups (hostile
** files) all objects stay in the group above. 2.2 million objects: 0.06 s by class, 0.4 s by place
** with folding all paths. Ten million: 0.3 and 1.9 s.
**
** Modules and globals are below the root, each with the bytes that it dominates. The rest is shared
** by several, or held by none. In a program no module dominates another one, since _G and
** package.loaded hold both; in a file that says so the inner one is dropped: no byte counts twice.
**
** Sums: 8 bytes an object or group, one pass over the interval and up the tree. 2.2 million
** objects: 0.05 s.
*/
#include "tree.h"

/* ==== Linked lists ================================================================ */

static lh_linked *list_with(lh_lists *lists, const lh_snapshot *snapshot, lh_id top) {
  uint32_t *at = lh_map_at(&lists->by_top, top);
  if (!at) return NULL;
  if (*at != LH_NO_NUMBER) return &lists->list[*at];
  if (!lh_grow(&lists->list, lists->n, &lists->capacity, sizeof *lists->list)) return NULL;
  *at = (uint32_t)lists->n;
  lh_linked *linked = &lists->list[lists->n++];
  *linked = (lh_linked){
      .top = top, .last = top, .objects = 1, .shallow_bytes = lh_shallow_bytes(snapshot, top)};
  lh_add_position(snapshot, top, &linked->positions, &linked->n_positions);
  return linked;
}

/* Preorder: each element of a chain is below the one before; else it is a tree. */
static bool count_elements(lh_lists *lists, const lh_tree *tree) {
  const lh_snapshot *snapshot = tree->snapshot;
  for (uint32_t p = 1; p < tree->n; p++) {
    lh_id id = tree->order[p], top = lists->top[id];
    if (top == id) continue;
    lh_linked *linked = list_with(lists, snapshot, top);
    if (!linked) return false;
    if (!lh_dominates(tree, linked->last, id)) linked->branches = true;
    linked->last = id;
    linked->shallow_bytes += lh_shallow_bytes(snapshot, id);
    if (lh_class_of(snapshot, id) != lh_class_of(snapshot, top)) continue;
    linked->objects++;
    lh_add_position(snapshot, id, &linked->positions, &linked->n_positions);
  }
  return true;
}

static bool make_lists(lh_lists *lists, lh_snapshot *snapshot) {
  *lists = (lh_lists){.top = lh_kept_clusters(snapshot)};
  const lh_tree *tree = lh_dominator_tree(snapshot);
  return lists->top && tree && count_elements(lists, tree);
}

static void free_lists(lh_lists *lists) {
  for (size_t i = 0; i < lists->n; i++) lh_list_children_free(lists->list[i].children);
  lh_free(lists->list);
  lh_map_free(&lists->by_top);
}

lh_linked *lh_list_at(const lh_lists *lists, lh_id id) {
  uint32_t at = lh_map_get(&lists->by_top, id);
  return at == LH_NO_NUMBER ? NULL : &lists->list[at];
}

/* ==== Groups ====================================================================== */

enum { MAX_DEPTH = 200 };

/* A group takes 150 bytes. The limit of groups grows with the size of the file. */
enum { FILE_BYTES = 16, LEAST_GROUPS = 1 << 16 };

typedef struct grouping {
  lh_snapshot *snapshot;
  const lh_lists *lists;
  const lh_tree *dominators;
  lh_group_tree *tree;
  size_t most;  /* limit of groups */
  lh_map alike; /* fingerprint -> last number given to it */
  lh_map below; /* (group, class or place) -> the group below */
} grouping;

/* An upvalue stands for its value. */
static lh_id stands_for(const grouping *g, lh_id id) {
  const lh_tree *tree = g->dominators;
  uint32_t child = lh_first_child(tree, id), end = lh_end_of(tree, id);
  if (lh_type_of(g->snapshot, id) != LH_TYPE_UPVALUE) return id;
  return child < end && tree->end[child] == end ? tree->order[child] : id;
}

static uint32_t what_is(const grouping *g, lh_id id) {
  return g->tree->of_places ? lh_place_of(&g->tree->places, id) : lh_class_of(g->snapshot, id);
}

/* Equal in all processes: excludes lines and addresses. */
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

/* Groups whose names differ only in excluded parts are numbered. The first has the plain
** fingerprint, the others include their number; g->alike has the last one. */
static bool add_fingerprint(grouping *g, uint32_t index) {
  lh_tree_group *group = &g->tree->list[index];
  uint64_t words[2] = {hash_of(g, group->what, g->tree->list[group->above].fingerprint), 0};
  uint32_t *last = lh_map_at(&g->alike, words[0]), *known = NULL;
  if (!last) return false;
  do {
    words[1] = ++*last; /* LH_NO_NUMBER + 1 is 0 */
    group->fingerprint = words[1] > 0 ? lh_hash(words, sizeof words, 0) : words[0];
    known = lh_map_at(&g->tree->by_fingerprint, group->fingerprint);
  } while (known && *known != LH_NO_NUMBER);
  if (known) *known = index;
  return known;
}

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

static bool add_to_group(grouping *g, lh_id id) {
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
  for (uint32_t i = 1; ok && i < n; i++) ok = add_to_group(g, order[i]);
  lh_free(order);
  return ok;
}

/* Computes bytes and children. A group's index is greater than that of the group above it. */
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

/* Only objects that may begin a group: first elements, and objects outside of lists. */
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

static void settle_places(lh_places *places) {
  LH_FREE_ALL(places->seen_keys.list, places->of_spot);
  lh_map_free(&places->by_at);
  *places = (lh_places){.texts = places->texts, .list = places->list, .n = places->n};
}

static void free_groups(lh_group_tree *tree) {
  if (!tree) return;
  lh_places_free(&tree->places);
  lh_map_free(&tree->by_fingerprint);
  LH_FREE_ALL(tree->list, tree->of, tree->first, tree->below, tree);
}

static lh_group_tree *make_groups(lh_snapshot *snapshot, const lh_lists *lists, bool of_places) {
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
  free_groups(t);
  return NULL;
}

/* ==== Modules ===================================================================== */

/* Removes modules that another module dominates. False: out of memory. */
static bool drop_inner(lh_modules *modules, lh_snapshot *snapshot) {
  const lh_tree *tree = lh_dominator_tree(snapshot);
  uint8_t *inside = lh_alloc_zeroed((size_t)snapshot->n + 1, 1); /* 1: a module; 2: below one */
  size_t n = 0;
  bool ok = inside && tree;
  for (size_t i = 0; ok && i < modules->n; i++) inside[modules->list[i].id] = 1;
  for (uint32_t i = 1; ok && i < tree->n; i++)
    if (inside[snapshot->idom[tree->order[i]]]) inside[tree->order[i]] = 2;
  for (size_t i = 0; ok && i < modules->n; i++) {
    lh_module module = modules->list[i];
    if (inside[module.id] == 1)
      modules->list[n++] = module;
    else
      lh_free((char *)module.name);
  }
  if (ok) modules->n = n;
  lh_free(inside);
  return ok;
}

int lh_trees_find_modules(lh_trees *trees, lh_snapshot *snapshot, lh_error *error) {
  lh_modules *modules = &trees->modules;
  if (trees->has_modules) return LH_OK;
  int code = lh_list_modules(snapshot, modules, error);
  if (code != LH_OK) return code;
  bool ok = drop_inner(modules, snapshot);
  for (uint32_t i = 0; ok && i < modules->n; i++) {
    uint32_t *at = lh_map_at(&trees->module_of, modules->list[i].id);
    ok = at != NULL;
    if (ok) *at = i;
  }
  trees->has_modules = ok;
  if (ok) return LH_OK;
  lh_modules_free(modules);
  lh_map_free(&trees->module_of);
  return lh_fail_memory(error, "finding modules");
}

/* ==== Sums of an interval ========================================================= */

static void free_sums(lh_sums *sums) {
  LH_FREE_ALL(sums->of_object, sums->of_group[0], sums->of_group[1]);
  *sums = (lh_sums){0};
}

static void add_own(uint64_t *bytes, const lh_snapshot *snapshot, const lh_group_tree *groups,
                    lh_interval interval) {
  lh_id_range ranges[2];
  lh_objects_in(snapshot, interval, ranges);
  for (unsigned i = 0; i < 2; i++)
    for (lh_id id = ranges[i].first; id < ranges[i].end; id++)
      if (lh_is_reachable(snapshot, id))
        bytes[groups ? groups->of[id] : id] += lh_shallow_bytes(snapshot, id);
}

const uint64_t *lh_sums_of(lh_sums *sums, lh_snapshot *snapshot, const lh_group_tree *groups,
                           lh_interval interval) {
  if (sums->interval.since != interval.since || sums->interval.until != interval.until)
    free_sums(sums);
  sums->interval = interval;
  uint64_t **kept = groups ? &sums->of_group[groups->of_places] : &sums->of_object;
  if (*kept != NULL) return *kept;
  const lh_tree *dominators = lh_dominator_tree(snapshot);
  uint64_t *bytes = lh_alloc_zeroed(groups ? groups->n : (size_t)snapshot->n + 1, sizeof *bytes);
  if (!dominators || !bytes) {
    lh_free(bytes);
    return NULL;
  }
  add_own(bytes, snapshot, groups, interval);
  for (size_t i = groups ? groups->n : 0; i-- > 1;) bytes[groups->list[i].above] += bytes[i];
  if (!groups) lh_sum_retained(dominators->order, dominators->n, snapshot->idom, bytes);
  return *kept = bytes;
}

/* ==== All trees =================================================================== */

static void free_trees(lh_trees *trees) {
  free_lists(&trees->lists);
  for (unsigned i = 0; i < 2; i++) free_groups(trees->groups[i]);
  if (trees->has_modules) lh_modules_free(&trees->modules);
  lh_map_free(&trees->module_of);
  free_sums(&trees->in);
  free_sums(&trees->since);
  lh_free(trees);
}

lh_trees *lh_trees_of(lh_snapshot *snapshot) {
  if (snapshot->trees) return snapshot->trees;
  lh_trees *trees = lh_alloc_zeroed(1, sizeof *trees);
  if (!trees) return NULL;
  if (!make_lists(&trees->lists, snapshot)) {
    free_trees(trees);
    return NULL;
  }
  snapshot->free_trees = free_trees;
  return snapshot->trees = trees;
}

const lh_group_tree *lh_groups_of(lh_snapshot *snapshot, bool of_places) {
  lh_trees *trees = lh_trees_of(snapshot);
  if (!trees) return NULL;
  lh_group_tree **kept = &trees->groups[of_places];
  if (!*kept) *kept = make_groups(snapshot, &trees->lists, of_places);
  return *kept;
}
