/*
** live.c - looks at a running program again and again: what luamemprofiler's window did, on a
** terminal. Each second it asks, waits for the answer, and prints a page in place of the last one.
**
**     space   the page stands still, and goes on
**     n       the next page, while it stands still; if the program waits, it runs up to that
**     p       the program itself waits (SIGSTOP), and goes on (SIGCONT)
**     q       the end
**
** However this ends, but for SIGKILL, a program that waits goes on again, and the terminal is as it
** was. Where stdout is no terminal, and with --once, one page is printed.
**
** The page tells how much lives, how fast the program allocates and frees, and which types and
** sites that is. Rates are those of the time since the page before; on the first page, of all the
** time since tracking began.
*/
#include "heapprof.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "luaheap_tracked.h"

/* What the events of a type or a site add up to. */
typedef struct live_counts {
  uint64_t allocated, allocated_bytes, freed, freed_bytes; /* a resized block is both */
} live_counts;

enum { LIVE_TYPES = LH_TYPE_COUNT + 1 }; /* the last: parts of objects */

/* What the program told at one time. */
typedef struct live_figures {
  char *program; /* printable */
  uint64_t duration_ns, peak_bytes;
  live_counts all, types[LIVE_TYPES];
  live_counts *sites; /* by id */
  char **names;       /* of these; NULL: has no events */
  uint32_t n_sites;
} live_figures;

/* {=== Counting ====================================================================== */

static void add(live_counts *to, const lh_profile_count *from) {
  to->allocated += from->made + from->resized;
  to->allocated_bytes += from->made_bytes + from->resized_bytes;
  to->freed += from->freed + from->replaced;
  to->freed_bytes += from->freed_bytes + from->replaced_bytes;
}

static void live_count(lh_profile *profile, live_figures *figures) {
  const lh_profile_info *info = lh_profile_about(profile);
  const lh_sites *sites = lh_profile_sites(profile);
  size_t n;
  const lh_profile_count *rows = lh_profile_counts(profile, &n);
  *figures = (live_figures){.program = cli_escape(info->program), .duration_ns = info->duration_ns};
  figures->n_sites = lh_n_sites(sites);
  figures->sites = cli_must(calloc((size_t)figures->n_sites + 1, sizeof *figures->sites));
  figures->names = cli_must(calloc((size_t)figures->n_sites + 1, sizeof *figures->names));
  for (size_t i = 0; rows != NULL && i < n; i++) {
    const lh_profile_count *row = &rows[i];
    if (row->stack == 0) continue; /* what goes that was there before */
    lh_site_id site = lh_stack_of(sites, row->stack)->site;
    add(&figures->all, row);
    add(&figures->types[row->type < LH_TYPE_COUNT ? row->type : LH_TYPE_COUNT], row);
    add(&figures->sites[site], row);
    figures->peak_bytes += row->live_bytes_at_peak;
    if (figures->names[site] == NULL)
      figures->names[site] = cli_must(lh_site_text(lh_site_of(sites, site)));
  }
}

static void live_free(live_figures *figures) {
  for (uint32_t i = 0; figures->names != NULL && i <= figures->n_sites; i++)
    lh_free(figures->names[i]);
  free(figures->names);
  free(figures->sites);
  lh_free(figures->program);
  *figures = (live_figures){0};
}

static uint64_t live_bytes(const live_counts *counts) {
  uint64_t made = counts->allocated_bytes, gone = counts->freed_bytes;
  return made > gone ? made - gone : 0;
}

static uint64_t live_blocks(const live_counts *counts) {
  return counts->allocated > counts->freed ? counts->allocated - counts->freed : 0;
}

/* In a second. */
static uint64_t rate(uint64_t now, uint64_t before, uint64_t ns) {
  double n = now > before ? (double)(now - before) : 0;
  return ns > 0 ? (uint64_t)(n * 1e9 / (double)ns + 0.5) : 0;
}

/* }=================================================================================== */

/* {=== Rows ========================================================================== */

typedef struct row {
  const char *name;
  live_counts now, before;
} row;

static int by_live_bytes(const void *a, const void *b) {
  const row *one = a, *other = b;
  uint64_t mine = live_bytes(&one->now), its = live_bytes(&other->now);
  if (mine != its) return mine < its ? 1 : -1;
  return strcmp(one->name, other->name);
}

static const char *type_name(unsigned type) {
  return type < LH_TYPE_COUNT ? lh_type_name((lh_type)type) : "part";
}

