/*
** structure.h - finds Lua states, and facts about them, in unknown memory.
**
** The memory is another process's, a core's, or a mirror that may have been copied amid a change.
** structure.c checks whether a state is at an address; peek.c reads a few facts about it. Neither
** needs a symbol or an API call. All reads use the caller's function, and every search has a fixed
** limit. So a state that changes meanwhile causes a wrong answer, and no more harm.
*/
#ifndef LUAHEAP_STRUCTURE_H
#define LUAHEAP_STRUCTURE_H

#include "base.h"

/* Reads n bytes at an address; false if not all of them can be read. */
typedef struct lh_peek {
  bool (*read)(const void *memory, uint64_t address, void *out, size_t n);
  const void *memory;
} lh_peek;

static inline bool lh_peek_at(const lh_peek *p, uint64_t address, void *out, size_t n) {
  return p->read(p->memory, address, out, n);
}

typedef struct lh_seen_state {
  const struct lh_layout *layout;         /* of its release (raw.h), but for the next two sizes */
  size_t thread_bytes, main_thread_bytes; /* with LH_USUAL_EXTRA_BYTES in front of each thread */
  size_t noted_extra_bytes; /* extra space by malloc's note; the usual one if it has none */
  const char *release;      /* "5.4.2", or "5.4" if several releases have the layout */
  uint64_t main_thread, global;
  uint64_t alloc;    /* its allocation function */
  uint64_t gc_bytes; /* collectgarbage("count") * 1024 */
  uint32_t seed;     /* of the hashes of its strings */
} lh_seen_state;

/* The extra space that a build puts in front of each thread (LUA_EXTRASPACE). */
enum { LH_USUAL_EXTRA_BYTES = 8, LH_MOST_EXTRA_BYTES = 1024 };

enum { LH_MAIN_THREAD_TYPE = 8 }; /* the byte at LH_TYPE_OFFSET of every thread */

/* The distance from a main thread to its global state, whose address is at LH_GLOBAL_OFFSET. */
enum {
  LH_TYPE_OFFSET = 8,
  LH_GLOBAL_OFFSET = 24,
  LH_GLOBAL_NEAREST = 192,
  LH_GLOBAL_FARTHEST = 264
};

/* Checks that the main thread of an open state is at this address. `release` ("5.4.4", or "5.4" if
** unknown) only tells 5.4.1 from 5.4.2. LH_EHOST: no; the message says what is wrong. A state that
** changes meanwhile may be missed; then call again. */
int lh_recognise_state(const lh_peek *peek, uint64_t main_thread, const char *release,
                       lh_seen_state *seen, lh_error *error);

/* ==== At a glance =================================================================== */

/* The state's global arg[0], which the interpreter sets to the script's name. False: there is none.
** Texts are cut to `size`, or at a NUL inside them. */
bool lh_peek_argument(const lh_peek *peek, const lh_seen_state *seen, char *out, size_t size);

/* The source of a Lua function, as load got it ("@file.lua"). Which function: */
typedef enum lh_peek_where {
  LH_PEEK_RUNNING,    /* the outermost that the main thread is in */
  LH_PEEK_ON_STACK,   /* the lowest on the main thread's stack */
  LH_PEEK_REGISTERED, /* the first that C code keeps in the registry (luaL_ref) */
  LH_PEEK_GLOBAL,     /* one in a global variable */
  LH_PEEK_NEWEST      /* the one that was loaded last */
} lh_peek_where;
bool lh_peek_source(const lh_peek *peek, const lh_seen_state *seen, lh_peek_where at, char *out,
                    size_t size);

/* Was luaheap loaded into the state? *state_id: the id in its snapshots; 0: it takes none yet. */
bool lh_peek_luaheap(const lh_peek *peek, const lh_seen_state *seen, uint64_t *state_id);

/* An address in the read-only data of the library or program that has this state's Lua: the slot
** that all tables without slots share. 0: not found. */
uint64_t lh_peek_library(const lh_peek *peek, const lh_seen_state *seen);

/* Are numbers 64-bit integers and doubles, by the table `math`? Other builds look the same. */
bool lh_peek_numbers(const lh_peek *peek, const lh_seen_state *seen);

#endif
