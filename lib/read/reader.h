/*
** reader.h - the steps of lh_open, in their order, one a file. On failure lh_close frees all.
**
** Unverified bytes are parsed only through a cursor (varint.h).
*/
#pragma once

#include "record.h"

/* ==== rows.c ======================================================================== */

/* check.c meets references before it knows the addresses of later objects. So it stores each as a
** distance from one address, with its label, in a block of rows for each block of the file; rows.c
** turns distances into objects. The blocks are parts of the snapshot's rows, with gaps between
** them. A block with unusually many references outgrows its place and has memory of its own. */

/* The results of check.c for one block of the file. */
typedef struct lh_row_block {
  uint64_t base;      /* the word of the block's first object; all distances are from here */
  int32_t *delta;     /* words from `base` to the target, or LH_DELTA_* */
  uint8_t *label;     /* LH_LABEL_*, in snapshot.h */
  int32_t *own_delta; /* NULL: delta is in the snapshot's rows */
  uint8_t *own_label;
  size_t n, capacity;
  uint32_t first; /* number of the first edge in the snapshot */
  bool loses;     /* some references end at no object */
  uint64_t *wide; /* the words of the LH_DELTA_WIDE references */
  size_t n_wide, wide_capacity;
  lh_id *marks; /* marks that are points in time */
  size_t n_marks, marks_capacity;
  lh_upvalue_names *names;
  size_t n_names, names_capacity;
  uint64_t end; /* of the records, in the file */
  uint64_t shallow_bytes, external_bytes, claimed;
  const char *fault; /* NULL: the records are sound */
  const uint8_t *fault_at;
  const char *fault_record;
  lh_id fault_id;
  bool out_of_memory;
} lh_row_block;

/* LH_DELTA_WIDE: the word is the next of `wide`. LH_DELTA_KEY + i: frequent key i. */
#define LH_DELTA_WIDE INT32_MIN
#define LH_DELTA_KEY (INT32_MIN + 1)
#define LH_LEAST_DELTA (LH_DELTA_KEY + LH_MOST_KEYS)

typedef struct lh_raw_rows {
  lh_row_block *blocks; /* one for each block of the snapshot */
  uint32_t n;
} lh_raw_rows;

bool lh_make_row_blocks(lh_raw_rows *rows, lh_snapshot *s);
void lh_free_raw_rows(lh_raw_rows *rows);

/* Turns `raw` into rows; before, first_edge has places inside blocks. LH_ELIMIT: too many
** references for 32 bits. */
int lh_make_rows(lh_snapshot *s, lh_raw_rows *raw, lh_error *error);

bool lh_grow_row_block(lh_row_block *block);
bool lh_put_wide(lh_row_block *block, uint64_t word);

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

static inline uint64_t lh_bytes_of_block(uint64_t bytes, uint32_t i) {
  uint64_t left = bytes - (uint64_t)i * LH_BLOCK_BYTES;
  return left < LH_BLOCK_BYTES ? left : LH_BLOCK_BYTES;
}

/* footer.c: magic, version, trailer. A small file (s->size) has less of `head` and `tail`. */
enum { LH_TAIL_BYTES = 8 };
int lh_check_head(const lh_snapshot *s, const uint8_t *head, const uint8_t *tail, lh_error *error);

/* footer.c: fills info, n, list_first, blocks, named_roots and the places of the sections. */
int lh_read_footer(lh_snapshot *s, lh_error *error);
int lh_read_collector(lh_snapshot *s, lh_error *error); /* the section, into info.collector */

/* outside.c: lh_read_outside reads the section; lh_collect_passed, after the marks, fills
** `placed`. */
int lh_read_outside(lh_snapshot *s, lh_error *error);
int lh_collect_passed(lh_snapshot *s, lh_error *error);

/* sites.c: reads the section of allocation sites, if the program was tracked. */
int lh_read_sites(lh_snapshot *s, lh_error *error);

/* check.c: checks every record; fills the columns from records alone, and `rows`. */
int lh_check_records(lh_snapshot *s, lh_raw_rows *rows, lh_error *error);

/* Reports a fault at a byte of the file; `where`: in which part. */
int lh_fail_damaged(const lh_snapshot *s, const uint8_t *at, const char *where, const char *what,
                    lh_error *error);

/* For messages, by a record's first byte. NULL: unknown. */
const char *lh_record_name(unsigned head);

/* addresses.c */
int lh_index_addresses(lh_snapshot *s, lh_error *error);

/* rows.c */
int lh_collect_roots(lh_snapshot *s, lh_error *error);

/* epochs.c */
int lh_collect_marks(lh_snapshot *s, const lh_raw_rows *rows, lh_error *error);
