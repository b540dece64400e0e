/*
** test_faults.c - the system fails under a snapshot, at each of its calls in turn: there is never a
** damaged file under the final name, never a lost older file, nothing is left beside it, and the
** message names the cause.
**
** There are three ways to the name (file.h): nameless and linked, with a temporary name and
** renamed, and nameless but then not to be linked; each over an older file and without, in this
** process and in the background.
*/
#include <errno.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "faults.h"
#include "rooms/all.h"
#include "scene.h"

/* ==== Ways =========================================================================== */

typedef enum naming { NAMELESS, NAMED, UNLINKABLE, NAMINGS } naming;

typedef struct way {
  naming naming;
  bool older, background;
} way;

enum { WAYS = NAMINGS * 4 };

static way way_of(int i) {
  return (way){.naming = (naming)(i / 4), .older = i & 1, .background = i & 2};
}

/* Forgets all faults, and prepares the way. */
static void begin_way(way w) {
  faults_clear();
  if (w.naming == NAMED) faults_plan(FAULT_NAMELESS, 1, SIZE_MAX, EOPNOTSUPP);
  if (w.naming == UNLINKABLE) faults_plan(FAULT_LINKAT, 1, SIZE_MAX, EACCES);
  scene_set_older(w.older);
}

static void expect_nothing_lost(way w, int rc, const lh_error *error, int os_errno) {
  char expected[512];
  if (rc == LH_OK) {
    assert_true(scene_is_whole("a"));
  } else {
    assert_int_equal(error->code, LH_EIO);
    assert_int_equal(error->os_errno, os_errno);
    (void)snprintf(expected, sizeof expected, "cannot write 'a': %s", strerror(os_errno));
    assert_string_equal(error->message, expected);
    assert_true(scene_is_older(w.older));
  }
  assert_int_equal(scene_count_strays(), 0);
}

/* Takes a snapshot under the faults that are planned. Returns its code. */
static int survive(lua_State *L, way w, int os_errno) {
  lh_error error = {0};
  size_t descriptors = scene_count_descriptors();
  int rc = scene_take(L, "a", w.background, &error);
  expect_nothing_lost(w, rc, &error, os_errno);
  assert_int_equal(scene_count_descriptors(), descriptors);
  assert_int_equal(lua_gettop(L), 0);
  return rc;
}

static void report(const char *what, size_t cases) {
  faults_clear();
  (void)printf("faults: %s: %zu cases, %zu survived\n", what, cases, cases); /* else: no line */
}

/* ==== Each call in turn ============================================================== */

typedef enum outcome { WRITTEN, FAILED, EITHER } outcome;

/* What happens when a call fails: of the calls that only ask, or that there is another way for,
** nothing. */
static const struct kind {
  fault_call call;
  const char *name;
  outcome outcome;
} kinds[] = {
    {FAULT_FOLDER, "open, the directory", FAILED},
    {FAULT_FSTATAT, "fstatat", FAILED},
    {FAULT_NAMELESS, "open, nameless", WRITTEN},
    {FAULT_ACCESS, "access", WRITTEN},
    {FAULT_OPEN, "open", FAILED},
    {FAULT_FSTATFS, "fstatfs", WRITTEN},
    {FAULT_WRITE, "write", FAILED},
    {FAULT_FCNTL, "fcntl", WRITTEN},
    {FAULT_CLOSE, "close", EITHER}, /* of the file: failed; of what is only read: written */
    {FAULT_LINKAT, "linkat", WRITTEN},
    {FAULT_COPY, "sendfile", FAILED},
    {FAULT_RENAME, "rename", FAILED},
};

/* The n-th call of the kind, for n = 1, 2 ... as long as there is one; and all from the n-th on. */
static size_t fail_each(lua_State *L, way w, const struct kind *kind, int os_errno, bool rest) {
  bool failed = false;
  for (size_t n = 1;; n++) {
    assert_true(n < 100);
    begin_way(w);
    faults_plan(kind->call, n, rest ? SIZE_MAX : n, os_errno);
    int rc = survive(L, w, os_errno);
    if (faults()->calls[kind->call].seen < n) {
      assert_true(failed || n == 1 || kind->outcome == WRITTEN);
      return n - 1;
    }
    if (rc < 0) failed = true;
    if (kind->outcome != EITHER) assert_int_equal(failed, kind->outcome == FAILED);
  }
}

