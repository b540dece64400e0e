/*
** paths.c - the shortest chains of references that keep an object alive: as tables, in JSON, as a
** picture.
*/
#include <string.h>

#include "heappath.h"

/* {=== Text =========================================================================== */

static const cli_column step_columns[] = {{"reference", CLI_WRAP},
                                          {"class", CLI_WRAP},
                                          {"address", CLI_LEFT},
                                          {"shallow", CLI_RIGHT},
                                          {"retained", CLI_RIGHT}};

/* `named` is the edge that says how the step is called. */
static void step_row(cli *c, const subject *s, const lh_edge *named, const lh_edge *step,
                     cli_table *table) {
  char *reference = cli_must(lh_edge_text(s->snapshot, named));
  char *what = cli_what(s->snapshot, step->target);
  const char *cells[] = {reference, what, cli_address(c, s->snapshot, step->target),
                         cli_size(c, lh_shallow_bytes(s->snapshot, step->target)),
                         cli_size(c, lh_retained_bytes(s->snapshot, step->target))};
  cli_table_row(table, cells, step->target == s->id ? CLI_BOLD : CLI_PLAIN);
  lh_free(reference);
  free(what);
}

/* Do they read the same? The texts of ephemerons are long paths of their own. */
static bool are_alike(const subject *s, const lh_edge *a, const lh_edge *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == LH_EDGE_EPHEMERON) return a->holder == b->holder;
  if (a->kind == LH_EDGE_VALUE && a->key.kind == LH_VALUE_OBJECT && b->key.kind == LH_VALUE_OBJECT)
    return a->key.as.object == b->key.as.object;
  char *x = cli_must(lh_edge_text(s->snapshot, a)), *y = cli_must(lh_edge_text(s->snapshot, b));
  bool alike = strcmp(x, y) == 0;
  lh_free(x);
  lh_free(y);
  return alike;
}

/* The edge that most of the steps first .. end - 1 are, by the majority vote of Boyer and Moore,
** and how many of them are. */
static const lh_edge *usual_edge(const subject *s, const lh_path *path, size_t first, size_t end,
                                 size_t *n_usual) {
  const lh_edge *usual = NULL;
  size_t votes = 0;
  for (size_t i = first; i < end; i++) {
    if (votes == 0) usual = &path->steps[i];
    if (are_alike(s, usual, &path->steps[i]))
      votes++;
    else
      votes--;
  }
  *n_usual = 0;
  for (size_t i = first; i < end; i++) *n_usual += are_alike(s, usual, &path->steps[i]);
  return usual;
}

/* One row that stands for the steps first .. end - 1: "... 999,990 more of .next ..." */
static void fold_row(cli *c, const subject *s, const lh_path *path, size_t first, size_t end,
                     cli_table *table) {
  size_t n = end - first, n_usual;
  char *usual = cli_must(lh_edge_text(s->snapshot, usual_edge(s, path, first, end, &n_usual)));
  size_t size = strlen(usual) + 128;
  char *text = cli_must(malloc(size));
  const char *cells[] = {text, "", "", "", ""};
  if (n_usual == n)
    snprintf(text, size, "... %s more of %s ...", cli_count(c, n), usual);
  else if (2 * n_usual > n)
    snprintf(text, size, "... %s more, %s of them %s ...", cli_count(c, n), cli_count(c, n_usual),
             usual);
  else
    snprintf(text, size, "... %s more ...", cli_count(c, n));
  cli_table_row(table, cells, CLI_FAINT);
  lh_free(usual);
  free(text);
}

/* A function's upvalue and what is in it are one step for people. */
static bool is_upvalue_with_content(const lh_path *path, size_t i) {
  return i + 1 < path->n_steps && path->steps[i].kind == LH_EDGE_UPVALUE &&
         path->steps[i + 1].kind == LH_EDGE_CONTENT;
}

static void print_steps(cli *c, const subject *s, const lh_path *path) {
  cli_table *table = cli_table_new(c, step_columns, 5);
  size_t n = path->n_steps, fold_end = 0, half = LH_LONG_PATH / 2;
  for (size_t i = 0; i < n; i++) {
    const lh_edge *named = &path->steps[i];
    if (n > LH_LONG_PATH && i >= half && fold_end == 0) {
      fold_end = n - half;
      if (is_upvalue_with_content(path, fold_end - 1)) fold_end--;
      fold_row(c, s, path, i, fold_end, table);
      i = fold_end;
      named = &path->steps[i];
    }
    if (is_upvalue_with_content(path, i)) i++;
    step_row(c, s, named, &path->steps[i], table);
  }
  cli_table_print(table);
}

