/*
** test_mirror.c - the mirror is what the target is, at its addresses, also when that changes; and
** costs no more memory than the target has written.
**
** The subjects are forks of this program, so only what they map at PLACE and behind it is mirrored:
** nothing of this program is there.
*/
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "outside/memory.h"
#include "outside/outside.h"
#include "subject.h"

#define PAGE ((size_t)4096)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define PLACE ((char *)0x200000000000)
#define PLACE_END ((char *)0x280000000000)

/* ==== Subjects, and their mirrors =================================================== */

enum { ACCESS = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

/* In a subject. */
static char *map_at(size_t offset, size_t bytes, int access, int kind, int fd) {
  char *memory = mmap(PLACE + offset, bytes, access, kind | MAP_FIXED_NOREPLACE, fd, 0);
  if (memory != PLACE + offset) _exit(1);
  return memory;
}

static lh_target *open_subject(const subject *s) {
  lh_target *target;
  lh_error error;
  if (lh_open_process(s->id, NULL, &target, &error) < 0) fail_msg("%s", error.message);
  return target;
}

/* Those at PLACE only. */
static lh_memory memory_of(lh_target *target) {
  lh_memory memory = target->memory;
  const lh_memory_region *end = memory.regions + memory.n;
  while (memory.regions < end && memory.regions->start < (uintptr_t)PLACE) memory.regions++;
  memory.n = 0;
  while (memory.regions + memory.n < end && memory.regions[memory.n].end <= (uintptr_t)PLACE_END)
    memory.n++;
  return memory;
}

static lh_mirror *reserve(lh_target *target) {
  lh_mirror *mirror;
  lh_error error;
  lh_memory memory = memory_of(target);
  if (lh_mirror_reserve(&memory, &mirror, &error) < 0) fail_msg("%s", error.message);
  return mirror;
}

static uint64_t fill(lh_mirror *mirror, lh_target *target) {
  lh_error error;
  uint64_t copied;
  if (lh_process_refresh(target, &error) < 0) fail_msg("%s", error.message);
  lh_memory memory = memory_of(target);
  if (lh_mirror_fill(mirror, &memory, &copied, &error) < 0) fail_msg("%s", error.message);
  return copied;
}

static bool has(const lh_mirror *mirror, const char *from, size_t n) {
  return lh_mirror_has(mirror, (uintptr_t)from, n);
}

/* What this process may need meanwhile, some huge pages of a sanitizer among it. */
enum { OTHER_KIB = 16 << 10 };

static uint64_t own_kib(void) {
  char text[256];
  assert_true(lh_process_text(getpid(), "statm", text, sizeof text) > 0);
  return strtoull(strchr(text, ' '), NULL, 10) * PAGE / 1024;
}

/* Is anything mapped there in this process? */
static bool is_mapped(const char *page) {
  unsigned char present;
  return mincore((void *)(uintptr_t)page, PAGE, &present) == 0;
}

/* ==== What is mirrored ============================================================== */

static void fill_bytes(char *from, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) from[i] = (char)((i * 2654435761u + seed) >> 7);
}

static void assert_bytes(const char *from, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) {
    if (from[i] != (char)((i * 2654435761u + seed) >> 7)) fail_msg("byte %zu is another", i);
  }
}

static void write_some(const subject *self) {
  fill_bytes(map_at(0, 3 * MIB, ACCESS, PRIVATE, -1), 3 * MIB, 1);
  (void)map_at(3 * MIB, PAGE, PROT_NONE, PRIVATE, -1);
  fill_bytes(map_at(3 * MIB + PAGE, 5 * PAGE, ACCESS, PRIVATE, -1), 5 * PAGE, 2);
  (void)map_at(8 * MIB, PAGE, PROT_READ, PRIVATE, -1);
  map_at(9 * MIB, PAGE, ACCESS, MAP_SHARED | MAP_ANONYMOUS, -1)[0] = 1;
  int fd = memfd_create("of the test", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 4 * (off_t)PAGE)) _exit(1);
  map_at(10 * MIB, 4 * PAGE, ACCESS, MAP_SHARED, fd)[0] = 1;
  map_at(11 * MIB, 4 * PAGE, ACCESS, MAP_PRIVATE, fd)[PAGE] = 7;
  subject_wait(self);
}

static bool read_directly(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  return lh_process_read(memory->process_id, address, out, n);
}

