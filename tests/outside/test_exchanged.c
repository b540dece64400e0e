/*
** test_exchanged.c - files that their owner exchanges while they are opened (lib/open.h).
**
** The linker puts the functions below in place of each call that finds, looks at or opens a file.
** Before each call in turn a name gets another meaning: a FIFO, a device, a link that leads out, a
** link of /proc. Each descriptor that was opened for more than O_PATH has to be a regular file, and
** never the secret one.
*/
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "game.h"
#include "open.h"
#include "outside/symbols.h"

/* ==== Between the steps ============================================================== */

static char there[128]; /* the name that is exchanged; "": none */
static struct {
  size_t calls, at; /* the call before which that happens; 0: none */
  size_t opened;
  bool is_old_kernel; /* without openat2 */
} plan;
static ino_t secret; /* a file that is never opened */

int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __real_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out);
long __real_syscall(long number, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out);
long __wrap_syscall(long number, ...);

/* "bad" gets the name, at once; the old file stays as "old". */
static void step(void) {
  if (++plan.calls != plan.at || there[0] == '\0') return;
  assert_int_equal(rename(there, "old"), 0);
  assert_int_equal(rename("bad", there), 0);
}

static int look_at_opened(int fd, int flags) {
  struct stat status;
  if (fd < 0 || flags & O_PATH) return fd;
  int os_errno = errno;
  plan.opened++;
  assert_int_equal(fstat(fd, &status), 0);
  assert_true(S_ISREG(status.st_mode));
  assert_true(status.st_ino != secret);
  errno = os_errno;
  return fd;
}

int __wrap_open(const char *path, int flags, ...) {
  step();
  return look_at_opened(__real_open(path, flags), flags);
}

int __wrap_openat(int folder, const char *path, int flags, ...) {
  step();
  return look_at_opened(__real_openat(folder, path, flags), flags);
}

int __wrap_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out) {
  step();
  return __real_statx(folder, path, flags, mask, out);
}

long __wrap_syscall(long number, ...) {
  va_list args;
  long given[4];
  va_start(args, number);
  for (int i = 0; i < 4; i++) given[i] = va_arg(args, long);
  va_end(args);
  step();
  if (number == SYS_openat2 && plan.is_old_kernel) {
    errno = ENOSYS;
    return -1;
  }
  return __real_syscall(number, given[0], given[1], given[2], given[3]);
}

/* ==== Files ========================================================================== */

static const char *const bad_kinds[] = {
    "mkfifo bad",
    "ln -s /dev/zero bad",
    "ln -s /proc/self/fd/0 bad",
    "ln -s ../../secret bad",
    "ln -s \"$PWD/secret\" bad",
    "mkdir bad",
};
enum { N_BAD = sizeof bad_kinds / sizeof *bad_kinds };

static void make_tree(const char *bad, const char *target) {
  struct stat status;
  game_shell(
      "rm -rf bad old root secret && mkdir -p root/lib && echo good >root/lib/file &&"
      "echo secret >secret");
  game_shell("%s", bad);
  assert_int_equal(stat("secret", &status), 0);
  secret = status.st_ino;
  (void)snprintf(there, sizeof there, "%s", target);
}

/* Opens, while `there` is exchanged before call `at`; false: there are fewer calls. */
static bool open_at(int (*opens)(void), size_t at) {
  plan.calls = plan.opened = 0;
  plan.at = at;
  int fd = opens();
  char text[8] = "";
  if (fd >= 0) {
    assert_true(read(fd, text, sizeof text - 1) > 0);
    assert_string_equal(text, "good\n");
    (void)close(fd);
  }
  return plan.calls >= at;
}

static int open_file_below(void) {
  return lh_open_below("root", "/lib/file");
}

static int open_file(void) {
  return lh_open_regular("root/lib/file");
}

/* How often it was tried with an exchange. */
static size_t try_all(int (*opens)(void), const char *target, size_t first, size_t last) {
  size_t tried = 0;
  for (size_t kind = first; kind < last; kind++) {
    for (size_t at = 1;; at++) {
      make_tree(bad_kinds[kind], target);
      if (!open_at(opens, at)) break;
      tried++;
    }
    make_tree(bad_kinds[kind], target);
    assert_int_equal(open_at(opens, SIZE_MAX), 0);
    assert_int_equal(plan.opened, 1); /* undisturbed it is opened */
  }
  there[0] = '\0';
  return tried;
}

/* ==================================================================================== */

static void test_below(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++) {
    plan.is_old_kernel = old;
    assert_true(try_all(open_file_below, "root/lib/file", 0, N_BAD) >= (size_t)4 * N_BAD);
    assert_true(try_all(open_file_below, "root/lib", 0, N_BAD) >= (size_t)4 * N_BAD);
  }
  plan.is_old_kernel = false;
}

