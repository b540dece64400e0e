/*
** values.c - questions that return objects as Lua values: one, those of a class, or all (live.h).
** lib/take/values.c says how the library knows that a value is still the same object.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

/* ==== Objects as values ============================================================== */

static const char weak_key = 0; /* registry[&weak_key] is {__mode = "v"} */
static const char row_kind[] = "heap.row";

static const char not_there[] =
    "it is not in the capture: it was made later, or given a finalizer since";

void hl_register_rows(lua_State *L) {
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  hr_name_kind(L, row_kind);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &weak_key);
}

void hl_push_row(lua_State *L, int n_array, int n_fields) {
  lua_createtable(L, n_array, n_fields);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &weak_key);
  if (!hr_is_kind(L, row_kind)) luaL_error(L, "'%s' is not in the registry", row_kind);
  lua_setmetatable(L, -2);
}

int hl_compare_ids(const void *a, const void *b) {
  lh_id x = *(const lh_id *)a, y = *(const lh_id *)b;
  return x < y ? -1 : x > y;
}

lh_id *hl_new_ids(lua_State *L, hl_task *t, size_t n) {
  free(t->ids);
  t->ids = malloc((n + 1) * sizeof *t->ids);
  t->n_ids = 0;
  if (!t->ids) luaL_error(L, "not enough memory");
  return t->ids;
}

void hl_push_values(lua_State *L, hl_task *t) {
  size_t n = 0;
  lh_error error;
  qsort(t->ids, t->n_ids, sizeof *t->ids, hl_compare_ids);
  for (size_t i = 0; i < t->n_ids; i++) {
    if (t->ids[i] != LH_ROOT && t->ids[i] != LH_NO_OBJECT && (n == 0 || t->ids[i] != t->ids[n - 1]))
      t->ids[n++] = t->ids[i];
  }
  t->n_ids = n;
  luaL_argcheck(L, n <= INT32_MAX, 1, "too many objects");
  lua_createtable(L, (int)n, 0);
  hr_check(L, lh_push_values(L, hl_opened(t), t->ids, n, lua_gettop(L), &error), &error);
}

void hl_set_value(lua_State *L, const hl_task *t, int values, lh_id id) {
  const lh_id *at = bsearch(&id, t->ids, t->n_ids, sizeof id, hl_compare_ids);
  if (!at) return;
  lua_rawgeti(L, values, at - t->ids + 1);
  lua_setfield(L, -2, "object");
}

void hl_set_object_fields(lua_State *L, const hl_task *t, lh_snapshot *s, lh_id id) {
  hr_set_facts(L, t->capture->reader, s, &lh_row_facts, &(lh_thing){.id = id});
}

/* ==== One object ===================================================================== */

/* Pushes the object as a value; false and nil: it is no value, or freed. A pass over the heap. */
static bool push_value(lua_State *L, const lh_snapshot *s, lh_id id) {
  lh_error error;
  lua_createtable(L, 1, 0);
  hr_check(L, lh_push_values(L, s, &id, 1, lua_gettop(L), &error), &error);
  bool is_there = lua_rawgeti(L, -1, 1) != LUA_TNIL;
  lua_remove(L, -2);
  return is_there;
}

/* When an older capture was taken, the value's address may have been another object's. */
int hl_find_value(lua_State *L, int index, const lh_snapshot *s, bool is_fresh, lh_id *id,
                  lh_error *error) {
  const char *why = NULL;
  *id = lh_find_value(L, s, index);
  if (*id != LH_NO_OBJECT && lh_is_own(s, *id)) {
    why = "it is luaheap's own, of which nothing is told";
  } else if (*id == LH_NO_OBJECT) {
    why = not_there;
  } else if (!is_fresh) {
    (void)push_value(L, s, *id);
    if (!lua_rawequal(L, -1, index)) why = not_there;
    lua_pop(L, 1);
  }
  if (!why) return LH_OK;
  *error = (lh_error){.code = LH_ENOTFOUND};
  (void)snprintf(error->message, sizeof error->message, "%s", why);
  return LH_ENOTFOUND;
}

static int find_in_capture(lua_State *L, int index, hr_snapshot *of, lh_id *id, lh_error *error) {
  return hl_find_value(L, index, of->snapshot, false, id, error);
}

static void push_of_capture(lua_State *L, const hr_snapshot *of, lh_id id) {
  (void)push_value(L, of->snapshot, id);
}

const hr_values hl_values = {find_in_capture, push_of_capture};

/* Index 2: its number, or an expression. */
static int object_body(lua_State *L, hl_task *t) {
  const lh_snapshot *s = hl_opened(t);
  lh_error error;
  lh_found found;
  if (lua_type(L, 2) == LUA_TSTRING) {
    int code = lh_find(hl_analysed(L, t, HL_WHOLE), lua_tostring(L, 2), &found, &error);
    if (code < 0) return hl_no(L, error.message);
    t->id = found.id;
  }
  if (t->id == LH_ROOT || t->id > lh_object_count(s))
    return hl_no(L, "the capture has no object of this number");
  if (push_value(L, s, t->id)) return 1;
  lua_pushfstring(L, "this %s is no value, is gone, or was given a finalizer since",
                  lh_type_name(lh_type_of(s, t->id)));
  return 2;
}

