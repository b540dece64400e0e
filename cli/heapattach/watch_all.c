/*
** watch_all.c - --watch --state all: which of many Lua states grow, and how all grow together.
**
** Each second: a line about all states, and a line for each of those that have grown most since the
** first look. If more than 20 have grown (MOST_STATES_APART), those of one script are one line, and
** the one that grew most a second. Reading the sizes of 2,000 states takes 20 ms. States that were
** opened meanwhile are found by a new search, of which one is made as often as that takes less than
** a twentieth of a processor. They have grown from nothing.
*/
#include "heapattach/heapattach.h"

enum { SHARE_OF_SEARCHING = 20, MOST_ROWS = 10, MOST_FOLDED_ROWS = 5 };

typedef struct member {
  uint64_t first, last; /* bytes at the first look, and at the look before; 0: it is new */
} member;

typedef struct fleet {
  cli *c;
  const request *r;
  subject subject;
  lh_found_state *states; /* copies of the subject's; their sizes are read at each look */
  member *members;        /* by state */
  size_t n;
  uint64_t next_search; /* cli_now_ns() */
  state_row *rows;      /* those that grew, most first */
  size_t n_open, n_rows;
  uint64_t time_ns, bytes; /* of this look */
  uint64_t first_time_ns, first_bytes, last_bytes;
  uint64_t n_looks, n_lines;
} fleet;

/* ==== Looking ======================================================================= */

/* The size at earlier looks of a state that was known then. Both lists are in order of address. */
static member find_member(const fleet *f, const lh_found_state *state, size_t *at) {
  while (*at < f->n && f->states[*at].address < state->address) ++*at;
  bool is_known =
      *at < f->n && f->states[*at].address == state->address && f->states[*at].id == state->id;
  return is_known ? f->members[*at] : (member){0, 0};
}

static void adopt_states(fleet *f) {
  size_t n = f->subject.n_states, at = 0;
  lh_found_state *states = cli_must(calloc(n, sizeof *states));
  member *members = cli_must(calloc(n, sizeof *members));
  for (size_t i = 0; i < n; i++) {
    states[i] = f->subject.states[i];
    members[i] = find_member(f, &states[i], &at);
  }
  free(f->states);
  free(f->members);
  f->states = states;
  f->members = members;
  f->n = n;
  f->rows = cli_must(realloc(f->rows, n * sizeof *f->rows));
}

static int search_again(fleet *f, lh_error *error) {
  uint64_t start = cli_now_ns();
  int code = subject_look(&f->subject, error);
  uint64_t now = cli_now_ns();
  f->next_search = now + (now - start) * SHARE_OF_SEARCHING;
  if (code == LH_OK) adopt_states(f);
  return code;
}

static int read_sizes(fleet *f, lh_error *error) {
  int code = cli_now_ns() >= f->next_search ? search_again(f, error) : LH_OK;
  if (code == LH_OK) code = lh_outside_sizes(f->subject.target, f->states, f->n, error);
  return code == LH_EHOST ? search_again(f, error) : code; /* all are closed */
}

static void collect_growing(fleet *f) {
  f->bytes = f->n_open = f->n_rows = 0;
  for (size_t i = 0; i < f->n; i++) {
    uint64_t bytes = f->states[i].gc_bytes;
    member *m = &f->members[i];
    if (bytes == 0) continue; /* it is closed */
    f->n_open++;
    f->bytes += bytes;
    if (f->n_looks == 0) m->first = m->last = bytes;
    if (bytes <= m->first) continue;
    state_row *row = &f->rows[f->n_rows++];
    *row = state_row_of(&f->states[i], i);
    row->first = m->first;
    row->last = m->last;
  }
  (void)sort_state_rows(f->rows, f->n_rows, false);
  if (f->n_looks == 0) {
    f->first_time_ns = f->time_ns;
    f->first_bytes = f->last_bytes = f->bytes;
  }
}

static void keep_sizes(fleet *f) {
  for (size_t i = 0; i < f->n; i++)
    if (f->states[i].gc_bytes > 0) f->members[i].last = f->states[i].gc_bytes;
  f->last_bytes = f->bytes;
  f->n_looks++;
}

/* ==== Text =========================================================================== */

static void print_sizes(const fleet *f, uint64_t bytes, uint64_t last, uint64_t first) {
  bool exact = f->c->exact_bytes, is_first = f->n_looks == 0;
  int width = size_width(f->c);
  printf("%*s%*s%*s", width, lh_size_text(bytes, exact).text, width,
         is_first ? "-" : lh_size_change(last, bytes, exact).text, width,
         is_first ? "-" : lh_size_change(first, bytes, exact).text);
}

static const char *last_characters(const char *text, size_t most) {
  const char *from = text + strlen(text);
  for (size_t n = 0; from > text && n < most;) n += ((unsigned char)*--from & 0xC0) != 0x80;
  return from;
}

/* On a terminal a long script loses its first folders. */
static void print_label(const fleet *f, const char *label, const char *script) {
  enum { NARROW = 80, WIDE = 120, GAP = 2, DOTS = 3 };
  size_t taken = (size_t)(TIME_WIDTH + 3 * size_width(f->c)) + GAP + DOTS + strlen(label);
  size_t width = cli_is_narrow(f->c) ? NARROW : WIDE, room = width > taken ? width - taken : 0;
  char *text = cli_escape(script);
  const char *end = last_characters(text, room);
  bool is_cut = f->c->stdout_terminal && last_characters(text, room + DOTS) > text;
  printf("%*s%s%s%s\n", GAP, "", label, is_cut ? "..." : "", is_cut ? end : text);
  lh_free(text);
}

