/*
** ignore.c - what is taken as gone: what --ignore leaves out of all answers, and --cut.
*/
#include <string.h>

#include "heappath.h"

/* A pattern that matches nothing leaves nothing out: the same list is for all snapshots. */
static bool find_gone(cli *c, const request *r, lh_snapshot *snapshot, const char *option,
                      lh_gone *g) {
  lh_error error;
  int code = lh_find_cut(snapshot, g->text, &g->what, &error);
  if (code == LH_EARGUMENT) cli_usage_error(c, "%s '%s': %s", option, g->text, error.message);
  if (code == LH_ENOTFOUND) cli_say(c, "%s: %s '%s': %s", r->file, option, g->text, error.message);
  if (code != LH_ENOTFOUND) cli_check(c, code, r->file, &error);
  return code == LH_OK;
}

void find_cuts(cli *c, const request *r, lh_snapshot *snapshot) {
  for (size_t i = 0; i < r->asked.n_cuts; i++)
    if (!find_gone(c, r, snapshot, "--cut", &r->cuts[i])) exit(cli_finish(c, CLI_NO));
}

/* Analyses anew, without what is ignored and what is cut. */
void leave_out(cli *c, const request *r, lh_snapshot *snapshot, bool cuts) {
  size_t n = 0;
  lh_without *without = cli_must(calloc(r->asked.n_ignored + r->asked.n_cuts, sizeof *without));
  lh_error error;
  for (size_t i = 0; i < r->asked.n_ignored; i++) without[n++] = r->ignored[i].what;
  for (size_t i = 0; cuts && i < r->asked.n_cuts; i++) without[n++] = r->cuts[i].what;
  if (lh_object_count(snapshot) > 1000000) cli_progress(c, "finding what is left");
  cli_check(c, lh_analyse_without(snapshot, without, n, &error), r->file, &error);
  cli_progress(c, NULL);
  free(without);
}

void ignore(cli *c, const request *r, lh_snapshot *snapshot) {
  for (size_t i = 0; i < r->asked.n_ignored; i++)
    (void)find_gone(c, r, snapshot, "--ignore", &r->ignored[i]);
  leave_out(c, r, snapshot, false);
}

void free_gone(lh_gone *list, size_t n) {
  for (size_t i = 0; i < n; i++) lh_without_free(&list[i].what);
  free(list);
}
