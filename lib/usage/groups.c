/*
** groups.c - the counts of a profile by site, function, type, file or stack.
**
** Sites are grouped by contents: one line has several ids if its file was loaded twice. Groups are
** numbered in the order of stacks, so always alike.
*/
#include <stdlib.h>
#include <string.h>

#include "name/site_text.h"
#include "usage.h"

/* ==== Sites with equal contents ====================================================== */

static uint64_t number_of(lh_site_groups *groups, const char *name) {
  uint32_t number = lh_shared_name(&groups->names, name);
  groups->failed |= number == LH_NO_NUMBER;
  return number;
}

enum { N_WORDS = 5 };

static void words_of(lh_site_groups *groups, const lh_site *site, uint64_t words[N_WORDS]) {
  memset(words, 0, N_WORDS * sizeof *words);
  words[0] = number_of(groups, site->source);
  if (!site->source) words[4] = site->maker; /* host or unknown */
  if (groups->by == LH_BY_FILE) return;
  words[1] = number_of(groups, site->function);
  words[2] = site->first_line;
  if (groups->by == LH_BY_FUNCTION) return;
  words[2] |= (uint64_t)site->line << 32;
  words[3] = number_of(groups, site->c_function);
  words[4] = site->maker;
}

uint32_t lh_group_of_site(lh_site_groups *groups, const lh_sites *sites, lh_stack_id stack) {
  uint64_t words[N_WORDS];
  lh_site_id id = lh_stack_is_in(sites, stack) ? lh_stack_of(sites, stack)->site : 0;
  if (!groups->of_site) {
    groups->of_site = lh_alloc_zeroed((size_t)lh_n_sites(sites) + 1, sizeof *groups->of_site);
    groups->failed |= !groups->of_site;
  }
  if (groups->failed) return LH_NO_NUMBER;
  if (groups->of_site[id] != 0) return groups->of_site[id] - 1;
  words_of(groups, lh_site_of_stack(sites, stack), words);
  uint32_t *number = groups->failed ? NULL : lh_map_at_words(&groups->numbers, words, N_WORDS);
  groups->failed |= !number;
  if (!number) return LH_NO_NUMBER;
  if (*number == LH_NO_NUMBER) *number = groups->n++;
  groups->of_site[id] = *number + 1;
  return *number;
}

void lh_site_groups_free(lh_site_groups *groups) {
  lh_shared_names_free(&groups->names);
  lh_map_free(&groups->numbers);
  lh_free(groups->of_site);
}

/* ==== Groups ========================================================================= */

enum { N_TYPES = LH_TYPE_COUNT + 1 }; /* the last: parts of objects */

/* A group while rows are added. Few groups have several types or ages. */
typedef struct draft {
  lh_amounts amounts;
  double ordered;
  double of_last, of_most; /* ordered bytes of the last stack, and of the biggest stack */
  lh_stack_id last_stack, stack;
  uint32_t ages;  /* as in lh_usage_row; 0: none, or those of one row */
  uint32_t types; /* 1 + index of its bytes by type; 0: all have `type` */
  uint8_t type;
} draft;

typedef struct grouper {
  const lh_usage *usage;
  lh_usage_by by;
  lh_usage_order order;
  lh_site_groups sites;
  lh_map others; /* numbers of types or stacks */
  draft *drafts;
  size_t n, capacity;
  lh_ages ages;
  double (*types)[N_TYPES];
  size_t n_types, types_capacity;
} grouper;

static uint32_t number_in(lh_map *map, uint64_t key, size_t n) {
  uint32_t *number = lh_map_at(map, key);
  if (!number) return LH_NO_NUMBER;
  if (*number == LH_NO_NUMBER) *number = (uint32_t)n;
  return *number;
}

static uint32_t number_of_row(grouper *g, const lh_usage_row *row) {
  switch (g->by) {
    case LH_BY_TYPE: return number_in(&g->others, row->type, g->n);
    case LH_BY_STACK: return number_in(&g->others, row->stack, g->n);
    default: return lh_group_of_site(&g->sites, lh_profile_sites(g->usage->profile), row->stack);
  }
}

static uint8_t type_of_row(const lh_usage_row *row) {
  return row->type < LH_TYPE_COUNT ? row->type : LH_TYPE_COUNT;
}

static bool make_group(grouper *g, const lh_usage_row *row) {
  if (!lh_grow(&g->drafts, g->n, &g->capacity, sizeof *g->drafts)) return false;
  g->drafts[g->n++] =
      (draft){.stack = row->stack, .last_stack = row->stack, .type = type_of_row(row)};
  return true;
}

