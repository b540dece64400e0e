/*
** recorder.h - what the parts of the recorder are, and who calls whom. Private to lib/track.
**
**     track.c      its life: options, start, stop, the state that closes, exit(), a forked child
**     allocate.c   the allocation functions: one for each way to keep the life of a block
**     pool.c       small blocks of our own, each with its life behind it
**     blocks.c     a hash of blocks that the host gave: their lives
**     sample.c     which allocations are sampled
**     running.c    the coroutine that runs
**     position.c   the instruction at which its innermost Lua function stands
**     stacks.c     from both to a site, and to a stack; their numbers
**     names.c      the names of both
**     calls.c      the call hook of `time`
**     profile.c    the file
**
** An allocation goes through them like this:
**
**     Lua -> allocate.c -> lh_stacks_here -> lh_running_thread, lh_position_... -> stack id
**                  |-> pool.c, blocks.c: the block and its life
**                  '-> tallies of the stack; lh_profile_new, where there is a file
**
** All of it happens in the thread that runs the state, at a moment when Lua waits for its memory:
** what Lua is just changing may be half done, so each part reads no more than it must, allocates
** libc's memory only, and never calls Lua. Where a part fails (no memory), the block is given all
** the same, as unattributed.
**
** The parts are pointers, and their structures are public to this folder, so that the short ways
** through them can be inline.
*/
#ifndef LUAHEAP_RECORDER_H
#define LUAHEAP_RECORDER_H

#include "take/state.h"
#include "track.h"

typedef struct lh_running lh_running;
typedef struct lh_position lh_position;
typedef struct lh_stacks lh_stacks;
typedef struct lh_calls lh_calls;
typedef struct lh_profile_out lh_profile_out;
typedef struct lh_pool lh_pool;
typedef struct lh_blocks lh_blocks;

/* What is kept with each block of ours: eight bytes. Of the type RAW_STRING ... RAW_PROTO is told
** by Lua, as the old size of what is no block yet; all else is a part that an object owns. */
typedef struct lh_life {
  uint32_t stack_and_type; /* lh_stack_id; the type in the upper four bits */
  uint32_t birth;          /* of the recorder's clock, in units of 4 KB */
} lh_life;

enum { LH_LIFE_TYPE_SHIFT = 28, LH_LIFE_PART = 15, LH_BIRTH_SHIFT = 12 };

static inline lh_stack_id lh_life_stack(lh_life life) {
  return life.stack_and_type & ((1u << LH_LIFE_TYPE_SHIFT) - 1);
}

/* RAW_TABLE ..., or LH_LIFE_PART. */
static inline unsigned lh_life_type(lh_life life) {
  return life.stack_and_type >> LH_LIFE_TYPE_SHIFT;
}

typedef struct lh_tally {
  uint64_t objects, bytes;
} lh_tally;

struct lh_recorder {
  /* What the allocation functions read each time. */
  lua_Alloc alloc; /* the host's */
  void *alloc_data;
  lh_pool *pool;        /* NULL: the host's blocks only */
  uint64_t clock_bytes; /* allocated since tracking began */
  lh_tally *made;       /* by stack id, of all that are handed out; stacks.c lets them grow */
  lh_tally *freed;
  uint32_t n_tallies;
  bool records;            /* between lh_track and lh_untrack or the end of the state */
  lh_profile_out *profile; /* NULL: no file */
  lh_running *running;
  lh_position *position;
  lh_stacks *stacks;
  lh_calls *calls; /* NULL: no time is taken */
  lh_blocks *blocks;

  lh_layout layout;
  const char *global; /* global state */
  lua_State *main_thread;
  void *main_block; /* freed last of all */
  uint64_t state_id;
  uint64_t sample_bytes; /* mean distance; 0: every allocation */
  bool has_stacks;       /* else a stack is its site alone */
};

/* {=== What track.c and allocate.c call of the others ================================ */

/* Each part is made when tracking begins and freed with the recorder; what is kept of the Lua
** state (threads, prototypes) is forgotten when tracking stops, since it then sees no deaths.
** NULL: no memory.
**
**     lh_running *lh_running_new(lh_recorder *r, lua_State *L);      void lh_running_free(...)
**     lh_position *lh_position_new(lh_recorder *r);                  ...
**     lh_stacks *lh_stacks_new(lh_recorder *r);
**
** When our allocation function is in place, before anything is recorded: to learn where the
** interpreter's registers are. A state of its own gets the same allocation function for that while,
** and each of its tables must go through lh_position_learns first, which says that this was all.
**
**     void lh_position_calibrate(lh_recorder *r, lua_State *L);
**     bool lh_position_learns(lh_position *position, const void *frame);
**
** Threads: a block that is about to become one (Lua fills it in after we return), and any block of
** a thread's size that goes, also one that we do not know.
**
**     void lh_running_born(lh_running *running, void *block);
**     void lh_running_died(lh_running *running, const void *block);
**
** A prototype is made (Lua fills it in after we return); and is freed, or any block of its size:
** the address may become another one's. What is there already is looked at when tracking begins.
**
**     void lh_stacks_begin(lh_stacks *stacks);
**     void lh_stacks_born(lh_stacks *stacks, const void *proto);
**     void lh_stacks_forget(lh_stacks *stacks, const void *block);
**
** The stack of what runs now, for what our allocation function is asked for, as it is asked; there
** are tallies of it. LH_STACK_UNATTRIBUTED where it cannot be told.
** Of a table (no block, and RAW_TABLE as the old size): `frame` is LH_FRAME() (position.h) of our
** function, to which the one that Lua has called jumps.
**
**     lh_stack_id lh_stacks_here(lh_recorder *r, const void *block, size_t old_bytes,
**                                size_t bytes);
**     lh_stack_id lh_stacks_of_table(lh_recorder *r, const void *frame);
**
** Events, where there is a file; `type` as above, `weight` 1 unless sampled.
**
**     void lh_profile_new(lh_profile_out *, unsigned type, lh_stack_id stack, uint64_t bytes,
**                         double weight);
**     void lh_profile_resize(lh_profile_out *, unsigned type, lh_stack_id stack,
**                            lh_stack_id old_stack, uint64_t bytes, uint64_t old_bytes,
**                            uint64_t age_bytes, double weight);
**     void lh_profile_free(lh_profile_out *, unsigned type, lh_stack_id old_stack,
**                          uint64_t old_bytes, uint64_t age_bytes, double weight);
**
** lh_profile_end: tracking has stopped, or the state closes. A forked child writes nothing: the
** writer compares process ids before it writes.
*/

/* }=================================================================================== */

#endif
