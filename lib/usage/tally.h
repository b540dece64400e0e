/*
** tally.h - what the tallies of a profile share: sums that are exact where nothing was sampled, and
** numbers for lines (keys.c). Private to the folder:
**
**     lines.c      by line       timeline.c   over time, by site
**     types.c      by type       sizes.c      by size
*/
#ifndef LUAHEAP_TALLY_PRIVATE_H
#define LUAHEAP_TALLY_PRIVATE_H

#include "base.h"
#include "name/map.h"
#include "usage/answers.h"

/* {=== Sums ========================================================================== */

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
int64_t lh_sum_signed(const lh_sum *sum);
uint64_t lh_sum_of(const lh_sum *sum);

/* }=================================================================================== */

/* {=== Keys ========================================================================== */

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

/* }=================================================================================== */

/* Replays `profile`, which is no aggregate, of `what` the caller makes a tally; when `see` stops
** because memory ran out, *failed is set. */
int lh_tally_events(lh_profile *profile, const char *what,
                    bool (*see)(const lh_event *event, void *data), void *data, const bool *failed,
                    lh_error *error);

#endif
