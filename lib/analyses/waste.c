/*
** waste.c - Finds memory that a program could give back.
** Marks each object with its kinds of waste, finds the places of all with one walk along the
** shortest paths, and sums up each kind. 2.2 million objects: 0.3 s, or 2 s if most are waste;
** 13 bytes an object, without the walk.
*/
#include "analyses.h"
#include "read/decode.h"

/* kinds[id]: bit 1 << lh_waste_kind for each kind, and */
enum { MARKED = 0x80 }; /* a metatable, or an original that was counted */

typedef struct wasted {
  const lh_snapshot *snapshot;
  uint8_t *kinds;
  lh_id *original; /* by object: the object that it equals, or LH_NO_OBJECT */
  lh_waste *out;
} wasted;

static bool may_be_waste(const lh_snapshot *snapshot, lh_id id) {
  return lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
}

/* ==== Tables ========================================================================= */

/* A table needs the slots that Lua's rehash would allocate (ltable.c): an array part of the
** greatest power of two of which enough is used (more than half; since Lua 5.5 a third), and for
** other entries the next power of two of hash slots. Lua rehashes only when a new key finds no free
** slot, so a table keeps its slots when it loses entries. A full table is no waste. */

/* An array part has at most 2^MOST_ARRAY_BITS slots; greater keys are in the hash part. */
enum { MOST_ARRAY_BITS = 31 };

