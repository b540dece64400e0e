/*
** host.c - the program of the cores beside it: states that share objects, with skynet's Lua.
**
** The core of 5.4 was made with the Lua that is in skynet 1.8.0, that of 5.5 with the Lua in its
** repository of June 2026 (SRC, as built by skynet's makefile in MORE). The file of the program is
** nowhere.
**
**     gcc -O1 -s -static -ISRC -IMORE host.c SRC/l[!u]*.c -o host -lm
**     ulimit -c unlimited; env -i ./host & sleep 1; kill -ABRT $!
**     gzip -9n core
**
** Two services load one file. Lua loads it in a state of its own, which it keeps, and gives both a
** function with the shared prototype. A third state has a table, which the services share, too.
*/
#include <lauxlib.h>
#include <lgc.h>
#include <lobject.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char program[] =
    "local settings = ...\n"
    "local page = 'page' for i = 1, 8 do page = page .. page end\n"
    "leak = {} for i = 1, 10 do leak[i] = {number = i, text = page .. i} end\n"
    "weak = setmetatable({}, {__mode = 'k'}) weak[leak] = 1\n"
    "thread = resume(function() local all, text = {}, 'a local variable' yield(all, text) end)\n"
    "function counter() local n = 0 return function() n = n + 1 return n end end\n"
    "count = counter()\n"
    "long = {['a key of more than forty characters is a long string'] = settings.list}\n"
    "shared = settings\n";

static void *allocate(void *data, void *block, size_t old, size_t new) {
  (void)data, (void)old;
  if (new > 0) return realloc(block, new);
  free(block);
  return NULL;
}

/* All states have one seed. */
static lua_State *new_state(void) {
#if LUA_VERSION_NUM == 504
  return lua_newstate(allocate, NULL);
#else
  return lua_newstate(allocate, NULL, 4711);
#endif
}

static void share_table(lua_State *L, int table) {
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) lua_sharestring(L, -2);
    if (lua_type(L, -1) == LUA_TSTRING) lua_sharestring(L, -1);
    if (lua_type(L, -1) == LUA_TTABLE) share_table(L, lua_gettop(L));
  }
  Table *t = (Table *)lua_topointer(L, table);
  makeshared(t);
}

static const void *make_settings(void) {
  lua_State *L = new_state();
  (void)luaL_dostring(L, "return {name = 'settings', list = {1, 2, 'three', {four = 4}}}");
  share_table(L, 1);
  return lua_topointer(L, 1);
}

static int set_metatable(lua_State *L) {
  lua_setmetatable(L, 1);
  return 1;
}

static int yield(lua_State *L) {
  return lua_yield(L, lua_gettop(L));
}

static int resume(lua_State *L) {
  int n;
  lua_State *thread = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, thread, 1);
  if (lua_resume(thread, L, 0, &n) != LUA_YIELD) exit(1);
  return 1;
}

static void begin_service(const void *settings) {
  lua_State *L = new_state();
  lua_register(L, "setmetatable", set_metatable);
  lua_register(L, "yield", yield);
  lua_register(L, "resume", resume);
  if (luaL_loadfile(L, "service.lua")) exit(1);
  lua_clonetable(L, settings);
  lua_call(L, 1, 0);
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCSTOP);
}

int main(void) {
  FILE *f = fopen("service.lua", "w");
  if (!f || fputs(program, f) < 0 || fclose(f) != 0) return 1;
  luaL_initcodecache();
  const void *settings = make_settings();
  begin_service(settings);
  begin_service(settings);
  (void)pause();
  return 0;
}
