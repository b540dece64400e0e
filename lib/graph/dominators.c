/*
** dominators.c - immediate dominators and retained sizes.
**
** The algorithm of T. Lengauer and R. E. Tarjan, "A Fast Algorithm for Finding Dominators in a
** Flowgraph" (TOPLAS 1979), the simple version with path compression: O(m log n) in the worst case,
** linear in practice. Their words: semi(dominator), label, ancestor, bucket, EVAL, LINK. A vertex
** is what the graph numbers (an object's id); a number is its place in the depth-first search, from
** 1 on. The root is number 1, and 0 means "none". After the search only numbers are used, so that
** neighbours in the tree are neighbours in memory.
**
** What differs from the paper:
**   - of the edges into a number only those from higher ones are kept for the main loop: what an
**     edge from a lower one contributes to semi is known when the search meets it. That halves
**     them.
**   - vertex w is linked when the loop moves on from w: "linked" is "greater than the loop's
**     number".
**   - the bucket of w is emptied when the loop comes to w, and not when its tree children do. By
**     then all that lies below w is linked and w is not: the same forest path. So a bucket's head
**     can stand in w's label, unused until then, and its chain in the members' idom, unknown until
**     then.
**   - EVAL turns the ancestors around on its way up and back again on its way down: no stack.
**
** Memory beside the result, for n objects and m edges: 24 n, and 4 bytes for each edge from a
** higher to a lower number, of which there are m - n at most. 2.2 million objects with 6.4 million
** edges: 0.13 s, more than half of it page faults on fresh memory, a fifth the search. Where every
** edge leads to a random place cache misses make it 1.2 s for 8 million edges, a bit more than two
** collections of the same heap; looking ahead as in reach.c was tried there and gained nothing.
*/
#include "graph.h"

#include <string.h>

typedef struct vertex_state {
  uint32_t ancestor; /* the tree parent; compressed by eval */
  uint32_t label;    /* search: next edge. Unlinked: head of the bucket. Linked: as in the paper */
  uint32_t semi;
  uint32_t idom; /* search: edges from higher numbers. In a bucket: the next member */
} vertex_state;

typedef struct flowgraph {
  const lh_graph *graph;
  uint32_t *number;    /* of a vertex, 0: not reached; in the memory of the result */
  lh_id *vertex;       /* of a number */
  vertex_state *state; /* of a number */
  uint32_t n_numbers;
  uint32_t *first_higher; /* of a number: its predecessors with higher numbers, in `higher` */
  uint32_t *higher;
} flowgraph;

static uint32_t number_vertex(flowgraph *flow, lh_id vertex, uint32_t from) {
  uint32_t number = ++flow->n_numbers;
  flow->number[vertex] = number;
  flow->vertex[number] = vertex;
  flow->state[number] = (vertex_state){
      .ancestor = from, .semi = from, .label = flow->graph->first_edge[vertex], .idom = 0};
  return number;
}

/* The depth-first search. The way back is the tree, so it needs no stack. */
static void number_vertices(flowgraph *flow) {
  const uint32_t *first_edge = flow->graph->first_edge;
  uint32_t at = number_vertex(flow, LH_ROOT, 0);
  while (at) {
    vertex_state *state = &flow->state[at];
    uint32_t e = state->label, end = first_edge[flow->vertex[at] + 1];
    lh_id found = LH_NO_OBJECT;
    for (; e < end && found == LH_NO_OBJECT; e++) {
      lh_id target = flow->graph->edge[e];
      uint32_t number = flow->number[target];
      if (number == 0)
        found = target;
      else if (number < at)
        flow->state[number].idom++;
      else if (at < flow->state[number].semi)
        flow->state[number].semi = at;
    }
    state->label = e;
    at = found == LH_NO_OBJECT ? state->ancestor : number_vertex(flow, found, at);
  }
}

static bool collect_higher(flowgraph *flow) {
  uint32_t n = flow->n_numbers, sum = 0;
  flow->first_higher = lh_alloc((size_t)n + 2, sizeof(uint32_t));
  if (!flow->first_higher) return false;
  for (uint32_t w = 1; w <= n; w++) {
    sum += flow->state[w].idom;
    flow->first_higher[w] = sum; /* the end; filling moves it to the start */
    flow->state[w].idom = 0;
    flow->state[w].label = 0;
  }
  flow->first_higher[n + 1] = sum;
  flow->higher = lh_alloc(sum, sizeof(uint32_t));
  if (!flow->higher) return false;
  for (uint32_t v = n; v >= 1; v--) {
    lh_id vertex = flow->vertex[v];
    for (uint32_t e = flow->graph->first_edge[vertex]; e < flow->graph->first_edge[vertex + 1];
         e++) {
      uint32_t w = flow->number[flow->graph->edge[e]];
      if (w < v) flow->higher[--flow->first_higher[w]] = v;
    }
  }
  return true;
}

/* EVAL of the paper, for a linked v: of the vertices on the forest path to v below its root, the
** one with the least semi. All numbers above `at` are linked. */
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
  for (uint32_t w = flow->n_numbers; w > 1; w--) {
    empty_bucket(state, w);
    uint32_t semi = state[w].semi;
    for (uint32_t e = flow->first_higher[w]; e < flow->first_higher[w + 1]; e++) {
      uint32_t u = eval(state, flow->higher[e], w);
      if (state[u].semi < semi) semi = state[u].semi;
    }
    state[w].semi = semi;
    state[w].label = w;
    if (semi == state[w].ancestor) { /* the tree parent: nothing lies between */
      state[w].idom = semi;
    } else {
      state[w].idom = state[semi].label;
      state[semi].label = w;
    }
  }
  empty_bucket(state, 1);
  state[1].idom = 0;
}

/* idom is implicit, as in the paper, where it is not semi. In place of the numbers come
** vertices. */
static void define_implicit(flowgraph *flow, lh_id *idom) {
  vertex_state *state = flow->state;
  for (lh_id v = 0; v <= flow->graph->n; v++) idom[v] = LH_NO_OBJECT;
  for (uint32_t w = 2; w <= flow->n_numbers; w++) {
    if (state[w].idom != state[w].semi) state[w].idom = state[state[w].idom].idom;
    idom[flow->vertex[w]] = flow->vertex[state[w].idom];
  }
}

bool lh_find_dominators(const lh_graph *graph, lh_id *idom, lh_id **order, uint32_t *n_order) {
  bool ok = false;
  size_t n = (size_t)graph->n + 1;
  flowgraph flow = {.graph = graph, .number = idom};
  flow.vertex = lh_alloc(n + 1, sizeof(lh_id));
  flow.state = lh_alloc(n + 1, sizeof(vertex_state));
  if (!flow.vertex || !flow.state) goto out;
  memset(idom, 0, n * sizeof *idom);
  number_vertices(&flow);
  if (!collect_higher(&flow)) goto out;
  find_semidominators(&flow);
  define_implicit(&flow, idom);
  *n_order = flow.n_numbers;
  memmove(flow.vertex, flow.vertex + 1, *n_order * sizeof(lh_id));
  *order = flow.vertex;
  flow.vertex = NULL;
  ok = true;
out:
  lh_free(flow.vertex);
  lh_free(flow.state);
  lh_free(flow.first_higher);
  lh_free(flow.higher);
  return ok;
}

void lh_sum_retained(const lh_id *order, uint32_t n_order, const lh_id *idom, uint64_t *bytes) {
  for (uint32_t i = n_order; i > 1; i--) bytes[idom[order[i - 1]]] += bytes[order[i - 1]];
}
