/*
** luaheap_track.h - inside a program that runs Lua: from now on each object knows where it was
** allocated, and what is allocated and freed can be written to a file.
**
**     lh_attach(L)  lh_track(L)  ...  lh_take_snapshot(L, "a")   the sites are in the snapshot
**                   lh_track(L, file = "run.prof")  ...  lh_untrack(L)   -->  heapprof run.prof
*/
#ifndef LUAHEAP_PUBLIC_TRACK_H
#define LUAHEAP_PUBLIC_TRACK_H

#include "luaheap_take.h"

LH_API_BEGIN

/* Where small blocks come from. The pool is faster than malloc by more than what recording costs.
** But its blocks can be freed by our allocation function only. */
typedef enum lh_pool_use {
  LH_POOL_IF_STANDARD, /* where the state has the allocation function of luaL_newstate, and as much
                          memory may be used as there is (no RLIMIT_AS) */
  LH_POOL_NEVER,       /* the function that the state has is asked for each block */
  LH_POOL_ALWAYS       /* of no other function but ours: for who knows that nobody puts it back */
} lh_pool_use;

typedef struct lh_track_options {
  bool stacks;           /* the whole stack of each allocation, not its site alone */
  uint64_t sample_bytes; /* one in so many bytes, at random; 0: every allocation */
  const char *file;      /* a profile; NULL: none */
  bool aggregate;        /* of the profile: counts, in place of each event */
  bool live;             /* heapprof --live-of shows this process */
  bool time;             /* calls and time of each function, by a hook */
  uint64_t exact_bytes;  /* the collector makes a step after so many bytes, see below; 0: as ever */
  lh_pool_use pool;
  /* Where the profile is completed by the end of the state or of the process, and not all of it
  ** could be written: is called with one sentence and a copy of `log`. NULL: nobody is told. */
  void (*report)(const char *trouble, const char *log);
  const char *log; /* NULL: "" */
  bool brief;      /* all blocks are the host's, and nothing outlives lh_untrack: see there */
} lh_track_options;

/* Begins to record where things are allocated; needs lh_attach. `options` may be NULL: sites alone,
** of every allocation. It may be called wherever Lua code could run, and as often as it was ended;
** objects that are there already have no site. Until lua_close the allocation function of the state
** is one of ours in front of the one that was found, so this code must stay loaded until that has
** returned. Only small blocks may come from elsewhere; where that function has none to give, it has
** none, and Lua sees what it would have seen. A forked child goes on, but writes no profile.
**
** With exact_bytes the collector is generational meanwhile, and is sent to collect what is young
** each time that so many bytes were allocated: so the death of what lives shortly is seen soon.
** What got old is collected when the heap has grown, as ever. In 5.4.0, whose generational mode may
** crash, the collector stays as it is and makes a step.
**
** LH_EARGUMENT: it is tracked already; `time` where the program has a hook. LH_EIO: the file.
** LH_EMEMORY, LH_EHOST.
**
** Cost: of every allocation, with stacks, at most 1.0 times the run time of the same program
** without, in the pool, and 1.1 with the host's function; sampled 1.02. Memory: at most 1.1 times.
** In the Lua heap 1 KB that no report shows. */
int lh_track(lua_State *L, const lh_track_options *options, lh_error *error);

/* Stops, and completes the profile. What was recorded stays with its object. Where no block that
** was allocated meanwhile lives, our allocation function goes; else it stays until lua_close and
** records nothing. What was `brief` leaves at once, whatever lives, and is forgotten: for a test,
** which is some 1.8 times as slow meanwhile where it allocates. Harmless where nothing is recorded.
** LH_EIO: it has stopped, but not all of the profile could be written. */
int lh_untrack(lua_State *L, lh_error *error);

LH_API_END

#endif
