/*
** growing_tables.c - Finds tables with many elements that are alike.
** Two passes over the entries of each big table count keys, elements and ages; a third one counts
** keys if the values are booleans, numbers, or few objects. O(entries).
*/
#include "analyses.h"
#include "read/decode.h"

/* The part of a string that is read: one long string may be the key of many entries. */
typedef struct key_bytes {
  const char *bytes;
  size_t n;
} key_bytes;

typedef struct form {
  key_bytes key;
  bool is_uuid, is_hex, is_name, is_token;
  int numbered; /* index in `numbered`; 4: none of the four */
} form;

enum { N_FORMS = 8 };

/* The common properties of the keys of a table. All zero: no keys. */
typedef struct keys_seen {
  uint64_t n, n_integers, n_numbers, n_strings, n_objects;
  double least, greatest;                     /* numbers, integers included */
  uint64_t n_uuids, n_hex, n_names, n_tokens; /* strings */
  key_bytes numbered[4];  /* the first four keys that differ in more than digits */
  uint64_t n_numbered[4]; /* keys that differ from each of the four in digits only */
  form forms[N_FORMS];    /* the last ones, by length */
  uint64_t length;        /* of all strings; UINT64_MAX: they differ */
  lh_id example;          /* the first string in byte order, */
  key_bytes of_example;   /* so that each run has the same one */
} keys_seen;

/* ==== Keys =========================================================================== */

/* Names the keys of a table as a reader would: 1 to n, ids, times, uuids, "strings like user:123".
** Counted and random keys have no end; a set of names has. */

/* Times are from 2000 to a year after the snapshot. */
#define YEAR_2000 946684800.0
#define A_YEAR 31557600.0

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_uuid(const char *bytes, size_t n) {
  if (n != 36) return false;
  for (size_t i = 0; i < n; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? bytes[i] != '-' : !is_hex(bytes[i])) return false;
  }
  return true;
}

/* Four counts of 16 bits in one number. */
enum { DIGITS, HEX = 16, CAPITALS = 32, OTHERS = 48 };
#define ONE(of) (UINT64_C(1) << (of))

/* Counts the letters of a key: at most LH_NAME_BYTES. */
static uint64_t count_letters(const char *bytes, size_t n) {
  static const uint64_t letter[256] = {
      [0 ... ' '] = ONE(OTHERS),
      ['0' ... '9'] = ONE(DIGITS) | ONE(HEX),
      ['A' ... 'F'] = ONE(CAPITALS) | ONE(HEX),
      ['G' ... 'Z'] = ONE(CAPITALS),
      ['a' ... 'f'] = ONE(HEX),
      [0x7F ... 0xFF] = ONE(OTHERS),
  };
  uint64_t counts = 0;
  for (size_t i = 0; i < n; i++) counts += letter[(unsigned char)bytes[i]];
  return counts;
}

static size_t count_of(uint64_t letters, unsigned of) {
  return letters >> of & 0xFFFF;
}

#define EACH_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/* The high bit of each byte that is no digit. */
static inline uint64_t no_digits(uint64_t bytes) {
  uint64_t from_0 = bytes ^ EACH_BYTE('0');
  return ((from_0 & EACH_BYTE(0x7F)) + EACH_BYTE(0x7F - 9)) | from_0;
}

static inline bool have_same_form_of_8(const char *a, const char *b) {
  uint64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  uint64_t differ = x ^ y;
  uint64_t differing = ((differ & EACH_BYTE(0x7F)) + EACH_BYTE(0x7F)) | differ; /* high bits */
  return !(differing & (no_digits(x) | no_digits(y)) & EACH_BYTE(0x80));
}

/* Bytes that differ must be digits. */
static inline bool have_same_form(const char *a, const char *b, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    if (!have_same_form_of_8(a + i, b + i)) return false;
  if (n >= 8) return have_same_form_of_8(a + n - 8, b + n - 8);
  while (i < n && (a[i] == b[i] || (is_digit(a[i]) && is_digit(b[i])))) i++;
  return i == n;
}

static bool are_numbered_alike(const char *a, size_t n, const char *b, size_t m) {
  size_t i = 0, k = 0;
  if (n == m && have_same_form(a, b, n)) return true;
  while (i < n && k < m) {
    if (!is_digit(a[i]) && a[i] != b[k]) return false;
    if (is_digit(a[i]) != is_digit(b[k])) return false;
    bool digits = is_digit(a[i++]);
    k++;
    while (digits && i < n && is_digit(a[i])) i++;
    while (digits && k < m && is_digit(b[k])) k++;
  }
  return i == n && k == m;
}

