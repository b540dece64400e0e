/*
** growing_ages.c - how old the elements of a collection are, and what that says: does it grow?
**
** The size of a collection says nothing: a program's constants are big, too. But objects tell their
** age, by the marks, and without any by the order of allocation. What was filled once has no
** element from after the first mark; or nothing was added while a good part of the heap was
** allocated. Where so many elements should be younger by chance alone, this is no chance. Of
** numbers nothing is known but what a constructor leaves: an array part without a slot to spare.
** 4 bytes an object.
*/
#include "analyses.h"

enum { BLOCK = 64 };

static bool is_counted(const lh_snapshot *snapshot, lh_id id) {
  return id != LH_ROOT && lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
}

/* Counts the objects with smaller ids that are reachable and not luaheap's. On allgc, which comes
** first, they are younger. */
static uint32_t count_before(const lh_ages *a, lh_id id) {
  uint32_t n = a->n_before[id / BLOCK];
  for (lh_id at = id - id % BLOCK; at < id; at++) n += is_counted(a->snapshot, at);
  return n;
}

static uint32_t count_in(const lh_ages *a, lh_id_range range) {
  return range.first < range.end ? count_before(a, range.end) - count_before(a, range.first) : 0;
}

static void count_blocks(lh_ages *a) {
  const lh_snapshot *snapshot = a->snapshot;
  const lh_id *first = snapshot->list_first;
  uint32_t n = 0, n_old = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (id % BLOCK == 0) a->n_before[id / BLOCK] = n;
    n += is_counted(snapshot, id);
  }
  if ((snapshot->n + 1) % BLOCK == 0) a->n_before[(snapshot->n + 1) / BLOCK] = n;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    n_old += count_in(a, lh_epoch_range(snapshot, list, 0));
  a->n = count_before(a, first[LH_LIST_FINOBJ]);
  uint32_t n_aged = count_before(a, first[LH_LIST_TOBEFNZ]);
  a->since_first_mark = n > 0 ? (double)(n_aged - n_old) / (double)n : 0;
}

bool lh_ages_make(lh_ages *ages, const lh_tree *tree, const lh_history *history) {
  const lh_snapshot *snapshot = tree->snapshot;
  size_t n = (size_t)snapshot->n + 1;
  *ages = (lh_ages){
      .snapshot = snapshot, .tree = tree, .history = history, .content_seed = lh_random_seed()};
  ages->n_before = lh_alloc_zeroed(n / BLOCK + 1, sizeof *ages->n_before);
  ages->counted = lh_alloc_zeroed(n, sizeof *ages->counted);
  ages->epochs = lh_alloc_zeroed((size_t)lh_mark_count(snapshot) + 1, sizeof *ages->epochs);
  if (!ages->n_before || !ages->counted || !ages->epochs) return false;
  count_blocks(ages);
  return true;
}

void lh_ages_free(lh_ages *ages) {
  lh_free(ages->n_before);
  lh_free(ages->counted);
  lh_free(ages->epochs);
}

lh_youth lh_ages_begin(lh_ages *ages) {
  ages->round++;
  return (lh_youth){.youngest = LH_NO_OBJECT};
}

/* Elements of one table were mostly allocated one after the other. */
static uint32_t epoch_of(lh_ages *a, lh_id id) {
  if (id >= a->neighbours.first && id < a->neighbours.end) return a->epoch;
  lh_list list = lh_list_of(a->snapshot, id);
  if (list > LH_LIST_FINOBJ) return 0;
  uint32_t epoch = lh_epoch(a->snapshot, id), n = a->snapshot->n_marks;
  a->neighbours = lh_epoch_range(a->snapshot, list, epoch);
  return a->epoch = epoch < n ? epoch : n - 1;
}

static void count_epoch(lh_ages *a, lh_growing *g, lh_id id) {
  if (a->snapshot->n_marks == 0) return;
  uint32_t epoch = epoch_of(a, id);
  g->since_first_mark += epoch > 0;
  if (a->epochs[epoch] == a->round) return;
  if (g->epochs == 0 || epoch < g->oldest_epoch) g->oldest_epoch = epoch;
  if (g->epochs == 0 || epoch > g->youngest_epoch) g->youngest_epoch = epoch;
  g->epochs++;
  a->epochs[epoch] = a->round;
}

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

void lh_age_element(lh_ages *a, lh_growing *g, lh_youth *youth, lh_id id, bool inner) {
  if (a->counted[id] == a->round) return;
  a->counted[id] = a->round;
  count_epoch(a, g, id);
  g->ages[a->history->span_of[id]]++;
  g->aged++;
  g->content += mix(a->content_seed + id);
  if (lh_list_of(a->snapshot, id) == LH_LIST_ALLGC && id < youth->youngest) youth->youngest = id;
  if (inner) return;
  uint32_t p = a->tree->position[id];
  youth->objects += a->tree->end[p] - p;
}

void lh_ages_end(const lh_ages *a, lh_growing *g, const lh_youth *youth, lh_id first) {
  lh_id youngest = youth->youngest;
  if (youngest == LH_NO_OBJECT) return;
  g->younger = a->n > 0 ? (double)count_before(a, youngest) / a->n : 0;
  if (lh_list_of(a->snapshot, first) != LH_LIST_ALLGC) return;
  uint32_t others = count_in(a, (lh_id_range){youngest, first});
  g->in_one_go = others <= youth->objects + youth->objects / 4 + LH_LEAST_ELEMENTS;
}

/* A number for each byte, or the like. */
static bool is_lookup(const lh_growing *g) {
  bool dense = (g->keying == LH_KEYED_SEQUENCE || g->keying == LH_KEYED_INTEGERS) &&
               g->greatest - g->least + 1 == (double)g->elements;
  return g->aged == 0 && dense && (g->elements & (g->elements - 1)) == 0;
}

lh_prospect lh_prospect_of(const lh_ages *a, const lh_growing *g) {
  const lh_snapshot *snapshot = a->snapshot;
  lh_id holder = g->is_list ? lh_naming_parent(snapshot, g->id) : g->id;
  const lh_filling filling = {.aged = g->aged,
                              .since_first_mark = g->since_first_mark,
                              .heap_since_first_mark = a->since_first_mark,
                              .in_one_go = g->in_one_go,
                              .younger = g->younger,
                              .bytes = g->bytes};
  if (g->exact || is_lookup(g) || lh_was_filled_once(snapshot, &filling)) return LH_FILLED_ONCE;
  return g->aged > 0 ? lh_prospect_of_ages(snapshot, a->history, g->ages, holder) : LH_MAY_GROW;
}
