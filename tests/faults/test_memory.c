/*
** test_memory.c - memory runs out under the writing half, at each allocation in turn: the library's
** own, and those that Lua asks its host for. Nothing raises an error that nobody catches, nothing
** is lost or left behind, and once there is memory again all works.
*/
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "any_lua.h"
#include "base.h"
#include "scene.h"

/* ==== The host's allocator ========================================================== */

typedef struct allocator {
  size_t calls;       /* for new or bigger blocks */
  size_t first, last; /* which of them fail, counted from 1; 0: none */
} allocator;

static void *allocate_by_plan(void *data, void *block, size_t old_size, size_t size) {
  allocator *a = data;
  if (size == 0) {
    free(block);
    return NULL;
  }
  if (!block || size > old_size) {
    a->calls++;
    if (a->first && a->calls >= a->first && a->calls <= a->last) return NULL;
  }
  return realloc(block, size);
}

static void plan(allocator *a, size_t first, size_t last) {
  *a = (allocator){.first = first, .last = last};
}

static int panic(lua_State *L) {
  fail_msg("an error that nobody caught: %s", lua_tostring(L, -1));
  return 0;
}

/* A heap in the middle of a collection, which an emergency collection would end. */
static lua_State *new_host(allocator *a) {
  plan(a, 0, 0);
  lua_State *L = any_newstate(allocate_by_plan, a);
  assert_non_null(L);
  lua_atpanic(L, panic);
  luaL_requiref(L, "_G", luaopen_base, 1);
  lua_settop(L, 0);
  assert_int_equal(luaL_dostring(L, "t = {} for i = 1, 300 do t[i] = {i, tostring(i)} end"),
                   LUA_OK);
  lua_gc(L, LUA_GCSTEP, 1);
  return L;
}

/* ==== The calls ===================================================================== */

static size_t swallow(const void *data, size_t n, void *payload) {
  (void)data, (void)payload;
  return n;
}

static int attach(lua_State *L, lh_error *error) {
  return lh_attach(L, error);
}

static int take_snapshot(lua_State *L, lh_error *error) {
  return scene_take(L, "a", false, error);
}

static int stream(lua_State *L, lh_error *error) {
  return lh_stream_snapshot(L, "s", swallow, NULL, NULL, NULL, error);
}

static int background(lua_State *L, lh_error *error) {
  return scene_take(L, "a", true, error);
}

static int mark(lua_State *L, lh_error *error) {
  return lh_mark(L, "m", 1, error);
}

static int mark_period(lua_State *L, lh_error *error) {
  return lh_mark_period(L, NULL, error);
}

static int push_userdata(lua_State *L, lh_error *error) {
  error->code = LH_OK;
  if (!lh_push_userdata(L, "", 8, error)) return error->code;
  lua_pop(L, 1);
  return LH_OK;
}

