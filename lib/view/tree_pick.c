/*
** tree_pick.c - the tiles of a picture: the biggest of all that are below a vertex, as many as
** there is room for, and with each tile that is opened one for its objects themselves and one for
** the rest, so that those below a tile add up to its bytes.
**
** None is bigger than the one above it, so the biggest are found from the top down: of all that
** are next below what is shown the biggest is shown next. Each of those that are shown has the
** best of what is below it in `waiting`, sorted; a heap has the next of each.
*/
#include "tree.h"

#include <string.h>

/* What adds up. */
typedef struct tally {
  uint64_t bytes, new_bytes, before_bytes;
} tally;

typedef struct shown {
  uint32_t vertex;
  uint32_t above; /* among those shown; of the first itself */
  uint32_t depth;
  uint64_t n_below, n_shown; /* vertices directly below, and what of them is shown */
  tally whole, below, shown; /* of the tile; of all that is below; of what of that is shown */
  size_t next, end;          /* in `waiting` */
  uint32_t first_below, last_below, sibling; /* of those shown; 0: none */
} shown;

typedef struct picking {
  const lh_asked_tree *tree;
  const lh_tiles_query *query;
  shown *list;
  size_t n, capacity;
  lh_ranked *waiting;
  size_t n_waiting, waiting_capacity;
  lh_ranking next; /* of each, by the bytes of what waits there; what: its index */
  lh_below_vertex below;
  lh_tiles *out;
  size_t tile_capacity;
} picking;

/* {=== What is shown ================================================================== */

/* What is next of `at` waits for its turn; what was shown earlier has it before others. */
static bool put_next(picking *p, uint32_t at) {
  const shown *s = &p->list[at];
  if (s->next == s->end || p->waiting[s->next].key == 0) return true;
  return lh_rank_put(&p->next, (lh_ranked){p->waiting[s->next].key, at, at});
}

/* Looks at what is below, of which no more is kept than there is room for. */
static bool open_tile(picking *p, uint32_t at) {
  shown *s = &p->list[at];
  size_t limit = p->query->limit;
  if (s->depth == p->query->depth) return true;
  p->below.best.limit = limit == 0 ? 0 : limit - (p->n - 1) + 1;
  if (!lh_find_below_vertex(p->tree, s->vertex, &p->below)) return false;
  s->n_below = p->below.n;
  s->below.bytes = p->below.bytes;
  s->below.new_bytes = p->below.new_bytes;
  s->below.before_bytes = s->whole.before_bytes - lh_own_before(p->tree, s->vertex);
  s->next = p->n_waiting;
  for (size_t i = 0; i < p->below.best.n; i++) {
    if (!lh_grow(&p->waiting, p->n_waiting, &p->waiting_capacity, sizeof *p->waiting)) return false;
    p->waiting[p->n_waiting++] = p->below.best.list[i];
  }
  s->end = p->n_waiting;
  return put_next(p, at);
}

static tally tally_of(const lh_asked_tree *tree, uint32_t vertex) {
  return (tally){.bytes = lh_vertex_bytes(tree, vertex),
                 .new_bytes = tree->new_bytes ? tree->new_bytes[vertex] : 0,
                 .before_bytes = lh_vertex_bytes_before(tree, vertex)};
}

static void add_tally(tally *sum, const tally *more) {
  sum->bytes += more->bytes;
  sum->new_bytes += more->new_bytes;
  sum->before_bytes += more->before_bytes;
}

static bool show(picking *p, uint32_t vertex, uint32_t above) {
  if (!lh_grow(&p->list, p->n, &p->capacity, sizeof *p->list)) return false;
  uint32_t at = (uint32_t)p->n++;
  shown *s = &p->list[at], *up = &p->list[above];
  *s = (shown){.vertex = vertex, .above = above, .whole = tally_of(p->tree, vertex)};
  if (at == 0) return true;
  s->depth = up->depth + 1;
  up->n_shown++;
  add_tally(&up->shown, &s->whole);
  if (up->last_below)
    p->list[up->last_below].sibling = at;
  else
    up->first_below = at;
  up->last_below = at;
  return true;
}

static bool show_biggest(picking *p) {
  while (p->next.n > 0 && (p->query->limit == 0 || p->n <= p->query->limit)) {
    uint32_t above = lh_rank_take(&p->next).what;
    uint32_t vertex = p->waiting[p->list[above].next++].what, at = (uint32_t)p->n;
    if (!show(p, vertex, above) || !put_next(p, above) || !open_tile(p, at)) return false;
  }
  return true;
}

