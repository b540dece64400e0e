/*
** test_reader_memory.c - memory runs out under heap.reader, at many allocations of the library and
** of Lua. Each question then raises an error, or is answered with one; nothing crashes, nothing is
** lost (AddressSanitizer sees that), and once there is memory again all works.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "base.h"
#include "rooms/all.h"
#include "sample.h"

int luaopen_heap_reader(lua_State *L);

/* ==== Lua's allocator ================================================================= */

typedef struct allocator {
  size_t calls; /* for new or bigger blocks */
  size_t fails; /* from this one on they fail, counted from 1; 0: none */
} allocator;

static void *allocate_by_plan(void *data, void *block, size_t old_size, size_t size) {
  allocator *a = data;
  if (size == 0) {
    free(block);
    return NULL;
  }
  if (!block || size > old_size) {
    a->calls++;
    if (a->fails && a->calls >= a->fails) return NULL;
  }
  return realloc(block, size);
}

/* ==== A snapshot, and a Lua that reads it ============================================ */

static const char program[] =
    "Session = {__name = 'Session'} sessions = {} audit = {} "
    "local function more(n) for i = 1, n do "
    "  local s = setmetatable({id = i, data = ('x'):rep(50) .. i}, Session) "
    "  s.close = function() return s end sessions[#sessions + 1] = s audit[#audit + 1] = {s} "
    "end end "
    "list = {} for i = 1, 40 do list = {next = list} end "
    "worker = coroutine.create(function() local mine = {} coroutine.yield(mine) end) "
    "coroutine.resume(worker) "
    "more(10) take(1) more(20) take(2) more(20) take(3) ";

static char files[4][32]; /* the snapshots a, b and c, and d of a program that was tracked */

static void forge_tracked(void) {
  forge f;
  sample_tracked_heap(&f);
  forge_finish(&f);
  strcpy(files[3], "/tmp/heap.XXXXXX");
  int file = mkstemp(files[3]);
  assert_int_equal(write(file, f.data, f.size), f.size);
  close(file);
  forge_free(&f);
}

static int take_snapshot(lua_State *L) {
  lh_error error;
  char *file = files[luaL_checkinteger(L, 1) - 1];
  strcpy(file, "/tmp/heap.XXXXXX");
  close(mkstemp(file));
  if (lh_take_snapshot(L, file, LH_DEFAULT_STRING_BYTES, &error) != LH_OK)
    return luaL_error(L, error.message);
  return 0;
}

static void take_snapshots(void) {
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  lua_register(L, "take", take_snapshot);
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  lua_close(L);
}

