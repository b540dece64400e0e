/*
** profiles.c - what heapprof tells about profiles, as Lua tables. A profile is read, counted and
** closed in one call: what an answer needs of it is in the answer.
*/
#include <string.h>

#include "handles.h"

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

/* {=== Options ======================================================================== */

/* The number of the word in the list, which ends with NULL; without the option 0. */
static unsigned word_option(lua_State *L, int index, const char *name, const char *const *words) {
  unsigned i = 0;
  if (hr_option(L, index, name)) {
    const char *word = lua_tostring(L, -1);
    while (words[i] && !(word && strcmp(word, words[i]) == 0)) i++;
    if (!words[i]) luaL_error(L, "'%s' is none of the words that it may be", name);
  }
  lua_pop(L, 1);
  return i;
}

/* In seconds after the start. */
static lh_moment moment_option(lua_State *L, int index, const char *name) {
  lh_moment moment = {.unit = LH_MOMENT_OPEN};
  if (hr_option(L, index, name)) {
    int is_number;
    lua_Number seconds = lua_tonumberx(L, -1, &is_number);
    if (!is_number || !(seconds >= 0 && seconds < 9e9))
      luaL_error(L, "'%s' must be a number of seconds", name);
    moment = (lh_moment){LH_MOMENT_TIME, (uint64_t)(seconds * 1e9)};
  }
  lua_pop(L, 1);
  return moment;
}

/* }=================================================================================== */

static int count_file(counted *c, size_t i, const char *path, const lh_usage_query *query,
                      lh_error *error) {
  int code = lh_profile_open(path, &c->profiles[i], error);
  return code == LH_OK ? lh_usage_new(&c->usages[i], c->profiles[i], query, error) : code;
}

/* profile(file, options) --> an answer | nil, message, code */
int hr_profile(lua_State *L) {
  static const char *const names[] = {"report", "by",          "order", "since",
                                      "before", "never_freed", "n",     NULL};
  static const char *const reports[] = {"allocations", "findings", "calls",
                                        "advice",      "profile",  NULL};
  static const char *const bys[] = {"site", "function", "type", "file", "stack", NULL};
  static const char *const orders[] = {"allocated", "live", "peak", "soon", NULL};
  const char *path = luaL_checkstring(L, 1);
  lh_error error;
  lua_settop(L, 2);
  hr_check_options(L, 2, names);
  unsigned report = word_option(L, 2, "report", reports);
  lh_request request = {.n_usages = 1, .names = &path, .n_names = 1};
  request.by = (lh_usage_by)word_option(L, 2, "by", bys);
  request.order = (lh_usage_order)word_option(L, 2, "order", orders);
  request.limit = (size_t)hr_integer_option(L, 2, "n", 0);
  lh_usage_query query = {.since = moment_option(L, 2, "since"),
                          .until = moment_option(L, 2, "before"),
                          .to_the_end = hr_boolean_option(L, 2, "never_freed"),
                          .peak = request.order == LH_MOST_AT_PEAK};
  if (query.to_the_end) request.order = LH_MOST_LIVE;
  counted *c = hr_hold(L, 0, sizeof *c, free_counted);
  int hold = lua_gettop(L);
  if (count_file(c, 0, path, &query, &error) != LH_OK) return hr_fail(L, &error);
  request.usages = (const lh_usage *const *)c->usages;
  int n_results = hr_answer_of(L, 0, reports[report], &request);
  hr_let_go(L, hold);
  return n_results;
}

/* compare_profiles(old, new) --> sites, those first that allocate more | nil, message, code */
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
