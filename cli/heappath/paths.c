/*
** paths.c - why one object is alive: its shortest paths, the number of cuts that free it, the
** effect of --cut, the paths that remain, all referrers. Prints tables, JSON or a graph.
*/
#include "heappath.h"

/* A graph folds paths from this length on, to fit a page. */
enum { LONG_PICTURE = 10 };

/* ==== Ignored references and cuts =================================================== */

/* A pattern without a match is not an error for --ignore: users keep one list for all snapshots. */
static bool find_pattern(cli *c, const request *r, lh_snapshot *snapshot, const char *option,
                         lh_removed *g) {
  lh_error error;
  int code = lh_find_cut(snapshot, g->text, &g->what, &error);
  if (code == LH_EARGUMENT) cli_usage_error(c, "%s '%s': %s", option, g->text, error.message);
  if (code == LH_ENOTFOUND) cli_say(c, "%s: %s '%s': %s", r->file, option, g->text, error.message);
  if (code != LH_ENOTFOUND) cli_check(c, code, r->file, &error);
  return code == LH_OK;
}

void find_cuts(cli *c, const request *r, lh_snapshot *snapshot) {
  for (size_t i = 0; i < r->asked.n_cuts; i++)
    if (!find_pattern(c, r, snapshot, "--cut", &r->cuts[i])) exit(cli_finish(c, CLI_NO));
}

static void analyse_without(cli *c, const request *r, lh_snapshot *snapshot, bool cuts) {
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
    (void)find_pattern(c, r, snapshot, "--ignore", &r->ignored[i]);
  analyse_without(c, r, snapshot, false);
}

void free_patterns(lh_removed *list, size_t n) {
  for (size_t i = 0; i < n; i++) lh_without_free(&list[i].what);
  free(list);
}

/* ==== JSON =========================================================================== */

static void open_object(lh_json *w, const char *key, const lh_snapshot *snapshot, lh_id id) {
  lh_json_open_in_line(w, key, '{');
  if (id == LH_ROOT) {
    lh_json_string(w, "class", "root");
    return;
  }
  lh_json_string(w, "address", lh_address_text(snapshot, id).text);
  lh_json_string(w, "class", lh_class_name_of(snapshot, id));
  lh_json_string(w, "type", lh_type_name(lh_type_of(snapshot, id)));
  lh_json_count(w, "shallow_bytes", lh_shallow_bytes(snapshot, id));
  lh_json_count(w, "retained_bytes", lh_retained_bytes(snapshot, id));
}

static void json_edge(lh_json *w, const lh_snapshot *snapshot, const lh_edge *edge) {
  char *label = cli_must(lh_edge_text(snapshot, edge));
  lh_json_string(w, "edge", lh_edge_kind_name(edge->kind));
  lh_json_string(w, "label", label);
  lh_free(label);
}

void json_subject(lh_json *w, const subject *s) {
  char *object = cli_must(lh_object_text(s->snapshot, s->id));
  bool reachable = lh_is_reachable(s->snapshot, s->id);
  lh_json_string(w, "object", object);
  lh_json_string(w, "address", lh_address_text(s->snapshot, s->id).text);
  lh_json_string(w, "class", lh_class_name_of(s->snapshot, s->id));
  lh_json_string(w, "type", lh_type_name(lh_type_of(s->snapshot, s->id)));
  lh_json_count(w, "shallow_bytes", lh_shallow_bytes(s->snapshot, s->id));
  lh_json_count(w, "retained_bytes", lh_retained_bytes(s->snapshot, s->id));
  if (reachable)
    lh_json_count(w, "distance", lh_distance(s->snapshot, s->id));
  else
    lh_json_null(w, "distance");
  lh_json_count(w, "matches", s->found.matches);
  lh_json_flag(w, "reachable", reachable);
  lh_free(object);
}

/* ==== Independent paths ============================================================== */

/* Freeing the object takes one cut per independent path, or freeing the object where these part.
** Other paths may join a single path at a junction: a cut above it does not free the object. */

/* The search stops here: nobody makes more cuts to free an object. */
enum { MOST_INDEPENDENT = 5 };

static lh_independent find_independent(cli *c, const subject *s) {
  lh_independent found;
  lh_error error;
  if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "looking for independent paths");
  cli_check(c, lh_find_independent(s->snapshot, s->id, MOST_INDEPENDENT, &found, &error), NULL,
            &error);
  cli_progress(c, NULL);
  return found;
}

