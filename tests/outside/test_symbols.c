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
#include <lzma.h>
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
#include "outside/symbols.h"

/* {=== A target: a copy of this process ============================================== */

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
  if (lh_open_process(child, &target, &error) < 0) fail_msg("%s", error.message);
  return target;
}

static void close_copy(lh_target *target) {
  lh_target_free(target);
  (void)kill(child, SIGKILL);
  (void)waitpid(child, NULL, 0);
}

static lh_function_name name_of(const void *function, bool *is_known) {
  lh_target *target = open_copy();
  lh_function_name name;
  lh_symbols *symbols = lh_symbols_open(target);
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
  lh_function_name name = name_of(function, &is_known);
  (void)snprintf(text, sizeof text, "%s (%s+0x%llx)", name.symbol, name.library,
                 (unsigned long long)name.offset);
  return is_known ? text : "";
}

/* }=================================================================================== */

/* {=== The library =================================================================== */

/* A build id is of what is loaded, so another version has other code, too. */
static const char source[] =
    "typedef struct luaL_Reg { const char *name; int (*function)(void *); } luaL_Reg;\n"
    "static int l_send(void *L) { return L != 0; }\n"
    "static int l_close(void *L) { return L == 0; }\n"
    "static int on_packet(void *L) { return L ? 2 : 3; }\n"
    "#ifndef TICKS\n#define TICKS 4\n#endif\n"
    "static int tick(void *L) { return L ? TICKS : 5; }\n"
    "static const luaL_Reg methods[] = {{\"__gc\", l_close}, {\"close\", l_close},\n"
    "  {\"send\", l_send}, {\"version\", 0}, {0, 0}};\n"
    "static const luaL_Reg cut[] = {{\"cut\", on_packet}, {\"not a name\", on_packet}, {0, 0}};\n"
    "int game_open(void *L) { return 6 + (L != 0); }\n"
    "const void *game[] = {l_send, l_close, on_packet, tick, game_open, methods, cut};\n"
    "#ifdef PROGRAM\n#include <stdio.h>\n#include <unistd.h>\n"
    "const char constants[1 << 20] = {1};\n"
    "int main(void) { for (int i = 0; i < 5; i++) printf(\"%p\\n\", game[i]);\n"
    "  fflush(stdout); for (;;) pause(); }\n#endif\n";

enum { SEND, CLOSE, ON_PACKET, TICK, OPEN };

static void sh(const char *format, ...) {
  char command[1024];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  if (system(command) != 0) fail_msg("%s", command);
}

static void write_source(void) {
  FILE *file = fopen("game.c", "w");
  assert_non_null(file);
  (void)fputs(source, file);
  (void)fclose(file);
}

static void compile(const char *name, const char *options) {
  const char *cc = getenv("CC");
  write_source();
  sh("%s -O1 -shared -fPIC -Wl,--build-id -Wl,-z,relro,-z,now %s -o %s game.c && rm game.c",
     cc ? cc : "cc", options, name);
}

/* The address that the linker gave a function. */
static unsigned long long linked_at(const char *library, const char *function) {
  char command[128];
  unsigned long long address = 0;
  (void)snprintf(command, sizeof command, "nm %s | grep -w %s", library, function);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  assert_int_equal(fscanf(pipe, "%llx", &address), 1);
  (void)pclose(pipe);
  return address;
}

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

/* }=================================================================================== */

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
  compile("libgame.so", "");
  void *library = load("libgame.so");
  assert_told(function_of(library, ON_PACKET), "on_packet", "libgame.so",
              linked_at("libgame.so", "on_packet"));
  assert_told(function_of(library, SEND), "l_send", "libgame.so",
              linked_at("libgame.so", "l_send"));
  (void)dlclose(library);
  sh("rm libgame.so");
}

/* As prelink leaves it: its first address is not 0. */
static void test_linked_elsewhere(void **state) {
  (void)state;
  compile("libgame.so", "-Wl,-Ttext-segment=0x3000000");
  void *library = load("libgame.so");
  assert_true(linked_at("libgame.so", "tick") > 0x3000000);
  assert_told(function_of(library, TICK), "tick", "libgame.so", linked_at("libgame.so", "tick"));
  (void)dlclose(library);
  sh("rm libgame.so");
}

