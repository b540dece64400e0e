/*
** report.c - an answer on stdout: its words and tables as text, or its columns as JSON. What an
** answer says is the library's (luaheap_report.h); here is only how it looks.
*/
#include <string.h>

#include "cli.h"

static lh_report ask(cli *c, const lh_question *question, lh_snapshot *snapshot, const char *file,
                     const lh_request *request) {
  lh_report report;
  lh_error error;
  cli_check(c, lh_ask(&report, question, snapshot, request, &error), file, &error);
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

static void print_next(lh_teller *teller, const char *why, lh_next next, const char *subject,
                       const char *other) {
  static const char *const commands[] = {[LH_NEXT_PATHS] = "heappath",
                                         [LH_NEXT_FIVE_PATHS] = "heappath -k 5",
                                         [LH_NEXT_UNDER] = "heaptop --under",
                                         [LH_NEXT_SET] = "heappath --set",
                                         [LH_NEXT_SINCE] = "heapdiff --since"};
  bool file_first = next == LH_NEXT_PATHS || next == LH_NEXT_FIVE_PATHS;
  char *file = cli_shell_word(((const terminal *)teller)->file), *word = cli_shell_word(subject);
  char *until = cli_shell_word(other != NULL ? other : "");
  printf("%s: %s %s%s%s %s\n", why, commands[next], file_first ? file : word,
         other != NULL ? " --until " : "", other != NULL ? until : "", file_first ? word : file);
  free(file);
  free(word);
  free(until);
}

enum { MOST_COLUMNS = 16 };

/* Those that there is room for. */
static size_t choose_columns(const cli *c, const lh_table *table,
                             const lh_column *shown[MOST_COLUMNS],
                             cli_column columns[MOST_COLUMNS]) {
  bool narrow = cli_is_narrow(c);
  size_t n = 0;
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    if (column->heading == NULL || (narrow && column->is_wide) || n == MOST_COLUMNS) continue;
    bool whole = column->word != NULL || column->is_unbroken || column->kind == LH_COLUMN_BAR ||
                 column->kind == LH_COLUMN_OBJECT || column->kind == LH_COLUMN_EXAMPLE;
    columns[n].heading = column->heading;
    columns[n].kind = lh_is_number(column->kind) ? CLI_RIGHT : whole ? CLI_LEFT : CLI_WRAP;
    shown[n++] = column;
  }
  return n;
}

static void begin_tree(cli_tree *tree, const lh_table *table, const char *row, size_t n) {
  cli_tree_begin(tree, n);
  for (size_t i = 0; table->depth && i < n; i++, row += table->row_bytes)
    tree->depths[i] = table->depth(row);
}

static void print_table(lh_teller *teller, lh_report *report, const lh_table *table,
                        const void *rows, size_t n) {
  cli *c = ((terminal *)teller)->c;
  const lh_column *shown[MOST_COLUMNS];
  cli_column columns[MOST_COLUMNS];
  char *cells[MOST_COLUMNS];
  size_t n_shown = choose_columns(c, table, shown, columns);
  cli_table *printed = cli_table_new(c, columns, n_shown);
  cli_tree tree;
  begin_tree(&tree, table, rows, n);
  for (size_t i = 0; i < n; i++) {
    const char *row = (const char *)rows + i * table->row_bytes;
    for (size_t k = 0; k < n_shown; k++) {
      lh_cell cell;
      lh_cell_of(report, shown[k], row, &cell);
      cells[k] = cli_must(lh_cell_text(teller, report, &cell));
    }
    char *last = cells[n_shown - 1];
    if (table->depth) cells[n_shown - 1] = cli_tree_line(c, &tree, i, last);
    cli_table_row(printed, (const char *const *)cells,
                  styles[table->style ? table->style(row) : LH_PLAIN]);
    if (table->depth) free(last);
    for (size_t k = 0; k < n_shown; k++) free(cells[k]);
  }
  cli_tree_end(&tree);
  cli_table_print(printed);
}

