/*
** track.h - the recorder: where each living block of a Lua state was allocated.
** Our allocation function stands before the host's, and keeps with each block the number of the
** stack that allocated it (recorder.h). The rest of the writing half sees only this header.
** walk_sites.c gives a snapshot the stack of each object, and the tables that explain the numbers.
*/
#pragma once

#include "take/state.h"

typedef struct lh_recorder lh_recorder;

/* O(1). NULL: none. A stopped recorder stays as long as it has blocks. */
lh_recorder *lh_recorder_of(lua_State *L);
bool lh_recorder_is_in_front(const lh_recorder *r); /* no function of the host is before ours */

/* The stack that allocated a block, or resized it last; 0: before tracking began, or not sampled.
** `block` and `bytes` are those of the allocation function: without the arrays of a table, and with
** the extra space in front of a thread. A cache miss at most. */
lh_stack_id lh_recorder_stack(const lh_recorder *recorder, const void *block, uint64_t bytes);
lh_stack_counts lh_recorder_counts(const lh_recorder *recorder, lh_stack_id stack);

/* Between the two calls L, a thread of luaheap's own, allocates for the host, and not for the
** program's function that waits for memory. `before` is the first call's result. */
const void *lh_recorder_begin_own(lua_State *L);
void lh_recorder_end_own(lua_State *L, const void *before);

/* The value at index 1 is finalized. If it is the recorder's userdata, the state closes. */
void lh_recorder_finalize(lua_State *L);
