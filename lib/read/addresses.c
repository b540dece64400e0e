/*
** addresses.c - finds the object at an address.
**
** Memory is divided into stretches of 256 words (2 KB). A stretch with objects has a bit for each
** word at which an object begins, and the number of objects before the stretch. So the rank of an
** object is a sum of bits, and by_rank has its id. Memory: 4 bytes an object and 90 a stretch,
** which are 4 to 9 an object. The stretches are in a hash table with open addressing, whose seed is
** random, so that nobody can prepare a file whose addresses collide.
*/
#include "decode.h"
#include "reader.h"
#include "record.h"
#include "team.h"

/* Before the number of stretches is known: a slot for 16 objects, and half of the slots used. */
enum { FIRST_SLOTS = 8, OBJECTS_OF_SLOT = 16 };

/* The slot of the stretch; an empty slot if the table does not have the stretch. */
static lh_stretch *slot_of(lh_snapshot *s, uint64_t number) {
  lh_stretch *stretch = &s->stretches[lh_stretch_slot(s, number) - s->stretches];
  while (stretch->number != 0 && stretch->number != number)
    if (++stretch == s->stretches + s->n_stretch_slots) stretch = s->stretches;
  return stretch;
}

static bool make_slots(lh_snapshot *s, uint64_t n) {
  lh_stretch *old = s->stretches;
  uint64_t n_old = s->n_stretch_slots;
  lh_stretch *stretches = lh_alloc_zeroed(n, sizeof *stretches);
  if (!stretches) return false;
  s->stretches = stretches;
  s->n_stretch_slots = n;
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

/* The table is at most half full while it is filled, and five eighths full afterwards. */
static bool fit_slots(lh_snapshot *s, uint64_t n_stretches) {
  uint64_t n_slots = n_stretches + n_stretches / 2 + n_stretches / 10 + 1;
  return n_slots >= s->n_stretch_slots || make_slots(s, n_slots);
}

static int fill_stretches(lh_snapshot *s, lh_error *error) {
  uint64_t n_stretches = 0;
  lh_stretch *stretch = NULL;
  for (lh_id id = 1; id <= s->n; id++) {
    uint64_t word = s->address[id] >> 3, number = lh_stretch_number(word);
    if (!stretch || stretch->number != number) {
      if (2 * n_stretches >= s->n_stretch_slots &&
          !make_slots(s, s->n_stretch_slots + s->n_stretch_slots / 2))
        return lh_fail_memory(error, "indexing addresses");
      stretch = slot_of(s, number);
      n_stretches += stretch->number == 0;
      stretch->number = number;
    }
    uint64_t *bits = &stretch->bits[word >> 6 & 3], bit = UINT64_C(1) << (word & 63);
    if (*bits & bit) return fail_twins(s, id, error);
    *bits |= bit;
  }
  if (!fit_slots(s, n_stretches)) return lh_fail_memory(error, "indexing addresses");
  return LH_OK;
}

static bool fill_ids(void *data, uint32_t i) {
  lh_snapshot *s = data;
  lh_id next = i + 1 < s->n_blocks ? s->blocks[i + 1].id : s->n + 1;
  const lh_stretch *stretch = s->stretches;
  for (lh_id id = s->blocks[i].id; id < next; id++) {
    uint64_t word = s->address[id] >> 3, number = lh_stretch_number(word);
    if (stretch->number != number) stretch = slot_of(s, number);
    s->by_rank[stretch->rank[word >> 6 & 3] + lh_bits_in(lh_bits_before(stretch, word))] = id;
  }
  return true;
}

static bool fill_ranks(lh_snapshot *s) {
  uint32_t rank = 0;
  for (uint64_t i = 0; i < s->n_stretch_slots; i++)
    for (unsigned part = 0; part < 4; part++) {
      s->stretches[i].rank[part] = rank;
      rank += lh_bits_in(s->stretches[i].bits[part]);
    }
  s->by_rank = lh_alloc(s->n, sizeof *s->by_rank);
  if (!s->by_rank) return false;
  (void)lh_for_each(s->threads, s->n_blocks, fill_ids, s);
  return true;
}

int lh_index_addresses(lh_snapshot *s, lh_error *error) {
  s->stretch_seed = lh_random_seed();
  if (!make_slots(s, FIRST_SLOTS + s->n / OBJECTS_OF_SLOT))
    return lh_fail_memory(error, "indexing addresses");
  int code = fill_stretches(s, error);
  if (code == LH_OK && !fill_ranks(s)) code = lh_fail_memory(error, "indexing addresses");
  return code;
}

lh_id lh_find_header(const lh_snapshot *s, uint64_t address) {
  return address == 0 || address % 8 != 0 ? LH_NO_OBJECT : lh_find_word(s, address >> 3);
}

/* The userdata with `n` user values whose memory block, which Lua prints, is at `address`. */
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
