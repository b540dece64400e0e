/*
** heapattach - takes snapshots of a running process without luaheap, or of a core file.
**
** This file has the options. cli/heapattach/ has the commands, lib/outside/ the methods.
*/
#include "heapattach/heapattach.h"

#include <errno.h>
#include <signal.h>

/* ==== Options ======================================================================== */

#define SECOND_NS 1000000000ull

static void take_every(cli *c, request *r, const cli_option *option) {
  static const double least = 0.1, most = 1e9;
  static const lh_amount_unit units[] = {{"", 1},   {"s", 1},    {"S", 1},    {"m", 60},
                                         {"M", 60}, {"h", 3600}, {"H", 3600}, {NULL, 0}};
  double n;
  (void)option;
  if (lh_read_amount(optarg, units, &n) == NULL || n < least || n > most)
    cli_usage_error(c, "--every needs a time such as 30s, 10m or 1h, and at least 0.1s, not '%s'",
                    optarg);
  r->every = optarg;
  r->every_ns = (uint64_t)(n * (double)SECOND_NS);
}

static void take_strings(cli *c, request *r, const cli_option *option) {
  r->strings = optarg;
  r->options.string_bytes = cli_size_argument(c, option);
}

static void take_mode(cli *c, request *r, const cli_option *option) {
  mode chosen = strcmp(option->name, "list") == 0 ? MODE_LIST : MODE_WATCH;
  if (r->mode != MODE_TAKE && r->mode != chosen)
    cli_usage_error(c, "it is either --list or --watch");
  r->mode = chosen;
}

static const cli_option options[] = {
    {'o', "output", "FILE", "where it goes; of all states FILE-1, FILE-2", CLI_FILE(file)},
    {0, "after", "FILE", "an older one: what is newer than that will be known", CLI_TEXT(after)},
    {0, "state", "STATE", "which one: its number in --list, its script, or all", CLI_TEXT(state)},
    {0, "list", NULL, "show the Lua states that there are, the biggest first",
     CLI_TAKEN(take_mode)},
    {0, "every", "TIME", "a snapshot each time so long has passed: 30s, 10m, 1h",
     CLI_TAKEN(take_every)},
    {0, "max", "N", "so many snapshots (default 10); with --watch so many lines", CLI_NUMBER(max),
     .least = 1},
    {'d', "directory", "DIR", "with --every: where the files go", CLI_TEXT(directory)},
    {0, "watch", NULL, "a line each second: heap, growth, objects by type", CLI_TAKEN(take_mode)},
    {0, "strings", "SIZE", "bytes of each string to keep (default 256); 0: no secrets",
     CLI_TAKEN(take_strings)},
    {0, "workers", NULL, "of all processes that it has started, too: files FILE-PID",
     CLI_FLAG(workers)},
    {0, "stop", NULL, "stop the process while it is copied: never fork it",
     CLI_FLAG(options.never_fork)},
    CLI_COMMON_OPTIONS};

static const cli_tool tool = {
    "heapattach",
    "Takes snapshots of the Lua heap of a running process, or of a core file.",
    {"[options] -o FILE PID|CORE", "[options] --after OLDER -o FILE PID",
     "[options] --every TIME [--max N] [-d DIR] PID", "[options] --watch PID",
     "[options] --list PID|CORE"},
    options,
    "The process needs nothing of luaheap. It is stopped for a moment, or not at all.\n"
    "Example: heapattach -o a 4711; heapattach --after a -o b 4711; heapdiff a b\n"
    "Exit status: 0 done, 1 there is no Lua 5.4 or 5.5, 2 wrong usage or failure.\n"};

static bool is_there(const char *process) {
  uint64_t id;
  return lh_read_number(process, &id) && id > 0 && id <= INT32_MAX &&
         (kill((pid_t)id, 0) == 0 || errno != ESRCH);
}

