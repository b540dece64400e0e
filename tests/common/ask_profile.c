/* ask_profile.c - see ask_profile.h. */
#include "ask_profile.h"

#include <string.h>

#include "ask.h"
#include "rooms/usage.h"
#include "usage/answers.h"

static bool is_type(uint8_t type) {
  return (type > LH_TYPE_ROOT && type < LH_TYPE_COUNT) || type == LH_EVENT_PART;
}

static void ask_sites(const lh_sites *sites) {
  size_t n = 0;
  for (lh_site_id id = 1; id <= lh_n_sites(sites); id++) {
    const lh_site *site = lh_site_of(sites, id);
    n += (site->source ? strlen(site->source) : 0) + (site->function ? strlen(site->function) : 0) +
         (site->c_function ? strlen(site->c_function) : 0);
    claim(site->maker <= LH_MADE_OTHERWISE);
  }
  claim(n < SIZE_MAX / 2);
  for (lh_stack_id id = 1; id <= lh_n_stacks(sites); id++) {
    const lh_stack *stack = lh_stack_of(sites, id);
    claim(stack->parent < id && stack->site >= 1 && stack->site <= lh_n_sites(sites));
  }
}

typedef struct replay {
  uint64_t n, bytes, time_ns;
  uint32_t n_stacks;
} replay;

static bool see(const lh_event *e, void *data) {
  replay *r = data;
  r->n++;
  claim(e->stack <= r->n_stacks && e->old_stack <= r->n_stacks && is_type(e->type));
  claim(e->kind <= LH_EVENT_FREE && e->weight >= 1 && e->time_ns >= r->time_ns);
  claim(!__builtin_add_overflow(r->bytes, e->bytes + e->old_bytes, &r->bytes));
  r->time_ns = e->time_ns;
  return true;
}

static void ask_tables(const lh_profile *p, uint32_t n_stacks) {
  size_t n;
  const lh_profile_count *counts = lh_profile_counts(p, &n);
  for (size_t i = 0; i < n; i++) claim(counts[i].stack <= n_stacks && is_type(counts[i].type));
  const lh_profile_call *calls = lh_profile_calls(p, &n);
  for (size_t i = 0; i < n; i++)
    claim(calls[i].stack >= 1 && calls[i].stack <= n_stacks &&
          calls[i].tail_calls <= calls[i].calls);
}

static void ask_usage(lh_profile *p) {
  const lh_usage_query query = {.peak = true};
  lh_usage *usage;
  if (lh_usage_new(&usage, p, &query, NULL) == LH_OK) lh_usage_free(usage);
}

static void ask_tallies(lh_profile *p) {
  lh_line_tally lines;
  lh_type_tally of_types;
  lh_timeline timeline;
  if (lh_tally_lines(p, 1000000, &lines, NULL) == LH_OK) lh_line_tally_free(&lines);
  (void)lh_tally_types(p, &of_types, NULL);
  if (lh_tally_timeline(p, 10, 5, &timeline, NULL) == LH_OK) lh_timeline_free(&timeline);
}

void ask_profile(const uint8_t *data, size_t size) {
  lh_profile *p;
  if (lh_profile_open_memory(data, size, "ask", &p, NULL) != LH_OK) return;
  const lh_profile_info *about = lh_profile_about(p);
  const lh_sites *sites = lh_profile_sites(p);
  replay r = {.n_stacks = lh_n_stacks(sites)};
  claim(about->read_bytes <= size && about->file_bytes == size);
  claim(about->is_whole == false || about->read_bytes == size);
  ask_sites(sites);
  claim(lh_profile_replay(p, see, &r, NULL) == LH_OK);
  claim(r.n == about->n_events && r.time_ns <= about->duration_ns);
  ask_tables(p, r.n_stacks);
  ask_usage(p);
  ask_tallies(p);
  lh_profile_close(p);
}
