/*
** calls.c - the call graph of what was allocated: for each function the bytes that it allocated
** itself and those that it and all that it called did, and the same from function to function.
**
** Stacks are a tree, in which a caller has a smaller number than what it called. So one pass from
** the last stack to the first adds up the bytes below each, and one through the tree in preorder
** gives them to functions: what is below a function that is among its own callers has been counted
** further up, and the same holds for calls from one function to another. O(stacks log stacks); some
** 40 bytes for each stack.
*/
#include <stdlib.h>
#include <string.h>

#include "name/site_text.h"
#include "usage.h"

typedef struct node {
  double self, below; /* bytes of this stack; and with those of all that it called */
  uint32_t function;
  uint32_t call;           /* from the function of its caller to its own; NO_CALL: it has none */
  lh_stack_id first, next; /* what it called first; what its caller called next */
} node;

enum { NO_CALL = UINT32_MAX };

typedef struct graph {
  const lh_usage *usage;
  const lh_sites *sites;
  lh_site_groups groups;
  uint32_t n;          /* stacks */
  node *nodes;         /* of stack 0, 1 ...; the first branches hang at 0, which is no caller */
  lh_map call_numbers; /* of a caller and what it called */
  uint32_t *functions_on_path, *calls_on_path; /* how often each is among the callers */
  const lh_profile_call **calls_of;            /* of each stack's function; NULL: none */
  lh_call_usage *calls;
  lh_usage_calls *out;
} graph;

/* {=== The tree ======================================================================= */

static bool number_functions(graph *g) {
  g->nodes = lh_alloc_zeroed((size_t)g->n + 1, sizeof *g->nodes);
  for (uint32_t stack = 0; g->nodes && stack <= g->n; stack++) {
    g->nodes[stack].function = lh_group_of_site(&g->groups, g->sites, stack);
    g->nodes[stack].call = NO_CALL;
  }
  return g->nodes && !g->groups.failed;
}

/* Branches without bytes and calls are left out. */
static void add_up(graph *g) {
  for (size_t i = 0; i < g->usage->n; i++) {
    const lh_usage_row *row = &g->usage->rows[i];
    double bytes = lh_allocated_bytes(&row->amounts);
    g->nodes[row->stack].self += bytes;
    g->nodes[row->stack].below += bytes;
    g->out->bytes += (uint64_t)bytes;
  }
  for (lh_stack_id stack = g->n; stack > 0; stack--) {
    node *child = &g->nodes[stack];
    lh_stack_id parent = lh_stack_of(g->sites, stack)->parent;
    if (child->below <= 0 && child->first == 0 && !g->calls_of[stack]) continue;
    if (parent != 0) g->nodes[parent].below += child->below;
    child->next = g->nodes[parent].first;
    g->nodes[parent].first = stack;
  }
}

static bool number_calls(graph *g) {
  for (lh_stack_id stack = 1; stack <= g->n; stack++) {
    lh_stack_id parent = lh_stack_of(g->sites, stack)->parent;
    if (parent == 0) continue;
    uint64_t key = (uint64_t)g->nodes[parent].function << 32 | g->nodes[stack].function;
    uint32_t *number = lh_map_at(&g->call_numbers, key);
    if (!number) return false;
    if (*number == LH_NO_NUMBER) *number = (uint32_t)g->call_numbers.n - 1;
    g->nodes[stack].call = *number;
  }
  return true;
}

/* }=================================================================================== */

/* {=== From stacks to functions ======================================================= */

static void enter(graph *g, lh_stack_id stack) {
  const node *at = &g->nodes[stack];
  lh_function_usage *function = &g->out->functions[at->function];
  if (function->stack == 0) function->stack = stack;
  function->self_bytes += (uint64_t)at->self;
  if (g->functions_on_path[at->function]++ == 0) function->total_bytes += (uint64_t)at->below;
  if (at->call == NO_CALL) return;
  lh_call_usage *call = &g->calls[at->call];
  call->caller = lh_stack_of(g->sites, stack)->parent;
  call->called = stack;
  call->self_bytes += (uint64_t)at->self;
  if (g->calls_on_path[at->call]++ == 0) call->total_bytes += (uint64_t)at->below;
  if (!g->calls_of[stack]) return;
  call->calls += g->calls_of[stack]->calls;
  call->tail_calls += g->calls_of[stack]->tail_calls;
}

static void leave(graph *g, lh_stack_id stack) {
  const node *at = &g->nodes[stack];
  g->functions_on_path[at->function]--;
  if (at->call != NO_CALL) g->calls_on_path[at->call]--;
}

