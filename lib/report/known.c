/*
** known.c - known fingerprints. Those of the release before match, too, for one release.
*/
#include <stdlib.h>
#include <string.h>

#include "report/diff.h"
#include "report/growth.h"

static int compare_fingerprints(const void *a, const void *b) {
  return strcmp(a, b);
}

static bool is_among(const char *fingerprint, const void *list, size_t n, size_t size) {
  return n > 0 && bsearch(fingerprint, list, n, size, compare_fingerprints);
}

bool lh_is_known(const lh_request *request, const char *fingerprint) {
  const lh_known *known = request->known;
  return known && (is_among(fingerprint, known->list, known->n, sizeof *known->list) ||
                   is_among(fingerprint, known->renewed, known->n_renewed, sizeof *known->renewed));
}

/* ==== Fingerprints of the release before ============================================= */

static bool has_older(const lh_request *request) {
  return request->known && request->known->has_older;
}

static bool renew(lh_known *known, const char *now, const char *before) {
  if (!is_among(before, known->list, known->n, sizeof *known->list)) return true;
  if (!lh_grow(&known->renewed, known->n_renewed, &known->capacity, sizeof *known->renewed))
    return false;
  lh_renewed *made = &known->renewed[known->n_renewed++];
  memcpy(made->now, now, sizeof made->now);
  memcpy(made->before, before, sizeof made->before);
  return true;
}

static void sort_renewed(lh_known *known) {
  if (known->n_renewed > 1)
    qsort(known->renewed, known->n_renewed, sizeof *known->renewed, compare_fingerprints);
}

bool lh_renew_known_of_diff(const lh_request *request, lh_snapshot *c, const lh_diff *diff) {
  char before[LH_FINGERPRINT_BYTES];
  bool ok = true;
  if (!has_older(request)) return true;
  for (size_t i = 0; ok && i < diff->n_groups; i++)
    ok = lh_older_of_group(c, &diff->groups[i], before) &&
         renew(request->known, diff->groups[i].fingerprint, before);
  for (size_t i = 0; ok && i < diff->n_grown; i++)
    ok = lh_older_of_grown(c, &diff->grown[i], before) &&
         renew(request->known, diff->grown[i].fingerprint, before);
  sort_renewed(request->known);
  return ok;
}

bool lh_renew_known_of_growth(const lh_request *request, const lh_ladder *ladder,
                              const lh_growth *growth) {
  char before[LH_FINGERPRINT_BYTES];
  bool ok = true;
  if (!has_older(request)) return true;
  for (size_t i = 0; ok && i < growth->n_paths; i++)
    ok = lh_older_of_growth(ladder, &growth->paths[i], before) &&
         renew(request->known, growth->paths[i].fingerprint, before);
  sort_renewed(request->known);
  return ok;
}
