/*
** top.c - Ranks the biggest classes and objects.
** A class has cheap bounds of its retained bytes (retained_sets.c), mostly equal ones. Classes are
** made exact in the order of their upper bounds, until the next bound is below the worst row kept.
*/
#include "analyses.h"

/* ==== objects ======================================================================= */

static bool is_asked_for(const lh_top_query *query, lh_type type) {
  return query->type_mask == 0 || query->type_mask >> type & 1;
}

static void find_ranges(const lh_snapshot *snapshot, const lh_top_query *query,
                        lh_id_range ranges[2]) {
  lh_interval interval = LH_EVER;
  if (query->interval) interval = *query->interval;
  lh_objects_in(snapshot, interval, ranges);
}

static bool is_full(const lh_ranking *r) {
  return r->limit > 0 && r->n == r->limit;
}

/* Returns the best in order. folds: of a linked list only the first element counts. */
static bool rank_objects(const lh_snapshot *snapshot, const lh_top_query *query, bool folds,
                         lh_ranking *best) {
  bool is_by_shallow = query->garbage || query->sort == LH_SORT_SHALLOW;
  lh_id_range ranges[2];
  uint64_t least = 0; /* the key of the worst object that is kept */
  find_ranges(snapshot, query, ranges);
  for (int i = 0; i < 2; i++) {
    for (lh_id id = ranges[i].first; id < ranges[i].end; id++) {
      uint64_t key = is_by_shallow ? lh_shallow_bytes(snapshot, id) : snapshot->retained[id];
      if (key < least) continue; /* most objects are smaller */
      if (!lh_is_queried(snapshot, query, id) || (folds && lh_continues_list(snapshot, id)))
        continue;
      if (!lh_rank(best, (lh_ranked){key, snapshot->address[id], id})) return false;
      if (is_full(best)) least = best->list[0].key;
    }
  }
  lh_sort_ranking(best);
  return true;
}

static int rank(lh_snapshot *snapshot, const lh_top_query *query, bool folds, lh_id **ids,
                size_t *n_ids, lh_error *error) {
  lh_ranking best = {.limit = query->limit};
  if (!snapshot->retained)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been analysed");
  *ids = rank_objects(snapshot, query, folds, &best) ? lh_alloc(best.n, sizeof **ids) : NULL;
  for (size_t i = 0; *ids && i < best.n; i++) (*ids)[i] = best.list[i].what;
  *n_ids = best.n;
  lh_ranking_free(&best);
  return *ids ? LH_OK : lh_fail_memory(error, "ranking objects");
}

/* ==== Objects without repetition ==================================================== */

#define INNARDS (1u << LH_TYPE_UPVALUE | 1u << LH_TYPE_PROTO)

/* Counts the list elements that would rank before `last` (LH_ROOT: all). Lists are folded only if
** sorted by retained bytes. */
static size_t count_folded(const lh_snapshot *snapshot, const lh_top_query *query, lh_id last) {
  size_t n = 0;
  lh_id_range ranges[2];
  uint64_t least = last == LH_ROOT ? 0 : snapshot->retained[last];
  find_ranges(snapshot, query, ranges);
  for (int i = 0; i < 2; i++)
    for (lh_id id = ranges[i].first; id < ranges[i].end; id++) {
      uint64_t key = snapshot->retained[id];
      if (key < least) continue;
      bool is_before =
          last == LH_ROOT || key > least || snapshot->address[id] < snapshot->address[last];
      n += is_before && lh_is_queried(snapshot, query, id) && lh_continues_list(snapshot, id);
    }
  return n;
}

