/*
** questions.c - the live calls (live.h): about one object in the words of heappath, and about many
** in the figures of heaptop and heapdiff. Rows have the keys of the commands' --json.
*/
#include "host.h"
#include "live.h"

/* ==== The subject of a question ====================================================== */

/* Why there is no answer for the value at `index`; NULL: it is an object. */
static const char *no_object(lua_State *L, int index) {
  uint64_t bytes;
  lh_error error;
  luaL_checkany(L, index);
  if (lh_sizeof(L, index, &bytes, &error) < 0) luaL_error(L, "%s", error.message);
  if (bytes > 0) return NULL;
  return lua_pushfstring(
      L,
      "a %s is not on the heap: every variable that has it has its own copy, and "
      "nothing refers to it",
      lua_iscfunction(L, index)       ? "C function without upvalues"
      : lua_islightuserdata(L, index) ? "light userdata"
                                      : luaL_typename(L, index));
}

/* Sets t->id to the value at HL_SUBJECT, which may be one of heap.reader's objects. False: the
** capture does not have it; nil and a message are pushed. */
static bool find_subject(lua_State *L, hl_task *t) {
  const hr_object *object = hr_test(L, HL_SUBJECT, hr_object_kind);
  lh_error error;
  if (object && object->of == t->capture->reader && object->id != LH_ROOT) {
    t->id = object->id;
    return true;
  }
  int code = hl_find_value(L, HL_SUBJECT, hl_opened(t), t->is_fresh, &t->id, &error);
  if (code != LH_OK) (void)hl_push_failure(L, error.message);
  return code == LH_OK;
}

