/*
** calls.h - calls and time of each Lua function, by hooks: heap.track{time = true}.
**
** All threads of the state get a hook for calls and returns. A call counts for a stack (stacks.h):
** its callers, and the function at its first line. Total time includes the Lua functions that it
** called, and threads that it resumed; self time does not. Of recursive calls only the outermost
** counts for the total. A C function's time is its caller's. The clocks of a suspended coroutine
** stand still. The hooks' own time does not count.
**
** A function is constant if it has always returned the very same values: numbers, booleans, nil and
** strings.
**
** Cost: some 0.3 us a call, 32 bytes a stack and 40 bytes a frame. A hook of the program stays:
** nothing is begun if there is one at the start, and a thread that gets one later is no longer
** timed.
*/
#pragma once

#include "stacks.h"

typedef struct lh_call_counts {
  uint64_t calls, tail_calls; /* calls include tail_calls */
  uint64_t self_ns, total_ns;
  bool is_constant; /* two calls or more, and all returned the same values */
} lh_call_counts;

/* LH_EARGUMENT: the program has a hook. LH_EMEMORY. */
int lh_calls_start(lh_recorder *r, lh_calls **calls, lh_error *error);
void lh_calls_stop(lh_calls *calls);

/* Counts the calls that have not returned, up to now. */
void lh_calls_complete(lh_calls *calls);

void lh_calls_free(lh_calls *calls); /* NULL is fine */

/* A block of a thread's size is freed; it may be no thread. */
void lh_calls_died(lh_calls *calls, const void *block);

/* All 0 if there was no call. */
lh_call_counts lh_calls_counts(const lh_calls *calls, lh_stack_id stack);
