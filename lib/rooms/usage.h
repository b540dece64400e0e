/*
** usage.h - sums of a profile: allocations, live and freed blocks, calls.
**
**     lh_profile_open -> lh_usage_new -> lh_usage_groups, lh_usage_calls_find, ...
**                     -> lh_tally_lines, lh_tally_types
**
** Counts are kept by stack and type: about 400 bytes for each stack, for any number of events.
**
** The death of an object is seen only when the collector frees it, up to half of the heap later
** (0.3 to 0.5 of the heap in incremental mode, 0.1 to 0.2 in generational mode). So an age at death
** is an upper bound; a smaller age only says that the object was dead at the first collection.
*/
#pragma once

#include "rooms/profile.h"

/* ==== 1. Counts by stack ============================================================ */

/* A moment of a profile. */
typedef enum lh_moment_unit {
  LH_MOMENT_OPEN,  /* its start or end */
  LH_MOMENT_TIME,  /* nanoseconds after the start */
  LH_MOMENT_BYTES, /* allocated bytes */
  LH_MOMENT_SHARE  /* n / LH_WHOLE_DURATION of its time */
} lh_moment_unit;

#define LH_WHOLE_DURATION 1000000u

typedef struct lh_moment {
  lh_moment_unit unit;
  uint64_t n;
} lh_moment;

/* Counts blocks made from `since` until `until`, and their fate. */
typedef struct lh_usage_query {
  lh_moment since, until;
  bool to_the_end; /* watches the blocks until the profile ends, not only until `until` */
  bool peak;       /* also counts blocks alive at the heap's peak; replays the events again */
} lh_usage_query;

/* The allocations of one or more stacks, and their fate. Sampled: estimates. A resized block is
** made anew: it leaves its old stack, and is allocated at the stack that resized it. */
typedef struct lh_usage_group {
  lh_stack_id stack;   /* the stack with most ordered_bytes; 0: unattributed */
  uint8_t type;        /* of the objects with most ordered_bytes; LH_EVENT_PART: there are none */
  bool has_parts;      /* some of ordered_bytes are parts of objects */
  const lh_site *site; /* of the stack */
  uint64_t ordered_bytes; /* the sort key */
  uint64_t allocated_bytes;
  uint64_t error_bytes; /* allocated_bytes is right within +- this in 19 of 20 cases; 0: every
                           event is known */
  uint64_t allocations, objects; /* allocations: new blocks, objects and the blocks that they own */
  uint64_t resizes;
  uint64_t freed_bytes, freed;
  uint64_t live_bytes, live, live_objects;
  uint64_t mean_age_bytes; /* at death */
  uint64_t most_age_bytes; /* nine tenths of the freed bytes had at most this age; UINT64_MAX:
                              more than the counts tell apart, 0: nothing was freed */
  uint64_t soon_bytes;     /* dead at the first collection */
  uint64_t peak_bytes;     /* alive at the heap's peak */
  uint64_t samples;        /* events behind allocated_bytes */
} lh_usage_group;

typedef struct lh_usage_totals {
  lh_usage_group all;
  uint64_t since_ns, until_ns;
  uint64_t heap_bytes;      /* at the end */
  uint64_t mean_heap_bytes; /* averaged over allocated bytes */
  uint64_t peak_bytes, peak_ns;
  uint64_t old_freed_bytes;    /* blocks made before tracking */
  uint64_t unattributed_bytes; /* of unknown origin */
} lh_usage_totals;

typedef struct lh_usage lh_usage;

/* Counts the events of a profile, which must stay open. LH_EARGUMENT: a query with moments for an
** aggregate, which has no times. LH_EDAMAGED, LH_EMEMORY. Freed by lh_usage_free. O(events). */
int lh_usage_new(lh_usage **out, lh_profile *profile, const lh_usage_query *query, lh_error *error);
void lh_usage_free(lh_usage *usage);

/* LH_EARGUMENT: the interval of the query is empty, since `since` is behind the end or `until` not
** behind `since`. An interval in which nothing happened is LH_OK. */
int lh_usage_check_interval(const lh_usage *usage, lh_error *error);

lh_profile *lh_usage_profile(const lh_usage *usage);
const lh_usage_query *lh_usage_get_query(const lh_usage *usage);
const lh_usage_totals *lh_usage_total(const lh_usage *usage);

/* Was a watched block allocated so late that no collection need have freed it by the end, even if
** it was garbage? *until_bytes: the end of an interval without late blocks; 0: there is none. */
bool lh_usage_is_unsettled(const lh_usage *usage, uint64_t *until_bytes);

/* The live bytes of blocks that were allocated so late. Counts the events anew: errors as of
** lh_usage_new. */
int lh_usage_unsettled(const lh_usage *usage, uint64_t *bytes, lh_error *error);

/* ==== 2. Groups ===================================================================== */

typedef enum lh_usage_by {
  LH_BY_SITE,
  LH_BY_FUNCTION,
  LH_BY_TYPE,
  LH_BY_FILE,
  LH_BY_STACK
} lh_usage_by;

const char *lh_usage_by_name(lh_usage_by by); /* "site" */

