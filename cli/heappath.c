/*
** heappath - shows why objects are alive: shortest paths from a root, all referrers, or the objects
** that would free them. Prints text on a terminal or into a file, a DOT graph into a pipe or a file
** that is named .dot or .gv, or JSON.
**
** A path may have a million steps (a linked list). Text and graph fold its middle; JSON has every
** step, written one by one. The answers are in cli/heappath/.
*/
#include "heappath/heappath.h"

#include <sys/stat.h>

static void take_ignored(cli *c, request *r, const cli_option *option) {
  (void)c, (void)option;
  r->ignored[r->asked.n_ignored++].text = optarg;
}

static void take_cut(cli *c, request *r, const cli_option *option) {
  (void)c, (void)option;
  r->cuts[r->asked.n_cuts++].text = optarg;
}

static const cli_option options[] = {
    {'k', "paths", "N", "the N shortest paths by different referrers (default 1)",
     CLI_NUMBER(n_paths), .least = 1},
    {0, "referrers", NULL, "all that refers to it, weak references too", CLI_FLAG(referrers)},
    {0, "dominators", NULL, "the objects that would free it if they went", CLI_FLAG(dominators)},
    {0, "set", "WHAT", "why many objects are alive: of a class, fingerprint, query", CLI_TEXT(set)},
    {0, "ignore", "PATTERN", "as though these references were not there; repeatable",
     CLI_TAKEN(take_ignored)},
    {0, "cut", "PATTERN", "what goes if these references or objects do; repeatable",
     CLI_TAKEN(take_cut)},
    {0, "what-if", NULL, "what each --cut frees alone, and only all together",
     CLI_FLAG(asked.each)},
    CLI_TOP_OPTION("rows of --referrers and --set (default 20; 0: all)"),
    {0, "format", "FORMAT=text|dot|json", "text (default), dot (default into a pipe), json",
     CLI_WORD(format)},
    CLI_COMMON_OPTIONS};

static const cli_tool tool = {
    "heappath",
    "Shows what keeps an object of a snapshot alive.",
    {"[options] SNAPSHOT OBJECT", "[options] --set WHAT SNAPSHOT",
     "[options] --cut PATTERN [--what-if] SNAPSHOT [OBJECT]"},
    options,
    "OBJECT: an address as Lua prints it   'table: 0x55d0c0a3f2e0'\n"
    "        a path                        '_G.cache[12].owner'\n"
    "        a function by place           @app.lua:42\n"
    "        a class                       Listener   (the instance that retains most)\n"
    "WHAT:   any of these, for all objects that it names; a fingerprint of heapdiff;\n"
    "        'select id from ...', as for heapsql\n"
    "PATTERN: a path, for the reference of its last step, with * for any name: '_G.cache',\n"
    "        '_G.debugger.*', 'upvalue bus of function *'; or an OBJECT, for that itself\n"
    "Example: heappath c Listener | dot -Tsvg > why.svg\n"
    "Exit status: 0 done, 1 not there or nothing keeps it alive, 2 wrong usage or failure.\n"};

/* OBJECT is one argument, or two if the user pasted an address without quotes: table: 0x55d0... */
static char *join_expression(const cli *c, int n, char **words) {
  size_t length = n > 0 ? strlen(words[0]) : 0;
  if (n == 0) cli_usage_error(c, "which object? An address, a path, @file:line or a class");
  if (n > 2 || (n == 2 && (length == 0 || words[0][length - 1] != ':')))
    cli_usage_error(c, "one object at a time: '%s' is too many (quotes missing?)", words[1]);
  return cli_format("%s%s%s", words[0], n == 2 ? " " : "", n == 2 ? words[1] : "");
}

static bool ends_in(const char *text, const char *end) {
  size_t n = strlen(text), n_end = strlen(end);
  return n > n_end && strcmp(text + n - n_end, end) == 0;
}

