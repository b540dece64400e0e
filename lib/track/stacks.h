/*
** stacks.h - from where a thread stands to a number: the stacks of the recorder (track.h).
**
** A number (lh_stack_id) stands for a site and the stack that called it, or, where callers are not
** asked for, for the site alone. Who allocates asks with the thread that runs, its innermost frame
** of a Lua function, and the instruction at which that stands (position.h).
**
**     frames of the thread                         its stack
**       main chunk          at OP_CALL     -->     1 @app.lua:90
**       pcall               (C)                      with "pcall", which that line called
**       connect             at OP_SELF     -->     2 @app/session.lua:88 in connect, from 1
**       string.rep          (C)                      with "string.rep", the function that runs
**
** Of C functions in a row the innermost frame of Lua names the one on top, which allocates; frames
** below name the one that their own instruction called. A hook in C is "(hook)". A thread has its
** own frames only: who resumed it is not among them, since a coroutine may be resumed by many.
** A finalizer has no callers either: where the collector happened to run did not call it. A
** function that is its own caller, by any number of others, is one entry: a site that is among
** its own callers folds back to it.
**
** Cost: a line of memory for the callers and one for the stack where both were found lately, as
** nearly always, else some probes of hash tables; no matter how deep the thread is. The callers of
** a frame stand still as long as it is active, so they are looked up once: bit 15 of its CallInfo's
** callstatus is set, and the number of its callers is kept in a table by its address. Lua writes
** the whole of callstatus when it uses a CallInfo again, before anything is allocated from there,
** so a frame with the bit is the one that was looked up. The releases use bits 0 to 8 (5.4.0,
** 5.4.1), 0 to 9 (5.4.2) and 0 to 13 (5.4.3 to 5.4.8), always by single masks; bits 14 and 15 are
** free in all.
**
** A key is the address of an instruction. So the recorder tells when a prototype is made and freed:
** with it go its keys, and code that is loaded at the same address has its own lines. It is also
** when it is made that a prototype is noted, as one to be searched for the names of functions.
**
** Out of memory or of numbers: the site is unattributed, and nothing else happens.
*/
#ifndef LUAHEAP_STACKS_H
#define LUAHEAP_STACKS_H

#include "lookup.h"

/* Always there. 0 is none, also where there was no memory to begin with. */
enum { LH_STACK_UNATTRIBUTED = 1, LH_STACK_HOST = 2 };

/* A frame whose callers are known. */
enum { LH_FEWEST_MARKED = 256, LH_MOST_MARKED = 1 << 16 };
typedef struct lh_marked_call {
  const raw_call *call;
  lh_stack_id callers;
} lh_marked_call;

/* A stack that was found, at the one place that what it was found by gives. */
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
  lh_marked_call *marked; /* each at the one place that its address gives */
  uint32_t marked_mask;
  uint32_t n_lost; /* marked frames without an entry, since it grew */
  lh_recent recent[LH_RECENT];
};

/* Of the recorder's state (layout, global, has_stacks). NULL: out of memory. From then on made,
** freed and n_tallies of the recorder are kept, and freed, by this part: there is a tally of each
** id before the id is handed out. */
lh_stacks *lh_stacks_new(lh_recorder *r);
void lh_stacks_free(lh_stacks *stacks); /* NULL is fine */

/* Tracking begins, or begins again: looks at the prototypes that are there, for the names of their
** functions, and forgets what it knew of others. One pass over all objects. Not while the collector
** works. */
void lh_stacks_begin(lh_stacks *stacks);

/* The stack of what a thread allocates now (allocate.h). `call` is its innermost frame of a Lua
** function, and `pc` the instruction at which that stands; NULL: it is not told. NULL for `thread`:
** it is not known which one runs; for `call`: it has no such frame. */
lh_stack_id lh_stacks_find(lh_stacks *stacks, const void *thread, const raw_call *call,
                           const uint32_t *pc);

/* The stack of a Lua function that was called: of its callers, and of the function at its first
** line. It may differ from any at which something is allocated. */
lh_stack_id lh_stacks_of_function(lh_stacks *stacks, const void *thread, const raw_call *call);

/* A prototype is made: a block that Lua asked for with the tag RAW_PROTO. And one is freed; any
** block of sizeof(raw_proto) bytes that is freed may be told, which costs one probe. */
void lh_stacks_born(lh_stacks *stacks, const void *proto);
void lh_stacks_forget(lh_stacks *stacks, const void *block);

#endif
