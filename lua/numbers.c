/* numbers.c - `require "heap.numbers"`, in heap.so: numbers in the library's words. */
#include "host.h"

static uint64_t check_number(lua_State *L, int index) {
  lua_Integer n = luaL_checkinteger(L, index);
  luaL_argcheck(L, n >= 0, index, "the number must be 0 or more");
  return (uint64_t)n;
}

static int push_number(lua_State *L, lh_number number) {
  lua_pushstring(L, number.text);
  return 1;
}

/* count(1204) --> "1,204" */
static int count_text(lua_State *L) {
  return push_number(L, lh_count_text(check_number(L, 1)));
}

/* count_of(2, "entry" [, "entries"]) --> "2 entries"; the default plural ends in s. */
static int count_of(lua_State *L) {
  uint64_t n = check_number(L, 1);
  const char *one = luaL_checkstring(L, 2);
  const char *many =
      lua_isnoneornil(L, 3) ? lua_pushfstring(L, "%ss", one) : luaL_checkstring(L, 3);
  return push_number(L, lh_count_of(n, one, many));
}

/* size(1258291) --> "1.2 MB" */
static int size(lua_State *L) {
  return push_number(L, lh_size_text(check_number(L, 1), false));
}

/* time(nanoseconds since 1970) --> "2026-11-21 17:40:05 UTC" */
static int time_of(lua_State *L) {
  return push_number(L, lh_time_text(check_number(L, 1)));
}

__attribute__((visibility("default"))) int luaopen_heap_numbers(lua_State *L);

int luaopen_heap_numbers(lua_State *L) {
  static const luaL_Reg functions[] = {{"count", count_text},
                                       {"count_of", count_of},
                                       {"size", size},
                                       {"time", time_of},
                                       {NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  lua_createtable(L, 0, 4);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