static void expect_bytes_at_their_addresses(bool is_direct) {
  subject s = subject_start(write_some, NULL);
  lh_target *target = open_subject(&s);
  target->memory.read = is_direct ? read_directly : lh_process_read_memory;
  target->memory.is_shared = true;
  lh_mirror *mirror = reserve(target);
  assert_int_equal(fill(mirror, target), 3 * MIB + 5 * PAGE + PAGE);
  assert_bytes(PLACE, 3 * MIB, 1);
  assert_bytes(PLACE + 3 * MIB + PAGE, 5 * PAGE, 2);
  assert_int_equal(PLACE[11 * MIB + PAGE], 7);
  lh_mirror_free(mirror);
  assert_false(is_mapped(PLACE));
  lh_target_free(target);
  subject_end(&s);
}

static void test_bytes_are_at_their_addresses(void **state) {
  (void)state;
  expect_bytes_at_their_addresses(true);
  expect_bytes_at_their_addresses(false);
}

enum { MUCH = 50 << 20 };

static void write_much(const subject *self) {
  fill_bytes(map_at(0, MUCH, ACCESS, PRIVATE, -1), MUCH, 6);
  fill_bytes(map_at(100 * MIB + PAGE, 3 * PAGE, ACCESS, PRIVATE, -1), 3 * PAGE, 7);
  fill_bytes(map_at(200 * MIB, MUCH, ACCESS, PRIVATE, -1), MUCH, 8);
  subject_wait(self);
}

static void test_several_threads_copy(void **state) {
  (void)state;
  subject s = subject_start(write_much, NULL);
  lh_target *target = open_subject(&s);
  lh_mirror *mirror = reserve(target);
  assert_int_equal(fill(mirror, target), 2 * MUCH + 3 * PAGE);
  assert_bytes(PLACE, MUCH, 6);
  assert_bytes(PLACE + 100 * MIB + PAGE, 3 * PAGE, 7);
  assert_bytes(PLACE + 200 * MIB, MUCH, 8);
  lh_mirror_free(mirror);
  lh_target_free(target);
  subject_end(&s);
}

static void test_only_private_writable_memory_is_mirrored(void **state) {
  (void)state;
  subject s = subject_start(write_some, NULL);
  lh_target *target = open_subject(&s);
  lh_mirror *mirror = reserve(target);
  assert_true(has(mirror, PLACE, 3 * MIB));
  assert_true(has(mirror, PLACE + 3 * MIB - 1, 1));
  assert_false(has(mirror, PLACE + 3 * MIB - 1, 2));
  assert_false(has(mirror, PLACE + 3 * MIB, 1));
  assert_true(has(mirror, PLACE + 3 * MIB + PAGE, 5 * PAGE));
  assert_false(has(mirror, PLACE - 1, 1));
  assert_false(has(mirror, PLACE, UINT64_MAX));
  assert_false(has(mirror, PLACE + 8 * MIB, 1));  /* read only */
  assert_false(has(mirror, PLACE + 9 * MIB, 1));  /* shared */
  assert_false(has(mirror, PLACE + 10 * MIB, 1)); /* shared, of a file in memory */
  assert_true(has(mirror, PLACE + 11 * MIB, 4 * PAGE));
  lh_mirror_free(mirror);
  lh_target_free(target);
  subject_end(&s);
}

/* ==== What it costs ================================================================= */

static void write_seldom(const subject *self) {
  char *memory = map_at(0, 40 * GIB, ACCESS, PRIVATE, -1);
  (void)madvise(memory, 40 * GIB, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < 400; i++) memory[i * GIB / 10] = (char)i;
  subject_wait(self);
}

/* Its 400 pages, twice that in page tables and lists, and none in the subject. */
static void test_40_gb_of_which_1600_kb_are_used(void **state) {
  (void)state;
  subject s = subject_start(write_seldom, NULL);
  lh_target *target = open_subject(&s);
  uint64_t before = own_kib();
  lh_mirror *mirror = reserve(target);
  assert_int_equal(fill(mirror, target), 400 * PAGE);
  assert_int_equal(fill(mirror, target), 400 * PAGE);
  for (size_t i = 0; i < 400; i++) assert_int_equal(PLACE[i * GIB / 10], (char)i);
  assert_true(has(mirror, PLACE, 40 * GIB));
  assert_true(own_kib() <= before + 2 * 1600 + OTHER_KIB);
  lh_mirror_free(mirror);
  lh_target_free(target);
  subject_end(&s);
}

