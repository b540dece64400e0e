/*
** test_changing.c - files that change while they are read: each attempt gives a whole snapshot or
** an error, and a snapshot that is open is what it was, whatever becomes of its file.
*/
#include <fcntl.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rooms/all.h"
#include "scene.h"

typedef struct content {
  char *bytes;
  size_t n;
} content;

static content read_content(const char *path) {
  struct stat info;
  content c = {0};
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0 && fstat(fd, &info) == 0);
  c.n = (size_t)info.st_size;
  c.bytes = malloc(c.n);
  assert_int_equal(read(fd, c.bytes, c.n), info.st_size);
  (void)close(fd);
  return c;
}

static void put_part(int fd, content c, size_t from, size_t n) {
  if (pwrite(fd, c.bytes + from, n, (off_t)from) != (ssize_t)n) _exit(1);
}

/* A is made B in place, and B A, in whole, in steps, in halves, cut and with a hole. */
static _Noreturn void change_for_ever(const char *path, const content contents[2]) {
  enum { STEP = 65536 };
  int fd = open(path, O_WRONLY);
  for (size_t round = 0; fd >= 0 && getppid() != 1; round++) {
    content c = contents[round % 2];
    switch (round / 2 % 5) {
      case 0: put_part(fd, c, 0, c.n); break;
      case 1:
        for (size_t i = 0; i < c.n; i += STEP) put_part(fd, c, i, c.n - i < STEP ? c.n - i : STEP);
        break;
      case 2: put_part(fd, c, c.n / 2, c.n - c.n / 2); break;
      case 3: (void)!ftruncate(fd, (off_t)(c.n / 3)); break;
      default: (void)!ftruncate(fd, 0), put_part(fd, c, c.n - 100, 100);
    }
    (void)!ftruncate(fd, (off_t)c.n);
  }
  _exit(0);
}

/* One attempt: did it give a snapshot? It is sound then, and one of the two. */
static bool try_to_open(const char *path, const uint64_t objects[2]) {
  lh_snapshot *s;
  lh_error error;
  uint64_t edges;
  int code = lh_open(&s, path, &error);
  if (code != LH_OK) {
    assert_null(s);
    assert_true(code == LH_EIO || code == LH_EDAMAGED || code == LH_EFOREIGN);
    assert_null(strchr(error.message, '\n'));
    return false;
  }
  uint64_t found = lh_snapshot_info(s)->objects;
  assert_true(found == objects[0] || found == objects[1]);
  assert_int_equal(lh_verify(s, &edges, &error), LH_OK);
  assert_int_equal(lh_analyse(s, &error), LH_OK);
  assert_int_equal(lh_classify(s, &error), LH_OK);
  lh_close(s);
  return true;
}

static void is_whole_or_an_error(void **state) {
  enum { ATTEMPTS = 400, MOST = 100 * ATTEMPTS };
  content contents[2];
  lh_taken taken[2];
  int n = 0, whole = 0, status;
  for (int i = 0; i < 2; i++) {
    const char *path = i ? "b" : "a";
    assert_int_equal(lh_take_file(*state, path, NULL, &taken[i], NULL), LH_OK);
    contents[i] = read_content(path);
  }
  const uint64_t objects[2] = {taken[0].objects, taken[1].objects};
  pid_t pid = fork();
  if (pid == 0) change_for_ever("a", contents);
  for (; n < ATTEMPTS || (whole == n && n < MOST); n++) whole += try_to_open("a", objects);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  for (int i = 0; i < 2; i++) free(contents[i].bytes);
  (void)printf("faults: a file changes in place while it is read: %d cases, %d survived\n", n, n);
  assert_true(whole < n); /* it did change */
}

static void is_what_it_was_when_it_was_opened(void **state) {
  lh_error error;
  lh_snapshot *s;
  lh_taken taken;
  uint64_t edges;
  assert_int_equal(lh_take_file(*state, "a", NULL, &taken, NULL), LH_OK);
  content c = read_content("a");
  for (int change = 0; change < 3; change++) {
    assert_int_equal(lh_open(&s, "a", &error), LH_OK);
    int fd = open("a", O_WRONLY);
    assert_true(fd >= 0);
    memset(c.bytes, 0xFF, c.n);
    if (change == 0) assert_int_equal(ftruncate(fd, 0), 0);
    if (change == 1) assert_int_equal(pwrite(fd, c.bytes, c.n, 0), (ssize_t)c.n);
    if (change == 2) assert_int_equal(unlink("a"), 0);
    assert_int_equal(lh_verify(s, &edges, &error), LH_OK);
    assert_int_equal(lh_analyse(s, &error), LH_OK);
    assert_int_equal(lh_classify(s, &error), LH_OK);
    assert_int_equal(lh_snapshot_info(s)->objects, taken.objects);
    lh_close(s);
    (void)close(fd);
    assert_int_equal(lh_take_file(*state, "a", NULL, &taken, NULL), LH_OK);
  }
  free(c.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(is_what_it_was_when_it_was_opened, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(is_whole_or_an_error, scene_set_up, scene_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
