/*
** heappath - why one object is alive: the shortest chains of references from a root to it, or all
** that refers to it, or what would free it. Text for a terminal, a DOT graph for a pipe, JSON on
** demand.
**
** A path may have a million steps (a linked list). Text folds its middle and the graph does so too;
** JSON has every step and is written one by one.
*/
#include <string.h>

#include "cli.h"

enum { KEY_REFERRERS = CLI_FIRST_KEY, KEY_DOMINATORS, KEY_FORMAT };

static const cli_option options[] = {
    {'k', "paths", "N", "the N shortest paths by different referrers (default 1)"},
    {KEY_REFERRERS, "referrers", NULL, "all that refers to it, weak references too"},
    {KEY_DOMINATORS, "dominators", NULL, "the objects that would free it if they went"},
    {'n', "top", "N", "rows of --referrers (default 20; 0: all)"},
    {KEY_FORMAT, "format", "FORMAT", "text (default on a terminal), dot (default else), json"},
    CLI_COMMON_OPTIONS};

static const cli_tool tool = {
    "heappath",
    "Shows what keeps an object of a snapshot alive.",
    {"[options] SNAPSHOT OBJECT", NULL, NULL},
    options,
    sizeof options / sizeof *options,
    "OBJECT: an address as Lua prints it   'table: 0x55d0c0a3f2e0'\n"
    "        a path                        '_G.cache[12].owner'\n"
    "        a function by place           @app.lua:42\n"
    "        a class                       Listener   (the instance that retains most)\n"
    "Example: heappath c Listener | dot -Tsvg > why.svg\n"
    "Exit status: 0 done, 1 not there or nothing keeps it alive, 2 wrong usage or failure.\n"};

typedef enum format { FORMAT_TEXT, FORMAT_DOT, FORMAT_JSON, FORMAT_AUTO } format;

typedef struct request {
  const char *file;
  char *expression;
  size_t n_paths, limit;
  bool limit_given, referrers, dominators;
  format format;
} request;

/* The object that was asked for. */
typedef struct subject {
  lh_snapshot *snapshot;
  lh_found found;
  lh_id id;
  char *text; /* Listener 0x55d0c0a3f2e0 */
} subject;

/* {=== Options ======================================================================== */

static void parse_options(cli *c, request *r, int argc, char **argv) {
  int key;
  while ((key = cli_next_option(c, argc, argv)) != -1) {
    switch (key) {
      case 'k':
        r->n_paths = cli_number_argument(c, "--paths");
        if (r->n_paths == 0) cli_usage_error(c, "--paths needs a number of at least 1");
        break;
      case KEY_REFERRERS: r->referrers = true; break;
      case KEY_DOMINATORS: r->dominators = true; break;
      case 'n':
        r->limit = cli_number_argument(c, "--top");
        r->limit_given = true;
        break;
      case KEY_FORMAT: r->format = cli_word_argument(c, "--format", "text|dot|json"); break;
    }
  }
}

/* OBJECT is one argument; but an address is easily pasted without its quotes: table: 0x55d0... */
static char *join_expression(const cli *c, int n, char **words) {
  size_t length = n > 0 ? strlen(words[0]) : 0;
  char *text;
  if (n == 0) cli_usage_error(c, "which object? An address, a path, @file:line or a class");
  if (n > 2 || (n == 2 && (length == 0 || words[0][length - 1] != ':')))
    cli_usage_error(c, "one object at a time: '%s' is too many (quotes missing?)", words[1]);
  length += n == 2 ? strlen(words[1]) + 2 : 1;
  text = cli_must(malloc(length));
  snprintf(text, length, "%s%s%s", words[0], n == 2 ? " " : "", n == 2 ? words[1] : "");
  return text;
}

static void parse(cli *c, request *r, int argc, char **argv) {
  *r = (request){.n_paths = 1, .limit = 20, .format = FORMAT_AUTO};
  parse_options(c, r, argc, argv);
  if (optind == argc) cli_usage_error(c, "which snapshot? Name the file, then the object");
  r->file = argv[optind];
  r->expression = join_expression(c, argc - optind - 1, argv + optind + 1);
  if (r->referrers && r->dominators)
    cli_usage_error(c, "--referrers and --dominators are two questions: ask one");
  if (c->json && r->format != FORMAT_AUTO && r->format != FORMAT_JSON)
    cli_usage_error(c, "--json and another --format: choose one");
  if (c->json) r->format = FORMAT_JSON;
  if (r->dominators && r->format == FORMAT_DOT)
    cli_usage_error(c, "--dominators has no picture: use --format text or json");
  if (r->format == FORMAT_AUTO)
    r->format = c->stdout_terminal || r->dominators ? FORMAT_TEXT : FORMAT_DOT;
  c->json = r->format == FORMAT_JSON;
}

