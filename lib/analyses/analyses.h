/*
** analyses.h - Private declarations for the analyses of one snapshot.
**
**     top.c            the biggest classes and objects
**     sites.c          allocation sites of the live objects
**     suspects.c       objects that dominate much memory, and where that memory accumulates
**     under.c          the dominator tree below one object
**     modules.c        retained and reached bytes of each module and global
**     thread_groups.c  threads that stand at the same lines
**     bound.c          a limit stored near a collection, such as max = 1000
**     growing.c        leak candidates by the age of their elements: linked objects, and tables
**                      (growing_tables.c)
**     describe.c       the instances of one class: sizes, referrers, allocation sites; their fields
**                      are in describe_fields.c
**     merged_paths.c   the paths to many objects as one tree (merged_steps.c), and other holders
**     garbage.c        why the collector has not freed so much garbage
**     waste.c          memory that a program could give back
**     clusters.c       lists and trees as one thing each; many clusters as a few classes
*/
#pragma once

#include "analyses/answers.h"
#include "graph/graph.h"
#include "name/place.h"
#include "ranking.h"
#include "thresholds.h"

/* True for objects that every program has, which are no leak candidates: the root, _G,
** package.loaded and its modules, the registry, the main thread, code, luaheap's own objects. */
static inline bool lh_is_runtime_object(const lh_snapshot *snapshot, lh_id id) {
  return snapshot->kind[id] & (LH_KIND_RUNTIME | LH_KIND_OWN);
}

/* Does a query count the object: alive or garbage, of its types, and not luaheap's own? */
static inline bool lh_is_queried(const lh_snapshot *snapshot, const lh_top_query *query, lh_id id) {
  return !lh_is_own(snapshot, id) && lh_is_reachable(snapshot, id) != query->garbage &&
         (query->type_mask == 0 || query->type_mask >> lh_type_of(snapshot, id) & 1);
}

/* Orders two classes by name. Returns 0 if either is UINT32_MAX (no class). */
static inline int lh_compare_class_names(const lh_snapshot *snapshot, uint32_t a, uint32_t b) {
  if (a == UINT32_MAX || b == UINT32_MAX) return 0;
  return strcmp(lh_class_at(snapshot, a)->name, lh_class_at(snapshot, b)->name);
}

/* ==== clusters.c ==================================================================== */

/* top[id] is the first object of the cluster of `id`: a linked list or a tree of objects of one
** class, which dominate each other. Outside clusters it is `id` itself. Owned by the snapshot.
** NULL: out of memory. The first call costs O(n). */
const lh_id *lh_kept_clusters(lh_snapshot *snapshot);

/* Union-find: returns the representative of the set of `id`, and halves the path to it. */
static inline lh_id lh_find_first(lh_id *set, lh_id id) {
  for (; set[id] != id; id = set[id]) set[id] = set[set[id]];
  return id;
}

/* Clusters by class, with their retained bytes. */
typedef struct lh_gathering {
  const lh_tree *tree;
  const lh_id *top;
  const uint8_t *heads; /* by object: true if it is the top of other objects; NULL: unknown */
  uint32_t *row_of;     /* by class; LH_NO_NUMBER: none */
  lh_accumulated *rows; /* of the last lh_gather, most bytes first */
  uint32_t n_rows;
  lh_id *ids; /* result of the last lh_list_below */
  size_t n_ids, id_capacity;
} lh_gathering;

bool lh_gathering_make(lh_gathering *g, const lh_tree *tree, const lh_id *top);
void lh_gathering_free(lh_gathering *g);

typedef struct lh_extent {
  uint64_t members;       /* objects of the class of the cluster's top */
  uint64_t shallow_bytes; /* of all objects of the cluster */
  bool branches;          /* a member dominates two others */
} lh_extent;

lh_extent lh_extent_of(const lh_gathering *g, lh_id top);

/* Appends the tops of the clusters directly below a cluster to g->ids. O(members of both). */
bool lh_list_below(lh_gathering *g, lh_id top);

/* Sums up clusters, given by their tops, as one row for each class. O(members of the clusters). */
void lh_gather(lh_gathering *g, const lh_id *tops, size_t n_tops);

/* ==== describe*.c =================================================================== */

typedef struct lh_instances {
  lh_snapshot *snapshot;
  lh_id *ids;
  size_t n;
  uint8_t *is_one;  /* by object: true if it is an instance */
  uint64_t *inside; /* by object: bytes of the instances that it dominates, without itself */
} lh_instances;

/* Like `inside`, but an instance itself counts too. */
static inline uint64_t lh_bytes_of_instances(const lh_instances *of, lh_id id) {
  return of->is_one[id] ? of->snapshot->retained[id] : of->inside[id];
}

/* Retained bytes without the instances that it dominates; 0 for an instance. */
static inline uint64_t lh_bytes_around(const lh_instances *of, lh_id id) {
  return of->snapshot->retained[id] - lh_bytes_of_instances(of, id);
}

/* Only a crafted file exceeds these limits; its further fields are "...". */
enum { LH_MOST_ORDINALS = 256, LH_MOST_LOCALS = 4096 };

/* describe_fields.c: fills out->fields and out->n_fields. False: out of memory. */
bool lh_describe_fields(const lh_instances *of, lh_description *out);

