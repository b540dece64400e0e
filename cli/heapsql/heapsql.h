/*
** heapsql.h - what the files of the command heapsql share.
**
**     ../heapsql.c   options, the queries of the command line
**     connect.c      the connection, and its errors; heappath has it, too,
**     limits.c       and what a query may take
**     value.c        a value of an answer; these three heapview has, too
**     print.c        answers as tables, CSV and JSON
**     save.c         whole snapshots as an SQLite database
**     shell.c        the sqlite3 shell, with the snapshots loaded
**
** The extension (../heapsnap) is linked in, and is asked through SQL alone.
*/
#ifndef HEAPSQL_H
#define HEAPSQL_H

#include <sqlite3.h>

#include "cli.h"

/* A connection in memory that has the extension's functions. */
sqlite3 *heapsql_connect(void);

/* Has heap_open show a snapshot that is open, of that file. Returns what it is called in SQL, freed
** by free. */
char *heapsql_show(cli *c, sqlite3 *db, const char *file, lh_snapshot *snapshot);

/* From now on queries read the snapshots and nothing else. */
void heapsql_lock(cli *c, sqlite3 *db);

/* What a query may take; 0: as much as there is. */
typedef struct heapsql_limits {
  uint64_t seconds, rows, bytes;
  uint64_t begun_ns, n_rows; /* of the statement that runs */
  bool late;
} heapsql_limits;

heapsql_limits heapsql_usual_limits(void);

/* They hold for the connection, as long as it is open, for statements that run by heapsql_step:
** sqlite3_step, which ends with an error where there is too much. */
void heapsql_limit(cli *c, sqlite3 *db, heapsql_limits *limits);
int heapsql_step(heapsql_limits *limits, sqlite3_stmt *statement);

/* Ends the process if that is what the code of heapsql_step means. */
void heapsql_check_limits(cli *c, const heapsql_limits *limits, int code);

/* Ends the process because of a query's error, and says what to do; `schema` is the first, of
** several. */
_Noreturn void heapsql_refuse(cli *c, sqlite3 *db, int code, const char *schema, bool several);

/* What is in a column of a row: as text or a blob has it, until the next step; and as JSON, where
** what is no UTF-8 is escaped. NULL: out of memory. */
const char *heapsql_bytes(sqlite3_stmt *row, int column, size_t *n);
json_t *heapsql_value(sqlite3_stmt *row, int column);

typedef enum heapsql_format { HEAPSQL_TABLE, HEAPSQL_CSV, HEAPSQL_JSON } heapsql_format;

/* Runs one statement and prints what it answers; the SQLite code that it ended with. `first`:
** nothing was printed yet. */
int heapsql_print(cli *c, heapsql_limits *limits, sqlite3_stmt *statement, heapsql_format format,
                  bool first, cli_json *document);

/* Writes the tables over all snapshots of `db` to `path`, complete or not at all. */
void heapsql_save(cli *c, sqlite3 *db, const char *path);

/* Becomes the sqlite3 shell, with the files under those names. */
_Noreturn void heapsql_shell(cli *c, char **files, char **schemas, size_t n_files,
                             const heapsql_limits *limits);

#endif
