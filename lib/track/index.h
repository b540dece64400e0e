/*
** index.h - a hash index: finds a number by its contents.
** Open addressing. A slot of 8 bytes has 32 bits of a hash and a number from 1 on. The contents are
** in an array of the caller, who compares them. Entries of one hash stand in a row from their home
** on. At most two thirds of the slots are used and a removal leaves no gap, so a row is two slots
** long.
*/
#pragma once

#include "base.h"

typedef struct lh_index_slot {
  uint32_t hash, number; /* number 0: free */
} lh_index_slot;

typedef struct lh_index {
  lh_index_slot *slots; /* NULL at first, and all else 0 */
  uint32_t mask, n;
  uint32_t *removed; /* numbers that lh_index_new hands out again */
  uint32_t n_removed, n_handed_out;
  size_t removed_capacity;
} lh_index;

/* The next number of this hash from *at on; moves *at behind it. 0: no more. */
static inline uint32_t lh_index_next(const lh_index *index, uint32_t hash, uint32_t *at) {
  if (!index->slots) return 0;
  for (;;) {
    const lh_index_slot *slot = &index->slots[(*at)++ & index->mask];
    if (slot->number == 0 || slot->hash == hash) return slot->number;
  }
}

/* Sets `number` to the first number of this hash for which `is_it` is true; 0: none. */
#define LH_INDEX_FIND(number, index, wanted, is_it)                              \
  do {                                                                           \
    uint32_t hash_ = (wanted), at_ = hash_;                                      \
    while (((number) = lh_index_next((index), hash_, &at_)) != 0 && !(is_it)) {} \
  } while (false)

/* False: out of memory, and nothing changed. */
bool lh_index_add(lh_index *index, uint32_t hash, uint32_t number);

/* Adds a number, and makes room for its element in the array, whose [0] is unused. 0: no memory. */
uint32_t lh_index_new(lh_index *index, uint32_t hash, void *array_pointer, size_t *capacity,
                      size_t size);

void lh_index_remove(lh_index *index, uint32_t hash, uint32_t number);

void lh_index_free(lh_index *index); /* leaves it empty */

/* Of two words. Takes the upper bits of a product, which depend on all bits of both. */
static inline uint32_t lh_index_hash(uint64_t a, uint64_t b) {
  return (uint32_t)(((a ^ b * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u) >> 32);
}
