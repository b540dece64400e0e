/*
** amounts.c - what follows from the amounts of a stack, or of several: what lives, how old the dead
** became, how certain that is of samples.
*/
#include <stddef.h>
#include <string.h>

#include "usage.h"

double lh_allocated_bytes(const lh_amounts *amounts) {
  return amounts->made_bytes + amounts->resized_bytes;
}

/* Never less than nothing: of what could not be attributed old blocks are freed, too. */
double lh_live_bytes(const lh_amounts *amounts) {
  double bytes = lh_allocated_bytes(amounts) - amounts->replaced_bytes - amounts->freed_bytes;
  return bytes > 0 ? bytes : 0;
}

static double live_blocks(const lh_amounts *amounts) {
  double blocks = amounts->made + amounts->resized - amounts->replaced - amounts->freed;
  return blocks > 0 ? blocks : 0;
}

/* Newton's; the module has no libm. */
static double root_of(double square) {
  double root = square > 1 ? square : 1;
  for (double next = (root + square / root) / 2; next < root; next = (root + square / root) / 2)
    root = next;
  return root;
}

static double error_bytes(const lh_amounts *amounts) {
  return amounts->variance > 0 ? 1.96 * root_of(amounts->variance) : 0;
}

unsigned lh_age_class(uint64_t age_bytes) {
  unsigned i = 0;
  while (i < LH_PROFILE_AGES - 1 && age_bytes > (uint64_t)4096 << i) i++;
  return i;
}

static double freed_by_age(const lh_amounts *amounts, uint64_t age_bytes) {
  unsigned last = lh_age_class(age_bytes);
  double bytes = 0;
  for (unsigned i = 0; amounts->deaths && i <= last; i++) bytes += amounts->deaths[i];
  return bytes;
}

static uint64_t age_of_part(const lh_amounts *amounts, double part) {
  double bytes = 0;
  if (amounts->freed_bytes <= 0) return 0;
  for (unsigned i = 0; i < LH_PROFILE_AGES - 1; i++) {
    if (amounts->deaths) bytes += amounts->deaths[i];
    if (bytes >= part * amounts->freed_bytes) return (uint64_t)4096 << i;
  }
  return UINT64_MAX;
}

double lh_ordered_bytes(const lh_usage *usage, lh_usage_order order, const lh_amounts *amounts) {
  switch (order) {
    case LH_MOST_LIVE: return lh_live_bytes(amounts);
    case LH_MOST_AT_PEAK: return amounts->peak_bytes;
    case LH_MOST_SOON_DEAD: return freed_by_age(amounts, lh_first_collection_bytes(usage));
    default: return lh_allocated_bytes(amounts);
  }
}

static uint64_t whole(double n) {
  return n > 0 ? (uint64_t)(n + 0.5) : 0;
}

lh_usage_group lh_rounded_amounts(const lh_usage *usage, const lh_amounts *c) {
  return (lh_usage_group){.allocated_bytes = whole(lh_allocated_bytes(c)),
                          .error_bytes = whole(error_bytes(c)),
                          .allocations = whole(c->made),
                          .objects = whole(c->objects),
                          .resizes = whole(c->resized),
                          .freed_bytes = whole(c->freed_bytes),
                          .freed = whole(c->freed),
                          .live_bytes = whole(lh_live_bytes(c)),
                          .live = whole(live_blocks(c)),
                          .mean_age_bytes = c->freed > 0 ? whole(c->ages_bytes / c->freed) : 0,
                          .most_age_bytes = age_of_part(c, 0.9),
                          .soon_bytes = whole(freed_by_age(c, lh_first_collection_bytes(usage))),
                          .peak_bytes = whole(c->peak_bytes),
                          .samples = whole(c->samples)};
}

/* The fields before the last are numbers of one type. */
void lh_add_amounts(lh_amounts *to, const lh_amounts *from) {
  double *sum = (double *)to;
  const double *more = (const double *)from;
  for (size_t i = 0; i < offsetof(lh_amounts, deaths) / sizeof *sum; i++) sum[i] += more[i];
}

void lh_add_deaths(double *to, const lh_amounts *from) {
  for (size_t i = 0; from->deaths && i < LH_PROFILE_AGES; i++) to[i] += from->deaths[i];
}

double *lh_ages_at(lh_ages *ages, uint32_t *number) {
  const size_t bytes = LH_PROFILE_AGES * sizeof *ages->list;
  if (*number == 0) {
    if (!lh_grow(&ages->list, ages->n, &ages->capacity, bytes)) return NULL;
    memset(ages->list + ages->n * LH_PROFILE_AGES, 0, bytes);
    *number = (uint32_t)++ages->n;
  }
  return ages->list + (size_t)(*number - 1) * LH_PROFILE_AGES;
}
