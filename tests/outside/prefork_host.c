/*
** prefork_host.c - a master with a Lua state of its own, and three workers. It forks them, and each
** goes on in its copy of the state, as servers do. The workers end with the master.
*/
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

enum { N_WORKERS = 3 };

static const char of_worker[] =
    "requests = {} for i = 1, 1000 do requests[i] = {path = '/' .. i} end";

static void run_script(lua_State *L, const char *script) {
  if (luaL_dostring(L, script) != LUA_OK) _exit(1);
}

static _Noreturn void work(lua_State *L, int ready) {
  run_script(L, of_worker);
  if (write(ready, "x", 1) != 1) _exit(1);
  for (;;) (void)pause();
}

int main(void) {
  int ready[2];
  char byte;
  lua_State *L = luaL_newstate();
  if (!L || pipe(ready) < 0) return 1;
  luaL_openlibs(L);
  run_script(L, "configuration = {workers = 3}");
  for (int i = 0; i < N_WORKERS; i++) {
    pid_t master = getpid(), worker = fork();
    if (worker < 0) return 1;
    if (worker > 0) continue;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != master) _exit(1);
    work(L, ready[1]);
  }
  for (int i = 0; i < N_WORKERS; i++)
    if (read(ready[0], &byte, 1) != 1) return 1;
  puts("ready");
  (void)fflush(stdout);
  for (;;) (void)pause();
}
