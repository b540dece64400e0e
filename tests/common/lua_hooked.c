/*
** lua_hooked.c - a Lua module that takes snapshots at moments that nobody chose: a count hook takes
** one, each is verified, and its bytes must add up. For Lua's own test suite (tests/release.sh),
** whose results must be the same with it.
**
** Hooks are inherited by the coroutines that are made from then on. What a test does to its hook
** ends it there: each file of the suite is run by itself. After each hundred snapshots there are
** twice as many instructions between them, so that long tests are covered to their end; the marks
** that they leave are the only thing that is new in the heap.
**
** LUAHEAP_EVERY is the first number of instructions, LUAHEAP_MODE "incremental" or "generational",
** LUAHEAP_TRACK the way in which all is tracked meanwhile ("pool", "host" or "sample"; to its end,
** whatever the test does), LUAHEAP_SUM the file to which a line is added at the end: snapshots,
** those with unaccounted bytes, and those that are not sound. Where each of these was goes to
** stderr.
*/
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forged_file.h"
#include "rooms/all.h"

static struct {
  int every;
  unsigned long taken, unaccounted, unsound;
} hooked;

static void complain(lua_State *L, const char *what, const char *text) {
  lua_Debug where = {0};
  if (lua_getstack(L, 0, &where)) (void)lua_getinfo(L, "Sl", &where);
  fprintf(stderr, "hooked: %s:%d: %s%s\n", where.short_src, where.currentline, what, text);
}

/* While `load` calls a reader, the parser has a buffer that belongs to no object. */
static int is_loading(lua_State *L) {
  lua_Debug at;
  for (int level = 0; lua_getstack(L, level, &at); level++) {
    if (lua_getinfo(L, "Sn", &at) && *at.what == 'C' && at.name && strcmp(at.name, "load") == 0)
      return 1;
  }
  return 0;
}

static void look(lua_State *L, const forge_bytes *file) {
  lh_snapshot *snapshot = NULL;
  lh_error error;
  int rc = lh_open_memory(&snapshot, file->data, file->size, "hooked", &error);
  if (rc == LH_OK) rc = lh_verify(snapshot, NULL, &error);
  if (rc < 0) {
    hooked.unsound++;
    complain(L, "", error.message);
    lh_close(snapshot);
    return;
  }
  long long unaccounted = lh_snapshot_info(snapshot)->unaccounted_bytes;
  if (unaccounted < 0 || (unaccounted > 0 && !is_loading(L))) {
    char bytes[32];
    (void)snprintf(bytes, sizeof bytes, "%lld", unaccounted);
    hooked.unaccounted++;
    complain(L, "unaccounted bytes: ", bytes);
  }
  lh_close(snapshot);
}

static void hook(lua_State *L, lua_Debug *event) {
  forge_bytes file = {0};
  lh_error error;
  (void)event;
  if (lh_stream_snapshot(L, "hooked", forge_write, &file, NULL, NULL, &error) == LH_OK) {
    hooked.taken++;
    look(L, &file);
  } else if (error.code != LH_EMEMORY) { /* as where the stack is full */
    hooked.unsound++;
    complain(L, "no snapshot: ", error.message);
  }
  free(file.data);
  if (hooked.taken % 100 == 99) hooked.every *= 2;
  lua_sethook(L, hook, LUA_MASKCOUNT, hooked.every);
}

static void tell(void) {
  const char *path = getenv("LUAHEAP_SUM");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%lu %lu %lu\n", hooked.taken, hooked.unaccounted, hooked.unsound);
  (void)fclose(file);
}

/* Samples are many, so that much happens. */
static int track(lua_State *L, const char *way, lh_error *error) {
  lh_track_options options = {.stacks = true, .pool = LH_POOL_NEVER};
  if (strcmp(way, "pool") == 0) options.pool = LH_POOL_ALWAYS;
  if (strcmp(way, "sample") == 0) options.sample_bytes = 1 << 12;
  return lh_track(L, &options, error);
}

__attribute__((visibility("default"))) int luaopen_lua_hooked(lua_State *L);

int luaopen_lua_hooked(lua_State *L) {
  const char *every = getenv("LUAHEAP_EVERY"), *mode = getenv("LUAHEAP_MODE");
  const char *way = getenv("LUAHEAP_TRACK");
  lh_error error;
  if (lh_attach(L, &error) < 0) return luaL_error(L, "%s", error.message);
  if (way && track(L, way, &error) < 0) return luaL_error(L, "%s", error.message);
  if (mode && strcmp(mode, "generational") == 0) lua_gc(L, LUA_GCGEN, 0, 0);
  if (atexit(tell) != 0) return luaL_error(L, "atexit");
  hooked.every = every ? atoi(every) : 1000;
  lua_sethook(L, hook, LUA_MASKCOUNT, hooked.every);
  return 0;
}
