/*
** tree.c - lh_find_tiles: the biggest tiles below a vertex of a tree (tree.h).
**
** Opened tiles get an OWN tile for their objects and a REST tile for hidden vertices, so that all
** tiles below add up. No vertex is bigger than the one above it, so the next tile is the biggest
** vertex directly below a shown one: `waiting` has these sorted, a heap the first of each.
**
** A table may have ten million children: one pass in memory order keeps the best hundreds.
*/
#include "tree.h"

typedef struct asked_tree {
  const lh_snapshot *snapshot;
  const lh_tree *dominators;
  const lh_trees *trees;
  const lh_group_tree *groups; /* NULL: by object */
  bool of_modules;
  const uint64_t *bytes;       /* of each object; NULL: those of the groups */
  const uint64_t *new_bytes;   /* NULL: unknown */
  const lh_group_tree *before; /* of the other snapshot, or NULL */
} asked_tree;

static uint64_t vertex_bytes(const asked_tree *tree, uint32_t vertex) {
  return tree->bytes ? tree->bytes[vertex] : tree->groups->list[vertex].bytes;
}

/* ==== The tile of a vertex ======================================================== */

/* Finds the reference from the tile above: its own, or that of an element of its list. */
static void find_edge(const asked_tree *tree, lh_id id, uint32_t above, lh_tile *tile) {
  const lh_snapshot *s = tree->snapshot;
  const lh_id *top = tree->trees->lists.top;
  lh_id source = s->parent[id];
  tile->has_edge = source == above || (above != LH_ROOT && top[source] == top[above]);
  if (tile->has_edge) tile->edge = lh_best_edge(s, source, id);
}

static lh_tile tile_of_object(const asked_tree *tree, lh_id id, uint32_t above) {
  const lh_snapshot *s = tree->snapshot;
  const lh_linked *linked = lh_list_at(&tree->trees->lists, id);
  lh_tile tile = {.id = id,
                  .class_index = id == LH_ROOT ? UINT32_MAX : lh_class_of(s, id),
                  .at = LH_NO_PLACE,
                  .objects = id != LH_ROOT,
                  .shallow_bytes = lh_shallow_bytes(s, id)};
  double positions = 0;
  uint64_t n = 0;
  if (linked) {
    tile.kind = linked->branches ? LH_TILE_TREE : LH_TILE_LIST;
    tile.objects = linked->objects;
    tile.shallow_bytes = linked->shallow_bytes;
    positions = linked->positions;
    n = linked->n_positions;
  } else {
    lh_add_position(s, id, &positions, &n);
  }
  tile.position = n > 0 ? positions / (double)n : -1;
  uint32_t module = tree->of_modules ? lh_map_get(&tree->trees->module_of, id) : LH_NO_NUMBER;
  if (module != LH_NO_NUMBER) tile.path = tree->trees->modules.list[module].name;
  if (above != UINT32_MAX && id != LH_ROOT) find_edge(tree, id, above, &tile);
  (void)snprintf(tile.key, sizeof tile.key, "0x%llx", (unsigned long long)lh_pointer_of(s, id));
  return tile;
}

/* LH_NO_PLACE: the root. */
static uint32_t place_at(const lh_group_tree *groups, uint32_t at) {
  return at == 0 ? LH_NO_PLACE : groups->places.list[groups->list[at].what].at;
}

char *lh_tile_steps(const lh_snapshot *snapshot, const lh_tile *tile) {
  lh_text text = {0};
  if (!tile->path || tile->at == LH_NO_PLACE) return lh_copy_text(tile->path ? tile->path : "");
  lh_place_text_below(lh_places_of(snapshot), tile->at, tile->at_above, &text);
  return lh_text_finish(&text);
}

/* The group with the same fingerprint in the other snapshot. */
static const lh_tree_group *group_before(const asked_tree *tree, uint32_t vertex) {
  if (!tree->before) return NULL;
  if (vertex == 0) return &tree->before->list[0];
  uint32_t at = lh_map_get(&tree->before->by_fingerprint, tree->groups->list[vertex].fingerprint);
  return at == LH_NO_NUMBER ? NULL : &tree->before->list[at];
}

static uint64_t bytes_before(const asked_tree *tree, uint32_t vertex) {
  const lh_tree_group *group = group_before(tree, vertex);
  return group ? group->bytes : 0;
}

static uint64_t own_before(const asked_tree *tree, uint32_t vertex) {
  const lh_tree_group *group = group_before(tree, vertex);
  return group ? group->shallow_bytes : 0;
}

