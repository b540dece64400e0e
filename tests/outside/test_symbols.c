/*
** test_symbols.c - what C functions are called, by the files that a process has mapped: a copy of
** this one, with a library that is compiled here and stripped, cut, replaced or deleted in turn.
**
** The truth is what the linker says of the library before it was stripped (nm).
*/
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "game.h"
#include "outside/symbols.h"

/* ==== A target: a copy of this process ============================================== */

static pid_t child;

static lh_target *open_copy(void) {
  lh_target *target;
  lh_error error;
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) (void)pause();
  }
  if (lh_open_process(child, NULL, &target, &error) < 0) fail_msg("%s", error.message);
  return target;
}

static void close_copy(lh_target *target) {
  lh_target_free(target);
  (void)kill(child, SIGKILL);
  (void)waitpid(child, NULL, 0);
}

static lh_code_name name_of(const void *function, bool *is_known) {
  lh_target *target = open_copy();
  lh_code_name name;
  lh_symbols *symbols = lh_symbols_open(target, NULL);
  assert_non_null(symbols);
  *is_known = lh_symbols_find(symbols, (uint64_t)(uintptr_t)function, &name);
  lh_symbols_close(symbols);
  close_copy(target);
  return name;
}

/* "send (libgame.so+0x1139)" as reports have it; "": not known. */
static const char *told(const void *function) {
  static char text[256];
  bool is_known;
  lh_code_name name = name_of(function, &is_known);
  (void)snprintf(text, sizeof text, "%s (%s+0x%llx)", name.symbol, name.library,
                 (unsigned long long)name.offset);
  return is_known ? text : "";
}

/* ==================================================================================== */

static void *load(const char *name) {
  char path[64];
  (void)snprintf(path, sizeof path, "./%s", name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail_msg("%s", dlerror());
  return library;
}

static const void *function_of(void *library, int i) {
  const void *const *game = dlsym(library, "game");
  assert_non_null(game);
  return game[i];
}

static void assert_told(const void *function, const char *symbol, const char *library,
                        unsigned long long offset) {
  char expected[256];
  (void)snprintf(expected, sizeof expected, "%s (%s+0x%llx)", symbol, library, offset);
  assert_string_equal(told(function), expected);
}

/* ==================================================================================== */

static int own_function(int n) {
  return n + 1;
}

/* It is not moved, so an address is the file's. */
static void test_program(void **state) {
  (void)state;
  assert_told((const void *)own_function, "own_function", "test_symbols",
              (unsigned long long)(uintptr_t)own_function);
  assert_string_equal(told((const char *)own_function + 1) + 1,
                      strchr(told((const char *)own_function + 1), '('));
}

static void test_no_code(void **state) {
  static int data;
  (void)state;
  void *mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_string_equal(told(NULL), "");
  assert_string_equal(told(&data), "");
  assert_string_equal(told(mapped), "");
  assert_string_equal(told(state), "");
  assert_string_equal(told((const void *)UINTPTR_MAX), "");
  (void)munmap(mapped, 4096);
}

static void test_library(void **state) {
  (void)state;
  game_compile("libgame.so", "");
  void *library = load("libgame.so");
  assert_told(function_of(library, ON_PACKET), "on_packet", "libgame.so",
              game_linked_at("libgame.so", "on_packet"));
  assert_told(function_of(library, SEND), "l_send", "libgame.so",
              game_linked_at("libgame.so", "l_send"));
  (void)dlclose(library);
  game_shell("rm libgame.so");
}

/* As prelink leaves it: its first address is not 0. */
static void test_linked_elsewhere(void **state) {
  (void)state;
  game_compile("libgame.so", "-Wl,-Ttext-segment=0x3000000");
  void *library = load("libgame.so");
  assert_true(game_linked_at("libgame.so", "tick") > 0x3000000);
  assert_told(function_of(library, TICK), "tick", "libgame.so",
              game_linked_at("libgame.so", "tick"));
  (void)dlclose(library);
  game_shell("rm libgame.so");
}

/* What it exports is known, and what it registers; nothing of an array that is none. */
static void test_stripped(void **state) {
  (void)state;
  game_compile("whole.so", "");
  game_shell("strip -o libgame.so whole.so");
  void *library = load("libgame.so");
  assert_told(function_of(library, SEND), "send", "libgame.so",
              game_linked_at("whole.so", "l_send"));
  assert_told(function_of(library, CLOSE), "close", "libgame.so",
              game_linked_at("whole.so", "l_close"));
  assert_told(function_of(library, ON_PACKET), "", "libgame.so",
              game_linked_at("whole.so", "on_packet"));
  assert_told(function_of(library, TICK), "", "libgame.so", game_linked_at("whole.so", "tick"));
  assert_told(function_of(library, OPEN), "game_open", "libgame.so",
              game_linked_at("whole.so", "game_open"));
  (void)dlclose(library);
  game_shell("rm libgame.so whole.so");
}

/* Runs ./game, which tells where its functions are. */
static lh_target *open_program(uint64_t at[OPEN + 1]) {
  int ends[2];
  lh_target *target;
  lh_error error;
  assert_int_equal(pipe(ends), 0);
  child = fork();
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(ends[1], STDOUT_FILENO);
    (void)execl("./game", "game", (char *)NULL);
    _exit(127);
  }
  (void)close(ends[1]);
  FILE *told = fdopen(ends[0], "r");
  assert_non_null(told);
  for (int i = 0; i <= OPEN; i++) assert_int_equal(fscanf(told, "%" SCNx64, &at[i]), 1);
  (void)fclose(told);
  if (lh_open_process(child, NULL, &target, &error) < 0) fail_msg("%s", error.message);
  return target;
}