/* What it exports is known, and what it registers; nothing of an array that is none. */
static void test_stripped(void **state) {
  (void)state;
  compile("whole.so", "");
  sh("strip -o libgame.so whole.so");
  void *library = load("libgame.so");
  assert_told(function_of(library, SEND), "send", "libgame.so", linked_at("whole.so", "l_send"));
  assert_told(function_of(library, CLOSE), "close", "libgame.so", linked_at("whole.so", "l_close"));
  assert_told(function_of(library, ON_PACKET), "", "libgame.so",
              linked_at("whole.so", "on_packet"));
  assert_told(function_of(library, TICK), "", "libgame.so", linked_at("whole.so", "tick"));
  assert_told(function_of(library, OPEN), "game_open", "libgame.so",
              linked_at("whole.so", "game_open"));
  (void)dlclose(library);
  sh("rm libgame.so whole.so");
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
  if (lh_open_process(child, &target, &error) < 0) fail_msg("%s", error.message);
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
  lh_function_name name;
  write_source();
  sh("%s -O1 -DPROGRAM %s -o whole game.c && strip -o game whole && rm game.c", cc, options);
  lh_target *target = open_program(at);
  long before = touched();
  lh_symbols *symbols = lh_symbols_open(target);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(lh_symbols_find(symbols, at[cases[i].function], &name));
    assert_string_equal(name.symbol, cases[i].told);
    assert_string_equal(name.library, "game");
    assert_int_equal(name.offset, linked_at("whole", cases[i].linked));
  }
  lh_symbols_close(symbols);
  assert_in_range(touched(), before, before + 512);
  close_copy(target);
  sh("rm game whole");
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
  compile("libgame.so", "");
  unsigned long long tick = linked_at("libgame.so", "tick");
  unsigned long long send = linked_at("libgame.so", "l_send");
  bool is_root = geteuid() == 0;
  void *library = load("libgame.so");
  sh("rm libgame.so");
  for (int i = 0; i < 2; i++) {
    assert_told(function_of(library, TICK), is_root ? "tick" : "", "libgame.so", tick);
    assert_told(function_of(library, SEND), is_root ? "l_send" : "send", "libgame.so", send);
    compile("libgame.so",
            "-Dtick=tock -Dl_send=l_sent -DTICKS=7"); /* there is another in its place */
  }
  (void)dlclose(library);
  sh("rm libgame.so");
}

/* Of a core the constants are in the file alone; without that, only what was written is known. */
static void test_core(void **state) {
  static const char *const told[] = {"send", ""};
  lh_function_name name;
  lh_error error;
  (void)state;
  compile("whole.so", "");
  sh("strip -o libgame.so whole.so");
  void *library = load("libgame.so");
  const uint64_t send = (uint64_t)(uintptr_t)function_of(library, SEND);
  lh_target *target = open_copy(), *core;
  sh("gcore -o core %d >/dev/null 2>&1 && mv core.%d core", (int)child, (int)child);
  for (int i = 0; i < 2; i++) {
    if (lh_open_core("core", &core, &error) < 0) fail_msg("%s", error.message);
    lh_symbols *symbols = lh_symbols_open(core);
    assert_true(lh_symbols_find(symbols, send, &name));
    assert_string_equal(name.symbol, told[i]);
    assert_string_equal(name.library, "libgame.so");
    assert_int_equal(name.offset, linked_at("whole.so", "l_send"));
    lh_symbols_close(symbols);
    lh_target_free(core);
    sh("rm -f libgame.so");
  }
  close_copy(target);
  (void)dlclose(library);
  sh("rm core whole.so");
}

/* Another version lends it no names. */
static void test_other_version(void **state) {
  (void)state;
  compile("libgame.so", "");
  compile("other.so", "-Dtick=tock -DTICKS=7");
  unsigned long long at = linked_at("libgame.so", "tick");
  void *library = load("libgame.so");
  lh_target *target = open_copy();
  target->is_core = true; /* so that only the path leads to it */
  lh_function_name name;
  const uint64_t tick = (uint64_t)(uintptr_t)function_of(library, TICK);
  for (int i = 0; i < 2; i++) {
    lh_symbols *symbols = lh_symbols_open(target);
    assert_true(lh_symbols_find(symbols, tick, &name));
    assert_string_equal(name.symbol, i == 0 ? "tick" : "");
    assert_int_equal(name.offset, at);
    lh_symbols_close(symbols);
    sh("mv -f other.so libgame.so 2>/dev/null || rm libgame.so");
  }
  target->is_core = false;
  close_copy(target);
  (void)dlclose(library);
}