static lh_tile tile_of_group(const asked_tree *tree, uint32_t at) {
  const lh_group_tree *groups = tree->groups;
  const lh_tree_group *group = &groups->list[at];
  uint64_t n = group->n_positions;
  lh_tile tile = {.kind = LH_TILE_GROUP,
                  .id = group->example,
                  .class_index = group->what,
                  .at = LH_NO_PLACE,
                  .objects = group->objects,
                  .shallow_bytes = group->shallow_bytes,
                  .position = n > 0 ? group->positions / (double)n : -1};
  if (groups->of_places) {
    const lh_place *place = &groups->places.list[group->what];
    tile.class_index = place->several ? UINT32_MAX : place->class_index;
    tile.path = groups->places.texts.texts[place->path];
    tile.at = place->at;
    tile.at_above = place_at(groups, group->above);
  }
  (void)snprintf(tile.key, sizeof tile.key, "%016llx", (unsigned long long)group->fingerprint);
  return tile;
}

/* `above`: vertex of the tile above; UINT32_MAX: none. */
static lh_tile tile_of(const asked_tree *tree, uint32_t vertex, uint32_t above) {
  lh_tile tile;
  if (tree->groups && vertex != 0)
    tile = tile_of_group(tree, vertex);
  else
    tile = tile_of_object(tree, vertex, above);
  if (vertex == 0) (void)snprintf(tile.key, sizeof tile.key, "root");
  tile.before_bytes = bytes_before(tree, vertex);
  tile.bytes = vertex_bytes(tree, vertex);
  tile.has_new = tree->new_bytes != NULL;
  tile.new_bytes = tile.has_new ? tree->new_bytes[vertex] : 0;
  return tile;
}

/* UINT32_MAX for the root. */
static uint32_t vertex_above(const asked_tree *tree, uint32_t vertex) {
  if (vertex == 0) return UINT32_MAX;
  if (tree->groups) return tree->groups->list[vertex].above;
  if (tree->of_modules && lh_map_get(&tree->trees->module_of, vertex) != LH_NO_NUMBER)
    return LH_ROOT;
  lh_id above = tree->snapshot->idom[vertex], top = tree->trees->lists.top[above];
  return top == tree->trees->lists.top[vertex] ? above : top;
}

static int vertex_of_key(const asked_tree *tree, const char *key, uint32_t *vertex,
                         lh_error *error) {
  *vertex = 0;
  if (!key || strcmp(key, "root") == 0) return LH_OK;
  char *end;
  unsigned long long number = strtoull(key, &end, 16);
  bool is_address = strncmp(key, "0x", 2) == 0;
  if (*end || end == key || *key == '-' || *key == '+' || *key == ' ' ||
      is_address == !!tree->groups)
    return lh_fail(error, LH_EARGUMENT, "'%s' is no key of this tree", key);
  if (tree->groups) {
    *vertex = lh_map_get(&tree->groups->by_fingerprint, number);
    if (*vertex != LH_NO_NUMBER) return LH_OK;
    return lh_fail(error, LH_ENOTFOUND, "there is no group %s in this tree", key);
  }
  *vertex = lh_find_address(tree->snapshot, number);
  if (*vertex == LH_NO_OBJECT) return lh_fail(error, LH_ENOTFOUND, "there is no object at %s", key);
  if (!lh_is_reachable(tree->snapshot, *vertex))
    return lh_fail(error, LH_ENOTFOUND, "it is garbage: it keeps nothing alive");
  return LH_OK;
}

/* ==== Children of a vertex ======================================================== */

typedef struct below_vertex {
  lh_children children;
  lh_id *members; /* scratch: a stack of list elements */
  size_t member_capacity;
} below_vertex;

typedef struct taking {
  const asked_tree *tree;
  below_vertex *below;
} taking;

static bool take_below(const taking *t, uint32_t vertex) {
  uint64_t bytes = vertex_bytes(t->tree, vertex);
  lh_children *children = &t->below->children;
  lh_ranking *best = &children->best;
  children->n++;
  children->bytes += bytes;
  if (t->tree->new_bytes) children->new_bytes += t->tree->new_bytes[vertex];
  if (best->limit > 0 && best->n == best->limit && bytes < best->list[0].key) return true;
  return lh_rank(best, (lh_ranked){bytes, vertex, vertex});
}

static bool is_element(const asked_tree *tree, lh_id id, lh_id top) {
  return tree->trees->lists.top[id] == top && id != top;
}

static bool push(below_vertex *below, size_t *n, lh_id id) {
  if (!lh_grow(&below->members, *n, &below->member_capacity, sizeof id)) return false;
  below->members[(*n)++] = id;
  return true;
}

