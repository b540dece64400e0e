/*
** what_if.c - what would become garbage if edges or objects were removed: each cut alone, and all.
**
** One search for each cut, over the graph of lh_analyse, in which cut edges lead back to their
** sources meanwhile. So do the edges of ephemerons, because a cut may free table or key (graph.c).
** 2.2 million objects with 6.4 million edges: 0.05 s a cut. Memory: 6 n; with ephemerons 8 n more,
** and 24 for each ephemeron.
*/
#include "graph.h"
#include "read/decode.h"

typedef struct bent_list {
  lh_aside *list;
  size_t n, capacity;
} bent_list;

typedef struct question {
  lh_snapshot *snapshot;
  const lh_ignored *cut;
  bent_list of_ephemerons, of_cut;
  lh_ephemeron *ephemerons; /* not cut; keys and tables exchanged */
  uint8_t *seen;
  uint8_t *freed_alone; /* by any cut so far */
} question;

static bool bend(question *q, bent_list *bents, uint32_t at, lh_id source) {
  if (!lh_grow(&bents->list, bents->n, &bents->capacity, sizeof *bents->list)) return false;
  bents->list[bents->n++] = (lh_aside){at, q->snapshot->edge[at]};
  q->snapshot->edge[at] = source;
  return true;
}

static void straighten(question *q, bent_list *bents) {
  for (size_t i = 0; i < bents->n; i++)
    q->snapshot->edge[bents->list[i].edge] = bents->list[i].target;
  bents->n = 0;
}

static bool bend_ephemerons(question *q) {
  const lh_snapshot *s = q->snapshot;
  for (size_t i = 0; i < s->n_ephemerons; i++) {
    const lh_ephemeron *e = &s->ephemerons[i];
    if (e->is_alive && !bend(q, &q->of_ephemerons, e->edge, e->key)) return false;
  }
  return true;
}

static bool bend_cut(question *q) {
  size_t at = 0;
  for (lh_id source; (source = lh_ignored_source(q->cut, &at)) != LH_NO_OBJECT;) {
    lh_edges it;
    lh_edge edge;
    for (lh_edges_begin(q->snapshot, source, &it); lh_edges_next(&it, &edge);)
      if (!edge.weak && edge.kind != LH_EDGE_EPHEMERON && lh_ignored_has(q->cut, &edge) &&
          !bend(q, &q->of_cut, lh_edges_number(&it), source))
        return false;
  }
  return true;
}

static size_t take_ephemerons(question *q) {
  const lh_snapshot *s = q->snapshot;
  size_t n = 0;
  for (size_t i = 0; i < s->n_ephemerons; i++) {
    const lh_ephemeron *e = &s->ephemerons[i];
    lh_edge edge = lh_ephemeron_edge(e);
    if (e->is_alive && !lh_ignored_has(q->cut, &edge))
      q->ephemerons[n++] = (lh_ephemeron){.table = e->key, .key = e->table, .value = e->value};
  }
  return n;
}

static void sum_freed(const question *q, lh_freed *freed, lh_freed *only_together) {
  const lh_snapshot *s = q->snapshot;
  for (lh_id id = 1; id <= s->n; id++) {
    if (q->seen[id] == LH_SEEN_ALIVE || !lh_is_reachable(s, id)) continue;
    uint64_t bytes = lh_shallow_bytes(s, id);
    freed->objects++;
    freed->bytes += bytes;
    if (only_together && !q->freed_alone[id]) {
      only_together->objects++;
      only_together->bytes += bytes;
    }
    q->freed_alone[id] |= !only_together;
  }
}

static int search(question *q, const lh_without *cuts, size_t n, lh_error *error) {
  lh_ignored *set;
  lh_graph graph = lh_graph_of(q->snapshot);
  int code = lh_ignored_new(q->snapshot, cuts, n, &set, error);
  if (code != LH_OK) return code;
  q->cut = set;
  memset(q->seen, 0, (size_t)q->snapshot->n + 1);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < cuts[i].n_objects; k++) q->seen[cuts[i].objects[k]] = LH_SEEN_GONE;
  bool ok = bend_cut(q) && lh_reach_alive(&graph, q->ephemerons, take_ephemerons(q), q->seen);
  straighten(q, &q->of_cut);
  lh_ignored_free(set);
  return ok ? LH_OK : lh_fail_memory(error, "searching what is left");
}

/* For one cut alone, or with `only_together` for all cuts. */
static int answer_question(question *q, const lh_without *cuts, size_t n, lh_id id, lh_freed *freed,
                           lh_freed *only_together, lh_error *error) {
  *freed = (lh_freed){0};
  int code = search(q, cuts, n, error);
  if (code != LH_OK) return code;
  sum_freed(q, freed, only_together);
  freed->frees_it = id != LH_NO_OBJECT && q->seen[id] != LH_SEEN_ALIVE;
  return LH_OK;
}

int lh_what_if(lh_snapshot *snapshot, const lh_without *cuts, size_t n_cuts, lh_id id,
               lh_freed *alone, lh_freed *together, lh_freed *only_together, lh_error *error) {
  question q = {.snapshot = snapshot};
  size_t n = (size_t)snapshot->n + 1;
  int code = LH_OK;
  if (!snapshot->retained)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been analysed");
  if (id != LH_NO_OBJECT) code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  *only_together = (lh_freed){0};
  q.seen = lh_alloc(n, 1);
  q.freed_alone = lh_alloc_zeroed(n, 1);
  q.ephemerons = lh_alloc(snapshot->n_ephemerons, sizeof *q.ephemerons);
  if (!q.seen || !q.freed_alone || !q.ephemerons || !bend_ephemerons(&q))
    code = lh_fail_memory(error, "preparing cuts");
  for (size_t i = 0; code == LH_OK && i < n_cuts; i++)
    code = answer_question(&q, &cuts[i], 1, id, &alone[i], NULL, error);
  if (code == LH_OK) code = answer_question(&q, cuts, n_cuts, id, together, only_together, error);
  straighten(&q, &q.of_ephemerons);
  LH_FREE_ALL(q.of_ephemerons.list, q.of_cut.list, q.ephemerons, q.seen, q.freed_alone);
  return code;
}
