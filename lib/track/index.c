/*
** index.c - see index.h.
*/
#include "index.h"

static void put(lh_index *index, lh_index_slot slot) {
  uint32_t at = slot.hash;
  while (index->slots[at & index->mask].number) at++;
  index->slots[at & index->mask] = slot;
}

static bool grow(lh_index *index) {
  enum { FIRST = 64 };
  lh_index bigger = {.mask = index->slots ? index->mask * 2 + 1 : FIRST - 1, .n = index->n};
  bigger.slots = lh_alloc_zeroed((size_t)bigger.mask + 1, sizeof *bigger.slots);
  if (!bigger.slots) return false;
  for (uint32_t i = 0; index->slots && i <= index->mask; i++) {
    if (index->slots[i].number) put(&bigger, index->slots[i]);
  }
  lh_index_free(index);
  *index = bigger;
  return true;
}

bool lh_index_add(lh_index *index, uint32_t hash, uint32_t number) {
  bool is_full = !index->slots || (uint64_t)index->n * 3 >= (uint64_t)index->mask * 2;
  if (is_full && !grow(index)) return false;
  put(index, (lh_index_slot){hash, number});
  index->n++;
  return true;
}

/* What follows in the row is moved into the gap, unless its home is behind that. */
void lh_index_remove(lh_index *index, uint32_t hash, uint32_t number) {
  uint32_t mask = index->mask, gap = hash & mask;
  while (index->slots[gap].number != number) gap = (gap + 1) & mask;
  for (uint32_t at = (gap + 1) & mask; index->slots[at].number; at = (at + 1) & mask) {
    uint32_t from_home = (at - index->slots[at].hash) & mask;
    if (from_home < ((at - gap) & mask)) continue;
    index->slots[gap] = index->slots[at];
    gap = at;
  }
  index->slots[gap] = (lh_index_slot){0, 0};
  index->n--;
}

void lh_index_free(lh_index *index) {
  lh_free(index->slots);
  *index = (lh_index){0};
}
