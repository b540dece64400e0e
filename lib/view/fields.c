/*
** fields.c - the fields of an object, page by page, in any order and with a filter.
**
** A table may have ten million entries at unknown offsets. For the last queried object the position
** of each 512th field is kept, up to the last one read; with an order or a filter also the matching
** fields, sorted, 16 bytes each. Rows compare by a number; equal beginnings of strings by the
** strings.
*/
#include "view/answers.h"

#include "graph/graph.h"
#include "name/names.h"
#include "read/decode.h"

/* ==== Scanning fields ================================================================ */

/* A position between two fields; a copy of it saves the position. Of coroutine frames and constants
** a snapshot has objects only, of others scalars, too. */
typedef struct field_scan {
  const lh_snapshot *snapshot;
  lh_id id;
  unsigned part; /* of the record */
  uint64_t number;
  lh_id metatable; /* LH_NO_OBJECT: none, or already returned */
  size_t ephemeron;
  lh_weak_sides weak;
  lh_edges it;
} field_scan;

/* The parts after the metatable. AT_EDGES ends with the ephemerons, too. */
enum { AT_EDGES, AT_ENTRIES, AT_VALUES, AT_CONTENT, AT_EPHEMERONS, AT_END };

static unsigned part_of(const lh_snapshot *snapshot, lh_id id) {
  if (lh_is_dead(snapshot, id)) return AT_END;
  switch (lh_type_of(snapshot, id)) {
    case LH_TYPE_TABLE: return AT_ENTRIES;
    case LH_TYPE_USERDATA: return AT_VALUES;
    case LH_TYPE_UPVALUE: return AT_CONTENT;
    case LH_TYPE_CLOSURE: return lh_is_c_closure(snapshot, id) ? AT_VALUES : AT_EDGES;
    default: return AT_EDGES;
  }
}

/* Ephemerons are sorted by key: index of the first one. */
static size_t first_ephemeron(const lh_snapshot *s, lh_id key) {
  size_t first;
  LH_LOWER_BOUND(first, s->n_ephemerons, s->ephemerons[first].key < key);
  return first;
}

static void begin_scan(const lh_snapshot *snapshot, lh_id id, field_scan *scan) {
  *scan = (field_scan){.snapshot = snapshot,
                       .id = id,
                       .part = part_of(snapshot, id),
                       .weak = lh_weak_sides_of(snapshot, id),
                       .metatable = lh_metatable_of(snapshot, id)};
  if (scan->part == AT_ENTRIES) lh_entries_begin(snapshot, id, &scan->it);
  if (scan->part == AT_VALUES) lh_values_begin(snapshot, id, &scan->it);
  if (scan->part == AT_EDGES) lh_edges_begin(snapshot, id, &scan->it);
  if (scan->part != AT_EDGES) scan->ephemeron = first_ephemeron(snapshot, id);
}

static lh_value object_value(lh_id id) {
  lh_value value = {.kind = LH_VALUE_OBJECT, .as.pointer = 0};
  value.as.object = id;
  return value;
}

static bool is_lost_by(bool weak, const lh_snapshot *s, lh_value value) {
  return weak && value.kind == LH_VALUE_OBJECT && lh_type_of(s, value.as.object) != LH_TYPE_STRING;
}

static bool next_entry(field_scan *c, lh_object_field *f) {
  f->edge.kind = LH_EDGE_VALUE;
  if (!lh_entries_next(&c->it, &f->edge.key, &f->value)) return false;
  f->edge.weak = is_lost_by(c->weak.keys, c->snapshot, f->edge.key) ||
                 is_lost_by(c->weak.values, c->snapshot, f->value);
  return true;
}

static bool next_value(field_scan *c, lh_object_field *f) {
  bool is_userdata = lh_type_of(c->snapshot, c->id) == LH_TYPE_USERDATA;
  f->edge.kind = is_userdata ? LH_EDGE_USER_VALUE : LH_EDGE_C_UPVALUE;
  return lh_values_next(&c->it, &f->edge.ordinal, &f->value);
}

static void look_into_upvalue(const lh_snapshot *s, lh_object_field *f) {
  lh_object upvalue;
  if (lh_type_of(s, f->edge.target) != LH_TYPE_UPVALUE || lh_is_dead(s, f->edge.target)) return;
  lh_object_at(s, f->edge.target, &upvalue);
  f->upvalue = f->edge.target;
  f->value = upvalue.as.upvalue.value;
}