/* Room for a huge page, a page in front of it and one behind it. */
enum { RAGGED = 40, RAGGED_BYTES = (2 << 20) + 2 * 4096 };

#define RAGGED_AT(i) (PLACE + (i)*8 * MIB + 2 * MIB - PAGE)

static void write_ragged(const subject *self) {
  (void)madvise(map_at(0, RAGGED * 8 * MIB, ACCESS, PRIVATE, -1), RAGGED * 8 * MIB,
                MADV_NOHUGEPAGE);
  for (size_t i = 0; i < RAGGED; i++) fill_bytes(RAGGED_AT(i), RAGGED_BYTES, (unsigned)i);
  subject_wait(self);
}

/* A huge page has no page that the subject has not written. */
static void test_huge_pages_are_written_wholly(void **state) {
  (void)state;
  subject s = subject_start(write_ragged, NULL);
  lh_target *target = open_subject(&s);
  uint64_t before = own_kib();
  lh_mirror *mirror = reserve(target);
  assert_int_equal(fill(mirror, target), RAGGED * RAGGED_BYTES);
  assert_true(own_kib() <= before + RAGGED * RAGGED_BYTES / 1024 + OTHER_KIB);
  for (size_t i = 0; i < RAGGED; i++) assert_bytes(RAGGED_AT(i), RAGGED_BYTES, (unsigned)i);
  lh_mirror_free(mirror);
  lh_target_free(target);
  subject_end(&s);
}

enum { MANY = 60000 };

static void map_many(const subject *self) {
  char *memory = map_at(0, MANY * PAGE, ACCESS, PRIVATE, -1);
  for (size_t i = 1; i < MANY; i += 2) {
    if (mprotect(memory + i * PAGE, PAGE, PROT_NONE)) *(bool *)self->shared = true;
  }
  for (size_t i = 0; i < MANY; i += 2) memory[i * PAGE] = (char)i;
  subject_wait(self);
}

/* This process has as few mappings as before. */
static void test_many_mappings(void **state) {
  (void)state;
  bool *is_refused = subject_share(sizeof *is_refused);
  subject s = subject_start(map_many, is_refused);
  if (*is_refused) {
    print_message("skipped: the system allows fewer mappings (vm.max_map_count)\n");
    subject_end(&s);
    skip();
  }
  lh_target *target = open_subject(&s);
  assert_int_equal(memory_of(target).n, MANY);
  lh_mirror *mirror = reserve(target);
  assert_int_equal(fill(mirror, target), MANY / 2 * PAGE);
  for (size_t i = 0; i < MANY; i += 2) {
    assert_int_equal(PLACE[i * PAGE], (char)i);
    assert_true(has(mirror, PLACE + i * PAGE, PAGE));
    assert_false(has(mirror, PLACE + (i + 1) * PAGE, 1));
  }
  lh_mirror_free(mirror);
  lh_target_free(target);
  subject_end(&s);
}

/* ==== Changes ======================================================================= */

static void change(const subject *self) {
  char *memory = map_at(0, 64 * PAGE, ACCESS, PRIVATE, -1);
  fill_bytes(memory, 64 * PAGE, 1);
  (void)map_at(4 * MIB, 16 * PAGE, ACCESS, PRIVATE, -1);
  subject_wait(self);
  /* It grows, gives pages back, and what was untouched is written. */
  fill_bytes(map_at(64 * PAGE, 64 * PAGE, ACCESS, PRIVATE, -1), 64 * PAGE, 2);
  (void)madvise(memory + 8 * PAGE, 8 * PAGE, MADV_DONTNEED);
  fill_bytes(PLACE + 4 * MIB, PAGE, 3);
  subject_wait(self);
  (void)munmap(memory + 32 * PAGE, 96 * PAGE);
  (void)munmap(PLACE + 4 * MIB, 16 * PAGE);
  fill_bytes(map_at(GIB, PAGE, ACCESS, PRIVATE, -1), PAGE, 4);
  subject_wait(self);
}

