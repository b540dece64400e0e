/*
** test_log.c - a line of heap.auto neither ends the program nor makes it wait (lua/log.c), wherever
** stderr leads. Each case runs in a child, whose signals are the default ones; a child that waits
** is ended by an alarm after a minute.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "log.h"

enum { A_MINUTE = 60 };

static void say(const char *text) {
  hl_log("", (const char *[]){": ", text}, 2);
}

static void say_and_leave(int fd) {
  if (dup2(fd, STDERR_FILENO) < 0) _exit(2);
  int flags = fcntl(STDERR_FILENO, F_GETFL);
  say("something");
  say("something else");
  _exit(fcntl(STDERR_FILENO, F_GETFL) == flags ? 0 : 3); /* the host's own */
}

static pid_t begin_child(void) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)alarm(A_MINUTE);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)signal(SIGTTOU, SIG_DFL);
  }
  return child;
}

static void expect_unharmed(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, WUNTRACED), child);
  if (WIFSTOPPED(status)) (void)kill(child, SIGKILL);
  assert_false(WIFSTOPPED(status));
  assert_int_equal(status, 0);
}

static void fill(int fd) {
  static const char zeros[PIPE_BUF];
  int flags = fcntl(fd, F_GETFL);
  assert_return_code(fcntl(fd, F_SETFL, flags | O_NONBLOCK), errno);
  while (write(fd, zeros, sizeof zeros) > 0) continue;
  while (write(fd, zeros, 1) > 0) continue;
  assert_int_equal(errno, EAGAIN);
  assert_return_code(fcntl(fd, F_SETFL, flags), errno);
}

static void close_both(const int ends[2]) {
  (void)close(ends[0]);
  (void)close(ends[1]);
}

static void make_pair(bool is_socket, int ends[2]) {
  int made = is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends);
  assert_return_code(made, errno);
}

static void reader_is_gone(void **state) {
  int ends[2];
  (void)state;
  for (int is_socket = 0; is_socket < 2; is_socket++) {
    make_pair(is_socket, ends);
    (void)close(ends[0]);
    pid_t child = begin_child();
    if (child == 0) say_and_leave(ends[1]);
    expect_unharmed(child);
    (void)close(ends[1]);
  }
}

static void nobody_empties_it(void **state) {
  int ends[2];
  (void)state;
  for (int is_socket = 0; is_socket < 2; is_socket++) {
    make_pair(is_socket, ends);
    fill(ends[1]);
    pid_t child = begin_child();
    if (child == 0) say_and_leave(ends[1]);
    expect_unharmed(child);
    close_both(ends);
  }
}

/* As root one may open all, but for a pipe that /proc does not show. */
static void full_and_not_to_be_opened(void **state) {
  int ends[2];
  (void)state;
  if (geteuid() != 0) skip();
  assert_return_code(pipe(ends), errno);
  fill(ends[1]);
  pid_t child = begin_child();
  if (child == 0) {
    if (fchmod(ends[1], 0) < 0 || setuid(65534) < 0) _exit(4);
    if (dup2(ends[1], STDERR_FILENO) < 0 || open("/proc/self/fd/2", O_WRONLY) >= 0) _exit(5);
    say_and_leave(ends[1]);
  }
  expect_unharmed(child);
  close_both(ends);
}

static void lost_lines_are_counted(void **state) {
  enum { ROOM = 1 << 17 };
  static char text[ROOM];
  int ends[2];
  (void)state;
  assert_return_code(pipe(ends), errno);
  fill(ends[1]);
  pid_t child = begin_child();
  if (child == 0) {
    if (dup2(ends[1], STDERR_FILENO) < 0) _exit(2);
    say("lost");
    say("lost, too");
    while (read(ends[0], text, ROOM) == ROOM) continue;
    say("told");
    say("the last");
    (void)close(ends[0]);
    _exit(0);
  }
  expect_unharmed(child);
  (void)close(ends[1]);
  ssize_t n = read(ends[0], text, ROOM - 1);
  assert_true(n > 0);
  text[n] = '\0';
  assert_string_equal(text,
                      "heap.auto: told (lines before this one that could not be written: 2)\n"
                      "heap.auto: the last\n");
  (void)close(ends[0]);
}

/* A pipe takes a line of PIPE_BUF bytes whole or not at all. */
static void long_lines_are_cut(void **state) {
  static char text[3 * PIPE_BUF], got[3 * PIPE_BUF];
  int ends[2];
  (void)state;
  memset(text, 'x', sizeof text - 1);
  assert_return_code(pipe(ends), errno);
  pid_t child = begin_child();
  if (child == 0) {
    if (dup2(ends[1], STDERR_FILENO) < 0) _exit(2);
    say(text);
    _exit(0);
  }
  expect_unharmed(child);
  assert_int_equal(read(ends[0], got, sizeof got), PIPE_BUF);
  assert_int_equal(got[PIPE_BUF - 1], '\n');
  close_both(ends);
}

/* ==== In a signal handler ============================================================ */

/* A host's alternate stack may have 8 KB (SIGSTKSZ), of which the kernel takes up to 3.5. */
enum { ALTERNATE_BYTES = 1 << 16, UNTOUCHED = 0xA5 };
static unsigned char alternate[ALTERNATE_BYTES];
static const unsigned char *handlers_frame;

static void say_in_handler(int number) {
  (void)number;
  handlers_frame = __builtin_frame_address(0);
  hl_log("",
         (const char *[]){" (state ", "a", "): wrote ", "b", ": ", "1", " objects, ", "2 B",
                          "; see it: heapview ", "'", "b"},
         11);
}

