/*
** target.c - opens the named process or core, and chooses one of its Lua states.
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

/* The biggest ones. */
static _Noreturn void suggest_states(const subject *s, const request *r) {
  enum { MOST_SHOWN = 10 };
  size_t shown = s->n_states > MOST_SHOWN ? MOST_SHOWN : s->n_states;
  state_row *rows = cli_must(calloc(s->n_states, sizeof *rows));
  for (size_t i = 0; i < s->n_states; i++) rows[i] = state_row_of(&s->states[i], i);
  (void)sort_state_rows(rows, s->n_states, false);
  cli_say(s->c, "%s has %s Lua states: which one?", s->name, lh_count_text(s->n_states).text);
  for (size_t i = 0; i < shown; i++) {
    char number[24], *text = state_text(&s->states[rows[i].state], s->c->exact_bytes);
    (void)snprintf(number, sizeof number, "%zu", rows[i].state + 1);
    print_state(r, number, text);
    free(text);
  }
  if (shown < s->n_states)
    fprintf(stderr, "and %s more: --list shows all\n", lh_count_text(s->n_states - shown).text);
  if (r->mode == MODE_TAKE) print_state(r, "all", "a file for each, with its number");
  if (r->mode == MODE_SERIES) print_state(r, "all", "files for each");
  if (r->mode == MODE_WATCH) print_state(r, "all", "those that grow");
  free(rows);
  exit(CLI_FAILURE);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* Freed by free. `state` NULL: all states. */
static char *list_command(const subject *s, const char *state) {
  char *command;
  size_t n;
  request list = {.mode = MODE_LIST, .target = s->name, .state = state};
  FILE *out = cli_open_text(&command, &n);
  print_request(out, &list);
  cli_close_text(out);
  return command;
}

bool is_named(const subject *s, size_t i, const char *name) {
  const char *script = s->states[i].script;
  uint64_t number;
  if (lh_read_number(name, &number)) return number == i + 1;
  return strcmp(name, "all") == 0 || strcmp(script, name) == 0 ||
         strcmp(base_name(script), name) == 0;
}

size_t check_is_named(const subject *s, const char *name) {
  uint64_t number;
  for (size_t i = 0; i < s->n_states; i++)
    if (is_named(s, i, name)) return i;
  if (lh_read_number(name, &number))
    cli_usage_error(s->c, "%s has %s, and no state %s: %s shows them", s->name,
                    lh_count_of(s->n_states, "Lua state", "Lua states").text, name,
                    list_command(s, NULL));
  cli_usage_error(s->c, "%s has no Lua state that runs '%s': %s shows them", s->name, name,
                  list_command(s, NULL));
}

static size_t choose_named(const subject *s, const char *name) {
  size_t found = check_is_named(s, name), n = 0;
  for (size_t i = found; i < s->n_states; i++) n += is_named(s, i, name);
  if (n == 1) return found;
  cli_usage_error(s->c, "%s has %zu Lua states that run '%s': see %s", s->name, n, name,
                  list_command(s, name));
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
