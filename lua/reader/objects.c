/*
** objects.c - Objects: fields, allocation sites, values.
** An object takes 80 bytes in Lua; its fields are decoded on demand (rooms/report.h, part 6).
*/
#include "handles.h"

static const hr_object *check_object(lua_State *L) {
  return hr_check_of(L, 1, hr_object_kind);
}

/* ==== Where objects were allocated ================================================= */

/* Only a crafted file has a deeper stack: Lua's have at most 200 calls of C and fold recursion. */
enum { MOST_CALLS = 1000 };

/* object.stack: sites from the object's to the outermost caller's, and the counts; or nil. */
static int get_stack(lua_State *L) {
  const hr_object *o = check_object(L);
  lh_snapshot *snapshot = hr_opened(L, o->of);
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  lh_stack_id stack = lh_object_stack(snapshot, o->id);
  lh_fact_row fact_row = {.id = stack};
  if (stack == 0) return 0;
  fact_row.counts = lh_stack_counts_of(snapshot, stack);
  lua_settop(L, 1);
  (void)lua_getiuservalue(L, 1, 1);
  (void)hr_hold(L, 2, 0, NULL);
  hr_push_list(L, "heap.stack", 0);
  hr_set_facts(L, o->of, snapshot, &lh_stack_facts, &fact_row);
  for (lua_Integer i = 1; stack != 0 && i <= MOST_CALLS; i++) {
    const lh_stack *call = lh_stack_of(sites, stack);
    fact_row.site = *lh_site_of(sites, call->site);
    hr_push_list(L, "heap.site", 0);
    hr_set_facts(L, o->of, snapshot, &lh_site_facts, &fact_row);
    lua_rawseti(L, -2, i);
    stack = call->parent;
  }
  hr_release(L, 3);
  return 1;
}

/* snapshot.tracking: nil if the program was not tracked. */
int hr_tracking(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  const lh_tracking *found = lh_snapshot_tracking(of->snapshot);
  if (!found) return 0;
  lh_tracking tracking = *found;
  lua_newtable(L);
  hr_set_facts(L, of, of->snapshot, &lh_tracking_facts, &tracking);
  return 1;
}

/* ==== Objects ======================================================================== */

void hr_push_object(lua_State *L, int index, lh_id id) {
  hr_object *o;
  if (id == LH_NO_OBJECT) {
    lua_pushnil(L);
    return;
  }
  o = hr_new_of(L, index, hr_object_kind, sizeof *o, 1);
  o->id = id;
}

void hr_set_object(lua_State *L, const char *key, lh_id id) {
  hr_push_object(L, 1, id);
  lua_setfield(L, -2, key);
}

static int find_expression(lua_State *L, int index, hr_snapshot *of, lh_id *id, lh_error *error) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  lh_found found;
  luaL_argcheck(L, strlen(text) == length, index, "the name of an object has no zero byte");
  *id = LH_ROOT;
  if (strcmp(text, "root") == 0) return LH_OK;
  int code = lh_find(hr_analysed(L, of), text, &found, error);
  if (code != LH_ENOTFOUND) hr_check(L, code, error);
  if (code == LH_OK) *id = found.id;
  return code;
}

static bool may_be_object(lua_State *L, int index) {
  int type = lua_type(L, index);
  return type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA ||
         type == LUA_TTHREAD;
}

int hr_find_object(lua_State *L, int index, hr_snapshot *of, lh_id *id, lh_error *error) {
  const hr_object *o = hr_test(L, index, hr_object_kind);
  const lh_snapshot *snapshot = hr_opened(L, of);
  if (o) {
    (void)hr_check_of(L, index, hr_object_kind);
    luaL_argcheck(L, o->of == of, index, "this object is of another snapshot");
    *id = o->id;
    return LH_OK;
  }
  if (lua_type(L, index) == LUA_TSTRING) return find_expression(L, index, of, id, error);
  if (of->values && may_be_object(L, index)) return of->values->find(L, index, of, id, error);
  if (!lua_isinteger(L, index)) luaL_typeerror(L, index, "object, its number, path, class");
  lua_Integer number = lua_tointegerx(L, index, NULL);
  luaL_argcheck(L, number >= 0 && number <= lh_object_count(snapshot), index,
                "there is no object of that number");
  *id = (lh_id)number;
  return LH_OK;
}

