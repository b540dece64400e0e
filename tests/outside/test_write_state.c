/*
** test_write_state.c - a state in a mirror, walked and written: the mirror is this process's own
** memory, of which the writing child has a copy. So a snapshot from outside can be held against the
** one that the program takes itself of the same heap.
*/
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "folder.h"
#include "own_mirror.h"
#include "take/raw.h"
#include "take/state.h"

static lh_taken own_of(const lh_snapshot *s) {
  lh_taken own = {0};
  for (lh_id id = 1; id <= lh_snapshot_info(s)->objects; id++) {
    lh_object o;
    lh_object_at(s, id, &o);
    own.objects += o.own;
    own.bytes += o.own ? o.shallow_bytes : 0;
  }
  return own;
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
  lh_taken own = own_of(s);
  assert_true(own.objects >= 3); /* two halves, and the state's */
  assert_int_equal(request.own.objects, own.objects);
  assert_int_equal(request.own.bytes, own.bytes);
  assert_int_equal(request.unaccounted_bytes, 0);
  assert_int_equal(lh_snapshot_info(s)->unaccounted_bytes, 0);
  return s;
}

/* ==================================================================================== */

static void remove_files(void) {
  (void)unlink("a");
  (void)unlink("b");
}

/* ==== Comparing ===================================================================== */

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

/* ==================================================================================== */

/* What is not luaheap's is in both, and the same. */
static void test_attached(void **unused) {
  (void)unused;
  lh_snapshot *a, *b;
  lua_State *L = own_new_heap();
  lh_mirrored m = in_call();
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lh_take_snapshot(L, "a", LH_DEFAULT_STRING_BYTES, NULL), LH_OK);
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
  lua_State *L = own_new_heap();
  lh_mirrored m = in_call();
  a = snapshot_from(L, &m, "a");
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lh_take_snapshot(L, "b", LH_DEFAULT_STRING_BYTES, NULL), LH_OK);
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

/* ==== Marks of an older snapshot ==================================================== */

static const char more[] =
    "for i = 1, 500 do T.later = {T.later, name = 'later' .. i} end\n"
    "setmetatable({}, {__gc = function() end})\n";

/* Is each object of `now` that `before` had older than its mark, and are the others younger,
** but for so many as are told to pass as older? */
static void check_ages(const lh_snapshot *before, const lh_snapshot *now, uint32_t mark) {
  uint64_t n_wrong = 0, n_younger = 0;
  for (lh_id id = 1; id <= lh_snapshot_info(now)->objects; id++) {
    lh_object o;
    lh_object_at(now, id, &o);
    if (o.own || o.list > LH_LIST_FINOBJ) continue;
    bool was_there = lh_find_address(before, o.address) != LH_NO_OBJECT;
    bool is_older = lh_epoch(now, id) <= mark;
    assert_true(is_older || !was_there);
    n_wrong += is_older && !was_there;
    n_younger += !is_older;
  }
  assert_true(n_wrong <= lh_possibly_newer(now, mark).objects);
  assert_true(n_younger >= 500);
}

