/*
** test_stop.c - a process is held still from outside, and goes on.
*/
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "outside/outside.h"
#include "subject.h"

enum { N_THREADS = 3 };

typedef struct counts {
  volatile uint64_t of[N_THREADS];
} counts;

static lh_target *open_subject(const subject *s) {
  lh_target *target;
  lh_error error;
  if (lh_open_process(s->id, &target, &error) < 0) fail_msg("%s", error.message);
  return target;
}

static void nap(void) {
  (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *count(void *of) {
  for (volatile uint64_t *n = of; of; ++*n)
    if (*n % 1024 == 0) (void)getppid();
  return NULL;
}

static void count_in_threads(const subject *self) {
  counts *c = self->shared;
  pthread_t thread;
  for (int i = 1; i < N_THREADS; i++)
    if (pthread_create(&thread, NULL, count, (void *)&c->of[i])) _exit(1);
  if (write(self->answers, "", 1) != 1) _exit(1);
  (void)count((void *)&c->of[0]);
}

static void wait_until_all_count(counts *c) {
  counts before = *c;
  for (int i = 0; i < N_THREADS; i++)
    while (c->of[i] == before.of[i]) nap();
}

/* What is counted in shared memory stands still meanwhile, and counting goes on afterwards. */
static void test_all_threads_are_held(void **state) {
  (void)state;
  counts *c = subject_share(sizeof *c);
  subject s = subject_start(count_in_threads, c);
  lh_target *target = open_subject(&s);
  for (int i = 0; i < 20; i++) {
    lh_error error;
    lh_still *still;
    lh_memory memory;
    lh_outside_told told = {0};
    wait_until_all_count(c);
    if (lh_still_begin(target, 0, true, &still, &memory, &told, &error) < 0)
      fail_msg("%s", error.message);
    counts before = *c;
    nap();
    assert_memory_equal(&before, (const void *)c, sizeof before);
    assert_int_equal(told.stillness, LH_STILL_STOPPED);
    assert_int_equal(memory.process_id, s.id);
    assert_true(lh_still_end(still, &told));
    assert_true(told.stopped_ns >= 1000000);
  }
  wait_until_all_count(c);
  lh_target_free(target);
  subject_end(&s);
}

static void test_an_ended_process_is_refused(void **state) {
  (void)state;
  counts *c = subject_share(sizeof *c);
  subject s = subject_start(count_in_threads, c);
  lh_target *target = open_subject(&s);
  subject_end(&s);
  lh_error error;
  lh_still *still;
  lh_memory memory;
  lh_outside_told told = {0};
  assert_int_equal(lh_still_begin(target, 0, true, &still, &memory, &told, &error), LH_EIO);
  assert_null(still);
  lh_target_free(target);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_threads_are_held),
      cmocka_unit_test(test_an_ended_process_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
