/*
** one_key.c - maps with one entry. {vUVswKPy9RUS} is the sessions of a user by a random key, and
** would be a class of its own for each user.
**
** One such table does not tell whether its key is a field's name. But where eight tables have one
** key each, no table has the same keys as another, and what they hold is of one class, then
** keys are what varies: each is a map[string].
*/
#include "names.h"

enum { MANY = 8 };

typedef struct one_key {
  lh_id table;
  uint32_t holds; /* class */
} one_key;

/* The only table of its shape, with one key, and what it holds says what it is for? */
static bool has_one_key(const lh_namer *namer, lh_id id, uint32_t *holds) {
  const lh_classes *classes = namer->classes;
  if (classes->of[id] == UINT32_MAX) return false;
  const lh_class_entry *entry = &classes->list[classes->of[id]];
  if (!entry->one_key || entry->visible.objects + entry->visible.garbage_objects != 1) return false;
  lh_edges it;
  lh_value key, value;
  lh_entries_begin(namer->snapshot, id, &it);
  if (!lh_entries_next(&it, &key, &value) || value.kind != LH_VALUE_OBJECT) return false;
  *holds = classes->of[value.as.object];
  return *holds != UINT32_MAX && classes->list[*holds].specific;
}

static bool are_many(const lh_classes *classes) {
  size_t n = 0;
  for (size_t i = 0; i < classes->n && n < MANY; i++) n += classes->list[i].one_key;
  return n == MANY;
}

void lh_join_one_key_maps(lh_namer *namer) {
  lh_classes *classes = namer->classes;
  if (!are_many(classes)) return;
  one_key *maps = NULL, found;
  size_t n = 0, capacity = 0;
  lh_map count = {0}; /* of each class that they hold */
  for (lh_id id = 1; id <= namer->snapshot->n && !namer->failed; id++) {
    if (!has_one_key(namer, id, &found.holds)) continue;
    found.table = id;
    if (!lh_map_count(&count, found.holds) || !lh_grow(&maps, n, &capacity, sizeof *maps)) {
      namer->failed = true;
      break;
    }
    maps[n++] = found;
  }
  for (size_t i = 0; i < n && !namer->failed; i++) {
    if (lh_map_get(&count, maps[i].holds) < MANY) continue;
    uint32_t map = lh_map_of_strings(namer);
    if (map == LH_NO_NUMBER) break;
    lh_class *old = &classes->list[classes->of[maps[i].table]].visible;
    old->objects = old->garbage_objects = old->shallow_bytes = old->garbage_bytes = 0;
    classes->of[maps[i].table] = map;
  }
  lh_free(maps);
  lh_map_free(&count);
}
