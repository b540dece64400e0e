/*
** sites.c - the sites of a program that was tracked: what was allocated at each and lives, what
** that retains together, and how much was made there in all.
**
** What a site retains is more than what its objects dominate, since they may hold something
** together: union.c. There it costs all of the heap for a few sites at worst.
*/
#include "analyses.h"

#include <stdlib.h>
#include <string.h>

#include "name/allocated.h"

typedef struct counting {
  lh_snapshot *snapshot;
  const lh_top_query *query;
  const lh_sites *sites;
  lh_history history;
  lh_site_row *rows;   /* [0]: of what is not known where */
  double (*scaled)[2]; /* of each row objects and bytes, if samples are counted */
  uint32_t *set_of;    /* of each object that is counted its site */
} counting;

static bool is_counted(const counting *c, lh_id id) {
  const lh_snapshot *s = c->snapshot;
  uint32_t mask = c->query->type_mask;
  return !lh_is_own(s, id) && lh_is_reachable(s, id) != c->query->garbage &&
         (mask == 0 || mask >> lh_type_of(s, id) & 1);
}

static void count_object(counting *c, lh_id id) {
  lh_site_id site = lh_site_at(c->sites, lh_object_stack(c->snapshot, id));
  lh_site_row *row = &c->rows[site];
  uint64_t bytes = lh_shallow_bytes(c->snapshot, id);
  c->set_of[id] = site;
  row->sampled++;
  row->ages[c->history.span_of[id]]++;
  row->shallow_bytes += bytes;
  if (!c->scaled) return;
  double weight = lh_object_weight(c->snapshot, id);
  c->scaled[site][0] += weight;
  c->scaled[site][1] += weight * (double)bytes;
}

static void add_counts(counting *c) {
  for (lh_stack_id stack = 1; stack <= lh_n_stacks(c->sites); stack++) {
    lh_stack_counts *to = &c->rows[lh_site_at(c->sites, stack)].counts;
    lh_stack_counts counts = lh_stack_counts_of(c->snapshot, stack);
    to->made_objects += counts.made_objects;
    to->made_bytes += counts.made_bytes;
    to->freed_objects += counts.freed_objects;
    to->freed_bytes += counts.freed_bytes;
  }
}

/* Nothing holds garbage. */
static bool add_retained(counting *c, uint32_t n_sites) {
  const lh_snapshot *s = c->snapshot;
  lh_unions unions = {.graph = lh_graph_of(s),
                      .distance = s->distance,
                      .parent = s->parent,
                      .idom = s->idom,
                      .retained = s->retained,
                      .set_of = c->set_of,
                      .n_sets = n_sites + 1};
  bool ok = c->query->garbage || lh_bound_unions(&unions);
  for (uint32_t site = 0; ok && !c->query->garbage && site <= n_sites; site++) {
    ok = c->rows[site].sampled == 0 || lh_exact_union(&unions, site);
    c->rows[site].retained_bytes = unions.upper[site];
  }
  lh_free_unions(&unions);
  return ok;
}

static uint64_t key_of(const lh_site_row *row, const lh_top_query *query) {
  if (query->sort == LH_SORT_COUNT) return row->objects;
  return query->garbage || query->sort == LH_SORT_SHALLOW ? row->shallow_bytes
                                                          : row->retained_bytes;
}

/* What is not known where is no site: it comes last. */
static int compare_rows(const void *left, const void *right, void *payload) {
  const lh_site_row *a = left, *b = right;
  uint64_t of_a = key_of(a, payload), of_b = key_of(b, payload);
  if ((a->site == 0) != (b->site == 0)) return a->site == 0 ? 1 : -1;
  if (of_a != of_b) return of_a > of_b ? -1 : 1;
  return a->site < b->site ? -1 : a->site > b->site;
}

/* Those of which something is there. Sampled figures stand for all. */
static size_t keep_rows(counting *c, uint32_t n_sites) {
  size_t n = 0;
  for (uint32_t site = 0; site <= n_sites; site++) {
    lh_site_row row = c->rows[site];
    row.site = site;
    row.objects = row.sampled;
    if (c->scaled && site > 0) {
      row.objects = (uint64_t)(c->scaled[site][0] + 0.5);
      row.shallow_bytes = (uint64_t)(c->scaled[site][1] + 0.5);
    }
    if (row.sampled > 0) c->rows[n++] = row;
  }
  if (n > 1) qsort_r(c->rows, n, sizeof *c->rows, compare_rows, (void *)c->query);
  return n;
}

int lh_top_sites(lh_snapshot *snapshot, const lh_top_query *query, lh_site_row **rows, size_t *n,
                 lh_error *error) {
  counting c = {.snapshot = snapshot, .query = query, .sites = lh_snapshot_sites(snapshot)};
  *rows = NULL;
  *n = 0;
  if (!snapshot->retained)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been analysed");
  if (!c.sites)
    return lh_fail(error, LH_ENOTFOUND,
                   "'%s' has no sites: the program was not tracked (heap.track)", snapshot->name);
  uint32_t n_sites = lh_n_sites(c.sites);
  int code = lh_find_history(snapshot, &c.history, error);
  c.rows = lh_alloc_zeroed((size_t)n_sites + 1, sizeof *c.rows);
  c.set_of = lh_alloc((size_t)snapshot->n + 1, sizeof *c.set_of);
  bool is_sampled = snapshot->tracking.sample_bytes > 0;
  if (is_sampled) c.scaled = lh_alloc_zeroed((size_t)n_sites + 1, sizeof *c.scaled);
  bool ok = !code && c.rows && c.set_of && (c.scaled || !is_sampled);
  if (ok) memset(c.set_of, 0xFF, ((size_t)snapshot->n + 1) * sizeof *c.set_of);
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (is_counted(&c, id)) count_object(&c, id);
  if (ok) add_counts(&c);
  ok = ok && add_retained(&c, n_sites);
  if (ok) *n = keep_rows(&c, n_sites);
  if (ok) *rows = c.rows;
  if (!ok) lh_free(c.rows);
  lh_free(c.set_of);
  lh_free(c.scaled);
  lh_history_free(&c.history);
  return ok ? LH_OK : code ? code : lh_fail_memory(error, "ranking sites");
}
