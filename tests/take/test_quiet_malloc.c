/*
** test_quiet_malloc.c - between the call for a snapshot and the fork libc's malloc is not asked for
** anything, but by Lua's allocation function: where a program has just freed much, each small block
** takes the time of sorting what is free.
**
** The calls of the library and of this test are counted, those of Lua and libc are not.
*/
#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "rooms/all.h"
#include "scene.h"

/* The linker's names for the originals, and for ours. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void __real_free(void *block);
char *__real_strdup(const char *text);
char *__real_realpath(const char *path, char *out);
FILE *__real_fopen(const char *path, const char *mode);
void *__real_opendir(const char *path);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_realpath(const char *path, char *out);
FILE *__wrap_fopen(const char *path, const char *mode);
void *__wrap_opendir(const char *path);

static size_t n_calls;

void *__wrap_malloc(size_t bytes) {
  n_calls++;
  return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
  n_calls++;
  return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *block, size_t bytes) {
  n_calls++;
  return __real_realloc(block, bytes);
}

void __wrap_free(void *block) {
  n_calls++;
  __real_free(block);
}

char *__wrap_strdup(const char *text) {
  n_calls++;
  return __real_strdup(text);
}

char *__wrap_realpath(const char *path, char *out) {
  n_calls++;
  return __real_realpath(path, out);
}

FILE *__wrap_fopen(const char *path, const char *mode) {
  n_calls++;
  return __real_fopen(path, mode);
}

void *__wrap_opendir(const char *path) {
  n_calls++;
  return __real_opendir(path);
}

/* Without this the zeros below would say nothing. */
static void is_counted(void **state) {
  lh_file *file;
  (void)state;
  n_calls = 0;
  assert_int_equal(lh_create_file(&file, "a", NULL), LH_OK);
  assert_int_not_equal(n_calls, 0);
  lh_discard_file(file);
}

static void is_not_asked_by_a_background_snapshot(void **state) {
  lh_job *job;
  for (int i = 0; i < 3; i++) {
    n_calls = 0;
    assert_int_equal(lh_start_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, &job, NULL), LH_OK);
    assert_int_equal(n_calls, 0);
    assert_int_equal(lh_job_wait(job, -1, NULL), LH_OK);
    lh_job_free(job);
    assert_int_equal(n_calls, 0);
  }
  assert_true(scene_is_whole("a"));
}

static void is_not_asked_by_a_plain_snapshot(void **state) {
  n_calls = 0;
  assert_int_equal(lh_take_snapshot(*state, "a", LH_DEFAULT_STRING_BYTES, NULL), LH_OK);
  assert_int_equal(n_calls, 0);
  assert_true(scene_is_whole("a"));
}

typedef struct told {
  size_t n_written, n_failed;
  size_t n_calls; /* of malloc and the like, when the last file was reported */
} told;

static void note_report(const lh_watch_report *report, void *payload) {
  told *t = payload;
  t->n_calls = n_calls;
  *(report->error ? &t->n_failed : &t->n_written) += 1;
  (void)unlink(report->path);
}

/* Runs Lua code until so many files were reported. */
static void ask_until_told(lua_State *L, told *t, size_t n_files) {
  (void)raise(SIGUSR2);
  while (t->n_written + t->n_failed < n_files) {
    if (luaL_dostring(L, "for i = 1, 10000 do local t = {i} end"))
      fail_msg("%s", lua_tostring(L, -1));
  }
}

static void is_not_asked_by_a_trigger(void **state) {
  for (int background = 0; background < 2; background++) {
    told t = {0};
    lh_watch_options options = {.program = "test",
                                .signal_number = SIGUSR2,
                                .background = background,
                                .report = note_report,
                                .payload = &t};
    assert_int_equal(lh_watch(*state, &options, NULL), LH_OK);
    n_calls = 0;
    for (size_t i = 1; i <= 3; i++) ask_until_told(*state, &t, i);
    assert_int_equal(t.n_calls, 0);
    assert_int_equal(t.n_failed, 0);
    lh_unwatch(*state);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(is_counted, scene_set_up, scene_tear_down),
      cmocka_unit_test_setup_teardown(is_not_asked_by_a_background_snapshot, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(is_not_asked_by_a_plain_snapshot, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(is_not_asked_by_a_trigger, scene_set_up, scene_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
