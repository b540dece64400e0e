/*
** garbage.c - why a heap is full of garbage that the collector has not freed.
**
** A collector that works as usual leaves garbage, too: with a pause of 200 % a heap is half garbage
** when a cycle begins, and more until that cycle ends. So only more than that has a reason.
*/
#include "analyses.h"

/* Garbage is told from these bytes on; a stopped collector's from the smaller ones. */
enum { LEAST_BYTES = 1 << 20, LEAST_STOPPED_BYTES = 1 << 16 };

const char *lh_garbage_reason_name(lh_garbage_reason reason) {
  static const char *const words[] = {NULL, "stopped", "pause", "generational", "cycle"};
  return LH_WORD_OF(words, reason);
}

/* 0: never, or not known. In 5.5 generational mode counts what has grown old, which is not kept. */
static uint64_t bytes_at_next(const lh_info *info, lh_garbage_reason reason) {
  const lh_collector *c = &info->collector;
  uint64_t bytes = 0;
  if (reason == LH_GARBAGE_OF_PAUSE && c->credit_bytes > 0 &&
      __builtin_add_overflow(info->gc_bytes, (uint64_t)c->credit_bytes, &bytes))
    return 0;
  if (reason == LH_GARBAGE_OF_YOUNG &&
      __builtin_mul_overflow(c->kept_bytes / 100, 100 + (uint64_t)c->majormul, &bytes))
    return 0;
  return bytes > info->gc_bytes ? bytes : 0;
}

static lh_garbage_reason reason_of(const lh_info *info, uint64_t garbage, uint64_t all) {
  enum { PAUSE = 8 };
  const lh_collector *c = &info->collector;
  if (!c->is_known) return LH_GARBAGE_USUAL;
  if (c->is_stopped)
    return garbage >= LEAST_STOPPED_BYTES && garbage >= all / 10 ? LH_GARBAGE_OF_STOPPED
                                                                 : LH_GARBAGE_USUAL;
  if (garbage < LEAST_BYTES || garbage < all / 3 * 2) return LH_GARBAGE_USUAL;
  if (info->gc_generational) return LH_GARBAGE_OF_YOUNG;
  return info->gc_state == PAUSE ? LH_GARBAGE_OF_PAUSE : LH_GARBAGE_OF_CYCLE;
}

void lh_find_garbage_cause(const lh_snapshot *snapshot, lh_garbage_cause *out) {
  static const char *const words[][4] = {
      [LH_GARBAGE_OF_STOPPED] = {"stop"},
      [LH_GARBAGE_OF_PAUSE] = {"setpause", "incremental", "pause"},
      [LH_GARBAGE_OF_YOUNG] = {"generational"},
      [LH_GARBAGE_OF_CYCLE] = {"setstepmul", "incremental", "stepmul"}};
  const lh_info *info = lh_snapshot_info(snapshot);
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  *out = (lh_garbage_cause){.bytes = reach.garbage_bytes,
                            .all_bytes = reach.garbage_bytes + reach.reachable_bytes};
  out->reason = reason_of(info, out->bytes, out->all_bytes);
  if (out->reason == LH_GARBAGE_USUAL) return;
  out->next_bytes = bytes_at_next(info, out->reason);
  out->n_functions = lh_find_calls_with(snapshot, "collectgarbage", words[out->reason],
                                        out->functions, LH_MOST_SETTERS);
}
