/*
** connect.c - opens a connection in memory with the extension loaded, and explains its errors.
*/
#include <string.h>

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

_Noreturn void heapsql_refuse(cli *c, sqlite3 *db, int code, const char *schema, bool several) {
  const char *message = sqlite3_errmsg(db);
  if (strncmp(message, "not authorized to use function: ", 32) == 0)
    cli_die(c, NULL, "a query cannot use the function %s: heapsql(1) tells which it can",
            message + 32);
  if (code == SQLITE_AUTH || strncmp(message, "not authorized", 14) == 0)
    cli_die(c, NULL, "a query can only read the snapshots: use select (%s)", message);
  if (strncmp(message, "no such table", 13) == 0)
    cli_die(c, NULL,
            "%s; each snapshot (%s%s) has objects, edges, entries, strings, classes, threads, "
            "frames, sites, stacks, modules, marks, info",
            message, schema, several ? ", ..." : "");
  if (strncmp(message, "no such column", 14) == 0)
    cli_die(c, NULL, "%s; the columns of a table: pragma table_xinfo(objects)", message);
  if (strstr(message, "syntax error") != NULL || strcmp(message, "incomplete input") == 0)
    cli_die(c, NULL, "%s; heapsql(1) has examples", message);
  cli_die(c, NULL, "%s", message);
}