/* Returns the index of the key of the four that differs in digits only; 4: none. */
static int find_numbered(keys_seen *seen, const lh_snapshot *snapshot, lh_id id) {
  key_bytes key;
  (void)lh_string_whole(snapshot, id, &key.bytes, &key.n);
  for (int i = 0; i < 4; i++) {
    if (seen->n_numbered[i] == 0) seen->numbered[i] = key;
    const key_bytes *known = &seen->numbered[i];
    if (are_numbered_alike(key.bytes, key.n, known->bytes, known->n)) return i;
  }
  return 4;
}

static bool comes_before(const key_bytes *a, const key_bytes *b) {
  if (a->n > 0 && b->n > 0 && *a->bytes != *b->bytes)
    return (unsigned char)*a->bytes < (unsigned char)*b->bytes;
  int order = memcmp(a->bytes, b->bytes, a->n < b->n ? a->n : b->n);
  return order ? order < 0 : a->n < b->n;
}

/* A string with the form of a known one has the same properties. */
static const form *form_of(keys_seen *seen, const lh_snapshot *snapshot, lh_id id,
                           const key_bytes *key) {
  size_t n = key->n;
  bool is_whole = n > 0 && n < LH_NAME_BYTES;
  form *known = &seen->forms[n % N_FORMS];
  if (is_whole && n == known->key.n && have_same_form(key->bytes, known->key.bytes, n))
    return known;
  uint64_t letters = count_letters(key->bytes, n);
  bool has_digits = count_of(letters, DIGITS) > 0;
  bool is_capital = n > 0 && *key->bytes >= 'A' && *key->bytes <= 'Z';
  *known = (form){.key = *key,
                  .is_uuid = is_uuid(key->bytes, n),
                  .is_hex = n >= 8 && count_of(letters, HEX) == n,
                  .is_name = !has_digits && count_of(letters, OTHERS) == 0 && n > 1,
                  .is_token = n >= 8 && (has_digits || count_of(letters, CAPITALS) > is_capital),
                  .numbered = has_digits ? find_numbered(seen, snapshot, id) : 4};
  return known;
}

static void see_string(keys_seen *seen, const lh_snapshot *snapshot, lh_id id) {
  lh_kept_string string = lh_string_at(snapshot, id);
  size_t n = string.kept < LH_NAME_BYTES ? (size_t)string.kept : LH_NAME_BYTES;
  key_bytes key = {string.bytes, n};
  if (seen->n_strings++ == 0) seen->length = string.length;
  if (seen->n_strings == 1 || comes_before(&key, &seen->of_example)) {
    seen->example = id;
    seen->of_example = key;
  }
  if (seen->length != string.length) seen->length = UINT64_MAX;
  const form *its = form_of(seen, snapshot, id, &key);
  seen->n_uuids += its->is_uuid;
  seen->n_hex += its->is_hex;
  seen->n_names += its->is_name;
  seen->n_tokens += its->is_token;
  if (its->numbered < 4) seen->n_numbered[its->numbered]++;
}

static void see_number(keys_seen *seen, double number) {
  bool first = seen->n_numbers++ == 0;
  if (first || number < seen->least) seen->least = number;
  if (first || number > seen->greatest) seen->greatest = number;
}

static void see_key(keys_seen *seen, const lh_snapshot *snapshot, lh_value key) {
  seen->n++;
  switch (key.kind) {
    case LH_VALUE_INTEGER:
      seen->n_integers++;
      see_number(seen, (double)key.as.integer);
      break;
    case LH_VALUE_FLOAT: see_number(seen, key.as.number); break;
    case LH_VALUE_POINTER:
    case LH_VALUE_CFUNCTION:
    case LH_VALUE_ABSENT: seen->n_objects++; break;
    case LH_VALUE_OBJECT:
      if (lh_is_string(snapshot, key.as.object))
        see_string(seen, snapshot, key.as.object);
      else
        seen->n_objects++;
      break;
    default: break;
  }
}

static bool are_times(const keys_seen *seen, const lh_snapshot *snapshot, double unit) {
  double now = (double)snapshot->info.time_ns / 1e9;
  return seen->least / unit >= YEAR_2000 && seen->greatest / unit <= now + A_YEAR;
}

