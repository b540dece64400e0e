/*
** tree.c - lh_find_tiles: the tree that is asked for, made if it is the first time, and the tiles
** of a picture of a part of it (tree.h tells the files).
*/
#include "tree.h"

#include <string.h>

/* {=== What is kept =================================================================== */

static void free_trees(lh_trees *trees) {
  lh_lists_free(&trees->lists);
  for (unsigned i = 0; i < 2; i++) lh_group_tree_free(trees->groups[i]);
  if (trees->has_modules) lh_modules_free(&trees->modules);
  lh_map_free(&trees->module_of);
  lh_sums_free(&trees->in);
  lh_sums_free(&trees->since);
  lh_free(trees);
}

/* NULL: out of memory. */
static lh_trees *trees_of(lh_snapshot *snapshot) {
  if (snapshot->trees) return snapshot->trees;
  lh_trees *trees = lh_alloc_zeroed(1, sizeof *trees);
  if (!trees) return NULL;
  if (!lh_lists_make(&trees->lists, snapshot)) {
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
    tree->bytes = lh_sums_of(&trees->in, tree, query->interval);
    if (!tree->bytes) return false;
  } else if (!tree->groups) {
    tree->bytes = s->retained;
  }
  if (find_new(s, query->first, &since))
    tree->new_bytes = lh_sums_of(&trees->since, tree, since);
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
  tree->dominators = lh_dominator_tree(snapshot);
  if (!trees || !tree->dominators) return lh_fail_memory(error, "making a tree");
  if (in_groups) tree->groups = groups_of(snapshot, of_places);
  if (in_groups && query->before) tree->before = groups_of(query->before, of_places);
  if (in_groups && (!tree->groups || (query->before && !tree->before)))
    return lh_fail_memory(error, "making a tree");
  if (tree->of_modules) {
    int code = lh_trees_find_modules(trees, snapshot, error);
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