/* capture:object(number | expression) --> value | nil, message. heap.reader answers for a value. */
int hl_object(lua_State *L) {
  hl_task t = {.id = LH_ROOT};
  if (lua_type(L, 2) == LUA_TNUMBER) {
    lua_Integer number = luaL_checkinteger(L, 2);
    t.id = number > 0 && number < UINT32_MAX ? (lh_id)number : LH_ROOT;
  } else if (lua_type(L, 2) != LUA_TSTRING) {
    hl_to_reader(L, 1);
    lua_getfield(L, 1, "object");
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
  }
  return hl_ask(L, &t, object_body);
}

/* ==== Filters ======================================================================== */

/* Upvalues and prototypes are no values. */
static const uint32_t value_types = ~(1u << LH_TYPE_UPVALUE | 1u << LH_TYPE_PROTO);

/* Reads the filter at `index`: nothing, a class name, or {class = , type = }. The name stays on the
** stack, since a finalizer may change the table before the name is used. */
static void check_filter(lua_State *L, int index, hl_task *t) {
  static const char *const names[] = {"class", "type", NULL};
  t->type_mask = value_types;
  if (lua_isnoneornil(L, index)) return;
  if (lua_type(L, index) == LUA_TSTRING) {
    t->class_name = lua_tostring(L, index);
    return;
  }
  hr_check_options(L, index, names);
  uint32_t asked = hr_types_option(L, index);
  luaL_argcheck(L, (asked & ~value_types) == 0 && (asked & (asked - 1)) == 0, index,
                "'type' is one of table, string, function, userdata and thread");
  if (asked != 0) t->type_mask = asked;
  if (!hr_option(L, index, "class")) return;
  luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, index, "'class' is the name of a class");
  t->class_name = lua_tostring(L, -1);
}

static bool takes(const hl_task *t, const lh_snapshot *s, lh_id id) {
  uint32_t class_index = lh_class_of(s, id);
  if (class_index == UINT32_MAX || !lh_is_reachable(s, id)) return false; /* garbage, or our own */
  const lh_class *class = lh_class_at(s, class_index);
  return (t->type_mask >> class->type & 1) &&
         (!t->class_name || strcmp(t->class_name, class->name) == 0);
}

/* Sets t->ids to the living objects that the filter accepts. */
static void find_objects(lua_State *L, hl_task *t) {
  const lh_snapshot *s = hl_analysed(L, t, HL_WHOLE);
  lh_id *ids = hl_new_ids(L, t, lh_object_count(s));
  for (lh_id id = 1; id <= lh_object_count(s); id++)
    if (takes(t, s, id)) ids[t->n_ids++] = id;
}

/* ==== objects ======================================================================== */

static void set_weak_kind(lua_State *L, int list) {
  static const char kind[] = "heap.live_objects";
  if (!hr_has_kind(L, kind)) {
    hr_new_kind(L, kind);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    hr_keep_kind(L, kind);
  }
  lua_setmetatable(L, list);
}

/* An object that is no value leaves a gap in the list: close the gaps. */
static int objects_body(lua_State *L, hl_task *t) {
  lh_error error;
  lua_Integer n = 0;
  find_objects(L, t);
  if (t->n_ids > INT32_MAX) return luaL_error(L, "too many objects");
  lua_createtable(L, (int)t->n_ids, 0);
  int list = lua_gettop(L);
  hr_check(L, lh_push_values(L, hl_opened(t), t->ids, t->n_ids, list, &error), &error);
  for (lua_Integer i = 1; i <= (lua_Integer)t->n_ids; i++) {
    if (lua_rawgeti(L, list, i) == LUA_TNIL) {
      lua_pop(L, 1);
      continue;
    }
    if (++n == i) {
      lua_pop(L, 1);
      continue;
    }
    lua_rawseti(L, list, n);
    lua_pushnil(L);
    lua_rawseti(L, list, i);
  }
  set_weak_kind(L, list);
  return 1;
}

/* objects(filter) --> list with weak values */
int hl_objects(lua_State *L) {
  hl_task t = {0};
  luaL_checkany(L, hl_argument(L, 1));
  check_filter(L, hl_argument(L, 1), &t);
  return hl_ask(L, &t, objects_body);
}

/* ==== each =========================================================================== */

enum { BATCH = 4096, FUNCTION = 2, VALUES = 3 };

/* The index of the last of the n values at VALUES; 0: there is none. */
static size_t last_value(lua_State *L, size_t n) {
  for (; n > 0; n--) {
    bool there = lua_rawgeti(L, VALUES, (lua_Integer)n) != LUA_TNIL;
    lua_pop(L, 1);
    if (there) break;
  }
  return n;
}

