/*
** json.c - writes JSON: one value a line inside the brackets that lh_json_open opens, or compact;
** and an answer as such values, each row in one line. All is written immediately: a million rows
** need no memory.
**
** Every < and > in a string is written \u003C and \u003E. So a page may contain the text in a
** script element, and XML in a CDATA section: no string can end either, or begin a comment.
*/
#include <math.h>

#include "report/report.h"

/* ==== Brackets ======================================================================= */

static bool is_in_line(const lh_json *w) {
  return w->depth > w->lines;
}

static void begin_line(const lh_json *w) {
  if (!w->is_compact) fprintf(w->out, "\n%*s", 2 * (int)w->depth, "");
}

static void put_blank(const lh_json *w) {
  if (!w->is_compact) putc_unlocked(' ', w->out);
}

static void put_string(const lh_json *w, const char *text, size_t n);

static void begin_item(lh_json *w, const char *key) {
  if (w->follows) putc_unlocked(',', w->out);
  if (is_in_line(w) && w->follows) put_blank(w);
  if (!is_in_line(w) && w->depth > 0) begin_line(w);
  if (!key) return;
  put_string(w, key, strlen(key));
  putc_unlocked(':', w->out);
  put_blank(w);
}

static void look_for_room(lh_json *w) {
  if (w->most_bytes > 0 && !w->is_full)
    w->is_full = ferror(w->out) || ftello(w->out) > w->most_bytes;
}

static void end_item(lh_json *w) {
  w->follows = true;
  if (!is_in_line(w)) look_for_room(w);
}

void lh_json_open_in_line(lh_json *w, const char *key, char bracket) {
  begin_item(w, key);
  putc_unlocked(bracket, w->out);
  w->depth++;
  w->follows = false;
}

void lh_json_open(lh_json *w, const char *key, char bracket) {
  lh_json_open_in_line(w, key, bracket);
  w->lines++;
}

void lh_json_close(lh_json *w, char bracket) {
  bool had_lines = w->lines == w->depth;
  w->depth--;
  w->lines -= had_lines;
  if (had_lines && w->follows) begin_line(w);
  putc_unlocked(bracket, w->out);
  end_item(w);
}

/* ==== Values ========================================================================= */

/* Decodes the character at *text, which is valid UTF-8, and advances behind it. */
static unsigned next_character(const char **text) {
  const unsigned char *s = (const unsigned char *)*text;
  unsigned n = s[0] < 0xE0 ? 1 : s[0] < 0xF0 ? 2 : 3, c = s[0] & (0x3Fu >> n);
  for (unsigned i = 1; i <= n; i++) c = c << 6 | (s[i] & 0x3Fu);
  *text += 1 + n;
  return c;
}

static void put_escaped(FILE *out, unsigned c) {
  static const char named[] = "\b\f\n\r\t", names[] = "bfnrt";
  const char *name = c > 0 && c < ' ' ? strchr(named, (int)c) : NULL;
  if (c == '"' || c == '\\' || name != NULL) {
    putc_unlocked('\\', out);
    putc_unlocked(name != NULL ? names[name - named] : (int)c, out);
  } else if (c < 0x10000) {
    fprintf(out, "\\u%04X", c);
  } else {
    fprintf(out, "\\u%04X\\u%04X", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + (c & 0x3FF));
  }
}

/* True: the byte needs no escape. */
static bool is_plain(const lh_json *w, unsigned char c) {
  enum { PLAIN = 2, NOT_ASCII = 1 };
  static const uint8_t kinds[256] = {
      [' '] = PLAIN,         ['!'] = PLAIN,         ['#' ... ';'] = PLAIN,      ['='] = PLAIN,
      ['?' ... '['] = PLAIN, [']' ... '~'] = PLAIN, [0x80 ... 0xFF] = NOT_ASCII};
  return kinds[c] > w->is_ascii;
}

static void put_string(const lh_json *w, const char *text, size_t n) {
  putc_unlocked('"', w->out);
  for (const char *end = text + n; text < end;) {
    const char *run = text;
    while (text < end && is_plain(w, (unsigned char)*text)) text++;
    (void)fwrite_unlocked(run, 1, (size_t)(text - run), w->out);
    if (text == end) break;
    put_escaped(w->out,
                (unsigned char)*text < 0x80 ? (unsigned char)*text++ : next_character(&text));
  }
  putc_unlocked('"', w->out);
}