static void survives_each_call(void **state) {
#ifdef __SANITIZE_ADDRESS__ /* a fork takes ten times as long there */
  static const int reasons[] = {ENOSPC};
#else
  static const int reasons[] = {ENOSPC, EIO};
#endif
  size_t cases = 0;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    size_t of_kind = 0;
    for (int i = 0; i < WAYS; i++) {
      way w = way_of(i);
      if (w.naming == UNLINKABLE && kinds[k].call == FAULT_LINKAT) continue;
      if (w.naming == NAMED && kinds[k].call == FAULT_NAMELESS) continue;
      for (size_t r = 0; r < sizeof reasons / sizeof reasons[0]; r++) {
        of_kind += fail_each(*state, w, &kinds[k], reasons[r], false);
        of_kind += fail_each(*state, w, &kinds[k], reasons[r], true);
      }
    }
    assert_true(of_kind > 0);
    cases += of_kind;
  }
  report("a system call of the writer fails (ENOSPC, EIO)", cases);
}

/* Where no descriptor is left to ask with, fsync does. */
static void asks_in_another_way(void **state) {
  size_t cases = 0;
  for (int i = 0; i < WAYS; i++, cases += 2) {
    way w = way_of(i);
    begin_way(w);
    faults_plan(FAULT_FCNTL, 1, SIZE_MAX, EMFILE);
    assert_int_equal(survive(*state, w, 0), LH_OK);
    begin_way(w);
    faults_plan(FAULT_FCNTL, 1, SIZE_MAX, EMFILE);
    faults_plan(FAULT_FSYNC, 1, SIZE_MAX, EIO);
    assert_int_equal(survive(*state, w, EIO), LH_EIO);
  }
  report("no descriptor left", cases);
}

/* ==== Writes that take less ========================================================== */

static size_t write_in_pieces(lua_State *L, size_t bytes, bool interrupt) {
  for (int i = 0; i < WAYS; i++) {
    way w = way_of(i);
    begin_way(w);
    faults()->limited = true;
    faults()->write_bytes = bytes;
    faults()->interrupt = interrupt;
    assert_int_equal(survive(L, w, 0), LH_OK);
    assert_true(faults()->calls[FAULT_WRITE].seen > (interrupt ? 5 : 3));
  }
  return WAYS;
}

static void survives_short_writes(void **state) {
  size_t cases = 0;
  cases += write_in_pieces(*state, 509, false);
  cases += write_in_pieces(*state, 4096, false);
  cases += write_in_pieces(*state, (1 << 20) - 1, false);
  report("write takes less than it was given, at every call", cases);
  cases = write_in_pieces(*state, 4096, true) + write_in_pieces(*state, SIZE_MAX, true);
  report("EINTR at every write", cases);
  cases = 0;
  for (int i = 0; i < WAYS; i++, cases++) {
    begin_way(way_of(i));
    faults()->limited = true;
    assert_int_equal(survive(*state, way_of(i), EIO), LH_EIO);
  }
  report("write takes nothing", cases);
}

typedef struct sink {
  size_t calls, refuse_at, short_by;
} sink;

static size_t refuse(const void *data, size_t n, void *payload) {
  sink *s = payload;
  (void)data;
  return ++s->calls == s->refuse_at ? n - s->short_by : n;
}

static void survives_a_writer_that_refuses(void **state) {
  static const size_t short_by[] = {1, 100};
  size_t cases = 0;
  for (size_t k = 0; k < 2; k++) {
    int rc = LH_EIO;
    for (size_t n = 1; rc != LH_OK; n++, cases++) {
      lh_error error = {0};
      sink s = {.refuse_at = n, .short_by = short_by[k]};
      rc = lh_stream_snapshot(*state, "cut", refuse, &s, NULL, NULL, &error);
      assert_int_equal(lua_gettop(*state), 0);
      if (rc == LH_OK) break;
      assert_int_equal(rc, LH_EIO);
      assert_int_equal(s.calls, n); /* it is not asked again */
      assert_non_null(strstr(error.message, "the writer took too few bytes"));
    }
  }
  assert_true(cases >= 6);
  report("a program's writer takes less than it was given", cases);
}