static void takes_little_stack_in_a_handler(void **state) {
  enum { MOST = 2048 };
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  const struct sigaction action = {.sa_handler = say_in_handler, .sa_flags = SA_ONSTACK};
  size_t at = 0;
  (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* their frames are bigger */
  skip();
#endif
  memset(alternate, UNTOUCHED, sizeof alternate);
  assert_return_code(sigaltstack(&stack, NULL), errno);
  assert_return_code(sigaction(SIGUSR1, &action, NULL), errno);
  assert_return_code(raise(SIGUSR1), errno);
  while (alternate[at] == UNTOUCHED) at++;
  assert_in_range(handlers_frame - &alternate[at], 1, MOST);
  assert_return_code(sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL), errno);
}

static void file_has_its_greatest_size(void **state) {
  char path[] = "/tmp/luaheap-log-XXXXXX";
  (void)state;
  int fd = mkstemp(path);
  assert_return_code(fd, errno);
  pid_t child = begin_child();
  if (child == 0) {
    const struct rlimit limit = {.rlim_cur = 1, .rlim_max = 1};
    if (lseek(fd, 1, SEEK_SET) != 1 || setrlimit(RLIMIT_FSIZE, &limit) < 0) _exit(2);
    hl_log(path, (const char *[]){": to a file"}, 1); /* a byte of it, then none */
    hl_log(path, (const char *[]){": to a file"}, 1);
    say_and_leave(fd);
  }
  expect_unharmed(child);
  (void)close(fd);
  (void)unlink(path);
}

/* Ctrl-S, and a terminal that lets only the job in front write. */
static void terminal_is_stopped(void **state) {
  (void)state;
  for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
    int master, slave;
    struct termios how;
    assert_return_code(openpty(&master, &slave, NULL, NULL, NULL), errno);
    assert_return_code(tcgetattr(slave, &how), errno);
    how.c_lflag |= TOSTOP;
    assert_return_code(tcsetattr(slave, TCSANOW, &how), errno);
    if (is_stopped) assert_return_code(tcflow(slave, TCOOFF), errno);
    pid_t child = begin_child();
    if (child == 0) {
      if (dup2(slave, STDERR_FILENO) < 0 || setsid() < 0) _exit(2);
      pid_t leader = ioctl(slave, TIOCSCTTY, 0) < 0 ? -1 : fork();
      if (leader < 0) _exit(4);
      if (leader == 0) {
        if (setpgid(0, 0) < 0) _exit(5); /* so behind */
        say_and_leave(slave);
      }
      int status = 1;
      (void)waitpid(leader, &status, WUNTRACED);
      if (WIFSTOPPED(status)) (void)kill(leader, SIGKILL);
      _exit(status != 0);
    }
    expect_unharmed(child);
    (void)close(master);
    (void)close(slave);
  }
}

/* As a serial port. A terminal that stderr was, another one, and none. */
static void device_under_the_number_of_stderr(void **state) {
  enum { IS_CLOSED, IS_PIPE, IS_OTHER, IS_SAME, CASES };
  int master, slave, other_master, other, ends[2];
  (void)state;
  assert_return_code(openpty(&master, &slave, NULL, NULL, NULL), errno);
  assert_return_code(openpty(&other_master, &other, NULL, NULL, NULL), errno);
  assert_return_code(pipe(ends), errno);
  const int first[CASES] = {[IS_PIPE] = ends[1], [IS_OTHER] = other, [IS_SAME] = slave};
  for (int i = 0; i < CASES; i++) {
    struct pollfd written = {.fd = master, .events = POLLIN};
    pid_t child = begin_child();
    if (child == 0) {
      (void)close(STDERR_FILENO);
      if (i != IS_CLOSED && dup2(first[i], STDERR_FILENO) < 0) _exit(2);
      hl_note_stderr();
      say_and_leave(slave);
    }
    expect_unharmed(child);
    assert_int_equal(poll(&written, 1, 0), i == IS_SAME);
  }
  close_both(ends);
  close_both((const int[]){master, slave});
  close_both((const int[]){other_master, other});
}

/* One that the program has blocked, and has not looked at yet, stays. */
static void signal_that_waited_stays(void **state) {
  int ends[2];
  (void)state;
  assert_return_code(pipe(ends), errno);
  (void)close(ends[0]);
  for (int waits = 0; waits < 2; waits++) {
    pid_t child = begin_child();
    if (child == 0) {
      sigset_t set;
      (void)sigemptyset(&set);
      (void)sigaddset(&set, SIGPIPE);
      (void)sigprocmask(SIG_BLOCK, &set, NULL);
      if (waits) (void)raise(SIGPIPE);
      if (dup2(ends[1], STDERR_FILENO) < 0) _exit(2);
      say("something");
      (void)sigpending(&set);
      _exit(sigismember(&set, SIGPIPE) != waits);
    }
    expect_unharmed(child);
  }
  (void)close(ends[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reader_is_gone),
      cmocka_unit_test(nobody_empties_it),
      cmocka_unit_test(full_and_not_to_be_opened),
      cmocka_unit_test(lost_lines_are_counted),
      cmocka_unit_test(long_lines_are_cut),
      cmocka_unit_test(takes_little_stack_in_a_handler),
      cmocka_unit_test(file_has_its_greatest_size),
      cmocka_unit_test(terminal_is_stopped),
      cmocka_unit_test(device_under_the_number_of_stderr),
      cmocka_unit_test(signal_that_waited_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
