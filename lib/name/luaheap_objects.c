/*
** luaheap_objects.c - finds luaheap's own objects in the heap, besides its marks.
**
** They are modules in package.loaded, metatables in the registry and all below. The file does not
** mark them (lh_is_own means marks alone), so they are found by name.
*/
#include "graph/graph.h"
#include "names.h"

static bool is_string_key(const lh_snapshot *snapshot, lh_value key, const char *name,
                          bool begins) {
  const char *bytes;
  size_t n, length = strlen(name);
  if (key.kind != LH_VALUE_OBJECT) return false;
  if (!begins) return lh_string_is(snapshot, key.as.object, name);
  return lh_string_whole(snapshot, key.as.object, &bytes, &n) && n >= length &&
         memcmp(bytes, name, length) == 0;
}

/* Fills *found, unless NULL. The value may be a light C function, which is no object. */
static bool get(const lh_snapshot *snapshot, lh_id table, const char *name, lh_value *found) {
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value);) {
    if (!is_string_key(snapshot, key, name, false)) continue;
    if (found) *found = value;
    return true;
  }
  return false;
}

bool lh_find_snapshot_function(const lh_snapshot *snapshot, lh_value *found) {
  lh_value module;
  return snapshot->classes && get(snapshot, snapshot->classes->loaded, "heap", &module) &&
         module.kind == LH_VALUE_OBJECT && get(snapshot, module.as.object, "snapshot", found);
}

/* Checks two functions, because another module may be called heap, too. */
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
  lh_id *ids; /* marked so far */
  size_t n, capacity;
} marking;

/* A file may refer to objects without a record. */
static bool mark_object(marking *m, lh_id id) {
  if (!lh_is_reachable(m->snapshot, id) || m->marks[id] & m->mark) return true;
  if (!lh_grow(&m->ids, m->n, &m->capacity, sizeof *m->ids)) return false;
  m->marks[id] |= m->mark;
  m->ids[m->n++] = id;
  return true;
}

static bool add_ours(marking *m, lh_id table) {
  lh_edges it;
  lh_value key, value;
  bool ok = true;
  for (lh_entries_begin(m->snapshot, table, &it); ok && lh_entries_next(&it, &key, &value);) {
    if (!is_string_key(m->snapshot, key, "heap", false) &&
        !is_string_key(m->snapshot, key, "heap.", true))
      continue;
    ok = (m->snapshot->parent[key.as.object] != table || mark_object(m, key.as.object)) &&
         (value.kind != LH_VALUE_OBJECT || mark_object(m, value.as.object));
  }
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
      if (snapshot->parent[graph.edge[e]] == m.ids[i]) ok = mark_object(&m, graph.edge[e]);
  lh_free(m.ids);
  return ok;
}
