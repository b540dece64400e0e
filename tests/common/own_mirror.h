/*
** own_mirror.h - a mirror that is this process's own memory, of which the child of a shot has a
** copy: for tests of what is done in a mirror. To be included once in a program: it stands in for
** what makes mirrors. After <cmocka.h>.
*/
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <string.h>
#include <sys/mman.h>

#include "any_lua.h"
#include "outside/outside.h"

/* An address that is not mirrored; 0: each is. */
static uint64_t own_lacks;

bool lh_mirror_has(const lh_mirror *mirror, uint64_t address, uint64_t n) {
  (void)mirror;
  return address >= 4096 && (own_lacks < address || own_lacks - address >= n);
}

void lh_mirror_drop_gaps(const lh_mirror *mirror) {
  (void)mirror;
}

static lh_target own_target = {.own_process_id = 4711, .program = "a program"};
static lh_memory_region own_region = {.end = INT64_MAX,
                                      .access = LH_REGION_READ | LH_REGION_WRITE,
                                      .present_bytes = INT64_MAX,
                                      .path = ""};
static lh_memory own_memory = {.regions = &own_region, .n = 1, .fd = -1};

/* Memory for a Lua state, which is not malloc's: what looks for a state looks around it, too, which
** a sanitizer forbids there. What is freed is not used again. */
typedef struct own_arena {
  char *at, *end;
} own_arena;

static inline void *own_allocate(void *data, void *block, size_t old_bytes, size_t bytes) {
  own_arena *arena = data;
  if (bytes == 0) return NULL;
  if (block && bytes <= old_bytes) return block;
  size_t whole = (bytes + 15) & ~(size_t)15;
  if (whole > (size_t)(arena->end - arena->at)) return NULL;
  char *fresh = arena->at;
  arena->at += whole;
  return block ? memcpy(fresh, block, old_bytes) : fresh;
}

static inline void own_arena_begin(own_arena *arena) {
  enum { BYTES = 1 << 28, BEFORE = 1 << 12 };
  int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  arena->at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, kind, -1, 0);
  arena->end = arena->at == MAP_FAILED ? arena->at : arena->at + BYTES;
  if (arena->at != arena->end) arena->at += BEFORE;
}

/* It lasts as long as the process. NULL: no memory. */
static inline lua_State *own_newstate(void) {
  own_arena arena, *moved;
  own_arena_begin(&arena);
  moved = own_allocate(&arena, NULL, 0, sizeof *moved);
  if (!moved) return NULL;
  *moved = arena;
  return any_newstate(own_allocate, moved);
}

/* A state with the libraries, in which the program has run and the collector stands still. */
static inline lua_State *own_run(const char *program) {
  lua_State *L = own_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  lua_gc(L, LUA_GCSTOP);
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  return L;
}

/* A state with some thousand objects, of all types. */
static inline lua_State *own_new_heap(void) {
  static const char program[] =
      "local t = {1, 2.5, true, 'x', {}, n = 1, [2.5] = 'half', [true] = false, [-7] = 'minus'}\n"
      "t[t] = print; t[print] = t; t[1 << 40] = 'far'; t[io.stdout] = 'file'\n"
      "t[string.rep('long', 100)] = setmetatable({}, {__mode = 'k', __gc = function() end})\n"
      "for i = 1, 1000 do t[#t + 1] = {i, name = 'n' .. i, ['k' .. i] = i, [i * 1024] = i} end\n"
      "t.sparse = {} for i = 1, 100 do t.sparse[i * i * 1.5] = i t.sparse[-i * 64] = i end\n"
      "local up = 0\n"
      "t.f = function(a, ...) up = up + 1 return a, ..., t end\n"
      "t.co = coroutine.create(function(a) local b = {a} coroutine.yield(b) end)\n"
      "coroutine.resume(t.co, t)\n"
      "t.wrap = coroutine.wrap(function() coroutine.yield() end) t.wrap()\n"
      "T = t\n";
  return own_run(program);
}

/* The target stood in a system call. */
static inline lh_mirrored in_call(void) {
  return (lh_mirrored){.target = &own_target,
                       .memory = &own_memory,
                       .stillness = LH_STILL_FORK,
                       .was_in_system_call = true,
                       .written_bytes = INT64_MAX,
                       .most_seconds = 600,
                       .is_quiet = true};
}

/* Needs a slot of L's stack. */
static inline int shoot(lua_State *L, const lh_mirrored *m, lh_outside_request *request,
                        lh_error *error) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  request->state = (uintptr_t)lua_tothread(L, -1);
  lua_pop(L, 1);
  return lh_write_mirrored(m, request, error);
}
