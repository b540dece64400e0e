/*
** functions.c - which C functions of this Lua's standard library never run another thread, and
** which do: running.h.
**
** A Lua state of our own opens the libraries, so that nothing a program has put into its tables is
** taken for Lua's. All C functions that can be reached there are the library's: those in tables,
** the closures, and the iterators that are only made by a call. Of them these run another thread:
** coroutine.resume, coroutine.close and what coroutine.wrap returns; os.exit may close the state,
** and `warn` calls a function of the host.
*/
#include "track/running.h"
#include "weak_lua.h"

#pragma weak luaopen_base
#pragma weak luaopen_coroutine
#pragma weak luaopen_debug
#pragma weak luaopen_io
#pragma weak luaopen_math
#pragma weak luaopen_os
#pragma weak luaopen_package
#pragma weak luaopen_string
#pragma weak luaopen_table
#pragma weak luaopen_utf8
#include <lualib.h>

static const void **slot_of_function(lh_functions *set, const void *function) {
  size_t place = ((uintptr_t)function >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 54;
  while (set->slots[place] && set->slots[place] != function) {
    place = (place + 1) % LH_FUNCTION_SLOTS;
  }
  return &set->slots[place];
}

bool lh_functions_has(const lh_functions *set, const void *function) {
  return *slot_of_function((lh_functions *)(uintptr_t)set, function) != NULL;
}

static void add_function(lh_functions *set, const void *function) {
  const void **slot = slot_of_function(set, function);
  if (*slot || set->n >= LH_FUNCTION_SLOTS / 2) return;
  *slot = function;
  set->n++;
}

const void *lh_c_function_of(const raw_value *v) {
  if (v->type == RAW_LIGHT_C_FUNCTION) return v->as.pointer;
  if (v->type != (RAW_C_CLOSURE | RAW_COLLECTABLE)) return NULL;
  return ((const raw_c_closure *)v->as.object)->function;
}

static void add_value(lh_running *r, const raw_value *v) {
  const void *function = lh_c_function_of(v);
  if (function) add_function(&r->plain, function);
}

static void add_table(lh_running *r, const raw_table *t) {
  uint64_t n = raw_array_slots(r->layout, t);
  for (uint64_t i = 0; i < n; i++) add_value(r, &t->array[i]);
  n = raw_hash_slots(t);
  for (uint64_t i = 0; i < n; i++) {
    const raw_slot *s = &t->slots[i];
    if (!raw_is_empty(s->value_type)) add_value(r, &(raw_value){s->value, s->value_type});
  }
}

static void add_all_functions(lh_running *r, const char *global) {
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    for (const raw_object *o = raw_list(global, list); o; o = o->next) {
      raw_value v = {.as.object = o, .type = o->type | RAW_COLLECTABLE};
      if (o->type == RAW_TABLE) add_table(r, (const raw_table *)o);
      if (o->type == RAW_C_CLOSURE) add_value(r, &v);
    }
  }
}

/* What is at the top of the stack, popped. */
static const void *pop_function(lua_State *L) {
  lua_CFunction function = lua_tocfunction(L, -1);
  const void *address;
  memcpy(&address, &function, sizeof address);
  lua_pop(L, 1);
  return address;
}

/* The function of that name in the library, a global table. */
static const void *function_of(lua_State *L, const char *library, const char *name) {
  lua_getglobal(L, library);
  const void *function = NULL;
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_getfield(L, -1, name);
    function = pop_function(L);
  }
  lua_pop(L, 1);
  return function;
}

/* Calls a function of a library with the value on top of the stack, which goes; its first result
** stays. */
static void call_with_top(lua_State *L, const char *library, const char *name, int n) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  lua_insert(L, -1 - n);
  if (lua_pcall(L, n, 1, 0) == LUA_OK) return;
  lua_pop(L, 1);
  lua_pushnil(L);
}

/* What no table of the libraries holds. The results stay on the stack. */
static const void *make_iterators(lua_State *L) {
  lua_newtable(L);
  call_with_top(L, "_G", "ipairs", 1);
  lua_pushliteral(L, "");
  lua_pushliteral(L, "");
  call_with_top(L, "string", "gmatch", 2);
  call_with_top(L, "io", "lines", 0);
  lua_getglobal(L, "print");
  call_with_top(L, "coroutine", "wrap", 1);
  lua_pushvalue(L, -1);
  return pop_function(L);
}

static void open_library(lua_State *L, lua_CFunction open, const char *name) {
  lua_pushcfunction(L, open);
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
  lua_setglobal(L, name);
}

/* Argument: the lh_running. Nothing is learnt of a host that hides its libraries. */
static int learn_functions(lua_State *L) {
  lh_running *r = lua_touserdata(L, 1);
  open_library(L, luaopen_base, "_G");
  open_library(L, luaopen_package, "package");
  open_library(L, luaopen_coroutine, "coroutine");
  open_library(L, luaopen_table, "table");
  open_library(L, luaopen_io, "io");
  open_library(L, luaopen_os, "os");
  open_library(L, luaopen_string, "string");
  open_library(L, luaopen_math, "math");
  open_library(L, luaopen_utf8, "utf8");
  open_library(L, luaopen_debug, "debug");
  r->wrapped = make_iterators(L);
  r->resume = function_of(L, "coroutine", "resume");
  r->close = function_of(L, "coroutine", "close");
  const raw_value *slots = lh_stack_slot(L, 1);
  for (int i = 0; i < lua_gettop(L); i++) add_value(r, &slots[i]);
  add_all_functions(r, lh_global_state(L));
  r->exit = function_of(L, "os", "exit");
  r->warn = function_of(L, "_G", "warn");
  return 0;
}

static void *allocate(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)data, (void)old_bytes;
  if (bytes > 0) return lh_realloc(block, bytes, 1);
  lh_free(block);
  return NULL;
}

void lh_functions_learn(lh_running *r) {
  bool shows_all = lua_newstate && lua_close && lua_pcallk && luaopen_base && luaopen_package &&
                   luaopen_coroutine && luaopen_table && luaopen_io && luaopen_os &&
                   luaopen_string && luaopen_math && luaopen_utf8 && luaopen_debug;
  lua_State *L = shows_all ? lua_newstate(allocate, NULL) : NULL;
  if (!L) return;
  lua_pushcfunction(L, learn_functions);
  lua_pushlightuserdata(L, r);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) r->plain = (lh_functions){0};
  lua_close(L);
}
