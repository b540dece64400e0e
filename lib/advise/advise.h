/*
** advise.h - what the files share that say what to do about one snapshot: tree.c (the tree of
** dominators, as intervals), clusters.c (lists and trees seen as one thing), gather.c (many objects
** as a few classes), suspects.c (what dominates a large share, and where it accumulates), spread.c
** (many objects of a class that no single object holds), describe.c with fields.c and referring.c
** (the instances of one class), and places.c (the paths of many objects as one tree) with divide.c
** (its bytes). Private to the library.
*/
#ifndef LUAHEAP_ADVISE_H
#define LUAHEAP_ADVISE_H

#include "graph/graph.h"
#include "name/fold.h"
#include "name/names.h"

/* {=== tree.c ======================================================================== */

/* The tree of dominators in preorder: the subtree of v is order[position[v]] to
** order[end[position[v]] - 1], v first. For unreachable objects position is not set. */
typedef struct lh_tree {
  const lh_snapshot *snapshot;
  uint32_t n;
  lh_id *order;
  uint32_t *end;
  uint32_t *position;
} lh_tree;

/* False: out of memory. To be followed by lh_tree_free, whatever it returns. O(n). */
bool lh_tree_make(lh_tree *tree, const lh_snapshot *snapshot);
void lh_tree_free(lh_tree *tree);

static inline bool lh_dominates(const lh_tree *tree, lh_id above, lh_id id) {
  uint32_t p = tree->position[above], q = tree->position[id];
  return p <= q && q < tree->end[p];
}

/* Is it a part of every program, which as such is no one's leak: the root, _G, package.loaded and
** the modules in it, the registry, the main thread, code, objects of luaheap? */
bool lh_is_plumbing(const lh_snapshot *snapshot, lh_id id);

/* }=================================================================================== */

/* {=== clusters.c ==================================================================== */

/* The elements of a list dominate each other in a chain, those of a tree in a tree: a million
** objects that are one thing. Such a cluster is what hangs together by its class; top[id] is its
** first object, and id itself for all that is in no cluster. */
enum { LH_LEAST_CLUSTER = 8 };

/* The largest part of its dominator that goes on: the place where less does is where many small
** things hang. */
#define LH_GOES_ON 0.7

/* NULL: out of memory. Freed by the caller. O(n). */
lh_id *lh_find_clusters(const lh_tree *tree);

/* }=================================================================================== */

/* {=== gather.c ====================================================================== */

/* Objects by class, and what they retain. */
typedef struct lh_gathering {
  const lh_tree *tree;
  const lh_id *top;
  uint32_t *row_of;     /* of each class; LH_NO_NUMBER */
  lh_accumulated *rows; /* of the last lh_gather, those with most bytes first */
  uint32_t n_rows;
  lh_id *ids; /* of the last lh_list_below */
  size_t n_ids, id_capacity;
} lh_gathering;

bool lh_gathering_make(lh_gathering *g, const lh_tree *tree, const lh_id *top);
void lh_gathering_free(lh_gathering *g);

/* What a cluster consists of. */
typedef struct lh_extent {
  uint64_t members;       /* of the class of its top */
  uint64_t shallow_bytes; /* of all in it */
  bool branches;          /* a member dominates two others */
} lh_extent;

lh_extent lh_extent_of(const lh_gathering *g, lh_id top);

/* Appends the tops of the clusters that are directly below a cluster to g->ids. O(both). */
bool lh_list_below(lh_gathering *g, lh_id top);

/* Puts clusters, given by their tops, into rows by the class of those. O(their members). */
void lh_gather(lh_gathering *g, const lh_id *tops, size_t n_tops);

/* }=================================================================================== */

/* {=== suspects.c ==================================================================== */

/* Are `many` to be told instead of the `few` (at most 64, or but collections) that hold them? */
bool lh_tells_more(const lh_snapshot *snapshot, const lh_accumulated *many,
                   const lh_accumulated *few);

/* told[id]: the object and all that it dominates is told; it dominates such an object. */
enum { LH_TOLD = 1, LH_ABOVE_TOLD = 2 };

void lh_mark_told(const lh_snapshot *snapshot, uint8_t *told, lh_id id);

/* }=================================================================================== */

/* {=== spread.c ====================================================================== */

/* Appends the classes of which at least `least_bytes` are spread over many holders, apart from what
** is told, and marks them as told. */
bool lh_find_spread(const lh_tree *tree, uint64_t least_bytes, uint8_t *told, lh_suspects *suspects,
                    size_t *capacity);

/* }=================================================================================== */

/* {=== describe.c ==================================================================== */

/* The reachable instances of a class. */
typedef struct lh_instances {
  lh_snapshot *snapshot;
  lh_id *ids;
  size_t n;
  uint8_t *is_one;  /* of each object */
  uint64_t *nested; /* of each object: what the instances retain that it dominates, the object
                       itself being one included: no byte twice */
} lh_instances;

/* What an object retains without the instances that it dominates; of an instance itself, 0. */
static inline uint64_t lh_bytes_around(const lh_instances *of, lh_id id) {
  return of->snapshot->retained[id] - of->nested[id];
}

/* fields.c: fills fields and n_fields. */
bool lh_describe_fields(const lh_instances *of, lh_description *out);

/* referring.c: fills referrers and n_referrers. */
bool lh_describe_referrers(const lh_instances *of, lh_description *out);

/* }=================================================================================== */

/* {=== places.c ====================================================================== */

/* Where paths whose texts are alike go together. */
typedef struct lh_place {
  uint32_t above;   /* a smaller index; of the first place itself */
  lh_text_id piece; /* as in fold.h */
  uint8_t form;
  bool phrase;
  bool again;     /* a new beginning that leads to itself */
  bool keys_vary; /* else [*] stands for one key only */
  lh_value key;
  uint32_t level;       /* pieces since the last new beginning */
  uint32_t depth;       /* places above */
  uint32_t n_below;     /* directly */
  lh_id entry;          /* the first object that was reached here, */
  lh_id example;        /* and a member, if any is here: the one that retains most */
  uint32_t class_index; /* of all objects here; UINT32_MAX: of several classes */
  uint32_t through;     /* objects here on the paths, the members included */
  uint32_t here;        /* members, */
  uint32_t objects;     /* and those further on, too */
  uint64_t bytes;       /* divide.c */
} lh_place;

typedef struct lh_places {
  lh_folder folder;
  lh_place *list; /* the first is the root */
  size_t n, capacity;
  uint32_t *of;       /* the place of each object on a path; 0: of none */
  uint8_t *is_member; /* of each object */
} lh_places;

/* The tree of the shortest paths to all `ids`, which are reachable and not luaheap's own. False:
** out of memory. `places` is all zero before; to be followed by lh_places_free, whatever it
** returns. */
bool lh_places_make(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids);
void lh_places_free(lh_places *places);

/* }=================================================================================== */

/* {=== divide.c ====================================================================== */

/* Sets the bytes of each place. False: out of memory. */
bool lh_divide_retained(lh_places *places, const lh_snapshot *snapshot);

/* }=================================================================================== */

#endif
