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
*/
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "live.h"

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