static bool next_edge_field(field_scan *c, lh_object_field *f) {
  if (!lh_edges_next(&c->it, &f->edge)) return false;
  f->value = object_value(f->edge.target);
  if (f->edge.kind == LH_EDGE_UPVALUE) look_into_upvalue(c->snapshot, f);
  return true;
}

static bool next_content(field_scan *c, lh_object_field *f) {
  lh_object upvalue;
  lh_object_at(c->snapshot, c->id, &upvalue);
  f->edge.kind = LH_EDGE_CONTENT;
  f->value = upvalue.as.upvalue.value;
  c->part = AT_EPHEMERONS;
  return true;
}

static bool next_ephemeron(field_scan *c, lh_object_field *f) {
  const lh_snapshot *s = c->snapshot;
  if (c->ephemeron >= s->n_ephemerons || s->ephemerons[c->ephemeron].key != c->id) return false;
  const lh_ephemeron *e = &s->ephemerons[c->ephemeron++];
  f->edge.kind = LH_EDGE_EPHEMERON;
  f->edge.holder = e->table;
  f->edge.key = object_value(e->key);
  f->value = object_value(e->value);
  return true;
}

static bool next_of_part(field_scan *c, lh_object_field *f) {
  switch (c->part) {
    case AT_EDGES: return next_edge_field(c, f);
    case AT_ENTRIES: return next_entry(c, f);
    case AT_VALUES: return next_value(c, f);
    case AT_CONTENT: return next_content(c, f);
    case AT_EPHEMERONS: return next_ephemeron(c, f);
    default: return false;
  }
}

static bool next_field(field_scan *c, lh_object_field *f) {
  if (c->metatable != LH_NO_OBJECT) {
    f->edge.kind = LH_EDGE_METATABLE;
    f->value = object_value(c->metatable);
    c->metatable = LH_NO_OBJECT;
    return true;
  }
  while (!next_of_part(c, f)) {
    if (c->part == AT_END) return false;
    c->part = c->part == AT_EDGES || c->part == AT_EPHEMERONS ? AT_END : AT_EPHEMERONS;
  }
  return true;
}

static bool scan_next(field_scan *scan, lh_object_field *field) {
  *field =
      (lh_object_field){.number = scan->number,
                        .edge = {.source = scan->id, .name = LH_NO_OBJECT, .holder = LH_NO_OBJECT},
                        .upvalue = LH_NO_OBJECT};
  if (!next_field(scan, field)) return false;
  scan->number++;
  if (field->upvalue == LH_NO_OBJECT)
    field->edge.target =
        field->value.kind == LH_VALUE_OBJECT ? field->value.as.object : LH_NO_OBJECT;
  return true;
}

static void skip_fields(field_scan *scan, uint64_t n) {
  lh_object_field field;
  while (n > 0 && scan_next(scan, &field)) n--;
}

static uint64_t count_fields(const lh_snapshot *snapshot, lh_id id) {
  lh_object object;
  field_scan scan;
  uint64_t n = 0;
  lh_object_at(snapshot, id, &object);
  begin_scan(snapshot, id, &scan);
  if (scan.part == AT_ENTRIES) {
    n = (scan.metatable != LH_NO_OBJECT) + object.as.table.array_used + object.as.table.hash_used;
    scan.metatable = LH_NO_OBJECT;
    scan.part = AT_EPHEMERONS;
  }
  skip_fields(&scan, UINT64_MAX);
  return n + scan.number;
}

/* A field in an order. `number` breaks ties. */
typedef struct field_row {
  uint64_t rank;
  uint32_t what; /* the string of the rank, or ROW_LEAST + kind */
  uint32_t number;
} field_row;

typedef struct field_rows {
  lh_field_order order;
  bool is_descending;
  char *filter;
  field_row *rows;
  size_t n;
} field_rows;

/* Kinds are the first sort key. `what` is a string's id, or ROW_LEAST + kind. */
enum { ROW_BOOLEAN, ROW_INTEGER, ROW_FLOAT, ROW_STRING, ROW_POINTER, ROW_OBJECT, ROW_NOTHING };
#define ROW_LEAST (UINT32_MAX - ROW_NOTHING)

static unsigned kind_of(const field_row *row) {
  return row->what < ROW_LEAST ? ROW_STRING : row->what - ROW_LEAST;
}

static field_row row_with(unsigned kind, uint64_t rank) {
  return (field_row){rank, ROW_LEAST + kind, 0};
}

/* ==== Ranks ========================================================================== */

/* Maps a float to an integer of the same order. */
static uint64_t order_of_float(double number) {
  uint64_t bits, sign = UINT64_C(1) << 63;
  memcpy(&bits, &number, sizeof bits);
  return bits & sign ? ~bits : bits | sign;
}

