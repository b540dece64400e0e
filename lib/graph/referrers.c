/*
** referrers.c - all that refers to an object, by an index of the references the other way round.
**
** The index is made when it is first asked for, and kept until the analysis is forgotten: for each
** object the sources of the references to it, once for each reference, 4 bytes an object and 4 a
** reference: for ten million objects with 3 each 160 MB, less than what the dominators gave back.
** The strong ones are those of the graph, which others ask for, too (lh_graph_sources). Those of
** weak tables that keep nothing alive are few: they are read anew and stand apart, 8 bytes each.
** With references left out, the graph has not all of them, and all records are read.
**
** Most objects have one referrer; but the name of a field has one in each of a million records. So
** the sources of the object that was last asked about are kept in order of their distance, too: a
** page of them then costs the edges of the objects on it.
*/
#include "graph.h"
#include "read/decode.h"

struct lh_referrer_index {
  uint32_t *first; /* n + 3; those of id are source[first[id]] to source[first[id + 1] - 1] */
  lh_id *source;
  bool is_of_graph; /* these are its edges, all others are */
  uint64_t *others; /* target << 32 | source, ascending */
  size_t n_others, other_capacity;
  lh_id asked;      /* the object that was last asked about; LH_ROOT: none */
  uint64_t *sorted; /* its sources: distance << 32 | id, without luaheap's own */
  size_t n_sorted;
};

void lh_referrer_index_free(lh_referrer_index *index) {
  if (!index) return;
  lh_free(index->first);
  lh_free(index->source);
  lh_free(index->others);
  lh_free(index->sorted);
  lh_free(index);
}

/* {=== Sorting ======================================================================== */

/* One round, by a digit of 8 bits: what has the same stays as it was. False: all have the same. */
static bool sort_round(const uint64_t *from, uint64_t *to, size_t n, unsigned shift) {
  size_t counts[256] = {0}, before = 0;
  for (size_t i = 0; i < n; i++) counts[from[i] >> shift & 0xFF]++;
  if (counts[from[0] >> shift & 0xFF] == n) return false;
  for (size_t i = 0; i < 256; i++) {
    size_t here = counts[i];
    counts[i] = before;
    before += here;
  }
  for (size_t i = 0; i < n; i++) to[counts[from[i] >> shift & 0xFF]++] = from[i];
  return true;
}

/* A few, by insertion. */
static void sort_few(uint64_t *keys, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t key = keys[i];
    size_t k = i;
    for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
    keys[k] = key;
  }
}

/* *keys may become another block. */
static bool sort_keys(uint64_t **keys, size_t n) {
  enum { FEW = 64 };
  if (n <= FEW) {
    sort_few(*keys, n);
    return true;
  }
  uint64_t *other = lh_alloc(n, sizeof *other), *sorted = *keys;
  if (!other) return false;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if (!sort_round(sorted, other, n, shift)) continue;
    uint64_t *swap = sorted;
    sorted = other;
    other = swap;
  }
  *keys = sorted;
  lh_free(other);
  return true;
}

/* }=================================================================================== */

/* {=== Making the index =============================================================== */

/* Two rounds over the same references in the same order: they are counted, then put in place. In
** the first, first[id + 2] counts those of id; in the second, first[id + 1] is where the next of
** them goes, and in the end where they end, which is where those of id + 1 begin. */
typedef struct making {
  const lh_snapshot *snapshot;
  lh_referrer_index *index;
  bool counting;
  uint64_t n;
} making;

static inline void add_reference(making *m, lh_id source, lh_id target) {
  m->n++;
  if (m->counting)
    m->index->first[target + 2]++;
  else
    m->index->source[m->index->first[target + 1]++] = source;
}

