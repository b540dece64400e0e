/*
** groups.c - the counts of a profile by site, function, type, file or stack.
**
** Sites are grouped by contents. Groups are numbered in the order of stacks, so always alike.
*/
#include "name/text.h"
#include "usage.h"

enum { N_TYPES = LH_TYPE_COUNT + 1 }; /* the last: parts of objects */

/* A group while rows are added. Few groups have several types or ages. */
typedef struct draft {
  lh_amounts amounts;
  double ordered;
  double of_last, of_most; /* ordered bytes of the last stack, and of the biggest stack */
  double live_objects;
  lh_stack_id last_stack, stack;
  uint32_t ages;  /* as in lh_usage_row; 0: none, or those of one row */
  uint32_t types; /* 1 + index of its bytes by type; 0: all have `type` */
  uint8_t type;
} draft;

typedef struct grouper {
  const lh_usage *usage;
  lh_usage_by by;
  lh_usage_order order;
  lh_site_numbers sites;
  uint32_t *of_site; /* number of each; NULL: rows are grouped by type or stack */
  lh_map numbers;    /* of groups, by that number, type or stack */
  draft *drafts;
  size_t n, capacity;
  lh_death_ages ages;
  double (*types)[N_TYPES];
  size_t n_types, types_capacity;
} grouper;

static uint32_t number_of_row(grouper *g, const lh_usage_row *row) {
  const lh_sites *sites = lh_profile_sites(g->usage->profile);
  uint64_t key = g->by == LH_BY_TYPE ? row->type : row->stack;
  if (g->of_site) key = g->of_site[lh_site_at(sites, row->stack)];
  return lh_map_number(&g->numbers, key);
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

static bool add_usage_row(grouper *g, const lh_usage_row *row) {
  double ordered = lh_ordered_bytes(g->usage, g->order, &row->amounts);
  uint32_t number = number_of_row(g, row);
  if (number == LH_NO_NUMBER || (number == g->n && !make_group(g, row))) return false;
  draft *d = &g->drafts[number];
  if (!add_to_type(g, d, type_of_row(row), ordered)) return false;
  lh_add_amounts(&d->amounts, &row->amounts);
  if (type_of_row(row) != LH_TYPE_COUNT) d->live_objects += lh_live_blocks(&row->amounts);
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
  static const lh_alike alike[] = {[LH_BY_SITE] = LH_ALIKE_SITE,
                                   [LH_BY_FUNCTION] = LH_ALIKE_FUNCTION,
                                   [LH_BY_FILE] = LH_ALIKE_FILE};
  const lh_usage *usage = g->usage;
  const lh_sites *sites = lh_profile_sites(usage->profile);
  if (g->by != LH_BY_TYPE && g->by != LH_BY_STACK &&
      !(g->of_site = lh_number_sites(&g->sites, sites, alike[g->by])))
    return false;
  for (size_t stack = 0; stack <= usage->n_stacks; stack++)
    for (uint32_t at = usage->first[stack]; at != 0; at = usage->rows[at - 1].next)
      if (!add_usage_row(g, &usage->rows[at - 1])) return false;
  return true;
}

/* A part is told with its objects: their type counts, whatever the parts' bytes are. */
static void set_type(const grouper *g, const draft *d, lh_usage_group *group) {
  const double *by_type = d->types > 0 ? g->types[d->types - 1] : NULL;
  unsigned most = by_type ? 0 : d->type;
  for (unsigned i = 1; by_type && i < LH_TYPE_COUNT; i++)
    if (by_type[i] > by_type[most]) most = i;
  if (by_type && by_type[most] <= 0) most = LH_TYPE_COUNT;
  group->type = most == LH_TYPE_COUNT ? LH_EVENT_PART : (uint8_t)most;
  group->has_parts = most == LH_TYPE_COUNT || (by_type && by_type[LH_TYPE_COUNT] > 0);
}

static int compare_drafts(const void *a, const void *b) {
  const draft *left = a, *right = b;
  return LH_MORE(left->ordered, right->ordered) ?: LH_LESS(left->stack, right->stack) ?:
         LH_LESS(left->type, right->type);
}

static void keep_ordered(grouper *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->n; i++) {
    draft *d = &g->drafts[i];
    if (d->ordered <= 0) continue;
    if (d->ages > 0) d->amounts.deaths = lh_ages_at(&g->ages, &d->ages);
    g->drafts[n++] = *d;
  }
  g->n = n;
  if (n > 1) qsort(g->drafts, n, sizeof *g->drafts, compare_drafts);
}

static lh_usage_group *finish_usage_groups(grouper *g) {
  const lh_sites *sites = lh_profile_sites(g->usage->profile);
  keep_ordered(g);
  lh_usage_group *groups = lh_alloc(g->n + 1, sizeof *groups);
  for (size_t i = 0; groups && i < g->n; i++) {
    const draft *d = &g->drafts[i];
    groups[i] = lh_rounded_amounts(g->usage, &d->amounts);
    groups[i].stack = d->stack;
    groups[i].live_objects = (uint64_t)(d->live_objects + 0.5);
    set_type(g, d, &groups[i]);
    groups[i].site = lh_site_of_stack(sites, d->stack);
    groups[i].ordered_bytes = (uint64_t)(d->ordered + 0.5);
  }
  return groups;
}

int lh_usage_groups(const lh_usage *usage, lh_usage_by by, lh_usage_order order,
                    lh_usage_group **out, size_t *n, lh_error *error) {
  grouper g = {.usage = usage, .by = by, .order = order};
  *out = add_rows(&g) ? finish_usage_groups(&g) : NULL;
  *n = *out ? g.n : 0;
  lh_site_numbers_free(&g.sites);
  lh_map_free(&g.numbers);
  LH_FREE_ALL(g.of_site, g.drafts, g.types, g.ages.list);
  return *out ? LH_OK : lh_fail_memory(error, "adding up what was allocated");
}
