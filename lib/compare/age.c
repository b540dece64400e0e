/*
** age.c - Finds new objects and equal objects by their position on the collector's lists.
** New objects stand before a mark, old ones after it, so an address alone never decides. On finobj
** the position shows when an object got its finalizer. An object that its finalizer revived returns
** to the head of allgc and looks new; its metatable shows that it is not: a new object with such a
** metatable would be on finobj.
*/
#include "compare.h"
#include "read/decode.h"

#include <stdlib.h>

/* Neighbours on a list mostly have neighbours there: the last distance of ids finds the object. */
static lh_id same_place(const lh_snapshot *snapshot, lh_id id, const lh_snapshot *other,
                        uint32_t *distance) {
  if (!other) return LH_NO_OBJECT;
  uint64_t address = lh_address_of(snapshot, id);
  lh_id found = id - *distance;
  if (lh_address_of(other, found) != address || address == 0)
    found = lh_find_header(other, address);
  if (found == LH_NO_OBJECT || lh_type_of(other, found) != lh_type_of(snapshot, id) ||
      lh_is_dead(other, found))
    return LH_NO_OBJECT;
  *distance = id - found;
  return found;
}

static uint64_t metatable_address(const lh_snapshot *snapshot, lh_id id) {
  lh_id metatable = lh_recorded_metatable(snapshot, id);
  return metatable == LH_NO_OBJECT ? 0 : lh_address_of(snapshot, metatable);
}

/* The address of the metatable of an object with a finalizer; 0: it has none. */
static uint64_t finalizing_metatable(const lh_snapshot *s, lh_id id) {
  lh_list list = lh_list_of(s, id);
  return list == LH_LIST_FINOBJ || list == LH_LIST_TOBEFNZ ? metatable_address(s, id) : 0;
}

/* True if an object, whose metatable in an earlier snapshot had this address, was revived since: it
** is on allgc although its metatable would put a new object on finobj. */
static bool was_revived(const lh_snapshot *later, lh_id id, uint64_t metatable) {
  lh_list now = lh_list_of(later, id);
  if (metatable == 0 || (now != LH_LIST_ALLGC && now != LH_LIST_TOBEFNZ)) return false;
  return metatable == metatable_address(later, id);
}

static int compare_finalized(const void *left, const void *right) {
  const lh_finalized *a = left, *b = right;
  return LH_LESS(a->address, b->address);
}

bool lh_list_finalized(const lh_snapshot *s, lh_finalized **out, size_t *n) {
  lh_id first = s->list_first[LH_LIST_FINOBJ], end = s->list_first[LH_LIST_FIXEDGC];
  lh_finalized *list = lh_alloc(end - first, sizeof *list);
  *out = list;
  *n = 0;
  if (!list) return false;
  for (lh_id id = first; id < end; id++) {
    uint64_t metatable = lh_is_dead(s, id) ? 0 : finalizing_metatable(s, id);
    if (metatable != 0)
      list[(*n)++] = (lh_finalized){lh_address_of(s, id), metatable, lh_type_of(s, id)};
  }
  if (*n > 1) qsort(list, *n, sizeof *list, compare_finalized);
  return true;
}

/* True if an object that looks younger than an earlier snapshot was revived since. */
static bool was_finalized(const lh_snapshot *later, lh_id id, const lh_snapshot *earlier) {
  const lh_counted *in = earlier->counted;
  size_t at, n = in->n_finalized;
  if (n == 0 ||
      (lh_type_of(later, id) != LH_TYPE_TABLE && lh_type_of(later, id) != LH_TYPE_USERDATA))
    return false;
  LH_LOWER_BOUND(at, n, in->finalized[at].address < lh_address_of(later, id));
  return at < n && in->finalized[at].address == lh_address_of(later, id) &&
         in->finalized[at].type == lh_type_of(later, id) &&
         was_revived(later, id, in->finalized[at].metatable);
}

/* True if the epoch of an object on allgc or finobj is at most `mark`. */
static bool is_older(const lh_snapshot *s, lh_id id, lh_list list, uint32_t mark) {
  return mark >= s->n_marks || s->mark_ids[mark][list] <= id;
}

lh_id_range lh_younger_than(const lh_snapshot *s, lh_list list, uint32_t mark) {
  lh_id first = s->list_first[list];
  return (lh_id_range){first, mark < s->n_marks ? s->mark_ids[mark][list] : first};
}

