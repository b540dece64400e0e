/*
** test_watch.c - at which instant a watcher takes its snapshots, what the program's own hooks see
** of it, and which threads of Lua it knows. The rest is in test_watch_process.c and _memory.c.
*/
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "take/watch.h"
#include "watched.h"

static void takes_at_the_next_safe_point(void **state) {
  (void)state;
  host h;
  host_begin_watched(&h);
  (void)raise(SIGUSR2); /* outside of any call */
  assert_int_equal(h.written, 0);
  host_run(&h, "assert(written() == 1)");
  host_run(&h, "ask() assert(written() == 2)");
  host_run(&h, "pcall(ask) assert(written() == 3)");
  host_run(&h, "coroutine.wrap(function() ask() assert(written() == 4) end)()");
  host_run(&h, "coroutine.wrap(function() coroutine.wrap(ask)() end)() assert(written() == 5)");
  host_run(&h, "setmetatable({}, {__gc = ask}) collectgarbage() assert(written() == 6)");
  host_run(&h, "table.sort({1, 2}, function() ask() return false end) assert(written() == 7)");
  (void)lua_getglobal(h.L, "ask"); /* no Lua code at all: its return */
  lua_call(h.L, 0, 0);
  assert_int_equal(h.written, 8);
  assert_null(lua_gethook(h.L));
  (void)raise(SIGUSR2); /* and never any code again: taken at the end */
  host_end(&h);
  assert_int_equal(h.written, 9);
}

/* {=== Hooks ========================================================================= */

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

/* }=================================================================================== */

/* {=== Threads of Lua ================================================================ */

/* The set is what is on the collector's list. */
static void check_set(const host *h) {
  const lh_watcher *w = lh_watchers_find(h->L);
  size_t place = 0, in_set = 0, on_list = 0;
  while (lh_threads_next(w, &place)) in_set++;
  const raw_object *o = RAW_FIELD(w->global, RAW_GLOBAL_ALLGC, const raw_object *);
  for (; o; o = o->next) {
    if (o->type != RAW_THREAD) continue;
    on_list++;
    assert_true(lh_threads_has(w, (lua_State *)(uintptr_t)o));
  }
  assert_int_equal(in_set, on_list);
}

static void knows_all_threads(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  host_run(&h, "old = {} for i = 1, 100 do old[i] = coroutine.create(print) end");
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
  check_set(&h);
  host_run(&h, "new = {}");
  for (int round = 0; round < 200; round++) {
    host_run(&h,
             "for i = 1, 50 do local n = math.random(3000) "
             "new[n] = not new[n] and coroutine.create(print) or nil old[n] = nil end");
    if (round % 10 == 0) host_run(&h, "collectgarbage()");
    if (round % 25 == 0)
      host_run(&h,
               "collectgarbage(math.random(2) == 1 and 'generational' or "
               "'incremental')");
    check_set(&h);
  }
  host_run(&h, "new, old = nil collectgarbage()");
  check_set(&h);
  host_end(&h);
}

static void on_alarm_ask(int number) {
  (void)number;
  (void)raise(SIGUSR2);
}

/* 5,000 signals a second at random instants, in a program that makes and drops coroutines, sets
** hooks, collects, and fails. At its end all is as it would be without. */
static void survives_signals_at_any_instant(void **state) {
  (void)state;
  host h;
  struct sigaction on_alarm = {.sa_handler = on_alarm_ask, .sa_flags = SA_RESTART}, before;
  struct itimerval fast = {{0, 199}, {0, 199}}, off = {{0, 0}, {0, 0}};
  host_begin_watched(&h);
  assert_int_equal(sigaction(SIGALRM, &on_alarm, &before), 0);
  assert_int_equal(setitimer(ITIMER_REAL, &fast, NULL), 0);
  host_run(
      &h,
      "local function hook() end\n"
      "local round = 0\n"
      "repeat\n"
      "  round = round + 1\n"
      "  local threads = {}\n"
      "  for i = 1, 20 do\n"
      "    local co = coroutine.wrap(function(n)\n"
      "      local t = {}\n"
      "      for k = 1, n do t[k] = {tostring(k)} if k % 5 == 0 then coroutine.yield(k) end end\n"
      "      if n % 3 == 0 then error('x') end\n"
      "      return 'end'\n"
      "    end)\n"
      "    threads[i] = co\n"
      "    assert(co(i + 5) == 5)\n"
      "  end\n"
      "  for i = 1, 20 do pcall(threads[i]) end\n"
      "  debug.sethook(hook, round % 2 == 0 and 'l' or 'crl', round % 7)\n"
      "  local set, mask, count = debug.gethook()\n"
      "  if set == hook then\n"
      "    assert(mask == (round % 2 == 0 and 'l' or 'crl') and count == round % 7)\n"
      "  else\n"
      "    assert(set == 'external hook')\n" /* ours, in this very call */
      "  end\n"
      "  for i = 1, 30 do local _ = i .. '' end\n"
      "  debug.sethook()\n"
      "  set = debug.gethook()\n"
      "  assert(set == nil or set == 'external hook')\n"
      "  if round % 5 == 0 then collectgarbage(round % 2 == 0 and 'generational' or "
      "'incremental')\n"
      "    collectgarbage() end\n"
      "until written() >= 300\n");
  assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
  host_run(&h, "assert(debug.gethook() == nil)");
  check_set(&h);
  printf("faults: signals at any instant: %d cases, %d survived\n", h.written, h.written);
  host_end(&h);
}