/* The order of groups. */
typedef enum lh_usage_order {
  LH_MOST_ALLOCATED,
  LH_MOST_LIVE,
  LH_MOST_AT_PEAK,
  LH_MOST_SOON_DEAD /* bytes dead at the first collection */
} lh_usage_order;

/* The groups with more than 0 in the order, most first. Sites with equal contents are one group.
** Freed by lh_free. O(sites log sites + rows log rows). */
int lh_usage_groups(const lh_usage *usage, lh_usage_by by, lh_usage_order order,
                    lh_usage_group **out, size_t *n, lh_error *error);

/* ==== 3. Calls ====================================================================== */

typedef struct lh_calls_query {
  bool c_functions; /* C functions count as functions, called by the Lua function of their site;
                       else their allocations count for that Lua function */
  bool growth;      /* a resized block counts only its growth; else all of its bytes */
} lh_calls_query;

/* The calls from one function to another. Each function is given by a stack with a site in it. */
typedef struct lh_call_usage {
  lh_stack_id caller, called;
  uint32_t caller_at, called_at; /* index in `functions` */
  uint64_t self_bytes;           /* allocated by the called function itself */
  uint64_t total_bytes;          /* with its callees; for recursion only the outermost calls */
  uint64_t calls, tail_calls;    /* if the profile has calls */
} lh_call_usage;

typedef struct lh_function_usage {
  lh_stack_id stack;                /* a stack whose site is in the function */
  bool is_c;                        /* the C function of that site */
  uint64_t self_bytes, self_blocks; /* allocated by itself; without c_functions also by C
                                       functions that it called */
  uint64_t total_bytes;             /* with its callees; for recursion only the outermost calls */
  uint64_t calls, tail_calls;       /* if the profile has calls; so are the times */
  uint64_t self_ns, total_ns;
  bool is_constant;                      /* all calls returned the very same values */
  uint32_t number;                       /* private */
  const lh_call_usage *callers, *called; /* most bytes first */
  size_t n_callers, n_called;
} lh_function_usage;

typedef struct lh_usage_calls {
  uint64_t bytes;
  lh_function_usage *functions; /* most total bytes first */
  size_t n_functions;
  lh_call_usage *calls[2]; /* private */
} lh_usage_calls;

/* Finds who called whom for the allocations. Freed by lh_usage_calls_free. LH_EMEMORY; with
** `growth`, which replays all events, also LH_EARGUMENT for an aggregate. O(stacks log stacks). */
int lh_usage_calls_find(const lh_usage *usage, const lh_calls_query *query, lh_usage_calls *out,
                        lh_error *error);
void lh_usage_calls_free(lh_usage_calls *calls);

/* ==== 4. Events by line =========================================================== */

/* Counts as other tools do: by line (LuaJIT's memprof) and by type (luamemprofiler). Each call
** replays the events, and returns 0, LH_EMEMORY, or a code of lh_profile_replay. LH_EARGUMENT: an
** aggregate, which has no events. Figures are exact; of a sampled profile they are unbiased
** estimates. Names are borrowed from the profile. O(events + stacks). */

typedef struct lh_line {
  const char *source; /* "@app.lua"; NULL: no Lua function, as when the collector frees */
  uint32_t line;
  lh_site site; /* what its sites have in common: no function, if there are several */
} lh_line;

/* Blocks last made or resized at `line`, and then resized or freed at another line. */
typedef struct lh_line_override {
  uint32_t line;
  uint64_t blocks;
} lh_line_override;

typedef struct lh_line_events {
  uint32_t line;                                 /* of the events */
  uint64_t events, allocated_bytes, freed_bytes; /* the blocks' sizes after and before */
  const lh_line_override *overrides; /* by source and line; without blocks from before tracking */
  size_t n_overrides;
} lh_line_events;

/* The blocks that were last made or resized at a line. */
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
  lh_line *lines; /* other structs number them from 0; lines[0] has no source */
  size_t n_lines;
  struct {
    lh_line_events *list; /* most events first */
    size_t n;
  } of[3];                 /* lh_event_kind: made, resized, freed */
  lh_line_moment *moments; /* the last one: at the end, with all lines that hold anything */
  size_t n_moments;
  lh_line_override *overrides; /* private */
} lh_line_tally;

/* every_ns: records a moment at each multiple before which something changed, with at most
** LH_MOMENT_LINES lines that hold most; 0: only the end. LH_ELIMIT: more than LH_MOST_MOMENTS. */
enum { LH_MOST_MOMENTS = 1000, LH_MOMENT_LINES = 20 };
int lh_tally_lines(lh_profile *profile, uint64_t every_ns, lh_line_tally *out, lh_error *error);
void lh_line_tally_free(lh_line_tally *tally);

/* ==== 5. Events by type =========================================================== */

/* Blocks made since tracking began. */
typedef struct lh_type_tally {
  uint64_t made, made_bytes, resized, freed, freed_bytes;
  int64_t resized_bytes;           /* growth minus shrinkage */
  uint64_t made_of[LH_TYPE_COUNT]; /* objects by type */
  uint64_t made_parts;             /* blocks that objects own */
  uint64_t peak_bytes;             /* of all these blocks together */
} lh_type_tally;

int lh_tally_types(lh_profile *profile, lh_type_tally *out, lh_error *error);
