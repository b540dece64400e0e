/*
** events.c - records of a profile: definitions, times and events (see format.h).
*/
#include "profile/reader.h"

uint8_t lh_profile_type(unsigned type) {
  static const uint8_t types[16] = {[4] = LH_TYPE_STRING,  [5] = LH_TYPE_TABLE,
                                    [6] = LH_TYPE_CLOSURE, [7] = LH_TYPE_USERDATA,
                                    [8] = LH_TYPE_THREAD,  [9] = LH_TYPE_UPVALUE,
                                    [10] = LH_TYPE_PROTO,  [LH_RECORD_PART] = LH_EVENT_PART};
  return types[type & 15];
}

static uint64_t read_bytes(lh_cursor *c) {
  return lh_read_upto(c, LH_MOST_BYTES, "a block is bigger than an address space");
}

/* So that whoever adds them up comes to no greater number. */
static void claim_weighted(lh_cursor *c, const uint8_t *at, uint64_t units, uint64_t bytes) {
  unsigned __int128 all = ((unsigned __int128)units * bytes) >> LH_RECORD_WEIGHT_SHIFT;
  lh_claim(c, at, all > LH_MOST_BYTES ? UINT64_MAX : (uint64_t)all);
}

static void read_weight(lh_pass *pass, lh_event *event) {
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  uint64_t units = 1 << LH_RECORD_WEIGHT_SHIFT;
  if (pass->profile->info.sample_bytes > 0) {
    units = lh_read_uvarint(c);
    if (units < 1 << LH_RECORD_WEIGHT_SHIFT) lh_fault(c, start, "less than one stand behind it");
  }
  event->weight = (double)units / (1 << LH_RECORD_WEIGHT_SHIFT);
  lh_claim(c, start, units >> LH_RECORD_WEIGHT_SHIFT);
  claim_weighted(c, start, units, event->bytes);
  claim_weighted(c, start, units, event->old_bytes);
}

static void read_event(lh_pass *pass) {
  enum { AGE_BITS = 44 };
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  uint64_t head = lh_read_uvarint(c), stack = head >> LH_RECORD_STACK_SHIFT;
  unsigned kind = head & 3;
  lh_event event = {.kind = (lh_event_kind)kind, .time_ns = pass->time_ns};
  event.type = lh_profile_type((unsigned)(head >> LH_RECORD_TYPE_SHIFT));
  if (kind > LH_RECORD_FREE || event.type == LH_TYPE_ROOT) lh_fault(c, start, "it is unknown");
  if (stack > lh_n_stacks(pass->profile->sites)) lh_fault(c, start, "its stack is not defined");
  if (pass->profile->info.is_aggregate) lh_fault(c, start, "an aggregate has an event");
  if (kind == LH_RECORD_FREE) {
    event.old_stack = (lh_stack_id)stack;
    event.old_bytes = read_bytes(c);
  } else {
    event.stack = (lh_stack_id)stack;
    event.bytes = read_bytes(c);
  }
  if (kind == LH_RECORD_RESIZE) {
    event.old_stack = lh_read_stack(pass);
    event.old_bytes = read_bytes(c);
  }
  if (kind != LH_RECORD_NEW)
    event.age_bytes = lh_read_upto(c, (UINT64_C(1) << AGE_BITS) - 1, "its age is too great")
                      << LH_RECORD_AGE_SHIFT;
  read_weight(pass, &event);
  if (c->fault) return;
  pass->n_events++;
  if (pass->see && !pass->see(&event, pass->data)) pass->is_stopped = true;
}

static void read_other(lh_pass *pass) {
  lh_cursor *c = &pass->c;
  if (*c->at == LH_RECORD_TIME) {
    c->at++;
    pass->time_ns += lh_read_upto(c, INT64_MAX - pass->time_ns, "the time is too late");
  } else if (pass->see) {
    lh_sites_skip(c);
  } else if (!lh_sites_define(pass->profile->sites, c)) {
    pass->out_of_memory = true;
  }
}

void lh_profile_read_records(lh_pass *pass) {
  const lh_cursor *c = &pass->c;
  while (c->at < c->end && !c->fault && !pass->out_of_memory && !pass->is_stopped) {
    if (*c->at < LH_RECORD_FIRST_EVENT)
      read_other(pass);
    else
      read_event(pass);
  }
}