/* Counts the objects of the query; the classes know the count if there is no interval. */
static uint64_t count_ranked(const lh_snapshot *snapshot, const lh_top_query *query) {
  uint64_t n = 0;
  lh_id_range ranges[2];
  find_ranges(snapshot, query, ranges);
  for (uint32_t i = 0; !query->interval && snapshot->classes && i < lh_class_count(snapshot); i++) {
    const lh_class *class = lh_class_at(snapshot, i);
    if (is_asked_for(query, class->type))
      n += query->garbage ? class->garbage_objects : class->objects;
  }
  for (int i = 0; (query->interval || !snapshot->classes) && i < 2; i++)
    for (lh_id id = ranges[i].first; id < ranges[i].end; id++)
      n += lh_is_queried(snapshot, query, id);
  return n;
}

int lh_rank_objects(lh_snapshot *snapshot, const lh_top_query *asked, bool whole_lists, lh_id **ids,
                    size_t *n, size_t *n_left_out, uint64_t *total, lh_error *error) {
  lh_top_query query = *asked;
  *n_left_out = 0;
  if (query.type_mask == 0) query.type_mask = ~INNARDS;
  bool folds = !whole_lists && query.limit > 0 && query.sort != LH_SORT_SHALLOW && !query.garbage;
  int code = rank(snapshot, &query, folds, ids, n, error);
  if (code == LH_OK) *total = count_ranked(snapshot, &query);
  if (code == LH_OK && folds)
    *n_left_out = count_folded(snapshot, &query, *n < query.limit ? LH_ROOT : (*ids)[*n - 1]);
  return code;
}

/* ==== classes ======================================================================= */

typedef struct class_ranking {
  lh_snapshot *snapshot;
  const lh_top_query *query;
  lh_unions unions;  /* unused if retained bytes are 0 */
  uint32_t *set_of;  /* by object: its class, if in the interval; NULL: no interval */
  uint32_t *by_name; /* class indexes */
  lh_count *counts;  /* by class: instances in the interval; NULL: no interval */
  lh_ranking best;
  size_t n_all; /* classes with objects */
} class_ranking;

static int compare_classes(const void *left, const void *right, void *payload) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return lh_compare_class_names(payload, a, b) ?: LH_LESS(a, b);
}

static bool sort_by_name(class_ranking *c) {
  uint32_t n = lh_class_count(c->snapshot);
  c->by_name = lh_alloc(n, sizeof *c->by_name);
  if (!c->by_name) return false;
  for (uint32_t i = 0; i < n; i++) c->by_name[i] = i;
  if (n > 1) qsort_r(c->by_name, n, sizeof *c->by_name, compare_classes, c->snapshot);
  return true;
}

/* The class of each object in the query's interval, or UINT32_MAX. */
static const uint32_t *find_sets(class_ranking *c) {
  const lh_snapshot *snapshot = c->snapshot;
  const uint32_t *of = snapshot->classes->of;
  if (!c->query->interval) return of;
  lh_id_range ranges[2];
  find_ranges(snapshot, c->query, ranges);
  c->set_of = lh_alloc((size_t)snapshot->n + 1, sizeof *c->set_of);
  for (lh_id id = 0; c->set_of && id <= snapshot->n; id++)
    c->set_of[id] = lh_in_ranges(ranges, id) ? of[id] : UINT32_MAX;
  return c->set_of;
}

static bool bound_classes(class_ranking *c) {
  const uint32_t *set_of = find_sets(c);
  return set_of && lh_bound_sets(&c->unions, c->snapshot, set_of, lh_class_count(c->snapshot));
}

static bool count_instances(class_ranking *c) {
  const lh_snapshot *snapshot = c->snapshot;
  lh_id_range ranges[2];
  if (!c->query->interval) return true;
  c->counts = lh_alloc_zeroed(lh_class_count(snapshot), sizeof *c->counts);
  find_ranges(snapshot, c->query, ranges);
  for (int i = 0; c->counts && i < 2; i++) {
    for (lh_id id = ranges[i].first; id < ranges[i].end; id++) {
      if (!lh_is_queried(snapshot, c->query, id)) continue;
      lh_count *count = &c->counts[lh_class_of(snapshot, id)];
      count->objects++;
      count->bytes += lh_shallow_bytes(snapshot, id);
    }
  }
  return c->counts != NULL;
}