lh_id hr_subject(lua_State *L, hr_snapshot **of) {
  lh_error error;
  lh_id id;
  if (hr_test(L, 1, hr_object_kind)) {
    (void)lua_getiuservalue(L, 1, 1);
    lua_insert(L, 1);
  }
  *of = hr_check_snapshot(L, 1);
  hr_check(L, hr_find_object(L, 2, *of, &id, &error), &error);
  return id;
}

/* ==== Values ========================================================================= */

static void push_string(lua_State *L, int index, const lh_snapshot *snapshot, lh_id id) {
  lh_object object;
  lh_object_at(snapshot, id, &object);
  if (!object.dead && object.as.string.kept == object.as.string.length)
    lua_pushlstring(L, object.as.string.bytes, (size_t)object.as.string.length);
  else
    hr_push_object(L, index, id);
}

void hr_push_value(lua_State *L, int index, lh_value value) {
  const lh_snapshot *snapshot = hr_opened(L, lua_touserdata(L, index));
  switch (value.kind) {
    case LH_VALUE_BOOLEAN: lua_pushboolean(L, value.as.boolean); break;
    case LH_VALUE_INTEGER: lua_pushinteger(L, value.as.integer); break;
    case LH_VALUE_FLOAT: lua_pushnumber(L, value.as.number); break;
    case LH_VALUE_POINTER:
    case LH_VALUE_CFUNCTION: lua_pushlightuserdata(L, (void *)(uintptr_t)value.as.pointer); break;
    case LH_VALUE_OBJECT:
      if (lh_type_of(snapshot, value.as.object) == LH_TYPE_STRING)
        push_string(L, index, snapshot, value.as.object);
      else
        hr_push_object(L, index, value.as.object);
      break;
    case LH_VALUE_ABSENT: lua_pushlightuserdata(L, NULL); break;
    default: lua_pushnil(L);
  }
}

/* ==== Fields ========================================================================= */

static int get_snapshot(lua_State *L) {
  (void)check_object(L);
  (void)lua_getiuservalue(L, 1, 1);
  return 1;
}

/* object.value: kept bytes of a string, content of an upvalue, value of the calling heap. */
static int get_value(lua_State *L) {
  const hr_object *o = check_object(L);
  const lh_snapshot *snapshot = hr_opened(L, o->of);
  lh_object object;
  if (o->id == LH_ROOT || lh_is_dead(snapshot, o->id)) return 0;
  lh_object_at(snapshot, o->id, &object);
  if (object.type == LH_TYPE_STRING) {
    lua_pushlstring(L, object.as.string.bytes, (size_t)object.as.string.kept);
  } else if (object.type == LH_TYPE_UPVALUE) {
    (void)lua_getiuservalue(L, 1, 1);
    hr_push_value(L, lua_gettop(L), object.as.upvalue.value);
  } else if (o->of->values) {
    o->of->values->push(L, o->of, o->id);
  } else {
    return 0;
  }
  return 1;
}

static int push_object_fact(lua_State *L, const lh_column *column) {
  const hr_object *o = check_object(L);
  lh_fact_row fact_row;
  fact_row.id = o->id;
  fact_row.object.id = fact_row.code.id = LH_NO_OBJECT;
  if (column->of_types != 0 && !lh_read_object(hr_opened(L, o->of), column, &fact_row)) return 0;
  return hr_return_fact(L, o->of, column, &fact_row);
}

/* ==== Methods ======================================================================== */

static int equal(lua_State *L) {
  const hr_object *a = hr_test(L, 1, hr_object_kind);
  const hr_object *b = hr_test(L, 2, hr_object_kind);
  lua_pushboolean(L, a && b && a->of == b->of && a->id == b->id);
  return 1;
}

