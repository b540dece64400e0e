/*
** reader.c - The module heap.reader in heap.so: reads snapshots in Lua (heap/reader_meta.lua).
** It does not use the heap of its own state, so it works in any Lua 5.4 or 5.5.
*/
#include "handles.h"
#include "host.h"

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

void hr_push_kind(lua_State *L, const char *kind, const luaL_Reg *events) {
  if (hr_has_kind(L, kind)) return;
  hr_new_kind(L, kind);
  if (events) luaL_setfuncs(L, events, 0);
  hr_keep_kind(L, kind);
}

void *hr_new(lua_State *L, const char *kind, size_t size, int n_user_values) {
  hr_head *h = lua_newuserdatauv(L, size, n_user_values);
  memset(h, 0, size);
  h->kind = kind;
  return h;
}

void *hr_new_of(lua_State *L, int index, const char *kind, size_t size, int n_user_values) {
  hr_head *h = hr_new(L, kind, size, n_user_values);
  h->of = lua_touserdata(L, index);
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  if (!hr_has_kind(L, kind)) luaL_error(L, "the program has replaced '%s' in the registry", kind);
  lua_setmetatable(L, -2);
  return h;
}

void *hr_test(lua_State *L, int index, const char *kind) {
  bool may_be = lua_type(L, index) == LUA_TUSERDATA && lua_rawlen(L, index) >= sizeof(hr_head);
  hr_head *h = may_be ? lua_touserdata(L, index) : NULL;
  return h && h->kind == kind ? h : NULL;
}

void *hr_check_is(lua_State *L, int index, const char *kind) {
  void *content = hr_test(L, index, kind);
  if (!content) luaL_typeerror(L, index, kind);
  return content;
}

