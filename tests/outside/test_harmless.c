/*
** test_harmless.c - what a program could notice of being held still from outside: children, files,
** threads, its own stops and ends, its limits.
*/
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach.h"
#include "outside/continue_copy.h"
#include "soak.h"
#include "subject.h"

typedef struct notes {
  volatile uint64_t n;
  volatile int seen; /* of what it must not see */
  volatile uint64_t value;
} notes;

static notes *own; /* of the subject */

static notes *begin_life(const subject *self) {
  own = self->shared;
  if (write(self->answers, "", 1) != 1) _exit(1);
  return own;
}

static bool has_gone_on(const void *of) {
  const notes *n = of;
  return n->n > n->value;
}

static void expect_life(notes *n) {
  n->value = n->n + 2;
  assert_true(attach_wait_until(has_gone_on, n));
}

/* ==== Children ====================================================================== */

static void see(int signal_number) {
  (void)signal_number;
  own->seen++;
}

static void handle_children(const subject *self) {
  (void)signal(SIGCHLD, see);
  for (notes *n = begin_life(self);; n->n++) (void)getppid();
}

static void ignore_children(const subject *self) {
  (void)signal(SIGCHLD, SIG_IGN);
  for (notes *n = begin_life(self);; n->n++) (void)usleep(100);
}

static void adopt_children(const subject *self) {
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  (void)signal(SIGCHLD, see);
  for (notes *n = begin_life(self);; n->n++) {
    (void)usleep(100);
    if (waitpid(-1, NULL, WNOHANG) >= 0) n->seen++;
  }
}

/* Sees a copy that has not ended yet, but no end of one. */
static _Noreturn void wait_for_all(notes *n) {
  for (;; n->n++) {
    if (waitpid(-1, NULL, __WALL) >= 0 || errno != ECHILD) n->seen++;
  }
}

static void *wait_in_thread(void *n) {
  wait_for_all(n);
}

static void wait_in_two_threads(const subject *self) {
  pthread_t thread;
  notes *n = begin_life(self);
  if (pthread_create(&thread, NULL, wait_in_thread, n)) _exit(1);
  wait_for_all(n);
}

/* Has a child of its own, for which it waits all the time. */
static void wait_for_child(const subject *self) {
  pid_t child = fork();
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)pause();
  }
  notes *n = begin_life(self);
  n->value = (uint64_t)child;
  if (waitpid(-1, NULL, __WALL) != child) n->seen++;
  n->n++;
  for (;;) (void)pause();
}

static void test_no_child_is_seen(void **state) {
  (void)state;
  void (*const lives[])(const subject *self) = {handle_children, ignore_children, adopt_children,
                                                wait_in_two_threads};
  for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
    notes *n = subject_share(sizeof *n);
    attach a;
    subject s = subject_start(lives[i], n);
    attach_open(&a, s.id);
    for (unsigned k = 0; k < soak_times(100); k++) {
      attach_begin(&a, false);
      assert_int_equal(a.result.stillness, LH_CAN_INJECT ? LH_STILL_FORK : LH_STILL_STOPPED);
      attach_end(&a);
      assert_int_equal(attach_children(s.id), 0);
    }
    expect_life(n);
    assert_int_equal(n->seen, 0);
    attach_close(&a);
    subject_end(&s);
  }
}

static bool has_ended_waiting(const void *of) {
  return ((const notes *)of)->n > 0;
}

static void test_its_own_child_is_seen(void **state) {
  (void)state;
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(wait_for_child, n);
  attach_open(&a, s.id);
  for (unsigned k = 0; k < soak_times(20); k++) {
    attach_begin(&a, false);
    attach_end(&a);
    assert_int_equal(n->n, 0);
    assert_int_equal(attach_children(s.id), 1);
  }
  attach_begin(&a, false);
  (void)kill((pid_t)n->value, SIGKILL);
  attach_end(&a);
  assert_true(attach_wait_until(has_ended_waiting, n));
  assert_int_equal(n->seen, 0);
  attach_close(&a);
  subject_end(&s);
}

/* A child that has the memory of its parent, which waits for it in the kernel. */
static void fork_in_place(const subject *self) {
  for (notes *n = begin_life(self);; n->n++) {
    pid_t child = vfork();
    if (child == 0) {
      (void)poll(NULL, 0, 20);
      _exit(0);
    }
    if (waitpid(child, NULL, 0) != child) n->seen++;
  }
}

static void test_vfork(void **state) {
  (void)state;
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(fork_in_place, n);
  attach_open(&a, s.id);
  for (unsigned k = 0; k < soak_times(30); k++) {
    attach_begin(&a, k % 2);
    attach_end(&a);
  }
  expect_life(n);
  assert_int_equal(n->seen, 0);
  attach_close(&a);
  subject_end(&s);
}

