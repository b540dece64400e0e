/*
** test_signals.c - signals that a process gets while it is held still from outside: each reaches
** its handler once, in order, and a system call that the process slept in fails with EINTR if it
** would have otherwise.
*/
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach.h"
#include "requests.h"
#include "soak.h"
#include "subject.h"

typedef struct counts {
  volatile int handled, in_order, returned;
  volatile unsigned busy; /* which goes round */
} counts;

static counts *own; /* of the subject */

/* ==== At each step ================================================================== */

static void handle(int signal_number) {
  (void)signal_number;
  own->handled++;
}

static void install(int signal_number, int flags) {
  struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
  (void)sigaction(signal_number, &action, NULL);
}

static int make_pipe(void) {
  int ends[2];
  if (pipe(ends)) _exit(2);
  return ends[0];
}

static long in_epoll_wait(void) {
  struct epoll_event event;
  static int fd = -1;
  if (fd < 0) fd = epoll_create1(0);
  return epoll_wait(fd, &event, 1, -1);
}

static long in_poll(void) {
  return poll(NULL, 0, 1000000);
}

static long in_sigsuspend(void) {
  sigset_t none;
  (void)sigemptyset(&none);
  return sigsuspend(&none);
}

static long in_ppoll(void) {
  sigset_t none;
  (void)sigemptyset(&none);
  return ppoll(NULL, 0, NULL, &none);
}

static long in_epoll_pwait(void) {
  struct epoll_event event;
  static int fd = -1;
  sigset_t none;
  (void)sigemptyset(&none);
  if (fd < 0) fd = epoll_create1(0);
  return epoll_pwait(fd, &event, 1, -1, &none);
}

static long in_recv_with_time(void) {
  static int ends[2];
  char byte;
  struct timeval time = {.tv_sec = 1000};
  if (!ends[0] && (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
                   setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time)))
    _exit(2);
  return recv(ends[0], &byte, 1, 0);
}

static long in_pause(void) {
  return pause();
}

/* A frozen copy, too, would be a child. */
static long in_wait(void) {
  static pid_t child;
  if (child == 0) child = fork();
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) (void)pause();
  }
  return waitpid(-1, NULL, __WALL);
}

static long in_read(void) {
  static int fd = -1;
  char byte;
  if (fd < 0) fd = make_pipe();
  return read(fd, &byte, 1);
}

typedef struct sleeper {
  const char *name;
  long (*make)(void);
  int signal_number;
  int flags;       /* of the handler; -1: none, the signal is ignored */
  bool is_blocked; /* but in the call */
  bool returns;    /* with EINTR, for each signal */
} sleeper;

static const sleeper sleepers[] = {
    {"epoll_wait", in_epoll_wait, SIGUSR1, 0, false, true},
    {"epoll_wait, SA_RESTART", in_epoll_wait, SIGUSR1, SA_RESTART, false, true},
    {"poll", in_poll, SIGUSR1, SA_RESTART, false, true},
    {"pause", in_pause, SIGUSR1, 0, false, true},
    {"sigsuspend", in_sigsuspend, SIGUSR1, 0, true, true},
    {"ppoll", in_ppoll, SIGUSR1, 0, true, true},
    {"epoll_pwait", in_epoll_pwait, SIGUSR1, 0, true, true},
    {"recv with a timeout", in_recv_with_time, SIGUSR1, 0, false, true},
    {"wait4", in_wait, SIGUSR1, 0, false, true},
    {"read", in_read, SIGUSR1, 0, false, true},
    {"read, SA_RESTART", in_read, SIGUSR1, SA_RESTART, false, false},
    {"epoll_wait, ignored", in_epoll_wait, SIGURG, -1, false, false},
    {"recv with a timeout, ignored", in_recv_with_time, SIGCHLD, -1, false, false},
};
enum { N_SLEEPERS = sizeof sleepers / sizeof *sleepers };

static const sleeper *of_subject;

static void sleep_in_call(const subject *self) {
  const sleeper *s = of_subject;
  sigset_t signals;
  own = self->shared;
  (void)sigemptyset(&signals);
  (void)sigaddset(&signals, s->signal_number);
  if (s->is_blocked) (void)sigprocmask(SIG_BLOCK, &signals, NULL);
  if (s->flags >= 0) install(s->signal_number, s->flags);
  if (write(self->answers, "", 1) != 1) _exit(1);
  for (;;) {
    if (s->make() >= 0 || errno != EINTR) _exit(3);
    own->returned++;
  }
}

