/*
** test_write_core.c - a state in a core is walked and written, also amid a rehash and a panic.
** The mirror is this process's own memory (own_mirror.h).
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "folder.h"
#include "own_mirror.h"
#include "take/raw.h"

/* While Lua frees the vector of slots that a table had before it grew: all entries are in the new
** one by then. `missing` of them are taken out again, as before Lua has put them in. */
typedef struct rehash {
  own_arena *arena;
  lua_State *L;
  const raw_table *table;
  unsigned missing;
  size_t of_bytes; /* only of a vector of that size */
  lh_outside_request request;
  int result;
  bool is_done, is_core;
} rehash;

/* A core by this signal, of a program that does not run on; 0: gdb's. */
static void make_core(lh_mirrored *m, lh_target *target, int signal_number) {
  *target = own_target;
  target->is_core = true;
  target->signal = signal_number;
  m->target = target;
  m->stillness = LH_STILL_CORE;
  m->is_quiet = m->was_in_system_call = false;
}

static void bend_and_shoot(rehash *r) {
  lh_error error = {0};
  lh_mirrored m = in_call();
  lh_target target;
  raw_slot before[64], *slots = (raw_slot *)(uintptr_t)r->table->slots;
  uint64_t n = raw_hash_slots(r->table);
  assert_true(n <= 64);
  memcpy(before, slots, n * sizeof *slots);
  for (uint64_t i = 0, left = r->missing; i < n && left > 0; i++) {
    if (raw_is_empty(slots[i].value_type)) continue;
    slots[i].value_type = 0x10; /* an empty slot */
    left--;
  }
  if (r->is_core) make_core(&m, &target, SIGSEGV);
  r->request.path = "a";
  r->result = lh_write_mirrored(&m, &r->request, &error);
  memcpy(slots, before, n * sizeof *slots);
}

static void *allocate_amid(void *data, void *block, size_t old_bytes, size_t bytes) {
  rehash *r = data;
  bool is_old_vector = block && bytes == 0 && old_bytes == r->of_bytes && r->table && !r->is_done;
  if (is_old_vector) {
    r->is_done = true;
    bend_and_shoot(r);
  }
  return own_allocate(r->arena, block, old_bytes, bytes);
}

static void shoot_amid_rehash(unsigned missing, bool is_core, rehash *r) {
  enum { SLOTS = 32 };
  own_arena arena;
  own_arena_begin(&arena);
  *r = (rehash){.arena = &arena, .missing = missing, .is_core = is_core};
  lua_State *L = r->L = any_newstate(allocate_amid, r);
  assert_non_null(L);
  lua_gc(L, LUA_GCSTOP);
  luaL_openlibs(L);
  (void)luaL_dostring(L, "T = {} for i = 1, 32 do T['k' .. i] = i end k33 = 'k33'");
  lua_getglobal(L, "T");
  lua_getglobal(L, "k33");
  lua_pushinteger(L, SLOTS + 1);
  r->request.state = (uintptr_t)L;
  r->of_bytes = raw_slots_bytes(SLOTS);
  r->table = lua_topointer(L, -3);
  lua_rawset(L, -3);
  assert_true(r->is_done);
  lua_close(L);
}

/* 768 bytes (in 5.5 776) are the old vector: so it is in doubt,
** and so is the file, at each stage. */
static void test_core_amid_rehash(void **unused) {
  (void)unused;
  static const unsigned stages[] = {0, 1, 16, 31, 32};
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    rehash r;
    lh_snapshot *s;
    shoot_amid_rehash(stages[i], true, &r);
    assert_int_equal(r.result, LH_OK);
    assert_int_equal(r.request.unaccounted_bytes, r.of_bytes);
    assert_true(r.request.is_in_doubt);
    assert_int_equal(lh_open(&s, "a", NULL), LH_OK);
    assert_true(lh_snapshot_outside(s)->is_in_doubt);
    lh_close(s);
    (void)unlink("a");
  }
}

/* Of a process there is another try. */
static void test_process_amid_rehash(void **unused) {
  (void)unused;
  rehash r;
  shoot_amid_rehash(16, false, &r);
  assert_int_equal(r.result, LH_EBUSY);
}

static bool is_in_doubt(lua_State *L, const lh_mirrored *m) {
  lh_outside_request request = {.path = "a"};
  assert_int_equal(shoot(L, m, &request, NULL), LH_OK);
  assert_int_equal(request.unaccounted_bytes, 0);
  (void)unlink("a");
  return request.is_in_doubt;
}

/* Nothing shows a change. A program that ended by a fault of its own was amid none; one
** of which gdb made a core may have been, unless it was in a call or has run on. */
static void test_sound_core(void **unused) {
  (void)unused;
  lh_mirrored m = in_call();
  lh_target target;
  lua_State *L = own_new_heap();
  make_core(&m, &target, SIGSEGV);
  assert_false(is_in_doubt(L, &m));
  make_core(&m, &target, 0);
  assert_true(is_in_doubt(L, &m));
  m.is_quiet = true;
  assert_false(is_in_doubt(L, &m));
  lua_close(L);
}

/* lua_error() without lua_pcall(): Lua leaves its message on the stack, and calls abort(). */
static void test_panic(void **unused) {
  (void)unused;
  lh_mirrored m = in_call();
  lh_target target;
  lua_State *L = own_new_heap();
  make_core(&m, &target, SIGABRT);
  for (int has_message = 0; has_message < 2; has_message++) {
    lh_outside_request request = {.path = "a"};
    lua_settop(L, 0);
    if (has_message) lua_pushliteral(L, "boom");
    assert_int_equal(shoot(L, &m, &request, NULL), LH_OK);
    assert_int_equal(request.has_panicked, has_message);
    (void)unlink("a");
  }
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_core_amid_rehash), cmocka_unit_test(test_process_amid_rehash),
      cmocka_unit_test(test_panic), cmocka_unit_test(test_sound_core)};
  return folder_run(tests);
}
