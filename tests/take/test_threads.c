/*
** test_threads.c - two Lua states in two threads take snapshots at the same time, direct ones and
** in the background, while both allocate. `make check-tsan` runs it under ThreadSanitizer too.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "rooms/all.h"
#include "scene.h"

enum { N_THREADS = 2, ROUNDS = 20 };

typedef struct runner {
  pthread_t thread;
  int number;
  unsigned n_good;
  char problem[600]; /* cmocka's assertions belong to the main thread */
} runner;

static bool is_good(runner *r, int rc, const lh_error *error, const char *path) {
  lh_snapshot *snapshot;
  lh_error open_error;
  if (rc < 0) {
    (void)snprintf(r->problem, sizeof r->problem, "%s", error->message);
    return false;
  }
  if (lh_open(&snapshot, path, &open_error) < 0) {
    (void)snprintf(r->problem, sizeof r->problem, "%s", open_error.message);
    return false;
  }
  bool is_exact = lh_snapshot_info(snapshot)->unaccounted_bytes == 0;
  if (!is_exact) (void)snprintf(r->problem, sizeof r->problem, "'%s' is not exact", path);
  lh_close(snapshot);
  return is_exact;
}

static bool take_one(runner *r, lua_State *L, int round) {
  char path[32];
  lh_error error;
  (void)snprintf(path, sizeof path, "%d-%d", r->number, round);
  int rc = scene_take(L, path, round % 2 != 0, &error);
  bool good = is_good(r, rc, &error, path);
  (void)unlink(path);
  return good;
}

static void *run_thread(void *data) {
  static const char work[] =
      "kept = kept or {} for i = 1, 2000 do kept[i] = {i, ('x'):rep(i % 50)} end "
      "kept[2001] = coroutine.wrap(function() coroutine.yield() end) kept[2001]()";
  runner *r = data;
  lua_State *L = luaL_newstate();
  if (!L) return NULL;
  luaL_openlibs(L);
  bool good = lh_attach(L, NULL) == LH_OK;
  for (int round = 0; good && round < ROUNDS; round++) {
    good = luaL_dostring(L, work) == LUA_OK && take_one(r, L, round);
    if (good) r->n_good++;
  }
  lua_close(L);
  return NULL;
}

static void two_states_in_two_threads(void **state) {
  (void)state;
  runner runners[N_THREADS];
  unsigned n_good = 0;
  for (int i = 0; i < N_THREADS; i++) {
    runners[i] = (runner){.number = i};
    assert_int_equal(pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]), 0);
  }
  for (int i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_join(runners[i].thread, NULL), 0);
    if (*runners[i].problem) print_error("%s\n", runners[i].problem);
    n_good += runners[i].n_good;
  }
  printf("faults: two states in two threads at the same time: %d cases, %u survived\n",
         N_THREADS * ROUNDS, n_good);
  assert_int_equal(n_good, N_THREADS * ROUNDS);
}

/* ==== Small stacks ==================================================================== */

enum { STACK_BYTES = 1 << 18, UNTOUCHED = 0xA5 };
static _Alignas(64) unsigned char stack_of_thread[STACK_BYTES];

typedef struct shooter {
  lua_State *L;
  bool in_background;
  int rc;
  const unsigned char *frame;
} shooter;

static void *shoot(void *data) {
  shooter *s = data;
  lh_error error;
  s->frame = __builtin_frame_address(0);
  s->rc = scene_take(s->L, "small", s->in_background, &error);
  return NULL;
}

/* Bytes of its stack that a thread needs for a snapshot. */
static size_t stack_for(shooter *s) {
  pthread_attr_t attributes;
  pthread_t thread;
  size_t at = 0;
  memset(stack_of_thread, UNTOUCHED, sizeof stack_of_thread);
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstack(&attributes, stack_of_thread, STACK_BYTES), 0);
  assert_int_equal(pthread_create(&thread, &attributes, shoot, s), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(pthread_attr_destroy(&attributes), 0);
  assert_int_equal(s->rc, LH_OK);
  while (stack_of_thread[at] == UNTOUCHED) at++;
  return (size_t)(s->frame - &stack_of_thread[at]);
}

static void small_stacks(void **state) {
  enum { MOST = 12 << 10 };
  (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* their frames are bigger */
  skip();
#endif
  shooter s = {.L = luaL_newstate()};
  assert_non_null(s.L);
  luaL_openlibs(s.L);
  assert_int_equal(lh_attach(s.L, NULL), LH_OK);
  assert_in_range(stack_for(&s), 1, MOST);
  s.in_background = true;
  assert_in_range(stack_for(&s), 1, MOST);
  lua_close(s.L);
  (void)unlink("small");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_states_in_two_threads),
                                     cmocka_unit_test(small_stacks)};
  return folder_run(tests);
}
