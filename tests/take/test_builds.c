/*
** test_builds.c - lh_attach to builds of Lua that chose other limits: what is supported, and how
** the others are refused. Four functions of Lua's are replaced here to tell what such a build
** would. (`make test-release` runs on real ones.)
*/
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "any_lua.h"
#include "take/state.h"

/* ==== The build ===================================================================== */

static int other_maximum; /* added to the pseudo-index of the registry */
static size_t more_bytes; /* a new state counts more than what it has */
static bool has_floats, has_long_doubles, has_ints;
static lua_Alloc true_alloc;

LUA_API int lua_absindex(lua_State *L, int index) {
  if (index <= LUA_REGISTRYINDEX + other_maximum || index > 0) return index;
  return lua_gettop(L) + index + 1;
}

/* Hands on that Lua wants more for a thread than it counts. */
static void *ask_for_more(void *data, void *block, size_t old_bytes, size_t bytes) {
  if (!block && old_bytes == LUA_TTHREAD) bytes += more_bytes;
  return true_alloc(data, block, old_bytes, bytes);
}

/* In 5.5 with a third parameter, a seed. */
#if LUA_VERSION_NUM == 504
#define NEW_STATE(name) lua_State *name(lua_Alloc alloc, void *data)
#define SEED
#else
#define NEW_STATE(name) lua_State *name(lua_Alloc alloc, void *data, unsigned seed)
#define SEED , seed
#endif
LUA_API NEW_STATE(lua_newstate) {
  NEW_STATE((*next)) = NULL;
  void *symbol = dlsym(RTLD_NEXT, "lua_newstate");
  memcpy(&next, &symbol, sizeof next);
  if (!more_bytes) return next(alloc, data SEED);
  true_alloc = alloc;
  return next(ask_for_more, data SEED);
}

LUA_API size_t lua_stringtonumber(lua_State *L, const char *text) {
  char *end;
  bool is_float = strchr(text, 'e') || (has_ints && strtoll(text, &end, 10) > INT32_MAX);
  double number = strtod(text, &end);
  if (!is_float)
    lua_pushinteger(L, strtoll(text, &end, 10));
  else if (has_long_doubles)
    lua_pushstring(L, text); /* so that all differ */
  else
    lua_pushnumber(L, has_floats ? (double)(float)number : number);
  return strlen(text) + 1;
}

LUA_API lua_Number lua_version(lua_State *L) {
  (void)L;
  if (has_floats || has_long_doubles || has_ints) abort(); /* what it returns could not be read */
  return LUA_VERSION_NUM;
}

/* ==================================================================================== */

static void *allocate_plainly(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)data, (void)old_bytes;
  if (bytes > 0) return realloc(block, bytes);
  free(block);
  return NULL;
}

static lua_State *new_build_state(void) {
  more_bytes = 0;
  other_maximum = 0;
  lua_State *L = any_newstate(allocate_plainly, NULL);
  assert_non_null(L);
  return L;
}

static void attach_is_refused(lua_State *L, const char *what) {
  lh_error error;
  size_t count = (size_t)lua_gc(L, LUA_GCCOUNT, 0);
  assert_int_equal(lh_attach(L, &error), LH_EHOST);
  if (!strstr(error.message, what)) fail_msg("'%s' does not say '%s'", error.message, what);
  assert_int_equal(lua_gettop(L), 0);
  assert_in_range((size_t)lua_gc(L, LUA_GCCOUNT, 0), count, count + 1);
  more_bytes = 0;
  other_maximum = 0;
  has_floats = has_long_doubles = has_ints = false;
  if (lh_attach(L, &error) < 0) fail_msg("%s", error.message);
  lua_close(L);
}

static void refuses_another_place_of_the_registry(void **state) {
  (void)state;
  lua_State *L = new_build_state();
  other_maximum = 985000; /* LUAI_MAXSTACK = 15000 */
  attach_is_refused(L, "another LUAI_MAXSTACK");
  L = new_build_state();
  other_maximum = -1000;
  attach_is_refused(L, "another LUAI_MAXSTACK");
}

static void refuses_other_numbers(void **state) {
  (void)state;
  lua_State *L = new_build_state();
  has_floats = has_ints = true; /* LUA_32BITS */
  attach_is_refused(L, "whose floats are double; this one's have 4 and are float");
  L = new_build_state();
  has_floats = true;
  attach_is_refused(L, "this one's have 8 and are float");
  L = new_build_state();
  has_long_doubles = true;
  attach_is_refused(L, "this one's have 8 and are long double");
  L = new_build_state();
  has_ints = true;
  attach_is_refused(L, "this one's have 4 and are double");
}

static void refuses_what_does_not_add_up(void **state) {
  (void)state;
  lua_State *L = new_build_state();
  more_bytes = 8;
  attach_is_refused(L, "the objects of a new state of this one have ");
}

/* Sizes are those of the layout where a build chose nothing, as Debian's. */
static void measures_what_the_layout_says(void **state) {
  (void)state;
  lua_State *L = new_build_state();
  lh_error error;
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  lh_layout layout = lh_find_state(L, &error)->layout;
  size_t thread = layout.thread_bytes, main_thread = layout.main_thread_bytes;
  layout.thread_bytes = layout.main_thread_bytes = 0;
  assert_int_equal(lh_measure_layout(&layout, &error), LH_OK);
  assert_int_equal(layout.thread_bytes, thread);
  assert_int_equal(layout.main_thread_bytes, main_thread);
  lua_close(L);
}

static void fails_where_there_is_no_memory_for_it(void **state) {
  (void)state;
  size_t failed = 0;
  lh_error error;
  lua_State *L = new_build_state();
  (void)lh_attach(L, NULL);
  lh_layout layout = lh_find_state(L, &error)->layout;
  for (uint64_t n = 1;; n++, failed++) {
    lh_layout tried = layout;
    (void)lh_test_fail_allocation(n);
    int rc = lh_measure_layout(&tried, &error);
    (void)lh_test_fail_allocation(0);
    if (rc == LH_OK) break;
    assert_int_equal(rc, LH_EMEMORY);
  }
  assert_in_range(failed, 5, 1000);
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_another_place_of_the_registry),
      cmocka_unit_test(refuses_other_numbers),
      cmocka_unit_test(refuses_what_does_not_add_up),
      cmocka_unit_test(measures_what_the_layout_says),
      cmocka_unit_test(fails_where_there_is_no_memory_for_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
