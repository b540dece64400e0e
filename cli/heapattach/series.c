/*
** series.c - --every: takes a snapshot at each interval, with the marks of the earlier ones.
**
** Files are named as heap.auto names its own, PROGRAM-PID-N.heap; with several states, the first
** four digits of the state's id come before N. The series ends after --max rounds, by Control-C or
** with the process, and then prints how to compare the files.
**
** Temporary failures do not end it: a full disk, or a heap that never is between two changes.
*/
#include <sys/stat.h>

#include "heapattach/heapattach.h"

typedef struct member {
  uint64_t id, address;
  char **files;
  size_t n_files;
  uint64_t number;   /* of the last file */
  lh_snapshot *last; /* NULL: none yet */
} member;

typedef struct series {
  cli *c;
  const request *r;
  subject subject;
  member *members;
  size_t n_members;
  size_t n_written;
} series;

static member *member_of(series *s, const lh_found_state *state) {
  for (size_t i = 0; i < s->n_members; i++)
    if (s->members[i].id == state->id && s->members[i].address == state->address)
      return &s->members[i];
  s->members = cli_must(realloc(s->members, (s->n_members + 1) * sizeof *s->members));
  member *m = &s->members[s->n_members++];
  *m = (member){.id = state->id, .address = state->address};
  return m;
}

static void keep_last(member *m, lh_snapshot *snapshot, const char *path) {
  lh_close(m->last);
  m->last = snapshot;
  m->files = cli_must(realloc(m->files, (m->n_files + 1) * sizeof *m->files));
  m->files[m->n_files++] = cli_must(strdup(path));
}

static void free_member(member *m) {
  for (size_t i = 0; i < m->n_files; i++) free(m->files[i]);
  free(m->files);
  lh_close(m->last);
}

/* The script's name, else the program's, made safe for a file name and a terminal. For free(). */
static char *program_name(const subject *s, const lh_found_state *state) {
  enum { MOST_BYTES = 120 };
  const char *text = *state->script != '\0' && !state->is_text ? state->script : s->info.executable;
  const char *slash = strrchr(text, '/');
  char *name = cli_must(strndup(slash != NULL ? slash + 1 : text, MOST_BYTES));
  for (char *p = name; *p != '\0'; p++)
    if ((p == name && *p == '-') || (unsigned char)*p < ' ' || *p == 0x7F) *p = '_';
  return name;
}

static const char *directory_of(const request *r, const char **slash) {
  *slash = r->directory != NULL ? "/" : "";
  return r->directory != NULL ? r->directory : "";
}

/* The next name that no file has. Freed by free. */
static char *next_file(const series *s, const lh_found_state *state, member *m) {
  char id[8] = "", *path = NULL, *name = program_name(&s->subject, state);
  const char *slash, *directory = directory_of(s->r, &slash);
  struct stat info;
  if (is_all(s->r) && s->subject.n_states > 1)
    (void)snprintf(id, sizeof id, "-%04x", (unsigned)(state->id >> 48));
  do {
    free(path);
    m->number++;
    path = cli_format("%s%s%s-%s%s-%" PRIu64 ".heap", directory, slash, name, s->r->target, id,
                      m->number);
    lh_await_output(s->r->awaited, path);
  } while (lstat(path, &info) == 0);
  lh_await_end(s->r->awaited);
  free(name);
  return path;
}

/* ==== Rounds ======================================================================== */

static void keep(series *s, const shot *shots, size_t n) {
  for (size_t i = 0; i < n; i++) {
    member *m = member_of(s, &s->subject.states[shots[i].state]);
    lh_await_output(s->r->awaited, shots[i].path);
    keep_last(m, cli_open(s->c, shots[i].path), shots[i].path);
    lh_await_end(s->r->awaited);
  }
  s->n_written += n;
}

static void print_series_round(const series *s, const shot *shots, size_t n,
                               const lh_outside_result *result) {
  bool is_first = s->n_written == 0;
  if (s->c->json) {
    json_shots(&s->subject, shots, n, result, NULL, true);
  } else {
    print_shots(&s->subject, s->r, shots, n, result, is_first);
    if (is_first) print_common_facts(&s->subject, s->r, result);
  }
  cli_flush(s->c);
  if (!is_first || !leaves_workers_out(s->r)) return;
  workers left_out = {0};
  find_workers(s->c, s->subject.process_id, &left_out);
  print_left_out(s->c, s->r, &left_out);
  free_workers(&left_out);
}

