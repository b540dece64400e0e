/*
** object.c - one object: class, sizes, path, age, allocation site, facts of its type; and page by
** page its fields: entries, variables, constants.
*/
#include "report/report.h"

/* ==== The object ===================================================================== */

/* Limits: bytes of a string, frames of a stack. */
enum { MOST_BYTES = 65536, MOST_FRAMES = 200 };

typedef struct elsewhere {
  const char *name;
  lh_snapshot *snapshot;
  lh_id id; /* LH_NO_OBJECT: not in that snapshot */
  uint64_t number;
} elsewhere;

typedef struct object_result {
  lh_id id;
  lh_object object;
  lh_id metatable, proto, dominator;
  lh_object code;       /* of a Lua function, or the prototype itself */
  char *path, *through; /* NULL: garbage, or `path` says all */
  elsewhere *others;
  size_t n_others;
} object_result;

/* ==== Of any object ================================================================== */

static void object_text(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_kept(report, lh_object_text(report->snapshot, id));
}

LH_CELL(alive_of, object_result, cell->as.flag = lh_is_reachable(report->snapshot, it->id))

/* Fixed objects and those that wait for a finalizer have no age. */
LH_ITS(bool, has_age, object_result,
       it->object.list == LH_LIST_ALLGC || it->object.list == LH_LIST_FINOBJ)
LH_CELL(position_of, object_result, cell->as.n = lh_position_of(report->snapshot, it->id))

/* Marks around its allocation: "after warm and before end". */
static const char *age_words(lh_report *report, lh_id id) {
  uint32_t epoch = lh_epoch(report->snapshot, id), n = lh_mark_count(report->snapshot);
  if (n == 0) return NULL;
  return lh_words(report, "%s%s%s%s", epoch > 0 ? "after " : "",
                  epoch > 0 ? lh_epoch_words(report, epoch) : "",
                  epoch == n  ? ""
                  : epoch > 0 ? " and before "
                              : "before ",
                  epoch < n ? lh_epoch_words(report, epoch + 1) : "");
}
LH_CELL(age_of, object_result, cell->as.text = age_words(report, it->id))

static void site_of(lh_report *report, const void *row, lh_cell *cell) {
  lh_stack_id stack = lh_object_stack(report->snapshot, ((const object_result *)row)->id);
  cell->is_absent = !lh_snapshot_tracking(report->snapshot);
  if (stack != 0)
    cell->as.text = lh_kept(report, lh_stack_text(lh_snapshot_sites(report->snapshot), stack, 0));
}

/* ==== Of one type ==================================================================== */

#define IS_OF(name, its_type) \
  LH_ITS(bool, name, object_result, it->object.type == its_type && !it->object.dead)
IS_OF(is_string, LH_TYPE_STRING)
IS_OF(is_table, LH_TYPE_TABLE)
IS_OF(is_userdata, LH_TYPE_USERDATA)
IS_OF(is_thread, LH_TYPE_THREAD)

LH_ITS(bool, is_external, object_result, it->object.as.string.external_bytes > 0 && is_string(it))
LH_ITS(bool, is_fixed, object_result, it->object.as.string.is_fixed &&is_string(it))
LH_ITS(bool, has_code, object_result, it->code.type == LH_TYPE_PROTO)

static void content_of(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_kept(report, lh_string_text(report->snapshot, id, MOST_BYTES));
}

LH_CELL(weak_mode_of, object_result, cell->as.text = lh_weak_mode_name(&it->object))

LH_CELL(weakness_of, object_result, bool keys = it->object.as.table.weak_keys;
        bool values = it->object.as.table.weak_values;
        cell->as.text = keys && values ? "keys and values"
                        : keys         ? "keys"
                        : values       ? "values"
                                       : NULL)

LH_CELL(entries_of, object_result,
        cell->as.n = it->object.as.table.array_used + it->object.as.table.hash_used)

static void source_of(lh_report *report, const void *row, lh_cell *cell) {
  lh_id source = ((const object_result *)row)->code.as.proto.source;
  lh_object string;
  lh_text text = {0};
  lh_object_at(report->snapshot, source, &string);
  bool is_kept = string.type == LH_TYPE_STRING && !string.dead;
  uint64_t n = is_kept ? string.as.string.kept : 0;
  if (n > LH_DEFAULT_STRING_BYTES) n = LH_DEFAULT_STRING_BYTES;
  lh_text_source(&text, is_kept ? string.as.string.bytes : "", (size_t)n,
                 !is_kept || n == string.as.string.length);
  cell->as.text = lh_kept(report, lh_text_finish(&text));
}