/* Does standard output go where a graph is expected: into a pipe, or a file named .dot or .gv? */
static bool is_for_graph(void) {
  struct stat about;
  char name[4096];
  if (fstat(STDOUT_FILENO, &about) != 0) return false;
  if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode)) return true;
  ssize_t n = S_ISREG(about.st_mode) ? readlink("/proc/self/fd/1", name, sizeof name - 1) : -1;
  name[n > 0 ? n : 0] = '\0';
  return ends_in(name, ".dot") || ends_in(name, ".gv");
}

static void parse_heappath(cli *c, request *r, int argc, char **argv) {
  *r = (request){.n_paths = 1, .asked.limit = 20, .format = FORMAT_AUTO};
  r->asked.ignored = r->ignored = cli_must(calloc((size_t)argc, sizeof *r->ignored));
  r->asked.cuts = r->cuts = cli_must(calloc((size_t)argc, sizeof *r->cuts));
  cli_parse(c, r, argc, argv);
  bool has_cuts = r->asked.n_cuts > 0;
  if (optind == argc) cli_usage_error(c, "which snapshot? Name the file, then the object");
  r->file = argv[optind];
  if (r->set != NULL && argc - optind > 1)
    cli_usage_error(c, "--set already says which objects: '%s' is too much", argv[optind + 1]);
  if (r->set == NULL && (!has_cuts || optind + 1 < argc))
    r->expression = join_expression(c, argc - optind - 1, argv + optind + 1);
  if ((r->set != NULL) + r->referrers + r->dominators + (has_cuts) > 1)
    cli_usage_error(c, "--set, --referrers, --dominators and --cut: ask one at a time");
  if (cli_is_given(c, "paths") && (r->set != NULL || has_cuts))
    cli_usage_error(c, "-k goes without --set and --cut");
  if (r->asked.each && !has_cuts)
    cli_usage_error(c, "--what-if tells what cuts would free: name them with --cut");
  if (c->json && r->format != FORMAT_AUTO && r->format != FORMAT_JSON)
    cli_usage_error(c, "--json and another --format: choose one");
  if (c->json) r->format = FORMAT_JSON;
  if ((r->dominators || has_cuts) && r->format == FORMAT_DOT)
    cli_usage_error(c, "%s has no picture: use --format text or json",
                    r->dominators ? "--dominators" : "--cut");
  if (r->format == FORMAT_AUTO)
    r->format = !r->dominators && !has_cuts && is_for_graph() ? FORMAT_DOT : FORMAT_TEXT;
  c->json = r->format == FORMAT_JSON;
}

char *describe(const lh_snapshot *snapshot, lh_id id) {
  char *what = cli_must(lh_what_text(snapshot, id));
  char *text = cli_format("%s %s", what, lh_address_text(snapshot, id).text);
  lh_free(what);
  return text;
}

/* An object that is not there is an honest no. A malformed expression is wrong usage. */
static void find_subject(cli *c, const request *r, subject *s) {
  lh_error error;
  int code = lh_find(s->snapshot, r->expression, &s->found, &error);
  if (code == LH_ENOTFOUND) {
    cli_say(c, "%s: %s", r->file, error.message);
    exit(cli_finish(c, CLI_NO));
  }
  if (code == LH_EARGUMENT) cli_usage_error(c, "%s", error.message);
  cli_check(c, code, r->file, &error);
  s->id = s->found.id;
}

/* Of a class, takes the instance that retains most without the ignored references, if one stays. */
static void open_subject(cli *c, const request *r, subject *s) {
  bool was_alive = false;
  *s = (subject){.snapshot = cli_open_analysed(c, r->file), .id = LH_NO_OBJECT};
  if (r->asked.n_ignored > 0) {
    if (r->expression != NULL) find_subject(c, r, s);
    was_alive = s->id != LH_NO_OBJECT && lh_is_reachable(s->snapshot, s->id);
    ignore(c, r, s->snapshot);
  }
  if (r->expression == NULL) return;
  find_subject(c, r, s);
  s->only_ignored = was_alive && !lh_is_reachable(s->snapshot, s->id);
  s->text = describe(s->snapshot, s->id);
}

