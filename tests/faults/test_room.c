/*
** test_room.c - free space and file size limits: no file is begun for which there is no room, the
** message says how much it needs, and SIGXFSZ kills nobody.
*/
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "faults.h"
#include "file.h"
#include "rooms/all.h"
#include "rooms/take.h"
#include "scene.h"
#include "take/walk.h"
#include "take/writer.h"
#include "track/track.h"

static uint64_t size_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (uint64_t)info.st_size;
}

static void forge_disk(uint64_t free_bytes, uint64_t total_bytes) {
  faults_clear();
  faults()->forged_disk = true;
  faults()->free_bytes = free_bytes;
  faults()->total_bytes = total_bytes;
}

/* `from` and `to`: how the message starts and ends, before and behind how much is needed. */
static void expect_no_room(lua_State *L, bool background, int os_errno, const char *from,
                           const char *to) {
  lh_error error = {0};
  scene_set_older(true);
  assert_int_equal(scene_take(L, "a", background, &error), LH_EIO);
  assert_memory_equal(error.message, from, strlen(from));
  assert_string_equal(error.message + strlen(error.message) - strlen(to), to);
  assert_int_equal(error.os_errno, os_errno);
  assert_int_equal(faults()->calls[FAULT_WRITE].seen, 0);
  assert_true(scene_is_older(true));
  assert_int_equal(scene_count_strays(), 0);
}

static void tells_sizes_that_read_alike_to_the_byte(void **state) {
  (void)state;
  lh_error error;
  lh_file_failure failure = {.os_errno = ENOSPC, .needed = 1300001, .room = 1300000};
  assert_int_equal(lh_file_fail(&failure, "a", &error), LH_EIO);
  assert_string_equal(error.message,
                      "cannot write 'a': the file needs 1,300,001 B and "
                      "1,300,000 B are free");
}

static void begins_no_file_that_does_not_fit(void **state) {
  static const char short_strings[] = "t = {} for i = 1, 2000 do t[i] = 's' .. i end";
  size_t cases = 0;
  assert_int_equal(luaL_dostring(*state, short_strings), LUA_OK);
  for (int background = 0; background < 2; background++, cases += 4) {
    forge_disk(1300000, 1 << 30);
    expect_no_room(*state, background, ENOSPC, "cannot write 'a': the file needs 1.",
                   " MB and 1.2 MB are free");
    forge_disk(1024, 1 << 30);
    expect_no_room(*state, background, ENOSPC, "cannot write 'a': the file needs at least ",
                   " KB and 1.0 KB are free");
    forge_disk(0, 1 << 30);
    expect_no_room(*state, background, ENOSPC, "cannot write 'a': the file needs at least ",
                   " KB and 0 B are free");
    forge_disk(0, 0); /* a disk that does not say how big it is */
    assert_int_equal(scene_take(*state, "a", background, NULL), LH_OK);
    assert_true(scene_is_whole("a"));
  }
  faults_clear();
  (void)printf("faults: a disk with too little room: %zu cases, %zu survived\n", cases, cases);
}

