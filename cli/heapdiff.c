/*
** heapdiff - shows objects that were allocated and stay. Three snapshots: allocated between a and
** b, alive in c. Two: new and freed objects. One with marks: allocated between marks of one file.
** The reports are the library's (rooms/report.h).
*/
#include <fcntl.h>
#include <sys/stat.h>

#include "cli.h"

typedef struct request {
  const char **files; /* in the order given */
  size_t n_files;
  const char *halves[2][2]; /* --before, --after: one or two files each */
  size_t n_before, n_after;
  lh_request asked;
  const lh_question *question; /* chosen by an option; NULL: none */
  bool is_asked_twice;         /* two different questions */
  uint64_t fail_over_bytes, fail_objects;
  lh_known known; /* name is NULL without --known */
} request;

/* ==== Accepted growth ================================================================ */

/* --known FILE has one fingerprint a line, then perhaps a # comment. FILE may be another user's, so
** it must be a regular file (a FIFO has no end) with lines of limited length. */

enum { LONGEST_LINE = 4096 };

/* The capacity is 16, then powers of two. */
static void add_known(lh_known *k, const char *fingerprint) {
  bool is_full = k->n == 0 || (k->n >= 16 && (k->n & (k->n - 1)) == 0);
  if (is_full) k->list = cli_must(realloc(k->list, (k->n > 0 ? 2 * k->n : 16) * sizeof *k->list));
  memcpy(k->list[k->n++], fingerprint, strlen(fingerprint) + 1);
}

/* Fingerprints of the previous release have ten hex digits. */
static bool is_older(const char *word) {
  return strlen(word) == 10 && strspn(word, "0123456789abcdef") == 10;
}

static void take_line(cli *c, lh_known *k, char *line, unsigned number) {
  static const char blanks[] = " \t\r\n";
  char *word = line + strspn(line, blanks), *behind = word + strcspn(word, " \t\r\n#");
  char *comment = behind + strspn(behind, blanks);
  if (*word == '\0' || *word == '#') return;
  bool commented = *comment == '\0' || *comment == '#';
  comment[strcspn(comment, "\r\n")] = '\0';
  *behind = '\0';
  k->has_older |= is_older(word);
  if (!lh_is_fingerprint(word) && !is_older(word))
    cli_die(
        c, NULL,
        "%s:%u: '%s' is no fingerprint; a line is one of those that --fingerprints prints in its "
        "first column, alone or with # and a comment behind it",
        k->name, number, word);
  if (!commented)
    cli_die(c, NULL, "%s:%u: '%s' is behind a fingerprint, but no comment: put # in front of it",
            k->name, number, comment);
  add_known(k, word);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(a, b);
}

static FILE *open_list(cli *c, const char *file) {
  struct stat status;
  int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
    cli_die(c, NULL, "cannot read '%s': it is no regular file", file);
  FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
  if (in == NULL) cli_die(c, NULL, "cannot open '%s': %s", file, strerror(errno));
  return in;
}

static void known_read(cli *c, lh_known *k, const char *file) {
  char line[LONGEST_LINE];
  FILE *in = open_list(c, file);
  k->name = file;
  for (unsigned number = 1; fgets(line, sizeof line, in) != NULL; number++) {
    if (strchr(line, '\n') == NULL && !feof(in))
      cli_die(c, NULL, "%s:%u: the line is too long, or has a zero byte in it", file, number);
    take_line(c, k, line, number);
  }
  if (ferror(in)) cli_die(c, NULL, "%s: %s", file, strerror(errno));
  fclose(in);
  if (k->n > 1) qsort(k->list, k->n, sizeof *k->list, compare_texts);
}

/* ==== Options ======================================================================== */

static void take_files(cli *c, request *r, const cli_option *option) {
  bool is_after = strcmp(option->name, "after") == 0;
  const char **files = r->halves[is_after];
  size_t *n = is_after ? &r->n_after : &r->n_before;
  const char *next = cli_next_operand(c);
  files[0] = optarg;
  files[1] = next;
  *n = next != NULL ? 2 : 1;
}

static void take_question(cli *c, request *r, const cli_option *option) {
  const lh_question *chosen = lh_questions[option->number];
  (void)c;
  r->is_asked_twice |= r->question != NULL && r->question != chosen;
  r->question = chosen;
}

static void take_known(cli *c, request *r, const cli_option *option) {
  (void)option;
  known_read(c, &r->known, optarg);
}

