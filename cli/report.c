/*
** report.c - an answer on stdout: its words and tables as text, or its columns as JSON. What an
** answer says is the library's (luaheap_report.h); here is only how it looks.
*/
#include <string.h>

#include "cli.h"

static lh_report ask(cli *c, const lh_question *question, lh_snapshot *snapshot,
                     const lh_request *request) {
  lh_report report;
  lh_error error;
  cli_check(c, lh_ask(&report, question, snapshot, request, &error), NULL, &error);
  return report;
}

/* {=== Text =========================================================================== */

typedef struct terminal {
  lh_teller teller; /* the first field: what it is called with */
  cli *c;
  const char *file;
} terminal;

static const cli_style styles[] = {
    [LH_PLAIN] = CLI_PLAIN, [LH_BOLD] = CLI_BOLD, [LH_FAINT] = CLI_FAINT};

static void print_line(lh_teller *teller, lh_style style, const char *line) {
  const cli *c = ((terminal *)teller)->c;
  while (*line == '\n') putchar(*line++);
  if (style == LH_PLAIN)
    puts(line);
  else
    printf("%s%s%s\n", cli_style_on(c, styles[style]), line, cli_style_off(c));
}

static void print_next(lh_teller *teller, const char *why, lh_next next, const char *subject) {
  static const char *const commands[] = {[LH_NEXT_PATHS] = "heappath",
                                         [LH_NEXT_FIVE_PATHS] = "heappath -k 5",
                                         [LH_NEXT_UNDER] = "heaptop --under",
                                         [LH_NEXT_SET] = "heappath --set"};
  bool file_first = next == LH_NEXT_PATHS || next == LH_NEXT_FIVE_PATHS;
  char *file = cli_shell_word(((const terminal *)teller)->file), *word = cli_shell_word(subject);
  printf("%s: %s %s %s\n", why, commands[next], file_first ? file : word, file_first ? word : file);
  free(file);
  free(word);
}

static void print_table(lh_teller *teller, lh_report *report, const lh_table *table,
                        const void *rows, size_t n) {
  enum { MOST_COLUMNS = 16 };
  cli *c = ((terminal *)teller)->c;
  const lh_column *shown[MOST_COLUMNS];
  cli_column columns[MOST_COLUMNS];
  char *cells[MOST_COLUMNS];
  size_t n_shown = 0;
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    if (column->heading == NULL || (column->is_wide && cli_is_narrow(c)) || n_shown == MOST_COLUMNS)
      continue;
    columns[n_shown].heading = column->heading;
    columns[n_shown].kind = lh_is_number(column->kind) ? CLI_RIGHT

                            : column->kind == LH_COLUMN_OBJECT || column->kind == LH_COLUMN_EXAMPLE
                                ? CLI_LEFT
                                : CLI_WRAP;
    shown[n_shown++] = column;
  }
  cli_table *printed = cli_table_new(c, columns, n_shown);
  for (size_t row = 0; row < n; row++) {
    for (size_t i = 0; i < n_shown; i++) {
      lh_cell cell;
      lh_cell_of(report, shown[i], (const char *)rows + row * table->row_bytes, &cell);
      cells[i] = cli_must(lh_cell_text(report, &cell, c->exact_bytes));
    }
    cli_table_row(printed, (const char *const *)cells, CLI_PLAIN);
    for (size_t i = 0; i < n_shown; i++) lh_free(cells[i]);
  }
  cli_table_print(printed);
}

