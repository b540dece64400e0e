/*
** steps.c - edges by their numbers, the best of several edges, and paths made of edges.
**
** The rows have most edges whole: a string key is the edge before its value. A numeric key, a line
** or the name of a local variable is read from the record, by iterating over the source's edges.
** For a source with more than 256, every 256th state of the iterator is saved on the way: 0.4 bytes
** a reference.
*/
#include "graph.h"
#include "read/decode.h"

enum { STRIDE = 256 };

typedef struct big_source {
  lh_id id;
  uint32_t n_saved;
  size_t first_saved; /* there is room for all states of the source */
} big_source;

struct lh_steps {
  bool tried;
  big_source *sources; /* sorted by id */
  size_t n_sources, source_capacity;
  lh_edges *saved;
};

bool lh_steps_new(lh_steps **out) {
  *out = lh_alloc_zeroed(1, sizeof **out);
  return *out != NULL;
}

static void drop_index(lh_steps *steps) {
  LH_FREE_ALL(steps->sources, steps->saved);
  *steps = (lh_steps){.tried = true};
}

void lh_steps_free(lh_steps *steps) {
  if (steps) drop_index(steps);
  lh_free(steps);
}

/* ==== The best of several edges ===================================================== */

/* How well an edge explains why its target is alive: 0 is best, 3 worst. */
static unsigned rank_of(lh_edge_kind kind, bool is_named) {
  if (kind == LH_EDGE_KEY) return 3;
  if (kind != LH_EDGE_VALUE) return 2;
  return is_named ? 0 : 1;
}

/* A long key is shown by its beginning, so no more of it is compared: many entries may have it. */
static int compare_strings(const lh_snapshot *snapshot, lh_id a, lh_id b) {
  enum { MOST = LH_DEFAULT_STRING_BYTES };
  bool is_dead = lh_is_dead(snapshot, a), is_other_dead = lh_is_dead(snapshot, b);
  if (is_dead || is_other_dead) return is_dead - is_other_dead;
  lh_kept_string x = lh_string_at(snapshot, a), y = lh_string_at(snapshot, b);
  uint64_t n = x.kept < MOST ? x.kept : MOST, m = y.kept < MOST ? y.kept : MOST;
  int order = memcmp(x.bytes, y.bytes, (size_t)(n < m ? n : m));
  return order ? order : (n > m) - (n < m);
}

static int compare_ranks(const lh_snapshot *snapshot, unsigned rank, lh_id key, unsigned other,
                         lh_id other_key) {
  if (rank != other || rank != 0) return (rank > other) - (rank < other);
  return compare_strings(snapshot, key, other_key);
}

static unsigned rank_of_edge(const lh_snapshot *snapshot, const lh_edge *edge) {
  return rank_of(edge->kind,
                 edge->key.kind == LH_VALUE_OBJECT && lh_is_string(snapshot, edge->key.as.object));
}

int lh_compare_edges(const lh_snapshot *snapshot, const lh_edge *a, const lh_edge *b) {
  return compare_ranks(snapshot, rank_of_edge(snapshot, a), a->key.as.object,
                       rank_of_edge(snapshot, b), b->key.as.object);
}

static unsigned rank_of_number(const lh_snapshot *s, uint32_t e) {
  uint8_t label = s->label[e];
  return rank_of(lh_label_kind(label), label & LH_LABEL_KEYED && lh_is_string(s, s->edge[e - 1]));
}

int lh_compare_edge_numbers(const lh_snapshot *s, uint32_t a, uint32_t b) {
  unsigned rank = rank_of_number(s, a), other = rank_of_number(s, b);
  return compare_ranks(s, rank, rank == 0 ? s->edge[a - 1] : LH_ROOT, other,
                       other == 0 ? s->edge[b - 1] : LH_ROOT);
}

/* ==== An edge by its number ========================================================= */

