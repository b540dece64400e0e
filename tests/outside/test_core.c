/*
** test_core.c - core files, forged: what is read of them, and what is said of those that are not
** whole, not of this machine, or no cores at all.
*/
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "forged_core.h"
#include "outside/outside.h"

enum { HEAP = 0x10000, PROGRAM = 0x400000, PAGE = 4096 };

static uint8_t heap_page[PAGE], program_page[PAGE];
static uint8_t stack_page[PAGE]; /* with the random bytes at its start */

/* A process with a heap of two pages, of which the second was left out, and a program of three. */
static void forge_process(forged_core *c) {
  forge_core(c);
  for (size_t i = 0; i < PAGE; i++) heap_page[i] = (uint8_t)(i * 7 + i / 256);
  for (size_t i = 0; i < 16; i++) stack_page[i] = (uint8_t)(0xA0 + i);
  forge_elf_page(program_page, 0x42, 20);
}

static void forge_memory(forged_core *c) {
  forge_segment(c, PROGRAM, PAGE, PF_R, program_page, PAGE);
  if (!c->by_gdb) forge_segment(c, PROGRAM + PAGE, 2 * PAGE, PF_R | PF_X, NULL, 0);
  forge_segment(c, FORGED_RANDOM, PAGE, PF_R | PF_W, stack_page, PAGE);
  forge_segment(c, HEAP, 2 * PAGE, PF_R | PF_W, heap_page, PAGE); /* not in order */
  forge_mapping(c, PROGRAM, PROGRAM + PAGE, 0, "program");
  forge_mapping(c, PROGRAM + PAGE, PROGRAM + 3 * PAGE, 1, "program");
  forge_core_end(c);
  forge_core_file(c, "core");
}

/* A program of three pages less 96 bytes. */
static void write_program(uint8_t build_id) {
  uint8_t page[PAGE];
  FILE *file = fopen("program", "wb");
  assert_non_null(file);
  forge_elf_page(page, build_id, 20);
  assert_int_equal(fwrite(page, 1, PAGE, file), PAGE);
  for (int i = PAGE; i < 3 * PAGE - 96; i++) assert_int_equal(fputc(i % 251, file), i % 251);
  assert_int_equal(fclose(file), 0);
}

static lh_target *open_core(void) {
  lh_target *target;
  lh_error error;
  int code = lh_open_core("core", &target, &error);
  if (code != LH_OK) fail_msg("%s", error.message);
  return target;
}

static void refuse(int code, const char *message) {
  lh_target *target = (lh_target *)&code;
  lh_error error;
  assert_int_equal(lh_open_core("core", &target, &error), code);
  assert_null(target);
  assert_string_equal(error.message, message);
}

static int clean(void **state) {
  (void)state;
  (void)unlink("core");
  (void)unlink("program");
  return 0;
}

static bool can_read(const lh_target *target, uint64_t address, size_t n) {
  uint8_t bytes[4 * PAGE];
  return target->memory.read(&target->memory, address, bytes, n);
}

/* {=== What is read ================================================================== */

static void check_process(bool by_gdb) {
  static forged_core c;
  uint8_t bytes[3 * PAGE];
  forge_process(&c);
  c.by_gdb = by_gdb;
  forge_memory(&c);
  write_program(0x42);
  lh_target *target = open_core();
  lh_target_info info = lh_describe_target(target);
  assert_true(info.is_core);
  assert_int_equal(info.process_id, 4711);
  assert_int_equal(info.signal, 6);
  assert_string_equal(info.program, "lua5.4 server.lua");
  assert_string_equal(info.executable, "program");
  assert_null(info.doubt);
  assert_memory_equal(target->random, stack_page, 16);

  assert_int_equal(target->memory.n, 4);
  assert_int_equal(target->memory.regions[0].start, HEAP);
  assert_int_equal(target->memory.regions[0].present_bytes, PAGE);
  assert_true(target->memory.read(&target->memory, HEAP, bytes, PAGE));
  assert_memory_equal(bytes, heap_page, PAGE);
  assert_false(can_read(target, HEAP + PAGE - 1, 2)); /* left out */
  assert_false(can_read(target, HEAP - 1, 1));
  assert_false(can_read(target, UINT64_MAX, 2));

  /* The first page of the program is the core's, the others are the file's, zero behind its end. */
  assert_true(target->memory.read(&target->memory, PROGRAM, bytes, 3 * PAGE));
  assert_memory_equal(bytes, program_page, PAGE);
  for (int i = PAGE; i < 3 * PAGE; i++) assert_int_equal(bytes[i], i < 3 * PAGE - 96 ? i % 251 : 0);
  assert_false(can_read(target, PROGRAM + 2 * PAGE, PAGE + 1));
  lh_target_free(target);
}

