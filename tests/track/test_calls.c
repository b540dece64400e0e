/*
** test_calls.c - calls and time of functions (calls.h). Calls are counted against what the programs
** below do; times against each other, to the nanosecond, and against sleeps, which take at least as
** long as they are asked for. So nothing depends on how fast or busy the machine is.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "rooms/all.h"
#include "rooms/take.h"
#include "track/calls.h"

/* ==== A program whose calls are counted ============================================= */

enum { MS = 1000000 };

static int sleep_ms(lua_State *L) {
  struct timespec left = {0, (long)luaL_checkinteger(L, 1) * MS};
  while (nanosleep(&left, &left) != 0) {}
  return 0;
}

static lua_State *new_sleeping_state(void) {
  lua_State *L = luaL_newstate();
  lh_error error;
  assert_non_null(L);
  luaL_openlibs(L);
  lua_register(L, "sleep", sleep_ms);
  assert_int_equal(lh_attach(L, &error), LH_OK);
  return L;
}

static void run_chunk(lua_State *L, const char *program) {
  bool fails = luaL_loadbuffer(L, program, strlen(program), "@t") != LUA_OK ||
               lua_pcall(L, 0, 0, 0) != LUA_OK;
  if (fails) fail_msg("%s", lua_tostring(L, -1));
}

/* The program has run, and its calls are counted; all has ended but the recorder. */
static lua_State *count_calls(bool stacks, const char *program) {
  lua_State *L = new_sleeping_state();
  lh_track_options options = {.time = true, .stacks = stacks};
  lh_error error;
  if (lh_track(L, &options, &error) != LH_OK) fail_msg("%s", error.message);
  run_chunk(L, program);
  lh_calls_complete(lh_recorder_of(L)->calls);
  return L;
}

static bool is_function(const lh_definitions *d, lh_stack_id stack, const char *name) {
  uint32_t definition = lh_definition_of_stack(d, stack);
  uint32_t id = definition ? d->functions[definition - 1].name : 0;
  if (!id) return false;
  uint32_t start = id > 1 ? d->name_ends[id - 2] : 0, n = d->name_ends[id - 1] - start;
  return n == strlen(name) && memcmp(d->name_bytes + start, name, n) == 0;
}

/* Of a function by name, "" for main chunks, wherever it was called. */
static lh_call_counts of(lua_State *L, const char *name) {
  const lh_recorder *r = lh_recorder_of(L);
  lh_call_counts sum = {0};
  for (lh_stack_id stack = 1; stack <= r->stacks->definitions.n_stacks; stack++) {
    lh_call_counts c = lh_calls_counts(r->calls, stack);
    if (!is_function(&r->stacks->definitions, stack, name)) continue;
    sum.calls += c.calls;
    sum.tail_calls += c.tail_calls;
    sum.self_ns += c.self_ns;
    sum.total_ns += c.total_ns;
    sum.is_constant |= c.is_constant;
  }
  return sum;
}

static void end_calls(lua_State *L) {
  lh_error error;
  assert_int_equal(lh_untrack(L, &error), LH_OK);
  assert_null(lua_gethook(L));
  lua_close(L);
}

/* ==================================================================================== */

static void counts_calls(void **state) {
  (void)state;
  for (int stacks = 0; stacks <= 1; stacks++) {
    lua_State *L =
        count_calls(stacks,
                    "local function leaf() end\n"
                    "local function twice() leaf() leaf() end\n"
                    "for _ = 1, 10 do twice() end\n"
                    "local function down(n) if n > 0 then down(n - 1) end end\n"
                    "down(20)\n"
                    "local function last(n) if n > 0 then return last(n - 1) end end\n"
                    "last(7)\n"
                    "table.sort({3, 1, 2, 5, 4}, function(a, b) leaf() return a < b end)\n"
                    "local t = setmetatable({}, {__index = function(_, k) return k end})\n"
                    "local _ = t.x, t.y, t.z\n"
                    "local function varying(...) return select('#', ...) end\n"
                    "varying(1, 2, varying())\n");
    assert_int_equal(of(L, "").calls, 1);
    assert_int_equal(of(L, "twice").calls, 10);
    assert_int_equal(of(L, "down").calls, 21);
    assert_int_equal(of(L, "last").calls, 8);
    assert_int_equal(of(L, "last").tail_calls, 7);
    assert_int_equal(of(L, "twice").tail_calls, 0);
    assert_int_equal(of(L, "__index").calls, 3);
    assert_int_equal(of(L, "varying").calls, 2);
    assert_true(of(L, "leaf").calls > 20);
    end_calls(L);
  }
}