static bool list_sources(const lh_snapshot *s, lh_steps *steps) {
  size_t n_saved = 0;
  for (lh_id id = 0; id <= s->n; id++) {
    uint32_t n_edges = s->first_edge[id + 1] - s->first_edge[id];
    if (n_edges <= STRIDE) continue;
    if (!lh_grow(&steps->sources, steps->n_sources, &steps->source_capacity, sizeof(big_source)))
      return false;
    steps->sources[steps->n_sources++] = (big_source){.id = id, .first_saved = n_saved};
    n_saved += (n_edges - 1) / STRIDE;
  }
  steps->saved = lh_alloc(n_saved, sizeof *steps->saved);
  return steps->saved != NULL;
}

/* NULL: the source is not big, or memory ran out; then edges are found, but slowly. */
static big_source *find_big(const lh_snapshot *s, lh_id source) {
  lh_steps *steps = s->steps;
  if (!steps || s->first_edge[source + 1] - s->first_edge[source] <= STRIDE) return NULL;
  if (!steps->tried && !list_sources(s, steps)) drop_index(steps);
  steps->tried = true;
  if (!steps->saved) return NULL;
  size_t at;
  LH_LOWER_BOUND(at, steps->n_sources, steps->sources[at].id < source);
  return &steps->sources[at];
}

/* Iterates to edge `e` from the last saved state before it, and saves more states. */
static void read_edge(const lh_snapshot *s, lh_id source, uint32_t e, lh_edge *edge) {
  uint32_t offset = e - s->first_edge[source];
  big_source *big = offset >= STRIDE ? find_big(s, source) : NULL;
  lh_edges *saved = big ? &s->steps->saved[big->first_saved] : NULL, it;
  uint32_t n = big && big->n_saved < offset / STRIDE ? big->n_saved : offset / STRIDE;
  if (big && n > 0)
    it = saved[n - 1];
  else
    lh_edges_begin(s, source, &it);
  for (lh_edges before = it; lh_edges_next(&it, edge); before = it) {
    uint32_t at = lh_edges_number(&it) - s->first_edge[source];
    while (big && at / STRIDE > big->n_saved) saved[big->n_saved++] = before;
    if (at >= offset) return;
  }
}

/* The elements of a list are the first edges of its row, after a metatable. */
static uint32_t place_in_list(const lh_snapshot *s, uint32_t e, lh_id list) {
  uint32_t first = s->first_edge[list];
  return e - first + (lh_label_kind(s->label[first]) != LH_EDGE_METATABLE);
}

/* Completes an edge from the rows. False: its label needs the record. */
static bool complete_from_row(const lh_snapshot *s, uint32_t e, lh_edge *edge) {
  uint8_t label = s->label[e];
  switch (edge->kind) {
    case LH_EDGE_KEY: edge->key = lh_object_value(edge->target); return true;
    case LH_EDGE_VALUE:
      if (label & LH_LABEL_KEYED)
        edge->key = lh_object_value(lh_true_target(s, e - 1));
      else if (s->key_kinds[edge->source] & LH_IS_LIST && !(label & LH_LABEL_ODD))
        edge->key =
            (lh_value){.kind = LH_VALUE_INTEGER, .as.integer = place_in_list(s, e, edge->source)};
      else
        return false;
      return true;
    case LH_EDGE_METATABLE:
    case LH_EDGE_CONTENT:
    case LH_EDGE_PROTO: edge->ordinal = 1; return true;
    case LH_EDGE_UPVALUE: return lh_read_upvalue_label(s, e, edge);
    default: return false;
  }
}

lh_edge lh_edge_at(const lh_snapshot *s, lh_id source, uint32_t e) {
  lh_edge edge = {.source = source,
                  .target = lh_true_target(s, e),
                  .kind = lh_label_kind(s->label[e]),
                  .weak = s->label[e] & LH_LABEL_ASIDE,
                  .name = LH_NO_OBJECT,
                  .holder = LH_NO_OBJECT};
  if (edge.kind == LH_EDGE_EPHEMERON) return lh_ephemeron_edge(lh_ephemeron_of(s, e));
  if (!s->ignored && complete_from_row(s, e, &edge)) return edge;
  read_edge(s, source, e, &edge);
  return edge;
}

