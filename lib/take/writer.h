/*
** writer.h - the byte stream of a snapshot: varints, references and values into blocks of 1 MiB.
**
** All bytes go through one lh_out. It hashes and hands on each full block, and latches the first
** error, so that its callers need no checks: after an error bytes are dropped. Extra memory: one
** block and 8 bytes for each block written.
**
** The walk writes many small items; for these it takes room once (lh_out_room) and then stores
** through a plain pointer. One item is never longer than LH_OUT_ITEM.
*/
#ifndef LUAHEAP_WRITER_H
#define LUAHEAP_WRITER_H

#include "base.h"
#include "format.h"

enum { LH_OUT_ITEM = 64 };

typedef struct lh_out {
  uint8_t *base; /* LH_BLOCK_BYTES + LH_OUT_ITEM bytes */
  uint8_t *at;
  lh_writer writer;
  void *payload;
  uint64_t flushed;       /* bytes handed on */
  uint64_t *block_hashes; /* of the blocks handed on */
  size_t n_blocks, block_capacity;
  bool out_of_memory, refused; /* latched: no memory; the writer took less than it was given */
} lh_out;

/* LH_EMEMORY or LH_OK. Writes the file's header. */
int lh_out_open(lh_out *out, lh_writer writer, void *payload, lh_error *error);
void lh_out_free(lh_out *out);

/* Ends the file: `footer` is the footer without its block table, which is added here. Returns
** LH_OK, or the error that was latched. */
int lh_out_close(lh_out *out, const uint8_t *footer, size_t footer_bytes, lh_error *error);

/* Hands on what is full. Not for callers: see lh_out_room. */
void lh_out_flush(lh_out *out);

/* Returns where to store the next item, at most LH_OUT_ITEM bytes; lh_out_took ends it. */
static inline uint8_t *lh_out_room(lh_out *out) {
  if (__builtin_expect(out->at >= out->base + LH_BLOCK_BYTES, 0)) lh_out_flush(out);
  return out->at;
}

static inline void lh_out_took(lh_out *out, uint8_t *end) {
  out->at = end;
}

static inline bool lh_out_failed(const lh_out *out) {
  return out->out_of_memory || out->refused;
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

#endif
