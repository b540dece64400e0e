/*
** field_rows.c - the fields of an object that a filter leaves, in an order: 16 bytes each.
**
** Of ten million fields a page is looked at, and then another. So they are never sorted as a whole,
** but as Quicksort would, in the part alone that has the page: about two passes over the rows,
** which stay as sorted as they have become. Rows are compared by a number; where those are bytes
** of strings, and the same, by the strings. Pivots are chosen by chance, and no two rows
** are equal.
*/
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "graph/graph.h"
#include "name/names.h"

/* What a row is in order by; every other number is a string. */
enum { ROW_INTEGER = 0 };
#define ROW_NOTHING UINT32_MAX
#define ROW_BOOLEAN (UINT32_MAX - 1)
#define ROW_FLOAT (UINT32_MAX - 2)
#define ROW_POINTER (UINT32_MAX - 3)
#define ROW_OBJECT (UINT32_MAX - 4)

static bool is_string_row(const lh_field_row *row) {
  return row->what != ROW_INTEGER && row->what < ROW_OBJECT;
}

/* {=== What a field ranks by ========================================================== */

/* The bits of a float, turned so that they are in the order of the numbers. */
static uint64_t order_of_float(double number) {
  uint64_t bits, sign = UINT64_C(1) << 63;
  memcpy(&bits, &number, sizeof bits);
  return bits & sign ? ~bits : bits | sign;
}

static void rank_value(const lh_snapshot *s, lh_value value, lh_field_row *row) {
  switch (value.kind) {
    case LH_VALUE_BOOLEAN: *row = (lh_field_row){value.as.boolean, ROW_BOOLEAN, 0}; break;
    case LH_VALUE_INTEGER:
      *row = (lh_field_row){(uint64_t)value.as.integer ^ UINT64_C(1) << 63, ROW_INTEGER, 0};
      break;
    case LH_VALUE_FLOAT:
      *row = (lh_field_row){order_of_float(value.as.number), ROW_FLOAT, 0};
      break;
    case LH_VALUE_POINTER:
    case LH_VALUE_CFUNCTION: *row = (lh_field_row){value.as.pointer, ROW_POINTER, 0}; break;
    case LH_VALUE_OBJECT:
      if (lh_is_string(s, value.as.object))
        *row = (lh_field_row){0, value.as.object, 0}; /* until rank_strings */
      else
        *row = (lh_field_row){value.as.object, ROW_OBJECT, 0};
      break;
    default: *row = (lh_field_row){0, ROW_NOTHING, 0}; break;
  }
}

/* What has no key is in order by its kind, and by which of its kind it is. */
static void rank_key(const lh_snapshot *s, const lh_edge *edge, lh_field_row *row) {
  if (edge->kind == LH_EDGE_VALUE)
    rank_value(s, edge->key, row);
  else if (edge->name != LH_NO_OBJECT)
    rank_value(s, (lh_value){.kind = LH_VALUE_OBJECT, .as.object = edge->name}, row);
  else
    *row = (lh_field_row){(uint64_t)edge->kind << 32 | edge->ordinal, ROW_NOTHING, 0};
}

static lh_field_row row_of(const lh_snapshot *s, lh_field_order order, const lh_object_field *f) {
  lh_field_row row = {0};
  lh_id id = f->value.kind == LH_VALUE_OBJECT ? f->value.as.object : LH_NO_OBJECT;
  switch (order) {
    case LH_FIELDS_BY_KEY: rank_key(s, &f->edge, &row); break;
    case LH_FIELDS_BY_VALUE: rank_value(s, f->value, &row); break;
    case LH_FIELDS_BY_RETAINED: row.rank = lh_retained_bytes(s, id); break;
    case LH_FIELDS_BY_SHALLOW: row.rank = lh_shallow_bytes(s, id); break;
    case LH_FIELDS_AS_THEY_ARE: row.rank = f->number; break;
  }
  row.number = (uint32_t)f->number;
  return row;
}

