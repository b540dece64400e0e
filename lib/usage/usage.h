/*
** usage.h - what the files share that tell what is in a profile:
**
**     usage.c     counts by stack and type, over an interval; the peak
**     groups.c    the same by site, function, type, file or stack
**     calls.c     who called whom
**     stacks.c    the stacks as a tree, as much of it as there is room for
**     advice.c    what could be allocated less
**     changes.c   two profiles compared
**     tally.c     events counted by type and by size
**     lines.c     and by line
**     timeline.c  over time, by site
**
** Private to the library.
*/
#ifndef LUAHEAP_USAGE_H
#define LUAHEAP_USAGE_H

#include "base.h"
#include "name/map.h"
#include "usage/answers.h"

/* Of a stack and type, or of several. Sampled: estimates, hence no integers. A block that is
** resized is made anew: it is `replaced` at the stack where it was, and `resized` at the one that
** did it. */
typedef struct lh_amounts {
  double objects;          /* new ones */
  double made, made_bytes; /* new blocks: objects, and the parts that they own */
  double resized, resized_bytes;
  double replaced, replaced_bytes;
  double freed, freed_bytes;
  double ages_bytes; /* of all that were freed, added up */
  double peak_bytes; /* alive when the heap was biggest */
  double samples;    /* so many events stand behind what was made and resized */
  double variance;   /* of allocated bytes */
  const double
      *deaths; /* LH_PROFILE_AGES: bytes that were freed at an age of 4 KB << i at most; the
                           last: of any other. NULL: none */
} lh_amounts;

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
  lh_usage_totals totals;
  bool is_begun; /* one of the moments has come */
  /* Bytes that had been allocated when the replay ended, and when the interval began and ended. */
  uint64_t clock_bytes, begin_bytes, end_bytes;
};

/* ==== usage.c ======================================================================== */

double lh_allocated_bytes(const lh_amounts *amounts); /* made and resized */
double lh_ordered_bytes(const lh_usage *usage, lh_usage_order order, const lh_amounts *amounts);

/* Rounded, as they are told. */
lh_usage_group lh_rounded_amounts(const lh_usage *usage, const lh_amounts *amounts);

/* All but deaths. */
void lh_add_amounts(lh_amounts *to, const lh_amounts *from);
void lh_add_deaths(double *to, const lh_amounts *from);

/* The sums of *number, which is as in lh_usage_row: made where there are none. NULL: out of memory.
*/
double *lh_ages_at(lh_ages *ages, uint32_t *number);

/* ==================================================================================== */

static inline int lh_compare_numbers(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

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

/* ==== Events in their order: lines.c, timeline.c, tally.c ============================ */

/* Whole numbers, which may sink below zero in between, and apart from them what samples stand for:
** a double has no more than 53 bits. */
typedef struct lh_sum {
  uint64_t whole;
  double part;
} lh_sum;

static inline void lh_sum_add(lh_sum *sum, uint64_t n, double weight) {
  if (weight == 1.0)
    sum->whole += n;
  else
    sum->part += (double)n * weight;
}

static inline void lh_sum_subtract(lh_sum *sum, uint64_t n, double weight) {
  if (weight == 1.0)
    sum->whole -= n;
  else
    sum->part -= (double)n * weight;
}

/* Rounded; and what a file makes negative, or more than there can be, at that limit. */
uint64_t lh_sum_of(const lh_sum *sum);

/* The lines of all sites, lines[0] being that of what has no Lua function; and the line of each
** stack, 0 of stack 0. */
typedef struct lh_line_keys {
  lh_line *lines;
  size_t n_lines;
  uint32_t *of_stack;
} lh_line_keys;

int lh_line_keys_make(const lh_sites *sites, lh_line_keys *keys, lh_error *error);
void lh_line_keys_free(lh_line_keys *keys);

/* By source and line. */
int lh_compare_lines(const lh_line *a, const lh_line *b);

/* Replays `profile`, which is no aggregate, of `what` the caller makes a tally; when `see` stops
** because memory ran out, *failed is set. */
int lh_tally_events(lh_profile *profile, const char *what,
                    bool (*see)(const lh_event *event, void *data), void *data, const bool *failed,
                    lh_error *error);

#endif
