/*
** describe_fields.c - Groups the contents of the instances of a class by field.
** A field is a string key of a table, an upvalue, a user value, or a local of a coroutine. All keys
** of a collection that have one type are one field; so are keys that are no strings. Hash maps with
** numbers as keys find fields and kinds: a million tables with three fields take 0.4 s.
*/
#include "analyses.h"

#include "read/decode.h"

enum { LOOK_AHEAD = 8, N_RECENT = 64, N_ENTRIES = 16, ID_WORDS = 2 };

typedef struct kind_entry {
  lh_value_class visible;
  uint32_t next; /* next kind of the field; LH_NO_NUMBER: the last */
} kind_entry;

typedef struct field_entry {
  lh_field visible;
  uint32_t first_kind;
  uint32_t last_kind, last_at; /* of the last value: what kind_of returns, and its index in kinds */
  uint32_t last;               /* one more than the number of the last instance with this field */
} field_entry;

typedef struct collecting {
  const lh_instances *of;
  const lh_snapshot *snapshot;
  lh_map by_id, by_kind;
  field_entry *fields;
  size_t n, capacity;
  kind_entry *kinds;
  size_t n_kinds, kind_capacity;
  struct {
    uint64_t words[ID_WORDS];
    uint32_t field;   /* index in `fields`; LH_NO_NUMBER: none */
  } recent[N_RECENT]; /* fields found last: most instances have the same ones */
  lh_id *counted;     /* by object: the last instance that counted its bytes */
} collecting;

/* ==== Fields ========================================================================= */

/* Identity of a field: one of BY_... in the high half of words[0]; a key, name or ordinal in the
** low half; for a local the class of its function in words[1]. */
enum { BY_KEY, BY_KEY_TYPE, BY_NAME, BY_ORDINAL, BY_LOCAL };

typedef struct field_id {
  uint64_t words[ID_WORDS];
  const lh_value *key; /* for BY_KEY, BY_KEY_TYPE */
  const lh_edge *edge; /* for the others */
} field_id;

static field_id make_field_id(uint32_t what, uint32_t which, const lh_value *key,
                              const lh_edge *edge) {
  return (field_id){{(uint64_t)what << 32 | which}, key, edge};
}

static const char *type_of_key(const lh_snapshot *snapshot, lh_value key) {
  switch (key.kind) {
    case LH_VALUE_INTEGER: return "[integer]";
    case LH_VALUE_FLOAT: return "[number]";
    case LH_VALUE_BOOLEAN: return "[boolean]";
    case LH_VALUE_OBJECT: return lh_is_string(snapshot, key.as.object) ? "[string]" : "[object]";
    case LH_VALUE_ABSENT: return "[object]";
    default: return "[pointer]";
  }
}

static field_id field_of_key(const lh_snapshot *snapshot, const lh_value *key, bool collection) {
  bool is_string = key->kind == LH_VALUE_OBJECT && lh_is_string(snapshot, key->as.object);
  if (is_string && !collection) return make_field_id(BY_KEY, key->as.object, key, NULL);
  return make_field_id(BY_KEY_TYPE, (uint32_t)key->kind * 2 + is_string, key, NULL);
}

static field_id field_of_rest(void) {
  return make_field_id(BY_ORDINAL, 0, NULL, NULL);
}

static field_id field_of_edge(const lh_snapshot *snapshot, const lh_edge *edge) {
  if (edge->kind == LH_EDGE_LOCAL) {
    field_id p = make_field_id(BY_LOCAL, edge->name, NULL, edge);
    p.words[1] = lh_class_of(snapshot, edge->holder);
    return p;
  }
  if (edge->kind != LH_EDGE_USER_VALUE && edge->name != LH_NO_OBJECT)
    return make_field_id(BY_NAME, edge->name, NULL, edge);
  if (edge->ordinal > LH_MOST_ORDINALS) return field_of_rest();
  return make_field_id(BY_ORDINAL, edge->ordinal, NULL, edge);
}

static char *field_name(const lh_snapshot *snapshot, const field_id *p) {
  lh_text text = {0};
  if (p->edge && p->edge->kind == LH_EDGE_LOCAL) {
    lh_add_slot(&text, snapshot, p->edge);
    return lh_text_finish(&text);
  }
  if (p->edge) return lh_edge_text(snapshot, p->edge);
  if (p->words[0] >> 32 == BY_KEY)
    lh_add_key(&text, snapshot, *p->key, false);
  else if (p->words[0] >> 32 == BY_ORDINAL)
    lh_text_string(&text, "...");
  else
    lh_text_string(&text, type_of_key(snapshot, *p->key));
  return lh_text_finish(&text);
}

