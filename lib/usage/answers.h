/*
** answers.h - what is told of a profile beside its groups, calls and events: advice, changes, time.
*/
#ifndef LUAHEAP_USAGE_ANSWERS_H
#define LUAHEAP_USAGE_ANSWERS_H

#include "luaheap_usage.h"

/* Below this age an object was dead at the first collection: half of the mean heap. */
uint64_t lh_first_collection_bytes(const lh_usage *usage);

/* A row of the tree of stacks. `stack` called what follows it, one level deeper: the stacks that
** are shown, and then a row for the others, if there are any. So the bytes of a row are its own and
** those of the rows one level below it. */
typedef struct lh_usage_stack {
  lh_stack_id stack; /* of a rest: the one that called them; 0: none did, or it is unattributed */
  uint32_t depth;
  bool is_rest;
  uint64_t stacks; /* so many that it stands for; 1 unless it is a rest */
  uint64_t self_bytes, total_bytes;
} lh_usage_stack;

/* The stacks in the order of a tree, outermost first, with what of each was allocated, lives, and
** so on, as `order` says; of all stacks the `limit` (0: all) with most bytes, rests apart. Freed by
** lh_free. LH_EMEMORY. O(stacks log stacks). */
int lh_usage_stacks(const lh_usage *usage, lh_usage_order order, size_t limit, lh_usage_stack **out,
                    size_t *n, lh_error *error);

typedef enum lh_advice_kind {
  LH_ADVICE_SIZE,     /* tables grow step by step to a size that could be given */
  LH_ADVICE_CONCAT,   /* a string is put together in a loop: each is a copy of the one before */
  LH_ADVICE_FUNCTION, /* the same function is made again and again, for a moment */
  LH_ADVICE_TABLE     /* and a table of one constructor */
} lh_advice_kind;

typedef struct lh_advice {
  lh_advice_kind kind;
  lh_stack_id stack;
  uint64_t times;   /* tables grew, or strings, functions, tables were made */
  uint64_t objects; /* so many tables grew, or strings were the last ones */
  uint64_t most;    /* slots of the biggest table, bytes of the longest string; else 0 */
  uint64_t bytes;   /* that all of it allocated */
} lh_advice;

/* What could be done with less allocation, most bytes first, if it is worth half a percent of all.
** Of samples and of counts alone only the last two kinds are seen. Freed by lh_free. LH_EDAMAGED,
** LH_EMEMORY. O(events): one replay. */
int lh_find_advice(const lh_usage *usage, lh_advice **out, size_t *n, lh_error *error);

typedef struct lh_usage_change {
  lh_stack_id stacks[2]; /* in each; 0: there it is not */
  uint64_t allocated_bytes[2], allocations[2], live_bytes[2];
} lh_usage_change;

/* The sites of both, those first that allocate more than before. A site is the same where source,
** function, the line's distance from the function's first line, what allocates and the C function
** are: so it is found again in a file in which lines were added. Of several such sites in a file,
** as in functions without a name, those at the same line are the same, then those in the same
** order. Freed by lh_free. LH_EMEMORY. */
int lh_usage_changes(const lh_usage *before, const lh_usage *after, lh_usage_change **out,
                     size_t *n, lh_error *error);

typedef struct lh_timeline_site {
  lh_site site;        /* its line, as lh_line has it; without a source: of no Lua function */
  size_t n_others;     /* not 0: the last of the list, all other lines together, so many */
  uint64_t peak_bytes; /* that lived when the whole heap was biggest */
  uint64_t end_bytes;
  uint64_t *bytes; /* at each moment */
} lh_timeline_site;

/* A moment is that at which the heap was biggest within its interval; so peaks are not lost. */
typedef struct lh_timeline {
  uint64_t interval_ns;
  uint64_t *heap_bytes; /* at each moment: all sites and what was there before tracking */
  uint64_t *old_bytes;  /* what was there before and is not freed yet */
  size_t n_moments;
  lh_timeline_site *sites; /* most at any time first */
  size_t n_sites;
  uint64_t peak_bytes, peak_ns, end_bytes;
} lh_timeline;

/* At n_moments moments and of n_sites sites at most, both at least 1. */
int lh_tally_timeline(lh_profile *profile, size_t n_moments, size_t n_sites, lh_timeline *out,
                      lh_error *error);
void lh_timeline_free(lh_timeline *timeline);

/* Blocks of more than 2^(i-1) and at most 2^i bytes that were made, or had that size after they
** were resized; the first has those of one byte and none. */
enum { LH_SIZES = 65 };
typedef struct lh_size_tally {
  uint64_t blocks[LH_SIZES], bytes[LH_SIZES];
} lh_size_tally;

int lh_tally_sizes(lh_profile *profile, lh_size_tally *out, lh_error *error);

#endif
