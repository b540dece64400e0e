/*
** edges.c - edges; lists of edges and of objects; iterators over objects, edges and entries.
** Paths and lists make each edge on demand, and an edge its fields: a path of a million steps takes
** 56 MB outside of the Lua heap, and hardly anything in it.
*/
#include "handles.h"

/* ==== One edge ======================================================================= */

typedef struct edge_value {
  const char *kind;
  hr_snapshot *of; /* its first user value */
  lh_edge edge;
} edge_value;

void hr_push_edge(lua_State *L, int index, const lh_edge *what) {
  edge_value *e = hr_new_of(L, index, hr_edge_kind, sizeof *e, 1);
  e->edge = *what;
}

const lh_edge *hr_test_edge(lua_State *L, int index, hr_snapshot **of) {
  if (!hr_test(L, index, hr_edge_kind)) return NULL;
  const edge_value *e = hr_check_of(L, index, hr_edge_kind);
  *of = e->of;
  return &e->edge;
}

static int push_edge_fact(lua_State *L, const lh_column *column) {
  const edge_value *e = hr_check_of(L, 1, hr_edge_kind);
  lh_fact_row fact_row;
  fact_row.edge = e->edge;
  return hr_return_fact(L, e->of, column, &fact_row);
}

/* ==== Lists of edges and of objects ================================================== */

static void free_path(void *content) {
  lh_path *path = content;
  if (path->steps) lh_paths_free(path, 1);
  *path = (lh_path){0};
}

lh_path *hr_hold_path(lua_State *L, int index) {
  return hr_hold(L, index, sizeof(lh_path), free_path);
}

static void free_paths(void *content) {
  hr_found_paths *found = content;
  lh_paths_free(found->list, found->n);
  if (found->list != &found->one) lh_free(found->list);
}

const hr_found_paths *hr_hold_paths(lua_State *L, int index, lh_snapshot *snapshot, lh_id id,
                                    size_t k) {
  hr_found_paths *found = hr_hold(L, index, sizeof *found, free_paths);
  lh_error error;
  int code = LH_ENOTFOUND;
  if (id != LH_ROOT && k == 1) {
    code = lh_shortest_path(snapshot, id, &found->one, &error);
    found->list = &found->one;
    found->n = code == LH_OK;
  } else if (id != LH_ROOT) {
    code = lh_shortest_paths(snapshot, id, k, &found->list, &found->n, &error);
  }
  if (hr_filled(L, -1, code) != LH_ENOTFOUND) hr_check(L, code, &error);
  if (code != LH_OK) *found = (hr_found_paths){0};
  return found;
}

typedef struct list {
  const char *kind;
  hr_snapshot *of; /* its first user value; of objects the second may have further fields */
  size_t n;
  lh_path path; /* the edges */
  lh_id ids[];  /* or the objects */
} list;

/* Takes ownership of the steps, and clears *path. */
static void push_path(lua_State *L, int index, const char *kind, lh_path *path) {
  list *l = hr_new_of(L, index, kind, sizeof *l, 1);
  l->path = *path;
  l->n = path->n_steps;
  *path = (lh_path){0};
}

void hr_push_objects(lua_State *L, const lh_id *ids, size_t n, int about) {
  list *l = hr_new_of(L, 1, hr_objects_kind, sizeof *l + n * sizeof *ids, 2);
  l->n = n;
  if (n > 0) memcpy(l->ids, ids, n * sizeof *ids);
  if (about == 0) return;
  lua_pushvalue(L, about);
  lua_setiuservalue(L, -2, 2);
}