void lh_json_text(lh_json *w, const char *key, const char *text, size_t n) {
  begin_item(w, key);
  put_string(w, text, n);
  end_item(w);
}

static void put_word(lh_json *w, const char *key, const char *word) {
  begin_item(w, key);
  fputs_unlocked(word, w->out);
  end_item(w);
}

void lh_json_string(lh_json *w, const char *key, const char *text) {
  if (text)
    lh_json_text(w, key, text, strlen(text));
  else
    lh_json_null(w, key);
}

void lh_json_count(lh_json *w, const char *key, uint64_t n) {
  lh_json_integer(w, key, (int64_t)n);
}

void lh_json_null(lh_json *w, const char *key) {
  put_word(w, key, "null");
}

void lh_json_flag(lh_json *w, const char *key, bool flag) {
  put_word(w, key, flag ? "true" : "false");
}

void lh_json_integer(lh_json *w, const char *key, int64_t n) {
  char digits[24], *at = digits + sizeof digits;
  uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  *--at = '\0';
  do *--at = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (n < 0) *--at = '-';
  put_word(w, key, at);
}

/* JSON has a point, whatever the host's locale has. The exponent is written without zeros before
** it: 1.5e-5. JSON has no word for what is not finite. */
void lh_json_number(lh_json *w, const char *key, double number) {
  char digits[40];
  if (!isfinite(number)) {
    lh_json_null(w, key);
    return;
  }
  snprintf(digits, sizeof digits, "%.17g", number);
  char *exponent = strchr(digits, 'e');
  char *point = digits + strspn(digits, "-0123456789");
  if (*point == '\0')
    memcpy(point, ".0", sizeof ".0");
  else if (point != exponent)
    *point = '.';
  if (exponent)
    snprintf(exponent, sizeof digits - (size_t)(exponent - digits), "e%d", atoi(exponent + 1));
  put_word(w, key, digits);
}

/* ==== An answer ====================================================================== */

static void put_row_json(lh_json *w, lh_report *report, const char *key, const lh_table *table,
                         const void *row);

static void put_made(lh_json *w, lh_report *report, const char *key, char *text) {
  report->failed |= !text;
  lh_json_string(w, key, text);
  lh_free(text);
}

static void put_name(lh_json *w, lh_report *report, const char *key, const char *name) {
  put_made(w, report, key, lh_escaped(name, strlen(name)));
}

static void put_rows(lh_json *w, lh_report *report, const lh_column *column, const char *key,
                     const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  const char *row = cell->as.rows.list;
  size_t n = cell->as.rows.n;
  if (!column->is_one) lh_json_open_in_line(w, key, column->is_by_name ? '{' : '[');
  for (size_t i = 0; i < n && !w->is_full; i++, row += table->row_bytes) {
    lh_cell name = {0};
    if (column->is_by_name) lh_cell_of(report, table->columns, row, &name);
    put_row_json(w, report, column->is_one ? key : name.as.text, table, row);
    look_for_room(w);
  }
  if (!column->is_one) lh_json_close(w, column->is_by_name ? '}' : ']');
}

static void put_texts(lh_json *w, lh_report *report, const char *key, const lh_cell *cell) {
  lh_json_open_in_line(w, key, '[');
  for (size_t i = 0; i < cell->as.texts.n; i++)
    if (cell->kind == LH_COLUMN_NAMES)
      put_name(w, report, NULL, cell->as.texts.list[i]);
    else
      lh_json_string(w, NULL, cell->as.texts.list[i]);
  lh_json_close(w, ']');
}

static void put_series(lh_json *w, const char *key, const lh_cell *cell) {
  lh_json_open_in_line(w, key, '[');
  for (size_t i = 0; i < cell->as.series.n; i++) lh_json_count(w, NULL, lh_series_at(cell, i));
  lh_json_close(w, ']');
}

