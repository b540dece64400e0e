/*
** calls.h - calls and time of each Lua function, by hooks: heap.track{time = true}.
**
** All threads of the state get a hook for calls and returns. A call has the number of a stack
** (stacks.h): of its callers, and of the function at its first line. Its time is what the clock
** says between the two, without the functions that it called (self) and with them (total); of
** recursive calls the outermost alone counts for the total. A C function's time is its caller's.
** While a coroutine is suspended its clocks stand; what another thread does that it has resumed is
** a part of its total. What the hooks take is not counted.
**
** A function is constant that has returned the very same values each time: numbers, booleans, nil
** and strings.
**
** It costs some 0.3 us a call, and its bytes: 32 for each stack, 40 for each frame. A program that
** has a hook of its own keeps it: where one is there at the start nothing is begun; a thread that
** gets one later is timed no more.
*/
#ifndef LUAHEAP_CALLS_H
#define LUAHEAP_CALLS_H

#include "stacks.h"

/* Of one stack's innermost function. */
typedef struct lh_call_counts {
  uint64_t calls, tail_calls; /* tail_calls are among calls */
  uint64_t self_ns, total_ns;
  bool
      is_constant; /* all calls of the function returned the very same values, and there were two */
} lh_call_counts;

/* LH_EARGUMENT: the program has a hook. LH_EMEMORY. */
int lh_calls_start(lh_recorder *r, lh_calls **calls, lh_error *error);

/* Takes the hooks away, where they are still ours. */
void lh_calls_stop(lh_calls *calls);

/* Counts the calls that have not returned, up to now. */
void lh_calls_complete(lh_calls *calls);

void lh_calls_free(lh_calls *calls); /* NULL is fine */

/* A thread's block goes, or one of the same size. */
void lh_calls_died(lh_calls *calls, const void *block);

/* All 0 where nothing was called. */
lh_call_counts lh_calls_counts(const lh_calls *calls, lh_stack_id stack);

#endif
