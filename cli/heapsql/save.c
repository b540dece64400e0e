/*
** save.c - saves snapshots as an SQLite database: every table with its columns, hidden ones too,
** and indices for the usual joins. Two million objects with five million edges take 40 s and 800
** MB.
**
** Paths are left out: each costs its length, so a list of a million objects would cost the square
** of that. So are the calls of a stack, and the site of an object, which its stack tells.
**
** The file comes from lh_create_file: it gets its name when complete, and replaces nothing but an
** SQLite database. SQLite opens files by name, and this one has none, so our open call takes a
** special name that stands for the descriptor. There is no journal.
**
** One long key may label many edges. So texts of more than 64 bytes may take 16 times the
** snapshots' size in all, far more than usual programs need; the rest is cut. A database has at
** most 200 times that size.
*/
#include <fcntl.h>
#include <sys/stat.h>

#include "heapsql.h"

enum { SHORT_BYTES = 64, MOST_TEXT = 16 };

typedef struct save {
  cli *c;
  sqlite3 *from, *to;
  const char *path;
  lh_file *file;
  uint64_t text_bytes; /* left for long texts */
} save;

static _Noreturn void fail(save *s, const char *reason) {
  char text[512];
  snprintf(text, sizeof text, "%s", reason); /* `reason` may belong to the connection */
  sqlite3_close(s->to);
  lh_discard_file(s->file);
  cli_die(s->c, NULL, "cannot write '%s': %s", s->path, text);
}

/* The library's message names the file. */
static void check_saving(save *s, int code, const lh_error *error) {
  if (code == LH_OK) return;
  lh_discard_file(s->file);
  cli_die(s->c, NULL, "%s", error->message);
}

static void must(save *s, int code) {
  if (code != SQLITE_OK) fail(s, sqlite3_errmsg(s->to));
}

static void run_sql(save *s, const char *sql) {
  must(s, sqlite3_exec(s->to, sql, NULL, NULL, NULL));
}

/* Only a database may be replaced. lh_create_file refuses files that are not regular. */
static void check_old(save *s) {
  static const char magic[] = "SQLite format 3";
  char begin[sizeof magic] = "";
  int file = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0 && errno == EACCES) fail(s, strerror(errno));
  if (file < 0) return;
  ssize_t n = read(file, begin, sizeof begin);
  (void)close(file);
  if (n > 0 && memcmp(begin, magic, sizeof magic) != 0)
    fail(s, "there is a file which is no database: it stays as it is; choose another name");
}

static const char descriptor_word[] = "/luaheap-descriptor-";

