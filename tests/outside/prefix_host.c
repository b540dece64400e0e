/*
** prefix_host.c - a program whose allocator puts a header in front of each block, as games and
** servers do to count their memory.
**
**     prefix_host BYTES COROUTINES    prints "ready", waits for input, and prints "done" if
**                                     no header has changed
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "../common/any_lua.h"

enum { MOST_BYTES = 64, FILL = 0xA5 };
static size_t header_bytes;

static void check_header(const unsigned char *header) {
  for (size_t i = 0; i < header_bytes; i++)
    if (header[i] != FILL) abort();
}

static void *allocate_with_header(void *unused, void *block, size_t before, size_t after) {
  (void)unused, (void)before;
  unsigned char *header = block ? (unsigned char *)block - header_bytes : NULL;
  if (header) check_header(header);
  if (after == 0) {
    free(header);
    return NULL;
  }
  unsigned char *made = realloc(header, header_bytes + after);
  if (!made) return NULL;
  memset(made, FILL, header_bytes);
  return made + header_bytes;
}

static const char program[] =
    "kept = {}\n"
    "for i = 1, ... do\n"
    "  kept[i] = coroutine.create(function() local held = {i} coroutine.yield(held) end)\n"
    "  coroutine.resume(kept[i])\n"
    "end\n";

int main(int n, char **arguments) {
  if (n != 3) return 2;
  header_bytes = strtoul(arguments[1], NULL, 10);
  if (header_bytes > MOST_BYTES) return 2;
  lua_State *L = any_newstate(allocate_with_header, NULL);
  if (!L) return 1;
  luaL_openlibs(L);
  if (luaL_loadbuffer(L, program, sizeof program - 1, "@prefix.lua") != LUA_OK) return 1;
  lua_pushinteger(L, strtol(arguments[2], NULL, 10));
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) return 1;
  puts("ready");
  fflush(stdout);
  (void)getchar();
  lua_close(L);
  puts("done");
  return 0;
}
