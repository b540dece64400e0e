/*
** workers.c - finds the processes that a process has started and that run Lua 5.4 or 5.5.
**
** They are listed with the command to type; with --workers each is handled as the process itself.
** One child of this program inspects a process, another one handles it: so a process that ends,
** refuses or does not answer does not end the others (child.c). The children of a series run in
** parallel, all others in sequence; after ten minutes the rest is skipped, with a message. Names of
** files end in the process id, FILE-PID, also those of older files; a worker without one is new.
*/
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "heapattach/heapattach.h"

/* Inspecting a process takes about 0.3 s per GB of its memory. */
enum { MOST_LOOKED_AT = 100, MOST_SHOWN = 10 };
static const uint64_t MOST_TO_LOOK_NS = 120000000000; /* then no other is inspected */

typedef struct finding {
  lh_awaited awaited;
  size_t n_states;
  lh_error refused; /* LH_OK: may be inspected */
  char program[4096];
} finding;

static _Noreturn void look_at(int64_t id, finding *f, pid_t parent) {
  lh_target *target;
  const lh_found_state *states;
  size_t n;
  lh_error error;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(CLI_FAILURE);
  if (lh_open_process(id, &f->awaited, &target, &error) != LH_OK) {
    if (!is_over(&error)) f->refused = error;
    _exit(CLI_DONE);
  }
  (void)snprintf(f->program, sizeof f->program, "%s", lh_describe_target(target).program);
  if (lh_find_states(target, &states, &n, NULL) == LH_OK) f->n_states = n;
  lh_target_free(target);
  _exit(CLI_DONE);
}

static void add_worker(workers *w, int64_t id, const finding *f) {
  w->of = cli_must(realloc(w->of, (w->n + 1) * sizeof *w->of));
  w->of[w->n++] = (worker){id, cli_must(strdup(f->program)), f->n_states};
}

static int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILURE;
}

static pid_t start_child(cli *c) {
  cli_flush(c); /* else a child prints it again */
  pid_t child = fork();
  if (child < 0) cli_die(c, NULL, "cannot fork: %s", strerror(errno));
  return child;
}

static void look_for_worker(cli *c, int64_t id, workers *w) {
  finding *f = share_memory(sizeof *f);
  cli_progress(c, "looking for Lua in %" PRId64, id);
  pid_t parent = getpid(), child = start_child(c);
  if (child == 0) look_at(id, f, parent);
  if (wait_for_child(c, child, &f->awaited)) {
    (void)end_of(child);
    if (f->n_states > 0) add_worker(w, id, f);
    if (w->refused.code == LH_OK) w->refused = f->refused;
  } else {
    cli_say(c, "process %" PRId64 " was not looked at: the file system of '%s' does not answer", id,
            f->awaited.path);
  }
  (void)munmap(f, sizeof *f);
}

void find_workers(cli *c, uint64_t process_id, workers *w) {
  int64_t *ids;
  size_t n;
  lh_error error;
  cli_check(c, lh_find_started((int64_t)process_id, &ids, &n, &error), NULL, &error);
  w->n_started = n;
  w->n_looked_at = 0;
  for (uint64_t start = cli_now_ns(); w->n_looked_at < n && w->n_looked_at < MOST_LOOKED_AT &&
                                      cli_now_ns() - start < MOST_TO_LOOK_NS;)
    look_for_worker(c, ids[w->n_looked_at++], w);
  cli_progress(c, NULL);
  lh_free(ids);
}

void free_workers(workers *w) {
  for (size_t i = 0; i < w->n; i++) free(w->of[i].program);
  free(w->of);
}

static void print_not_inspected(const cli *c, const workers *w) {
  if (w->refused.code != LH_OK)
    cli_say(c, "not all that it has started may be looked at: %s", w->refused.message);
  if (w->n_started > w->n_looked_at)
    cli_say(c, "of the %s that it has started only the nearest %zu were looked at",
            lh_count_text(w->n_started).text, w->n_looked_at);
}

static void print_all(const request *r) {
  request all = *r;
  all.workers = true;
  print_choice(&all, r->mode == MODE_LIST ? "all of them" : "all of them, their numbers in names");
}

void print_started(cli *c, const request *r, uint64_t process_id) {
  workers w = {0};
  find_workers(c, process_id, &w);
  if (w.n > 0) cli_say(c, "Lua 5.4 or 5.5 runs in what it has started:");
  for (size_t i = 0; i < w.n && i < MOST_SHOWN; i++) {
    char number[24], *program = program_text(w.of[i].program);
    request chosen = *r;
    (void)snprintf(number, sizeof number, "%" PRId64, w.of[i].id);
    chosen.target = number;
    print_choice(&chosen, program);
    lh_free(program);
  }
  if (w.n > MOST_SHOWN) fprintf(stderr, "and %s more\n", lh_count_text(w.n - MOST_SHOWN).text);
  if (w.n > 1 && r->mode != MODE_WATCH) print_all(r);
  if (w.n > 0) w.refused.code = LH_OK;
  print_not_inspected(c, &w);
  free_workers(&w);
}