LH_CELL(status_of, object_result,
        cell->as.text = lh_thread_status_name(it->object.as.thread.status))

/* The innermost first. */
static void frames_of(lh_report *report, const void *row, lh_cell *cell) {
  lh_edges it;
  lh_frame frame, last[MOST_FRAMES];
  size_t n = 0;
  (void)cell;
  lh_frames_begin(report->snapshot, ((const object_result *)row)->id, &it);
  while (lh_frames_next(&it, &frame))
    if (frame.function.kind != LH_VALUE_NIL) last[n++ % MOST_FRAMES] = frame;
  for (size_t i = 0; i < n && i < MOST_FRAMES && !report->failed; i++)
    (void)lh_kept(report, lh_frame_text(report->snapshot, &last[(n - 1 - i) % MOST_FRAMES]));
}

LH_ITS(bool, was_there, elsewhere, it->id != LH_NO_OBJECT)
LH_MADE_TEXT(address_there, elsewhere, lh_copy_text(lh_address_text(it->snapshot, it->id).text))
LH_CELL(shallow_there, elsewhere, cell->as.n = lh_shallow_bytes(it->snapshot, it->id))

#define ROW elsewhere
static const lh_table elsewhere_table =
    LH_TABLE_OF("heap.elsewhere", "snapshot", "snapshots",
                LH_COUNT("in", NULL, number, "the number of that snapshot, 0 the first"),
                LH_NAME("name", name, "of its file"),
                LH_COMPUTED("address", NULL, LH_COLUMN_TEXT, address_there,
                            "null where it was not there", LH_WHERE(was_there)),
                LH_COMPUTED("shallow_bytes", NULL, LH_COLUMN_BYTES, shallow_there, "its own there",
                            LH_WHERE(was_there)));
#undef ROW

