/*
** waste.h - what the files share that find what memory holds without need: waste_tables.c (slots
** and tables), waste_twins.c (equal strings and functions), waste_debug.c (debug information),
** waste_rows.c (all of that by class and place) and waste.c, which puts them together. Private to
** the library.
*/
#ifndef LUAHEAP_WASTE_H
#define LUAHEAP_WASTE_H

#include "luaheap_analyses.h"
#include "name/fold.h"

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

/* The text of rows whose own would be too much for the set of texts: it is there from the start. */
#define LH_UNTOLD "..."

/* The rows of one kind. */
typedef struct lh_waste_rows {
  lh_strings *texts; /* that held_by is in */
  lh_waste_sum *sum;
  lh_map by_key;  /* what the caller tells rows by -> row */
  lh_map by_text; /* class, text -> row */
  uint64_t *most; /* of each row: the bytes of the example */
  size_t capacity, most_capacity;
} lh_waste_rows;

/* What one object adds to its row. */
typedef struct lh_waste_part {
  lh_id id, original;
  uint64_t bytes, slots, used;
  bool by_hash;
} lh_waste_part;

/* The row under a key; LH_NO_NUMBER: there is none yet. */
static inline uint32_t lh_waste_row_at(const lh_waste_rows *rows, uint64_t key) {
  return lh_map_get(&rows->by_key, key);
}

/* The row of a class and a text, from now on under this key, too. LH_NO_NUMBER: out of memory. */
uint32_t lh_make_waste_row(lh_waste_rows *rows, uint64_t key, uint32_t class_index, lh_text *text);

void lh_add_waste(lh_waste_rows *rows, uint32_t row, const lh_waste_part *part);

/* Sorts them and frees all but the sum. */
void lh_end_waste_rows(lh_waste_rows *rows, const lh_snapshot *snapshot);

/* }=================================================================================== */

/* {=== waste_debug.c ================================================================= */

/* After lh_find_twins: a string that counts there does not count here. False: out of memory. */
bool lh_find_debug_waste(const lh_wasted *w, lh_waste_rows *rows);

/* }=================================================================================== */

#endif
