/*
** tally.c - events by type and by size; sums and line numbers for lines.c and timeline.c.
**
** Sites of one line with several kinds of allocation are one line here. Sources are compared by
** name, since code that was loaded twice has two sources.
*/
#include "usage.h"

static int64_t signed_sum(const lh_sum *sum) {
  double part = sum->part < 0 ? sum->part - 0.5 : sum->part + 0.5;
  if (!(part < 9e18)) return INT64_MAX;
  if (part < -9e18) return INT64_MIN;
  return (int64_t)(sum->whole + (uint64_t)(int64_t)part);
}

uint64_t lh_sum_of(const lh_sum *sum) {
  int64_t n = signed_sum(sum);
  return n > 0 ? (uint64_t)n : 0;
}

int lh_compare_lines(const lh_line *a, const lh_line *b) {
  if (!a->source || !b->source) return (a->source != NULL) - (b->source != NULL);
  return (a->source == b->source ? 0 : strcmp(a->source, b->source)) ?: LH_LESS(a->line, b->line);
}

static bool is_same_name(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static void keep_common(lh_site *common, const lh_site *site) {
  if (!is_same_name(common->function, site->function)) common->function = NULL;
  if (!is_same_name(common->c_function, site->c_function)) common->c_function = NULL;
}

static bool make_lines(lh_line_keys *keys, const lh_sites *sites, lh_site_numbers *numbers) {
  uint32_t n_stacks = lh_n_stacks(sites);
  uint32_t *of_site = lh_number_sites(numbers, sites, LH_ALIKE_LINE);
  keys->n_lines = numbers->numbers.n;
  keys->lines = lh_alloc_zeroed(keys->n_lines, sizeof *keys->lines);
  keys->of_stack = lh_alloc((size_t)n_stacks + 1, sizeof *keys->of_stack);
  bool fine = of_site && keys->lines && keys->of_stack;
  for (uint32_t i = 1; fine && i <= lh_n_sites(sites); i++) {
    const lh_site *site = lh_site_of(sites, i);
    lh_line *line = &keys->lines[of_site[i]];
    if (site->source && !line->source) *line = (lh_line){site->source, site->line, *site};
    if (site->source) keep_common(&line->site, site);
  }
  for (uint32_t i = 0; fine && i <= n_stacks; i++)
    keys->of_stack[i] = of_site[lh_site_at(sites, i)];
  lh_free(of_site);
  return fine;
}

int lh_line_keys_make(const lh_sites *sites, lh_line_keys *keys, lh_error *error) {
  *keys = (lh_line_keys){0};
  lh_site_numbers numbers = {0};
  bool fine = make_lines(keys, sites, &numbers);
  lh_site_numbers_free(&numbers);
  if (fine) return 0;
  lh_line_keys_free(keys);
  return lh_fail_memory(error, "counting by line");
}

void lh_line_keys_free(lh_line_keys *keys) {
  LH_FREE_ALL(keys->lines, keys->of_stack);
  *keys = (lh_line_keys){0};
}

int lh_tally_events(lh_profile *profile, const char *what,
                    bool (*see)(const lh_event *event, void *data), void *data, lh_error *error) {
  if (lh_profile_about(profile)->is_aggregate)
    return lh_fail(error, LH_EARGUMENT,
                   "it was recorded as an aggregate, which has no order of events: there is no %s "
                   "of it",
                   what);
  return lh_profile_replay(profile, see, data, error);
}

/* Counts only blocks made since tracking began, so that all figures are about the same blocks. */

typedef struct type_counter {
  lh_sum made, made_bytes, resized, resized_bytes, freed, freed_bytes, live_bytes;
  lh_sum made_of[LH_TYPE_COUNT], made_parts;
  uint64_t peak_bytes;
} type_counter;

static void see_live(type_counter *c, uint64_t more, uint64_t less, double weight) {
  lh_sum_add(&c->live_bytes, more, weight);
  lh_sum_subtract(&c->live_bytes, less, weight);
  uint64_t live = lh_sum_of(&c->live_bytes);
  if (live > c->peak_bytes) c->peak_bytes = live;
}

static bool see_type(const lh_event *event, void *data) {
  type_counter *c = data;
  double weight = event->weight;
  if (event->kind == LH_EVENT_NEW) {
    lh_sum_add(&c->made, 1, weight);
    lh_sum_add(&c->made_bytes, event->bytes, weight);
    lh_sum_add(event->type < LH_TYPE_COUNT ? &c->made_of[event->type] : &c->made_parts, 1, weight);
    see_live(c, event->bytes, 0, weight);
  } else if (event->old_stack == 0) {
    return true;
  } else if (event->kind == LH_EVENT_RESIZE) {
    lh_sum_add(&c->resized, 1, weight);
    lh_sum_add(&c->resized_bytes, event->bytes, weight);
    lh_sum_subtract(&c->resized_bytes, event->old_bytes, weight);
    see_live(c, event->bytes, event->old_bytes, weight);
  } else {
    lh_sum_add(&c->freed, 1, weight);
    lh_sum_add(&c->freed_bytes, event->old_bytes, weight);
    see_live(c, 0, event->old_bytes, weight);
  }
  return true;
}

static void put_type_tally(const type_counter *c, lh_type_tally *out) {
  *out = (lh_type_tally){.made = lh_sum_of(&c->made),
                         .made_bytes = lh_sum_of(&c->made_bytes),
                         .resized = lh_sum_of(&c->resized),
                         .resized_bytes = signed_sum(&c->resized_bytes),
                         .freed = lh_sum_of(&c->freed),
                         .freed_bytes = lh_sum_of(&c->freed_bytes),
                         .made_parts = lh_sum_of(&c->made_parts),
                         .peak_bytes = c->peak_bytes};
  for (unsigned i = 0; i < LH_TYPE_COUNT; i++) out->made_of[i] = lh_sum_of(&c->made_of[i]);
}

int lh_tally_types(lh_profile *profile, lh_type_tally *out, lh_error *error) {
  type_counter c = {0};
  int code = lh_tally_events(profile, "report by type", see_type, &c, error);
  put_type_tally(&c, out);
  return code;
}

typedef struct size_counter {
  lh_sum blocks[LH_SIZES], bytes[LH_SIZES];
} size_counter;

static unsigned size_of(uint64_t bytes) {
  return bytes <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(bytes - 1);
}

static bool see_size(const lh_event *event, void *data) {
  size_counter *c = data;
  if (event->kind == LH_EVENT_FREE) return true;
  unsigned size = size_of(event->bytes);
  lh_sum_add(&c->blocks[size], 1, event->weight);
  lh_sum_add(&c->bytes[size], event->bytes, event->weight);
  return true;
}

int lh_tally_sizes(lh_profile *profile, lh_size_tally *out, lh_error *error) {
  size_counter c = {0};
  int code = lh_tally_events(profile, "table of sizes", see_size, &c, error);
  for (unsigned i = 0; i < LH_SIZES; i++) {
    out->blocks[i] = lh_sum_of(&c.blocks[i]);
    out->bytes[i] = lh_sum_of(&c.bytes[i]);
  }
  return code;
}
