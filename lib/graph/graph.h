/*
** graph.h - the heap as a plain directed graph, and its algorithms. Private to the library.
**
** The algorithms know arrays only, so that a test can pass any graph. Vertices are 0 (the root) to
** n; v has the edges edge[first_edge[v]] to edge[first_edge[v + 1] - 1]. Edges may repeat and may
** be loops. Nothing is recursive. On false (out of memory) results are undefined; nothing stays
** allocated.
*/
#pragma once

#include "graph/answers.h"
#include "read/snapshot.h"

typedef struct lh_graph {
  uint32_t n;
  const uint32_t *first_edge; /* n + 2 */
  const lh_id *edge;
} lh_graph;

static inline lh_graph lh_graph_of(const lh_snapshot *snapshot) {
  return (lh_graph){snapshot->n, snapshot->first_edge, snapshot->edge};
}

static inline void lh_prefetch(const void *p) {
  __builtin_prefetch(p);
}

/* ==== graph.c ======================================================================= */

/* Prepares the rows for an analysis; lh_drop_graph undoes this. */
int lh_build_graph(lh_snapshot *snapshot, lh_error *error);

/* Removes the edges of ephemerons that a search proved dead. False: it proves too little. Then
** lh_wake_ephemerons finds the live ones, and the search must be repeated. */
bool lh_prove_ephemerons(lh_snapshot *snapshot);
bool lh_wake_ephemerons(lh_snapshot *snapshot);

void lh_drop_graph(lh_snapshot *snapshot);

/* Sets seen[v] to LH_SEEN_ALIVE if the root reaches v. Before: 0, or LH_SEEN_GONE for a vertex to
** avoid. `by_table`: ephemerons without an edge, sorted by table (or all with table and key
** exchanged). */
enum { LH_SEEN_ALIVE = 1, LH_SEEN_GONE = 2 };
bool lh_reach_alive(const lh_graph *graph, const lh_ephemeron *by_table, size_t n, uint8_t *seen);

/* ==== analyse.c ===================================================================== */

/* LH_EARGUMENT if the snapshot is not analysed or has no object `id`. */
int lh_check_id(const lh_snapshot *snapshot, lh_id id, lh_error *error);

/* For questions about `n_paths` paths to the object. Errors as of lh_check_id, and LH_EARGUMENT if
** that is fewer than `least`, LH_ENOTFOUND if the object is not reachable. */
int lh_check_paths(const lh_snapshot *snapshot, lh_id id, size_t n_paths, size_t least,
                   lh_error *error);

/* The first part of lh_analyse, with shortest paths and lh_reach_totals. Enough for lh_classify. */
int lh_find_paths(lh_snapshot *snapshot, lh_error *error);

/* Frees the results of lh_analyse and lh_classify, except lh_reach_totals. */
void lh_forget_analysis(lh_snapshot *snapshot);

typedef struct lh_search lh_search;
typedef struct lh_flow lh_flow;
void lh_search_begin(const lh_snapshot *snapshot, lh_search *search, uint32_t *distance,
                     lh_id *parent);

/* ==== reach.c ======================================================================= */

#define LH_UNREACHED UINT32_MAX
#define LH_AVOIDED (UINT32_MAX - 1)

/* A breadth-first search. Before: distance[v] is LH_UNREACHED, or LH_AVOIDED for a vertex to avoid.
** After: the length of the shortest path, and parent[v] is the vertex before on that path. */
struct lh_search {
  lh_graph graph;
  const uint8_t *kind; /* as in the snapshot: paths prefer some kinds */
  lh_id registry;
  uint32_t *distance;
  lh_id *parent;
  uint32_t *parent_edge;       /* optional: the best of several edges from the parent */
  const lh_snapshot *snapshot; /* the owner of the edges, needed with parent_edge */
  /* Optional: the first `max_found` sources of edges to `watched`, nearest and best first. The
     search ends when they are found. */
  lh_id watched;
  lh_id *found;
  size_t n_found, max_found;
  /* Optional: ignores the edges from cut_from[v] to each v with is_cut[v]. */
  const uint8_t *is_cut;
  const lh_id *cut_from;
  /* Optional: the vertex before v on the shortest path through no thread; LH_ROOT: it is parent[v].
     Made only if such a path is longer than the shortest. */
  lh_id **named_by;
  lh_id from;    /* the start; LH_ROOT if not set */
  lh_flow *flow; /* optional: the paths already taken (flow.c) */
};

bool lh_search_paths(lh_search *search);

/* The vertices without edges, a bit for each vertex. The caller frees them. */
uint64_t *lh_find_leaves(const lh_graph *graph, size_t *n_leaves);

/* Sorts a list of ids up to n, descending, if they are many: then objects that were allocated
** together follow each other, and so do their items in arrays. Returns how many are left, because a
** sorted list has each id once. `bits`: n / 64 + 1 zeros, before and after. */
size_t lh_sort_many_ids(uint64_t *bits, uint32_t n, lh_id *ids, size_t n_ids);

