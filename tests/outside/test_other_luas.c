/* test_other_luas.c - the search for states names the Lua of a process that luaheap cannot read. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "state_search.h"
#include "subject.h"

static void live_with_other_numbers(const subject *self) {
  arena_run(arena_new_state(NULL), "math.maxinteger = 0x7FFFFFFF", "@a.lua");
  subject_wait(self);
}

static void refuses_other_numbers(void **state) {
  (void)state;
  subject child = subject_start(live_with_other_numbers, NULL);
  search_refused(child.id, "whose integers have 8 bytes and whose floats are double");
  subject_end(&child);
}

/* A program that writes something when it is as far, and then waits for something to read. */
static pid_t start_program(char *const *arguments, int *end) {
  int in[2], out[2];
  char ready;
  assert_int_equal(pipe2(in, O_CLOEXEC), 0);
  assert_int_equal(pipe2(out, O_CLOEXEC), 0);
  pid_t id = fork();
  if (id == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(in[0], 0);
    (void)dup2(out[1], 1);
    (void)execvp(arguments[0], arguments);
    _exit(127);
  }
  *end = in[1];
  (void)close(in[0]);
  (void)close(out[1]);
  assert_int_equal(read(out[0], &ready, 1), 1);
  (void)close(out[0]);
  return id;
}

static void names_other_luas(void **state) {
  (void)state;
  static const char wait[] = "io.write('x') io.flush() io.read()";
  static const struct {
    const char *arguments[4], *expected;
  } cases[] = {
      {{"lua5.2", "-e", wait}, " runs Lua 5.2."},
      {{"lua5.3", "-e", wait}, " runs Lua 5.3."},
      {{"luajit", "-e", wait}, " (luajit), and luaheap reads 5.4 and 5.5"},
      {{"sh", "-c", "echo; read x"}, " runs no Lua: no state of Lua 5.4 or 5.5 was found in it"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int end;
    pid_t id = start_program((char *const *)(uintptr_t)cases[i].arguments, &end);
    search_refused(id, cases[i].expected);
    (void)close(end);
    (void)kill(id, SIGKILL);
    (void)waitpid(id, NULL, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_other_numbers),
      cmocka_unit_test(names_other_luas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
