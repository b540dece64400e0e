/*
** test_values.c - objects of a snapshot as values: what is handed out is the very object that the
** snapshot has under that id, whatever was freed and allocated in between, and nothing that is
** still there and may be handed out is missing.
**
** The oracle: each table of a random program carries a number that no other ever has. A table that
** is handed out must carry the number that the snapshot read in it; and after a full collection all
** that a weak table still knows must be handed out, but those that were given a finalizer since.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "any_lua.h"
#include "read/snapshot.h"
#include "rooms/all.h"

/* ==== A snapshot in memory =========================================================== */

typedef struct sink {
  uint8_t *data;
  size_t size;
} sink;

static size_t write_sink(const void *data, size_t n, void *payload) {
  sink *s = payload;
  s->data = realloc(s->data, s->size + n);
  assert_non_null(s->data);
  memcpy(s->data + s->size, data, n);
  s->size += n;
  return n;
}

static lh_snapshot *capture(lua_State *L, sink *s) {
  lh_snapshot *snapshot;
  *s = (sink){0};
  assert_int_equal(lh_stream_snapshot(L, "c", write_sink, s, NULL, NULL, NULL), LH_OK);
  assert_int_equal(lh_open_memory(&snapshot, s->data, s->size, "c", NULL), LH_OK);
  return snapshot;
}

static void end_capture(lh_snapshot *snapshot, sink *s) {
  lh_close(snapshot);
  free(s->data);
}

/* ==== The program ==================================================================== */

static const char program[] =
    "local random, keep, last = math.random, {}, 0\n"
    "weak = setmetatable({}, {__mode = 'v'})\n" /* all numbered tables by number */
    "moved = {}\n"                              /* numbers of those given a finalizer, or revived */
    "revived = {}\n"
    "local function finalizer(o)\n"
    "  if random(3) ~= 1 then return end\n"
    "  revived[#revived + 1], weak[o.n], moved[o.n] = o, o, true\n"
    "end\n"
    "function make(n)\n"
    "  for i = 1, n do\n"
    "    last = last + 1\n"
    "    local o = {n = last, text = 'string ' .. last % 97, f = function() return last end}\n"
    "    if random(4) == 1 then setmetatable(o, {__gc = finalizer}) end\n"
    "    weak[last] = o\n"
    "    keep[random(#keep + 1)] = o\n"
    "  end\n"
    "end\n"
    "function churn(n)\n"
    "  for i = 1, n do\n"
    "    local k = random(#keep)\n"
    "    local what = random(6)\n"
    "    if what == 1 and keep[k].n and not getmetatable(keep[k]) then\n"
    "      moved[keep[k].n] = true\n"
    "      setmetatable(keep[k], {__gc = finalizer})\n"
    "    elseif what < 4 then keep[k] = {} else make(1) end\n"
    "    if random(50) == 1 then collectgarbage('step', random(20)) end\n"
    "  end\n"
    "end\n";

