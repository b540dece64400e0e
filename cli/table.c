/*
** table.c - prints aligned columns.
**
** Off a terminal a line is as long as needed, so that grep and awk see whole paths. On a terminal,
** columns of names and paths are broken to fit: before `.` and `[`, after a blank or comma, and in
** a long file name after a slash. Other names and keys stay whole, because users paste them; a long
** one makes its line longer. A quoted key of more than 64 bytes is always cut; heappath finds it by
** its beginning. Sentences are broken between words.
**
** Rows are kept until all widths are known, or until they take 4 MB, about 20,000 rows. Then the
** widths are fixed, and later rows are printed at once: a million rows need no memory. A cell wider
** than its column makes its line longer.
*/
#include <limits.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "cli.h"

enum { GAP = 2, LEAST_WIDTH = 8, INDENT = 2, MOST_KEPT_BYTES = 4 << 20 };

struct cli_table {
  cli *c;
  const cli_column *columns;
  size_t n_columns;
  char **cells; /* of the kept rows: n_rows * n_columns */
  lh_style *styles;
  char **below; /* for each row the line under it; NULL: none */
  size_t n_rows, capacity, kept_bytes;
  bool begun; /* widths are fixed, the heading is printed */
  size_t *widths;
  size_t *limits; /* widths to which cells are broken; 0: never */
};

cli_table *cli_table_new(cli *c, const cli_column *columns, size_t n_columns) {
  cli_table *table = cli_must(calloc(1, sizeof *table));
  table->c = c;
  table->columns = columns;
  table->n_columns = n_columns;
  table->widths = cli_must(calloc(n_columns, sizeof *table->widths));
  table->limits = cli_must(calloc(n_columns, sizeof *table->limits));
  return table;
}

/* ==== Long keys ====================================================================== */

enum { LONGEST_KEY = 64, DOTS = 3 };

/* Bytes of the character or Lua escape at p, inside quotes. */
static size_t quoted_unit(const char *p) {
  size_t n = 1;
  if (*p == '\\' && p[1] == 'u') n = strcspn(p, "}\"");
  if (*p == '\\' && p[1] == 'u') return p[n] == '}' ? n + 1 : n;
  if (*p == '\\' && p[1] == 'x' && p[2] != '\0' && p[3] != '\0') return 4;
  if (*p == '\\' && p[1] != '\0') return 2;
  while (((unsigned char)p[n] & 0xC0) == 0x80) n++;
  return n;
}

/* Bytes up to the closing quote. *shown: those of whole characters that fit a short key. */
static size_t quoted_length(const char *p, size_t *shown) {
  size_t n = 0;
  *shown = 0;
  while (p[n] != '\0' && p[n] != '"') {
    n += quoted_unit(p + n);
    if (n <= LONGEST_KEY - DOTS) *shown = n;
  }
  return n;
}

/* A copy with ["first bytes..."] in place of long keys. */
static char *with_short_keys(const char *text) {
  char *result, *q;
  if (strstr(text, "[\"") == NULL) return cli_must(strdup(text));
  q = result = cli_must(malloc(strlen(text) + 1));
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

/* ==== Fitting a terminal ============================================================= */

/* Columns on the screen that the character at p takes; *bytes is its length. */
static size_t character_width(const char *p, size_t *bytes) {
  mbstate_t state = {0};
  wchar_t character;
  *bytes = 1;
  if ((unsigned char)*p < 0x80) return 1;
  size_t n = mbrtowc(&character, p, MB_LEN_MAX, &state);
  int width;
  *bytes = n == 0 || n > MB_LEN_MAX ? 1 : n;
  if (n > MB_LEN_MAX) return 1;
  width = wcwidth(character);
  return width < 0 ? 1 : (size_t)width;
}

static size_t text_width(const char *text, size_t n) {
  size_t width = 0, bytes;
  for (const char *end = text + n; text < end; text += bytes)
    width += character_width(text, &bytes);
  return width;
}

static size_t terminal_width(void) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char *columns = getenv("COLUMNS");
  int n = columns != NULL ? atoi(columns) : 0;
  return n > 0 ? (size_t)n : 80;
}

bool cli_is_narrow(const cli *c) {
  enum { WIDE = 120 };
  return c->stdout_terminal && terminal_width() < WIDE;
}

