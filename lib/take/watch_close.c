/*
** watch_close.c - learns that the state is closing, before the heap changes.
**
** lua_close first runs all finalizers, the newest first, and gives no notice before. So a sentry, a
** userdata of ours, should always have the newest finalizer. The head of finobj shows whether
** another object got one since. Then a new sentry is made when Lua next asks for memory, at most
** once per tick of the coarse clock; the older one is garbage. Objects that get a finalizer after
** the last check are finalized before the sentry, lie in front of it on allgc, and are counted.
**
** When the sentry is finalized, all other objects with finalizers wait on tobefnz, in the order of
** finobj. They are written as if they were still on finobj.
**
** A sentry is two userdata: one with the finalizer, and an older one that it keeps alive, at whose
** place on allgc the count ends. The watcher's userdata keeps the first one alive.
*/
#include "track/track.h"
#include "watch.h"

static const char sentry_key = 0;

static const raw_userdata *object_of(const lh_watcher *w, const void *content) {
  return (const void *)((const char *)content - sizeof(lh_own_content) - w->layout.user_values -
                        sizeof(raw_value));
}

/* Without memory, or while Lua must not be read, the older sentry stays. L's stack is unchanged. */
static void make_sentry(lh_watcher *w, lua_State *L) {
  int top = lua_gettop(L);
  const void *before = lh_recorder_begin_own(L);
  if (!lua_checkstack(L, 6)) {
    lh_recorder_end_own(L, before);
    return;
  }
  const lh_state *state = lh_push_state(L);
  if (state && !(state->tells_work && raw_is_at_work(&w->layout, w->global)) &&
      lh_watch_push(L)) { /* state, watcher's */
    const void *older = lh_push_userdata(L, &sentry_key, 0, NULL);
    const void *sentry = older ? lh_push_userdata(L, &sentry_key, 0, NULL) : NULL;
    if (sentry && lua_getiuservalue(L, top + 1, LH_STATE_METATABLE) == LUA_TTABLE) {
      (void)lua_setmetatable(L, -2); /* state, watcher's, older, sentry */
      lua_pushvalue(L, -2);
      (void)lua_setiuservalue(L, -2, 1);
      (void)lua_setiuservalue(L, top + 2, LH_WATCHER_SENTRY);
      w->sentry = object_of(w, sentry);
      w->sentry_older = object_of(w, older);
    }
  }
  lua_settop(L, top);
  lh_recorder_end_own(L, before);
}

void lh_renew_sentry(lh_watcher *w) {
  const void *head = RAW_FIELD(w->global, RAW_GLOBAL_FINOBJ, const void *);
  bool closes = head == NULL;
  if (head == w->sentry || closes || w->exited || w->busy || !w->own_thread) return;
  uint64_t now = lh_watch_now_ns();
  if (now == w->sentry_ns) return;
  int os_errno = errno;
  w->sentry_ns = now;
  w->busy = 1;
  make_sentry(w, w->own_thread);
  w->busy = 0;
  errno = os_errno;
}

/* Is the object on allgc, although its metatable has a __gc, which puts new objects on finobj? */
static bool was_finalized(const lh_layout *layout, const raw_object *o, const void *name_of_gc) {
  const raw_table *metatable = NULL;
  if (o->type == RAW_TABLE)
    metatable = ((const raw_table *)o)->metatable;
  else if (o->type == RAW_USERDATA && !lh_walk_own_content(layout, (const raw_userdata *)o))
    metatable = ((const raw_userdata *)o)->metatable;
  return metatable && lh_find_string_key(layout, metatable, name_of_gc);
}

static uint64_t count_finalized(const lh_watcher *w) {
  const void *name =
      RAW_FIELD(w->global, w->layout.metamethod_names + RAW_TM_GC * sizeof(void *), const void *);
  uint8_t dead_white = raw_dead_white(&w->layout, w->global);
  uint64_t n = 0;
  const raw_object *o = raw_list(w->global, LH_LIST_ALLGC);
  for (; o && (const void *)o != w->sentry_older; o = o->next)
    n += !raw_is_dead(o, dead_white) && was_finalized(&w->layout, o, name);
  return n;
}

bool lh_is_sentry(lh_watcher *w, lua_State *L) {
  const void *content = lh_test_userdata(L, 1, &sentry_key);
  return content && object_of(w, content) == w->sentry;
}

void lh_begin_closing(lh_watcher *w) {
  bool takes = (w->options.at_exit && !w->exited) || atomic_load(&w->wanted);
  if (!takes) return;
  w->n_finalized = count_finalized(w);
  w->closes = true;
}
