/*
** rankings.c - The biggest classes and objects, marks and epochs, and sets of objects.
*/
#include <string.h>

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
  luaL_argcheck(L, n >= 0, index, "a number of rows, or 0 for all");
  request.limit = (size_t)n;
  if (lua_isnoneornil(L, index + 1)) return request;
  int order = hl_find_word(L, index + 1, orders);
  luaL_argcheck(L, order >= 0, index + 1, "the order is retained, shallow or count");
  request.sort = (lh_sort)order;
  return request;
}

typedef struct ranked {
  void *rows;
  size_t n;
} ranked;

int hr_classes(lua_State *L) {
  (void)hr_check_snapshot(L, 1);
  lh_request request = hr_check_ranking(L, 2, 0);
  return hr_answer(L, "classes", &request);
}

/* top([n [, order]] | options) --> list of objects; n is 20 by default */
int hr_top(lua_State *L) {
  size_t n;
  (void)hr_check_snapshot(L, 1);
  lh_request request = hr_check_ranking(L, 2, 20);
  const lh_id *ids = hr_rank(L, &request, "heap.ranking", &n);
  hr_push_objects(L, 1, ids, n, lua_gettop(L));
  hr_let_go(L, -3);
  return 1;
}

/* ==== When =========================================================================== */

int hr_marks(lua_State *L) {
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
  hr_let_go(L, hold);
  return 1;
}

/* Row 1 is from before the first mark, row i + 1 from mark i on. */
int hr_epochs(lua_State *L) {
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

static void choose(chosen *c, lh_id id) {
  c->n += !(c->bits[id / 32] >> id % 32 & 1);
  c->bits[id / 32] |= 1u << id % 32;
}

static void choose_one(lua_State *L, int index, hr_snapshot *of, chosen *c) {
  lh_error error;
  lh_id id;
  hr_check(L, hr_find_object(L, index, of, &id, &error), &error);
  if (id == LH_ROOT) luaL_error(L, "the root is no object");
  choose(c, id);
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
  luaL_argcheck(L, strlen(text) == length, index, "a zero byte is in no name of an object");
  int code = lh_is_fingerprint(text) ? lh_objects_with(snapshot, text, &ids, &n, error)
                                     : lh_find_all(snapshot, text, &ids, &n, error);
  if (code == LH_ENOTFOUND) return code;
  hr_check(L, code, error);
  for (size_t i = 0; i < n; i++) choose(c, ids[i]);
  lh_free(ids);
  return LH_OK;
}

int hr_check_set(lua_State *L, int index, hr_snapshot *of, const lh_id **ids, size_t *n,
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

int hr_retained(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  const lh_id *ids;
  size_t n;
  uint64_t bytes, objects;
  lh_error error;
  lua_settop(L, 2);
  if (hr_check_set(L, 2, of, &ids, &n, &error) != LH_OK) return hr_fail(L, &error);
  lh_snapshot *snapshot = hr_analysed(L, of);
  hr_check(L, lh_retained_together(snapshot, ids, n, &bytes, &objects, &error), &error);
  lua_pushinteger(L, (lua_Integer)bytes);
  lua_pushinteger(L, (lua_Integer)objects);
  return 2;
}

int hr_objects_with(lua_State *L) {
  lh_snapshot *snapshot = hr_analysed(L, hr_check_snapshot(L, 1));
  const char *fingerprint = luaL_checkstring(L, 2);
  ranked *r = hr_hold(L, 1, sizeof *r, hr_free_pointer);
  lh_id *ids;
  lh_error error;
  int code = lh_objects_with(snapshot, fingerprint, &ids, &r->n, &error);
  if (code == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  r->rows = ids;
  hr_push_objects(L, 1, ids, r->n, 0);
  hr_let_go(L, -2);
  return 1;
}

int hr_dominators(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  const lh_snapshot *snapshot = hr_analysed(L, of);
  size_t n = 0;
  for (lh_id d = lh_immediate_dominator(snapshot, id); d != LH_ROOT && d != LH_NO_OBJECT; n++)
    d = lh_immediate_dominator(snapshot, d);
  lh_id *ids = hr_hold(L, 1, (n + 1) * sizeof *ids, NULL);
  for (size_t i = 0; i < n; i++) ids[i] = id = lh_immediate_dominator(snapshot, id);
  hr_push_objects(L, 1, ids, n, 0);
  hr_let_go(L, -2);
  return 1;
}