static lh_snapshot *snapshot_after(lua_State *L, const lh_snapshot *before, const char *path) {
  lh_snapshot *s;
  lh_error error = {0};
  lh_mirrored m = in_call();
  lh_outside_request request = {.path = path, .after = before};
  if (shoot(L, &m, &request, &error) < 0) fail_msg("%s", error.message);
  if (lh_open(&s, path, &error) < 0) fail_msg("%s", error.message);
  if (lh_verify(s, NULL, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(lh_snapshot_info(s)->unaccounted_bytes, 0);
  const lh_mark_info *own = lh_mark_at(s, lh_mark_count(s) - 1);
  uint64_t passed = lh_possibly_newer(s, lh_mark_count(s) - 2).objects;
  assert_int_equal(passed, request.possibly_newer);
  assert_string_equal(own->name, path);
  return s;
}

static void test_after(void **unused) {
  (void)unused;
  lua_State *L = own_new_heap();
  lh_mirrored m = in_call();
  lh_snapshot *a = snapshot_from(L, &m, "a");
  assert_int_equal(luaL_dostring(L, more), LUA_OK);
  lh_snapshot *b = snapshot_after(L, a, "b");
  assert_int_equal(lh_mark_count(b), 2);
  assert_string_equal(lh_mark_at(b, 0)->name, "a");
  assert_int_equal(lh_mark_at(b, 0)->time_ns, lh_snapshot_info(a)->time_ns);
  check_ages(a, b, 0);
  assert_int_equal(luaL_dostring(L, more), LUA_OK);
  lh_snapshot *c = snapshot_after(L, b, "a");
  assert_int_equal(lh_mark_count(c), 3);
  assert_int_equal(lh_mark_at(c, 2)->serial, 3);
  check_ages(a, c, 0);
  check_ages(b, c, 1);
  lh_close(a);
  lh_close(b);
  lh_close(c);
  lua_close(L);
  remove_files();
}

/* The program itself has left the older one's mark: that one is used, and nothing passes as old. */
static void test_after_inside(void **unused) {
  (void)unused;
  lh_snapshot *a;
  lua_State *L = own_new_heap();
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lh_mark(L, "first", 5, NULL), LH_OK);
  assert_int_equal(lh_take_snapshot(L, "a", LH_DEFAULT_STRING_BYTES, NULL), LH_OK);
  assert_int_equal(lh_open(&a, "a", NULL), LH_OK);
  assert_int_equal(luaL_dostring(L, more), LUA_OK);
  lh_snapshot *b = snapshot_after(L, a, "b");
  assert_int_equal(lh_mark_count(b), 3);
  assert_int_equal(lh_possibly_newer(b, 1).objects, 0);
  check_ages(a, b, 1);
  lh_close(a);
  lh_close(b);
  lua_close(L);
  remove_files();
}

/* ==== Threads ======================================================================= */

/* How each thread of a snapshot of this state stands, by its address. */
static lh_thread_status status_in(const lh_snapshot *s, const void *thread) {
  lh_object o;
  lh_id id = lh_find_address(s, (uintptr_t)thread);
  assert_true(id != LH_NO_OBJECT);
  lh_object_at(s, id, &o);
  assert_int_equal(o.type, LH_TYPE_THREAD);
  return o.as.thread.status;
}

static uint64_t running_root(const lh_snapshot *s) {
  lh_edges it;
  lh_edge e;
  lh_object o;
  lh_edges_begin(s, LH_ROOT, &it);
  while (lh_edges_next(&it, &e)) {
    if (e.index != LH_ROOT_RUNNING_THREAD) continue;
    lh_object_at(s, e.target, &o);
    return o.address;
  }
  return 0;
}

/* In Lua: is the thread that calls the only one that runs? */
static int look_at_threads(lua_State *L) {
  lh_mirrored m = in_call();
  lh_snapshot *s = snapshot_from(L, &m, "a");
  lh_object o;
  unsigned n_running = 0;
  for (lh_id id = 1; id <= lh_snapshot_info(s)->objects; id++) {
    lh_object_at(s, id, &o);
    n_running += o.type == LH_TYPE_THREAD && o.as.thread.status == LH_THREAD_RUNNING;
  }
  assert_int_equal(n_running, 1);
  assert_int_equal(status_in(s, L), LH_THREAD_RUNNING);
  assert_int_equal(running_root(s), (uintptr_t)L);
  lh_close(s);
  remove_files();
  lua_pushboolean(L, 1);
  return 1;
}

/* One that is resumed by the host, which gives it no argument that leads there. */
static int resume_hidden(lua_State *L) {
  int n;
  lua_State *thread = lua_newthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, thread);
  lua_pushvalue(L, 1);
  lua_xmove(L, thread, 1);
  assert_int_equal(lua_resume(thread, L, 0, &n), LUA_OK);
  return 0;
}

static const char threads[] =
    "local look, hidden = ...\n"
    "local function all() look()\n"
    "  coroutine.wrap(function() look()\n"
    "    local co = coroutine.create(function() look() pcall(look) end)\n"
    "    coroutine.resume(co) look() end)()\n"
    "  local parent = coroutine.running()\n"
    "  coroutine.wrap(function() coroutine.status(parent) coroutine.resume(parent) look() end)()\n"
    "  local t <close> = setmetatable({}, {__close = function() look() end})\n"
    "  look()\n"
    "end\n"
    "all() coroutine.wrap(all)() hidden(all)\n"
    "coroutine.wrap(function() hidden(all) all() end)()\n";

