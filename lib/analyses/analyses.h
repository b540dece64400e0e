/*
** analyses.h - what the files share that tell what is in one snapshot. Each question has a file,
** and the files that its answer is made of have its name in front:
**
**     top.c            the biggest classes and objects
**     sites.c          where what lives was allocated
**     suspects.c       what dominates a large share, and where it accumulates
**     under.c          what one object keeps alive, down the tree of dominators
**     modules.c        what each module and global keeps alive and reaches
**     thread_groups.c  where threads stand
**     bound.c          a limit in sight of some objects
**     growing.c        collections without a limit, by how old their elements are: linked objects,
**                      and tables and what their keys are (growing_tables.c)
**     describe.c       the instances of one class: who refers to them, and where they were
**                      allocated; what is in them: describe_fields.c
**     merged_paths.c   why many objects are alive: their paths as one tree (merged_steps.c), the
**                      paths by which most are held, and by which else
**     waste.c          what memory holds without need
**
** What several of them need: clusters.c (lists and trees seen as one thing, and many of these as a
** few classes). Private to the library.
*/
#ifndef LUAHEAP_ANALYSES_H
#define LUAHEAP_ANALYSES_H

#include <string.h>

#include "analyses/answers.h"
#include "graph/graph.h"
#include "name/place.h"
#include "ranking.h"
#include "thresholds.h"

/* Is it a part of every program, which as such is no one's leak: the root, _G, package.loaded and
** the modules in it, the registry, the main thread, code, objects of luaheap? */
static inline bool lh_is_plumbing(const lh_snapshot *snapshot, lh_id id) {
  return snapshot->kind[id] & (LH_KIND_PLUMBING | LH_KIND_OWN);
}

/* By their names; 0 where one is no class. */
static inline int lh_compare_class_names(const lh_snapshot *snapshot, uint32_t a, uint32_t b) {
  if (a == UINT32_MAX || b == UINT32_MAX) return 0;
  return strcmp(lh_class_at(snapshot, a)->name, lh_class_at(snapshot, b)->name);
}

/* ==== clusters.c ==================================================================== */

/* The elements of a list dominate each other in a chain, those of a tree in a tree: a million
** objects that are one thing. Such a cluster is what hangs together by its class; top[id] is its
** first object, and id itself for all that is in no cluster.
**
** They are kept with the snapshot. NULL: out of memory. The first call O(n). */
const lh_id *lh_kept_clusters(lh_snapshot *snapshot);

/* Of a union-find: the object that represents the set of this one. */
static inline lh_id lh_find_first(lh_id *set, lh_id id) {
  for (; set[id] != id; id = set[id]) set[id] = set[set[id]];
  return id;
}

