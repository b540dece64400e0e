/*
** table.c - aligned columns, with libsmartcols. Elsewhere than on a terminal every line is as long
** as it must be, so that grep and awk see whole paths; only of a key in quotes with more than 64
** bytes no more than the beginning is shown, by which heappath finds it, too. On a terminal the
** columns of names and paths are broken to fit its width, at places where a person would break
** them: before `.` and `[`, behind a blank, comma or slash. So rows are kept until all widths are
** known.
*/
#include <libsmartcols.h>
#include <limits.h>
#include <string.h>
#include <wchar.h>

#include "cli.h"

enum { GAP = 2, LEAST_WIDTH = 18, INDENT = 2 };

struct cli_table {
  cli *c;
  const cli_column *columns;
  size_t n_columns, n_rows, capacity;
  char **cells; /* n_rows * n_columns */
  cli_style *styles;
};

/* libsmartcols says 0 or a negative error, of which only "out of memory" can be ours. */
static void must_be_done(int code) {
  cli_must(code == 0 ? "" : NULL);
}

cli_table *cli_table_new(cli *c, const cli_column *columns, size_t n_columns) {
  cli_table *table = cli_must(calloc(1, sizeof *table));
  table->c = c;
  table->columns = columns;
  table->n_columns = n_columns;
  return table;
}

/* {=== Long keys ====================================================================== */

enum { LONGEST_KEY = 64, DOTS = 3 };

/* Bytes of the character or Lua's escape at p, between quotes. */
static size_t quoted_unit(const char *p) {
  size_t n = 1;
  if (*p == '\\' && p[1] == 'u') n = strcspn(p, "}\"");
  if (*p == '\\' && p[1] == 'u') return p[n] == '}' ? n + 1 : n;
  if (*p == '\\' && p[1] == 'x' && p[2] != '\0' && p[3] != '\0') return 4;
  if (*p == '\\' && p[1] != '\0') return 2;
  while (((unsigned char)p[n] & 0xC0) == 0x80) n++;
  return n;
}

/* Bytes of what stands at p between quotes; *shown: of them, whole characters that fit. */
static size_t quoted_length(const char *p, size_t *shown) {
  size_t n = 0;
  *shown = 0;
  while (p[n] != '\0' && p[n] != '"') {
    n += quoted_unit(p + n);
    if (n <= LONGEST_KEY - DOTS) *shown = n;
  }
  return n;
}

/* The text with ["first bytes..."] in place of longer keys. */
static char *with_short_keys(const char *text) {
  char *result = cli_must(malloc(strlen(text) + 1)), *q = result;
  while (*text != '\0') {
    size_t shown = 0, n = strncmp(text, "[\"", 2) == 0 ? quoted_length(text + 2, &shown) : 0;
    if (n <= LONGEST_KEY || strncmp(text + 2 + n, "\"]", 2) != 0) {
      *q++ = *text++;
      continue;
    }
    q += sprintf(q, "[\"%.*s...\"]", (int)shown, text + 2);
    text += n + 4;
  }
  *q = '\0';
  return result;
}

/* }=================================================================================== */

void cli_table_row(cli_table *table, const char *const *cells, cli_style style) {
  size_t n = table->n_columns;
  if (table->n_rows == table->capacity) {
    table->capacity = 2 * table->capacity + 32;
    table->cells = cli_must(realloc(table->cells, table->capacity * n * sizeof(char *)));
    table->styles = cli_must(realloc(table->styles, table->capacity * sizeof(cli_style)));
  }
  for (size_t i = 0; i < n; i++) table->cells[table->n_rows * n + i] = with_short_keys(cells[i]);
  table->styles[table->n_rows++] = style;
}

/* {=== Fitting a terminal ============================================================= */

/* Places on the screen that the character at p takes; *bytes is its length. */
static size_t character_width(const char *p, size_t *bytes) {
  mbstate_t state = {0};
  wchar_t character;
  size_t n = mbrtowc(&character, p, MB_LEN_MAX, &state);
  int width;
  *bytes = n == 0 || n > MB_LEN_MAX ? 1 : n;
  if (n > MB_LEN_MAX) return 1;
  width = wcwidth(character);
  return width < 0 ? 1 : (size_t)width;
}

static size_t text_width(const char *text) {
  size_t width = 0, bytes;
  for (; *text != '\0'; text += bytes) width += character_width(text, &bytes);
  return width;
}

static size_t column_width(const cli_table *table, size_t column) {
  size_t width = text_width(table->columns[column].heading);
  for (size_t i = column; i < table->n_rows * table->n_columns; i += table->n_columns) {
    size_t w = text_width(table->cells[i]);
    if (w > width) width = w;
  }
  return width;
}

/* May a line end before text[at]? In a function's place, such as @/srv/app.lua:31, only behind a
** slash that is not the first. */
static bool may_break(const char *text, size_t at, bool in_place) {
  if (at == 0 || (at > 1 && memcmp(text + at - 2, "@/", 2) == 0)) return false;
  return (!in_place && strchr(".[", text[at]) != NULL) || strchr(" ,/", text[at - 1]) != NULL;
}

/* Is what follows in a function's place, if it begins so? */
static bool stays_in_place(bool in_place, char next) {
  return next == '@' || (in_place && next != ' ' && next != ')');
}

