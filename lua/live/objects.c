/*
** objects.c - objects of a capture as Lua values: rows, one object, those of a class, or all.
** lib/take/values.c says how the library knows that a value is still the same object.
*/
#include <stdlib.h>

#include "live.h"

/* ==== Rows =========================================================================== */

static const char weak_key = 0; /* registry[&weak_key] is {__mode = "v"} */
static const char row_kind[] = "heap.row";

void hl_register_rows(lua_State *L) {
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  hr_name_kind(L, row_kind);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &weak_key);
}

struct hl_rows {
  lh_id *ids; /* of the object of each row */
  size_t n, capacity;
  int list; /* the stack index of a table of the rows */
};

static void free_object_rows(void *content) {
  free(((hl_rows *)content)->ids);
}

static void add_id(lua_State *L, hl_rows *rows, lh_id id) {
  if (rows->n == rows->capacity) {
    size_t capacity = 2 * rows->capacity + 64;
    lh_id *grown = realloc(rows->ids, capacity * sizeof *grown);
    if (!grown) luaL_error(L, "not enough memory");
    rows->ids = grown;
    rows->capacity = capacity;
  }
  rows->ids[rows->n++] = id;
}

hl_rows *hl_new_rows(lua_State *L) {
  hl_rows *rows = hr_hold(L, 0, sizeof *rows, free_object_rows);
  lua_newtable(L);
  rows->list = lua_gettop(L);
  return rows;
}

void hl_push_row(lua_State *L, const hl_task *t, lh_snapshot *s, hl_rows *rows, lh_id id) {
  lua_createtable(L, 0, 8);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &weak_key);
  if (!hr_is_kind(L, row_kind))
    luaL_error(L, "the program has removed '%s' from the registry", row_kind);
  lua_setmetatable(L, -2);
  if (id == LH_NO_OBJECT) return;
  hr_set_facts(L, t->capture->reader, s, &lh_row_facts, &(lh_fact_row){.id = id});
  if (id == LH_ROOT) return;
  add_id(L, rows, id);
  lua_pushvalue(L, -1);
  lua_rawseti(L, rows->list, (lua_Integer)rows->n);
}

static int compare_ids(const void *a, const void *b) {
  lh_id x = *(const lh_id *)a, y = *(const lh_id *)b;
  return x < y ? -1 : x > y;
}

/* The library does not find an object that waits for its finalizer, but the caller has the subject
** of the question. */
static void push_value_of_row(lua_State *L, const hl_task *t, const lh_id *sorted, size_t n,
                              int values, lh_id id) {
  const lh_id *at = bsearch(&id, sorted, n, sizeof id, compare_ids);
  if (id == t->id && !hr_test(L, HL_SUBJECT, hr_object_kind))
    lua_pushvalue(L, HL_SUBJECT);
  else
    lua_rawgeti(L, values, at - sorted + 1);
}

void hl_set_objects(lua_State *L, const hl_task *t, const hl_rows *rows) {
  size_t n = 0;
  lh_error error;
  luaL_argcheck(L, rows->n <= INT32_MAX, 1, "too many objects");
  hl_rows *all = hr_hold(L, 0, sizeof *all, free_object_rows);
  int hold = lua_gettop(L);
  for (size_t i = 0; i < rows->n; i++) add_id(L, all, rows->ids[i]);
  if (all->n > 0) qsort(all->ids, all->n, sizeof *all->ids, compare_ids);
  for (size_t i = 0; i < all->n; i++)
    if (n == 0 || all->ids[i] != all->ids[n - 1]) all->ids[n++] = all->ids[i];
  lua_createtable(L, (int)n, 0);
  int values = lua_gettop(L);
  hr_check(L, lh_push_values(L, hl_opened(t), all->ids, n, values, &error), &error);
  for (size_t i = 0; i < rows->n; i++) {
    lua_rawgeti(L, rows->list, (lua_Integer)i + 1);
    push_value_of_row(L, t, all->ids, n, values, rows->ids[i]);
    lua_setfield(L, -2, "object");
    lua_pop(L, 1);
  }
  hr_release(L, hold);
  lua_settop(L, hold - 1);
}