void *hr_check_of(lua_State *L, int index, const char *kind) {
  hr_head *h = hr_check_is(L, index, kind);
  (void)lua_getiuservalue(L, index, 1);
  if (lua_touserdata(L, -1) != h->of)
    luaL_error(L, "debug.setuservalue has removed the snapshot of this value");
  lua_pop(L, 1);
  return h;
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
  hr_push_kind(L, kind, NULL);
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

/* ==== Lifetime of a snapshot ========================================================= */

static void close_if_unused(hr_snapshot *of) {
  if (!of->closed || of->holds > 0) return;
  lh_close(of->snapshot);
  lh_free(of->scratch);
  lh_report_free(&of->facts);
  if (of->release) of->release(of->data);
  *of = (hr_snapshot){.kind = hr_snapshot_kind, .closed = true};
}

void hr_close(hr_snapshot *of) {
  of->closed = true;
  close_if_unused(of);
}

void hr_unhold(hr_snapshot *of) {
  if (of->holds > 0) of->holds--;
  close_if_unused(of);
}

void hr_end(hr_snapshot *of) {
  of->holds = 0;
  hr_close(of);
}

int hr_method_close(lua_State *L) {
  hr_close(hr_check_is(L, 1, hr_snapshot_kind));
  return 0;
}

hr_snapshot *hr_check_snapshot(lua_State *L, int index) {
  hr_snapshot *of = hr_check_is(L, index, hr_snapshot_kind);
  luaL_argcheck(L, of->snapshot && !of->closed, index, "the snapshot is closed");
  return of;
}

lh_snapshot *hr_opened(lua_State *L, const hr_snapshot *of) {
  if (!of->snapshot || of->closed) luaL_error(L, "the snapshot is closed");
  return of->snapshot;
}

lh_snapshot *hr_analysed(lua_State *L, hr_snapshot *of) {
  lh_snapshot *snapshot = hr_opened(L, of);
  lh_error error;
  hr_check(L, of->analyse ? of->analyse(snapshot, &error) : lh_analyse(snapshot, &error), &error);
  of->analyse = NULL;
  hr_check(L, lh_classify(snapshot, &error), &error);
  return snapshot;
}

typedef struct hold {
  const char *kind;
  hr_snapshot *of; /* the user value */
  void (*release)(void *content);
  uint64_t content[];
} hold;

static const char hold_kind[] = "heap.hold";

static void release_hold(hold *h) {
  hr_snapshot *of = h->of;
  if (h->release) h->release(h->content);
  h->release = NULL;
  h->of = NULL;
  if (of) hr_unhold(of);
}

static int collect_hold(lua_State *L) {
  release_hold(hr_check_is(L, 1, hold_kind));
  return 0;
}

void *hr_hold(lua_State *L, int index, size_t size, void (*release)(void *content)) {
  static const luaL_Reg events[] = {{"__gc", collect_hold}, {NULL, NULL}};
  hold *h = hr_new(L, hold_kind, sizeof *h + size, 1);
  hr_push_kind(L, hold_kind, events);
  lua_setmetatable(L, -2);
  h->release = release;
  if (index == 0) return h->content;
  hr_snapshot *of = hr_check_snapshot(L, index);
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  h->of = of;
  of->holds++;
  return h->content;
}

void hr_release(lua_State *L, int index) {
  release_hold(lua_touserdata(L, index));
}

int hr_fail(lua_State *L, const lh_error *error) {
  static const char *const words[] = {"ok",      "argument", "memory",  "io",
                                      "foreign", "version",  "damaged", "host",
                                      "absent",  "too much", "busy"};
  for (int i = 1; i <= lua_gettop(L); i++) {
    hold *h = hr_test(L, i, hold_kind);
    if (h) release_hold(h);
  }
  lua_pushnil(L);
  lua_pushstring(L, error->message);
  lua_pushstring(L, words[-error->code]);
  return 3;
}

int hr_filled(lua_State *L, int index, int code) {
  hold *h = lua_touserdata(L, index);
  if (code != LH_OK) h->release = NULL;
  return code;
}

void hr_free_pointer(void *content) {
  lh_free(*(void **)content);
}

void hr_push_text(lua_State *L, hr_snapshot *of, char *text) {
  lh_free(of->scratch);
  of->scratch = text;
  if (!text) luaL_error(L, "not enough memory");
  lua_pushstring(L, text);
  lh_free(of->scratch);
  of->scratch = NULL;
}

/* ==== Methods and fields of a snapshot =============================================== */

static int info(lua_State *L) {
  return hr_answer(L, "info", &(lh_request){0});
}

static int file(lua_State *L) {
  (void)hr_check_is(L, 1, hr_snapshot_kind);
  (void)lua_getiuservalue(L, 1, 1);
  return 1;
}

static int root(lua_State *L) {
  (void)hr_check_snapshot(L, 1);
  hr_push_object(L, 1, LH_ROOT);
  return 1;
}

static int closed(lua_State *L) {
  const hr_snapshot *of = hr_check_is(L, 1, hr_snapshot_kind);
  lua_pushboolean(L, of->closed || !of->snapshot);
  return 1;
}

int hr_method_object(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_error error;
  lh_id id;
  if (hr_find_object(L, 2, of, &id, &error) != LH_OK) return hr_fail(L, &error);
  hr_push_object(L, 1, id);
  return 1;
}

int hr_method_verify(lua_State *L) {
  const hr_snapshot *of = hr_check_snapshot(L, 1);
  uint64_t edges;
  lh_error error;
  if (lh_verify(of->snapshot, &edges, &error) != LH_OK) return hr_fail(L, &error);
  lua_pushinteger(L, (lua_Integer)edges);
  return 1;
}

static int object_count(lua_State *L) {
  lua_pushinteger(L, lh_object_count(hr_check_snapshot(L, 1)->snapshot));
  return 1;
}

#define REPORT(name)                   \
  int hr_method_##name(lua_State *L) { \
    return hr_report(L, #name);        \
  }
HR_REPORTS(REPORT)

int hr_method_class(lua_State *L) {
  return hr_answer(L, "class", &(lh_request){.name = luaL_checkstring(L, 2)});
}

static void make_kind(lua_State *L) {
  static const luaL_Reg methods[] = {HR_SNAPSHOT_METHODS(HR_REGISTER){NULL, NULL}};
  static const luaL_Reg fields[] = {
      {"info", info}, {"file", file}, {"root", root}, {"closed", closed}, {"tracking", hr_tracking},
      {NULL, NULL}};
  static const luaL_Reg events[] = {{"__gc", hr_method_close},
                                    {"__close", hr_method_close},
                                    {"__len", object_count},
                                    {NULL, NULL}};
  hr_open_objects(L);
  hr_open_edges(L);
  hr_new_kind(L, hr_snapshot_kind);
  luaL_setfuncs(L, events, 0);
  hr_set_index(L, methods, fields, NULL, NULL);
  hr_keep_kind(L, hr_snapshot_kind);
}

hr_snapshot *hr_new_snapshot(lua_State *L) {
  return hr_new(L, hr_snapshot_kind, sizeof(hr_snapshot), 2);
}

void hr_set_snapshot_kind(lua_State *L, int index) {
  (void)hr_check_is(L, index, hr_snapshot_kind);
  if (!hr_has_kind(L, hr_snapshot_kind)) make_kind(L);
  lua_setmetatable(L, index);
}

/* ==== The module ===================================================================== */

int hr_open_file(lua_State *L, int index, lh_error *error) {
  size_t length;
  const char *path = luaL_checklstring(L, index, &length);
  hr_snapshot *of;
  luaL_argcheck(L, strlen(path) == length, index, "the path contains a zero byte");
  of = hr_new_snapshot(L);
  hr_set_snapshot_kind(L, lua_gettop(L));
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  return lh_open(&of->snapshot, path, error);
}

int hr_method_open(lua_State *L) {
  lh_error error;
  return hr_open_file(L, 1, &error) == LH_OK ? 1 : hr_fail(L, &error);
}

/* escape(text) --> text that is safe for a terminal */
int hr_method_escape(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  char **escaped = hr_hold(L, 0, sizeof *escaped, hr_free_pointer);
  *escaped = lh_escaped(text, length);
  if (!*escaped) return luaL_error(L, "not enough memory");
  lua_pushstring(L, *escaped);
  hr_release(L, -2);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_heap_reader(lua_State *L);

int luaopen_heap_reader(lua_State *L) {
  static const luaL_Reg functions[] = {HR_FUNCTIONS(HR_REGISTER){NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  /* Functions of another release take other arguments. */
  if (!lua_newuserdatauv || (int)lua_version(L) != LUA_VERSION_NUM)
    return luaL_error(L, "this heap.reader is built for " LUA_VERSION);
  lua_createtable(L, 0, 8);
  luaL_setfuncs(L, functions, 0);
  lua_pushliteral(L, LH_VERSION);
  lua_setfield(L, -2, "_VERSION");
  return 1;
}
