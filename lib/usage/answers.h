/*
** answers.h - answers about a profile beside its groups, calls and events: advice, changes, time.
*/
#pragma once

#include "rooms/usage.h"

/* Half of the mean heap. An object that was freed at a smaller age was dead at its first
** collection. */
uint64_t lh_first_collection_bytes(const lh_usage *usage);

/* A row of the tree of stacks. Rows one level deeper are the stacks that `stack` called; the last
** of them may be a rest row, which sums up the hidden stacks. So a row's total bytes are its own
** bytes and the totals one level below. */
typedef struct lh_usage_stack {
  lh_stack_id stack; /* of a rest: the caller, 0 if none; else 0 is unattributed */
  uint32_t depth;
  bool is_rest;
  uint64_t stacks; /* number of stacks in this row; 1 unless it is a rest */
  uint64_t self_bytes, total_bytes;
} lh_usage_stack;

/* The tree of stacks in preorder, outermost first. Bytes are counted as `order` says. Shows the
** `limit` (0: all) stacks with most bytes; rest rows are not counted. Freed by lh_free. LH_EMEMORY.
** O(stacks log stacks). */
int lh_usage_stacks(const lh_usage *usage, lh_usage_order order, size_t limit, lh_usage_stack **out,
                    size_t *n, lh_error *error);

typedef enum lh_advice_kind {
  LH_ADVICE_SIZE,     /* tables grow step by step to a size that the program could preallocate */
  LH_ADVICE_CONCAT,   /* a loop appends to a string: each step copies the string before */
  LH_ADVICE_FUNCTION, /* a function is created again and again, and soon dead */
  LH_ADVICE_TABLE     /* the same for a table of one constructor */
} lh_advice_kind;

typedef struct lh_advice {
  lh_advice_kind kind;
  lh_stack_id stack;
  uint64_t times;   /* number of growths, or of strings, functions, tables made */
  uint64_t objects; /* number of tables that grew, or of finished strings */
  uint64_t most;    /* slots of the biggest table, bytes of the longest string; else 0 */
  uint64_t bytes;   /* allocated by all of it */
} lh_advice;

/* Where a program could allocate less, most bytes first; entries below 0.5 % of all bytes are left
** out. Sampled profiles and aggregates yield only the last two kinds. Freed by lh_free.
** LH_EDAMAGED, LH_EMEMORY. O(events): one replay. */
int lh_find_advice(const lh_usage *usage, lh_advice **out, size_t *n, lh_error *error);

typedef struct lh_usage_change {
  lh_stack_id stacks[2]; /* one of each profile; 0: the site is not in that profile */
  uint64_t allocated_bytes[2], allocations[2], live_bytes[2];
} lh_usage_change;

/* The sites of both profiles, biggest increase of allocated bytes first. Two sites are the same if
** source, function, C function, kind of allocation and the line's distance from the function's
** first line are equal: so a site is found again after lines were added above it. If several sites
** of a file are the same, sites at the same line are paired first, the others in their order. Freed
** by lh_free. LH_EMEMORY. */
int lh_usage_changes(const lh_usage *before, const lh_usage *after, lh_usage_change **out,
                     size_t *n, lh_error *error);

typedef struct lh_timeline_site {
  lh_site site;        /* its line, like lh_line; without a source: no Lua function */
  size_t n_others;     /* not 0: the last row, which sums up this number of other lines */
  uint64_t peak_bytes; /* live when the whole heap was biggest */
  uint64_t end_bytes;
  uint64_t *bytes; /* live at each moment */
} lh_timeline_site;

/* A moment is the instant at which the heap was biggest within its interval, so no peak is lost. */
typedef struct lh_timeline {
  uint64_t interval_ns;
  uint64_t *heap_bytes; /* at each moment: all sites and the blocks from before tracking */
  uint64_t *old_bytes;  /* blocks from before tracking that are not freed yet */
  size_t n_moments;
  lh_timeline_site *sites; /* biggest maximum over time first */
  size_t n_sites;
  uint64_t peak_bytes, peak_ns, end_bytes;
} lh_timeline;

/* At most n_moments moments and n_sites sites; both at least 1. */
int lh_tally_timeline(lh_profile *profile, size_t n_moments, size_t n_sites, lh_timeline *out,
                      lh_error *error);
void lh_timeline_free(lh_timeline *timeline);

/* Blocks of more than 2^(i-1) and at most 2^i bytes, counted when made and when resized to that
** size. Index 0 counts blocks of 0 and 1 bytes. */
enum { LH_SIZES = 65 };
typedef struct lh_size_tally {
  uint64_t blocks[LH_SIZES], bytes[LH_SIZES];
} lh_size_tally;

int lh_tally_sizes(lh_profile *profile, lh_size_tally *out, lh_error *error);
