/*
** calls.h - calls and time of each function, by hooks: heap.track{time = true}.
**
** All threads of the state get a hook for calls and returns. A call's stack is its number
** (stacks.h); its time is what the clock says between the two, without what it called (self) and
** with it (total). A recursive function's total counts its outermost call only. While a coroutine
** is suspended its functions' clocks stand. It costs some 0.2 us a call: it is for finding where
** time goes, not for servers.
**
** A program that has a hook of its own keeps it: where one is there at the start nothing is begun.
*/
#ifndef LUAHEAP_CALLS_H
#define LUAHEAP_CALLS_H

#include "stacks.h"

/* Of one stack's innermost function. */
typedef struct lh_call_counts {
  uint64_t calls, tail_calls;
  uint64_t self_ns, total_ns;
  bool is_constant; /* all calls so far returned the very same values, and there were two */
} lh_call_counts;

/* LH_EARGUMENT: the program has a hook. LH_EMEMORY. */
int lh_calls_start(lh_recorder *r, lua_State *L, lh_calls **calls, lh_error *error);

/* Takes the hooks away, where they are still ours. */
void lh_calls_stop(lua_State *L, lh_calls *calls);
void lh_calls_free(lh_calls *calls);

lh_call_counts lh_calls_counts(const lh_calls *calls, lh_stack_id stack);

#endif