static size_t column_width(const cli_table *table, size_t column) {
  const char *heading = table->columns[column].heading;
  size_t width = text_width(heading, strlen(heading));
  for (size_t i = column; i < table->n_rows * table->n_columns; i += table->n_columns) {
    for (const char *text = table->cells[i]; *text != '\0'; text += *text == '\n') {
      size_t n = strcspn(text, "\n"), w = text_width(text, n);
      if (w > width) width = w;
      text += n;
    }
  }
  return width > 0 ? width : 1;
}

bool cli_table_fits(const cli_table *table) {
  enum { READABLE_WIDTH = 24 };
  size_t taken = (table->n_columns - 1) * GAP;
  if (!table->c->stdout_terminal || table->begun) return true;
  for (size_t i = 0; i < table->n_columns; i++) {
    size_t width = column_width(table, i);
    bool is_short = table->columns[i].kind != CLI_WRAP || width < READABLE_WIDTH;
    taken += is_short ? width : READABLE_WIDTH;
  }
  return taken <= terminal_width();
}

/* The context of a byte: a place such as @/srv/app.lua:31, brackets, quotes in brackets. */
typedef struct position {
  bool in_place, in_key, in_quotes;
} position;

typedef enum end { NO_END, END_OF_FOLDER, END_OF_NAME } end;

/* Advances to text[at] and says whether a line may end before it. */
static end end_before(position *in, const char *text, size_t at) {
  char last = at > 0 ? text[at - 1] : '\0';
  bool was_in_place = in->in_place;
  in->in_place = text[at] == '@' || (in->in_place && text[at] != ' ' && text[at] != ')');
  if (last == '[' && !in->in_key) {
    in->in_key = true;
    in->in_quotes = text[at] == '"';
  }
  if (in->in_key && text[at] == ']' && (!in->in_quotes || last == '"')) in->in_key = false;
  if (at == 0 || in->in_key) return NO_END;
  if (was_in_place && in->in_place)
    return last == '/' && at > 1 && text[at - 2] != '@' ? END_OF_FOLDER : NO_END;
  bool is_step = text[at] == '[' || (text[at] == '.' && last != '.');
  bool is_in_number = last == ',' && text[at] >= '0' && text[at] <= '9';
  return is_step || last == ' ' || (last == ',' && !is_in_number) ? END_OF_NAME : NO_END;
}

/* Bytes up to the last break that fits `width`, else up to the first break; *in moves along. */
static size_t fitting(const char *text, size_t width, position *in) {
  size_t used = 0, bytes, name = 0, folder = 0;
  position at_name = *in, at_folder = *in;
  for (size_t at = 0; text[at] != '\0'; at += bytes) {
    end found = end_before(in, text, at);
    if (found == END_OF_NAME) name = at, at_name = *in;
    if (found == END_OF_FOLDER) folder = at, at_folder = *in;
    used += character_width(text + at, &bytes);
    if (used <= width || name + folder == 0) continue;
    *in = name > 0 ? at_name : at_folder;
    return name > 0 ? name : folder;
  }
  return strlen(text);
}

/* Frees `text` and returns it in lines of `width`, all but the first indented. */
static char *broken(char *text, size_t width) {
  size_t n = strlen(text);
  char *result = cli_must(malloc((n + 1) * (INDENT + 2))), *q = result;
  const char *rest = text;
  position in = {0};
  for (size_t taken; n > 0; rest += taken, n -= taken) {
    size_t indent = q == result ? 0 : INDENT;
    taken = fitting(rest, width - indent, &in);
    q += sprintf(q, "%s%*s", indent > 0 ? "\n" : "", (int)indent, "");
    memcpy(q, rest, taken);
    q += taken;
  }
  *q = '\0';
  free(text);
  return result;
}

/* The width of the longest unbreakable name of a column, at most `share`. */
static size_t least_width(const cli_table *table, size_t column, size_t share) {
  size_t least = LEAST_WIDTH;
  for (size_t i = column; i < table->n_rows * table->n_columns; i += table->n_columns) {
    position in = {0};
    size_t width = 0, bytes;
    for (const char *text = table->cells[i], *p = text; *p != '\0'; p += bytes) {
      if (end_before(&in, text, (size_t)(p - text)) != NO_END) width = INDENT;
      width += character_width(p, &bytes);
      if (width > least) least = width;
    }
  }
  return least > share ? share > LEAST_WIDTH ? share : LEAST_WIDTH : least;
}