lh_request request_about(const request *r, const subject *s) {
  lh_request asked = r->asked;
  asked.limit = 0;
  asked.id = s->id;
  asked.matches = s->found.matches;
  asked.class_index = s->found.class_index;
  return asked;
}

void print_asked(cli *c, lh_json *w, const request *r, const subject *s) {
  lh_request asked = request_about(r, s);
  (void)cli_answer(c, w, "ignored", s->snapshot, r->file, &asked);
  if (s->id != LH_NO_OBJECT) (void)cli_answer(c, w, "stack", s->snapshot, r->file, &asked);
}

/* Text goes to stdout; with DOT, which has no graph for garbage, the message goes to stderr. */
static void answer_garbage(cli *c, const request *r, const subject *s) {
  if (r->format == FORMAT_DOT)
    cli_say(c,
            s->only_ignored ? "only what is ignored keeps %s alive"
                            : "nothing keeps %s alive: it is garbage that was not yet collected",
            s->text);
  if (r->format != FORMAT_TEXT) return;
  if (s->only_ignored)
    printf("%sonly what is ignored keeps it alive:%s %s\n", cli_style_on(c, LH_BOLD),
           cli_style_off(c), s->text);
  else
    printf("%snothing keeps it alive:%s %s is garbage that was not yet collected\n",
           cli_style_on(c, LH_BOLD), cli_style_off(c), s->text);
  subject single = *s;
  single.found.matches = 1;
  print_asked(c, NULL, r, &single);
}

static void json_no_paths(lh_json *w) {
  cli_json_open(w, "paths", '[');
  cli_json_close(w, ']');
}

static void answer_heappath(cli *c, const request *r, const subject *s, lh_json *w) {
  bool reachable = lh_is_reachable(s->snapshot, s->id), json = r->format == FORMAT_JSON;
  if (json) {
    json_subject(w, s);
    print_asked(c, w, r, s);
    lh_json_flag(w, "only_ignored", s->only_ignored);
  }
  if (!reachable && !r->referrers) answer_garbage(c, r, s);
  if (reachable && !r->referrers && !r->dominators)
    answer_paths(c, r, s, w);
  else if (json)
    json_no_paths(w);
  if (r->referrers) answer_referrers(c, r, s, w);
  lh_request asked = request_about(r, s);
  if (r->dominators) (void)cli_answer(c, w, "dominators", s->snapshot, r->file, &asked);
}

static bool answer_one(cli *c, const request *r, subject *s) {
  lh_json w = {0};
  bool alive = s->id == LH_NO_OBJECT || lh_is_reachable(s->snapshot, s->id);
  if (r->asked.n_cuts > 0 && alive) find_cuts(c, r, s->snapshot);
  if (c->json) cli_json_open(&w, NULL, '{');
  if (r->asked.n_cuts > 0 && alive) {
    answer_cuts(c, r, s, &w);
  } else {
    answer_heappath(c, r, s, &w);
  }
  if (c->json) cli_json_close(&w, '}');
  return alive;
}

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

static bool answer_set(cli *c, const request *r, lh_snapshot *snapshot) {
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

int main(int argc, char **argv) {
  cli c;
  request r;
  subject s;
  bool alive;
  cli_begin(&c, &tool);
  parse_heappath(&c, &r, argc, argv);
  open_subject(&c, &r, &s);
  alive = r.set != NULL ? answer_set(&c, &r, s.snapshot) : answer_one(&c, &r, &s);
  lh_close(s.snapshot);
  free(s.text);
  free(r.expression);
  free_patterns(r.ignored, r.asked.n_ignored);
  free_patterns(r.cuts, r.asked.n_cuts);
  return cli_finish(&c, alive ? CLI_DONE : CLI_NO);
}