static const cli_option options[] = {
    CLI_TOP_OPTION("rows in each table (default 20; 0: all)"),
    {0, "sort", "ORDER=retained|shallow|count", "groups by retained (default), shallow or count",
     CLI_WORD(asked.sort)},
    {0, "since", "MARK", "what was allocated after this mark of the snapshot",
     CLI_TEXT(asked.since)},
    {0, "until", "MARK", "with --since: and before this one", CLI_TEXT(asked.until)},
    {0, "factor", "N", "flag groups whose object count is a multiple of N",
     CLI_NUMBER(asked.factor), .least = 2},
    CLI_QUESTIONS(take_question),
    {0, "before", "A [B]", "with --after: one or two snapshots before a change",
     CLI_TAKEN(take_files)},
    {0, "after", "A [B]", "and as many after it: is it fixed?", CLI_TAKEN(take_files)},
    {0, "fingerprints", NULL, "show what --known takes, for each group",
     CLI_FLAG(asked.fingerprints)},
    {0, "known", "FILE", "leave out what has a fingerprint listed in FILE, one a line",
     CLI_TAKEN(take_known)},
    {0, "fail-over", "SIZE", "exit with 1 if more is retained: 512, 100KB, 2MB",
     CLI_SIZE(fail_over_bytes)},
    {0, "fail-objects", "N", "exit with 1 if more new objects stay", CLI_NUMBER(fail_objects)},
    CLI_COMMON_OPTIONS};

static const char *const removed[] = {
    "--csv", "--json has the same rows, and heapsql --csv prints CSV", NULL};

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
    "Example: heapdiff --factor 100 a b c     the suspicious work ran 100 times\n"
    "Exit status: 0 done, 1 more stays than --fail-over or --fail-objects allows,\n"
    "2 wrong usage or failure.\n"};

static bool asks_for(const request *r, const char *question) {
  return r->question != NULL && strcmp(r->question->name, question) == 0;
}

static bool is_sorted(const cli *c) {
  return cli_is_given(c, "sort");
}

static bool is_ladder(const request *r) {
  return asks_for(r, "ladder") || r->n_files > 3;
}

static void check_heapdiff(cli *c, const request *r) {
  if (r->asked.until != NULL && r->asked.since == NULL)
    cli_usage_error(c, "--until needs --since MARK too");
  if (r->asked.since != NULL && r->n_files != 1)
    cli_usage_error(c, "with --since it takes one snapshot, not %zu", r->n_files);
  if (r->asked.since == NULL && r->n_files == 1)
    cli_usage_error(c, "one snapshot alone needs --since MARK");
  if (r->n_files == 0) cli_usage_error(c, "it takes the names of snapshots");
  bool owners = r->is_asked_twice || asks_for(r, "owners");
  if (owners && (r->n_files < 2 || r->is_asked_twice || r->asked.factor != 0 || is_sorted(c) ||
                 r->asked.fingerprints || r->known.name != NULL))
    cli_usage_error(c,
                    "--owners takes two snapshots or more, and no --ladder, --factor,"
                    " --sort, --fingerprints or --known");
  if (is_ladder(r) && (r->asked.factor != 0 || is_sorted(c)))
    cli_usage_error(c, "%s does not go with a ladder of snapshots",
                    is_sorted(c) ? "--sort" : "--factor");
}

static void check_halves(cli *c, const request *r) {
  if (r->n_before != r->n_after)
    cli_usage_error(c, "it needs as many snapshots --after as --before: one or two of each");
  if (r->n_files > 0 || r->asked.since != NULL || r->asked.until != NULL || r->question != NULL ||
      r->asked.factor != 0 || is_sorted(c))
    cli_usage_error(c,
                    "--before A [B] --after A [B] takes no other snapshots, and no --since,"
                    " --ladder, --factor or --sort");
}

static void parse_heapdiff(cli *c, request *r, int argc, char **argv) {
  *r = (request){.asked.limit = 20};
  cli_parse(c, r, argc, argv);
  r->n_files = (size_t)(argc - optind);
  r->files = cli_must(calloc(r->n_files + 4, sizeof *r->files));
  for (size_t i = 0; i < r->n_files; i++) r->files[i] = argv[optind + (int)i];
  if (r->n_before == 0 && r->n_after == 0) {
    check_heapdiff(c, r);
    return;
  }
  check_halves(c, r);
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < r->n_before; k++) r->files[r->n_files++] = r->halves[i][k];
}

/* ==== Reports ======================================================================== */

static bool is_big(const lh_snapshot *snapshot) {
  return lh_object_count(snapshot) > 200000;
}

static lh_request request_of(const cli *c, request *r) {
  lh_request asked = r->asked;
  if (c->json && !asked.has_limit) asked.limit = 0;
  asked.names = r->files;
  asked.n_names = r->n_files;
  if (r->known.name != NULL) asked.known = &r->known;
  return asked;
}

static void print_report_json(lh_report *report) {
  lh_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_report_values(&w, report);
  cli_json_close(&w, '}');
}

static void known_renewed(cli *c, const lh_known *k) {
  for (size_t i = 0; i < k->n_renewed; i++)
    cli_say(c, "%s: %s is %s now", k->name, k->renewed[i].before, k->renewed[i].now);
}