/* Freed by free. */
static row *type_rows(const live_figures *now, const live_figures *before, size_t *n) {
  row *rows = cli_must(calloc(LIVE_TYPES, sizeof *rows));
  *n = 0;
  for (unsigned i = 0; i < LIVE_TYPES; i++)
    if (now->types[i].allocated > 0)
      rows[(*n)++] = (row){type_name(i), now->types[i], before->types[i]};
  qsort(rows, *n, sizeof *rows, by_live_bytes);
  return rows;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const row *)a)->name, ((const row *)b)->name);
}

static void merge(live_counts *to, const live_counts *from) {
  to->allocated += from->allocated;
  to->allocated_bytes += from->allocated_bytes;
  to->freed += from->freed;
  to->freed_bytes += from->freed_bytes;
}

/* Those with one name, which differ in what allocates there, are one. */
static size_t merge_rows(row *rows, size_t n) {
  size_t n_merged = 0;
  qsort(rows, n, sizeof *rows, by_name);
  for (size_t i = 0; i < n; i++) {
    row *last = n_merged > 0 ? &rows[n_merged - 1] : NULL;
    if (last != NULL && strcmp(last->name, rows[i].name) == 0) {
      merge(&last->now, &rows[i].now);
      merge(&last->before, &rows[i].before);
    } else {
      rows[n_merged++] = rows[i];
    }
  }
  return n_merged;
}

