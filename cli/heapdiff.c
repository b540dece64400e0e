/*
** heapdiff - what was allocated and stays. Three snapshots: allocated between a and b, alive in c;
** two: what appeared and what went; one with marks: the same from inside one file. Here are its
** options; the reports are in cli/heapdiff/.
*/
#include <errno.h>
#include <string.h>

#include "heapdiff/heapdiff.h"

enum {
  KEY_SORT = CLI_FIRST_KEY,
  KEY_SINCE,
  KEY_UNTIL,
  KEY_FACTOR,
  KEY_KNOWN,
  KEY_FINGERPRINTS,
  KEY_FAIL_OVER,
  KEY_FAIL_OBJECTS
};

static const cli_option options[] = {
    {'n', "top", "N", "rows in each table (default 20; 0: all)"},
    {KEY_SORT, "sort", "ORDER", "groups by retained (default), shallow or count"},
    {KEY_SINCE, "since", "MARK", "what was allocated after this mark of the snapshot"},
    {KEY_UNTIL, "until", "MARK", "with --since: and before this one"},
    {KEY_FACTOR, "factor", "N", "flag groups whose object count is a multiple of N"},
    {KEY_FINGERPRINTS, "fingerprints", NULL, "show what --known takes, for each group"},
    {KEY_KNOWN, "known", "FILE", "leave out what has a fingerprint listed in FILE"},
    {KEY_FAIL_OVER, "fail-over", "SIZE", "exit with 1 if more is retained: 512, 100KB, 2MB"},
    {KEY_FAIL_OBJECTS, "fail-objects", "N", "exit with 1 if more new objects stay"},
    CLI_COMMON_OPTIONS};

static const cli_tool tool = {
    "heapdiff",
    "Shows what was allocated between two moments and is still alive: the leaks.",
    {"[options] A B C       allocated between A and B, still alive in C",
     "[options] A B         what appeared and what went between A and B",
     "[options] --since MARK [--until MARK] C"},
    options,
    sizeof options / sizeof *options,
    "Example: heapdiff --factor 100 a b c     the suspicious work ran 100 times\n"
    "Exit status: 0 done, 1 more stays than --fail-over or --fail-objects allows,\n"
    "2 wrong usage or failure.\n"};

static uint64_t size_argument(const cli *c, const char *option) {
  static const char units[] = "KMGT";
  char *end;
  const char *unit;
  unsigned shift = 0;
  unsigned long long n;
  errno = 0;
  n = strtoull(optarg, &end, 10);
  unit = *end != '\0' ? strchr(units, *end) : NULL;
  if (unit != NULL) {
    shift = 10 * (unsigned)(unit - units + 1);
    end++;
    if (*end == 'B') end++;
  }
  if (*optarg < '0' || *optarg > '9' || *end != '\0' || errno != 0 || n > UINT64_MAX >> shift)
    cli_usage_error(c, "%s needs a size such as 512, 100KB, 2MB or 1GB, not '%s'", option, optarg);
  return (uint64_t)n << shift;
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
        r->sort = orders[cli_word_argument(c, "--sort", "retained|shallow|count")];
        break;
      case KEY_SINCE: r->since = optarg; break;
      case KEY_UNTIL: r->until = optarg; break;
      case KEY_FACTOR:
        r->factor = cli_number_argument(c, "--factor");
        if (r->factor < 2) cli_usage_error(c, "--factor needs a number of at least 2");
        break;
      case KEY_FAIL_OVER:
        r->fail_over_bytes = size_argument(c, "--fail-over");
        r->has_fail_over = true;
        break;
      case KEY_FAIL_OBJECTS:
        r->fail_objects = cli_number_argument(c, "--fail-objects");
        r->has_fail_objects = true;
        break;
      case KEY_KNOWN: known_read(c, &r->known, optarg); break;
      case KEY_FINGERPRINTS: r->fingerprints = true; break;
    }
  }
}

static void parse(cli *c, request *r, int argc, char **argv) {
  int n;
  *r = (request){.sort = LH_SORT_RETAINED, .limit = 20};
  parse_options(c, r, argc, argv);
  n = argc - optind;
  if (r->until != NULL && r->since == NULL) cli_usage_error(c, "--until needs --since MARK too");
  if (r->since != NULL && n != 1)
    cli_usage_error(c, "with --since it takes one snapshot, not %d", n);
  if (r->since == NULL && n != 2 && n != 3)
    cli_usage_error(c,
                    n == 1 ? "one snapshot alone needs --since MARK"
                           : "it takes two or three snapshots, not %d",
                    n);
  for (int i = 0; i < n; i++) r->files[i] = argv[optind + i];
  if (n < 3) {
    r->files[2] = r->files[n - 1];
    r->files[n - 1] = NULL;
  }
}

int main(int argc, char **argv) {
  cli c;
  request r;
  int status;
  cli_begin(&c, &tool);
  parse(&c, &r, argc, argv);
  status = leaks_report(&c, &r);
  free(r.known.list);
  return cli_finish(&c, status);
}
