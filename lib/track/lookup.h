/*
** lookup.h - from an instruction, and the C function on top of it, to the allocation site.
**
** A key is the two addresses. When a key is first met its site is defined: source, line, names, and
** what the instruction makes. From then on the site takes one probe of a hash table. Keys are
** removed with their prototype, since other code may be loaded at the same address. A key takes 24
** bytes, and 12 in the index; a program has some thousand.
**
** Sites stay. A program may load ever new code (a message that is a Lua table, a template). So only
** the first sources have sites of their own; all later sources share theirs.
*/
#ifndef LUAHEAP_LOOKUP_H
#define LUAHEAP_LOOKUP_H

#include "definitions.h"
#include "protos.h"

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

#endif
