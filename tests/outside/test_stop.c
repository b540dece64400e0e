/* test_stop.c - a process is held still from outside, and goes on. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lua.h>

#include "attach.h"
#include "outside/stop.h"
#include "subject.h"

enum { N_THREADS = 3 };

typedef struct counts {
  volatile uint64_t of[N_THREADS];
} counts;

static _Noreturn void count_for_ever(volatile uint64_t *n) {
  for (;; ++*n)
    if (*n % 1024 == 0) (void)getppid();
}

static void *count_in_thread(void *n) {
  count_for_ever(n);
}

static void count_in_threads(const subject *self) {
  counts *c = self->shared;
  pthread_t thread;
  for (int i = 1; i < N_THREADS; i++)
    if (pthread_create(&thread, NULL, count_in_thread, (void *)&c->of[i])) _exit(1);
  if (write(self->answers, "", 1) != 1) _exit(1);
  count_for_ever(&c->of[0]);
}

static void wait_until_all_count(counts *c) {
  counts before = *c;
  for (int i = 0; i < N_THREADS; i++)
    while (c->of[i] == before.of[i]) attach_nap();
}

/* What is counted in shared memory stands still meanwhile, and counting goes on afterwards. */
static void test_all_threads_are_held(void **state) {
  (void)state;
  counts *c = subject_share(sizeof *c);
  subject s = subject_start(count_in_threads, c);
  attach a;
  attach_open(&a, s.id);
  for (int i = 0; i < 20; i++) {
    wait_until_all_count(c);
    attach_begin(&a, true);
    counts before = *c;
    attach_nap();
    assert_memory_equal(&before, (const void *)c, sizeof before);
    assert_int_equal(a.result.stillness, LH_STILL_STOPPED);
    assert_int_equal(a.memory.process_id, s.id);
    attach_end(&a);
    assert_true(a.result.stopped_ns >= 1000000);
  }
  wait_until_all_count(c);
  attach_close(&a);
  subject_end(&s);
}

/* ==== Thousands of threads ========================================================== */

enum { STACK_BYTES = 1 << 16, MOST_SECONDS = 60 };
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* each has memory of theirs, too */
enum { MANY = 500 };
#else
enum { MANY = 8000 };
#endif

static void *sleep_in_thread(void *data) {
  for (;;) (void)pause();
  return data;
}

static void sleep_in_many_threads(const subject *self) {
  pthread_attr_t small;
  pthread_t thread;
  int n = 0;
  (void)pthread_attr_init(&small);
  (void)pthread_attr_setstacksize(&small, STACK_BYTES);
  while (n < MANY && pthread_create(&thread, &small, sleep_in_thread, NULL) == 0) n++;
  if (write(self->answers, "", 1) != 1) _exit(1);
  for (;;) (void)pause();
}

static void take_one_processor(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((unsigned)sched_getcpu(), &one);
  (void)sched_setaffinity(0, sizeof one, &one);
}

/* A thread is being traced while another process has the processor: the timer's handler, which
** looks at all threads that are traced by then, takes longer than the timer. */
static void test_thousands_of_threads_are_traced(void **state) {
  (void)state;
  lh_stop stop;
  lh_error error;
  sigset_t before;
  cpu_set_t processors;
  subject s = subject_start(sleep_in_many_threads, NULL);
  (void)sched_getaffinity(0, sizeof processors, &processors);
  take_one_processor();
  pid_t other = fork();
  if (other == 0) {
    for (time_t end = time(NULL) + MOST_SECONDS; time(NULL) < end;) continue;
    (void)kill(getppid(), SIGKILL);
    _exit(0);
  }
  lh_hold_signals(&before);
  int rc = lh_stop_trace(&stop, s.id, &before, &error);
  if (rc == LH_OK) (void)lh_stop_end(&stop);
  lh_release_signals(&before);
  (void)kill(other, SIGKILL);
  (void)waitpid(other, NULL, 0);
  (void)sched_setaffinity(0, sizeof processors, &processors);
  assert_int_equal(rc, LH_OK);
  subject_end(&s);
}

/* ==================================================================================== */

static volatile uint64_t own_count; /* of the subject: in its own memory */

