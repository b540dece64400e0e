/*
** heapsql.h - what the files of the command heapsql share.
**
**     ../heapsql.c   options, the queries of the command line
**     connect.c      the connection, and its errors; heappath has it, too
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

/* From now on queries read the snapshots and nothing else. */
void heapsql_lock(cli *c, sqlite3 *db);

/* Ends the process because of a query's error, and says what to do; `schema` is the first, of
** several. */
_Noreturn void heapsql_refuse(cli *c, sqlite3 *db, int code, const char *schema, bool several);

typedef enum heapsql_format { HEAPSQL_TABLE, HEAPSQL_CSV, HEAPSQL_JSON } heapsql_format;

/* Runs one statement and prints what it answers; the SQLite code that it ended with. `first`:
** nothing was printed yet. */
int heapsql_print(cli *c, sqlite3_stmt *statement, heapsql_format format, bool first,
                  cli_json *document);

/* Writes the tables over all snapshots of `db` to `path`, complete or not at all. */
void heapsql_save(cli *c, sqlite3 *db, const char *path);

/* Becomes the sqlite3 shell, with the files under those names. */
_Noreturn void heapsql_shell(cli *c, char **files, char **schemas, size_t n_files);

#endif