/* The bytes from number `from` on, so that numbers compare as strings do. */
static uint64_t bytes_of(const lh_snapshot *s, lh_id string, size_t from) {
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

/* A string ranks by what follows on the beginning that all have: session_1, session_2. */
static void rank_strings(const lh_snapshot *s, lh_field_rows *rows) {
  const char *first = NULL, *bytes;
  size_t n = 0, n_bytes;
  for (size_t i = 0; i < rows->n && (!first || n > 0); i++) {
    if (!is_string_row(&rows->rows[i])) continue;
    (void)lh_string_whole(s, rows->rows[i].what, &bytes, &n_bytes);
    n = first ? common_bytes(first, n, bytes, n_bytes) : n_bytes;
    if (!first) first = bytes;
  }
  for (size_t i = 0; first && i < rows->n; i++)
    if (is_string_row(&rows->rows[i])) rows->rows[i].rank = bytes_of(s, rows->rows[i].what, n);
}

/* }=================================================================================== */

/* {=== The filter ===================================================================== */

/* A class is compared once, however many of its objects there are. */
typedef struct filtering {
  const lh_snapshot *snapshot;
  const char *filter;
  size_t n;
  uint8_t *class_has; /* 0: not known yet, 1: no, 2: yes */
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

/* }=================================================================================== */

bool lh_field_rows_make(const lh_snapshot *snapshot, lh_id id, uint64_t n,
                        const lh_field_query *query, lh_field_rows *out) {
  const char *filter = query->filter && *query->filter ? query->filter : NULL;
  filtering c = {snapshot, filter, filter ? strlen(filter) : 0, NULL, {0}};
  lh_field_scan scan;
  lh_object_field field;
  *out = (lh_field_rows){.order = query->order, .is_descending = query->is_descending};
  out->rows = lh_alloc((size_t)n, sizeof *out->rows);
  c.class_has = filter ? lh_alloc_zeroed((size_t)lh_class_count(snapshot) + 1, 1) : NULL;
  out->filter = filter ? lh_copy_text(filter) : NULL;
  bool ok = out->rows && (!filter || (c.class_has && out->filter));
  lh_field_scan_begin(snapshot, id, &scan);
  while (ok && lh_field_scan_next(&scan, &field)) {
    if (!filter || is_left(&c, &field)) out->rows[out->n++] = row_of(snapshot, out->order, &field);
    ok = !c.text.failed;
  }
  lh_free(c.class_has);
  lh_text_free(&c.text);
  if (ok) rank_strings(snapshot, out);
  if (!ok) lh_field_rows_free(out);
  return ok;
}

void lh_field_rows_free(lh_field_rows *rows) {
  lh_free(rows->filter);
  lh_free(rows->rows);
  *rows = (lh_field_rows){0};
}

/* {=== The order ====================================================================== */

typedef struct sorting {
  const lh_snapshot *snapshot;
  bool is_descending;
  uint64_t random;
} sorting;

static unsigned kind_of(uint32_t what) {
  switch (what) {
    case ROW_BOOLEAN: return 0;
    case ROW_INTEGER: return 1;
    case ROW_FLOAT: return 2;
    case ROW_POINTER: return 4;
    case ROW_OBJECT: return 5;
    case ROW_NOTHING: return 6;
    default: return 3; /* strings */
  }
}

static int compare_bytes(const char *a, size_t n_a, const char *b, size_t n_b) {
  size_t n = n_a < n_b ? n_a : n_b;
  int order = n ? memcmp(a, b, n) : 0;
  return order ? order : (n_a > n_b) - (n_a < n_b);
}

static int compare_strings(const lh_snapshot *s, lh_id a, lh_id b) {
  const char *x, *y;
  size_t n_x, n_y;
  if (a == b) return 0;
  (void)lh_string_whole(s, a, &x, &n_x);
  (void)lh_string_whole(s, b, &y, &n_y);
  return compare_bytes(x, n_x, y, n_y);
}

static const char *class_name(const lh_snapshot *s, uint64_t id) {
  uint32_t class_index = lh_class_of(s, (lh_id)id);
  return class_index == UINT32_MAX ? "" : lh_class_at(s, class_index)->name;
}

static int compare_values(const lh_snapshot *s, const lh_field_row *a, const lh_field_row *b) {
  unsigned kind = kind_of(a->what), other = kind_of(b->what);
  int order = 0;
  if (kind != other) return kind < other ? -1 : 1;
  if (a->what == ROW_OBJECT) order = strcmp(class_name(s, a->rank), class_name(s, b->rank));
  if (order == 0) order = (a->rank > b->rank) - (a->rank < b->rank);
  return order == 0 && kind == 3 ? compare_strings(s, a->what, b->what) : order;
}

static bool is_before(const sorting *c, const lh_field_row *a, const lh_field_row *b) {
  int order = compare_values(c->snapshot, a, b);
  if (order == 0) return a->number < b->number;
  return c->is_descending ? order > 0 : order < 0;
}

/* Splits at a row that is chosen by chance, and returns where that is then. */
static size_t split(sorting *c, lh_field_row *rows, size_t first, size_t end) {
  c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  size_t chosen = first + (size_t)(c->random >> 11) % (end - first), to = first;
  lh_field_row pivot = rows[chosen];
  rows[chosen] = rows[end - 1];
  for (size_t i = first; i < end - 1; i++) {
    if (!is_before(c, &rows[i], &pivot)) continue;
    lh_field_row row = rows[i];
    rows[i] = rows[to];
    rows[to++] = row;
  }
  rows[end - 1] = rows[to];
  rows[to] = pivot;
  return to;
}

/* The parts that are still to be done are at most as many as the number has digits, since the
** smaller one is always done first. */
void lh_field_rows_sort(const lh_snapshot *snapshot, lh_field_rows *rows, size_t from, size_t to) {
  enum { MOST_PARTS = 64 };
  struct {
    size_t first, end;
  } parts[MOST_PARTS];
  sorting c = {snapshot, rows->is_descending, lh_random_seed()};
  size_t n = 0, first = 0, end = rows->n;
  for (;;) {
    while (end - first > 1 && end > from && first < to) {
      size_t at = split(&c, rows->rows, first, end);
      bool is_left_smaller = at - first < end - at;
      parts[n].first = is_left_smaller ? at + 1 : first;
      parts[n++].end = is_left_smaller ? end : at;
      if (is_left_smaller)
        end = at;
      else
        first = at + 1;
    }
    if (n == 0) return;
    first = parts[--n].first;
    end = parts[n].end;
  }
}

/* }=================================================================================== */
