/*
** tree.c - lh_find_tiles: the tree that is asked for, made if it is the first time, what of it was
** allocated in an interval, and what is directly below a vertex, the best of it first (tree.h tells
** the files).
**
** Bytes of an interval are summed up the tree: 8 bytes an object (of groups a group), and one pass
** over the objects in the interval and up the tree: 2.2 million objects take 0.05 s. The sums of
** the last interval are kept, as a page asks for those again and again.
**
** Linked lists and trees are one thing each in a picture: a chain of a million elements would be a
** million levels. 100 bytes for each list.
**
** The tree of objects may have another top: modules and globals directly below the root, each with
** what it alone keeps alive, which is what it dominates. What is left of the heap is shared by
** several of them, or held by none. No module of a program dominates another one, since _G and
** package.loaded hold both. Where a file says otherwise only the one that does is told: no byte is
** there twice.
**
** A table may have ten million objects below it, of which a picture shows some hundred: they are
** passed once, in the order of memory, and the best kept; nothing is sorted but these.
*/
#include "tree.h"

#include <string.h>

static void sums_free(lh_sums *sums) {
  lh_free(sums->of_object);
  lh_free(sums->of_group[0]);
  lh_free(sums->of_group[1]);
  *sums = (lh_sums){0};
}

/* Adds the own bytes of what is in the interval, by object or by group. */
static void add_own(uint64_t *bytes, const lh_snapshot *snapshot, const lh_group_tree *groups,
                    lh_interval interval) {
  lh_id_range ranges[2];
  lh_objects_in(snapshot, interval, ranges);
  for (unsigned i = 0; i < 2; i++)
    for (lh_id id = ranges[i].first; id < ranges[i].end; id++)
      if (lh_is_reachable(snapshot, id))
        bytes[groups ? groups->of[id] : id] += lh_shallow_bytes(snapshot, id);
}

static uint64_t *sum_objects(const lh_snapshot *snapshot, lh_interval interval) {
  uint32_t n;
  uint64_t *bytes = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *bytes);
  lh_id *order = bytes ? lh_sort_by_distance(snapshot->n, snapshot->distance, &n) : NULL;
  if (!order) {
    lh_free(bytes);
    return NULL;
  }
  add_own(bytes, snapshot, NULL, interval);
  lh_sum_retained(order, n, snapshot->idom, bytes);
  lh_free(order);
  return bytes;
}

static uint64_t *sum_groups(const lh_snapshot *snapshot, const lh_group_tree *groups,
                            lh_interval interval) {
  uint64_t *bytes = lh_alloc_zeroed(groups->n, sizeof *bytes);
  if (!bytes) return NULL;
  add_own(bytes, snapshot, groups, interval);
  for (size_t i = groups->n; i-- > 1;) bytes[groups->list[i].above] += bytes[i];
  return bytes;
}

/* NULL: out of memory. `groups` NULL: of objects. Keeps them until another interval is asked for.
** The first time O(n). */
static const uint64_t *sums_of(lh_sums *sums, const lh_snapshot *snapshot,
                               const lh_group_tree *groups, lh_interval interval) {
  if (sums->interval.since != interval.since || sums->interval.until != interval.until)
    sums_free(sums);
  sums->interval = interval;
  uint64_t **kept = groups ? &sums->of_group[groups->of_places] : &sums->of_object;
  if (!*kept)
    *kept = groups ? sum_groups(snapshot, groups, interval) : sum_objects(snapshot, interval);
  return *kept;
}

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

/* In preorder: in a chain each element is below the one before. */
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

static bool lists_make(lh_lists *lists, lh_snapshot *snapshot) {
  lh_tree tree = {0};
  *lists = (lh_lists){.top = lh_kept_clusters(snapshot)};
  bool ok = lists->top && lh_tree_make(&tree, snapshot) && count_elements(lists, &tree);
  lh_tree_free(&tree);
  return ok;
}

static void lists_free(lh_lists *lists) {
  lh_free(lists->list);
  lh_map_free(&lists->by_top);
}

