/*
** kinds.c - Metatables, fields, options and errors of all values of heap.reader.
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

/* ==== Options ======================================================================== */

static bool is_known(const char *name, const char *const *names) {
  while (*names && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

static void refuse(lua_State *L, int index, const char *const *names) {
  luaL_Buffer list;
  luaL_buffinit(L, &list);
  luaL_addstring(&list, "the options are ");
  for (size_t i = 0; names[i]; i++) {
    if (i > 0) luaL_addstring(&list, names[i + 1] ? ", " : " and ");
    luaL_addstring(&list, names[i]);
  }
  luaL_pushresult(&list);
  luaL_argerror(L, index, lua_tostring(L, -1));
}

void hr_check_options(lua_State *L, int index, const char *const *names) {
  if (lua_isnoneornil(L, index)) {
    lua_settop(L, index - 1);
    lua_newtable(L);
  }
  luaL_checktype(L, index, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, index)) {
    bool good = lua_type(L, -2) == LUA_TSTRING && is_known(lua_tostring(L, -2), names);
    if (!good) refuse(L, index, names);
    lua_pop(L, 1);
  }
}

bool hr_option(lua_State *L, int index, const char *name) {
  lua_pushstring(L, name);
  return lua_rawget(L, index) != LUA_TNIL;
}

lua_Integer hr_integer_option(lua_State *L, int index, const char *name, lua_Integer otherwise) {
  int is_integer = true;
  lua_Integer n = otherwise;
  if (hr_option(L, index, name)) n = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || n < 0) luaL_error(L, "'%s' must be a whole number, 0 or more", name);
  lua_pop(L, 1);
  return n;
}

bool hr_boolean_option(lua_State *L, int index, const char *name) {
  bool value;
  value = hr_option(L, index, name) && lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static uint32_t type_bit(const char *name, size_t length) {
  lh_type type = lh_type_called(name, length);
  if (type != LH_TYPE_COUNT) return 1u << type;
  return length == 8 && memcmp(name, "function", length) == 0 ? 1u << LH_TYPE_CLOSURE : 0;
}

uint32_t hr_types_option(lua_State *L, int index) {
  uint32_t mask = 0;
  if (hr_option(L, index, "type")) {
    const char *name = lua_tostring(L, -1);
    while (name) {
      size_t length = strcspn(name, ",");
      uint32_t bit = type_bit(name, length);
      if (!bit) mask = UINT32_MAX;
      mask |= bit;
      name = name[length] != '\0' ? name + length + 1 : NULL;
    }
    if (mask == 0 || mask == UINT32_MAX)
      luaL_error(L,
                 "'type' is one of table, string, closure, upvalue, proto, userdata, thread, or "
                 "several with commas");
  }
  lua_pop(L, 1);
  return mask;
}
