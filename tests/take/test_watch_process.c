/*
** test_watch_process.c - watchers among the other things of a process: threads, signal handlers,
** forks, allocation functions; and their life, from options to lua_close.
*/
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "take/watch.h"
#include "watched.h"

/* ==== Threads of the system ========================================================= */

static void no_handler(int number) {
  (void)number;
}

/* Blocks the signal for itself and waits for the end of the program. */
typedef struct helper {
  pthread_t thread;
  atomic_bool sent;
} helper;

static void *raise_here(void *data) {
  helper *other = data;
  (void)raise(SIGUSR2); /* the handler runs in this thread */
  other->sent = true;
  return NULL;
}

static int start_helper(lua_State *L) {
  helper *other = lua_touserdata(L, lua_upvalueindex(1));
  other->sent = false;
  (void)pthread_create(&other->thread, NULL, raise_here, other);
  (void)pthread_join(other->thread, NULL);
  return 0;
}

static void sends_a_signal_on_to_the_thread_that_runs_lua(void **state) {
  (void)state;
  host h;
  helper other;
  host_begin_watched(&h);
  lua_pushlightuserdata(h.L, &other);
  lua_pushcclosure(h.L, start_helper, 1);
  lua_setglobal(h.L, "ask_elsewhere");
  host_run(&h, "for i = 1, 50 do ask_elsewhere() assert(written() == i) end");
  host_end(&h);
}

typedef struct runner {
  pthread_t thread;
  host h;
  bool done;
} runner;

static void *run_until_written(void *data) {
  runner *r = data;
  host_begin_watched(&r->h);
  host_run(&r->h, "local n = 0 repeat n = n + 1 until written() > 0");
  lh_unwatch(r->h.L);
  host_end(&r->h);
  r->done = true;
  return NULL;
}

/* One signal to the process, a file of each state. */
static void takes_each_state_in_its_own_thread(void **state) {
  (void)state;
  enum { N = 3 };
  runner runners[N];
  struct sigaction ignore = {.sa_handler = no_handler}, before;
  assert_int_equal(sigaction(SIGUSR2, &ignore, &before), 0);
  for (int i = 0; i < N; i++) {
    runners[i].done = false;
    assert_int_equal(pthread_create(&runners[i].thread, NULL, run_until_written, &runners[i]), 0);
  }
  for (int i = 0; i < N; i++) {
    while (pthread_tryjoin_np(runners[i].thread, NULL) == EBUSY) {
      (void)kill(getpid(), SIGUSR2);
      (void)usleep(1000);
    }
    assert_true(runners[i].done);
  }
  assert_int_equal(sigaction(SIGUSR2, &before, &ignore), 0);
  assert_ptr_equal(ignore.sa_handler, no_handler); /* put back by the last one */
}

/* ==== Signals ======================================================================= */

static int n_earlier;

static void earlier_handler(int number) {
  assert_int_equal(number, SIGUSR2);
  n_earlier++;
}

static void earlier_action(int number, siginfo_t *info, void *context) {
  (void)context;
  assert_int_equal(info->si_signo, number);
  n_earlier++;
}

static void calls_the_handler_that_was_there_and_puts_it_back(void **state) {
  (void)state;
  struct sigaction earlier[] = {{.sa_handler = earlier_handler, .sa_flags = SA_RESTART},
                                {.sa_flags = SA_SIGINFO}};
  earlier[1].sa_sigaction = earlier_action;
  for (int i = 0; i < 2; i++) {
    host h, other;
    struct sigaction now, before;
    n_earlier = 0;
    assert_int_equal(sigaction(SIGUSR2, &earlier[i], &before), 0);
    host_begin_watched(&h);
    host_begin_watched(&other);
    host_run(&h, "ask() assert(written() == 1)");
    host_run(&other, "assert(written() == 1)");
    assert_int_equal(n_earlier, 1);
    host_end(&h);
    host_run(&other, "ask() assert(written() == 2)");
    assert_int_equal(n_earlier, 2);
    lh_unwatch(other.L);
    (void)raise(SIGUSR2);
    assert_int_equal(n_earlier, 3);
    host_end(&other);
    assert_int_equal(sigaction(SIGUSR2, &before, &now), 0);
    assert_int_equal(now.sa_flags & (SA_RESTART | SA_SIGINFO), earlier[i].sa_flags);
    assert_true(i ? now.sa_sigaction == earlier_action : now.sa_handler == earlier_handler);
  }
}

