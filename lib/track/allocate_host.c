/*
** allocate_host.c - the host's blocks unchanged, and a hash of the recorded ones (allocate.h).
** Of a sampled program one block in ten thousand is recorded; others jump to the host's function.
*/
#include "allocate.h"

void *lh_host_new(lh_recorder *r, size_t tag, size_t bytes, lh_stack_id stack, bool is_recorded) {
  void *block = lh_host_allocate(r, NULL, tag, bytes);
  if (!block) return lh_note_failure(r, bytes, is_recorded);
  if (!is_recorded) return block;
  unsigned type = lh_type_of_tag(tag);
  if (lh_blocks_add(r->blocks, block, lh_life_now(r, type, stack)))
    (void)lh_note_new(r, type, stack, bytes);
  return block;
}

void *lh_host_resize(lh_recorder *r, void *block, size_t old_bytes, size_t bytes) {
  lh_life life = LH_UNKNOWN_LIFE;
  bool is_recorded = lh_is_recorded_here(r, bytes);
  lh_stack_id stack = is_recorded ? lh_here_of_part(r, block, bytes) : 0;
  void *moved = lh_host_allocate(r, block, old_bytes, bytes);
  if (!moved) return lh_note_failure(r, bytes, is_recorded);
  bool was_known = lh_blocks_remove(r->blocks, block, &life);
  if (!was_known && !is_recorded) return moved;
  life = lh_note_resize(r, life, stack, is_recorded, old_bytes, bytes);
  if (lh_life_stack(life) || !r->sample_bytes) (void)lh_blocks_add(r->blocks, moved, life);
  return moved;
}

void *lh_host_free(lh_recorder *r, void *block, size_t old_bytes) {
  lh_life life;
  if (block == r->main_block) return lh_recorder_end(r, block, old_bytes);
  if (lh_blocks_remove(r->blocks, block, &life))
    lh_note_free(r, life, block, old_bytes);
  else
    lh_note_unknown_free(r, block, old_bytes);
  return lh_host_allocate(r, block, old_bytes, 0);
}

/* After a jump to the host's function nobody sees a failure, so the clock is not moved back. Big
** requests do not jump: the error of the clock stays small. */
static inline bool is_big(size_t bytes) {
  return bytes >= (size_t)1 << 32;
}

LH_NOINLINE new_special(void *data, void *block, size_t tag, size_t bytes) {
  (void)block;
  return lh_new_special(data, tag, bytes, lh_host_new);
}

LH_NOINLINE new_block(void *data, void *block, size_t tag, size_t bytes) {
  lh_recorder *r = data;
  if (RARE(is_big(bytes) || lh_is_special(r, tag))) return new_special(data, block, tag, bytes);
  if (!lh_is_recorded_here(r, bytes)) return lh_host_allocate(r, block, tag, bytes);
  return lh_host_new(r, tag, bytes, lh_here(r, lh_type_of_tag(tag), bytes), true);
}

LH_NOINLINE new_table(void *data, void *block, size_t tag, size_t bytes) {
  lh_recorder *r = data;
  const void *frame = LH_FRAME();
  if (!lh_is_recorded_here(r, bytes)) {
    if (r->learns) (void)lh_position_learns(r->position, frame);
    return lh_host_allocate(r, block, tag, bytes);
  }
  return lh_host_new(r, tag, bytes, lh_here_of_table(r, frame), true);
}

LH_NOINLINE resize_block(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  bool is_sampled = r->left_bytes < 0 || (uint64_t)r->left_bytes < bytes;
  if (is_sampled || is_big(bytes) || lh_blocks_may_have(r->blocks, block))
    return lh_host_resize(r, block, old_bytes, bytes);
  lh_move_clock(r, bytes);
  return lh_host_allocate(r, block, old_bytes, bytes);
}

LH_NOINLINE free_known(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)bytes;
  return lh_host_free(data, block, old_bytes);
}

/* There is nothing to note: the block is unknown, its size is not that of a thread or a prototype,
** and not every allocation is recorded. */
static inline bool is_plain_free(const lh_recorder *r, const void *block, size_t old_bytes) {
  return !lh_blocks_may_have(r->blocks, block) && r->left_bytes >= 0 &&
         old_bytes != r->layout.thread_bytes && old_bytes != sizeof(raw_proto) &&
         block != r->main_block;
}

LH_NOINLINE free_block(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_recorder *r = data;
  if (RARE(!is_plain_free(r, block, old_bytes))) return free_known(data, block, old_bytes, bytes);
  return lh_host_allocate(r, block, old_bytes, bytes);
}

void *lh_allocate_by_host(void *data, void *block, size_t old_bytes, size_t bytes) {
  if (bytes == 0) return free_block(data, block, old_bytes, bytes);
  if (block) return resize_block(data, block, old_bytes, bytes);
  if (RARE(old_bytes == RAW_TABLE)) return new_table(data, block, old_bytes, bytes);
  return new_block(data, block, old_bytes, bytes);
}
