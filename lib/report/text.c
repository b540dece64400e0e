/* text.c - a report as plain text, for Lua's tostring. Tables have at most 20 rows. */
#include "report/report.h"

enum { MOST_ROWS = 20, GAP = 2 };

typedef struct plain {
  lh_printer printer; /* must be first: callbacks get a pointer to it */
  lh_text text;
  const char *subject;
} plain;

static void add_line(lh_printer *printer, lh_style style, const char *line) {
  plain *p = (plain *)(void *)printer;
  (void)style;
  while (p->text.n == 0 && *line == '\n') line++;
  lh_text_string(&p->text, line);
  lh_text_string(&p->text, "\n");
}

static void add_quoted(lh_text *out, const char *before, const char *text) {
  lh_text_string(out, before);
  lh_text_escaped(out, text, strlen(text), true);
}

static char *call_of(lh_printer *printer, const char *why, lh_next next, const char *subject,
                     const char *other) {
  static const struct call {
    const char *before, *behind;
  } calls[] = {[LH_NEXT_PATHS] = {":object(\"", "\"):paths()"},
               [LH_NEXT_UNDER] = {":object(\"", "\"):under()"},
               [LH_NEXT_SET] = {":ways(\"", "\")"},
               [LH_NEXT_SINCE] = {":since(\"", "\")"},
               [LH_NEXT_OWNERS] = {"reader.owners {\"", "\"}"},
               [LH_NEXT_WASTE] = {":waste(", ")"}};
  const plain *p = (const plain *)(const void *)printer;
  lh_text text = {0};
  (void)why;
  if (next != LH_NEXT_OWNERS) lh_text_string(&text, p->subject);
  add_quoted(&text, calls[next].before, subject);
  if (other) add_quoted(&text, "\", \"", other);
  lh_text_string(&text, calls[next].behind);
  return lh_text_finish(&text);
}

/* Columns on the screen, assuming one a character. */
static size_t width_of(const char *text) {
  size_t n = 0;
  for (; *text != '\0'; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

static void put_indentation(lh_text *text, uint32_t depth) {
  uint32_t indented = depth < LH_MOST_INDENTED ? depth : LH_MOST_INDENTED;
  lh_text_format(text, "%*s", 2 * (int)indented, "");
  if (depth > indented) lh_text_format(text, "(%u deeper) ", depth - indented);
}

/* The last column of a tree is indented. */
static char *text_text(const lh_printer *printer, lh_report *report, const lh_table *table,
                       const lh_column *column, const void *row) {
  lh_cell cell;
  lh_text text = {0};
  lh_cell_of(report, column, row, &cell);
  if (table->depth && column[1].kind == LH_COLUMN_END) put_indentation(&text, table->depth(row));
  lh_put_freed(&text, lh_cell_text(printer, report, &cell));
  return lh_text_finish(&text);
}

static void add_cell(lh_text *out, const char *text, size_t width, bool right, bool follows) {
  size_t space = width - width_of(text);
  if (follows) lh_text_format(out, "%*s", GAP, "");
  if (right) lh_text_format(out, "%*s", (int)space, "");
  lh_text_string(out, text);
  if (!right) lh_text_format(out, "%*s", (int)space, "");
}

static void end_line(lh_text *out) {
  while (out->n > 0 && out->bytes[out->n - 1] == ' ') out->n--;
  lh_text_string(out, "\n");
}

static size_t choose_columns(const lh_report *report, const lh_table *table,
                             const lh_column *shown[LH_MOST_HEADINGS]) {
  size_t n = 0;
  for (const lh_column *c = table->columns; c->kind != LH_COLUMN_END; c++)
    if (!c->is_narrow && n < LH_MOST_HEADINGS && lh_heading_of(report, c)) shown[n++] = c;
  return n;
}

/* cells: the heading, then n rows. */
static void print_cells(plain *p, lh_report *report, const lh_table *table, const void *rows,
                        char *const *cells, size_t n, const lh_column *const *columns,
                        size_t n_columns) {
  size_t widths[LH_MOST_HEADINGS] = {0};
  for (size_t i = 0; i < (n + 1) * n_columns; i++) {
    size_t width = width_of(cells[i]);
    if (width > widths[i % n_columns]) widths[i % n_columns] = width;
  }
  for (size_t line = 0; line <= n; line++) {
    for (size_t i = 0; i < n_columns; i++)
      add_cell(&p->text, cells[line * n_columns + i], widths[i], lh_is_number(columns[i]->kind),
               i > 0);
    end_line(&p->text);
    const char *row = (const char *)rows + (line - 1) * table->row_bytes;
    const char *below = line > 0 && table->below ? table->below(report, row) : NULL;
    if (below) lh_text_format(&p->text, "    %s\n", below);
  }
}

static void add_table(lh_printer *printer, lh_report *report, const lh_table *table,
                      const void *rows, size_t n) {
  const lh_column *shown[LH_MOST_HEADINGS];
  size_t n_columns = choose_columns(report, table, shown), n_cells = (n + 1) * n_columns;
  if (n == 0) {
    add_line(printer, LH_PLAIN, "none");
    return;
  }
  char **cells = lh_alloc_zeroed(n_cells, sizeof *cells);
  printer->failed |= !cells;
  for (size_t i = 0; i < n_cells && !printer->failed; i++) {
    const lh_column *column = shown[i % n_columns];
    const char *row = (const char *)rows + (i / n_columns - (i >= n_columns)) * table->row_bytes;
    cells[i] = i < n_columns ? lh_copy_text(lh_heading_of(report, column))
                             : text_text(printer, report, table, column, row);
    printer->failed |= !cells[i];
  }
  if (!printer->failed)
    print_cells((plain *)(void *)printer, report, table, rows, cells, n, shown, n_columns);
  for (size_t i = 0; cells && i < n_cells; i++) lh_free(cells[i]);
  lh_free(cells);
}

static char *finish_text(plain *p, const lh_report *report) {
  while (p->text.n > 0 && p->text.bytes[p->text.n - 1] == '\n') p->text.n--;
  if (!p->printer.failed && !report->failed) return lh_text_finish(&p->text);
  lh_text_free(&p->text);
  return NULL;
}

static plain plain_for(lh_report *report, const char *subject) {
  size_t limit = report->request.limit;
  if (limit == 0 || limit > MOST_ROWS) limit = MOST_ROWS;
  return (plain){.printer = {.limit = limit,
                             .line = add_line,
                             .table = add_table,
                             .next = call_of,
                             .report = report},
                 .subject = subject};
}

char *lh_report_text(lh_report *report, const char *subject) {
  plain p = plain_for(report, subject);
  lh_print_report(&p.printer, report);
  return finish_text(&p, report);
}

char *lh_rows_text(lh_report *report, const lh_table *table, const void *rows, size_t n) {
  plain p = plain_for(report, "");
  if (table->print)
    table->print(&p.printer, report, rows, n);
  else
    lh_print_table(&p.printer, report, table, rows, n, n);
  return finish_text(&p, report);
}