static uint64_t count_of(const class_ranking *c, uint32_t class_index) {
  if (c->counts) return c->counts[class_index].objects;
  const lh_class *class = lh_class_at(c->snapshot, class_index);
  return c->query->garbage ? class->garbage_objects : class->objects;
}

static uint64_t shallow_of(const class_ranking *c, uint32_t class_index) {
  if (c->counts) return c->counts[class_index].bytes;
  const lh_class *class = lh_class_at(c->snapshot, class_index);
  return c->query->garbage ? class->garbage_bytes : class->shallow_bytes;
}

static bool is_by_retained(const lh_top_query *query) {
  return query->sort == LH_SORT_RETAINED && !query->garbage;
}

/* All classes with objects, and their sort key; for retained bytes an upper bound. */
static bool list_top_classes(class_ranking *c, lh_ranking *all) {
  for (uint32_t i = 0, n = lh_class_count(c->snapshot); i < n; i++) {
    uint32_t class_index = c->by_name[i];
    if (count_of(c, class_index) == 0 ||
        !is_asked_for(c->query, lh_class_at(c->snapshot, class_index)->type))
      continue;
    c->n_all++;
    uint64_t key = is_by_retained(c->query)          ? c->unions.upper[class_index]
                   : c->query->sort == LH_SORT_COUNT ? count_of(c, class_index)
                                                     : shallow_of(c, class_index);
    if (!lh_rank(all, (lh_ranked){key, i, class_index})) return false;
  }
  lh_sort_ranking(all);
  return true;
}

static bool rank_classes(class_ranking *c) {
  lh_ranking all = {.limit = is_by_retained(c->query) ? 0 : c->query->limit};
  bool ok = list_top_classes(c, &all);
  for (size_t i = 0; ok && i < all.n; i++) {
    lh_ranked next = all.list[i];
    if (is_full(&c->best) && next.key < c->best.list[0].key) break;
    if (!c->query->garbage) ok = lh_exact_union(&c->unions, next.what);
    if (ok && is_by_retained(c->query)) next.key = c->unions.upper[next.what];
    ok = ok && lh_rank(&c->best, next);
  }
  lh_ranking_free(&all);
  if (ok) lh_sort_ranking(&c->best);
  return ok;
}

static bool make_class_rows(const class_ranking *c, lh_class_row **rows) {
  *rows = lh_alloc(c->best.n, sizeof **rows);
  if (!*rows) return false;
  for (size_t i = 0; i < c->best.n; i++) {
    uint32_t class_index = c->best.list[i].what;
    (*rows)[i] =
        (lh_class_row){.class_index = class_index,
                       .objects = count_of(c, class_index),
                       .shallow_bytes = shallow_of(c, class_index),
                       .retained_bytes = c->query->garbage ? 0 : c->unions.upper[class_index]};
  }
  return true;
}

int lh_rank_classes(lh_snapshot *snapshot, const lh_top_query *query, lh_class_row **rows,
                    size_t *n_rows, size_t *n_all, lh_error *error) {
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  class_ranking c = {.snapshot = snapshot, .query = query, .best = {.limit = query->limit}};
  bool ok = sort_by_name(&c) && count_instances(&c) && (query->garbage || bound_classes(&c)) &&
            rank_classes(&c) && make_class_rows(&c, rows);
  if (ok) *n_rows = c.best.n;
  if (ok) *n_all = c.n_all;
  lh_free_unions(&c.unions);
  LH_FREE_ALL(c.set_of, c.by_name, c.counts);
  lh_ranking_free(&c.best);
  return ok ? LH_OK : lh_fail_memory(error, "ranking classes");
}

int lh_top_classes(lh_snapshot *snapshot, const lh_top_query *query, lh_class_row **rows,
                   size_t *n_rows, lh_error *error) {
  size_t n_all;
  return lh_rank_classes(snapshot, query, rows, n_rows, &n_all, error);
}