/* The status of each thread in the file: one runs, and those that have resumed it are normal. */
static lh_thread_status statuses[LH_THREAD_FAILED + 1];
static bool main_runs;

static void count_statuses(const lh_watch_report *report, void *payload) {
  lh_snapshot *snapshot;
  memset(statuses, 0, sizeof statuses);
  if (lh_open(&snapshot, report->path, NULL) < 0) return;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    lh_object object;
    if (lh_type_of(snapshot, id) != LH_TYPE_THREAD || lh_is_own(snapshot, id)) continue;
    lh_object_at(snapshot, id, &object);
    statuses[object.as.thread.status]++;
    if (object.as.thread.status == LH_THREAD_RUNNING) main_runs = object.as.thread.is_main;
  }
  lh_close(snapshot);
  host_report(report, payload);
}

static void names_the_thread_that_runs(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2, .report = count_statuses});
  host_run(&h,
           "suspended = coroutine.wrap(coroutine.yield) suspended()\n"
           "fresh = coroutine.create(print)\n"
           "local function deep(n)\n"
           "  if n == 0 then ask() else coroutine.wrap(deep)(n - 1) end\n"
           "end\n"
           "deep(50)");
  assert_int_equal(h.written, 1);
  assert_int_equal(statuses[LH_THREAD_RUNNING], 1);
  assert_false(main_runs);
  assert_int_equal(statuses[LH_THREAD_NORMAL], 50);
  assert_int_equal(statuses[LH_THREAD_SUSPENDED], 1);
  assert_int_equal(statuses[LH_THREAD_NOT_STARTED], 1);
  host_end(&h);
}

/* Threads and userdata that a report would show. */
static uint32_t count_shown(lua_State *L) {
  lh_snapshot *snapshot;
  uint32_t n = 0;
  assert_int_equal(lh_take_snapshot(L, "own", NULL, NULL, NULL), LH_OK);
  assert_int_equal(lh_open(&snapshot, "own", NULL), LH_OK);
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    lh_type type = lh_type_of(snapshot, id);
    n += (type == LH_TYPE_THREAD || type == LH_TYPE_USERDATA) && !lh_is_own(snapshot, id);
  }
  lh_close(snapshot);
  (void)unlink("own");
  return n;
}

static void hides_what_is_its_own(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  uint32_t before = count_shown(h.L);
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
  assert_int_equal(count_shown(h.L), before);
  host_end(&h);
}

/* }=================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_at_the_next_safe_point),
      cmocka_unit_test(leaves_the_programs_hook_all_its_events),
      cmocka_unit_test(does_not_lose_a_snapshot_to_another_hook),
      cmocka_unit_test(survives_a_hook_that_does_not_return),
      cmocka_unit_test(survives_a_hook_that_yields),
      cmocka_unit_test(hands_our_hook_to_no_new_thread),
      cmocka_unit_test(knows_all_threads),
      cmocka_unit_test(names_the_thread_that_runs),
      cmocka_unit_test(hides_what_is_its_own),
      cmocka_unit_test(survives_signals_at_any_instant),
  };
  char folder[] = "/tmp/luaheap-watch-XXXXXX";
  if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (rmdir(folder) != 0) fprintf(stderr, "something was left in %s\n", folder);
  return failed;
}
