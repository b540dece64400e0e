/*
** tiles.h - what a treemap and a flame graph have in common: tiles (luaheap_view.h) as rows, and
** their words.
*/
#ifndef LUAHEAP_REPORT_TILES_H
#define LUAHEAP_REPORT_TILES_H

#include "report/report.h"

typedef struct lh_told_tiles {
  lh_tree_by by;
  bool has_interval;
  lh_tiles tiles;
  lh_tile *parts; /* the first and what is directly below it: these are told as text */
  size_t n_parts;
} lh_told_tiles;

extern const lh_table lh_told_tiles_table;

/* Of the key that the request has, else of its object. Where it says nothing: so many tiles, to
** this depth. */
int lh_ask_tiles(lh_snapshot *snapshot, const lh_request *request, lh_tree_by by, size_t limit,
                 uint32_t depth, lh_told_tiles *out, lh_error *error);
uint64_t lh_whole_of_tiles(const void *answer);
void lh_tell_tiles(lh_teller *teller, lh_report *report);
void lh_free_tiles(void *answer);

#endif