static const struct call {
  const char *name;
  int (*call)(lua_State *L, lh_error *error);
  bool writes, allocates; /* the file "a"; memory of our own */
} calls[] = {
    {"take", take_snapshot, true, true},           {"stream", stream, false, true},
    {"background", background, true, true},        {"mark", mark, false, false},
    {"mark by period", mark_period, false, false}, {"userdata", push_userdata, false, false},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* ==================================================================================== */

static void expect_no_memory(lua_State *L, const struct call *c, int rc, const lh_error *error) {
  assert_int_equal(rc, LH_EMEMORY);
  assert_int_equal(error->code, LH_EMEMORY);
  assert_non_null(strstr(error->message, "not enough memory while "));
  assert_int_equal(lua_gettop(L), 0);
  if (c->writes) assert_true(scene_is_older(true));
  assert_int_equal(scene_count_strays(), 0);
}

static void survives_its_own_lack(void **state) {
  size_t cases = 0;
  lua_State *L = *state;
  for (int i = 0; i < CALLS; i++) {
    uint64_t n;
    for (n = 1;; n++, cases++) {
      lh_error error = {0};
      scene_set_older(true);
      size_t descriptors = scene_count_descriptors();
      (void)lh_test_fail_allocation(n);
      int rc = calls[i].call(L, &error);
      (void)lh_test_fail_allocation(0);
      assert_int_equal(scene_count_descriptors(), descriptors);
      if (rc == LH_OK) break;
      expect_no_memory(L, &calls[i], rc, &error);
    }
    assert_int_equal(n > 1, calls[i].allocates);
    if (calls[i].writes) assert_true(scene_is_whole("a"));
  }
  (void)printf("faults: an allocation of the library fails: %zu cases, %zu survived\n", cases,
               cases);
}

/* A coroutine, anchored on L's stack, that has so few slots left that a call needs a longer one. */
static lua_State *push_full_thread(lua_State *L) {
  enum { FILLED = 36 };
  lua_State *thread = lua_newthread(L);
  assert_true(lua_checkstack(thread, FILLED));
  for (int i = 0; i < FILLED; i++) lua_pushinteger(thread, i);
  return thread;
}

/* One allocation of Lua's fails, or all from it on. Returns how many there are. */
static size_t fail_of_lua(lua_State *L, allocator *a, const struct call *c, bool rest, bool full) {
  for (size_t n = 1;; n++) {
    lh_error error = {0};
    scene_set_older(true);
    lua_State *caller = full ? push_full_thread(L) : L;
    int top = lua_gettop(caller);
    plan(a, n, rest ? SIZE_MAX : n);
    int rc = c->call(caller, &error);
    bool reached = a->calls >= n;
    plan(a, 0, 0);
    assert_int_equal(lua_gettop(caller), top);
    lua_settop(L, 0);
    if (rc == LH_OK && reached) continue; /* Lua had a second try */
    if (rc == LH_OK) {
      assert_true(!c->writes || scene_is_whole("a"));
      return n - 1;
    }
    expect_no_memory(L, c, rc, &error);
  }
}

static void survives_a_host_without_memory(void **state) {
  (void)state;
  static const struct call attaching = {"attach", attach, false, false};
  allocator a;
  size_t cases = 0;
  for (int mode = LUA_GCGEN; mode <= LUA_GCINC; mode++) {
    lua_State *L = new_host(&a);
    lua_gc(L, mode, 0, 0, 0);
    cases += fail_of_lua(L, &a, &attaching, true, false);
    for (int i = 0; i < CALLS; i++) {
      for (int k = 0; k < 4; k++) cases += fail_of_lua(L, &a, &calls[i], k & 1, k & 2);
    }
    lua_close(L);
  }
  (void)printf("faults: an allocation of Lua's host fails: %zu cases, %zu survived\n", cases,
               cases);
}

/* ==== The module ==================================================================== */

int luaopen_heap(lua_State *L);

/* Runs a chunk under a plan; false when it ran out of memory, as a Lua error or as a result. */
static bool run_by_plan(lua_State *L, allocator *a, const char *chunk, size_t n, bool rest) {
  assert_int_equal(luaL_loadstring(L, chunk), LUA_OK);
  plan(a, n, rest ? SIZE_MAX : n);
  int rc = lua_pcall(L, 0, 1, 0);
  bool reached = a->calls >= n;
  plan(a, 0, 0);
  if (rc != LUA_OK) assert_non_null(strstr(lua_tostring(L, -1), "not enough memory"));
  lua_settop(L, 0);
  return !reached;
}

/* Drops the jobs: collections reap their children, sooner or later. */
static void drop_jobs(lua_State *L) {
  siginfo_t info;
  const struct timespec nap = {.tv_nsec = 1000000};
  lua_gc(L, LUA_GCCOLLECT);
  for (int i = 0; waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0; i++) {
    assert_true(i < 10000);
    (void)nanosleep(&nap, NULL);
    lua_gc(L, LUA_GCCOLLECT);
  }
  assert_int_equal(errno, ECHILD);
}

static void the_module_survives_it(void **state) {
  static const char *const chunks[] = {
      "heap = open()",
      "heap.snapshot('a')",
      "assert(heap.snapshot('a', {background = true})):wait()",
      "heap.snapshot('a', {background = true})",
      "heap.mark('m')",
      "heap.mark()",
      "heap.snapshot('nosuch/a')",
      "heap.sizeof({})",
      "heap.path(t[7])",
      "heap.paths(t, 3)",
      "heap.referrers(t[7])",
      "heap.retained(t)",
      "heap.count('class')",
      "heap.classes(5)",
      "heap.top(5)",
      "heap.since('m')",
      "heap.diff(function() u = {} end)",
      "heap.each(function(o) u = {o} end)",
      "heap.objects('table')",
      "local s = heap.capture() s:path(t) s:object('_G.t') s:close()",
      "local s = heap.capture() assert(s:object(t).value == t) s:close()",
      "local s = heap.capture() s:count() s:suspects() s:modules()",
      "heap.diff(function() heap.diff(function() u = {} end) end)"};
  (void)state;
  allocator a;
  size_t cases = 0;
  lua_State *L = new_host(&a);
  lua_register(L, "open", luaopen_heap);
  for (int i = 0; i < 2 * (int)(sizeof chunks / sizeof chunks[0]); i++) {
    for (size_t n = 1;; n++, cases++) {
      scene_set_older(true);
      size_t descriptors = scene_count_descriptors();
      bool done = run_by_plan(L, &a, chunks[i / 2], n, i % 2);
      drop_jobs(L);
      assert_int_equal(scene_count_descriptors(), descriptors);
      assert_int_equal(scene_count_strays(), 0);
      assert_true(scene_is_older(true) || scene_is_whole("a"));
      if (done) break;
    }
  }
  lua_close(L);
  assert_true(cases > 50);
  (void)printf("faults: an allocation of Lua fails under the module: %zu cases, %zu survived\n",
               cases, cases);
}

/* What the live calls take outside of Lua's heap fails in turn. */
static void the_live_calls_survive_their_own_lack(void **state) {
  static const char *const chunks[] = {"heap.path(t[7])",
                                       "heap.paths(v or t, 3)",
                                       "heap.referrers(t[7])",
                                       "heap.count()",
                                       "heap.classes(5)",
                                       "heap.diff(function() u = {} end)",
                                       "heap.each(print or t)",
                                       "heap.paths(t[7], 9)",
                                       "heap.top(5)",
                                       "heap.objects('table')",
                                       ("local s <close> = heap.capture() "
                                        "assert(tostring(s:top(3)) == tostring(s:top(3)))")};
  (void)state;
  allocator a;
  size_t cases = 0;
  lua_State *L = new_host(&a);
  lua_register(L, "open", luaopen_heap);
  assert_int_equal(luaL_dostring(L, "heap = open() print = function() end"), LUA_OK);
  for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
    for (uint64_t n = 1;; n++, cases++) {
      (void)lh_test_fail_allocation(n);
      int rc = luaL_dostring(L, chunks[i]);
      bool done = lh_test_fail_allocation(0) < n;
      if (rc != LUA_OK) assert_non_null(strstr(lua_tostring(L, -1), "not enough memory"));
      if (done) assert_int_equal(rc, LUA_OK);
      lua_settop(L, 0);
      if (done) break;
    }
  }
  lua_getglobal(L, "heap");
  lua_getfield(L, -1, "stats");
  lua_call(L, 0, 1);
  lua_getfield(L, -1, "epochs");
  assert_int_equal(lua_rawlen(L, -1), 1); /* no mark stays */
  lua_close(L);
  assert_true(cases > 200);
  (void)printf("faults: an allocation under the live calls fails: %zu cases, %zu survived\n", cases,
               cases);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(survives_its_own_lack, scene_set_up, scene_tear_down),
      cmocka_unit_test_setup_teardown(survives_a_host_without_memory, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(the_module_survives_it, scene_set_up, scene_tear_down),
      cmocka_unit_test(the_live_calls_survive_their_own_lack)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
