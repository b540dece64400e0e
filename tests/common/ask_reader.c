/*
** ask_reader.c - asks heap.reader in Lua (see ask.h). One Lua state serves all inputs: what one of
** them leaves in it is what a script would be left with.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ask.h"
#include "forged_file.h"

int luaopen_heap_reader(lua_State *L);
int luaopen_heap_numbers(lua_State *L);

static void fail(const char *what) {
  (void)fprintf(stderr, "heap.reader: %s\n", what ? what : "an error that is no message");
  abort();
}

/* With the function that asks on its stack. */
static lua_State *new_asking_state(void) {
  static const char script[] =
      "package.path = 'lua/?.lua;./?.lua' return require 'tests.common.ask'";
  lua_State *L = luaL_newstate();
  if (!L) return NULL;
  luaL_openlibs(L);
  luaL_requiref(L, "heap.reader", luaopen_heap_reader, false);
  luaL_requiref(L, "heap.numbers", luaopen_heap_numbers, false);
  lua_settop(L, 0);
  if (luaL_dostring(L, script) != LUA_OK) fail(lua_tostring(L, -1));
  lua_settop(L, 1);
  return L;
}

/* In memory, as a file that can be opened by its name. */
static void write_file(int *descriptor, const forge_part *part) {
  if (*descriptor < 0) *descriptor = memfd_create("heap", MFD_CLOEXEC);
  if (*descriptor < 0 || ftruncate(*descriptor, 0) != 0 ||
      pwrite(*descriptor, part->data, part->size, 0) != (ssize_t)part->size)
    fail("there is no file in memory");
}

void ask_reader(const uint8_t *data, size_t size) {
  static lua_State *L;
  static int descriptors[MOST_PARTS] = {-1, -1, -1};
  forge_part parts[MOST_PARTS];
  if (!L) L = new_asking_state();
  if (!L) return;
  size_t n = forge_split(data, size, parts, MOST_PARTS);
  lua_pushvalue(L, 1);
  for (size_t i = 0; i < n; i++) {
    write_file(&descriptors[i], &parts[i]);
    lua_pushfstring(L, "/proc/self/fd/%d", descriptors[i]);
  }
  if (lua_pcall(L, (int)n, 0, 0) != LUA_OK) fail(lua_tostring(L, -1));
}
