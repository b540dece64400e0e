/*
** take.c - takes a snapshot of one state into FILE, or of all states into FILE-1, FILE-2, ...
**
** Arguments and files are checked before the process is touched.
*/
#include <sys/stat.h>

#include "heapattach/heapattach.h"

static void check_output(cli *c, const request *r) {
  char *path = is_all(r) ? cli_format("%s-1", r->file) : cli_format("%s", r->file);
  lh_await_output(r->awaited, path);
  cli_check_writable(c, path);
  lh_await_end(r->awaited);
  free(path);
}

static bool is_same_file(const char *a, const char *b) {
  struct stat one, other;
  return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/* The snapshot must not replace the core, or the snapshot that it is compared with. */
static void check_names(cli *c, const request *r) {
  if (!subject_is_process(r->target) && is_same_file(r->file, r->target))
    cli_usage_error(c, "-o would replace the core file: give it another name");
  if (r->after != NULL && is_same_file(r->file, r->after))
    cli_usage_error(c, "-o would replace '%s', which it is compared with: give it another name",
                    r->after);
}

lh_snapshot *open_older(cli *c, const request *r, const char *path) {
  lh_await(r->awaited, path);
  lh_snapshot *older = cli_open(c, path);
  lh_await_end(r->awaited);
  return older;
}

/* ==== Taking ======================================================================== */

void relocate_self(const request *r, const lh_error *error) {
  bool is_in_the_way = error->code == LH_EBUSY && error->os_errno == EEXIST;
  if (is_in_the_way && r->arguments != NULL) lh_reexec_again(r->arguments);
}

typedef struct showing {
  cli *c;
  size_t n;
} showing;

static void show_taken(void *payload, size_t n_taken) {
  const showing *of = payload;
  cli_progress(of->c, "taking snapshots: %zu of %zu", n_taken, of->n);
}

/* All at one instant. Returns the library's error; some may be taken even then. */
static int take_shots(const subject *s, const request *r, shot *shots, size_t n,
                      lh_outside_result *result, lh_error *error) {
  lh_outside_request *requests = cli_must(calloc(n, sizeof *requests));
  for (size_t i = 0; i < n; i++)
    requests[i] = (lh_outside_request){
        .state = s->states[shots[i].state].address, .path = shots[i].path, .after = shots[i].after};
  showing of = {s->c, n};
  lh_outside_options options = r->options;
  if (n > 1) options.progress = show_taken, options.payload = &of;
  cli_progress(s->c, "taking %s", n == 1 ? shots[0].path : "snapshots");
  int code = lh_take_outside(s->target, requests, n, &options, result, error);
  cli_progress(s->c, NULL);
  if (code != LH_OK && (r->mode == MODE_TAKE || shots[0].after == NULL)) relocate_self(r, error);
  for (size_t i = 0; i < n; i++) shots[i].done = requests[i];
  if (result->silent_file != NULL)
    cli_say(s->c, "C functions have no names: the file system of '%s' does not answer",
            result->silent_file);
  free(requests);
  return code;
}

static size_t put_taken_first(shot *shots, size_t n) {
  size_t n_taken = 0;
  for (size_t i = 0; i < n; i++) {
    shot it = shots[i];
    if (it.done.taken.objects == 0) continue;
    shots[i] = shots[n_taken];
    shots[n_taken++] = it;
  }
  return n_taken;
}

static void print_failures(const subject *s, const shot *shots, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const lh_error *failure = &shots[i].done.failure;
    if (failure->code != LH_OK)
      cli_say(s->c, "state %zu: %s", shots[i].state + 1, failure->message);
  }
}

static bool is_of_one(int code) {
  return code == LH_EBUSY || code == LH_EDAMAGED || code == LH_EHOST;
}

/* A core allows one attempt per call: its states are taken alone, so that each can run on. */
int take_all(const subject *s, const request *r, shot *shots, size_t n, size_t *n_taken,
             lh_outside_result *result, lh_error *error) {
  size_t at_once = s->info.is_core ? 1 : n;
  bool is_several = is_all(r) && s->n_states > 1;
  int code = LH_OK;
  for (size_t i = 0; i < n && code == LH_OK; i += at_once) {
    code = take_shots(s, r, &shots[i], at_once, result, error);
    if (is_several && is_of_one(code)) code = LH_OK;
  }
  if (code == LH_OK) print_failures(s, shots, n);
  *n_taken = put_taken_first(shots, n);
  return code;
}

