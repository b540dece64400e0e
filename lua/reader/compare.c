/*
** compare.c - Compares two or three snapshots, marks, any number of snapshots, and profiles.
*/
#include <string.h>

#include "handles.h"

/* ==== Names ========================================================================== */

/* Pushes the name of the snapshot at `index`: its file's name. */
static const char *push_name(lua_State *L, int index) {
  if (lua_getiuservalue(L, index, 1) == LUA_TSTRING) return lua_tostring(L, -1);
  lua_pop(L, 1);
  return lua_pushstring(L, lh_snapshot_info(hr_check_snapshot(L, index)->snapshot)->name);
}

static const char **push_list(lua_State *L, size_t n) {
  return lua_newuserdatauv(L, (n + 1) * sizeof(const char *), 0);
}

/* ==== Two or three snapshots ========================================================= */

int hr_since(lua_State *L) {
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  lh_request request = {.since = luaL_checkstring(L, 2), .until = luaL_optstring(L, 3, NULL)};
  lua_settop(L, 3);
  const char *name = push_name(L, 1);
  request.names = &name;
  request.n_names = 1;
  return hr_answer_of(L, 1, "diff", &request);
}

static void sort_by_time(lua_State *L, int n) {
  for (int i = 2; i <= n; i++) {
    for (int k = i; k > 1; k--) {
      if (!lh_is_earlier(hr_check_snapshot(L, k)->snapshot, hr_check_snapshot(L, k - 1)->snapshot))
        break;
      lua_pushvalue(L, k);
      lua_copy(L, k - 1, k);
      lua_replace(L, k - 1);
    }
  }
}

static bool is_of_state(const hr_snapshot *a, const hr_snapshot *b) {
  return lh_snapshot_info(a->snapshot)->state_id == lh_snapshot_info(b->snapshot)->state_id;
}

/* A middle snapshot of one state needs no analysis: only its objects and entries are compared. */
static int answer_of(lua_State *L, int n, const char *question) {
  lh_snapshot *snapshots[3] = {NULL};
  lh_request request = {.snapshots = snapshots, .n_snapshots = (size_t)n, .n_names = (size_t)n};
  sort_by_time(L, n);
  for (int i = 1; i <= n; i++) (void)hr_hold(L, i, 0, NULL);
  for (int i = 1; i <= n; i++) {
    hr_snapshot *of = hr_check_snapshot(L, i);
    bool is_middle = i == 2 && n == 3 && is_of_state(of, hr_check_snapshot(L, 3));
    snapshots[i - 1] = is_middle ? hr_opened(L, of) : hr_analysed(L, of);
  }
  const char **names = push_list(L, (size_t)n);
  for (int i = 1; i <= n; i++) names[i - 1] = push_name(L, i);
  request.names = names;
  int n_results = hr_answer_of(L, n, question, &request);
  for (int i = 1; i <= n; i++) hr_let_go(L, n + i);
  return n_results;
}

/* With two snapshots: what appeared and vanished. With three: what was allocated between the two
** oldest and is alive in the youngest. */
int hr_diff(lua_State *L) {
  int n = lua_isnoneornil(L, 3) ? 2 : 3;
  bool apart = false;
  lua_settop(L, n);
  for (int i = 1; i <= n; i++)
    apart |= !is_of_state(hr_check_snapshot(L, 1), hr_check_snapshot(L, i));
  return answer_of(L, n, apart ? "apart" : "diff");
}

int hr_strings(lua_State *L) {
  lua_settop(L, 2);
  (void)hr_check_snapshot(L, 1);
  (void)hr_check_snapshot(L, 2);
  return answer_of(L, 2, "strings");
}

/* ==== Any number of snapshots ======================================================== */

static void free_ladder(void *content) {
  lh_ladder_free(*(lh_ladder **)content);
}

/* Stack indexes in a call: the ladder after the arguments, then the names. */
enum { LADDER = 3, NAMES = 4 };

static lh_ladder **push_ladder(lua_State *L) {
  lh_error error;
  lua_settop(L, 2);
  lh_ladder **ladder = hr_hold(L, 0, sizeof(lh_ladder *), free_ladder);
  hr_check(L, hr_filled(L, LADDER, lh_ladder_new(ladder, &error)), &error);
  lua_newtable(L);
  return ladder;
}

/* Adds the snapshot or file name on the top, and pops it. Closes a snapshot that it opened. */
static int add_step(lua_State *L, lh_ladder *ladder, lh_error *error) {
  int at = lua_gettop(L), code = LH_OK;
  bool is_file = lua_type(L, at) == LUA_TSTRING;
  if (!is_file && !hr_test(L, at, hr_snapshot_kind))
    luaL_error(L, "a list of snapshots, or of names of files, is needed");
  if (is_file) code = hr_open_file(L, at, error);
  if (code == LH_OK) {
    (void)hr_hold(L, lua_gettop(L), 0, NULL);
    code = lh_ladder_add(ladder, hr_analysed(L, hr_check_snapshot(L, -2)), error);
    hr_let_go(L, -1);
    lua_pop(L, 1);
  }
  (void)push_name(L, -1);
  lua_rawseti(L, NAMES, (lua_Integer)lua_rawlen(L, NAMES) + 1);
  if (is_file) {
    (void)lua_getfield(L, -1, "close");
    lua_pushvalue(L, -2);
    lua_call(L, 1, 0);
  }
  lua_settop(L, at - 1);
  return code;
}

static int add_steps(lua_State *L, int index, lh_ladder *ladder, lh_error *error) {
  int code = LH_OK;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_Integer i = 1; code == LH_OK; i++) {
    if (lua_geti(L, index, i) == LUA_TNIL) break;
    code = add_step(L, ladder, error);
  }
  return code;
}

