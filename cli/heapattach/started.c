/*
** started.c - a process may have started others that run Lua: a shell that was typed to, a master
** with workers. So those that it started are looked at, and the ones that run Lua 5.4 are named,
** with the command line to type.
*/
#include <inttypes.h>
#include <string.h>

#include "heapattach/heapattach.h"

/* Each is looked at as long as its memory takes, some 0.3 s for a GB. */
enum { MOST_LOOKED_AT = 100, MOST_SHOWN = 10 };

static void add_worker(workers *w, int64_t id, const lh_target *target, size_t n_states) {
  w->of = cli_must(realloc(w->of, (w->n + 1) * sizeof *w->of));
  w->of[w->n++] = (worker){id, cli_must(strdup(lh_describe_target(target).program)), n_states};
}

void look_for_worker(cli *c, int64_t id, workers *w) {
  lh_target *target;
  lh_found_state *states;
  size_t n;
  lh_error error;
  cli_progress(c, "looking for Lua in %" PRId64, id);
  if (lh_open_process_awaited(id, w->awaited, &target, &error) != LH_OK) {
    if (w->refused.code == LH_OK && !is_over(&error)) w->refused = error;
    return;
  }
  if (lh_find_states(target, &states, &n, &error) == LH_OK) add_worker(w, id, target, n);
  lh_free_states(states);
  lh_target_free(target);
}

void find_workers(cli *c, uint64_t process_id, workers *w) {
  int64_t *ids;
  size_t n;
  lh_error error;
  cli_check(c, lh_find_started((int64_t)process_id, &ids, &n, &error), NULL, &error);
  for (size_t i = 0; i < n && i < MOST_LOOKED_AT; i++) look_for_worker(c, ids[i], w);
  cli_progress(c, NULL);
  w->n_started = n;
  lh_free(ids);
}

void free_workers(workers *w) {
  for (size_t i = 0; i < w->n; i++) free(w->of[i].program);
  free(w->of);
}

void tell_not_looked_at(const cli *c, const workers *w) {
  if (w->refused.code != LH_OK)
    cli_say(c, "not all that it has started may be looked at: %s", w->refused.message);
  if (w->n_started > MOST_LOOKED_AT)
    cli_say(c, "of the %s that it has started only the nearest %d were looked at",
            lh_count_text(w->n_started).text, MOST_LOOKED_AT);
}

/* The command line that asks the same of all. */
static void print_all(const request *r) {
  request all = *r;
  all.workers = true;
  print_choice(&all, r->mode == MODE_LIST ? "all of them" : "all of them, their numbers in names");
}

void tell_started(cli *c, const request *r, uint64_t process_id) {
  workers w = {.awaited = r->awaited};
  find_workers(c, process_id, &w);
  if (w.n > 0) cli_say(c, "Lua 5.4 runs in what it has started:");
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
  tell_not_looked_at(c, &w);
  free_workers(&w);
}

void tell_left_out(cli *c, const request *r, const workers *w) {
  char list[MOST_SHOWN * 24] = "";
  size_t at = 0;
  if (w->n == 0) return;
  for (size_t i = 0; i < w->n && i < MOST_SHOWN; i++)
    at +=
        (size_t)snprintf(list + at, sizeof list - at, "%s%" PRId64, i > 0 ? ", " : "", w->of[i].id);
  cli_say(c, "left out: %s that it has started and that %s Lua 5.4, too: %s%s",
          lh_count_of(w->n, "process", "processes").text, w->n == 1 ? "runs" : "run", list,
          w->n > MOST_SHOWN ? ", ..." : "");
  print_all(r);
}