static unsigned log2_above(uint64_t n) {
  return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

/* n_below[i]: integer keys above 2^(i - 1), up to 2^i. *n_inside: keys in the array part. */
static uint64_t array_slots_for(const lh_sizes *sizes, const uint64_t *n_below, uint64_t n_integers,
                                uint64_t *n_inside) {
  uint64_t slots = 0, n = 0;
  *n_inside = 0;
  for (unsigned i = 0; i <= MOST_ARRAY_BITS; i++) {
    uint64_t candidate = UINT64_C(1) << i;
    if (candidate >= n_integers * sizes->slots_per_entry) break;
    n += n_below[i];
    if (n_below[i] == 0 || candidate >= n * sizes->slots_per_entry) continue;
    slots = candidate;
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
  uint64_t array = array_slots_for(snapshot->sizes, n_below, n_integers, &n_inside);
  uint64_t hash = n > n_inside ? UINT64_C(1) << log2_above(n - n_inside) : 0;
  return lh_slot_bytes(snapshot->sizes, array, hash);
}

static uint64_t less(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

typedef struct table_waste {
  uint64_t slots, used;
  uint64_t slot_bytes;  /* of slots that Lua would not allocate anew */
  uint64_t other_bytes; /* of the rest of the table */
} table_waste;

/* O(entries), or O(1) after lh_object_at if no slot is empty. */
static table_waste waste_of_table(const lh_snapshot *snapshot, lh_id id) {
  lh_object t;
  lh_object_at(snapshot, id, &t);
  table_waste w = {.slots = t.as.table.array_slots + t.as.table.hash_slots,
                   .used = t.as.table.array_used + t.as.table.hash_used};
  w.slot_bytes = lh_slot_bytes(snapshot->sizes, t.as.table.array_slots, t.as.table.hash_slots);
  if (w.used > 0)
    w.slot_bytes = w.used < w.slots ? less(w.slot_bytes, slot_bytes_needed(snapshot, id)) : 0;
  w.other_bytes = less(t.shallow_bytes, w.slot_bytes);
  return w;
}

/* A metatable is needed, even with no entry. */
static void mark_metatables(wasted *w) {
  const lh_snapshot *snapshot = w->snapshot;
  for (size_t i = 0; i < snapshot->n_roots; i++)
    if (snapshot->roots[i].target <= snapshot->n) w->kinds[snapshot->roots[i].target] |= MARKED;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    lh_id metatable = lh_metatable_of(snapshot, id);
    if (metatable <= snapshot->n) w->kinds[metatable] |= MARKED;
  }
}

static bool is_small(const wasted *w, lh_id id, const table_waste *waste) {
  return waste->used <= 1 && !(w->kinds[id] & MARKED) &&
         lh_metatable_of(w->snapshot, id) == LH_NO_OBJECT && !lh_is_runtime_object(w->snapshot, id);
}

static void find_table_waste(wasted *w) {
  mark_metatables(w);
  for (lh_id id = 1; id <= w->snapshot->n; id++) {
    if (lh_type_of(w->snapshot, id) != LH_TYPE_TABLE || !may_be_waste(w->snapshot, id)) continue;
    table_waste waste = waste_of_table(w->snapshot, id);
    unsigned kinds = 0;
    if (waste.slot_bytes > 0) kinds = 1u << (waste.used == 0 ? LH_WASTE_EMPTIED : LH_WASTE_SLOTS);
    if (is_small(w, id, &waste)) kinds |= 1u << LH_WASTE_SMALL_TABLES;
    w->kinds[id] |= (uint8_t)kinds;
  }
}

/* ==== Equal objects ================================================================== */

/* Lua interns short strings, so only others repeat. Strings are compared by bytes, or by kept
** bytes, length and XXH64 of the whole. Functions are equal if they have the same code and share
** their upvalues, or have none: Lua creates a new one each time. Upvalues with equal values do
** not count: each function may assign to its own. C functions may change theirs, too.
** The original is the equal object nearest to a root. 700,000 objects: 0.15 s. */

/* A Lua function's references: code, then upvalues. NULL: incomplete, as while Lua creates it. */
static const lh_id *parts_of(const lh_snapshot *snapshot, const lh_object *closure, size_t *n) {
  const lh_id *parts = snapshot->edge + snapshot->first_edge[closure->id];
  size_t n_edges = snapshot->first_edge[closure->id + 1] - snapshot->first_edge[closure->id];
  *n = (size_t)closure->as.closure.upvalues + 1;
  if (closure->as.closure.is_c || closure->as.closure.proto == LH_NO_OBJECT || n_edges < *n ||
      parts[0] != closure->as.closure.proto)
    return NULL;
  for (size_t i = 1; i < *n; i++)
    if (lh_type_of(snapshot, parts[i]) != LH_TYPE_UPVALUE) return NULL;
  return parts;
}

/* False: the object can have no equal. *hash is the same for equal objects. */
static bool find_hash(const lh_snapshot *snapshot, lh_id id, uint64_t seed, uint64_t *hash) {
  lh_type type = lh_type_of(snapshot, id);
  lh_object object;
  size_t n;
  if ((type != LH_TYPE_STRING && type != LH_TYPE_CLOSURE) || !may_be_waste(snapshot, id))
    return false;
  if (type == LH_TYPE_STRING) {
    if (lh_is_interned(snapshot, id)) return false;
    lh_content content = lh_content_of(snapshot, id, UINT64_MAX);
    *hash = lh_hash_content(&content, seed);
    return true;
  }
  lh_object_at(snapshot, id, &object);
  const lh_id *parts = parts_of(snapshot, &object, &n);
  if (parts) *hash = lh_hash(parts, n * sizeof *parts, seed);
  return parts != NULL;
}

static bool are_equal(const lh_snapshot *snapshot, lh_id a, lh_id b) {
  lh_object x, y;
  size_t n, m;
  if (lh_type_of(snapshot, a) != lh_type_of(snapshot, b)) return false;
  if (lh_type_of(snapshot, a) == LH_TYPE_STRING) {
    lh_content left = lh_content_of(snapshot, a, UINT64_MAX);
    lh_content right = lh_content_of(snapshot, b, UINT64_MAX);
    return lh_same_content(&left, &right);
  }
  lh_object_at(snapshot, a, &x);
  lh_object_at(snapshot, b, &y);
  const lh_id *left = parts_of(snapshot, &x, &n), *right = parts_of(snapshot, &y, &m);
  return n == m && memcmp(left, right, n * sizeof *left) == 0;
}

static bool is_nearer(const lh_snapshot *snapshot, lh_id a, lh_id b) {
  uint32_t x = lh_distance(snapshot, a), y = lh_distance(snapshot, b);
  return x != y ? x < y : a < b;
}

/* If hashes collide, the next free hash is used. NULL: out of memory. */
static lh_id *place_of_original(const lh_snapshot *snapshot, lh_id id, uint64_t hash,
                                lh_map *originals) {
  for (;; hash++) {
    lh_id *original = lh_map_at(originals, hash);
    if (!original || *original == LH_NO_OBJECT || *original == id ||
        are_equal(snapshot, id, *original))
      return original;
  }
}

/* Until set_originals, original[id] is the index of the original in the map. */
static bool find_originals(wasted *w, lh_map *originals) {
  uint64_t hash, seed = lh_random_seed();
  for (lh_id id = 1; id <= w->snapshot->n; id++) {
    if (!find_hash(w->snapshot, id, seed, &hash)) continue;
    lh_id *original = place_of_original(w->snapshot, id, hash, originals);
    if (!original) return false;
    w->original[id] = (lh_id)(original - originals->values);
    if (*original == LH_NO_OBJECT || is_nearer(w->snapshot, id, *original)) *original = id;
  }
  return true;
}

static void set_originals(wasted *w, const lh_map *originals) {
  for (lh_id id = 1; id <= w->snapshot->n; id++) {
    if (w->original[id] == LH_NO_OBJECT) continue;
    lh_id original = originals->values[w->original[id]];
    w->original[id] = original == id ? LH_NO_OBJECT : original;
    if (original == id) continue;
    bool is_string = lh_type_of(w->snapshot, id) == LH_TYPE_STRING;
    lh_waste_kind kind = is_string ? LH_WASTE_STRINGS : LH_WASTE_CLOSURES;
    w->kinds[id] |= (uint8_t)(1u << kind);
    w->out->kinds[kind].originals += !(w->kinds[original] & MARKED);
    w->kinds[original] |= MARKED;
  }
}

static bool find_twins(wasted *w) {
  lh_map originals = {0};
  bool ok = find_originals(w, &originals);
  if (ok) set_originals(w, &originals);
  lh_map_free(&originals);
  return ok;
}

/* ==== Rows =========================================================================== */

typedef struct waste_rows {
  lh_places *places;
  lh_waste_sum *sum;
  size_t capacity;
} waste_rows;

typedef struct waste_part {
  lh_id id, original;
  uint64_t bytes, slots, used;
  bool by_hash;
} waste_part;

static bool make_room_for_place(waste_rows *rows, uint32_t place) {
  lh_waste_sum *sum = rows->sum;
  while (sum->n_rows <= place) {
    if (!lh_grow(&sum->rows, sum->n_rows, &rows->capacity, sizeof *sum->rows)) return false;
    sum->rows[sum->n_rows++] = (lh_waste_row){.example = LH_NO_OBJECT};
  }
  return true;
}

static bool add_waste(waste_rows *rows, uint32_t place, const waste_part *part) {
  if (!make_room_for_place(rows, place)) return false;
  lh_waste_row *to = &rows->sum->rows[place];
  if (to->example == LH_NO_OBJECT || part->bytes > to->most) {
    to->example = part->id;
    to->original = part->original;
    to->most = part->bytes;
  }
  to->objects++;
  to->bytes += part->bytes;
  to->slots += part->slots;
  to->used += part->used;
  to->by_hash += part->by_hash;
  rows->sum->objects++;
  rows->sum->bytes += part->bytes;
  rows->sum->by_hash += part->by_hash;
  return true;
}

static int compare_waste(const void *left, const void *right, void *payload) {
  const lh_waste_row *a = left, *b = right;
  return LH_MORE(a->bytes, b->bytes) ?: strcmp(a->held_by, b->held_by) ?:
         lh_compare_class_names(payload, a->class_index, b->class_index) ?:
         LH_LESS(a->class_index, b->class_index);
}

static void end_waste_rows(waste_rows *rows, const lh_snapshot *snapshot) {
  lh_waste_sum *sum = rows->sum;
  size_t n = 0;
  for (size_t i = 0; i < sum->n_rows; i++) {
    const lh_place *place = &rows->places->list[i];
    if (sum->rows[i].objects == 0) continue;
    sum->rows[n] = sum->rows[i];
    sum->rows[n].class_index = place->class_index;
    sum->rows[n++].held_by = rows->places->texts.texts[place->path];
  }
  sum->n_rows = n;
  if (n > 1) qsort_r(sum->rows, n, sizeof *sum->rows, compare_waste, (void *)snapshot);
}

/* ==== Debug information ============================================================== */

/* Finds what a stripped program (luac -s) does not have, by source: lines and variable lists of
** protos, and strings to which only debug information refers. 1 byte an object. */

enum { NEEDED = 1, COUNTED = 2 };

/* Edges of protos must be decoded to know their kind, which costs more than the graph. */
static void mark_needed(const lh_snapshot *snapshot, uint8_t *state) {
  lh_edges it;
  lh_edge edge;
  for (lh_id id = 0; id <= snapshot->n; id++) {
    if (!lh_is_reachable(snapshot, id)) continue;
    if (lh_type_of(snapshot, id) != LH_TYPE_PROTO) {
      for (uint32_t e = snapshot->first_edge[id]; e < snapshot->first_edge[id + 1]; e++)
        state[snapshot->edge[e]] |= NEEDED;
      continue;
    }
    for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);)
      if (edge.kind != LH_EDGE_SOURCE && edge.kind != LH_EDGE_DEBUG_NAME)
        state[edge.target] |= NEEDED;
  }
}

