/*
** list.c - --list: the Lua states of a process or core, the biggest first.
**
** Of more than 20 states (MOST_STATES_APART) those that run the same script are one line: a game
** server or skynet has thousands. --state shows each. Numbers of states are by address, so that
** they stay the same while heaps grow; JSON has every state, by number.
*/
#include "heapattach/heapattach.h"

static size_t collect_rows(const subject *s, const request *r, state_row *rows) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_states; i++)
    if (r->state == NULL || is_named(s, i, r->state)) rows[n++] = state_row_of(&s->states[i], i);
  return n;
}

static void print_state_row(cli_table *table, const cli *c, const state_row *row) {
  char *script = cli_escape(row->script);
  lh_number number = lh_count_text(row->state + 1),
            bytes = lh_size_text(row->bytes, c->exact_bytes);
  cli_table_row(table,
                (const char *[]){number.text, bytes.text, row->oldest,
                                 row->n_with_luaheap > 0 ? "loaded" : "no", script},
                LH_PLAIN);
  lh_free(script);
}

static void print_state_rows(cli *c, const state_row *rows, size_t n) {
  static const cli_column columns[] = {{"state", CLI_RIGHT},
                                       {"heap", CLI_RIGHT},
                                       {"Lua", CLI_LEFT},
                                       {"luaheap", CLI_LEFT},
                                       {"script", CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < n; i++) print_state_row(table, c, &rows[i]);
  cli_table_print(table);
}

/* ==== Folded by script =============================================================== */

static void print_folded_row(cli_table *table, const subject *s, const state_row *row) {
  bool exact = s->c->exact_bytes;
  char *script = cli_escape(row->script);
  bool is_mixed = strcmp(row->oldest, row->newest) != 0;
  char *release =
      cli_format("%s%s%s", row->oldest, is_mixed ? "-" : "", is_mixed ? row->newest : "");
  lh_number n = lh_count_text(row->n), bytes = lh_size_text(row->bytes, exact);
  lh_number biggest = lh_size_text(s->states[row->state].gc_bytes, exact);
  lh_number number = lh_count_text(row->state + 1), loaded = lh_count_text(row->n_with_luaheap);
  const char *luaheap = row->n_with_luaheap == 0        ? "no"
                        : row->n_with_luaheap == row->n ? "loaded"
                                                        : loaded.text;
  cli_table_row(
      table,
      (const char *[]){n.text, bytes.text, biggest.text, number.text, release, luaheap, script},
      LH_PLAIN);
  lh_free(script);
  free(release);
}

static void print_folded_rows(const subject *s, const state_row *rows, size_t n) {
  static const cli_column columns[] = {
      {"states", CLI_RIGHT}, {"together", CLI_RIGHT}, {"biggest", CLI_RIGHT}, {"state", CLI_RIGHT},
      {"Lua", CLI_LEFT},     {"luaheap", CLI_LEFT},   {"script", CLI_WRAP}};
  cli_table *table = cli_table_new(s->c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < n; i++) print_folded_row(table, s, &rows[i]);
  cli_table_print(table);
}

/* ==== Text ============================================================================ */

static void print_title(const subject *s, const state_row *rows, size_t n) {
  uint64_t bytes = 0;
  char *program = cli_escape(s->info.program);
  for (size_t i = 0; i < n; i++) bytes += rows[i].bytes;
  fputs(cli_style_on(s->c, LH_BOLD), stdout);
  if (n < s->n_states) printf("%s of ", lh_count_text(n).text);
  printf("%s in %s", lh_count_of(s->n_states, "Lua state", "Lua states").text, s->shown);
  if (n > 1) printf(", %s together", lh_size_text(bytes, s->c->exact_bytes).text);
  printf(": %s%s\n\n", program, cli_style_off(s->c));
  lh_free(program);
}

static void print_next(const char *what, const request *next) {
  printf("%s: ", what);
  print_request(stdout, next);
  putchar('\n');
}

static void print_states(const subject *s, const request *r) {
  state_row *rows = cli_must(calloc(s->n_states, sizeof *rows));
  size_t n = collect_rows(s, r, rows);
  bool is_folded = r->state == NULL && n > MOST_STATES_APART;
  char number[24], *file = unused_name("a");
  print_title(s, rows, n);
  (void)sort_state_rows(rows, n, false);
  (void)snprintf(number, sizeof number, "%zu", rows[0].state + 1);
  if (is_folded)
    print_folded_rows(s, rows, sort_state_rows(rows, n, true));
  else
    print_state_rows(s->c, rows, n);
  putchar('\n');
  request each = {.mode = MODE_LIST, .target = s->name, .state = "all"};
  request snapshot = {.target = s->name, .state = s->n_states > 1 ? number : NULL, .file = file};
  if (is_folded) print_next("Each state", &each);
  print_next("A snapshot", &snapshot);
  free(rows);
  free(file);
}

/* ==== JSON ============================================================================ */

static void print_states_json(const subject *s, const request *r, const workers *left_out) {
  lh_json w = {.is_compact = r->workers};
  cli_json_open(&w, NULL, '{');
  lh_json_flag(&w, "core", s->info.is_core);
  lh_json_count(&w, "process", s->info.process_id);
  cli_json_name(&w, "program", s->info.program);
  cli_json_name(&w, "executable", s->info.executable);
  lh_json_count(&w, "private_bytes", s->info.private_bytes);
  cli_json_open(&w, "states", '[');
  for (size_t i = 0; i < s->n_states; i++) {
    const lh_found_state *state = &s->states[i];
    if (r->state != NULL && !is_named(s, i, r->state)) continue;
    cli_json_open(&w, NULL, '{');
    lh_json_count(&w, "state", i + 1);
    json_state(&w, state);
    lh_json_count(&w, "gc_bytes", state->gc_bytes);
    lh_json_flag(&w, "luaheap", state->has_luaheap);
    cli_json_close(&w, '}');
  }
  cli_json_close(&w, ']');
  json_workers(&w, left_out);
  cli_json_close(&w, '}');
}

static void list_as_json(const subject *s, const request *r) {
  workers left_out = {0};
  bool leaves_out = leaves_workers_out(r) && !s->info.is_core;
  if (leaves_out) find_workers(s->c, s->process_id, &left_out);
  print_states_json(s, r, leaves_out ? &left_out : NULL);
  free_workers(&left_out);
}

int list_states(cli *c, const request *r) {
  subject s;
  subject_open(&s, c, r);
  if (r->state != NULL) check_is_named(&s, r->state);
  if (c->json)
    list_as_json(&s, r);
  else
    print_states(&s, r);
  bool is_told = c->json || s.info.is_core || !leaves_workers_out(r);
  uint64_t process_id = is_told ? 0 : s.process_id;
  subject_close(&s); /* one target at a time */
  cli_flush(c);      /* the next messages are on stderr */
  if (process_id > 0) print_started(c, r, process_id);
  return CLI_DONE;
}