void cli_report_print(cli *c, const lh_question *question, lh_snapshot *snapshot, const char *file,
                      const lh_request *request) {
  lh_report report = ask(c, question, snapshot, request);
  terminal t = {.teller = {.exact_bytes = c->exact_bytes,
                           .limit = request->limit,
                           .all = "-n 0 shows all",
                           .line = print_line,
                           .table = print_table,
                           .next = print_next},
                .c = c,
                .file = file};
  lh_tell_report(&t.teller, &report);
  if (t.teller.failed || report.failed) cli_must(NULL);
  lh_report_free(&report);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *row_json(cli *c, lh_report *report, const lh_table *table, const void *row);

static json_t *rows_json(cli *c, lh_report *report, const lh_cell *cell) {
  json_t *list = cli_must(json_array());
  const char *row = cell->as.rows.list;
  for (size_t i = 0; i < cell->as.rows.n; i++, row += cell->as.rows.table->row_bytes)
    json_array_append_new(list, row_json(c, report, cell->as.rows.table, row));
  return list;
}

static json_t *texts_json(const lh_cell *cell) {
  json_t *list = cli_must(json_array());
  for (size_t i = 0; i < cell->as.texts.n; i++)
    json_array_append_new(list, cli_must(json_string(cell->as.texts.list[i])));
  return list;
}

static json_t *cell_json(cli *c, lh_report *report, const lh_cell *cell) {
  char *text;
  json_t *json;
  if (cell->is_null) return json_null();
  switch (cell->kind) {
    case LH_COLUMN_NUMBER: return json_real(cell->as.number);
    case LH_COLUMN_FLAG: return json_boolean(cell->as.flag);
    case LH_COLUMN_TEXT: return json_string(cell->as.text);
    case LH_COLUMN_OBJECT:
    case LH_COLUMN_EXAMPLE: return json_string(cli_address(c, report->snapshot, cell->as.object));
    case LH_COLUMN_STRING:
      text = cli_must(lh_string_text(report->snapshot, cell->as.object, 64));
      json = json_string(text);
      lh_free(text);
      return json;
    case LH_COLUMN_TEXTS: return texts_json(cell);
    case LH_COLUMN_ROWS: return rows_json(c, report, cell);
    case LH_COLUMN_CLASS:
      return json_string(lh_class_at(report->snapshot, cell->as.class_index)->name);
    default: return cli_json_size(cell->as.n);
  }
}

static json_t *text_json(const char *text) {
  return cli_must(text != NULL ? json_string(text) : json_null());
}

/* The object of a row is told by its address, its class and its type. */
static void add_object(json_t *json, const lh_report *report, const lh_column *column,
                       const lh_cell *cell) {
  const lh_snapshot *s = report->snapshot;
  lh_id id = cell->as.object;
  lh_number address = {""};
  if (!cell->is_null) address = lh_address_text(s, id);
  json_object_set_new(json, strcmp(column->key, "object") == 0 ? "address" : column->key,
                      text_json(cell->is_null ? NULL : address.text));
  json_object_set_new(json, "class", text_json(cell->is_null ? NULL : lh_class_name_of(s, id)));
  json_object_set_new(json, "type",
                      text_json(cell->is_null ? NULL : lh_type_name(lh_type_of(s, id))));
}

static void add_class(json_t *json, const lh_report *report, const lh_cell *cell) {
  const lh_class *class =
      cell->is_null ? NULL : lh_class_at(report->snapshot, cell->as.class_index);
  json_object_set_new(json, "class", text_json(class ? class->name : NULL));
  json_object_set_new(json, "type", text_json(class ? lh_type_name(class->type) : NULL));
}

static json_t *row_json(cli *c, lh_report *report, const lh_table *table, const void *row) {
  json_t *json = cli_must(json_object());
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    lh_cell cell;
    if (column->key == NULL) continue;
    lh_cell_of(report, column, row, &cell);
    if (column->kind == LH_COLUMN_OBJECT)
      add_object(json, report, column, &cell);
    else if (column->kind == LH_COLUMN_CLASS)
      add_class(json, report, &cell);
    else
      json_object_set_new(json, column->key, cli_must(cell_json(c, report, &cell)));
  }
  return json;
}

/* Rows of the answer itself are written one after another: a million need no memory. */
static void print_rows(cli *c, cli_json *w, lh_report *report, const lh_column *column,
                       const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  const char *row = cell->as.rows.list;
  size_t n = cell->as.rows.n;
  cli_json_open(w, column->key, '[');
  for (size_t i = 0; i < n; i++, row += table->row_bytes)
    cli_json_value(w, NULL, row_json(c, report, table, row));
  cli_json_close(w, ']');
}

void cli_report_json(cli *c, cli_json *w, const lh_question *question, lh_snapshot *snapshot,
                     const lh_request *request) {
  lh_report report = ask(c, question, snapshot, request);
  for (const lh_column *column = question->answer->columns; column->kind != LH_COLUMN_END;
       column++) {
    lh_cell cell;
    lh_cell_of(&report, column, report.answer, &cell);
    if (cell.kind == LH_COLUMN_ROWS)
      print_rows(c, w, &report, column, &cell);
    else if (column->key != NULL)
      cli_json_value(w, column->key, cell_json(c, &report, &cell));
  }
  if (report.failed) cli_must(NULL);
  lh_report_free(&report);
}

/* }=================================================================================== */
