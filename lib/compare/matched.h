/*
** matched.h - the marks of a snapshot in a later one of the same state whose heap lacks them: where
** they would stand, by the objects that are in both.
*/
#ifndef LUAHEAP_MATCHED_H
#define LUAHEAP_MATCHED_H

#include "read/snapshot.h"

/* Of a mark, on allgc and finobj: the objects with these ids and higher ones are behind it, which
** are so many; and so many of these may be younger. */
typedef struct lh_matched_place {
  lh_id ids[2];
  uint32_t n[2], passed[2];
} lh_matched_place;

/* Fills in a place for each mark of the earlier one. O(objects). */
void lh_match(const lh_snapshot *earlier, const lh_snapshot *later, lh_matched_place *places);

/* The number of the earlier snapshot's own mark in the later one. O(marks). */
bool lh_find_own_mark(const lh_snapshot *earlier, const lh_snapshot *later, uint32_t *mark);

#endif
