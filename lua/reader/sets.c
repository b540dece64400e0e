/*
** sets.c - the biggest classes and objects, marks and epochs; sets of objects: why a set is alive,
** and what removing references would free.
*/
#include "handles.h"

/* ==== Classes and objects in order =================================================== */

static const char *const orders[] = {"retained", "shallow", "count", NULL};

lh_request hr_check_ranking(lua_State *L, int index, size_t limit) {
  static const hl_option options[] = {
      {"n", HL_COUNT, .field = offsetof(lh_request, limit)},
      {"sort", HL_WORD, .field = offsetof(lh_request, sort), .words = orders},
      {"type", HL_TYPES, .field = offsetof(lh_request, type_mask)},
      {"garbage", HL_FLAG, .field = offsetof(lh_request, garbage)},
      {0}};
  lh_request request = {.limit = limit};
  if (lua_type(L, index) == LUA_TTABLE) {
    hl_read_options(L, index, options, &request);
    return request;
  }
  lua_Integer n = luaL_optinteger(L, index, (lua_Integer)limit);
  luaL_argcheck(L, n >= 0, index, "the number of rows must be 0 (all) or more");
  request.limit = (size_t)n;
  if (lua_isnoneornil(L, index + 1)) return request;
  int order = hl_find_word(L, index + 1, orders);
  luaL_argcheck(L, order >= 0, index + 1, "the order is retained, shallow or count");
  request.sort = (lh_sort)order;
  return request;
}

int hr_method_classes(lua_State *L) {
  (void)hr_check_snapshot(L, 1);
  lh_request request = hr_check_ranking(L, 2, 0);
  return hr_answer(L, "classes", &request);
}

/* top([n [, order]] | options) --> list of objects; n is 20 by default */
int hr_method_top(lua_State *L) {
  size_t n;
  (void)hr_check_snapshot(L, 1);
  lh_request request = hr_check_ranking(L, 2, 20);
  const lh_id *ids = hr_rank(L, &request, "heap.ranking", &n);
  hr_push_objects(L, ids, n, lua_gettop(L));
  hr_release(L, -3);
  return 1;
}

/* ==== When =========================================================================== */

