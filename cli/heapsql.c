/*
** heapsql - answers SQL queries about snapshots. It contains the extension heapsnap: heap_open
** shows each snapshot, then heap_read_only locks the connection, and only then are queries
** compiled. Retained sizes, classes and indices are computed by the first query that needs them;
** grouping two million objects by class takes as long as three collections of their heap.
*/
#include <sys/stat.h>

#include "heapsql/heapsql.h"

typedef struct request {
  char **files, **queries, **schemas; /* schemas: the files' names in SQL */
  lh_snapshot **snapshots;
  size_t n_files, n_queries;
  const char *save;
  bool csv;
  heapsql_format format;
  heapsql_limits limits;
} request;

static const cli_option options[] = {
    {0, "csv", NULL, "print CSV, the names of the columns first", CLI_FLAG(csv)},
    {0, "save", "FILE", "write all snapshots as an SQLite database", CLI_FILE(save)},
    {0, "timeout", "SECONDS", "a query may run so long (default 600; 0: for ever)",
     CLI_NUMBER(limits.seconds)},
    {0, "max-rows", "N", "and answer so many rows (default 100 million; 0: all)",
     CLI_NUMBER(limits.rows)},
    {0, "max-memory", "SIZE", "and take so much (default: half of the machine's)",
     CLI_SIZE(limits.bytes)},
    CLI_JSON_OPTION,
    CLI_COLOR_OPTION,
    CLI_LAST_OPTIONS};

static const cli_tool tool = {
    "heapsql",
    "Asks snapshots of a Lua heap in SQL.",
    {"[options] SNAPSHOT ... [QUERY ...]", "[options] --save FILE SNAPSHOT ..."},
    options,
    "Tables: objects, edges, entries, strings, classes, threads, frames, sites, stacks,\n"
    "modules, marks, info; c.objects are those of the snapshot c. QUERY - is read from stdin.\n"
    "Without QUERY the sqlite3 shell starts. A query reads the snapshots and nothing else.\n"
    "Example: heapsql c 'select class, count(*) from objects group by 1 order by 2 desc'\n"
    "Exit status: 0 done, 2 wrong usage or failure.\n"};

/* True: the word is SQL, not a snapshot's name. Names rarely contain blanks; queries always do. */
static bool is_query(const char *word) {
  struct stat status;
  return strcmp(word, "-") == 0 || (strpbrk(word, " \t\n;(") != NULL && stat(word, &status) != 0);
}

static void parse_heapsql(cli *c, request *r, int argc, char **argv) {
  *r = (request){.limits = heapsql_usual_limits()};
  cli_parse(c, r, argc, argv);
  r->files = argv + optind;
  while (optind + (int)r->n_files < argc && !is_query(r->files[r->n_files])) r->n_files++;
  r->queries = r->files + r->n_files;
  r->n_queries = (size_t)(argc - optind) - r->n_files;
  if (r->n_files == 0 && r->n_queries > 0)
    cli_usage_error(c, "no file '%s': name a snapshot, then the query", r->queries[0]);
  if (r->n_files == 0) cli_usage_error(c, "which snapshot? Name the file, then the query");
  if (c->json && r->csv) cli_usage_error(c, "--json and --csv: choose one");
  if (r->n_queries == 0 && r->save == NULL && (c->json || r->csv))
    cli_usage_error(c, "%s of what? Give a query", c->json ? "--json" : "--csv");
  r->format = c->json ? HEAPSQL_JSON : r->csv ? HEAPSQL_CSV : HEAPSQL_TABLE;
}

static char *read_stdin(cli *c) {
  size_t n = 0, size = 4096;
  char *text = cli_must(malloc(size));
  for (size_t got; (got = fread(text + n, 1, size - n - 1, stdin)) > 0;) {
    n += got;
    if (n + 1 < size) continue;
    size *= 2;
    text = cli_must(realloc(text, size));
  }
  if (ferror(stdin)) cli_die(c, NULL, "cannot read the query from stdin: %s", strerror(errno));
  if (memchr(text, '\0', n) != NULL) cli_die(c, NULL, "the query on stdin has a zero byte");
  text[n] = '\0';
  return text;
}

static void open_all(cli *c, sqlite3 *db, request *r) {
  r->schemas = cli_must(calloc(r->n_files, sizeof *r->schemas));
  r->snapshots = cli_must(calloc(r->n_files, sizeof *r->snapshots));
  for (size_t i = 0; i < r->n_files; i++) {
    r->snapshots[i] = cli_open(c, r->files[i]);
    r->schemas[i] = heapsql_show(c, db, r->files[i], r->snapshots[i]);
  }
}

static void close_all(sqlite3 *db, request *r) {
  sqlite3_close(db);
  for (size_t i = 0; i < r->n_files; i++) lh_close(r->snapshots[i]);
  free(r->snapshots);
}

static void run_queries(cli *c, request *r, sqlite3 *db) {
  lh_json document = {0};
  bool first = true;
  if (r->format == HEAPSQL_JSON) {
    cli_json_open(&document, NULL, '{');
    cli_json_open(&document, "results", '[');
  }
  for (size_t i = 0; i < r->n_queries; i++) {
    char *typed = strcmp(r->queries[i], "-") == 0 ? read_stdin(c) : NULL;
    const char *sql = typed != NULL ? typed : r->queries[i];
    while (*sql != '\0') {
      sqlite3_stmt *statement;
      int code = sqlite3_prepare_v2(db, sql, -1, &statement, &sql);
      if (code != SQLITE_OK) heapsql_refuse(c, db, code, r->schemas[0], r->n_files > 1);
      if (statement == NULL) continue; /* only a comment */
      cli_progress(c, "looking");
      code = heapsql_print(c, &r->limits, statement, r->format, first, &document);
      cli_progress(c, NULL);
      heapsql_check_limits(c, &r->limits, code);
      if (code != SQLITE_DONE) heapsql_refuse(c, db, code, r->schemas[0], r->n_files > 1);
      sqlite3_finalize(statement);
      first = false;
    }
    free(typed);
  }
  if (r->format == HEAPSQL_JSON) {
    cli_json_close(&document, ']');
    cli_json_close(&document, '}');
  }
}

static void say_saved(const request *r) {
  char *name = cli_escape(r->save);
  printf("%s: %s, all tables\n", name, lh_count_of(r->n_files, "snapshot", "snapshots").text);
  lh_free(name);
}

int main(int argc, char **argv) {
  cli c;
  request r;
  sqlite3 *db;
  cli_begin(&c, &tool);
  parse_heapsql(&c, &r, argc, argv);
  db = heapsql_connect();
  open_all(&c, db, &r);
  if (r.save != NULL) {
    heapsql_save(&c, db, r.save);
    if (r.n_queries == 0) say_saved(&r);
  } else if (r.n_queries == 0) {
    close_all(db, &r);
    heapsql_shell(&c, r.files, r.schemas, r.n_files, &r.limits);
  }
  heapsql_lock(&c, db);
  heapsql_limit(&c, db, &r.limits);
  if (r.n_queries > 0) run_queries(&c, &r, db);
  close_all(db, &r);
  for (size_t i = 0; i < r.n_files; i++) free(r.schemas[i]);
  free(r.schemas);
  return cli_finish(&c, CLI_DONE);
}
