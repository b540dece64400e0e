/*
** test_brief.c - tracking for a while, as heap.leaks does: what was allocated meanwhile lives on,
** and of the recorder nothing does.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "any_lua.h"
#include "rooms/all.h"
#include "track/recorder.h"

static size_t n_blocks;

static void *allocate_counted(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)data;
  (void)old_bytes;
  if (!block && bytes > 0) n_blocks++;
  if (block && bytes == 0) n_blocks--;
  if (bytes > 0) return realloc(block, bytes);
  free(block);
  return NULL;
}

static void run_program(lua_State *L, const char *program) {
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

static void nothing_of_it_is_left(void **state) {
  static const lh_track_options brief = {.brief = true, .stacks = true};
  void *data;
  (void)state;
  lua_State *L = any_newstate(allocate_counted, &n_blocks);
  luaL_openlibs(L);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(lh_track(L, &brief, NULL), LH_OK);
    assert_ptr_not_equal(lua_getallocf(L, &data), allocate_counted);
    run_program(L,
                "kept = {} for i = 1, 1000 do kept[i] = {i .. 'x', function() return i end} end "
                "threads = {} for i = 1, 10 do threads[i] = coroutine.wrap(load 'return {}') end");
    lua_getglobal(L, "kept");
    assert_int_not_equal(
        lh_recorder_stack(lh_recorder_of(L), lua_topointer(L, -1), sizeof(raw_table)), 0);
    lua_settop(L, 0);
    assert_int_equal(lh_untrack(L, NULL), LH_OK);
    assert_ptr_equal(lua_getallocf(L, &data), allocate_counted);
    assert_ptr_equal(data, &n_blocks);
    assert_null(lh_recorder_of(L));
    run_program(L, "for i = 1, 1000, 2 do kept[i] = {kept[i]} end threads[1]() collectgarbage()");
  }
  lua_close(L);
  assert_int_equal(n_blocks, 0);
}

/* What has a recorder already keeps it. */
static void a_recorder_that_is_there_stays(void **state) {
  static const lh_track_options lasting = {.pool = LH_POOL_NEVER}, brief = {.brief = true};
  void *data;
  (void)state;
  lua_State *L = any_newstate(allocate_counted, &n_blocks);
  luaL_openlibs(L);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lh_track(L, &lasting, NULL), LH_OK);
  assert_int_equal(lh_track(L, &brief, NULL), LH_EARGUMENT);
  run_program(L, "kept = {}");
  assert_int_equal(lh_untrack(L, NULL), LH_OK);
  assert_int_equal(lh_track(L, &brief, NULL), LH_OK);
  assert_int_equal(lh_untrack(L, NULL), LH_OK);
  lua_getglobal(L, "kept");
  assert_int_not_equal(
      lh_recorder_stack(lh_recorder_of(L), lua_topointer(L, -1), sizeof(raw_table)), 0);
  assert_ptr_not_equal(lua_getallocf(L, &data), allocate_counted);
  lua_close(L);
  assert_int_equal(n_blocks, 0);
}

/* A block of C code, which frees it with the function that it got it from. */
typedef struct kept_block {
  lua_Alloc alloc;
  void *data;
} kept_block;

static int free_with_kept(lua_State *L) {
  kept_block *kept = *(kept_block **)lua_touserdata(L, 1);
  lua_Alloc alloc = kept->alloc;
  assert_null(alloc(kept->data, kept, sizeof *kept, 0));
  return 0;
}

/* What C code has kept meanwhile works until the state is closed: its finalizers run after ours. */
static void its_function_stays_for_who_kept_it(void **state) {
  static const lh_track_options brief = {.brief = true};
  (void)state;
  lua_State *L = any_newstate(allocate_counted, &n_blocks);
  luaL_openlibs(L);
  lua_newtable(L);
  lua_pushcfunction(L, free_with_kept);
  lua_setfield(L, -2, "__gc");
  kept_block **kept = lua_newuserdatauv(L, sizeof *kept, 0);
  lua_pushvalue(L, -2);
  (void)lua_setmetatable(L, -2); /* before ours: finalized after it */
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lh_track(L, &brief, NULL), LH_OK);
  kept_block own;
  own.alloc = lua_getallocf(L, &own.data);
  *kept = own.alloc(own.data, NULL, 0, sizeof own);
  assert_non_null(*kept);
  **kept = own;
  assert_int_equal(lh_untrack(L, NULL), LH_OK);
  assert_int_equal(lh_track(L, &brief, NULL), LH_OK);
  run_program(L, "kept = {} for i = 1, 1000 do kept[i] = {i} end");
  assert_int_equal(lh_untrack(L, NULL), LH_OK);
  lua_close(L);
  assert_int_equal(n_blocks, 0);
}

/* The exact mode begins with a collection. That first ends the one that has begun, so finalizers
** run, and then frees their blocks. `end`: one of them ends the tracking. */
static int end_tracking(lua_State *L) {
  assert_int_equal(lh_untrack(L, NULL), LH_OK);
  return 0;
}

static void collect_at_the_start(bool end, lh_pool_use pool) {
  const lh_track_options exact = {.pool = pool, .exact_bytes = 1 << 20};
  lua_State *L = any_newstate(allocate_counted, &n_blocks);
  luaL_openlibs(L);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  lua_register(L, "end_tracking", end_tracking);
  run_program(L,
              "collectgarbage('stop') kept = {} for i = 1, 200000 do kept[i] = {} end "
              "local function recurse(n) if n > 0 then recurse(n - 1) end return n end "
              "setmetatable({}, {__gc = function() recurse(150) if ends then end_tracking() end "
              "end}) collectgarbage('restart') collectgarbage('step', 1)");
  lua_pushboolean(L, end);
  lua_setglobal(L, "ends");
  int rc = lh_track(L, &exact, NULL);
  if (!end) assert_int_equal(rc, LH_OK); /* else it may still be in time */
  run_program(L, "kept = nil collectgarbage()");
  assert_int_equal(lh_untrack(L, NULL), LH_OK);
  lua_close(L);
  assert_int_equal(n_blocks, 0);
}

static void exact_begins_amid_a_collection(void **state) {
  (void)state;
  for (int end = 0; end < 2; end++) {
    collect_at_the_start(end, LH_POOL_NEVER);
    collect_at_the_start(end, LH_POOL_ALWAYS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_begins_amid_a_collection),
      cmocka_unit_test(its_function_stays_for_who_kept_it),
      cmocka_unit_test(nothing_of_it_is_left),
      cmocka_unit_test(a_recorder_that_is_there_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
