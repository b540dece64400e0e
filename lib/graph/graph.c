/*
** graph.c - the rows of a snapshot (read/rows.c) as the graph of what keeps what alive.
**
** The rows are a graph already, in which references that keep nothing alive are loops. What is left
** out by an analysis becomes a loop, too, as long as that analysis lasts; and of the ephemerons
** those keep their edges whose table and key are both reachable. The search for shortest paths
** tells that itself, if it meets each table before what is under a key; else ephemeron.c does.
*/
#include "graph.h"

#include "read/decode.h"
#include "read/left_out.h"

#include <stdlib.h>

/* {=== what is left out ============================================================== */

typedef struct leaver {
  lh_snapshot *s;
  const lh_left_out *set;
  size_t capacity;
  bool failed; /* out of memory */
} leaver;

static void bend(leaver *l, lh_id source, uint32_t e) {
  lh_snapshot *s = l->s;
  if (s->label[e] & LH_LABEL_ASIDE) return;
  if (!lh_grow(&s->bent, s->n_bent, &l->capacity, sizeof *s->bent)) {
    l->failed = true;
    return;
  }
  s->bent[s->n_bent++] = (lh_aside){e, s->edge[e]};
  s->edge[e] = source;
  s->label[e] |= LH_LABEL_ASIDE;
}

/* The edges of an object that is left out, or of which some are. */
static void bend_row(leaver *l, lh_id id) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(l->s, id, &it); lh_edges_next(&it, &edge);)
    if (edge.left_out) bend(l, id, lh_edges_number(&it));
}

static void bend_edges(leaver *l) {
  lh_snapshot *s = l->s;
  for (lh_id id = 0; id <= s->n && !l->failed; id++) {
    if (s->kind[id] & LH_KIND_LEFT_OUT) {
      bend_row(l, id);
      continue;
    }
    for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++)
      if (lh_is_object_left_out(s, l->set, s->edge[e])) bend(l, id, e);
  }
}

static void straighten(lh_snapshot *s) {
  for (size_t i = 0; i < s->n_bent; i++) {
    s->edge[s->bent[i].edge] = s->bent[i].target;
    s->label[s->bent[i].edge] &= (uint8_t)~LH_LABEL_ASIDE;
  }
  lh_free(s->bent);
  s->bent = NULL;
  s->n_bent = 0;
}

/* }=================================================================================== */

/* {=== ephemerons ==================================================================== */

static int by_table(const void *a, const void *b) {
  const lh_ephemeron *x = a, *y = b;
  if (x->table != y->table) return x->table < y->table ? -1 : 1;
  return (x->key > y->key) - (x->key < y->key);
}

static void set_alive(lh_snapshot *s, lh_ephemeron *e, bool is_alive) {
  e->is_alive = is_alive;
  s->edge[e->edge] = is_alive ? e->value : e->key;
  s->label[e->edge] = LH_EDGE_EPHEMERON | (is_alive ? 0 : LH_LABEL_ASIDE);
}

static bool is_left_out(const lh_snapshot *s, const lh_ephemeron *ephemeron) {
  lh_edge edge = lh_ephemeron_edge(ephemeron);
  return s->left_out && lh_is_edge_left_out(s, s->left_out, &edge);
}

/* Those that are not left out, in the order of their tables. */
static lh_ephemeron *select_ephemerons(const lh_snapshot *s, size_t *n) {
  lh_ephemeron *list = lh_alloc(s->n_ephemerons, sizeof *list);
  *n = 0;
  for (size_t i = 0; list && i < s->n_ephemerons; i++)
    if (!is_left_out(s, &s->ephemerons[i])) list[(*n)++] = s->ephemerons[i];
  if (list) qsort(list, *n, sizeof *list, by_table);
  return list;
}

bool lh_wake_ephemerons(lh_snapshot *s) {
  size_t n;
  lh_graph graph = lh_graph_of(s);
  for (size_t i = 0; i < s->n_ephemerons; i++) set_alive(s, &s->ephemerons[i], false);
  lh_ephemeron *list = select_ephemerons(s, &n);
  uint8_t *seen = lh_alloc_zeroed((size_t)s->n + 1, 1);
  bool ok = list && seen && lh_reach_alive(&graph, list, n, seen);
  for (size_t i = 0; ok && i < s->n_ephemerons; i++) {
    lh_ephemeron *e = &s->ephemerons[i];
    set_alive(s, e, seen[e->table] && seen[e->key] && !is_left_out(s, e));
  }
  lh_free(list);
  lh_free(seen);
  return ok;
}

/* Its step to a value is no proof unless the table is met before it. */
static bool is_proved(const lh_snapshot *s, const lh_ephemeron *e) {
  const uint32_t *distance = s->distance;
  if (distance[e->table] == LH_UNREACHED) return false;
  return distance[e->table] <= distance[e->key] || s->parent_edge[e->value] != e->edge;
}

bool lh_prove_ephemerons(lh_snapshot *s) {
  for (size_t i = 0; i < s->n_ephemerons; i++) {
    lh_ephemeron *e = &s->ephemerons[i];
    if (!e->is_alive) continue;
    if (s->distance[e->key] == LH_UNREACHED)
      set_alive(s, e, false);
    else if (!is_proved(s, e))
      return false;
  }
  return true;
}

/* }=================================================================================== */

int lh_build_graph(lh_snapshot *snapshot, lh_error *error) {
  leaver l = {.s = snapshot, .set = snapshot->left_out};
  if (l.set) bend_edges(&l);
  if (l.failed) return lh_fail_memory(error, "building the graph");
  for (size_t i = 0; i < snapshot->n_ephemerons; i++)
    set_alive(snapshot, &snapshot->ephemerons[i], !is_left_out(snapshot, &snapshot->ephemerons[i]));
  return LH_OK;
}

void lh_drop_graph(lh_snapshot *snapshot) {
  straighten(snapshot);
  for (size_t i = 0; i < snapshot->n_ephemerons; i++)
    set_alive(snapshot, &snapshot->ephemerons[i], false);
}
