/*
** state.h - the objects that luaheap keeps in an attached Lua state. Private to the writing half.
**
**     registry[&key] --> state userdata --user value 1--> newest mark --> ... --> oldest mark
**                                       --user value 2--> the metatable of marks on finobj
**
**     registry[&key of watch.c] --> watcher's userdata --user value 1--> a thread of our own
**                                                      --user value 2--> a sentry: watch_close.c
**
** So the marks live as long as the state, and two raw reads find them without an allocation. A
** program with the debug library can change all of these references and so free their targets. So
** no other pointers to them are kept, except to the thread: our allocation function sees its end.
*/
#pragma once

#include "own.h"
#include "weak_lua.h"

/* The content of the userdata of ours at `index` with this tag, a unique address; NULL: another
** value. The program can change the registry and metatables, but not the content of userdata. */
void *lh_test_own(lua_State *L, int index, const void *tag);

/* Pushes registry[tag] (one stack slot) and returns it as lh_test_own. NULL, and nothing pushed:
** there is none, L has no stack left, or the program replaced the value. */
void *lh_push_own(lua_State *L, const void *tag);

/* A userdata in the registry that leads to a watcher or a recorder. lh_find_handle: NULL: none. */
typedef struct lh_handle {
  lh_own_content own; /* kind LH_MARK_STATE */
  void *of;
} lh_handle;

lh_handle *lh_find_handle(lua_State *L, const void *tag);

/* Pushes a new handle (`of` is NULL); the closing state finalizes it. May raise a memory error. */
lh_handle *lh_make_handle(lua_State *L, const void *tag, int n_user_values);

/* Pushes the state of an attached L, as lh_push_own. */
lh_state *lh_push_state(lua_State *L);

/* The same without pushing. NULL, and LH_EARGUMENT in `error`: L is not attached. */
lh_state *lh_find_state(lua_State *L, lh_error *error);

/* measure.c: sets a layout's two sizes to this build's. LH_EHOST: the sizes of objects do not add
** up to the collector's count. LH_EMEMORY. */
int lh_measure_layout(lh_layout *layout, lh_error *error);

/* Calls `function` with a light userdata, in protected mode. LH_EMEMORY: "out of memory while
** `doing`". */
int lh_call_protected(lua_State *L, lua_CFunction function, void *argument, const char *doing,
                      lh_error *error);

/* The stack slot of the running function's value at a positive index; NULL if there is none. */
const raw_value *lh_stack_slot(lua_State *L, int index);

/* A new state without a library, of which the program knows nothing. NULL: no memory. */
static inline lua_State *lh_new_state(lua_Alloc alloc, void *data) {
#if LH_LUA == 504
  return lua_newstate(alloc, data);
#else
  return lua_newstate(alloc, data, 0);
#endif
}

static inline char *lh_global_state(lua_State *L) {
  return (char *)(uintptr_t)raw_global(L);
}

/* mark.c: plants the two marks of one serial; see lh_mark. Name NULL: it is named by time_ns. */
int lh_plant(lua_State *L, uint8_t kind, const char *name, size_t name_length, lh_planted *planted,
             lh_error *error);

/* Removes a planted mark from all reports and leaves it to the collector: its snapshot was not
** written. Does nothing for a mark that was never planted (all fields 0). */
void lh_void_mark(lua_State *L, const lh_planted *planted);

/* watch.c: facts about the watcher of L's state; all 0: there is none. Needs one stack slot. */
typedef struct lh_watched {
  const void *own_thread;
  const void *running;  /* the thread that own_thread stands in for; may be NULL */
  bool closes;          /* the state is closing: see watch_close.c */
  uint64_t n_finalized; /* objects that were finalized before */
} lh_watched;
lh_watched lh_watch_facts(lua_State *L);

/* watch.c: called for each userdata of ours (at index 1) that is finalized. The watcher's and the
** sentry's tell that the state closes. */
void lh_watch_finalize(lua_State *L);