static void add_rows(making *m) {
  enum { AHEAD = 16 };
  lh_graph graph = lh_graph_of(m->snapshot);
  uint32_t n_edges = graph.first_edge[graph.n + 1];
  for (lh_id id = 0; id <= graph.n; id++)
    for (uint32_t e = graph.first_edge[id]; e < graph.first_edge[id + 1]; e++) {
      if (e + AHEAD < n_edges) lh_prefetch(&m->index->first[graph.edge[e + AHEAD] + 1]);
      add_reference(m, id, graph.edge[e]);
    }
}

static void add_records(making *m) {
  lh_references it;
  lh_reference batch[LH_REFERENCE_BATCH];
  size_t n;
  lh_references_begin(m->snapshot, LH_ROOT, m->snapshot->n, &it);
  while ((n = lh_references_read(&it, batch)))
    for (size_t i = 0; i < n; i++) add_reference(m, batch[i].source, batch[i].target);
}

static void add_all(making *m) {
  const lh_snapshot *s = m->snapshot;
  m->n = 0;
  if (m->index->is_of_graph) {
    add_rows(m); /* with the live ephemerons */
    return;
  }
  add_records(m);
  for (size_t i = 0; i < s->n_ephemerons; i++)
    add_reference(m, s->ephemerons[i].key, s->ephemerons[i].value);
}

/* What a weak table refers to that is no edge of the graph. False: out of memory. */
static bool add_others(lh_referrer_index *index, const lh_snapshot *snapshot, lh_id table) {
  lh_references it;
  lh_reference batch[LH_REFERENCE_BATCH];
  size_t n;
  lh_references_begin(snapshot, table, table, &it);
  while ((n = lh_references_read(&it, batch)))
    for (size_t i = 0; i < n; i++) {
      if (batch[i].strength == LH_STRONG) continue;
      if (!lh_grow(&index->others, index->n_others, &index->other_capacity, sizeof *index->others))
        return false;
      index->others[index->n_others++] = (uint64_t)batch[i].target << 32 | table;
    }
  return true;
}

static bool add_all_others(lh_referrer_index *index, const lh_snapshot *snapshot) {
  for (size_t i = 0; i < snapshot->n_weak_sources; i++)
    if (!add_others(index, snapshot, snapshot->weak_sources[i])) return false;
  return sort_keys(&index->others, index->n_others);
}

static int make_index(lh_snapshot *snapshot, lh_error *error) {
  size_t n = (size_t)snapshot->n + 3;
  making m = {.snapshot = snapshot, .counting = true};
  m.index = lh_alloc_zeroed(1, sizeof *m.index);
  if (!m.index) goto memory;
  m.index->is_of_graph = snapshot->left_out == NULL;
  m.index->first = lh_alloc_zeroed(n, sizeof *m.index->first);
  if (!m.index->first) goto memory;
  add_all(&m);
  if (m.n > UINT32_MAX) {
    lh_referrer_index_free(m.index);
    return lh_fail(error, LH_ELIMIT, "the snapshot has more edges than can be counted (%u)",
                   UINT32_MAX);
  }
  m.index->source = lh_alloc((size_t)m.n, sizeof *m.index->source);
  if (!m.index->source) goto memory;
  for (size_t i = 2; i < n; i++) m.index->first[i] += m.index->first[i - 1];
  m.counting = false;
  add_all(&m);
  if (m.index->is_of_graph && !add_all_others(m.index, snapshot)) goto memory;
  snapshot->referrers = m.index;
  snapshot->free_referrers = lh_referrer_index_free;
  return LH_OK;
memory:
  lh_referrer_index_free(m.index);
  return lh_fail_memory(error, "looking for referrers");
}

/* }=================================================================================== */

/* {=== In order of distance =========================================================== */

static void add_sorted(const lh_snapshot *snapshot, lh_referrer_index *index, lh_id source) {
  if (!lh_is_own(snapshot, source))
    index->sorted[index->n_sorted++] = (uint64_t)lh_distance(snapshot, source) << 32 | source;
}

