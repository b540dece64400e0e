/*
** addresses.c - from an address to the object.
**
** Memory is looked at in units of 64 words (512 bytes). A unit that holds objects has a bit for
** each word at which one begins, and says how many begin in the units before it, in some order of
** units: so the number of an object in that order is a sum of bits, and by_rank has its id. 4 bytes
** an object and 24 to 48 for each unit, which of a heap are some 5 an object; no address is compared
** but that of the unit. Units stand in a table with open addressing, four that are neighbours in one
** line, since what refers to each other was often allocated together.
**
** The lines are random by a seed that is new each time a snapshot is opened, so that nobody can
** prepare a file whose addresses meet in one place.
*/
#include "decode.h"
#include "reader.h"
#include "record.h"

enum { FIRST_SLOTS = 64 }; /* a power of two, as it stays */

/* The unit's slot, taken or not. */
static lh_unit *slot_of(lh_snapshot *s, uint64_t number) {
  lh_unit *unit = &s->units[lh_unit_slot(s, number) - s->units];
  while (unit->number != 0 && unit->number != number)
    if (++unit == s->units + s->n_unit_slots) unit = s->units;
  return unit;
}

static bool make_slots(lh_snapshot *s, uint64_t n) {
  lh_unit *old = s->units;
  uint64_t n_old = s->n_unit_slots;
  lh_unit *units = lh_alloc_zeroed(n, sizeof *units);
  if (!units) return false;
  s->units = units;
  s->n_unit_slots = n;
  for (uint64_t i = 0; i < n_old; i++)
    if (old[i].number) *slot_of(s, old[i].number) = old[i];
  lh_free(old);
  return true;
}

static int fail_twins(const lh_snapshot *s, lh_id id, lh_error *error) {
  lh_id twin = 1;
  while (s->address[twin] != s->address[id]) twin++;
  return lh_fail_at(error, (uint64_t)(lh_record(s, id) - s->data),
                    "'%s' is damaged: objects %u and %u are both at address 0x%llx", s->name, twin,
                    id, (unsigned long long)s->address[id]);
}

static int fill_units(lh_snapshot *s, lh_error *error) {
  uint64_t n_units = 0;
  lh_unit *unit = NULL;
  for (lh_id id = 1; id <= s->n; id++) {
    uint64_t word = s->address[id] >> 3, number = (word >> 6) + 1;
    if (!unit || unit->number != number) {
      if (2 * n_units >= s->n_unit_slots && !make_slots(s, 2 * s->n_unit_slots))
        return lh_fail_memory(error, "indexing addresses");
      unit = slot_of(s, number);
      n_units += unit->number == 0;
      unit->number = number;
    }
    uint64_t bit = UINT64_C(1) << (word & 63);
    if (unit->bits & bit) return fail_twins(s, id, error);
    unit->bits |= bit;
  }
  return LH_OK;
}

static bool fill_ranks(lh_snapshot *s) {
  uint32_t rank = 0;
  for (uint64_t i = 0; i < s->n_unit_slots; i++) {
    s->units[i].rank = rank;
    rank += lh_bits_in(s->units[i].bits);
  }
  s->by_rank = lh_alloc(s->n, sizeof *s->by_rank);
  if (!s->by_rank) return false;
  const lh_unit *unit = s->units;
  for (lh_id id = 1; id <= s->n; id++) {
    uint64_t word = s->address[id] >> 3, number = (word >> 6) + 1;
    if (unit->number != number) unit = slot_of(s, number);
    s->by_rank[unit->rank + lh_bits_in(unit->bits & ((UINT64_C(1) << (word & 63)) - 1))] = id;
  }
  return true;
}

int lh_index_addresses(lh_snapshot *s, lh_error *error) {
  s->unit_seed = lh_random_seed();
  if (!make_slots(s, FIRST_SLOTS)) return lh_fail_memory(error, "indexing addresses");
  int code = fill_units(s, error);
  if (code == LH_OK && !fill_ranks(s)) code = lh_fail_memory(error, "indexing addresses");
  return code;
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
