/*
** test_texts.c - strings whose text the allocation function of their birth frees, as in Lua 5.5:
** our functions leave, and the texts of that time are freed all the same, by the host.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "any_lua.h"
#include "rooms/all.h"
#include "take/raw.h"
#include "track/recorder.h"

/* Keeps the size of each block in front of it. */
typedef struct host {
  lua_State *L;
  uint64_t live_blocks, n_wrong; /* sizes that it was told */
} host;

enum { HEAD = 16 };

static void *allocate_with_size(void *data, void *block, size_t old_bytes, size_t bytes) {
  host *h = data;
  char *old = block ? (char *)block - HEAD : NULL;
  if (old) h->n_wrong += memcmp(old, &old_bytes, sizeof old_bytes) != 0;
  if (bytes == 0) {
    h->live_blocks -= old != NULL;
    free(old);
    return NULL;
  }
  char *made = realloc(old, HEAD + bytes);
  if (!made) return NULL;
  h->live_blocks += old == NULL;
  memcpy(made, &bytes, sizeof bytes);
  return made + HEAD;
}

/* Pushes a string with few bytes, made in a big buffer: its text is external, too. */
static int make_short(lua_State *L) {
  luaL_Buffer b;
  (void)luaL_buffinitsize(L, &b, 5000);
  luaL_addstring(&b, "abc");
  luaL_pushresult(&b);
  return 1;
}

static void begin_host(host *h) {
  *h = (host){0};
  h->L = any_newstate(allocate_with_size, h);
  assert_non_null(h->L);
  luaL_openlibs(h->L);
  lua_register(h->L, "short", make_short);
  assert_int_equal(lh_attach(h->L, NULL), LH_OK);
}

static void run_program(host *h, const char *program) {
  if (luaL_dostring(h->L, program) != LUA_OK) fail_msg("%s", lua_tostring(h->L, -1));
}

static void end_host(host *h) {
  lua_close(h->L);
  assert_int_equal(h->live_blocks, 0);
  assert_int_equal(h->n_wrong, 0);
}

/* Who frees the text of the global, or the host itself where nobody frees it apart. */
static const void *owner_of(host *h, const char *global) {
  const void *owner = h;
  lua_getglobal(h->L, global);
#if LH_LUA == 505
  const raw_string *s = (const raw_string *)lh_stack_slot(h->L, lua_gettop(h->L))->as.object;
  assert_int_equal(raw_kind_of_string(s), RAW_STRING_EXTERNAL);
  owner = raw_body(&lh_layouts[0], s)->free_data;
#endif
  lua_pop(h->L, 1);
  return owner;
}

static const char texts[] =
    "before = ('x'):rep(5000) page = ('x'):rep(6000) few = short()\n"
    "local t = {} for i = 1, 100 do t[i] = ('y'):rep(2000 + i) .. i end";

static void recorders_leave_texts_to_the_host(void **state) {
  static const lh_track_options ways[] = {{.brief = true}, {.sample_bytes = INT64_MAX / 4}};
  (void)state;
  for (int i = 0; i < 2; i++) {
    host h;
    void *data;
    begin_host(&h);
    run_program(&h, "before = ('x'):rep(5000)");
    assert_int_equal(lh_track(h.L, &ways[i], NULL), LH_OK);
    assert_ptr_equal(owner_of(&h, "before"), &h);
    run_program(&h, texts);
    assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    assert_null(lh_recorder_of(h.L));
    assert_ptr_equal(lua_getallocf(h.L, &data), allocate_with_size);
    assert_ptr_equal(owner_of(&h, "page"), &h);
    assert_ptr_equal(owner_of(&h, "few"), &h);
    run_program(&h, "page = nil collectgarbage()");
    end_host(&h);
  }
}

/* A recorder whose blocks live stays, and frees the texts of its time to the end. */
static void recorders_that_stay_free_texts(void **state) {
  static const lh_track_options ways[] = {{.pool = LH_POOL_ALWAYS}, {.pool = LH_POOL_NEVER}};
  (void)state;
  for (int i = 0; i < 2; i++) {
    host h;
    begin_host(&h);
    run_program(&h, "before = ('x'):rep(5000)");
    assert_int_equal(lh_track(h.L, &ways[i], NULL), LH_OK);
    run_program(&h, texts);
    run_program(&h, "before = nil collectgarbage() page = ('z'):rep(7000)");
    assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    assert_non_null(lh_recorder_of(h.L));
    run_program(&h, texts);
    run_program(&h, "page = nil collectgarbage() page = ('z'):rep(7000)");
    end_host(&h);
  }
}

static void watchers_leave_texts_to_who_is_behind(void **state) {
  static const lh_watch_options options = {.at_bytes = (uint64_t)1 << 50};
  static const lh_track_options tracked = {.pool = LH_POOL_ALWAYS};
  (void)state;
  for (int tracks = 0; tracks < 2; tracks++) {
    host h;
    begin_host(&h);
    assert_int_equal(lh_watch(h.L, &options, NULL), LH_OK);
    if (tracks) assert_int_equal(lh_track(h.L, &tracked, NULL), LH_OK);
    run_program(&h, texts);
    lh_unwatch(h.L);
    const void *recorder = LH_LUA == 505 ? lh_recorder_of(h.L) : NULL;
    assert_ptr_equal(owner_of(&h, "page"), recorder ? recorder : &h);
    end_host(&h);
  }
}

/* A recorder that begins behind a watcher frees the watcher's older texts, too: as they are. */
static void texts_from_before_are_known(void **state) {
  static const lh_watch_options options = {.at_bytes = (uint64_t)1 << 50};
  static const lh_track_options tracked = {.pool = LH_POOL_NEVER, .exact_bytes = 1 << 20};
  (void)state;
  host h;
  begin_host(&h);
  assert_int_equal(lh_watch(h.L, &options, NULL), LH_OK);
  run_program(&h, texts);
  assert_int_equal(lh_track(h.L, &tracked, NULL), LH_OK);
  run_program(&h, "before, few = nil collectgarbage() page = page .. 'z'");
  lh_unwatch(h.L);
  run_program(&h, texts);
  end_host(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(recorders_leave_texts_to_the_host),
                                     cmocka_unit_test(recorders_that_stay_free_texts),
                                     cmocka_unit_test(texts_from_before_are_known),
                                     cmocka_unit_test(watchers_leave_texts_to_who_is_behind)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