/* "2 independent paths"; if one was printed before, "1 other path". */
static char *counted_paths_text(const lh_independent *found, bool others) {
  size_t n = found->n - others;
  return cli_format("%s%s %s path%s", found->is_limited ? "at least " : "", lh_count_text(n).text,
                    others ? "other" : "independent", n == 1 ? "" : "s");
}

/* " from _G.app"; "" if the paths share no object. Freed by free. */
static char *common_text(cli *c, const subject *s, const char *before,
                         const lh_independent *found) {
  if (found->from == LH_ROOT) return cli_format("%s", "");
  char *from = cli_held_by(c, s->snapshot, found->from);
  char *text = cli_format(" %s %s", before, from);
  lh_free(from);
  return text;
}

/* Paths that read the same as path i, such as two functions of one place; 0: counted before. */
static size_t count_alike(char *const *texts, size_t first, size_t n, size_t i) {
  size_t n_alike = 0;
  for (size_t k = first; k < i; k++)
    if (strcmp(texts[k], texts[i]) == 0) return 0;
  for (size_t k = i; k < n; k++) n_alike += strcmp(texts[k], texts[i]) == 0;
  return n_alike;
}

static void print_independent(cli *c, const subject *s, const lh_independent *found, size_t first) {
  static const cli_column columns[] = {{"steps", CLI_RIGHT}, {"path", CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  char **texts = cli_must(malloc((found->n + 1) * sizeof *texts));
  for (size_t i = first; i < found->n; i++) {
    bool folded = found->paths[i].n_steps > LH_LONG_PATH;
    texts[i] = cli_must(lh_whole_path_text(s->snapshot, &found->paths[i], folded));
  }
  putchar('\n');
  for (size_t i = first; i < found->n; i++) {
    size_t n_alike = count_alike(texts, first, found->n, i);
    if (n_alike == 0) continue;
    lh_number n_steps = lh_count_text(found->paths[i].n_steps);
    char *text = n_alike > 1 ? cli_format("%s (%s that read the same)", texts[i],
                                          lh_count_text(n_alike).text)
                             : cli_format("%s", texts[i]);
    cli_table_row(table, (const char *[]){n_steps.text, text}, LH_PLAIN);
    free(text);
  }
  for (size_t i = first; i < found->n; i++) lh_free(texts[i]);
  free(texts);
  cli_table_print(table);
}

/* Prints why the cut is not enough, and the paths behind the first, unless -k shows some. */
static void print_not_enough(cli *c, const subject *s, const lh_independent *found,
                             const char *junction) {
  bool others = !cli_is_given(c, "paths"), is_below = found->from != LH_ROOT;
  char *text = counted_paths_text(found, others);
  char *common = common_text(c, s, junction ? "from" : "below", found);
  const char *verb = found->n - others == 1 ? "leads" : "lead";
  const char *end = others ? ":" : "";
  char *sentence = junction ? cli_format("A cut above %s is not enough: %s %s%s to it%s", junction,
                                         text, verb, common, end)
                            : cli_format("One cut%s is not enough: %s %s%s to the object%s", common,
                                         text, verb, is_below ? " from there" : "", end);
  putchar('\n');
  cli_print_sentence(c, sentence);
  putchar('\n');
  free(sentence);
  if (others) print_independent(c, s, found, 1);
  free(text);
  free(common);
}

typedef struct junction {
  lh_id id;
  lh_independent found; /* the paths to `id`; freed by lh_independent_free */
} junction;

/* False: none, or a permanent one such as a module, which nobody frees to free its contents. */
static bool find_junction(cli *c, const subject *s, junction *out) {
  lh_error error;
  int code =
      lh_find_common_holder(s->snapshot, s->id, MOST_INDEPENDENT, &out->id, &out->found, &error);
  if (code == LH_ENOTFOUND) return false;
  cli_check(c, code, NULL, &error);
  if (lh_is_permanent(s->snapshot, out->id)) lh_independent_free(&out->found);
  return out->found.n > 0;
}

static void print_junction(cli *c, const subject *s) {
  junction j;
  if (!find_junction(c, s, &j)) return;
  char *at = cli_held_by(c, s->snapshot, j.id);
  print_not_enough(c, s, &j.found, at);
  lh_free(at);
  lh_independent_free(&j.found);
}

static void json_through(lh_json *w, const char *key, const subject *s, const lh_path *path) {
  char *through;
  if (lh_path_through(s->snapshot, path, false, &through, NULL) != LH_OK) cli_must(NULL);
  lh_json_string(w, key, through);
  lh_free(through);
}

static void json_found(lh_json *w, const subject *s, const lh_independent *found) {
  lh_json_count(w, "count", found->n);
  lh_json_flag(w, "or_more", found->is_limited);
  if (found->n < 2 || found->from == LH_ROOT) {
    lh_json_null(w, "below");
  } else {
    open_object(w, "below", s->snapshot, found->from);
    lh_json_close(w, '}');
  }
  cli_json_open(w, "paths", '[');
  for (size_t i = 0; i < found->n; i++) {
    char *text = cli_must(lh_path_text(s->snapshot, &found->paths[i], false));
    lh_json_string(w, NULL, text);
    lh_free(text);
  }
  cli_json_close(w, ']');
  cli_json_open(w, "through", '[');
  for (size_t i = 0; i < found->n; i++) json_through(w, NULL, s, &found->paths[i]);
  cli_json_close(w, ']');
}

static void json_independent(cli *c, lh_json *w, const subject *s, const lh_independent *found) {
  junction j;
  cli_json_open(w, "independent", '{');
  json_found(w, s, found);
  if (found->n == 1 && find_junction(c, s, &j)) {
    cli_json_open(w, "junction", '{');
    open_object(w, "object", s->snapshot, j.id);
    lh_json_close(w, '}');
    json_found(w, s, &j.found);
    cli_json_close(w, '}');
    lh_independent_free(&j.found);
  } else {
    lh_json_null(w, "junction");
  }
  cli_json_close(w, '}');
}

/* ==== Paths ========================================================================== */

static void print_found_paths(cli *c, const request *r, const subject *s, const lh_path *paths,
                              size_t n_paths, const lh_independent *found) {
  for (size_t i = 0; i < n_paths; i++) {
    bool folded = paths[i].n_steps > LH_LONG_PATH;
    char *text = cli_must(lh_whole_path_text(s->snapshot, &paths[i], folded));
    char *sentence = cli_format(
        "%s %s%s", i == 0 ? s->text : "and by:", i == 0 ? "is kept alive by: " : "", text);
    printf("%s%s", i == 0 ? "" : "\n", cli_style_on(c, LH_BOLD));
    cli_print_sentence(c, sentence);
    puts(cli_style_off(c));
    free(sentence);
    if (i == 0) print_asked(c, NULL, r, s);
    putchar('\n');
    lh_request asked = {.path = &paths[i], .id = s->id};
    (void)cli_answer(c, NULL, "steps", s->snapshot, r->file, &asked);
    lh_free(text);
  }
  if (n_paths < r->n_paths)
    printf("\nNothing else refers to it, but what does may itself be held in several ways.\n");
  if (found->n > 1)
    print_not_enough(c, s, found, NULL);
  else
    print_junction(c, s);
}

static void json_path(lh_json *w, const subject *s, const lh_path *path) {
  char *text = cli_must(lh_path_text(s->snapshot, path, false));
  cli_json_open(w, NULL, '{');
  lh_json_string(w, "text", text);
  json_through(w, "through", s, path);
  cli_json_open(w, "steps", '[');
  for (size_t i = 0; i < path->n_steps; i++) {
    open_object(w, NULL, s->snapshot, path->steps[i].target);
    json_edge(w, s->snapshot, &path->steps[i]);
    lh_json_close(w, '}');
  }
  cli_json_close(w, ']');
  cli_json_close(w, '}');
  lh_free(text);
}

static void draw_paths(cli *c, const subject *s, const lh_path *paths, size_t n) {
  lh_error error;
  cli_check(c, lh_dot_paths(s->snapshot, paths, n, LONG_PICTURE, stdout, &error), NULL, &error);
}

static void print_paths_answer(cli *c, const request *r, const subject *s, const lh_path *paths,
                               size_t n, const lh_independent *found, lh_json *w) {
  bool all = !cli_is_given(c, "paths") && r->format == FORMAT_DOT;
  if (r->format == FORMAT_TEXT) print_found_paths(c, r, s, paths, n, found);
  if (r->format == FORMAT_DOT) draw_paths(c, s, all ? found->paths : paths, all ? found->n : n);
  if (r->format != FORMAT_JSON) return;
  cli_json_open(w, "paths", '[');
  for (size_t i = 0; i < n; i++) json_path(w, s, &paths[i]);
  cli_json_close(w, ']');
  json_independent(c, w, s, found);
}

/* Without -k the text has the shortest independent path, and a graph has all of them. */
void answer_paths(cli *c, const request *r, const subject *s, lh_json *w) {
  lh_path *paths;
  size_t n;
  lh_error error;
  lh_independent found = find_independent(c, s);
  if (!cli_is_given(c, "paths") && found.n > 1) {
    print_paths_answer(c, r, s, found.paths, 1, &found, w);
  } else {
    if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "looking for paths");
    cli_check(c, lh_shortest_paths(s->snapshot, s->id, r->n_paths, &paths, &n, &error), NULL,
              &error);
    cli_progress(c, NULL);
    print_paths_answer(c, r, s, paths, n, &found, w);
    lh_paths_free(paths, n);
    lh_free(paths);
  }
  lh_independent_free(&found);
}

/* ==== Cuts =========================================================================== */

static void choose_subject(const request *r, subject *s) {
  const lh_without *what = &r->cuts[0].what;
  lh_id id = LH_NO_OBJECT;
  for (size_t i = 0; i < what->n_edges; i++) {
    if (what->edges[i].kind == LH_EDGE_KEY) continue;
    if (id != LH_NO_OBJECT && id != what->edges[i].target) return;
    id = what->edges[i].target;
  }
  if (r->asked.n_cuts != 1 || id == LH_NO_OBJECT || !lh_is_reachable(s->snapshot, id)) return;
  s->id = id;
  s->found = (lh_found){id, 1, UINT32_MAX};
  s->text = describe(s->snapshot, id);
}

static void print_what_holds(cli *c, const subject *s) {
  lh_independent found = find_independent(c, s);
  char *text = counted_paths_text(&found, false), *from = common_text(c, s, "from", &found);
  if (found.n == 1)
    printf("\none path still holds it:\n");
  else
    printf("\n%s still lead%s to it:\n", text, from);
  print_independent(c, s, &found, 0);
  if (found.n == 1) print_junction(c, s);
  free(text);
  free(from);
  lh_independent_free(&found);
}

void answer_cuts(cli *c, const request *r, subject *s, lh_json *w) {
  if (s->id == LH_NO_OBJECT && !r->asked.each) choose_subject(r, s);
  lh_request asked = request_about(r, s);
  if (c->json && s->id != LH_NO_OBJECT) json_subject(w, s);
  if (c->json) print_asked(c, w, r, s);
  if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "cutting");
  if (cli_answer(c, w, "cut", s->snapshot, r->file, &asked)) return;
  analyse_without(c, r, s->snapshot, true);
  if (c->json) {
    lh_independent found = find_independent(c, s);
    json_independent(c, w, s, &found);
    lh_independent_free(&found);
  } else {
    print_what_holds(c, s);
  }
}

