/*
** calls.c - the call graph of allocation: bytes of functions and of calls.
**
** Stacks are a tree in which a caller has a smaller number than its callees. One pass backwards
** adds up the bytes below each stack. One walk in preorder adds them to functions and calls; a
** recursive one counts at its outermost occurrence only. O(stacks log stacks); about 50 bytes a
** stack.
**
** If C functions count, a stack whose site has a Lua and a C function gets two nodes. The C
** function's node is the callee: it allocated, and called the next stack.
*/
#include "name/text.h"
#include "usage.h"

typedef struct node {
  double self, below; /* bytes of this stack alone; with all that it called */
  uint32_t function;
  uint32_t call;        /* from its caller's function; NO_CALL: no caller */
  uint32_t caller;      /* node of its caller; 0: none */
  uint32_t first, next; /* its first callee; its caller's next callee */
  lh_stack_id stack;
} node;

enum { NO_CALL = UINT32_MAX };

typedef struct graph {
  const lh_usage *usage;
  const lh_sites *sites;
  lh_site_numbers groups;
  const lh_calls_query *query;
  uint32_t n;  /* stacks */
  node *nodes; /* by stack, then second nodes for C functions;
                          outermost stacks hang at node 0, which is no caller */
  uint32_t n_nodes;
  uint32_t *tops; /* last node of each stack; NULL: each stack has one node */
  double *grown;  /* growth bytes of each stack; NULL: all allocated bytes count */
  lh_shared_names c_names;
  uint32_t n_lua;      /* number of Lua functions; C functions are numbered after them */
  lh_map call_numbers; /* key: caller's and callee's function */
  uint32_t *functions_on_path, *calls_on_path; /* how often each occurs on the current path */
  const lh_profile_call **calls_of;            /* calls counted for each stack; NULL: none */
  lh_call_usage *calls;
  size_t n_calls; /* calls that occurred */
  lh_usage_calls *out;
} graph;

/* ==== The tree ======================================================================= */

/* The node of the function that allocated, and called the next stack. */
static uint32_t top_of(const graph *g, lh_stack_id stack) {
  return g->tops ? g->tops[stack] : stack;
}

static const char *c_function_of(const graph *g, lh_stack_id stack) {
  return g->query->c_functions ? lh_site_of_stack(g->sites, stack)->c_function : NULL;
}

static bool number_c_function(graph *g, const char *name, uint32_t *number) {
  uint32_t known = lh_shared_name(&g->c_names, name);
  *number = g->n_lua + known - 1;
  return known != LH_NO_NUMBER;
}

static bool add_c_functions(graph *g) {
  bool fine = true;
  g->n_lua = (uint32_t)g->groups.numbers.n;
  for (lh_stack_id stack = 1; fine && stack <= g->n; stack++) {
    const char *name = c_function_of(g, stack);
    if (!name) continue;
    if (lh_site_of_stack(g->sites, stack)->source) {
      g->nodes[g->n_nodes] = (node){.caller = stack, .stack = stack};
      g->tops[stack] = g->n_nodes++;
    }
    fine = number_c_function(g, name, &g->nodes[g->tops[stack]].function);
  }
  return fine;
}

static bool make_nodes(graph *g) {
  size_t n = (size_t)g->n + 1, n_c = 0;
  for (lh_stack_id stack = 1; stack <= g->n; stack++) n_c += c_function_of(g, stack) != NULL;
  g->nodes = lh_alloc_zeroed(n + n_c, sizeof *g->nodes);
  g->tops = g->query->c_functions ? lh_alloc(n, sizeof *g->tops) : NULL;
  g->n_nodes = (uint32_t)n;
  return g->nodes && (g->tops || !g->query->c_functions);
}

static bool number_functions(graph *g) {
  if (!make_nodes(g)) return false;
  uint32_t *of_site = lh_number_sites(&g->groups, g->sites, LH_ALIKE_FUNCTION);
  for (uint32_t stack = 0; of_site && stack <= g->n; stack++) {
    g->nodes[stack].function = of_site[lh_site_at(g->sites, stack)];
    g->nodes[stack].stack = stack;
    if (g->tops) g->tops[stack] = stack;
  }
  bool ok = of_site && (!g->tops || add_c_functions(g));
  lh_free(of_site);
  if (!ok) return false;
  for (lh_stack_id stack = 1; stack <= g->n; stack++)
    g->nodes[stack].caller = top_of(g, lh_stack_of(g->sites, stack)->parent);
  return true;
}

static void add_own(graph *g, lh_stack_id stack, double bytes) {
  node *n = &g->nodes[top_of(g, stack)];
  n->self += bytes;
  n->below += bytes;
  g->out->bytes += (uint64_t)bytes;
}

