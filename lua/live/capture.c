/*
** capture.c - heap.capture(): a snapshot in memory, outside the Lua heap, for questions (live.h).
** It takes some 20 bytes an object for the file, 24 when it is opened, and up to 80 while it is
** analysed, for the first question that needs it.
*/
#include "host.h"
#include "live.h"

static const char capture_key = 0; /* registry[&capture_key] is the metatable of captures */
static const char capture_kind[] = "heap.capture";

/* ==== Life =========================================================================== */

static size_t write_bytes(const void *data, size_t n, void *payload) {
  hl_capture *c = payload;
  if (c->capacity - c->size < n) {
    size_t capacity = c->capacity + c->capacity / 2 + n;
    uint8_t *grown = realloc(c->bytes, capacity);
    if (!grown) return 0;
    c->bytes = grown;
    c->capacity = capacity;
  }
  memcpy(c->bytes + c->size, data, n);
  c->size += n;
  return n;
}

static void close_if_unused(lua_State *L, hl_capture *c) {
  if (!c->closed || c->holds > 0) return;
  lh_close(c->others);
  if (c->reader)
    hr_close(c->reader);
  else
    free(c->bytes);
  if (c->serial != 0 && !c->saved) lh_drop_mark(L, c->serial);
  *c = (hl_capture){.closed = true};
}

static void close_capture(lua_State *L, hl_capture *c) {
  c->closed = true;
  close_if_unused(L, c);
}

uint32_t hl_newest_mark(lua_State *L) {
  lh_gc_stats stats;
  return lh_stats(L, &stats, NULL) == LH_OK ? stats.newest_mark : 0;
}

/* Pushes a capture that is not opened yet. Lua allocates only the handle before the snapshot. For
** caller.c, the function that Lua has called takes the snapshot. */
static hl_capture *push_capture(lua_State *L) {
  lh_error error;
  hl_capture *c = lh_push_userdata(L, &capture_key, sizeof *c, &error);
  if (!c) luaL_error(L, "%s", error.message);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &capture_key);
  if (!hr_is_kind(L, capture_kind))
    luaL_error(L, "the program has removed '%s' from the registry", capture_kind);
  lua_setmetatable(L, -2);
  if (lh_stream_snapshot(L, "heap.capture", write_bytes, c, NULL, NULL, &error) == LH_OK) {
    c->serial = hl_newest_mark(L);
    return c;
  }
  close_capture(L, c);
  luaL_error(L, "%s", error.code == LH_EIO ? "not enough memory for a capture" : error.message);
  return NULL;
}

static int analyse_whole(lh_snapshot *snapshot, lh_error *error) {
  return hl_analyse(snapshot, HL_WHOLE, error);
}

/* Index 2: the capture. It gets a snapshot of heap.reader, which owns the bytes from now on. The
** snapshot keeps the capture alive, whose end would close data that the program still reads. Its
** metatable is set only when heap.reader is asked: else a program would find the objects of that
** module among its own new objects. */
static void open_capture(lua_State *L, hl_capture *c) {
  lh_error error;
  hr_snapshot *reader = hr_new_snapshot(L);
  reader->data = c->bytes;
  reader->release = free;
  reader->analyse = analyse_whole;
  reader->values = &hl_values;
  c->reader = reader;
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 2);
  lua_setiuservalue(L, 2, 1);
  hr_check(L, lh_open_memory(&reader->snapshot, c->bytes, c->size, "heap.capture", &error), &error);
  hl_find_caller(reader->snapshot, &c->caller);
}

/* debug.setuservalue may have removed the reader: then it is freed, or will be, with the bytes.
** While a question is answered the stack has it, too. */
static void forget_lost_reader(lua_State *L, int index, hl_capture *c) {
  lua_getiuservalue(L, index, 1);
  if (c->holds == 0 && lua_touserdata(L, -1) != c->reader) {
    c->reader = NULL;
    c->bytes = NULL;
    c->closed = true;
  }
  lua_pop(L, 1);
}

static hl_capture *to_capture(lua_State *L, int index) {
  hl_capture *c = lh_test_userdata(L, index, &capture_key);
  if (!c) luaL_typeerror(L, index, "capture of heap.capture");
  if (c->reader) forget_lost_reader(L, index, c);
  return c;
}

static hl_capture *check_capture(lua_State *L, int index) {
  hl_capture *c = to_capture(L, index);
  luaL_argcheck(L, !c->closed && c->reader && !c->reader->closed, index, "the capture is closed");
  return c;
}

/* ==== Analyses ======================================================================= */

lh_snapshot *hl_analysed(lua_State *L, hl_task *t, hl_scope scope) {
  hl_capture *c = t->capture;
  lh_snapshot **snapshot = &c->reader->snapshot;
  lh_error error;
  if (scope == HL_OTHERS && c->caller.function == LH_NO_OBJECT) scope = HL_WHOLE;
  if (!t->is_fresh && scope == HL_WHOLE) return hr_analysed(L, c->reader);
  if (!t->is_fresh) snapshot = &c->others;
  if (!*snapshot) {
    hr_check(L, lh_open_memory(snapshot, c->bytes, c->size, "heap.capture", &error), &error);
  }
  if (t->is_fresh ? t->scope != scope : !c->others_analysed) {
    hr_check(L, hl_analyse(*snapshot, scope, &error), &error);
    t->scope = scope;
    c->others_analysed = !t->is_fresh;
  }
  return *snapshot;
}

lh_snapshot *hl_opened(const hl_task *t) {
  return t->capture->reader->snapshot;
}

/* ==== Questions ====================================================================== */

