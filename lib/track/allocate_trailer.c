/*
** allocate_trailer.c - the host's blocks, each with its life in eight bytes behind it (allocate.h).
** The host sees every size eight bytes bigger. Blocks from before tracking have no trailer: all
** known ones are in the hash, and stay unchanged. A block that C code got from the state's
** allocation function and hides is not in the hash. The host is given its size eight bytes too big,
** which the standard function ignores.
*/
#include "allocate.h"

static lh_life *trailer(void *block, size_t bytes) {
  return (lh_life *)(void *)((char *)block + bytes);
}

/* A stack number that was never handed out means that the block is not ours. */
static lh_life life_of(const lh_recorder *r, const void *block, size_t bytes) {
  lh_life life;
  memcpy(&life, (const char *)block + bytes, sizeof life);
  return RARE(lh_life_stack(life) >= r->n_tallies) ? LH_UNKNOWN_LIFE : life;
}

lh_life lh_trailer_life(const lh_recorder *r, const void *block, size_t bytes) {
  return lh_blocks_find(r->blocks, block) ? LH_UNKNOWN_LIFE : life_of(r, block, bytes);
}

/* The host hands out this address, so an entry for it is stale: other code has freed that block, or
** it was no block at all. */
static inline void begin_address(lh_recorder *r, const void *block) {
  lh_life life;
  if (RARE(lh_blocks_may_have(r->blocks, block))) (void)lh_blocks_remove(r->blocks, block, &life);
}

static inline void *new_with_trailer(lh_recorder *r, size_t tag, size_t bytes, lh_stack_id stack,
                                     bool is_recorded) {
  lh_life life;
  unsigned type = lh_type_of_tag(tag);
  bool is_too_big = bytes > SIZE_MAX - sizeof life;
  void *block = is_too_big ? NULL : lh_host_allocate(r, NULL, tag, bytes + sizeof life);
  if (RARE(!block)) return lh_note_failure(r, bytes, is_recorded);
  begin_address(r, block);
  life = is_recorded ? lh_note_new(r, type, stack, bytes) : lh_life_now(r, type, 0);
  memcpy(trailer(block, bytes), &life, sizeof life);
  r->n_live++;
  return block;
}

LH_NOINLINE new_special(void *data, void *block, size_t tag, size_t bytes) {
  (void)block;
  return lh_new_special(data, tag, bytes, new_with_trailer);
}

LH_NOINLINE new_block(void *data, void *block, size_t tag, size_t bytes) {
  lh_recorder *r = data;
  if (RARE(lh_is_special(r, tag))) return new_special(data, block, tag, bytes);
  bool is_recorded = lh_is_recorded_here(r, bytes);
  lh_stack_id stack = is_recorded ? lh_here(r, lh_type_of_tag(tag), bytes) : 0;
  return new_with_trailer(r, tag, bytes, stack, is_recorded);
}

LH_NOINLINE new_table(void *data, void *block, size_t tag, size_t bytes) {
  lh_recorder *r = data;
  const void *frame = LH_FRAME();
  (void)block;
  if (!lh_is_recorded_here(r, bytes)) {
    if (r->learns) (void)lh_position_learns(r->position, frame);
    return new_with_trailer(r, tag, bytes, 0, false);
  }
  return new_with_trailer(r, tag, bytes, lh_here_of_table(r, frame), true);
}

LH_NOINLINE resize_before(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  lh_life life;
  void *moved = lh_host_allocate(r, block, old_bytes, bytes);
  if (!moved || moved == block) return moved;
  (void)lh_blocks_remove(r->blocks, block, &life);
  begin_address(r, moved);
  (void)lh_blocks_add(r->blocks, moved, life); /* one was removed: there is room */
  return moved;
}

LH_NOINLINE resize_block(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  if (RARE(lh_blocks_may_have(r->blocks, block)) && lh_blocks_find(r->blocks, block))
    return resize_before(data, block, old_bytes, bytes);
  if (bytes > SIZE_MAX - sizeof(lh_life)) return NULL;
  lh_life life = life_of(r, block, old_bytes);
  bool is_recorded = lh_is_recorded_here(r, bytes);
  lh_stack_id stack = is_recorded ? lh_here_of_part(r, block, bytes) : 0;
  void *moved = lh_host_allocate(r, block, old_bytes + sizeof life, bytes + sizeof life);
  if (!moved) return lh_note_failure(r, bytes, is_recorded);
  if (moved != block) begin_address(r, moved);
  life = lh_note_resize(r, life, stack, is_recorded, old_bytes, bytes);
  memcpy(trailer(moved, bytes), &life, sizeof life);
  return moved;
}

LH_NOINLINE free_before(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  lh_life life;
  if (block == r->main_block) return lh_recorder_end(r, block, old_bytes);
  (void)lh_blocks_remove(r->blocks, block, &life);
  lh_note_unknown_free(r, block, old_bytes);
  return lh_host_allocate(r, block, old_bytes, bytes);
}

LH_NOINLINE free_block(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  if (!block || (RARE(lh_blocks_may_have(r->blocks, block)) && lh_blocks_find(r->blocks, block)))
    return free_before(data, block, old_bytes, bytes);
  lh_note_free(r, life_of(r, block, old_bytes), block, old_bytes);
  r->n_live--;
  return lh_host_allocate(r, block, old_bytes + sizeof(lh_life), bytes);
}

void *lh_allocate_with_trailer(void *data, void *block, size_t old_bytes, size_t bytes) {
  if (bytes == 0) return free_block(data, block, old_bytes, bytes);
  if (block) return resize_block(data, block, old_bytes, bytes);
  if (old_bytes == RAW_TABLE) return new_table(data, block, old_bytes, bytes);
  return new_block(data, block, old_bytes, bytes);
}
