/*
** query.c - what heapsql, heappath and heapview need for a query: a connection in memory with the
** extension loaded, limits, values, and the explanation of errors.
**
** Limits of time, rows and memory stop a query, such as an endless recursion, before it exhausts
** the machine. They are far above the needs of usual queries; options raise them. SQLite calls
** `look` between steps of a statement. One step may be endless, such as instr of two long texts,
** and the first use of a table is one step too. So an alarm one second after the limit ends the
** process. A text or blob may take an eighth of the memory, since it is copied on output.
*/
#include <limits.h>
#include <math.h>
#include <signal.h>

#include "heapsql.h"

int sqlite3_heapsnap_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

sqlite3 *heapsql_connect(void) {
  sqlite3 *db;
  (void)sqlite3_auto_extension((void (*)(void))sqlite3_heapsnap_init);
  if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
      sqlite3_exec(db, "PRAGMA temp_store = 2", NULL, NULL, NULL) != SQLITE_OK)
    cli_must(NULL);
  sqlite3_reset_auto_extension();
  return db;
}

char *heapsql_show(cli *c, sqlite3 *db, const char *file, lh_snapshot *snapshot) {
  sqlite3_stmt *statement;
  char *schema = NULL;
  if (sqlite3_prepare_v2(db, "SELECT heap_open(?, NULL, ?)", -1, &statement, NULL) != SQLITE_OK)
    cli_must(NULL);
  (void)sqlite3_bind_text(statement, 1, file, -1, SQLITE_STATIC);
  (void)sqlite3_bind_pointer(statement, 2, snapshot, "lh_snapshot", NULL);
  if (sqlite3_step(statement) == SQLITE_ROW)
    schema = cli_must(strdup((const char *)sqlite3_column_text(statement, 0)));
  else
    cli_die(c, NULL, "%s: %s", file, sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  return schema;
}

void heapsql_lock(cli *c, sqlite3 *db) {
  if (sqlite3_exec(db, "SELECT heap_read_only()", NULL, NULL, NULL) != SQLITE_OK)
    cli_die(c, NULL, "%s", sqlite3_errmsg(db));
}

/* " (is select meant?)", if the word in `near "selec": syntax error` is nearly one of SQL. */
static const char *guess_word(const char *message) {
  static const char *const words[][2] = {
      {"select", " (is select meant?)"},  {"from", " (is from meant?)"},
      {"where", " (is where meant?)"},    {"group", " (is group by meant?)"},
      {"order", " (is order by meant?)"}, {"limit", " (is limit meant?)"},
      {"join", " (is join meant?)"},      {"with", " (is with meant?)"}};
  const char *word = strchr(message, '"');
  size_t n = word != NULL ? strcspn(word + 1, "\"") : 0;
  for (size_t i = 0; n > 0 && i < sizeof words / sizeof *words; i++)
    if (lh_is_nearly(word + 1, n, words[i][0])) return words[i][1];
  return "";
}

_Noreturn void heapsql_refuse(cli *c, sqlite3 *db, int code, const char *schema, bool several) {
  const char *message = sqlite3_errmsg(db);
  if (strncmp(message, "not authorized to use function: ", 32) == 0)
    cli_die(c, NULL, "a query cannot use the function %s: heapsql(1) tells which it can",
            message + 32);
  if (code == SQLITE_AUTH || strncmp(message, "not authorized", 14) == 0)
    cli_die(c, NULL, "a query can only read the snapshots: use select (%s)", message);
  if (strncmp(message, "no such table", 13) == 0)
    cli_die(c, NULL, "%s; each snapshot (%s%s) has " HEAPSQL_TABLES, message, schema,
            several ? ", ..." : "");
  if (strncmp(message, "no such column", 14) == 0)
    cli_die(c, NULL, "%s; the columns of a table: pragma table_xinfo(objects)", message);
  if (strstr(message, "syntax error") != NULL || strcmp(message, "incomplete input") == 0)
    cli_die(c, NULL, "%s%s; heapsql(1) has examples", message, guess_word(message));
  cli_die(c, NULL, "%s", message);
}

enum { USUAL_SECONDS = 600, USUAL_ROWS = 100000000, STEPS_BETWEEN_LOOKS = 10000 };

heapsql_limits heapsql_usual_limits(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return (heapsql_limits){
      .seconds = USUAL_SECONDS,
      .rows = USUAL_ROWS,
      .bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : 0};
}

static char late_line[256];

static void end_late(int signal) {
  (void)signal;
  if (write(STDERR_FILENO, late_line, strlen(late_line)) < 0) _exit(CLI_FAILURE);
  _exit(CLI_FAILURE);
}

static const char late_format[] =
    "the query takes more than %s: heapsql --timeout SECONDS allows more";

static void set_alarm(const heapsql_limits *limits) {
  if (limits->seconds > 0 && limits->seconds < INT_MAX) (void)alarm((unsigned)limits->seconds + 1);
}

static int look(void *payload) {
  heapsql_limits *limits = payload;
  uint64_t seconds = (cli_now_ns() - limits->begun_ns) / 1000000000u;
  limits->late = limits->seconds > 0 && seconds >= limits->seconds;
  return limits->late;
}

void heapsql_limit(cli *c, sqlite3 *db, heapsql_limits *limits) {
  size_t n = (size_t)snprintf(late_line, sizeof late_line, "%s: ", c->tool->name);
  n += (size_t)snprintf(late_line + n, sizeof late_line - n, late_format,
                        lh_count_of(limits->seconds, "second", "seconds").text);
  (void)snprintf(late_line + n, sizeof late_line - n, "\n");
  (void)signal(SIGALRM, end_late);
  sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, look, limits);
  if (limits->bytes == 0 || limits->bytes > INT64_MAX) return;
  (void)sqlite3_hard_heap_limit64((sqlite3_int64)limits->bytes);
  if (limits->bytes / 8 < INT_MAX)
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)(limits->bytes / 8));
}

