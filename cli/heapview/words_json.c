/*
** words_json.c - an answer's text as JSON for a page, so that page and terminal say the same:
** lines, tables, formatted numbers. Commands, objects and classes become links.
*/
#include "heapview.h"

enum { MOST_HINTS = 4 };

typedef struct hint {
  char *command, *link;
  const char *why; /* its purpose; NULL: a sentence says it */
} hint;

typedef struct words_writer {
  lh_printer printer; /* first: callbacks cast it to words_writer */
  const view_asked *asked;
  lh_json *w;
  bool in_table, has_tables; /* the number of hidden rows may follow */
  hint hints[MOST_HINTS];
  size_t n_hints; /* commands in the next line */
} words_writer;

/* ==== Links ========================================================================== */

/* The parameter `in`, unless it is the last snapshot, so that a link works from any page. */
static const char *in_of(const words_writer *t, char mark, char in[32]) {
  *in = '\0';
  if (t->asked->v->n > 0 && t->asked->in + 1 != t->asked->v->n)
    snprintf(in, 32, "%cin=%zu", mark, t->asked->in);
  return in;
}

/* link_to("/object", "class", "Session"). */
static char *link_to(const words_writer *t, const char *page, const char *key, const char *value) {
  char in[32];
  size_t more = key != NULL ? strlen(key) + view_encoded(value) + 2 : 0;
  char *link = cli_must(malloc(strlen(page) + more + sizeof in)), *end = stpcpy(link, page);
  if (key != NULL) {
    end = stpcpy(stpcpy(stpcpy(end, "?"), key), "=");
    end = view_encode(end, value);
  }
  (void)stpcpy(end, in_of(t, key != NULL ? '&' : '?', in));
  return link;
}

static char *link_to_object(const words_writer *t, const lh_report *report, lh_id id) {
  if (id == LH_NO_OBJECT) return NULL;
  lh_number address = lh_address_text(report->snapshot, id);
  return link_to(t, "/object", "at", id == LH_ROOT ? "root" : address.text);
}

/* link_and(link, "until", "1204"). Frees `link`. */
static char *link_and(char *link, const char *key, const char *value) {
  char *longer;
  if (asprintf(&longer, "%s%c%s=%s", link, strchr(link, '?') != NULL ? '&' : '?', key, value) < 0)
    cli_must(NULL);
  free(link);
  return longer;
}

static char *link_and_mark(const words_writer *t, char *link, const char *key, const char *mark) {
  const lh_snapshot *s = t->asked->snapshot;
  char position[24];
  for (uint32_t i = s != NULL && mark != NULL ? lh_mark_count(s) : 0; i-- > 0;) {
    if (strcmp(lh_mark_at(s, i)->name, mark) != 0) continue;
    snprintf(position, sizeof position, "%" PRIu64, lh_mark_position(s, i));
    return link_and(link, key, position);
  }
  return link;
}

/* The page that shows what the command would print. */
static char *link_of(const words_writer *t, lh_next next, const char *subject, const char *other) {
  switch (next) {
    case LH_NEXT_PATHS: return link_and(link_to(t, "/object", "at", subject), "tab", "paths");
    case LH_NEXT_UNDER: return link_to(t, "/treemap", "of", subject);
    case LH_NEXT_SET: return link_to(t, "/object", "class", subject);
    case LH_NEXT_SINCE:
      return link_and_mark(t,
                           link_and_mark(t, link_to(t, "/timeline", NULL, NULL), "since", subject),
                           "until", other);
    case LH_NEXT_OWNERS: return link_to(t, "/timeline", NULL, NULL);
    case LH_NEXT_WASTE: break;
  }
  return link_to(t, "/verdict", NULL, NULL);
}

static char *command_of(lh_printer *printer, const char *why, lh_next next, const char *subject,
                        const char *other) {
  words_writer *t = (words_writer *)printer;
  const view_asked *asked = t->asked;
  const char *file = asked->snapshot != NULL ? asked->v->files[asked->in] : asked->v->profile;
  char *command = cli_next_command(next, file != NULL ? file : "", subject, other);
  if (t->n_hints < MOST_HINTS)
    t->hints[t->n_hints++] = (hint){.command = cli_must(strdup(command)),
                                    .link = link_of(t, next, subject, other),
                                    .why = why != NULL ? why + strspn(why, " \n") : NULL};
  return command;
}

/* ==== Lines ========================================================================== */

static void put_part(words_writer *t, const char *text, size_t n, const char *link,
                     const char *action) {
  if (n == 0) return;
  cli_json_open(t->w, NULL, '{');
  lh_json_text(t->w, "text", text, n);
  if (link != NULL) lh_json_string(t->w, "link", link);
  if (action != NULL) lh_json_string(t->w, "action", action);
  cli_json_close(t->w, '}');
}

static void forget_hints(words_writer *t) {
  for (size_t i = 0; i < t->n_hints; i++) {
    free(t->hints[i].command);
    free(t->hints[i].link);
  }
  t->n_hints = 0;
}

