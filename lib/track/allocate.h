/*
** allocate.h - what the allocation functions have in common. There are three, for three ways to
** keep the life of a block:
**
**     allocate_pool.c     small blocks in the pool, which is faster than malloc and has room for
**                         the life where malloc has its own eight bytes; big ones in the hash
**     allocate_trailer.c  the host's blocks, each with its life behind it: of a host with an
**                         allocation function of its own
**     allocate_host.c     the host's blocks as they are, and a hash: where few are sampled, or
**                         where nobody knows which blocks were there before
**
** Each begins with the function that Lua calls. That one only tells what is asked for, and jumps to
** one of its own for that, with the same arguments: so that the short ways save no registers that
** only the long ones need. Those for tables save all of them, for position.h.
**
** `old_bytes` of a new block is what Lua makes of it, the tag: RAW_STRING ... or 0 for a part. C
** code that calls the function itself may give anything.
**
** A block is recorded when left_bytes, from which each request is subtracted, comes below zero:
** with every block it stays there, while nothing is recorded it is far above.
*/
#ifndef LUAHEAP_ALLOCATE_H
#define LUAHEAP_ALLOCATE_H

#include "blocks.h"
#include "position.h"
#include "running.h"
#include "stacks.h"

#define RARE(condition) __builtin_expect((condition), 0)
#define LH_OWN_WAY static __attribute__((noinline)) void *

void *lh_allocate_in_pool(void *data, void *block, size_t old_bytes, size_t bytes);
void *lh_allocate_with_trailer(void *data, void *block, size_t old_bytes, size_t bytes);
void *lh_allocate_by_host(void *data, void *block, size_t old_bytes, size_t bytes);

/* Of a block with a trailer. */
lh_life lh_trailer_life(const lh_recorder *r, const void *block, size_t bytes);

static inline void *lh_ask_host(const lh_recorder *r, void *block, size_t old_bytes, size_t bytes) {
  return r->alloc(r->alloc_data, block, old_bytes, bytes);
}

static inline unsigned lh_type_of_tag(size_t tag) {
  return tag >= LUA_TSTRING && tag <= RAW_PROTO ? (unsigned)tag : LH_LIFE_PART;
}

/* ==== What is recorded ============================================================ */

/* A program may ask for any number of bytes, as f:read(math.maxinteger) does: so this wraps around
** where the sum is too big, and what fails moves the clock back. */
static inline void lh_move_clock(lh_recorder *r, size_t bytes) {
  r->left_bytes = (int64_t)((uint64_t)r->left_bytes - bytes);
}

static inline uint64_t lh_clock_bytes(const lh_recorder *r) {
  return (uint64_t)r->clock_base - (uint64_t)r->left_bytes;
}

/* A birth is known up to 16 TB, which a server allocates in days: so an age is, too. */
static inline uint64_t lh_age_bytes(const lh_recorder *r, lh_life life) {
  const uint64_t mask = ((uint64_t)1 << (32 + LH_BIRTH_SHIFT)) - 1;
  return (lh_clock_bytes(r) - ((uint64_t)life.birth << LH_BIRTH_SHIFT)) & mask;
}

/* The stack that allocates an object, a table, and a part. */
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

/* ==== Taking note ================================================================= */

/* What is more than a tally: samples, a file, threads and prototypes. */
void lh_tell_new(lh_recorder *r, unsigned type, lh_stack_id stack, size_t bytes);
lh_life lh_tell_resize(lh_recorder *r, lh_life life, lh_stack_id stack, size_t old_bytes,
                       size_t bytes);
void lh_tell_free(lh_recorder *r, lh_life life, const void *block, size_t old_bytes);

/* Of a resized block, where the new one is no sample: the old one was. */
lh_life lh_end_sample(lh_recorder *r, lh_life life, size_t old_bytes);

static inline lh_life lh_life_now(const lh_recorder *r, unsigned type, lh_stack_id stack) {
  return (lh_life){stack | type << LH_LIFE_TYPE_SHIFT,
                   (uint32_t)(lh_clock_bytes(r) >> LH_BIRTH_SHIFT)};
}