static void takes_times(void **state) {
  lua_State *L = count_calls(true,
                             "local function inner() sleep(5) end\n"
                             "local function outer() inner() inner() sleep(5) end\n"
                             "outer()\n");
  (void)state;
  lh_call_counts inner = of(L, "inner"), outer = of(L, "outer"), chunk = of(L, "");
  assert_true(inner.self_ns >= 10 * MS);
  assert_true(outer.self_ns >= 5 * MS);
  assert_int_equal(inner.total_ns, inner.self_ns);
  assert_int_equal(outer.total_ns, outer.self_ns + inner.total_ns);
  assert_int_equal(chunk.total_ns, chunk.self_ns + outer.total_ns);
  end_calls(L);
}

/* Of functions that call themselves, or each other, the outermost call counts for the total. */
static void counts_recursion_once(void **state) {
  lua_State *L = count_calls(true,
                             "local function down(n) sleep(1) if n > 0 then down(n - 1) end end\n"
                             "down(5)\n"
                             "local odd\n"
                             "local function even(n) sleep(1) return n == 0 or not odd(n - 1) end\n"
                             "odd = function(n) sleep(1) return not even(n - 1) end\n"
                             "even(4)\n");
  (void)state;
  assert_int_equal(of(L, "down").calls, 6);
  assert_int_equal(of(L, "down").total_ns, of(L, "down").self_ns);
  lh_call_counts even = of(L, "even");
  assert_true(even.self_ns >= 3 * MS);
  assert_true(even.total_ns >= 5 * MS);
  lh_call_counts chunk = of(L, "");
  assert_int_equal(chunk.total_ns, chunk.self_ns + of(L, "down").total_ns + even.total_ns);
  end_calls(L);
}

/* The clocks of what a suspended coroutine runs stand, also where many run the same function. */
static void stops_clocks_of_the_suspended(void **state) {
  lua_State *L = count_calls(true,
                             "local function body() sleep(1) coroutine.yield() sleep(1) end\n"
                             "local a, b = coroutine.wrap(body), coroutine.wrap(body)\n"
                             "a() sleep(20) b() sleep(20) a() b()\n"
                             "local function inside() sleep(1) coroutine.wrap(body)() end\n"
                             "inside()\n"
                             "local function nest(n)\n"
                             "  sleep(1)\n"
                             "  if n > 0 then coroutine.wrap(nest)(n - 1) end\n"
                             "end\n"
                             "nest(3)\n");
  (void)state;
  lh_call_counts body = of(L, "body"), inside = of(L, "inside"), nest = of(L, "nest");
  lh_call_counts chunk = of(L, "");
  assert_int_equal(body.calls, 3);
  assert_true(body.self_ns >= 5 * MS);
  assert_int_equal(body.total_ns, body.self_ns);
  assert_true(chunk.self_ns >= 40 * MS);
  assert_true(inside.total_ns >= inside.self_ns + 1 * MS);
  assert_int_equal(nest.calls, 4);
  assert_int_equal(nest.total_ns, nest.self_ns); /* resumed by itself: one outermost call */
  uint64_t called = body.self_ns + inside.self_ns + nest.self_ns;
  assert_int_equal(chunk.total_ns, chunk.self_ns + called);
  end_calls(L);
}

