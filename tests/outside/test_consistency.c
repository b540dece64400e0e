/*
** test_consistency.c - heaps amid a change, and what is no heap any more: no file is made of them,
** and nobody crashes but the child that looked.
**
** A state of this process is damaged as a stop in the middle of Lua's own code would leave it, or
** worse. The mirror is this process's own memory (own_mirror.h).
*/
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "own_mirror.h"
#include "take/raw.h"
#include "take/state.h"

/* ==== A heap to be damaged ========================================================== */

static void *address_of(lua_State *L, const char *global) {
  lua_getglobal(L, global);
  void *object = (void *)(uintptr_t)lua_topointer(L, -1);
  lua_pop(L, 1);
  return object;
}

static const raw_object **head_of(lua_State *L) {
  return (const raw_object **)(void *)(lh_global_state(L) + RAW_GLOBAL_ALLGC);
}

/* An address at which nothing is, nor will be. */
static void *nowhere(void) {
  return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* What becomes of the snapshot of a heap that is sound, and then of the damaged one. The latter is
** left as it is: the state cannot be closed. */
static int code_after(const char *program, void (*damage)(lua_State *L), lh_error *error) {
  lua_State *L = own_run(program);
  lh_mirrored m = in_call();
  lh_outside_request request = {.path = "a"};
  assert_int_equal(shoot(L, &m, &request, error), LH_OK);
  assert_int_equal(unlink("a"), 0);
  damage(L);
  int code = shoot(L, &m, &request, error);
  assert_int_equal(access("a", F_OK), code == LH_OK ? 0 : -1);
  (void)unlink("a");
  return code;
}

/* ==== Lists ========================================================================= */

static void circle(lua_State *L) {
  const raw_object *o = *head_of(L);
  while (o->next->next) o = o->next; /* the last one is the main thread */
  ((raw_object *)(uintptr_t)o)->next = *head_of(L);
}

static void small_circle(lua_State *L) {
  raw_object *o = (raw_object *)(uintptr_t)*head_of(L);
  o->next = o;
}

static void dangling_next(lua_State *L) {
  raw_object *o = (raw_object *)(uintptr_t)*head_of(L);
  o->next = nowhere();
}

static void odd_next(lua_State *L) {
  raw_object *o = (raw_object *)(uintptr_t)*head_of(L);
  o->next = (const void *)((const char *)o->next + 1);
}

/* It is linked before its bytes are counted, or unlinked before. */
static void lost_object(lua_State *L) {
  *head_of(L) = (*head_of(L))->next;
}

static void unknown_type(lua_State *L) {
  ((raw_object *)(uintptr_t)*head_of(L))->type = 0x1B;
}

/* ==== Objects ======================================================================= */

static raw_string_body *body_of(lua_State *L) {
  return (raw_string_body *)((raw_string *)address_of(L, "S") + 1);
}

static void long_string(lua_State *L) {
  body_of(L)->long_length += 1;
}

static void endless_string(lua_State *L) {
  body_of(L)->long_length = UINT64_MAX - 10;
}

static void wild_array(lua_State *L) {
  ((raw_table *)address_of(L, "T"))->array_limit = UINT32_MAX;
}

static void dangling_array(lua_State *L) {
  ((raw_table *)address_of(L, "T"))->array = nowhere();
}

static void wild_slots(lua_State *L) {
  ((raw_table *)address_of(L, "T"))->log2_slots = 31;
}

static void wild_value(lua_State *L) {
  raw_value *v = (raw_value *)(uintptr_t)((raw_table *)address_of(L, "T"))->array;
  v->type = 0x5B;
}

static void endless_calls(lua_State *L) {
  void *thread = address_of(L, "C");
  raw_call *call = (raw_call *)(uintptr_t)RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  call->next = call;
}

static void wild_top(lua_State *L) {
  raw_value **top = (raw_value **)(void *)((char *)address_of(L, "C") + RAW_THREAD_TOP);
  *top += 1 << 20;
}

/* ==== Keys ========================================================================== */

static raw_slot *slots_of(lua_State *L, uint64_t *n) {
  const raw_table *t = address_of(L, "T");
  *n = raw_hash_slots(t);
  return (raw_slot *)(uintptr_t)t->slots;
}

/* As in the middle of an insertion: what came next in a chain is not found any more. */
static void cut_chain(lua_State *L) {
  uint64_t n;
  raw_slot *slots = slots_of(L, &n);
  for (uint64_t i = 0; i < n; i++) {
    if (slots[i].next == 0) continue;
    slots[i].next = 0;
    return;
  }
  fail_msg("no two keys have one place");
}

/* A key where it does not belong: it was moved there, but not linked yet. */
static void moved_key(lua_State *L) {
  uint64_t n, free_slot = 0, used = 0;
  raw_slot *slots = slots_of(L, &n);
  while (!raw_is_empty(slots[free_slot].value_type)) free_slot++;
  while (raw_is_empty(slots[used].value_type)) used++;
  raw_slot copy = slots[used];
  copy.next = 0;
  slots[free_slot] = copy;
}

static void chain_out_of_table(lua_State *L) {
  uint64_t n;
  raw_slot *slots = slots_of(L, &n);
  for (uint64_t i = 0; i < n; i++) slots[i].next = (int32_t)n;
}

/* ==================================================================================== */

#define KEYS(key) "T = {} for i = 1, 40 do T[" key "] = i end"

static void test_damaged(void **unused) {
  (void)unused;
  static const char simple[] =
      "S = string.rep('x', 100) T = {1, 2, 3, x = 1, y = 2, z = 3}\n"
      "C = coroutine.create(function() coroutine.yield() end) coroutine.resume(C)";
  static const struct {
    const char *program;
    void (*damage)(lua_State *L);
  } cases[] = {{simple, circle},
               {simple, small_circle},
               {simple, dangling_next},
               {simple, odd_next},
               {simple, lost_object},
               {simple, unknown_type},
               {simple, long_string},
               {simple, endless_string},
               {simple, wild_array},
               {simple, dangling_array},
               {simple, wild_slots},
               {simple, wild_value},
               {simple, endless_calls},
               {simple, wild_top},
               {KEYS("'k' .. i"), cut_chain},
               {KEYS("i * 1.5"), cut_chain},
               {KEYS("i * i"), cut_chain},
               {KEYS("print and {}"), cut_chain},
               {KEYS("string.rep('k', 100) .. i"), cut_chain},
               {KEYS("'k' .. i"), moved_key},
               {KEYS("i + 0.5"), moved_key},
               {KEYS("i * 1000003"), moved_key},
               {KEYS("{}"), moved_key},
               {KEYS("'k' .. i"), chain_out_of_table}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lh_error error = {0};
    int code = code_after(cases[i].program, cases[i].damage, &error);
    if (code != LH_EBUSY) fail_msg("case %zu: %d %s", i, code, error.message);
  }
}

/* What is freed is no state any more. */
static void closed(lua_State *L) {
  *(int64_t *)(void *)(lh_global_state(L) + RAW_GLOBAL_TOTAL_BYTES) = 1624;
  *(int64_t *)(void *)(lh_global_state(L) + RAW_GLOBAL_DEBT) = 0;
}

static void test_closed(void **unused) {
  (void)unused;
  lh_error error;
  assert_int_equal(code_after("T = {}", closed, &error), LH_EHOST);
  assert_non_null(strstr(error.message, "closed"));
}

/* ==== What is sound all the same ==================================================== */

/* All that keys can be, in tables that grew, lost keys and were refilled. */
static const char all_keys[] =
    "local keys = {function(i) return i end, function(i) return -i end,\n"
    "  function(i) return i << 33 end, function(i) return math.mininteger + i * 7 end,\n"
    "  function(i) return i / 3 end, function(i) return -i * 2.0 ^ 70 end,\n"
    "  function(i) return 'k' .. i end, function(i) return ('k'):rep(50) .. i end,\n"
    "  function(i) return {} end, function(i) return function() return i end end,\n"
    "  function(i) return ({print, pairs, next, type, load})[i % 5 + 1] end,\n"
    "  function(i) return i % 2 == 0 end, function(i) return coroutine.create(print) end}\n"
    "T = {[1 / 0] = 1, [-1 / 0] = 2, [io.stdout] = 3}\n"
    "for n = 1, 300 do\n"
    "  local t = {}\n"
    "  for i = 1, n do t[keys[i * n % #keys + 1](i * n)] = i end\n"
    "  local all = {} for k in pairs(t) do all[#all + 1] = k end\n"
    "  for i = 1, #all, 3 do t[all[i]] = nil end\n"
    "  for i = 1, n // 4 do t[keys[i % #keys + 1](i)] = i end\n"
    "  T[n] = t\n"
    "end\n"
    "collectgarbage() collectgarbage('generational') collectgarbage()\n";

static void nothing(lua_State *L) {
  (void)L;
}

static void test_all_keys(void **unused) {
  (void)unused;
  lh_error error = {0};
  if (code_after(all_keys, nothing, &error) < 0) fail_msg("%s", error.message);
}

/* A chunk that is being loaded has bytes that belong to no object: they are told where they are
** accepted. */
typedef struct loading {
  int strict, lenient;
  int64_t unaccounted_bytes;
} loading;

static const char *read_chunk(lua_State *L, void *data, size_t *n) {
  loading *l = data;
  lh_mirrored m = in_call();
  lh_outside_request request = {.path = "a"};
  static const char chunk[] = "local a, b, c = 1, 2, 3 return function() return a + b + c end";
  *n = l->strict ? 0 : sizeof chunk - 1;
  if (l->strict == 0) {
    l->strict = 1;
    return chunk;
  }
  l->strict = shoot(L, &m, &request, NULL);
  m.is_lenient = true;
  l->lenient = shoot(L, &m, &request, NULL);
  l->unaccounted_bytes = request.unaccounted_bytes;
  return NULL;
}

static void test_loading(void **unused) {
  (void)unused;
  loading l = {0};
  lua_State *L = own_run("T = {}");
  assert_int_equal(lua_load(L, read_chunk, &l, "=chunk", "t"), LUA_OK);
  assert_int_equal(l.strict, LH_EBUSY);
  assert_int_equal(l.lenient, LH_OK);
  assert_true(l.unaccounted_bytes > 0);
  assert_int_equal(unlink("a"), 0);
  lua_close(L);
}

/* Another EXTRA_STACK, say. Who was idle did not change it; no other try finds anything else. */
static void test_other_limits(void **unused) {
  (void)unused;
  static const struct other {
    lh_stillness stillness;
    int more_bytes, code;
  } others[] = {{LH_STILL_FORK, 16, LH_EBUSY},
                {LH_STILL_IDLE, 16, LH_EHOST},
                {LH_STILL_IDLE, -16, LH_EHOST},
                {LH_STILL_CORE, -16, LH_EHOST}};
  lua_State *L = own_run("T = {}");
  int64_t *counted = (int64_t *)(void *)(lh_global_state(L) + RAW_GLOBAL_TOTAL_BYTES);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    lh_error error = {0};
    lh_mirrored m = in_call();
    lh_outside_request request = {.path = "a"};
    m.stillness = others[i].stillness;
    *counted += others[i].more_bytes;
    assert_int_equal(shoot(L, &m, &request, &error), others[i].code);
    *counted -= others[i].more_bytes;
    bool names_limits = strstr(error.message, "bytes, and its collector counts ") != NULL;
    assert_int_equal(names_limits, others[i].code == LH_EHOST);
    assert_int_equal(access("a", F_OK), -1);
  }
  lua_close(L);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_damaged), cmocka_unit_test(test_closed),
                                     cmocka_unit_test(test_all_keys),
                                     cmocka_unit_test(test_loading),
                                     cmocka_unit_test(test_other_limits)};
  return folder_run(tests);
}
