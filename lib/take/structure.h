/*
** structure.h - what a Lua state looks like in memory of which nothing is known: another process's,
** a core's, or a mirror of these that may have been copied amid a change.
**
** structure.c tells whether a state is at an address, glance.c a few things of one that is: what it
** runs, and what was loaded into it. No symbol and no call of the API is needed. All that is read
** goes through a caller's function, and nothing is followed further than a fixed number of steps,
** so a state that changes meanwhile costs a wrong answer, and no more.
*/
#ifndef LUAHEAP_STRUCTURE_H
#define LUAHEAP_STRUCTURE_H

#include "base.h"

/* How the memory is read: n bytes; false where not all of them can be. */
typedef struct lh_peek {
  bool (*read)(const void *memory, uint64_t address, void *out, size_t n);
  const void *memory;
} lh_peek;

static inline bool lh_peek_at(const lh_peek *p, uint64_t address, void *out, size_t n) {
  return p->read(p->memory, address, out, n);
}

/* A state that is open. */
typedef struct lh_seen_state {
  const struct lh_layout *layout;         /* of its release (raw.h), but for these two: */
  size_t thread_bytes, main_thread_bytes; /* with LH_USUAL_EXTRA_BYTES in front of each thread */
  size_t noted_extra_bytes; /* what malloc's note tells in place of those, if it tells anything */
  const char *release;      /* "5.4.2", or "5.4" where several have its layout */
  uint64_t main_thread, global;
  uint64_t alloc;    /* its allocation function */
  uint64_t gc_bytes; /* collectgarbage("count") * 1024 */
  uint32_t seed;     /* of its strings */
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

/* Is there an open state whose main thread is at this address? `release` is "5.4.4" or the like, or
** "5.4" where it is not known; it only tells 5.4.1 from 5.4.2. LH_EHOST: no, and the message says
** what is there in place of it. The memory may change meanwhile: a state that is there may then be
** missed, and is found by asking again. */
int lh_see_state(const lh_peek *peek, uint64_t main_thread, const char *release,
                 lh_seen_state *seen, lh_error *error);

/* ==== At a glance =================================================================== */

/* Its global arg[0], which the interpreter sets to the script's name. False: there is none. Texts
** are cut to `size`, or at a NUL inside them. */
bool lh_glance_argument(const lh_peek *peek, const lh_seen_state *seen, char *out, size_t size);

/* The source of a Lua function, as it was given to load: "@file.lua". Which one: */
typedef enum lh_glance_at {
  LH_GLANCE_RUNNING,    /* the outermost that the main thread is in */
  LH_GLANCE_ON_STACK,   /* the lowest on the main thread's stack */
  LH_GLANCE_REGISTERED, /* the first that C code keeps in the registry (luaL_ref) */
  LH_GLANCE_GLOBAL,     /* one that is a global variable */
  LH_GLANCE_NEWEST      /* the one that was loaded last */
} lh_glance_at;
bool lh_glance_source(const lh_peek *peek, const lh_seen_state *seen, lh_glance_at at, char *out,
                      size_t size);

/* Was the module loaded into it? *state_id is the one of the snapshots that it takes; 0: it takes
** none yet. */
bool lh_glance_luaheap(const lh_peek *peek, const lh_seen_state *seen, uint64_t *state_id);

/* An address in the read-only data of the library or program that this state's Lua is in: of the
** slot that all tables without slots share. 0: none was seen. */
uint64_t lh_glance_library(const lh_peek *peek, const lh_seen_state *seen);

/* Are its numbers 64-bit integers and doubles, as far as its table `math` tells? Builds with others
** look alike. */
bool lh_glance_numbers(const lh_peek *peek, const lh_seen_state *seen);

#endif