/* Calls the function for the values from `first` to `last`, and drops all but the last. */
static lua_Integer call_for_each(lua_State *L, const lh_snapshot *s, const lh_id *ids, size_t first,
                                 size_t last) {
  lua_Integer n_calls = 0;
  for (size_t i = first; i <= last; i++) {
    lua_pushvalue(L, FUNCTION);
    if (lua_rawgeti(L, VALUES, (lua_Integer)i) == LUA_TNIL) {
      lua_pop(L, 2);
      continue;
    }
    if (i < last) {
      lua_pushnil(L);
      lua_rawseti(L, VALUES, (lua_Integer)i);
    }
    lh_id id = ids[i - 1];
    lua_pushstring(L, lh_type_name(lh_type_of(s, id)));
    lua_pushinteger(L, (lua_Integer)lh_shallow_bytes(s, id));
    lua_call(L, 3, 0);
    n_calls++;
  }
  return n_calls;
}

/* Each batch begins with the last object of the previous one, which is kept alive: the library
** continues from it. */
static int each_body(lua_State *L, hl_task *t) {
  lh_error error;
  lh_id batch[BATCH + 1];
  lua_Integer n_calls = 0;
  find_objects(L, t);
  const lh_snapshot *s = hl_opened(t);
  lua_settop(L, FUNCTION);
  lua_createtable(L, BATCH + 1, 0);
  for (size_t at = 0, kept = 0; at < t->n_ids;) {
    size_t n = t->n_ids - at < BATCH ? t->n_ids - at : BATCH;
    memcpy(batch + kept, t->ids + at, n * sizeof *batch);
    at += n;
    n += kept;
    hr_check(L, lh_push_values(L, s, batch, n, VALUES, &error), &error);
    size_t last = last_value(L, n);
    n_calls += call_for_each(L, s, batch, kept + 1, last);
    if (last == 0) continue;
    lua_createtable(L, BATCH + 1, 0);
    lua_rawgeti(L, VALUES, (lua_Integer)last);
    lua_rawseti(L, -2, 1);
    lua_replace(L, VALUES);
    batch[0] = batch[last - 1];
    kept = 1;
  }
  lua_pushinteger(L, n_calls);
  return 1;
}

/* each(f [, filter]) --> number of calls */
int hl_each(lua_State *L) {
  hl_task t = {0};
  luaL_checkany(L, hl_argument(L, 1));
  check_filter(L, hl_argument(L, 2), &t);
  return hl_ask(L, &t, each_body);
}

/* ==== dot and show ================================================================= */

/* heap.dot(v, file) and heap.show(v) are in modules of their own, dot/dot.c and heap/show.lua,
** which are loaded at the first call. This is the check of their arguments. */

enum { DEPTH = 3, WIDTH = 8, WAYS = 10 };

enum { PATH = 3, OPTIONS, DRAW }; /* arguments of the body; the subject is before them */

static int dot_body(lua_State *L, hl_task *t) {
  if (!hl_find_subject(L, t)) return 2;
  bool up = hr_boolean_option(L, OPTIONS, "up");
  int top = lua_gettop(L);
  lua_pushvalue(L, DRAW);
  lua_pushlightuserdata(L, t->capture->bytes);
  lua_pushinteger(L, (lua_Integer)t->capture->size);
  lua_pushinteger(L, t->id);
  lua_pushvalue(L, PATH);
  lua_pushboolean(L, up);
  lua_pushinteger(L, hr_integer_option(L, OPTIONS, "depth", up ? LH_LONG_PATH : DEPTH));
  lua_pushinteger(L, hr_integer_option(L, OPTIONS, "width", up ? WAYS : WIDTH));
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
  (void)hl_no(L, lacks_cgraph
                     ? "heap.dot needs libcgraph, of Graphviz: apt install libcgraph6"
                     : "heap.dot is not installed: `make install` puts heap/dot.so beside heap.so");
  return false;
}

/* dot(value, file [, {depth = , width = , up = }]) --> true | nil, message, errno */
int hl_dot(lua_State *L) {
  static const char *const names[] = {"depth", "width", "up", NULL};
  hl_task t = {0};
  int value = hl_argument(L, 1), file = hl_argument(L, 2), options = hl_argument(L, 3);
  size_t length;
  luaL_checkany(L, value);
  const char *path = luaL_checklstring(L, file, &length);
  luaL_argcheck(L, length > 0 && strlen(path) == length, file, "no path");
  lua_settop(L, options);
  hr_check_options(L, options, names);
  luaL_argcheck(L, hr_integer_option(L, options, "width", 1) > 0, options, "'width' is 1 or more");
  if (!push_drawing(L)) return 2;
  return hl_ask_about(L, &t, dot_body);
}

/* show(value [, {depth = }]) --> text */
int hl_show(lua_State *L) {
  static const char *const names[] = {"depth", NULL};
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  hr_check_options(L, 2, names);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heap.show");
  lua_call(L, 1, 1);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, hr_integer_option(L, 2, "depth", DEPTH));
  lua_call(L, 2, 1);
  return 1;
}