static int answer_of_ladder(lua_State *L, const lh_ladder *ladder, const char *question) {
  lh_request request = {.ladder = ladder, .n_names = lua_rawlen(L, NAMES)};
  const char **names = push_list(L, request.n_names);
  for (size_t i = 0; i < request.n_names; i++) {
    (void)lua_rawgeti(L, NAMES, (lua_Integer)i + 1);
    names[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  request.names = names;
  int n_results = hr_answer_of(L, 0, question, &request);
  hr_let_go(L, LADDER);
  return n_results;
}

int hr_growth(lua_State *L) {
  lh_ladder **ladder = push_ladder(L);
  lh_error error;
  if (add_steps(L, 1, *ladder, &error) != LH_OK) return hr_fail(L, &error);
  return answer_of_ladder(L, *ladder, "ladder");
}

int hr_compare(lua_State *L) {
  lh_ladder **ladder = push_ladder(L);
  lh_error error;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Unsigned n = lua_rawlen(L, 1);
  luaL_argcheck(L, n == lua_rawlen(L, 2) && (n == 1 || n == 2), 2,
                "one snapshot before and one after, or two of each");
  int code = add_steps(L, 1, *ladder, &error);
  if (code == LH_OK) code = add_steps(L, 2, *ladder, &error);
  if (code != LH_OK) return hr_fail(L, &error);
  return answer_of_ladder(L, *ladder, "compare");
}

int hr_owners(lua_State *L) {
  lh_ladder **ladder = push_ladder(L);
  lh_error error;
  if (add_steps(L, 1, *ladder, &error) != LH_OK) return hr_fail(L, &error);
  return answer_of_ladder(L, *ladder, "owners");
}

/* ==== Profiles ===================================================================== */

/* A profile is read, counted and closed in one call; the answer does not refer to it. */

typedef struct counted {
  lh_profile *profiles[2];
  lh_usage *usages[2];
} counted;

static void free_counted(void *content) {
  counted *c = content;
  for (size_t i = 0; i < 2; i++) {
    lh_usage_free(c->usages[i]);
    lh_profile_close(c->profiles[i]);
  }
}

static int count_file(counted *c, size_t i, const char *path, const lh_usage_query *query,
                      lh_error *error) {
  int code = lh_profile_open(path, &c->profiles[i], error);
  return code == LH_OK ? lh_usage_new(&c->usages[i], c->profiles[i], query, error) : code;
}

typedef struct profile_options {
  lh_request request;
  unsigned report;
  double since, before;
  bool has_since, has_before, never_freed;
} profile_options;

/* In seconds after the start. */
static lh_moment moment_of(bool is_given, double seconds) {
  return is_given ? (lh_moment){LH_MOMENT_TIME, (uint64_t)(seconds * 1e9)}
                  : (lh_moment){.unit = LH_MOMENT_OPEN};
}

int hr_profile(lua_State *L) {
#define FIELD(field) offsetof(profile_options, field)
  static const char *const reports[] = {"allocations", "findings", "calls",
                                        "advice",      "profile",  NULL};
  static const char *const bys[] = {"site", "function", "type", "file", "stack", NULL};
  static const char *const orders[] = {"allocated", "live", "peak", "soon", NULL};
  static const hl_option options[] = {
      {"report", HL_WORD, .field = FIELD(report), .words = reports},
      {"by", HL_WORD, .field = FIELD(request.by), .words = bys},
      {"order", HL_WORD, .field = FIELD(request.order), .words = orders},
      {"since", HL_SECONDS, .field = FIELD(since), .given = FIELD(has_since)},
      {"before", HL_SECONDS, .field = FIELD(before), .given = FIELD(has_before)},
      {"never_freed", HL_FLAG, .field = FIELD(never_freed)},
      {"n", HL_COUNT, .field = FIELD(request.limit)},
      {0}};
#undef FIELD
  const char *path = luaL_checkstring(L, 1);
  lh_error error;
  profile_options o = {.request = {.n_usages = 1, .names = &path, .n_names = 1}};
  hl_read_options(L, 2, options, &o);
  lh_usage_query query = {.since = moment_of(o.has_since, o.since),
                          .until = moment_of(o.has_before, o.before),
                          .to_the_end = o.never_freed,
                          .peak = o.request.order == LH_MOST_AT_PEAK};
  if (query.to_the_end) o.request.order = LH_MOST_LIVE;
  counted *c = hr_hold(L, 0, sizeof *c, free_counted);
  int hold = lua_gettop(L);
  if (count_file(c, 0, path, &query, &error) != LH_OK) return hr_fail(L, &error);
  o.request.usages = (const lh_usage *const *)c->usages;
  int n_results = hr_answer_of(L, 0, reports[o.report], &o.request);
  hr_let_go(L, hold);
  return n_results;
}

int hr_compare_profiles(lua_State *L) {
  const char *paths[] = {luaL_checkstring(L, 1), luaL_checkstring(L, 2)};
  lh_request request = {.n_usages = 2, .names = paths, .n_names = 2};
  lh_error error;
  lua_settop(L, 2);
  counted *c = hr_hold(L, 0, sizeof *c, free_counted);
  int hold = lua_gettop(L);
  for (size_t i = 0; i < 2; i++)
    if (count_file(c, i, paths[i], &(lh_usage_query){.peak = false}, &error) != LH_OK)
      return hr_fail(L, &error);
  request.usages = (const lh_usage *const *)c->usages;
  int n_results = hr_answer_of(L, 0, "allocation_changes", &request);
  hr_let_go(L, hold);
  return n_results;
}
