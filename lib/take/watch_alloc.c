/*
** watch_alloc.c - our allocation function, in front of the host's.
**
** It passes on every call and answer unchanged, and watches for four events:
**
** - A thread is made or freed. While Lua makes a thread no hook of ours is set,
**   since the new thread would inherit it.
** - The heap reaches a size, at its exact byte, or a time has come, checked after each 4 KiB of
**   growth. Lua 5.5 does not count the texts of external strings. So we add up all requests there,
**   and walk the heap once when their sum reaches the size.
** - A request waits and no hook has fired, because the program made a thread since or set its own
**   hook over ours. Then threads are armed again after each growth. A thread that runs Lua code for
**   the first time grows: it gets its list of calls.
** - Memory runs out. Lua reacts to a failure with an emergency collection and asks again. The first
**   failure arms the threads, for C code that does not ask again (luaL_Buffer). At the second the
**   snapshot is taken: the collector has just seen the whole heap, which is consistent. But if a
**   stack grows, some releases then have offsets in place of its pointers: the request waits for
**   the hook.
**
** Cost: some 2 ns a call, where malloc and Lua's own work take 50 (make bench).
*/
#include <sys/syscall.h>
#include <unistd.h>

#include "watch.h"

enum { LOOK_BYTES = 4096, CHECK_SECONDS = 1 };
#define RARE(condition) __builtin_expect((condition), 0)

uint64_t lh_watch_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t to_ns(double seconds) {
  return seconds < 1e9 ? (uint64_t)(seconds * 1e9) : (uint64_t)1e18;
}

static void want(lh_watcher *w, unsigned what) {
  (void)atomic_fetch_or(&w->wanted, what);
}

/* ==== Sizes and times =============================================================== */

/* Of all texts that Lua 5.5 leaves out of its count. O(objects). */
static uint64_t external_bytes(const lh_watcher *w) {
  uint64_t bytes = 0;
#if LH_LUA == 505
  for (const raw_object *o = raw_list(w->global, LH_LIST_ALLGC); o; o = o->next)
    bytes += raw_external_bytes(&w->layout, o);
#else
  (void)w;
#endif
  return bytes;
}

/* The heap with texts that Lua does not count. Below at_bytes it is an estimate: texts older than
** the watcher are freed past us, and a request may fail. From at_bytes on it is exact. */
static uint64_t bytes_of_heap(lh_watcher *w, uint64_t counted) {
  uint64_t bytes = w->held_bytes > (int64_t)counted ? (uint64_t)w->held_bytes : counted;
  if (LH_LUA == 504 || bytes < w->at_bytes) return bytes;
  bytes = counted + external_bytes(w);
  w->held_bytes = (int64_t)bytes;
  return bytes;
}

static void want_file(lh_watcher *w) {
  if (w->n_files >= w->options.max_files) return;
  w->n_files++;
  want(w, LH_WANT_SNAPSHOT);
}

/* Is the signal pending because all threads block it? Not if one sent it on to this thread. */
static bool is_blocked(const lh_watcher *w) {
  sigset_t pending;
  return !atomic_load(&w->forwarded) && sigpending(&pending) == 0 &&
         sigismember(&pending, w->options.signal_number) == 1;
}

/* Reports, once, that the signal does not arrive: its sender should not have to guess. */
static void look_at_signal(lh_watcher *w, uint64_t now) {
  bool is_heard = lh_watchers_hear(w);
  w->next_check_ns = UINT64_MAX;
  if (!is_heard || is_blocked(w))
    lh_watch_report_unheard(w, is_heard);
  else
    w->next_check_ns = now + to_ns(CHECK_SECONDS);
}

static void look_at_time(lh_watcher *w) {
  uint64_t now = lh_watch_now_ns();
  if (now == w->looked_ns) return;
  w->looked_ns = now;
  if (w->options.at_exit) lh_note_mask(&w->usual_mask); /* a call that a sandbox may forbid */
  lh_watch_reap(w);
  if (now >= w->next_check_ns) look_at_signal(w, now);
  if (now >= w->next_file_ns) {
    w->next_file_ns = now + to_ns(w->options.every_seconds);
    want_file(w);
  }
  if (now >= w->next_mark_ns) {
    w->next_mark_ns = now + to_ns(w->options.mark_seconds);
    want(w, LH_WANT_MARK);
  }
}

