/*
** leaks_strings.c - Finds strings that may have replaced shorter ones, in one snapshot.
** A string that grows is replaced by a longer one each time, so it is always young, while what
** holds it is old. One snapshot cannot tell it from a text that others of its length replace.
*/
#include "report/leaks.h"

#include "thresholds.h"

/* Was it allocated since the last mark but one, while its holder is older than the first? */
bool lh_is_young_string(const lh_causes *found, lh_snapshot *snapshot, lh_id id) {
  const lh_history *history = &found->history;
  enum { LEAST_SPANS = 3 };
  return history->by_marks && history->n >= LEAST_SPANS &&
         lh_type_of(snapshot, id) == LH_TYPE_STRING && history->span_of[id] == history->n - 1 &&
         lh_is_reachable(snapshot, id) && lh_epoch(snapshot, lh_nearest_holder(snapshot, id)) == 0;
}

/* Keeps the biggest ones, the biggest first. */
static void keep_biggest(lh_suspect *list, size_t *n, lh_id id, uint64_t bytes) {
  size_t at = *n < LH_MOST_YOUNG ? (*n)++ : LH_MOST_YOUNG - 1;
  if (at == LH_MOST_YOUNG - 1 && list[at].bytes >= bytes) return;
  for (; at > 0 && list[at - 1].bytes < bytes; at--) list[at] = list[at - 1];
  list[at] = (lh_suspect){.kind = LH_SUSPECT_ITSELF, .id = id, .bytes = bytes};
}

/* An element of a collection that grows is young, too. */
static bool is_element(lh_snapshot *snapshot, lh_id id, bool *failed) {
  const lh_place_tree *tree = lh_places_of(snapshot);
  uint32_t place = tree ? lh_place_of_object(snapshot, id) : LH_NO_NUMBER;
  *failed |= place == LH_NO_NUMBER;
  return *failed || lh_place_container(tree, place) != LH_NO_PLACE;
}

bool lh_find_young_strings(const lh_causes *found, lh_snapshot *snapshot, const uint8_t *told,
                           lh_suspect list[LH_MOST_YOUNG], size_t *n) {
  lh_reach reach;
  bool failed = false;
  lh_reach_totals(snapshot, &reach);
  uint64_t least = lh_least_young_string(reach.reachable_bytes);
  *n = 0;
  if (!found->history.by_marks) return true;
  for (lh_id id = 1; id <= lh_object_count(snapshot) && !failed; id++) {
    if (found->history.span_of[id] != found->history.n - 1) continue;
    uint64_t bytes = lh_shallow_bytes(snapshot, id);
    if (bytes < least || told[id] || !lh_is_young_string(found, snapshot, id)) continue;
    if (!is_element(snapshot, id, &failed)) keep_biggest(list, n, id, bytes);
  }
  return !failed;
}