void hr_push_paths(lua_State *L, const char *kind, lh_path *paths, size_t n, lh_id object) {
  hr_push_list(L, kind, n);
  for (size_t i = 0; i < n; i++) {
    push_path(L, 1, hr_path_kind, &paths[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_set_object(L, "object", object);
}

static list *check_list(lua_State *L) {
  list *l = hr_test(L, 1, hr_referrers_kind);
  if (!l) l = hr_test(L, 1, hr_objects_kind);
  return l ? l : hr_check_is(L, 1, hr_path_kind);
}

static int count_list(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_list(L)->n);
  return 1;
}

static int collect_list(lua_State *L) {
  list *l = check_list(L);
  free_path(&l->path);
  l->n = 0;
  return 0;
}

static int push_text(lua_State *L, const list *l, bool folded) {
  hr_push_text(L, l->of, lh_path_text(hr_analysed(L, l->of), &l->path, folded));
  return 1;
}

/* __tostring of a path: its text, and its steps as a table. */
static int print_path(lua_State *L) {
  const list *l = hr_check_of(L, 1, hr_path_kind);
  const lh_request request = {.path = &l->path};
  lh_report report;
  lh_error error;
  (void)push_text(L, l, l->path.n_steps > LH_LONG_PATH);
  lua_pushliteral(L, "\n\n");
  lh_snapshot *snapshot = hr_analysed(L, l->of);
  hr_check(L, lh_ask(&report, lh_find_question("steps"), snapshot, &request, &error), &error);
  char *text = lh_report_text(&report, "");
  lh_report_free(&report);
  hr_push_text(L, l->of, text);
  lua_concat(L, 3);
  return 1;
}

/* list[i]; a path also has `text` and the folded `held_by`. */
static int list_at(lua_State *L) {
  const list *l = check_list(L);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  bool is_path = l->kind == hr_path_kind;
  int is_integer;
  lua_Integer i = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer && lua_getiuservalue(L, 1, 2) == LUA_TTABLE) {
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    return 1;
  }
  (void)hr_check_of(L, 1, l->kind);
  if (is_path && strcmp(key, "text") == 0) return push_text(L, l, false);
  if (is_path && strcmp(key, "held_by") == 0) return push_text(L, l, true);
  bool is_item = is_integer && i >= 1 && (lua_Unsigned)i <= l->n;
  if (!is_item && strcmp(key, "snapshot") != 0) return 0;
  (void)lua_getiuservalue(L, 1, 1);
  if (is_item && l->kind == hr_objects_kind)
    hr_push_object(L, lua_gettop(L), l->ids[i - 1]);
  else if (is_item)
    hr_push_edge(L, lua_gettop(L), &l->path.steps[i - 1]);
  return 1;
}

/* ==== Questions ====================================================================== */

int hr_method_path(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  const hr_found_paths *found = hr_hold_paths(L, 1, snapshot, id, 1);
  int hold = lua_gettop(L);
  if (found->n > 0)
    hr_push_text(L, of, lh_path_text(snapshot, found->list, false));
  else
    lua_pushnil(L);
  hr_release(L, hold);
  return 1;
}

int hr_method_paths(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lua_Integer k = luaL_optinteger(L, 3, 1);
  luaL_argcheck(L, k > 0, 3, "the number of paths must be 1 or more");
  const hr_found_paths *found = hr_hold_paths(L, 1, snapshot, id, (size_t)k);
  int hold = lua_gettop(L);
  hr_push_paths(L, "heap.paths", found->list, found->n, id);
  hr_set_integer(L, "asked", (uint64_t)k);
  hr_release(L, hold);
  return 1;
}

int hr_method_referrers(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lh_path *path = hr_hold_path(L, 1);
  lh_error error;
  int code = lh_referrers(snapshot, id, &path->steps, &path->n_steps, &error);
  hr_check(L, hr_filled(L, -1, code), &error);
  push_path(L, 1, hr_referrers_kind, path);
  hr_release(L, -2);
  return 1;
}

/* ==== Iterators ====================================================================== */

/* A stream is a userdata that returns the next item when it is called. It makes no list. */
typedef enum subject { OBJECTS, EDGES, ENTRIES } subject;

typedef struct stream {
  const char *kind;
  hr_snapshot *of; /* the first user value; the second is the class of OBJECTS, nil: any */
  subject what;
  uint32_t analyses; /* the snapshot's value when the stream began */
  lh_id next;        /* OBJECTS: the next id to look at */
  lh_edges it;
  hr_filter filter;
} stream;

static stream *push_stream(lua_State *L, subject what) {
  stream *s = hr_new_of(L, 1, hr_stream_kind, sizeof *s, 2);
  s->what = what;
  s->analyses = s->of->analyses;
  s->next = 1;
  return s;
}

/* ==== What comes next ================================================================ */

bool hr_passes(const hr_filter *filter, const lh_snapshot *snapshot, lh_id id) {
  uint32_t class_index = lh_class_of(snapshot, id);
  if (class_index == UINT32_MAX || lh_is_reachable(snapshot, id) == filter->garbage) return false;
  const lh_class *class = lh_class_at(snapshot, class_index);
  if (filter->type_mask && !(filter->type_mask >> class->type & 1)) return false;
  if (filter->class_name && strcmp(class->name, filter->class_name) != 0) return false;
  if (filter->since == 0 && filter->until == 0) return true;
  uint32_t epoch = lh_epoch(snapshot, id);
  return epoch >= filter->since && (filter->until == 0 || epoch < filter->until);
}

static int next_object(lua_State *L, stream *s, const lh_snapshot *snapshot) {
  (void)lua_getiuservalue(L, 1, 2);
  s->filter.class_name = lua_tostring(L, -1);
  while (s->next <= lh_object_count(snapshot)) {
    lh_id id = s->next++;
    if (!hr_passes(&s->filter, snapshot, id)) continue;
    (void)lua_getiuservalue(L, 1, 1);
    hr_push_object(L, lua_gettop(L), id);
    return 1;
  }
  return 0;
}

static int push_next_edge(lua_State *L, stream *s, const lh_snapshot *snapshot) {
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
  stream *s = hr_check_of(L, 1, hr_stream_kind);
  const lh_snapshot *snapshot = s->what == OBJECTS ? hr_analysed(L, s->of) : hr_opened(L, s->of);
  if (s->analyses != s->of->analyses)
    return luaL_error(L, "ignore() was called on the snapshot during this loop: begin again");
  switch (s->what) {
    case OBJECTS: return next_object(L, s, snapshot);
    case EDGES: return push_next_edge(L, s, snapshot);
    default: return next_entry(L, s);
  }
}

/* copy() --> a stream at the same position; __tostring uses it so as not to move the stream */
static int copy(lua_State *L) {
  const stream *s = hr_check_of(L, 1, hr_stream_kind);
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

typedef struct filter_options {
  hr_filter filter;
  const lh_snapshot *snapshot;
} filter_options;

/* The epoch of the mark on top: a name (the latest of several), or a number as in marks(). */
static bool read_mark(lua_State *L, const hl_option *option, void *out) {
  const lh_snapshot *snapshot = ((filter_options *)out)->snapshot;
  uint32_t n = lh_mark_count(snapshot), *epoch = (uint32_t *)(void *)((char *)out + option->field);
  size_t length;
  if (lua_isinteger(L, -1)) {
    lua_Integer number = lua_tointegerx(L, -1, NULL);
    if (number < 1 || number > n) luaL_error(L, "'%s': there are %d marks", option->name, (int)n);
    *epoch = (uint32_t)number;
    return true;
  }
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : NULL;
  for (*epoch = n; name && *epoch > 0; --*epoch) {
    const lh_mark_info *mark = lh_mark_at(snapshot, *epoch - 1);
    if (mark->name_length == length && memcmp(mark->name, name, length) == 0) return true;
  }
  return false;
}

int hr_method_objects(lua_State *L) {
#define FIELD(its) .field = offsetof(filter_options, filter.its)
#define MARK .read = read_mark, .need = "names no such mark of the snapshot: marks() lists them"
  static const hl_option options[] = {
      {"class", HL_TEXT, FIELD(class_name), .need = "must be the name of a class"},
      {"type", HL_TYPES, FIELD(type_mask)},
      {"garbage", HL_FLAG, FIELD(garbage)},
      {"since", HL_OTHER, FIELD(since), MARK},
      {"until", HL_OTHER, FIELD(until), MARK},
      {0}};
#undef FIELD
#undef MARK
  filter_options o = {.snapshot = hr_analysed(L, hr_check_snapshot(L, 1))};
  hl_read_options(L, 2, options, &o);
  stream *s = push_stream(L, OBJECTS);
  s->filter = o.filter;
  lua_pushstring(L, o.filter.class_name);
  lua_setiuservalue(L, -2, 2);
  return 1;
}

int hr_method_edges(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  stream *s = push_stream(L, EDGES);
  lh_edges_begin(hr_analysed(L, of), id, &s->it); /* the analysis finds the ephemerons */
  return 1;
}

int hr_method_entries(lua_State *L) {
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

void hr_open_edges(lua_State *L) {
  static const luaL_Reg events[] = {
      {"__len", count_list}, {"__index", list_at}, {"__gc", collect_list}, {NULL, NULL}};
  static const luaL_Reg none[] = {{NULL, NULL}};
  static const luaL_Reg methods[] = {{"copy", copy}, {NULL, NULL}};
  static const luaL_Reg fields[] = {{"kind", get_kind}, {NULL, NULL}};
  static const hr_facts facts = {&lh_edge_facts, push_edge_fact};
  hr_new_kind(L, hr_edge_kind);
  hr_set_index(L, none, none, &facts, NULL);
  hr_keep_kind(L, hr_edge_kind);
  lua_pop(L, 1);
  hr_push_kind(L, hr_objects_kind, events);
  hr_push_kind(L, hr_referrers_kind, events);
  hr_push_kind(L, hr_path_kind, events);
  lua_pushcfunction(L, print_path);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 3);
  hr_new_kind(L, hr_stream_kind);
  lua_pushcfunction(L, next);
  lua_setfield(L, -2, "__call");
  hr_set_index(L, methods, fields, NULL, no_list);
  hr_keep_kind(L, hr_stream_kind);
  lua_pop(L, 1);
}
