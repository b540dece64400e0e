/*
** watch.c - --watch of one state: prints each second its size, its growth, its objects by type.
**
** The size is read from the running process at almost no cost. Counting objects costs as much as a
** snapshot that is not written: 0.1 s for 20 MB. So they are counted on each line only while that
** takes less than a fifth of a processor, and stops the process for less than a hundredth of the
** time. Otherwise they are counted less often, and a message says so.
*/
#include <sys/resource.h>
#include <time.h>

#include "heapattach/heapattach.h"

enum { SHARE_OF_COUNTING = 5, SHARE_OF_STOPPING = 100 };

typedef struct look {
  uint64_t time_ns; /* since 1970, UTC */
  uint64_t bytes;
  bool has_counts;
  lh_counts counts;
  uint64_t stopped_ns; /* for the counts */
} look;

typedef struct watch {
  cli *c;
  const request *r;
  subject subject;
  lh_found_state state; /* its size is read at each look */
  uint64_t next_count;  /* cli_now_ns() of the next count */
  uint64_t lines_to_a_count;
  look first, last;
  uint64_t n_lines;
  int failure; /* last error code of counting, already printed */
} watch;

/* ==== Looking ======================================================================= */

static uint64_t spent_ns(void) {
  static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
  uint64_t us = 0;
  for (size_t i = 0; i < sizeof whose / sizeof *whose; i++) {
    struct rusage is;
    getrusage(whose[i], &is);
    us += (uint64_t)(is.ru_utime.tv_sec + is.ru_stime.tv_sec) * 1000000 +
          (uint64_t)(is.ru_utime.tv_usec + is.ru_stime.tv_usec);
  }
  return us * 1000;
}

static void plan_next_count(watch *w, uint64_t now, uint64_t cost_ns, uint64_t stopped_ns) {
  uint64_t by_cost = cost_ns * SHARE_OF_COUNTING, by_stop = stopped_ns * SHARE_OF_STOPPING;
  bool stops = by_stop > by_cost;
  uint64_t every_ns = w->r->every_ns,
           lines = ((stops ? by_stop : by_cost) + every_ns - 1) / every_ns;
  if (lines < 1) lines = 1;
  w->next_count = now + lines * every_ns - every_ns / 2;
  if (lines <= w->lines_to_a_count) return;
  w->lines_to_a_count = lines;
  cli_say(w->c, "counting the objects %s %s: that is done every %s",
          stops ? "stops the process for" : "takes",
          lh_duration_text(stops ? stopped_ns : cost_ns).text,
          lh_duration_text(lines * every_ns).text);
}

/* LH_OK also if the objects cannot be counted now. */
static int count_objects_now(watch *w, look *l, lh_error *error) {
  lh_outside_request counted = {.state = w->state.address};
  lh_outside_result result = {0};
  uint64_t now = cli_now_ns(), before_ns = spent_ns();
  int code = lh_take_outside(w->subject.target, &counted, 1, &w->r->options, &result, error);
  plan_next_count(w, now, spent_ns() - before_ns, result.stopped_ns);
  if (code != LH_OK && is_over(error)) return code;
  if (code != LH_OK && w->n_lines == 0) relocate_self(w->r, error);
  if (code != LH_OK && code != LH_EBUSY && code != w->failure) {
    w->failure = code;
    cli_say(w->c, "its objects cannot be counted: %s", error->message);
  }
  l->has_counts = code == LH_OK;
  l->counts = counted.counts;
  l->stopped_ns = result.stopped_ns;
  return LH_OK;
}

static int take_look(watch *w, look *l, lh_error *error) {
  *l = (look){.time_ns = real_time_ns()};
  int code = lh_outside_sizes(w->subject.target, &w->state, 1, error);
  l->bytes = w->state.gc_bytes;
  if (code == LH_OK && cli_now_ns() >= w->next_count) code = count_objects_now(w, l, error);
  return code;
}

/* ==== Text =========================================================================== */

static const struct column {
  lh_type type;
  const char *heading;
  bool is_wide; /* hidden on a terminal of 80 columns */
} columns[] = {{LH_TYPE_TABLE, "tables", false},    {LH_TYPE_STRING, "strings", false},
               {LH_TYPE_CLOSURE, "closures", true}, {LH_TYPE_USERDATA, "userdata", true},
               {LH_TYPE_THREAD, "threads", true},   {LH_TYPE_UPVALUE, "upvalues", true},
               {LH_TYPE_PROTO, "protos", true}};

enum { N_COLUMNS = sizeof columns / sizeof *columns, COUNT_WIDTH = 11 };

static bool is_shown(const watch *w, const struct column *column) {
  return !column->is_wide || !cli_is_narrow(w->c);
}

int size_width(const cli *c) {
  return c->exact_bytes ? 18 : 12;
}

static void print_heading(const watch *w) {
  int width = size_width(w->c);
  printf("%s%*s%*s%*s%*s%*s", cli_style_on(w->c, LH_BOLD), -TIME_WIDTH, "UTC", width, "heap", width,
         "change", width, "since start", COUNT_WIDTH, "objects");
  for (const struct column *column = columns; column < columns + N_COLUMNS; column++)
    if (is_shown(w, column)) printf("%*s", COUNT_WIDTH, column->heading);
  printf("%s\n", cli_style_off(w->c));
}

