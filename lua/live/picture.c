/*
** picture.c - what a value looks like: heap.dot(v, file) for Graphviz, and heap.show(v) as text
** (live.h). Both are in modules of their own, dot/dot.c and heap/show.lua, which are loaded when
** they are first called; here are their arguments.
*/
#include <string.h>

#include "live.h"

enum { DEPTH = 3, WIDTH = 8, WAYS = 10 };

enum { PATH = 3, OPTIONS, DRAW }; /* arguments of the body; the subject is before them */

static int dot_body(lua_State *L, hl_task *t) {
  if (!hl_find_subject(L, t)) return 2;
  bool up = hr_boolean_option(L, OPTIONS, "up");
  int top = lua_gettop(L);
  lua_pushvalue(L, DRAW);
  lua_pushlightuserdata(L, t->capture->bytes);
  lua_pushinteger(L, (lua_Integer)t->capture->size);
  lua_pushinteger(L, t->id);
  lua_pushvalue(L, PATH);
  lua_pushboolean(L, up);
  lua_pushinteger(L, hr_integer_option(L, OPTIONS, "depth", up ? LH_LONG_PATH : DEPTH));
  lua_pushinteger(L, hr_integer_option(L, OPTIONS, "width", up ? WAYS : WIDTH));
  lua_call(L, 7, LUA_MULTRET);
  return lua_gettop(L) - top;
}

/* Pushes the function that draws; false, and nil and a message pushed: it cannot be had. */
static bool push_drawing(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heap.dot");
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return true;
  const char *why = lua_tostring(L, -1);
  lua_pushnil(L);
  if (why && strstr(why, "libcgraph")) {
    lua_pushliteral(L, "heap.dot needs libcgraph, of Graphviz: apt install libcgraph6");
  } else {
    lua_pushliteral(L, "heap.dot is not installed: `make install` puts heap/dot.so beside heap.so");
  }
  return false;
}

/* dot(value, file [, {depth = , width = , up = }]) --> true | nil, message, errno */
int hl_dot(lua_State *L) {
  static const char *const names[] = {"depth", "width", "up", NULL};
  hl_task t = {0};
  int value = hl_argument(L, 1), file = hl_argument(L, 2), options = hl_argument(L, 3);
  size_t length;
  luaL_checkany(L, value);
  const char *path = luaL_checklstring(L, file, &length);
  luaL_argcheck(L, length > 0 && strlen(path) == length, file, "no path");
  lua_settop(L, options);
  hr_check_options(L, options, names);
  luaL_argcheck(L, hr_integer_option(L, options, "width", 1) > 0, options, "'width' is 1 or more");
  if (!push_drawing(L)) return 2;
  return hl_ask_about(L, &t, dot_body);
}

/* show(value [, {depth = }]) --> text */
int hl_show(lua_State *L) {
  static const char *const names[] = {"depth", NULL};
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  hr_check_options(L, 2, names);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heap.show");
  lua_call(L, 1, 1);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, hr_integer_option(L, 2, "depth", DEPTH));
  lua_call(L, 2, 1);
  return 1;
}