const lh_linked *lh_list_at(const lh_lists *lists, lh_id id) {
  uint32_t at = lh_map_get(&lists->by_top, id);
  return at == LH_NO_NUMBER ? NULL : &lists->list[at];
}

/* Takes those out that another one dominates. False: out of memory. */
static bool drop_inner(lh_modules *modules, const lh_snapshot *snapshot) {
  uint32_t n_order;
  uint8_t *inside = lh_alloc_zeroed((size_t)snapshot->n + 1, 1); /* 1: a module; 2: below one */
  lh_id *order = lh_sort_by_distance(snapshot->n, snapshot->distance, &n_order);
  size_t n = 0;
  bool ok = inside && order;
  for (size_t i = 0; ok && i < modules->n; i++) inside[modules->list[i].id] = 1;
  for (uint32_t i = 1; ok && i < n_order; i++)
    if (inside[snapshot->idom[order[i]]]) inside[order[i]] = 2;
  for (size_t i = 0; ok && i < modules->n; i++) {
    lh_module module = modules->list[i];
    if (inside[module.id] == 1)
      modules->list[n++] = module;
    else
      lh_free((char *)module.name);
  }
  if (ok) modules->n = n;
  lh_free(inside);
  lh_free(order);
  return ok;
}

/* Fills in modules. LH_EMEMORY. O(n). */
static int trees_find_modules(lh_trees *trees, lh_snapshot *snapshot, lh_error *error) {
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

typedef struct taking {
  const lh_asked_tree *tree;
  lh_below_vertex *below;
} taking;

static bool take(const taking *t, uint32_t vertex) {
  uint64_t bytes = lh_vertex_bytes(t->tree, vertex);
  lh_ranking *best = &t->below->best;
  t->below->n++;
  t->below->bytes += bytes;
  if (t->tree->new_bytes) t->below->new_bytes += t->tree->new_bytes[vertex];
  if (best->limit > 0 && best->n == best->limit && bytes < best->list[0].key) return true;
  return lh_rank(best, (lh_ranked){bytes, vertex, vertex});
}

/* Is `id` in the list of which `top` is the first? */
static bool is_element(const lh_asked_tree *tree, lh_id id, lh_id top) {
  return tree->trees->lists.top[id] == top && id != top;
}

static bool push(lh_below_vertex *below, size_t *n, lh_id id) {
  if (!lh_grow(&below->members, *n, &below->member_capacity, sizeof id)) return false;
  below->members[(*n)++] = id;
  return true;
}

/* Of an object that is in no list. */
static bool take_children(const taking *t, lh_id id) {
  const lh_children *children = t->tree->children;
  bool ok = true;
  for (uint32_t i = children->first[id]; ok && i < children->first[id + 1]; i++)
    ok = take(t, children->child[i]);
  return ok;
}

/* Of a list what hangs at any of its elements; of one in the middle those behind it. */
static bool take_objects(const taking *t, lh_id id) {
  const lh_asked_tree *tree = t->tree;
  const uint32_t *first = tree->children->first;
  lh_id top = tree->trees->lists.top[id];
  size_t n = 0;
  if (!lh_list_at(&tree->trees->lists, top)) return take_children(t, id);
  bool ok = push(t->below, &n, id);
  while (ok && n > 0) {
    lh_id at = t->below->members[--n];
    for (uint32_t i = first[at]; ok && i < first[at + 1]; i++) {
      lh_id child = tree->children->child[i];
      ok = is_element(tree, child, top) ? push(t->below, &n, child) : take(t, child);
    }
  }
  return ok;
}

static bool take_groups(const taking *t, uint32_t vertex) {
  const lh_group_tree *groups = t->tree->groups;
  bool ok = true;
  for (uint32_t i = groups->first[vertex]; ok && i < groups->first[vertex + 1]; i++)
    ok = take(t, groups->below[i]);
  return ok;
}

static bool take_modules(const taking *t) {
  const lh_modules *modules = &t->tree->trees->modules;
  bool ok = true;
  for (size_t i = 0; ok && i < modules->n; i++) ok = take(t, modules->list[i].id);
  return ok;
}

bool lh_find_below_vertex(const lh_asked_tree *tree, uint32_t vertex, lh_below_vertex *below) {
  taking t = {tree, below};
  below->n = below->bytes = below->new_bytes = 0;
  below->best.n = 0;
  bool ok = tree->groups                            ? take_groups(&t, vertex)
            : tree->of_modules && vertex == LH_ROOT ? take_modules(&t)
                                                    : take_objects(&t, vertex);
  if (ok) lh_sort_ranking(&below->best);
  return ok;
}

bool lh_has_below(const lh_asked_tree *tree, uint32_t vertex) {
  const uint32_t *first = tree->groups ? tree->groups->first : tree->children->first;
  if (first[vertex + 1] - first[vertex] > 1) return true;
  if (first[vertex + 1] == first[vertex]) return false;
  if (tree->groups || vertex == LH_ROOT) return true;
  lh_id child = tree->children->child[first[vertex]];
  const lh_linked *linked = lh_list_at(&tree->trees->lists, tree->trees->lists.top[vertex]);
  if (!linked || !is_element(tree, child, linked->top)) return true;
  /* A list without anything but itself has nothing below. */
  return linked->top != vertex || lh_retained_bytes(tree->snapshot, vertex) > linked->shallow_bytes;
}

/* {=== What is kept =================================================================== */

static void free_trees(lh_trees *trees) {
  lists_free(&trees->lists);
  for (unsigned i = 0; i < 2; i++) lh_group_tree_free(trees->groups[i]);
  if (trees->has_modules) lh_modules_free(&trees->modules);
  lh_map_free(&trees->module_of);
  sums_free(&trees->in);
  sums_free(&trees->since);
  lh_free(trees);
}

/* NULL: out of memory. */
static lh_trees *trees_of(lh_snapshot *snapshot) {
  if (snapshot->trees) return snapshot->trees;
  lh_trees *trees = lh_alloc_zeroed(1, sizeof *trees);
  if (!trees) return NULL;
  if (!lists_make(&trees->lists, snapshot)) {
    free_trees(trees);
    return NULL;
  }
  snapshot->free_trees = free_trees;
  return snapshot->trees = trees;
}

static const lh_group_tree *groups_of(lh_snapshot *snapshot, bool of_places) {
  lh_trees *trees = trees_of(snapshot);
  if (!trees) return NULL;
  lh_group_tree **kept = &trees->groups[of_places];
  if (!*kept) *kept = lh_group_tree_make(snapshot, &trees->lists, of_places);
  return *kept;
}

/* }=================================================================================== */

/* What is new is younger than the first snapshot, or else than the first mark, of which there must
** be another one than the snapshot's own. False: it is not known. */
static bool find_new(const lh_snapshot *snapshot, const lh_snapshot *first, lh_interval *out) {
  uint32_t mark = 0, n = lh_mark_count(snapshot);
  if (first && first != snapshot && first->info.state_id == snapshot->info.state_id)
    while (mark < n && !lh_is_mark(&snapshot->marks[mark], first->info.serial, first->info.time_ns))
      mark++;
  if (mark + 1 >= n) return false;
  *out = (lh_interval){lh_mark_position(snapshot, mark), UINT64_MAX};
  return true;
}

static bool make_sums(lh_asked_tree *tree, lh_trees *trees, const lh_tiles_query *query) {
  const lh_snapshot *s = tree->snapshot;
  lh_interval since;
  if (!lh_is_ever(query->interval)) {
    tree->bytes = sums_of(&trees->in, s, tree->groups, query->interval);
    if (!tree->bytes) return false;
  } else if (!tree->groups) {
    tree->bytes = s->retained;
  }
  if (find_new(s, query->first, &since))
    tree->new_bytes = sums_of(&trees->since, s, tree->groups, since);
  else
    return true;
  return tree->new_bytes != NULL;
}

static int make_tree(lh_asked_tree *tree, lh_snapshot *snapshot, const lh_tiles_query *query,
                     lh_error *error) {
  bool of_places = query->by == LH_TREE_OF_PLACES;
  bool in_groups = of_places || query->by == LH_TREE_OF_CLASSES;
  lh_trees *trees = trees_of(snapshot);
  *tree = (lh_asked_tree){.snapshot = snapshot, .trees = trees};
  tree->of_modules = query->by == LH_TREE_OF_MODULES;
  tree->children = lh_find_children(snapshot);
  if (!trees || !tree->children) return lh_fail_memory(error, "making a tree");
  if (in_groups) tree->groups = groups_of(snapshot, of_places);
  if (in_groups && query->before) tree->before = groups_of(query->before, of_places);
  if (in_groups && (!tree->groups || (query->before && !tree->before)))
    return lh_fail_memory(error, "making a tree");
  if (tree->of_modules) {
    int code = trees_find_modules(trees, snapshot, error);
    if (code != LH_OK) return code;
  }
  return make_sums(tree, trees, query) ? LH_OK : lh_fail_memory(error, "summing up a tree");
}

/* {=== The way to what was asked for ================================================== */

/* Of a long way so many vertices are told at each end. */
enum { AT_ENDS = 12 };

/* From the root down to above the vertex. */
static bool find_above(const lh_asked_tree *tree, uint32_t vertex, lh_tiles *out) {
  size_t n = 0;
  for (uint32_t at = lh_vertex_above(tree, vertex); at != UINT32_MAX; n++)
    at = lh_vertex_above(tree, at);
  size_t told = n > 2 * AT_ENDS ? 2 * AT_ENDS : n, i = n;
  out->above = lh_alloc(told, sizeof *out->above);
  if (!out->above) return false;
  out->n_above = told;
  for (uint32_t at = lh_vertex_above(tree, vertex); at != UINT32_MAX;) {
    uint32_t next = lh_vertex_above(tree, at);
    i--;
    size_t to = i < AT_ENDS ? i : i - (n - told);
    if (i < AT_ENDS || i + AT_ENDS >= n) {
      out->above[to] = lh_tile_of(tree, at, next);
      out->above[to].depth = (uint32_t)i;
    }
    at = next;
  }
  return true;
}

/* }=================================================================================== */

int lh_find_tiles(lh_snapshot *snapshot, const lh_tiles_query *query, lh_tiles *out,
                  lh_error *error) {
  *out = (lh_tiles){0};
  lh_asked_tree tree;
  uint32_t top;
  bool is_classified = snapshot->retained && snapshot->classes;
  if (!is_classified || (query->before && (!query->before->retained || !query->before->classes)))
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  int code = make_tree(&tree, snapshot, query, error);
  if (code == LH_OK) code = lh_vertex_of_key(&tree, query->of, &top, error);
  if (code != LH_OK) return code;
  out->whole_bytes = lh_vertex_bytes(&tree, 0);
  out->n_positions = lh_position_count(snapshot);
  out->before_bytes = tree.before ? tree.before->list[0].bytes : 0;
  if (find_above(&tree, top, out) && lh_pick_tiles(&tree, top, query, out)) return LH_OK;
  lh_tiles_free(out);
  return lh_fail_memory(error, "drawing a tree");
}

void lh_tiles_free(lh_tiles *tiles) {
  lh_free(tiles->list);
  lh_free(tiles->above);
  *tiles = (lh_tiles){0};
}

const char *lh_tile_kind_name(lh_tile_kind kind) {
  static const char *const words[] = {"object", "list", "tree", "group", "shared", "own", "rest"};
  return LH_WORD_OF(words, kind);
}

const char *lh_tree_by_name(lh_tree_by by) {
  static const char *const words[] = {"object", "class", "place", "module"};
  return LH_WORD_OF(words, by);
}
