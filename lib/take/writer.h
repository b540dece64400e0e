/*
** writer.h - the byte stream of a snapshot: varints, references and values, in blocks of 1 MiB.
**
** All bytes go through one lh_out. It hashes and passes on each full block. It latches the first
** error and drops all later bytes, so callers need no checks. All memory is allocated at the start
** (one block, the footer, 24 bytes for each possible block), so a forked child can write. For many
** small items the walk takes room once (lh_out_room) and stores through a plain pointer.
*/
#pragma once

#include "format.h"
#include "rooms/take.h"

enum { LH_OUT_ITEM = 64 };

typedef struct lh_out {
  uint8_t *base; /* LH_BLOCK_BYTES + LH_OUT_ITEM bytes; the footer is behind them */
  size_t mapped_bytes;
  uint8_t *at;
  lh_writer writer;
  void *payload;
  uint64_t flushed;                /* bytes passed on */
  size_t n_blocks, block_capacity; /* passed on; possible */
  uint8_t *footer;    /* LH_OUT_FOOTER bytes; behind them the table of blocks, and the trailer */
  bool awaits_record; /* no record has begun in the block */
  bool refused;       /* latched: the writer took fewer bytes than it was given */
} lh_out;

/* The longest footer without its table of blocks. */
#define LH_OUT_FOOTER (12u << 10)

/* The longest file of a heap of `heap_bytes`, with a section of `sites_bytes`, that keeps so many
** bytes of each string; and the shortest file of a heap of `short_strings`. A record is at most
** 2.25 times as long as its object (18 bytes for a nested prototype, a pointer of 8), and at least
** 3 bytes long. A stack's number adds at most 4 bytes, but the fixed part of a record is shorter
** than its object by more: the smallest object, an empty string, has 25 bytes. In Lua 5.5 a string
** may have its text elsewhere, on top of that. Block table, marks and footer come on top of the
** longest. */
uint64_t lh_out_longest(uint64_t heap_bytes, uint64_t sites_bytes, uint64_t string_bytes);

static inline uint64_t lh_out_shortest(uint64_t short_strings) {
  return LH_HEADER_BYTES + 3 * short_strings + LH_TRAILER_BYTES;
}

/* Prepares a file of at most `longest` bytes. LH_OK or LH_EMEMORY; then always lh_out_free. */
int lh_out_open(lh_out *out, uint64_t longest, lh_writer writer, void *payload, lh_error *error);
void lh_out_free(lh_out *out);
void lh_out_begin(lh_out *out, uint32_t version);

/* If out->awaits_record, after lh_out_room: here begins the record of object `id`. `previous`: the
** address of the object before; 0: none. */
void lh_out_note_record(lh_out *out, uint64_t id, uint64_t previous);

static inline uint64_t lh_out_offset(const lh_out *out) {
  return out->flushed + (uint64_t)(out->at - out->base);
}

/* Ends the file: adds the block table and the trailer to the first `footer_bytes` of out->footer,
** which the caller filled in. LH_OK, or LH_EIO if the writer refused anything. */
int lh_out_close(lh_out *out, size_t footer_bytes, lh_error *error);

/* Passes on a full block. Only for lh_out_room. */
void lh_out_flush(lh_out *out);

/* Returns where to store the next item, at most LH_OUT_ITEM bytes; lh_out_took ends it. */
static inline uint8_t *lh_out_room(lh_out *out) {
  if (__builtin_expect(out->at >= out->base + LH_BLOCK_BYTES, 0)) lh_out_flush(out);
  return out->at;
}

static inline void lh_out_took(lh_out *out, uint8_t *end) {
  out->at = end;
}

void lh_out_bytes(lh_out *out, const void *data, uint64_t n);

static inline void lh_out_u8(lh_out *out, unsigned n) {
  uint8_t *p = lh_out_room(out);
  *p++ = (uint8_t)n;
  lh_out_took(out, p);
}

static inline void lh_out_uvarint(lh_out *out, uint64_t n) {
  lh_out_took(out, lh_put_uvarint(lh_out_room(out), n));
}

/* A reference as seen from the object at `own` (format.h). */
static inline uint8_t *lh_put_reference(uint8_t *p, uint64_t own, const void *target) {
  return lh_put_uvarint(p, lh_zigzag((int64_t)((uintptr_t)target >> 3) - (int64_t)(own >> 3)));
}

static inline void lh_out_reference(lh_out *out, uint64_t own, const void *target) {
  lh_out_took(out, lh_put_reference(lh_out_room(out), own, target));
}
