/* track.c - heap.track and heap.untrack (rooms/take.h). heap/meta.lua documents the options. */
#include "host.h"
#include "options.h"

/* true | nil, message, errno */
static int push_outcome(lua_State *L, int code, const lh_error *error) {
  if (code != LH_OK) return hl_fail(L, error);
  lua_pushboolean(L, 1);
  return 1;
}

int hl_start_tracking(lua_State *L, const lh_track_options *options) {
  lh_error error;
  const char *of_profile = options->aggregate ? "aggregate" : options->time ? "time" : NULL;
  if (of_profile && !options->file) {
    lua_pushnil(L);
    lua_pushfstring(L, "'%s' is about a profile, and no file is given for one", of_profile);
    lua_pushinteger(L, 0);
    return 3;
  }
  hr_stay_loaded();
  return push_outcome(L, lh_track(L, options, &error), &error);
}

int hl_track(lua_State *L) {
  struct wanted {
    lh_track_options track;
    bool pool, has_pool;
  } wanted = {.pool = false};
#define FIELD(its) offsetof(struct wanted, track.its)
  static const hl_option options[] = {
      HL_TRACK_OPTIONS(FIELD),
      {"file", HL_TEXT, .field = offsetof(struct wanted, track.file),
       .need = "must be the name of a file"},
      {"pool", HL_SWITCH, .field = offsetof(struct wanted, pool),
       .given = offsetof(struct wanted, has_pool)},
      {0}};
#undef FIELD
  hl_read_options(L, 1, options, &wanted);
  if (wanted.has_pool) wanted.track.pool = wanted.pool ? LH_POOL_ALWAYS : LH_POOL_NEVER;
  return hl_start_tracking(L, &wanted.track);
}

int hl_untrack(lua_State *L) {
  lh_error error;
  return push_outcome(L, lh_untrack(L, &error), &error);
}
