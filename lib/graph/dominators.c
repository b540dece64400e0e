/*
** dominators.c - immediate dominators and retained sizes.
**
** The algorithm of T. Lengauer and R. E. Tarjan, "A Fast Algorithm for Finding Dominators in a
** Flowgraph" (TOPLAS 1979), the simple version with path compression: O(m log n) at worst, linear
** in practice. The names are from the paper: semi(dominator), label, ancestor, bucket, EVAL, LINK.
** A vertex is an object's id; a number is its place in the depth-first search. The root is number
** 1, and 0 means "none". Differences from the paper:
**   - A leaf has no outgoing edge, so it gets no number. Half of a heap is leaves. Its dominator is
**     the nearest common dominator of its referrers, which is that of the first and the last of
**     them in a preorder of the dominator tree. In preorder, the nearest common dominator of two
**     vertices is the least parent of all vertices behind the first, up to the second: a range
**     minimum, from a table over blocks, in constant time.
**   - The main loop needs only edges from a higher number to a lower, half of all. The other edges
**     are applied to semi right after the search.
**   - The search only lists the edges that lead to a known number. A later pass looks at these
**     numbers, because it can prefetch them.
**   - Vertex w is linked when the loop moves on from w: "linked" is "greater than the loop's
**     number".
**   - The bucket of w is emptied when the loop reaches w, not when it reaches the tree children. By
**     then all vertices below w are linked and w is not, so the forest path is the same. So the
**     head of a bucket can be in w's label, and its chain in the members' idom.
**   - EVAL reverses the ancestors on its way up and restores them on its way down: no stack.
**
** Memory beside the result: 4 n for the order; 20 for each vertex with edges; 8 for each edge
** between them outside the search tree, and 4 more for one from a higher to a lower number; later
** 8 n. Cache misses take most of the time, so loops prefetch what they need a few edges or vertices
** later.
*/
#include "graph.h"

#include <string.h>

typedef struct vertex_state {
  uint32_t ancestor; /* the tree parent; compressed by eval */
  uint32_t label;    /* search: next edge. Unlinked: head of the bucket. Linked: as in the paper */
  uint32_t semi;
  uint32_t idom; /* first: the count of edges from higher numbers. In a bucket: the next member */
} vertex_state;

/* An edge outside the search tree, between two numbers. */
typedef struct other_edge {
  uint32_t from, to;
} other_edge;

typedef struct flowgraph {
  const lh_graph *graph;
  uint32_t *number;    /* of a vertex, 0: not reached; in the memory of the result */
  lh_id *vertex;       /* of a number; behind the last number: leaves */
  vertex_state *state; /* of a number */
  uint64_t *leaves;    /* lh_find_leaves */
  uint32_t n_numbers, n_leaves;
  other_edge *others; /* in the order of the search */
  size_t n_others, others_capacity;
  uint32_t *first,
      *from; /* later: the higher numbers of w, from[first[w]] to from[first[w + 1] - 1] */
} flowgraph;

enum { AHEAD = 16, SOON = 4 };

static uint32_t number_vertex(flowgraph *flow, lh_id vertex, uint32_t from) {
  const uint32_t *first_edge = flow->graph->first_edge;
  const lh_id *edge = flow->graph->edge;
  uint32_t first = first_edge[vertex], end = first_edge[vertex + 1];
  uint32_t number = ++flow->n_numbers;
  flow->number[vertex] = number;
  flow->vertex[number] = vertex;
  flow->state[number] = (vertex_state){.ancestor = from, .semi = from, .label = first, .idom = 0};
  for (uint32_t e = first; e < end && e < first + SOON; e++) lh_prefetch(&flow->number[edge[e]]);
  return number;
}

static inline bool list_edge(flowgraph *flow, uint32_t from, uint32_t to) {
  size_t n = flow->n_others;
  if (n > 0 && flow->others[n - 1].from == from && flow->others[n - 1].to == to) return true;
  if (n == flow->others_capacity &&
      !lh_grow(&flow->others, n, &flow->others_capacity, sizeof *flow->others))
    return false;
  flow->others[flow->n_others++] = (other_edge){from, to};
  return true;
}

