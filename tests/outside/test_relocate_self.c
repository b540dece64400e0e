/*
** test_relocate_self.c - a program that relocates itself runs again once, with what it was given,
** and not for ever where it is refused. The runs are of this program: with a first argument it
** tells what it sees.
*/
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rooms/outside.h"

extern char **environ;

/* ==== What is run =================================================================== */

/* The runs before this one, the layout, what it was given, and where a library and the code are. */
static void tell_all(char **arguments) {
  const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN); /* NOLINT: an address */
  bool is_compatible = personality(0xffffffff) & ADDR_COMPAT_LAYOUT;
  printf("slashes %zu, %s, code %p, libc %s, arguments", strspn(path, "/"),
         is_compatible ? "compatible" : "usual", (void *)(uintptr_t)tell_all,
         (uintptr_t)stderr < (uintptr_t)0x300000000000 ? "low" : "high");
  for (; *arguments; arguments++) printf(" <%s>", *arguments);
  printf(", environment");
  for (char **e = environ; *e; e++) printf(" <%s>", *e);
  printf("\n");
  (void)fflush(stdout);
}

/* The kernel refuses other layouts, as in a container. */
static void forbid_layouts(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = 6, .filter = rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    _exit(7);
}

static int run_again(char **arguments) {
  lh_reexec_elsewhere(arguments);
  tell_all(arguments);
  if (strcmp(arguments[1], "again") == 0) lh_reexec_again(arguments);
  return 0;
}

/* ==================================================================================== */

/* Runs this program under a strange name, in a child; what it said. */
static char *output_of(const char *way, bool is_forbidden) {
  static char output[16384];
  char *arguments[] = {(char *)(uintptr_t) "any name", (char *)(uintptr_t)way,
                       (char *)(uintptr_t) "two words\n", NULL};
  char *variables[] = {(char *)(uintptr_t) "A=1", (char *)(uintptr_t) "B", NULL};
  int pipe_fds[2], status;
  size_t n = 0;
  assert_int_equal(pipe(pipe_fds), 0);
  pid_t child = fork();
  if (child == 0) {
    char self[4096] = "";
    (void)dup2(pipe_fds[1], STDOUT_FILENO);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    (void)personality(PER_LINUX);
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) _exit(8);
    if (is_forbidden) forbid_layouts();
    (void)execve(self, arguments, variables);
    _exit(9);
  }
  (void)close(pipe_fds[1]);
  for (ssize_t got; (got = read(pipe_fds[0], output + n, sizeof output - 1 - n)) > 0;)
    n += (size_t)got;
  (void)close(pipe_fds[0]);
  output[n] = '\0';
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  return output;
}

#define GIVEN "arguments <any name> <%s> <two words\n>, environment <A=1> <B>\n"

static void expect_given(const char *line, const char *way) {
  char given[256];
  (void)snprintf(given, sizeof given, GIVEN, way);
  line = strstr(line, "arguments");
  assert_non_null(line);
  assert_memory_equal(line, given, strlen(given));
}

static void test_once(void **state) {
  (void)state;
  const char *output = output_of("once", false);
  expect_given(output, "once");
  assert_ptr_equal(strstr(output, "slashes 2, compatible"), output);
  assert_non_null(strstr(output, "libc low"));
  assert_null(strstr(output + 1, "slashes"));
}

static void test_layout_is_refused(void **state) {
  (void)state;
  const char *output = output_of("once", true);
  expect_given(output, "once");
  assert_ptr_equal(strstr(output, "slashes 1, usual"), output);
  assert_null(strstr(output + 1, "slashes"));
}

/* In turns with the compatible and with the usual layout, and then it is over. */
static void expect_runs(const char *output, int first, bool is_refused) {
  char start[64];
  for (int run = first; run <= 8; run++) {
    (void)snprintf(start, sizeof start, "slashes %d, %s", run + 1,
                   run % 2 && !is_refused ? "compatible" : "usual");
    if (strncmp(output, start, strlen(start)) != 0) fail_msg("not %s: %s", start, output);
    expect_given(output, "again");
    output = strstr(output, "<B>\n") + 4;
  }
  assert_string_equal(output, "");
}

static void test_again(void **state) {
  (void)state;
  expect_runs(output_of("again", false), 1, false);
  expect_runs(output_of("again", true), 0, true);
}

/* The code is where the Makefile puts it: below all libraries and PIE programs. */
static void test_place_of_the_code(void **state) {
  (void)state;
  assert_true((uintptr_t)test_place_of_the_code < (uintptr_t)0x2aaaaaaab000);
  assert_true((uintptr_t)test_place_of_the_code >= (uintptr_t)0x1000000000);
}

int main(int argc, char **arguments) {
  if (argc > 1) return run_again(arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_once),
      cmocka_unit_test(test_layout_is_refused),
      cmocka_unit_test(test_again),
      cmocka_unit_test(test_place_of_the_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
