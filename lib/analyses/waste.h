/*
** waste.h - what the files share that find what memory holds without need: waste_tables.c (slots
** and tables), waste_twins.c (equal strings and functions), waste_debug.c (debug information),
** waste_rows.c (all of that by class and place) and waste.c, which puts them together. Private to
** the library.
*/
#ifndef LUAHEAP_WASTE_H
#define LUAHEAP_WASTE_H

#include "luaheap_analyses.h"
#include "name/place.h"

/* kinds[id]: 1 << lh_waste_kind, for each kind in which the object counts, and */
enum { LH_WASTE_MARKED = 0x80 }; /* a metatable; an original that is counted */

/* 5 bytes an object. */
typedef struct lh_wasted {
  const lh_snapshot *snapshot;
  uint8_t *kinds;
  lh_id *original; /* of those that are equal to another one: which */
  lh_waste *out;
} lh_wasted;

/* Is it of the program, and in use? */
static inline bool lh_may_be_waste(const lh_snapshot *snapshot, lh_id id) {
  return lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
}

/* {=== waste_tables.c ================================================================ */

typedef struct lh_table_waste {
  uint64_t slots, used;
  uint64_t slot_bytes;  /* that Lua would not give it anew */
  uint64_t other_bytes; /* all the others */
} lh_table_waste;

/* O(entries), or O(1) after lh_object_at if no slot is empty. */
lh_table_waste lh_waste_of_table(const lh_snapshot *snapshot, lh_id id);

void lh_find_table_waste(lh_wasted *w);

/* }=================================================================================== */

/* {=== waste_twins.c ================================================================= */

/* Longer strings are not interned: Lua's LUAI_MAXSHORTLEN. */
enum { LH_MOST_SHORT_BYTES = 40 };

/* False: out of memory. */
bool lh_find_twins(lh_wasted *w);

/* }=================================================================================== */

/* {=== waste_rows.c ================================================================== */

/* The rows of one kind, by place. */
typedef struct lh_waste_rows {
  lh_places *places;
  lh_waste_sum *sum;
  uint64_t *most; /* of each row: the bytes of the example */
  size_t capacity, most_capacity;
} lh_waste_rows;

/* What one object adds to its row. */
typedef struct lh_waste_part {
  lh_id id, original;
  uint64_t bytes, slots, used;
  bool by_hash;
} lh_waste_part;

/* False: out of memory. */
bool lh_add_waste(lh_waste_rows *rows, uint32_t place, const lh_waste_part *part);

/* Sorts the rows of places with any waste, and frees all but the sum. */
void lh_end_waste_rows(lh_waste_rows *rows, const lh_snapshot *snapshot);

/* }=================================================================================== */

/* {=== waste_debug.c ================================================================= */

/* After lh_find_twins: a string that counts there does not count here. False: out of memory. */
bool lh_find_debug_waste(const lh_wasted *w, lh_waste_rows *rows);

/* }=================================================================================== */

#endif