/* Lists the edges of a vertex to numbered targets, from its state's label on, up to the next target
** without a number. Returns that target, or LH_NO_OBJECT; *ok false: out of memory. */
static lh_id next_target(flowgraph *flow, uint32_t at, bool *ok) {
  const uint32_t *first_edge = flow->graph->first_edge, *numbers = flow->number;
  const lh_id *edge = flow->graph->edge;
  const uint64_t *leaves = flow->leaves;
  vertex_state *state = flow->state;
  for (uint32_t e = state[at].label, end = first_edge[flow->vertex[at] + 1]; e < end; e++) {
    if (lh_is_leaf(leaves, edge[e])) continue;
    uint32_t number = numbers[edge[e]];
    if (number == 0) {
      if (end - e > 2 * SOON) { /* the search comes back to this row */
        lh_prefetch(&numbers[edge[e + 2 * SOON]]);
        lh_prefetch(&first_edge[edge[e + 2 * SOON]]);
        lh_prefetch(&edge[first_edge[edge[e + SOON]]]);
      }
      state[at].label = e + 1;
      return edge[e];
    }
    if (number != at && !list_edge(flow, at, number)) *ok = false;
  }
  state[at].label = 0;
  return LH_NO_OBJECT;
}

/* The depth-first search. The tree parents are the way back, so no stack is needed. */
static bool number_vertices(flowgraph *flow) {
  bool ok = true;
  uint32_t at = number_vertex(flow, LH_ROOT, 0);
  while (at && ok) {
    lh_id found = next_target(flow, at, &ok);
    at = found == LH_NO_OBJECT ? flow->state[at].ancestor : number_vertex(flow, found, at);
  }
  return ok;
}

/* EVAL of a lower number is that number, so edges from there are applied to semi at once. Counts
** the edges from higher numbers. */
static size_t apply_edges(flowgraph *flow) {
  vertex_state *state = flow->state;
  size_t n_higher = 0;
  for (size_t e = 0; e < flow->n_others; e++) {
    const other_edge *edge = &flow->others[e];
    if (e + AHEAD < flow->n_others) lh_prefetch(&state[edge[AHEAD].to]);
    vertex_state *to = &state[edge->to];
    bool is_higher = edge->from > edge->to;
    to->idom += is_higher;
    n_higher += is_higher;
    if (!is_higher && edge->from < to->semi) to->semi = edge->from;
  }
  return n_higher;
}

static bool sort_higher(flowgraph *flow) {
  uint32_t sum = 0, *first = flow->first = lh_alloc((size_t)flow->n_numbers + 2, sizeof *first);
  uint32_t *from = flow->from = lh_alloc(apply_edges(flow), sizeof *from);
  if (!first || !from) return false;
  for (uint32_t w = 1; w <= flow->n_numbers; w++) first[w] = sum += flow->state[w].idom;
  first[flow->n_numbers + 1] = sum;
  for (size_t e = 0; e < flow->n_others; e++) {
    const other_edge *edge = &flow->others[e];
    if (e + AHEAD < flow->n_others) lh_prefetch(&first[edge[AHEAD].to]);
    if (edge->from > edge->to) from[--first[edge->to]] = edge->from;
  }
  lh_free(flow->others);
  flow->others = NULL;
  return true;
}

/* EVAL of the paper, for a linked v: the vertex with the least semi on the forest path to v, below
** its root. All numbers above `at` are linked. */
static uint32_t eval(vertex_state *state, uint32_t v, uint32_t at) {
  uint32_t below = 0, top = v, up;
  while ((up = state[top].ancestor) > at) {
    state[top].ancestor = below;
    below = top;
    top = up;
  }
  while (below) {
    uint32_t next = state[below].ancestor;
    if (state[state[top].label].semi < state[state[below].label].semi)
      state[below].label = state[top].label;
    state[below].ancestor = up;
    top = below;
    below = next;
  }
  return state[v].label;
}

static void empty_bucket(vertex_state *state, uint32_t w) {
  for (uint32_t v = state[w].label, next; v; v = next) {
    next = state[v].idom;
    uint32_t u = eval(state, v, w);
    state[v].idom = state[u].semi < w ? u : w;
  }
}

static void find_semidominators(flowgraph *flow) {
  vertex_state *state = flow->state;
  const uint32_t *first = flow->first, *from = flow->from;
  for (uint32_t w = flow->n_numbers; w > 1; w--) {
    empty_bucket(state, w);
    uint32_t semi = state[w].semi;
    for (uint32_t e = first[w + 1]; e-- > first[w];) {
      if (e >= AHEAD) lh_prefetch(&state[from[e - AHEAD]]);
      uint32_t u = eval(state, from[e], w);
      if (state[u].semi < semi) semi = state[u].semi;
    }
    state[w].semi = semi;
    state[w].label = w;
    if (semi == state[w].ancestor) { /* the tree parent: nothing is between */
      state[w].idom = semi;
    } else {
      state[w].idom = state[semi].label;
      state[semi].label = w;
    }
  }
  empty_bucket(state, 1);
  state[1].idom = 0;
}

