/*
** truth.h - what a Lua that truth.sh built says of itself: who runs, and where. For the tests of
** lib/track, which are loaded into it.
*/
#ifndef LUAHEAP_TESTS_TRUTH_H
#define LUAHEAP_TESTS_TRUTH_H

#include "take/raw.h"

/* The lua_State that runs; NULL: the host's own code, outside of any call. */
extern const void *luai_truth_running __attribute__((weak));
/* The last instruction that any function began: in which call, and the one behind it. */
extern const raw_call *luai_truth_call __attribute__((weak));
extern const uint32_t *luai_truth_pc __attribute__((weak));

typedef struct truth {
  const void *thread;
  const raw_call *call; /* of the nearest Lua function; NULL: there is none */
  const uint32_t *next; /* behind the instruction at which it stands, as saved_pc is */
} truth;

/* saved_pc holds for a function that called another one, whose hook is called, or that is only
** being finished after a yield: none of these has fetched since. */
static inline truth truth_now(const lh_layout *layout, uint16_t hooked_bit) {
  truth t = {luai_truth_running, NULL, NULL};
  if (!t.thread) return t;
  const raw_call *top = RAW_FIELD(t.thread, RAW_THREAD_CALL, const raw_call *);
  const raw_call *base = raw_base_call(layout, t.thread);
  const raw_call *call = top;
  while (call != base && (call->status & RAW_CALL_IS_C)) call = call->previous;
  if (call == base) return t;
  t.call = call;
  bool fetched = call == top && call == luai_truth_call && !(call->status & hooked_bit);
  t.next = fetched ? luai_truth_pc : call->saved_pc;
  return t;
}

#endif
