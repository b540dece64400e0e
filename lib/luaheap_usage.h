/*
** luaheap_usage.h - what a profile tells: who allocated how much, what of it lives, and how soon
** the rest died.
**
**     lh_profile_open -> lh_usage_new -> lh_usage_groups, lh_usage_calls_find, ...
**                     -> lh_tally_lines, lh_tally_timeline, ...
**
** Counts are kept by stack and type, so a profile of 10^9 events takes as much memory as one of
** 10^6: some 400 bytes for each stack that allocated.
**
** An object dies when nothing refers to it any more, but that is seen only when the collector frees
** it, up to half of the heap later (ordered: 0.3 to 0.5 of it in incremental mode, 0.1 to 0.2 in
** generational mode). So ages at death are upper bounds, and below that they say no more than that
** an object was dead at the first collection.
*/
#ifndef LUAHEAP_PUBLIC_USAGE_H
#define LUAHEAP_PUBLIC_USAGE_H

#include "luaheap_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ==== 1. Counts by stack ============================================================ */

/* A moment of a profile. */
typedef enum lh_moment_unit {
  LH_MOMENT_OPEN,  /* its start, or its end */
  LH_MOMENT_TIME,  /* nanoseconds after the start */
  LH_MOMENT_BYTES, /* when so many were allocated */
  LH_MOMENT_SHARE  /* n / LH_WHOLE_DURATION of its time have passed */
} lh_moment_unit;

#define LH_WHOLE_DURATION 1000000u

typedef struct lh_moment {
  lh_moment_unit unit;
  uint64_t n;
} lh_moment;

/* What is counted: blocks that were made from `since` until `until`, and what becomes of them. */
typedef struct lh_usage_query {
  lh_moment since, until;
  bool to_the_end; /* they are watched until the profile ends, and not only until `until` */
  bool peak;       /* what of them lived when the heap was biggest; a second replay of the events */
} lh_usage_query;

/* What a stack allocated, or several, and what became of it. Sampled: estimates. A block that is
** resized is made anew: it is no longer where it was, and allocated where it is resized. */
typedef struct lh_usage_group {
  lh_stack_id stack;      /* that with most of what they are in order by; 0: unattributed */
  uint8_t type;           /* the same of types; as in lh_event */
  const lh_site *site;    /* of the stack */
  uint64_t ordered_bytes; /* by which they are in order */
  uint64_t allocated_bytes;
  uint64_t error_bytes; /* so far from that, up or down, is the truth in 19 of 20 cases; 0 where
                           every event is known */
  uint64_t allocations, objects; /* new blocks: objects, and the parts that they own */
  uint64_t resizes;
  uint64_t freed_bytes, freed;
  uint64_t live_bytes, live;
  uint64_t mean_age_bytes; /* at death */
  uint64_t most_age_bytes; /* that 0.9 of the freed bytes had at most; UINT64_MAX: more than is told
                              apart, 0: nothing was freed */
  uint64_t soon_bytes;     /* that were dead at the first collection */
  uint64_t peak_bytes;     /* alive when the heap was biggest */
  uint64_t samples;        /* so many events stand behind what was allocated */
} lh_usage_group;

typedef struct lh_usage_totals {
  lh_usage_group all;
  uint64_t since_ns, until_ns;
  uint64_t heap_bytes;      /* at the end */
  uint64_t mean_heap_bytes; /* over all that was allocated */
  uint64_t peak_bytes, peak_ns;
  uint64_t old_freed, old_freed_bytes; /* of blocks from before tracking */
  uint64_t unattributed_bytes;         /* allocated by nobody knows whom */
} lh_usage_totals;

typedef struct lh_usage lh_usage;

/* Counts. The profile stays open as long as the usage. An aggregate has no times: LH_EARGUMENT for
** a query with moments. Also LH_EDAMAGED, LH_EMEMORY. Freed by lh_usage_free. O(events). */
int lh_usage_new(lh_usage **out, lh_profile *profile, const lh_usage_query *query, lh_error *error);
void lh_usage_free(lh_usage *usage);