static void test_threads(void **unused) {
  (void)unused;
  lua_State *L = own_new_heap();
  assert_int_equal(luaL_loadstring(L, threads), LUA_OK);
  lua_pushcfunction(L, look_at_threads);
  lua_pushcfunction(L, resume_hidden);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  int n;
  lua_State *thread = lua_newthread(L); /* as in a host whose main thread calls nothing */
  lua_pushcfunction(thread, look_at_threads);
  assert_int_equal(lua_resume(thread, L, 0, &n), LUA_OK);
  lua_close(L);
}

/* In the middle of a Lua function. An allocation sees `top` where it should be: between those it is
** where the last call has left it, which is here where the function's first local is. */
typedef struct watcher {
  own_arena arena;
  lua_State *L;
  bool armed;
} watcher;

static void *allocate_and_look(void *data, void *block, size_t old_bytes, size_t bytes) {
  watcher *w = data;
  if (w->armed && bytes > 0) {
    lh_mirrored m = in_call();
    lh_outside_request request = {.state = (uintptr_t)w->L, .path = "a"};
    const raw_value **top = (const raw_value **)(void *)((char *)w->L + RAW_THREAD_TOP),
                    *own = *top;
    w->armed = false;
    *top = RAW_FIELD(w->L, RAW_THREAD_CALL, const raw_call *)->function + 1;
    assert_int_equal(lh_write_mirrored(&m, &request, NULL), LH_OK);
    *top = own;
  }
  return own_allocate(&w->arena, block, old_bytes, bytes);
}

static int arm(lua_State *L) {
  ((watcher *)lua_touserdata(L, lua_upvalueindex(1)))->armed = true;
  return 0;
}

static void test_running_function(void **unused) {
  (void)unused;
  watcher w = {0};
  own_arena_begin(&w.arena);
  lua_State *L = w.L = any_newstate(allocate_and_look, &w);
  lua_pushlightuserdata(L, &w);
  lua_pushcclosure(L, arm, 1);
  lua_setglobal(L, "arm");
  static const char chunk[] =
      "local one, two = {}, {} T = two\n"
      "return (function() arm() local first, second = one, two\n"
      "  return function() return first end end)()";
  if (luaL_dostring(L, chunk) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  assert_false(w.armed);
  lua_getglobal(L, "T");
  lh_snapshot *s;
  assert_int_equal(lh_open(&s, "a", NULL), LH_OK);
  lh_edges it;
  lh_edge e;
  unsigned found = 0;
  lh_edges_begin(s, lh_find_address(s, (uintptr_t)L), &it);
  while (lh_edges_next(&it, &e)) {
    lh_object o, name;
    if (e.kind != LH_EDGE_LOCAL || e.name == LH_NO_OBJECT) continue;
    lh_object_at(s, e.target, &o);
    lh_object_at(s, e.name, &name);
    bool is_second = name.as.string.length == 6 && memcmp(name.as.string.bytes, "second", 6) == 0;
    found += is_second && o.address == (uintptr_t)lua_topointer(L, -1);
  }
  assert_int_equal(found, 1);
  lh_close(s);
  lua_close(L);
  remove_files();
}

/* ==== Extra space in front of each thread ============================================ */

static uint64_t bytes_of_thread(const lh_snapshot *s, const lua_State *thread) {
  lh_object o;
  lh_object_at(s, lh_find_address(s, (uintptr_t)thread), &o);
  return o.shallow_bytes;
}

/* As a Lua that was built with more or less of it counts: by so many bytes for each thread. */
static void test_extra_space(void **unused) {
  (void)unused;
  static const int64_t differences[] = {-8, 8, 24, 56, 1016};
  lua_State *L = own_new_heap();
  lh_mirrored m = in_call();
  int64_t *counted = (int64_t *)(void *)(lh_global_state(L) + RAW_GLOBAL_TOTAL_BYTES);
  lh_snapshot *usual = snapshot_from(L, &m, "a");
  for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
    enum { THREADS = 3 };
    *counted += differences[i] * THREADS;
    lh_snapshot *s = snapshot_from(L, &m, "b");
    assert_int_equal(bytes_of_thread(s, L), bytes_of_thread(usual, L) + (uint64_t)differences[i]);
    *counted += 8;
    lh_outside_request request = {.path = "c"};
    assert_int_equal(shoot(L, &m, &request, NULL), LH_EBUSY);
    *counted -= 8;
    m.is_quiet = false, m.is_lenient = true; /* then as many bytes may be what a change lacks */
    assert_int_equal(shoot(L, &m, &request, NULL), LH_EBUSY);
    m.is_quiet = true, m.is_lenient = false;
    *counted -= differences[i] * THREADS;
    lh_close(s);
  }
  lh_close(usual);
  lua_close(L);
  remove_files();
}