/* Pages of files that a process has mapped and touched, in KB. */
static long touched(void) {
  char path[64], line[256];
  long kilobytes = -1;
  (void)snprintf(path, sizeof path, "/proc/%d/status", (int)child);
  FILE *status = fopen(path, "r");
  assert_non_null(status);
  while (kilobytes < 0 && fgets(line, sizeof line, status))
    (void)sscanf(line, "RssFile: %ld", &kilobytes);
  (void)fclose(status);
  return kilobytes;
}

/* Stripped programs, however they are linked: what they register is known. A megabyte of constants
** that they never read is none of their memory afterwards. */
static void try_program(const char *cc, const char *options) {
  static const struct {
    int function;
    const char *linked, *told;
  } cases[] = {{SEND, "l_send", "send"}, {CLOSE, "l_close", "close"}, {TICK, "tick", ""}};
  uint64_t at[OPEN + 1];
  lh_code_name name;
  game_compile_program("whole", cc, options);
  game_shell("strip -o game whole");
  lh_target *target = open_program(at);
  long before = touched();
  lh_symbols *symbols = lh_symbols_open(target, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(lh_symbols_find(symbols, at[cases[i].function], &name));
    assert_string_equal(name.symbol, cases[i].told);
    assert_string_equal(name.library, "game");
    assert_int_equal(name.offset, game_linked_at("whole", cases[i].linked));
  }
  lh_symbols_close(symbols);
  assert_true(touched() <= before + 512);
  close_copy(target);
  game_shell("rm game whole");
}

static void test_programs(void **state) {
  static const char *const options[] = {"-pie",
                                        "-no-pie",
                                        "-static -no-pie",
                                        "-static-pie",
                                        "-no-pie -Wl,-z,noseparate-code",
                                        "-pie -Wl,-z,norelro -Wl,--hash-style=sysv"};
  (void)state;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) try_program("cc", options[i]);
  if (system("command -v musl-gcc >/dev/null") == 0) try_program("musl-gcc", "-static");
}

/* Only root may open what was deleted. What it registers is in memory. */
static void test_deleted(void **state) {
  (void)state;
  game_compile("libgame.so", "");
  unsigned long long tick = game_linked_at("libgame.so", "tick");
  unsigned long long send = game_linked_at("libgame.so", "l_send");
  bool is_root = geteuid() == 0;
  void *library = load("libgame.so");
  game_shell("rm libgame.so");
  for (int i = 0; i < 2; i++) {
    assert_told(function_of(library, TICK), is_root ? "tick" : "", "libgame.so", tick);
    assert_told(function_of(library, SEND), is_root ? "l_send" : "send", "libgame.so", send);
    game_compile("libgame.so",
                 "-Dtick=tock -Dl_send=l_sent -DTICKS=7"); /* there is another in its place */
  }
  (void)dlclose(library);
  game_shell("rm libgame.so");
}

