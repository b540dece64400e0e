/*
** test_track_threads.c - tracking and OS threads: two states that are tracked in two of them; a
** state that moves from one to another; and states that are made in others with the allocation
** function of one that is tracked meanwhile; and forks while another one has a lock. Also for
** ThreadSanitizer (make check-tsan).
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "folder.h"
#include "rooms/all.h"
#include "track/stacks.h"

static const char work[] =
    "local keep = {}\n"
    "for i = 1, 2000 do\n"
    "  keep[i % 100] = {i, 's' .. i, function() return i end}\n"
    "  local co = coroutine.wrap(function(a) coroutine.yield({a}) return ('x'):rep(i) end)\n"
    "  keep[i % 100 + 100] = {co(i), co()}\n"
    "end collectgarbage()\n";

static const lh_track_options ways[] = {
    {.stacks = true}, {.pool = LH_POOL_NEVER, .stacks = true}, {.sample_bytes = 1 << 12}};
enum { N_WAYS = sizeof ways / sizeof *ways, STATES = 40 };

static lua_State *begin_tracked_thread(const lh_track_options *options) {
  lua_State *L = luaL_newstate();
  if (!L) abort();
  luaL_openlibs(L);
  if (lh_attach(L, NULL) < 0 || lh_track(L, options, NULL) < 0) abort();
  return L;
}

static void run_work(lua_State *L) {
  if (luaL_dostring(L, work)) abort();
  lua_settop(L, 0);
}

/* In a thread cmocka cannot fail. */
static void *run_own_state(void *options) {
  lua_State *L = begin_tracked_thread(options);
  for (int i = 0; i < 5; i++) {
    run_work(L);
    if (lh_untrack(L, NULL) < 0 || lh_track(L, options, NULL) < 0) abort();
  }
  lua_close(L);
  return NULL;
}

static void two_states_in_two_threads(void **state) {
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    pthread_t thread;
    void *options = (void *)(uintptr_t)&ways[i];
    assert_int_equal(pthread_create(&thread, NULL, run_own_state, options), 0);
    (void)run_own_state(options);
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
}

static void *run_given_state(void *L) {
  run_work(L);
  return NULL;
}

static void a_state_moves(void **state) {
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    lua_State *L = begin_tracked_thread(&ways[i]);
    for (int k = 0; k < 4; k++) {
      pthread_t thread;
      run_work(L);
      assert_int_equal(pthread_create(&thread, NULL, run_given_state, L), 0);
      assert_int_equal(pthread_join(thread, NULL), 0);
    }
    const lh_recorder *r = lh_recorder_of(L);
    uint64_t made = 0, unattributed = lh_recorder_counts(r, LH_STACK_UNATTRIBUTED).made_objects;
    for (lh_stack_id id = 1; id <= r->stacks->definitions.n_stacks; id++) {
      made += lh_recorder_counts(r, id).made_objects;
    }
    assert_true(unattributed * 1000 <= made);
    lua_close(L);
  }
}

typedef struct function {
  lua_Alloc alloc;
  void *data;
} function;

static void *make_states(void *given) {
  const function *f = given;
  for (int i = 0; i < STATES; i++) {
    lua_State *L = any_newstate(f->alloc, f->data);
    if (!L) abort();
    luaL_openlibs(L);
    if (luaL_dostring(L, "local t = {} for i = 1, 300 do t[i] = {'s' .. i} end")) abort();
    lua_close(L);
  }
  return NULL;
}

static void states_are_made_in_others(void **state) {
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    pthread_t threads[2];
    lua_State *L = begin_tracked_thread(&ways[i]);
    function f;
    f.alloc = lua_getallocf(L, &f.data);
    for (int k = 0; k < 2; k++) {
      assert_int_equal(pthread_create(&threads[k], NULL, make_states, &f), 0);
    }
    for (int k = 0; k < 10; k++) run_work(L);
    for (int k = 0; k < 2; k++) assert_int_equal(pthread_join(threads[k], NULL), 0);
    run_work(L);
    lua_close(L);
  }
}

/* ==== Forks ========================================================================= */

/* What a thread does instead of giving back its next lock: it waits, and then does. */
static _Thread_local bool keeps_lock;
static atomic_bool has_lock, may_give_back;

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock) {
  if (keeps_lock) {
    has_lock = true;
    while (!may_give_back) (void)usleep(1000);
    keeps_lock = false;
  }
  return __real_pthread_mutex_unlock(lock);
}

/* Each with a profile, which is completed at the end. */
static lua_State *begin_profile(const char *path) {
  return begin_tracked_thread(&(lh_track_options){.file = path});
}

static void *begin_with_lock(void *unused) {
  (void)unused;
  keeps_lock = true;
  lua_close(begin_profile("b"));
  return NULL;
}

/* A child does without what others have locked: it ends its profile, and begins one. */
static void a_child_is_forked_amid_a_change(void **state) {
  (void)state;
  enum { LONG_S = 60 };
  pthread_t thread;
  int status;
  lua_State *L = begin_profile("a");
  assert_int_equal(pthread_create(&thread, NULL, begin_with_lock, NULL), 0);
  while (!has_lock) (void)usleep(1000);
  pid_t child = fork();
  if (child == 0) {
    (void)alarm(LONG_S);
    lua_close(L);
    lua_close(begin_profile("c"));
    _exit(0);
  }
  may_give_back = true;
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  lua_close(L);
  for (const char *path = "abc"; *path; path++) assert_int_equal(unlink((char[]){*path, 0}), 0);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_states_in_two_threads),
                                     cmocka_unit_test(a_state_moves),
                                     cmocka_unit_test(states_are_made_in_others),
                                     cmocka_unit_test(a_child_is_forked_amid_a_change)};
  return folder_run(tests);
}
