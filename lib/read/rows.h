/*
** rows.h - the references of all records on their way into the rows of a snapshot.
**
** check.c meets the references in the order of the records, while the addresses of later objects
** are not known yet. So it puts the distance of each from one address, with its label, into a block
** of rows for each block of the file, with what else it notes of these records; rows.c turns
** distances into objects when all addresses are known. 5 bytes a reference.
*/
#ifndef LUAHEAP_ROWS_H
#define LUAHEAP_ROWS_H

#include "record.h"

/* What check.c found in the records that begin in one block of the file. */
typedef struct lh_row_block {
  uint64_t base;  /* the word that all distances are from: that of the block's first object */
  int32_t *delta; /* words from there to the target, or one of those below */
  uint8_t *label; /* snapshot.h */
  size_t n, capacity;
  uint32_t first; /* edge of the snapshot that they become */
  bool loses;     /* some have no object */
  uint64_t *wide; /* the words of those that are LH_DELTA_WIDE */
  size_t n_wide, wide_capacity;
  lh_id *marks; /* those that are points in time */
  size_t n_marks, marks_capacity;
  lh_upvalue_names *names; /* of prototypes */
  size_t n_names, names_capacity;
  uint64_t end; /* of the records, in the file */
  uint64_t shallow_bytes, claimed;
  const char *fault; /* NULL: they can be parsed */
  const uint8_t *fault_at;
  const char *fault_record;
  lh_id fault_id;
  bool out_of_memory;
} lh_row_block;

/* No distance: the next word of `wide`; and from LH_DELTA_KEY on the frequent keys. */
#define LH_DELTA_WIDE INT32_MIN
#define LH_DELTA_KEY (INT32_MIN + 1)
#define LH_LEAST_DELTA (LH_DELTA_KEY + LH_MOST_KEYS)

typedef struct lh_raw_rows {
  lh_row_block *blocks; /* one for each of the snapshot's */
  uint32_t n;
} lh_raw_rows;

/* False: out of memory. */
bool lh_make_row_blocks(lh_raw_rows *rows, const lh_snapshot *s);
void lh_free_raw_rows(lh_raw_rows *rows);

/* Fills first_edge, which has the places in the blocks, edge and label of the snapshot, what of
** them is aside, and the names of upvalues. LH_ELIMIT: more references than 32 bits count. */
int lh_make_rows(lh_snapshot *s, lh_raw_rows *raw, lh_error *error);

bool lh_grow_row_block(lh_row_block *block);
bool lh_put_wide(lh_row_block *block, uint64_t word);

/* All three: false where memory ran out. */
static inline bool lh_put_delta(lh_row_block *block, int32_t delta, unsigned label) {
  if (__builtin_expect(block->n == block->capacity, 0) && !lh_grow_row_block(block)) return false;
  block->delta[block->n] = delta;
  block->label[block->n++] = (uint8_t)label;
  return true;
}

static inline bool lh_put_edge(lh_row_block *block, uint64_t word, unsigned label) {
  int64_t delta = (int64_t)(word - block->base);
  if (__builtin_expect(delta >= LH_LEAST_DELTA && delta <= INT32_MAX, 1))
    return lh_put_delta(block, (int32_t)delta, label);
  return lh_put_wide(block, word) && lh_put_delta(block, LH_DELTA_WIDE, label);
}

static inline bool lh_put_frequent(lh_row_block *block, unsigned number, unsigned label) {
  return lh_put_delta(block, LH_DELTA_KEY + (int32_t)number, label);
}

#endif
