/*
** print.c - prints a query's answer as a table, CSV or JSON. Values are exact, but strings that may
** reach a terminal are escaped. A table keeps its first rows until the widths are known; CSV and
** JSON are written row by row.
*/
#include "heapsql.h"

static bool is_number(sqlite3_stmt *row, int column) {
  int type = sqlite3_column_type(row, column);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* Columns of numbers are right-aligned; columns of NULL alone are left-aligned. */
static void note_kinds(sqlite3_stmt *row, cli_column *columns, bool *seen, int n) {
  for (int i = 0; i < n; i++) {
    if (sqlite3_column_type(row, i) == SQLITE_NULL) continue;
    if (!is_number(row, i))
      columns[i].kind = CLI_WRAP;
    else if (!seen[i])
      columns[i].kind = CLI_RIGHT;
    seen[i] = true;
  }
}

static void add_table_row(cli_table *table, sqlite3_stmt *row, char **cells, int n) {
  for (int i = 0; i < n; i++) {
    size_t length;
    const char *text = heapsql_bytes(row, i, &length);
    cells[i] = cli_must(lh_escaped(text, length));
  }
  cli_table_row(table, (const char *const *)cells, LH_PLAIN);
  for (int i = 0; i < n; i++) lh_free(cells[i]);
}

static int print_table(cli *c, heapsql_limits *limits, sqlite3_stmt *statement, int n) {
  cli_column *columns = cli_must(calloc((size_t)n, sizeof *columns));
  char **cells = cli_must(calloc((size_t)n, sizeof *cells));
  bool *seen = cli_must(calloc((size_t)n, sizeof *seen));
  int code;
  for (int i = 0; i < n; i++) {
    columns[i].heading = cli_escape(cli_must((void *)sqlite3_column_name(statement, i)));
    columns[i].kind = CLI_LEFT;
  }
  cli_table *table = cli_table_new(c, columns, (size_t)n);
  while ((code = heapsql_step(limits, statement)) == SQLITE_ROW) {
    note_kinds(statement, columns, seen, n);
    add_table_row(table, statement, cells, n);
  }
  cli_progress(c, NULL);
  if (code == SQLITE_DONE)
    cli_table_print(table);
  else
    cli_table_free(table);
  for (int i = 0; i < n; i++) lh_free((char *)columns[i].heading);
  free(columns);
  free(cells);
  free(seen);
  return code;
}

/* RFC 4180, except that lines end with \n. */
static void print_field(const cli *c, const char *bytes, size_t n, bool follows) {
  char *harmless = c->stdout_terminal ? cli_must(lh_escaped(bytes, n)) : NULL;
  if (harmless != NULL) {
    bytes = harmless;
    n = strlen(harmless);
  }
  if (follows) putchar(',');
  bool quoted = n > 0 && (memchr(bytes, ',', n) || memchr(bytes, '"', n) ||
                          memchr(bytes, '\n', n) || memchr(bytes, '\r', n));
  if (quoted) putchar('"');
  for (const char *quote; (quote = n > 0 ? memchr(bytes, '"', n) : NULL) != NULL;) {
    size_t until = (size_t)(quote - bytes) + 1;
    (void)fwrite(bytes, 1, until, stdout);
    putchar('"');
    bytes += until;
    n -= until;
  }
  (void)fwrite(bytes, 1, n, stdout);
  if (quoted) putchar('"');
  lh_free(harmless);
}

static int print_csv(cli *c, heapsql_limits *limits, sqlite3_stmt *statement, int n) {
  int code;
  for (int i = 0; i < n; i++) {
    const char *name = cli_must((void *)sqlite3_column_name(statement, i));
    print_field(c, name, strlen(name), i > 0);
  }
  putchar('\n');
  while ((code = heapsql_step(limits, statement)) == SQLITE_ROW) {
    cli_progress(c, NULL);
    if (!cli_has_room()) continue;
    for (int i = 0; i < n; i++) {
      size_t length;
      const char *text = heapsql_bytes(statement, i, &length);
      print_field(c, text, length, i > 0);
    }
    putchar('\n');
  }
  return code;
}

/* Unique names of the columns: the second `class` is class_2. */
static char **key_names(sqlite3_stmt *statement, int n) {
  char **names = cli_must(calloc((size_t)n, sizeof *names));
  for (int i = 0; i < n; i++) {
    char *name = cli_escape(cli_must((void *)sqlite3_column_name(statement, i)));
    size_t size = strlen(name) + 16;
    names[i] = cli_must(malloc(size));
    snprintf(names[i], size, "%s", name);
    unsigned number = 1;
    for (int k = 0; k < i; k++) {
      if (strcmp(names[i], names[k]) != 0) continue;
      snprintf(names[i], size, "%s_%u", name, ++number);
      k = -1; /* the new name may be taken too */
    }
    lh_free(name);
  }
  return names;
}

static int print_rows_json(cli *c, heapsql_limits *limits, sqlite3_stmt *statement, int n,
                           lh_json *w) {
  char **names = key_names(statement, n);
  int code;
  cli_json_open(w, NULL, '{');
  lh_json_open_in_line(w, "columns", '[');
  for (int i = 0; i < n; i++) lh_json_string(w, NULL, names[i]);
  lh_json_close(w, ']');
  cli_json_open(w, "rows", '[');
  while ((code = heapsql_step(limits, statement)) == SQLITE_ROW) {
    cli_progress(c, NULL);
    if (!cli_has_room()) continue;
    lh_json_open_in_line(w, NULL, '{');
    for (int i = 0; i < n; i++) heapsql_json(w, names[i], statement, i);
    lh_json_close(w, '}');
  }
  cli_json_close(w, ']');
  cli_json_close(w, '}');
  for (int i = 0; i < n; i++) free(names[i]);
  free(names);
  return code;
}

int heapsql_print(cli *c, heapsql_limits *limits, sqlite3_stmt *statement, heapsql_format format,
                  bool first, lh_json *document) {
  int n = sqlite3_column_count(statement);
  if (n == 0) return heapsql_step(limits, statement);
  if (format == HEAPSQL_JSON) return print_rows_json(c, limits, statement, n, document);
  if (!first) putchar('\n');
  return format == HEAPSQL_CSV ? print_csv(c, limits, statement, n)
                               : print_table(c, limits, statement, n);
}