static unsigned char alternate[1 << 16];
static bool ran_on_alternate;

static void note_stack(int number) {
  const unsigned char *at = __builtin_frame_address(0);
  (void)number;
  ran_on_alternate = at >= alternate && at < alternate + sizeof alternate;
}

/* It may need more of a stack than the alternate one has. */
static void leaves_the_earlier_handler_on_its_stack(void **state) {
  (void)state;
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  stack_t stack_before;
  assert_int_equal(sigaltstack(&stack, &stack_before), 0);
  for (int on_alternate = 0; on_alternate < 2; on_alternate++) {
    host h;
    struct sigaction before,
        earlier = {.sa_handler = note_stack, .sa_flags = on_alternate ? SA_ONSTACK : 0};
    assert_int_equal(sigaction(SIGUSR2, &earlier, &before), 0);
    host_begin_watched(&h);
    ran_on_alternate = !on_alternate;
    host_run(&h, "ask() assert(written() == 1)");
    assert_int_equal(ran_on_alternate, on_alternate);
    host_end(&h);
    assert_int_equal(sigaction(SIGUSR2, &before, NULL), 0);
  }
  assert_int_equal(sigaltstack(&stack_before, NULL), 0);
}

/* The next one is to have the default action. */
static void leaves_a_handler_that_is_called_once(void **state) {
  (void)state;
  host h;
  lh_error error;
  struct sigaction before, earlier = {.sa_handler = note_stack, .sa_flags = (int)SA_RESETHAND};
  const lh_watch_options options = {.signal_number = SIGUSR2, .report = host_report};
  assert_int_equal(sigaction(SIGUSR2, &earlier, &before), 0);
  host_begin(&h);
  assert_int_equal(lh_watch(h.L, &options, &error), LH_EARGUMENT);
  assert_non_null(strstr(error.message, "SA_RESETHAND"));
  (void)raise(SIGUSR2);
  host_end(&h);
  assert_int_equal(sigaction(SIGUSR2, &before, &earlier), 0);
  assert_ptr_equal(earlier.sa_handler, SIG_DFL);
}

static void expect_action(int number, void (*handler)(int)) {
  struct sigaction now;
  assert_int_equal(sigaction(number, NULL, &now), 0);
  assert_ptr_equal(now.sa_handler, handler);
}