static void test_mappings_that_change(void **state) {
  (void)state;
  static const char zeros[8 * 4096];
  subject s = subject_start(change, NULL);
  lh_target *target = open_subject(&s);
  lh_mirror *mirror = reserve(target);
  assert_int_equal(fill(mirror, target), 64 * PAGE);
  assert_bytes(PLACE, 64 * PAGE, 1);
  fill_bytes(PLACE, PAGE, 9); /* what was done to the copy is undone */
  subject_go_on(&s);
  assert_int_equal(fill(mirror, target), (128 - 8 + 1) * PAGE);
  assert_bytes(PLACE, 8 * PAGE, 1);
  assert_memory_equal(PLACE + 8 * PAGE, zeros, sizeof zeros);
  assert_bytes(PLACE + 64 * PAGE, 64 * PAGE, 2);
  assert_bytes(PLACE + 4 * MIB, PAGE, 3);
  subject_go_on(&s);
  assert_int_equal(fill(mirror, target), (32 - 8 + 1) * PAGE);
  assert_bytes(PLACE, 8 * PAGE, 1);
  assert_bytes(PLACE + GIB, PAGE, 4);
  assert_false(has(mirror, PLACE + 32 * PAGE, 1));
  assert_false(is_mapped(PLACE + 32 * PAGE));
  assert_false(has(mirror, PLACE + 4 * MIB, 1));
  assert_false(is_mapped(PLACE + 4 * MIB));
  lh_mirror_free(mirror);
  assert_false(is_mapped(PLACE + GIB));
  lh_target_free(target);
  subject_end(&s);
}

/* The regions are older than what it has: some pages are gone, one in the middle. */
static void lose(const subject *self) {
  char *memory = map_at(0, 64 * PAGE, ACCESS, PRIVATE, -1);
  fill_bytes(memory, 64 * PAGE, 1);
  subject_wait(self);
  (void)munmap(memory + 20 * PAGE, PAGE);
  (void)munmap(memory + 48 * PAGE, 16 * PAGE);
  subject_wait(self);
}

static void test_memory_that_goes_while_it_is_copied(void **state) {
  (void)state;
  static const char zeros[4096];
  subject s = subject_start(lose, NULL);
  lh_target *target = open_subject(&s);
  lh_mirror *mirror = reserve(target);
  lh_error error;
  uint64_t copied;
  assert_int_equal(fill(mirror, target), 64 * PAGE);
  subject_go_on(&s);
  lh_memory older = memory_of(target);
  assert_int_equal(lh_mirror_fill(mirror, &older, &copied, &error), 0);
  assert_int_equal(copied, (48 - 1) * PAGE);
  assert_bytes(PLACE, 20 * PAGE, 1);
  assert_memory_equal(PLACE + 20 * PAGE, zeros, PAGE);
  assert_memory_equal(PLACE + 48 * PAGE, zeros, PAGE);
  subject_end(&s);
  assert_int_equal(lh_mirror_fill(mirror, &older, &copied, &error), 0);
  assert_int_equal(copied, 0);
  lh_mirror_free(mirror);
  lh_target_free(target);
}

/* ==== Refusals ====================================================================== */

static void write_some_more(const subject *self) {
  (void)map_at(0, PAGE, ACCESS, PRIVATE, -1);
  (void)map_at(4 * MIB, PAGE, ACCESS, PRIVATE, -1);
  (void)map_at(8 * MIB, PAGE, ACCESS, PRIVATE, -1);
  subject_wait(self);
  (void)map_at(6 * MIB, PAGE, ACCESS, PRIVATE, -1);
  subject_wait(self);
}

static void test_something_is_in_the_way(void **state) {
  (void)state;
  subject s = subject_start(write_some_more, NULL);
  lh_target *target = open_subject(&s);
  lh_memory memory = memory_of(target);
  lh_error error;
  lh_mirror *mirror;
  uint64_t copied;
  char *own = map_at(4 * MIB, PAGE, ACCESS, PRIVATE, -1);
  *own = 42;
  assert_int_equal(lh_mirror_reserve(&memory, &mirror, &error), LH_EBUSY);
  assert_null(mirror);
  assert_int_equal(error.os_errno, EEXIST);
  assert_string_equal(error.message,
                      "memory of this process is where the target has some "
                      "(0x200000400000 to 0x200000401000)");
  assert_int_equal(*own, 42);
  assert_false(is_mapped(PLACE));
  (void)munmap(own, PAGE);
  /* What is new is in the way: the mirror stays what it was. */
  mirror = reserve(target);
  own = map_at(6 * MIB, PAGE, ACCESS, PRIVATE, -1);
  *own = 42;
  subject_go_on(&s);
  assert_int_equal(lh_process_refresh(target, &error), 0);
  memory = memory_of(target);
  assert_int_equal(lh_mirror_fill(mirror, &memory, &copied, &error), LH_EBUSY);
  assert_true(has(mirror, PLACE + 8 * MIB, PAGE));
  assert_int_equal(*own, 42);
  (void)munmap(own, PAGE);
  assert_int_equal(fill(mirror, target), 0);
  assert_true(has(mirror, PLACE + 6 * MIB, PAGE));
  lh_mirror_free(mirror);
  lh_target_free(target);
  subject_end(&s);
}

