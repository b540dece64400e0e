/*
** usage.h - what the files share that tell what is in a profile:
**
**     usage.c     counts by stack and type, over an interval; the peak
**     amounts.c   what follows from them
**     groups.c    the same by site, function, type, file or stack
**     calls.c     who called whom
**     stacks.c    the stacks as a tree, as much of it as there is room for
**     advice.c    what could be allocated less
**     changes.c   two profiles compared
**
** Private to the library.
*/
#ifndef LUAHEAP_USAGE_H
#define LUAHEAP_USAGE_H

#include "base.h"
#include "name/map.h"
#include "usage/answers.h"

/* Bytes by age, LH_PROFILE_AGES sums each, of those that have any: most rows of a file that was
** made to have many have none. They may move as long as more come. */
typedef struct lh_ages {
  double *list;
  size_t n, capacity;
} lh_ages;

typedef struct lh_usage_row {
  lh_stack_id stack; /* 0: unattributed */
  uint32_t next;     /* of the same stack: as `first` below */
  uint32_t ages;     /* 1 + the number of those in lh_usage.ages; 0: none */
  uint8_t type;      /* as in lh_event */
  lh_amounts amounts;
} lh_usage_row;

struct lh_usage {
  lh_profile *profile;
  lh_usage_query query;
  uint32_t n_stacks;
  uint32_t *first; /* of each stack: 1 + the number of its newest row; 0: none */
  lh_usage_row *rows;
  size_t n, capacity;
  lh_ages ages;
  double deaths[LH_PROFILE_AGES]; /* of all */
  lh_usage_totals totals;
  bool is_begun; /* one of the moments has come */
  /* Bytes that had been allocated when the replay ended, and when the interval began and ended. */
  uint64_t clock_bytes, begin_bytes, end_bytes;
};

/* {=== amounts.c ====================================================================== */

/* All but deaths. */
void lh_add_amounts(lh_amounts *to, const lh_amounts *from);
void lh_add_deaths(double *to, const lh_amounts *from);

/* The sums of *number, which is as in lh_usage_row: made where there are none. NULL: out of memory.
*/
double *lh_ages_at(lh_ages *ages, uint32_t *number);

/* The class of an age: the first i with age <= 4 KB << i, or the last. */
unsigned lh_age_class(uint64_t age_bytes);

/* }=================================================================================== */

static inline bool lh_stack_is_in(const lh_sites *sites, lh_stack_id stack) {
  return stack != 0 && stack <= lh_n_stacks(sites);
}

/* Sites with equal contents, as far as those ask for them who want them by site, function or file.
** All zero but `by` is none. */
typedef struct lh_site_groups {
  lh_usage_by by;
  lh_shared_names names;
  lh_map numbers;    /* of the groups, by what their sites have in common */
  uint32_t *of_site; /* 1 + the number of its group; 0: not known yet */
  uint32_t n;
  bool failed; /* out of memory: all is LH_NO_NUMBER */
} lh_site_groups;

/* The group of a stack's site: 0, 1, 2 ... in the order in which they are asked for. */
uint32_t lh_group_of_site(lh_site_groups *groups, const lh_sites *sites, lh_stack_id stack);
void lh_site_groups_free(lh_site_groups *groups);

#endif
