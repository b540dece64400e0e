/*
** groups.c - questions about many objects: counts, the biggest, the new ones that stay (live.h).
** Rows have the keys of the commands' --json.
*/
#include <string.h>

#include "live.h"

/* ==== Counts ========================================================================= */

/* Adds to the row t[key], which is made if need be. */
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

/* The living objects of each allocation site. */
static lh_count *push_site_counts(lua_State *L, const lh_snapshot *s, const lh_sites *sites) {
  size_t n = (size_t)lh_n_sites(sites) + 1;
  lh_count *counts = lua_newuserdatauv(L, n * sizeof *counts, 0);
  memset(counts, 0, n * sizeof *counts);
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    lh_stack_id stack = lh_object_stack(s, id);
    if (stack == 0 || !lh_is_reachable(s, id) || lh_is_own(s, id)) continue;
    lh_count *count = &counts[lh_stack_of(sites, stack)->site];
    count->objects++;
    count->bytes += lh_shallow_bytes(s, id);
  }
  return counts;
}

static int count_sites_body(lua_State *L, hl_task *t) {
  const lh_snapshot *s = hl_analysed(L, t, HL_WHOLE);
  const lh_sites *sites = lh_snapshot_sites(s);
  if (!sites) return hl_no(L, "nothing was tracked: say heap.track() first");
  const lh_count *counts = push_site_counts(L, s, sites);
  hr_push_list(L, "heap.live_counts", 0);
  for (lh_site_id site = 1; site <= lh_n_sites(sites); site++) {
    if (counts[site].objects == 0) continue;
    hr_push_text(L, t->capture->reader, lh_site_text(lh_site_of(sites, site)));
    lua_pushvalue(L, -2);
    add_count(L, lua_tostring(L, -2), counts[site].objects, counts[site].bytes);
    lua_pop(L, 2);
  }
  return 1;
}

/* count(["class" | "type" | "site"]) --> {table = {objects = , bytes = }, ...} */
int hl_count(lua_State *L) {
  enum { BY_CLASS = 1, BY_SITE };
  static const char *const words[] = {"type", "class", "site", NULL};
  int by = luaL_checkoption(L, hl_argument(L, 1), "type", words);
  hl_task t = {.by_class = by == BY_CLASS};
  return hl_ask(L, &t, by == BY_SITE ? count_sites_body : count_body);
}

/* ==== The biggest ==================================================================== */

static int classes_body(lua_State *L, hl_task *t) {
  return hr_answer(L, "classes", &t->request);
}

static int top_body(lua_State *L, hl_task *t) {
  size_t n;
  const lh_id *found = hr_rank(L, &t->request, "heap.top", &n);
  lh_snapshot *s = hl_opened(t);
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

/* ==== What is new and stays ========================================================== */

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

/* ==== What a function leaves ========================================================= */

static const char before[] = "heap.diff: before", after[] = "heap.diff: after";

/* Objects that only a finalizer still holds need more than one collection. */
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

/* diff(f [, n]) --> list of groups: the objects that stay after n calls of f. */
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