/* True if the position tells that an object of this list is older than the mark. */
static bool is_surely_older(const lh_snapshot *s, lh_id id, lh_list list, uint32_t mark) {
  return list >= LH_LIST_FIXEDGC || (list <= LH_LIST_FINOBJ && is_older(s, id, list, mark));
}

lh_id lh_find_in_earlier(const lh_snapshot *later, lh_id id, const lh_snapshot *earlier,
                         uint32_t mark, uint32_t *distance) {
  bool is_sure = is_surely_older(later, id, lh_list_of(later, id), mark);
  if (!is_sure && lh_recorded_metatable(later, id) == LH_NO_OBJECT) return LH_NO_OBJECT;
  lh_id self = same_place(later, id, earlier, distance);
  if (is_sure || self == LH_NO_OBJECT) return self;
  return was_revived(later, id, finalizing_metatable(earlier, self)) ? self : LH_NO_OBJECT;
}

lh_id lh_find_in_later(const lh_snapshot *earlier, uint64_t address, lh_type type,
                       const lh_snapshot *later, uint32_t mark) {
  lh_id id = lh_find_header(later, address);
  if (id == LH_NO_OBJECT || lh_type_of(later, id) != type) return LH_NO_OBJECT;
  return is_surely_older(later, id, lh_list_of(later, id), mark) ||
                 was_finalized(later, id, earlier)
             ? id
             : LH_NO_OBJECT;
}

static bool is_in_frame_of(const lh_edge *edge, lh_value function) {
  if (edge->holder == LH_NO_OBJECT) return lh_same_key(edge->key, function);
  return function.kind == LH_VALUE_OBJECT && function.as.object == edge->holder;
}

void lh_find_call(const lh_snapshot *snapshot, lh_id arguments[2]) {
  lh_id thread = LH_NO_OBJECT;
  lh_edges it;
  lh_edge edge;
  lh_value function;
  arguments[0] = arguments[1] = LH_NO_OBJECT;
  for (size_t i = 0; i < snapshot->n_roots; i++)
    if (snapshot->roots[i].kind == LH_ROOT_RUNNING_THREAD) thread = snapshot->roots[i].target;
  if (thread == LH_NO_OBJECT || !lh_find_snapshot_function(snapshot, &function)) return;
  for (lh_edges_begin(snapshot, thread, &it); lh_edges_next(&it, &edge);) {
    if (edge.kind != LH_EDGE_ARGUMENT || edge.ordinal < 1 || edge.ordinal > 2) continue;
    if (snapshot->idom[edge.target] != thread || !is_in_frame_of(&edge, function)) continue;
    arguments[edge.ordinal - 1] = edge.target;
  }
}

bool lh_is_new(const lh_window *w, lh_id id) {
  lh_list list = lh_list_of(w->c, id);
  if (id == w->call[0] || id == w->call[1]) return false;
  if (!w->a) return lh_in_ranges(w->allocated, id);
  if (is_surely_older(w->c, id, list, w->since) || was_finalized(w->c, id, w->a)) return false;
  if (is_surely_older(w->c, id, list, w->until)) return true;
  /* It looks younger than the window, but may be a revived object of b. */
  if (w->b) return was_finalized(w->c, id, w->b);
  return list == LH_LIST_TOBEFNZ; /* an object without age is new: a does not have it */
}

lh_id lh_same_object(const lh_snapshot *snapshot, lh_id id, const lh_snapshot *other) {
  bool is_later = lh_is_earlier(snapshot, other);
  uint32_t mark, distance = 0;
  if (!lh_is_same_state(snapshot, other)) return LH_NO_OBJECT;
  if (!lh_find_own_mark(is_later ? snapshot : other, is_later ? other : snapshot, &mark))
    return LH_NO_OBJECT;
  if (id == LH_ROOT || id > snapshot->n || lh_is_dead(snapshot, id)) return LH_NO_OBJECT;
  if (!is_later) return lh_find_in_earlier(snapshot, id, other, mark, &distance);
  lh_id found = lh_find_address(other, lh_address_of(snapshot, id));
  if (found == LH_NO_OBJECT || lh_is_dead(other, found)) return LH_NO_OBJECT;
  return lh_find_in_earlier(other, found, snapshot, mark, &distance) == id ? found : LH_NO_OBJECT;
}
