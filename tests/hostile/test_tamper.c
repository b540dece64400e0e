/*
** test_tamper.c - programs that lay hands on what luaheap relies on: the registry, its own objects,
** userdata with content like that of a mark, and a stack that overflows in the middle of an
** instruction.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_file.h"
#include "read/snapshot.h"
#include "take/walk.h"

/* ==== Snapshots into memory ========================================================== */

/* Takes, opens and analyses; everything must be accounted for. */
static lh_snapshot *take_tampered(lua_State *L, forge_bytes *s) {
  lh_error error = {0};
  lh_snapshot *snapshot = NULL;
  *s = (forge_bytes){0};
  if (lh_stream_snapshot(L, "s", forge_write, s, NULL, NULL, &error) < 0 ||
      lh_open_memory(&snapshot, s->data, s->size, "memory", &error) < 0 ||
      lh_analyse(snapshot, &error) < 0) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(lh_snapshot_info(snapshot)->unaccounted_bytes, 0);
  return snapshot;
}

static void drop(lh_snapshot *snapshot, forge_bytes *s) {
  lh_close(snapshot);
  free(s->data);
}

static lua_State *attached(void) {
  lh_error error = {0};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (lh_attach(L, &error) < 0) fail_msg("%s", error.message);
  return L;
}

static void run_chunk(lua_State *L, const char *program) {
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

/* ==================================================================================== */

static void refuses_a_registry_without_main_thread(void **state) {
  (void)state;
  static const char *const programs[] = {"debug.getregistry()[1] = nil",
                                         "debug.getregistry()[1] = {}",
                                         "debug.getregistry()[1] = coroutine.create(print)"};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    lh_error error;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    run_chunk(L, programs[i]);
    assert_int_equal(lh_attach(L, &error), LH_EHOST);
    lua_close(L);
  }
}

static void needs_no_registry_but_its_own(void **state) {
  (void)state;
  forge_bytes s;
  lua_State *L = attached();
  run_chunk(L,
            "local r = debug.getregistry()"
            "for k in pairs(r) do if type(k) ~= 'userdata' then r[k] = nil end end");
  drop(take_tampered(L, &s), &s);
  lua_close(L);
}

/* Does with luaheap's state what the program says: `state` is its userdata, `registry[key]` its
** place. */
static lua_State *tampered(const char *program) {
  lua_State *L = attached();
  run_chunk(L,
            "registry = debug.getregistry()"
            "for k, v in pairs(registry) do"
            "  if type(k) == 'userdata' and type(v) == 'userdata' then key, state = k, v end "
            "end");
  run_chunk(L, program);
  return L;
}

static void knows_its_state(void **state) {
  (void)state;
  static const char *const programs[] = {"registry[key] = io.stdout", "registry[key] = key",
                                         "registry[key] = 'x'", "registry[key] = nil"};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    forge_bytes s;
    lh_error error;
    lua_State *L = tampered(programs[i]);
    assert_int_equal(lh_mark(L, "x", 1, &error), LH_EARGUMENT);
    assert_int_equal(lh_attach(L, &error), LH_OK); /* a new one */
    drop(take_tampered(L, &s), &s);
    lua_close(L);
  }
}

static void lives_with_changed_user_values(void **state) {
  (void)state;
  static const char *const programs[] = {
      "debug.setuservalue(state, nil, 1)", "debug.setuservalue(state, 42, 1)",
      "debug.setuservalue(state, nil, 2)", "debug.setuservalue(state, 42, 2)",
      "debug.setuservalue(state, {}, 2)"};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    forge_bytes s;
    lua_State *L = tampered(programs[i]);
    drop(take_tampered(L, &s), &s);
    lua_gc(L, LUA_GCCOLLECT);
    drop(take_tampered(L, &s), &s);
    lua_close(L);
  }
}

/* ==== Userdata that look like marks ================================================== */

static void pretend(lua_State *L, size_t bytes, uint8_t kind, uint16_t name_length) {
  lh_own_content *content = lua_newuserdatauv(L, bytes, 1);
  memset(content, 0, bytes);
  content->magic = LH_OWN_MAGIC;
  content->serial = 1;
  content->kind = kind;
  content->name_length = name_length;
  luaL_ref(L, LUA_REGISTRYINDEX);
}

static void believes_no_false_mark(void **state) {
  (void)state;
  forge_bytes s;
  lua_State *L = attached();
  pretend(L, sizeof(lh_own_content), LH_MARK_BY_SNAPSHOT, 1);
  pretend(L, sizeof(lh_own_content), LH_MARK_BY_MARK, UINT16_MAX);
  pretend(L, sizeof(lh_own_content), LH_MARK_VOID + 1, 0);
  pretend(L, sizeof(lh_own_content), UINT8_MAX, 0);
  lh_snapshot *snapshot = take_tampered(L, &s);
  assert_int_equal(lh_mark_count(snapshot), 1);
  drop(snapshot, &s);
  lua_close(L);
}

/* ==== A stack that overflows ========================================================= */

enum { MAX_STACK = 1000000 };

/* The caller's tables a, b and c lie where the extra arguments of `callee` would begin, had it
** started. */
static const char overflow_program[] =
    "function callee(x, y, z, ...) return x end\n"
    "function caller(f)\n"
    "  local a, b, c, d = {}, {}, {}, {}\n"
    "  return (f(1, 2, 3, 4))\n"
    "end";

/* The message handler. Upvalue: how often `callee` had a frame. */
static int look(lua_State *L) {
  forge_bytes s;
  lua_Debug ar;
  lh_reach totals;
  lua_gc(L, LUA_GCCOLLECT);
  lh_snapshot *snapshot = take_tampered(L, &s);
  lh_reach_totals(snapshot, &totals);
  assert_int_equal(totals.garbage_objects, 0);
  drop(snapshot, &s);
  bool in_callee = lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar) && ar.linedefined == 1;
  *(int *)lua_touserdata(L, lua_upvalueindex(1)) += in_callee;
  return 1;
}

static void sees_a_frame_that_did_not_start(void **state) {
  (void)state;
  int hits = 0;
  for (int room = 8; room < 40; room++) {
    lua_State *L = attached(); /* a new one: in 5.4.0 a stack overflows only once */
    run_chunk(L, overflow_program);
    lua_pushlightuserdata(L, &hits);
    lua_pushcclosure(L, look, 1);
    assert_true(lua_checkstack(L, MAX_STACK - room + 1));
    lua_settop(L, MAX_STACK - room);
    lua_getglobal(L, "caller");
    lua_getglobal(L, "callee");
    (void)lua_pcall(L, 1, 0, 1);
    lua_close(L);
  }
  assert_true(hits > 0);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_a_registry_without_main_thread),
      cmocka_unit_test(needs_no_registry_but_its_own),
      cmocka_unit_test(knows_its_state),
      cmocka_unit_test(lives_with_changed_user_values),
      cmocka_unit_test(believes_no_false_mark),
      cmocka_unit_test(sees_a_frame_that_did_not_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
