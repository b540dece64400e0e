/*
** heapprof - shows who allocated in a tracked program, what is alive, and how soon the rest died.
*/
#include "heapprof/heapprof.h"

/* Reads "10s", "500ms", "2m", "1h", "25%", "100MB". */
static lh_moment moment_argument(const cli *c, const cli_option *option) {
  static const lh_amount_unit units[] = {
      {"ms", 1e6},     {"s", 1e9},      {"m", 60e9},
      {"min", 60e9},   {"h", 3600e9},   {"%", LH_WHOLE_DURATION / 100},
      {"B", 1},        {"KB", 1 << 10}, {"MB", 1 << 20},
      {"GB", 1 << 30}, {NULL, 0}};
  double n;
  const lh_amount_unit *unit = lh_read_amount(optarg, units, &n);
  if (unit == NULL || n >= 9e18)
    cli_usage_error(c, "--%s needs a moment such as 500ms, 10s, 2m, 25%% or 100MB, not '%s'",
                    option->name, optarg);
  bool is_share = *unit->name == '%', is_bytes = strchr(unit->name, 'B') != NULL;
  return (lh_moment){is_share   ? LH_MOMENT_SHARE
                     : is_bytes ? LH_MOMENT_BYTES
                                : LH_MOMENT_TIME,
                     (uint64_t)n};
}

static void take_since(cli *c, request *r, const cli_option *option) {
  r->since = optarg;
  r->query.since = moment_argument(c, option);
}

static void take_until(cli *c, request *r, const cli_option *option) {
  r->query.until = moment_argument(c, option);
}

static void take_every(cli *c, request *r, const cli_option *option) {
  static const lh_amount_unit seconds[] = {{"", 1}, {NULL, 0}};
  double n;
  (void)option;
  if (lh_read_amount(optarg, seconds, &n) == NULL || n < 0.1 || n > 3600)
    cli_usage_error(c, "--every needs seconds from 0.1 to 3600, not '%s'", optarg);
  r->every_ns = (uint64_t)(n * 1e9);
}

static void take_mode(cli *c, request *r, const cli_option *option) {
  const mode *chosen = &modes[option->number];
  if (r->mode != NULL && r->mode != chosen)
    cli_usage_error(c, "one report at a time: --%s or --%s", r->mode->name, chosen->name);
  r->mode = chosen;
  r->argument = optarg;
}

/* Each mode becomes an option, so a new mode needs no line here. */
static void add_modes(cli *c, const cli_option *row) {
  for (size_t i = 0; modes[i].name != NULL; i++) {
    const cli_option option = {0,         modes[i].name,     modes[i].argument, modes[i].help,
                               row->kind, .take = row->take, .number = i};
    cli_add_option(c, &option);
  }
}

static const cli_option options[] = {
    CLI_TOP_OPTION("rows in each table (default 20; 0: all)"),
    {0, "by", "WHAT=site|function|type|file|stack",
     "rows by site (default), function, type, file or stack", CLI_WORD(asked.by)},
    {.add = add_modes, CLI_TAKEN(take_mode)},
    {0, "since", "WHEN", "what was allocated from then on: 10s, 2m, 25%, 100MB",
     CLI_TAKEN(take_since)},
    {0, "until", "WHEN", "and before then; bytes are of all that was allocated",
     CLI_TAKEN(take_until)},
    {0, "leak-only", NULL, "--memprof: only what is held at the end", CLI_FLAG(leak_only)},
    {0, "every", "SECONDS", "--memprof: what is held each so many; --live-of: a page",
     CLI_TAKEN(take_every)},
    {0, "once", NULL, "--live-of: one page", CLI_FLAG(once)},
    CLI_COMMON_OPTIONS};

static const char *const removed[] = {"--plot", "heapview PROFILE draws memory over time",
                                      "--format",
                                      "it went with --plot, and heapview PROFILE draws that", NULL};

static const cli_tool tool = {
    "heapprof",
    "Shows what a tracked Lua program allocated, where, and what became of it.",
    {"[options] PROFILE", "[options] --diff OLD NEW", "[options] --live-of PID"},
    options,
    "PROFILE is a file of heap.track{file = \"run.prof\"}.\n"
    "Example: heapprof --since 10s --leaks run.prof\n"
    "Exit status: 0 done, 1 no answer of --live-of, 2 wrong usage or failure.\n"};

static void check_heapprof(const cli *c, const request *r, const mode *m) {
  static const struct {
    unsigned takes;
    const char *name, *with;
  } all[] = {{TAKES_EVERY, "every", "--memprof or --live-of"},
             {TAKES_LEAK_ONLY, "leak-only", "--memprof"},
             {TAKES_ONCE, "once", "--live-of"}};
  bool has_moments = cli_is_given(c, "since") || cli_is_given(c, "until");
  if (has_moments && !(m->takes & TAKES_MOMENTS))
    cli_usage_error(c, "--%s goes with no --since or --until", m->name);
  if (cli_is_given(c, "by") && !(m->takes & TAKES_BY))
    cli_usage_error(c, "--%s goes with no --by", m->name);
  if (c->json && !(m->takes & TAKES_JSON))
    cli_usage_error(c, "it is either --%s or --json", m->name);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!(m->takes & all[i].takes) && cli_is_given(c, all[i].name))
      cli_usage_error(c, "--%s goes with %s only", all[i].name, all[i].with);
  if (r->n_files < m->n_files)
    cli_usage_error(
        c, m->n_files > 1 ? "it takes the names of two profiles" : "which profile? Name the file");
  if (r->n_files > m->n_files)
    cli_usage_error(
        c, "%s: '%s' is too many",
        m->n_files > 1 ? "two profiles at a time" : "one profile at a time, or --diff for two",
        r->files[m->n_files]);
}

static void parse_heapprof(cli *c, request *r, int argc, char **argv) {
  *r = (request){.asked = {.limit = 20}};
  cli_parse(c, r, argc, argv);
  r->files = argv + optind;
  r->n_files = (size_t)(argc - optind);
  if (r->mode == NULL) r->mode = &overview_mode;
  r->asked.order = r->mode->order;
  r->query.peak = r->mode->peak;
  r->query.to_the_end = r->mode->to_the_end;
  check_heapprof(c, r, r->mode);
}

int main(int argc, char **argv) {
  cli c;
  request r;
  cli_begin(&c, &tool);
  c.reads_profiles = true;
  c.removed = removed;
  parse_heapprof(&c, &r, argc, argv);
  return cli_finish(&c, run_mode(&c, &r));
}