static lh_keying keying_of_strings(const keys_seen *seen) {
  bool one_length = seen->length != UINT64_MAX && seen->length >= 8;
  uint64_t n = seen->n_strings, most = 0;
  for (int i = 0; i < 4; i++)
    if (seen->n_numbered[i] > most) most = seen->n_numbered[i];
  if (lh_are_most(seen->n_uuids, n)) return LH_KEYED_UUIDS;
  if (lh_are_most(most, n)) return LH_KEYED_NUMBERED;
  if (lh_are_most(seen->n_hex, n) && one_length) return LH_KEYED_HEX;
  if (lh_are_most(seen->n_tokens, n) && one_length) return LH_KEYED_TOKENS;
  return lh_are_most(seen->n_names, n) ? LH_KEYED_NAMES : LH_KEYED_STRINGS;
}

static lh_keying keying_of(const keys_seen *seen, const lh_snapshot *snapshot) {
  if (lh_are_most(seen->n_strings, seen->n)) return keying_of_strings(seen);
  if (lh_are_most(seen->n_objects, seen->n)) return LH_KEYED_OBJECTS;
  if (!lh_are_most(seen->n_numbers, seen->n)) return LH_KEYED_MIXED;
  if (are_times(seen, snapshot, 1)) return LH_KEYED_TIMES;
  if (are_times(seen, snapshot, 1000)) return LH_KEYED_MILLISECONDS;
  if (seen->n_integers < seen->n_numbers) return LH_KEYED_NUMBERS;
  bool dense = seen->least == 1 && seen->greatest == (double)seen->n;
  return dense ? LH_KEYED_SEQUENCE : LH_KEYED_INTEGERS;
}

enum { SOME = 256, AHEAD = 32 }; /* entries read at once; entries to look ahead */

typedef struct counting {
  lh_grower *grower;
  const lh_snapshot *snapshot;
  uint32_t *n_of; /* by class, in the current table */
  uint32_t *met;  /* classes whose count is not 0 */
  uint32_t n_met;
  bool is_shared;        /* a table of every program, such as _G, which also has other values */
  bool is_loaded;        /* package.loaded: each module has its own class, */
  uint32_t module_class; /* and this extra class, "module *", stands for all */
  lh_id *objects;        /* keys or values of the current table */
  size_t n_objects, objects_capacity;
  uint32_t alike; /* class of the elements; UINT32_MAX: tables of any class, or no objects */
} counting;

typedef struct contents {
  keys_seen keys;
  uint64_t n_numbers, n_booleans, n_tables; /* of the values */
  uint64_t key_bytes, value_bytes;          /* retained; keys without strings */
  uint32_t best;                            /* class of most objects */
  uint64_t n_best;
  bool weak_keys, weak_values; /* as the table declares */
  uint64_t n_staying;          /* entries without weak parts; strings and numbers are never weak */
} contents;

/* Arrays of any elements have one class. */
static uint32_t class_of_element(const counting *f, lh_id id) {
  const lh_class_entry *entry = lh_class_entry_of(f->snapshot, id);
  if (f->is_loaded && lh_type_of(f->snapshot, id) == LH_TYPE_TABLE) return f->module_class;
  if (!entry) return UINT32_MAX;
  return entry->plain != LH_NO_NUMBER ? entry->plain : f->snapshot->classes->of[id];
}

static lh_class element_class_at(const counting *f, uint32_t class_index) {
  if (class_index == f->module_class) return (lh_class){.name = "module *", .type = LH_TYPE_TABLE};
  return *lh_class_at(f->snapshot, class_index);
}

static void count_element(counting *f, contents *c, lh_id id) {
  uint32_t class_index = class_of_element(f, id);
  if (class_index == UINT32_MAX) return;
  if (f->n_of[class_index]++ == 0) f->met[f->n_met++] = class_index;
  c->n_tables += lh_type_of(f->snapshot, id) == LH_TYPE_TABLE;
}

static void count_value(counting *f, contents *c, lh_value value) {
  switch (value.kind) {
    case LH_VALUE_INTEGER:
    case LH_VALUE_FLOAT: c->n_numbers++; break;
    case LH_VALUE_BOOLEAN: c->n_booleans++; break;
    case LH_VALUE_OBJECT: count_element(f, c, value.as.object); break;
    default: break;
  }
}

