/*
** fields.c - the fields of an object, page by page: entries, variables, constants.
*/
#include <string.h>

#include "report/report.h"

/* Rows of a page without a limit, and the most. */
enum { USUAL_ROWS = 100, MOST_ROWS = 10000 };

typedef struct field_row {
  lh_object_field field;
  lh_id object; /* the value, if it is an object; else LH_NO_OBJECT */
} field_row;

typedef struct fields_result {
  lh_id id;
  uint64_t from, total, matching;
  field_row *rows;
  size_t n;
} fields_result;

static bool is_string(const lh_snapshot *snapshot, lh_id id) {
  return lh_type_of(snapshot, id) == LH_TYPE_STRING && !lh_is_dead(snapshot, id);
}

/* ==== Columns ======================================================================== */

LH_MADE_TEXT(label_of, field_row, lh_edge_text(report->snapshot, &it->field.edge))

static void key_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_edge *edge = &((const field_row *)row)->field.edge;
  bool is_object = edge->kind == LH_EDGE_VALUE && edge->key.kind == LH_VALUE_OBJECT &&
                   !is_string(report->snapshot, edge->key.as.object);
  cell->as.object = is_object ? edge->key.as.object : LH_NO_OBJECT;
}

/* A string or scalar as in Lua source; of other objects the class. */
static void value_of(lh_report *report, const void *row, lh_cell *cell) {
  const field_row *r = row;
  bool is_other = r->object != LH_NO_OBJECT && !is_string(report->snapshot, r->object);
  cell->as.text = is_other ? lh_class_name_of(report->snapshot, r->object)
                           : lh_kept(report, lh_value_text(report->snapshot, r->field.value));
}

static void type_of_value(lh_report *report, const void *row, lh_cell *cell) {
  static const char *const words[] = {"nil",      "boolean",        "integer",   "float",
                                      "userdata", "light function", "an object", "none"};
  const field_row *r = row;
  cell->as.text = r->object != LH_NO_OBJECT ? lh_type_name(lh_type_of(report->snapshot, r->object))
                                            : LH_WORD_OF(words, r->field.value.kind);
}

LH_ITS(bool, has_object, field_row, it->object != LH_NO_OBJECT)

static void length_of(lh_report *report, const void *row, lh_cell *cell) {
  lh_id id = ((const field_row *)row)->object;
  lh_object string;
  cell->is_absent = !is_string(report->snapshot, id);
  if (cell->is_absent) return;
  lh_object_at(report->snapshot, id, &string);
  cell->as.n = string.as.string.length;
}

LH_STYLE(style_of, field_row, it->field.edge.weak ? LH_FAINT : LH_PLAIN)

#define ROW field_row
static const lh_table field_table = LH_TABLE_WITH(
    (.style = style_of), "heap.object_field", "field", "fields",
    LH_COUNT("number", NULL, field.number, "in the order of the object, from 0 on"),
    LH_COMPUTED("label", "field", LH_COLUMN_TEXT, label_of, "as it is written in a path"),
    LH_WORD("edge", NULL, field.edge.kind, lh_edge_kind_name, "what it is, such as \"value\""),
    LH_COMPUTED("key", NULL, LH_COLUMN_EXAMPLE, key_of, "of an entry, where it is no string",
                LH_OPTIONAL),
    LH_COMPUTED("value", "value", LH_COLUMN_TEXT, value_of,
                "as Lua's source has it; the class of what is no string"),
    LH_COMPUTED("value_type", NULL, LH_COLUMN_TEXT, type_of_value, "such as \"integer\""),
    LH_OBJECT("object", object, "the value, where it is one", LH_ADDRESS, LH_OPTIONAL),
    LH_EXAMPLE(NULL, "address", object, NULL),
    LH_OF("shallow_bytes", "shallow", LH_COLUMN_BYTES, object, lh_cell_shallow, "of the value",
          LH_OPTIONAL),
    LH_OF("retained_bytes", "retained", LH_COLUMN_BYTES, object, lh_cell_retained, "of the value",
          LH_OPTIONAL),
    LH_COMPUTED("length_bytes", NULL, LH_COLUMN_COUNT, length_of, "of a string",
                LH_ONLY_WHERE(has_object)),
    LH_COMPUTED("length", NULL, LH_COLUMN_COUNT, length_of, LH_OLDER_NAME,
                LH_ONLY_WHERE(has_object)),
    LH_EXAMPLE("upvalue", NULL, field.upvalue, "that the value is in", LH_OPTIONAL),
    LH_FLAG("weak", field.edge.weak, "keeps nothing alive"));