/* {=== Symbol tables ================================================================= */

static int memory_file(const void *bytes, size_t n) {
  int fd = memfd_create("test", MFD_CLOEXEC);
  assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
  return fd;
}

static char *read_whole(const char *path, size_t *n) {
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0 && fstat(fd, &status) == 0);
  *n = (size_t)status.st_size;
  char *bytes = malloc(*n);
  assert_true(bytes && read(fd, bytes, *n) == status.st_size);
  (void)close(fd);
  return bytes;
}

static void write_whole(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "w");
  assert_true(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

static const char *const no_folders[] = {NULL};

/* "": the table does not know it. */
static const char *symbol_of(const char *path, const char *const *folders,
                             unsigned long long address) {
  static char text[64];
  size_t n = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  lh_symbol_table *table = lh_symbol_table_read(fd, folders);
  const char *symbol = lh_symbol_at(table, address, &n);
  (void)snprintf(text, sizeof text, "%.*s", (int)n, symbol ? symbol : "");
  lh_symbol_table_free(table);
  (void)close(fd);
  return text;
}

/* A stripped library's symbols are in the file with its build id, and in no other. */
static void test_separate(void **state) {
  (void)state;
  static const char *const folders[] = {"nowhere", "debug", NULL};
  compile("whole.so", "");
  unsigned long long tick = linked_at("whole.so", "tick");
  sh("strip -o libgame.so whole.so && id=$(readelf -n whole.so | sed -n 's/.*Build ID: //p') &&"
     "folder=debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $folder &&"
     "objcopy --only-keep-debug whole.so $folder/$(echo $id | cut -c3-).debug");
  assert_string_equal(symbol_of("libgame.so", no_folders, tick), "");
  assert_string_equal(symbol_of("libgame.so", folders, tick), "tick");
  compile("other.so", "-Dtick=tock -DTICKS=7");
  sh("strip -g other.so && for file in debug/.build-id/*/*; do cp other.so $file; done");
  assert_string_equal(symbol_of("libgame.so", folders, tick), "");
  sh("rm -r debug *.so");
}

/* Makes libgame.so of whole.so, with this in its .gnu_debugdata. */
static void pack_into(const void *packed, size_t n) {
  write_whole("packed", packed, n);
  sh("strip -o libgame.so whole.so && "
     "objcopy --add-section .gnu_debugdata=packed libgame.so && rm packed");
}

static void test_packed(void **state) {
  (void)state;
  size_t n, n_packed = 0;
  compile("whole.so", "");
  char *whole = read_whole("whole.so", &n);
  size_t room = lzma_stream_buffer_bound(n);
  uint8_t *packed = malloc(room);
  assert_non_null(packed);
  assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)whole, n,
                                           packed, &n_packed, room),
                   LZMA_OK);
  pack_into(packed, n_packed);
  unsigned long long tick = linked_at("whole.so", "tick");
  assert_string_equal(symbol_of("libgame.so", no_folders, tick), "tick");
  for (size_t cut = 1; cut < n_packed; cut += 97) {
    pack_into(packed, n_packed - cut);
    assert_string_equal(symbol_of("libgame.so", no_folders, tick), "");
    assert_string_equal(symbol_of("libgame.so", no_folders, linked_at("whole.so", "game_open")),
                        "game_open");
  }
  free(packed);
  free(whole);
  sh("rm *.so");
}

/* }=================================================================================== */

/* {=== Harm ========================================================================== */