/* Removes line breaks and empty lines, which are for terminals. */
static char *one_line(const char *line) {
  while (*line == '\n') line++;
  char *text = cli_must(strdup(line));
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
  for (char *p = text; (p = strchr(p, '\n')) != NULL;) *p = ' ';
  return text;
}

/* Writes a line with its commands as links. Hints are in the order of the commands. */
static void put_parts(words_writer *t, const char *key, const char *line) {
  cli_json_open(t->w, key, '[');
  for (size_t i = 0; i < t->n_hints; i++) {
    const hint *h = &t->hints[i];
    const char *at = strstr(line, h->command);
    if (at != NULL) {
      put_part(t, line, (size_t)(at - line), NULL, NULL);
      put_part(t, h->command, strlen(h->command), h->link, h->why);
      line = at + strlen(h->command);
    }
  }
  put_part(t, line, strlen(line), NULL, NULL);
  cli_json_close(t->w, ']');
  forget_hints(t);
}

static const char *const styles[] = {
    [LH_PLAIN] = "plain", [LH_BOLD] = "bold", [LH_FAINT] = "faint", [LH_ALARM] = "alarm"};

static void end_table(words_writer *t) {
  if (!t->in_table) return;
  cli_json_close(t->w, '}');
  cli_json_close(t->w, '}');
  t->in_table = false;
}

static void put_line(lh_printer *printer, lh_style style, const char *text) {
  words_writer *t = (words_writer *)printer;
  char *line = one_line(text);
  end_table(t);
  if (*line != '\0') {
    cli_json_open(t->w, NULL, '{');
    put_parts(t, "line", line);
    lh_json_string(t->w, "style", styles[style]);
    cli_json_close(t->w, '}');
  }
  forget_hints(t);
  free(line);
}

/* ==== Tables ========================================================================= */

/* Decides how a page formats and sorts a column; otherwise its cells are text. */
static const char *const kinds[] = {[LH_COLUMN_BYTES] = "bytes",
                                    [LH_COLUMN_SHARE] = "share",
                                    [LH_COLUMN_BAR] = "bar",
                                    [LH_COLUMN_BYTES_SERIES] = "series",
                                    [LH_COLUMN_COUNT_SERIES] = "series",
                                    [LH_COLUMN_MORE_BYTES] = "change",
                                    [LH_COLUMN_BYTES_CHANGE] = "change",
                                    [LH_COLUMN_COUNT_CHANGE] = "change",
                                    [LH_COLUMN_COUNT] = "count",
                                    [LH_COLUMN_NUMBER] = "count",
                                    [LH_COLUMN_FLAG] = "flag",
                                    [LH_COLUMN_NAME] = "name",
                                    [LH_COLUMN_OBJECT] = "object",
                                    [LH_COLUMN_EXAMPLE] = "object",
                                    [LH_COLUMN_CLASS] = "class",
                                    [LH_COLUMN_STRING] = "string",
                                    [LH_COLUMN_EDGE] = "edge"};

static const char *kind_name(lh_column_kind kind) {
  return kind < sizeof kinds / sizeof *kinds && kinds[kind] != NULL ? kinds[kind] : "text";
}

/* The value to sort by, if that is not the text. A share is from 0 to 1. */
static void put_value(lh_json *w, const lh_cell *cell) {
  static const char key[] = "value";
  double part = (double)cell->as.n, whole = (double)cell->whole;
  size_t n = cell->as.series.n;
  if (cell->is_null) return;
  switch (cell->kind) {
    case LH_COLUMN_BYTES:
    case LH_COLUMN_COUNT: lh_json_count(w, key, cell->as.n); break;
    case LH_COLUMN_SHARE:
    case LH_COLUMN_BAR: lh_json_number(w, key, whole > 0 ? part / whole : 0); break;
    case LH_COLUMN_MORE_BYTES:
    case LH_COLUMN_NUMBER: lh_json_number(w, key, cell->as.number); break;
    case LH_COLUMN_BYTES_SERIES:
    case LH_COLUMN_COUNT_SERIES: lh_json_count(w, key, lh_series_at(cell, n - 1)); break;
    case LH_COLUMN_BYTES_CHANGE:
    case LH_COLUMN_COUNT_CHANGE:
      lh_json_count(w, key, lh_series_at(cell, n - 1) - lh_series_at(cell, 0));
      break;
    default: break;
  }
}

/* A column about an object has its id in the field. */
static char *link_of_cell(const words_writer *t, const lh_report *report, const lh_column *column,
                          const char *row, const lh_cell *cell) {
  const void *field = row + column->offset;
  if (cell->is_null || lh_is_number(column->kind)) return NULL;
  if (column->of != NULL && !column->is_of_site)
    return link_to_object(t, report, *(const lh_id *)field);
  if (cell->kind == LH_COLUMN_OBJECT || cell->kind == LH_COLUMN_EXAMPLE ||
      cell->kind == LH_COLUMN_STRING)
    return link_to_object(t, report, cell->as.object);
  if (cell->kind != LH_COLUMN_CLASS) return NULL;
  return link_to(t, "/object", "class", lh_class_at(report->snapshot, cell->as.class_index)->name);
}

