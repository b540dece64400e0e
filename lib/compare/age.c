/*
** age.c - Finds new objects and equal objects by their position on the collector's lists.
** New objects stand before a mark, old ones after it, so an address alone never decides. On finobj
** the position shows when an object got its finalizer. An object that its finalizer revived returns
** to the head of allgc and looks new; its metatable shows that it is not: a new object with such a
** metatable would be on finobj.
*/
#include "compare.h"
#include "read/decode.h"

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
  lh_id metatable = lh_metatable_of(snapshot, id);
  return metatable == LH_NO_OBJECT ? 0 : lh_address_of(snapshot, metatable);
}

/* True if the object waited for its finalizer in `earlier`, and was revived since: it is on allgc
** although its metatable would put a new object on finobj. */
static bool was_revived(const lh_snapshot *later, lh_id id, const lh_snapshot *earlier,
                        lh_id self) {
  lh_list before = lh_list_of(earlier, self), now = lh_list_of(later, id);
  uint64_t metatable = metatable_address(later, id);
  if (before != LH_LIST_FINOBJ && before != LH_LIST_TOBEFNZ) return false;
  if (now != LH_LIST_ALLGC && now != LH_LIST_TOBEFNZ) return false;
  return metatable != 0 && metatable == metatable_address(earlier, self);
}

/* True if the epoch of an object on allgc or finobj is at most `mark`. */
static bool is_older(const lh_snapshot *s, lh_id id, lh_list list, uint32_t mark) {
  return mark >= s->n_marks || s->mark_ids[mark][list] <= id;
}

lh_id_range lh_younger_than(const lh_snapshot *s, lh_list list, uint32_t mark) {
  lh_id first = s->list_first[list];
  return (lh_id_range){first, mark < s->n_marks ? s->mark_ids[mark][list] : first};
}

lh_id lh_find_in_earlier(const lh_snapshot *later, lh_id id, const lh_snapshot *earlier,
                         uint32_t mark, uint32_t *distance) {
  lh_list list = lh_list_of(later, id);
  if (list == LH_LIST_FIXEDGC || (list <= LH_LIST_FINOBJ && is_older(later, id, list, mark)))
    return same_place(later, id, earlier, distance);
  if (lh_metatable_of(later, id) == LH_NO_OBJECT) return LH_NO_OBJECT; /* it had no finalizer */
  lh_id self = same_place(later, id, earlier, distance);
  return self != LH_NO_OBJECT && was_revived(later, id, earlier, self) ? self : LH_NO_OBJECT;
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

bool lh_is_new(lh_window *w, lh_id id) {
  lh_list list = lh_list_of(w->c, id);
  if (id == w->call[0] || id == w->call[1]) return false;
  if (!w->a) return lh_in_ranges(w->allocated, id);
  if (list == LH_LIST_FIXEDGC) return false;
  bool has_age = list <= LH_LIST_FINOBJ;
  if (has_age && is_older(w->c, id, list, w->since)) return false;
  if (lh_find_in_earlier(w->c, id, w->a, w->since, &w->from_a) != LH_NO_OBJECT) return false;
  if (has_age && is_older(w->c, id, list, w->until)) return true;
  /* It looks younger than the window, but may be a revived object of b. */
  if (w->b) return lh_find_in_earlier(w->c, id, w->b, w->until, &w->from_b) != LH_NO_OBJECT;
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