/* With files a, b and c, snapshot s and object o; all that is printed is loaded, and a long string
** made: where there is no memory for all of the metatable of its buffer, Lua never completes it. */
static lua_State *new_reader(allocator *a) {
  static const char setup[] =
      "package.path = 'lua/?.lua' assert(('x'):rep(10000)) "
      "s = reader.open(c) o = s:object 'Session' "
      "tostring(s:top(1)) tostring(s:suspects()) tostring(s:diff(reader.open(a))) "
      "s:close() s, o = nil";
  lua_State *L = any_newstate(allocate_by_plan, a);
  assert_non_null(L);
  luaL_openlibs(L);
  luaL_requiref(L, "heap.reader", luaopen_heap_reader, false);
  lua_setglobal(L, "reader");
  for (int i = 0; i < 4; i++) {
    lua_pushstring(L, files[i]);
    lua_setglobal(L, (const char *[]){"a", "b", "c", "d"}[i]);
  }
  if (luaL_dostring(L, setup) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  return L;
}

static const char opened[] = "local s <close> = assert(reader.open(c)) ";

static const char *const questions[] = {
    "return tostring(s)",
    "return tostring(s.info)",
    "return tostring(s:object 'Session')",
    "return tostring(s:object '_G.audit'.dominator)",
    "return tostring(s:object '_G.sessions':get(3):path())",
    "return tostring(s:object 'Session':paths(3))",
    "return tostring(s:object 'Session':referrers())",
    "return tostring(s:object 'Session':edges())",
    "return tostring(s:object '_G':entries())",
    "local n = 0 for x in s:objects {class = 'Session'} do n = n + #x.held_by end return n",
    "return tostring(s:top(5)), tostring(s:classes())",
    "return tostring(s:epochs()), tostring(s:marks())",
    "return s:retained(s:objects {type = 'table'})",
    "return tostring(s:objects_with(s:since(a)[1].fingerprint))",
    "return tostring(s:object 'Session':dominators())",
    "return tostring(s:suspects())",
    "return tostring(s:object 'root':under())",
    "return tostring(s:modules()), tostring(s:threads())",
    "local x <close>, y = assert(reader.open(a)), b return tostring(s:diff(x)), y",
    "local x <close> = assert(reader.open(a)) return tostring(s:diff(assert(reader.open(b)), x))",
    "local x <close> = assert(reader.open(a)) return tostring(s:strings(x))",
    "return tostring(assert(reader.growth {a, b, s}))",
    "return tostring(assert(reader.compare({a, b}, {b, s})))",
    "return tostring(assert(reader.owners {a, s}))",
    "return tostring(s:leaks()), tostring(s:growing()), tostring(s:class 'Session')",
    "return tostring(s:waste()), tostring(s:ways 'Session')",
    "return tostring(s:what_if({'_G.sessions', '_G.audit'}, 'Session'))",
    "return tostring(s:object 'Session':independent())",
    "assert(s:ignore({'_G.audit', s:object '_G.sessions'})) return s:ignore()",
    "return s:verify(), reader.escape('x')",
    ("local x <close> = assert(reader.open(d)) local o = x:object(3) "
     "return tostring(o.stack), o.site, x.tracking"),
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* Runs a question; false: it failed, and says that there was not enough memory. */
static bool ask_question(lua_State *L, int question) {
  char chunk[1024];
  (void)snprintf(chunk, sizeof chunk, "%s%s", opened, questions[question]);
  bool ok = luaL_loadstring(L, chunk) == LUA_OK && lua_pcall(L, 0, 0, 0) == LUA_OK;
  if (!ok && !strstr(lua_tostring(L, -1), "not enough memory"))
    fail_msg("%s: %s", chunk, lua_tostring(L, -1));
  lua_settop(L, 0);
  return ok;
}

/* ==================================================================================== */

static void the_library_has_none(void **state) {
  (void)state;
  allocator a = {0};
  size_t cases = 0;
  lua_State *L = new_reader(&a);
  for (int i = 0; i < QUESTIONS; i++) {
    bool done = false;
    uint64_t n;
    for (n = 1; !done; n += 1 + n / 32, cases++) {
      (void)lh_test_fail_allocation(n);
      done = ask_question(L, i);
      (void)lh_test_fail_allocation(0);
    }
    assert_true(n > 10);
  }
  lua_close(L);
  (void)printf("faults: an allocation under heap.reader fails: %zu cases, %zu survived\n", cases,
               cases);
}

/* Also while the metatables are made: in a state that is new. */
static void lua_has_none(void **state) {
  (void)state;
  allocator a = {0};
  size_t cases = 0;
  lua_State *L = new_reader(&a);
  for (int i = 0; i < QUESTIONS; i++) {
    bool done = false;
    for (size_t n = 1; !done; n += 1 + n / 16, cases++) {
      a = (allocator){.fails = n};
      done = ask_question(L, i) && a.calls < n;
      a.fails = 0;
    }
  }
  lua_close(L);
  for (size_t n = 1; n < 400; n++, cases++) {
    a = (allocator){0};
    L = any_newstate(allocate_by_plan, &a);
    assert_non_null(L);
    lua_pushcfunction(L, luaopen_heap_reader);
    lua_call(L, 0, 1);
    (void)lua_getfield(L, -1, "open");
    for (int i = 0; i < 2; i++) { /* a second try, in what the first has left */
      lua_pushvalue(L, -1);
      lua_pushstring(L, files[0]);
      a = (allocator){.fails = i == 0 ? n : 0};
      int rc = lua_pcall(L, 1, 1, 0);
      a.fails = 0;
      if (i == 1 && rc != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
      if (i == 1) assert_int_equal(lua_type(L, -1), LUA_TUSERDATA);
      lua_pop(L, 1);
    }
    lua_close(L);
  }
  (void)printf("faults: an allocation of Lua under heap.reader fails: %zu cases, %zu survived\n",
               cases, cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_library_has_none),
                                     cmocka_unit_test(lua_has_none)};
  take_snapshots();
  forge_tracked();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int i = 0; i < 4; i++) (void)unlink(files[i]);
  return failed;
}