static void call(lua_State *L, const char *function, int n) {
  lua_getglobal(L, function);
  lua_pushinteger(L, n);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

static void run_chunk(lua_State *L, const char *chunk) {
  if (luaL_dostring(L, chunk) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

static lua_State *new_program(unsigned seed) {
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  lua_pushinteger(L, seed);
  lua_setglobal(L, "seed");
  run_chunk(L, "math.randomseed(seed)");
  /* In 5.4.0 that mode frees tables with finalizers that are still referred to. */
  if (seed % 2 == 0 && LUA_VERSION_RELEASE_NUM > 50400) lua_gc(L, LUA_GCGEN, 0, 0);
  run_chunk(L, program);
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  return L;
}

/* ==================================================================================== */

/* The number that the snapshot read in a table; 0: it is not numbered. */
static int64_t number_in(const lh_snapshot *s, lh_id id) {
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(s, id, &it); lh_entries_next(&it, &key, &value);) {
    if (key.kind != LH_VALUE_OBJECT || value.kind != LH_VALUE_INTEGER) continue;
    lh_object name;
    if (lh_type_of(s, key.as.object) != LH_TYPE_STRING) continue;
    lh_object_at(s, key.as.object, &name);
    if (name.as.string.length == 1 && *name.as.string.bytes == 'n') return value.as.integer;
  }
  return 0;
}

/* All objects of the snapshot that are there, as a table on the stack: by id. In batches of so
** many. */
static void push_all(lua_State *L, const lh_snapshot *s, size_t batch) {
  uint32_t n = lh_object_count(s);
  lh_id *ids = calloc(batch + 1, sizeof *ids);
  lua_createtable(L, (int)n, 0);
  int all = lua_gettop(L);
  lh_id next = 1, anchor = 0;
  while (next <= n) {
    size_t filled = 0;
    lua_createtable(L, (int)batch + 1, 0);
    if (anchor) {
      ids[filled++] = anchor;
      lua_rawgeti(L, all, anchor);
      lua_rawseti(L, all + 1, 1);
    }
    while (next <= n && filled <= batch) ids[filled++] = next++;
    lh_error error;
    int rc = lh_push_values(L, s, ids, filled, all + 1, &error);
    if (rc < 0) fail_msg("%s", error.message);
    for (size_t i = 0; i < filled; i++) {
      if (lua_rawgeti(L, all + 1, (lua_Integer)i + 1) != LUA_TNIL) anchor = ids[i];
      lua_rawseti(L, all, ids[i]);
    }
    lua_pop(L, 1);
  }
  free(ids);
}

/* What is handed out at index -1 is what the snapshot has. Returns how many numbered tables. */
static size_t check_values(lua_State *L, const lh_snapshot *s) {
  static const int types[LH_TYPE_COUNT] = {[LH_TYPE_STRING] = LUA_TSTRING,
                                           [LH_TYPE_TABLE] = LUA_TTABLE,
                                           [LH_TYPE_CLOSURE] = LUA_TFUNCTION,
                                           [LH_TYPE_USERDATA] = LUA_TUSERDATA,
                                           [LH_TYPE_THREAD] = LUA_TTHREAD};
  size_t numbered = 0;
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    lh_object o;
    lua_rawgeti(L, -1, id);
    if (!lua_isnil(L, -1)) {
      lh_object_at(s, id, &o);
      assert_int_equal(lua_type(L, -1), types[o.type]);
      assert_int_equal((uintptr_t)lua_topointer(L, -1), o.pointer);
      assert_false(o.own);
      if (o.type == LH_TYPE_STRING) {
        size_t length;
        const char *bytes = lua_tolstring(L, -1, &length);
        assert_int_equal(length, o.as.string.length);
        assert_memory_equal(bytes, o.as.string.bytes, o.as.string.kept);
      }
      if (o.type == LH_TYPE_TABLE && number_in(s, id) != 0) {
        lua_pushliteral(L, "n");
        lua_rawget(L, -2);
        assert_int_equal(lua_tointeger(L, -1), number_in(s, id));
        lua_pop(L, 1);
        numbered++;
      }
    }
    lua_pop(L, 1);
  }
  return numbered;
}

/* How many of the numbered tables of the snapshot are alive and may be handed out. */
static size_t count_alive(lua_State *L, const lh_snapshot *s) {
  size_t n = 0;
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (lh_type_of(s, id) != LH_TYPE_TABLE || lh_is_dead(s, id)) continue;
    int64_t number = number_in(s, id);
    if (number == 0) continue;
    lua_getglobal(L, "weak");
    lua_rawgeti(L, -1, number);
    lua_getglobal(L, "moved");
    lua_rawgeti(L, -1, number);
    n += !lua_isnil(L, -3) && lua_isnil(L, -1);
    lua_pop(L, 4);
  }
  return n;
}