/* ==== Files ========================================================================= */

static void close_when_told(const subject *self) {
  int *ends = self->shared;
  struct epoll_event event = {.events = EPOLLIN};
  int watch = epoll_create1(0);
  (void)epoll_ctl(watch, EPOLL_CTL_ADD, ends[0], &event);
  if (write(self->answers, "", 1) != 1) _exit(1);
  char order;
  if (read(self->orders, &order, 1) != 1) _exit(1);
  (void)close(ends[0]);
  ends[2] = epoll_wait(watch, &event, 1, 0); /* what is closed is not watched any more */
  if (write(self->answers, "", 1) != 1) _exit(1);
  (void)pause();
}

/* What the process closes is closed, though a copy of it lives. */
static void test_files_are_closed(void **state) {
  (void)state;
  if (!LH_CAN_INJECT) skip();
  int *ends = subject_share(3 * sizeof *ends);
  char byte;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  attach a;
  subject s = subject_start(close_when_told, ends);
  (void)close(ends[0]);
  assert_int_equal(write(ends[1], "", 1), 1);
  attach_open(&a, s.id);
  attach_begin(&a, false);
  assert_int_equal(a.result.stillness, LH_STILL_FORK);
  subject_go_on(&s);
  assert_int_equal(recv(ends[1], &byte, 1, MSG_DONTWAIT), -1);
  assert_int_equal(errno, ECONNRESET); /* its end is gone, with a byte unread */
  assert_int_equal(ends[2], 0);
  attach_end(&a);
  attach_close(&a);
  subject_end(&s);
  (void)close(ends[1]);
}

static void make_calls(const subject *self) {
  for (notes *n = begin_life(self);; n->n++) (void)getppid();
}

static void test_no_descriptor_is_left(void **state) {
  (void)state;
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(make_calls, n);
  attach_open(&a, s.id);
  int ours = attach_descriptors(getpid()), its = attach_descriptors(s.id);
  for (unsigned k = 0; k < soak_times(50); k++) {
    attach_begin(&a, k % 2);
    attach_end(&a);
  }
  assert_int_equal(attach_descriptors(getpid()), ours);
  assert_int_equal(attach_descriptors(s.id), its);
  attach_close(&a);
  subject_end(&s);
}

/* ==== Stops ========================================================================= */

static bool is_stopped(const void *process) {
  pid_t id = *(const pid_t *)process;
  return lh_thread_state(id) == 'T';
}

static int n_stops; /* that this process, the parent, was told of */

static void count_stops(pid_t process) {
  siginfo_t info = {0};
  while (waitid(P_PID, (id_t)process, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid) {
    n_stops++;
    info.si_pid = 0;
  }
}

static void test_a_stopped_process_stays_stopped(void **state) {
  (void)state;
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(make_calls, n);
  attach_open(&a, s.id);
  (void)kill(s.id, SIGSTOP);
  assert_true(attach_wait_until(is_stopped, &s.id));
  count_stops(s.id);
  n_stops = 0;
  uint64_t before = n->n;
  for (unsigned k = 0; k < soak_times(20); k++) {
    attach_begin(&a, k % 2);
    assert_int_equal(a.result.stillness, LH_STILL_STOPPED);
    attach_end(&a);
    assert_true(attach_wait_until(is_stopped, &s.id));
  }
  assert_int_equal(n->n, before);
  lh_error error;
  assert_int_equal(
      lh_freeze_begin(a.target, 0, false, &a.frozen_process, &a.memory, &a.result, &error), LH_OK);
  assert_int_not_equal(a.result.stillness, LH_STILL_FORK); /* idle if it is in a call */
  attach_end(&a);
  count_stops(s.id);
  assert_int_equal(n_stops, 0);
  (void)kill(s.id, SIGCONT);
  expect_life(n);
  attach_close(&a);
  subject_end(&s);
}

static void compute(const subject *self) {
  for (notes *n = begin_life(self);;) n->n++;
}

/* Only a copy of it runs on to where its heap is whole. */
static void test_a_stopped_computation_stays_where_it_is(void **state) {
  (void)state;
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(compute, n);
  attach_open(&a, s.id);
  expect_life(n); /* it has left its last call */
  (void)kill(s.id, SIGSTOP);
  assert_true(attach_wait_until(is_stopped, &s.id));
  uint64_t before = n->n;
  for (unsigned k = 0; k < 4; k++) {
    lh_error error;
    assert_int_equal(
        lh_freeze_begin(a.target, k, false, &a.frozen_process, &a.memory, &a.result, &error),
        LH_OK);
    assert_int_equal(a.result.stillness, LH_STILL_STOPPED);
    assert_false(a.result.was_in_system_call);
    lh_continuation *continuation = lh_freeze_continuation(a.frozen_process, &a.memory);
    attach_end(&a);
    assert_int_equal(continuation != NULL, LH_CAN_CONTINUE);
    lh_continuation_free(continuation);
    assert_true(attach_wait_until(is_stopped, &s.id));
    assert_int_equal(n->n, before);
  }
  (void)kill(s.id, SIGCONT);
  expect_life(n);
  attach_close(&a);
  subject_end(&s);
}

/* A stop, or the end of one, that comes while it is held, is one afterwards. */
static void test_stops_meanwhile(void **state) {
  (void)state;
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(make_calls, n);
  attach_open(&a, s.id);
  for (unsigned k = 0; k < soak_times(20); k++) {
    bool never_fork = k % 2;
    attach_begin(&a, never_fork);
    (void)kill(s.id, SIGSTOP);
    attach_end(&a);
    assert_true(attach_wait_until(is_stopped, &s.id));
    attach_begin(&a, never_fork);
    (void)kill(s.id, SIGCONT);
    attach_end(&a);
    expect_life(n);
  }
  attach_close(&a);
  subject_end(&s);
}

/* ==== Threads, ends, and other programs ============================================= */

static void *end_at_once(void *payload) {
  (void)payload;
  return NULL;
}

static void *make_threads(void *payload) {
  notes *n = payload;
  for (;; n->n++) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
      if (pthread_create(&threads[i], NULL, end_at_once, NULL)) _exit(1);
    for (int i = 0; i < 8; i++) (void)pthread_join(threads[i], NULL);
  }
}

