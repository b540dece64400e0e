/*
** report.c - Converts the library's answers into Lua tables (luaheap_report.h): a list of rows,
** with other columns as fields, and the text of the command, which tostring returns.
*/
#include <string.h>

#include "handles.h"

/* The context of cells. */
typedef struct shown {
  lh_report *report;
  int index;     /* of the snapshot of the objects; 0: none */
  bool is_plain; /* objects are addresses, as in JSON, because the snapshot will be closed */
  bool is_fact;  /* strings are values, not objects */
  char *text;    /* before Lua copies it */
} shown;

typedef struct asked {
  shown shown;
  lh_report report;
} asked;

static void free_asked(void *content) {
  asked *a = content;
  lh_free(a->shown.text);
  if (a->report.answer) lh_report_free(&a->report);
}

static void set_text(lua_State *L, shown *a, char *text) {
  a->text = text;
  if (!text) luaL_error(L, "not enough memory");
  lua_pushstring(L, text);
  lh_free(a->text);
  a->text = NULL;
  lua_setfield(L, -2, "text");
}

/* Sets the total for the shares of the rows. */
static void set_reachable(lua_State *L, const lh_snapshot *snapshot) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  hr_set_integer(L, "reachable_bytes", reach.reachable_bytes);
}

static void set_class(lua_State *L, const lh_snapshot *snapshot, uint32_t class_index) {
  const lh_class *class = lh_class_at(snapshot, class_index);
  hr_set_string(L, "class", class->name);
  hr_set_string(L, "type", lh_type_name(class->type));
}

static void push_object(lua_State *L, const shown *a, lh_id id) {
  if (a->is_plain)
    lua_pushstring(L, lh_address_text(a->report->snapshot, id).text);
  else
    hr_push_object(L, a->index, id);
}

static void set_what(lua_State *L, const shown *a, const lh_column *column, lh_id id) {
  const lh_snapshot *snapshot = a->report->snapshot;
  push_object(L, a, id);
  lua_setfield(L, -2, a->is_plain ? lh_json_key(column) : column->key);
  hr_set_string(L, "class", lh_class_name_of(snapshot, id));
  hr_set_string(L, "type", lh_type_name(lh_type_of(snapshot, id)));
}

/* ==== Rows =========================================================================== */

static void push_row(lua_State *L, shown *a, const lh_table *table, const void *row);

