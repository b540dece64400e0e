/*
** state.c - attaches to a Lua state: checks its layout, and registers our userdata.
**
** The checks are the thread and global state (layout.c), a few objects of known content, and object
** sizes in a second state (measure.c). Functions that older releases lack are referred to weakly
** (weak_lua.h), so that users get our error message, not the dynamic linker's.
*/
#include "state.h"

#include "track/track.h"

static const char registry_key = 0;

void *lh_test_own(lua_State *L, int index, const void *tag) {
  lh_own_content *own = NULL;
  if (lua_type(L, index) == LUA_TUSERDATA && lua_rawlen(L, index) >= sizeof *own)
    own = lua_touserdata(L, index);
  bool is = own && own->magic == LH_OWN_MAGIC && own->kind == LH_MARK_STATE && own->tag == tag;
  return is ? own : NULL;
}

void *lh_push_own(lua_State *L, const void *tag) {
  if (!lua_checkstack(L, 1)) return NULL;
  lua_rawgetp(L, LUA_REGISTRYINDEX, tag);
  void *own = lh_test_own(L, -1, tag);
  if (!own) lua_pop(L, 1);
  return own;
}

lh_handle *lh_find_handle(lua_State *L, const void *tag) {
  lh_handle *h = lh_push_own(L, tag);
  if (h) lua_pop(L, 1);
  return h;
}

lh_handle *lh_make_handle(lua_State *L, const void *tag, int n_user_values) {
  lh_handle *h = lua_newuserdatauv(L, sizeof *h, n_user_values);
  int index = lua_gettop(L);
  *h = (lh_handle){.own = {.magic = LH_OWN_MAGIC, .kind = LH_MARK_STATE, .tag = tag}};
  bool is_table = lh_push_state(L) && lua_getiuservalue(L, -1, LH_STATE_METATABLE) == LUA_TTABLE;
  if (is_table) lua_setmetatable(L, index); /* else tampered with */
  lua_settop(L, index);
  lua_pushvalue(L, index);
  lua_rawsetp(L, LUA_REGISTRYINDEX, tag);
  return h;
}

lh_state *lh_push_state(lua_State *L) {
  return lh_push_own(L, &registry_key);
}

lh_state *lh_find_state(lua_State *L, lh_error *error) {
  lh_state *state = lh_push_state(L);
  if (state)
    lua_pop(L, 1);
  else
    (void)lh_fail(error, LH_EARGUMENT, "lh_attach was not called for this Lua state");
  return state;
}

int lh_call_protected(lua_State *L, lua_CFunction function, void *argument, const char *doing,
                      lh_error *error) {
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, argument);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return LH_OK;
  lua_pop(L, 1);
  return lh_fail_memory(error, doing);
}

const raw_value *lh_stack_slot(lua_State *L, int index) {
  const raw_call *call = RAW_FIELD(L, RAW_THREAD_CALL, const raw_call *);
  const raw_value *top = RAW_FIELD(L, RAW_THREAD_TOP, const raw_value *);
  return index >= 1 && index < top - call->function ? call->function + index : NULL;
}

/* No function tells at which pseudo-index a build has the registry. But lua_absindex keeps
** pseudo-indices, of which the registry's is the highest, and counts other indices from the top. */
static bool has_registry_where_we_have(lua_State *L) {
  return lua_absindex(L, LUA_REGISTRYINDEX) == LUA_REGISTRYINDEX &&
         lua_absindex(L, LUA_REGISTRYINDEX + 1) != LUA_REGISTRYINDEX + 1;
}

static bool are_equal(lua_State *L, const char *number, const char *other) {
  (void)lua_stringtonumber(L, number);
  (void)lua_stringtonumber(L, other);
  bool equal = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return equal;
}

static bool is_integer(lua_State *L, const char *number) {
  (void)lua_stringtonumber(L, number);
  bool integer = lua_isinteger(L, -1);
  lua_pop(L, 1);
  return integer;
}

