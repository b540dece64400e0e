/*
** query.c - SQL over the opened snapshots: tables, guard and limits of heapsql. A query runs in a
** forked child, which shares the analysed snapshots. If it takes too much time or memory, or its
** client leaves, only the child ends. Cost: copying page tables (10 ms for each GB), and an index
** that the query builds is lost with the child.
**
** The child writes the answer's values, or ends as heapsql does, with a line on stderr. Numbers
** that JavaScript would round are texts.
*/
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "heapsql/heapsql.h"
#include "heapview.h"

enum { USUAL_ROWS = 1000, MOST_ROWS = 100000, MOST_BYTES = 64 << 20, LOOK_MS = 100 };

/* ==== In the child =================================================================== */

/* Shows the last snapshots, as many as SQLite allows. Returns the first's name; freed by free. */
static char *show_snapshots(const view *v, sqlite3 *db, lh_json *w) {
  size_t most = (size_t)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, -1);
  char *first = NULL;
  cli_json_open(w, "snapshots", '[');
  for (size_t i = v->n > most ? v->n - most : 0; i < v->n; i++) {
    char *schema = heapsql_show(v->c, db, v->files[i], v->snapshots[i]);
    lh_json_string(w, NULL, schema);
    if (first == NULL)
      first = schema;
    else
      free(schema);
  }
  cli_json_close(w, ']');
  return first;
}

static sqlite3_stmt *prepare_query(cli *c, sqlite3 *db, const char *sql, const char *schema,
                                   bool several) {
  sqlite3_stmt *statement, *second = NULL;
  const char *rest;
  int code = sqlite3_prepare_v2(db, sql, -1, &statement, &rest);
  if (code != SQLITE_OK) heapsql_refuse(c, db, code, schema, several);
  if (statement == NULL) cli_die(c, NULL, "the query is empty");
  if (sqlite3_prepare_v2(db, rest, -1, &second, NULL) != SQLITE_OK || second != NULL)
    cli_die(c, NULL, "one query at a time: there is more behind the first");
  return statement;
}

/* JavaScript has 53 bits for an integer. */
static void write_cell(lh_json *w, sqlite3_stmt *row, int column) {
  const int64_t most = INT64_C(1) << 53, n = sqlite3_column_int64(row, column);
  if (sqlite3_column_type(row, column) == SQLITE_INTEGER && (n > most || n < -most))
    lh_json_string(w, NULL, (const char *)sqlite3_column_text(row, column));
  else
    heapsql_json(w, NULL, row, column);
}

static void write_columns(sqlite3_stmt *statement, lh_json *w) {
  cli_json_open(w, "columns", '[');
  for (int i = 0; i < sqlite3_column_count(statement); i++)
    cli_json_name(w, NULL, cli_must((void *)sqlite3_column_name(statement, i)));
  cli_json_close(w, ']');
}

static void write_row(cli *c, sqlite3_stmt *row, lh_json *w) {
  lh_json_open_in_line(w, NULL, '[');
  for (int i = 0; i < sqlite3_column_count(row); i++) write_cell(w, row, i);
  lh_json_close(w, ']');
  if (ftello(w->out) > MOST_BYTES)
    cli_die(c, NULL, "the answer has more than %s: ask for fewer rows",
            lh_size_text(MOST_BYTES, false).text);
}

static void write_answer(const view *v, const char *sql, uint64_t most, lh_json *w) {
  cli *c = v->c;
  sqlite3 *db = heapsql_connect();
  char *schema = show_snapshots(v, db, w);
  heapsql_limits limits = heapsql_usual_limits();
  heapsql_lock(c, db);
  heapsql_limit(c, db, &limits);
  sqlite3_stmt *statement = prepare_query(c, db, sql, schema, v->n > 1);
  uint64_t n = 0;
  int code;
  write_columns(statement, w);
  cli_json_open(w, "rows", '[');
  while ((code = heapsql_step(&limits, statement)) == SQLITE_ROW && n++ < most)
    write_row(c, statement, w);
  cli_json_close(w, ']');
  lh_json_flag(w, "more", code == SQLITE_ROW);
  heapsql_check_limits(c, &limits, code);
  if (code != SQLITE_DONE && code != SQLITE_ROW) heapsql_refuse(c, db, code, schema, v->n > 1);
}

static void write_all(const char *text, size_t n) {
  for (ssize_t done; n > 0; text += done, n -= (size_t)done) {
    done = write(STDOUT_FILENO, text, n);
    if (done < 0) _exit(CLI_FAILURE);
  }
}

