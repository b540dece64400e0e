/*
** sites.c - reads allocation sites and stacks of a snapshot whose program was tracked.
**
** The section is behind the records but is read first, because the check of a record needs it.
** Stack numbers stay in the records: no memory, and as fast as the shallow size.
*/
#include "reader.h"

static void read_tracking(lh_snapshot *s, lh_cursor *c) {
  unsigned flags = lh_read_u8(c);
  if (flags & ~(unsigned)LH_SITES_HAVE_STACKS) lh_fault(c, c->at - 1, "they have an unknown flag");
  s->tracking.has_stacks = flags & LH_SITES_HAVE_STACKS;
  s->tracking.sample_bytes = lh_read_upto(c, LH_MOST_BYTES, "the distance of samples is too big");
  s->tracking.made = lh_read_upto(c, INT64_MAX, "it counts more than there can be");
  s->tracking.unattributed =
      lh_read_upto(c, s->tracking.made, "more allocations are of no known site than there were");
}

static bool read_definitions(lh_snapshot *s, lh_cursor *c) {
  while (!c->fault && *c->at != 0)
    if (!lh_sites_define(s->sites, c)) return false;
  (void)lh_read_u8(c);
  return true;
}

/* Sums must fit into 63 bits, as in any real program. */
static uint64_t read_total(lh_cursor *c, uint64_t *sum) {
  uint64_t n = lh_read_upto(c, INT64_MAX - *sum, "it counts more than there can be");
  *sum += n;
  return n;
}

/* Each stack takes at least 4 bytes in the file, so the size of the file bounds the allocation. */
static bool read_counts(lh_snapshot *s, lh_cursor *c) {
  uint32_t n = lh_n_stacks(s->sites);
  if (n > (uint64_t)(c->end - c->at) / 4) lh_fault(c, c->at, "they do not count what each made");
  if (c->fault) return true;
  s->stack_counts = lh_alloc((size_t)n + 1, sizeof *s->stack_counts);
  if (!s->stack_counts) return false;
  lh_stack_counts sums = s->stack_counts[0] = (lh_stack_counts){0};
  for (uint32_t stack = 1; stack <= n && !c->fault; stack++) {
    lh_stack_counts *counts = &s->stack_counts[stack];
    counts->made_objects = read_total(c, &sums.made_objects);
    counts->made_bytes = read_total(c, &sums.made_bytes);
    counts->freed_objects = read_total(c, &sums.freed_objects);
    counts->freed_bytes = read_total(c, &sums.freed_bytes);
  }
  if (c->at != c->end) lh_fault(c, c->at, "they do not end where they should");
  return true;
}

int lh_read_sites(lh_snapshot *s, lh_error *error) {
  if (!s->is_tracked) return LH_OK;
  const lh_section *section = &s->sites_section;
  lh_cursor c = {.at = s->data + section->offset, .end = s->data + section->end};
  s->sites = lh_sites_new();
  if (!s->sites) return lh_fail_memory(error, "reading sites");
  read_tracking(s, &c);
  if (!read_definitions(s, &c) || !read_counts(s, &c))
    return lh_fail_memory(error, "reading sites");
  return c.fault ? lh_fail_damaged(s, c.fault_at, "sites", c.fault, error) : LH_OK;
}

const lh_tracking *lh_snapshot_tracking(const lh_snapshot *s) {
  return s->is_tracked ? &s->tracking : NULL;
}

const lh_sites *lh_snapshot_sites(const lh_snapshot *s) {
  return s->sites;
}

lh_stack_id lh_object_stack(const lh_snapshot *s, lh_id id) {
  if (!s->is_tracked || id == LH_ROOT || id > s->n) return 0;
  const uint8_t *at = lh_record(s, id) + 1;
  (void)lh_get_long(&at);
  (void)lh_get_uvarint(&at);
  return lh_get_count(&at);
}

lh_stack_counts lh_stack_counts_of(const lh_snapshot *s, lh_stack_id stack) {
  bool is_known = s->is_tracked && stack <= lh_n_stacks(s->sites);
  return is_known ? s->stack_counts[stack] : (lh_stack_counts){0};
}

/* 1 - e^-x by its series. x is halved until the series is short. Not every program has libm. */
static double share_sampled(double x) {
  enum { TERMS = 12 };
  int halvings = 0;
  double term = 1, sum = 0;
  for (; x > 0.5 && halvings < 10; halvings++) x /= 2;
  if (x > 0.5) return 1;
  for (int i = 1; i <= TERMS; i++) {
    term *= x / i;
    sum += i % 2 == 1 ? term : -term;
  }
  for (; halvings > 0; halvings--) sum = sum * (2 - sum); /* 1 - (1 - s)^2 */
  return sum;
}

/* A sample covers the object's own block, without the arrays of a table. */
static uint64_t own_block_bytes(const lh_snapshot *s, lh_id id) {
  switch (lh_type_of(s, id)) {
    case LH_TYPE_TABLE: return s->sizes->table;
    case LH_TYPE_PROTO: return LH_PROTO_BYTES;
    case LH_TYPE_THREAD: return s->sizes->thread;
    default: return lh_shallow_bytes(s, id) - lh_external_bytes(s, id);
  }
}

double lh_object_weight(const lh_snapshot *s, lh_id id) {
  if (!s->is_tracked || s->tracking.sample_bytes == 0) return 1;
  if (lh_object_stack(s, id) == 0) return 0;
  double x = (double)own_block_bytes(s, id) / (double)s->tracking.sample_bytes;
  return 1 / share_sampled(x);
}
