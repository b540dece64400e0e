/* index.c - see index.h. */
#include "index.h"

static void put_slot(lh_index *index, lh_index_slot slot) {
  uint32_t at = slot.hash;
  while (index->slots[at & index->mask].number) at++;
  index->slots[at & index->mask] = slot;
}

static bool grow(lh_index *index) {
  enum { FIRST = 64 };
  lh_index bigger = {.mask = index->slots ? index->mask * 2 + 1 : FIRST - 1};
  bigger.slots = lh_alloc_zeroed((size_t)bigger.mask + 1, sizeof *bigger.slots);
  if (!bigger.slots) return false;
  for (uint32_t i = 0; index->slots && i <= index->mask; i++)
    if (index->slots[i].number) put_slot(&bigger, index->slots[i]);
  lh_free(index->slots);
  index->slots = bigger.slots;
  index->mask = bigger.mask;
  return true;
}

bool lh_index_add(lh_index *index, uint32_t hash, uint32_t number) {
  bool is_full = !index->slots || (uint64_t)index->n * 3 >= (uint64_t)index->mask * 2;
  if (is_full && !grow(index)) return false;
  put_slot(index, (lh_index_slot){hash, number});
  index->n++;
  return true;
}

uint32_t lh_index_new(lh_index *index, uint32_t hash, void *array_pointer, size_t *capacity,
                      size_t size) {
  bool is_again = index->n_removed > 0;
  uint32_t number = is_again ? index->removed[index->n_removed - 1] : index->n_handed_out + 1;
  if (!lh_grow(array_pointer, number, capacity, size) ||
      !lh_grow(&index->removed, number, &index->removed_capacity, sizeof *index->removed) ||
      !lh_index_add(index, hash, number))
    return 0;
  if (is_again)
    index->n_removed--;
  else
    index->n_handed_out++;
  return number;
}

/* Entries behind the gap move into it, unless their home is behind the gap. */
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
  if (index->n_removed < index->removed_capacity) index->removed[index->n_removed++] = number;
}

void lh_index_free(lh_index *index) {
  lh_free(index->slots);
  lh_free(index->removed);
  *index = (lh_index){0};
}