static field_row rank_value(const lh_snapshot *s, lh_value value) {
  switch (value.kind) {
    case LH_VALUE_BOOLEAN: return row_with(ROW_BOOLEAN, value.as.boolean);
    case LH_VALUE_INTEGER:
      return row_with(ROW_INTEGER, (uint64_t)value.as.integer ^ UINT64_C(1) << 63);
    case LH_VALUE_FLOAT: return row_with(ROW_FLOAT, order_of_float(value.as.number));
    case LH_VALUE_POINTER:
    case LH_VALUE_CFUNCTION: return row_with(ROW_POINTER, value.as.pointer);
    case LH_VALUE_OBJECT:
      if (!lh_is_string(s, value.as.object)) return row_with(ROW_OBJECT, value.as.object);
      return (field_row){0, value.as.object, 0}; /* rank_strings fills in the rank */
    default: return row_with(ROW_NOTHING, 0);
  }
}

/* A field without key ranks by edge kind and ordinal. */
static field_row rank_key(const lh_snapshot *s, const lh_edge *edge) {
  if (edge->kind == LH_EDGE_VALUE) return rank_value(s, edge->key);
  if (edge->name != LH_NO_OBJECT) return rank_value(s, object_value(edge->name));
  return row_with(ROW_NOTHING, (uint64_t)edge->kind << 32 | edge->ordinal);
}

static field_row field_row_of(const lh_snapshot *s, lh_field_order order,
                              const lh_object_field *f) {
  field_row row = row_with(ROW_INTEGER, f->number);
  lh_id id = f->value.kind == LH_VALUE_OBJECT ? f->value.as.object : LH_NO_OBJECT;
  switch (order) {
    case LH_FIELDS_BY_KEY: row = rank_key(s, &f->edge); break;
    case LH_FIELDS_BY_VALUE: row = rank_value(s, f->value); break;
    case LH_FIELDS_BY_RETAINED: row.rank = lh_retained_bytes(s, id); break;
    case LH_FIELDS_BY_SHALLOW: row.rank = lh_shallow_bytes(s, id); break;
    case LH_FIELDS_AS_THEY_ARE: break;
  }
  row.number = (uint32_t)f->number;
  return row;
}

/* Eight bytes from index `from`, big-endian: compare like the string. */
static uint64_t string_bytes(const lh_snapshot *s, lh_id string, size_t from) {
  const char *bytes;
  size_t n;
  uint64_t rank = 0;
  (void)lh_string_whole(s, string, &bytes, &n);
  for (size_t i = from; i < from + sizeof rank; i++)
    rank = rank << 8 | (i < n ? (unsigned char)bytes[i] : 0);
  return rank;
}

static size_t common_bytes(const char *a, size_t n_a, const char *b, size_t n_b) {
  size_t n = 0;
  while (n < n_a && n < n_b && a[n] == b[n]) n++;
  return n;
}

/* Ranks strings by the bytes after their common prefix: session_1, session_2. */
static void rank_strings(const lh_snapshot *s, field_rows *rows) {
  const char *first = NULL, *bytes;
  size_t n = 0, n_bytes;
  for (size_t i = 0; i < rows->n && (!first || n > 0); i++) {
    if (kind_of(&rows->rows[i]) != ROW_STRING) continue;
    (void)lh_string_whole(s, rows->rows[i].what, &bytes, &n_bytes);
    n = first ? common_bytes(first, n, bytes, n_bytes) : n_bytes;
    if (!first) first = bytes;
  }
  for (size_t i = 0; first && i < rows->n; i++)
    if (kind_of(&rows->rows[i]) == ROW_STRING)
      rows->rows[i].rank = string_bytes(s, rows->rows[i].what, n);
}

/* ==== The filter ===================================================================== */

static const char *filter_of(const lh_field_query *query) {
  return query->filter && *query->filter ? query->filter : NULL;
}

/* Caches for each class if its name matches. */
typedef struct filtering {
  const lh_snapshot *snapshot;
  const char *filter;
  size_t n;
  uint8_t *class_has; /* 0: unknown, 1: no, 2: yes */
  lh_text text;
} filtering;

static bool text_has(filtering *c) {
  bool has = lh_text_contains(c->text.bytes, c->text.n, c->filter, c->n);
  lh_text_clear(&c->text);
  return has;
}

