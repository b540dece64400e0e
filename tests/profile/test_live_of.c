/*
** test_live_of.c - how a watcher finds a tracked process, asks it and looks at what it answers, and
** what it is told where it cannot. The process is made here: a child with the two files in memory
** that a recorder has. Profiles are read elsewhere: what is opened is noted only.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "luaheap_tracked.h"

/* {=== The process =================================================================== */

static char opened[64]; /* the first bytes of the file that was opened last */

int lh_profile_open(const char *path, lh_profile **profile, lh_error *error) {
  FILE *file = fopen(path, "r");
  (void)error;
  assert_non_null(file);
  opened[fread(opened, 1, sizeof opened - 1, file)] = '\0';
  assert_int_equal(fclose(file), 0);
  *profile = (lh_profile *)opened;
  return 0;
}

typedef struct child {
  pid_t id;
  int orders, answers; /* pipes */
} child;

static int put_file(const char *name, const char *content) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  return fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content) ? fd : -1;
}

/* 'r': tell the number that was asked by. 'a', 'b': that is the answer now. 'x': no more files. */
static void serve(int orders, int answers) {
  static const char zero[8];
  int request = memfd_create("luaheap-request", MFD_CLOEXEC), next;
  int profile = memfd_create("luaheap-profile", MFD_CLOEXEC);
  uint64_t n = 0;
  char order, content[2] = "";
  if (write(request, zero, sizeof zero) != sizeof zero) _exit(1);
  while (read(orders, &order, 1) == 1) {
    if (order == 'r' && pread(request, &n, sizeof n, 0) != (ssize_t)sizeof n) _exit(1);
    content[0] = order;
    if ((order == 'a' || order == 'b') && (next = put_file("luaheap-profile", content)) >= 0) {
      if (dup2(next, profile) < 0) _exit(1);
      close(next);
    }
    if (order == 'x') close(request), close(profile);
    if (write(answers, &n, sizeof n) != (ssize_t)sizeof n) _exit(1);
  }
  _exit(0);
}

static uint64_t order(const child *c, char what) {
  uint64_t n;
  assert_int_equal(write(c->orders, &what, 1), 1);
  assert_int_equal(read(c->answers, &n, sizeof n), sizeof n);
  return n;
}

static child start(void) {
  int orders[2], answers[2];
  child c;
  assert_int_equal(pipe(orders), 0);
  assert_int_equal(pipe(answers), 0);
  c = (child){.id = fork(), .orders = orders[1], .answers = answers[0]};
  assert_true(c.id >= 0);
  if (c.id == 0) {
    close(orders[1]);
    serve(orders[0], answers[1]);
  }
  close(orders[0]);
  close(answers[1]);
  (void)order(&c, '-'); /* its files are there */
  return c;
}

/* It has ended; and if it is to be `waited` for, its number is free. */
static void stop(const child *c, bool waited) {
  siginfo_t info;
  close(c->orders);
  close(c->answers);
  assert_int_equal(waitid(P_PID, (id_t)c->id, &info, WEXITED | (waited ? 0 : WNOWAIT)), 0);
}

static void expect(int code, int wanted, const lh_error *error, const char *format, pid_t id) {
  char sentence[256];
  snprintf(sentence, sizeof sentence, format, (int)id);
  assert_int_equal(code, wanted);
  assert_string_equal(error->message, sentence);
}

/* }=================================================================================== */

static void a_process_is_asked_and_answers(void **state) {
  child c = start();
  lh_tracked *t;
  lh_profile *profile;
  (void)state;
  assert_int_equal(lh_tracked_open((uint64_t)c.id, &t, NULL), 0);
  assert_int_equal(lh_tracked_look(t, &profile, NULL), 0);
  assert_null(profile); /* nobody has asked */
  assert_int_equal(order(&c, 'r'), 0);
  assert_int_equal(lh_tracked_ask(t, NULL), 0);
  assert_int_equal(order(&c, 'r'), 1);
  (void)order(&c, 'a');
  assert_int_equal(lh_tracked_look(t, &profile, NULL), 0);
  assert_non_null(profile);
  assert_string_equal(opened, "a");
  assert_int_equal(lh_tracked_look(t, &profile, NULL), 0);
  assert_null(profile); /* it was seen */
  assert_int_equal(lh_tracked_ask(t, NULL), 0);
  assert_int_equal(order(&c, 'r'), 2);
  (void)order(&c, 'b');
  assert_int_equal(lh_tracked_look(t, &profile, NULL), 0);
  assert_string_equal(opened, "b");
  lh_tracked_close(t);
  stop(&c, true);
}

