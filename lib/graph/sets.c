/*
** sets.c - what each of several vertices reaches, for many at once.
**
** First the strongly connected components, whose vertices reach the same, by R. E. Tarjan,
** "Depth-First Search and Linear Graph Algorithms" (SIAM J. Comput. 1972), made iterative: `from`
** is the way back. A component is popped after all that it reaches, so the reverse order is
** topological, and one sweep over the edges passes on 64 sources, as bits of a word. 2.2 million
** objects with 6.4 million edges: 0.2 s, and 0.05 to 0.15 s for each 64 sources. Memory: 32 n.
*/
#include "graph.h"

typedef struct components {
  const lh_graph *graph;
  const uint8_t *avoided;
  uint32_t *number;  /* 0: not reached */
  uint32_t *lowlink; /* after its component was popped: the component's number */
  uint32_t *next;    /* next edge to follow */
  lh_id *from;
  lh_id *stack; /* grows from the front */
  lh_id *order; /* vertices in the order of popping */
  uint32_t n_numbers, n_stack, n_order, n_components;
} components;

static void enter(components *c, lh_id v, lh_id from) {
  c->number[v] = c->lowlink[v] = ++c->n_numbers;
  c->next[v] = c->graph->first_edge[v];
  c->from[v] = from;
  c->stack[c->n_stack++] = v;
}

/* number[v] becomes UINT32_MAX, so later edges to v lower no lowlink. */
static void pop_component(components *c, lh_id first) {
  lh_id v;
  do {
    v = c->stack[--c->n_stack];
    c->order[c->n_order++] = v;
    c->number[v] = UINT32_MAX;
    c->lowlink[v] = c->n_components;
  } while (v != first);
  c->n_components++;
}

static void search_from(components *c, lh_id source) {
  lh_id at = source;
  enter(c, source, LH_NO_OBJECT);
  while (at != LH_NO_OBJECT) {
    lh_id found = LH_NO_OBJECT;
    uint32_t end = c->graph->first_edge[at + 1];
    while (c->next[at] < end && found == LH_NO_OBJECT) {
      lh_id target = c->graph->edge[c->next[at]++];
      if (c->avoided[target]) continue;
      if (c->number[target] == 0)
        found = target;
      else if (c->number[target] < c->lowlink[at])
        c->lowlink[at] = c->number[target];
    }
    if (found != LH_NO_OBJECT) {
      enter(c, found, at);
      at = found;
      continue;
    }
    lh_id from = c->from[at];
    uint32_t lowlink = c->lowlink[at];
    if (lowlink == c->number[at]) pop_component(c, at);
    if (from != LH_NO_OBJECT && lowlink < c->lowlink[from]) c->lowlink[from] = lowlink;
    at = from;
  }
}

static void add_run(uint64_t word, const lh_reached *run, lh_reached *sums) {
  for (; word != 0; word &= word - 1) {
    lh_reached *sum = &sums[__builtin_ctzll(word)];
    sum->objects += run->objects;
    sum->bytes += run->bytes;
  }
}

/* For at most 64 sources; `words` has a word for each component. */
static void sweep(const components *c, const uint64_t *weight, const lh_id *sources, uint32_t n,
                  uint64_t *words, lh_reached *sums) {
  const lh_graph *graph = c->graph;
  uint64_t last = 0;
  lh_reached run = {0};
  memset(words, 0, c->n_components * sizeof *words);
  for (uint32_t i = 0; i < n; i++) words[c->lowlink[sources[i]]] |= UINT64_C(1) << i;
  for (uint32_t i = c->n_order; i-- > 0;) {
    lh_id v = c->order[i];
    uint64_t word = words[c->lowlink[v]];
    if (word != last) {
      add_run(last, &run, sums);
      run = (lh_reached){0};
      last = word;
    }
    if (word == 0) continue;
    run.objects++;
    run.bytes += weight[v];
    for (uint32_t e = graph->first_edge[v]; e < graph->first_edge[v + 1]; e++)
      if (!c->avoided[graph->edge[e]]) words[c->lowlink[graph->edge[e]]] |= word;
  }
  add_run(last, &run, sums);
}

bool lh_reach_each(const lh_graph *graph, const uint8_t *avoided, const uint64_t *weight,
                   const lh_id *sources, uint32_t n_sources, uint32_t n_asked, lh_reached *sums,
                   lh_reached *together) {
  size_t n = (size_t)graph->n + 1;
  uint64_t *words = NULL;
  components c = {.graph = graph, .avoided = avoided};
  c.number = lh_alloc_zeroed(n, sizeof *c.number);
  c.lowlink = lh_alloc(n, sizeof *c.lowlink);
  c.next = lh_alloc(n, sizeof *c.next);
  c.from = lh_alloc(n, sizeof *c.from);
  c.stack = lh_alloc(n, sizeof *c.stack);
  c.order = lh_alloc(n, sizeof *c.order);
  bool ok = c.number && c.lowlink && c.next && c.from && c.stack && c.order;
  for (uint32_t i = 0; ok && i < n_sources; i++)
    if (c.number[sources[i]] == 0) search_from(&c, sources[i]);
  ok = ok && (words = lh_alloc(c.n_components, sizeof *words));
  *together = (lh_reached){.objects = c.n_order};
  for (uint32_t i = 0; ok && i < c.n_order; i++) together->bytes += weight[c.order[i]];
  for (uint32_t i = 0; ok && i < n_asked; i += 64) {
    uint32_t n_now = n_asked - i < 64 ? n_asked - i : 64;
    for (uint32_t k = i; k < i + n_now; k++) sums[k] = (lh_reached){0};
    sweep(&c, weight, sources + i, n_now, words, sums + i);
  }
  LH_FREE_ALL(c.number, c.lowlink, c.next, c.from, c.stack, c.order, words);
  return ok;
}
