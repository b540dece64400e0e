/* pool.c - refills a slab's list of slots, and returns the memory of empty slabs (pool.h). */
#include "pool.h"

enum {
  MOST_SLABS = 1 << 20,  /* 64 GB */
  LEAST_SLABS = 1 << 12, /* 256 MB: where no more addresses can be reserved */
  OPENED_AT_ONCE = 16,   /* slabs: 1 MB */
  EMPTY_KEPT = 16,       /* slabs, and half as many as are in use */
  MADE_AT_ONCE = 4096    /* bytes of slots put on the list: one untouched page */
};

static void append(lh_slab_queue *q, lh_slab *slab) {
  slab->next = NULL;
  slab->previous = q->last;
  *(q->last ? &q->last->next : &q->first) = slab;
  q->last = slab;
}

static void take_out(lh_slab_queue *q, lh_slab *slab) {
  *(slab->previous ? &slab->previous->next : &q->first) = slab->next;
  *(slab->next ? &slab->next->previous : &q->last) = slab->previous;
}

static lh_slab *take_first(lh_slab_queue *q) {
  lh_slab *slab = q->first;
  if (slab) take_out(q, slab);
  return slab;
}

/* The first slabs hold the records: their own records are not used. */
static size_t first_slab(const lh_pool *p) {
  return (p->n_most * sizeof(lh_slab) + LH_POOL_SLAB_BYTES - 1) / LH_POOL_SLAB_BYTES;
}

lh_pool *lh_pool_new(void) {
  lh_pool *p = lh_alloc_zeroed(1, sizeof *p);
  if (!p) return NULL;
  void *range = NULL;
  for (p->n_most = MOST_SLABS; !range && p->n_most >= LEAST_SLABS; p->n_most /= 4) {
    p->range_bytes = p->n_most * LH_POOL_SLAB_BYTES;
    range = lh_reserve_addresses(p->range_bytes);
  }
  if (!range) {
    lh_free(p);
    return NULL;
  }
  p->n_most = p->range_bytes / LH_POOL_SLAB_BYTES;
  p->base = (uintptr_t)range;
  p->slabs = range;
  p->n_slabs = first_slab(p);
  p->n_opened = p->n_slabs;
  for (size_t i = 0; i < LH_POOL_CLASSES; i++) p->current[i] = &p->none;
  return p;
}

void lh_pool_free(lh_pool *p) {
  if (p) lh_free_pages((void *)p->base, p->range_bytes);
  lh_free(p);
}

uint64_t lh_pool_count(const lh_pool *p) {
  uint64_t n = 0;
  for (size_t i = first_slab(p); i < p->n_slabs; i++) n += p->slabs[i].n_used;
  return n;
}

static void *slab_start(const lh_pool *p, const lh_slab *slab) {
  return (void *)(p->base + (uintptr_t)(slab - p->slabs) * LH_POOL_SLAB_BYTES);
}

static bool open_more(lh_pool *p) {
  size_t n = p->n_most - p->n_opened < OPENED_AT_ONCE ? p->n_most - p->n_opened : OPENED_AT_ONCE;
  uintptr_t mask = LH_POOL_SLAB_BYTES - 1; /* whole slabs are whole pages of any page size */
  uintptr_t records = p->n_opened * sizeof(lh_slab) & ~mask;
  uintptr_t records_end = ((p->n_opened + n) * sizeof(lh_slab) + mask) & ~mask;
  if (n == 0 || !lh_give_memory((void *)(p->base + records), records_end - records)) return false;
  void *slabs = slab_start(p, &p->slabs[p->n_opened]);
  if (!lh_give_memory(slabs, n * LH_POOL_SLAB_BYTES)) return false;
  p->n_opened += n;
  return true;
}

/* An empty slab, if possible of this slot size, with its slots on the list. NULL: none. */
static lh_slab *take_empty(lh_pool *p, size_t class) {
  size_t from = class;
  for (size_t i = 0; !p->empty[from].last; i++) {
    if (i == LH_POOL_CLASSES) return NULL;
    from = i;
  }
  lh_slab *slab = p->empty[from].last;
  take_out(&p->empty[from], slab);
  p->n_empty--;
  return slab;
}

static lh_slab *find_empty(lh_pool *p, size_t slot_bytes) {
  lh_slab *slab = p->n_empty > 0 ? take_empty(p, slot_bytes / 16) : NULL;
  if (slab && slab->slot_bytes == slot_bytes) return slab;
  if (!slab) slab = take_first(&p->dropped);
  if (!slab && p->n_slabs == p->n_opened && !open_more(p)) return NULL;
  if (!slab) slab = &p->slabs[p->n_slabs++];
  *slab = (lh_slab){.slot_bytes = (uint16_t)slot_bytes};
  return slab;
}

/* Puts slots that were never used on the slab's list. False: there are none. */
static bool make_slots(lh_pool *p, lh_slab *slab) {
  size_t bytes = slab->slot_bytes, most = bytes ? LH_POOL_SLAB_BYTES / bytes : 0;
  size_t n = most - slab->n_made, at_once = bytes ? (MADE_AT_ONCE + bytes - 1) / bytes : 0;
  if (n > at_once) n = at_once;
  char *start = slab_start(p, slab);
  for (size_t i = slab->n_made + n; i > slab->n_made; i--) {
    char *slot = start + (i - 1) * bytes;
    memcpy(slot, &slab->free, sizeof slab->free);
    slab->free = slot;
  }
  slab->n_made = (uint16_t)(slab->n_made + n);
  return n > 0;
}

/* Makes another slab current, with free slots or slots that were never used. NULL: no memory. */
static lh_slab *change_current(lh_pool *p, size_t slot_bytes) {
  size_t class = slot_bytes / 16;
  lh_slab *slab = take_first(&p->queues[class]);
  if (slab)
    slab->is_queued = false;
  else if ((slab = find_empty(p, slot_bytes)))
    p->n_in_use++;
  if (slab) p->current[class] = slab;
  return slab;
}

void *lh_pool_refill(lh_pool *p, size_t slot_bytes) {
  lh_slab *slab = p->current[slot_bytes / 16];
  if (slab == &p->none || !make_slots(p, slab)) {
    slab = change_current(p, slot_bytes);
    if (!slab) return NULL;
    if (!slab->free) (void)make_slots(p, slab);
  }
  void *slot = slab->free;
  memcpy(&slab->free, slot, sizeof slab->free);
  slab->n_used++;
  return slot;
}

/* Returned memory comes back page by page, which costs as much as all other work for its blocks. So
** the pool keeps as much memory as the program needs again before the next automatic collection. */
static void drop(lh_pool *p, lh_slab *slab) {
  lh_slab_queue *empty = &p->empty[slab->slot_bytes / 16];
  p->n_in_use--;
  p->n_empty++;
  append(empty, slab);
  while (p->n_empty > EMPTY_KEPT + p->n_in_use / 2 && (slab = take_first(empty))) {
    p->n_empty--;
    lh_take_memory(slab_start(p, slab), LH_POOL_SLAB_BYTES);
    append(&p->dropped, slab);
  }
}

/* The slab was full and has a free slot again, or has no used slot left. */
void lh_pool_note(lh_pool *p, lh_slab *slab) {
  size_t class = slab->slot_bytes / 16;
  if (slab == p->current[class]) return;
  if (slab->n_used == 0) {
    if (slab->is_queued) take_out(&p->queues[class], slab);
    slab->is_queued = false;
    drop(p, slab);
  } else if (!slab->is_queued) {
    slab->is_queued = true;
    append(&p->queues[class], slab);
  }
}
