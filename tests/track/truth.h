/*
** truth.h - what a Lua that truth.sh built says of itself: who runs, and where. For the tests of
** lib/track, which are loaded into it.
*/
#ifndef LUAHEAP_TESTS_TRUTH_H
#define LUAHEAP_TESTS_TRUTH_H

#include "take/raw.h"

/* Who runs, and who has called or resumed that one; NULL: the host's own code, outside any call. */
typedef struct lh_truth {
  const void *thread;
  const struct lh_truth *before;
} lh_truth;
extern const lh_truth *luai_truth_running __attribute__((weak));

/* The last instruction that any function began: in which call, and the one behind it. */
extern const raw_call *luai_truth_call __attribute__((weak));
extern const uint32_t *luai_truth_pc __attribute__((weak));

typedef struct truth {
  const void *thread;
  const raw_call *call; /* of the nearest Lua function; NULL: there is none */
  const uint32_t *next; /* behind the instruction at which it stands, as saved_pc is */
} truth;

/* A coroutine that begins has no call yet: what it needs for it is asked for by who resumes it.
** saved_pc holds for a function that called another one, whose hook is called, or that is only
** being finished after a yield: none of these has fetched since. */
static inline truth truth_now(const lh_layout *layout) {
  const lh_truth *now = luai_truth_running;
  truth t = {NULL, NULL, NULL};
  while (now && RAW_FIELD(now->thread, RAW_THREAD_CALL, const raw_call *) ==
                    raw_base_call(layout, now->thread)) {
    now = now->before;
  }
  if (!now) return t;
  t.thread = now->thread;
  const raw_call *top = RAW_FIELD(t.thread, RAW_THREAD_CALL, const raw_call *);
  for (t.call = top; t.call && (t.call->status & RAW_CALL_IS_C);) t.call = t.call->previous;
  if (!t.call) return t;
  bool fetched = t.call == top && top == luai_truth_call && !raw_call_is_hooked(layout, top);
  t.next = fetched ? luai_truth_pc : t.call->saved_pc;
  return t;
}

#endif
