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
**   - The main loop keeps only edges from a higher number to a lower, half of all. The search
**     itself already applies the other edges to semi.
**   - Vertex w is linked when the loop moves on from w: "linked" is "greater than the loop's
**     number".
**   - The bucket of w is emptied when the loop reaches w, not when it reaches the tree children. By
**     then all vertices below w are linked and w is not, so the forest path is the same. So the
**     head of a bucket can be in w's label, and its chain in the members' idom.
**   - EVAL reverses the ancestors on its way up and restores them on its way down: no stack.
**
** Memory beside the result: 4 n for the order, 20 for each vertex with edges, 12 for each edge from
** a higher to a lower number, and later 8 n. Cache misses take most of the time, so loops
** prefetch what they need a few edges or vertices later.
*/
#include "graph.h"

#include <string.h>

typedef struct vertex_state {
  uint32_t ancestor; /* the tree parent; compressed by eval */
  uint32_t label;    /* search: next edge. Unlinked: head of the bucket. Linked: as in the paper */
  uint32_t semi;
  uint32_t
      idom; /* search: the last higher number with an edge here. In a bucket: the next member */
} vertex_state;

/* An edge from a higher number to a lower. */
typedef struct higher_edge {
  uint32_t from, to;
} higher_edge;

typedef struct flowgraph {
  const lh_graph *graph;
  uint32_t *number;    /* of a vertex, 0: not reached; in the memory of the result */
  lh_id *vertex;       /* of a number; behind the last number: leaves */
  vertex_state *state; /* of a number */
  uint64_t *leaves;    /* lh_find_leaves */
  uint32_t n_numbers, n_leaves;
  higher_edge *higher; /* in the order of the search */
  size_t n_higher, higher_capacity;
  uint32_t *first,
      *from; /* later: the higher numbers of w, from[first[w]] to from[first[w + 1] - 1] */
} flowgraph;

enum { AHEAD = 16, SOON = 4 };

static uint32_t number_vertex(flowgraph *flow, lh_id vertex, uint32_t from) {
  uint32_t number = ++flow->n_numbers;
  flow->number[vertex] = number;
  flow->vertex[number] = vertex;
  flow->state[number] = (vertex_state){
      .ancestor = from, .semi = from, .label = flow->graph->first_edge[vertex], .idom = 0};
  return number;
}

/* Skips a repeated edge, unless an edge from another vertex came between. */
static bool note_higher(flowgraph *flow, uint32_t from, uint32_t to) {
  uint32_t *last = &flow->state[to].idom;
  if (*last == from) return true;
  if (flow->n_higher == flow->higher_capacity &&
      !lh_grow(&flow->higher, flow->n_higher, &flow->higher_capacity, sizeof *flow->higher))
    return false;
  flow->higher[flow->n_higher++] = (higher_edge){from, to};
  *last = from;
  return true;
}

/* Applies the edges of a vertex to numbered targets, from its state's label on, up to the next
** target without a number. Returns that target, or LH_NO_OBJECT; *ok false: out of memory. */
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
    if (number > at && at < state[number].semi) state[number].semi = at;
    if (number < at && !note_higher(flow, at, number)) *ok = false;
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

