/*
** reader.c - The module heap.reader in heap.so: reads snapshots in Lua (heap/reader_meta.lua).
** It does not use the heap of its own state, so it works in any Lua 5.4.
*/
#include <string.h>

#include "handles.h"
#include "host.h"

/* ==== Lifetime of a snapshot ========================================================= */

static void close_if_unused(hr_snapshot *of) {
  if (!of->closed || of->holds > 0) return;
  lh_close(of->snapshot);
  lh_free(of->scratch);
  lh_report_free(&of->facts);
  if (of->release) of->release(of->data);
  *of = (hr_snapshot){.kind = hr_snapshot_kind, .closed = true};
}

void hr_close(hr_snapshot *of) {
  of->closed = true;
  close_if_unused(of);
}

void hr_unhold(hr_snapshot *of) {
  if (of->holds > 0) of->holds--;
  close_if_unused(of);
}

void hr_end(hr_snapshot *of) {
  of->holds = 0;
  hr_close(of);
}

static int close_snapshot(lua_State *L) {
  hr_close(hr_check_is(L, 1, hr_snapshot_kind));
  return 0;
}

hr_snapshot *hr_check_snapshot(lua_State *L, int index) {
  hr_snapshot *of = hr_check_is(L, index, hr_snapshot_kind);
  luaL_argcheck(L, of->snapshot && !of->closed, index, "the snapshot is closed");
  return of;
}

void hr_check_kept(lua_State *L, int index, const hr_snapshot *of) {
  (void)lua_getiuservalue(L, index, 1);
  if (lua_touserdata(L, -1) != of) luaL_error(L, "the snapshot was taken away from this value");
  lua_pop(L, 1);
}

lh_snapshot *hr_opened(lua_State *L, const hr_snapshot *of) {
  if (!of->snapshot || of->closed) luaL_error(L, "the snapshot is closed");
  return of->snapshot;
}

lh_snapshot *hr_analysed(lua_State *L, hr_snapshot *of) {
  lh_snapshot *snapshot = hr_opened(L, of);
  lh_error error;
  hr_check(L, of->analyse ? of->analyse(snapshot, &error) : lh_analyse(snapshot, &error), &error);
  of->analyse = NULL;
  hr_check(L, lh_classify(snapshot, &error), &error);
  return snapshot;
}

typedef struct hold {
  const char *kind;
  hr_snapshot *of; /* the user value */
  void (*release)(void *content);
  uint64_t content[];
} hold;

static const char hold_kind[] = "heap.hold";

static void let_go(hold *h) {
  hr_snapshot *of = h->of;
  if (h->release) h->release(h->content);
  h->release = NULL;
  h->of = NULL;
  if (of) hr_unhold(of);
}

static int collect_hold(lua_State *L) {
  let_go(hr_check_is(L, 1, hold_kind));
  return 0;
}

void *hr_hold(lua_State *L, int index, size_t size, void (*release)(void *content)) {
  hold *h = hr_new(L, hold_kind, sizeof *h + size, 1);
  if (!hr_has_kind(L, hold_kind)) {
    hr_new_kind(L, hold_kind);
    lua_pushcfunction(L, collect_hold);
    lua_setfield(L, -2, "__gc");
    hr_keep_kind(L, hold_kind);
  }
  lua_setmetatable(L, -2);
  h->release = release;
  if (index == 0) return h->content;
  hr_snapshot *of = hr_check_snapshot(L, index);
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  h->of = of;
  of->holds++;
  return h->content;
}

void hr_let_go(lua_State *L, int index) {
  let_go(lua_touserdata(L, index));
}

int hr_fail(lua_State *L, const lh_error *error) {
  static const char *const words[] = {"ok",      "argument", "memory",  "io",
                                      "foreign", "version",  "damaged", "host",
                                      "absent",  "too much", "busy"};
  for (int i = 1; i <= lua_gettop(L); i++) {
    hold *h = hr_test(L, i, hold_kind);
    if (h) let_go(h);
  }
  lua_pushnil(L);
  lua_pushstring(L, error->message);
  lua_pushstring(L, words[-error->code]);
  return 3;
}

int hr_filled(lua_State *L, int index, int code) {
  hold *h = lua_touserdata(L, index);
  if (code != LH_OK) h->release = NULL;
  return code;
}

void hr_free_pointer(void *content) {
  lh_free(*(void **)content);
}

void hr_push_text(lua_State *L, hr_snapshot *of, char *text) {
  lh_free(of->scratch);
  of->scratch = text;
  if (!text) luaL_error(L, "not enough memory");
  lua_pushstring(L, text);
  lh_free(of->scratch);
  of->scratch = NULL;
}

/* ==== Methods and fields of a snapshot =============================================== */

static int info(lua_State *L) {
  return hr_answer(L, "info", &(lh_request){0});
}

static int file(lua_State *L) {
  (void)hr_check_is(L, 1, hr_snapshot_kind);
  (void)lua_getiuservalue(L, 1, 1);
  return 1;
}

static int root(lua_State *L) {
  (void)hr_check_snapshot(L, 1);
  hr_push_object(L, 1, LH_ROOT);
  return 1;
}

static int closed(lua_State *L) {
  const hr_snapshot *of = hr_check_is(L, 1, hr_snapshot_kind);
  lua_pushboolean(L, of->closed || !of->snapshot);
  return 1;
}

