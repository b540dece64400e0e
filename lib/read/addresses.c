/*
** addresses.c - finds the object at an address.
**
** Memory is divided into units of 64 words (512 bytes). A unit has a bit for each word at which an
** object begins, and the number of objects before the unit. So the rank of an object is a sum of
** bits, and by_rank has its id. The units of a stretch of memory are neighbours, and a hash table
** has the stretches with objects. Its seed is random, so that nobody can prepare a file whose
** stretches collide.
**
** A stretch has 2 MB, so a heap has few of them. In a file whose objects are far apart most units
** would be empty. Then stretches are smaller, at last one unit. Memory: 4 bytes an object and 16 a
** unit, of which there are at most as many as objects; 32 more an object if they are far apart.
**
** Lua prints the address of a userdata's block, which is behind its user values. For up to
** MOST_TRIED values, each distance is tried; the userdata with more of them are in a sorted list.
*/
#include <stdlib.h>

#include "decode.h"
#include "reader.h"

enum { MOST_TRIED = 15 };

/* Words of a stretch, as powers of two: 2 MB, 128 KB, 8 KB, 512 bytes. */
static const uint8_t sizes[] = {18, 14, 10, LH_LOG2_UNIT};

static int fail_twins(const lh_snapshot *s, lh_id id, lh_error *error) {
  lh_id twin = 1;
  while (s->address[twin] != s->address[id]) twin++;
  return lh_fail_at(error, (uint64_t)(lh_record(s, id) - s->data),
                    "'%s' is damaged: objects %u and %u are both at address 0x%llx", s->name, twin,
                    id, (unsigned long long)s->address[id]);
}

/* Makes the table of stretches of this size. *fits: there are few enough of them. */
static bool list_stretches(lh_snapshot *s, unsigned log2_stretch, bool *fits) {
  unsigned log2_units = log2_stretch - LH_LOG2_UNIT;
  uint64_t most = s->n >> log2_units, n = 0, recent[LH_RECENT_STRETCHES] = {0};
  lh_free(s->stretches);
  s->log2_stretch = log2_stretch;
  s->n_stretch_slots = 2 * most + 1;
  s->stretches = lh_alloc_zeroed(s->n_stretch_slots, sizeof *s->stretches);
  if (!s->stretches) return false;
  for (lh_id id = 1; id <= s->n && n <= most; id++) {
    uint64_t number = lh_stretch_number(s, s->address[id] >> 3);
    uint64_t *seen = &recent[number % LH_RECENT_STRETCHES];
    if (*seen == number) continue;
    lh_stretch *stretch = &s->stretches[lh_slot_of_stretch(s, number)];
    uint64_t to_unit = 1 + (n << log2_units) - ((number - 1) << log2_units);
    if (stretch->number == 0) *stretch = (lh_stretch){number, to_unit}, n++;
    *seen = number;
  }
  s->n_units = 1 + (n << log2_units);
  *fits = n <= most;
  return true;
}

static int fill_units(lh_snapshot *s, lh_error *error) {
  bool fits = false;
  for (size_t i = 0; i < sizeof sizes && !fits; i++)
    if (!list_stretches(s, sizes[i], &fits)) return lh_fail_memory(error, "indexing addresses");
  s->units = lh_alloc_zeroed(s->n_units, sizeof *s->units);
  if (!s->units) return lh_fail_memory(error, "indexing addresses");
  lh_recent_stretches recent = {0};
  for (lh_id id = 1; id <= s->n; id++) {
    uint64_t word = s->address[id] >> 3, bit = UINT64_C(1) << (word & 63);
    lh_unit *unit = &s->units[lh_number_of_unit(s, word, &recent)];
    if (unit->bits & bit) return fail_twins(s, id, error);
    unit->bits |= bit;
  }
  return LH_OK;
}

