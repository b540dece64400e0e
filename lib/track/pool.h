/*
** pool.h - small blocks, each with its life (lh_life) behind it, from one range of addresses.
**
** A slot holds up to 1,016 bytes and the eight of the life, and is a multiple of 16: as much as
** malloc takes for the same request. Slots of one size are in slabs of 64 KB. Each slab has its own
** list of free slots, so that an empty slab is noticed and its memory returned to the system. All
** slabs are in one range of 64 GB of addresses, reserved at the start without memory. So "is this
** block ours?" is a subtraction and a comparison, and a shift finds the slab of a block.
**
**     range:   | lh_slab[2^20] | slab | slab | slab | ...  not given memory yet ...|
**     slab:    | slot | slot | slot | ... | never used yet |
**     slot:    | request ...   unused | life |
**
** Each size has one current slab, from which slots are taken, and a queue of the slabs that are
** neither full nor current, the oldest first: by its turn a sweep has freed more of its slots.
** Taking or giving a slot costs some ten instructions. The slab knows the size of a slot; the
** caller is not trusted.
*/
#pragma once

#include "recorder.h"

enum {
  LH_POOL_CLASSES = 65, /* by slot bytes / 16; from 1 on */
  LH_POOL_SLAB_SHIFT = 16,
  LH_POOL_SLAB_BYTES = 1 << LH_POOL_SLAB_SHIFT,
  LH_POOL_MOST_BYTES = 1024 - sizeof(lh_life) /* of a request */
};

typedef struct lh_slab {
  void *free;                      /* first free slot; it begins with the address of the next */
  struct lh_slab *next, *previous; /* in its queue, or the queue of empty slabs */
  uint16_t n_used, n_made;         /* slots in use; slots that were ever on the list */
  uint16_t slot_bytes;
  bool is_queued;
} lh_slab;

typedef struct lh_slab_queue {
  lh_slab *first, *last;
} lh_slab_queue;

struct lh_pool {
  uintptr_t base; /* of the range and of slab 0; the first slabs hold the records */
  lh_slab *slabs;
  lh_slab *current[LH_POOL_CLASSES]; /* never NULL: at first `none` */
  lh_slab_queue queues[LH_POOL_CLASSES];
  lh_slab_queue empty[LH_POOL_CLASSES]; /* with memory: half as many as are in use, and some */
  lh_slab_queue dropped;                /* without memory */
  size_t n_slabs;                       /* that were ever used, from slab 0 on */
  size_t n_most;
  size_t n_opened; /* slabs whose pages and records may be used */
  size_t n_in_use, n_empty;
  size_t range_bytes;
  lh_slab none;
};

/* NULL: the addresses cannot be reserved. */
lh_pool *lh_pool_new(void);

/* Frees all slots, too. NULL is fine. */
void lh_pool_free(lh_pool *pool);

/* Slots in use. O(slabs). */
uint64_t lh_pool_count(const lh_pool *pool);
void *lh_pool_refill(lh_pool *pool, size_t slot_bytes);
void lh_pool_note(lh_pool *pool, lh_slab *slab);

static inline bool lh_pool_has(const lh_pool *pool, const void *block) {
  return (uintptr_t)block - pool->base < pool->range_bytes;
}

static inline lh_slab *lh_pool_slab(const lh_pool *pool, const void *block) {
  return &pool->slabs[((uintptr_t)block - pool->base) >> LH_POOL_SLAB_SHIFT];
}

static inline lh_life *lh_pool_life(const void *block, size_t slot_bytes) {
  return (lh_life *)(void *)((uintptr_t)block + slot_bytes - sizeof(lh_life));
}

static inline size_t lh_pool_slot_bytes(size_t bytes) {
  return (bytes + sizeof(lh_life) + 15) & ~(size_t)15;
}

/* For at most LH_POOL_MOST_BYTES; NULL: no memory. */
static inline void *lh_pool_take(lh_pool *pool, size_t slot_bytes) {
  lh_slab *slab = pool->current[slot_bytes / 16];
  void *slot = slab->free;
  if (__builtin_expect(!slot, 0)) return lh_pool_refill(pool, slot_bytes);
  memcpy(&slab->free, slot, sizeof slab->free);
  slab->n_used++;
  return slot;
}

static inline void lh_pool_give(lh_pool *pool, lh_slab *slab, void *slot) {
  void *rest = slab->free;
  memcpy(slot, &rest, sizeof rest);
  slab->free = slot;
  if (__builtin_expect(--slab->n_used == 0 || !rest, 0)) lh_pool_note(pool, slab);
}
