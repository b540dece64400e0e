/*
** test_heapsnap.c - the SQLite extension: every column of every row of a heap with every kind of
** record in it, and memory that runs out on the way there, at each allocation of the library's and
** of SQLite's in turn. What then comes is an error or the right answer, and nothing is leaked.
*/
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base.h"
#include "sample.h"
#include "soak.h"

/* ==== SQLite's allocator ============================================================= */

/* SQLite's own, behind a count: some of its calls fail. Process-wide, as SQLite has it. */
static struct {
  sqlite3_mem_methods methods;
  size_t calls, first, last; /* which fail, counted from 1; first 0: none */
} memory;

static bool fails(void) {
  memory.calls++;
  return memory.first != 0 && memory.calls >= memory.first && memory.calls <= memory.last;
}

static void *allocate_or_fail(int n) {
  return fails() ? NULL : memory.methods.xMalloc(n);
}

static void *resize(void *block, int n) {
  return fails() ? NULL : memory.methods.xRealloc(block, n);
}

static void plan(size_t first, size_t last) {
  memory.calls = 0;
  memory.first = first;
  memory.last = last;
}

/* ==== A session ====================================================================== */

int sqlite3_heapsnap_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static char path[] = "/tmp/test_heapsnap-XXXXXX";

/* What a session has come to: a hash of all it was told, or an error. */
typedef struct result {
  uint64_t hash;
  size_t rows;
  int code;
  char message[256];
} result;

static const char *const questions[] = {
    "SELECT sum(id), count(path) FROM s.objects WHERE class = 'string'",
    "SELECT id, class FROM s.objects ORDER BY class DESC",
    "SELECT class, count(*) FROM objects GROUP BY class",
    "SELECT count(*) FROM objects WHERE type = 'table' OR id = 3 OR address = '0x2000'",
    "SELECT o.id, e.* FROM objects o JOIN edges e ON e.target = o.id",
    "SELECT o.id, e.* FROM objects o JOIN edges e ON e.source = o.id",
    "SELECT o.id, d.id FROM objects o JOIN objects d ON d.immediate_dominator = o.id",
    ("SELECT o.id, k.id, s.* FROM objects o JOIN stacks k ON k.id = o.stack "
     "JOIN sites s ON s.id = k.site_id"),
    "SELECT path_of(id), class_of(id), id_of(class), id_of('0x2000', 's') FROM objects"};
enum { QUESTIONS = sizeof questions / sizeof *questions };

static void take_rows(sqlite3 *db, const char *sql, result *r) {
  sqlite3_stmt *statement = NULL;
  if (r->code != SQLITE_OK) return;
  r->code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  while (r->code == SQLITE_OK || r->code == SQLITE_ROW) {
    r->code = sqlite3_step(statement);
    for (int i = 0; r->code == SQLITE_ROW && i < sqlite3_column_count(statement); i++) {
      int type = sqlite3_column_type(statement, i);
      const void *bytes = sqlite3_column_blob(statement, i);
      size_t n = (size_t)sqlite3_column_bytes(statement, i);
      if (bytes == NULL && type != SQLITE_NULL && n > 0) r->code = SQLITE_NOMEM;
      r->hash = lh_hash(bytes != NULL ? bytes : "", n, r->hash + (uint64_t)type);
    }
    r->rows++;
  }
  if (r->code == SQLITE_DONE) r->code = SQLITE_OK;
  if (r->code != SQLITE_OK) snprintf(r->message, sizeof r->message, "%s", sqlite3_errmsg(db));
  (void)sqlite3_finalize(statement);
}

/* One text, or NULL where something failed. */
static char *take_text(sqlite3 *db, const char *sql, result *r) {
  sqlite3_stmt *statement = NULL;
  char *text = NULL;
  if (r->code != SQLITE_OK) return NULL;
  r->code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  if (r->code == SQLITE_OK) r->code = sqlite3_step(statement);
  if (r->code == SQLITE_ROW) {
    text = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    r->code = text != NULL ? SQLITE_OK : SQLITE_NOMEM;
  }
  snprintf(r->message, sizeof r->message, "%s", sqlite3_errmsg(db));
  (void)sqlite3_finalize(statement);
  return text;
}

/* Every column, hidden ones too, of a table. */
static void take_table(sqlite3 *db, const char *name, result *r) {
  char sql[160], *columns;
  snprintf(sql, sizeof sql,
           "SELECT group_concat('\"' || name || '\"') FROM "
           "pragma_table_xinfo('%s', 'temp')",
           name);
  columns = take_text(db, sql, r);
  if (columns == NULL) return;
  char *all = sqlite3_mprintf("SELECT %s FROM %s", columns, name);
  if (all == NULL)
    r->code = SQLITE_NOMEM;
  else
    take_rows(db, all, r);
  sqlite3_free(all);
  sqlite3_free(columns);
}

/* Opens the sample, asks everything, closes. */
static result session(bool guarded) {
  static const char *const tables[] = {"objects", "edges",   "entries", "strings",
                                       "classes", "threads", "frames",  "sites",
                                       "stacks",  "modules", "marks",   "info"};
  char sql[128];
  sqlite3 *db = NULL;
  result r = {.code = sqlite3_open(":memory:", &db)};
  snprintf(sql, sizeof sql, "SELECT heap_open('%s', 's'), heap_for_terminal()", path);
  take_rows(db, sql, &r);
  if (guarded && r.code == SQLITE_OK)
    r.code = sqlite3_exec(db, "SELECT heap_read_only()", NULL, NULL, NULL);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) take_table(db, tables[i], &r);
  for (size_t i = 0; i < QUESTIONS; i++) take_rows(db, questions[i], &r);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  return r;
}

