/*
** target.c - opens the named process or core, chooses one of its Lua states; --list.
**
** Digits alone are a process id, even if a file has that name: that is ./4711. Of several states
** one is chosen by its number in --list, by its script, or by an older snapshot of it.
*/
#include "heapattach/heapattach.h"

bool is_all(const request *r) {
  return r->state != NULL && strcmp(r->state, "all") == 0;
}

bool subject_is_process(const char *name) {
  return *name != '\0' && name[strspn(name, "0123456789")] == '\0';
}

bool is_over(const lh_error *error) {
  return (error->code == LH_EIO && error->os_errno == ESRCH) || error->code == LH_EHOST;
}

/* ==== Opening ======================================================================= */

static void open_process(subject *s, const request *r) {
  lh_error error;
  bool has_file = access(s->name, F_OK) == 0;
  if (!lh_read_number(s->name, &s->process_id) || s->process_id == 0 || s->process_id > INT32_MAX)
    cli_usage_error(s->c, "no process has the number %s", s->name);
  if (lh_open_process((int64_t)s->process_id, r->awaited, &s->target, &error) == LH_OK) {
    if (has_file) cli_say(s->c, "%s is the process; the file is ./%s", s->name, s->name);
    return;
  }
  cli_die(s->c, has_file ? cli_format("For the file of this name type ./%s.", s->name) : NULL, "%s",
          error.message);
}

char *command_for_number(const char *name) {
  bool may_be_called_so = *name != '\0' && *name != '-' && strchr(name, '/') == NULL;
  char *word = cli_shell_word(may_be_called_so ? name : "NAME");
  char *command = cli_format("pgrep -af %s", word);
  free(word);
  return command;
}

static char *hint_for_no_file(const char *name) {
  char *command = command_for_number(name);
  char *hint =
      cli_format("Give it a core file, or the number of a process, which %s tells.", command);
  free(command);
  return hint;
}

static void open_core(subject *s, const request *r) {
  lh_error error;
  lh_await(r->awaited, s->name); /* also for the files that it names */
  int code = lh_open_core(s->name, &s->target, &error);
  lh_await_end(r->awaited);
  if (code == LH_OK) return;
  bool is_there = error.code != LH_EIO || error.os_errno != ENOENT;
  cli_die(s->c, is_there ? NULL : hint_for_no_file(s->name), "%s", error.message);
}

static void show_search(void *payload, uint64_t searched_bytes) {
  const subject *s = payload;
  cli_progress(s->c, "looking for Lua in %s: %s", s->name,
               lh_size_text(searched_bytes, false).text);
}

int subject_look(subject *s, lh_error *error) {
  lh_show_search(s->target, show_search, s);
  int code = lh_find_states(s->target, &s->states, &s->n_states, error);
  cli_progress(s->c, NULL);
  return code;
}

void subject_open(subject *s, cli *c, const request *r) {
  lh_error error;
  *s = (subject){.c = c, .name = r->target, .shown = cli_escape(r->target)};
  if (subject_is_process(s->name))
    open_process(s, r);
  else
    open_core(s, r);
  s->info = lh_describe_target(s->target);
  if (s->info.doubt != NULL) cli_say(c, "%s: %s", s->name, s->info.doubt);
  int code = subject_look(s, &error);
  if (code == LH_OK) return;
  cli_say(c, "%s", error.message);
  lh_target_free(s->target);
  if (code == LH_EHOST && s->process_id > 0 && leaves_workers_out(r))
    print_started(c, r, s->process_id);
  exit(cli_finish(c, code == LH_EHOST ? CLI_NO : CLI_FAILURE));
}

void subject_close(subject *s) {
  lh_target_free(s->target);
  lh_free(s->shown);
}

/* ==== Which state =================================================================== */

static char *state_text(const lh_found_state *state, bool exact) {
  char *script = cli_escape(state->script);
  char *text = cli_format("%s%sLua %s, %s", script, *script != '\0' ? ", " : "", state->release,
                          lh_size_text(state->gc_bytes, exact).text);
  lh_free(script);
  return text;
}

static void print_state(const request *r, const char *state, const char *what) {
  request chosen = *r;
  chosen.state = state;
  print_choice(&chosen, what);
}

