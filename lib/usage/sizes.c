/*
** sizes.c - how big the blocks were that a program asked for: counts by powers of two.
*/
#include "tally.h"

typedef struct counter {
  lh_sum blocks[LH_SIZES], bytes[LH_SIZES];
} counter;

/* The first power of two that is not less. */
static unsigned size_of(uint64_t bytes) {
  return bytes <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(bytes - 1);
}

static bool see(const lh_event *event, void *data) {
  counter *c = data;
  if (event->kind == LH_EVENT_FREE) return true;
  unsigned size = size_of(event->bytes);
  lh_sum_add(&c->blocks[size], 1, event->weight);
  lh_sum_add(&c->bytes[size], event->bytes, event->weight);
  return true;
}

int lh_tally_sizes(lh_profile *profile, lh_size_tally *out, lh_error *error) {
  counter c = {0};
  bool failed = false;
  int code = lh_tally_events(profile, "table of sizes", see, &c, &failed, error);
  for (unsigned i = 0; i < LH_SIZES; i++) {
    out->blocks[i] = lh_sum_of(&c.blocks[i]);
    out->bytes[i] = lh_sum_of(&c.bytes[i]);
  }
  return code;
}
