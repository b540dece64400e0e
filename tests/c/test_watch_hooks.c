/*
** test_watch_hooks.c - what the program's own hooks see of a watcher: nothing.
*/
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "watched.h"

typedef struct events {
  int calls, returns, lines, counts, spurious, mask;
} events;

static events seen;

static void count_event(lua_State *L, lua_Debug *ar) {
  static const int masks[] = {LUA_MASKCALL, LUA_MASKRET, LUA_MASKLINE, LUA_MASKCOUNT, LUA_MASKCALL};
  (void)L;
  if (!(masks[ar->event] & seen.mask)) seen.spurious++;
  switch (ar->event) {
    case LUA_HOOKLINE: seen.lines++; break;
    case LUA_HOOKCOUNT: seen.counts++; break;
    case LUA_HOOKRET: seen.returns++; break;
    default: seen.calls++;
  }
}

/* A program with 100 signals in it, or none, under a hook of its own. */
static events run_hooked(int mask, int count, bool with_signals) {
  static const char program[] =
      "local function f(n)\n"
      "  if n % 10 == 0 then\n"
      "    ask()\n"
      "  end\n"
      "  return n + 1\n"
      "end\n"
      "local n = 0\n"
      "while n < 1000 do n = f(n) end\n";
  host h;
  host_begin_watched(&h);
  h.keeps_quiet = !with_signals;
  seen = (events){.mask = mask};
  assert_int_equal(luaL_loadstring(h.L, program), LUA_OK);
  lua_sethook(h.L, count_event, mask, count);
  assert_int_equal(lua_pcall(h.L, 0, 0, 0), LUA_OK);
  assert_ptr_equal(lua_gethook(h.L), count_event);
  assert_int_equal(lua_gethookmask(h.L), mask);
  assert_int_equal(lua_gethookcount(h.L), count);
  lua_sethook(h.L, NULL, 0, 0);
  assert_int_equal(h.written, with_signals ? 100 : 0);
  host_end(&h);
  return seen;
}

/* Not one event more or less, of any kind. */
static void leaves_the_programs_hook_all_its_events(void **state) {
  (void)state;
  static const int masks[] = {LUA_MASKLINE,
                              LUA_MASKCOUNT,
                              LUA_MASKCALL,
                              LUA_MASKRET,
                              LUA_MASKLINE | LUA_MASKCOUNT,
                              LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT};
  for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
    for (int count = 1; count < 40; count += 6) {
      events without = run_hooked(masks[i], count, false);
      events with = run_hooked(masks[i], count, true);
      assert_int_equal(with.spurious, 0);
      assert_int_equal(with.lines, without.lines);
      assert_int_equal(with.counts, without.counts);
      assert_int_equal(with.calls, without.calls);
      assert_int_equal(with.returns, without.returns);
    }
  }
}

/* While our hook waits C code sets another one, in the very call that was interrupted. */
static int ask_and_set_hook(lua_State *L) {
  (void)raise(SIGUSR2);
  lua_sethook(L, count_event, LUA_MASKLINE, 0);
  return 0;
}

static void does_not_lose_a_snapshot_to_another_hook(void **state) {
  (void)state;
  host h;
  host_begin_watched(&h);
  lua_register(h.L, "ask_and_set_hook", ask_and_set_hook);
  seen = (events){.mask = LUA_MASKLINE};
  host_run(
      &h,
      "ask_and_set_hook() local t = {}\nfor i = 1, 1000 do t[i] = {} end assert(written() == 1)");
  assert_true(seen.lines > 1);
  assert_int_equal(seen.spurious, 0);
  assert_ptr_equal(lua_gethook(h.L), count_event);
  assert_int_equal(lua_gethookmask(h.L), LUA_MASKLINE);
  lua_sethook(h.L, NULL, 0, 0);
  host_end(&h);
}

static int raise_error(lua_State *L) {
  return luaL_error(L, "from the hook");
}

static void error_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  (void)raise_error(L);
}

/* The program's hook may leave by an error or a yield. */
static void survives_a_hook_that_does_not_return(void **state) {
  (void)state;
  host h;
  host_begin_watched(&h);
  lua_sethook(h.L, error_hook, LUA_MASKCOUNT, 1);
  (void)raise(SIGUSR2);
  assert_true(luaL_dostring(h.L, "return 1"));
  assert_string_equal(lua_tostring(h.L, -1), "from the hook");
  lua_settop(h.L, 0);
  assert_int_equal(h.written, 1);
  assert_ptr_equal(lua_gethook(h.L), error_hook);
  lua_sethook(h.L, NULL, 0, 0);
  host_run(&h, "ask() assert(written() == 2)");
  host_end(&h);
}

static void yield_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  (void)lua_yield(L, 0);
}

static void survives_a_hook_that_yields(void **state) {
  (void)state;
  host h;
  int n_results, n_yields = 0;
  host_begin_watched(&h);
  lua_State *co = lua_newthread(h.L);
  lua_sethook(co, yield_hook, LUA_MASKCOUNT, 10);
  assert_int_equal(luaL_loadstring(co,
                                   "local n = 0 for i = 1, 300 do n = n + i end "
                                   "ask() for i = 1, 300 do n = n + i end return n"),
                   LUA_OK);
  while (lua_resume(co, h.L, 0, &n_results) == LUA_YIELD) n_yields++;
  assert_int_equal(n_results, 1);
  assert_int_equal(lua_tointeger(co, -1), 90300);
  assert_int_equal(h.written, 1);
  assert_in_range(n_yields, 120, 130);
  lua_settop(h.L, 0);
  host_end(&h);
}

/* A thread that is made while another one is armed starts with the program's hook. */
static int ask_and_make_thread(lua_State *L) {
  (void)raise(SIGUSR2);
  lua_State *thread = lua_newthread(L);
  if (lua_gethook(thread) != count_event || lua_gethookmask(thread) != LUA_MASKLINE) {
    return luaL_error(L, "the thread has another hook");
  }
  return 1;
}

static void hands_our_hook_to_no_new_thread(void **state) {
  (void)state;
  host h;
  host_begin_watched(&h);
  lua_register(h.L, "ask_and_make_thread", ask_and_make_thread);
  seen = (events){.mask = LUA_MASKLINE};
  lua_sethook(h.L, count_event, LUA_MASKLINE, 0);
  host_run(&h,
           "threads = {} for i = 1, 100 do threads[i] = ask_and_make_thread()\n"
           "assert(written() == i) end");
  lua_sethook(h.L, NULL, 0, 0);
  host_end(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(leaves_the_programs_hook_all_its_events),
      cmocka_unit_test(does_not_lose_a_snapshot_to_another_hook),
      cmocka_unit_test(survives_a_hook_that_does_not_return),
      cmocka_unit_test(survives_a_hook_that_yields),
      cmocka_unit_test(hands_our_hook_to_no_new_thread),
  };
  char folder[] = "/tmp/luaheap-hooks-XXXXXX";
  if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (rmdir(folder) != 0) fprintf(stderr, "something was left in %s\n", folder);
  return failed;
}
