/*
** dominator_tree.c - the tree of dominators as intervals (preorder.c), and what in it belongs to
** every program, or to luaheap. 12 bytes an object.
*/
#include "analyses.h"

#include <string.h>

bool lh_tree_make(lh_tree *tree, const lh_snapshot *snapshot) {
  size_t n = (size_t)snapshot->n + 1;
  *tree = (lh_tree){.snapshot = snapshot};
  lh_id *sorted = lh_sort_by_distance(snapshot->n, snapshot->distance, &tree->n);
  uint32_t *size = lh_alloc(n, sizeof *size);
  tree->order = lh_alloc(n, sizeof *tree->order);
  tree->end = lh_alloc(n, sizeof *tree->end);
  tree->position = lh_alloc(n, sizeof *tree->position);
  bool ok = sorted && size && tree->order && tree->end && tree->position;
  if (ok)
    lh_order_tree(sorted, tree->n, snapshot->idom, size, tree->position, tree->order, tree->end);
  lh_free(sorted);
  lh_free(size);
  return ok;
}

void lh_tree_free(lh_tree *tree) {
  lh_free(tree->order);
  lh_free(tree->end);
  lh_free(tree->position);
}

bool lh_is_plumbing(const lh_snapshot *snapshot, lh_id id) {
  const lh_classes *classes = snapshot->classes;
  lh_object object;
  if (id == LH_ROOT || id == classes->registry || id == classes->globals || id == classes->loaded)
    return true;
  if (lh_is_own(snapshot, id)) return true;
  switch (lh_type_of(snapshot, id)) {
    case LH_TYPE_PROTO: return true;
    case LH_TYPE_TABLE: return lh_map_get(&classes->modules, id) != LH_NO_NUMBER;
    case LH_TYPE_THREAD: lh_object_at(snapshot, id, &object); return object.as.thread.is_main;
    default: return false;
  }
}

/* {=== What luaheap keeps ============================================================== */

static bool is_key(const lh_snapshot *snapshot, lh_value key, const char *name, bool begins) {
  const char *bytes;
  size_t n, length = strlen(name);
  return key.kind == LH_VALUE_OBJECT && lh_string_whole(snapshot, key.as.object, &bytes, &n) &&
         (begins ? n >= length : n == length) && memcmp(bytes, name, length) == 0;
}

/* Fills *found, if it is not NULL: C functions without upvalues are no objects. */
static bool get(const lh_snapshot *snapshot, lh_id table, const char *name, lh_value *found) {
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value);) {
    if (!is_key(snapshot, key, name, false)) continue;
    if (found) *found = value;
    return true;
  }
  return false;
}

/* Other modules may be called so, too. */
static bool is_luaheap(const lh_snapshot *snapshot) {
  lh_value module;
  return get(snapshot, snapshot->classes->loaded, "heap", &module) &&
         module.kind == LH_VALUE_OBJECT &&
         lh_type_of(snapshot, module.as.object) == LH_TYPE_TABLE &&
         get(snapshot, module.as.object, "snapshot", NULL) &&
         get(snapshot, module.as.object, "capture", NULL);
}

typedef struct marking {
  const lh_snapshot *snapshot;
  uint8_t *marks, mark;
  lh_id *ids; /* that are marked */
  size_t n, capacity;
} marking;

static bool add(marking *m, lh_id id) {
  if (m->marks[id] & m->mark) return true;
  if (!lh_grow(&m->ids, m->n, &m->capacity, sizeof *m->ids)) return false;
  m->marks[id] |= m->mark;
  m->ids[m->n++] = id;
  return true;
}

/* The values under the names of our modules and metatables. */
static bool add_ours(marking *m, lh_id table) {
  lh_edges it;
  lh_value key, value;
  bool ok = true;
  for (lh_entries_begin(m->snapshot, table, &it); ok && lh_entries_next(&it, &key, &value);)
    if (value.kind == LH_VALUE_OBJECT &&
        (is_key(m->snapshot, key, "heap", false) || is_key(m->snapshot, key, "heap.", true)))
      ok = add(m, value.as.object);
  return ok;
}

bool lh_mark_luaheap(const lh_snapshot *snapshot, uint8_t *marks, uint8_t mark) {
  const lh_classes *classes = snapshot->classes;
  lh_graph graph = lh_graph_of(snapshot);
  marking m = {.snapshot = snapshot, .marks = marks, .mark = mark};
  if (!is_luaheap(snapshot)) return true;
  bool ok = add_ours(&m, classes->loaded) && add_ours(&m, classes->registry);
  for (size_t i = 0; ok && i < m.n; i++)
    for (uint32_t e = graph.first_edge[m.ids[i]]; ok && e < graph.first_edge[m.ids[i] + 1]; e++)
      if (snapshot->parent[graph.edge[e]] == m.ids[i]) ok = add(&m, graph.edge[e]);
  lh_free(m.ids);
  return ok;
}

/* }=================================================================================== */
