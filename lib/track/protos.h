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
void lh_protos_search(lh_protos *protos, const char *global);

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
size_t lh_name_called(const raw_proto *caller, const uint32_t *pc, char *out);

/* O(entries of all modules and metatables). */
size_t lh_name_c_function(const char *global, const void *function, char *out);

#endif
