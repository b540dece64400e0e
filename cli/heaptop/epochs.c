/*
** epochs.c - the timeline: of what lives, how much was allocated between which marks. Nothing was
** tracked for it: the order of the collector's lists tells (lh_epoch).
**
** A row is an interval between two marks, oldest first; where there are more than rows were asked
** for, neighbours share one. Objects without an age (fixed ones, and those that wait for their
** finalizer) are in the first interval, before all marks. The headline is the answer: the few
** intervals, or neighbours, that have half of what came since the first mark; or that there are
** none, and it grows evenly.
*/
#include <math.h>
#include <string.h>

#include "heaptop.h"

typedef struct sum {
  uint64_t objects, bytes;
} sum;

typedef struct timeline {
  const lh_snapshot *snapshot;
  sum *intervals; /* [0] is before the first mark, [i] between mark i - 1 and mark i */
  uint32_t n;     /* the snapshot's own mark ends the last one */
  sum all;
} timeline;

/* Intervals `first` to `end` - 1. */
typedef struct run {
  uint32_t first, end;
  uint64_t bytes;
} run;

static void add(sum *to, uint64_t objects, uint64_t bytes) {
  to->objects += objects;
  to->bytes += bytes;
}

static timeline make_timeline(const lh_snapshot *snapshot, const lh_top_query *query) {
  timeline t = {.snapshot = snapshot, .n = lh_mark_count(snapshot)};
  t.intervals = cli_must(calloc(t.n, sizeof *t.intervals));
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    if (!is_shown(snapshot, query, id)) continue;
    uint32_t epoch = lh_epoch(snapshot, id);
    uint64_t bytes = lh_shallow_bytes(snapshot, id);
    add(&t.intervals[epoch < t.n ? epoch : t.n - 1], 1, bytes);
    add(&t.all, 1, bytes);
  }
  return t;
}

/* {=== Rows =========================================================================== */

/* One for each interval, unless fewer were asked for. */
static uint32_t row_count(const timeline *t, const request *r) {
  bool all = !r->limit_given || r->query.limit == 0 || r->query.limit >= t->n;
  return all ? t->n : (uint32_t)r->query.limit;
}

/* The first interval has a row for itself, if there are rows; the others are shared out evenly. */
static uint32_t row_begin(const timeline *t, uint32_t n_rows, uint32_t row) {
  if (row == 0 || n_rows == 1) return row == 0 ? 0 : t->n;
  return 1 + (uint32_t)((uint64_t)(row - 1) * (t->n - 1) / (n_rows - 1));
}

static sum row_sum(const timeline *t, uint32_t n_rows, uint32_t row) {
  sum total = {0};
  for (uint32_t i = row_begin(t, n_rows, row); i < row_begin(t, n_rows, row + 1); i++)
    add(&total, t->intervals[i].objects, t->intervals[i].bytes);
  return total;
}