/* The paper's last step: the idom of a vertex that is not its semi. */
static void define_implicit(flowgraph *flow) {
  vertex_state *state = flow->state;
  for (uint32_t w = 2; w <= flow->n_numbers; w++)
    if (state[w].idom != state[w].semi) state[w].idom = state[state[w].idom].idom;
}

/* ==== leaves ======================================================================== */

enum { BLOCK = 16, LEVELS = 32 };

/* The dominator tree in preorder, without leaves. */
typedef struct inner_tree {
  uint32_t n;
  uint32_t *above;         /* of a position: the position of the immediate dominator */
  lh_id *vertex;           /* of a position */
  uint32_t *least[LEVELS]; /* the least `above` of 1, 2, 4 ... blocks; all in least[0] */
} inner_tree;

/* Of a vertex with a number: its position, and its dominator as a vertex. Of a leaf: its only
** referrer as a vertex, and NO_PLACE; or the positions of its first and last referrer. NO_PLACE
** twice: the vertex is not reached. */
typedef struct tree_place {
  uint32_t first, last;
} tree_place;

#define NO_PLACE UINT32_MAX

/* Afterwards semi is a number's position, and label a scratch value. Each subtree takes its
** interval from the end of the interval that its dominator has left. */
static void order_numbers(flowgraph *flow, inner_tree *tree, tree_place *places) {
  vertex_state *state = flow->state;
  uint32_t n = flow->n_numbers;
  for (uint32_t w = 1; w <= n; w++) state[w].label = 1;
  for (uint32_t w = n; w > 1; w--) state[state[w].idom].label += state[w].label;
  state[1].semi = 0;
  places[LH_ROOT] = (tree_place){0, LH_NO_OBJECT};
  tree->above[0] = 0;
  tree->vertex[0] = LH_ROOT;
  for (uint32_t w = 2; w <= n; w++) {
    vertex_state *parent = &state[state[w].idom];
    parent->label -= state[w].label;
    uint32_t position = state[w].semi = parent->semi + parent->label;
    tree->above[position] = parent->semi;
    tree->vertex[position] = flow->vertex[w];
    places[flow->vertex[w]] = (tree_place){position, flow->vertex[state[w].idom]};
  }
}

static bool index_blocks(inner_tree *tree) {
  uint32_t n_blocks = (tree->n - 1) / BLOCK + 1, n_levels = 1;
  while (n_blocks >> n_levels) n_levels++;
  uint32_t *least = lh_alloc((size_t)n_blocks * n_levels, sizeof *least);
  if (!least) return false;
  tree->least[0] = least;
  for (uint32_t block = 0, p = 0; block < n_blocks; block++) {
    least[block] = tree->above[p];
    for (uint32_t end = tree->n - p < BLOCK ? tree->n : p + BLOCK; p < end; p++)
      if (tree->above[p] < least[block]) least[block] = tree->above[p];
  }
  for (uint32_t level = 1; level < n_levels; level++) {
    const uint32_t *half = tree->least[level - 1], width = 1u << (level - 1);
    least = tree->least[level] = tree->least[level - 1] + n_blocks;
    for (uint32_t block = 0; block + 2 * width <= n_blocks; block++)
      least[block] = half[block] < half[block + width] ? half[block] : half[block + width];
  }
  return true;
}

static uint32_t least_above(const inner_tree *tree, uint32_t from, uint32_t end, uint32_t least) {
  for (uint32_t p = from; p < end; p++)
    if (tree->above[p] < least) least = tree->above[p];
  return least;
}

/* The position of the nearest common dominator of two positions, which may be one of them. */
static uint32_t common_dominator(const inner_tree *tree, uint32_t first, uint32_t last) {
  uint32_t from = first / BLOCK + 1, end = last / BLOCK;
  if (first == last) return first;
  if (from > end) return least_above(tree, first + 1, last + 1, UINT32_MAX);
  uint32_t least = least_above(tree, first + 1, from * BLOCK, UINT32_MAX);
  least = least_above(tree, end * BLOCK, last + 1, least);
  if (from == end) return least;
  unsigned level = 31 - (unsigned)__builtin_clz(end - from);
  const uint32_t *blocks = tree->least[level];
  uint32_t head = blocks[from], tail = blocks[end - (1u << level)];
  if (head < least) least = head;
  return tail < least ? tail : least;
}

/* The leaf has a referrer v. */
static inline void meet_leaf(tree_place *places, tree_place *leaf, lh_id v) {
  if (leaf->first == NO_PLACE) {
    leaf->first = v;
    return;
  }
  if (leaf->last == NO_PLACE) {
    if (leaf->first == v) return;
    leaf->first = leaf->last = places[leaf->first].first;
  }
  uint32_t p = places[v].first;
  if (p < leaf->first) leaf->first = p;
  if (p > leaf->last) leaf->last = p;
}

