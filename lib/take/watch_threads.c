/*
** watch_threads.c - the set of a watched state's threads (thread_set.h), and which of them runs.
** Our allocation function keeps the set exact.
*/
#include "watch.h"

/* Without memory the thread is not in the set and will not be armed; no other harm is done. */
void lh_threads_born(lh_watcher *w) {
  const char *block = w->newborn;
  w->newborn = NULL;
  if (!w->on) return;
  lua_State *thread = (lua_State *)(void *)(block + w->extra_bytes);
  bool is_thread = RAW_FIELD(thread, offsetof(raw_object, type), uint8_t) == RAW_THREAD &&
                   lh_global_state(thread) == w->global;
  if (is_thread && lh_thread_set_add(&w->threads, thread))
    w->newest = thread; /* else a block of C code */
  lh_arm(w);
}

void lh_threads_died(lh_watcher *w, const void *block) {
  const void *thread = (const char *)block + w->extra_bytes;
  if (block == w->newborn) w->newborn = NULL;
  if (thread == w->own_thread) w->own_thread = NULL; /* the program removed it */
  if (thread == w->newest) w->newest = NULL;
  (void)lh_thread_set_remove(&w->threads, thread);
  for (size_t i = 0; i < w->n_armed; i++)
    if (w->armed[i].thread == thread) w->armed[i].thread = NULL;
}

bool lh_threads_init(lh_watcher *w) {
  if (!lh_thread_set_init(&w->threads)) return false;
  const raw_object *o = RAW_FIELD(w->global, RAW_GLOBAL_ALLGC, const raw_object *);
  for (; o; o = o->next) {
    if (o->type != RAW_THREAD) continue;
    if (!lh_thread_set_add(&w->threads, (lua_State *)(uintptr_t)o)) return false;
  }
  return true;
}

/* Each resumed thread has a protected call; the last lies deepest on the C stack, which grows down.
** Only the main thread may run without one. */
const void *lh_threads_running(const lh_watcher *w) {
  const lh_layout *layout = &w->layout;
  const void *running = NULL;
  uintptr_t deepest = UINTPTR_MAX;
  size_t slot = 0;
  for (lua_State *t; (t = lh_thread_set_next(&w->threads, &slot)) != NULL;) {
    uintptr_t depth = raw_protected_call(layout, t);
    if (depth == 0 && t == w->main_thread) depth = UINTPTR_MAX - 1;
    if (!raw_stands_in_call(layout, t) || depth == 0 || depth >= deepest) continue;
    deepest = depth;
    running = t;
  }
  return running;
}

bool lh_threads_has_stack(const lh_watcher *w, const void *block) {
  size_t slot = 0;
  for (lua_State *t; (t = lh_thread_set_next(&w->threads, &slot)) != NULL;)
    if (raw_stack(&w->layout, t) == block) return true;
  return false;
}
