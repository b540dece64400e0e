/*
** heap.c - the module of `local heap = require "heap"`, over lib/luaheap.h (see heap/meta.lua).
** Linked to libc alone: the lua_* functions are the host's. Arguments are checked by type and never
** converted, and options are read without metamethods, so nothing is allocated before or after a
** snapshot. Failures return nil, message, errno; wrong arguments and an unknown Lua raise errors.
*/
#include "host.h"
#include "live/live.h"

/* ==== Background snapshots ========================================================== */

static const char job_key = 0; /* registry[&job_key] is the metatable of jobs */
static const char job_kind[] = "heap.job";

/* Argument 1; *handle is NULL after its finalizer ran. */
static lh_job **job_handle(lua_State *L) {
  lh_job **handle = lh_test_userdata(L, 1, &job_key);
  if (!handle) luaL_typeerror(L, 1, "job of heap.snapshot");
  return handle;
}

static lh_job *check_job(lua_State *L) {
  lh_job *job = *job_handle(L);
  luaL_argcheck(L, job, 1, "the job is closed");
  return job;
}

static int push_taken(lua_State *L, lh_taken taken) {
  lua_pushinteger(L, (lua_Integer)taken.objects);
  lua_pushinteger(L, (lua_Integer)taken.bytes);
  return 2;
}

/* Makes the handle before the fork: nothing may fail after it. */
static int start_job(lua_State *L, const char *path, uint64_t string_bytes) {
  lh_error error;
  lh_job **handle = lh_push_userdata(L, &job_key, sizeof *handle, &error);
  if (!handle) return hl_fail(L, &error);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &job_key);
  if (!hr_is_kind(L, job_kind))
    return luaL_error(L, "the program has removed '%s' from the registry", job_kind);
  lua_setmetatable(L, -2);
  if (lh_start_snapshot(L, path, string_bytes, handle, &error) < 0) return hl_fail(L, &error);
  return 1;
}

/* job:wait([seconds]) --> objects, bytes | nil, message, errno */
static int job_wait(lua_State *L) {
  lh_job *job = check_job(L);
  double seconds = luaL_optnumber(L, 2, -1);
  lh_error error;
  if (lh_job_wait(job, seconds, &error) < 0) return hl_fail(L, &error);
  return push_taken(L, lh_job_taken(job));
}

/* job:done() --> boolean */
static int job_done(lua_State *L) {
  lua_pushboolean(L, lh_job_done(check_job(L)));
  return 1;
}

/* job:pid() --> integer */
static int job_pid(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lh_job_process(check_job(L)));
  return 1;
}

/* Keeps a dropped job whose child still writes until the next collection, to reap the child. */
static int job_gc(lua_State *L) {
  lh_job **handle = job_handle(L);
  if (*handle && !lh_job_done(*handle)) {
    if (lua_getmetatable(L, 1)) lua_setmetatable(L, 1); /* have it finalized again */
    return 0;
  }
  lh_job_free(*handle);
  *handle = NULL;
  return 0;
}

static void register_jobs(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"wait", job_wait}, {"done", job_done}, {"pid", job_pid}, {NULL, NULL}};
  lua_createtable(L, 0, 4);
  lua_createtable(L, 0, 3);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, job_gc);
  lua_setfield(L, -2, "__gc");
  hr_name_kind(L, job_kind);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &job_key);
}

/* snapshot(path [, options]) --> objects, bytes | job | nil, message, errno */
static int heap_snapshot(lua_State *L) {
  struct wanted {
    lh_take_options take;
    bool background;
  } wanted = {.take.string_bytes = LH_DEFAULT_STRING_BYTES};
  static const hl_option options[] = {
      {"strings", HL_COUNT, .field = offsetof(struct wanted, take.string_bytes),
       .need = "must be a number of bytes, 0 or more"},
      {"background", HL_FLAG, .field = offsetof(struct wanted, background)},
      {0}};
  lh_taken taken;
  lh_error error;
  const char *path = hl_check_path(L, 1);
  hl_read_options(L, 2, options, &wanted);
  if (wanted.background) return start_job(L, path, wanted.take.string_bytes);
  if (lh_take_file(L, path, &wanted.take, &taken, &error) < 0) return hl_fail(L, &error);
  return push_taken(L, taken);
}

/* mark(name) --> true; mark() --> true, thinned | nil, message, errno */
static int heap_mark(lua_State *L) {
  size_t length;
  bool thinned = false;
  lh_error error;
  const char *name = lua_isnone(L, 1) ? NULL : hl_check_string(L, 1, &length);
  int rc = name ? lh_mark(L, name, length, &error) : lh_mark_period(L, &thinned, &error);
  if (rc < 0) return hl_fail(L, &error);
  lua_pushboolean(L, 1);
  if (name) return 1;
  lua_pushboolean(L, thinned);
  return 2;
}

