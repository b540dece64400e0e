/*
** luaheap_track.h - in a program that runs Lua: records where each object is allocated.
**
**     lh_attach(L)  lh_track(L)  ...  lh_take_snapshot(L, "a")   the sites are in the snapshot
**                   lh_track(L, file = "run.prof")  ...  lh_untrack(L)   -->  heapprof run.prof
*/
#ifndef LUAHEAP_PUBLIC_TRACK_H
#define LUAHEAP_PUBLIC_TRACK_H

#include "luaheap_take.h"

LH_API_BEGIN

/* Where small blocks come from. The pool saves more time over malloc than recording costs, but only
** our allocation function can free its blocks. */
typedef enum lh_pool_use {
  LH_POOL_IF_STANDARD, /* if the state has the allocation function of luaL_newstate, and the
                          process no RLIMIT_AS */
  LH_POOL_NEVER,       /* the state's own function allocates each block */
  LH_POOL_ALWAYS       /* with any function; the caller guarantees that nobody restores it */
} lh_pool_use;

typedef struct lh_track_options {
  bool stacks;           /* the whole stack of each allocation, not only its site */
  uint64_t sample_bytes; /* record one in this many bytes, at random; 0: every allocation */
  const char *file;      /* a profile; NULL: none */
  bool aggregate;        /* the profile has counts, not events */
  bool live;             /* for heapprof --live-of */
  bool time;             /* calls and time of each function, by a hook */
  uint64_t exact_bytes;  /* collect after this many bytes, see below; 0: as Lua does */
  lh_pool_use pool;
  /* Called with one sentence and a copy of `log` if the end of the state or process completes the
  ** profile, but not all of it could be written. May be NULL. */
  void (*report)(const char *trouble, const char *log);
  const char *log; /* NULL: "" */
  bool brief;      /* no pool, and lh_untrack leaves nothing behind: see there */
} lh_track_options;

/* Starts to record where objects are allocated, in an attached state; older objects have no site.
** `options` may be NULL: only sites, of every allocation. May be called wherever Lua code could
** run, and again after lh_untrack. Until lua_close, our allocation function stands in front of the
** state's, so this code must stay loaded until lua_close has returned. If the state's function has
** no memory, neither has ours: Lua sees the same failure. A forked child records, but writes no
** profile.
**
** exact_bytes makes the collector generational, with a young collection each time that many bytes
** were allocated, so the death of short-lived objects is seen soon. Old objects are collected when
** the heap has grown, as usual. Generational mode may crash in 5.4.0, so there the collector keeps
** its mode and makes a step.
**
** LH_EARGUMENT: already tracked; or `time`, but the program has a hook. LH_EIO: the file.
** LH_EMEMORY, LH_EHOST.
**
** Run time with stacks of every allocation: at most 1.0 times that of the untracked program with
** the pool, 1.1 with the host's function; sampled 1.02. Memory: at most 1.1 times; and 1 KB in the
** Lua heap that no report shows. */
int lh_track(lua_State *L, const lh_track_options *options, lh_error *error);

/* Stops recording, and completes the profile. Objects keep what was recorded. Our allocation
** function is removed if no block allocated meanwhile lives; else it stays until lua_close and
** records nothing. With `brief` it is removed at once, and the record is forgotten: for a test,
** which allocates about 1.8 times as slowly meanwhile. Harmless if nothing is recorded. LH_EIO:
** stopped, but not all of the profile could be written. */
int lh_untrack(lua_State *L, lh_error *error);

LH_API_END

#endif
