/*
** test_descriptors.c - a host whose stdin, stdout or stderr is closed, in all combinations, and
** whose other thread prints to them all the time: nothing of that comes into a file of ours, and
** the numbers stay free.
*/
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rooms/all.h"
#include "scene.h"

static const char printed[] = "printed by the host\n";

typedef struct host {
  int closed; /* a bit for each */
  atomic_bool prints;
} host;

/* On what is closed alone: it gets an error each time, or it has found a file. */
static void *print_on(void *payload) {
  host *h = payload;
  size_t n_written = 0;
  while (h->prints) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
      if (h->closed & 1 << fd && write(fd, printed, sizeof printed - 1) > 0) n_written++;
    }
  }
  return NULL;
}

/* Takes a snapshot; is it whole, with nothing of the host's in it? */
static bool take_whole(lua_State *L, bool background) {
  if (scene_take(L, "a", background, NULL) != LH_OK) return false;
  return scene_is_whole("a");
}

/* In a process of its own, which has no output. 0: all went well. */
static int run_host(lua_State *L, int closed) {
  enum { TIMES = 30 };
  host h = {.closed = closed, .prints = true};
  pthread_t thread;
  for (int fd = 0; fd <= STDERR_FILENO; fd++) {
    if (closed & 1 << fd) (void)close(fd);
  }
  if (pthread_create(&thread, NULL, print_on, &h) != 0) return 2;
  for (int i = 0; i < TIMES; i++) {
    if (!take_whole(L, i % 2)) return 3;
  }
  h.prints = false;
  (void)pthread_join(thread, NULL);
  for (int fd = 0; fd <= STDERR_FILENO; fd++) {
    if (closed & 1 << fd && fcntl(fd, F_GETFD) >= 0) return 4;
  }
  return 0;
}

static void prints_into_no_file(void **state) {
  for (int closed = 0; closed < 8; closed++) {
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(run_host(*state, closed));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(prints_into_no_file, scene_set_up, scene_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
