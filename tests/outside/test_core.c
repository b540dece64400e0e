/*
** test_core.c - core files, forged: what is read of them, and what is said of those that are not
** whole, not of this machine, or no cores at all.
*/
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ask_core.h"
#include "base.h"
#include "corpus.h"
#include "folder.h"
#include "forged_core.h"
#include "outside/outside.h"

enum { HEAP = 0x200000, PROGRAM = 0x400000, PAGE = 4096, BIGGEST_PAGE = 64 * 1024 };

static uint8_t heap_page[PAGE], program_page[PAGE];
static uint8_t stack_page[PAGE];
static const char *const arguments[] = {"lua5.4", "server.lua", "--port=80", NULL};

/* A process with a heap of two pages, of which the second was left out, and a program of three, in
** a page of the kernel's that is as big as there are. */
static void forge_process(forged_core *c) {
  forge_core(c);
  for (size_t i = 0; i < PAGE; i++) heap_page[i] = (uint8_t)(i * 7 + i / 256);
  forge_stack_page(stack_page, arguments);
  forge_elf_page(program_page, 0x42, 20);
}

static void forge_memory(forged_core *c) {
  enum { MAPPED = BIGGEST_PAGE - PAGE };
  forge_segment(c, PROGRAM, PAGE, PF_R, program_page, PAGE);
  if (!c->by_gdb) forge_segment(c, PROGRAM + PAGE, MAPPED, PF_R | PF_X, NULL, 0);
  forge_segment(c, FORGED_STACK, PAGE, PF_R | PF_W, stack_page, PAGE);
  forge_segment(c, HEAP, 2 * PAGE, PF_R | PF_W, heap_page, PAGE); /* not in order */
  forge_mapping(c, PROGRAM, PROGRAM + PAGE, 0, "program");
  forge_mapping(c, PROGRAM + PAGE, PROGRAM + PAGE + MAPPED, 1, "program");
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

/* ==== What is read ================================================================== */

static void check_process(bool by_gdb) {
  static forged_core c;
  uint8_t bytes[BIGGEST_PAGE];
  forge_process(&c);
  c.by_gdb = by_gdb;
  forge_memory(&c);
  write_program(0x42);
  lh_target *target = open_core();
  lh_target_info info = lh_describe_target(target);
  assert_true(info.is_core);
  assert_int_equal(info.process_id, 4711);
  assert_int_equal(info.signal, 6);
  assert_string_equal(info.program, "lua5.4 server.lua --port=80");
  assert_string_equal(info.executable, "program");
  assert_null(info.doubt);
  for (int i = 0; i < 16; i++) assert_int_equal(target->random[i], 0xA0 + i);

  assert_int_equal(target->memory.n, 4);
  assert_int_equal(target->memory.regions[0].start, HEAP);
  assert_int_equal(target->memory.regions[0].present_bytes, PAGE);
  assert_true(target->memory.read(&target->memory, HEAP, bytes, PAGE));
  assert_memory_equal(bytes, heap_page, PAGE);
  assert_false(can_read(target, HEAP + PAGE - 1, 2)); /* left out */
  assert_false(can_read(target, HEAP - 1, 1));
  assert_false(can_read(target, UINT64_MAX, 2));

  /* The first page of the program is the core's, the others are the file's, zero behind its end. */
  assert_true(target->memory.read(&target->memory, PROGRAM, bytes, BIGGEST_PAGE));
  assert_memory_equal(bytes, program_page, PAGE);
  for (int i = PAGE; i < BIGGEST_PAGE; i++)
    assert_int_equal(bytes[i], i < 3 * PAGE - 96 ? i % 251 : 0);
  assert_false(can_read(target, PROGRAM + BIGGEST_PAGE - PAGE, PAGE + 1));
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

/* Zeros in place of what the core lacks would be a heap, too, but another one. */
static void what_a_core_lacks_is_no_memory_of_the_mirror(void **state) {
  static forged_core c;
  lh_mirror *mirror;
  lh_error error;
  uint64_t copied;
  int status;
  (void)state;
  forge_process(&c);
  forge_memory(&c);
  lh_target *target = open_core();
  assert_int_equal(lh_describe_target(target).private_bytes, 2 * PAGE);
  assert_int_equal(lh_core_lacks(target), PAGE);
  assert_int_equal(lh_mirror_reserve(&target->memory, &mirror, &error), LH_OK);
  assert_int_equal(lh_mirror_fill(mirror, &target->memory, &copied, &error), LH_OK);
  const volatile uint8_t *heap = (const uint8_t *)(uintptr_t)HEAP;
  assert_memory_equal((const void *)(uintptr_t)HEAP, heap_page, PAGE);
  assert_true(lh_mirror_has(mirror, HEAP, PAGE));
  assert_false(lh_mirror_has(mirror, HEAP, PAGE + 1));
  pid_t child = fork();
  if (child == 0) {
    (void)signal(SIGSEGV, SIG_DFL);
    _exit(heap[PAGE]);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  lh_mirror_free(mirror);
  lh_target_free(target);
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

/* Two adjoining mappings of the kernel's are one block of the program. */
static void what_lies_across_segments_is_read(void **state) {
  static forged_core c;
  uint8_t bytes[PAGE];
  (void)state;
  forge_process(&c);
  forge_segment(&c, HEAP + PAGE, PAGE, PF_R | PF_W, heap_page, PAGE);
  forge_segment(&c, HEAP, PAGE, PF_R | PF_W, stack_page, PAGE);
  forge_core_end(&c);
  forge_core_file(&c, "core");
  lh_target *target = open_core();
  assert_true(target->memory.read(&target->memory, HEAP + PAGE - 100, bytes, 200));
  assert_memory_equal(bytes, stack_page + PAGE - 100, 100);
  assert_memory_equal(bytes + 100, heap_page, 100);
  lh_target_free(target);
}

/* Where the stack is not as the kernel leaves it, the note tells the command line. */
static void a_command_line_that_is_overwritten_is_the_notes(void **state) {
  enum { VECTOR = FORGED_RANDOM - FORGED_STACK - 72 };
  static const size_t words[] = {
      VECTOR + 16,    /* the vector's pair that tells where the random bytes are */
      VECTOR - 8,     /* the zero behind the environment */
      VECTOR - 8 * 8, /* the number of arguments */
  };
  static forged_core c;
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    forge_process(&c);
    stack_page[words[i]] ^= 0x55;
    forge_memory(&c);
    lh_target *target = open_core();
    assert_string_equal(lh_describe_target(target).program, "lua5.4 server.lua");
    lh_target_free(target);
  }
}

/* No list of mapped files, no auxiliary vector, no NT_PRPSINFO. */
static void what_no_note_tells_is_not_known(void **state) {
  static const uint8_t none[16] = {0};
  static forged_core c;
  (void)state;
  forge_process(&c);
  c.has_no_process = true;
  forge_note(&c, "CORE", NT_PRSTATUS, &c.status, sizeof c.status);
  forge_segment(&c, HEAP, PAGE, PF_R | PF_W, heap_page, PAGE);
  forge_core_end(&c);
  forge_core_file(&c, "core");
  lh_target *target = open_core();
  lh_target_info info = lh_describe_target(target);
  assert_int_equal(info.process_id, 4712); /* of the thread that ended */
  assert_string_equal(info.program, "");
  assert_string_equal(info.executable, "");
  assert_memory_equal(target->random, none, 16);
  lh_target_free(target);
}

/* ==== What is refused =============================================================== */

static void write_text(const char *text, size_t n) {
  FILE *file = fopen("core", "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

#define COMPRESSED(tool)        \
  "'core' is compressed: " tool \
  " -dc core >core unpacks it (one that systemd keeps: coredumpctl dump PID -o core)"

static void what_is_no_core_is_told(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *told;
  } files[] = {
      {"", 0,
       "'core' is empty: the disk was full, or the limit for cores was 0; type ulimit -c unlimited "
       "before the program starts, or gcore PID while it runs"},
      {"print('\xc3\xa4')\n", 12,
       "'core' is a text, and no core file: give the number of the process that runs it, or has "
       "written it"},
      {"\x1bLuaT", 5, "'core' is compiled Lua: give the number of the process that runs it"},
      {"\x89LPROF\r\n", 8, "'core' is a profile: heapprof reads it"},
      {"\xcf\xfa\xed\xfe", 4, "'core' is of another system (Mach-O): a core of Linux is needed"},
      {"\x7f"
       "EL",
       3, "'core' is not a core file: give the number of a process, or what gcore PID makes of it"},
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
      {"KDUMP   ", 8, "'core' is a core of a kernel: gcore PID makes one of a process"},
      {"\x89LHEAP\r\n", 8, "'core' is a snapshot already: heaptop core tells what is in it"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    write_text(files[i].bytes, files[i].n);
    refuse(LH_EFOREIGN, files[i].told);
  }
}

static void pipes_and_folders_are_not_read(void **state) {
  (void)state;
  assert_int_equal(mkfifo("core", 0600), 0);
  refuse(LH_EIO, "cannot read 'core': it is no regular file");
  assert_int_equal(unlink("core"), 0);
  refuse(LH_EIO, "cannot open 'core': No such file or directory");
}

#define OTHER(machine) \
  "'core' is of " machine ", and this luaheap of x86-64: take the snapshot on a machine like that"

/* Of another machine, or no core of a process. */
static void other_elf_files_are_told(void **state) {
  static const struct {
    size_t at;
    uint8_t value, code_of;
    const char *told;
  } changes[] = {
      {EI_CLASS, ELFCLASS32, 7, OTHER("a 32-bit machine")},
      {EI_DATA, ELFDATA2MSB, 7, OTHER("a machine of the other byte order")},
      {offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, 7, OTHER("aarch64")},
      {offsetof(Elf64_Ehdr, e_machine), EM_S390, 7, OTHER("S/390")},
      {offsetof(Elf64_Ehdr, e_machine), 1, 7, OTHER("another machine")},
      {EI_CLASS, 9, 4, "'core' is not a core file of a known kind: gcore PID makes one"},
      {offsetof(Elf64_Ehdr, e_type), ET_DYN, 4,
       "'core' is a program or a library, not a core: a running one is named by its number, and "
       "one "
       "that crashes leaves a core after ulimit -c unlimited"},
      {offsetof(Elf64_Ehdr, e_type), ET_REL, 4,
       "'core' is an ELF file, but not a core: gcore PID makes one of a process"},
  };
  static forged_core c;
  (void)state;
#if !defined __x86_64__
  skip();
#endif
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    forge_process(&c);
    forge_memory(&c);
    c.bytes[changes[i].at] = changes[i].value;
    forge_core_file(&c, "core");
    refuse(-changes[i].code_of, changes[i].told);
  }
}

static void a_core_without_notes_is_told(void **state) {
  static forged_core c;
  static const char told[] =
      "'core' has no notes on a process: it is a core of something else, as of a kernel; gcore PID "
      "makes one of a process";
  (void)state;
  forge_process(&c);
  c.has_no_process = true;
  forge_memory(&c);
  refuse(LH_EFOREIGN, told);
  forge_process(&c);
  c.has_no_process = true;
  forge_note(&c, "VMCOREINFO", 0, "OSRELEASE=6.1", 13);
  forge_memory(&c);
  refuse(LH_EFOREIGN, told);
}

static void a_core_without_memory_is_told(void **state) {
  static forged_core c;
  (void)state;
  forge_process(&c);
  forge_segment(&c, PROGRAM, PAGE, PF_R, program_page, PAGE);
  forge_segment(&c, HEAP, 2 * PAGE, PF_R | PF_W, NULL, 0);
  forge_core_end(&c);
  forge_core_file(&c, "core");
  refuse(LH_EFOREIGN,
         "'core' has none of the process's own memory: its coredump_filter left it out (echo 0x33 "
         ">/proc/PID/coredump_filter sets it, and children inherit it)");
}

/* Whatever is missing: never another answer than that it was cut, at that byte. */
static void a_cut_core_is_told_at_every_byte(void **state) {
  static forged_core c;
  char told[256];
  size_t n = 0;
  (void)state;
  for (int by_gdb = 0; by_gdb < 2; by_gdb++) {
    forge_process(&c);
    c.by_gdb = by_gdb;
    forge_memory(&c);
    for (size_t size = 4; size < c.size; size += 1 + size / 512 * 31, n++) {
      lh_target *target;
      lh_error error;
      assert_int_equal(truncate("core", (off_t)size), 0);
      assert_int_equal(lh_open_core("core", &target, &error), LH_EDAMAGED);
      (void)snprintf(told, sizeof told, "bytes those from %zu on are missing, since", size);
      assert_memory_equal(error.message, "'core' was cut: of at least ", 28);
      assert_non_null(strstr(error.message, told));
      assert_int_equal(error.offset, size);
      forge_core_file(&c, "core");
    }
  }
  printf("faults: cores cut: %zu cases, %zu survived\n", n, n);
}

/* ==== What means harm =============================================================== */

/* Segments that cannot be. */
static void refuse_segments(void (*spoil)(Elf64_Phdr *notes, Elf64_Phdr *first), const char *told) {
  static forged_core c;
  char all[128];
  forge_process(&c);
  forge_memory(&c);
  Elf64_Phdr *table = (Elf64_Phdr *)(void *)(c.bytes + c.table_at);
  spoil(&table[0], &table[1]);
  forge_core_file(&c, "core");
  (void)snprintf(all, sizeof all, "'core' is damaged%s", told);
  refuse(LH_EDAMAGED, all);
}

static void spoil_address(Elf64_Phdr *notes, Elf64_Phdr *first) {
  (void)notes;
  first->p_vaddr = UINT64_MAX - 100;
}

static void spoil_length(Elf64_Phdr *notes, Elf64_Phdr *first) {
  (void)notes;
  first->p_memsz = first->p_filesz - 1;
}

static void spoil_offset(Elf64_Phdr *notes, Elf64_Phdr *first) {
  (void)notes;
  first->p_offset = UINT64_MAX - first->p_filesz + 1;
}

static void spoil_overlap(Elf64_Phdr *notes, Elf64_Phdr *first) {
  (void)notes;
  first->p_vaddr = HEAP + PAGE;
}

static void spoil_shared(Elf64_Phdr *notes, Elf64_Phdr *first) {
  first->p_offset = 0;
  first->p_filesz = first->p_memsz = notes->p_offset + 3 * PAGE;
}

static void segments_that_cannot_be_are_refused(void **state) {
  (void)state;
  refuse_segments(spoil_address, " at byte 120: a segment that no memory has");
  refuse_segments(spoil_length, " at byte 120: a segment that no memory has");
  refuse_segments(spoil_offset, " at byte 120: a segment behind the end of all files");
  refuse_segments(spoil_overlap, ": two segments have address 0x201000");
  refuse_segments(spoil_shared, " at byte 64: segments that share their bytes");
}

static void notes_that_cannot_be_are_refused(void **state) {
  static forged_core c;
  static const uint64_t lists[][6] = {
      {1, 4096, 0x1000, 0x2000, 0, 0x41},           /* a path without an end */
      {1, 4096, 0x2000, 0x1000, 0, 0},              /* ends before it begins */
      {1, 4096, 0x1000, 0x2000, UINT64_MAX / 4096}, /* in no file */
      {UINT64_MAX / 24 + 2, 4096, 0, 0, 0, 0},      /* too many for 48 bytes, or for 64 bits */
  };
  char told[128];
  (void)state;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    forge_process(&c);
    uint64_t list[6];
    memcpy(list, lists[i], sizeof list);
    if (i == 0) memset(&list[5], 'A', 8);
    forge_note(&c, "CORE", NT_FILE, list, sizeof list);
    c.n_mappings = 0;
    forge_segment(&c, HEAP, PAGE, PF_R | PF_W, heap_page, PAGE);
    forge_core_end(&c);
    forge_core_file(&c, "core");
    (void)snprintf(
        told, sizeof told, "'core' is damaged at byte %zu: %s",
        (size_t)c.notes_at + 20 + (i < 3 ? 16 : 0),
        i < 3 ? "a mapped file that cannot be" : "more mapped files than there is room for");
    refuse(LH_EDAMAGED, told);
  }
  forge_process(&c);
  forge_memory(&c);
  ((Elf64_Nhdr *)(void *)(c.bytes + c.notes_at))->n_descsz = UINT32_MAX;
  forge_core_file(&c, "core");
  (void)snprintf(told, sizeof told,
                 "'core' is damaged at byte %zu: a note that is longer than all of them",
                 (size_t)c.notes_at);
  refuse(LH_EDAMAGED, told);
}

/* Each bit of what is not memory, and each number there made great. */
static void any_change_is_survived(void **state) {
  static const uint64_t numbers[] = {0, 1, 0xFFFF, UINT32_MAX, INT64_MAX, UINT64_MAX};
  static forged_core c;
  size_t n = 0, opened = 0;
  (void)state;
  for (int by_gdb = 0; by_gdb < 2; by_gdb++) {
    forge_process(&c);
    c.by_gdb = by_gdb;
    c.is_long = by_gdb;
    forge_memory(&c);
    write_program(0x42);
    for (size_t i = 0; i < c.size; i++) {
      bool is_note = i >= c.notes_at && i < c.notes_at + c.note_bytes;
      if (!is_note && i >= c.table_at + 5 * sizeof(Elf64_Phdr)) continue;
      for (int bit = 0; bit < 8; bit++, n++) {
        c.bytes[i] ^= (uint8_t)(1 << bit);
        opened += ask_core(c.bytes, c.size);
        c.bytes[i] ^= (uint8_t)(1 << bit);
      }
      for (size_t k = 0; i % 4 == 0 && k < sizeof numbers / sizeof *numbers; k++, n++) {
        uint8_t kept[8];
        memcpy(kept, c.bytes + i, 8);
        memcpy(c.bytes + i, &numbers[k], i % 8 == 0 ? 8 : 4);
        opened += ask_core(c.bytes, c.size);
        memcpy(c.bytes + i, kept, 8);
      }
    }
  }
  assert_in_range(opened, n / 4, n - n / 16);
  assert_true(lh_test_peak_bytes() < 48 * c.size);
  printf("faults: bits of cores flipped, numbers made great: %zu cases, %zu survived\n", n, n);
}

static void each_allocation_may_fail(void **state) {
  static forged_core c;
  lh_target *target;
  lh_error error;
  (void)state;
  forge_process(&c);
  forge_memory(&c);
  (void)lh_test_fail_allocation(0);
  lh_target_free(open_core());
  uint64_t n = lh_test_fail_allocation(0);
  assert_true(n > 4);
  for (uint64_t i = 1; i <= n; i++) {
    (void)lh_test_fail_allocation(i);
    int code = lh_open_core("core", &target, &error);
    (void)lh_test_fail_allocation(0);
    assert_int_equal(code, LH_EMEMORY);
    assert_string_equal(error.message, "not enough memory while opening a core");
  }
}

static char corpus[PATH_MAX]; /* what the fuzz target has found, and where it begins */

static void ask_about(const uint8_t *data, size_t size) {
  (void)ask_core(data, size);
}

static void the_corpus_is_read(void **state) {
  (void)state;
  corpus_replay(corpus, "corpus of cores", 3, ask_about);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(a_kernels_core_is_read, clean),
      cmocka_unit_test_teardown(a_core_of_gcore_is_read, clean),
      cmocka_unit_test_teardown(another_program_is_not_read_and_told, clean),
      cmocka_unit_test_teardown(what_a_core_lacks_is_no_memory_of_the_mirror, clean),
      cmocka_unit_test_teardown(a_long_core_is_read, clean),
      cmocka_unit_test_teardown(what_lies_across_segments_is_read, clean),
      cmocka_unit_test_teardown(a_command_line_that_is_overwritten_is_the_notes, clean),
      cmocka_unit_test_teardown(what_no_note_tells_is_not_known, clean),
      cmocka_unit_test_teardown(what_is_no_core_is_told, clean),
      cmocka_unit_test_teardown(pipes_and_folders_are_not_read, clean),
      cmocka_unit_test_teardown(other_elf_files_are_told, clean),
      cmocka_unit_test_teardown(a_core_without_notes_is_told, clean),
      cmocka_unit_test_teardown(a_core_without_memory_is_told, clean),
      cmocka_unit_test_teardown(a_cut_core_is_told_at_every_byte, clean),
      cmocka_unit_test_teardown(segments_that_cannot_be_are_refused, clean),
      cmocka_unit_test_teardown(notes_that_cannot_be_are_refused, clean),
      cmocka_unit_test_teardown(any_change_is_survived, clean),
      cmocka_unit_test_teardown(each_allocation_may_fail, clean),
      cmocka_unit_test(the_corpus_is_read),
  };
  if (!realpath("tests/fuzz/cores", corpus)) return 1;
  return folder_run(tests);
}
