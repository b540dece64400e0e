/*
** allocated.c - finds where most objects of a set were allocated (see allocated.h).
**
** The answer is the site of most objects, with their number. If nine of ten of these have one
** caller, the answer includes it, and the number is of those with this caller.
*/
#include "allocated.h"

bool lh_allocations_add(lh_allocations *a, uint32_t set, lh_id id) {
  if (!lh_snapshot_sites(a->snapshot)) return true;
  return lh_map_count(&a->counts, (uint64_t)set << 32 | lh_object_stack(a->snapshot, id));
}

void lh_allocations_free(lh_allocations *a) {
  lh_map_free(&a->counts);
}

typedef struct share {
  uint32_t set;
  lh_site_id site, caller;
  lh_stack_id stack;
  uint64_t objects;
} share;

static int compare_shares(const void *left, const void *right) {
  const share *a = left, *b = right;
  return LH_LESS(a->set, b->set) ?: LH_LESS(a->site, b->site) ?: LH_LESS(a->caller, b->caller) ?:
         LH_LESS(a->stack, b->stack);
}

static size_t end_of_run(const share *list, size_t n, bool with_caller, uint64_t *objects) {
  size_t end = 0;
  *objects = 0;
  for (; end < n && list[end].set == list->set && list[end].site == list->site &&
         (!with_caller || list[end].caller == list->caller);
       end++)
    *objects += list[end].objects;
  return end;
}

static void find_caller(const share *list, size_t n, uint64_t objects, lh_allocated *out) {
  uint64_t of_caller;
  for (size_t i = 0, end; i < n; i = end) {
    end = i + end_of_run(list + i, n - i, true, &of_caller);
    if (list[i].caller == 0 || of_caller * 10 < objects * 9) continue;
    out->stack = list[i].stack;
    out->callers = 1;
    out->objects = of_caller;
  }
}

static void find_most(const share *list, size_t n, bool is_sampled, lh_allocated *out) {
  *out = (lh_allocated){0};
  uint64_t objects;
  size_t best = 0, end_of_best = 0;
  for (size_t i = 0, end; i < n; i = end) {
    end = i + end_of_run(list + i, n - i, false, &objects);
    if (list[i].site != 0 || !is_sampled) out->of += objects;
    if (list[i].site == 0 || objects <= out->objects) continue;
    out->objects = objects;
    out->stack = list[i].stack;
    best = i;
    end_of_best = end;
  }
  find_caller(list + best, end_of_best - best, out->objects, out);
}

bool lh_allocations_find(const lh_allocations *a, lh_allocated *first, size_t stride, size_t n) {
  const lh_sites *sites = lh_snapshot_sites(a->snapshot);
  if (!sites) return true;
  bool is_sampled = lh_snapshot_tracking(a->snapshot)->sample_bytes > 0;
  share *list = lh_alloc(a->counts.n, sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < a->counts.n; i++) {
    lh_stack_id stack = (lh_stack_id)a->counts.keys[i];
    list[i] = (share){.set = (uint32_t)(a->counts.keys[i] >> 32),
                      .site = lh_site_at(sites, stack),
                      .caller = lh_caller_at(sites, stack),
                      .stack = stack,
                      .objects = a->counts.values[i]};
  }
  if (a->counts.n > 1) qsort(list, a->counts.n, sizeof *list, compare_shares);
  for (size_t i = 0, end; i < a->counts.n; i = end) {
    for (end = i; end < a->counts.n && list[end].set == list[i].set;) end++;
    if (list[i].set < n)
      find_most(list + i, end - i, is_sampled,
                (lh_allocated *)(void *)((char *)first + stride * list[i].set));
  }
  lh_free(list);
  return true;
}
