/*
** allocate.h - the shared part of the three allocation functions.
**
** Each of the three keeps the life of a block in another place:
**
**     allocate_pool.c     small blocks in our pool, which is faster than malloc; big ones in a hash
**     allocate_trailer.c  the host's blocks, each with its life behind it: for a host's function
**     allocate_host.c     the host's blocks and a hash: for few samples, or unknown older blocks
**
** Lua calls the last function of each file. That function only looks at the kind of request, and
** jumps to another function with the same arguments. So a short path saves no registers that only a
** long path needs. The functions for new tables save all registers, for position.h.
**
** `old_bytes` of a new block is Lua's tag: RAW_STRING ... for an object, 0 for a part of an object.
** C code that calls the function itself may pass any number. In 5.5 a string may keep the function
** and its data, to free its text: see lh_hand_over_texts.
**
** A block is recorded if left_bytes is below zero after its size is subtracted. left_bytes stays
** below zero to record every block, and is far above zero while nothing is recorded.
*/
#pragma once

#include "blocks.h"
#include "position.h"
#include "running.h"
#include "stacks.h"

#define RARE(condition) __builtin_expect((condition), 0)
#define LH_NOINLINE static __attribute__((noinline)) void *

void *lh_allocate_in_pool(void *data, void *block, size_t old_bytes, size_t bytes);
void *lh_allocate_with_trailer(void *data, void *block, size_t old_bytes, size_t bytes);
void *lh_allocate_by_host(void *data, void *block, size_t old_bytes, size_t bytes);

/* LH_UNKNOWN_LIFE for a block from before tracking, which has no trailer. */
lh_life lh_trailer_life(const lh_recorder *r, const void *block, size_t bytes);

static inline void *lh_host_allocate(const lh_recorder *r, void *block, size_t old_bytes,
                                     size_t bytes) {
  return r->alloc(r->alloc_data, block, old_bytes, bytes);
}

static inline unsigned lh_type_of_tag(size_t tag) {
  return tag >= LUA_TSTRING && tag <= RAW_PROTO ? (unsigned)tag : LH_LIFE_PART;
}

/* ==== The clock, and stacks of requests =========================================== */

/* A program may request any number of bytes, as f:read(math.maxinteger) does. So the sum may wrap
** around; a request that fails moves the clock back. */
static inline void lh_move_clock(lh_recorder *r, size_t bytes) {
  r->left_bytes = (int64_t)((uint64_t)r->left_bytes - bytes);
}

static inline uint64_t lh_clock_bytes(const lh_recorder *r) {
  return (uint64_t)r->clock_base - (uint64_t)r->left_bytes;
}

/* Births, and so ages, are modulo 16 TB, which a server allocates in days. */
static inline uint64_t lh_age_bytes(const lh_recorder *r, lh_life life) {
  const uint64_t mask = ((uint64_t)1 << (32 + LH_BIRTH_SHIFT)) - 1;
  return (lh_clock_bytes(r) - ((uint64_t)life.birth << LH_BIRTH_SHIFT)) & mask;
}

static inline lh_stack_id lh_here_of_object(lh_recorder *r) {
  const void *thread = lh_running_thread(r->running);
  const raw_call *call = thread ? lh_running_call(thread) : NULL;
  return lh_stacks_find(r->stacks, thread, call,
                        call ? lh_position_of_object(r->position, thread, call) : NULL);
}

static inline lh_stack_id lh_here_of_table(lh_recorder *r, const void *frame) {
  const void *thread = lh_running_thread(r->running);
  const raw_call *call = thread ? lh_running_call(thread) : NULL;
  const uint32_t *pc = lh_position_of_table(r->position, thread, call, frame);
  return lh_stacks_find(r->stacks, thread, call, pc);
}

static inline lh_stack_id lh_here_of_part(lh_recorder *r, const void *block, size_t bytes) {
  const void *thread = lh_running_thread(r->running);
  const raw_call *call = thread ? lh_running_call(thread) : NULL;
  const uint32_t *pc = call ? lh_position_of_part(r->position, thread, call, block, bytes) : NULL;
  return lh_stacks_find(r->stacks, thread, call, pc);
}

/* ==== Events ====================================================================== */

/* The long paths: samples, a profile, threads and prototypes need more than a tally. */
void lh_record_new(lh_recorder *r, unsigned type, lh_stack_id stack, size_t bytes);
lh_life lh_record_resize(lh_recorder *r, lh_life life, lh_stack_id stack, size_t old_bytes,
                         size_t bytes);
void lh_record_free(lh_recorder *r, lh_life life, const void *block, size_t old_bytes);

/* While sampling: the resized block is no sample. Ends the old block's sample, if it was one. */
lh_life lh_end_sample(lh_recorder *r, lh_life life, size_t old_bytes);

static inline lh_life lh_life_now(const lh_recorder *r, unsigned type, lh_stack_id stack) {
  return (lh_life){stack | type << LH_LIFE_TYPE_SHIFT,
                   (uint32_t)(lh_clock_bytes(r) >> LH_BIRTH_SHIFT)};
}

