/*
** save.c - whole snapshots as an SQLite database for other tools: every table with its columns,
** hidden ones too, and indices by which the usual joins are quick. Paths are not in it: they cost
** their length each, and a list of a million would take the square of that.
**
** The database is written under a temporary name in the same directory and renamed when it is
** complete. What was there before is replaced only then, and only if it is an SQLite database: so
** neither a full disk nor a slip of the finger destroys a file. It has no journal while it is
** written. Two million objects with five million edges take 40 s and 800 MB.
*/
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heapsql.h"

typedef struct save {
  cli *c;
  sqlite3 *from, *to;
  const char *path;
  char *target, *temporary; /* path with links followed; where it is written */
} save;

static _Noreturn void fail(save *s, const char *reason) {
  char text[512];
  snprintf(text, sizeof text, "%s", reason); /* it may be the connection's own */
  sqlite3_close(s->to);
  if (s->temporary != NULL) (void)unlink(s->temporary);
  cli_die(s->c, NULL, "cannot save to '%s': %s", s->path, text);
}

static void must(save *s, int code) {
  if (code != SQLITE_OK) fail(s, sqlite3_errmsg(s->to));
}

static void run(save *s, const char *sql) {
  must(s, sqlite3_exec(s->to, sql, NULL, NULL, NULL));
}

/* {=== The file ======================================================================= */

/* Nothing but a database may be replaced. */
static void check_old(save *s) {
  static const char magic[] = "SQLite format 3";
  char begin[sizeof magic] = "";
  struct stat status;
  if (stat(s->path, &status) != 0) return;
  if (!S_ISREG(status.st_mode)) fail(s, "that is no regular file");
  int file = open(s->path, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(s, strerror(errno));
  ssize_t n = read(file, begin, sizeof begin);
  (void)close(file);
  if (n != 0 && memcmp(begin, magic, sizeof magic) != 0)
    fail(s, "there is a file which is no database: it stays as it is; choose another name");
}

/* A link is followed: what it points to is replaced. */
static void open_new(save *s) {
  static const char pattern[] = ".heapsql-XXXXXX";
  s->target = realpath(s->path, NULL);
  if (s->target == NULL) s->target = cli_must(strdup(s->path));
  char *slash = strrchr(s->target, '/');
  size_t folder = slash != NULL ? (size_t)(slash - s->target) + 1 : 0;
  s->temporary = cli_must(malloc(folder + sizeof pattern + 2));
  sprintf(s->temporary, "%s%.*s%s", folder == 0 ? "./" : "", (int)folder, s->target, pattern);
  int file = cli_begin_file(s->c, s->temporary); /* mode 0600 */
  if (file < 0) {
    s->temporary[0] = '\0'; /* nothing to remove */
    fail(s, strerror(errno));
  }
  (void)close(file);
  must(s, sqlite3_open(s->temporary, &s->to));
  run(s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = 2; BEGIN");
}

static void finish(save *s) {
  must(s, sqlite3_close(s->to));
  s->to = NULL;
  if (cli_changed(s->c) != NULL) fail(s, "a snapshot was changed while it was read: run it again");
  if (rename(s->temporary, s->target) != 0) fail(s, strerror(errno));
  cli_end_file(s->c);
  free(s->target);
  free(s->temporary);
}

/* }=================================================================================== */

/* {=== The tables ===================================================================== */

static sqlite3_stmt *prepare(save *s, sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail(s, sqlite3_errmsg(db));
  return statement;
}

/* From the table ?1: how it is created, read and written. A key of one column is the rowid. */
static const char statements_of[] =
    "WITH columns AS (SELECT * FROM pragma_table_xinfo(?1, 'temp')"
    "                 WHERE name NOT IN ('path', 'held_by')),"
    " keys AS (SELECT count(*) AS n, group_concat(name, ', ') AS list"
    "          FROM (SELECT name FROM columns WHERE pk > 0 ORDER BY pk)) "
    "SELECT printf('CREATE TABLE %s(%s%s)%s', ?1,"
    "              (SELECT group_concat(printf('\"%s\" %s', name, type), ', ') FROM columns),"
    "              CASE n WHEN 0 THEN '' ELSE printf(', PRIMARY KEY (%s)', list) END,"
    "              CASE WHEN n > 1 THEN ' WITHOUT ROWID' ELSE '' END),"
    " printf('SELECT %s FROM temp.%s',"
    "        (SELECT group_concat('\"' || name || '\"', ', ') FROM columns), ?1),"
    " printf('INSERT INTO %s VALUES (%s)', ?1,"
    "        (SELECT group_concat('?', ', ') FROM columns)) "
    "FROM keys";

static void copy_rows(save *s, sqlite3_stmt *from, sqlite3_stmt *to) {
  int n = sqlite3_column_count(from), code;
  while ((code = sqlite3_step(from)) == SQLITE_ROW) {
    for (int i = 0; i < n; i++)
      must(s, sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i)));
    (void)sqlite3_step(to);
    must(s, sqlite3_reset(to));
  }
  if (code != SQLITE_DONE) fail(s, sqlite3_errmsg(s->from));
}

static void save_table(save *s, const char *table) {
  sqlite3_stmt *statements = prepare(s, s->from, statements_of), *from, *to;
  cli_progress(s->c, "saving %s", table);
  (void)sqlite3_bind_text(statements, 1, table, -1, SQLITE_STATIC);
  if (sqlite3_step(statements) != SQLITE_ROW) fail(s, sqlite3_errmsg(s->from));
  run(s, (const char *)sqlite3_column_text(statements, 0));
  from = prepare(s, s->from, (const char *)sqlite3_column_text(statements, 1));
  to = prepare(s, s->to, (const char *)sqlite3_column_text(statements, 2));
  copy_rows(s, from, to);
  sqlite3_finalize(from);
  sqlite3_finalize(to);
  sqlite3_finalize(statements);
}

/* }=================================================================================== */

void heapsql_save(cli *c, sqlite3 *db, const char *path) {
  save s = {.c = c, .from = db, .path = path};
  sqlite3_stmt *tables;
  check_old(&s);
  open_new(&s);
  tables = prepare(&s, db, "SELECT name FROM sqlite_temp_schema ORDER BY rowid");
  while (sqlite3_step(tables) == SQLITE_ROW)
    save_table(&s, (const char *)sqlite3_column_text(tables, 0));
  sqlite3_finalize(tables);
  cli_progress(c, "making indices");
  run(&s,
      "CREATE INDEX objects_class ON objects(class);"
      "CREATE INDEX objects_address ON objects(address);"
      "CREATE INDEX objects_immediate_dominator ON objects(immediate_dominator);"
      "CREATE INDEX edges_target ON edges(target);"
      "COMMIT");
  finish(&s);
  cli_progress(c, NULL);
}
