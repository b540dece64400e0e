/*
** heapprof - what a tracked program allocated: who allocates most, what of it lives, and how soon
** the rest died. Here are its options; what it can tell is in cli/heapprof/, a mode in each file.
*/
#include <string.h>

#include "heapprof/heapprof.h"

const mode *const modes[] = {&live_mode,    &peak_mode,   &leaks_mode,          &calls_mode,
                             &folded_mode,  &advice_mode, &diff_mode,           &blueprint_mode,
                             &memprof_mode, &lmprof_mode, &luamemprofiler_mode, &live_of_mode,
                             NULL};

enum { KEY_BY = CLI_FIRST_KEY, KEY_SINCE, KEY_UNTIL, KEY_EVERY, KEY_LEAK_ONLY, KEY_ONCE, KEY_MODE };

/* {=== Options ======================================================================== */

static const cli_option first_options[] = {
    {'n', "top", "N", "rows in each table (default 20; 0: all)"},
    {KEY_BY, "by", "WHAT=site|function|type|file|stack",
     "rows by site (default), function, type, "
     "file or stack"}};
static const cli_option last_options[] = {
    {KEY_SINCE, "since", "WHEN", "what was allocated from then on: 10s, 2m, 25%, 100MB"},
    {KEY_UNTIL, "until", "WHEN", "and before then; bytes are of all that was allocated"},
    {KEY_LEAK_ONLY, "leak-only", NULL, "--memprof: only what is held at the end"},
    {KEY_EVERY, "every", "SECONDS", "--memprof: what is held each so many; --live-of: a page"},
    {KEY_ONCE, "once", NULL, "--live-of: one page"},
    CLI_COMMON_OPTIONS};

static const char *const removed[] = {"--plot", "heapview PROFILE draws memory over time",
                                      "--format",
                                      "it went with --plot, and heapview PROFILE draws that", NULL};

static cli_option options[CLI_MAX_OPTIONS];

static cli_tool tool = {
    "heapprof",
    "Shows what a tracked Lua program allocated, where, and what became of it.",
    {"[options] PROFILE", "[options] --diff OLD NEW", "[options] --live-of PID"},
    options,
    0,
    "PROFILE is a file of heap.track{file = \"run.prof\"}.\n"
    "Example: heapprof --since 10s --leaks run.prof\n"
    "Exit status: 0 done, 1 no answer of --live-of, 2 wrong usage or failure.\n"};

static void add_options(const cli_option *more, size_t n) {
  memcpy(&options[tool.n_options], more, n * sizeof *more);
  tool.n_options += n;
}

/* A mode is an option, so new ones need no line here but in the list above. */
static void make_options(void) {
  add_options(first_options, sizeof first_options / sizeof *first_options);
  for (int i = 0; modes[i] != NULL; i++)
    add_options(&(cli_option){KEY_MODE + i, modes[i]->name, modes[i]->argument, modes[i]->help}, 1);
  add_options(last_options, sizeof last_options / sizeof *last_options);
}

/* "10s", "500ms", "2m", "1h", "25%", "100MB". */
static lh_moment moment_argument(const cli *c, const char *option) {
  static const struct unit {
    const char *name;
    lh_moment_unit unit;
    double factor;
  } units[] = {{"ms", LH_MOMENT_TIME, 1e6},      {"s", LH_MOMENT_TIME, 1e9},
               {"m", LH_MOMENT_TIME, 60e9},      {"min", LH_MOMENT_TIME, 60e9},
               {"h", LH_MOMENT_TIME, 3600e9},    {"%", LH_MOMENT_SHARE, LH_WHOLE_DURATION / 100},
               {"B", LH_MOMENT_BYTES, 1},        {"KB", LH_MOMENT_BYTES, 1 << 10},
               {"MB", LH_MOMENT_BYTES, 1 << 20}, {"GB", LH_MOMENT_BYTES, 1 << 30}};
  size_t digits = strspn(optarg, "0123456789.");
  char *end;
  double n = strtod(optarg, &end);
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (digits > 0 && end == optarg + digits && strcmp(end, units[i].name) == 0 &&
        n * units[i].factor < 9e18)
      return (lh_moment){units[i].unit, (uint64_t)(n * units[i].factor)};
  cli_usage_error(c, "%s needs a moment such as 500ms, 10s, 2m, 25%% or 100MB, not '%s'", option,
                  optarg);
}