/* For an object outside of lists. */
static bool take_children(const taking *t, lh_id id) {
  const lh_tree *tree = t->tree->dominators;
  bool ok = true;
  for (uint32_t p = lh_first_child(tree, id); ok && p < lh_end_of(tree, id); p = tree->end[p])
    ok = take_below(t, tree->order[p]);
  return ok;
}

/* The children of all elements of a list; from its middle, of the elements behind. */
static bool take_objects(const taking *t, lh_id id) {
  enum { MANY = 256 };
  const asked_tree *tree = t->tree;
  const lh_tree *dominators = tree->dominators;
  lh_id top = tree->trees->lists.top[id];
  lh_linked *linked = lh_list_at(&tree->trees->lists, top);
  size_t n = 0;
  if (!linked) return take_children(t, id);
  if (linked->objects >= MANY && tree->bytes == tree->snapshot->retained)
    return lh_take_list(linked, dominators, tree->trees, id, tree->new_bytes, &t->below->children);
  bool ok = push(t->below, &n, id);
  while (ok && n > 0) {
    lh_id at = t->below->members[--n];
    uint32_t end = lh_end_of(dominators, at);
    for (uint32_t p = lh_first_child(dominators, at); ok && p < end; p = dominators->end[p]) {
      lh_id child = dominators->order[p];
      ok = is_element(tree, child, top) ? push(t->below, &n, child) : take_below(t, child);
    }
  }
  return ok;
}

static bool take_groups(const taking *t, uint32_t vertex) {
  const lh_group_tree *groups = t->tree->groups;
  bool ok = true;
  for (uint32_t i = groups->first[vertex]; ok && i < groups->first[vertex + 1]; i++)
    ok = take_below(t, groups->below[i]);
  return ok;
}

static bool take_modules(const taking *t) {
  const lh_modules *modules = &t->tree->trees->modules;
  bool ok = true;
  for (size_t i = 0; ok && i < modules->n; i++) ok = take_below(t, modules->list[i].id);
  return ok;
}

/* At most best.limit best. False: out of memory. O(children, and elements of a list). */
static bool find_below(const asked_tree *tree, uint32_t vertex, below_vertex *below) {
  taking t = {tree, below};
  lh_children *children = &below->children;
  children->n = children->bytes = children->new_bytes = 0;
  children->best.n = 0;
  bool ok = tree->groups                            ? take_groups(&t, vertex)
            : tree->of_modules && vertex == LH_ROOT ? take_modules(&t)
                                                    : take_objects(&t, vertex);
  if (ok) lh_sort_ranking(&children->best);
  return ok;
}

/* O(1) except for lists. */
static bool has_below(const asked_tree *tree, uint32_t vertex) {
  const lh_tree *dominators = tree->dominators;
  if (tree->groups) return tree->groups->first[vertex + 1] > tree->groups->first[vertex];
  uint32_t first = lh_first_child(dominators, vertex), end = lh_end_of(dominators, vertex);
  if (first == end) return false;
  if (dominators->end[first] != end || vertex == LH_ROOT) return true;
  lh_id child = dominators->order[first];
  const lh_linked *linked = lh_list_at(&tree->trees->lists, tree->trees->lists.top[vertex]);
  if (!linked || !is_element(tree, child, linked->top)) return true;
  /* A list may consist of its elements alone. */
  return linked->top != vertex || lh_retained_bytes(tree->snapshot, vertex) > linked->shallow_bytes;
}

/* ==== Choosing tiles ============================================================== */

typedef struct tally {
  uint64_t bytes, new_bytes, before_bytes;
} tally;

typedef struct shown {
  uint32_t vertex;
  uint32_t above; /* index in the list of shown; 0 of the first */
  uint32_t depth;
  uint64_t n_below, n_shown; /* vertices directly below; the shown ones among them */
  tally whole, below, shown; /* of the tile; of all below; of the shown ones below */
  size_t next, end;          /* range in `waiting` */
  uint32_t first_below, last_below, sibling; /* among the shown; 0: none */
} shown;

typedef struct picking {
  const asked_tree *tree;
  const lh_tiles_query *query;
  shown *list;
  size_t n, capacity;
  lh_ranked *waiting;
  size_t n_waiting, waiting_capacity;
  lh_ranking next; /* key: bytes of the next waiting vertex; what: index in list */
  below_vertex below;
  lh_tiles *out;
  size_t tile_capacity;
} picking;

