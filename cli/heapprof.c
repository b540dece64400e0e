/*
** heapprof - shows who allocated in a tracked program, what is alive, and how soon the rest died.
*/
#include "heapprof/heapprof.h"
#include "heapprof/boxes.h"

enum { SLOW_EVENTS = 2000000 };

static lh_profile *open_profile(cli *c, const char *file) {
  lh_profile *profile;
  lh_error error;
  cli_progress(c, "reading %s", file);
  cli_limit_output(file);
  int code = lh_profile_open(file, &profile, &error);
  cli_progress(c, NULL);
  cli_check(c, code, NULL, &error); /* it names the file */
  return profile;
}

static lh_usage *count_profile(cli *c, const request *r, const char *file) {
  lh_profile *profile = open_profile(c, file);
  lh_usage *usage;
  lh_error error;
  uint64_t events = lh_profile_about(profile)->n_events;
  if (events > SLOW_EVENTS)
    cli_progress(c, "%s: counting %s", file, lh_count_of(events, "event", "events").text);
  int code = lh_usage_new(&usage, profile, &r->query, &error);
  if (code == LH_OK) code = lh_usage_check_interval(usage, &error);
  cli_progress(c, NULL);
  cli_check(c, code, file, &error);
  return usage;
}

static void free_usage(lh_usage *usage) {
  lh_profile *profile = lh_usage_profile(usage);
  lh_usage_free(usage);
  lh_profile_close(profile);
}

static void answer_profile(cli *c, lh_json *w, const request *r, const char *question,
                           const lh_usage *const *usages, size_t n) {
  lh_request asked = r->asked;
  if (c->json && !asked.has_limit) asked.limit = 0;
  asked.usages = usages;
  asked.n_usages = n;
  asked.names = (const char *const *)r->files;
  asked.n_names = r->n_files;
  (void)cli_answer(c, w, question, NULL, r->files[0], &asked);
}

static void begin_json(cli *c, lh_json *w, const request *r, const lh_usage *usage) {
  if (!c->json) return;
  cli_json_open(w, NULL, '{');
  cli_json_open(w, "profile", '{');
  answer_profile(c, w, r, "profile", &usage, 1);
  cli_json_close(w, '}');
}

static void print_profile_answer(cli *c, const request *r, const char *question,
                                 const lh_usage *usage) {
  lh_json w = {0};
  begin_json(c, &w, r, usage);
  answer_profile(c, &w, r, question, &usage, 1);
  if (c->json) cli_json_close(&w, '}');
}

enum { FIRST_ADVICE = 3 };

static void print_overview(cli *c, const request *r, const lh_usage *usage) {
  request few = *r;
  if (!few.asked.has_limit) few.asked.limit = FIRST_ADVICE;
  lh_json w = {0};
  begin_json(c, &w, r, usage);
  answer_profile(c, &w, r, "findings", &usage, 1);
  if (!c->json) {
    putchar('\n');
    answer_profile(c, &w, r, "profile", &usage, 1);
    putchar('\n');
  }
  answer_profile(c, &w, r, "allocations", &usage, 1);
  if (!c->json) putchar('\n');
  answer_profile(c, &w, &few, "advice", &usage, 1);
  if (c->json) cli_json_close(&w, '}');
}

/* Garbage that is not yet collected looks like a leak. */
static void print_unsettled(const cli *c, const request *r, const lh_usage *usage) {
  uint64_t until;
  bool any = lh_usage_total(usage)->all.live_bytes > 0;
  if (!any || !lh_usage_is_unsettled(usage, &until)) return;
  printf("\nWhat was allocated last may be garbage that no collection has freed yet");
  if (until == 0) {
    puts(", and all of this is as new as that:\na longer interval tells what leaks");
    return;
  }
  char *file = cli_shell_word(r->files[0]);
  bool by = cli_is_given(c, "by");
  printf(". Without that:\n    heapprof --leaks%s%s%s%s --until %" PRIu64 "KB %s%s\n",
         by ? " --by " : "", by ? lh_usage_by_name(r->asked.by) : "",
         r->since != NULL ? " --since " : "", r->since != NULL ? r->since : "", until >> 10,
         *file == '-' ? "-- " : "", file);
  free(file);
}

static void print_leaks(cli *c, const request *r, const lh_usage *usage) {
  print_profile_answer(c, r, "allocations", usage);
  if (!c->json) print_unsettled(c, r, usage);
}

static int print_diff(cli *c, const request *r) {
  lh_usage *usages[2];
  lh_json w = {0};
  for (size_t i = 0; i < 2; i++) usages[i] = count_profile(c, r, r->files[i]);
  if (c->json) cli_json_open(&w, NULL, '{');
  answer_profile(c, &w, r, "allocation_changes", (const lh_usage *[]){usages[0], usages[1]}, 2);
  if (c->json) cli_json_close(&w, '}');
  for (size_t i = 0; i < 2; i++) free_usage(usages[i]);
  return CLI_DONE;
}