static void look_at_size(lh_watcher *w, uint64_t counted) {
  uint64_t bytes = bytes_of_heap(w, counted);
  if (bytes >= w->at_bytes) {
    double next = (double)bytes * w->options.again;
    w->at_bytes = next < 1e18 ? (uint64_t)next : UINT64_MAX;
    want_file(w);
  }
  w->room_bytes = w->at_bytes - bytes < LOOK_BYTES ? (int64_t)(w->at_bytes - bytes) : LOOK_BYTES;
}

static void note_owner(lh_watcher *w) {
  pthread_t self = pthread_self();
  if (atomic_load_explicit(&w->owner, memory_order_relaxed) == self) return;
  w->busy = 1;
  lh_ticks_end(w); /* the timers were another thread's */
  lh_note_mask(&w->usual_mask);
  atomic_store(&w->owner, self);
  atomic_store(&w->owner_id, (pid_t)syscall(SYS_gettid));
  w->busy = 0;
}

static void look_at_wait(lh_watcher *w) {
  if (w->asked_ns == 0) w->asked_ns = w->looked_ns;
  if (w->looked_ns - w->asked_ns >= to_ns(LH_LATE_SECONDS)) lh_watch_report_late(w, false);
}

static void look_whether_due(lh_watcher *w, uint64_t bytes) {
  w->room_bytes = w->on ? LOOK_BYTES : INT64_MAX;
  if (!w->on || w->busy) return;
  int os_errno = errno, before = lh_hold_cancel();
  note_owner(w);
  look_at_time(w);
  look_at_size(w, bytes);
  if (atomic_load(&w->wanted)) {
    look_at_wait(w);
    lh_arm_again(w);
    w->room_bytes = 0;
  }
  lh_release_cancel(before);
  errno = os_errno;
}

void lh_watch_begin(lh_watcher *w) {
  uint64_t now = lh_watch_now_ns();
  const lh_watch_options *options = &w->options;
  w->next_file_ns = options->every_seconds > 0 ? now + to_ns(options->every_seconds) : UINT64_MAX;
  w->next_mark_ns = options->mark_seconds > 0 ? now + to_ns(options->mark_seconds) : UINT64_MAX;
  w->next_check_ns = options->signal_number ? now + to_ns(CHECK_SECONDS) : UINT64_MAX;
  w->at_bytes = options->at_bytes ? options->at_bytes : UINT64_MAX;
  w->held_bytes = 0;
  if (LH_LUA == 505 && options->at_bytes)
    w->held_bytes = (int64_t)(lh_gc_bytes(w->global) + external_bytes(w));
  w->room_bytes = 0;
  w->patience = 0;
  note_owner(w);
}

/* ==== The threads of the state ====================================================== */

