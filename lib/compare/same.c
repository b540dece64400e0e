/*
** same.c - one object in two snapshots of the same state: by its address, where its age says that
** nothing else can be there.
*/
#include "compare.h"

lh_id lh_same_object(const lh_snapshot *snapshot, lh_id id, const lh_snapshot *other) {
  bool is_later = lh_is_earlier(snapshot, other);
  uint32_t mark;
  if (!lh_is_same_state(snapshot, other)) return LH_NO_OBJECT;
  if (!lh_find_own_mark(is_later ? snapshot : other, is_later ? other : snapshot, &mark))
    return LH_NO_OBJECT;
  if (id == LH_ROOT || id > snapshot->n || lh_is_dead(snapshot, id)) return LH_NO_OBJECT;
  if (!is_later) return lh_earlier_self(snapshot, id, other, mark);
  lh_id found = lh_find_address(other, lh_address_of(snapshot, id));
  if (found == LH_NO_OBJECT || lh_is_dead(other, found)) return LH_NO_OBJECT;
  return lh_earlier_self(other, found, snapshot, mark) == id ? found : LH_NO_OBJECT;
}