/* }=================================================================================== */

/* {=== The object ===================================================================== */

static char *describe(cli *c, const lh_snapshot *snapshot, lh_id id) {
  const char *address = cli_address(c, snapshot, id);
  char *what = cli_what(snapshot, id);
  size_t size = strlen(what) + strlen(address) + 2;
  char *text = cli_must(malloc(size));
  snprintf(text, size, "%s %s", what, address);
  free(what);
  return text;
}

/* An object that is not there is an honest no, exit status 1; an expression that is none is wrong
** usage. */
static void find(cli *c, const request *r, subject *s) {
  lh_error error;
  int code;
  s->snapshot = cli_open_analysed(c, r->file);
  code = lh_find(s->snapshot, r->expression, &s->found, &error);
  if (code == LH_ENOTFOUND) {
    cli_say(c, "%s: %s", r->file, error.message);
    exit(cli_finish(c, CLI_NO));
  }
  if (code == LH_EARGUMENT) cli_usage_error(c, "%s", error.message);
  cli_check(c, code, r->file, &error);
  s->id = s->found.id;
  s->text = describe(c, s->snapshot, s->id);
}

/* }=================================================================================== */

/* From this many steps on a path is folded in a picture, so that it fits a page. */
enum { LONG_PICTURE = 10 };

