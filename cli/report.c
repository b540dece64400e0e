/* report.c - lays out an answer of the library (rooms/report.h) as text or JSON. */
#include "cli.h"

/* Keeps a file name that begins with - from being taken for an option. */
static const char *dashes_for(const char *file) {
  return *file == '-' ? "-- " : "";
}

char *cli_next_command(lh_next next, const char *of, const char *subject, const char *other) {
  static const char *const commands[] = {
      [LH_NEXT_PATHS] = "heappath",           [LH_NEXT_UNDER] = "heaptop --under",
      [LH_NEXT_SET] = "heappath --set",       [LH_NEXT_SINCE] = "heapdiff --since",
      [LH_NEXT_OWNERS] = "heapdiff --owners", [LH_NEXT_WASTE] = "heaptop --waste"};
  const char *command = commands[next], *dashes = dashes_for(of);
  char *file = cli_shell_word(of), *word = cli_shell_word(subject), *made;
  char *until = cli_shell_word(other != NULL ? other : "");
  if (next == LH_NEXT_PATHS)
    made = cli_format("%s %s%s %s", command, dashes, file, word);
  else if (next == LH_NEXT_OWNERS)
    made = cli_format("%s %s%s %s", command, dashes_for(subject), word, until);
  else if (next == LH_NEXT_WASTE)
    made = cli_format("%s %s%s", command, dashes, file);
  else
    made = cli_format("%s %s%s%s %s%s", command, word, other != NULL ? " --until " : "",
                      other != NULL ? until : "", dashes, file);
  free(file);
  free(word);
  free(until);
  return made;
}

/* Rows come in preorder. A row ends its level if no row of that depth follows before a less deep
** one; otherwise a line runs down to that row. Lines are drawn for LH_MOST_INDENTED levels only,
** and deeper rows state their depth, so the output is linear. */
typedef struct tree_lines {
  uint32_t *depths; /* of each row */
  bool *follows;    /* of each row: another row follows under the same parent */
  bool *more;       /* the same, for the last row of each depth */
} tree_lines;

/* Scans from the last row to the first; a row closes all deeper levels. */
static void begin_tree(tree_lines *tree, const lh_table *table, const char *rows, size_t n) {
  uint32_t deepest = 0, open = 0; /* more[] is false beyond `open` */
  tree->depths = cli_must(calloc(n + 1, sizeof *tree->depths));
  tree->follows = cli_must(calloc(n + 1, sizeof *tree->follows));
  for (size_t i = 0; i < n; i++) {
    tree->depths[i] = table->depth(rows + i * table->row_bytes);
    if (tree->depths[i] > deepest) deepest = tree->depths[i];
  }
  tree->more = cli_must(calloc((size_t)deepest + 1, sizeof *tree->more));
  for (size_t i = n; i-- > 0;) {
    uint32_t depth = tree->depths[i];
    for (; open > depth; open--) tree->more[open] = false;
    tree->follows[i] = tree->more[depth];
    tree->more[depth] = true;
    open = depth;
  }
}

/* Frees `text` and returns it with tree lines in front. Call it for each row in order. */
static char *tree_line(const cli *c, tree_lines *tree, size_t at, char *text) {
  static const char *const styles[2][4] = {{"|  ", "   ", "|- ", "`- "},
                                           {"\u2502  ", "   ", "\u251C\u2500 ", "\u2514\u2500 "}};
  const char *const *lines = styles[c->unicode];
  uint32_t depth = tree->depths[at], drawn = depth < LH_MOST_INDENTED ? depth : LH_MOST_INDENTED;
  char *line = cli_must(malloc(strlen(text) + 9 * (size_t)drawn + 64)), *end = line;
  tree->more[depth] = tree->follows[at];
  for (uint32_t d = 1; d <= drawn; d++) end = stpcpy(end, lines[(d == drawn) * 2 + !tree->more[d]]);
  if (depth > drawn) end += sprintf(end, "(%s deeper) ", lh_count_text(depth - drawn).text);
  strcpy(end, text);
  free(text);
  return line;
}

static void end_tree(tree_lines *tree) {
  free(tree->depths);
  free(tree->more);
  free(tree->follows);
}

typedef struct terminal {
  lh_printer printer; /* first: print_line and others cast it to terminal */
  cli *c;
  const char *file;
  bool has_command; /* the next line, which users paste */
} terminal;

static void print_line(lh_printer *printer, lh_style style, const char *line) {
  terminal *t = (terminal *)printer;
  if (!cli_has_room()) return;
  while (*line == '\n') putchar(*line++);
  if (style != LH_PLAIN) printf("%s", cli_style_on(t->c, style));
  if (t->has_command)
    printf("%s", line);
  else
    cli_print_sentence(t->c, line);
  printf("%s\n", style != LH_PLAIN ? cli_style_off(t->c) : "");
  t->has_command = false;
}

static char *command_of(lh_printer *printer, const char *why, lh_next next, const char *subject,
                        const char *other) {
  terminal *t = (terminal *)printer;
  (void)why;
  t->has_command = true;
  return cli_next_command(next, t->file, subject, other);
}

