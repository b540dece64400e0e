/*
** waste.c - what memory holds without need: lh_find_waste.
**
** First each object is marked with the kinds in which it counts; then one walk along the shortest
** paths tells where all of those are; then each kind is added up by class and place. 2.2 million
** objects take 0.3 s, or 2 s where most of them are waste; 13 bytes each beside the walk.
*/
#include "waste.h"

#include <string.h>

#include "read/decode.h"

/* What the caller sees, and what holds the texts. */
typedef struct whole {
  lh_waste visible;
  lh_strings texts;
} whole;

typedef struct finder {
  lh_wasted w;
  lh_places places;
  lh_id *ids; /* what is waste, but for debug information */
  size_t n_ids;
  whole *out;
} finder;

/* {=== What counts ==================================================================== */

enum { USER_VALUE_BYTES = 16, USER_VALUES_BYTES = 8 }; /* each, and to have any */

static uint64_t bytes_for_user_values(const lh_object *userdata) {
  return USER_VALUES_BYTES + (uint64_t)userdata->as.userdata.user_values * USER_VALUE_BYTES;
}

static void find_userdata(lh_wasted *w) {
  const lh_snapshot *snapshot = w->snapshot;
  lh_object object;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (lh_type_of(snapshot, id) != LH_TYPE_USERDATA || !lh_may_be_waste(snapshot, id)) continue;
    lh_object_at(snapshot, id, &object);
    w->out->block_bytes += object.as.userdata.bytes;
    if (object.as.userdata.user_values > 0 && !lh_has_user_value(snapshot, id))
      w->kinds[id] |= 1u << LH_WASTE_USER_VALUES;
  }
}

enum { STRING_BYTES = 25 }; /* beside its content */

/* Lua halves its table of short strings when a collection leaves it less than a quarter full. */
static uint64_t string_table_waste(const lh_snapshot *snapshot) {
  uint64_t slots = snapshot->info.string_table_bytes / 8, all = slots, n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++)
    n += lh_type_of(snapshot, id) == LH_TYPE_STRING && lh_is_reachable(snapshot, id) &&
         lh_shallow_bytes(snapshot, id) <= STRING_BYTES + LH_MOST_SHORT_BYTES;
  while (n < slots / 4) slots /= 2;
  return 8 * (all - slots);
}

static lh_waste_part part_of(const lh_wasted *w, lh_id id, lh_waste_kind kind) {
  lh_waste_part part = {.id = id, .original = w->original[id]};
  lh_object object;
  lh_table_waste table;
  switch (kind) {
    case LH_WASTE_EMPTIED:
    case LH_WASTE_SLOTS:
    case LH_WASTE_SMALL_TABLES:
      table = lh_waste_of_table(w->snapshot, id);
      part.slots = table.slots;
      part.used = table.used;
      part.bytes = kind == LH_WASTE_SMALL_TABLES ? table.other_bytes : table.slot_bytes;
      break;
    case LH_WASTE_USER_VALUES:
      lh_object_at(w->snapshot, id, &object);
      part.bytes = bytes_for_user_values(&object);
      break;
    case LH_WASTE_STRINGS:
      lh_object_at(w->snapshot, id, &object);
      part.by_hash = object.as.string.kept < object.as.string.length;
      part.bytes = object.shallow_bytes;
      break;
    default: part.bytes = lh_shallow_bytes(w->snapshot, id); break;
  }
  return part;
}

/* }=================================================================================== */

/* {=== By class and place ============================================================= */

static bool find_places(finder *f) {
  const lh_snapshot *snapshot = f->w.snapshot;
  for (lh_id id = 1; id <= snapshot->n; id++) f->n_ids += (f->w.kinds[id] & ~LH_WASTE_MARKED) != 0;
  f->ids = lh_alloc(f->n_ids, sizeof *f->ids);
  if (!f->ids) return false;
  f->n_ids = 0;
  for (lh_id id = 1; id <= snapshot->n; id++)
    if (f->w.kinds[id] & ~LH_WASTE_MARKED) f->ids[f->n_ids++] = id;
  return lh_places_make(&f->places, snapshot, f->ids, f->n_ids);
}

static bool add_up_kind(finder *f, lh_waste_kind kind) {
  lh_waste *out = &f->out->visible;
  lh_waste_rows rows = {.places = &f->places, .sum = &out->kinds[kind]};
  bool ok = true;
  if (kind == LH_WASTE_DEBUG) ok = lh_find_debug_waste(&f->w, &rows);
  for (size_t i = 0; ok && i < f->n_ids; i++) {
    if (!(f->w.kinds[f->ids[i]] & 1u << kind)) continue;
    lh_waste_part part = part_of(&f->w, f->ids[i], kind);
    ok = lh_add_waste(&rows, lh_place_of(&f->places, f->ids[i]), &part);
  }
  lh_end_waste_rows(&rows, f->w.snapshot);
  if (kind != LH_WASTE_SMALL_TABLES) out->bytes += out->kinds[kind].bytes;
  return ok;
}

/* }=================================================================================== */

static bool find_all_waste(finder *f) {
  lh_wasted *w = &f->w;
  size_t n = (size_t)w->snapshot->n + 1;
  w->kinds = lh_alloc_zeroed(n, 1);
  w->original = lh_alloc(n, sizeof *w->original);
  if (!w->kinds || !w->original) return false;
  memset(w->original, 0xFF, n * sizeof *w->original);
  w->out->string_table_bytes = string_table_waste(w->snapshot);
  lh_find_table_waste(w);
  find_userdata(w);
  bool ok = lh_find_twins(w) && find_places(f);
  for (lh_waste_kind kind = 0; ok && kind < LH_WASTE_KINDS; kind++) ok = add_up_kind(f, kind);
  return ok;
}

int lh_find_waste(lh_snapshot *snapshot, lh_waste **out, lh_error *error) {
  *out = NULL;
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  finder f = {.w = {.snapshot = snapshot}};
  f.out = lh_alloc_zeroed(1, sizeof *f.out);
  if (f.out) f.w.out = &f.out->visible;
  bool ok = f.out && find_all_waste(&f);
  if (ok) {
    f.out->texts = f.places.texts;
    f.places.texts = (lh_strings){0};
  }
  lh_places_free(&f.places);
  lh_free(f.w.kinds);
  lh_free(f.w.original);
  lh_free(f.ids);
  if (ok) {
    *out = &f.out->visible;
    return LH_OK;
  }
  lh_waste_free(f.out ? &f.out->visible : NULL);
  return lh_fail_memory(error, "finding waste");
}

void lh_waste_free(lh_waste *waste) {
  if (!waste) return;
  whole *w = (whole *)waste;
  for (lh_waste_kind kind = 0; kind < LH_WASTE_KINDS; kind++) lh_free(waste->kinds[kind].rows);
  lh_strings_free(&w->texts);
  lh_free(w);
}