/* Skips a node that has neither bytes nor calls. */
static void hang(graph *g, uint32_t at) {
  node *n = &g->nodes[at], *caller = &g->nodes[n->caller];
  bool is_called = at == top_of(g, n->stack) && g->calls_of[n->stack];
  if (n->below <= 0 && n->first == 0 && !is_called) return;
  if (n->caller != 0) caller->below += n->below;
  n->next = caller->first;
  caller->first = at;
}

/* Visits callees before callers: their numbers are greater. */
static void sum_calls(graph *g) {
  for (size_t i = 0; !g->grown && i < g->usage->n; i++)
    add_own(g, g->usage->rows[i].stack, lh_allocated_bytes(&g->usage->rows[i].amounts));
  for (lh_stack_id stack = 0; g->grown && stack <= g->n; stack++)
    add_own(g, stack, g->grown[stack]);
  for (lh_stack_id stack = g->n; stack > 0; stack--) {
    if (top_of(g, stack) != stack) hang(g, top_of(g, stack));
    hang(g, stack);
  }
}

static bool number_calls(graph *g) {
  for (uint32_t at = 0; at < g->n_nodes; at++) {
    node *n = &g->nodes[at];
    n->call = NO_CALL;
    if (n->caller == 0) continue;
    uint64_t key = (uint64_t)g->nodes[n->caller].function << 32 | n->function;
    n->call = lh_map_number(&g->call_numbers, key);
    if (n->call == LH_NO_NUMBER) return false;
  }
  return true;
}

/* ==== From stacks to functions ======================================================= */

static void enter(graph *g, uint32_t number) {
  const node *at = &g->nodes[number];
  lh_function_usage *function = &g->out->functions[at->function];
  const lh_profile_call *calls = number == top_of(g, at->stack) ? g->calls_of[at->stack] : NULL;
  if (function->stack == 0) function->stack = at->stack;
  function->self_bytes += (uint64_t)at->self;
  if (g->functions_on_path[at->function]++ == 0) function->total_bytes += (uint64_t)at->below;
  if (at->call == NO_CALL) return;
  lh_call_usage *call = &g->calls[at->call];
  call->caller = g->nodes[at->caller].stack;
  call->called = at->stack;
  call->caller_at = g->nodes[at->caller].function;
  call->called_at = at->function;
  call->self_bytes += (uint64_t)at->self;
  if (g->calls_on_path[at->call]++ == 0) call->total_bytes += (uint64_t)at->below;
  if (!calls) return;
  call->calls += calls->calls;
  call->tail_calls += calls->tail_calls;
}

static void leave_node(graph *g, uint32_t number) {
  const node *at = &g->nodes[number];
  g->functions_on_path[at->function]--;
  if (at->call != NO_CALL) g->calls_on_path[at->call]--;
}

/* In preorder, without recursion: `caller` leads back. */
static void walk(graph *g) {
  uint32_t at = g->nodes[0].first;
  bool down = true;
  while (at != 0) {
    const node *here = &g->nodes[at];
    if (down) enter(g, at);
    if (down && here->first != 0) {
      at = here->first;
      continue;
    }
    leave_node(g, at);
    down = here->next != 0;
    at = down ? here->next : here->caller;
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
    g->out->functions[g->nodes[top_of(g, row->stack)].function].self_blocks +=
        (uint64_t)(row->amounts.made + 0.5);
  }
}

static bool make_room_for_calls(graph *g) {
  size_t n_functions = g->groups.numbers.n + g->c_names.strings.n, n_calls = g->call_numbers.n;
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

/* ==== Counted calls ================================================================== */

static bool count_calls(graph *g) {
  size_t n;
  const lh_profile_call *list = lh_profile_calls(g->usage->profile, &n);
  g->calls_of = lh_alloc_zeroed((size_t)g->n + 1, sizeof *g->calls_of);
  for (size_t i = 0; g->calls_of && list && i < n; i++)
    if (list[i].stack <= g->n && list[i].calls > 0) g->calls_of[list[i].stack] = &list[i];
  return g->calls_of;
}

/* A function is constant if all its callers saw it constant. */
static void add_calls(graph *g) {
  size_t n;
  const lh_profile_call *list = lh_profile_calls(g->usage->profile, &n);
  for (size_t i = 0; list && i < n; i++) {
    if (list[i].stack > g->n || list[i].calls == 0) continue;
    lh_function_usage *f = &g->out->functions[g->nodes[top_of(g, list[i].stack)].function];
    f->is_constant = list[i].is_constant && (f->calls == 0 || f->is_constant);
    f->calls += list[i].calls;
    f->tail_calls += list[i].tail_calls;
    f->self_ns += list[i].self_ns;
    f->total_ns += list[i].total_ns;
  }
}

/* ==== In order ======================================================================= */

static int compare_functions(const void *a, const void *b) {
  const lh_function_usage *left = a, *right = b;
  return LH_MORE(left->total_bytes, right->total_bytes) ?:
         LH_MORE(left->total_ns, right->total_ns) ?: LH_LESS(left->stack, right->stack);
}

static int compare_calls(const lh_call_usage *a, const lh_call_usage *b, uint32_t of_a,
                         uint32_t of_b) {
  return LH_LESS(of_a, of_b) ?: LH_MORE(a->total_bytes, b->total_bytes) ?:
         LH_MORE(a->calls, b->calls) ?: LH_LESS(a->caller, b->caller) ?:
         LH_LESS(a->called, b->called);
}

static int compare_callers(const void *a, const void *b) {
  const lh_call_usage *left = a, *right = b;
  return compare_calls(left, right, left->called_at, right->called_at);
}

static int compare_called(const void *a, const void *b) {
  const lh_call_usage *left = a, *right = b;
  return compare_calls(left, right, left->caller_at, right->caller_at);
}

/* Drops calls that the walk did not enter: their branches have neither bytes nor calls. */
static size_t keep_real_calls(graph *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->call_numbers.n; i++)
    if (g->calls[i].called != 0) g->calls[n++] = g->calls[i];
  return n;
}

