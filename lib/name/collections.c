/*
** collections.c - names the contents of plain collections: array of Listener.
**
** Runs after each object has a class, and looks at the first 16 values of each collection. If all
** have one class, it is named. If they have several classes with given names, such as Insert and
** Delete, the two with most objects in the heap are named. If all are tables, the collection holds
** table. A collection inside is named by its kind only (array of arrays), so the order of the
** objects does not matter.
*/
#include "graph/graph.h"
#include "names.h"
#include "read/decode.h"

enum { SAMPLED = 16 };

enum word { BOOLEAN, NUMBER, FUNCTION, USERDATA, THREAD, TABLE, EMPTY, ARRAY, ARRAYS, WORDS };

typedef struct describer {
  lh_namer *namer;
  lh_text_id words[WORDS];
  lh_map made;       /* class of a plain collection, name of its values -> class */
  uint64_t last_key; /* in `made`, 0: none, and its class */
  uint32_t last_made;
} describer;

/* The name of a value's class. LH_TYPE_ROOT: values have nothing in common. */
typedef struct content {
  lh_text_id name; /* LH_NO_NUMBER: unknown */
  lh_type type;    /* LH_TYPE_COUNT for scalars */
} content;

static const content nothing = {LH_NO_NUMBER, LH_TYPE_COUNT};

static content content_of_object(const describer *d, lh_id id) {
  const lh_snapshot *snapshot = d->namer->snapshot;
  const lh_class_entry *list = d->namer->classes->list;
  uint32_t class_index = d->namer->classes->of[id];
  if (class_index == UINT32_MAX) return nothing; /* luaheap's own */
  lh_type type = lh_type_of(snapshot, id);
  if (type == LH_TYPE_CLOSURE) return (content){d->words[FUNCTION], type};
  if (type == LH_TYPE_THREAD) return (content){d->words[THREAD], type};
  if (list[class_index].plain != LH_NO_NUMBER) class_index = list[class_index].plain;
  bool is_array =
      list[class_index].plain != LH_NO_NUMBER && list[class_index].name == d->words[ARRAY];
  return (content){is_array ? d->words[ARRAYS] : list[class_index].marked, type};
}

static content content_of(const describer *d, lh_value value) {
  switch (value.kind) {
    case LH_VALUE_BOOLEAN: return (content){d->words[BOOLEAN], LH_TYPE_COUNT};
    case LH_VALUE_INTEGER:
    case LH_VALUE_FLOAT: return (content){d->words[NUMBER], LH_TYPE_COUNT};
    case LH_VALUE_POINTER: return (content){d->words[USERDATA], LH_TYPE_USERDATA};
    case LH_VALUE_CFUNCTION: return (content){d->words[FUNCTION], LH_TYPE_CLOSURE};
    case LH_VALUE_OBJECT: return content_of_object(d, value.as.object);
    default: return nothing;
  }
}

/* An empty table fits any other table. */
static content common(const describer *d, content a, content b) {
  if (a.name == LH_NO_NUMBER || a.name == b.name) return b;
  if (b.name == LH_NO_NUMBER) return a;
  if (a.type == LH_TYPE_TABLE && b.type == LH_TYPE_TABLE) {
    if (a.name == d->words[EMPTY]) return b;
    return b.name == d->words[EMPTY] ? a : (content){d->words[TABLE], LH_TYPE_TABLE};
  }
  if (a.type == LH_TYPE_USERDATA && b.type == LH_TYPE_USERDATA)
    return (content){d->words[USERDATA], LH_TYPE_USERDATA};
  return (content){LH_NO_NUMBER, LH_TYPE_ROOT};
}

typedef struct named {
  uint32_t classes[SAMPLED];
  size_t n;
  bool all;
} named;

