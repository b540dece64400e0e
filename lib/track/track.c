/*
** track.c - the life of a recorder.
**
** The first lh_track of a state makes the recorder, which may be stopped and started again. Only
** the recorder can free its blocks. So it lives until lua_close frees the last block, that of the
** main thread, or until lh_untrack finds no living block. lua_close begins with finalizers, among
** them that of our userdata. It stops the recorder, so that the frees at the end of the state are
** no events.
**
**     registry[&key] --> userdata --> the recorder
**     allocation function's data  --> the recorder
**
** The program may remove the first reference with its debug library, and the second with a function
** of its own. So lh_recorder_of tries both.
*/
#include <sys/resource.h>

#include "allocate.h"
#include "pool.h"
#include "profile.h"
#include "take/watch.h"

/* ==== Profiles of states that nobody closes ======================================== */

/* os.exit() ends the process without closing the state: a function of atexit completes the profiles
** of this list. But a signal handler that calls exit() may have interrupted malloc, or a change of
** ours: then a profile stays as it was last written. (The library keeps one other thing for the
** whole process, in lib/take/watch_signal.c.)
**
** A fork may happen while another thread of the process has the lock. Nobody would release it in
** the child, so the child makes a new lock. The list is whole at any instant, since one store
** changes it. The list is not locked before a fork: a signal handler may fork in the thread that
** has the lock. */

static struct {
  pthread_mutex_t lock;
  lh_recorder *first;
  bool is_heard; /* the function of atexit is registered */
} open_profiles = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void complete_profile(lh_recorder *r) {
  lh_error error;
  int rc = lh_profile_end(r->profile, &error);
  r->profile = NULL;
  if (rc < 0 && r->report) r->report(error.message, r->log ? r->log : "");
}

static bool is_in_handler(const lh_recorder *r) {
  static const char message[] = "the program ends in a signal handler: the profile has no end";
  bool is = lh_is_in_handler(&r->profile->usual_mask);
  if (is && r->report) r->report(message, r->log ? r->log : "");
  return is;
}

static void on_exit_of_process(void) {
  if (pthread_mutex_trylock(&open_profiles.lock) != 0)
    return; /* a signal handler interrupted a change */
  for (lh_recorder *r = open_profiles.first; r; r = r->next_open) {
    if (!r->running || r->running->owner != lh_os_thread() || is_in_handler(r)) continue;
    if (r->calls) lh_calls_complete(r->calls);
    complete_profile(r);
  }
  open_profiles.first = NULL;
  (void)pthread_mutex_unlock(&open_profiles.lock);
}

static void on_fork_of_process(void) {
  (void)pthread_mutex_init(&open_profiles.lock, NULL);
}

/* From now on exit() completes r->profile, if the OS thread of the state calls it; another must not
** touch the profile. Without memory for this the last second of the profile is lost. */
static void complete_at_exit(lh_recorder *r) {
  (void)pthread_mutex_lock(&open_profiles.lock);
  if (!open_profiles.is_heard)
    open_profiles.is_heard =
        pthread_atfork(NULL, NULL, on_fork_of_process) == 0 && atexit(on_exit_of_process) == 0;
  r->next_open = open_profiles.first;
  __atomic_store_n(&open_profiles.first, r, __ATOMIC_RELEASE);
  (void)pthread_mutex_unlock(&open_profiles.lock);
}

static void forget_at_exit(lh_recorder *r) {
  (void)pthread_mutex_lock(&open_profiles.lock);
  lh_recorder **at = &open_profiles.first;
  while (*at && *at != r) at = &(*at)->next_open;
  if (*at) *at = r->next_open;
  (void)pthread_mutex_unlock(&open_profiles.lock);
}

/* ==== Finding the recorder ========================================================== */

static const char registry_key = 0;

static bool is_our_alloc(lua_Alloc alloc) {
  return alloc == lh_allocate_in_pool || alloc == lh_allocate_with_trailer ||
         alloc == lh_allocate_by_host;
}

/* In the registry, also one that has left. */
static lh_recorder *registered_recorder(lua_State *L) {
  const lh_handle *h = lh_find_handle(L, &registry_key);
  return h ? h->of : NULL;
}

lh_recorder *lh_recorder_of(lua_State *L) {
  void *data;
  lua_Alloc alloc = lh_get_host_alloc(L, &data);
  if (is_our_alloc(alloc)) return data;
  lh_recorder *r = registered_recorder(L);
  return r && !r->has_left ? r : NULL;
}

bool lh_recorder_is_in_front(const lh_recorder *r) {
  void *data;
  return is_our_alloc(lh_get_host_alloc(r->main_thread, &data)) && data == r;
}

