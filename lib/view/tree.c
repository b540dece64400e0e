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

static bool make_sums(lh_wood *wood, lh_trees *trees, const lh_tiles_query *query) {
  const lh_snapshot *s = wood->snapshot;
  lh_interval since;
  if (!lh_is_ever(query->interval)) {
    wood->bytes = lh_sums_of(&trees->in, s, wood->groups, query->interval);
    if (!wood->bytes) return false;
  } else if (!wood->groups) {
    wood->bytes = s->retained;
  }
  if (find_new(s, query->first, &since))
    wood->new_bytes = lh_sums_of(&trees->since, s, wood->groups, since);
  else
    return true;
  return wood->new_bytes != NULL;
}

static int make_wood(lh_wood *wood, lh_snapshot *snapshot, const lh_tiles_query *query,
                     lh_error *error) {
  bool of_places = query->by == LH_TREE_OF_PLACES;
  bool in_groups = of_places || query->by == LH_TREE_OF_CLASSES;
  lh_trees *trees = trees_of(snapshot);
  *wood = (lh_wood){.snapshot = snapshot, .trees = trees};
  wood->of_modules = query->by == LH_TREE_OF_MODULES;
  wood->children = lh_find_children(snapshot);
  if (!trees || !wood->children) return lh_fail_memory(error, "making a tree");
  if (in_groups) wood->groups = groups_of(snapshot, of_places);
  if (in_groups && query->before) wood->before = groups_of(query->before, of_places);
  if (in_groups && (!wood->groups || (query->before && !wood->before)))
    return lh_fail_memory(error, "making a tree");
  if (wood->of_modules) {
    int code = lh_trees_find_modules(trees, snapshot, error);
    if (code != LH_OK) return code;
  }
  return make_sums(wood, trees, query) ? LH_OK : lh_fail_memory(error, "summing up a tree");
}

/* {=== The way to what was asked for ================================================== */

/* Of a long way so many vertices are told at each end. */
enum { AT_ENDS = 12 };

/* From the root down to above the vertex. */
static bool find_above(const lh_wood *wood, uint32_t vertex, lh_tiles *out) {
  size_t n = 0;
  for (uint32_t at = lh_vertex_above(wood, vertex); at != UINT32_MAX; n++)
    at = lh_vertex_above(wood, at);
  size_t told = n > 2 * AT_ENDS ? 2 * AT_ENDS : n, i = n;
  out->above = lh_alloc(told, sizeof *out->above);
  if (!out->above) return false;
  out->n_above = told;
  for (uint32_t at = lh_vertex_above(wood, vertex); at != UINT32_MAX;) {
    uint32_t next = lh_vertex_above(wood, at);
    i--;
    size_t to = i < AT_ENDS ? i : i - (n - told);
    if (i < AT_ENDS || i + AT_ENDS >= n) {
      out->above[to] = lh_tile_of(wood, at, next);
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
  lh_wood wood;
  uint32_t top;
  bool is_classified = snapshot->retained && snapshot->classes;
  if (!is_classified || (query->before && (!query->before->retained || !query->before->classes)))
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  int code = make_wood(&wood, snapshot, query, error);
  if (code == LH_OK) code = lh_vertex_of_key(&wood, query->of, &top, error);
  if (code != LH_OK) return code;
  out->whole_bytes = lh_wood_bytes(&wood, 0);
  out->n_positions = lh_position_count(snapshot);
  out->before_bytes = wood.before ? wood.before->list[0].bytes : 0;
  if (find_above(&wood, top, out) && lh_pick_tiles(&wood, top, query, out)) return LH_OK;
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
