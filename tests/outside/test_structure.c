/*
** test_structure.c - a state is seen in memory of which nothing is known: of all four layouts,
** whether the release is known or not; and each wrong field is refused with its own message.
** Forged memory (forged_memory.h) for what Lua would not leave, and a real state.
*/
#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "forged_memory.h"
#include "outside/structure.h"
#include "take/state.h"

extern const char lua_ident[];

static bool read_own(const void *memory, uint64_t address, void *out, size_t n) {
  (void)memory;
  struct iovec local = {out, n}, remote = {(void *)(uintptr_t)address, n};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static const lh_peek own = {read_own, NULL};

static int see(const void *main_thread, const char *known, lh_seen_state *seen, lh_error *error) {
  return lh_recognise_state(&own, (uintptr_t)main_thread, known, seen, error);
}

static void state_is_refused(const void *main_thread, const char *known, const char *why) {
  lh_error error = {0};
  lh_seen_state seen;
  assert_int_equal(see(main_thread, known, &seen, &error), LH_EHOST);
  if (!strstr(error.message, why)) fail_msg("'%s' does not say '%s'", error.message, why);
}

/* ==== Forged ======================================================================== */

static void sees_every_layout(void **state) {
  (void)state;
  for (size_t i = 0; i < N_RELEASES; i++) {
    for (int is_known = 0; is_known < 2; is_known++) {
      image m;
      lh_seen_state seen;
      lh_error error = {0};
      char known[16];
      image_begin(&m, &image_releases[i], is_known);
      lh_layout_release(m.host.ident, known);
      if (see(m.main, known, &seen, &error) < 0) fail_msg("%s", error.message);
      assert_string_equal(seen.layout->releases, image_releases[i].releases);
      assert_string_equal(seen.release, i < 3 ? image_releases[i].releases : "5.4");
      assert_int_equal(seen.main_thread_bytes, image_releases[i].block_bytes);
      assert_int_equal(seen.thread_bytes, image_releases[i].thread_bytes);
      assert_int_equal(seen.gc_bytes, GC_BYTES);
      assert_ptr_equal((void *)seen.main_thread, m.main);
      assert_ptr_equal((void *)seen.global, m.global);
      assert_ptr_equal((void *)seen.alloc, &m.allocator);
      image_end(&m);
    }
  }
}

CORRUPTION(no_global, put_pointer(m->main + 24, m->main + 8))
CORRUPTION(no_thread, m->main[8] = 5)
CORRUPTION(other_main, put_pointer(m->global + m->r->main_thread, m->registry))
CORRUPTION(other_base, put_pointer(m->main + m->r->base_call + 16, m->main))
CORRUPTION(lua_base, m->main[m->r->base_call + 62] = 0)
CORRUPTION(no_registry, m->global[72] = 5)
CORRUPTION(not_built, m->global[88] = 3)
CORRUPTION(odd_strings, put32(m->global + 60, 127))
CORRUPTION(no_strings, put32(m->global + 60, 0))
CORRUPTION(no_white, m->global[100] = 0)
CORRUPTION(two_whites, m->global[100] = WHITE | OTHER_WHITE)
CORRUPTION(bad_state, m->global[101] = 9)
CORRUPTION(bad_kind, m->global[102] = 2)
CORRUPTION(no_alloc, put_pointer(m->global, NULL))
CORRUPTION(other_registry, put_pointer(m->global + 64, image_string(m, "_G")))
CORRUPTION(null_registry, put_pointer(m->global + 64, NULL))
CORRUPTION(no_index, put_pointer(m->global + m->r->metamethods, NULL))
CORRUPTION(no_mode, put_pointer(m->global + m->r->metamethods + 24, image_string(m, "__modo")))
CORRUPTION(no_close, put_pointer(m->global + m->r->metamethods + 192, image_string(m, "__closed")))
CORRUPTION(no_string, put_pointer(m->global + m->r->metamethods + 24, m->registry))
CORRUPTION(closed, put64(m->global + 16, m->r->block_bytes); put64(m->global + 24, 0))
CORRUPTION(torn, put64(m->global + 16, 0); put64(m->global + 24, (uint64_t)-5000))

static const corruption corruptions[] = {
    {"no main thread with its global state is there", no_global},
    {"no main thread with its global state is there", no_thread},
    {"no main thread with its global state is there", other_main},
    {"no main thread with its global state is there", other_base},
    {"no main thread with its global state is there", lua_base},
    {"a global state is not built yet, or overwritten", no_registry},
    {"a global state is not built yet, or overwritten", not_built},
    {"a global state is not built yet, or overwritten", odd_strings},
    {"a global state is not built yet, or overwritten", no_strings},
    {"a global state is not built yet, or overwritten", no_white},
    {"a global state is not built yet, or overwritten", two_whites},
    {"a global state is not built yet, or overwritten", bad_state},
    {"a global state is not built yet, or overwritten", bad_kind},
    {"a global state is not built yet, or overwritten", no_alloc},
    {"its registry is no table", other_registry},
    {"its registry is no table", null_registry},
    {"the names of its metamethods are not where they are expected", no_index},
    {"the names of its metamethods are not where they are expected", no_mode},
    {"the names of its metamethods are not where they are expected", no_close},
    {"the names of its metamethods are not where they are expected", no_string},
    {"it was closed", closed},
    {"it was closed", torn},
};

static void refuses_every_wrong_field(void **state) {
  (void)state;
  for (size_t i = 0; i < N_RELEASES; i++) {
    for (size_t c = 0; c < sizeof corruptions / sizeof corruptions[0]; c++) {
      image m;
      image_begin(&m, &image_releases[i], false);
      corruptions[c].corrupt(&m);
      state_is_refused(m.main, "5.4", corruptions[c].what);
      image_end(&m);
    }
  }
}

static void refuses_what_is_nowhere(void **state) {
  (void)state;
  state_is_refused(NULL, "5.4", "no memory is there");
  state_is_refused((void *)UINTPTR_MAX, "5.4", "no memory is there");
}

/* As in test_layout.c. */
static void tells_541_from_542(void **state) {
  (void)state;
  for (size_t i = 1; i <= 2; i++) {
    image m;
    image_begin(&m, &image_releases[i], false);
    state_is_refused(m.main, "5.4.6", "it is of another release");
    image_end(&m);
  }
}

/* A main thread as that of `m`, of a build that chose another extra space and another number of
** strings in its cache; behind what malloc would note of a block of this size. */
static char *chosen_thread(image *m, size_t extra, size_t cached, uint64_t note) {
  size_t cache = m->r->global + m->r->metatables + 72;
  char *at = image_block(m, 4096 + 8 * cached), *main_thread = at + 64 + extra;
  put64(at + 56, note);
  memcpy(main_thread, m->main, cache);
  put_pointer(main_thread + 24, main_thread + m->r->global);
  put_pointer(main_thread + m->r->global + m->r->main_thread, main_thread);
  char *string = image_string(m, "cached"), *end = main_thread + cache + 8 * cached;
  for (size_t i = 0; i < cached; i++) put_pointer(main_thread + cache + 8 * i, string);
  put_pointer(end, NULL);
  put_pointer(end + 8, main_thread);
  return main_thread;
}

/* A host's own fields at the end of the thread, so that one layout has the distance of another. */
static void sees_appended_fields(void **state) {
  (void)state;
  for (size_t i = 0; i < N_RELEASES; i++) {
    for (size_t more = 0; more <= 64; more += 4) {
      image m;
      lh_seen_state seen;
      lh_error error = {0};
      image_begin(&m, &image_releases[i], true);
      char *thread = image_block(&m, 4096), *global = thread + m.r->global + more;
      memcpy(thread, m.main, m.r->global);
      memcpy(global, m.global, m.r->block_bytes - m.r->thread_bytes);
      put_pointer(thread + 24, global);
      put_pointer(global + m.r->main_thread, thread);
      if (more % 8) {
        state_is_refused(thread, "5.4", "no main thread with its global state is there");
      } else {
        if (see(thread, "5.4", &seen, &error) < 0) fail_msg("%s", error.message);
        assert_string_equal(seen.layout->releases, m.r->releases);
        assert_int_equal(seen.thread_bytes, m.r->thread_bytes + more);
        assert_int_equal(seen.main_thread_bytes, m.r->block_bytes + more);
      }
      image_end(&m);
    }
  }
}

/* The cache ends where there is no string; and malloc notes how big the block is, or 16 bytes more,
** and flags below that. The note is a candidate: sizes are those with the usual extra space. */
static void measures_what_the_build_chose(void **state) {
  (void)state;
  static const struct {
    size_t extra, cached, note, noted;
  } cases[] = {{8, 106, 1632 + 1, 8},   {8, 106, 1648 + 5, 8},     {0, 106, 1632 + 1, 0},
               {16, 106, 1648 + 1, 16}, {64, 106, 1696 + 3, 64},   {8, 10, 864 + 1, 8},
               {24, 212, 2496 + 1, 24}, {1024, 1, 1808 + 1, 1024}, {8, 106, 0, 8},
               {16, 106, 4096 + 1, 8}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    image m;
    lh_seen_state seen;
    lh_error error = {0};
    image_begin(&m, &image_releases[3], true);
    char *thread = chosen_thread(&m, cases[i].extra, cases[i].cached, cases[i].note);
    if (see(thread, "5.4", &seen, &error) < 0) fail_msg("%s", error.message);
    assert_int_equal(seen.noted_extra_bytes, cases[i].noted);
    assert_int_equal(seen.thread_bytes, 200 + 8);
    assert_int_equal(seen.main_thread_bytes, 200 + 8 + 568 + 8 * cases[i].cached);
    image_end(&m);
  }
}

/* ==== Real ========================================================================== */

static lua_State *new_seen_state(lh_seen_state *seen) {
  lh_error error;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (see(L, "5.4", seen, &error) < 0) fail_msg("%s", error.message);
  return L;
}

static void run_named(lua_State *L, const char *code, const char *name) {
  if (luaL_loadbuffer(L, code, strlen(code), name) || lua_pcall(L, 0, 0, 0))
    fail_msg("%s", lua_tostring(L, -1));
}

static void sees_a_real_state(void **state) {
  (void)state;
  lh_seen_state seen;
  lua_State *L = new_seen_state(&seen);
  uint64_t count =
      (uint64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (uint64_t)lua_gc(L, LUA_GCCOUNTB, 0);
  assert_int_equal(seen.gc_bytes, count);
  state_is_refused(lua_newthread(L), "5.4", "no main thread with its global state is there");
  lua_close(L);
}

static void source_is(const lh_seen_state *seen, lh_peek_where at, const char *expected) {
  char text[32] = "";
  bool found = seen->lua->peek_source(&own, seen, at, text, sizeof text);
  assert_int_equal(found, expected != NULL);
  if (expected) assert_string_equal(text, expected);
}

static void sees_what_a_state_runs(void **state) {
  (void)state;
  char text[8];
  lh_seen_state seen;
  lua_State *L = new_seen_state(&seen);
  assert_false(seen.lua->peek_argument(&own, &seen, text, sizeof text));
  for (lh_peek_where at = LH_PEEK_RUNNING; at <= LH_PEEK_NEWEST; at++) source_is(&seen, at, NULL);
  run_named(L, "arg = {[0] = 0}", "=one");
  assert_false(seen.lua->peek_argument(&own, &seen, text, sizeof text));
  run_named(L, "arg = {'a', [0] = 'a.lua', b = 2}", "=one");
  assert_true(seen.lua->peek_argument(&own, &seen, text, sizeof text));
  assert_string_equal(text, "a.lua");
  run_named(L, "arg = {[0] = ('long'):rep(100)} for i = 1, 1000 do _G[i .. 'x'] = i end", "=one");
  assert_true(seen.lua->peek_argument(&own, &seen, text, sizeof text));
  assert_string_equal(text, "longlon");
  source_is(&seen, LH_PEEK_NEWEST, "=one");
  lua_pushliteral(L, "a string");
  (void)luaL_loadbuffer(L, "return 1", 8, "a text");
  source_is(&seen, LH_PEEK_ON_STACK, "a text");
  (void)luaL_loadbuffer(L, "return 1", 8, "@a file");
  source_is(&seen, LH_PEEK_ON_STACK, "@a file");
  source_is(&seen, LH_PEEK_REGISTERED, NULL);
  (void)luaL_ref(L, LUA_REGISTRYINDEX);
  source_is(&seen, LH_PEEK_REGISTERED, "@a file");
  run_named(L, "x = 1 f = load('return 1', 'f')", "@one");
  source_is(&seen, LH_PEEK_GLOBAL, "f");
  run_named(L, "function g() end", "@a global");
  source_is(&seen, LH_PEEK_GLOBAL, "@a global");
  lua_close(L);
}

static int look_inside(lua_State *L) {
  const lh_seen_state *seen = lua_touserdata(L, lua_upvalueindex(1));
  source_is(seen, LH_PEEK_RUNNING, "@outer");
  return 0;
}

static void sees_the_outermost_function_that_runs(void **state) {
  (void)state;
  lh_seen_state seen;
  lua_State *L = new_seen_state(&seen);
  lua_pushlightuserdata(L, &seen);
  lua_pushcclosure(L, look_inside, 1);
  lua_setglobal(L, "look");
  run_named(L, "function inner() look() look() end", "@inner");
  run_named(L, "inner() coroutine.wrap(inner)()", "@outer");
  source_is(&seen, LH_PEEK_RUNNING, NULL);
  lua_close(L);
}

static void sees_whether_luaheap_is_loaded(void **state) {
  (void)state;
  lh_error error;
  lh_seen_state seen;
  lua_State *L = new_seen_state(&seen);
  for (int i = 0; i < 100; i++) { /* many others */
    lua_newuserdatauv(L, 100, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &error.message[i]);
  }
  uint64_t id;
  assert_false(seen.lua->peek_luaheap(&own, &seen, &id));
  if (lh_attach(L, &error) < 0) fail_msg("%s", error.message);
  assert_true(seen.lua->peek_luaheap(&own, &seen, &id));
  assert_int_equal(id, lh_push_state(L)->own.state_id);
  lua_close(L);
}

/* Whether the registry has an empty table or not. */
static void sees_where_its_code_is(void **state) {
  (void)state;
  lh_seen_state seen;
  lua_State *L = new_seen_state(&seen);
  Dl_info lua, there;
  assert_int_not_equal(dladdr(lua_ident, &lua), 0);
  for (int i = 0; i < 2; i++) {
    uint64_t address = seen.lua->peek_library(&own, &seen);
    assert_int_not_equal(dladdr((void *)(uintptr_t)address, &there), 0);
    assert_ptr_equal(there.dli_fbase, lua.dli_fbase);
    run_named(L, "package.preload[1] = 1 t = {}", "=one");
  }
  lua_close(L);
}

static void sees_other_numbers(void **state) {
  (void)state;
  lh_seen_state seen;
  lua_State *L = new_seen_state(&seen);
  assert_true(seen.lua->peek_numbers(&own, &seen));
  run_named(L, "math.maxinteger = 0x7FFFFFFF", "=one");
  assert_false(seen.lua->peek_numbers(&own, &seen));
  run_named(L, "math.maxinteger = nil math.pi = 3.1415927410125732", "=one");
  assert_false(seen.lua->peek_numbers(&own, &seen));
  run_named(L, "math.pi = nil", "=one");
  assert_true(seen.lua->peek_numbers(&own, &seen));
  run_named(L, "package.loaded.math = nil", "=one");
  assert_true(seen.lua->peek_numbers(&own, &seen));
  lua_close(L);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sees_every_layout),
      cmocka_unit_test(refuses_every_wrong_field),
      cmocka_unit_test(refuses_what_is_nowhere),
      cmocka_unit_test(tells_541_from_542),
      cmocka_unit_test(sees_appended_fields),
      cmocka_unit_test(measures_what_the_build_chose),
      cmocka_unit_test(sees_a_real_state),
      cmocka_unit_test(sees_what_a_state_runs),
      cmocka_unit_test(sees_the_outermost_function_that_runs),
      cmocka_unit_test(sees_whether_luaheap_is_loaded),
      cmocka_unit_test(sees_where_its_code_is),
      cmocka_unit_test(sees_other_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
