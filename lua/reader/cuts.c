/*
** cuts.c - Tells why a set of objects is alive, and what removing references would free.
*/
#include "handles.h"

/* ==== Paths to a set ================================================================= */

int hr_ways(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lua_Integer limit = luaL_optinteger(L, 3, 20);
  const lh_id *ids;
  size_t n;
  lh_error error;
  luaL_argcheck(L, limit >= 0, 3, "a number of rows, or 0 for all");
  luaL_checkany(L, 2);
  if (hr_check_set(L, 2, of, &ids, &n, &error) != LH_OK) return hr_fail(L, &error);
  return hr_answer(L, "set", &(lh_request){.ids = ids, .n_ids = n, .limit = (size_t)limit});
}

/* ==== Ignored references and objects ================================================= */

/* A cut: an expression, one edge (if edge.target is an object), or one object. */
typedef struct cut {
  char *text; /* the expression, for messages; NULL: none */
  lh_without found;
  lh_edge edge;
  lh_id id;
} cut;

typedef struct cuts {
  size_t n;
  cut list[];
} cuts;

static void free_cuts(void *content) {
  cuts *c = content;
  for (size_t i = 0; i < c->n; i++) {
    lh_without_free(&c->list[i].found);
    lh_free(c->list[i].text);
  }
}

static lh_without without_of(const cut *one) {
  lh_without w = one->found;
  if (one->id != LH_NO_OBJECT) w = (lh_without){.objects = &one->id, .n_objects = 1};
  if (one->edge.target != LH_NO_OBJECT) w = (lh_without){.edges = &one->edge, .n_edges = 1};
  return w;
}

/* Reads the cut at `index`; LH_ENOTFOUND: nothing matches it. */
static int read_cut(lua_State *L, int index, hr_snapshot *of, cut *out, lh_error *error) {
  hr_snapshot *of_edge;
  const lh_edge *edge = hr_test_edge(L, index, &of_edge);
  *out = (cut){.edge.target = LH_NO_OBJECT, .id = LH_NO_OBJECT};
  if (edge) {
    if (of_edge != of) luaL_error(L, "this edge is of another snapshot");
    out->edge = *edge;
    return LH_OK;
  }
  if (lua_type(L, index) != LUA_TSTRING) return hr_find_object(L, index, of, &out->id, error);
  size_t n;
  const char *pattern = lua_tolstring(L, index, &n);
  out->text = lh_escaped(pattern, n);
  if (!out->text) return luaL_error(L, "not enough memory");
  int code = lh_find_cut(hr_analysed(L, of), pattern, &out->found, error);
  if (code != LH_OK) out->found = (lh_without){0};
  if (code != LH_ENOTFOUND) hr_check(L, code, error);
  return code;
}

/* Pushes item i (from 0) of the list at `index`, or the single cut there. */
static void push_cut(lua_State *L, int index, size_t i) {
  if (lua_istable(L, index))
    (void)lua_rawgeti(L, index, (lua_Integer)i + 1);
  else
    lua_pushvalue(L, index);
}

/* Pushes a userdata that owns the cuts (a list, or a single cut) and holds the snapshot. */
static int read_cuts(lua_State *L, int index, hr_snapshot *of, cuts **out, lh_error *error) {
  size_t n = lua_istable(L, index) ? (size_t)lua_rawlen(L, index) : 1;
  int code = LH_OK;
  cuts *c = hr_hold(L, 1, sizeof *c + n * sizeof *c->list, free_cuts);
  for (size_t i = 0; code == LH_OK && i < n; i++) {
    c->n = i + 1;
    push_cut(L, index, i);
    code = read_cut(L, lua_gettop(L), of, &c->list[i], error);
    lua_pop(L, 1);
  }
  *out = c;
  return code;
}

static lh_without *push_withouts(lua_State *L, const cuts *c) {
  lh_without *list = lua_newuserdatauv(L, (c->n + 1) * sizeof *list, 0);
  for (size_t i = 0; i < c->n; i++) list[i] = without_of(&c->list[i]);
  return list;
}

/* ignore([cuts]): all later answers ignore these cuts; without an argument, none. */
int hr_ignore(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_error error;
  cuts *c;
  luaL_argcheck(L, !of->data, 1, "a capture cannot leave out anything: save it, and open the file");
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    lua_replace(L, 2);
  }
  (void)hr_analysed(L, of);
  if (read_cuts(L, 2, of, &c, &error) != LH_OK) return hr_fail(L, &error);
  const lh_without *list = push_withouts(L, c);
  lh_snapshot *snapshot = hr_opened(L, of);
  if (of->holds > 1) lua_gc(L, LUA_GCCOLLECT); /* errors may have left holds */
  if (of->holds > 1) return luaL_error(L, "the snapshot is just being asked something else");
  (void)hr_opened(L, of); /* the collection may have closed the snapshot */
  of->analyses++;
  hr_check(L, lh_analyse_without(snapshot, list, c->n, &error), &error);
  hr_check(L, lh_classify(snapshot, &error), &error);
  hr_let_go(L, 3);
  lua_pushboolean(L, true);
  return 1;
}

static const lh_gone *push_gone(lua_State *L, const cuts *c) {
  lh_gone *list = lua_newuserdatauv(L, (c->n + 1) * sizeof *list, 0);
  for (size_t i = 0; i < c->n; i++) list[i] = (lh_gone){c->list[i].text, without_of(&c->list[i])};
  return list;
}

int hr_what_if(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_request request = {.id = LH_NO_OBJECT, .each = true};
  lh_error error;
  cuts *c;
  luaL_checkany(L, 2);
  lua_settop(L, 3);
  if (!lua_isnil(L, 3)) hr_check(L, hr_find_object(L, 3, of, &request.id, &error), &error);
  (void)hr_analysed(L, of);
  if (read_cuts(L, 2, of, &c, &error) != LH_OK) return hr_fail(L, &error);
  request.cuts = push_gone(L, c);
  request.n_cuts = c->n;
  (void)hr_answer(L, "cut", &request);
  for (size_t i = 0; i < request.n_cuts; i++) {
    (void)lua_rawgeti(L, -1, (lua_Integer)i + 1);
    push_cut(L, 2, i);
    lua_setfield(L, -2, "cut");
    lua_pop(L, 1);
  }
  if (request.id != LH_NO_OBJECT) hr_set_object(L, "object", 1, request.id);
  hr_let_go(L, 4);
  return 1;
}

/* ==== Independent paths ============================================================== */

static void free_independent(void *content) {
  lh_independent *found = content;
  if (found->paths) lh_independent_free(found);
}

int hr_independent(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lua_Integer limit = luaL_optinteger(L, 3, 20);
  lh_error error;
  luaL_argcheck(L, limit > 0, 3, "a number of paths, 1 or more");
  lh_independent *found = hr_hold(L, 1, sizeof *found, free_independent);
  int hold = lua_gettop(L);
  int code = lh_find_independent(snapshot, id, (size_t)limit, found, &error);
  if (hr_filled(L, hold, code) == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  hr_push_paths(L, "heap.independent", found->paths, found->n, id);
  hr_set_object(L, "from", 1, found->from);
  hr_set_boolean(L, "limited", found->is_limited);
  hr_let_go(L, hold);
  return 1;
}
