/*
** state.h - what luaheap keeps in a Lua state that it was attached to. Private to the writing half.
**
**     registry[&key] --> state userdata --user value 1--> newest mark --> ... --> oldest mark
**                                       --user value 2--> the metatable of marks on finobj
**
**     registry[&key of watch.c] --> watcher's userdata --user value 1--> a thread of our own
**                                                      --user value 2--> a sentry: watch_close.c
**
** So the marks live as long as the state, and finding them takes two raw reads that allocate
** nothing. A program with the debug library can change all of these references, and so free what
** they lead to: none of them is kept elsewhere, but for the thread, whose end our allocation
** function sees.
*/
#ifndef LUAHEAP_STATE_H
#define LUAHEAP_STATE_H

#include "walk.h"
#include "weak_lua.h"

enum { LH_STATE_NEWEST_MARK = 1, LH_STATE_METATABLE = 2, LH_STATE_USER_VALUES = 2 };

typedef struct lh_state {
  lh_own_content own; /* kind LH_MARK_STATE */
  lh_layout layout;
  uint64_t string_seed; /* secret: of the hashes of strings that are not kept at all */
  uint32_t last_serial;
  uint32_t n_periodic; /* marks: see mark.c */
  char release[16];
  bool tells_work; /* RAW_GLOBAL_AT_WORK tells when Lua must not be looked at */
} lh_state;

/* The value at `index` if it is the userdata of ours that was made with this tag, an address that
** nothing else has; NULL: it is another value. The registry and metatables are the program's to
** change, the content of userdata is not. */
void *lh_test_own(lua_State *L, int index, const void *tag);

/* The same of what the registry has under `tag`, which is pushed (one stack slot). NULL, and
** nothing pushed: there is none, L has no stack left, or another value was put in its place. */
void *lh_push_own(lua_State *L, const void *tag);

/* A userdata in the registry that leads to a watcher or a recorder. */
typedef struct lh_handle {
  lh_own_content own; /* kind LH_MARK_STATE */
  void *of;
} lh_handle;

/* NULL: there is none. */
lh_handle *lh_find_handle(lua_State *L, const void *tag);

/* Pushes a new one, which is finalized when the state closes. `of` is NULL. May raise "not enough
** memory". */
lh_handle *lh_make_handle(lua_State *L, const void *tag, int n_user_values);

/* The state of an attached L, as lh_push_own. */
lh_state *lh_push_state(lua_State *L);

/* The same without leaving it on the stack; NULL, and LH_EARGUMENT in `error`: there is none. */
lh_state *lh_find_state(lua_State *L, lh_error *error);

/* Where it is on the collector's list. */
static inline const raw_userdata *lh_state_object(const lh_state *state) {
  return (const void *)((const char *)state - offsetof(raw_userdata, user_values) -
                        LH_STATE_USER_VALUES * sizeof(raw_value));
}

/* measure.c: sets the two sizes of a layout that fits to what this build allocates. LH_EHOST where
** objects and counts do not agree; LH_EMEMORY. */
int lh_measure_layout(lh_layout *layout, lh_error *error);

/* The slot of the running function's value at a positive index; NULL where there is none. */
const raw_value *lh_stack_slot(lua_State *L, int index);

static inline char *lh_global_state(lua_State *L) {
  return RAW_FIELD(L, RAW_THREAD_GLOBAL, char *);
}

/* mark.c: plants the two marks of one serial, named `name`, or with NULL after their own time,
** which is read once: the name and time_ns are of the same second. See lh_mark. */
typedef struct lh_planted {
  uint32_t serial;
  uint64_t time_ns;
  lh_own_content *contents[2];
} lh_planted;
int lh_plant(lua_State *L, uint8_t kind, const char *name, size_t name_length, lh_planted *planted,
             lh_error *error);

/* Takes a planted mark out of all reports, and leaves it to the collector if it is the newest: the
** snapshot that it stands for was not written. Nothing is done for a mark that was never planted
** (all fields 0). */
void lh_void_mark(lua_State *L, const lh_planted *planted);

/* chain.c: the marks of a state, youngest first. */
typedef struct lh_chain {
  const raw_userdata *last;      /* the older userdata of the mark; at first the state */
  const raw_userdata *halves[2]; /* of the mark: on allgc and, if all is well, on finobj */
  const lh_own_content *content;
} lh_chain;

lh_chain lh_chain_begin(const lh_state *state);
bool lh_chain_next(lh_chain *chain); /* false behind the oldest */
uint32_t lh_chain_marks(const lh_state *state);

/* watch.c: what a snapshot is to know of the watcher of L's state, if there is one; all 0 if not.
** One stack slot. */
typedef struct lh_watched {
  const void *own_thread;
  const void *running;  /* the thread for which it stands in, where it does */
  bool closes;          /* the state closes: see watch_close.c */
  uint64_t n_finalized; /* objects whose finalizers it had run before */
} lh_watched;
lh_watched lh_watch_tell(lua_State *L);

/* watch.c: what is at index 1 is finalized; if it is the watcher's userdata, the state closes. */
void lh_watch_finalize(lua_State *L);

#endif
