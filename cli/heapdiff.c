/*
** heapdiff - what was allocated and stays. Three snapshots: allocated between a and b, alive in c;
** two: what appeared and what went; one with marks: the same from inside one file. Here are its
** options; the reports are in cli/heapdiff/.
*/
#include <string.h>

#include "heapdiff/heapdiff.h"

enum {
  KEY_SORT = CLI_FIRST_KEY,
  KEY_SINCE,
  KEY_UNTIL,
  KEY_FACTOR,
  KEY_LADDER,
  KEY_CSV,
  KEY_OWNERS,
  KEY_BEFORE,
  KEY_AFTER,
  KEY_KNOWN,
  KEY_FINGERPRINTS,
  KEY_FAIL_OVER,
  KEY_FAIL_OBJECTS
};

static const cli_option options[] = {
    {'n', "top", "N", "rows in each table (default 20; 0: all)"},
    {KEY_SORT, "sort", "ORDER=retained|shallow|count",
     "groups by retained (default), shallow or count"},
    {KEY_SINCE, "since", "MARK", "what was allocated after this mark of the snapshot"},
    {KEY_UNTIL, "until", "MARK", "with --since: and before this one"},
    {KEY_FACTOR, "factor", "N", "flag groups whose object count is a multiple of N"},
    {KEY_LADDER, "ladder", NULL, "what grows from step to step; so with 4 snapshots or more"},
    {KEY_CSV, "csv", NULL, "print a ladder as CSV, a line for each row and snapshot"},
    {KEY_OWNERS, "owners", NULL, "who owns the growth, from the first to the last snapshot"},
    {KEY_BEFORE, "before", "A [B]", "with --after: one or two snapshots before a change"},
    {KEY_AFTER, "after", "A [B]", "and as many after it: is it fixed?"},
    {KEY_FINGERPRINTS, "fingerprints", NULL, "show what --known takes, for each group"},
    {KEY_KNOWN, "known", "FILE", "leave out what has a fingerprint listed in FILE"},
    {KEY_FAIL_OVER, "fail-over", "SIZE", "exit with 1 if more is retained: 512, 100KB, 2MB"},
    {KEY_FAIL_OBJECTS, "fail-objects", "N", "exit with 1 if more new objects stay"},
    CLI_COMMON_OPTIONS};

static const cli_tool tool = {
    "heapdiff",
    "Shows what was allocated between two moments and is still alive: the leaks.",
    {"[options] A B C            allocated between A and B, still alive in C",
     "[options] A B              what appeared and what went between A and B",
     "[options] --since MARK [--until MARK] C",
     "[options] A B C D ...      what grows at every step, and what grew once",
     "[options] --owners A ... B who owns the growth",
     "[options] --before A [B] --after A [B]    is it fixed?"},
    options,
    sizeof options / sizeof *options,
    "Example: heapdiff --factor 100 a b c     the suspicious work ran 100 times\n"
    "Exit status: 0 done, 1 more stays than --fail-over or --fail-objects allows,\n"
    "2 wrong usage or failure.\n"};

/* The argument of --before or --after, and a second one if there is: not an option. */
static size_t take_files(const char *files[2], int argc, char **argv) {
  files[0] = optarg;
  if (optind >= argc || argv[optind][0] == '-') return 1;
  files[1] = argv[optind++];
  return 2;
}

