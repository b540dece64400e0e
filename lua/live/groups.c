/*
** groups.c - many objects at once: how many of which kind there are, what is big, what is new and
** stays (live.h). Rows have the keys of the commands' --json.
*/
#include <string.h>

#include "live.h"

/* {=== Counts ========================================================================= */

/* Adds to the row t[key], which may be there. */
static void add_count(lua_State *L, const char *key, uint64_t objects, uint64_t bytes) {
  if (objects == 0) return;
  if (lua_getfield(L, -1, key) == LUA_TTABLE) {
    lua_getfield(L, -1, "objects");
    lua_getfield(L, -2, "bytes");
    objects += (uint64_t)lua_tointegerx(L, -2, NULL);
    bytes += (uint64_t)lua_tointegerx(L, -1, NULL);
    lua_pop(L, 2);
  } else {
    lua_pop(L, 1);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, key);
  }
  hr_set_integer(L, "objects", objects);
  hr_set_integer(L, "bytes", bytes);
  lua_pop(L, 1);
}

static int count_body(lua_State *L, hl_task *t) {
  const lh_snapshot *s = hl_analysed(L, t, HL_WHOLE);
  lh_count counts[LH_TYPE_COUNT] = {{0}};
  hr_push_list(L, "heap.live_counts", 0);
  for (uint32_t i = 0; i < lh_class_count(s); i++) {
    const lh_class *class = lh_class_at(s, i);
    counts[class->type].objects += class->objects;
    counts[class->type].bytes += class->shallow_bytes;
    if (t->by_class) add_count(L, class->name, class->objects, class->shallow_bytes);
  }
  for (lh_type type = LH_TYPE_STRING; type < LH_TYPE_COUNT && !t->by_class; type++) {
    add_count(L, lh_type_name(type), counts[type].objects, counts[type].bytes);
  }
  return 1;
}

/* count(["class" | "type"]) --> {table = {objects = , bytes = }, ...} */
int hl_count(lua_State *L) {
  static const char *const words[] = {"type", "class", NULL};
  hl_task t = {.by_class = luaL_checkoption(L, hl_argument(L, 1), "type", words) == 1};
  return hl_ask(L, &t, count_body);
}

/* }=================================================================================== */

/* {=== The biggest ==================================================================== */

static int classes_body(lua_State *L, hl_task *t) {
  return hr_answer(L, "classes", &t->request);
}

static int top_body(lua_State *L, hl_task *t) {
  size_t n;
  const lh_id *found = hr_rank(L, &t->request, "heap.top", &n);
  const lh_snapshot *s = hl_opened(t);
  int list = lua_gettop(L);
  lh_id *ids = hl_new_ids(L, t, n);
  if (n > 0) memcpy(ids, found, n * sizeof *ids);
  t->n_ids = n;
  hl_push_values(L, t);
  for (size_t i = 0; i < n; i++) {
    hl_push_row(L, 0, 7);
    hl_set_object_fields(L, t, s, found[i]);
    hr_set_integer(L, "retained_bytes", lh_retained_bytes(s, found[i]));
    hl_set_value(L, t, list + 1, found[i]);
    lua_rawseti(L, list, (lua_Integer)i + 1);
  }
  lua_settop(L, list);
  hr_let_go(L, list - 1);
  return 1;
}

/* classes([n [, by]] | options) --> list */
int hl_classes(lua_State *L) {
  hl_task t = {.request = hr_check_ranking(L, hl_argument(L, 1), 20)};
  return hl_ask(L, &t, classes_body);
}

/* top([n [, by]] | options) --> list of objects */
int hl_top(lua_State *L) {
  hl_task t = {.request = hr_check_ranking(L, hl_argument(L, 1), 20)};
  return hl_ask(L, &t, top_body);
}

/* }=================================================================================== */

/* {=== What is new and stays ========================================================== */

static int since_body(lua_State *L, hl_task *t) {
  static const char *const names[] = {"heap.capture"};
  t->request.names = names;
  t->request.n_names = 1;
  return hr_answer_plain(L, "diff", "heap.live_groups", &t->request);
}

/* since(mark [, until]) --> list of groups | nil, message, code */
int hl_since(lua_State *L) {
  hl_task t = {.request = {.since = luaL_checkstring(L, hl_argument(L, 1)),
                           .until = luaL_optstring(L, hl_argument(L, 2), NULL)}};
  return hl_ask(L, &t, since_body);
}

/* }=================================================================================== */

/* {=== What a function leaves ========================================================= */

static const char before[] = "heap.diff: before", after[] = "heap.diff: after";

/* Until nothing is left that only finalizers were to let go. */
static void settle(lua_State *L) {
  for (int i = 0; i < 3; i++) lua_gc(L, LUA_GCCOLLECT);
}

static uint32_t plant(lua_State *L, const char *name) {
  lh_error error;
  hr_check(L, lh_mark(L, name, strlen(name), &error), &error);
  return hl_newest_mark(L);
}

typedef struct run {
  lua_Integer n;
  uint32_t marks[2];
} run;

/* Index 1: the run; index 2: the function. */
static int diff_protected(lua_State *L) {
  run *r = lua_touserdata(L, 1);
  hl_task t = {.request = {.since = before, .until = after}};
  settle(L);
  r->marks[0] = plant(L, before);
  for (lua_Integer i = 0; i < r->n; i++) {
    lua_pushvalue(L, 2);
    lua_call(L, 0, 0);
  }
  r->marks[1] = plant(L, after);
  settle(L);
  return hl_ask(L, &t, since_body);
}

/* diff(f [, n]) --> list of groups. Runs f n times and tells what stayed. */
int hl_diff(lua_State *L) {
  run r = {.n = luaL_optinteger(L, 2, 1)};
  if (!lua_isfunction(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TNIL)
    luaL_typeerror(L, 1, "function");
  luaL_argcheck(L, r.n > 0, 2, "how many times: 1 or more");
  lua_settop(L, 1);
  lua_pushboolean(L, 1);
  lua_pushcclosure(L, diff_protected, 1);
  lua_pushlightuserdata(L, &r);
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 2, LUA_MULTRET, 0);
  for (int i = 0; i < 2; i++) {
    if (r.marks[i] != 0) lh_drop_mark(L, r.marks[i]);
  }
  if (status != LUA_OK) lua_error(L);
  return lua_gettop(L) - 1;
}

/* }=================================================================================== */
