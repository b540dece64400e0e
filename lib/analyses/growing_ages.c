/*
** growing_ages.c - how old the elements of a collection are, and what that says: does it grow?
**
** The size of a collection says nothing: a program's constants are big, too. But objects tell their
** age, by the marks, and without any by the order of allocation. What was filled once has no
** element from after the first mark; or nothing was added while a good part of the heap was
** allocated. Where so many elements should be younger by chance alone, this is no chance. Of
** numbers nothing is known but what a constructor leaves: an array part without a slot to spare.
** 8 bytes an object.
*/
#include "analyses.h"

/* So many elements would be expected where there are none: e^-4 is 0.02. */
#define EXPECTED 4.0
#define LEAST_YOUNGER 0.05

/* Where the table itself is much older than its elements, these: it was filled late, and perhaps
** will be again. Then a large one is always told. */
#define EXPECTED_LATER 8.0
#define LEAST_YOUNGER_LATER 0.25
#define LARGE_SHARE 0.1

static void order_by_age(lh_ages *a) {
  const lh_snapshot *snapshot = a->snapshot;
  uint64_t n = 0, n_since = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    a->younger[id] = a->n;
    if (!lh_is_reachable(snapshot, id) || lh_is_own(snapshot, id)) continue;
    n++;
    n_since += lh_epoch(snapshot, id) > 0;
    a->n += lh_list_of(snapshot, id) == LH_LIST_ALLGC;
  }
  a->since_first_mark = n > 0 ? (double)n_since / (double)n : 0;
}

bool lh_ages_make(lh_ages *ages, const lh_tree *tree) {
  const lh_snapshot *snapshot = tree->snapshot;
  size_t n = (size_t)snapshot->n + 1;
  *ages = (lh_ages){.snapshot = snapshot, .tree = tree, .content_seed = lh_random_seed()};
  ages->younger = lh_alloc_zeroed(n, sizeof *ages->younger);
  ages->counted = lh_alloc_zeroed(n, sizeof *ages->counted);
  ages->epochs = lh_alloc_zeroed((size_t)lh_mark_count(snapshot) + 1, sizeof *ages->epochs);
  if (!ages->younger || !ages->counted || !ages->epochs) return false;
  order_by_age(ages);
  return true;
}

void lh_ages_free(lh_ages *ages) {
  lh_free(ages->younger);
  lh_free(ages->counted);
  lh_free(ages->epochs);
}

lh_youth lh_ages_begin(lh_ages *ages) {
  ages->round++;
  return (lh_youth){.youngest = LH_NO_OBJECT};
}

static void count_epoch(lh_ages *a, lh_growing *g, lh_id id) {
  uint32_t n = lh_mark_count(a->snapshot), epoch = lh_epoch(a->snapshot, id);
  if (n == 0) return;
  if (epoch >= n) epoch = n - 1;
  if (g->aged == 0 || epoch < g->oldest_epoch) g->oldest_epoch = epoch;
  if (g->aged == 0 || epoch > g->youngest_epoch) g->youngest_epoch = epoch;
  g->since_first_mark += epoch > 0;
  if (a->epochs[epoch] != a->round) g->epochs++;
  a->epochs[epoch] = a->round;
}

void lh_age_element(lh_ages *a, lh_growing *g, lh_youth *youth, lh_id id, bool inner) {
  if (a->counted[id] == a->round) return;
  a->counted[id] = a->round;
  count_epoch(a, g, id);
  g->aged++;
  g->content += lh_hash(&id, sizeof id, a->content_seed);
  if (lh_list_of(a->snapshot, id) == LH_LIST_ALLGC && id < youth->youngest) youth->youngest = id;
  if (inner) return;
  uint32_t p = a->tree->position[id];
  youth->objects += a->tree->end[p] - p;
}

void lh_ages_end(const lh_ages *a, lh_growing *g, const lh_youth *youth, lh_id first) {
  lh_id youngest = youth->youngest;
  if (youngest == LH_NO_OBJECT) return;
  g->younger = a->n > 0 ? (double)a->younger[youngest] / a->n : 0;
  if (lh_list_of(a->snapshot, first) != LH_LIST_ALLGC) return;
  uint32_t others = first < youngest ? 0 : a->younger[first] - a->younger[youngest];
  g->in_one_go = others <= youth->objects + youth->objects / 4 + LH_LEAST_ELEMENTS;
}

/* A number for each byte, or the like. */
static bool is_lookup(const lh_growing *g) {
  bool dense = (g->keying == LH_KEYED_SEQUENCE || g->keying == LH_KEYED_INTEGERS) &&
               g->greatest - g->least + 1 == (double)g->elements;
  return g->aged == 0 && dense && (g->elements & (g->elements - 1)) == 0;
}

static bool was_filled_once(const lh_ages *a, const lh_growing *g) {
  double aged = (double)g->aged;
  if (g->exact || is_lookup(g)) return true;
  if (g->since_first_mark == 0 && aged * a->since_first_mark >= EXPECTED) return true;
  if (g->in_one_go) return g->younger >= LEAST_YOUNGER && aged * g->younger >= EXPECTED;
  return g->younger >= LEAST_YOUNGER_LATER && aged * g->younger >= EXPECTED_LATER &&
         (double)g->bytes < LARGE_SHARE * (double)a->snapshot->reach.reachable_bytes;
}

lh_prospect lh_prospect_of(const lh_ages *a, const lh_growing *g) {
  uint32_t n = lh_mark_count(a->snapshot);
  if (was_filled_once(a, g)) return LH_FILLED_ONCE;
  uint32_t since = g->epochs - (g->epochs > 0 && g->oldest_epoch == 0);
  bool goes_on = n >= 2 && g->aged > 0 && g->youngest_epoch == n - 1 && g->epochs >= 2;
  return goes_on && 2 * since >= n - 1 ? LH_GROWS : LH_MAY_GROW;
}
