/*
** test_watch_hosts.c - watchers in hosts that call Lua code in other ways than lua.c: a thread for
** each event, threads that C code resumes, a hook of their own before each call. What is counted
** are events, from the signal on: it is answered in the next one, wherever that runs.
*/
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "take/watch.h"
#include "watched.h"

static void count_hook(lua_State *L, lua_Debug *ar) {
  (void)L, (void)ar;
}

enum { EVENTS = 2000, ASKED_AT = 1000, THREADS = 100 };

static const char takes_memory[] = "local t = {...} return #t";
static const char takes_none[] = "local n = 0 for i = 1, 20 do n = n + i end return n";
static const char yields[] =
    "local n, yield = 0, coroutine.yield while true do n = n + 1 yield() end";

typedef struct driver {
  host h;
  lua_State *threads[THREADS]; /* suspended in `yields` */
  const char *code;            /* what an event runs: in registry[&code] */
} driver;

static void set_hook(lua_State *L) {
  lua_sethook(L, count_hook, LUA_MASKCOUNT, 1000000);
}

/* ==== Events ======================================================================== */

static void push_code(driver *d, lua_State *L) {
  (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &d->code);
}

static void call(driver *d) {
  push_code(d, d->h.L);
  lua_call(d->h.L, 0, 0);
}

static void set_hook_and_call(driver *d) {
  set_hook(d->h.L);
  call(d);
}

static void resume(driver *d, lua_State *thread) {
  int n;
  assert_in_range(lua_resume(thread, d->h.L, 0, &n), LUA_OK, LUA_YIELD);
  lua_settop(thread, 0);
}

static void make_thread(driver *d) {
  lua_State *thread = lua_newthread(d->h.L);
  push_code(d, thread);
  resume(d, thread);
  lua_settop(d->h.L, 0);
}

static void make_thread_with_hook(driver *d) {
  lua_State *thread = lua_newthread(d->h.L);
  push_code(d, thread);
  set_hook(thread);
  resume(d, thread);
  lua_settop(d->h.L, 0);
}

static void resume_any(driver *d) {
  static unsigned n;
  resume(d, d->threads[n++ % THREADS]);
}

/* The one that was not made last. */
static void resume_with_hook(driver *d) {
  set_hook(d->threads[0]);
  resume(d, d->threads[0]);
}

static int call_in_thread(lua_State *L) {
  resume_any(lua_touserdata(L, 1));
  return 0;
}

/* The host's loop is a C function that Lua code has called, and never comes back. */
static void resume_below_a_call(driver *d) {
  lua_pushcfunction(d->h.L, call_in_thread);
  lua_pushlightuserdata(d->h.L, d);
  lua_call(d->h.L, 1, 0);
}

/* ==================================================================================== */

static void begin_driver(driver *d, const char *code) {
  host_begin(&d->h);
  lua_State *L = d->h.L;
  host_watch(&d->h, (lh_watch_options){.signal_number = SIGUSR2});
  assert_int_equal(luaL_loadstring(L, code), LUA_OK);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &d->code);
  for (int i = 0; i < THREADS; i++) {
    d->threads[i] = lua_newthread(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &d->threads[i]);
    assert_int_equal(luaL_loadstring(d->threads[i], yields), LUA_OK);
    resume(d, d->threads[i]);
  }
}

/* How many events there were from the signal to the file. */
static int run_events(const char *code, void (*event)(driver *d)) {
  driver d;
  int n = 0;
  begin_driver(&d, code);
  for (int i = 0; i < EVENTS; i++) {
    if (i == ASKED_AT) (void)raise(SIGUSR2);
    event(&d);
    if (i >= ASKED_AT && n == 0 && d.h.written) n = i - ASKED_AT + 1;
  }
  assert_int_equal(d.h.written, 1);
  lua_sethook(d.h.L, NULL, 0, 0);
  host_end(&d.h);
  return n;
}

static void answers_in_the_next_event(void **state) {
  (void)state;
  static void (*const events[])(driver *) = {call, make_thread, make_thread_with_hook, resume_any,
                                             resume_below_a_call};
  for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
    assert_int_equal(run_events(takes_none, events[i]), 1);
    assert_int_equal(run_events(takes_memory, events[i]), 1);
  }
}

