/*
** watch_threads.c - the set of all threads of a Lua state, kept exact by our allocation function.
**
** The API has no way to ask which coroutine runs, and the collector's lists must not be walked from
** a signal handler (10 million objects would take it a second). But Lua tells its allocation
** function when a new block is for a thread, and a thread's block is freed with its own size. So a
** set of addresses is enough: an open hash table, 8 bytes for each of its slots, at most three
** quarters of which are used, graves included.
**
** A handler may interrupt any change, in the same OS thread: each is one store of one pointer, and
** a bigger table is filled before it is published and the old one freed after.
*/
#include "watch.h"

struct lh_threads {
  size_t mask;   /* slots - 1, a power of two less one */
  size_t n_used; /* slots that are not NULL */
  size_t n_living;
  _Atomic(lua_State *) slots[];
};

static const char grave_marker = 0;
#define GRAVE ((lua_State *)(uintptr_t)&grave_marker)

static size_t first_place(const lh_threads *set, const lua_State *thread) {
  uint64_t hash = ((uintptr_t)thread >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  return (size_t)(hash >> 32) & set->mask;
}

static lua_State *thread_at(const lh_threads *set, size_t place) {
  return atomic_load_explicit(&set->slots[place], memory_order_relaxed);
}

static void set_thread_at(lh_threads *set, size_t place, lua_State *thread) {
  atomic_store_explicit(&set->slots[place], thread, memory_order_relaxed);
}

static lh_threads *current_set(const lh_watcher *w) {
  return atomic_load_explicit(&w->threads, memory_order_acquire);
}

/* The place of the thread, or the free one where it is missed. */
static size_t place_of_thread(const lh_threads *set, const lua_State *thread) {
  size_t place = first_place(set, thread);
  while (thread_at(set, place) && thread_at(set, place) != thread) place = (place + 1) & set->mask;
  return place;
}

static lh_threads *new_set(size_t slots) {
  lh_threads *set = lh_alloc_zeroed(1, sizeof *set + slots * sizeof set->slots[0]);
  if (set) set->mask = slots - 1;
  return set;
}

/* There is a free slot. */
static void insert_thread(lh_threads *set, lua_State *thread) {
  set_thread_at(set, place_of_thread(set, thread), thread);
  set->n_used++;
  set->n_living++;
}

/* A table with room for more, without graves, in place of the current one. */
static bool enlarge_set(lh_watcher *w) {
  lh_threads *old = current_set(w);
  size_t slots = 64;
  while (slots < 4 * old->n_living) slots *= 2;
  lh_threads *set = new_set(slots);
  if (!set) return false;
  for (size_t i = 0; i <= old->mask; i++) {
    lua_State *thread = thread_at(old, i);
    if (thread && thread != GRAVE) insert_thread(set, thread);
  }
  atomic_store_explicit(&w->threads, set, memory_order_release);
  lh_free(old);
  return true;
}

/* Without memory the thread is not in the set, and will not be armed: nothing worse. */
static bool add_to_set(lh_watcher *w, lua_State *thread) {
  lh_threads *set = current_set(w);
  if (4 * (set->n_used + 1) > 3 * (set->mask + 1) && !enlarge_set(w)) return false;
  insert_thread(current_set(w), thread);
  return true;
}

void lh_threads_born(lh_watcher *w) {
  const char *block = w->newborn;
  w->newborn = NULL;
  if (!w->on) return;
  lua_State *thread = (lua_State *)(void *)(block + w->extra_bytes);
  bool is_thread = RAW_FIELD(thread, offsetof(raw_object, type), uint8_t) == RAW_THREAD &&
                   lh_global_state(thread) == w->global;
  if (is_thread && add_to_set(w, thread))
    w->newest = thread; /* else it was another block of C code */
  lh_arm(w);
}

void lh_threads_died(lh_watcher *w, const void *block) {
  lh_threads *set = current_set(w);
  const void *thread = (const char *)block + w->extra_bytes;
  if (block == w->newborn) w->newborn = NULL;
  if (thread == w->own_thread) w->own_thread = NULL; /* a program has taken it away */
  if (thread == w->newest) w->newest = NULL;
  if (!set) return;
  size_t place = place_of_thread(set, thread);
  if (thread_at(set, place)) {
    bool is_last = !thread_at(set, (place + 1) & set->mask); /* of its chain: no grave is needed */
    set_thread_at(set, place, is_last ? NULL : GRAVE);
    set->n_used -= is_last;
    set->n_living--;
  }
  for (size_t i = 0; i < w->n_armed; i++) {
    if (w->armed[i].thread == thread) w->armed[i].thread = NULL;
  }
}

bool lh_threads_init(lh_watcher *w) {
  lh_threads *set = new_set(64);
  if (!set) return false;
  atomic_store_explicit(&w->threads, set, memory_order_release);
  const raw_object *o = RAW_FIELD(w->global, RAW_GLOBAL_ALLGC, const raw_object *);
  for (; o; o = o->next) {
    if (o->type == RAW_THREAD && !add_to_set(w, (lua_State *)(uintptr_t)o)) return false;
  }
  return true;
}

void lh_threads_free(lh_watcher *w) {
  lh_free(atomic_exchange(&w->threads, NULL));
}

bool lh_threads_has(const lh_watcher *w, const lua_State *thread) {
  const lh_threads *set = current_set(w);
  return thread_at(set, place_of_thread(set, thread)) != NULL;
}

size_t lh_threads_slots(const lh_watcher *w) {
  const lh_threads *set = current_set(w);
  return set ? set->mask + 1 : 0;
}

lua_State *lh_threads_next(const lh_watcher *w, size_t *place) {
  const lh_threads *set = current_set(w);
  while (set && *place <= set->mask) {
    lua_State *thread = thread_at(set, (*place)++);
    if (thread && thread != GRAVE) return thread;
  }
  return NULL;
}

/* A thread is resumed by a protected call, and the one that was resumed last lies deepest on the C
** stack, which grows down. The main thread alone may do without. */
const void *lh_threads_running(const lh_watcher *w) {
  const lh_layout *layout = &w->layout;
  const void *running = NULL;
  uintptr_t deepest = UINTPTR_MAX;
  size_t place = 0;
  for (lua_State *t = lh_threads_next(w, &place); t; t = lh_threads_next(w, &place)) {
    uintptr_t depth = raw_protected_call(layout, t);
    if (depth == 0 && t == w->main_thread) depth = UINTPTR_MAX - 1;
    if (!raw_stands_in_call(layout, t) || depth == 0 || depth >= deepest) continue;
    deepest = depth;
    running = t;
  }
  return running;
}

bool lh_threads_has_stack(const lh_watcher *w, const void *block) {
  size_t place = 0;
  for (lua_State *t = lh_threads_next(w, &place); t; t = lh_threads_next(w, &place)) {
    if (raw_stack(&w->layout, t) == block) return true;
  }
  return false;
}
