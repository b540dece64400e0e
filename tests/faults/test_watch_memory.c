/*
** test_watch_memory.c - memory runs out under a watched state: the program sees what it would see
** without the watcher, the file is there before the error is, and afterwards all goes on.
*/
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base.h"
#include "folder.h"
#include "watched.h"

static const lh_watch_options out_of_memory = {.out_of_memory = true};

/* ==== A heap with a limit =========================================================== */

typedef struct greedy {
  const char *what, *program;
} greedy;

/* Each runs out of its 4 MiB in another place of Lua. */
static const greedy programs[] = {
    {"tables in a table", "local t = {} while true do t[#t + 1] = {t} end"},
    {"an array that doubles", "local t = {} while true do t[#t + 1] = 1 end"},
    {"a hash part that doubles", "local t = {} for i = 1, 1e9 do t[-i] = i end"},
    {"short strings", "local t = {} for i = 1, 1e9 do t[i] = 'x' .. i end"},
    {"a long string", "local s = 'x' while true do s = s .. s end"},
    {"closures", "local f while true do local g = f f = function() return g end end"},
    {"a buffer of string.rep", "local s = string.rep('x', 1 << 30)"},
    {"a buffer of table.concat",
     "local t = {} for i = 1, 3e4 do t[i] = ('x'):rep(40) end "
     "local s = table.concat(t) s = table.concat({s, s, s})"},
    {"a stack", /* of few calls, which are all that 5.4.0 and 5.4.1 allow */
     "assert(load('local function f() local ' .. ('a,'):rep(199) .. 'a return 1 + f() end "
     "f()'))()"},
    {"a stack of results",
     "local t = {} for i = 1, 5e4 do t[i] = i end select('#', "
     "table.unpack(t), table.unpack(t), table.unpack(t)) "
     "local function f(...) return select('#', 1, ...) + f(1, ...) end "
     "f(table.unpack(t))"},
    {"coroutines", "local t = {} while true do t[#t + 1] = coroutine.create(print) end"},
    {"coroutines that run",
     "local t = {} while true do t[#t + 1] = coroutine.wrap(coroutine.yield)"
     " t[#t]() end"},
    {"in a coroutine",
     "local co = coroutine.wrap(function() local t = {} "
     "while true do t[#t + 1] = {} end end) co()"},
    {"in a coroutine of a coroutine",
     "coroutine.wrap(function() coroutine.wrap(function() "
     "local t = {} while true do t[#t + 1] = {} end end)() end)()"},
    {"the parser",
     "assert(load(function() return 'x = {1, 2, \"' .. math.random() .. '\"} ' end))"},
    {"in a metamethod",
     "local t = setmetatable({}, {__index = function(t, k) "
     "t[k] = ('y'):rep(k) return t[k] end}) for i = 1, 1e9 do local _ = t[i] end"},
    {"in a sort",
     "local t, k = {}, {} for i = 1, 100 do t[i] = i end table.sort(t, function(a, b) "
     "for i = 1, 1000 do k[#k + 1] = {} end return a < b end)"},
    {"userdata and file handles",
     "local t = {} while true do t[#t + 1] = setmetatable({}, "
     "{__gc = function() end}) end"},
};

/* The program within pcall, in 4 MiB; then everything works again. The error is copied. */
static void run_greedy(host *h, const char *program, char *message, size_t size) {
  h->limit_bytes = h->live_bytes + (4 << 20);
  (void)snprintf(message, size, "%s", host_try(h, program));
  lua_settop(h->L, 0);
  h->limit_bytes = 0;
  host_run(h,
           "local t = {} for i = 1, 1000 do t[i] = {tostring(i)} end collectgarbage()\n"
           "assert(coroutine.wrap(function() return pcall(error, 'x') end)() == false)\n"
           "assert(debug.gethook() == nil)");
}

