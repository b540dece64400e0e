/*
** lua_bench.c - a small module for the benchmarks: the time on the wall, page faults, running a
** command with its time and its memory, and what a bare fork and a copy of memory take, which plain
** Lua cannot tell.
*/
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 31 };

static double read_clock(clockid_t clock) {
  struct timespec at;
  (void)clock_gettime(clock, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static double now(void) {
  return read_clock(CLOCK_MONOTONIC);
}

/* now(): seconds since some point. */
static int bench_now(lua_State *L) {
  lua_pushnumber(L, now());
  return 1;
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* run(out, word, ...): runs a command without a shell, its output going to the file `out`. Returns
** its elapsed seconds, its peak resident bytes, its exit code (-1: a signal) and the seconds of
** processor time that it took. */
static int bench_run(lua_State *L) {
  char *words[MAX_WORDS + 1] = {NULL};
  const char *out = luaL_checkstring(L, 1);
  int n = lua_gettop(L) - 1;
  luaL_argcheck(L, n >= 1 && n <= MAX_WORDS, 2, "from 1 to 31 words expected");
  for (int i = 0; i < n; i++) words[i] = (char *)(uintptr_t)luaL_checkstring(L, i + 2);
  double start = now();
  pid_t child = fork();
  if (child == 0) {
    if (freopen(out, "w", stdout) != NULL) (void)execvp(words[0], words);
    _exit(127);
  }
  int status = 0;
  struct rusage usage = {0};
  if (child < 0 || wait4(child, &status, 0, &usage) < 0)
    return luaL_error(L, "cannot run a command");
  lua_pushnumber(L, now() - start);
  lua_pushinteger(L, (lua_Integer)usage.ru_maxrss * 1024);
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  lua_pushnumber(L, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  return 4;
}

/* fork(): seconds in which the system makes a child, which ends at once: what a background snapshot
** cannot do without. */
static int bench_fork(lua_State *L) {
  double start = now();
  pid_t child = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  double elapsed = now() - start;
  if (child < 0 || waitpid(child, NULL, (int)__WALL) < 0) return luaL_error(L, "cannot fork");
  lua_pushnumber(L, elapsed);
  return 1;
}

/* usage(): the page faults of this process until now, and its seconds of processor time. */
static int bench_usage(lua_State *L) {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  lua_pushinteger(L, (lua_Integer)usage.ru_minflt);
  lua_pushnumber(L, read_clock(CLOCK_PROCESS_CPUTIME_ID));
  return 2;
}

static void *new_memory(size_t bytes) {
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static double time_copy(char *to, char *from, size_t bytes, clockid_t clock) {
  double start = read_clock(clock);
  memcpy(to, from, bytes);
  double took = read_clock(clock) - start;
  from[bytes / 2] = to[bytes / 3]; /* it is used, so it is done */
  return took;
}

/* copy(bytes): seconds in which so many are copied to memory that is there, which are compared with
** a pause; and processor seconds of a copy to new memory, which are compared with such. */
static int bench_copy(lua_State *L) {
  size_t bytes = (size_t)luaL_checkinteger(L, 1);
  char *from = new_memory(bytes), *to = new_memory(bytes);
  if (from == MAP_FAILED || to == MAP_FAILED) return luaL_error(L, "not enough memory");
  memset(from, 1, bytes);
  lua_pushnumber(L, time_copy(to, from, bytes, CLOCK_PROCESS_CPUTIME_ID));
  lua_pushnumber(L, time_copy(to, from, bytes, CLOCK_MONOTONIC));
  lua_insert(L, -2);
  (void)munmap(from, bytes);
  (void)munmap(to, bytes);
  return 2;
}

__attribute__((visibility("default"))) int luaopen_lua_bench(lua_State *L) {
  static const luaL_Reg functions[] = {{"now", bench_now},   {"run", bench_run},
                                       {"fork", bench_fork}, {"usage", bench_usage},
                                       {"copy", bench_copy}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