static void hands_out_the_same_objects(void **state) {
  (void)state;
  size_t n_handed = 0;
  enum { SEEDS = 40, ROUNDS = 3 };
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    sink bytes;
    lua_State *L = new_program(seed);
    call(L, "make", 1500);
    call(L, "churn", 300);
    run_chunk(L, "collectgarbage('stop') moved = {}"); /* no finalizer before the snapshot */
    lh_snapshot *s = capture(L, &bytes);
    lua_gc(L, LUA_GCRESTART);
    for (int round = 0; round < ROUNDS; round++) {
      push_all(L, s, lh_object_count(s));
      size_t handed = check_values(L, s);
      push_all(L, s, 1 + seed * 7 % 90);
      assert_int_equal(check_values(L, s), handed);
      lua_settop(L, 0);
      call(L, "churn", 300);
      if (seed % 3 == 0) lua_gc(L, LUA_GCSTEP, (int)seed);
    }
    lua_gc(L, LUA_GCCOLLECT);
    lua_gc(L, LUA_GCCOLLECT);
    push_all(L, s, lh_object_count(s));
    size_t handed = check_values(L, s), alive = count_alive(L, s);
    if (handed != alive) fail_msg("seed %u: %zu handed out, %zu alive", seed, handed, alive);
    n_handed += handed;
    lua_settop(L, 0);
    lh_drop_mark(L, lh_snapshot_info(s)->serial);
    end_capture(s, &bytes);
    lua_close(L);
  }
  assert_true(n_handed > 1000);
}

static void refused(int rc, const lh_error *error, int code, const char *message) {
  assert_int_equal(rc, code);
  assert_int_equal(error->code, code);
  if (!strstr(error->message, message)) fail_msg("%s", error->message);
}

static void refuses_what_makes_no_sense(void **state) {
  (void)state;
  sink bytes;
  lh_error error;
  static const char no_room[] = "ids must rise, and the table";
  lua_State *L = new_program(1), *other = new_program(2);
  lh_snapshot *s = capture(L, &bytes);
  lh_id last = lh_object_count(s), ids[] = {1, 2, 2, LH_ROOT, last + 1};
  lua_createtable(L, 2, 0);
  lua_pushnil(L);
  refused(lh_push_values(L, s, ids, 3, 1, &error), &error, LH_EARGUMENT, no_room);
  refused(lh_push_values(L, s, ids + 1, 2, 1, &error), &error, LH_EARGUMENT, no_room);
  refused(lh_push_values(L, s, ids + 3, 1, 1, &error), &error, LH_EARGUMENT, no_room);
  refused(lh_push_values(L, s, ids + 4, 1, 1, &error), &error, LH_EARGUMENT, no_room);
  refused(lh_push_values(L, s, ids, 1, 2, &error), &error, LH_EARGUMENT, no_room);
  refused(lh_push_values(L, s, ids, 1, 3, &error), &error, LH_EARGUMENT, no_room);
  assert_int_equal(lh_push_values(L, s, ids, 2, 1, &error), LH_OK);
  assert_int_equal(lh_push_values(L, s, ids, 0, 1, &error), LH_OK);
  lua_createtable(other, 1, 0);
  refused(lh_push_values(other, s, ids, 1, 1, &error), &error, LH_ENOTFOUND, "not of this Lua");
  end_capture(s, &bytes);
  lua_close(other);
  lua_close(L);
}

