/*
** stacks.c - the biggest stacks of a profile as a tree, for a picture.
**
** A caller has a smaller number than its callees. So one pass backwards adds up the bytes below
** each stack. A caller has at least its callees' bytes, so the biggest stacks are a tree. Hidden
** stacks below a shown one are one row. 36 bytes a stack while it runs.
*/
#include "usage.h"

typedef struct counts {
  uint64_t self, total; /* bytes; of stack 0: unattributed, and all */
  uint64_t hidden;      /* number of hidden stacks with bytes of their own below it */
  bool is_shown;
} counts;

typedef struct tree {
  const lh_sites *sites;
  uint32_t n;
  counts *of;         /* by stack */
  lh_stack_id *shown; /* grouped by caller, most bytes first */
  size_t n_shown;
  lh_usage_stack *rows, *pile;
  size_t n_rows, n_pile, room, pile_room;
} tree;

static lh_stack_id caller_of(const tree *t, lh_stack_id stack) {
  return lh_stack_of(t->sites, stack)->parent;
}

/* Saturates: a damaged file may have absurd counts. */
static void add_saturating(uint64_t *sum, uint64_t bytes) {
  if (__builtin_add_overflow(*sum, bytes, sum)) *sum = UINT64_MAX;
}

static void subtract(uint64_t *sum, uint64_t bytes) {
  *sum = *sum > bytes ? *sum - bytes : 0;
}

static void sum_stacks(tree *t, const lh_usage *usage, lh_usage_order order) {
  for (size_t i = 0; i < usage->n; i++) {
    double bytes = lh_ordered_bytes(usage, order, &usage->rows[i].amounts);
    uint64_t whole = bytes > 0x1p63 ? (uint64_t)1 << 63 : bytes > 0 ? (uint64_t)(bytes + 0.5) : 0;
    add_saturating(&t->of[usage->rows[i].stack].self, whole);
  }
  for (uint32_t stack = 0; stack <= t->n; stack++) t->of[stack].total = t->of[stack].self;
  for (lh_stack_id stack = t->n; stack > 0; stack--)
    add_saturating(&t->of[caller_of(t, stack)].total, t->of[stack].total);
}

static int by_total_bytes(const void *a, const void *b, void *data) {
  const tree *t = data;
  lh_stack_id one = *(const lh_stack_id *)a, other = *(const lh_stack_id *)b;
  return LH_MORE(t->of[one].total, t->of[other].total) ?: LH_LESS(one, other);
}

static int by_caller(const void *a, const void *b, void *data) {
  const tree *t = data;
  lh_stack_id x = caller_of(t, *(const lh_stack_id *)a), y = caller_of(t, *(const lh_stack_id *)b);
  return LH_LESS(x, y) ?: by_total_bytes(a, b, data);
}

static void choose_stacks(tree *t, size_t limit) {
  size_t n = 0;
  for (lh_stack_id stack = 1; stack <= t->n; stack++)
    if (t->of[stack].total > 0) t->shown[n++] = stack;
  if (n > 1) qsort_r(t->shown, n, sizeof *t->shown, by_total_bytes, t);
  t->n_shown = limit > 0 && limit < n ? limit : n;
  for (size_t i = 0; i < t->n_shown; i++) t->of[t->shown[i]].is_shown = true;
  if (t->n_shown > 1) qsort_r(t->shown, t->n_shown, sizeof *t->shown, by_caller, t);
  for (lh_stack_id stack = t->n; stack > 0; stack--)
    if (!t->of[stack].is_shown)
      t->of[caller_of(t, stack)].hidden += t->of[stack].hidden + (t->of[stack].self > 0);
}

static bool push(tree *t, lh_usage_stack row) {
  if (!lh_grow(&t->pile, t->n_pile, &t->pile_room, sizeof row)) return false;
  t->pile[t->n_pile++] = row;
  return true;
}

/* The first shown stack whose caller is this one or has a greater number. */
static size_t first_called(const tree *t, lh_stack_id caller) {
  size_t at;
  LH_LOWER_BOUND(at, t->n_shown, caller_of(t, t->shown[at]) < caller);
  return at;
}

/* Pushes the callees, the one with most bytes on top. */
static bool push_called(tree *t, lh_stack_id caller, uint32_t depth) {
  size_t first = first_called(t, caller), end = first;
  uint64_t rest = t->of[caller].total - t->of[caller].self;
  for (; end < t->n_shown && caller_of(t, t->shown[end]) == caller; end++)
    subtract(&rest, t->of[t->shown[end]].total);
  bool fine = rest == 0 || push(t, (lh_usage_stack){.stack = caller,
                                                    .depth = depth,
                                                    .is_rest = true,
                                                    .stacks = t->of[caller].hidden,
                                                    .total_bytes = rest});
  for (size_t i = end; fine && i-- > first;) {
    lh_stack_id stack = t->shown[i];
    fine = push(t, (lh_usage_stack){.stack = stack,
                                    .depth = depth,
                                    .stacks = 1,
                                    .self_bytes = t->of[stack].self,
                                    .total_bytes = t->of[stack].total});
  }
  return fine;
}

static bool make_stack_rows(tree *t) {
  bool fine = true;
  if (t->of[0].self > 0)
    fine = push(t, (lh_usage_stack){
                       .stacks = 1, .self_bytes = t->of[0].self, .total_bytes = t->of[0].self});
  fine = fine && push_called(t, 0, 0);
  while (fine && t->n_pile > 0) {
    lh_usage_stack row = t->pile[--t->n_pile];
    fine = lh_grow(&t->rows, t->n_rows, &t->room, sizeof row);
    if (!fine) break;
    t->rows[t->n_rows++] = row;
    if (!row.is_rest && row.stack != 0) fine = push_called(t, row.stack, row.depth + 1);
  }
  return fine;
}

int lh_usage_stacks(const lh_usage *usage, lh_usage_order order, size_t limit, lh_usage_stack **out,
                    size_t *n, lh_error *error) {
  tree t = {.sites = lh_profile_sites(usage->profile), .n = usage->n_stacks};
  t.of = lh_alloc_zeroed((size_t)t.n + 1, sizeof *t.of);
  t.shown = lh_alloc((size_t)t.n + 1, sizeof *t.shown);
  bool fine = t.of && t.shown;
  if (fine) {
    sum_stacks(&t, usage, order);
    choose_stacks(&t, limit);
    fine = make_stack_rows(&t);
  }
  LH_FREE_ALL(t.of, t.shown, t.pile, fine ? NULL : t.rows);
  *out = fine ? t.rows : NULL;
  *n = fine ? t.n_rows : 0;
  return fine ? LH_OK : lh_fail_memory(error, "making a tree of stacks");
}