/* Objects by class, and what they retain. */
typedef struct lh_gathering {
  const lh_tree *tree;
  const lh_id *top;
  const uint8_t *heads; /* of each object: it is the top of others, too; NULL: not known */
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

/* ==== describe*.c =================================================================== */

/* The reachable instances of a class. */
typedef struct lh_instances {
  lh_snapshot *snapshot;
  lh_id *ids;
  size_t n;
  uint8_t *is_one;  /* of each object */
  uint64_t *inside; /* of each object: what the instances retain that it dominates, itself not
                       included: no byte twice */
} lh_instances;

/* The same, itself included. */
static inline uint64_t lh_bytes_of_instances(const lh_instances *of, lh_id id) {
  return of->is_one[id] ? of->snapshot->retained[id] : of->inside[id];
}

/* What an object retains without the instances that it dominates; of an instance itself, 0. */
static inline uint64_t lh_bytes_around(const lh_instances *of, lh_id id) {
  return of->snapshot->retained[id] - lh_bytes_of_instances(of, id);
}

/* Lua's functions have 255 upvalues at most, and no coroutine thousands of different local
** variables. Only a file that was made for that has more such places: the others are "...". */
enum { LH_MOST_ORDINALS = 256, LH_MOST_LOCALS = 4096 };

/* describe_fields.c: fills fields and n_fields. */
bool lh_describe_fields(const lh_instances *of, lh_description *out);

/* ==== merged_steps.c ================================================================ */

/* Where paths whose texts are alike go together. */
typedef struct lh_merged_step {
  uint32_t above; /* a smaller index; of the first step itself */
  uint32_t step;  /* of the tree of places (place_steps.h); 0 and the root has none */
  uint8_t form;
  bool again;     /* a new beginning that leads to itself */
  bool any_key;   /* it is told as [*], */
  bool keys_vary; /* which stands for more than one key */
  lh_value key;
  uint32_t level;       /* pieces since the last new beginning */
  uint32_t depth;       /* steps above */
  uint32_t n_below;     /* directly */
  lh_id entry;          /* the first object that was reached here, */
  lh_id example;        /* and a member, if any is here: the one that retains most */
  uint32_t class_index; /* of all objects here; UINT32_MAX: of several classes */
  uint32_t through;     /* objects here on the paths, the members included */
  uint32_t here;        /* members, */
  uint32_t objects;     /* and those further on, too */
  uint64_t bytes;       /* lh_divide_retained */
} lh_merged_step;

typedef struct lh_step_tree {
  const lh_folds *folds; /* of the snapshot */
  lh_merged_step *list;  /* the first is the root */
  size_t n, capacity;
  uint32_t *of;       /* the step of each object on a path; 0: of none */
  uint8_t *is_member; /* of each object */
} lh_step_tree;

/* The tree of the shortest paths to all `ids`, which are reachable and not luaheap's own. False:
** out of memory. `tree` is all zero before; to be followed by lh_free_step_tree, whatever it
** returns. */
bool lh_make_step_tree(lh_step_tree *tree, const lh_snapshot *snapshot, const lh_id *ids,
                       size_t n_ids);
void lh_free_step_tree(lh_step_tree *tree);

/* Sets the bytes of each step, of a tree of the paths to all `ids`; its `of` changes. False: out of
** memory. */
bool lh_divide_retained(lh_step_tree *tree, const lh_snapshot *snapshot, const lh_id *ids,
                        size_t n_ids);

/* ==== growing*.c ==================================================================== */

/* How old objects are among all, by the order of their allocation. Fixed ones, and those with a
** finalizer, have no place in it, but the latter have their epoch. */
typedef struct lh_ages {
  const lh_snapshot *snapshot;
  const lh_tree *tree;
  uint32_t *n_before;      /* of each 64 ids: how many reachable objects have smaller ones */
  uint32_t n;              /* reachable ones on allgc */
  double since_first_mark; /* share of the reachable objects */
  uint32_t round;          /* a number for each collection that is looked at */
  uint32_t *counted;       /* of each object: the last round in which it was an element */
  uint32_t *epochs;        /* of each epoch: the last round with an element of it */
  lh_id_range neighbours;  /* objects that have the epoch of the last element */
  uint32_t epoch;
  const lh_history *history;
  uint64_t content_seed; /* secret, so that no two contents are made to be the same number */
} lh_ages;

/* The youngest element; how many objects elements are, with what they dominate. */
typedef struct lh_youth {
  lh_id youngest;
  uint64_t objects;
} lh_youth;

/* Begins a round; then comes each element. One that another object of the collection retains,
** `inner`, counts no objects. */
lh_youth lh_ages_begin(lh_ages *ages);
void lh_age_element(lh_ages *ages, lh_growing *g, lh_youth *youth, lh_id id, bool inner);

/* Fills in `younger`, and in_one_go from the allocation of `first` on. */
void lh_ages_end(const lh_ages *ages, lh_growing *g, const lh_youth *youth, lh_id first);

typedef struct lh_top {
  uint32_t of; /* index of what was found, or of its row */
  uint32_t position;
} lh_top;

typedef struct lh_grower {
  lh_snapshot *snapshot;
  const lh_tree *tree;
  lh_ages ages;
  lh_growing *found;
  size_t n, capacity;
  lh_top *tops; /* of all found, and from first_top on of the one that comes next */
  size_t n_tops, first_top, top_capacity;
  uint64_t *marks; /* a bit for each position; 0 but while tops are put in order */
} lh_grower;

/* The bytes of a collection are what its tops dominate, however these are nested: begin, name each
** of them, add. */
static inline void lh_begin_tops(lh_grower *grower) {
  grower->n_tops = grower->first_top;
}

bool lh_add_top(lh_grower *grower, lh_id id);

/* Fills in bytes and prospect. */
bool lh_add_growing(lh_grower *grower, const lh_growing *g);

static inline bool lh_are_most(uint64_t part, uint64_t whole) {
  return 10 * part >= 9 * whole;
}

/* growing_tables.c: adds the tables with many elements that are alike. O(entries). */
bool lh_find_collections(lh_grower *grower);

#endif
