/*
** heapsql.h - what the files of the command heapsql share.
**
**     ../heapsql.c   options, the connection, the queries of the command line
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