/* Any handler that harms nobody. Programs that this one starts find the default action. */
static void expect_no_harm(int number) {
  char command[64];
  struct sigaction now;
  assert_int_equal(sigaction(number, NULL, &now), 0);
  assert_true(now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
  (void)raise(number);
  (void)snprintf(command, sizeof command, "ulimit -c 0; kill -%d $$; exit 0", number);
  if (number == SIGTSTP) return; /* the shell would stop */
  int status = system(command);  /* NOLINT: the shell is the test */
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
}

/* It has outlived its state: the program goes on, or ends as it would have. */
static void survives_a_signal_that_comes_too_late(void **state) {
  (void)state;
  static const struct {
    int number;
    void (*before)(int), (*after)(int);
  } cases[] = {{SIGUSR2, SIG_DFL, SIG_ERR}, {SIGTERM, SIG_DFL, SIG_ERR}, /* SIG_ERR: no harm */
               {SIGTSTP, SIG_DFL, SIG_ERR}, {SIGUSR2, SIG_IGN, SIG_IGN},
               {SIGURG, SIG_DFL, SIG_DFL},  {SIGCONT, SIG_DFL, SIG_DFL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int stopped = 0; stopped < 2; stopped++) {
      host h, other;
      const lh_watch_options options = {.signal_number = cases[i].number};
      assert_ptr_not_equal(signal(cases[i].number, cases[i].before), SIG_ERR);
      for (int again = 0; again < 2; again++) {
        host_begin(&h);
        host_begin(&other);
        host_watch(&h, options);
        host_watch(&other, options);
        host_end(&h);
        (void)raise(cases[i].number); /* the other state hears it still */
        if (stopped) lh_unwatch(other.L);
        host_end(&other);
        assert_int_equal(other.written, !stopped);
        (void)raise(cases[i].number);
        if (cases[i].after == SIG_ERR)
          expect_no_harm(cases[i].number);
        else
          expect_action(cases[i].number, cases[i].after);
      }
      assert_ptr_not_equal(signal(cases[i].number, SIG_DFL), SIG_ERR);
    }
  }
}

static void tells_that_the_program_has_taken_the_signal(void **state) {
  (void)state;
  host h;
  struct sigaction theirs = {.sa_handler = earlier_handler}, ours;
  host_begin_watched(&h);
  assert_int_equal(sigaction(SIGUSR2, &theirs, &ours), 0);
  for (int i = 0; i < 100000 && !h.failed; i++) { /* it is looked at each second */
    host_run(&h, "kept = {} for i = 1, 10000 do kept[i] = {} end");
  }
  assert_int_equal(h.failed, 1);
  assert_non_null(strstr(h.error.message, " itself now: unless it calls our handler"));
  assert_string_equal(h.path, "");
  h.failed = 0;
  assert_int_equal(sigaction(SIGUSR2, &ours, NULL), 0);
  host_run(&h, "ask() assert(written() == 1)");
  host_end(&h);
}

static sigjmp_buf left_handler;

static void leave_handler(int number) {
  siglongjmp(left_handler, number);
}

/* The program's timeout ends whatever runs: where that was our handler, which arms many threads,
** lua_close would wait for its end. */
static void may_be_left_by_another_handler(void **state) {
  (void)state;
  enum { TIMES = 100 };
  host h;
  sigset_t alarm_alone;
  const struct itimerval soon = {.it_value = {.tv_usec = 300}}, never = {{0, 0}, {0, 0}};
  host_begin_watched(&h);
  (void)sigemptyset(&alarm_alone);
  (void)sigaddset(&alarm_alone, SIGALRM);
  host_run(&h, "kept = {} for i = 1, 20000 do kept[i] = coroutine.create(print) end");
  assert_ptr_not_equal(signal(SIGALRM, leave_handler), SIG_ERR);
  for (int i = 0; i < TIMES; i++) {
    if (sigsetjmp(left_handler, 1) != 0) continue;
    (void)setitimer(ITIMER_REAL, &soon, NULL);
    for (;;) {
      (void)raise(SIGUSR2);
      (void)pthread_sigmask(SIG_BLOCK, &alarm_alone, NULL);
      lh_disarm(lh_watchers_find(h.L)); /* so that all are armed anew */
      (void)pthread_sigmask(SIG_UNBLOCK, &alarm_alone, NULL);
    }
  }
  (void)setitimer(ITIMER_REAL, &never, NULL);
  assert_ptr_not_equal(signal(SIGALRM, SIG_DFL), SIG_ERR);
  (void)alarm(60);
  host_run(&h, "assert(written() == 1)");
  host_end(&h);
  (void)alarm(0);
}

/* A handler of the program's in front of ours calls ours, and must not be called by it. */
static struct sigaction behind;

static void front_handler(int number, siginfo_t *info, void *context) {
  n_earlier++;
  if (behind.sa_flags & SA_SIGINFO) behind.sa_sigaction(number, info, context);
}

static void lives_behind_a_handler_of_the_program(void **state) {
  (void)state;
  host h;
  struct sigaction front = {.sa_flags = SA_SIGINFO};
  front.sa_sigaction = front_handler;
  host_begin_watched(&h);
  assert_int_equal(sigaction(SIGUSR2, &front, &behind), 0);
  for (int i = 1; i <= 3; i++) {
    n_earlier = 0;
    host_run(&h, "ask()");
    assert_int_equal(n_earlier, 1);
    assert_int_equal(h.written, i);
    lh_unwatch(h.L);
    host_run(&h, "ask()");
    assert_int_equal(n_earlier, 2);
    assert_int_equal(h.written, i);
    host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
  }
  assert_int_equal(sigaction(SIGUSR2, &behind, NULL), 0);
  h.failed = 0; /* in more than a second it was told of the handler in front */
  host_end(&h);
  expect_no_harm(SIGUSR2);
  assert_ptr_not_equal(signal(SIGUSR2, SIG_DFL), SIG_ERR);
}

/* ==== The life of a watcher ========================================================= */

static void watch_is_refused(host *h, lh_watch_options options, int code, const char *text) {
  lh_error error;
  assert_int_equal(lh_watch(h->L, &options, &error), code);
  assert_int_equal(error.code, code);
  if (!strstr(error.message, text)) fail_msg("'%s' does not say '%s'", error.message, text);
  assert_null(lh_watchers_find(h->L));
}

static void refuses_what_makes_no_sense(void **state) {
  (void)state;
  host h;
  static const int signals[] = {SIGKILL, SIGSTOP, SIGSEGV, 32, 65, -1, 1000};
  host_begin(&h);
  watch_is_refused(&h, (lh_watch_options){.background = true}, LH_EARGUMENT,
                   "nothing to watch for");
  watch_is_refused(&h, (lh_watch_options){.at_bytes = 1, .again = 1}, LH_EARGUMENT,
                   "must be above 1");
  watch_is_refused(&h, (lh_watch_options){.every_seconds = -1, .at_exit = true}, LH_EARGUMENT,
                   "a period");
  watch_is_refused(&h, (lh_watch_options){.at_exit = true, .directory = "no/such"}, LH_EIO,
                   "cannot write into the directory 'no/such': No such file");
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    watch_is_refused(&h, (lh_watch_options){.signal_number = signals[i]}, LH_EARGUMENT,
                     "cannot be used to ask for snapshots");
  }
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
  lh_error error;
  assert_int_equal(lh_watch(h.L, &(lh_watch_options){.at_exit = true}, &error), LH_EARGUMENT);
  assert_string_equal(error.message, "this Lua state is watched already");
  host_run(&h, "ask() assert(written() == 1)");
  host_end(&h);
  lua_State *L = luaL_newstate();
  assert_int_equal(lh_watch(L, &(lh_watch_options){.at_exit = true}, &error), LH_EARGUMENT);
  lh_unwatch(L);
  lua_close(L);
}