static void count_in_own_memory(const subject *self) {
  counts *c = self->shared;
  if (write(self->answers, "", 1) != 1) _exit(1);
  for (;; c->of[0] = ++own_count)
    if (own_count % 1024 == 0) (void)getppid();
}

static uint64_t read_own_count(const lh_memory *memory) {
  uint64_t count;
  assert_true(memory->read(memory, (uintptr_t)&own_count, &count, sizeof count));
  return count;
}

/* The copy stands still, and the process does not. Nothing is left of it. */
static void test_a_copy_is_frozen(void **state) {
  (void)state;
  if (!LH_CAN_INJECT) skip();
  counts *c = subject_share(sizeof *c);
  int n_in_call = 0;
  subject s = subject_start(count_in_own_memory, c);
  attach a;
  attach_open(&a, s.id);
  for (int i = 0; i < 100; i++) {
    attach_begin(&a, false);
    if (a.result.stillness != LH_STILL_FORK) fail_msg("%s", a.result.no_fork);
    n_in_call += a.result.was_in_system_call;
    assert_null(a.result.no_fork);
    uint64_t frozen = read_own_count(&a.memory);
    assert_true(frozen <= c->of[0] + 1);
    while (c->of[0] <= frozen + 1000) attach_nap();
    assert_int_equal(read_own_count(&a.memory), frozen);
    attach_end(&a);
    assert_int_equal(attach_children(s.id), 0);
  }
  assert_true(n_in_call > 0); /* where it has a processor within 0.2 s */
  attach_close(&a);
  subject_end(&s);
}

/* The first thread makes a call whenever the second one has made a thousand of them. */
static void *call_often(void *n) {
  volatile uint64_t *made = n;
  while (++*made > 0) (void)getppid();
  return NULL;
}

static void call_seldom(const subject *self) {
  enum { OFTEN = 1000 };
  counts *c = self->shared;
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_often, (void *)&c->of[1])) _exit(1);
  if (write(self->answers, "", 1) != 1) _exit(1);
  for (;; (void)getppid())
    for (uint64_t before = c->of[1]; c->of[1] - before < OFTEN;) continue;
}

static bool is_held_at_call(const lh_stop *stop, pid_t id) {
  for (size_t i = 0; i < stop->n; i++) {
    const lh_thread *thread = &stop->threads[i];
    if (thread->id == id) return thread->held == LH_HELD && thread->event == LH_EVENT_CALL;
  }
  return false;
}

/* If a thread were held at its call as soon as it came there, the other would come to none. */
static void test_no_thread_waits_for_another(void **state) {
  (void)state;
  if (!LH_CAN_CONTINUE) skip();
  int n_held = 0;
  subject s = subject_start(call_seldom, subject_share(sizeof(counts)));
  for (int i = 0; i < 50; i++) {
    lh_stop stop;
    lh_error error;
    sigset_t signals;
    bool is_quiet;
    lh_hold_signals(&signals);
    assert_int_equal(lh_stop_trace(&stop, s.id, &signals, &error), LH_OK);
    lh_stop_seek_calls(&stop);
    n_held += is_held_at_call(&stop, s.id);
    assert_int_equal(lh_stop_all(&stop, &error), LH_OK);
    assert_true(lh_stop_run_on(&stop, &is_quiet));
    (void)lh_stop_end(&stop);
    lh_release_signals(&signals);
  }
  print_message("held %d times\n", n_held);
  assert_true(n_held >= 5); /* mostly 48 */
  subject_end(&s);
}

static void test_an_ended_process_is_refused(void **state) {
  (void)state;
  lh_error error;
  attach a;
  subject s = subject_start(count_in_threads, subject_share(sizeof(counts)));
  attach_open(&a, s.id);
  subject_end(&s);
  for (unsigned attempt = 0; attempt < 4; attempt++) {
    assert_int_equal(
        lh_freeze_begin(a.target, attempt, false, &a.frozen_process, &a.memory, &a.result, &error),
        LH_EIO);
    assert_int_equal(error.os_errno, ESRCH);
    assert_null(a.frozen_process);
  }
  attach_close(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_threads_are_held),
      cmocka_unit_test(test_thousands_of_threads_are_traced),
      cmocka_unit_test(test_a_copy_is_frozen),
      cmocka_unit_test(test_no_thread_waits_for_another),
      cmocka_unit_test(test_an_ended_process_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
