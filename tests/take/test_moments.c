/*
** test_moments.c - snapshots at the moments that only C code can make: where memory is asked for or
** refused, in warn and panic functions, in readers and writers, where a C function's stack is used
** up. Those that Lua code can make are in tests/take/moments_spec.lua.
**
** The host's allocator keeps books: what it gave out must be what a snapshot finds, but for the
** buffers that Lua holds at that moment.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "folder.h"
#include "forged_file.h"
#include "read/snapshot.h"
#include "scene.h"

/* ==== The host ====================================================================== */

typedef struct request {
  void *block;
  size_t old_bytes, bytes;
} request;

/* When a snapshot is taken: at a growth, which is then granted; when it is refused; when Lua has
** made its emergency collection and asks again, to be refused again. */
typedef enum moment { GRANTED, REFUSED, REFUSED_AGAIN, MOMENTS } moment;

typedef struct host {
  lua_State *L, *spare; /* the main thread; a coroutine for snapshots */
  size_t live_bytes, n_growths;
  size_t take_at; /* this growth, counted from 1; 0: none */
  moment moment;
  request refused; /* the last one */
  bool background;
  bool marks_in_sweeps; /* tries to leave a mark whenever something is freed */
  bool serving;         /* nothing fails, nothing is taken */
  size_t n_taken, n_busy;
} host;

static void take_amid(host *h);

static bool refuses(host *h, void *block, size_t old_bytes, size_t bytes) {
  bool again = h->moment == REFUSED_AGAIN && h->n_growths == h->take_at &&
               block == h->refused.block && old_bytes == h->refused.old_bytes &&
               bytes == h->refused.bytes;
  h->n_growths++;
  if (again) take_amid(h);
  if (h->n_growths != h->take_at) return again;
  h->refused = (request){block, old_bytes, bytes};
  if (h->moment != REFUSED_AGAIN) take_amid(h);
  return h->moment != GRANTED;
}

static void try_a_mark(host *h) {
  lh_error error;
  h->serving = true;
  if (lh_mark(h->spare, "sweep", 5, &error) < 0) {
    assert_int_equal(error.code, LH_EBUSY);
    h->n_busy++;
  } else {
    h->n_taken++;
  }
  h->serving = false;
}

static void *allocate_at_moment(void *data, void *block, size_t old_bytes, size_t bytes) {
  host *h = data;
  size_t held_bytes = block ? old_bytes : 0;
  if (bytes == 0) {
    free(block);
    h->live_bytes -= held_bytes;
    if (block && h->marks_in_sweeps && !h->serving) try_a_mark(h);
    return NULL;
  }
  if (bytes > held_bytes && !h->serving && refuses(h, block, old_bytes, bytes)) return NULL;
  void *moved = realloc(block, bytes);
  assert_non_null(moved);
  h->live_bytes += bytes - held_bytes;
  return moved;
}

static void new_host(host *h) {
  *h = (host){.serving = true};
  h->L = any_newstate(allocate_at_moment, h);
  assert_non_null(h->L);
  luaL_openlibs(h->L);
  assert_int_equal(lh_attach(h->L, NULL), LH_OK);
  h->spare = lua_newthread(h->L);
  (void)luaL_ref(h->L, LUA_REGISTRYINDEX);
  h->serving = false;
}

static void end_host(host *h) {
  lua_close(h->L);
  assert_int_equal(h->live_bytes, 0);
}