#define ROW object_result
static const lh_table object_answer = LH_TABLE_OF(
    "heap.object_view", NULL, NULL, LH_OBJECT("object", id, "itself", LH_ADDRESS),
    LH_OF("text", NULL, LH_COLUMN_TEXT, id, object_text, "as Lua prints it"),
    LH_BYTES("shallow_bytes", NULL, object.shallow_bytes, "its own"),
    LH_OF("retained_bytes", NULL, LH_COLUMN_BYTES, id, lh_cell_retained,
          "what would go if it went; of garbage 0"),
    LH_COMPUTED("reachable", NULL, LH_COLUMN_FLAG, alive_of, "something keeps it alive"),
    LH_OF("distance", NULL, LH_COLUMN_COUNT, id, lh_cell_distance,
          "references on the shortest path from a root; null for garbage", LH_OPTIONAL),
    LH_TEXT("held_by", NULL, path, "a path; null for garbage", LH_OPTIONAL),
    LH_TEXT("through", NULL, through,
            "who holds the function that the path begins at; null where it says so", LH_OPTIONAL),
    LH_EXAMPLE("immediate_dominator", NULL, dominator,
               "the nearest object that would free it; null: none", LH_OPTIONAL),
    LH_EXAMPLE("dominator", NULL, dominator, LH_OLDER_NAME, LH_OPTIONAL),
    LH_WORD("list", NULL, object.list, lh_list_name, "of the collector, such as \"allgc\""),
    LH_COMPUTED("position", NULL, LH_COLUMN_COUNT, position_of,
                "how many objects were allocated before it; null for what has no age",
                LH_WHERE(has_age)),
    LH_COMPUTED("age", NULL, LH_COLUMN_TEXT, age_of, "between which marks it was allocated",
                LH_WHERE(has_age)),
    LH_COMPUTED("site", NULL, LH_COLUMN_TEXT, site_of,
                "where it was allocated; absent where the program was not tracked", LH_OPTIONAL),
    LH_EXAMPLE("metatable", NULL, metatable, "null: it has none", LH_OPTIONAL),
    LH_OF("content", NULL, LH_COLUMN_TEXT, id, content_of, "of a string, in quotes",
          LH_ONLY_WHERE(is_string)),
    LH_COUNT("length_bytes", NULL, object.as.string.length, "of a string",
             LH_ONLY_WHERE(is_string)),
    LH_COUNT("length", NULL, object.as.string.length, LH_OLDER_NAME, LH_ONLY_WHERE(is_string)),
    LH_BYTES("external_bytes", NULL, object.as.string.external_bytes,
             "of a string's own, those that collectgarbage(\"count\") leaves out; else absent",
             LH_ONLY_WHERE(is_external)),
    LH_FLAG("is_fixed", object.as.string.is_fixed,
            "the text of a string is memory that nobody frees; else absent",
            LH_ONLY_WHERE(is_fixed)),
    LH_COMPUTED("entries", NULL, LH_COLUMN_COUNT, entries_of, "of a table",
                LH_ONLY_WHERE(is_table)),
    LH_COUNT("array_slots", NULL, object.as.table.array_slots, "of a table",
             LH_ONLY_WHERE(is_table)),
    LH_COUNT("hash_slots", NULL, object.as.table.hash_slots, "of a table", LH_ONLY_WHERE(is_table)),
    LH_COMPUTED("weak_mode", NULL, LH_COLUMN_TEXT, weak_mode_of,
                "of a table: k, v or kv; null: nothing is weak", LH_ONLY_WHERE(is_table)),
    LH_COMPUTED("weak", NULL, LH_COLUMN_TEXT, weakness_of, LH_OLDER_NAME, LH_ONLY_WHERE(is_table)),
    LH_EXAMPLE("proto", NULL, proto, "of a function in Lua", LH_ONLY_WHERE(has_code)),
    LH_COMPUTED("file", NULL, LH_COLUMN_TEXT, source_of, "of a function in Lua",
                LH_ONLY_WHERE(has_code)),
    LH_COMPUTED("source", NULL, LH_COLUMN_TEXT, source_of, LH_OLDER_NAME, LH_ONLY_WHERE(has_code)),
    LH_COUNT("line", NULL, code.as.proto.line, "where that begins", LH_ONLY_WHERE(has_code)),
    LH_COUNT("last_line", NULL, code.as.proto.last_line, "where that ends",
             LH_ONLY_WHERE(has_code)),
    LH_COUNT("instructions", NULL, code.as.proto.instructions, "of its code",
             LH_ONLY_WHERE(has_code)),
    LH_BYTES("user_bytes", NULL, object.as.userdata.bytes, "of a userdata's block",
             LH_ONLY_WHERE(is_userdata)),
    LH_BYTES("bytes", NULL, object.as.userdata.bytes, LH_OLDER_NAME, LH_ONLY_WHERE(is_userdata)),
    LH_COMPUTED("status", NULL, LH_COLUMN_TEXT, status_of, "of a coroutine",
                LH_ONLY_WHERE(is_thread)),
    LH_COMPUTED("frames", NULL, LH_COLUMN_TEXTS, frames_of, "of a coroutine, the innermost first",
                LH_ONLY_WHERE(is_thread)),
    LH_ROWS("elsewhere", others, n_others, &elsewhere_table,
            "the same object in other snapshots of the same state", LH_OWNED));
#undef ROW

static void print_object(lh_printer *t, lh_report *report) {
  const object_result *f = report->answer;
  uint64_t retained = lh_retained_bytes(report->snapshot, f->id);
  const char *what = lh_object_words(report, f->id), *age = NULL;
  if (!lh_is_reachable(report->snapshot, f->id))
    lh_say(t, LH_BOLD, "%s: %s of garbage, which nothing keeps alive, waiting for the collector",
           what, lh_format_size(t, f->object.shallow_bytes).text);
  else
    lh_say(t, LH_BOLD, "%s retains %s, %s of the heap; it stays because of %s%s%s%s", what,
           lh_format_size(t, retained).text, lh_share_of_heap(report, retained).text, f->path,
           f->through ? " (through " : "", f->through ? f->through : "", f->through ? ")" : "");
  lh_print_asked(t, report);
  if (has_age(f)) age = age_words(report, f->id);
  if (age) lh_say(t, LH_PLAIN, "allocated %s", age);
  lh_print_origin(t, report->snapshot, f->id);
}

/* Snapshots of other states are skipped. */
static bool find_others(lh_snapshot *snapshot, const lh_request *request, object_result *f) {
  f->others = lh_alloc(request->n_snapshots, sizeof *f->others);
  if (!f->others) return false;
  for (size_t i = 0; i < request->n_snapshots; i++) {
    lh_snapshot *other = request->snapshots[i];
    if (other == snapshot || !lh_is_same_state(snapshot, other)) continue;
    f->others[f->n_others++] = (elsewhere){i < request->n_names ? request->names[i] : "", other,
                                           lh_same_object(snapshot, f->id, other), i};
  }
  return true;
}

