/*
** storm_host.c - a program with threads that make no system call: two of them run a Lua script
** each, in a state of its own, and one computes something else. The first thread waits for them.
**
**     storm_host SCRIPT [COUNTER [STATES]]
**
** COUNTER: counts in that file, which it shares, whenever Lua allocates; "-": does not count;
** "lock": allocates as long as it has a lock, for which all others wait. STATES: runs the script in
** this number of threads.
*/
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <lauxlib.h>
#include <lualib.h>

#include "../common/any_lua.h"

static const char *script;
static volatile uint64_t *counter;

static bool has_lock;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *allocate_slowly(void *unused, void *block, size_t before, size_t after) {
  enum { SO_OFTEN = 10000 }; /* most of the time */
  void *other = NULL;
  (void)unused, (void)before;
  for (int i = 0; counter && i < SO_OFTEN; i++) (*counter)++;
  if (has_lock) (void)pthread_mutex_lock(&lock);
  for (volatile int i = 0; has_lock && i < SO_OFTEN;) i = i + 1;
  if (after > 0)
    other = realloc(block, after);
  else
    free(block);
  if (has_lock) (void)pthread_mutex_unlock(&lock);
  return other;
}

static void map_counter(const char *path) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  void *shared = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) exit(1);
  counter = shared;
}

static void *run_script(void *unused) {
  (void)unused;
  lua_State *L = any_newstate(allocate_slowly, NULL);
  if (!L) exit(1);
  luaL_openlibs(L);
  if (luaL_loadfile(L, script) == LUA_OK) (void)lua_pcall(L, 0, 0, 0);
  (void)fprintf(stderr, "%s\n", lua_tostring(L, -1));
  exit(1);
}

static void *compute(void *unused) {
  (void)unused;
  for (volatile unsigned n = 1; n > 0;) n = n % 1000 + 1;
  return NULL;
}

int main(int argc, char **arguments) {
  enum { MOST_STATES = 1000 };
  static pthread_t threads[MOST_STATES + 1];
  if (argc < 2) return 2;
  script = arguments[1];
  has_lock = argc > 2 && strcmp(arguments[2], "lock") == 0;
  if (argc > 2 && !has_lock && strcmp(arguments[2], "-") != 0) map_counter(arguments[2]);
  long n = argc > 3 ? strtol(arguments[3], NULL, 10) : 2;
  if (n < 1 || n > MOST_STATES) return 2;
  for (long i = 0; i <= n; i++) {
    if (pthread_create(&threads[i], NULL, i < n ? run_script : compute, NULL) != 0) return 1;
  }
  for (long i = 0; i <= n; i++) (void)pthread_join(threads[i], NULL);
  return 0;
}
