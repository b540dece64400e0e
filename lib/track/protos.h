/*
** protos.h - the prototypes of Lua functions that are there, and what each is called.
**
** A prototype is noted when it is made, and its name when the code around it is searched
** (lh_nested): not before a function is met whose name is not known, since while a chunk is loaded
** its prototypes are half built. It is forgotten when it is freed, so what is noted can be read.
** Some 100 bytes for each.
*/
#ifndef LUAHEAP_PROTOS_H
#define LUAHEAP_PROTOS_H

#include "index.h"
#include "take/walk.h"

typedef struct lh_known_proto {
  const raw_proto *proto;
  char *name;              /* by the code around it; NULL: none, or not found yet */
  uint32_t function;       /* its definition; 0: it was not met */
  uint32_t first_key;      /* of lookup.c; 0: none */
  uint32_t next, previous; /* of those to be searched */
  bool is_to_search;
} lh_known_proto;

/* All 0 at first. Number i is known[i]; known[0] is not used. */
typedef struct lh_protos {
  lh_known_proto *known;
  uint32_t first_to_search;
  size_t capacity;
  lh_index index;
} lh_protos;

void lh_protos_free(lh_protos *protos); /* leaves it empty */

static inline uint32_t lh_protos_find(const lh_protos *protos, const void *proto) {
  uint32_t number;
  LH_INDEX_FIND(number, &protos->index, lh_index_hash((uintptr_t)proto, 0),
                protos->known[number].proto == proto);
  return number;
}

/* Its number; that of one that is known, or of a new one that is to be searched. 0: no memory. */
uint32_t lh_protos_add(lh_protos *protos, const raw_proto *proto);

void lh_protos_remove(lh_protos *protos, uint32_t number);

/* Searches those that are to be searched, and are whole by now, for the names of the functions
** inside them. */
void lh_protos_search(lh_protos *protos, const char *global);

/* {=== Names ========================================================================= */

/* What the recorder calls functions: as the house does (lib/name/functions.c), but from what can be
** read in the middle of an allocation.
**
** A Lua function has the name that the code around it gives it, "Bus:on" (lh_nested), else that by
** which it was called when it was first met. A C function has the key under which a loaded module
** has it, with the module's name in front, "string.rep"; or a metatable that has a name, such as
** those of luaL_newmetatable, "FILE*:read". A key that is no identifier is "Bus[\"(\"]".
**
** Each stores at most LH_NAME_BYTES and returns how many; 0: no name is known. */
enum { LH_NAME_BYTES = 256 }; /* longer names are cut */

/* Of what the instruction calls, if it is one of the function. O(instructions before it). */
size_t lh_name_called(const raw_proto *caller, const uint32_t *pc, char *out);

/* O(entries of all modules and metatables). */
size_t lh_name_c_function(const char *global, const void *function, char *out);

/* }=================================================================================== */

#endif
