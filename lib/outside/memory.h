/*
** memory.h - how the memory of a target is read: by spans of addresses (spans), by the pages that a
** process has written (pages), through a cache of pages (cached), and into its own addresses here
** (copy).
*/
#ifndef LUAHEAP_OUTSIDE_MEMORY_H
#define LUAHEAP_OUTSIDE_MEMORY_H

#include "outside.h"

static inline void *lh_pointer(uint64_t address) {
  return (void *)(uintptr_t)address;
}

/* ==== Spans ======================================================================= */

typedef struct lh_span {
  uint64_t start, end;
} lh_span;

/* Ascending, and no two touch. */
typedef struct lh_spans {
  lh_span *all;
  size_t n, capacity;
} lh_spans;

/* Adds one that starts behind the start of the last; with at most `gap` bytes between, they become
** one. False: out of memory. */
bool lh_spans_add(lh_spans *spans, uint64_t start, uint64_t end, uint64_t gap);

uint64_t lh_spans_bytes(const lh_spans *spans);

/* Is [address, address + n) in one of them? O(log n). */
bool lh_spans_have(const lh_spans *spans, uint64_t address, uint64_t n);

/* What `spans` has and `others` have not: a part at each call, the cursor being zero at first. */
typedef struct lh_spans_cursor {
  size_t span, other;
  uint64_t from;
} lh_spans_cursor;
bool lh_spans_next_missing(const lh_spans *spans, const lh_spans *others, lh_spans_cursor *cursor,
                           lh_span *missing);

void lh_spans_free(lh_spans *spans);

/* ==== Pages ======================================================================= */

/* Of a mapping of 40 GB a program may use one. To read the rest would take long, and make the
** kernel give the process page tables for it; in the mirror it would take memory. So all of a
** target's memory is read by the pages that were written:
**
**     lh_pages_begin(&pages, memory);
**     while (lh_pages_next(&pages, &span)) ...
**     lh_pages_end(&pages);
*/
enum { LH_PAGES_AT_ONCE = 1024 };

typedef struct lh_pages {
  const lh_memory *memory;
  int fd;            /* /proc/PID/pagemap; -1: nobody tells */
  bool is_asked;     /* by PAGEMAP_SCAN; else the entries are read */
  uint64_t until_ns; /* lh_now_ns() at which the search for pages ends; 0: never */
  size_t region;     /* the one that is looked at */
  uint64_t from;     /* in it */
  size_t n, next;    /* of those found */
  lh_span found[LH_PAGES_AT_ONCE];
} lh_pages;

void lh_pages_begin(lh_pages *pages, const lh_memory *memory);

/* The next pages of the regions that are mirrored (lh_region_is_mirrored), by ascending address, at
** most 2 MiB of them. What lies between in such a region reads as zero, or as the file that it
** maps: no Lua object is there, since the collector writes to each. Of a core: what is in it, but
** for holes in its file, which are zero. Where the system does not tell, all of a region. False,
** too, after until_ns. Cost: 15 ms for each GB in use, 0.01 for each that is not. */
bool lh_pages_next(lh_pages *pages, lh_span *span);

void lh_pages_end(lh_pages *pages);

/* Has it many of them in common with other processes, as after a fork? One page of each MiB is
** looked at, 4,096 at most: 1 ms for each GB. */
bool lh_pages_are_shared(const lh_memory *memory);

/* ==== A cache ===================================================================== */

/* A look at a state is some hundred reads of a few bytes, most of them on a few pages, and each
** would be a system call. So a page is read whole, and kept until lh_cached_forget. A target may be
** forged so that each read is on another page: so no more than LH_CACHED_MOST pages are read for
** one question; then memory cannot be read. */
enum { LH_CACHED_PAGE = 4096, LH_CACHED_PAGES = 256, LH_CACHED_MOST = 4096 };

typedef struct lh_cached {
  const lh_memory *memory;
  size_t left;                         /* how many pages may still be read */
  uint64_t addresses[LH_CACHED_PAGES]; /* of the pages, plus one; 0: none is there */
  uint8_t bytes[LH_CACHED_PAGES][LH_CACHED_PAGE];
} lh_cached;

/* NULL: memory has run out. The memory is borrowed; lh_free. */
lh_cached *lh_cached_open(const lh_memory *memory);
void lh_cached_begin(lh_cached *cached);  /* another question begins */
void lh_cached_forget(lh_cached *cached); /* the target may have changed since */
lh_peek lh_peek_cached(lh_cached *cached);

/* ==== Copies ====================================================================== */

/* Copies what can be read of [start, end) to its own addresses in this process, which are mapped;
** how many bytes that is. Pages of which that is not so are zero: guards in a mapping, or memory
** that is gone. */
uint64_t lh_copy(const lh_memory *memory, uint64_t start, uint64_t end);

/* The same of all pages that were written and are mirrored, which are added to `written`; by as
** many threads as there are processors, four at most. False: out of memory, or a signal ends this
** process. */
bool lh_copy_written(const lh_memory *memory, const lh_spans *mirrored, lh_spans *written,
                     uint64_t *copied);

#endif