/* Of a core the constants are in the file alone; without that, only what was written is known. */
static void test_core(void **state) {
  static const char *const told[] = {"send", ""};
  uint64_t at[OPEN + 1];
  lh_code_name name;
  lh_error error;
  lh_target *core;
  (void)state;
  game_compile_program("whole", "cc", "-pie");
  game_shell("strip -o game whole");
  lh_target *target = open_program(at);
  game_shell("gcore -o core %d >/dev/null 2>&1 && mv core.%d core", (int)child, (int)child);
  close_copy(target);
  for (int i = 0; i < 2; i++) {
    if (lh_open_core("core", &core, &error) < 0) fail_msg("%s", error.message);
    lh_symbols *symbols = lh_symbols_open(core, NULL);
    assert_true(lh_symbols_find(symbols, at[SEND], &name));
    assert_string_equal(name.symbol, told[i]);
    assert_string_equal(name.library, "game");
    assert_int_equal(name.offset, game_linked_at("whole", "l_send"));
    lh_symbols_close(symbols);
    lh_target_free(core);
    game_shell("rm -f game");
  }
  game_shell("rm core whole");
}

/* Another version lends it no names. */
static void test_other_version(void **state) {
  (void)state;
  game_compile("libgame.so", "");
  game_compile("other.so", "-Dtick=tock -DTICKS=7");
  unsigned long long at = game_linked_at("libgame.so", "tick");
  void *library = load("libgame.so");
  lh_target *target = open_copy();
  target->is_core = true; /* so that only the path leads to it */
  lh_code_name name;
  const uint64_t tick = (uint64_t)(uintptr_t)function_of(library, TICK);
  for (int i = 0; i < 2; i++) {
    lh_symbols *symbols = lh_symbols_open(target, NULL);
    assert_true(lh_symbols_find(symbols, tick, &name));
    assert_string_equal(name.symbol, i == 0 ? "tick" : "");
    assert_int_equal(name.offset, at);
    lh_symbols_close(symbols);
    game_shell("mv -f other.so libgame.so 2>/dev/null || rm libgame.so");
  }
  target->is_core = false;
  close_copy(target);
  (void)dlclose(library);
}

/* In the place of a library is what blocks whoever opens it, or a folder. */
static void test_no_file(void **state) {
  (void)state;
  game_compile("libgame.so", "");
  void *library = load("libgame.so");
  bool is_root = geteuid() == 0;
  game_shell("rm libgame.so && mkfifo libgame.so");
  assert_string_equal(told(function_of(library, TICK)) + (is_root ? 4 : 0),
                      strchr(told(function_of(library, TICK)), ' '));
  game_shell("rm libgame.so && mkdir libgame.so");
  assert_string_equal(told(function_of(library, TICK)) + (is_root ? 4 : 0),
                      strchr(told(function_of(library, TICK)), ' '));
  (void)dlclose(library);
  game_shell("rmdir libgame.so");
}

static void test_out_of_memory(void **state) {
  (void)state;
  game_compile("libgame.so", "");
  void *library = load("libgame.so");
  lh_target *target = open_copy();
  const uint64_t tick = (uint64_t)(uintptr_t)function_of(library, TICK);
  lh_code_name name;
  for (uint64_t n = 1;; n++) {
    (void)lh_test_fail_allocation(n);
    lh_symbols *symbols = lh_symbols_open(target, NULL);
    (void)lh_symbols_find(symbols, tick, &name);
    lh_symbols_close(symbols);
    if (lh_test_fail_allocation(0) < n) break;
  }
  assert_string_equal(name.symbol, "tick");
  close_copy(target);
  (void)dlclose(library);
  game_shell("rm libgame.so");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_program),       cmocka_unit_test(test_no_code),
      cmocka_unit_test(test_library),       cmocka_unit_test(test_linked_elsewhere),
      cmocka_unit_test(test_stripped),      cmocka_unit_test(test_programs),
      cmocka_unit_test(test_deleted),       cmocka_unit_test(test_other_version),
      cmocka_unit_test(test_core),          cmocka_unit_test(test_no_file),
      cmocka_unit_test(test_out_of_memory),
  };
  return folder_run(tests);
}