static void share_calls(graph *g) {
  size_t n = keep_real_calls(g);
  lh_call_usage *callers = g->out->calls[0], *called = g->out->calls[1];
  memcpy(called, callers, n * sizeof *called);
  qsort(callers, n, sizeof *callers, compare_callers);
  qsort(called, n, sizeof *called, compare_called);
  g->n_calls = n;
  for (size_t i = 0; i < n; i++) {
    lh_function_usage *f = &g->out->functions[callers[i].called_at];
    if (f->n_callers++ == 0) f->callers = &callers[i];
    f = &g->out->functions[called[i].caller_at];
    if (f->n_called++ == 0) f->called = &called[i];
  }
}

/* Drops functions without bytes and calls, and renumbers the functions of calls. */
static void keep_real_functions(graph *g) {
  lh_usage_calls *out = g->out;
  size_t n = 0;
  for (uint32_t i = 0; i < out->n_functions; i++) {
    out->functions[i].number = i;
    out->functions[i].is_c = g->tops && i >= g->n_lua;
    if (out->functions[i].total_bytes > 0 || out->functions[i].calls > 0)
      out->functions[n++] = out->functions[i];
  }
  out->n_functions = n;
  qsort(out->functions, n, sizeof *out->functions, compare_functions);
  uint32_t *ranks = g->functions_on_path; /* no longer used */
  for (uint32_t i = 0; i < n; i++) ranks[out->functions[i].number] = i;
  for (size_t side = 0; side < 2; side++) {
    for (lh_call_usage *call = out->calls[side]; call < out->calls[side] + g->n_calls; call++) {
      call->caller_at = ranks[call->caller_at];
      call->called_at = ranks[call->called_at];
    }
  }
}

/* ==== Growth ======================================================================== */

static bool see_growth(const lh_event *event, void *data) {
  graph *g = data;
  uint64_t old_bytes = event->kind == LH_EVENT_NEW ? 0 : event->old_bytes;
  if (event->kind != LH_EVENT_FREE && event->bytes > old_bytes)
    g->grown[event->stack] += event->weight * (double)(event->bytes - old_bytes);
  return true;
}

static int find_growth(graph *g, lh_error *error) {
  g->grown = lh_alloc_zeroed((size_t)g->n + 1, sizeof *g->grown);
  if (!g->grown) return lh_fail_memory(error, "telling who called whom");
  return lh_tally_events(g->usage->profile, "report of growth", see_growth, g, error);
}

static bool make(graph *g) {
  if (!number_functions(g) || !count_calls(g)) return false;
  sum_calls(g);
  if (!number_calls(g) || !make_room_for_calls(g)) return false;
  walk(g);
  add_unattributed(g);
  add_blocks(g);
  add_calls(g);
  share_calls(g);
  keep_real_functions(g);
  return true;
}

int lh_usage_calls_find(const lh_usage *usage, const lh_calls_query *query, lh_usage_calls *out,
                        lh_error *error) {
  graph g = {.usage = usage,
             .sites = lh_profile_sites(usage->profile),
             .query = query,
             .n = usage->n_stacks,
             .out = out};
  *out = (lh_usage_calls){0};
  int code = query->growth ? find_growth(&g, error) : LH_OK;
  if (code == LH_OK && !make(&g)) code = lh_fail_memory(error, "telling who called whom");
  lh_site_numbers_free(&g.groups);
  lh_map_free(&g.call_numbers);
  lh_shared_names_free(&g.c_names);
  LH_FREE_ALL(g.nodes, g.functions_on_path, g.calls_on_path, g.calls_of, g.grown, g.tops);
  if (code < 0) lh_usage_calls_free(out);
  return code;
}

void lh_usage_calls_free(lh_usage_calls *calls) {
  LH_FREE_ALL(calls->functions, calls->calls[0], calls->calls[1]);
  *calls = (lh_usage_calls){0};
}
