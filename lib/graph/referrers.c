/*
** referrers.c - all referrers of an object, by an index of reversed references.
**
** The index is made on the first question: 4 bytes an object and 4 a reference that keeps something
** alive, 160 MB for ten million objects with 3 references each. Weak and ignored references are few
** and in a separate list. A field's name may have a million referrers, so the references to the
** last object asked about are kept sorted by distance: a page of them costs only its own length.
*/
#include "graph.h"
#include "ranking.h"
#include "read/decode.h"

enum { HINT = 16 }; /* the source of every HINT-th edge is kept */

struct lh_referrer_index {
  uint32_t *first; /* n + 3; id has edge[first[id]] to edge[first[id + 1] - 1] */
  uint32_t *edge;
  lh_id *hint;
  uint64_t *others; /* weak and ignored: target << 32 | edge, ascending */
  size_t n_others;
  lh_id asked;      /* the last object asked about; LH_ROOT: none */
  uint64_t *sorted; /* its edges: distance << 32 | number, without luaheap's own */
  size_t n_sorted;
};

void lh_referrer_index_free(lh_referrer_index *index) {
  if (!index) return;
  LH_FREE_ALL(index->first, index->edge, index->hint, index->others, index->sorted, index);
}

/* first[id + 2] counts the edges of id; then first[id + 1] is the next free place of id, and at the
** end the start of id + 1. */
static bool index_edges(lh_referrer_index *index, const lh_snapshot *s) {
  enum { AHEAD = 16 };
  uint32_t n_edges = s->first_edge[s->n + 1], *first = index->first;
  for (uint32_t e = 0; e < n_edges; e++) first[s->edge[e] + 2] += !(s->label[e] & LH_LABEL_ASIDE);
  for (size_t i = 2; i < (size_t)s->n + 3; i++) first[i] += first[i - 1];
  index->edge = lh_alloc(first[s->n + 2], sizeof *index->edge);
  if (!index->edge) return false;
  for (uint32_t e = 0; e < n_edges; e++) {
    if (e + AHEAD < n_edges) lh_prefetch(&first[s->edge[e + AHEAD] + 1]);
    if (!(s->label[e] & LH_LABEL_ASIDE)) index->edge[first[s->edge[e] + 1]++] = e;
  }
  return true;
}

static bool index_sources(lh_referrer_index *index, const lh_snapshot *s) {
  uint32_t n_edges = s->first_edge[s->n + 1];
  lh_id id = 0;
  index->hint = lh_alloc((size_t)n_edges / HINT + 1, sizeof *index->hint);
  if (!index->hint) return false;
  for (uint64_t e = 0; e < n_edges; e += HINT) {
    while (s->first_edge[id + 1] <= e) id++;
    index->hint[e / HINT] = id;
  }
  return true;
}

static bool index_others(lh_referrer_index *index, const lh_snapshot *s) {
  size_t n = 0;
  index->others = lh_alloc(s->n_aside + s->n_bent, sizeof *index->others);
  if (!index->others) return false;
  for (size_t i = 0; i < s->n_aside; i++)
    index->others[n++] = (uint64_t)s->aside[i].target << 32 | s->aside[i].edge;
  for (size_t i = 0; i < s->n_bent; i++)
    if (lh_label_kind(s->label[s->bent[i].edge]) != LH_EDGE_EPHEMERON)
      index->others[n++] = (uint64_t)s->bent[i].target << 32 | s->bent[i].edge;
  index->n_others = n;
  return lh_sort_words(&index->others, n);
}

static int make_index(lh_snapshot *snapshot, lh_error *error) {
  lh_referrer_index *index = lh_alloc_zeroed(1, sizeof *index);
  if (index) index->first = lh_alloc_zeroed((size_t)snapshot->n + 3, sizeof *index->first);
  if (!index || !index->first || !index_edges(index, snapshot) || !index_sources(index, snapshot) ||
      !index_others(index, snapshot)) {
    lh_referrer_index_free(index);
    return lh_fail_memory(error, "looking for referrers");
  }
  snapshot->referrers = index;
  snapshot->free_referrers = lh_referrer_index_free;
  return LH_OK;
}