/* Without memory the thread is not in the set and will not be armed; no other harm is done. */
static void threads_born(lh_watcher *w) {
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

static void threads_died(lh_watcher *w, const void *block) {
  const void *thread = (const char *)block + w->extra_bytes;
  if (block == w->newborn) w->newborn = NULL;
  if (thread == w->own_thread) w->own_thread = NULL; /* the program removed it */
  if (thread == w->newest) w->newest = NULL;
  (void)lh_thread_set_remove(&w->threads, thread);
  for (size_t i = 0; i < w->n_armed; i++)
    if (w->armed[i].thread == thread) w->armed[i].thread = NULL;
}

void lh_threads_renew(lh_watcher *w) {
  if (lh_watch_is_installed(w)) return;
  (void)lh_thread_set_renew(&w->threads, w->global);
  w->newest = NULL;
  if (!lh_thread_set_has(&w->threads, w->own_thread)) w->own_thread = NULL;
  for (size_t i = 0; i < w->n_armed; i++) {
    lua_State *thread = w->armed[i].thread;
    bool lives = thread == w->main_thread || lh_thread_set_has(&w->threads, thread);
    if (!lives) w->armed[i].thread = NULL;
  }
}

/* Each resumed thread has a protected call; the last lies deepest on the C stack, which grows down.
** Only the main thread may run without one. */
const void *lh_threads_running(lh_watcher *w) {
  const lh_layout *layout = &w->layout;
  lh_threads_renew(w);
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

static bool threads_has_stack(const lh_watcher *w, const void *block) {
  size_t slot = 0;
  for (lua_State *t; (t = lh_thread_set_next(&w->threads, &slot)) != NULL;)
    if (raw_stack(&w->layout, t) == block) return true;
  return false;
}

/* ==== No memory left ================================================================ */

/* Uses our own thread: the running one's stack, of which Lua holds addresses, must not move. */
static void take_without_memory(lh_watcher *w) {
  int os_errno = errno;
  w->busy = 1;
  unsigned wanted = lh_end_wait(w) | LH_WANT_MEMORY;
  w->running_thread = lh_threads_running(w);
  if (w->own_thread) lh_watch_serve(w, w->own_thread, wanted, w->options.background);
  w->busy = 0;
  lh_arm(w);
  errno = os_errno;
}

static void note_failure(lh_watcher *w, const void *made, const void *block, size_t old_bytes,
                         size_t bytes) {
  if (!w->on || !w->options.out_of_memory || w->memory_taken || w->busy) {
    w->failed_bytes = 0;
    return;
  }
  bool again =
      w->failed_bytes == bytes && w->failed.block == block && w->failed.old_bytes == old_bytes;
  bool was_last = w->failed_bytes && !again; /* the failed request was not repeated */
  w->failed_bytes = 0;
  if (was_last) want(w, LH_WANT_MEMORY);
  if (made) {
    if (!atomic_load(&w->wanted)) lh_disarm(w);
  } else if (!again) {
    w->failed_bytes = bytes;
    w->room_bytes = 0; /* the next growth is checked */
    w->failed.block = (void *)(uintptr_t)block;
    w->failed.old_bytes = old_bytes;
    lh_arm(w);
  } else if (block && threads_has_stack(w, block)) {
    want(w, LH_WANT_MEMORY);
  } else {
    take_without_memory(w);
  }
}

/* Frees a thread's block, the main thread's the last of all, or another block of that size. */
static __attribute__((noinline)) void *free_thread(lh_watcher *w, void *block, size_t old_bytes) {
  lua_Alloc alloc = w->alloc;
  void *alloc_data = w->alloc_data;
  if (block) threads_died(w, block);
  if (block == w->main_block) lh_watch_end(w);
  return alloc(alloc_data, block, old_bytes, 0);
}

/* A thread is being made: nothing is armed until the next growth, which is its stack's. */
static void begin_thread(lh_watcher *w, void *block) {
  w->newborn = block;
  if (w->n_armed || w->plain_armed) lh_disarm(w);
  w->later_room_bytes = w->room_bytes;
  w->room_bytes = 0;
}

static void end_thread(lh_watcher *w, size_t bytes) {
  threads_born(w);
  w->room_bytes = atomic_load(&w->wanted) ? 0 : w->later_room_bytes - (int64_t)bytes;
}

/* A growth with extra work: a thread is new, a check is due, or the last growth failed. */
static __attribute__((noinline)) void *grow_block(lh_watcher *w, void *block, size_t old_bytes,
                                                  size_t bytes) {
  size_t more_bytes = bytes - (block ? old_bytes : 0);
  if (w->newborn) end_thread(w, more_bytes);
  if (w->on && w->options.at_exit) lh_renew_sentry(w);
  void *made = w->alloc(w->alloc_data, block, old_bytes, bytes);
  if (!made || w->failed_bytes) note_failure(w, made, block, old_bytes, bytes);
  if (!made) return NULL;
  if (w->room_bytes <= 0) look_whether_due(w, lh_gc_bytes(w->global) + more_bytes);
  if (!block && old_bytes == LUA_TTHREAD && bytes == w->thread_bytes) begin_thread(w, made);
  return made;
}

/* Without extra work it jumps to the host's function; it sees answers only if failures matter. */
static void *allocate_watched(void *data, void *block, size_t old_bytes, size_t bytes) {
  lh_watcher *w = data;
  size_t held_bytes = block ? old_bytes : 0; /* else old_bytes is the kind of object */
  if (LH_LUA == 505) w->held_bytes += (int64_t)bytes - (int64_t)held_bytes;
  if (bytes == 0) {
    if (RARE(old_bytes == w->thread_bytes || block == w->main_block))
      return free_thread(w, block, old_bytes);
  } else if (bytes > held_bytes) {
    w->room_bytes -= (int64_t)(bytes - held_bytes);
    if (RARE(w->room_bytes <= 0 || bytes == w->thread_bytes))
      return grow_block(w, block, old_bytes, bytes);
    if (w->options.out_of_memory) {
      void *made = w->alloc(w->alloc_data, block, old_bytes, bytes);
      if (RARE(!made)) note_failure(w, made, block, old_bytes, bytes);
      return made;
    }
  }
  return w->alloc(w->alloc_data, block, old_bytes, bytes);
}

bool lh_watch_is_installed(const lh_watcher *w) {
  return RAW_FIELD(w->global, RAW_GLOBAL_ALLOC, lua_Alloc) == allocate_watched &&
         RAW_FIELD(w->global, RAW_GLOBAL_ALLOC_DATA, void *) == w;
}

void lh_watch_install(lh_watcher *w) {
  if (w->installed) return; /* another function in front would call it in a circle */
  w->alloc = lua_getallocf(w->main_thread, &w->alloc_data);
  w->installed = true;
  lua_setallocf(w->main_thread, allocate_watched, w);
}

void lh_watch_install_again(lh_watcher *w) {
  void *data;
  lua_Alloc alloc = lua_getallocf(w->main_thread, &data);
  if (alloc == w->alloc && data == w->alloc_data) lh_watch_install(w);
}

static lh_watcher *watcher_in_front(lua_State *L) {
  void *data;
  return lua_getallocf(L, &data) == allocate_watched ? data : NULL;
}

lua_Alloc lh_get_host_alloc(lua_State *L, void **data) {
  const lh_watcher *w = watcher_in_front(L);
  if (!w) return lua_getallocf(L, data);
  *data = w->alloc_data;
  return w->alloc;
}

void lh_set_host_alloc(lua_State *L, lua_Alloc alloc, void *data) {
  void *data_before;
  lua_Alloc before = lh_get_host_alloc(L, &data_before);
  lh_watcher *front = watcher_in_front(L), *w = front ? front : lh_watcher_of(L);
  if (!front) lua_setallocf(L, alloc, data);
  if (!w || w->alloc != before || w->alloc_data != data_before) return;
  w->alloc = alloc;
  w->alloc_data = data;
}

void lh_hand_over_texts(const lh_layout *layout, const char *global, void *of, lua_Alloc alloc,
                        void *data) {
#if LH_LUA == 505
  for (const raw_object *o = raw_list(global, LH_LIST_ALLGC); o; o = o->next) {
    const raw_string *s = (const raw_string *)o;
    if (o->type != RAW_LONG_STRING || raw_kind_of_string(s) != RAW_STRING_EXTERNAL) continue;
    raw_string_body *body = (raw_string_body *)(uintptr_t)raw_body(layout, s);
    if (body->free_data != of) continue;
    memcpy(&body->free_text, &alloc, sizeof alloc);
    body->free_data = data;
  }
#else
  (void)layout, (void)global, (void)of, (void)alloc, (void)data;
#endif
}

void lh_watch_uninstall(lh_watcher *w) {
  if (!lh_watch_is_installed(w)) return;
  lua_setallocf(w->main_thread, w->alloc, w->alloc_data);
  lh_hand_over_texts(&w->layout, w->global, w, w->alloc, w->alloc_data);
  w->installed = false;
}
