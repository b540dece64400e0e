/*
** graph.c - the strong edges of a snapshot as a graph in compressed rows (see graph.h).
**
** One sweep over the references of all records, in the order of their sources: what is strong is
** appended as it comes, so the rows need no second pass. Weak ones are left out, ephemerons are set
** aside until reachability decides on them (ephemeron.c). 4 bytes an object and 4 an edge. Memory
** that was reserved ahead of the edges is not touched, and given back. 2.2 million objects with 6.4
** million edges: 0.27 s, nine tenths of it in the sweep.
*/
#include "graph.h"

#include "read/decode.h"
#include "read/left_out.h"

typedef struct builder {
  lh_snapshot *snapshot;
  lh_id source; /* first_edge is known up to this one */
  size_t n_edges, edge_capacity;
  size_t ephemeron_capacity, weak_capacity;
} builder;

static void end_rows_before(builder *b, lh_id source) {
  while (b->source < source) b->snapshot->first_edge[++b->source] = (uint32_t)b->n_edges;
}

/* A source's references come one after the other. */
static bool add_weak_source(builder *b, lh_id source) {
  lh_snapshot *snapshot = b->snapshot;
  size_t n = snapshot->n_weak_sources;
  if (n > 0 && snapshot->weak_sources[n - 1] == source) return true;
  if (!lh_grow(&snapshot->weak_sources, n, &b->weak_capacity, sizeof *snapshot->weak_sources))
    return false;
  snapshot->weak_sources[snapshot->n_weak_sources++] = source;
  return true;
}

static bool add_reference(builder *b, const lh_reference *reference) {
  lh_snapshot *snapshot = b->snapshot;
  if (reference->strength != LH_STRONG && !add_weak_source(b, reference->source)) return false;
  if (reference->strength == LH_STRONG) {
    end_rows_before(b, reference->source);
    if (!lh_grow(&snapshot->edge, b->n_edges, &b->edge_capacity, sizeof *snapshot->edge))
      return false;
    snapshot->edge[b->n_edges++] = reference->target;
  } else if (reference->strength == LH_EPHEMERON) {
    if (!lh_grow(&snapshot->ephemerons, snapshot->n_ephemerons, &b->ephemeron_capacity,
                 sizeof *snapshot->ephemerons))
      return false;
    snapshot->ephemerons[snapshot->n_ephemerons++] = (lh_ephemeron){
        .table = reference->source, .key = reference->key, .value = reference->target};
  }
  return true;
}

static int collect_references(builder *b, lh_error *error) {
  lh_references it;
  lh_reference batch[LH_REFERENCE_BATCH];
  size_t n_references;
  lh_references_begin(b->snapshot, LH_ROOT, b->snapshot->n, &it);
  while ((n_references = lh_references_read(&it, batch))) {
    for (size_t i = 0; i < n_references; i++)
      if (!add_reference(b, &batch[i])) return lh_fail_memory(error, "reading edges");
    if (b->n_edges + b->snapshot->n_ephemerons > UINT32_MAX - 2)
      return lh_fail(error, LH_ELIMIT, "the snapshot has more edges than can be counted (%u)",
                     UINT32_MAX - 2);
  }
  end_rows_before(b, b->snapshot->n + 1);
  return LH_OK;
}

/* {=== what is left out ============================================================== */

/* Moves the edges of a row that are kept down to `to`; returns where they end. */
static uint32_t keep_row(lh_snapshot *s, const lh_left_out *set, lh_id id, uint32_t first,
                         uint32_t to) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
    if (edge.weak) continue;
    if (!lh_is_edge_left_out(s, set, &edge)) s->edge[to++] = s->edge[first];
    first++;
  }
  return to;
}

static void keep_edges(lh_snapshot *s, const lh_left_out *set) {
  uint32_t to = 0, first = 0;
  for (lh_id id = 0; id <= s->n; id++) {
    uint32_t end = s->first_edge[id + 1];
    s->first_edge[id] = to;
    if (s->kind[id] & LH_KIND_LEFT_OUT)
      to = keep_row(s, set, id, first, to);
    else
      for (uint32_t e = first; e < end; e++)
        if (!lh_is_object_left_out(s, set, s->edge[e])) s->edge[to++] = s->edge[e];
    first = end;
  }
  s->first_edge[s->n + 1] = to;
}

static void keep_ephemerons(lh_snapshot *s, const lh_left_out *set) {
  size_t n_kept = 0;
  for (size_t i = 0; i < s->n_ephemerons; i++) {
    const lh_ephemeron *e = &s->ephemerons[i];
    lh_edge edge = lh_ephemeron_edge(e);
    if (!lh_is_edge_left_out(s, set, &edge)) s->ephemerons[n_kept++] = *e;
  }
  s->n_ephemerons = n_kept;
}

/* The rows have all strong edges, as lh_edges_next tells them while it knows of no set. */
static void leave_out(builder *b) {
  lh_snapshot *snapshot = b->snapshot;
  lh_left_out *set = snapshot->left_out;
  if (!set) return;
  snapshot->left_out = NULL;
  keep_edges(snapshot, set);
  keep_ephemerons(snapshot, set);
  snapshot->left_out = set;
  b->n_edges = snapshot->first_edge[snapshot->n + 1];
}

/* }=================================================================================== */

static bool merge_live_ephemerons(builder *b) {
  lh_snapshot *snapshot = b->snapshot;
  lh_graph graph = lh_graph_of(snapshot);
  if (!lh_live_ephemerons(&graph, snapshot->ephemerons, &snapshot->n_ephemerons)) return false;
  lh_id *fitted =
      lh_realloc(snapshot->edge, b->n_edges + snapshot->n_ephemerons, sizeof *snapshot->edge);
  if (!fitted) return false;
  snapshot->edge = fitted;
  lh_merge_ephemerons(snapshot->n, snapshot->first_edge, fitted, snapshot->ephemerons,
                      snapshot->n_ephemerons);
  for (size_t i = 0; i < snapshot->n_ephemerons; i++)
    snapshot->kind[snapshot->ephemerons[i].key] |= LH_KIND_EPHEMERON_KEY;
  return true;
}

int lh_build_graph(lh_snapshot *snapshot, lh_error *error) {
  builder b = {.snapshot = snapshot};
  snapshot->first_edge = lh_alloc((size_t)snapshot->n + 2, sizeof *snapshot->first_edge);
  if (!snapshot->first_edge) return lh_fail_memory(error, "building the graph");
  snapshot->first_edge[0] = 0;
  int code = collect_references(&b, error);
  if (code == LH_OK) leave_out(&b);
  if (code == LH_OK && !merge_live_ephemerons(&b))
    code = lh_fail_memory(error, "building the graph");
  return code;
}

void lh_drop_graph(lh_snapshot *snapshot) {
  for (lh_id id = 0; id <= snapshot->n; id++) snapshot->kind[id] &= (uint8_t)~LH_KIND_EPHEMERON_KEY;
  lh_free(snapshot->first_edge);
  lh_free(snapshot->edge);
  lh_free(snapshot->ephemerons);
  lh_free(snapshot->weak_sources);
  snapshot->first_edge = NULL;
  snapshot->edge = NULL;
  snapshot->ephemerons = NULL;
  snapshot->n_ephemerons = 0;
  snapshot->weak_sources = NULL;
  snapshot->n_weak_sources = 0;
}
