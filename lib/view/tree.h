/*
** tree.h - the trees of which pictures show a part, and what is kept of them with the snapshot.
** Private to the library.
**
** All of them are the tree of dominators. Of objects it is that itself, with each linked list as
** one; of classes and places the objects are put into groups (tree_groups.c); of modules it is that
** of objects with another top (tree_modules.c). A vertex is told by a number: the id of an object,
** or the index of a group; 0 is the root of either. What is kept, in bytes an object:
**
**     tree of dominators        12    graph/preorder.c
**     clusters, which are lists  4    analyses/clusters.c
**     groups: of each object     4    of classes, and again of places
**     bytes of an interval       8    tree_sums.c; and again of what is new. Only of objects
*/
#ifndef LUAHEAP_TREE_H
#define LUAHEAP_TREE_H

#include "analyses/analyses.h"
#include "view/answers.h"

/* {=== tree_lists.c =================================================================== */

/* A linked list, or tree, as one thing: a cluster (analyses/clusters.c). */
typedef struct lh_linked {
  lh_id top, last;
  bool branches; /* it is a tree */
  uint64_t objects, shallow_bytes;
  double positions; /* the sum of their positions, and of how many */
  uint64_t n_positions;
} lh_linked;

typedef struct lh_lists {
  const lh_id *top; /* of each object: the first of its list; itself if it is in none */
  lh_linked *list;
  size_t n, capacity;
  lh_map by_top;
} lh_lists;

bool lh_lists_make(lh_lists *lists, lh_snapshot *snapshot);
void lh_lists_free(lh_lists *lists);

/* NULL: the object is not the first of a list. */
const lh_linked *lh_list_at(const lh_lists *lists, lh_id id);

/* Adds an object's position to a sum of them, if it has one. */
static inline void lh_add_position(const lh_snapshot *snapshot, lh_id id, double *sum,
                                   uint64_t *n) {
  uint64_t position = lh_position_of(snapshot, id);
  if (position == LH_NO_POSITION) return;
  *sum += (double)position;
  ++*n;
}

/* }=================================================================================== */

/* {=== tree_groups.c ================================================================== */

typedef struct lh_tree_group {
  uint32_t above; /* a smaller index; of the root itself */
  uint32_t depth;
  uint32_t what; /* index of the class, or of the place; UINT32_MAX: of no class */
  lh_id example; /* that retains most */
  uint64_t objects, shallow_bytes; /* in it */
  uint64_t bytes;                  /* with all groups below */
  double positions;
  uint64_t n_positions;
  uint64_t fingerprint; /* of its name and of those above */
} lh_tree_group;

typedef struct lh_group_tree {
  lh_tree_group *list; /* 0: the root, which has no objects */
  size_t n, capacity;
  uint32_t *of;            /* the group of each object; 0: it is garbage */
  uint32_t *first, *below; /* below[first[i]] to below[first[i + 1] - 1] are directly below i */
  lh_map by_fingerprint;
  bool of_places;
  lh_places places; /* its places and texts alone */
} lh_group_tree;

/* NULL: out of memory. O(n), and of places the edges of all objects. */
lh_group_tree *lh_group_tree_make(lh_snapshot *snapshot, const lh_lists *lists, bool of_places);
void lh_group_tree_free(lh_group_tree *tree); /* NULL is fine */

/* }=================================================================================== */

typedef struct lh_asked_tree lh_asked_tree; /* tree.c */

/* {=== tree_sums.c ==================================================================== */

/* For each vertex: the bytes that were allocated in an interval, of those that it retains. */
typedef struct lh_sums {
  lh_interval interval;
  uint64_t *of_object;
  uint64_t *of_group[2]; /* of classes, of places */
} lh_sums;

/* NULL: out of memory. Keeps them until another interval is asked for.
** The first time O(n). */
const uint64_t *lh_sums_of(lh_sums *sums, const lh_asked_tree *tree, lh_interval interval);
void lh_sums_free(lh_sums *sums);

/* }=================================================================================== */

/* {=== tree.c ========================================================================= */

struct lh_trees {
  lh_lists lists;
  lh_group_tree *groups[2]; /* of classes, of places */
  bool has_modules;
  lh_modules modules;
  lh_map module_of;  /* object -> index */
  lh_sums in, since; /* of the interval that is asked for, and of what is new */
};

/* The tree that is asked for. */
struct lh_asked_tree {
  const lh_snapshot *snapshot;
  const lh_tree *dominators;
  const lh_trees *trees;
  const lh_group_tree *groups; /* NULL: of objects */
  bool of_modules;
  const uint64_t *bytes;       /* of each object; NULL: those of the groups */
  const uint64_t *new_bytes;   /* NULL: it is not known what is new */
  const lh_group_tree *before; /* of the other snapshot, or NULL */
};

static inline uint64_t lh_vertex_bytes(const lh_asked_tree *tree, uint32_t vertex) {
  return tree->bytes ? tree->bytes[vertex] : tree->groups->list[vertex].bytes;
}

/* }=================================================================================== */

/* {=== tree_modules.c ================================================================= */

/* Fills in modules. LH_EMEMORY. O(n). */
int lh_trees_find_modules(lh_trees *trees, lh_snapshot *snapshot, lh_error *error);

/* }=================================================================================== */

/* {=== tree_below.c =================================================================== */

/* What is directly below a vertex. */
typedef struct lh_below_vertex {
  lh_ranking best;           /* the best of them, first; key: bytes, what: vertex */
  uint64_t n;                /* all of them */
  uint64_t bytes, new_bytes; /* of all */
  lh_id *members;            /* scratch: a stack of the elements of a list */
  size_t member_capacity;
} lh_below_vertex;

/* Fills *below, the best as far as best.limit. False: out of memory. O(how many there are, and of a
** list its elements). */
bool lh_find_below_vertex(const lh_asked_tree *tree, uint32_t vertex, lh_below_vertex *below);

/* Is there anything? O(1) but for lists. */
bool lh_has_below(const lh_asked_tree *tree, uint32_t vertex);

/* }=================================================================================== */

/* {=== tree_pick.c ==================================================================== */

/* Fills list and n: what is below a vertex. False: out of memory. */
bool lh_pick_tiles(const lh_asked_tree *tree, uint32_t top, const lh_tiles_query *query,
                   lh_tiles *out);

/* }=================================================================================== */

/* {=== tree_tile.c ==================================================================== */

/* What a vertex is. `above`: the vertex of the tile above; UINT32_MAX: none. */
lh_tile lh_tile_of(const lh_asked_tree *tree, uint32_t vertex, uint32_t above);

/* Of the other snapshot: the bytes of the same group, 0 if there is none; and of its objects
** alone. */
uint64_t lh_vertex_bytes_before(const lh_asked_tree *tree, uint32_t vertex);
uint64_t lh_own_before(const lh_asked_tree *tree, uint32_t vertex);

/* The vertex above; of the root UINT32_MAX. */
uint32_t lh_vertex_above(const lh_asked_tree *tree, uint32_t vertex);

/* The vertex with a key. LH_EARGUMENT, LH_ENOTFOUND. */
int lh_vertex_of_key(const lh_asked_tree *tree, const char *key, uint32_t *vertex, lh_error *error);

/* }=================================================================================== */

#endif