static void note_class(const describer *d, named *seen, lh_value value) {
  const lh_classes *classes = d->namer->classes;
  bool is_object = value.kind == LH_VALUE_OBJECT;
  uint32_t class_index = is_object ? classes->of[value.as.object] : UINT32_MAX;
  const lh_class_entry *entry = class_index != UINT32_MAX ? &classes->list[class_index] : NULL;
  seen->all = seen->all && entry && entry->specific && entry->fields == LH_NO_NUMBER &&
              (entry->visible.type == LH_TYPE_TABLE || entry->visible.type == LH_TYPE_USERDATA);
  for (size_t i = 0; seen->all && i < seen->n; i++)
    if (seen->classes[i] == class_index) return;
  if (seen->all) seen->classes[seen->n++] = class_index;
}

static const char *take_most(const describer *d, named *seen) {
  const lh_class_entry *list = d->namer->classes->list;
  size_t best = 0;
  for (size_t i = 1; i < seen->n; i++) {
    const lh_class *a = &list[seen->classes[i]].visible, *b = &list[seen->classes[best]].visible;
    if (a->objects > b->objects || (a->objects == b->objects && strcmp(a->name, b->name) < 0))
      best = i;
  }
  const char *name = list[seen->classes[best]].visible.name;
  seen->classes[best] = seen->classes[--seen->n];
  return name;
}

/* "Delete, Insert" or "Delete, Insert and more": alphabetical, as in the next snapshot. */
static lh_text_id name_several(const describer *d, named *seen) {
  const char *first = take_most(d, seen), *second = take_most(d, seen);
  bool in_order = strcmp(first, second) < 0;
  lh_text text = {0};
  lh_text_format(&text, "%s, %s%s", in_order ? first : second, in_order ? second : first,
                 seen->n > 0 ? " and more" : "");
  return lh_namer_text(d->namer, &text);
}

typedef struct sample {
  content all;
  named seen;
  size_t n;
  lh_value_kind kind; /* of the last value */
  uint32_t class_index;
} sample;

/* Values like the one before are only counted. False: no more values are needed. */
static inline bool take_value(const describer *d, sample *s, lh_value value) {
  bool is_object = value.kind == LH_VALUE_OBJECT;
  uint32_t class_index = is_object ? d->namer->classes->of[value.as.object] : 0;
  bool is_alike = s->n > 0 && s->kind == value.kind && s->class_index == class_index;
  s->n++;
  if (is_alike) return s->n < SAMPLED;
  s->kind = value.kind;
  s->class_index = class_index;
  s->all = common(d, s->all, content_of(d, value));
  note_class(d, &s->seen, value);
  return s->n < SAMPLED && s->all.type != LH_TYPE_ROOT;
}

/* If all are objects, the row is enough. */
static void take_values(const describer *d, lh_id table, sample *out) {
  const lh_snapshot *s = d->namer->snapshot;
  lh_entry entries[SAMPLED];
  lh_edges it;
  if (!(s->key_kinds[table] & LH_HAS_SCALARS)) {
    for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1]; e++)
      if (lh_label_kind(s->label[e]) == LH_EDGE_VALUE &&
          !take_value(d, out, lh_object_value(lh_true_target(s, e))))
        return;
    return;
  }
  lh_entries_begin(s, table, &it);
  size_t n = lh_entries_some(&it, entries, SAMPLED);
  for (size_t i = 0; i < n && take_value(d, out, entries[i].value);) i++;
}

static lh_id first_object(const lh_snapshot *s, lh_id table) {
  for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1]; e++)
    if (lh_label_kind(s->label[e]) == LH_EDGE_VALUE) return lh_true_target(s, e);
  return LH_NO_OBJECT;
}

/* `first` is the first object of a table of numbers and objects. Have its values nothing in common?
** True if all are sampled and `first` is a string, a function or a thread. */
static bool has_no_kind(const describer *d, lh_id table, lh_id first) {
  enum {
    OTHERS = 1 << LH_TYPE_STRING | 1 << LH_TYPE_CLOSURE | 1 << LH_TYPE_THREAD,
    BYTES_OF_ENTRY = 9 /* or more, besides the table */
  };
  const lh_snapshot *s = d->namer->snapshot;
  const uint32_t most = s->sizes->table + SAMPLED * BYTES_OF_ENTRY;
  return s->shallow[table] <= most && OTHERS >> (s->kind[first] & LH_KIND_TYPE) & 1 &&
         d->namer->classes->of[first] != UINT32_MAX;
}

