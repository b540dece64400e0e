/*
** allocate_pool.c - small blocks in the pool, big ones from the host (allocate.h).
** A resized block of the host stays with the host. A block of the pool stays there while it fits.
** If the pool cannot grow, the host gives the block.
*/
#include "allocate.h"
#include "pool.h"

static inline void *take_slot(lh_recorder *r, size_t bytes) {
  return lh_pool_take(r->pool, lh_pool_slot_bytes(bytes));
}

static inline void *begin_life(void *slot, size_t bytes, lh_life life) {
  *lh_pool_life(slot, lh_pool_slot_bytes(bytes)) = life;
  return slot;
}

LH_NOINLINE new_unrecorded(void *data, void *block, size_t tag, size_t bytes) {
  lh_recorder *r = data;
  void *slot = take_slot(r, bytes);
  (void)block;
  if (RARE(!slot)) return lh_host_new(r, tag, bytes, 0, false);
  return begin_life(slot, bytes, lh_life_now(r, lh_type_of_tag(tag), 0));
}

/* In a slot; from the host if the block is too big or the pool cannot grow. */
static void *new_in_pool(lh_recorder *r, size_t tag, size_t bytes, lh_stack_id stack,
                         bool is_recorded) {
  unsigned type = lh_type_of_tag(tag);
  void *slot = bytes <= LH_POOL_MOST_BYTES ? take_slot(r, bytes) : NULL;
  if (!slot) return lh_host_new(r, tag, bytes, stack, is_recorded);
  lh_life life = is_recorded ? lh_note_new(r, type, stack, bytes) : lh_life_now(r, type, 0);
  return begin_life(slot, bytes, life);
}

/* Threads, prototypes, blocks that are too big for the pool, and requests of another state. */
LH_NOINLINE new_special(void *data, void *block, size_t tag, size_t bytes) {
  (void)block;
  return lh_new_special(data, tag, bytes, new_in_pool);
}

LH_NOINLINE new_block(void *data, void *block, size_t tag, size_t bytes) {
  lh_recorder *r = data;
  if (RARE(bytes > LH_POOL_MOST_BYTES || lh_is_special(r, tag)))
    return new_special(data, block, tag, bytes);
  if (!lh_is_recorded_here(r, bytes)) return new_unrecorded(data, block, tag, bytes);
  unsigned type = lh_type_of_tag(tag);
  lh_stack_id stack = lh_here(r, type, bytes);
  void *slot = take_slot(r, bytes);
  if (RARE(!slot)) return lh_host_new(r, tag, bytes, stack, true);
  return begin_life(slot, bytes, lh_note_new(r, type, stack, bytes));
}

LH_NOINLINE new_table(void *data, void *block, size_t tag, size_t bytes) {
  lh_recorder *r = data;
  const void *frame = LH_FRAME();
  if (!lh_is_recorded_here(r, bytes)) {
    if (r->learns) (void)lh_position_learns(r->position, frame);
    return new_unrecorded(data, block, tag, bytes);
  }
  lh_stack_id stack = lh_here_of_table(r, frame);
  void *slot = take_slot(r, bytes);
  if (RARE(!slot)) return lh_host_new(r, tag, bytes, stack, true);
  return begin_life(slot, bytes, lh_note_new(r, RAW_TABLE, stack, bytes));
}

LH_NOINLINE free_of_host(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)bytes;
  return lh_host_free(data, block, old_bytes);
}

LH_NOINLINE free_block(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  if (!lh_pool_has(r->pool, block)) return free_of_host(data, block, old_bytes, bytes);
  lh_slab *slab = lh_pool_slab(r->pool, block);
  lh_note_free(r, *lh_pool_life(block, slab->slot_bytes), block, old_bytes);
  lh_pool_give(r->pool, slab, block);
  return NULL;
}

/* Moves the block to another slot or out of the pool. NULL: no memory, and nothing changed. */
static void *move(lh_recorder *r, void *block, lh_slab *slab, size_t bytes) {
  size_t room = slab->slot_bytes - sizeof(lh_life);
  void *moved = bytes <= LH_POOL_MOST_BYTES ? take_slot(r, bytes) : NULL;
  if (!moved) moved = lh_host_allocate(r, NULL, 0, bytes);
  if (!moved) return NULL;
  memcpy(moved, block, bytes < room ? bytes : room);
  lh_pool_give(r->pool, slab, block);
  return moved;
}

/* Fails only if the block grows: a block that shrinks can stay in its slot. */
LH_NOINLINE resize_block(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  if (!lh_pool_has(r->pool, block)) return lh_host_resize(r, block, old_bytes, bytes);
  lh_slab *slab = lh_pool_slab(r->pool, block);
  lh_life life = *lh_pool_life(block, slab->slot_bytes);
  bool is_recorded = lh_is_recorded_here(r, bytes);
  lh_stack_id stack = is_recorded ? lh_here_of_part(r, block, bytes) : 0;
  bool fits = bytes <= slab->slot_bytes - sizeof(lh_life);
  bool stays = bytes <= LH_POOL_MOST_BYTES && lh_pool_slot_bytes(bytes) == slab->slot_bytes;
  void *moved = stays ? block : move(r, block, slab, bytes);
  if (!moved && fits) moved = block;
  if (!moved) return lh_note_failure(r, bytes, is_recorded);
  life = lh_note_resize(r, life, stack, is_recorded, old_bytes, bytes);
  if (lh_pool_has(r->pool, moved))
    *lh_pool_life(moved, lh_pool_slab(r->pool, moved)->slot_bytes) = life;
  else
    (void)lh_blocks_add(r->blocks, moved, life);
  return moved;
}

void *lh_allocate_in_pool(void *data, void *block, size_t old_bytes, size_t bytes) {
  if (bytes == 0) return free_block(data, block, old_bytes, bytes);
  if (block) return resize_block(data, block, old_bytes, bytes);
  if (old_bytes == RAW_TABLE) return new_table(data, block, old_bytes, bytes);
  return new_block(data, block, old_bytes, bytes);
}
