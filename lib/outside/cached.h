/*
** cached.h - a target's memory through a cache of pages, for whoever reads it in small parts.
**
** A look at a state is some hundred reads of a few bytes, most of which are on a few pages. Each
** of them would be a system call. So a page is read whole and kept, until lh_cached_forget.
**
** What a target has may be forged, so that each read is on another page. So no more than
** LH_CACHED_MOST pages are read for one question; then memory cannot be read.
*/
#ifndef LUAHEAP_OUTSIDE_CACHED_H
#define LUAHEAP_OUTSIDE_CACHED_H

#include "outside.h"
#include "take/structure.h"

enum { LH_CACHED_PAGE = 4096, LH_CACHED_PAGES = 256, LH_CACHED_MOST = 4096 };

typedef struct lh_cached {
  const lh_memory *memory;
  size_t left;                         /* how many pages may still be read */
  uint64_t addresses[LH_CACHED_PAGES]; /* of the pages, plus one; 0: none is there */
  uint8_t bytes[LH_CACHED_PAGES][LH_CACHED_PAGE];
} lh_cached;

/* NULL: memory has run out. The memory is borrowed; lh_free. */
lh_cached *lh_cached_open(const lh_memory *memory);

/* Another question begins. */
void lh_cached_begin(lh_cached *cached);

/* The target may have changed since: each page is read anew. */
void lh_cached_forget(lh_cached *cached);

/* How lib/take reads through it. */
lh_peek lh_peek_cached(lh_cached *cached);

#endif