/* ==== One object ===================================================================== */

static const char not_there[] =
    "it is not in the capture: it was made later, or given a finalizer since";

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
    why = "it is luaheap's own object, about which nothing can be asked";
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
    if (code < 0) return hl_push_failure(L, error.message);
    t->id = found.id;
  }
  if (t->id == LH_ROOT || t->id > lh_object_count(s))
    return hl_push_failure(L, "the capture has no object of this number");
  if (push_value(L, s, t->id)) return 1;
  lua_pushfstring(L,
                  "this %s cannot be returned: it is no value of Lua, was freed, or was given "
                  "a finalizer since",
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

/* ==== Objects that a filter accepts ================================================== */

/* Upvalues and prototypes are no values. */
static const uint32_t value_types = ~(1u << LH_TYPE_UPVALUE | 1u << LH_TYPE_PROTO);

/* Reads the filter at `index`: nothing, a class name, or {class = , type = }. */
static void check_filter(lua_State *L, int index, hl_task *t) {
  static const hl_option options[] = {
      {"class", HL_TEXT, .field = offsetof(hl_task, filter.class_name),
       .need = "must be the name of a class"},
      {"type", HL_TYPES, .field = offsetof(hl_task, filter.type_mask)},
      {0}};
  if (lua_type(L, index) == LUA_TSTRING)
    t->filter.class_name = lua_tostring(L, index);
  else
    hl_read_options(L, index, options, t);
  luaL_argcheck(L, (t->filter.type_mask & ~value_types) == 0, index,
                "'type' is one of table, string, function, userdata and thread");
  if (t->filter.type_mask == 0) t->filter.type_mask = value_types;
}

/* Pushes the owner of the living objects that the filter accepts. */
static const hl_rows *push_accepted(lua_State *L, hl_task *t) {
  const lh_snapshot *s = hl_analysed(L, t, HL_WHOLE);
  hl_rows *found = hr_hold(L, 0, sizeof *found, free_object_rows);
  for (lh_id id = 1; id <= lh_object_count(s); id++)
    if (hr_passes(&t->filter, s, id)) add_id(L, found, id);
  return found;
}

/* An object that is no value leaves a gap in the list: close the gaps. */
static int objects_body(lua_State *L, hl_task *t) {
  lh_error error;
  lua_Integer n = 0;
  const hl_rows *found = push_accepted(L, t);
  int hold = lua_gettop(L), list = hold + 1;
  if (found->n > INT32_MAX) return luaL_error(L, "too many objects");
  lua_createtable(L, (int)found->n, 0);
  hr_check(L, lh_push_values(L, hl_opened(t), found->ids, found->n, list, &error), &error);
  for (lua_Integer i = 1; i <= (lua_Integer)found->n; i++) {
    if (lua_rawgeti(L, list, i) == LUA_TNIL || ++n == i) {
      lua_pop(L, 1);
      continue;
    }
    lua_rawseti(L, list, n);
    lua_pushnil(L);
    lua_rawseti(L, list, i);
  }
  hr_release(L, hold);
  hr_push_kind(L, "heap.live_objects", NULL);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, list);
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

enum { BATCH = 4096, FUNCTION = 2, VALUES = 3, HOLD = 4 };

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
  lua_settop(L, FUNCTION);
  lua_createtable(L, BATCH + 1, 0);
  const hl_rows *found = push_accepted(L, t);
  const lh_snapshot *s = hl_opened(t);
  for (size_t at = 0, kept = 0; at < found->n;) {
    size_t n = found->n - at < BATCH ? found->n - at : BATCH;
    memcpy(batch + kept, found->ids + at, n * sizeof *batch);
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
  hr_release(L, HOLD);
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