/* Call before `ordered` is added to the draft's sum. */
static bool add_to_type(grouper *g, draft *d, uint8_t type, double ordered) {
  if (d->types == 0) {
    if (type == d->type) return true;
    if (!lh_grow(&g->types, g->n_types, &g->types_capacity, sizeof *g->types)) return false;
    memset(g->types[g->n_types], 0, sizeof *g->types);
    g->types[g->n_types][d->type] = d->ordered;
    d->types = (uint32_t)++g->n_types;
  }
  g->types[d->types - 1][type] += ordered;
  return true;
}

/* Shares the sums of the first row that has any; copies them when a second one comes. */
static bool add_ages(grouper *g, draft *d, const lh_usage_row *row) {
  if (!row->amounts.deaths) return true;
  if (!d->amounts.deaths) {
    d->amounts.deaths = row->amounts.deaths;
    return true;
  }
  bool is_second = d->ages == 0;
  double *deaths = lh_ages_at(&g->ages, &d->ages);
  if (!deaths) return false;
  if (is_second) lh_add_deaths(deaths, &d->amounts);
  lh_add_deaths(deaths, &row->amounts);
  return true;
}

static bool add_row(grouper *g, const lh_usage_row *row) {
  double ordered = lh_ordered_bytes(g->usage, g->order, &row->amounts);
  uint32_t number = number_of_row(g, row);
  if (number == LH_NO_NUMBER || (number == g->n && !make_group(g, row))) return false;
  draft *d = &g->drafts[number];
  if (!add_to_type(g, d, type_of_row(row), ordered)) return false;
  lh_add_amounts(&d->amounts, &row->amounts);
  d->ordered += ordered;
  if (row->stack != d->last_stack) d->of_last = 0;
  d->last_stack = row->stack;
  d->of_last += ordered;
  if (d->of_last > d->of_most) {
    d->of_most = d->of_last;
    d->stack = row->stack;
  }
  return add_ages(g, d, row);
}

static bool add_rows(grouper *g) {
  const lh_usage *usage = g->usage;
  for (size_t stack = 0; stack <= usage->n_stacks; stack++)
    for (uint32_t at = usage->first[stack]; at != 0; at = usage->rows[at - 1].next)
      if (!add_row(g, &usage->rows[at - 1])) return false;
  return true;
}

static uint8_t type_of(const grouper *g, const draft *d) {
  const double *by_type = d->types > 0 ? g->types[d->types - 1] : NULL;
  unsigned most = by_type ? 0 : d->type;
  for (unsigned i = 1; by_type && i < N_TYPES; i++)
    if (by_type[i] > by_type[most]) most = i;
  return most == LH_TYPE_COUNT ? LH_EVENT_PART : (uint8_t)most;
}

static int compare_drafts(const void *a, const void *b) {
  const draft *left = a, *right = b;
  if (left->ordered != right->ordered) return left->ordered > right->ordered ? -1 : 1;
  if (left->stack != right->stack) return left->stack < right->stack ? -1 : 1;
  return lh_compare_numbers(left->type, right->type);
}

static void keep_ordered(grouper *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->n; i++) {
    draft *d = &g->drafts[i];
    if (d->ordered <= 0) continue;
    d->type = type_of(g, d);
    if (d->ages > 0) d->amounts.deaths = lh_ages_at(&g->ages, &d->ages);
    g->drafts[n++] = *d;
  }
  g->n = n;
  if (n > 1) qsort(g->drafts, n, sizeof *g->drafts, compare_drafts);
}

static lh_usage_group *finish(grouper *g) {
  const lh_sites *sites = lh_profile_sites(g->usage->profile);
  keep_ordered(g);
  lh_usage_group *groups = lh_alloc(g->n + 1, sizeof *groups);
  for (size_t i = 0; groups && i < g->n; i++) {
    const draft *d = &g->drafts[i];
    groups[i] = lh_rounded_amounts(g->usage, &d->amounts);
    groups[i].stack = d->stack;
    groups[i].type = d->type;
    groups[i].site = lh_site_of_stack(sites, d->stack);
    groups[i].ordered_bytes = (uint64_t)(d->ordered + 0.5);
  }
  return groups;
}

int lh_usage_groups(const lh_usage *usage, lh_usage_by by, lh_usage_order order,
                    lh_usage_group **out, size_t *n, lh_error *error) {
  grouper g = {.usage = usage, .by = by, .order = order, .sites.by = by};
  *out = add_rows(&g) ? finish(&g) : NULL;
  *n = *out ? g.n : 0;
  lh_site_groups_free(&g.sites);
  lh_map_free(&g.others);
  lh_free(g.drafts);
  lh_free(g.types);
  lh_free(g.ages.list);
  return *out ? LH_OK : lh_fail_memory(error, "adding up what was allocated");
}
