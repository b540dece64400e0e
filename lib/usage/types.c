/*
** types.c - blocks and bytes by type, and the most that lived at one time: luamemprofiler's counts.
** Only blocks count that were made since tracking began, so that all figures are of the same ones.
*/
#include "tally.h"

typedef struct counter {
  lh_sum made, made_bytes, resized, resized_bytes, freed, freed_bytes, live_bytes;
  lh_sum made_of[LH_TYPE_COUNT], made_parts;
  uint64_t peak_bytes;
} counter;

static void see_live(counter *c, uint64_t more, uint64_t less, double weight) {
  lh_sum_add(&c->live_bytes, more, weight);
  lh_sum_subtract(&c->live_bytes, less, weight);
  uint64_t live = lh_sum_of(&c->live_bytes);
  if (live > c->peak_bytes) c->peak_bytes = live;
}

static bool see(const lh_event *event, void *data) {
  counter *c = data;
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

static void put(const counter *c, lh_type_tally *out) {
  *out = (lh_type_tally){.made = lh_sum_of(&c->made),
                         .made_bytes = lh_sum_of(&c->made_bytes),
                         .resized = lh_sum_of(&c->resized),
                         .resized_bytes = lh_sum_signed(&c->resized_bytes),
                         .freed = lh_sum_of(&c->freed),
                         .freed_bytes = lh_sum_of(&c->freed_bytes),
                         .made_parts = lh_sum_of(&c->made_parts),
                         .peak_bytes = c->peak_bytes};
  for (unsigned i = 0; i < LH_TYPE_COUNT; i++) out->made_of[i] = lh_sum_of(&c->made_of[i]);
}

int lh_tally_types(lh_profile *profile, lh_type_tally *out, lh_error *error) {
  counter c = {0};
  bool failed = false;
  int code = lh_tally_events(profile, "report by type", see, &c, &failed, error);
  put(&c, out);
  return code;
}