/* Closes the parent's files except the pipe, so that no connection stays open. */
static _Noreturn void run_query(const view *v, const char *sql, uint64_t most, int pipe,
                                pid_t parent) {
  char *text = NULL;
  size_t n = 0;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || dup2(pipe, STDOUT_FILENO) < 0 || dup2(pipe, STDERR_FILENO) < 0)
    _exit(CLI_FAILURE);
  closefrom(STDERR_FILENO + 1);
  (void)signal(SIGINT, SIG_DFL);
  (void)signal(SIGTERM, SIG_DFL);
  (void)signal(SIGHUP, SIG_DFL);
  v->c->show_progress = NULL;
  v->c->progress_terminal = v->c->progress_shown = false;
  v->c->is_nameless = true;
  FILE *out = cli_open_text(&text, &n);
  write_answer(v, sql, most, &(lh_json){.out = out, .is_compact = true, .depth = 1});
  cli_close_text(out);
  write_all(text, n);
  _exit(CLI_DONE);
}

/* ==== The child's parent ============================================================= */

/* Copies the child's output until it ends; kills it if the client leaves. */
static void listen_to(const view *v, pid_t child, int pipe, FILE *out) {
  char bytes[1 << 16];
  struct pollfd says = {.fd = pipe, .events = POLLIN};
  for (;;) {
    int ready = poll(&says, 1, LOOK_MS);
    if (ready == 0 && v->is_gone && v->is_gone(v->client)) (void)kill(child, SIGKILL);
    if (ready <= 0) continue;
    ssize_t n = read(pipe, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    fwrite(bytes, 1, (size_t)n, out);
  }
}

/* The child's last output is a message, then hints in lines of their own. */
static int refuse_as(view_asked *asked, int status, char *words) {
  if (!WIFEXITED(status))
    return view_refuse(asked->error, "the query was ended by signal %d", WTERMSIG(status));
  words[strcspn(words, "\n")] = '\0';
  return view_refuse(asked->error, "%s", *words != '\0' ? words : "the query was ended");
}

static int ask_child(view_asked *asked, const char *sql, uint64_t most, lh_json *w) {
  const view *v = asked->v;
  int ends[2], status = 0;
  char *text = NULL;
  size_t n = 0;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return view_refuse(asked->error, "cannot run a query: %s", strerror(errno));
  cli_progress(v->c, "running the query");
  pid_t parent = getpid(), child = fork();
  if (child == 0) run_query(v, sql, most, ends[1], parent);
  (void)close(ends[1]);
  FILE *out = cli_open_text(&text, &n);
  if (child > 0) listen_to(v, child, ends[0], out);
  (void)close(ends[0]);
  cli_close_text(out);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  int code = LH_OK;
  if (child < 0)
    code = view_refuse(asked->error, "cannot run a query: %s", strerror(errno));
  else if (WIFEXITED(status) && WEXITSTATUS(status) == CLI_DONE)
    fwrite(text, 1, n, w->out);
  else
    code = refuse_as(asked, status, text);
  w->follows = true;
  free(text);
  return code;
}

/* ==== Questions ====================================================================== */

static int check_view(view_asked *asked) {
  if (asked->v->is_written)
    return view_refuse(asked->error,
                       "queries are answered by heapview, not by what it has written");
  if (asked->v->n == 0) return view_refuse(asked->error, "no snapshot was opened");
  return LH_OK;
}

int view_sql(view_asked *asked, lh_json *w) {
  const char *sql = view_parameter_of(asked->question, "query");
  uint64_t most = asked->request.has_limit ? asked->request.limit : USUAL_ROWS;
  int code = check_view(asked);
  if (code != LH_OK) return code;
  if (sql == NULL) return view_refuse(asked->error, "which query?");
  return ask_child(asked, sql, most > 0 && most < MOST_ROWS ? most : MOST_ROWS, w);
}

int view_tables(view_asked *asked, lh_json *w) {
  static const char sql[] =
      "select m.name as \"table\", x.name as \"column\", x.type, x.hidden from temp.sqlite_master "
      "m "
      "join pragma_table_xinfo(m.name) x where m.type = 'table' order by m.rowid, x.cid";
  int code = check_view(asked);
  return code == LH_OK ? ask_child(asked, sql, MOST_ROWS, w) : code;
}
