/*
** dot.c - The module behind heap.dot, loaded at its first call.
** Pictures need libcgraph, but heap.so links to libc only. So the bytes of a capture are passed to
** this module, which analyses them with its own copy of the library.
*/
#include <errno.h>
#include <stdlib.h>

#include "live/live.h"

typedef struct picture {
  lh_id id;
  bool up; /* draw the paths to the object, not what is below it */
  uint32_t depth, width;
  const char *path;
} picture;

static int fail(lh_error *error) {
  *error = (lh_error){.code = LH_EMEMORY, .os_errno = errno};
  (void)snprintf(error->message, sizeof error->message, "not enough memory while drawing");
  return LH_EMEMORY;
}

static int draw_up(lh_snapshot *s, const picture *p, FILE *out, lh_error *error) {
  lh_path *paths;
  size_t n;
  int code = lh_shortest_paths(s, p->id, p->width, &paths, &n, error);
  if (code != LH_OK) return code;
  code = lh_dot_paths(s, paths, n, p->depth, out, error);
  lh_paths_free(paths, n);
  lh_free(paths);
  return code;
}

static int draw_down(lh_snapshot *s, const picture *p, FILE *out, lh_error *error) {
  lh_below below;
  const lh_below_query query = {.depth = p->depth, .width = p->width};
  int code = lh_find_below(s, p->id, &query, &below, error);
  if (code != LH_OK) return code;
  code = lh_dot_below(s, &below, out, error);
  lh_below_free(&below);
  return code;
}

/* Writes the file only after drawing: a failure leaves an old file unchanged. */
static int draw_file(lh_snapshot *s, const picture *p, lh_error *error) {
  char *bytes = NULL;
  size_t n = 0;
  FILE *out = open_memstream(&bytes, &n);
  if (!out) return fail(error);
  int code = (p->up ? draw_up : draw_down)(s, p, out, error);
  if (fclose(out) != 0 && code == LH_OK) code = fail(error);
  if (code == LH_OK) code = lh_save(bytes, n, p->path, error);
  free(bytes);
  return code;
}

/* An object held only by the calling code is drawn with that code. */
static int analyse(lh_snapshot *s, const picture *p, lh_error *error) {
  int code = hl_analyse(s, p->up ? HL_OTHERS : HL_WHOLE, error);
  if (code == LH_OK && p->up && !lh_is_reachable(s, p->id)) code = hl_analyse(s, HL_WHOLE, error);
  return code;
}

/* draw(bytes, size, id, path, up, depth, width) --> true | nil, message, errno */
static int draw(lua_State *L) {
  lh_snapshot *s = NULL;
  lh_error error;
  luaL_checktype(L, 1, LUA_TLIGHTUSERDATA);
  const picture p = {.id = (lh_id)luaL_checkinteger(L, 3),
                     .path = luaL_checkstring(L, 4),
                     .up = lua_toboolean(L, 5),
                     .depth = (uint32_t)luaL_checkinteger(L, 6),
                     .width = (uint32_t)luaL_checkinteger(L, 7)};
  size_t size = (size_t)luaL_checkinteger(L, 2);
  int code = lh_open_memory(&s, lua_touserdata(L, 1), size, "heap.dot", &error);
  if (code == LH_OK) code = analyse(s, &p, &error);
  if (code == LH_OK) code = draw_file(s, &p, &error);
  lh_close(s);
  if (code == LH_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, error.message);
  lua_pushinteger(L, error.os_errno);
  return 3;
}

__attribute__((visibility("default"))) int luaopen_heap_dot(lua_State *L);

int luaopen_heap_dot(lua_State *L) {
  lua_pushcfunction(L, draw);
  return 1;
}