static inline bool lh_is_told(const lh_recorder *r, unsigned type) {
  return RARE(r->told >> type & 1);
}

static inline void lh_add_to_tally(lh_tally *tally, unsigned type, size_t bytes) {
  tally->objects += (uint64_t)(type != LH_LIFE_PART) << LH_TALLY_SHIFT;
  tally->bytes += bytes;
}

/* There was no memory: as if it had not been asked for. Returns NULL. */
void *lh_note_failure(lh_recorder *r, size_t bytes, bool is_recorded);

/* A recorded block was made. */
static inline lh_life lh_note_new(lh_recorder *r, unsigned type, lh_stack_id stack, size_t bytes) {
  lh_life life = lh_life_now(r, type, stack);
  if (lh_is_told(r, type))
    lh_tell_new(r, type, stack, bytes);
  else
    lh_add_to_tally(&r->made[stack], type, bytes);
  return life;
}

/* And is freed: all that has a life. */
static inline void lh_note_free(lh_recorder *r, lh_life life, const void *block, size_t old_bytes) {
  unsigned type = lh_life_type(life);
  if (lh_is_told(r, type))
    lh_tell_free(r, life, block, old_bytes);
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

/* It was resized at `stack`, and belongs there from now on. It is as old as it was, but of samples
** each is born when it becomes one. */
static inline lh_life lh_note_resize(lh_recorder *r, lh_life life, lh_stack_id stack,
                                     bool is_recorded, size_t old_bytes, size_t bytes) {
  if (!is_recorded) {
    bool was_sample = r->records && r->sample_bytes;
    return RARE(was_sample) ? lh_end_sample(r, life, old_bytes) : life;
  }
  if (lh_is_told(r, lh_life_type(life))) return lh_tell_resize(r, life, stack, old_bytes, bytes);
  lh_count_resize(r, life, stack, old_bytes, bytes);
  return lh_life_moved(life, stack);
}

/* ==== Special requests ============================================================ */

/* Threads, prototypes, and what a state asks for that was just made with our function. */
static inline bool lh_is_special(lh_recorder *r, size_t tag) {
  return (tag & ~(size_t)2) == RAW_THREAD ||
         atomic_load_explicit(&r->newborn, memory_order_relaxed);
}

/* Another state is made, or has just been: it gets the host's function for its own, and its block
** from there. */
bool lh_is_of_another_state(lh_recorder *r, size_t tag, size_t bytes);
void *lh_new_for_another_state(lh_recorder *r, size_t tag, size_t bytes);

/* A thread or a prototype was made, which Lua is about to fill in. */
void lh_note_special(lh_recorder *r, void *block, size_t tag);

/* The host's blocks as they are: new ones get into the hash, where they are recorded. */
void *lh_host_new(lh_recorder *r, size_t tag, size_t bytes, lh_stack_id stack, bool is_recorded);
void *lh_host_resize(lh_recorder *r, void *block, size_t old_bytes, size_t bytes);
void *lh_host_free(lh_recorder *r, void *block, size_t old_bytes);

/* A block from before goes. */
static inline void lh_note_unknown_free(lh_recorder *r, const void *block, size_t old_bytes) {
  if (r->records && block) lh_tell_free(r, LH_UNKNOWN_LIFE, block, old_bytes);
}

/* Is this request recorded? And who makes it, if so. */
static inline bool lh_is_recorded_here(lh_recorder *r, size_t bytes) {
  lh_move_clock(r, bytes);
  return r->left_bytes < 0 && r->records && !RARE(lh_running_is_foreign(r->running));
}

static inline lh_stack_id lh_here(lh_recorder *r, unsigned type, size_t bytes) {
  return type == LH_LIFE_PART ? lh_here_of_part(r, NULL, bytes) : lh_here_of_object(r);
}

/* Answers one, whose block is made by `make`: each of the three has its own. */
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

#endif
