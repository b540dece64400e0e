/*
** heaptop - what a snapshot is, and what in it is big: a ledger of the heap, then the classes, then
** the objects, each with the bytes that would go with them; or the answer to one of the library's
** questions (luaheap_report.h). A heap of ten million objects takes as long as its analysis, a few
** seconds.
*/
#include <string.h>

#include "cli.h"

/* The tables that can be asked for. */
enum { BY_CLASS = 1, BY_OBJECT = 2, BY_EPOCH = 4 };

typedef struct request {
  const char *file;
  const char *argument; /* OBJECT, or the name of a class */
  uint64_t depth;
  bool depth_given;
  lh_top_query query;
  bool limit_given, sort_given;
  unsigned by;                 /* a set of tables; 0: the ledger, classes and objects */
  const lh_question *question; /* NULL: the tables */
} request;

/* From KEY_QUESTION on they are the questions of the library. */
enum { KEY_SORT = CLI_FIRST_KEY, KEY_BY, KEY_TYPE, KEY_GARBAGE, KEY_DEPTH, KEY_QUESTION };

static const cli_option first_options[] = {
    {'n', "top", "N", "rows in each table (default 20; 0: all)"},
    {KEY_SORT, "sort", "ORDER", "retained (default), shallow or count"},
    {KEY_BY, "by", "WHAT", "one table: class, object, or epoch: when it was allocated"},
    {KEY_TYPE, "type", "TYPE,...", "table, string, closure, upvalue, proto, userdata, thread"},
    {KEY_GARBAGE, "garbage", NULL, "of what nothing refers to any more, instead"}};

static const cli_option last_options[] = {
    {KEY_DEPTH, "depth", "N", "levels of --under (default 4), frames of --threads (8)"},
    CLI_COMMON_OPTIONS};

static cli_option options[CLI_MAX_OPTIONS];

static cli_tool tool = {
    "heaptop",
    "Shows what a snapshot of a Lua heap holds and what in it is big.",
    {"[options] SNAPSHOT", NULL, NULL},
    options,
    0,
    "shallow: the object's own bytes. retained: what would be freed if it went.\n"
    "Example: heaptop -n 5 --type table c\n"
    "Exit status: 0 done, 2 wrong usage or failure.\n"};

/* {=== Questions of the library ======================================================= */

/* With --under, the object that it names. */
static lh_request request_of(cli *c, lh_snapshot *snapshot, const request *r) {
  bool is_object = r->question != NULL && strcmp(r->question->name, "under") == 0;
  lh_found found = {.id = LH_ROOT, .matches = 1};
  lh_error error;
  if (is_object && strcmp(r->argument, "root") != 0)
    cli_check(c, lh_find(snapshot, r->argument, &found, &error), r->file, &error);
  if (!lh_is_reachable(snapshot, found.id))
    cli_die(c, NULL, "nothing keeps %s alive: it is garbage, and keeps nothing alive", r->argument);
  return (lh_request){.id = found.id,
                      .matches = found.matches,
                      .name = r->argument,
                      .limit = r->query.limit,
                      .has_limit = r->limit_given,
                      .type_mask = r->query.type_mask,
                      .garbage = r->query.garbage,
                      .has_depth = r->depth_given,
                      .depth = r->depth};
}

static void print_answer(cli *c, lh_snapshot *snapshot, const request *r,
                         const lh_question *question) {
  lh_request asked = request_of(c, snapshot, r);
  cli_report_print(c, question, snapshot, r->file, &asked);
}

/* All rows, unless -n says otherwise. */
static void print_answer_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r,
                              const lh_question *question) {
  lh_request asked = request_of(c, snapshot, r);
  if (!r->limit_given) asked.limit = 0;
  cli_report_json(c, w, question, snapshot, r->file, &asked);
}

/* }=================================================================================== */

/* {=== Options ======================================================================== */

static void add_options(const cli_option *list, size_t n) {
  memcpy(options + tool.n_options, list, n * sizeof *list);
  tool.n_options += n;
}

static void make_options(void) {
  add_options(first_options, sizeof first_options / sizeof *first_options);
  for (int i = 0; lh_questions[i] != NULL; i++) {
    const lh_question *q = lh_questions[i];
    if (q->help != NULL)
      add_options(&(cli_option){KEY_QUESTION + i, q->name, q->argument, q->help}, 1);
  }
  add_options(last_options, sizeof last_options / sizeof *last_options);
}

