/*
** columns.c - Writes the meanings of columns (rooms/report.h) into manuals and annotations.
**
**     columns FILE   prints FILE. After a line such as `.\" >>> modules` of a manual page, or
**                    `-- >>> modules sites` of annotations, it adds the columns of these answers.
**                    `sql.objects` in a page means a table of SQL facts, `heap.object` in
**                    annotations a class. A line `.so shared/forms` is replaced by that file
**
** Only the build runs it, so any failure ends it.
*/
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rooms/report.h"

static void *must(void *result) {
  if (result == NULL) {
    perror("columns");
    exit(2);
  }
  return result;
}

/* ==== Rows written before ============================================================= */

static struct written {
  const lh_column *columns;
  const char *key;
} written[128];
static size_t n_written;

/* Returns the key under which the rows were described before; NULL: now, under `key`. */
static const char *written_under(const lh_column *columns, const char *key) {
  for (size_t i = 0; i < n_written; i++)
    if (written[i].columns == columns) return written[i].key;
  if (n_written == sizeof written / sizeof *written) must(NULL);
  written[n_written++] = (struct written){columns, key};
  return NULL;
}

/* ==== Manual pages =================================================================== */

enum { WIDTH = 100 };

/* Writes `before` and the text, broken into lines between words. */
static void put_wrapped(FILE *out, const char *before, const char *text) {
  size_t at = (size_t)fprintf(out, "%s", before);
  for (bool first = true; *text != '\0'; first = false) {
    size_t n = strcspn(text, " ");
    bool breaks = !first && at + 1 + n > WIDTH;
    if (!first) fputc(breaks ? '\n' : ' ', out);
    at = (breaks ? 0 : at + !first) + n;
    if (breaks && *text == '.') fputs("\\&", out); /* not a roff request */
    fwrite(text, 1, n, out);
    text += n;
    text += strspn(text, " ");
  }
}

static const char *man_key(const lh_column *column) {
  const char *key = lh_json_key(column);
  if (column->kind == LH_COLUMN_CLASS && column->json_key == NULL) return "class , type";
  if (column->kind != LH_COLUMN_OBJECT) return key;
  static char keys[128];
  snprintf(keys, sizeof keys, "%s , class , type", key);
  return keys;
}

static const lh_column *next_json_key(const lh_column *column) {
  while (column->kind != LH_COLUMN_END && lh_json_key(column) == NULL) column++;
  return column;
}

static const char *rows_kind(const lh_column *column) {
  return column->is_one       ? "n object"
         : column->is_by_name ? "n object of objects"
                              : "n array of objects";
}

static void put_man_columns(FILE *out, const lh_table *table, const char *end);

/* "An array of objects, the worst first:" and the columns, or where they are described. */
static void put_man_rows(FILE *out, const char *article, const lh_column *column,
                         const char *behind, const char *end) {
  const char *same = written_under(column->rows->columns, lh_json_key(column));
  fprintf(out, "%s%s", article, rows_kind(column));
  if (same != NULL) fprintf(out, " as in\n.Li %s ,\n", same);
  if (column->is_limited)
    fprintf(out, "%sall, unless\n.Fl n\nis given;\n", same != NULL ? "" : "; ");
  put_wrapped(out, same != NULL || column->is_limited ? "" : ", ", column->meaning);
  fprintf(out, "%s\n", same != NULL ? behind : ":");
  if (same == NULL) put_man_columns(out, column->rows, end);
}

static void put_man_columns(FILE *out, const lh_table *table, const char *end) {
  const lh_column *column = next_json_key(table->columns);
  while (column->kind != LH_COLUMN_END) {
    const lh_column *next = next_json_key(column + 1);
    char behind[16];
    snprintf(behind, sizeof behind, ")%s", next->kind == LH_COLUMN_END ? end : ",");
    fprintf(out, ".Li %s\n", man_key(column));
    if (column->kind == LH_COLUMN_ROWS) {
      put_man_rows(out, "(a", column, behind, behind);
    } else {
      put_wrapped(out, "(", column->meaning);
      fprintf(out, "%s\n", behind);
    }
    column = next;
  }
}

static void put_sentence(FILE *out, const char *meaning) {
  char capital[2] = {(char)toupper((unsigned char)meaning[0]), '\0'};
  put_wrapped(out, capital, meaning + 1);
  fputs(".\n", out);
}

/* The columns of an answer, or of an SQL table, where + marks hidden ones. */
static void put_man(FILE *out, const lh_table *table, bool is_sql) {
  fputs(".Bl -tag -width Ds\n", out);
  for (const lh_column *c = table->columns; c->kind != LH_COLUMN_END; c++) {
    const char *key = lh_json_key(c);
    if (is_sql && key == NULL) break;
    if (key == NULL) continue;
    if (is_sql)
      fprintf(out, ".It Va %s%s\n", key, c->is_wide ? " No +" : "");
    else
      fprintf(out, ".It Li %s\n", man_key(c));
    if (!is_sql && c->kind == LH_COLUMN_ROWS)
      put_man_rows(out, "A", c, ".", ".");
    else
      put_sentence(out, c->meaning);
  }
  fputs(".El\n", out);
}

/* ==== Annotations ==================================================================== */

