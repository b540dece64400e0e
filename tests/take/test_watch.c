/*
** test_watch.c - at which instant a watcher takes its snapshots, and which threads of Lua it knows.
** The rest is in test_watch_hooks.c, _process.c and _memory.c.
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

#include "folder.h"
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

/* ==== Threads of Lua ================================================================ */

/* The set is what is on the collector's list. */
static void check_set(const host *h) {
  const lh_watcher *w = lh_watchers_find(h->L);
  size_t place = 0, in_set = 0, on_list = 0;
  while (lh_thread_set_next(&w->threads, &place)) in_set++;
  const raw_object *o = RAW_FIELD(w->global, RAW_GLOBAL_ALLGC, const raw_object *);
  for (; o; o = o->next) {
    if (o->type != RAW_THREAD) continue;
    on_list++;
    assert_true(lh_thread_set_has(&w->threads, (lua_State *)(uintptr_t)o));
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
  host_run(&h, "ask() assert(debug.gethook() == nil)"); /* the last signal may have had no answer */
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
  assert_int_equal(lh_take_snapshot(L, "own", LH_DEFAULT_STRING_BYTES, NULL), LH_OK);
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

/* A block of C code, which frees it with the function that it got it from. */
typedef struct kept_block {
  lua_Alloc alloc;
  void *data;
} kept_block;

static int free_with_kept(lua_State *L) {
  kept_block *f = *(kept_block **)lua_touserdata(L, 1);
  lua_Alloc alloc = f->alloc;
  assert_null(alloc(f->data, f, sizeof *f, 0));
  return 0;
}

static void push_keeper(lua_State *L) {
  kept_block **kept = lua_newuserdatauv(L, sizeof *kept, 0);
  void *data;
  lua_Alloc alloc = lua_getallocf(L, &data);
  *kept = alloc(data, NULL, 0, sizeof **kept);
  assert_non_null(*kept);
  **kept = (kept_block){.alloc = alloc, .data = data};
}

/* What C code has kept while a state was watched, or watched and tracked, works until the state is
** closed: its finalizers run after ours. */
static void stays_for_who_kept_it(void **state) {
  (void)state;
  for (int is_tracked = 0; is_tracked < 2; is_tracked++) {
    host h;
    host_begin(&h);
    lua_newtable(h.L);
    lua_pushcfunction(h.L, free_with_kept);
    lua_setfield(h.L, -2, "__gc");
    void *content = lua_newuserdatauv(h.L, sizeof(kept_block *), 0);
    lua_pushvalue(h.L, -2);
    (void)lua_setmetatable(h.L, -2); /* before ours: finalized after it */
    if (is_tracked)
      assert_int_equal(lh_track(h.L, &(lh_track_options){.brief = true}, NULL), LH_OK);
    host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
    push_keeper(h.L);
    memcpy(content, lua_touserdata(h.L, -1), sizeof(kept_block *));
    lua_pop(h.L, 1);
    lh_unwatch(h.L);
    if (is_tracked) assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    host_end(&h);
  }
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stays_for_who_kept_it), cmocka_unit_test(takes_at_the_next_safe_point),
      cmocka_unit_test(knows_all_threads),     cmocka_unit_test(names_the_thread_that_runs),
      cmocka_unit_test(hides_what_is_its_own), cmocka_unit_test(survives_signals_at_any_instant),
  };
  return folder_run(tests);
}
