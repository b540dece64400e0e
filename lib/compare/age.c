/*
** age.c - which objects are new and which are the same, by their place on the collector's lists.
**
** New objects stand in front of a mark, old ones behind it, so an address alone never decides. Only
** finalizers disturb that: an object that gets one moves to the head of finobj, and one that its
** finalizer revived returns to the head of allgc, so each looks younger than it is. It is
** old if the earlier snapshot has an object of its type at its address which may have moved like
** that.
*/
#include "diff.h"
#include "read/decode.h"

static lh_id same_place(const lh_snapshot *snapshot, lh_id id, const lh_snapshot *other) {
  if (!other) return LH_NO_OBJECT;
  lh_id found = lh_find_header(other, lh_address_of(snapshot, id));
  if (found == LH_NO_OBJECT || lh_type_of(other, found) != lh_type_of(snapshot, id) ||
      lh_is_dead(other, found))
    return LH_NO_OBJECT;
  return found;
}

/* Can an object of list `from` have come to the head of list `to`? */
static bool may_have_moved(lh_list from, lh_list to) {
  if (to == LH_LIST_ALLGC) return from == LH_LIST_FINOBJ || from == LH_LIST_TOBEFNZ;
  return to == LH_LIST_FINOBJ || to == LH_LIST_TOBEFNZ;
}

lh_id lh_earlier_self(const lh_snapshot *later, lh_id id, const lh_snapshot *earlier,
                      uint32_t mark) {
  lh_list list = lh_list_of(later, id);
  lh_type type = lh_type_of(later, id);
  bool has_age = list == LH_LIST_ALLGC || list == LH_LIST_FINOBJ;
  bool is_old = has_age && lh_epoch(later, id) <= mark;
  bool may_move = type == LH_TYPE_TABLE || type == LH_TYPE_USERDATA; /* may have a finalizer */
  if (!is_old && !may_move && list != LH_LIST_FIXEDGC) return LH_NO_OBJECT;
  lh_id self = same_place(later, id, earlier);
  if (self == LH_NO_OBJECT || is_old) return self;
  if (list == LH_LIST_FIXEDGC || may_have_moved(lh_list_of(earlier, self), list)) return self;
  return LH_NO_OBJECT;
}

bool lh_is_new(const lh_window *w, lh_id id) {
  lh_list list = lh_list_of(w->c, id);
  if (list == LH_LIST_FIXEDGC) return false;
  uint32_t epoch = lh_epoch(w->c, id);
  if (list != LH_LIST_TOBEFNZ && epoch <= w->since) return false;
  if (w->a && lh_earlier_self(w->c, id, w->a, w->since) != LH_NO_OBJECT) return false;
  if (list != LH_LIST_TOBEFNZ && epoch <= w->until) return true;
  /* It looks younger than the window. Was it in b all the same? */
  if (w->b) return lh_earlier_self(w->c, id, w->b, w->until) != LH_NO_OBJECT;
  return list == LH_LIST_TOBEFNZ && w->a; /* it has no age, but it was not in a */
}