/* The bytes are a sound snapshot of `host_bytes`, with at most `spare_bytes` in buffers: those of a
** parser and the like, and of luaL_Buffer, for which Lua does not account. */
static void is_sound(const void *data, size_t size, uint64_t host_bytes, uint64_t spare_bytes) {
  lh_snapshot *snapshot;
  lh_error error = {0};
  if (lh_open_memory(&snapshot, data, size, "s", &error) < 0) fail_msg("%s", error.message);
  const lh_info *info = lh_snapshot_info(snapshot);
  assert_true(info->unaccounted_bytes >= 0 && (uint64_t)info->unaccounted_bytes <= spare_bytes);
  assert_true(info->gc_bytes <= host_bytes && host_bytes - info->gc_bytes <= spare_bytes);
  if (lh_verify(snapshot, NULL, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(lh_analyse(snapshot, NULL), LH_OK);
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  assert_true(reach.reachable_objects > 200); /* the standard library at least */
  lh_close(snapshot);
}

/* Directly through L, in memory; or in the background. */
static void take_at_moment(const host *h, lua_State *L, bool background, uint64_t spare_bytes) {
  lh_error error = {0};
  if (background) {
    if (scene_take(L, "a", true, &error) < 0) fail_msg("%s", error.message);
    lh_snapshot *snapshot;
    assert_int_equal(lh_open(&snapshot, "a", NULL), LH_OK);
    assert_true((uint64_t)lh_snapshot_info(snapshot)->unaccounted_bytes <= spare_bytes);
    lh_close(snapshot);
    assert_int_equal(unlink("a"), 0);
    return;
  }
  forge_bytes file = {0};
  if (lh_stream_snapshot(L, "s", forge_write, &file, NULL, NULL, &error) < 0)
    fail_msg("%s", error.message);
  is_sound(file.data, file.size, h->live_bytes, spare_bytes);
  free(file.data);
}

/* Where a stack is moved it may be too early, but not when Lua asks again. */
static void take_amid(host *h) {
  enum { MOST_SPARE = 1 << 16 }; /* of a parser, a table that grows, a string that is made */
  lh_error error;
  h->serving = true;
  if (lh_mark(h->spare, "m", 1, &error) == LH_OK) {
    take_at_moment(h, h->spare, h->background, MOST_SPARE);
    h->n_taken++;
  } else {
    assert_int_equal(error.code, LH_EBUSY);
    assert_true(h->moment != REFUSED_AGAIN);
    h->n_busy++;
  }
  h->serving = false;
}

/* ==================================================================================== */

static size_t n_cases;

/* Grows everything that Lua can grow. */
static const char workload[] =
    "local t, co = {}, nil\n"
    "for i = 1, 40 do t[i] = {i, 'text' .. i, x = i} end\n"
    "for i = 1, 40 do t['key' .. i] = function() return t, i end end\n"
    "local function down(n) if n == 0 then return 0 end return 1 + down(n - 1) end\n"
    "down(200)\n"
    "co = coroutine.wrap(function(...) local a = {...} down(50) coroutine.yield(a) down(100) end)\n"
    "co(1, 2, 3) co()\n"
    "load('local a, b = 1, \"constant\" return function(x, ...) local y <const> = 2 return {x, y, "
    "function() return a, b, x end, ...} end')()(1, 2)\n"
    "local s = table.concat(setmetatable({}, {__index = function(_, i) return ('x'):rep(i) end,\n"
    "  __len = function() return 60 end}), ',')\n"
    "s = s:gsub('x+', function(x) return x .. #x end):upper():format() .. s\n"
    "string.dump(down) table.pack(table.unpack(t, 1, 40)) table.sort({3, 1, 2})\n"
    "setmetatable({}, {__gc = function() t = nil end, __mode = 'k'})\n"
    "pcall(error, {}) pcall(string.rep) tostring(1.5) string.pack('z', s)\n"
    "coroutine.close(coroutine.create(down)) collectgarbage('step')\n";

/* Works, with a snapshot at the nth growth. Returns false when there are not so many. */
static bool work(host *h, size_t nth, moment at) {
  h->n_growths = 0;
  h->take_at = nth;
  h->moment = at;
  h->background = nth % 20 == 0;
  bool worked = luaL_loadstring(h->L, workload) == LUA_OK && lua_pcall(h->L, 0, 0, 0) == LUA_OK;
  bool met = h->n_growths >= nth;
  if (!worked && (!met || at == GRANTED)) fail_msg("%s", lua_tostring(h->L, -1));
  h->take_at = 0;
  lua_settop(h->L, 0);
  lua_gc(h->L, LUA_GCCOLLECT);
  return met;
}

static void where_memory_is_asked_for(void **state) {
  (void)state;
  host h;
  size_t n = 0;
  new_host(&h);
  for (moment at = GRANTED; at < MOMENTS; at++)
    for (size_t nth = 1 + at; work(&h, nth, at); nth += 2) n++;
  lua_gc(h.L, LUA_GCGEN, 0, 0);
  for (moment at = GRANTED; at < MOMENTS; at++)
    for (size_t nth = 1 + at; work(&h, nth, at); nth += 7) n++;
  assert_true(n > 1000 && h.n_taken > n * 2 / 3);
  n_cases += h.n_taken + h.n_busy;
  take_at_moment(&h, h.L, false, 0);
  end_host(&h);
}

/* There it is told to come again. */
static void not_while_the_collector_sweeps(void **state) {
  (void)state;
  host h;
  new_host(&h);
  assert_int_equal(luaL_dostring(h.L, "for i = 1, 300 do local t = {{}, tostring(i)} end"), LUA_OK);
  h.marks_in_sweeps = true;
  while (lua_gc(h.L, LUA_GCSTEP, 1000) == 0) { /* until the cycle ends */
  }
  h.marks_in_sweeps = false;
  if (LUA_VERSION_RELEASE_NUM >= 50404) {
    assert_true(h.n_busy > 200);
    assert_int_equal(h.n_taken, 0);
  }
  take_at_moment(&h, h.L, false, 0);
  end_host(&h);
}

/* ==== Functions of the host's that Lua calls ========================================= */

static void take_both(host *h, lua_State *L, uint64_t spare_bytes) {
  take_at_moment(h, L, false, spare_bytes);
  take_at_moment(h, L, true, spare_bytes);
  h->n_taken += 2;
}

static void warn(void *data, const char *message, int to_continue) {
  host *h = data;
  (void)message, (void)to_continue;
  take_both(h, h->L, 0);
}

static void in_warn_functions(void **state) {
  (void)state;
  host h;
  new_host(&h);
  lua_setwarnf(h.L, warn, &h);
  assert_int_equal(luaL_dostring(h.L,
                                 "warn('@on') warn('a', 'b', 'c')\n"
                                 "setmetatable({}, {__gc = function() error 'x' end})\n"
                                 "collectgarbage()"),
                   LUA_OK);
  assert_true(h.n_taken >= 2 * 5);
  n_cases += h.n_taken;
  end_host(&h);
}

static jmp_buf after_panic;
static host *panicking;

static int panic(lua_State *L) {
  take_both(panicking, L, 0);
  longjmp(after_panic, 1);
}

static void in_panic_functions(void **state) {
  (void)state;
  host h;
  new_host(&h);
  panicking = &h;
  lua_atpanic(h.L, panic);
  luaL_loadstring(h.L, "local function f(n) if n == 0 then error {} end f(n - 1) end f(50)");
  if (setjmp(after_panic) == 0) {
    lua_call(h.L, 0, 0);
    fail_msg("nobody panicked");
  }
  assert_int_equal(h.n_taken, 2);
  take_both(&h, h.L, 0);
  n_cases += h.n_taken;
  end_host(&h);
}

static const char *read_piece(lua_State *L, void *data, size_t *n) {
  static const char *const pieces[] = {"return function(a, b) ", "local c = {a, b, 'c'} ",
                                       "return function() return c end ", "end"};
  host *h = data;
  take_both(h, L, 1 << 14);
  *n = 0;
  if (h->n_taken > 2 * 4) return NULL;
  const char *piece = pieces[h->n_taken / 2 - 1];
  *n = strlen(piece);
  return piece;
}

static int write_piece(lua_State *L, const void *piece, size_t n, void *data) {
  (void)piece, (void)n;
  take_both(data, L, 0);
  return 0;
}

static void in_readers_and_writers(void **state) {
  (void)state;
  host h;
  new_host(&h);
  assert_int_equal(lua_load(h.L, read_piece, &h, "=piece", NULL), LUA_OK);
  assert_int_equal(lua_dump(h.L, write_piece, &h, 0), 0);
  assert_true(h.n_taken > 2 * 20);
  n_cases += h.n_taken;
  end_host(&h);
}

static int with_no_slot_left(lua_State *L) {
  host *h = lua_touserdata(L, lua_upvalueindex(1));
  for (int n = lua_gettop(L); n < LUA_MINSTACK; n++) lua_newtable(L);
  take_both(h, L, 0);
  assert_int_equal(lua_gettop(L), LUA_MINSTACK);
  for (int i = 1; i <= LUA_MINSTACK; i++) assert_true(lua_istable(L, i));
  lua_settop(L, 0);
  return 0;
}

static int continued(lua_State *L, int status, lua_KContext context) {
  (void)status;
  take_both((host *)context, L, 0);
  return 0;
}

static int yields(lua_State *L) {
  host *h = lua_touserdata(L, lua_upvalueindex(1));
  take_both(h, L, 0);
  return lua_yieldk(L, 0, (lua_KContext)h, continued);
}

static void push_function(host *h, lua_CFunction function, const char *name) {
  lua_pushlightuserdata(h->L, h);
  lua_pushcclosure(h->L, function, 1);
  lua_setglobal(h->L, name);
}

static void in_c_functions(void **state) {
  (void)state;
  host h;
  new_host(&h);
  push_function(&h, with_no_slot_left, "full");
  push_function(&h, yields, "yields");
  assert_int_equal(luaL_dostring(h.L,
                                 "full() coroutine.wrap(full)() pcall(full)\n"
                                 "local co = coroutine.wrap(yields) co() co()\n"
                                 "local w = coroutine.wrap(function() pcall(yields) full() "
                                 "end) w() w()\n"),
                   LUA_OK);
  assert_int_equal(h.n_taken, 2 * 8);
  n_cases += h.n_taken;
  end_host(&h);
}

static void hook(lua_State *L, lua_Debug *about) {
  (void)about;
  take_both(panicking, L, 0);
}

static void in_hooks(void **state) {
  (void)state;
  host h;
  new_host(&h);
  panicking = &h;
  luaL_loadstring(h.L, "local t = {} for i = 1, 5 do t[i] = {i} end return t");
  lua_sethook(h.L, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 5);
  assert_int_equal(lua_pcall(h.L, 0, 0, 0), LUA_OK);
  lua_sethook(h.L, NULL, 0, 0);
  assert_true(h.n_taken > 2 * 5);
  n_cases += h.n_taken;
  end_host(&h);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(where_memory_is_asked_for),
                                     cmocka_unit_test(not_while_the_collector_sweeps),
                                     cmocka_unit_test(in_warn_functions),
                                     cmocka_unit_test(in_panic_functions),
                                     cmocka_unit_test(in_readers_and_writers),
                                     cmocka_unit_test(in_c_functions),
                                     cmocka_unit_test(in_hooks)};
  int failed = folder_run(tests);
  printf(
      "faults: snapshots where memory is asked for or refused, and in host functions: %zu cases, "
      "%zu "
      "survived\n",
      n_cases, n_cases);
  return failed;
}
