/*
** verdict.c - what becomes of a figure over several snapshots, and of its growth from before to
** after. The definitions are in luaheap_compare.h, at lh_verdict.
*/
#include "compare.h"

enum { TENTH = 10, MOST_PARTS = 3 };

typedef struct moves {
  uint64_t up, down;
} moves;

static moves moves_of(const uint64_t *figures, size_t first, size_t last) {
  moves m = {0, 0};
  for (size_t i = first; i < last; i++) {
    if (figures[i + 1] > figures[i])
      m.up += figures[i + 1] - figures[i];
    else
      m.down += figures[i] - figures[i + 1];
  }
  return m;
}

/* Is x at most a tenth of y? */
static bool is_little(uint64_t x, uint64_t y) {
  return x <= y / TENTH;
}

static bool grew_in_each(const uint64_t *figures, size_t first, size_t last) {
  for (size_t i = first; i < last; i++)
    if (figures[i] >= figures[i + 1]) return false;
  return true;
}

static bool grows_steadily(const uint64_t *figures, size_t n) {
  size_t n_steps = n - 2; /* without the first */
  size_t n_parts = n_steps < MOST_PARTS ? n_steps : MOST_PARTS;
  moves m = moves_of(figures, 1, n - 1);
  if (n_parts == 0 || !is_little(m.down, m.up)) return false;
  if (n_parts == 1 && figures[0] >= figures[1]) return false;
  if (n_parts == MOST_PARTS && grew_in_each(figures, n - 1 - MOST_PARTS, n - 1)) return true;
  for (size_t i = 0; i < n_parts; i++)
    if (figures[1 + i * n_steps / n_parts] >= figures[1 + (i + 1) * n_steps / n_parts])
      return false;
  return true;
}

lh_verdict lh_verdict_of(const uint64_t *figures, size_t n) {
  if (n < 2) return LH_LEVEL;
  moves m = moves_of(figures, 0, n - 1);
  if (m.up == 0 && m.down == 0) return LH_LEVEL;
  if (grows_steadily(figures, n)) return LH_GROWS_STEADILY;
  if (is_little(m.down, m.up)) return LH_GREW_ONCE;
  return is_little(m.up, m.down) ? LH_SHRINKS : LH_SAW_TOOTH;
}

lh_verdict lh_verdict_of_two(int64_t before, int64_t after) {
  if (before <= 0) return after > 0 ? LH_GROWS_NOW : LH_LEVEL;
  return after > 0 && !is_little((uint64_t)after, (uint64_t)before) ? LH_STILL_GROWS
                                                                    : LH_NO_LONGER_GROWS;
}