void print_time(uint64_t time_ns) {
  time_t seconds = (time_t)(time_ns / 1000000000);
  struct tm parts;
  char text[16];
  strftime(text, sizeof text, "%H:%M:%S", gmtime_r(&seconds, &parts));
  printf("%*s", -TIME_WIDTH, text);
}

static void print_counts(const watch *w, const lh_counts *counts) {
  printf("%*s", COUNT_WIDTH, lh_count_text(counts->all.objects).text);
  for (const struct column *column = columns; column < columns + N_COLUMNS; column++)
    if (is_shown(w, column))
      printf("%*s", COUNT_WIDTH, lh_count_text(counts->by_type[column->type].objects).text);
}

static void print_look(const watch *w, const look *l) {
  bool exact = w->c->exact_bytes, is_first = w->n_lines == 0;
  int width = size_width(w->c);
  lh_number change = lh_size_change(w->last.bytes, l->bytes, exact);
  lh_number all = lh_size_change(w->first.bytes, l->bytes, exact);
  print_time(l->time_ns);
  printf("%*s%*s%*s", width, lh_size_text(l->bytes, exact).text, width,
         is_first ? "-" : change.text, width, is_first ? "-" : all.text);
  if (l->has_counts) print_counts(w, &l->counts);
  putchar('\n');
}

static void print_look_json(const watch *w, const look *l) {
  lh_json j = {.is_compact = true};
  cli_json_open(&j, NULL, '{');
  lh_json_count(&j, "time_ns", l->time_ns);
  lh_json_count(&j, "gc_bytes", l->bytes);
  lh_json_integer(&j, "change_bytes", w->n_lines > 0 ? (int64_t)(l->bytes - w->last.bytes) : 0);
  lh_json_integer(&j, "since_start_bytes",
                  w->n_lines > 0 ? (int64_t)(l->bytes - w->first.bytes) : 0);
  if (l->has_counts) {
    lh_json_count(&j, "stopped_ns", l->stopped_ns);
    lh_json_count(&j, "objects", l->counts.all.objects);
    cli_json_open(&j, "by_type", '{');
    for (lh_type type = LH_TYPE_ROOT + 1; type < LH_TYPE_COUNT; type++)
      lh_json_count(&j, lh_type_name(type), l->counts.by_type[type].objects);
    cli_json_close(&j, '}');
  }
  cli_json_close(&j, '}');
}

static void show_look(watch *w, const look *l) {
  if (w->c->json) {
    print_look_json(w, l);
  } else {
    bool has_heading =
        w->c->stdout_terminal ? w->n_lines % LINES_UNDER_A_HEADING == 0 : w->n_lines == 0;
    if (has_heading) print_heading(w);
    print_look(w, l);
  }
  cli_flush(w->c);
  if (w->n_lines++ == 0) w->first = *l;
  w->last = *l;
}

/* ==== Looking again and again ======================================================== */

bool look_repeatedly(const subject *s, const request *r, bool (*see)(void *payload),
                     void *payload) {
  waiter ending;
  wait_end end = WAIT_DUE;
  uint64_t start = cli_now_ns(), n = 0;
  bool goes_on = true;
  wait_begin(&ending, s->process_id);
  while (end == WAIT_DUE && (goes_on = see(payload)) && (r->max == 0 || ++n < r->max))
    end = wait_until(&ending, next_tick(start, r->every_ns));
  if (end == WAIT_ENDED) cli_say(s->c, "%s has ended", s->name);
  wait_close(&ending);
  return goes_on && end != WAIT_ENDED;
}

void print_watch_end(const subject *s, const request *r, const char *state,
                     const watch_growth *growth, bool goes_on) {
  if (s->c->json || growth->n_looks < 2) return;
  request next = {.mode = MODE_SERIES,
                  .target = r->target,
                  .state = state,
                  .every = "30s",
                  .max = 3,
                  .options = {.never_fork = r->options.never_fork}};
  printf("%s in %s\n", lh_size_change(growth->first, growth->last, s->c->exact_bytes).text,
         lh_duration_text(growth->elapsed_ns).text);
  if (growth->last <= growth->first || !goes_on) return;
  fputs("What of it stays: ", stdout);
  print_request(stdout, &next);
  putchar('\n');
}

/* False: the process or the state has ended. */
static bool look_once(void *payload) {
  watch *w = payload;
  lh_error error;
  look l;
  if (take_look(w, &l, &error) == LH_OK) {
    show_look(w, &l);
    return true;
  }
  cli_say(w->c, "%s", error.message);
  if (!is_over(&error) || w->n_lines == 0) exit(CLI_FAILURE);
  return false;
}

int watch_state(cli *c, const request *r) {
  watch w = {.c = c, .r = r, .lines_to_a_count = 1};
  subject_open(&w.subject, c, r);
  w.state = w.subject.states[subject_choose(&w.subject, r, NULL)];
  bool goes_on = look_repeatedly(&w.subject, r, look_once, &w);
  watch_growth growth = {w.first.bytes, w.last.bytes, w.last.time_ns - w.first.time_ns, w.n_lines};
  print_watch_end(&w.subject, r, r->state, &growth, goes_on);
  subject_close(&w.subject);
  return CLI_DONE;
}
