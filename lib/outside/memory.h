/* memory.h - reads a target's memory: spans of addresses, written pages, a page cache, copies. */
#pragma once

#include "outside.h"

static inline void *lh_pointer(uint64_t address) {
  return (void *)(uintptr_t)address;
}

/* ==== Spans ======================================================================= */

typedef struct lh_span {
  uint64_t start, end;
} lh_span;

/* Sorted; no two touch. */
typedef struct lh_spans {
  lh_span *all;
  size_t n, capacity;
} lh_spans;

/* The span must start behind the start of the last one; with at most `gap` bytes between, they are
** joined. False: out of memory. */
bool lh_spans_add(lh_spans *spans, uint64_t start, uint64_t end, uint64_t gap);

uint64_t lh_spans_bytes(const lh_spans *spans);

/* Is [address, address + n) within one span? O(log n). */
bool lh_spans_have(const lh_spans *spans, uint64_t address, uint64_t n);

/* Iterates over the parts of `spans` that are not in `others`. The cursor is zero at first. */
typedef struct lh_spans_cursor {
  size_t span, other;
  uint64_t from;
} lh_spans_cursor;
bool lh_spans_next_missing(const lh_spans *spans, const lh_spans *others, lh_spans_cursor *cursor,
                           lh_span *missing);

void lh_spans_free(lh_spans *spans);

/* ==== Pages ======================================================================= */

/* Of a mapping of 40 GB a program may use one. To read the rest would take long, allocate page
** tables in the process, and take memory in the mirror. So only written pages are read:
**
**     lh_pages_begin(&pages, memory);
**     while (lh_pages_next(&pages, &span)) ...
**     lh_pages_end(&pages); */
enum { LH_PAGES_AT_ONCE = 1024 };

typedef struct lh_pages {
  const lh_memory *memory;
  int fd;            /* /proc/PID/pagemap; -1: none */
  bool is_asked;     /* by PAGEMAP_SCAN; else the entries are read */
  uint64_t until_ns; /* lh_now_ns() at which the search ends; 0: never */
  size_t region;     /* current region */
  uint64_t from;     /* next address in it */
  size_t n, next;    /* number found, and next to return */
  lh_span found[LH_PAGES_AT_ONCE];
} lh_pages;

void lh_pages_begin(lh_pages *pages, const lh_memory *memory);

/* The next written pages of the mirrored regions (lh_region_is_mirrored), by ascending address, at
** most 2 MiB. No Lua object lies between them, because the collector writes to each object. Core:
** its data without holes, which are zero. If written pages are unknown: whole regions. False: no
** more pages, or until_ns is over. Cost: 15 ms per GB in use, 0.01 ms per other GB. */
bool lh_pages_next(lh_pages *pages, lh_span *span);

void lh_pages_end(lh_pages *pages);

/* Are many pages shared, as after a fork? Samples 4,096 pages at most: 1 ms per GB. */
bool lh_pages_are_shared(const lh_memory *memory);

/* ==== A cache ===================================================================== */

/* Inspecting a state takes some hundred small reads, mostly on a few pages. So whole pages are
** read, and kept until lh_cached_forget. A search has just read most of them itself: it lends them.
** A forged target could put each read on another page: so the caller says how many pages may be
** read for one question, at most LH_CACHED_MOST; then reads fail. */
enum { LH_CACHED_PAGE = 4096, LH_CACHED_PAGES = 256, LH_CACHED_MOST = 4096 };

typedef struct lh_cached {
  const lh_memory *memory;
  size_t left;                         /* pages that may still be read */
  const uint8_t *lent;                 /* NULL: none */
  uint64_t lent_start, lent_bytes;     /* where they are in the target */
  uint64_t addresses[LH_CACHED_PAGES]; /* of the pages, plus one; 0: empty */
  uint8_t bytes[LH_CACHED_PAGES][LH_CACHED_PAGE];
} lh_cached;

/* NULL: out of memory. Borrows `memory`. Freed by lh_free. */
lh_cached *lh_cached_open(const lh_memory *memory);
void lh_cached_begin(lh_cached *cached, size_t most_pages); /* another question begins */
void lh_cached_forget(lh_cached *cached);                   /* the target may have changed */

/* The caller has just read the n bytes at `start`, which it keeps until lh_cached_forget. */
void lh_cached_lend(lh_cached *cached, uint64_t start, const void *bytes, uint64_t n);
lh_peek lh_peek_cached(lh_cached *cached);

/* ==== Copies ====================================================================== */

/* Copies the readable pages of [start, end) to the same addresses in this process, which must be
** mapped. Unreadable pages become zero. Returns the number of bytes copied. */
uint64_t lh_copy(const lh_memory *memory, uint64_t start, uint64_t end);

/* Copies all written pages that are mirrored, and adds them to `written`. Uses a thread per
** processor, at most four. False: out of memory, or a signal ends this process. */
bool lh_copy_written(const lh_memory *memory, const lh_spans *mirrored, lh_spans *written,
                     uint64_t *copied);
