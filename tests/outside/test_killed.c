/*
** test_killed.c - whoever holds a process still from outside is killed or interrupted, at each
** request that it makes of the kernel and at random moments: the process goes on with all its
** registers, and no copy of it runs or is left as a zombie.
*/
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach.h"
#include "outside/memory.h"
#include "outside/outside.h"
#include "requests.h"
#include "soak.h"
#include "subject.h"

typedef struct checks {
  volatile uint64_t n;
  volatile int wrong;     /* registers */
  volatile int intruders; /* copies that ran */
  volatile int n_steps;   /* of who was to be killed, and was not */
} checks;

/* ==== Registers ===================================================================== */

#if defined __x86_64__

/* Puts a value into each register, flag and the red zone, idles or makes system calls for a while,
** and compares. 0: all are the same. */
int keep_while_idling(void);
int keep_in_calls(void);

/* clang-format off */
#define EACH_KEPT(DO) \
  DO(rbx, 1001) DO(rdx, 1002) DO(rsi, 1003) DO(rdi, 1004) DO(rbp, 1005) DO(r8, 1006) \
  DO(r9, 1007) DO(r10, 1008) DO(r12, 1009) DO(r13, 1010) DO(r14, 1011) DO(r15, 1012)
#define PUT(name, value) "mov $-" #value ", %" #name "\n"
#define COMPARE(name, value) "cmp $-" #value ", %" #name "\n jne 9f\n"
#define PUSH "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
#define POP "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
#define PUT_REST \
  "mov $-2001, %rax\n mov %rax, -8(%rsp)\n mov %rax, -128(%rsp)\n movq %rax, %xmm0\n" \
  "movq %rax, %xmm15\n mov $0x7fffffff, %eax\n add $1, %eax\n" /* overflow, sign; no carry */
#define COMPARE_REST \
  "jno 9f\n jns 9f\n jc 9f\n jz 9f\n" EACH_KEPT(COMPARE) \
  "cmpq $-2001, -8(%rsp)\n jne 9f\n cmpq $-2001, -128(%rsp)\n jne 9f\n" \
  "movq %xmm0, %rax\n cmp $-2001, %rax\n jne 9f\n" \
  "movq %xmm15, %rax\n cmp $-2001, %rax\n jne 9f\n" \
  "xor %eax, %eax\n jmp 8f\n 9: mov $1, %eax\n 8:\n"

__asm__(
  ".text\n keep_while_idling:\n" PUSH EACH_KEPT(PUT) PUT_REST
  "mov $-1013, %rax\n mov $-1014, %rcx\n mov $-1015, %r11\n"
  ".rept 5000\n nop\n .endr\n"
  "jno 9f\n jns 9f\n jc 9f\n jz 9f\n"
  COMPARE(rax, 1013) COMPARE(rcx, 1014) COMPARE(r11, 1015)
  "mov $0x7fffffff, %eax\n add $1, %eax\n" COMPARE_REST POP "ret\n"
  "keep_in_calls:\n" PUSH EACH_KEPT(PUT) PUT_REST
  ".rept 8\n mov $110, %eax\n syscall\n .endr\n" /* getppid */
  COMPARE_REST POP "ret\n");
/* clang-format on */

#else

static int keep_while_idling(void) {
  return 0;
}

static int keep_in_calls(void) {
  (void)getppid();
  return 0;
}

#endif

/* ==== Who is looked at ============================================================== */