static void print_growing(fleet *f, const state_row *row, const char *label, const char *script) {
  printf("%*s", TIME_WIDTH, "");
  print_sizes(f, row->bytes, row->last, row->first);
  print_label(f, label, script);
  f->n_lines++;
}

static void print_state(fleet *f, const state_row *row, const char *before, const char *script) {
  char *label = cli_format("%sstate %zu%s%s", before, row->state + 1,
                           row->first == 0 ? " (new)" : "", *script != '\0' ? ", " : "");
  print_growing(f, row, label, script);
  free(label);
}

/* Below a row of several states the one that grew most. */
static void print_folded(fleet *f, const state_row *row) {
  state_row most = state_row_of(&f->states[row->state], row->state);
  char *label = cli_format("%s x ", lh_count_text(row->n).text);
  most.first = f->members[row->state].first;
  most.last = f->members[row->state].last;
  print_growing(f, row, label, row->script);
  print_state(f, &most, "  most: ", "");
  free(label);
}

static void print_heading(const fleet *f) {
  int width = size_width(f->c);
  printf("%s%*s%*s%*s%*s  states%s\n", cli_style_on(f->c, LH_BOLD), -TIME_WIDTH, "UTC", width,
         "heap", width, "change", width, "since start", cli_style_off(f->c));
}

static void print_look(fleet *f) {
  bool is_folded = f->n_rows > MOST_STATES_APART, is_terminal = f->c->stdout_terminal;
  if (f->n_looks == 0 || (is_terminal && f->n_lines >= LINES_UNDER_A_HEADING)) {
    print_heading(f);
    f->n_lines = 0;
  }
  print_time(f->time_ns);
  print_sizes(f, f->bytes, f->last_bytes, f->first_bytes);
  printf("  %s", lh_count_of(f->n_open, "state", "states").text);
  if (f->n_rows > 0)
    printf(", %s %s", lh_count_text(f->n_rows).text, f->n_rows == 1 ? "grows" : "grow");
  putchar('\n');
  f->n_lines++;
  size_t n = f->n_rows, most = is_folded ? MOST_FOLDED_ROWS : MOST_ROWS;
  if (is_folded) n = sort_state_rows(f->rows, n, true);
  for (size_t i = 0; i < n && i < most; i++) {
    if (f->rows[i].n > 1)
      print_folded(f, &f->rows[i]);
    else
      print_state(f, &f->rows[i], "", f->rows[i].script);
  }
}

/* ==== JSON ============================================================================ */

static void json_sizes(lh_json *w, uint64_t bytes, uint64_t last, uint64_t first) {
  lh_json_count(w, "gc_bytes", bytes);
  lh_json_integer(w, "change_bytes", (int64_t)(bytes - last));
  lh_json_integer(w, "since_start_bytes", (int64_t)(bytes - first));
}

static void print_look_json(const fleet *f) {
  lh_json w = {.is_compact = true};
  cli_json_open(&w, NULL, '{');
  lh_json_count(&w, "time_ns", f->time_ns);
  json_sizes(&w, f->bytes, f->last_bytes, f->first_bytes);
  lh_json_count(&w, "states", f->n_open);
  cli_json_open(&w, "growing", '[');
  for (size_t i = 0; i < f->n_rows; i++) {
    const state_row *row = &f->rows[i];
    cli_json_open(&w, NULL, '{');
    lh_json_count(&w, "state", row->state + 1);
    json_state(&w, &f->states[row->state]);
    json_sizes(&w, row->bytes, row->last, row->first);
    cli_json_close(&w, '}');
  }
  cli_json_close(&w, ']');
  cli_json_close(&w, '}');
}

/* ====================================================================================== */

/* False: the process has ended, or all states are closed. */
static bool look_at_all(void *payload) {
  fleet *f = payload;
  lh_error error;
  f->time_ns = real_time_ns();
  int code = read_sizes(f, &error);
  if (code != LH_OK) {
    cli_say(f->c, "%s", error.message);
    if (!is_over(&error) || f->n_looks == 0) exit(CLI_FAILURE);
    return false;
  }
  collect_growing(f);
  if (f->c->json)
    print_look_json(f);
  else
    print_look(f);
  cli_flush(f->c);
  keep_sizes(f);
  return true;
}

int watch_all_states(cli *c, const request *r) {
  fleet f = {.c = c, .r = r};
  char number[24] = "";
  uint64_t start = cli_now_ns();
  subject_open(&f.subject, c, r);
  f.next_search = cli_now_ns() + (cli_now_ns() - start) * SHARE_OF_SEARCHING;
  adopt_states(&f);
  bool goes_on = look_repeatedly(&f.subject, r, look_at_all, &f);
  if (f.n_rows > 0) (void)snprintf(number, sizeof number, "%zu", f.rows[0].state + 1);
  watch_growth growth = {f.first_bytes, f.last_bytes, f.time_ns - f.first_time_ns, f.n_looks};
  print_watch_end(&f.subject, r, f.n_rows > 0 ? number : NULL, &growth, goes_on);
  free(f.states);
  free(f.members);
  free(f.rows);
  subject_close(&f.subject);
  return CLI_DONE;
}
