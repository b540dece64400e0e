/*
** reader.h - the steps of lh_open, one a file, in their order. Each gets the snapshot as far as it
** is; on failure lh_close frees what there is. All parsing of what is not verified yet goes through
** a cursor (varint.h).
*/
#ifndef LUAHEAP_READER_H
#define LUAHEAP_READER_H

#include "record.h"
#include "varint.h"

/* ==== rows.c ======================================================================== */

/* check.c meets the references in the order of the records, while the addresses of later objects
** are not known yet. So it puts the distance of each from one address, with its label, into a block
** of rows for each block of the file, with what else it notes of these records; rows.c turns
** distances into objects when all addresses are known. 5 bytes a reference. */

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

/* ==================================================================================== */

/* Of block `i` of so many bytes of a file. */
static inline uint64_t lh_bytes_of_block(uint64_t bytes, uint32_t i) {
  uint64_t left = bytes - (uint64_t)i * LH_BLOCK_BYTES;
  return left < LH_BLOCK_BYTES ? left : LH_BLOCK_BYTES;
}

/* footer.c: is it a whole snapshot of a known version, by its first LH_HEADER_BYTES and its last
** LH_TAIL_BYTES? Of these are as many there as s->size says. */
enum { LH_TAIL_BYTES = 8 };
int lh_check_head(const lh_snapshot *s, const uint8_t *head, const uint8_t *tail, lh_error *error);

/* footer.c: trailer, checksums, footer; fills info, n, list_first, blocks, named_roots and where
** the sections are. */
int lh_read_footer(lh_snapshot *s, lh_error *error);

/* outside.c: where the snapshot was taken from outside what its section has. And of the marks that
** were collected how many pass as older. */
int lh_read_outside(lh_snapshot *s, lh_error *error);
int lh_collect_passed(lh_snapshot *s, lh_error *error);

/* sites.c: where the program was tracked what the section of sites has. */
int lh_read_sites(lh_snapshot *s, lh_error *error);

/* check.c: every record; fills the columns that are the records' own, and puts what refers to what
** into `rows`, with the marks that are points in time. */
int lh_check_records(lh_snapshot *s, lh_raw_rows *rows, lh_error *error);

/* What is wrong at a byte of the file, in this part of it. */
int lh_fail_damaged(const lh_snapshot *s, const uint8_t *at, const char *where, const char *what,
                    lh_error *error);

/* What a record's first byte says that the object is, for messages. NULL: nothing known. */
const char *lh_record_name(unsigned head);

/* addresses.c */
int lh_index_addresses(lh_snapshot *s, lh_error *error);

/* rows.c */
int lh_collect_roots(lh_snapshot *s, lh_error *error);

/* epochs.c */
int lh_collect_marks(lh_snapshot *s, const lh_raw_rows *rows, lh_error *error);

/* The bytes before the memory of a userdata that the program sees. */
static inline uint64_t lh_userdata_header(uint32_t user_values) {
  return user_values == 0 ? 32 : 40 + 16 * (uint64_t)user_values;
}

enum { LH_MOST_USER_VALUES = 255 }; /* tried when an address is looked up */

#endif