static int take_round(series *s, size_t chosen, lh_error *error) {
  subject *of = &s->subject;
  bool all = is_all(s->r);
  lh_outside_result result = {0};
  int code = all && s->n_written > 0 ? subject_look(of, error) : LH_OK;
  if (code != LH_OK) return code;
  size_t n = all ? of->n_states : 1;
  shot *shots = cli_must(calloc(n, sizeof *shots));
  for (size_t i = 0; i < n; i++) {
    size_t state = all ? i : chosen;
    member *m = member_of(s, &of->states[state]);
    shots[i] = (shot){.state = state,
                      .path = next_file(s, &of->states[state], m),
                      .after = m->last,
                      .after_path = m->n_files > 0 ? m->files[m->n_files - 1] : NULL};
  }
  size_t n_taken;
  code = take_all(of, s->r, shots, n, &n_taken, &result, error);
  if (n_taken > 0) {
    print_series_round(s, shots, n_taken, &result);
    keep(s, shots, n_taken);
  }
  for (size_t i = 0; i < n; i++) free(shots[i].path);
  free(shots);
  return code;
}

/* False: the process or the state has ended. */
static bool try_round(series *s, size_t chosen) {
  lh_error error;
  int code = take_round(s, chosen, &error);
  if (code == LH_OK) return true;
  cli_say(s->c, "%s", error.message);
  if (s->n_written == 0 && code != LH_EBUSY) exit(CLI_FAILURE);
  return !is_over(&error);
}

static void show_next(const series *s, uint64_t ns) {
  cli_progress(s->c, "the next one at %s; Control-C ends the series",
               lh_time_text(real_time_ns() + ns - cli_now_ns()).text);
}

static void take_rounds(series *s, size_t chosen) {
  uint64_t start = cli_now_ns(), most = s->r->max > 0 ? s->r->max : LH_DEFAULT_MAX_FILES;
  waiter w;
  wait_begin(&w, s->subject.process_id);
  for (uint64_t round = 0; try_round(s, chosen) && ++round < most;) {
    uint64_t next = next_tick(start, s->r->every_ns);
    show_next(s, next);
    wait_end end = wait_until(&w, next);
    cli_progress(s->c, NULL);
    if (end == WAIT_ENDED) cli_say(s->c, "%s has ended", s->subject.name);
    if (end != WAIT_DUE) break;
  }
  wait_close(&w);
}

/* Before the process is touched. The message names no file that the user did not type. */
static void check_directory(cli *c, const request *r) {
  const char *slash, *directory = directory_of(r, &slash);
  char *path = cli_format("%s%s.heapattach", directory, slash);
  lh_file *file;
  lh_error error;
  lh_await_output(r->awaited, path);
  if (lh_create_file(&file, path, &error) != LH_OK)
    cli_die(c, NULL, "cannot write into '%s': %s", r->directory != NULL ? directory : ".",
            error.os_errno != 0 ? strerror(error.os_errno) : error.message);
  lh_discard_file(file); /* it has no name yet */
  lh_await_end(r->awaited);
  free(path);
}

int take_series(cli *c, const request *r) {
  series s = {.c = c, .r = r};
  if (r->after != NULL && is_all(r))
    cli_usage_error(c, "a series of all states begins without --after");
  lh_snapshot *after = r->after != NULL ? open_older(c, r, r->after) : NULL;
  check_directory(c, r);
  subject_open(&s.subject, c, r);
  size_t chosen = is_all(r) ? 0 : subject_choose(&s.subject, r, after);
  if (after != NULL) {
    member *m = member_of(&s, &s.subject.states[chosen]);
    keep_last(m, after, r->after);
  }
  take_rounds(&s, chosen);
  for (size_t i = 0; i < s.n_members; i++) {
    if (!c->json) print_analyses((const char *const *)s.members[i].files, s.members[i].n_files);
    free_member(&s.members[i]);
  }
  free(s.members);
  subject_close(&s.subject);
  return s.n_written > 0 ? CLI_DONE : CLI_FAILURE;
}
