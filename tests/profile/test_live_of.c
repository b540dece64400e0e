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
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "profile/format.h"
#include "rooms/profile.h"

/* ==== The process =================================================================== */

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

static int put_file(const char *name, const char *content, int seals) {
  ssize_t n = (ssize_t)strlen(content);
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  bool is_made = fd >= 0 && write(fd, content, strlen(content)) == n;
  return is_made && (seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0) ? fd : -1;
}

/* Is there a lock on the byte of the profile? */
static uint64_t is_asked(int request, int profile) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  struct stat status;
  if (fstat(profile, &status) != 0) _exit(1);
  lock.l_start = lh_live_byte(status.st_ino);
  if (fcntl(request, F_OFD_GETLK, &lock) != 0) _exit(1);
  return lock.l_type != F_UNLCK;
}

/* Bytes that nobody has written take no memory. */
static int put_large_file(void) {
  int fd = memfd_create(LH_LIVE_PROFILE, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  bool is_made = fd >= 0 && ftruncate(fd, LH_LIVE_MOST_BYTES + 1) == 0;
  return is_made && fcntl(fd, F_ADD_SEALS, LH_LIVE_SEALS) == 0 ? fd : -1;
}

/* 'r': tell whether it is asked. 'a', 'b', 'l': that is the answer now. 'x': no more files. */
static void serve(int orders, int answers) {
  int request = put_file(LH_LIVE_REQUEST, "", LH_LIVE_SEALS);
  int profile = put_file(LH_LIVE_PROFILE, "", LH_LIVE_SEALS), next;
  uint64_t n = 0;
  char order, content[2] = "";
  if (request < 0 || profile < 0) _exit(1);
  while (read(orders, &order, 1) == 1) {
    if (order == 'r') n = is_asked(request, profile);
    content[0] = order;
    if (order == 'a' || order == 'b' || order == 'l') {
      next = order == 'l' ? put_large_file() : put_file(LH_LIVE_PROFILE, content, LH_LIVE_SEALS);
      if (next < 0) _exit(1);
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

/* ==================================================================================== */

static void expect_answer(lh_tracked *t, const char *answer) {
  lh_profile *profile;
  assert_int_equal(lh_tracked_look(t, &profile, NULL), 0);
  if (answer) assert_non_null(profile);
  if (!answer) assert_null(profile);
  if (answer) assert_string_equal(opened, answer);
}

static void a_process_is_asked_and_answers(void **state) {
  child c = start();
  lh_tracked *t, *other;
  (void)state;
  assert_int_equal(lh_tracked_open((uint64_t)c.id, &t, NULL), 0);
  expect_answer(t, NULL); /* nobody has asked */
  assert_int_equal(order(&c, 'r'), 0);
  assert_int_equal(lh_tracked_ask(t, NULL), 0);
  assert_int_equal(order(&c, 'r'), 1);
  (void)order(&c, 'a');
  assert_int_equal(order(&c, 'r'), 0); /* the answer is one to all who had asked */
  expect_answer(t, "a");
  expect_answer(t, NULL); /* it was seen */
  assert_int_equal(lh_tracked_open((uint64_t)c.id, &other, NULL), 0);
  assert_int_equal(lh_tracked_ask(other, NULL), 0);
  expect_answer(other, NULL); /* it is from before the question */
  assert_int_equal(lh_tracked_ask(t, NULL), 0);
  assert_int_equal(order(&c, 'r'), 1);
  (void)order(&c, 'b');
  assert_int_equal(order(&c, 'r'), 0);
  expect_answer(t, "b");
  expect_answer(other, "b");
  assert_int_equal(lh_tracked_ask(t, NULL), 0);
  assert_int_equal(order(&c, 'r'), 1);
  lh_tracked_close(t); /* who goes takes the question along */
  assert_int_equal(order(&c, 'r'), 0);
  lh_tracked_close(other);
  stop(&c, true);
}

/* ==== Hostile processes ============================================================= */

/* Waits, with the descriptors that it made, until it is killed. */
static child fake(bool (*makes)(void)) {
  int ready[2];
  char byte;
  child c = {.orders = -1, .answers = -1};
  assert_int_equal(pipe(ready), 0);
  c.id = fork();
  assert_true(c.id >= 0);
  if (c.id == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!makes() || write(ready[1], "", 1) != 1) _exit(1);
    for (;;) (void)pause();
  }
  close(ready[1]);
  ssize_t n = read(ready[0], &byte, 1);
  close(ready[0]);
  if (n == 1) return c;
  assert_int_equal(waitpid(c.id, NULL, 0), c.id);
  return (child){.id = -1}; /* it may not make a namespace */
}

static bool write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0) close(fd);
  return done;
}

/* A root of its own, in which it may give any name to any file. */
static bool enter_namespace(void) {
  char map[64];
  unsigned user = geteuid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  (void)snprintf(map, sizeof map, "0 %u 1", user);
  return write_text("/proc/self/uid_map", map) &&
         mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("none", "/tmp", "tmpfs", 0, NULL) == 0 && chroot("/tmp") == 0 && chdir("/") == 0;
}

/* Both names, for what `make` makes; opened so that nothing waits. */
static bool name_both(bool (*make)(const char *path)) {
  static const char *const names[] = {"/memfd:" LH_LIVE_REQUEST, "/memfd:" LH_LIVE_PROFILE};
  for (int i = 0; i < 2; i++)
    if (!make(names[i]) || open(names[i], O_RDWR | O_NONBLOCK) < 0) return false;
  return true;
}

static bool make_regular(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  static const char zeros[4096];
  return fd >= 0 && write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros && close(fd) == 0;
}

static bool make_fifo(const char *path) {
  return mkfifo(path, 0666) == 0;
}

static bool make_linked(const char *path) {
  char other[64];
  (void)snprintf(other, sizeof other, "%s-", path);
  return make_regular(path) && link(path, other) == 0;
}

static bool fake_regular(void) {
  return enter_namespace() && name_both(make_regular);
}

static bool fake_linked(void) {
  return enter_namespace() && name_both(make_linked);
}

static bool fake_fifo(void) {
  return enter_namespace() && name_both(make_fifo);
}

/* Gone from its folder, the name ends as that of a file in memory does. */
static bool fake_deleted(void) {
  return fake_regular() && unlink("/memfd:" LH_LIVE_REQUEST) == 0 &&
         unlink("/memfd:" LH_LIVE_PROFILE) == 0;
}

/* A device that all may write to, bound to the names; before the root is another. */
static bool fake_device(void) {
  static const char *const names[] = {"/memfd:" LH_LIVE_REQUEST, "/memfd:" LH_LIVE_PROFILE};
  int device = open("/dev/zero", O_PATH | O_CLOEXEC);
  char from[32];
  (void)snprintf(from, sizeof from, "/proc/self/fd/%d", device);
  if (device < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("none", "/tmp", "tmpfs", 0, NULL) != 0)
    return false;
  for (int i = 0; i < 2; i++) {
    char to[64];
    (void)snprintf(to, sizeof to, "/tmp%s", names[i]);
    if (!make_regular(to) || mount("/dev/zero", to, NULL, MS_BIND, NULL) != 0) return false;
  }
  if (chroot("/tmp") != 0) return false;
  return open(names[0], O_RDWR) >= 0 && open(names[1], O_RDWR) >= 0;
}

static bool fake_unsealed(void) {
  return put_file(LH_LIVE_REQUEST, "12345678", 0) >= 0 && put_file(LH_LIVE_PROFILE, "p", 0) >= 0;
}

static bool fake_half_sealed(void) {
  return put_file(LH_LIVE_REQUEST, "12345678", F_SEAL_SHRINK | F_SEAL_GROW) >= 0 &&
         put_file(LH_LIVE_PROFILE, "p", LH_LIVE_SEALS & ~F_SEAL_SEAL) >= 0;
}

/* Opened for reading alone, a file in memory is no better. */
static bool fake_read_only(void) {
  static const char *const names[] = {LH_LIVE_REQUEST, LH_LIVE_PROFILE};
  char path[32];
  for (int i = 0; i < 2; i++) {
    int fd = put_file(names[i], "12345678", 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || open(path, O_RDONLY) < 0 || close(fd) != 0) return false;
  }
  return true;
}

static void fakes_are_neither_opened_nor_written(void **state) {
  bool (*const fakes[])(void) = {fake_regular, fake_linked,   fake_fifo,        fake_deleted,
                                 fake_device,  fake_unsealed, fake_half_sealed, fake_read_only};
  size_t n = 0;
  (void)state;
  for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
    child c = fake(fakes[i]);
    lh_tracked *t;
    lh_profile *profile;
    lh_error error;
    if (c.id < 0) continue;
    assert_int_equal(lh_tracked_open((uint64_t)c.id, &t, NULL), 0);
    expect(lh_tracked_ask(t, &error), LH_EIO, &error,
           "process %d has a file called 'luaheap-profile' that luaheap did not make: it was not "
           "opened",
           c.id);
    assert_int_equal(lh_tracked_look(t, &profile, &error), LH_EIO);
    assert_null(profile);
    lh_tracked_close(t);
    assert_int_equal(kill(c.id, SIGKILL), 0);
    assert_int_equal(waitpid(c.id, NULL, 0), c.id);
    n++;
  }
  assert_true(n >= 3); /* the others are in a namespace, which some systems forbid */
}