/* An error leaves functions without a return. */
static void goes_on_after_errors(void **state) {
  lua_State *L = count_calls(true,
                             "local function fail(n) if n == 0 then error({}) end fail(n - 1) end\n"
                             "for i = 1, 50 do pcall(fail, i % 5) end\n"
                             "sleep(10)\n"
                             "local co = coroutine.create(fail)\n"
                             "coroutine.resume(co, 3)\n"
                             "sleep(10)\n"
                             "local function after() sleep(1) end\n"
                             "after()\n");
  (void)state;
  lh_call_counts fail_counts = of(L, "fail"), chunk = of(L, "");
  assert_int_equal(fail_counts.calls, 50 * 3 + 4);
  assert_int_equal(fail_counts.total_ns, fail_counts.self_ns);
  assert_true(chunk.self_ns >= 20 * MS);
  assert_int_equal(of(L, "after").total_ns, of(L, "after").self_ns);
  uint64_t called = fail_counts.self_ns + of(L, "after").self_ns;
  assert_int_equal(chunk.total_ns, chunk.self_ns + called);
  end_calls(L);
}

/* A function that has not returned when counting ends has the time until then. */
static void counts_what_is_still_active(void **state) {
  lua_State *L = new_sleeping_state();
  lh_track_options options = {.time = true};
  lh_error error;
  (void)state;
  assert_int_equal(lh_track(L, &options, &error), LH_OK);
  run_chunk(L,
            "local function body() sleep(3) coroutine.yield() end\n"
            "held = coroutine.wrap(body)\n"
            "held()\n"
            "sleep(3)\n");
  assert_int_equal(of(L, "body").total_ns, 0);
  lh_calls_complete(lh_recorder_of(L)->calls);
  assert_int_equal(of(L, "body").total_ns, of(L, "body").self_ns);
  assert_true(of(L, "body").self_ns >= 3 * MS);
  end_calls(L);
}

static void knows_constant_results(void **state) {
  lua_State *L = count_calls(true,
                             "local function one() return 1 end\n"
                             "local function text() return 'a' .. 'b', nil, true end\n"
                             "local function long() return ('x'):rep(100) end\n"
                             "local function varies(n) return n end\n"
                             "local function float(n) return n == 1 and 1 or 1.0 end\n"
                             "local function table() return {} end\n"
                             "local function none() end\n"
                             "local function once() return 1 end\n"
                             "local function fewer(n) if n == 1 then return 1, 2 end return 1 end\n"
                             "for i = 1, 3 do\n"
                             "  one() text() long() varies(i) float(i) table() none() fewer(i)\n"
                             "end\n"
                             "once()\n"
                             "local function of_caller(n) return n end\n"
                             "for _ = 1, 2 do of_caller(1) end\n"
                             "for _ = 1, 2 do of_caller(2) end\n");
  (void)state;
  assert_true(of(L, "one").is_constant);
  assert_true(of(L, "text").is_constant);
  assert_true(of(L, "long").is_constant);
  assert_false(of(L, "varies").is_constant);
  assert_false(of(L, "float").is_constant);
  assert_false(of(L, "table").is_constant);
  assert_false(of(L, "none").is_constant);
  assert_false(of(L, "once").is_constant);
  assert_false(of(L, "fewer").is_constant);
  assert_false(of(L, "of_caller").is_constant);
  end_calls(L);
}

static void see_nothing(lua_State *L, lua_Debug *event) {
  (void)L, (void)event;
}