/* The user named the path: a link is followed, but to a regular file only. */
static void test_named(void **state) {
  (void)state;
  assert_true(try_all(open_file, "root/lib/file", 0, 2) >= 6);
  assert_true(try_all(open_file, "root/lib/file", N_BAD - 1, N_BAD) >= 3);
}

/* A file of the kernel shows no size, and to read it may change it: /proc/kmsg loses bytes. */
static void test_kernels_files(void **state) {
  (void)state;
  static const char *const paths[] = {"/proc/kmsg", "/proc/version", "proc/uptime", "empty"};
  make_tree("true", "");
  game_shell(": >root/empty");
  for (int old = 0; old < 2; old++) {
    plan.is_old_kernel = old;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
      errno = 0;
      assert_int_equal(lh_open_below(strchr(paths[i], '/') ? "/" : "root", paths[i]), -1);
      assert_int_equal(errno, ESPIPE);
    }
  }
  plan.is_old_kernel = false;
}

/* Nothing that is there from the beginning leads out, either. */
static void test_ways_out(void **state) {
  (void)state;
  static const char *const paths[] = {"../secret", "lib/../../secret", "/lib/out",  "fifo",
                                      "device",    "magic/secret",     "lib",       "/",
                                      "none",      "lib/file/x",       "around/dir"};
  make_tree("true", "");
  game_shell(
      "ln -s ../../secret root/lib/out && mkfifo root/fifo && ln -s /dev/zero root/device &&"
      "ln -s /proc/self/cwd root/magic && ln -s around root/around");
  for (int old = 0; old < 2; old++) {
    plan.is_old_kernel = old;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
      assert_int_equal(lh_open_below("root", paths[i]), -1);
    assert_int_equal(lh_open_below("/", "/proc/self/fd/0"), -1);
    assert_int_equal(lh_open_below("/", "/dev/zero"), -1);
  }
  plan.is_old_kernel = false;
  assert_int_equal(lh_open_regular("root/fifo"), -1);
  assert_int_equal(errno, ESPIPE);
  assert_int_equal(lh_open_regular("root/lib"), -1);
  assert_int_equal(errno, EISDIR);
  int fd = lh_open_regular("/proc/self/exe");
  assert_true(fd >= 0);
  (void)close(fd);
}

/* A stripped library, and its file of debug information below root: the name of that. */
static void make_library(const char *bad) {
  make_tree(bad, "");
  game_shell(
      "id=$(readelf -n whole.so | sed -n 's/.*Build ID: //p') &&"
      "folder=root/usr/lib/debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $folder &&"
      "objcopy --only-keep-debug whole.so $folder/$(echo $id | cut -c3-).debug &&"
      "strip -o libgame.so whole.so && printf $folder/*.debug >name");
  FILE *name = fopen("name", "r");
  assert_non_null(name);
  assert_non_null(fgets(there, sizeof there, name));
  (void)fclose(name);
}

/* Is "tick" known, if the file of debug information is exchanged before call `at`? */
static bool is_known_at(size_t at, unsigned long long tick) {
  static const char *const roots[] = {"root", NULL};
  uint64_t room = LH_SYMBOLS_ROOM;
  size_t n = 0;
  int fd = __real_open("libgame.so", O_RDONLY | O_CLOEXEC);
  plan.calls = plan.opened = 0;
  plan.at = at;
  lh_symbol_table *table = lh_symbol_table_read(fd, roots, &room);
  bool is_known = lh_symbol_at(table, tick, &n) != NULL;
  lh_symbol_table_free(table);
  (void)close(fd);
  return is_known;
}

/* Files of debug information are looked for below the root of a target. */
static void test_debug_file(void **state) {
  (void)state;
  game_compile("whole.so", "");
  unsigned long long tick = game_linked_at("whole.so", "tick");
  for (size_t kind = 0; kind < N_BAD; kind++) {
    size_t at = 0;
    do {
      make_library(bad_kinds[kind]);
      bool is_known = is_known_at(++at, tick);
      assert_int_equal(is_known, plan.opened == 1);
    } while (plan.calls >= at);
    assert_true(at > 4 && plan.opened == 1);
  }
  there[0] = '\0';
  game_shell("rm -rf bad old root secret name *.so");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_below), cmocka_unit_test(test_named), cmocka_unit_test(test_ways_out),
      cmocka_unit_test(test_kernels_files), cmocka_unit_test(test_debug_file)};
  return folder_run(tests);
}
