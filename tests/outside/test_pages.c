/*
** test_pages.c - only pages that were written are told, whatever the mapping is; and asking makes
** none. A hole costs nothing, whatever its size.
*/
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "outside/memory.h"
#include "outside/outside.h"
#include "subject.h"

#define GIB ((uint64_t)1 << 30)
#define PAGE ((uint64_t)4096)

/* ==== How often the kernel is asked ================================================= */

static size_t n_questions;

int __real_ioctl(int fd, unsigned long request, void *payload);
int __wrap_ioctl(int fd, unsigned long request, void *payload);

int __wrap_ioctl(int fd, unsigned long request, void *payload) {
  n_questions++;
  return __real_ioctl(fd, request, payload);
}

/* ==== One mapping of a process, and what is told of it ============================== */

typedef struct seen {
  uint64_t start, bytes; /* of the mapping */
} seen;

typedef struct told {
  size_t n_spans;
  uint64_t bytes;
  lh_span first, last;
} told;

/* `entries`: as on a kernel that does not know PAGEMAP_SCAN. */
static told ask_pages(const subject *s, bool entries) {
  const seen *at = s->shared;
  lh_memory_region region = {.start = at->start,
                             .end = at->start + at->bytes,
                             .access = LH_REGION_READ | LH_REGION_WRITE,
                             .present_bytes = at->bytes};
  lh_memory memory = {.regions = &region, .n = 1, .process_id = s->id, .fd = -1};
  lh_pages pages;
  lh_span span;
  told t = {0};
  lh_pages_begin(&pages, &memory);
  assert_true(pages.fd >= 0);
  pages.is_asked = !entries;
  while (lh_pages_next(&pages, &span)) {
    assert_true(span.start < span.end && span.start >= t.last.end);
    if (t.n_spans++ == 0) t.first = span;
    t.last = span;
    t.bytes += span.end - span.start;
  }
  lh_pages_end(&pages);
  return t;
}

/* Of page tables, which would grow even by reading. */
static uint64_t tables_kib(const subject *s) {
  static const char name[] = "VmPTE:";
  char text[4096];
  assert_true(lh_process_text(s->id, "status", text, sizeof text) > 0);
  const char *line = strstr(text, name);
  assert_non_null(line);
  return strtoull(line + strlen(name), NULL, 10);
}

static void map_here(const subject *self, uint64_t bytes, int kind, int fd) {
  seen *at = self->shared;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, fd, 0);
  if (memory == MAP_FAILED) _exit(1);
  (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
  *at = (seen){(uintptr_t)memory, bytes};
}

static char *mapped(const subject *self) {
  const seen *at = self->shared;
  return (char *)(uintptr_t)at->start; /* NOLINT: an address of this process */
}

/* ==================================================================================== */

