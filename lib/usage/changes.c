/*
** changes.c - compares two profiles, site by site.
**
** Their sites are sorted in one list by identity (LH_ALIKE_MOVED). Of several sites with one
** identity those at the same line are paired first, then the others in order, as if lines had been
** added above them.
*/
#include "name/text.h"
#include "usage.h"

typedef struct entry {
  const lh_usage_group *group;
  uint32_t identity, first_line, side;
  bool is_joined;
} entry;

typedef struct joiner {
  lh_site_numbers sites;
  entry *entries;
  size_t n;
  lh_usage_change *out;
  size_t n_out;
} joiner;

static bool add_entries(joiner *j, const lh_usage *usage, const lh_usage_group *groups, size_t n,
                        uint32_t side) {
  const lh_sites *sites = lh_profile_sites(usage->profile);
  uint32_t *identity = lh_number_sites(&j->sites, sites, LH_ALIKE_MOVED);
  for (size_t i = 0; identity && i < n; i++)
    j->entries[j->n++] = (entry){.group = &groups[i],
                                 .identity = identity[lh_site_at(sites, groups[i].stack)],
                                 .first_line = groups[i].site->first_line,
                                 .side = side};
  bool ok = identity != NULL;
  lh_free(identity);
  return ok;
}

static int compare_entries(const void *left, const void *right) {
  const entry *a = left, *b = right;
  return LH_LESS(a->identity, b->identity) ?: LH_LESS(a->first_line, b->first_line) ?:
         LH_LESS(a->side, b->side);
}

static void put_side(lh_usage_change *change, const entry *e) {
  change->stacks[e->side] = e->group->stack;
  change->allocated_bytes[e->side] = e->group->allocated_bytes;
  change->allocations[e->side] = e->group->allocations;
  change->live_bytes[e->side] = e->group->live_bytes;
}

static void join(joiner *j, entry *a, entry *b) {
  lh_usage_change *change = &j->out[j->n_out++];
  *change = (lh_usage_change){0};
  put_side(change, a);
  if (b) put_side(change, b);
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
    while (next < end && next->identity == first->identity) next++;
    join_same(j, first, next);
  }
}

static double more_in(const lh_usage_change *change) {
  return (double)change->allocated_bytes[1] - (double)change->allocated_bytes[0];
}

static int compare_changes(const void *left, const void *right) {
  const lh_usage_change *a = left, *b = right;
  return LH_MORE(more_in(a), more_in(b)) ?: LH_LESS(a->stacks[1], b->stacks[1]) ?:
         LH_LESS(a->stacks[0], b->stacks[0]);
}

int lh_usage_changes(const lh_usage *before, const lh_usage *after, lh_usage_change **out,
                     size_t *n, lh_error *error) {
  const lh_usage *const usages[] = {before, after};
  lh_usage_group *groups[2] = {NULL, NULL};
  size_t n_groups[2] = {0, 0};
  joiner j = {0};
  int code = LH_OK;
  for (uint32_t i = 0; i < 2 && code == LH_OK; i++)
    code =
        lh_usage_groups(usages[i], LH_BY_SITE, LH_MOST_ALLOCATED, &groups[i], &n_groups[i], error);
  j.entries = lh_alloc(n_groups[0] + n_groups[1] + 1, sizeof *j.entries);
  j.out = lh_alloc(n_groups[0] + n_groups[1] + 1, sizeof *j.out);
  bool ok = j.entries && j.out;
  for (uint32_t i = 0; i < 2 && code == LH_OK && ok; i++)
    ok = add_entries(&j, usages[i], groups[i], n_groups[i], i);
  if (code == LH_OK && !ok) code = lh_fail_memory(error, "comparing two profiles");
  if (code == LH_OK) join_all(&j);
  if (code == LH_OK && j.n_out > 0) qsort(j.out, j.n_out, sizeof *j.out, compare_changes);
  *out = code == LH_OK ? j.out : NULL;
  *n = j.n_out;
  lh_site_numbers_free(&j.sites);
  LH_FREE_ALL(groups[0], groups[1], j.entries, code == LH_OK ? NULL : j.out);
  return code;
}
