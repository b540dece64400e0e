/*
** definitions.h - the names, functions, sites and stacks that the recorder has met, with numbers.
** The number is the id in a file (sites.h). Equal contents have one number, which is looked up by
** the contents. Numbers count from 1 and never change. A stack costs 8 bytes, 12 to 24 in its
** index, and 32 for its tallies; a site with its names some 100. Programs have some hundred sites
** and some thousand stacks.
*/
#pragma once

#include "index.h"
#include "recorder.h"
#include "sites.h"

_Static_assert(LH_MOST_DEFINITIONS < 1 << LH_LIFE_TYPE_SHIFT, "a life has room for any stack");

/* Limit of all names together. A program that loads ever new code does not get there (stacks.h). */
enum { LH_MOST_NAME_BYTES = 1 << 26 };

typedef struct lh_function_definition {
  uint32_t source, first_line, name;
} lh_function_definition;

typedef struct lh_site_definition {
  uint32_t function, line, c_function;
  lh_maker maker;
} lh_site_definition;

/* A step that folds back: see lh_define_stack. */
typedef struct lh_fold {
  lh_stack_id parent, stack;
  lh_site_id site;
} lh_fold;

/* The entry of number i is at [i - 1]. */
typedef struct lh_definitions {
  char *name_bytes;
  uint32_t *name_ends; /* end of each name in name_bytes */
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

/* Return the number, a new one if need be. 0: out of memory, or of numbers. Only the first
** LH_MOST_SITE_NAME_BYTES of a name count. */
uint32_t lh_define_name(lh_definitions *d, const char *bytes, size_t n);
uint32_t lh_find_name(const lh_definitions *d, const char *bytes, size_t n); /* 0: unknown */
uint32_t lh_define_function(lh_definitions *d, lh_function_definition function);
lh_site_id lh_define_site(lh_definitions *d, lh_site_definition site);

/* The stack of a site with these callers (0: none). A site that is already among its callers folds
** back: the result is the stack of that caller. */
lh_stack_id lh_define_stack(lh_definitions *d, lh_stack_id parent, lh_site_id site);

/* How many of each kind were written; all 0 at first. */
typedef struct lh_defined {
  uint32_t names, functions, sites, stacks;
} lh_defined;

static inline uint32_t lh_definition_of_stack(const lh_definitions *d, lh_stack_id stack) {
  return stack && stack <= d->n_stacks ? d->sites[d->stacks[stack - 1].site - 1].function : 0;
}

/* Writes the definitions that are not counted in *defined (sites.h), and counts them there. A
** definition comes after those that it refers to. Async-signal-safe. */
typedef void lh_put_bytes(const void *data, uint64_t n, void *payload);
void lh_definitions_write(const lh_definitions *d, lh_defined *defined, lh_put_bytes *put,
                          void *payload);

uint64_t lh_definitions_longest(const lh_definitions *d);