static void expect_no_memory(lh_target *target, const char *message) {
  lh_memory memory = memory_of(target);
  lh_error error;
  lh_mirror *mirror;
  assert_int_equal(lh_mirror_reserve(&memory, &mirror, &error), LH_EMEMORY);
  assert_null(mirror);
  if (!strstr(error.message, message)) fail_msg("%s", error.message);
  assert_false(is_mapped(PLACE));
}

static void test_address_space_is_limited(void **state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  skip(); /* its shadow needs more */
#endif
  subject s = subject_start(write_seldom, NULL);
  lh_target *target = open_subject(&s);
  struct rlimit before, limit;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  limit = before;
  limit.rlim_cur = 2 * GIB;
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  expect_no_memory(target,
                   "no room for 40.0 GB of the target's memory: this process may have "
                   "2.0 GB (ulimit -v)");
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  lh_target_free(target);
  subject_end(&s);
}

static void test_each_allocation_fails(void **state) {
  (void)state;
  subject s = subject_start(write_some, NULL);
  lh_target *target = open_subject(&s);
  lh_memory memory = memory_of(target);
  int code = LH_EMEMORY;
  for (uint64_t n = 1; code != 0; n++) {
    lh_error error;
    lh_mirror *mirror;
    uint64_t copied;
    (void)lh_test_fail_allocation(n);
    code = lh_mirror_reserve(&memory, &mirror, &error);
    if (code == 0) code = lh_mirror_fill(mirror, &memory, &copied, &error);
    (void)lh_test_fail_allocation(0);
    if (code < 0) assert_int_equal(code, LH_EMEMORY);
    lh_mirror_free(mirror);
    assert_false(is_mapped(PLACE));
  }
  lh_target_free(target);
  subject_end(&s);
}

static long own_likelihood(void) {
  char text[32];
  assert_true(lh_process_text(getpid(), "oom_score_adj", text, sizeof text) > 0);
  return strtol(text, NULL, 10);
}

static void test_this_process_is_killed_first(void **state) {
  (void)state;
  subject s = subject_start(write_some, NULL);
  lh_target *target = open_subject(&s);
  long before = own_likelihood();
  lh_mirror *mirror = reserve(target);
  assert_int_equal(own_likelihood(), 1000);
  lh_mirror_free(mirror);
  assert_int_equal(own_likelihood(), before);
  lh_target_free(target);
  subject_end(&s);
}

/* ==== Cores ========================================================================= */

/* A core of 1 MiB, whose bytes are numbered; what is not in it cannot be read. */
static bool read_core(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  const lh_memory_region *r = lh_region_at(memory, address);
  if (n == 0) return true;
  uint64_t skip = address - r->start;
  return skip + n <= r->present_bytes &&
         pread(memory->fd, out, n, (off_t)(r->core_offset + skip)) == (ssize_t)n;
}

static lh_memory_region segment(size_t offset, size_t bytes, size_t present, size_t core_offset) {
  return (lh_memory_region){.start = (uintptr_t)PLACE + offset,
                            .end = (uintptr_t)PLACE + offset + bytes,
                            .access = LH_REGION_READ | LH_REGION_WRITE,
                            .present_bytes = present,
                            .core_offset = core_offset,
                            .path = "",
                            .file = -1};
}

