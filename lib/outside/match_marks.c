/*
** match_marks.c - gives places to the marks of an older snapshot that the heap lacks.
**
** It compares the objects of the older snapshot and of one of now (lib/compare/matched.c).
** lib/mirrored/marks.c then links the marks into the mirror.
*/
#include "compare/answers.h"
#include "compare/matched.h"
#include "outside.h"

static int check_older(const lh_snapshot *after, const lh_snapshot *now, lh_error *error) {
  if (!lh_is_same_state(after, now))
    return lh_fail(error, LH_EARGUMENT, "'%s' is of another process or state", after->info.name);
  if (!lh_is_earlier(after, now))
    return lh_fail(error, LH_EARGUMENT,
                   "'%s' was not taken before this: it is of %s, and this of %s", after->info.name,
                   lh_time_text(after->info.time_ns).text, lh_time_text(now->info.time_ns).text);
  return LH_OK;
}

/* Is this older mark in the heap? *at: the first mark that can be it; both are sorted by time. */
static bool is_in_heap(const lh_snapshot *now, const lh_mark_info *mark, uint32_t *at) {
  while (*at + 1 < now->n_marks && now->marks[*at].time_ns < mark->time_ns) ++*at;
  return lh_is_mark(&now->marks[*at], mark->serial, mark->time_ns);
}

static uint64_t address_at(const lh_snapshot *now, lh_list list, lh_id id) {
  return id < now->list_first[list + 1] ? lh_address_of(now, id) : 0;
}

static lh_carried_mark carry(const lh_snapshot *now, const lh_mark_info *mark,
                             const lh_matched_place *place) {
  lh_carried_mark carried = {.serial = mark->serial,
                             .is_snapshot = mark->is_snapshot,
                             .time_ns = mark->time_ns,
                             .name = mark->name,
                             .name_length = mark->name_length};
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    carried.older[list] = address_at(now, list, place->ids[list]);
    carried.possibly_newer[list] = place->passed[list];
  }
  return carried;
}

int lh_match_marks(const lh_snapshot *after, const lh_snapshot *now, lh_carried_mark **marks,
                   size_t *n, lh_error *error) {
  *marks = NULL;
  *n = 0;
  int code = check_older(after, now, error);
  if (code) return code;
  lh_matched_place *places = lh_alloc(after->n_marks, sizeof *places);
  *marks = lh_alloc(after->n_marks, sizeof **marks);
  if (!places || !*marks) {
    lh_free(places);
    lh_free(*marks);
    *marks = NULL;
    return lh_fail_memory(error, "carrying marks over");
  }
  lh_match(after, now, places);
  for (uint32_t i = 0, at = 0; i < after->n_marks; i++)
    if (!is_in_heap(now, &after->marks[i], &at))
      (*marks)[(*n)++] = carry(now, &after->marks[i], &places[i]);
  lh_free(places);
  return LH_OK;
}
