/*
** mirrored.h - a Lua state in a mirror: what the parts of a shot (shot.c) hand to each other.
**
** Pointers into the mirror are followed as they are, and some of its memory is changed, in a child
** of this process that has a copy of its own. What is there may have been amid a change: then the
** child is lost, or sees it.
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
  /* What luaheap left in it, where it was loaded; NULL: nothing. */
  raw_userdata *ours;
  const void *metatable, *own_thread; /* of its marks; of its watcher */
} lh_mirrored_state;

static inline const lh_own_content *lh_mirrored_content(const lh_mirrored_state *state) {
  return state->ours ? lh_walk_own_content(state->ours) : NULL;
}

/* ==== marks.c ===================================================================== */

/* Looks into the registry for what luaheap left. */
void lh_find_own(lh_mirrored_state *state);

/* The greatest serial that is known in the state itself. */
uint32_t lh_newest_serial(const lh_mirrored_state *state);

/* Links a mark of the snapshot itself, younger than all objects, and a userdata of the state if
** there is none. `content` needs no magic. LH_EMEMORY. */
int lh_link_own_mark(lh_mirrored_state *state, lh_own_content content, const char *name,
                     lh_error *error);

/* Links older marks, the oldest first, where they belong; none of them is in the heap itself. After
** lh_link_own_mark. LH_EMEMORY; LH_EBUSY: there is no such place. */
int lh_link_carried_marks(lh_mirrored_state *state, uint64_t state_id, const lh_carried_mark *marks,
                          size_t n, lh_error *error);

/* ==== running.c =================================================================== */

/* The mirror, as far as it goes. */
lh_peek lh_peek_mirror(const lh_mirror *mirror);

/* From a thread on along those that have been resumed, to the one that has resumed none. 0: it is
** in no call. */
uint64_t lh_innermost_thread(const lh_peek *peek, const lh_layout *layout, uint64_t thread);

/* The thread whose code runs, or has called what runs, as far as the main thread leads to it; the
** main thread itself where it is in no call. O(resumes). */
const void *lh_running_thread(const lh_mirrored_state *state);

/* Which of the two was resumed last, if they run at all. */
const void *lh_deeper_thread(const lh_layout *layout, const void *thread, const void *other);

/* A Lua function that runs keeps `top` to itself: lets the thread say what its frame may use. */
void lh_raise_top(const lh_layout *layout, const void *thread);

/* Where a state was at a look. */
struct lh_stance {
  uint64_t thread, call, place, top; /* of what runs */
  uint64_t gc_bytes, debt;
  uint64_t processor_ns; /* of the program; 0: nothing is known */
};

/* A state that is to be taken, in as many tries as that takes. */
typedef struct lh_pending {
  uint64_t state;
  bool is_done;             /* taken, or never to be had */
  bool is_quiet, was_quiet; /* Lua is amid no change in it, in this try; before it ran on */
  lh_stance stance;         /* since some try before */
} lh_pending;

/* ==== sound.c ===================================================================== */

/* C functions that were met, the first LH_MOST_C_FUNCTIONS. */
enum { LH_FUNCTION_SLOTS = 2 * LH_MOST_C_FUNCTIONS };
typedef struct lh_function_set {
  size_t n;
  uint64_t slots[LH_FUNCTION_SLOTS]; /* 0: free */
} lh_function_set;

/* Moves them to the front, ascending; nothing can be added any more. */
void lh_function_sort(lh_function_set *set);

/* What is known while objects are looked at. */
typedef struct lh_doubt {
  const lh_layout *layout;
  uint64_t most_bytes; /* of all objects together */
  uint8_t dead_white;
  bool spares_keys;                      /* keys may dangle: 5.4.0 in generational mode */
  bool masks_integers, divides_integers; /* how keys are hashed, as far as no table says else */
  bool is_loading;                       /* a function is half made, as while a chunk is loaded */
  lh_function_set functions;             /* that were met */
} lh_doubt;

void lh_doubt_begin(lh_doubt *doubt, const lh_mirrored_state *state);

/* Can it be an object that no change is under way in? O(its size). */
bool lh_is_sound(lh_doubt *doubt, const raw_object *object);

/* ==== shooting.c ================================================================== */

/* Walks the state that the request names, and writes it: as lh_shoot_mirrored, in its child. What
** it allocates goes with that. *more_extra_bytes, of a failure: with these (lh_mirrored) the sum
** comes out. */
int lh_shoot_here(const lh_mirrored *mirrored, lh_outside_request *request, lh_file *file,
                  int64_t *more_extra_bytes, lh_error *error);

/* LH_EBUSY: what was copied is amid a change. */
int lh_amid_change(lh_error *error);

#endif