static lh_text_id contents_of(const describer *d, lh_id table) {
  sample s = {.all = nothing, .seen.all = true};
  const lh_snapshot *snapshot = d->namer->snapshot;
  if ((snapshot->key_kinds[table] & (LH_HAS_SCALARS | LH_HAS_WORDS)) == LH_HAS_SCALARS) {
    lh_id first = first_object(snapshot, table);
    if (first == LH_NO_OBJECT) return d->words[NUMBER];
    if (has_no_kind(d, table, first)) return LH_NO_NUMBER;
  }
  take_values(d, table, &s);
  return s.seen.all && s.seen.n > 1 ? name_several(d, &s.seen) : s.all.name;
}

static uint32_t make_class(lh_namer *namer, uint32_t plain, lh_text_id contents) {
  lh_classes *classes = namer->classes;
  lh_text text = {0};
  lh_text_format(&text, "%s of %s", classes->list[plain].visible.name,
                 lh_namer_chars(namer, contents));
  lh_text_id name = lh_namer_text(namer, &text);
  if (namer->failed) return LH_NO_NUMBER;
  uint32_t made = lh_class_intern(classes, name, classes->list[plain].fields, LH_TYPE_TABLE, false);
  if (made == LH_NO_NUMBER) return made;
  classes->list[made].shape = classes->list[plain].shape;
  classes->list[made].is_map = classes->list[plain].is_map;
  classes->list[made].plain = plain;
  return made;
}

static void describe_collection(describer *d, lh_id table) {
  uint32_t *of = &d->namer->classes->of[table];
  lh_text_id contents = contents_of(d, table);
  uint64_t key = (uint64_t)*of << 32 | contents;
  if (contents == LH_NO_NUMBER) return;
  if (key != d->last_key || key == 0) {
    uint32_t *made = lh_map_at(&d->made, key);
    if (made && *made == LH_NO_NUMBER) *made = make_class(d->namer, *of, contents);
    if (lh_namer_fails(d->namer, !made || *made == LH_NO_NUMBER)) return;
    d->last_key = key;
    d->last_made = *made;
  }
  *of = d->last_made;
}

/* The values of a collection are anywhere in memory. */
static void look_ahead(const lh_namer *namer, lh_id id) {
  enum { FIRST_EDGES = 8 };
  const lh_snapshot *s = namer->snapshot;
  const lh_classes *classes = namer->classes;
  uint32_t class_index = classes->of[id], e = s->first_edge[id], end = s->first_edge[id + 1];
  if (class_index == UINT32_MAX || classes->list[class_index].plain == LH_NO_NUMBER) return;
  for (uint32_t last = e + FIRST_EDGES; e < end && e < last; e++) {
    lh_prefetch(&classes->of[s->edge[e]]);
    lh_prefetch(&s->kind[s->edge[e]]);
  }
}

void lh_classify_collections(lh_namer *namer) {
  enum { AHEAD = 16 };
  static const char *const words[WORDS] = {"boolean", "number", "function", "userdata", "thread",
                                           "table",   "{}",     "array",    "arrays"};
  const lh_snapshot *snapshot = namer->snapshot;
  const lh_classes *classes = namer->classes;
  describer d = {.namer = namer};
  for (size_t i = 0; i < WORDS && !namer->failed; i++)
    d.words[i] = lh_namer_string(namer, words[i], strlen(words[i]));
  for (lh_id id = 1; id <= snapshot->n && !namer->failed; id++) {
    uint32_t class_index = classes->of[id];
    if (id + AHEAD <= snapshot->n) look_ahead(namer, id + AHEAD);
    if (class_index == UINT32_MAX || classes->list[class_index].plain == LH_NO_NUMBER) continue;
    describe_collection(&d, id);
    if (!namer->failed) lh_count_object(namer->snapshot, namer->classes, id);
  }
  lh_map_free(&d.made);
}