static checks *begin_life(const subject *self) {
  (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  if (write(self->answers, "", 1) != 1) _exit(1);
  return self->shared;
}

/* A copy would be another process. */
static void tell(checks *c, pid_t process, int wrong) {
  c->wrong += wrong;
  c->intruders += getpid() != process;
  c->n++;
}

static void idle_on(const subject *self) {
  pid_t process = getpid();
  for (checks *c = begin_life(self);;) tell(c, process, keep_while_idling());
}

static void make_calls(const subject *self) {
  pid_t process = getpid();
  for (checks *c = begin_life(self);;) tell(c, process, keep_in_calls());
}

static void sleep_briefly(const subject *self) {
  pid_t process = getpid();
  checks *c = begin_life(self);
  for (int fd = epoll_create1(0);;) {
    struct epoll_event event;
    int n = epoll_wait(fd, &event, 1, 5);
    tell(c, process, n != 0 && (n > 0 || errno != EINTR));
  }
}

static void (*const lives[])(const subject *self) = {idle_on, make_calls, sleep_briefly};

typedef struct victim {
  subject subject;
  checks *checks;
  uint64_t before;
} victim;

static victim start_victim(void (*life)(const subject *self)) {
  victim v = {.checks = subject_share(sizeof(checks))};
  v.subject = subject_start(life, v.checks);
  return v;
}

static void end_victim(victim *v) {
  subject_end(&v->subject);
  (void)munmap(v->checks, sizeof *v->checks);
}

static bool goes_on(const void *of) {
  const victim *v = of;
  return v->checks->n > v->before + 3;
}

/* Nor is it traced any more, by who was killed or by what cleans up then. */
static bool has_no_child(const void *of) {
  const victim *v = of;
  lh_process_status status;
  return attach_children(v->subject.id) == 0 && lh_process_status_of(v->subject.id, &status) &&
         status.tracer == 0;
}

static void expect_sound(victim *v, const char *when, int step) {
  v->before = v->checks->n;
  if (!attach_wait_until(goes_on, v)) fail_msg("%s %d: it does not go on", when, step);
  if (!attach_wait_until(has_no_child, v))
    fail_msg("%s %d: a copy or its zombie is left", when, step);
  if (v->checks->wrong) fail_msg("%s %d: a register is wrong", when, step);
  if (v->checks->intruders) fail_msg("%s %d: a copy ran", when, step);
}

/* ==== Who is killed ================================================================= */

static void die(void *payload) {
  (void)payload;
  (void)syscall(SYS_kill, getpid(), SIGKILL); /* which is not counted */
}

static void attach_and_die(const victim *v, bool never_fork, int step) {
  attach a;
  attach_open(&a, v->subject.id);
  requests_begin(step, die, NULL);
  attach_begin(&a, never_fork);
  attach_end(&a);
  v->checks->n_steps = requests_end();
}

/* How many times it was killed. */
static int kill_at_each_step(void (*life)(const subject *self), bool never_fork) {
  victim v = start_victim(life);
  v.checks->n_steps = 0;
  int step = 0, n_killed = -1;
  while (v.checks->n_steps == 0) {
    int status;
    step += (int)soak_step(1);
    n_killed++;
    pid_t tool = fork();
    if (tool == 0) {
      attach_and_die(&v, never_fork, step);
      _exit(0);
    }
    assert_int_equal(waitpid(tool, &status, 0), tool);
    assert_true(WIFSIGNALED(status) || v.checks->n_steps > 0);
    expect_sound(&v, "killed at step", step);
  }
  end_victim(&v);
  return n_killed;
}

static void test_killed_at_each_step(void **state) {
  (void)state;
  int n = 0;
  for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
    n += kill_at_each_step(lives[i], false);
    n += kill_at_each_step(lives[i], true);
  }
  print_message("killed %d times\n", n);
  assert_true(n > (LH_CAN_INJECT ? 100 : 50) / SOAK_STEP);
}

static void attach_for_ever(const victim *v) {
  attach a;
  attach_open(&a, v->subject.id);
  for (;;) {
    attach_begin(&a, false);
    attach_end(&a);
  }
}

static void test_killed_at_random_moments(void **state) {
  (void)state;
  const int times = (int)soak_times(40);
  srandom(14);
  for (int i = 0; i < times; i++) {
    victim v = start_victim(lives[i % 3]);
    pid_t tool = fork();
    if (tool == 0) attach_for_ever(&v);
    struct timespec moment = {.tv_nsec = 500000 + random() % 5000000};
    (void)nanosleep(&moment, NULL);
    (void)kill(tool, SIGKILL);
    assert_int_equal(waitpid(tool, NULL, 0), tool);
    expect_sound(&v, "killed at time", i);
    end_victim(&v);
  }
}

/* ==== Who is stopped ================================================================ */

static bool is_stopped(const void *of) {
  const victim *v = of;
  lh_process_status status;
  return lh_process_status_of(v->subject.id, &status) && status.state == 'T';
}

/* By a signal, after its copy was made: that is taken away, and it stays stopped. */
static void test_stopped(void **state) {
  (void)state;
  for (unsigned i = 0; i < soak_times(12); i++) {
    victim v = start_victim(lives[i % 3]);
    attach a;
    attach_open(&a, v.subject.id);
    attach_begin(&a, false);
    assert_int_equal(kill(v.subject.id, SIGSTOP), 0);
    if (a.result.stillness == LH_STILL_FORK && !attach_wait_until(is_stopped, &v))
      fail_msg("it is not stopped");
    attach_end(&a);
    assert_true(attach_wait_until(is_stopped, &v));
    assert_int_equal(attach_children(v.subject.id), 0);
    attach_close(&a);
    attach_nap();
    assert_true(is_stopped(&v));
    assert_int_equal(kill(v.subject.id, SIGCONT), 0);
    expect_sound(&v, "stopped", (int)i);
    end_victim(&v);
  }
}