/* In preorder, without recursion: callers lead back. */
static void walk(graph *g) {
  lh_stack_id at = g->nodes[0].first;
  bool down = true;
  while (at != 0) {
    const node *here = &g->nodes[at];
    if (down) enter(g, at);
    if (down && here->first != 0) {
      at = here->first;
      continue;
    }
    leave(g, at);
    down = here->next != 0;
    at = down ? here->next : lh_stack_of(g->sites, at)->parent;
  }
}

static void add_unattributed(graph *g) {
  lh_function_usage *function = &g->out->functions[g->nodes[0].function];
  uint64_t bytes = (uint64_t)g->nodes[0].self;
  function->self_bytes += bytes;
  function->total_bytes += bytes;
}

static void add_blocks(graph *g) {
  for (size_t i = 0; i < g->usage->n; i++) {
    const lh_usage_row *row = &g->usage->rows[i];
    g->out->functions[g->nodes[row->stack].function].self_blocks +=
        (uint64_t)(row->amounts.made + 0.5);
  }
}

static bool make_room(graph *g) {
  size_t n_functions = g->groups.n, n_calls = g->call_numbers.n;
  lh_usage_calls *out = g->out;
  out->n_functions = n_functions;
  out->functions = lh_alloc_zeroed(n_functions, sizeof *out->functions);
  out->calls[0] = g->calls = lh_alloc_zeroed(n_calls + 1, sizeof *g->calls);
  out->calls[1] = lh_alloc(n_calls + 1, sizeof *g->calls);
  g->functions_on_path = lh_alloc_zeroed(n_functions, sizeof *g->functions_on_path);
  g->calls_on_path = lh_alloc_zeroed(n_calls + 1, sizeof *g->calls_on_path);
  return out->functions && out->calls[0] && out->calls[1] && g->functions_on_path &&
         g->calls_on_path;
}

/* }=================================================================================== */

/* {=== Calls of the hook ============================================================== */

static bool count_calls(graph *g) {
  size_t n;
  const lh_profile_call *list = lh_profile_calls(g->usage->profile, &n);
  g->calls_of = lh_alloc_zeroed((size_t)g->n + 1, sizeof *g->calls_of);
  for (size_t i = 0; g->calls_of && list && i < n; i++)
    if (list[i].stack <= g->n && list[i].calls > 0) g->calls_of[list[i].stack] = &list[i];
  return g->calls_of;
}

/* A function is constant if it was so from wherever it was called. */
static void add_calls(graph *g) {
  size_t n;
  const lh_profile_call *list = lh_profile_calls(g->usage->profile, &n);
  for (size_t i = 0; list && i < n; i++) {
    if (list[i].stack > g->n || list[i].calls == 0) continue;
    lh_function_usage *f = &g->out->functions[g->nodes[list[i].stack].function];
    f->is_constant = list[i].is_constant && (f->calls == 0 || f->is_constant);
    f->calls += list[i].calls;
    f->tail_calls += list[i].tail_calls;
    f->self_ns += list[i].self_ns;
    f->total_ns += list[i].total_ns;
  }
}

/* }=================================================================================== */

/* {=== In order ======================================================================= */

static int compare(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int compare_functions(const void *a, const void *b) {
  const lh_function_usage *left = a, *right = b;
  int order = compare(right->total_bytes, left->total_bytes);
  if (order == 0) order = compare(right->total_ns, left->total_ns);
  return order != 0 ? order : compare(left->stack, right->stack);
}

/* By the function on one side, most bytes first; `data` is the graph. */
static int compare_calls(const lh_call_usage *a, const lh_call_usage *b, uint32_t of_a,
                         uint32_t of_b) {
  int order = compare(of_a, of_b);
  if (order == 0) order = compare(b->total_bytes, a->total_bytes);
  if (order == 0) order = compare(b->calls, a->calls);
  if (order == 0) order = compare(a->caller, b->caller);
  return order != 0 ? order : compare(a->called, b->called);
}

static int compare_callers(const void *a, const void *b, void *data) {
  const lh_call_usage *left = a, *right = b;
  const node *nodes = ((const graph *)data)->nodes;
  return compare_calls(left, right, nodes[left->called].function, nodes[right->called].function);
}

static int compare_called(const void *a, const void *b, void *data) {
  const lh_call_usage *left = a, *right = b;
  const node *nodes = ((const graph *)data)->nodes;
  return compare_calls(left, right, nodes[left->caller].function, nodes[right->caller].function);
}

/* Calls that no branch made, which has neither bytes nor calls, go. */
static size_t keep_real_calls(graph *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->call_numbers.n; i++)
    if (g->calls[i].called != 0) g->calls[n++] = g->calls[i];
  return n;
}