/* hl_ask about argument 1; nil and a message if it is no object. */
static int ask_about(lua_State *L, hl_task *t, hl_body body) {
  const char *message = no_object(L, hl_argument(L, 1));
  if (!message) return hl_ask(L, t, body);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/* ==== Paths ========================================================================== */

static void set_edge(lua_State *L, hl_task *t, const lh_snapshot *s, const lh_edge *edge) {
  hr_set_string(L, "edge", lh_edge_kind_name(edge->kind));
  hr_push_text(L, t->capture->reader, lh_edge_text(s, edge));
  lua_setfield(L, -2, "label");
}

/* Pushes the list of steps: each reference, and its target. */
static void push_steps(lua_State *L, hl_task *t, lh_snapshot *s, const lh_path *path,
                       hl_rows *rows) {
  lh_step steps[LH_MOST_STEPS];
  size_t n = lh_readable_steps(path, steps);
  hr_push_list(L, "heap.live_steps", n);
  for (size_t i = 0; i < n; i++) {
    hl_push_row(L, t, s, rows, steps[i].target);
    if (steps[i].skipped > 0)
      hr_set_integer(L, "skipped", steps[i].skipped);
    else
      set_edge(L, t, s, steps[i].edge);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_path_text(lua_State *L, hl_task *t, const lh_snapshot *s, const lh_path *path) {
  hr_push_text(L, t->capture->reader, lh_path_text(s, path, path->n_steps > LH_LONG_PATH));
}

/* Only the caller holds the object, or nothing: pushes nil and a message with the caller's path. */
static int push_no_path(lua_State *L, hl_task *t) {
  lh_snapshot *whole = hl_analysed(L, t, HL_WHOLE);
  const hr_found_paths *found = hr_hold_paths(L, 0, whole, t->id, 1);
  int hold = lua_gettop(L);
  lua_pushnil(L);
  if (found->n == 0) {
    lua_pushstring(L, t->is_fresh ? "nothing holds it but this call" : "nothing holds it");
  } else {
    lua_pushliteral(L, "only the asker holds it: ");
    push_path_text(L, t, whole, found->list);
    lua_concat(L, 2);
  }
  hr_release(L, hold);
  return 2;
}

static int path_body(lua_State *L, hl_task *t) {
  if (!find_subject(L, t)) return 2;
  lh_snapshot *s = hl_analysed(L, t, HL_OTHERS);
  const hr_found_paths *found = hr_hold_paths(L, 0, s, t->id, 1);
  int hold = lua_gettop(L);
  if (found->n == 0) return push_no_path(L, t);
  hl_rows *rows = hl_new_rows(L);
  push_path_text(L, t, s, found->list);
  push_steps(L, t, s, found->list, rows);
  hl_set_objects(L, t, rows);
  hr_release(L, hold);
  return 2;
}

/* Appends paths to the list, up to the limit: those through the caller, or the others. */
static void add_paths(lua_State *L, hl_task *t, int list, bool of_caller, hl_rows *rows) {
  lh_snapshot *s = hl_analysed(L, t, of_caller ? HL_WHOLE : HL_OTHERS);
  const hr_found_paths *found = hr_hold_paths(L, 0, s, t->id, t->request.limit);
  int hold = lua_gettop(L);
  size_t n = lua_rawlen(L, list);
  for (size_t i = 0; i < found->n && n < t->request.limit; i++) {
    const lh_path *path = &found->list[i];
    bool is_callers = false;
    for (size_t k = 0; k < path->n_steps; k++)
      is_callers = is_callers || hl_is_of_caller(&t->capture->caller, &path->steps[k]);
    if (is_callers != of_caller) continue;
    push_steps(L, t, s, path, rows);
    push_path_text(L, t, s, path);
    lua_setfield(L, -2, "path");
    if (of_caller) hr_set_boolean(L, "asker", true);
    lua_rawseti(L, list, (lua_Integer)++n);
  }
  hr_release(L, hold);
  lua_settop(L, hold - 1);
}

static int paths_body(lua_State *L, hl_task *t) {
  if (!find_subject(L, t)) return 2;
  hl_rows *rows = hl_new_rows(L);
  hr_push_list(L, "heap.live_paths", 0);
  int list = lua_gettop(L);
  add_paths(L, t, list, false, rows);
  if (lua_rawlen(L, list) < t->request.limit && t->capture->caller.function != LH_NO_OBJECT)
    add_paths(L, t, list, true, rows);
  hl_set_objects(L, t, rows);
  return 1;
}

/* path(value) --> text, steps | nil, message */
int hl_path(lua_State *L) {
  hl_task t = {0};
  return ask_about(L, &t, path_body);
}

/* paths(value, k) --> list | nil, message */
int hl_paths(lua_State *L) {
  hl_task t = {0};
  lua_Integer k = luaL_checkinteger(L, hl_argument(L, 2));
  luaL_argcheck(L, k > 0, hl_argument(L, 2), "the number of paths must be 1 or more");
  t.request.limit = k < 100000 ? (size_t)k : 100000;
  return ask_about(L, &t, paths_body);
}

/* ==== Referrers ====================================================================== */

/* Appends the living referrers of an object to the list at `list`: those of the caller, or the
** others. An upvalue says nothing to a user: in its place come the functions that have it. */
static void add_referrers(lua_State *L, hl_task *t, int list, bool of_caller, hl_rows *rows,
                          lh_id id, bool functions) {
  lh_snapshot *s = hl_opened(t);
  lh_error error;
  lh_path *found = hr_hold_path(L, 0);
  int hold = lua_gettop(L);
  int code = lh_referrers(s, id, &found->steps, &found->n_steps, &error);
  hr_check(L, hr_filled(L, hold, code), &error);
  for (size_t i = 0; i < found->n_steps; i++) {
    const lh_edge *edge = &found->steps[i];
    bool is_shown = edge->kind != LH_EDGE_CONTENT && edge->kind != LH_EDGE_OPEN_UPVALUE &&
                    (!functions || edge->kind == LH_EDGE_UPVALUE);
    if (!is_shown || edge->ignored || !lh_is_reachable(s, edge->source)) continue;
    if (hl_is_of_caller(&t->capture->caller, edge) != of_caller) continue;
    hl_push_row(L, t, s, rows, edge->source);
    set_edge(L, t, s, edge);
    if (edge->weak) hr_set_boolean(L, "weak", true);
    if (of_caller) hr_set_boolean(L, "asker", true);
    lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
  }
  for (size_t i = 0; i < found->n_steps && !functions; i++)
    if (found->steps[i].kind == LH_EDGE_CONTENT)
      add_referrers(L, t, list, of_caller, rows, found->steps[i].source, true);
  hr_release(L, hold);
  lua_settop(L, hold - 1);
}

static int referrers_body(lua_State *L, hl_task *t) {
  if (!find_subject(L, t)) return 2;
  (void)hl_analysed(L, t, HL_WHOLE);
  hl_rows *rows = hl_new_rows(L);
  hr_push_list(L, "heap.live_referrers", 0);
  int list = lua_gettop(L);
  add_referrers(L, t, list, false, rows, t->id, false);
  add_referrers(L, t, list, true, rows, t->id, false);
  hl_set_objects(L, t, rows);
  return 1;
}

/* referrers(value) --> list | nil, message */
int hl_referrers(lua_State *L) {
  hl_task t = {0};
  return ask_about(L, &t, referrers_body);
}

/* ==== Retained bytes ================================================================= */

/* Leaves no reference out: this call's own may be the only one, and does not change the result. */
static int retained_body(lua_State *L, hl_task *t) {
  lh_error error;
  if (!find_subject(L, t)) return 2;
  lh_snapshot *s = t->is_fresh ? hl_opened(t) : hl_analysed(L, t, HL_WHOLE);
  hr_check(L, lh_analyse(s, &error), &error);
  lua_pushinteger(L, (lua_Integer)lh_retained_bytes(s, t->id));
  return 1;
}

/* retained(value) --> bytes | nil, message */
int hl_retained(lua_State *L) {
  hl_task t = {0};
  if (!no_object(L, hl_argument(L, 1))) return ask_about(L, &t, retained_body);
  lua_pushinteger(L, 0);
  return 1;
}

/* ==== Counts ========================================================================= */

enum { BY_TYPE, BY_CLASS, BY_SITE };

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
  hr_push_list(L, "heap.live_counts", 0);
  for (uint32_t i = 0; i < lh_class_count(s); i++) {
    const lh_class *class = lh_class_at(s, i);
    add_count(L, t->count_by == BY_CLASS ? class->name : lh_type_name(class->type), class->objects,
              class->shallow_bytes);
  }
  return 1;
}

static const lh_count *push_site_counts(lua_State *L, const lh_snapshot *s, const lh_sites *sites) {
  size_t n = lh_n_sites(sites) + 1;
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
  if (!sites) return hl_push_failure(L, "nothing was tracked: call heap.track() first");
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
  static const char *const words[] = {"type", "class", "site", NULL};
  hl_task t = {.count_by = luaL_checkoption(L, hl_argument(L, 1), "type", words)};
  return hl_ask(L, &t, t.count_by == BY_SITE ? count_sites_body : count_body);
}

/* ==== The biggest ==================================================================== */

static int classes_body(lua_State *L, hl_task *t) {
  return hr_answer(L, "classes", &t->request);
}

/* classes([n [, by]] | options) --> list */
int hl_classes(lua_State *L) {
  hl_task t = {.request = hr_check_ranking(L, hl_argument(L, 1), 20)};
  return hl_ask(L, &t, classes_body);
}

static int top_body(lua_State *L, hl_task *t) {
  size_t n;
  lh_snapshot *s = hl_opened(t);
  hl_rows *rows = hl_new_rows(L);
  const lh_id *found = hr_rank(L, &t->request, "heap.top", &n);
  int list = lua_gettop(L);
  for (size_t i = 0; i < n; i++) {
    hl_push_row(L, t, s, rows, found[i]);
    hr_set_integer(L, "retained_bytes", lh_retained_bytes(s, found[i]));
    lua_rawseti(L, list, (lua_Integer)i + 1);
  }
  hl_set_objects(L, t, rows);
  hr_release(L, list - 1);
  return 1;
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

static const char before[] = "heap.diff: before", after[] = "heap.diff: after";

/* Objects that only a finalizer still holds need more than one collection. */
static void collect_all(lua_State *L) {
  for (int i = 0; i < 3; i++) lua_gc(L, LUA_GCCOLLECT);
}

static uint32_t leave_mark(lua_State *L, const char *name) {
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
  collect_all(L);
  r->marks[0] = leave_mark(L, before);
  for (lua_Integer i = 0; i < r->n; i++) {
    lua_pushvalue(L, 2);
    lua_call(L, 0, 0);
  }
  r->marks[1] = leave_mark(L, after);
  collect_all(L);
  return hl_ask(L, &t, since_body);
}

/* diff(f [, n]) --> list of groups: the objects that stay after n calls of f. */
int hl_diff(lua_State *L) {
  run r = {.n = luaL_optinteger(L, 2, 1)};
  if (!lua_isfunction(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TNIL)
    luaL_typeerror(L, 1, "function");
  luaL_argcheck(L, r.n > 0, 2, "the number of calls must be 1 or more");
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

/* ==== dot and show ================================================================= */

/* heap.dot(v, file) and heap.show(v) are in modules of their own, dot/dot.c and heap/show.lua,
** which are loaded at the first call. */

static int dot_body(lua_State *L, hl_task *t) {
  enum { PATH = 3, DRAW, DEPTH = 3, WIDTH = 8, MOST_PATHS = 10 };
  const hl_picture *p = &t->picture;
  if (!find_subject(L, t)) return 2;
  int top = lua_gettop(L);
  lua_pushvalue(L, DRAW);
  lua_pushlightuserdata(L, t->capture->bytes);
  lua_pushinteger(L, (lua_Integer)t->capture->size);
  lua_pushinteger(L, t->id);
  lua_pushvalue(L, PATH);
  lua_pushboolean(L, p->up);
  lua_pushinteger(L, p->has_depth ? (lua_Integer)p->depth : p->up ? LH_LONG_PATH : DEPTH);
  lua_pushinteger(L, p->width > 0 ? (lua_Integer)p->width : p->up ? MOST_PATHS : WIDTH);
  lua_call(L, 7, LUA_MULTRET);
  return lua_gettop(L) - top;
}

/* Pushes the function that draws. False: it is not installed; nil and a message are pushed. */
static bool push_drawing(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heap.dot");
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return true;
  const char *why = lua_tostring(L, -1);
  bool lacks_cgraph = why && strstr(why, "libcgraph");
  (void)hl_push_failure(
      L, lacks_cgraph
             ? "heap.dot needs libcgraph, of Graphviz: apt install libcgraph6"
             : "heap.dot is not installed: `make install` puts heap/dot.so beside heap.so");
  return false;
}

/* dot(value, file [, {depth = , width = , up = }]) --> true | nil, message, errno */
int hl_dot(lua_State *L) {
#define FIELD(field) offsetof(hl_task, picture.field)
  static const hl_option options[] = {
      {"depth", HL_COUNT, .field = FIELD(depth), .given = FIELD(has_depth)},
      {"width", HL_COUNT, .field = FIELD(width), .least = 1},
      {"up", HL_FLAG, .field = FIELD(up)},
      {0}};
#undef FIELD
  hl_task t = {0};
  int file = hl_argument(L, 2);
  luaL_checkany(L, hl_argument(L, 1));
  (void)hl_check_path(L, file);
  hl_read_options(L, file + 1, options, &t);
  lua_settop(L, file);
  if (!push_drawing(L)) return 2;
  return ask_about(L, &t, dot_body);
}

/* show(value [, {depth = }]) --> text */
int hl_show(lua_State *L) {
  struct wanted {
    uint64_t depth;
  } wanted = {3};
  static const hl_option options[] = {{"depth", HL_COUNT, .field = offsetof(struct wanted, depth)},
                                      {0}};
  luaL_checkany(L, 1);
  hl_read_options(L, 2, options, &wanted);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heap.show");
  lua_call(L, 1, 1);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, (lua_Integer)wanted.depth);
  lua_call(L, 2, 1);
  return 1;
}