/* A single one that is left takes no more room than the rest. */
static bool show_single(picking *p) {
  size_t n = p->n;
  for (uint32_t i = 0; i < n; i++) {
    shown *s = &p->list[i];
    if (s->n_shown == 0 || s->n_below - s->n_shown != 1 || s->next == s->end) continue;
    if (p->waiting[s->next].key == 0) continue;
    if (!show(p, p->waiting[s->next].what, i)) return false;
  }
  return true;
}

/* }=================================================================================== */

/* {=== Tiles ========================================================================== */

static bool add_tile(picking *p, lh_tile tile, uint32_t depth) {
  if (!lh_grow(&p->out->list, p->out->n, &p->tile_capacity, sizeof tile)) return false;
  tile.depth = depth;
  p->out->list[p->out->n++] = tile;
  return true;
}

static bool add_vertex(picking *p, const shown *s) {
  uint32_t above = s->depth > 0 ? p->list[s->above].vertex : lh_vertex_above(p->tree, s->vertex);
  lh_tile tile = lh_tile_of(p->tree, s->vertex, above);
  tile.opens = s->n_shown > 0 || lh_has_below(p->tree, s->vertex);
  return add_tile(p, tile, s->depth);
}

/* What a tile has more than what is below it, or than what is shown of that. */
static bool add_difference(picking *p, const shown *s, lh_tile tile, const tally *whole,
                           const tally *part) {
  tile.bytes = whole->bytes - part->bytes;
  tile.has_new = p->tree->new_bytes != NULL;
  tile.new_bytes = whole->new_bytes - part->new_bytes;
  if (whole->before_bytes > part->before_bytes)
    tile.before_bytes = whole->before_bytes - part->before_bytes;
  bool is_nothing = tile.bytes == 0 && tile.before_bytes == 0;
  return s->n_shown == 0 || is_nothing || add_tile(p, tile, s->depth + 1);
}

/* The objects of a tile themselves; on top of modules, what no single one of them keeps alive. */
static bool add_own(picking *p, const shown *s) {
  lh_tile tile = {.kind = LH_TILE_SHARED, .id = LH_NO_OBJECT, .class_index = UINT32_MAX};
  tile.position = -1;
  if (!p->tree->of_modules || s->vertex != LH_ROOT) {
    lh_tile whole = lh_tile_of(p->tree, s->vertex, UINT32_MAX);
    tile.kind = LH_TILE_OWN;
    tile.id = whole.id;
    tile.class_index = whole.class_index;
    tile.objects = whole.objects;
    tile.shallow_bytes = whole.shallow_bytes;
    tile.position = whole.position;
  }
  return add_difference(p, s, tile, &s->whole, &s->below);
}

static bool add_rest(picking *p, const shown *s) {
  lh_tile tile = {.kind = LH_TILE_REST, .id = LH_NO_OBJECT, .class_index = UINT32_MAX};
  tile.objects = s->n_below - s->n_shown;
  tile.position = -1;
  return add_difference(p, s, tile, &s->below, &s->shown);
}

/* In preorder. */
static bool add_tiles(picking *p) {
  bool ok = true;
  for (uint32_t at = 0; ok;) {
    const shown *s = &p->list[at];
    ok = add_vertex(p, s) && add_own(p, s);
    if (!ok || s->first_below) {
      at = s->first_below;
      continue;
    }
    for (; ok && at != 0 && !p->list[at].sibling; at = p->list[at].above)
      ok = add_rest(p, &p->list[p->list[at].above]);
    if (at == 0) break;
    at = p->list[at].sibling;
  }
  return ok;
}

/* }=================================================================================== */

bool lh_pick_tiles(const lh_asked_tree *tree, uint32_t top, const lh_tiles_query *query,
                   lh_tiles *out) {
  picking p = {.tree = tree, .query = query, .out = out};
  bool ok =
      show(&p, top, 0) && open_tile(&p, 0) && show_biggest(&p) && show_single(&p) && add_tiles(&p);
  lh_free(p.list);
  lh_free(p.waiting);
  lh_ranking_free(&p.next);
  lh_ranking_free(&p.below.best);
  lh_free(p.below.members);
  return ok;
}