static const char *lua_type(const lh_column *column, bool is_fact) {
  static char rows[128];
  switch (column->kind) {
    case LH_COLUMN_MORE_BYTES:
    case LH_COLUMN_NUMBER: return "number";
    case LH_COLUMN_BYTES_SERIES:
    case LH_COLUMN_COUNT_SERIES: return "integer[]";
    case LH_COLUMN_FLAG: return "boolean";
    case LH_COLUMN_TEXT:
    case LH_COLUMN_NAME:
    case LH_COLUMN_HEX:
    case LH_COLUMN_CLASS: return "string";
    case LH_COLUMN_NAMES:
    case LH_COLUMN_TEXTS: return "string[]";
    case LH_COLUMN_EDGE: return "heap.edge";
    case LH_COLUMN_VALUE: return "any";
    case LH_COLUMN_STRING: return is_fact ? "string" : "heap.object";
    case LH_COLUMN_OBJECT:
    case LH_COLUMN_EXAMPLE: return "heap.object";
    case LH_COLUMN_ROWS:
      snprintf(rows, sizeof rows,
               column->is_one       ? "%s"
               : column->is_by_name ? "table<string, %s>"
                                    : "%s[]",
               column->rows->name);
      return rows;
    default: return "integer";
  }
}

static bool is_main(const lh_column *column, const char *main) {
  return column->key != NULL && main != NULL && strcmp(column->key, main) == 0;
}

static void put_lua_fields(FILE *out, const lh_table *table, const char *main, bool is_fact) {
  for (const lh_column *c = table->columns; c->kind != LH_COLUMN_END; c++) {
    const char *maybe = c->optional ? "?" : "";
    if (c->key == NULL || is_main(c, main)) continue;
    fprintf(out, "---@field %s%s %s %s\n", c->key, maybe, lua_type(c, is_fact), c->meaning);
    if (c->kind == LH_COLUMN_OBJECT) fprintf(out, "---@field class%s string\n", maybe);
    if (c->kind == LH_COLUMN_OBJECT || c->kind == LH_COLUMN_CLASS)
      fprintf(out, "---@field type%s string\n", maybe);
  }
}

static void put_lua_class(FILE *out, const lh_table *table, bool is_fact) {
  fprintf(out, "---@class %s\n", table->name);
  put_lua_fields(out, table, NULL, is_fact);
}

static void put_lua_rows(FILE *out, const lh_table *table) {
  if (written_under(table->columns, table->name) != NULL) return;
  fputc('\n', out);
  put_lua_class(out, table, false);
  for (const lh_column *c = table->columns; c->kind != LH_COLUMN_END; c++)
    if (c->kind == LH_COLUMN_ROWS) put_lua_rows(out, c->rows);
}

static bool has_key(const lh_table *table, const char *key) {
  for (const lh_column *c = table->columns; c->kind != LH_COLUMN_END; c++)
    if (is_main(c, key)) return true;
  return false;
}

static void put_lua(FILE *out, const lh_question *question) {
  const lh_table *answer = question->answer;
  for (const lh_column *c = answer->columns; c->kind != LH_COLUMN_END; c++)
    if (is_main(c, question->main))
      fprintf(out, "---A list: %s.\n---@class %s: { [integer]: %s }\n", c->meaning, answer->name,
              c->rows->name);
  if (question->main == NULL) fprintf(out, "---@class %s\n", answer->name);
  put_lua_fields(out, answer, question->main, false);
  if (question->of == LH_OF_SNAPSHOT && !has_key(answer, "reachable_bytes"))
    fputs("---@field reachable_bytes integer of these are shares\n", out);
  fputs("---@field text string as the command prints it\n", out);
  for (const lh_column *c = answer->columns; c->kind != LH_COLUMN_END; c++)
    if (c->kind == LH_COLUMN_ROWS) put_lua_rows(out, c->rows);
}

/* ==== Files ========================================================================== */

static char *read_file(const char *path) {
  FILE *file = must(fopen(path, "r"));
  char *text = NULL;
  size_t capacity = 0;
  if (getdelim(&text, &capacity, '\0', file) < 0) must(NULL);
  fclose(file);
  return text;
}

/* The facts of `sql.objects` (a table) or `heap.object` (a class); NULL: the name is neither. */
static const lh_table *find_facts(const char *name) {
  bool is_sql = strncmp(name, "sql.", 4) == 0;
  const lh_table *const *facts = lh_facts;
  if (!is_sql && strncmp(name, "heap.", 5) != 0) return NULL;
  while (strcmp(is_sql ? (*facts)->many : (*facts)->name, is_sql ? name + 4 : name) != 0)
    must((void *)*++facts);
  return *facts;
}

/* The answers to the questions in a line such as `-- >>> modules threads`. */
static void put_marked(const char *line, size_t n, bool is_lua) {
  const char *at = memmem(line, n, ">>> ", 4), *end = line + n - 1;
  char name[32];
  if (at == NULL) return;
  for (bool first = true; (at = memchr(at, ' ', (size_t)(end - at))) != NULL; first = false) {
    if (sscanf(++at, "%31s", name) != 1) must(NULL);
    if (!first) putchar('\n');
    const lh_table *facts = find_facts(name);
    const lh_question *question = facts != NULL ? NULL : must((void *)lh_find_question(name));
    if (!is_lua)
      put_man(stdout, facts != NULL ? facts : question->answer, facts != NULL);
    else if (facts == NULL)
      put_lua(stdout, question);
    else
      put_lua_class(stdout, facts, true);
  }
}

/* Copies the file, adds the columns after marked lines, and inserts the files of `.so` lines. */
static void put_file(const char *path, bool is_lua) {
  char *text = read_file(path), name[64], other[256];
  for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
    size_t n = strcspn(line, "\n") + 1;
    if (sscanf(line, ".so %63[a-z_/]", name) == 1) {
      snprintf(other, sizeof other, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
      put_file(other, is_lua);
    } else {
      fwrite(line, 1, n, stdout);
      put_marked(line, n, is_lua);
    }
  }
  free(text);
}

int main(int argc, char **argv) {
  put_file(argc > 1 ? argv[1] : "", argc > 1 && strstr(argv[1], ".lua") != NULL);
  if (fflush(stdout) != 0 || ferror(stdout)) must(NULL);
  return 0;
}
