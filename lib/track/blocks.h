/*
** blocks.h - the lives of blocks that the host's allocation function gave, by address.
**
** A hash table with linear probing, 16 bytes a slot, at most three quarters full. Most blocks that
** are freed are not in it where few are sampled, or where most are small and in the pool; so in
** front of it stands a filter of 16 KB, which counts the blocks of each of 16,384 hashes: where the
** count is 0 the block is unknown, after one load that hits the cache. A count that has come to 255
** stays there.
*/
#ifndef LUAHEAP_BLOCKS_H
#define LUAHEAP_BLOCKS_H

#include "recorder.h"

enum { LH_FILTER_SHIFT = 14 };

typedef struct lh_block {
  const void *address; /* NULL: a free slot */
  lh_life life;
} lh_block;

struct lh_blocks {
  lh_block *slots;
  size_t n, capacity; /* a power of two, or 0 */
  uint8_t filter[1 << LH_FILTER_SHIFT];
};

lh_blocks *lh_blocks_new(void); /* NULL: no memory */
void lh_blocks_free(lh_blocks *blocks);

/* False, and nothing changed, where there is no memory. The block is not in it. */
bool lh_blocks_add(lh_blocks *blocks, const void *block, lh_life life);

/* NULL: it is unknown. Until the next change. */
lh_life *lh_blocks_find(const lh_blocks *blocks, const void *block);

/* *life as it was; false: it was unknown. */
bool lh_blocks_remove(lh_blocks *blocks, const void *block, lh_life *life);

/* Adds all blocks that the state of r has, to r->blocks. False: there is no memory, or the state
** has more bytes than its objects, so that some block of it is not known, as while a function is
** compiled. One pass over all objects. */
bool lh_blocks_add_all(lh_recorder *r);

static inline uint64_t lh_block_hash(const void *block) {
  return ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u;
}

/* False: it is unknown. */
static inline bool lh_blocks_may_have(const lh_blocks *blocks, const void *block) {
  return blocks->filter[lh_block_hash(block) >> (64 - LH_FILTER_SHIFT)] != 0;
}

#endif