static uint64_t take_names(const wasted *w, lh_id proto, uint8_t *state) {
  uint64_t bytes = 0;
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(w->snapshot, proto, &it); lh_edges_next(&it, &edge);) {
    bool is_name = lh_type_of(w->snapshot, edge.target) == LH_TYPE_STRING &&
                   !lh_is_own(w->snapshot, edge.target);
    if (!is_name || state[edge.target] || w->kinds[edge.target] & 1u << LH_WASTE_STRINGS) continue;
    state[edge.target] = COUNTED;
    bytes += lh_shallow_bytes(w->snapshot, edge.target);
  }
  return bytes;
}

static uint32_t place_of_source(waste_rows *rows, const lh_snapshot *snapshot, lh_id source) {
  lh_text text = {0};
  lh_add_source(&text, snapshot, source);
  return lh_place_called(rows->places, &text);
}

static bool add_proto(const wasted *w, waste_rows *rows, lh_id id, uint8_t *state, lh_map *places) {
  lh_object proto;
  lh_object_at(w->snapshot, id, &proto);
  waste_part part = {.id = id,
                     .original = LH_NO_OBJECT,
                     .bytes = proto.as.proto.debug_bytes + take_names(w, id, state)};
  if (part.bytes == 0) return true;
  uint32_t *place = lh_map_at(places, proto.as.proto.source);
  if (place && *place == LH_NO_NUMBER)
    *place = place_of_source(rows, w->snapshot, proto.as.proto.source);
  return place && *place != LH_NO_NUMBER && add_waste(rows, *place, &part);
}