static void takes_one_before_the_error(void **state) {
  (void)state;
  static const char *const modes[] = {"collectgarbage('incremental')",
                                      "collectgarbage('generational')", "collectgarbage('stop')"};
  size_t n = 0;
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
      host plain, h;
      char expected[256], message[256];
      host_begin(&plain);
      host_run(&plain, modes[m]);
      run_greedy(&plain, programs[i].program, expected, sizeof expected);
      host_end(&plain);
      host_begin(&h);
      host_run(&h, modes[m]);
      host_watch(&h, out_of_memory);
      run_greedy(&h, programs[i].program, message, sizeof message);
      if (strcmp(expected, message) != 0) fail_msg("'%s' is not '%s'", message, expected);
      if (h.written != 1) fail_msg("%s: %d files", programs[i].what, (int)h.written);
      run_greedy(&h, programs[i].program, message, sizeof message); /* once is enough */
      host_end(&h);
      assert_int_equal(h.written, 1);
      n++;
    }
  }
  printf("faults: memory runs out under a watched program: %zu cases, %zu survived\n", n, n);
}

/* ==== Each growth fails in turn ===================================================== */

/* Something of everything. Deterministic: no table grows by keys that are strings, whose places
** differ from state to state, and no collection runs unless memory fails. */
static const char busy_program[] =
    "collectgarbage('stop')\n"
    "local t = {}\n"
    "for i = 1, 40 do t[i] = {i, tostring(i) .. 'x', key = i} end\n"
    "local co = coroutine.wrap(function(n) for i = 1, n do coroutine.yield({i}) end end)\n"
    "for i = 1, 10 do t[#t + 1] = co(20) end\n"
    "local s = string.rep('abc', 1000) .. table.concat({1, 2, 3}, ('-'):rep(500))\n"
    "local f = load('local a, b = ... return function(x) return a + b + x end')(1, 2)\n"
    "local function deep(n) return n == 0 and 0 or 1 + deep(n - 1) end\n"
    "local n = deep(300)\n"
    "local e = select(2, pcall(error, {}))\n"
    "assert(f(3) == 6 and n == 300 and #t == 50 and #s == 4003 and type(e) == 'table')";

static void run_busy(host *h, uint64_t first, uint64_t times, char *message, size_t size) {
  host_run(h, "local s = ('x'):rep(5000)"); /* Lua notes in the registry that it has buffers */
  assert_int_equal(luaL_loadstring(h->L, busy_program), LUA_OK);
  h->growths = 0;
  h->fail_at = first;
  h->fail_times = times;
  bool failed = lua_pcall(h->L, 0, 0, 0) != LUA_OK;
  (void)snprintf(message, size, "%s", failed ? lua_tostring(h->L, -1) : "ok");
  lua_settop(h->L, 0);
  h->fail_at = 0;
}

/* The n-th growth fails: once (Lua collects and goes on), twice (that is the end), or it and all
** that follow, so that no mark can be made either. */
static void changes_no_error(void **state) {
  (void)state;
  static const uint64_t times[] = {1, 2, UINT64_MAX};
  uint64_t cases = 0, written = 0, unwritten = 0;
  for (size_t i = 0; i < 3; i++) {
    for (uint64_t n = 1;; n++) {
      host plain, h;
      char expected[256], message[256];
      host_begin(&plain);
      run_busy(&plain, n, times[i], expected, sizeof expected);
      uint64_t growths = plain.growths;
      host_end(&plain);
      host_begin(&h);
      host_watch(&h, out_of_memory);
      run_busy(&h, n, times[i], message, sizeof message);
      if (strcmp(expected, message) != 0) {
        fail_msg("growth %d, %d times: '%s' is not '%s'", (int)n, (int)i, message, expected);
      }
      host_run(&h, "local t = {} for i = 1, 100 do t[i] = {} end");
      if (strcmp(message, "not enough memory") == 0) assert_int_equal(h.written + h.failed, 1);
      if (h.failed) assert_int_equal(h.error.code, LH_EMEMORY);
      written += (uint64_t)h.written;
      unwritten += (uint64_t)h.failed;
      h.failed = 0;
      host_end(&h);
      cases++;
      if (n >= growths && times[i] != UINT64_MAX) break;
      if (times[i] == UINT64_MAX && strcmp(message, "ok") == 0) break;
    }
  }
  assert_true(cases > 300);
  assert_true(written > 100);
  assert_true(unwritten > 100);
  printf("faults: each allocation of a watched program fails: %d cases, %d survived\n", (int)cases,
         (int)cases);
}

