/*
** shapes.c - classes of plain tables by their keys: {id, name, next}, array, map[string], {}.
**
** Tables with the same keys are one class. A key set is looked up by the sorted ids of its keys, so
** a million tables of one shape make one text. {vUVswKPy9RUS} may be the sessions of a user under a
** random key, and would be a class for each user. But if eight tables have one key each, all
** different, with values of one class, then the keys vary: each is a map[string].
*/
#include "names.h"

enum { MAX_KEYS = 64, SHOWN_KEYS = 6, SHOWN_OF_MANY = 4 };

typedef struct keys {
  lh_id names[MAX_KEYS];         /* in the order of the record */
  size_t n_names;                /* may be greater than MAX_KEYS */
  bool has_strings, has_objects; /* strings that are no names; objects */
  unsigned kinds;                /* LH_HAS_INTEGERS ... */
} keys;

static void find_keys(lh_namer *namer, lh_id table, keys *k) {
  const lh_snapshot *s = namer->snapshot;
  k->n_names = 0;
  k->has_strings = k->has_objects = false;
  k->kinds = s->key_kinds[table] & LH_KINDS_OF_KEYS;
  for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1]; e++) {
    lh_id key = s->edge[e];
    if (lh_label_kind(s->label[e]) != LH_EDGE_KEY) continue;
    if ((s->kind[key] & LH_KIND_TYPE) != LH_TYPE_STRING) {
      k->has_objects = true;
    } else if (!(s->key_kinds[key] & LH_IS_NAME)) {
      k->has_strings = true;
    } else {
      if (k->n_names < MAX_KEYS) k->names[k->n_names] = key;
      k->n_names++;
    }
  }
}

enum generic { RECORD, EMPTY, ARRAY, MAP_INTEGER, MAP_OBJECT, MAP_STRING, MAP };
static const char *const generic_names[] = {NULL,          "{}",          "array", "map[integer]",
                                            "map[object]", "map[string]", "map"};