typedef struct expected {
  const counts *counts;
  int handled, returned;
  pid_t process;
} expected;

/* Until something comes, and not for a lock of the kernel, as in the midst of a fork. */
static bool sleeps(pid_t process) {
  lh_call call;
  return lh_call_of_sleeper(process, process, &call) && call.number >= 0 &&
         lh_thread_state(process) == 'S';
}

static bool has_come(const void *of) {
  const expected *e = of;
  return e->counts->handled >= e->handled && e->counts->returned >= e->returned &&
         sleeps(e->process);
}

typedef struct sending {
  pid_t process;
  int signal_number;
} sending;

static bool is_held_or_sleeps(const void *of) {
  pid_t process = *(const pid_t *)of;
  return lh_thread_state(process) == 't' || sleeps(process);
}

/* Who was let go and is not yet back in its call would have the signal in front of that: then its
** handler runs, and the call returns nothing. */
static void send_signal(void *payload) {
  const sending *s = payload;
  (void)attach_wait_until(is_held_or_sleeps, &s->process);
  (void)syscall(SYS_kill, s->process, s->signal_number); /* which is not counted */
}

/* One signal before each of the requests that an attach is made of. Returns how many requests. */
static int signal_at_each_step(const sleeper *which, bool never_fork) {
  counts *c = subject_share(sizeof *c);
  attach a;
  of_subject = which;
  subject s = subject_start(sleep_in_call, c);
  expected e = {.counts = c, .process = s.id};
  sending sent = {s.id, which->signal_number};
  attach_open(&a, s.id);
  int step = 0;
  for (int n_steps = 1; step < n_steps;) {
    assert_true(attach_wait_until(has_come, &e));
    step += (int)soak_step(1);
    requests_begin(step, send_signal, &sent);
    attach_begin(&a, never_fork);
    attach_end(&a);
    n_steps = requests_end();
    if (n_steps < step) break; /* the signal was not sent */
    e.handled += which->flags >= 0;
    e.returned += which->returns;
    if (!attach_wait_until(has_come, &e))
      fail_msg("%s, step %d: %d of %d handled, %d of %d returned", which->name, step, c->handled,
               e.handled, c->returned, e.returned);
    if (c->handled != e.handled || c->returned != e.returned)
      fail_msg("%s, step %d: %d for %d handled, %d for %d returned", which->name, step, c->handled,
               e.handled, c->returned, e.returned);
  }
  attach_close(&a);
  subject_end(&s);
  (void)munmap(c, sizeof *c);
  return step;
}

static void test_a_signal_at_each_step(void **state) {
  (void)state;
  int n = 0;
  for (int i = 0; i < N_SLEEPERS; i++) {
    n += signal_at_each_step(&sleepers[i], false);
    n += signal_at_each_step(&sleepers[i], true);
  }
  print_message("signals at %d requests\n", n);
  assert_true(n > 200);
}

/* ==== A storm ======================================================================= */

static void handle_next(int signal_number, siginfo_t *info, void *context) {
  (void)signal_number, (void)context;
  own->in_order += info->si_value.sival_int == own->handled;
  own->handled++;
}

static void prepare_for_storm(const subject *self) {
  struct sigaction action = {.sa_sigaction = handle_next, .sa_flags = SA_SIGINFO | SA_RESTART};
  own = self->shared;
  (void)sigaction(SIGRTMIN, &action, NULL);
  if (write(self->answers, "", 1) != 1) _exit(1);
}

static void compute_in_storm(const subject *self) {
  prepare_for_storm(self);
  for (;;) own->busy++;
}

static void call_in_storm(const subject *self) {
  prepare_for_storm(self);
  for (;; own->busy++) (void)getppid();
}

static void sleep_in_storm(const subject *self) {
  prepare_for_storm(self);
  for (;; own->busy++) (void)poll(NULL, 0, 1);
}

enum { N_SIGNALS = 2000 };

static pid_t start_sender(pid_t process) {
  pid_t sender = fork();
  if (sender != 0) return sender;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 0; i < N_SIGNALS; i++) {
    while (sigqueue(process, SIGRTMIN, (union sigval){.sival_int = i}) < 0) attach_nap();
    if (i % 8 == 0) attach_nap();
  }
  _exit(0);
}

