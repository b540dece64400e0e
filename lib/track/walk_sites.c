/*
** walk_sites.c - adds the stack of each object, and the section of sites, to a snapshot.
** The recorder knows blocks by address and size, and sees every free. So its entry for the address
** of a living object is about that object. A forked child asks, too: all of it is
** async-signal-safe.
*/
#include "allocate.h"
#include "pool.h"

lh_stack_id lh_recorder_stack(const lh_recorder *r, const void *block, uint64_t bytes) {
  lh_life life = LH_UNKNOWN_LIFE;
  if (r->pool && lh_pool_has(r->pool, block)) {
    life = *lh_pool_life(block, lh_pool_slab(r->pool, block)->slot_bytes);
  } else if (r->function == lh_allocate_with_trailer) {
    life = lh_trailer_life(r, block, bytes);
  } else {
    const lh_life *known = lh_blocks_find(r->blocks, block);
    if (known) life = *known;
  }
  return lh_life_stack(life);
}

lh_stack_counts lh_recorder_counts(const lh_recorder *r, lh_stack_id stack) {
  const lh_tally *made = &r->made[stack], *freed = &r->freed[stack];
  return (lh_stack_counts){.made_objects = made->objects >> LH_TALLY_SHIFT,
                           .made_bytes = made->bytes,
                           .freed_objects = freed->objects >> LH_TALLY_SHIFT,
                           .freed_bytes = freed->bytes};
}

/* A thread's block begins with extra space. The other blocks of a table or a prototype were
** allocated later, elsewhere. */
static lh_stack_id find_stack(const lh_walk *walk, const raw_object *object,
                              uint64_t shallow_bytes) {
  const lh_layout *layout = walk->layout;
  const char *block = (const char *)object;
  uint64_t bytes = shallow_bytes;
  if (object->type == RAW_TABLE) bytes = sizeof(raw_table);
  if (object->type == RAW_PROTO) bytes = sizeof(raw_proto);
  if (object->type == RAW_THREAD) {
    if (object == walk->main_thread) return 0; /* older than tracking */
    bytes = layout->thread_bytes;
    block -= raw_extra_bytes(layout);
  }
  return lh_recorder_stack(walk->recorder, block, bytes);
}

static const lh_definitions *definitions_of(const lh_recorder *r) {
  static const lh_definitions none;
  return r->stacks ? &r->stacks->definitions : &none;
}

static void put_bytes(const void *data, uint64_t n, void *payload) {
  lh_out_bytes(payload, data, n);
}

static void put_sites(lh_walk *walk) {
  const lh_recorder *r = walk->recorder;
  const lh_definitions *d = definitions_of(r);
  lh_out *out = walk->out;
  lh_defined none = {0};
  uint64_t made = 0, unattributed = 0;
  for (lh_stack_id stack = 1; stack <= d->n_stacks; stack++) {
    made += lh_recorder_counts(r, stack).made_objects;
    if (stack == LH_STACK_UNATTRIBUTED) unattributed = made;
  }
  lh_out_u8(out, r->has_stacks ? LH_SITES_HAVE_STACKS : 0);
  lh_out_uvarint(out, r->sample_bytes);
  lh_out_uvarint(out, made);
  lh_out_uvarint(out, unattributed);
  lh_definitions_write(d, &none, put_bytes, out);
  lh_out_u8(out, 0);
  for (lh_stack_id stack = 1; stack <= d->n_stacks; stack++) {
    lh_stack_counts counts = lh_recorder_counts(r, stack);
    uint8_t *p = lh_put_uvarint(lh_out_room(out), counts.made_objects);
    p = lh_put_uvarint(p, counts.made_bytes);
    p = lh_put_uvarint(p, counts.freed_objects);
    lh_out_took(out, lh_put_uvarint(p, counts.freed_bytes));
  }
}

const lh_walk_more lh_walk_with_sites = {
    .find_stack = find_stack, .section = LH_SECTION_SITES, .put_section = put_sites};

uint64_t lh_sites_longest(const lh_recorder *r) {
  enum { NUMBERS = 3, COUNTS = sizeof(lh_stack_counts) / sizeof(uint64_t) };
  const lh_definitions *d = definitions_of(r);
  return 2 + NUMBERS * LH_MAX_VARINT + lh_definitions_longest(d) +
         (uint64_t)COUNTS * LH_MAX_VARINT * d->n_stacks;
}
