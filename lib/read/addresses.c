/*
** addresses.c - from an address to the object.
**
** One hash table with open addressing and linear probing: an id (4 bytes) a slot, two slots an
** object (ten million objects: 80 MB). What refers to each other was often allocated together, so
** the table keeps neighbours together too: the 512 bytes of memory that a unit is share a random
** line of 16 slots (64 bytes), and the address within the unit chooses the slot. Six million
** look-ups of neighbours so touch far fewer cache lines than with a hash of the whole address.
**
** The lines are random by a seed that is new each time a snapshot is opened, so that nobody can
** prepare a file whose addresses meet in one place.
*/
#include "decode.h"
#include "reader.h"
#include "record.h"

enum { LOOK_AHEAD = 24 }; /* look-ups in flight while the table is filled */

/* Puts `id` in its slot and returns 0, or returns the object that has the same address. */
static lh_id insert(lh_snapshot *s, lh_id id) {
  uint64_t slot = lh_slot_of(s, s->address[id] >> 3);
  lh_id other;
  while ((other = s->by_address[slot]) != 0) {
    if (s->address[other] == s->address[id]) return other;
    if (++slot == s->address_slots) slot = 0;
  }
  s->by_address[slot] = id;
  return 0;
}

int lh_index_addresses(lh_snapshot *s, lh_error *error) {
  s->address_lines = (uint64_t)s->n / (LH_LINE_SLOTS / 2) + 1;
  s->address_slots = s->address_lines * LH_LINE_SLOTS;
  s->address_seed = lh_random_seed();
  s->by_address = lh_alloc_zeroed(s->address_slots, sizeof *s->by_address);
  if (!s->by_address) return lh_fail_memory(error, "indexing addresses");
  for (uint64_t id = 1; id <= s->n; id++) {
    if (id + LOOK_AHEAD <= s->n)
      __builtin_prefetch(&s->by_address[lh_slot_of(s, s->address[id + LOOK_AHEAD] >> 3)], 1);
    lh_id twin = insert(s, (lh_id)id);
    if (twin)
      return lh_fail_at(error, (uint64_t)(lh_record(s, (lh_id)id) - s->data),
                        "'%s' is damaged: objects %u and %u are both at address 0x%llx", s->name,
                        twin, (lh_id)id, (unsigned long long)s->address[id]);
  }
  return 0;
}

lh_id lh_find_header(const lh_snapshot *s, uint64_t address) {
  return address == 0 || address % 8 != 0 ? LH_NO_OBJECT : lh_find_word(s, address >> 3);
}

/* The userdata with `n` user values whose memory for the program, which is what Lua prints, is at
** `address`. */
static lh_id userdata_of(const lh_snapshot *s, uint64_t address, uint32_t n) {
  uint64_t before = lh_userdata_header(n);
  if (address <= before) return LH_NO_OBJECT;
  lh_id id = lh_find_word(s, (address - before) >> 3);
  lh_object object;
  if (id == LH_NO_OBJECT || lh_type_of(s, id) != LH_TYPE_USERDATA || lh_is_dead(s, id))
    return LH_NO_OBJECT;
  lh_object_at(s, id, &object);
  return object.as.userdata.user_values == n ? id : LH_NO_OBJECT;
}

lh_id lh_find_address(const lh_snapshot *s, uint64_t address) {
  if (address == 0 || address % 8 != 0) return LH_NO_OBJECT;
  lh_id id = lh_find_word(s, address >> 3);
  for (uint32_t n = 0; id == LH_NO_OBJECT && n <= LH_MOST_USER_VALUES; n++)
    id = userdata_of(s, address, n);
  return id;
}
