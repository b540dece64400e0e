/*
** changes.c - compares two profiles, site by site.
**
** Their sites are sorted in one list by identity: names, distance from the function's first line,
** kind of allocation. Of several sites with one identity those at the same line are paired first,
** then the others in order, as if lines had been added above them.
*/
#include <stdlib.h>

#include "name/site_text.h"
#include "usage.h"

typedef struct entry {
  const lh_usage_group *group;
  uint64_t names[3]; /* source, function and C function */
  uint32_t distance, maker, first_line, side;
  bool is_joined;
} entry;

typedef struct joiner {
  lh_shared_names names;
  entry *entries;
  size_t n;
  lh_usage_change *out;
  size_t n_out;
  bool failed;
} joiner;

static uint64_t number_of(joiner *j, const char *name) {
  uint32_t number = lh_shared_name(&j->names, name);
  j->failed |= number == LH_NO_NUMBER;
  return number;
}

static void add_entries(joiner *j, const lh_usage *usage, const lh_usage_group *groups, size_t n,
                        uint32_t side) {
  const lh_sites *sites = lh_profile_sites(usage->profile);
  for (size_t i = 0; i < n; i++) {
    const lh_site *site = lh_site_of_stack(sites, groups[i].stack);
    j->entries[j->n++] = (entry){.group = &groups[i],
                                 .names = {number_of(j, site->source), number_of(j, site->function),
                                           number_of(j, site->c_function)},
                                 .distance = site->line - site->first_line,
                                 .maker = site->maker,
                                 .first_line = site->first_line,
                                 .side = side};
  }
}

static int compare_identity(const entry *a, const entry *b) {
  int order = 0;
  for (unsigned i = 0; i < 3 && order == 0; i++)
    order = lh_compare_numbers(a->names[i], b->names[i]);
  if (order == 0) order = lh_compare_numbers(a->distance, b->distance);
  return order != 0 ? order : lh_compare_numbers(a->maker, b->maker);
}

static int compare_entries(const void *a, const void *b) {
  const entry *left = a, *right = b;
  int order = compare_identity(left, right);
  if (order == 0) order = lh_compare_numbers(left->first_line, right->first_line);
  return order != 0 ? order : lh_compare_numbers(left->side, right->side);
}

static void put(lh_usage_change *change, const entry *e) {
  change->stacks[e->side] = e->group->stack;
  change->allocated_bytes[e->side] = e->group->allocated_bytes;
  change->allocations[e->side] = e->group->allocations;
  change->live_bytes[e->side] = e->group->live_bytes;
}

static void join(joiner *j, entry *a, entry *b) {
  lh_usage_change *change = &j->out[j->n_out++];
  *change = (lh_usage_change){0};
  put(change, a);
  if (b) put(change, b);
  a->is_joined = true;
  if (b) b->is_joined = true;
}

static entry *next_of(entry *at, const entry *end, uint32_t side) {
  while (at < end && (at->is_joined || at->side != side)) at++;
  return at;
}

static void join_same(joiner *j, entry *first, entry *end) {
  for (entry *e = first; e + 1 < end; e++)
    if (!e->is_joined && e[0].first_line == e[1].first_line) join(j, &e[0], &e[1]);
  entry *a = next_of(first, end, 0), *b = next_of(first, end, 1);
  for (; a < end && b < end; a = next_of(a, end, 0), b = next_of(b, end, 1)) join(j, a, b);
  for (; a < end; a = next_of(a, end, 0)) join(j, a, NULL);
  for (; b < end; b = next_of(b, end, 1)) join(j, b, NULL);
}

static void join_all(joiner *j) {
  entry *end = j->entries + j->n;
  if (j->n > 0) qsort(j->entries, j->n, sizeof *j->entries, compare_entries);
  for (entry *first = j->entries, *next; first < end; first = next) {
    next = first + 1;
    while (next < end && compare_identity(first, next) == 0) next++;
    join_same(j, first, next);
  }
}

static double more_in(const lh_usage_change *change) {
  return (double)change->allocated_bytes[1] - (double)change->allocated_bytes[0];
}

static int compare_changes(const void *a, const void *b) {
  const lh_usage_change *left = a, *right = b;
  double more = more_in(left), than = more_in(right);
  if (more != than) return more > than ? -1 : 1;
  int order = lh_compare_numbers(left->stacks[1], right->stacks[1]);
  return order != 0 ? order : lh_compare_numbers(left->stacks[0], right->stacks[0]);
}

int lh_usage_changes(const lh_usage *before, const lh_usage *after, lh_usage_change **out,
                     size_t *n, lh_error *error) {
  const lh_usage *const usages[] = {before, after};
  lh_usage_group *groups[2] = {NULL, NULL};
  size_t n_groups[2] = {0, 0};
  joiner j = {.failed = false};
  int code = LH_OK;
  *out = NULL;
  for (uint32_t i = 0; i < 2 && code == LH_OK; i++)
    code =
        lh_usage_groups(usages[i], LH_BY_SITE, LH_MOST_ALLOCATED, &groups[i], &n_groups[i], error);
  if (code != LH_OK) goto out;
  j.entries = lh_alloc(n_groups[0] + n_groups[1] + 1, sizeof *j.entries);
  j.out = lh_alloc(n_groups[0] + n_groups[1] + 1, sizeof *j.out);
  j.failed = !j.entries || !j.out;
  for (uint32_t i = 0; i < 2 && !j.failed; i++)
    add_entries(&j, usages[i], groups[i], n_groups[i], i);
  if (j.failed) {
    code = lh_fail_memory(error, "comparing two profiles");
    goto out;
  }
  join_all(&j);
  if (j.n_out > 0) qsort(j.out, j.n_out, sizeof *j.out, compare_changes);
  *out = j.out;
  *n = j.n_out;
  j.out = NULL;
out:
  lh_free(groups[0]);
  lh_free(groups[1]);
  lh_shared_names_free(&j.names);
  lh_free(j.entries);
  lh_free(j.out);
  return code;
}
