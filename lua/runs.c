/*
** runs.c - `require "heap.runs"`, found in heap.so: what heap/leaks.lua and heap/busted_watch.lua
** need of C: marks that are taken away again, and the snapshots of captures analysed as though the
** asking, or a test framework, were not there.
*/
#include "host.h"
#include "live/live.h"

/* {=== Marks ========================================================================== */

/* mark(name) --> serial */
static int mark(lua_State *L) {
  size_t length;
  const char *name = luaL_checklstring(L, 1, &length);
  lh_error error;
  hr_check(L, lh_mark(L, name, length, &error), &error);
  lua_pushinteger(L, hl_newest_mark(L));
  return 1;
}

/* drop(serial) */
static int drop(lua_State *L) {
  lh_drop_mark(L, (uint32_t)luaL_checkinteger(L, 1));
  return 0;
}

/* }=================================================================================== */

/* How many objects have each of these fingerprints: count(snapshot, {fingerprint, ...}) -->
** {objects, ...} */
static int count(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lh_error error;
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t n = lua_rawlen(L, 2);
  const char **fingerprints = lua_newuserdatauv(L, n * sizeof *fingerprints, 0);
  uint64_t *counts = hr_hold(L, 1, n * sizeof *counts, NULL);
  for (size_t i = 0; i < n; i++) {
    (void)lua_rawgeti(L, 2, (lua_Integer)i + 1);
    fingerprints[i] = luaL_checkstring(L, -1); /* the list keeps it */
    lua_pop(L, 1);
  }
  hr_check(L, lh_count_with(snapshot, fingerprints, n, counts, &error), &error);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)counts[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_let_go(L, -2);
  return 1;
}

/* Finds side[id], and that of its dominators up to where it is known. */
static void find_side(const lh_snapshot *snapshot, uint8_t *side, lh_id id) {
  lh_id at = id;
  while (!side[at]) at = lh_immediate_dominator(snapshot, at);
  uint8_t found = side[at];
  for (at = id; !side[at]; at = lh_immediate_dominator(snapshot, at)) side[at] = found;
}

/* What an object keeps alive, itself included, of an epoch or younger: below(object, epoch) -->
** {class = objects} */
static int below(lua_State *L) {
  enum { INSIDE = 1, OUTSIDE };
  hr_snapshot *of;
  lh_id top = hr_subject(L, &of);
  const lh_snapshot *snapshot = hr_analysed(L, of);
  lua_Integer epoch = luaL_checkinteger(L, 3);
  lh_id n = lh_object_count(snapshot);
  uint8_t *side = hr_hold(L, 1, (size_t)n + 1, NULL);
  lua_newtable(L);
  side[LH_ROOT] = OUTSIDE;
  side[top] = INSIDE;
  for (lh_id id = 1; id <= n; id++) {
    if (!lh_is_reachable(snapshot, id) || lh_epoch(snapshot, id) < epoch) continue;
    find_side(snapshot, side, id);
    if (side[id] != INSIDE) continue;
    lua_pushstring(L, lh_class_name_of(snapshot, id));
    lua_pushvalue(L, -1);
    (void)lua_rawget(L, -3);
    lua_pushinteger(L, lua_tointegerx(L, -1, NULL) + 1);
    lua_remove(L, -2);
    lua_rawset(L, -3);
  }
  hr_let_go(L, -2);
  return 1;
}

/* analyse(snapshot, function, objects): as though the frames that call `function`, and all that it
** calls, were not there, nor the objects in the list, which must be alive. analyse(snapshot): with
** all there is. Classes keep the names that they got first. */
static int analyse(lua_State *L) {
  enum { MOST_OBJECTS = 64 };
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_id objects[MOST_OBJECTS];
  size_t n_objects = 0;
  lh_error error;
  for (lua_Integer i = 1; lua_istable(L, 3) && n_objects < MOST_OBJECTS; i++) {
    if (lua_rawgeti(L, 3, i) == LUA_TNIL) break;
    lh_id id = lh_find_value(L, of->snapshot, lua_gettop(L));
    if (id != LH_NO_OBJECT) objects[n_objects++] = id;
    lua_pop(L, 1);
  }
  lh_id function = lh_find_value(L, of->snapshot, 2);
  int code = lua_isnoneornil(L, 2)
                 ? lh_analyse_without(of->snapshot, NULL, 0, &error)
                 : hl_analyse_below(of->snapshot, function, objects, n_objects, &error);
  of->analyse = NULL;
  hr_check(L, code, &error);
  return 0;
}

__attribute__((visibility("default"))) int luaopen_heap_runs(lua_State *L);

int luaopen_heap_runs(lua_State *L) {
  static const luaL_Reg functions[] = {{"mark", mark},   {"drop", drop},   {"analyse", analyse},
                                       {"count", count}, {"below", below}, {NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  lua_createtable(L, 0, 6);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