static size_t choose_columns(bool narrow, const lh_report *report, const lh_table *table,
                             const lh_column *shown[LH_MOST_HEADINGS],
                             cli_column columns[LH_MOST_HEADINGS]) {
  size_t n = 0;
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    const char *heading = lh_heading_of(report, column);
    if (heading == NULL || (narrow ? column->is_wide : column->is_narrow) || n == LH_MOST_HEADINGS)
      continue;
    bool whole = column->word != NULL || column->is_unbroken || column->kind == LH_COLUMN_BAR ||
                 column->kind == LH_COLUMN_OBJECT || column->kind == LH_COLUMN_EXAMPLE;
    columns[n].heading = heading;
    columns[n].kind = lh_is_number(column->kind) ? CLI_RIGHT : whole ? CLI_LEFT : CLI_WRAP;
    shown[n++] = column;
  }
  return n;
}

/* Names the wide columns that have no room, except those shown in a narrow form. */
static void print_left_out(const cli *c, const lh_report *report, const lh_table *table,
                           const cli_column *columns, size_t n_columns) {
  const char *before = "Left out for want of room: ";
  bool any = false;
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    const char *heading = column->is_wide ? lh_heading_of(report, column) : NULL;
    for (size_t i = 0; heading != NULL && i < n_columns; i++)
      if (strcmp(columns[i].heading, heading) == 0) heading = NULL;
    if (heading == NULL) continue;
    printf("%s%s%s", any ? "" : cli_style_on(c, LH_FAINT), any ? ", " : before, heading);
    any = true;
  }
  if (any) printf("%s\n", cli_style_off(c));
}

static void add_rows(cli_table *printed, lh_printer *printer, lh_report *report,
                     const lh_table *table, const void *rows, size_t n,
                     const lh_column *const *shown, size_t n_shown) {
  char *cells[LH_MOST_HEADINGS];
  tree_lines tree = {0};
  if (table->depth) begin_tree(&tree, table, rows, n);
  for (size_t i = 0; i < n; i++) {
    const char *row = (const char *)rows + i * table->row_bytes;
    if (!cli_has_room()) continue;
    for (size_t k = 0; k < n_shown; k++) {
      lh_cell cell;
      lh_cell_of(report, shown[k], row, &cell);
      cells[k] = cli_must(lh_cell_text(printer, report, &cell));
    }
    char **last = &cells[n_shown - 1];
    if (table->depth) *last = tree_line(((terminal *)printer)->c, &tree, i, *last);
    cli_table_row(printed, (const char *const *)cells,
                  table->style ? table->style(report, row) : LH_PLAIN);
    const char *below = table->below != NULL ? table->below(report, row) : NULL;
    if (below != NULL) cli_table_below(printed, below);
    for (size_t k = 0; k < n_shown; k++) free(cells[k]);
  }
  end_tree(&tree);
}

/* The narrow columns also where the terminal is wide, but not as wide as these rows. */
static void print_table(lh_printer *printer, lh_report *report, const lh_table *table,
                        const void *rows, size_t n) {
  cli *c = ((terminal *)printer)->c;
  const lh_column *shown[LH_MOST_HEADINGS];
  cli_column columns[LH_MOST_HEADINGS];
  bool narrow = cli_is_narrow(c);
  size_t n_shown = choose_columns(narrow, report, table, shown, columns);
  cli_table *printed = cli_table_new(c, columns, n_shown);
  add_rows(printed, printer, report, table, rows, n, shown, n_shown);
  if (!narrow && !cli_table_fits(printed)) {
    cli_table_free(printed);
    narrow = true;
    n_shown = choose_columns(narrow, report, table, shown, columns);
    printed = cli_table_new(c, columns, n_shown);
    add_rows(printed, printer, report, table, rows, n, shown, n_shown);
  }
  cli_table_print(printed);
  if (narrow) print_left_out(c, report, table, columns, n_shown);
}

void cli_report_text(cli *c, lh_report *report, const char *file) {
  terminal t = {.printer = {.exact_bytes = c->exact_bytes,
                            .unicode = c->unicode,
                            .thorough = true,
                            .limit = report->request.limit,
                            .all = "-n 0 shows all",
                            .line = print_line,
                            .table = print_table,
                            .next = command_of},
                .c = c,
                .file = file};
  lh_print_report(&t.printer, report);
  if (t.printer.failed || report->failed) cli_must(NULL);
}

void cli_report_values(lh_json *w, lh_report *report) {
  if (!lh_json_report(w, report)) cli_must(NULL);
}

bool cli_answer(cli *c, lh_json *w, const char *name, lh_snapshot *snapshot, const char *file,
                const lh_request *request) {
  const lh_question *question = lh_find_question(name);
  lh_report report;
  lh_error error;
  cli_check(c, lh_ask(&report, question, snapshot, request, &error), file, &error);
  cli_progress(c, NULL);
  if (c->json)
    cli_report_values(w, &report);
  else
    cli_report_text(c, &report, file);
  bool is_no = question->is_no != NULL && question->is_no(report.answer);
  lh_report_free(&report);
  return !is_no;
}