/* sizeof(value) --> bytes */
static int heap_sizeof(lua_State *L) {
  uint64_t bytes;
  lh_error error;
  luaL_checkany(L, 1);
  if (lh_sizeof(L, 1, &bytes, &error) < 0) return luaL_error(L, "%s", error.message);
  lua_pushinteger(L, (lua_Integer)bytes);
  return 1;
}

/* ==== Statistics ===================================================================== */

static void push_count(lua_State *L, const lh_count *count) {
  lua_createtable(L, 0, 4);
  hr_set_integer(L, "objects", count->objects);
  hr_set_integer(L, "bytes", count->bytes);
}

static void push_gc_stats(lua_State *L, const lh_gc_stats *gc) {
  lua_createtable(L, 0, 10);
  hr_set_integer(L, "bytes", gc->bytes);
  hr_set_integer(L, "debt", (uint64_t)gc->debt_bytes);
  hr_set_string(L, "state", lh_gc_state_name(gc->gc_state));
  hr_set_string(L, "kind", lh_gc_kind_name(gc->gc_generational));
  hr_set_boolean(L, "stopped", gc->gc_stopped);
  lua_createtable(L, 0, 3);
  hr_set_integer(L, "strings", gc->table_strings);
  hr_set_integer(L, "slots", gc->table_slots);
  hr_set_number(L, "load", (double)gc->table_strings / (double)gc->table_slots);
  lua_setfield(L, -2, "string_table");
}

static void set_types(lua_State *L, const lh_counts *counts) {
  lua_createtable(L, 0, LH_TYPE_COUNT - 1);
  for (lh_type type = LH_TYPE_STRING; type < LH_TYPE_COUNT; type++) {
    push_count(L, &counts->by_type[type]);
    lua_setfield(L, -2, lh_type_name(type));
  }
  lua_setfield(L, -2, "types");
}

static void set_epochs(lua_State *L, const lh_epoch_count *epochs, size_t n) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    const lh_epoch_count *epoch = &epochs[i];
    push_count(L, &epoch->allocated);
    if (epoch->name) {
      lua_pushlstring(L, epoch->name, epoch->name_length);
      lua_setfield(L, -2, "name");
      hr_set_integer(L, "time", epoch->time_ns / 1000000000u);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "epochs");
}

/* stats([options]) --> table. All is counted before anything is allocated. */
static int heap_stats(lua_State *L) {
  enum { MOST_EPOCHS = 256 };
  struct wanted {
    bool objects, entries;
  } wants = {.objects = true};
  static const hl_option options[] = {
      {"objects", HL_FLAG, .field = offsetof(struct wanted, objects)},
      {"entries", HL_FLAG, .field = offsetof(struct wanted, entries)},
      {0}};
  lh_epoch_count epochs[MOST_EPOCHS];
  lh_gc_stats gc;
  lh_counts counts;
  uint64_t entries;
  lh_error error;
  hl_read_options(L, 1, options, &wants);
  int rc = lh_stats(L, &gc, &error);
  if (rc == LH_OK && wants.objects) rc = lh_count_objects(L, &counts, epochs, MOST_EPOCHS, &error);
  if (rc == LH_OK && wants.entries) rc = lh_count_entries(L, &entries, &error);
  if (rc < 0) return luaL_error(L, "%s", error.message);
  push_gc_stats(L, &gc);
  if (wants.entries) hr_set_integer(L, "entries", entries);
  if (!wants.objects) return 1;
  hr_set_integer(L, "objects", counts.all.objects);
  hr_set_integer(L, "external_bytes", counts.external_bytes);
  push_count(L, &counts.dead);
  lua_setfield(L, -2, "dead");
  set_types(L, &counts);
  set_epochs(L, epochs, gc.marks < MOST_EPOCHS ? gc.marks + 1 : MOST_EPOCHS);
  return 1;
}

/* ==== Parts in Lua =================================================================== */

/* __index of the module: loads heap/leaks.lua when heap.leaks is first used. */
static int load_part(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "leaks") != 0) return 0;
  lua_settop(L, 2);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heap.leaks");
  lua_call(L, 1, 1);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_rawset(L, 1);
  return 1;
}

static void register_parts(lua_State *L) {
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, load_part);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

__attribute__((visibility("default"))) int luaopen_heap(lua_State *L);

int luaopen_heap(lua_State *L) {
  static const luaL_Reg functions[] = {{"snapshot", heap_snapshot},
                                       {"mark", heap_mark},
                                       {"sizeof", heap_sizeof},
                                       {"stats", heap_stats},
                                       {"track", hl_track},
                                       {"untrack", hl_untrack},
                                       {NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  hl_attach(L);
  register_jobs(L);
  lua_createtable(L, 0, 7);
  luaL_setfuncs(L, functions, 0);
  lua_pushstring(L, LH_VERSION);
  lua_setfield(L, -2, "_VERSION");
  hl_register(L);
  register_parts(L);
  return 1;
}
