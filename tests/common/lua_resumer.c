/*
** lua_resumer.c - C functions that run other threads, in all the ways there are, for who has to
** tell which thread runs (tests/track/resumers.lua). Each allocates before, meanwhile and after.
*/
#include <lauxlib.h>
#include <string.h>

static void allocate_some(lua_State *L) {
  lua_newtable(L);
  lua_pushfstring(L, "%p", (void *)L);
  lua_pop(L, 2);
}

static lua_State *new_thread(lua_State *L, int index) {
  lua_State *other = lua_newthread(L);
  lua_pushvalue(L, index);
  lua_xmove(L, other, 1);
  return other;
}

/* resume(co, value): its results. */
static int resume(lua_State *L) {
  lua_State *other = lua_tothread(L, 1);
  int n = 0;
  luaL_argcheck(L, other, 1, "thread expected");
  allocate_some(L);
  lua_settop(L, 2);
  lua_xmove(L, other, 1);
  int status = lua_resume(other, L, 1, &n);
  allocate_some(L);
  if (status > LUA_YIELD) {
    lua_pushnil(L);
    lua_xmove(other, L, 1);
    return 2;
  }
  luaL_checkstack(L, n, NULL);
  lua_xmove(other, L, n);
  allocate_some(L);
  return n;
}

/* call(f), pcall(f): in a thread that nobody resumes. */
static int call(lua_State *L) {
  lua_State *other = new_thread(L, 1);
  allocate_some(other);
  lua_call(other, 0, 0);
  allocate_some(other);
  allocate_some(L);
  return 0;
}

static int protected_call(lua_State *L) {
  lua_State *other = new_thread(L, 1);
  allocate_some(other);
  int status = lua_pcall(other, 0, 0, 0);
  if (status != LUA_OK) lua_pop(other, 1);
  allocate_some(other);
  allocate_some(L);
  lua_pushboolean(L, status == LUA_OK);
  return 1;
}

/* on(co): makes something on the stack of any thread, where the collector may then run. */
static int on(lua_State *L) {
  lua_State *other = lua_tothread(L, 1);
  luaL_argcheck(L, other, 1, "thread expected");
  if (lua_checkstack(other, 3)) allocate_some(other);
  allocate_some(L);
  return 0;
}

/* look(co): asks for what allocates on it. */
static int look(lua_State *L) {
  lua_State *other = lua_tothread(L, 1);
  lua_Debug ar;
  luaL_argcheck(L, other, 1, "thread expected");
  if (lua_checkstack(other, 3) && lua_getstack(other, 0, &ar)) {
    lua_getinfo(other, "SlnufL", &ar);
    lua_pop(other, 2);
  }
  luaL_traceback(L, other, "look", 0);
  return 1;
}

/* In 5.4.5 lua_resetthread takes who calls it, too; in others a second argument does no harm. */
static int close_thread(lua_State *L) {
  int (*reset)(lua_State *, lua_State *);
#if LUA_VERSION_NUM == 504
  int (*has_one)(lua_State *) = lua_resetthread;
#else
  int (*has_one)(lua_State *, lua_State *) = lua_closethread;
#endif
  lua_State *other = lua_tothread(L, 1);
  luaL_argcheck(L, other, 1, "thread expected");
  memcpy(&reset, &has_one, sizeof reset);
  allocate_some(L);
  lua_pushinteger(L, reset(other, L));
  allocate_some(L);
  return 1;
}

/* deep(f, co): with much on the C stack, among it the addresses of threads that do not run. */
static int deep(lua_State *L) {
  const void *volatile words[4096];
  const void *other = lua_tothread(L, 2), *itself = L;
  for (size_t i = 0; i < 4096; i++) words[i] = i % 2 ? other : itself;
  allocate_some(L);
  lua_pushvalue(L, 1);
  lua_call(L, 0, 1);
  allocate_some(L);
  lua_pushboolean(L, words[7] == other);
  return 1;
}

/* A hook that resumes a coroutine: the function that is in the registry. */
static const char hook_key = 0;
static void hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  int n;
  lua_sethook(L, NULL, 0, 0);
  allocate_some(L);
  lua_State *other = lua_newthread(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &hook_key);
  lua_xmove(L, other, 1);
  (void)lua_resume(other, L, 0, &n);
  allocate_some(L);
  lua_pop(L, 1);
}

/* hooked(f, mask): f is called in a coroutine at the next event. */
static int set_hook(lua_State *L) {
  static const char *const names[] = {"call", "return", "line", "count", NULL};
  static const int masks[] = {LUA_MASKCALL, LUA_MASKRET, LUA_MASKLINE, LUA_MASKCOUNT};
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &hook_key);
  lua_sethook(L, hook, masks[luaL_checkoption(L, 2, NULL, names)], 3);
  return 0;
}

/* continued(f): calls what may yield, and goes on in another C function. */
static int go_on(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  allocate_some(L);
  return lua_gettop(L);
}

static int continued(lua_State *L) {
  allocate_some(L);
  lua_callk(L, 0, LUA_MULTRET, 0, go_on);
  return go_on(L, LUA_OK, 0);
}

/* finalized(f): a userdata whose finalizer in C allocates, and calls f in a new thread. */
static int finalize(lua_State *L) {
  allocate_some(L);
  lua_getiuservalue(L, 1, 1);
  lua_State *other = new_thread(L, -1);
  int n;
  (void)lua_resume(other, L, 0, &n);
  allocate_some(L);
  return 0;
}

static int finalized(lua_State *L) {
  lua_newuserdatauv(L, 8, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_newtable(L);
  lua_pushcfunction(L, finalize);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return 1;
}

/* read(co): loads a chunk whose pieces a coroutine gives. */
static const char *read_piece(lua_State *L, void *data, size_t *bytes) {
  lua_State *other = data;
  int n;
  if (lua_status(other) != LUA_YIELD && lua_gettop(other) == 0) return NULL;
  (void)lua_resume(other, L, 0, &n);
  const char *piece = n > 0 ? lua_tolstring(other, -1, bytes) : NULL;
  if (n > 0) lua_pop(other, n);
  return piece;
}

static int read_chunk(lua_State *L) {
  lua_State *other = lua_tothread(L, 1);
  luaL_argcheck(L, other, 1, "thread expected");
  if (lua_load(L, read_piece, other, "=read", "t") != LUA_OK) return lua_error(L);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_lua_resumer(lua_State *L);
int luaopen_lua_resumer(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"resume", resume},   {"call", call},           {"pcall", protected_call},
      {"on", on},           {"look", look},           {"close", close_thread},
      {"deep", deep},       {"hook", set_hook},       {"continued", continued},
      {"read", read_chunk}, {"finalized", finalized}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