/* Each function gets its part of both lists. */
static void share_calls(graph *g) {
  size_t n = keep_real_calls(g);
  lh_call_usage *callers = g->out->calls[0], *called = g->out->calls[1];
  memcpy(called, callers, n * sizeof *called);
  qsort_r(callers, n, sizeof *callers, compare_callers, g);
  qsort_r(called, n, sizeof *called, compare_called, g);
  for (size_t i = 0; i < n; i++) {
    lh_function_usage *f = &g->out->functions[g->nodes[callers[i].called].function];
    if (f->n_callers++ == 0) f->callers = &callers[i];
    f = &g->out->functions[g->nodes[called[i].caller].function];
    if (f->n_called++ == 0) f->called = &called[i];
  }
}

static void keep_real_functions(lh_usage_calls *out) {
  size_t n = 0;
  for (size_t i = 0; i < out->n_functions; i++)
    if (out->functions[i].total_bytes > 0 || out->functions[i].calls > 0)
      out->functions[n++] = out->functions[i];
  out->n_functions = n;
  qsort(out->functions, n, sizeof *out->functions, compare_functions);
}

/* }=================================================================================== */

/* {=== Branches ======================================================================= */

static int compare_branches(const void *a, const void *b) {
  const lh_stack_branch *left = a, *right = b;
  int order = compare(left->total_bytes, right->total_bytes);
  return order != 0 ? order : compare(right->stack, left->stack);
}

/* Those at which a stack's branches begin are put on a pile, the one with most bytes on top. */
static bool push(graph *g, lh_stack_branch **pile, size_t *n, size_t *capacity, lh_stack_id stack,
                 uint32_t depth, uint64_t least_bytes) {
  size_t before = *n;
  for (lh_stack_id at = g->nodes[stack].first; at != 0; at = g->nodes[at].next) {
    uint64_t bytes = (uint64_t)g->nodes[at].below;
    if (bytes == 0 || bytes < least_bytes) continue;
    if (!lh_grow(pile, *n, capacity, sizeof **pile)) return false;
    (*pile)[(*n)++] = (lh_stack_branch){at, depth, (uint64_t)g->nodes[at].self, bytes};
  }
  if (*n > before) qsort(*pile + before, *n - before, sizeof **pile, compare_branches);
  return true;
}

static bool find_branches(graph *g, uint32_t least_part) {
  uint64_t least_bytes = g->out->bytes / least_part;
  lh_stack_branch *pile = NULL;
  size_t n = 0, capacity = 0, room = 0;
  bool fine = push(g, &pile, &n, &capacity, 0, 0, least_bytes);
  while (fine && n > 0) {
    lh_stack_branch branch = pile[--n];
    fine = lh_grow(&g->out->branches, g->out->n_branches, &room, sizeof branch);
    if (!fine) break;
    g->out->branches[g->out->n_branches++] = branch;
    fine = push(g, &pile, &n, &capacity, branch.stack, branch.depth + 1, least_bytes);
  }
  lh_free(pile);
  return fine;
}

/* }=================================================================================== */

static bool make(graph *g, uint32_t least_part) {
  if (!number_functions(g) || !count_calls(g)) return false;
  add_up(g);
  if (!number_calls(g) || !make_room(g)) return false;
  walk(g);
  add_unattributed(g);
  add_blocks(g);
  add_calls(g);
  share_calls(g);
  keep_real_functions(g->out);
  return find_branches(g, least_part);
}

int lh_usage_calls_find(const lh_usage *usage, uint32_t least_part, lh_usage_calls *out,
                        lh_error *error) {
  graph g = {.usage = usage,
             .sites = lh_profile_sites(usage->profile),
             .groups.by = LH_BY_FUNCTION,
             .n = usage->n_stacks,
             .out = out};
  *out = (lh_usage_calls){0};
  bool made = make(&g, least_part);
  lh_site_groups_free(&g.groups);
  lh_map_free(&g.call_numbers);
  lh_free(g.nodes);
  lh_free(g.functions_on_path);
  lh_free(g.calls_on_path);
  lh_free(g.calls_of);
  if (made) return LH_OK;
  lh_usage_calls_free(out);
  return lh_fail_memory(error, "telling who called whom");
}

void lh_usage_calls_free(lh_usage_calls *calls) {
  lh_free(calls->functions);
  lh_free(calls->branches);
  lh_free(calls->calls[0]);
  lh_free(calls->calls[1]);
  *calls = (lh_usage_calls){0};
}
