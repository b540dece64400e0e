/*
** way.c - runs this program again where its memory is not in the way of a target's.
**
** The program is linked at an address of its own (PLACE in the Makefile), where no other has code
** or heap. Its libraries, though, the kernel places at random in the same terabyte as a target's.
** With ADDR_COMPAT_LAYOUT they are elsewhere. That counts from the next execve on, so the program
** executes itself, with the same arguments and environment.
**
** How often it did so is told by the path by which it was executed: a slash more each time. Where
** the layout is refused, as containers do by a filter for system calls, it is what it was, and so
** it stays; memory that is in the way then is so by chance, one time in thousands, and the next run
** has other addresses. A target may itself have the compatible layout (ulimit -s unlimited): so
** every other run is without it.
*/
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <unistd.h>

#include "outside.h"

enum { MOST_RUNS = 8, PATH_BYTES = 4096 };

static int runs_before(void) {
  const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN); /* NOLINT: an address */
  size_t slashes = path ? strspn(path, "/") : 0;
  return slashes > 0 ? (int)slashes - 1 : 0;
}

/* Returns where it cannot; also where the layout is refused, unless any will do. */
static void run_again(char **arguments, int run, bool any_layout) {
  char path[MOST_RUNS + PATH_BYTES];
  bool is_compatible = run % 2 == 1;
  memset(path, '/', (size_t)run);
  ssize_t n = readlink("/proc/self/exe", path + run, PATH_BYTES - 1);
  int before = personality(0xffffffff);
  if (n <= 0 || before == -1) return;
  path[run + n] = '\0';
  int wanted = is_compatible ? before | ADDR_COMPAT_LAYOUT : before & ~ADDR_COMPAT_LAYOUT;
  bool is_granted = wanted == before || personality((unsigned long)wanted) != -1;
  if (!is_granted && !any_layout) return;
  (void)execv(path, arguments);
  if (is_granted) (void)personality((unsigned long)before);
}

void lh_make_way(char **arguments) {
  if (!getauxval(AT_SECURE) && runs_before() == 0) run_again(arguments, 1, false);
}

void lh_make_way_again(char **arguments) {
  int runs = runs_before();
  if (!getauxval(AT_SECURE) && runs < MOST_RUNS) run_again(arguments, runs + 1, true);
}
