/*
** keys.c - numbers for lines: a table of sites has each as often as something allocates there.
** Sources are compared by their names, since code that was loaded twice has them twice. And sums,
** and the replay of what has events.
*/
#include <string.h>

#include "tally.h"

/* {=== Sums ========================================================================== */

int64_t lh_sum_signed(const lh_sum *sum) {
  double part = sum->part < 0 ? sum->part - 0.5 : sum->part + 0.5;
  if (!(part < 9e18)) return INT64_MAX;
  if (part < -9e18) return INT64_MIN;
  return (int64_t)(sum->whole + (uint64_t)(int64_t)part);
}

uint64_t lh_sum_of(const lh_sum *sum) {
  int64_t n = lh_sum_signed(sum);
  return n > 0 ? (uint64_t)n : 0;
}

/* }=================================================================================== */

/* {=== Lines ========================================================================= */

int lh_compare_lines(const lh_line *a, const lh_line *b) {
  if (!a->source || !b->source) return (a->source != NULL) - (b->source != NULL);
  int order = a->source == b->source ? 0 : strcmp(a->source, b->source);
  return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

typedef struct line_maker {
  lh_line_keys *keys;
  size_t capacity;
  lh_shared_names sources;
  lh_map by_key;
} line_maker;

static bool is_same_name(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static void keep_common(lh_site *common, const lh_site *site) {
  if (!is_same_name(common->function, site->function)) common->function = NULL;
  if (!is_same_name(common->c_function, site->c_function)) common->c_function = NULL;
}

static bool add_line(line_maker *m, const lh_site *site, uint32_t *line) {
  uint64_t key[2] = {0, site->line};
  *line = 0;
  if (!site->source) return true;
  key[0] = lh_shared_name(&m->sources, site->source);
  if (key[0] == LH_NO_NUMBER) return false;
  uint32_t *known = lh_map_at_words(&m->by_key, key, 2);
  if (!known) return false;
  if (*known == LH_NO_NUMBER) {
    lh_line_keys *keys = m->keys;
    if (!lh_grow(&keys->lines, keys->n_lines, &m->capacity, sizeof *keys->lines)) return false;
    *known = (uint32_t)keys->n_lines;
    keys->lines[keys->n_lines++] = (lh_line){site->source, site->line, *site};
  }
  keep_common(&m->keys->lines[*known].site, site);
  *line = *known;
  return true;
}

static bool make_lines(line_maker *m, const lh_sites *sites) {
  uint32_t n_sites = lh_n_sites(sites), n_stacks = lh_n_stacks(sites);
  lh_line_keys *keys = m->keys;
  uint32_t *of_site = lh_alloc((size_t)n_sites + 1, sizeof *of_site);
  keys->of_stack = lh_alloc((size_t)n_stacks + 1, sizeof *keys->of_stack);
  bool fine = of_site && keys->of_stack && lh_grow(&keys->lines, 0, &m->capacity, sizeof(lh_line));
  if (fine) {
    keys->lines[keys->n_lines++] = (lh_line){0};
    of_site[0] = keys->of_stack[0] = 0;
  }
  for (uint32_t i = 1; fine && i <= n_sites; i++)
    fine = add_line(m, lh_site_of(sites, i), &of_site[i]);
  for (uint32_t i = 1; fine && i <= n_stacks; i++)
    keys->of_stack[i] = of_site[lh_stack_of(sites, i)->site];
  lh_free(of_site);
  return fine;
}

int lh_line_keys_make(const lh_sites *sites, lh_line_keys *keys, lh_error *error) {
  *keys = (lh_line_keys){0};
  line_maker m = {.keys = keys};
  bool fine = make_lines(&m, sites);
  lh_shared_names_free(&m.sources);
  lh_map_free(&m.by_key);
  if (fine) return 0;
  lh_line_keys_free(keys);
  return lh_fail_memory(error, "counting by line");
}

void lh_line_keys_free(lh_line_keys *keys) {
  lh_free(keys->lines);
  lh_free(keys->of_stack);
  *keys = (lh_line_keys){0};
}

/* }=================================================================================== */

int lh_tally_events(lh_profile *profile, const char *what,
                    bool (*see)(const lh_event *event, void *data), void *data, const bool *failed,
                    lh_error *error) {
  if (lh_profile_about(profile)->is_aggregate)
    return lh_fail(error, LH_EARGUMENT,
                   "it was recorded as an aggregate, which has no order of events: there is no %s "
                   "of it",
                   what);
  int code = lh_profile_replay(profile, see, data, error);
  return code == 0 && *failed ? lh_fail_memory(error, "counting events") : code;
}