static inline bool lh_is_leaf(const uint64_t *leaves, lh_id v) {
  return leaves[v / 64] >> v % 64 & 1;
}

/* The object before on the path that names an object: its shortest path through no thread, so that
** the name does not depend on the running code. If there is none, its shortest path. */
static inline lh_id lh_naming_parent(const lh_snapshot *snapshot, lh_id id) {
  lh_id named_by = snapshot->named_by ? snapshot->named_by[id] : LH_ROOT;
  return named_by != LH_ROOT ? named_by : snapshot->parent[id];
}

/* ==== flow.c ======================================================================== */

/* At most one path takes a reference. Some references are one unit for people (a table's entry and
** its key, a variable): a path takes only one of them. */
lh_flow *lh_flow_new(const lh_snapshot *snapshot, lh_id to); /* NULL: out of memory */
void lh_flow_free(lh_flow *flow);

/* Takes a path that a search with this flow has found; crossing paths exchange their parts. */
bool lh_flow_take(lh_flow *flow, const lh_id *vertices, size_t n);

/* Does a taken path touch the vertex? Then a search may continue to the lh_flow_targets. */
bool lh_flow_touches(const lh_flow *flow, lh_id vertex);
const lh_id *lh_flow_targets(lh_flow *flow, lh_id vertex, size_t *n);

/* The reverse: vertices from which a search may continue to this one. Needs lh_has_edges_to. A
** result is valid until the next call of either function. */
const lh_id *lh_flow_sources(lh_flow *flow, lh_id vertex, size_t *n);

/* The start of the oldest path left: `from`, or if that is the root, a vertex that the root refers
** to (the root's edges stay free). LH_NO_OBJECT: none. */
lh_id lh_flow_start(const lh_flow *flow, lh_id from);

/* Removes that path and appends its edges, without loops, to those of `way`. `place` is UINT32_MAX
** for each vertex, before and after. */
bool lh_flow_next(lh_flow *flow, lh_id start, const lh_path *way, uint32_t *place, lh_path *path);

/* For an edge that is a captured local variable in scope: its other edge. O(n); lh_may_be_variable
** O(1). Ask for at most LH_MOST_VARIABLES. */
enum { LH_MOST_VARIABLES = 64 };
bool lh_may_be_variable(const lh_snapshot *snapshot, const lh_edge *edge);
bool lh_same_variable(const lh_snapshot *snapshot, const lh_edge *edge, lh_edge *other);

/* ==== steps.c ======================================================================= */

bool lh_steps_new(lh_steps **out);
void lh_steps_free(lh_steps *steps); /* NULL is fine */

/* The edge with this number. O(1); if only the record has its label, at most the time of 256
** edges. */
lh_edge lh_edge_at(const lh_snapshot *snapshot, lh_id source, uint32_t e);

/* Orders two edges from one source to one target: negative if `a` is better to show. By rank, then
** by string key, because the order of a table's entries differs from run to run. */
int lh_compare_edges(const lh_snapshot *snapshot, const lh_edge *a, const lh_edge *b);

int lh_compare_edge_numbers(const lh_snapshot *snapshot, uint32_t a, uint32_t b);

/* The best edge that keeps target alive; there must be one. O(1) for a step of the search tree,
** else O(edges of the source). */
lh_edge lh_best_edge(const lh_snapshot *snapshot, lh_id source, lh_id target);

/* ==== referrers.c =================================================================== */

void lh_referrer_index_free(lh_referrer_index *index); /* NULL is fine */

/* The edges that keep an object alive, ascending; the source of an edge. Only if lh_has_edges_to,
** that is, if somebody has asked for referrers. O(1). */
bool lh_has_edges_to(const lh_snapshot *snapshot);
const uint32_t *lh_edges_to(const lh_snapshot *snapshot, lh_id id, size_t *n);
lh_id lh_source_of_edge(const lh_snapshot *snapshot, uint32_t e);

/* Sets refers[v] of each vertex with an edge to an id; is_one[id] must be set. O(n + m), or O(edges
** to them) with the index of referrers. */
void lh_mark_sources(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids,
                     const uint8_t *is_one, uint8_t *refers);

/* ==== freed.c ======================================================================= */

typedef struct lh_freed_set {
  uint8_t *is_freed; /* of each vertex; 0: it stays */
  lh_id *list;       /* freed objects, each once; reachable members first */
  size_t n, n_members;
} lh_freed_set;

/* Call lh_freed_set_free in any case. O(objects behind the members); without an index of referrers
** O(m). */
bool lh_find_freed(lh_freed_set *freed, const lh_snapshot *snapshot, const lh_id *ids,
                   size_t n_ids);
void lh_freed_set_free(lh_freed_set *freed);

/* ==== dominators.c ================================================================== */

/* Fills idom: LH_NO_OBJECT for the root and unreachable vertices. *order has the reachable
** vertices, each behind its dominators; the caller owns it. */
bool lh_find_dominators(const lh_graph *graph, lh_id *idom, lh_id **order, uint32_t *n_order);

