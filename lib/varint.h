/*
** varint.h - stores and reads the numbers of variable length in our files (see format.h).
**
** Data that is not yet verified is read through a cursor. A cursor never leaves its range, and
** keeps the first fault; after a fault all reads return 0, so a caller can check once at the end.
*/
#pragma once

#include "base.h"

/* ==== Storing ===================================================================== */

#define LH_MAX_VARINT 10u /* bytes of the longest encoding */

static inline uint8_t *lh_put_uvarint(uint8_t *p, uint64_t n) {
  while (n >= 0x80) {
    *p++ = (uint8_t)(n | 0x80);
    n >>= 7;
  }
  *p++ = (uint8_t)n;
  return p;
}

/* Stores a text with its length in front and no NUL; see lh_read_text. */
static inline uint8_t *lh_put_text(uint8_t *p, const char *text, size_t n) {
  p = lh_put_uvarint(p, n);
  memcpy(p, text, n);
  return p + n;
}

static inline uint64_t lh_zigzag(int64_t n) {
  return ((uint64_t)n << 1) ^ (n < 0 ? UINT64_MAX : 0);
}

static inline int64_t lh_unzigzag(uint64_t n) {
  return (int64_t)((n >> 1) ^ (0 - (n & 1)));
}

/* ==== Reading: what was verified ================================================== */

/* Joins the 7-bit groups of eight bytes. */
static inline uint64_t lh_squeeze(uint64_t x) {
  x = (x & 0x007f007f007f007fu) | ((x & 0x7f007f007f007f00u) >> 1);
  x = (x & 0x00003fff00003fffu) | ((x & 0x3fff00003fff0000u) >> 2);
  return (x & 0x000000000fffffffu) | ((x & 0x0fffffff00000000u) >> 4);
}

/* Joins the 7-bit groups of four bytes. */
static inline uint32_t lh_squeeze_short(uint32_t x) {
  x = (x & 0x007f007fu) | ((x & 0x7f007f00u) >> 1);
  return (x & 0x00003fffu) | ((x & 0x3fff0000u) >> 2);
}

/* Reads a uvarint of at most 4 bytes, the usual length of references between near objects, and
** moves *at behind it. False: the uvarint is longer; *at is unchanged. */
static inline bool lh_get_short(const uint8_t **at, uint64_t *n) {
  uint32_t x = lh_load32(*at);
  uint32_t stops = ~x & 0x80808080u;
  if (__builtin_expect(stops == 0, 0)) return false;
  *at += (__builtin_ctz(stops) + 1) >> 3;
  *n = lh_squeeze_short(x & (stops ^ (stops - 1)));
  return true;
}

/* Reads a uvarint of unpredictable length, and moves *at behind it. Has no branch except for more
** than 4 and more than 8 bytes, which are rare. Reads at most 10 bytes. */
static inline uint64_t lh_get_long(const uint8_t **at) {
  const uint8_t *p = *at;
  uint64_t x;
  if (lh_get_short(at, &x)) return x;
  x = lh_load64(p);
  uint64_t stops = ~x & 0x8080808080808080u;
  if (__builtin_expect(stops != 0, 1)) {
    *at = p + ((__builtin_ctzll(stops) + 1) >> 3);
    return lh_squeeze(x & (stops ^ (stops - 1)));
  }
  uint64_t high = p[8];
  *at = p + 9;
  if (high >= 0x80) {
    high = (high & 0x7f) | (uint64_t)p[9] << 7;
    *at = p + 10;
  }
  return lh_squeeze(x) | high << 56;
}

/* Reads a uvarint that usually has one byte. */
static inline uint64_t lh_get_uvarint(const uint8_t **at) {
  if (**at < 0x80) return *(*at)++;
  return lh_get_long(at);
}

/* ==== Reading: what may be wrong ================================================== */

typedef struct lh_cursor {
  const uint8_t *at, *end; /* at least 10 readable bytes follow the end */
  const char *fault;       /* the first fault, or NULL */
  const uint8_t *fault_at;
  uint64_t claimed; /* the sum of the sizes that were read */
  uint32_t n_keys;  /* number of frequent keys */
} lh_cursor;

/* More than any address space; sums over several snapshots still fit an int64_t. */
#define LH_MOST_BYTES (UINT64_C(1) << 57)
#define LH_TOO_MUCH "the sizes add up to more than an address space has"

static inline void lh_fault(lh_cursor *c, const uint8_t *at, const char *what) {
  if (c->fault) return;
  c->fault = what;
  c->fault_at = at;
}

/* Moves the cursor to `after`, the end of a number that begins at `start`. False: a fault. */
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

static inline uint64_t lh_read_longer(lh_cursor *c) {
  const uint8_t *at = c->at;
  uint64_t n = lh_get_long(&at);
  return lh_arrive(c, c->at, at) ? n : 0;
}

static inline uint64_t lh_read_long(lh_cursor *c) {
  const uint8_t *at = c->at;
  uint64_t n;
  if (__builtin_expect(!lh_get_short(&at, &n) || at > c->end, 0)) return lh_read_longer(c);
  c->at = at;
  return n;
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

/* A text in the file, without a NUL. */
typedef struct lh_file_text {
  const uint8_t *bytes;
  uint64_t n;
} lh_file_text;

static inline lh_file_text lh_read_text(lh_cursor *c) {
  lh_file_text t;
  t.n = lh_read_uvarint(c);
  t.bytes = lh_read_bytes(c, t.n);
  if (!t.bytes) t.n = 0;
  return t;
}

/* Copies a text to *at with a NUL, and moves *at behind it. Returns the copy. */
static inline const char *lh_keep_text(char **at, lh_file_text t) {
  char *kept = *at;
  if (t.n > 0) memcpy(kept, t.bytes, t.n);
  kept[t.n] = '\0';
  *at += t.n + 1;
  return kept;
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

/* Reads a number that must be at most `most`; `what` is the fault if not. */
static inline uint64_t lh_read_upto(lh_cursor *c, uint64_t most, const char *what) {
  const uint8_t *start = c->at;
  uint64_t n = lh_read_uvarint(c);
  if (__builtin_expect(n <= most, 1)) return n;
  lh_fault(c, start, what);
  return 0;
}

/* Adds a size that the file claims for something outside of its bytes. */
static inline void lh_claim(lh_cursor *c, const uint8_t *at, uint64_t size) {
  if (__builtin_expect(size <= LH_MOST_BYTES, 1)) c->claimed += size;
  if (__builtin_expect(size > LH_MOST_BYTES || c->claimed > LH_MOST_BYTES, 0))
    lh_fault(c, at, LH_TOO_MUCH);
}

static inline uint64_t lh_read_size(lh_cursor *c) {
  const uint8_t *start = c->at;
  uint64_t size = lh_read_uvarint(c);
  lh_claim(c, start, size);
  return size;
}

/* Reads nanoseconds since 1970. */
static inline uint64_t lh_read_time(lh_cursor *c) {
  const uint8_t *start = c->at;
  uint64_t time_ns = lh_read_u64(c);
  if (time_ns > INT64_MAX) lh_fault(c, start, "a time is after the year 2262");
  return time_ns;
}

/* Reads a count of items that take at least one byte each. */
static inline uint32_t lh_read_count(lh_cursor *c) {
  uint64_t rest = (uint64_t)(c->end - c->at);
  return (uint32_t)lh_read_upto(c, rest < UINT32_MAX ? rest : UINT32_MAX,
                                "a count is greater than the bytes that are left");
}
