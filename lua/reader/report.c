/*
** report.c - an answer as a Lua table, by its columns (luaheap_report.h): the list of its rows,
** with what else it says as fields, and as `text` the words of the command, which tostring gives.
*/
#include <string.h>

#include "handles.h"

typedef struct asked {
  hr_snapshot *of;
  lh_report report;
} asked;

static void free_asked(void *content) {
  asked *a = content;
  if (a->report.answer) lh_report_free(&a->report);
}

/* A list has what its rows are measured by. */
void hr_set_reachable(lua_State *L, const lh_snapshot *snapshot) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  hr_set_integer(L, "reachable_bytes", reach.reachable_bytes);
}

void hr_set_class(lua_State *L, const lh_snapshot *snapshot, uint32_t class_index) {
  const lh_class *class = lh_class_at(snapshot, class_index);
  hr_set_string(L, "class", class->name);
  hr_set_string(L, "type", lh_type_name(class->type));
}

void hr_set_what(lua_State *L, const lh_snapshot *snapshot, const char *key, lh_id id) {
  if (id == LH_NO_OBJECT || id == LH_ROOT) return;
  hr_set_object(L, key, 1, id);
  hr_set_string(L, "class", lh_class_name_of(snapshot, id));
  hr_set_string(L, "type", lh_type_name(lh_type_of(snapshot, id)));
}

/* {=== Rows =========================================================================== */

static void push_row(lua_State *L, asked *a, const lh_table *table, const void *row);

static void push_rows(lua_State *L, asked *a, const lh_cell *cell) {
  const char *row = cell->as.rows.list;
  for (size_t i = 0; i < cell->as.rows.n; i++, row += cell->as.rows.table->row_bytes) {
    push_row(L, a, cell->as.rows.table, row);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static bool has_headings(const lh_table *table) {
  const lh_column *column = table->columns;
  while (column->kind != LH_COLUMN_END && !column->heading) column++;
  return column->heading;
}

/* A list, which has text of its own where its rows are a table of the text. */
static void push_list(lua_State *L, asked *a, const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  if (has_headings(table)) {
    hr_push_list(L, "heap.rows", cell->as.rows.n);
    hr_push_text(L, a->of, lh_rows_text(&a->report, table, cell->as.rows.list, cell->as.rows.n));
    lua_setfield(L, -2, "text");
  } else {
    lua_newtable(L);
  }
  push_rows(L, a, cell);
}

/* A table with the rows under what their first column says. */
static void push_by_name(lua_State *L, asked *a, const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  const char *row = cell->as.rows.list;
  lua_newtable(L);
  for (size_t i = 0; i < cell->as.rows.n; i++, row += table->row_bytes) {
    lh_cell name;
    lh_cell_of(&a->report, table->columns, row, &name);
    lua_pushstring(L, name.as.text);
    push_row(L, a, table, row);
    lua_rawset(L, -3);
  }
}

static void push_texts(lua_State *L, const lh_cell *cell) {
  hr_push_list(L, "heap.texts", cell->as.texts.n);
  for (size_t i = 0; i < cell->as.texts.n; i++) {
    lua_pushstring(L, cell->as.texts.list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Sets the field of the table on the top; nothing where the cell is null. */
static void set_cell(lua_State *L, asked *a, const lh_column *column, const lh_cell *cell) {
  const char *key = column->key;
  if (cell->is_null) return;
  switch (cell->kind) {
    case LH_COLUMN_NUMBER: hr_set_number(L, key, cell->as.number); break;
    case LH_COLUMN_FLAG: hr_set_boolean(L, key, cell->as.flag); break;
    case LH_COLUMN_TEXT: hr_set_string(L, key, cell->as.text); break;
    case LH_COLUMN_NAME:
      lua_pushlstring(L, cell->as.name.bytes, cell->as.name.n);
      lua_setfield(L, -2, key);
      break;
    case LH_COLUMN_OBJECT: hr_set_what(L, a->report.snapshot, key, cell->as.object); break;
    case LH_COLUMN_CLASS: hr_set_class(L, a->report.snapshot, cell->as.class_index); break;
    case LH_COLUMN_EXAMPLE:
    case LH_COLUMN_STRING: hr_set_object(L, key, 1, cell->as.object); break;
    case LH_COLUMN_EDGE:
      hr_push_edge(L, 1, cell->as.edge);
      lua_setfield(L, -2, key);
      break;
    case LH_COLUMN_TEXTS:
      push_texts(L, cell);
      lua_setfield(L, -2, key);
      break;
    case LH_COLUMN_ROWS:
      (column->is_by_name ? push_by_name : push_list)(L, a, cell);
      lua_setfield(L, -2, key);
      break;
    default: hr_set_integer(L, key, cell->as.n); break;
  }
}

static void push_row(lua_State *L, asked *a, const lh_table *table, const void *row) {
  lua_newtable(L);
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    lh_cell cell;
    if (!column->key) continue;
    lh_cell_of(&a->report, column, row, &cell);
    set_cell(L, a, column, &cell);
  }
}

/* }=================================================================================== */

/* The fields of the list on the top, and its rows: those that the question is about. */
static void fill(lua_State *L, asked *a) {
  const lh_question *question = a->report.question;
  for (const lh_column *c = question->answer->columns; c->kind != LH_COLUMN_END; c++) {
    lh_cell cell;
    if (!c->key) continue;
    lh_cell_of(&a->report, c, a->report.answer, &cell);
    if (question->main && strcmp(c->key, question->main) == 0)
      push_rows(L, a, &cell);
    else
      set_cell(L, a, c, &cell);
  }
}

int hr_answer(lua_State *L, const char *name, const lh_request *request) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lh_error error;
  asked *a = hr_hold(L, 1, sizeof *a, free_asked);
  int hold = lua_gettop(L);
  a->of = of;
  int code = lh_ask(&a->report, lh_find_question(name), snapshot, request, &error);
  if (hr_filled(L, hold, code) == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  lua_pushfstring(L, "heap.%s", name);
  hr_push_list(L, lua_tostring(L, -1), 0);
  fill(L, a);
  if (a->report.failed) luaL_error(L, "not enough memory");
  hr_set_reachable(L, snapshot);
  hr_push_text(L, of, lh_report_text(&a->report, "SNAPSHOT"));
  lua_setfield(L, -2, "text");
  hr_let_go(L, hold);
  return 1;
}

/* question([n]): n 0, or not given: all rows. */
int hr_report(lua_State *L, const char *name) {
  lua_Integer limit = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, limit >= 0, 2, "a number of rows, or 0 for all");
  return hr_answer(L, name,
                   &(lh_request){.limit = (size_t)limit, .has_limit = !lua_isnoneornil(L, 2)});
}

/* object:under([options]) */
int hr_under(lua_State *L) {
  static const char *const names[] = {"depth", "n", "least_bytes", NULL};
  hr_snapshot *of;
  lh_request request = {.id = hr_subject(L, &of), .matches = 1};
  lua_settop(L, 3);
  hr_check_options(L, 3, names);
  request.has_depth = hr_option(L, 3, "depth");
  request.has_limit = hr_option(L, 3, "n");
  request.has_least_bytes = hr_option(L, 3, "least_bytes");
  lua_settop(L, 3);
  request.depth = (uint64_t)hr_integer_option(L, 3, "depth", 0);
  request.limit = (size_t)hr_integer_option(L, 3, "n", 0);
  request.least_bytes = (uint64_t)hr_integer_option(L, 3, "least_bytes", 0);
  return hr_answer(L, "under", &request);
}