/* Chooses the most frequent class, by name among equals; clears the counts. */
static void choose_class(counting *f, contents *c) {
  c->best = UINT32_MAX;
  c->n_best = 0;
  for (; f->n_met > 0; f->n_met--) {
    uint32_t class_index = f->met[f->n_met - 1], n = f->n_of[class_index];
    bool better = n > c->n_best;
    if (n == c->n_best)
      better = strcmp(element_class_at(f, class_index).name, element_class_at(f, c->best).name) < 0;
    if (better) c->best = class_index, c->n_best = n;
    f->n_of[class_index] = 0;
  }
}

static void look_at_entry(counting *f, contents *c, lh_value key, lh_value value) {
  see_key(&c->keys, f->snapshot, key);
  count_value(f, c, value);
  if (key.kind == LH_VALUE_OBJECT && !lh_is_string(f->snapshot, key.as.object))
    c->key_bytes += lh_retained_bytes(f->snapshot, key.as.object);
  if (value.kind == LH_VALUE_OBJECT)
    c->value_bytes += lh_retained_bytes(f->snapshot, value.as.object);
  c->n_staying += (!c->weak_keys || lh_is_never_weak(f->snapshot, key)) &&
                  (!c->weak_values || lh_is_never_weak(f->snapshot, value));
}

/* Objects of a big table are anywhere in memory, and so are the records of its keys. */
static inline void look_ahead(const lh_snapshot *s, const lh_entry *next) {
  const lh_value far = next[AHEAD].key, near = next[AHEAD / 2].key, value = next[AHEAD / 2].value;
  if (far.kind == LH_VALUE_OBJECT) {
    lh_prefetch(&s->kind[far.as.object]);
    lh_prefetch(&s->record_low[far.as.object]);
    lh_prefetch(&s->record_high[far.as.object]);
  }
  if (near.kind == LH_VALUE_OBJECT) lh_prefetch_record(s, near.as.object);
  if (value.kind != LH_VALUE_OBJECT) return;
  lh_prefetch(&s->classes->of[value.as.object]);
  lh_prefetch(&s->retained[value.as.object]);
}

static void look_at_values(counting *f, lh_id table, contents *c) {
  lh_edges it;
  lh_entry entries[SOME];
  lh_entries_begin(f->snapshot, table, &it);
  for (size_t n; (n = lh_entries_some(&it, entries, SOME)) > 0;)
    for (size_t i = 0; i < n; i++) {
      if (i + AHEAD < n) look_ahead(f->snapshot, &entries[i]);
      look_at_entry(f, c, entries[i].key, entries[i].value);
    }
  choose_class(f, c);
}

static void look_at_keys(counting *f, lh_id table, contents *c) {
  lh_edges it;
  lh_value key;
  for (lh_entries_begin(f->snapshot, table, &it); lh_entries_next(&it, &key, NULL);)
    if (key.kind == LH_VALUE_OBJECT) count_element(f, c, key.as.object);
  choose_class(f, c);
}

static bool are_objects(const contents *c) {
  return lh_are_most(c->keys.n_strings + c->keys.n_objects, c->keys.n);
}

/* A table with fields, such as a module or an object. Its values are a collection only if they have
** one class that says what it is for, and are no functions. */
static bool is_record(const lh_snapshot *snapshot, lh_id table, const contents *c) {
  const lh_class_entry *entry = lh_class_entry_of(snapshot, table);
  const lh_class_entry *best = c->best == UINT32_MAX ? NULL : &snapshot->classes->list[c->best];
  if (best && best->visible.type == LH_TYPE_CLOSURE) return true;
  return entry && entry->specific && !(best && best->specific);
}

/* False: the elements are not alike. */
static bool set_element_class(counting *f, lh_growing *g, const contents *c) {
  bool any_table = !lh_are_most(c->n_best, g->elements) && g->keying != LH_KEYED_NAMES;
  if (c->best == UINT32_MAX) return false;
  g->element = any_table ? "table" : element_class_at(f, c->best).name;
  g->type = any_table ? LH_TYPE_TABLE : element_class_at(f, c->best).type;
  g->alike = any_table ? c->n_tables : c->n_best;
  g->element_class = f->alike = any_table ? UINT32_MAX : c->best;
  return lh_are_most(g->alike, g->elements);
}

static bool set_keys_as_elements(counting *f, lh_growing *g, contents *c) {
  g->are_keys = true;
  c->n_tables = 0;
  look_at_keys(f, g->id, c);
  return set_element_class(f, g, c);
}

