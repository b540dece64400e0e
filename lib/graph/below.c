/*
** below.c - finds the objects below an object for a picture, a few levels deep.
**
** Breadth first, so an object is shown at its nearest place. Each object shows its references to
** the greatest retained sizes. Cost: the edges of the shown objects.
*/
#include "graph.h"
#include "read/decode.h"

/* A reference to show: one edge, or two through an upvalue. */
typedef struct step {
  lh_edge edges[2];
  size_t n_edges;
  lh_id target;
} step;

typedef struct finder {
  lh_snapshot *snapshot;
  const lh_below_query *query;
  lh_below *out;
  size_t path_capacity, rest_capacity;
  uint8_t *seen; /* a bit for each object */
  step *best;    /* sorted, biggest first */
  size_t n_best;
  uint64_t n_steps; /* of the current object */
} finder;

/* Names, code and weak references are not part of a data structure. */
static bool is_shown(const lh_edge *edge) {
  switch (edge->kind) {
    case LH_EDGE_KEY:
    case LH_EDGE_PROTO:
    case LH_EDGE_CONSTANT:
    case LH_EDGE_NESTED:
    case LH_EDGE_SOURCE:
    case LH_EDGE_DEBUG_NAME:
    case LH_EDGE_OPEN_UPVALUE: return false;
    default: return !edge->weak;
  }
}

static step step_of(const lh_snapshot *snapshot, const lh_edge *edge) {
  step s = {.edges = {*edge}, .n_edges = 1, .target = edge->target};
  lh_id content =
      edge->kind == LH_EDGE_UPVALUE ? lh_content_of_upvalue(snapshot, edge->target) : LH_NO_OBJECT;
  if (content == LH_NO_OBJECT) return s;
  s.edges[s.n_edges++] = lh_edge_at(snapshot, edge->target, snapshot->first_edge[edge->target]);
  s.target = content;
  return s;
}

static void consider(finder *f, const step *s) {
  uint64_t bytes = lh_retained_bytes(f->snapshot, s->target);
  size_t at = f->n_best;
  f->n_steps++;
  while (at > 0 && lh_retained_bytes(f->snapshot, f->best[at - 1].target) < bytes) at--;
  if (at == f->query->width) return;
  if (f->n_best < f->query->width) f->n_best++;
  memmove(f->best + at + 1, f->best + at, (f->n_best - at - 1) * sizeof *f->best);
  f->best[at] = *s;
}

static void find_best(finder *f, lh_id id) {
  lh_edges it;
  lh_edge edge;
  f->n_best = 0;
  f->n_steps = 0;
  for (lh_edges_begin(f->snapshot, id, &it); lh_edges_next(&it, &edge);) {
    step s;
    if (!is_shown(&edge)) continue;
    s = step_of(f->snapshot, &edge);
    consider(f, &s);
  }
}

static bool add_path(finder *f, const step *s) {
  lh_below *out = f->out;
  if (!lh_grow(&out->paths, out->n_paths, &f->path_capacity, sizeof *out->paths)) return false;
  lh_path *path = &out->paths[out->n_paths];
  path->steps = lh_alloc(s->n_edges, sizeof *path->steps);
  if (!path->steps) return false;
  memcpy(path->steps, s->edges, s->n_edges * sizeof *path->steps);
  path->n_steps = s->n_edges;
  out->n_paths++;
  return true;
}

static bool add_rest(finder *f, lh_id id, uint64_t n) {
  lh_below *out = f->out;
  if (!lh_grow(&out->rests, out->n_rests, &f->rest_capacity, sizeof *out->rests)) return false;
  out->rests[out->n_rests++] = (lh_below_rest){.id = id, .references = n};
  return true;
}

static bool see(finder *f, lh_id id) {
  uint8_t bit = (uint8_t)(1u << (id & 7));
  bool first = !(f->seen[id >> 3] & bit);
  f->seen[id >> 3] |= bit;
  return first;
}

static bool find_levels(finder *f, lh_id id) {
  lh_id *queue = NULL;
  size_t n = 0, capacity = 0, at = 0;
  bool good = lh_grow(&queue, n, &capacity, sizeof *queue);
  if (good) queue[n++] = id;
  (void)see(f, id);
  for (uint32_t depth = 0; good && depth < f->query->depth; depth++) {
    for (size_t end = n; good && at < end; at++) {
      find_best(f, queue[at]);
      for (size_t k = 0; good && k < f->n_best; k++) {
        good = add_path(f, &f->best[k]);
        if (!good || !see(f, f->best[k].target)) continue;
        good = lh_grow(&queue, n, &capacity, sizeof *queue);
        if (good) queue[n++] = f->best[k].target;
      }
      if (good && f->n_steps > f->n_best) good = add_rest(f, queue[at], f->n_steps - f->n_best);
    }
  }
  lh_free(queue);
  return good;
}

int lh_find_below(lh_snapshot *snapshot, lh_id id, const lh_below_query *query, lh_below *out,
                  lh_error *error) {
  *out = (lh_below){.id = id};
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  if (query->width == 0 || query->width > LH_MOST_WIDTH)
    return lh_fail(error, LH_EARGUMENT, "the width of a picture is 1 to %d", LH_MOST_WIDTH);
  finder f = {.snapshot = snapshot, .query = query, .out = out};
  f.seen = lh_alloc_zeroed(((size_t)snapshot->n >> 3) + 1, 1);
  f.best = lh_alloc(query->width + 1, sizeof *f.best);
  bool good = f.seen && f.best && find_levels(&f, id);
  LH_FREE_ALL(f.seen, f.best);
  if (good) return LH_OK;
  lh_below_free(out);
  return lh_fail_memory(error, "drawing what is below an object");
}

void lh_below_free(lh_below *below) {
  lh_paths_free(below->paths, below->n_paths);
  LH_FREE_ALL(below->paths, below->rests);
  *below = (lh_below){.id = below->id};
}
