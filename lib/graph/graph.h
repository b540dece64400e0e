/*
** graph.h - the heap as a plain directed graph, and the algorithms over it. Private to the reading
** half.
**
** The algorithms know arrays only, no snapshot and no file, so that a test can hand them any graph.
** Vertices are 0 (the root) to n; the edges of v are edge[first_edge[v]] and what follows, up to
** edge[first_edge[v + 1]]. Edges may repeat and may be loops. All is iterative, whatever the depth.
** A result of false means out of memory; what was filled then is undefined, and nothing is left
** allocated.
*/
#ifndef LUAHEAP_GRAPH_H
#define LUAHEAP_GRAPH_H

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

/* Makes the rows of a snapshot the graph of an analysis: what is left out becomes a loop, and all
** other ephemerons get their edges. And back again. */
int lh_build_graph(lh_snapshot *snapshot, lh_error *error);

/* After a search over it: takes the edges of those away that are not alive. False: the search does
** not tell; then the second finds those that are (false: out of memory), to be searched again. */
bool lh_prove_ephemerons(lh_snapshot *snapshot);
bool lh_wake_ephemerons(lh_snapshot *snapshot);

void lh_drop_graph(lh_snapshot *snapshot);

/* What the root reaches becomes LH_SEEN_ALIVE; before it 0, or LH_SEEN_GONE for what may not be
** touched. `by_table`: ephemerons that are no edges of the graph, in ascending order of their
** tables. Table and key play the same part: of keys is fine, too, with the two exchanged. */
enum { LH_SEEN_ALIVE = 1, LH_SEEN_GONE = 2 };
bool lh_reach_alive(const lh_graph *graph, const lh_ephemeron *by_table, size_t n, uint8_t *seen);

/* ==== analyse.c ===================================================================== */

/* LH_EARGUMENT unless the snapshot is analysed and has an object of this id. */
int lh_check_id(const lh_snapshot *snapshot, lh_id id, lh_error *error);

/* The part of lh_analyse that finds what is reachable, the shortest paths and lh_reach_totals,
** without dominators and retained sizes; enough for lh_classify. */
int lh_find_paths(lh_snapshot *snapshot, lh_error *error);

/* Frees what lh_analyse and lh_classify made; lh_reach_totals stay. */
void lh_forget_analysis(lh_snapshot *snapshot);

/* The same, but what is reachable stays known, to whoever forgets that, too, before anybody else
** has the snapshot. */
void lh_keep_reach_alone(lh_snapshot *snapshot);

/* Prepares a search over all of a snapshot, into arrays of its caller. */
typedef struct lh_search lh_search;
typedef struct lh_flow lh_flow;
void lh_search_begin(const lh_snapshot *snapshot, lh_search *search, uint32_t *distance,
                     lh_id *parent);

/* ==== reach.c ======================================================================= */

#define LH_UNREACHED UINT32_MAX
#define LH_AVOIDED (UINT32_MAX - 1)

/* A breadth-first search, from the root if not said otherwise. Before it distance[v] is
** LH_UNREACHED, or LH_AVOIDED for what no path may touch; after it the length of the shortest path,
** and parent[v] the step before. */
struct lh_search {
  lh_graph graph;
  const uint8_t *kind; /* as in the snapshot: what paths had better not run through */
  lh_id registry;
  uint32_t *distance;
  lh_id *parent;
  uint32_t *parent_edge;       /* optional: of several from the parent the one that is best told */
  const lh_snapshot *snapshot; /* with it: whose edges these are */
  /* Optional: the first `max_found` sources of edges to `watched`, nearest and best first. The
  ** search ends when there are so many. */
  lh_id watched;
  lh_id *found;
  size_t n_found, max_found;
  /* Optional: the edges to each v with is_cut[v] from cut_from[v] are gone. */
  const uint8_t *is_cut;
  const lh_id *cut_from;
  /* Optional: for each v the step before on the shortest path that runs through no thread; LH_ROOT:
  ** it is parent[v]. *named_by is made where there is such a path, and v has a shorter one that
  ** does run through a thread. */
  lh_id **named_by;
  lh_id from;    /* where it begins, LH_ROOT if not set */
  lh_flow *flow; /* optional: paths that are taken already (flow.c) */
};

bool lh_search_paths(lh_search *search);

/* The step before on the path that an object is named by: the shortest one of those that run
** through no thread, so that it is the same whatever runs at the instant of the snapshot; where a
** thread alone keeps it, the shortest. */
static inline lh_id lh_naming_parent(const lh_snapshot *snapshot, lh_id id) {
  lh_id named_by = snapshot->named_by ? snapshot->named_by[id] : LH_ROOT;
  return named_by != LH_ROOT ? named_by : snapshot->parent[id];
}