static void what_is_not_there_is_told(void **state) {
  child c = start();
  lh_tracked *t;
  lh_profile *profile;
  lh_error error;
  (void)state;
  expect(lh_tracked_open((uint64_t)getpid(), &t, &error), LH_ENOTFOUND, &error,
         "nothing in process %d is tracked for watchers: heap.track{live = true}, or "
         "LUA_HEAP=track,live",
         getpid());
  assert_null(t);
  assert_int_equal(lh_tracked_open((uint64_t)c.id, &t, NULL), 0);
  (void)order(&c, 'x');
  expect(lh_tracked_ask(t, &error), LH_ENOTFOUND, &error,
         "nothing in process %d is tracked for watchers: heap.track{live = true}, or "
         "LUA_HEAP=track,live",
         c.id);
  stop(&c, false);
  expect(lh_tracked_ask(t, &error), LH_ENOTFOUND, &error, "process %d has ended", c.id);
  stop(&c, true);
  expect(lh_tracked_ask(t, &error), LH_ENOTFOUND, &error, "process %d has ended", c.id);
  expect(lh_tracked_look(t, &profile, &error), LH_ENOTFOUND, &error, "process %d has ended", c.id);
  expect(lh_tracked_pause(t, true, &error), LH_ENOTFOUND, &error, "process %d has ended", c.id);
  lh_tracked_close(t);
  expect(lh_tracked_open((uint64_t)c.id, &t, &error), LH_ENOTFOUND, &error,
         "there is no process %d", c.id);
  expect(lh_tracked_open(UINT64_MAX, &t, &error), LH_ENOTFOUND, &error,
         "there is no process 18446744073709551615", 0);
}

/* Process 1 is root's. Who is root becomes another user to try it. */
static void another_user_is_refused(void **state) {
  int status;
  pid_t id = fork();
  (void)state;
  if (id == 0) {
    lh_tracked *t;
    lh_error error;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(1);
    int code = lh_tracked_open(1, &t, &error);
    _exit(code == LH_EIO && strcmp(error.message,
                                   "process 1 belongs to another user, or lets "
                                   "nobody look at it") == 0
              ? 0
              : 2);
  }
  assert_int_equal(waitpid(id, &status, 0), id);
  assert_int_equal(status, 0);
}

/* The third word of /proc/PID/stat. */
static char state_of(pid_t id) {
  char path[32], line[256], *end;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)id);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  assert_int_equal(fclose(file), 0);
  end = strrchr(line, ')');
  return end != NULL ? end[2] : '?';
}

static void a_process_that_waits_goes_on_at_the_end(void **state) {
  child c = start();
  siginfo_t info;
  lh_tracked *t;
  (void)state;
  assert_int_equal(lh_tracked_open((uint64_t)c.id, &t, NULL), 0);
  if (lh_tracked_pause(t, true, NULL) == 0) { /* a kernel since 5.3 */
    assert_int_equal(waitid(P_PID, (id_t)c.id, &info, WSTOPPED), 0);
    assert_int_equal(state_of(c.id), 'T');
    lh_tracked_close(t);
    assert_int_equal(waitid(P_PID, (id_t)c.id, &info, WCONTINUED), 0);
    assert_int_equal(order(&c, 'r'), 0);
  } else {
    lh_tracked_close(t);
  }
  stop(&c, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_process_is_asked_and_answers),
      cmocka_unit_test(what_is_not_there_is_told),
      cmocka_unit_test(another_user_is_refused),
      cmocka_unit_test(a_process_that_waits_goes_on_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