/* ==================================================================================== */

/* Locked or not, it is the same. */
static void answers(void **state) {
  (void)state;
  result first = session(false), second = session(true);
  if (first.code != SQLITE_OK) fail_msg("%s", first.message);
  if (second.code != SQLITE_OK) fail_msg("%s", second.message);
  assert_true(first.rows > 10 * SAMPLE_OBJECTS);
  assert_int_equal(first.rows, second.rows);
  assert_true(first.hash == second.hash);
}

/* Forged: objects have stacks 0, 1, 2, 3 in turn, and stack i has made i objects at line i. */
static void tells_sites(void **state) {
  static const struct {
    const char *sql, *answer;
  } cases[] = {
      {"SELECT group_concat(site, '; ') FROM s.sites",
       "@app.lua:1 in f; @app.lua:2 in f; @app.lua:3 in f"},
      {"SELECT printf('%s %d %s %d', file, line, function, first_line) FROM sites WHERE id = 2",
       "@app.lua 2 f 1"},
      {"SELECT calls FROM stacks WHERE id = 3",
       "@app.lua:3 in f, from @app.lua:2 in f, from @app.lua:1 in f"},
      {"SELECT group_concat(printf('%d %d %d', made_objects, made_bytes, freed_objects), '; ')"
       " FROM sites",
       "1 56 0; 2 112 1; 3 168 2"},
      {"SELECT count(*) FROM sites s JOIN stacks k ON k.site_id = s.id WHERE"
       " k.made_bytes = s.made_bytes AND k.caller IS nullif(k.id - 1, 0)",
       "3"},
      {"SELECT count(*) FROM stacks WHERE id IN (0, 4, 'x', 10000000001)", "0"},
      {"SELECT group_concat(ifnull(stack, 'none'), ' ') FROM (SELECT stack FROM objects"
       " ORDER BY id LIMIT 5)",
       "1 2 3 none 1"},
      {"SELECT count(*) FROM objects o LEFT JOIN stacks k ON k.id = o.stack"
       " WHERE o.site IS NOT k.site",
       "0"},
      {"SELECT printf('%d %d %d', tracked_allocations, unattributed_allocations, sample_bytes)"
       " FROM info",
       "1000 2 0"}};
  sqlite3 *db = NULL;
  char sql[128];
  (void)state;
  result r = {.code = sqlite3_open(":memory:", &db)};
  snprintf(sql, sizeof sql, "SELECT heap_open('%s', 's')", path);
  take_rows(db, sql, &r);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *answer = take_text(db, cases[i].sql, &r);
    if (answer == NULL) fail_msg("%s: %s", cases[i].sql, r.message);
    assert_string_equal(answer, cases[i].answer);
    sqlite3_free(answer);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void expect_error_or(const result *expected, const result *r) {
  if (r->code == SQLITE_OK) {
    assert_int_equal(r->rows, expected->rows);
    assert_true(r->hash == expected->hash);
  } else if (r->code != SQLITE_NOMEM) {
    if (strstr(r->message, "memory") == NULL) fail_msg("%d: %s", r->code, r->message);
  }
}

static void survives_the_library_without_memory(void **state) {
  result expected = session(false);
  size_t n_cases = 0;
  (void)state;
  for (uint64_t n = 1;; n++, n_cases++) {
    (void)lh_test_fail_allocation(n);
    result r = session(false);
    uint64_t calls = lh_test_fail_allocation(0);
    expect_error_or(&expected, &r);
    if (calls < n) break;
  }
  assert_true(n_cases > 20);
  printf("faults: an allocation of the library fails under SQLite: %zu cases, %zu survived\n",
         n_cases, n_cases);
}

/* One allocation fails, or all from it on. The steps grow: an allocation is much like the next. */
static void survives_sqlite_without_memory(void **state) {
  plan(0, 0);
  result expected = session(false);
  size_t n_cases = 0, calls = memory.calls;
  (void)state;
  for (size_t n = 1; n <= calls; n += soak_step(1) + n / 256) {
    for (int rest = 0; rest < 2; rest++, n_cases++) {
      plan(n, rest ? SIZE_MAX : n);
      result r = session(false);
      plan(0, 0);
      expect_error_or(&expected, &r);
    }
  }
  assert_true(n_cases > 200);
  printf("faults: an allocation of SQLite fails: %zu cases, %zu survived\n", n_cases, n_cases);
}

/* ==== The heap ======================================================================= */

static int write_sample(void **state) {
  forge f;
  (void)state;
  sample_tracked_heap(&f);
  forge_finish(&f);
  int file = mkstemp(path);
  bool written = file >= 0 && write(file, f.data, f.size) == (ssize_t)f.size;
  if (file >= 0) (void)close(file);
  forge_free(&f);
  return written ? 0 : -1;
}

static int remove_sample(void **state) {
  (void)state;
  return unlink(path);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers),
      cmocka_unit_test(tells_sites),
      cmocka_unit_test(survives_the_library_without_memory),
      cmocka_unit_test(survives_sqlite_without_memory),
  };
  sqlite3_mem_methods counted;
  (void)sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory.methods);
  counted = memory.methods;
  counted.xMalloc = allocate_or_fail;
  counted.xRealloc = resize;
  (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
  (void)sqlite3_auto_extension((void (*)(void))sqlite3_heapsnap_init);
  return cmocka_run_group_tests(tests, write_sample, remove_sample);
}
