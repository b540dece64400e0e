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
** Of equal ones the one nearest to a root is the original. All are told by a hash, two passes: the
** first finds the originals, the second compares the others to them. 700,000: 0.15 s.
*/
#include <string.h>

#include "graph/graph.h"
#include "waste.h"

static bool same_content(const lh_object *a, const lh_object *b) {
  return a->as.string.length == b->as.string.length && a->as.string.kept == b->as.string.kept &&
         a->as.string.hash == b->as.string.hash &&
         memcmp(a->as.string.bytes, b->as.string.bytes, (size_t)a->as.string.kept) == 0;
}

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

/* UINT64_MAX: it has no equal. */
static uint64_t key_of(const lh_snapshot *snapshot, lh_id id) {
  lh_type type = lh_type_of(snapshot, id);
  lh_object object;
  size_t n;
  if ((type != LH_TYPE_STRING && type != LH_TYPE_CLOSURE) || !lh_may_be_waste(snapshot, id))
    return UINT64_MAX;
  lh_object_at(snapshot, id, &object);
  if (type == LH_TYPE_STRING)
    return object.as.string.length > LH_MOST_SHORT_BYTES ? lh_content_hash(snapshot, id)
                                                         : UINT64_MAX;
  const lh_id *parts = parts_of(snapshot, &object, &n);
  return parts ? lh_hash(parts, n * sizeof *parts, LH_TYPE_CLOSURE) >> 1 : UINT64_MAX;
}

static bool are_equal(const lh_snapshot *snapshot, lh_id a, lh_id b) {
  lh_object x, y;
  size_t n, m;
  if (lh_type_of(snapshot, a) != lh_type_of(snapshot, b)) return false;
  lh_object_at(snapshot, a, &x);
  lh_object_at(snapshot, b, &y);
  if (x.type == LH_TYPE_STRING) return same_content(&x, &y);
  const lh_id *left = parts_of(snapshot, &x, &n), *right = parts_of(snapshot, &y, &m);
  return n == m && memcmp(left, right, n * sizeof *left) == 0;
}

static bool is_nearer(const lh_snapshot *snapshot, lh_id a, lh_id b) {
  uint32_t x = lh_distance(snapshot, a), y = lh_distance(snapshot, b);
  return x != y ? x < y : a < b;
}

static bool find_originals(const lh_snapshot *snapshot, lh_map *original) {
  for (lh_id id = 1; id <= snapshot->n; id++) {
    uint64_t key = key_of(snapshot, id);
    if (key == UINT64_MAX) continue;
    uint32_t *known = lh_map_at(original, key);
    if (!known) return false;
    if (*known == LH_NO_NUMBER || is_nearer(snapshot, id, *known)) *known = id;
  }
  return true;
}

static void compare_with_originals(lh_wasted *w, const lh_map *originals) {
  for (lh_id id = 1; id <= w->snapshot->n; id++) {
    uint64_t key = key_of(w->snapshot, id);
    if (key == UINT64_MAX) continue;
    lh_id original = lh_map_get(originals, key);
    if (original == id || !are_equal(w->snapshot, id, original)) continue;
    bool is_string = lh_type_of(w->snapshot, id) == LH_TYPE_STRING;
    lh_waste_kind kind = is_string ? LH_WASTE_STRINGS : LH_WASTE_CLOSURES;
    w->kinds[id] |= (uint8_t)(1u << kind);
    w->original[id] = original;
    w->out->kinds[kind].originals += !(w->kinds[original] & LH_WASTE_MARKED);
    w->kinds[original] |= LH_WASTE_MARKED;
  }
}

bool lh_find_twins(lh_wasted *w) {
  lh_map originals = {0};
  bool ok = find_originals(w->snapshot, &originals);
  if (ok) compare_with_originals(w, &originals);
  lh_map_free(&originals);
  return ok;
}