lh_edge lh_best_edge(const lh_snapshot *s, lh_id source, lh_id target) {
  if (lh_naming_parent(s, target) == source) return lh_edge_at(s, source, s->parent_edge[target]);
  uint32_t best = UINT32_MAX;
  for (uint32_t e = s->first_edge[source]; e < s->first_edge[source + 1]; e++)
    if (s->edge[e] == target && !(s->label[e] & LH_LABEL_ASIDE) &&
        (best == UINT32_MAX || lh_compare_edge_numbers(s, e, best) < 0))
      best = e;
  return lh_edge_at(s, source, best);
}

/* ==== Paths ========================================================================== */

/* The path to `last` along the parents; if `target` is given, with the step from there. */
static bool trace(const lh_snapshot *snapshot, const uint32_t *distance, const lh_id *parent,
                  lh_id last, lh_id target, lh_path *path) {
  size_t n = distance[last];
  path->n_steps = n + (target != LH_NO_OBJECT);
  path->steps = lh_alloc(path->n_steps, sizeof *path->steps);
  if (!path->steps) return false;
  if (target != LH_NO_OBJECT) path->steps[n] = lh_best_edge(snapshot, last, target);
  for (lh_id id = last; n > 0; id = parent[id])
    path->steps[--n] = lh_best_edge(snapshot, parent[id], id);
  return true;
}

int lh_shortest_path(lh_snapshot *snapshot, lh_id id, lh_path *path, lh_error *error) {
  int code = lh_check_paths(snapshot, id, 1, 1, error);
  if (code != LH_OK) return code;
  if (!trace(snapshot, snapshot->distance, snapshot->parent, id, LH_NO_OBJECT, path))
    return lh_fail_memory(error, "following a path");
  return LH_OK;
}

void lh_paths_free(lh_path *paths, size_t n_paths) {
  for (size_t i = 0; i < n_paths; i++) lh_free(paths[i].steps);
}

/* Limit in sizes of the file: each of a million referrers may be at the end of a list. */
enum { MOST_STEPS = 16 };

static int check_steps(const lh_snapshot *snapshot, const lh_search *search, lh_error *error) {
  uint64_t n_steps = 0, most = MOST_STEPS * (uint64_t)snapshot->size + (1u << 20);
  for (size_t i = 0; i < search->n_found; i++)
    n_steps += (uint64_t)search->distance[search->found[i]] + 1;
  if (n_steps * sizeof(lh_edge) <= most) return LH_OK;
  return lh_fail(error, LH_ELIMIT, "these %zu paths have %" PRIu64 " steps: ask for fewer paths",
                 search->n_found, n_steps);
}

static bool trace_all(const lh_snapshot *snapshot, const lh_search *search, lh_path **paths) {
  lh_path *list = lh_alloc(search->n_found, sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < search->n_found; i++) {
    if (trace(snapshot, search->distance, search->parent, search->found[i], search->watched,
              &list[i]))
      continue;
    lh_paths_free(list, i);
    lh_free(list);
    return false;
  }
  *paths = list;
  return true;
}

int lh_shortest_paths(lh_snapshot *snapshot, lh_id id, size_t k, lh_path **paths, size_t *n_paths,
                      lh_error *error) {
  int code = lh_check_paths(snapshot, id, k, 1, error);
  if (code != LH_OK) return code;
  lh_search search;
  size_t n = (size_t)snapshot->n + 1;
  uint32_t *distance = lh_alloc(n, sizeof *distance);
  lh_id *parent = lh_alloc(n, sizeof *parent);
  size_t max_found = k < n ? k : n; /* a referrer is found once */
  lh_id *found = lh_alloc(max_found, sizeof *found);
  code = LH_EMEMORY;
  if (!distance || !parent || !found) goto out;
  lh_search_begin(snapshot, &search, distance, parent);
  distance[id] = LH_AVOIDED;
  search.watched = id;
  search.found = found;
  search.max_found = max_found;
  if (!lh_search_paths(&search)) goto out;
  code = check_steps(snapshot, &search, error);
  if (code == LH_OK && !trace_all(snapshot, &search, paths)) code = LH_EMEMORY;
  if (code == LH_OK) *n_paths = search.n_found;
out:
  LH_FREE_ALL(distance, parent, found);
  return code == LH_EMEMORY ? lh_fail_memory(error, "searching paths") : code;
}