int hr_method_marks(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  uint32_t n = lh_mark_count(of->snapshot);
  (void)hr_hold(L, 1, 0, NULL);
  int hold = lua_gettop(L);
  hr_push_list(L, "heap.marks", n);
  for (uint32_t i = 0; i < n; i++) {
    lua_newtable(L);
    hr_set_facts(L, of, of->snapshot, &lh_mark_facts,
                 &(lh_mark_fact){.mark = *lh_mark_at(of->snapshot, i)});
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_release(L, hold);
  return 1;
}

/* Row 1 is from before the first mark, row i + 1 from mark i on. */
int hr_method_epochs(lua_State *L) {
  static const hl_option options[] = {{"type", HL_TYPES, .field = offsetof(lh_request, type_mask)},
                                      {"garbage", HL_FLAG, .field = offsetof(lh_request, garbage)},
                                      {0}};
  lh_request request = {0};
  (void)hr_check_snapshot(L, 1);
  hl_read_options(L, 2, options, &request);
  return hr_answer(L, "epochs", &request);
}

/* ==== Several objects ================================================================ */

typedef struct chosen {
  uint32_t *bits;
  size_t n;
} chosen;

static void choose_object(chosen *c, lh_id id) {
  c->n += !(c->bits[id / 32] >> id % 32 & 1);
  c->bits[id / 32] |= 1u << id % 32;
}

static void choose_one(lua_State *L, int index, hr_snapshot *of, chosen *c) {
  lh_error error;
  lh_id id;
  hr_check(L, hr_find_object(L, index, of, &id, &error), &error);
  if (id == LH_ROOT) luaL_error(L, "the root is no object");
  choose_object(c, id);
}

/* Calls a stream, or indexes a list, until nil. */
static void choose_all(lua_State *L, int index, hr_snapshot *of, chosen *c) {
  bool is_stream = hr_test(L, index, hr_stream_kind);
  for (lua_Integer i = 1;; i++) {
    if (is_stream) {
      lua_pushvalue(L, index);
      lua_call(L, 0, 1);
    } else {
      (void)lua_geti(L, index, i);
    }
    if (lua_isnil(L, -1)) break;
    choose_one(L, lua_gettop(L), of, c);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int choose_called(lua_State *L, int index, hr_snapshot *of, chosen *c, lh_error *error) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lh_id *ids;
  size_t n;
  luaL_argcheck(L, strlen(text) == length, index, "the name of an object has no zero byte");
  int code = lh_is_fingerprint(text) ? lh_objects_with(snapshot, text, &ids, &n, error)
                                     : lh_find_all(snapshot, text, &ids, &n, error);
  if (code == LH_ENOTFOUND) return code;
  hr_check(L, code, error);
  for (size_t i = 0; i < n; i++) choose_object(c, ids[i]);
  lh_free(ids);
  return LH_OK;
}

/* The objects of a value in the order of their ids: an object, a list, a stream, a fingerprint, or
** all matches of an expression. Pushes the owner of *ids. LH_ENOTFOUND: none. */
static int check_set(lua_State *L, int index, hr_snapshot *of, const lh_id **ids, size_t *n,
                     lh_error *error) {
  uint32_t n_objects = lh_object_count(hr_opened(L, of));
  chosen c = {0};
  int code = LH_OK;
  c.bits = lua_newuserdatauv(L, (n_objects / 32 + 1) * sizeof *c.bits, 0);
  memset(c.bits, 0, (n_objects / 32 + 1) * sizeof *c.bits);
  if (lua_type(L, index) == LUA_TSTRING)
    code = choose_called(L, index, of, &c, error);
  else if (lua_istable(L, index) || hr_test(L, index, hr_stream_kind) ||
           hr_test(L, index, hr_objects_kind))
    choose_all(L, index, of, &c);
  else
    choose_one(L, index, of, &c);
  lh_id *list = lua_newuserdatauv(L, (c.n + 1) * sizeof *list, 0);
  *ids = list;
  *n = c.n;
  for (lh_id id = 1; id <= n_objects; id++)
    if (c.bits[id / 32] >> id % 32 & 1) *list++ = id;
  lua_remove(L, -2);
  return code;
}

int hr_method_retained(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  const lh_id *ids;
  size_t n;
  uint64_t bytes, objects;
  lh_error error;
  lua_settop(L, 2);
  if (check_set(L, 2, of, &ids, &n, &error) != LH_OK) return hr_fail(L, &error);
  lh_snapshot *snapshot = hr_analysed(L, of);
  hr_check(L, lh_retained_together(snapshot, ids, n, &bytes, &objects, &error), &error);
  lua_pushinteger(L, (lua_Integer)bytes);
  lua_pushinteger(L, (lua_Integer)objects);
  return 2;
}

int hr_method_objects_with(lua_State *L) {
  lh_snapshot *snapshot = hr_analysed(L, hr_check_snapshot(L, 1));
  const char *fingerprint = luaL_checkstring(L, 2);
  lh_id **ids = hr_hold(L, 1, sizeof *ids, hr_free_pointer);
  size_t n;
  lh_error error;
  int code = hr_filled(L, -1, lh_objects_with(snapshot, fingerprint, ids, &n, &error));
  if (code == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  hr_push_objects(L, *ids, n, 0);
  hr_release(L, -2);
  return 1;
}

int hr_method_dominators(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  const lh_snapshot *snapshot = hr_analysed(L, of);
  size_t n = 0;
  for (lh_id d = lh_immediate_dominator(snapshot, id); d != LH_ROOT && d != LH_NO_OBJECT; n++)
    d = lh_immediate_dominator(snapshot, d);
  lh_id *ids = hr_hold(L, 1, (n + 1) * sizeof *ids, NULL);
  for (size_t i = 0; i < n; i++) ids[i] = id = lh_immediate_dominator(snapshot, id);
  hr_push_objects(L, ids, n, 0);
  hr_release(L, -2);
  return 1;
}

/* ==== Paths to a set ================================================================= */

int hr_method_ways(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lua_Integer limit = luaL_optinteger(L, 3, 20);
  const lh_id *ids;
  size_t n;
  lh_error error;
  luaL_argcheck(L, limit >= 0, 3, "the number of rows must be 0 (all) or more");
  luaL_checkany(L, 2);
  if (check_set(L, 2, of, &ids, &n, &error) != LH_OK) return hr_fail(L, &error);
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

static lh_without *new_withouts(lua_State *L, const cuts *c) {
  lh_without *list = lua_newuserdatauv(L, (c->n + 1) * sizeof *list, 0);
  for (size_t i = 0; i < c->n; i++) list[i] = without_of(&c->list[i]);
  return list;
}

/* ignore([cuts]): all later answers ignore these cuts; without an argument, none. */
int hr_method_ignore(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_error error;
  cuts *c;
  luaL_argcheck(L, !of->data, 1, "a capture cannot ignore references: save it, and open the file");
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    lua_replace(L, 2);
  }
  (void)hr_analysed(L, of);
  if (read_cuts(L, 2, of, &c, &error) != LH_OK) return hr_fail(L, &error);
  const lh_without *list = new_withouts(L, c);
  lh_snapshot *snapshot = hr_opened(L, of);
  if (of->holds > 1) lua_gc(L, LUA_GCCOLLECT); /* errors may have left holds */
  if (of->holds > 1)
    return luaL_error(L, "ignore() was called while another question to this snapshot is answered");
  (void)hr_opened(L, of); /* the collection may have closed the snapshot */
  of->analyses++;
  hr_check(L, lh_analyse_without(snapshot, list, c->n, &error), &error);
  hr_check(L, lh_classify(snapshot, &error), &error);
  hr_release(L, 3);
  lua_pushboolean(L, true);
  return 1;
}

static const lh_removed *new_request_cuts(lua_State *L, const cuts *c) {
  lh_removed *list = lua_newuserdatauv(L, (c->n + 1) * sizeof *list, 0);
  for (size_t i = 0; i < c->n; i++)
    list[i] = (lh_removed){c->list[i].text, without_of(&c->list[i])};
  return list;
}

int hr_method_what_if(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_request request = {.id = LH_NO_OBJECT, .each = true};
  lh_error error;
  cuts *c;
  luaL_checkany(L, 2);
  lua_settop(L, 3);
  if (!lua_isnil(L, 3)) hr_check(L, hr_find_object(L, 3, of, &request.id, &error), &error);
  (void)hr_analysed(L, of);
  if (read_cuts(L, 2, of, &c, &error) != LH_OK) return hr_fail(L, &error);
  request.cuts = new_request_cuts(L, c);
  request.n_cuts = c->n;
  (void)hr_answer(L, "cut", &request);
  for (size_t i = 0; i < request.n_cuts; i++) {
    (void)lua_rawgeti(L, -1, (lua_Integer)i + 1);
    push_cut(L, 2, i);
    lua_setfield(L, -2, "cut");
    lua_pop(L, 1);
  }
  if (request.id != LH_NO_OBJECT) hr_set_object(L, "object", request.id);
  hr_release(L, 4);
  return 1;
}

/* ==== Independent paths ============================================================== */

static void free_independent(void *content) {
  lh_independent *found = content;
  if (found->paths) lh_independent_free(found);
}

int hr_method_independent(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lua_Integer limit = luaL_optinteger(L, 3, 20);
  lh_error error;
  luaL_argcheck(L, limit > 0, 3, "the number of paths must be 1 or more");
  lh_independent *found = hr_hold(L, 1, sizeof *found, free_independent);
  int hold = lua_gettop(L);
  int code = lh_find_independent(snapshot, id, (size_t)limit, found, &error);
  if (hr_filled(L, hold, code) == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  hr_push_paths(L, "heap.independent", found->paths, found->n, id);
  hr_set_object(L, "from", found->from);
  hr_set_boolean(L, "limited", found->is_limited);
  hr_release(L, hold);
  return 1;
}