/* ==== The folder changes meanwhile =================================================== */

static void remove_folder(void) {
  char folder[4096];
  (void)unlink("sub/a");
  if (!getcwd(folder, sizeof folder)) return;
  if (system("rm -rf sub") != 0) fail_msg("sub stays");
}

static void move_folder(void) {
  (void)rename("sub", "moved");
}

static void put_folder_in_place(void) {
  (void)unlink("sub/a");
  (void)mkdir("sub/a", 0700);
}

/* A folder that was moved has the file, whatever it is called by now. */
static void expect_moved(void) {
  assert_int_equal(access("sub", F_OK), -1);
  assert_true(scene_is_whole("moved/a"));
  assert_int_equal(unlink("moved/a"), 0);
  assert_int_equal(rmdir("moved"), 0); /* nothing else is in it */
}

/* Only ever "sub/a" in a folder of its own, which is cleared afterwards. */
static size_t change_folder(lua_State *L, void (*change)(void), int os_errno) {
  for (int i = 0; i < WAYS; i++) {
    way w = way_of(i);
    lh_error error = {0};
    char expected[512];
    begin_way(w);
    assert_int_equal(mkdir("sub", 0700), 0);
    if (w.older) assert_int_equal(rename("a", "sub/a"), 0);
    faults()->before_write = change;
    int rc = scene_take(L, "sub/a", w.background, &error);
    faults_clear();
    assert_int_equal(rc, os_errno ? LH_EIO : LH_OK);
    (void)snprintf(expected, sizeof expected, "cannot write 'sub/a': %s", strerror(os_errno));
    if (os_errno) assert_string_equal(error.message, expected);
    if (!os_errno) expect_moved();
    assert_int_equal(system("rm -rf sub"), 0);
    assert_int_equal(scene_count_strays(), 0);
  }
  return WAYS;
}

static void survives_a_folder_that_changes(void **state) {
  size_t cases = change_folder(*state, remove_folder, ENOENT);
  cases += change_folder(*state, move_folder, 0);
  cases += change_folder(*state, put_folder_in_place, EISDIR);
  report("the directory vanishes, moves, or changes while the file is written", cases);
}

/* ==================================================================================== */

/* A program that tries again and again on a full disk does not grow. */
static void leaves_nothing_in_the_heap(void **state) {
  lua_State *L = *state;
  int before = 0;
  for (int i = 0; i < 20; i++) {
    faults_clear();
    if (i % 2) {
      faults_plan(FAULT_SYSCALL, 1, 1, EAGAIN);
    } else {
      faults_plan(FAULT_WRITE, 1, 1, ENOSPC);
    }
    assert_int_equal(scene_take(L, "a", i % 2, NULL), LH_EIO);
    lua_gc(L, LUA_GCCOLLECT);
    lua_gc(L, LUA_GCCOLLECT); /* finalizers have run */
    int bytes = lua_gc(L, LUA_GCCOUNT) * 1024 + lua_gc(L, LUA_GCCOUNTB);
    assert_true(i < 2 || bytes == before); /* Lua's string table has shrunk */
    before = bytes;
  }
  assert_int_equal(lua_gettop(L), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(survives_each_call, scene_set_up, scene_tear_down),
      cmocka_unit_test_setup_teardown(asks_in_another_way, scene_set_up, scene_tear_down),
      cmocka_unit_test_setup_teardown(survives_short_writes, scene_set_up, scene_tear_down),
      cmocka_unit_test_setup_teardown(survives_a_writer_that_refuses, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(survives_a_folder_that_changes, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(leaves_nothing_in_the_heap, scene_set_up, scene_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