void cli_report_print(cli *c, const lh_question *question, lh_snapshot *snapshot, const char *file,
                      const lh_request *request) {
  lh_report report = ask(c, question, snapshot, file, request);
  terminal t = {.teller = {.exact_bytes = c->exact_bytes,
                           .unicode = c->unicode,
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

static json_t *row_json(lh_report *report, const lh_table *table, const void *row);

static json_t *text_json(const char *text) {
  return cli_must(text != NULL ? json_string(text) : json_null());
}

static json_t *freed_text_json(char *text) {
  json_t *json = json_string(cli_must(text));
  lh_free(text);
  return json;
}

static json_t *rows_json(lh_report *report, const lh_column *column, const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  const char *row = cell->as.rows.list;
  json_t *rows = cli_must(column->is_by_name ? json_object() : json_array());
  for (size_t i = 0; i < cell->as.rows.n; i++, row += table->row_bytes) {
    json_t *json = row_json(report, table, row);
    lh_cell name;
    if (column->is_by_name) lh_cell_of(report, table->columns, row, &name);
    if (column->is_by_name)
      json_object_set_new(rows, name.as.text, json);
    else
      json_array_append_new(rows, json);
  }
  return rows;
}

static json_t *texts_json(const lh_cell *cell) {
  json_t *list = cli_must(json_array());
  for (size_t i = 0; i < cell->as.texts.n; i++)
    json_array_append_new(list, text_json(cell->as.texts.list[i]));
  return list;
}

static json_t *value_json(lh_report *report, const lh_column *column, const lh_cell *cell) {
  if (cell->is_null) return json_null();
  switch (cell->kind) {
    case LH_COLUMN_NUMBER: return json_real(cell->as.number);
    case LH_COLUMN_FLAG: return json_boolean(cell->as.flag);
    case LH_COLUMN_TEXT: return json_string(cell->as.text);
    case LH_COLUMN_NAME: return cli_json_text(cell->as.name.bytes);
    case LH_COLUMN_OBJECT:
    case LH_COLUMN_EXAMPLE:
      return json_string(lh_address_text(report->snapshot, cell->as.object).text);
    case LH_COLUMN_STRING:
      return freed_text_json(lh_string_text(report->snapshot, cell->as.object, 64));
    case LH_COLUMN_EDGE: return freed_text_json(lh_edge_text(report->snapshot, cell->as.edge));
    case LH_COLUMN_TEXTS: return texts_json(cell);
    case LH_COLUMN_ROWS: return rows_json(report, column, cell);
    case LH_COLUMN_CLASS:
      return json_string(lh_class_at(report->snapshot, cell->as.class_index)->name);
    default: return cli_json_size(cell->as.n);
  }
}

/* The object of a row is told by its address, its class and its type; a class by its name and
** type. */
static void add_cell(json_t *json, lh_report *report, const lh_column *column, const void *row) {
  const lh_snapshot *s = report->snapshot;
  const char *key = column->json_key != NULL ? column->json_key : column->key;
  lh_cell cell;
  lh_cell_of(report, column, row, &cell);
  if (column->kind == LH_COLUMN_OBJECT) {
    lh_id id = cell.as.object;
    json_object_set_new(json, "class", text_json(cell.is_null ? NULL : lh_class_name_of(s, id)));
    json_object_set_new(json, "type",
                        text_json(cell.is_null ? NULL : lh_type_name(lh_type_of(s, id))));
  } else if (column->kind == LH_COLUMN_CLASS) {
    const lh_class *class = cell.is_null ? NULL : lh_class_at(s, cell.as.class_index);
    json_object_set_new(json, "type", text_json(class ? lh_type_name(class->type) : NULL));
  }
  json_object_set_new(json, key, cli_must(value_json(report, column, &cell)));
}

static bool is_in_json(const lh_column *column) {
  return column->key != NULL && (column->json_key == NULL || *column->json_key != '\0');
}

static json_t *row_json(lh_report *report, const lh_table *table, const void *row) {
  json_t *json = cli_must(json_object());
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++)
    if (is_in_json(column)) add_cell(json, report, column, row);
  return json;
}

/* Rows of the answer itself are written one after another: a million need no memory. */
static void print_rows(cli_json *w, lh_report *report, const lh_column *column) {
  lh_cell cell;
  lh_cell_of(report, column, report->answer, &cell);
  const lh_table *table = cell.as.rows.table;
  const char *row = cell.as.rows.list;
  cli_json_open(w, column->key, '[');
  for (size_t i = 0; i < cell.as.rows.n; i++, row += table->row_bytes)
    cli_json_value(w, NULL, row_json(report, table, row));
  cli_json_close(w, ']');
}

static void print_values(cli_json *w, lh_report *report, const lh_column *column) {
  json_t *json = cli_must(json_object());
  add_cell(json, report, column, report->answer);
  for (void *at = json_object_iter(json); at != NULL; at = json_object_iter_next(json, at))
    cli_json_value(w, json_object_iter_key(at), json_incref(json_object_iter_value(at)));
  json_decref(json);
}

void cli_report_json(cli *c, cli_json *w, const lh_question *question, lh_snapshot *snapshot,
                     const char *file, const lh_request *request) {
  lh_report report = ask(c, question, snapshot, file, request);
  for (const lh_column *column = question->answer->columns; column->kind != LH_COLUMN_END;
       column++) {
    if (column->kind == LH_COLUMN_ROWS && !column->is_by_name)
      print_rows(w, &report, column);
    else if (is_in_json(column))
      print_values(w, &report, column);
  }
  if (report.failed) cli_must(NULL);
  lh_report_free(&report);
}

/* }=================================================================================== */
