/*
** set.c - heappath --set: finds the objects, asks the library (lib/report/set.c), or draws a graph.
*/
#include "heappath.h"

enum { USUAL_ROWS = 20, USUAL_BOXES = 30 };

static _Noreturn void say_no(cli *c, const request *r, const char *message) {
  cli_say(c, "%s: %s", r->file, message);
  exit(cli_finish(c, CLI_NO));
}

/* Freed by lh_free; the result of a query by free. */
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

/* An empty graph is not printed; a message on stderr replaces it. */
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
  lh_json w = {0};
  if (c->json) {
    cli_json_open(&w, NULL, '{');
    cli_json_name(&w, "set", r->set);
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
