/*
** stacks.h - from a thread's position to the number of a stack (lh_stack_id).
**
** The number stands for a site and the stack that called it; for the site alone if callers are not
** recorded.
**
**     frames of the thread                         its stack
**       main chunk          at OP_CALL     -->     1 @app.lua:90
**       pcall               (C)                      with "pcall", which that line called
**       connect             at OP_SELF     -->     2 @app/session.lua:88 in connect, from 1
**       string.rep          (C)                      with "string.rep", the function that runs
**
** Of several C functions in a row one is named. The innermost frame of Lua names the one on top,
** which allocates; outer frames name the one that their own instruction called. A hook in C is
** "(hook)". A thread has its own frames only, since many threads may resume a coroutine. A
** finalizer has no callers. A site that is among its own callers folds back to it: recursion is one
** entry.
**
** Cost: nearly always a cache line for the callers and one for the stack, else some probes of hash
** tables, no matter how deep the thread is. The callers of an active frame do not change, so they
** are looked up once. Bit 15 of its CallInfo's callstatus is then set, and a table keeps the number
** of its callers by its address. Lua writes the whole of callstatus when it uses a CallInfo again,
** before anything is allocated from there. The releases use bits 0 to 13 at most, always by single
** masks.
**
** Without memory or numbers the site is unattributed, and nothing else happens.
*/
#ifndef LUAHEAP_STACKS_H
#define LUAHEAP_STACKS_H

#include "lookup.h"

/* These two always exist. 0 is no stack. */
enum { LH_STACK_UNATTRIBUTED = 1, LH_STACK_HOST = 2 };

/* A frame whose callers are known. */
enum { LH_FEWEST_MARKED = 256, LH_MOST_MARKED = 1 << 16 };
typedef struct lh_marked_call {
  const raw_call *call;
  lh_stack_id callers;
} lh_marked_call;

/* A cache of stacks; pc, c_function and callers give the entry's place. */
enum { LH_RECENT = 512 };
typedef struct lh_recent {
  const uint32_t *pc; /* NULL: free */
  const void *c_function;
  lh_stack_id callers, stack;
} lh_recent;

struct lh_stacks {
  lh_recorder *r;
  lh_definitions definitions;
  lh_lookup lookup;
  lh_marked_call *marked; /* an address gives the entry's place */
  uint32_t marked_mask;
  uint32_t n_lost; /* lookups of marked frames that found no entry, since it grew */
  lh_recent recent[LH_RECENT];
};

/* Needs the recorder's layout and global. NULL: no memory. This part owns made, freed and n_tallies
** of the recorder: an id has its tallies before it is handed out. */
lh_stacks *lh_stacks_new(lh_recorder *r);
void lh_stacks_free(lh_stacks *stacks); /* NULL is fine */

/* Tracking begins, perhaps again: forgets all prototypes, notes those that exist, and finds the
** names of their functions. One pass over all objects. Not while the collector works. */
void lh_stacks_begin(lh_stacks *stacks);

/* The stack of an allocation. `call` is the thread's innermost frame of a Lua function; NULL: none.
** `pc` is the instruction of that frame. NULL for `thread` or `pc`: unknown. */
lh_stack_id lh_stacks_find(lh_stacks *stacks, const void *thread, const raw_call *call,
                           const uint32_t *pc);

/* The stack of a Lua function that was called: its callers, and the function at its first line. It
** may differ from all stacks of allocations. */
lh_stack_id lh_stacks_of_function(lh_stacks *stacks, const void *thread, const raw_call *call);

/* born: a block requested with the tag RAW_PROTO. forget: any freed block of that size; its keys
** are removed, so that code that is loaded at the same address has its own lines. */
void lh_stacks_born(lh_stacks *stacks, const void *proto);
void lh_stacks_forget(lh_stacks *stacks, const void *block);

#endif