/* ==== A forged pointer ============================================================== */

/* F has constants, upvalues, locals, lines and a function in it, and stands in a call. */
static const char has_all[] =
    "S = ('s'):rep(1000) A = {} for i = 1, 100 do A[i] = i A['k' .. i] = i end\n"
    "local up, other = 1, {}\n"
    "function F(a)\n"
    "  local b = function() return up, other, a end\n"
    "  other['a constant'] = 2.5\n"
    "  coroutine.yield(b)\n"
    "  return b\n"
    "end\n"
    "C = coroutine.create(F) coroutine.resume(C, 1)\n";

static const void *global_named(lua_State *L, const char *name) {
  lua_getglobal(L, name);
  const void *object = lua_isstring(L, -1) ? lua_tostring(L, -1) : lua_topointer(L, -1);
  lua_pop(L, 1);
  return object;
}

/* What an object reaches is the target's, or the heap is refused: else a snapshot would show what
** is this process's own, as a text, a value, a line or the address in a reference. */
static void test_not_mirrored(void **unused) {
  (void)unused;
  lua_State *L = own_new_heap();
  lh_mirrored m = in_call();
  lh_outside_request request = {.path = "a"};
  if (luaL_dostring(L, has_all) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  const raw_table *table = global_named(L, "A");
  const raw_table *registry = lua_topointer(L, LUA_REGISTRYINDEX);
  const raw_lua_closure *f = global_named(L, "F");
  const raw_proto *p = f->proto;
  lua_pushinteger(L, 7);
  lua_pushcclosure(L, luaopen_base, 1);
  const raw_c_closure *c = lua_topointer(L, -1);
  (void)lua_newuserdatauv(L, 10, 1);
  const raw_userdata *u = lua_topointer(L, -1);
  const void *thread = global_named(L, "C");
  const void *const places[] = {global_named(L, "S"),
                                table,
                                table->array,
                                table->slots,
                                registry->slots,
                                f,
                                c,
                                c->upvalues,
                                f->upvalues[0],
                                f->upvalues[0]->value,
                                p,
                                p->code,
                                p->constants,
                                p->nested,
                                p->upvalues,
                                p->line_deltas,
                                p->locals,
                                u,
                                thread};
  assert_int_equal(shoot(L, &m, &request, NULL), LH_OK);
  remove_files();
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    own_lacks = (uintptr_t)places[i] + 1;
    own_region.end = own_region.present_bytes = own_lacks;
    if (shoot(L, &m, &request, NULL) != LH_EBUSY) fail_msg("place %zu is read", i);
  }
  own_lacks = 0;
  own_region.end = own_region.present_bytes = INT64_MAX;
  lua_close(L);
}

/* Memory above `own_lacks` is not the target's. */
static int code_without(lua_State *L, const void *lacks) {
  lh_mirrored m = in_call();
  lh_outside_request request = {.path = "a"};
  assert_int_equal(shoot(L, &m, &request, NULL), LH_OK);
  remove_files();
  own_lacks = (uintptr_t)lacks;
  own_region.end = own_region.present_bytes = own_lacks;
  int code = shoot(L, &m, &request, NULL);
  own_lacks = 0;
  own_region.end = own_region.present_bytes = INT64_MAX;
  return code;
}

/* The slot of a thread's first call is above its top, and has a function whose lines are memory of
** this process: one of them would be told as the line where the function stands. */
static void test_first_call_above_top(void **unused) {
  enum { ABOVE_TOP = 10 };
  (void)unused;
  static raw_line secret = {.pc = 0, .line = 1234};
  static const int8_t deltas[4];
  static uint32_t code[4];
  raw_proto proto = {.type = RAW_PROTO,
                     .n_code = 4,
                     .n_line_deltas = 4,
                     .n_lines = 1,
                     .code = code,
                     .line_deltas = deltas,
                     .lines = &secret};
  raw_lua_closure function = {.type = RAW_LUA_CLOSURE, .proto = &proto};
  lua_State *L = own_new_heap(), *thread = lua_newthread(L);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  const lh_state *state = lh_find_state(L, NULL);
  raw_call *call = (raw_call *)(uintptr_t)raw_base_call(&state->layout, thread);
  raw_value *slot = (raw_value *)(uintptr_t)raw_stack(&state->layout, thread) + ABOVE_TOP;
  slot->as.object = (const raw_object *)(const void *)&function;
  slot->type = RAW_LUA_CLOSURE | RAW_COLLECTABLE;
  call->function = slot;
  call->saved_pc = code + 1;
  assert_int_equal(code_without(L, &secret), LH_EBUSY);
}

