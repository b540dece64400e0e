/*
** recorder.h - the recorder and its parts, private to lib/track.
**
**     track.c       options, start, stop, the end of a state or of the process, a forked child
**     allocate*.c   the allocation functions, one for each place of a block's life
**     pool.c        small blocks of our own, each with its life behind it
**     blocks.c      a hash of the lives of the host's blocks; and the blocks from before tracking
**     sample.c      which allocations are sampled
**     running.c     the running coroutine, and C functions that run no other one
**     position.c    the instruction at which its innermost Lua function stands
**     instructions.c  what each instruction does, in all releases
**     stacks.c      from thread and instruction to a stack, whose callers are known
**     lookup.c      from an instruction to its site
**     definitions.c numbers of names, functions, sites and stacks, by contents
**     protos.c      the living prototypes, and the names of functions
**     index.c       the hash index of numbers for these parts
**     calls.c       the call hook of `time`
**     profile*.c    the profile, of events or of counts, for a file or another process
**
**     Lua -> allocate*.c -> lh_running_thread, lh_position_..., lh_stacks_find: the stack's number
**                   |-> pool.c, blocks.c: the block and its life
**                   '-> tallies of the stack; lh_profile_put, if there is a profile
**
** An allocation happens in the thread that runs the state, while Lua waits for memory and its data
** may be half changed. So each part reads no more than it must, allocates with libc only, and never
** calls Lua. If a part has no memory, the block is given all the same, as unattributed. The
** structures are public to this folder, so that the short paths can be inline.
*/
#pragma once

#include "track.h"

typedef struct lh_running lh_running;
typedef struct lh_position lh_position;
typedef struct lh_stacks lh_stacks;
typedef struct lh_calls lh_calls;
typedef struct lh_profile_out lh_profile_out;
typedef struct lh_pool lh_pool;
typedef struct lh_blocks lh_blocks;

/* Eight bytes, kept with each block of ours. Lua passes the type RAW_STRING ... RAW_PROTO as the
** old size of a new object; any other block is a part that an object owns. */
typedef struct lh_life {
  uint32_t stack_and_type; /* lh_stack_id; the type in the upper four bits */
  uint32_t birth;          /* by the recorder's clock, in units of 4 KB */
} lh_life;

enum { LH_LIFE_TYPE_SHIFT = 28, LH_LIFE_PART = 15, LH_BIRTH_SHIFT = 12 };

/* Of a block from before tracking. */
#define LH_UNKNOWN_LIFE ((lh_life){(uint32_t)LH_LIFE_PART << LH_LIFE_TYPE_SHIFT, 0})

static inline lh_stack_id lh_life_stack(lh_life life) {
  return life.stack_and_type & ((1u << LH_LIFE_TYPE_SHIFT) - 1);
}

static inline unsigned lh_life_type(lh_life life) {
  return life.stack_and_type >> LH_LIFE_TYPE_SHIFT;
}

/* Objects are in 1/65536: a sample's weight is no whole number. Bytes are whole: they may exceed
** 2^48. */
typedef struct lh_tally {
  uint64_t objects, bytes;
} lh_tally;

enum { LH_TALLY_SHIFT = 16 };

struct lh_recorder {
  /* What the allocation functions read each time. */
  lua_Alloc alloc; /* the host's */
  void *alloc_data;
  int64_t left_bytes; /* until the next sample; below 0: this allocation is recorded */
  int64_t clock_base; /* less left_bytes: bytes requested since tracking began */
  lh_pool *pool;      /* NULL: the host's blocks only */
  lh_blocks *blocks;  /* the host's, with a life; with trailers: those from before */
  lh_tally *made;     /* by stack id; stacks.c owns both arrays */
  lh_tally *freed;
  uint32_t n_tallies;
  uint32_t told;                   /* bit set of types whose events need more than a tally */
  bool records;                    /* between lh_track and lh_untrack or the end of the state */
  bool learns;                     /* position.c makes a state with our function */
  _Atomic(void *) newborn;         /* main block of another state that is made with our function */
  _Atomic uintptr_t newborn_owner; /* OS thread that makes it */
  lh_profile_out *profile;         /* NULL: no profile */
  lh_running *running;
  lh_position *position;
  lh_stacks *stacks;
  lh_calls *calls; /* NULL: no time is taken */

  lua_Alloc function; /* ours */
  lh_layout layout;
  const char *global; /* global state */
  lua_State *main_thread;
  void *main_block; /* freed last of all */
  uint64_t state_id;
  char release[16];
  uint64_t sample_bytes;         /* mean distance; 0: every allocation */
  uint64_t random;               /* of sample.c */
  uint64_t exact_bytes;          /* bytes between collections; 0: Lua decides */
  uint64_t exact_next;           /* clock of the next one */
  uint64_t n_live;               /* blocks with a trailer */
  struct lh_recorder *next_open; /* list of recorders with a profile */
  void (*report)(const char *trouble, const char *log); /* of a failed profile; may be NULL */
  char *log;                                            /* NULL: "" */
  bool has_stacks;                                      /* else a stack is its site alone */
  bool was_incremental; /* the collector, before `exact` changed it */
  bool is_brief;        /* nothing that it knows outlives lh_untrack */
  bool has_left;        /* it only passes on calls, of those who kept its function */
};

/* sample.c: bytes to the next sample, 1 or more; *random must not be 0, and changes. And the number
** of blocks of this size that one sample stands for. */
int64_t lh_sample_distance(uint64_t *random, uint64_t mean_bytes);
double lh_sample_weight(uint64_t bytes, uint64_t mean_bytes);
void *lh_recorder_end(lh_recorder *r, void *block, size_t old_bytes);

/* Threads and prototypes are known only while tracking, since a stopped recorder sees no frees. The
** parts get each new thread and prototype before Lua fills it in, and each freed block of these
** sizes, since its address may be used again. */
