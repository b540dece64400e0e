/*
** describe_sites.c - where the instances of a class were allocated, of a program that was tracked.
*/
#include "analyses.h"

#include <stdlib.h>

#include "name/allocated.h"

static int compare_rows(const void *left, const void *right) {
  const lh_class_site *a = left, *b = right;
  if (a->objects != b->objects) return a->objects > b->objects ? -1 : 1;
  return a->site < b->site ? -1 : a->site > b->site;
}

/* The rows of all sites, of which those are kept that have instances. */
static size_t count_instances(const lh_instances *of, const lh_sites *sites, lh_class_site *rows) {
  size_t n = 0;
  for (size_t i = 0; i < of->n; i++) {
    lh_class_site *row = &rows[lh_site_at(sites, lh_object_stack(of->snapshot, of->ids[i]))];
    row->objects++;
    row->shallow_bytes += lh_shallow_bytes(of->snapshot, of->ids[i]);
  }
  for (lh_site_id site = 0; site <= lh_n_sites(sites); site++) {
    if (rows[site].objects == 0) continue;
    rows[n] = rows[site];
    rows[n++].site = site;
  }
  if (n > 1) qsort(rows, n, sizeof *rows, compare_rows);
  return n;
}

bool lh_describe_sites(const lh_instances *of, lh_description *out) {
  const lh_sites *sites = lh_snapshot_sites(of->snapshot);
  if (!sites) return true;
  out->sites = lh_alloc_zeroed((size_t)lh_n_sites(sites) + 1, sizeof *out->sites);
  if (out->sites) out->n_sites = count_instances(of, sites, out->sites);
  return out->sites != NULL;
}
