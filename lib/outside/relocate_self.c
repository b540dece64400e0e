/*
** relocate_self.c - restarts this program at addresses that the target does not use.
**
** The program's own address (PLACE in the Makefile) is used by no other. But the kernel places its
** libraries at random in the same terabyte as a target's. With ADDR_COMPAT_LAYOUT they are
** elsewhere from the next execve on. So the program executes itself, with one more slash in front
** of its path each time: they count the runs. A target may have that layout itself (ulimit -s
** unlimited), so every other run does not use it. If a filter refuses the layout, an overlap is
** chance, one in thousands.
*/
#include <sys/auxv.h>
#include <sys/personality.h>

#include "outside.h"

enum { MOST_RUNS = 8, PATH_BYTES = 4096 };

static int runs_before(void) {
  const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN); /* NOLINT: an address */
  size_t slashes = path ? strspn(path, "/") : 0;
  return slashes > 0 ? (int)slashes - 1 : 0;
}

/* Returns if it cannot run again, or if the layout is refused and `any_layout` is false. */
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

void lh_reexec_elsewhere(char **arguments) {
  if (!getauxval(AT_SECURE) && runs_before() == 0) run_again(arguments, 1, false);
}

void lh_reexec_again(char **arguments) {
  int runs = runs_before();
  if (!getauxval(AT_SECURE) && runs < MOST_RUNS) run_again(arguments, runs + 1, true);
}