/* With --state all, matches each older file to its state by id, not by number. */
static void take_older_files(const subject *s, const request *r, shot *shots) {
  bool any = false;
  for (size_t number = 1;; number++) {
    char *path = cli_format("%s-%zu", r->after, number);
    bool is_taken = false;
    lh_await(r->awaited, path);
    if (access(path, F_OK) != 0 && number > 1) {
      lh_await_end(r->awaited);
      free(path);
      break;
    }
    lh_snapshot *after = open_older(s->c, r, path);
    for (size_t i = 0; i < s->n_states && !is_taken; i++) {
      is_taken = s->states[i].id == lh_snapshot_info(after)->state_id && shots[i].after == NULL;
      if (is_taken) shots[i].after = after, shots[i].after_path = path;
    }
    any |= is_taken;
    if (is_taken) continue;
    lh_close(after);
    free(path);
  }
  if (!any) cli_die(s->c, NULL, "none of '%s-1' and so on is of a state of %s", r->after, s->name);
}

static shot *plan_all(const subject *s, const request *r) {
  shot *shots = cli_must(calloc(s->n_states, sizeof *shots));
  for (size_t i = 0; i < s->n_states; i++)
    shots[i] = (shot){.state = i, .path = cli_format("%s-%zu", r->file, i + 1)};
  if (r->after != NULL) take_older_files(s, r, shots);
  return shots;
}

static shot *plan_one(const subject *s, const request *r, lh_snapshot *after) {
  shot *shots = cli_must(calloc(1, sizeof *shots));
  shots[0] = (shot){
      .state = subject_choose(s, r, after), .path = cli_must(strdup(r->file)), .after = after};
  if (after != NULL) shots[0].after_path = cli_must(strdup(r->after));
  return shots;
}

static void print_all_shots(const subject *s, const request *r, const shot *shots, size_t n,
                            const lh_outside_result *result) {
  workers left_out = {0};
  bool leaves_out = leaves_workers_out(r) && !s->info.is_core;
  if (leaves_out) find_workers(s->c, s->process_id, &left_out);
  if (s->c->json) {
    json_shots(s, shots, n, result, leaves_out ? &left_out : NULL, r->workers);
  } else {
    print_shots(s, r, shots, n, result, true);
    print_common_facts(s, r, result);
    cli_flush(s->c); /* the search for older files may block */
    print_next_steps(s, r, &shots[0]);
  }
  cli_flush(s->c); /* the next messages are on stderr */
  print_left_out(s->c, r, &left_out);
  free_workers(&left_out);
}

int take_once(cli *c, const request *r) {
  subject s;
  lh_outside_result result = {0};
  lh_error error;
  lh_await(r->awaited, r->after != NULL ? r->after : "");
  if (r->after != NULL) (void)access(r->after, F_OK); /* does its file system answer? */
  lh_await_output(r->awaited, r->file);
  check_names(c, r);
  lh_await_end(r->awaited);
  lh_snapshot *after = r->after != NULL && !is_all(r) ? open_older(c, r, r->after) : NULL;
  check_output(c, r);
  subject_open(&s, c, r);
  size_t n = is_all(r) ? s.n_states : 1;
  shot *shots = is_all(r) ? plan_all(&s, r) : plan_one(&s, r, after);
  size_t n_taken;
  if (take_all(&s, r, shots, n, &n_taken, &result, &error) != LH_OK)
    cli_die(c, NULL, "%s", error.message);
  if (n_taken > 0) print_all_shots(&s, r, shots, n_taken, &result);
  for (size_t i = 0; i < n; i++) {
    lh_close(shots[i].after);
    free(shots[i].path);
    free(shots[i].after_path);
  }
  free(shots);
  subject_close(&s);
  return n_taken > 0 ? CLI_DONE : CLI_FAILURE;
}