static bool sort_sources(lh_snapshot *snapshot, lh_id id) {
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
  for (size_t i = first; i < end; i++) add_sorted(snapshot, index, index->source[i]);
  for (size_t i = first_other; i < end_other; i++)
    add_sorted(snapshot, index, (lh_id)index->others[i]);
  if (!sort_keys(&index->sorted, index->n_sorted)) return false;
  index->asked = id;
  return true;
}

/* }=================================================================================== */

/* {=== Asking ========================================================================= */

/* Appends the edges from source to target but for the first `skipped`, at most `most`. Returns how
** many. */
static size_t append_edges(const lh_snapshot *snapshot, lh_id source, lh_id target, size_t skipped,
                           size_t most, lh_edge *to) {
  lh_edges it;
  lh_edge edge;
  size_t n = 0;
  for (lh_edges_begin(snapshot, source, &it); n < most && lh_edges_next(&it, &edge);) {
    if (edge.target != target) continue;
    if (skipped > 0)
      skipped--;
    else
      to[n++] = edge;
  }
  return n;
}

int lh_some_referrers(lh_snapshot *snapshot, lh_id id, size_t from, size_t limit, lh_edge **edges,
                      size_t *n_edges, uint64_t *total, lh_error *error) {
  int code = lh_check_id(snapshot, id, error);
  if (code == LH_OK && !snapshot->referrers) code = make_index(snapshot, error);
  if (code != LH_OK) return code;
  if (!sort_sources(snapshot, id)) return lh_fail_memory(error, "looking for referrers");
  const uint64_t *sorted = snapshot->referrers->sorted;
  size_t n = snapshot->referrers->n_sorted, told = 0;
  if (from > n) from = n;
  if (limit == 0 || limit > n - from) limit = n - from;
  lh_edge *list = lh_alloc(limit, sizeof *list);
  if (!list) return lh_fail_memory(error, "looking for referrers");
  for (size_t at = from; at < from + limit;) {
    size_t first = at, end = at;
    while (at == from && first > 0 && sorted[first - 1] == sorted[at]) first--;
    while (end < from + limit && sorted[end] == sorted[at]) end++;
    told += append_edges(snapshot, (lh_id)sorted[at], id, at - first, end - at, &list[told]);
    at = end;
  }
  *edges = list;
  *n_edges = told;
  *total = n;
  return LH_OK;
}

int lh_referrers(lh_snapshot *snapshot, lh_id id, lh_edge **edges, size_t *n_edges,
                 lh_error *error) {
  uint64_t total;
  return lh_some_referrers(snapshot, id, 0, 0, edges, n_edges, &total, error);
}

bool lh_has_graph_sources(const lh_snapshot *snapshot) {
  return snapshot->referrers && snapshot->referrers->is_of_graph;
}

const lh_id *lh_graph_sources(const lh_snapshot *snapshot, lh_id id, size_t *n) {
  const lh_referrer_index *index = snapshot->referrers;
  *n = index->first[id + 1] - index->first[id];
  return index->source + index->first[id];
}

static void mark_by_index(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids,
                          uint8_t *refers) {
  for (size_t i = 0; i < n_ids; i++) {
    size_t n;
    const lh_id *sources = lh_graph_sources(snapshot, ids[i], &n);
    for (size_t k = 0; k < n; k++) refers[sources[k]] = 1;
  }
}

bool lh_mark_sources(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, uint8_t *refers) {
  lh_graph graph = lh_graph_of(snapshot);
  if (lh_has_graph_sources(snapshot)) {
    mark_by_index(snapshot, ids, n_ids, refers);
    return true;
  }
  uint8_t *is_one = lh_alloc_zeroed((size_t)graph.n + 1, 1);
  if (!is_one) return false;
  for (size_t i = 0; i < n_ids; i++) is_one[ids[i]] = 1;
  for (lh_id id = 0; id <= graph.n; id++)
    for (uint32_t e = graph.first_edge[id]; e < graph.first_edge[id + 1]; e++)
      refers[id] |= is_one[graph.edge[e]];
  lh_free(is_one);
  return true;
}

/* }=================================================================================== */
