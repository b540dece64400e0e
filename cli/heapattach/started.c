/*
** started.c - a process that runs no Lua may have started one that does: a shell that was typed
** to, a master with workers. So those that it started are looked at, and the ones that run Lua 5.4
** are named, with the command line to type.
*/
#include <inttypes.h>

#include "heapattach/heapattach.h"

/* Each is looked at as long as its memory takes, some 0.3 s for a GB. */
enum { MOST_LOOKED_AT = 100, MOST_SHOWN = 10 };

typedef struct search {
  cli *c;
  const request *r;
  size_t n_found;
  lh_error refused; /* why the first that may not be looked at may not; code LH_OK: none */
} search;

static void show(search *s, int64_t id, const lh_target *target) {
  char number[24], *program = program_text(lh_describe_target(target).program);
  request chosen = *s->r;
  (void)snprintf(number, sizeof number, "%" PRId64, id);
  chosen.target = number;
  cli_progress(s->c, NULL);
  if (s->n_found == 1) cli_say(s->c, "Lua 5.4 runs in what it has started:");
  print_choice(&chosen, program);
  lh_free(program);
}

static void look_at(search *s, int64_t id) {
  lh_target *target;
  lh_found_state *states;
  size_t n;
  lh_error error;
  cli_progress(s->c, "looking for Lua in %" PRId64, id);
  if (lh_open_process(id, &target, &error) != LH_OK) {
    if (s->refused.code == LH_OK && !is_over(&error)) s->refused = error;
    return;
  }
  bool is_found = lh_find_states(target, &states, &n, &error) == LH_OK;
  if (is_found && ++s->n_found <= MOST_SHOWN) show(s, id, target);
  lh_free_states(states);
  lh_target_free(target);
}

void tell_started(cli *c, const request *r, uint64_t process_id) {
  search s = {.c = c, .r = r};
  int64_t *ids;
  size_t n;
  lh_error error;
  cli_check(c, lh_find_started((int64_t)process_id, &ids, &n, &error), NULL, &error);
  for (size_t i = 0; i < n && i < MOST_LOOKED_AT; i++) look_at(&s, ids[i]);
  cli_progress(c, NULL);
  if (s.n_found > MOST_SHOWN)
    fprintf(stderr, "and %s more\n", lh_count_text(s.n_found - MOST_SHOWN).text);
  if (s.n_found == 0 && s.refused.code != LH_OK)
    cli_say(c, "not all that it has started may be looked at: %s", s.refused.message);
  if (n > MOST_LOOKED_AT)
    cli_say(c, "of the %s that it has started only the nearest %d were looked at",
            lh_count_text(n).text, MOST_LOOKED_AT);
  lh_free(ids);
}