/* False: the elements are not alike. */
static bool set_elements(counting *f, lh_growing *g, contents *c) {
  bool numbers = lh_are_most(c->n_numbers, g->elements);
  bool booleans = lh_are_most(c->n_booleans, g->elements);
  g->element_class = f->alike = UINT32_MAX;
  if (g->keying == LH_KEYED_MIXED) return false;
  if (f->is_loaded && (g->keying < LH_KEYED_UUIDS || g->keying > LH_KEYED_TOKENS)) return false;
  if (g->keying == LH_KEYED_OBJECTS && c->key_bytes > c->value_bytes)
    return set_keys_as_elements(f, g, c);
  if (g->keying == LH_KEYED_NAMES && is_record(f->snapshot, g->id, c)) return false;
  if (!numbers && !booleans) return set_element_class(f, g, c);
  if (are_objects(c)) return set_keys_as_elements(f, g, c);
  g->element = numbers ? "number" : "boolean";
  g->alike = numbers ? c->n_numbers : c->n_booleans;
  return true;
}

static void set_kinds_of_keys(const counting *f, lh_growing *g, const contents *c) {
  const keys_seen *keys = &c->keys;
  g->keying = keying_of(keys, f->snapshot);
  double unit = g->keying == LH_KEYED_MILLISECONDS ? 1000 : 1;
  g->least = keys->least / unit;
  g->greatest = keys->greatest / unit;
  g->example_key = keys->n_strings > 0 ? keys->example : LH_NO_OBJECT;
}

/* True if the value is an element; a shared table has other values, too. */
static bool is_alike(const counting *f, const lh_growing *g, lh_value value) {
  if (g->type == LH_TYPE_ROOT || value.kind != LH_VALUE_OBJECT) return g->type == LH_TYPE_ROOT;
  if (f->alike != UINT32_MAX) return class_of_element(f, value.as.object) == f->alike;
  return lh_type_of(f->snapshot, value.as.object) == LH_TYPE_TABLE;
}

/* The same for the entry whose key or value is edge e. */
static bool is_of_alike(const counting *f, const lh_growing *g, uint32_t e) {
  const lh_snapshot *s = f->snapshot;
  if (!f->is_shared || g->type == LH_TYPE_ROOT) return true;
  bool is_key = lh_label_kind(s->label[e]) == LH_EDGE_KEY;
  if (is_key && !g->are_keys) {
    if (e + 1 == s->first_edge[g->id + 1] || !(s->label[e + 1] & LH_LABEL_KEYED)) return false;
    e++;
  }
  return is_alike(f, g, lh_object_value(lh_true_target(s, e)));
}

/* Lists the objects that are keys, or else values, of entries that may be elements. */
static bool list_objects(counting *f, const lh_growing *g, bool are_keys) {
  const lh_snapshot *s = f->snapshot;
  lh_edge_kind kind = are_keys ? LH_EDGE_KEY : LH_EDGE_VALUE;
  f->n_objects = 0;
  for (uint32_t e = s->first_edge[g->id], end = s->first_edge[g->id + 1]; e < end; e++) {
    if (lh_label_kind(s->label[e]) != kind || !is_of_alike(f, g, e)) continue;
    if (!lh_grow(&f->objects, f->n_objects, &f->objects_capacity, sizeof *f->objects)) return false;
    f->objects[f->n_objects++] = lh_true_target(s, e);
  }
  f->n_objects = lh_sort_many_ids(f->grower->marks, s->n, f->objects, f->n_objects);
  return true;
}

/* Adds a key or value. An object that dominates the table, such as _G, is not an element. */
static inline bool add_object(counting *f, lh_growing *g, lh_youth *youth, lh_id id,
                              bool is_element) {
  const lh_tree *tree = f->grower->tree;
  if (f->snapshot->kind[id] & LH_KIND_OWN || tree->position[id] >= tree->n || id == g->id)
    return true;
  bool is_inside = lh_dominates(tree, g->id, id), inner = is_inside && !f->is_shared;
  if (!is_inside && lh_dominates(tree, id, g->id)) return true;
  if (is_element) lh_age_element(&f->grower->ages, g, youth, id, inner);
  return inner || lh_add_top(f->grower, id);
}

