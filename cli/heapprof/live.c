/*
** live.c - watches a running program on a terminal: asks it every second, waits for the answer, and
** prints a page. Without a terminal, or with --once, it prints one page.
**
**     space   freezes the page, or continues
**     n       the next page while frozen; a stopped program runs until then
**     p       stops the program (SIGSTOP), or continues it (SIGCONT)
**     q       quits
**
** At the end, except by SIGKILL, a stopped program continues and the terminal is restored.
**
** A page shows live bytes, rates of allocation and freeing, types and sites. Rates are since the
** last page; on the first page, since tracking began.
*/
#include "heapprof.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

typedef struct counts {
  uint64_t allocated, allocated_bytes, freed, freed_bytes; /* a resize counts as both */
} counts;

/* A type, or all sites with one name, which differ in their allocators. */
typedef struct row {
  char *name;         /* printable */
  counts now, before; /* before: on the last page; zero on the first */
} row;

typedef struct rows {
  row *list; /* sorted by live bytes */
  size_t n;
} rows;

typedef struct page {
  char *program; /* printable; NULL: no page yet */
  bool is_first;
  uint64_t duration_ns, peak_bytes;
  uint64_t interval_ns; /* since the last page, or since tracking began */
  row all;
  rows types, sites;
} page;

/* ==== Counting ====================================================================== */

static void add_profile_count(counts *to, const lh_profile_count *from) {
  to->allocated += from->made + from->resized;
  to->allocated_bytes += from->made_bytes + from->resized_bytes;
  to->freed += from->freed + from->replaced;
  to->freed_bytes += from->freed_bytes + from->replaced_bytes;
}

static void add_counts(counts *to, const counts *from) {
  to->allocated += from->allocated;
  to->allocated_bytes += from->allocated_bytes;
  to->freed += from->freed;
  to->freed_bytes += from->freed_bytes;
}

static uint64_t more(uint64_t n, uint64_t than) {
  return n > than ? n - than : 0;
}

static uint64_t live_bytes(const counts *c) {
  return more(c->allocated_bytes, c->freed_bytes);
}

static uint64_t live_blocks(const counts *c) {
  return more(c->allocated, c->freed);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const row *)a)->name, ((const row *)b)->name);
}

static int by_live_bytes(const void *a, const void *b) {
  const row *one = a, *other = b;
  uint64_t mine = live_bytes(&one->now), its = live_bytes(&other->now);
  return mine != its ? (mine < its ? 1 : -1) : by_name(a, b);
}

static void finish_rows(rows *r, rows *before) {
  size_t n = 0;
  qsort(r->list, r->n, sizeof *r->list, by_name);
  if (before->n > 1) qsort(before->list, before->n, sizeof *before->list, by_name);
  for (size_t i = 0; i < r->n; i++) {
    if (n > 0 && by_name(&r->list[n - 1], &r->list[i]) == 0) {
      add_counts(&r->list[n - 1].now, &r->list[i].now);
      lh_free(r->list[i].name);
      continue;
    }
    const row *old = before->n == 0 ? NULL
                                    : bsearch(&r->list[i], before->list, before->n,
                                              sizeof *before->list, by_name);
    r->list[n] = r->list[i];
    if (old != NULL) r->list[n].before = old->now;
    n++;
  }
  r->n = n;
  qsort(r->list, n, sizeof *r->list, by_live_bytes);
}

static void append_live_row(rows *r, char *name, const counts *c) {
  r->list[r->n++] = (row){.name = cli_must(name), .now = *c};
}

static void free_live_rows(rows *r) {
  for (size_t i = 0; i < r->n; i++) lh_free(r->list[i].name);
  free(r->list);
}

static void free_page(page *p) {
  free_live_rows(&p->types);
  free_live_rows(&p->sites);
  lh_free(p->program);
}

