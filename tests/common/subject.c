/* subject.c - a process to be looked at from outside. */
#include "subject.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_answer(const subject *s) {
  char answer;
  if (read(s->answers, &answer, 1) != 1) abort(); /* it died */
}

subject subject_start(void (*life)(const subject *self), void *shared) {
  int orders[2], answers[2];
  subject s = {.shared = shared};
  if (pipe(orders) || pipe(answers)) abort();
  s.id = fork();
  if (s.id < 0) abort();
  s.orders = orders[s.id ? 1 : 0];
  s.answers = answers[s.id ? 0 : 1];
  (void)close(orders[s.id ? 0 : 1]);
  (void)close(answers[s.id ? 1 : 0]);
  if (s.id == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    life(&s);
    _exit(0);
  }
  expect_answer(&s);
  return s;
}

void subject_go_on(const subject *s) {
  if (write(s->orders, "", 1) != 1) abort();
  expect_answer(s);
}

void subject_end(const subject *s) {
  (void)kill(s->id, SIGKILL);
  (void)waitpid(s->id, NULL, 0);
  (void)close(s->orders);
  (void)close(s->answers);
}

void subject_wait(const subject *self) {
  char order;
  if (write(self->answers, "", 1) != 1 || read(self->orders, &order, 1) != 1) _exit(0);
}

void *subject_share(size_t bytes) {
  void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) abort();
  return shared;
}
