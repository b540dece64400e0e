/*
** watch_hook.c - a debug hook that fires at the next safe point, and leaves no trace.
**
** All threads that stand in a call are armed, not only the one that runs: it may end or yield
** first. So is the main thread, always, since a host in C may wait outside of any call. lua_sethook
** may be called by a signal handler; lua.c does so itself. An armed thread stops at the first of
**
**     the next instruction of Lua code          (count 1)
**     the call or return of a C function        (where C code has called it)
**
** and, where the program has a hook for lines, at lines: not else, since Lua would call the
** program's hook for the line of the very instruction at which ours has fired.
**
** The program's hook is put back before the snapshot is taken, and then called for the event that
** it was waiting for, too. For counts that is exact: what was left of its count is put back, less
** the instruction at which ours fired. It is the third number of Lua's that luaheap writes.
**
** If the program's own lua_sethook was interrupted between its writes (hook, count, mask), the
** later ones have overwritten ours, and belong to the program.
*/
#include <errno.h>

#include "watch.h"

static int32_t *left_of(const lh_watcher *w, lua_State *thread) {
  return (int32_t *)(void *)((char *)thread + w->layout.hook_count);
}

static void on_hook(lua_State *L, lua_Debug *event);

static int our_mask(int mask) {
  return LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT | (mask & LUA_MASKLINE);
}

/* {=== Arming ======================================================================== */

static lh_armed *find_armed(lh_watcher *w, const lua_State *thread) {
  for (size_t i = 0; i < w->n_armed; i++) {
    if (w->armed[i].thread == thread) return &w->armed[i];
  }
  return NULL;
}

/* Ours is in place; has the program overwritten a part of it? */
static bool was_overwritten(const lh_armed *armed) {
  return lua_gethookmask(armed->thread) != our_mask(armed->mask);
}

static void note_overwritten(lh_armed *armed) {
  int count = lua_gethookcount(armed->thread);
  armed->mask = lua_gethookmask(armed->thread);
  if (count != 1) armed->count = count;
  armed->left = armed->count;
}

static void arm_thread(lh_watcher *w, lua_State *thread) {
  lh_armed *armed = find_armed(w, thread);
  bool is_ours = lua_gethook(thread) == on_hook;
  if (is_ours && armed && !was_overwritten(armed)) return;
  if (!armed) armed = find_armed(w, NULL); /* the place of one that died */
  if (!armed && w->n_armed < LH_MOST_ARMED) armed = &w->armed[w->n_armed++];
  if (!armed) return;
  if (!is_ours) {
    *armed = (lh_armed){.thread = thread,
                        .hook = lua_gethook(thread),
                        .mask = lua_gethookmask(thread),
                        .count = lua_gethookcount(thread),
                        .left = *left_of(w, thread)};
  } else if (armed->thread) {
    note_overwritten(armed);
  } else {
    *armed = (lh_armed){.thread = thread};
  }
  lua_sethook(thread, on_hook, our_mask(armed->mask), 1);
}

void lh_arm(lh_watcher *w) {
  sig_atomic_t busy = w->busy;
  bool is_asked = w->failed_bytes || atomic_load(&w->wanted);
  if (!w->on || w->newborn || !is_asked) return;
  w->busy = 1;
  arm_thread(w, w->main_thread);
  size_t place = 0;
  bool is_exact = lh_watch_is_installed(w); /* else we may have missed that a thread died */
  lua_State *t = is_exact ? lh_threads_next(w, &place) : NULL;
  for (; t; t = lh_threads_next(w, &place)) {
    if (raw_stands_in_call(&w->layout, t)) arm_thread(w, t);
  }
  w->busy = busy;
}

/* }=================================================================================== */

/* {=== Disarming ===================================================================== */

/* Puts the program's hook back, if ours is still there. */
static void restore(lh_watcher *w, lh_armed *armed) {
  if (!armed->thread || lua_gethook(armed->thread) != on_hook) return;
  if (was_overwritten(armed)) note_overwritten(armed);
  lua_sethook(armed->thread, armed->hook, armed->mask, armed->count);
  if (armed->mask & LUA_MASKCOUNT) *left_of(w, armed->thread) = armed->left;
}

void lh_disarm(lh_watcher *w) {
  sig_atomic_t busy = w->busy;
  w->busy = 1;
  for (size_t i = 0; i < w->n_armed; i++) restore(w, &w->armed[i]);
  w->n_armed = 0;
  w->patience_bytes = 4096;
  w->busy = busy;
}

/* }=================================================================================== */

/* Counts the event for the program's hook. Does that wait for it? */
static bool is_due(lh_armed *armed, int event) {
  switch (event) {
    case LUA_HOOKCALL:
    case LUA_HOOKTAILCALL: return armed->mask & LUA_MASKCALL;
    case LUA_HOOKRET: return armed->mask & LUA_MASKRET;
    case LUA_HOOKLINE: return armed->mask & LUA_MASKLINE;
    default:
      if (!(armed->mask & LUA_MASKCOUNT) || --armed->left != 0) return false;
      armed->left = armed->count;
      return true;
  }
}

static void on_hook(lua_State *L, lua_Debug *event) {
  int os_errno = errno;
  lua_Hook hook = NULL;
  lh_watcher *w = lh_watchers_find(L);
  if (!w) return;
  w->busy = 1;
  lh_armed *armed = find_armed(w, L);
  if (armed && is_due(armed, event->event)) hook = armed->hook;
  lh_disarm(w);
  unsigned wanted = atomic_exchange(&w->wanted, 0);
  if (w->failed_bytes) wanted |= LH_WANT_MEMORY;
  w->failed_bytes = 0;
  lh_watch_serve(w, L, wanted, w->options.background);
  w->busy = 0;
  lh_arm(w);
  errno = os_errno;
  if (hook) hook(L, event); /* last: it may raise an error or yield */
}

bool lh_hook_fits(lh_watcher *w) {
  enum { COUNT = 123456789 };
  lua_State *thread = w->own_thread;
  lua_sethook(thread, on_hook, LUA_MASKCOUNT, COUNT);
  bool fits = *left_of(w, thread) == COUNT && lua_gethookcount(thread) == COUNT &&
              lua_gethook(thread) == on_hook && lua_gethookmask(thread) == LUA_MASKCOUNT;
  lua_sethook(thread, NULL, 0, 0);
  return fits;
}
