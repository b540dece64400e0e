/*
** ways.c - questions about one object, in the words of heappath (live.h).
*/
#include <stdlib.h>
#include <string.h>

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

enum { SUBJECT = 2 }; /* its index in a body */

bool hl_find_subject(lua_State *L, hl_task *t) {
  const hr_object *object = hr_test(L, SUBJECT, hr_object_kind);
  lh_error error;
  if (object && object->of == t->capture->reader && object->id != LH_ROOT) {
    t->id = object->id;
    return true;
  }
  int code = hl_find_value(L, SUBJECT, hl_opened(t), t->is_fresh, &t->id, &error);
  if (code == LH_OK) return true;
  (void)hl_no(L, error.message);
  return false;
}

int hl_ask_about(lua_State *L, hl_task *t, hl_body body) {
  const char *message = no_object(L, hl_argument(L, 1));
  if (!message) return hl_ask(L, t, body);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/* ==== Rows =========================================================================== */

static void set_edge_fields(lua_State *L, hl_task *t, const lh_snapshot *s, const lh_edge *edge) {
  hr_set_string(L, "edge", lh_edge_kind_name(edge->kind));
  hr_push_text(L, t->capture->reader, lh_edge_text(s, edge));
  lua_setfield(L, -2, "label");
}

/* ==== Paths ========================================================================== */

/* Adds the subject, which the caller has, to the table of values on top: the library does not find
** an object that waits for its finalizer. */
static void add_subject(lua_State *L, const hl_task *t) {
  const lh_id *at = bsearch(&t->id, t->ids, t->n_ids, sizeof t->id, hl_compare_ids);
  if (!at || hr_test(L, SUBJECT, hr_object_kind)) return;
  lua_pushvalue(L, SUBJECT);
  lua_rawseti(L, -2, at - t->ids + 1);
}

/* Pushes the targets of the printed steps of some paths, all in one pass over the heap. */
static void push_values(lua_State *L, hl_task *t, const lh_path *paths, size_t n_paths) {
  lh_step steps[LH_MOST_STEPS];
  lh_id *ids = hl_new_ids(L, t, n_paths * LH_MOST_STEPS);
  for (const lh_path *path = paths; path < paths + n_paths; path++) {
    size_t n = lh_told_steps(path, steps);
    for (size_t i = 0; i < n; i++) ids[t->n_ids++] = steps[i].target;
  }
  hl_push_values(L, t);
  add_subject(L, t);
}

/* Pushes the list of steps: each reference, and its target from the table at `values`. */
static void push_steps(lua_State *L, hl_task *t, lh_snapshot *s, const lh_path *path, int values) {
  lh_step steps[LH_MOST_STEPS];
  size_t n = lh_told_steps(path, steps);
  hr_push_list(L, "heap.live_steps", n);
  for (size_t i = 0; i < n; i++) {
    hl_push_row(L, 0, 8);
    if (steps[i].skipped > 0) {
      hr_set_integer(L, "skipped", steps[i].skipped);
    } else {
      set_edge_fields(L, t, s, steps[i].edge);
      hl_set_object_fields(L, t, s, steps[i].target);
      hl_set_value(L, t, values, steps[i].target);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_path_text(lua_State *L, hl_task *t, const lh_snapshot *s, const lh_path *path) {
  hr_push_text(L, t->capture->reader, lh_path_text(s, path, path->n_steps > LH_LONG_PATH));
}

/* LH_OK: sets t->path. LH_ENOTFOUND: there is no path. */
static int find_path(lua_State *L, hl_task *t, lh_snapshot *s) {
  lh_error error;
  lh_path path;
  int code = lh_shortest_path(s, t->id, &path, &error);
  if (code == LH_OK) t->path = path;
  if (code != LH_ENOTFOUND) hr_check(L, code, &error);
  return code;
}

/* Only the asker holds the object, or nothing: pushes nil and a message with the asker's path. */
static int push_no_path(lua_State *L, hl_task *t) {
  lh_snapshot *whole = hl_analysed(L, t, HL_WHOLE);
  int code = find_path(L, t, whole);
  lua_pushnil(L);
  if (code == LH_OK) {
    push_path_text(L, t, whole, &t->path);
    lua_pushfstring(L, "only the asker holds it: %s", lua_tostring(L, -1));
    return (lua_remove(L, -2), 2);
  }
  lua_pushstring(L, t->is_fresh ? "nothing holds it but this call" : "nothing holds it");
  return 2;
}

static int path_body(lua_State *L, hl_task *t) {
  if (!hl_find_subject(L, t)) return 2;
  lh_snapshot *s = hl_analysed(L, t, HL_OTHERS);
  if (find_path(L, t, s) == LH_ENOTFOUND) return push_no_path(L, t);
  push_values(L, t, &t->path, 1);
  push_path_text(L, t, s, &t->path);
  push_steps(L, t, s, &t->path, lua_gettop(L) - 1);
  return 2;
}

/* Appends paths to the list on top, up to the limit: those through the asker, or the others. */
static void add_paths(lua_State *L, hl_task *t, lh_snapshot *s, bool asker) {
  size_t n = lua_rawlen(L, -1);
  push_values(L, t, t->paths, t->n_paths);
  int values = lua_gettop(L);
  for (size_t i = 0; i < t->n_paths && n < t->request.limit; i++) {
    const lh_path *path = &t->paths[i];
    bool is_askers = false;
    for (size_t k = 0; k < path->n_steps; k++) {
      is_askers = is_askers || hl_is_of_asker(&t->capture->asker, &path->steps[k]);
    }
    if (is_askers != asker) continue;
    push_steps(L, t, s, path, values);
    push_path_text(L, t, s, path);
    lua_setfield(L, -2, "path");
    if (asker) hr_set_boolean(L, "asker", true);
    lua_rawseti(L, values - 1, (lua_Integer)++n);
  }
  lua_pop(L, 1);
}

static int find_paths(lua_State *L, hl_task *t, lh_snapshot *s) {
  lh_error error;
  lh_path *paths;
  size_t n;
  int code = lh_shortest_paths(s, t->id, t->request.limit, &paths, &n, &error);
  if (code == LH_OK) {
    t->paths = paths;
    t->n_paths = n;
  }
  if (code != LH_ENOTFOUND) hr_check(L, code, &error);
  return code;
}

static int paths_body(lua_State *L, hl_task *t) {
  if (!hl_find_subject(L, t)) return 2;
  lh_snapshot *s = hl_analysed(L, t, HL_OTHERS);
  hr_push_list(L, "heap.live_paths",
               t->request.limit < LH_LONG_PATH ? t->request.limit : LH_LONG_PATH);
  if (find_paths(L, t, s) == LH_OK) add_paths(L, t, s, false);
  if (lua_rawlen(L, -1) >= t->request.limit || t->capture->asker.function == LH_NO_OBJECT) return 1;
  lh_paths_free(t->paths, t->n_paths);
  lh_free(t->paths);
  t->paths = NULL;
  t->n_paths = 0;
  s = hl_analysed(L, t, HL_WHOLE);
  if (find_paths(L, t, s) == LH_OK) add_paths(L, t, s, true);
  return 1;
}

/* ==== Referrers ====================================================================== */

/* Adds the functions whose upvalues refer to the subject, since an upvalue says nothing to a user.
** One pass over all objects finds them. */
static void add_functions(lua_State *L, hl_task *t, const lh_snapshot *s) {
  size_t capacity = t->n_edges;
  for (size_t i = 0; i < t->n_edges; i++) {
    if (t->edges[i].kind == LH_EDGE_CONTENT) t->ids[t->n_ids++] = t->edges[i].source;
  }
  if (t->n_ids == 0) return;
  qsort(t->ids, t->n_ids, sizeof *t->ids, hl_compare_ids);
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    lh_edges it;
    lh_edge edge;
    if (lh_type_of(s, id) != LH_TYPE_CLOSURE || !lh_is_reachable(s, id)) continue;
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
      if (edge.kind != LH_EDGE_UPVALUE) continue;
      if (!bsearch(&edge.target, t->ids, t->n_ids, sizeof edge.target, hl_compare_ids)) continue;
      if (t->n_edges == capacity) {
        capacity = 2 * capacity + 1;
        lh_edge *grown = realloc(t->edges, capacity * sizeof *grown);
        if (!grown) luaL_error(L, "not enough memory");
        t->edges = grown;
      }
      t->edges[t->n_edges++] = edge;
    }
  }
}

/* Finds the references to report: those of living objects, without those of the call itself. */
static lh_snapshot *find_referrers(lua_State *L, hl_task *t) {
  lh_error error;
  lh_edge *edges;
  lh_snapshot *s = hl_analysed(L, t, HL_WHOLE);
  size_t n = 0;
  hr_check(L, lh_referrers(s, t->id, &edges, &t->n_edges, &error), &error);
  t->edges = malloc((t->n_edges + 1) * sizeof *t->edges);
  if (t->edges && t->n_edges > 0) memcpy(t->edges, edges, t->n_edges * sizeof *edges);
  lh_free(edges);
  if (!t->edges) luaL_error(L, "not enough memory");
  (void)hl_new_ids(L, t, t->n_edges);
  add_functions(L, t, s);
  for (size_t i = 0; i < t->n_edges; i++) {
    const lh_edge *edge = &t->edges[i];
    bool is_told = edge->kind != LH_EDGE_CONTENT && edge->kind != LH_EDGE_OPEN_UPVALUE;
    if (is_told && !edge->left_out && lh_is_reachable(s, edge->source)) t->edges[n++] = *edge;
  }
  t->n_edges = n;
  return s;
}

static int referrers_body(lua_State *L, hl_task *t) {
  lua_Integer row = 0;
  if (!hl_find_subject(L, t)) return 2;
  lh_snapshot *s = find_referrers(L, t);
  lh_id *ids = hl_new_ids(L, t, t->n_edges);
  for (size_t i = 0; i < t->n_edges; i++) ids[t->n_ids++] = t->edges[i].source;
  hl_push_values(L, t);
  int values = lua_gettop(L);
  hr_push_list(L, "heap.live_referrers", t->n_edges);
  for (int askers = 0; askers <= 1; askers++) {
    for (size_t i = 0; i < t->n_edges; i++) {
      const lh_edge *edge = &t->edges[i];
      if (hl_is_of_asker(&t->capture->asker, edge) != askers) continue;
      hl_push_row(L, 0, 8);
      set_edge_fields(L, t, s, edge);
      hl_set_object_fields(L, t, s, edge->source);
      hl_set_value(L, t, values, edge->source);
      if (edge->weak) hr_set_boolean(L, "weak", true);
      if (askers) hr_set_boolean(L, "asker", true);
      lua_rawseti(L, -2, ++row);
    }
  }
  return 1;
}

/* ==== Retained bytes ================================================================= */

/* Leaves no reference out: this call's own may be the only one, and does not change the result. */
static int retained_body(lua_State *L, hl_task *t) {
  lh_error error;
  if (!hl_find_subject(L, t)) return 2;
  lh_snapshot *s = t->is_fresh ? hl_opened(t) : hl_analysed(L, t, HL_WHOLE);
  hr_check(L, lh_analyse(s, &error), &error);
  lua_pushinteger(L, (lua_Integer)lh_retained_bytes(s, t->id));
  return 1;
}

/* ==================================================================================== */

/* path(value) --> text, steps | nil, message */
int hl_path(lua_State *L) {
  hl_task t = {0};
  return hl_ask_about(L, &t, path_body);
}

/* paths(value, k) --> list | nil, message */
int hl_paths(lua_State *L) {
  hl_task t = {0};
  lua_Integer k = luaL_checkinteger(L, hl_argument(L, 2));
  luaL_argcheck(L, k > 0, hl_argument(L, 2), "how many paths: 1 or more");
  t.request.limit = k < 100000 ? (size_t)k : 100000;
  return hl_ask_about(L, &t, paths_body);
}

/* referrers(value) --> list | nil, message */
int hl_referrers(lua_State *L) {
  hl_task t = {0};
  return hl_ask_about(L, &t, referrers_body);
}

/* retained(value) --> bytes | nil, message */
int hl_retained(lua_State *L) {
  hl_task t = {0};
  if (!no_object(L, hl_argument(L, 1))) return hl_ask_about(L, &t, retained_body);
  lua_pushinteger(L, 0);
  return 1;
}
