/*
** ignore.c - what is taken as gone: what --ignore leaves out of all answers, and --cut.
*/
#include <string.h>

#include "heappath.h"

/* A pattern that matches nothing leaves nothing out: the same list is for all snapshots. */
static bool find_gone(cli *c, const request *r, lh_snapshot *snapshot, const char *option,
                      gone *g) {
  lh_error error;
  int code = lh_find_cut(snapshot, g->text, &g->what, &error);
  if (code == LH_EARGUMENT) cli_usage_error(c, "%s '%s': %s", option, g->text, error.message);
  if (code == LH_ENOTFOUND) cli_say(c, "%s: %s '%s': %s", r->file, option, g->text, error.message);
  if (code != LH_ENOTFOUND) cli_check(c, code, r->file, &error);
  return code == LH_OK;
}

void find_cuts(cli *c, const request *r, lh_snapshot *snapshot) {
  for (size_t i = 0; i < r->n_cuts; i++)
    if (!find_gone(c, r, snapshot, "--cut", &r->cuts[i])) exit(cli_finish(c, CLI_NO));
}

/* Entries of tables count once, with their keys. */
static size_t count_references(const gone *g) {
  const lh_without *what = &g->what;
  size_t n = 0;
  for (size_t i = 0; i < what->n_edges; i++) {
    bool is_key = what->edges[i].kind == LH_EDGE_KEY;
    bool has_value = is_key && i + 1 < what->n_edges && what->edges[i + 1].kind == LH_EDGE_VALUE &&
                     what->edges[i + 1].source == what->edges[i].source &&
                     what->edges[i + 1].key.kind == LH_VALUE_OBJECT &&
                     what->edges[i + 1].key.as.object == what->edges[i].target;
    n += !has_value;
  }
  return n;
}

/* _G.debugger.* (12 references) */
char *gone_text(cli *c, const gone *g) {
  size_t n_references = count_references(g), n_objects = g->what.n_objects;
  char *escaped = cli_escape(g->text);
  size_t size = strlen(escaped) + LH_NUMBER_BYTES + 32;
  char *text = cli_must(malloc(size));
  if (n_references > 1)
    snprintf(text, size, "%s (%s references)", escaped, cli_count(c, n_references));
  else if (n_objects > 1)
    snprintf(text, size, "%s (%s objects)", escaped, cli_count(c, n_objects));
  else
    snprintf(text, size, "%s", escaped);
  lh_free(escaped);
  return text;
}

/* Analyses anew, without what is ignored and what is cut. */
void leave_out(cli *c, const request *r, lh_snapshot *snapshot, bool cuts) {
  size_t n = 0;
  lh_without *without = cli_must(calloc(r->n_ignored + r->n_cuts, sizeof *without));
  lh_error error;
  for (size_t i = 0; i < r->n_ignored; i++) without[n++] = r->ignored[i].what;
  for (size_t i = 0; cuts && i < r->n_cuts; i++) without[n++] = r->cuts[i].what;
  if (lh_object_count(snapshot) > 1000000) cli_progress(c, "finding what is left");
  cli_check(c, lh_analyse_without(snapshot, without, n, &error), r->file, &error);
  cli_progress(c, NULL);
  free(without);
}

void ignore(cli *c, const request *r, lh_snapshot *snapshot) {
  for (size_t i = 0; i < r->n_ignored; i++)
    (void)find_gone(c, r, snapshot, "--ignore", &r->ignored[i]);
  leave_out(c, r, snapshot, false);
}

/* ignored: _G.debugger.* (12 references) */
void print_ignored(cli *c, const request *r) {
  const char *before = "ignored: ";
  for (size_t i = 0; i < r->n_ignored; i++) {
    if (r->ignored[i].what.n_edges + r->ignored[i].what.n_objects == 0) continue;
    char *text = gone_text(c, &r->ignored[i]);
    printf("%s%s", before, text);
    before = ", ";
    free(text);
  }
  if (before[0] == ',') putchar('\n');
}

void json_gone(cli_json *w, const gone *g) {
  cli_json_value(w, "pattern", cli_json_text(g->text));
  cli_json_value(w, "references", cli_json_size(count_references(g)));
  cli_json_value(w, "objects", cli_json_size(g->what.n_objects));
}

void json_ignored(cli_json *w, const request *r) {
  cli_json_open(w, "ignored", '[');
  for (size_t i = 0; i < r->n_ignored; i++) {
    cli_json_open(w, NULL, '{');
    json_gone(w, &r->ignored[i]);
    cli_json_close(w, '}');
  }
  cli_json_close(w, ']');
}

void free_gone(gone *list, size_t n) {
  for (size_t i = 0; i < n; i++) lh_without_free(&list[i].what);
  free(list);
}
