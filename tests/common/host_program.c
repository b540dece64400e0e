/* host_program.c - a program beside this one is started, and killed. */
#include "host_program.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The program has the usual layout of memory. The layout of this process, which keeps free the
** addresses of programs (lh_reexec_elsewhere), is not inherited. */
static void run_program(const char *name, const char *argument, int out) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n < 0 ? 0 : n] = '\0';
  char *own = strrchr(path, '/');
  if (!own || own + 1 + strlen(name) >= path + sizeof path) _exit(1);
  memcpy(own + 1, name, strlen(name) + 1);
  int layout = personality(0xffffffff);
  if (layout != -1) (void)personality((unsigned long)layout & ~(unsigned long)ADDR_COMPAT_LAYOUT);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  (void)dup2(out, STDOUT_FILENO);
  (void)execl(path, path, argument, (char *)NULL);
  _exit(1);
}

pid_t host_start(const char *name, const char *argument) {
  int ends[2];
  char ready[sizeof "ready" - 1];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  pid_t host = fork();
  assert_true(host >= 0);
  if (host == 0) run_program(name, argument, ends[1]);
  (void)close(ends[1]);
  assert_int_equal(read(ends[0], ready, sizeof ready), sizeof ready);
  (void)close(ends[0]);
  return host;
}

void host_program_end(pid_t host) {
  assert_int_equal(kill(host, SIGKILL), 0);
  assert_int_equal(waitpid(host, NULL, 0), host);
}