/* Another allocation function in front of ours. */
typedef struct front {
  lua_Alloc alloc;
  void *data;
} front;

static void *pass_on(void *data, void *block, size_t old_bytes, size_t bytes) {
  const front *f = data;
  return f->alloc(f->data, block, old_bytes, bytes);
}

static void puts_the_allocation_function_back(void **state) {
  (void)state;
  host h;
  void *data;
  front f;
  host_begin(&h);
  for (int i = 1; i <= 3; i++) {
    host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2, .out_of_memory = true});
    host_run(&h, "ask() assert(written() > 0)");
    lh_unwatch(h.L);
    assert_ptr_equal(lua_getallocf(h.L, &data), host_allocate);
    assert_ptr_equal(data, &h);
  }
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
  f.alloc = lua_getallocf(h.L, &f.data);
  lua_setallocf(h.L, pass_on, &f);
  for (int i = 0; i < 3; i++) {
    host_run(&h, "local before = written() ask() assert(written() == before + 1)");
    lh_unwatch(h.L); /* ours stays where it is, and passes on */
    lh_unwatch(h.L);
    host_run(&h, "for i = 1, 1000 do coroutine.wrap(function() end)() end collectgarbage()");
    host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
  }
  host_end(&h);
}

static void takes_at_sizes(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  host_watch(&h, (lh_watch_options){.at_bytes = 1 << 20, .again = 2, .max_files = 3});
  host_run(&h,
           "collectgarbage('stop') local list\n" /* an array would be there twice while it grows */
           "local function fill(mb)\n"
           "  while collectgarbage('count') < mb * 1024 do list = {list} end\n"
           "  return written()\n"
           "end\n"
           "assert(fill(0.9) == 0) assert(fill(1.1) == 1) assert(fill(1.9) == 1)\n"
           "assert(fill(2.1) == 2) assert(fill(3.9) == 2) assert(fill(4.2) == 3)\n"
           "assert(fill(10) == 3)"); /* no more than three */
  lh_unwatch(h.L);
  host_watch(&h,
             (lh_watch_options){.at_bytes = 1}); /* passed already: at once, and 1.5 times that */
  host_run(&h, "local t = {} for i = 1, 100 do t[i] = {} end assert(written() == 4)");
  lh_unwatch(h.L);
  host_watch(&h, (lh_watch_options){.at_bytes = 24 << 20});
  host_run(&h,
           "local s = string.rep('x', 32 << 20) local n = 0 for i = 1, 10 do n = i end\n"
           "assert(written() == 5)"); /* one big block is enough */
  host_end(&h);
}