static void write_every_other(const subject *self) {
  map_here(self, 6000 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  for (size_t i = 0; i < 6000; i += 2) mapped(self)[i * PAGE] = 1;
  subject_wait(self);
}

/* More spans than fit at once. */
static void test_every_other_page(void **state) {
  (void)state;
  subject s = subject_start(write_every_other, subject_share(sizeof(seen)));
  for (int entries = 0; entries < 2; entries++) {
    told t = ask_pages(&s, entries);
    assert_int_equal(t.n_spans, 3000);
    assert_int_equal(t.bytes, 3000 * PAGE);
    assert_int_equal(t.last.start, ((seen *)s.shared)->start + 5998 * PAGE);
  }
  subject_end(&s);
}

static void write_seldom(const subject *self) {
  map_here(self, 40 * GIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  for (size_t i = 0; i < 40; i++) mapped(self)[i * GIB + 5 * PAGE] = 1;
  subject_wait(self);
}

static void test_40_gb_of_which_160_kb_are_used(void **state) {
  (void)state;
  subject s = subject_start(write_seldom, subject_share(sizeof(seen)));
  uint64_t before = tables_kib(&s);
  for (int entries = 0; entries < 2; entries++) {
    told t = ask_pages(&s, entries);
    assert_int_equal(t.bytes, 40 * PAGE);
    assert_int_equal(t.first.start, ((seen *)s.shared)->start + 5 * PAGE);
  }
  assert_int_equal(tables_kib(&s), before);
  subject_end(&s);
}

/* As AddressSanitizer reserves memory: one page in each of the terabytes. */
static void write_terabytes(const subject *self) {
  map_here(self, 16384 * GIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  for (size_t i = 0; i < 16; i++) mapped(self)[i * 1024 * GIB + 5 * PAGE] = 1;
  subject_wait(self);
}

/* 16 TB would be 8 million questions if each were about 2 MiB. */
static void test_16_tb_are_few_questions(void **state) {
  (void)state;
  subject s = subject_start(write_terabytes, subject_share(sizeof(seen)));
  n_questions = 0;
  bool is_answered = ask_pages(&s, false).bytes == 16 * PAGE && n_questions > 1;
  subject_end(&s);
  if (!is_answered) skip(); /* a kernel before 6.7 */
  assert_in_range(n_questions, 2, 4096);
}

static void only_read(const subject *self) {
  map_here(self, 100 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  volatile char sum = 0;
  for (size_t i = 0; i < 100; i++) sum = (char)(sum + mapped(self)[i * PAGE]);
  mapped(self)[50 * PAGE] = 1;
  subject_wait(self);
}

/* Entries show the page of zeros, too. */
static void test_pages_that_were_only_read(void **state) {
  (void)state;
  subject s = subject_start(only_read, subject_share(sizeof(seen)));
  told t = ask_pages(&s, false);
  assert_true(t.bytes == PAGE || t.bytes == 100 * PAGE);
  assert_true(t.first.start <= ((seen *)s.shared)->start + 50 * PAGE);
  assert_true(t.last.end > ((seen *)s.shared)->start + 50 * PAGE);
  assert_int_equal(ask_pages(&s, true).bytes, 100 * PAGE);
  subject_end(&s);
}

static void map_file(const subject *self) {
  int fd = open("mapped", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  char page[4096] = "of the file";
  for (int i = 0; i < 100; i++) {
    if (write(fd, page, sizeof page) != sizeof page) _exit(1);
  }
  (void)unlink("mapped");
  map_here(self, 100 * PAGE, MAP_PRIVATE, fd);
  volatile char sum = 0;
  for (size_t i = 0; i < 50; i++) sum = (char)(sum + mapped(self)[i * PAGE]);
  mapped(self)[20 * PAGE] = mapped(self)[70 * PAGE] = 1;
  subject_wait(self);
}

static void test_pages_of_a_file(void **state) {
  (void)state;
  subject s = subject_start(map_file, subject_share(sizeof(seen)));
  for (int entries = 0; entries < 2; entries++) {
    told t = ask_pages(&s, entries);
    assert_int_equal(t.n_spans, 2);
    assert_int_equal(t.bytes, 2 * PAGE);
    assert_int_equal(t.first.start, ((seen *)s.shared)->start + 20 * PAGE);
    assert_int_equal(t.last.start, ((seen *)s.shared)->start + 70 * PAGE);
  }
  subject_end(&s);
}

static void write_huge_pages(const subject *self) {
  map_here(self, 16 << 20, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  (void)madvise(mapped(self), 16 << 20, MADV_HUGEPAGE);
  for (size_t i = 0; i < 8 << 20; i += PAGE) mapped(self)[i] = 1;
  subject_wait(self);
}

static void test_huge_pages(void **state) {
  (void)state;
  subject s = subject_start(write_huge_pages, subject_share(sizeof(seen)));
  for (int entries = 0; entries < 2; entries++) {
    told t = ask_pages(&s, entries);
    assert_in_range(t.bytes, 8 << 20, 10 << 20); /* the last one may reach further */
  }
  subject_end(&s);
}

/* Nobody tells: all of it, and only of what is mirrored. */
static void test_whole_regions(void **state) {
  (void)state;
  enum { MIRRORED = LH_REGION_READ | LH_REGION_WRITE };
  lh_memory_region regions[] = {
      {.start = 0x1000, .end = 0x3000, .access = MIRRORED, .present_bytes = 0x2000},
      {.start = 0x3000, .end = 0x5000, .access = LH_REGION_READ, .present_bytes = 0x2000},
      {.start = 0x5000, .end = 0x9000, .access = MIRRORED},
      {.start = 0x9010, .end = 0xc000, .access = MIRRORED, .present_bytes = 0x20},
      {.start = 0xd000, .end = 0xe000, .access = MIRRORED | LH_REGION_SHARED}};
  lh_memory memory = {.regions = regions, .n = 5, .fd = -1};
  lh_pages pages;
  lh_span span;
  lh_pages_begin(&pages, &memory);
  assert_true(lh_pages_next(&pages, &span));
  assert_int_equal(span.start, 0x1000);
  assert_int_equal(span.end, 0x3000);
  assert_true(lh_pages_next(&pages, &span));
  assert_int_equal(span.start, 0x9010);
  assert_int_equal(span.end, 0x9030);
  assert_false(lh_pages_next(&pages, &span));
  assert_false(lh_pages_next(&pages, &span));
  lh_pages_end(&pages);
}

/* A kernel that does not know PAGEMAP_SCAN tells of a hole page by page: that ends in time. */
static void hold_8_tb(const subject *self) {
  map_here(self, 8192 * GIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  subject_wait(self);
}

static void test_ends_in_time(void **state) {
  (void)state;
  subject s = subject_start(hold_8_tb, subject_share(sizeof(seen)));
  const seen *at = s.shared;
  lh_memory_region region = {.start = at->start,
                             .end = at->start + at->bytes,
                             .access = LH_REGION_READ | LH_REGION_WRITE,
                             .present_bytes = at->bytes};
  lh_memory memory = {.regions = &region, .n = 1, .process_id = s.id, .fd = -1};
  lh_pages pages;
  lh_span span;
  lh_pages_begin(&pages, &memory);
  pages.is_asked = false;
  pages.until_ns = lh_now_ns() + 1000000;
  assert_false(lh_pages_next(&pages, &span));
  assert_in_range(pages.from, at->start, at->start + at->bytes / 2);
  lh_pages_end(&pages);
  subject_end(&s);
}

/* Of a core's file: data amid two holes, each of 1 TB, and some zeros around. */
static void test_holes_of_a_core(void **state) {
  (void)state;
  char bytes[2 * 4096];
  const uint64_t hole = 1024 * GIB;
  int fd = open("core", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  memset(bytes, 1, sizeof bytes);
  assert_int_equal(ftruncate(fd, (off_t)(2 * hole)), 0);
  assert_int_equal(pwrite(fd, bytes, sizeof bytes, (off_t)hole), sizeof bytes);
  lh_memory_region regions[] = {{.start = PAGE,
                                 .end = PAGE + 2 * hole,
                                 .access = LH_REGION_READ | LH_REGION_WRITE,
                                 .present_bytes = 2 * hole},
                                {.start = 4 * hole,
                                 .end = 4 * hole + PAGE,
                                 .access = LH_REGION_READ | LH_REGION_WRITE,
                                 .present_bytes = PAGE,
                                 .core_offset = hole + PAGE}};
  lh_memory memory = {.regions = regions, .n = 2, .fd = fd};
  lh_pages pages;
  lh_span span;
  lh_pages_begin(&pages, &memory);
  assert_true(lh_pages_next(&pages, &span));
  assert_in_range(span.start, hole, PAGE + hole);
  assert_in_range(span.end, PAGE + hole + sizeof bytes, PAGE + hole + 3 * sizeof bytes);
  assert_true(lh_pages_next(&pages, &span));
  assert_int_equal(span.start, 4 * hole);
  assert_int_equal(span.end, 4 * hole + PAGE);
  assert_false(lh_pages_next(&pages, &span));
  lh_pages_end(&pages);
  (void)close(fd);
  assert_int_equal(unlink("core"), 0);
}

/* ==== Spans ========================================================================= */

/* Every pair of lists of spans of 0..7 is compared byte by byte. */
static void test_differences_of_spans(void **state) {
  (void)state;
  for (unsigned a = 0; a < 256; a++) {
    for (unsigned b = 0; b < 256; b++) {
      lh_spans lists[2] = {{0}, {0}};
      for (unsigned i = 0; i < 8; i++) {
        if (a >> i & 1) assert_true(lh_spans_add(&lists[0], i, i + 1, 0));
        if (b >> i & 1) assert_true(lh_spans_add(&lists[1], i, i + 1, 0));
      }
      lh_spans_cursor at = {0};
      lh_span part;
      unsigned missing = 0;
      while (lh_spans_next_missing(&lists[0], &lists[1], &at, &part)) {
        for (uint64_t i = part.start; i < part.end; i++) missing |= 1u << i;
      }
      assert_int_equal(missing, a & ~b);
      assert_int_equal(lh_spans_bytes(&lists[0]), __builtin_popcount(a));
      for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(lh_spans_have(&lists[0], i, 1), a >> i & 1);
        assert_int_equal(lh_spans_have(&lists[0], i, 2), (a >> i & 3) == 3);
      }
      lh_spans_free(&lists[0]);
      lh_spans_free(&lists[1]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_other_page),
      cmocka_unit_test(test_40_gb_of_which_160_kb_are_used),
      cmocka_unit_test(test_16_tb_are_few_questions),
      cmocka_unit_test(test_pages_that_were_only_read),
      cmocka_unit_test(test_pages_of_a_file),
      cmocka_unit_test(test_huge_pages),
      cmocka_unit_test(test_whole_regions),
      cmocka_unit_test(test_ends_in_time),
      cmocka_unit_test(test_holes_of_a_core),
      cmocka_unit_test(test_differences_of_spans),
  };
  return folder_run(tests);
}
