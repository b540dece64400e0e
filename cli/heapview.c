/*
** heapview - shows snapshots in a browser: one page, served to this machine alone unless --listen
** is given. The address is printed before the files are read, and the page shows the progress.
** Questions are answered from the open snapshots (parts: heapview/heapview.h). Ten million objects
** take some seconds to open.
*/
#include <malloc.h>
#include <signal.h>

#include "heapview/heapview.h"

typedef enum open_when { OPEN_AUTO, OPEN_ALWAYS, OPEN_NEVER } open_when; /* as in the option */

typedef struct request {
  const char *report; /* NULL: serve the page */
  open_when open;
  const char *listen;
  uint64_t port;
} request;

static const cli_option options[] = {
    {'o', "output", "REPORT", "write one file that needs no snapshots, and end", CLI_FILE(report)},
    {0, "open", "WHEN=auto|always|never", "a browser: auto (default; at a display), always, never",
     CLI_WORD(open)},
    {0, "listen", "ADDRESS", "for other machines, too (default: this one alone)", CLI_TEXT(listen)},
    {0, "port", "N", "listen there (default: any port that is free)", CLI_NUMBER(port)},
    CLI_LAST_OPTIONS};

static const cli_tool tool = {
    "heapview",
    "Shows snapshots of a Lua heap, and a profile, in a browser.",
    {"[options] SNAPSHOT ... [PROFILE]", "-o REPORT SNAPSHOT ... [PROFILE]"},
    options,
    "It prints the address of the page, and answers until it is interrupted.\n"
    "Example: heapview a b c\n"
    "Exit status: 0 done, or ended by a signal, 2 wrong usage or failure.\n"};

typedef struct opening {
  cli *c;
  server *server;
  bool has_browser;   /* a browser was opened */
  const char **files; /* of the snapshots */
  view view;
} opening;

/* A file's first bytes say whether it is a profile or a snapshot. */
static void take_file(opening *o, const char *file) {
  view *v = &o->view;
  if (lh_is_profile(file) && v->profile != NULL)
    cli_usage_error(o->c, "one profile at a time: '%s' or '%s'", v->profile, file);
  if (lh_is_profile(file))
    v->profile = file;
  else
    o->files[v->n++] = file;
}

static void parse_heapview(opening *o, request *r, int argc, char **argv) {
  cli *c = o->c;
  cli_parse(c, r, argc, argv);
  if (r->port > 65535)
    cli_usage_error(c, "--port needs a number up to 65535, not '%" PRIu64 "'", r->port);
  if (r->report != NULL && (r->open != OPEN_AUTO || r->listen != NULL || r->port != 0))
    cli_usage_error(c, "-o serves nothing: leave --open, --listen and --port out");
  if (optind == argc) cli_usage_error(c, "which snapshots? Name the files");
  o->view.files = o->files = cli_must(calloc((size_t)(argc - optind), sizeof *o->files));
  for (int i = optind; i < argc; i++) take_file(o, argv[i]);
}

/* As cli_check, and the page shows the message too. */
static void check_opening(opening *o, int code, const char *file, const lh_error *error) {
  char text[sizeof error->message + 256];
  if (code == LH_OK) return;
  snprintf(text, sizeof text, "%s%s%s", file != NULL ? file : "", file != NULL ? ": " : "",
           error->message);
  cli_say_error(o->c, file, error);
  if (o->server != NULL) server_fail(o->server, text, o->has_browser);
  view_forget_browser();
  exit(CLI_FAILURE);
}

/* Before there is an address: what is not there, or is another user's. */
static void check_readable(opening *o, const char *file) {
  lh_error error = {.code = LH_EIO};
  if (file == NULL || access(file, R_OK) == 0) return;
  error.os_errno = errno;
  snprintf(error.message, sizeof error.message, "cannot open '%s': %s", file, strerror(errno));
  check_opening(o, error.code, NULL, &error);
}

