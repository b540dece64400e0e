/*
** track.c - heap.track and heap.untrack: reads the options for lib/luaheap_take.h, without
** metamethods, as in heap.c. heap/meta.lua documents them.
*/
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* Bytes from a number, or from a text as "512K", of at most 2^53; 0: neither. */
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

/* The table keeps the text. */
static const char *check_file(lua_State *L, int value) {
  size_t length;
  const char *file = lua_type(L, value) == LUA_TSTRING ? lua_tolstring(L, value, &length) : NULL;
  if (!file || length == 0 || strlen(file) != length) {
    luaL_error(L, "heap.track: 'file' must be the name of a file");
  }
  return file;
}

static void read_option(lua_State *L, const char *name, void *out) {
  lh_track_options *o = out;
  const struct option {
    const char *name;
    bool *flag;
    uint64_t *bytes;
  } options[] = {{"stacks", &o->stacks, NULL},       {"aggregate", &o->aggregate, NULL},
                 {"live", &o->live, NULL},           {"time", &o->time, NULL},
                 {"sample", NULL, &o->sample_bytes}, {"exact", NULL, &o->exact_bytes}};
  int value = lua_gettop(L);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (strcmp(name, options[i].name) != 0) continue;
    if (options[i].flag)
      *options[i].flag = check_flag(L, value, name);
    else
      *options[i].bytes = check_bytes(L, value, name);
    return;
  }
  if (strcmp(name, "file") == 0)
    o->file = check_file(L, value);
  else if (strcmp(name, "pool") == 0)
    o->pool = check_flag(L, value, name) ? LH_POOL_ALWAYS : LH_POOL_NEVER;
  else
    luaL_error(
        L,
        "heap.track: the options are 'stacks', 'sample', 'file', 'aggregate', 'live', 'time', "
        "'exact' and 'pool'");
}

/* true | nil, message, errno */
static int push_outcome(lua_State *L, int rc, const lh_error *error) {
  if (rc != LH_OK) return hl_fail(L, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* An option about a profile, though no file is given; NULL: none. */
static const char *find_idle(const lh_track_options *o) {
  if (o->file) return NULL;
  return o->aggregate ? "aggregate" : o->time ? "time" : NULL;
}

int hl_track_and_report(lua_State *L, void (*report)(const char *trouble, const char *log),
                        const char *log) {
  lh_track_options options = {.report = report, .log = log};
  lh_error error;
  hl_read_options(L, 1, read_option, &options);
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
