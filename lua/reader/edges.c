/*
** edges.c - Edges, paths and lists of referrers.
** Paths and lists make each edge on demand, and an edge its fields: a path of a million steps takes
** 56 MB outside of the Lua heap, and hardly anything in it.
*/
#include <string.h>

#include "handles.h"

/* ==== One edge ======================================================================= */

typedef struct edge {
  const char *kind;
  hr_snapshot *of; /* its first user value */
  lh_edge edge;
} edge;

void hr_push_edge(lua_State *L, int index, const lh_edge *what) {
  edge *e = hr_new(L, hr_edge_kind, sizeof *e, 1);
  e->of = lua_touserdata(L, index);
  e->edge = *what;
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  hr_set_kind(L, hr_edge_kind);
}

const lh_edge *hr_test_edge(lua_State *L, int index, hr_snapshot **of) {
  const edge *e = hr_test(L, index, hr_edge_kind);
  if (e) hr_check_kept(L, index, e->of);
  if (e) *of = e->of;
  return e ? &e->edge : NULL;
}

static int push_edge_fact(lua_State *L, const lh_column *column) {
  const edge *e = hr_check_is(L, 1, hr_edge_kind);
  hr_check_kept(L, 1, e->of);
  lh_thing thing;
  thing.edge = e->edge;
  return hr_return_fact(L, e->of, column, &thing);
}

/* ==== Lists of edges ================================================================= */

static void free_path(void *content) {
  lh_path *path = content;
  if (path->steps) lh_paths_free(path, 1);
  *path = (lh_path){0};
}

lh_path *hr_hold_path(lua_State *L) {
  return hr_hold(L, 1, sizeof(lh_path), free_path);
}

static void free_paths(void *content) {
  hr_found_paths *found = content;
  lh_paths_free(found->list, found->n);
  if (found->list != &found->one) lh_free(found->list);
}

const hr_found_paths *hr_hold_paths(lua_State *L, lh_snapshot *snapshot, lh_id id, size_t k) {
  hr_found_paths *found = hr_hold(L, 1, sizeof *found, free_paths);
  lh_error error;
  int code = LH_ENOTFOUND;
  if (id != LH_ROOT && k == 1) {
    code = lh_shortest_path(snapshot, id, &found->one, &error);
    found->list = &found->one;
    found->n = code == LH_OK;
  } else if (id != LH_ROOT) {
    code = lh_shortest_paths(snapshot, id, k, &found->list, &found->n, &error);
  }
  if (hr_filled(L, -1, code) != LH_ENOTFOUND) hr_check(L, code, &error);
  if (code != LH_OK) *found = (hr_found_paths){0};
  return found;
}

typedef struct list {
  const char *kind;
  hr_snapshot *of; /* its first user value */
  lh_path path;
} list;

/* Takes ownership of the steps, and clears *path. */
static void push_path(lua_State *L, int index, const char *kind, lh_path *path) {
  list *l = hr_new(L, kind, sizeof *l, 1);
  l->of = lua_touserdata(L, index);
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  hr_set_kind(L, kind);
  l->path = *path;
  *path = (lh_path){0};
}