/* Requires lua_newuserdatauv. No function that takes or returns a number is called before its size
** is known. 2^32 is no integer if integers have 4 bytes. 2^24 + 1 equals 2^24 if floats have 4
** bytes. Only a long double tells 2^53 + 1 from 2^53. */
static int check_numbers(lua_State *L, lh_error *error) {
  bool is_float = are_equal(L, "16777216e0", "16777217e0");
  bool is_double = !is_float && are_equal(L, "9007199254740992e0", "9007199254740993e0");
  bool is_64_bit = is_integer(L, "4294967296");
  if (is_double && is_64_bit) return LH_OK;
  return lh_fail(
      error, LH_EHOST,
      "luaheap needs a Lua whose integers have 8 bytes and whose floats are double; this "
      "one's have %d and are %s",
      is_64_bit ? 8 : 4,
      is_float    ? "float"
      : is_double ? "double"
                  : "long double");
}

/* "5.5", of a Lua that has the functions of 5.4. */
static void write_version(lua_State *L, char *out, size_t bytes) {
  int number = lua_version ? (int)lua_version(L) : LUA_VERSION_NUM;
  (void)snprintf(out, bytes, "%d.%d", number / 100, number % 100);
}

static int check_version(lua_State *L, lh_error *error) {
  char release[16];
  if (lua_newuserdatauv) {
    if (!lua_checkstack(L, 2)) return lh_fail_memory(error, "attaching to the Lua state");
    int rc = check_numbers(L, error);
    if (rc < 0) return rc;
  }
  if (lua_newuserdatauv && lua_rawgetp && lua_version && (int)lua_version(L) == LUA_VERSION_NUM) {
    if (has_registry_where_we_have(L)) return LH_OK;
    return lh_fail(error, LH_EHOST,
                   "this Lua was built with another LUAI_MAXSTACK than the headers that luaheap "
                   "was built with: build luaheap with the headers of this Lua");
  }
  lh_layout_release(lua_ident, release);
  if (!lua_ident) strcpy(release, "not PUC");
  if (lua_newuserdatauv && !lua_ident) write_version(L, release, sizeof release);
  return lh_fail(error, LH_EHOST, "luaheap needs PUC Lua " LH_LUA_RELEASES "; this Lua is %s%s",
                 release, lua_newuserdatauv ? "" : " and lacks the functions of " LH_LUA_NAME);
}

/* Asks the API about the host. Leaves host->top_pointer on the stack. */
static void read_host(lua_State *L, lh_host *host) {
  *host = (lh_host){.thread = L, .ident = lua_ident};
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  host->main_thread = lua_tothread(L, -1);
  lua_pop(L, 1);
  host->registry = lua_topointer(L, LUA_REGISTRYINDEX);
  lua_Alloc alloc = lua_getallocf(L, &host->alloc_data);
  memcpy(&host->alloc, &alloc, sizeof host->alloc);
  lua_pushlstring(L, "", 0);
  if (lua_getmetatable(L, -1)) {
    host->string_metatable = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  host->top_pointer = host;
  lua_pushlightuserdata(L, host);
  int kilobytes = lua_gc(L, LUA_GCCOUNT, 0); /* -1 inside a finalizer */
  host->gc_bytes = kilobytes < 0 ? -1 : (int64_t)kilobytes * 1024 + lua_gc(L, LUA_GCCOUNTB, 0);
}

static const int64_t known_integer = 1234567890123;
static const double known_float = 0.5;

/* Leaves a table, a userdata and a C closure of known content in slots 1 to 3. */
static void make_known_objects(lua_State *L, lua_CFunction function) {
  lua_settop(L, 0);
  lua_createtable(L, 2, 2);
  lua_pushinteger(L, known_integer);
  lua_rawseti(L, 1, 1);
  lua_pushnumber(L, known_float);
  lua_rawseti(L, 1, 2);
  lua_pushboolean(L, 1);
  lua_rawsetp(L, 1, &registry_key);
  lua_pushvalue(L, 1);
  lua_setmetatable(L, 1);
  lua_newuserdatauv(L, 24, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, 1);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, function, 1);
}

