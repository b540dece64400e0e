/*
** definitions.h - the names, functions, sites and stacks that the recorder has met, each once and
** with a number, which is its id in a file (sites.h).
**
** What is equal has one number: it is looked up by its contents. Numbers count from 1 and are for
** ever. A stack costs 8 bytes, 12 to 24 in its index, and 32 for its tallies; a site with its names
** some 100. Programs have some hundred sites and some thousand stacks.
*/
#ifndef LUAHEAP_DEFINITIONS_H
#define LUAHEAP_DEFINITIONS_H

#include "index.h"
#include "recorder.h"
#include "sites.h"

_Static_assert(LH_MOST_DEFINITIONS < 1 << LH_LIFE_TYPE_SHIFT, "a life has room for any stack");

/* More than these bytes of names are not kept. A program that loads ever new code does not come
** there (lookup.h). */
enum { LH_MOST_NAME_BYTES = 1 << 26 };

typedef struct lh_function_definition {
  uint32_t source, first_line, name;
} lh_function_definition;

typedef struct lh_site_definition {
  uint32_t function, line, c_function;
  lh_maker maker;
} lh_site_definition;

/* A caller that would be its own, see below. */
typedef struct lh_fold {
  lh_stack_id parent, stack;
  lh_site_id site;
} lh_fold;

/* The entry of number i is at [i - 1]. */
typedef struct lh_definitions {
  char *name_bytes;
  uint32_t *name_ends; /* of each, in name_bytes */
  lh_function_definition *functions;
  lh_site_definition *sites;
  lh_stack *stacks;
  lh_fold *folds;
  uint32_t n_names, n_functions, n_sites, n_stacks, n_folds;
  size_t name_bytes_capacity, name_capacity, function_capacity, site_capacity, stack_capacity,
      fold_capacity;
  lh_index name_index, function_index, site_index, stack_index; /* also of folds */
} lh_definitions;

void lh_definitions_free(lh_definitions *d); /* all 0 is fine */

/* The number of each; 0: out of memory, or of numbers. Only the first LH_MOST_SITE_NAME_BYTES of a
** name count. */
uint32_t lh_define_name(lh_definitions *d, const char *bytes, size_t n);
uint32_t lh_find_name(const lh_definitions *d, const char *bytes, size_t n); /* 0: it has none */
uint32_t lh_define_function(lh_definitions *d, lh_function_definition function);
lh_site_id lh_define_site(lh_definitions *d, lh_site_definition site);

/* The stack of a site with these callers (0: none). A site that is among them folds back: it is the
** stack that ends there. */
lh_stack_id lh_define_stack(lh_definitions *d, lh_stack_id parent, lh_site_id site);

/* How many of each kind were written; all 0 at first. */
typedef struct lh_defined {
  uint32_t names, functions, sites, stacks;
} lh_defined;

/* The function of a stack's site; 0: none. */
static inline uint32_t lh_definition_of_stack(const lh_definitions *d, lh_stack_id stack) {
  return stack && stack <= d->n_stacks ? d->sites[d->stacks[stack - 1].site - 1].function : 0;
}

/* Writes what is not in *defined yet (sites.h), and adds it to that. Each comes after what it
** refers to. Async-signal-safe. */
typedef void lh_put_bytes(const void *data, uint64_t n, void *payload);
void lh_definitions_write(const lh_definitions *d, lh_defined *defined, lh_put_bytes *put,
                          void *payload);

/* The most bytes that all of it takes. */
uint64_t lh_definitions_longest(const lh_definitions *d);

#endif
