/*
** groups.h - what the files that group new objects share: groups.c (which of them go under which,
** and what they add up to) and joint.c (what holds them together). Private to the library.
*/
#ifndef LUAHEAP_GROUPS_H
#define LUAHEAP_GROUPS_H

#include "compare.h"

/* There is a group for each place of a top: of a new object that no other new object dominates. */
typedef struct lh_grouping {
  lh_snapshot *c;
  const uint8_t *new_ones; /* of each object: is it new? */
  lh_id *top;              /* of each object: the new object furthest up among it and its
                              dominators; LH_ROOT: none */
  lh_id *tops;
  size_t n_tops;
  lh_id *holders; /* what refers to another one's top, in ascending order */
  size_t n_holders;
  lh_places places;
  size_t n_groups;       /* one for each of the places of tops, which come first */
  lh_diff_group *groups; /* joint.c changes held_by, and sets also_held_by */
  uint64_t *n_tops_at;   /* of each group */
  uint32_t *into;        /* of each group: the one that counts it, or itself */
  uint32_t *alike;       /* of each group: the one whose objects its own are of, or itself */
} lh_grouping;

static inline uint32_t lh_group_at(const lh_grouping *g, lh_id top) {
  return g->into[lh_place_of(&g->places, top)];
}

/* For tops that are known. False: out of memory. O(n + m). */
bool lh_find_holders(lh_grouping *g);

/* Finds for each group what holds it, and which groups are one because they hold one together. For
** grouping with tops at their places. False: out of memory. O(edges of the holders). */
bool lh_join_holders(lh_grouping *g);

#endif