static void put_value(lh_json *w, lh_report *report, const lh_column *column, const char *key,
                      const lh_cell *cell) {
  const lh_snapshot *s = report->snapshot;
  switch (cell->kind) {
    case LH_COLUMN_BYTES_SERIES:
    case LH_COLUMN_COUNT_SERIES: put_series(w, key, cell); break;
    case LH_COLUMN_MORE_BYTES:
    case LH_COLUMN_NUMBER: lh_json_number(w, key, cell->as.number); break;
    case LH_COLUMN_FLAG: lh_json_flag(w, key, cell->as.flag); break;
    case LH_COLUMN_TEXT: lh_json_string(w, key, cell->as.text); break;
    case LH_COLUMN_NAME: put_name(w, report, key, cell->as.name.bytes); break;
    case LH_COLUMN_OBJECT:
    case LH_COLUMN_EXAMPLE: lh_json_string(w, key, lh_address_text(s, cell->as.object).text); break;
    case LH_COLUMN_STRING: put_made(w, report, key, lh_string_text(s, cell->as.object, 64)); break;
    case LH_COLUMN_EDGE: put_made(w, report, key, lh_edge_text(s, cell->as.edge)); break;
    case LH_COLUMN_NAMES:
    case LH_COLUMN_TEXTS: put_texts(w, report, key, cell); break;
    case LH_COLUMN_ROWS: put_rows(w, report, column, key, cell); break;
    case LH_COLUMN_CLASS: lh_json_string(w, key, lh_class_at(s, cell->as.class_index)->name); break;
    default: lh_json_count(w, key, cell->as.n);
  }
}

/* An object is written as address, class and type; a class as name and type. */
static void put_cell(lh_json *w, lh_report *report, const lh_column *column, const void *row) {
  const lh_snapshot *s = report->snapshot;
  lh_cell cell;
  lh_cell_of(report, column, row, &cell);
  if (cell.is_absent) return;
  if (column->kind == LH_COLUMN_OBJECT) {
    lh_id id = cell.as.object;
    lh_json_string(w, "class", cell.is_null ? NULL : lh_class_name_of(s, id));
    lh_json_string(w, "type", cell.is_null ? NULL : lh_type_name(lh_type_of(s, id)));
  } else if (column->kind == LH_COLUMN_CLASS && !column->json_key) {
    const lh_class *class = cell.is_null ? NULL : lh_class_at(s, cell.as.class_index);
    lh_json_string(w, "type", class ? lh_type_name(class->type) : NULL);
  }
  if (cell.is_null)
    lh_json_null(w, lh_json_key(column));
  else
    put_value(w, report, column, lh_json_key(column), &cell);
}

static void put_row_json(lh_json *w, lh_report *report, const char *key, const lh_table *table,
                         const void *row) {
  lh_json_open_in_line(w, key, '{');
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++)
    if (lh_json_key(column)) put_cell(w, report, column, row);
  lh_json_close(w, '}');
}

/* Rows that are the answer's own stand in lines of their own. */
static void put_list(lh_json *w, lh_report *report, const lh_column *column) {
  lh_cell cell;
  lh_cell_of(report, column, report->answer, &cell);
  const lh_table *table = column->kind == LH_COLUMN_ROWS ? cell.as.rows.table : NULL;
  const char *rows = table ? cell.as.rows.list : NULL;
  size_t n = table ? cell.as.rows.n : cell.as.texts.n;
  lh_json_open(w, lh_json_key(column), '[');
  for (size_t i = 0; i < n && !w->is_full; i++) {
    if (w->has_room && !w->has_room()) continue;
    if (table)
      put_row_json(w, report, NULL, table, rows + i * table->row_bytes);
    else
      put_name(w, report, NULL, cell.as.texts.list[i]);
  }
  lh_json_close(w, ']');
}

static bool is_list(const lh_column *column) {
  return column->kind == LH_COLUMN_NAMES ||
         (column->kind == LH_COLUMN_ROWS && !column->is_by_name && !column->is_one);
}

bool lh_json_report(lh_json *w, lh_report *report) {
  const lh_column *column = report->question->answer->columns;
  for (; column->kind != LH_COLUMN_END; column++) {
    if (!lh_json_key(column)) continue;
    if (is_list(column))
      put_list(w, report, column);
    else
      put_cell(w, report, column, report->answer);
  }
  return !report->failed;
}
