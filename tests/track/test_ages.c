/*
** test_ages.c - the recorder's clock, which counts the bytes that were asked for, and ages by it.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "luaheap.h"
#include "track/allocate.h"

enum { MOST_BYTES = 1 << 26 };

/* Refuses what is too big, as the system does. */
static void *allocate(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)data;
  (void)old_bytes;
  if (bytes > MOST_BYTES) return NULL;
  if (bytes > 0) return realloc(block, bytes);
  free(block);
  return NULL;
}

static const lh_track_options ways[] = {
    {.pool = LH_POOL_ALWAYS},
    {.pool = LH_POOL_NEVER},
    {.sample_bytes = 1},
    {.sample_bytes = 1 << 10},
    {.pool = LH_POOL_ALWAYS, .sample_bytes = 1 << 10},
    {.brief = true},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static lua_State *begin(void) {
  lua_State *L = lua_newstate(allocate, NULL);
  assert_non_null(L);
  luaL_openlibs(L);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  return L;
}

static lh_recorder *begin_tracked(const lh_track_options *way, lua_State **L) {
  *L = begin();
  assert_int_equal(lh_track(*L, way, NULL), LH_OK);
  return (lh_recorder *)(uintptr_t)lh_recorder_of(*L);
}

static void run(lua_State *L, const char *program) {
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

/* {=== Requests that nobody can meet ================================================= */

static const char busy[] = "local t = {} for i = 1, 2000 do t[i] = {'x' .. i} end";

static const size_t too_big[] = {SIZE_MAX,  SIZE_MAX - 7,   SIZE_MAX - 15, (size_t)INT64_MAX + 1,
                                 INT64_MAX, (size_t)1 << 62};

/* New ones, and a block that is to grow. */
static void ask_for_too_much(lua_State *L) {
  void *data;
  lua_Alloc function = lua_getallocf(L, &data);
  void *block = function(data, NULL, 0, 9);
  assert_non_null(block);
  for (size_t i = 0; i < sizeof too_big / sizeof *too_big; i++) {
    assert_null(function(data, NULL, 0, too_big[i]));
    assert_null(function(data, NULL, LUA_TUSERDATA, too_big[i]));
    assert_null(function(data, block, 9, too_big[i]));
  }
  function(data, block, 9, 0);
}

static void what_fails_moves_no_clock(void **state) {
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    lua_State *L;
    const lh_recorder *r = begin_tracked(&ways[i], &L);
    uint64_t before = lh_clock_bytes(r);
    ask_for_too_much(L);
    assert_int_equal(lh_clock_bytes(r), before + 9);
    run(L, busy);
    lua_close(L);
  }
}

static void much_is_asked_for_after_tracking(void **state) {
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    lua_State *L;
    (void)begin_tracked(&ways[i], &L);
    run(L, "kept = {}");
    assert_int_equal(lh_untrack(L, NULL), LH_OK);
    for (int n = 0; n < 3; n++) {
      ask_for_too_much(L);
      run(L, busy);
    }
    assert_int_equal(lh_track(L, &ways[i], NULL), LH_OK);
    run(L, busy);
    lua_close(L);
  }
}

/* }=================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_fails_moves_no_clock),
      cmocka_unit_test(much_is_asked_for_after_tracking),
  };
  return cmocka_run_group_tests_name("ages", tests, NULL, NULL);
}