/* Some 40 KB that become more than a program may have: its index says so. */
static void test_bomb(void **state) {
  (void)state;
  static uint8_t zeros[1 << 20], out[1 << 20];
  lzma_stream stream = LZMA_STREAM_INIT;
  assert_int_equal(lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE), LZMA_OK);
  stream.next_out = out;
  stream.avail_out = sizeof out;
  for (unsigned i = 0; i <= LH_MOST_TABLE / sizeof zeros; i++) {
    stream.next_in = zeros;
    stream.avail_in = sizeof zeros;
    assert_int_equal(lzma_code(&stream, LZMA_RUN), LZMA_OK);
  }
  assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
  compile("whole.so", "");
  pack_into(out, sizeof out - stream.avail_out);
  lzma_end(&stream);
  (void)lh_test_peak_bytes();
  assert_string_equal(symbol_of("libgame.so", no_folders, 1), "");
  assert_in_range(lh_test_peak_bytes(), 0, 1 << 16);
  sh("rm *.so");
}

/* Whatever is in a file, it is read to an end, and no more memory is asked for than some times its
** size: each byte of its headers becomes others, and every few of the rest. */
static void test_broken(void **state) {
  (void)state;
  static const uint8_t others[] = {0x00, 0x01, 0x7f, 0xff};
  size_t n, length;
  compile("libgame.so", "-s");
  char *bytes = read_whole("libgame.so", &n);
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof header);
  int fd = memory_file(bytes, n);
  (void)lh_test_peak_bytes();
  for (size_t at = 0; at < n; at += at < 1024 || at >= header.e_shoff ? 1 : 61) {
    for (size_t i = 0; i < sizeof others; i++) {
      assert_int_equal(pwrite(fd, &others[i], 1, (off_t)at), 1);
      lh_symbol_table *table = lh_symbol_table_read(fd, no_folders);
      for (uint64_t address = 0x1000; address < 0x1100; address++)
        (void)lh_symbol_at(table, address, &length);
      lh_symbol_table_free(table);
    }
    assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
  }
  for (size_t cut = n; cut > 0; cut -= cut < 101 ? cut : 101) {
    assert_int_equal(ftruncate(fd, (off_t)cut), 0);
    lh_symbol_table_free(lh_symbol_table_read(fd, no_folders));
  }
  assert_in_range(lh_test_peak_bytes(), 1, 16 * n);
  (void)close(fd);
  free(bytes);
  sh("rm libgame.so");
}

/* In the place of a library is what blocks whoever opens it, or a folder. */
static void test_no_file(void **state) {
  (void)state;
  compile("libgame.so", "");
  void *library = load("libgame.so");
  bool is_root = geteuid() == 0;
  sh("rm libgame.so && mkfifo libgame.so");
  assert_string_equal(told(function_of(library, TICK)) + (is_root ? 4 : 0),
                      strchr(told(function_of(library, TICK)), ' '));
  sh("rm libgame.so && mkdir libgame.so");
  assert_string_equal(told(function_of(library, TICK)) + (is_root ? 4 : 0),
                      strchr(told(function_of(library, TICK)), ' '));
  (void)dlclose(library);
  sh("rmdir libgame.so");
}

static void test_out_of_memory(void **state) {
  (void)state;
  compile("libgame.so", "");
  void *library = load("libgame.so");
  lh_target *target = open_copy();
  const uint64_t tick = (uint64_t)(uintptr_t)function_of(library, TICK);
  lh_function_name name;
  for (uint64_t n = 1;; n++) {
    (void)lh_test_fail_allocation(n);
    lh_symbols *symbols = lh_symbols_open(target);
    (void)lh_symbols_find(symbols, tick, &name);
    lh_symbols_close(symbols);
    if (lh_test_fail_allocation(0) < n) break;
  }
  assert_string_equal(name.symbol, "tick");
  close_copy(target);
  (void)dlclose(library);
  sh("rm libgame.so");
}

/* }=================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_program),       cmocka_unit_test(test_no_code),
      cmocka_unit_test(test_library),       cmocka_unit_test(test_linked_elsewhere),
      cmocka_unit_test(test_stripped),      cmocka_unit_test(test_programs),
      cmocka_unit_test(test_deleted),       cmocka_unit_test(test_other_version),
      cmocka_unit_test(test_core),          cmocka_unit_test(test_separate),
      cmocka_unit_test(test_packed),        cmocka_unit_test(test_bomb),
      cmocka_unit_test(test_broken),        cmocka_unit_test(test_no_file),
      cmocka_unit_test(test_out_of_memory),
  };
  return folder_run(tests);
}
