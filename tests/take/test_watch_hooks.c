/* test_watch_hooks.c - what the program's own hooks see of a watcher: nothing. */
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "soak.h"
#include "take/watch.h"
#include "watched.h"

enum { TRAP_FLAG = 0x100 };

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

static int count_yields(bool with_signal) {
  host h;
  int n_results, n_yields = 0;
  host_begin_watched(&h);
  h.keeps_quiet = !with_signal;
  lua_State *co = lua_newthread(h.L);
  lua_sethook(co, yield_hook, LUA_MASKCOUNT, 10);
  assert_int_equal(luaL_loadstring(co,
                                   "local n = 0 for i = 1, 300 do n = n + i end "
                                   "ask() for i = 1, 300 do n = n + i end return n"),
                   LUA_OK);
  while (lua_resume(co, h.L, 0, &n_results) == LUA_YIELD) n_yields++;
  assert_int_equal(n_results, 1);
  assert_int_equal(lua_tointeger(co, -1), 90300);
  assert_int_equal(h.written, with_signal);
  lua_settop(h.L, 0);
  host_end(&h);
  return n_yields;
}

static void survives_a_hook_that_yields(void **state) {
  (void)state;
  assert_true(count_yields(false) > 100); /* how many it is differs between releases */
  assert_int_equal(count_yields(true), count_yields(false));
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

static lua_Hook kept_hook;
static int kept_mask;

static int ask_and_keep_hook(lua_State *L) {
  (void)raise(SIGUSR2);
  kept_hook = lua_gethook(L);
  kept_mask = lua_gethookmask(L);
  return 0;
}

/* C code that puts back what it has found may have found ours. It fires once. */
static void goes_where_the_program_has_kept_it(void **state) {
  (void)state;
  host h;
  host_begin_watched(&h);
  lua_register(h.L, "ask_and_keep_hook", ask_and_keep_hook);
  host_run(&h, "ask_and_keep_hook() assert(written() == 1)");
  assert_null(lua_gethook(h.L));
  lua_sethook(h.L, kept_hook, kept_mask, 1);
  host_run(&h, "local a = 1");
  assert_null(lua_gethook(h.L));
  host_end(&h);
}

/* ==== A signal at each instruction ================================================== */

#if defined(__x86_64__)

/* With the trap flag set the processor raises SIGTRAP after each machine instruction. The handler
** counts them, and sends the signals of the test: so they come between the same two instructions
** in each run, however busy the machine is. */
static struct {
  bool on;
  long n, signal_at[2]; /* the instruction after which a signal comes; 0: none */
} steps;

static void on_step(int number, siginfo_t *info, void *context) {
  greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
  (void)number;
  (void)info;
  *flags = steps.on ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
  steps.n++;
  if (steps.n != steps.signal_at[0] && steps.n != steps.signal_at[1]) return;
  steps.on = steps.n < steps.signal_at[1]; /* no steps through the snapshot */
  (void)raise(SIGUSR2);
}

static void begin_steps(void) {
  steps.n = 0;
  steps.on = true;
  (void)syscall(SYS_tgkill, getpid(), gettid(), SIGTRAP);
}

static void host_begin_steps(host *h) {
  struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
  host_begin_watched(h);
  assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
}

typedef struct setting {
  lua_Hook hook;
  int mask, count;
} setting;

static const setting *next_setting;

/* The program's lua_sethook, in steps. The count is its own at each moment. */
static int set_hook_in_steps(lua_State *L) {
  begin_steps();
  lua_sethook(L, next_setting->hook, next_setting->mask, next_setting->count);
  steps.on = false;
  if (lua_gethookcount(L) != next_setting->count) return luaL_error(L, "the count is another");
  return 0;
}

static void check_setting(lua_State *L, const setting *expected) {
  assert_ptr_equal(lua_gethook(L), expected->hook);
  assert_int_equal(lua_gethookmask(L), expected->mask);
  assert_int_equal(lua_gethookcount(L), expected->count);
}

/* From one setting to the other, with signals `gap` instructions apart: first before lua_sethook,
** then after each of its instructions. The hook is the program's again after the next signal that
** finds it out of lua_sethook. */
static void set_with_signals(const setting *from, const setting *to, int gap) {
  host h;
  host_begin_steps(&h);
  lua_register(h.L, "set_hook", set_hook_in_steps);
  next_setting = to;
  for (long at = 1; at == 1 || steps.n >= at; at += soak_step(1)) {
    steps.signal_at[0] = at;
    steps.signal_at[1] = gap ? at + gap : 0;
    lua_sethook(h.L, from->hook, from->mask, from->count);
    host_run(&h, "set_hook() local a = 1; a = 2");
    int written = h.written;
    host_run(&h, "ask() local a = 1");
    assert_true(h.written > written);
    check_setting(h.L, to);
  }
  lua_sethook(h.L, NULL, 0, 0);
  host_end(&h);
}

static void leaves_a_hook_that_is_being_set(void **state) {
  (void)state;
  static const setting settings[] = {{NULL, 0, 0},
                                     {count_event, LUA_MASKLINE, 0},
                                     {count_event, LUA_MASKCOUNT, 1},
                                     {count_event, LUA_MASKCOUNT, 1000},
                                     {count_event, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 7},
                                     {count_event, 15, 3}};
  enum { N = sizeof settings / sizeof settings[0] };
  for (size_t from = 0; from < N; from++) {
    for (size_t to = 0; to < N; to++) set_with_signals(&settings[from], &settings[to], 0);
  }
  for (int gap = 1; gap < 8; gap++) {
    set_with_signals(&settings[0], &settings[5], gap);
    set_with_signals(&settings[5], &settings[0], gap);
    set_with_signals(&settings[5], &settings[2], gap);
  }
}

/* The steps are those from one event, the n-th, to the next. */
static int n_events, first_event;

static void count_event_and_step(lua_State *L, lua_Debug *ar) {
  steps.on = false;
  count_event(L, ar);
  if (++n_events == first_event) begin_steps();
}

static events run_in_steps(host *h, const setting *s, int event, long at) {
  steps.signal_at[0] = at;
  steps.signal_at[1] = steps.n = n_events = 0;
  first_event = event;
  seen = (events){.mask = s->mask};
  assert_int_equal(luaL_loadstring(h->L,
                                   "local n = 1\n"
                                   "type(n)\n"
                                   "n = n + n\n"
                                   "n = -n\n"),
                   LUA_OK);
  lua_sethook(h->L, s->hook, s->mask, s->count);
  assert_int_equal(lua_pcall(h->L, 0, 0, 0), LUA_OK);
  steps.on = false;
  check_setting(h->L, s);
  lua_sethook(h->L, NULL, 0, 0);
  return seen;
}

/* Wherever Lua counts, in one instruction if a compiler has optimised it, and looks for lines.
** Whenever lua_sethook of 5.4.0 is called Lua forgets which line it has told last, and may tell it
** again. */
static void leaves_all_events_at_any_instruction(void **state) {
  (void)state;
  static const setting settings[] = {{count_event_and_step, LUA_MASKCALL | LUA_MASKRET, 0},
                                     {count_event_and_step, LUA_MASKCOUNT, 2},
                                     {count_event_and_step, 15, 3}};
  host h;
  host_begin_steps(&h);
  bool forgets_line = strcmp(lh_find_state(h.L, NULL)->release, "5.4.0") == 0;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    events without = run_in_steps(&h, &settings[i], 0, 0);
    for (int event = 1, n = n_events; event < n - 1; event++) {
      for (long at = 1; at == 1 || steps.n >= at; at += soak_step(1)) {
        events with = run_in_steps(&h, &settings[i], event, at);
        if (forgets_line && with.lines == without.lines + 1) with.lines--;
        assert_memory_equal(&with, &without, sizeof with);
      }
    }
  }
  host_end(&h);
}

#endif

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(leaves_the_programs_hook_all_its_events),
    cmocka_unit_test(does_not_lose_a_snapshot_to_another_hook),
    cmocka_unit_test(survives_a_hook_that_does_not_return),
    cmocka_unit_test(survives_a_hook_that_yields),
    cmocka_unit_test(hands_our_hook_to_no_new_thread),
    cmocka_unit_test(goes_where_the_program_has_kept_it),
#if defined(__x86_64__)
    cmocka_unit_test(leaves_a_hook_that_is_being_set),
    cmocka_unit_test(leaves_all_events_at_any_instruction),
#endif
  };
  return folder_run(tests);
}
