/*
** steps.c - which edge leads from one object to the next, as a path shows it.
**
** The first edge of the source's record that leads there, but rather one from a table's string key
** than any other value (of several the least key), and rather a value than a key. To find it costs
** the edges of the source, which is nothing for one path, but with a row for each of a million
** objects in one table it would be a million times half a million. So once more edges were looked
** at than the heap has, an index is made of the steps of the search tree, those that reports ask
** for: for each object that is found through a big one the number of the edge, and for each big one
** its iterator at every 64th edge. From then on a step costs 64 edges at most. 4 bytes an object
** and 1.5 for each edge of big ones; a list of a million objects in one table: 25 ms.
*/
#include "graph.h"

#include <string.h>

enum { STRIDE = 64, AT_ONCE = 16 }; /* targets that are compared in the time of one edge */

typedef struct big_source {
  lh_id id;
  size_t first_saved;
} big_source;

struct lh_steps {
  uint64_t n_scanned; /* edges, while there is no index */
  bool tried;
  uint32_t *place;     /* number of the edge; UINT32_MAX: not by a big source */
  big_source *sources; /* by id */
  size_t n_sources, source_capacity;
  lh_edges *saved;
  size_t n_saved, saved_capacity;
};

bool lh_steps_new(lh_steps **out) {
  *out = lh_alloc_zeroed(1, sizeof **out);
  return *out != NULL;
}

static void drop_index(lh_steps *steps) {
  lh_free(steps->place);
  lh_free(steps->sources);
  lh_free(steps->saved);
  steps->place = NULL;
  steps->sources = NULL;
  steps->saved = NULL;
}

void lh_steps_free(lh_steps *steps) {
  if (steps) drop_index(steps);
  lh_free(steps);
}

/* How well an edge tells a person why its target is alive: 0 is best, 3 the worst. */
static unsigned rank_of(const lh_snapshot *snapshot, const lh_edge *edge) {
  if (edge->kind == LH_EDGE_KEY) return 3;
  if (edge->kind != LH_EDGE_VALUE) return 2;
  bool named = edge->key.kind == LH_VALUE_OBJECT &&
               lh_type_of(snapshot, edge->key.as.object) == LH_TYPE_STRING;
  return named ? 0 : 1;
}

/* A long key is told by its beginning, and read no further: many entries may have it. */
static uint64_t shown_bytes(const lh_object *string) {
  uint64_t kept = string->as.string.kept;
  return kept < LH_DEFAULT_STRING_BYTES ? kept : LH_DEFAULT_STRING_BYTES;
}

int lh_compare_edges(const lh_snapshot *snapshot, const lh_edge *a, const lh_edge *b) {
  unsigned rank = rank_of(snapshot, a), other = rank_of(snapshot, b);
  if (rank != other || rank != 0) return (rank > other) - (rank < other);
  lh_object x, y;
  lh_object_at(snapshot, a->key.as.object, &x);
  lh_object_at(snapshot, b->key.as.object, &y);
  if (x.dead || y.dead) return x.dead - y.dead;
  uint64_t n = shown_bytes(&x), m = shown_bytes(&y);
  int order = memcmp(x.as.string.bytes, y.as.string.bytes, (size_t)(n < m ? n : m));
  return order ? order : (n > m) - (n < m);
}

/* {=== the index ===================================================================== */

static const lh_edges *saved_before(const lh_steps *steps, lh_id source, uint32_t number) {
  size_t at;
  LH_LOWER_BOUND(at, steps->n_sources - 1, steps->sources[at].id < source);
  return &steps->saved[steps->sources[at].first_saved + number / STRIDE];
}

static lh_edge indexed_edge(const lh_steps *steps, lh_id source, lh_id target) {
  lh_edge edge = {.source = source, .target = target};
  uint32_t number = steps->place[target];
  lh_edges it = *saved_before(steps, source, number);
  for (uint32_t i = 0; i <= number % STRIDE; i++) (void)lh_edges_next(&it, &edge);
  return edge;
}

static bool index_source(const lh_snapshot *snapshot, lh_steps *steps, lh_id source) {
  lh_edges it;
  lh_edge edge;
  if (!lh_grow(&steps->sources, steps->n_sources, &steps->source_capacity, sizeof(big_source)))
    return false;
  steps->sources[steps->n_sources++] = (big_source){source, steps->n_saved};
  lh_edges_begin(snapshot, source, &it);
  for (uint32_t number = 0;; number++) {
    if (number % STRIDE == 0) {
      if (!lh_grow(&steps->saved, steps->n_saved, &steps->saved_capacity, sizeof it)) return false;
      steps->saved[steps->n_saved++] = it;
    }
    if (!lh_edges_next(&it, &edge)) return true;
    if (edge.weak || lh_naming_parent(snapshot, edge.target) != source) continue;
    uint32_t *place = &steps->place[edge.target];
    if (*place != UINT32_MAX) {
      lh_edge best = indexed_edge(steps, source, edge.target);
      if (lh_compare_edges(snapshot, &edge, &best) >= 0) continue;
    }
    *place = number;
  }
}

static void make_index(const lh_snapshot *snapshot, lh_steps *steps) {
  bool ok = true;
  const uint32_t *first_edge = snapshot->first_edge;
  steps->tried = true;
  steps->place = lh_alloc((size_t)snapshot->n + 1, sizeof *steps->place);
  if (!steps->place) return;
  for (lh_id id = 0; id <= snapshot->n; id++) steps->place[id] = UINT32_MAX;
  for (lh_id id = 0; ok && id <= snapshot->n; id++)
    if (first_edge[id + 1] - first_edge[id] > STRIDE && lh_is_reachable(snapshot, id))
      ok = index_source(snapshot, steps, id);
  if (!ok) drop_index(steps); /* it goes without, but slowly */
}

/* }=================================================================================== */

lh_edge lh_best_edge(const lh_snapshot *snapshot, lh_id source, lh_id target) {
  lh_steps *steps = snapshot->steps;
  if (steps->place && lh_naming_parent(snapshot, target) == source &&
      steps->place[target] != UINT32_MAX)
    return indexed_edge(steps, source, target);
  lh_edges it;
  lh_edge edge, best = {.source = source, .target = target};
  uint32_t n_left = 0, first = snapshot->first_edge[source], end = snapshot->first_edge[source + 1];
  for (uint32_t e = first; e < end; e++) n_left += snapshot->edge[e] == target;
  steps->n_scanned += (end - first) / AT_ONCE;
  bool found = false;
  for (lh_edges_begin(snapshot, source, &it); n_left > 0 && lh_edges_next(&it, &edge);) {
    steps->n_scanned++;
    if (edge.target != target || edge.weak) continue;
    if (!found || lh_compare_edges(snapshot, &edge, &best) < 0) best = edge;
    found = true;
    n_left--;
  }
  if (!steps->tried && steps->n_scanned > snapshot->first_edge[snapshot->n + 1])
    make_index(snapshot, steps);
  return best;
}
