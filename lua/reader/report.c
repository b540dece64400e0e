/*
** report.c - an answer as a Lua table, by its columns (luaheap_report.h): the list of its rows,
** with what else it says as fields, and as `text` the words of the command, which tostring gives.
*/
#include <string.h>

#include "handles.h"

static void free_report(void *content) {
  lh_report *report = content;
  if (report->answer) lh_report_free(report);
}

static void push_row(lua_State *L, lh_report *report, const lh_table *table, const void *row);

static void push_rows(lua_State *L, lh_report *report, const lh_cell *cell, size_t n) {
  const char *row = cell->as.rows.list;
  for (size_t i = 0; i < n; i++, row += cell->as.rows.table->row_bytes) {
    push_row(L, report, cell->as.rows.table, row);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Sets the field of the table on the top; nothing where the cell is null. */
static void set_cell(lua_State *L, lh_report *report, const char *key, const lh_cell *cell) {
  if (cell->is_null) return;
  switch (cell->kind) {
    case LH_COLUMN_NUMBER: hr_set_number(L, key, cell->as.number); break;
    case LH_COLUMN_FLAG: hr_set_boolean(L, key, cell->as.flag); break;
    case LH_COLUMN_TEXT: hr_set_string(L, key, cell->as.text); break;
    case LH_COLUMN_OBJECT: hr_set_what(L, report->snapshot, key, cell->as.object); break;
    case LH_COLUMN_CLASS: hr_set_class(L, report->snapshot, cell->as.class_index); break;
    case LH_COLUMN_EXAMPLE:
    case LH_COLUMN_STRING: hr_set_object(L, key, 1, cell->as.object); break;
    case LH_COLUMN_TEXTS:
      hr_push_list(L, "heap.texts", cell->as.texts.n);
      for (size_t i = 0; i < cell->as.texts.n; i++) {
        lua_pushstring(L, cell->as.texts.list[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
      }
      lua_setfield(L, -2, key);
      break;
    case LH_COLUMN_ROWS:
      lua_newtable(L);
      push_rows(L, report, cell, cell->as.rows.n);
      lua_setfield(L, -2, key);
      break;
    default: hr_set_integer(L, key, cell->as.n); break;
  }
}

static void push_row(lua_State *L, lh_report *report, const lh_table *table, const void *row) {
  lua_newtable(L);
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    lh_cell cell;
    if (!column->key) continue;
    lh_cell_of(report, column, row, &cell);
    set_cell(L, report, column->key, &cell);
  }
}

/* The fields of the list on the top, and its rows: those that the question is about. */
static void fill(lua_State *L, lh_report *report, size_t limit) {
  const lh_question *question = report->question;
  for (const lh_column *c = question->answer->columns; c->kind != LH_COLUMN_END; c++) {
    lh_cell cell;
    lh_cell_of(report, c, report->answer, &cell);
    size_t n = cell.kind == LH_COLUMN_ROWS ? cell.as.rows.n : 0;
    if (cell.kind == LH_COLUMN_ROWS && strcmp(c->key, question->main) == 0)
      push_rows(L, report, &cell, limit != 0 && limit < n ? limit : n);
    else
      set_cell(L, report, c->key, &cell);
  }
}

/* question([n]): n 0, or not given: all rows. */
int hr_report(lua_State *L, const char *name) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lua_Integer limit = luaL_optinteger(L, 2, 0);
  lh_error error;
  luaL_argcheck(L, limit >= 0, 2, "a number of rows, or 0 for all");
  lh_report *report = hr_hold(L, 1, sizeof *report, free_report);
  int hold = lua_gettop(L);
  const lh_request request = {.limit = (size_t)limit};
  hr_check(L,
           hr_filled(L, hold, lh_ask(report, lh_find_question(name), snapshot, &request, &error)),
           &error);
  lua_pushfstring(L, "heap.%s", name);
  hr_push_list(L, lua_tostring(L, -1), 0);
  fill(L, report, (size_t)limit);
  if (report->failed) luaL_error(L, "not enough memory");
  hr_set_reachable(L, snapshot);
  hr_push_text(L, of, lh_report_text(report, "SNAPSHOT"));
  lua_setfield(L, -2, "text");
  hr_let_go(L, hold);
  return 1;
}