/* Bytes up to the last word that fits `width`, with the blank behind it, or else the first one. */
static size_t fitting_words(const char *text, size_t width, position *in) {
  size_t used = 0, bytes, words = 0;
  position at_words = *in;
  for (size_t at = 0; text[at] != '\0'; at += bytes) {
    bool ends = end_before(in, text, at) == END_OF_NAME && text[at - 1] == ' ' && text[at] != ' ';
    if (ends && used > strspn(text, " ")) words = at, at_words = *in;
    used += character_width(text + at, &bytes);
    if (used <= width || words == 0) continue;
    *in = at_words;
    return words;
  }
  return strlen(text);
}

void cli_print_sentence(const cli *c, const char *text) {
  if (!c->stdout_terminal) {
    fputs(text, stdout);
    return;
  }
  size_t width = terminal_width(), first = strspn(text, " ");
  int indent = 0;
  position in = {0};
  for (size_t taken; *text != '\0'; text += taken) {
    taken = fitting_words(text, width - (size_t)indent, &in);
    size_t shown = taken - (text[taken] != '\0' && text[taken - 1] == ' ');
    printf("%s%*s%.*s", indent > 0 ? "\n" : "", indent, "", (int)shown, text);
    if (first + INDENT < width / 2) indent = (int)first + INDENT;
  }
}

static void break_cells(const cli_table *table, char **cells) {
  for (size_t i = 0; i < table->n_columns; i++)
    if (table->limits[i] > 0) cells[i] = broken(cells[i], table->limits[i]);
}

/* Wrapped columns share the width that the others leave. From left to right, each takes the width
** that it needs, but at most its share or the width that the columns to its right do not need. Each
** column, also those to the right, gets at least its least_width. */
static void fit(cli_table *table, size_t terminal_width) {
  size_t left = terminal_width, n_wrapped = 0, needed = 0, least_behind = 0;
  for (size_t i = 0; i < table->n_columns; i++) {
    size_t taken = i > 0 ? GAP : 0;
    if (table->columns[i].kind == CLI_WRAP) {
      n_wrapped++;
      needed += table->widths[i];
    } else {
      taken += table->widths[i];
    }
    left = left > taken ? left - taken : 0;
  }
  for (size_t i = 0; i < table->n_columns; i++)
    if (table->columns[i].kind == CLI_WRAP)
      least_behind += table->limits[i] = least_width(table, i, left / n_wrapped);
  for (size_t i = 0; i < table->n_columns; i++) {
    if (table->columns[i].kind != CLI_WRAP) continue;
    size_t width = table->widths[i], least = table->limits[i], part = left / n_wrapped--;
    needed -= width;
    least_behind -= least;
    if (left > needed && left - needed > part) part = left - needed;
    if (part + least_behind > left) part = left > least_behind ? left - least_behind : 0;
    if (part < least) part = least;
    if (width > part) width = part;
    table->limits[i] = width > LEAST_WIDTH ? width : LEAST_WIDTH;
    left = left > width ? left - width : 0;
  }
}

/* ==== Printing ====================================================================== */

static void print_part(const cli_table *table, size_t column, const char *text, size_t n) {
  bool last = column + 1 == table->n_columns, right = table->columns[column].kind == CLI_RIGHT;
  size_t width = last && !right ? 0 : text_width(text, n), wanted = table->widths[column];
  int padding = wanted > width && !(last && n == 0) ? (int)(wanted - width) : 0;
  if (right) printf("%*s", padding, "");
  fwrite(text, 1, n, stdout);
  if (!right && !last) printf("%*s", padding, "");
}

static void print_heading(const cli_table *table) {
  const char *on = cli_style_on(table->c, LH_BOLD), *off = cli_style_off(table->c);
  for (size_t i = 0; i < table->n_columns; i++) {
    const char *heading = table->columns[i].heading;
    printf("%*s%s", i > 0 ? GAP : 0, "", on);
    print_part(table, i, heading, strlen(heading));
    printf("%s", off);
  }
  putchar('\n');
}