/* LH_EARGUMENT where nothing can be in the interval of its query: `since` is beyond the end, or
** `until` not after it. What has none although there is time for it is LH_OK. */
int lh_usage_check_interval(const lh_usage *usage, lh_error *error);

lh_profile *lh_usage_profile(const lh_usage *usage);
const lh_usage_query *lh_usage_asked(const lh_usage *usage);
const lh_usage_totals *lh_usage_total(const lh_usage *usage);

/* Was some of what is watched allocated so late that, if it was garbage at the end, no collection
** need have freed it by then? *until_bytes: where an interval ends that has none of that; 0: none
** does. */
bool lh_usage_is_unsettled(const lh_usage *usage, uint64_t *until_bytes);

/* Below this age an object was dead at the first collection: half of the mean heap. */
uint64_t lh_first_collection_bytes(const lh_usage *usage);

/* ==== 2. Groups ===================================================================== */

typedef enum lh_usage_by {
  LH_BY_SITE,
  LH_BY_FUNCTION,
  LH_BY_TYPE,
  LH_BY_FILE,
  LH_BY_STACK
} lh_usage_by;

const char *lh_usage_by_name(lh_usage_by by); /* "site" */

/* What comes first. */
typedef enum lh_usage_order {
  LH_MOST_ALLOCATED,
  LH_MOST_LIVE,
  LH_MOST_AT_PEAK,
  LH_MOST_SOON_DEAD /* bytes that were dead at the first collection */
} lh_usage_order;

/* Those that have anything of the order, most of it first. Sites with equal contents are one.
** Freed by lh_free. LH_EMEMORY. O(sites log sites + rows log rows). */
int lh_usage_groups(const lh_usage *usage, lh_usage_by by, lh_usage_order order,
                    lh_usage_group **out, size_t *n, lh_error *error);

/* ==== 3. Calls ====================================================================== */

typedef struct lh_calls_query {
  bool c_functions; /* are functions of their own, which the Lua functions of their sites called;
                          else what they allocate is of these */
  bool growth;      /* of a block that is resized counts by how much it grew; else all of it */
} lh_calls_query;

/* From one function to another; each is told by a stack whose site is in it. */
typedef struct lh_call_usage {
  lh_stack_id caller, called;
  uint32_t caller_at, called_at; /* in `functions` */
  uint64_t self_bytes;           /* that the called one allocated itself then */
  uint64_t total_bytes;          /* and with all that it called; of recursive calls the outermost */
  uint64_t calls, tail_calls;    /* where the profile has calls */
} lh_call_usage;

typedef struct lh_function_usage {
  lh_stack_id stack;                /* one whose site is in it */
  bool is_c;                        /* it is the C function of that site */
  uint64_t self_bytes, self_blocks; /* that it allocated itself; where C functions are none,
                                       also what they did for it */
  uint64_t total_bytes;             /* with all that it called; of recursive calls the outermost */
  uint64_t calls, tail_calls;       /* where the profile has calls, and so the times */
  uint64_t self_ns, total_ns;
  bool is_constant;                      /* all of them returned the very same values */
  uint32_t number;                       /* private */
  const lh_call_usage *callers, *called; /* most bytes first */
  size_t n_callers, n_called;
} lh_function_usage;

typedef struct lh_usage_calls {
  uint64_t bytes;
  lh_function_usage *functions; /* with most bytes in total first */
  size_t n_functions;
  lh_call_usage *calls[2]; /* private */
} lh_usage_calls;

/* Who called whom for what was allocated. Freed by lh_usage_calls_free. LH_EMEMORY; of growth,
** which takes one replay of all events, also LH_EARGUMENT for an aggregate. Cost: O(stacks log
** stacks). */
int lh_usage_calls_find(const lh_usage *usage, const lh_calls_query *query, lh_usage_calls *out,
                        lh_error *error);