/* ==== Making a recorder ============================================================= */

/* Call it after the profile is completed: the profile reads `calls`. */
static void free_parts(lh_recorder *r) {
  lh_calls_free(r->calls);
  lh_running_free(r->running);
  lh_free(r->position);
  r->calls = NULL;
  r->running = NULL;
  r->position = NULL;
}

static void free_recorder(lh_recorder *r) {
  free_parts(r);
  lh_stacks_free(r->stacks);
  lh_pool_free(r->pool);
  lh_blocks_free(r->blocks);
  lh_free(r->log);
  lh_free(r);
}

/* Is the host's function that of luaL_newstate, as in nearly all programs? */
static bool is_standard(const lh_recorder *r) {
  void *data = NULL;
  lua_State *other = luaL_newstate ? luaL_newstate() : NULL;
  lua_Alloc alloc = other ? lua_getallocf(other, &data) : NULL;
  if (other) lua_close(other);
  return alloc && alloc == r->alloc && data == r->alloc_data;
}

/* A pool needs many addresses, and little else. */
static bool has_limited_addresses(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static bool may_pool(const lh_recorder *r, const lh_track_options *options) {
  if (options->pool != LH_POOL_IF_STANDARD) return options->pool == LH_POOL_ALWAYS;
  return !options->sample_bytes && !has_limited_addresses() && is_standard(r);
}

/* A watcher that is hidden by another function must see the sizes that Lua gives. */
static bool may_have_trailers(lua_State *L, const lh_track_options *options) {
  void *data;
  bool is_watched = lh_watchers_find(L) != NULL;
  bool is_behind = lh_get_host_alloc(L, &data) != lua_getallocf(L, &data);
  return !options->sample_bytes && (!is_watched || is_behind);
}

/* A watcher's block of the state, which no object has. False: no memory. */
static bool add_reserve(lua_State *L, lh_recorder *r) {
  const lh_watcher *w = lh_watchers_find(L);
  const void *block = w ? w->state_reserve : NULL;
  return !block || lh_blocks_find(r->blocks, block) ||
         lh_blocks_add(r->blocks, block, (lh_life){0});
}

/* False: no memory. */
static bool renew_blocks(lh_recorder *r) {
  lh_blocks_free(r->blocks);
  lh_blocks *blocks = lh_blocks_new();
  r->blocks = blocks ? blocks : lh_blocks_none();
  return blocks != NULL;
}

/* Chooses where the lives of blocks are kept (allocate.h). False: no memory. */
static bool choose_allocation(lua_State *L, lh_recorder *r, const lh_track_options *options) {
  if (!renew_blocks(r)) return false;
  r->function = lh_allocate_by_host;
  r->is_brief = options->brief;
  if (r->is_brief) return true;
  if (may_pool(r, options) && (r->pool = lh_pool_new())) {
    r->function = lh_allocate_in_pool;
  } else if (options->pool == LH_POOL_ALWAYS) {
    return false;
  } else if (may_have_trailers(L, options)) {
    if (lh_blocks_add_all(r) && add_reserve(L, r)) {
      r->function = lh_allocate_with_trailer;
      return true;
    }
    return renew_blocks(r);
  }
  return true;
}

/* One that has left is used again: C code may have kept its address. */
static lh_recorder *new_recorder(lua_State *L, const lh_state *state) {
  lh_recorder *r = registered_recorder(L);
  if (r)
    memset(r, 0, sizeof *r);
  else
    r = lh_alloc_zeroed(1, sizeof *r);
  if (!r) return NULL;
  r->blocks = lh_blocks_none();
  r->layout = state->layout;
  r->state_id = state->own.state_id;
  memcpy(r->release, state->release, sizeof r->release);
  r->global = lh_global_state(L);
  r->main_thread = (lua_State *)(uintptr_t)raw_main_thread(&r->layout, r->global);
  r->main_block = (void *)(uintptr_t)raw_main_block(&r->layout, r->global);
  r->alloc = lh_get_host_alloc(L, &r->alloc_data);
  r->random = lh_random_seed() | 1;
  r->left_bytes = INT64_MAX / 2;
  r->clock_base = r->left_bytes;
  return r;
}

/* May raise "not enough memory". Argument: the recorder. */
static int make_handle(lua_State *L) {
  lh_make_handle(L, &registry_key, 0)->of = lua_touserdata(L, 1);
  return 0;
}

static int set_handle(lua_State *L, lh_recorder *r, lh_error *error) {
  lh_handle *h = lh_find_handle(L, &registry_key);
  if (h) {
    h->of = r;
    return LH_OK;
  }
  return lh_call_protected(L, make_handle, r, "starting to track a Lua state", error);
}

/* ==== Starting and stopping ========================================================= */

/* C code may have kept our function and its data, and a string of 5.5 a function of the host in
** front of ours. So the recorder passes calls on for as long as the state lives, if it can be found
** again. */
static void leave_or_free(lua_State *L, lh_recorder *r) {
  if (registered_recorder(L) != r) {
    free_recorder(r);
    return;
  }
  free_parts(r);
  lh_stacks_free(r->stacks);
  lh_pool_free(r->pool);
  lh_blocks_free(r->blocks);
  lh_free(r->log);
  r->stacks = NULL;
  r->pool = NULL;
  r->blocks = lh_blocks_none();
  r->log = NULL;
  r->function = lh_allocate_by_host;
  r->has_left = true;
}

/* Removes our function, if it is in front and no block of ours lives. Strings of 5.5 may keep our
** function: their texts are the host's blocks, unchanged. */
static void leave_state(lua_State *L, lh_recorder *r) {
  bool has_trailers = r->function == lh_allocate_with_trailer;
  bool is_empty = has_trailers ? r->n_live == 0 : r->is_brief || r->blocks->index.n == 0;
  if (r->pool && lh_pool_count(r->pool) > 0) is_empty = false;
  if (!lh_recorder_is_in_front(r) || !is_empty) return;
  lh_set_host_alloc(L, r->alloc, r->alloc_data);
  lh_hand_over_texts(&r->layout, r->global, r, r->alloc, r->alloc_data);
  leave_or_free(L, r);
}

/* L is NULL if the state is already freed. The profile is completed later. */
static void stop(lua_State *L, lh_recorder *r) {
  uint64_t now = lh_clock_bytes(r);
  if (L && r->was_incremental) (void)lua_gc(L, LUA_GCINC, 0, 0, 0);
  if (r->calls && L) lh_calls_stop(r->calls);
  if (r->calls) lh_calls_complete(r->calls);
  r->records = r->was_incremental = false;
  r->told = 0;
  r->left_bytes = INT64_MAX / 2;
  r->clock_base = (int64_t)now + r->left_bytes;
  forget_at_exit(r);
}

/* LH_EIO: the profile could not be written. */
static int stop_now(lua_State *L, lh_recorder *r, lh_error *error) {
  stop(L, r);
  int rc = lh_profile_end(r->profile, error);
  r->profile = NULL;
  free_parts(r);
  return rc;
}

static void stop_at_end(lua_State *L, lh_recorder *r) {
  stop(L, r);
  complete_profile(r);
  free_parts(r);
}

/* Starts the clock at a whole unit of births. A reader of the profile counts from zero, and
** computes the birth of a block from its age. So its units begin where ours begin. */
static uint64_t next_unit(uint64_t clock) {
  uint64_t unit = (uint64_t)1 << LH_BIRTH_SHIFT;
  return (clock + unit - 1) / unit * unit;
}

static void begin_records(lh_recorder *r) {
  uint64_t now = next_unit(lh_clock_bytes(r));
  enum { ALWAYS_TOLD = 1 << RAW_THREAD | 1 << RAW_PROTO, ALL_TOLD = 0xFFFF };
  r->exact_next = now + r->exact_bytes;
  bool tells_all = r->profile || r->sample_bytes || r->exact_bytes;
  r->told = tells_all ? ALL_TOLD : ALWAYS_TOLD;
  r->left_bytes = r->sample_bytes ? lh_sample_distance(&r->random, r->sample_bytes) : -(int64_t)1;
  r->clock_base = (int64_t)now + r->left_bytes;
  r->records = true;
}

static int begin_profile(lh_recorder *r, const lh_track_options *options, lh_error *error) {
  lh_profile_options of_file = {.path = options->file,
                                .is_aggregate = options->aggregate,
                                .is_live = options->live,
                                .has_stacks = r->has_stacks,
                                .sample_bytes = r->sample_bytes,
                                .state_id = r->state_id,
                                .start_bytes = lh_gc_bytes(r->global),
                                .release = r->release,
                                .definitions = &r->stacks->definitions,
                                .calls = r->calls,
                                .counts = lh_calls_counts};
  int rc = lh_profile_begin(&r->profile, &of_file, error);
  if (rc == LH_OK) complete_at_exit(r);
  return rc;
}

static bool keep_report(lh_recorder *r, const lh_track_options *options) {
  r->report = options->report;
  lh_free(r->log);
  r->log = options->log ? lh_copy_text(options->log) : NULL;
  return r->log || !options->log;
}

static int start(lua_State *L, lh_recorder *r, const lh_track_options *options, lh_error *error) {
  r->has_stacks = options->stacks;
  r->sample_bytes = options->sample_bytes;
  r->exact_bytes = options->exact_bytes;
  bool changes = r->exact_bytes && !r->layout.may_dangle; /* 5.4.0 follows freed objects */
  if (!r->stacks) r->stacks = lh_stacks_new(r);
  if (!r->stacks) return lh_fail_memory(error, "starting to track a Lua state");
  /* A full collection: threads and functions are noted afterwards. */
  r->was_incremental = changes && lua_gc(L, LUA_GCGEN, 0, 0) == LUA_GCINC;
  if (lh_recorder_of(L) != r || r->records)
    return lh_fail(error, LH_EARGUMENT, "a finalizer has begun or ended to track this state");
  r->running = lh_running_new(r, L);
  r->position = lh_position_new(r);
  if (!keep_report(r, options) || !r->running || !r->position)
    return lh_fail_memory(error, "starting to track a Lua state");
  r->learns = true;
  lh_position_calibrate(r, L);
  r->learns = false;
  lh_stacks_begin(r->stacks);
  int rc = options->time ? lh_calls_start(r, &r->calls, error) : LH_OK;
  if (rc == LH_OK && (options->file || options->live)) rc = begin_profile(r, options, error);
  if (rc == LH_OK) begin_records(r);
  return rc;
}

/* Puts our function in place. choose_way comes last: then our function sees all later requests. */
static int install(lua_State *L, const lh_state *state, const lh_track_options *options,
                   lh_recorder **out, lh_error *error) {
  lh_recorder *r = new_recorder(L, state);
  if (!r) return lh_fail_memory(error, "starting to track a Lua state");
  int rc = set_handle(L, r, error);
  if (rc == LH_OK && !choose_allocation(L, r, options))
    rc = lh_fail_memory(error, "starting to track a Lua state");
  if (rc == LH_OK) {
    lh_set_host_alloc(L, r->function, r);
    *out = r;
  } else {
    leave_or_free(L, r);
  }
  return rc;
}

int lh_track(lua_State *L, const lh_track_options *options, lh_error *error) {
  static const lh_track_options defaults;
  if (!options) options = &defaults;
  if (!lua_checkstack(L, 8)) return lh_fail_memory(error, "starting to track a Lua state");
  lh_state *state = lh_find_state(L, error);
  if (!state) return LH_EARGUMENT;
  lh_recorder *r = lh_recorder_of(L);
  if (r && r->records) return lh_fail(error, LH_EARGUMENT, "this Lua state is tracked already");
  int rc = r ? LH_OK : install(L, state, options, &r, error);
  if (rc < 0) return rc;
  rc = start(L, r, options, error);
  if (rc == LH_OK) return rc;
  (void)stop_now(L, r, NULL);
  leave_state(L, r);
  return rc;
}

int lh_untrack(lua_State *L, lh_error *error) {
  lh_recorder *r = lh_recorder_of(L);
  if (!r) return LH_OK;
  int rc = stop_now(L, r, error);
  leave_state(L, r);
  return rc;
}

/* The state closes: our function is put back, to see the main thread's block freed. If another
** function is there, the recorder is never freed. */
static void see_the_end(lua_State *L, lh_recorder *r) {
  void *data;
  lua_Alloc alloc = lh_get_host_alloc(L, &data);
  if (alloc == r->alloc && data == r->alloc_data) lh_set_host_alloc(L, r->function, r);
}

void lh_recorder_finalize(lua_State *L) {
  const lh_handle *h = lh_test_own(L, 1, &registry_key);
  lh_recorder *r = h ? h->of : NULL;
  if (r && r->records) stop_at_end(L, r);
  if (r && r->has_left) see_the_end(L, r);
}

void *lh_recorder_end(lh_recorder *r, void *block, size_t old_bytes) {
  lua_Alloc alloc = r->alloc;
  void *alloc_data = r->alloc_data;
  stop_at_end(NULL, r);
  free_recorder(r);
  return alloc(alloc_data, block, old_bytes, 0);
}

/* ==== Calls of other parts ========================================================== */

const void *lh_recorder_begin_own(lua_State *L) {
  lh_recorder *r = lh_recorder_of(L);
  if (!r || !r->records) return NULL;
  const char *before = r->running->thread;
  r->running->own = r->running->thread = (const char *)L;
  return before;
}

void lh_recorder_end_own(lua_State *L, const void *before) {
  lh_recorder *r = lh_recorder_of(L);
  if (!before || !r || !r->records) return;
  r->running->own = NULL;
  r->running->thread = before;
}