/* ==== Who is interrupted ============================================================ */

static volatile sig_atomic_t n_handled;

static void handle(int signal_number) {
  (void)signal_number;
  n_handled++;
}

/* Copies nothing until it is told to end. */
static void copy_until_told(const attach *a) {
  lh_spans mirrored = {0}, written = {0};
  uint64_t copied;
  while (lh_copy_written(&a->memory, &mirrored, &written, &copied)) attach_nap();
}

static void hold_until_told(const victim *v, bool never_fork, int out) {
  attach a;
  (void)signal(SIGINT, SIG_DFL); /* who runs the tests in the background has it ignored */
  (void)signal(SIGUSR1, handle);
  attach_open(&a, v->subject.id);
  attach_begin(&a, never_fork);
  if (write(out, "", 1) != 1) _exit(1);
  if (a.result.stillness == LH_STILL_FORK)
    copy_until_told(&a);
  else
    for (;;) attach_nap();
  attach_end(&a);
  _exit(0);
}

/* Ctrl-C, at any moment: it dies of that, and nothing of it is left. */
static void test_interrupted(void **state) {
  (void)state;
  for (unsigned i = 0; i < soak_times(20); i++) {
    victim v = start_victim(lives[i % 3]);
    int status, ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t tool = fork();
    if (tool == 0) hold_until_told(&v, i % 2, ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)kill(tool, SIGUSR1);
    (void)kill(tool, SIGINT);
    assert_int_equal(waitpid(tool, &status, 0), tool);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    expect_sound(&v, "interrupted", (int)i);
    (void)close(ends[0]);
    (void)close(ends[1]);
    end_victim(&v);
  }
}

static void interrupt(void *payload) {
  (void)payload;
  (void)syscall(SYS_kill, getpid(), SIGTERM);
}

/* The same before each request, as far as they are made with signals held; and what is handled does
** not end it. */
static int interrupt_at_each_step(void (*life)(const subject *self), bool never_fork) {
  victim v = start_victim(life);
  int step = 0, n_told = -1;
  for (int status = SIGTERM; WIFSIGNALED(status);) {
    step += (int)soak_step(1);
    n_told++;
    pid_t tool = fork();
    if (tool == 0) {
      attach a;
      (void)signal(SIGTERM, SIG_DFL);
      attach_open(&a, v.subject.id);
      requests_begin(step, interrupt, NULL);
      if (attach_try(&a, never_fork)) _exit(requests_end() >= step);
      _exit(1);
    }
    assert_int_equal(waitpid(tool, &status, 0), tool);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGTERM : status == 0);
    expect_sound(&v, "told to end at step", step);
  }
  end_victim(&v);
  return n_told;
}

static void test_interrupted_at_each_step(void **state) {
  (void)state;
  int n = 0;
  for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
    n += interrupt_at_each_step(lives[i], false);
    n += interrupt_at_each_step(lives[i], true);
  }
  print_message("told to end %d times\n", n);
  assert_true(n > (LH_CAN_INJECT ? 100 : 50) / SOAK_STEP);
}

/* What the target can make last for ever (guard.c) ends, too. */
static void test_interrupted_in_vain(void **state) {
  (void)state;
  int status;
  pid_t tool = fork();
  if (tool == 0) {
    sigset_t before;
    (void)signal(SIGTERM, SIG_DFL);
    if (!lh_guard_begin(getppid())) _exit(1);
    lh_hold_signals(&before);
    (void)raise(SIGTERM);
    for (;;) (void)pause();
  }
  assert_int_equal(waitpid(tool, &status, 0), tool);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_handled(void **state) {
  (void)state;
  for (int never_fork = 0; never_fork < 2; never_fork++) {
    victim v = start_victim(idle_on);
    attach a;
    n_handled = 0;
    (void)signal(SIGUSR1, handle);
    attach_open(&a, v.subject.id);
    attach_begin(&a, never_fork);
    assert_false(lh_is_told_to_end(a.memory.before));
    (void)raise(SIGUSR1);
    assert_false(lh_is_told_to_end(a.memory.before));
    assert_int_equal(n_handled, never_fork); /* nobody waits where it is stopped, else a moment */
    attach_end(&a);
    assert_int_equal(n_handled, 1);
    attach_close(&a);
    expect_sound(&v, "a handler ran", never_fork);
    end_victim(&v);
  }
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_killed_at_each_step),
      cmocka_unit_test(test_killed_at_random_moments),
      cmocka_unit_test(test_stopped),
      cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_interrupted_at_each_step),
      cmocka_unit_test(test_interrupted_in_vain),
      cmocka_unit_test(test_handled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
