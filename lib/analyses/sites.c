/*
** sites.c - Ranks the allocation sites of a tracked program.
** A site may retain more than its objects dominate one by one (retained_sets.c). Sites without live
** objects have no row: a site takes 5 bytes in a file, but a row takes 136.
*/
#include "analyses.h"

#include "name/allocated.h"

typedef struct counting {
  lh_snapshot *snapshot;
  const lh_top_query *query;
  const lh_sites *sites;
  lh_history history;
  uint32_t *row_of; /* by site; LH_NO_NUMBER: no row */
  lh_site_row *rows;
  double (*scaled)[2]; /* by row: objects and bytes, estimated from samples */
  uint32_t n_rows;
  uint32_t *set_of; /* by object: its row, if it counts */
} counting;

static void number_rows(counting *c) {
  for (lh_id id = 1; id <= c->snapshot->n; id++) {
    if (!lh_is_queried(c->snapshot, c->query, id)) continue;
    lh_site_id site = lh_site_at(c->sites, lh_object_stack(c->snapshot, id));
    if (c->row_of[site] == LH_NO_NUMBER) c->row_of[site] = c->n_rows++;
    c->set_of[id] = c->row_of[site];
  }
}

static void count_objects(counting *c) {
  for (lh_id id = 1; id <= c->snapshot->n; id++) {
    uint32_t at = c->set_of[id];
    if (at == LH_NO_NUMBER) continue;
    lh_site_row *row = &c->rows[at];
    uint64_t bytes = lh_shallow_bytes(c->snapshot, id);
    row->site = lh_site_at(c->sites, lh_object_stack(c->snapshot, id));
    row->sampled++;
    row->ages[c->history.span_of[id]]++;
    row->shallow_bytes += bytes;
    if (!c->scaled) continue;
    double weight = lh_object_weight(c->snapshot, id);
    c->scaled[at][0] += weight;
    c->scaled[at][1] += weight * (double)bytes;
  }
}

static void add_counts(counting *c) {
  for (lh_stack_id stack = 1; stack <= lh_n_stacks(c->sites); stack++) {
    uint32_t at = c->row_of[lh_site_at(c->sites, stack)];
    if (at == LH_NO_NUMBER) continue;
    lh_stack_counts *to = &c->rows[at].counts, counts = lh_stack_counts_of(c->snapshot, stack);
    to->made_objects += counts.made_objects;
    to->made_bytes += counts.made_bytes;
    to->freed_objects += counts.freed_objects;
    to->freed_bytes += counts.freed_bytes;
  }
}

static uint64_t key_of(const lh_site_row *row, const lh_top_query *query) {
  if (query->sort == LH_SORT_COUNT) return row->objects;
  return query->garbage || query->sort == LH_SORT_SHALLOW ? row->shallow_bytes
                                                          : row->retained_bytes;
}

/* The row of unknown sites comes last. */
static int compare_site_rows(const void *left, const void *right, void *payload) {
  const lh_site_row *a = left, *b = right;
  return LH_LESS(a->site == 0, b->site == 0) ?: LH_MORE(key_of(a, payload), key_of(b, payload)) ?:
         LH_LESS(a->site, b->site);
}

/* Replaces sampled figures by estimates for all objects. */
static void finish_rows(counting *c) {
  for (uint32_t at = 0; at < c->n_rows; at++) {
    lh_site_row *row = &c->rows[at];
    row->objects = row->sampled;
    if (!c->scaled || row->site == 0) continue;
    row->objects = (uint64_t)(c->scaled[at][0] + 0.5);
    row->shallow_bytes = (uint64_t)(c->scaled[at][1] + 0.5);
  }
  if (c->n_rows > 1)
    qsort_r(c->rows, c->n_rows, sizeof *c->rows, compare_site_rows, (void *)c->query);
}

static bool make_site_rows(counting *c) {
  size_t n_sites = (size_t)lh_n_sites(c->sites) + 1, n_objects = (size_t)c->snapshot->n + 1;
  bool is_sampled = lh_snapshot_tracking(c->snapshot)->sample_bytes > 0;
  c->row_of = lh_alloc(n_sites, sizeof *c->row_of);
  c->set_of = lh_alloc(n_objects, sizeof *c->set_of);
  if (!c->row_of || !c->set_of) return false;
  memset(c->row_of, 0xFF, n_sites * sizeof *c->row_of);
  memset(c->set_of, 0xFF, n_objects * sizeof *c->set_of);
  number_rows(c);
  c->rows = lh_alloc_zeroed(c->n_rows, sizeof *c->rows);
  if (is_sampled) c->scaled = lh_alloc_zeroed(c->n_rows, sizeof *c->scaled);
  if (!c->rows || (is_sampled && !c->scaled)) return false;
  count_objects(c);
  add_counts(c);
  if (!c->query->garbage && !lh_retained_by_sets(c->snapshot, c->set_of, c->n_rows,
                                                 &c->rows->retained_bytes, sizeof *c->rows))
    return false;
  finish_rows(c);
  return true;
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
                   "there are no sites: the program was not tracked (heap.track)");
  int code = lh_find_history(snapshot, &c.history, error);
  bool ok = !code && make_site_rows(&c);
  if (ok) *rows = c.rows;
  if (ok) *n = c.n_rows;
  if (!ok) lh_free(c.rows);
  LH_FREE_ALL(c.row_of, c.set_of, c.scaled);
  lh_history_free(&c.history);
  return ok ? LH_OK : code ? code : lh_fail_memory(error, "ranking sites");
}