/* Runs after find_twins: a string that counts there does not count here. */
static bool find_debug_waste(const wasted *w, waste_rows *rows) {
  const lh_snapshot *snapshot = w->snapshot;
  uint8_t *state = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  lh_map places = {0};
  bool ok = state != NULL;
  if (ok) mark_needed(snapshot, state);
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (lh_type_of(snapshot, id) == LH_TYPE_PROTO && may_be_waste(snapshot, id))
      ok = add_proto(w, rows, id, state, &places);
  lh_map_free(&places);
  lh_free(state);
  return ok;
}

typedef struct whole {
  lh_waste visible;
  lh_strings texts;
} whole;

typedef struct finder {
  wasted w;
  lh_places places;
  lh_id *ids; /* waste except debug information */
  size_t n_ids;
  whole *out;
} finder;

/* ==== Marking ======================================================================== */

/* What the userdata has more than one without user values. */
static uint64_t bytes_for_user_values(const lh_object *userdata) {
  return less(userdata->shallow_bytes, LH_BARE_USERDATA + userdata->as.userdata.bytes);
}

static void find_userdata(wasted *w) {
  const lh_snapshot *snapshot = w->snapshot;
  lh_object object;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (lh_type_of(snapshot, id) != LH_TYPE_USERDATA || !may_be_waste(snapshot, id)) continue;
    lh_object_at(snapshot, id, &object);
    w->out->block_bytes += object.as.userdata.bytes;
    if (object.as.userdata.user_values > 0 && !lh_has_user_value(snapshot, id))
      w->kinds[id] |= 1u << LH_WASTE_USER_VALUES;
  }
}