lh_id lh_source_of_edge(const lh_snapshot *snapshot, uint32_t e) {
  lh_id first = snapshot->referrers->hint[e / HINT], id;
  lh_id end = snapshot->n + 1; /* the next hint is a closer bound */
  if ((uint64_t)(e / HINT + 1) * HINT < snapshot->first_edge[end])
    end = snapshot->referrers->hint[e / HINT + 1] + 1;
  LH_LOWER_BOUND(id, end - first, snapshot->first_edge[first + id + 1] <= e);
  return first + id;
}

static void add_sorted(const lh_snapshot *snapshot, lh_referrer_index *index, uint32_t e) {
  lh_id source = lh_source_of_edge(snapshot, e);
  if (!lh_is_own(snapshot, source))
    index->sorted[index->n_sorted++] = (uint64_t)lh_distance(snapshot, source) << 32 | e;
}

static bool sort_edges(lh_snapshot *snapshot, lh_id id) {
  lh_referrer_index *index = snapshot->referrers;
  if (index->asked == id) return true;
  size_t first = index->first[id], end = index->first[id + 1];
  size_t first_other = 0, end_other = 0;
  LH_LOWER_BOUND(first_other, index->n_others, index->others[first_other] >> 32 < id);
  LH_LOWER_BOUND(end_other, index->n_others, index->others[end_other] >> 32 <= id);
  lh_free(index->sorted);
  index->asked = LH_ROOT;
  index->sorted = lh_alloc(end - first + end_other - first_other, sizeof *index->sorted);
  index->n_sorted = 0;
  if (!index->sorted) return false;
  for (size_t i = first; i < end; i++) add_sorted(snapshot, index, index->edge[i]);
  for (size_t i = first_other; i < end_other; i++)
    add_sorted(snapshot, index, (uint32_t)index->others[i]);
  if (!lh_sort_words(&index->sorted, index->n_sorted)) return false;
  index->asked = id;
  return true;
}

int lh_some_referrers(lh_snapshot *snapshot, lh_id id, size_t from, size_t limit, lh_edge **edges,
                      size_t *n_edges, uint64_t *total, lh_error *error) {
  int code = lh_check_id(snapshot, id, error);
  if (code == LH_OK && !snapshot->referrers) code = make_index(snapshot, error);
  if (code != LH_OK) return code;
  if (!sort_edges(snapshot, id)) return lh_fail_memory(error, "looking for referrers");
  const lh_referrer_index *index = snapshot->referrers;
  if (from > index->n_sorted) from = index->n_sorted;
  if (limit == 0 || limit > index->n_sorted - from) limit = index->n_sorted - from;
  lh_edge *list = lh_alloc(limit, sizeof *list);
  if (!list) return lh_fail_memory(error, "looking for referrers");
  for (size_t i = 0; i < limit; i++) {
    uint32_t e = (uint32_t)index->sorted[from + i];
    list[i] = lh_edge_at(snapshot, lh_source_of_edge(snapshot, e), e);
  }
  *edges = list;
  *n_edges = limit;
  *total = index->n_sorted;
  return LH_OK;
}

int lh_referrers(lh_snapshot *snapshot, lh_id id, lh_edge **edges, size_t *n_edges,
                 lh_error *error) {
  uint64_t total;
  return lh_some_referrers(snapshot, id, 0, 0, edges, n_edges, &total, error);
}

bool lh_has_edges_to(const lh_snapshot *snapshot) {
  return snapshot->referrers;
}

const uint32_t *lh_edges_to(const lh_snapshot *snapshot, lh_id id, size_t *n) {
  const lh_referrer_index *index = snapshot->referrers;
  *n = index->first[id + 1] - index->first[id];
  return index->edge + index->first[id];
}

void lh_mark_sources(const lh_snapshot *s, const lh_id *ids, size_t n_ids, const uint8_t *is_one,
                     uint8_t *refers) {
  enum { FEW = 16 }; /* a sixteenth of the objects: then one pass over all edges is cheaper */
  if (lh_has_edges_to(s) && n_ids < s->n / FEW) {
    for (size_t i = 0; i < n_ids; i++) {
      size_t n;
      const uint32_t *edges = lh_edges_to(s, ids[i], &n);
      for (size_t k = 0; k < n; k++) refers[lh_source_of_edge(s, edges[k])] = 1;
    }
    return;
  }
  const lh_id *edge = s->edge;
  for (lh_id id = 0; id <= s->n; id++)
    for (uint32_t e = s->first_edge[id], end = s->first_edge[id + 1]; e < end; e++)
      if (is_one[edge[e]] && !(s->label[e] & LH_LABEL_ASIDE)) refers[id] = 1;
}