void hr_push_paths(lua_State *L, const char *kind, lh_path *paths, size_t n, lh_id object) {
  hr_push_list(L, kind, n);
  for (size_t i = 0; i < n; i++) {
    push_path(L, 1, hr_path_kind, &paths[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_set_object(L, "object", 1, object);
}

static list *check_list(lua_State *L) {
  list *l = hr_test(L, 1, hr_referrers_kind);
  return l ? l : hr_check_is(L, 1, hr_path_kind);
}

static int count_edges(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_list(L)->path.n_steps);
  return 1;
}

static int collect_list(lua_State *L) {
  free_path(&check_list(L)->path);
  return 0;
}

static int push_text(lua_State *L, const list *l, bool folded) {
  hr_push_text(L, l->of, lh_path_text(hr_analysed(L, l->of), &l->path, folded));
  return 1;
}

/* __tostring of a path: its text, and its steps as a table. */
static int print_path(lua_State *L) {
  const list *l = hr_check_is(L, 1, hr_path_kind);
  const lh_request request = {.path = &l->path};
  lh_report report;
  lh_error error;
  hr_check_kept(L, 1, l->of);
  (void)push_text(L, l, l->path.n_steps > LH_LONG_PATH);
  lua_pushliteral(L, "\n\n");
  lh_snapshot *snapshot = hr_analysed(L, l->of);
  hr_check(L, lh_ask(&report, lh_find_question("steps"), snapshot, &request, &error), &error);
  char *text = lh_report_text(&report, "");
  lh_report_free(&report);
  hr_push_text(L, l->of, text);
  lua_concat(L, 3);
  return 1;
}

/* list[i]; a path also has `text` and the folded `held_by`. */
static int edge_at(lua_State *L) {
  const list *l = check_list(L);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  bool is_path = hr_test(L, 1, hr_path_kind) != NULL;
  int is_integer;
  lua_Integer i = lua_tointegerx(L, 2, &is_integer);
  hr_check_kept(L, 1, l->of);
  if (is_path && strcmp(key, "text") == 0) return push_text(L, l, false);
  if (is_path && strcmp(key, "held_by") == 0) return push_text(L, l, true);
  bool is_edge = is_integer && i >= 1 && (lua_Unsigned)i <= l->path.n_steps;
  if (!is_edge && strcmp(key, "snapshot") != 0) return 0;
  (void)lua_getiuservalue(L, 1, 1);
  if (is_edge) hr_push_edge(L, lua_gettop(L), &l->path.steps[i - 1]);
  return 1;
}

/* ==== Questions ====================================================================== */

int hr_path(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  const hr_found_paths *found = hr_hold_paths(L, snapshot, id, 1);
  int hold = lua_gettop(L);
  if (found->n > 0)
    hr_push_text(L, of, lh_path_text(snapshot, found->list, false));
  else
    lua_pushnil(L);
  hr_let_go(L, hold);
  return 1;
}

int hr_paths(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lua_Integer k = luaL_optinteger(L, 3, 1);
  luaL_argcheck(L, k > 0, 3, "a number of paths, 1 or more");
  const hr_found_paths *found = hr_hold_paths(L, snapshot, id, (size_t)k);
  int hold = lua_gettop(L);
  hr_push_paths(L, "heap.paths", found->list, found->n, id);
  hr_set_integer(L, "asked", (uint64_t)k);
  hr_let_go(L, hold);
  return 1;
}

int hr_referrers(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lh_path *path = hr_hold_path(L);
  lh_error error;
  int code = lh_referrers(snapshot, id, &path->steps, &path->n_steps, &error);
  hr_check(L, hr_filled(L, -1, code), &error);
  push_path(L, 1, hr_referrers_kind, path);
  hr_let_go(L, -2);
  return 1;
}

/* ==================================================================================== */

void hr_open_edges(lua_State *L) {
  static const luaL_Reg events[] = {
      {"__len", count_edges}, {"__index", edge_at}, {"__gc", collect_list}, {NULL, NULL}};
  const char *const lists[] = {hr_path_kind, hr_referrers_kind};
  static const luaL_Reg none[] = {{NULL, NULL}};
  static const hr_facts facts = {&lh_edge_facts, push_edge_fact};
  hr_new_kind(L, hr_edge_kind);
  hr_set_index(L, none, none, &facts, NULL);
  hr_keep_kind(L, hr_edge_kind);
  lua_pop(L, 1);
  for (size_t i = 0; i < 2; i++) {
    hr_new_kind(L, lists[i]);
    luaL_setfuncs(L, events, 0);
    if (lists[i] == hr_path_kind) {
      lua_pushcfunction(L, print_path);
      lua_setfield(L, -2, "__tostring");
    }
    hr_keep_kind(L, lists[i]);
    lua_pop(L, 1);
  }
}