static uint32_t one_type(const char *name, size_t length) {
  for (lh_type type = LH_TYPE_STRING; type < LH_TYPE_COUNT; type++) {
    const char *known = lh_type_name(type);
    if (strlen(known) == length && memcmp(known, name, length) == 0) return 1u << type;
  }
  return 0;
}

static uint32_t type_mask(const cli *c, const char *list) {
  uint32_t mask = 0;
  for (const char *name = list; name != NULL;) {
    const char *comma = strchr(name, ',');
    size_t length = comma != NULL ? (size_t)(comma - name) : strlen(name);
    uint32_t bit = one_type(name, length);
    if (bit == 0)
      cli_usage_error(c,
                      "no type '%.*s': there are table, string, closure, upvalue, proto, "
                      "userdata and thread",
                      (int)length, name);
    mask |= bit;
    name = comma != NULL ? comma + 1 : NULL;
  }
  return mask;
}

static void choose_question(const cli *c, request *r, const lh_question *chosen) {
  if (r->question != NULL && r->question != chosen)
    cli_usage_error(c, "one report at a time: --%s or --%s", r->question->name, chosen->name);
  r->question = chosen;
  r->argument = optarg;
}

static void parse_options(cli *c, request *r, int argc, char **argv) {
  static const lh_sort orders[] = {LH_SORT_RETAINED, LH_SORT_SHALLOW, LH_SORT_COUNT};
  static const unsigned tables[] = {BY_CLASS, BY_OBJECT, BY_EPOCH};
  int key;
  while ((key = cli_next_option(c, argc, argv)) != -1) {
    switch (key) {
      case 'n':
        r->query.limit = cli_number_argument(c, "--top");
        r->limit_given = true;
        break;
      case KEY_SORT:
        r->query.sort = orders[cli_word_argument(c, "--sort", "retained|shallow|count")];
        r->sort_given = true;
        break;
      case KEY_BY: r->by |= tables[cli_word_argument(c, "--by", "class|object|epoch")]; break;
      case KEY_TYPE: r->query.type_mask |= type_mask(c, optarg); break;
      case KEY_GARBAGE: r->query.garbage = true; break;
      case KEY_DEPTH:
        r->depth = cli_number_argument(c, "--depth");
        r->depth_given = true;
        break;
      default: choose_question(c, r, lh_questions[key - KEY_QUESTION]); break;
    }
  }
}

static void parse(cli *c, request *r, int argc, char **argv) {
  *r = (request){.query = {.sort = LH_SORT_RETAINED, .limit = 20}};
  parse_options(c, r, argc, argv);
  if (r->by == BY_EPOCH && r->sort_given)
    cli_usage_error(c, "--by epoch is in the order of time: leave --sort out");
  if (r->question != NULL &&
      (r->by != 0 || r->sort_given || r->query.type_mask != 0 || r->query.garbage))
    cli_usage_error(c, "--%s goes with no --by, --sort, --type or --garbage", r->question->name);
  const char *name = r->question != NULL ? r->question->name : "";
  if (r->depth_given && strcmp(name, "under") != 0 && strcmp(name, "threads") != 0)
    cli_usage_error(c, "--depth goes with --under or --threads");
  if (optind == argc) cli_usage_error(c, "which snapshot? Name the file");
  if (optind + 1 < argc)
    cli_usage_error(c, "one snapshot at a time: '%s' is too many", argv[optind + 1]);
  r->file = argv[optind];
}

/* }=================================================================================== */

/* {=== What is shown ================================================================== */

static unsigned tables_of(const request *r) {
  return r->by != 0 ? r->by : BY_CLASS | BY_OBJECT;
}

/* Upvalues and prototypes are innards of functions: as single objects they only repeat what their
** function or content says, so they are shown when asked for by --type. */
static lh_top_query objects_query(const request *r) {
  lh_top_query query = r->query;
  if (query.type_mask == 0) query.type_mask = ~(1u << LH_TYPE_UPVALUE | 1u << LH_TYPE_PROTO);
  return query;
}

static bool is_shown(const lh_snapshot *snapshot, const lh_top_query *query, lh_id id) {
  return !lh_is_own(snapshot, id) && lh_is_reachable(snapshot, id) != query->garbage &&
         (query->type_mask == 0 || (query->type_mask >> lh_type_of(snapshot, id) & 1) != 0);
}

static uint64_t count_shown(const lh_snapshot *snapshot, const lh_top_query *query) {
  uint64_t n = 0;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) n += is_shown(snapshot, query, id);
  return n;
}

