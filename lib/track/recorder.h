/*
** recorder.h - what the parts of the recorder are, and who calls whom. Private to lib/track.
**
**     track.c      its life: options, start, stop, the state that closes, a forked child, the end
**                  of the process
**     allocate.c   the allocation functions, one for each way to keep the life of a block:
**                  allocate_pool.c, allocate_trailer.c, allocate_host.c
**     pool.c       small blocks of our own, each with its life behind it
**     blocks.c     a hash of blocks that the host gave: their lives; and those there before
**     sample.c     which allocations are sampled
**     running.c    the coroutine that runs, and C functions that run no other one
**     position.c   the instruction at which its innermost Lua function stands
**     stacks.c     from both to a stack, whose callers are known
**     lookup.c     from an instruction to its site; definitions.c: what has a number, by contents
**     protos.c     the prototypes that are there, and what functions are called
**     index.c      the hash index of numbers by which these find what they know
**     calls.c      the call hook of `time`
**     profile.c    the profile: of events, or of counts (profile_counts.c), in blocks
**                  (profile_blocks.c), for a file or another process
**
** An allocation goes through them like this:
**
**     Lua -> allocate*.c -> lh_running_thread, lh_position_..., lh_stacks_find: the stack's number
**                   |-> pool.c, blocks.c: the block and its life
**                   '-> tallies of the stack; lh_profile_put, where there is a file
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

/* Of a block from before. */
#define LH_UNKNOWN_LIFE ((lh_life){(uint32_t)LH_LIFE_PART << LH_LIFE_TYPE_SHIFT, 0})

static inline lh_stack_id lh_life_stack(lh_life life) {
  return life.stack_and_type & ((1u << LH_LIFE_TYPE_SHIFT) - 1);
}

/* RAW_TABLE ..., or LH_LIFE_PART. */
static inline unsigned lh_life_type(lh_life life) {
  return life.stack_and_type >> LH_LIFE_TYPE_SHIFT;
}

/* Objects are counted in 1/65536, since a sample may stand for any number of them; bytes are whole,
** of which there may be more than 2^48. */
typedef struct lh_tally {
  uint64_t objects, bytes;
} lh_tally;

enum { LH_TALLY_SHIFT = 16 };

struct lh_recorder {
  /* What the allocation functions read each time. */
  lua_Alloc alloc; /* the host's */
  void *alloc_data;
  int64_t left_bytes; /* until the next sample; below 0: this allocation is recorded */
  int64_t clock_base; /* less left_bytes: what was asked for since tracking began */
  lh_pool *pool;      /* NULL: the host's blocks only */
  lh_blocks *blocks;  /* of the host, with a life; with trailers: those without, from before */
  lh_tally *made;     /* by stack id, of all that are handed out; stacks.c lets them grow */
  lh_tally *freed;
  uint32_t n_tallies;
  uint32_t told;           /* by type, a bit each: making and freeing them is more than a tally */
  bool records;            /* between lh_track and lh_untrack or the end of the state */
  bool learns;             /* position.c makes a state with our function */
  _Atomic(void *) newborn; /* main block of another state that is made with our function */
  _Atomic uintptr_t newborn_owner; /* OS thread that makes it */
  lh_profile_out *profile;         /* NULL: no file */
  lh_running *running;
  lh_position *position;
  lh_stacks *stacks;
  lh_calls *calls; /* NULL: no time is taken */

  lua_Alloc function; /* ours, that is called with this recorder */
  lh_layout layout;
  const char *global; /* global state */
  lua_State *main_thread;
  void *main_block; /* freed last of all */
  uint64_t state_id;
  char release[16];
  uint64_t sample_bytes;         /* mean distance; 0: every allocation */
  uint64_t random;               /* of sample.c */
  uint64_t exact_bytes;          /* a collection after so many; 0: when Lua likes */
  uint64_t exact_next;           /* by the clock */
  uint64_t n_live;               /* blocks with a trailer */
  struct lh_recorder *next_open; /* of those with a profile */
  void (*report)(const char *trouble, const char *log); /* of the profile; NULL: nobody is told */
  char *log;                                            /* NULL: "" */
  bool has_stacks;                                      /* else a stack is its site alone */
  bool was_incremental; /* the collector, before it was told to be exact */
  bool is_brief;        /* nothing of it outlives lh_untrack */
};

static inline size_t lh_extra_bytes(const lh_layout *layout) {
  return layout->thread_bytes - layout->global_from_main;
}

/* track.c: the main thread's block goes, the last of all; and then the recorder. */
void *lh_recorder_end(lh_recorder *r, void *block, size_t old_bytes);

/* {=== Who calls what ================================================================ */

/* Each part is made when tracking begins and freed with the recorder; what is kept of the Lua
** state (threads, prototypes) is forgotten when tracking stops, since it then sees no deaths.
**
** Where something is allocated, allocate.h asks running.h for the thread and its innermost frame of
** a Lua function, position.h for the instruction, and stacks.h for the number of the stack, before
** a block that grows has moved. Of a table it gives position.h the frame of our function.
**
** Threads and prototypes: allocate.c tells running.c and stacks.c of blocks that are about to
** become one (Lua fills them in after we return), and of any block of their size that goes, also
** one that we do not know: the address may become another one's.
**
** Events go to profile.h, where there is a file.
*/

/* }=================================================================================== */

#endif
