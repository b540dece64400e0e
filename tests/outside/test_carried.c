/*
** test_carried.c - the age of objects in snapshots from outside: what is compared of them is what
** the program's own snapshots say of the same moments. The mirror is this process's own memory.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compare/answers.h"
#include "folder.h"
#include "own_mirror.h"
#include "rooms/compare.h"

enum { A, B, C, N };

/* What leaks, what is replaced, what has finalizers, and garbage. */
static const char program[] =
    "list, cache, files = list or {}, {}, files or {}\n"
    "for i = 1, 500 do list[#list + 1] = {id = i, name = 'object ' .. #list} end\n"
    "for i = 1, 300 do cache[i] = {i, {}} end\n"
    "for i = 1, 9 do files[#files + 1] = setmetatable({}, {__gc = function() end}) end\n"
    "for i = 1, 5000 do local t = {i, tostring(i)} end\n";

/* A sanitizer lets nobody look in front of its own blocks, as is done to a state; where it does
** not, addresses are used again. */
static lua_State *new_host_state(void) {
#ifdef __SANITIZE_ADDRESS__
  lua_State *L = own_newstate();
#else
  lua_State *L = luaL_newstate();
#endif
  assert_non_null(L);
  luaL_openlibs(L);
  return L;
}

static void run_whole_program(lua_State *L) {
  assert_int_equal(luaL_dostring(L, program), LUA_OK);
}

static lh_snapshot *opened(const char *path) {
  lh_snapshot *s;
  lh_error error = {0};
  if (lh_open(&s, path, &error) < 0) fail_msg("%s", error.message);
  if (lh_verify(s, NULL, &error) < 0) fail_msg("%s", error.message);
  return s;
}

static lh_snapshot *from_outside(lua_State *L, const char *path, const lh_snapshot *after) {
  lh_mirrored m = in_call();
  lh_error error = {0};
  lh_outside_request request = {.path = path, .after = after};
  if (shoot(L, &m, &request, &error) < 0) fail_msg("%s", error.message);
  return opened(path);
}

static lh_snapshot *from_inside(lua_State *L, const char *path) {
  lh_error error = {0};
  if (lh_take_snapshot(L, path, LH_DEFAULT_STRING_BYTES, &error) < 0) fail_msg("%s", error.message);
  return opened(path);
}

static lh_diff *diff_of(lh_snapshot *const at[N]) {
  lh_diff *diff;
  lh_error error = {0};
  if (lh_diff_snapshots(at[A], at[B], at[C], &diff, &error)) fail_msg("%s", error.message);
  return diff;
}

static bool is_same(const lh_diff_group *x, const lh_diff_group *y) {
  return strcmp(x->class_name, y->class_name) == 0 && strcmp(x->held_by, y->held_by) == 0 &&
         x->objects == y->objects && x->retained_bytes == y->retained_bytes;
}

/* Each group of one is one of the other. */
static void expect_same(const lh_diff *x, const lh_diff *y) {
  assert_int_equal(x->objects, y->objects);
  assert_int_equal(x->shallow_bytes, y->shallow_bytes);
  assert_int_equal(x->n_groups, y->n_groups);
  for (size_t i = 0; i < x->n_groups; i++) {
    size_t k = 0;
    while (k < y->n_groups && !is_same(&x->groups[i], &y->groups[k])) k++;
    if (k == y->n_groups) fail_msg("only one has %s", x->groups[i].held_by);
  }
  assert_int_equal(x->n_grown, y->n_grown);
}

static void close_all(lh_snapshot *at[N]) {
  for (size_t i = 0; i < N; i++) lh_close(at[i]);
}

static void remove_files(void) {
  static const char *const names[] = {"a", "b", "c", "x", "y", "z"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) (void)unlink(names[i]);
}

/* Of a program, what it takes itself or what is taken of it. */
typedef struct comparison {
  lh_snapshot *at[N];
  lh_diff *diff;
} comparison;

static void end_comparison(comparison *of) {
  lh_diff_free(of->diff);
  close_all(of->at);
}

static comparison compare_inside(void) {
  static const char *const names[] = {"a", "b", "c"};
  lua_State *L = new_host_state();
  comparison of;
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  for (int i = 0; i < N; i++) {
    run_whole_program(L);
    of.at[i] = from_inside(L, names[i]);
  }
  of.diff = diff_of(of.at);
  lua_close(L);
  return of;
}