/* ==== flow.c ======================================================================== */

/* References, each of which at most one path may take. A few may be one for people (a table's entry
** and its key, a variable), and then one path may take any of them. */
lh_flow *lh_flow_new(const lh_snapshot *snapshot, lh_id to); /* NULL: out of memory */
void lh_flow_free(lh_flow *flow);

/* Takes one more path, whose vertices a search with this flow has found: parts of paths that it
** crosses change over. False: out of memory. */
bool lh_flow_take(lh_flow *flow, const lh_id *vertices, size_t n);

/* Has any path come by this vertex? If so, where a search may go on from there. NULL: out of
** memory. */
bool lh_flow_touches(const lh_flow *flow, lh_id vertex);
const lh_id *lh_flow_targets(lh_flow *flow, lh_id vertex, size_t *n);

/* The other way round: from where it may go on to this vertex. Until the next call of either; of a
** snapshot that has the edges to each vertex (referrers.c). */
const lh_id *lh_flow_sources(lh_flow *flow, lh_id vertex, size_t *n);

/* Where the path begins that was taken first and was not taken out yet: at `from`, or where that
** is the root, behind one of its edges, which stay free. LH_NO_OBJECT: there is none. */
lh_id lh_flow_start(const lh_flow *flow, lh_id from);

/* Takes it out: its edges behind those of `way`, without loops. `place` is UINT32_MAX for each
** vertex, and so again. False: out of memory. */
bool lh_flow_next(lh_flow *flow, lh_id start, const lh_path *way, uint32_t *place, lh_path *path);

/* Where an edge stands for a local variable that is captured while it is in scope: the other edge
** that does. O(n), but to see whether it may be such an edge O(1). Of more of them nobody should
** ask at once: programs have few. */
enum { LH_MOST_VARIABLES = 64 };
bool lh_may_be_variable(const lh_snapshot *snapshot, const lh_edge *edge);
bool lh_same_variable(const lh_snapshot *snapshot, const lh_edge *edge, lh_edge *other);

/* ==== steps.c ======================================================================= */

/* Where the records of big sources are entered. */
bool lh_steps_new(lh_steps **out);
void lh_steps_free(lh_steps *steps); /* NULL is fine */

/* What lh_edges_next tells of the edge with this number in the rows, whose source is known. O(1),
** but for what only the record says at most the time of 256 edges. */
lh_edge lh_edge_at(const lh_snapshot *snapshot, lh_id source, uint32_t e);

/* Orders two edges of one source to one target: negative if a person had better be told a. By rank,
** and of string keys the least: the order of a table's entries differs from run to run. */
int lh_compare_edges(const lh_snapshot *snapshot, const lh_edge *a, const lh_edge *b);

int lh_compare_edge_numbers(const lh_snapshot *snapshot, uint32_t a, uint32_t b);

/* The best edge from source to target that keeps it alive: there is one. O(1) for a step of the
** search tree, else O(edges of the source). */
lh_edge lh_best_edge(const lh_snapshot *snapshot, lh_id source, lh_id target);

/* ==== referrers.c =================================================================== */

void lh_referrer_index_free(lh_referrer_index *index); /* NULL is fine */

/* The numbers of the edges that keep a vertex alive, ascending, and the source of an edge: to be
** asked of a snapshot that has them, since somebody asked it for referrers. O(1). */
bool lh_has_edges_to(const lh_snapshot *snapshot);
const uint32_t *lh_edges_to(const lh_snapshot *snapshot, lh_id id, size_t *n);
lh_id lh_source_of_edge(const lh_snapshot *snapshot, uint32_t e);

/* Sets refers[v] of each vertex with an edge to one of the ids: those with is_one[id]. O(n + m), or
** O(edges to them) where there are the sources. */
void lh_mark_sources(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids,
                     const uint8_t *is_one, uint8_t *refers);

/* ==== gone.c ======================================================================== */

/* What goes when all of a set go. */
typedef struct lh_going {
  uint8_t *goes; /* of each vertex: 0, it stays */
  lh_id *list;   /* those that go, each once: the members that are reachable first */
  size_t n, n_members;
} lh_going;

/* False: out of memory. To be followed by lh_going_free, whatever it returns. O(what lies behind
** the members on shortest paths), and where the snapshot has no sources of edges O(m). */
bool lh_find_going(lh_going *going, const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids);
void lh_going_free(lh_going *going);

/* ==== dominators.c ================================================================== */

/* Fills idom[0..n]; LH_NO_OBJECT for the root and what it does not reach. *order is the reachable
** vertices so that each comes behind its dominators, owned by the caller. */
bool lh_find_dominators(const lh_graph *graph, lh_id *idom, lh_id **order, uint32_t *n_order);