/* Prints the next line of each cell and moves rest[] behind it. True: another line remains. */
static bool print_line(const cli_table *table, const char **rest, lh_style style) {
  bool more = false;
  printf("%s", cli_style_on(table->c, style));
  for (size_t i = 0; i < table->n_columns; i++) {
    size_t n = strcspn(rest[i], "\n");
    printf("%*s", i > 0 ? GAP : 0, "");
    print_part(table, i, rest[i], n);
    rest[i] += n + (rest[i][n] == '\n');
    more = more || *rest[i] != '\0';
  }
  printf("%s\n", style != LH_PLAIN ? cli_style_off(table->c) : "");
  return more;
}

/* Frees `line`. On a terminal it is broken like a wrapped cell. */
static void print_below(const cli_table *table, char *line) {
  enum { BELOW_INDENT = 4 };
  size_t width = table->c->stdout_terminal ? terminal_width() : 0;
  if (width > 2 * BELOW_INDENT) line = broken(line, width - BELOW_INDENT);
  for (const char *rest = line; *rest != '\0'; rest += *rest == '\n') {
    size_t n = strcspn(rest, "\n");
    printf("%*s%.*s\n", BELOW_INDENT, "", (int)n, rest);
    rest += n;
  }
  free(line);
}

static void print_row(const cli_table *table, char **cells, lh_style style) {
  const char **rest = cli_must(calloc(table->n_columns, sizeof *rest));
  for (size_t i = 0; i < table->n_columns; i++) rest[i] = cells[i];
  while (cli_has_room() && print_line(table, rest, style)) continue;
  for (size_t i = 0; i < table->n_columns; i++) free(cells[i]);
  free(rest);
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static void settle_widths(cli_table *table) {
  for (size_t i = 0; i < table->n_columns; i++) table->widths[i] = column_width(table, i);
  if (!table->c->stdout_terminal) return;
  fit(table, terminal_width());
  for (size_t i = 0; i < table->n_rows; i++)
    break_cells(table, table->cells + i * table->n_columns);
  for (size_t i = 0; i < table->n_columns; i++)
    if (table->limits[i] > 0) table->widths[i] = smaller(column_width(table, i), table->limits[i]);
}

static void begin_printing(cli_table *table) {
  table->begun = true;
  cli_progress(table->c, NULL);
  settle_widths(table);
  print_heading(table);
  for (size_t i = 0; i < table->n_rows; i++) {
    print_row(table, table->cells + i * table->n_columns, table->styles[i]);
    if (table->below[i] != NULL) print_below(table, table->below[i]);
  }
  table->n_rows = 0;
}

static void make_room_for_row(cli_table *table) {
  if (table->n_rows < table->capacity) return;
  table->capacity = 2 * table->capacity + 32;
  table->cells =
      cli_must(realloc(table->cells, table->capacity * table->n_columns * sizeof(char *)));
  table->styles = cli_must(realloc(table->styles, table->capacity * sizeof(lh_style)));
  table->below = cli_must(realloc(table->below, table->capacity * sizeof(char *)));
}

void cli_table_row(cli_table *table, const char *const *cells, lh_style style) {
  enum { BLOCK_BYTES = 40 }; /* overhead of a cell, besides its text */
  make_room_for_row(table);
  char **row = table->cells + table->n_rows * table->n_columns;
  for (size_t i = 0; i < table->n_columns; i++) {
    row[i] = with_short_keys(cells[i]);
    table->kept_bytes += strlen(row[i]) + BLOCK_BYTES;
  }
  if (table->begun) {
    break_cells(table, row);
    print_row(table, row, style);
    return;
  }
  table->below[table->n_rows] = NULL;
  table->styles[table->n_rows++] = style;
  if (table->kept_bytes > MOST_KEPT_BYTES) begin_printing(table);
}

void cli_table_below(cli_table *table, const char *line) {
  char *copy = cli_must(strdup(line));
  if (table->n_rows == 0)
    print_below(table, copy); /* the row is already printed */
  else
    table->below[table->n_rows - 1] = copy;
}

void cli_table_free(cli_table *table) {
  for (size_t i = 0; i < table->n_rows * table->n_columns; i++) free(table->cells[i]);
  for (size_t i = 0; i < table->n_rows; i++) free(table->below[i]);
  free(table->cells);
  free(table->below);
  free(table->styles);
  free(table->widths);
  free(table->limits);
  free(table);
}

void cli_table_print(cli_table *table) {
  if (!table->begun && table->n_rows == 0)
    puts("none");
  else if (!table->begun)
    begin_printing(table);
  cli_table_free(table);
}