/* Turns shallow into retained bytes, in place. */
void lh_sum_retained(const lh_id *order, uint32_t n_order, const lh_id *idom, uint64_t *bytes);

/* ==== preorder.c ==================================================================== */

/* The reachable vertices, with parents and dominators before their children. The caller frees
** them. */
lh_id *lh_sort_by_distance(uint32_t n, const uint32_t *distance, uint32_t *n_reached);

/* A tree over the reachable vertices in preorder: the subtree of v is order[position[v]] to
** order[end[position[v]] - 1], v first. Unreachable: position UINT32_MAX. */
struct lh_tree {
  const lh_snapshot *snapshot; /* set if it is the dominator tree of this snapshot */
  uint32_t n;
  lh_id *order;
  uint32_t *end;
  uint32_t *position; /* of each vertex */
};

/* Of the vertices of lh_sort_by_distance. Call lh_free_tree in any case. O(n). */
bool lh_make_tree(lh_tree *tree, uint32_t n, const lh_id *sorted, uint32_t n_sorted,
                  const lh_id *parent);
void lh_free_tree(lh_tree *tree);

/* The snapshot owns it. The first call O(n); lh_dominator_tree_of is for callers with the sorted
** vertices. */
const lh_tree *lh_dominator_tree(lh_snapshot *snapshot);
const lh_tree *lh_dominator_tree_of(lh_snapshot *snapshot, const lh_id *sorted, uint32_t n_sorted);

/* No pointer from lh_dominator_tree may be used afterwards. */
void lh_drop_dominator_tree(lh_snapshot *snapshot);

/* Both must be reachable. */
static inline bool lh_dominates(const lh_tree *tree, lh_id above, lh_id id) {
  uint32_t p = tree->position[above], q = tree->position[id];
  return p <= q && q < tree->end[p];
}

/* To visit the children of v: start here; the next child is at the end of the one before; stop at
** the end of v. */
static inline uint32_t lh_first_child(const lh_tree *tree, lh_id v) {
  return tree->position[v] + 1;
}

static inline uint32_t lh_end_of(const lh_tree *tree, lh_id v) {
  return tree->end[tree->position[v]];
}

/* ==== sets.c ======================================================================== */

typedef struct lh_reached {
  uint64_t objects, bytes;
} lh_reached;

/* What each of the first n_asked sources reaches, itself included, without an avoided vertex; no
** source is avoided. `together`: by all n_sources. O(n + m) for each 64 asked. */
bool lh_reach_each(const lh_graph *graph, const uint8_t *avoided, const uint64_t *weight,
                   const lh_id *sources, uint32_t n_sources, uint32_t n_asked, lh_reached *sums,
                   lh_reached *together);

/* ==== retained_sets.c =============================================================== */

/* The retained sizes of many disjoint sets of vertices: see retained_sets.c. */
typedef struct lh_unions {
  const lh_snapshot *snapshot; /* analysed */
  const lh_tree *dominators;
  const uint32_t *set_of; /* of each vertex; n_sets or more: in no set, as the root must be */
  uint32_t n_sets;

  /* bounds of the retained size of each set */
  uint64_t *lower, *upper;

  /* private */
  lh_tree paths; /* tree of shortest paths */
  uint32_t *first_member, *member;
  uint64_t *joints; /* a bit for each vertex */
  uint32_t *first_source;
  lh_id *source;
  uint32_t *stamp;
  lh_id *candidate;
  size_t candidate_capacity;
  uint32_t round;
  uint64_t work;     /* of lh_exact_union so far */
  uint64_t searched; /* edges outside of sets */
} lh_unions;

/* Call lh_free_unions in any case. lh_exact_union sets lower and upper to the exact size. */
bool lh_bound_sets(lh_unions *unions, lh_snapshot *snapshot, const uint32_t *set_of, size_t n_sets);
bool lh_exact_union(lh_unions *unions, uint32_t set);
void lh_free_unions(lh_unions *unions);

/* In an array with `stride` bytes from one item to the next. */
bool lh_retained_by_sets(lh_snapshot *snapshot, const uint32_t *set_of, size_t n_sets,
                         uint64_t *retained, size_t stride);

/* ==== verdict.c ===================================================================== */

typedef struct lh_filling {
  uint64_t elements, aged;      /* of these, the ones with an age, each once */
  bool by_marks;                /* a mark is older than the snapshot's own */
  uint64_t since_first_mark;    /* elements younger than the first mark */
  double heap_since_first_mark; /* share of all reachable objects younger than it */
  bool in_one_go;               /* while next to nothing else was allocated */
  double younger;               /* share younger than the youngest element */
  uint64_t bytes;
} lh_filling;

bool lh_was_filled_once(const lh_snapshot *snapshot, const lh_filling *filling);

lh_verdict lh_verdict_of(const uint64_t *figures, size_t n);

/* What the next step will bring at least: the smaller rate a step of the last two parts in which
** the figure grew. 0: it does not grow in each part. */
double lh_rate_of(const uint64_t *figures, size_t n);

lh_verdict lh_verdict_of_two(int64_t before, int64_t after);
