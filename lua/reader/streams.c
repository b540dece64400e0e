/*
** streams.c - Iterators for `for`: objects of a snapshot, edges of an object, entries of a table.
** A stream is a userdata that returns the next item when called. It makes no list.
*/
#include <string.h>

#include "handles.h"

typedef enum subject { OBJECTS, EDGES, ENTRIES } subject;

typedef struct stream {
  const char *kind;
  subject what;
  hr_snapshot *of;   /* the first user value; the second is the class of OBJECTS, nil: any */
  uint32_t analyses; /* the snapshot's value when the stream began */
  lh_id next;        /* OBJECTS: the next id to look at */
  lh_edges it;
  uint32_t type_mask;
  bool garbage;
  uint32_t since, until; /* epochs; `until` is excluded */
} stream;

static stream *push_stream(lua_State *L, subject what) {
  stream *s = hr_new(L, hr_stream_kind, sizeof *s, 2);
  s->what = what;
  s->of = hr_check_is(L, 1, hr_snapshot_kind);
  s->analyses = s->of->analyses;
  s->next = 1;
  s->until = UINT32_MAX;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  hr_set_kind(L, hr_stream_kind);
  return s;
}

/* ==== What comes next ================================================================ */

/* `class_name` NULL: any class. */
static bool passes(const stream *s, const lh_snapshot *snapshot, const char *class_name, lh_id id) {
  uint32_t class_index = lh_class_of(snapshot, id);
  if (class_index == UINT32_MAX || lh_is_reachable(snapshot, id) == s->garbage) return false;
  if (s->type_mask && !(s->type_mask & 1u << lh_type_of(snapshot, id))) return false;
  if (class_name && strcmp(lh_class_at(snapshot, class_index)->name, class_name) != 0) return false;
  if (s->since == 0 && s->until == UINT32_MAX) return true;
  uint32_t epoch = lh_epoch(snapshot, id);
  return epoch >= s->since && epoch < s->until;
}

static int next_object(lua_State *L, stream *s, const lh_snapshot *snapshot) {
  (void)lua_getiuservalue(L, 1, 2);
  const char *class_name = lua_tostring(L, -1);
  while (s->next <= lh_object_count(snapshot)) {
    lh_id id = s->next++;
    if (!passes(s, snapshot, class_name, id)) continue;
    (void)lua_getiuservalue(L, 1, 1);
    hr_push_object(L, lua_gettop(L), id);
    return 1;
  }
  return 0;
}

static int next_edge(lua_State *L, stream *s, const lh_snapshot *snapshot) {
  lh_edge edge;
  do {
    if (!lh_edges_next(&s->it, &edge)) return 0;
  } while (lh_is_own(snapshot, edge.target));
  (void)lua_getiuservalue(L, 1, 1);
  hr_push_edge(L, lua_gettop(L), &edge);
  return 1;
}

static int next_entry(lua_State *L, stream *s) {
  lh_value key, value;
  int snapshot;
  if (!lh_entries_next(&s->it, &key, &value)) return 0;
  (void)lua_getiuservalue(L, 1, 1);
  snapshot = lua_gettop(L);
  hr_push_value(L, snapshot, key);
  hr_push_value(L, snapshot, value);
  return 2;
}

static int next(lua_State *L) {
  stream *s = hr_check_is(L, 1, hr_stream_kind);
  hr_check_kept(L, 1, s->of);
  const lh_snapshot *snapshot = s->what == OBJECTS ? hr_analysed(L, s->of) : hr_opened(L, s->of);
  if (s->analyses != s->of->analyses)
    return luaL_error(L, "what the snapshot ignores was changed meanwhile: begin again");
  switch (s->what) {
    case OBJECTS: return next_object(L, s, snapshot);
    case EDGES: return next_edge(L, s, snapshot);
    default: return next_entry(L, s);
  }
}

/* copy() --> a stream at the same position; __tostring uses it so as not to move the stream */
static int copy(lua_State *L) {
  const stream *s = hr_check_is(L, 1, hr_stream_kind);
  hr_check_kept(L, 1, s->of);
  (void)lua_getiuservalue(L, 1, 1);
  lua_insert(L, 1);
  stream *other = push_stream(L, s->what);
  *other = *s;
  (void)lua_getiuservalue(L, 2, 2);
  lua_setiuservalue(L, -2, 2);
  return 1;
}