/* The mark at which interval i begins; NULL for the first. */
static const lh_mark_info *mark_of(const timeline *t, uint32_t i) {
  return i > 0 ? lh_mark_at(t->snapshot, i - 1) : NULL;
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

#define BAR_WIDTH 20

/* A bar of eighths of a character, or of whole # where there is no Unicode. What is not nothing is
** seen. */
static void draw_bar(const cli *c, uint64_t part, uint64_t whole, char bar[3 * BAR_WIDTH + 1]) {
  unsigned steps = c->unicode ? 8 : 1;
  unsigned n =
      whole == 0 ? 0 : (unsigned)nearbyint((double)part / (double)whole * BAR_WIDTH * steps);
  if (n == 0 && part > 0) n = 1;
  for (; n >= steps; n -= steps) bar = stpcpy(bar, c->unicode ? "\u2588" : "#");
  if (n > 0) sprintf(bar, "\xE2\x96%c", (char)(0x90 - n)); /* U+258F one eighth ... U+2589 seven */
  if (n == 0) *bar = '\0';
}

/* The time of a mark as marks are named by period: 2026-11-21 17:40:05. Freed by lh_free. */
static char *time_text(cli *c, const lh_mark_info *mark) {
  char *text = cli_escape(cli_time(c, mark->time_ns));
  text[strlen(text) - strlen(" UTC")] = '\0';
  return text;
}

char *mark_name(cli *c, const lh_mark_info *mark, bool *is_time) {
  (void)c;
  return cli_must(lh_mark_name(mark, is_time));
}

/* 2026-11-21 17:40:05  served 20 */
static char *mark_text(cli *c, const lh_mark_info *mark) {
  bool is_time;
  if (mark == NULL) return cli_must(strdup("the start"));
  char *time = time_text(c, mark), *name = mark_name(c, mark, &is_time);
  char *text = cli_must(malloc(strlen(time) + strlen(name) + 3));
  sprintf(text, is_time ? "%s" : "%s  %s", time, name);
  lh_free(time);
  lh_free(name);
  return text;
}

static void interval_row(cli *c, const timeline *t, uint32_t first, sum total, uint64_t biggest,
                         cli_table *table) {
  char bar[3 * BAR_WIDTH + 1], *text = mark_text(c, mark_of(t, first));
  draw_bar(c, total.bytes, biggest, bar);
  const char *cells[] = {cli_size(c, total.bytes), cli_share(c, total.bytes, t->all.bytes),
                         cli_count(c, total.objects), bar, text};
  cli_table_row(table, cells, CLI_PLAIN);
  free(text);
}

static void print_rows(cli *c, const timeline *t, const request *r) {
  static const cli_column columns[] = {{"shallow", CLI_RIGHT},
                                       {"share", CLI_RIGHT},
                                       {"objects", CLI_RIGHT},
                                       {"", CLI_LEFT},
                                       {"since (UTC)", CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  uint32_t n_rows = row_count(t, r);
  uint64_t biggest = 0;
  for (uint32_t row = 0; row < n_rows; row++) {
    uint64_t bytes = row_sum(t, n_rows, row).bytes;
    if (bytes > biggest) biggest = bytes;
  }
  for (uint32_t row = 0; row < n_rows; row++)
    interval_row(c, t, row_begin(t, n_rows, row), row_sum(t, n_rows, row), biggest, table);
  cli_table_print(table);
  if (n_rows < t->n)
    printf("%s%s: -n 0 shows each%s\n", cli_style_on(c, CLI_FAINT),
           cli_count_of(c, t->n, "interval", "intervals"), cli_style_off(c));
}

/* }=================================================================================== */

/* {=== The headline =================================================================== */

enum { MOST_NAMED = 3 };

static uint64_t bytes_since_first_mark(const timeline *t) {
  return t->all.bytes - t->intervals[0].bytes;
}

/* The biggest intervals, the first not counted, that have half together, if MOST_NAMED are enough
** for that; how many, or 0. */
static uint32_t find_biggest(const timeline *t, run found[MOST_NAMED]) {
  uint64_t bytes = 0;
  for (uint32_t n = 0; n < MOST_NAMED; n++) {
    found[n] = (run){0};
    for (uint32_t i = 1; i < t->n; i++) {
      bool taken = false;
      for (uint32_t k = 0; k < n; k++) taken = taken || found[k].first == i;
      if (!taken && t->intervals[i].bytes > found[n].bytes)
        found[n] = (run){i, i + 1, t->intervals[i].bytes};
    }
    bytes += found[n].bytes;
    if (2 * bytes >= bytes_since_first_mark(t)) return n + 1;
  }
  return 0;
}

/* The fewest neighbours that have half, the first interval not counted; of several the ones with
** most. */
static run find_half(const timeline *t) {
  uint64_t whole = bytes_since_first_mark(t);
  run best = {1, t->n, whole}, r = {1, 1, 0};
  while (r.end < t->n) {
    r.bytes += t->intervals[r.end++].bytes;
    while (2 * (r.bytes - t->intervals[r.first].bytes) >= whole)
      r.bytes -= t->intervals[r.first++].bytes;
    if (2 * r.bytes < whole) continue;
    uint32_t length = r.end - r.first, shortest = best.end - best.first;
    if (length < shortest || (length == shortest && r.bytes > best.bytes)) best = r;
  }
  return best;
}

static void print_mark(cli *c, const char *before, const lh_mark_info *mark) {
  bool is_time;
  char *name = mark_name(c, mark, &is_time);
  printf(" %s %s%s", before, name, is_time ? " UTC" : "");
  lh_free(name);
}

/* Share and place. */
static void print_run(cli *c, const timeline *t, const run *r, const char *before) {
  const lh_mark_info *since = mark_of(t, r->first);
  printf("%s %s of it", before, cli_share(c, r->bytes, bytes_since_first_mark(t)));
  print_mark(c, r->end < t->n ? "between" : "since", since);
  if (r->end < t->n) print_mark(c, "and", mark_of(t, r->end));
}

/* A bump, in a few intervals or in neighbours that are less than a third of all, or nothing of the
** kind. Returns of which intervals more is to be known. */
static run print_finding(cli *c, const timeline *t) {
  uint32_t n_marked = t->n - 1;
  run biggest[MOST_NAMED], half;
  uint32_t n = find_biggest(t, biggest);
  for (uint32_t i = 0; i < n; i++) print_run(c, t, &biggest[i], i == 0 ? ":" : ",");
  if (n > 0) return biggest[0];
  half = find_half(t);
  if (half.end - half.first < n_marked / 3) {
    print_run(c, t, &half, ":");
    printf(", in %u of %u intervals", half.end - half.first, n_marked);
    return half;
  }
  printf(": at most %s of it in each of %u intervals",
         cli_share(c, biggest[0].bytes, bytes_since_first_mark(t)), n_marked);
  return (run){1, t->n, 0};
}

/* heapdiff takes the latest mark of a name: can it find this one? No word has a zero byte. */
static bool is_latest(const lh_snapshot *snapshot, const lh_mark_info *mark) {
  if (strlen(mark->name) != mark->name_length) return false;
  for (uint32_t i = lh_mark_count(snapshot); i-- > 0;) {
    const lh_mark_info *other = lh_mark_at(snapshot, i);
    if (strcmp(other->name, mark->name) == 0) return other == mark;
  }
  return false;
}

/* The command that tells what was allocated there. */
static void print_next_question(const timeline *t, const run *r, const char *file) {
  const lh_mark_info *since = mark_of(t, r->first);
  const lh_mark_info *until = r->end < t->n ? mark_of(t, r->end) : NULL;
  if (!is_latest(t->snapshot, since) || (until != NULL && !is_latest(t->snapshot, until))) return;
  char *words[] = {cli_shell_word(since->name), cli_shell_word(until != NULL ? until->name : ""),
                   cli_shell_word(file)};
  printf("What that is: heapdiff --since %s%s%s %s\n", words[0], until != NULL ? " --until " : "",
         until != NULL ? words[1] : "", words[2]);
  for (size_t i = 0; i < 3; i++) free(words[i]);
}

static void print_answer(cli *c, const timeline *t, const request *r) {
  uint64_t bytes = bytes_since_first_mark(t);
  run found = {1, t->n, 0};
  printf("%s%s of %s, %s, was allocated", cli_style_on(c, CLI_BOLD),
         cli_share(c, bytes, t->all.bytes), r->query.garbage ? "the garbage" : "what lives",
         cli_size(c, bytes));
  print_mark(c, "since", mark_of(t, 1));
  printf(", the first mark");
  if (t->n > 2 && bytes > 0) found = print_finding(c, t);
  printf("%s\n", cli_style_off(c));
  if (bytes > 0 && !r->query.garbage) print_next_question(t, &found, r->file);
}

/* }=================================================================================== */

void epochs_print(cli *c, const lh_snapshot *snapshot, const request *r) {
  timeline t = make_timeline(snapshot, &r->query);
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  if (t.all.objects > 0 && t.n > 1) print_answer(c, &t, r);
  if (t.n == 1)
    puts("No mark was left before this snapshot; heap.mark() by period makes a timeline");
  if (t.all.objects > 0) {
    putchar('\n');
    print_rows(c, &t, r);
  } else {
    puts("none");
  }
  if (!r->query.garbage && reach.garbage_objects > 0)
    printf("\nNot in it: %s of garbage, %s, waiting for the collector: --garbage\n",
           cli_count_of(c, reach.garbage_objects, "object", "objects"),
           cli_size(c, reach.garbage_bytes));
  free(t.intervals);
}

void epochs_print_json(cli_json *w, const lh_snapshot *snapshot, const request *r) {
  timeline t = make_timeline(snapshot, &r->query);
  uint32_t n_rows = row_count(&t, r);
  cli_json_value(w, "total_epochs", cli_json_size(t.n));
  cli_json_open(w, "epochs", '[');
  for (uint32_t row = 0; row < n_rows; row++) {
    const lh_mark_info *mark = mark_of(&t, row_begin(&t, n_rows, row));
    sum total = row_sum(&t, n_rows, row);
    cli_json_value(
        w, NULL,
        json_pack("{so so sI sI}", "mark", mark != NULL ? cli_json_text(mark->name) : json_null(),
                  "time_ns", mark != NULL ? cli_json_size(mark->time_ns) : json_null(), "objects",
                  (json_int_t)total.objects, "shallow_bytes", (json_int_t)total.bytes));
  }
  cli_json_close(w, ']');
  free(t.intervals);
}
