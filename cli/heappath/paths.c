/*
** paths.c - the shortest chains of references that keep an object alive: as tables, in JSON, as a
** picture.
*/
#include <string.h>

#include "heappath.h"

/* {=== Text =========================================================================== */

/* What to do stands behind the chain that it is about:
** Held by 2 independent paths, so one cut does not free it; the others: ...
** Above _G.app one cut does not free it: that is held by 2 independent paths; the others: ... */
static void print_others(cli *c, const subject *s, const lh_independent *found) {
  if (found->n < 2) {
    print_junction(c, s, !cli_is_given(c, "paths"));
    return;
  }
  char *text = independent_text(c, s, found);
  printf("\nHeld by %s, so one cut does not free it%s\n", text,
         cli_is_given(c, "paths") ? "" : "; the others:");
  if (!cli_is_given(c, "paths")) print_independent(c, s, found, 1);
  free(text);
}

static void print_paths(cli *c, const request *r, const subject *s, const lh_path *paths,
                        size_t n_paths, const lh_independent *found) {
  for (size_t i = 0; i < n_paths; i++) {
    bool folded = paths[i].n_steps > LH_LONG_PATH;
    char *text = cli_must(lh_whole_path_text(s->snapshot, &paths[i], folded));
    printf("%s%s%s %s%s%s\n", i == 0 ? "" : "\n", cli_style_on(c, CLI_BOLD),
           i == 0 ? s->text : "and by:", i == 0 ? "is kept alive by: " : "", text,
           cli_style_off(c));
    if (i == 0) tell_asked(c, NULL, r, s);
    putchar('\n');
    lh_request asked = {.path = &paths[i], .id = s->id};
    (void)cli_answer(c, NULL, "steps", s->snapshot, r->file, &asked);
    lh_free(text);
  }
  if (n_paths < r->n_paths)
    printf("\nNothing else refers to it, but what does may itself be held in several ways.\n");
  print_others(c, s, found);
}

/* }=================================================================================== */

static void json_path(cli_json *w, const subject *s, const lh_path *path) {
  char *text = cli_must(lh_path_text(s->snapshot, path, false));
  cli_json_open(w, NULL, '{');
  cli_json_value(w, "text", json_string(text));
  cli_json_value(w, "through", json_through(s, path));
  cli_json_open(w, "steps", '[');
  for (size_t i = 0; i < path->n_steps; i++) {
    json_t *row = json_of_object(s->snapshot, path->steps[i].target);
    add_edge(row, s->snapshot, &path->steps[i]);
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
  cli_json_close(w, '}');
  lh_free(text);
}

static void draw_paths(cli *c, const subject *s, const lh_path *paths, size_t n) {
  lh_error error;
  cli_check(c, lh_dot_paths(s->snapshot, paths, n, LONG_PICTURE, stdout, &error), NULL, &error);
}

static void tell_paths(cli *c, const request *r, const subject *s, const lh_path *paths, size_t n,
                       const lh_independent *found, cli_json *w) {
  bool all = !cli_is_given(c, "paths") && r->format == FORMAT_DOT;
  if (r->format == FORMAT_TEXT) print_paths(c, r, s, paths, n, found);
  if (r->format == FORMAT_DOT) draw_paths(c, s, all ? found->paths : paths, all ? found->n : n);
  if (r->format != FORMAT_JSON) return;
  cli_json_open(w, "paths", '[');
  for (size_t i = 0; i < n; i++) json_path(w, s, &paths[i]);
  cli_json_close(w, ']');
  json_independent(c, w, s, found);
}

/* Without -k it is the shortest of the independent ones that is told, and all are drawn. */
void answer_paths(cli *c, const request *r, const subject *s, cli_json *w) {
  lh_path *paths;
  size_t n;
  lh_error error;
  lh_independent found = find_independent(c, s);
  if (!cli_is_given(c, "paths") && found.n > 1) {
    tell_paths(c, r, s, found.paths, 1, &found, w);
  } else {
    if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "looking for paths");
    cli_check(c, lh_shortest_paths(s->snapshot, s->id, r->n_paths, &paths, &n, &error), NULL,
              &error);
    cli_progress(c, NULL);
    tell_paths(c, r, s, paths, n, &found, w);
    lh_paths_free(paths, n);
    lh_free(paths);
  }
  lh_independent_free(&found);
}