#undef ROW

#define ROW fields_result
static const lh_table fields_answer = LH_TABLE_OF(
    "heap.fields", NULL, NULL, LH_OBJECT("object", id, "that has them", LH_ADDRESS, LH_OPTIONAL),
    LH_COUNT("total_fields", NULL, total, "how many it has"),
    LH_COUNT("matching", NULL, matching, "how many of these the filter leaves"),
    LH_COUNT("from", NULL, from, "number of the first one here"),
    LH_ROWS("fields", rows, n, &field_table, "a page of them", LH_OWNED));
#undef ROW

/* ==================================================================================== */

/* Explains fields that retain more than the object: they have other paths. */
static void print_more(lh_teller *t, const lh_snapshot *snapshot, const fields_result *f) {
  uint64_t own = lh_retained_bytes(snapshot, f->id);
  if (f->id != LH_ROOT && !lh_is_reachable(snapshot, f->id)) return;
  for (size_t i = 0; i < f->n; i++)
    if (f->rows[i].object != LH_NO_OBJECT && lh_retained_bytes(snapshot, f->rows[i].object) > own) {
      lh_say(t, LH_PLAIN,
             "What retains more than the object itself is reached by other paths, too: it would "
             "stay\nwithout the object");
      return;
    }
}

static void print_fields(lh_teller *t, lh_report *report) {
  const fields_result *f = report->answer;
  const char *matching = lh_words(report, ", of which %s %s", lh_count_text(f->matching).text,
                                  f->matching == 1 ? "matches" : "match");
  lh_say(t, LH_BOLD, "%s of %s%s", lh_count_of(f->total, field_table.one, field_table.many).text,
         f->id == LH_ROOT ? "root" : lh_object_words(report, f->id),
         f->matching == f->total ? "" : matching);
  if (f->n > 0) lh_print_rows(t, report, &field_table, f->rows, f->n);
  if (f->from + f->n < f->matching) lh_print_hidden(t, &field_table, f->matching - f->from - f->n);
  print_more(t, report->snapshot, f);
}

static int read_order(const char *sorted, lh_field_query *query, lh_error *error) {
  static const char *const words[] = {[LH_FIELDS_AS_THEY_ARE] = "number",
                                      [LH_FIELDS_BY_KEY] = "label",
                                      [LH_FIELDS_BY_VALUE] = "value",
                                      [LH_FIELDS_BY_RETAINED] = "retained_bytes",
                                      [LH_FIELDS_BY_SHALLOW] = "shallow_bytes"};
  if (!sorted) return LH_OK;
  query->is_descending = *sorted == '-';
  for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
    query->order = (lh_field_order)i;
    if (strcmp(words[i], sorted + query->is_descending) == 0) return LH_OK;
  }
  return lh_fail(error, LH_EARGUMENT,
                 "fields are put in order by number, label, value, retained_bytes or "
                 "shallow_bytes, and not by '%.40s'",
                 sorted);
}

static int find_fields(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  fields_result *f = out;
  lh_object_fields fields;
  lh_field_query query = {.from = request->from,
                          .limit = request->has_limit ? request->limit : USUAL_ROWS,
                          .filter = request->filter};
  if (query.limit == 0 || query.limit > MOST_ROWS) query.limit = MOST_ROWS;
  int code = read_order(request->sorted, &query, error);
  if (code == LH_OK) code = lh_find_object_fields(snapshot, request->id, &query, &fields, error);
  if (code != LH_OK) return code;
  *f = (fields_result){.id = request->id,
                       .from = query.from < fields.matching ? query.from : fields.matching,
                       .total = fields.total,
                       .matching = fields.matching,
                       .rows = lh_alloc(fields.n, sizeof *f->rows),
                       .n = fields.n};
  for (size_t i = 0; f->rows && i < f->n; i++) {
    lh_value value = fields.list[i].value;
    lh_id object = value.kind == LH_VALUE_OBJECT ? value.as.object : LH_NO_OBJECT;
    f->rows[i] = (field_row){fields.list[i], object};
  }
  lh_object_fields_free(&fields);
  return f->rows ? LH_OK : lh_fail_memory(error, "reading fields");
}

LH_QUESTION(fields, .main = "fields");