static void print_blueprint(cli *c, const request *r, const lh_usage *usage) {
  size_t limit = r->asked.has_limit ? r->asked.limit : USUAL_BOXES;
  lh_calls_query query = {.c_functions = true};
  lh_usage_calls graph;
  lh_error error;
  cli_check(c, lh_usage_calls_find(usage, &query, &graph, &error), r->files[0], &error);
  size_t n_arrows = print_boxes(stdout, usage, &graph, limit);
  if (n_arrows > MOST_ARROWS)
    cli_die(c, NULL,
            "%s: %zu arrows are too many for a picture, which may have %d: ask for fewer functions"
            " by -n",
            r->files[0], n_arrows, MOST_ARROWS);
  lh_usage_calls_free(&graph);
}

/* One stack a line, as flamegraph.pl reads them, from the first caller to the allocating frame,
** then bytes:
**
**     @server.lua:120 in main chunk;@server.lua:88 in serve;string.rep at @fmt.lua:12 in render 160
**
** A semicolon in a name becomes a comma. */

enum { MOST_FRAMES = 200 };

static void print_site(const lh_sites *sites, lh_stack_id stack) {
  char *text = cli_must(lh_stack_text(sites, stack, 0));
  for (char *at = strchr(text, ';'); at != NULL; at = strchr(at, ';')) *at = ',';
  fputs(text, stdout);
  lh_free(text);
}

/* A deeper stack begins with dots. Recursion is already folded. */
static void print_stack(const lh_sites *sites, lh_stack_id stack, uint64_t bytes) {
  lh_stack_id frames[MOST_FRAMES];
  size_t n = 0;
  lh_stack_id at = stack;
  do {
    frames[n++] = at;
    at = at != 0 && at <= lh_n_stacks(sites) ? lh_stack_of(sites, at)->parent : 0;
  } while (at != 0 && n < MOST_FRAMES);
  if (at != 0) fputs("...;", stdout);
  while (n > 0) {
    print_site(sites, frames[--n]);
    if (n > 0) putchar(';');
  }
  printf(" %" PRIu64 "\n", bytes);
}

static void print_stacks(cli *c, const request *r, const lh_usage *usage) {
  const lh_sites *sites = lh_profile_sites(lh_usage_profile(usage));
  lh_usage_group *groups;
  lh_error error;
  size_t n;
  int code = lh_usage_groups(usage, LH_BY_STACK, LH_MOST_ALLOCATED, &groups, &n, &error);
  cli_check(c, code, r->files[0], &error);
  if (r->asked.has_limit && r->asked.limit != 0 && n > r->asked.limit) n = r->asked.limit;
  for (size_t i = 0; i < n; i++)
    if (cli_has_room()) print_stack(sites, groups[i].stack, groups[i].ordered_bytes);
  lh_free(groups);
}

enum { COUNTS = TAKES_MOMENTS | TAKES_JSON };

static const mode overview_mode = {
    NULL, NULL, NULL, 1, COUNTS | TAKES_BY, .peak = true, .print_counts = print_overview};

/* --leaks: objects of the interval have until the profile's end to be freed. */
static const mode modes[] = {
    {"live", NULL, "what lives at the end, or at --until", 1, COUNTS | TAKES_BY,
     .question = "allocations", .order = LH_MOST_LIVE},
    {"peak", NULL, "what lived when the heap was biggest", 1, COUNTS | TAKES_BY,
     .question = "allocations", .order = LH_MOST_AT_PEAK, .peak = true},
    {"leaks", NULL, "what was allocated in the interval and never freed", 1, COUNTS | TAKES_BY,
     .print_counts = print_leaks, .order = LH_MOST_LIVE, .to_the_end = true},
    {"calls", NULL, "who called whom for what was allocated", 1, COUNTS, .question = "calls"},
    {"folded", NULL, "all stacks, a line each with bytes, as for flame graphs", 1, TAKES_MOMENTS,
     .print_counts = print_stacks},
    {"advice", NULL, "what could be allocated less, and how", 1, TAKES_JSON, .question = "advice"},
    {"diff", NULL, "which sites allocate more in NEW than in OLD, which less", 2, COUNTS,
     .run = print_diff},
    {"blueprint", NULL, "Memory Blueprint: functions and calls, as DOT for Graphviz", 1,
     TAKES_MOMENTS, .print_counts = print_blueprint},
    {"memprof", NULL, "the report of LuaJIT's memprof", 1, TAKES_EVERY | TAKES_LEAK_ONLY,
     .print_profile = print_memprof},
    {"lmprof", NULL, "lmprof's flat and call-graph profile", 1, 0, .print_counts = print_lmprof},
    {"luamemprofiler", NULL, "the final report of luamemprofiler", 1, 0,
     .print_profile = print_luamemprofiler},
    {"live-of", "PID", "a running program: who allocates, and what lives", 0,
     TAKES_EVERY | TAKES_ONCE | TAKES_JSON, .run = watch_live},
    {0}};

static int run_mode(cli *c, const request *r) {
  const mode *m = r->mode;
  if (m->run != NULL) return m->run(c, r);
  if (m->print_profile != NULL) {
    lh_profile *profile = open_profile(c, r->files[0]);
    m->print_profile(c, r, profile);
    lh_profile_close(profile);
  } else {
    lh_usage *usage = count_profile(c, r, r->files[0]);
    if (m->question != NULL)
      print_profile_answer(c, r, m->question, usage);
    else
      m->print_counts(c, r, usage);
    free_usage(usage);
  }
  return CLI_DONE;
}

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