/* ==== References ===================================================================== */

static void draw_edges(cli *c, const subject *s, lh_edge *edges, size_t n) {
  lh_path *paths = cli_must(malloc((n + 1) * sizeof *paths));
  lh_error error;
  for (size_t i = 0; i < n; i++) paths[i] = (lh_path){.n_steps = 1, .steps = &edges[i]};
  cli_check(c, lh_dot_paths(s->snapshot, paths, n, LONG_PICTURE, stdout, &error), NULL, &error);
  free(paths);
}

static void draw_referrers(cli *c, const request *r, const subject *s) {
  lh_edge *edges;
  size_t n;
  uint64_t total;
  lh_error error;
  cli_check(c, lh_some_referrers(s->snapshot, s->id, 0, r->asked.limit, &edges, &n, &total, &error),
            NULL, &error);
  draw_edges(c, s, edges, n);
  lh_free(edges);
}

void answer_referrers(cli *c, const request *r, const subject *s, lh_json *w) {
  lh_request asked = request_about(r, s);
  if (r->asked.has_limit || r->format != FORMAT_JSON) asked.limit = r->asked.limit;
  if (r->format == FORMAT_DOT)
    draw_referrers(c, r, s);
  else
    (void)cli_answer(c, w, "referrers", s->snapshot, r->file, &asked);
}