static const char *order_name(const request *r, bool of_objects) {
  if (r->query.sort == LH_SORT_COUNT && !of_objects) return "count";
  return r->query.sort == LH_SORT_SHALLOW || r->query.garbage ? "shallow size" : "retained size";
}

/* All classes, to know how many there are; with JSON, all are shown unless -n says otherwise. */
static size_t rank_classes(cli *c, lh_snapshot *snapshot, const request *r, lh_class_row **rows,
                           size_t *n_shown) {
  lh_top_query query = r->query;
  lh_error error;
  size_t n;
  query.limit = 0;
  cli_check(c, lh_top_classes(snapshot, &query, rows, &n, &error), NULL, &error);
  *n_shown = r->query.limit == 0 || (c->json && !r->limit_given) || n < r->query.limit
                 ? n
                 : r->query.limit;
  return n;
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

static void ledger_line(const char *what, const char *objects, const char *size, const char *note) {
  printf("  %-23s %12s %14s%s%s\n", what, objects, size, *note != '\0' ? "  " : "", note);
}

static void print_ledger(cli *c, const lh_snapshot *snapshot) {
  const lh_info *info = lh_snapshot_info(snapshot);
  char *program = cli_escape(info->program), *name = cli_escape(info->name);
  char *release = cli_escape(info->lua_release);
  int64_t missing = info->unaccounted_bytes;
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  printf("%s%s%s\n", cli_style_on(c, CLI_BOLD), program, cli_style_off(c));
  printf("Lua %s, process %llu, snapshot %s at %s\n\n", release,
         (unsigned long long)info->process_id, name, cli_time(c, info->time_ns));
  ledger_line("objects", cli_count(c, info->objects), cli_size(c, info->object_bytes), "");
  ledger_line("  reachable", cli_count(c, reach.reachable_objects),
              cli_size(c, reach.reachable_bytes), "");
  ledger_line("  garbage", cli_count(c, reach.garbage_objects), cli_size(c, reach.garbage_bytes),
              reach.garbage_objects > 0 ? "waits for the collector" : "");
  ledger_line("string table", "", cli_size(c, info->string_table_bytes), "");
  ledger_line(
      "unaccounted", "",
      missing < 0 ? cli_size_change(c, (uint64_t)-missing, 0) : cli_size(c, (uint64_t)missing),
      missing != 0 ? "buffers in use by C code" : "");
  ledger_line("collectgarbage(\"count\")", "", cli_size(c, info->gc_bytes),
              missing == 0 ? "all of it, to the byte" : "");
  lh_free(program);
  lh_free(name);
  lh_free(release);
}

static void print_heading(const cli *c, const char *what, const char *order) {
  printf("%s%s by %s%s\n", cli_style_on(c, CLI_BOLD), what, order, cli_style_off(c));
}

/* Garbage retains nothing and nothing holds it, so the columns for that are left out. */
static void print_classes(cli *c, lh_snapshot *snapshot, const request *r, uint64_t whole_bytes) {
  static const cli_column columns[] = {{"retained", CLI_RIGHT}, {"share", CLI_RIGHT},
                                       {"shallow", CLI_RIGHT},  {"objects", CLI_RIGHT},
                                       {"type", CLI_LEFT},      {"class", CLI_WRAP}};
  size_t hidden = r->query.garbage ? 1 : 0, n_shown, n;
  cli_table *table = cli_table_new(c, columns + hidden, 6 - hidden);
  lh_class_row *rows;
  n = rank_classes(c, snapshot, r, &rows, &n_shown);
  print_heading(c, r->query.garbage ? "Classes of garbage" : "Classes", order_name(r, false));
  for (size_t i = 0; i < n_shown; i++) {
    const lh_class *class = lh_class_at(snapshot, rows[i].class_index);
    uint64_t bytes = r->query.garbage ? rows[i].shallow_bytes : rows[i].retained_bytes;
    const char *cells[] = {cli_size(c, bytes),
                           cli_share(c, bytes, whole_bytes),
                           cli_size(c, rows[i].shallow_bytes),
                           cli_count(c, rows[i].objects),
                           lh_type_name(class->type),
                           class->name};
    cli_table_row(table, cells + hidden, CLI_PLAIN);
  }
  cli_table_print(table);
  cli_print_hidden(c, n - n_shown, "class", "classes");
  lh_free(rows);
}

static void object_row(cli *c, lh_snapshot *snapshot, const request *r, lh_id id,
                       uint64_t whole_bytes, cli_table *table) {
  bool garbage = r->query.garbage;
  char *what = cli_what(snapshot, id);
  char *path = garbage ? NULL : cli_held_by(c, snapshot, id);
  uint64_t shallow = lh_shallow_bytes(snapshot, id), retained = lh_retained_bytes(snapshot, id);
  const char *cells[] = {cli_size(c, retained),
                         cli_share(c, garbage ? shallow : retained, whole_bytes),
                         cli_size(c, shallow),
                         cli_address(c, snapshot, id),
                         what,
                         path};
  cli_table_row(table, cells + (garbage ? 1 : 0), CLI_PLAIN);
  free(what);
  lh_free(path);
}

/* The objects to show: without next elements when ranked by what they retain, unless all are asked
** for; *n_left_out says how many of those ranked before the last. Ten million are ranked in some
** seconds. */
static size_t rank_objects(cli *c, lh_snapshot *snapshot, const request *r, lh_id **ids,
                           size_t *n_left_out) {
  lh_top_query query = objects_query(r);
  bool folds = query.sort != LH_SORT_SHALLOW && !query.garbage && query.limit != 0;
  size_t n, n_kept = 0, i;
  lh_error error;
  *n_left_out = 0;
  cli_check(c, lh_top_objects(snapshot, &query, ids, &n, &error), NULL, &error);
  for (i = 0; folds && i < n; i++) *n_left_out += lh_continues_list(snapshot, (*ids)[i]);
  if (*n_left_out == 0) return n;
  lh_free(*ids);
  query.limit = 0;
  cli_check(c, lh_top_objects(snapshot, &query, ids, &n, &error), NULL, &error);
  for (i = 0; i < n && n_kept < r->query.limit; i++)
    if (!lh_continues_list(snapshot, (*ids)[i])) (*ids)[n_kept++] = (*ids)[i];
  *n_left_out = i - n_kept;
  return n_kept;
}

static void print_objects(cli *c, lh_snapshot *snapshot, const request *r, uint64_t whole_bytes) {
  static const cli_column columns[] = {{"retained", CLI_RIGHT}, {"share", CLI_RIGHT},
                                       {"shallow", CLI_RIGHT},  {"address", CLI_LEFT},
                                       {"class", CLI_WRAP},     {"path", CLI_WRAP}};
  bool garbage = r->query.garbage;
  cli_table *table = cli_table_new(c, columns + (garbage ? 1 : 0), garbage ? 4 : 6);
  lh_id *ids;
  size_t n_left_out, n = rank_objects(c, snapshot, r, &ids, &n_left_out);
  print_heading(c, garbage ? "Garbage" : "Objects", order_name(r, true));
  for (size_t i = 0; i < n; i++) object_row(c, snapshot, r, ids[i], whole_bytes, table);
  cli_table_print(table);
  if (n_left_out > 0)
    printf("%s%s of lists left out, whose first is shown%s\n", cli_style_on(c, CLI_FAINT),
           cli_count_of(c, n_left_out, "element", "elements"), cli_style_off(c));
  lh_top_query query = objects_query(r);
  cli_print_hidden(c, count_shown(snapshot, &query) - n - n_left_out, "object", "objects");
  lh_free(ids);
}

static void print_text(cli *c, lh_snapshot *snapshot, const request *r) {
  if (r->question != NULL) {
    print_answer(c, snapshot, r, r->question);
    return;
  }
  uint64_t whole_bytes;
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  whole_bytes = r->query.garbage ? reach.garbage_bytes : reach.reachable_bytes;
  if (r->by == 0) {
    print_ledger(c, snapshot);
    putchar('\n');
  }
  unsigned by = tables_of(r);
  if (by & BY_CLASS) print_classes(c, snapshot, r, whole_bytes);
  if ((by & BY_CLASS) && (by & BY_OBJECT)) putchar('\n');
  if (by & BY_OBJECT) print_objects(c, snapshot, r, whole_bytes);
  if ((by & BY_EPOCH) && by != BY_EPOCH) putchar('\n');
  if (by & BY_EPOCH) print_answer(c, snapshot, r, lh_find_question("epochs"));
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static void json_snapshot(cli_json *w, const lh_snapshot *snapshot) {
  const lh_info *info = lh_snapshot_info(snapshot);
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  cli_json_open(w, "snapshot", '{');
  cli_json_value(w, "program", cli_json_text(info->program));
  cli_json_value(w, "name", cli_json_text(info->name));
  cli_json_value(w, "lua_release", cli_json_text(info->lua_release));
  cli_json_value(w, "process_id", cli_json_size(info->process_id));
  cli_json_value(w, "time_ns", cli_json_size(info->time_ns));
  cli_json_value(w, "file_bytes", cli_json_size(info->file_bytes));
  cli_json_value(w, "objects", cli_json_size(info->objects));
  cli_json_value(w, "bytes", cli_json_size(info->object_bytes));
  cli_json_value(w, "gc_bytes", cli_json_size(info->gc_bytes));
  cli_json_value(w, "unaccounted_bytes", json_integer(info->unaccounted_bytes));
  cli_json_value(w, "string_table_bytes", cli_json_size(info->string_table_bytes));
  cli_json_value(w, "reachable_objects", cli_json_size(reach.reachable_objects));
  cli_json_value(w, "reachable_bytes", cli_json_size(reach.reachable_bytes));
  cli_json_value(w, "garbage_objects", cli_json_size(reach.garbage_objects));
  cli_json_value(w, "garbage_bytes", cli_json_size(reach.garbage_bytes));
  cli_json_close(w, '}');
}

static void json_classes(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  lh_class_row *rows;
  size_t n_shown, n = rank_classes(c, snapshot, r, &rows, &n_shown);
  cli_json_value(w, "total_classes", cli_json_size(n));
  cli_json_open(w, "classes", '[');
  for (size_t i = 0; i < n_shown; i++) {
    const lh_class *class = lh_class_at(snapshot, rows[i].class_index);
    cli_json_value(w, NULL,
                   json_pack("{ss ss sI sI sI}", "class", class->name, "type",
                             lh_type_name(class->type), "objects", (json_int_t)rows[i].objects,
                             "shallow_bytes", (json_int_t)rows[i].shallow_bytes, "retained_bytes",
                             (json_int_t)rows[i].retained_bytes));
  }
  cli_json_close(w, ']');
  lh_free(rows);
}

static json_t *json_object_row(cli *c, lh_snapshot *snapshot, const request *r, lh_id id) {
  char *held_by = r->query.garbage ? NULL : cli_held_by(c, snapshot, id);
  json_t *row = cli_must(
      json_pack("{ss ss ss sI sI so ss?}", "address", cli_address(c, snapshot, id), "class",
                lh_class_name_of(snapshot, id), "type", lh_type_name(lh_type_of(snapshot, id)),
                "shallow_bytes", (json_int_t)lh_shallow_bytes(snapshot, id), "retained_bytes",
                (json_int_t)lh_retained_bytes(snapshot, id), "distance",
                r->query.garbage ? json_null() : json_integer(lh_distance(snapshot, id)), "held_by",
                held_by));
  lh_free(held_by);
  return row;
}

static void json_objects(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  lh_top_query query = objects_query(r);
  lh_id *ids;
  size_t n;
  lh_error error;
  cli_check(c, lh_top_objects(snapshot, &query, &ids, &n, &error), NULL, &error);
  cli_json_value(w, "total_objects", cli_json_size(count_shown(snapshot, &query)));
  cli_json_open(w, "objects", '[');
  for (size_t i = 0; i < n; i++) cli_json_value(w, NULL, json_object_row(c, snapshot, r, ids[i]));
  cli_json_close(w, ']');
  lh_free(ids);
}

static void print_json(cli *c, lh_snapshot *snapshot, const request *r) {
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  json_snapshot(&w, snapshot);
  if (r->question != NULL) print_answer_json(c, &w, snapshot, r, r->question);
  unsigned by = r->question != NULL ? 0 : tables_of(r);
  if (by & BY_CLASS) json_classes(c, &w, snapshot, r);
  if (by & BY_OBJECT) json_objects(c, &w, snapshot, r);
  if (by & BY_EPOCH) print_answer_json(c, &w, snapshot, r, lh_find_question("epochs"));
  cli_json_close(&w, '}');
}

/* }=================================================================================== */

int main(int argc, char **argv) {
  cli c;
  request r;
  lh_snapshot *snapshot;
  make_options();
  cli_begin(&c, &tool);
  parse(&c, &r, argc, argv);
  snapshot = cli_open_analysed(&c, r.file);
  if (c.json)
    print_json(&c, snapshot, &r);
  else
    print_text(&c, snapshot, &r);
  lh_close(snapshot);
  return cli_finish(&c, CLI_DONE);
}