static bool is_fresh(lua_State *L) {
  return lua_toboolean(L, lua_upvalueindex(1));
}

int hl_argument(lua_State *L, int i) {
  return is_fresh(L) ? i : i + 1;
}

int hl_push_failure(lua_State *L, const char *message) {
  lua_pushnil(L);
  lua_pushstring(L, message);
  return 2;
}

/* Index 1: the task; index 2: the capture. */
static int answer_task(lua_State *L) {
  hl_task *t = lua_touserdata(L, 1);
  if (!t->capture->reader) open_capture(L, t->capture);
  t->capture->reader->holds++;
  t->holds_reader = true;
  (void)lua_getiuservalue(L, 2, 1);
  lua_replace(L, 2);
  lua_remove(L, 1);
  return t->body(L, t);
}

/* Runs the body with the capture that is at index 1. */
static int run_task(lua_State *L, hl_task *t) {
  hl_capture *c = t->capture;
  int n = lua_gettop(L);
  lua_pushcfunction(L, answer_task);
  lua_pushlightuserdata(L, t);
  for (int i = 1; i <= n; i++) lua_pushvalue(L, i);
  c->holds++;
  int status = lua_pcall(L, n + 1, LUA_MULTRET, 0);
  c->holds--;
  if (t->holds_reader) hr_unhold(c->reader);
  if (t->is_fresh && c->reader) hr_end(c->reader);
  c->closed = c->closed || t->is_fresh;
  close_if_unused(L, c);
  if (status != LUA_OK) lua_error(L);
  return lua_gettop(L) - n;
}

int hl_ask(lua_State *L, hl_task *t, hl_body body) {
  t->body = body;
  t->is_fresh = is_fresh(L);
  luaL_checkstack(L, lua_gettop(L) + 5, "too many arguments");
  if (t->is_fresh) {
    t->capture = push_capture(L);
    lua_insert(L, 1);
  } else {
    t->capture = check_capture(L, 1);
  }
  return run_task(L, t);
}

/* ==== Captures that last ============================================================= */

static int do_nothing(lua_State *L, hl_task *t) {
  (void)L;
  (void)t;
  return 0;
}

/* capture() --> capture */
static int capture(lua_State *L) {
  hl_task t = {.body = do_nothing};
  lua_settop(L, 0);
  t.capture = push_capture(L);
  (void)run_task(L, &t);
  lua_settop(L, 1);
  return 1;
}

/* close() */
static int end_capture(lua_State *L) {
  close_capture(L, to_capture(L, 1));
  return 0;
}

/* save(path) --> bytes | nil, message, errno. The mark stays, for comparisons with this file. */
static int save(lua_State *L) {
  hl_capture *c = check_capture(L, 1);
  const char *path = hl_check_path(L, 2);
  lh_error error;
  if (lh_save(c->bytes, c->size, path, &error) < 0) return hl_fail(L, &error);
  c->saved = true;
  lua_pushinteger(L, (lua_Integer)c->size);
  return 1;
}

void hl_to_reader(lua_State *L, int index) {
  (void)check_capture(L, index);
  lua_getiuservalue(L, index, 1);
  hr_set_snapshot_kind(L, lua_gettop(L));
  lua_replace(L, index);
}

/* Calls heap.reader's method in upvalue 1 with the snapshot in place of the capture. */
static int call_reader(lua_State *L) {
  (void)check_capture(L, 1);
  for (int i = 1; i <= lua_gettop(L); i++) /* c:diff(a, b) */
    if (lh_test_userdata(L, i, &capture_key)) hl_to_reader(L, i);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* Upvalue 1 has the methods of captures; heap.reader's snapshot (`reader`) has all other keys. */
static int index_capture(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_gettable(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  hl_to_reader(L, 1);
  bool is_itself = lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "reader") == 0;
  lua_settop(L, is_itself ? 1 : 2);
  if (is_itself) return 1;
  lua_gettable(L, 1);
  if (lua_isfunction(L, -1)) lua_pushcclosure(L, call_reader, 1);
  return 1;
}

/* ==== The module ===================================================================== */

static const luaL_Reg questions[] = {HL_QUESTIONS(HL_REGISTER){NULL, NULL}};

/* __tostring: as for the snapshot of heap.reader. */
static int capture_text(lua_State *L) {
  hl_capture *c = to_capture(L, 1);
  if (c->closed || !c->reader) {
    lua_pushliteral(L, "capture, closed");
    return 1;
  }
  lua_getiuservalue(L, 1, 1);
  hr_set_snapshot_kind(L, lua_gettop(L));
  luaL_tolstring(L, -1, NULL);
  return 1;
}

static void register_captures(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"object", hl_object}, {"save", save}, {"close", end_capture}, {NULL, NULL}};
  static const luaL_Reg events[] = {
      {"__gc", end_capture}, {"__close", end_capture}, {"__tostring", capture_text}, {NULL, NULL}};
  lua_createtable(L, 0, 6);
  lua_createtable(L, 0, 16);
  lua_pushboolean(L, 0);
  luaL_setfuncs(L, questions, 1);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, index_capture, 1);
  lua_setfield(L, -2, "__index");
  luaL_setfuncs(L, events, 0);
  hr_name_kind(L, capture_kind);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &capture_key);
}

void hl_register(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"capture", capture}, {"diff", hl_diff}, {"show", hl_show}, {NULL, NULL}};
  register_captures(L);
  hl_register_rows(L);
  lua_pushboolean(L, 1);
  luaL_setfuncs(L, questions, 1);
  luaL_setfuncs(L, functions, 0);
}
