/*
** own_mirror.h - a mirror that is this process's own memory, of which the child of a shot has a
** copy: for tests of what is done in a mirror. To be included once in a program: it stands in for
** what makes mirrors.
*/
#ifndef LUAHEAP_TESTS_OWN_MIRROR_H
#define LUAHEAP_TESTS_OWN_MIRROR_H

#include <lua.h>

#include "outside/outside.h"

bool lh_mirror_has(const lh_mirror *mirror, uint64_t address, uint64_t n) {
  (void)mirror, (void)n;
  return address >= 4096;
}

static lh_target own_target = {.own_process_id = 4711, .program = "a program"};
static lh_region own_region = {.end = INT64_MAX,
                               .access = LH_REGION_READ | LH_REGION_WRITE,
                               .present_bytes = INT64_MAX,
                               .path = ""};
static lh_memory own_memory = {.regions = &own_region, .n = 1, .fd = -1};

/* The target stood in a system call. */
static inline lh_mirrored in_call(void) {
  return (lh_mirrored){.target = &own_target,
                       .memory = &own_memory,
                       .stillness = LH_STILL_FORK,
                       .was_in_system_call = true,
                       .is_quiet = true};
}

/* Needs a slot of L's stack. */
static inline int shoot(lua_State *L, const lh_mirrored *m, lh_outside_request *request,
                        lh_error *error) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  request->state = (uintptr_t)lua_tothread(L, -1);
  lua_pop(L, 1);
  return lh_shoot_mirrored(m, request, error);
}

#endif
