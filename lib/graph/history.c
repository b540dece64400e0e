/*
** history.c - the history of the heap in a few parts, told by the marks in it, or where there are
** none by the order of allocation. What something has of each part says whether it grows.
*/
#include "graph.h"

static uint8_t span_of_epoch(uint32_t epoch, uint32_t n_marks, unsigned n_spans) {
  if (epoch == 0) return 0;
  if (epoch >= n_marks) epoch = n_marks - 1;
  return (uint8_t)(1 + (uint64_t)(epoch - 1) * (n_spans - 1) / (n_marks - 1));
}

/* The objects of an epoch are one range of each list. What nothing keeps alive is of the first
** part. */
static void split_by_marks(const lh_snapshot *snapshot, unsigned n_spans, uint8_t *span_of) {
  uint32_t n = lh_mark_count(snapshot);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    for (uint32_t epoch = 0; epoch <= n; epoch++) {
      lh_id_range range = lh_epoch_range(snapshot, list, epoch);
      uint8_t span = span_of_epoch(epoch, n, n_spans);
      for (lh_id id = range.first; id < range.end; id++)
        span_of[id] = snapshot->distance[id] != LH_UNREACHED ? span : 0;
    }
}

/* Each of both lists has the youngest first, and is divided by itself. */
static void split_by_order(const lh_snapshot *snapshot, uint8_t *span_of) {
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    lh_id first = snapshot->list_first[list], end = snapshot->list_first[list + 1];
    uint64_t n = 0, younger = 0;
    for (lh_id id = first; id < end; id++) n += snapshot->distance[id] != LH_UNREACHED;
    unsigned part = 0; /* of LH_SPANS, the youngest first */
    for (lh_id id = first; id < end; id++) {
      if (snapshot->distance[id] == LH_UNREACHED) continue;
      while ((part + 1) * n <= younger * LH_SPANS) part++;
      span_of[id] = (uint8_t)(LH_SPANS - 1 - part);
      younger++;
    }
  }
}

/* Each interval is of the span of what was allocated in it. */
static void time_spans(const lh_snapshot *snapshot, lh_history *h) {
  uint32_t n = lh_mark_count(snapshot);
  for (uint32_t i = 0; i + 1 < n; i++) {
    uint64_t from = lh_mark_at(snapshot, i)->time_ns, to = lh_mark_at(snapshot, i + 1)->time_ns;
    h->seconds[span_of_epoch(i + 1, n, h->n)] += to > from ? (double)(to - from) / 1e9 : 0;
  }
}

static void count_spans(const lh_snapshot *snapshot, lh_history *h) {
  for (lh_id id = 1; id <= snapshot->n; id++)
    h->objects[h->span_of[id]] +=
        snapshot->distance[id] != LH_UNREACHED && !(snapshot->kind[id] & LH_KIND_OWN);
}

int lh_find_history(const lh_snapshot *snapshot, lh_history *out, lh_error *error) {
  uint32_t n = lh_mark_count(snapshot);
  *out = (lh_history){.by_marks = n >= 2, .n = n < 2 || n > LH_SPANS ? LH_SPANS : n};
  out->span_of = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!out->span_of) return lh_fail_memory(error, "telling ages");
  if (out->by_marks)
    split_by_marks(snapshot, out->n, out->span_of), time_spans(snapshot, out);
  else
    split_by_order(snapshot, out->span_of);
  count_spans(snapshot, out);
  return LH_OK;
}

void lh_history_free(lh_history *history) {
  lh_free(history->span_of);
}