/* Turns shallow bytes into retained ones, in place. */
void lh_sum_retained(const lh_id *order, uint32_t n_order, const lh_id *idom, uint64_t *bytes);

/* ==== preorder.c ==================================================================== */

/* The reachable vertices by distance: parents and dominators come before their children. NULL when
** out of memory; freed by the caller. */
lh_id *lh_sort_by_distance(uint32_t n, const uint32_t *distance, uint32_t *n_reached);

/* A tree over the reachable vertices in preorder: the subtree of v is order[position[v]] to
** order[end[position[v]] - 1], v first. The position of what is not reachable is UINT32_MAX. */
struct lh_tree {
  const lh_snapshot *snapshot; /* of whose dominators it is; NULL: it is another tree */
  uint32_t n;
  lh_id *order;
  uint32_t *end;
  uint32_t *position; /* of each vertex */
};

/* False: out of memory. To be followed by lh_free_tree, whatever it returns. O(n). */
bool lh_make_tree(lh_tree *tree, uint32_t n, const uint32_t *distance, const lh_id *parent);
void lh_free_tree(lh_tree *tree);

/* That of the dominators of an analysed snapshot, which keeps it. NULL: out of memory. The first
** call O(n). */
const lh_tree *lh_dominator_tree(lh_snapshot *snapshot);
void lh_dominator_tree_free(lh_tree *tree); /* NULL is fine */

/* Whoever has it from lh_dominator_tree must have done with it. */
void lh_drop_dominator_tree(lh_snapshot *snapshot);

/* Both are reachable. */
static inline bool lh_dominates(const lh_tree *tree, lh_id above, lh_id id) {
  uint32_t p = tree->position[above], q = tree->position[id];
  return p <= q && q < tree->end[p];
}

/* The positions of what v dominates directly are those from the first on that are before the end
** of v; each next one is the end of the one before. */
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

/* What each of the first n_asked sources reaches, itself included, on paths that touch no vertex v
** with avoided[v] (sources are none of those), and what all n_sources reach together. O(n + m) for
** each 64 that are asked for. */
bool lh_reach_each(const lh_graph *graph, const uint8_t *avoided, const uint64_t *weight,
                   const lh_id *sources, uint32_t n_sources, uint32_t n_asked, lh_reached *sums,
                   lh_reached *together);

/* ==== union.c ======================================================================= */

/* What goes when a whole set of vertices goes: more than what its members dominate, as they may
** hold a vertex together. For many disjoint sets over one graph: see union.c. */
typedef struct lh_unions {
  const lh_snapshot *snapshot; /* analysed */
  const lh_tree *dominators;
  const uint32_t *set_of; /* of each vertex; n_sets or more: in none, as the root must be */
  uint32_t n_sets;

  /* the bytes that go with each set lie between these */
  uint64_t *lower, *upper;

  /* private */
  lh_tree paths; /* the shortest ones */
  uint32_t *first_member, *member;
  uint64_t *joints; /* a bit for each vertex */
  uint32_t *first_source;
  lh_id *source;
  uint32_t *stamp;
  lh_id *candidate;
  size_t candidate_capacity;
  uint32_t round;
  uint64_t work; /* of lh_exact_union so far */
} lh_unions;

/* Both to be followed by lh_free_unions, whatever they return; false: out of memory. lh_exact_union
** sets lower and upper of the set to the exact figure. */
bool lh_bound_sets(lh_unions *unions, lh_snapshot *snapshot, const uint32_t *set_of, size_t n_sets);
bool lh_exact_union(lh_unions *unions, uint32_t set);
void lh_free_unions(lh_unions *unions);

/* The bytes that go with each set, in a field of rows of `stride` bytes. False: out of memory. */
bool lh_retained_by_sets(lh_snapshot *snapshot, const uint32_t *set_of, size_t n_sets,
                         uint64_t *retained, size_t stride);

/* ==== verdict.c ===================================================================== */

/* What says whether a collection was filled once. */
typedef struct lh_filling {
  uint64_t aged;                /* elements that have an age, */
  uint64_t since_first_mark;    /* and those of them that are younger than the first mark */
  double heap_since_first_mark; /* the share of all reachable objects that are */
  bool in_one_go;               /* while next to nothing else was allocated */
  double younger;               /* share of all reachable objects: younger than the youngest */
  uint64_t bytes;
} lh_filling;

bool lh_was_filled_once(const lh_snapshot *snapshot, const lh_filling *filling);

/* What becomes of a figure over n snapshots. */
lh_verdict lh_verdict_of(const uint64_t *figures, size_t n);

/* The same of what grew by so much before, and by so much after. */
lh_verdict lh_verdict_of_two(int64_t before, int64_t after);

#endif
