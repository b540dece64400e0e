/*
** runs.c - `require "heap.runs"`, found in heap.so: what heap/leaks.lua and heap/busted_watch.lua
** need of C: marks that are taken away again, and the snapshots of captures analysed as though the
** asking, or a test framework, were not there.
*/
#include <stdlib.h>

#include "reader/handles.h"

/* {=== Marks ========================================================================== */

/* mark(name) --> serial */
static int mark(lua_State *L) {
  size_t length;
  const char *name = luaL_checklstring(L, 1, &length);
  lh_gc_stats stats;
  lh_error error;
  hr_check(L, lh_mark(L, name, length, &error), &error);
  hr_check(L, lh_stats(L, &stats, &error), &error);
  lua_pushinteger(L, stats.newest_mark);
  return 1;
}

/* drop(serial) */
static int drop(lua_State *L) {
  lh_drop_mark(L, (uint32_t)luaL_checkinteger(L, 1));
  return 0;
}

/* }=================================================================================== */

/* How many objects have a fingerprint: count(snapshot, fingerprint) --> objects */
static int count(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_id *ids;
  size_t n = 0;
  lh_error error;
  int code = lh_objects_with(hr_analysed(L, of), luaL_checkstring(L, 2), &ids, &n, &error);
  if (code == LH_OK)
    lh_free(ids);
  else if (code != LH_ENOTFOUND)
    hr_check(L, code, &error);
  lua_pushinteger(L, (lua_Integer)n);
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
    lua_pushstring(L, hr_class_of(snapshot, id));
    lua_pushvalue(L, -1);
    (void)lua_rawget(L, -3);
    lua_pushinteger(L, lua_tointegerx(L, -1, NULL) + 1);
    lua_remove(L, -2);
    lua_rawset(L, -3);
  }
  hr_let_go(L, -2);
  return 1;
}

/* {=== What is left out =============================================================== */

typedef struct left_out {
  lh_edge *edges;
  size_t n_edges, capacity;
} left_out;

static lh_id running_thread(const lh_snapshot *snapshot) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(snapshot, LH_ROOT, &it); lh_edges_next(&it, &edge);)
    if (edge.kind == LH_EDGE_ROOT && edge.index == LH_ROOT_RUNNING_THREAD) return edge.target;
  return LH_NO_OBJECT;
}

/* The outermost frame of the thread that runs `function`; 0 if there is none. */
static uint32_t frame_of(const lh_snapshot *snapshot, lh_id thread, lh_id function) {
  lh_edges it;
  lh_frame frame;
  uint32_t n = 0;
  if (function == LH_NO_OBJECT) return 0;
  for (lh_frames_begin(snapshot, thread, &it); lh_frames_next(&it, &frame); n++)
    if (frame.function.kind == LH_VALUE_OBJECT && frame.function.as.object == function) return n;
  return 0;
}

/* What the frames of the thread refer to, from `frame` on. An open upvalue says nothing of its
** frame, but what it stands for is told as a local variable, too. */
static bool add_frames(left_out *out, const lh_snapshot *snapshot, lh_id thread, uint32_t frame) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(snapshot, thread, &it); lh_edges_next(&it, &edge);) {
    bool is_slot = edge.kind >= LH_EDGE_FUNCTION && edge.kind <= LH_EDGE_ARGUMENT;
    if (!(is_slot && edge.index >= frame) && edge.kind != LH_EDGE_OPEN_UPVALUE) continue;
    if (out->n_edges == out->capacity) {
      size_t capacity = 2 * out->capacity + 64;
      lh_edge *grown = realloc(out->edges, capacity * sizeof *grown);
      if (!grown) return false;
      out->edges = grown;
      out->capacity = capacity;
    }
    out->edges[out->n_edges++] = edge;
  }
  return true;
}

static lh_id find_value(lua_State *L, int index, const lh_snapshot *snapshot) {
  const void *pointer = lua_topointer(L, index);
  return pointer ? lh_find_address(snapshot, (uintptr_t)pointer) : LH_NO_OBJECT;
}

/* analyse(snapshot, function, objects): as though the frames that call `function`, and all that it
** calls, were not there, nor the objects in the list, which must be alive. analyse(snapshot): with
** all there is. Classes keep the names that they got first. */
static int analyse(lua_State *L) {
  enum { MOST_OBJECTS = 64 };
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_snapshot *snapshot = of->snapshot;
  left_out out = {0};
  lh_id objects[MOST_OBJECTS];
  size_t n_objects = 0;
  lh_error error = {.code = LH_EMEMORY, .message = "not enough memory"};
  lh_id thread = running_thread(snapshot);
  bool ok = true;
  if (!lua_isnoneornil(L, 2) && thread != LH_NO_OBJECT) {
    lh_id function = find_value(L, 2, snapshot);
    ok = add_frames(&out, snapshot, thread, frame_of(snapshot, thread, function));
  }
  for (lua_Integer i = 1; lua_istable(L, 3) && n_objects < MOST_OBJECTS; i++) {
    if (lua_rawgeti(L, 3, i) == LUA_TNIL) break;
    lh_id id = find_value(L, -1, snapshot);
    if (id != LH_NO_OBJECT) objects[n_objects++] = id;
    lua_pop(L, 1);
  }
  const lh_without without = {out.edges, out.n_edges, objects, n_objects};
  int code = LH_EMEMORY;
  if (ok) code = lh_analyse_without(snapshot, &without, 1, &error);
  of->analyse = NULL;
  free(out.edges);
  hr_check(L, code, &error);
  return 0;
}

/* }=================================================================================== */

__attribute__((visibility("default"))) int luaopen_heap_runs(lua_State *L);

int luaopen_heap_runs(lua_State *L) {
  static const luaL_Reg functions[] = {{"mark", mark},   {"drop", drop},   {"analyse", analyse},
                                       {"count", count}, {"below", below}, {NULL, NULL}};
  lua_createtable(L, 0, 6);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
