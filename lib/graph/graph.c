/*
** graph.c - turns the rows of a snapshot (read/rows.c) into the graph that decides what is alive.
**
** References that keep nothing alive are loops; so are ignored edges during an analysis. An
** ephemeron has an edge if table and key are both reachable. The search for shortest paths proves
** that if it reaches each table before the value of its key. Otherwise one traversal finds the
** least fixpoint: a vertex follows its edges, then its ephemerons whose other side was reached
** before. For dominators and retained sizes the key holds the value, not the table. Memory: 13 n,
** and 20 for each ephemeron.
*/
#include "graph.h"
#include "read/decode.h"

typedef struct leaver {
  lh_snapshot *s;
  const lh_ignored *set;
  size_t capacity;
  bool failed;
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

/* For an object that is ignored, or has ignored edges. */
static void bend_row(leaver *l, lh_id id) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(l->s, id, &it); lh_edges_next(&it, &edge);)
    if (edge.ignored) bend(l, id, lh_edges_number(&it));
}

static void bend_edges(leaver *l) {
  lh_snapshot *s = l->s;
  for (lh_id id = 0; id <= s->n && !l->failed; id++) {
    if (s->kind[id] & LH_KIND_IGNORED) {
      bend_row(l, id);
      continue;
    }
    for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++)
      if (lh_is_object_ignored(s, l->set, s->edge[e])) bend(l, id, e);
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

static int by_table(const void *a, const void *b) {
  const lh_ephemeron *x = a, *y = b;
  return LH_LESS(x->table, y->table) ?: LH_LESS(x->key, y->key);
}

static void set_alive(lh_snapshot *s, lh_ephemeron *e, bool is_alive) {
  e->is_alive = is_alive;
  s->edge[e->edge] = is_alive ? e->value : e->key;
  s->label[e->edge] = LH_EDGE_EPHEMERON | (is_alive ? 0 : LH_LABEL_ASIDE);
}

static bool is_left_out(const lh_snapshot *s, const lh_ephemeron *ephemeron) {
  lh_edge edge = lh_ephemeron_edge(ephemeron);
  return s->ignored && lh_is_edge_ignored(s, s->ignored, &edge);
}

/* The ephemerons that are not ignored, sorted by table. */
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
  LH_FREE_ALL(list, seen);
  return ok;
}

/* The step from key to value proves nothing unless the search reached the table before. */
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

int lh_build_graph(lh_snapshot *snapshot, lh_error *error) {
  leaver l = {.s = snapshot, .set = snapshot->ignored};
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

typedef struct traversal {
  const lh_graph *graph;
  uint8_t *seen;
  lh_id *worklist;
  uint32_t n_work;
  const lh_ephemeron *of_table; /* those of table v begin at first_of_table[v] */
  uint32_t *first_of_table;
  lh_ephemeron *of_key;
  uint32_t *first_of_key;
} traversal;

/* Turns counts in first[v + 2] into starts in first[v + 1], which filling moves to the ends. */
static void sum_counts(uint32_t *first, uint32_t n) {
  for (uint32_t v = 0; v <= n; v++) first[v + 2] += first[v + 1];
}

static bool index_ephemerons(traversal *t, const lh_ephemeron *all, size_t n_all) {
  uint32_t n = t->graph->n;
  t->of_table = all;
  t->first_of_table = lh_alloc_zeroed((size_t)n + 3, sizeof(uint32_t));
  t->first_of_key = lh_alloc_zeroed((size_t)n + 3, sizeof(uint32_t));
  t->of_key = lh_alloc(n_all, sizeof *all);
  if (!t->first_of_table || !t->first_of_key || !t->of_key) return false;
  for (size_t i = 0; i < n_all; i++) {
    t->first_of_table[all[i].table + 2]++;
    t->first_of_key[all[i].key + 2]++;
  }
  sum_counts(t->first_of_table, n);
  sum_counts(t->first_of_key, n);
  for (size_t i = 0; i < n_all; i++) {
    t->first_of_table[all[i].table + 1]++;
    t->of_key[t->first_of_key[all[i].key + 1]++] = all[i];
  }
  return true;
}

static void find_alive(traversal *t, lh_id v) {
  if (t->seen[v]) return;
  t->seen[v] = LH_SEEN_ALIVE;
  t->worklist[t->n_work++] = v;
}

static void traverse(traversal *t) {
  find_alive(t, LH_ROOT);
  while (t->n_work) {
    lh_id v = t->worklist[--t->n_work];
    for (uint32_t e = t->graph->first_edge[v]; e < t->graph->first_edge[v + 1]; e++)
      find_alive(t, t->graph->edge[e]);
    if (!t->of_key) continue;
    for (uint32_t i = t->first_of_table[v]; i < t->first_of_table[v + 1]; i++)
      if (t->seen[t->of_table[i].key] == LH_SEEN_ALIVE) find_alive(t, t->of_table[i].value);
    for (uint32_t i = t->first_of_key[v]; i < t->first_of_key[v + 1]; i++)
      if (t->seen[t->of_key[i].table] == LH_SEEN_ALIVE) find_alive(t, t->of_key[i].value);
  }
}

static void traversal_free(traversal *t) {
  LH_FREE_ALL(t->worklist, t->first_of_table, t->first_of_key, t->of_key);
}

bool lh_reach_alive(const lh_graph *graph, const lh_ephemeron *by_table, size_t n, uint8_t *seen) {
  traversal t = {.graph = graph, .seen = seen};
  t.worklist = lh_alloc((size_t)graph->n + 1, sizeof(lh_id));
  bool ok = t.worklist && (n == 0 || index_ephemerons(&t, by_table, n));
  if (ok) traverse(&t);
  traversal_free(&t);
  return ok;
}