/* ==== The library's own memory ====================================================== */

/* Nothing is left behind by a start that failed, and the next one works. */
static void starts_or_changes_nothing(void **state) {
  (void)state;
  uint64_t cases = 0;
  for (int of_host = 0; of_host < 2; of_host++) {
    bool fails = true;
    for (uint64_t n = 1; fails; n++) {
      host h;
      void *data;
      lh_error error;
      lh_watch_options options = {.signal_number = SIGUSR2, .out_of_memory = true};
      host_begin(&h);
      h.growths = 0;
      h.fail_at = of_host ? n : 0;
      h.fail_times = UINT64_MAX;
      (void)lh_test_fail_allocation(of_host ? 0 : n);
      fails = lh_watch(h.L, &options, &error) < 0;
      (void)lh_test_fail_allocation(0);
      h.fail_at = 0;
      if (fails) {
        assert_int_equal(error.code, LH_EMEMORY);
        assert_ptr_equal(lua_getallocf(h.L, &data), host_allocate);
        host_watch(&h, options);
        host_run(&h, "ask() assert(written() == 1)");
      }
      host_end(&h);
      cases++;
      assert_true(n < 100);
    }
  }
  printf("faults: allocations while starting to watch: %d cases, %d survived\n", (int)cases,
         (int)cases);
}

/* What was to fail has failed by now, or there was less to fail. */
static void stop_failing_and_report(const lh_watch_report *report, void *payload) {
  (void)lh_test_fail_allocation(0);
  host_report(report, payload);
}

/* A snapshot that fails is reported, and the next one is taken. */
static void reports_what_fails(void **state) {
  (void)state;
  uint64_t cases = 0;
  for (int in_background = 0; in_background < 2; in_background++) {
    host h;
    host_begin(&h);
    host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2,
                                      .background = in_background,
                                      .report = stop_failing_and_report});
    int before = 0;
    for (uint64_t n = 1;; n++) {
      before = h.written;
      h.failed = 0;
      (void)lh_test_fail_allocation(n);
      host_run(&h, "ask() local n = 0");
      (void)lh_test_fail_allocation(0);
      if (!h.failed) break;
      assert_int_equal(h.failed, 1);
      assert_int_equal(h.error.code, LH_EMEMORY);
      assert_int_equal(h.written, before);
      host_run(&h, "local n = written() ask() repeat local t = {} until written() > n");
      cases++;
      assert_true(n < 100);
    }
    while (h.written == before) host_run(&h, "for i = 1, 1000 do local t = {} end");
    host_end(&h);
  }
  printf("faults: allocations of triggered snapshots: %d cases, %d survived\n", (int)cases,
         (int)cases);
}

/* Threads that could not be noted are not armed; nothing else. */
static void does_without_the_set_of_threads(void **state) {
  (void)state;
  host h;
  host_begin_watched(&h);
  (void)lh_test_fail_allocation(1);
  host_run(&h,
           "threads = {} for i = 1, 1000 do threads[i] = coroutine.create(function() ask() end)"
           " end");
  (void)lh_test_fail_allocation(0);
  host_run(&h,
           "for i = 1, 1000 do assert(coroutine.resume(threads[i])) assert(written() == i) end");
  host_run(&h, "threads = nil collectgarbage()");
  host_end(&h);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_one_before_the_error),      cmocka_unit_test(changes_no_error),
      cmocka_unit_test(starts_or_changes_nothing),       cmocka_unit_test(reports_what_fails),
      cmocka_unit_test(does_without_the_set_of_threads),
  };
  return folder_run(tests);
}