static void count_profile(page *p, lh_profile *profile) {
  enum { PART = LH_TYPE_COUNT, TYPES };
  const lh_profile_info *info = lh_profile_about(profile);
  const lh_sites *sites = lh_profile_sites(profile);
  uint32_t n_sites = lh_n_sites(sites);
  size_t n;
  const lh_profile_count *list = lh_profile_counts(profile, &n);
  counts types[TYPES] = {{0}}, *of_sites = cli_must(calloc((size_t)n_sites + 1, sizeof *of_sites));
  page next = {.program = cli_escape(info->program),
               .is_first = p->program == NULL,
               .duration_ns = info->duration_ns,
               .interval_ns = more(info->duration_ns, p->duration_ns),
               .all.before = p->all.now};
  for (size_t i = 0; list != NULL && i < n; i++) {
    if (list[i].stack == 0) continue; /* freed blocks from before tracking */
    add_profile_count(&next.all.now, &list[i]);
    add_profile_count(&types[list[i].type < PART ? list[i].type : PART], &list[i]);
    add_profile_count(&of_sites[lh_stack_of(sites, list[i].stack)->site], &list[i]);
    next.peak_bytes += list[i].live_bytes_at_peak;
  }
  next.types.list = cli_must(calloc(TYPES, sizeof(row)));
  next.sites.list = cli_must(calloc((size_t)n_sites + 1, sizeof(row)));
  for (unsigned i = 0; i < TYPES; i++)
    if (types[i].allocated > 0)
      append_live_row(&next.types, cli_escape(i < PART ? lh_type_name((lh_type)i) : "part"),
                      &types[i]);
  for (uint32_t i = 1; i <= n_sites; i++)
    if (of_sites[i].allocated + of_sites[i].freed > 0)
      append_live_row(&next.sites, lh_site_text(lh_site_of(sites, i)), &of_sites[i]);
  finish_rows(&next.types, &p->types);
  finish_rows(&next.sites, &p->sites);
  free(of_sites);
  free_page(p);
  *p = next;
}

/* ==== Text =========================================================================== */

static uint64_t rate(const page *p, uint64_t now, uint64_t before) {
  double n = (double)more(now, before);
  return p->interval_ns > 0 ? (uint64_t)(n * 1e9 / (double)p->interval_ns + 0.5) : 0;
}

static lh_number size_rate(const cli *c, const page *p, uint64_t now, uint64_t before) {
  lh_number text = lh_size_text(rate(p, now, before), c->exact_bytes);
  strncat(text.text, "/s", sizeof text.text - strlen(text.text) - 1);
  return text;
}

