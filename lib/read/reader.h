/*
** reader.h - the steps of lh_open, one a file, in their order. Each gets the snapshot as far as it
** is; on failure lh_close frees what there is. All parsing of what is not verified yet goes through
** a cursor (varint.h).
*/
#ifndef LUAHEAP_READER_H
#define LUAHEAP_READER_H

#include "record.h"
#include "rows.h"
#include "varint.h"

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