/* Lua 5.5 does not count the texts, and frees those from before the watcher past it. */
static void texts_of_strings_are_part_of_the_size(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  host_run(&h, "early = string.rep('x', 8 << 20)");
  host_watch(&h, (lh_watch_options){.at_bytes = 10 << 20, .max_files = 1});
  host_run(&h,
           "early = nil\n"
           "for i = 1, 9 do\n"
           "  collectgarbage()\n"
           "  local text = string.rep('y', 3 << 20)\n"
           "end\n"
           "assert(written() == 0)\n"
           "collectgarbage() kept = {}\n"
           "for i = 1, 4 do kept[i] = string.rep('z', 3 << 20) end\n"
           "assert(written() == 1)");
  host_end(&h);
}

static void takes_by_time(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  host_watch(&h, (lh_watch_options){.every_seconds = 0.02, .mark_seconds = 0.01, .max_files = 3});
  host_run(&h,
           "local t repeat t = {t} if #t > 0 and math.random(100) == 1 then t = nil end\n"
           "until written() == 3");
  lh_snapshot *snapshot;
  assert_int_equal(lh_take_snapshot(h.L, "marks", LH_DEFAULT_STRING_BYTES, NULL), LH_OK);
  assert_int_equal(lh_open(&snapshot, "marks", NULL), LH_OK);
  assert_true(lh_mark_count(snapshot) > 4);
  bool is_periodic = false;
  for (uint32_t i = 0; i < lh_mark_count(snapshot); i++) {
    is_periodic = is_periodic || !lh_mark_at(snapshot, i)->is_snapshot;
  }
  assert_true(is_periodic);
  lh_close(snapshot);
  (void)unlink("marks");
  host_end(&h);
}

static void takes_when_the_state_closes(void **state) {
  (void)state;
  host h;
  host_begin(&h);
  host_watch(&h, (lh_watch_options){.at_exit = true, .background = true}); /* not then */
  host_run(&h, "setmetatable({}, {__gc = function() coroutine.wrap(function() end)() end})");
  host_end(&h);
  assert_int_equal(h.written, 1);
}

