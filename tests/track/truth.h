/*
** truth.h - what a Lua that truth.sh built says of itself: who runs, and where. For the tests of
** lib/track, which are loaded into it.
*/
#pragma once

#include "take/raw.h"

/* Who runs, and who has called or resumed that one; NULL: the host's own code, outside any call. */
typedef struct lh_truth {
  const void *thread;
  const struct lh_truth *before;
} lh_truth;
extern const lh_truth *luai_truth_running __attribute__((weak));

typedef struct truth {
  const void *thread;
  const raw_call *call; /* of the nearest Lua function; NULL: there is none */
  const uint32_t *next; /* behind the instruction at which it stands, as saved_pc is */
} truth;

enum { TRUTH_NEXT = 48 }; /* of a raw_call: what comes behind the instruction that it fetched */

/* A coroutine that begins has no call yet: what it needs for it is asked for by who resumes it. A
** function that has not fetched its first instruction is at that. */
static inline truth truth_now(const lh_layout *layout) {
  const lh_truth *now = luai_truth_running;
  truth t = {NULL, NULL, NULL};
  while (now && RAW_FIELD(now->thread, RAW_THREAD_CALL, const raw_call *) ==
                    raw_base_call(layout, now->thread)) {
    now = now->before;
  }
  if (!now) return t;
  t.thread = now->thread;
  t.call = RAW_FIELD(t.thread, RAW_THREAD_CALL, const raw_call *);
  while (t.call && (t.call->status & RAW_CALL_IS_C)) t.call = t.call->previous;
  if (!t.call) return t;
  t.next = RAW_FIELD(t.call, TRUTH_NEXT, const uint32_t *);
  return t;
}