static int find(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_error error;
  lh_id id;
  if (hr_find_object(L, 2, of, &id, &error) != LH_OK) return hr_fail(L, &error);
  hr_push_object(L, 1, id);
  return 1;
}

static int verify(lua_State *L) {
  const hr_snapshot *of = hr_check_snapshot(L, 1);
  uint64_t edges;
  lh_error error;
  if (lh_verify(of->snapshot, &edges, &error) != LH_OK) return hr_fail(L, &error);
  lua_pushinteger(L, (lua_Integer)edges);
  return 1;
}

static int count(lua_State *L) {
  lua_pushinteger(L, lh_object_count(hr_check_snapshot(L, 1)->snapshot));
  return 1;
}

/* Questions of the library as methods: snapshot:modules(n). */
#define METHOD(question)              \
  static int question(lua_State *L) { \
    return hr_report(L, #question);   \
  }
METHOD(growing)
METHOD(leaks)
METHOD(modules)
METHOD(sites)
METHOD(suspects)
METHOD(threads)
METHOD(waste)
#undef METHOD

static int class_named(lua_State *L) {
  return hr_answer(L, "class", &(lh_request){.name = luaL_checkstring(L, 2)});
}

static void make_kind(lua_State *L) {
  static const luaL_Reg methods[] = {{"classes", hr_classes},
                                     {"class", class_named},
                                     {"close", close_snapshot},
                                     {"growing", growing},
                                     {"ignore", hr_ignore},
                                     {"independent", hr_independent},
                                     {"waste", waste},
                                     {"ways", hr_ways},
                                     {"what_if", hr_what_if},
                                     {"diff", hr_diff},
                                     {"dominators", hr_dominators},
                                     {"edges", hr_each_edge},
                                     {"entries", hr_each_entry},
                                     {"epochs", hr_epochs},
                                     {"frames", hr_frames},
                                     {"leaks", leaks},
                                     {"marks", hr_marks},
                                     {"modules", modules},
                                     {"object", find},
                                     {"objects", hr_each_object},
                                     {"objects_with", hr_objects_with},
                                     {"path", hr_path},
                                     {"paths", hr_paths},
                                     {"referrers", hr_referrers},
                                     {"retained", hr_retained},
                                     {"since", hr_since},
                                     {"sites", sites},
                                     {"strings", hr_strings},
                                     {"suspects", suspects},
                                     {"threads", threads},
                                     {"top", hr_top},
                                     {"under", hr_under},
                                     {"verify", verify},
                                     {NULL, NULL}};
  static const luaL_Reg fields[] = {
      {"info", info}, {"file", file}, {"root", root}, {"closed", closed}, {"tracking", hr_tracking},
      {NULL, NULL}};
  static const luaL_Reg events[] = {
      {"__gc", close_snapshot}, {"__close", close_snapshot}, {"__len", count}, {NULL, NULL}};
  hr_open_objects(L);
  hr_open_edges(L);
  hr_open_streams(L);
  hr_new_kind(L, hr_snapshot_kind);
  luaL_setfuncs(L, events, 0);
  hr_set_index(L, methods, fields, NULL, NULL);
  hr_keep_kind(L, hr_snapshot_kind);
}

hr_snapshot *hr_new_snapshot(lua_State *L) {
  return hr_new(L, hr_snapshot_kind, sizeof(hr_snapshot), 2);
}

void hr_set_snapshot_kind(lua_State *L, int index) {
  (void)hr_check_is(L, index, hr_snapshot_kind);
  if (!hr_has_kind(L, hr_snapshot_kind)) make_kind(L);
  lua_setmetatable(L, index);
}

/* ==== The module ===================================================================== */

int hr_open_file(lua_State *L, int index, lh_error *error) {
  size_t length;
  const char *path = luaL_checklstring(L, index, &length);
  hr_snapshot *of;
  luaL_argcheck(L, strlen(path) == length, index, "the path contains a zero byte");
  of = hr_new_snapshot(L);
  hr_set_snapshot_kind(L, lua_gettop(L));
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  return lh_open(&of->snapshot, path, error);
}

static int open_file(lua_State *L) {
  lh_error error;
  return hr_open_file(L, 1, &error) == LH_OK ? 1 : hr_fail(L, &error);
}

/* escape(text) --> text that is safe for a terminal */
static int escape(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  char **escaped = hr_hold(L, 0, sizeof *escaped, hr_free_pointer);
  *escaped = lh_escaped(text, length);
  if (!*escaped) return luaL_error(L, "not enough memory");
  lua_pushstring(L, *escaped);
  hr_let_go(L, -2);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_heap_reader(lua_State *L);

int luaopen_heap_reader(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", open_file},
                                       {"escape", escape},
                                       {"growth", hr_growth},
                                       {"compare", hr_compare},
                                       {"owners", hr_owners},
                                       {"profile", hr_profile},
                                       {"compare_profiles", hr_compare_profiles},
                                       {NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  if (!lua_newuserdatauv) return luaL_error(L, "heap.reader needs Lua 5.4");
  lua_createtable(L, 0, 8);
  luaL_setfuncs(L, functions, 0);
  lua_pushliteral(L, LH_VERSION);
  lua_setfield(L, -2, "_VERSION");
  return 1;
}
