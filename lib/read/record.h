/*
** record.h - reads fields of records without checks.
**
** check.c has checked each record before. The trailer follows the records, so eight bytes can be
** loaded from any place in a record. A reference is read as a "word": the address of the object
** divided by 8; 0 means no object.
*/
#pragma once

#include "format.h"
#include "snapshot.h"

/* A count that check.c has found to fit into 32 bits. */
static inline uint32_t lh_get_count(const uint8_t **at) {
  return (uint32_t)lh_get_uvarint(at);
}

static inline uint64_t lh_get_reference(const uint8_t **at, uint64_t own_word) {
  return own_word + (uint64_t)lh_unzigzag(lh_get_long(at));
}

/* A value in the file: the word of an object, or the bits of a scalar. */
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

/* The key of a hash slot. LH_VAL_KEY stands for a frequent key. */
static inline lh_raw lh_get_key(const uint8_t **at, unsigned tag, uint64_t own_word,
                                const uint64_t *keys) {
  if (tag == LH_VAL_KEY) return (lh_raw){keys[*(*at)++], LH_VAL_OBJECT};
  return lh_get_payload(at, tag, own_word);
}

static inline lh_raw lh_get_raw(const uint8_t **at, uint64_t own_word) {
  unsigned tag = *(*at)++;
  return lh_get_payload(at, tag, own_word);
}

lh_value lh_raw_value(const lh_snapshot *snapshot, lh_raw raw);

static inline const uint8_t *lh_record(const lh_snapshot *snapshot, lh_id id) {
  return snapshot->data + ((uint64_t)snapshot->record_high[id] << 32 | snapshot->record_low[id]);
}

/* The shallow size; moves *at behind the fields that all records share. */
static inline uint64_t lh_get_shallow(const lh_snapshot *s, const uint8_t **at) {
  ++*at;
  (void)lh_get_long(at);
  uint64_t bytes = lh_get_uvarint(at);
  if (s->is_tracked) (void)lh_get_uvarint(at);
  return bytes;
}

static inline uint32_t lh_bits_in(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (uint32_t)(x * 0x0101010101010101u >> 56);
}

static inline uint64_t lh_stretch_number(const lh_snapshot *s, uint64_t word) {
  return (word >> s->log2_stretch) + 1;
}

/* The slot of a stretch, or the empty slot that it can have. */
static inline uint64_t lh_slot_of_stretch(const lh_snapshot *s, uint64_t number) {
  uint64_t h = (number ^ s->stretch_seed) * 0x9FB21C651E98DF25u;
  h = (h ^ (h >> 35)) * 0xD6E8FEB86659FD93u;
  uint64_t at = (uint64_t)(((unsigned __int128)h * s->n_stretch_slots) >> 64);
  while (s->stretches[at].number != number && s->stretches[at].number != 0)
    if (++at == s->n_stretch_slots) at = 0;
  return at;
}

/* The stretches found last; a heap of 32 MB has 16. At first zeroed. */
enum { LH_RECENT_STRETCHES = 16 };
typedef struct lh_recent_stretches {
  lh_stretch list[LH_RECENT_STRETCHES];
} lh_recent_stretches;

static inline uint64_t lh_unit_in(const lh_stretch *stretch, uint64_t word) {
  return stretch->number == 0 ? 0 : stretch->to_unit + (word >> LH_LOG2_UNIT);
}

/* The number of the unit with the word; 0, the empty unit, if no object is near. */
static inline uint64_t lh_number_of_unit(const lh_snapshot *s, uint64_t word,
                                         lh_recent_stretches *recent) {
  uint64_t number = lh_stretch_number(s, word);
  lh_stretch *stretch = &recent->list[number % LH_RECENT_STRETCHES];
  if (stretch->number != number) *stretch = s->stretches[lh_slot_of_stretch(s, number)];
  return lh_unit_in(stretch, word);
}

static inline bool lh_has_object(const lh_unit *unit, uint64_t word) {
  return unit->bits >> (word & 63) & 1;
}

/* A bit for each object that begins before the word in its unit. */
static inline uint64_t lh_bits_before(const lh_unit *unit, uint64_t word) {
  return unit->bits & ((UINT64_C(1) << (word & 63)) - 1);
}

static inline lh_id lh_find_word(const lh_snapshot *s, uint64_t word) {
  const lh_stretch *stretch = &s->stretches[lh_slot_of_stretch(s, lh_stretch_number(s, word))];
  const lh_unit *unit = &s->units[lh_unit_in(stretch, word)];
  if (!lh_has_object(unit, word)) return LH_NO_OBJECT;
  return s->by_rank[unit->rank + lh_bits_in(lh_bits_before(unit, word))];
}

/* Word 0 means no object. */
static inline lh_id lh_find_word_or_none(const lh_snapshot *s, uint64_t word) {
  return word ? lh_find_word(s, word) : LH_NO_OBJECT;
}

enum { LH_WEAK_FLAGS = LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES };

/* Notes a table whose own field __mode says weak. Several threads may call this function. */
static inline void lh_note_mode(lh_snapshot *s, lh_id table) {
  __atomic_store_n(&s->has_modes, true, __ATOMIC_RELAXED);
  __atomic_fetch_or(&s->modes[table / 64], UINT64_C(1) << table % 64, __ATOMIC_RELAXED);
}

static inline unsigned lh_mode_of(const lh_snapshot *s, lh_id table) {
  bool has_one = s->modes[table / 64] >> table % 64 & 1;
  return has_one ? *lh_record(s, table) & LH_WEAK_FLAGS : 0;
}

/* LH_FLAG_WEAK_*. The mode is in the metatable; in format version 1 in the table's own record. */
static inline unsigned lh_weakness(const lh_snapshot *s, lh_id table) {
  if (!s->has_modes) return 0;
  if (s->info.format_version == 1) return lh_mode_of(s, table);
  uint32_t first = s->first_edge[table];
  if (first == s->first_edge[table + 1] || lh_label_kind(s->label[first]) != LH_EDGE_METATABLE)
    return 0;
  return lh_mode_of(s, s->edge[first]);
}
