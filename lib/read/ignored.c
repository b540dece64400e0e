/*
** ignored.c - the edges and objects that an analysis ignores (lh_analyse_without).
**
** Both are sorted arrays. Every object concerned has LH_KIND_IGNORED, so most edges cost only a
** look at the flag of their source. An entry of a weak-keyed table has two edges, of the table and
** of the ephemeron; both mean the same entry here.
*/
#include "decode.h"

typedef struct left_edge {
  lh_id source, target;
  uint32_t kind, index, ordinal, key_kind;
  uint64_t key_bits;
} left_edge;

struct lh_ignored {
  left_edge *edges;
  size_t n_edges;
  lh_id *objects;
  size_t n_objects;
};

static uint64_t bits_of(lh_value value) {
  uint64_t bits = 0;
  switch (value.kind) {
    case LH_VALUE_BOOLEAN: return value.as.boolean;
    case LH_VALUE_OBJECT:
    case LH_VALUE_ABSENT: return value.as.object;
    case LH_VALUE_FLOAT: memcpy(&bits, &value.as.number, sizeof bits); return bits;
    default: return value.kind == LH_VALUE_NIL ? 0 : value.as.pointer;
  }
}

static left_edge edge_identity(const lh_edge *edge) {
  bool is_ephemeron = edge->kind == LH_EDGE_EPHEMERON;
  left_edge e = {.source = is_ephemeron ? edge->holder : edge->source,
                 .target = edge->target,
                 .kind = is_ephemeron ? LH_EDGE_VALUE : edge->kind};
  if (e.kind == LH_EDGE_VALUE || e.kind == LH_EDGE_KEY) {
    e.key_kind = edge->key.kind;
    e.key_bits = bits_of(edge->key);
  } else {
    e.index = edge->index;
    e.ordinal = edge->ordinal;
  }
  return e;
}

static int compare_edges(const void *a, const void *b) {
  return memcmp(a, b, sizeof(left_edge)); /* it has no padding */
}

_Static_assert(sizeof(left_edge) == 32, "no padding");

static int compare_ids(const void *a, const void *b) {
  lh_id x = *(const lh_id *)a, y = *(const lh_id *)b;
  return x < y ? -1 : x > y;
}

void lh_ignored_free(lh_ignored *set) {
  if (!set) return;
  LH_FREE_ALL(set->edges, set->objects, set);
}

static int check_without(const lh_snapshot *s, const lh_without *without, lh_error *error) {
  for (size_t i = 0; i < without->n_edges; i++) {
    left_edge e = edge_identity(&without->edges[i]);
    if (e.source > s->n || e.target > s->n || e.target == LH_ROOT)
      return lh_fail(error, LH_EARGUMENT, "an edge to be left out is none of the snapshot");
  }
  for (size_t i = 0; i < without->n_objects; i++)
    if (without->objects[i] > s->n || without->objects[i] == LH_ROOT)
      return lh_fail(error, LH_EARGUMENT, "an object to be left out is none of the snapshot");
  return LH_OK;
}

static void add_without(lh_ignored *set, const lh_without *without) {
  for (size_t i = 0; i < without->n_edges; i++)
    set->edges[set->n_edges++] = edge_identity(&without->edges[i]);
  for (size_t i = 0; i < without->n_objects; i++)
    set->objects[set->n_objects++] = without->objects[i];
}

int lh_ignored_new(const lh_snapshot *s, const lh_without *without, size_t n, lh_ignored **out,
                   lh_error *error) {
  size_t n_edges = 0, n_objects = 0;
  for (size_t i = 0; i < n; i++) {
    int code = check_without(s, &without[i], error);
    if (code != LH_OK) return code;
    n_edges += without[i].n_edges;
    n_objects += without[i].n_objects;
  }
  lh_ignored *set = lh_alloc_zeroed(1, sizeof *set);
  if (!set) return lh_fail_memory(error, "leaving edges out");
  set->edges = lh_alloc(n_edges, sizeof *set->edges);
  set->objects = lh_alloc(n_objects, sizeof *set->objects);
  if (!set->edges || !set->objects) {
    lh_ignored_free(set);
    return lh_fail_memory(error, "leaving edges out");
  }
  for (size_t i = 0; i < n; i++) add_without(set, &without[i]);
  qsort(set->edges, set->n_edges, sizeof *set->edges, compare_edges);
  qsort(set->objects, set->n_objects, sizeof *set->objects, compare_ids);
  *out = set;
  return LH_OK;
}

void lh_ignore(lh_snapshot *s, lh_ignored *set) {
  if (s->ignored)
    for (lh_id id = 0; id <= s->n; id++) s->kind[id] &= (uint8_t)~LH_KIND_IGNORED;
  lh_ignored_free(s->ignored);
  s->ignored = set;
  for (size_t i = 0; set && i < set->n_edges; i++) s->kind[set->edges[i].source] |= LH_KIND_IGNORED;
  for (size_t i = 0; set && i < set->n_objects; i++) s->kind[set->objects[i]] |= LH_KIND_IGNORED;
}

bool lh_ignored_has(const lh_ignored *set, const lh_edge *edge) {
  left_edge e = edge_identity(edge);
  return set->n_edges && bsearch(&e, set->edges, set->n_edges, sizeof e, compare_edges);
}

lh_id lh_ignored_source(const lh_ignored *set, size_t *at) {
  lh_id source = *at < set->n_edges ? set->edges[*at].source : LH_NO_OBJECT;
  while (*at < set->n_edges && set->edges[*at].source == source) ++*at;
  return source;
}

bool lh_is_object_ignored(const lh_snapshot *s, const lh_ignored *set, lh_id id) {
  return set->n_objects && (s->kind[id] & LH_KIND_IGNORED) &&
         bsearch(&id, set->objects, set->n_objects, sizeof id, compare_ids);
}

bool lh_is_edge_ignored(const lh_snapshot *s, const lh_ignored *set, const lh_edge *edge) {
  bool is_ephemeron = edge->kind == LH_EDGE_EPHEMERON;
  lh_id source = is_ephemeron ? edge->holder : edge->source;
  if (lh_is_object_ignored(s, set, edge->target) || lh_is_object_ignored(s, set, source) ||
      (is_ephemeron && lh_is_object_ignored(s, set, edge->source)))
    return true;
  return (s->kind[source] & LH_KIND_IGNORED) && lh_ignored_has(set, edge);
}

void lh_without_free(lh_without *without) {
  LH_FREE_ALL((void *)(uintptr_t)without->edges, (void *)(uintptr_t)without->objects);
}