/* The heap is looked at after 4 KiB of growth at the latest. */
static void answers_soon_where_the_host_sets_a_hook_for_each_call(void **state) {
  (void)state;
  enum { LOOK_BYTES = 4096, TABLE_BYTES = 56 };
  assert_in_range(run_events(takes_memory, set_hook_and_call), 1, LOOK_BYTES / TABLE_BYTES + 1);
}

/* Only a tick can find that: as many events as it takes. */
static void answers_where_it_also_takes_no_memory(void **state) {
  (void)state;
  static void (*const events[])(driver *) = {set_hook_and_call, resume_with_hook};
  for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
    driver d;
    begin_driver(&d, takes_none);
    (void)raise(SIGUSR2);
    (void)alarm(300);
    while (!d.h.written) events[i](&d);
    (void)alarm(0);
    lua_sethook(d.h.L, NULL, 0, 0);
    host_end(&d.h);
  }
}

/* Hooks of the program's own, in as many threads as there are records and more: all are as before,
** whichever of them were armed. */
static void leaves_the_hooks_of_all_threads(void **state) {
  (void)state;
  enum { MANY = LH_MOST_ARMED + 50 };
  static lua_State *threads[2 * MANY];
  driver d;
  begin_driver(&d, takes_none);
  for (int i = 0; i < 2 * MANY; i++) {
    threads[i] = lua_newthread(d.h.L);
    lua_rawsetp(d.h.L, LUA_REGISTRYINDEX, &threads[i]);
    if (i % 2) lua_sethook(threads[i], count_hook, LUA_MASKCOUNT | LUA_MASKLINE, i + 1);
  }
  for (int round = 1; round <= 3; round++) {
    (void)raise(SIGUSR2);
    call(&d);
    assert_int_equal(d.h.written, round);
    for (int i = 0; i < 2 * MANY; i++) {
      assert_ptr_equal(lua_gethook(threads[i]), i % 2 ? count_hook : NULL);
      assert_int_equal(lua_gethookmask(threads[i]), i % 2 ? LUA_MASKCOUNT | LUA_MASKLINE : 0);
      assert_int_equal(lua_gethookcount(threads[i]), i % 2 ? i + 1 : 0);
    }
    for (int i = 0; i < THREADS; i++) assert_null(lua_gethook(d.threads[i]));
  }
  host_end(&d.h);
}

/* ==== Hosts that call exit() ======================================================== */

static void keep_file(const lh_watch_report *report, void *payload) {
  (void)payload;
  if (report->error || rename(report->path, "left") != 0) _exit(3);
}

