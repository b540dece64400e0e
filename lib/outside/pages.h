/*
** pages.h - which pages a process has written.
**
** Of a mapping of 40 GB a program may use one. To read the rest would take long, and make the
** kernel give the process page tables for it; in the mirror it would take memory. So whoever reads
** all memory of a target goes by the pages that were written.
**
**     lh_pages pages;
**     lh_pages_begin(&pages, memory);
**     while (lh_pages_next(&pages, &span)) ...
**     lh_pages_end(&pages);
*/
#ifndef LUAHEAP_OUTSIDE_PAGES_H
#define LUAHEAP_OUTSIDE_PAGES_H

#include "outside.h"
#include "spans.h"

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

#endif