/* The text of a __mode is no object of the state: its letters would show. 5.4.0: not read. */
static void test_mode_not_mirrored(void **unused) {
  (void)unused;
  static uint64_t memory[16];
  raw_string *secret = (raw_string *)(void *)memory;
  *secret = (raw_string){.type = RAW_SHORT_STRING, .short_length = 1};
  ((char *)memory)[sizeof *secret + offsetof(raw_string_body, contents)] = 'k';
  lua_State *L = own_new_heap();
  assert_int_equal(luaL_dostring(L, "return {__mode = 'k'}"), LUA_OK);
  const raw_table *t = lua_topointer(L, -1);
  raw_slot *slot = (raw_slot *)(uintptr_t)t->slots;
  slot->value.object = (const raw_object *)secret;
  assert_int_equal(code_without(L, secret), strcmp(LUA_RELEASE, "Lua 5.4.0") ? LH_EBUSY : LH_OK);
}

/* A mark may be linked behind a dead object: so that must be the target's, too. */
static void test_dead_and_not_mirrored(void **unused) {
  enum { SWEEPS = 3 };
  (void)unused;
  lua_State *L = own_new_heap();
  lua_newtable(L);
  raw_table *dead = (raw_table *)(uintptr_t)lua_topointer(L, -1);
  lua_pop(L, 1);
  char *global = (char *)(uintptr_t)RAW_FIELD(L, RAW_THREAD_GLOBAL, const char *);
  global[RAW_GLOBAL_GC_STATE] = SWEEPS;
  dead->marked ^= RAW_WHITES;
  assert_int_equal(code_without(L, (const char *)dead + 1), LH_EBUSY);
  global[RAW_GLOBAL_GC_STATE] = 0;
  dead->marked ^= RAW_WHITES;
  lua_close(L);
}

/* The name of a forged mark is longer than its userdata, whose length is near 2^64. The collector's
** count is forged, too: else the heap would be refused for its sum. */
static void test_length_wraps_around(void **unused) {
  enum { BYTES = 64, LONG_NAME = 60000 };
  (void)unused;
  lua_State *L = own_new_heap();
  lh_mirrored m = in_call();
  lh_outside_request request = {.path = "a"};
  lh_own_content *content = lua_newuserdatauv(L, BYTES, 0);
  raw_userdata *u = (raw_userdata *)(void *)((char *)content - offsetof(raw_userdata, gclist));
  lua_setglobal(L, "u");
  memset(content, 0, BYTES);
  assert_int_equal(shoot(L, &m, &request, NULL), LH_OK);
  remove_files();
  *content = (lh_own_content){
      .magic = LH_OWN_MAGIC, .serial = 1, .kind = LH_MARK_BY_MARK, .name_length = LONG_NAME};
  u->length = (uint64_t)-16;
  char *global = (char *)(uintptr_t)RAW_FIELD(L, RAW_THREAD_GLOBAL, const char *);
  *(int64_t *)(void *)(global + RAW_GLOBAL_TOTAL_BYTES) -= BYTES + 16;
  assert_int_equal(shoot(L, &m, &request, NULL), LH_EBUSY);
  u->length = BYTES;
  *(int64_t *)(void *)(global + RAW_GLOBAL_TOTAL_BYTES) += BYTES + 16;
  lua_close(L);
  remove_files();
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_attached),
                                     cmocka_unit_test(test_not_attached),
                                     cmocka_unit_test(test_after),
                                     cmocka_unit_test(test_after_inside),
                                     cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_running_function),
                                     cmocka_unit_test(test_extra_space),
                                     cmocka_unit_test(test_not_mirrored),
                                     cmocka_unit_test(test_first_call_above_top),
                                     cmocka_unit_test(test_mode_not_mirrored),
                                     cmocka_unit_test(test_dead_and_not_mirrored),
                                     cmocka_unit_test(test_length_wraps_around)};
  return folder_run(tests);
}