static void storm_of_threads(const subject *self) {
  pthread_t thread;
  notes *n = begin_life(self);
  if (pthread_create(&thread, NULL, make_threads, n)) _exit(1);
  (void)make_threads(n);
}

static void test_a_storm_of_threads(void **state) {
  (void)state;
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(storm_of_threads, n);
  attach_open(&a, s.id);
  for (unsigned k = 0; k < soak_times(100); k++) {
    attach_begin(&a, k % 2);
    if (a.result.stillness == LH_STILL_STOPPED) {
      uint64_t before = n->n;
      attach_nap();
      assert_int_equal(n->n, before);
    }
    attach_end(&a);
    if (k % 10 == 0) expect_life(n);
  }
  expect_life(n);
  attach_close(&a);
  subject_end(&s);
}

/* It ends with the status that it meant, whenever it is held. Lives grow until one is held. */
static void test_a_process_that_ends(void **state) {
  (void)state;
  int n_held = 0;
  long longest_ns = 3000000;
  srandom(14);
  for (unsigned i = 0; i < soak_times(200); i++) {
    struct timespec continuation = {.tv_nsec = random() % longest_ns};
    int status, n_before = n_held;
    attach a = {0};
    pid_t process = fork();
    if (process == 0) {
      (void)nanosleep(&continuation, NULL);
      _exit(i % 2 ? 7 : kill(getpid(), SIGTERM));
    }
    bool is_open = lh_open_process(process, NULL, &a.target, NULL) == LH_OK;
    while (is_open && attach_try(&a, i % 4 < 2)) n_held++;
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(i % 2 ? WIFEXITED(status) && WEXITSTATUS(status) == 7
                      : WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    attach_close(&a);
    longest_ns = longest_ns * (n_held > n_before || longest_ns > 400000000 ? 7 : 9) / 8;
  }
  assert_true(n_held > 0);
}

/* A program that starts itself again, so many times, from its first thread and from others. */
static void start_again(int n) {
  char times[16];
  (void)snprintf(times, sizeof times, "%d", n);
  (void)execl("/proc/self/exe", "again", times, (char *)NULL);
  _exit(1);
}

static void *start_again_from_thread(void *n) {
  start_again(*(int *)n);
  return NULL;
}

static void *make_calls_in_thread(void *payload) {
  for (;;) (void)getppid();
  return payload;
}

static int be_started_again(int n) {
  pthread_t threads[2];
  if (n-- == 0) _exit(7); /* at once: leaks cannot be looked for while it is traced */
  attach_nap();
  if (n % 4 == 0) start_again(n);
  if (pthread_create(&threads[0], NULL, make_calls_in_thread, NULL) ||
      pthread_create(&threads[1], NULL, start_again_from_thread, &n))
    return 1;
  if (n % 2) (void)make_calls_in_thread(NULL);
  for (;;) (void)pause();
}

static void test_exec(void **state) {
  (void)state;
  int status, n = 0;
  pid_t process = fork();
  if (process == 0) start_again(150);
  while (waitpid(process, &status, WNOHANG) == 0) {
    lh_target *target;
    if (lh_open_process(process, NULL, &target, NULL) < 0) continue;
    attach a = {.target = target};
    (void)attach_try(&a, n++ % 2);
    attach_close(&a);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) fail_msg("status %x", (unsigned)status);
}

/* ==== Where nothing may be injected ================================================= */

/* Allows all calls but clone(), which kills it. */
static void live_under_filter(const subject *self) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    _exit(1);
  for (notes *n = begin_life(self);; n->n++) (void)getppid();
}