/* Queues the next vertex below `at`. Of equal bytes, the earlier shown tile has priority. */
static bool put_next(picking *p, uint32_t at) {
  const shown *s = &p->list[at];
  if (s->next == s->end || p->waiting[s->next].key == 0) return true;
  return lh_rank_put(&p->next, (lh_ranked){p->waiting[s->next].key, at, at});
}

/* Finds the children; keeps no more than can still be shown. */
static bool open_tile(picking *p, uint32_t at) {
  shown *s = &p->list[at];
  size_t limit = p->query->limit;
  if (s->depth == p->query->depth) return true;
  p->below.children.best.limit = limit == 0 ? 0 : limit - (p->n - 1) + 1;
  if (!find_below(p->tree, s->vertex, &p->below)) return false;
  s->n_below = p->below.children.n;
  s->below.bytes = p->below.children.bytes;
  s->below.new_bytes = p->below.children.new_bytes;
  s->below.before_bytes = s->whole.before_bytes - own_before(p->tree, s->vertex);
  s->next = p->n_waiting;
  for (size_t i = 0; i < p->below.children.best.n; i++) {
    if (!lh_grow(&p->waiting, p->n_waiting, &p->waiting_capacity, sizeof *p->waiting)) return false;
    p->waiting[p->n_waiting++] = p->below.children.best.list[i];
  }
  s->end = p->n_waiting;
  return put_next(p, at);
}

static tally tally_of(const asked_tree *tree, uint32_t vertex) {
  return (tally){.bytes = vertex_bytes(tree, vertex),
                 .new_bytes = tree->new_bytes ? tree->new_bytes[vertex] : 0,
                 .before_bytes = bytes_before(tree, vertex)};
}

static void add_tally(tally *sum, const tally *more) {
  sum->bytes += more->bytes;
  sum->new_bytes += more->new_bytes;
  sum->before_bytes += more->before_bytes;
}

static bool show_vertex(picking *p, uint32_t vertex, uint32_t above) {
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
    if (!show_vertex(p, vertex, above) || !put_next(p, above) || !open_tile(p, at)) return false;
  }
  return true;
}

/* A single hidden vertex takes no more room than the REST tile, so it is shown. */
static bool show_single(picking *p) {
  size_t n = p->n;
  for (uint32_t i = 0; i < n; i++) {
    shown *s = &p->list[i];
    if (s->n_shown == 0 || s->n_below - s->n_shown != 1 || s->next == s->end) continue;
    if (p->waiting[s->next].key == 0) continue;
    if (!show_vertex(p, p->waiting[s->next].what, i)) return false;
  }
  return true;
}

static bool add_tile(picking *p, lh_tile tile, uint32_t depth) {
  if (!lh_grow(&p->out->list, p->out->n, &p->tile_capacity, sizeof tile)) return false;
  tile.depth = depth;
  p->out->list[p->out->n++] = tile;
  return true;
}

static bool add_vertex(picking *p, const shown *s) {
  uint32_t above = s->depth > 0 ? p->list[s->above].vertex : vertex_above(p->tree, s->vertex);
  lh_tile tile = tile_of(p->tree, s->vertex, above);
  tile.opens = s->n_shown > 0 || has_below(p->tree, s->vertex);
  return add_tile(p, tile, s->depth);
}

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

