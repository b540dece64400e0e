/*
** functions.c - the C functions that a heap has: as values, as closures, on stacks. Some hundreds,
** each met many times, so they are put into a hash table of fixed size, 64 KB.
*/
#include <stdlib.h>

#include "mirrored.h"

void lh_function_add(lh_function_set *set, uint64_t function) {
  size_t i = (size_t)((function >> 2) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
  for (;; i++) {
    uint64_t *slot = &set->slots[i % LH_FUNCTION_SLOTS];
    if (*slot == function) return;
    if (*slot != 0) continue;
    if (function == 0 || set->n == LH_MOST_C_FUNCTIONS) return;
    *slot = function;
    set->n++;
    return;
  }
}

static int by_address(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

void lh_function_sort(lh_function_set *set) {
  size_t n = 0;
  for (size_t i = 0; i < LH_FUNCTION_SLOTS; i++) {
    if (set->slots[i] != 0) set->slots[n++] = set->slots[i];
  }
  qsort(set->slots, n, sizeof set->slots[0], by_address);
}