static void *live_under_filter_in_thread(void *self) {
  live_under_filter(self);
  return NULL;
}

static void live_under_half_a_filter(const subject *self) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, live_under_filter_in_thread, (void *)(uintptr_t)self)) _exit(1);
  for (;;) (void)getppid();
}

/* One process for a user that has none else. */
static void live_without_children(const subject *self) {
  struct rlimit one = {1, 1};
  enum { SOME_USER = 54321 };
  if (setrlimit(RLIMIT_NPROC, &one) || setresuid(SOME_USER, SOME_USER, SOME_USER)) _exit(1);
  (void)prctl(PR_SET_DUMPABLE, 1);
  make_calls(self);
}

static void expect_no_fork(void (*life)(const subject *self), const char *reason) {
  if (!LH_CAN_INJECT) skip();
  notes *n = subject_share(sizeof *n);
  attach a;
  subject s = subject_start(life, n);
  attach_open(&a, s.id);
  for (int k = 0; k < 10; k++) {
    attach_begin(&a, false);
    assert_int_equal(a.result.stillness, LH_STILL_STOPPED);
    assert_string_equal(a.result.no_fork, reason);
    attach_end(&a);
    expect_life(n);
  }
  attach_close(&a);
  subject_end(&s);
}

static void test_under_a_filter(void **state) {
  (void)state;
  expect_no_fork(live_under_filter, "a seccomp filter");
  expect_no_fork(live_under_half_a_filter, "a seccomp filter");
}

static void test_under_a_limit(void **state) {
  (void)state;
  if (geteuid() != 0) skip();
  expect_no_fork(live_without_children, "it may have no more processes");
}

/* ==== Idle ========================================================================== */

static void wait_for_order(const subject *self) {
  for (;;) subject_wait(self);
}

static bool is_asleep(const void *process) {
  lh_call call;
  pid_t id = *(const pid_t *)process;
  return lh_call_of_sleeper(id, id, &call) && call.number == SYS_read;
}

static void test_idle(void **state) {
  (void)state;
  lh_error error;
  attach a;
  subject s = subject_start(wait_for_order, NULL);
  attach_open(&a, s.id);
  for (int k = 0; k < 4; k++) {
    assert_true(attach_wait_until(is_asleep, &s.id));
    a.result = (lh_outside_result){0};
    assert_int_equal(
        lh_freeze_begin(a.target, 0, false, &a.frozen_process, &a.memory, &a.result, &error),
        LH_OK);
    assert_int_equal(a.result.stillness, LH_STILL_IDLE);
    assert_true(a.result.was_in_system_call);
    assert_int_equal(lh_thread_state(s.id), 'S');
    if (k % 2) subject_go_on(&s);
    assert_int_equal(lh_freeze_end(a.frozen_process, &a.result), k % 2 == 0);
    assert_int_equal(a.result.stopped_ns, 0);
  }
  attach_close(&a);
  subject_end(&s);
}

/* ==================================================================================== */

int main(int n_arguments, char **arguments) {
  if (n_arguments > 1) return be_started_again(atoi(arguments[1]));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_child_is_seen),
      cmocka_unit_test(test_its_own_child_is_seen),
      cmocka_unit_test(test_vfork),
      cmocka_unit_test(test_files_are_closed),
      cmocka_unit_test(test_no_descriptor_is_left),
      cmocka_unit_test(test_a_stopped_process_stays_stopped),
      cmocka_unit_test(test_a_stopped_computation_stays_where_it_is),
      cmocka_unit_test(test_stops_meanwhile),
      cmocka_unit_test(test_a_storm_of_threads),
      cmocka_unit_test(test_a_process_that_ends),
      cmocka_unit_test(test_exec),
      cmocka_unit_test(test_under_a_filter),
      cmocka_unit_test(test_under_a_limit),
      cmocka_unit_test(test_idle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
