/*
** map_order.h - the objects of a snapshot in the order of their addresses, for map.c. Private to
** this folder.
*/
#ifndef LUAHEAP_MAP_ORDER_H
#define LUAHEAP_MAP_ORDER_H

#include "luaheap_view.h"
#include "read/snapshot.h"

/* A gap between objects is a hole if it is big beside all of them, and one of the biggest. */
enum { LH_MOST_HOLES = 255 };

typedef struct lh_gap {
  uint64_t from, to;
} lh_gap;

struct lh_map_order {
  lh_id *order;                      /* objects by address: all that the program has */
  uint32_t n;                        /* of them */
  uint64_t (*before)[LH_TYPE_COUNT]; /* bytes of each type that lie before every 32nd of them;
                                        [LH_TYPE_ROOT]: of those in the interval, if there is one */
  lh_mapped all, types[LH_TYPE_COUNT];
  uint64_t from, to; /* addresses: of the first object, and behind the last */
  lh_gap holes[LH_MOST_HOLES];
  size_t n_holes;
  uint64_t least_hole; /* bytes */
  bool has_interval;
  lh_interval interval;
  lh_id_range in_interval[2];
};

/* Sorts, the first time; and counts for the interval, each time that it is another one. LH_EMEMORY.
** What it fills is freed with the snapshot. */
int lh_find_map_order(lh_snapshot *snapshot, lh_error *error);
void lh_choose_interval(lh_snapshot *snapshot, bool has_interval, lh_interval interval);

/* What lies before an address: bytes as in `before`. Returns how many objects begin there. */
uint32_t lh_bytes_before(const lh_snapshot *snapshot, uint64_t address,
                         uint64_t bytes[LH_TYPE_COUNT]);

/* Where the block of an object ends that is so far in the order. */
uint64_t lh_end_of_block(const lh_snapshot *snapshot, uint32_t at);

#endif