static _Noreturn void suggest_modes(const cli *c, const request *r) {
  request take = *r, list = {.mode = MODE_LIST, .target = r->target};
  request watch = {.mode = MODE_WATCH, .target = r->target};
  if (!subject_is_process(r->target) && access(r->target, F_OK) != 0)
    cli_usage_error(c, "there is no file '%s'; %s tells the number of a process", r->target,
                    command_for_number(r->target));
  if (subject_is_process(r->target) && !is_there(r->target))
    cli_die(c, NULL, "there is no process %s", r->target);
  char *file = unused_name("a");
  take.file = file;
  cli_say(c, "what of %s?", r->target);
  print_choice(&take, "a snapshot, into this file");
  print_choice(&list, "the Lua states that there are");
  if (subject_is_process(r->target)) print_choice(&watch, "how its heap grows, a line each second");
  fprintf(stderr, "Try '%s --help'.\n", c->tool->name);
  free(file);
  exit(CLI_FAILURE);
}

static void check_heapattach(const cli *c, const request *r) {
  bool writes = r->mode == MODE_TAKE || r->mode == MODE_SERIES;
  if (!writes && (r->file != NULL || r->directory != NULL || r->after != NULL))
    cli_usage_error(c, "%s writes no file: leave out -o, -d and --after",
                    r->mode == MODE_LIST ? "--list" : "--watch");
  if (r->file != NULL && r->directory != NULL)
    cli_usage_error(c, "it is either -o FILE, or --every TIME with -d DIR");
  if (r->mode == MODE_SERIES && r->file != NULL)
    cli_usage_error(c, "a series has a file for each snapshot: -d DIR in place of -o");
  if (r->mode == MODE_TAKE && r->directory != NULL)
    cli_usage_error(c, "-d goes with --every TIME; for one snapshot there is -o FILE");
  if (r->mode == MODE_TAKE && r->file == NULL) suggest_modes(c, r);
  if (r->max > 0 && r->mode != MODE_SERIES && r->mode != MODE_WATCH)
    cli_usage_error(c, "--max goes with --every or --watch only");
  if (r->every_ns > 0 && r->mode == MODE_LIST) cli_usage_error(c, "--list goes with no --every");
  if (r->mode == MODE_WATCH && r->workers)
    cli_usage_error(c, "--watch shows one process at a time: leave out --workers");
}

static void check_target(const cli *c, request *r, int n, char **names) {
  if (n != 1)
    cli_usage_error(
        c,
        n == 0 ? "of what? Name the number of a process, which pgrep -af NAME tells, or a core file"
               : "one process or core at a time: '%s' is too many",
        names[1]);
  r->target = names[0];
  if (r->workers && !subject_is_process(r->target))
    cli_usage_error(c, "--workers needs the number of a process, not '%s'", r->target);
  bool repeats = r->mode == MODE_SERIES || r->mode == MODE_WATCH;
  if (repeats && !subject_is_process(r->target) && access(r->target, F_OK) == 0)
    cli_usage_error(c, "%s needs the number of a process: the file '%s' stays as it is",
                    r->mode == MODE_SERIES ? "--every" : "--watch", r->target);
  if (repeats && !subject_is_process(r->target))
    cli_usage_error(c, "%s needs the number of a process, not '%s'; %s tells it",
                    r->mode == MODE_SERIES ? "--every" : "--watch", r->target,
                    command_for_number(r->target));
}

int run_request(cli *c, const request *r) {
  switch (r->mode) {
    case MODE_LIST: return list_states(c, r);
    case MODE_SERIES: return take_series(c, r);
    case MODE_WATCH: return is_all(r) ? watch_all_states(c, r) : watch_state(c, r);
    default: return take_once(c, r);
  }
}

int main(int argc, char **argv) {
  cli c;
  request r = {.options.string_bytes = LH_DEFAULT_STRING_BYTES, .arguments = argv};
  lh_reexec_elsewhere(argv);
  cli_begin(&c, &tool);
  c.opens_alone = true; /* a thread's memory could overlap the process's */
  cli_parse(&c, &r, argc, argv);
  if (r.mode == MODE_TAKE && r.every_ns > 0) r.mode = MODE_SERIES;
  if (r.mode == MODE_WATCH && r.every_ns == 0) r.every_ns = SECOND_NS;
  check_target(&c, &r, argc - optind, argv + optind);
  check_heapattach(&c, &r);
  r.awaited = run_in_child(&c, &r);
  return cli_finish(&c, r.workers ? run_for_workers(&c, &r) : run_request(&c, &r));
}