static field_entry *new_field(collecting *c, const field_id *p, uint32_t *known) {
  if (!lh_grow(&c->fields, c->n, &c->capacity, sizeof *c->fields)) return NULL;
  char *name = field_name(c->snapshot, p);
  if (!name) return NULL;
  c->fields[c->n] =
      (field_entry){.visible = {.name = name}, .first_kind = LH_NO_NUMBER, .last_at = LH_NO_NUMBER};
  *known = (uint32_t)c->n;
  return &c->fields[c->n++];
}

static field_entry *field_at(collecting *c, const field_id *p) {
  uint32_t at = (uint32_t)p->words[0] % N_RECENT;
  if (c->recent[at].field != LH_NO_NUMBER &&
      memcmp(c->recent[at].words, p->words, sizeof p->words) == 0)
    return &c->fields[c->recent[at].field];
  uint32_t *known = lh_map_at_words(&c->by_id, p->words, ID_WORDS);
  if (!known) return NULL;
  field_entry *field = *known == LH_NO_NUMBER ? new_field(c, p, known) : &c->fields[*known];
  if (!field) return NULL;
  memcpy(c->recent[at].words, p->words, sizeof p->words);
  c->recent[at].field = (uint32_t)(field - c->fields);
  return field;
}

/* ==== Values ========================================================================= */

/* The kind of an object is its class index. Scalars get numbers that no class has. */
static uint32_t kind_of(const lh_snapshot *snapshot, lh_value value, const char **name) {
  static const char *const names[] = {"nil",     "boolean",  "number", "number",
                                      "pointer", "function", "object"};
  uint32_t class_index =
      value.kind == LH_VALUE_OBJECT ? lh_class_of(snapshot, value.as.object) : UINT32_MAX;
  lh_value_kind kind = value.kind == LH_VALUE_FLOAT    ? LH_VALUE_INTEGER
                       : value.kind == LH_VALUE_ABSENT ? LH_VALUE_OBJECT
                                                       : value.kind;
  *name = class_index == UINT32_MAX ? names[kind] : lh_class_at(snapshot, class_index)->name;
  return class_index == UINT32_MAX ? UINT32_MAX - 1 - (uint32_t)kind : class_index;
}

static bool count_kind(collecting *c, field_entry *field, lh_value value) {
  const char *name;
  uint32_t kind = kind_of(c->snapshot, value, &name);
  if (field->last_at != LH_NO_NUMBER && field->last_kind == kind) {
    c->kinds[field->last_at].visible.values++;
    return true;
  }
  uint64_t key = (uint64_t)(field - c->fields) << 32 | kind;
  uint32_t at = lh_map_number(&c->by_kind, key);
  if (at == LH_NO_NUMBER || !lh_grow(&c->kinds, c->n_kinds, &c->kind_capacity, sizeof *c->kinds))
    return false;
  if (at == c->n_kinds) {
    c->kinds[c->n_kinds++] = (kind_entry){.visible = {.name = name}, .next = field->first_kind};
    field->first_kind = at;
    field->visible.total_kinds++;
  }
  c->kinds[at].visible.values++;
  field->last_kind = kind;
  field->last_at = at;
  return true;
}

/* Bytes that an instance retains through `id`; 0 if another field of the instance counted them. */
static uint64_t bytes_through(collecting *c, lh_id instance, lh_id id) {
  if (id == LH_ROOT || id > c->snapshot->n || c->snapshot->idom[id] != instance ||
      c->counted[id] == instance)
    return 0;
  c->counted[id] = instance;
  return lh_bytes_around(c->of, id);
}

static uint64_t bytes_of_value(collecting *c, lh_id instance, lh_value value) {
  return value.kind == LH_VALUE_OBJECT ? bytes_through(c, instance, value.as.object) : 0;
}

static field_entry *add_value(collecting *c, uint32_t instance, const field_id *p, lh_value value) {
  field_entry *field = field_at(c, p);
  if (!field || !count_kind(c, field, value)) return NULL;
  field->visible.values++;
  if (field->last != instance + 1) field->visible.instances++;
  field->last = instance + 1;
  return field;
}

static bool add_entries(collecting *c, uint32_t instance) {
  lh_id id = c->of->ids[instance];
  bool collection = lh_class_entry_of(c->snapshot, id)->plain != LH_NO_NUMBER;
  lh_edges it;
  lh_entry entries[N_ENTRIES];
  size_t n;
  for (lh_entries_begin(c->snapshot, id, &it); (n = lh_entries_some(&it, entries, N_ENTRIES)) > 0;)
    for (size_t i = 0; i < n; i++) {
      field_id p = field_of_key(c->snapshot, &entries[i].key, collection);
      field_entry *field = add_value(c, instance, &p, entries[i].value);
      if (!field) return false;
      field->visible.bytes += bytes_of_value(c, id, entries[i].key);
      field->visible.bytes += bytes_of_value(c, id, entries[i].value);
    }
  return true;
}

