/*
** heapsql.h - shared parts of heapsql.
**
**     ../heapsql.c   options, the queries of the command line
**     query.c        connection, limits, values, errors (also in heappath and heapview)
**     print.c        answers as tables, CSV and JSON
**     save.c         snapshots as an SQLite database
**     shell.c        the sqlite3 shell with the snapshots loaded
**
** The extension (../heapsnap) is linked in and used through SQL alone.
*/
#pragma once

#include <sqlite3.h>

#include "cli.h"

#define HEAPSQL_TABLES                                                                          \
  "objects, edges, entries, strings, classes, threads, frames, sites, stacks, modules, marks, " \
  "info"

sqlite3 *heapsql_connect(void);

/* Passes an open snapshot to heap_open. Returns its name in SQL, freed by free. */
char *heapsql_show(cli *c, sqlite3 *db, const char *file, lh_snapshot *snapshot);
void heapsql_lock(cli *c, sqlite3 *db);

/* Limits of a query; 0: none. */
typedef struct heapsql_limits {
  uint64_t seconds, rows, bytes;
  uint64_t begun_ns, n_rows; /* of the running statement */
  bool late;
} heapsql_limits;

heapsql_limits heapsql_usual_limits(void);

/* Sets the limits, which must outlive the connection, for statements run by heapsql_step:
** sqlite3_step that returns an error beyond a limit. */
void heapsql_limit(cli *c, sqlite3 *db, heapsql_limits *limits);
int heapsql_step(heapsql_limits *limits, sqlite3_stmt *statement);

/* Ends the process if `code` of heapsql_step means that a limit was reached. */
void heapsql_check_limits(cli *c, const heapsql_limits *limits, int code);

/* Ends the process with a query's error and a hint; `schema` is the name of the first snapshot. */
_Noreturn void heapsql_refuse(cli *c, sqlite3 *db, int code, const char *schema, bool several);

/* The value of a column: as bytes, valid until the next step; as JSON, in ASCII, escaped where it
** is not UTF-8. */
const char *heapsql_bytes(sqlite3_stmt *row, int column, size_t *n);
void heapsql_json(lh_json *w, const char *key, sqlite3_stmt *row, int column);

typedef enum heapsql_format { HEAPSQL_TABLE, HEAPSQL_CSV, HEAPSQL_JSON } heapsql_format;

/* Runs and prints one statement; returns SQLite's last code. `first`: nothing was printed yet. */
int heapsql_print(cli *c, heapsql_limits *limits, sqlite3_stmt *statement, heapsql_format format,
                  bool first, lh_json *document);

/* Writes the tables over all snapshots of `db` to `path`, completely or not at all. */
void heapsql_save(cli *c, sqlite3 *db, const char *path);

/* Becomes the sqlite3 shell, with `files` opened as `schemas`. */
_Noreturn void heapsql_shell(cli *c, char **files, char **schemas, size_t n_files,
                             const heapsql_limits *limits);