static bool add_objects(counting *f, lh_growing *g, lh_youth *youth, bool are_keys) {
  bool ok = list_objects(f, g, are_keys);
  for (size_t i = 0; ok && i < f->n_objects; i++) {
    if (i + AHEAD < f->n_objects) {
      lh_id ahead = f->objects[i + AHEAD];
      lh_prefetch(&f->grower->tree->position[ahead]);
      lh_prefetch(&f->grower->ages.counted[ahead]);
    }
    ok = add_object(f, g, youth, f->objects[i], are_keys == g->are_keys);
  }
  return ok;
}

/* Everything that the table retains is its own. A table of every program owns its elements only. */
static bool look_at_ages(counting *f, lh_growing *g) {
  const lh_tree *tree = f->grower->tree;
  lh_youth youth = lh_ages_begin(&f->grower->ages);
  bool ok = true;
  lh_begin_tops(f->grower);
  if (!f->is_shared) {
    youth.objects = tree->end[tree->position[g->id]] - tree->position[g->id];
    ok = lh_add_top(f->grower, g->id);
  }
  ok = ok && add_objects(f, g, &youth, true) && (g->are_keys || add_objects(f, g, &youth, false));
  lh_ages_end(&f->grower->ages, g, &youth, g->id);
  return ok;
}

/* Keys of other values do not count. */
static void look_at_keys_of_alike(const counting *f, lh_growing *g) {
  contents c = {0};
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(f->snapshot, g->id, &it); lh_entries_next(&it, &key, &value);)
    if (is_alike(f, g, value)) see_key(&c.keys, f->snapshot, key);
  set_kinds_of_keys(f, g, &c);
}

static bool look_at_table(counting *f, lh_id id) {
  lh_object table;
  lh_object_at(f->snapshot, id, &table);
  uint64_t n = table.as.table.array_used + table.as.table.hash_used;
  if (n < LH_LEAST_ELEMENTS) return true;
  contents c = {.best = UINT32_MAX,
                .weak_keys = table.as.table.weak_keys,
                .weak_values = table.as.table.weak_values};
  lh_growing g = {.tables = 1,
                  .entries = n,
                  .id = id,
                  .holder = id,
                  .elements = n,
                  .example_key = LH_NO_OBJECT,
                  .weak_keys = c.weak_keys,
                  .weak_values = c.weak_values};
  f->is_shared = lh_is_runtime_object(f->snapshot, id);
  f->is_loaded = id == f->snapshot->classes->loaded;
  look_at_values(f, id, &c);
  if ((c.weak_keys || c.weak_values) && !lh_are_most(c.n_staying, n)) return true;
  set_kinds_of_keys(f, &g, &c);
  if (!set_elements(f, &g, &c)) return true;
  g.exact = g.keying == LH_KEYED_SEQUENCE && table.as.table.hash_used == 0 &&
            table.as.table.array_slots == n && (n & (n - 1)) != 0;
  if (!look_at_ages(f, &g)) return false;
  bool few = !g.are_keys && g.type != LH_TYPE_ROOT && 2 * g.aged < n;
  if (few && are_objects(&c)) { /* many keys have the same few values */
    g.aged = g.since_first_mark = g.content = g.epochs = 0;
    memset(g.ages, 0, sizeof g.ages);
    if (!set_keys_as_elements(f, &g, &c)) return true;
    if (!look_at_ages(f, &g)) return false;
  }
  if (f->is_shared && !g.are_keys) look_at_keys_of_alike(f, &g);
  g.alike_entries = g.alike;
  return lh_add_growing(f->grower, &g);
}

/* A fast filter: the array part of so many elements takes so many bytes. */
static bool is_big(const lh_snapshot *snapshot, lh_id id) {
  enum { ELEMENTS = 16 };
  return lh_type_of(snapshot, id) == LH_TYPE_TABLE &&
         lh_shallow_bytes(snapshot, id) >= (uint64_t)ELEMENTS * snapshot->sizes->array_slot &&
         lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
}

bool lh_find_collections(lh_grower *grower) {
  const lh_snapshot *snapshot = grower->snapshot;
  counting f = {
      .grower = grower, .snapshot = snapshot, .module_class = (uint32_t)lh_class_count(snapshot)};
  f.n_of = lh_alloc_zeroed((size_t)lh_class_count(snapshot) + 1, sizeof *f.n_of);
  f.met = lh_alloc((size_t)lh_class_count(snapshot) + 1, sizeof *f.met);
  bool ok = f.n_of && f.met;
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (is_big(snapshot, id)) ok = look_at_table(&f, id);
  LH_FREE_ALL(f.n_of, f.met, f.objects);
  return ok;
}
