/*
** mirrored.h - a Lua state in a mirror, shared by the parts that write it (write_child.c).
**
** Pointers into the mirror are followed, and some of its memory is changed, in a child with its own
** copy. If the heap is inconsistent, the child faults or detects it.
*/
#ifndef LUAHEAP_MIRRORED_H
#define LUAHEAP_MIRRORED_H

#include "outside.h"
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

lh_peek lh_peek_mirror(const lh_mirror *mirror);

/* Follows resumed threads from `thread` to the innermost one. 0: it is in no call. */
uint64_t lh_innermost_thread(const lh_peek *peek, const lh_layout *layout, uint64_t thread);

/* The innermost running thread, found from the main thread; if none runs, that one. O(resumes). */
const void *lh_running_thread(const lh_mirrored_state *state);

/* Which of the two running threads was resumed last. */
const void *lh_deeper_thread(const lh_layout *layout, const void *thread, const void *other);

/* A running Lua function keeps `top` in a local: sets the thread's top to the end of its frame. */
void lh_raise_top(const lh_layout *layout, const void *thread);

struct lh_stance {
  uint64_t thread, call, place, top; /* of the running call */
  uint64_t gc_bytes, debt;
  uint64_t processor_ns; /* of the program; 0: unknown */
};

typedef struct lh_pending {
  uint64_t state;
  bool is_done;             /* taken, or cannot be taken */
  bool is_quiet, was_quiet; /* no heap change in progress: now; before it ran on */
  lh_stance stance;         /* since an earlier attempt */
} lh_pending;

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

/* ==== write_state.c ================================================================== */

/* The part of lh_write_mirrored in the child; its allocations end with the child. *more_extra_bytes
** after a failure: the extra bytes per thread with which the sum would be right (lh_mirrored). */
int lh_write_here(const lh_mirrored *mirrored, lh_outside_request *request, lh_file *file,
                  int64_t *more_extra_bytes, lh_error *error);

/* LH_EBUSY: the copied heap is in the middle of a change. */
int lh_fail_amid_change(lh_error *error);

#endif
