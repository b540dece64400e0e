/*
** same.c - one object in two snapshots of the same state: by its address, where its age says that
** nothing else can be there.
*/
#include "compare.h"

bool lh_is_same_state(const lh_snapshot *a, const lh_snapshot *b) {
  return lh_snapshot_info(a)->state_id == lh_snapshot_info(b)->state_id;
}

/* The number that the mark of `earlier` has in `later`; UINT32_MAX: it is lost. */
static uint32_t mark_of(const lh_snapshot *earlier, const lh_snapshot *later) {
  uint32_t serial = lh_snapshot_info(earlier)->serial;
  for (uint32_t i = 0; i < lh_mark_count(later); i++)
    if (lh_mark_at(later, i)->serial == serial) return i;
  return UINT32_MAX;
}

lh_id lh_same_object(const lh_snapshot *snapshot, lh_id id, const lh_snapshot *other) {
  bool is_later = lh_snapshot_info(other)->serial > lh_snapshot_info(snapshot)->serial;
  uint32_t mark = is_later ? mark_of(snapshot, other) : mark_of(other, snapshot);
  if (!lh_is_same_state(snapshot, other) || mark == UINT32_MAX) return LH_NO_OBJECT;
  if (id == LH_ROOT || id > snapshot->n || lh_is_dead(snapshot, id)) return LH_NO_OBJECT;
  if (!is_later) return lh_earlier_self(snapshot, id, other, mark);
  lh_id found = lh_find_address(other, lh_address_of(snapshot, id));
  if (found == LH_NO_OBJECT || lh_is_dead(other, found)) return LH_NO_OBJECT;
  return lh_earlier_self(other, found, snapshot, mark) == id ? found : LH_NO_OBJECT;
}
