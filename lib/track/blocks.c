/*
** blocks.c - a hash table from blocks to their lives (blocks.h). What is removed leaves no trace:
** those behind it that would be closer to their home move up.
*/
#include "blocks.h"

#include "base.h"

enum { FEWEST_SLOTS = 256, FULL = UINT8_MAX };

lh_blocks *lh_blocks_new(void) {
  return lh_alloc_zeroed(1, sizeof(lh_blocks));
}

void lh_blocks_free(lh_blocks *b) {
  if (b) lh_free(b->slots);
  lh_free(b);
}

static uint8_t *filter_of(lh_blocks *b, const void *block) {
  return &b->filter[lh_block_hash(block) >> (64 - LH_FILTER_SHIFT)];
}

static size_t home_of(const lh_blocks *b, const void *block) {
  return (size_t)(lh_block_hash(block) >> 20) & (b->capacity - 1);
}

/* The slot of the block, or the free one where it would be. There is one. */
static size_t slot_of(const lh_blocks *b, const void *block) {
  size_t i = home_of(b, block);
  while (b->slots[i].address && b->slots[i].address != block) i = (i + 1) & (b->capacity - 1);
  return i;
}

static bool grow(lh_blocks *b) {
  lh_blocks bigger = {.capacity = b->capacity ? b->capacity * 2 : FEWEST_SLOTS};
  bigger.slots = lh_alloc_zeroed(bigger.capacity, sizeof *bigger.slots);
  if (!bigger.slots) return false;
  for (size_t i = 0; i < b->capacity; i++) {
    const lh_block *block = &b->slots[i];
    if (block->address) bigger.slots[slot_of(&bigger, block->address)] = *block;
  }
  lh_free(b->slots);
  b->slots = bigger.slots;
  b->capacity = bigger.capacity;
  return true;
}

bool lh_blocks_add(lh_blocks *b, const void *block, lh_life life) {
  if (b->n >= b->capacity / 4 * 3 && !grow(b)) return false;
  b->slots[slot_of(b, block)] = (lh_block){.address = block, .life = life};
  b->n++;
  uint8_t *count = filter_of(b, block);
  if (*count < FULL) (*count)++;
  return true;
}

lh_life *lh_blocks_find(const lh_blocks *b, const void *block) {
  if (!lh_blocks_may_have(b, block)) return NULL;
  lh_block *found = &b->slots[slot_of(b, block)];
  return found->address ? &found->life : NULL;
}

/* Does the block at slot `i` find its way from its home to `hole`, or is that before its home? */
static bool may_move(const lh_blocks *b, size_t i, size_t hole) {
  size_t mask = b->capacity - 1, home = home_of(b, b->slots[i].address);
  return ((i - home) & mask) >= ((i - hole) & mask);
}

bool lh_blocks_remove(lh_blocks *b, const void *block, lh_life *life) {
  const lh_life *found = lh_blocks_find(b, block);
  if (!found) return false;
  *life = *found;
  size_t mask = b->capacity - 1, hole = slot_of(b, block);
  for (size_t i = (hole + 1) & mask; b->slots[i].address; i = (i + 1) & mask) {
    if (!may_move(b, i, hole)) continue;
    b->slots[hole] = b->slots[i];
    hole = i;
  }
  b->slots[hole].address = NULL;
  b->n--;
  uint8_t *count = filter_of(b, block);
  if (*count < FULL) (*count)--;
  return true;
}
