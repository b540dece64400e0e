/*
** blocks.h - the lives of the host's blocks, by address.
** 16 bytes a block, and its number in a hash index (index.h). Most freed blocks are not there,
** since few are sampled or most are small and in the pool. So a filter of 16 KB stands in front: it
** counts the blocks of each of 16,384 hashes. A count of 0 means that the block is unknown, after
** one load that hits the cache. A count that reaches 255 stays there.
*/
#pragma once

#include "index.h"
#include "recorder.h"

enum { LH_FILTER_SHIFT = 14 };

typedef struct lh_block {
  const void *address;
  lh_life life;
} lh_block;

/* Number i is list[i]; list[0] is not used. */
struct lh_blocks {
  lh_block *list;
  size_t capacity;
  lh_index index;
  uint8_t filter[1 << LH_FILTER_SHIFT];
};

lh_blocks *lh_blocks_new(void); /* NULL: no memory */
void lh_blocks_free(lh_blocks *blocks);

/* An empty table, to which nothing can be added. lh_blocks_free does nothing to it. */
lh_blocks *lh_blocks_none(void);

/* The block must not be in the table. False: no memory, and nothing changed. */
bool lh_blocks_add(lh_blocks *blocks, const void *block, lh_life life);

/* NULL: unknown. Valid until the next change. */
lh_life *lh_blocks_find(const lh_blocks *blocks, const void *block);

/* Sets *life to the removed life. False: the block is unknown. */
bool lh_blocks_remove(lh_blocks *blocks, const void *block, lh_life *life);

/* Adds all blocks of r's state to r->blocks, in one pass over all objects. False: no memory, or the
** objects have fewer bytes than the state, as while it compiles: then some block is not known. */
bool lh_blocks_add_all(lh_recorder *r);

static inline uint64_t lh_block_hash(const void *block) {
  return ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u;
}

static inline bool lh_blocks_may_have(const lh_blocks *blocks, const void *block) {
  return blocks->filter[lh_block_hash(block) >> (64 - LH_FILTER_SHIFT)] != 0;
}