static enum generic generic_class(const keys *k) {
  bool has_strings = k->n_names > 0 || k->has_strings, has_integers = k->kinds & LH_HAS_INTEGERS;
  bool has_objects = k->has_objects || k->kinds & LH_HAS_POINTERS;
  bool has_others = k->kinds & LH_HAS_OTHERS;
  int kinds = has_strings + has_integers + has_objects + has_others;
  if (kinds == 0) return EMPTY;
  if (kinds == 1 && has_integers) return k->kinds & LH_IS_SPARSE ? MAP_INTEGER : ARRAY;
  if (kinds == 1 && has_objects) return MAP_OBJECT;
  if (has_objects || has_others) return MAP;
  if (k->has_strings || k->n_names > MAX_KEYS) return has_integers ? MAP : MAP_STRING;
  return RECORD;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "{id, name, next}", with `shown` of the names. */
static lh_text_id add_fields(lh_namer *namer, const keys *k, const char *const *names,
                             size_t shown) {
  lh_text text = {0};
  for (size_t i = 0; i < shown; i++) lh_text_format(&text, "%s%s", i ? ", " : "{", names[i]);
  if (shown < k->n_names) lh_text_format(&text, ", ... %zu more", k->n_names - shown);
  lh_text_string(&text, k->kinds & LH_HAS_INTEGERS ? ", [n]}" : "}");
  return lh_namer_text(namer, &text);
}

/* The hash of the keys' contents is the same in any snapshot. */
static uint32_t make_record(lh_namer *namer, const keys *k) {
  const char *names[MAX_KEYS];
  lh_text text = {0};
  uint64_t shape = k->kinds & LH_HAS_INTEGERS;
  for (size_t i = 0; i < k->n_names; i++) {
    if (!lh_add_name(&text, namer->snapshot, k->names[i])) lh_text_string(&text, "?");
    lh_text_id name = lh_namer_text(namer, &text);
    if (namer->failed) return LH_NO_NUMBER;
    names[i] = lh_namer_chars(namer, name);
    shape += lh_hash(names[i], strlen(names[i]), 1);
  }
  if (k->n_names > 1) qsort(names, k->n_names, sizeof *names, compare_texts);
  size_t shown = k->n_names > SHOWN_KEYS ? SHOWN_OF_MANY : k->n_names;
  lh_text_id name = add_fields(namer, k, names, shown);
  lh_text_id fields = add_fields(namer, k, names, k->n_names);
  if (namer->failed) return LH_NO_NUMBER;
  uint32_t made = lh_class_intern(namer->classes, name, fields, LH_TYPE_TABLE, true);
  if (made == LH_NO_NUMBER) return made;
  namer->classes->list[made].shape = shape;
  namer->classes->list[made].one_key = k->n_names == 1 && !(k->kinds & LH_HAS_INTEGERS);
  return made;
}

static uint32_t make_generic(lh_namer *namer, enum generic generic) {
  const char *chars = generic_names[generic];
  lh_text_id name = lh_namer_string(namer, chars, strlen(chars));
  if (namer->failed) return LH_NO_NUMBER;
  uint32_t made = lh_class_intern(namer->classes, name, name, LH_TYPE_TABLE, false);
  if (lh_namer_fails(namer, made == LH_NO_NUMBER)) return made;
  namer->classes->list[made].shape = generic;
  namer->classes->list[made].is_map = generic >= MAP_INTEGER;
  namer->classes->list[made].is_empty = generic == EMPTY;
  if (generic != EMPTY) namer->classes->list[made].plain = made;
  return made;
}

/* Insertion sort: keys are few and nearly sorted. */
static void sort_names(keys *k) {
  for (size_t i = 1; i < k->n_names; i++) {
    lh_id name = k->names[i];
    size_t at = i;
    for (; at > 0 && k->names[at - 1] > name; at--) k->names[at] = k->names[at - 1];
    k->names[at] = name;
  }
}

static uint32_t *slot_of_class(lh_namer *namer, keys *k, enum generic generic) {
  if (generic != RECORD) return lh_map_at(&namer->shapes, generic);
  sort_names(k);
  uint64_t set =
      lh_strings_add(&namer->key_sets, (const char *)k->names, k->n_names * sizeof *k->names);
  if (set == LH_NO_NUMBER) return NULL;
  return lh_map_at(&namer->shapes, (set + 1) << 32 | (k->kinds & LH_HAS_INTEGERS));
}

static uint32_t find_shape(lh_namer *namer, keys *k) {
  enum generic generic = generic_class(k);
  uint32_t *known = slot_of_class(namer, k, generic);
  if (lh_namer_fails(namer, !known)) return LH_NO_NUMBER;
  if (*known != LH_NO_NUMBER) return *known;
  uint32_t made = generic != RECORD ? make_generic(namer, generic) : make_record(namer, k);
  if (made == LH_NO_NUMBER) namer->failed = true;
  *known = made;
  return made;
}

/* The cache entry for keys in this order; it may be of other keys. */
static lh_seen_shape *seen_shape(lh_namer *namer, const keys *k) {
  uint64_t h = k->kinds;
  for (size_t i = 0; i < k->n_names; i++) h = (h ^ k->names[i]) * 0x9FB21C651E98DF25u;
  return &namer->seen_shapes[h >> 32 & (LH_SEEN_SHAPES - 1)];
}

uint32_t lh_shape_of(lh_namer *namer, lh_id table) {
  keys k;
  find_keys(namer, table, &k);
  size_t bytes = k.n_names * sizeof *k.names;
  if (k.n_names > LH_SEEN_KEYS || k.has_strings || k.has_objects) return find_shape(namer, &k);
  lh_seen_shape *seen = seen_shape(namer, &k);
  if (seen->is_set && seen->n == k.n_names && seen->kinds == k.kinds &&
      memcmp(seen->keys, k.names, bytes) == 0)
    return seen->class_index;
  *seen = (lh_seen_shape){.is_set = true, .n = k.n_names, .kinds = k.kinds};
  memcpy(seen->keys, k.names, bytes);
  return seen->class_index = find_shape(namer, &k); /* sorts the keys */
}

enum { MANY = 8 };

typedef struct one_key {
  lh_id table;
  uint32_t holds; /* class */
} one_key;

/* Is it the only table of its shape, with one key, and a value of a specific class? */
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
  lh_map count = {0}; /* of each class in `holds` */
  for (lh_id id = 1; id <= namer->snapshot->n && !namer->failed; id++) {
    if (!has_one_key(namer, id, &found.holds)) continue;
    found.table = id;
    if (lh_namer_fails(namer, !lh_map_count(&count, found.holds) ||
                                  !lh_grow(&maps, n, &capacity, sizeof *maps)))
      break;
    maps[n++] = found;
  }
  for (size_t i = 0; i < n && !namer->failed; i++) {
    if (lh_map_get(&count, maps[i].holds) < MANY) continue;
    uint32_t map = make_generic(namer, MAP_STRING);
    if (map == LH_NO_NUMBER) break;
    lh_class *old = &classes->list[classes->of[maps[i].table]].visible;
    old->objects = old->garbage_objects = old->shallow_bytes = old->garbage_bytes = 0;
    classes->of[maps[i].table] = map;
  }
  lh_free(maps);
  lh_map_free(&count);
}
