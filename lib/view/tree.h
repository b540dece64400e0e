/*
** tree.h - the trees behind the pictures (tree.c), and the data kept with the snapshot (trees.c,
** list_children.c).
**
** All are the dominator tree: by object, with each linked list as one vertex; by class or place,
** with objects in groups; by module, with modules below the root. A vertex is an object id or a
** group index; 0 is the root. Kept, in bytes an object:
**
**     dominator tree            12    graph/preorder.c
**     clusters, i.e. lists       4    analyses/clusters.c
**     group of each object       4    for classes, and again for places
**     bytes of an interval       8    and again for new bytes; by object only
**     below a list              28    each object directly below one of 256 elements or more
*/
#pragma once

#include "analyses/analyses.h"
#include "ranking.h"
#include "view/answers.h"

typedef struct lh_list_children lh_list_children;

/* A linked list or tree shown as one vertex: a cluster (analyses/clusters.c). */
typedef struct lh_linked {
  lh_id top, last;
  bool branches; /* a tree */
  uint64_t objects, shallow_bytes;
  double positions; /* sum; n_positions terms */
  uint64_t n_positions;
  lh_list_children *children; /* list_children.c, made at first use; else NULL */
} lh_linked;

typedef struct lh_lists {
  const lh_id *top; /* of each object: first element of its list, or the object */
  lh_linked *list;
  size_t n, capacity;
  lh_map by_top;
} lh_lists;

typedef struct lh_tree_group {
  uint32_t above; /* a smaller index; 0 of the root */
  uint32_t depth;
  uint32_t what; /* index of class or place; UINT32_MAX: none */
  lh_id example; /* the object that retains most */
  uint64_t objects, shallow_bytes;
  uint64_t bytes; /* including all groups below */
  double positions;
  uint64_t n_positions;
  uint64_t fingerprint; /* of the names from the root to it */
} lh_tree_group;

typedef struct lh_group_tree {
  lh_tree_group *list; /* [0] is the root, which has no objects */
  size_t n, capacity;
  uint32_t *of;            /* group of each object; 0: garbage */
  uint32_t *first, *below; /* groups directly below i: below[first[i]] .. below[first[i + 1] - 1] */
  lh_map by_fingerprint;
  bool of_places;
  lh_places places; /* only places and texts are kept */
} lh_group_tree;

/* For each vertex: of its retained bytes, those allocated in an interval. */
typedef struct lh_sums {
  lh_interval interval;
  uint64_t *of_object;
  uint64_t *of_group[2]; /* by class, by place */
} lh_sums;

struct lh_trees {
  lh_lists lists;
  lh_group_tree *groups[2]; /* by class, by place */
  bool has_modules;
  lh_modules modules;
  lh_map module_of;  /* object -> index */
  lh_sums in, since; /* bytes in the query's interval; new bytes */
};

/* Kept with the snapshot, computed at the first call; NULL: out of memory. Groups take O(n), by
** place O(edges). */
lh_trees *lh_trees_of(lh_snapshot *snapshot);
const lh_group_tree *lh_groups_of(lh_snapshot *snapshot, bool of_places);

/* Fills in modules. LH_EMEMORY. O(n). */
int lh_trees_find_modules(lh_trees *trees, lh_snapshot *snapshot, lh_error *error);

/* By group, or by object if `groups` is NULL; NULL: out of memory. Kept until another interval is
** asked for; the first call is O(n). */
const uint64_t *lh_sums_of(lh_sums *sums, lh_snapshot *snapshot, const lh_group_tree *groups,
                           lh_interval interval);

/* NULL: the object is not the first of a list. */
lh_linked *lh_list_at(const lh_lists *lists, lh_id id);

typedef struct lh_children {
  lh_ranking best; /* biggest; key: bytes, what: vertex */
  uint64_t n;      /* all */
  uint64_t bytes, new_bytes;
} lh_children;

/* list_children.c: what is below the elements of a list, from `id` on, by retained bytes.
** `new_bytes`: of trees->since, by object, or NULL. The first call for a list takes O(objects below
** it); then mostly O(best.limit). False: out of memory. */
bool lh_take_list(lh_linked *linked, const lh_tree *tree, const lh_trees *trees, lh_id id,
                  const uint64_t *new_bytes, lh_children *out);
void lh_list_children_free(lh_list_children *children);

static inline void lh_add_position(const lh_snapshot *snapshot, lh_id id, double *sum,
                                   uint64_t *n) {
  uint64_t position = lh_position_of(snapshot, id);
  if (position == LH_NO_POSITION) return;
  *sum += (double)position;
  ++*n;
}
