/*
** forger_host.c - a program that forges what is looked at from outside, so that it takes long.
**
**     forger_host KIND
**
** compute: no forgery, but a C function that computes for ever.
** string: a string has 60 GB, as far as Lua's own fields tell, in memory that was never touched.
** circle: the list of all objects ends in a circle of one userdata, and 60 GB are counted.
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "../common/any_lua.h"

static char *map(size_t bytes) {
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  return memory;
}

/* Gives what was never used, and takes nothing back. */
static void *allocate_new(void *data, void *block, size_t old_bytes, size_t bytes) {
  char **next = data;
  if (bytes == 0) return NULL;
  if (block && bytes <= old_bytes) return block;
  char *fresh = *next;
  *next += (bytes + 15) & ~(size_t)15;
  return block ? memcpy(fresh, block, old_bytes) : fresh;
}

static uint64_t *word_at(void *block, size_t offset) {
  return (uint64_t *)(void *)((char *)block + offset);
}

enum { GLOBAL = 24, TOTAL_BYTES = 16 };
static const uint64_t more = (uint64_t)60 << 30;

static lua_State *new_forging_state(void) {
  static char *next;
  next = map((size_t)64 << 30);
  lua_State *L = any_newstate(allocate_new, &next);
  if (!L) exit(1);
  luaL_openlibs(L);
  return L;
}

static void forge_circle(void) {
  enum { BEFORE_CONTENT = 32 };
  lua_State *L = new_forging_state();
  char *userdata = (char *)lua_newuserdatauv(L, 1, 0) - BEFORE_CONTENT;
  *word_at(userdata, 0) = (uintptr_t)userdata;
  *word_at((char *)(uintptr_t)*word_at(L, GLOBAL), TOTAL_BYTES) += more;
}

static void forge_string(void) {
  enum { BYTES = 100, CONTENTS = LUA_VERSION_NUM == 504 ? 24 : 32, LENGTH = 16 };
  char text[BYTES] = {0};
  lua_State *L = new_forging_state();
  char *string = (char *)(uintptr_t)lua_pushlstring(L, text, sizeof text) - CONTENTS;
  char *global = (char *)(uintptr_t)*word_at(L, GLOBAL);
  if (*word_at(string, LENGTH) != sizeof text) exit(1);
  *word_at(string, LENGTH) += more;
  *word_at(global, TOTAL_BYTES) += more;
}

static int compute_for_ever(lua_State *L) {
  (void)L;
  if (write(STDOUT_FILENO, "ready", 5) != 5) exit(1);
  for (volatile unsigned n = 0;;) n = n + 1;
}

static void compute(void) {
  lua_State *L = luaL_newstate();
  if (!L) exit(1);
  luaL_openlibs(L);
  lua_register(L, "compute", compute_for_ever);
  (void)luaL_dostring(L, "for i = 1, 1000 do _G[i] = {i} end compute()");
}

int main(int argc, char **arguments) {
  static const struct forgery {
    const char *name;
    void (*forge)(void);
  } all[] = {{"compute", compute}, {"string", forge_string}, {"circle", forge_circle}};
  for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++) {
    if (strcmp(arguments[1], all[i].name) != 0) continue;
    all[i].forge();
    if (write(STDOUT_FILENO, "ready", 5) != 5) return 1;
    for (;;) (void)pause();
  }
  return 2;
}