static bool known_table_reads_back(const raw_table *t) {
  if (t->type != RAW_TABLE || t->array_limit != 2 || raw_hash_slots(t) != 2 || t->metatable != t)
    return false;
  const raw_slot *s = raw_is_empty(t->slots[0].value_type) ? &t->slots[1] : &t->slots[0];
  return raw_array_type(t->array, 0) == RAW_INTEGER &&
         raw_array_payload(t->array, 0).integer == known_integer &&
         raw_array_type(t->array, 1) == RAW_FLOAT &&
         raw_array_payload(t->array, 1).number == known_float && s->value_type == RAW_TRUE &&
         s->key_type == RAW_LIGHT_USERDATA && s->key.pointer == (const void *)&registry_key;
}

static bool known_objects_read_back(const lh_layout *layout, const raw_value *slots) {
  static const uint8_t types[3] = {RAW_TABLE, RAW_USERDATA, RAW_C_CLOSURE};
  for (int i = 0; i < 3; i++) {
    if (slots[i].type != (types[i] | RAW_COLLECTABLE)) return false;
    if (slots[i].as.object->type != types[i]) return false;
  }
  const raw_object *table = slots[0].as.object;
  const raw_userdata *u = (const raw_userdata *)slots[1].as.object;
  const raw_c_closure *c = (const raw_c_closure *)slots[2].as.object;
  return known_table_reads_back((const raw_table *)table) && u->length == 24 &&
         u->n_user_values == 1 && raw_user_values(layout, u)->as.object == table &&
         c->n_upvalues == 1 && c->upvalues[0].as.object == table;
}

/* Where the one user value of the userdata in slot 2 is: Lua tells where its content is. */
static uint16_t user_values_of(lua_State *L, const raw_object *userdata) {
  ptrdiff_t at = (const char *)lua_touserdata(L, 2) - (const char *)userdata;
  bool is_aligned = LH_LUA == 505 && at == 64;
  return (uint16_t)((is_aligned ? 64 : 56) - sizeof(raw_value));
}

/* The __gc of our userdata. It puts marks on finobj, and tells a watcher or a recorder that the
** state closes. */
static int finalize(lua_State *L) {
  lh_watch_finalize(L);
  lh_recorder_finalize(L);
  return 0;
}

typedef struct attachment {
  lh_layout layout;
  lh_error *error;
  int code;
} attachment;

static int check_host(lua_State *L, attachment *a) {
  lh_host host;
  read_host(L, &host);
  int code = lh_layout_probe(&host, &a->layout, a->error);
  if (code < 0) return code;
  make_known_objects(L, finalize);
  const raw_value *slots = lh_stack_slot(L, 1);
  a->layout.user_values = user_values_of(L, slots[1].as.object);
  if (known_objects_read_back(&a->layout, slots)) return lh_measure_layout(&a->layout, a->error);
  return lh_fail(a->error, LH_EHOST,
                 "luaheap needs an unmodified PUC Lua " LH_LUA_RELEASES
                 ": this one's objects are "
                 "laid out differently");
}

/* Checks everything, makes the state and registers it. May raise "not enough memory". */
static int attach_protected(lua_State *L) {
  attachment *a = lua_touserdata(L, 1);
  a->code = check_host(L, a);
  if (a->code < 0) return 0;
  lh_state *state = lua_newuserdatauv(L, sizeof *state, LH_STATE_USER_VALUES);
  *state = (lh_state){.own = {.magic = LH_OWN_MAGIC, .kind = LH_MARK_STATE, .tag = &registry_key},
                      .layout = a->layout};
  state->own.state_id = lh_random_seed();
  state->string_seed = lh_random_seed();
  state->tells_work = raw_gc_byte(&a->layout, lh_global_state(L), RAW_GLOBAL_AT_WORK) == 0;
  lh_layout_release(lua_ident, state->release);
  if (a->layout.shares)
    (void)strncat(state->release, LH_SKYNET, sizeof state->release - strlen(state->release) - 1);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, finalize);
  lua_setfield(L, -2, "__gc");
  lua_setiuservalue(L, -2, LH_STATE_METATABLE);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &registry_key);
  return 0;
}

int lh_attach(lua_State *L, lh_error *error) {
  attachment a = {.error = error};
  int rc = check_version(L, error);
  if (rc < 0) return rc;
  if (lh_push_state(L)) {
    lua_pop(L, 1);
    return LH_OK;
  }
  rc = lh_call_protected(L, attach_protected, &a, "attaching to the Lua state", error);
  return rc < 0 ? rc : a.code;
}
