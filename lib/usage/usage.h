/*
** usage.h - the types that the files about profiles share. Private to the library.
**
**     usage.c     counts by stack and type, over an interval; the peak
**     groups.c    the same by site, function, type, file or stack
**     calls.c     the call graph
**     stacks.c    the biggest stacks as a tree
**     advice.c    where a program could allocate less
**     changes.c   two profiles compared
**     tally.c     events counted by type and by size
**     lines.c     events counted by line
**     timeline.c  bytes over time, by site
*/
#pragma once

#include "name/allocated.h"
#include "usage/answers.h"

/* Sums of rows. Sampled profiles give estimates, hence no integers. A resized block counts as
** `replaced` at its old stack, and as `resized` at the new one. */
typedef struct lh_amounts {
  double objects;
  double made, made_bytes; /* new blocks: objects, and their parts */
  double resized, resized_bytes;
  double replaced, replaced_bytes;
  double freed, freed_bytes;
  double ages_bytes;    /* sum over all freed bytes */
  double peak_bytes;    /* live when the heap was biggest */
  double samples;       /* number of events behind made and resized */
  double variance;      /* of allocated bytes */
  const double *deaths; /* LH_PROFILE_AGES sums: deaths[i] is freed bytes of age <= 4 KB << i,
                           the last of all older ones. NULL: none */
} lh_amounts;

/* Arrays of LH_PROFILE_AGES sums, for the few rows that have any. They move when one is added. */
typedef struct lh_death_ages {
  double *list;
  size_t n, capacity;
} lh_death_ages;

typedef struct lh_usage_row {
  lh_stack_id stack; /* 0: unattributed */
  uint32_t next;     /* next row of the same stack, numbered like `first` below */
  uint32_t ages;     /* 1 + index into lh_usage.ages; 0: none */
  uint8_t type;      /* as in lh_event */
  lh_amounts amounts;
} lh_usage_row;

struct lh_usage {
  lh_profile *profile;
  lh_usage_query query;
  uint32_t n_stacks;
  uint32_t *first; /* of each stack: 1 + index of its newest row; 0: none */
  lh_usage_row *rows;
  size_t n, capacity;
  lh_death_ages ages;
  lh_usage_totals totals;
  bool is_begun; /* the replay reached the beginning or the end of the interval */
  /* Bytes allocated before the end of the replay, before the interval, and before its end. */
  uint64_t clock_bytes, begin_bytes, end_bytes;
};

/* ==== usage.c ======================================================================== */

double lh_allocated_bytes(const lh_amounts *amounts); /* made and resized */
double lh_live_blocks(const lh_amounts *amounts);
double lh_ordered_bytes(const lh_usage *usage, lh_usage_order order, const lh_amounts *amounts);

lh_usage_group lh_rounded_amounts(const lh_usage *usage, const lh_amounts *amounts);

/* All fields but deaths. */
void lh_add_amounts(lh_amounts *to, const lh_amounts *from);
void lh_add_deaths(double *to, const lh_amounts *from);

/* The sums of *number (lh_usage_row.ages); adds an array if *number is 0. NULL: out of memory. */
double *lh_ages_at(lh_death_ages *ages, uint32_t *number);

/* ==== Events in their order: lines.c, timeline.c, tally.c ============================ */

/* A sum that may be negative for a while. Exact counts are apart from sampled estimates, since a
** double has only 53 bits. */
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
  lh_sum_add(sum, weight == 1.0 ? 0 - n : n, weight == 1.0 ? 1.0 : -weight);
}

/* Rounded and clamped to 0..INT64_MAX: a damaged file can exceed both limits. */
uint64_t lh_sum_of(const lh_sum *sum);

/* All lines; lines[0] is that of sites without a Lua function. And the line of each stack. */
typedef struct lh_line_keys {
  lh_line *lines;
  size_t n_lines;
  uint32_t *of_stack;
} lh_line_keys;

int lh_line_keys_make(const lh_sites *sites, lh_line_keys *keys, lh_error *error);
void lh_line_keys_free(lh_line_keys *keys);

/* By source and line. */
int lh_compare_lines(const lh_line *a, const lh_line *b);

/* Replays `profile` into `see`. LH_EARGUMENT if it is an aggregate: the message names the report,
** `what`. */
int lh_tally_events(lh_profile *profile, const char *what,
                    bool (*see)(const lh_event *event, void *data), void *data, lh_error *error);
