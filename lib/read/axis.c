/*
** axis.c - the order in which all objects were allocated, as one axis, without an array.
**
** Each of the lists allgc and finobj has its objects in that order, and the marks divide both at
** the same moments, so the epochs follow each other on the axis. Inside an epoch nothing tells how
** the objects of one list came among those of the other: each list is taken to have grown evenly.
** So of an epoch with n objects of a list the one with r of them before it is at (2r + 1) / 2n of
** the epoch, and of two objects at one place that of allgc is older. How many objects of the other
** list are before it is then a division, and an object's position needs no array.
*/
#include "snapshot.h"

/* So many objects of one list are older than mark `epoch` - 1: those of the epochs before. */
static uint32_t older_on(const lh_snapshot *s, uint32_t epoch, lh_list list) {
  lh_id first = s->list_first[list], end = s->list_first[list + 1];
  if (epoch == 0) return 0;
  if (epoch > s->n_marks) return end - first;
  lh_id mark = s->mark_ids[epoch - 1][list]; /* 0, before all, where a half is gone */
  return end - (mark > first ? mark : first);
}

static uint64_t older_than_epoch(const lh_snapshot *s, uint32_t epoch) {
  return (uint64_t)older_on(s, epoch, LH_LIST_ALLGC) + older_on(s, epoch, LH_LIST_FINOBJ);
}

/* In an epoch with so many on this list and on the other: how many of the other are before the one
** with `rank` of its own before it. Nothing overflows: both together are less than 2^32. */
static uint64_t others_before(uint64_t rank, uint64_t own, uint64_t others, lh_list list) {
  return ((2 * rank + 1) * others + own - (list == LH_LIST_ALLGC)) / (2 * own);
}

uint64_t lh_position_count(const lh_snapshot *s) {
  return s->list_first[LH_LIST_TOBEFNZ] - s->list_first[LH_LIST_ALLGC];
}

uint64_t lh_position_of(const lh_snapshot *s, lh_id id) {
  lh_list list = lh_list_of(s, id);
  if (id == LH_ROOT || id > s->n || list > LH_LIST_FINOBJ) return LH_NO_POSITION;
  lh_list other = list == LH_LIST_ALLGC ? LH_LIST_FINOBJ : LH_LIST_ALLGC;
  uint32_t epoch = lh_epoch(s, id), older = older_on(s, epoch, list);
  uint32_t rank = s->list_first[list + 1] - 1 - id - older;
  uint32_t own = older_on(s, epoch + 1, list) - older;
  uint32_t others = older_on(s, epoch + 1, other) - older_on(s, epoch, other);
  return older_than_epoch(s, epoch) + rank + others_before(rank, own, others, list);
}

uint64_t lh_mark_position(const lh_snapshot *s, uint32_t mark) {
  return older_than_epoch(s, mark + 1);
}

/* How many of the epoch's objects on finobj are among its first `n`. */
static uint32_t count_among(uint64_t n, uint32_t on_allgc, uint32_t on_finobj) {
  uint32_t rank;
  LH_LOWER_BOUND(rank, on_finobj,
                 rank + others_before(rank, on_finobj, on_allgc, LH_LIST_FINOBJ) < n);
  return rank;
}

/* How many objects of allgc and finobj are before a position. */
static void count_before(const lh_snapshot *s, uint64_t position, uint32_t n[2]) {
  uint32_t epoch;
  LH_LOWER_BOUND(epoch, s->n_marks, older_than_epoch(s, epoch + 1) <= position);
  uint32_t older[2], own[2];
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    older[list] = older_on(s, epoch, list);
    own[list] = older_on(s, epoch + 1, list) - older[list];
  }
  uint64_t left = position - older[LH_LIST_ALLGC] - older[LH_LIST_FINOBJ];
  uint32_t on_finobj = count_among(left, own[LH_LIST_ALLGC], own[LH_LIST_FINOBJ]);
  n[LH_LIST_ALLGC] = older[LH_LIST_ALLGC] + (uint32_t)(left - on_finobj);
  n[LH_LIST_FINOBJ] = older[LH_LIST_FINOBJ] + on_finobj;
}

bool lh_is_ever(lh_interval interval) {
  return interval.since == 0 && interval.until == UINT64_MAX;
}

void lh_objects_in(const lh_snapshot *s, lh_interval interval, lh_id_range ranges[2]) {
  uint64_t n = lh_position_count(s);
  uint32_t before_since[2], before_until[2];
  if (lh_is_ever(interval)) {
    ranges[0] = (lh_id_range){1, s->n + 1};
    ranges[1] = (lh_id_range){s->n + 1, s->n + 1};
    return;
  }
  if (interval.until > n) interval.until = n;
  if (interval.since > interval.until) interval.since = interval.until;
  count_before(s, interval.since, before_since);
  count_before(s, interval.until, before_until);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    ranges[list] = (lh_id_range){s->list_first[list + 1] - before_until[list],
                                 s->list_first[list + 1] - before_since[list]};
}

bool lh_in_interval(const lh_snapshot *s, lh_interval interval, lh_id id) {
  if (lh_is_ever(interval)) return id != LH_ROOT && id <= s->n;
  uint64_t position = lh_position_of(s, id);
  return position != LH_NO_POSITION && position >= interval.since && position < interval.until;
}
