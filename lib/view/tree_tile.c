/*
** tree_tile.c - what a vertex of a tree is, for people: what it is called from the one above, how
** much it is, since when; its key, and the vertex of a key.
*/
#include "tree.h"

#include <stdlib.h>
#include <string.h>

/* {=== Objects ======================================================================== */

/* How the tile above refers to the object: by its own reference, or by that of an element of the
** list that it is. */
static void find_edge(const lh_asked_tree *tree, lh_id id, uint32_t above, lh_tile *tile) {
  const lh_snapshot *s = tree->snapshot;
  const lh_id *top = tree->trees->lists.top;
  lh_id source = s->parent[id];
  tile->has_edge = source == above || (above != LH_ROOT && top[source] == top[above]);
  if (tile->has_edge) tile->edge = lh_best_edge(s, source, id);
}

static lh_tile tile_of_object(const lh_asked_tree *tree, lh_id id, uint32_t above) {
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

/* }=================================================================================== */

/* {=== Groups ========================================================================= */

/* The place of a group; LH_NO_PLACE: it has none. */
static uint32_t place_at(const lh_group_tree *groups, uint32_t at) {
  return at == 0 ? LH_NO_PLACE : groups->places.list[groups->list[at].what].at;
}

char *lh_tile_steps(const lh_snapshot *snapshot, const lh_tile *tile) {
  lh_text text = {0};
  if (!tile->path || tile->at == LH_NO_PLACE) return lh_copy_text(tile->path ? tile->path : "");
  lh_place_text_below(lh_places_of(snapshot), tile->at, tile->at_above, &text);
  return lh_text_finish(&text);
}

/* The same group of the other snapshot: its fingerprint is that of all that are the same to
** people. */
static const lh_tree_group *group_before(const lh_asked_tree *tree, uint32_t vertex) {
  if (!tree->before) return NULL;
  if (vertex == 0) return &tree->before->list[0];
  uint32_t at = lh_map_get(&tree->before->by_fingerprint, tree->groups->list[vertex].fingerprint);
  return at == LH_NO_NUMBER ? NULL : &tree->before->list[at];
}

uint64_t lh_vertex_bytes_before(const lh_asked_tree *tree, uint32_t vertex) {
  const lh_tree_group *group = group_before(tree, vertex);
  return group ? group->bytes : 0;
}

uint64_t lh_own_before(const lh_asked_tree *tree, uint32_t vertex) {
  const lh_tree_group *group = group_before(tree, vertex);
  return group ? group->shallow_bytes : 0;
}

static lh_tile tile_of_group(const lh_asked_tree *tree, uint32_t at) {
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

/* }=================================================================================== */

lh_tile lh_tile_of(const lh_asked_tree *tree, uint32_t vertex, uint32_t above) {
  lh_tile tile;
  if (tree->groups && vertex != 0)
    tile = tile_of_group(tree, vertex);
  else
    tile = tile_of_object(tree, vertex, above);
  if (vertex == 0) (void)snprintf(tile.key, sizeof tile.key, "root");
  tile.before_bytes = lh_vertex_bytes_before(tree, vertex);
  tile.bytes = lh_vertex_bytes(tree, vertex);
  tile.has_new = tree->new_bytes != NULL;
  tile.new_bytes = tile.has_new ? tree->new_bytes[vertex] : 0;
  return tile;
}

uint32_t lh_vertex_above(const lh_asked_tree *tree, uint32_t vertex) {
  if (vertex == 0) return UINT32_MAX;
  if (tree->groups) return tree->groups->list[vertex].above;
  if (tree->of_modules && lh_map_get(&tree->trees->module_of, vertex) != LH_NO_NUMBER)
    return LH_ROOT;
  lh_id above = tree->snapshot->idom[vertex], top = tree->trees->lists.top[above];
  return top == tree->trees->lists.top[vertex] ? above : top;
}

int lh_vertex_of_key(const lh_asked_tree *tree, const char *key, uint32_t *vertex,
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