static void push_rows(lua_State *L, shown *a, const lh_cell *cell) {
  const char *row = cell->as.rows.list;
  for (size_t i = 0; i < cell->as.rows.n; i++, row += cell->as.rows.table->row_bytes) {
    push_row(L, a, cell->as.rows.table, row);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes a list, with its own text if the command prints it as a table. */
static void push_list(lua_State *L, shown *a, const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  if (lh_has_text(table)) {
    hr_push_list(L, "heap.rows", cell->as.rows.n);
    set_text(L, a, lh_rows_text(a->report, table, cell->as.rows.list, cell->as.rows.n));
  } else {
    lua_newtable(L);
  }
  push_rows(L, a, cell);
}

/* Pushes a table with the rows under the text of their first column. */
static void push_by_name(lua_State *L, shown *a, const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  const char *row = cell->as.rows.list;
  lua_newtable(L);
  for (size_t i = 0; i < cell->as.rows.n; i++, row += table->row_bytes) {
    lh_cell name;
    lh_cell_of(a->report, table->columns, row, &name);
    lua_pushstring(L, name.as.text);
    push_row(L, a, table, row);
    lua_rawset(L, -3);
  }
}

static void push_series(lua_State *L, const lh_cell *cell) {
  lua_createtable(L, (int)cell->as.series.n, 0);
  for (size_t i = 0; i < cell->as.series.n; i++) {
    lua_pushinteger(L, (lua_Integer)lh_series_at(cell, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_texts(lua_State *L, const lh_cell *cell) {
  hr_push_list(L, "heap.texts", cell->as.texts.n);
  for (size_t i = 0; i < cell->as.texts.n; i++) {
    lua_pushstring(L, cell->as.texts.list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_list_or_one(lua_State *L, shown *a, const lh_column *column, const lh_cell *cell) {
  if (column->is_one)
    push_row(L, a, cell->as.rows.table, cell->as.rows.list);
  else
    (column->is_by_name ? push_by_name : push_list)(L, a, cell);
}

static void push_cell(lua_State *L, shown *a, const lh_column *column, const lh_cell *cell) {
  lh_id id = cell->as.object;
  switch (cell->kind) {
    case LH_COLUMN_BYTES_SERIES:
    case LH_COLUMN_COUNT_SERIES: push_series(L, cell); break;
    case LH_COLUMN_MORE_BYTES:
    case LH_COLUMN_NUMBER: lua_pushnumber(L, cell->as.number); break;
    case LH_COLUMN_FLAG: lua_pushboolean(L, cell->as.flag); break;
    case LH_COLUMN_TEXT: lua_pushstring(L, cell->as.text); break;
    case LH_COLUMN_NAME: lua_pushlstring(L, cell->as.name.bytes, cell->as.name.n); break;
    case LH_COLUMN_HEX: lua_pushstring(L, lh_hex_text(cell->as.n).text); break;
    case LH_COLUMN_VALUE: hr_push_value(L, a->index, cell->as.value); break;
    case LH_COLUMN_STRING:
      if (a->is_fact)
        hr_push_value(L, a->index, (lh_value){LH_VALUE_OBJECT, {.object = id}});
      else
        push_object(L, a, id);
      break;
    case LH_COLUMN_EXAMPLE: push_object(L, a, id); break;
    case LH_COLUMN_EDGE: hr_push_edge(L, a->index, cell->as.edge); break;
    case LH_COLUMN_NAMES:
    case LH_COLUMN_TEXTS: push_texts(L, cell); break;
    case LH_COLUMN_ROWS: push_list_or_one(L, a, column, cell); break;
    default: lua_pushinteger(L, (lua_Integer)cell->as.n); break;
  }
}

/* Sets nothing if the cell is null. */
static void set_cell(lua_State *L, shown *a, const lh_column *column, const lh_cell *cell) {
  if (cell->is_null) return;
  if (cell->kind == LH_COLUMN_OBJECT) {
    set_what(L, a, column, cell->as.object);
  } else if (cell->kind == LH_COLUMN_CLASS) {
    set_class(L, a->report->snapshot, cell->as.class_index);
  } else {
    push_cell(L, a, column, cell);
    lua_setfield(L, -2, column->key);
  }
}

static void set_row(lua_State *L, shown *a, const lh_table *table, const void *row) {
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    lh_cell cell;
    if (!column->key) continue;
    lh_cell_of(a->report, column, row, &cell);
    set_cell(L, a, column, &cell);
  }
}

static void push_row(lua_State *L, shown *a, const lh_table *table, const void *row) {
  lua_newtable(L);
  set_row(L, a, table, row);
}

/* ==== Facts ========================================================================== */

static void check_memory(lua_State *L, lh_report *report) {
  bool failed = report->failed;
  report->failed = false;
  if (failed) luaL_error(L, "not enough memory");
}

int hr_return_fact(lua_State *L, hr_snapshot *of, const lh_column *column, const void *row) {
  lh_cell cell;
  bool is_in_row = !column->of && !column->compute; /* then a closed snapshot has it, too */
  if (column->needs != LH_NEEDS_NOTHING)
    (void)hr_analysed(L, of);
  else if (!is_in_row)
    (void)hr_opened(L, of);
  of->facts.snapshot = of->snapshot;
  lh_cell_of(&of->facts, column, row, &cell);
  check_memory(L, &of->facts);
  if (cell.is_null) return 0;
  shown a = {.report = &of->facts, .is_fact = true};
  if (cell.kind >= LH_COLUMN_OBJECT) { /* it may be an object */
    (void)lua_getiuservalue(L, 1, 1);
    a.index = lua_gettop(L);
  }
  push_cell(L, &a, column, &cell);
  return 1;
}

void hr_set_facts(lua_State *L, hr_snapshot *of, lh_snapshot *snapshot, const lh_table *facts,
                  const void *row) {
  of->facts.snapshot = snapshot;
  set_row(L, &(shown){.report = &of->facts, .is_fact = true}, facts, row);
  check_memory(L, &of->facts);
}

/* ==================================================================================== */

/* Sets the fields of the top list. Returns its rows; null: the answer has none. */
static lh_cell fill(lua_State *L, asked *a) {
  const lh_question *question = a->report.question;
  lh_cell rows = {.is_null = true};
  for (const lh_column *c = question->answer->columns; c->kind != LH_COLUMN_END; c++) {
    lh_cell cell;
    if (!c->key) continue;
    lh_cell_of(&a->report, c, a->report.answer, &cell);
    if (question->main && strcmp(c->key, question->main) == 0)
      rows = cell;
    else
      set_cell(L, &a->shown, c, &cell);
  }
  if (a->report.snapshot) set_reachable(L, a->report.snapshot);
  return rows;
}

/* Pushes the owner of the answer. Raises an error, except for LH_ENOTFOUND, which is in *error. */
static asked *ask(lua_State *L, int index, const char *name, const lh_request *request,
                  lh_error *error) {
  lh_snapshot *snapshot = index != 0 ? hr_check_snapshot(L, index)->snapshot : NULL;
  asked *a = hr_hold(L, index, sizeof *a, free_asked);
  a->shown = (shown){.report = &a->report, .index = index};
  error->code = lh_ask(&a->report, lh_find_question(name), snapshot, request, error);
  if (hr_filled(L, -1, error->code) != LH_ENOTFOUND) hr_check(L, error->code, error);
  return a;
}

/* `plain_kind`: the kind of a plain answer, which has no text; NULL: not plain. */
static int answer(lua_State *L, int index, const char *name, const lh_request *request,
                  const char *plain_kind) {
  lh_error error;
  asked *a = ask(L, index, name, request, &error);
  int hold = lua_gettop(L);
  if (error.code == LH_ENOTFOUND) return hr_fail(L, &error);
  a->shown.is_plain = plain_kind;
  hr_push_list(L, plain_kind ? plain_kind : a->report.question->answer->name, 0);
  lh_cell rows = fill(L, a);
  if (!rows.is_null) push_rows(L, &a->shown, &rows);
  check_memory(L, &a->report);
  if (!plain_kind) set_text(L, &a->shown, lh_report_text(&a->report, "SNAPSHOT"));
  hr_let_go(L, hold);
  return 1;
}

const lh_id *hr_rank(lua_State *L, const lh_request *request, const char *kind, size_t *n) {
  lh_error error;
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  asked *a = ask(L, 1, "objects", request, &error);
  hr_push_list(L, kind, request->limit);
  lh_cell rows = fill(L, a);
  set_text(L, &a->shown, lh_report_text(&a->report, "SNAPSHOT"));
  *n = rows.as.rows.n;
  return rows.as.rows.list;
}

int hr_answer_of(lua_State *L, int index, const char *name, const lh_request *request) {
  return answer(L, index, name, request, NULL);
}

int hr_answer_plain(lua_State *L, const char *name, const char *kind, const lh_request *request) {
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  return answer(L, 1, name, request, kind);
}

int hr_answer(lua_State *L, const char *name, const lh_request *request) {
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  return hr_answer_of(L, 1, name, request);
}

/* n 0 or missing: all rows. */
int hr_report(lua_State *L, const char *name) {
  lua_Integer limit = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, limit >= 0, 2, "a number of rows, or 0 for all");
  return hr_answer(L, name,
                   &(lh_request){.limit = (size_t)limit, .has_limit = !lua_isnoneornil(L, 2)});
}

int hr_under(lua_State *L) {
  static const hl_option options[] = {
      {"depth", HL_COUNT, .field = offsetof(lh_request, depth),
       .given = offsetof(lh_request, has_depth)},
      {"n", HL_COUNT, .field = offsetof(lh_request, limit),
       .given = offsetof(lh_request, has_limit)},
      {"least_bytes", HL_COUNT, .field = offsetof(lh_request, least_bytes),
       .given = offsetof(lh_request, has_least_bytes)},
      {0}};
  hr_snapshot *of;
  lh_request request = {.id = hr_subject(L, &of), .matches = 1};
  hl_read_options(L, 3, options, &request);
  return hr_answer(L, "under", &request);
}
