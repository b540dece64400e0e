/*
** track.h - the recorder: where each block of a Lua state was allocated, for as long as it lives.
**
** An allocation function of ours stands before the host's (track.c). It finds the coroutine that
** runs (running.c) and the instruction at which that stands (position.c), makes of both a number
** for the stack (stacks.c), and keeps it with the block (pool.c, blocks.c) until that is freed.
** The events may be streamed into a file (profile.c).
**
** This header is what the rest of the writing half sees: a snapshot asks for the stack of each
** object, and for the tables that explain the numbers.
*/
#ifndef LUAHEAP_TRACK_H
#define LUAHEAP_TRACK_H

#include "luaheap_sites.h"
#include "take/state.h"

typedef struct lh_recorder lh_recorder;

/* The recorder of L's state, also after it was told to stop as long as it has blocks; NULL where
** there never was one. O(1). */
const lh_recorder *lh_recorder_of(lua_State *L);

/* Where a block was allocated, or resized last; 0: before tracking began, or not sampled. `block`
** is what the allocation function returned, and `bytes` its size: the object's own, without the
** arrays of a table, and of a thread with the extra space in front of it. A cache miss at most.
** Async-signal-safe, as all below: a forked child asks, too. */
lh_stack_id lh_recorder_stack(const lh_recorder *recorder, const void *block, uint64_t bytes);

/* Writes the definitions of all names, functions, sites and stacks (sites.h) by `put`, in an order
** in which each comes after what it refers to. */
typedef void lh_put_bytes(const void *data, uint64_t n, void *payload);
void lh_recorder_define(const lh_recorder *recorder, lh_put_bytes *put, void *payload);

/* No more bytes than these does it write. O(1): the recorder adds up LH_LONGEST_DEFINITION and the
** bytes of its names, so that a snapshot can ask for room before it forks. */
uint64_t lh_recorder_longest(const lh_recorder *recorder);

uint32_t lh_recorder_stacks(const lh_recorder *recorder); /* their ids are 1 to this */
lh_stack_counts lh_recorder_counts(const lh_recorder *recorder, lh_stack_id stack);

/* What L, a thread of luaheap's own, allocates between the two is the host's, and not that of the
** program's function that waits for memory meanwhile. The first returns what the second needs. */
const void *lh_recorder_begin_own(lua_State *L);
void lh_recorder_end_own(lua_State *L, const void *before);

/* What is at index 1 is finalized; if it is the recorder's userdata, the state closes. */
void lh_recorder_finalize(lua_State *L);

/* What it was asked to do, and could not. */
typedef struct lh_recorder_facts {
  bool has_stacks;
  uint64_t sample_bytes;       /* 0: every allocation */
  uint64_t made, unattributed; /* allocations since it began, and those of no known site */
} lh_recorder_facts;
lh_recorder_facts lh_recorder_tell(const lh_recorder *recorder);

#endif