void lh_usage_calls_free(lh_usage_calls *calls);

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

/* ==== 4. Advice ===================================================================== */

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

/* ==== 5. Two profiles =============================================================== */

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

/* ==== 6. Events by line =========================================================== */

/* What follows is counted as other tools count it: by line (LuaJIT's memprof), by type
** (luamemprofiler), over time by site, and by size (memray). Each replays the events, and returns
** 0, LH_EMEMORY, or what lh_profile_replay returned. Of a sampled profile all figures are estimates
** without bias, of any other exact. Of an aggregate, which has no order of events, there are none:
** LH_EARGUMENT. Names are borrowed from the profile. O(events + stacks). */

typedef struct lh_line {
  const char *source; /* "@app.lua"; NULL: no Lua function allocated, as when the collector frees */
  uint32_t line;
  lh_site site; /* what all of its sites have in common: no function, if there are several */
} lh_line;

/* Blocks that were made or resized last at a line and then resized or freed at another. */
typedef struct lh_line_override {
  uint32_t line;
  uint64_t blocks;
} lh_line_override;

typedef struct lh_line_events {
  uint32_t line;                                 /* at which they happened */
  uint64_t events, allocated_bytes, freed_bytes; /* the blocks' sizes after and before */
  const lh_line_override *overrides; /* by source and line; without blocks from before tracking */
  size_t n_overrides;
} lh_line_events;

/* What a line holds: the blocks that were made or resized last there. */
typedef struct lh_line_held {
  uint32_t line;
  uint64_t bytes, allocations, frees;
} lh_line_held;

typedef struct lh_line_moment {
  uint64_t time_ns;
  lh_line_held *held; /* most bytes first */
  size_t n_held, n_more;
} lh_line_moment;

typedef struct lh_line_tally {
  lh_line *lines; /* that the others number from 0; lines[0] has no source */
  size_t n_lines;
  struct {
    lh_line_events *list; /* most events first */
    size_t n;
  } of[3];                 /* lh_event_kind: made, resized, freed */
  lh_line_moment *moments; /* the last: at the end, of all lines that hold anything */
  size_t n_moments;
  lh_line_override *overrides; /* private: all of them */
} lh_line_tally;

/* every_ns: a moment at each multiple of it before which something changed, with the lines that
** hold most, LH_MOMENT_LINES at most; 0: only that at the end. LH_ELIMIT: more than
** LH_MOST_MOMENTS. */
enum { LH_MOST_MOMENTS = 1000, LH_MOMENT_LINES = 20 };
int lh_tally_lines(lh_profile *profile, uint64_t every_ns, lh_line_tally *out, lh_error *error);
void lh_line_tally_free(lh_line_tally *tally);

/* ==== 7. Events by type =========================================================== */

/* Of blocks that were made since tracking began. */
typedef struct lh_type_tally {
  uint64_t made, made_bytes, resized, freed, freed_bytes;
  int64_t resized_bytes;           /* by which they grew, less those by which they shrank */
  uint64_t made_of[LH_TYPE_COUNT]; /* objects of each type */
  uint64_t made_parts;             /* blocks that objects own */
  uint64_t peak_bytes;             /* the most that all of them had at one time */
} lh_type_tally;

int lh_tally_types(lh_profile *profile, lh_type_tally *out, lh_error *error);

/* ==== 8. Over time, by site ======================================================= */

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

/* ==== 9. By size ================================================================== */

/* Blocks of more than 2^(i-1) and at most 2^i bytes that were made, or had that size after they
** were resized; the first has those of one byte and none. */
enum { LH_SIZES = 65 };
typedef struct lh_size_tally {
  uint64_t blocks[LH_SIZES], bytes[LH_SIZES];
} lh_size_tally;

int lh_tally_sizes(lh_profile *profile, lh_size_tally *out, lh_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
