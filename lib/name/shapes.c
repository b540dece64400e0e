/*
** shapes.c - the class of a table that has no better one, by its keys: {id, name, next}, array,
** map[string], {}. Tables with the same keys are one class.
**
** A key set is first looked up by the ids of its keys, in order, so that a million tables of one
** shape make one text.
*/
#include "names.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 64, SHOWN_KEYS = 6, SHOWN_OF_MANY = 4 };

typedef struct keys {
  lh_id names[MAX_KEYS];
  size_t n_names; /* may be greater than MAX_KEYS */
  size_t n_strings, n_integers, n_objects, n_others;
  int64_t smallest, greatest; /* integers */
} keys;

static void count_key(lh_namer *namer, keys *k, lh_value key) {
  if (key.kind == LH_VALUE_INTEGER) {
    if (k->n_integers == 0 || key.as.integer < k->smallest) k->smallest = key.as.integer;
    if (k->n_integers == 0 || key.as.integer > k->greatest) k->greatest = key.as.integer;
    k->n_integers++;
  } else if (key.kind != LH_VALUE_OBJECT) {
    if (key.kind == LH_VALUE_POINTER || key.kind == LH_VALUE_CFUNCTION ||
        key.kind == LH_VALUE_ABSENT)
      k->n_objects++;
    else
      k->n_others++;
  } else if (!lh_is_string(namer->snapshot, key.as.object)) {
    k->n_objects++;
  } else if (!lh_namer_is_identifier(namer, key.as.object)) {
    k->n_strings++;
  } else {
    if (k->n_names < MAX_KEYS) k->names[k->n_names] = key.as.object;
    k->n_names++;
  }
}

/* Only keys 1, 2, 3 ... with at most as many holes: what Lua itself would keep in an array. */
static bool is_array(const keys *k) {
  return k->smallest >= 1 && (uint64_t)k->greatest <= 2 * (uint64_t)k->n_integers + 2;
}

enum generic { RECORD, EMPTY, ARRAY, MAP_INTEGER, MAP_OBJECT, MAP_STRING, MAP };
static const char *const generic_names[] = {NULL,          "{}",          "array", "map[integer]",
                                            "map[object]", "map[string]", "map"};

static enum generic generic_class(const keys *k) {
  bool has_strings = k->n_names > 0 || k->n_strings > 0;
  int kinds = has_strings + (k->n_integers > 0) + (k->n_objects > 0) + (k->n_others > 0);
  if (kinds == 0) return EMPTY;
  if (kinds == 1 && k->n_integers) return is_array(k) ? ARRAY : MAP_INTEGER;
  if (kinds == 1 && k->n_objects) return MAP_OBJECT;
  if (k->n_objects || k->n_others) return MAP;
  if (k->n_strings || k->n_names > MAX_KEYS) return k->n_integers ? MAP : MAP_STRING;
  return RECORD;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "{id, name, next}", with so many of the names. */
static lh_text_id add_fields(lh_namer *namer, const keys *k, const char *const *names,
                             size_t shown) {
  lh_text text = {0};
  for (size_t i = 0; i < shown; i++) lh_text_format(&text, "%s%s", i ? ", " : "{", names[i]);
  if (shown < k->n_names) lh_text_format(&text, ", ... %zu more", k->n_names - shown);
  lh_text_string(&text, k->n_integers ? ", [n]}" : "}");
  return lh_namer_text(namer, &text);
}

/* A shape that is new: its text, and a hash of its keys' contents, the same in any snapshot. */
static uint32_t make_record(lh_namer *namer, const keys *k) {
  const char *names[MAX_KEYS];
  lh_text text = {0};
  uint64_t shape = k->n_integers > 0;
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
  namer->classes->list[made].one_key = k->n_names == 1 && k->n_integers == 0;
  return made;
}

static uint32_t make_generic(lh_namer *namer, enum generic generic) {
  const char *chars = generic_names[generic];
  lh_text_id name = lh_namer_string(namer, chars, strlen(chars));
  if (namer->failed) return LH_NO_NUMBER;
  uint32_t made = lh_class_intern(namer->classes, name, name, LH_TYPE_TABLE, false);
  if (made == LH_NO_NUMBER) {
    namer->failed = true;
    return made;
  }
  namer->classes->list[made].shape = generic;
  namer->classes->list[made].is_map = generic >= MAP_INTEGER;
  namer->classes->list[made].is_empty = generic == EMPTY;
  if (generic != EMPTY) namer->classes->list[made].plain = made;
  return made;
}

uint32_t lh_map_of_strings(lh_namer *namer) {
  return make_generic(namer, MAP_STRING);
}

/* Few, and mostly in order. */
static void sort_names(keys *k) {
  for (size_t i = 1; i < k->n_names; i++) {
    lh_id name = k->names[i];
    size_t at = i;
    for (; at > 0 && k->names[at - 1] > name; at--) k->names[at] = k->names[at - 1];
    k->names[at] = name;
  }
}

/* Where the class of tables with these keys is kept; NULL: out of memory. */
static uint32_t *slot_of_class(lh_namer *namer, keys *k, enum generic generic) {
  if (generic != RECORD) return lh_map_at(&namer->shapes, generic);
  sort_names(k);
  uint64_t set =
      lh_strings_add(&namer->key_sets, (const char *)k->names, k->n_names * sizeof *k->names);
  if (set == LH_NO_NUMBER) return NULL;
  return lh_map_at(&namer->shapes, (set + 1) << 32 | (k->n_integers > 0));
}

uint32_t lh_shape_of(lh_namer *namer, lh_id table) {
  keys k = {.n_names = 0};
  lh_edges it;
  lh_value key;
  for (lh_entries_begin(namer->snapshot, table, &it); lh_entries_next(&it, &key, NULL);)
    count_key(namer, &k, key);
  enum generic generic = generic_class(&k);
  uint32_t *known = slot_of_class(namer, &k, generic);
  if (!known) {
    namer->failed = true;
    return LH_NO_NUMBER;
  }
  if (*known != LH_NO_NUMBER) return *known;
  uint32_t made = generic != RECORD ? make_generic(namer, generic) : make_record(namer, &k);
  if (made == LH_NO_NUMBER) namer->failed = true;
  *known = made;
  return made;
}