static int gate(cli *c, const request *r, const lh_report *report) {
  lh_excess e;
  report->question->excess(report, &e);
  bool too_many_bytes =
      cli_is_given(c, "fail-over") && e.bytes + e.grown_bytes > r->fail_over_bytes;
  bool too_many_objects = cli_is_given(c, "fail-objects") && e.objects > r->fail_objects;
  lh_number bytes = lh_size_text(e.bytes, c->exact_bytes),
            grown = lh_size_text(e.grown_bytes, c->exact_bytes),
            limit = lh_size_text(r->fail_over_bytes, c->exact_bytes);
  if (too_many_bytes && e.grown_bytes == 0)
    cli_say(c, "%s %s, which is more than %s", bytes.text, e.what, limit.text);
  else if (too_many_bytes && e.bytes == 0)
    cli_say(c, "older containers grew by %s, which is more than %s", grown.text, limit.text);
  else if (too_many_bytes)
    cli_say(c, "%s %s, and older containers grew by %s: together more than %s", bytes.text, e.what,
            grown.text, limit.text);
  if (too_many_objects)
    cli_say(c, "%s %s, which is more than %s", lh_count_of(e.objects, "object", "objects").text,
            e.what, lh_count_text(r->fail_objects).text);
  return too_many_bytes || too_many_objects ? CLI_NO : CLI_DONE;
}

static int answer_diff(cli *c, request *r, const char *question, lh_snapshot *snapshot,
                       const lh_request *asked) {
  const char *last = r->files[r->n_files - 1];
  lh_report report;
  lh_error error;
  if (snapshot != NULL && is_big(snapshot)) cli_progress(c, "comparing");
  int code = lh_ask(&report, lh_find_question(question), snapshot, asked, &error);
  cli_progress(c, NULL);
  cli_check(c, code, r->asked.since != NULL ? last : NULL, &error);
  if (c->json)
    print_report_json(&report);
  else
    cli_report_text(c, &report, last);
  known_renewed(c, &r->known);
  int status = gate(c, r, &report);
  lh_report_free(&report);
  return status;
}

/* Before the next snapshot is opened, since that takes less memory. */
static void prepare_older(cli *c, const char *file, lh_snapshot *snapshot, lh_snapshot *before) {
  lh_error error;
  if (is_big(snapshot)) cli_progress(c, "counting what is in %s", file);
  cli_check(c, lh_prepare_older(snapshot, before, &error), NULL, &error);
  cli_progress(c, NULL);
}

static int compare_files(cli *c, request *r) {
  lh_snapshot *snapshots[3];
  lh_request asked = request_of(c, r);
  size_t n = r->n_files;
  for (size_t i = 0; i < n; i++) {
    snapshots[i] = cli_open(c, r->files[i]);
    if (n == 3 && i < 2) prepare_older(c, r->files[i], snapshots[i], i > 0 ? snapshots[0] : NULL);
  }
  asked.snapshots = snapshots;
  asked.n_snapshots = n;
  int status = answer_diff(c, r, "diff", snapshots[n - 1], &asked);
  for (size_t i = 0; i < n; i++) lh_close(snapshots[i]);
  return status;
}

static int climb(cli *c, request *r, const char *question) {
  lh_request asked = request_of(c, r);
  lh_ladder *ladder;
  lh_error error;
  cli_check(c, lh_ladder_new(&ladder, &error), NULL, &error);
  for (size_t i = 0; i < r->n_files; i++) {
    lh_snapshot *snapshot = cli_open_analysed(c, r->files[i]);
    if (is_big(snapshot)) cli_progress(c, "counting what is in %s", r->files[i]);
    cli_check(c, lh_ladder_add(ladder, snapshot, &error), r->files[i], &error);
    cli_progress(c, NULL);
    lh_close(snapshot);
  }
  asked.ladder = ladder;
  int status = answer_diff(c, r, question, NULL, &asked);
  lh_ladder_free(ladder);
  return status;
}

/* --owners reads only the first and the last snapshot. */
static int report(cli *c, request *r) {
  if (r->n_before > 0) return climb(c, r, "compare");
  if (asks_for(r, "owners")) {
    r->files[1] = r->files[r->n_files - 1];
    r->n_files = 2;
    return climb(c, r, "owners");
  }
  return is_ladder(r) ? climb(c, r, "ladder") : compare_files(c, r);
}

int main(int argc, char **argv) {
  cli c;
  request r;
  int status;
  cli_begin(&c, &tool);
  c.removed = removed;
  parse_heapdiff(&c, &r, argc, argv);
  status = report(&c, &r);
  free(r.known.list);
  lh_free(r.known.renewed);
  free(r.files);
  return cli_finish(&c, status);
}
