/*
** record.h - reading inside the records of a snapshot that was verified: nothing here checks.
**
** check.c has parsed each record once, with every bound, before anyone comes here. The trailer
** follows the records, so that eight bytes can be loaded from any place in them.
**
** A reference is handled as a "word": the address of the object, in units of 8 bytes; 0 is none.
*/
#ifndef LUAHEAP_RECORD_H
#define LUAHEAP_RECORD_H

#include "format.h"
#include "snapshot.h"

/* A list's number of items or another figure that check.c has found to fit. */
static inline uint32_t lh_get_count(const uint8_t **at) {
  return (uint32_t)lh_get_uvarint(at);
}

static inline uint64_t lh_get_reference(const uint8_t **at, uint64_t own_word) {
  return own_word + (uint64_t)lh_unzigzag(lh_get_long(at));
}

/* A value as it is in the file: the word of an object, or the bits of a scalar. */
typedef struct lh_raw {
  uint64_t bits;
  uint8_t tag; /* LH_VAL_* */
} lh_raw;

static inline lh_raw lh_get_payload(const uint8_t **at, unsigned tag, uint64_t own_word) {
  lh_raw raw = {0, (uint8_t)tag};
  switch (tag) {
    case LH_VAL_OBJECT: raw.bits = lh_get_reference(at, own_word); break;
    case LH_VAL_INTEGER: raw.bits = (uint64_t)lh_unzigzag(lh_get_uvarint(at)); break;
    case LH_VAL_FLOAT:
      raw.bits = lh_load64(*at);
      *at += 8;
      break;
    case LH_VAL_POINTER:
    case LH_VAL_CFUNCTION:
    case LH_VAL_SKIP: raw.bits = lh_get_uvarint(at); break;
    default: break;
  }
  return raw;
}

/* Of a hash slot, where LH_VAL_KEY stands for a frequent key. */
static inline lh_raw lh_get_key(const uint8_t **at, unsigned tag, uint64_t own_word,
                                const uint64_t *keys) {
  if (tag == LH_VAL_KEY) return (lh_raw){keys[*(*at)++], LH_VAL_OBJECT};
  return lh_get_payload(at, tag, own_word);
}

static inline lh_raw lh_get_raw(const uint8_t **at, uint64_t own_word) {
  unsigned tag = *(*at)++;
  return lh_get_payload(at, tag, own_word);
}

/* The same for the public. */
lh_value lh_raw_value(const lh_snapshot *snapshot, lh_raw raw);

/* The value that an object is, or that LH_NO_OBJECT stands for: what is of LH_VALUE_OBJECT has an
** id of the snapshot. */
static inline lh_value lh_object_value(lh_id id) {
  lh_value value = {.kind = id == LH_NO_OBJECT ? LH_VALUE_ABSENT : LH_VALUE_OBJECT,
                    .as.pointer = 0}; /* all bytes, for who compares them */
  value.as.object = id;
  return value;
}

/* Where the record of object `id` begins. */
static inline const uint8_t *lh_record(const lh_snapshot *snapshot, lh_id id) {
  return snapshot->data + ((uint64_t)snapshot->record_high[id] << 32 | snapshot->record_low[id]);
}

/* Steps over what all records begin with; *at is then at the fields of its type. */
static inline uint64_t lh_get_shallow(const lh_snapshot *s, const uint8_t **at) {
  ++*at;
  (void)lh_get_long(at);
  uint64_t bytes = lh_get_uvarint(at);
  if (s->is_tracked) (void)lh_get_uvarint(at);
  return bytes;
}

/* An address in the index: the id of the object or LH_NO_OBJECT. Inline, because the graph asks
** three times an object. */
static inline uint64_t lh_slot_of(const lh_snapshot *s, uint64_t word) {
  uint64_t h = ((word >> LH_UNIT_BITS) ^ s->address_seed) * 0x9FB21C651E98DF25u;
  h = (h ^ (h >> 35)) * 0xD6E8FEB86659FD93u;
  return (uint64_t)(((unsigned __int128)h * s->address_lines) >> 64) * LH_LINE_SLOTS +
         (word >> 1) % LH_LINE_SLOTS;
}

static inline lh_id lh_find_from(const lh_snapshot *s, uint64_t slot, uint64_t word) {
  for (;;) {
    lh_id id = s->by_address[slot];
    if (id == 0) return LH_NO_OBJECT;
    if (s->address[id] == word << 3) return id;
    if (++slot == s->address_slots) slot = 0;
  }
}

static inline lh_id lh_find_word(const lh_snapshot *s, uint64_t word) {
  return lh_find_from(s, lh_slot_of(s, word), word);
}

/* 0 is the word of nothing. */
static inline lh_id lh_find_word_or_none(const lh_snapshot *s, uint64_t word) {
  return word ? lh_find_word(s, word) : LH_NO_OBJECT;
}

/* The bit of a table in the filter of those with a weak __mode. */
static inline uint64_t lh_mode_bit(const lh_snapshot *s, uint64_t word) {
  return (uint64_t)(((unsigned __int128)(word * 0x9FB21C651E98DF25u) * s->n) >> 64);
}

enum { LH_WEAK_FLAGS = LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES };

/* How weak a table is, LH_FLAG_WEAK_*, by its record's first byte and its metatable's word (0:
** none). Its metatable's record says it; in version 1 its own did. */
static inline unsigned lh_weakness(const lh_snapshot *s, unsigned head, uint64_t metatable) {
  if (s->info.format_version == 1) return head & LH_WEAK_FLAGS;
  uint64_t bit = lh_mode_bit(s, metatable);
  if (metatable == 0 || !(s->modes[bit / 64] >> bit % 64 & 1)) return 0;
  lh_id id = lh_find_word(s, metatable);
  unsigned mode = id == LH_NO_OBJECT ? 0 : *lh_record(s, id);
  return (mode & 15) == LH_REC_TABLE && !(mode & LH_FLAG_DEAD) ? mode & LH_WEAK_FLAGS : 0;
}

#endif