static bool class_has(filtering *c, lh_id id) {
  uint32_t class_index = lh_class_of(c->snapshot, id);
  if (class_index == UINT32_MAX) return false;
  uint8_t *known = &c->class_has[class_index];
  const char *name = lh_class_at(c->snapshot, class_index)->name;
  if (*known == 0) *known = lh_text_contains(name, strlen(name), c->filter, c->n) ? 2 : 1;
  return *known == 2;
}

static bool value_has(filtering *c, lh_value value) {
  bool is_object = value.kind == LH_VALUE_OBJECT;
  if (is_object && !lh_is_string(c->snapshot, value.as.object) && class_has(c, value.as.object))
    return true;
  lh_add_value(&c->text, c->snapshot, value);
  return text_has(c);
}

static bool is_left(filtering *c, const lh_object_field *f) {
  if (f->edge.kind == LH_EDGE_VALUE) {
    lh_add_key(&c->text, c->snapshot, f->edge.key, false);
  } else {
    char *label = lh_edge_text(c->snapshot, &f->edge);
    c->text.failed |= !label;
    if (label) lh_text_string(&c->text, label);
    lh_free(label);
  }
  return text_has(c) || value_has(c, f->value);
}

static void free_field_rows(field_rows *rows) {
  LH_FREE_ALL(rows->filter, rows->rows);
  *rows = (field_rows){0};
}

/* The unsorted fields that match. False: out of memory, *out is then empty. */
static bool make_field_rows(const lh_snapshot *snapshot, lh_id id, uint64_t n,
                            const lh_field_query *query, field_rows *out) {
  const char *filter = filter_of(query);
  filtering c = {snapshot, filter, filter ? strlen(filter) : 0, NULL, {0}};
  field_scan scan;
  lh_object_field field;
  *out = (field_rows){.order = query->order, .is_descending = query->is_descending};
  out->rows = lh_alloc((size_t)n, sizeof *out->rows);
  c.class_has = filter ? lh_alloc_zeroed((size_t)lh_class_count(snapshot) + 1, 1) : NULL;
  out->filter = filter ? lh_copy_text(filter) : NULL;
  bool ok = out->rows && (!filter || (c.class_has && out->filter));
  begin_scan(snapshot, id, &scan);
  while (ok && scan_next(&scan, &field)) {
    if (!filter || is_left(&c, &field))
      out->rows[out->n++] = field_row_of(snapshot, out->order, &field);
    ok = !c.text.failed;
  }
  lh_free(c.class_has);
  lh_text_free(&c.text);
  if (ok) rank_strings(snapshot, out);
  if (!ok) free_field_rows(out);
  return ok;
}

/* ==== The order ====================================================================== */

static int compare_strings(const lh_snapshot *s, lh_id a, lh_id b) {
  const char *x, *y;
  size_t n_x, n_y;
  if (a == b) return 0;
  (void)lh_string_whole(s, a, &x, &n_x);
  (void)lh_string_whole(s, b, &y, &n_y);
  size_t n = n_x < n_y ? n_x : n_y;
  int order = n > 0 ? memcmp(x, y, n) : 0;
  return order ? order : (n_x > n_y) - (n_x < n_y);
}

static const char *class_name(const lh_snapshot *s, uint64_t id) {
  uint32_t class_index = lh_class_of(s, (lh_id)id);
  return class_index == UINT32_MAX ? "" : lh_class_at(s, class_index)->name;
}

static int compare_values(const lh_snapshot *s, const field_row *a, const field_row *b) {
  unsigned kind = kind_of(a), other = kind_of(b);
  int order = 0;
  if (kind != other) return kind < other ? -1 : 1;
  if (kind == ROW_OBJECT) order = strcmp(class_name(s, a->rank), class_name(s, b->rank));
  if (order == 0) order = (a->rank > b->rank) - (a->rank < b->rank);
  return order == 0 && kind == ROW_STRING ? compare_strings(s, a->what, b->what) : order;
}

typedef struct sorting {
  const lh_snapshot *snapshot;
  bool is_descending;
} sorting;

static int compare_field_rows(const void *left, const void *right, void *payload) {
  const sorting *by = payload;
  const field_row *a = left, *b = right;
  int order = compare_values(by->snapshot, a, b);
  if (order == 0) return (a->number > b->number) - (a->number < b->number);
  return by->is_descending ? -order : order;
}

static void sort_rows(const lh_snapshot *snapshot, field_rows *rows) {
  sorting by = {snapshot, rows->is_descending};
  bool is_sorted = rows->order == LH_FIELDS_AS_THEY_ARE && !rows->is_descending;
  if (rows->n > 1 && !is_sorted)
    qsort_r(rows->rows, rows->n, sizeof *rows->rows, compare_field_rows, &by);
}

