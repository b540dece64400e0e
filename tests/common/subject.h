/*
** subject.h - a process to be looked at from outside: a forked child that does a step whenever it
** is told to, and dies with the test.
**
**     static void grow(const subject *self) {
**       ...
**       subject_wait(self);      // ready; and then told to go on
**       ...
**       subject_wait(self);
**     }
**     subject s = subject_start(grow, NULL);
**     subject_go_on(&s);         // returns when it waits again
**     subject_end(&s);
*/
#pragma once

#include <sys/types.h>

typedef struct subject {
  pid_t id;
  int orders, answers; /* pipes: this end of them */
  void *shared;        /* what the test gave, in the child too; MAP_SHARED where it answers there */
} subject;

/* Returns when it waits for the first time. A life that returns ends it. */
subject subject_start(void (*life)(const subject *self), void *shared);
void subject_go_on(const subject *s);

/* Kills it. */
void subject_end(const subject *s);

/* In the child: tells that it is as far, and waits. */
void subject_wait(const subject *self);

/* Memory that it shares with the test. */
void *subject_share(size_t bytes);