static void leaves_hooks_of_the_program(void **state) {
  lua_State *L = new_sleeping_state();
  lh_track_options options = {.time = true};
  lh_error error;
  (void)state;
  lua_State *co = lua_newthread(L);
  lua_sethook(co, see_nothing, LUA_MASKLINE, 0);
  assert_int_equal(lh_track(L, &options, &error), LH_EARGUMENT);
  assert_non_null(strstr(error.message, "hook"));
  assert_ptr_equal(lua_gethook(co), see_nothing);
  assert_null(lua_gethook(L));
  lua_sethook(co, NULL, 0, 0);
  assert_int_equal(lh_track(L, &options, &error), LH_OK);
  assert_non_null(lua_gethook(co));
  lua_sethook(co, see_nothing, LUA_MASKLINE, 0);
  run_chunk(L, "local function f() end f()\n");
  assert_int_equal(lh_untrack(L, &error), LH_OK);
  assert_ptr_equal(lua_gethook(co), see_nothing);
  assert_null(lua_gethook(L));
  lua_close(L);
}

/* In the place of ours. What reads a freed block finds no thread in it. */
static void *spoil_freed(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)data;
  if (bytes > 0) return realloc(block, bytes);
  if (block) memset(block, 0xEE, old_bytes);
  free(block);
  return NULL;
}

static void reads_no_thread_that_died_unseen(void **state) {
  lua_State *L = new_sleeping_state();
  lh_track_options options = {.time = true, .pool = LH_POOL_NEVER};
  void *data;
  (void)state;
  assert_int_equal(lh_track(L, &options, NULL), LH_OK);
  luaL_checkstack(L, 100, NULL);
  for (int i = 0; i < 100; i++) (void)lua_newthread(L);
  lua_Alloc ours = lua_getallocf(L, &data);
  lua_setallocf(L, spoil_freed, NULL);
  lua_settop(L, 0);
  (void)lua_gc(L, LUA_GCCOLLECT);
  assert_int_equal(lh_untrack(L, NULL), LH_OK);
  lua_setallocf(L, ours, data);
  lua_close(L);
}

/* Coroutines that come and go leave nothing. */
static void does_not_grow(void **state) {
  uint64_t peaks[2];
  (void)state;
  for (int i = 0; i < 2; i++) {
    (void)lh_test_peak_bytes();
    lua_State *L = count_calls(true, i == 0 ? "n = 200" : "n = 20000");
    run_chunk(L,
              "collectgarbage('generational')\n"
              "local function body() coroutine.yield() end\n"
              "for i = 1, n do coroutine.wrap(body)() end\n");
    end_calls(L);
    peaks[i] = lh_test_peak_bytes();
  }
  assert_true(peaks[1] < peaks[0] * 2);
}

static void survives_without_memory(void **state) {
  uint64_t n_made = UINT64_MAX, n_counted = 0;
  (void)state;
  for (uint64_t i = 1; i <= n_made; i += 1 + i / 20) {
    lua_State *L = new_sleeping_state();
    lh_track_options options = {.time = true, .stacks = true};
    lh_error error;
    (void)lh_test_fail_allocation(i);
    if (lh_track(L, &options, &error) == LH_OK) {
      run_chunk(L,
                "local function f(n) if n > 0 then f(n - 1) end return n end\n"
                "for i = 1, 40 do coroutine.wrap(f)(i) end\n"
                "for i = 1, 40 do load('return function() return 1 end', '=' .. i)()() end\n"
                "pcall(f, 100)\n");
      n_counted = of(L, "f").calls;
      (void)lh_untrack(L, &error);
    }
    uint64_t n = lh_test_fail_allocation(0);
    if (n < i) n_made = n; /* none failed */
    lua_close(L);
  }
  assert_int_equal(n_counted, 40 * 41 / 2 + 40 + 101);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_calls),
      cmocka_unit_test(takes_times),
      cmocka_unit_test(counts_recursion_once),
      cmocka_unit_test(stops_clocks_of_the_suspended),
      cmocka_unit_test(goes_on_after_errors),
      cmocka_unit_test(counts_what_is_still_active),
      cmocka_unit_test(knows_constant_results),
      cmocka_unit_test(leaves_hooks_of_the_program),
      cmocka_unit_test(does_not_grow),
      cmocka_unit_test(survives_without_memory),
      cmocka_unit_test(reads_no_thread_that_died_unseen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
