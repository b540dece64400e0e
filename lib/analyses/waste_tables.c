/*
** waste_tables.c - slots of tables that hold nothing, and tables that hold next to nothing.
**
** What a table needs is what Lua's rehash would allocate for its entries (ltable.c): as array part
** the greatest power of two of which more than half is in use, and for all other entries the next
** power of two of hash slots. Lua does that only when a new key finds no free slot, so a table that
** was emptied keeps its slots, and so does one that lost most of its entries. A table without an
** empty slot is as it should be, though keys of two kinds might take less room in another order.
*/
#include "analyses.h"
#include "read/decode.h"
#include "waste.h"

enum { ARRAY_SLOT_BYTES = 16, HASH_SLOT_BYTES = 24 };

/* Greater keys are never in an array part, which has at most 2^MOST_ARRAY_BITS slots. */
enum { MOST_ARRAY_BITS = 31 };

static unsigned log2_above(uint64_t n) {
  return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

/* n_below[i]: keys that are integers above 2^(i - 1) and up to 2^i. Returns the array slots, and in
** *n_inside how many of the keys are in these. */
static uint64_t array_slots_for(const uint64_t *n_below, uint64_t n_integers, uint64_t *n_inside) {
  uint64_t slots = 0, n = 0;
  *n_inside = 0;
  for (unsigned i = 0; i <= MOST_ARRAY_BITS && n_integers > (UINT64_C(1) << i) / 2; i++) {
    n += n_below[i];
    if (n <= (UINT64_C(1) << i) / 2) continue;
    slots = UINT64_C(1) << i;
    *n_inside = n;
  }
  return slots;
}

static uint64_t slot_bytes_needed(const lh_snapshot *snapshot, lh_id table) {
  uint64_t n_below[MOST_ARRAY_BITS + 1] = {0}, n = 0, n_integers = 0, n_inside;
  lh_edges it;
  lh_value key;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, NULL); n++) {
    if (key.kind != LH_VALUE_INTEGER || key.as.integer < 1 ||
        key.as.integer > INT64_C(1) << MOST_ARRAY_BITS)
      continue;
    n_integers++;
    n_below[log2_above((uint64_t)key.as.integer)]++;
  }
  uint64_t bytes = array_slots_for(n_below, n_integers, &n_inside) * ARRAY_SLOT_BYTES;
  if (n > n_inside) bytes += HASH_SLOT_BYTES * (UINT64_C(1) << log2_above(n - n_inside));
  return bytes;
}

static uint64_t less(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

lh_table_waste lh_waste_of_table(const lh_snapshot *snapshot, lh_id id) {
  lh_object t;
  lh_object_at(snapshot, id, &t);
  lh_table_waste w = {.slots = t.as.table.array_slots + t.as.table.hash_slots,
                      .used = t.as.table.array_used + t.as.table.hash_used};
  w.slot_bytes =
      t.as.table.array_slots * ARRAY_SLOT_BYTES + t.as.table.hash_slots * HASH_SLOT_BYTES;
  if (w.used > 0)
    w.slot_bytes = w.used < w.slots ? less(w.slot_bytes, slot_bytes_needed(snapshot, id)) : 0;
  w.other_bytes = less(t.shallow_bytes, w.slot_bytes);
  return w;
}

/* Metatables make other tables what they are, whatever is in them. */
static void mark_metatables(lh_wasted *w) {
  const lh_snapshot *snapshot = w->snapshot;
  for (size_t i = 0; i < snapshot->n_roots; i++)
    if (snapshot->roots[i].target <= snapshot->n)
      w->kinds[snapshot->roots[i].target] |= LH_WASTE_MARKED;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    lh_id metatable = lh_metatable_of(snapshot, id);
    if (metatable <= snapshot->n) w->kinds[metatable] |= LH_WASTE_MARKED;
  }
}

static bool is_small(const lh_wasted *w, lh_id id, const lh_table_waste *waste) {
  return waste->used <= 1 && !(w->kinds[id] & LH_WASTE_MARKED) &&
         lh_metatable_of(w->snapshot, id) == LH_NO_OBJECT && !lh_is_plumbing(w->snapshot, id);
}

void lh_find_table_waste(lh_wasted *w) {
  mark_metatables(w);
  for (lh_id id = 1; id <= w->snapshot->n; id++) {
    if (lh_type_of(w->snapshot, id) != LH_TYPE_TABLE || !lh_may_be_waste(w->snapshot, id)) continue;
    lh_table_waste waste = lh_waste_of_table(w->snapshot, id);
    unsigned kinds = 0;
    if (waste.slot_bytes > 0) kinds = 1u << (waste.used == 0 ? LH_WASTE_EMPTIED : LH_WASTE_SLOTS);
    if (is_small(w, id, &waste)) kinds |= 1u << LH_WASTE_SMALL_TABLES;
    w->kinds[id] |= (uint8_t)kinds;
  }
}