/* Sites keep their numbers as long as the program is tracked. */
static row *site_rows(const live_figures *now, const live_figures *before, size_t *n) {
  row *rows = cli_must(calloc((size_t)now->n_sites + 1, sizeof *rows));
  *n = 0;
  for (uint32_t i = 1; i <= now->n_sites; i++) {
    if (now->names[i] == NULL) continue;
    row *r = &rows[(*n)++];
    *r = (row){.name = now->names[i], .now = now->sites[i]};
    if (before->sites != NULL && i <= before->n_sites) r->before = before->sites[i];
  }
  *n = merge_rows(rows, *n);
  qsort(rows, *n, sizeof *rows, by_live_bytes);
  return rows;
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

static lh_number size_rate(const cli *c, uint64_t bytes) {
  lh_number text = lh_size_text(bytes, c->exact_bytes);
  strncat(text.text, "/s", sizeof text.text - strlen(text.text) - 1);
  return text;
}

static void print_rows(cli *c, const char *heading, const row *rows, size_t n, size_t shown,
                       uint64_t all_bytes, uint64_t ns) {
  const cli_column columns[] = {{"live", CLI_RIGHT},   {"share", CLI_RIGHT},
                                {"blocks", CLI_RIGHT}, {"allocated", CLI_RIGHT},
                                {"freed", CLI_RIGHT},  {heading, CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < n && i < shown; i++) {
    const live_counts *now = &rows[i].now, *before = &rows[i].before;
    uint64_t bytes = live_bytes(now);
    lh_number live = lh_size_text(bytes, c->exact_bytes), share = lh_share_text(bytes, all_bytes);
    lh_number blocks = lh_count_text(live_blocks(now));
    lh_number made = size_rate(c, rate(now->allocated_bytes, before->allocated_bytes, ns));
    lh_number freed = size_rate(c, rate(now->freed_bytes, before->freed_bytes, ns));
    cli_table_row(
        table,
        (const char *[]){live.text, share.text, blocks.text, made.text, freed.text, rows[i].name},
        CLI_PLAIN);
  }
  cli_table_print(table);
}

static void print_head(const cli *c, const live_figures *now, const live_figures *before,
                       uint64_t ns, const char *state) {
  uint64_t bytes = live_bytes(&now->all);
  lh_number blocks = lh_count_of(live_blocks(&now->all), "block", "blocks");
  printf("%s%s live in %s, allocated since tracking began; at most %s%s\n",
         cli_style_on(c, CLI_BOLD), lh_size_text(bytes, c->exact_bytes).text, blocks.text,
         lh_size_text(now->peak_bytes, c->exact_bytes).text, cli_style_off(c));
  lh_number made = size_rate(c, rate(now->all.allocated_bytes, before->all.allocated_bytes, ns));
  lh_number freed = size_rate(c, rate(now->all.freed_bytes, before->all.freed_bytes, ns));
  lh_number n = lh_count_text(rate(now->all.allocated, before->all.allocated, ns));
  printf("%s allocated in %s blocks/s, %s freed%s\n", made.text, n.text, freed.text,
         before->sites != NULL ? "" : ", on average");
  printf("%s%s, tracked for %" PRIu64 " s%s%s%s\n\n", cli_style_on(c, CLI_FAINT), now->program,
         now->duration_ns / 1000000000, state != NULL ? "; " : "", state != NULL ? state : "",
         cli_style_off(c));
}

/* What happened since `before`, which is all zero for what happened since tracking began; with
** `rows` sites at most. state: what the program does, if that is worth telling; or NULL. */
static void live_print(cli *c, const live_figures *now, const live_figures *before, size_t rows,
                       const char *state) {
  size_t n_types, n_sites;
  row *types = type_rows(now, before, &n_types), *sites = site_rows(now, before, &n_sites);
  uint64_t bytes = live_bytes(&now->all);
  uint64_t ns = now->duration_ns > before->duration_ns ? now->duration_ns - before->duration_ns : 0;
  print_head(c, now, before, ns, state);
  print_rows(c, "type", types, n_types, SIZE_MAX, bytes, ns);
  putchar('\n');
  print_rows(c, "allocated at", sites, n_sites, rows > 0 ? rows : SIZE_MAX, bytes, ns);
  free(types);
  free(sites);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static void json_counts(cli_json *w, const live_counts *counts) {
  cli_json_value(w, "live_bytes", cli_json_size(live_bytes(counts)));
  cli_json_value(w, "live_blocks", cli_json_size(live_blocks(counts)));
  cli_json_value(w, "allocated_bytes", cli_json_size(counts->allocated_bytes));
  cli_json_value(w, "allocated_blocks", cli_json_size(counts->allocated));
  cli_json_value(w, "freed_bytes", cli_json_size(counts->freed_bytes));
  cli_json_value(w, "freed_blocks", cli_json_size(counts->freed));
}

static void json_rows(cli_json *w, const char *key, const char *name, const row *rows, size_t n) {
  cli_json_open(w, key, '[');
  for (size_t i = 0; i < n; i++) {
    cli_json_open(w, NULL, '{');
    cli_json_value(w, name, cli_json_text(rows[i].name));
    json_counts(w, &rows[i].now);
    cli_json_close(w, '}');
  }
  cli_json_close(w, ']');
}

static void live_print_json(const live_figures *now, size_t rows) {
  const live_figures nothing = {0};
  size_t n_types, n_sites;
  row *types = type_rows(now, &nothing, &n_types), *sites = site_rows(now, &nothing, &n_sites);
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "program", cli_json_text(now->program));
  cli_json_value(&w, "duration_ns", cli_json_size(now->duration_ns));
  json_counts(&w, &now->all);
  cli_json_value(&w, "peak_bytes", cli_json_size(now->peak_bytes));
  json_rows(&w, "types", "type", types, n_types);
  json_rows(&w, "sites", "site", sites, rows > 0 && rows < n_sites ? rows : n_sites);
  cli_json_close(&w, '}');
  free(types);
  free(sites);
}

/* }=================================================================================== */

enum { LOOK_MS = 20, LONGEST_WAIT_MS = 2000, LINES_BESIDES = 8 };

static volatile sig_atomic_t is_ending;

typedef struct view {
  cli *c;
  lh_tracked *program;
  const char *process_id;
  uint64_t every_ms;
  size_t limit;
  live_figures now, before;
  bool stands, program_waits, is_silent;
  struct termios terminal; /* as it was */
  bool has_keys;
} view;

static view *watching; /* for leave, which has no argument */

/* {=== The terminal ================================================================== */

static void end_by_signal(int number) {
  (void)number;
  is_ending = 1;
}

/* However the process ends: the terminal as it was, and a program that waits goes on. */
static void leave(void) {
  view *v = watching;
  if (v == NULL) return;
  watching = NULL;
  printf("\033[?25h\033[?1049l");
  fflush(stdout);
  if (v->has_keys) tcsetattr(STDIN_FILENO, TCSANOW, &v->terminal);
  lh_tracked_close(v->program);
}

/* Keys are read as they come, and seen by nobody. */
static void begin_terminal(view *v) {
  static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction action = {.sa_handler = end_by_signal};
  watching = v;
  cli_must(atexit(leave) == 0 ? v : NULL);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    sigaction(endings[i], &action, NULL);
  if (tcgetattr(STDIN_FILENO, &v->terminal) == 0) {
    struct termios keys = v->terminal;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    v->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  printf("\033[?1049h\033[?25l"); /* a screen of its own, without a cursor */
}

/* Rows of sites for which the screen has room. */
static size_t rows_that_fit(const view *v) {
  struct winsize size;
  size_t types = 0;
  if (v->limit > 0) return v->limit;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 10;
  for (unsigned i = 0; i < LIVE_TYPES; i++) types += v->now.types[i].allocated > 0;
  return size.ws_row > types + LINES_BESIDES + 3 ? size.ws_row - types - LINES_BESIDES : 3;
}

/* }=================================================================================== */

/* {=== Asking ======================================================================== */

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A failure leaves the screen before it is told. */
static void check(const view *v, int code, const lh_error *error) {
  if (code == LH_OK) return;
  leave();
  cli_check(v->c, code, NULL, error);
}

static void take(view *v, lh_profile *profile) {
  live_free(&v->before);
  v->before = v->now;
  live_count(profile, &v->now);
  lh_profile_close(profile);
}

/* Up to `ms` it waits for an answer. Is there one? */
static bool look(view *v, uint64_t ms) {
  uint64_t end = now_ms() + ms;
  lh_profile *profile;
  lh_error error;
  for (;;) {
    check(v, lh_tracked_look(v->program, &profile, &error), &error);
    if (profile != NULL) take(v, profile);
    if (profile != NULL || now_ms() >= end || is_ending) return profile != NULL;
    poll(NULL, 0, LOOK_MS);
  }
}

static void ask(view *v) {
  lh_error error;
  check(v, lh_tracked_ask(v->program, &error), &error);
}

/* }=================================================================================== */

/* {=== Pages ========================================================================= */

static void show(view *v) {
  const char *state = v->program_waits ? "it waits: p lets it go on"
                      : v->stands      ? "this page stands still: space goes on"
                      : v->is_silent   ? "it allocates nothing"
                                       : NULL;
  printf("\033[H\033[J");
  if (v->now.sites != NULL)
    live_print(v->c, &v->now, &v->before, rows_that_fit(v), state);
  else
    puts("waiting: a program answers when it allocates");
  printf("\n%sspace: stand still   n: next page   p: make the program wait   q: end%s",
         cli_style_on(v->c, CLI_FAINT), cli_style_off(v->c));
  fflush(stdout);
}

static void next_page(view *v) {
  ask(v);
  v->is_silent = !look(v, v->every_ms / 2);
}

static void let_wait(view *v, bool wait) {
  lh_error error;
  check(v, lh_tracked_pause(v->program, wait, &error), &error);
  v->program_waits = wait;
}

/* A program that waits runs for as long as a page. */
static void step(view *v) {
  bool waits = v->program_waits;
  if (waits) let_wait(v, false);
  if (waits) poll(NULL, 0, (int)(v->every_ms / 2));
  next_page(v);
  if (waits) let_wait(v, true);
}

/* False: the end. */
static bool take_key(view *v, char key) {
  switch (key) {
    case ' ': v->stands = !v->stands; break;
    case 'n': step(v); break;
    case 'p': let_wait(v, !v->program_waits); break;
    case 'q': return false;
    default: break;
  }
  return true;
}

/* Until the next page is due, or a key was taken. False: the end. */
static bool wait_for_key(view *v) {
  struct pollfd keys = {.fd = v->has_keys ? STDIN_FILENO : -1, .events = POLLIN};
  char key;
  if (poll(&keys, 1, (int)v->every_ms) <= 0) return !is_ending;
  if (read(STDIN_FILENO, &key, 1) != 1) return false;
  return !is_ending && take_key(v, key);
}

static void watch(view *v) {
  begin_terminal(v);
  do {
    if (!v->stands && !v->program_waits) next_page(v);
    show(v);
  } while (wait_for_key(v));
  leave();
}

static int print_once(view *v) {
  ask(v);
  if (!look(v, LONGEST_WAIT_MS)) {
    cli_say(v->c, "process %s did not answer: a program does when it allocates", v->process_id);
    return CLI_NO;
  }
  if (v->c->json)
    live_print_json(&v->now, v->limit);
  else
    live_print(v->c, &v->now, &v->before, v->limit > 0 ? v->limit : 20, NULL);
  return CLI_DONE;
}

/* }=================================================================================== */

static int run(cli *c, const request *r) {
  uint64_t every_ms = r->every_ns > 0 ? r->every_ns / 1000000 : 1000;
  view v = {.c = c, .process_id = r->argument, .every_ms = every_ms};
  char *end;
  int status = CLI_DONE;
  lh_error error;
  errno = 0;
  unsigned long long n = strtoull(r->argument, &end, 10);
  if (r->argument[0] < '0' || r->argument[0] > '9' || *end != '\0' || errno != 0)
    cli_usage_error(c, "--live-of needs the number of a process, not '%s'", r->argument);
  v.limit = r->asked.has_limit ? r->asked.limit : 0;
  cli_check(c, lh_tracked_open(n, &v.program, &error), NULL, &error);
  if (r->once || c->json || !c->stdout_terminal) {
    status = print_once(&v);
    lh_tracked_close(v.program);
  } else {
    watch(&v);
  }
  live_free(&v.now);
  live_free(&v.before);
  return status;
}

const mode live_of_mode = {.name = "live-of",
                           .argument = "PID",
                           .help = "a running program: who allocates, and what lives",
                           .takes = TAKES_EVERY | TAKES_ONCE,
                           .run = run};
