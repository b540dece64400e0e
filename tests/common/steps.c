/* steps.c - see steps.h. What fails here fails the test. */
#include "steps.h"
#include "rooms/all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

unsigned long program_seed;

program program_begin(void) {
  program p = {.L = luaL_newstate(), .options = {.string_bytes = LH_DEFAULT_STRING_BYTES}};
  assert_non_null(p.L);
  luaL_openlibs(p.L);
  assert_int_equal(lh_attach(p.L, NULL), LH_OK);
  return p;
}

program program_of_seed(unsigned long seed) {
  program p = program_begin();
  program_seed = seed;
  lua_pushinteger(p.L, (lua_Integer)seed);
  lua_setglobal(p.L, "SEED");
  return p;
}

lh_snapshot *program_step(program *p, const char *text) {
  lh_error error;
  lh_taken taken;
  assert_true(p->n < MOST_STEPS);
  forge_bytes *file = &p->files[p->n];
  lh_snapshot **snapshot = &p->snapshots[p->n++];
  if (luaL_dostring(p->L, text)) fail_msg("%s", lua_tostring(p->L, -1));
  if (!p->is_uncollected) lua_gc(p->L, LUA_GCCOLLECT, 0);
  assert_int_equal(lh_stream_snapshot(p->L, "test", forge_write, file, &p->options, &taken, &error),
                   LH_OK);
  if (lh_open_memory(snapshot, file->data, file->size, "test", &error))
    fail_msg("%s", error.message);
  assert_int_equal(lh_analyse(*snapshot, NULL), LH_OK);
  assert_int_equal(lh_classify(*snapshot, NULL), LH_OK);
  return *snapshot;
}

void program_end(program *p) {
  for (size_t i = 0; i < p->n; i++) {
    lh_close(p->snapshots[i]);
    free(p->files[i].data);
  }
  lua_close(p->L);
}