static bool fill_ids(void *data, uint32_t i) {
  lh_snapshot *s = data;
  lh_id next = i + 1 < s->n_blocks ? s->blocks[i + 1].id : s->n + 1;
  lh_recent_stretches recent = {0};
  for (lh_id id = s->blocks[i].id; id < next; id++) {
    uint64_t word = s->address[id] >> 3;
    const lh_unit *unit = &s->units[lh_number_of_unit(s, word, &recent)];
    s->by_rank[unit->rank + lh_bits_in(lh_bits_before(unit, word))] = id;
  }
  return true;
}

static bool fill_ranks(lh_snapshot *s) {
  uint32_t rank = 0;
  for (uint64_t i = 0; i < s->n_units; i++) {
    s->units[i].rank = rank;
    rank += lh_bits_in(s->units[i].bits);
  }
  s->by_rank = lh_alloc(s->n, sizeof *s->by_rank);
  if (!s->by_rank) return false;
  (void)lh_parallel_for(s->threads, s->n_blocks, fill_ids, s);
  return true;
}

static int compare_blocks(const void *left, const void *right) {
  const lh_far_block *a = left, *b = right;
  return LH_LESS(a->pointer, b->pointer) ?: LH_LESS(a->id, b->id);
}

static bool list_far_blocks(lh_snapshot *s) {
  size_t capacity = 0;
  lh_object o;
  for (lh_id id = 1; id <= s->n; id++) {
    if (lh_type_of(s, id) != LH_TYPE_USERDATA || lh_is_dead(s, id)) continue;
    lh_object_at(s, id, &o);
    if (o.as.userdata.user_values <= MOST_TRIED) continue;
    if (!lh_grow(&s->far_blocks, s->n_far_blocks, &capacity, sizeof *s->far_blocks)) return false;
    s->far_blocks[s->n_far_blocks++] = (lh_far_block){o.pointer, id};
  }
  if (s->n_far_blocks > 1)
    qsort(s->far_blocks, s->n_far_blocks, sizeof *s->far_blocks, compare_blocks);
  return true;
}

int lh_index_addresses(lh_snapshot *s, lh_error *error) {
  s->stretch_seed = lh_random_seed();
  int code = fill_units(s, error);
  if (code == LH_OK && !(fill_ranks(s) && list_far_blocks(s)))
    code = lh_fail_memory(error, "indexing addresses");
  return code;
}

lh_id lh_find_header(const lh_snapshot *s, uint64_t address) {
  return address == 0 || address % 8 != 0 ? LH_NO_OBJECT : lh_find_word(s, address >> 3);
}

/* The userdata `before` bytes in front of its memory block, whose address Lua prints. */
static lh_id userdata_of(const lh_snapshot *s, uint64_t address, uint64_t before) {
  if (address <= before) return LH_NO_OBJECT;
  lh_id id = lh_find_word(s, (address - before) >> 3);
  lh_object object;
  if (id == LH_NO_OBJECT || lh_type_of(s, id) != LH_TYPE_USERDATA || lh_is_dead(s, id))
    return LH_NO_OBJECT;
  lh_object_at(s, id, &object);
  return object.pointer == address ? id : LH_NO_OBJECT;
}

static lh_id far_userdata_of(const lh_snapshot *s, uint64_t address) {
  size_t at = 0;
  LH_LOWER_BOUND(at, s->n_far_blocks, s->far_blocks[at].pointer < address);
  bool is_there = at < s->n_far_blocks && s->far_blocks[at].pointer == address;
  return is_there ? s->far_blocks[at].id : LH_NO_OBJECT;
}

lh_id lh_find_address(const lh_snapshot *s, uint64_t address) {
  if (address == 0 || address % 8 != 0) return LH_NO_OBJECT;
  uint64_t most = lh_userdata_header(MOST_TRIED) + s->sizes->more;
  lh_id id = lh_find_word(s, address >> 3);
  for (uint64_t before = LH_BARE_USERDATA; id == LH_NO_OBJECT && before <= most; before += 8)
    id = userdata_of(s, address, before);
  return id == LH_NO_OBJECT ? far_userdata_of(s, address) : id;
}
