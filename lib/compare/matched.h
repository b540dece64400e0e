/*
** matched.h - Finds where a mark would stand in a later snapshot whose heap lacks it, by the
** objects in both.
*/
#pragma once

#include "read/snapshot.h"

/* On allgc and finobj: objects from ids[] on (n) are older; `passed` of them may be younger. */
typedef struct lh_matched_place {
  lh_id ids[2];
  uint32_t n[2], passed[2];
} lh_matched_place;

/* Fills in a place for each mark of `earlier`. O(objects). */
void lh_match(const lh_snapshot *earlier, const lh_snapshot *later, lh_matched_place *places);

/* Finds the index of the own mark of `earlier` in `later`. False: absent. O(marks). */
bool lh_find_own_mark(const lh_snapshot *earlier, const lh_snapshot *later, uint32_t *mark);
