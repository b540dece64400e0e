/*
** protos.h - the living prototypes of Lua functions, and the names of functions.
** A prototype is noted when it is made. While a chunk is loaded its prototypes are half built. So
** the code around a prototype is searched for its name (lh_nested) only when a function without a
** known name is met. A freed prototype is forgotten, so all noted ones can be read. Some 100 bytes
** for each.
*/
#ifndef LUAHEAP_PROTOS_H
#define LUAHEAP_PROTOS_H

#include "index.h"
#include "take/walk.h"

typedef struct lh_known_proto {
  const raw_proto *proto;
  char *name;              /* from the code around it; NULL: none, or not found yet */
  uint32_t function;       /* id of its definition; 0: not met */
  uint32_t first_key;      /* of lookup.c; 0: none */
  uint32_t next, previous; /* in the list to be searched */
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

/* The prototype's number. A new one is added to the list to be searched. 0: no memory. */
uint32_t lh_protos_add(lh_protos *protos, const raw_proto *proto);

void lh_protos_remove(lh_protos *protos, uint32_t number);
void lh_protos_search(lh_protos *protos, const char *global);

/* ==== Names ======================================================================= */

/* Functions have the names of lib/name/functions.c, but from data that can be read in the middle of
** an allocation.
**
** A Lua function has the name that the code around it gives it, "Bus:on" (lh_nested), else the name
** by which it was called when it was first met. A C function has its key in a loaded module, with
** the module's name, "string.rep"; or in a metatable that has a name, as from luaL_newmetatable,
** "FILE*:read". A key that is no identifier is written "Bus[\"(\"]".
**
** Each function stores at most LH_NAME_BYTES and returns how many; 0: no name is known. */
enum { LH_NAME_BYTES = 256 }; /* longer names are cut */

/* The name of the function that an instruction of `caller` calls. O(instructions before it). */
size_t lh_name_called(const raw_proto *caller, const uint32_t *pc, char *out);

/* O(entries of all modules and metatables). */
size_t lh_name_c_function(const char *global, const void *function, char *out);

#endif