/* Marks that are dropped, in any order, are in no report, and the others are as they were. */
static void drops_marks(void **state) {
  (void)state;
  lh_error error;
  sink bytes[4];
  lh_snapshot *s[4];
  lua_State *L = new_program(1);
  assert_int_equal(lh_mark(L, "kept", 4, NULL), LH_OK);
  for (int i = 0; i < 3; i++) s[i] = capture(L, &bytes[i]);
  static const int order[] = {1, 0, 2};
  for (int i = 0; i < 3; i++) {
    uint32_t serial = lh_snapshot_info(s[order[i]])->serial;
    lh_drop_mark(L, serial);
    lh_drop_mark(L, serial);
    lua_gc(L, LUA_GCCOLLECT);
    lua_createtable(L, 1, 0);
    refused(lh_push_values(L, s[order[i]], &(lh_id){1}, 1, 1, &error), &error, LH_ENOTFOUND,
            "its mark was taken away");
    lua_pop(L, 1);
  }
  s[3] = capture(L, &bytes[3]);
  assert_int_equal(lh_mark_count(s[3]), 2);
  assert_string_equal(lh_mark_at(s[3], 0)->name, "kept");
  for (int i = 0; i < 4; i++) end_capture(s[i], &bytes[i]);
  lua_close(L);
}

typedef struct half {
  const char *bytes;
  size_t n, at;
  size_t n_functions; /* that were handed out while the chunk was read */
} half;

/* Reads byte by byte, and looks at the heap at each. */
static const char *read_and_look(lua_State *L, void *data, size_t *size) {
  half *h = data;
  sink bytes;
  lh_snapshot *s = capture(L, &bytes);
  int top = lua_gettop(L);
  push_all(L, s, lh_object_count(s));
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    lua_rawgeti(L, top + 1, id);
    h->n_functions += lua_isfunction(L, -1) && !lua_iscfunction(L, -1);
    lua_pop(L, 1);
  }
  lua_settop(L, top);
  lh_drop_mark(L, lh_snapshot_info(s)->serial);
  end_capture(s, &bytes);
  *size = h->at < h->n;
  return h->bytes + h->at++;
}

/* No function that could not be called yet. */
static void hands_out_no_half_built_function(void **state) {
  (void)state;
  static const char chunk[] = "return 1";
  lua_State *L = luaL_newstate();
  half h = {.bytes = chunk, .n = sizeof chunk - 1};
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  assert_int_equal(lua_load(L, read_and_look, &h, "=chunk", NULL), LUA_OK);
  assert_int_equal(h.at, h.n + 1);
  assert_int_equal(h.n_functions, 0);
  lua_close(L);
}

typedef struct arena {
  _Alignas(8) uint8_t bytes[1 << 20];
  size_t used;
} arena;

/* Block behind block, with nothing in between and nothing used again. */
static void *place_tightly(void *data, void *block, size_t old_size, size_t size) {
  arena *a = data;
  void *placed = a->bytes + a->used;
  if (size == 0) return NULL;
  a->used += (size + 7) & ~(size_t)7;
  if (a->used > sizeof a->bytes) return NULL;
  return block ? memcpy(placed, block, old_size < size ? old_size : size) : placed;
}

/* What Lua prints as the place of an empty userdata may be the place of the next object. */
static void knows_an_empty_userdata_from_what_is_behind_it(void **state) {
  (void)state;
  arena *a = calloc(1, sizeof *a);
  lua_State *L = any_newstate(place_tightly, a);
  sink bytes;
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  (void)lua_newuserdatauv(L, 0, 0);
  lua_createtable(L, 0, 0);
  lua_pushinteger(L, 1);
  assert_ptr_equal(lua_topointer(L, 1), lua_topointer(L, 2));
  lh_snapshot *s = capture(L, &bytes);
  assert_int_equal(lh_type_of(s, lh_find_value(L, s, 1)), LH_TYPE_USERDATA);
  assert_int_equal(lh_type_of(s, lh_find_value(L, s, 2)), LH_TYPE_TABLE);
  assert_int_equal(lh_find_value(L, s, 3), LH_NO_OBJECT);
  assert_int_equal(lh_find_value(L, s, 4), LH_NO_OBJECT);
  end_capture(s, &bytes);
  lua_close(L);
  free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hands_out_the_same_objects), cmocka_unit_test(refuses_what_makes_no_sense),
      cmocka_unit_test(drops_marks), cmocka_unit_test(hands_out_no_half_built_function),
      cmocka_unit_test(knows_an_empty_userdata_from_what_is_behind_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