/* The tile's own objects; at the top of modules, all that no single module retains. */
static bool add_own(picking *p, const shown *s) {
  lh_tile tile = {.kind = LH_TILE_SHARED, .id = LH_NO_OBJECT, .class_index = UINT32_MAX};
  tile.position = -1;
  if (!p->tree->of_modules || s->vertex != LH_ROOT) {
    lh_tile whole = tile_of(p->tree, s->vertex, UINT32_MAX);
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

static bool pick_tiles(const asked_tree *tree, uint32_t top, const lh_tiles_query *query,
                       lh_tiles *out) {
  picking p = {.tree = tree, .query = query, .out = out};
  bool ok = show_vertex(&p, top, 0) && open_tile(&p, 0) && show_biggest(&p) && show_single(&p) &&
            add_tiles(&p);
  LH_FREE_ALL(p.list, p.waiting);
  lh_ranking_free(&p.next);
  lh_ranking_free(&p.below.children.best);
  lh_free(p.below.members);
  return ok;
}

/* ==== The tree of the query ======================================================= */

/* Younger than the mark of `first`; without a `first` of this state, than the first mark. False:
** there is no such mark but the snapshot's own. */
static bool find_new(const lh_snapshot *snapshot, const lh_snapshot *first, lh_interval *out) {
  uint32_t mark = 0, n = lh_mark_count(snapshot);
  if (first && first != snapshot && first->info.state_id == snapshot->info.state_id)
    while (mark < n && !lh_is_mark(&snapshot->marks[mark], first->info.serial, first->info.time_ns))
      mark++;
  if (mark + 1 >= n) return false;
  *out = (lh_interval){lh_mark_position(snapshot, mark), UINT64_MAX};
  return true;
}

static bool make_sums(asked_tree *tree, lh_snapshot *s, lh_trees *trees,
                      const lh_tiles_query *query) {
  lh_interval since;
  if (!lh_is_ever(query->interval)) {
    tree->bytes = lh_sums_of(&trees->in, s, tree->groups, query->interval);
    if (!tree->bytes) return false;
  } else if (!tree->groups) {
    tree->bytes = s->retained;
  }
  if (find_new(s, query->first, &since))
    tree->new_bytes = lh_sums_of(&trees->since, s, tree->groups, since);
  else
    return true;
  return tree->new_bytes != NULL;
}

static int make_tree(asked_tree *tree, lh_snapshot *snapshot, const lh_tiles_query *query,
                     lh_error *error) {
  bool of_places = query->by == LH_TREE_OF_PLACES;
  bool in_groups = of_places || query->by == LH_TREE_OF_CLASSES;
  lh_trees *trees = lh_trees_of(snapshot);
  *tree = (asked_tree){.snapshot = snapshot, .trees = trees};
  tree->of_modules = query->by == LH_TREE_OF_MODULES;
  tree->dominators = lh_dominator_tree(snapshot);
  if (!trees || !tree->dominators) return lh_fail_memory(error, "making a tree");
  if (in_groups) tree->groups = lh_groups_of(snapshot, of_places);
  if (in_groups && query->before) tree->before = lh_groups_of(query->before, of_places);
  if (in_groups && (!tree->groups || (query->before && !tree->before)))
    return lh_fail_memory(error, "making a tree");
  if (tree->of_modules) {
    int code = lh_trees_find_modules(trees, snapshot, error);
    if (code != LH_OK) return code;
  }
  return make_sums(tree, snapshot, trees, query) ? LH_OK
                                                 : lh_fail_memory(error, "summing up a tree");
}

/* Of a long path, this number of vertices at each end is kept. */
enum { AT_ENDS = 12 };

static bool find_above(const asked_tree *tree, uint32_t vertex, lh_tiles *out) {
  size_t n = 0;
  for (uint32_t at = vertex_above(tree, vertex); at != UINT32_MAX; n++) at = vertex_above(tree, at);
  size_t told = n > 2 * AT_ENDS ? 2 * AT_ENDS : n, i = n;
  out->above = lh_alloc(told, sizeof *out->above);
  if (!out->above) return false;
  out->n_above = told;
  for (uint32_t at = vertex_above(tree, vertex); at != UINT32_MAX;) {
    uint32_t next = vertex_above(tree, at);
    i--;
    size_t to = i < AT_ENDS ? i : i - (n - told);
    if (i < AT_ENDS || i + AT_ENDS >= n) {
      out->above[to] = tile_of(tree, at, next);
      out->above[to].depth = (uint32_t)i;
    }
    at = next;
  }
  return true;
}

int lh_find_tiles(lh_snapshot *snapshot, const lh_tiles_query *query, lh_tiles *out,
                  lh_error *error) {
  *out = (lh_tiles){0};
  asked_tree tree;
  uint32_t top;
  bool is_classified = snapshot->retained && snapshot->classes;
  if (!is_classified || (query->before && (!query->before->retained || !query->before->classes)))
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  int code = make_tree(&tree, snapshot, query, error);
  if (code == LH_OK) code = vertex_of_key(&tree, query->of, &top, error);
  if (code != LH_OK) return code;
  out->whole_bytes = vertex_bytes(&tree, 0);
  out->n_positions = lh_position_count(snapshot);
  out->before_bytes = tree.before ? tree.before->list[0].bytes : 0;
  if (find_above(&tree, top, out) && pick_tiles(&tree, top, query, out)) return LH_OK;
  lh_tiles_free(out);
  return lh_fail_memory(error, "drawing a tree");
}

void lh_tiles_free(lh_tiles *tiles) {
  LH_FREE_ALL(tiles->list, tiles->above);
  *tiles = (lh_tiles){0};
}

const char *lh_tile_kind_name(lh_tile_kind kind) {
  static const char *const words[] = {"object", "list", "tree", "group", "shared", "own", "rest"};
  return LH_WORD_OF(words, kind);
}

const char *lh_tree_by_name(lh_tree_by by) {
  static const char *const words[] = {"object", "class", "place", "module"};
  return LH_WORD_OF(words, by);
}
