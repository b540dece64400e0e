/* state_search.c - a search for the Lua states of a process (state_search.h). */
#include "state_search.h"
#include "any_lua.h"

#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

search search_start(pid_t process) {
  search s = {0};
  if (lh_open_process(process, NULL, &s.target, &s.error) < 0) fail_msg("%s", s.error.message);
  s.rc = lh_find_states(s.target, &s.states, &s.n, &s.error);
  assert_int_equal(s.rc == LH_OK, s.n > 0);
  for (size_t i = 1; i < s.n; i++) assert_true(s.states[i - 1].address < s.states[i].address);
  return s;
}

void search_end(search *s) {
  lh_target_free(s->target);
}

void search_refused(pid_t process, const char *why) {
  search s = search_start(process);
  assert_int_equal(s.rc, LH_EHOST);
  if (!strstr(s.error.message, why)) fail_msg("'%s' does not say '%s'", s.error.message, why);
  search_end(&s);
}

static void *allocate_in_arena(void *data, void *block, size_t old_bytes, size_t bytes) {
  arena *a = data;
  if (bytes == 0 || (block && bytes <= old_bytes)) return bytes ? block : NULL;
  size_t rounded = (bytes + 7) / 8 * 8;
  if (rounded > a->bytes - a->used) return NULL;
  void *more = a->memory + a->used;
  a->used += rounded;
  if (block) memcpy(more, block, old_bytes);
  return more;
}

static lua_State *must(lua_State *L) {
  if (!L) _exit(3);
  return L;
}

lua_State *arena_new_state(arena *a) {
  lua_State *L = must(a ? any_newstate(allocate_in_arena, a) : luaL_newstate());
  luaL_openlibs(L);
  return L;
}

void arena_run(lua_State *L, const char *code, const char *name) {
  if (luaL_loadbuffer(L, code, strlen(code), name) || lua_pcall(L, 0, 0, 0)) _exit(4);
}
