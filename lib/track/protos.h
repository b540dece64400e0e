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
  uint32_t next, previous; /* of those to be searched; `next` also of those that are free */
  bool is_to_search;
} lh_known_proto;

/* All 0 at first. Number i is known[i]; known[0] is not used. */
typedef struct lh_protos {
  lh_known_proto *known;
  uint32_t n, first_free, first_to_search;
  size_t capacity;
  lh_index index;
} lh_protos;

void lh_protos_free(lh_protos *protos); /* leaves it empty */

static inline uint32_t lh_protos_find(const lh_protos *protos, const void *proto) {
  uint32_t hash = lh_index_hash((uintptr_t)proto, 0), at = hash, number;
  while ((number = lh_index_next(&protos->index, hash, &at)) != 0 &&
         protos->known[number].proto != proto) {}
  return number;
}

/* Its number; that of one that is known, or of a new one that is to be searched. 0: no memory. */
uint32_t lh_protos_add(lh_protos *protos, const raw_proto *proto);

void lh_protos_remove(lh_protos *protos, uint32_t number);

/* Searches those that are to be searched, and are whole by now, for the names of the functions
** inside them. */
void lh_protos_search(lh_protos *protos, const char *global);

#endif
