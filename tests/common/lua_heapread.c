/*
** lua_heapread.c - the reading half of the library as a Lua module, for specs that compare whole
** heaps. What is read is verified first: the writer and lh_verify have to agree on every heap.
**
**     info(path)      the figures of the snapshot; marks: their names, the oldest first (a
**                     snapshot's own is written "snapshot NAME", one left by mark() "mark NAME");
**                     and serials, their numbers
**     objects(path)   three tables by address (an integer): how the object is ("reachable",
**                     "garbage", "dead" or "own"), its type's name, and its path or text where it
**                     is garbage
**     sealed(bytes)   a snapshot file's content, with its checksums made right again
*/
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "forged_file.h"
#include "rooms/all.h"

static lh_snapshot *open_snapshot(lua_State *L) {
  lh_snapshot *snapshot;
  lh_error error;
  if (lh_open(&snapshot, luaL_checkstring(L, 1), &error) == LH_OK) {
    if (lh_verify(snapshot, NULL, &error) == LH_OK && lh_analyse(snapshot, &error) == LH_OK)
      return snapshot;
    lh_close(snapshot);
  }
  luaL_error(L, "%s", error.message);
  return NULL;
}

static void set_integer(lua_State *L, const char *name, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, name);
}

static void push_marks(lua_State *L, const lh_snapshot *snapshot) {
  lua_newtable(L);
  lua_newtable(L);
  for (uint32_t i = 0; i < lh_mark_count(snapshot); i++) {
    const lh_mark_info *mark = lh_mark_at(snapshot, i);
    lua_pushfstring(L, "%s %s", mark->is_snapshot ? "snapshot" : "mark", mark->name);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    lua_pushinteger(L, mark->serial);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static int info(lua_State *L) {
  lh_snapshot *snapshot = open_snapshot(L);
  const lh_info *about = lh_snapshot_info(snapshot);
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  lua_newtable(L);
  set_integer(L, "objects", about->objects);
  set_integer(L, "object_bytes", about->object_bytes);
  set_integer(L, "string_table_bytes", about->string_table_bytes);
  set_integer(L, "gc_bytes", about->gc_bytes);
  set_integer(L, "unaccounted_bytes", (uint64_t)about->unaccounted_bytes);
  set_integer(L, "gc_state", about->gc_state);
  set_integer(L, "string_limit", about->string_limit);
  set_integer(L, "reachable_objects", reach.reachable_objects);
  set_integer(L, "garbage_objects", reach.garbage_objects);
  lua_pushstring(L, about->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, about->lua_release);
  lua_setfield(L, -2, "lua_release");
  push_marks(L, snapshot);
  lua_setfield(L, -3, "serials");
  lua_setfield(L, -2, "marks");
  lh_close(snapshot);
  return 1;
}

static const char *how(const lh_snapshot *snapshot, lh_id id) {
  if (lh_is_own(snapshot, id)) return "own";
  if (lh_is_dead(snapshot, id)) return "dead";
  return lh_is_reachable(snapshot, id) ? "reachable" : "garbage";
}

/* t[key] = text, for the table below the top. */
static void set_text(lua_State *L, int table, uint64_t key, const char *text) {
  lua_pushstring(L, text);
  lua_rawseti(L, table, (lua_Integer)key);
}

static int objects(lua_State *L) {
  lh_snapshot *snapshot = open_snapshot(L);
  lua_settop(L, 1);
  for (int i = 0; i < 3; i++) lua_newtable(L);
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    uint64_t address = lh_address_of(snapshot, id);
    const char *state = how(snapshot, id);
    set_text(L, 2, address, state);
    set_text(L, 3, address, lh_type_name(lh_type_of(snapshot, id)));
    if (*state != 'g') continue;
    char *text = lh_type_of(snapshot, id) == LH_TYPE_STRING ? lh_string_text(snapshot, id, 60)
                                                            : lh_object_text(snapshot, id);
    set_text(L, 4, address, text);
    lh_free(text);
  }
  lh_close(snapshot);
  return 3;
}

static int sealed(lua_State *L) {
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  uint8_t *copy = lua_newuserdatauv(L, n, 0);
  memcpy(copy, bytes, n);
  forge_seal(copy, n);
  lua_pushlstring(L, (const char *)copy, n);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_lua_heapread(lua_State *L);

int luaopen_lua_heapread(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"info", info}, {"objects", objects}, {"sealed", sealed}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