/* An upvalue counts as its content. */
static lh_value content_of(const lh_snapshot *snapshot, const lh_edge *edge) {
  lh_object upvalue;
  if (edge->kind != LH_EDGE_UPVALUE || lh_type_of(snapshot, edge->target) != LH_TYPE_UPVALUE ||
      lh_is_dead(snapshot, edge->target))
    return (lh_value){.kind = LH_VALUE_OBJECT, .as.object = edge->target};
  lh_object_at(snapshot, edge->target, &upvalue);
  return upvalue.as.upvalue.value;
}

static bool add_field_edges(collecting *c, uint32_t instance) {
  lh_id id = c->of->ids[instance];
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(c->snapshot, id, &it); lh_edges_next(&it, &edge);) {
    bool is_local = edge.kind == LH_EDGE_LOCAL && edge.holder != LH_NO_OBJECT;
    if (edge.kind != LH_EDGE_UPVALUE && edge.kind != LH_EDGE_C_UPVALUE &&
        edge.kind != LH_EDGE_USER_VALUE && !is_local)
      continue;
    field_id p = field_of_edge(c->snapshot, &edge);
    bool many = is_local && c->n >= LH_MOST_LOCALS;
    if (many && lh_map_get_words(&c->by_id, p.words, ID_WORDS) == LH_NO_NUMBER) p = field_of_rest();
    field_entry *field = add_value(c, instance, &p, content_of(c->snapshot, &edge));
    if (!field) return false;
    field->visible.bytes += bytes_through(c, id, edge.target);
  }
  return true;
}

static void keep_kinds(const collecting *c, field_entry *field) {
  lh_field *f = &field->visible;
  for (uint32_t k = field->first_kind; k != LH_NO_NUMBER; k = c->kinds[k].next) {
    const lh_value_class *kind = &c->kinds[k].visible;
    uint32_t at = f->n_kinds;
    while (at > 0 && (f->kinds[at - 1].values < kind->values ||
                      (f->kinds[at - 1].values == kind->values &&
                       strcmp(f->kinds[at - 1].name, kind->name) > 0)))
      at--;
    if (at == LH_MOST_KINDS) continue;
    if (f->n_kinds < LH_MOST_KINDS) f->n_kinds++;
    memmove(&f->kinds[at + 1], &f->kinds[at], (f->n_kinds - at - 1) * sizeof *f->kinds);
    f->kinds[at] = *kind;
  }
}

static int compare_fields(const void *left, const void *right) {
  const lh_field *a = left, *b = right;
  return LH_MORE(a->bytes, b->bytes) ?: LH_MORE(a->instances, b->instances) ?:
         strcmp(a->name, b->name);
}

static bool finish_fields(collecting *c, lh_description *out) {
  out->fields = lh_alloc(c->n, sizeof *out->fields);
  if (!out->fields) return false;
  for (size_t i = 0; i < c->n; i++) {
    keep_kinds(c, &c->fields[i]);
    out->fields[out->n_fields++] = c->fields[i].visible;
  }
  c->n = 0; /* the result owns the names now */
  if (out->n_fields > 1) qsort(out->fields, out->n_fields, sizeof *out->fields, compare_fields);
  return true;
}

bool lh_describe_fields(const lh_instances *of, lh_description *out) {
  collecting c = {.of = of, .snapshot = of->snapshot};
  c.counted = lh_alloc_zeroed((size_t)of->snapshot->n + 1, sizeof *c.counted);
  bool ok = c.counted != NULL;
  for (size_t i = 0; i < N_RECENT; i++) c.recent[i].field = LH_NO_NUMBER;
  for (uint32_t i = 0; ok && i < of->n; i++) {
    lh_type type = lh_type_of(of->snapshot, of->ids[i]);
    if (i + LOOK_AHEAD < of->n) lh_prefetch_edges(of->snapshot, of->ids[i + LOOK_AHEAD]);
    if (lh_is_dead(of->snapshot, of->ids[i])) continue;
    if (type == LH_TYPE_TABLE) ok = add_entries(&c, i);
    if (type == LH_TYPE_CLOSURE || type == LH_TYPE_USERDATA || type == LH_TYPE_THREAD)
      ok = add_field_edges(&c, i);
  }
  ok = ok && finish_fields(&c, out);
  for (size_t i = 0; i < c.n; i++) lh_free((void *)c.fields[i].visible.name);
  LH_FREE_ALL(c.fields, c.kinds, c.counted);
  lh_map_free(&c.by_id);
  lh_map_free(&c.by_kind);
  return ok;
}