/* Takes a snapshot in a process of its own, so that the heap stays as it is. */
static int take_with_room(lua_State *L, bool background, uint64_t room) {
  int status;
  scene_set_older(false);
  forge_disk(room, 1 << 30);
  pid_t pid = fork();
  if (pid == 0) _exit(scene_take(L, "a", background, NULL) == LH_OK ? 0 : 1);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* The size that is measured is the file's: it fits where there is so much room, and not with one
** byte less. */
static void measures_the_file(void **state) {
  for (int background = 0; background < 2; background++) {
    assert_int_equal(take_with_room(*state, background, 1 << 30), 0);
    uint64_t bytes = size_of("a");
    assert_int_equal(take_with_room(*state, background, bytes - 1), 1);
    assert_int_equal(take_with_room(*state, background, bytes), 0);
    assert_true(scene_is_whole("a"));
    assert_int_equal(size_of("a"), bytes);
  }
  faults_clear();
}

/* 0: all limits were survived, in a process that SIGXFSZ would kill. */
static int try_limits(lua_State *L) {
  uint64_t bytes = size_of("a");
  for (int i = 0; i <= 20; i++) {
    struct rlimit limit = {.rlim_cur = bytes * (uint64_t)i / 10, .rlim_max = RLIM_INFINITY};
    bool enough = limit.rlim_cur > bytes + 4096;
    for (int background = 0; background < 2; background++) {
      lh_error error = {0};
      if (setrlimit(RLIMIT_FSIZE, &limit) < 0) return 1;
      int rc = scene_take(L, "b", background, &error);
      if ((rc == LH_OK) != enough) return 2;
      if (rc < 0 && (error.os_errno != EFBIG || !strstr(error.message, "(ulimit -f)"))) return 3;
      if ((access("b", F_OK) == 0) != enough) return 4;
      (void)unlink("b");
    }
  }
  return 0;
}

static void is_not_killed_by_a_size_limit(void **state) {
  int status;
  assert_int_equal(scene_take(*state, "a", false, NULL), LH_OK);
  pid_t pid = fork();
  if (pid == 0) {
    (void)signal(SIGXFSZ, SIG_DFL);
    _exit(try_limits(*state));
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 0);
  (void)printf("faults: a file size limit, SIGXFSZ not ignored: 42 cases, 42 survived\n");
}

/* ==== The bounds ==================================================================== */

static size_t count_bytes(const void *data, size_t n, void *payload) {
  (void)data;
  *(uint64_t *)payload += n;
  return n;
}

/* Heaps whose files are as long, or as short, as can be. */
static void bounds_hold_on_any_heap(void **state) {
  static const char *const programs[] = {
      "",
      "local s = 'return function() return {' .. ('function() end,'):rep(8000) .. '} end'\n"
      "for i = 1, 20 do t[i] = load(s) end",
      "local s = {} for i = 1, 200 do s[i] = 'local a' .. i .. ' = {}' end\n"
      "s[201] = 'return function() return a1' for i = 2, 200 do s[i + 200] = ', a' .. i end\n"
      "s = table.concat(s, ' ') .. ' end' for i = 1, 2000 do t[i] = load(s)() end",
      "for i = 1, 2000 do t[i] = coroutine.wrap(function(...) local a, b, c = {}, ... \n"
      "coroutine.yield() return a, ... end) t[i](table.unpack({}, 1, 200)) end",
      "for i = 1, 100000 do t[i] = math.mininteger + i end",
      "for i = 1, 50000 do t[math.mininteger + i] = -i - (1 << 62) end",
      "for i = 1, 50000 do t[i] = tostring(i) end",
      "t[1] = ('x'):rep(1 << 22)",
      "for i = 1, 1 << 20 do t[i] = i end for i = 1, 1 << 20 do t[i] = nil end",
      "for i = 1, 2000 do t[i] = load('local s = ... return {}, s .. s', '@' .. ('x'):rep(200) .. "
      "i) t[i]('a') end",
  };
  (void)state;
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    for (int mode = 0; mode < 4; mode++) {
      bool is_tracked = mode & 2;
      lh_take_options options = {.string_bytes = mode & 1 ? UINT64_MAX : 0};
      lh_taken taken;
      uint64_t bytes = 0;
      lua_State *L = luaL_newstate();
      luaL_openlibs(L);
      assert_int_equal(luaL_dostring(L, "t = {}"), LUA_OK);
      assert_int_equal(lh_attach(L, NULL), LH_OK);
      if (is_tracked)
        assert_int_equal(lh_track(L, &(lh_track_options){.stacks = true}, NULL), LH_OK);
      assert_int_equal(luaL_dostring(L, programs[i]), LUA_OK);
      assert_int_equal(lh_stream_snapshot(L, "s", count_bytes, &bytes, &options, &taken, NULL),
                       LH_OK);
      uint64_t sites_bytes = is_tracked ? lh_sites_longest(lh_recorder_of(L)) : 0;
      assert_in_range(bytes, lh_out_shortest(0),
                      lh_out_longest(taken.bytes, sites_bytes, options.string_bytes));
      assert_true(taken.objects * 3 < bytes);
      lua_close(L);
    }
  }
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_sizes_that_read_alike_to_the_byte),
      cmocka_unit_test_setup_teardown(begins_no_file_that_does_not_fit, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(measures_the_file, scene_set_up, scene_tear_down),
      cmocka_unit_test_setup_teardown(is_not_killed_by_a_size_limit, scene_set_up, scene_tear_down),
      cmocka_unit_test(bounds_hold_on_any_heap)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