/* {=== Text of paths ================================================================== */

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
  size_t n = path->n_steps, fold_end = 0, half = CLI_LONG_PATH / 2;
  for (size_t i = 0; i < n; i++) {
    const lh_edge *named = &path->steps[i];
    if (n > CLI_LONG_PATH && i >= half && fold_end == 0) {
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

static char *path_text(const subject *s, const lh_path *path) {
  return cli_must(lh_path_text(s->snapshot, path, path->n_steps > CLI_LONG_PATH));
}

/* "1,000 Listener in the snapshot; this is the one that retains most" */
static void print_matches(cli *c, const subject *s) {
  const char *class_name = "objects like that";
  if (s->found.matches < 2) return;
  if (s->found.class_index != UINT32_MAX)
    class_name = lh_class_at(s->snapshot, s->found.class_index)->name;
  printf("%s %s in the snapshot; this is the one that retains most\n",
         cli_count(c, s->found.matches), class_name);
}

static void print_paths(cli *c, const request *r, const subject *s, const lh_path *paths,
                        size_t n_paths) {
  for (size_t i = 0; i < n_paths; i++) {
    char *text = path_text(s, &paths[i]);
    printf("%s%s%s %s%s%s\n", i == 0 ? "" : "\n", cli_style_on(c, CLI_BOLD),
           i == 0 ? s->text : "and by:", i == 0 ? "is kept alive by: " : "", text,
           cli_style_off(c));
    if (i == 0) print_matches(c, s);
    putchar('\n');
    print_steps(c, s, &paths[i]);
    lh_free(text);
  }
  if (n_paths < r->n_paths)
    printf("\nNothing else refers to it, but what does may itself be held in several ways.\n");
}

/* }=================================================================================== */

/* {=== Text of referrers and dominators =============================================== */

static void print_referrers(cli *c, const request *r, const subject *s, const lh_edge *edges,
                            size_t n) {
  static const cli_column columns[] = {{"reference", CLI_WRAP},
                                       {"from class", CLI_WRAP},
                                       {"address", CLI_LEFT},
                                       {"", CLI_LEFT},
                                       {"from", CLI_WRAP}};
  size_t n_shown = r->limit == 0 || n < r->limit ? n : r->limit;
  cli_table *table = cli_table_new(c, columns, 5);
  printf("%s%s %s to %s%s\n", cli_style_on(c, CLI_BOLD),
         cli_count_of(c, n, "reference", "references"), n == 1 ? "leads" : "lead", s->text,
         cli_style_off(c));
  print_matches(c, s);
  putchar('\n');
  for (size_t i = 0; i < n_shown; i++) {
    lh_id source = edges[i].source;
    bool alive = source == LH_ROOT || lh_is_reachable(s->snapshot, source);
    char *reference = cli_must(lh_edge_text(s->snapshot, &edges[i]));
    char *from = source != LH_ROOT && alive ? cli_held_by(c, s->snapshot, source) : NULL;
    const char *cells[] = {reference,
                           source == LH_ROOT ? "root" : cli_class_of(s->snapshot, source),
                           source == LH_ROOT ? "" : cli_address(c, s->snapshot, source),
                           !alive          ? "garbage"
                           : edges[i].weak ? "weak"
                                           : "",
                           from != NULL ? from : ""};
    cli_table_row(table, cells, edges[i].weak || !alive ? CLI_FAINT : CLI_PLAIN);
    lh_free(reference);
    lh_free(from);
  }
  cli_table_print(table);
  cli_print_hidden(c, n - n_shown, "reference", "references");
}

static void dominator_row(cli *c, const subject *s, lh_id id, cli_table *table) {
  char *what = cli_what(s->snapshot, id), *path = cli_held_by(c, s->snapshot, id);
  const char *cells[] = {cli_size(c, lh_retained_bytes(s->snapshot, id)),
                         cli_address(c, s->snapshot, id), what, path};
  cli_table_row(table, cells, CLI_PLAIN);
  free(what);
  lh_free(path);
}

/* The chain of immediate dominators, nearest first; the middle of a long one is folded. */
static void dominator_rows(cli *c, const subject *s, size_t n, cli_table *table) {
  size_t half = CLI_LONG_PATH / 2, i = 0;
  for (lh_id id = s->id; (id = lh_immediate_dominator(s->snapshot, id)) != LH_ROOT; i++) {
    if (n <= CLI_LONG_PATH || i < half || i >= n - half) {
      dominator_row(c, s, id, table);
    } else if (i == half) {
      char text[2 * CLI_NUMBER_BYTES];
      const char *cells[] = {"", "", text, ""};
      snprintf(text, sizeof text, "... %s more ...", cli_count(c, n - 2 * half));
      cli_table_row(table, cells, CLI_FAINT);
    }
  }
}

static void print_dominators(cli *c, const subject *s) {
  static const cli_column columns[] = {
      {"would free", CLI_RIGHT}, {"address", CLI_LEFT}, {"class", CLI_WRAP}, {"path", CLI_WRAP}};
  cli_table *table;
  size_t n = 0;
  for (lh_id id = s->id; (id = lh_immediate_dominator(s->snapshot, id)) != LH_ROOT;) n++;
  printf("%s%s, which retains %s, %s%s\n", cli_style_on(c, CLI_BOLD), s->text,
         cli_size(c, lh_retained_bytes(s->snapshot, s->id)),
         n == 0   ? "depends on no single object: roots or independent paths hold it"
         : n == 1 ? "would go too if this went:"
                  : "would go too if any of these went:",
         cli_style_off(c));
  print_matches(c, s);
  if (n == 0) return;
  putchar('\n');
  table = cli_table_new(c, columns, 4);
  dominator_rows(c, s, n, table);
  cli_table_print(table);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *json_of_object(cli *c, const lh_snapshot *snapshot, lh_id id) {
  if (id == LH_ROOT) return cli_must(json_pack("{ss}", "class", "root"));
  return cli_must(json_pack("{ss ss ss sI sI}", "address", cli_address(c, snapshot, id), "class",
                            cli_class_of(snapshot, id), "type",
                            lh_type_name(lh_type_of(snapshot, id)), "shallow_bytes",
                            (json_int_t)lh_shallow_bytes(snapshot, id), "retained_bytes",
                            (json_int_t)lh_retained_bytes(snapshot, id)));
}

static void add_edge(json_t *row, const lh_snapshot *snapshot, const lh_edge *edge) {
  char *label = cli_must(lh_edge_text(snapshot, edge));
  json_object_set_new(row, "edge", json_string(lh_edge_kind_name(edge->kind)));
  json_object_set_new(row, "label", json_string(label));
  lh_free(label);
}

static void json_path(cli *c, cli_json *w, const subject *s, const lh_path *path) {
  char *text = cli_must(lh_path_text(s->snapshot, path, false));
  cli_json_open(w, NULL, '{');
  cli_json_value(w, "text", json_string(text));
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

static void json_referrers(cli *c, cli_json *w, const request *r, const subject *s,
                           const lh_edge *edges, size_t n) {
  size_t n_shown = r->limit == 0 || !r->limit_given || n < r->limit ? n : r->limit;
  cli_json_value(w, "total_referrers", cli_json_size(n));
  cli_json_open(w, "referrers", '[');
  for (size_t i = 0; i < n_shown; i++) {
    lh_id source = edges[i].source;
    json_t *row = json_of_object(c, s->snapshot, source);
    bool alive = source == LH_ROOT || lh_is_reachable(s->snapshot, source);
    add_edge(row, s->snapshot, &edges[i]);
    json_object_set_new(row, "weak", json_boolean(edges[i].weak));
    json_object_set_new(row, "reachable", json_boolean(alive));
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
}

static void json_dominators(cli *c, cli_json *w, const subject *s) {
  lh_id id = s->id;
  cli_json_open(w, "dominators", '[');
  if (lh_is_reachable(s->snapshot, id))
    while ((id = lh_immediate_dominator(s->snapshot, id)) != LH_ROOT)
      cli_json_value(w, NULL, json_of_object(c, s->snapshot, id));
  cli_json_close(w, ']');
}

static void json_subject(cli *c, cli_json *w, const subject *s) {
  char *object = cli_must(lh_object_text(s->snapshot, s->id));
  bool reachable = lh_is_reachable(s->snapshot, s->id);
  cli_json_value(w, "object", json_string(object));
  cli_json_value(w, "address", json_string(cli_address(c, s->snapshot, s->id)));
  cli_json_value(w, "class", json_string(cli_class_of(s->snapshot, s->id)));
  cli_json_value(w, "type", json_string(lh_type_name(lh_type_of(s->snapshot, s->id))));
  cli_json_value(w, "shallow_bytes", cli_json_size(lh_shallow_bytes(s->snapshot, s->id)));
  cli_json_value(w, "retained_bytes", cli_json_size(lh_retained_bytes(s->snapshot, s->id)));
  cli_json_value(w, "distance",
                 reachable ? json_integer(lh_distance(s->snapshot, s->id)) : json_null());
  cli_json_value(w, "matches", cli_json_size(s->found.matches));
  cli_json_value(w, "reachable", json_boolean(reachable));
  lh_free(object);
}

/* }=================================================================================== */

/* {=== The questions ================================================================== */

/* Edges as paths of one step each, as the graph wants them. */
static void draw_edges(cli *c, const subject *s, lh_edge *edges, size_t n) {
  lh_path *paths = cli_must(malloc((n + 1) * sizeof *paths));
  lh_error error;
  for (size_t i = 0; i < n; i++) paths[i] = (lh_path){.n_steps = 1, .steps = &edges[i]};
  cli_check(c, lh_dot_paths(s->snapshot, paths, n, LONG_PICTURE, stdout, &error), NULL, &error);
  free(paths);
}

static void answer_referrers(cli *c, const request *r, const subject *s, cli_json *w) {
  lh_edge *edges;
  size_t n;
  lh_error error;
  cli_check(c, lh_referrers(s->snapshot, s->id, &edges, &n, &error), NULL, &error);
  if (r->format == FORMAT_JSON)
    json_referrers(c, w, r, s, edges, n);
  else if (r->format == FORMAT_DOT)
    draw_edges(c, s, edges, r->limit == 0 || n < r->limit ? n : r->limit);
  else
    print_referrers(c, r, s, edges, n);
  lh_free(edges);
}

static void answer_paths(cli *c, const request *r, const subject *s, cli_json *w) {
  lh_path *paths;
  size_t n;
  lh_error error;
  if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "looking for paths");
  cli_check(c, lh_shortest_paths(s->snapshot, s->id, r->n_paths, &paths, &n, &error), NULL, &error);
  cli_progress(c, NULL);
  if (r->format == FORMAT_DOT)
    cli_check(c, lh_dot_paths(s->snapshot, paths, n, LONG_PICTURE, stdout, &error), NULL, &error);
  else if (r->format == FORMAT_TEXT)
    print_paths(c, r, s, paths, n);
  for (size_t i = 0; r->format == FORMAT_JSON && i < n; i++) json_path(c, w, s, &paths[i]);
  lh_paths_free(paths, n);
  lh_free(paths);
}

/* Text goes where the answer is expected; a graph of nothing is none, so there it is said aside. */
static void answer_garbage(const cli *c, const request *r, const subject *s) {
  if (r->format == FORMAT_DOT)
    cli_say(c, "nothing keeps %s alive: it is garbage that was not yet collected", s->text);
  else if (r->format == FORMAT_TEXT)
    printf("%snothing keeps it alive:%s %s is garbage that was not yet collected\n",
           cli_style_on(c, CLI_BOLD), cli_style_off(c), s->text);
}

static void answer(cli *c, const request *r, const subject *s) {
  cli_json w = {0};
  bool reachable = lh_is_reachable(s->snapshot, s->id), json = r->format == FORMAT_JSON;
  if (json) {
    cli_json_open(&w, NULL, '{');
    json_subject(c, &w, s);
    cli_json_open(&w, "paths", '[');
  }
  if (!reachable && !r->referrers) answer_garbage(c, r, s);
  if (reachable && !r->referrers && !r->dominators) answer_paths(c, r, s, &w);
  if (json) cli_json_close(&w, ']');
  if (r->referrers) answer_referrers(c, r, s, &w);
  if (r->dominators && json) json_dominators(c, &w, s);
  if (r->dominators && !json && reachable) print_dominators(c, s);
  if (json) cli_json_close(&w, '}');
}

/* }=================================================================================== */

int main(int argc, char **argv) {
  cli c;
  request r;
  subject s;
  bool reachable;
  cli_begin(&c, &tool);
  parse(&c, &r, argc, argv);
  find(&c, &r, &s);
  answer(&c, &r, &s);
  reachable = lh_is_reachable(s.snapshot, s.id);
  lh_close(s.snapshot);
  free(s.text);
  free(r.expression);
  return cli_finish(&c, reachable ? CLI_DONE : CLI_NO);
}