static void choose_mode(const cli *c, request *r, const mode *chosen) {
  if (r->mode != NULL && r->mode != chosen)
    cli_usage_error(c, "one report at a time: --%s or --%s", r->mode->name, chosen->name);
  r->mode = chosen;
  r->argument = optarg;
}

/* From a tenth of a second to an hour. */
static uint64_t seconds_argument(const cli *c, const char *option) {
  char *end;
  double n = strtod(optarg, &end);
  if (optarg[strspn(optarg, "0123456789.")] != '\0' || *end != '\0' || n < 0.1 || n > 3600)
    cli_usage_error(c, "%s needs seconds from 0.1 to 3600, not '%s'", option, optarg);
  return (uint64_t)(n * 1e9);
}

/* Of the options that only some modes take. False: it is none of them. */
static bool take_special(cli *c, request *r, int key) {
  switch (key) {
    case KEY_EVERY:
      r->every_ns = seconds_argument(c, "--every");
      r->taken |= TAKES_EVERY;
      return true;
    case KEY_LEAK_ONLY:
      r->leak_only = true;
      r->taken |= TAKES_LEAK_ONLY;
      return true;
    case KEY_ONCE:
      r->once = true;
      r->taken |= TAKES_ONCE;
      return true;
    default: return false;
  }
}

static void parse_options(cli *c, request *r, int argc, char **argv) {
  int key;
  while ((key = cli_next_option(c, argc, argv)) != -1) {
    switch (key) {
      case 'n': cli_take_top(c, &r->asked); break;
      case KEY_BY:
        r->asked.by = (lh_usage_by)cli_word_argument(c, KEY_BY);
        r->has_by = true;
        break;
      case KEY_SINCE:
        r->since = optarg;
        r->query.since = moment_argument(c, "--since");
        break;
      case KEY_UNTIL: r->query.until = moment_argument(c, "--until"); break;
      default:
        if (!take_special(c, r, key)) choose_mode(c, r, modes[key - KEY_MODE]);
        break;
    }
  }
}

static void check_special(const cli *c, const request *r, const mode *m) {
  static const struct {
    unsigned takes;
    const char *name, *with;
  } all[] = {{TAKES_EVERY, "every", "--memprof or --live-of"},
             {TAKES_LEAK_ONLY, "leak-only", "--memprof"},
             {TAKES_ONCE, "once", "--live-of"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if ((r->taken & ~m->takes & all[i].takes) != 0)
      cli_usage_error(c, "--%s goes with %s only", all[i].name, all[i].with);
}

/* What does not go together. */
static void check(const cli *c, const request *r, const mode *m) {
  bool has_moments = r->query.since.unit != LH_MOMENT_OPEN || r->query.until.unit != LH_MOMENT_OPEN;
  if (has_moments && !m->takes_moments)
    cli_usage_error(c, "--%s goes with no --since or --until", m->name);
  if (r->has_by && !m->takes_by) cli_usage_error(c, "--%s goes with no --by", m->name);
  if (c->json && m->has_no_json) cli_usage_error(c, "it is either --%s or --json", m->name);
  check_special(c, r, m);
  if (r->n_files < m->n_files)
    cli_usage_error(
        c, m->n_files > 1 ? "it takes the names of two profiles" : "which profile? Name the file");
  if (r->n_files > m->n_files)
    cli_usage_error(
        c, "%s: '%s' is too many",
        m->n_files > 1 ? "two profiles at a time" : "one profile at a time, or --diff for two",
        r->files[m->n_files]);
}

static void parse(cli *c, request *r, int argc, char **argv) {
  *r = (request){.asked = {.limit = 20}};
  parse_options(c, r, argc, argv);
  r->files = argv + optind;
  r->n_files = (size_t)(argc - optind);
  if (r->mode == NULL) r->mode = &overview_mode;
  r->asked.order = r->mode->order;
  r->query.peak = r->mode->peak;
  r->query.to_the_end = r->mode->to_the_end;
  check(c, r, r->mode);
}

/* }=================================================================================== */

int main(int argc, char **argv) {
  cli c;
  request r;
  make_options();
  cli_begin(&c, &tool);
  c.reads_profiles = true;
  c.removed = removed;
  parse(&c, &r, argc, argv);
  return cli_finish(&c, run_mode(&c, &r));
}