/* A forked child counts from 1 with its own id; what its parent's children write is not its own. */
static void counts_anew_in_a_forked_child(void **state) {
  (void)state;
  host h;
  int status;
  host_begin(&h);
  host_run(&h, "big = {} for i = 1, 300000 do big[i] = {} end");
  host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2, .background = true});
  host_run(&h, "ask() local n = 0");
  pid_t pid = fork();
  if (pid == 0) {
    char expected[64];
    lh_unwatch(h.L);
    if (h.written || h.failed) _exit(1);
    host_watch(&h, (lh_watch_options){.signal_number = SIGUSR2});
    host_run(&h, "ask() assert(written() == 1)");
    (void)snprintf(expected, sizeof expected, "/test-%d-1.heap", (int)getpid());
    _exit(strstr(h.path, expected) ? 0 : 2);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  host_run(&h, "repeat local t = {} until written() == 1"); /* the parent's own is whole */
  host_end(&h);
}

/* As _Fork() and vfork() make one: without the functions of pthread_atfork. Its first timers have
** the numbers of ours in the parent. */
static void leaves_the_timers_of_a_child(void **state) {
  (void)state;
  host h;
  int status, id = -1;
  struct itimerspec left;
  host_begin_watched(&h);
  (void)raise(SIGUSR2);
  const lh_watcher *w = lh_watchers_find(h.L);
  assert_true(w->timers[0] >= 0);
  pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) {
    struct sigevent quiet = {.sigev_notify = SIGEV_NONE};
    while (id < w->timers[1])
      if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &quiet, &id) < 0) _exit(1);
    host_run(&h, "assert(written() == 1)");
    for (int i = 0; i < 2; i++)
      if (syscall(SYS_timer_gettime, w->timers[i], &left) < 0) _exit(2);
    _exit(0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  host_run(&h, "assert(written() == 1)");
  assert_int_equal(syscall(SYS_timer_gettime, w->timers[0], &left), -1); /* the parent's own */
  host_end(&h);
}

/* A file of that name may be from another day. */
static void replaces_no_older_file(void **state) {
  (void)state;
  host h;
  char path[64], expected[64];
  host_begin_watched(&h);
  host_run(&h, "ask() assert(written() == 1)");
  unsigned number = 0;
  assert_int_equal(sscanf(strrchr(h.path, '-'), "-%u.heap", &number), 1);
  for (unsigned i = 1; i <= 3; i++) {
    (void)snprintf(path, sizeof path, "test-%d-%u.heap", (int)getpid(), number + i);
    assert_int_equal(symlink("no/such/file", path), 0);
  }
  host_run(&h, "ask() assert(written() == 2)");
  (void)snprintf(expected, sizeof expected, "/test-%d-%u.heap", (int)getpid(), number + 4);
  assert_non_null(strstr(h.path, expected));
  for (unsigned i = 1; i <= 3; i++) {
    (void)snprintf(path, sizeof path, "test-%d-%u.heap", (int)getpid(), number + i);
    assert_int_equal(unlink(path), 0);
  }
  host_end(&h);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sends_a_signal_on_to_the_thread_that_runs_lua),
      cmocka_unit_test(takes_each_state_in_its_own_thread),
      cmocka_unit_test(calls_the_handler_that_was_there_and_puts_it_back),
      cmocka_unit_test(leaves_the_earlier_handler_on_its_stack),
      cmocka_unit_test(leaves_a_handler_that_is_called_once),
      cmocka_unit_test(survives_a_signal_that_comes_too_late),
      cmocka_unit_test(tells_that_the_program_has_taken_the_signal),

      cmocka_unit_test(may_be_left_by_another_handler),
      cmocka_unit_test(lives_behind_a_handler_of_the_program),
      cmocka_unit_test(refuses_what_makes_no_sense),
      cmocka_unit_test(puts_the_allocation_function_back),
      cmocka_unit_test(takes_at_sizes),
      cmocka_unit_test(texts_of_strings_are_part_of_the_size),
      cmocka_unit_test(takes_by_time),
      cmocka_unit_test(takes_when_the_state_closes),
      cmocka_unit_test(counts_anew_in_a_forked_child),
      cmocka_unit_test(leaves_the_timers_of_a_child),
      cmocka_unit_test(replaces_no_older_file),
  };
  return folder_run(tests);
}