static void a_kernels_core_is_read(void **state) {
  (void)state;
  check_process(false);
}

static void a_core_of_gcore_is_read(void **state) {
  (void)state;
  check_process(true);
}

static void another_program_is_not_read_and_told(void **state) {
  static const char doubt[] =
      "'program' is not here as it was when the core was made: the release of Lua and the names of "
      "C functions may be unknown";
  static forged_core c;
  (void)state;
  forge_process(&c);
  forge_memory(&c);
  for (int i = 0; i < 2; i++) { /* none; another */
    if (i > 0) write_program(0x43);
    lh_target *target = open_core();
    assert_string_equal(lh_describe_target(target).doubt, doubt);
    assert_string_equal(lh_describe_target(target).executable, "program");
    assert_true(can_read(target, PROGRAM, PAGE));
    assert_false(can_read(target, PROGRAM + PAGE, 1));
    lh_target_free(target);
  }
}

/* More than 65,534 segments are counted elsewhere. */
static void a_long_core_is_read(void **state) {
  static forged_core c;
  (void)state;
  forge_process(&c);
  c.is_long = true;
  forge_memory(&c);
  write_program(0x42);
  lh_target *target = open_core();
  assert_int_equal(target->memory.n, 4);
  lh_target_free(target);
}

/* }=================================================================================== */

/* {=== What is refused =============================================================== */

static void write_text(const char *text, size_t n) {
  FILE *file = fopen("core", "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

#define COMPRESSED(tool)        \
  "'core' is compressed: " tool \
  " -dc 'core' >core unpacks it (one that systemd keeps: coredumpctl dump PID -o core)"

static void what_is_no_core_is_told(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *told;
  } files[] = {
      {"", 0, "'core' is empty, not a core: the disk was full, or a limit 0 (ulimit -c)"},
      {"print(1)", 8, "'core' is not a core file"},
      {"\x7f"
       "EL",
       3, "'core' is not a core file"},
      {"\x28\xb5\x2f\xfd....", 8, COMPRESSED("zstd")},
      {"\x1f\x8b\x08", 3, COMPRESSED("gzip")},
      {"\xfd"
       "7zXZ",
       6, COMPRESSED("xz")},
      {"\x04\x22\x4d\x18", 4, COMPRESSED("lz4")},
      {"BZh9", 4, COMPRESSED("bzip2")},
      {"MDMP\x93\xa7", 6,
       "'core' is a minidump, which has stacks and no heap: a core is needed, as of "
       "gcore PID"},
      {"ProblemType: Crash\n", 19,
       "'core' is a report of apport: apport-unpack FILE DIR makes the "
       "core DIR/CoreDump"},
      {"KDUMP   ", 8, "'core' is a core of a kernel, not of a process"},
      {"\x89LHEAP\r\n", 8,
       "'core' is a snapshot already: heaptop, heapdiff and heappath "
       "read it"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    write_text(files[i].bytes, files[i].n);
    refuse(LH_EFOREIGN, files[i].told);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(a_kernels_core_is_read, clean),
      cmocka_unit_test_teardown(a_core_of_gcore_is_read, clean),
      cmocka_unit_test_teardown(another_program_is_not_read_and_told, clean),
      cmocka_unit_test_teardown(a_long_core_is_read, clean),
      cmocka_unit_test_teardown(what_is_no_core_is_told, clean),
  };
  return folder_run(tests);
}