static bool has_handled_all(const void *of) {
  return ((const counts *)of)->handled >= N_SIGNALS;
}

/* Attaches as long as signals are sent. */
static void weather(void (*life)(const subject *self), bool never_fork) {
  counts *c = subject_share(sizeof *c);
  attach a;
  int n = 0;
  subject s = subject_start(life, c);
  attach_open(&a, s.id);
  pid_t sender = start_sender(s.id);
  while (waitpid(sender, NULL, WNOHANG) == 0) {
    attach_begin(&a, never_fork);
    attach_end(&a);
    n++;
  }
  assert_true(attach_wait_until(has_handled_all, c));
  attach_nap();
  assert_int_equal(c->handled, N_SIGNALS);
  assert_int_equal(c->in_order, N_SIGNALS);
  print_message("%d attaches\n", n);
  attach_close(&a);
  subject_end(&s);
  (void)munmap(c, sizeof *c);
}

static void test_signals_meet_forks(void **state) {
  (void)state;
  weather(compute_in_storm, false);
  weather(call_in_storm, false);
  weather(sleep_in_storm, false);
}

static void test_signals_meet_stops(void **state) {
  (void)state;
  weather(compute_in_storm, true);
  weather(call_in_storm, true);
  weather(sleep_in_storm, true);
}

/* ==== Of a timer of ours ============================================================ */

int __real_timer_delete(timer_t timer);
int __wrap_timer_delete(timer_t timer);

static bool leaves_signal; /* as Linux does up to 6.12 */

int __wrap_timer_delete(timer_t timer) {
  siginfo_t info = {.si_signo = SIGRTMAX, .si_code = SI_TIMER};
  if (leaves_signal)
    assert_int_equal(
        syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), SIGRTMAX, &info), 0);
  return __real_timer_delete(timer);
}

static void *compute(void *unused) {
  for (;;) own->busy++;
  return unused;
}

static void compute_in_threads(const subject *self) {
  enum { MORE_THREADS = 3 };
  pthread_t thread;
  own = self->shared;
  for (int i = 0; i < MORE_THREADS; i++) {
    if (pthread_create(&thread, NULL, compute, NULL)) _exit(1);
  }
  if (write(self->answers, "", 1) != 1) _exit(1);
  (void)compute(NULL);
}

static void wait_for_timer(void *unused) {
  enum { MORE_THAN_ITS_INTERVAL = 5 };
  (void)unused;
  for (int i = 0; i < MORE_THAN_ITS_INTERVAL; i++) attach_nap();
}

/* Threads that have stopped by then are seen to have. */
static void test_a_timer_at_each_step(void **state) {
  enum { ALL_ARE_STOPPED = 40 }; /* by then */
  (void)state;
  counts *c = subject_share(sizeof *c);
  attach a;
  subject s = subject_start(compute_in_threads, c);
  attach_open(&a, s.id);
  for (int step = 1, n_steps = 1; step <= n_steps && step <= ALL_ARE_STOPPED; step++) {
    requests_begin(step, wait_for_timer, NULL);
    attach_begin(&a, true);
    attach_end(&a);
    n_steps = requests_end();
  }
  attach_close(&a);
  subject_end(&s);
  (void)munmap(c, sizeof *c);
}

/* It would end who attaches. */
static void test_a_timer_that_is_late(void **state) {
  (void)state;
  counts *c = subject_share(sizeof *c);
  sigset_t pending;
  attach a;
  subject s = subject_start(sleep_in_storm, c);
  attach_open(&a, s.id);
  leaves_signal = true;
  attach_begin(&a, true);
  leaves_signal = false;
  assert_int_equal(sigpending(&pending), 0);
  assert_false(sigismember(&pending, SIGRTMAX));
  attach_end(&a);
  attach_close(&a);
  subject_end(&s);
  (void)munmap(c, sizeof *c);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_signal_at_each_step), cmocka_unit_test(test_signals_meet_forks),
      cmocka_unit_test(test_signals_meet_stops),    cmocka_unit_test(test_a_timer_at_each_step),
      cmocka_unit_test(test_a_timer_that_is_late),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
