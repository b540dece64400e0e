/*
** mirrored.h - a Lua state in a mirror, for the files that are compiled for each minor release.
**
** LH_LUA says for which one (raw.h). Of all their functions the rest of heapattach sees only those
** in the table (release.c): the others of the two releases have the same names.
**
** Pointers into the mirror are followed, and some of its memory is changed, in a child with its own
** copy. If the heap is inconsistent, the child faults or detects it.
*/
#pragma once

#include "outside/outside.h"
#include "take/take.h"

typedef struct lh_mirrored_state {
  lh_layout layout; /* with the sizes of this build */
  char *global;
  const char *main_thread;
  uint32_t seed;
  /* luaheap's own userdata, if luaheap was loaded; else NULL. */
  raw_userdata *ours;
  const void *metatable, *own_thread; /* of its marks; of its watcher */
  raw_userdata **made;                /* linked here, in memory of this process (marks.c) */
  size_t n_made, made_capacity;
} lh_mirrored_state;

static inline const lh_own_content *lh_mirrored_content(const lh_mirrored_state *state) {
  return state->ours ? lh_walk_own_content(&state->layout, state->ours) : NULL;
}

/* ==== marks.c ===================================================================== */

void lh_find_own(lh_mirrored_state *state);

uint32_t lh_newest_serial(const lh_mirrored_state *state);

/* Links a mark of this snapshot, youngest of all objects, and a userdata if the state has none.
** `content` needs no magic. LH_EMEMORY. */
int lh_link_own_mark(lh_mirrored_state *state, lh_own_content content, const char *name,
                     lh_error *error);

/* Links older marks, the oldest first, at their places. The heap itself must have none of them.
** Call after lh_link_own_mark. LH_EMEMORY; LH_EBUSY: a mark's place does not exist. */
int lh_link_carried_marks(lh_mirrored_state *state, uint64_t state_id, const lh_carried_mark *marks,
                          size_t n, lh_error *error);

/* ==== running.c =================================================================== */

/* The innermost running thread, found from the main thread; if none runs, that one. O(resumes). */
const void *lh_running_thread(const lh_mirrored_state *state);

/* Which of the two running threads was resumed last. */
const void *lh_deeper_thread(const lh_layout *layout, const void *thread, const void *other);

/* A running Lua function keeps `top` in a local: sets the thread's top to the end of its frame. */
void lh_raise_top(const lh_layout *layout, const void *thread);

/* Before abort() for an uncaught error Lua leaves all calls: only the message is on the stack. */
bool lh_has_panicked(const lh_target *target, const lh_mirrored_state *state);

/* ==== consistency.c =============================================================== */

/* Set of C functions, at most LH_MOST_C_FUNCTIONS. */
enum { LH_FUNCTION_SLOTS = 2 * LH_MOST_C_FUNCTIONS };
typedef struct lh_function_set {
  size_t n;
  uint64_t slots[LH_FUNCTION_SLOTS]; /* 0: free */
} lh_function_set;

/* Moves the functions to the front, in ascending order. Nothing can be added afterwards. */
void lh_function_sort(lh_function_set *set);

typedef struct lh_consistency {
  const lh_layout *layout;
  uint64_t most_bytes; /* of all objects together */
  uint8_t dead_white;
  bool spares_keys;                      /* keys may dangle: 5.4.0 in generational mode */
  bool masks_integers, divides_integers; /* possible hashes of integer keys */
  bool is_loading;                       /* a function is incomplete, as while a chunk is loaded */
  lh_function_set functions;             /* C functions found */
} lh_consistency;

void lh_consistency_begin(lh_consistency *consistency, const lh_mirrored_state *state);

/* Can the object be consistent? O(its size). */
bool lh_is_consistent(lh_consistency *consistency, const raw_object *object);

/* Can these bytes be the slots of a table, or its array? 5.5 has both at once while it makes new
** ones. */
bool lh_fit_table(uint64_t bytes);

/* ==== peek.c ======================================================================= */

/* The address of a string's text; 0: there is no string. */
uint64_t lh_peek_text(const lh_peek *peek, const lh_layout *layout, uint64_t string,
                      uint64_t *length);

/* ==== structure.c ================================================================== */

/* Where user values are: 5.5.1 aligns them, and the text of its release tells it from 5.5.0. A core
** may lack that text: then the sum of all objects decides. O(objects). */
uint16_t lh_user_values_of(const lh_mirrored_state *state, const char *release);

/* ==== elsewhere.c ================================================================== */

#define LH_MOST_ELSEWHERE (UINT64_C(1) << 30)
typedef struct lh_elsewhere {
  const char *output;    /* the file that is written meanwhile */
  bool *has;             /* by region: is it mapped here? NULL: none is */
  uint64_t copied_bytes; /* at most LH_MOST_ELSEWHERE */
} lh_elsewhere;

/* Makes bytes of the target readable here that may not be mirrored. False: they are in no mapping
** of the target that can be read, or this process has memory there. */
bool lh_bring(lh_elsewhere *elsewhere, const lh_mirrored *mirrored, const void *at, uint64_t bytes);

/* ==== The table (structure.h) ===================================================== */

#if LH_LUA == 504
#define LH_LUA_TABLE lh_lua_504
#else
#define LH_LUA_TABLE lh_lua_505
#endif

bool lh_recognise(const lh_peek *peek, uint64_t main_thread, const char *release,
                  lh_seen_state *seen, const char **why, int *n_checks);
bool lh_peek_argument(const lh_peek *peek, const lh_seen_state *seen, char *out, size_t size);
bool lh_peek_source(const lh_peek *peek, const lh_seen_state *seen, lh_peek_where at, char *out,
                    size_t size);
bool lh_peek_luaheap(const lh_peek *peek, const lh_seen_state *seen, uint64_t *state_id);
uint64_t lh_peek_library(const lh_peek *peek, const lh_seen_state *seen);
bool lh_peek_numbers(const lh_peek *peek, const lh_seen_state *seen);
bool lh_peek_call(const lh_peek *peek, const lh_seen_state *seen, lh_seen_call *call);
bool lh_is_lua_call(const lh_peek *peek, uint64_t call);
int lh_write_state(const lh_mirrored *mirrored, const lh_seen_state *seen,
                   lh_outside_request *request, lh_file *file, int64_t *more_extra_bytes,
                   lh_error *error);