static void large_answers_are_not_read(void **state) {
  child c = start();
  lh_tracked *t;
  lh_profile *profile;
  lh_error error;
  (void)state;
  assert_int_equal(lh_tracked_open((uint64_t)c.id, &t, NULL), 0);
  assert_int_equal(lh_tracked_ask(t, NULL), 0);
  (void)order(&c, 'l');
  expect(lh_tracked_look(t, &profile, &error), LH_EIO, &error,
         "process %d answers with more than 64.0 MB, which is not read: "
         "heap.track{file = \"run.prof\", aggregate = true} writes the same into a file",
         c.id);
  assert_null(profile);
  lh_tracked_close(t);
  stop(&c, true);
}

static int asked_fd;

/* The profile is a true one, the request is `asked_fd`'s kind. */
static bool fake_request(void) {
  return put_file(LH_LIVE_PROFILE, "", LH_LIVE_SEALS) >= 0 &&
         (asked_fd == 0 ? enter_namespace() && make_regular("/memfd:" LH_LIVE_REQUEST) &&
                              open("/memfd:" LH_LIVE_REQUEST, O_RDWR) >= 0
                        : put_file(LH_LIVE_REQUEST, "12345678", 0) >= 0);
}

static void a_fake_request_is_refused(void **state) {
  (void)state;
  for (asked_fd = 0; asked_fd < 2; asked_fd++) {
    child c = fake(fake_request);
    lh_tracked *t;
    lh_error error;
    if (c.id < 0) continue;
    assert_int_equal(lh_tracked_open((uint64_t)c.id, &t, NULL), 0);
    expect(lh_tracked_ask(t, &error), LH_EIO, &error,
           "process %d has a file called 'luaheap-request' that luaheap did not make: it was not "
           "opened",
           c.id);
    lh_tracked_close(t);
    assert_int_equal(kill(c.id, SIGKILL), 0);
    assert_int_equal(waitpid(c.id, NULL, 0), c.id);
  }
}

/* ==================================================================================== */

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
      cmocka_unit_test(fakes_are_neither_opened_nor_written),
      cmocka_unit_test(large_answers_are_not_read),
      cmocka_unit_test(a_fake_request_is_refused),
      cmocka_unit_test(what_is_not_there_is_told),
      cmocka_unit_test(another_user_is_refused),
      cmocka_unit_test(a_process_that_waits_goes_on_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
