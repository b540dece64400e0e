/*
** walk_sites.c - what the recorder of a tracked program knows: the stack of each object, and the
** section that explains these numbers (walk.h).
**
** The recorder knows blocks by their addresses and sizes, and is told of every block that is freed,
** so what it says about the address of a living object is about that object.
*/
#include "sites.h"
#include "track/track.h"
#include "walk.h"

/* In front of a thread is the extra space of its block; what a table or a prototype has beside its
** own block was allocated elsewhere, and later. */
static lh_stack_id find_stack(const lh_walk *walk, const raw_object *object,
                              uint64_t shallow_bytes) {
  const lh_layout *layout = walk->layout;
  const char *block = (const char *)object;
  uint64_t bytes = shallow_bytes;
  if (object->type == RAW_TABLE) bytes = sizeof(raw_table);
  if (object->type == RAW_PROTO) bytes = sizeof(raw_proto);
  if (object->type == RAW_THREAD) {
    if (object == walk->main_thread) return 0; /* it was before all else */
    bytes = layout->thread_bytes;
    block -= layout->thread_bytes - layout->global_from_main;
  }
  return lh_recorder_stack(walk->recorder, block, bytes);
}

static void put_bytes(const void *data, uint64_t n, void *payload) {
  lh_out_bytes(payload, data, n);
}

static void put_sites(lh_walk *walk) {
  const lh_recorder *recorder = walk->recorder;
  lh_out *out = walk->out;
  lh_recorder_facts facts = lh_recorder_tell(recorder);
  lh_out_u8(out, facts.has_stacks ? LH_SITES_HAVE_STACKS : 0);
  lh_out_uvarint(out, facts.sample_bytes);
  lh_out_uvarint(out, facts.made);
  lh_out_uvarint(out, facts.unattributed);
  lh_recorder_define(recorder, put_bytes, out);
  lh_out_u8(out, 0);
  uint32_t n = lh_recorder_stacks(recorder);
  for (lh_stack_id stack = 1; stack <= n; stack++) {
    lh_stack_counts counts = lh_recorder_counts(recorder, stack);
    uint8_t *p = lh_put_uvarint(lh_out_room(out), counts.made_objects);
    p = lh_put_uvarint(p, counts.made_bytes);
    p = lh_put_uvarint(p, counts.freed_objects);
    lh_out_took(out, lh_put_uvarint(p, counts.freed_bytes));
  }
}

const lh_walk_more lh_walk_with_sites = {
    .find_stack = find_stack, .section = LH_SECTION_SITES, .put_section = put_sites};

uint64_t lh_sites_longest(const lh_recorder *recorder) {
  enum { NUMBERS = 3, COUNTS = sizeof(lh_stack_counts) / sizeof(uint64_t) };
  return 2 + NUMBERS * LH_MAX_VARINT + lh_recorder_longest(recorder) +
         (uint64_t)COUNTS * LH_MAX_VARINT * lh_recorder_stacks(recorder);
}