/* While no call of Lua's is under way, with the state open. */
static void is_whole_where_the_host_exits_outside_of_lua(void **state) {
  (void)state;
  int status;
  lh_snapshot *snapshot;
  lh_error error;
  pid_t pid = fork();
  if (pid == 0) {
    host h;
    host_begin(&h);
    host_watch(&h, (lh_watch_options){.at_exit = true, .report = keep_file});
    host_run(&h, "kept = {}");
    exit(0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  assert_int_equal(lh_open(&snapshot, "left", &error), LH_OK);
  if (lh_verify(snapshot, NULL, &error) < 0) fail_msg("%s", error.message);
  lh_close(snapshot);
  assert_int_equal(unlink("left"), 0);
}

static bool is_interrupting, is_inside;

static void exit_in_handler(int number) {
  exit(number);
}

/* The signal comes while malloc has its lock. */
static void *allocate_interrupted(void *data, void *block, size_t old_bytes, size_t bytes) {
  if (is_inside) _exit(2);
  is_inside = is_interrupting;
  if (is_interrupting) (void)raise(SIGTERM);
  return host_allocate(data, block, old_bytes, bytes);
}

static int interrupt_next(lua_State *L) {
  (void)L;
  is_interrupting = true;
  return 0;
}

static void expect_handler_told(const lh_watch_report *report, void *payload) {
  (void)payload;
  _exit(report->error && strstr(report->error->message, "ends in a signal handler") ? 0 : 3);
}

static void expect_handler_told_of_profile(const char *message, const char *log) {
  (void)log;
  _exit(strstr(message, "ends in a signal handler") ? 0 : 3);
}

static _Noreturn void exit_amid_allocation(bool is_tracked) {
  host h;
  const lh_track_options track = {
      .file = "left.prof", .pool = LH_POOL_NEVER, .report = expect_handler_told_of_profile};
  (void)alarm(60);
  (void)signal(SIGTERM, exit_in_handler);
  host_begin(&h);
  lua_setallocf(h.L, allocate_interrupted, &h);
  if (is_tracked && lh_track(h.L, &track, NULL) != LH_OK) _exit(4);
  if (!is_tracked)
    host_watch(&h, (lh_watch_options){.at_exit = true, .report = expect_handler_told});
  lua_register(h.L, "interrupt_next", interrupt_next);
  host_run(&h, "local rep = string.rep interrupt_next() rep('x', 100000)");
  _exit(5);
}

/* Else it would wait for malloc's lock for ever. */
static void asks_for_no_memory_where_a_handler_exits(void **state) {
  (void)state;
  for (int is_tracked = 0; is_tracked < 2; is_tracked++) {
    int status;
    pid_t pid = fork();
    if (pid == 0) exit_amid_allocation(is_tracked);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
  }
  (void)unlink("left.prof");
}

/* ==== Hosts that replace the allocation function ==================================== */

/* In the place of ours. What reads a freed block finds no thread in it. */
static void *spoil_freed(void *data, void *block, size_t old_bytes, size_t bytes) {
  if (block && bytes == 0) memset(block, 0xEE, old_bytes);
  return host_allocate(data, block, old_bytes, bytes);
}

static void free_threads_unseen(host *h) {
  lua_pushnil(h->L);
  lua_setglobal(h->L, "threads");
  (void)lua_gc(h->L, LUA_GCCOLLECT);
}

static void reads_no_thread_that_died_unseen(void **state) {
  (void)state;
  static const char makes_threads[] =
      "threads = {} for i = 1, 100 do threads[i] = coroutine.create(coroutine.yield)\n"
      "  coroutine.resume(threads[i]) end";
  for (int is_armed = 0; is_armed < 2; is_armed++) {
    host h;
    void *data;
    host_begin(&h);
    host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2, .at_exit = true});
    host_run(&h, makes_threads);
    if (is_armed) (void)raise(SIGUSR2);
    lua_Alloc ours = lua_getallocf(h.L, &data);
    lua_setallocf(h.L, spoil_freed, &h);
    free_threads_unseen(&h);
    host_run(&h, is_armed ? "assert(written() == 1)" : "ask() assert(written() == 1)");
    host_run(&h, makes_threads);
    free_threads_unseen(&h);
    lh_watch_exit(lh_watchers_find(h.L));
    assert_int_equal(h.written, 2);
    lua_setallocf(h.L, ours, data);
    host_end(&h);
  }
}

/* ==== Hosts that sleep ============================================================== */

static atomic_int n_late;

static void hear_late(const lh_watch_report *report, void *payload) {
  if (report->error && strstr(report->error->message, "waits for Lua code to run")) {
    n_late++;
  } else {
    host_report(report, payload);
  }
}

static void sleep_until_late(void) {
  enum { MOST_SECONDS = 300 };
  for (int i = 0; i < MOST_SECONDS && n_late == 0; i++) {
    (void)nanosleep(&(struct timespec){1, 0}, NULL);
  }
}

static void tells_that_it_waits(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  host_watch(&h, (lh_watch_options){
                     .signal_number = SIGUSR2, .report = hear_late, .report_is_signal_safe = true});
  n_late = 0;
  (void)raise(SIGUSR2);
  sleep_until_late();
  assert_int_equal(n_late, 1);
  assert_int_equal(h.written, 0);
  host_run(&h, "assert(written() == 1)");
  assert_int_equal(n_late, 1);
  host_end(&h);
}

/* ==== Threads that are cancelled ==================================================== */

typedef struct cancelled {
  host h;
  bool is_over;
} cancelled;

/* What it runs has no cancellation point. */
static void *work_cancelled(void *data) {
  cancelled *c = data;
  (void)pthread_cancel(pthread_self());
  host_run(&c->h,
           "local stop = os.clock() + 0.2 "
           "while os.clock() < stop do local t = {} for i = 1, 2000 do t[i] = {i} end end");
  c->is_over = true;
  pthread_testcancel();
  return NULL;
}

