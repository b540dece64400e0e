/*
** causes.c - Finds the rows of a comparison that have one cause: one container, its keys, the
** contents of its elements, or what it is in. Bigger rows come first.
*/
#include "compare.h"

typedef struct causes {
  const lh_place_tree *tree;
  lh_map of_container; /* table of the row's keys or values, or its place -> cause */
  lh_map above;        /* place that contains a row's place -> cause */
  uint64_t n;
} causes;

static int compare_caused(const void *left, const void *right) {
  const lh_caused *a = left, *b = right;
  return LH_MORE(a->bytes, b->bytes) ?: LH_LESS(a->number, b->number);
}

static uint32_t container_or_itself(const lh_place_tree *tree, uint32_t place) {
  uint32_t container = lh_place_container(tree, place);
  return container == LH_NO_PLACE ? place : container;
}

/* LH_NO_NUMBER: no cause so far. */
static uint32_t find_cause(const causes *c, uint32_t place) {
  uint32_t found = lh_map_get(&c->of_container, container_or_itself(c->tree, place));
  if (found == LH_NO_NUMBER) found = lh_map_get(&c->above, place);
  for (; found == LH_NO_NUMBER && place != LH_NO_PLACE; place = lh_place_before(c->tree, place)) {
    uint32_t container = lh_place_container(c->tree, place);
    if (container != LH_NO_PLACE) found = lh_map_get(&c->of_container, container);
  }
  return found;
}

static bool add_cause(causes *c, uint32_t place, uint32_t cause) {
  bool ok = lh_map_first(&c->of_container, container_or_itself(c->tree, place), cause);
  for (; ok && place != LH_NO_PLACE; place = lh_place_before(c->tree, place))
    ok = lh_map_first(&c->above, place, cause);
  return ok;
}

bool lh_number_causes(const lh_place_tree *tree, lh_caused *rows, size_t n) {
  causes c = {.tree = tree};
  bool ok = true;
  for (size_t i = 0; i < n; i++) rows[i].number = i;
  if (n > 1) qsort(rows, n, sizeof *rows, compare_caused);
  for (size_t i = 0; ok && i < n; i++) {
    uint32_t cause = find_cause(&c, rows[i].place);
    if (cause == LH_NO_NUMBER) {
      cause = (uint32_t)c.n++;
      ok = add_cause(&c, rows[i].place, cause);
    }
    *rows[i].cause = cause + 1;
  }
  LH_FREE_MAPS(&c.of_container, &c.above);
  return ok;
}
