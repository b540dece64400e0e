/*
** allocated.h - where many objects were allocated, told by the site of most of them: for sets of
** objects, such as groups, all at once. Private to the library.
**
**     lh_allocations a = {.snapshot = snapshot};
**     ok = lh_allocations_add(&a, set, id) && ...;
**     ok = ok && lh_allocations_find(&a, set_s, stride, n_sets);    fills an lh_allocated of each
**     lh_allocations_free(&a);
**
** Of a snapshot without sites all of it does nothing, and each is all 0.
*/
#ifndef LUAHEAP_ALLOCATED_H
#define LUAHEAP_ALLOCATED_H

#include "map.h"
#include "read/snapshot.h"

typedef struct lh_allocations {
  const lh_snapshot *snapshot;
  lh_map counts; /* set, stack -> objects */
} lh_allocations;

/* Counts an object of a set. False: out of memory. O(1). */
bool lh_allocations_add(lh_allocations *a, uint32_t set, lh_id id);

/* Fills in that of each set from 0 to n - 1; the next is `stride` bytes behind one. False: out of
** memory. O(n log n) of sets and stacks. */
bool lh_allocations_find(const lh_allocations *a, lh_allocated *first, size_t stride, size_t n);
void lh_allocations_free(lh_allocations *a);

/* The site of a stack, and that of its caller; 0: there is none. */
lh_site_id lh_site_at(const lh_sites *sites, lh_stack_id stack);
lh_site_id lh_caller_at(const lh_sites *sites, lh_stack_id stack);

#endif