void print_left_out(cli *c, const request *r, const workers *w) {
  char list[MOST_SHOWN * 24] = "";
  size_t at = 0;
  if (w->n == 0) return;
  for (size_t i = 0; i < w->n && i < MOST_SHOWN; i++)
    at +=
        (size_t)snprintf(list + at, sizeof list - at, "%s%" PRId64, i > 0 ? ", " : "", w->of[i].id);
  cli_say(c, "left out: %s that it has started and that %s Lua 5.4 or 5.5, too: %s%s",
          lh_count_of(w->n, "process", "processes").text, w->n == 1 ? "runs" : "run", list,
          w->n > MOST_SHOWN ? ", ..." : "");
  print_all(r);
}

/* ==== --workers ====================================================================== */

/* FILE-PID. Freed by free. NULL: no file. */
static char *name_with_id(const char *file, int64_t id) {
  return file != NULL ? cli_format("%s-%" PRId64, file, id) : NULL;
}

static _Noreturn void run_for_worker(cli *c, const request *r, int64_t id, pid_t parent) {
  char number[24], *file = name_with_id(r->file, id), *after = name_with_id(r->after, id);
  request own = *r;
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) exit(CLI_FAILURE);
  (void)snprintf(number, sizeof number, "%" PRId64, id);
  own.target = number;
  own.file = file;
  own.arguments = NULL; /* a rerun with them would handle all workers again */
  own.awaited = run_in_child(c, &own);
  lh_await(own.awaited, after != NULL ? after : "");
  own.after = after != NULL && access(after, F_OK) == 0 ? after : NULL;
  lh_await_end(own.awaited);
  int status = cli_finish(c, run_request(c, &own));
  free(file);
  free(after);
  exit(status);
}

static pid_t start_worker(cli *c, const request *r, int64_t id) {
  pid_t parent = getpid(), child = start_child(c);
  if (child == 0) run_for_worker(c, r, id, parent);
  return child;
}

static const uint64_t MOST_TO_RUN_NS = 600000000000; /* then no other is started */

static int run_in_turn(cli *c, const request *r, const workers *w) {
  int worst = CLI_DONE;
  uint64_t start = cli_now_ns();
  for (size_t i = 0; i < w->n; i++) {
    if (cli_now_ns() - start > MOST_TO_RUN_NS) {
      cli_say(c, "process %" PRId64 " was not asked: the others took %s", w->of[i].id,
              lh_duration_text(MOST_TO_RUN_NS).text);
      worst = CLI_FAILURE;
      continue;
    }
    if (i > 0 && r->mode == MODE_LIST && !c->json) putchar('\n');
    int end = end_of(start_worker(c, r, w->of[i].id));
    if (end > worst) worst = end;
  }
  return worst;
}

/* Control-C is left to the children, which end their series themselves. */
static int run_in_parallel(cli *c, const request *r, const workers *w) {
  pid_t *children = cli_must(calloc(w->n, sizeof *children));
  int worst = CLI_DONE;
  for (size_t i = 0; i < w->n; i++) children[i] = start_worker(c, r, w->of[i].id);
  (void)signal(SIGINT, SIG_IGN);
  for (size_t i = 0; i < w->n; i++) {
    int end = end_of(children[i]);
    if (end > worst) worst = end;
  }
  free(children);
  return worst;
}

static int run_for_all(cli *c, const request *r, const workers *w) {
  int worst = r->mode == MODE_SERIES ? run_in_parallel(c, r, w) : run_in_turn(c, r, w);
  if (r->mode == MODE_TAKE && !c->json && worst == CLI_DONE) print_next_snapshot(r);
  return worst;
}

int run_for_workers(cli *c, const request *r) {
  workers w = {0};
  uint64_t id;
  int status = CLI_NO;
  if (!lh_read_number(r->target, &id) || id == 0 || id > INT32_MAX)
    cli_usage_error(c, "no process has the number %s", r->target);
  look_for_worker(c, (int64_t)id, &w);
  find_workers(c, id, &w);
  print_not_inspected(c, &w);
  if (w.n > 0)
    status = run_for_all(c, r, &w);
  else if (w.refused.code != LH_OK)
    status = CLI_FAILURE;
  else
    cli_say(c, "neither process %s nor any that it has started runs Lua 5.4 or 5.5", r->target);
  free_workers(&w);
  return status;
}