static inline bool lh_needs_record(const lh_recorder *r, unsigned type) {
  return RARE(r->told >> type & 1);
}

static inline void lh_add_to_tally(lh_tally *tally, unsigned type, size_t bytes) {
  tally->objects += (uint64_t)(type != LH_LIFE_PART) << LH_TALLY_SHIFT;
  tally->bytes += bytes;
}

/* The host has no memory: undoes lh_move_clock. Returns NULL. */
void *lh_note_failure(lh_recorder *r, size_t bytes, bool is_recorded);

static inline lh_life lh_note_new(lh_recorder *r, unsigned type, lh_stack_id stack, size_t bytes) {
  lh_life life = lh_life_now(r, type, stack);
  if (lh_needs_record(r, type))
    lh_record_new(r, type, stack, bytes);
  else
    lh_add_to_tally(&r->made[stack], type, bytes);
  return life;
}

/* For each freed block that has a life, recorded or not. */
static inline void lh_note_free(lh_recorder *r, lh_life life, const void *block, size_t old_bytes) {
  unsigned type = lh_life_type(life);
  if (lh_needs_record(r, type))
    lh_record_free(r, life, block, old_bytes);
  else
    lh_add_to_tally(&r->freed[lh_life_stack(life)], type, old_bytes);
}

static inline void lh_count_resize(lh_recorder *r, lh_life life, lh_stack_id stack,
                                   size_t old_bytes, size_t bytes) {
  r->freed[lh_life_stack(life)].bytes += old_bytes;
  r->made[stack].bytes += bytes;
}

static inline lh_life lh_life_moved(lh_life life, lh_stack_id stack) {
  return (lh_life){stack | lh_life_type(life) << LH_LIFE_TYPE_SHIFT, life.birth};
}

/* A resized block belongs to `stack` from now on. Its birth stays; a sample gets a new birth. */
static inline lh_life lh_note_resize(lh_recorder *r, lh_life life, lh_stack_id stack,
                                     bool is_recorded, size_t old_bytes, size_t bytes) {
  if (!is_recorded) {
    bool was_sample = r->records && r->sample_bytes;
    return RARE(was_sample) ? lh_end_sample(r, life, old_bytes) : life;
  }
  if (lh_needs_record(r, lh_life_type(life)))
    return lh_record_resize(r, life, stack, old_bytes, bytes);
  lh_count_resize(r, life, stack, old_bytes, bytes);
  return lh_life_moved(life, stack);
}

/* ==== Special requests ============================================================ */

static inline bool lh_is_special(lh_recorder *r, size_t tag) {
  return (tag & ~(size_t)2) == RAW_THREAD ||
         atomic_load_explicit(&r->newborn, memory_order_relaxed);
}

/* Does the request make another state, or come from a state just made with our function? That state
** gets the host's function as its own, and its blocks from the host. */
bool lh_is_of_another_state(lh_recorder *r, size_t tag, size_t bytes);
void *lh_new_for_another_state(lh_recorder *r, size_t tag, size_t bytes);
void lh_note_special(lh_recorder *r, void *block, size_t tag);

/* The host's blocks unchanged. A new block is added to the hash if it is recorded. */
void *lh_host_new(lh_recorder *r, size_t tag, size_t bytes, lh_stack_id stack, bool is_recorded);
void *lh_host_resize(lh_recorder *r, void *block, size_t old_bytes, size_t bytes);
void *lh_host_free(lh_recorder *r, void *block, size_t old_bytes);

/* A block without a life is freed: from before tracking, or not sampled. */
static inline void lh_note_unknown_free(lh_recorder *r, const void *block, size_t old_bytes) {
  if (r->records && block) lh_record_free(r, LH_UNKNOWN_LIFE, block, old_bytes);
}

/* Moves the clock. Is this request recorded? */
static inline bool lh_is_recorded_here(lh_recorder *r, size_t bytes) {
  lh_move_clock(r, bytes);
  return r->left_bytes < 0 && r->records && !RARE(lh_running_is_foreign(r->running));
}

static inline lh_stack_id lh_here(lh_recorder *r, unsigned type, size_t bytes) {
  return type == LH_LIFE_PART ? lh_here_of_part(r, NULL, bytes) : lh_here_of_object(r);
}

/* Answers a special request. `make` allocates the block: each of the three files has its own. */
static inline void *lh_new_special(lh_recorder *r, size_t tag, size_t bytes,
                                   void *(*make)(lh_recorder *r, size_t tag, size_t bytes,
                                                 lh_stack_id stack, bool is_recorded)) {
  if (lh_is_of_another_state(r, tag, bytes)) return lh_new_for_another_state(r, tag, bytes);
  bool is_recorded = lh_is_recorded_here(r, bytes);
  lh_stack_id stack = is_recorded ? lh_here(r, lh_type_of_tag(tag), bytes) : 0;
  void *block = make(r, tag, bytes, stack, is_recorded);
  if (block) lh_note_special(r, block, tag);
  return block;
}