static int open_descriptor(const char *name, int flags, int mode) {
  size_t n = sizeof descriptor_word - 1;
  if (strncmp(name, descriptor_word, n) != 0) return open(name, flags, mode);
  return fcntl(atoi(name + n), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

static void open_new(save *s) {
  char name[sizeof descriptor_word + 16];
  sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
  lh_error error;
  check_saving(s, lh_create_file(&s->file, s->path, &error), &error);
  snprintf(name, sizeof name, "%s%d", descriptor_word, lh_file_descriptor(s->file));
  must(s, vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_descriptor));
  must(s, sqlite3_open(name, &s->to));
  run_sql(s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = 2; BEGIN");
}

static void finish_saving(save *s) {
  lh_error error;
  must(s, sqlite3_close(s->to));
  s->to = NULL;
  check_saving(s, lh_complete_file(s->file, &error), &error);
  lh_discard_file(s->file);
}

static sqlite3_stmt *prepare_saving(save *s, sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail(s, sqlite3_errmsg(db));
  return statement;
}

/* For the table ?1: SQL to create, read and write it. A key of one column is the rowid. */
static const char statements_of[] =
    "WITH columns AS (SELECT * FROM pragma_table_xinfo(?1, 'temp')"
    "                 WHERE name NOT IN ('path', 'held_by', 'calls')"
    "                 AND NOT (?1 = 'objects' AND name = 'site')),"
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

static void copy_beginning(save *s, const char *text, int n, sqlite3_stmt *to, int i) {
  int shown = SHORT_BYTES - 24;
  while (shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80) shown--; /* inside a character */
  char *cut = cli_must(sqlite3_mprintf("%.*s... %d bytes left out", shown, text, n - shown));
  must(s, sqlite3_bind_text(to, i, cut, -1, sqlite3_free));
}

static void copy_value(save *s, sqlite3_value *value, sqlite3_stmt *to, int i) {
  int type = sqlite3_value_type(value);
  bool is_text = type == SQLITE_TEXT || type == SQLITE_BLOB;
  const char *text = is_text ? sqlite3_value_blob(value) : NULL;
  int n = is_text ? sqlite3_value_bytes(value) : 0;
  if (n > SHORT_BYTES && (uint64_t)n > s->text_bytes) {
    copy_beginning(s, text, n, to, i);
    return;
  }
  if (n > SHORT_BYTES) s->text_bytes -= (uint64_t)n;
  must(s, sqlite3_bind_value(to, i, value));
}

static void copy_rows(save *s, sqlite3_stmt *from, sqlite3_stmt *to) {
  int n = sqlite3_column_count(from), code;
  while ((code = sqlite3_step(from)) == SQLITE_ROW) {
    for (int i = 0; i < n; i++) copy_value(s, sqlite3_column_value(from, i), to, i + 1);
    (void)sqlite3_step(to);
    must(s, sqlite3_reset(to));
  }
  if (code != SQLITE_DONE) fail(s, sqlite3_errmsg(s->from));
}

static void save_table(save *s, const char *table) {
  sqlite3_stmt *statements = prepare_saving(s, s->from, statements_of), *from, *to;
  cli_progress(s->c, "saving %s", table);
  (void)sqlite3_bind_text(statements, 1, table, -1, SQLITE_STATIC);
  if (sqlite3_step(statements) != SQLITE_ROW) fail(s, sqlite3_errmsg(s->from));
  run_sql(s, (const char *)sqlite3_column_text(statements, 0));
  from = prepare_saving(s, s->from, (const char *)sqlite3_column_text(statements, 1));
  to = prepare_saving(s, s->to, (const char *)sqlite3_column_text(statements, 2));
  copy_rows(s, from, to);
  sqlite3_finalize(from);
  sqlite3_finalize(to);
  sqlite3_finalize(statements);
}

static uint64_t text_budget(save *s) {
  sqlite3_stmt *sum = prepare_saving(s, s->from, "SELECT sum(file_bytes) FROM info");
  if (sqlite3_step(sum) != SQLITE_ROW) fail(s, sqlite3_errmsg(s->from));
  uint64_t bytes = (uint64_t)sqlite3_column_int64(sum, 0);
  sqlite3_finalize(sum);
  return MOST_TEXT * bytes + (1 << 20);
}

void heapsql_save(cli *c, sqlite3 *db, const char *path) {
  save s = {.c = c, .from = db, .path = path};
  sqlite3_stmt *tables;
  check_old(&s);
  open_new(&s);
  s.text_bytes = text_budget(&s);
  tables = prepare_saving(&s, db, "SELECT name FROM sqlite_temp_schema ORDER BY rowid");
  while (sqlite3_step(tables) == SQLITE_ROW)
    save_table(&s, (const char *)sqlite3_column_text(tables, 0));
  sqlite3_finalize(tables);
  cli_progress(c, "making indices");
  run_sql(&s,
          "CREATE INDEX objects_class ON objects(class);"
          "CREATE INDEX objects_address ON objects(address);"
          "CREATE INDEX objects_immediate_dominator ON objects(immediate_dominator);"
          "CREATE INDEX objects_stack ON objects(stack) WHERE stack IS NOT NULL;"
          "CREATE INDEX edges_target ON edges(target);"
          "COMMIT");
  finish_saving(&s);
  cli_progress(c, NULL);
}