static comparison compare_outside(bool with_after) {
  static const char *const names[] = {"x", "y", "z"};
  lua_State *L = new_host_state();
  comparison of;
  for (int i = 0; i < N; i++) {
    run_whole_program(L);
    of.at[i] = from_outside(L, names[i], with_after && i > 0 ? of.at[i - 1] : NULL);
    assert_int_equal(lh_mark_count(of.at[i]), with_after ? i + 1 : 1);
  }
  of.diff = diff_of(of.at);
  lua_close(L);
  return of;
}

static void expect_as_inside(bool with_after) {
  comparison inside = compare_inside(), outside = compare_outside(with_after);
  expect_same(inside.diff, outside.diff);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(inside.diff->possibly_newer[i].objects, 0);
    assert_true(outside.diff->possibly_newer[i].objects < 100);
  }
  end_comparison(&inside);
  end_comparison(&outside);
  remove_files();
}

/* The files tell their marks' places. */
static void carried_marks_tell_what_is_new(void **state) {
  (void)state;
  expect_as_inside(true);
}

/* They are found when the files are compared. */
static void marks_that_were_not_carried_are_found(void **state) {
  (void)state;
  expect_as_inside(false);
}

/* Each of the three is taken from inside, or from outside at the same moment. */
static void both_kinds_can_be_mixed(void **state) {
  static const char *const names[2][N] = {{"a", "b", "c"}, {"x", "y", "z"}};
  lua_State *L = new_host_state();
  lh_snapshot *of[2][N];
  (void)state;
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  for (int i = 0; i < N; i++) {
    run_whole_program(L);
    of[1][i] = from_outside(L, names[1][i], i > 0 ? of[1][i - 1] : NULL);
    of[0][i] = from_inside(L, names[0][i]);
    assert_true(lh_is_same_state(of[0][i], of[1][i]));
  }
  lh_diff *whole = diff_of(of[0]);
  for (unsigned mix = 1; mix < 8; mix++) {
    lh_snapshot *at[N];
    for (int i = 0; i < N; i++) at[i] = opened(names[mix >> i & 1][i]);
    lh_diff *diff = diff_of(at);
    assert_int_equal(diff->objects, whole->objects);
    assert_int_equal(diff->n_groups, whole->n_groups);
    assert_int_equal(diff->n_grown, whole->n_grown);
    lh_diff_free(diff);
    close_all(at);
  }
  lh_diff_free(whole);
  close_all(of[0]);
  close_all(of[1]);
  lua_close(L);
  remove_files();
}

static void expect_refused(lua_State *L, const lh_snapshot *after, const char *what) {
  lh_mirrored m = in_call();
  lh_error error = {0};
  lh_outside_request request = {.path = "c", .after = after};
  assert_int_equal(shoot(L, &m, &request, &error), LH_EARGUMENT);
  assert_string_equal(error.message, what);
  assert_int_equal(access("c", F_OK), -1);
}

/* As after the program was started again. */
static void marks_of_another_state_are_refused(void **state) {
  lua_State *L = new_host_state();
  (void)state;
  lh_snapshot *a = from_outside(L, "a", NULL);
  lua_State *other = new_host_state();
  expect_refused(other, a, "'a' is of another process or state");
  lh_close(a);
  lua_close(other);
  lua_close(L);
  remove_files();
}

/* As of a core that is older than the snapshot. */
static void marks_of_a_newer_snapshot_are_refused(void **state) {
  lua_State *L = new_host_state();
  lh_carried_mark *marks;
  lh_error error = {0};
  char told[sizeof error.message];
  size_t n;
  (void)state;
  lh_snapshot *a = from_outside(L, "a", NULL), *b = from_outside(L, "b", a);
  assert_int_equal(lh_match_marks(b, a, &marks, &n, &error), LH_EARGUMENT);
  (void)snprintf(told, sizeof told, "'b' was not taken before this: it is of %s, and this of %s",
                 lh_time_text(lh_snapshot_info(b)->time_ns).text,
                 lh_time_text(lh_snapshot_info(a)->time_ns).text);
  assert_string_equal(error.message, told);
  assert_null(marks);
  lh_close(a);
  lh_close(b);
  lua_close(L);
  remove_files();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(carried_marks_tell_what_is_new),
      cmocka_unit_test(marks_that_were_not_carried_are_found),
      cmocka_unit_test(both_kinds_can_be_mixed),
      cmocka_unit_test(marks_of_another_state_are_refused),
      cmocka_unit_test(marks_of_a_newer_snapshot_are_refused),
  };
  return folder_run(tests);
}
