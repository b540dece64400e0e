/*
** test_ages.c - the recorder's clock, which counts the bytes that were asked for; ages by it; and
** figures that are too big for a part of 64 bits.
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
#include "track/allocate.h"
#include "track/pool.h"

enum { MOST_BYTES = 1 << 26 };

/* Refuses what is too big, as the system does. */
static void *allocate_within_limit(void *data, void *block, size_t old_bytes, size_t bytes) {
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

static lua_State *begin_tracking(void) {
  lua_State *L = any_newstate(allocate_within_limit, NULL);
  assert_non_null(L);
  luaL_openlibs(L);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  return L;
}

static lh_recorder *begin_tracked(const lh_track_options *way, lua_State **L) {
  *L = begin_tracking();
  assert_int_equal(lh_track(*L, way, NULL), LH_OK);
  return (lh_recorder *)(uintptr_t)lh_recorder_of(*L);
}

static void run_program(lua_State *L, const char *program) {
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

/* ==== Requests that nobody can meet ================================================= */

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
    run_program(L, busy);
    lua_close(L);
  }
}

static void much_is_asked_for_after_tracking(void **state) {
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    lua_State *L;
    (void)begin_tracked(&ways[i], &L);
    run_program(L, "kept = {}");
    assert_int_equal(lh_untrack(L, NULL), LH_OK);
    for (int n = 0; n < 3; n++) {
      ask_for_too_much(L);
      run_program(L, busy);
    }
    assert_int_equal(lh_track(L, &ways[i], NULL), LH_OK);
    run_program(L, busy);
    lua_close(L);
  }
}

/* ==== Ages ========================================================================== */

static uint64_t age_of(const lh_recorder *r, const void *block) {
  if (r->pool)
    return lh_age_bytes(r, *lh_pool_life(block, lh_pool_slab(r->pool, block)->slot_bytes));
  const lh_life *life = lh_blocks_find(r->blocks, block);
  assert_non_null(life);
  return lh_age_bytes(r, *life);
}

enum { UNIT = 1 << LH_BIRTH_SHIFT, PASSING = 100 * UNIT };

static void let_time_pass(lh_recorder *r) {
  r->function(r, r->function(r, NULL, 0, PASSING), PASSING, 0);
}

/* What was there before, and what was a sample before, is as old as its last resize. */
static void a_sample_is_born_when_it_becomes_one(void **state) {
  static const lh_track_options each[] = {{.sample_bytes = 1},
                                          {.pool = LH_POOL_ALWAYS, .sample_bytes = 1}};
  (void)state;
  for (int i = 0; i < 2; i++) {
    lua_State *L = begin_tracking();
    void *block = i == 0 ? allocate_within_limit(NULL, NULL, 0, 40) : NULL;
    assert_int_equal(lh_track(L, &each[i], NULL), LH_OK);
    lh_recorder *r = (lh_recorder *)(uintptr_t)lh_recorder_of(L);
    if (!block) block = r->function(r, NULL, 0, 40);
    for (size_t bytes = 40; bytes < 400; bytes += 60) {
      let_time_pass(r);
      block = r->function(r, block, bytes, bytes + 60);
      assert_in_range(age_of(r, block), 0, UNIT + bytes);
    }
    let_time_pass(r);
    assert_in_range(age_of(r, block), PASSING, PASSING + 2 * UNIT);
    r->function(r, block, 400, 0);
    lua_close(L);
  }
}

/* Other blocks are as old as they are, however often they are resized, and after 16 TB, too. */
static void ages_are_told_after_terabytes(void **state) {
  lua_State *L;
  lh_recorder *r = begin_tracked(&ways[0], &L);
  (void)state;
  for (int i = 0; i < 3; i++) {
    void *block = r->function(r, NULL, 0, 40);
    let_time_pass(r);
    block = r->function(r, block, 40, 400);
    assert_in_range(age_of(r, block), PASSING, PASSING + 2 * UNIT);
    r->function(r, block, 400, 0);
    r->clock_base += ((int64_t)1 << 44) - PASSING / 2;
  }
  lua_close(L);
}

static void bytes_are_counted_beyond_terabytes(void **state) {
  lua_State *L;
  lh_recorder *r = begin_tracked(&ways[0], &L);
  const lh_stack_counts before = lh_recorder_counts(r, LH_STACK_HOST);
  (void)state;
  for (int i = 0; i < 4; i++) {
    lh_add_to_tally(&r->made[LH_STACK_HOST], RAW_TABLE, (size_t)1 << 47);
    lh_add_to_tally(&r->freed[LH_STACK_HOST], RAW_TABLE, (size_t)1 << 47);
  }
  const lh_stack_counts counts = lh_recorder_counts(r, LH_STACK_HOST);
  assert_int_equal(counts.made_objects, before.made_objects + 4);
  assert_int_equal(counts.made_bytes, before.made_bytes + ((uint64_t)1 << 49));
  assert_int_equal(counts.freed_bytes, before.freed_bytes + ((uint64_t)1 << 49));
  lua_close(L);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_fails_moves_no_clock),
      cmocka_unit_test(much_is_asked_for_after_tracking),
      cmocka_unit_test(a_sample_is_born_when_it_becomes_one),
      cmocka_unit_test(ages_are_told_after_terabytes),
      cmocka_unit_test(bytes_are_counted_beyond_terabytes),
  };
  return cmocka_run_group_tests_name("ages", tests, NULL, NULL);
}
