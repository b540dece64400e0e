/*
** table.c - aligned columns, with libsmartcols. On a terminal the wide columns (class, path) are
** wrapped to fit, never cut; elsewhere every line is as long as it must be, so that grep and awk see
** the whole path.
*/
#include <libsmartcols.h>

#include "cli.h"

struct cli_table {
  cli *c;
  struct libscols_table *scols;
  size_t n_columns;
};

/* libsmartcols says 0 or a negative error, of which only "out of memory" can be ours. */
static void must_be_done(int code) {
  cli_must(code == 0 ? "" : NULL);
}

cli_table *cli_table_new(cli *c, const cli_column *columns, size_t n_columns) {
  cli_table *table = cli_must(malloc(sizeof *table));
  table->c = c;
  table->n_columns = n_columns;
  table->scols = cli_must(scols_new_table());
  scols_table_enable_noencoding(table->scols, 1); /* its cells are escaped already */
  scols_table_enable_colors(table->scols, c->color);
  scols_table_set_column_separator(table->scols, "  ");
  scols_table_set_termforce(table->scols,
                            c->stdout_terminal ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
  for (size_t i = 0; i < n_columns; i++) {
    int flags = columns[i].kind == CLI_RIGHT  ? SCOLS_FL_RIGHT
                : columns[i].kind == CLI_WRAP ? SCOLS_FL_WRAP
                                              : 0;
    struct libscols_column *column =
        cli_must(scols_table_new_column(table->scols, columns[i].heading, 0, flags));
    if (c->color) must_be_done(scols_cell_set_color(scols_column_get_header(column), "bold"));
  }
  return table;
}

void cli_table_row(cli_table *table, const char *const *cells, cli_style style) {
  struct libscols_line *line = cli_must(scols_table_new_line(table->scols, NULL));
  for (size_t i = 0; i < table->n_columns; i++)
    must_be_done(scols_line_set_data(line, i, cells[i]));
  if (table->c->color && style != CLI_PLAIN)
    must_be_done(scols_line_set_color(line, cli_style_on(table->c, style)));
}

void cli_table_print(cli_table *table) {
  must_be_done(scols_print_table(table->scols));
  scols_unref_table(table->scols);
  free(table);
}