/* Else the thread would leave Lua in the middle of an allocation, and its clean-up would close the
** state. */
static void is_cancelled_at_its_own_points(void **state) {
  (void)state;
  for (int mode = 0; mode < 3; mode++) {
    cancelled c = {.is_over = false};
    pthread_t thread;
    void *result;
    host_begin(&c.h);
    if (mode == 2)
      assert_int_equal(lh_track(c.h.L, &(lh_track_options){.file = "cancelled.prof"}, NULL), LH_OK);
    host_watch(&c.h, (lh_watch_options){.every_seconds = 0.01, .background = mode > 0});
    assert_int_equal(pthread_create(&thread, NULL, work_cancelled, &c), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(c.is_over);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_true(c.h.written > 0);
    host_end(&c.h);
  }
  (void)unlink("cancelled.prof");
}

/* ==== Children, and several states ================================================== */

/* Into a FIFO, which it opens itself: a child has nothing of the host's open. */
static void tell_who(const lh_watch_report *report, void *payload) {
  pid_t self = report->taken ? getpid() : 0;
  int told = open("told", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  (void)payload;
  (void)!write(told, &self, sizeof self);
  (void)close(told);
  (void)unlink(report->path);
}

/* Of a file in the background the child tells, at once, though the host does not run. */
static void is_told_by_the_child(void **state) {
  (void)state;
  host h;
  pid_t teller = 0;
  assert_int_equal(mkfifo("told", 0600), 0);
  int told = open("told", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  assert_true(told >= 0);
  host_begin(&h);
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2,
                                    .background = true,
                                    .report = tell_who,
                                    .report_is_signal_safe = true});
  host_run(&h, "ask() local n = 0");
  struct pollfd ready = {.fd = told, .events = POLLIN};
  assert_int_equal(poll(&ready, 1, 300000), 1);
  assert_int_equal(read(told, &teller, sizeof teller), sizeof teller);
  assert_int_not_equal(teller, getpid());
  assert_int_not_equal(teller, 0);
  siginfo_t end;
  assert_int_equal(waitid(P_ALL, 0, &end, WEXITED | WNOWAIT | (int)__WALL), 0);
  host_end(&h); /* it was reaped, and told no second time */
  assert_int_equal(read(told, &teller, sizeof teller), 0);
  assert_int_equal(close(told) | unlink("told"), 0);
}

static void are_named_by_tag_and_id(void **state) {
  (void)state;
  host a, b;
  char expected[64];
  host_begin(&a);
  host_watch(&a, (lh_watch_options){.signal_number = SIGUSR2, .tag = "a/b"});
  host_run(&a, "ask() local n = 0");
  (void)snprintf(expected, sizeof expected, "/test-a_b-%d-", (int)getpid());
  assert_non_null(strstr(a.path, expected));
  host_begin_watched(&b);
  host_run(&b, "ask() local n = 0");
  host_run(&a, "assert(written() == 2)");
  for (int i = 0; i < 2; i++) {
    host *h = i ? &b : &a;
    unsigned id = (unsigned)(lh_find_state(h->L, NULL)->own.state_id >> 48);
    (void)snprintf(expected, sizeof expected, "-%d-%04x-", (int)getpid(), id);
    assert_non_null(strstr(h->path, expected));
  }
  host_end(&a);
  host_end(&b);
}

/* What a state that never ran again was asked for another one has answered. */
static void writes_no_file_of_an_idle_state(void **state) {
  (void)state;
  host busy, idle;
  host_begin_watched(&idle);
  host_begin_watched(&busy);
  (void)raise(SIGUSR2);
  host_run(&busy, "assert(written() == 1)");
  (void)raise(SIGUSR2);
  host_end(&idle); /* the last signal was not answered by anybody */
  assert_int_equal(idle.written, 1);
  host_begin_watched(&idle);
  (void)raise(SIGUSR2);
  host_run(&busy, "assert(written() == 2)");
  host_end(&idle);
  assert_int_equal(idle.written, 0);
  host_end(&busy);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_in_the_next_event),
      cmocka_unit_test(answers_soon_where_the_host_sets_a_hook_for_each_call),
      cmocka_unit_test(answers_where_it_also_takes_no_memory),
      cmocka_unit_test(leaves_the_hooks_of_all_threads),
      cmocka_unit_test(is_whole_where_the_host_exits_outside_of_lua),
      cmocka_unit_test(asks_for_no_memory_where_a_handler_exits),
      cmocka_unit_test(is_cancelled_at_its_own_points),
      cmocka_unit_test(is_told_by_the_child),
      cmocka_unit_test(are_named_by_tag_and_id),
      cmocka_unit_test(writes_no_file_of_an_idle_state),
      cmocka_unit_test(reads_no_thread_that_died_unseen),
      cmocka_unit_test(tells_that_it_waits),
  };
  return folder_run(tests);
}
