/*
** luaheap_tally.h - what the events of a profile add up to, counted as other tools count them: by
** line (LuaJIT's memprof), by type (luamemprofiler), over time by site, and by size (memray).
**
**     lh_timeline timeline;
**     lh_tally_timeline(profile, 200, 8, &timeline, &error);
**     ... timeline.sites[0].bytes[i] ...
**     lh_timeline_free(&timeline);
**
** Each returns 0, LH_EMEMORY, or what lh_profile_replay returned. Names are borrowed from the
** profile. Of a sampled profile all figures are estimates without bias, of any other exact. Of an
** aggregate, which has no order of events, there are none: LH_EARGUMENT. Cost: O(events + stacks).
*/
#ifndef LUAHEAP_PUBLIC_TALLY_H
#define LUAHEAP_PUBLIC_TALLY_H

#include "luaheap_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ==== 1. By line ==================================================================== */

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

/* ==== 2. By type ==================================================================== */

/* Of blocks that were made since tracking began. */
typedef struct lh_type_tally {
  uint64_t made, made_bytes, resized, freed, freed_bytes;
  int64_t resized_bytes;           /* by which they grew, less those by which they shrank */
  uint64_t made_of[LH_TYPE_COUNT]; /* objects of each type */
  uint64_t made_parts;             /* blocks that objects own */
  uint64_t peak_bytes;             /* the most that all of them had at one time */
} lh_type_tally;

int lh_tally_types(lh_profile *profile, lh_type_tally *out, lh_error *error);

/* ==== 3. Over time, by site ========================================================= */

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

/* ==== 4. By size ==================================================================== */

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
