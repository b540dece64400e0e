/*
** heaptop - shows the size of a heap and what is big in it: a summary, leaks, classes, objects,
** with their retained sizes; or the answer to one question of the library (rooms/report.h). Ten
** million objects take some seconds, the time of their analysis.
*/
#include "cli.h"

/* Bits in the order of the words of --by. */
enum { BY_CLASS = 1, BY_OBJECT = 2, BY_EPOCH = 4, BY_SITE = 8 };

typedef struct request {
  const char *file;
  lh_request asked;            /* name: an OBJECT or a class */
  unsigned by;                 /* set of tables; 0: summary, classes, objects */
  const lh_question *question; /* NULL: the tables */
} request;

static void take_types(cli *c, request *r, const cli_option *option) {
  const char *wrong = lh_read_types(optarg, &r->asked.type_mask);
  (void)option;
  if (wrong != NULL)
    cli_usage_error(c,
                    "no type '%.*s': there are table, string, closure, upvalue, proto, "
                    "userdata and thread",
                    (int)strcspn(wrong, ","), wrong);
}

static void take_table(cli *c, request *r, const cli_option *option) {
  r->by |= 1u << cli_word_argument(c, option);
}

static void take_question(cli *c, request *r, const cli_option *option) {
  const lh_question *chosen = lh_questions[option->number];
  if (r->question != NULL && r->question != chosen)
    cli_usage_error(c, "one report at a time: --%s or --%s", r->question->name, chosen->name);
  r->question = chosen;
  r->asked.name = optarg;
}

static const cli_option options[] = {
    CLI_TOP_OPTION("rows in each table (default 20; 0: all)"),
    {0, "sort", "ORDER=retained|shallow|count", "retained (default), shallow or count",
     CLI_WORD(asked.sort)},
    {0, "by", "WHAT=class|object|epoch|site",
     "one table: class, object, epoch (when allocated), site (where)", CLI_TAKEN(take_table)},
    {0, "type", "TYPE,...=table|string|closure|upvalue|proto|userdata|thread",
     "table, string, closure, upvalue, proto, userdata, thread", CLI_TAKEN(take_types)},
    {0, "garbage", NULL, "of what nothing refers to any more, instead", CLI_FLAG(asked.garbage)},
    CLI_QUESTIONS(take_question),
    {0, "depth", "N", "levels of --under (default 4), frames of --threads (8)",
     CLI_NUMBER(asked.depth)},
    CLI_COMMON_OPTIONS};

static const cli_tool tool = {
    "heaptop",
    "Shows what a snapshot of a Lua heap holds and what in it is big.",
    {"[options] SNAPSHOT"},
    options,
    "shallow: the object's own bytes. retained: what would be freed if it went.\n"
    "Example: heaptop -n 5 --type table c\n"
    "Exit status: 0 done, 2 wrong usage or failure.\n"};

static void parse_heaptop(cli *c, request *r, int argc, char **argv) {
  *r = (request){.asked = {.id = LH_ROOT, .matches = 1, .limit = 20}};
  cli_parse(c, r, argc, argv);
  r->asked.has_depth = cli_is_given(c, "depth");
  bool sorts = cli_is_given(c, "sort");
  if (r->by == BY_EPOCH && sorts)
    cli_usage_error(c, "--by epoch is in the order of time: leave --sort out");
  if (r->question != NULL && (r->by != 0 || sorts || r->asked.type_mask != 0 || r->asked.garbage))
    cli_usage_error(c, "--%s goes with no --by, --sort, --type or --garbage", r->question->name);
  const char *name = r->question != NULL ? r->question->name : "";
  if (r->asked.has_depth && strcmp(name, "under") != 0 && strcmp(name, "threads") != 0)
    cli_usage_error(c, "--depth goes with --under or --threads");
  if (optind == argc) cli_usage_error(c, "which snapshot? Name the file");
  if (optind + 1 < argc)
    cli_usage_error(c, "one snapshot at a time: '%s' is too many", argv[optind + 1]);
  r->file = argv[optind];
}

static void find_object(cli *c, lh_snapshot *snapshot, const request *r, lh_request *asked) {
  lh_found found;
  lh_error error;
  if (strcmp(asked->name, "root") == 0) return;
  cli_check(c, lh_find(snapshot, asked->name, &found, &error), r->file, &error);
  if (!lh_is_reachable(snapshot, found.id))
    cli_die(c, NULL, "nothing keeps %s alive: it is garbage, and keeps nothing alive", asked->name);
  asked->id = found.id;
  asked->matches = found.matches;
}

static void answer_heaptop(cli *c, lh_json *w, lh_snapshot *snapshot, const request *r,
                           const char *name) {
  lh_request asked = r->asked;
  asked.whole_lists = c->json;
  if (strcmp(name, "under") == 0) find_object(c, snapshot, r, &asked);
  if (c->json && !asked.has_limit && strcmp(name, "objects") != 0) asked.limit = 0;
  (void)cli_answer(c, w, name, snapshot, r->file, &asked);
}

static void answer_tables(cli *c, lh_json *w, lh_snapshot *snapshot, const request *r) {
  static const struct by {
    unsigned by;
    const char *name;
  } tables[] = {
      {BY_CLASS, "classes"}, {BY_OBJECT, "objects"}, {BY_EPOCH, "epochs"}, {BY_SITE, "sites"}};
  unsigned by = r->by != 0 ? r->by : BY_CLASS | BY_OBJECT;
  bool follows = !c->json && r->by == 0;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if ((by & tables[i].by) == 0) continue;
    if (follows) putchar('\n');
    answer_heaptop(c, w, snapshot, r, tables[i].name);
    follows = !c->json;
  }
}

static void answer_leaks(cli *c, lh_json *w, lh_snapshot *snapshot, const request *r) {
  if (r->asked.type_mask != 0 || r->asked.garbage) return;
  answer_heaptop(c, w, snapshot, r, "leaks");
  lh_drop_lists(snapshot); /* the tables need room of their own */
  if (!c->json) putchar('\n');
}

static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  bool all = r->question == NULL && r->by == 0;
  lh_json w = {0};
  if (all && !c->json) answer_leaks(c, &w, snapshot, r);
  if (c->json) cli_json_open(&w, NULL, '{');
  if (c->json) cli_json_open(&w, "snapshot", '{');
  if (c->json || all) answer_heaptop(c, &w, snapshot, r, "info");
  if (c->json) cli_json_close(&w, '}');
  if (all && c->json) answer_leaks(c, &w, snapshot, r);
  if (r->question != NULL)
    answer_heaptop(c, &w, snapshot, r, r->question->name);
  else
    answer_tables(c, &w, snapshot, r);
  if (c->json) cli_json_close(&w, '}');
}

int main(int argc, char **argv) {
  cli c;
  request r;
  lh_snapshot *snapshot;
  cli_begin(&c, &tool);
  parse_heaptop(&c, &r, argc, argv);
  snapshot = cli_open_analysed(&c, r.file);
  print(&c, snapshot, &r);
  lh_close(snapshot);
  return cli_finish(&c, CLI_DONE);
}
