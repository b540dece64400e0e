/*
** reader.h - the steps of lh_open, one a file, in their order. Each gets the snapshot as far as it
** is; on failure lh_close frees what there is.
**
** All parsing of what is not verified yet goes through a cursor: it never leaves its range, and it
** latches the first fault, after which it yields zeros. So callers check once, where it suits.
*/
#ifndef LUAHEAP_READER_H
#define LUAHEAP_READER_H

#include "record.h"

typedef struct lh_cursor {
  const uint8_t *at, *end; /* at least 10 readable bytes follow the end */
  const char *fault;       /* what was wrong first, or NULL */
  const uint8_t *fault_at;
  uint64_t claimed; /* the sum of the sizes that were read */
  uint32_t n_keys;  /* of the records that are read: frequent ones */
} lh_cursor;

/* No address space has as much. Sums over several snapshots are no negative numbers either. */
#define LH_MOST_BYTES (UINT64_C(1) << 57)

static inline void lh_fault(lh_cursor *c, const uint8_t *at, const char *fault) {
  if (c->fault) return;
  c->fault = fault;
  c->fault_at = at;
}

/* Where a number ended, after it was read from `start`: goes on there, or faults. */
static inline bool lh_arrive(lh_cursor *c, const uint8_t *start, const uint8_t *after) {
  if (__builtin_expect(after > c->end, 0)) {
    lh_fault(c, start, "it runs over the end");
    c->at = c->end;
    return false;
  }
  if (__builtin_expect(after - start == LH_MAX_VARINT && start[LH_MAX_VARINT - 1] > 1, 0)) {
    lh_fault(c, start, "a number has more than 64 bits");
    return false;
  }
  c->at = after;
  return true;
}

static inline uint64_t lh_read_long(lh_cursor *c) {
  const uint8_t *at = c->at;
  uint64_t n = lh_get_long(&at);
  return lh_arrive(c, c->at, at) ? n : 0;
}

static inline uint64_t lh_read_uvarint(lh_cursor *c) {
  if (__builtin_expect(*c->at < 0x80 && c->at < c->end, 1)) return *c->at++;
  return lh_read_long(c);
}

static inline const uint8_t *lh_read_bytes(lh_cursor *c, uint64_t n) {
  const uint8_t *bytes = c->at;
  if (n > (uint64_t)(c->end - bytes)) {
    lh_fault(c, bytes, "it runs over the end");
    c->at = c->end;
    return NULL;
  }
  c->at += n;
  return bytes;
}

static inline uint8_t lh_read_u8(lh_cursor *c) {
  if (c->at < c->end) return *c->at++;
  lh_fault(c, c->at, "it runs over the end");
  return 0;
}

static inline uint64_t lh_read_u64(lh_cursor *c) {
  const uint8_t *bytes = lh_read_bytes(c, 8);
  return bytes ? lh_load64(bytes) : 0;
}

/* A number that must not be greater than `most`. */
static inline uint64_t lh_read_upto(lh_cursor *c, uint64_t most, const char *fault) {
  const uint8_t *start = c->at;
  uint64_t n = lh_read_uvarint(c);
  if (__builtin_expect(n <= most, 1)) return n;
  lh_fault(c, start, fault);
  return 0;
}

/* A size that the file says to be there, which stands nowhere in its bytes. */
static inline void lh_claim(lh_cursor *c, const uint8_t *at, uint64_t size) {
  if (__builtin_expect(size <= LH_MOST_BYTES, 1)) c->claimed += size;
  if (__builtin_expect(size > LH_MOST_BYTES || c->claimed > LH_MOST_BYTES, 0))
    lh_fault(c, at, "the sizes add up to more than an address space has");
}

static inline uint64_t lh_read_size(lh_cursor *c) {
  const uint8_t *start = c->at;
  uint64_t size = lh_read_uvarint(c);
  lh_claim(c, start, size);
  return size;
}

/* Nanoseconds since 1970. */
static inline uint64_t lh_read_time(lh_cursor *c) {
  const uint8_t *start = c->at;
  uint64_t time_ns = lh_read_u64(c);
  if (time_ns > INT64_MAX) lh_fault(c, start, "a time is after the year 2262");
  return time_ns;
}

/* A count of items that take a byte each at least. */
static inline uint32_t lh_read_count(lh_cursor *c) {
  uint64_t rest = (uint64_t)(c->end - c->at);
  return (uint32_t)lh_read_upto(c, rest < UINT32_MAX ? rest : UINT32_MAX,
                                "a count is greater than the bytes that are left");
}

/* footer.c: is it a whole snapshot of a known version, by its first LH_HEADER_BYTES and its last
** LH_TAIL_BYTES? Of these are as many there as s->size says. */
enum { LH_TAIL_BYTES = 8 };
int lh_check_head(const lh_snapshot *s, const uint8_t *head, const uint8_t *tail, lh_error *error);

/* footer.c: trailer, checksums, footer; fills info, n, list_first, named_roots. *end: where the
** records end. */
int lh_read_footer(lh_snapshot *s, uint64_t *end, lh_error *error);

/* check.c: every record; fills address, record and kind, and lists the marks that are points
** in time. */
int lh_check_records(lh_snapshot *s, uint64_t end, lh_id **mark_objects, uint32_t *n_mark_objects,
                     lh_error *error);

/* What a record's first byte says that the object is, for messages. NULL: nothing known. */
const char *lh_record_name(unsigned head);

/* addresses.c */
int lh_index_addresses(lh_snapshot *s, lh_error *error);

/* roots.c */
int lh_collect_roots(lh_snapshot *s, lh_error *error);

/* epochs.c */
int lh_collect_marks(lh_snapshot *s, const lh_id *objects, uint32_t n, lh_error *error);

/* The bytes before the memory of a userdata that the program sees. */
static inline uint64_t lh_userdata_header(uint32_t user_values) {
  return user_values == 0 ? 32 : 40 + 16 * (uint64_t)user_values;
}

enum { LH_MOST_USER_VALUES = 255 }; /* tried when an address is looked up */

#endif
