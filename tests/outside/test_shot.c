/*
** test_shot.c - a state in a mirror, walked and written: the mirror is this process's own memory,
** of which the child of a shot has a copy. So a snapshot from outside can be held against the one
** that the program takes itself of the same heap.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "own_mirror.h"

int lh_match_marks(const lh_snapshot *after, const lh_snapshot *now, lh_carried_mark **marks,
                   size_t *n, lh_error *error) {
  (void)after, (void)now, (void)marks, (void)n, (void)error;
  return LH_OK;
}

/* A sound snapshot from outside, opened. */
static lh_snapshot *snapshot_from(lua_State *L, const lh_mirrored *m, const char *path) {
  lh_snapshot *s;
  lh_error error = {0};
  lh_outside_request request = {.path = path};
  if (shoot(L, m, &request, &error) < 0) fail_msg("%s", error.message);
  if (lh_open(&s, path, &error) < 0) fail_msg("%s", error.message);
  if (lh_verify(s, NULL, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(request.taken.objects, lh_snapshot_info(s)->objects);
  assert_int_equal(request.unaccounted_bytes, 0);
  assert_int_equal(lh_snapshot_info(s)->unaccounted_bytes, 0);
  return s;
}

/* }=================================================================================== */

static void remove_files(void) {
  (void)unlink("a");
  (void)unlink("b");
}

/* {=== Comparing ===================================================================== */

static const char program[] =
    "local t = {1, 2.5, true, 'x', {}, n = 1, [2.5] = 'half', [true] = false, [-7] = 'minus'}\n"
    "t[t] = print; t[print] = t; t[1 << 40] = 'far'; t[io.stdout] = 'file'\n"
    "t[string.rep('long', 100)] = setmetatable({}, {__mode = 'k', __gc = function() end})\n"
    "for i = 1, 1000 do t[#t + 1] = {i, name = 'n' .. i, ['k' .. i] = i, [i * 1024] = i} end\n"
    "t.sparse = {} for i = 1, 100 do t.sparse[i * i * 1.5] = i t.sparse[-i * 64] = i end\n"
    "local up = 0\n"
    "t.f = function(a, ...) up = up + 1 return a, ..., t end\n"
    "t.co = coroutine.create(function(a) local b = {a} coroutine.yield(b) end)\n"
    "coroutine.resume(t.co, t)\n"
    "t.wrap = coroutine.wrap(function() coroutine.yield() end) t.wrap()\n"
    "T = t\n";

static lua_State *new_state(void) {
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  lua_gc(L, LUA_GCSTOP);
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  return L;
}

static void compare_edges(const lh_snapshot *a, lh_id id, const lh_snapshot *b, lh_id other) {
  lh_edges i, k;
  lh_edge e, f;
  lh_edges_begin(a, id, &i);
  lh_edges_begin(b, other, &k);
  while (lh_edges_next(&i, &e)) {
    lh_object x, y;
    assert_true(lh_edges_next(&k, &f));
    lh_object_at(a, e.target, &x);
    lh_object_at(b, f.target, &y);
    assert_int_equal(e.kind, f.kind);
    assert_int_equal(x.own, y.own);
    if (!x.own) assert_int_equal(x.address, y.address);
  }
  assert_false(lh_edges_next(&k, &f));
}

/* Is each object of `a` in `b`, with all that it refers to, but for what is luaheap's? `differs`
** does not need to be the same: 0, or an address. */
static uint32_t compare_objects(const lh_snapshot *a, const lh_snapshot *b, uint64_t differs) {
  uint32_t n = 0;
  for (lh_id id = 1; id <= lh_snapshot_info(a)->objects; id++) {
    lh_object x, y;
    lh_object_at(a, id, &x);
    if (x.own) continue;
    n++;
    lh_id other = lh_find_address(b, x.address);
    assert_true(other != LH_NO_OBJECT);
    lh_object_at(b, other, &y);
    assert_int_equal(x.type, y.type);
    assert_int_equal(x.list, y.list);
    if (x.address == differs) continue;
    assert_int_equal(x.shallow_bytes, y.shallow_bytes);
    compare_edges(a, id, b, other);
  }
  return n;
}

/* }=================================================================================== */

/* What is not luaheap's is in both, and the same. */
static void test_attached(void **unused) {
  (void)unused;
  lh_snapshot *a, *b;
  lua_State *L = new_state();
  lh_mirrored m = in_call();
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lh_take_snapshot(L, "a", NULL, NULL, NULL), LH_OK);
  assert_int_equal(lh_open(&a, "a", NULL), LH_OK);
  b = snapshot_from(L, &m, "b");
  uint32_t n = compare_objects(a, b, 0);
  assert_true(n > 4000);
  assert_int_equal(compare_objects(b, a, 0), n);
  assert_int_equal(lh_snapshot_info(a)->state_id, lh_snapshot_info(b)->state_id);
  assert_int_equal(lh_snapshot_info(b)->serial, 2);
  assert_int_equal(lh_mark_count(b), 2);
  lh_close(a);
  lh_close(b);
  lua_close(L);
  remove_files();
}

/* A program that luaheap is loaded into only afterwards. */
static void test_not_attached(void **unused) {
  (void)unused;
  lh_snapshot *a, *b;
  lua_State *L = new_state();
  lh_mirrored m = in_call();
  a = snapshot_from(L, &m, "a");
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lh_take_snapshot(L, "b", NULL, NULL, NULL), LH_OK);
  assert_int_equal(lh_open(&b, "b", NULL), LH_OK);
  uint64_t registry = (uintptr_t)lua_topointer(L, LUA_REGISTRYINDEX);
  assert_true(compare_objects(a, b, registry) > 4000);
  const lh_info *info = lh_snapshot_info(a);
  assert_int_equal(info->serial, 1);
  assert_int_equal(info->process_id, 4711);
  assert_string_equal(info->program, "a program");
  assert_string_equal(info->name, "a");
  lh_close(a);
  lh_close(b);
  lua_close(L);
  remove_files();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_attached),
                                     cmocka_unit_test(test_not_attached)};
  return folder_run(tests);
}
