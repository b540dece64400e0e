/*
** tree.h - the trees of which pictures show a part (tree.c), and what is kept of them with the
** snapshot (trees.c). Private to the library.
**
** All of them are the tree of dominators. Of objects it is that itself, with each linked list as
** one; of classes and places the objects are put into groups; of modules it is that of objects with
** another top. A vertex is told by a number: the id of an object, or the index of a group; 0 is the
** root of either. What is kept, in bytes an object:
**
**     tree of dominators        12    graph/preorder.c
**     clusters, which are lists  4    analyses/clusters.c
**     groups: of each object     4    of classes, and again of places
**     bytes of an interval       8    and again of what is new. Only of objects
*/
#ifndef LUAHEAP_TREE_H
#define LUAHEAP_TREE_H

#include "analyses/analyses.h"
#include "luaheap_view.h"

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

/* For each vertex: the bytes that were allocated in an interval, of those that it retains. */
typedef struct lh_sums {
  lh_interval interval;
  uint64_t *of_object;
  uint64_t *of_group[2]; /* of classes, of places */
} lh_sums;

struct lh_trees {
  lh_lists lists;
  lh_group_tree *groups[2]; /* of classes, of places */
  bool has_modules;
  lh_modules modules;
  lh_map module_of;  /* object -> index */
  lh_sums in, since; /* of the interval that is asked for, and of what is new */
};

/* What is kept with the snapshot, made when it is first asked for; NULL: out of memory. Groups take
** O(n), and those of places the edges of all objects. */
lh_trees *lh_trees_of(lh_snapshot *snapshot);
const lh_group_tree *lh_groups_of(lh_snapshot *snapshot, bool of_places);

/* Fills in modules. LH_EMEMORY. O(n). */
int lh_trees_find_modules(lh_trees *trees, lh_snapshot *snapshot, lh_error *error);

/* The sums of groups, or of objects where there are none; NULL: out of memory. Keeps them until
** another interval is asked for. The first time O(n). */
const uint64_t *lh_sums_of(lh_sums *sums, lh_snapshot *snapshot, const lh_group_tree *groups,
                           lh_interval interval);

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

#endif
