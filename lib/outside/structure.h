/*
** structure.h - finds Lua states, and facts about them, in unknown memory of any Lua release.
**
** The memory is another process's, a core's, or a mirror that may have been copied amid a change.
** What knows Lua's structures is in lib/mirrored. It is compiled once for Lua 5.4 and once for 5.5,
** and each of the two shows one table of functions (lh_lua), which is all that lib/outside knows of
** a state. Neither needs a symbol, an API call or a header of Lua. All reads use the caller's
** function, and every search has a fixed limit. So a state that changes meanwhile causes a wrong
** answer, and no more harm.
*/
#pragma once

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
  const struct lh_lua *lua;
  const struct lh_layout *layout;         /* of its release (raw.h), but for the next two sizes */
  size_t thread_bytes, main_thread_bytes; /* with LH_USUAL_EXTRA_BYTES in front of each thread, but
                                             in 5.5 with the true extra space */
  size_t noted_extra_bytes; /* extra space by malloc's note; the usual one if it has none */
  const char *release;      /* "5.4.2", or "5.4" if several releases have the layout */
  const char *dialect;      /* behind a known release: "", or " (skynet)" for skynet's Lua */
  uint64_t main_thread, global;
  uint64_t alloc;    /* its allocation function */
  uint64_t gc_bytes; /* collectgarbage("count") * 1024 */
  uint32_t seed;     /* of the hashes of its strings */
} lh_seen_state;

/* The extra space that a build puts in front of each thread (LUA_EXTRASPACE). */
enum { LH_USUAL_EXTRA_BYTES = 8, LH_MOST_EXTRA_BYTES = 1024 };

/* What all releases have alike: offsets in a thread, and in a call (CallInfo). */
enum { LH_THREAD_TYPE = 8, LH_THREAD_GLOBAL = 24, LH_THREAD_CALL = 32 };
enum { LH_CALL_PREVIOUS = 16, LH_CALL_NEXT = 24, LH_CALL_PLACE = 32 };

enum { LH_MAIN_THREAD_TYPE = 8 }; /* the byte at LH_THREAD_TYPE of every thread */

/* The distance from a main thread to its global state, which is in one block with it: behind it in
** 5.4, before it in 5.5. There it is the last object on its list, so its first word is zero, by
** which it is told from coroutines. */
static inline bool lh_may_be_global(uint64_t main_thread, uint64_t global) {
  enum { NEAREST = 192, FARTHEST = 264, NEAREST_BEFORE = 560, FARTHEST_BEFORE = 1 << 16 };
  return (global - main_thread >= NEAREST && global - main_thread <= FARTHEST) ||
         (main_thread - global >= NEAREST_BEFORE && main_thread - global <= FARTHEST_BEFORE);
}

/* The running call of the innermost thread that runs. */
typedef struct lh_seen_call {
  uint64_t thread, call, place, top; /* place: in the function's code; of a C function, otherwise */
  uint64_t protected_call;           /* where the thread's innermost one is on the C stack; 0 */
  uint64_t debt;
} lh_seen_call;

/* The source of a Lua function, as load got it ("@file.lua"). Which function: */
typedef enum lh_peek_where {
  LH_PEEK_RUNNING,    /* the outermost that the main thread is in */
  LH_PEEK_ON_STACK,   /* the lowest on the main thread's stack */
  LH_PEEK_REGISTERED, /* the first that C code keeps in the registry (luaL_ref) */
  LH_PEEK_GLOBAL,     /* one in a global variable */
  LH_PEEK_NEWEST      /* the one that was loaded last */
} lh_peek_where;

struct lh_mirrored;
struct lh_outside_request;
struct lh_file;

/* What is known of a minor release. All but the last function only peek. */
typedef struct lh_lua {
  const char *name; /* "5.4" */

  /* Is the main thread of an open state at this address? `release` ("5.4.4", shorter if unknown)
  ** only tells 5.4.1 from 5.4.2. False: no; *why says what is wrong, and *n_checks how many things
  ** were right. A state that changes meanwhile may be missed; then call again. */
  bool (*recognise)(const lh_peek *peek, uint64_t main_thread, const char *release,
                    lh_seen_state *seen, const char **why, int *n_checks);

  /* The state's global arg[0], which the interpreter sets to the script's name, or in skynet's Lua
  ** SERVICE_NAME; and the source of a function. False: there is none. Texts are cut to `size`, or
  ** at a NUL inside them. */
  bool (*peek_argument)(const lh_peek *peek, const lh_seen_state *seen, char *out, size_t size);
  bool (*peek_source)(const lh_peek *peek, const lh_seen_state *seen, lh_peek_where at, char *out,
                      size_t size);

  /* Was luaheap loaded into the state? *state_id: the id in its snapshots; 0: it takes none yet. */
  bool (*peek_luaheap)(const lh_peek *peek, const lh_seen_state *seen, uint64_t *state_id);

  /* An address in the read-only data of the library or program that has this state's Lua: the slot
  ** that all tables without slots share. 0: not found. */
  uint64_t (*peek_library)(const lh_peek *peek, const lh_seen_state *seen);

  /* Are numbers 64-bit integers and doubles, by the table `math`? Other builds look the same. */
  bool (*peek_numbers)(const lh_peek *peek, const lh_seen_state *seen);

  /* False: no thread is in a call, as far as is known. */
  bool (*peek_call)(const lh_peek *peek, const lh_seen_state *seen, lh_seen_call *call);

  /* Is the call at this address a Lua function's? */
  bool (*is_lua_call)(const lh_peek *peek, uint64_t call);

  /* The part of lh_write_mirrored in the child; its allocations end with the child.
  ** *more_extra_bytes after a failure: the extra bytes per thread with which the sum would be right
  ** (lh_mirrored). */
  int (*write)(const struct lh_mirrored *mirrored, const lh_seen_state *seen,
               struct lh_outside_request *request, struct lh_file *file, int64_t *more_extra_bytes,
               lh_error *error);
} lh_lua;

extern const lh_lua lh_lua_504, lh_lua_505;

/* states.c: the same for any release, which is then in seen->lua. LH_EHOST: there is no open state;
** the message says what is wrong. */
int lh_recognise_state(const lh_peek *peek, uint64_t main_thread, const char *release,
                       lh_seen_state *seen, lh_error *error);
