/*
** set.c - why a whole set of objects is alive: the merged paths of all of them, as one tree. The
** answer is the library's (lib/report/set.c); here is which objects are meant, and the picture.
*/
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "heappath.h"
#include "heapsql/heapsql.h"

/* Without -n. */
enum { USUAL_ROWS = 20, USUAL_BOXES = 30 };

/* {=== A query ======================================================================== */

typedef struct object_set {
  lh_id *ids;
  size_t n;
} object_set;

/* The objects that an SQL query names in its first column. The snapshot that is open is the one that
** is asked, so nothing is computed twice. */

static bool begins_with(const char *text, const char *word) {
  size_t n = strlen(word);
  return strncasecmp(text, word, n) == 0 && (isspace((unsigned char)text[n]) || text[n] == '*');
}

static bool is_query(const char *text) {
  while (isspace((unsigned char)*text)) text++;
  return begins_with(text, "select") || begins_with(text, "with");
}

/* NULL and 0, the root, are no objects: a query over edges may well have them, and an object more
** than once. */
static void add_row(cli *c, const lh_snapshot *snapshot, sqlite3_stmt *row, bool *seen,
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

static void find_by_query(cli *c, const char *file, lh_snapshot *snapshot, const char *query,
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
    if (code == SQLITE_ROW) add_row(c, snapshot, statement, seen, set, &capacity);
  }
  cli_progress(c, NULL);
  heapsql_check_limits(c, &limits, code);
  free(seen);
  if (code != SQLITE_DONE) heapsql_refuse(c, db, code, schema, false);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  free(schema);
}

/* }=================================================================================== */

/* {=== The objects ==================================================================== */

static _Noreturn void say_no(cli *c, const request *r, const char *message) {
  cli_say(c, "%s: %s", r->file, message);
  exit(cli_finish(c, CLI_NO));
}

/* Freed by lh_free, but those of a query by free. */
static object_set find_objects(cli *c, const request *r, lh_snapshot *snapshot, bool query) {
  object_set set = {NULL, 0};
  lh_error error;
  int code = LH_OK;
  if (query)
    find_by_query(c, r->file, snapshot, r->set, &set);
  else if (lh_is_fingerprint(r->set))
    code = lh_objects_with(snapshot, r->set, &set.ids, &set.n, &error);
  else
    code = lh_find_all(snapshot, r->set, &set.ids, &set.n, &error);
  if (code == LH_ENOTFOUND) say_no(c, r, error.message);
  if (code == LH_EARGUMENT) cli_usage_error(c, "%s", error.message);
  cli_check(c, code, r->file, &error);
  if (set.n == 0) say_no(c, r, "the query names no object");
  return set;
}

/* }=================================================================================== */

/* A graph of nothing is none, so that is said aside. */
static bool draw(cli *c, const request *r, const lh_request *set, lh_snapshot *snapshot) {
  lh_merged_paths merged;
  lh_error error;
  cli_check(c, lh_merge_paths(snapshot, set->ids, set->n_ids, set->limit, &merged, &error), NULL,
            &error);
  cli_progress(c, NULL);
  bool alive = merged.objects > 0;
  if (alive)
    cli_check(c, lh_dot_merged_paths(snapshot, &merged, stdout, &error), NULL, &error);
  else
    cli_say(c, "nothing keeps %s alive: %s, %s", r->set,
            lh_count_of(merged.garbage_objects, "object", "objects").text,
            r->asked.n_ignored > 0 ? "garbage or held by what is ignored only"
                                   : "garbage that was not yet collected");
  lh_merged_paths_free(&merged);
  return alive;
}

bool answer_set(cli *c, const request *r, lh_snapshot *snapshot) {
  bool query = is_query(r->set), alive;
  object_set set = find_objects(c, r, snapshot, query);
  lh_request asked = r->asked;
  asked.ids = set.ids;
  asked.n_ids = set.n;
  if (!asked.has_limit)
    asked.limit = r->format == FORMAT_JSON ? 0 : r->format == FORMAT_DOT ? USUAL_BOXES : USUAL_ROWS;
  cli_json w = {0};
  if (c->json) {
    cli_json_open(&w, NULL, '{');
    cli_json_value(&w, "set", cli_json_text(r->set));
    (void)cli_answer(c, &w, "ignored", snapshot, r->file, &asked);
  }
  if (lh_object_count(snapshot) > 1000000) cli_progress(c, "looking for paths");
  if (r->format == FORMAT_DOT)
    alive = draw(c, r, &asked, snapshot);
  else
    alive = cli_answer(c, &w, "set", snapshot, r->file, &asked);
  if (c->json) cli_json_close(&w, '}');
  if (query)
    free(set.ids);
  else
    lh_free(set.ids);
  return alive;
}