/* Bytes of `text` that fit into `width` places, up to a good place to break. */
static size_t fitting(const char *text, size_t width, bool in_place) {
  size_t used = 0, at = 0, good = 0, bytes;
  while (text[at] != '\0') {
    size_t w = character_width(text + at, &bytes);
    in_place = stays_in_place(in_place, text[at]);
    if (may_break(text, at, in_place)) good = at;
    if (used + w > width) return good > 0 ? good : at > 0 ? at : bytes;
    used += w;
    at += bytes;
  }
  return at;
}

/* The text broken into lines of `width` places, those after the first indented. */
static char *broken(const char *text, size_t width) {
  size_t n = strlen(text);
  char *result = cli_must(malloc((n + 1) * (INDENT + 2))), *q = result;
  bool in_place = false;
  for (size_t taken; n > 0; text += taken, n -= taken) {
    size_t indent = q == result ? 0 : INDENT;
    taken = fitting(text, width - indent, in_place);
    for (size_t i = 0; i < taken; i++) in_place = stays_in_place(in_place, text[i]);
    q += sprintf(q, "%s%*s", indent > 0 ? "\n" : "", (int)indent, "");
    memcpy(q, text, taken);
    q += taken;
  }
  *q = '\0';
  return result;
}

static void break_column(cli_table *table, size_t column, size_t width) {
  for (size_t i = column; i < table->n_rows * table->n_columns; i += table->n_columns) {
    char *text = broken(table->cells[i], width);
    free(table->cells[i]);
    table->cells[i] = text;
  }
}

/* Columns that may be broken share what the others leave. From the left to the right each takes
** what it needs, but at most its share or what those behind it do not need. */
static void fit(cli_table *table, size_t terminal_width) {
  size_t left = terminal_width, n_wrapped = 0, needed = 0;
  for (size_t i = 0; i < table->n_columns; i++) {
    size_t width = column_width(table, i), taken = i > 0 ? GAP : 0;
    if (table->columns[i].kind == CLI_WRAP) {
      n_wrapped++;
      needed += width;
    } else {
      taken += width;
    }
    left = left > taken ? left - taken : 0;
  }
  for (size_t i = 0; i < table->n_columns; i++) {
    size_t width, part;
    if (table->columns[i].kind != CLI_WRAP) continue;
    width = column_width(table, i);
    needed -= width;
    part = left / n_wrapped--;
    if (left > needed && left - needed > part) part = left - needed;
    if (part < LEAST_WIDTH) part = LEAST_WIDTH;
    if (width > part) break_column(table, i, part);
    if (width > part) width = part;
    left = left > width ? left - width : 0;
  }
}

/* }=================================================================================== */

static void add_columns(const cli_table *table, struct libscols_table *scols) {
  for (size_t i = 0; i < table->n_columns; i++) {
    int flags = table->columns[i].kind == CLI_RIGHT  ? SCOLS_FL_RIGHT
                : table->columns[i].kind == CLI_WRAP ? SCOLS_FL_WRAP
                                                     : 0;
    struct libscols_column *column =
        cli_must(scols_table_new_column(scols, table->columns[i].heading, 0, flags));
    if (flags == SCOLS_FL_WRAP) {
      must_be_done(scols_column_set_safechars(column, "\n"));
      must_be_done(
          scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL));
    }
    if (table->c->color)
      must_be_done(scols_cell_set_color(scols_column_get_header(column), "bold"));
  }
}

static void add_rows(const cli_table *table, struct libscols_table *scols) {
  for (size_t row = 0; row < table->n_rows; row++) {
    struct libscols_line *line = cli_must(scols_table_new_line(scols, NULL));
    for (size_t i = 0; i < table->n_columns; i++) /* takes the cell over */
      must_be_done(scols_line_refer_data(line, i, table->cells[row * table->n_columns + i]));
    if (table->c->color && table->styles[row] != CLI_PLAIN)
      must_be_done(scols_line_set_color(line, cli_style_on(table->c, table->styles[row])));
  }
}

void cli_table_free(cli_table *table) {
  for (size_t i = 0; i < table->n_rows * table->n_columns; i++) free(table->cells[i]);
  free(table->cells);
  free(table->styles);
  free(table);
}

bool cli_is_narrow(const cli *c) {
  enum { WIDE = 120 };
  struct libscols_table *scols;
  bool narrow;
  if (!c->stdout_terminal) return false;
  scols = cli_must(scols_new_table());
  narrow = scols_table_get_termwidth(scols) < WIDE;
  scols_unref_table(scols);
  return narrow;
}

void cli_table_print(cli_table *table) {
  struct libscols_table *scols = cli_must(scols_new_table());
  if (table->c->stdout_terminal) fit(table, scols_table_get_termwidth(scols));
  scols_table_enable_noencoding(scols, 1); /* the cells are escaped already */
  scols_table_enable_colors(scols, table->c->color);
  scols_table_set_column_separator(scols, "  ");
  scols_table_set_termforce(scols, SCOLS_TERMFORCE_NEVER); /* it would cut what does not fit */
  add_columns(table, scols);
  add_rows(table, scols);
  if (table->n_rows == 0)
    puts("none");
  else
    must_be_done(scols_print_table(scols));
  scols_unref_table(scols);
  table->n_rows = 0; /* they were taken over */
  cli_table_free(table);
}