static void test_core(void **state) {
  (void)state;
  static char bytes[1 << 20], in_file;
  fill_bytes(bytes, sizeof bytes, 5);
  lh_memory_region regions[] = {
      segment(0, 300 * 1024, 300 * 1024, 8 * PAGE),        /* mapped */
      segment(MIB, 300 * 1024, 200 * 1024, 8 * PAGE),      /* its end is not in the core */
      segment(2 * MIB, 300 * 1024, 299 * 1024 + 7, 12345), /* gdb's */
      segment(3 * MIB + 5, 3 * PAGE, 3 * PAGE, 777),       /* so is this */
      segment(4 * MIB + 16, 300 * 1024, 300 * 1024, 16),   /* mapped but for its ends */
      segment(5 * MIB, PAGE, 0, 0)};
  lh_memory memory = {.regions = regions, .n = 6, .read = read_core};
  memory.fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  assert_int_equal(write(memory.fd, bytes, sizeof bytes), sizeof bytes);
  lh_mirror *mirror;
  lh_error error;
  uint64_t copied;
  assert_int_equal(lh_mirror_reserve(&memory, &mirror, &error), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(lh_mirror_fill(mirror, &memory, &copied, &error), 0);
    assert_int_equal(copied, 299 * 1024 + 7 + 3 * PAGE + PAGE);
    for (size_t k = 0; k < 6; k++) {
      const char *here = PLACE + (regions[k].start - (uintptr_t)PLACE);
      assert_int_equal(has(mirror, here, regions[k].end - regions[k].start),
                       regions[k].start + regions[k].present_bytes == regions[k].end);
      assert_int_equal(has(mirror, here, regions[k].present_bytes), regions[k].present_bytes > 0);
      assert_memory_equal(here, bytes + regions[k].core_offset, regions[k].present_bytes);
    }
    PLACE[5] = 0; /* the file is not written */
  }
  assert_int_equal(pread(memory.fd, &in_file, 1, 8 * PAGE + 5), 1);
  assert_int_equal(in_file, bytes[8 * PAGE + 5]);
  lh_mirror_free(mirror);
  /* It cannot be read: that is an error, since nothing can have changed it. */
  regions[2].core_offset = MIB - 10;
  assert_int_equal(lh_mirror_reserve(&memory, &mirror, &error), 0);
  assert_int_equal(lh_mirror_fill(mirror, &memory, &copied, &error), LH_EIO);
  assert_string_equal(error.message, "cannot read the memory of the core at 0x200000200000");
  lh_mirror_free(mirror);
  (void)close(memory.fd);
}

/* A segment that cannot be mapped, for the place of its bytes, and is a hole but for its end. */
static void test_hole_in_a_core(void **state) {
  (void)state;
  enum { AT = 8 };
  const size_t bytes = (size_t)1 << 30, around = 64 * 1024;
  lh_memory_region region = segment(16 * MIB, bytes, bytes, AT);
  lh_memory memory = {.regions = &region, .n = 1, .read = read_core};
  lh_mirror *mirror;
  lh_error error;
  uint64_t copied;
  memory.fd = memfd_create("core", MFD_CLOEXEC);
  assert_int_equal(ftruncate(memory.fd, (off_t)(AT + bytes)), 0);
  assert_int_equal(pwrite(memory.fd, "end", 3, (off_t)(AT + bytes - 3)), 3);
  assert_int_equal(lh_mirror_reserve(&memory, &mirror, &error), 0);
  assert_int_equal(lh_mirror_fill(mirror, &memory, &copied, &error), 0);
  assert_in_range(copied, 3, around);
  assert_memory_equal(PLACE + 16 * MIB + bytes - 4, "\0end", 4);
  lh_mirror_free(mirror);
  (void)close(memory.fd);
}

int main(int argc, char **arguments) {
  (void)argc;
  lh_reexec_elsewhere(arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_are_at_their_addresses),
      cmocka_unit_test(test_several_threads_copy),
      cmocka_unit_test(test_only_private_writable_memory_is_mirrored),
      cmocka_unit_test(test_40_gb_of_which_1600_kb_are_used),
      cmocka_unit_test(test_huge_pages_are_written_wholly),
      cmocka_unit_test(test_many_mappings),
      cmocka_unit_test(test_mappings_that_change),
      cmocka_unit_test(test_memory_that_goes_while_it_is_copied),
      cmocka_unit_test(test_something_is_in_the_way),
      cmocka_unit_test(test_address_space_is_limited),
      cmocka_unit_test(test_each_allocation_fails),
      cmocka_unit_test(test_this_process_is_killed_first),
      cmocka_unit_test(test_core),
      cmocka_unit_test(test_hole_in_a_core),
  };
  return folder_run(tests);
}
