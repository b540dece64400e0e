/*
** waste_twins.c - strings with the same content, and functions that nothing tells apart.
**
** Short strings are interned, so only longer ones can be equal. Where the snapshot keeps all of
** their bytes these are compared, else what it keeps, the length and the XXH64 of the whole.
**
** Functions are equal if they have the same code and share their upvalues, or have none: Lua 5.4
** makes a new one each time that the program comes by. Functions whose upvalues have equal values
** are no waste: each may assign to its own. Nor are C functions, which may change theirs.
**
** Of equal ones the one nearest to a root is the original. They are found by a hash. 700,000:
** 0.15 s.
*/
#include <string.h>

#include "graph/graph.h"
#include "waste.h"

/* What a Lua function refers to: its code, then its upvalues. NULL where not all of that is in the
** snapshot, such as in a function that is just being made. */
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

/* May the object have an equal? *hash: the same of all that are equal to it. */
static bool find_hash(const lh_snapshot *snapshot, lh_id id, uint64_t seed, uint64_t *hash) {
  lh_type type = lh_type_of(snapshot, id);
  lh_object object;
  size_t n;
  if ((type != LH_TYPE_STRING && type != LH_TYPE_CLOSURE) || !lh_may_be_waste(snapshot, id))
    return false;
  if (type == LH_TYPE_STRING) {
    lh_content content = lh_content_of(snapshot, id, UINT64_MAX);
    *hash = lh_hash_content(&content, seed);
    return content.length > LH_MOST_SHORT_BYTES;
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

/* Where the original of all that are equal to an object is kept, by their hash; of the second kind
** with one hash by the next that is free. NULL: out of memory. */
static lh_id *place_of_original(const lh_snapshot *snapshot, lh_id id, uint64_t hash,
                                lh_map *originals) {
  for (;; hash++) {
    lh_id *original = lh_map_at(originals, hash);
    if (!original || *original == LH_NO_OBJECT || *original == id ||
        are_equal(snapshot, id, *original))
      return original;
  }
}

/* original[] of what may have an equal is the number of its original in the map, until
** tell_originals. */
static bool find_originals(lh_wasted *w, lh_map *originals) {
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

static void tell_originals(lh_wasted *w, const lh_map *originals) {
  for (lh_id id = 1; id <= w->snapshot->n; id++) {
    if (w->original[id] == LH_NO_OBJECT) continue;
    lh_id original = originals->values[w->original[id]];
    w->original[id] = original == id ? LH_NO_OBJECT : original;
    if (original == id) continue;
    bool is_string = lh_type_of(w->snapshot, id) == LH_TYPE_STRING;
    lh_waste_kind kind = is_string ? LH_WASTE_STRINGS : LH_WASTE_CLOSURES;
    w->kinds[id] |= (uint8_t)(1u << kind);
    w->out->kinds[kind].originals += !(w->kinds[original] & LH_WASTE_MARKED);
    w->kinds[original] |= LH_WASTE_MARKED;
  }
}

bool lh_find_twins(lh_wasted *w) {
  lh_map originals = {0};
  bool ok = find_originals(w, &originals);
  if (ok) tell_originals(w, &originals);
  lh_map_free(&originals);
  return ok;
}