static void meet_leaves(const flowgraph *flow, tree_place *places) {
  const uint32_t *first_edge = flow->graph->first_edge;
  const lh_id *edge = flow->graph->edge;
  uint32_t n = flow->graph->n, n_edges = first_edge[n + 1];
  for (lh_id v = 0; v <= n; v++) {
    if (flow->number[v] == 0) continue;
    for (uint32_t e = first_edge[v], end = first_edge[v + 1]; e < end; e++) {
      if (e + AHEAD < n_edges) lh_prefetch(&places[edge[e + AHEAD]]);
      if (lh_is_leaf(flow->leaves, edge[e])) meet_leaf(places, &places[edge[e]], v);
    }
  }
}

static inline void look_ahead(const inner_tree *tree, tree_place leaf) {
  if (leaf.last >= tree->n) return;
  lh_prefetch(&tree->above[leaf.first]);
  lh_prefetch(&tree->above[leaf.last]);
}

static void set_dominators(flowgraph *flow, const inner_tree *tree, const tree_place *places,
                           lh_id *idom) {
  uint32_t n = flow->graph->n;
  for (lh_id v = 0; v <= n; v++) {
    uint32_t first = places[v].first, last = places[v].last;
    if (v + SOON <= n) look_ahead(tree, places[v + SOON]);
    if (flow->number[v] != 0 || first == NO_PLACE) {
      idom[v] = last;
      continue;
    }
    idom[v] = last == NO_PLACE ? first : tree->vertex[common_dominator(tree, first, last)];
    flow->vertex[flow->n_numbers + ++flow->n_leaves] = v;
  }
}

static bool find_those_of_leaves(flowgraph *flow, lh_id *idom) {
  inner_tree tree = {.n = flow->n_numbers, .above = lh_alloc(flow->n_numbers, sizeof *tree.above)};
  tree.vertex = lh_alloc(tree.n, sizeof *tree.vertex);
  size_t n_vertices = (size_t)flow->graph->n + 1;
  tree_place *places = lh_alloc(n_vertices, sizeof *places);
  bool ok = tree.above && tree.vertex && places;
  if (ok) {
    memset(places, 0xFF, n_vertices * sizeof *places);
    order_numbers(flow, &tree, places);
    meet_leaves(flow, places);
    ok = index_blocks(&tree);
  }
  if (ok) set_dominators(flow, &tree, places, idom);
  LH_FREE_ALL(tree.above, tree.vertex, tree.least[0], places);
  return ok;
}

/* ==================================================================================== */

bool lh_find_dominators(const lh_graph *graph, lh_id *idom, lh_id **order, uint32_t *n_order) {
  bool ok = false;
  size_t n_leaves;
  flowgraph flow = {.graph = graph, .number = idom, .leaves = lh_find_leaves(graph, &n_leaves)};
  if (!flow.leaves) goto out;
  memset(idom, 0, ((size_t)graph->n + 1) * sizeof *idom);
  flow.vertex = lh_alloc((size_t)graph->n + 2, sizeof(lh_id));
  flow.state = lh_alloc((size_t)graph->n + 3 - n_leaves, sizeof(vertex_state));
  if (!flow.vertex || !flow.state) goto out;
  if (!number_vertices(&flow) || !sort_higher(&flow)) goto out;
  find_semidominators(&flow);
  define_implicit(&flow);
  LH_FREE_ALL(flow.first, flow.from);
  flow.first = flow.from = NULL;
  if (!find_those_of_leaves(&flow, idom)) goto out;
  *n_order = flow.n_numbers + flow.n_leaves;
  memmove(flow.vertex, flow.vertex + 1, *n_order * sizeof(lh_id));
  *order = flow.vertex;
  flow.vertex = NULL;
  ok = true;
out:
  LH_FREE_ALL(flow.vertex, flow.state, flow.leaves, flow.others, flow.first, flow.from);
  return ok;
}

void lh_sum_retained(const lh_id *order, uint32_t n_order, const lh_id *idom, uint64_t *bytes) {
  for (uint32_t i = n_order; i > 1; i--) {
    if (i > 2 * AHEAD) {
      lh_prefetch(&idom[order[i - 2 * AHEAD]]);
      lh_prefetch(&bytes[idom[order[i - AHEAD]]]);
    }
    bytes[idom[order[i - 1]]] += bytes[order[i - 1]];
  }
}
