/*
** track.h - the recorder: where each block of a Lua state was allocated, for as long as it lives.
**
** An allocation function of ours stands before the host's (track.c). It finds the coroutine that
** runs (running.c) and the instruction at which that stands (position.c), makes of both a number
** for the stack (stacks.c), and keeps it with the block (pool.c, blocks.c) until that is freed.
** The events may be streamed into a file (profile.c).
**
** This header is what the rest of the writing half sees. walk_sites.c gives a snapshot the stack of
** each object, and the tables that explain the numbers.
*/
#ifndef LUAHEAP_TRACK_H
#define LUAHEAP_TRACK_H

#include "luaheap_sites.h"
#include "take/state.h"

typedef struct lh_recorder lh_recorder;

/* The recorder of L's state, also after it was told to stop as long as it has blocks; NULL where
** there never was one. O(1). */
lh_recorder *lh_recorder_of(lua_State *L);

/* The stack at which a block was allocated, or resized last; 0: before tracking began, or not
** sampled. `block` is what the allocation function returned, and `bytes` its size: the object's
** own, without the arrays of a table, and of a thread with the extra space in front of it. A cache
** miss at most. */
lh_stack_id lh_recorder_stack(const lh_recorder *recorder, const void *block, uint64_t bytes);

/* What was allocated at one of its stacks, whose ids are from 1 on. */
lh_stack_counts lh_recorder_counts(const lh_recorder *recorder, lh_stack_id stack);

/* What L, a thread of luaheap's own, allocates between the two is the host's, and not that of the
** program's function that waits for memory meanwhile. The first returns what the second needs. */
const void *lh_recorder_begin_own(lua_State *L);
void lh_recorder_end_own(lua_State *L, const void *before);

/* What is at index 1 is finalized; if it is the recorder's userdata, the state closes. */
void lh_recorder_finalize(lua_State *L);

#endif
