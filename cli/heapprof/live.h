/*
** live.h - what the files of the live page share: live.c asks the program, waits and takes keys;
** live_page.c prints what it answered.
*/
#ifndef LUAHEAP_HEAPPROF_LIVE_H
#define LUAHEAP_HEAPPROF_LIVE_H

#include "heapprof.h"
#include "luaheap_tracked.h"

/* What the events of a type or a site add up to. */
typedef struct live_counts {
  uint64_t allocated, allocated_bytes, freed, freed_bytes; /* a resized block is both */
} live_counts;

enum { LIVE_TYPES = LH_TYPE_COUNT + 1 }; /* the last: parts of objects */

/* What the program told at one time. */
typedef struct live_figures {
  char *program; /* printable */
  uint64_t duration_ns, peak_bytes;
  live_counts all, types[LIVE_TYPES];
  live_counts *sites; /* by id */
  char **names;       /* of these; NULL: has no events */
  uint32_t n_sites;
} live_figures;

void live_count(lh_profile *profile, live_figures *figures);
void live_free(live_figures *figures);

/* What happened since `before`, which is all zero for what happened since tracking began; with
** `rows` sites at most. state: what the program does, if that is worth telling; or NULL. */
void live_print(cli *c, const live_figures *now, const live_figures *before, size_t rows,
                const char *state);
void live_print_json(const live_figures *now, size_t rows);

#endif
