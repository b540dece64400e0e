/*
** kinds.c - Metatables, fields and errors of all values of heap.reader.
*/
#include <string.h>

#include "handles.h"

const char hr_snapshot_kind[] = "heap.snapshot", hr_object_kind[] = "heap.object",
           hr_objects_kind[] = "heap.objects", hr_edge_kind[] = "heap.edge",
           hr_path_kind[] = "heap.path", hr_referrers_kind[] = "heap.referrers",
           hr_stream_kind[] = "heap.stream";

/* ==== Metatables ===================================================================== */

/* __tostring; upvalue 1 is the kind. Answers have a field `text`. */
static int print_kind(lua_State *L) {
  lua_settop(L, 1);
  if (hr_test(L, 1, hr_objects_kind))
    (void)lua_getiuservalue(L, 1, 2); /* the further fields of the list */
  else
    lua_pushvalue(L, 1);
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "text");
    if (lua_rawget(L, 2) == LUA_TSTRING) return 1;
  }
  lua_settop(L, 1);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heap.print");
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) { /* heap.so is installed alone */
    lua_pushfstring(L, "%s: %p", lua_tostring(L, lua_upvalueindex(1)), lua_topointer(L, 1));
    return 1;
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_gettable(L, -2);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

bool hr_is_kind(lua_State *L, const char *kind) {
  if (!lua_istable(L, -1)) return false;
  bool is = lua_rawgetp(L, -1, kind) != LUA_TNIL;
  lua_pop(L, 1);
  return is;
}

void hr_name_kind(lua_State *L, const char *kind) {
  lua_pushstring(L, kind);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__name");
  lua_rawsetp(L, -2, kind);
}

bool hr_has_kind(lua_State *L, const char *kind) {
  (void)lua_getfield(L, LUA_REGISTRYINDEX, kind);
  bool has = hr_is_kind(L, kind);
  if (!has) lua_pop(L, 1);
  return has;
}

void hr_new_kind(lua_State *L, const char *kind) {
  lua_createtable(L, 0, 6);
  hr_name_kind(L, kind);
  lua_pushstring(L, kind);
  lua_pushcclosure(L, print_kind, 1);
  lua_setfield(L, -2, "__tostring");
}

void hr_keep_kind(lua_State *L, const char *kind) {
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, kind);
}

typedef struct head {
  const char *kind;
} head;

void *hr_new(lua_State *L, const char *kind, size_t size, int n_user_values) {
  head *h = lua_newuserdatauv(L, size, n_user_values);
  memset(h, 0, size);
  h->kind = kind;
  return h;
}

void hr_set_kind(lua_State *L, const char *kind) {
  if (!hr_has_kind(L, kind)) luaL_error(L, "'%s' in the registry is not heap.reader's", kind);
  lua_setmetatable(L, -2);
}

void *hr_test(lua_State *L, int index, const char *kind) {
  bool may_be = lua_type(L, index) == LUA_TUSERDATA && lua_rawlen(L, index) >= sizeof(head);
  head *h = may_be ? lua_touserdata(L, index) : NULL;
  return h && h->kind == kind ? h : NULL;
}

void *hr_check_is(lua_State *L, int index, const char *kind) {
  void *content = hr_test(L, index, kind);
  if (!content) luaL_typeerror(L, index, kind);
  return content;
}

enum { METHODS = 1, FIELDS, OTHER, FACTS }; /* upvalues of __index; a fact is its column */

static int index_kind(lua_State *L) {
  lua_CFunction get;
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_gettable(L, lua_upvalueindex(METHODS)) != LUA_TNIL) return 1;
  lua_pushvalue(L, 2);
  if (lua_gettable(L, lua_upvalueindex(FIELDS)) == LUA_TLIGHTUSERDATA) {
    const lh_column *column = lua_touserdata(L, -1);
    const hr_facts *facts = lua_touserdata(L, lua_upvalueindex(FACTS));
    return facts->push(L, column);
  }
  get = lua_tocfunction(L, -1);
  if (!get) get = lua_tocfunction(L, lua_upvalueindex(OTHER));
  lua_settop(L, 2);
  return get ? get(L) : 0;
}

void hr_set_index(lua_State *L, const luaL_Reg *methods, const luaL_Reg *fields,
                  const hr_facts *facts, lua_CFunction other) {
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_newtable(L);
  for (const lh_column *c = facts ? facts->table->columns : NULL; c && c->kind != LH_COLUMN_END;
       c++) {
    if (!c->key) continue;
    lua_pushlightuserdata(L, (void *)(uintptr_t)c);
    lua_setfield(L, -2, c->key);
  }
  luaL_setfuncs(L, fields, 0);
  if (other)
    lua_pushcfunction(L, other);
  else
    lua_pushnil(L);
  lua_pushlightuserdata(L, (void *)(uintptr_t)facts);
  lua_pushcclosure(L, index_kind, FACTS);
  lua_setfield(L, -2, "__index");
}

/* ==== Errors ========================================================================= */

void hr_check(lua_State *L, int code, const lh_error *error) {
  if (code != LH_OK) luaL_error(L, "%s", error->message);
}

/* ==== Rows =========================================================================== */

void hr_push_list(lua_State *L, const char *kind, size_t n) {
  lua_createtable(L, n < 1000000 ? (int)n : 1000000, 4);
  if (!hr_has_kind(L, kind)) {
    hr_new_kind(L, kind);
    hr_keep_kind(L, kind);
  }
  lua_setmetatable(L, -2);
}

void hr_set_integer(lua_State *L, const char *key, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, key);
}

void hr_set_number(lua_State *L, const char *key, double n) {
  lua_pushnumber(L, n);
  lua_setfield(L, -2, key);
}

void hr_set_boolean(lua_State *L, const char *key, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, key);
}

void hr_set_string(lua_State *L, const char *key, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}