int heapsql_step(heapsql_limits *limits, sqlite3_stmt *statement) {
  if (!sqlite3_stmt_busy(statement)) {
    limits->begun_ns = cli_now_ns();
    limits->n_rows = 0;
    set_alarm(limits);
  }
  int code = sqlite3_step(statement);
  if (code != SQLITE_ROW) (void)alarm(0);
  if (code != SQLITE_ROW) return code;
  if (limits->rows > 0 && limits->n_rows == limits->rows) return SQLITE_FULL;
  limits->n_rows++;
  return code;
}

void heapsql_check_limits(cli *c, const heapsql_limits *limits, int code) {
  if (code == SQLITE_INTERRUPT && limits->late)
    cli_die(c, NULL, late_format, lh_count_of(limits->seconds, "second", "seconds").text);
  if (code == SQLITE_FULL)
    cli_die(c, NULL, "the query has more than %s: heapsql --max-rows N allows more",
            lh_count_of(limits->rows, "row", "rows").text);
  if (code == SQLITE_NOMEM || code == SQLITE_TOOBIG)
    cli_die(c, NULL, "the query takes more memory than %s: heapsql --max-memory SIZE allows more",
            limits->bytes > 0 ? lh_size_text(limits->bytes, c->exact_bytes).text : "there is");
}

const char *heapsql_bytes(sqlite3_stmt *row, int column, size_t *n) {
  const void *bytes = sqlite3_column_type(row, column) == SQLITE_BLOB
                          ? sqlite3_column_blob(row, column)
                          : sqlite3_column_text(row, column);
  *n = (size_t)sqlite3_column_bytes(row, column);
  return bytes != NULL ? bytes : "";
}

/* A zero byte is a character, too. */
static bool is_utf8(const char *text, size_t n) {
  size_t part;
  for (; (part = strnlen(text, n)) < n; text += part + 1, n -= part + 1)
    if (lh_utf8_bytes(text, part, false) != part) return false;
  return lh_utf8_bytes(text, n, false) == n;
}

static void json_bytes(lh_json *w, const char *key, const char *bytes, size_t n) {
  w->is_ascii = true;
  if (is_utf8(bytes, n)) {
    lh_json_text(w, key, bytes, n);
  } else {
    char *visible = cli_must(lh_escaped(bytes, n));
    lh_json_string(w, key, visible);
    lh_free(visible);
  }
  w->is_ascii = false;
}

void heapsql_json(lh_json *w, const char *key, sqlite3_stmt *row, int column) {
  size_t n;
  const char *bytes;
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL: lh_json_null(w, key); break;
    case SQLITE_INTEGER: lh_json_integer(w, key, sqlite3_column_int64(row, column)); break;
    case SQLITE_FLOAT: lh_json_number(w, key, sqlite3_column_double(row, column)); break;
    default: bytes = heapsql_bytes(row, column, &n); json_bytes(w, key, bytes, n);
  }
}