/* A weak table holds what is no object, and strings, and what is under such a key. */
static const char *never_weak(const lh_snapshot *snapshot, const lh_edge *edge) {
  lh_object table;
  if (edge->kind != LH_EDGE_VALUE && edge->kind != LH_EDGE_KEY) return NULL;
  lh_object_at(snapshot, edge->source, &table);
  if (!table.as.table.weak_keys)
    return table.as.table.weak_values && edge->kind == LH_EDGE_VALUE
               ? "weak values, but a string is never weak"
               : NULL;
  return edge->key.kind == LH_VALUE_OBJECT ? "weak keys, but a string is never weak"
                                           : "weak keys, but what is no object is never weak";
}

static void print_never_weak(const subject *s, const lh_path *path) {
  for (size_t i = 0; i < path->n_steps; i++) {
    const char *why = never_weak(s->snapshot, &path->steps[i]);
    if (why == NULL) continue;
    char *reference = cli_must(lh_edge_text(s->snapshot, &path->steps[i]));
    printf("\n%s is in a table with %s: its entry stays\n", reference, why);
    lh_free(reference);
    return;
  }
}

/* held by 2 independent paths, so one cut does not free it; the others: ...
** above _G.app one cut does not free it: that is held by 2 independent paths; the others: ... */
static void print_others(cli *c, const request *r, const subject *s, const lh_independent *found) {
  if (found->n < 2) {
    print_junction(c, s, "", !r->paths_given);
    return;
  }
  char *text = independent_text(c, s, found);
  printf("held by %s, so one cut does not free it%s\n", text,
         r->paths_given ? "" : "; the others:");
  if (!r->paths_given) print_independent(c, s, found, 1);
  free(text);
}

static void print_paths(cli *c, const request *r, const subject *s, const lh_path *paths,
                        size_t n_paths, const lh_independent *found) {
  for (size_t i = 0; i < n_paths; i++) {
    char *text = cli_path_told(s->snapshot, &paths[i], paths[i].n_steps > LH_LONG_PATH);
    printf("%s%s%s %s%s%s\n", i == 0 ? "" : "\n", cli_style_on(c, CLI_BOLD),
           i == 0 ? s->text : "and by:", i == 0 ? "is kept alive by: " : "", text,
           cli_style_off(c));
    if (i == 0) {
      tell_asked(c, NULL, r, s);
      print_others(c, r, s, found);
    }
    putchar('\n');
    print_steps(c, s, &paths[i]);
    print_never_weak(s, &paths[i]);
    free(text);
  }
  if (n_paths < r->n_paths)
    printf("\nNothing else refers to it, but what does may itself be held in several ways.\n");
}

/* }=================================================================================== */

static void json_path(cli *c, cli_json *w, const subject *s, const lh_path *path) {
  char *text = cli_must(lh_path_text(s->snapshot, path, false));
  cli_json_open(w, NULL, '{');
  cli_json_value(w, "text", json_string(text));
  cli_json_value(w, "through", json_through(s, path));
  cli_json_open(w, "steps", '[');
  for (size_t i = 0; i < path->n_steps; i++) {
    json_t *row = json_of_object(c, s->snapshot, path->steps[i].target);
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
  bool all = !r->paths_given && r->format == FORMAT_DOT;
  if (r->format == FORMAT_TEXT) print_paths(c, r, s, paths, n, found);
  if (r->format == FORMAT_DOT) draw_paths(c, s, all ? found->paths : paths, all ? found->n : n);
  if (r->format != FORMAT_JSON) return;
  cli_json_open(w, "paths", '[');
  for (size_t i = 0; i < n; i++) json_path(c, w, s, &paths[i]);
  cli_json_close(w, ']');
  json_independent(c, w, s, found);
}

/* Without -k it is the shortest of the independent ones that is told, and all are drawn. */
void answer_paths(cli *c, const request *r, const subject *s, cli_json *w) {
  lh_path *paths;
  size_t n;
  lh_error error;
  lh_independent found = find_independent(c, s);
  if (!r->paths_given && found.n > 1) {
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