static bool sort_higher(flowgraph *flow) {
  uint32_t *first = flow->first = lh_alloc_zeroed((size_t)flow->n_numbers + 2, sizeof *first);
  uint32_t *from = flow->from = lh_alloc(flow->n_higher, sizeof *from);
  if (!first || !from) return false;
  for (size_t e = 0; e < flow->n_higher; e++) first[flow->higher[e].to]++;
  for (uint32_t w = 1; w <= flow->n_numbers + 1; w++) first[w] += first[w - 1];
  for (size_t e = 0; e < flow->n_higher; e++)
    from[--first[flow->higher[e].to]] = flow->higher[e].from;
  lh_free(flow->higher);
  flow->higher = NULL;
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

/* The positions of a leaf's first and last referrer; first > last: none is reached. */
typedef struct leaf_range {
  uint32_t first, last;
} leaf_range;

/* Afterwards semi is a number's position, idom a vertex, and label a scratch value. Each subtree
** takes its interval from the end of the interval that its dominator has left. */
static void order_numbers(flowgraph *flow, inner_tree *tree) {
  vertex_state *state = flow->state;
  uint32_t n = flow->n_numbers;
  for (uint32_t w = 1; w <= n; w++) state[w].label = 1;
  for (uint32_t w = n; w > 1; w--) state[state[w].idom].label += state[w].label;
  state[1].semi = 0;
  tree->above[0] = 0;
  tree->vertex[0] = LH_ROOT;
  for (uint32_t w = 2; w <= n; w++) {
    vertex_state *parent = &state[state[w].idom];
    state[w].idom = flow->vertex[state[w].idom];
    parent->label -= state[w].label;
    state[w].semi = parent->semi + parent->label;
    tree->above[state[w].semi] = parent->semi;
    tree->vertex[state[w].semi] = flow->vertex[w];
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

static void meet_leaves(const flowgraph *flow, leaf_range *ranges) {
  const uint32_t *first_edge = flow->graph->first_edge;
  const lh_id *edge = flow->graph->edge;
  uint32_t n = flow->graph->n, n_edges = first_edge[n + 1];
  for (lh_id v = 0; v <= n; v++) ranges[v] = (leaf_range){UINT32_MAX, 0};
  for (lh_id v = 0; v <= n; v++) {
    if (flow->number[v] == 0) continue;
    uint32_t p = flow->state[flow->number[v]].semi;
    for (uint32_t e = first_edge[v], end = first_edge[v + 1]; e < end; e++) {
      if (!lh_is_leaf(flow->leaves, edge[e])) continue;
      if (e + AHEAD < n_edges) lh_prefetch(&ranges[edge[e + AHEAD]]);
      leaf_range *range = &ranges[edge[e]];
      if (p < range->first) range->first = p;
      if (p > range->last) range->last = p;
    }
  }
}

/* Replaces each number by the vertex of its dominator. */
static void set_dominators(flowgraph *flow, const inner_tree *tree, const leaf_range *ranges,
                           lh_id *idom) {
  uint32_t n = flow->graph->n;
  for (lh_id v = 1; v <= n; v++) {
    if (v + AHEAD <= n) lh_prefetch(&flow->state[flow->number[v + AHEAD]]);
    const leaf_range *range = &ranges[v];
    if (flow->number[v] != 0) {
      idom[v] = flow->state[flow->number[v]].idom;
    } else if (range->first <= range->last) {
      idom[v] = tree->vertex[common_dominator(tree, range->first, range->last)];
      flow->vertex[flow->n_numbers + ++flow->n_leaves] = v;
    } else {
      idom[v] = LH_NO_OBJECT;
    }
  }
  idom[LH_ROOT] = LH_NO_OBJECT;
}

static bool find_those_of_leaves(flowgraph *flow, lh_id *idom) {
  inner_tree tree = {.n = flow->n_numbers, .above = lh_alloc(flow->n_numbers, sizeof *tree.above)};
  tree.vertex = lh_alloc(tree.n, sizeof *tree.vertex);
  leaf_range *ranges = lh_alloc((size_t)flow->graph->n + 1, sizeof *ranges);
  bool ok = tree.above && tree.vertex && ranges;
  if (ok) {
    order_numbers(flow, &tree);
    meet_leaves(flow, ranges);
    ok = index_blocks(&tree);
  }
  if (ok) set_dominators(flow, &tree, ranges, idom);
  LH_FREE_ALL(tree.above, tree.vertex, tree.least[0], ranges);
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
  LH_FREE_ALL(flow.vertex, flow.state, flow.leaves, flow.higher, flow.first, flow.from);
  return ok;
}

void lh_sum_retained(const lh_id *order, uint32_t n_order, const lh_id *idom, uint64_t *bytes) {
  for (uint32_t i = n_order; i > 1; i--) bytes[idom[order[i - 1]]] += bytes[order[i - 1]];
}