static void put_cell(words_writer *t, lh_report *report, const lh_column *column, const char *row) {
  lh_cell cell;
  lh_cell_of(report, column, row, &cell);
  char *link = link_of_cell(t, report, column, row, &cell);
  char *text = cli_must(lh_cell_text(&t->printer, report, &cell));
  cli_json_open(t->w, NULL, '{');
  lh_json_string(t->w, "text", text);
  put_value(t->w, &cell);
  if (link != NULL) lh_json_string(t->w, "link", link);
  cli_json_close(t->w, '}');
  lh_free(text);
  free(link);
}

/* Columns with a heading. A page has room for all, or scrolls. */
static size_t put_columns(words_writer *t, const lh_report *report, const lh_table *table,
                          const lh_column *shown[LH_MOST_HEADINGS]) {
  size_t n = 0;
  cli_json_open(t->w, "columns", '[');
  for (const lh_column *c = table->columns; c->kind != LH_COLUMN_END; c++) {
    const char *heading = lh_heading_of(report, c), *key = lh_json_key(c);
    if (c->is_narrow || heading == NULL || n == LH_MOST_HEADINGS) continue;
    cli_json_open(t->w, NULL, '{');
    lh_json_string(t->w, "heading", heading);
    lh_json_string(t->w, "kind", kind_name(c->kind));
    if (c->meaning != NULL) lh_json_string(t->w, "meaning", c->meaning);
    if (key != NULL) lh_json_string(t->w, "key", key);
    if (c->is_wide) lh_json_flag(t->w, "wide", true);
    cli_json_close(t->w, '}');
    shown[n++] = c;
  }
  cli_json_close(t->w, ']');
  return n;
}

static void put_row_words(words_writer *t, lh_report *report, const lh_table *table,
                          const lh_column *const *shown, size_t n_shown, const char *row) {
  lh_style style = table->style != NULL ? table->style(report, row) : LH_PLAIN;
  cli_json_open(t->w, NULL, '{');
  cli_json_open(t->w, "cells", '[');
  for (size_t i = 0; i < n_shown; i++) put_cell(t, report, shown[i], row);
  cli_json_close(t->w, ']');
  if (style != LH_PLAIN) lh_json_string(t->w, "style", styles[style]);
  if (table->depth != NULL) lh_json_integer(t->w, "depth", table->depth(row));
  const char *below = table->below != NULL ? table->below(report, row) : NULL;
  if (below != NULL) put_parts(t, "below", below);
  cli_json_close(t->w, '}');
}

static void put_table(lh_printer *printer, lh_report *report, const lh_table *table,
                      const void *rows, size_t n) {
  words_writer *t = (words_writer *)printer;
  const lh_column *shown[LH_MOST_HEADINGS];
  if (!t->has_tables) return;
  end_table(t);
  cli_json_open(t->w, NULL, '{');
  cli_json_open(t->w, "table", '{');
  size_t n_shown = put_columns(t, report, table, shown);
  cli_json_open(t->w, "rows", '[');
  for (size_t i = 0; i < n && !t->w->is_full; i++)
    put_row_words(t, report, table, shown, n_shown, (const char *)rows + i * table->row_bytes);
  cli_json_close(t->w, ']');
  t->in_table = true;
}

/* If a line stands between the table and this, the number becomes a line too. */
static void put_hidden(lh_printer *printer, const lh_table *table, uint64_t n) {
  words_writer *t = (words_writer *)printer;
  const char *rows = n == 1 ? table->one : table->many;
  if (!t->has_tables) return;
  if (!t->in_table) {
    char line[128];
    snprintf(line, sizeof line, "and %s more %s", lh_count_text(n).text, rows);
    put_line(printer, LH_FAINT, line);
    return;
  }
  lh_json_count(t->w, "hidden", n);
  lh_json_string(t->w, "rest", rows);
}

bool view_put_words(const view_asked *asked, lh_report *report, lh_json *w, bool has_tables) {
  enum { USUAL_ROWS = 20 };
  const lh_request *request = &asked->request;
  words_writer t = {.printer = {.unicode = true,
                                .thorough = true,
                                .limit = request->has_limit ? request->limit : USUAL_ROWS,
                                .line = put_line,
                                .table = put_table,
                                .hidden = put_hidden,
                                .next = command_of},
                    .asked = asked,
                    .w = w,
                    .has_tables = has_tables};
  cli_json_open(w, "told", '[');
  lh_print_report(&t.printer, report);
  end_table(&t);
  cli_json_close(w, ']');
  forget_hints(&t);
  return !t.printer.failed && !report->failed;
}