static void parse_options(cli *c, request *r, int argc, char **argv) {
  static const lh_sort orders[] = {LH_SORT_RETAINED, LH_SORT_SHALLOW, LH_SORT_COUNT};
  int key;
  while ((key = cli_next_option(c, argc, argv)) != -1) {
    switch (key) {
      case 'n':
        r->limit = cli_number_argument(c, "--top");
        r->limit_given = true;
        break;
      case KEY_SORT:
        r->sort = orders[cli_word_argument(c, KEY_SORT)];
        r->sorted = true;
        break;
      case KEY_SINCE: r->since = optarg; break;
      case KEY_UNTIL: r->until = optarg; break;
      case KEY_FACTOR:
        r->factor = cli_number_argument(c, "--factor");
        if (r->factor < 2) cli_usage_error(c, "--factor needs a number of at least 2");
        break;
      case KEY_FAIL_OVER:
        r->fail_over_bytes = cli_size_argument(c, "--fail-over");
        r->has_fail_over = true;
        break;
      case KEY_FAIL_OBJECTS:
        r->fail_objects = cli_number_argument(c, "--fail-objects");
        r->has_fail_objects = true;
        break;
      case KEY_KNOWN: known_read(c, &r->known, optarg); break;
      case KEY_FINGERPRINTS: r->fingerprints = true; break;
      case KEY_LADDER: r->ladder = true; break;
      case KEY_CSV: r->csv = true; break;
      case KEY_OWNERS: r->owners = true; break;
      case KEY_BEFORE: r->n_before = take_files(r->halves[0], argc, argv); break;
      case KEY_AFTER: r->n_after = take_files(r->halves[1], argc, argv); break;
    }
  }
}

static bool is_ladder(const request *r) {
  return r->ladder || r->n_files > 3;
}

/* What does not go together. */
static void check(cli *c, const request *r) {
  if (r->until != NULL && r->since == NULL) cli_usage_error(c, "--until needs --since MARK too");
  if (r->since != NULL && r->n_files != 1)
    cli_usage_error(c, "with --since it takes one snapshot, not %zu", r->n_files);
  if (r->since == NULL && r->n_files == 1)
    cli_usage_error(c, "one snapshot alone needs --since MARK");
  if (r->n_files == 0) cli_usage_error(c, "it takes the names of snapshots");
  if (r->owners && (r->n_files < 2 || r->ladder || r->csv || r->factor != 0 || r->sorted ||
                    r->fingerprints || r->known.file != NULL))
    cli_usage_error(c,
                    "--owners takes two snapshots or more, and no --ladder, --csv, --factor,"
                    " --sort, --fingerprints or --known");
  if (is_ladder(r) && (r->factor != 0 || r->sorted))
    cli_usage_error(c, "%s does not go with a ladder of snapshots",
                    r->sorted ? "--sort" : "--factor");
  if (r->csv && !is_ladder(r))
    cli_usage_error(c, "--csv needs --ladder, or four snapshots or more");
  if (r->csv && c->json) cli_usage_error(c, "it is either --csv or --json");
}

static void check_halves(cli *c, const request *r) {
  if (r->n_before != r->n_after)
    cli_usage_error(c, "it needs as many snapshots --after as --before: one or two of each");
  if (r->n_files > 0 || r->since != NULL || r->until != NULL || r->ladder || r->csv || r->owners ||
      r->factor != 0 || r->sorted)
    cli_usage_error(c,
                    "--before A [B] --after A [B] takes no other snapshots, and no --since,"
                    " --ladder, --csv, --factor or --sort");
}

static void parse(cli *c, request *r, int argc, char **argv) {
  *r = (request){.sort = LH_SORT_RETAINED, .limit = 20};
  parse_options(c, r, argc, argv);
  r->n_files = (size_t)(argc - optind);
  r->files = cli_must(calloc(r->n_files + 4, sizeof *r->files));
  for (size_t i = 0; i < r->n_files; i++) r->files[i] = argv[optind + (int)i];
  if (r->n_before == 0 && r->n_after == 0) {
    check(c, r);
    return;
  }
  check_halves(c, r);
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < r->n_before; k++) r->files[r->n_files++] = r->halves[i][k];
}

static int report(cli *c, request *r) {
  if (r->n_before > 0) return halves_report(c, r);
  if (r->owners) return owners_report(c, r);
  return is_ladder(r) ? ladder_report(c, r) : leaks_report(c, r);
}

int main(int argc, char **argv) {
  cli c;
  request r;
  int status;
  cli_begin(&c, &tool);
  parse(&c, &r, argc, argv);
  status = report(&c, &r);
  free(r.known.list);
  free(r.files);
  return cli_finish(&c, status);
}
