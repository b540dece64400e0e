/*
** track.c - heap.track and heap.untrack: options in, lib/luaheap_track.h out. Options are read
** without metamethods, as in heap.c. What they mean is documented in heap/meta.lua.
*/
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* A number of bytes, or a text such as "512K" that fits a double exactly. 0: it is neither. */
static uint64_t to_bytes(lua_State *L, int index) {
  static const char units[] = "kmgKMG";
  const char *text = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
  int is_integer = 0;
  if (!text) {
    lua_Integer bytes = lua_tointegerx(L, index, &is_integer);
    return is_integer && bytes > 0 ? (uint64_t)bytes : 0;
  }
  size_t n_digits = strspn(text, "0123456789");
  const char *unit = text + n_digits;
  if (n_digits == 0 || n_digits > 15) return 0;
  const char *known = *unit ? strchr(units, *unit) : NULL;
  if (*unit && (!known || unit[1])) return 0;
  unsigned shift = known ? (unsigned)((known - units) % 3 + 1) * 10 : 0;
  uint64_t bytes = strtoull(text, NULL, 10);
  return bytes <= (uint64_t)1 << 53 >> shift ? bytes << shift : 0;
}

static uint64_t check_bytes(lua_State *L, int value, const char *name) {
  uint64_t bytes = to_bytes(L, value);
  if (bytes == 0) {
    luaL_error(L, "heap.track: '%s' must be a number of bytes, as 524288 or \"512K\"", name);
  }
  return bytes;
}

static bool check_flag(lua_State *L, int value, const char *name) {
  if (lua_type(L, value) != LUA_TBOOLEAN) {
    luaL_error(L, "heap.track: '%s' must be true or false", name);
  }
  return lua_toboolean(L, value);
}

/* The text is kept by the table. */
static const char *check_file(lua_State *L, int value) {
  size_t length;
  const char *file = lua_type(L, value) == LUA_TSTRING ? lua_tolstring(L, value, &length) : NULL;
  if (!file || length == 0 || strlen(file) != length) {
    luaL_error(L, "heap.track: 'file' must be the name of a file");
  }
  return file;
}

static void check_option(lua_State *L, const char *name, int value, lh_track_options *o) {
  if (strcmp(name, "stacks") == 0) {
    o->stacks = check_flag(L, value, name);
  } else if (strcmp(name, "sample") == 0) {
    o->sample_bytes = check_bytes(L, value, name);
  } else if (strcmp(name, "file") == 0) {
    o->file = check_file(L, value);
  } else if (strcmp(name, "aggregate") == 0) {
    o->aggregate = check_flag(L, value, name);
  } else if (strcmp(name, "live") == 0) {
    o->live = check_flag(L, value, name);
  } else if (strcmp(name, "time") == 0) {
    o->time = check_flag(L, value, name);
  } else if (strcmp(name, "exact") == 0) {
    o->exact_bytes = check_bytes(L, value, name);
  } else if (strcmp(name, "pool") == 0) {
    o->pool = check_flag(L, value, name) ? LH_POOL_ALWAYS : LH_POOL_NEVER;
  } else {
    luaL_error(
        L,
        "heap.track: the options are 'stacks', 'sample', 'file', 'aggregate', 'live', 'time', "
        "'exact' and 'pool'");
  }
}

static void check_options(lua_State *L, lh_track_options *options) {
  if (lua_isnoneornil(L, 1)) return;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    check_option(L, name, lua_gettop(L), options);
    lua_pop(L, 1);
  }
}

/* true | nil, message, errno */
static int push_outcome(lua_State *L, int rc, const lh_error *error) {
  if (rc != LH_OK) return hl_fail(L, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* The option that tells how a profile is made though none is; NULL: there is no such. */
static const char *find_idle(const lh_track_options *o) {
  if (o->file) return NULL;
  return o->aggregate ? "aggregate" : o->time ? "time" : NULL;
}

int hl_track_and_report(lua_State *L, void (*report)(const char *trouble, const char *log),
                        const char *log) {
  lh_track_options options = {.report = report, .log = log};
  lh_error error;
  check_options(L, &options);
  const char *idle = find_idle(&options);
  if (idle) {
    lua_pushnil(L);
    lua_pushfstring(L, "'%s' is about a profile, and no file is given for one", idle);
    lua_pushinteger(L, 0);
    return 3;
  }
  hr_stay_loaded();
  return push_outcome(L, lh_track(L, &options, &error), &error);
}

int hl_track(lua_State *L) {
  return hl_track_and_report(L, NULL, NULL);
}

int hl_untrack(lua_State *L) {
  lh_error error;
  return push_outcome(L, lh_untrack(L, &error), &error);
}