/* Called once: a step through a table costs O(entries). */
static int find_path(lh_snapshot *snapshot, object_result *f, lh_error *error) {
  lh_path path;
  if (!lh_is_reachable(snapshot, f->id)) return LH_OK;
  if (lh_distance(snapshot, f->id) > LH_LONG_PATH)
    return lh_held_by(snapshot, f->id, &f->path, error);
  int code = lh_shortest_path(snapshot, f->id, &path, error);
  if (code != LH_OK) return code;
  f->path = lh_path_text(snapshot, &path, false);
  if (!f->path) code = lh_fail_memory(error, "telling a path");
  if (code == LH_OK) code = lh_path_through(snapshot, &path, false, &f->through, error);
  lh_paths_free(&path, 1);
  return code;
}

static void look_at_code(lh_snapshot *snapshot, object_result *f) {
  f->proto = LH_NO_OBJECT;
  if (f->object.dead) return;
  if (f->object.type == LH_TYPE_PROTO) f->code = f->object;
  if (f->object.type != LH_TYPE_CLOSURE || f->object.as.closure.is_c) return;
  f->proto = f->object.as.closure.proto;
  if (lh_type_of(snapshot, f->proto) == LH_TYPE_PROTO && !lh_is_dead(snapshot, f->proto))
    lh_object_at(snapshot, f->proto, &f->code);
}

static void free_object(void *out) {
  LH_FREE_ALL(((object_result *)out)->path, ((object_result *)out)->through);
}

static int find_object(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  object_result *f = out;
  f->id = request->id;
  if (f->id == LH_ROOT) return lh_fail(error, LH_EARGUMENT, "the root is no object");
  lh_object_at(snapshot, f->id, &f->object);
  f->metatable = f->object.type == LH_TYPE_TABLE      ? f->object.as.table.metatable
                 : f->object.type == LH_TYPE_USERDATA ? f->object.as.userdata.metatable
                                                      : LH_NO_OBJECT;
  f->dominator = lh_immediate_dominator(snapshot, f->id);
  if (f->dominator == LH_ROOT) f->dominator = LH_NO_OBJECT;
  look_at_code(snapshot, f);
  int code = find_path(snapshot, f, error);
  if (code == LH_OK && !find_others(snapshot, request, f))
    code = lh_fail_memory(error, "looking at an object");
  return code;
}

LH_QUESTION(object, .free = free_object);

/* ==== Fields ========================================================================= */

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

static bool is_live_string(const lh_snapshot *snapshot, lh_id id) {
  return lh_type_of(snapshot, id) == LH_TYPE_STRING && !lh_is_dead(snapshot, id);
}

LH_MADE_TEXT(label_of, field_row, lh_edge_text(report->snapshot, &it->field.edge))

static void field_key(lh_report *report, const void *row, lh_cell *cell) {
  const lh_edge *edge = &((const field_row *)row)->field.edge;
  bool is_object = edge->kind == LH_EDGE_VALUE && edge->key.kind == LH_VALUE_OBJECT &&
                   !is_live_string(report->snapshot, edge->key.as.object);
  cell->as.object = is_object ? edge->key.as.object : LH_NO_OBJECT;
}

/* A string or scalar as in Lua source; of other objects the class. */
static void value_of(lh_report *report, const void *row, lh_cell *cell) {
  const field_row *r = row;
  bool is_other = r->object != LH_NO_OBJECT && !is_live_string(report->snapshot, r->object);
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
  cell->is_absent = !is_live_string(report->snapshot, id);
  if (cell->is_absent) return;
  lh_object_at(report->snapshot, id, &string);
  cell->as.n = string.as.string.length;
}

LH_STYLE(field_style, field_row, it->field.edge.weak ? LH_FAINT : LH_PLAIN)

#define ROW field_row
static const lh_table field_table = LH_TABLE_WITH(
    (.style = field_style), "heap.object_field", "field", "fields",
    LH_COUNT("number", NULL, field.number, "in the order of the object, from 0 on"),
    LH_COMPUTED("label", "field", LH_COLUMN_TEXT, label_of, "as it is written in a path"),
    LH_WORD("edge", NULL, field.edge.kind, lh_edge_kind_name, "what it is, such as \"value\""),
    LH_COMPUTED("key", NULL, LH_COLUMN_EXAMPLE, field_key, "of an entry, where it is no string",
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

/* Explains fields that retain more than the object: they have other paths. */
static void print_more(lh_printer *t, const lh_snapshot *snapshot, const fields_result *f) {
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

static void print_fields(lh_printer *t, lh_report *report) {
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