/* Lua halves its table of short strings while a collection finds it less than a quarter full. */
static uint64_t string_table_waste(const lh_snapshot *snapshot) {
  uint64_t slots = snapshot->info.string_table_bytes / 8, all = slots, n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++)
    n += lh_type_of(snapshot, id) == LH_TYPE_STRING && lh_is_reachable(snapshot, id) &&
         lh_is_interned(snapshot, id);
  while (n < slots / 4) slots /= 2;
  return 8 * (all - slots);
}

static waste_part part_of(const wasted *w, lh_id id, lh_waste_kind kind) {
  waste_part part = {.id = id, .original = w->original[id]};
  lh_object object;
  table_waste table;
  switch (kind) {
    case LH_WASTE_EMPTIED:
    case LH_WASTE_SLOTS:
    case LH_WASTE_SMALL_TABLES:
      table = waste_of_table(w->snapshot, id);
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

/* ==== By class and place ============================================================= */

static bool find_places(finder *f) {
  const lh_snapshot *snapshot = f->w.snapshot;
  for (lh_id id = 1; id <= snapshot->n; id++) f->n_ids += (f->w.kinds[id] & ~MARKED) != 0;
  f->ids = lh_alloc(f->n_ids, sizeof *f->ids);
  if (!f->ids) return false;
  f->n_ids = 0;
  for (lh_id id = 1; id <= snapshot->n; id++)
    if (f->w.kinds[id] & ~MARKED) f->ids[f->n_ids++] = id;
  return lh_places_make(&f->places, snapshot, f->ids, f->n_ids, f->n_ids);
}

static bool add_up_kind(finder *f, lh_waste_kind kind) {
  lh_waste *out = &f->out->visible;
  waste_rows rows = {.places = &f->places, .sum = &out->kinds[kind]};
  bool ok = true;
  if (kind == LH_WASTE_DEBUG) ok = find_debug_waste(&f->w, &rows);
  for (size_t i = 0; ok && i < f->n_ids; i++) {
    if (!(f->w.kinds[f->ids[i]] & 1u << kind)) continue;
    waste_part part = part_of(&f->w, f->ids[i], kind);
    ok = add_waste(&rows, lh_place_of(&f->places, f->ids[i]), &part);
  }
  end_waste_rows(&rows, f->w.snapshot);
  if (kind != LH_WASTE_SMALL_TABLES) out->bytes += out->kinds[kind].bytes;
  return ok;
}

static bool find_all_waste(finder *f) {
  wasted *w = &f->w;
  size_t n = (size_t)w->snapshot->n + 1;
  w->kinds = lh_alloc_zeroed(n, 1);
  w->original = lh_alloc(n, sizeof *w->original);
  if (!w->kinds || !w->original) return false;
  memset(w->original, 0xFF, n * sizeof *w->original);
  w->out->string_table_bytes = string_table_waste(w->snapshot);
  find_table_waste(w);
  find_userdata(w);
  bool ok = find_twins(w) && find_places(f);
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
  LH_FREE_ALL(f.w.kinds, f.w.original, f.ids);
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

int lh_kept_waste(lh_snapshot *snapshot, const lh_waste **out, lh_error *error) {
  int code = snapshot->waste ? LH_OK : lh_find_waste(snapshot, &snapshot->waste, error);
  snapshot->free_waste = lh_waste_free;
  *out = snapshot->waste;
  return code;
}
