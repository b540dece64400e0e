/*
** workers.c - --workers: asks the same of a process and of all processes that it has started, as
** far as they run Lua 5.4: a master and its workers.
**
** A child of this program asks each of them, so one that ends or refuses does not end the others.
** The children of a series run side by side, all others one after the other; one whose turn has not
** come after ten minutes is not asked, and told. Files have the number of their process in their
** name: FILE-PID. An older file is found by that name, too; a worker that has none is new.
*/
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heapattach/heapattach.h"

/* FILE-PID. Freed by free; NULL: there is no file. */
static char *name_of(const char *file, int64_t id) {
  char *name = NULL;
  if (file != NULL) cli_must(asprintf(&name, "%s-%" PRId64, file, id) >= 0 ? name : NULL);
  return name;
}

/* In a child. Its end is this program's business, and the other way round. */
static _Noreturn void ask_worker(cli *c, const request *r, int64_t id, pid_t parent) {
  char number[24], *file = name_of(r->file, id), *after = name_of(r->after, id);
  request own = *r;
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) exit(CLI_FAILURE);
  (void)snprintf(number, sizeof number, "%" PRId64, id);
  own.target = number;
  own.file = file;
  own.arguments = NULL; /* they would ask all again */
  own.awaited = stand_apart(c, &own);
  lh_await(own.awaited, after != NULL ? after : "");
  own.after = after != NULL && access(after, F_OK) == 0 ? after : NULL;
  lh_await_end(own.awaited);
  int status = cli_finish(c, run_request(c, &own));
  free(file);
  free(after);
  exit(status);
}

static pid_t start_asking(cli *c, const request *r, int64_t id) {
  pid_t parent = getpid();
  cli_flush(c); /* else a child prints it again */
  pid_t child = fork();
  if (child < 0) cli_die(c, NULL, "cannot fork: %s", strerror(errno));
  if (child == 0) ask_worker(c, r, id, parent);
  return child;
}

/* How a child ended, as this program's own end. */
static int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILURE;
}

static const uint64_t MOST_NS = 600000000000; /* from then on no other is asked */

/* One after the other. The worst of their ends. */
static int ask_in_turn(cli *c, const request *r, const workers *w) {
  int worst = CLI_DONE;
  uint64_t start = clock_ns();
  for (size_t i = 0; i < w->n; i++) {
    if (clock_ns() - start > MOST_NS) {
      cli_say(c, "process %" PRId64 " was not asked: the others took %s", w->of[i].id,
              lh_duration_text(MOST_NS).text);
      worst = CLI_FAILURE;
      continue;
    }
    if (i > 0 && r->mode == MODE_LIST && !c->json) putchar('\n');
    int end = end_of(start_asking(c, r, w->of[i].id));
    if (end > worst) worst = end;
  }
  return worst;
}

/* Control-C is for the children, which end in their own ways. */
static int ask_side_by_side(cli *c, const request *r, const workers *w) {
  pid_t *children = cli_must(calloc(w->n, sizeof *children));
  int worst = CLI_DONE;
  for (size_t i = 0; i < w->n; i++) children[i] = start_asking(c, r, w->of[i].id);
  (void)signal(SIGINT, SIG_IGN);
  for (size_t i = 0; i < w->n; i++) {
    int end = end_of(children[i]);
    if (end > worst) worst = end;
  }
  free(children);
  return worst;
}

static int ask_all(cli *c, const request *r, const workers *w) {
  int worst = r->mode == MODE_SERIES ? ask_side_by_side(c, r, w) : ask_in_turn(c, r, w);
  if (r->mode == MODE_TAKE && !c->json && worst == CLI_DONE) tell_next_snapshot(r);
  return worst;
}

int ask_workers(cli *c, const request *r) {
  workers w = {0};
  uint64_t id;
  int status = CLI_NO;
  if (!cli_read_number(r->target, &id) || id == 0 || id > INT32_MAX)
    cli_usage_error(c, "no process has the number %s", r->target);
  look_for_worker(c, (int64_t)id, &w);
  find_workers(c, id, &w);
  tell_not_looked_at(c, &w);
  if (w.n > 0)
    status = ask_all(c, r, &w);
  else if (w.refused.code != LH_OK)
    status = CLI_FAILURE;
  else
    cli_say(c, "neither process %s nor any that it has started runs Lua 5.4", r->target);
  free_workers(&w);
  return status;
}
