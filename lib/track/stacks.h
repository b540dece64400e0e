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
** are looked up once. The highest bit of its CallInfo's callstatus is then set, and a table keeps
** the number of its callers by its address. Lua writes the whole of callstatus when it uses a
** CallInfo again, before anything is allocated from there. No release uses that bit.
**
** Without memory or numbers the site is unattributed, and nothing else happens.
*/
#pragma once

#include "definitions.h"
#include "take/walk.h"

/* ==== protos.c: the living prototypes of Lua functions, and names ================= */

/* A prototype is noted when it is made. While a chunk is loaded its prototypes are half built. So
** the code around a prototype is searched for its name (lh_nested) only when a function without a
** known name is met. A freed prototype is forgotten, so all noted ones can be read. Some 100 bytes
** for each. */

/* The closures that share the code of a prototype. */
typedef enum lh_closures {
  LH_CLOSURES_UNKNOWN,
  LH_CLOSURES_ONE,    /* and there will be no other */
  LH_CLOSURES_SEVERAL /* perhaps later */
} lh_closures;

typedef struct lh_known_proto {
  const raw_proto *proto;
  char *name;              /* from the code around it; NULL: none, or not found yet */
  uint32_t function;       /* id of its definition; 0: not met */
  uint32_t first_key;      /* of lookup.c; 0: none */
  uint32_t next, previous; /* in the list to be searched */
  bool is_to_search;
  uint8_t closures; /* lh_closures */
} lh_known_proto;

/* All 0 at first. Number i is known[i]; known[0] is not used. */
typedef struct lh_protos {
  lh_known_proto *known;
  uint32_t first_to_search;
  size_t capacity;
  lh_index index;
  bool has_lost; /* one was freed before the functions inside of it were found */
} lh_protos;

void lh_protos_free(lh_protos *protos); /* leaves it empty */

static inline uint32_t lh_protos_find(const lh_protos *protos, const void *proto) {
  uint32_t number;
  LH_INDEX_FIND(number, &protos->index, lh_index_hash((uintptr_t)proto, 0),
                protos->known[number].proto == proto);
  return number;
}

/* The prototype's number. A new one is added to the list to be searched. 0: no memory. */
uint32_t lh_protos_add(lh_protos *protos, const raw_proto *proto);

void lh_protos_remove(lh_protos *protos, uint32_t number);
void lh_protos_search(lh_protos *protos, const lh_layout *layout, const char *global);

/* Counts a living closure of a prototype that was there before the search. */
void lh_protos_count(lh_protos *protos, const raw_proto *proto);

/* True if calls may name the function, since no other closure has its code: it was made directly in
** a chunk and in no loop, or was loaded, or was the only one when what made it was gone. After a
** search. */
bool lh_protos_is_one(const lh_protos *protos, const lh_known_proto *known);

/* ==== Names ======================================================================= */

/* Functions have the names of lib/name/functions.c, but from data that can be read in the middle of
** an allocation.
**
** A Lua function has the name that the code around it gives it, "Bus:on" (lh_nested), else, if no
** other closure shares its code, the name by which it was called when it was first met: a site is
** told for all closures of its code, which may be called by different names. A C function has its
** key in a loaded module, with the module's name, "string.rep"; or in a metatable that has a name,
** as from luaL_newmetatable, "FILE*:read". A key that is no identifier is written "Bus[\"(\"]".
**
** Each function stores at most LH_NAME_BYTES and returns how many; 0: no name is known. */
enum { LH_NAME_BYTES = 256 }; /* longer names are cut */

/* The name of the function that an instruction of `caller` calls. O(instructions before it). */
size_t lh_name_called(const lh_layout *layout, const raw_proto *caller, const uint32_t *pc,
                      char *out);

/* O(entries of all modules and metatables). */
size_t lh_name_c_function(const lh_layout *layout, const char *global, const void *function,
                          char *out);

/* ==== lookup.c: from an instruction, and the C function on top of it, to the site = */

/* A key is the two addresses. When a key is first met its site is defined: source, line, names, and
** what the instruction makes. From then on the site takes one probe of a hash table. Keys are
** removed with their prototype, since other code may be loaded at the same address. A key takes 24
** bytes, and 12 in the index; a program has some thousand.
**
** Sites stay. A program may load ever new code (a message that is a Lua table, a template). So only
** the first sources have sites of their own; all later sources share theirs. */

typedef struct lh_key {
  const uint32_t *pc;     /* NULL: free. An instruction, or one of the two below */
  const void *c_function; /* NULL: none, Lua itself; or lh_hook_function */
  lh_site_id site;
  uint32_t next; /* next key of the same prototype; 0: none */
} lh_key;

/* In place of an instruction: an unknown position in the function; the function as a whole. */
static inline const uint32_t *lh_unknown_position(const raw_proto *proto) {
  return (const void *)proto;
}
static inline const uint32_t *lh_whole_function(const raw_proto *proto) {
  return (const void *)&proto->code;
}

/* Limits for sources with sites of their own: sources that are the code itself, of some 100 to
** 4,096 bytes, and sources that are the name of a file or a name given by the program. */
enum { LH_MOST_TEXT_SOURCES = 1 << 10, LH_MOST_NAMED_SOURCES = 1 << 14 };

typedef struct lh_c_function {
  const void *function;
  uint32_t name;  /* id of its definition; 0: not found */
  uint32_t asked; /* times that it was wanted and not known */
} lh_c_function;

/* Number i is keys[i]; keys[0] is not used. */
typedef struct lh_lookup {
  const lh_layout *layout;
  const char *global;
  lh_definitions *definitions;
  lh_protos protos;
  lh_key *keys;
  lh_c_function *c_functions;
  uint32_t n_texts, n_named; /* sources that have sites of their own */
  size_t key_capacity, c_function_capacity;
  lh_index key_index, c_function_index;
} lh_lookup;

typedef struct lh_call_frame {
  const void *thread;
  const raw_call *call;
} lh_call_frame;

/* Stands for any C function that is called as a hook. */
extern const char lh_hook_function;

void lh_lookup_free(lh_lookup *lookup); /* leaves it empty, but for its pointers to others */

/* NULL: not of this kind, or the frame has lost its slot, as some do while a state closes. */
const raw_proto *lh_frame_proto(const lh_lookup *lookup, lh_call_frame frame);
const void *lh_frame_c_function(const lh_lookup *lookup, lh_call_frame frame);

/* The key of the frame that stands at pc; NULL: no memory, or pc is not in the frame's function. */
lh_key *lh_lookup_resolve(lh_lookup *lookup, lh_call_frame frame, const uint32_t *pc,
                          const void *c_function);
static inline lh_key *lh_lookup_key(lh_lookup *lookup, lh_call_frame frame, const uint32_t *pc,
                                    const void *c_function) {
  uint32_t number;
  LH_INDEX_FIND(number, &lookup->key_index, lh_index_hash((uintptr_t)pc, (uintptr_t)c_function),
                lookup->keys[number].pc == pc && lookup->keys[number].c_function == c_function);
  return number ? &lookup->keys[number] : lh_lookup_resolve(lookup, frame, pc, c_function);
}

void lh_lookup_forget(lh_lookup *lookup, uint32_t known_proto);
void lh_lookup_forget_all(lh_lookup *lookup);

/* ==== stacks.c ==================================================================== */

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
