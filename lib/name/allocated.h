/*
** allocated.h - where most objects of each set were allocated. Private to the library.
**
**     lh_allocations a = {.snapshot = snapshot};
**     ok = lh_allocations_add(&a, set, id) && ...;
**     ok = ok && lh_allocations_find(&a, set_s, stride, n_sets);    fills an lh_allocated of each
**     lh_allocations_free(&a);
**
** Without sites in the snapshot these calls do nothing, and each lh_allocated stays 0.
*/
#pragma once

#include "map.h"
#include "read/snapshot.h"

typedef struct lh_allocations {
  const lh_snapshot *snapshot;
  lh_map counts; /* set, stack -> objects */
} lh_allocations;

bool lh_allocations_add(lh_allocations *a, uint32_t set, lh_id id);

/* Fills the lh_allocated of the sets 0 to n - 1, `stride` bytes apart. O(n log n) for n pairs of
** set and stack. */
bool lh_allocations_find(const lh_allocations *a, lh_allocated *first, size_t stride, size_t n);
void lh_allocations_free(lh_allocations *a);

/* What sites have in common that get one number: everything; everything but the distance of their
** function from the top of the file; the function, line or file. Without a Lua function, sites of
** one maker are one function and one file, and all are one line. */
typedef enum lh_alike {
  LH_ALIKE_SITE,
  LH_ALIKE_MOVED,
  LH_ALIKE_FUNCTION,
  LH_ALIKE_LINE,
  LH_ALIKE_FILE
} lh_alike;

/* Compares sites by content: each recorder numbers them anew, and so does a file loaded twice. */
typedef struct lh_site_numbers {
  lh_shared_names names;
  lh_map numbers; /* n: how many there are */
} lh_site_numbers;

/* Returns the number of each site; [0] is that of the unknown site. Other tables of sites may share
** the numbers. Free with lh_free. NULL: out of memory. */
uint32_t *lh_number_sites(lh_site_numbers *k, const lh_sites *sites, lh_alike alike);
void lh_site_numbers_free(lh_site_numbers *k);

/* The site of a stack; the site of its caller. 0: none. */
lh_site_id lh_site_at(const lh_sites *sites, lh_stack_id stack);
lh_site_id lh_caller_at(const lh_sites *sites, lh_stack_id stack);