/* ==== Pages ========================================================================== */

enum { STRIDE = 512 };

struct lh_field_list {
  lh_id id;
  uint64_t n;
  field_scan *saved; /* capacity for all */
  size_t n_saved;
  bool has_rows;
  field_rows rows;
};

static void free_list(lh_field_list *list) {
  lh_free(list->saved);
  free_field_rows(&list->rows);
  lh_free(list);
}

static lh_field_list *make_list(const lh_snapshot *snapshot, lh_id id) {
  lh_field_list *list = lh_alloc_zeroed(1, sizeof *list);
  field_scan scan;
  if (!list) return NULL;
  list->id = id;
  list->n = count_fields(snapshot, id);
  list->saved = lh_alloc((size_t)(list->n / STRIDE) + 1, sizeof scan);
  if (!list->saved) {
    free_list(list);
    return NULL;
  }
  begin_scan(snapshot, id, &scan);
  list->saved[list->n_saved++] = scan;
  return list;
}

static void learn(lh_field_list *list, uint64_t number) {
  while (list->n_saved <= number / STRIDE) {
    field_scan scan = list->saved[list->n_saved - 1];
    skip_fields(&scan, STRIDE);
    list->saved[list->n_saved++] = scan;
  }
}

static bool find_list(lh_snapshot *snapshot, lh_id id) {
  if (snapshot->fields && snapshot->fields->id == id) return true;
  if (snapshot->fields) free_list(snapshot->fields);
  snapshot->free_fields = free_list;
  snapshot->fields = make_list(snapshot, id);
  return snapshot->fields != NULL;
}

static bool is_filter(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool find_rows(const lh_snapshot *snapshot, lh_field_list *list,
                      const lh_field_query *query) {
  const char *filter = filter_of(query);
  field_rows *rows = &list->rows;
  bool is_same_order = rows->order == query->order && rows->is_descending == query->is_descending;
  if (list->has_rows && is_same_order && is_filter(rows->filter, filter)) return true;
  free_field_rows(rows);
  list->has_rows = make_field_rows(snapshot, list->id, list->n, query, rows);
  if (list->has_rows) sort_rows(snapshot, rows);
  return list->has_rows;
}

static field_scan find_field(lh_field_list *list, uint64_t number) {
  learn(list, number);
  field_scan scan = list->saved[number / STRIDE];
  skip_fields(&scan, number % STRIDE);
  return scan;
}

static bool is_as_it_is(const lh_field_query *query) {
  return query->order == LH_FIELDS_AS_THEY_ARE && !query->is_descending && !filter_of(query);
}

static bool read_page(lh_field_list *list, const lh_field_query *query, bool as_it_is,
                      lh_object_fields *out) {
  size_t from = query->from < out->matching ? query->from : (size_t)out->matching;
  size_t most = (size_t)out->matching - from;
  size_t n = query->limit == 0 || query->limit > most ? most : query->limit;
  out->list = lh_alloc(n, sizeof *out->list);
  if (!out->list) return false;
  field_scan scan;
  for (; out->n < n; out->n++) {
    if (!as_it_is || out->n == 0)
      scan = find_field(list, as_it_is ? from : list->rows.rows[from + out->n].number);
    (void)scan_next(&scan, &out->list[out->n]);
  }
  return true;
}

int lh_find_object_fields(lh_snapshot *snapshot, lh_id id, const lh_field_query *query,
                          lh_object_fields *out, lh_error *error) {
  bool as_it_is = is_as_it_is(query);
  *out = (lh_object_fields){0};
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "fields need a classified snapshot (lh_classify)");
  if (id > snapshot->n) return lh_fail(error, LH_EARGUMENT, "there is no object %u", id);
  if (!find_list(snapshot, id)) return lh_fail_memory(error, "reading fields");
  lh_field_list *list = snapshot->fields;
  if (!as_it_is && list->n > UINT32_MAX)
    return lh_fail(error, LH_ELIMIT, "the object has too many fields to put them in an order");
  if (!as_it_is && !find_rows(snapshot, list, query))
    return lh_fail_memory(error, "sorting fields");
  out->total = list->n;
  out->matching = as_it_is ? list->n : list->rows.n;
  if (read_page(list, query, as_it_is, out)) return LH_OK;
  lh_object_fields_free(out);
  return lh_fail_memory(error, "reading fields");
}

void lh_object_fields_free(lh_object_fields *fields) {
  lh_free(fields->list);
  *fields = (lh_object_fields){0};
}