static _Noreturn void suggest_states(const subject *s, const request *r) {
  enum { MOST_SHOWN = 10 };
  size_t shown = s->n_states > MOST_SHOWN ? MOST_SHOWN : s->n_states;
  cli_say(s->c, "%s has %s Lua states: which one?", s->name, lh_count_text(s->n_states).text);
  for (size_t i = 0; i < shown; i++) {
    const lh_found_state *state = &s->states[i];
    char number[24], *text = state_text(state, s->c->exact_bytes);
    (void)snprintf(number, sizeof number, "%zu", i + 1);
    print_state(r, number, text);
    free(text);
  }
  if (shown < s->n_states)
    fprintf(stderr, "and %s more: --list shows all\n", lh_count_text(s->n_states - shown).text);
  if (r->mode == MODE_TAKE) print_state(r, "all", "a file for each, with its number");
  if (r->mode == MODE_SERIES) print_state(r, "all", "files for each");
  exit(CLI_FAILURE);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* Freed by free. */
static char *list_command(const subject *s) {
  char *target = cli_shell_word(s->name), *command = cli_format("heapattach --list %s", target);
  free(target);
  return command;
}

/* By number, or by script, with or without folders. */
static size_t choose_named(const subject *s, const char *name) {
  size_t found = 0, n = 0;
  uint64_t number;
  if (lh_read_number(name, &number)) {
    if (number >= 1 && number <= s->n_states) return (size_t)number - 1;
    cli_usage_error(s->c, "%s has %s, and no state %s: %s shows them", s->name,
                    lh_count_of(s->n_states, "Lua state", "Lua states").text, name,
                    list_command(s));
  }
  for (size_t i = 0; i < s->n_states; i++) {
    const char *script = s->states[i].script;
    if (strcmp(script, name) != 0 && strcmp(base_name(script), name) != 0) continue;
    found = i;
    n++;
  }
  if (n == 1) return found;
  if (n == 0)
    cli_usage_error(s->c, "%s has no Lua state that runs '%s': %s shows them", s->name, name,
                    list_command(s));
  cli_usage_error(s->c, "%s has %zu Lua states that run '%s': choose one by its number in --list",
                  s->name, n, name);
}

static size_t choose_by_age(const subject *s, const request *r, const lh_snapshot *after) {
  const lh_info *info = lh_snapshot_info(after);
  for (size_t i = 0; i < s->n_states; i++)
    if (s->states[i].id == info->state_id) return i;
  cli_die(s->c, cli_format("For a first snapshot of this one leave --after out."),
          "'%s' is of another Lua state: it was taken of process %" PRIu64 " (%s), at %s", r->after,
          info->process_id, info->program, lh_time_text(info->time_ns).text);
}

size_t subject_choose(const subject *s, const request *r, const lh_snapshot *after) {
  size_t chosen = 0;
  if (r->state != NULL)
    chosen = choose_named(s, r->state);
  else if (s->n_states > 1 && after == NULL)
    suggest_states(s, r);
  if (after == NULL) return chosen;
  size_t aged = choose_by_age(s, r, after);
  if (r->state != NULL && aged != chosen)
    cli_die(s->c, NULL, "'%s' is of state %zu, not of '%s'", r->after, aged + 1, r->state);
  return aged;
}

/* ==== --list ========================================================================= */

static void print_row(cli_table *table, const cli *c, size_t number, const lh_found_state *state) {
  char *script = cli_escape(state->script);
  lh_number n = lh_count_text(number), bytes = lh_size_text(state->gc_bytes, c->exact_bytes);
  cli_table_row(table,
                (const char *[]){n.text, bytes.text, state->release,
                                 state->has_luaheap ? "loaded" : "no", script},
                LH_PLAIN);
  lh_free(script);
}

static void print_states(const subject *s) {
  static const cli_column columns[] = {{"state", CLI_RIGHT},
                                       {"heap", CLI_RIGHT},
                                       {"Lua", CLI_LEFT},
                                       {"luaheap", CLI_LEFT},
                                       {"script", CLI_WRAP}};
  char *program = cli_escape(s->info.program), *file = unused_name("a");
  printf("%s%s in %s: %s%s\n\n", cli_style_on(s->c, LH_BOLD),
         lh_count_of(s->n_states, "Lua state", "Lua states").text, s->shown, program,
         cli_style_off(s->c));
  cli_table *table = cli_table_new(s->c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < s->n_states; i++) print_row(table, s->c, i + 1, &s->states[i]);
  cli_table_print(table);
  request next = {.target = s->name, .state = s->n_states > 1 ? "1" : NULL, .file = file};
  fputs("\nA snapshot: ", stdout);
  print_request(stdout, &next);
  putchar('\n');
  lh_free(program);
  free(file);
}

static void print_states_json(const subject *s, const workers *left_out, bool is_compact) {
  lh_json w = {.is_compact = is_compact};
  cli_json_open(&w, NULL, '{');
  lh_json_flag(&w, "core", s->info.is_core);
  lh_json_count(&w, "process", s->info.process_id);
  cli_json_name(&w, "program", s->info.program);
  cli_json_name(&w, "executable", s->info.executable);
  lh_json_count(&w, "private_bytes", s->info.private_bytes);
  cli_json_open(&w, "states", '[');
  for (size_t i = 0; i < s->n_states; i++) {
    const lh_found_state *state = &s->states[i];
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
  print_states_json(s, leaves_out ? &left_out : NULL, r->workers);
  free_workers(&left_out);
}

int list_states(cli *c, const request *r) {
  subject s;
  subject_open(&s, c, r);
  if (c->json)
    list_as_json(&s, r);
  else
    print_states(&s);
  bool is_told = c->json || s.info.is_core || !leaves_workers_out(r);
  uint64_t process_id = is_told ? 0 : s.process_id;
  subject_close(&s); /* one target at a time */
  cli_flush(c);      /* the next messages are on stderr */
  if (process_id > 0) print_started(c, r, process_id);
  return CLI_DONE;
}