/* Sorts by time: a shell lists run-10 before run-9. All but the last snapshot are analysed when
** first asked about, so several take little more memory than one. */
static lh_snapshot **open_snapshots(opening *o) {
  size_t n = o->view.n;
  lh_snapshot **snapshots = cli_must(calloc(n + 1, sizeof *snapshots)), *snapshot;
  lh_error error;
  for (size_t i = 0; i < n; i++) {
    const char *file = o->files[i];
    check_opening(o, cli_try_open(o->c, file, &snapshot, &error), NULL, &error);
    size_t at = i;
    for (; at > 0 && lh_is_earlier(snapshot, snapshots[at - 1]); at--) {
      snapshots[at] = snapshots[at - 1];
      o->files[at] = o->files[at - 1];
    }
    snapshots[at] = snapshot;
    o->files[at] = file;
  }
  check_opening(o, lh_place_marks(snapshots, n, &error), NULL, &error);
  if (n > 0)
    check_opening(o, cli_try_analyse(o->c, o->files[n - 1], snapshots[n - 1], &error),
                  o->files[n - 1], &error);
  return snapshots;
}

static lh_usage *open_profile(opening *o, const char *file) {
  lh_profile *profile;
  lh_usage *usage;
  lh_error error;
  lh_usage_query query = {.peak = true};
  o->c->reads_profiles = true;
  cli_progress(o->c, "reading %s", file);
  check_opening(o, lh_profile_open(file, &profile, &error), NULL, &error);
  query.peak = !lh_profile_about(profile)->is_aggregate;
  cli_progress(o->c, "%s: counting %s", file,
               lh_count_of(lh_profile_about(profile)->n_events, "event", "events").text);
  check_opening(o, lh_usage_new(&usage, profile, &query, &error), file, &error);
  cli_progress(o->c, NULL);
  return usage;
}

/* To open a file, malloc keeps all that it gets (cli/open.c), and a report is made with the same
** memory. A server is idle between questions, each of which uses arrays of megabytes for a short
** time: each array is mapped alone, and goes back to the system at once. */
static void return_memory(void) {
  enum { LARGE = 1 << 18, MANY = 1 << 16 };
  (void)mallopt(M_MMAP_MAX, MANY);
  (void)mallopt(M_MMAP_THRESHOLD, LARGE);
  (void)mallopt(M_TRIM_THRESHOLD, LARGE);
  (void)malloc_trim(0);
}

static void open_all(opening *o) {
  view *v = &o->view;
  v->snapshots = open_snapshots(o);
  if (v->profile != NULL) v->usage = open_profile(o, v->profile);
}

static void close_all(view *v) {
  lh_profile *profile = v->usage != NULL ? lh_usage_profile(v->usage) : NULL;
  view_end(v);
  for (size_t i = 0; i < v->n; i++) lh_close(v->snapshots[i]);
  lh_usage_free((lh_usage *)v->usage);
  lh_profile_close(profile);
  free((void *)v->snapshots);
}

/* ==================================================================================== */

static void print_address(cli *c, const server *s) {
  puts(server_address(s));
  if (fflush(stdout) != 0) {
    view_forget_browser();
    cli_die(c, NULL, "cannot write the address: %s", strerror(errno));
  }
  (void)signal(SIGPIPE, SIG_IGN); /* a client that closes its connection must not end us */
}

static int write_report(opening *o, const char *path) {
  view_check_report(o->c, path);
  open_all(o);
  view_write(&o->view, path);
  close_all(&o->view);
  free(o->files);
  return cli_finish(o->c, CLI_DONE);
}

static bool wants_browser(const cli *c, open_when when) {
  static const char *const displays[] = {"WAYLAND_DISPLAY", "DISPLAY"};
  if (when != OPEN_AUTO) return when == OPEN_ALWAYS;
  for (size_t i = 0; c->stdout_terminal && i < sizeof displays / sizeof *displays; i++) {
    const char *display = getenv(displays[i]);
    if (display != NULL && *display != '\0') return true;
  }
  return false;
}

int main(int argc, char **argv) {
  cli c;
  request r = {0};
  opening o = {.c = &c, .view = {.c = &c}};
  cli_begin(&c, &tool);
  parse_heapview(&o, &r, argc, argv);
  if (r.report != NULL) return write_report(&o, r.report);
  for (size_t i = 0; i < o.view.n; i++) check_readable(&o, o.files[i]);
  check_readable(&o, o.view.profile);
  c.payload = o.view.client = o.server = server_start(&c, r.listen, (unsigned)r.port);
  c.show_progress = server_tell;
  o.view.is_gone = server_client_has_left;
  if (wants_browser(&c, r.open)) o.has_browser = view_open_browser(server_address(o.server));
  print_address(&c, o.server);
  open_all(&o);
  return_memory();
  server_run(o.server, &o.view);
}