/* ==== merged_steps.c ================================================================ */

/* A step of the tree of merged paths: paths with equal texts share their steps. */
typedef struct lh_merged_step {
  uint32_t above; /* index of the step above, smaller than its own; the root has itself */
  uint32_t step;  /* index in the tree of places (place_steps.h); 0: none, as for the root */
  uint8_t form;
  bool again;     /* a new start of the path that leads to itself */
  bool any_key;   /* printed as [*] */
  bool keys_vary; /* [*] stands for several different keys */
  lh_value key;
  uint32_t level;       /* steps since the last new start */
  uint32_t depth;       /* number of steps above */
  uint32_t n_below;     /* steps directly below */
  lh_id entry;          /* first object that was reached at this step */
  lh_id example;        /* the member here that retains most, if any */
  uint32_t class_index; /* UINT32_MAX: the objects here have several classes */
  uint32_t through;     /* objects here that are on paths, with the members */
  uint32_t here;        /* members at this step */
  uint32_t objects;     /* members at this step and below */
  uint64_t bytes;       /* set by lh_divide_retained */
} lh_merged_step;

typedef struct lh_step_tree {
  const lh_folds *folds; /* owned by the snapshot */
  lh_merged_step *list;  /* list[0] is the root */
  size_t n, capacity;
  uint32_t *of;       /* by object: its step; 0: on no path */
  uint8_t *is_member; /* by object */
  uint8_t *is_freed;  /* by object: does it go with the members? Set by lh_divide_retained */
} lh_step_tree;

/* Makes the tree of the shortest paths to `ids`, which are reachable and not luaheap's. `tree` is
** all zero; free it even after a failure. False: out of memory. */
bool lh_make_step_tree(lh_step_tree *tree, const lh_snapshot *snapshot, const lh_id *ids,
                       size_t n_ids);
void lh_free_step_tree(lh_step_tree *tree);

/* Sets the bytes of each step, for the same `ids`; overwrites `of`. False: out of memory. */
bool lh_divide_retained(lh_step_tree *tree, const lh_snapshot *snapshot, const lh_id *ids,
                        size_t n_ids);

/* ==== growing*.c ==================================================================== */

/* The age of an object is its rank in the order of allocation. Fixed objects have none; objects
** with a finalizer only have an epoch. */
typedef struct lh_ages {
  const lh_snapshot *snapshot;
  const lh_tree *tree;
  uint32_t *n_before;      /* by block of 64 ids: reachable objects with smaller ids */
  uint32_t n;              /* reachable objects on the list allgc */
  double since_first_mark; /* share of the reachable objects allocated since the first mark */
  uint32_t round;          /* number of the collection in work */
  uint32_t *counted;       /* by object: last round in which it was an element */
  uint32_t *epochs;        /* by epoch: last round that had an element of it */
  lh_id_range neighbours;  /* ids that share the epoch of the last element */
  uint32_t epoch;
  const lh_history *history;
  uint64_t content_seed; /* secret, so that a crafted file cannot make two contents collide */
} lh_ages;

/* objects: the elements, with what they dominate. */
typedef struct lh_youth {
  lh_id youngest;
  uint64_t objects;
} lh_youth;

/* lh_ages_begin starts a collection; lh_age_element adds each of its elements. `inner`: another
** object of the collection dominates the element, so its objects count there. */
lh_youth lh_ages_begin(lh_ages *ages);
void lh_age_element(lh_ages *ages, lh_growing *g, lh_youth *youth, lh_id id, bool inner);

/* Sets `younger`, and `in_one_go` for the time from the allocation of `first`. */
void lh_ages_end(const lh_ages *ages, lh_growing *g, const lh_youth *youth, lh_id first);

typedef struct lh_top {
  uint32_t of; /* index in `found`, or of a row */
  uint32_t position;
} lh_top;

typedef struct lh_grower {
  lh_snapshot *snapshot;
  const lh_tree *tree;
  lh_ages ages;
  lh_growing *found;
  size_t n, capacity;
  lh_top *tops; /* of all of `found`; from first_top on those of the next collection */
  size_t n_tops, first_top, top_capacity;
  uint64_t *marks; /* a bit for each object; all 0 except while a list is sorted */
} lh_grower;

/* The bytes of a collection are what its tops dominate; tops may be nested. In order:
** lh_begin_tops, lh_add_top for each top, lh_add_growing. */
static inline void lh_begin_tops(lh_grower *grower) {
  grower->n_tops = grower->first_top;
}

static inline bool lh_add_top(lh_grower *grower, lh_id id) {
  if (grower->n_tops == grower->top_capacity &&
      !lh_grow(&grower->tops, grower->n_tops, &grower->top_capacity, sizeof *grower->tops))
    return false;
  grower->tops[grower->n_tops++] = (lh_top){.position = grower->tree->position[id]};
  return true;
}

/* Adds a copy of `g` with its bytes and prospect. */
bool lh_add_growing(lh_grower *grower, const lh_growing *g);

static inline bool lh_are_most(uint64_t part, uint64_t whole) {
  return 10 * part >= 9 * whole;
}

/* growing_tables.c: adds the tables with many elements that are alike. O(entries). */
bool lh_find_collections(lh_grower *grower);