/* text([most_bytes]): as Lua prints it; a string in quotes, shortened to most_bytes. */
static int text(lua_State *L) {
  const hr_object *o = check_object(L);
  lua_Integer most = luaL_optinteger(L, 2, 64);
  const lh_snapshot *snapshot = hr_opened(L, o->of);
  luaL_argcheck(L, most >= 0, 2, "the number of bytes must be 0 or more");
  if (o->id == LH_ROOT)
    lua_pushliteral(L, "root");
  else if (lh_type_of(snapshot, o->id) == LH_TYPE_STRING && !lh_is_dead(snapshot, o->id))
    hr_push_text(L, o->of, lh_string_text(snapshot, o->id, (size_t)most));
  else
    hr_push_text(L, o->of, lh_object_text(snapshot, o->id));
  return 1;
}

static bool is_key_at(lua_State *L, const hr_snapshot *of, int index, lh_value key) {
  const lh_snapshot *snapshot = of->snapshot;
  lh_object object;
  size_t length;
  int is_integer;
  lua_Integer integer = lua_tointegerx(L, index, &is_integer);
  switch (key.kind) {
    case LH_VALUE_BOOLEAN:
      return lua_isboolean(L, index) && lua_toboolean(L, index) == (int)key.as.boolean;
    case LH_VALUE_INTEGER:
      return lua_type(L, index) == LUA_TNUMBER && is_integer && integer == key.as.integer;
    case LH_VALUE_FLOAT:
      return lua_type(L, index) == LUA_TNUMBER && lua_tonumberx(L, index, NULL) == key.as.number;
    case LH_VALUE_OBJECT: break;
    default: return false;
  }
  if (lua_type(L, index) != LUA_TSTRING) {
    const hr_object *o = hr_test(L, index, hr_object_kind);
    return o && o->of == of && o->id == key.as.object;
  }
  if (lh_type_of(snapshot, key.as.object) != LH_TYPE_STRING) return false;
  lh_object_at(snapshot, key.as.object, &object);
  const char *name = lua_tolstring(L, index, &length);
  return !object.dead && object.as.string.length == length && object.as.string.kept == length &&
         memcmp(object.as.string.bytes, name, length) == 0;
}

static int get(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  const lh_snapshot *snapshot = hr_opened(L, of);
  lh_edges it;
  lh_value key, value;
  luaL_checkany(L, 3);
  for (lh_entries_begin(snapshot, id, &it); lh_entries_next(&it, &key, &value);) {
    if (!is_key_at(L, of, 3, key)) continue;
    hr_push_value(L, 1, value);
    return 1;
  }
  lua_pushnil(L);
  return 1;
}

/* Innermost first, without the host's own frame, which has no function. */
int hr_method_frames(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lh_edges it;
  lh_frame frame;
  lua_Integer n = 0;
  if (lh_type_of(snapshot, id) != LH_TYPE_THREAD)
    return luaL_error(L, "only threads have frames, and this is a %s",
                      lh_type_name(lh_type_of(snapshot, id)));
  (void)hr_hold(L, 1, 0, NULL);
  for (lh_frames_begin(snapshot, id, &it); lh_frames_next(&it, &frame);)
    n += frame.function.kind != LH_VALUE_NIL;
  hr_push_list(L, "heap.texts", (size_t)n);
  for (lh_frames_begin(snapshot, id, &it); lh_frames_next(&it, &frame);) {
    if (frame.function.kind == LH_VALUE_NIL) continue;
    hr_push_text(L, of, lh_frame_text(snapshot, &frame));
    lua_rawseti(L, -2, n--);
  }
  hr_release(L, -2);
  return 1;
}

void hr_open_objects(lua_State *L) {
  static const luaL_Reg methods[] = {
      HR_OBJECT_METHODS(HR_REGISTER){"get", get}, {"text", text}, {NULL, NULL}};
  static const luaL_Reg fields[] = {
      {"snapshot", get_snapshot}, {"stack", get_stack}, {"value", get_value}, {NULL, NULL}};
  static const hr_facts facts = {&lh_object_facts, push_object_fact};
  hr_new_kind(L, hr_object_kind);
  lua_pushcfunction(L, equal);
  lua_setfield(L, -2, "__eq");
  hr_set_index(L, methods, fields, &facts, NULL);
  hr_keep_kind(L, hr_object_kind);
  lua_pop(L, 1);
}