static int get_kind(lua_State *L) {
  static const char *const names[] = {"objects", "edges", "entries"};
  const stream *s = hr_check_is(L, 1, hr_stream_kind);
  lua_pushstring(L, names[s->what]);
  return 1;
}

/* ==== Questions ====================================================================== */

typedef struct filter {
  const lh_snapshot *snapshot;
  const char *class_name;
  bool garbage;
  uint32_t type_mask, since, until;
} filter;

/* The epoch of the mark on top: a name (the latest of several), or a number as in marks(). */
static uint32_t epoch_of(lua_State *L, const lh_snapshot *snapshot, const char *option) {
  uint32_t n = lh_mark_count(snapshot);
  size_t length;
  if (lua_isinteger(L, -1)) {
    lua_Integer number = lua_tointegerx(L, -1, NULL);
    if (number < 1 || number > n) luaL_error(L, "'%s': there are %d marks", option, (int)n);
    return (uint32_t)number;
  }
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : NULL;
  for (; name && n > 0; n--) {
    const lh_mark_info *mark = lh_mark_at(snapshot, n - 1);
    if (mark->name_length == length && memcmp(mark->name, name, length) == 0) return n;
  }
  luaL_error(L, "'%s': there is no such mark in the snapshot; marks() lists those that there are",
             option);
  return 0;
}

static bool read_since(lua_State *L, void *out) {
  filter *f = out;
  f->since = epoch_of(L, f->snapshot, "since");
  return true;
}

static bool read_until(lua_State *L, void *out) {
  filter *f = out;
  f->until = epoch_of(L, f->snapshot, "until");
  return true;
}

int hr_each_object(lua_State *L) {
  static const hl_option options[] = {{"class", HL_TEXT, .field = offsetof(filter, class_name),
                                       .need = "must be the name of a class"},
                                      {"type", HL_TYPES, .field = offsetof(filter, type_mask)},
                                      {"garbage", HL_FLAG, .field = offsetof(filter, garbage)},
                                      {"since", HL_OTHER, .read = read_since},
                                      {"until", HL_OTHER, .read = read_until},
                                      {0}};
  filter f = {.snapshot = hr_analysed(L, hr_check_snapshot(L, 1)), .until = UINT32_MAX};
  hl_read_options(L, 2, options, &f);
  stream *s = push_stream(L, OBJECTS);
  s->garbage = f.garbage;
  s->type_mask = f.type_mask;
  s->since = f.since;
  s->until = f.until;
  lua_pushstring(L, f.class_name);
  lua_setiuservalue(L, -2, 2);
  return 1;
}

int hr_each_edge(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  stream *s = push_stream(L, EDGES);
  lh_edges_begin(hr_analysed(L, of), id, &s->it); /* the analysis finds the ephemerons */
  return 1;
}

int hr_each_entry(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  if (lh_type_of(of->snapshot, id) != LH_TYPE_TABLE)
    return luaL_error(L, "only tables have entries, and this is a %s",
                      lh_type_name(lh_type_of(of->snapshot, id)));
  stream *s = push_stream(L, ENTRIES);
  lh_entries_begin(hr_opened(L, of), id, &s->it);
  return 1;
}

/* Raises an error for a number: ipairs(stream) would silently find nothing. */
static int no_list(lua_State *L) {
  if (lua_type(L, 2) == LUA_TNUMBER)
    return luaL_error(L, "this is an iterator, no list: for x in snapshot:objects() do ... end");
  return 0;
}

/* ==================================================================================== */

void hr_open_streams(lua_State *L) {
  static const luaL_Reg methods[] = {{"copy", copy}, {NULL, NULL}};
  static const luaL_Reg fields[] = {{"kind", get_kind}, {NULL, NULL}};
  hr_new_kind(L, hr_stream_kind);
  lua_pushcfunction(L, next);
  lua_setfield(L, -2, "__call");
  hr_set_index(L, methods, fields, NULL, no_list);
  hr_keep_kind(L, hr_stream_kind);
  lua_pop(L, 1);
}
