/*
** spy_host.c - a program that copies memory at an address into a string of its Lua state, whenever
** it can be read there. It makes no system call meanwhile.
**
**     spy_host ADDRESS    in hexadecimal, where the program itself has nothing
**
** Most of the time it computes in a C function. So whoever continues a copy of it comes to the
** reading before Lua stores its place again.
*/
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

static const char *spied;
static sigjmp_buf back;

static void leave(int signal_number) {
  (void)signal_number;
  siglongjmp(back, 1);
}

static int spy(lua_State *L) {
  enum { BYTES = 64, LONG = 30000000 };
  char found[BYTES];
  for (volatile unsigned n = 0; n < LONG;) n = n + 1;
  if (sigsetjmp(back, 0) != 0) return 0;
  for (int i = 0; i < BYTES; i++) found[i] = ((const volatile char *)spied)[i];
  lua_pushlstring(L, found, sizeof found);
  lua_setglobal(L, "found");
  return 0;
}

int main(int argc, char **arguments) {
  const struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
  lua_State *L = luaL_newstate();
  if (argc < 2 || !L) return 2;
  spied = (const char *)(uintptr_t)strtoull(arguments[1], NULL, 16);
  (void)sigaction(SIGSEGV, &action, NULL);
  luaL_openlibs(L);
  lua_register(L, "spy", spy);
  (void)luaL_dostring(L, "io.write('ready') io.flush() while true do spy() end");
  return 1;
}
