/*
** query.c - finds the objects that an SQL query selects in its first column. Only this file of the
** command uses SQLite. The query asks the open snapshot, so nothing is computed twice.
*/
#include <ctype.h>
#include <strings.h>

#include "heappath.h"
#include "heapsql/heapsql.h"

static bool begins_with(const char *text, const char *word) {
  size_t n = strlen(word);
  return strncasecmp(text, word, n) == 0 && (isspace((unsigned char)text[n]) || text[n] == '*');
}

bool is_query(const char *text) {
  while (isspace((unsigned char)*text)) text++;
  return begins_with(text, "select") || begins_with(text, "with");
}

/* Skips NULL, 0 (the root) and repeated ids, which a query over edges may return. */
static void add_result_row(cli *c, const lh_snapshot *snapshot, sqlite3_stmt *row, bool *seen,
                           object_set *set, size_t *capacity) {
  int64_t id = sqlite3_column_int64(row, 0);
  int type = sqlite3_column_type(row, 0);
  if (type == SQLITE_NULL || (type == SQLITE_INTEGER && id == 0)) return;
  if (type != SQLITE_INTEGER)
    cli_die(c, NULL,
            "the first column of the query must be the id of an object, such as in "
            "\"select id from objects\"");
  if (id < 0 || id > lh_object_count(snapshot))
    cli_die(c, NULL,
            "the query's first column must be the id of an object: there is none with "
            "%" PRId64,
            id);
  if (seen[id]) return;
  seen[id] = true;
  if (set->n == *capacity) {
    *capacity = 2 * *capacity + 64;
    set->ids = cli_must(realloc(set->ids, *capacity * sizeof *set->ids));
  }
  set->ids[set->n++] = (lh_id)id;
}

void find_by_query(cli *c, const char *file, lh_snapshot *snapshot, const char *query,
                   object_set *set) {
  sqlite3 *db = heapsql_connect();
  char *schema = heapsql_show(c, db, file, snapshot);
  sqlite3_stmt *statement, *second;
  const char *rest;
  size_t capacity = 0;
  heapsql_limits limits = heapsql_usual_limits();
  heapsql_lock(c, db);
  heapsql_limit(c, db, &limits);
  int code = sqlite3_prepare_v2(db, query, -1, &statement, &rest);
  if (code == SQLITE_OK && statement == NULL) cli_usage_error(c, "--set: the query is empty");
  if (code == SQLITE_OK && sqlite3_prepare_v2(db, rest, -1, &second, NULL) == SQLITE_OK &&
      second != NULL)
    cli_usage_error(c, "--set takes one query, and here are two");
  bool *seen = cli_must(calloc((size_t)lh_object_count(snapshot) + 1, sizeof *seen));
  cli_progress(c, "looking");
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = heapsql_step(&limits, statement);
    if (code == SQLITE_ROW) add_result_row(c, snapshot, statement, seen, set, &capacity);
  }
  cli_progress(c, NULL);
  heapsql_check_limits(c, &limits, code);
  free(seen);
  if (code != SQLITE_DONE) heapsql_refuse(c, db, code, schema, false);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  free(schema);
}
