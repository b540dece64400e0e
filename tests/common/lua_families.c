/*
** lua_families.c - a Lua module that writes the files of families.h.
**
**     names()                       the name of each family, by number
**     scale(number, bytes)          the n for which its file has about so many bytes
**     write(number, n, serial, n_older, path)   writes the file; its bytes
**     tracked(path)                 writes the sample of a program that was tracked (sample.h)
**     profiles()                    the same of families_profiles.h
**     scale_profile(number, bytes), write_profile(number, n, path)
**     escaped_snapshot(path, text, version, serial), escaped_profile(path, text, is_aggregate),
**     escaped_core(path, text)      files with this text wherever one may stand (escapes.h)
*/
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdio.h>

#include "escapes.h"
#include "families.h"
#include "families_profiles.h"
#include "sample.h"

static const heap_family *check_family(lua_State *L) {
  lua_Integer i = luaL_checkinteger(L, 1);
  luaL_argcheck(L, i >= 1 && (size_t)i <= family_count(), 1, "no such family");
  return family_number((size_t)i - 1);
}

static int names(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < family_count(); i++) {
    lua_pushstring(L, family_number(i)->name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int scale(lua_State *L) {
  lua_pushinteger(L, family_scale(check_family(L), (size_t)luaL_checkinteger(L, 2)));
  return 1;
}

static int save(lua_State *L, const void *data, size_t size, const char *path) {
  FILE *file = fopen(path, "wb");
  bool ok = file && fwrite(data, 1, size, file) == size;
  lua_pushinteger(L, (lua_Integer)size);
  if (!file || fclose(file) != 0 || !ok) return luaL_error(L, "cannot write '%s'", path);
  return 1;
}

static int finish(lua_State *L, forge *f, const char *path) {
  int n = save(L, f->data, f->size, path);
  forge_free(f);
  return n;
}

static int write_file(lua_State *L) {
  const heap_family *family = check_family(L);
  lua_Integer n = luaL_checkinteger(L, 2), serial = luaL_checkinteger(L, 3);
  lua_Integer n_older = luaL_checkinteger(L, 4);
  const char *path = luaL_checkstring(L, 5);
  luaL_argcheck(L, n >= 0 && n <= 1 << 24, 2, "out of range");
  luaL_argcheck(L, serial >= 1 && serial <= 100, 3, "out of range");
  luaL_argcheck(L, n_older >= 0 && n_older <= serial, 4, "out of range");
  forge f;
  family_make(&f, family, (unsigned)n, (unsigned)serial, (unsigned)n_older);
  return finish(L, &f, path);
}

static int tracked(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  forge f;
  sample_tracked_heap(&f);
  forge_finish(&f);
  return finish(L, &f, path);
}

static const profile_family *check_profile(lua_State *L) {
  lua_Integer i = luaL_checkinteger(L, 1);
  luaL_argcheck(L, i >= 1 && (size_t)i <= profile_family_count(), 1, "no such family");
  return profile_family_number((size_t)i - 1);
}

static int profiles(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < profile_family_count(); i++) {
    lua_pushstring(L, profile_family_number(i)->name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int scale_profile(lua_State *L) {
  size_t bytes = (size_t)luaL_checkinteger(L, 2);
  lua_pushinteger(L, (lua_Integer)profile_family_scale(check_profile(L), bytes));
  return 1;
}

static int write_profile(lua_State *L) {
  const profile_family *family = check_profile(L);
  lua_Integer n = luaL_checkinteger(L, 2);
  const char *path = luaL_checkstring(L, 3);
  luaL_argcheck(L, n >= 0 && n <= 1 << 24, 2, "out of range");
  forged_profile f;
  profile_family_make(&f, family, (unsigned)n);
  int results = save(L, f.data, f.size, path);
  forge_drop_profile(&f);
  return results;
}

static int escaped_snapshot(lua_State *L) {
  forge f;
  escapes_snapshot(&f, (unsigned)luaL_checkinteger(L, 3), (unsigned)luaL_checkinteger(L, 4),
                   luaL_checkstring(L, 2));
  return finish(L, &f, luaL_checkstring(L, 1));
}

static int escaped_profile(lua_State *L) {
  forged_profile f;
  escapes_profile(&f, lua_toboolean(L, 3), luaL_checkstring(L, 2));
  int n = save(L, f.data, f.size, luaL_checkstring(L, 1));
  forge_drop_profile(&f);
  return n;
}

static int escaped_core(lua_State *L) {
  static forged_core c;
  escapes_core(&c, luaL_checkstring(L, 2));
  return save(L, c.bytes, c.size, luaL_checkstring(L, 1));
}

__attribute__((visibility("default"))) int luaopen_lua_families(lua_State *L) {
  static const luaL_Reg functions[] = {{"names", names},
                                       {"scale", scale},
                                       {"write", write_file},
                                       {"tracked", tracked},
                                       {"profiles", profiles},
                                       {"scale_profile", scale_profile},
                                       {"write_profile", write_profile},
                                       {"escaped_snapshot", escaped_snapshot},
                                       {"escaped_profile", escaped_profile},
                                       {"escaped_core", escaped_core},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