static void print_rows(cli *c, const page *p, const char *heading, const rows *list, size_t most) {
  const cli_column columns[] = {{"live", CLI_RIGHT},   {"share", CLI_RIGHT},
                                {"blocks", CLI_RIGHT}, {"allocated", CLI_RIGHT},
                                {"freed", CLI_RIGHT},  {heading, CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < list->n && i < most; i++) {
    const row *r = &list->list[i];
    const counts *now = &r->now, *before = &r->before;
    lh_number live = lh_size_text(live_bytes(now), c->exact_bytes);
    lh_number share = lh_share_text(live_bytes(now), live_bytes(&p->all.now));
    lh_number blocks = lh_count_text(live_blocks(now));
    lh_number made = size_rate(c, p, now->allocated_bytes, before->allocated_bytes);
    lh_number freed = size_rate(c, p, now->freed_bytes, before->freed_bytes);
    cli_table_row(
        table, (const char *[]){live.text, share.text, blocks.text, made.text, freed.text, r->name},
        LH_PLAIN);
  }
  cli_table_print(table);
}

/* Prints at most `most` sites. state: the program's state, or NULL. */
static void print_page(cli *c, const page *p, size_t most, const char *state) {
  const counts *now = &p->all.now, *before = &p->all.before;
  printf("%s%s live in %s, allocated since tracking began; at most %s%s\n",
         cli_style_on(c, LH_BOLD), lh_size_text(live_bytes(now), c->exact_bytes).text,
         lh_count_of(live_blocks(now), "block", "blocks").text,
         lh_size_text(p->peak_bytes, c->exact_bytes).text, cli_style_off(c));
  printf("%s allocated in %s blocks/s, %s freed%s\n",
         size_rate(c, p, now->allocated_bytes, before->allocated_bytes).text,
         lh_count_text(rate(p, now->allocated, before->allocated)).text,
         size_rate(c, p, now->freed_bytes, before->freed_bytes).text,
         p->is_first ? ", on average" : "");
  printf("%s%s, tracked for %" PRIu64 " s%s%s%s\n\n", cli_style_on(c, LH_FAINT), p->program,
         p->duration_ns / 1000000000, state != NULL ? "; " : "", state != NULL ? state : "",
         cli_style_off(c));
  print_rows(c, p, "type", &p->types, SIZE_MAX);
  putchar('\n');
  print_rows(c, p, "allocated at", &p->sites, most > 0 ? most : SIZE_MAX);
}

/* ==== JSON =========================================================================== */

static void json_counts(lh_json *w, const counts *c) {
  lh_json_count(w, "live_bytes", live_bytes(c));
  lh_json_count(w, "live_blocks", live_blocks(c));
  lh_json_count(w, "allocated_bytes", c->allocated_bytes);
  lh_json_count(w, "allocated_blocks", c->allocated);
  lh_json_count(w, "freed_bytes", c->freed_bytes);
  lh_json_count(w, "freed_blocks", c->freed);
}

static void json_rows(lh_json *w, const char *key, const char *name, const rows *list,
                      size_t most) {
  cli_json_open(w, key, '[');
  for (size_t i = 0; i < list->n && (most == 0 || i < most); i++) {
    cli_json_open(w, NULL, '{');
    cli_json_name(w, name, list->list[i].name);
    json_counts(w, &list->list[i].now);
    cli_json_close(w, '}');
  }
  cli_json_close(w, ']');
}

static void print_page_json(const page *p, size_t most) {
  lh_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_name(&w, "program", p->program);
  lh_json_count(&w, "duration_ns", p->duration_ns);
  json_counts(&w, &p->all.now);
  lh_json_count(&w, "peak_bytes", p->peak_bytes);
  json_rows(&w, "types", "type", &p->types, 0);
  json_rows(&w, "sites", "site", &p->sites, most);
  cli_json_close(&w, '}');
}

enum { LOOK_MS = 20, LONGEST_WAIT_MS = 2000, LINES_BESIDES = 8 };

static volatile sig_atomic_t is_ending;

typedef struct view {
  cli *c;
  lh_tracked *program;
  const char *process_id;
  uint64_t every_ms;
  size_t limit;
  page page;
  bool stands, program_waits, is_silent;
  struct termios terminal; /* settings to restore */
  bool has_keys;
} view;

static view *watching; /* leave has no argument */

/* ==== The terminal ================================================================== */

static void end_by_signal(int number) {
  (void)number;
  is_ending = 1;
}

/* Restores the terminal and continues a stopped program; called however the process ends. */
static void leave_screen(void) {
  view *v = watching;
  if (v == NULL) return;
  watching = NULL;
  printf("\033[?25h\033[?1049l");
  fflush(stdout);
  if (v->has_keys) tcsetattr(STDIN_FILENO, TCSANOW, &v->terminal);
  lh_tracked_close(v->program);
}

static void begin_terminal(view *v) {
  static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction action = {.sa_handler = end_by_signal};
  watching = v;
  cli_must(atexit(leave_screen) == 0 ? v : NULL);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    sigaction(endings[i], &action, NULL);
  if (tcgetattr(STDIN_FILENO, &v->terminal) == 0) {
    struct termios keys = v->terminal;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    v->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  printf("\033[?1049h\033[?25l"); /* alternate screen, no cursor */
}

static size_t rows_that_fit(const view *v) {
  struct winsize size;
  size_t types = v->page.types.n;
  if (v->limit > 0) return v->limit;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 10;
  return size.ws_row > types + LINES_BESIDES + 3 ? size.ws_row - types - LINES_BESIDES : 3;
}

/* ==== Asking ======================================================================== */

/* Leaves the screen before it prints a failure. */
static void check_live(const view *v, int code, const lh_error *error) {
  if (code == LH_OK) return;
  leave_screen();
  cli_check(v->c, code, NULL, error);
}

/* Waits up to `ms` for an answer. True: the page is new. */
static bool look(view *v, uint64_t ms) {
  uint64_t end = cli_now_ns() + ms * 1000000;
  lh_profile *profile;
  lh_error error;
  for (;;) {
    check_live(v, lh_tracked_look(v->program, &profile, &error), &error);
    if (profile != NULL) count_profile(&v->page, profile);
    lh_profile_close(profile);
    if (profile != NULL || cli_now_ns() >= end || is_ending) return profile != NULL;
    poll(NULL, 0, LOOK_MS);
  }
}

static void request_page(view *v) {
  lh_error error;
  check_live(v, lh_tracked_ask(v->program, &error), &error);
}

/* ==== Pages ========================================================================= */

static void show_page(view *v) {
  const char *state = v->program_waits ? "it waits: p lets it go on"
                      : v->stands      ? "this page stands still: space goes on"
                      : v->is_silent   ? "it allocates nothing"
                                       : NULL;
  printf("\033[H\033[J");
  if (v->page.program != NULL)
    print_page(v->c, &v->page, rows_that_fit(v), state);
  else
    puts("waiting: a program answers when it allocates");
  printf("\n%sspace: stand still   n: next page   p: make the program wait   q: end%s",
         cli_style_on(v->c, LH_FAINT), cli_style_off(v->c));
  fflush(stdout);
}

static void next_page(view *v) {
  request_page(v);
  v->is_silent = !look(v, v->every_ms / 2);
}

static void pause_program(view *v, bool wait) {
  lh_error error;
  check_live(v, lh_tracked_pause(v->program, wait, &error), &error);
  v->program_waits = wait;
}

/* A stopped program runs for one page's time at most. */
static void step(view *v) {
  bool waits = v->program_waits;
  if (waits) pause_program(v, false);
  if (waits) poll(NULL, 0, (int)(v->every_ms / 2));
  next_page(v);
  if (waits) pause_program(v, true);
}

/* False: quit. */
static bool take_key(view *v, char key) {
  switch (key) {
    case ' ': v->stands = !v->stands; break;
    case 'n': step(v); break;
    case 'p': pause_program(v, !v->program_waits); break;
    case 'q': return false;
    default: break;
  }
  return true;
}

/* Waits for a key until the next page is due. False: quit. */
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
    show_page(v);
  } while (wait_for_key(v));
  leave_screen();
}

static int print_once(view *v) {
  request_page(v);
  if (!look(v, LONGEST_WAIT_MS)) {
    cli_say(v->c, "process %s did not answer: a program does when it allocates", v->process_id);
    return CLI_NO;
  }
  if (v->c->json)
    print_page_json(&v->page, v->limit);
  else
    print_page(v->c, &v->page, v->limit > 0 ? v->limit : 20, NULL);
  return CLI_DONE;
}

int watch_live(cli *c, const request *r) {
  uint64_t every_ms = r->every_ns > 0 ? r->every_ns / 1000000 : 1000;
  view v = {.c = c, .process_id = r->argument, .every_ms = every_ms};
  int status = CLI_DONE;
  uint64_t n;
  lh_error error;
  if (!lh_read_number(r->argument, &n))
    cli_usage_error(c, "--live-of needs the number of a process, not '%s'", r->argument);
  v.limit = r->asked.has_limit ? r->asked.limit : 0;
  cli_check(c, lh_tracked_open(n, &v.program, &error), NULL, &error);
  if (r->once || c->json || !c->stdout_terminal) {
    status = print_once(&v);
    lh_tracked_close(v.program);
  } else {
    watch(&v);
  }
  free_page(&v.page);
  return status;
}
